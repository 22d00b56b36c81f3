#pragma once
// Words of ICU as a Swift module. ICU's function names are macros that carry its version, which Swift cannot import: what is
// used of them stands here as `brume_icu_…` functions.
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

/// An iterator over words by the rules of CLDR's root, with its dictionaries for scripts without spaces; NULL: no memory, or no
/// data.
static inline UBreakIterator *brume_icu_words_open(void) {
    UErrorCode error = U_ZERO_ERROR;
    UBreakIterator *words = ubrk_open(UBRK_WORD, "", NULL, 0, &error);
    return U_SUCCESS(error) ? words : NULL;
}

static inline void brume_icu_words_close(UBreakIterator *words) { ubrk_close(words); }

/// The text must stay where it is while words are asked for. False: the text can't be walked.
static inline int brume_icu_words_set(UBreakIterator *words, const UChar *text, int32_t count) {
    UErrorCode error = U_ZERO_ERROR;
    ubrk_setText(words, text, count, &error);
    return U_SUCCESS(error);
}

/// Where the next piece ends, or -1 at the end.
static inline int32_t brume_icu_words_next(UBreakIterator *words) { return ubrk_next(words); }

/// Whether the piece that ends here is a word: not spaces, not punctuation.
static inline int brume_icu_words_is_word(UBreakIterator *words) {
    return ubrk_getRuleStatus(words) >= UBRK_WORD_NONE_LIMIT;
}

/// UTF-8 as UTF-16, at most one unit for each byte. Returns the units, or -1.
static inline int32_t brume_icu_utf16(const char *text, int32_t count, UChar *out, int32_t capacity) {
    UErrorCode error = U_ZERO_ERROR;
    int32_t length = 0;
    u_strFromUTF8WithSub(out, capacity, &length, text, count, 0xFFFD, NULL, &error);
    return U_SUCCESS(error) ? length : -1;
}

/// Whether a mark of this script only varies a letter. In other scripts marks are vowels or parts of letters.
static inline int brume_icu_is_diacritic(UChar32 c) {
    // The marks that make one kana of another.
    if (c == 0x3099 || c == 0x309A) return 0;
    if (u_charType(c) != U_NON_SPACING_MARK) return 0;
    UErrorCode error = U_ZERO_ERROR;
    switch (uscript_getScript(c, &error)) {
    case USCRIPT_INHERITED: case USCRIPT_COMMON: case USCRIPT_LATIN: case USCRIPT_GREEK: case USCRIPT_CYRILLIC:
    case USCRIPT_HEBREW: case USCRIPT_ARABIC:
        return 1;
    default:
        return 0;
    }
}

enum { brume_icu_word_units = 64, brume_icu_folded_bytes = 8192 };

/// Folds a word of at most `brume_icu_word_units` into UTF-8: NFKC with case folded, decomposed, without diacritics, composed
/// again. Returns the bytes, or -1.
static inline int32_t brume_icu_fold(const UChar *word, int32_t count, char *out, int32_t capacity) {
    UErrorCode error = U_ZERO_ERROR;
    const UNormalizer2 *casefold = unorm2_getNFKCCasefoldInstance(&error);
    const UNormalizer2 *decompose = unorm2_getNFDInstance(&error);
    const UNormalizer2 *compose = unorm2_getNFCInstance(&error);
    if (U_FAILURE(error)) return -1;
    // A compatibility character is at most 18 units when it is taken apart.
    enum { capacity16 = brume_icu_word_units * 20 };
    UChar folded[capacity16], apart[capacity16 * 2];
    int32_t length = unorm2_normalize(casefold, word, count, folded, capacity16, &error);
    length = unorm2_normalize(decompose, folded, length, apart, capacity16 * 2, &error);
    if (U_FAILURE(error)) return -1;
    int32_t kept = 0;
    for (int32_t index = 0; index < length;) {
        int32_t start = index;
        UChar32 c;
        U16_NEXT(apart, index, length, c);
        if (brume_icu_is_diacritic(c)) continue;
        // An apostrophe is one, however it was typed.
        if (c == 0x2019) apart[start] = '\'';
        while (start < index) apart[kept++] = apart[start++];
    }
    length = unorm2_normalize(compose, apart, kept, folded, capacity16, &error);
    int32_t bytes = 0;
    u_strToUTF8(out, capacity, &bytes, folded, length, &error);
    return U_FAILURE(error) ? -1 : bytes;
}

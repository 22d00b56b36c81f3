#include "CICU.h"

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include <stdlib.h>

struct brume_icu_words {
    UBreakIterator *iterator;
};

brume_icu_words *brume_icu_words_open(void) {
    brume_icu_words *words = malloc(sizeof *words);
    if (!words) return NULL;
    UErrorCode error = U_ZERO_ERROR;
    words->iterator = ubrk_open(UBRK_WORD, "", NULL, 0, &error);
    if (U_SUCCESS(error)) return words;
    free(words);
    return NULL;
}

void brume_icu_words_close(brume_icu_words *words) {
    ubrk_close(words->iterator);
    free(words);
}

int brume_icu_words_set(brume_icu_words *words, const uint16_t *text, int32_t count) {
    UErrorCode error = U_ZERO_ERROR;
    ubrk_setText(words->iterator, (const UChar *)text, count, &error);
    return U_SUCCESS(error);
}

int32_t brume_icu_words_next(brume_icu_words *words) { return ubrk_next(words->iterator); }

int brume_icu_words_is_word(brume_icu_words *words) {
    return ubrk_getRuleStatus(words->iterator) >= UBRK_WORD_NONE_LIMIT;
}

int32_t brume_icu_utf16(const char *text, int32_t count, uint16_t *out, int32_t capacity) {
    UErrorCode error = U_ZERO_ERROR;
    int32_t length = 0;
    u_strFromUTF8WithSub((UChar *)out, capacity, &length, text, count, 0xFFFD, NULL, &error);
    return U_SUCCESS(error) ? length : -1;
}

/// Whether a mark of this script only varies a letter. In other scripts marks are vowels or parts of letters.
static int is_diacritic(UChar32 c) {
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

int32_t brume_icu_fold(const uint16_t *word, int32_t count, char *out, int32_t capacity) {
    UErrorCode error = U_ZERO_ERROR;
    const UNormalizer2 *casefold = unorm2_getNFKCCasefoldInstance(&error);
    const UNormalizer2 *decompose = unorm2_getNFDInstance(&error);
    const UNormalizer2 *compose = unorm2_getNFCInstance(&error);
    if (U_FAILURE(error)) return -1;
    // A compatibility character is at most 18 units when it is taken apart.
    enum { capacity16 = brume_icu_word_units * 20 };
    UChar folded[capacity16], apart[capacity16 * 2];
    int32_t length = unorm2_normalize(casefold, (const UChar *)word, count, folded, capacity16, &error);
    length = unorm2_normalize(decompose, folded, length, apart, capacity16 * 2, &error);
    if (U_FAILURE(error)) return -1;
    int32_t kept = 0;
    for (int32_t index = 0; index < length;) {
        int32_t start = index;
        UChar32 c;
        U16_NEXT(apart, index, length, c);
        if (is_diacritic(c)) continue;
        // An apostrophe is one, however it was typed.
        if (c == 0x2019) apart[start] = '\'';
        while (start < index) apart[kept++] = apart[start++];
    }
    length = unorm2_normalize(compose, apart, kept, folded, capacity16, &error);
    int32_t bytes = 0;
    u_strToUTF8(out, capacity, &bytes, folded, length, &error);
    return U_FAILURE(error) ? -1 : bytes;
}

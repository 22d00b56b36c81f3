#pragma once
/// Words of ICU. Nothing of ICU's own headers is seen here: Foundation brings another version of ICU as a module, and the compiler
/// takes two definitions of one name for an error wherever both are loaded.

#include <stdint.h>

/// An iterator over words by the rules of CLDR's root, with its dictionaries for scripts without spaces.
typedef struct brume_icu_words brume_icu_words;

/// NULL: no memory, or no data.
brume_icu_words *brume_icu_words_open(void);
void brume_icu_words_close(brume_icu_words *words);

/// The text must stay where it is while words are asked for. False: the text can't be walked.
int brume_icu_words_set(brume_icu_words *words, const uint16_t *text, int32_t count);

/// Where the next piece ends, or -1 at the end.
int32_t brume_icu_words_next(brume_icu_words *words);

/// Whether the piece that ends here is a word: not spaces, not punctuation.
int brume_icu_words_is_word(brume_icu_words *words);

/// UTF-8 as UTF-16, at most one unit for each byte. Returns the units, or -1.
int32_t brume_icu_utf16(const char *text, int32_t count, uint16_t *out, int32_t capacity);

enum { brume_icu_word_units = 64, brume_icu_folded_bytes = 8192 };

/// Folds a word of at most `brume_icu_word_units` into UTF-8: NFKC with case folded, decomposed, without diacritics, composed
/// again. Returns the bytes, or -1.
int32_t brume_icu_fold(const uint16_t *word, int32_t count, char *out, int32_t capacity);

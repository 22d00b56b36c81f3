// The records and questions of the benchmark, the same in every run.
#include "bench.h"
#include <stdio.h>
#include <string.h>

static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

static double unit(uint64_t x) { return (double)(x >> 11) / 9007199254740992.0; }

// A word of two to four syllables for each of 20,000 ranks.
static int word(unsigned rank, char *out) {
    static const char consonants[] = "bdfgklmnprstvz", vowels[] = "aeiou";
    int length = 0;
    unsigned rest = rank + 70;
    while (rest > 0) {
        unsigned syllable = rest % 70;
        rest /= 70;
        out[length++] = consonants[syllable / 5];
        out[length++] = vowels[syllable % 5];
    }
    out[length] = 0;
    return length;
}

void note_make(uint64_t number, struct note *note) {
    uint64_t seed = mix(number);
    snprintf(note->name, sizeof note->name, "r%09llu", (unsigned long long)number);
    snprintf(note->city, sizeof note->city, "city%03u", (unsigned)(mix(seed + 1) % 1000));
    note->number = (int64_t)(mix(seed + 2) % 1000000000);
    snprintf(note->title, sizeof note->title, "%016llx", (unsigned long long)mix(seed + 3));
    for (int i = 0; i < 3; i++)
        snprintf(note->tags[i], sizeof note->tags[i], "tag%04u", (unsigned)(mix(seed + 4 + (uint64_t)i) % 10000));
    note->latitude = 45 + 10 * unit(mix(seed + 7));
    note->longitude = 15 * unit(mix(seed + 8));
    note->score = unit(mix(seed + 9));
    int length = snprintf(note->body, sizeof note->body, "rare%05u", (unsigned)(mix(seed + 10) % 50000));
    for (uint64_t i = 0; i < 120; i++) {
        double u = unit(mix(seed + 100 + i));
        note->body[length++] = ' ';
        length += word((unsigned)(20000 * u * u * u), note->body + length);
    }
}

const char *const kind_names[KINDS] = {
    "equality", "range", "prefix", "list membership", "rare word", "common word", "distance 5 km", "sort, limit 100"};

void question_make(enum kind kind, uint64_t seed, struct question *question) {
    uint64_t random = mix(seed * KINDS + (uint64_t)kind + 0xABCDEF);
    memset(question, 0, sizeof *question);
    question->kind = kind;
    switch (kind) {
    case EQUALITY: snprintf(question->text, sizeof question->text, "city%03u", (unsigned)(random % 1000)); break;
    case RANGE:
        question->low = (int64_t)(random % 999900000);
        question->high = question->low + 100000;
        break;
    case PREFIX: snprintf(question->text, sizeof question->text, "%04x", (unsigned)(random % 65536)); break;
    case LIST: snprintf(question->text, sizeof question->text, "tag%04u", (unsigned)(random % 10000)); break;
    case RARE_WORD: snprintf(question->text, sizeof question->text, "rare%05u", (unsigned)(random % 50000)); break;
    case COMMON_WORD: word(20 + (unsigned)(random % 20), question->text); break;  // in one of seven records
    case DISTANCE:
        question->latitude = 45.1 + 9.8 * unit(random);
        question->longitude = 0.1 + 14.8 * unit(mix(random));
        break;
    case SORT: case KINDS: break;
    }
}

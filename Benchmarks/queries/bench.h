// What the three systems of the query benchmark share: the records, the questions, and how time is taken.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One record of about 1 KiB. Everything follows from its number.
struct note {
    char name[16];
    char city[16];       // 1,000 of them
    int64_t number;      // below 1,000,000,000
    char title[20];      // 16 hexadecimal digits
    char tags[3][12];    // of 10,000
    char body[1100];     // 120 words, the frequent ones in every second record
    double latitude;     // 45 to 55
    double longitude;    // 0 to 15
    double score;        // 0 to 1
};
void note_make(uint64_t number, struct note *note);

enum kind { EQUALITY, RANGE, PREFIX, LIST, RARE_WORD, COMMON_WORD, DISTANCE, SORT, KINDS };
extern const char *const kind_names[KINDS];

// One question; what its kind does not use is empty.
struct question {
    enum kind kind;
    char text[32];
    int64_t low, high;
    double latitude, longitude;
};
void question_make(enum kind kind, uint64_t seed, struct question *question);

// A system under test. `open` makes one connection; a connection belongs to one thread.
struct system {
    const char *name;
    void *(*open)(void);
    void (*prepare)(void *connection);  // tables before the load
    void (*save)(void *connection, uint64_t first, unsigned count);  // durable when it returns
    void (*finish)(void *connection);  // indexes and statistics after the load
    unsigned (*ask)(void *connection, const struct question *question);  // rows, all of them received
};
extern const struct system brume_system, postgres_system, sqlite_system;

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

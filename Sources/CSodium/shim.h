#pragma once
#include <sodium.h>

// The system's random bytes, whatever libsodium is told to use for those of others.
static inline void brume_random_bytes_of_system(void *bytes, size_t count) {
    randombytes_sysrandom_implementation.buf(bytes, count);
}

#include "crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#endif

// Eight tables of 256: the n-th advances a byte over n more zero bytes.
static uint32_t tables[8][256];

// An instruction takes three cycles and the next one can begin after one, so three runs go side by side and are joined: the
// state of a run is advanced over the zeros that the runs behind it stand for, by tables as above. A run is short enough that
// small entries profit, and long enough that the joining does not count.
#define RUN_BYTES 256
// The n-th advances the n-th byte of a state over a run's zeros.
static uint32_t over_run[4][256];

__attribute__((constructor)) static void make_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
        tables[0][byte] = crc;
    }
    for (int n = 1; n < 8; n++)
        for (int byte = 0; byte < 256; byte++)
            tables[n][byte] = tables[n - 1][byte] >> 8 ^ tables[0][tables[n - 1][byte] & 0xFF];
    static const uint8_t zeros[RUN_BYTES];
    for (int n = 0; n < 4; n++)
        for (uint32_t byte = 0; byte < 256; byte++)
            over_run[n][byte] = brume_crc32c_portable(byte << 8 * n, zeros, RUN_BYTES);
}

uint32_t brume_crc32c_portable(uint32_t state, const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    for (; count >= 8; count -= 8, next += 8) {
        uint32_t low = (next[0] | next[1] << 8 | next[2] << 16 | (uint32_t)next[3] << 24) ^ state;
        uint32_t high = next[4] | next[5] << 8 | next[6] << 16 | (uint32_t)next[7] << 24;
        state = tables[7][low & 0xFF] ^ tables[6][low >> 8 & 0xFF] ^ tables[5][low >> 16 & 0xFF] ^ tables[4][low >> 24]
            ^ tables[3][high & 0xFF] ^ tables[2][high >> 8 & 0xFF] ^ tables[1][high >> 16 & 0xFF] ^ tables[0][high >> 24];
    }
    for (; count > 0; count--, next++) state = state >> 8 ^ tables[0][(state ^ *next) & 0xFF];
    return state;
}

#if defined(__x86_64__) || (defined(__aarch64__) && defined(__linux__))

static inline uint32_t advance_over_run(uint32_t state) {
    return over_run[0][state & 0xFF] ^ over_run[1][state >> 8 & 0xFF] ^ over_run[2][state >> 16 & 0xFF]
        ^ over_run[3][state >> 24];
}

static inline uint64_t load(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, 8);
    return value;
}

#if defined(__x86_64__)
#define WITH_CRC __attribute__((target("sse4.2")))
#define STEP8(state, value) _mm_crc32_u64(state, value)
#define STEP1(state, value) _mm_crc32_u8((uint32_t)(state), value)
#else
#define WITH_CRC __attribute__((target("crc")))
#define STEP8(state, value) __crc32cd((uint32_t)(state), value)
#define STEP1(state, value) __crc32cb((uint32_t)(state), value)
#endif

WITH_CRC static uint32_t by_instructions(uint32_t start, const uint8_t *next, size_t count) {
    uint64_t state = start;
    for (; count >= 3 * RUN_BYTES; count -= 3 * RUN_BYTES, next += 3 * RUN_BYTES) {
        uint64_t second = 0, third = 0;
        for (size_t offset = 0; offset < RUN_BYTES; offset += 8) {
            state = STEP8(state, load(next + offset));
            second = STEP8(second, load(next + RUN_BYTES + offset));
            third = STEP8(third, load(next + 2 * RUN_BYTES + offset));
        }
        state = advance_over_run((uint32_t)state) ^ second;
        state = advance_over_run((uint32_t)state) ^ third;
    }
    for (; count >= 8; count -= 8, next += 8) state = STEP8(state, load(next));
    for (; count > 0; count--, next++) state = STEP1(state, *next);
    return (uint32_t)state;
}

static int has_instructions(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("sse4.2");
#else
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
}

uint32_t brume_crc32c(uint32_t state, const void *bytes, size_t count) {
    return has_instructions() ? by_instructions(state, bytes, count) : brume_crc32c_portable(state, bytes, count);
}

#else

uint32_t brume_crc32c(uint32_t state, const void *bytes, size_t count) {
    return brume_crc32c_portable(state, bytes, count);
}

#endif

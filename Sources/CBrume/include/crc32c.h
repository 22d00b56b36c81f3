#pragma once
/// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78) by the processor's own instructions, where it has them.

#include <stddef.h>
#include <stdint.h>

/// Advances the raw state of a CRC-32C (all ones at the beginning, inverted at the end) over `count` bytes.
uint32_t brume_crc32c(uint32_t state, const void *bytes, size_t count);

/// The same without the processor's instructions: eight look-ups a step of eight bytes.
uint32_t brume_crc32c_portable(uint32_t state, const void *bytes, size_t count);

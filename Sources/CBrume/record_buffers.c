#include "record_buffers.h"

#include <malloc.h>
#include <stdlib.h>

enum {
    buffer_bytes_min = 16 * 1024,
    /// What a buffer is made with, whatever less was asked for: the largest that OpenSSL asks for.
    buffer_bytes = 18 * 1024,
    kept_max = 4
};

// What a thread keeps is not given back when it ends: loops live as long as their process.
static _Thread_local void *kept[kept_max];
static _Thread_local unsigned kept_count;

void *brume_record_malloc(size_t size, const char *file, int line) {
    (void)file, (void)line;
    if (size == 0) return NULL;
    if (size < buffer_bytes_min || size > buffer_bytes) return malloc(size);
    if (kept_count > 0) return kept[--kept_count];
    return malloc(buffer_bytes);
}

void *brume_record_realloc(void *memory, size_t size, const char *file, int line) {
    if (!memory) return brume_record_malloc(size, file, line);
    if (size > 0) return realloc(memory, size);
    brume_record_free(memory, file, line);
    return NULL;
}

void brume_record_free(void *memory, const char *file, int line) {
    (void)file, (void)line;
    if (!memory) return;
    if (kept_count < kept_max) {
        size_t size = malloc_usable_size(memory);
        if (size >= buffer_bytes && size < buffer_bytes + 4096) {
            kept[kept_count++] = memory;
            return;
        }
    }
    free(memory);
}

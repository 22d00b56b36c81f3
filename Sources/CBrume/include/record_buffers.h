#pragma once
/// Memory for OpenSSL that keeps the buffers of TLS records at hand.
///
/// With SSL_MODE_RELEASE_BUFFERS, which idle connections owe their size to, OpenSSL takes some 17 KB for each record that it reads
/// or writes and gives them back with it. A thread keeps a few of them here; all else goes to malloc. Signatures are those of
/// CRYPTO_set_mem_functions(3).

#include <stddef.h>

void *brume_record_malloc(size_t size, const char *file, int line);
void *brume_record_realloc(void *memory, size_t size, const char *file, int line);
void brume_record_free(void *memory, const char *file, int line);

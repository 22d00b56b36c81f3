#pragma once
/// Thin C shims for system interfaces that Swift can't import: headers outside its Glibc module, GNU extensions, macros
/// and variadics.

#include <stdarg.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>

/// Accepts a connection as a non-blocking, close-on-exec descriptor; -1 and errno on failure.
/// `address` receives up to `*length` bytes of the peer's socket address.
int brume_accept(int listener, void *address, unsigned *length);

/// Reads the arguments of a variadic call: one for each letter of `kinds`, 'd' a double, whose bits are given, any other an integer
/// of 64 bits or a pointer.
void brume_variadic_words(const char *kinds, uint64_t *words, va_list arguments);

/// Names the calling thread; names longer than 15 bytes are cut.
void brume_thread_set_name(const char *name);

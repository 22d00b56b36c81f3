#pragma once
/// Thin C shims for system interfaces that Swift can't import: headers outside its Glibc module, GNU extensions, macros
/// and variadics.

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>

/// Accepts a connection as a non-blocking, close-on-exec descriptor; -1 and errno on failure.
/// `address` receives up to `*length` bytes of the peer's socket address.
int brume_accept(int listener, void *address, unsigned *length);

/// Names the calling thread; names longer than 15 bytes are cut.
void brume_thread_set_name(const char *name);

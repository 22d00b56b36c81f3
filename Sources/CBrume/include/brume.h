#pragma once
/// Thin C shims for system interfaces that Swift can't import: headers outside its Glibc module, GNU extensions, macros
/// and variadics.

#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>

/// Accepts a connection as a non-blocking, close-on-exec descriptor; -1 and errno on failure.
/// `address` receives up to `*length` bytes of the peer's socket address.
int brume_accept(int listener, void *address, unsigned *length);

/// Who connected to the other end of a Unix socket: SO_PEERCRED of unix(7). Returns 0, or -1 with errno.
int brume_peer(int fd, int *process, unsigned *user);

/// A pipe whose ends, `ends[0]` for reading and `ends[1]` for writing, no child process inherits. Returns 0, or -1 with errno.
int brume_pipe(int ends[2]);

/// Makes a child process close all descriptors from `first` on: posix_spawn_file_actions_addclosefrom_np(3). Returns 0, or an errno.
int brume_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

/// Reads the arguments of a variadic call: one for each letter of `kinds`, 'd' a double, whose bits are given, any other an integer
/// of 64 bits or a pointer.
void brume_variadic_words(const char *kinds, uint64_t *words, va_list arguments);

/// Names the calling thread; names longer than 15 bytes are cut.
void brume_thread_set_name(const char *name);

/// Waits for a post of a `sem_t` until a time of the monotonic clock: sem_clockwait(3). Returns 0, or -1 with errno.
int brume_semaphore_wait_until(void *semaphore, int64_t seconds, int64_t nanoseconds);

/// Makes the calling thread give way to the process's others. Where that is not allowed all stays as it is.
void brume_thread_yield_to_others(void);

/// sync_file_range(2): has the bytes written out, and waits for that if asked to. Returns 0, or -1 with errno.
int brume_write_back(int fd, int64_t offset, int64_t count, bool waits);

/// syncfs(2): makes all durable that was written to the file system of a file. Returns 0, or -1 with errno.
int brume_sync_file_system(int fd);

// Whether the kernel takes the clock for right (adjtimex).
bool brume_clock_is_kept_in_step(void);

/// Whether the file has no name and no other descriptor, of any process, is open for it: leases it for writing then, and holds the
/// lease until the descriptor is closed. fcntl(2), F_SETLEASE; false also where that can't be told.
bool brume_file_becomes_unreachable(int fd);

/// Whether the lease of ``brume_file_becomes_unreachable`` holds, and nobody waits for the file.
bool brume_file_is_unreachable(int fd);

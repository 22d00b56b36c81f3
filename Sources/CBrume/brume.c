#define _GNU_SOURCE
#include "brume.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>

int brume_accept(int listener, void *address, unsigned *length) {
    socklen_t size = *length;
    int fd = accept4(listener, address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    *length = size;
    return fd;
}

int brume_peer(int fd, int *process, unsigned *user) {
    struct ucred credentials = {0};
    socklen_t size = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return -1;
    *process = credentials.pid;
    *user = credentials.uid;
    return 0;
}

int brume_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int brume_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

void brume_variadic_words(const char *kinds, uint64_t *words, va_list arguments) {
    for (; *kinds; kinds++, words++) {
        if (*kinds == 'd') {
            double value = va_arg(arguments, double);
            memcpy(words, &value, sizeof value);
        } else {
            *words = va_arg(arguments, uint64_t);
        }
    }
}

void brume_thread_set_name(const char *name) {
    char cut[16] = {0};
    strncpy(cut, name, sizeof cut - 1);
    pthread_setname_np(pthread_self(), cut);
}

int brume_semaphore_wait_until(void *semaphore, int64_t seconds, int64_t nanoseconds) {
    struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)nanoseconds};
    return sem_clockwait(semaphore, CLOCK_MONOTONIC, &time);
}

void brume_thread_yield_to_others(void) {
    // Linux applies it to the thread, not to the process: setpriority(2), "C library/kernel differences".
    setpriority(PRIO_PROCESS, 0, 10);
}

int brume_write_back(int fd, int64_t offset, int64_t count, bool waits) {
    unsigned flags = SYNC_FILE_RANGE_WRITE;
    if (waits) flags |= SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER;
    return sync_file_range(fd, offset, count, flags);
}

int brume_sync_file_system(int fd) { return syncfs(fd); }

bool brume_clock_is_kept_in_step(void) {
    struct timex state = {.modes = 0};
    int standing = adjtimex(&state);
    return standing >= 0 && standing != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

bool brume_file_becomes_unreachable(int fd) {
    // Who opens the file while it is leased is announced by a signal, by default one that ends the process. This one is ignored.
    if (fcntl(fd, F_SETSIG, SIGURG) != 0) return false;
    // The kernel gives a write lease only while no other descriptor is open for the file. It ends with the descriptor.
    if (fcntl(fd, F_SETLEASE, F_WRLCK) != 0) return false;
    // Without a name and another descriptor nobody can come to it any more; links and other names would be found here.
    struct stat status;
    if (fstat(fd, &status) == 0 && status.st_nlink == 0) return true;
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return false;
}

bool brume_file_is_unreachable(int fd) { return fcntl(fd, F_GETLEASE) == F_WRLCK; }

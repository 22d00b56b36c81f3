#define _GNU_SOURCE
#include "brume.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

int brume_accept(int listener, void *address, unsigned *length) {
    socklen_t size = *length;
    int fd = accept4(listener, address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    *length = size;
    return fd;
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

void brume_thread_yield_to_others(void) {
    // Linux applies it to the thread, not to the process: setpriority(2), "C library/kernel differences".
    setpriority(PRIO_PROCESS, 0, 10);
}

int brume_write_back(int fd, int64_t offset, int64_t count, bool waits) {
    unsigned flags = SYNC_FILE_RANGE_WRITE;
    if (waits) flags |= SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER;
    return sync_file_range(fd, offset, count, flags);
}

bool brume_is_only_descriptor(int fd) {
    // The kernel gives a write lease only while no other descriptor is open for the file. It ends with the descriptor.
    return fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

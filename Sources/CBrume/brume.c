#define _GNU_SOURCE
#include "brume.h"

#include <pthread.h>
#include <string.h>
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

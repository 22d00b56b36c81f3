// Preloaded into a server by the tests: makes its disk fail, or its wall clock jump, from outside.
//
// FAULT_CALL     fsync, fdatasync or pwrite: the call that fails on files and folders of the journal …
// FAULT_TRIGGER  … as long as this file exists …
// FAULT_ERRNO    … with this error; 5 (EIO) when it is not set.
// FAULT_CLOCK    A file whose text is a number of seconds that the wall clock is off by.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int fails(const char *call, int fd) {
    const char *wanted = getenv("FAULT_CALL"), *trigger = getenv("FAULT_TRIGGER");
    if (wanted == NULL || trigger == NULL || strcmp(wanted, call) != 0 || access(trigger, F_OK) != 0) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, path, sizeof path - 1);
    if (count < 0) return 0;
    path[count] = 0;
    if (strstr(path, "/journal") == NULL) return 0;
    const char *number = getenv("FAULT_ERRNO");
    errno = number == NULL ? EIO : atoi(number);
    return 1;
}

int fsync(int fd) { return fails("fsync", fd) ? -1 : (int)syscall(SYS_fsync, fd); }

int fdatasync(int fd) { return fails("fdatasync", fd) ? -1 : (int)syscall(SYS_fdatasync, fd); }

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return fails("pwrite", fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) { return pwrite(fd, bytes, count, offset); }

int clock_gettime(clockid_t clock, struct timespec *result) {
    int status = (int)syscall(SYS_clock_gettime, clock, result);
    const char *path = getenv("FAULT_CLOCK");
    if (status != 0 || clock != CLOCK_REALTIME || path == NULL) return status;
    int saved = errno;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        char text[32] = {0};
        if (read(fd, text, sizeof text - 1) > 0) result->tv_sec += atol(text);
        close(fd);
    }
    errno = saved;
    return 0;
}

// Preloaded into a server by the tests: makes its disk fail, or its wall clock jump, from outside.
//
// FAULT_CALL     fsync, fdatasync, syncfs or pwrite: the call that fails on files and folders of the journal …
// FAULT_PATH     … or on those alone whose path has this text in it …
// FAULT_TRIGGER  … as long as this file exists …
// FAULT_ERRNO    … with this error; 5 (EIO) when it is not set.
// FAULT_FREE     So many bytes are free on every disk.
// FAULT_LINK     No file gets a second name: linkat fails with this error.
// FAULT_LOOP     As long as this file exists, the thread "loop 0" stands still before it waits for events.
// FAULT_CLOCK    A file whose text is a number of seconds that the wall clock is off by.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
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
    const char *part = getenv("FAULT_PATH");
    if (strstr(path, part == NULL ? "/journal" : part) == NULL) return 0;
    const char *number = getenv("FAULT_ERRNO");
    errno = number == NULL ? EIO : atoi(number);
    return 1;
}

int fsync(int fd) { return fails("fsync", fd) ? -1 : (int)syscall(SYS_fsync, fd); }

int fdatasync(int fd) { return fails("fdatasync", fd) ? -1 : (int)syscall(SYS_fdatasync, fd); }

int syncfs(int fd) { return fails("syncfs", fd) ? -1 : (int)syscall(SYS_syncfs, fd); }

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return fails("pwrite", fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) { return pwrite(fd, bytes, count, offset); }

int statvfs(const char *path, struct statvfs *result) {
    static int (*next)(const char *, struct statvfs *);
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "statvfs");
    int status = next(path, result);
    const char *bytes = getenv("FAULT_FREE");
    if (status == 0 && bytes != NULL) result->f_bavail = (fsblkcnt_t)atoll(bytes) / result->f_frsize;
    return status;
}

int statvfs64(const char *path, struct statvfs64 *result) { return statvfs(path, (struct statvfs *)result); }

int linkat(int from, const char *path, int to, const char *target, int flags) {
    const char *number = getenv("FAULT_LINK");
    if (number == NULL) return (int)syscall(SYS_linkat, from, path, to, target, flags);
    errno = atoi(number);
    return -1;
}

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout) {
    static int (*next)(int, struct epoll_event *, int, int);
    const char *path = getenv("FAULT_LOOP");
    char name[16] = {0};
    if (path != NULL && prctl(PR_GET_NAME, name) == 0 && strcmp(name, "loop 0") == 0) {
        while (access(path, F_OK) == 0) usleep(1000);
    }
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "epoll_wait");
    return next(fd, events, count, timeout);
}

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

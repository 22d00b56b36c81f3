// The query benchmark: the same records and questions for Brume, PostgreSQL and SQLite (run.sh starts them).
//
//   bench SYSTEM load RECORDS
//   bench SYSTEM ask RECORDS SECONDS SAVES_PER_SECOND SERVER_PID
//
// A question's time is that of one client which asks one after the other, from the call to the last row received. One line of
// JSON for each kind of question. SERVER_PID 0 counts this process; its children count with it.
#include "bench.h"
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 4, BATCH = 400 };

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double thread_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// CPU seconds of a process and its children, those that ended included.
static double cpu_seconds(long wanted) {
    DIR *folder = opendir("/proc");
    double ticks = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[300], line[1024];
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (!file) continue;
        size_t count = fread(line, 1, sizeof line - 1, file);
        fclose(file);
        line[count] = 0;
        char *rest = strrchr(line, ')');
        long parent, user, system, child_user, child_system;
        if (!rest || sscanf(rest + 2, "%*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld", &parent, &user, &system, &child_user, &child_system) != 5) continue;
        if (atol(entry->d_name) == wanted) ticks += (double)(user + system + child_user + child_system);
        else if (parent == wanted) ticks += (double)(user + system);
    }
    closedir(folder);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

static const struct system *system_under_test;
static atomic_ullong next_record, saves_done;
static atomic_bool stops;
static double writes_per_second;

static void *load(void *argument) {
    unsigned long long end = *(unsigned long long *)argument;
    void *connection = system_under_test->open();
    for (;;) {
        unsigned long long first = atomic_fetch_add(&next_record, BATCH);
        if (first >= end) return NULL;
        system_under_test->save(connection, first, (unsigned)(end - first < BATCH ? end - first : BATCH));
    }
}

// One of the writers beside the questions: single durable saves at its part of the rate.
static void *write_steadily(void *argument) {
    (void)argument;
    void *connection = system_under_test->open();
    double next = now(), interval = WRITERS / writes_per_second;
    while (!stops) {
        system_under_test->save(connection, atomic_fetch_add(&next_record, 1), 1);
        saves_done++;
        next += interval;
        double wait = next - now();
        if (wait > 0) usleep((useconds_t)(wait * 1e6));
        else if (wait < -1) next = now();  // it can't keep up: the rate reached is printed
    }
    return NULL;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void ask(enum kind kind, void *connection, double seconds, long pid) {
    static double times[1000000];
    struct question question;
    size_t count = 0, rows = 0;
    double first = now();
    question_make(kind, 0, &question);
    system_under_test->ask(connection, &question);  // Brume builds the index now
    first = now() - first;
    for (uint64_t seed = 1; seed < 20; seed++) {
        question_make(kind, seed, &question);
        system_under_test->ask(connection, &question);
    }
    double own = pid ? 0 : thread_seconds(), cpu = pid ? cpu_seconds(pid) : 0;
    unsigned long long saves = saves_done;
    double start = now(), end = start + seconds, time = start;
    while ((time < end || count < 20) && count < sizeof times / sizeof *times) {
        question_make(kind, 1000 + count, &question);
        double before = now();
        rows += system_under_test->ask(connection, &question);
        time = now();
        times[count++] = time - before;
    }
    cpu = (pid ? cpu_seconds(pid) - cpu : thread_seconds() - own);
    qsort(times, count, sizeof *times, ascending);
    printf(
        "{\"system\": \"%s\", \"kind\": \"%s\", \"saves_per_second\": %.0f, \"questions\": %zu, \"rows\": %.1f, \"p50_us\": %.0f, \"p99_us\": %.0f,"
        " \"max_us\": %.0f, \"server_cpu_us\": %.0f, \"first_ms\": %.1f}\n",
        system_under_test->name, kind_names[kind], (double)(saves_done - saves) / (time - start), count, (double)rows / (double)count,
        times[count / 2] * 1e6, times[count * 99 / 100] * 1e6, times[count - 1] * 1e6, cpu / (double)count * 1e6, first * 1e3);
    fflush(stdout);
}

int main(int count, char **arguments) {
    const struct system *systems[] = {&brume_system, &postgres_system, &sqlite_system};
    for (size_t i = 0; count > 3 && i < 3; i++)
        if (strcmp(arguments[1], systems[i]->name) == 0) system_under_test = systems[i];
    if (!system_under_test) fail("usage: bench brume|postgres|sqlite load RECORDS | ask RECORDS SECONDS SAVES_PER_SECOND SERVER_PID");
    unsigned long long records = strtoull(arguments[3], NULL, 10);
    pthread_t threads[WRITERS];
    if (strcmp(arguments[2], "load") == 0) {
        void *connection = system_under_test->open();
        system_under_test->prepare(connection);
        double start = now();
        int loaders = system_under_test == &sqlite_system ? 1 : WRITERS;
        for (int i = 0; i < loaders; i++) pthread_create(&threads[i], NULL, load, &records);
        for (int i = 0; i < loaders; i++) pthread_join(threads[i], NULL);
        double loaded = now();
        system_under_test->finish(connection);
        printf("{\"system\": \"%s\", \"records\": %llu, \"load_seconds\": %.1f, \"index_seconds\": %.1f}\n",
            system_under_test->name, records, loaded - start, now() - loaded);
        return 0;
    }
    if (count < 7) fail("ask needs RECORDS SECONDS SAVES_PER_SECOND SERVER_PID");
    double seconds = atof(arguments[4]);
    writes_per_second = atof(arguments[5]);
    // Behind all records of earlier runs.
    next_record = records + (unsigned long long)time(NULL) % 1000000 * 1000;
    void *connection = system_under_test->open();
    if (writes_per_second > 0)
        for (int i = 0; i < WRITERS; i++) pthread_create(&threads[i], NULL, write_steadily, NULL);
    for (enum kind kind = 0; kind < KINDS; kind++) ask(kind, connection, seconds, atol(arguments[6]));
    stops = true;
    if (writes_per_second > 0)
        for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
    return 0;
}

// Files: how fast they are sent and fetched and what that costs the server, what many slow transfers hold in its memory,
// and how long a save waits on a connection that moves one.
#include "lg.h"
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

// MARK: Contents

enum { POOL = 64 << 20 };
static u8 *pool;

const u8 *asset_bytes(const asset *a, u64 offset) { return pool + (a->from + offset) % POOL; }

static void make_pool(void) {
    pool = malloc(POOL + CHUNK);
    for (size_t i = 0; i < POOL; i += 8) *(u64 *)(pool + i) = rnd();
    memcpy(pool + POOL, pool, CHUNK);
}

// Gives a file a content and a name that none had before: Brume stores the same content once, and removes nothing at
// once, so that others don't have to either.
static void renew(asset *a) {
    static int count;
    a->number = count++;
    a->from = rnd() % POOL;
    if (!P->refer) return; // the others ask for no checksum
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    EVP_DigestInit_ex(hash, EVP_sha256(), 0);
    for (u64 at = 0; at < a->size; at += CHUNK)
        EVP_DigestUpdate(hash, asset_bytes(a, at), a->size - at < CHUNK ? a->size - at : CHUNK);
    EVP_DigestFinal_ex(hash, a->checksum, 0);
    EVP_MD_CTX_free(hash);
}

static asset *make_assets(int count, u64 size) {
    if (!pool) make_pool();
    asset *all = calloc((size_t)count, sizeof *all);
    for (int i = 0; i < count; i++) all[i].size = size, renew(&all[i]);
    return all;
}

void came(conn *c, const u8 *p, size_t n) {
    if (n > c->file->size - c->moved) die("%s: more than the file", g_peer);
    c->allowance -= (int64_t)n;
    for (u64 at = c->moved; n;) {
        size_t k = n < CHUNK ? n : CHUNK;
        if (memcmp(p, asset_bytes(c->file, at), k)) die("%s: other bytes than the file's, near %lu", g_peer, at);
        p += k, n -= k, at += k;
        c->moved = at;
    }
    if (c->allowance <= 0) c->paused = 1;
}

// MARK: Syncing for a server that doesn't

// As many threads as brume has for the disk. Their processor time is counted as the server's.
enum { SYNCERS = 4, QUEUE = 4096 };
static struct {
    conn *c;
    char path[512], folder[400];
} queued[QUEUE];
static u64 q_in, q_out;
static conn *synced[QUEUE];
static u64 s_in, s_out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int wake = -1;
static u64 sync_cpu_ns;

static void sync_path(const char *path) {
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fsync(fd)) die("%s: %s", path, strerror(errno));
    close(fd);
}

static void *syncer(void *unused) {
    u64 before = 0;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (q_in == q_out) pthread_cond_wait(&more, &lock);
        u64 i = q_out++ % QUEUE;
        pthread_mutex_unlock(&lock);
        sync_path(queued[i].path);
        sync_path(queued[i].folder);
        conn *c = queued[i].c;
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        u64 cpu = (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec, one = 1;
        pthread_mutex_lock(&lock);
        sync_cpu_ns += cpu - before;
        before = cpu;
        synced[s_in++ % QUEUE] = c;
        if (write(wake, &one, 8) != 8) die("eventfd");
    }
    return unused;
}

static void woken(void) {
    u64 count;
    if (read(wake, &count, 8) != 8) die("eventfd");
    for (;;) {
        pthread_mutex_lock(&lock);
        conn *c = s_out < s_in ? synced[s_out++ % QUEUE] : 0;
        pthread_mutex_unlock(&lock);
        if (!c) return;
        moved(c);
        flush(c);
    }
}

void moved_after_sync(conn *c, const char *path, const char *folder) {
    if (wake < 0) {
        wake = eventfd(0, 0);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = 0};
        epoll_ctl(g_ep, EPOLL_CTL_ADD, wake, &e);
        on_wake = woken;
        pthread_t thread;
        for (int i = 0; i < SYNCERS; i++) pthread_create(&thread, 0, syncer, 0);
    }
    pthread_mutex_lock(&lock);
    u64 i = q_in++ % QUEUE;
    queued[i].c = c;
    snprintf(queued[i].path, sizeof queued[i].path, "%s", path);
    snprintf(queued[i].folder, sizeof queued[i].folder, "%s", folder);
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
}

static double sync_cpu(void) {
    pthread_mutex_lock(&lock);
    double s = (double)sync_cpu_ns * 1e-9;
    pthread_mutex_unlock(&lock);
    return s;
}

// MARK: All files up, all files down

static void (*on_moved)(conn *);
void moved(conn *c) { on_moved(c); }

static void nothing(conn *c) { (void)c; }
static asset *files;
static int file_count, next_file, ended;
static int going_up;
static u64 ended_at;

static void next_transfer(conn *c) {
    if (next_file == file_count) return;
    c->t0 = now_ns();
    asset *a = &files[next_file++];
    if (going_up) P->upload(c, a);
    else P->download(c, a);
}

static void one_ended(conn *c) {
    u64 t = now_ns();
    lat_add(t - c->t0);
    if (++ended == file_count) ended_at = t;
    next_transfer(c);
}

static void one_moved(conn *c) {
    // With -M an upload ends when a record names it.
    if (going_up && g_both && P->refer) P->refer(c, c->file);
    else one_ended(c);
}

static void allow(int64_t bytes) {
    for (int i = 0; i < g_total; i++) g_c[i].allowance = bytes;
}

static void transfer_all(void) {
    next_file = ended = 0;
    g_nlat = 0;
    allow(INT64_MAX / 2);
    for (int i = 0; i < g_total; i++) {
        next_transfer(&g_c[i]);
        flush(&g_c[i]);
    }
    while (ended < file_count) poll_once(1000);
}

// Makes the records that name what was uploaded, which is not measured.
static void name_all(void) {
    if (!P->refer) return;
    for (int i = 0; i < file_count; i++) {
        conn *c = &g_c[i % g_total];
        P->refer(c, &files[i]);
        flush(c);
        while (c->pending) poll_once(1000);
    }
}

// Leaves the kernel as much free memory as the files need that has been used before. On a virtual machine the first use
// of a page may cost a fault of the host's, which would count as the server's work, and only where it is the first.
static void warm_memory(double bytes) {
    size_t size = (size_t)(bytes * 1.25) + (64 << 20);
    void *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED) die("no memory to warm");
    munmap(p, size);
}

static void moves(int up, double bytes) {
    static char tag[64];
    const char *given = g_tag;
    snprintf(tag, sizeof tag, "%s%s%s", given, *given ? "-" : "", up ? "up" : "down");
    going_up = up;
    fields_reset();
    // A round that warms up, unless it is long.
    for (int r = bytes <= 200e6 ? -1 : 0; r < g_reps; r++) {
        if (up)
            for (int i = 0; i < file_count; i++) renew(&files[i]);
        on_reply = up && g_both ? one_ended : nothing;
        if (up) warm_memory(bytes);
        double s0 = srv_cpu(), c0 = cli_cpu(), y0 = sync_cpu();
        u64 t0 = now_ns();
        transfer_all();
        double w = (double)(ended_at - t0) * 1e-9, s1 = srv_cpu(), c1 = cli_cpu(), y = sync_cpu() - y0;
        on_reply = nothing;
        if (up && !g_both) name_all();
        if (r < 0) continue;
        lat_sort();
        double mb = bytes / 1e6;
        field("MB_s", mb / w);
        field("files_s", file_count / w);
        field("srv_cpu_us_per_mb", (s1 - s0 + y) * 1e6 / mb);
        field("sync_cpu_us_per_mb", y * 1e6 / mb);
        field("srv_cpu_us_per_file", (s1 - s0 + y) * 1e6 / file_count);
        if (file_count > 1) {
            field("p50_us", pct(.5));
            field("p99_us", pct(.99));
        }
        field("srv_cores", (s1 - s0 + y) / w);
        field("cli_cores", (c1 - c0 - y) / w);
        field("rss_mb", srv_rss() / 1e6);
        field("secs", w);
    }
    g_tag = tag;
    emit();
    g_tag = given;
}

static void mode_all(void) {
    file_count = g_count ? (int)g_count : 1;
    files = make_assets(file_count, (u64)g_size);
    on_moved = one_moved;
    on_ready = on_reply = nothing;
    connect_all(16);
    find_pids();
    double bytes = (double)g_size * file_count;
    moves(1, bytes);
    if (!g_both) moves(0, bytes);
}

// MARK: Memory under slow transfers

static void alone_moved(conn *c) {
    (void)c;
    ended = 1;
}

static void upload_now(conn *c, asset *a) {
    on_moved = alone_moved;
    ended = 0;
    P->upload(c, a);
    flush(c);
    while (!ended) poll_once(1000);
    if (!P->refer) return;
    P->refer(c, a);
    flush(c);
    while (c->pending) poll_once(1000);
}

// Each of the connections moves so many MB a second (-w), for some seconds: down, or up (-M). Each account (-u) has a
// file of its own to fetch.
static void mode_slow(void) {
    enum { TICK_MS = 20 };
    int up = g_both;
    file_count = up ? g_total : g_users;
    files = make_assets(1, up ? (u64)g_window * (u64)(g_secs * 2e6) : (u64)g_size);
    files = realloc(files, sizeof *files * (size_t)file_count);
    for (int i = 1; i < file_count; i++) files[i] = files[0], files[i].number = i;
    on_ready = on_reply = nothing;
    find_pids();
    double start = srv_rss();
    connect_all(16);
    allow(INT64_MAX / 2);
    if (!up) {
        for (int i = 0; i < file_count; i++) upload_now(&g_c[i], &files[i]);
    }
    find_pids();
    double idle = srv_rss(), most = idle, s0 = srv_cpu();
    allow(0);
    on_moved = alone_moved;
    u64 t0 = now_ns(), next = t0;
    ended = 0;
    for (int i = 0; i < g_total; i++) {
        conn *c = &g_c[i];
        if (up) P->upload(c, &files[i]);
        else P->download(c, &files[i % file_count]);
        flush(c);
    }
    u64 end = t0 + (u64)(g_secs * 1e9), bytes = 0;
    while (now_ns() < end) {
        if (now_ns() >= next) {
            next += TICK_MS * 1000000ull;
            double rss = srv_rss();
            if (rss > most) most = rss;
            for (int i = 0; i < g_total; i++) {
                conn *c = &g_c[i];
                c->allowance += (int64_t)g_window * 1000 * TICK_MS;
                if (c->paused && c->allowance > 0) proceed(c);
                if (c->sending) P->send(c), flush(c);
            }
        }
        u64 t = now_ns();
        poll_once(next > t ? (int)((next - t) / 1000000) : 0);
        if (ended) die("%s: a slow transfer ended", g_peer);
    }
    double w = (double)(now_ns() - t0) * 1e-9;
    for (int i = 0; i < g_total; i++) bytes += g_c[i].moved;
    g_reps = 1;
    field("above_idle_mb", (most - idle) / 1e6);
    field("above_start_mb", (most - start) / 1e6);
    field("rss_mb", most / 1e6);
    field("idle_mb", idle / 1e6);
    field("MB_s", (double)bytes / 1e6 / w);
    field("srv_cores", (srv_cpu() - s0) / w);
    emit();
}

// MARK: Saves beside a transfer

static int moving; // -1, 0, 1: down, not at all, up
static u64 until, counted, rounds;
static int in_flight;
static enum { NOT, NEXT, NOW } naming; // whether the next save, or the one under way, is to name what was uploaded

static void next_save(conn *c) {
    c->t0 = now_ns();
    if (naming == NEXT) {
        naming = NOW;
        P->refer(c, c->file);
    } else P->put(c, rnd() % 1000, 1);
}

static void move_again(conn *c) {
    in_flight = 1;
    if (moving > 0) P->upload(c, &files[rounds++ % (u64)file_count]);
    else P->download(c, &files[(rounds - 1) % (u64)file_count]);
}

static void saved(conn *c) {
    u64 t = now_ns();
    if (naming == NOW) {
        naming = NOT;
        if (t < until) move_again(c);
    } else lat_add(t - c->t0);
    if (t < until || in_flight || naming) next_save(c);
    else ended = 1;
}

static void beside_moved(conn *c) {
    counted += c->file->size;
    in_flight = 0;
    if (moving > 0) naming = NEXT;
    else if (now_ns() < until) move_again(c);
}

static void mode_beside(void) {
    file_count = 2;
    files = make_assets(file_count, (u64)g_size);
    g_size = 1024; // of a save
    on_moved = beside_moved;
    on_ready = nothing;
    g_total = 1;
    connect_all(1);
    find_pids();
    conn *c = &g_c[0];
    allow(INT64_MAX / 2);
    static const char *tags[] = {"alone", "up", "down"};
    static const int moves[] = {0, 1, -1};
    on_reply = saved;
    for (int k = 0; k < 3; k++) {
        fields_reset();
        for (int r = 0; r < g_reps; r++) {
            moving = moves[k];
            in_flight = ended = 0;
            naming = NOT;
            g_nlat = 0;
            counted = 0;
            u64 t0 = now_ns();
            until = t0 + (u64)(g_secs * 1e9);
            if (moving) move_again(c);
            double s0 = srv_cpu(), c0 = cli_cpu();
            next_save(c);
            flush(c);
            while (!ended) poll_once(1000);
            double w = (double)(now_ns() - t0) * 1e-9;
            size_t n = g_nlat;
            lat_sort();
            field("p99_us", pct(.99));
            field("p50_us", pct(.5));
            field("p95_us", pct(.95));
            field("max_us", n ? g_lat[n - 1] / 1e3 : 0);
            field("saves", (double)n);
            field("MB_s", (double)counted / 1e6 / w);
            field("srv_cores", (srv_cpu() - s0) / w);
            field("cli_cores", (cli_cpu() - c0) / w);
        }
        g_tag = tags[k];
        emit();
    }
}

int mode_assets(const char *mode) {
    if (!P->upload) return 0;
    if (!strcmp(mode, "assets")) mode_all();
    else if (!strcmp(mode, "assets-slow")) mode_slow();
    else if (!strcmp(mode, "assets-beside")) mode_beside();
    else return 0;
    return 1;
}

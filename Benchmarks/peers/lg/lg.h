// What the parts of the load generator share. lg.c: connections and options. measures.c: one function a measure.
// accounting.c: processor time, memory and latencies. One file a protocol, each of which ends in its struct proto.
#pragma once
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef unsigned char u8;
typedef uint64_t u64;
typedef uint32_t u32;
static inline u64 now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void die(const char *f, ...) __attribute__((noreturn, format(printf, 1, 2)));

// A file that is sent and fetched: bytes of one random pool, from a place on, around and around.
typedef struct asset {
    int number;
    u64 size, from;
    // Brume: what names it
    u8 checksum[32], receipt[512];
    u64 generation;
    size_t receipt_length;
} asset;

enum { CONNECTING, PREFACE, HANDSHAKE, LOGIN, READY };
enum { ROLE_CLIENT, ROLE_SUB, ROLE_PUB };
typedef struct buf {
    u8 *p;
    size_t off, len, cap;
} buf;
typedef struct conn {
    int fd, id, state, role, mask, sub_ok;
    SSL *ssl;
    SSL_SESSION *sess;
    buf in, out;
    u64 t0, tlast;
    int pending;
    u64 errs;
    // resp tokenizer
    size_t rp;
    int depth;
    long rrem[8];
    int ridx[8];
    size_t first_o, first_l, last_o, last_l;
    char lastid[64];
    // h2
    int64_t cwin, swin;
    u32 next_stream, cur;
    buf body, msg;
    const char *hp;
    u64 rcvd;
    int dmsgs, got_settings;
    u32 body_end;
    // Brume
    int method;
    u32 taken, taken_bytes;
    u64 notes;
    // where a fetch stands
    u64 pos, items, target, bytes;
    int fetching;
    // a file on its way: bytes that went or came, and that may go or come before the next tick
    asset *file;
    u64 moved;
    int64_t allowance;
    int is_upload, sending, paused;
    u32 stream;
    int64_t credit, credit_bytes;
} conn;

static inline void bneed(buf *b, size_t n) {
    if (b->off && b->off == b->len) b->off = b->len = 0;
    if (b->len + n > b->cap) {
        if (b->off) {
            memmove(b->p, b->p + b->off, b->len - b->off);
            b->len -= b->off;
            b->off = 0;
        }
        if (b->len + n > b->cap) {
            b->cap = (b->len + n) * 2 < 1024 ? 1024 : (b->len + n) * 2;
            b->p = realloc(b->p, b->cap);
            if (!b->p) die("oom");
        }
    }
}
static inline void bput(buf *b, const void *p, size_t n) {
    bneed(b, n);
    memcpy(b->p + b->len, p, n);
    b->len += n;
}
void bprintf(buf *b, const char *f, ...) __attribute__((format(printf, 2, 3))); // at most 255 bytes
static inline void b8(buf *b, int v) {
    u8 x = v;
    bput(b, &x, 1);
}
static inline void b16(buf *b, int v) {
    u8 x[2] = {v >> 8, v};
    bput(b, x, 2);
}
static inline void b32(buf *b, u32 v) {
    u8 x[4] = {v >> 24, v >> 16, v >> 8, v};
    bput(b, x, 4);
}
static inline u32 g32(const u8 *p) { return (u32)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }
static inline void set32(buf *b, size_t at, u32 v) {
    b->p[at] = v >> 24;
    b->p[at + 1] = v >> 16;
    b->p[at + 2] = v >> 8;
    b->p[at + 3] = v;
}
static inline void bvar(buf *b, u64 v) {
    while (v >= 128) {
        b8(b, (int)(v & 127) | 128);
        v >>= 7;
    }
    b8(b, (int)v);
}
static inline int varlen(u64 v) {
    int n = 1;
    while (v >= 128) {
        v >>= 7;
        n++;
    }
    return n;
}
// The next field of a protobuf message, and what follows it; NULL at the end.
static inline const u8 *pb_field(const u8 *p, const u8 *e, int *f, int *wt, u64 *v, const u8 **d) {
    *v = 0;
    u64 t = 0;
    int s = 0;
    if (p >= e) return 0;
    do {
        t |= (u64)(*p & 127) << s;
        s += 7;
    } while (*p++ & 128);
    *f = t >> 3;
    *wt = t & 7;
    if (*wt == 0 || *wt == 2) {
        u64 x = 0;
        s = 0;
        do {
            x |= (u64)(*p & 127) << s;
            s += 7;
        } while (*p++ & 128);
        *v = x;
        if (*wt == 2) {
            *d = p;
            p += x;
        }
    } else if (*wt == 1) p += 8;
    else if (*wt == 5) p += 4;
    return p;
}

// MARK: Options and state (lg.c)

extern const char *g_peer, *g_measure, *g_tag;
extern int g_port, g_conns, g_batch, g_size, g_reps, g_window, g_page, g_log, g_resume, g_pid, g_pss, g_both;
extern int g_other_read; // etcd: serializable; Brume: a query
extern int g_users;      // accounts that connections are divided among, where the server has any
extern u64 g_keys, g_count;
extern double g_secs, g_hold;
extern u8 *g_val;
extern int g_ep;
extern SSL_CTX *g_ctx;
extern conn *g_c;
extern int g_total, g_nready, g_nsub;
extern u64 g_rng;
u64 rnd(void);
extern int g_soft; // failures are tried again: while a server starts
extern int g_failed;

struct proto {
    const char *name;
    void (*hello)(conn *);
    void (*parse)(conn *);
    void (*put)(conn *, u64 key, int n);
    void (*get)(conn *, u64 key);
    void (*sub)(conn *);
    void (*pub)(conn *, u64 id);
    void (*fetch)(conn *);
    int preface;        // P: PostgreSQL asks for TLS first; N: NATS speaks first
    void (*init)(void); // makes what the measures need
    // Files. `send` goes on with an upload as far as it may; `refer` makes a record that names what was uploaded.
    void (*download)(conn *, asset *), (*upload)(conn *, asset *), (*send)(conn *), (*refer)(conn *, asset *);
};
extern struct proto *P;
// events from the protocols
extern void (*on_ready)(conn *), (*on_reply)(conn *), (*on_note)(conn *, u64 id), (*on_fetched)(conn *);
extern struct proto redis_proto, nats_proto, postgres_proto, etcd_proto, mosquitto_proto, floor_proto, brume_proto,
    nginx_proto;
extern int p_prepared, e_fetch_range; // of PostgreSQL and etcd

void flush(conn *c);
void start_conn(conn *c);
void proceed(conn *c); // reads again, after c->paused
void stop_conn(conn *c);
void ready(conn *c); // the protocol's hello was answered
int poll_once(int ms);
void key_text(char *k, u64 key); // 16 bytes and a NUL; room for 20
void note_text(char *t, u64 id); // 100 bytes and a NUL
u64 note_id(const u8 *p);

// MARK: Accounting (accounting.c)

void find_pids(void);
double srv_cpu(void), tree_cpu(void), srv_rss(void), cli_cpu(void);
extern u32 *g_lat;
extern size_t g_nlat;
void lat_add(u64 ns), lat_sort(void);
double pct(double p);
void field(const char *n, double v);
void fields_reset(void);
void emit(void); // one JSON line: the median of each field over the repetitions

// MARK: Measures (measures.c)

int measure(const char *mode);
void connect_all(int par); // opens all connections, par at a time, until all are ready

// MARK: Files (assets.c)

int mode_assets(const char *mode); // false when the mode is none of files
const u8 *asset_bytes(const asset *a, u64 offset); // at least CHUNK bytes from an offset on
enum { CHUNK = 65536 };
void came(conn *c, const u8 *p, size_t n); // content of a download, in order
void moved(conn *c);                       // all of a file is there, and durable
void moved_after_sync(conn *c, const char *path, const char *folder); // the same for a server that doesn't sync
extern void (*on_wake)(void);              // another thread has something for this one

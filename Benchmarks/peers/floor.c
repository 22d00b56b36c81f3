// floor: the least a TLS server must do for each measure: one thread, epoll, OpenSSL, a group-committed journal,
// nothing else. Frames: u32 length (big-endian), op, payload. I ping, W durable write, R read 1 KiB, S subscribe, P
// publish, F u32 count: changes. D u32 number: a file down. U u32 number, C content, E: a file up.
// floor PORT DIR CERTS [batch-fanout]
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
typedef unsigned char u8;
typedef struct cn {
    SSL *s;
    int fd, acks, queued, mask;
    u8 *in;
    size_t len, cap;
    u8 *out;
    size_t oo, ol, oc;
    // files: the one that goes down, how much of it and of its frames; the one that comes up
    int down, up;
    off_t size, sent, came;
    uint32_t number;
} cn;
static int ep;
static cn **subs;
static int nsubs;
static u8 *jn;
static size_t jl, jc;
static cn **wait;
static int nwait;
static cn *whole[4096];
static int nwhole;
static char files[400];
static u8 *log_;
enum { REC = 1029, NLOG = 100000 };
static uint32_t g32(const u8 *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }
static void mask(cn *c, int m) {
    if (c->mask != m) {
        struct epoll_event e = {.events = m, .data.ptr = c};
        epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &e);
        c->mask = m;
    }
}
// A file goes down in frames of 64 KiB, headers included, which are four records of TLS. Nothing is held for a
// connection that doesn't take more: what it has not taken is read again.
enum { FRAME = 65536, BODY = FRAME - 5 };
static void more(cn *c) {
    static u8 f[FRAME];
    off_t frames = (c->size + BODY - 1) / BODY, end = c->size + 5 * frames;
    for (int k = 0; k < 4 && c->sent < end; k++) {
        off_t at = c->sent / FRAME;
        size_t n = at < frames - 1 ? BODY : (size_t)(c->size - at * BODY), o = (size_t)(c->sent % FRAME);
        uint32_t l = htonl((uint32_t)n + 1);
        memcpy(f, &l, 4);
        f[4] = 'd';
        if (pread(c->down, f + 5, n, at * BODY) != (ssize_t)n) exit(1);
        while (o < n + 5) {
            int r = SSL_write(c->s, f + o, n + 5 - o);
            if (r <= 0) {
                mask(c, EPOLLIN | EPOLLOUT);
                return;
            }
            o += r, c->sent += r;
        }
    }
    if (c->sent < end) mask(c, EPOLLIN | EPOLLOUT); // after the others' turns
    else {
        close(c->down), c->down = 0;
        mask(c, EPOLLIN);
    }
}
static void push(cn *c) {
    while (c->oo < c->ol) {
        int n = SSL_write(c->s, c->out + c->oo, c->ol - c->oo);
        if (n <= 0) {
            mask(c, EPOLLIN | EPOLLOUT);
            return;
        }
        c->oo += n;
    }
    free(c->out);
    c->out = 0;
    c->oo = c->ol = c->oc = 0;
    mask(c, EPOLLIN);
}
static void snd(cn *c, const u8 *p, size_t n) {
    if (!c->ol) {
        while (n) {
            int k = SSL_write(c->s, p, n);
            if (k <= 0) break;
            p += k;
            n -= k;
        }
        if (!n) return;
        mask(c, EPOLLIN | EPOLLOUT);
    }
    if (c->ol + n > c->oc) {
        c->oc = (c->ol + n) * 2;
        c->out = realloc(c->out, c->oc);
    }
    memcpy(c->out + c->ol, p, n);
    c->ol += n;
}
static void gone(cn *c) {
    for (int i = 0; i < nsubs; i++)
        if (subs[i] == c) {
            subs[i] = subs[--nsubs];
            break;
        }
    for (int i = 0; i < nwait; i++)
        if (wait[i] == c) wait[i] = 0;
    for (int i = 0; i < nwhole; i++)
        if (whole[i] == c) whole[i] = 0;
    if (c->down) close(c->down);
    if (c->up) close(c->up);
    SSL_free(c->s);
    close(c->fd);
    free(c->in);
    free(c->out);
    free(c);
}
static u8 fan[16380];
static size_t fl;
static void fanned(void) {
    for (int i = 0; i < nsubs; i++) snd(subs[i], fan, fl);
    fl = 0;
}
static void frame(cn *c, u8 op, const u8 *p, size_t n) {
    static u8 r[1100] = {0, 0, 4, 1};
    u8 a[5] = {0, 0, 0, 1};
    switch (op) {
    case 'I':
        a[4] = 'i';
        snd(c, a, 5);
        break;
    case 'W':
        if (jl + n + 8 > jc) {
            jc = (jl + n + 8) * 2;
            jn = realloc(jn, jc);
        }
        memcpy(jn + jl, p, n);
        jl += n;
        c->acks++;
        if (!c->queued) {
            c->queued = 1;
            wait[nwait++] = c;
        }
        break;
    case 'R':
        r[4] = 'r';
        snd(c, r, 5 + 1024);
        break;
    case 'S':
        subs[nsubs++] = c;
        a[4] = 's';
        snd(c, a, 5);
        break;
    case 'P':
        if (fl + 105 > sizeof fan) fanned();
        {
            u8 *o = fan + fl;
            memset(o, 0, 3);
            o[3] = 101;
            o[4] = 'n';
            memcpy(o + 5, p, 100);
            fl += 105;
        }
        break; // sent once per round of the loop
    case 'F': {
        uint32_t k = g32(p);
        if (k > NLOG) k = NLOG;
        snd(c, log_, (size_t)k * REC);
        break;
    }
    case 'D': {
        char path[450];
        snprintf(path, sizeof path, "%s/%u", files, g32(p));
        c->down = open(path, O_RDONLY);
        c->size = lseek(c->down, 0, SEEK_END);
        c->sent = 0;
        more(c);
        break;
    }
    case 'U': {
        char path[450];
        c->number = g32(p);
        snprintf(path, sizeof path, "%s/%u.part", files, c->number);
        c->up = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        c->came = 0;
        break;
    }
    case 'C':
        if (pwrite(c->up, p, n, c->came) != (ssize_t)n) exit(1);
        c->came += (off_t)n;
        break;
    case 'E':
        whole[nwhole++] = c; // synced and named at the end of the loop's round
        break;
    }
}
int main(int argc, char **argv) {
    struct rlimit rl = {200000, 200000};
    setrlimit(RLIMIT_NOFILE, &rl);
    signal(SIGPIPE, SIG_IGN);
    char f[400];
    SSL_CTX *x = SSL_CTX_new(TLS_server_method());
    snprintf(f, 400, "%s/server.crt", argv[3]);
    if (SSL_CTX_use_certificate_file(x, f, SSL_FILETYPE_PEM) != 1) return 1;
    snprintf(f, 400, "%s/server.key", argv[3]);
    SSL_CTX_use_PrivateKey_file(x, f, SSL_FILETYPE_PEM);
    SSL_CTX_set_min_proto_version(x, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(x, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_mode(x, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(x, 1);
    SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(x, 1);
    snprintf(f, 400, "%s/journal", argv[2]);
    int jf = open(f, O_RDWR | O_CREAT | O_TRUNC, 0644);
    off_t jo = 0, jmax = 512 << 20;
    {
        u8 *z = calloc(1, 1 << 20);
        for (off_t o = 0; o < jmax; o += 1 << 20) pwrite(jf, z, 1 << 20, o);
        fsync(jf);
        free(z);
    }
    snprintf(files, sizeof files, "%s/files", argv[2]);
    mkdir(files, 0755);
    int folder = open(files, O_RDONLY | O_DIRECTORY);
    subs = calloc(100000, sizeof *subs);
    wait = calloc(100000, sizeof *wait);
    log_ = malloc((size_t)REC * NLOG);
    for (int i = 0; i < NLOG; i++) {
        u8 h[5] = {0, 0, 4, 1, 'c'};
        memcpy(log_ + (size_t)i * REC, h, 5);
        memset(log_ + (size_t)i * REC + 5, i, 1024);
    }
    int ls = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, 4);
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(ls, (void *)&a, sizeof a) || listen(ls, 4096)) return 1;
    int spin = getenv("SPIN") != 0; // SPIN=1: never sleeps
    ep = epoll_create1(0);
    struct epoll_event v = {.events = EPOLLIN}, ev[512];
    epoll_ctl(ep, EPOLL_CTL_ADD, ls, &v);
    static u8 rb[1 << 18];
    for (;;) {
        int n = epoll_wait(ep, ev, 512, spin ? 0 : -1);
        for (int i = 0; i < n; i++) {
            cn *c = ev[i].data.ptr;
            if (!c) {
                int s;
                while ((s = accept4(ls, 0, 0, SOCK_NONBLOCK)) >= 0) {
                    c = calloc(1, sizeof *c);
                    c->fd = s;
                    c->s = SSL_new(x);
                    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, 4);
                    SSL_set_fd(c->s, s);
                    SSL_set_accept_state(c->s);
                    c->mask = EPOLLIN;
                    v.events = EPOLLIN;
                    v.data.ptr = c;
                    epoll_ctl(ep, EPOLL_CTL_ADD, s, &v);
                }
                continue;
            }
            if (ev[i].events & EPOLLOUT && c->ol) push(c);
            else if (ev[i].events & EPOLLOUT && c->down) more(c);
            int dead = 0;
            for (;;) {
                int r = SSL_read(c->s, rb, sizeof rb);
                if (r <= 0) {
                    if (SSL_get_error(c->s, r) != SSL_ERROR_WANT_READ) dead = 1;
                    break;
                }
                u8 *p = rb;
                size_t l = r;
                if (c->len) {
                    if (c->len + r > c->cap) {
                        c->cap = (c->len + r) * 2;
                        c->in = realloc(c->in, c->cap);
                    }
                    memcpy(c->in + c->len, rb, r);
                    c->len += r;
                    p = c->in;
                    l = c->len;
                }
                size_t o = 0;
                while (l - o >= 5) {
                    size_t k = g32(p + o);
                    if (l - o < 4 + k) break;
                    frame(c, p[o + 4], p + o + 5, k - 1);
                    o += 4 + k;
                }
                if (o == l) {
                    free(c->in);
                    c->in = 0;
                    c->len = c->cap = 0;
                } else if (p == rb) {
                    c->cap = (l - o) > 16384 ? l - o : 32768;
                    size_t need = l - o >= 4 ? g32(p + o) + 4 : 0;
                    if (need > c->cap) c->cap = need + 65536;
                    c->in = malloc(c->cap);
                    memcpy(c->in, p + o, l - o);
                    c->len = l - o;
                } else if (o) {
                    memmove(c->in, c->in + o, l - o);
                    c->len = l - o;
                }
            }
            if (dead) gone(c);
        }
        if (fl) fanned();
        if (nwhole) {
            // All are on their way to the disk before the first is waited for, whose sync commits their names and
            // sizes too.
            for (int i = 0; i < nwhole; i++)
                if (whole[i]) sync_file_range(whole[i]->up, 0, 0, SYNC_FILE_RANGE_WRITE);
            for (int i = 0; i < nwhole; i++)
                if (whole[i]) {
                    cn *c = whole[i];
                    char part[460], name[450];
                    snprintf(name, sizeof name, "%s/%u", files, c->number);
                    snprintf(part, sizeof part, "%s.part", name);
                    if (fsync(c->up) || rename(part, name)) return 1;
                    close(c->up), c->up = 0;
                }
            if (fsync(folder)) return 1;
            for (int i = 0; i < nwhole; i++)
                if (whole[i]) snd(whole[i], (const u8 *)"\0\0\0\1e", 5);
            nwhole = 0;
        }
        if (jl) {
            if (jo + (off_t)jl > jmax) jo = 0;
            if (pwrite(jf, jn, jl, jo) < 0 || fdatasync(jf)) return 1;
            jo += jl;
            jl = 0;
            for (int i = 0; i < nwait; i++)
                if (wait[i]) {
                    cn *c = wait[i];
                    u8 t[5] = {0, 0, 0, 1, 'w'};
                    while (c->acks) {
                        snd(c, t, 5);
                        c->acks--;
                    }
                    c->queued = 0;
                }
            nwait = 0;
        }
    }
}

// limits: what this machine can do at most. limits sync DIR | tls | pingpong | memcpy | idle N | rtt | hs   (each
// prints JSON lines)
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
typedef uint64_t u64;
static u64 now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static double cpu_of(pid_t p) {
    clockid_t k;
    struct timespec t;
    if (p == 0) k = CLOCK_PROCESS_CPUTIME_ID;
    else if (clock_getcpuclockid(p, &k)) return 0;
    clock_gettime(k, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static void die(const char *s) {
    perror(s);
    exit(1);
}
static int cmp64(const void *a, const void *b) {
    u64 x = *(u64 *)a, y = *(u64 *)b;
    return x < y ? -1 : x > y;
}
static u64 lat[4000000];
static int nlat;
static double pct(double p) {
    int i = p * nlat;
    if (i >= nlat) i = nlat - 1;
    return nlat ? lat[i] / 1e3 : 0;
}
static void pin(int c) {
    cpu_set_t s;
    CPU_ZERO(&s);
    CPU_SET(c % 2, &s);
    sched_setaffinity(0, sizeof s, &s);
}

// ---- durable appends
static void sync_one(const char *dir, const char *how, size_t size, int prealloc, double secs) {
    char f[300];
    snprintf(f, 300, "%s/limits.sync", dir);
    int odsync = strstr(how, "dsync") != 0, odirect = strstr(how, "direct") != 0, uring = strstr(how, "uring") != 0;
    int fd = open(f, O_RDWR | O_CREAT | O_TRUNC | (odsync ? O_DSYNC : 0) | (odirect ? O_DIRECT : 0), 0644);
    if (fd < 0) die(f);
    size_t w = odirect ? (size + 4095) / 4096 * 4096 : size;
    size_t total = (size_t)2 << 30;
    if (prealloc == 1) fallocate(fd, 0, 0, total);
    void *b;
    if (posix_memalign(&b, 4096, w)) die("mem");
    memset(b, 7, w);
    if (prealloc == 2) {
        total = size > 100000 ? (size_t)1 << 30 : (size_t)128 << 20;
        char *z = calloc(1, 1 << 20);
        for (size_t o = 0; o < total; o += 1 << 20) pwrite(fd, z, 1 << 20, o);
        fsync(fd);
        free(z);
    }
    struct io_uring r;
    if (uring && io_uring_queue_init(8, &r, 0)) die("uring");
    nlat = 0;
    off_t o = 0;
    double c0 = cpu_of(0);
    u64 t0 = now_ns(), e = t0 + secs * 1e9, t = t0;
    while (t < e && nlat < 3000000) {
        u64 a = t;
        if (uring) {
            struct io_uring_sqe *s = io_uring_get_sqe(&r);
            io_uring_prep_write(s, fd, b, w, o);
            s->flags |= IOSQE_IO_LINK;
            s = io_uring_get_sqe(&r);
            io_uring_prep_fsync(s, fd, IORING_FSYNC_DATASYNC);
            io_uring_submit_and_wait(&r, 2);
            struct io_uring_cqe *q;
            for (int i = 0; i < 2; i++) {
                io_uring_wait_cqe(&r, &q);
                if (q->res < 0) {
                    fprintf(stderr, "uring %d\n", q->res);
                    exit(1);
                }
                io_uring_cqe_seen(&r, q);
            }
        } else {
            if (pwrite(fd, b, w, o) != (ssize_t)w) die("pwrite");
            if (!odsync && fdatasync(fd)) die("fdatasync");
        }
        o += w;
        if (prealloc && o + (off_t)w > (off_t)total) o = 0;
        t = now_ns();
        lat[nlat++] = t - a;
    }
    double s = (t - t0) * 1e-9, c = cpu_of(0) - c0;
    u64 sum = nlat;
    qsort(lat, nlat, 8, cmp64);
    printf(
        "{\"measure\":\"limit-sync\",\"how\":\"%s\",\"bytes\":%zu,\"prealloc\":\"%s\",\"syncs_s\":%.0f,\"MB_s\":%.1f,"
        "\"p50_us\":%.1f,\"p95_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.0f,\"cpu_us_per_sync\":%.1f}\n",
        how, size,
        prealloc == 2 ? "written"
        : prealloc    ? "fallocate"
                      : "no",
        sum / s, sum * size / s / 1e6, pct(.5), pct(.95), pct(.99), pct(1), c * 1e6 / sum
    );
    fflush(stdout);
    if (uring) io_uring_queue_exit(&r);
    close(fd);
    unlink(f);
    free(b);
}
// ---- TLS
static SSL_CTX *srv_ctx(void) {
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    const char *d = getenv("CERTS");
    char f[300];
    snprintf(f, 300, "%s/server.crt", d ? d : "/tmp/peerbench/certs");
    if (SSL_CTX_use_certificate_file(c, f, SSL_FILETYPE_PEM) != 1) die(f);
    snprintf(f, 300, "%s/server.key", d ? d : "/tmp/peerbench/certs");
    SSL_CTX_use_PrivateKey_file(c, f, SSL_FILETYPE_PEM);
    SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(c, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(c, 1);
    if (getenv("NOTICKET")) SSL_CTX_set_num_tickets(c, 0);
    return c;
}
static SSL_CTX *cli_ctx(void) {
    SSL_CTX *c = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(c, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set1_groups_list(c, "X25519");
    SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(c, 1);
    return c;
}
static int listen_on(int *port) {
    int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, 4);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(s, (void *)&a, sizeof a) || listen(s, 4096)) die("listen");
    socklen_t l = sizeof a;
    getsockname(s, (void *)&a, &l);
    *port = ntohs(a.sin_port);
    return s;
}
static int dial(int port) {
    int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, 4);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(s, (void *)&a, sizeof a)) die("connect");
    return s;
}
static void tls_bulk(int rec) { // one connection; the sender and the receiver on a core each
    int port, ls = listen_on(&port);
    pid_t p = fork();
    if (!p) {
        pin(1);
        int s = accept(ls, 0, 0);
        SSL *k = SSL_new(srv_ctx());
        SSL_set_fd(k, s);
        if (SSL_accept(k) != 1) die("accept");
        char *b = malloc(1 << 20);
        memset(b, 3, 1 << 20);
        signal(SIGPIPE, SIG_IGN);
        for (;;) {
            int n = SSL_write(k, b, rec);
            if (n <= 0) break;
        }
        _exit(0);
    }
    pin(0);
    int s = dial(port);
    SSL_CTX *cc = cli_ctx();
    SSL_CTX_set_default_read_buffer_len(cc, 262144);
    SSL *k = SSL_new(cc);
    SSL_set_fd(k, s);
    if (SSL_connect(k) != 1) die("connect");
    char *b = malloc(1 << 20);
    u64 n = 0;
    u64 w = now_ns() + 300000000;
    while (now_ns() < w) SSL_read(k, b, 1 << 20);
    double c0 = cpu_of(0), s0 = cpu_of(p);
    u64 t0 = now_ns(), e = t0 + 2000000000ull;
    while (now_ns() < e) {
        int r = SSL_read(k, b, 1 << 20);
        if (r <= 0) die("read");
        n += r;
    }
    double d = (now_ns() - t0) * 1e-9, c = cpu_of(0) - c0, sv = cpu_of(p) - s0;
    kill(p, 9);
    waitpid(p, 0, 0);
    close(s);
    close(ls);
    printf(
        "{\"measure\":\"limit-tls-bulk\",\"write_bytes\":%d,\"GB_s\":%.3f,\"sender_cpu_ns_per_byte\":%.4f,\"receiver_"
        "cpu_ns_per_byte\":%.4f,\"sender_cores\":%.2f,\"receiver_cores\":%.2f}\n",
        rec, n / d / 1e9, sv * 1e9 / n, c * 1e9 / n, sv / d, c / d
    );
    fflush(stdout);
}
static void tcp_bulk(void) {
    int port, ls = listen_on(&port);
    pid_t p = fork();
    char *b = malloc(1 << 20);
    memset(b, 1, 1 << 20);
    if (!p) {
        pin(1);
        int s = accept(ls, 0, 0);
        signal(SIGPIPE, SIG_IGN);
        while (write(s, b, 262144) > 0)
            ;
        _exit(0);
    }
    pin(0);
    int s = dial(port);
    u64 n = 0;
    double c0 = cpu_of(0), s0 = cpu_of(p);
    u64 t0 = now_ns(), e = t0 + 2000000000ull;
    while (now_ns() < e) {
        int r = read(s, b, 262144);
        if (r <= 0) die("read");
        n += r;
    }
    double d = (now_ns() - t0) * 1e-9, c = cpu_of(0) - c0, sv = cpu_of(p) - s0;
    kill(p, 9);
    waitpid(p, 0, 0);
    close(s);
    close(ls);
    printf(
        "{\"measure\":\"limit-tcp-bulk\",\"GB_s\":%.3f,\"sender_cpu_ns_per_byte\":%.4f,\"receiver_cpu_ns_per_byte\":%."
        "4f}\n",
        n / d / 1e9, sv * 1e9 / n, c * 1e9 / n
    );
    fflush(stdout);
}
typedef struct pc {
    int fd;
    SSL *k;
    int up;
    u64 t0;
} pc;
static void tune(SSL *k, int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, 4);
    SSL_set_fd(k, fd);
}
static void echo_server(int ls, int req, int rep) { // epoll, one thread; answers rep bytes to each req bytes
    SSL_CTX *cx = srv_ctx();
    int ep = epoll_create1(0);
    struct epoll_event v = {.events = EPOLLIN, .data.ptr = 0}, ev[256];
    epoll_ctl(ep, EPOLL_CTL_ADD, ls, &v);
    fcntl(ls, F_SETFL, O_NONBLOCK);
    char *b = malloc(65536), *o = calloc(1, 65536);
    for (;;) {
        int n = epoll_wait(ep, ev, 256, getenv("SPIN") ? 0 : -1);
        for (int i = 0; i < n; i++) {
            pc *c = ev[i].data.ptr;
            if (!c) {
                int s;
                while ((s = accept4(ls, 0, 0, SOCK_NONBLOCK)) >= 0) {
                    c = calloc(1, sizeof *c);
                    c->fd = s;
                    c->k = SSL_new(cx);
                    tune(c->k, s);
                    SSL_set_accept_state(c->k);
                    v.data.ptr = c;
                    epoll_ctl(ep, EPOLL_CTL_ADD, s, &v);
                }
                continue;
            }
            for (;;) {
                int r = SSL_read(c->k, b, 65536);
                if (r <= 0) {
                    if (SSL_get_error(c->k, r) != SSL_ERROR_WANT_READ) {
                        SSL_free(c->k);
                        close(c->fd);
                        free(c);
                    }
                    break;
                }
                c->up += r;
                while (c->up >= req) {
                    c->up -= req;
                    SSL_write(c->k, o, rep);
                }
                if (!SSL_pending(c->k) && r < 60000) break;
            }
        }
    }
}
static void pingpong(int conns, int req, int rep) {
    int port, ls = listen_on(&port);
    pid_t p = fork();
    if (!p) {
        pin(1);
        echo_server(ls, req, rep);
    }
    pin(0);
    SSL_CTX *cx = cli_ctx();
    int ep = epoll_create1(0);
    struct epoll_event v = {.events = EPOLLIN}, ev[256];
    pc *c = calloc(conns, sizeof *c);
    char *b = calloc(1, 65536);
    for (int i = 0; i < conns; i++) {
        c[i].fd = dial(port);
        c[i].k = SSL_new(cx);
        tune(c[i].k, c[i].fd);
        if (SSL_connect(c[i].k) != 1) die("tls");
        fcntl(c[i].fd, F_SETFL, O_NONBLOCK);
        v.data.ptr = &c[i];
        epoll_ctl(ep, EPOLL_CTL_ADD, c[i].fd, &v);
    }
    nlat = 0;
    double c0 = cpu_of(0), s0 = cpu_of(p);
    u64 t0 = now_ns(), e = t0 + 2000000000ull, t = t0;
    for (int i = 0; i < conns; i++) {
        c[i].t0 = now_ns();
        SSL_write(c[i].k, b, req);
    }
    while (t < e) {
        int n = epoll_wait(ep, ev, 256, 1000);
        t = now_ns();
        for (int i = 0; i < n; i++) {
            pc *q = ev[i].data.ptr;
            for (;;) {
                int r = SSL_read(q->k, b, 65536);
                if (r <= 0) break;
                q->up += r;
                if (q->up >= rep) {
                    q->up = 0;
                    u64 x = now_ns();
                    if (nlat < 4000000) lat[nlat++] = x - q->t0;
                    q->t0 = x;
                    SSL_write(q->k, b, req);
                }
                if (!SSL_pending(q->k)) break;
            }
        }
    }
    double d = (t - t0) * 1e-9, cc = cpu_of(0) - c0, sv = cpu_of(p) - s0;
    kill(p, 9);
    waitpid(p, 0, 0);
    u64 n = nlat;
    qsort(lat, nlat, 8, cmp64);
    printf(
        "{\"measure\":\"limit-tls-pingpong\",\"server\":\"%s\",\"conns\":%d,\"req\":%d,\"rep\":%d,\"rt_s\":%.0f,\"p50_"
        "us\":%.1f,\"p99_us\":%.1f,\"srv_cpu_us_per_rt\":%.2f,\"cli_cpu_us_per_rt\":%.2f,\"srv_cores\":%.2f}\n",
        getenv("SPIN") ? "spins" : "sleeps", conns, req, rep, n / d, pct(.5), pct(.99), sv * 1e6 / n, cc * 1e6 / n,
        sv / d
    );
    fflush(stdout);
    for (int i = 0; i < conns; i++) {
        SSL_free(c[i].k);
        close(c[i].fd);
    }
    close(ls);
    close(ep);
    free(c);
}
// fan-out: the server process holds S connections and writes one 128-byte TLS record to each, round after round, as
// fast as one core can
static void fanout(int S) {
    int port, ls = listen_on(&port);
    int pp[2];
    if (pipe(pp)) die("pipe");
    pid_t p = fork();
    if (!p) {
        pin(1);
        SSL_CTX *cx = srv_ctx();
        SSL **k = calloc(S, sizeof *k);
        char o[128] = {1};
        for (int i = 0; i < S; i++) {
            int s = accept(ls, 0, 0);
            k[i] = SSL_new(cx);
            tune(k[i], s);
            if (SSL_accept(k[i]) != 1) die("acc");
        }
        char x;
        while (read(pp[0], &x, 1) == 1) {
            for (int i = 0; i < S; i++) SSL_write(k[i], o, 100);
        }
        _exit(0);
    }
    pin(0);
    SSL_CTX *cx = cli_ctx();
    int ep = epoll_create1(0);
    struct epoll_event v = {.events = EPOLLIN}, ev[512];
    pc *c = calloc(S, sizeof *c);
    char *b = calloc(1, 65536);
    for (int i = 0; i < S; i++) {
        c[i].fd = dial(port);
        c[i].k = SSL_new(cx);
        tune(c[i].k, c[i].fd);
        if (SSL_connect(c[i].k) != 1) die("tls");
        fcntl(c[i].fd, F_SETFL, O_NONBLOCK);
        v.data.ptr = &c[i];
        epoll_ctl(ep, EPOLL_CTL_ADD, c[i].fd, &v);
    }
    nlat = 0;
    u64 got = 0;
    double c0 = cpu_of(0), s0 = cpu_of(p);
    u64 t0 = now_ns(), e = t0 + 2000000000ull;
    while (now_ns() < e) {
        u64 a = now_ns();
        write(pp[1], "x", 1);
        int need = S;
        while (need > 0) {
            int n = epoll_wait(ep, ev, 512, 1000);
            for (int i = 0; i < n; i++) {
                pc *q = ev[i].data.ptr;
                int r;
                while ((r = SSL_read(q->k, b, 65536)) > 0) {
                    q->up += r;
                    while (q->up >= 100) {
                        q->up -= 100;
                        need--;
                        got++;
                    }
                }
            }
        }
        lat[nlat++] = now_ns() - a;
    }
    double d = (now_ns() - t0) * 1e-9, cc = cpu_of(0) - c0, sv = cpu_of(p) - s0;
    kill(p, 9);
    waitpid(p, 0, 0);
    qsort(lat, nlat, 8, cmp64);
    printf(
        "{\"measure\":\"limit-fanout\",\"conns\":%d,\"deliveries_s\":%.0f,\"last_p50_us\":%.0f,\"last_p99_us\":%.0f,"
        "\"srv_cpu_us_per_delivery\":%.2f,\"cli_cpu_us_per_delivery\":%.2f,\"srv_cores\":%.2f,\"cli_cores\":%.2f}\n",
        S, got / d, pct(.5), pct(.99), sv * 1e6 / got, cc * 1e6 / got, sv / d, cc / d
    );
    fflush(stdout);
    for (int i = 0; i < S; i++) {
        SSL_free(c[i].k);
        close(c[i].fd);
    }
    close(ls);
    close(ep);
    close(pp[0]);
    close(pp[1]);
    free(c);
}
// the same in plain TCP (how: 0 = write per socket, 1 = one io_uring batch of sends per round): the kernel's share of
// the cost
static void fanout_tcp(int S, int uring) {
    int port, ls = listen_on(&port);
    int pp[2];
    if (pipe(pp)) die("pipe");
    pid_t p = fork();
    if (!p) {
        pin(1);
        int *k = calloc(S, sizeof *k), one = 1;
        char o[128] = {1};
        for (int i = 0; i < S; i++) {
            k[i] = accept(ls, 0, 0);
            setsockopt(k[i], IPPROTO_TCP, TCP_NODELAY, &one, 4);
        }
        struct io_uring r;
        if (uring && io_uring_queue_init(8192, &r, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN))
            die("uring");
        char x;
        while (read(pp[0], &x, 1) == 1) {
            if (!uring) {
                for (int i = 0; i < S; i++)
                    if (write(k[i], o, 122) < 0) _exit(1);
            } else {
                for (int i = 0; i < S; i++) {
                    struct io_uring_sqe *q = io_uring_get_sqe(&r);
                    io_uring_prep_send(q, k[i], o, 122, MSG_NOSIGNAL);
                    q->flags |= IOSQE_CQE_SKIP_SUCCESS;
                }
                io_uring_submit(&r);
            }
        }
        _exit(0);
    }
    pin(0);
    int ep = epoll_create1(0);
    struct epoll_event v = {.events = EPOLLIN}, ev[512];
    pc *c = calloc(S, sizeof *c);
    char *b = calloc(1, 65536);
    for (int i = 0; i < S; i++) {
        c[i].fd = dial(port);
        fcntl(c[i].fd, F_SETFL, O_NONBLOCK);
        v.data.ptr = &c[i];
        epoll_ctl(ep, EPOLL_CTL_ADD, c[i].fd, &v);
    }
    usleep(200000);
    nlat = 0;
    u64 got = 0;
    double c0 = cpu_of(0), s0 = cpu_of(p);
    u64 t0 = now_ns(), e = t0 + 2000000000ull;
    while (now_ns() < e) {
        u64 a = now_ns();
        write(pp[1], "x", 1);
        int need = S;
        while (need > 0) {
            int n = epoll_wait(ep, ev, 512, 1000);
            for (int i = 0; i < n; i++) {
                pc *q = ev[i].data.ptr;
                int r = read(q->fd, b, 65536);
                if (r > 0) {
                    q->up += r;
                    while (q->up >= 122) {
                        q->up -= 122;
                        need--;
                        got++;
                    }
                }
            }
        }
        lat[nlat++] = now_ns() - a;
    }
    double d = (now_ns() - t0) * 1e-9, cc = cpu_of(0) - c0, sv = cpu_of(p) - s0;
    kill(p, 9);
    waitpid(p, 0, 0);
    qsort(lat, nlat, 8, cmp64);
    printf(
        "{\"measure\":\"limit-fanout-tcp-%s\",\"conns\":%d,\"deliveries_s\":%.0f,\"last_p50_us\":%.0f,\"last_p99_us\":%"
        ".0f,\"srv_cpu_us_per_delivery\":%.2f,\"cli_cpu_us_per_delivery\":%.2f,\"srv_cores\":%.2f,\"cli_cores\":%.2f}"
        "\n",
        uring ? "uring" : "write", S, got / d, pct(.5), pct(.99), sv * 1e6 / got, cc * 1e6 / got, sv / d, cc / d
    );
    fflush(stdout);
    for (int i = 0; i < S; i++) close(c[i].fd);
    close(ls);
    close(ep);
    close(pp[0]);
    close(pp[1]);
    free(c);
}
// AES-128-GCM alone, one core: bytes/s by record size
static void aead(void) {
    int z[] = {64, 128, 1024, 16384};
    pin(0);
    for (int i = 0; i < 4; i++) {
        EVP_CIPHER_CTX *x = EVP_CIPHER_CTX_new();
        unsigned char key[16] = {1}, iv[12] = {2}, tag[16], *b = calloc(1, 16400);
        int l;
        EVP_EncryptInit_ex(x, EVP_aes_128_gcm(), 0, key, iv);
        u64 n = 0, t0 = now_ns(), e = t0 + 500000000ull;
        while (now_ns() < e)
            for (int k = 0; k < 64; k++) {
                iv[0]++;
                EVP_EncryptInit_ex(x, 0, 0, 0, iv);
                EVP_EncryptUpdate(x, 0, &l, iv, 5);
                EVP_EncryptUpdate(x, b, &l, b, z[i]);
                EVP_EncryptFinal_ex(x, b + l, &l);
                EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_GET_TAG, 16, tag);
                n++;
            }
        double d = (now_ns() - t0) * 1e-9;
        printf(
            "{\"measure\":\"limit-aes128gcm\",\"record\":%d,\"GB_s\":%.3f,\"ns_per_record\":%.0f}\n", z[i],
            n * z[i] / d / 1e9, d * 1e9 / n
        );
        fflush(stdout);
        EVP_CIPHER_CTX_free(x);
        free(b);
    }
}
static double rss_of(pid_t p) {
    char f[64], l[256];
    double r = 0;
    snprintf(f, 64, "/proc/%d/status", p);
    FILE *x = fopen(f, "r");
    while (x && fgets(l, 256, x))
        if (!strncmp(l, "VmRSS:", 6)) r = atof(l + 6) * 1024;
    if (x) fclose(x);
    return r;
}
static double slab(void) {
    char l[256];
    double r = 0;
    FILE *x = fopen("/proc/meminfo", "r");
    while (fgets(l, 256, x))
        if (!strncmp(l, "Slab:", 5)) r = atof(l + 5) * 1024;
    fclose(x);
    return r;
}
static void idle(int S) {
    int port, ls = listen_on(&port);
    pid_t p = fork();
    if (!p) {
        echo_server(ls, 100, 100);
    }
    usleep(100000);
    double r0 = rss_of(p), k0 = slab();
    SSL_CTX *cx = cli_ctx();
    pc *c = calloc(S, sizeof *c);
    char b[200];
    for (int i = 0; i < S; i++) {
        c[i].fd = dial(port);
        c[i].k = SSL_new(cx);
        tune(c[i].k, c[i].fd);
        if (SSL_connect(c[i].k) != 1) die("tls");
        SSL_write(c[i].k, b, 100);
        SSL_read(c[i].k, b, 100);
    }
    usleep(500000);
    printf(
        "{\"measure\":\"limit-idle\",\"conns\":%d,\"server_rss_bytes_per_conn\":%.0f,\"kernel_slab_bytes_per_pair\":%."
        "0f}\n",
        S, (rss_of(p) - r0) / S, (slab() - k0) / S
    );
    fflush(stdout);
    kill(p, 9);
    waitpid(p, 0, 0);
    for (int i = 0; i < S; i++) {
        SSL_free(c[i].k);
        close(c[i].fd);
    }
    free(c);
    close(ls);
}
static void rtt(int samecore) {
    int port, ls = listen_on(&port);
    pid_t p = fork();
    if (!p) {
        pin(samecore ? 0 : 1);
        int s = accept(ls, 0, 0), one = 1;
        setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, 4);
        char b[64];
        for (;;) {
            int n = read(s, b, 64);
            if (n <= 0) _exit(0);
            write(s, b, n);
        }
    }
    pin(0);
    int s = dial(port);
    char b[64] = {0};
    nlat = 0;
    for (int i = 0; i < 100000; i++) {
        u64 t = now_ns();
        write(s, b, 32);
        read(s, b, 64);
        lat[nlat++] = now_ns() - t;
    }
    kill(p, 9);
    waitpid(p, 0, 0);
    qsort(lat, nlat, 8, cmp64);
    printf(
        "{\"measure\":\"limit-tcp-rtt\",\"cores\":\"%s\",\"p50_us\":%.2f,\"p99_us\":%.2f}\n", samecore ? "same" : "two",
        pct(.5), pct(.99)
    );
    fflush(stdout);
    close(s);
    close(ls);
}
static void *memcpy_thread(void *a) {
    size_t n = *(size_t *)a;
    char *x = malloc(n), *y = malloc(n);
    memset(x, 1, n);
    memset(y, 2, n);
    u64 k = 0, t0 = now_ns(), e = t0 + 1000000000ull;
    while (now_ns() < e) {
        for (int i = 0; i < (n > 1 << 20 ? 1 : 64); i++) {
            memcpy(x, y, n);
            k += n;
            __asm__ volatile("" ::: "memory");
        }
    }
    double *r = malloc(8);
    *r = k / ((now_ns() - t0) * 1e-9) / 1e9;
    free(x);
    free(y);
    return r;
}
static void mem(int th, size_t n) {
    pthread_t t[4];
    double s = 0;
    for (int i = 0; i < th; i++) pthread_create(&t[i], 0, memcpy_thread, &n);
    for (int i = 0; i < th; i++) {
        double *r;
        pthread_join(t[i], (void **)&r);
        s += *r;
    }
    printf("{\"measure\":\"limit-memcpy\",\"threads\":%d,\"block\":%zu,\"GB_s_copied\":%.2f}\n", th, n, s);
    fflush(stdout);
}
static SSL_SESSION *last;
static int keep(SSL *s, SSL_SESSION *x) {
    (void)s;
    if (last) SSL_SESSION_free(last);
    last = x;
    return 1;
}
static void hs(int resume) {
    int port, ls = listen_on(&port);
    pid_t p = fork();
    if (!p) {
        pin(1);
        echo_server(ls, 1, 1);
    }
    pin(0);
    SSL_CTX *cx = cli_ctx();
    SSL_CTX_set_session_cache_mode(cx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(cx, keep);
    u64 n = 0, rs = 0;
    double c0 = 0, s0 = 0;
    u64 t0 = 0, e = now_ns() + 300000000ull;
    for (int ph = 0; ph < 2; ph++) {
        if (ph) {
            n = rs = 0;
            c0 = cpu_of(0);
            s0 = cpu_of(p);
            t0 = now_ns();
            e = t0 + 2000000000ull;
        }
        enum { K = 8 };
        while (now_ns() < e) {
            int fd[K];
            SSL *k[K];
            for (int i = 0; i < K; i++) {
                fd[i] = dial(port);
                k[i] = SSL_new(cx);
                tune(k[i], fd[i]);
                if (resume && last) SSL_set_session(k[i], last);
                fcntl(fd[i], F_SETFL, O_NONBLOCK);
                SSL_connect(k[i]);
                fcntl(fd[i], F_SETFL, 0);
            }
            for (int i = 0; i < K; i++) {
                char b = 1;
                if (SSL_connect(k[i]) != 1) die("hs");
                SSL_write(k[i], &b, 1);
                SSL_read(k[i], &b, 1);
                n++;
                rs += SSL_session_reused(k[i]);
                SSL_set_shutdown(k[i], 3);
                SSL_free(k[i]);
                struct linger l = {1, 0};
                setsockopt(fd[i], SOL_SOCKET, SO_LINGER, &l, sizeof l);
                close(fd[i]);
            }
        }
    }
    double d = (now_ns() - t0) * 1e-9, cc = cpu_of(0) - c0, sv = cpu_of(p) - s0;
    kill(p, 9);
    waitpid(p, 0, 0);
    printf(
        "{\"measure\":\"limit-hs\",\"resumed_share\":%.2f,\"handshakes_s\":%.0f,\"srv_cpu_us_per_hs\":%.1f,\"cli_cpu_"
        "us_per_hs\":%.1f,\"srv_cores\":%.2f}\n",
        (double)rs / n, n / d, sv * 1e6 / n, cc * 1e6 / n, sv / d
    );
    fflush(stdout);
    close(ls);
}
int main(int argc, char **argv) {
    struct rlimit rl = {200000, 200000};
    setrlimit(RLIMIT_NOFILE, &rl);
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) return 2;
    const char *m = argv[1];
    int all = !strcmp(m, "all");
    const char *dir = argc > 2 ? argv[2] : "/tmp";
    if (all || !strcmp(m, "sync")) {
        size_t z[] = {1024, 16384, 409600};
        for (int i = 0; i < 3; i++) {
            for (int pre = 0; pre < 3; pre++) sync_one(dir, "pwrite+fdatasync", z[i], pre, 1.5);
            sync_one(dir, "pwrite-O_DSYNC", z[i], 0, 1.5);
            sync_one(dir, "pwrite-O_DSYNC", z[i], 2, 1.5);
            sync_one(dir, "direct+dsync", z[i], 2, 1.5);
            sync_one(dir, "uring-linked-write+fdatasync", z[i], 0, 1.5);
            sync_one(dir, "uring-linked-write+fdatasync", z[i], 2, 1.5);
        }
    }
    if (all || !strcmp(m, "tls")) {
        tcp_bulk();
        int z[] = {1024, 16384, 262144};
        for (int i = 0; i < 3; i++) tls_bulk(z[i]);
    }
    if (!strcmp(m, "spin")) {
        setenv("SPIN", "1", 1);
        pingpong(1, 32, 32);
        pingpong(1, 1100, 32);
        pingpong(64, 32, 32);
    }
    if (all || !strcmp(m, "pingpong")) {
        pingpong(1, 32, 32);
        pingpong(64, 32, 32);
        pingpong(64, 64, 1100);
        pingpong(64, 1100, 32);
    }
    if (all || !strcmp(m, "fanout")) {
        fanout(100);
        fanout(1000);
        fanout(5000);
        for (int u = 0; u < 2; u++) {
            fanout_tcp(100, u);
            fanout_tcp(1000, u);
            fanout_tcp(5000, u);
        }
    }
    if (all || !strcmp(m, "aead")) aead();
    if (all || !strcmp(m, "memcpy")) {
        mem(1, 65536);
        mem(1, 256 << 20);
        mem(2, 256 << 20);
    }
    if (all || !strcmp(m, "idle")) {
        idle(1000);
        idle(10000);
    }
    if (all || !strcmp(m, "rtt")) {
        rtt(0);
        rtt(1);
    }
    if (all || !strcmp(m, "hs")) {
        hs(0);
        hs(1);
    }
    return 0;
}

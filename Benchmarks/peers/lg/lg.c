// lg: a load generator on one thread, epoll and OpenSSL, that speaks each server's own protocol over TLS 1.3.
#include "lg.h"

void die(const char *f, ...) {
    va_list a;
    va_start(a, f);
    fprintf(stderr, "lg: ");
    vfprintf(stderr, f, a);
    fprintf(stderr, "\n");
    exit(1);
}
void bprintf(buf *b, const char *f, ...) {
    va_list a;
    bneed(b, 256);
    va_start(a, f);
    b->len += vsnprintf((char *)b->p + b->len, 256, f, a);
    va_end(a);
}

const char *g_peer = "", *g_measure = "", *g_tag = "";
int g_port, g_conns = 1, g_batch = 1, g_size = 1024, g_reps = 3, g_window = 1, g_page = 1000, g_log, g_resume, g_pid,
            g_pss;
int g_both, g_users = 1, g_other_read;
u64 g_keys = 100000, g_count;
double g_secs = 2, g_hold = 0;
u8 *g_val;
int g_ep;
SSL_CTX *g_ctx;
conn *g_c;
int g_total, g_nready, g_nsub;
u64 g_rng = 88172645463325252ull;
u64 rnd(void) {
    g_rng ^= g_rng << 13;
    g_rng ^= g_rng >> 7;
    g_rng ^= g_rng << 17;
    return g_rng;
}

struct proto *P;
void (*on_ready)(conn *), (*on_reply)(conn *), (*on_note)(conn *, u64 id), (*on_fetched)(conn *);

// ---- connection engine
static void set_mask(conn *c, int m) {
    if (c->mask == m) return;
    struct epoll_event e = {.events = m, .data.ptr = c};
    epoll_ctl(g_ep, EPOLL_CTL_MOD, c->fd, &e);
    c->mask = m;
}
void flush(conn *c) {
    int in = c->paused ? 0 : EPOLLIN;
    do {
        while (c->out.off < c->out.len) {
            int n = SSL_write(c->ssl, c->out.p + c->out.off, c->out.len - c->out.off);
            if (n > 0) {
                c->out.off += n;
                continue;
            }
            int e = SSL_get_error(c->ssl, n);
            if (e == SSL_ERROR_WANT_WRITE) {
                set_mask(c, in | EPOLLOUT);
                return;
            }
            if (e == SSL_ERROR_WANT_READ) return;
            die("%s: write error conn %d ssl=%d errno=%d", g_peer, c->id, e, errno);
        }
        c->out.off = c->out.len = 0;
        if (c->sending) P->send(c);
    } while (c->out.len);
    set_mask(c, in);
}
void start_conn(conn *c) {
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) die("socket: %s", strerror(errno));
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(g_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(c->fd, (void *)&a, sizeof a) < 0 && errno != EINPROGRESS) die("connect: %s", strerror(errno));
    c->state = CONNECTING;
    c->mask = EPOLLIN | EPOLLOUT;
    struct epoll_event e = {.events = c->mask, .data.ptr = c};
    epoll_ctl(g_ep, EPOLL_CTL_ADD, c->fd, &e);
    c->ssl = SSL_new(g_ctx);
    SSL_set_fd(c->ssl, c->fd);
    SSL_set_connect_state(c->ssl);
    SSL_set_app_data(c->ssl, (char *)c);
    if (c->sess) SSL_set_session(c->ssl, c->sess);
}
void stop_conn(conn *c) {
    SSL_set_shutdown(c->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(c->ssl);
    struct linger l = {1, 0};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
    close(c->fd);
    c->in.off = c->in.len = c->out.off = c->out.len = 0;
    c->body.off = c->body.len = c->msg.off = c->msg.len = 0;
    c->rp = 0;
    c->depth = 0;
    c->pending = 0;
    c->got_settings = 0;
    c->hp = 0;
    c->cur = 0;
    c->sub_ok = 0;
    c->method = 0;
    c->taken = c->taken_bytes = 0;
    c->notes = 0;
    c->sending = c->paused = 0;
    c->stream = 0;
}
int g_soft; // tolerate failures (wait mode)
int g_failed;
void ready(conn *c) {
    c->state = READY;
    g_nready++;
    on_ready(c);
}
static void handshake(conn *c) {
    int r = SSL_do_handshake(c->ssl);
    if (r == 1) {
        c->state = LOGIN;
        P->hello(c);
        flush(c);
        return;
    }
    int e = SSL_get_error(c->ssl, r);
    if (e == SSL_ERROR_WANT_READ) set_mask(c, EPOLLIN);
    else if (e == SSL_ERROR_WANT_WRITE) set_mask(c, EPOLLIN | EPOLLOUT);
    else {
        if (g_soft) {
            g_failed = 1;
            return;
        }
        ERR_print_errors_fp(stderr);
        die("%s: handshake failed conn %d e=%d errno=%d", g_peer, c->id, e, errno);
    }
}
static void handle(conn *c, int ev) {
    if (c->state == CONNECTING) {
        int err = 0;
        socklen_t l = sizeof err;
        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &l);
        if (err) {
            if (g_soft) {
                g_failed = 1;
                return;
            }
            die("connect: %s", strerror(err));
        }
        if (!(ev & EPOLLOUT)) return;
        if (P->preface == 'P') {
            u8 r[8] = {0, 0, 0, 8, 4, 210, 22, 47};
            if (write(c->fd, r, 8) != 8) die("preface");
        }
        set_mask(c, EPOLLIN);
        c->state = P->preface ? PREFACE : HANDSHAKE;
        if (c->state == HANDSHAKE) handshake(c);
        return;
    }
    if (c->state == PREFACE) {
        u8 t[4096];
        int n = read(c->fd, t, sizeof t);
        if (n <= 0) {
            if (g_soft) {
                g_failed = 1;
                return;
            }
            if (n < 0 && errno == EAGAIN) return;
            die("preface closed conn %d", c->id);
        }
        if (P->preface == 'P' && t[0] != 'S') die("postgres refused TLS");
        if (P->preface == 'N' && t[n - 1] != '\n') return;
        c->state = HANDSHAKE;
        handshake(c);
        return;
    }
    if (c->state == HANDSHAKE) {
        handshake(c);
        return;
    }
    if (ev & EPOLLOUT) flush(c);
    SSL *s = c->ssl;
    for (;;) {
        if (c->paused) {
            set_mask(c, c->mask & ~EPOLLIN);
            break;
        }
        bneed(&c->in, c->in.cap >= 65536 ? 16384 : 4096);
        int n = SSL_read(s, c->in.p + c->in.len, c->in.cap - c->in.len);
        if (n > 0) {
            c->in.len += n;
            P->parse(c);
            if (c->ssl != s || c->state < LOGIN) return;
            continue;
        }
        int e = SSL_get_error(s, n);
        if (e == SSL_ERROR_WANT_READ) break;
        if (e == SSL_ERROR_WANT_WRITE) break;
        if (g_soft) {
            g_failed = 1;
            return;
        }
        ERR_print_errors_fp(stderr);
        die("%s: closed by server conn %d state %d ssl=%d errno=%d", g_peer, c->id, c->state, e, errno);
    }
    if (c->out.off < c->out.len) flush(c);
}
void proceed(conn *c) {
    c->paused = 0;
    set_mask(c, c->mask | EPOLLIN);
    handle(c, EPOLLIN);
}
void (*on_wake)(void);
int poll_once(int ms) {
    static struct epoll_event ev[512];
    int n = epoll_wait(g_ep, ev, 512, ms);
    for (int i = 0; i < n; i++) {
        if (ev[i].data.ptr) handle(ev[i].data.ptr, ev[i].events);
        else on_wake();
    }
    return n;
}
static int new_session(SSL *s, SSL_SESSION *x) {
    conn *c = (conn *)SSL_get_app_data(s);
    if (!g_resume) return 0;
    if (c->sess) SSL_SESSION_free(c->sess);
    c->sess = x;
    return 1;
}

void key_text(char *k, u64 key) {
    memcpy(k, "rec:000000000000", 17);
    for (int i = 15; key && i > 3; i--, key /= 10) k[i] = '0' + key % 10;
}
void note_text(char *t, u64 id) {
    memset(t, 'x', 100);
    t[100] = 0;
    for (int i = 11; i >= 0; i--, id /= 10) t[i] = '0' + id % 10;
}
u64 note_id(const u8 *p) {
    u64 v = 0;
    for (int i = 0; i < 12; i++) v = v * 10 + p[i] - '0';
    return v;
}

int main(int argc, char **argv) {
    int o;
    const char *mode = argv[1];
    if (argc == 2 && !strcmp(mode, "now")) return printf("%lu\n", now_ns()) < 0;
    if (argc < 3)
        die("usage: lg MODE PEER [-p port] [-c conns] [-b batch] [-t secs] [-r reps] [-k keys] [-n count] [-s size] "
            "[-w window] [-l page] [-P pid] [-T (tree, pss)] [-L (log)] [-R (resume)] [-x tag] [-u users]");
    g_peer = argv[2];
    g_measure = mode;
    optind = 3;
    const char *proto = g_peer;
    while ((o = getopt(argc, argv, "p:c:b:t:r:k:n:s:w:l:P:TLRSGMx:o:h:m:u:")) != -1) switch (o) {
        case 'p':
            g_port = atoi(optarg);
            break;
        case 'c':
            g_conns = atoi(optarg);
            break;
        case 'b':
            g_batch = atoi(optarg);
            break;
        case 't':
            g_secs = atof(optarg);
            break;
        case 'r':
            g_reps = atoi(optarg);
            break;
        case 'k':
            g_keys = strtoull(optarg, 0, 10);
            break;
        case 'n':
            g_count = strtoull(optarg, 0, 10);
            break;
        case 's':
            g_size = atoi(optarg);
            break;
        case 'w':
            g_window = atoi(optarg);
            break;
        case 'l':
            g_page = atoi(optarg);
            break;
        case 'P':
            g_pid = atoi(optarg);
            break;
        case 'T':
            g_pss = 1;
            break;
        case 'L':
            g_log = 1;
            break;
        case 'R':
            g_resume = 1;
            break;
        case 'S':
            g_other_read = 1;
            break;
        case 'M':
            g_both = 1;
            break;
        case 'G':
            e_fetch_range = 1;
            break;
        case 'x':
            g_tag = optarg;
            break;
        case 'o':
            proto = optarg;
            break;
        case 'h':
            g_hold = atof(optarg);
            break;
        case 'u':
            g_users = atoi(optarg);
            break;
        case 'm':
            g_measure = optarg;
            break;
        default:
            return 2;
        }
    struct proto *protos[] = {&redis_proto,     &nats_proto,  &postgres_proto, &etcd_proto,
                              &mosquitto_proto, &floor_proto, &brume_proto, &nginx_proto};
    for (size_t i = 0; i < sizeof protos / sizeof *protos; i++)
        if (!strcmp(protos[i]->name, proto)) P = protos[i];
    if (!P) die("no protocol %s", proto);
    signal(SIGPIPE, SIG_IGN);
    struct rlimit rl = {200000, 200000};
    setrlimit(RLIMIT_NOFILE, &rl);
    g_rng ^= now_ns() * 2654435761u;
    g_val = malloc(g_size);
    for (int i = 0; i < g_size; i++) g_val[i] = rnd() >> 24;
    g_ep = epoll_create1(0);
    g_ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(g_ctx, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(g_ctx, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set1_groups_list(g_ctx, P == &postgres_proto ? "P-256" : "X25519");
    SSL_CTX_set_mode(
        g_ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
    );
    SSL_CTX_set_read_ahead(g_ctx, 1);
    if (!strcmp(mode, "fetch") || !strncmp(mode, "assets", 6)) SSL_CTX_set_default_read_buffer_len(g_ctx, 131072);
    SSL_CTX_set_session_cache_mode(
        g_ctx, g_resume ? SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL : SSL_SESS_CACHE_OFF
    );
    SSL_CTX_sess_set_new_cb(g_ctx, new_session);
    if (P == &etcd_proto) SSL_CTX_set_alpn_protos(g_ctx, (const u8 *)"\x02h2", 3);
    if (P == &brume_proto)
        SSL_CTX_set_alpn_protos(
            g_ctx,
            (const u8 *)"\x07"
                        "brume/1",
            8
        );
    g_total = g_conns;
    g_c = calloc(g_conns + 1, sizeof(conn));
    p_prepared = P == &postgres_proto && strcmp(mode, "idle") && strcmp(mode, "hs");
    return measure(mode);
}

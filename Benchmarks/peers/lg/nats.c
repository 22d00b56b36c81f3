// NATS.
#include "lg.h"

static void n_hello(conn *c) {
    bprintf(
        &c->out, "CONNECT "
                 "{\"verbose\":false,\"pedantic\":false,\"tls_required\":true,\"headers\":true,\"no_responders\":true,"
                 "\"protocol\":1,\"lang\":\"c\",\"version\":\"1\"}\r\n"
    );
    bprintf(&c->out, "SUB I.%d 1\r\nPING\r\n", c->id);
}
static void n_put(conn *c, u64 key, int n) {
    char k[32];
    c->pending = n;
    for (int i = 0; i < n; i++) {
        key_text(k, key + i);
        bprintf(&c->out, "PUB %s.%s I.%d %d\r\n", g_log ? "log" : "$KV.r", k, c->id, g_size);
        bput(&c->out, g_val, g_size);
        bput(&c->out, "\r\n", 2);
    }
}
static void n_get(conn *c, u64 key) {
    char k[32];
    key_text(k, key);
    bprintf(&c->out, "PUB $JS.API.DIRECT.GET.KV_r.$KV.r.%s I.%d 0\r\n\r\n", k, c->id);
    c->pending = 1;
}
static void n_sub(conn *c) { bprintf(&c->out, "SUB n 2\r\nPING\r\n"); }
static void n_pub(conn *c, u64 id) {
    char t[128];
    note_text(t, id);
    bprintf(&c->out, "PUB n 100\r\n%s\r\n", t);
}
static int n_ephem;
static void n_fetch(conn *c) {
    char j[512];
    n_ephem++;
    c->pos = n_ephem;
    int n = sprintf(
        j,
        "{\"stream_name\":\"log\",\"config\":{\"deliver_subject\":\"D.%d.%d\",\"deliver_policy\":\"by_start_sequence\","
        "\"opt_start_seq\":1,\"ack_policy\":\"none\",\"replay_policy\":\"instant\",\"mem_storage\":true}}",
        c->id, n_ephem
    );
    bprintf(&c->out, "SUB D.%d.%d 3\r\n", c->id, n_ephem);
    bprintf(&c->out, "PUB $JS.API.CONSUMER.CREATE.log I.%d %d\r\n", c->id, n);
    bput(&c->out, j, n);
    bput(&c->out, "\r\n", 2);
}
static void n_parse(conn *c) {
    for (;;) {
        u8 *b = c->in.p + c->in.off;
        size_t len = c->in.len - c->in.off;
        if (!len) break;
        u8 *nl = memchr(b, '\n', len);
        if (!nl) break;
        size_t next = nl - b + 1;
        if (b[0] == 'P' && b[1] == 'O') {
            c->in.off += next;
            SSL *s = c->ssl;
            if (c->state == LOGIN) ready(c);
            else if (c->role == ROLE_SUB && !c->sub_ok) {
                c->sub_ok = 1;
                g_nsub++;
            }
            if (c->ssl != s || c->state < LOGIN) return;
            continue;
        }
        if (b[0] == 'P' && b[1] == 'I') {
            c->in.off += next;
            bput(&c->out, "PONG\r\n", 6);
            continue;
        }
        if (b[0] == '-') die("nats: %.*s", (int)next, b);
        if (b[0] == 'M' || b[0] == 'H') { // MSG subj sid [reply] len | HMSG subj sid [reply] hlen len
            u8 *q = nl - 1;
            while (isdigit(q[-1])) q--;
            size_t n = strtol((char *)q, 0, 10);
            if (next + n + 2 > len) break;
            u8 *sp = memchr(b + 4, ' ', next);
            if (b[0] == 'H') sp = memchr(b + 5, ' ', next);
            int sid = sp[1] - '0';
            u8 *d = b + next;
            c->in.off += next + n + 2;
            if (sid == 2) {
                on_note(c, note_id(d));
                continue;
            }
            if (sid == 3) {
                c->items++;
                c->bytes += n;
                if (c->fetching && c->items == c->target) {
                    bprintf(&c->out, "UNSUB 3\r\n");
                    on_fetched(c);
                }
                continue;
            }
            if (c->fetching) {
                if (memmem(d, n, "\"error\"", 7)) die("nats: %.*s", (int)n, d);
                continue;
            }
            if (b[0] == 'M' && memmem(d, n, "\"error\"", 7)) die("nats: %.*s", (int)n, d);
            if (b[0] == 'H' && n < 200) die("nats get: %.*s", (int)n, d);
            if (c->pending && --c->pending == 0) {
                SSL *s = c->ssl;
                on_reply(c);
                if (c->ssl != s || c->state < LOGIN) return;
            }
            continue;
        }
        c->in.off += next; // INFO, +OK
    }
    bneed(&c->in, 0);
    if (c->in.off) {
        memmove(c->in.p, c->in.p + c->in.off, c->in.len - c->in.off);
        c->in.len -= c->in.off;
        c->in.off = 0;
    }
}

static void n_init(void) { // creates the JetStream streams
    g_total = 1;
    connect_all(1);
    conn *c = &g_c[0];
    const char *kv = "{\"name\":\"KV_r\",\"subjects\":[\"$KV.r.>\"],\"max_msgs_per_subject\":1,\"storage\":\"file\","
                     "\"retention\":\"limits\",\"discard\":\"new\",\"allow_direct\":true,\"allow_rollup_hdrs\":true,"
                     "\"num_replicas\":1,\"max_msgs\":-1,\"max_bytes\":-1,\"max_consumers\":-1}";
    const char *lg = "{\"name\":\"log\",\"subjects\":[\"log.>\"],\"storage\":\"file\",\"retention\":\"limits\",\"num_"
                     "replicas\":1,\"max_msgs\":-1,\"max_bytes\":-1,\"max_consumers\":-1}";
    bprintf(&c->out, "PUB $JS.API.STREAM.CREATE.KV_r I.0 %d\r\n", (int)strlen(kv));
    bput(&c->out, kv, strlen(kv));
    bprintf(&c->out, "\r\nPUB $JS.API.STREAM.CREATE.log I.0 %d\r\n", (int)strlen(lg));
    bput(&c->out, lg, strlen(lg));
    bput(&c->out, "\r\n", 2);
    c->pending = 2;
    flush(c);
    u64 e = now_ns() + 5000000000ull;
    while (c->pending && now_ns() < e) poll_once(100);
    if (c->pending) die("init: no answer");
}

struct proto nats_proto = {"nats", n_hello, n_parse, n_put, n_get, n_sub, n_pub, n_fetch, 'N', n_init};

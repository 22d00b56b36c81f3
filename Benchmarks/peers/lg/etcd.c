// Etcd (gRPC over h2).
#include "lg.h"

static void h_frame(buf *b, u32 n, int t, int f, u32 sid) {
    u8 h[9] = {n >> 16, n >> 8, n, t, f, sid >> 24, sid >> 16, sid >> 8, sid};
    bput(b, h, 9);
}
static void e_hello(conn *c) {
    buf *b = &c->out;
    bput(b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
    h_frame(b, 12, 4, 0, 0);
    b16(b, 4);
    b32(b, 0x7fffffff);
    b16(b, 5);
    b32(b, 16384);
    h_frame(b, 4, 8, 0, 0);
    b32(b, 0x7fff0000 - 65535);
    c->cwin = 65535;
    c->next_stream = 1;
    c->swin = 65535;
    c->rcvd = 0;
}
static int64_t e_init_win = 65535;
static void e_pump(conn *c) {
    while (c->body.off < c->body.len) {
        int64_t n = c->body.len - c->body.off;
        if (n > 16384) n = 16384;
        if (n > c->cwin) n = c->cwin;
        if (n > c->swin) n = c->swin;
        if (n <= 0) return;
        int last = c->body.off + n == c->body.len;
        h_frame(&c->out, n, 0, last && c->body_end ? 1 : 0, c->cur);
        bput(&c->out, c->body.p + c->body.off, n);
        c->body.off += n;
        c->cwin -= n;
        c->swin -= n;
    }
}
// starts a call; the caller then appends the message to c->body and calls e_send
static void e_call(conn *c, const char *path, int end) {
    buf *b = &c->out;
    static buf h;
    h.len = h.off = 0;
    int pl = strlen(path);
    b8(&h, 0x83);
    b8(&h, 0x87);
    if (c->hp == path) {
        b8(&h, 0x80 | 65);
        b8(&h, 0x80 | 64);
        b8(&h, 0x80 | 63);
        b8(&h, 0x80 | 62);
    } else {
        int idx = c->hp == 0 ? 0x40 : 0;
        if (!c->hp) c->hp = path;
        b8(&h, idx | 4);
        b8(&h, pl);
        bput(&h, path, pl);
        b8(&h, idx | 1);
        b8(&h, 9);
        bput(&h, "localhost", 9);
        if (idx) b8(&h, 0x40 | 31);
        else {
            b8(&h, 0x0f);
            b8(&h, 31 - 15);
        }
        b8(&h, 16);
        bput(&h, "application/grpc", 16);
        b8(&h, idx);
        b8(&h, 2);
        bput(&h, "te", 2);
        b8(&h, 8);
        bput(&h, "trailers", 8);
    }
    c->cur = c->next_stream;
    c->next_stream += 2;
    c->swin = e_init_win;
    c->dmsgs = 0;
    c->body_end = end;
    h_frame(b, h.len, 1, 4, c->cur);
    bput(b, h.p, h.len);
    c->body.off = c->body.len = 0;
    b8(&c->body, 0);
    b32(&c->body, 0);
}
static void e_send(conn *c) {
    set32(&c->body, 1, c->body.len - 5);
    c->pending = 1;
    e_pump(c);
}
static const char *E_PUT = "/etcdserverpb.KV/Put", *E_TXN = "/etcdserverpb.KV/Txn", *E_RANGE = "/etcdserverpb.KV/Range",
                  *E_WATCH = "/etcdserverpb.Watch/Watch";
static void e_kv(buf *b, const char *k, const void *v, int n) {
    int kl = strlen(k);
    b8(b, 0x0a);
    bvar(b, kl);
    bput(b, k, kl);
    b8(b, 0x12);
    bvar(b, n);
    bput(b, v, n);
}
static u64 g_logseq;
static void e_put(conn *c, u64 key, int n) {
    char k[32];
    if (n == 1) {
        e_call(c, E_PUT, 1);
        if (g_log) {
            sprintf(k, "log:%012lu", g_logseq++);
        } else key_text(k, key);
        e_kv(&c->body, k, g_val, g_size);
        e_send(c);
        return;
    }
    e_call(c, E_TXN, 1);
    bneed(&c->body, (size_t)n * (g_size + 64));
    int m = 2 + 16 + 1 + varlen(g_size) + g_size;
    for (int i = 0; i < n; i++) {
        if (g_log) sprintf(k, "log:%012lu", g_logseq++);
        else key_text(k, key + i);
        b8(&c->body, 0x12);
        bvar(&c->body, 1 + varlen(m) + m);
        b8(&c->body, 0x12);
        bvar(&c->body, m);
        e_kv(&c->body, k, g_val, g_size);
    }
    e_send(c);
}
static void e_get(conn *c, u64 key) {
    char k[32];
    key_text(k, key);
    e_call(c, E_RANGE, 1);
    b8(&c->body, 0x0a);
    b8(&c->body, 16);
    bput(&c->body, k, 16);
    if (g_other_read) {
        b8(&c->body, 0x38);
        b8(&c->body, 1);
    }
    e_send(c);
}
static void e_watch(conn *c, const char *k, const char *end, u64 rev) {
    e_call(c, E_WATCH, 0);
    buf m = {0};
    int kl = strlen(k);
    b8(&m, 0x0a);
    b8(&m, kl);
    bput(&m, k, kl);
    if (end) {
        b8(&m, 0x12);
        b8(&m, strlen(end));
        bput(&m, end, strlen(end));
    }
    if (rev) {
        b8(&m, 0x18);
        bvar(&m, rev);
    }
    b8(&c->body, 0x0a);
    bvar(&c->body, m.len);
    bput(&c->body, m.p, m.len);
    free(m.p);
    e_send(c);
}
static void e_sub(conn *c) { e_watch(c, "n", 0, 0); }
static void e_pub(conn *c, u64 id) {
    char t[128];
    note_text(t, id);
    e_call(c, E_PUT, 1);
    e_kv(&c->body, "n", t, 100);
    e_send(c);
}
int e_fetch_range; // 1: pages of Range over the keys instead of Watch
static void e_fetch(conn *c) {
    if (!e_fetch_range) {
        e_watch(c, "log:", "log;", 1);
        return;
    }
    char k[80];
    if (c->lastid[0]) sprintf(k, "%s0", c->lastid);
    else strcpy(k, "log:");
    e_call(c, E_RANGE, 1);
    b8(&c->body, 0x0a);
    b8(&c->body, strlen(k));
    bput(&c->body, k, strlen(k));
    b8(&c->body, 0x12);
    b8(&c->body, 4);
    bput(&c->body, "log;", 4);
    b8(&c->body, 0x18);
    bvar(&c->body, g_page);
    e_send(c);
}
static void e_kvmsg(conn *c, const u8 *p, const u8 *e, int note) {
    int f, wt;
    u64 v;
    const u8 *d = 0;
    while ((p = pb_field(p, e, &f, &wt, &v, &d))) {
        if (f == 5) {
            if (note) on_note(c, note_id(d));
            else c->bytes += v;
        } else if (f == 1 && !note && v < 60) {
            memcpy(c->lastid, d, v);
            c->lastid[v] = 0;
        }
    }
}
static void e_message(conn *c, const u8 *p, size_t n) {
    const u8 *e = p + n;
    int f, wt;
    u64 v;
    const u8 *d = 0;
    c->dmsgs++;
    if (c->hp == E_WATCH || (c->fetching && !e_fetch_range)) {
        while ((p = pb_field(p, e, &f, &wt, &v, &d))) {
            if (f == 3 && v) {
                c->sub_ok = 1;
                g_nsub++;
            }
            if (f == 4 && v) die("etcd watch canceled");
            if (f == 11) {
                const u8 *q = d, *qe = d + v;
                int f2, w2;
                u64 v2;
                const u8 *d2 = 0;
                if (c->fetching) c->items++;
                while ((q = pb_field(q, qe, &f2, &w2, &v2, &d2)))
                    if (f2 == 2) e_kvmsg(c, d2, d2 + v2, !c->fetching);
            }
        }
        if (c->fetching && c->items >= c->target) {
            h_frame(&c->out, 4, 3, 0, c->cur);
            b32(&c->out, 8);
            on_fetched(c);
        }
    } else if (c->fetching)
        while ((p = pb_field(p, e, &f, &wt, &v, &d)))
            if (f == 2) {
                c->items++;
                e_kvmsg(c, d, d + v, 0);
            }
}
static void e_parse(conn *c) {
    for (;;) {
        u8 *b = c->in.p + c->in.off;
        size_t len = c->in.len - c->in.off;
        if (len < 9) break;
        size_t n = b[0] << 16 | b[1] << 8 | b[2];
        if (9 + n > len) break;
        int t = b[3], fl = b[4];
        u32 sid = g32(b + 5) & 0x7fffffff;
        u8 *d = b + 9;
        c->in.off += 9 + n;
        SSL *s = c->ssl;
        if (t == 0) {
            size_t m = n;
            if (fl & 8) die("padded");
            c->rcvd += n;
            if (c->rcvd > (64 << 20)) {
                h_frame(&c->out, 4, 8, 0, 0);
                b32(&c->out, c->rcvd);
                h_frame(&c->out, 4, 8, 0, sid);
                b32(&c->out, c->rcvd);
                c->rcvd = 0;
            }
            if (sid == c->cur) {
                if (c->msg.off == c->msg.len && m >= 5 && g32(d + 1) + 5 == m) e_message(c, d + 5, m - 5);
                else {
                    bput(&c->msg, d, m);
                    while (c->msg.len - c->msg.off >= 5) {
                        size_t ml = g32(c->msg.p + c->msg.off + 1);
                        if (c->msg.len - c->msg.off < 5 + ml) break;
                        u8 *mp = c->msg.p + c->msg.off + 5;
                        c->msg.off += 5 + ml;
                        e_message(c, mp, ml);
                        if (c->msg.len == 0) break;
                    }
                }
            }
            if (c->ssl != s || c->state < LOGIN) return;
        }
        if (t == 4 && !(fl & 1)) {
            for (size_t i = 0; i + 6 <= n; i += 6)
                if ((d[i] << 8 | d[i + 1]) == 4) {
                    e_init_win = g32(d + i + 2);
                }
            h_frame(&c->out, 0, 4, 1, 0);
            if (!c->got_settings) {
                c->got_settings = 1;
                ready(c);
            }
        }
        if (t == 6 && !(fl & 1)) {
            h_frame(&c->out, 8, 6, 1, 0);
            bput(&c->out, d, 8);
        }
        if (t == 7) die("goaway %.*s", (int)n - 8, d + 8);
        if (t == 8) {
            u32 inc = g32(d);
            if (sid == 0) c->cwin += inc;
            else if (sid == c->cur) c->swin += inc;
            e_pump(c);
        }
        if (t == 3 && sid == c->cur && !c->fetching) die("rst stream %u", g32(d));
        if (t == 1 && (fl & 1) && sid == c->cur) {
            if (!c->dmsgs) {
                if (g_soft) {
                    g_failed = 1;
                    return;
                }
                fprintf(stderr, "etcd error on stream %u (%.*s)\n", sid, (int)n, d);
                if (++c->errs > 3) die("errors");
            }
            if (c->fetching) {
                if (e_fetch_range) {
                    if (c->items >= c->target) on_fetched(c);
                    else e_fetch(c);
                }
            } else if (c->pending && --c->pending == 0) on_reply(c);
        }
        if (c->ssl != s || c->state < LOGIN) return;
    }
    if (c->in.off) {
        memmove(c->in.p, c->in.p + c->in.off, c->in.len - c->in.off);
        c->in.len -= c->in.off;
        c->in.off = 0;
    }
}

struct proto etcd_proto = {"etcd", e_hello, e_parse, e_put, e_get, e_sub, e_pub, e_fetch, 0};

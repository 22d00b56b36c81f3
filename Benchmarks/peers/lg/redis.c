// RESP (redis, valkey).
#include "lg.h"

static void r_bulk(buf *b, const void *p, int n) {
    bneed(b, n + 32);
    char *q = (char *)b->p + b->len;
    int k = sprintf(q, "$%d\r\n", n);
    memcpy(q + k, p, n);
    q[k + n] = '\r';
    q[k + n + 1] = '\n';
    b->len += k + n + 2;
}
static void r_hello(conn *c) { bprintf(&c->out, "*1\r\n$4\r\nPING\r\n"); }
static void r_put(conn *c, u64 key, int n) {
    char k[32];
    if (g_log) {
        for (int i = 0; i < n; i++) {
            bprintf(&c->out, "*5\r\n$4\r\nXADD\r\n$3\r\nlog\r\n$1\r\n*\r\n$1\r\nd\r\n");
            r_bulk(&c->out, g_val, g_size);
        }
        c->pending = n;
        return;
    }
    c->pending = 1;
    if (g_both) {
        bprintf(&c->out, "*1\r\n$5\r\nMULTI\r\n");
        c->pending = 3 + n;
    }
    if (n == 1) bprintf(&c->out, "*3\r\n$3\r\nSET\r\n");
    else bprintf(&c->out, "*%d\r\n$4\r\nMSET\r\n", 1 + 2 * n);
    for (int i = 0; i < n; i++) {
        key_text(k, key + i);
        r_bulk(&c->out, k, 16);
        r_bulk(&c->out, g_val, g_size);
    }
    if (g_both) {
        for (int i = 0; i < n; i++) {
            key_text(k, key + i);
            bprintf(&c->out, "*5\r\n$4\r\nXADD\r\n$3\r\nlog\r\n$1\r\n*\r\n$1\r\nk\r\n");
            r_bulk(&c->out, k, 16);
        }
        bprintf(&c->out, "*1\r\n$4\r\nEXEC\r\n");
    }
}
static void r_get(conn *c, u64 key) {
    char k[32];
    key_text(k, key);
    bprintf(&c->out, "*2\r\n$3\r\nGET\r\n$16\r\n%s\r\n", k);
    c->pending = 1;
}
static void r_sub(conn *c) { bprintf(&c->out, "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nn\r\n"); }
static void r_pub(conn *c, u64 id) {
    char t[128];
    note_text(t, id);
    bprintf(&c->out, "*3\r\n$7\r\nPUBLISH\r\n$1\r\nn\r\n");
    r_bulk(&c->out, t, 100);
    c->pending = 1;
}
static void r_fetch(conn *c) { // XRANGE log (lastid + COUNT page
    char q[80];
    int n = c->lastid[0] ? sprintf(q, "(%s", c->lastid) : sprintf(q, "-");
    bprintf(
        &c->out, "*6\r\n$6\r\nXRANGE\r\n$3\r\nlog\r\n$%d\r\n%s\r\n$1\r\n+\r\n$5\r\nCOUNT\r\n$%d\r\n%d\r\n", n, q,
        (int)snprintf(NULL, 0, "%d", g_page), g_page
    );
}
static void r_done(conn *c, u8 *b, size_t start, size_t end) {
    if (b[start] == '-' && g_soft) {
        g_failed = 1;
        return;
    } // LOADING
    if (b[start] == '-') {
        fprintf(stderr, "redis: %.*s\n", (int)(end - start), b + start);
        c->errs++;
        if (c->errs > 3) die("too many errors");
    }
    if (c->state == LOGIN) {
        ready(c);
        return;
    }
    if (c->fetching) {
        if (c->items >= c->target) on_fetched(c);
        else r_fetch(c);
        return;
    }
    if (c->role == ROLE_SUB) {
        if (c->first_l == 7) on_note(c, note_id(b + c->last_o));
        else {
            c->sub_ok = 1;
            g_nsub++;
        }
        return;
    }
    if (--c->pending == 0) on_reply(c);
}
static void r_parse(conn *c) {
    u8 *b;
    size_t start = c->in.off;
    if (c->rp < start) c->rp = start;
    for (;;) {
        b = c->in.p;
        size_t p = c->rp, len = c->in.len;
        if (p >= len) break;
        u8 *nl = memchr(b + p, '\n', len - p);
        if (!nl) break;
        size_t next = nl - b + 1;
        int t = b[p];
        long v = (t == '$' || t == '*') ? strtol((char *)b + p + 1, 0, 10) : 0;
        if (t == '$' && v >= 0) {
            if (next + v + 2 > len) break;
            if (c->depth == 1) {
                if (c->ridx[0] == 0) {
                    c->first_o = next;
                    c->first_l = v;
                }
                c->last_o = next;
                c->last_l = v;
            }
            if (c->fetching && c->depth == 2 && c->ridx[1] == 0 && v < 60) {
                memcpy(c->lastid, b + next, v);
                c->lastid[v] = 0;
                c->items++;
            }
            if (c->fetching && c->depth == 3) c->bytes += v;
            next += v + 2;
        }
        c->rp = next;
        if (t == '*' && v > 0) {
            if (c->depth >= 8) die("depth");
            c->rrem[c->depth] = v;
            c->ridx[c->depth] = 0;
            c->depth++;
            continue;
        }
        while (c->depth) {
            c->ridx[c->depth - 1]++;
            if (--c->rrem[c->depth - 1] > 0) break;
            c->depth--;
        }
        if (!c->depth) {
            c->in.off = c->rp;
            SSL *s = c->ssl;
            r_done(c, b, start, c->rp);
            if (c->ssl != s || c->state < LOGIN) return;
            start = c->in.off;
            if (c->rp < start) c->rp = start;
        }
    }
    if (c->in.off) {
        size_t o = c->in.off;
        memmove(c->in.p, c->in.p + o, c->in.len - o);
        c->in.len -= o;
        c->rp -= o;
        c->in.off = 0;
        if (c->depth) {
            c->first_o -= o;
            c->last_o -= o;
        }
    }
}

struct proto redis_proto = {"redis", r_hello, r_parse, r_put, r_get, r_sub, r_pub, r_fetch, 0};

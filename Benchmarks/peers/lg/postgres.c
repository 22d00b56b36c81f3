// PostgreSQL.
#include "lg.h"

static void p_msg(buf *b, int t) { b8(b, t); }
static void p_parse_stmt(buf *b, const char *name, const char *q) {
    p_msg(b, 'P');
    b32(b, 4 + strlen(name) + 1 + strlen(q) + 1 + 2);
    bput(b, name, strlen(name) + 1);
    bput(b, q, strlen(q) + 1);
    b16(b, 0);
}
static void p_sync(buf *b) {
    b8(b, 'S');
    b32(b, 4);
}
static void p_exec(buf *b) {
    b8(b, 'E');
    b32(b, 9);
    b8(b, 0);
    b32(b, 0);
}
static void p_hello(conn *c) {
    static const char s[] = "user\0bench\0database\0bench\0client_encoding\0UTF8\0";
    buf *b = &c->out;
    b32(b, 8 + sizeof s);
    b32(b, 196608);
    bput(b, s, sizeof s);
}
int p_prepared;
static void p_prepare(conn *c) {
    buf *b = &c->out;
    if (g_log) {
        p_parse_stmt(b, "w", "INSERT INTO changes(k,v) VALUES ($1::text,$2::bytea)");
        p_parse_stmt(b, "wb", "INSERT INTO changes(k,v) SELECT * FROM unnest($1::text[],$2::bytea[])");
    } else if (g_both) {
        p_parse_stmt(
            b, "w",
            "WITH c AS (INSERT INTO changes(k) VALUES ($1::text)) INSERT INTO kv(k,v) VALUES ($1::text,$2::bytea) ON "
            "CONFLICT (k) DO UPDATE SET v=EXCLUDED.v"
        );
        p_parse_stmt(
            b, "wb",
            "WITH i AS (SELECT * FROM unnest($1::text[],$2::bytea[]) AS u(k,v)), c AS (INSERT INTO changes(k) SELECT k "
            "FROM i) INSERT INTO kv(k,v) SELECT k,v FROM i ON CONFLICT (k) DO UPDATE SET v=EXCLUDED.v"
        );
    } else {
        p_parse_stmt(
            b, "w", "INSERT INTO kv(k,v) VALUES ($1::text,$2::bytea) ON CONFLICT (k) DO UPDATE SET v=EXCLUDED.v"
        );
        p_parse_stmt(
            b, "wb",
            "INSERT INTO kv(k,v) SELECT * FROM unnest($1::text[],$2::bytea[]) ON CONFLICT (k) DO UPDATE SET "
            "v=EXCLUDED.v"
        );
    }
    p_parse_stmt(b, "r", "SELECT v FROM kv WHERE k=$1::text");
    p_parse_stmt(b, "f", "SELECT seq,k,v FROM changes WHERE seq>$1::bigint ORDER BY seq LIMIT $2::int");
    p_parse_stmt(b, "p", "SELECT pg_notify('n',$1::text)");
    p_sync(b);
}
static size_t p_bind(buf *b, const char *st, int nparam) {
    b8(b, 'B');
    size_t at = b->len;
    b32(b, 0);
    b8(b, 0);
    bput(b, st, strlen(st) + 1);
    b16(b, 1);
    b16(b, 1);
    b16(b, nparam);
    return at;
}
static void p_bind_end(buf *b, size_t at) {
    b16(b, 1);
    b16(b, 1);
    set32(b, at, b->len - at);
}
static void p_put(conn *c, u64 key, int n) {
    buf *b = &c->out;
    bneed(b, (size_t)n * (g_size + 64) + 512);
    char k[32];
    c->pending = 1;
    if (n == 1) {
        size_t at = p_bind(b, "w", 2);
        key_text(k, key);
        b32(b, 16);
        bput(b, k, 16);
        b32(b, g_size);
        bput(b, g_val, g_size);
        p_bind_end(b, at);
    } else {
        size_t at = p_bind(b, "wb", 2);
        b32(b, 20 + n * 20);
        b32(b, 1);
        b32(b, 0);
        b32(b, 25);
        b32(b, n);
        b32(b, 1);
        for (int i = 0; i < n; i++) {
            key_text(k, key + i);
            b32(b, 16);
            bput(b, k, 16);
        }
        b32(b, 20 + n * (4 + g_size));
        b32(b, 1);
        b32(b, 0);
        b32(b, 17);
        b32(b, n);
        b32(b, 1);
        for (int i = 0; i < n; i++) {
            b32(b, g_size);
            bput(b, g_val, g_size);
        }
        p_bind_end(b, at);
    }
    p_exec(b);
    p_sync(b);
}
static void p_get(conn *c, u64 key) {
    char k[32];
    key_text(k, key);
    buf *b = &c->out;
    size_t at = p_bind(b, "r", 1);
    b32(b, 16);
    bput(b, k, 16);
    p_bind_end(b, at);
    p_exec(b);
    p_sync(b);
    c->pending = 1;
}
static void p_sub(conn *c) {
    b8(&c->out, 'Q');
    b32(&c->out, 4 + 9);
    bput(&c->out, "LISTEN n", 9);
}
static void p_pub(conn *c, u64 id) {
    char t[128];
    note_text(t, id);
    buf *b = &c->out;
    size_t at = p_bind(b, "p", 1);
    b32(b, 100);
    bput(b, t, 100);
    p_bind_end(b, at);
    p_exec(b);
    p_sync(b);
    c->pending = 1;
}
static void p_fetch(conn *c) {
    buf *b = &c->out;
    size_t at = p_bind(b, "f", 2);
    b32(b, 8);
    b32(b, c->pos >> 32);
    b32(b, (u32)c->pos);
    b32(b, 4);
    b32(b, g_page);
    p_bind_end(b, at);
    p_exec(b);
    p_sync(b);
}
static void p_parse(conn *c) {
    for (;;) {
        u8 *b = c->in.p + c->in.off;
        size_t len = c->in.len - c->in.off;
        if (len < 5) break;
        size_t n = g32(b + 1) + 1;
        if (n > len) break;
        c->in.off += n;
        SSL *s = c->ssl;
        switch (b[0]) {
        case 'E':
            fprintf(stderr, "postgres: ");
            for (u8 *q = b + 5; q < b + n && *q; q += strlen((char *)q) + 1)
                if (*q == 'M') fprintf(stderr, "%s\n", q + 1);
            if (g_soft) {
                g_failed = 1;
                return;
            }
            if (++c->errs > 3) die("errors");
            break;
        case 'R':
            if (g32(b + 5)) die("postgres wants auth");
            break;
        case 'A': {
            u8 *q = b + 9;
            q += strlen((char *)q) + 1;
            on_note(c, note_id(q));
            break;
        }
        case 'D':
            if (c->fetching) {
                c->items++;
                c->pos = (u64)g32(b + 11) << 32 | g32(b + 15);
                c->bytes += g_size;
            }
            break;
        case 'Z':
            if (c->state == LOGIN) {
                if (!p_prepared || c->role == ROLE_SUB || c->depth) {
                    c->depth = 0;
                    ready(c);
                } else {
                    p_prepare(c);
                    c->depth = 1;
                }
            } else if (c->fetching) {
                if (c->items >= c->target) on_fetched(c);
                else p_fetch(c);
            } else if (c->role == ROLE_SUB && !c->sub_ok) {
                c->sub_ok = 1;
                g_nsub++;
            } else if (c->pending && --c->pending == 0) on_reply(c);
            if (c->ssl != s || c->state < LOGIN) return;
        }
    }
    if (c->in.off) {
        memmove(c->in.p, c->in.p + c->in.off, c->in.len - c->in.off);
        c->in.len -= c->in.off;
        c->in.off = 0;
    }
}

struct proto postgres_proto = {"postgres", p_hello, p_parse, p_put, p_get, p_sub, p_pub, p_fetch, 'P'};

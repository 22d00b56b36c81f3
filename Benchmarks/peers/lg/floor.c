// Floor (floor.c): the least a server must do.
#include "lg.h"

static void f_frame(buf *b, int op, size_t n) {
    b32(b, n + 1);
    b8(b, op);
}
static void f_hello(conn *c) { f_frame(&c->out, 'I', 0); }
static void f_put(conn *c, u64 key, int n) {
    f_frame(&c->out, 'W', (size_t)n * (20 + g_size));
    char k[32];
    for (int i = 0; i < n; i++) {
        key_text(k, key + i);
        bput(&c->out, k, 20);
        bput(&c->out, g_val, g_size);
    }
    c->pending = 1;
}
static void f_get(conn *c, u64 key) {
    char k[32];
    key_text(k, key);
    f_frame(&c->out, 'R', 16);
    bput(&c->out, k, 16);
    c->pending = 1;
}
static void f_sub(conn *c) { f_frame(&c->out, 'S', 0); }
static void f_pub(conn *c, u64 id) {
    char t[128];
    note_text(t, id);
    f_frame(&c->out, 'P', 100);
    bput(&c->out, t, 100);
}
static void f_fetch(conn *c) {
    f_frame(&c->out, 'F', 4);
    b32(&c->out, g_page);
}
static void f_parse(conn *c) {
    for (;;) {
        u8 *b = c->in.p + c->in.off;
        size_t len = c->in.len - c->in.off;
        if (len < 5) break;
        size_t n = g32(b) + 4;
        if (n > len) break;
        c->in.off += n;
        SSL *k = c->ssl;
        if (b[4] == 'i') ready(c);
        else if (b[4] == 's') {
            c->sub_ok = 1;
            g_nsub++;
        } else if (b[4] == 'n') on_note(c, note_id(b + 5));
        else if (b[4] == 'd') {
            came(c, b + 5, n - 5);
            if (c->moved == c->file->size) moved(c);
        } else if (b[4] == 'e') moved(c);
        else if (b[4] == 'c') {
            c->items++;
            c->bytes += n - 5;
            if (c->items >= c->target) on_fetched(c);
            else if (c->items % g_page == 0) f_fetch(c);
        } else if (c->pending && --c->pending == 0) on_reply(c);
        if (c->ssl != k || c->state < LOGIN) return;
    }
    if (c->in.off) {
        memmove(c->in.p, c->in.p + c->in.off, c->in.len - c->in.off);
        c->in.len -= c->in.off;
        c->in.off = 0;
    }
}

static void f_download(conn *c, asset *a) {
    c->file = a;
    c->moved = 0;
    f_frame(&c->out, 'D', 4);
    b32(&c->out, (u32)a->number);
}
static void f_upload(conn *c, asset *a) {
    c->file = a;
    c->moved = 0;
    c->sending = 1;
    f_frame(&c->out, 'U', 4);
    b32(&c->out, (u32)a->number);
}
// Frames as large as a TLS record.
static void f_send(conn *c) {
    if (c->out.off < c->out.len || c->allowance <= 0) return;
    u64 left = c->file->size - c->moved, n = left < 16384 - 5 ? left : 16384 - 5;
    f_frame(&c->out, 'C', n);
    bput(&c->out, asset_bytes(c->file, c->moved), n);
    c->moved += n;
    c->allowance -= (int64_t)n;
    if (c->moved < c->file->size) return;
    f_frame(&c->out, 'E', 0);
    c->sending = 0;
}

struct proto floor_proto = {
    "floor", f_hello, f_parse, f_put, f_get, f_sub, f_pub, f_fetch, .download = f_download, .upload = f_upload,
    .send = f_send};

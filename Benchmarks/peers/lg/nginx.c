// nginx: HTTP/1.1, GET and WebDAV's PUT. nginx answers a PUT when the file has its name, and syncs nothing: its file and
// folder are synced here before the upload counts as done.
#include "lg.h"

enum { PUTTING, ASKED, COMING };

static void n_hello(conn *c) { ready(c); }

static void n_download(conn *c, asset *a) {
    c->file = a;
    c->moved = 0;
    c->fetching = ASKED;
    bprintf(&c->out, "GET /a/%d HTTP/1.1\r\nHost: localhost\r\n\r\n", a->number);
}

static void n_upload(conn *c, asset *a) {
    c->file = a;
    c->moved = 0;
    c->sending = 1;
    c->fetching = PUTTING;
    bprintf(&c->out, "PUT /a/%d HTTP/1.1\r\nHost: localhost\r\nContent-Length: %lu\r\n\r\n", a->number, a->size);
}

static void n_send(conn *c) {
    if (c->out.off < c->out.len || c->allowance <= 0) return;
    u64 left = c->file->size - c->moved, n = left < CHUNK ? left : CHUNK;
    bput(&c->out, asset_bytes(c->file, c->moved), n);
    c->moved += n;
    c->allowance -= (int64_t)n;
    if (c->moved == c->file->size) c->sending = 0;
}

// Of an answer: its status, and in c->rcvd the bytes of its content. 0 while it is not whole.
static int head(conn *c) {
    const char *p = (char *)c->in.p + c->in.off, *e = memmem(p, c->in.len - c->in.off, "\r\n\r\n", 4);
    if (!e) return 0;
    const char *length = memmem(p, (size_t)(e - p), "Content-Length: ", 16);
    c->rcvd = length ? strtoull(length + 16, 0, 10) : 0;
    c->in.off += (size_t)(e + 4 - p);
    return atoi(p + 9);
}

static void n_parse(conn *c) {
    if (c->fetching != COMING) {
        int status = head(c);
        if (!status) return;
        if (c->fetching == PUTTING) {
            if (status != 201 && status != 204) die("nginx: status %d to a PUT", status);
            char path[512], folder[400];
            snprintf(folder, sizeof folder, "%s/a", getenv("PEERBENCH_NGINX"));
            snprintf(path, sizeof path, "%s/%d", folder, c->file->number);
            moved_after_sync(c, path, folder);
            return;
        }
        if (status != 200 || c->rcvd != c->file->size) die("nginx: status %d, %lu bytes", status, c->rcvd);
        c->fetching = COMING;
    }
    size_t n = c->in.len - c->in.off;
    const u8 *p = c->in.p + c->in.off;
    c->in.off = c->in.len = 0;
    came(c, p, n);
    if (c->moved == c->file->size) moved(c);
}

struct proto nginx_proto = {
    "nginx", n_hello, n_parse, .download = n_download, .upload = n_upload, .send = n_send};

// MQTT 3.1.1 (mosquitto), QoS 0: fan-out, idle and handshakes only.
#include "lg.h"

static void m_hello(conn *c) {
    static const u8 x[] = {0x10, 12, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, 0};
    bput(&c->out, x, sizeof x);
}
static void m_sub(conn *c) {
    static const u8 x[] = {0x82, 6, 0, 1, 0, 1, 'n', 0};
    bput(&c->out, x, sizeof x);
}
static void m_pub(conn *c, u64 id) {
    char t[128];
    note_text(t, id);
    static const u8 x[] = {0x30, 103, 0, 1, 'n'};
    bput(&c->out, x, 5);
    bput(&c->out, t, 100);
}
static void m_parse(conn *c) {
    for (;;) {
        u8 *b = c->in.p + c->in.off;
        size_t len = c->in.len - c->in.off, n = 0;
        int s = 0, i = 1;
        if (len < 2) break;
        do {
            if ((size_t)i >= len) goto out;
            n |= (size_t)(b[i] & 127) << s;
            s += 7;
        } while (b[i++] & 128);
        if (i + n > len) break;
        c->in.off += i + n;
        SSL *k = c->ssl;
        if (b[0] >> 4 == 2) ready(c);
        else if (b[0] >> 4 == 9) {
            c->sub_ok = 1;
            g_nsub++;
        } else if (b[0] >> 4 == 3) on_note(c, note_id(b + i + 3));
        if (c->ssl != k || c->state < LOGIN) return;
    }
out:
    if (c->in.off) {
        memmove(c->in.p, c->in.p + c->in.off, c->in.len - c->in.off);
        c->in.len -= c->in.off;
        c->in.off = 0;
    }
}

struct proto mosquitto_proto = {"mosquitto", m_hello, m_parse, 0, 0, m_sub, m_pub, 0, 0};

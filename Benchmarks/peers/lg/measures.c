// One function a measure: mode_NAME.
#include "lg.h"

static void noop(conn *c) { (void)c; }
static void noop_note(conn *c, u64 i) {
    (void)c;
    (void)i;
}
void connect_all(int par) {
    int started = 0;
    u64 t0 = now_ns();
    while (g_nready < g_total) {
        while (started < g_total && started - g_nready < par) {
            g_c[started].id = started;
            start_conn(&g_c[started]);
            started++;
        }
        poll_once(1000);
        if (now_ns() - t0 > 240e9) die("connect timeout %d/%d", g_nready, g_total);
    }
}
static u64 g_end, g_done, g_idle, g_seq;
static int g_reading;
static void issue(conn *c) {
    c->t0 = now_ns();
    u64 k;
    if (g_count) {
        k = g_seq;
        g_seq += g_batch;
    } else k = g_batch >= (int)g_keys ? 0 : rnd() % (g_keys - g_batch + 1);
    if (g_reading) P->get(c, k);
    else P->put(c, k, g_batch);
}
static void op_reply(conn *c) {
    u64 t = now_ns();
    lat_add(t - c->t0);
    g_done++;
    if (g_count ? g_seq < g_count : t < g_end) issue(c);
    else g_idle++;
}
static void mode_ops(void) {
    on_ready = noop;
    on_reply = op_reply;
    connect_all(64);
    find_pids();
    int warm = g_count ? 0 : 1;
    for (int r = -warm; r < g_reps; r++) {
        g_nlat = 0;
        g_done = g_idle = 0;
        double s0 = srv_cpu(), c0 = cli_cpu();
        u64 t0 = now_ns();
        g_end = t0 + (u64)((r < 0 ? 0.5 : g_secs) * 1e9);
        for (int i = 0; i < g_total; i++) {
            issue(&g_c[i]);
            flush(&g_c[i]);
        }
        while (g_idle < (u64)g_total) poll_once(1000);
        double w = (now_ns() - t0) * 1e-9, s1 = srv_cpu(), c1 = cli_cpu();
        if (r < 0) continue;
        lat_sort();
        double rec = (double)g_done * g_batch;
        field("ops_s", g_done / w);
        field("records_s", rec / w);
        field("p50_us", pct(.5));
        field("p95_us", pct(.95));
        field("p99_us", pct(.99));
        field("max_us", g_nlat ? g_lat[g_nlat - 1] / 1e3 : 0);
        field("srv_cpu_us_per_op", (s1 - s0) * 1e6 / g_done);
        field("srv_cpu_us_per_record", (s1 - s0) * 1e6 / rec);
        field("srv_cores", (s1 - s0) / w);
        field("cli_cores", (c1 - c0) / w);
        field("rss_mb", srv_rss() / 1e6);
        field("secs", w);
        if (g_count) break;
    }
    emit();
}
static u64 g_fanid, g_fancnt[8192], g_fant0[8192], g_deliv;
static int g_subs;
static conn *g_pubc;
static void fan_pub(void) {
    u64 id = ++g_fanid;
    g_fancnt[id & 8191] = 0;
    g_fant0[id & 8191] = now_ns();
    P->pub(g_pubc, id);
}
static int g_inflight;
static void fan_note(conn *c, u64 id) {
    (void)c;
    g_deliv++;
    u64 *n = &g_fancnt[id & 8191];
    if (++*n == (u64)g_subs) {
        u64 t = now_ns();
        lat_add(t - g_fant0[id & 8191]);
        g_inflight--;
    }
}
static void mode_fanout(void) {
    g_subs = g_conns;
    g_total = g_conns + 1;
    for (int i = 0; i < g_total; i++) g_c[i].role = i < g_subs ? ROLE_SUB : ROLE_PUB;
    g_pubc = &g_c[g_subs];
    on_ready = noop;
    on_reply = noop;
    on_note = fan_note;
    connect_all(32);
    int at = 0;
    u64 t0 = now_ns();
    g_nsub = 0;
    while (g_nsub < g_subs) {
        while (at < g_subs && at - g_nsub < 64) {
            P->sub(&g_c[at]);
            flush(&g_c[at]);
            at++;
        }
        poll_once(1000);
        if (now_ns() - t0 > 120e9) die("subscribe timeout %d", g_nsub);
    }
    find_pids();
    for (int w = 0; w < 2; w++) { // first closed loop (latency), then with a window (throughput)
        int win = w ? g_window : 1;
        fields_reset();
        g_tag = w ? "window" : "latency";
        if (w && g_window <= 1) break;
        for (int r = -1; r < g_reps; r++) {
            g_nlat = 0;
            g_deliv = 0;
            double s0 = srv_cpu(), c0 = cli_cpu();
            u64 t0 = now_ns(), end = t0 + (u64)((r < 0 ? 0.3 : g_secs) * 1e9), base = g_fanid;
            g_inflight = 0;
            for (;;) {
                u64 t = now_ns();
                if (t < end) {
                    int k = 0;
                    while (g_inflight < win) {
                        if (P == &etcd_proto && g_pubc->pending) break;
                        g_inflight++;
                        k++;
                        fan_pub();
                    }
                    if (k) flush(g_pubc);
                } else if (!g_inflight) break;
                if (t > end + 10000000000ull) die("fan-out: deliveries missing (%d in flight)", g_inflight);
                poll_once(100);
            }
            double dt = (now_ns() - t0) * 1e-9, s1 = srv_cpu(), c1 = cli_cpu();
            if (r < 0) continue;
            lat_sort();
            field("deliveries_s", g_deliv / dt);
            field("publishes_s", (g_fanid - base) / dt);
            field("last_p50_us", pct(.5));
            field("last_p95_us", pct(.95));
            field("last_p99_us", pct(.99));
            field("max_us", g_nlat ? g_lat[g_nlat - 1] / 1e3 : 0);
            field("srv_cpu_us_per_delivery", (s1 - s0) * 1e6 / g_deliv);
            field("srv_cores", (s1 - s0) / dt);
            field("cli_cores", (c1 - c0) / dt);
            field("rss_mb", srv_rss() / 1e6);
            field("window", win);
        }
        emit();
    }
}
static u64 g_fdone;
static void fetched(conn *c) {
    c->fetching = 0;
    c->tlast = now_ns();
    g_fdone++;
}
static void mode_fetch(void) {
    on_ready = noop;
    on_reply = noop;
    on_fetched = fetched;
    on_note = noop_note;
    connect_all(16);
    find_pids();
    for (int r = -1; r < g_reps; r++) {
        g_fdone = 0;
        double s0 = srv_cpu(), c0 = cli_cpu();
        u64 t0 = now_ns();
        u64 items = 0, bytes = 0;
        for (int i = 0; i < g_total; i++) {
            conn *c = &g_c[i];
            c->pos = 0;
            c->items = c->bytes = 0;
            c->lastid[0] = 0;
            c->target = g_keys;
            c->fetching = 1;
            c->hp = 0;
            if (P == &etcd_proto && r > -1) {
                stop_conn(c);
                g_nready = 0;
                start_conn(c);
                while (c->state != READY) poll_once(100);
                if (i == 0) t0 = now_ns();
                c->fetching = 1;
            }
            P->fetch(c);
            flush(c);
        }
        while (g_fdone < (u64)g_total) {
            poll_once(100);
            if (now_ns() - t0 > 120e9) die("fetch timeout: %lu", g_c[0].items);
        }
        double w = (now_ns() - t0) * 1e-9, s1 = srv_cpu(), c1 = cli_cpu();
        if (r < 0) continue;
        for (int i = 0; i < g_total; i++) {
            items += g_c[i].items;
            bytes += g_c[i].bytes;
        }
        field("changes_s", items / w);
        field("MB_s", bytes / w / 1e6);
        field("secs", w);
        field("srv_cpu_us_per_change", (s1 - s0) * 1e6 / items);
        field("srv_cores", (s1 - s0) / w);
        field("cli_cores", (c1 - c0) / w);
        field("rss_mb", srv_rss() / 1e6);
        field("changes", items);
        field("page", g_page);
    }
    emit();
}
static void mode_idle(void) {
    g_subs = g_conns;
    for (int i = 0; i < g_total; i++) g_c[i].role = ROLE_SUB;
    on_ready = noop;
    on_reply = noop;
    on_note = noop_note;
    find_pids();
    usleep(300000);
    double r0 = srv_rss(), s0 = srv_cpu();
    u64 t0 = now_ns();
    connect_all(32);
    double tc = (now_ns() - t0) * 1e-9;
    int at = 0;
    g_nsub = 0;
    while (g_nsub < g_subs) {
        while (at < g_subs && at - g_nsub < 64) {
            P->sub(&g_c[at]);
            flush(&g_c[at]);
            at++;
        }
        poll_once(1000);
    }
    for (u64 e = now_ns() + (u64)((g_hold > 1 ? g_hold : 1) * 1e9); now_ns() < e;) poll_once(100);
    double s1 = srv_cpu();
    find_pids();
    double r1 = srv_rss(), k = (r1 - r0) / g_total;
    g_reps = 1;
    if (!g_pss) field("srv_cpu_us_per_connect", (s1 - s0) * 1e6 / g_total);
    double i0 = srv_cpu();
    u64 ti = now_ns();
    for (u64 e = ti + 3000000000ull; now_ns() < e;) poll_once(100);
    double idle = (srv_cpu() - i0) / ((now_ns() - ti) * 1e-9);
    field("rss_bytes_per_conn", k);
    field("rss_before_mb", r0 / 1e6);
    field("rss_after_mb", r1 / 1e6);
    field("connect_s", tc);
    field("conns_s", g_total / tc);
    field("idle_srv_cores", idle);
    emit();
}
static u64 g_hs, g_hsresumed;
static void hs_next(conn *c) {
    u64 t = now_ns();
    lat_add(t - c->t0);
    g_hs++;
    if (SSL_session_reused(c->ssl)) g_hsresumed++;
}
static void hs_ready(conn *c) { // login answered: if resumption is wanted, tickets were read along with the answer
    hs_next(c);
    stop_conn(c);
    c->ssl = 0;
    if (now_ns() < g_end) {
        c->t0 = now_ns();
        start_conn(c);
    } else {
        c->state = CONNECTING;
        g_idle++;
    }
}
static void mode_hs(void) {
    on_ready = hs_ready;
    on_reply = noop;
    on_note = noop_note;
    p_prepared = 0;
    find_pids();
    for (int r = -1; r < g_reps; r++) {
        g_nlat = 0;
        g_hs = g_idle = g_hsresumed = 0;
        double s0 = (g_pss ? tree_cpu() : srv_cpu()), c0 = cli_cpu();
        u64 t0 = now_ns();
        g_end = t0 + (u64)((r < 0 ? 0.3 : g_secs) * 1e9);
        for (int i = 0; i < g_total; i++) {
            g_c[i].t0 = now_ns();
            start_conn(&g_c[i]);
        }
        while (g_idle < (u64)g_total) poll_once(1000);
        double w = (now_ns() - t0) * 1e-9, s1 = (g_pss ? tree_cpu() : srv_cpu()), c1 = cli_cpu();
        if (r < 0) continue;
        lat_sort();
        field("handshakes_s", g_hs / w);
        field("p50_us", pct(.5));
        field("p95_us", pct(.95));
        field("p99_us", pct(.99));
        field("resumed_share", (double)g_hsresumed / g_hs);
        field("srv_cpu_us_per_hs", (s1 - s0) * 1e6 / g_hs);
        field("srv_cores", (s1 - s0) / w);
        field("cli_cores", (c1 - c0) / w);
        field("cli_cpu_us_per_hs", (c1 - c0) * 1e6 / g_hs);
    }
    emit();
}
static void mode_init(void) {
    on_ready = on_reply = noop;
    on_note = noop_note;
    if (P->init) P->init();
}
static int g_waitdone;
static u64 g_serving;
static void wait_ready(conn *c) {
    if (!g_serving) g_serving = now_ns();
    P->get(c, g_keys - 1);
}
static void wait_reply(conn *c) {
    (void)c;
    g_waitdone = 1;
}
// Polls until one read is answered. Seconds since the start given in $START_NS (CLOCK_MONOTONIC): until a hello was
// answered, and until the read was.
static void mode_wait(void) {
    const char *s = getenv("START_NS");
    u64 t0 = s ? strtoull(s, 0, 10) : now_ns();
    g_soft = 1;
    on_ready = wait_ready;
    on_reply = wait_reply;
    on_note = noop_note;
    conn *c = &g_c[0];
    u64 lim = now_ns() + 120000000000ull;
    while (!g_waitdone) {
        if (now_ns() > lim) die("wait: timeout");
        g_failed = 0;
        start_conn(c);
        u64 e = now_ns() + 2000000000ull;
        while (!g_failed && !g_waitdone && now_ns() < e) {
            poll_once(20);
        }
        if (!g_waitdone) {
            stop_conn(c);
            c->errs = 0;
            usleep(5000);
        }
    }
    find_pids();
    g_reps = 1;
    field("serving_s", (g_serving - t0) * 1e-9);
    field("ready_s", (now_ns() - t0) * 1e-9);
    field("srv_cpu_s", srv_cpu());
    field("rss_mb", srv_rss() / 1e6);
    emit();
}

int measure(const char *mode) {
    on_note = noop_note;
    on_ready = on_reply = noop;
    if (!strcmp(mode, "write")) mode_ops();
    else if (!strcmp(mode, "read")) {
        g_reading = 1;
        mode_ops();
    } else if (!strcmp(mode, "load")) {
        if (!g_count) die("load needs -n");
        g_reps = 1;
        mode_ops();
    } else if (!strcmp(mode, "fanout")) mode_fanout();
    else if (!strcmp(mode, "fetch")) mode_fetch();
    else if (!strcmp(mode, "idle")) mode_idle();
    else if (!strcmp(mode, "hs")) mode_hs();
    else if (!strcmp(mode, "wait")) mode_wait();
    else if (!strcmp(mode, "init")) mode_init();
    else if (!mode_assets(mode)) die("there is no measure %s", mode);
    return 0;
}

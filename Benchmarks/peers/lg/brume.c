// Brume: frames and messages as proto/README.md has them, written and read by hand. Before any other measure, `lg init
// brume` makes zones and subscriptions for the accounts whose tokens are the lines of $PEERBENCH_BRUME/accounts.
#include "lg.h"

enum { HELLO = 1, WELCOME, CALL, MESSAGE, STATUS, CANCEL, CREDIT, PING, PONG, GOAWAY, LAST = 1, HEADER = 10 };
enum {
    ZONES_MODIFY = 16,
    RECORDS_MODIFY = 32,
    RECORDS_FETCH = 33,
    RECORDS_CHANGES = 34,
    RECORDS_QUERY = 35,
    SUBSCRIPTIONS_MODIFY = 64,
    NOTIFICATIONS_OPEN = 80,
    ASSETS_UPLOAD = 112,
    ASSETS_DOWNLOAD = 113
};
// What a stream may have under way at its beginning, in both directions.
enum { STREAM_CREDIT = 64, STREAM_CREDIT_BYTES = 256 * 1024 };
enum { DATABASE_PUBLIC = 1, DATABASE_PRIVATE = 2, ALL_KEYS = 2, CREDIT_STEP = 32, STREAMS_PER_ACCOUNT = 1000 };
static const char ZONE[] = "peers", CONTAINER[] = "iCloud.peers";

// MARK: Accounts

static char (*accounts)[128];
static int account_count;
static u8 since[512];
static size_t since_length;

static FILE *client_file(const char *name, const char *mode) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("PEERBENCH_BRUME") ? getenv("PEERBENCH_BRUME") : ".", name);
    FILE *file = fopen(path, mode);
    if (!file && *mode == 'r' && !strcmp(name, "accounts")) die("brume: no tokens in %s (peers.sh makes them)", path);
    return file;
}

static void read_accounts(void) {
    FILE *file = client_file("accounts", "r");
    accounts = malloc(sizeof *accounts);
    while (fscanf(file, "%127s", accounts[account_count]) == 1)
        accounts = realloc(accounts, (size_t)(++account_count + 1) * sizeof *accounts);
    fclose(file);
    if (!account_count) die("brume: no tokens");
    // Where the changes begin that a fetch asks for: behind what was there before the records were loaded.
    if ((file = client_file("since", "r"))) {
        since_length = fread(since, 1, sizeof since, file);
        fclose(file);
    }
}

// One user may have a thousand devices with open streams; more subscribers are devices of more users.
static const char *token_of(const conn *c) {
    if (!account_count) read_accounts();
    int index = c->role == ROLE_SUB ? c->id / STREAMS_PER_ACCOUNT : c->role == ROLE_PUB ? 0 : c->id % g_users;
    if (index >= account_count) die("brume: %d accounts are too few", account_count);
    return accounts[index];
}

// MARK: Frames

static void frame(buf *b, int type, int flags, u32 stream, size_t length) {
    bneed(b, length + HEADER);
    b32(b, (u32)length), b8(b, type), b8(b, flags), b32(b, stream);
}

// What a length-delimited field of so many bytes takes.
static size_t field_size(size_t length) { return 1 + varlen(length) + length; }
static void tag(buf *b, int number, size_t length) { b8(b, number << 3 | 2), bvar(b, length); }
static void bytes_field(buf *b, int number, const void *p, size_t length) {
    tag(b, number, length), bput(b, p, length);
}

static void random_field(buf *b, int number) {
    u64 id[2] = {rnd(), rnd()};
    bytes_field(b, number, id, 16);
}

// Opens a call; its request, of so many bytes, follows.
static void call(conn *c, int method, size_t length) {
    c->cur = c->next_stream++;
    frame(&c->out, CALL, 0, c->cur, method < 128 ? 2 : 3);
    b8(&c->out, 1 << 3), bvar(&c->out, (u64)method);
    frame(&c->out, MESSAGE, LAST, c->cur, length);
    c->method = method;
    c->pending++;
}

static void b_hello(conn *c) {
    const char *token = token_of(c);
    buf m = {0};
    b8(&m, 1 << 3), b8(&m, 1);
    bytes_field(&m, 2, "peers 1", 7);
    random_field(&m, 3); // the device
    bytes_field(&m, 4, CONTAINER, strlen(CONTAINER));
    b8(&m, 5 << 3), b8(&m, 1); // development
    bytes_field(&m, 6, token, strlen(token));
    c->next_stream = 1;
    frame(&c->out, HELLO, 0, 0, m.len);
    bput(&c->out, m.p, m.len);
    free(m.p);
}

// MARK: Requests

static size_t zone_size(int database) { return 2 + (database == DATABASE_PUBLIC ? 12 : strlen(ZONE)); }
static void zone_field(buf *b, int number, int database) {
    const char *name = database == DATABASE_PUBLIC ? "_defaultZone" : ZONE;
    tag(b, number, zone_size(database));
    bytes_field(b, 1, name, strlen(name));
}

// A value that no other save has: one that changes nothing is not written, and snapshots are compressed across records.
static const u8 *fresh_value(size_t size) {
    enum { POOL = 64 << 20 };
    static u64 *pool;
    if (!pool) {
        pool = malloc(POOL);
        for (size_t i = 0; i < POOL / 8; i++) pool[i] = rnd();
    }
    return (u8 *)&pool[rnd() % ((POOL - size) / 8)];
}

// Saves n records from a key on, whatever was there before. The operation has an id, as each of the SDK has.
static void save(conn *c, int database, u64 key, int n, size_t size) {
    char name[32];
    size_t of_value = field_size(size), of_field = 3 + field_size(of_value), of_save = 18 + 3 + field_size(of_field);
    size_t of_zone = field_size(zone_size(database)) + (size_t)n * field_size(of_save);
    call(c, RECORDS_MODIFY, 4 + 18 + field_size(of_zone));
    buf *b = &c->out;
    b8(b, 1 << 3), b8(b, database);
    b8(b, 2 << 3), b8(b, ALL_KEYS);
    random_field(b, 4);
    tag(b, 5, of_zone);
    zone_field(b, 1, database);
    for (int i = 0; i < n; i++) {
        tag(b, 2, of_save);
        key_text(name, key + (u64)i);
        bytes_field(b, 1, name, 16);
        bytes_field(b, 2, "R", 1);
        tag(b, 15, of_field);
        bytes_field(b, 1, "v", 1);
        tag(b, 2, of_value);
        bytes_field(b, 4, fresh_value(size), size);
    }
}

static void b_put(conn *c, u64 key, int n) { save(c, DATABASE_PRIVATE, key, n, (size_t)g_size); }

// To subscribers of one user it is a save in that user's private database, to those of several one in the public
// database.
static void b_pub(conn *c, u64 id) {
    save(c, g_conns > STREAMS_PER_ACCOUNT ? DATABASE_PUBLIC : DATABASE_PRIVATE, id % 1000, 1, 100);
}

// A question that no record of the zone is the answer to, asked in 32 terms of each: much work for the server, and none
// for this.
static void ask(conn *c) {
    enum { TERMS = 32, OF_COMPARISON = 4 + 2 + 11 };
    size_t of_predicate = 4 + TERMS * field_size(field_size(OF_COMPARISON)), of_query = 3 + field_size(of_predicate);
    call(c, RECORDS_QUERY, 2 + field_size(zone_size(DATABASE_PRIVATE)) + field_size(of_query));
    buf *b = &c->out;
    b8(b, 1 << 3), b8(b, DATABASE_PRIVATE);
    zone_field(b, 2, DATABASE_PRIVATE);
    tag(b, 3, of_query);
    bytes_field(b, 1, "R", 1);
    tag(b, 2, of_predicate);
    tag(b, 1, 2);
    b8(b, 8 << 3), b8(b, TERMS);
    for (int i = 0; i < TERMS; i++) {
        tag(b, 1, field_size(OF_COMPARISON));
        tag(b, 2, OF_COMPARISON);
        bytes_field(b, 1, "\x10\x03", 2); // the modification date
        b8(b, 2 << 3), b8(b, 1); // equal
        tag(b, 3, 9);
        double date = (double)(rnd() % 1000000); // in 2001
        b8(b, 5 << 3 | 1), bput(b, &date, 8);
    }
}

static void b_get(conn *c, u64 key) {
    if (g_other_read) {
        ask(c);
        return;
    }
    char name[32];
    key_text(name, key);
    size_t of_zone = field_size(zone_size(DATABASE_PRIVATE)) + 18;
    call(c, RECORDS_FETCH, 2 + field_size(of_zone));
    b8(&c->out, 1 << 3), b8(&c->out, DATABASE_PRIVATE);
    tag(&c->out, 2, of_zone);
    zone_field(&c->out, 1, DATABASE_PRIVATE);
    bytes_field(&c->out, 2, name, 16);
}

static void changes(conn *c, const u8 *token, size_t length) {
    call(c, RECORDS_CHANGES, 2 + field_size(zone_size(DATABASE_PRIVATE)) + (length ? field_size(length) : 0));
    b8(&c->out, 1 << 3), b8(&c->out, DATABASE_PRIVATE);
    zone_field(&c->out, 2, DATABASE_PRIVATE);
    if (length) bytes_field(&c->out, 3, token, length);
}

static void b_fetch(conn *c) {
    if (!since_length) die("brume: no token to fetch from (lg init brume makes one)");
    if (c->items) changes(c, c->msg.p, c->msg.len);
    else changes(c, since, since_length);
}

static void b_sub(conn *c) {
    c->cur = c->next_stream++;
    frame(&c->out, CALL, 0, c->cur, 2);
    b8(&c->out, 1 << 3), b8(&c->out, NOTIFICATIONS_OPEN);
    frame(&c->out, MESSAGE, 0, c->cur, 0);
    c->method = NOTIFICATIONS_OPEN;
}

// MARK: Files

static void open_stream(conn *c, int method, int flags, size_t length) {
    c->stream = c->next_stream++;
    frame(&c->out, CALL, 0, c->stream, 2);
    b8(&c->out, 1 << 3), bvar(&c->out, (u64)method);
    frame(&c->out, MESSAGE, flags, c->stream, length);
    c->taken = c->taken_bytes = 0;
    c->moved = 0;
    c->is_upload = method == ASSETS_UPLOAD;
}

static void b_download(conn *c, asset *a) {
    char name[32];
    size_t length = (size_t)snprintf(name, sizeof name, "asset-%d", a->number);
    c->file = a;
    open_stream(
        c, ASSETS_DOWNLOAD, LAST,
        2 + field_size(zone_size(DATABASE_PRIVATE)) + field_size(length) + field_size(1) + field_size(32)
    );
    b8(&c->out, 1 << 3), b8(&c->out, DATABASE_PRIVATE);
    zone_field(&c->out, 2, DATABASE_PRIVATE);
    bytes_field(&c->out, 3, name, length);
    bytes_field(&c->out, 4, "f", 1);
    bytes_field(&c->out, 6, a->checksum, 32);
}

static void b_upload(conn *c, asset *a) {
    c->file = a;
    size_t length = 2 + field_size(zone_size(DATABASE_PRIVATE)) + 18 + 1 + (size_t)varlen(a->size);
    open_stream(c, ASSETS_UPLOAD, 0, field_size(length));
    tag(&c->out, 1, length);
    b8(&c->out, 1 << 3), b8(&c->out, DATABASE_PRIVATE);
    zone_field(&c->out, 2, DATABASE_PRIVATE);
    random_field(&c->out, 3);
    b8(&c->out, 4 << 3), bvar(&c->out, a->size);
    c->credit = STREAM_CREDIT - 1;
    c->credit_bytes = STREAM_CREDIT_BYTES - (int64_t)field_size(length);
}

static void b_send(conn *c) {
    buf *b = &c->out;
    while (c->sending && c->allowance > 0 && c->credit > 0 && c->credit_bytes > 0) {
        u64 left = c->file->size - c->moved, n = left < CHUNK ? left : CHUNK;
        size_t length = n ? field_size(n) : field_size(field_size(32));
        frame(b, MESSAGE, n ? 0 : LAST, c->stream, length);
        c->credit--;
        c->credit_bytes -= (int64_t)length;
        if (n) bytes_field(b, 2, asset_bytes(c->file, c->moved), n);
        else tag(b, 3, field_size(32)), bytes_field(b, 1, c->file->checksum, 32);
        c->sending = n > 0;
        c->moved += n;
        c->allowance -= (int64_t)n;
    }
}

// Saves the record that names a file, whatever it named before.
static void b_refer(conn *c, asset *a) {
    char name[32];
    size_t length = (size_t)snprintf(name, sizeof name, "asset-%d", a->number);
    size_t of_asset = field_size(32) + 1 + (size_t)varlen(a->size) + 9 + field_size(a->receipt_length);
    size_t of_value = 1 + field_size(of_asset), of_field = 3 + field_size(of_value);
    size_t of_save = field_size(length) + 3 + field_size(of_field);
    size_t of_zone = field_size(zone_size(DATABASE_PRIVATE)) + field_size(of_save);
    call(c, RECORDS_MODIFY, 4 + 18 + field_size(of_zone));
    buf *b = &c->out;
    b8(b, 1 << 3), b8(b, DATABASE_PRIVATE);
    b8(b, 2 << 3), b8(b, ALL_KEYS);
    random_field(b, 4);
    tag(b, 5, of_zone);
    zone_field(b, 1, DATABASE_PRIVATE);
    tag(b, 2, of_save);
    bytes_field(b, 1, name, length);
    bytes_field(b, 2, "A", 1);
    tag(b, 15, of_field);
    bytes_field(b, 1, "f", 1);
    tag(b, 2, of_value);
    bvar(b, 16 << 3 | 2), bvar(b, of_asset);
    bytes_field(b, 1, a->checksum, 32);
    b8(b, 2 << 3), bvar(b, a->size);
    b8(b, 3 << 3 | 1), bput(b, &a->generation, 8);
    bytes_field(b, 4, a->receipt, a->receipt_length);
}

// MARK: Answers

static void refused(conn *c, const u8 *p, const u8 *e) {
    if (g_soft) {
        g_failed = 1;
        return;
    }
    int number, type;
    u64 value, code = 0;
    const u8 *data = 0, *text = (const u8 *)"";
    int length = 0;
    while ((p = pb_field(p, e, &number, &type, &value, &data))) {
        if (number == 1) code = value >> 1;
        if (number == 2) text = data, length = (int)value;
    }
    die("brume: error %lu on connection %d: %.*s", code, c->id, length, text);
}

// The results of a call that has one for each of its items: zones, and in each of them records.
static void check_results(conn *c, const u8 *p, const u8 *e) {
    int number, type, count = 0;
    u64 value, each;
    const u8 *zone = 0, *result = 0;
    while ((p = pb_field(p, e, &number, &type, &value, &zone)))
        for (const u8 *q = zone, *end = zone + value; (q = pb_field(q, end, &number, &type, &each, &result));) {
            const u8 *inner = result;
            u64 length = each;
            // Zones and subscriptions have their results at the first level.
            if (c->method == RECORDS_MODIFY || c->method == RECORDS_FETCH)
                pb_field(result, result + each, &number, &type, &length, &inner);
            if (number == 2) refused(c, inner, inner + length);
            if (number == 3) die("brume: a record was deferred");
            if (c->method == RECORDS_FETCH && number == 1 && length < (u64)g_size)
                die("brume: a record of %lu bytes", length);
            count++;
        }
    if (!count) die("brume: an answer without results");
}

static void page(conn *c, const u8 *p, const u8 *e) {
    int number, type, more = 0;
    u64 value;
    const u8 *data = 0;
    c->msg.off = c->msg.len = 0;
    while ((p = pb_field(p, e, &number, &type, &value, &data))) {
        if (number == 1) c->items++, c->bytes += (u64)g_size;
        if (number == 3) bput(&c->msg, data, value);
        if (number == 4) more = (int)value;
    }
    if (!c->fetching) return;
    if (c->items >= c->target) on_fetched(c);
    else if (!more) die("brume: %lu changes instead of %lu", c->items, c->target);
    else b_fetch(c);
}

static void event(conn *c, const u8 *p, const u8 *e) {
    c->taken_bytes += (u32)(e - p);
    int number, type;
    u64 value;
    const u8 *data = 0;
    while ((p = pb_field(p, e, &number, &type, &value, &data))) {
        if (number == 8) c->sub_ok = 1, g_nsub++;
        // Events of one device come in the order of the commits, and each publication makes one.
        if (number == 9 || number == 10 || number == 12) on_note(c, ++c->notes);
        if (number == 11) die("brume: connection %d was told to fetch: events were dropped", c->id);
    }
    if (++c->taken == CREDIT_STEP) {
        c->taken = 0;
        frame(&c->out, CREDIT, 0, c->cur, 8);
        b32(&c->out, CREDIT_STEP);
        b32(&c->out, c->taken_bytes);
        c->taken_bytes = 0;
    }
}

static void uploaded(conn *c, const u8 *p, const u8 *e) {
    int number, type;
    u64 value;
    const u8 *data = 0, *next;
    while ((next = pb_field(p, e, &number, &type, &value, &data))) {
        if (number == 1 && (value != 32 || memcmp(data, c->file->checksum, 32))) die("brume: another checksum");
        if (number == 3) memcpy(&c->file->generation, next - 8, 8);
        if (number == 4) {
            if (value > sizeof c->file->receipt) die("brume: a receipt of %lu bytes", value);
            memcpy(c->file->receipt, data, value);
            c->file->receipt_length = value;
        }
        p = next;
    }
}

// What a transfer's stream brings: contents; where an upload begins; at its end the asset.
static void transferred(conn *c, const u8 *p, const u8 *e) {
    int number, type;
    u64 value;
    const u8 *data = 0;
    size_t size = (size_t)(e - p);
    while ((p = pb_field(p, e, &number, &type, &value, &data))) {
        if (c->is_upload && number == 2) uploaded(c, data, data + value);
        else if (c->is_upload) {
            if (value) die("brume: an upload goes on at %lu", value);
            c->sending = 1;
            b_send(c);
        } else if (number == 2) came(c, data, value);
        else if (value != c->file->size) die("brume: an asset of %lu bytes", value);
    }
    c->taken++;
    c->taken_bytes += (u32)size;
    if (c->is_upload || (c->taken < STREAM_CREDIT / 2 && c->taken_bytes < STREAM_CREDIT_BYTES / 2)) return;
    frame(&c->out, CREDIT, 0, c->stream, 8);
    b32(&c->out, c->taken);
    b32(&c->out, c->taken_bytes);
    c->taken = c->taken_bytes = 0;
}

static void b_parse(conn *c) {
    for (;;) {
        u8 *b = c->in.p + c->in.off;
        size_t len = c->in.len - c->in.off;
        if (len < HEADER || len < HEADER + g32(b)) break;
        const u8 *p = b + HEADER, *e = p + g32(b);
        SSL *s = c->ssl;
        c->in.off += HEADER + g32(b);
        if (c->stream && g32(b + 6) == c->stream) {
            if (b[4] == MESSAGE) transferred(c, p, e);
            else if (b[4] == CREDIT) c->credit += g32(p), c->credit_bytes += g32(p + 4), b_send(c);
            else if (p != e) refused(c, p, e);
            else c->stream = 0, moved(c);
            continue;
        }
        switch (b[4]) {
        case WELCOME:
            ready(c);
            break;
        case STATUS:
        case GOAWAY:
            refused(c, p, e);
            if (g_failed) return;
            break;
        case PING:
            frame(&c->out, PONG, 0, 0, 8);
            bput(&c->out, p, 8);
            break;
        case MESSAGE:
            if (c->method == NOTIFICATIONS_OPEN) {
                event(c, p, e);
                break;
            }
            c->pending--;
            if (c->method == RECORDS_CHANGES) page(c, p, e);
            else if (c->method == RECORDS_QUERY && p != e) die("brume: a query found something");
            else if (c->method != RECORDS_QUERY) check_results(c, p, e);
            if (g_failed) return;
            if (!c->fetching && c->method != RECORDS_CHANGES) on_reply(c);
        }
        if (c->ssl != s || c->state < LOGIN) return;
    }
    if (c->in.off) {
        memmove(c->in.p, c->in.p + c->in.off, c->in.len - c->in.off);
        c->in.len -= c->in.off;
        c->in.off = 0;
    }
}

// MARK: Preparation

static void finish(conn *c) {
    flush(c);
    u64 end = now_ns() + 10000000000ull;
    while (c->pending && now_ns() < end) poll_once(100);
    if (c->pending) die("brume: no answer");
}

static void save_zone(conn *c) {
    call(c, ZONES_MODIFY, 2 + field_size(zone_size(DATABASE_PRIVATE)) + 18);
    b8(&c->out, 1 << 3), b8(&c->out, DATABASE_PRIVATE);
    zone_field(&c->out, 2, DATABASE_PRIVATE);
    random_field(&c->out, 4);
    finish(c);
}

// All changes of the private database, or all records of the type in the public one.
static void subscribe(conn *c, int database) {
    static const u8 private[] = {0x0a, 1, 's', 0x1a, 0};
    static const u8 public[] = {0x0a, 1, 'q', 0x22, 11, 0x0a, 1, 'R', 0x12, 4, 0x0a, 2, 0x08, 1, 0x18, 7};
    const u8 *p = database == DATABASE_PUBLIC ? public : private;
    size_t length = database == DATABASE_PUBLIC ? sizeof public : sizeof private;
    call(c, SUBSCRIPTIONS_MODIFY, 2 + field_size(length) + 18);
    b8(&c->out, 1 << 3), b8(&c->out, database);
    bytes_field(&c->out, 2, p, length);
    random_field(&c->out, 4);
    finish(c);
}

static void b_init(void) {
    read_accounts();
    g_users = g_total = account_count;
    g_c = calloc((size_t)g_total, sizeof *g_c);
    connect_all(16);
    for (int i = 0; i < g_total; i++) {
        conn *c = &g_c[i];
        save_zone(c);
        subscribe(c, DATABASE_PRIVATE);
        // The schema learns the type from the first save of it.
        if (i == 0) save(c, DATABASE_PUBLIC, 0, 1, 100), finish(c);
        subscribe(c, DATABASE_PUBLIC);
    }
    conn *c = &g_c[0];
    changes(c, 0, 0);
    finish(c);
    FILE *file = client_file("since", "w");
    if (!file || fwrite(c->msg.p, 1, c->msg.len, file) != c->msg.len || fclose(file))
        die("brume: the token can't be kept");
}

struct proto brume_proto = {
    "brume", b_hello, b_parse,    b_put,    b_get,  b_sub, b_pub, b_fetch, 0,
    b_init,  b_download, b_upload, b_send, b_refer};

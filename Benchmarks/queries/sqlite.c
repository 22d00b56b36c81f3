// SQLite in this process: no network, no TLS. FTS5 for words, R*Tree for places, WAL synced at every commit.
#include "bench.h"
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS "n.name, n.city, n.number, n.title, n.tags, n.body, n.latitude, n.longitude, n.score"

static const char *const statements[KINDS] = {
    [EQUALITY] = "SELECT " COLUMNS " FROM note n WHERE city = ?1 LIMIT 100",
    [RANGE] = "SELECT " COLUMNS " FROM note n WHERE number >= ?1 AND number < ?2 LIMIT 100",
    [PREFIX] = "SELECT " COLUMNS " FROM note n WHERE title >= ?1 AND title < ?2 LIMIT 100",
    [LIST] = "SELECT " COLUMNS " FROM tag t JOIN note n ON n.id = t.id WHERE t.tag = ?1 LIMIT 100",
    [RARE_WORD] = "SELECT " COLUMNS " FROM words w JOIN note n ON n.id = w.rowid WHERE words MATCH ?1 LIMIT 100",
    [COMMON_WORD] = "SELECT " COLUMNS " FROM words w JOIN note n ON n.id = w.rowid WHERE words MATCH ?1 LIMIT 100",
    [DISTANCE] = "SELECT " COLUMNS " FROM place p JOIN note n ON n.id = p.id"
                 " WHERE p.low_latitude >= ?1 AND p.high_latitude <= ?2 AND p.low_longitude >= ?3 AND p.high_longitude <= ?4"
                 " AND 12742000 * asin(sqrt(pow(sin(radians(n.latitude - ?5) / 2), 2)"
                 " + cos(radians(?5)) * cos(radians(n.latitude)) * pow(sin(radians(n.longitude - ?6) / 2), 2))) < 5000 LIMIT 100",
    [SORT] = "SELECT " COLUMNS " FROM note n ORDER BY score DESC LIMIT 100",
};

struct connection {
    sqlite3 *database;
    sqlite3_stmt *ask[KINDS], *save, *save_tag, *save_words, *save_place;
};

static void check(struct connection *connection, int status) {
    if (status != SQLITE_OK && status != SQLITE_DONE && status != SQLITE_ROW)
        fail("sqlite: %s", sqlite3_errmsg(connection->database));
}

static void run(struct connection *connection, const char *statement) {
    check(connection, sqlite3_exec(connection->database, statement, NULL, NULL, NULL));
}

static void prepare_statements(struct connection *connection) {
    for (int kind = 0; kind < KINDS; kind++)
        check(connection, sqlite3_prepare_v2(connection->database, statements[kind], -1, &connection->ask[kind], NULL));
    check(connection, sqlite3_prepare_v2(connection->database, "INSERT INTO note VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)", -1, &connection->save, NULL));
    check(connection, sqlite3_prepare_v2(connection->database, "INSERT OR IGNORE INTO tag VALUES (?1, ?2)", -1, &connection->save_tag, NULL));
    check(connection, sqlite3_prepare_v2(connection->database, "INSERT INTO words (rowid, body) VALUES (?1, ?2)", -1, &connection->save_words, NULL));
    check(connection, sqlite3_prepare_v2(connection->database, "INSERT INTO place VALUES (?1, ?2, ?2, ?3, ?3)", -1, &connection->save_place, NULL));
}

static void *open_connection(void) {
    struct connection *connection = calloc(1, sizeof *connection);
    check(connection, sqlite3_open(getenv("BENCH_SQLITE"), &connection->database));
    sqlite3_busy_timeout(connection->database, 60000);
    run(connection, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -2000000; PRAGMA mmap_size = 8589934592");
    sqlite3_stmt *statement;
    check(connection, sqlite3_prepare_v2(connection->database, "SELECT 1 FROM sqlite_master WHERE name = 'note'", -1, &statement, NULL));
    bool exists = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    if (exists) prepare_statements(connection);
    return connection;
}

static void prepare(void *context) {
    struct connection *connection = context;
    run(connection, "CREATE TABLE note (id INTEGER PRIMARY KEY, name TEXT, city TEXT, number INTEGER, title TEXT, tags TEXT, body TEXT,"
                    " latitude REAL, longitude REAL, score REAL);"
                    "CREATE TABLE tag (tag TEXT, id INTEGER, PRIMARY KEY (tag, id)) WITHOUT ROWID;"
                    "CREATE VIRTUAL TABLE words USING fts5(body, content='note', content_rowid='id', detail=none);"
                    "CREATE VIRTUAL TABLE place USING rtree(id, low_latitude, high_latitude, low_longitude, high_longitude)");
    prepare_statements(connection);
}

static void step(struct connection *connection, sqlite3_stmt *statement) {
    check(connection, sqlite3_step(statement));
    check(connection, sqlite3_reset(statement));
}

static void save(void *context, uint64_t first, unsigned count) {
    struct connection *connection = context;
    run(connection, "BEGIN IMMEDIATE");
    for (unsigned i = 0; i < count; i++) {
        struct note note;
        note_make(first + i, &note);
        int64_t id = (int64_t)(first + i) + 1;
        char tags[64];
        snprintf(tags, sizeof tags, "%s %s %s", note.tags[0], note.tags[1], note.tags[2]);
        sqlite3_bind_int64(connection->save, 1, id);
        sqlite3_bind_text(connection->save, 2, note.name, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(connection->save, 3, note.city, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int64(connection->save, 4, note.number);
        sqlite3_bind_text(connection->save, 5, note.title, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(connection->save, 6, tags, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(connection->save, 7, note.body, -1, SQLITE_TRANSIENT);
        sqlite3_bind_double(connection->save, 8, note.latitude);
        sqlite3_bind_double(connection->save, 9, note.longitude);
        sqlite3_bind_double(connection->save, 10, note.score);
        step(connection, connection->save);
        for (int tag = 0; tag < 3; tag++) {
            sqlite3_bind_text(connection->save_tag, 1, note.tags[tag], -1, SQLITE_TRANSIENT);
            sqlite3_bind_int64(connection->save_tag, 2, id);
            step(connection, connection->save_tag);
        }
        sqlite3_bind_int64(connection->save_words, 1, id);
        sqlite3_bind_text(connection->save_words, 2, note.body, -1, SQLITE_TRANSIENT);
        step(connection, connection->save_words);
        sqlite3_bind_int64(connection->save_place, 1, id);
        sqlite3_bind_double(connection->save_place, 2, note.latitude);
        sqlite3_bind_double(connection->save_place, 3, note.longitude);
        step(connection, connection->save_place);
    }
    run(connection, "COMMIT");
}

static void finish(void *connection) {
    run(connection, "CREATE INDEX note_city ON note (city); CREATE INDEX note_number ON note (number);"
                    "CREATE INDEX note_title ON note (title); CREATE INDEX note_score ON note (score);"
                    "INSERT INTO words (words) VALUES ('optimize'); ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)");
}

static unsigned ask(void *context, const struct question *question) {
    struct connection *connection = context;
    sqlite3_stmt *statement = connection->ask[question->kind];
    char end[40];
    switch (question->kind) {
    case RANGE:
        sqlite3_bind_int64(statement, 1, question->low);
        sqlite3_bind_int64(statement, 2, question->high);
        break;
    case PREFIX:
        snprintf(end, sizeof end, "%sg", question->text);
        sqlite3_bind_text(statement, 1, question->text, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(statement, 2, end, -1, SQLITE_TRANSIENT);
        break;
    case DISTANCE: {
        double latitude = 5000 / 111320.0, longitude = latitude / cos(question->latitude * M_PI / 180);
        sqlite3_bind_double(statement, 1, question->latitude - latitude);
        sqlite3_bind_double(statement, 2, question->latitude + latitude);
        sqlite3_bind_double(statement, 3, question->longitude - longitude);
        sqlite3_bind_double(statement, 4, question->longitude + longitude);
        sqlite3_bind_double(statement, 5, question->latitude);
        sqlite3_bind_double(statement, 6, question->longitude);
        break;
    }
    case SORT: break;
    default: sqlite3_bind_text(statement, 1, question->text, -1, SQLITE_TRANSIENT);
    }
    unsigned rows = 0;
    int status;
    volatile size_t bytes = 0;  // the row is read, as a client would
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int column = 0; column < 9; column++) bytes += (size_t)sqlite3_column_bytes(statement, column);
        rows++;
    }
    check(connection, status);
    sqlite3_reset(statement);
    return rows;
}

const struct system sqlite_system = {"sqlite", open_connection, prepare, save, finish, ask};

// PostgreSQL over its own protocol with TLS: a table with the matching index for each kind of question.
#include "bench.h"
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS "name, city, number, title, tags, body, latitude, longitude, score"

static const char *const statements[KINDS] = {
    [EQUALITY] = "SELECT " COLUMNS " FROM note WHERE city = $1 LIMIT 100",
    [RANGE] = "SELECT " COLUMNS " FROM note WHERE number >= $1::bigint AND number < $2::bigint LIMIT 100",
    [PREFIX] = "SELECT " COLUMNS " FROM note WHERE title >= $1 AND title < $2 LIMIT 100",
    [LIST] = "SELECT " COLUMNS " FROM note WHERE tags @> ARRAY[$1::text] LIMIT 100",
    [RARE_WORD] = "SELECT " COLUMNS " FROM note WHERE to_tsvector('simple', body) @@ to_tsquery('simple', $1) LIMIT 100",
    [COMMON_WORD] = "SELECT " COLUMNS " FROM note WHERE to_tsvector('simple', body) @@ to_tsquery('simple', $1) LIMIT 100",
    [DISTANCE] = "SELECT " COLUMNS " FROM note WHERE earth_box(ll_to_earth($1::float8, $2::float8), 5000) @> ll_to_earth(latitude, longitude)"
                 " AND earth_distance(ll_to_earth($1::float8, $2::float8), ll_to_earth(latitude, longitude)) < 5000 LIMIT 100",
    [SORT] = "SELECT " COLUMNS " FROM note ORDER BY score DESC LIMIT 100",
};
static const char insert[] =
    "INSERT INTO note VALUES ($1, $2, $3::bigint, $4, $5::text[], $6, $7::float8, $8::float8, $9::float8)";

static void check(PGconn *connection, PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail("postgres: %s", PQerrorMessage(connection));
}

static void run(PGconn *connection, const char *statement) {
    PGresult *result = PQexec(connection, statement);
    check(connection, result);
    PQclear(result);
}

static void prepare_statements(PGconn *connection) {
    char name[16];
    for (int kind = 0; kind < KINDS; kind++) {
        snprintf(name, sizeof name, "ask%d", kind);
        PGresult *result = PQprepare(connection, name, statements[kind], 0, NULL);
        check(connection, result);
        PQclear(result);
    }
    PGresult *result = PQprepare(connection, "save", insert, 0, NULL);
    check(connection, result);
    PQclear(result);
}

static void *open_connection(void) {
    PGconn *connection = PQconnectdb(getenv("BENCH_POSTGRES"));
    if (PQstatus(connection) != CONNECTION_OK) fail("postgres: %s", PQerrorMessage(connection));
    if (!PQsslInUse(connection)) fail("postgres: the connection has no TLS");
    PGresult *result = PQexec(connection, "SELECT to_regclass('note') IS NOT NULL");
    check(connection, result);
    bool exists = PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    if (exists) prepare_statements(connection);
    return connection;
}

static void prepare(void *connection) {
    run(connection, "CREATE EXTENSION IF NOT EXISTS cube");
    run(connection, "CREATE EXTENSION IF NOT EXISTS earthdistance");
    run(connection, "CREATE TABLE note (name text PRIMARY KEY, city text, number bigint, title text COLLATE \"C\", tags text[],"
                    " body text, latitude float8, longitude float8, score float8)");
    prepare_statements(connection);
}

static void save(void *connection, uint64_t first, unsigned count) {
    if (count > 1) run(connection, "BEGIN");
    for (unsigned i = 0; i < count; i++) {
        struct note note;
        note_make(first + i, &note);
        char number[32], tags[64], latitude[32], longitude[32], score[32];
        snprintf(number, sizeof number, "%lld", (long long)note.number);
        snprintf(tags, sizeof tags, "{%s,%s,%s}", note.tags[0], note.tags[1], note.tags[2]);
        snprintf(latitude, sizeof latitude, "%.17g", note.latitude);
        snprintf(longitude, sizeof longitude, "%.17g", note.longitude);
        snprintf(score, sizeof score, "%.17g", note.score);
        const char *values[] = {note.name, note.city, number, note.title, tags, note.body, latitude, longitude, score};
        PGresult *result = PQexecPrepared(connection, "save", 9, values, NULL, NULL, 0);
        check(connection, result);
        PQclear(result);
    }
    if (count > 1) run(connection, "COMMIT");
}

static void finish(void *connection) {
    run(connection, "CREATE INDEX ON note (city)");
    run(connection, "CREATE INDEX ON note (number)");
    run(connection, "CREATE INDEX ON note (title)");
    run(connection, "CREATE INDEX ON note USING gin (tags)");
    run(connection, "CREATE INDEX ON note USING gin (to_tsvector('simple', body))");
    run(connection, "CREATE INDEX ON note USING gist (ll_to_earth(latitude, longitude))");
    run(connection, "CREATE INDEX ON note (score)");
    run(connection, "VACUUM ANALYZE note");
    run(connection, "CHECKPOINT");
}

static unsigned ask(void *connection, const struct question *question) {
    char name[16], first[40], second[40];
    snprintf(name, sizeof name, "ask%d", question->kind);
    const char *values[] = {first, second};
    int count = 1;
    switch (question->kind) {
    case RANGE:
        snprintf(first, sizeof first, "%lld", (long long)question->low);
        snprintf(second, sizeof second, "%lld", (long long)question->high);
        count = 2;
        break;
    case PREFIX:  // the range that a prefix is under the collation "C"
        snprintf(first, sizeof first, "%s", question->text);
        snprintf(second, sizeof second, "%sg", question->text);
        count = 2;
        break;
    case DISTANCE:
        snprintf(first, sizeof first, "%.17g", question->latitude);
        snprintf(second, sizeof second, "%.17g", question->longitude);
        count = 2;
        break;
    case SORT: count = 0; break;
    default: snprintf(first, sizeof first, "%s", question->text);
    }
    PGresult *result = PQexecPrepared(connection, name, count, values, NULL, NULL, 1);
    check(connection, result);
    unsigned rows = (unsigned)PQntuples(result);
    PQclear(result);
    return rows;
}

const struct system postgres_system = {"postgres", open_connection, prepare, save, finish, ask};

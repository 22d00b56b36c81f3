// Brume over its own protocol, written from proto/README.md: TLS 1.3, frames, protobuf-c. Answers are decoded whole.
#include "bench.h"
#include "CBrumeProto.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAME_HELLO = 1, FRAME_WELCOME = 2, FRAME_CALL = 3, FRAME_MESSAGE = 4, FRAME_STATUS = 5, FRAME_PING = 8, FRAME_PONG = 9, LAST = 1 };

struct connection {
    SSL *tls;
    uint32_t stream;
    uint8_t *output, *input;
    size_t output_count, output_capacity, input_start, input_end, input_capacity;
    // Memory of the message that is being made or read; reset for each.
    uint8_t *memory;
    size_t memory_used, memory_capacity;
};

static ProtobufCBinaryData text(const char *text) { return (ProtobufCBinaryData){strlen(text), (uint8_t *)text}; }

static void *allocate(void *context, size_t size) {
    struct connection *connection = context;
    size = (size + 15) & ~(size_t)15;
    if (connection->memory_used + size > connection->memory_capacity) fail("brume: an answer is too large");
    void *memory = connection->memory + connection->memory_used;
    connection->memory_used += size;
    return memory;
}
static void release(void *context, void *pointer) { (void)context, (void)pointer; }

#define MAKE(connection, type, init) ({ type *message = allocate(connection, sizeof(type)); init(message); message; })

// MARK: Frames

static void put_frame(struct connection *connection, uint8_t type, uint8_t flags, uint32_t stream, const ProtobufCMessage *message) {
    size_t length = message ? protobuf_c_message_get_packed_size(message) : 0;
    if (connection->output_count + length + 10 > connection->output_capacity) {
        connection->output_capacity = 2 * (connection->output_count + length + 10);
        connection->output = realloc(connection->output, connection->output_capacity);
    }
    uint8_t *frame = connection->output + connection->output_count;
    uint32_t length_big = htonl((uint32_t)length), stream_big = htonl(stream);
    memcpy(frame, &length_big, 4);
    frame[4] = type;
    frame[5] = flags;
    memcpy(frame + 6, &stream_big, 4);
    if (message) protobuf_c_message_pack(message, frame + 10);
    connection->output_count += length + 10;
}

static void flush(struct connection *connection) {
    size_t written = 0;
    while (written < connection->output_count) {
        int count = SSL_write(connection->tls, connection->output + written, (int)(connection->output_count - written));
        if (count <= 0) fail("brume: the connection ended");
        written += (size_t)count;
    }
    connection->output_count = 0;
}

// The next frame that is no ping; its payload is valid until the next call.
static uint8_t next_frame(struct connection *connection, const uint8_t **payload, size_t *length) {
    for (;;) {
        size_t have = connection->input_end - connection->input_start;
        uint8_t *frame = connection->input + connection->input_start;
        if (have >= 10) {
            uint32_t length_big;
            memcpy(&length_big, frame, 4);
            size_t total = 10 + (size_t)ntohl(length_big);
            if (have >= total) {
                connection->input_start += total;
                if (frame[4] == FRAME_PING) {
                    uint8_t pong[18];
                    memcpy(pong, frame, 18);
                    pong[4] = FRAME_PONG;
                    if (SSL_write(connection->tls, pong, 18) != 18) fail("brume: the connection ended");
                    continue;
                }
                *payload = frame + 10;
                *length = total - 10;
                return frame[4];
            }
        }
        memmove(connection->input, frame, have);
        connection->input_start = 0;
        connection->input_end = have;
        int count = SSL_read(connection->tls, connection->input + have, (int)(connection->input_capacity - have));
        if (count <= 0) fail("brume: the connection ended");
        connection->input_end += (size_t)count;
    }
}

// One unary call; the answer's payload is valid until the next one.
static void call(struct connection *connection, Brume__V1__Method method, const ProtobufCMessage *request, const uint8_t **payload, size_t *length) {
    enum { NETWORK_FAILURE = 4 };
    uint8_t type;
    Brume__V1__Status *status;
    // A first question may wait for its index for longer than a call may take: asked again, it goes on from there.
    do {
        Brume__V1__Call header = BRUME__V1__CALL__INIT;
        header.method = method;
        put_frame(connection, FRAME_CALL, 0, ++connection->stream, &header.base);
        put_frame(connection, FRAME_MESSAGE, LAST, connection->stream, request);
        flush(connection);
        type = next_frame(connection, payload, length);
        if (type == FRAME_MESSAGE) return;
        status = type == FRAME_STATUS ? brume__v1__status__unpack(NULL, *length, *payload) : NULL;
    } while (status && status->code == NETWORK_FAILURE);
    if (status) fail("brume: error %d: %.*s", status->code, (int)status->message.len, (char *)status->message.data);
    fail("brume: a frame of type %d", type);
}

// MARK: The system

static void *open_connection(void) {
    static SSL_CTX *context;
    if (!context) {
        context = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_mode(context, SSL_MODE_AUTO_RETRY);
        if (SSL_CTX_load_verify_locations(context, getenv("BRUME_CA"), NULL) != 1) fail("brume: BRUME_CA can't be read");
    }
    struct connection *connection = calloc(1, sizeof *connection);
    connection->input = malloc(connection->input_capacity = 8 << 20);
    connection->memory = malloc(connection->memory_capacity = 32 << 20);
    char host[256];
    snprintf(host, sizeof host, "%s", getenv("BRUME_SERVER"));
    char *port = strrchr(host, ':');
    *port++ = 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    inet_pton(AF_INET, host, &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) fail("brume: no server at %s:%s", host, port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->tls = SSL_new(context);
    SSL_set_alpn_protos(connection->tls, (const unsigned char *)"\x07" "brume/1", 8);
    SSL_set_fd(connection->tls, fd);
    if (SSL_connect(connection->tls) != 1) fail("brume: the handshake failed");

    uint8_t device[16];
    RAND_bytes(device, sizeof device);
    Brume__V1__Hello hello = BRUME__V1__HELLO__INIT;
    hello.protocol_version = 1;
    hello.client_version = text("query benchmark");
    hello.device_id = (ProtobufCBinaryData){16, device};
    hello.container = text("iCloud.com.example.benchmark");
    hello.environment = BRUME__V1__ENVIRONMENT__ENVIRONMENT_DEVELOPMENT;
    hello.credentials_case = BRUME__V1__HELLO__CREDENTIALS_ACCOUNT_TOKEN;
    hello.account_token = text(getenv("BRUME_TOKEN"));
    put_frame(connection, FRAME_HELLO, 0, 0, &hello.base);
    flush(connection);
    const uint8_t *payload;
    size_t length;
    if (next_frame(connection, &payload, &length) != FRAME_WELCOME) fail("brume: no welcome");
    return connection;
}

static Brume__V1__ZoneID *zone(struct connection *connection) {
    Brume__V1__ZoneID *zone = MAKE(connection, Brume__V1__ZoneID, brume__v1__zone_id__init);
    zone->name = text("Notes");
    return zone;
}

static void prepare(void *context) {
    struct connection *connection = context;
    connection->memory_used = 0;
    Brume__V1__ModifyZonesRequest request = BRUME__V1__MODIFY_ZONES_REQUEST__INIT;
    Brume__V1__ZoneID *zones[] = {zone(connection)};
    request.database = BRUME__V1__DATABASE_SCOPE__DATABASE_SCOPE_PRIVATE;
    request.n_saves = 1;
    request.saves = zones;
    const uint8_t *payload;
    size_t length;
    call(connection, BRUME__V1__METHOD__METHOD_ZONES_MODIFY, &request.base, &payload, &length);
}

static Brume__V1__Value *value(struct connection *connection, Brume__V1__Value__KindCase kind) {
    Brume__V1__Value *value = MAKE(connection, Brume__V1__Value, brume__v1__value__init);
    value->kind_case = kind;
    return value;
}

static ProtobufCBinaryData copy(struct connection *connection, const char *string) {
    size_t length = strlen(string);
    uint8_t *bytes = allocate(connection, length);
    memcpy(bytes, string, length);
    return (ProtobufCBinaryData){length, bytes};
}

static Brume__V1__Value *string_value(struct connection *connection, const char *string) {
    Brume__V1__Value *result = value(connection, BRUME__V1__VALUE__KIND_STRING_VALUE);
    result->string_value = copy(connection, string);
    return result;
}

static Brume__V1__Value *number_value(struct connection *connection, int64_t number) {
    Brume__V1__Value *result = value(connection, BRUME__V1__VALUE__KIND_INT64_VALUE);
    result->int64_value = number;
    return result;
}

static Brume__V1__Field *field(struct connection *connection, const char *key, Brume__V1__Value *value) {
    Brume__V1__Field *field = MAKE(connection, Brume__V1__Field, brume__v1__field__init);
    field->key = text(key);
    field->value = value;
    return field;
}

static void save(void *context, uint64_t first, unsigned count) {
    struct connection *connection = context;
    connection->memory_used = 0;
    Brume__V1__RecordSave **saves = allocate(connection, count * sizeof *saves);
    for (unsigned i = 0; i < count; i++) {
        struct note note;
        note_make(first + i, &note);
        Brume__V1__RecordSave *save = saves[i] = MAKE(connection, Brume__V1__RecordSave, brume__v1__record_save__init);
        save->name = copy(connection, note.name);
        save->type = text("Note");
        Brume__V1__StringList *list = MAKE(connection, Brume__V1__StringList, brume__v1__string_list__init);
        list->values = allocate(connection, 3 * sizeof *list->values);
        list->n_values = 3;
        for (int tag = 0; tag < 3; tag++) list->values[tag] = copy(connection, note.tags[tag]);
        Brume__V1__Location *location = MAKE(connection, Brume__V1__Location, brume__v1__location__init);
        location->latitude = note.latitude;
        location->longitude = note.longitude;
        Brume__V1__Value *tags = value(connection, BRUME__V1__VALUE__KIND_STRING_LIST);
        tags->string_list = list;
        Brume__V1__Value *place = value(connection, BRUME__V1__VALUE__KIND_LOCATION_VALUE);
        place->location_value = location;
        Brume__V1__Value *score = value(connection, BRUME__V1__VALUE__KIND_DOUBLE_VALUE);
        score->double_value = note.score;
        Brume__V1__Field **fields = save->fields = allocate(connection, 7 * sizeof *fields);
        save->n_fields = 7;
        fields[0] = field(connection, "body", string_value(connection, note.body));
        fields[1] = field(connection, "city", string_value(connection, note.city));
        fields[2] = field(connection, "number", number_value(connection, note.number));
        fields[3] = field(connection, "place", place);
        fields[4] = field(connection, "score", score);
        fields[5] = field(connection, "tags", tags);
        fields[6] = field(connection, "title", string_value(connection, note.title));
    }
    Brume__V1__ZoneModification modification = BRUME__V1__ZONE_MODIFICATION__INIT, *modifications[] = {&modification};
    modification.zone = zone(connection);
    modification.saves = saves;
    modification.n_saves = count;
    Brume__V1__ModifyRecordsRequest request = BRUME__V1__MODIFY_RECORDS_REQUEST__INIT;
    request.database = BRUME__V1__DATABASE_SCOPE__DATABASE_SCOPE_PRIVATE;
    request.zones = modifications;
    request.n_zones = 1;
    const uint8_t *payload;
    size_t length;
    call(connection, BRUME__V1__METHOD__METHOD_RECORDS_MODIFY, &request.base, &payload, &length);
    ProtobufCAllocator allocator = {allocate, release, connection};
    Brume__V1__ModifyRecordsResponse *response = brume__v1__modify_records_response__unpack(&allocator, length, payload);
    for (size_t i = 0; i < response->zones[0]->n_saves; i++) {
        Brume__V1__SaveResult *result = response->zones[0]->saves[i];
        if (result->outcome_case == BRUME__V1__SAVE_RESULT__OUTCOME_ERROR)
            fail("brume: a save failed: %.*s", (int)result->error->message.len, (char *)result->error->message.data);
    }
}

static void finish(void *connection) { (void)connection; }  // each index is built by the first question that needs it

static Brume__V1__QueryKey *key(struct connection *connection, const char *name) {
    Brume__V1__QueryKey *key = MAKE(connection, Brume__V1__QueryKey, brume__v1__query_key__init);
    key->kind_case = BRUME__V1__QUERY_KEY__KIND_FIELD;
    key->field = text(name);
    return key;
}

static Brume__V1__PredicateNode *comparison(
    struct connection *connection, const char *name, Brume__V1__ComparisonOperator comparison_operator, Brume__V1__Value *value
) {
    Brume__V1__PredicateNode *node = MAKE(connection, Brume__V1__PredicateNode, brume__v1__predicate_node__init);
    node->kind_case = BRUME__V1__PREDICATE_NODE__KIND_COMPARISON;
    node->comparison = MAKE(connection, Brume__V1__Comparison, brume__v1__comparison__init);
    node->comparison->key = key(connection, name);
    node->comparison->operator_ = comparison_operator;
    node->comparison->value = value;
    return node;
}

static unsigned ask(void *context, const struct question *question) {
    struct connection *connection = context;
    connection->memory_used = 0;
    Brume__V1__PredicateNode *nodes[3];
    Brume__V1__PredicateNode *node = nodes[0] = MAKE(connection, Brume__V1__PredicateNode, brume__v1__predicate_node__init);
    Brume__V1__Predicate predicate = BRUME__V1__PREDICATE__INIT;
    predicate.nodes = nodes;
    predicate.n_nodes = 1;
    Brume__V1__Query query = BRUME__V1__QUERY__INIT;
    query.record_type = text("Note");
    query.predicate = &predicate;
    Brume__V1__QuerySort *sort[1];
    switch (question->kind) {
    case EQUALITY:
        nodes[0] = comparison(connection, "city", BRUME__V1__COMPARISON_OPERATOR__COMPARISON_OPERATOR_EQUAL, string_value(connection, question->text));
        break;
    case RANGE:
        node->kind_case = BRUME__V1__PREDICATE_NODE__KIND_AND;
        node->and_ = 2;
        nodes[1] = comparison(connection, "number", BRUME__V1__COMPARISON_OPERATOR__COMPARISON_OPERATOR_GREATER_OR_EQUAL, number_value(connection, question->low));
        nodes[2] = comparison(connection, "number", BRUME__V1__COMPARISON_OPERATOR__COMPARISON_OPERATOR_LESS, number_value(connection, question->high));
        predicate.n_nodes = 3;
        break;
    case PREFIX:
        nodes[0] = comparison(connection, "title", BRUME__V1__COMPARISON_OPERATOR__COMPARISON_OPERATOR_BEGINS_WITH, string_value(connection, question->text));
        break;
    case LIST:
        nodes[0] = comparison(connection, "tags", BRUME__V1__COMPARISON_OPERATOR__COMPARISON_OPERATOR_EQUAL, string_value(connection, question->text));
        nodes[0]->comparison->any_element = 1;
        break;
    case RARE_WORD: case COMMON_WORD:
        node->kind_case = BRUME__V1__PREDICATE_NODE__KIND_TEXT;
        node->text = MAKE(connection, Brume__V1__TextSearch, brume__v1__text_search__init);
        node->text->text = text(question->text);
        node->text->match = BRUME__V1__TEXT_MATCH__TEXT_MATCH_ANY_WORD;
        break;
    case DISTANCE:
        node->kind_case = BRUME__V1__PREDICATE_NODE__KIND_DISTANCE;
        node->distance = MAKE(connection, Brume__V1__Distance, brume__v1__distance__init);
        node->distance->key = key(connection, "place");
        node->distance->latitude = question->latitude;
        node->distance->longitude = question->longitude;
        node->distance->metres = 5000;
        break;
    case SORT: case KINDS:
        node->kind_case = BRUME__V1__PREDICATE_NODE__KIND_CONSTANT;
        node->constant = 1;
        sort[0] = MAKE(connection, Brume__V1__QuerySort, brume__v1__query_sort__init);
        sort[0]->key = key(connection, "score");
        sort[0]->descending = 1;
        query.sort = sort;
        query.n_sort = 1;
    }
    Brume__V1__QueryRequest request = BRUME__V1__QUERY_REQUEST__INIT;
    request.database = BRUME__V1__DATABASE_SCOPE__DATABASE_SCOPE_PRIVATE;
    request.zone = zone(connection);
    request.query = &query;
    request.results_limit = 100;
    const uint8_t *payload;
    size_t length;
    call(connection, BRUME__V1__METHOD__METHOD_RECORDS_QUERY, &request.base, &payload, &length);
    ProtobufCAllocator allocator = {allocate, release, connection};
    Brume__V1__QueryResponse *response = brume__v1__query_response__unpack(&allocator, length, payload);
    if (!response) fail("brume: an answer is no QueryResponse");
    return (unsigned)response->n_matches;
}

const struct system brume_system = {"brume", open_connection, prepare, save, finish, ask};

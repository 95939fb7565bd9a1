/* Any bytes from a cell about a call in its hands: they end the cell or make an answer, and the
 * answer is JSON whatever the cell said.
 *
 * The first byte picks the call. The second tells what follows: 0, one raw frame; 1, pieces of type
 * (1 byte), length of the head (2), of the body (2), head, body; 2, bytes that a result is built from. */
#include <string.h>

#include "base/hash.h"
#include "core/found.h"
#include "core/registry.h"
#include "dialect/dialects.h"
#include "session/flight.h"
#include "target.h"
#include "build.h"
#include "tools/all.h"

#define REPLY_MAX 6000u
#define ANSWER_MAX (1u << 20)

static const struct root roots[] = {
    {"@project", "/project", "/srv/project", true},
    {"@state", "/state", "/srv/state", true},
};
static struct workplace workplace = {roots, ARRAY_LEN(roots), NULL, {.id = TIER_FULL}, "s1"};

static const struct {
    const struct tool *tool; /* NULL: a sweep, which no tool asks for */
    const char *arguments;
} calls[] = {
    {&native_read_file, "{\"path\":\"a\",\"max_bytes\":4000}"},
    {&native_read_file, "{\"path\":\"a\",\"encoding\":\"auto\",\"start_line\":2}"},
    {&native_read_file, "{\"path\":\"a\",\"encoding\":\"base64\"}"},
    {&native_write_file, "{\"path\":\"a\",\"content\":\"x\"}"},
    {&native_list_files, "{\"path\":\"d\",\"max_results\":7}"},
    {&native_list_files, "{}"},
    {&native_stat, "{\"path\":\"a\"}"},
    {&toolhost_fs_read, "{\"path\":\"@project/a\",\"startLine\":1,\"endLine\":3}"},
    {&toolhost_fs_read, "{\"path\":\"@state/a\"}"},
    {&toolhost_fs_list, "{\"path\":\"@project\"}"},
    {&toolhost_fs_write, "{\"path\":\"@state/a\",\"content\":\"x\"}"},
    {NULL, ""},
    {&native_search, "{\"pattern\":\"x\",\"path\":\"d\",\"before\":2,\"after\":1}"},
    {&native_search, "{\"pattern\":\"x\",\"mode\":\"count\",\"max_results\":3}"},
    {&toolhost_fs_search,
     "{\"pattern\":\"x\",\"path\":\"@project\",\"before\":3,\"maxMatches\":7}"},
};

static struct call *prepared(size_t index)
{
    struct call *call = call_new();
    struct err err;
    const struct tool *tool = calls[index].tool;
    buf_init(&call->reply_body, REPLY_MAX);
    call->workplace = &workplace;
    call->op = &op_table[OP_SWEEP];
    if (!tool)
        return call;
    const char *text = calls[index].arguments;
    must(json_parse(text, strlen(text), 200, JSON_STRICT, &call->doc, NULL) == 0);
    call->tool = tool;
    call->dialect = tool->dialect == DIALECT_TOOLHOST ? &dialect_toolhost : &dialect_native;
    must(arg_decode(&tool->args, true, yyjson_doc_get_root(call->doc), &call->args, &err) == 0);
    must(tool->prepare(call, &err) == 0);
    return call;
}

static void check_answer(struct call *call, bool redact)
{
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    struct json_out j = {.out = &out, .redact = redact};
    call_write_answer(call, &j);
    must(!out.failed);
    JSON_AT_END yyjson_doc *doc = NULL;
    must(json_parse(out.data, out.len, out.len, JSON_STRICT, &doc, NULL) == 0);
}

static void check_found(const struct call *call)
{
    bool lines = call->request.search.mode == SEARCH_LINES;
    struct str rest = buf_str(&call->reply_body);
    struct found found;
    int64_t matches = 0;
    while (found_next(&rest, &found) > 0)
        matches += found.kind == (lines ? FOUND_MATCH : FOUND_FILE);
    must(rest.n == 0 && matches == call->reply.search.matches);
    must(matches <= call->request.search.max_matches);
}

static void check_done(const struct call *call)
{
    int64_t n = (int64_t)call->reply_body.len;
    const union op_reply *reply = &call->reply;
    if (call->op == &op_table[OP_READ]) {
        const struct op_read_reply *r = &reply->read;
        must(n <= call->request.read.max_bytes && r->whole >= 0 && r->whole <= n);
        must(r->size >= 0 && r->start_line >= 0 && r->end_line >= 0);
        /* Of large files neither is told. */
        must(r->total_lines >= 0 || r->total_lines == ARG_ABSENT);
        must(!r->sha256.p || hash_is_hex(r->sha256));
    } else if (call->op == &op_table[OP_LIST]) {
        struct str rest = buf_str(&call->reply_body);
        struct op_entry entry;
        int64_t count = 0;
        while (op_entry_next(&rest, &entry) > 0)
            count++;
        must(rest.n == 0 && count <= reply->list.count);
        must(reply->list.count <= call->request.list.max_entries);
    } else if (call->op == &op_table[OP_SEARCH]) {
        check_found(call);
    } else {
        must(n == 0);
    }
    must(call->op != &op_table[OP_STAT] || (reply->stat.type >= 0 && reply->stat.type <= 3));
    must(call->op != &op_table[OP_WRITE] || hash_is_hex(reply->write.sha256));
}

/* False once the call is over. */
static bool take(struct call *call, const struct frame *frame)
{
    struct err err = {.code = ERR_COUNT};
    static char memory[SHELF_BYTES];
    static const struct shelf shelf = {memory};
    if (!memory[0])
        memset(memory, 'm', sizeof memory);
    enum flight_result r = flight_take(call, frame, &shelf, &err);
    must(call->reply_body.len <= REPLY_MAX);
    must((r == FLIGHT_MORE) <= (frame->type == FRAME_CHUNK || frame->type == FRAME_SHELVED));
    must((r == FLIGHT_FAILED) == (err.code < ERR_COUNT));
    if (r == FLIGHT_DONE)
        check_done(call);
    if (r == FLIGHT_FAILED) {
        must(frame->type == FRAME_ERROR && strnlen(err.message, sizeof err.message) < 512);
        call->failed = true;
        call->err = err;
    }
    if ((r == FLIGHT_DONE || r == FLIGHT_FAILED) && call->tool) {
        check_answer(call, true);
        check_answer(call, false);
    }
    return r == FLIGHT_MORE;
}

static bool next_piece(const uint8_t **data, size_t *size, struct frame *ret)
{
    uint16_t lengths[2];
    if (*size < 5)
        return false;
    memcpy(lengths, *data + 1, sizeof lengths);
    size_t left = *size - 5;
    size_t head = lengths[0] < left ? lengths[0] : left;
    size_t body = lengths[1] < left - head ? lengths[1] : left - head;
    const char *at = (const char *)*data + 5;
    *ret = (struct frame){(enum frame_type)(FRAME_CALL + **data % (FRAME_TYPE_END - FRAME_CALL)),
                          1,
                          {at, head},
                          {at + head, body}};
    *data += 5 + head + body;
    *size = left - head - body;
    return true;
}

static void take_raw(struct call *call, struct source *rest)
{
    struct frame frame;
    if (frame_parse(rest->p, rest->n, &frame) < 0)
        return;
    const char *end = (const char *)rest->p + rest->n;
    must(frame.head.p > (const char *)rest->p && frame.body.p == frame.head.p + frame.head.n);
    must(frame.body.p + frame.body.n == end);
    must(frame.type >= FRAME_CALL && frame.type < FRAME_TYPE_END);
    take(call, &frame);
}

/* Lines that mostly follow each other. */
static void build_found(struct source *rest, struct buf *out)
{
    int64_t line = 0;
    for (unsigned left = next_byte(rest) % 17; left > 0; left--) {
        struct found_span span = {next_byte(rest) % 8, next_byte(rest) % 8};
        struct found found = {.kind = (enum found_kind)(next_byte(rest) % 3),
                              .number = line += next_byte(rest) % 4,
                              .text = next_bytes(rest)};
        found.n_spans = found.kind == FOUND_MATCH && next_byte(rest) & 1;
        found.cut_after = next_byte(rest) & 1 ? next_int(rest) : 0;
        found_add(out, &found, &span);
    }
}

static void build_body(const struct call *call, struct source *rest, struct buf *out)
{
    if (call->op == &op_table[OP_SEARCH]) {
        build_found(rest, out);
        return;
    }
    for (unsigned left = next_byte(rest) % 9; left > 0; left--) {
        struct op_entry entry = {(enum file_type)(next_byte(rest) % 5), next_int(rest),
                                 next_int(rest), next_bytes(rest)};
        if (call->op == &op_table[OP_LIST])
            op_entry_add(out, &entry);
        else
            buf_add(out, entry.name.p, entry.name.n);
    }
}

static void take_built(struct call *call, struct source *rest)
{
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    BUF_AT_END struct buf body = BUF_INIT(FRAME_BODY_MAX);
    build_object(&call->op->reply, rest, &(struct json_out){.out = &head});
    build_body(call, rest, &body);
    take(call, &(struct frame){FRAME_RESULT, 1, buf_str(&head), buf_str(&body)});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (!workplace.config)
        workplace.config = config_new();
    struct call *call = prepared(data[0] % ARRAY_LEN(calls));
    struct source rest = {data + 2, size - 2};
    struct frame frame;
    if (data[1] == 0)
        take_raw(call, &rest);
    else if (data[1] == 2)
        take_built(call, &rest);
    else
        while (next_piece(&rest.p, &rest.n, &frame) && take(call, &frame))
            continue;
    call_free(call);
    return 0;
}

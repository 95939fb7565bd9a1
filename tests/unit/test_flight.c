#include <cmocka.h>

#include "base/hash.h"
#include "core/found.h"
#include "json_text.h"
#include "random.h"
#include "session/flight.h"

#define SHA "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define REPLY_MAX 1000

/* --- tokens */

static void a_token_leads_to_its_call(void **state)
{
    (void)state;
    struct flight f;
    static struct call calls[1000];
    flight_init(&f);
    assert_null(flight_first(&f));
    assert_null(flight_find(&f, 0));
    assert_null(flight_find(&f, 1));
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        calls[i].op = &op_table[OP_READ];
        calls[i].token = flight_add(&f, &calls[i]);
        assert_true(calls[i].token != 0);
    }
    assert_int_equal(flight_count(&f), ARRAY_LEN(calls));
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        assert_ptr_equal(flight_find(&f, calls[i].token), &calls[i]);
    flight_done(&f);
}

static void tokens_are_not_used_again(void **state)
{
    (void)state;
    struct flight f;
    struct call call = {0};
    uint64_t used[500];
    flight_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(used); i++) {
        call.op = &op_table[OP_READ];
        used[i] = call.token = flight_add(&f, &call);
        for (size_t k = 0; k < i; k++)
            assert_null(flight_find(&f, used[k]));
        flight_remove(&f, &call);
        assert_int_equal(call.token, 0);
        assert_null(flight_find(&f, used[i]));
    }
    flight_done(&f);
}

/* A long-lived gate passes its four thousand millionth call. */
static void a_token_is_never_zero(void **state)
{
    (void)state;
    struct flight f;
    struct call call = {0};
    flight_init(&f);
    call.op = &op_table[OP_READ];
    call.token = flight_add(&f, &call);
    uint32_t slot = (uint32_t)call.token;
    flight_remove(&f, &call);
    f.generations[slot] = UINT32_MAX - 3;
    for (int i = 0; i < 8; i++) {
        call.token = flight_add(&f, &call);
        assert_true(call.token != 0);
        assert_ptr_equal(flight_find(&f, call.token), &call);
        flight_remove(&f, &call);
    }
    flight_done(&f);
}

static void guessed_tokens_lead_nowhere(void **state)
{
    (void)state;
    struct flight f;
    static struct call calls[100];
    flight_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        calls[i].op = &op_table[OP_READ];
        calls[i].token = flight_add(&f, &calls[i]);
    }
    for (unsigned round = 0; round < 100000; round++) {
        uint64_t token = random_below(4) ? random_next() : random_next() & 0x1ff000001ff;
        struct call *found = flight_find(&f, token);
        if (found)
            assert_true(found->token == token);
    }
    flight_done(&f);
}

static void calls_come_and_go(void **state)
{
    (void)state;
    struct flight f;
    static struct call calls[300];
    size_t in_flight = 0;
    flight_init(&f);
    memset(calls, 0, sizeof calls);
    for (unsigned round = 0; round < random_rounds(20000); round++) {
        struct call *call = &calls[random_below(ARRAY_LEN(calls))];
        if (call->token) {
            assert_ptr_equal(flight_find(&f, call->token), call);
            flight_remove(&f, call);
            in_flight--;
        } else {
            call->op = &op_table[OP_READ];
            call->token = flight_add(&f, call);
            in_flight++;
        }
        assert_int_equal(flight_count(&f), in_flight);
        assert_int_equal(flight_first(&f) != NULL, in_flight > 0);
    }
    for (struct call *call; (call = flight_first(&f));)
        flight_remove(&f, call);
    assert_int_equal(flight_count(&f), 0);
    flight_done(&f);
}

/* --- what a cell says */

static struct call *new_call(enum op_id op)
{
    struct call *call = call_new();
    call->op = &op_table[op];
    buf_init(&call->reply_body, REPLY_MAX);
    if (op == OP_READ)
        call->request.read = (struct op_read_request){
            .max_bytes = 20, .whole_max = INT64_MAX, .hash_max = INT64_MAX};
    if (op == OP_LIST)
        call->request.list.max_entries = 3;
    if (op == OP_SCAN)
        call->request.scan.max_guarded = 3;
    if (op == OP_SEARCH)
        call->request.search = (struct op_search_request){.max_matches = 3};
    return call;
}

/* Where a worker puts what is too long for a frame. */
static struct shelf shelf;

static enum flight_result say(struct call *call, enum frame_type type, const char *head,
                              struct str body, struct err *err)
{
    FREE_AT_END char *json = quoted(head);
    struct frame frame = {type, 1, text_str(json), body};
    return flight_take(call, &frame, &shelf, err);
}

/* What becomes of a call that gets this one result. */
static enum flight_result result_of(enum op_id op, const char *head, struct str body)
{
    struct call *call = new_call(op);
    struct err err;
    enum flight_result r = say(call, FRAME_RESULT, head, body, &err);
    call_free(call);
    return r;
}

static struct str nothing = {"", 0};

#define IMPORT_HEAD(dropped) "{'taken':0,'shallow':0,'dropped':" dropped ",'refused':0}"
#define SEARCH_HEAD(matches)                                                                       \
    "{'matches':" matches ",'files':0,'bytes':0,'binary':0,'ignored':0,"                           \
    "'unreadable':0,'long_lines':0}"

/* An inode and a time of birth. */
#define IDENTITY "12345678abcdefgh"

static void good_replies_are_taken(void **state)
{
    (void)state;
    struct err err;
    struct call *call = new_call(OP_READ);
    assert_int_equal(say(call, FRAME_RESULT,
                         "{'size':100,'sha256':'" SHA
                         "','total_lines':9,'start_line':2,'end_line':3,'whole':4,"
                         "'truncated':true,'binary':true}",
                         STR("one\ntw"), &err),
                     FLIGHT_DONE);
    const struct op_read_reply *r = &call->reply.read;
    assert_true(r->size == 100 && r->total_lines == 9 && r->start_line == 2 && r->end_line == 3);
    assert_true(r->whole == 4 && r->truncated && r->binary && str_is(r->sha256, SHA));
    assert_string_equal(buf_text(&call->reply_body), "one\ntw");
    call_free(call);
    assert_int_equal(result_of(OP_WRITE, "{'bytes':5,'sha256':'" SHA "','created':true}", nothing),
                     FLIGHT_DONE);
    assert_int_equal(
        result_of(OP_STAT, "{'type':'symlink','size':0,'mode':511,'mtime_ms':-5}", nothing),
        FLIGHT_DONE);
    assert_int_equal(result_of(OP_LIST, "{'count':0}", nothing), FLIGHT_DONE);
    assert_int_equal(result_of(OP_SWEEP, "{'removed':0}", nothing), FLIGHT_DONE);
    assert_int_equal(result_of(OP_RULES, "{'count':3}", nothing), FLIGHT_DONE);
    assert_int_equal(result_of(OP_SCAN,
                               "{'count':0,'generation':1,'vanished':0,'outward':0,'unread':0}",
                               nothing),
                     FLIGHT_DONE);
    assert_int_equal(result_of(OP_SCAN,
                               "{'count':1,'generation':1,'vanished':0,'outward':0,'unread':0}",
                               nothing),
                     FLIGHT_BROKEN);
    static const struct {
        const char *head;
        struct str body;
        enum flight_result result;
    } scans[] = {
        {"{'count':1,'generation':1,'vanished':0,'outward':0,'unread':0}",
         STR_INIT(IDENTITY "\1\0\1\0\0a"), FLIGHT_DONE},
        {"{'count':1,'generation':1,'vanished':0,'outward':0,'unread':0}",
         STR_INIT(IDENTITY "\1\0\1\0\1a"), FLIGHT_DONE},
        {"{'count':0,'generation':1,'vanished':0,'outward':0,'unread':0}",
         STR_INIT(IDENTITY "\1\0\1\0\0a"), FLIGHT_BROKEN},
        {"{'count':1,'generation':1,'vanished':0,'outward':0,'unread':0,'same':true}",
         STR_INIT(IDENTITY "\1\0\1\0\0a"), FLIGHT_BROKEN},
        {"{'count':1,'generation':1,'vanished':0,'outward':0,'unread':0}",
         STR_INIT(IDENTITY "\2\0\1\0\0.."), FLIGHT_BROKEN},
        {"{'count':1,'generation':1,'vanished':0,'outward':0,'unread':0}",
         STR_INIT(IDENTITY "\1\0\7\0\0a"), FLIGHT_BROKEN},
        {"{'count':1,'generation':1,'vanished':0,'outward':0,'unread':0}",
         STR_INIT(IDENTITY "\1\0\1\0\2a"), FLIGHT_DONE},
        {"{'count':1,'generation':1,'vanished':0,'outward':0,'unread':0}",
         STR_INIT(IDENTITY "\1\0\1\0\4a"), FLIGHT_BROKEN},
        {"{'count':1,'generation':1,'vanished':0,'outward':0,'unread':0}", STR_INIT("\1\0\1\0\0a"),
         FLIGHT_BROKEN},
    };
    for (size_t i = 0; i < ARRAY_LEN(scans); i++)
        assert_int_equal(result_of(OP_SCAN, scans[i].head, scans[i].body), scans[i].result);
    static const struct {
        const char *head;
        struct str body;
        enum flight_result result;
    } moves[] = {
        {"{'outcome':'moved'}", STR_INIT(""), FLIGHT_DONE},
        {"{'outcome':'other','unchecked':true}", STR_INIT(""), FLIGHT_DONE},
        {"{'outcome':'left'}", STR_INIT(IDENTITY "\1\0\3\0\0a"), FLIGHT_DONE},
        {"{'outcome':'left'}", STR_INIT(IDENTITY "\1\0\4\0\0a"), FLIGHT_BROKEN},
        {"{'outcome':'left'}", STR_INIT(IDENTITY "\2\0\3\0\0.."), FLIGHT_BROKEN},
        {"{'outcome':'left'}", STR_INIT("x"), FLIGHT_BROKEN},
        {"{'outcome':'gone'}", STR_INIT(""), FLIGHT_BROKEN},
    };
    for (size_t i = 0; i < ARRAY_LEN(moves); i++)
        assert_int_equal(result_of(OP_QUARANTINE, moves[i].head, moves[i].body), moves[i].result);
    assert_int_equal(result_of(OP_SEARCH, SEARCH_HEAD("0"), nothing), FLIGHT_DONE);
    assert_int_equal(result_of(OP_GIT_BEGIN, "{'count':1}", nothing), FLIGHT_DONE);
    assert_int_equal(result_of(OP_GIT_IMPORT, IMPORT_HEAD("0"), nothing), FLIGHT_DONE);
    assert_int_equal(result_of(OP_GIT_IMPORT, IMPORT_HEAD("9"), nothing), FLIGHT_DONE);
    assert_int_equal(result_of(OP_GIT_IMPORT, IMPORT_HEAD("1"), STR("\1\0\0a")), FLIGHT_DONE);
    assert_int_equal(result_of(OP_GIT_IMPORT, IMPORT_HEAD("0"), STR("\1\0\0a")), FLIGHT_BROKEN);
    assert_int_equal(result_of(OP_GIT_IMPORT, IMPORT_HEAD("1"), STR("\2\0\0..")), FLIGHT_BROKEN);
    assert_int_equal(result_of(OP_GIT_IMPORT, IMPORT_HEAD("1"), STR("\1\0\100a")), FLIGHT_BROKEN);
}

static enum flight_result say_shelved(struct call *call, uint32_t at, uint32_t n)
{
    struct err err;
    struct shelved where = {at, n};
    return say(call, FRAME_SHELVED, "", (struct str){(const char *)&where, sizeof where}, &err);
}

static void pieces_on_the_shelf_are_taken(void **state)
{
    (void)state;
    static char memory[SHELF_BYTES];
    struct err err;
    for (int as_text = 0; as_text < 2; as_text++) {
        struct call *call = new_call(OP_READ);
        call->as_text = as_text;
        call->text = (struct json_text){.out = BUF_INIT(1000)};
        assert_int_equal(say_shelved(call, 0, 4), FLIGHT_BROKEN); /* there is none */
        shelf.at = memory;
        memcpy(memory + 7, "t\"o ", 4);
        assert_int_equal(say(call, FRAME_CHUNK, "", STR("one "), &err), FLIGHT_MORE);
        assert_int_equal(say_shelved(call, 7, 4), FLIGHT_MORE);
        /* A few bytes there cannot become a reply of any length. */
        assert_int_equal(say_shelved(call, 7, 4), FLIGHT_BROKEN);
        assert_int_equal(say_shelved(call, 10, 4), FLIGHT_BROKEN);
        memcpy(memory + 7, "zzzz", 4); /* too late */
        assert_int_equal(say(call, FRAME_RESULT,
                             "{'size':13,'sha256':'" SHA
                             "','total_lines':1,'start_line':1,'end_line':1,'whole':13}",
                             STR("three"), &err),
                         FLIGHT_DONE);
        if (as_text)
            assert_string_equal(buf_text(&call->text.out), "one t\\\"o three");
        else
            assert_string_equal(buf_text(&call->reply_body), "one t\"o three");
        assert_int_equal(say_shelved(call, 0, SHELF_BYTES),
                         FLIGHT_BROKEN); /* more than REPLY_MAX */
        assert_int_equal(say_shelved(call, SHELF_BYTES, 1), FLIGHT_BROKEN);
        call_free(call);
        shelf.at = NULL;
    }
}

static void pieces_are_put_together(void **state)
{
    (void)state;
    struct err err;
    struct call *call = new_call(OP_READ);
    assert_int_equal(say(call, FRAME_CHUNK, "", STR("one "), &err), FLIGHT_MORE);
    assert_int_equal(say(call, FRAME_CHUNK, "", STR("two "), &err), FLIGHT_MORE);
    assert_int_equal(say(call, FRAME_RESULT,
                         "{'size':13,'sha256':'" SHA
                         "','total_lines':1,'start_line':1,'end_line':1,'whole':13}",
                         STR("three"), &err),
                     FLIGHT_DONE);
    assert_string_equal(buf_text(&call->reply_body), "one two three");
    call_free(call);
}

#define READ_HEAD(rest)                                                                            \
    "{'size':9,'sha256':'" SHA "','total_lines':3,'start_line':1,'end_line':1" rest "}"

#define PREVIEW_HEAD(bytes, entries, rest)                                                         \
    "{'real':'YQ==','type':'file','bytes_before':0,'bytes_after':" bytes                           \
    ",'entries':" entries rest "}"

static void a_reply_that_breaks_the_rules_is_a_breach(void **state)
{
    (void)state;
    static const struct {
        enum op_id op;
        const char *head;
    } cases[] = {
        {OP_READ, ""},
        {OP_READ, "{"},
        {OP_READ, "[]"},
        {OP_READ, "null"},
        {OP_READ, "{}"},
        {OP_READ, READ_HEAD("")},
        {OP_READ, READ_HEAD(",'whole':'0'")},
        {OP_READ, READ_HEAD(",'whole':-1")},
        {OP_READ, READ_HEAD(",'whole':1")},
        {OP_READ, READ_HEAD(",'whole':9223372036854775807")},
        {OP_READ, READ_HEAD(",'whole':0.5")},
        {OP_READ, READ_HEAD(",'whole':0,'extra':1")},
        {OP_READ, READ_HEAD(",'whole':0,'whole':0")},
        {OP_READ, READ_HEAD(",'whole':0,'truncated':1")},
        {OP_READ, READ_HEAD(",'whole':0} {")},
        {OP_READ,
         "{'size':-1,'sha256':'" SHA "','total_lines':1,'start_line':1,'end_line':1,'whole':0}"},
        {OP_READ, "{'size':1,'sha256':'zz','total_lines':1,'start_line':1,'end_line':1,'whole':0}"},
        {OP_READ,
         "{'size':1,'sha256':'" SHA "','total_lines':1,'start_line':1,'end_line':9,'whole':0}"},
        {OP_READ, "{'size':1,'total_lines':1,'start_line':1,'end_line':1,'whole':0}"},
        {OP_READ, "{'size':1,'sha256':'" SHA "','start_line':1,'end_line':1,'whole':0}"},
        {OP_WRITE, "{'bytes':5}"},
        {OP_WRITE, "{'bytes':'5','sha256':'" SHA "'}"},
        {OP_WRITE, "{'bytes':-5,'sha256':'" SHA "'}"},
        {OP_WRITE, "{'bytes':5,'sha256':'" SHA "','removed':1}"},
        {OP_LIST, "{'count':-1}"},
        {OP_LIST, "{'count':4}"},
        {OP_LIST, "{'count':0,'truncated':'yes'}"},
        {OP_SEARCH, "{'matches':0}"},
        {OP_SEARCH, SEARCH_HEAD("-1")},
        {OP_SEARCH, SEARCH_HEAD("1")},
        {OP_SEARCH, SEARCH_HEAD("'0'")},
        {OP_STAT, "{'type':'door','size':0,'mode':0,'mtime_ms':0}"},
        {OP_STAT, "{'type':1,'size':0,'mode':0,'mtime_ms':0}"},
        {OP_STAT, "{'type':'file','size':-1,'mode':0,'mtime_ms':0}"},
        {OP_STAT, "{'type':'file','size':0,'mode':-1,'mtime_ms':0}"},
        {OP_SWEEP, "{'removed':-1}"},
        {OP_RULES, "{'count':-1}"},
        {OP_SCAN, "{'count':-1,'generation':1,'vanished':0,'outward':0,'unread':0}"},
        {OP_SCAN, "{'count':0,'generation':-1,'vanished':0,'outward':0,'unread':0}"},
        {OP_SCAN, "{'count':0}"},
        {OP_SWEEP, "{'count':0}"},
        {OP_PREVIEW, PREVIEW_HEAD("-1", "0", "")},
        {OP_PREVIEW, PREVIEW_HEAD("0", "-1", "")},
        {OP_PREVIEW, PREVIEW_HEAD("0", "0", ",'exists':true")},
        {OP_PREVIEW, PREVIEW_HEAD("0", "0", ",'sha256_before':'" SHA "'")},
        {OP_PREVIEW, PREVIEW_HEAD("0", "0", ",'exists':true,'sha256_before':''")},
        {OP_PREVIEW, PREVIEW_HEAD("0", "1", "")},
        {OP_PREVIEW, "{'type':'directory','bytes_before':0,'bytes_after':0,'entries':0}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (result_of(cases[i].op, cases[i].head, nothing) != FLIGHT_BROKEN)
            fail_msg("%s: %s", op_table[cases[i].op].name, cases[i].head);
    }
    assert_int_equal(result_of(OP_READ, READ_HEAD(",'whole':0"), nothing), FLIGHT_DONE);
}

/* Of a file that is not read to its end there is no hash, and only perhaps the number of lines. */
static void a_part_of_a_file_has_no_hash(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        enum flight_result result;
    } cases[] = {
        {"{'size':9,'start_line':1,'end_line':1,'whole':0}", FLIGHT_DONE},
        {"{'size':9,'total_lines':9,'start_line':1,'end_line':1,'whole':0}", FLIGHT_DONE},
        {"{'size':9,'total_lines':1,'start_line':1,'end_line':9,'whole':0}", FLIGHT_BROKEN},
        {READ_HEAD(",'whole':0"), FLIGHT_BROKEN},
        {"{'size':8,'start_line':1,'end_line':1,'whole':0}", FLIGHT_BROKEN},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct call *call = new_call(OP_READ);
        struct err err;
        call->request.read.whole_max = 8;
        if (say(call, FRAME_RESULT, cases[i].head, nothing, &err) != cases[i].result)
            fail_msg("%s", cases[i].head);
        call_free(call);
    }
}

/* Numbers that a sum must not be made of. */
static void the_largest_numbers_are_only_numbers(void **state)
{
    (void)state;
    assert_int_equal(
        result_of(OP_READ,
                  "{'size':9223372036854775807,'sha256':'" SHA
                  "','total_lines':9223372036854775807,"
                  "'start_line':9223372036854775807,'end_line':9223372036854775807,'whole':0}",
                  nothing),
        FLIGHT_DONE);
    assert_int_equal(result_of(OP_LIST, "{'count':9223372036854775807}", nothing), FLIGHT_BROKEN);
}

static void bodies_have_limits(void **state)
{
    (void)state;
    static char large[REPLY_MAX + 1];
    struct err err;
    assert_int_equal(result_of(OP_READ, READ_HEAD(",'whole':20"), STR("12345678901234567890")),
                     FLIGHT_DONE);
    assert_int_equal(result_of(OP_READ, READ_HEAD(",'whole':0"), STR("123456789012345678901")),
                     FLIGHT_BROKEN);
    assert_int_equal(result_of(OP_READ, READ_HEAD(",'whole':0"), (struct str){large, sizeof large}),
                     FLIGHT_BROKEN);
    struct call *call = new_call(OP_READ);
    assert_int_equal(say(call, FRAME_CHUNK, "", (struct str){large, REPLY_MAX}, &err), FLIGHT_MORE);
    assert_int_equal(say(call, FRAME_CHUNK, "", STR("x"), &err), FLIGHT_BROKEN);
    call_free(call);
    static const struct {
        enum op_id op;
        const char *head;
    } bodiless[] = {
        {OP_WRITE, "{'bytes':5,'sha256':'" SHA "'}"},
        {OP_STAT, "{'type':'file','size':0,'mode':0,'mtime_ms':0}"},
        {OP_SWEEP, "{'removed':0}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bodiless); i++)
        assert_int_equal(result_of(bodiless[i].op, bodiless[i].head, STR("x")), FLIGHT_BROKEN);
}

static enum flight_result preview_of(enum preview_of of, const char *head, struct str body)
{
    struct err err;
    struct call *call = new_call(OP_PREVIEW);
    call->request.preview.of = of;
    call->reply_body.max = 2 * OP_PREVIEW_DIFF_MAX;
    enum flight_result r = say(call, FRAME_RESULT, head, body, &err);
    call_free(call);
    return r;
}

static void a_preview_fits_its_call(void **state)
{
    (void)state;
    static char large[OP_PREVIEW_DIFF_MAX + 1];
    const char *fresh = PREVIEW_HEAD("1", "0", "");
    const char *there = PREVIEW_HEAD("1", "0", ",'exists':true,'sha256_before':'" SHA "'");
    const char *gone = PREVIEW_HEAD("0", "2", ",'exists':true");
    const char *folder = "{'real':'YQ==','type':'directory','exists':true,'bytes_before':0,"
                         "'bytes_after':0,'entries':10000,'cut':true}";
    const char *nowhere = "{'type':'file','bytes_before':0,'bytes_after':1,'entries':0}";
    assert_int_equal(preview_of(PREVIEW_WRITE, fresh, STR("diff")), FLIGHT_DONE);
    assert_int_equal(preview_of(PREVIEW_EDIT, there, STR("diff")), FLIGHT_DONE);
    assert_int_equal(preview_of(PREVIEW_WRITE, there, (struct str){large, sizeof large}),
                     FLIGHT_BROKEN);
    assert_int_equal(preview_of(PREVIEW_DELETE, gone, nothing), FLIGHT_DONE);
    assert_int_equal(preview_of(PREVIEW_DELETE, folder, nothing), FLIGHT_DONE);
    assert_int_equal(preview_of(PREVIEW_WRITE, folder, nothing), FLIGHT_BROKEN);
    assert_int_equal(preview_of(PREVIEW_DELETE, gone, STR("diff")), FLIGHT_BROKEN);
    assert_int_equal(preview_of(PREVIEW_DELETE, there, nothing), FLIGHT_BROKEN);
    assert_int_equal(preview_of(PREVIEW_DELETE, fresh, nothing), FLIGHT_BROKEN);
    assert_int_equal(preview_of(PREVIEW_WRITE, nowhere, nothing), FLIGHT_BROKEN);
    assert_int_equal(preview_of(PREVIEW_MOVE, fresh, nothing), FLIGHT_BROKEN);
    assert_int_equal(preview_of(PREVIEW_MKDIR, fresh, STR("diff")), FLIGHT_BROKEN);
}

static void add_entry(struct buf *body, const char *name)
{
    struct op_entry entry = {TYPE_FILE, 1, 2, text_str(name)};
    op_entry_add(body, &entry);
}

static void a_listing_fits_its_count(void **state)
{
    (void)state;
    BUF_AT_END struct buf body = BUF_INIT(1000);
    add_entry(&body, "a");
    add_entry(&body, "b");
    assert_int_equal(result_of(OP_LIST, "{'count':2}", buf_str(&body)), FLIGHT_DONE);
    /* One that vanished while the folder was listed is counted and not there. */
    assert_int_equal(result_of(OP_LIST, "{'count':3}", buf_str(&body)), FLIGHT_DONE);
    assert_int_equal(result_of(OP_LIST, "{'count':1}", buf_str(&body)), FLIGHT_BROKEN);
    assert_int_equal(result_of(OP_LIST, "{'count':0}", buf_str(&body)), FLIGHT_BROKEN);
    assert_int_equal(result_of(OP_LIST, "{'count':4}", buf_str(&body)), FLIGHT_BROKEN);
    body.len--;
    assert_int_equal(result_of(OP_LIST, "{'count':2}", buf_str(&body)), FLIGHT_BROKEN);
    buf_add_text(&body, "/");
    assert_int_equal(result_of(OP_LIST, "{'count':2}", buf_str(&body)), FLIGHT_BROKEN);
}

/* Paths come only where they were asked for. */
static void a_listing_of_one_folder_names_no_folders(void **state)
{
    (void)state;
    for (int recursive = 0; recursive < 2; recursive++) {
        BUF_AT_END struct buf body = BUF_INIT(1000);
        struct call *call = new_call(OP_LIST);
        struct err err;
        call->request.list.recursive = recursive;
        add_entry(&body, "a");
        add_entry(&body, "a/b");
        assert_int_equal(say(call, FRAME_RESULT, "{'count':2}", buf_str(&body), &err),
                         recursive ? FLIGHT_DONE : FLIGHT_BROKEN);
        call_free(call);
    }
}

/* What becomes of a search that gets these records: "f" a file, "m5" a match in line 5, "c5" context. */
static enum flight_result search_result(const struct op_search_request *request,
                                        const char *matches, const char *records)
{
    BUF_AT_END struct buf body = BUF_INIT(REPLY_MAX);
    struct call *call = new_call(OP_SEARCH);
    struct err err;
    call->request.search = *request;
    for (const char *at = records; *at; at += *at == ' ') {
        char *end;
        enum found_kind kind = *at == 'f' ? FOUND_FILE : *at == 'm' ? FOUND_MATCH : FOUND_CONTEXT;
        struct found found = {.kind = kind, .text = STR("a")};
        found.number = strtol(at + 1, &end, 10);
        found_add(&body, &found, NULL);
        at = end;
    }
    FREE_AT_END char *head = mem_format(SEARCH_HEAD("%s"), matches);
    enum flight_result r = say(call, FRAME_RESULT, head, buf_str(&body), &err);
    call_free(call);
    return r;
}

static void what_a_search_found_fits_what_it_was_asked(void **state)
{
    (void)state;
    const struct op_search_request lines = {.max_matches = 3};
    const struct op_search_request context = {.max_matches = 3, .after = 1};
    const struct op_search_request files = {.max_matches = 3, .mode = SEARCH_FILES};
    const struct op_search_request counts = {.max_matches = 3, .mode = SEARCH_COUNT};
    const struct {
        const struct op_search_request *request;
        const char *matches;
        const char *records;
        bool good;
    } cases[] = {
        {&lines, "3", "f2 m1 m2 f1 m1", true},  {&lines, "0", "f0", true},
        {&lines, "2", "f2 m1 m2 f1 m1", false}, {&lines, "4", "f2 m1 m2 f1 m1", false},
        {&lines, "4", "f4 m1 m2 m3 m4", false}, {&lines, "1", "m1", false},
        {&lines, "2", "f2 m1 m1", false},       {&lines, "2", "f2 m2 m1", false},
        {&lines, "1", "f1 m1 c2", false},       {&lines, "1", "f1 m9223372036854775807", true},
        {&context, "1", "f1 c1 m2 c3", true},   {&context, "1", "c1 f1 m2", false},
        {&context, "1", "f1 c2 m2", false},     {&context, "3", "f1 m1 c2 m3 f1 c1 m2 c3", true},
        {&files, "2", "f1 f1", true},           {&files, "3", "f1 f1", false},
        {&files, "4", "f1 f1 f1 f1", false},    {&files, "1", "f1 m1", false},
        {&counts, "2", "f7 f1", true},          {&counts, "1", "f7 m1", false},
        {&counts, "1", "f7 c1", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum flight_result r = search_result(cases[i].request, cases[i].matches, cases[i].records);
        if (r != (cases[i].good ? FLIGHT_DONE : FLIGHT_BROKEN))
            fail_msg("%s: %s", cases[i].matches, cases[i].records);
    }
}

static enum flight_result span_result(struct found found, const struct found_span *spans)
{
    BUF_AT_END struct buf body = BUF_INIT(REPLY_MAX);
    struct found file = {.kind = FOUND_FILE, .text = STR("a")};
    found_add(&body, &file, NULL);
    found_add(&body, &found, spans);
    return result_of(OP_SEARCH, SEARCH_HEAD("1"), buf_str(&body));
}

/* A line of 10 bytes, of which 4 are there. */
static void spans_lie_in_their_line(void **state)
{
    (void)state;
    static const struct {
        struct found_span spans[2];
        bool good;
    } cases[] = {
        {{{0, 1}, {1, 2}}, true},           {{{0, 0}, {0, 0}}, true},
        {{{0, 5}, {9, 10}}, true},          {{{10, 10}, {10, 10}}, true},
        {{{0, 2}, {1, 3}}, false},          {{{5, 6}, {1, 2}}, false},
        {{{1, 0}, {5, 6}}, false},          {{{0, 1}, {9, 11}}, false},
        {{{11, 11}, {11, 11}}, false},      {{{0, 1}, {UINT32_MAX, UINT32_MAX}}, false},
        {{{0, UINT32_MAX}, {0, 1}}, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct found found = {FOUND_MATCH, 1, STR_INIT("text"), 3, 3, NULL, 2};
        if (span_result(found, cases[i].spans) != (cases[i].good ? FLIGHT_DONE : FLIGHT_BROKEN))
            fail_msg("case %zu", i);
    }
    const struct found_span last = {UINT32_MAX, UINT32_MAX};
    struct found huge = {FOUND_MATCH, 1, STR_INIT("text"), INT64_MAX, INT64_MAX, NULL, 1};
    assert_int_equal(span_result(huge, &last), FLIGHT_DONE);
}

/* Only a line can be cut, only a match has spans. */
static void what_a_record_does_not_have_is_a_breach(void **state)
{
    (void)state;
    static const struct found_span span = {0, 0};
    static const struct found records[] = {
        {FOUND_FILE, 1, STR_INIT("b"), 1, 0, NULL, 0},
        {FOUND_FILE, 1, STR_INIT("b"), 0, 1, NULL, 0},
        {FOUND_FILE, 1, STR_INIT("b"), 0, 0, NULL, 1},
        {FOUND_CONTEXT, 1, STR_INIT("b"), 0, 0, NULL, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(records); i++) {
        BUF_AT_END struct buf body = BUF_INIT(REPLY_MAX);
        struct found file = {.kind = FOUND_FILE, .text = STR("a")};
        struct call *call = new_call(OP_SEARCH);
        struct err err;
        call->request.search.after = 1;
        found_add(&body, &file, NULL);
        found_add(&body, &records[i], &span);
        assert_int_equal(say(call, FRAME_RESULT, SEARCH_HEAD("0"), buf_str(&body), &err),
                         FLIGHT_BROKEN);
        call_free(call);
    }
}

static void errors_are_passed_on(void **state)
{
    (void)state;
    struct call *call = new_call(OP_READ);
    struct err err;
    assert_int_equal(
        say(call, FRAME_ERROR,
            "{'code':'NOT_FOUND','message':'no such file','reason':'gone','field':'path'}", nothing,
            &err),
        FLIGHT_FAILED);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.message, "no such file");
    assert_string_equal(err.reason, "gone");
    assert_string_equal(err.field, "path");
    assert_int_equal(say(call, FRAME_ERROR, "{'code':'INTERNAL','message':'m'}", nothing, &err),
                     FLIGHT_FAILED);
    assert_string_equal(err.reason, "");
    assert_string_equal(err.field, "");
    call_free(call);
}

static void an_error_that_is_none_is_a_breach(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "",
        "{}",
        "[]",
        "{'code':'NOT_FOUND'}",
        "{'message':'m'}",
        "{'code':'NOPE','message':'m'}",
        "{'code':'','message':'m'}",
        "{'code':5,'message':'m'}",
        "{'code':'NOT_FOUND','message':5}",
        "{'code':'NOT_FOUND','message':'m'",
        /* Only the gate says these: they tell what the policy, a person or the cell's end did. */
        "{'code':'POLICY_DENIED','message':'m'}",
        "{'code':'CAPABILITY_DENIED','message':'m'}",
        "{'code':'APPROVAL_DENIED','message':'m'}",
        "{'code':'APPROVAL_TIMEOUT','message':'m'}",
        "{'code':'SANDBOX_UNAVAILABLE','message':'m'}",
        "{'code':'INTERRUPTED','message':'m'}",
        "{'code':'TIMEOUT','message':'m'}",
    };
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct call *call = new_call(OP_READ);
        struct err err;
        if (say(call, FRAME_ERROR, heads[i], nothing, &err) != FLIGHT_BROKEN)
            fail_msg("%s", heads[i]);
        call_free(call);
    }
    struct call *call = new_call(OP_READ);
    struct err err;
    assert_int_equal(say(call, FRAME_ERROR, "{'code':'INTERNAL','message':'m'}", STR("x"), &err),
                     FLIGHT_BROKEN);
    call_free(call);
}

static void other_frames_are_a_breach(void **state)
{
    (void)state;
    static const enum frame_type types[] = {FRAME_CALL, FRAME_CANCEL, FRAME_SPEC, FRAME_READY,
                                            FRAME_FAILED};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct call *call = new_call(OP_SWEEP);
        struct err err;
        assert_int_equal(say(call, types[i], "{'removed':0}", nothing, &err), FLIGHT_BROKEN);
        call_free(call);
    }
}

static int set_up(void **state)
{
    (void)state;
    random_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_leads_to_its_call),
        cmocka_unit_test(tokens_are_not_used_again),
        cmocka_unit_test(a_token_is_never_zero),
        cmocka_unit_test(guessed_tokens_lead_nowhere),
        cmocka_unit_test(calls_come_and_go),
        cmocka_unit_test(good_replies_are_taken),
        cmocka_unit_test(pieces_on_the_shelf_are_taken),
        cmocka_unit_test(pieces_are_put_together),
        cmocka_unit_test(a_reply_that_breaks_the_rules_is_a_breach),
        cmocka_unit_test(a_part_of_a_file_has_no_hash),
        cmocka_unit_test(the_largest_numbers_are_only_numbers),
        cmocka_unit_test(bodies_have_limits),
        cmocka_unit_test(a_preview_fits_its_call),
        cmocka_unit_test(a_listing_fits_its_count),
        cmocka_unit_test(a_listing_of_one_folder_names_no_folders),
        cmocka_unit_test(what_a_search_found_fits_what_it_was_asked),
        cmocka_unit_test(spans_lie_in_their_line),
        cmocka_unit_test(what_a_record_does_not_have_is_a_breach),
        cmocka_unit_test(errors_are_passed_on),
        cmocka_unit_test(an_error_that_is_none_is_a_breach),
        cmocka_unit_test(other_frames_are_a_breach),
    };
    return cmocka_run_group_tests_name("flight", tests, set_up, NULL);
}

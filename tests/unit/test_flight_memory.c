/* Replies for which the gate has no memory: the call fails, and the cell that sent them has done nothing wrong. */
#include <cmocka.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "json_text.h"
#include "session/flight.h"

#define REPLY_MAX ((size_t)64 << 20)
#define PIECES 64
#define HEAD "{'size':9,'total_lines':3,'start_line':1,'end_line':1,'whole':0}"

static struct shelf shelf;
static char piece[FRAME_BODY_MAX];

static enum flight_result say(struct call *call, enum frame_type type, const char *head, size_t n,
                              struct err *err)
{
    struct frame frame = {type, 1, text_str(head), {piece, n}};
    return flight_take(call, &frame, &shelf, err);
}

static struct call *new_call(enum op_id op, bool as_text)
{
    struct call *call = call_new();
    call->op = &op_table[op];
    call->as_text = as_text;
    buf_init(&call->reply_body, REPLY_MAX);
    call->text = (struct json_text){.out = BUF_INIT(6 * REPLY_MAX)};
    call->request.read = (struct op_read_request){.max_bytes = REPLY_MAX};
    return call;
}

/* First in a test: it leaves nothing behind then. */
static void skip_sanitized(void)
{
#ifdef SANDGATE_SANITIZED
    skip(); /* a sanitizer's allocator ends the process */
#endif
}

/* Pieces that come while the process gets no memory. */
static void send_without_memory(struct call *call, size_t pieces)
{
    struct rlimit usual;
    struct err err;
    assert_int_equal(getrlimit(RLIMIT_DATA, &usual), 0);
    /* Not 0, which Linux takes for no limit. */
    assert_int_equal(setrlimit(RLIMIT_DATA, &(struct rlimit){4096, usual.rlim_max}), 0);
    enum flight_result r = FLIGHT_MORE;
    for (size_t i = 0; r == FLIGHT_MORE && i < pieces; i++)
        r = say(call, FRAME_CHUNK, "", sizeof piece, &err);
    assert_int_equal(setrlimit(RLIMIT_DATA, &usual), 0);
    assert_int_equal(r, FLIGHT_MORE);
}

static void a_reply_without_memory_fails_its_call(void **state)
{
    (void)state;
    skip_sanitized();
    FREE_AT_END char *head = quoted(HEAD);
    for (int as_text = 0; as_text < 2; as_text++) {
        struct err err = {0};
        struct call *call = new_call(OP_READ, as_text);
        send_without_memory(call, PIECES);
        assert_int_equal(say(call, FRAME_CHUNK, "", sizeof piece, &err), FLIGHT_MORE);
        assert_int_equal(say(call, FRAME_RESULT, head, 0, &err), FLIGHT_FAILED);
        assert_int_equal(err.code, ERR_SESSION_BUSY);
        assert_string_equal(err.reason, "no_resources");
        call_free(call);
    }
}

/* What the worker says of its own failure counts more. */
static void an_error_behind_it_is_passed_on(void **state)
{
    (void)state;
    skip_sanitized();
    struct err err = {0};
    struct call *call = new_call(OP_READ, false);
    send_without_memory(call, PIECES);
    assert_int_equal(
        say(call, FRAME_ERROR, "{\"code\":\"NOT_FOUND\",\"message\":\"gone\"}", 0, &err),
        FLIGHT_FAILED);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    call_free(call);
}

static void more_than_was_asked_for_is_still_a_breach(void **state)
{
    (void)state;
    struct err err = {0};
    struct call *call = new_call(OP_READ, false);
    call->reply_body.max = sizeof piece;
    assert_int_equal(say(call, FRAME_CHUNK, "", sizeof piece, &err), FLIGHT_MORE);
    assert_int_equal(say(call, FRAME_CHUNK, "", 1, &err), FLIGHT_BROKEN);
    call_free(call);
}

int main(void)
{
    memset(piece, 'x', sizeof piece);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_without_memory_fails_its_call),
        cmocka_unit_test(an_error_behind_it_is_passed_on),
        cmocka_unit_test(more_than_was_asked_for_is_still_a_breach),
    };
    return cmocka_run_group_tests_name("flight_memory", tests, NULL, NULL);
}

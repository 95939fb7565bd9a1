/* Output on its way to a caller, with a caller that is played: lines.c is left out of this program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "front/live.h"
#include "random.h"

#define OUTPUT_MAX (300u << 10)

/* The caller's side. */
static struct {
    bool room;
    bool gone;
    bool no_memory;
    struct buf out;
    struct buf text[STREAMS]; /* as JSON's inside, so that it is comparable */
    uint64_t bytes[STREAMS];
    uint64_t skipped[STREAMS];
    unsigned pieces;
    bool inside; /* a piece must begin and end between characters */
} caller;

bool lines_has_room(const struct lines *lines)
{
    (void)lines;
    return caller.room;
}

struct buf *lines_begin_answer(struct lines *lines)
{
    (void)lines;
    return caller.gone ? NULL : &caller.out;
}

void lines_end_answer(struct lines *lines)
{
    (void)lines;
    caller.pieces++;
}

static bool tell(void *arg, const struct printed *printed, struct buf *out)
{
    (void)arg;
    if (caller.no_memory) {
        out->failed = true;
        return true;
    }
    assert_in_range(printed->bytes.n, 0, 64 << 10);
    if (caller.inside)
        assert_true(utf8_valid(printed->bytes.p, printed->bytes.n));
    json_escape(&caller.text[printed->stream], printed->bytes);
    caller.bytes[printed->stream] += printed->bytes.n;
    caller.skipped[printed->stream] += printed->skipped;
    return true;
}

static void begin(struct live *live)
{
    memset(&caller, 0, sizeof caller);
    caller.room = true;
    caller.out.max = 1000;
    for (size_t i = 0; i < STREAMS; i++)
        buf_init(&caller.text[i], 10 * OUTPUT_MAX);
    live_init(live, NULL, tell, NULL);
}

static void end(struct live *live)
{
    live_done(live);
    for (size_t i = 0; i < STREAMS; i++)
        buf_done(&caller.text[i]);
}

/* Text, or anything at all. */
static size_t make_output(char *bytes, bool text)
{
    size_t n = random_below(random_below(8) ? 2000 : OUTPUT_MAX);
    random_bytes(bytes, n);
    static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; text && i < n;) {
        const char *c = characters[random_below(4)];
        size_t length = strlen(c) <= n - i ? strlen(c) : 1;
        memcpy(bytes + i, length == strlen(c) ? c : "z", length);
        i += length;
    }
    return n;
}

/* In how many additions and turns it comes makes no difference. */
static void pieces_make_the_whole(void **state)
{
    (void)state;
    static char bytes[STREAMS][OUTPUT_MAX];
    for (unsigned round = 0; round < random_rounds(1000); round++) {
        struct live live;
        bool text = random_below(2);
        size_t n[STREAMS] = {make_output(bytes[0], text), make_output(bytes[1], text)};
        size_t at[STREAMS] = {0};
        size_t most = 1 + random_below(random_below(2) ? 10 + n[0] / 50 : 100000);
        begin(&live);
        caller.inside = text;
        while (at[0] < n[0] || at[1] < n[1]) {
            size_t stream = random_below(STREAMS);
            size_t left = n[stream] - at[stream];
            size_t more = left ? 1 + random_below(left < most ? left : most) : 0;
            live_add(&live, stream, (struct str){bytes[stream] + at[stream], more});
            at[stream] += more;
            if (random_below(2))
                live_flush(&live);
        }
        live_end(&live);
        for (size_t i = 0; i < STREAMS; i++) {
            BUF_AT_END struct buf whole = BUF_INIT(10 * OUTPUT_MAX);
            json_escape(&whole, (struct str){bytes[i], n[i]});
            assert_int_equal(caller.bytes[i], n[i]);
            assert_int_equal(caller.skipped[i], 0);
            assert_int_equal(caller.text[i].len, whole.len);
            assert_true(whole.len == 0 || memcmp(caller.text[i].data, whole.data, whole.len) == 0);
        }
        end(&live);
    }
}

/* Whatever the caller does, each byte is told or counted, and characters stay whole on both sides of a gap. */
static void what_is_left_out_is_counted(void **state)
{
    (void)state;
    static char bytes[OUTPUT_MAX];
    for (unsigned round = 0; round < random_rounds(1000); round++) {
        struct live live;
        size_t n = make_output(bytes, true);
        begin(&live);
        caller.inside = true;
        for (size_t at = 0, more; at < n; at += more) {
            more = 1 + random_below(n - at < 5000 ? n - at : 5000);
            caller.room = random_below(3);
            caller.no_memory = random_below(5) == 0;
            live_add(&live, STREAM_STDOUT, (struct str){bytes + at, more});
            caller.room = random_below(3);
            if (random_below(2))
                live_flush(&live);
        }
        caller.no_memory = false;
        live_end(&live);
        assert_int_equal(caller.bytes[0] + caller.skipped[0], n);
        assert_int_equal(caller.bytes[1] + caller.skipped[1], 0);
        end(&live);
    }
}

static void a_turn_is_one_piece(void **state)
{
    (void)state;
    struct live live;
    begin(&live);
    for (int i = 0; i < 100; i++)
        live_add(&live, STREAM_STDERR, STR("a"));
    assert_int_equal(caller.pieces, 0);
    live_flush(&live);
    live_flush(&live);
    assert_int_equal(caller.pieces, 1);
    live_add(&live, STREAM_STDERR, STR("\xe2\x82"));
    live_flush(&live);
    assert_int_equal(caller.pieces, 1);
    live_end(&live);
    assert_int_equal(caller.pieces, 2);
    assert_int_equal(caller.bytes[STREAM_STDERR], 102);
    end(&live);
}

static void a_caller_that_is_gone(void **state)
{
    (void)state;
    struct live live;
    begin(&live);
    caller.gone = true;
    for (int i = 0; i < 3; i++) {
        live_add(&live, STREAM_STDOUT, STR("abc"));
        live_flush(&live);
    }
    live_end(&live);
    assert_int_equal(caller.pieces, 0);
    end(&live);
}

int main(void)
{
    random_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(what_is_left_out_is_counted),
        cmocka_unit_test(a_turn_is_one_piece),
        cmocka_unit_test(a_caller_that_is_gone),
    };
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}

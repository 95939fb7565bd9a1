#include <cmocka.h>
#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"

#define HOLDS(b, text)                                                                             \
    do {                                                                                           \
        assert_int_equal((b).len, strlen(text));                                                   \
        assert_memory_equal((b).data, text, strlen(text));                                         \
    } while (0)

static void holds_what_was_added(void **state)
{
    (void)state;
    BUF_AT_END struct buf b = BUF_INIT(1000);
    assert_int_equal(buf_add(&b, "one", 3), 0);
    assert_int_equal(buf_add_text(&b, ", two"), 0);
    assert_int_equal(buf_add_char(&b, '!'), 0);
    assert_int_equal(buf_addf(&b, " %d %s", 3, "four"), 0);
    assert_int_equal(buf_add(&b, NULL, 0), 0);
    HOLDS(b, "one, two! 3 four");
    assert_string_equal(buf_text(&b), "one, two! 3 four");
}

static void takes_exactly_its_ceiling(void **state)
{
    (void)state;
    static const size_t ceilings[] = {0, 1, 2, 255, 256, 257, 1000, 5000};
    for (size_t i = 0; i < ARRAY_LEN(ceilings); i++) {
        BUF_AT_END struct buf b = BUF_INIT(ceilings[i]);
        for (size_t n = 0; n < ceilings[i]; n++)
            assert_int_equal(buf_add_char(&b, (char)n), 0);
        assert_false(b.failed);
        assert_int_equal(buf_add_char(&b, 'x'), -ENOBUFS);
        assert_true(b.failed);
        assert_int_equal(b.len, ceilings[i]);
        /* Nor does it ever hold more memory. */
        assert_true(b.cap <= ceilings[i]);
        for (size_t n = 0; n < b.len; n++)
            assert_int_equal(b.data[n], (char)n);
    }
}

static void the_first_refusal_is_remembered(void **state)
{
    (void)state;
    BUF_AT_END struct buf b = BUF_INIT(8);
    buf_add_text(&b, "abc");
    assert_int_equal(buf_add_text(&b, "123456"), -ENOBUFS);
    /* It would fit, but something before it is missing. */
    assert_int_equal(buf_add_text(&b, "d"), -ENOBUFS);
    assert_int_equal(buf_add_char(&b, 'd'), -ENOBUFS);
    assert_int_equal(buf_addf(&b, "%d", 1), -ENOBUFS);
    assert_int_equal(buf_reserve(&b, 1), -ENOBUFS);
    HOLDS(b, "abc");
    buf_reset(&b, 100);
    assert_int_equal(buf_add_text(&b, "d"), 0);
    HOLDS(b, "d");
}

static void sizes_do_not_wrap(void **state)
{
    (void)state;
    BUF_AT_END struct buf b = BUF_INIT(100);
    buf_add_text(&b, "abc");
    assert_int_equal(buf_reserve(&b, SIZE_MAX), -ENOBUFS);
    buf_reset(&b, 100);
    buf_add_text(&b, "abc");
    assert_int_equal(buf_reserve(&b, SIZE_MAX - 2), -ENOBUFS);
    HOLDS(b, "abc");
}

static void formats_text_of_any_length(void **state)
{
    (void)state;
    for (int n = 0; n < 1100; n += n < 250 || n > 260 ? 25 : 1) {
        BUF_AT_END struct buf b = BUF_INIT(2000);
        FREE_AT_END char *expected = mem_format("<%*d>", n, 7);
        buf_add_text(&b, "<");
        assert_int_equal(buf_addf(&b, "%*d", n, 7), 0);
        buf_add_text(&b, ">");
        HOLDS(b, expected);
    }
}

static void formatted_text_may_fill_it(void **state)
{
    (void)state;
    static const int lengths[] = {1, 100, 255, 256, 257, 1000};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        BUF_AT_END struct buf exact = BUF_INIT((size_t)lengths[i]);
        BUF_AT_END struct buf less = BUF_INIT((size_t)lengths[i] - 1);
        assert_int_equal(buf_addf(&exact, "%*d", lengths[i], 7), 0);
        assert_int_equal(exact.len, lengths[i]);
        assert_int_equal(buf_addf(&less, "%*d", lengths[i], 7), -ENOBUFS);
        assert_int_equal(less.len, 0);
    }
}

static void drops_from_the_front(void **state)
{
    (void)state;
    BUF_AT_END struct buf b = BUF_INIT(100);
    buf_add_text(&b, "abcdef");
    buf_consume(&b, 0);
    HOLDS(b, "abcdef");
    buf_consume(&b, 2);
    HOLDS(b, "cdef");
    buf_add_text(&b, "g");
    HOLDS(b, "cdefg");
    buf_consume(&b, 99);
    assert_int_equal(b.len, 0);
    buf_add_text(&b, "h");
    HOLDS(b, "h");
}

static void gives_large_memory_back(void **state)
{
    (void)state;
    BUF_AT_END struct buf b = BUF_INIT(100000);
    buf_add_text(&b, "small");
    buf_reset(&b, 1000);
    assert_non_null(b.data);
    assert_int_equal(b.len, 0);
    assert_int_equal(buf_reserve(&b, 50000), 0);
    buf_reset(&b, 1000);
    assert_int_equal(b.cap, 0);
    buf_add_text(&b, "again");
    HOLDS(b, "again");
}

static void text_needs_room_for_its_end(void **state)
{
    (void)state;
    BUF_AT_END struct buf b = BUF_INIT(4);
    assert_string_equal(buf_text(&b), "");
    buf_add_text(&b, "abc");
    assert_string_equal(buf_text(&b), "abc");
    assert_int_equal(b.len, 3);
    buf_add_text(&b, "d");
    assert_null(buf_text(&b));
}

static void can_be_used_after_its_end(void **state)
{
    (void)state;
    BUF_AT_END struct buf b = BUF_INIT(4);
    buf_add_text(&b, "too long");
    buf_done(&b);
    assert_int_equal(buf_add_text(&b, "four"), 0);
    assert_int_equal(buf_add_text(&b, "x"), -ENOBUFS);
    HOLDS(b, "four");
}

static void an_empty_one_is_text_too(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(4);
    assert_non_null(buf_str(&b).p);
    assert_int_equal(buf_str(&b).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_what_was_added),
        cmocka_unit_test(takes_exactly_its_ceiling),
        cmocka_unit_test(the_first_refusal_is_remembered),
        cmocka_unit_test(sizes_do_not_wrap),
        cmocka_unit_test(formats_text_of_any_length),
        cmocka_unit_test(formatted_text_may_fill_it),
        cmocka_unit_test(drops_from_the_front),
        cmocka_unit_test(gives_large_memory_back),
        cmocka_unit_test(text_needs_room_for_its_end),
        cmocka_unit_test(can_be_used_after_its_end),
        cmocka_unit_test(an_empty_one_is_text_too),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}

#include <cmocka.h>

#include "base/attr.h"
#include "base/utf8.h"
#include "random.h"
#include "slow_utf8.h"

static bool slow_valid(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t length = slow_sequence(p + i, n - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

static void compare(const char *p, size_t n)
{
    size_t expected = slow_sequence(p, n);
    if (utf8_sequence(p, n) != expected)
        fail_msg("%02x %02x %02x, %zu bytes: a sequence of %zu", (unsigned char)p[0],
                 n > 1 ? (unsigned char)p[1] : 0, n > 2 ? (unsigned char)p[2] : 0, n, expected);
    if (expected == 0)
        assert_int_equal(utf8_broken(p, n), slow_broken(p, n));
}

static void knows_every_character(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        unsigned char bytes[4];
        size_t n = slow_encode(c, bytes);
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        if (utf8_sequence((const char *)bytes, n) != (surrogate ? 0 : n) ||
            utf8_valid((const char *)bytes, n) == surrogate)
            fail_msg("U+%04X", c);
        if (n > 1)
            assert_int_equal(utf8_sequence((const char *)bytes, n - 1), 0);
    }
}

static void judges_all_short_texts(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1u << 24; i++) {
        char p[3] = {(char)(i >> 16), (char)(i >> 8), (char)i};
        compare(p, 3);
        if ((i & 0xff) == 0)
            compare(p, 2);
        if ((i & 0xffff) == 0)
            compare(p, 1);
    }
}

/* Bytes at the edges of the ranges, so that texts are broken in interesting ways. */
static char edge_byte(void)
{
    static const unsigned char edges[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0,
                                          0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef,
                                          0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff, 'a'};
    return (char)edges[random_below(ARRAY_LEN(edges))];
}

/* Text of whole characters; ret_ends[i] says that one ends (or begins) at i. */
static size_t random_text(char out[64], bool ret_ends[65])
{
    static const uint32_t limits[] = {0x80, 0x800, 0x10000, 0x110000};
    size_t n = 0;
    size_t want = random_below(60);
    memset(ret_ends, 0, 65);
    ret_ends[0] = true;
    while (n < want) {
        uint32_t c = (uint32_t)random_below(limits[random_below(4)]);
        if (c < 0xd800 || c > 0xdfff)
            n += slow_encode(c, (unsigned char *)out + n);
        ret_ends[n] = true;
    }
    return n;
}

static void judges_long_texts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < random_rounds(300000); i++) {
        char p[64];
        bool ends[65];
        size_t n = random_text(p, ends);
        if (!utf8_valid(p, n))
            fail_msg("round %u: whole characters are not valid", i);
        for (size_t change = random_below(3); change > 0 && n > 0; change--)
            p[random_below(n)] = edge_byte();
        if (utf8_valid(p, n) != slow_valid(p, n))
            fail_msg("round %u: %zu bytes", i, n);
        for (size_t at = 0; at < n; at++)
            compare(p + at, n - at);
    }
}

static void cuts_between_characters(void **state)
{
    (void)state;
    for (unsigned i = 0; i < random_rounds(20000); i++) {
        char p[64];
        bool ends[65];
        size_t whole = random_text(p, ends);
        for (size_t n = 0; n <= whole; n++) {
            size_t expected = n;
            while (!ends[expected])
                expected--;
            assert_int_equal(utf8_cut(p, n), expected);
        }
    }
}

/* What is broken anyway loses a few bytes at most. */
static void cuts_little_from_broken_text(void **state)
{
    (void)state;
    for (unsigned i = 0; i < random_rounds(100000); i++) {
        char p[16];
        size_t n = random_below(sizeof p + 1);
        for (size_t at = 0; at < n; at++)
            p[at] = edge_byte();
        size_t cut = utf8_cut(p, n);
        assert_in_range(cut, n > 3 ? n - 3 : 0, n);
    }
}

static int set_up(void **state)
{
    (void)state;
    random_begin();
    slow_make_table();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(slow_table);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_every_character),
        cmocka_unit_test(judges_all_short_texts),
        cmocka_unit_test(judges_long_texts),
        cmocka_unit_test(cuts_between_characters),
        cmocka_unit_test(cuts_little_from_broken_text),
    };
    return cmocka_run_group_tests_name("utf8", tests, set_up, tear_down);
}

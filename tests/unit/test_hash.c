#include <cmocka.h>
#include <ctype.h>

#include "base/hash.h"
#include "json_text.h"
#include "random.h"

#define OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define OF_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define OF_MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static void knows_the_standard_examples(void **state)
{
    (void)state;
    char hex[HASH_HEX + 1];
    hash_hex("", 0, hex);
    assert_string_equal(hex, OF_NOTHING);
    hash_hex("abc", 3, hex);
    assert_string_equal(hex, OF_ABC);
    FREE_AT_END char *many = mem_zero(1000000);
    memset(many, 'a', 1000000);
    hash_hex(many, 1000000, hex);
    assert_string_equal(hex, OF_MILLION_A);
}

static void pieces_make_the_same_hash(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(300); round++) {
        char bytes[1000];
        char whole[HASH_HEX + 1];
        char pieces[HASH_HEX + 1];
        size_t n = random_below(sizeof bytes + 1);
        random_bytes(bytes, n);
        hash_hex(bytes, n, whole);
        struct hash h;
        hash_begin(&h);
        for (size_t at = 0, part; at < n; at += part) {
            part = 1 + random_below(n - at);
            hash_add(&h, bytes + at, part);
        }
        hash_end_hex(&h, pieces);
        assert_string_equal(pieces, whole);
    }
}

static void knows_a_hash_when_it_sees_one(void **state)
{
    (void)state;
    assert_true(hash_is_hex(STR(OF_ABC)));
    assert_true(
        hash_is_hex(STR("BA7816BF8F01CFEA414140DE5DAE2223b00361a396177a9cb410ff61f20015ad")));
    assert_false(hash_is_hex((struct str){OF_ABC, 63}));
    assert_false(hash_is_hex(STR(OF_ABC "0")));
    assert_false(hash_is_hex((struct str){NULL, 0}));
    static const char outside[] = {'g', 'G', '/', ':', '@', '`', ' ', '\0', '\xff'};
    for (size_t i = 0; i < sizeof outside; i++) {
        char text[] = OF_ABC;
        text[random_below(HASH_HEX)] = outside[i];
        assert_false(hash_is_hex((struct str){text, HASH_HEX}));
    }
}

static void either_case_is_the_same_hash(void **state)
{
    (void)state;
    char upper[] = OF_ABC;
    for (char *at = upper; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    assert_true(hash_hex_equal(STR(OF_ABC), OF_ABC));
    assert_true(hash_hex_equal(text_str(upper), OF_ABC));
    assert_false(hash_hex_equal(STR(OF_NOTHING), OF_ABC));
    assert_false(hash_hex_equal((struct str){OF_ABC, 63}, OF_ABC));
    for (size_t i = 0; i < HASH_HEX; i++) {
        char text[] = OF_ABC;
        text[i] = text[i] == '0' ? '1' : '0';
        assert_false(hash_hex_equal(text_str(text), OF_ABC));
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
        cmocka_unit_test(knows_the_standard_examples),
        cmocka_unit_test(pieces_make_the_same_hash),
        cmocka_unit_test(knows_a_hash_when_it_sees_one),
        cmocka_unit_test(either_case_is_the_same_hash),
    };
    return cmocka_run_group_tests_name("hash", tests, set_up, NULL);
}

#include <cmocka.h>

#include "base/base64.h"
#include "json_text.h"
#include "random.h"

static void knows_the_standard_examples(void **state)
{
    (void)state;
    static const char *const examples[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xfe", "+//+"},
    };
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        BUF_AT_END struct buf text = BUF_INIT(100);
        BUF_AT_END struct buf bytes = BUF_INIT(100);
        base64_encode(&text, examples[i][0], strlen(examples[i][0]));
        assert_string_equal(buf_text(&text), examples[i][1]);
        assert_int_equal(base64_decode(&bytes, text_str(examples[i][1])), 0);
        assert_string_equal(buf_text(&bytes), examples[i][0]);
    }
}

static void every_length_comes_back(void **state)
{
    (void)state;
    for (size_t n = 0; n < 700; n++) {
        char bytes[700];
        BUF_AT_END struct buf text = BUF_INIT(1000);
        BUF_AT_END struct buf back = BUF_INIT(n);
        random_bytes(bytes, n);
        base64_encode(&text, bytes, n);
        assert_int_equal(text.len, (n + 2) / 3 * 4);
        assert_int_equal(base64_decode(&back, buf_str(&text)), 0);
        assert_int_equal(back.len, n);
        assert_memory_equal(buf_str(&back).p, bytes, n);
    }
}

static int decoded(struct str text)
{
    BUF_AT_END struct buf bytes = BUF_INIT(1000);
    return base64_decode(&bytes, text);
}

static void refuses_what_is_not_canonical(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Z",        "Zg",
        "Zg=",      "Zg===",
        "Zh==",     "Zm9=",
        "Zm9vY===", "====",
        "=",        "Z===",
        "=Zg=",     "Zg==Zg==",
        "Zm8=Zm8=", "Zm 9v",
        "Zm9v\n",   "Zm9v====",
        "Zm_v",     "Zm-v",
        "Zm9*",     "Zm=v",
        "Z=9v",     "\xc3\xa4\xc3\xa4",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (decoded(text_str(texts[i])) != -EINVAL)
            fail_msg("%s is taken", texts[i]);
    }
    assert_int_equal(decoded((struct str){"Zm9\0", 4}), -EINVAL);
}

/* Whatever is taken is the one text for its bytes. */
static void two_texts_never_mean_the_same(void **state)
{
    (void)state;
    static const char some[] = {'A', 'B', 'Q', 'g', 'w', '8', '0', '9', '+', '/', '=', '-', '\n'};
    size_t taken = 0;
    for (size_t i = 0; i < 13u * 13 * 13 * 13; i++) {
        char text[8] = {
            some[i % 13], some[i / 13 % 13], some[i / 169 % 13], some[i / 2197], 'Z', 'g', '=',
            '='};
        for (size_t n = 4; n <= 8; n += 4) {
            BUF_AT_END struct buf bytes = BUF_INIT(8);
            BUF_AT_END struct buf again = BUF_INIT(8);
            if (base64_decode(&bytes, (struct str){text, n}) < 0)
                continue;
            base64_encode(&again, bytes.data, bytes.len);
            assert_int_equal(again.len, n);
            assert_memory_equal(again.data, text, n);
            taken++;
        }
    }
    assert_true(taken > 10000);
}

static void ceilings_hold(void **state)
{
    (void)state;
    BUF_AT_END struct buf text = BUF_INIT(7);
    BUF_AT_END struct buf bytes = BUF_INIT(5);
    base64_encode(&text, "abcd", 4);
    assert_true(text.failed);
    assert_int_equal(base64_decode(&bytes, STR("Zm9vYmFy")), -ENOBUFS);
    assert_true(bytes.len <= 5);
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
        cmocka_unit_test(every_length_comes_back),
        cmocka_unit_test(refuses_what_is_not_canonical),
        cmocka_unit_test(two_texts_never_mean_the_same),
        cmocka_unit_test(ceilings_hold),
    };
    return cmocka_run_group_tests_name("base64", tests, set_up, NULL);
}

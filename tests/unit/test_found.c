#include <cmocka.h>

#include "core/found.h"
#include "core/path.h"
#include "json_text.h"
#include "random.h"

#define BODY_MAX (1u << 20)
#define TEXT_MAX 300

struct sent {
    struct found found;
    struct found_span spans[FOUND_SPANS_MAX];
    char room[TEXT_MAX];
};

static int64_t random_size(void)
{
    return random_below(3) ? (int64_t)random_below(1000) : (int64_t)(random_next() >> 1);
}

static void fill_text(struct sent *sent, enum found_kind kind)
{
    size_t n = random_below(5) ? random_below(TEXT_MAX) : 0;
    for (size_t i = 0; i < n; i++) {
        do
            sent->room[i] = (char)random_next();
        while (sent->room[i] == '\n');
    }
    /* Of a file: a name, or none. */
    for (size_t i = 0; kind == FOUND_FILE && i < n; i++)
        sent->room[i] = (char)('a' + (sent->room[i] & 15));
    if (kind == FOUND_FILE && n > PATH_NAME_MAX)
        sent->room[n / 2] = '/';
    sent->found.text = (struct str){sent->room, n};
}

static void make(struct sent *sent)
{
    enum found_kind kind = (enum found_kind)random_below(3);
    sent->found = (struct found){
        .kind = kind,
        .number = random_size() / 2 + 1,
        .cut_before = random_size(),
        .cut_after = random_size(),
        .n_spans = kind == FOUND_MATCH ? random_below(FOUND_SPANS_MAX + 1) : 0,
    };
    random_bytes(sent->spans, sizeof sent->spans);
    fill_text(sent, kind);
}

static void check_same(const struct found *got, const struct sent *sent)
{
    const struct found *found = &sent->found;
    assert_int_equal(got->kind, found->kind);
    assert_true(got->number == found->number);
    assert_true(got->cut_before == found->cut_before && got->cut_after == found->cut_after);
    assert_int_equal(got->text.n, found->text.n);
    if (got->text.n)
        assert_memory_equal(got->text.p, found->text.p, got->text.n);
    assert_int_equal(got->n_spans, found->n_spans);
    for (size_t i = 0; i < got->n_spans; i++) {
        struct found_span span = found_span(got, i);
        assert_int_equal(span.start, sent->spans[i].start);
        assert_int_equal(span.end, sent->spans[i].end);
    }
}

static void records_come_back(void **state)
{
    (void)state;
    static struct sent sent[40];
    for (unsigned round = 0; round < random_rounds(300); round++) {
        size_t count = random_below(ARRAY_LEN(sent) + 1);
        BUF_AT_END struct buf body = BUF_INIT(BODY_MAX);
        for (size_t i = 0; i < count; i++) {
            make(&sent[i]);
            found_add(&body, &sent[i].found, sent[i].spans);
        }
        struct str rest = buf_str(&body);
        struct found got;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(found_next(&rest, &got), 1);
            check_same(&got, &sent[i]);
        }
        assert_int_equal(found_next(&rest, &got), 0);
    }
}

/* What is made of the first record of a body. */
static int first_of(const struct buf *body)
{
    struct str rest = buf_str(body);
    struct found found;
    return found_next(&rest, &found);
}

static int taken(struct found found)
{
    BUF_AT_END struct buf body = BUF_INIT(BODY_MAX);
    static const struct found_span spans[256];
    found_add(&body, &found, spans);
    return first_of(&body);
}

static void a_cut_record_is_refused(void **state)
{
    (void)state;
    BUF_AT_END struct buf body = BUF_INIT(1000);
    struct found_span spans[] = {{0, 1}, {2, 3}};
    struct found found = {FOUND_MATCH, 1, STR_INIT("text"), 0, 0, NULL, ARRAY_LEN(spans)};
    found_add(&body, &found, spans);
    assert_int_equal(first_of(&body), 1);
    while (--body.len > 0)
        assert_int_equal(first_of(&body), -1);
    assert_int_equal(first_of(&body), 0);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const struct found good = {.kind = FOUND_MATCH, .number = 1, .text = STR_INIT("a")};
    assert_int_equal(taken(good), 1);
    struct found bad = good;
    bad.number = 0;
    assert_int_equal(taken(bad), -1);
    bad.number = -1;
    assert_int_equal(taken(bad), -1);
    bad = good;
    bad.cut_before = -1;
    assert_int_equal(taken(bad), -1);
    bad = good;
    bad.cut_after = INT64_MIN;
    assert_int_equal(taken(bad), -1);
    bad = good;
    bad.kind = (enum found_kind)(FOUND_CONTEXT + 1);
    assert_int_equal(taken(bad), -1);
    bad = good;
    bad.n_spans = FOUND_SPANS_MAX;
    assert_int_equal(taken(bad), 1);
    bad.n_spans = FOUND_SPANS_MAX + 1;
    assert_int_equal(taken(bad), -1);
    bad.n_spans = 255;
    assert_int_equal(taken(bad), -1);
}

static void a_line_is_one_line(void **state)
{
    (void)state;
    static const struct str texts[] = {STR_INIT("\n"), STR_INIT("a\n"), STR_INIT("a\nb"),
                                       STR_INIT("\r\n")};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_int_equal(taken((struct found){FOUND_MATCH, 1, texts[i], 0, 0, NULL, 0}), -1);
        assert_int_equal(taken((struct found){FOUND_CONTEXT, 1, texts[i], 0, 0, NULL, 0}), -1);
    }
    assert_int_equal(taken((struct found){FOUND_MATCH, 1, STR_INIT("\r\0\xff"), 0, 0, NULL, 0}), 1);
}

static void a_path_leads_down(void **state)
{
    (void)state;
    static const struct str bad[] = {STR_INIT("/"),    STR_INIT("/a"),   STR_INIT("a/"),
                                     STR_INIT("a//b"), STR_INIT("."),    STR_INIT(".."),
                                     STR_INIT("../a"), STR_INIT("a/.."), STR_INIT("a\0b"),
                                     STR_INIT("./a"),  STR_INIT("a/./b")};
    static const struct str good[] = {STR_INIT(""), STR_INIT("a"), STR_INIT(".a/..b/..."),
                                      STR_INIT("a\nb/\xff")};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(taken((struct found){FOUND_FILE, 1, bad[i], 0, 0, NULL, 0}), -1);
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(taken((struct found){FOUND_FILE, 0, good[i], 0, 0, NULL, 0}), 1);
    char long_name[PATH_NAME_MAX + 1];
    memset(long_name, 'x', sizeof long_name);
    struct str name = {long_name, sizeof long_name};
    assert_int_equal(taken((struct found){FOUND_FILE, 1, name, 0, 0, NULL, 0}), -1);
}

/* Nothing behind the bytes is looked at, whatever they say. */
static void any_bytes_are_read_or_refused(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(20000); round++) {
        size_t n = random_below(120);
        char *bytes = malloc(n ? n : 1);
        assert_non_null(bytes);
        random_bytes(bytes, n);
        /* Mostly zeros, so that lengths are small and some records are whole. */
        for (size_t i = 0; i < n; i++)
            bytes[i] = random_below(4) ? 0 : bytes[i];
        struct str rest = {bytes, n};
        struct found found;
        for (size_t before = n; found_next(&rest, &found) > 0; before = rest.n)
            assert_true(rest.n < before && rest.p + rest.n == bytes + n);
        free(bytes);
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
        cmocka_unit_test(records_come_back),
        cmocka_unit_test(a_cut_record_is_refused),
        cmocka_unit_test(numbers_that_cannot_be_are_refused),
        cmocka_unit_test(a_line_is_one_line),
        cmocka_unit_test(a_path_leads_down),
        cmocka_unit_test(any_bytes_are_read_or_refused),
    };
    return cmocka_run_group_tests_name("found", tests, set_up, NULL);
}

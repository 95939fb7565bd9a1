/* The beginning and the end of what a command prints, and that all of it is in the spill. */
#include <cmocka.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "core/output.h"
#include "folder.h"
#include "json_text.h"
#include "random.h"
#include "slow_utf8.h"

#define TEXT_MAX ((size_t)64 << 20)
#define NO_LIMIT ((int64_t)1 << 40)

/* --- the same by other means: all bytes at once, nothing clever */

static bool is_continuation(char c)
{
    return (c & 0xc0) == 0x80;
}

/* How many bytes at the end begin a character that goes on. */
static size_t unfinished(struct str s)
{
    for (size_t back = 1; back <= 3 && back <= s.n; back++) {
        unsigned char c = (unsigned char)s.p[s.n - back];
        if (is_continuation((char)c))
            continue;
        size_t length = c >= 0xf5 ? 0 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
        return length > back ? back : 0;
    }
    return 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static struct str slow_head(struct str all, size_t cap)
{
    struct str head = {all.p, (cap + 1) / 2};
    head.n -= unfinished(head);
    for (size_t i = head.n; i > head.n - least(200, head.n / 4); i--) {
        if (head.p[i - 1] == '\n')
            return (struct str){head.p, i};
    }
    return head;
}

static struct str slow_tail(struct str all, size_t cap)
{
    size_t size = cap / 2;
    struct str tail = {all.p + all.n - size, size};
    for (size_t i = 0; i < least(200, size / 4); i++) {
        if (tail.p[i] == '\n')
            return (struct str){tail.p + i + 1, size - i - 1};
    }
    for (size_t i = 0; i < 3 && tail.n && is_continuation(tail.p[0]); i++)
        tail = (struct str){tail.p + 1, tail.n - 1};
    return tail;
}

static void slow_text(struct str all, size_t cap, struct buf *out)
{
    if (all.n <= cap) {
        slow_replace(all, out);
        return;
    }
    struct str head = slow_head(all, cap);
    struct str tail = slow_tail(all, cap);
    slow_replace(head, out);
    buf_addf(out, "%s[... %zu bytes left out ...]\n",
             head.n && head.p[head.n - 1] != '\n' ? "\n" : "", all.n - head.n - tail.n);
    slow_replace(tail, out);
}

/* --- what commands print */

static void add_random_piece(struct buf *out)
{
    static const char *const pieces[] = {"a", "xyz ", "\n", "\r\n", "ä", "€", "😀", "", "\x7f"};
    unsigned char bytes[5];
    size_t kind = random_below(40);
    random_bytes(bytes, sizeof bytes);
    if (kind == 0)
        buf_add(out, bytes, 1 + random_below(sizeof bytes));
    else if (kind == 1)
        buf_add_char(out, '\0');
    else
        buf_add_text(out, pieces[random_below(ARRAY_LEN(pieces))]);
}

/* Texts with broken characters, texts of characters only, and bytes of any kind. */
static void random_text(struct buf *out, size_t n)
{
    static const char *const characters[] = {"é", "€", "😀", "b"};
    size_t kind = random_below(4);
    while (out->len < n) {
        unsigned char byte = (unsigned char)random_next();
        if (kind == 0)
            buf_add_text(out, characters[random_below(ARRAY_LEN(characters))]);
        else if (kind == 1)
            buf_add(out, &byte, 1);
        else
            add_random_piece(out);
    }
    out->len = n;
}

static void add_in_pieces(struct output *o, struct str bytes, size_t most)
{
    while (bytes.n) {
        size_t n = least(bytes.n, random_below(most + 1));
        output_add(o, (struct str){bytes.p, n});
        bytes = (struct str){bytes.p + n, bytes.n - n};
    }
}

/* --- checks */

static void check_json(const struct output *o, struct str text)
{
    BUF_AT_END struct buf json = BUF_INIT(TEXT_MAX);
    struct json_out j = {.out = &json};
    output_write_json(o, &j);
    yyjson_doc *doc = parsed_bytes(buf_str(&json), JSON_STRICT);
    yyjson_val *val = yyjson_doc_get_root(doc);
    assert_int_equal(yyjson_get_len(val), text.n);
    assert_memory_equal(yyjson_get_str(val), text.p, text.n);
    yyjson_doc_free(doc);
}

static void check_text(const struct output *o, struct str all, size_t cap)
{
    BUF_AT_END struct buf wanted = BUF_INIT(TEXT_MAX);
    BUF_AT_END struct buf got = BUF_INIT(TEXT_MAX);
    slow_text(all, cap, &wanted);
    output_text(o, &got);
    if (got.len != wanted.len || (got.len && memcmp(got.data, wanted.data, got.len) != 0))
        fail_msg("cap %zu, %zu bytes:\n%.*s\nis not\n%.*s", cap, all.n, (int)got.len, got.data,
                 (int)wanted.len, wanted.data);
    assert_false(got.failed);
    assert_int_equal(output_truncated(o), all.n > cap);
    assert_int_equal(o->total, all.n);
    assert_true(o->head.cap + o->tail.cap <= cap);
    check_json(o, buf_str(&got));
}

static void check_kept(const struct spills *spills, const char *id, enum stream stream,
                       struct str all)
{
    BUF_AT_END struct buf got = BUF_INIT(TEXT_MAX);
    struct spill_page page;
    struct err err;
    if (spill_read(spills, text_str(id), stream, 0, TEXT_MAX, &got, &page, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(page.complete && !page.running);
    assert_int_equal(page.kept, all.n);
    assert_int_equal(page.total, all.n);
    assert_int_equal(got.len, all.n);
    if (all.n)
        assert_memory_equal(got.data, all.p, all.n);
}

static void expect(size_t cap, struct str bytes, const char *text)
{
    struct output o;
    BUF_AT_END struct buf got = BUF_INIT(4096);
    output_init(&o, cap);
    output_add(&o, bytes);
    output_text(&o, &got);
    assert_string_equal(buf_text(&got), text);
    check_text(&o, bytes, cap);
    output_done(&o);
}

/* --- tests */

static void all_of_it_or_both_ends(void **state)
{
    (void)state;
    expect(0, STR(""), "");
    expect(0, STR("a"), "[... 1 bytes left out ...]\n");
    expect(1, STR("a"), "a");
    expect(1, STR("ab"), "a\n[... 1 bytes left out ...]\n");
    expect(2, STR("ab"), "ab");
    expect(2, STR("abc"), "a\n[... 1 bytes left out ...]\nc");
    expect(3, STR("abc"), "abc");
    expect(3, STR("abcde"), "ab\n[... 2 bytes left out ...]\ne");
    expect(4, STR("abcdefgh"), "ab\n[... 4 bytes left out ...]\ngh");
}

static void characters_stay_whole(void **state)
{
    (void)state;
    /* Three bytes of a head or a tail of four, and of three. */
    expect(8, STR("€€€€"), "€\n[... 6 bytes left out ...]\n€");
    expect(6, STR("€€€"), "€\n[... 3 bytes left out ...]\n€");
    expect(4, STR("€€"), "[... 6 bytes left out ...]\n");
    /* What never was a character is replaced. */
    expect(9, STR("a\xff\xe2\x82z"), "a\xef\xbf\xbd\xef\xbf\xbdz");
    expect(9, STR("a\xe2\x82"), "a\xef\xbf\xbd");
}

static void lines_stay_whole_where_one_ends_nearby(void **state)
{
    (void)state;
    expect(32, STR("0123456789abc\nxyz0123456789xy\nabcdefghijklm"),
           "0123456789abc\n[... 16 bytes left out ...]\nabcdefghijklm");
    /* Not nearby: a quarter of the head. */
    expect(32, STR("0123456789\nabcdefghi0123456789xyzuvwabcdef"),
           "0123456789\nabcde\n[... 10 bytes left out ...]\n6789xyzuvwabcdef");
}

/* Every length around each cap, every split into two. */
static void any_cap_and_any_split(void **state)
{
    (void)state;
    BUF_AT_END struct buf bytes = BUF_INIT(200);
    for (const char *const *at = (const char *const[]){"aé€😀\n", "😀😀", "€\xff\x80", "\n", NULL};
         *at; at++) {
        bytes.len = 0;
        while (bytes.len < 40)
            buf_add_text(&bytes, *at);
        for (size_t cap = 0; cap < 24; cap++) {
            for (size_t n = 0; n < 40; n++) {
                for (size_t first = 0; first <= n; first++) {
                    struct output o;
                    output_init(&o, cap);
                    output_add(&o, (struct str){bytes.data, first});
                    output_add(&o, (struct str){bytes.data + first, n - first});
                    check_text(&o, (struct str){bytes.data, n}, cap);
                    output_done(&o);
                }
            }
        }
    }
}

static void however_it_comes(void **state)
{
    (void)state;
    static const size_t caps[] = {0, 1, 2, 3, 7, 16, 100, 101, 1000, 4001, 10240};
    random_begin();
    for (unsigned round = 0; round < random_rounds(3000); round++) {
        size_t cap = caps[random_below(ARRAY_LEN(caps))];
        /* Often the cap itself, or one more or less. */
        size_t n = random_below(4) ? random_below(3 * cap + 20) : cap + random_below(3);
        BUF_AT_END struct buf bytes = BUF_INIT(TEXT_MAX);
        random_text(&bytes, n);
        for (unsigned i = 0; i < 3; i++) {
            static const size_t sizes[] = {1, 3, 50, 5000, 100000};
            struct output o;
            output_init(&o, cap);
            add_in_pieces(&o, buf_str(&bytes), sizes[random_below(ARRAY_LEN(sizes))]);
            check_text(&o, buf_str(&bytes), cap);
            output_done(&o);
        }
    }
}

/* Two streams side by side; where one is long, the spill has both. */
static void long_output_is_in_the_spill(void **state)
{
    (void)state;
    random_begin();
    for (unsigned round = 0; round < random_rounds(500); round++) {
        struct spills spills;
        struct output o[STREAMS];
        struct buf bytes[STREAMS] = {BUF_INIT(TEXT_MAX), BUF_INIT(TEXT_MAX)};
        size_t at[STREAMS] = {0};
        size_t cap = random_below(300);
        char id[SPILL_ID_MAX];
        spills_init(&spills, folder_fd, NO_LIMIT, NO_LIMIT);
        struct spill *spill = spill_open(&spills);
        for (size_t i = 0; i < STREAMS; i++) {
            random_text(&bytes[i], random_below(2 * cap + 2));
            output_init(&o[i], cap);
            output_spill(&o[i], spill, (enum stream)i);
        }
        while (at[0] < bytes[0].len || at[1] < bytes[1].len) {
            size_t i = random_below(STREAMS);
            size_t n = least(bytes[i].len - at[i], random_below(cap + 2));
            output_add(&o[i], (struct str){bytes[i].data + at[i], n});
            at[i] += n;
        }
        bool is_long = output_truncated(&o[0]) || output_truncated(&o[1]);
        output_end(&o[0]);
        output_end(&o[1]);
        spill_finish(spill, id);
        assert_int_equal(id[0] != '\0', is_long);
        assert_int_equal(spills.count, is_long);
        for (size_t i = 0; i < STREAMS; i++) {
            check_text(&o[i], buf_str(&bytes[i]), cap);
            if (is_long)
                check_kept(&spills, id, (enum stream)i, buf_str(&bytes[i]));
            output_done(&o[i]);
            buf_done(&bytes[i]);
        }
        spills_done(&spills);
    }
}

static long peak_kb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void memory_has_a_bound(void **state)
{
    (void)state;
    enum { CHUNK = 64 << 10, CAP = 100000, TOTAL = 50 << 20 };
    static char chunk[CHUNK];
    struct spills spills;
    struct output o;
    char id[SPILL_ID_MAX];
    spills_init(&spills, folder_fd, NO_LIMIT, NO_LIMIT);
    struct spill *spill = spill_open(&spills);
    output_init(&o, CAP);
    output_spill(&o, spill, STREAM_STDOUT);
    output_add(&o, STR("0123456789"));
    assert_true(o.head.cap + o.tail.cap <= 1024);
    long before = peak_kb();
    for (size_t n = 10; n < TOTAL;) {
        size_t more = least(TOTAL - n, n % 3 ? CHUNK : 1 + n % 999);
        memset(chunk, 'a' + (int)(n % 26), more);
        output_add(&o, (struct str){chunk, more});
        assert_true(o.head.cap + o.tail.cap <= CAP);
        n += more;
    }
    assert_true(peak_kb() - before < 4096);
    assert_int_equal(o.total, TOTAL);
    output_end(&o);
    spill_finish(spill, id);
    BUF_AT_END struct buf text = BUF_INIT(2 * CAP);
    output_text(&o, &text);
    assert_true(text.len > CAP - 500 && text.len < CAP + 100);
    assert_non_null(strstr(buf_text(&text), "\n[... 52328800 bytes left out ...]\n"));
    assert_int_equal(spills.bytes, TOTAL);
    output_done(&o);
    spills_done(&spills);
}

/* Without memory for the cap, less is shown and all is counted. */
static void what_memory_there_is_has_to_do(void **state)
{
    (void)state;
    static char line[200];
    struct output o;
    BUF_AT_END struct buf text = BUF_INIT(2000);
    memset(line, 'x', sizeof line);
    output_init(&o, 1000);
    for (unsigned i = 0; i < 4; i++)
        output_add(&o, (struct str){line, sizeof line});
    size_t there = o.tail.cap;
    assert_true(there >= 300 && there < 500);
    o.tail.failed = true; /* as a failed allocation does */
    for (unsigned i = 0; i < 3; i++)
        output_add(&o, (struct str){line, sizeof line});
    output_add(&o, STR("end"));
    output_text(&o, &text);
    FREE_AT_END char *marker = mem_format("x\n[... %zu bytes left out ...]\nx", 1403 - 500 - there);
    assert_true(output_truncated(&o) && o.tail.cap == there);
    assert_non_null(strstr(buf_text(&text), marker));
    assert_string_equal(buf_text(&text) + text.len - 4, "xend");
    output_done(&o);
}

static void answers_say_no_more_than_they_may(void **state)
{
    (void)state;
    struct output o;
    BUF_AT_END struct buf json = BUF_INIT(1000);
    BUF_AT_END struct buf small = BUF_INIT(5);
    struct json_out j = {.out = &json, .redact = true};
    output_init(&o, 10);
    output_add(&o, STR("a\0\x1b\"z"));
    output_write_json(&o, &j);
    j.redact = false;
    output_write_json(&o, &j);
    assert_string_equal(buf_text(&json), "{\"bytes\":5},\"a\\u0000\\u001b\\\"z\"");
    output_add(&o, STR("bcdefghijklmnop"));
    output_text(&o, &small);
    assert_true(small.failed);
    output_done(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_or_both_ends),
        cmocka_unit_test(characters_stay_whole),
        cmocka_unit_test(lines_stay_whole_where_one_ends_nearby),
        cmocka_unit_test(any_cap_and_any_split),
        cmocka_unit_test(however_it_comes),
        cmocka_unit_test_setup_teardown(long_output_is_in_the_spill, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(memory_has_a_bound, folder_set_up, folder_tear_down),
        cmocka_unit_test(what_memory_there_is_has_to_do),
        cmocka_unit_test(answers_say_no_more_than_they_may),
    };
    slow_make_table();
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}

/* Random files of every kind, one random place of each replaced: what is around it must not change. */
#include <cmocka.h>

#include "random.h"
#include "work/edit.h"

enum kind {
    KIND_UTF8,
    KIND_UTF8_MARK,
    KIND_BROKEN,
    KIND_LATIN1,
    KIND_UTF16LE,
    KIND_UTF16BE,
    KINDS
};
enum ends { ENDS_LF, ENDS_CRLF, ENDS_MIXED };

/* One character of a file: what stands for it in a request, and its bytes in the file. */
struct unit {
    char text[5];
    size_t n_text;
    char bytes[5];
    size_t n_bytes;
};

#define UNITS_MAX 400

struct sample {
    enum kind kind;
    enum ends ends;
    struct unit units[UNITS_MAX];
    size_t n;
};

static void unit_add(struct unit *unit, uint32_t c, enum kind kind)
{
    char *t = unit->text + unit->n_text;
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (n == 1)
        t[0] = (char)c;
    for (size_t i = n; n > 1 && i-- > 0;)
        t[i] = (char)(i ? 0x80 | (c >> 6 * (n - 1 - i) & 0x3f)
                        : (0xf00u >> n & 0xff) | c >> 6 * (n - 1));
    unit->n_text += n;
    char *b = unit->bytes + unit->n_bytes;
    if (kind == KIND_LATIN1) {
        b[0] = (char)c;
        unit->n_bytes++;
    } else if (kind == KIND_UTF16LE || kind == KIND_UTF16BE) {
        uint32_t pair[2] = {c, 0};
        size_t units = c < 0x10000 ? 1 : 2;
        if (units == 2) {
            pair[0] = 0xd800 + (c - 0x10000) / 1024;
            pair[1] = 0xdc00 + (c - 0x10000) % 1024;
        }
        for (size_t i = 0; i < units; i++) {
            b[2 * i + (kind == KIND_UTF16BE)] = (char)(pair[i] & 0xff);
            b[2 * i + (kind == KIND_UTF16LE)] = (char)(pair[i] >> 8);
        }
        unit->n_bytes += 2 * units;
    } else {
        memcpy(b, t, n);
        unit->n_bytes += n;
    }
}

static uint32_t random_character(enum kind kind)
{
    static const uint32_t wide[] = {0xe9,   0xff,   0x100,   0x20ac,  0x6161,
                                    0x6200, 0xfffd, 0x1f600, 0x10ffff};
    if (random_below(4))
        return "abcxyz {}\t"[random_below(10)];
    /* Below U+00C0, two letters of Latin-1 could be one of UTF-8. */
    return kind == KIND_LATIN1 ? 0xc0 + (uint32_t)random_below(0x40)
                               : wide[random_below(ARRAY_LEN(wide))];
}

/* A newline is `\n` in the request, whatever it is in the file. */
static void newline(struct unit *unit, const struct sample *s)
{
    *unit = (struct unit){.n_text = 0};
    bool crlf = s->ends == ENDS_CRLF || (s->ends == ENDS_MIXED && random_below(2));
    if (crlf)
        unit_add(unit, '\r', s->kind);
    unit_add(unit, '\n', s->kind);
    memcpy(unit->text, "\n", 2);
    unit->n_text = 1;
}

static void make_sample(struct sample *s)
{
    s->kind = (enum kind)random_below(KINDS);
    s->ends = (enum ends)random_below(3);
    s->n = 1 + random_below(UNITS_MAX - 1);
    for (size_t i = 0; i < s->n; i++) {
        s->units[i] = (struct unit){.n_text = 0};
        if (random_below(8) == 0)
            newline(&s->units[i], s);
        else
            unit_add(&s->units[i], random_character(s->kind), s->kind);
    }
}

static void add_units(const struct sample *s, size_t from, size_t to, struct buf *text,
                      struct buf *bytes)
{
    for (size_t i = from; i < to; i++) {
        if (text)
            buf_add(text, s->units[i].text, s->units[i].n_text);
        if (bytes)
            buf_add(bytes, s->units[i].bytes, s->units[i].n_bytes);
    }
}

/* Something at both ends that is no part of the text: a mark, broken bytes. */
static void add_start(const struct sample *s, struct buf *bytes)
{
    static const char *const starts[] = {"",         "\xef\xbb\xbf", "\xff",
                                         "\x80\x81", "\xff\xfe",     "\xfe\xff"};
    buf_add_text(bytes, starts[s->kind]);
}

static void add_end(const struct sample *s, struct buf *bytes)
{
    if (s->kind == KIND_BROKEN)
        buf_add_text(bytes, "\xc3");
    if (s->kind >= KIND_UTF16LE && s->n % 2)
        buf_add_text(bytes, "x");
}

/* How often the text occurs in the request's view, by the slow way. */
static size_t occurrences(struct str hay, struct str needle)
{
    size_t count = 0;
    for (size_t i = 0; needle.n && i + needle.n <= hay.n; i++)
        count += memcmp(hay.p + i, needle.p, needle.n) == 0;
    return count;
}

static void one_round(unsigned round)
{
    static struct sample s;
    make_sample(&s);
    size_t from = random_below(s.n);
    size_t to = from + 1 + random_below(s.n - from < 40 ? s.n - from : 40);
    BUF_AT_END struct buf file = BUF_INIT(1 << 20);
    BUF_AT_END struct buf view = BUF_INIT(1 << 20);
    BUF_AT_END struct buf old_text = BUF_INIT(1 << 20);
    BUF_AT_END struct buf expected = BUF_INIT(1 << 20);
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    add_start(&s, &file);
    add_units(&s, 0, s.n, &view, &file);
    add_end(&s, &file);
    add_units(&s, from, to, &old_text, NULL);
    if (occurrences(buf_str(&view), buf_str(&old_text)) != 1)
        return;
    /* What is inserted is another character of the same encoding, and no line end. */
    struct unit with = {.n_text = 0};
    unit_add(&with, s.kind == KIND_LATIN1 ? 0xb0 : s.kind == KIND_BROKEN ? '#' : 0x263a, s.kind);
    add_start(&s, &expected);
    add_units(&s, 0, from, NULL, &expected);
    buf_add(&expected, with.bytes, with.n_bytes);
    add_units(&s, to, s.n, NULL, &expected);
    add_end(&s, &expected);
    struct op_edit edit = {buf_str(&old_text), {with.text, with.n_text}, random_below(2)};
    struct err err;
    if (edit_apply(NULL, buf_str(&file), &edit, 1, &out, &err) < 0)
        fail_msg("round %u, kind %d, ends %d: %s", round, s.kind, s.ends, err.message);
    if (out.len != expected.len || memcmp(out.data, expected.data, out.len) != 0)
        fail_msg("round %u, kind %d, ends %d: other bytes", round, s.kind, s.ends);
}

static void keeps_everything_else(void **state)
{
    (void)state;
    for (unsigned i = 0; i < random_rounds(20000); i++)
        one_round(i);
}

/* With few letters, most texts occur not at all or often; the slow count says which answer is due. */
static void counts_as_the_slow_way_does(void **state)
{
    (void)state;
    for (unsigned i = 0; i < random_rounds(50000); i++) {
        char file[40];
        char old_text[6];
        size_t n = random_below(sizeof file);
        size_t n_old = 1 + random_below(sizeof old_text);
        for (size_t k = 0; k < n; k++)
            file[k] = "ab\n"[random_below(3)];
        for (size_t k = 0; k < n_old; k++)
            old_text[k] = "ab\n"[random_below(3)];
        struct op_edit edit = {{old_text, n_old}, STR("-"), false};
        struct err err;
        BUF_AT_END struct buf out = BUF_INIT(1000);
        size_t count = occurrences((struct str){file, n}, edit.old_text);
        int r = edit_apply(NULL, (struct str){file, n}, &edit, 1, &out, &err);
        assert_int_equal(r, count == 1 ? 0 : -1);
        if (r < 0)
            assert_string_equal(err.reason, count ? "ambiguous" : "not_found");
        else
            assert_int_equal(out.len, n - n_old + 1);
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
        cmocka_unit_test(keeps_everything_else),
        cmocka_unit_test(counts_as_the_slow_way_does),
    };
    return cmocka_run_group_tests_name("edit_random", tests, set_up, NULL);
}

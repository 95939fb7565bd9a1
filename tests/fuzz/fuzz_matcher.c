/* Any bytes as a pattern, and behind a NUL as a text; the first byte picks how it is searched. With one of its bits each
 * byte stands for a piece: of patterns with choices, and of lines for them. */
#include <string.h>

#include "../unit/matcher_pieces.h"
#include "../unit/slow_matcher.h"
#include "base/utf8.h"
#include "target.h"

/* The two ways are compared on what the slow one can do in time. */
#define PATTERN_SIZE 200
#define TEXT_SIZE 2000

static void check_spans(const struct matcher *matcher, const struct matcher_text *text)
{
    struct found_span spans[8];
    size_t from = 0;
    for (struct matcher_line line; matcher_next(matcher, text, from, &line); from = line.next) {
        must(line.start >= from && line.start <= line.end && line.end <= line.next);
        must(line.next > line.start && line.next <= text->n);
        must(!memchr(text->p + line.start, '\n', line.end - line.start));
        must(line.start == 0 || text->p[line.start - 1] == '\n');
        size_t n = matcher_spans(matcher, text, &line, spans, ARRAY_LEN(spans));
        must(n > 0);
        for (size_t i = 0; i < n; i++) {
            must(spans[i].start <= spans[i].end && spans[i].end <= line.end - line.start);
            must(i == 0 || spans[i].start >= spans[i - 1].end);
        }
    }
}

static void compare(unsigned how, struct str pattern, struct matcher_text text)
{
    struct err err = {.code = ERR_COUNT};
    struct matcher_options options = {pattern, how & 1, how & 2, how & 4};
    if (pattern.n > PATTERN_SIZE || text.n > TEXT_SIZE || !utf8_valid(pattern.p, pattern.n))
        return;
    struct matcher *matcher = matcher_new(&options, &err);
    must(matcher || (err.code == ERR_INVALID_PATTERN && err.message[0]));
    text.ascii = slow_is_ascii(&text);
    if (matcher)
        check_spans(matcher, &text);
    struct slow_matcher slow;
    if (matcher && !slow_is_unclear(&options) && slow_matcher_init(&slow, &options)) {
        must(slow_compare(&slow, matcher, &text) == 0);
        slow_matcher_done(&slow);
    }
    matcher_free(matcher);
}

static void add_pieces(struct buf *out, struct str bytes, const char *const *pieces, size_t count)
{
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char byte = (unsigned char)bytes.p[i];
        buf_add_text(out, byte % (count + 1) == count ? "\n" : pieces[byte % (count + 1)]);
    }
}

static void compare_pieces(unsigned how, struct str pattern, struct str text)
{
    BUF_AT_END struct buf choice = BUF_INIT(1u << 20);
    BUF_AT_END struct buf lines = BUF_INIT(1u << 20);
    add_pieces(&choice, pattern, choice_pieces, ARRAY_LEN(choice_pieces));
    add_pieces(&lines, text, choice_lines, ARRAY_LEN(choice_lines));
    compare(how, buf_str(&choice), (struct matcher_text){buf_str(&lines).p, lines.len, false});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct str pattern = {(const char *)data + 1, size - 1};
    const char *nul = memchr(pattern.p, '\0', pattern.n);
    struct str text = {nul ? nul + 1 : "", 0};
    if (nul) {
        text.n = pattern.n - (size_t)(nul + 1 - pattern.p);
        pattern.n = (size_t)(nul - pattern.p);
    }
    if (data[0] & 8)
        compare_pieces(data[0], pattern, text);
    else
        compare(data[0], pattern, (struct matcher_text){text.p, text.n, false});
    return 0;
}

/* Any bytes as a pattern, and behind a NUL as a text; the first byte picks how it is searched. */
#include <string.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {.code = ERR_COUNT};
    if (size < 2)
        return 0;
    struct str pattern = {(const char *)data + 1, size - 1};
    const char *nul = memchr(pattern.p, '\0', pattern.n);
    struct matcher_text text = {nul ? nul + 1 : "", 0, false};
    if (nul) {
        text.n = pattern.n - (size_t)(nul + 1 - pattern.p);
        pattern.n = (size_t)(nul - pattern.p);
    }
    struct matcher_options options = {pattern, data[0] & 1, data[0] & 2, data[0] & 4};
    if (pattern.n > PATTERN_SIZE || text.n > TEXT_SIZE || !utf8_valid(pattern.p, pattern.n))
        return 0;
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
    return 0;
}

/* Lines that match, once more, the slow and obvious way: the pattern as it came, each line by itself. */
#ifndef SANDGATE_TESTS_SLOW_MATCHER_H
#define SANDGATE_TESTS_SLOW_MATCHER_H

#include <rure.h>
#include <stdio.h>

#include "base/buf.h"
#include "work/matcher.h"

struct slow_matcher {
    rure *engine;
    bool keeps_cr;
};

static inline bool slow_names_cr(const struct matcher_options *options)
{
    if (memchr(options->pattern.p, '\r', options->pattern.n))
        return true;
    return !options->literal && memmem(options->pattern.p, options->pattern.n, "\\r", 2);
}

/* A pattern in which a line end, or the other half of one, is named in a way that is not easily seen. */
static inline bool slow_is_unclear(const struct matcher_options *options)
{
    static const char *const words[] = {"\\x", "\\u", "\\U", "\\\\", "\\n", "\n"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (memmem(options->pattern.p, options->pattern.n, words[i], strlen(words[i])))
            return true;
    }
    return false;
}

/* False: not a pattern. */
static inline bool slow_matcher_init(struct slow_matcher *slow,
                                     const struct matcher_options *options)
{
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    slow->keeps_cr = slow_names_cr(options);
    if (!slow->keeps_cr)
        buf_add_text(&text, "(?R)");
    if (options->word)
        buf_add_text(&text, "\\b{start-half}(?:");
    for (size_t i = 0; i < options->pattern.n; i++) {
        unsigned char c = (unsigned char)options->pattern.p[i];
        if (options->literal && c < 0x80)
            buf_addf(&text, "\\x%02x", c);
        else
            buf_add_char(&text, (char)c);
    }
    if (options->word)
        buf_add_text(&text, ")\\b{end-half}");
    uint32_t flags =
        RURE_FLAG_UNICODE | RURE_FLAG_MULTI | (options->ignore_case ? RURE_FLAG_CASEI : 0);
    slow->engine = rure_compile((const uint8_t *)text.data, text.len, flags, NULL, NULL);
    return slow->engine != NULL;
}

static inline void slow_matcher_done(struct slow_matcher *slow)
{
    rure_free(slow->engine);
}

/* Whether a line without its '\n' matches; `ended` when it had one. */
static inline bool slow_matches(const struct slow_matcher *slow, struct str line, bool ended)
{
    if (ended && !slow->keeps_cr && line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return rure_is_match(slow->engine, (const uint8_t *)line.p, line.n, 0);
}

/* A '\r' within a line: sets do not match it unless it is named, and the engine does not know. */
static inline bool slow_is_odd(struct str line)
{
    const char *at = memchr(line.p, '\r', line.n);
    return at && at != line.p + line.n - 1;
}

static inline bool slow_is_ascii(const struct matcher_text *text)
{
    for (size_t i = 0; i < text->n; i++) {
        if ((unsigned char)text->p[i] > 0x7f)
            return false;
    }
    return true;
}

/* The first line where the two disagree, counted from 1; 0: they agree. */
static inline size_t slow_compare(const struct slow_matcher *slow, const struct matcher *matcher,
                                  const struct matcher_text *text)
{
    size_t number = 1;
    size_t from = 0;
    struct matcher_line found = {0};
    bool has = matcher_next(matcher, text, 0, &found);
    for (; from < text->n; number++) {
        const char *newline = memchr(text->p + from, '\n', text->n - from);
        size_t end = newline ? (size_t)(newline - text->p) : text->n;
        struct str line = {text->p + from, end - from};
        bool here = has && found.start == from;
        if (!slow_is_odd(line) && here != slow_matches(slow, line, newline))
            return number;
        from = newline ? end + 1 : end;
        if (here && found.next != from)
            return number;
        if (here)
            has = matcher_next(matcher, text, from, &found);
    }
    return has ? number : 0;
}

#endif

#include "work/matcher.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "work/engine.h"
#include "work/finder.h"
#include "work/finder_set.h"
#include "work/pattern.h"

/* A required text shorter than this is on too many lines to be worth looking for. */
#define REQUIRED_MIN 3
/* Where so many lines with a required text did not match, and they are that close to each other on average, the engine
 * gets the rest of the text at hand: to begin anew on each line costs it about as much as so many bytes. */
#define IN_VAIN_MAX 16
#define IN_VAIN_BYTES 160

/* How lines are found. */
enum way {
    WAY_LITERAL,  /* the text is the match */
    WAY_CHOICE,   /* one of the texts is */
    WAY_REQUIRED, /* lines that have a text are then looked at */
    WAY_WHOLE,    /* the engine looks at all lines at once */
    WAY_BY_LINE,  /* and at one by one */
};

struct matcher {
    struct pattern pattern;
    struct finder finder;   /* for one text */
    struct finder_set *set; /* for several; else NULL */
    struct engine_memory memory;
    rure *engine;
    rure *ascii_engine; /* for ASCII text; NULL: the same */
    enum way way;
    bool fold;       /* the finder's text in either case */
    bool fold_ascii; /* which holds only for ASCII text */
    bool
        edges; /* broken UTF-8 beside a line end is no character, but the engine sees the line end there:
                      * such a line has to be looked at by itself */
    bool not_ascii; /* every match has something beyond ASCII */
};

void matcher_free(struct matcher *m)
{
    if (!m)
        return;
    if (m->engine)
        rure_free(m->engine);
    if (m->ascii_engine)
        rure_free(m->ascii_engine);
    engine_memory_done(&m->memory);
    pattern_done(&m->pattern);
    free(m->set);
    free(m);
}

/* The engine's own message is several lines, the last of which says what is wrong. */
static int refuse_pattern(const struct matcher *m, rure_error *error, struct err *err)
{
    if (m->memory.lacks)
        return err_no_memory(err);
    if (m->memory.too_large)
        return err_set(
            err, ERR_INVALID_PATTERN,
            "the pattern gets too large when it is compiled: shorten it, or lower the counts of "
            "its repetitions");
    const char *message = rure_error_message(error);
    const char *what = strstr(message, "error: ");
    for (const char *next = what; next; next = strstr(next + 1, "error: "))
        what = next;
    what = what ? what + strlen("error: ") : message;
    return err_set(err, ERR_INVALID_PATTERN, "not a valid regular expression: %.*s",
                   (int)strcspn(what, "\n"), what);
}

/* Without a word about what is wrong: only memory.lacks counts. */
static rure *compile_text(struct matcher *m, struct str text, bool ignore_case)
{
    RESERVE_OPEN_HERE;
    rure_error *error = rure_error_new();
    rure *engine = engine_compile(&m->memory, text, ignore_case, error);
    rure_error_free(error);
    return engine;
}

static rure *compile_wrapped(struct matcher *m, const struct matcher_options *options,
                             struct str text, const char *end)
{
    BUF_AT_END struct buf wrapped = BUF_INIT(text.n + 64);
    if (!m->pattern.keeps_cr)
        buf_add_text(&wrapped, "(?R)");
    if (options->word)
        buf_add_text(&wrapped, "\\b{start-half}(?:");
    buf_add(&wrapped, text.p, text.n);
    if (options->word)
        buf_addf(&wrapped, "%s)\\b{end-half}", end);
    return compile_text(m, buf_str(&wrapped), options->ignore_case);
}

static rure *compile_matcher_engine(struct matcher *m, const struct matcher_options *options,
                                    struct str text)
{
    rure *engine = compile_wrapped(m, options, text, "");
    /* A comment at its end would take our bracket in. */
    if (!engine && m->pattern.verbose && !m->memory.lacks)
        engine = compile_wrapped(m, options, text, "\n");
    return engine;
}

/* What a model wrote has to be right by itself: not only between our brackets, and not only as we write it. */
static int check_pattern_alone(struct matcher *m, const struct matcher_options *options,
                               struct err *err)
{
    RESERVE_OPEN_HERE;
    rure_error *error = rure_error_new();
    rure *engine = engine_compile(&m->memory, options->pattern, options->ignore_case, error);
    int r = engine ? 0 : refuse_pattern(m, error, err);
    if (engine)
        rure_free(engine);
    rure_error_free(error);
    return r;
}

static int compile_engines(struct matcher *m, const struct matcher_options *options,
                           struct err *err)
{
    struct pattern *p = &m->pattern;
    if (!p->by_line)
        m->engine = compile_matcher_engine(m, options, buf_str(&p->text[PATTERN_WHOLE]));
    if (!m->engine && m->memory.lacks)
        return err_no_memory(err);
    if (!m->engine) {
        if (!options->literal && check_pattern_alone(m, options, err) < 0)
            return -1;
        p->by_line = true;
        m->engine = compile_matcher_engine(m, options, options->pattern);
        if (!m->engine && m->memory.lacks)
            return err_no_memory(err);
        if (!m->engine)
            return err_set(err, ERR_INVALID_PATTERN,
                           "the pattern is nested too deep, or gets too large when it is compiled");
        return 0;
    }
    struct str whole = buf_str(&p->text[PATTERN_WHOLE]);
    struct str ascii = buf_str(&p->text[PATTERN_ASCII]);
    bool same = whole.n == ascii.n && !options->word;
    bool differs = p->beyond_ascii && (p->folds || options->ignore_case);
    if (!same && !differs)
        m->ascii_engine = compile_matcher_engine(m, options, ascii);
    return 0;
}

static bool all_beyond_ascii(const struct texts *texts)
{
    for (struct str text = {0}; texts_next(texts, &text);) {
        if (!(finder_kinds(text.p, text.n) & FINDER_HIGH))
            return false;
    }
    return texts->n > 0;
}

/* The engine would look at every byte of a text that cannot match. */
static bool is_beyond_ascii(struct matcher *m, const struct matcher_options *options)
{
    char every[128];
    if (!options->ignore_case && !m->pattern.folds && all_beyond_ascii(&m->pattern.texts))
        return true;
    if (m->pattern.set.len == 0 || !m->engine)
        return false;
    RESERVE_OPEN_WITH(&m->memory.pledge);
    for (int i = 0; i < 128; i++)
        every[i] = (char)i;
    rure *set = compile_text(m, buf_str(&m->pattern.set), options->ignore_case || m->pattern.folds);
    bool none = set && !rure_is_match(set, (const uint8_t *)every, sizeof every, 0);
    if (set)
        rure_free(set);
    return none;
}

static void to_lower(struct buf *text)
{
    for (size_t i = 0; i < text->len; i++) {
        if (text->data[i] >= 'A' && text->data[i] <= 'Z')
            text->data[i] |= 0x20;
    }
}

/* Letters of ASCII that others beyond it are equal to when case is ignored: the long s and the sign of Kelvin. */
static bool has_foreign_case(struct str text)
{
    return memchr(text.p, 's', text.n) || memchr(text.p, 'k', text.n);
}

/* Whether lines can be found by the pattern's texts, and how. */
static bool choose_texts(struct matcher *m, const struct matcher_options *options)
{
    struct pattern *p = &m->pattern;
    struct texts *texts = &p->texts;
    size_t shortest = texts_shortest(texts);
    if (shortest == 0 || (m->fold && p->beyond_ascii))
        return false;
    bool exact = p->exact && !options->word;
    if (p->literal && exact)
        m->way = WAY_LITERAL;
    else if (texts->n > 1 && exact && shortest > 1)
        m->way = WAY_CHOICE;
    else if (shortest >= (texts->n > 1 ? 2 : REQUIRED_MIN))
        m->way = WAY_REQUIRED;
    else
        return false;
    if (m->fold)
        to_lower(&texts->bytes);
    m->fold_ascii = m->fold && has_foreign_case(buf_str(&texts->bytes));
    if (texts->n > 1) {
        m->set = mem_zero(sizeof *m->set);
        finder_set_init(m->set, texts, m->fold);
    } else {
        finder_init(&m->finder, (struct str){texts->bytes.data, shortest}, m->fold);
    }
    return true;
}

static void choose_way(struct matcher *m, const struct matcher_options *options)
{
    m->fold = options->ignore_case || m->pattern.folds;
    if (!choose_texts(m, options))
        m->way = m->pattern.by_line ? WAY_BY_LINE : WAY_WHOLE;
}

struct matcher *matcher_new(const struct matcher_options *options, struct err *err)
{
    struct matcher *m = mem_zero(sizeof *m);
    int r = options->literal ? pattern_literal(&m->pattern, options->pattern, err)
                             : pattern_read(&m->pattern, options->pattern, err);
    if (r == 0)
        choose_way(m, options);
    /* A plain text needs an engine only where case is ignored beyond ASCII. */
    bool engine = m->way != WAY_LITERAL || m->fold_ascii;
    if (r == 0 && engine)
        r = engine_memory_take(&m->memory, options->threads ? options->threads : 1, err);
    if (r < 0 || (engine && compile_engines(m, options, err) < 0)) {
        matcher_free(m);
        return NULL;
    }
    if (m->way == WAY_WHOLE && m->pattern.by_line)
        m->way = WAY_BY_LINE;
    m->edges = m->pattern.edges || options->word;
    m->not_ascii = is_beyond_ascii(m, options);
    return m;
}

/* Threads share it under the lock of base/reserve.c; a matcher does not change otherwise. */
static struct pledge *pledge_of(const struct matcher *m)
{
    return (struct pledge *)(uintptr_t)&m->memory.pledge;
}

unsigned matcher_threads(const struct matcher *m)
{
    return m->engine ? m->memory.threads : UINT_MAX;
}

static rure *engine_for(const struct matcher *m, const struct matcher_text *text)
{
    return text->ascii && m->ascii_engine ? m->ascii_engine : m->engine;
}

struct matcher_line matcher_line_at(const struct matcher *m, const struct matcher_text *text,
                                    size_t start)
{
    const char *newline = memchr(text->p + start, '\n', text->n - start);
    size_t end = newline ? (size_t)(newline - text->p) : text->n;
    struct matcher_line line = {start, end, newline ? end + 1 : end};
    if (newline && !m->pattern.keeps_cr && end > start && text->p[end - 1] == '\r')
        line.end--;
    return line;
}

/* The line that position is in. */
static struct matcher_line line_around(const struct matcher *m, const struct matcher_text *text,
                                       size_t from, size_t position)
{
    const char *newline = memrchr(text->p + from, '\n', position - from);
    return matcher_line_at(m, text, newline ? (size_t)(newline - text->p) + 1 : from);
}

static bool engine_matches(const struct matcher *m, const struct matcher_text *text,
                           const struct matcher_line *line)
{
    return rure_is_match(engine_for(m, text), (const uint8_t *)text->p + line->start,
                         line->end - line->start, 0);
}

static bool next_by_engine(const struct matcher *m, const struct matcher_text *text, size_t from,
                           struct matcher_line *ret)
{
    rure *engine = engine_for(m, text);
    for (; from < text->n; from = ret->next) {
        size_t at;
        if (!rure_shortest_match(engine, (const uint8_t *)text->p, text->n, from, &at))
            return false;
        /* Behind the end of the last line there is no line for an empty match. */
        if (at == text->n && text->p[at - 1] == '\n')
            return false;
        *ret = line_around(m, text, from, at);
        /* Nor is there anything between `\r` and `\n`. */
        if (at <= ret->end && (!m->edges || text->ascii || engine_matches(m, text, ret)))
            return true;
    }
    return false;
}

static size_t find_needed_text(const struct matcher *m, const struct matcher_text *text,
                               size_t from)
{
    return m->set ? finder_set_find(m->set, text->p, text->n, from)
                  : finder_find(&m->finder, text->p, text->n, from);
}

static bool next_by_text(const struct matcher *m, const struct matcher_text *text, size_t from,
                         struct matcher_line *ret)
{
    size_t in_vain = 0;
    for (size_t begin = from; from < text->n; from = ret->next) {
        size_t at = find_needed_text(m, text, from);
        if (at == text->n)
            return false;
        *ret = line_around(m, text, from, at);
        if (m->way != WAY_REQUIRED || engine_matches(m, text, ret))
            return true;
        if (++in_vain >= IN_VAIN_MAX && ret->next - begin < in_vain * IN_VAIN_BYTES &&
            !m->pattern.by_line)
            return next_by_engine(m, text, ret->next, ret);
    }
    return false;
}

static bool next_by_line(const struct matcher *m, const struct matcher_text *text, size_t from,
                         struct matcher_line *ret)
{
    for (; from < text->n; from = ret->next) {
        *ret = matcher_line_at(m, text, from);
        if (engine_matches(m, text, ret))
            return true;
    }
    return false;
}

bool matcher_next(const struct matcher *m, const struct matcher_text *text, size_t from,
                  struct matcher_line *ret)
{
    if (from >= text->n || (text->ascii && m->not_ascii))
        return false;
    RESERVE_OPEN_WITH(pledge_of(m));
    bool by_text = m->way <= WAY_REQUIRED;
    if (by_text && (text->ascii || !m->fold_ascii))
        return next_by_text(m, text, from, ret);
    if (m->pattern.by_line)
        return next_by_line(m, text, from, ret);
    return next_by_engine(m, text, from, ret);
}

size_t matcher_spans(const struct matcher *m, const struct matcher_text *text,
                     const struct matcher_line *line, struct found_span *spans, size_t max)
{
    const char *p = text->p + line->start;
    size_t n = line->end - line->start;
    size_t count = 0;
    size_t from = 0;
    if (!engine_for(m, text) || (m->way == WAY_LITERAL && text->ascii)) {
        for (size_t at; count < max && (at = finder_find(&m->finder, p, n, from)) < n;
             from = at + m->finder.text.n)
            spans[count++] = (struct found_span){(uint32_t)at, (uint32_t)(at + m->finder.text.n)};
        return count;
    }
    RESERVE_OPEN_WITH(pledge_of(m));
    /* Not with rure_iter: it looks for an empty match anew from every byte before it, each time one call deeper. */
    rure *engine = engine_for(m, text);
    size_t last = SIZE_MAX; /* where the match before ended: an empty one right there is none */
    for (rure_match match;
         count < max && from <= n && rure_find(engine, (const uint8_t *)p, n, from, &match);) {
        bool empty = match.start == match.end;
        if (!empty || match.end != last)
            spans[count++] = (struct found_span){(uint32_t)match.start, (uint32_t)match.end};
        last = match.end;
        from = match.end + empty;
    }
    return count;
}

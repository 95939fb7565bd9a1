#include "work/pattern.h"

#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "work/needed.h"

/* Sets with most letters of all languages. Where case is ignored the engine takes up to 5 ms and 60 KB for each,
 * before it looks at how large the whole gets, and cannot be stopped meanwhile. */
#define LARGE_SETS_MAX 100

struct reader {
    struct pattern *out;
    const char *at;
    const char *end;
    struct err *err;
    int depth;      /* of groups */
    int large_sets; /* LARGE_SETS_MAX */
    struct needed *needed;
    bool choice;          /* a `|` outside of groups: nothing must be there */
    bool beyond;          /* names characters beyond ASCII, or sets of them */
    bool keeps_cr;        /* as it was found to be */
    const char *set_from; /* the set just before, or NULL */
    const char *set_end;
};

static void copy_pattern_text(struct reader *r, const char *from)
{
    for (unsigned i = 0; i < PATTERN_VARIANTS; i++)
        buf_add(&r->out->text[i], from, (size_t)(r->at - from));
}

/* A set: in ASCII text only the ASCII of it counts. Where it may hold line ends, it loses them. */
static void emit_set(struct reader *r, const char *from, bool line_ends)
{
    const char *without = !line_ends ? "" : r->keeps_cr ? "--[\\n]" : "--[\\r\\n]";
    for (unsigned i = 0; i < PATTERN_VARIANTS; i++) {
        struct buf *text = &r->out->text[i];
        bool ascii = i == PATTERN_ASCII;
        if (line_ends || ascii)
            buf_add_char(text, '[');
        buf_add(text, from, (size_t)(r->at - from));
        if (line_ends || ascii)
            buf_addf(text, "%s%s]", without, ascii ? "&&[\\x00-\\x7F]" : "");
    }
    r->out->literal = false;
    r->set_from = from;
    r->set_end = r->at;
}

static void take_class(struct reader *r, const char *from, bool line_ends)
{
    emit_set(r, from, line_ends);
    needed_gap(r->needed);
}

/* A set that is needed once, of which ASCII may have no part. */
static void keep_set(struct reader *r)
{
    struct buf *set = &r->out->set;
    if (r->set_from && r->depth == 0 && set->len == 0 && r->beyond)
        buf_add(set, r->set_from, (size_t)(r->set_end - r->set_from));
    r->set_from = NULL;
}

static int refuse_line_end(struct reader *r)
{
    return err_set(
        r->err, ERR_INVALID_PATTERN,
        "a pattern is matched within one line: leave the line end out of it, and ask for "
        "context lines to see what stands beside");
}

/* A character that means itself, written as it is or escaped (from..at). */
static int take_char(struct reader *r, const char *from, struct str c)
{
    if (c.p[0] == '\n')
        return refuse_line_end(r);
    r->out->keeps_cr = r->out->keeps_cr || c.p[0] == '\r';
    r->beyond = r->beyond || c.n > 1;
    copy_pattern_text(r, from);
    needed_char(r->needed, c);
    return 0;
}

static int take_pattern_byte(struct reader *r, const char *from, char c)
{
    return take_char(r, from, (struct str){&c, 1});
}

/* What has a meaning of its own. */
static void take_other(struct reader *r, const char *from)
{
    r->out->literal = false;
    copy_pattern_text(r, from);
}

static void take_gap(struct reader *r, const char *from)
{
    take_other(r, from);
    needed_gap(r->needed);
}

/* The number behind \x, \u or \U, plain or in braces; -1: not well formed, the engine will say so. */
static int64_t hex_number(struct reader *r, int digits)
{
    int64_t value = 0;
    int got = 0;
    bool braces = r->at < r->end && *r->at == '{';
    r->at += braces;
    for (; r->at < r->end && got < (braces ? 8 : digits) && ascii_hex_digit(*r->at) >= 0; got++)
        value = value * 16 + ascii_hex_digit(*r->at++);
    if (!braces)
        return got == digits ? value : -1;
    if (r->at == r->end || *r->at != '}')
        return -1;
    r->at++;
    return got > 0 ? value : -1;
}

static int take_escaped_number(struct reader *r, const char *from, int digits)
{
    int64_t value = hex_number(r, digits);
    if (value >= 0 && value <= 0x7f)
        return take_pattern_byte(r, from, (char)value);
    r->beyond = true;
    take_gap(r, from);
    return 0;
}

/* Behind \p, \P, \b: `{...}`, or for \p one letter. */
static void skip_braces(struct reader *r, bool or_letter)
{
    if (r->at < r->end && *r->at == '{') {
        const char *close = memchr(r->at, '}', (size_t)(r->end - r->at));
        r->at = close ? close + 1 : r->end;
    } else if (or_letter && r->at < r->end) {
        size_t n = utf8_sequence(r->at, (size_t)(r->end - r->at));
        r->at += n ? n : 1;
    }
}

/* The edge of a word. In ASCII text it need not know more letters. */
static void take_edge(struct reader *r, const char *from)
{
    /* \b{start} is an edge of another kind, \b{2} one that is repeated. */
    if (r->end - r->at > 1 && (r->at[1] | 0x20) >= 'a' && (r->at[1] | 0x20) <= 'z')
        skip_braces(r, false);
    buf_add(&r->out->text[PATTERN_WHOLE], from, (size_t)(r->at - from));
    buf_add_text(&r->out->text[PATTERN_ASCII], "(?-u:");
    buf_add(&r->out->text[PATTERN_ASCII], from, (size_t)(r->at - from));
    buf_add_char(&r->out->text[PATTERN_ASCII], ')');
    r->out->literal = false;
    r->out->edges = true;
    needed_gap(r->needed);
}

static int refuse_reference(struct reader *r, char digit)
{
    return err_set(
        r->err, ERR_INVALID_PATTERN,
        "back-references such as \\%c are not supported, since matching takes linear time: "
        "write the repeated part out, or search for one part and read the lines",
        digit);
}

static int take_letter(struct reader *r, const char *from, char c)
{
    switch (c) {
    case 'n':
        return refuse_line_end(r);
    case 'r':
        return take_pattern_byte(r, from, '\r');
    case 't':
        return take_pattern_byte(r, from, '\t');
    case 'x':
        return take_escaped_number(r, from, 2);
    case 'u':
        return take_escaped_number(r, from, 4);
    case 'U':
        return take_escaped_number(r, from, 8);
    case 'p':
    case 'P':
        skip_braces(r, true);
        r->beyond = true;
        r->large_sets++;
        take_class(r, from, true);
        return 0;
    case 's':
    case 'D':
    case 'W':
        r->large_sets += c != 's';
        take_class(r, from, true);
        return 0;
    case 'S':
    case 'd':
    case 'w':
        r->large_sets += c != 'd';
        take_class(r, from, false);
        return 0;
    case 'b':
    case 'B':
    case '<':
    case '>':
        take_edge(r, from);
        return 0;
    default:
        /* \A and \z mean the ends of the line, and only alone with it does the engine see them. */
        r->out->by_line = r->out->by_line || c == 'A' || c == 'z';
        take_gap(r, from);
        return 0;
    }
}

static int take_escape(struct reader *r)
{
    const char *from = r->at++;
    char c = 'a'; /* a backslash at the end: the engine says so */
    if (r->at < r->end)
        c = *r->at++;
    if (c >= '0' && c <= '9')
        return refuse_reference(r, c);
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '<' || c == '>';
    if (letter || (unsigned char)c > 0x7f)
        return take_letter(r, from, c);
    return take_pattern_byte(r, from, c);
}

/* Behind a `[`: here `]` and `-` mean themselves. */
static void skip_set_start(struct reader *r)
{
    if (r->at < r->end && *r->at == '^')
        r->at++;
    while (r->at < r->end && *r->at == '-')
        r->at++;
    if (r->at < r->end && *r->at == ']')
        r->at++;
}

/* A set in brackets, others inside included. */
static void take_set(struct reader *r)
{
    const char *from = r->at;
    int depth = 0;
    do {
        char c = *r->at++;
        if (c == '\\' && r->at < r->end) {
            char escaped = *r->at++;
            r->out->keeps_cr = r->out->keeps_cr || escaped == 'r';
            r->beyond = r->beyond || (escaped && strchr("pPxuU", escaped));
            r->large_sets += escaped && strchr("pPwWDSxuU", escaped);
        }
        depth += c == '[';
        depth -= c == ']';
        if (c == '[')
            skip_set_start(r);
        r->out->keeps_cr = r->out->keeps_cr || c == '\r';
        r->beyond = r->beyond || (unsigned char)c > 0x7f;
        r->large_sets += c == '-' && r->at < r->end && (unsigned char)*r->at > 0x7f;
    } while (depth > 0 && r->at < r->end);
    if (depth > 0) {
        take_gap(r, from); /* not closed: the engine says so */
        return;
    }
    emit_set(r, from, true);
    needed_set(r->needed, (struct str){from + 1, (size_t)(r->at - from) - 2});
}

static int refuse_look_around(struct reader *r)
{
    return err_set(
        r->err, ERR_INVALID_PATTERN,
        "look-around (?=...) (?!...) (?<=...) (?<!...) is not supported, since matching takes "
        "linear time: search for the part that must be there and leave out lines by reading "
        "the result, or use \\b for the edges of words");
}

/* Flags behind `(?`. With some of them sets or the ends of lines mean something else. */
static void take_pattern_flags(struct reader *r)
{
    bool off = false;
    for (; r->at < r->end && *r->at && strchr("imsUuxR-", *r->at); r->at++) {
        off = off || *r->at == '-';
        r->out->folds = r->out->folds || *r->at == 'i';
        r->out->verbose = r->out->verbose || *r->at == 'x';
        r->out->by_line = r->out->by_line || strchr(off ? "muR" : "sxR", *r->at);
    }
}

/* Behind `(?`: P<name> or <name>. */
static void skip_name(struct reader *r)
{
    const char *open = r->at + (r->at < r->end && *r->at == 'P');
    if (open >= r->end || *open != '<')
        return;
    const char *close = memchr(open, '>', (size_t)(r->end - open));
    r->at = close ? close + 1 : r->end;
}

/* `(`, with what may follow it: (?i) (?i-u: (?P<name> (?<name> */
static int take_group(struct reader *r)
{
    const char *from = r->at++;
    bool opens = true;
    if (r->at < r->end && *r->at == '?') {
        const char *what = ++r->at;
        size_t left = (size_t)(r->end - what);
        if (left > 0 && (what[0] == '=' || what[0] == '!'))
            return refuse_look_around(r);
        if (left > 1 && what[0] == '<' && (what[1] == '=' || what[1] == '!'))
            return refuse_look_around(r);
        take_pattern_flags(r);
        skip_name(r);
        opens = r->at == r->end || *r->at != ')';
        if (r->at < r->end && (*r->at == ':' || *r->at == ')'))
            r->at++;
    }
    take_other(r, from);
    r->depth += opens;
    if (opens)
        needed_open(r->needed);
    else
        needed_gap(r->needed);
    return 0;
}

static int take_group_end(struct reader *r)
{
    const char *from = r->at++;
    if (r->depth == 0 && !r->out->verbose)
        return err_set(
            r->err, ERR_INVALID_PATTERN,
            "a `)` has no `(` before it; write \\) for the character itself, or set literal");
    take_other(r, from);
    needed_close(r->needed);
    r->depth -= r->depth > 0;
    return 0;
}

/* The character before may be there another number of times. */
static void take_repeat(struct reader *r)
{
    const char *from = r->at;
    char c = *r->at++;
    bool may_be_none = c == '*' || c == '?';
    if (c == '{') {
        const char *close = memchr(r->at, '}', (size_t)(r->end - r->at));
        may_be_none = !close || *r->at < '1' || *r->at > '9';
        r->at = close ? close + 1 : r->end;
    }
    /* Repeated once more, it may be none after all. */
    bool again = r->at < r->end && strchr("*+?{", *r->at);
    if (may_be_none || again)
        r->set_from = NULL;
    bool optional = c == '?' && !again;
    needed_repeat(r->needed, optional               ? NEEDED_OPTIONAL
                             : may_be_none || again ? NEEDED_ANY
                                                    : NEEDED_SOME);
    take_other(r, from);
}

static int take_plain(struct reader *r)
{
    const char *from = r->at;
    size_t n = utf8_sequence(from, (size_t)(r->end - from));
    r->at += n ? n : 1;
    return take_char(r, from, (struct str){from, (size_t)(r->at - from)});
}

static int take_pattern_part(struct reader *r)
{
    if (!strchr("*+?{", *r->at))
        keep_set(r);
    switch (*r->at) {
    case '\\':
        return take_escape(r);
    case '[':
        take_set(r);
        return 0;
    case '(':
        return take_group(r);
    case ')':
        return take_group_end(r);
    case '*':
    case '+':
    case '?':
    case '{':
        take_repeat(r);
        return 0;
    case '|':
        r->choice = r->choice || r->depth == 0;
        needed_or(r->needed);
        break;
    case '.':
    case '^':
    case '$':
        needed_gap(r->needed);
        break;
    default:
        return take_plain(r);
    }
    r->at++;
    take_other(r, r->at - 1);
    return 0;
}

static void pattern_init(struct pattern *p, struct str source)
{
    *p = (struct pattern){.literal = true};
    for (unsigned i = 0; i < PATTERN_VARIANTS; i++)
        buf_init(&p->text[i], (size_t)64 * PATTERN_MAX);
    texts_init(&p->texts);
    buf_init(&p->set, source.n + 1);
}

static int refuse_sets(struct err *err)
{
    return err_set(err, ERR_INVALID_PATTERN,
                   "the pattern names more than %d large sets such as \\w or \\p{L}: write fewer, "
                   "or sets of plain letters such as [a-z]",
                   LARGE_SETS_MAX);
}

static int read_once(struct pattern *p, struct str source, bool keeps_cr, struct err *err)
{
    pattern_init(p, source);
    struct reader r = {.out = p,
                       .at = source.p,
                       .end = source.p + source.n,
                       .err = err,
                       .needed = needed_new(),
                       .keeps_cr = keeps_cr};
    int result = 0;
    while (result == 0 && r.at < r.end)
        result = take_pattern_part(&r);
    if (result == 0 && r.large_sets > LARGE_SETS_MAX)
        result = refuse_sets(err);
    keep_set(&r);
    needed_end(r.needed, &p->texts, &p->exact);
    needed_free(r.needed);
    if (p->verbose)
        texts_clear(&p->texts);
    p->exact = p->exact && !p->folds && !p->verbose;
    if (r.choice || p->by_line)
        p->set.len = 0;
    p->beyond_ascii = r.beyond;
    return result;
}

int pattern_read(struct pattern *ret, struct str source, struct err *err)
{
    if (read_once(ret, source, false, err) < 0)
        return -1;
    if (!ret->keeps_cr)
        return 0;
    pattern_done(ret);
    return read_once(ret, source, true, err);
}

int pattern_literal(struct pattern *ret, struct str source, struct err *err)
{
    pattern_init(ret, source);
    if (memchr(source.p, '\n', source.n))
        return err_set(err, ERR_INVALID_PATTERN,
                       "a search looks at one line at a time: give a text without line ends");
    ret->keeps_cr = memchr(source.p, '\r', source.n);
    texts_restart(&ret->texts);
    texts_extend(&ret->texts, source);
    ret->exact = true;
    for (size_t i = 0; i < source.n; i++) {
        ret->beyond_ascii = ret->beyond_ascii || (unsigned char)source.p[i] > 0x7f;
        for (unsigned v = 0; v < PATTERN_VARIANTS; v++) {
            if (source.p[i] && strchr("\\.+*?()|[]{}^$#&-~", source.p[i]))
                buf_add_char(&ret->text[v], '\\');
            buf_add_char(&ret->text[v], source.p[i]);
        }
    }
    return 0;
}

void pattern_done(struct pattern *pattern)
{
    for (unsigned i = 0; i < PATTERN_VARIANTS; i++)
        buf_done(&pattern->text[i]);
    texts_done(&pattern->texts);
    buf_done(&pattern->set);
}

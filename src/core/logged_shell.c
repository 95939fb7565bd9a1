#include "core/logged_shell.h"

#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "core/logged_marks.h"
#include "core/logged_scripts.h"

/* Characters of base64 by which a line is told from a command: all lines of a key but its last have more. */
#define KEY_LINE_MIN 40
#define KEY_END_MIN 8

/* Bytes that were looked through for what ends them. */
struct logged_run {
    size_t from;
    size_t end;
    size_t
        found; /* of a pair: behind the last `=` in them, or 0; of a word: behind the blanks that follow */
};

struct logged_shell {
    struct str script;
    struct buf marks;  /* enum logged_mark of each byte */
    struct buf text;   /* the script with its continued lines joined, where it has any */
    struct buf places; /* uint32_t, where each byte of that stands in the script */
    bool code;         /* it is for an interpreter instead */
    /* Of a row of operators each asks for what ends the word behind it. */
    struct logged_run pair;
    struct logged_run word;
};

static bool is_command_separator(char c)
{
    return c == ';' || c == '&' || c == '|' || c == '\n';
}

static char shell_char_at(const struct logged_shell *s, size_t at)
{
    return at < s->script.n ? s->script.p[at] : '\0';
}

static enum logged_mark mark_at(const struct logged_shell *s, size_t at)
{
    return (enum logged_mark)(s->marks.data[at] & ~LOGGED_FLAGS);
}

/* `$(echo x)`: its value stands in the text, and nothing else is run. */
static bool only_prints(const struct logged_shell *s, size_t at)
{
    struct str rest = {s->script.p + at, s->script.n - at};
    bool prints = (rest.n > 7 && memcmp(rest.p, "$(echo ", 7) == 0) ||
                  (rest.n > 9 && memcmp(rest.p, "$(printf ", 9) == 0);
    prints = prints && !(s->marks.data[at] & LOGGED_RUN);
    for (size_t i = 2; prints && i < rest.n && rest.p[i] != ')'; i++)
        prints = !is_command_separator(rest.p[i]) && !strchr("`$<>", rest.p[i]);
    return prints;
}

static bool begins_substitution(const struct logged_shell *s, size_t at)
{
    char c = s->script.p[at];
    if (c == '`')
        return true;
    return strchr("$<>", c) && shell_char_at(s, at + 1) == '(' && !only_prints(s, at);
}

/* Whether the last look began before this and ended behind it. */
static bool is_in_run(const struct logged_run *run, size_t at)
{
    return at >= run->from && at < run->end;
}

static bool ends_pair(char c)
{
    return ascii_is_blank(c) || strchr(";'\"\n", c);
}

/* `; name=value` up to the next sign or quote: one more cookie. */
static bool is_cookie_pair(struct logged_shell *s, size_t at)
{
    struct logged_run *run = &s->pair;
    while (ascii_is_blank(shell_char_at(s, at)))
        at++;
    if (!is_in_run(run, at)) {
        *run = (struct logged_run){.from = at, .end = at};
        for (; run->end < s->script.n && !ends_pair(s->script.p[run->end]); run->end++)
            run->found = s->script.p[run->end] == '=' ? run->end + 1 : run->found;
    }
    return run->found > at && !ascii_is_blank(shell_char_at(s, run->end));
}

/* Behind the word at `at` and the blanks that follow it. */
static size_t behind_word(struct logged_shell *s, size_t at, enum logged_mark kind)
{
    struct logged_run *run = &s->word;
    if (is_in_run(run, at) && mark_at(s, at) == kind)
        return run->found;
    *run = (struct logged_run){.from = at, .end = at};
    while (run->end < s->script.n && !ascii_is_blank(s->script.p[run->end]) &&
           s->script.p[run->end] != '\n' && mark_at(s, run->end) == kind &&
           mark_at(s, run->end + 1) == kind)
        run->end++;
    run->found = run->end;
    while (ascii_is_blank(shell_char_at(s, run->found)))
        run->found++;
    return run->found;
}

/* A line with several words: a command rather than a part of a key. */
static bool has_words(struct logged_shell *s, size_t at)
{
    enum logged_mark kind = mark_at(s, at);
    while (ascii_is_blank(shell_char_at(s, at)))
        at++;
    at = behind_word(s, at, kind);
    return at < s->script.n && !strchr("\n'\"", s->script.p[at]);
}

/* In quotes it may be text for another shell. `own`: the quotes hold nothing but the secret. */
static bool ends_quoted(struct logged_shell *s, size_t at, bool own)
{
    char c = s->script.p[at];
    char next = shell_char_at(s, at + 1);
    if (c == '\n')
        return has_words(s, at + 1);
    bool command = ascii_is_blank(next) || next == '\n' || next == c ||
                   (!own && has_words(s, at + 1));
    return is_command_separator(c) && command && !is_cookie_pair(s, at + 1);
}

static size_t before_blanks(const struct logged_shell *s, size_t at)
{
    while (at && ascii_is_blank(s->script.p[at - 1]))
        at--;
    return at;
}

/* `NAME= program`: the value is empty, and the next word is run. */
static bool is_behind_empty(const struct logged_shell *s, size_t at, size_t end)
{
    return end && end < at && s->script.p[end - 1] == '=' &&
           !(end > 1 && ascii_is_blank(s->script.p[end - 2]));
}

static bool is_quote_char(char c)
{
    return c == '\'' || c == '"';
}

/* Where the shell looks for a command, also for one in quotes. */
static bool is_command_place(const struct logged_shell *s, size_t at)
{
    at -= at && is_quote_char(s->script.p[at - 1]);
    size_t end = before_blanks(s, at);
    char before = end ? s->script.p[end - 1] : '\n';
    bool opens = before == '(' && end > 1 && strchr("$<>", s->script.p[end - 2]);
    if (is_behind_empty(s, at, end))
        return true;
    if (mark_at(s, end ? end - 1 : at) != LOGGED_PLAIN)
        return false;
    return is_command_separator(before) || before == '`' || before == '\r' || opens;
}

/* The name of a program is told, unless it looks like a secret by itself. */
static size_t program_end(const struct logged_shell *s, size_t from, size_t to)
{
    size_t end = from;
    while (end < to && !ascii_is_blank(s->script.p[end]) && !is_command_separator(s->script.p[end]))
        end++;
    struct str word = {s->script.p + from, end - from};
    BUF_AT_END struct buf ranges = BUF_INIT((word.n + 1) * sizeof(struct redact_range));
    return redact_find(word, &ranges) ? end : from;
}

static bool ends_at(struct logged_shell *s, size_t at, bool own, bool list)
{
    char c = s->script.p[at];
    if (begins_substitution(s, at))
        return true;
    if (mark_at(s, at) != LOGGED_PLAIN)
        return ends_quoted(s, at, own);
    return is_command_separator(c) || (ascii_is_blank(c) && !list);
}

static bool is_escape(const struct logged_shell *s, size_t at)
{
    enum logged_mark kind = mark_at(s, at);
    return s->script.p[at] == '\\' && kind != LOGGED_DATA &&
           (kind == LOGGED_PLAIN || shell_char_at(s, at + 1) != '\n');
}

static size_t secret_end(struct logged_shell *s, size_t from, size_t to)
{
    if (is_command_place(s, from))
        return program_end(s, from, to);
    bool list = shell_char_at(s, from) == '(';
    bool own = from && is_quote_char(s->script.p[from - 1]);
    for (size_t at = from; at < to; at++) {
        if (s->script.p[at] == '$' && only_prints(s, at)) {
            while (at < to && s->script.p[at] != ')')
                at++;
        } else if (is_escape(s, at)) {
            at++;
        } else if (ends_at(s, at, own, list)) {
            return at;
        }
    }
    return to;
}

/* --- keys in lines */

static bool script_begins_at(const struct logged_shell *s, size_t at, const char *text)
{
    size_t n = strlen(text);
    return s->script.n - at >= n && memcmp(s->script.p + at, text, n) == 0;
}

static bool is_base64_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("+/=", c));
}

/* Its last line has any length: in quotes it is one if it looks like no word, in a file whatever it is. */
static bool is_key_line(const struct logged_shell *s, size_t from, size_t to)
{
    enum logged_mark kind = mark_at(s, from);
    bool digit = false;
    bool capital = false;
    bool small = false;
    for (size_t i = from; i < to; i++) {
        char c = s->script.p[i];
        digit |= c >= '0' && c <= '9';
        capital |= c >= 'A' && c <= 'Z';
        small |= c >= 'a' && c <= 'z';
    }
    bool random = s->script.p[to - 1] == '=' || (digit && capital && small);
    return to - from >= KEY_LINE_MIN || kind == LOGGED_DATA ||
           (kind == LOGGED_QUOTED && random && to - from >= KEY_END_MIN);
}

static size_t shell_line_end(const struct logged_shell *s, size_t from, size_t to)
{
    const char *line = memchr(s->script.p + from, '\n', to - from);
    return line ? (size_t)(line - s->script.p) : to;
}

/* Behind `-----BEGIN … KEY-----`, as far as it stands there. */
static size_t dashes_end(const struct logged_shell *s, size_t from, size_t to)
{
    size_t end = shell_line_end(s, from, to);
    const char *dashes = memmem(s->script.p + from + 5, end - from - 5, "-----", 5);
    return dashes ? (size_t)(dashes - s->script.p) + 5 : from + 5;
}

/* Behind what stands between the lines: their ends, also written as `\n`, and what tells how the key is locked. */
static size_t between_lines(const struct logged_shell *s, size_t at, size_t to)
{
    for (size_t begin = to; at < to && at != begin;) {
        begin = at;
        while (at < to && (ascii_is_blank(s->script.p[at]) || strchr("\r\n", s->script.p[at])))
            at++;
        if (script_begins_at(s, at, "\\n") || script_begins_at(s, at, "\\r"))
            at += 2;
        if (script_begins_at(s, at, "Proc-Type:") || script_begins_at(s, at, "DEK-Info:"))
            at = shell_line_end(s, at, to);
    }
    return at < to ? at : to;
}

/* Behind the line of a key at `at`; `at`: it could be a command. */
static size_t key_line_end(const struct logged_shell *s, size_t at, size_t to)
{
    size_t end = at;
    if (script_begins_at(s, at, "-----BEGIN ") || script_begins_at(s, at, "-----END "))
        return dashes_end(s, at, to);
    while (end < to && is_base64_char(s->script.p[end]))
        end++;
    bool alone = end > at && !ascii_is_blank(shell_char_at(s, end));
    return alone && is_key_line(s, at, end) ? end : at;
}

/* Its lines up to the first that could be a command. */
static size_t key_end(const struct logged_shell *s, size_t from, size_t to)
{
    enum logged_mark kind = mark_at(s, from);
    size_t end = from;
    for (size_t at = from; at < to && mark_at(s, at) == kind;) {
        size_t next = key_line_end(s, at, to);
        if (next == at)
            break;
        end = next;
        at = between_lines(s, next, to);
    }
    return end < to ? end : to;
}

static size_t shell_secret_end(void *shell, size_t from, size_t to)
{
    struct logged_shell *s = shell;
    if (script_begins_at(s, from, "-----BEGIN "))
        return key_end(s, from, to);
    return s->code ? logged_code_end(s->script, from, to) : secret_end(s, from, to);
}

/* --- continued lines */

/* A name or a value can stand on two lines: they are looked for in the text that the shell makes of it. */
static bool join_lines(struct logged_shell *s, struct str script)
{
    if (!memmem(script.p, script.n, "\\\n", 2))
        return true;
    s->text = BUF_INIT(script.n + 1);
    s->places = BUF_INIT((script.n + 1) * sizeof(uint32_t));
    size_t n = 0;
    for (size_t at = 0; at < script.n; at++) {
        if (s->marks.data[at] & LOGGED_JOINED)
            continue;
        s->marks.data[n++] = s->marks.data[at];
        buf_add_char(&s->text, script.p[at]);
        buf_add(&s->places, &(uint32_t){(uint32_t)at}, sizeof(uint32_t));
    }
    s->marks.data[n] = LOGGED_PLAIN;
    s->script = buf_str(&s->text);
    return !s->text.failed && !s->places.failed;
}

/* Where a byte of the joined text stands in the script. */
static size_t place_in_script(const struct logged_shell *s, size_t at)
{
    uint32_t place;
    if (!s->places.len)
        return at;
    memcpy(&place, s->places.data + at * sizeof place, sizeof place);
    return place;
}

/* Behind the byte before `end`. */
static size_t end_in_script(const struct logged_shell *s, size_t end)
{
    return end ? place_in_script(s, end - 1) + 1 : 0;
}

/* How many bytes of the joined text are of the first `n` of the script. */
static size_t n_joined(const struct logged_shell *s, size_t n)
{
    size_t low = 0;
    size_t high = s->script.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (place_in_script(s, middle) < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void move_to_script(const struct logged_shell *s, struct buf *ranges)
{
    for (size_t i = 0; i < ranges->len; i += sizeof(struct redact_range)) {
        struct redact_range range;
        memcpy(&range, ranges->data + i, sizeof range);
        range = (struct redact_range){place_in_script(s, range.from), end_in_script(s, range.to)};
        memcpy(ranges->data + i, &range, sizeof range);
    }
}

/* --- all of it */

static bool read_marks(struct logged_shell *s, struct str script, bool code)
{
    *s = (struct logged_shell){.script = script, .code = code};
    if (!code)
        return logged_marks(script, &s->marks) && join_lines(s, script);
    s->marks = BUF_INIT(script.n + 1);
    if (buf_reserve(&s->marks, script.n + 1) < 0)
        return false;
    memset(s->marks.data, LOGGED_QUOTED, script.n + 1);
    return true;
}

static void shell_done(struct logged_shell *s)
{
    buf_done(&s->marks);
    buf_done(&s->text);
    buf_done(&s->places);
}

bool logged_shell_find(struct str *script, bool code, size_t begun, struct buf *ranges)
{
    CLEANUP(shell_done) struct logged_shell s;
    if (!read_marks(&s, *script, code))
        return false;
    const struct redact_ends ends = {shell_secret_end, &s};
    struct redact_range range = {0};
    begun = n_joined(&s, begun);
    range.to = begun ? shell_secret_end(&s, 0, begun) : 0;
    if (range.to)
        buf_add(ranges, &range, sizeof range);
    size_t looked = redact_find_ends(s.script, &ends, ranges);
    if (looked < s.script.n)
        script->n = end_in_script(&s, looked);
    move_to_script(&s, ranges);
    return !ranges->failed;
}

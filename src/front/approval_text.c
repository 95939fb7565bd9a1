#include "front/approval_text.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/shell_word.h"
#include "base/shown.h"

#define FIELD_MAX 200
#define SUMMARY_MAX (32u << 10)

static struct str text_or_empty(const char *text)
{
    return text ? (struct str){text, strlen(text)} : (struct str){"", 0};
}

/* What was made fit when the call was held is printed as it is; anything else that got here is made fit now. */
static void add_fit(struct str text, size_t max, struct buf *out)
{
    if (shown_is_fit(text, false))
        buf_add(out, text.p, text.n);
    else
        shown_line(text, max, out);
}

void approval_text_excerpt(const struct approval *a, const struct approval_style *style, size_t max,
                           struct approval_seen *ret, struct buf *out)
{
    size_t total = approval_rows_count(a, style);
    /* The end is shown too: that is where something would be hidden. */
    size_t tail = total > max ? max / 4 : 0;
    size_t head = total > max ? max - tail : total;
    *ret = (struct approval_seen){.total = total, .head = head, .tail = tail};
    approval_rows_add(a, style, 0, head, out);
    if (head == total)
        return;
    buf_addf(out, "  (%zu lines are not shown here)\n", total - head - tail);
    approval_rows_add(a, style, total - tail, tail, out);
}

void approval_text_time(int64_t ms, struct buf *out)
{
    long long s = ms < 0 ? 0 : ms / 1000;
    if (s < 60)
        buf_addf(out, "%lld s", s);
    else if (s < 3600)
        buf_addf(out, "%lld min %lld s", s / 60, s % 60);
    else
        buf_addf(out, "%lld h %lld min", s / 3600, s / 60 % 60);
}

/* A session without a name is called after its gate, which says nothing to a person. */
static const char *session_named_in_approval(const struct approval *a)
{
    return a->session && a->session[0] && strncmp(a->session, "gate:", 5) != 0 ? a->session : NULL;
}

void approval_text_state(const struct approval *a, struct buf *out)
{
    static const char *const words[] = {
        [APPROVAL_WAITING] = "waiting",
        [APPROVAL_APPROVED] = "approved",
        [APPROVAL_USED] = "approved",
        [APPROVAL_DENIED] = "denied",
        [APPROVAL_TIMED_OUT] = "nobody answered in time",
        [APPROVAL_CANCELLED] = "cancelled",
        [APPROVAL_GONE] = "its gate died",
    };
    bool yes = a->state == APPROVAL_APPROVED || a->state == APPROVAL_USED;
    buf_add_text(out, words[a->state]);
    if (yes && a->scope == APPROVE_SESSION)
        buf_add_text(out, " for the session");
    if (yes && a->scope == APPROVE_ALWAYS)
        buf_add_text(out, " for always");
    if ((yes || a->state == APPROVAL_DENIED) && a->decided_by) {
        buf_add_text(out, " by ");
        add_fit(text_or_empty(a->decided_by), FIELD_MAX, out);
    }
}

/* Quoted where it could be taken for several, or for none. */
static void add_approval_column(const char *text, struct buf *out)
{
    BUF_AT_END struct buf word = BUF_INIT(SIZE_MAX);
    buf_add_text(out, "  ");
    if (!text) {
        buf_add_char(out, '-');
        return;
    }
    if (strcmp(text, "-") == 0)
        buf_add_text(&word, "'-'");
    else
        shell_word(text_or_empty(text), &word);
    add_fit(buf_str(&word), FIELD_MAX, out);
}

void approval_text_line(const struct approval *a, bool all, int64_t now_ms, struct buf *out)
{
    buf_addf(out, "%s  ", a->id);
    approval_text_time(now_ms - a->asked_ms, out);
    if (all) {
        buf_add_text(out, "  ");
        approval_text_state(a, out);
    }
    add_approval_column(a->tool, out);
    add_approval_column(a->agent, out);
    add_approval_column(session_named_in_approval(a), out);
    buf_add_text(out, "  ");
    add_fit(text_or_empty(a->summary), SUMMARY_MAX, out);
    buf_add_char(out, '\n');
}

/* NULL: it cannot be read. */
static char *lay_out(struct str rule)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(rule.p, rule.n, rule.n, JSON_STRICT, &doc, NULL) < 0)
        return NULL;
    return yyjson_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, NULL);
}

void approval_text_rule(struct str rule, const struct approval_style *style, struct buf *out)
{
    FREE_AT_END char *pretty = lay_out(rule);
    approval_rows_text(pretty ? text_or_empty(pretty) : rule, style, out);
}

void approval_text_proposal(struct str rule, struct buf *out)
{
    FREE_AT_END char *pretty = lay_out(rule);
    struct str rest = pretty ? text_or_empty(pretty) : rule;
    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        size_t n = end ? (size_t)(end - rest.p) : rest.n;
        shown_line((struct str){rest.p, n}, out->max, out);
        buf_add_char(out, '\n');
        n += end != NULL;
        rest = (struct str){rest.p + n, rest.n - n};
    }
}

static void add_time(struct json_out *j, const char *key, int64_t ms)
{
    char text[CLOCK_TEXT_MAX];
    clock_format_utc(ms, text);
    jo_ktext(j, key, ms ? text : NULL);
}

void approval_text_json(const struct approval *a, bool full, struct json_out *j)
{
    bool yes = a->state == APPROVAL_APPROVED || a->state == APPROVAL_USED;
    jo_open(j, '{');
    jo_ktext(j, "id", a->id);
    jo_ktext(j, "state", approval_state_names[a->state]);
    jo_ktext(j, "tool", a->tool);
    jo_ktext(j, "dialect", a->dialect);
    jo_ktext(j, "agent", a->agent);
    jo_ktext(j, "session", session_named_in_approval(a));
    jo_ktext(j, "workspace", a->workspace);
    jo_ktext(j, "rule", a->rule);
    jo_ktext(j, "summary", a->summary);
    if (full)
        jo_ktext(j, "detail", a->detail);
    if (full) {
        jo_key(j, "proposal");
        jo_raw(j, a->proposal ? text_or_empty(a->proposal) : STR("null"));
    }
    add_time(j, "asked_at", a->asked_ms);
    add_time(j, "expires_at", a->expires_ms);
    jo_ktext(j, "scope", yes ? approval_scope_names[a->scope] : NULL);
    add_time(j, "decided_at", a->decided_ms);
    jo_ktext(j, "decided_by", a->decided_by);
    jo_close(j, '}');
}

bool approval_text_id(struct str text, const char *verb, char id[APPROVAL_ID_MAX])
{
    size_t n = strlen(verb);
    if (text.n > n && memcmp(text.p, verb, n) == 0 && text.p[n] == ' ') {
        text = (struct str){text.p + n, text.n - n};
        while (text.n && text.p[0] == ' ')
            text = (struct str){text.p + 1, text.n - 1};
    }
    if (text.n == 0 || text.n >= APPROVAL_ID_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            return false;
        id[i] = c;
    }
    id[text.n] = '\0';
    return true;
}

#include "approval.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"

/* --- reading */

/* Letters and digits, as the gate makes them: then it can stand in a line as it is. */
static bool is_request_id(const char *text)
{
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t n = text ? strspn(text, allowed) : 0;
    return n > 0 && n < SANDGATE_REQUEST_ID_MAX && text[n] == '\0';
}

static const char **field_of(struct sandgate_approval_event *event, const char *name)
{
    const struct {
        const char *name;
        const char **field;
    } fields[] = {
        {"event", &event->kind},
        {"requestId", &event->request_id},
        {"tool", &event->tool},
        {"rule", &event->rule},
        {"summary", &event->summary},
        {"detail", &event->detail},
        {"expiresAt", &event->expires_at},
        {"proposal", &event->proposal},
        {"state", &event->state},
        {"by", &event->by},
        {"message", &event->message},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(name, fields[i].name) == 0)
            return fields[i].field;
    }
    return NULL;
}

/* A string at *text, which moves behind it. NULs in it would hide what follows them: then it is none. */
static const char *take_text(const char **p, const char *end, char **text)
{
    size_t n;
    const char *begin = *text;
    if (!sandgate_wire_take(p, end, "\"") || !sandgate_event_take_string(p, end, *text, &n) ||
        memchr(begin, '\0', n))
        return NULL;
    *text += n + 1;
    return begin;
}

/* What is not text: null, true, false, a number. */
static bool take_word(const char **p, const char *end)
{
    const char *begin = *p;
    while (*p < end && **p && strchr("+-.0123456789Eabcdefghijklmnopqrstuvwxyz", **p))
        (*p)++;
    return *p > begin;
}

static uint64_t read_id(const char *text)
{
    uint64_t id;
    const char *end = text + strlen(text);
    return sandgate_wire_take_id(&text, end, &id) && text == end ? id : 0;
}

static bool take_member(const char **p, const char *end, char **text,
                        struct sandgate_approval_event *event)
{
    const char *name = take_text(p, end, text);
    if (!name || !sandgate_wire_take(p, end, ":"))
        return false;
    const char **field = field_of(event, name);
    if (sandgate_wire_take(p, end, "null"))
        return true;
    if (*p == end || **p != '"')
        return !field && take_word(p, end);
    const char *value = take_text(p, end, text);
    if (!value || (field && *field))
        return false;
    if (field)
        *field = value;
    else if (strcmp(name, "id") == 0)
        event->id = read_id(value);
    return true;
}

/* Each name and each value takes at most as much room decoded, with its NUL, as it has in the line. */
bool sandgate_approval_read(const char *line, size_t n, char *text,
                            struct sandgate_approval_event *ret)
{
    const char *p = line;
    const char *end = line + n;
    *ret = (struct sandgate_approval_event){0};
    if (!sandgate_wire_take(&p, end, "{"))
        return false;
    do {
        if (!take_member(&p, end, &text, ret))
            return false;
    } while (sandgate_wire_take(&p, end, ","));
    return sandgate_wire_take(&p, end, "}") && p == end;
}

/* --- questions */

static size_t find(const struct sandgate_approvals *a, const char *id)
{
    size_t i = 0;
    while (i < a->n_open && strcmp(a->open[i], id) != 0)
        i++;
    return i;
}

static int add(struct sandgate_approvals *a, const char *id)
{
    if (a->n_open == a->room) {
        size_t room = a->room ? 2 * a->room : 8;
        void *open = realloc(a->open, room * sizeof *a->open);
        if (!open)
            return -ENOMEM;
        a->open = open;
        a->room = room;
    }
    snprintf(a->open[a->n_open++], sizeof *a->open, "%s", id);
    return 0;
}

static int take_question(struct sandgate_approvals *a, const struct sandgate_approval_event *event)
{
    struct sandgate_approval approval = {
        .request_id = event->request_id,
        .id = event->id,
        .tool = event->tool,
        .rule = event->rule,
        .summary = event->summary,
        .detail = event->detail,
        .expires_at = event->expires_at,
        .proposal = event->proposal,
    };
    if (!event->tool || !event->rule || !event->summary || !event->detail || !event->expires_at ||
        find(a, event->request_id) < a->n_open || a->n_open == SANDGATE_APPROVALS_MAX)
        return 0;
    if (add(a, event->request_id) < 0)
        return -ENOMEM;
    a->on_approval(a->arg, &approval);
    return 0;
}

static int state_of(const char *word)
{
    static const char *const words[] = {
        [SANDGATE_APPROVED] = "approved",
        [SANDGATE_DENIED] = "denied",
        [SANDGATE_TIMED_OUT] = "timed_out",
        [SANDGATE_CANCELLED] = "cancelled",
    };
    int state = sizeof words / sizeof *words - 1;
    while (state > 0 && (!word || strcmp(word, words[state]) != 0))
        state--;
    return state;
}

static void take_over(struct sandgate_approvals *a, const struct sandgate_approval_event *event)
{
    struct sandgate_approval_over over = {
        .request_id = event->request_id,
        .state = state_of(event->state),
        .by = event->by,
    };
    size_t i = find(a, event->request_id);
    if (i == a->n_open)
        return;
    memmove(a->open + i, a->open + i + 1, (a->n_open - i - 1) * sizeof *a->open);
    a->n_open--;
    if (a->on_over)
        a->on_over(a->arg, &over);
}

int sandgate_approvals_take(struct sandgate_approvals *a, const char *line, size_t n, char *text)
{
    struct sandgate_approval_event event;
    if (!sandgate_approval_read(line, n, text, &event) || !event.kind ||
        !is_request_id(event.request_id))
        return 0;
    if (strcmp(event.kind, "approval") == 0)
        return take_question(a, &event);
    if (strcmp(event.kind, "approval_over") == 0)
        take_over(a, &event);
    else if (strcmp(event.kind, "error") == 0 && event.message && a->on_refused)
        a->on_refused(a->arg, event.request_id, event.message);
    return 0;
}

int sandgate_approvals_answer(const struct sandgate_approvals *a, struct sandgate_text *out,
                              const char *request_id, int scope)
{
    static const char *const scopes[] = {
        [SANDGATE_ONCE] = "once",
        [SANDGATE_SESSION] = "session",
        [SANDGATE_ALWAYS] = "always",
    };
    char line[128];
    int n;
    if (scope != SANDGATE_APPROVALS_DENY && (scope < SANDGATE_ONCE || scope > SANDGATE_ALWAYS))
        return -EINVAL;
    if (!is_request_id(request_id) || find(a, request_id) == a->n_open)
        return -ENOENT;
    if (scope == SANDGATE_APPROVALS_DENY)
        n = snprintf(line, sizeof line, "{\"deny\":\"%s\"}\n", request_id);
    else
        n = snprintf(line, sizeof line, "{\"approve\":\"%s\",\"scope\":\"%s\"}\n", request_id,
                     scopes[scope]);
    if (sandgate_text_reserve(out, (size_t)n) < 0)
        return -ENOMEM;
    memcpy(out->data + out->n, line, (size_t)n);
    out->n += (size_t)n;
    return 0;
}

void sandgate_approvals_done(struct sandgate_approvals *a)
{
    free(a->open);
    *a = (struct sandgate_approvals){0};
}

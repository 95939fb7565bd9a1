#include "front/audit_view.h"

#include <stdlib.h>

#include "base/mem.h"

#define BUCKETS 1024
/* Calls at the same time whose ends are waited for; the oldest is then shown as it is. */
#define OPEN_MAX 8192
#define OPEN_BYTES_MAX (64u << 20)

/* A call whose end was not seen yet. */
struct open_call {
    struct open_call *next; /* in its bucket */
    struct open_call *older;
    struct open_call *newer;
    yyjson_doc *doc; /* of the intent */
    char *line;
    size_t n;
    int64_t at_ms;
    bool unchained;
};

struct audit_view {
    const struct audit_filter *filter;
    audit_item_fn show;
    void *arg;
    struct open_call *buckets[BUCKETS];
    struct open_call *oldest;
    struct open_call *newest;
    size_t n_open;
    size_t open_bytes;
};

/* --- items */

yyjson_val *audit_item_field(const struct audit_item *item, const char *field)
{
    yyjson_val *val = yyjson_obj_get(item->record, field);
    return val || !item->intent ? val : yyjson_obj_get(item->intent, field);
}

struct str audit_item_text(const struct audit_item *item, const char *field)
{
    yyjson_val *val = audit_item_field(item, field);
    return yyjson_is_str(val) ? json_str(val) : STR("");
}

bool audit_item_is_call(const struct audit_item *item)
{
    struct str kind = audit_item_text(item, "kind");
    return kind.n > 5 && memcmp(kind.p, "call.", 5) == 0;
}

bool audit_item_failed(const struct audit_item *item)
{
    yyjson_val *ok = yyjson_obj_get(item->record, "ok");
    yyjson_val *end = yyjson_obj_get(item->record, "end");
    if (yyjson_is_obj(end) && (!yyjson_equals_str(yyjson_obj_get(end, "by"), "exit") ||
                               yyjson_get_sint(yyjson_obj_get(end, "exitCode")) != 0))
        return true;
    return (yyjson_is_bool(ok) && !yyjson_get_bool(ok)) ||
           str_is(audit_item_text(item, "kind"), "call.interrupted");
}

/* --- filter */

static bool is_or_any(const struct audit_item *item, const char *field, const char *wanted)
{
    return !wanted || str_is(audit_item_text(item, field), wanted);
}

static bool begins_or_any(struct str text, const char *wanted)
{
    size_t n = wanted ? strlen(wanted) : 0;
    return n == 0 || (text.n >= n && memcmp(text.p, wanted, n) == 0);
}

static bool is_brief(const struct audit_item *item)
{
    struct str kind = audit_item_text(item, "kind");
    return !begins_or_any(kind, "gate.") && !begins_or_any(kind, "log.");
}

static bool is_wanted(const struct audit_filter *f, const struct audit_item *item)
{
    if (item->at_ms < f->since_ms || item->at_ms > f->until_ms ||
        !begins_or_any(audit_item_text(item, "gate"), f->gate) ||
        !is_or_any(item, "session", f->session) || !is_or_any(item, "agent", f->agent) ||
        !is_or_any(item, "code", f->code))
        return false;
    if (f->call && !is_or_any(item, "call", f->call) && !is_or_any(item, "id", f->call))
        return false;
    if ((f->tool && !glob_match(f->tool, audit_item_text(item, "tool"))) ||
        (f->kind && !glob_match(f->kind, audit_item_text(item, "kind"))))
        return false;
    return (!f->failed || audit_item_failed(item)) && (!f->brief || is_brief(item));
}

static void show_wanted_item(struct audit_view *view, const struct audit_item *item)
{
    if (is_wanted(view->filter, item))
        view->show(view->arg, item);
}

/* --- calls without an end */

static struct open_call **viewed_call_bucket(struct audit_view *view, struct str uid)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < uid.n; i++)
        hash = (hash ^ (unsigned char)uid.p[i]) * 16777619u;
    return &view->buckets[hash % BUCKETS];
}

static struct str uid_of(const struct open_call *call)
{
    yyjson_val *uid = yyjson_obj_get(yyjson_doc_get_root(call->doc), "call");
    return yyjson_is_str(uid) ? json_str(uid) : STR("");
}

static struct open_call **find_viewed_call(struct audit_view *view, struct str uid)
{
    struct open_call **at = viewed_call_bucket(view, uid);
    while (*at) {
        struct str own = uid_of(*at);
        if (own.n == uid.n && memcmp(own.p, uid.p, uid.n) == 0)
            break;
        at = &(*at)->next;
    }
    return at;
}

static void forget_viewed_call(struct audit_view *view, struct open_call **at)
{
    struct open_call *call = *at;
    *at = call->next;
    *(call->older ? &call->older->newer : &view->oldest) = call->newer;
    *(call->newer ? &call->newer->older : &view->newest) = call->older;
    view->n_open--;
    view->open_bytes -= call->n;
    yyjson_doc_free(call->doc);
    free(call->line);
    free(call);
}

static void show_open(struct audit_view *view, const struct open_call *call)
{
    struct audit_item item = {.line = {call->line, call->n},
                              .record = yyjson_doc_get_root(call->doc),
                              .at_ms = call->at_ms,
                              .unchained = call->unchained};
    if (view->filter->joined)
        show_wanted_item(view, &item);
}

static void forget_oldest(struct audit_view *view)
{
    show_open(view, view->oldest);
    forget_viewed_call(view, find_viewed_call(view, uid_of(view->oldest)));
}

static void remember(struct audit_view *view, const struct audit_entry *entry, struct str uid)
{
    struct open_call **known = find_viewed_call(view, uid);
    if (*known)
        forget_viewed_call(view, known);
    struct open_call *call = mem_zero(sizeof *call);
    call->line = mem_copy(entry->line.p, entry->line.n);
    call->n = entry->line.n;
    call->at_ms = entry->at_ms;
    call->unchained = entry->unchained;
    /* It was read once already. */
    if (json_parse(call->line, call->n, call->n, JSON_STRICT, &call->doc, NULL) < 0)
        abort();
    struct open_call **at = viewed_call_bucket(view, uid);
    call->next = *at;
    *at = call;
    call->older = view->newest;
    *(view->newest ? &view->newest->newer : &view->oldest) = call;
    view->newest = call;
    view->n_open++;
    view->open_bytes += call->n;
    while (view->n_open > OPEN_MAX || view->open_bytes > OPEN_BYTES_MAX)
        forget_oldest(view);
}

/* --- the view */

struct audit_view *audit_view_new(const struct audit_filter *filter, audit_item_fn show_item,
                                  void *arg)
{
    struct audit_view *view = mem_zero(sizeof *view);
    view->filter = filter;
    view->show = show_item;
    view->arg = arg;
    return view;
}

void audit_view_free(struct audit_view *view)
{
    if (!view)
        return;
    while (view->oldest)
        forget_viewed_call(view, find_viewed_call(view, uid_of(view->oldest)));
    free(view);
}

void audit_view_add(struct audit_view *view, const struct audit_entry *entry, bool partly)
{
    struct audit_item item = {.line = entry->line,
                              .record = entry->record,
                              .at_ms = entry->at_ms,
                              .unchained = entry->unchained};
    struct str kind = audit_item_text(&item, "kind");
    struct str uid = audit_item_text(&item, "call");
    bool intent = uid.n && str_is(kind, "call.intent");
    bool end = uid.n && (str_is(kind, "call.outcome") || str_is(kind, "call.interrupted"));
    if (intent) {
        if (!view->filter->joined)
            show_wanted_item(view, &item);
        remember(view, entry, uid);
        return;
    }
    struct open_call **call = uid.n ? find_viewed_call(view, uid) : NULL;
    if (call && *call) {
        item.intent = yyjson_doc_get_root((*call)->doc);
        item.unchained |= view->filter->joined && (*call)->unchained;
    }
    if (!(end && partly && !item.intent))
        show_wanted_item(view, &item);
    if (end && call && *call)
        forget_viewed_call(view, call);
}

void audit_view_end(struct audit_view *view)
{
    for (struct open_call *call = view->oldest; call; call = call->newer)
        show_open(view, call);
}

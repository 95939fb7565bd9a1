/* Which records of the log are wanted, and a call's records put together. */
#ifndef SANDGATE_FRONT_AUDIT_VIEW_H
#define SANDGATE_FRONT_AUDIT_VIEW_H

#include "core/glob.h"
#include "front/options.h"
#include "store/audit_read.h"

/* What is shown as one: a record or, of a call that has ended, its last record and its first. */
struct audit_item {
    struct str line; /* of `record`, as it stands in the file */
    yyjson_val *record;
    yyjson_val *intent; /* NULL: there was none, or it is `record` */
    int64_t at_ms;      /* when it ended */
    bool unchained;     /* one of the two does not fit into the chain: it was changed or added */
};

/* A field of the record or, where it has none of that name, of the intent. Text, "" where there is none. */
struct str audit_item_text(const struct audit_item *item, const char *field);
yyjson_val *audit_item_field(const struct audit_item *item, const char *field);
/* `call.outcome` and its like: the end of a call, or one that has none yet. */
bool audit_item_is_call(const struct audit_item *item);
/* A call that failed or was refused, or whose command did: any end but the exit code 0. */
bool audit_item_failed(const struct audit_item *item);

struct audit_filter {
    const char *gate; /* or the beginning of it */
    const char *session;
    const char *agent;
    const char *call; /* ours or the caller's */
    const char *code;
    struct glob *tool;
    struct glob *kind;
    bool failed;
    int64_t since_ms;
    int64_t until_ms;
    bool joined; /* calls as one item, else each record */
    bool brief;  /* joined: without what gates say of themselves and of the log */
};

int audit_filter_init(struct audit_filter *filter, const struct options *o, struct err *err);
void audit_filter_done(struct audit_filter *filter);

struct audit_view;
typedef void (*audit_item_fn)(void *arg, const struct audit_item *item);

struct audit_view *audit_view_new(const struct audit_filter *filter, audit_item_fn show, void *arg);
void audit_view_free(struct audit_view *view);
/* `partly`: the log is not read from its beginning, so that a call whose intent was not seen is left out. */
void audit_view_add(struct audit_view *view, const struct audit_entry *entry, bool partly);
/* Shows the calls that have no end. */
void audit_view_end(struct audit_view *view);

#endif

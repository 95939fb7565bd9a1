/* Items of the audit log as text for people, as they stand in the log, and for other programs that keep logs. */
#ifndef SANDGATE_FRONT_AUDIT_WRITE_H
#define SANDGATE_FRONT_AUDIT_WRITE_H

#include "front/audit_view.h"

/* Before what does not fit into the chain. */
#define AUDIT_UNCHAINED "NOT-IN-CHAIN"

struct audit_style {
    bool colours;
    bool terminal; /* no control characters of the log reach it */
    bool whole;    /* one call is wanted: nothing of it is cut, and all of it is told */
};

struct audit_writer {
    const char *name;
    bool joined; /* a call is one item */
    bool brief;
    const char *head; /* printed before everything else; NULL: nothing */
    void (*write)(const struct audit_item *item, const struct audit_style *style, struct buf *out);
};

/* The one of this name, or NULL with what there is. */
const struct audit_writer *audit_writer_find(const char *name, struct err *err);

/* `file.read: ok` and the like, in plain words. */
void audit_write_title(const struct audit_item *item, struct buf *out);
/* A name that others chose: in quotes where it could be taken for more than one column. */
void audit_write_name(struct str name, size_t max, struct buf *out);
/* What became of a call: `ok`, `exit 1`, `signal 9`, `timeout`, a code. */
void audit_write_result(const struct audit_item *item, struct buf *out);
/* Whether it is a failure of ours: neither the policy nor the caller was the reason. */
bool audit_is_fault(const struct audit_item *item);

void audit_write_text(const struct audit_item *item, const struct audit_style *style,
                      struct buf *out);
/* A script for bash of the commands that ran. */
void audit_write_script(const struct audit_item *item, const struct audit_style *style,
                        struct buf *out);
extern const char audit_script_head[];
void audit_write_otel(const struct audit_item *item, const struct audit_style *style,
                      struct buf *out);
void audit_write_journal(const struct audit_item *item, const struct audit_style *style,
                         struct buf *out);

#endif

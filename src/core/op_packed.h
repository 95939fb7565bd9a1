/* Lists in the bodies of requests and replies. Part of core/op.h. */
#ifndef SANDGATE_CORE_OP_PACKED_H
#define SANDGATE_CORE_OP_PACKED_H

#include "core/op.h"

/* A name, or names with single slashes between them. */
bool op_is_relative_path(struct str path);

/* Packed entries of a list's body. op_entry_next returns 1 with an entry, 0 at the end, -1 when the
 * bytes are not well formed. */
void op_entry_add(struct buf *body, const struct op_entry *entry);
int op_entry_next(struct str *rest, struct op_entry *ret);

/* Packed edits of a change's request, the same way. */
void op_edit_add(struct buf *body, const struct op_edit *edit);
int op_edit_next(struct str *rest, struct op_edit *ret);

/* What a scan found, the same way. */
void op_guarded_add(struct buf *body, const struct op_guarded *found);
int op_guarded_next(struct str *rest, struct op_guarded *ret);

#define OP_LEADS_MAX ((size_t)1 << 20)
/* On the way of all leads of a reply. The gate serves nobody else while it looks them up: 20,000 take about 20 ms. */
#define OP_LEADS_NAMES_MAX 20000u

struct op_lead {
    enum guarded_kind kind;
    struct str text; /* absolute, or relative to the root */
};

/* Leads, the same way. */
void op_lead_add(struct buf *body, const struct op_lead *lead);
int op_lead_next(struct str *rest, struct op_lead *ret);

/* Git directories, the same way. */
void op_layer_add(struct buf *body, const struct op_layer *layer);
int op_layer_next(struct str *rest, struct op_layer *ret);
/* Letters, digits and dashes: it is the name of a folder. */
bool op_is_layer_tag(struct str tag);

#endif

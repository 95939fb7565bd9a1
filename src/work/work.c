#include "work/work.h"

const struct beneath_root *work_root(struct work *w, int64_t root, bool no_links, struct err *err)
{
    if (root < 0 || (size_t)root >= w->n_roots) {
        err_set(err, ERR_INTERNAL, "no folder number %d", (int)root);
        return NULL;
    }
    w->at = w->roots[root];
    w->at.no_links = no_links;
    w->at.guard = w->guard;
    w->at.as_named = w->as_named;
    return &w->at;
}

const struct beneath_root *work_writable_root(struct work *w, int64_t root, bool no_links,
                                              const char *path, struct err *err)
{
    const struct beneath_root *found = work_root(w, root, no_links, err);
    if (!found || found->writable)
        return found;
    err_set(err, ERR_READ_ONLY, "`%s` is in a read-only folder", path);
    err_reason(err, "read_only_mount");
    return NULL;
}

int work_check_cancel(const struct work *w, struct err *err)
{
    if (!atomic_load_explicit(w->cancelled, memory_order_relaxed))
        return 0;
    return err_set(err, ERR_CANCELLED, "the call was cancelled");
}

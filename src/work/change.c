#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/diff.h"
#include "work/edit.h"
#include "work/folder_lock.h"
#include "work/frontmatter.h"
#include "work/to_end.h"

#define DIFF_MAX (200u << 10)
#define SLOW_BYTES (64u << 10)

typedef int (*change_fn)(const struct work *w, struct str before, struct str what,
                         struct buf *after, struct err *err);

struct whole {
    struct buf *bytes;
    const char *path;
};

static int take_whole(void *arg, struct str bytes, struct err *err)
{
    const struct whole *whole = arg;
    if (buf_add(whole->bytes, bytes.p, bytes.n) == 0)
        return 0;
    return whole->bytes->no_memory
               ? err_no_memory(err)
               : err_set(err, ERR_TOO_LARGE, "`%s` is too large to be changed", whole->path);
}

static int read_file_to_change(struct work *w, const struct beneath_root *root,
                               const struct op_change_request *q, struct buf *ret, struct err *err)
{
    FD_AT_END int fd = -1;
    struct stat st;
    if (beneath_open_to_change(root, q->path.p, &fd, &st, err) < 0)
        return -1;
    if (st.st_size > q->max_bytes)
        return err_set(err, ERR_TOO_LARGE, "`%s` has %lld bytes, at most %lld can be changed",
                       q->path.p, (long long)st.st_size, (long long)q->max_bytes);
    int r = work_read_to_end(w, fd, q->path.p, q->max_bytes, take_whole,
                             &(struct whole){ret, q->path.p}, err);
    return r <= 0 ? r
                  : err_set(err, ERR_TOO_LARGE,
                            "`%s` has more than the %lld bytes that can be changed", q->path.p,
                            (long long)q->max_bytes);
}

static int write_back(struct work *w, const struct beneath_root *root,
                      const struct op_change_request *q, struct str after,
                      const struct folder_lock *held, struct err *err)
{
    struct op_write_reply written;
    struct op_write_request request = {
        .path = q->path,
        .tag = q->tag,
        /* Nobody else's change in between is lost. */
        .if_match = {w->sha256, HASH_HEX},
        .max_bytes = q->max_bytes,
        .fsync = q->fsync,
    };
    char before[HASH_HEX + 1];
    memcpy(before, w->sha256, sizeof before);
    request.if_match.p = before;
    return work_replace(w, root, &request, after, held, &written, err);
}

static int apply_edits(const struct work *w, struct str before, struct str what, struct buf *after,
                       struct err *err)
{
    FREE_AT_END struct op_edit *edits = mem_zero(EDIT_COUNT_MAX * sizeof *edits);
    size_t n = 0;
    int r;
    while (n < EDIT_COUNT_MAX && (r = op_edit_next(&what, &edits[n])) > 0)
        n++;
    if (r < 0 || what.n > 0)
        return err_set(err, ERR_INTERNAL, "edits that are not well formed");
    return edit_apply(w, before, edits, n, after, err);
}

static int apply_update(const struct work *w, struct str before, struct str what, struct buf *after,
                        struct err *err)
{
    (void)w;
    JSON_AT_END yyjson_doc *doc = NULL;
    int r = json_parse(what.p, what.n, what.n, JSON_STRICT, &doc, NULL);
    if (r == -ENOMEM)
        return err_no_memory(err);
    if (r < 0)
        return err_set(err, ERR_INTERNAL, "an update that is not JSON");
    return frontmatter_patch(before, yyjson_doc_get_root(doc), after, err);
}

void work_change_done(struct work_change *c)
{
    buf_done(&c->before);
    buf_done(&c->after);
}

int work_change(struct work *w, const struct op_change_request *q, bool frontmatter,
                struct str what, struct work_change *ret, struct err *err)
{
    change_fn fn = frontmatter ? apply_update : apply_edits;
    *ret = (struct work_change){
        .root = work_writable_root(w, q->root, false, q->path.p, err),
        .before = BUF_INIT((size_t)q->max_bytes + WORK_CHUNK),
        .after = BUF_INIT((size_t)q->max_bytes),
    };
    if (!ret->root || read_file_to_change(w, ret->root, q, &ret->before, err) < 0)
        return -1;
    struct str before = buf_str(&ret->before);
    hash_hex(before.p, before.n, w->sha256_before);
    if (q->if_match.p && !hash_hex_equal(q->if_match, w->sha256_before))
        return work_not_expected(err, q->path.p, w->sha256_before);
    /* A thousand edits of a large file take seconds. */
    if (before.n > SLOW_BYTES || what.n > SLOW_BYTES)
        work_slow(w);
    if (fn(w, before, what, &ret->after, err) < 0)
        return -1;
    ret->same = before.n == ret->after.len &&
                (before.n == 0 || memcmp(before.p, ret->after.data, before.n) == 0);
    return 0;
}

bool work_diff(struct work *w, struct str before, struct str after, const char *path, size_t max)
{
    size_t limit = w->body.max;
    w->body.max = limit < max ? limit : max;
    bool cut = diff_unified(before, after, path, &w->body);
    w->body.max = limit;
    return cut;
}

static int change_once(struct work *w, const struct op_change_request *q, bool frontmatter,
                       struct str what, const struct folder_lock *held,
                       struct op_change_reply *reply, struct err *err)
{
    CLEANUP(work_change_done) struct work_change c;
    buf_reset(&w->body, SIZE_MAX);
    if (work_change(w, q, frontmatter, what, &c, err) < 0)
        return -1;
    struct str after = buf_str(&c.after);
    reply->cut = work_diff(w, buf_str(&c.before), after, q->path.p, DIFF_MAX);
    memcpy(w->sha256, w->sha256_before, sizeof w->sha256);
    if (!q->dry_run && !c.same && write_back(w, c.root, q, after, held, err) < 0)
        return -1;
    if (q->dry_run)
        hash_hex(after.p, after.n, w->sha256);
    reply->bytes = (int64_t)after.n;
    reply->sha256_before = (struct str){w->sha256_before, HASH_HEX};
    reply->sha256_after = (struct str){w->sha256, HASH_HEX};
    return 0;
}

static int lock_changed_folder(struct work *w, const struct op_change_request *q,
                               struct folder_lock *lock, struct err *err)
{
    const struct beneath_root *root = work_writable_root(w, q->root, false, q->path.p, err);
    struct beneath_place place = {.dir = -1};
    if (!root || beneath_place(root, q->path.p, 0, &place, err) < 0)
        return -1;
    int r = folder_lock_take(w, place.dir, q->path.p, lock, err);
    beneath_place_done(&place, true);
    return r;
}

/* Changes can take seconds, so others may work in the folder meanwhile. If the file was changed by then, it is done
 * once more, and nobody else may. */
static int change_file(struct work *w, const struct op_change_request *q, bool frontmatter,
                       struct str what, struct op_change_reply *reply, struct err *err)
{
    int r = change_once(w, q, frontmatter, what, NULL, reply, err);
    if (r == 0 || err->code != ERR_PRECONDITION_FAILED || q->if_match.p)
        return r;
    FOLDER_LOCK_AT_END struct folder_lock lock = FOLDER_LOCK_NONE;
    if (lock_changed_folder(w, q, &lock, err) < 0)
        return -1;
    return change_once(w, q, frontmatter, what, &lock, reply, err);
}

int work_edit(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    return change_file(w, &request->change, false, body, &reply->change, err);
}

int work_frontmatter(struct work *w, const union op_request *request, struct str body,
                     union op_reply *reply, struct err *err)
{
    return change_file(w, &request->change, true, body, &reply->change, err);
}

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "work/encoding.h"
#include "work/to_end.h"
#include "work/walk.h"

/* Of a larger file only the hash is told. */
#define TEXT_MAX (32u << 20)
#define SLOW_BYTES (64u << 10)

/* UTF-16 as text, through `room`. False: some of its bytes would not show. */
static bool decode_preview_utf16(struct str bytes, struct buf *room)
{
    enum encoding encoding = encoding_of(bytes);
    return bytes.n % 2 == 0 && encoding_from_utf16(bytes, encoding, room) == 0 && !room->failed;
}

/* Whether both are UTF-16, or one is and the other empty. */
static bool are_utf16(struct str before, struct str after)
{
    enum encoding encoding = encoding_of(after.n ? after : before);
    return encoding != ENCODING_BYTES && (!before.n || !after.n || encoding_of(before) == encoding);
}

/* Bytes of every kind have a diff: those that are no text are written out where it is shown. */
static void preview_difference(struct work *w, struct str before, struct str after,
                               const char *path, struct op_preview_reply *reply)
{
    /* Three bytes for two is the most that UTF-16 grows. */
    BUF_AT_END struct buf old_room = BUF_INIT(2 * before.n + 2);
    BUF_AT_END struct buf new_room = BUF_INIT(2 * after.n + 2);
    reply->bytes_before = (int64_t)before.n;
    reply->bytes_after = (int64_t)after.n;
    if (str_equal(before, after))
        return;
    if (before.n > TEXT_MAX || after.n > TEXT_MAX) {
        reply->cut = true;
        return;
    }
    if (before.n + after.n > SLOW_BYTES)
        work_slow(w);
    reply->decoded = are_utf16(before, after) && decode_preview_utf16(before, &old_room) &&
                     decode_preview_utf16(after, &new_room);
    if (reply->decoded)
        reply->cut = work_diff(w, buf_str(&old_room), buf_str(&new_room), path,
                               OP_PREVIEW_DIFF_MAX);
    else
        reply->cut = work_diff(w, before, after, path, OP_PREVIEW_DIFF_MAX);
}

struct old {
    struct hash hash;
    struct buf *text;
    int64_t bytes;
};

static int take_old_preview_bytes(void *arg, struct str bytes, struct err *err)
{
    struct old *old = arg;
    (void)err;
    hash_add(&old->hash, bytes.p, bytes.n);
    buf_add(old->text, bytes.p, bytes.n);
    old->bytes += (int64_t)bytes.n;
    return 0;
}

/* All of it into the hash; only its beginning into `text` where it is too large, and text->failed then. */
static int read_old(struct work *w, int fd, int64_t size, const char *path, struct buf *text,
                    int64_t *ret_bytes, struct err *err)
{
    struct old old = {.text = text};
    hash_begin(&old.hash);
    if (size > (int64_t)SLOW_BYTES)
        work_slow(w);
    int r = work_read_to_end(w, fd, path, work_growth_max(size), take_old_preview_bytes, &old, err);
    if (r != 0)
        return r < 0 ? -1 : work_grows(err, path);
    hash_end_hex(&old.hash, w->sha256_before);
    *ret_bytes = old.bytes;
    return 0;
}

static int preview_write(struct work *w, const struct op_preview_request *q, struct str content,
                         struct op_preview_reply *reply, struct err *err)
{
    const struct beneath_root *root = work_writable_root(w, q->root, q->no_links, q->path.p, err);
    const struct op_write_request write = {.path = q->path,
                                           .if_match = q->if_match,
                                           .max_bytes = q->max_bytes,
                                           .create_only = q->create_only,
                                           .append = q->append};
    BUF_AT_END struct buf before = BUF_INIT(TEXT_MAX);
    BUF_AT_END struct buf after = BUF_INIT(TEXT_MAX);
    FD_AT_END int fd = -1;
    struct stat st;
    int64_t old = 0;
    if (!root || work_look(w, root, &write, content.n, &fd, &st, err) < 0)
        return -1;
    reply->exists = fd >= 0;
    if (fd >= 0 && read_old(w, fd, st.st_size, q->path.p, &before, &old, err) < 0)
        return -1;
    if (fd >= 0 && q->if_match.p && !hash_hex_equal(q->if_match, w->sha256_before))
        return work_not_expected(err, q->path.p, w->sha256_before);
    if (q->append) {
        buf_add(&after, before.data, before.len);
        buf_add(&after, content.p, content.n);
    }
    if (before.failed || after.failed) {
        reply->cut = true;
        reply->bytes_before = old;
        reply->bytes_after = (q->append ? old : 0) + (int64_t)content.n;
    } else {
        preview_difference(w, buf_str(&before), q->append ? buf_str(&after) : content, q->path.p,
                           reply);
    }
    return 0;
}

static int preview_change(struct work *w, const struct op_preview_request *q, struct str what,
                          struct op_preview_reply *reply, struct err *err)
{
    const struct op_change_request change = {
        .root = q->root, .path = q->path, .if_match = q->if_match, .max_bytes = q->max_bytes};
    CLEANUP(work_change_done) struct work_change c;
    if (work_change(w, &change, q->of == PREVIEW_FRONTMATTER, what, &c, err) < 0)
        return -1;
    const struct op_write_request write = {
        .path = q->path, .if_match = {w->sha256_before, HASH_HEX}, .max_bytes = q->max_bytes};
    FD_AT_END int fd = -1;
    struct stat st;
    /* What stays as it is, or is not to be written, need not be writable. */
    if (!c.same && !q->dry_run && work_look(w, c.root, &write, c.after.len, &fd, &st, err) < 0)
        return -1;
    reply->exists = true;
    preview_difference(w, buf_str(&c.before), buf_str(&c.after), q->path.p, reply);
    return 0;
}

/* What is in a folder, no link followed. */
static int count_entries(struct work *w, const struct beneath_place *place, bool recursive,
                         struct op_preview_reply *reply, struct err *err)
{
    const struct beneath_root here = {.fd = place->dir, .inside = "", .host = "", .no_links = true};
    const struct walk_rules rules = {.recursive = recursive, .hidden = true, .modules = true};
    struct walk_entry entry;
    int r;
    work_slow(w);
    struct walk *walk = walk_new(&here, place->name, &rules, w->cancelled, err);
    if (!walk)
        return -1;
    while ((r = walk_next(walk, &entry, err)) > 0 && reply->entries < OP_PREVIEW_ENTRIES_MAX)
        reply->entries++;
    reply->cut = r > 0 || walk_stats(walk)->cut || walk_stats(walk)->unreadable > 0;
    walk_free(walk);
    return r < 0 ? -1 : 0;
}

static int preview_delete(struct work *w, const struct op_preview_request *q,
                          struct op_preview_reply *reply, struct err *err)
{
    const struct op_delete_request delete = {
        .root = q->root, .path = q->path, .recursive = q->recursive, .no_links = q->no_links};
    struct beneath_place place;
    struct beneath_real real;
    struct stat st;
    if (work_entry_to_delete(w, &delete, &place, &real, &st, err) < 0)
        return -1;
    const struct tree_op op = {.root = &w->at, .path = q->path.p, .real = real.text};
    FD_AT_END int dir = place.dir;
    if (beneath_may_fill(dir) < 0)
        return beneath_errno(err, errno, q->path.p);
    reply->exists = true;
    reply->type = work_file_type(st.st_mode);
    reply->entries = 1;
    if (S_ISREG(st.st_mode))
        reply->bytes_before = st.st_size;
    if (!S_ISDIR(st.st_mode))
        return 0;
    if (q->recursive && work_check_tree(w, &place, &op, err) < 0)
        return -1;
    if (count_entries(w, &place, q->recursive, reply, err) < 0)
        return -1;
    return !q->recursive && reply->entries > 1 ? beneath_errno(err, ENOTEMPTY, q->path.p) : 0;
}

/* The folder of a command, which is only entered. */
static int preview_folder(struct work *w, const struct op_preview_request *q,
                          struct op_preview_reply *reply, struct err *err)
{
    const struct beneath_root *root = work_root(w, q->root, false, err);
    FD_AT_END int fd = -1;
    struct beneath_real real;
    if (!root || beneath_open_real(root, q->path.p, O_PATH | O_DIRECTORY, &fd, &real, err) < 0)
        return -1;
    reply->exists = true;
    reply->type = TYPE_DIRECTORY;
    return work_note_real(w, WORK_PATH, q->path.p, real.text, err);
}

static int preview_move(struct work *w, const struct op_preview_request *q,
                        struct op_preview_reply *reply, struct err *err)
{
    const struct op_move_request move = {.root = q->root,
                                         .path = q->path,
                                         .to_root = q->to_root,
                                         .to = q->to,
                                         .overwrite = !q->create_only};
    return work_look_move(w, &move, reply, err);
}

/* Opens what would be read. */
static int preview_look(struct work *w, const struct op_preview_request *q, struct err *err)
{
    const struct beneath_root *root = work_root(w, q->root, q->no_links, err);
    FD_AT_END int any = -1;
    FD_AT_END int file = -1;
    struct stat st;
    if (!root || beneath_open(root, q->path.p, O_PATH, &any, err) < 0)
        return -1;
    if (fstat(any, &st) < 0)
        return beneath_errno(err, errno, q->path.p);
    return S_ISREG(st.st_mode) ? beneath_open_file(root, q->path.p, &file, &st, err) : 0;
}

static int preview_stat(struct work *w, const struct op_preview_request *q, struct err *err)
{
    union op_request request = {
        .stat = {.root = q->root, .path = q->path, .no_links = q->no_links}};
    union op_reply ignored;
    return work_stat(w, &request, (struct str){NULL, 0}, &ignored, err);
}

int work_preview(struct work *w, const union op_request *request, struct str body,
                 union op_reply *reply, struct err *err)
{
    const struct op_preview_request *q = &request->preview;
    reply->preview = (struct op_preview_reply){.type = TYPE_FILE};
    if (q->of == PREVIEW_DELETE)
        return preview_delete(w, q, &reply->preview, err);
    if (q->of == PREVIEW_MOVE)
        return preview_move(w, q, &reply->preview, err);
    if (q->of == PREVIEW_MKDIR)
        return work_look_mkdir(w, &(struct op_mkdir_request){q->root, q->path}, &reply->preview,
                               err);
    if (q->of == PREVIEW_STAT)
        return preview_stat(w, q, err);
    if (q->of >= PREVIEW_READ)
        return preview_look(w, q, err);
    if (q->of == PREVIEW_FOLDER)
        return preview_folder(w, q, &reply->preview, err);
    int r = q->of == PREVIEW_WRITE ? preview_write(w, q, body, &reply->preview, err)
                                   : preview_change(w, q, body, &reply->preview, err);
    if (r == 0 && reply->preview.exists)
        reply->preview.sha256_before = (struct str){w->sha256_before, HASH_HEX};
    return r;
}

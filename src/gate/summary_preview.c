#include "gate/summary_preview.h"

#include "base/shown.h"
#include "gate/summary.h"

/* Of what is no text. */
static void add_preview_entry(const struct preview *preview, const char *what, struct buf *out)
{
    if (preview->entries > 1)
        buf_addf(out, "(%s a folder: %lld%s entries)\n", what, (long long)preview->entries,
                 preview->cut ? " or more" : "");
    else if (preview->exists && preview->type == TYPE_SYMLINK)
        buf_addf(out, "(%s a symbolic link)\n", what);
    else if (preview->exists && preview->type == TYPE_FILE)
        buf_addf(out, "(%s a file of %lld bytes)\n", what, (long long)preview->bytes_before);
    else if (preview->exists)
        buf_addf(out, "(%s %s)\n", what,
                 preview->type == TYPE_DIRECTORY ? "an empty folder" : "a special file");
}

static void add_move(const struct preview *preview, struct buf *out)
{
    const struct preview moved = {
        .exists = true, .type = preview->moved, .bytes_before = preview->bytes_after};
    if (preview->moved == TYPE_DIRECTORY)
        buf_add_text(out, "(moves a folder with all that is in it)\n");
    else
        add_preview_entry(&moved, "moves", out);
    if (preview->exists)
        add_preview_entry(preview, "replaces", out);
    else
        buf_add_text(out, "(nothing is at the new place)\n");
}

static void add_change(const struct call *call, const struct preview *preview, struct buf *out)
{
    if (preview->decoded)
        buf_add_text(out, "(the bytes are shown as UTF-16)\n");
    if (preview->diff.n)
        shown_text(preview->diff, "", out);
    else if (!preview->cut)
        buf_add_text(out,
                     preview->exists ? "(the content stays as it is)\n" : "(a new, empty file)\n");
    if (preview->cut)
        buf_addf(out, "(the diff is not whole: %lld bytes become %lld)\n",
                 (long long)preview->bytes_before, (long long)preview->bytes_after);
    if (preview->cut)
        summary_content(call, out);
}

bool summary_preview(const struct call *call, const struct preview *preview, struct buf *out)
{
    switch (call->op ? call->op->preview : PREVIEW_NONE) {
    case PREVIEW_WRITE:
    case PREVIEW_EDIT:
    case PREVIEW_FRONTMATTER:
        add_change(call, preview, out);
        return !preview->cut;
    case PREVIEW_DELETE:
        add_preview_entry(preview, "removes", out);
        return true;
    case PREVIEW_MOVE:
        add_move(preview, out);
        return true;
    case PREVIEW_NONE:
    case PREVIEW_MKDIR:
    case PREVIEW_FOLDER:
    case PREVIEW_READ:
    case PREVIEW_LIST:
    case PREVIEW_STAT:
    case PREVIEW_SEARCH:
        break;
    }
    return true;
}

#include "tools/show.h"

#include <inttypes.h>

#include "base/base64.h"
#include "base/shown.h"
#include "base/utf8.h"

/* It cannot be taken for more than a name: neither for another line or level, nor for a match's number or a mark. */
static bool fits_a_line(struct str path)
{
    if (path.n == 0 || memchr(path.p, '"', path.n) || !shown_is_fit(path, false))
        return false;
    char first = path.p[0];
    char last = path.p[path.n - 1];
    return first != ' ' && !strchr(" @|:", last) && utf8_valid(path.p, path.n);
}

void show_path(struct str path, struct buf *out)
{
    if (fits_a_line(path)) {
        buf_add(out, path.p, path.n);
        return;
    }
    struct json_out j = {.out = out};
    jo_str(&j, path);
    if (utf8_valid(path.p, path.n))
        return;
    buf_add_text(out, " path_b64 ");
    base64_encode(out, path.p, path.n);
}

void show_call_path(const struct call *call, struct buf *out)
{
    show_path(path_is_root(&call->path) ? STR(".") : call_path_text(call), out);
}

size_t show_room(const struct call *call, const char *argument, int64_t asked)
{
    size_t room = call_plain_room(call, argument, asked);
    /* What was asked for is content alone. */
    return room == call->plain_max && room > 2 * SHOW_AROUND ? room - SHOW_AROUND : room;
}

void show_text_between(struct str note, const struct buf *text, struct buf *out)
{
    buf_fail_as(out, text);
    show_between(note, buf_str(text), out);
}

void show_between(struct str note, struct str content, struct buf *out)
{
    if (note.n)
        buf_addf(out, "[%.*s]\n", (int)note.n, note.p);
    buf_add(out, content.p, content.n);
    if (!note.n)
        return;
    if (content.n && content.p[content.n - 1] != '\n')
        buf_add_char(out, '\n');
    buf_addf(out, "[%.*s]", (int)note.n, note.p);
}

void show_change(const struct call *call, bool dry_run, struct buf *out)
{
    const struct op_change_reply *r = &call->reply.change;
    struct str diff = buf_str(&call->reply_body);
    size_t room = show_room(call, "", 0);
    bool cut = r->cut || diff.n > room;
    if (diff.n > room) {
        const char *end = memrchr(diff.p, '\n', room);
        diff.n = end ? (size_t)(end + 1 - diff.p) : utf8_cut(diff.p, room);
    }
    BUF_AT_END struct buf note = BUF_INIT(200);
    if (cut)
        buf_addf(&note, "the diff is cut; the file has %" PRId64 " bytes now", r->bytes);
    if (dry_run)
        buf_add_text(out, "dry run, nothing was changed:\n");
    if (diff.n == 0)
        buf_add_text(out, "no difference: the file stays as it is");
    show_between(buf_str(&note), diff, out);
}

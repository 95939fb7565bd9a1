#include "front/session_diff.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/shown.h"
#include "front/session_changes.h"

/* A word stands for a path and all in it. */
static bool is_named_change(const struct options *o, struct str path)
{
    for (size_t i = 2; i < o->n_words; i++) {
        size_t n = strlen(o->words[i]);
        if (path.n >= n && memcmp(path.p, o->words[i], n) == 0 && (path.n == n || path.p[n] == '/'))
            return true;
    }
    return o->n_words <= 2;
}

static int write_changes(struct session_changes *c, const struct options *o, struct buf *out,
                         struct err *err)
{
    struct json_out j = {.out = out};
    size_t left_out = 0;
    size_t n = 0;
    if (o->json)
        jo_open(&j, '[');
    for (size_t i = 0; i < c->list.n; i++) {
        const struct change *change = &c->list.all[i];
        bool named = is_named_change(o, change->of.path) ||
                     (change->from.n && is_named_change(o, change->from));
        if (change->gone || !named)
            continue;
        bool whole = true;
        n++;
        if (o->json)
            change_write_json(change, &j);
        else if (o->stat)
            change_write_line(change, out);
        else if (session_changes_patch(c, change, &whole, out, err) < 0)
            return -1;
        left_out += !whole;
    }
    if (o->json) {
        jo_close(&j, ']');
        buf_add_char(out, '\n');
    }
    if (o->stat && !o->json)
        buf_addf(out, "%zu %s\n", n, n == 1 ? "change" : "changes");
    if (left_out)
        log_warning(
            "%zu of the changes cannot be said in a patch (no text, devices, modes that git does "
            "not keep): --stat shows all",
            left_out);
    return out->failed ? err_set(err, ERR_TOO_LARGE, "the list is too long: name paths") : 0;
}

int session_diff(const struct named *named, const struct options *o, struct buf *out,
                 struct err *err)
{
    CLEANUP(session_changes_close) struct session_changes c;
    BUF_AT_END struct buf patch = BUF_INIT(out->max);
    bool for_people = isatty(STDOUT_FILENO) && !o->json && !o->stat;
    if (session_changes_open(named, o, &c, err) < 0 ||
        write_changes(&c, o, for_people ? &patch : out, err) < 0)
        return -1;
    /* The session wrote what is in it: nothing of that may clear, move or hide what else is shown. */
    if (for_people)
        shown_text(buf_str(&patch), "", out);
    return out->failed ? err_set(err, ERR_TOO_LARGE, "the list is too long: name paths") : 0;
}

int session_count_changes(const struct named *named, const struct options *o, int64_t *ret_count,
                          int64_t *ret_bytes, struct err *err)
{
    CLEANUP(session_changes_close) struct session_changes c;
    if (session_changes_open(named, o, &c, err) < 0)
        return -1;
    *ret_count = (int64_t)session_changes_count(&c);
    *ret_bytes = c.bytes;
    return 0;
}

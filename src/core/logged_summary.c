#include "core/logged_summary.h"

#include <stdint.h>
#include <string.h>

#include "base/redact.h"
#include "core/logged_shell.h"

/* A text as it was before it was made fit to be shown, and where each of its bytes stands in that. */
struct unshown {
    struct buf text;
    struct buf places; /* uint32_t */
};

static void unshown_done(struct unshown *u)
{
    buf_done(&u->text);
    buf_done(&u->places);
}

/* What stands for a character that a shell acts on. */
static char named_char(const struct str shown, size_t at)
{
    static const char letters[] = "ntre\\";
    const char *letter = at + 1 < shown.n ? strchr(letters, shown.p[at + 1]) : NULL;
    return shown.p[at] == '\\' && letter && *letter ? "\n\t\r\x1b\\"[letter - letters] : '\0';
}

static bool unshow(struct str shown, struct unshown *u)
{
    for (size_t at = 0; at < shown.n;) {
        uint32_t place = (uint32_t)at;
        char c = named_char(shown, at);
        buf_add_char(&u->text, c ? c : shown.p[at]);
        buf_add(&u->places, &place, sizeof place);
        at += c ? 2 : 1;
    }
    buf_add(&u->places, &(uint32_t){(uint32_t)shown.n}, sizeof(uint32_t));
    return !u->text.failed && !u->places.failed;
}

static size_t place_of_unshown(const struct unshown *u, size_t i)
{
    uint32_t place;
    memcpy(&place, u->places.data + i * sizeof place, sizeof place);
    return place;
}

/* No summary is so long that the look would stop before its end. */
static bool find_summary_ranges(struct str script, struct buf *ranges)
{
    const size_t n = script.n;
    return logged_shell_find(&script, false, 0, ranges) && script.n == n;
}

static void write_without(struct str shown, const struct unshown *u, const struct buf *ranges,
                          struct buf *out)
{
    size_t done = 0;
    for (size_t i = 0; i < ranges->len; i += sizeof(struct redact_range)) {
        struct redact_range range;
        memcpy(&range, ranges->data + i, sizeof range);
        size_t from = place_of_unshown(u, range.from);
        buf_add(out, shown.p + done, from - done);
        buf_add_text(out, REDACTED);
        done = place_of_unshown(u, range.to);
    }
    buf_add(out, shown.p + done, shown.n - done);
}

bool logged_summary(struct str shown, struct buf *out)
{
    BUF_AT_END struct buf ranges = BUF_INIT((shown.n + 1) * sizeof(struct redact_range));
    CLEANUP(unshown_done)
    struct unshown u = {BUF_INIT(shown.n + 1), BUF_INIT((shown.n + 1) * sizeof(uint32_t))};
    bool whole = unshow(shown, &u) && find_summary_ranges(buf_str(&u.text), &ranges);
    if (!whole)
        buf_add_text(out, REDACTED);
    else if (ranges.len)
        write_without(shown, &u, &ranges, out);
    return !whole || ranges.len;
}

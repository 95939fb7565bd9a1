/* Any bytes, shown: harmless, no longer than asked for or whole, and the way back leads to the same bytes. */
#include <string.h>

#include "../unit/read_shown.h"
#include "base/shown.h"
#include "build.h"
#include "target.h"

static void check_line(struct str text, size_t max)
{
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    struct read_shown back;
    shown_line(text, max, &out);
    must(!out.failed && out.len <= (max < SHOWN_MIN ? SHOWN_MIN : max));
    must(is_harmless(buf_str(&out).p, out.len) && shown_is_fit(buf_str(&out), false));
    must(read_shown(buf_text(&out), &back) && read_shown_fits(&back, text));
    read_shown_done(&back);
}

static void check_text(struct str text, const char *margin)
{
    BUF_AT_END struct buf out = BUF_INIT(64 << 20);
    BUF_AT_END struct buf lines = BUF_INIT(64 << 20);
    struct read_shown back;
    shown_text(text, margin, &out);
    must(!out.failed && shown_is_fit(buf_str(&out), true));
    must(out.len == 0 ? text.n == 0 : out.data[out.len - 1] == '\n');
    for (size_t at = 0; at < out.len;) {
        const char *end = memchr(out.data + at, '\n', out.len - at);
        size_t n = (size_t)(end - out.data) - at;
        must(n >= strlen(margin) && memcmp(out.data + at, margin, strlen(margin)) == 0);
        must(n == 0 || end[-1] != '\t');
        buf_add(&lines, out.data + at + strlen(margin), n + 1 - strlen(margin));
        at += n + 1;
    }
    /* The last line gets an end if it has none. */
    bool ended = text.n == 0 || text.p[text.n - 1] == '\n';
    lines.len -= !ended;
    must(read_shown(buf_text(&lines), &back) && !back.cut && read_shown_fits(&back, text));
    read_shown_done(&back);
    for (size_t i = 0; i < lines.len; i++) {
        if (lines.data[i] == '\t' || lines.data[i] == '\n')
            lines.data[i] = ' ';
    }
    must(is_harmless(buf_str(&lines).p, lines.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source s = {data, size};
    size_t max = next_byte(&s);
    struct str text = {s.n ? (const char *)s.p : "", s.n};
    check_line(text, max);
    check_text(text, "");
    check_text(text, "    ");
    return 0;
}

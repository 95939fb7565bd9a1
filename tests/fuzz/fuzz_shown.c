/* Any bytes, shown: harmless, no longer than asked for, and the way back leads to the same bytes. */
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

static void check_lines(struct str text, size_t max_lines)
{
    BUF_AT_END struct buf out = BUF_INIT(16 << 20);
    size_t lines = 0;
    shown_lines(text, max_lines, &out);
    must(!out.failed && shown_is_fit(buf_str(&out), true));
    must(out.len == 0 ? text.n == 0 : out.data[out.len - 1] == '\n');
    for (size_t at = 0; at < out.len; lines++) {
        const char *end = memchr(out.data + at, '\n', out.len - at);
        size_t n = (size_t)(end - out.data) - at;
        must(n <= SHOWN_LINE_MAX && is_harmless(out.data + at, n));
        at += n + 1;
    }
    must(lines <= (max_lines < 3 ? 3 : max_lines));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source s = {data, size};
    size_t max = next_byte(&s);
    size_t max_lines = next_byte(&s) % 16;
    struct str text = {s.n ? (const char *)s.p : "", s.n};
    check_line(text, max);
    check_lines(text, max_lines);
    return 0;
}

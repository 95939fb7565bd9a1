/* Any text of a call, as rows of a terminal: each has its mark, none is too wide, and together they are the text. */
#include <string.h>

#include "../unit/read_shown.h"
#include "base/shown.h"
#include "build.h"
#include "front/approval_rows.h"
#include "target.h"

#define MARGIN 13
#define NARROW_MARGIN 2 /* of a terminal with no room for labels */
#define NARROW 21
#define TEXT_MIN 2

static size_t columns_of(const char *p, size_t n)
{
    size_t columns = 0;
    for (size_t i = 0; i < n;) {
        size_t length = utf8_sequence(p + i, n - i);
        columns += length == 1 ? 1 : 2;
        i += length;
    }
    return columns;
}

/* The text behind the marks, with a line break before each `|`. */
static void join(const struct buf *rows, size_t margin, size_t width, struct buf *out)
{
    for (size_t at = 0; at < rows->len;) {
        const char *row = rows->data + at;
        const char *end = memchr(row, '\n', rows->len - at);
        must(end && (size_t)(end - row) >= margin);
        size_t n = (size_t)(end - row);
        char mark = row[margin - 2];
        must(mark == '|' || (mark == '>' && out->len));
        must(is_harmless(row, n) && columns_of(row, n) <= width);
        if (mark == '|')
            buf_add_char(out, '\n');
        buf_add(out, row + margin, n - margin);
        at += n + 1;
    }
}

/* As a terminal with so many columns for it shows it, each line behind a break: a tab is no wider than that. */
static void expand(struct str text, size_t columns, struct buf *out)
{
    size_t column = 0;
    bool begins = true;
    for (size_t at = 0; at < text.n;) {
        size_t n = utf8_sequence(text.p + at, text.n - at);
        if (begins)
            buf_add_char(out, '\n');
        begins = text.p[at] == '\n';
        size_t wide = text.p[at] == '\t' ? 8 - column % 8 : n == 1 ? 1 : 2;
        wide = wide < columns ? wide : columns;
        if (text.p[at] == '\t')
            buf_addf(out, "%*s", (int)wide, "");
        else if (!begins)
            buf_add(out, text.p + at, n);
        column = begins ? 0 : column + wide;
        at += n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source s = {data, size};
    struct approval_style style = {.width = next_byte(&s)};
    size_t margin = style.width < NARROW ? NARROW_MARGIN : MARGIN;
    size_t width = style.width < margin + TEXT_MIN ? margin + TEXT_MIN : style.width;
    BUF_AT_END struct buf detail = BUF_INIT(64 << 20);
    BUF_AT_END struct buf rows = BUF_INIT(256 << 20);
    BUF_AT_END struct buf joined = BUF_INIT(256 << 20);
    BUF_AT_END struct buf expected = BUF_INIT(256 << 20);
    shown_text((struct str){s.n ? (const char *)s.p : "", s.n}, "", &detail);
    struct approval a = {.detail = buf_text(&detail)};
    size_t total = approval_rows_count(&a, &style);
    approval_rows_add(&a, &style, 0, total / 2, &rows);
    approval_rows_add(&a, &style, total / 2, total, &rows);
    join(&rows, margin, width, &joined);
    expand(buf_str(&detail), width - margin, &expected);
    must(joined.len == expected.len &&
         (joined.len == 0 || memcmp(joined.data, expected.data, joined.len) == 0));
    return 0;
}

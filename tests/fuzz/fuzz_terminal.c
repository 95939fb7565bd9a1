/* Any bytes for a terminal: in one piece and cut anywhere the same passes, and nothing in it sets a state or asks. */
#include <string.h>

#include "base/terminal.h"
#include "target.h"

/* A check of its own: looks for what must not be there, byte by byte. */
static void check_sequence(const unsigned char *p, size_t n, bool typed_to)
{
    must(n >= 2 && strchr(typed_to ? "[78DEHM()=>" : "[78DEHM()", p[1]) && p[1]);
    if (p[1] != '[')
        return;
    size_t i = 2;
    while (i < n && p[i] >= 0x20 && p[i] < 0x40)
        i++;
    must(i < n && p[i] >= 0x40 && p[i] < 0x7f);
    must(!strchr("txipy|{}", p[i]));
    must(p[i] != 'q' || p[i - 1] == ' ');
    if (p[i] == 'c' || p[i] == 'n') {
        must(typed_to && p[2] != '?');
        return;
    }
    must(!strchr("<=>", p[2]));
}

static void check(struct str text, bool typed_to)
{
    const unsigned char *p = (const unsigned char *)text.p;
    for (size_t i = 0; i < text.n; i++) {
        must(p[i] >= 0x20 || p[i] == 0x1b || (p[i] >= 7 && p[i] <= (typed_to ? 15 : 13)));
        if (p[i] == 0x1b)
            check_sequence(p + i, text.n - i, typed_to);
        must(!(p[i] == 0xc2 && i + 1 < text.n && p[i + 1] >= 0x80 && p[i + 1] < 0xa0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct str text = {(const char *)data + 1, size - 1};
    size_t step = 1 + data[0] % 7;
    bool typed_to = data[0] & 0x80;
    BUF_AT_END struct buf whole = BUF_INIT(1 << 22);
    BUF_AT_END struct buf pieces = BUF_INIT(1 << 22);
    terminal_filter(&(struct terminal){.typed_to = typed_to}, text, &whole);
    struct terminal terminal = {.typed_to = typed_to};
    for (size_t at = 0; at < text.n; at += step)
        terminal_filter(
            &terminal, (struct str){text.p + at, text.n - at < step ? text.n - at : step}, &pieces);
    must(whole.len == pieces.len && whole.len <= 2 * text.n);
    must(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
    check(buf_str(&whole), typed_to);
    return 0;
}

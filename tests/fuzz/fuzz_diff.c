/* Any two texts: their diff makes the second of the first, and a cut one is a part of it. */
#include <string.h>

#include "../unit/apply_diff.h"
#include "build.h"
#include "target.h"
#include "work/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source s = {data, size};
    size_t max = next_byte(&s) * 8;
    size_t first = s.n * next_byte(&s) / 256;
    first = first < s.n ? first : s.n;
    struct str before = {(const char *)s.p, first};
    struct str after = {(const char *)s.p + first, s.n - first};
    BUF_AT_END struct buf diff = BUF_INIT(16 << 20);
    BUF_AT_END struct buf made = BUF_INIT(16 << 20);
    BUF_AT_END struct buf cut = BUF_INIT(max);
    must(!diff_unified(before, after, "f", &diff));
    must(apply_diff(before, buf_str(&diff), &made));
    must(made.len == after.n && (after.n == 0 || memcmp(made.data, after.p, after.n) == 0));
    must((diff.len == 0) == (before.n == after.n && memcmp(before.p, after.p, after.n) == 0));
    must(diff_unified(before, after, "f", &cut) == (diff.len > max));
    must(cut.len <= max && !cut.failed);
    return 0;
}

/* Any bytes as a file and edits of it: what is not replaced is still there, and errors are texts. */
#include <string.h>

#include "base/utf8.h"
#include "build.h"
#include "target.h"
#include "work/edit.h"

#define EDITS 3

static void check_error(const struct err *err, size_t n)
{
    must(err->code == ERR_NO_MATCH || err->code == ERR_INVALID_ARGUMENTS ||
         err->code == ERR_TOO_LARGE);
    must(memcmp(err->field, "edits[", 6) == 0);
    must((size_t)(err->field[6] - '0') < n);
    must(err->code != ERR_NO_MATCH || strcmp(err->reason, "not_found") == 0 ||
         strcmp(err->reason, "ambiguous") == 0);
    must(err->message[0] && utf8_valid(err->message, strnlen(err->message, sizeof err->message)));
}

static bool is_utf16(struct str file)
{
    return file.n >= 2 &&
           (memcmp(file.p, "\xff\xfe", 2) == 0 || memcmp(file.p, "\xfe\xff", 2) == 0);
}

/* One edit with a single place: the file is what is before, then something, then what is behind. */
static void check_around(struct str file, const struct op_edit *edit, struct str out)
{
    size_t lead = 0;
    size_t most = file.n < out.n ? file.n : out.n;
    while (lead < most && file.p[lead] == out.p[lead])
        lead++;
    size_t tail = 0;
    while (tail < most - lead && file.p[file.n - tail - 1] == out.p[out.n - tail - 1])
        tail++;
    /* Every line end may be twice as long in the file, every character in UTF-16. */
    must(file.n - lead - tail <= 2 * edit->old_text.n);
    must(out.n - lead - tail <= 4 * edit->new_text.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source s = {data, size};
    struct op_edit edits[EDITS];
    struct err err = {.code = ERR_COUNT};
    unsigned flags = next_byte(&s);
    size_t n = 1 + flags % EDITS;
    for (size_t i = 0; i < n; i++) {
        edits[i].old_text = next_bytes(&s);
        edits[i].new_text = next_bytes(&s);
        edits[i].all = flags >> (2 + i) & 1;
    }
    struct str file = {s.n ? (const char *)s.p : "", s.n};
    /* With a ceiling near the size of the file, now and then. */
    BUF_AT_END struct buf out = BUF_INIT(flags & 128 ? size : 1 << 20);
    if (edit_apply(NULL, file, edits, n, &out, &err) < 0) {
        must(out.len == 0);
        check_error(&err, n);
        return 0;
    }
    must(err.code == ERR_COUNT && out.len <= out.max && !out.failed);
    must(!is_utf16(file) || out.len % 2 == file.n % 2);
    if (n == 1 && !edits[0].all)
        check_around(file, &edits[0], buf_str(&out));
    return 0;
}

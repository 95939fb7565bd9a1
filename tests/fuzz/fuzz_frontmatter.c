/* A file and an update, with a NUL between them: what comes back keeps the body and can be changed again; a refusal
 * leaves the output alone and is never our own fault. */
#include <string.h>

#include "base/json.h"
#include "target.h"
#include "work/frontmatter.h"

static void check_refusal(const struct err *err, const struct buf *out)
{
    must(out->len == 0 && err->message[0]);
    must(err->code == ERR_INVALID_FRONTMATTER || err->code == ERR_INVALID_ARGUMENTS ||
         err->code == ERR_TOO_LARGE || err->code == ERR_INTERNAL);
}

/* The line that closes the front matter, and the body. */
static struct str closing(struct str file)
{
    for (size_t at = 0; at < file.n; at++) {
        if (file.p[at] != '\n' || at + 4 > file.n)
            continue;
        const char *line = file.p + at + 1;
        const char *end = memchr(line, '\n', file.n - at - 1);
        size_t n = end ? (size_t)(end - line) : file.n - at - 1;
        size_t blanks = 3;
        while (blanks < n && memchr(" \t\r", line[blanks], 3))
            blanks++;
        if (blanks == n && (memcmp(line, "---", 3) == 0 || memcmp(line, "...", 3) == 0))
            return (struct str){line, file.n - at - 1};
    }
    return (struct str){NULL, 0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *middle = size ? memchr(data, '\0', size) : NULL;
    if (!middle)
        return 0;
    struct str file = {(const char *)data, (size_t)(middle - data)};
    size_t n = size - file.n - 1;
    JSON_AT_END yyjson_doc *update = NULL;
    BUF_AT_END struct buf out = BUF_INIT(8 << 20);
    BUF_AT_END struct buf again = BUF_INIT(8 << 20);
    struct err err = {.code = ERR_COUNT};
    if (json_parse((const char *)middle + 1, n, n, JSON_STRICT, &update, NULL) < 0)
        return 0;
    if (frontmatter_patch(file, yyjson_doc_get_root(update), &out, &err) < 0) {
        check_refusal(&err, &out);
        return 0;
    }
    must(err.code == ERR_COUNT);
    struct str before = closing(file);
    must(before.p && out.len >= before.n);
    must(memcmp(out.data + out.len - before.n, before.p, before.n) == 0);
    /* What came out is front matter. */
    if (frontmatter_patch(buf_str(&out), yyjson_doc_get_root(update), &again, &err) < 0)
        check_refusal(&err, &again);
    return 0;
}

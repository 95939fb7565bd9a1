/* Any bytes as the body of a search: records are whole, and are the bytes they were read from. */
#include <string.h>

#include "core/found.h"
#include "core/op.h"
#include "target.h"

static void check(const struct found *found)
{
    must(found->kind <= FOUND_CONTEXT && found->number >= 0 && found->n_spans <= FOUND_SPANS_MAX);
    must(found->cut_before >= 0 && found->cut_after >= 0);
    if (found->kind == FOUND_FILE)
        must(found->text.n == 0 || op_is_relative_path(found->text));
    else
        must(found->number > 0 && !memchr(found->text.p, '\n', found->text.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct found found;
    BUF_AT_END struct buf packed = BUF_INIT(size);
    int r;
    for (size_t before = rest.n; (r = found_next(&rest, &found)) > 0; before = rest.n) {
        must(rest.n < before && rest.p + rest.n == (const char *)data + size);
        must(found.spans + found.n_spans * sizeof(struct found_span) == rest.p);
        check(&found);
        struct found_span spans[FOUND_SPANS_MAX];
        for (size_t i = 0; i < found.n_spans; i++)
            spans[i] = found_span(&found, i);
        found_add(&packed, &found, spans);
    }
    must(r < 0 || rest.n == 0);
    must(!packed.failed && packed.len == size - rest.n);
    must(packed.len == 0 || memcmp(packed.data, data, packed.len) == 0);
    return 0;
}

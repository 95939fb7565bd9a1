#include <stdlib.h>

#include "base/mem.h"
#include "work/frontmatter_parts.h"

void splices_init(struct splices *splices, size_t max)
{
    *splices = (struct splices){.texts = BUF_INIT(max)};
}

void splices_done(struct splices *splices)
{
    free(splices->items);
    buf_done(&splices->texts);
}

struct buf *splices_add(struct splices *splices, size_t at, size_t until)
{
    if (splices->count == splices->room) {
        splices->room = splices->room ? 2 * splices->room : 16;
        splices->items = mem_grow(splices->items, splices->room, sizeof *splices->items);
    }
    struct splice *splice = &splices->items[splices->count];
    *splice = (struct splice){at, until, splices->count, splices->texts.len, 0};
    splices->count++;
    return &splices->texts;
}

void splices_fail(struct splices *splices, const struct buf *texts)
{
    splices->texts.failed = true;
    splices->texts.no_memory = texts->no_memory;
}

static int compare_splices(const void *a, const void *b)
{
    const struct splice *x = a;
    const struct splice *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static void find_text_ends(struct splices *splices)
{
    size_t end = splices->texts.len;
    for (size_t i = splices->count; i > 0; i--) {
        splices->items[i - 1].text_end = end;
        end = splices->items[i - 1].text;
    }
}

int splices_apply(struct splices *splices, struct str source, struct buf *out, struct err *err)
{
    size_t done = 0;
    find_text_ends(splices);
    if (splices->count)
        qsort(splices->items, splices->count, sizeof *splices->items, compare_splices);
    for (size_t i = 0; i < splices->count && !splices->texts.failed; i++) {
        const struct splice *splice = &splices->items[i];
        size_t length = splice->text_end - splice->text;
        if (splice->at < done && length)
            return err_set(err, ERR_INTERNAL, "two changes of the front matter meet");
        if (splice->at > done)
            buf_add(out, source.p + done, splice->at - done);
        if (length)
            buf_add(out, splices->texts.data + splice->text, length);
        done = splice->until > done ? splice->until : done;
    }
    buf_add(out, source.p + done, source.n - done);
    if (out->no_memory || splices->texts.no_memory)
        return err_no_memory(err);
    if (out->failed || splices->texts.failed)
        return err_set(err, ERR_TOO_LARGE, "the front matter would become too large");
    return 0;
}

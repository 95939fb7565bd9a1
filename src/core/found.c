#include "core/found.h"

#include <string.h>

#include "core/op.h"
#include "core/path.h"

/* Same machine on both ends, so byte order is the machine's. The text follows, then the spans. */
struct packed {
    int64_t number;
    int64_t cut_before;
    int64_t cut_after;
    uint32_t text_length;
    uint8_t n_spans;
    uint8_t kind;
} __attribute__((packed));

void found_add(struct buf *body, const struct found *found, const struct found_span *spans)
{
    struct packed head = {
        .number = found->number,
        .cut_before = found->cut_before,
        .cut_after = found->cut_after,
        .text_length = (uint32_t)found->text.n,
        .n_spans = (uint8_t)found->n_spans,
        .kind = (uint8_t)found->kind,
    };
    buf_add(body, &head, sizeof head);
    buf_add(body, found->text.p, found->text.n);
    if (found->n_spans)
        buf_add(body, spans, found->n_spans * sizeof *spans);
}

static bool is_good_head(const struct packed *head, size_t left)
{
    if (head->kind > FOUND_CONTEXT || head->n_spans > FOUND_SPANS_MAX)
        return false;
    if (head->number < 0 || head->cut_before < 0 || head->cut_after < 0)
        return false;
    return head->text_length + head->n_spans * sizeof(struct found_span) <= left;
}

static bool is_good(const struct found *found)
{
    if (found->kind == FOUND_FILE)
        return found->text.n == 0 || op_is_relative_path(found->text);
    return found->number > 0 && !memchr(found->text.p, '\n', found->text.n);
}

int found_next(struct str *rest, struct found *ret)
{
    struct packed head;
    if (rest->n == 0)
        return 0;
    if (rest->n < sizeof head)
        return -1;
    memcpy(&head, rest->p, sizeof head);
    size_t left = rest->n - sizeof head;
    if (!is_good_head(&head, left))
        return -1;
    const char *text = rest->p + sizeof head;
    struct found found = {
        .kind = (enum found_kind)head.kind,
        .number = head.number,
        .text = {text, head.text_length},
        .cut_before = head.cut_before,
        .cut_after = head.cut_after,
        .spans = text + head.text_length,
        .n_spans = head.n_spans,
    };
    if (!is_good(&found))
        return -1;
    size_t used = head.text_length + head.n_spans * sizeof(struct found_span);
    *rest = (struct str){text + used, left - used};
    *ret = found;
    return 1;
}

struct found_span found_span(const struct found *found, size_t i)
{
    struct found_span span;
    memcpy(&span, found->spans + i * sizeof span, sizeof span);
    return span;
}

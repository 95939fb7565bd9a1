#include "base/redact.h"

#include "base/redact_parts.h"

/* How far behind `shown` is looked: no shape needs more to be told. */
#define LOOK_AHEAD 512
/* How far before the end of what is hidden something longer may begin. */
#define LOOK_BACK 64
/* Some hundredths of a second. */
#define SHOWN_AGAIN_MAX ((size_t)16 << 20)

/* Where something can be found. These are few in most texts, and each shape has one of them. */
enum place { PLACE_NONE, PLACE_SHAPE, PLACE_SIGN, PLACE_DASH, PLACE_PLUS, PLACE_BEHIND };

static const unsigned char places[256] = {
    ['_'] = PLACE_SHAPE, ['.'] = PLACE_SHAPE,  ['I'] = PLACE_SHAPE,   ['J'] = PLACE_SHAPE,
    ['B'] = PLACE_SHAPE, ['='] = PLACE_SIGN,   [':'] = PLACE_SIGN,    ['-'] = PLACE_DASH,
    ['+'] = PLACE_PLUS,  [' '] = PLACE_BEHIND, ['\t'] = PLACE_BEHIND, ['('] = PLACE_BEHIND,
};

static bool in_default(const struct redact_text *t, size_t i, struct redact_span *ret)
{
    return redact_in_default(t, i, ret) && ret->to > ret->from;
}

static bool at_sign(const struct redact_text *t, size_t i, struct redact_span *ret)
{
    if (t->p[i] == ':' && redact_userinfo(t, i, ret))
        return true;
    return redact_in_default(t, i, ret) ? ret->to > ret->from : redact_assigned(t, i, ret);
}

static bool at_dash(const struct redact_text *t, size_t i, struct redact_span *ret)
{
    bool two = t->n - i > 2 && t->p[i + 1] == '-' && (i == 0 || t->p[i - 1] != '-');
    if (two && redact_private_key(t, i, ret))
        return true;
    bool begins = t->n - i > 2 && (i == 0 || (!redact_is_alnum(t->p[i - 1]) && t->p[i - 1] != '-'));
    if (begins && (redact_option(t, i, ret) || redact_command_option(t, i, ret)))
        return true;
    return !two && (redact_shape(t, i, ret) || in_default(t, i, ret));
}

static bool at_place(const struct redact_text *t, size_t i, struct redact_span *ret)
{
    if (t->aws && redact_aws_secret(t, i, ret))
        return true;
    switch ((enum place)places[(unsigned char)t->p[i]]) {
    case PLACE_SHAPE:
        return redact_shape(t, i, ret);
    case PLACE_SIGN:
        return at_sign(t, i, ret);
    case PLACE_DASH:
        return at_dash(t, i, ret);
    case PLACE_PLUS:
        return in_default(t, i, ret);
    case PLACE_BEHIND:
        return redact_setter(t, i, ret) || redact_behind_word(t, i, ret);
    case PLACE_NONE:
        break;
    }
    return false;
}

/* AKIA or ASIA, by the letter that is rare in most texts. */
static bool has_aws_key(const struct redact_text *t)
{
    const char *end = t->n ? t->p + t->n : t->p;
    for (const char *at = t->p; at && at < end; at = at ? at + 1 : NULL) {
        at = memchr(at, 'I', (size_t)(end - at));
        if (at && at - t->p >= 2 && end - at >= 2 &&
            (memcmp(at - 2, "AKIA", 4) == 0 || memcmp(at - 2, "ASIA", 4) == 0))
            return true;
    }
    return false;
}

/* What is written, and of what is read how much is done with. */
struct progress {
    struct buf *out;    /* the text without its secrets; NULL: not wanted */
    struct buf *ranges; /* struct redact_range of each secret; NULL: not wanted */
    const struct redact_ends *ends; /* NULL: secrets are hidden whole */
    size_t shown_again; /* bytes of secrets that were not hidden, and will be looked at again */
    size_t done;        /* written or hidden */
    bool any;
};

static void add_secret(const struct redact_text *t, const struct redact_span *span,
                       struct progress *p)
{
    if (p->out) {
        buf_add(p->out, t->p + p->done, span->from - p->done);
        buf_add_text(p->out, REDACTED);
    }
    if (p->ranges)
        buf_add(p->ranges, &(struct redact_range){span->from, span->to},
                sizeof(struct redact_range));
}

static void end_secret(struct progress *p)
{
    struct redact_range last;
    if (!p->ranges || p->ranges->failed)
        return;
    char *at = p->ranges->data + p->ranges->len - sizeof last;
    memcpy(&last, at, sizeof last);
    last.to = p->done;
    memcpy(at, &last, sizeof last);
}

static void hide_span(const struct redact_text *t, const struct redact_span *span,
                      struct progress *p)
{
    /* A second one within a hidden place, or next to it, only makes that larger. */
    if (!p->any || span->from > p->done)
        add_secret(t, span, p);
    p->any = true;
    if (span->to > p->done)
        p->done = span->to;
    end_secret(p);
}

static void hide(const struct redact_text *t, const struct redact_span *span, struct progress *p)
{
    struct redact_span shorter = *span;
    if (p->ends)
        shorter.to = p->ends->end(p->ends->self, span->from, span->to);
    if (shorter.to > shorter.from)
        hide_span(t, &shorter, p);
    p->shown_again += span->to - shorter.to;
}

/* What stands between the place where a secret was found and the secret can be one, too: `set -x NAME value`. */
static void hide_between(const struct redact_text *t, size_t from, size_t to, struct progress *p)
{
    struct redact_span span;
    for (; from < to; from++) {
        if (at_place(t, from, &span) && span.from < to)
            hide(t, &span, p);
    }
}

/* How far it went. */
static size_t walk(struct str text, size_t shown, struct progress *p)
{
    struct redact_text t = {.p = text.p, .n = text.n, .cut = text.n - shown > LOOK_AHEAD};
    if (t.cut)
        t.n = shown + LOOK_AHEAD;
    t.aws = has_aws_key(&t);
    for (size_t i = 0; i < shown; i++) {
        if (p->shown_again > SHOWN_AGAIN_MAX)
            return p->done > i ? p->done : i;
        struct redact_span span;
        if ((!t.aws && places[(unsigned char)t.p[i]] == PLACE_NONE) || !at_place(&t, i, &span))
            continue;
        if (span.from >= shown)
            break;
        hide_between(&t, i + 1, span.from, p);
        hide(&t, &span, p);
        /* `password=Bearer …`: the end of what is hidden may be the beginning of more. */
        if (p->done > i + LOOK_BACK)
            i = p->done - LOOK_BACK;
    }
    return shown;
}

bool redact(struct str text, size_t shown, struct buf *out)
{
    struct progress p = {.out = out};
    shown = shown < text.n ? shown : text.n;
    walk(text, shown, &p);
    if (p.any && p.done < shown)
        buf_add(out, text.p + p.done, shown - p.done);
    return p.any;
}

bool redact_find(struct str text, struct buf *ranges)
{
    struct progress p = {.ranges = ranges};
    walk(text, text.n, &p);
    return p.any;
}

size_t redact_find_ends(struct str text, const struct redact_ends *ends, struct buf *ranges)
{
    return walk(text, text.n, &(struct progress){.ranges = ranges, .ends = ends});
}

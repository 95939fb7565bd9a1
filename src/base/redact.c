#include "base/redact.h"

#include "base/redact_parts.h"

/* How far behind `shown` is looked: no shape needs more to be told. */
#define LOOK_AHEAD 512

enum place { PLACE_PLAIN, PLACE_WORD, PLACE_BASE64, PLACE_SIGN, PLACE_DASH };

/* clang-format off */
#define W PLACE_WORD
#define W13 W, W, W, W, W, W, W, W, W, W, W, W, W
static const unsigned char places[256] = {
    ['+'] = PLACE_BASE64, ['-'] = PLACE_DASH, ['/'] = PLACE_BASE64,
    ['0'] = W, W, W, W, W, W, W, W, W, W, PLACE_SIGN /* : */,
    ['='] = PLACE_SIGN,
    ['A'] = W13, W13,
    ['a'] = W13, W13,
};
/* clang-format on */

static bool at_sign(const struct redact_text *t, size_t i, struct redact_span *ret)
{
    if (t->p[i] == ':' && t->n - i > 3 && t->p[i + 1] == '/' && t->p[i + 2] == '/')
        return redact_userinfo(t, i, ret);
    return redact_assigned(t, i, ret);
}

static bool at_place(const struct redact_text *t, size_t i, struct redact_span *ret)
{
    char before = i ? t->p[i - 1] : ' ';
    switch ((enum place)places[(unsigned char)t->p[i]]) {
    case PLACE_WORD:
    case PLACE_BASE64:
        if (redact_is_alnum(before))
            return false;
        return redact_shape(t, i, ret) || (t->aws && redact_aws_secret(t, i, ret));
    case PLACE_SIGN:
        return at_sign(t, i, ret);
    case PLACE_DASH:
        if (before == '-' || t->n - i < 3 || t->p[i + 1] != '-')
            return false;
        return redact_option(t, i, ret) || redact_private_key(t, i, ret);
    case PLACE_PLAIN:
        break;
    }
    return false;
}

/* The next place worth a look. Most bytes of most texts are none: a word is looked at where it begins. */
static size_t next_place(const struct redact_text *t, size_t i)
{
    bool in_word = places[(unsigned char)t->p[i]] == PLACE_WORD;
    for (i++; i < t->n; i++) {
        enum place is = places[(unsigned char)t->p[i]];
        if (is == PLACE_WORD ? !in_word && (t->aws || redact_may_begin(t, i))
                             : is > PLACE_BASE64 || (is == PLACE_BASE64 && t->aws))
            break;
        in_word = is == PLACE_WORD;
    }
    return i;
}

/* The short one first: it is all that is searched for in nearly every text. */
static bool has_aws_key(const struct redact_text *t)
{
    return t->n >= 56 && memmem(t->p, t->n, "IA", 2) &&
           (memmem(t->p, t->n, "AKIA", 4) || memmem(t->p, t->n, "ASIA", 4));
}

bool redact(struct str text, size_t shown, struct buf *out)
{
    if (shown > text.n)
        shown = text.n;
    struct redact_text t = {.p = text.p, .n = text.n, .cut = text.n - shown > LOOK_AHEAD};
    if (t.cut)
        t.n = shown + LOOK_AHEAD;
    t.aws = has_aws_key(&t);
    size_t written = 0;
    bool any = false;
    for (size_t i = 0; i < shown;) {
        struct redact_span span;
        if (!at_place(&t, i, &span)) {
            i = next_place(&t, i);
            continue;
        }
        if (span.from >= shown)
            break;
        any = true;
        buf_add(out, t.p + written, span.from - written);
        buf_add_text(out, REDACTED);
        written = i = span.to < shown ? span.to : shown;
    }
    if (any)
        buf_add(out, t.p + written, shown - written);
    return any;
}

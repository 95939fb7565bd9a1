#include "core/denials.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void denials_add(struct buf *packed, const struct denial *denial)
{
    buf_add_char(packed, (char)denial->kind);
    buf_add(packed, denial->name, strlen(denial->name) + 1);
    buf_add(packed, denial->rule, strlen(denial->rule) + 1);
}

static const char *take_denial_text(struct str *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\0', rest->n) : NULL;
    if (!end)
        return NULL;
    const char *at = rest->p;
    size_t n = (size_t)(end - at) + 1;
    *rest = (struct str){at + n, rest->n - n};
    return at;
}

int denials_next(struct str *rest, struct denial *ret)
{
    if (rest->n == 0)
        return 0;
    int kind = rest->p[0];
    *rest = (struct str){rest->p + 1, rest->n - 1};
    const char *name = take_denial_text(rest);
    const char *rule = take_denial_text(rest);
    if (!name || !rule || !*name || !strchr("ngp", kind) || kind == '\0')
        return -1;
    *ret = (struct denial){(enum denial_kind)kind, name, rule};
    return 1;
}

struct denials *denials_new(struct str packed)
{
    struct denials *denials = mem_zero(sizeof *denials);
    denials->refs = 1;
    denials->packed = (struct str){mem_copy(packed.p, packed.n), packed.n};
    return denials;
}

struct denials *denials_ref(struct denials *denials)
{
    if (denials)
        denials->refs++;
    return denials;
}

void denials_unref(struct denials *denials)
{
    if (!denials || --denials->refs > 0)
        return;
    free((char *)(uintptr_t)denials->packed.p);
    free(denials);
}

bool denials_same(const struct denials *a, const struct denials *b)
{
    if (a == b)
        return true;
    return a && b && a->packed.n == b->packed.n &&
           memcmp(a->packed.p, b->packed.p, a->packed.n) == 0;
}

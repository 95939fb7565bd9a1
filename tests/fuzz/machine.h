/* A machine whose workspace lies as deep as an input says, in, above and beside other folders. */
#ifndef SANDGATE_TESTS_FUZZ_MACHINE_H
#define SANDGATE_TESTS_FUZZ_MACHINE_H

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "core/path.h"

#define FOLDERS 4
#define DEEP (PATH_TEXT_MAX - 1)

/* The folders of one input: the workspace and some that lie above, in or beside it. */
struct machine {
    char base[DEEP + 1];
    char hosts[FOLDERS][DEEP + 1];
    struct root roots[FOLDERS];
    size_t count;
};

struct input {
    const uint8_t *p;
    size_t n;
};

static inline uint8_t take_byte(struct input *in)
{
    if (in->n == 0)
        return 0;
    in->n--;
    return *in->p++;
}

/* An absolute path of about `eighths` of the longest there can be, of names of `name` bytes. */
static inline void make_deep(char out[DEEP + 1], unsigned eighths, size_t name, char letter)
{
    size_t length = 1 + (DEEP - 2) * eighths / 255;
    for (size_t i = 0; i < length; i++)
        out[i] = i % (name + 1) ? letter : '/';
    while (length > 1 && out[length - 1] == '/')
        length--;
    out[length] = '\0';
}

static inline void cut_at_slash(char *path, size_t n)
{
    while (n > 0 && path[n] != '/')
        n--;
    path[n ? n : 1] = '\0';
}

static inline void make_machine(struct machine *m, struct input *in)
{
    uint8_t depth = take_byte(in);
    uint8_t name = take_byte(in);
    m->count = 1 + take_byte(in) % FOLDERS;
    make_deep(m->base, depth, 1 + name % PATH_NAME_MAX, 'b');
    for (size_t i = 0; i < m->count; i++) {
        uint8_t how = take_byte(in);
        if (how % 4 == 3)
            make_deep(m->hosts[i], how, 1 + name % PATH_NAME_MAX, 'c');
        else
            memcpy(m->hosts[i], m->base, sizeof m->base);
        if (how % 4 < 2)
            cut_at_slash(m->hosts[i], strlen(m->hosts[i]) * how / 255);
        m->roots[i] = (struct root){m->hosts[i], m->hosts[i], m->hosts[i], true};
    }
}

/* One line of the input, repeated. */
static inline struct str take_text(struct input *in, unsigned times, struct buf *out)
{
    const char *p = (const char *)in->p;
    const char *end = in->n ? memchr(p, '\n', in->n) : NULL;
    size_t n = end ? (size_t)(end - p) : in->n;
    for (unsigned i = 0; i <= times && out->len < 2 * PATH_TEXT_MAX; i++)
        buf_add(out, p, n);
    in->p += n + (end != NULL);
    in->n -= n + (end != NULL);
    return buf_str(out);
}

#endif

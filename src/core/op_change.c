#include "core/op_change.h"

#include <string.h>

#define MODE_BITS 07777u

struct packed_node {
    int64_t size;
    unsigned char sha256[HASH_BYTES];
    uint16_t mode;
    uint16_t target;
    uint8_t type;
} __attribute__((packed));

/* Behind it: path, targets. */
struct packed_changed {
    struct packed_node before;
    struct packed_node after;
    uint16_t path;
    uint8_t marks;
} __attribute__((packed));

enum mark {
    MARK_SECRET = 1,
    MARK_UNREAD = 2,
    MARK_CONFLICT = 4,
    MARK_GUARDED = 8,
    MARK_GIT = 16,
    MARK_SPECIAL = 32,
    MARK_DROP = 64,
    MARKS_END = 128,
};

static uint8_t pack_marks(const struct op_changed *c)
{
    return (uint8_t)((c->secret ? MARK_SECRET : 0) | (c->unread ? MARK_UNREAD : 0) |
                     (c->conflict ? MARK_CONFLICT : 0) | (c->guarded ? MARK_GUARDED : 0) |
                     (c->git ? MARK_GIT : 0) | (c->special ? MARK_SPECIAL : 0) |
                     (c->drop ? MARK_DROP : 0));
}

static struct op_changed take_marks(unsigned marks)
{
    return (struct op_changed){
        .secret = marks & MARK_SECRET,
        .unread = marks & MARK_UNREAD,
        .conflict = marks & MARK_CONFLICT,
        .guarded = marks & MARK_GUARDED,
        .git = marks & MARK_GIT,
        .special = marks & MARK_SPECIAL,
        .drop = marks & MARK_DROP,
    };
}

static struct packed_node pack_node(const struct op_node *node)
{
    struct packed_node packed = {.size = node->size,
                                 .mode = (uint16_t)(node->mode & MODE_BITS),
                                 .target = (uint16_t)node->target.n,
                                 .type = (uint8_t)node->type};
    memcpy(packed.sha256, node->sha256, sizeof packed.sha256);
    return packed;
}

void op_changed_add(struct buf *body, const struct op_changed *c)
{
    struct packed_changed head = {pack_node(&c->before), pack_node(&c->after), (uint16_t)c->path.n,
                                  pack_marks(c)};
    buf_add(body, &head, sizeof head);
    buf_add(body, c->path.p, c->path.n);
    buf_add(body, c->before.target.p, c->before.target.n);
    buf_add(body, c->after.target.p, c->after.target.n);
}

static bool take_packed_text(struct str *rest, size_t n, struct str *ret)
{
    if (rest->n < n)
        return false;
    *ret = (struct str){rest->p, n};
    rest->p += n;
    rest->n -= n;
    return true;
}

/* Only a link has a target, and what is not there has nothing. */
static bool take_packed_node(const struct packed_node *packed, struct str *rest,
                             struct op_node *ret)
{
    bool link = packed->type == NODE_LINK;
    bool none = packed->type == NODE_NONE;
    if (packed->type >= NODE_TYPES || packed->size < 0 || packed->mode & ~MODE_BITS ||
        (!link && packed->target) || packed->target >= PATH_TEXT_MAX ||
        (none && (packed->size || packed->mode)))
        return false;
    *ret = (struct op_node){
        .type = (enum node_type)packed->type, .mode = packed->mode, .size = packed->size};
    memcpy(ret->sha256, packed->sha256, sizeof ret->sha256);
    return take_packed_text(rest, packed->target, &ret->target) &&
           (!link || !memchr(ret->target.p, '\0', ret->target.n));
}

int op_changed_next(struct str *rest, struct op_changed *ret)
{
    struct packed_changed head;
    struct str left = *rest;
    struct str bytes;
    if (left.n == 0)
        return 0;
    if (!take_packed_text(&left, sizeof head, &bytes))
        return -1;
    memcpy(&head, bytes.p, sizeof head);
    *ret = take_marks(head.marks);
    if (head.marks >= MARKS_END || !take_packed_text(&left, head.path, &ret->path) ||
        !op_is_relative_path(ret->path) || !take_packed_node(&head.before, &left, &ret->before) ||
        !take_packed_node(&head.after, &left, &ret->after) ||
        (ret->before.type == NODE_NONE && ret->after.type == NODE_NONE))
        return -1;
    *rest = left;
    return 1;
}

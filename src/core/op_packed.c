/* Lists in the bodies of frames, packed. */
#include <string.h>

#include "core/op.h"
#include "core/path.h"

/* Packed: type (1 byte), size (8), mtime (8), name length (2), name. Same machine on both ends, so
 * byte order is the machine's. */
struct packed {
    int64_t size;
    int64_t mtime_ms;
    uint16_t name_length;
    uint8_t type;
} __attribute__((packed));

void op_entry_add(struct buf *body, const struct op_entry *entry)
{
    struct packed head = {entry->size, entry->mtime_ms, (uint16_t)entry->name.n,
                          (uint8_t)entry->type};
    buf_add(body, &head, sizeof head);
    buf_add(body, entry->name.p, entry->name.n);
}

bool op_is_relative_path(struct str path)
{
    if (path.n == 0 || path.n >= PATH_TEXT_MAX || memchr(path.p, '\0', path.n))
        return false;
    for (size_t at = 0; at <= path.n;) {
        const char *name = path.p + at;
        const char *slash = memchr(name, '/', path.n - at);
        size_t n = slash ? (size_t)(slash - name) : path.n - at;
        bool dots = n > 0 && name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.'));
        if (n == 0 || n > PATH_NAME_MAX || dots)
            return false;
        at += n + 1;
    }
    return true;
}

int op_entry_next(struct str *rest, struct op_entry *ret)
{
    struct packed head;
    if (rest->n == 0)
        return 0;
    if (rest->n < sizeof head)
        return -1;
    memcpy(&head, rest->p, sizeof head);
    if (head.type > TYPE_OTHER || head.size < 0 || rest->n - sizeof head < head.name_length)
        return -1;
    const char *name = rest->p + sizeof head;
    if (!op_is_relative_path((struct str){name, head.name_length}))
        return -1;
    *ret = (struct op_entry){
        (enum file_type)head.type, head.size, head.mtime_ms, {name, head.name_length}};
    rest->p += sizeof head + head.name_length;
    rest->n -= sizeof head + head.name_length;
    return 1;
}

/* Packed: lengths (8 each), all (1), texts. */
struct packed_edit {
    uint64_t old_length;
    uint64_t new_length;
    uint8_t all;
} __attribute__((packed));

void op_edit_add(struct buf *body, const struct op_edit *edit)
{
    struct packed_edit head = {edit->old_text.n, edit->new_text.n, edit->all};
    buf_add(body, &head, sizeof head);
    buf_add(body, edit->old_text.p, edit->old_text.n);
    buf_add(body, edit->new_text.p, edit->new_text.n);
}

int op_edit_next(struct str *rest, struct op_edit *ret)
{
    struct packed_edit head;
    if (rest->n == 0)
        return 0;
    if (rest->n < sizeof head)
        return -1;
    memcpy(&head, rest->p, sizeof head);
    size_t left = rest->n - sizeof head;
    if (head.old_length > left || head.new_length > left - head.old_length)
        return -1;
    const char *at = rest->p + sizeof head;
    *ret = (struct op_edit){
        {at, head.old_length}, {at + head.old_length, head.new_length}, head.all != 0};
    at += head.old_length + head.new_length;
    *rest = (struct str){at, left - head.old_length - head.new_length};
    return 1;
}

/* Packed: inode (8), time of birth (8), path length (2), kind (1), type (1), fresh and replaced (1), path. */
struct packed_guarded {
    uint64_t inode;
    int64_t born_ns;
    uint16_t length;
    uint8_t kind;
    uint8_t type;
    uint8_t fresh;
} __attribute__((packed));
_Static_assert(OP_SCAN_FOUND_MAX * sizeof(struct packed_guarded) + OP_SCAN_PATHS_MAX <= OP_BODY_MAX,
               "the longest list of a scan fits a reply");

void op_guarded_add(struct buf *body, const struct op_guarded *found)
{
    struct packed_guarded head = {
        found->id.inode,      found->id.born_ns,    (uint16_t)found->path.n,
        (uint8_t)found->kind, (uint8_t)found->type, (uint8_t)(found->fresh | found->replaced << 1)};
    buf_add(body, &head, sizeof head);
    buf_add(body, found->path.p, found->path.n);
}

int op_guarded_next(struct str *rest, struct op_guarded *ret)
{
    struct packed_guarded head;
    if (rest->n == 0)
        return 0;
    if (rest->n < sizeof head)
        return -1;
    memcpy(&head, rest->p, sizeof head);
    struct str path = {rest->p + sizeof head, head.length};
    if (head.kind >= GUARDED_KINDS || head.type > TYPE_OTHER || head.fresh > 3 ||
        rest->n - sizeof head < path.n || !op_is_relative_path(path))
        return -1;
    *ret = (struct op_guarded){.kind = (enum guarded_kind)head.kind,
                               .type = (enum file_type)head.type,
                               .fresh = head.fresh & 1,
                               .replaced = head.fresh & 2,
                               .path = path,
                               .id = {head.inode, head.born_ns}};
    rest->p += sizeof head + path.n;
    rest->n -= sizeof head + path.n;
    return 1;
}

/* Packed: length (2), kind (1), text. */
struct packed_lead {
    uint16_t length;
    uint8_t kind;
} __attribute__((packed));

void op_lead_add(struct buf *body, const struct op_lead *lead)
{
    struct packed_lead head = {(uint16_t)lead->text.n, (uint8_t)lead->kind};
    buf_add(body, &head, sizeof head);
    buf_add(body, lead->text.p, lead->text.n);
}

int op_lead_next(struct str *rest, struct op_lead *ret)
{
    struct packed_lead head;
    if (rest->n == 0)
        return 0;
    if (rest->n < sizeof head)
        return -1;
    memcpy(&head, rest->p, sizeof head);
    struct str text = {rest->p + sizeof head, head.length};
    if (head.kind >= GUARDED_KINDS || text.n == 0 || text.n >= PATH_TEXT_MAX ||
        rest->n - sizeof head < text.n || memchr(text.p, '\0', text.n))
        return -1;
    *ret = (struct op_lead){(enum guarded_kind)head.kind, text};
    rest->p += sizeof head + text.n;
    rest->n -= sizeof head + text.n;
    return 1;
}

/* Packed: path length (2), root (1), path. */
struct packed_layer {
    uint16_t length;
    uint8_t root;
} __attribute__((packed));

void op_layer_add(struct buf *body, const struct op_layer *layer)
{
    struct packed_layer head = {(uint16_t)layer->path.n, (uint8_t)layer->root};
    buf_add(body, &head, sizeof head);
    buf_add(body, layer->path.p, layer->path.n);
}

int op_layer_next(struct str *rest, struct op_layer *ret)
{
    struct packed_layer head;
    if (rest->n == 0)
        return 0;
    if (rest->n < sizeof head)
        return -1;
    memcpy(&head, rest->p, sizeof head);
    struct str path = {rest->p + sizeof head, head.length};
    if (head.root >= ROOTS_MAX || rest->n - sizeof head < path.n || !op_is_relative_path(path))
        return -1;
    *ret = (struct op_layer){head.root, path};
    rest->p += sizeof head + path.n;
    rest->n -= sizeof head + path.n;
    return 1;
}

bool op_is_layer_tag(struct str tag)
{
    for (size_t i = 0; i < tag.n; i++) {
        char c = tag.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-'))
            return false;
    }
    return tag.n > 0 && tag.n <= OP_LAYER_TAG_MAX;
}

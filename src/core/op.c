#include "core/op.h"

#include <string.h>

#include "core/path.h"

const char *const file_type_names[] = {"file", "directory", "symlink", "other", NULL};

#define ROOT_AND_PATH(type_)                                                                       \
    {.name = "root",                                                                               \
     .type = ARG_INT,                                                                              \
     .flags = ARG_REQUIRED,                                                                        \
     .offset = offsetof(type_, root),                                                              \
     .max = ROOTS_MAX - 1},                                                                        \
    {                                                                                              \
        .name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED,                                 \
        .offset = offsetof(type_, path), .min = 1, .max = PATH_TEXT_MAX - 1                        \
    }
#define COUNT(field, type_)                                                                        \
    {                                                                                              \
        .name = #field, .type = ARG_INT, .flags = ARG_REQUIRED, .offset = offsetof(type_, field)   \
    }
#define FLAG(field, type_)                                                                         \
    {                                                                                              \
        .name = #field, .type = ARG_BOOL, .offset = offsetof(type_, field)                         \
    }
#define SHA256(field, type_)                                                                       \
    {                                                                                              \
        .name = #field, .type = ARG_SHA256, .flags = ARG_REQUIRED,                                 \
        .offset = offsetof(type_, field)                                                           \
    }
#define TAG(type_)                                                                                 \
    {                                                                                              \
        .name = "tag", .type = ARG_STRING, .flags = ARG_REQUIRED, .offset = offsetof(type_, tag),  \
        .min = 1, .max = 32                                                                        \
    }

static const struct arg read_request[] = {
    ROOT_AND_PATH(struct op_read_request),
    {.name = "start_line",
     .type = ARG_INT,
     .offset = offsetof(struct op_read_request, start_line),
     .min = 1,
     .def = ARG_ABSENT},
    {.name = "end_line",
     .type = ARG_INT,
     .offset = offsetof(struct op_read_request, end_line),
     .min = 1,
     .def = ARG_ABSENT},
    COUNT(max_bytes, struct op_read_request),
};
static const struct arg read_reply[] = {
    COUNT(size, struct op_read_reply),        SHA256(sha256, struct op_read_reply),
    COUNT(total_lines, struct op_read_reply), COUNT(start_line, struct op_read_reply),
    COUNT(end_line, struct op_read_reply),    COUNT(whole, struct op_read_reply),
    FLAG(truncated, struct op_read_reply),    FLAG(binary, struct op_read_reply),
};
static const struct arg write_request[] = {
    ROOT_AND_PATH(struct op_write_request),
    {.name = "if_match", .type = ARG_SHA256, .offset = offsetof(struct op_write_request, if_match)},
    TAG(struct op_write_request),
    COUNT(max_bytes, struct op_write_request),
    FLAG(create_only, struct op_write_request),
    FLAG(append, struct op_write_request),
    FLAG(fsync, struct op_write_request),
};
static const struct arg write_reply[] = {
    COUNT(bytes, struct op_write_reply),
    SHA256(sha256, struct op_write_reply),
    FLAG(created, struct op_write_reply),
};
static const struct arg list_request[] = {
    ROOT_AND_PATH(struct op_list_request),
    FLAG(hidden, struct op_list_request),
    FLAG(skip_symlinks, struct op_list_request),
    COUNT(max_entries, struct op_list_request),
};
static const struct arg list_reply[] = {
    COUNT(count, struct op_list_reply),
    FLAG(truncated, struct op_list_reply),
};
static const struct arg stat_request[] = {
    ROOT_AND_PATH(struct op_stat_request),
};
static const struct arg stat_reply[] = {
    {.name = "type",
     .type = ARG_CHOICE,
     .flags = ARG_REQUIRED,
     .choices = file_type_names,
     .offset = offsetof(struct op_stat_reply, type)},
    COUNT(size, struct op_stat_reply),
    COUNT(mode, struct op_stat_reply),
    {.name = "mtime_ms",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .min = -INT64_MAX,
     .offset = offsetof(struct op_stat_reply, mtime_ms)},
    FLAG(symlink, struct op_stat_reply),
};
static const struct arg sweep_request[] = {
    ROOT_AND_PATH(struct op_sweep_request),
    TAG(struct op_sweep_request),
};
static const struct arg sweep_reply[] = {
    COUNT(removed, struct op_sweep_reply),
};

#define OP_ROW(id, lower, writes_, has_body_)                                                      \
    [id] = {#lower, ARG_TABLE(lower##_request, struct op_##lower##_request),                       \
            ARG_TABLE(lower##_reply, struct op_##lower##_reply), writes_, has_body_}

const struct op op_table[OP_COUNT] = {
    OP_ROW(OP_READ, read, false, true),    OP_ROW(OP_WRITE, write, true, false),
    OP_ROW(OP_LIST, list, false, true),    OP_ROW(OP_STAT, stat, false, false),
    OP_ROW(OP_SWEEP, sweep, false, false),
};

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

int op_entry_next(struct str *rest, struct op_entry *ret)
{
    struct packed head;
    if (rest->n == 0)
        return 0;
    if (rest->n < sizeof head)
        return -1;
    memcpy(&head, rest->p, sizeof head);
    if (head.type > TYPE_OTHER || head.size < 0 || head.name_length == 0 ||
        head.name_length > PATH_NAME_MAX || rest->n - sizeof head < head.name_length)
        return -1;
    const char *name = rest->p + sizeof head;
    if (memchr(name, '/', head.name_length) || memchr(name, '\0', head.name_length))
        return -1;
    if (name[0] == '.' && (head.name_length == 1 || (head.name_length == 2 && name[1] == '.')))
        return -1;
    *ret = (struct op_entry){
        (enum file_type)head.type, head.size, head.mtime_ms, {name, head.name_length}};
    rest->p += sizeof head + head.name_length;
    rest->n -= sizeof head + head.name_length;
    return 1;
}

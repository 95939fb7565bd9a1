#include "cell/order.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

/* clang-tidy wants parentheses around names of members, which C does not have. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define FIELD(struct_, kind, name_, flags_)                                                        \
    {                                                                                              \
        .name = #name_, .type = (kind), .flags = (flags_),                                         \
        .offset = offsetof(struct struct_, name_)                                                  \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

static const struct arg order_fields[] = {
    FIELD(order, ARG_STRING, cwd, ARG_REQUIRED), FIELD(order, ARG_STRING, beneath, ARG_REQUIRED),
    FIELD(order, ARG_BOOL, as_named, 0),         FIELD(order, ARG_STRING, pinned, 0),
    FIELD(order, ARG_BOOL, has_stdin, 0),        FIELD(order, ARG_BOOL, terminal, 0),
    FIELD(order, ARG_BOOL, terminal_errors, 0),  FIELD(order, ARG_INT, n_args, ARG_REQUIRED),
    FIELD(order, ARG_INT, n_env, ARG_REQUIRED),  FIELD(order, ARG_BOOL, listed, 0),
    FIELD(order, ARG_BOOL, allow_all, 0),        FIELD(order, ARG_INT, n_allowed, 0),
    FIELD(order, ARG_INT, n_denied, 0),          FIELD(order, ARG_BOOL, only_leaves, 0),
    FIELD(order, ARG_INT, n_leaves, 0),          FIELD(order, ARG_INT, data, 0),
    FIELD(order, ARG_INT, processes, 0),         FIELD(order, ARG_INT, files, 0),
    FIELD(order, ARG_INT, file_size, 0),         FIELD(order, ARG_INT, cpu_seconds, 0),
    FIELD(order, ARG_INT, watch_memory, 0),      FIELD(order, ARG_INT, watch_buffers, 0),
    FIELD(order, ARG_INT, watch_processes, 0),   FIELD(order, ARG_INT, watch_written, 0),
};
static const struct arg_table order_table = ARG_TABLE(order_fields, struct order);

int order_frame(const struct order *order, struct buf *head, struct frame *ret)
{
    struct json_out j = {.out = head};
    arg_encode(&order_table, order, &j);
    if (head->failed || order->strings.n > FRAME_BODY_MAX)
        return -1;
    *ret = (struct frame){.type = FRAME_RUN, .head = buf_str(head), .body = order->strings};
    return 0;
}

int order_read(const struct frame *frame, struct order *ret, yyjson_doc **ret_doc, struct err *err)
{
    struct json_error why;
    if (json_parse(frame->head.p, frame->head.n, FRAME_HEAD_MAX, JSON_INTERNAL, ret_doc, &why) < 0)
        return err_set(err, ERR_INTERNAL, "the order for a command: %s", why.what);
    *ret = (struct order){0};
    if (arg_decode(&order_table, true, yyjson_doc_get_root(*ret_doc), ret, err) < 0)
        return -1;
    ret->strings = frame->body;
    return 0;
}

/* The next string, with its NUL; NULL when there is none. */
static char *next_string(struct str *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\0', rest->n) : NULL;
    if (!end)
        return NULL;
    /* exec does not write through its vectors. */
    char *at = (char *)(uintptr_t)rest->p;
    size_t n = (size_t)(end - rest->p) + 1;
    *rest = (struct str){rest->p + n, rest->n - n};
    return at;
}

static char **take_vector(struct str *rest, size_t count)
{
    char **vector = mem_grow(NULL, count + 1, sizeof *vector);
    for (size_t i = 0; i < count; i++)
        vector[i] = next_string(rest);
    vector[count] = NULL;
    return vector;
}

static struct str *take_strs(struct str *rest, size_t count)
{
    struct str *all = mem_grow(NULL, count + 1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        all[i].p = next_string(rest);
        all[i].n = all[i].p ? strlen(all[i].p) : 0;
    }
    return all;
}

static size_t count_strings(struct str all)
{
    size_t count = 0;
    while (next_string(&all))
        count++;
    return count;
}

int order_vectors(const struct order *order, struct order_vectors *ret)
{
    const int64_t counts[] = {order->n_args, order->n_env, order->n_allowed, order->n_denied,
                              order->n_leaves};
    size_t total = 0;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        if (counts[i] < 0 || counts[i] > (int64_t)order->strings.n)
            return -1;
        total += (size_t)counts[i];
    }
    if (order->n_args == 0 || count_strings(order->strings) != total)
        return -1;
    struct str rest = order->strings;
    ret->args = take_vector(&rest, (size_t)order->n_args);
    ret->env = take_vector(&rest, (size_t)order->n_env);
    ret->allowed = take_strs(&rest, (size_t)order->n_allowed);
    ret->denied = take_strs(&rest, (size_t)order->n_denied);
    ret->leaves = take_strs(&rest, (size_t)order->n_leaves);
    return 0;
}

struct counted {
    struct str call;
    int64_t count;
};
static const struct arg violation_fields[] = {
    {.name = "call",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct counted, call),
     .max = VIOLATION_NAME_MAX},
    {.name = "count",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct counted, count),
     .min = 1},
};

static const struct arg ran_fields[] = {
    {.name = "kind",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct ran, kind),
     .max = RAN_KIND_END - 1},
    {.name = "status", .type = ARG_INT, .offset = offsetof(struct ran, status), .max = 0xffff},
    {.name = "error", .type = ARG_INT, .offset = offsetof(struct ran, error), .max = 4095},
    FIELD(ran, ARG_STRING, message, 0),
    FIELD(ran, ARG_STRING, rule, 0),
    FIELD(ran, ARG_STRING, folder, 0),
    FIELD(ran, ARG_INT, user_ms, 0),
    FIELD(ran, ARG_INT, system_ms, 0),
    FIELD(ran, ARG_INT, peak_memory, 0),
    FIELD(ran, ARG_INT, written, 0),
    {.name = "violations",
     .type = ARG_OBJECTS,
     .flags = ARG_STRICT,
     .offset = offsetof(struct ran, violations),
     .items = violation_fields,
     .n_items = ARRAY_LEN(violation_fields),
     .max = VIOLATIONS_MAX + 1},
};
static const struct arg_table ran_table = ARG_TABLE(ran_fields, struct ran);

void ran_write(const struct ran *ran, struct str violations, struct json_out *j)
{
    jo_open(j, '{');
    jo_kint(j, "kind", ran->kind);
    jo_kint(j, "status", ran->status);
    jo_kint(j, "error", ran->error);
    if (ran->message.p)
        jo_kstr(j, "message", ran->message);
    if (ran->rule.p)
        jo_kstr(j, "rule", ran->rule);
    if (ran->folder.p)
        jo_kstr(j, "folder", ran->folder);
    jo_kint(j, "user_ms", ran->user_ms);
    jo_kint(j, "system_ms", ran->system_ms);
    jo_kint(j, "peak_memory", ran->peak_memory);
    jo_kint(j, "written", ran->written);
    jo_key(j, "violations");
    jo_raw(j, violations);
    jo_close(j, '}');
}

int ran_read(const struct frame *frame, struct ran *ret, yyjson_doc **ret_doc, struct err *err)
{
    if (frame->type != FRAME_RAN || frame->body.n ||
        json_parse(frame->head.p, frame->head.n, FRAME_HEAD_MAX, JSON_STRICT, ret_doc, NULL) < 0)
        return err_set(err, ERR_INTERNAL, "an account of a command that cannot be read");
    *ret = (struct ran){0};
    return arg_decode(&ran_table, true, yyjson_doc_get_root(*ret_doc), ret, err);
}

struct watch_limits order_watch_limits(const struct order *o)
{
    return (struct watch_limits){
        .memory = (uint64_t)o->watch_memory,
        .buffers = (uint64_t)o->watch_buffers,
        .processes = (uint32_t)o->watch_processes,
        .written = (uint64_t)o->watch_written,
    };
}

bool order_is_watched(const struct order *o)
{
    return o->watch_memory || o->watch_buffers || o->watch_processes || o->watch_written;
}

/* A table (the first byte picks one) and any JSON, as text or built (the second byte tells): what is
 * decoded survives being sent, and what is logged of it is JSON without contents. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/op.h"
#include "target.h"
#include "build.h"
#include "tools/all.h"

#define TEXT_MAX (16u << 20)
#define STRUCT_MAX 512

static size_t tables(const struct arg_table *ret[64])
{
    size_t n = 0;
    for (size_t i = 0; i < OP_COUNT; i++) {
        ret[n++] = &op_table[i].request;
        ret[n++] = &op_table[i].reply;
    }
    for (size_t i = 0; tools_all[i]; i++)
        ret[n++] = &tools_all[i]->args;
    return n;
}

static bool same_text(const struct str *a, const struct str *b)
{
    return a->n == b->n && !a->p == !b->p && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

static bool same(const struct arg_table *table, const char *a, const char *b)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        const void *x = a + arg->offset;
        const void *y = b + arg->offset;
        bool text = arg->type == ARG_STRING || arg->type == ARG_SHA256;
        size_t n = arg->type == ARG_BOOL ? sizeof(bool) : sizeof(int64_t);
        if (text ? !same_text(x, y) : memcmp(x, y, n) != 0)
            return false;
    }
    return true;
}

static void check_sent(const struct arg_table *table, const char *decoded)
{
    _Alignas(8) char again[STRUCT_MAX] = {0};
    struct err err;
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    struct json_out j = {.out = &out};
    arg_encode(table, decoded, &j);
    JSON_AT_END yyjson_doc *doc = NULL;
    must(json_parse(out.data, out.len, out.len, JSON_INTERNAL, &doc, NULL) == 0);
    must(arg_decode(table, true, yyjson_doc_get_root(doc), again, &err) == 0);
    must(same(table, decoded, again));
}

/* Objects and lists are for callers only: operations have none. */
static bool can_be_sent(const struct arg_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->args[i].type == ARG_OBJECT || table->args[i].items)
            return false;
    }
    return true;
}

static void check_content(yyjson_val *logged, yyjson_val *given)
{
    if (!yyjson_is_str(given)) {
        must(yyjson_equals_str(logged, yyjson_get_type_desc(given)));
        return;
    }
    char hex[HASH_HEX + 1];
    hash_hex(yyjson_get_str(given), yyjson_get_len(given), hex);
    must(yyjson_obj_size(logged) == 2);
    must(yyjson_get_uint(yyjson_obj_get(logged, "bytes")) == yyjson_get_len(given));
    must(yyjson_equals_str(yyjson_obj_get(logged, "sha256"), hex));
}

/* What a command reads is text, and the hash is of the text that is shown. */
static void check_input(yyjson_val *logged, yyjson_val *given)
{
    if (!yyjson_is_str(given)) {
        must(yyjson_equals_str(logged, yyjson_get_type_desc(given)));
        return;
    }
    yyjson_val *text = yyjson_obj_get(logged, "text");
    must(yyjson_obj_size(logged) == 3);
    must(yyjson_get_uint(yyjson_obj_get(logged, "bytes")) == yyjson_get_len(given));
    must(yyjson_is_str(text) || yyjson_is_str(yyjson_obj_get(logged, "cut")));
    if (text) {
        char hex[HASH_HEX + 1];
        hash_hex(yyjson_get_str(text), yyjson_get_len(text), hex);
        must(!utf8_valid(yyjson_get_str(given), yyjson_get_len(given)) ||
             yyjson_equals_str(yyjson_obj_get(logged, "sha256"), hex));
    }
}

static void check_logged(const struct arg_table *table, yyjson_val *object)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    struct json_out j = {.out = &out};
    arg_redact(table, object, 0, &j);
    JSON_AT_END yyjson_doc *doc = NULL;
    must(json_parse(out.data, out.len, out.len, JSON_STRICT, &doc, NULL) == 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    must(yyjson_obj_size(root) <= table->count);
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        yyjson_val *given = yyjson_is_obj(object) ? yyjson_obj_get(object, arg->name) : NULL;
        yyjson_val *logged = yyjson_obj_get(root, arg->name);
        must(!logged == (!given || yyjson_is_null(given)));
        if (logged && arg->use & ARG_INPUT)
            check_input(logged, given);
        else if (logged && arg->flags & ARG_CONTENT)
            check_content(logged, given);
    }
}

/* Once it is in the form of the table it stays as it is, and nothing is left that only that form has. */
static void check_adapted(const struct arg_table *table, struct str text)
{
    yyjson_doc *doc = NULL;
    struct err err = {.code = ERR_COUNT};
    if (json_parse(text.p, text.n, text.n, JSON_STRICT, &doc, NULL) < 0)
        return;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (arg_adapt(table, &doc, &root, &err) < 0) {
        must(err.code == ERR_INVALID_ARGUMENTS && err.message[0] &&
             root == yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
        return;
    }
    for (size_t i = 0; yyjson_is_obj(root) && i < table->count; i++)
        must(!table->args[i].alias || !yyjson_obj_get(root, table->args[i].alias));
    size_t n = 0;
    FREE_AT_END char *before = yyjson_val_write(root, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &n);
    must(arg_adapt(table, &doc, &root, &err) == 0);
    FREE_AT_END char *after = yyjson_val_write(root, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &n);
    must(before && after && strcmp(before, after) == 0);
    yyjson_doc_free(doc);
}

static void check(const struct arg_table *table, bool strict, struct str text)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(text.p, text.n, text.n, JSON_INTERNAL, &doc, NULL) < 0)
        return;
    yyjson_val *root = yyjson_doc_get_root(doc);
    _Alignas(8) char decoded[STRUCT_MAX] = {0};
    must(table->size <= sizeof decoded);
    struct err err = {.code = ERR_COUNT};
    int r = arg_decode(table, strict, root, decoded, &err);
    must(r < 0 ? err.code == ERR_INVALID_ARGUMENTS && err.message[0] && err.reason[0]
               : err.code == ERR_COUNT);
    if (r == 0 && can_be_sent(table))
        check_sent(table, decoded);
    check_logged(table, root);
    check_adapted(table, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct arg_table *all[128];
    size_t count = tables(all);
    if (size < 3)
        return 0;
    const struct arg_table *table = all[data[0] % count];
    bool strict = data[1] & 1;
    struct source rest = {data + 2, size - 2};
    if (data[1] & 2) {
        BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
        build_object(table, &rest, &(struct json_out){.out = &text});
        check(table, strict, buf_str(&text));
    } else {
        check(table, strict, (struct str){(const char *)rest.p, rest.n});
    }
    return 0;
}

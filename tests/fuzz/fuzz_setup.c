/* A client's configuration file, as anybody wrote it (the first byte tells its kind): it is refused, or what was in it is
 * in what is made of it, a server of ours has nothing else, and adding once more changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "front/setup_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD STR("w = 1\n")
#define TABLES STR("[f]\na = false\n\n[m.s]\nc = \"x\"\n")
#define WANTED STR("{\"m\":{\"s=\":{\"c\":\"x\"}},\"p\":{\"d+\":[\"A\",\"B\"],\"*>\":1}}")

static int merge_any(bool json, struct str old, struct buf *ret, bool *same)
{
    struct err err;
    BUF_AT_END struct buf replaced = BUF_INIT(1 << 16);
    return json ? setup_merge_json(old, WANTED, ret, &replaced, same, &err)
                : setup_merge_toml(old, HEAD, TABLES, ret, same, &err);
}

static void check_toml(struct str old, struct str made)
{
    bool marked = memmem(old.p, old.n, "# sandgate setup: ", 18);
    if (!marked && old.n && !memmem(made.p, made.n, old.p, old.n))
        abort();
}

static void check_json(struct str made)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(made.p, made.n, 2 * SETUP_BYTES_MAX, JSON_STRICT, &doc, NULL) < 0)
        abort();
    yyjson_val *p = yyjson_obj_get(yyjson_doc_get_root(doc), "p");
    if (yyjson_arr_size(yyjson_obj_get(p, "d")) < 2 || !yyjson_obj_get(p, "*"))
        abort();
    yyjson_val *server = yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(doc), "m"), "s");
    if (yyjson_obj_size(server) != 1 || !yyjson_equals_str(yyjson_obj_get(server, "c"), "x"))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool json = data[0] & 1;
    struct str old = {(const char *)data + 1, size - 1};
    BUF_AT_END struct buf made = BUF_INIT(2 * SETUP_BYTES_MAX);
    BUF_AT_END struct buf again = BUF_INIT(2 * SETUP_BYTES_MAX);
    bool same = false;
    if (merge_any(json, old, &made, &same) < 0)
        return 0;
    if (json)
        check_json(buf_str(&made));
    else
        check_toml(old, buf_str(&made));
    if (merge_any(json, buf_str(&made), &again, &same) < 0 || !same ||
        !str_equal(buf_str(&made), buf_str(&again)))
        abort();
    return 0;
}

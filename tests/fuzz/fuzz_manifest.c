/* Any bytes as a manifest, and what it has for examples as arguments: a tool whose schema can be listed and whose rows name
 * its properties, or an error that can be shown. */
#include <string.h>

#include "base/utf8.h"
#include "core/manifest.h"
#include "core/schema.h"
#include "target.h"

static void check_rows(const struct manifest *m)
{
    yyjson_val *properties = yyjson_obj_get(m->input, "properties");
    must(m->tool.args.count == yyjson_obj_size(properties));
    for (size_t i = 0; i < m->tool.args.count; i++)
        must(yyjson_obj_get(properties, m->tool.args.args[i].name));
}

static void check_examples(const struct manifest *m)
{
    size_t idx;
    size_t max;
    yyjson_val *example;
    yyjson_arr_foreach(m->examples, idx, max, example) {
        struct err err = {0};
        yyjson_val *input = yyjson_obj_get(example, "input");
        BUF_AT_END struct buf out = BUF_INIT(4u << 20);
        if (tool_decode(&m->tool, true, input, NULL, &err) < 0)
            must(err.message[0] && err.reason[0] && utf8_valid(err.message, strlen(err.message)));
        arg_redact(&m->tool.args, input, 0, &(struct json_out){.out = &out});
        if (m->output)
            (void)schema_check(m->output, "result", yyjson_obj_get(example, "output"), &err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest *m = NULL;
    struct err err = {0};
    BUF_AT_END struct buf out = BUF_INIT(4u << 20);
    if (manifest_read((struct str){(const char *)data, size}, &m, &err) < 0) {
        must(err.message[0] && !m);
        return 0;
    }
    tool_write_input(&m->tool, false, &(struct json_out){.out = &out});
    JSON_AT_END yyjson_doc *again = NULL;
    must(out.failed || json_parse(out.data, out.len, out.len, JSON_STRICT, &again, NULL) == 0);
    check_rows(m);
    check_examples(m);
    manifest_free(m);
    return 0;
}

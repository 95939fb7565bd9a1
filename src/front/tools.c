/* `sandgate tools`: the tools of a dialect, in a format or as text. */
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "core/registry.h"
#include "dialect/dialects.h"
#include "dialect/format.h"
#include "front/front.h"

static void list_text(const struct dialect *dialect, struct buf *out)
{
    for (const struct tool *t = NULL; (t = registry_next(dialect->id, t));) {
        buf_addf(out, "%s\n  %s\n", t->name, t->description);
        arg_help(&t->args, out);
        buf_add_char(out, '\n');
    }
}

/* Everything a row says, results included: for tests and for people who generate clients. */
static void list_full(const struct dialect *dialect, struct json_out *j)
{
    jo_open(j, '[');
    for (const struct tool *t = NULL; (t = registry_next(dialect->id, t));) {
        jo_open(j, '{');
        jo_ktext(j, "name", t->name);
        jo_ktext(j, "alias", t->alias);
        jo_ktext(j, "title", t->title);
        jo_ktext(j, "description", t->description);
        jo_key(j, "input_schema");
        arg_schema(&t->args, j);
        jo_key(j, "output_schema");
        arg_schema(&t->result, j);
        jo_kbool(j, "reads_files", t->capabilities & CAP_FS_READ);
        jo_kbool(j, "writes_files", t->capabilities & CAP_FS_WRITE);
        jo_close(j, '}');
    }
    jo_close(j, ']');
}

static int help(void)
{
    BUF_AT_END struct buf out = BUF_INIT(16u << 10);
    buf_add_text(&out, "usage: sandgate tools [--dialect NAME] [--format NAME|text|full]\n\n"
                       "Lists the tools as a format's JSON, as text for people, or with everything "
                       "known of them (full).\n\n");
    options_help(OPTIONS_SHAPE, &out);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

int front_tools(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    enum format_id format;
    BUF_AT_END struct buf out = BUF_INIT(4u << 20);
    struct json_out j = {.out = &out};
    if (options_read(argc, argv, OPTIONS_SHAPE, 0, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help)
        return help();
    const struct dialect *dialect = dialect_find(o.dialect ? o.dialect : "native", &err);
    if (!dialect)
        return front_usage_error(&err);
    if (o.format && strcmp(o.format, "text") == 0) {
        list_text(dialect, &out);
    } else if (o.format && strcmp(o.format, "full") == 0) {
        list_full(dialect, &j);
    } else {
        if (format_find(o.format ? o.format : "tool_call", &format, &err) < 0)
            return front_usage_error(&err);
        format_list(format, dialect, &j);
    }
    buf_add_char(&out, '\n');
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

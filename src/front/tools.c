/* `sandgate tools`: the tools of a dialect, in a format or as text. */
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "dialect/dialects.h"
#include "dialect/format.h"
#include "front/front.h"
#include "gate/manifests.h"
#include "gate/state.h"
#include "policy/judge.h"

#define OPTIONS (OPTIONS_SHAPE | OPTIONS_CALLER | OPTIONS_NAMES)

static void list_text(const struct tool *const *tools, struct buf *out)
{
    for (; *tools; tools++) {
        const struct tool *t = *tools;
        buf_addf(out, "%s\n  %s\n", t->name, t->description);
        arg_help(&t->args, out);
        buf_add_char(out, '\n');
    }
}

/* Everything a row says, results included: for tests and for people who generate clients. */
static void list_full(const struct tool *const *tools, struct json_out *j)
{
    jo_open(j, '[');
    for (; *tools; tools++) {
        const struct tool *t = *tools;
        jo_open(j, '{');
        jo_ktext(j, "name", t->name);
        jo_ktext(j, "alias", t->alias);
        jo_ktext(j, "title", t->title);
        jo_ktext(j, "description", t->description);
        jo_key(j, "input_schema");
        tool_write_input(t, false, j);
        jo_key(j, "output_schema");
        arg_schema(&t->result, j);
        jo_kbool(j, "reads_files", t->capabilities & CAP_FS_READ);
        jo_kbool(j, "writes_files", t->capabilities & CAP_FS_WRITE);
        jo_close(j, '}');
    }
    jo_close(j, ']');
}

static int help_tools(void)
{
    BUF_AT_END struct buf out = BUF_INIT(16u << 10);
    buf_add_text(
        &out,
        "usage: sandgate tools [--dialect NAME] [--format NAME|text|full] "
        "[--names dotted]\n"
        "                      [--config FILE] [--agent ID]\n\n"
        "Lists the tools that the configuration leaves to the agent: as a format's JSON, as text "
        "for people, or with\neverything known of them (full).\n\n");
    options_help(OPTIONS, &out);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

/* NULL: the configuration cannot be used. */
static const struct tool **find_tools(const struct options *o, const struct dialect *dialect,
                                      struct manifests **ret_manifests, struct err *err)
{
    const struct tool **tools = NULL;
    struct policy *policy = NULL;
    struct config *config = config_new();
    if (state_load_config(config, o->config, err) == 0 &&
        manifests_load(config, ret_manifests, err) == 0 && policy_new(&policy, config, err) == 0)
        tools = policy_offered(policy, dialect->id, o->agent);
    policy_free(policy);
    config_free(config);
    return tools;
}

static int check_names(const struct options *o, struct err *err)
{
    if (!o->names || strcmp(o->names, "dotted") == 0)
        return 0;
    return err_set(err, ERR_INVALID_ARGUMENTS, "--names must be dotted, not `%.40s`", o->names);
}

static int write_list(const struct options *o, const struct tool *const *tools, struct buf *out,
                      struct err *err)
{
    struct json_out j = {.out = out};
    enum format_id format;
    if (o->format && strcmp(o->format, "text") == 0) {
        list_text(tools, out);
    } else if (o->format && strcmp(o->format, "full") == 0) {
        list_full(tools, &j);
    } else {
        if (format_find(o->format ? o->format : "tool_call", &format, err) < 0)
            return -1;
        format_list(format, tools, o->names != NULL, &j);
    }
    buf_add_char(out, '\n');
    return 0;
}

int front_tools(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    struct manifests *manifests = NULL;
    BUF_AT_END struct buf out = BUF_INIT(4u << 20);
    if (options_read(argc, argv, OPTIONS, 0, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help)
        return help_tools();
    const struct dialect *dialect = dialect_find(o.dialect ? o.dialect : "native", &err);
    const struct tool **tools = dialect && check_names(&o, &err) == 0
                                    ? find_tools(&o, dialect, &manifests, &err)
                                    : NULL;
    int r = tools ? write_list(&o, tools, &out, &err) : -1;
    free(tools);
    manifests_free(manifests);
    if (r < 0)
        return front_usage_error(&err);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

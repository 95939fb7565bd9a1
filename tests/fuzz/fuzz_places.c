/* Paths in folders of any depth. The input says how deep the workspace lies and which folders there are, then a path
 * and a rule. The grammars, the policy's places with path rules and globs, and every tool's preparation see them. */
#include <string.h>

#include "base/json_out.h"
#include "base/mem.h"
#include "core/call.h"
#include "core/op.h"
#include "core/registry.h"
#include "dialect/dialects.h"
#include "machine.h"
#include "policy/path_glob.h"
#include "target.h"
#include "tools/all.h"

static void check_path(const struct path *path, size_t count)
{
    size_t n = strnlen(path->text, sizeof path->text);
    must(n > 0 && n < sizeof path->text && path->root < count);
    must(path->text[0] != '/' && path->text[n - 1] != '/');
    must(path_is_root(path) || op_is_relative_path((struct str){path->text, n}));
}

static void check_folders(const struct machine *m, struct str text)
{
    struct err err = {.code = ERR_COUNT};
    /* On the heap, so that the sanitizer sees the first byte behind it. */
    FREE_AT_END struct path *path = mem_zero(sizeof *path);
    FREE_AT_END struct path *again = mem_zero(sizeof *again);
    int r = path_in_folders(text, m->base, m->roots, m->count, path, &err);
    must((r < 0) == (err.code != ERR_COUNT));
    if (r < 0)
        return;
    check_path(path, m->count);
    const char *host = m->roots[path->root].host;
    FREE_AT_END char *whole = path_is_root(path)
                                  ? mem_dup(host)
                                  : mem_format("%s/%s", strcmp(host, "/") ? host : "", path->text);
    struct str full = {whole, strlen(whole)};
    must(path_beneath(full, host) && path_rest(whole, host));
    /* The absolute path leads to the same place, where it is short enough to be one. */
    r = path_in_folders(full, "/", m->roots, m->count, again, &err);
    must(full.n < PATH_TEXT_MAX ? r == 0 : r < 0);
    if (r == 0)
        must(strcmp(m->roots[again->root].host, host) == 0 && strcmp(again->text, path->text) == 0);
}

static void check_glob(const struct place *place, struct str text)
{
    struct path_glob glob;
    struct err err;
    if (path_glob_read(&glob, text, &err) < 0)
        return;
    bool covers = path_glob_covers(&glob, place, false);
    must(!covers || path_glob_touches(&glob, place));
    path_glob_matches(&glob, place);
    path_glob_done(&glob);
}

static void check_rule(const struct place *place, struct str text)
{
    struct rule_path rule;
    struct err err;
    bool loose;
    if (rule_path_read(&rule, text, &err) < 0)
        return;
    must(strlen(rule.text) < PATH_TEXT_MAX && rule.absolute == (rule.text[0] == '/'));
    place_relate(place, &rule, &loose);
    rule_path_done(&rule);
}

static void check_place(const struct policy_call *call, bool mounted, struct str path,
                        struct str rule)
{
    struct place place = {.state = PLACE_UNREAD};
    struct err err = {.code = ERR_COUNT};
    int r = place_read(&place, call, mounted, path, &err);
    must((r < 0) == (err.code != ERR_COUNT) && (r == 0) == (place.state == PLACE_KNOWN));
    if (r == 0) {
        FREE_AT_END char *inside = place_absolute(&place, false);
        FREE_AT_END char *host = place_absolute(&place, true);
        must(inside[0] == '/' && host[0] == '/' && place.text[0]);
        check_rule(&place, rule);
        check_rule(&place, path);
        check_glob(&place, rule);
    }
    place_done(&place);
}

/* The same text in every argument that is a path. */
static yyjson_doc *make_arguments(const struct tool *tool, struct str path)
{
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    struct json_out j = {.out = &text};
    yyjson_doc *doc = NULL;
    jo_open(&j, '{');
    for (size_t i = 0; i < tool->args.count; i++) {
        const struct arg *arg = &tool->args.args[i];
        jo_key(&j, arg->name);
        if (arg->type == ARG_STRING)
            jo_bytes(&j, path);
        else if (arg->type == ARG_CHOICE)
            jo_text(&j, arg->choices[path.n % 2 && arg->choices[1] ? 1 : 0]);
        else
            jo_raw(&j, STR("null"));
    }
    jo_close(&j, '}');
    must(json_parse(text.data, text.len, text.len, JSON_INTERNAL, &doc, NULL) == 0);
    return doc;
}

static const struct dialect *dialect_of(const struct tool *tool)
{
    static const struct dialect *const all[] = {&dialect_native, &dialect_sidecar, &dialect_system,
                                                &dialect_toolhost, &dialect_runner};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i]->id == tool->dialect)
            return all[i];
    }
    return NULL;
}

static void check_tool(const struct tool *tool, struct workplace *at, struct str path)
{
    struct err err = {.code = ERR_COUNT};
    JSON_AT_END yyjson_doc *doc = make_arguments(tool, path);
    struct call *call = call_new();
    call->tool = tool;
    call->dialect = dialect_of(tool);
    call->workplace = at;
    call->arguments = yyjson_doc_get_root(doc);
    if (arg_decode(&tool->args, false, call->arguments, &call->args, &err) == 0 &&
        tool->prepare(call, &err) == 0 && call->has_path)
        must(strnlen(call->path.text, sizeof call->path.text) < sizeof call->path.text);
    if (call->command && call->command->cwd.n)
        must(call->command->cwd.n < PATH_TEXT_MAX && call->command->cwd.p[0] == '/');
    call_free(call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct machine machine;
    static struct config *config;
    struct input in = {data, size};
    BUF_AT_END struct buf first = BUF_INIT(1u << 20);
    BUF_AT_END struct buf second = BUF_INIT(1u << 20);
    if (!config) {
        config = config_new();
        registry_use(tools_all);
    }
    make_machine(&machine, &in);
    uint8_t times = take_byte(&in);
    uint8_t which = take_byte(&in);
    struct str path = take_text(&in, times, &first);
    struct str rule = take_text(&in, 0, &second);
    check_folders(&machine, path);
    struct workplace at = {.roots = machine.roots,
                           .n_roots = machine.count,
                           .config = config,
                           .tier = {.id = TIER_NONE},
                           .session_id = "",
                           .base = machine.base,
                           .command_roots = machine.roots,
                           .n_command_roots = machine.count,
                           .command_base = machine.base};
    struct policy_call call = {
        .session = "", .roots = machine.roots, .n_roots = machine.count, .base = machine.base};
    check_place(&call, times & 1, path, rule);
    check_tool(tools_all[which % (ARRAY_LEN(tools_all) - 1)], &at, path);
    return 0;
}

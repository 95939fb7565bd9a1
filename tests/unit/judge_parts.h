/* Policies and calls for tests; texts have ' for ". */
#ifndef SANDGATE_TESTS_JUDGE_PARTS_H
#define SANDGATE_TESTS_JUDGE_PARTS_H

#include "json_text.h"
#include "core/registry.h"
#include "policy/judge.h"
#include "tools/all.h"

static const struct root native_roots[] = {{"workspace", "/workspace", "/home/u/p", true}};
static const struct root mount_roots[] = {{"@project", "/project", "/home/u/p", true},
                                          {"@pkg", "/pkg", "/opt/pkg", false},
                                          {"@state", "/state", "/home/u/s", true}};
/* The workspace lies in the first. */
static const struct root folder_roots[] = {{"/home/u", "/home/u", "/home/u", true},
                                           {"/tmp", "/tmp", "/tmp", true}};
#define FOLDER_BASE "/home/u/p"

/* `native:read_file`, `http`. */
static inline const struct tool *find_tool(const char *name)
{
    static const char *const dialects[] = {"native", "sidecar", "system", "toolhost", "runner"};
    for (size_t i = 0; i < ARRAY_LEN(dialects); i++) {
        size_t n = strlen(dialects[i]);
        if (strncmp(name, dialects[i], n) != 0 || name[n] != ':')
            continue;
        struct err err;
        const struct tool *tool = registry_find((enum dialect_id)i, text_str(name + n + 1), &err);
        if (!tool)
            fail_msg("%s", err.message);
        return tool;
    }
    return NULL;
}

static inline struct policy_call make_call(const char *name, yyjson_doc *doc)
{
    struct policy_call call = {
        .tool = find_tool(name),
        .name = name,
        .arguments = yyjson_doc_get_root(doc),
        .session = "",
        .roots = native_roots,
        .n_roots = 1,
    };
    if (!call.tool)
        return call;
    call.name = call.tool->name;
    if (call.tool->dialect == DIALECT_TOOLHOST) {
        call.roots = mount_roots;
        call.n_roots = ARRAY_LEN(mount_roots);
    }
    return call;
}

/* JSON as it is. */
static inline struct policy *make_plain_policy(const char *text)
{
    struct config *config = config_new();
    struct policy *policy = NULL;
    struct err err;
    if (config_apply(config, text_str(text), "test", CONFIG_OPERATOR, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    if (policy_new(&policy, config, &err) < 0)
        fail_msg("%s", err.message);
    config_free(config);
    return policy;
}

static inline struct policy *make_policy(const char *json)
{
    FREE_AT_END char *text = quoted(json);
    return make_plain_policy(text);
}

/* Whether a command line of run_command may run with nobody asked. */
static inline bool line_is_allowed(const struct policy *policy, const char *line)
{
    struct verdict verdict;
    struct err err;
    yyjson_mut_doc *mut = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(mut);
    yyjson_mut_doc_set_root(mut, root);
    yyjson_mut_obj_add_str(mut, root, "command", line);
    yyjson_doc *doc = yyjson_mut_doc_imut_copy(mut, NULL);
    yyjson_mut_doc_free(mut);
    assert_non_null(doc);
    struct policy_call call = make_call("native:run_command", doc);
    bool allowed = policy_judge(policy, &call, &verdict, NULL, NULL, &err) == 0 &&
                   verdict.kind == VERDICT_ALLOW;
    verdict_done(&verdict);
    yyjson_doc_free(doc);
    return allowed;
}

static inline int use_tools(void **state)
{
    (void)state;
    registry_use(tools_all);
    return 0;
}

#endif

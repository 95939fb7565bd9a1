#include "policy/tool_pattern.h"

#include <string.h>

#include "base/mem.h"
#include "core/registry.h"

struct tool_glob {
    size_t refs;
    struct glob *glob;
};

static void tool_glob_unref(struct tool_glob *shared)
{
    if (!shared || --shared->refs)
        return;
    glob_free(shared->glob);
    free(shared);
}

int tool_pattern_read(struct tool_pattern *ret, const char *text, const char *field,
                      struct err *err)
{
    struct str whole = {text, strlen(text)};
    struct tool_pattern pattern = {.all = strcmp(text, "*") == 0};
    if (!pattern.all && glob_is_pattern(whole)) {
        struct err why;
        struct glob *glob = glob_compile(whole, false, &why);
        if (!glob)
            return err_field(err, field, "%s: %.300s", field, why.message);
        pattern.glob = mem_zero(sizeof *pattern.glob);
        *pattern.glob = (struct tool_glob){1, glob};
    }
    pattern.text = mem_dup(text);
    *ret = pattern;
    return 0;
}

struct tool_pattern tool_pattern_copy(const struct tool_pattern *pattern)
{
    struct tool_pattern copy = {mem_dup(pattern->text), pattern->glob, pattern->all};
    if (copy.glob)
        copy.glob->refs++;
    return copy;
}

void tool_pattern_done(struct tool_pattern *pattern)
{
    free(pattern->text);
    tool_glob_unref(pattern->glob);
    *pattern = (struct tool_pattern){0};
}

static bool pattern_matches_name(const struct tool_pattern *pattern, const char *name)
{
    if (pattern->glob)
        return glob_match(pattern->glob->glob, (struct str){name, strlen(name)});
    return strcmp(pattern->text, name) == 0;
}

bool tool_pattern_matches(const struct tool_pattern *pattern, const struct tool *tool,
                          const char *name)
{
    if (pattern->all)
        return true;
    if (!tool)
        return pattern_matches_name(pattern, name);
    return pattern_matches_name(pattern, tool->name) ||
           (tool->alias && pattern_matches_name(pattern, tool->alias));
}

static const struct arg browser_args[] = {
    {.name = "url", .type = ARG_STRING, .flags = ARG_REQUIRED, .use = ARG_URL},
    {.name = "waitForSelector", .type = ARG_STRING},
    {.name = "screenshot", .type = ARG_BOOL},
};

static const struct tool absent[] = {
    {.dialect = DIALECT_SYSTEM,
     .name = "browser",
     .args = ARG_TABLE(browser_args, char),
     .capabilities = CAP_NETWORK},
};

const struct tool *tool_absent(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
        if (strcmp(absent[i].name, name) == 0)
            return &absent[i];
    }
    return NULL;
}

const struct tool **tool_list(void)
{
    size_t n = ARRAY_LEN(absent);
    for (int dialect = 0; dialect < DIALECT_COUNT; dialect++) {
        for (const struct tool *t = NULL; (t = registry_next((enum dialect_id)dialect, t));)
            n++;
    }
    const struct tool **list = mem_zero((n + 1) * sizeof(struct tool *));
    n = 0;
    for (int dialect = 0; dialect < DIALECT_COUNT; dialect++) {
        for (const struct tool *t = NULL; (t = registry_next((enum dialect_id)dialect, t));)
            list[n++] = t;
    }
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        list[n++] = &absent[i];
    return list;
}

const struct tool **tools_meant(const struct tool_pattern *pattern, const struct tool *const *tools)
{
    size_t n = 0;
    while (tools[n])
        n++;
    const struct tool **meant = mem_zero((n + 1) * sizeof(struct tool *));
    n = 0;
    for (size_t i = 0; tools[i]; i++) {
        if (tool_pattern_matches(pattern, tools[i], tools[i]->name))
            meant[n++] = tools[i];
    }
    return meant;
}

const struct arg *tool_argument(const struct tool *tool, struct str name)
{
    for (size_t i = 0; tool && i < tool->args.count; i++) {
        if (str_is(name, tool->args.args[i].name))
            return &tool->args.args[i];
    }
    return NULL;
}

/* Any text, from the operator or from a workspace (the first byte tells): it is applied whole or
 * not at all, and the values can be read afterwards. */
#include <stdio.h>
#include <stdlib.h>

#include "core/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_ignored(void *arg, const char *path, const char *why)
{
    if (!path || !why || !*why)
        abort();
    ++*(size_t *)arg;
}

/* What is required in an object is there, in each of them. */
static void read_arrays(const struct config *config)
{
    static const char *const required[][2] = {{"approval.rules", "toolName"},
                                              {"approval.rules", "action"},
                                              {"policy.budgets", "unit"},
                                              {"hooks", "event"}};
    char path[64];
    for (size_t i = 0; i < ARRAY_LEN(required); i++) {
        size_t count = config_count(config, required[i][0]);
        for (size_t j = 0; j < count; j++) {
            snprintf(path, sizeof path, "%s[%zu].%s", required[i][0], j, required[i][1]);
            if (!config_text(config, path))
                abort();
        }
    }
    const struct str *items;
    size_t words;
    for (size_t i = 0; i < config_count(config, "hooks"); i++) {
        snprintf(path, sizeof path, "hooks[%zu].command", i);
        if (!config_list(config, path, &items, &words) || words == 0 || items[0].p[0] != '/')
            abort();
    }
}

static void read_some(const struct config *config)
{
    const struct str *items;
    size_t count;
    read_arrays(config);
    config_agent_bool(config, "a", "capabilities.command");
    if (config_agent_list(config, "a", "capabilities.network", &items, &count) && count &&
        !items[0].p)
        abort();
    if (config_int(config, "tools.bash.timeoutMs") < 1)
        abort();
    if (config_agent_int(config, "a", "tools.fs.maxReadBytes", 1) < 1)
        abort();
    config_bool(config, "policy.enabled.bash");
    config_int(config, "policy.rateLimits.bash.maxCalls");
    if (config_list(config, "tools.bash.deniedCommands", &items, &count) && count && !items[0].p)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct err err = {0};
    size_t ignored = 0;
    struct config *config = config_new();
    enum config_trust trust = data[0] & 1 ? CONFIG_WORKSPACE : CONFIG_OPERATOR;
    struct str json = {(const char *)data + 1, size - 1};
    int r = config_apply(config, json, "fuzz", trust, on_ignored, &ignored, &err);
    if (r < 0 ? !*err.message || ignored : trust == CONFIG_OPERATOR && ignored)
        abort();
    struct config *copy = config_clone(config);
    config_free(config);
    read_some(copy);
    /* A workspace's text only ever tightens what the same text set before. */
    config_apply(copy, json, "again", CONFIG_WORKSPACE, on_ignored, &ignored, &err);
    read_some(copy);
    config_free(copy);
    return 0;
}

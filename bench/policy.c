// Nanoseconds that the policy takes for one call, with few rules and with many: of other tools, of the same tool with
// conditions that are looked up, and with ones that are not. One line of JSON; the least of several runs each.

#include "measure.h"

#include "base/json.h"
#include "base/mem.h"
#include "core/registry.h"
#include "policy/judge.h"
#include "tools/all.h"

#include <stdio.h>

enum { FEW = 20, MANY = 2000, RUNS = 15, CALLS = 20000 };

static const struct root roots[] = {{"workspace", "/workspace", "/srv/project", true}};

struct scene {
    const char *name;
    const struct tool *tool;
    const char *arguments;
    const char *rule; // # is its number
    const char *more; // of the configuration, behind the rules
};

static const struct scene scenes[] = {
    {"other_tools", &native_read_file, "{\"path\":\"src/a.c\"}",
     "{\"toolName\":\"tool_#\",\"action\":\"deny\",\"optional\":true}", ""},
    {"equals", &native_write_file, "{\"path\":\"src/a.c\",\"content\":\"x\"}",
     "{\"toolName\":\"write_file\",\"action\":\"deny\",\"condition\":{\"path\":\"secret/#\"}}", ""},
    {"in", &native_write_file, "{\"path\":\"src/a.c\",\"content\":\"x\"}",
     "{\"toolName\":\"write_file\",\"action\":\"deny\",\"condition\":{\"content\":{\"in\":[\"#\","
     "\"y\"]}}}",
     ""},
    {"program", &native_run_command, "{\"command\":\"git commit -m x && npm test\"}",
     "{\"toolName\":\"run_command\",\"action\":\"deny\",\"condition\":{\"command\":{\"program\":"
     "\"tool#\"}}}",
     ""},
    {"program_subcommands", &native_run_command, "{\"command\":\"git commit -m x && npm test\"}",
     "{\"toolName\":\"run_command\",\"action\":\"deny\",\"condition\":{\"command\":{\"program\":\"git "
     "sub#\"}}}",
     ""},
    {"beneath", &native_read_file, "{\"path\":\"src/a.c\"}",
     "{\"toolName\":\"read_file\",\"action\":\"deny\",\"condition\":{\"path\":{\"beneath\":\"secret/#\"}}}",
     ""},
    {"agent_paths", &native_read_file, "{\"path\":\"src/a.c\"}",
     "{\"toolName\":\"tool_#\",\"action\":\"deny\",\"optional\":true}",
     ",\"agents\":{\"bench\":{\"capabilities\":{\"filesystem\":{\"read\":[\"docs/**\",\"src/**\"]}}}}"},
};

static struct policy *make_policy(const struct scene *scene, size_t rules)
{
    struct buf json = BUF_INIT(4 << 20);
    buf_add_text(&json, "{\"approval\":{\"default\":\"approve\",\"rules\":[");
    for (size_t i = 0; i < rules; i++) {
        const char *hole = strchr(scene->rule, '#');
        buf_addf(&json, "%s%.*s%zu%s", i ? "," : "", (int)(hole - scene->rule), scene->rule, i,
                 hole + 1);
    }
    buf_addf(&json, "]}%s}", scene->more);
    struct config *config = config_new();
    struct policy *policy = NULL;
    struct err why;
    if (config_apply(config, buf_str(&json), "bench", CONFIG_OPERATOR, NULL, NULL, &why) < 0 ||
        policy_new(&policy, config, &why) < 0)
        errx(1, "%s: %s", scene->name, why.message);
    config_free(config);
    buf_done(&json);
    return policy;
}

static double time_calls(const struct policy *policy, const struct policy_call *call)
{
    struct verdict verdict;
    struct err why;
    uint64_t least = UINT64_MAX;
    for (int run = 0; run < RUNS; run++) {
        uint64_t begin_ns = now_ns();
        for (int i = 0; i < CALLS; i++) {
            if (policy_judge(policy, call, &verdict, NULL, NULL, &why) < 0 ||
                verdict.kind != VERDICT_ALLOW)
                errx(1, "not allowed: %s", why.message);
            verdict_done(&verdict);
        }
        uint64_t elapsed_ns = now_ns() - begin_ns;
        least = elapsed_ns < least ? elapsed_ns : least;
    }
    return (double)least / CALLS;
}

static void measure(const struct scene *scene, bool first)
{
    static const size_t counts[] = {FEW, MANY};
    double ns[2];
    double made_ms = 0;
    for (size_t i = 0; i < 2; i++) {
        yyjson_doc *doc = yyjson_read(scene->arguments, strlen(scene->arguments), 0);
        struct policy_call call = {
            .tool = scene->tool,
            .name = scene->tool->name,
            .arguments = yyjson_doc_get_root(doc),
            .agent = "bench",
            .session = "",
            .roots = roots,
            .n_roots = 1,
        };
        uint64_t begin_ns = now_ns();
        struct policy *policy = make_policy(scene, counts[i]);
        made_ms = (double)(now_ns() - begin_ns) / 1e6;
        ns[i] = time_calls(policy, &call);
        policy_free(policy);
        yyjson_doc_free(doc);
    }
    printf("%s\"%s\":{\"ns_%d\":%.0f,\"ns_%d\":%.0f,\"ratio\":%.2f,\"made_ms\":%.1f}",
           first ? "" : ",", scene->name, FEW, ns[0], MANY, ns[1], ns[1] / ns[0], made_ms);
}

int main(void)
{
    registry_use(tools_all);
    printf("{");
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
        measure(&scenes[i], i == 0);
    printf("}\n");
    return 0;
}

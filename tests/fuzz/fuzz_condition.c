/* The first line is a tool's number and flags, the second a condition, the rest a call's arguments. What is made of
 * them must be the same by any way: alone, denied, in a rule that is looked up and in one that is not. */
#include <string.h>

#include "base/mem.h"
#include "core/registry.h"
#include "policy/condition.h"
#include "target.h"
#include "tools/all.h"

static const struct root workspace[] = {{"workspace", "/workspace", "/home/u/p", true}};
static const struct root mounts[] = {{"@project", "/project", "/home/u/p", true},
                                     {"@state", "/state", "/home/u/s", true}};
static const struct root folders[] = {{"/home/u", "/home/u", "/home/u", true},
                                      {"/tmp", "/tmp", "/private/tmp", true}};

static struct str take_line(struct str *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    struct str line = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    size_t used = line.n + (end != NULL);
    *rest = (struct str){rest->p + used, rest->n - used};
    return line;
}

static enum condition_result judge(const struct condition *condition,
                                   const struct policy_call *call)
{
    FACTS_AT_END struct facts facts;
    facts_init(&facts, call);
    enum condition_result result = condition_judge(condition, &facts);
    must(result != CONDITION_ERROR || facts.why[0]);
    return result;
}

/* Turned round twice it is the same, and once it is the opposite. */
static void check_not(struct str text, const struct condition_place *place,
                      const struct policy_call *call, enum condition_result was)
{
    struct err err;
    FREE_AT_END char *turned = mem_format("{\"not\":%.*s}", (int)text.n, text.p);
    struct condition *condition = condition_new((struct str){turned, strlen(turned)}, place, &err);
    if (!condition)
        return; /* one level too deep */
    enum condition_result now = judge(condition, call);
    must(was == CONDITION_YES  ? now == CONDITION_NO
         : was == CONDITION_NO ? now == CONDITION_YES
                               : now == was);
    condition_free(condition);
}

static bool wants_git(const struct policy_call *call)
{
    FACTS_AT_END struct facts facts;
    facts_init(&facts, call);
    return facts_wants_git(&facts);
}

/* Behind rules about something else it decides the same as alone. */
static void check_policy(struct str text, const struct policy_call *call,
                         enum condition_result result)
{
    static const char before[] =
        "{\"approval\":{\"default\":\"approve\",\"rules\":[{\"toolName\":\"*\",\"action\":\"deny\","
        "\"condition\":{\"command\":{\"program\":\"no-such-program\"},\"cwd\":\"no/such\"}},"
        "{\"toolName\":\"*\",\"action\":\"prompt\",\"condition\":";
    BUF_AT_END struct buf json = BUF_INIT(1 << 20);
    buf_add(&json, before, sizeof before - 1);
    buf_add(&json, text.p, text.n);
    buf_add_text(&json, "}]},\"policy\":{\"capabilities\":{\"network\":[\"*\"]}}}");
    struct config *config = config_new();
    struct policy *policy = NULL;
    struct err err;
    if (config_apply(config, buf_str(&json), "fuzz", CONFIG_OPERATOR, NULL, NULL, &err) == 0 &&
        policy_new(&policy, config, &err) == 0) {
        struct verdict verdict;
        struct err why = {.code = ERR_COUNT};
        int r = policy_judge(policy, call, &verdict, NULL, NULL, &why);
        must((r < 0) == (why.code != ERR_COUNT) && (r < 0) == (verdict.kind == VERDICT_DENY));
        /* A call that wants to write to git directories is asked about in any case. */
        bool asks = result == CONDITION_YES || result == CONDITION_PARTLY || wants_git(call);
        if (r == 0)
            must((verdict.kind == VERDICT_ASK) == asks);
        verdict_done(&verdict);
    }
    policy_free(policy);
    config_free(config);
}

static void check_offer(const struct policy_call *call)
{
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    struct err err;
    if (!propose_rule(call, "native", "/w", &out))
        return;
    struct allowed *allowed = allowed_new();
    must(allowed_add(allowed, buf_str(&out), "r", &err) == 0);
    must(allowed_find(allowed, call, "native", "/w"));
    allowed_free(allowed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {size ? (const char *)data : "", size};
    struct str head = take_line(&rest);
    struct str text = take_line(&rest);
    struct err err = {.code = ERR_COUNT};
    JSON_AT_END yyjson_doc *doc = NULL;
    if (head.n == 0 || json_parse(rest.p, rest.n, 1 << 20, JSON_STRICT, &doc, NULL) < 0)
        return 0;
    registry_use(tools_all);
    const struct tool *tool = tools_all[(unsigned char)head.p[0] % (ARRAY_LEN(tools_all) - 1)];
    bool mounted = tool->dialect == DIALECT_TOOLHOST;
    struct policy_call call = {
        .tool = head.n > 1 && head.p[1] == '0' ? NULL : tool,
        .name = head.n > 1 && head.p[1] == '0' ? "http" : tool->name,
        .arguments = yyjson_doc_get_root(doc),
        .session = "",
        .roots = mounted ? mounts : workspace,
        .n_roots = mounted ? ARRAY_LEN(mounts) : ARRAY_LEN(workspace),
    };
    if (head.n > 1 && head.p[1] == 'b' && !mounted) {
        call.roots = folders;
        call.n_roots = ARRAY_LEN(folders);
        call.base = "/home/u/p";
    }
    check_offer(&call);
    /* A rule may be for tools that are not known: then each argument is what it is written as. */
    bool unknown = head.n > 1 && head.p[1] == 'n';
    struct condition_place place = {"c", unknown ? NULL : tools_all};
    struct condition *condition = condition_new(text, &place, &err);
    must(condition ? err.code == ERR_COUNT : err.code == ERR_INVALID_ARGUMENTS && err.message[0]);
    if (!condition)
        return 0;
    enum condition_result result = judge(condition, &call);
    check_not(text, &place, &call, result);
    if (!unknown)
        check_policy(text, &call, result);
    condition_free(condition);
    return 0;
}

/* Rules that a person made when asked. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policy/condition.h"
#include "policy/judge.h"
#include "policy/leaves.h"

#define RULE_TEXT_MAX (128u << 10)

struct allowed_rule {
    char *name;
    struct tool_pattern tool;
    struct condition *condition; /* the rest may be NULL: it is about every one */
    char *dialect;
    char *workspace;
    char *agent;
    bool by_path;
    bool git; /* also for calls that ask to write to git directories */
};

struct allowed {
    struct allowed_rule *all;
    size_t n;
};

struct allowed *allowed_new(void)
{
    return mem_zero(sizeof(struct allowed));
}

static void rule_done(struct allowed_rule *rule)
{
    tool_pattern_done(&rule->tool);
    condition_free(rule->condition);
    free(rule->name);
    free(rule->dialect);
    free(rule->workspace);
    free(rule->agent);
}

void allowed_free(struct allowed *allowed)
{
    if (!allowed)
        return;
    for (size_t i = 0; i < allowed->n; i++)
        rule_done(&allowed->all[i]);
    free(allowed->all);
    free(allowed);
}

static int refuse_allowed_field(const char *name, const char *field, const char *what,
                                struct err *err)
{
    char where[200];
    snprintf(where, sizeof where, "%.120s%s%.60s", name, *field ? "." : "", field);
    return err_field(err, where, "%s: %s", where, what);
}

static int check_keys(yyjson_val *object, const char *name, struct err *err)
{
    static const char *const known[] = {"toolName",  "condition", "dialect",
                                        "workspace", "agent",     "grants"};
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_obj_foreach(object, idx, max, key, value) {
        bool found = false;
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            found |= yyjson_equals_str(key, known[i]);
        if (!found)
            return refuse_allowed_field(
                name, "",
                "only toolName, condition, dialect, workspace, agent and grants are known", err);
    }
    return 0;
}

/* A text without NUL, or nothing at all. */
static int read_allowed_text(yyjson_val *object, const char *field, const char *name, char **ret,
                             struct err *err)
{
    yyjson_val *value = yyjson_obj_get(object, field);
    if (!value)
        return 0;
    struct str text = json_str(value);
    if (!yyjson_is_str(value) || text.n == 0 || memchr(text.p, '\0', text.n))
        return refuse_allowed_field(name, field, "must be a text", err);
    *ret = mem_copy(text.p, text.n);
    return 0;
}

static int read_allowed_condition(struct allowed_rule *rule, yyjson_val *value, struct err *err)
{
    if (!value)
        return 0;
    FREE_AT_END char *where = mem_format("%.120s.condition", rule->name);
    FREE_AT_END char *json = yyjson_val_write(value, 0, NULL);
    if (!json)
        return refuse_allowed_field(rule->name, "condition", "cannot be read", err);
    const struct tool **tools = tool_list();
    const struct tool **meant = tools_meant(&rule->tool, tools);
    struct condition_place place = {where, meant};
    rule->condition = condition_new((struct str){json, strlen(json)}, &place, err);
    free(meant);
    free(tools);
    return rule->condition ? 0 : -1;
}

static bool looks_at_path(const struct node *node)
{
    if (node->test)
        return node->test->kind == TEST_BENEATH || node->test->field.kind == FIELD_PATH;
    for (size_t i = 0; i < node->n_parts; i++) {
        if (looks_at_path(&node->parts[i]))
            return true;
    }
    return false;
}

static int read_allowed_grants(struct allowed_rule *rule, yyjson_val *value, struct err *err)
{
    if (!value)
        return 0;
    rule->git = yyjson_arr_size(value) == 1 &&
                yyjson_equals_str(yyjson_arr_get_first(value), "git");
    return rule->git ? 0 : refuse_allowed_field(rule->name, "grants", "must be [\"git\"]", err);
}

static int read_allowed_rule(struct allowed_rule *rule, yyjson_val *object, struct err *err)
{
    FREE_AT_END char *tool = NULL;
    FREE_AT_END char *where = mem_format("%.120s.toolName", rule->name);
    if (!yyjson_is_obj(object))
        return refuse_allowed_field(rule->name, "", "must be an object", err);
    if (check_keys(object, rule->name, err) < 0 ||
        read_allowed_text(object, "toolName", rule->name, &tool, err) < 0 ||
        read_allowed_text(object, "dialect", rule->name, &rule->dialect, err) < 0 ||
        read_allowed_text(object, "workspace", rule->name, &rule->workspace, err) < 0 ||
        read_allowed_text(object, "agent", rule->name, &rule->agent, err) < 0)
        return -1;
    if (!tool)
        return refuse_allowed_field(rule->name, "toolName", "is required", err);
    if (tool_pattern_read(&rule->tool, tool, where, err) < 0 ||
        read_allowed_condition(rule, yyjson_obj_get(object, "condition"), err) < 0)
        return -1;
    if (read_allowed_grants(rule, yyjson_obj_get(object, "grants"), err) < 0)
        return -1;
    rule->by_path = rule->condition && looks_at_path(&rule->condition->root);
    return 0;
}

int allowed_add(struct allowed *allowed, struct str json, const char *name, struct err *err)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    struct json_error why;
    if (json_parse(json.p, json.n, RULE_TEXT_MAX, JSON_STRICT, &doc, &why) < 0)
        return refuse_allowed_field(name, "", why.what, err);
    struct allowed_rule rule = {.name = mem_dup(name)};
    if (read_allowed_rule(&rule, yyjson_doc_get_root(doc), err) < 0) {
        rule_done(&rule);
        return -1;
    }
    if ((allowed->n & (allowed->n - 1)) == 0)
        allowed->all = mem_grow(allowed->all, allowed->n ? allowed->n * 2 : 1,
                                sizeof *allowed->all);
    allowed->all[allowed->n++] = rule;
    return 0;
}

static bool fits_rule_text(const char *wanted, const char *given)
{
    return !wanted || (given && strcmp(wanted, given) == 0);
}

/* A yes for a call without an agent is for those only. */
static bool is_same_agent(const char *wanted, const char *given)
{
    return wanted ? fits_rule_text(wanted, given) : !given;
}

const char *allowed_find(const struct allowed *allowed, const struct policy_call *call,
                         const char *dialect, const char *workspace)
{
    FACTS_AT_END struct facts facts;
    facts_init(&facts, call);
    bool git = facts_wants_git(&facts);
    for (size_t i = 0; i < allowed->n; i++) {
        const struct allowed_rule *rule = &allowed->all[i];
        if (rule->git != git || !fits_rule_text(rule->dialect, dialect) ||
            !fits_rule_text(rule->workspace, workspace) ||
            !is_same_agent(rule->agent, call->agent) ||
            !tool_pattern_matches(&rule->tool, facts.tool, call->name))
            continue;
        if (!rule->condition || condition_judge(rule->condition, &facts) == CONDITION_YES)
            return rule->name;
    }
    return NULL;
}

void allowed_limit(const struct allowed *allowed, const char *found, const struct policy_call *call,
                   struct verdict *verdict)
{
    FACTS_AT_END struct facts facts;
    facts_init(&facts, call);
    for (size_t i = 0; i < allowed->n; i++) {
        if (allowed->all[i].name != found)
            continue;
        leaves_limit(allowed->all[i].condition, &facts, verdict);
        leaves_choose_home(allowed->all[i].condition, &facts, verdict);
    }
}

bool allowed_by_path(const struct allowed *allowed, const char *found)
{
    for (size_t i = 0; i < allowed->n; i++) {
        if (allowed->all[i].name == found)
            return allowed->all[i].by_path;
    }
    return false;
}

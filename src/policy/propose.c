#include "policy/propose.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "policy/domain.h"
#include "policy/tool_pattern.h"

static void write_beneath_folder(const struct place *place, struct json_out *j)
{
    const char *slash = strrchr(place->text, '/');
    size_t n = slash ? (size_t)(slash - place->text) : 0;
    jo_open(j, '{');
    jo_key(j, "beneath");
    jo_str(j, (struct str){place->text, n});
    jo_close(j, '}');
}

/* Directly in a root or in the workspace, the folder would be everything. */
static bool is_at_root(const struct place *place)
{
    bool own = place->mounted || place->text[0] == '/';
    return !strchr(own ? place->rest : place->text, '/');
}

struct proposal {
    struct facts *facts;
    struct json_out *j;
    bool exact; /* of a tree that is taken away, or moved, the rule is about just that */
    bool any;
};

/* One of several paths in a list or an object has no name of its own that a rule could use. */
static int propose_place(void *data, const struct arg *arg, const struct place *place)
{
    struct proposal *p = data;
    if (place->state == PLACE_MISSING)
        return 0;
    if (place->state != PLACE_KNOWN || !utf8_valid(place->text, strlen(place->text)) ||
        tool_argument(p->facts->tool, (struct str){arg->name, strlen(arg->name)}) != arg ||
        arg->type != ARG_STRING)
        return -1;
    jo_key(p->j, arg->name);
    if (p->exact || is_at_root(place))
        jo_text(p->j, place->text);
    else
        write_beneath_folder(place, p->j);
    p->any = true;
    return 0;
}

static bool is_default_value(const struct arg *arg, yyjson_val *val)
{
    if (!val)
        return true;
    return arg->type == ARG_BOOL ? yyjson_get_bool(val) == (arg->def != 0)
                                 : str_is(json_str(val), arg->choices[arg->def]);
}

/* What a call does besides its paths is as it was: each switch and choice that can make more of it, and those that made
 * this one do less. */
static void propose_manner(const struct facts *facts, struct json_out *j)
{
    const struct arg_table *table = &facts->tool->args;
    for (size_t i = 0; facts->tool->capabilities & CAP_FS_WRITE && i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        yyjson_val *val = facts_value_of(facts, arg);
        if ((arg->type != ARG_BOOL && arg->type != ARG_CHOICE) ||
            (arg->use & ARG_NARROWS && is_default_value(arg, val)))
            continue;
        if (arg->type == ARG_BOOL)
            jo_kbool(j, arg->name, val ? yyjson_get_bool(val) : arg->def != 0);
        else
            jo_kstr(j, arg->name,
                    val ? json_str(val)
                        : (struct str){arg->choices[arg->def], strlen(arg->choices[arg->def])});
    }
}

static bool propose_files(struct facts *facts, struct json_out *j)
{
    struct proposal p = {
        .facts = facts,
        .j = j,
        .exact = facts->tree && facts->needs & CAP_FS_WRITE,
    };
    propose_manner(facts, j);
    return facts_each_path(facts, ARG_READS | ARG_WRITES, propose_place, &p) == 0 && p.any;
}

/* How the address is asked, its method for one, has to be the same. */
static void propose_required(const struct facts *facts, struct json_out *j)
{
    const struct arg_table *table = &facts->tool->args;
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        yyjson_val *val = facts_value_of(facts, arg);
        if (arg->flags & ARG_REQUIRED && !(arg->flags & ARG_CONTENT) && arg->use == ARG_PLAIN &&
            yyjson_is_str(val))
            jo_kstr(j, arg->name, json_str(val));
    }
}

static bool propose_page(struct facts *facts, struct json_out *j)
{
    const struct arg *url = arg_next(&facts->tool->args, ARG_URL, NULL);
    yyjson_val *val = facts_value_of(facts, url);
    char host[DOMAIN_MAX];
    struct err ignored;
    if (!yyjson_is_str(val) || domain_of_url(json_str(val), host, &ignored) < 0)
        return false;
    propose_required(facts, j);
    jo_key(j, url->name);
    jo_open(j, '{');
    jo_ktext(j, "domain", host);
    jo_close(j, '}');
    return true;
}

static bool propose_condition(struct facts *facts, struct json_out *j)
{
    if (facts->needs & CAP_COMMAND)
        return propose_command(facts, j);
    if (facts->needs & CAP_NETWORK)
        return propose_page(facts, j);
    return facts->needs & (CAP_FS_READ | CAP_FS_WRITE) && propose_files(facts, j);
}

/* A call that does not fit its tool's table may have values that no rule can name. */
static bool matches_own_call(const struct policy_call *call, const char *dialect,
                             const char *workspace, struct str rule)
{
    struct err ignored;
    struct allowed *allowed = allowed_new();
    bool found = allowed_add(allowed, rule, "proposed", &ignored) == 0 &&
                 allowed_find(allowed, call, dialect, workspace);
    allowed_free(allowed);
    return found;
}

bool propose_rule(const struct policy_call *call, const char *dialect, const char *workspace,
                  struct buf *out)
{
    FACTS_AT_END struct facts facts;
    size_t before = out->len;
    struct json_out j = {.out = out};
    facts_init(&facts, call);
    if (!facts.tool)
        return false;
    jo_open(&j, '{');
    jo_ktext(&j, "toolName", facts.tool->name);
    if (dialect)
        jo_ktext(&j, "dialect", dialect);
    if (workspace)
        jo_ktext(&j, "workspace", workspace);
    if (call->agent)
        jo_ktext(&j, "agent", call->agent);
    if (facts_wants_git(&facts)) {
        jo_key(&j, "grants");
        jo_open(&j, '[');
        jo_text(&j, "git");
        jo_close(&j, ']');
    }
    jo_key(&j, "condition");
    jo_open(&j, '{');
    bool found = propose_condition(&facts, &j);
    jo_close(&j, '}');
    jo_close(&j, '}');
    struct str rule = {out->data + before, out->len - before};
    if (found && !out->failed && matches_own_call(call, dialect, workspace, rule))
        return true;
    out->len = before;
    out->failed = false;
    return false;
}

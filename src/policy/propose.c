#include "policy/propose.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "policy/domain.h"
#include "policy/tool_pattern.h"

static bool takes(const struct facts *facts, const char *name)
{
    return tool_argument(facts->tool, (struct str){name, strlen(name)}) != NULL;
}

static void write_folder(const struct place *place, struct json_out *j)
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

/* Of a tree that is taken away the rule is about just that. */
static bool propose_place(struct facts *facts, enum place_id id, bool exact, struct json_out *j)
{
    const struct place *place = facts_place(facts, id);
    if (place->state == PLACE_MISSING)
        return true;
    if (place->state != PLACE_KNOWN || !utf8_valid(place->text, strlen(place->text)))
        return false;
    jo_key(j, place_names[id]);
    if (exact || is_at_root(place))
        jo_text(j, place->text);
    else
        write_folder(place, j);
    return true;
}

/* What makes a call do more than the same without, and what made this one do less. */
static void propose_switches(const struct facts *facts, struct json_out *j)
{
    static const char *const switches[] = {"recursive", "overwrite"};
    static const char *const brakes[] = {"dry_run", "create_only", "append"};
    for (size_t i = 0; facts->needs & CAP_FS_WRITE && i < ARRAY_LEN(switches); i++) {
        if (takes(facts, switches[i]))
            jo_kbool(j, switches[i], yyjson_get_bool(facts_argument(facts, switches[i])));
    }
    for (size_t i = 0; i < ARRAY_LEN(brakes); i++) {
        if (takes(facts, brakes[i]) && yyjson_is_true(facts_argument(facts, brakes[i])))
            jo_kbool(j, brakes[i], true);
    }
    yyjson_val *operation = takes(facts, "operation") ? facts_argument(facts, "operation") : NULL;
    if (yyjson_is_str(operation))
        jo_kstr(j, "operation", json_str(operation));
}

static bool propose_files(struct facts *facts, struct json_out *j)
{
    bool any = false;
    bool exact = facts->tree && facts->needs & CAP_FS_WRITE && takes(facts, "recursive");
    propose_switches(facts, j);
    for (int id = PLACE_PATH; id <= PLACE_TO; id++) {
        if (!propose_place(facts, (enum place_id)id, exact, j))
            return false;
        any |= facts->places[id].state == PLACE_KNOWN;
    }
    return any;
}

static bool propose_page(struct facts *facts, struct json_out *j)
{
    yyjson_val *url = facts_argument(facts, "url");
    yyjson_val *method = facts_argument(facts, "method");
    char host[DOMAIN_MAX];
    struct err ignored;
    if (!yyjson_is_str(url) || domain_of_url(json_str(url), host, &ignored) < 0)
        return false;
    if (yyjson_is_str(method))
        jo_kstr(j, "method", json_str(method));
    jo_key(j, "url");
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
    if (takes(&facts, "git") && yyjson_is_true(facts_argument(&facts, "git"))) {
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
    if (found && !out->failed)
        return true;
    out->len = before;
    out->failed = false;
    return false;
}

/* What an agent was granted, and whether a call stays within it. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policy/domain.h"
#include "policy/policy_parts.h"

#define FIELD_READ "capabilities.filesystem.read"
#define FIELD_WRITE "capabilities.filesystem.write"
#define FIELD_COMMAND "capabilities.command"
#define FIELD_NETWORK "capabilities.network"
#define FIELD_MODEL "capabilities.model_access"

static void grant_done(struct grant *grant)
{
    free(grant->text);
    rule_path_done(&grant->path);
    path_glob_done(&grant->glob);
}

static void grant_list_done(struct grant_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        grant_done(&list->all[i]);
    free(list->all);
}

void grants_free(struct grants *grants)
{
    if (!grants)
        return;
    grant_list_done(&grants->read);
    grant_list_done(&grants->write);
    free(grants->agent);
    free(grants);
}

/* Without anything special in it, it is a file or a folder with all that is in it. */
static int grant_read(struct grant *ret, struct str text, struct err *err)
{
    if (glob_is_pattern(text) ? path_glob_read(&ret->glob, text, err) < 0
                              : rule_path_read(&ret->path, text, err) < 0)
        return -1;
    ret->text = mem_copy(text.p, text.n);
    return 0;
}

static bool is_agents_own_list(const struct config *config, const char *field,
                               const struct str *items)
{
    FREE_AT_END char *path = mem_format("policy.%s", field);
    const struct str *others;
    size_t n;
    return !config_list(config, path, &others, &n) || others != items;
}

static int read_grant_list(struct grant_list *list, const struct config *config, const char *agent,
                           const char *field, struct err *err)
{
    const struct str *items;
    size_t n;
    list->limited = config_agent_list(config, agent, field, &items, &n);
    if (!list->limited)
        return 0;
    list->own = is_agents_own_list(config, field, items);
    list->all = mem_zero((n + 1) * sizeof *list->all);
    for (size_t i = 0; i < n; i++) {
        struct err why;
        if (grant_read(&list->all[list->n++], items[i], &why) < 0) {
            FREE_AT_END char *where = list->own ? mem_format("agents.%.60s.%s[%zu]",
                                                             agent ? agent : "*", field, i)
                                                : mem_format("policy.%s[%zu]", field, i);
            return err_field(err, where, "%s: %.300s", where, why.message);
        }
    }
    return 0;
}

struct grants *grants_new(const struct config *config, const char *agent, struct err *err)
{
    struct grants *grants = mem_zero(sizeof *grants);
    grants->agent = mem_dup(agent);
    grants->command = config_agent_bool(config, agent, FIELD_COMMAND);
    grants->model = config_agent_bool(config, agent, FIELD_MODEL);
    grants->network_set = config_agent_list(config, agent, FIELD_NETWORK, &grants->network,
                                            &grants->n_network);
    grants->network_own = grants->network_set &&
                          is_agents_own_list(config, FIELD_NETWORK, grants->network);
    if (read_grant_list(&grants->read, config, agent, FIELD_READ, err) == 0 &&
        read_grant_list(&grants->write, config, agent, FIELD_WRITE, err) == 0)
        return grants;
    grants_free(grants);
    return NULL;
}

/* --- what a call needs */

struct check {
    const struct grants *grants;
    const struct config *config;
    struct facts *facts;
    struct verdict *verdict;
    struct err *err;
};

static void write_granted(const struct grant_list *list, char *out, size_t size)
{
    size_t used = 0;
    snprintf(out, size, "nothing");
    for (size_t i = 0; i < list->n && used + 1 < size; i++) {
        int n = snprintf(out + used, size - used, "%s`%s`", i ? ", " : "", list->all[i].text);
        used += n > 0 ? (size_t)n : 0;
    }
}

static int deny_capability(const struct check *check, const char *field, bool own, const char *what,
                           const char *granted)
{
    const struct policy_call *call = check->facts->call;
    const char *agent = check->grants->agent;
    char where[96];
    if (own)
        snprintf(where, sizeof where, "agents.%.40s.%s", agent ? agent : "*", field);
    else
        snprintf(where, sizeof where, "policy.%s", field);
    snprintf(check->verdict->rule, sizeof check->verdict->rule, "%s", where);
    err_set(check->err, ERR_CAPABILITY_DENIED,
            "the tool `%.60s` needs the capability %s%.120s, which %s%.60s%s has not: granted is "
            "%.120s; %s grants it",
            call->tool ? call->tool->name : call->name, strchr(field, '.') + 1, what,
            agent ? "the agent `" : "an agent without a name", agent ? agent : "", agent ? "`" : "",
            granted, where);
    return err_reason(check->err, "capability_missing");
}

static bool grant_covers(const struct grant *grant, const struct place *place, bool reads,
                         bool lists)
{
    bool loose;
    if (grant->path.text) {
        enum relation relation = place_relate(place, &grant->path, &loose);
        return (relation == PLACE_SAME || relation == PLACE_BENEATH) && !loose;
    }
    if (place->tree)
        return path_glob_covers(&grant->glob, place, false);
    if (lists)
        return path_glob_covers(&grant->glob, place, true);
    /* A folder of which all may be read may itself be looked at. */
    return path_glob_matches(&grant->glob, place) ||
           (reads && path_glob_covers(&grant->glob, place, false));
}

static bool list_covers(const struct grant_list *list, const struct place *place, bool reads,
                        bool lists)
{
    for (size_t i = 0; i < list->n; i++) {
        if (grant_covers(&list->all[i], place, reads, lists))
            return true;
    }
    return false;
}

static int deny_unclear_grant(const struct check *check, const char *field)
{
    const struct policy_call *call = check->facts->call;
    snprintf(check->verdict->rule, sizeof check->verdict->rule, "policy.%s", field);
    err_set(check->err, ERR_POLICY_DENIED,
            "the tool `%.60s` is denied: whether policy.%s grants it cannot be told: %.250s",
            call->tool ? call->tool->name : call->name, field, check->facts->why);
    return err_reason(check->err, "rule_cannot_be_kept");
}

struct file_check {
    const struct check *check;
    const struct grant_list *list;
    const char *field;
    size_t seen;
};

static int check_granted_place(void *data, const struct arg *arg, const struct place *place)
{
    struct file_check *files = data;
    const struct check *check = files->check;
    (void)arg;
    if (place->state == PLACE_MISSING)
        return 0;
    files->seen++;
    if (place->state != PLACE_KNOWN)
        return deny_unclear_grant(check, files->field);
    bool reads = files->list == &check->grants->read;
    if (list_covers(files->list, place, reads, check->facts->flags & TOOL_LISTS))
        return 0;
    char what[160];
    char granted[160];
    snprintf(what, sizeof what, " for %s`%.120s`", place->tree ? "all beneath " : "", place->text);
    write_granted(files->list, granted, sizeof granted);
    return deny_capability(check, files->field, files->list->own, what, granted);
}

static bool covers_folder(const struct check *check, const struct grant_list *list,
                          const char *folder)
{
    struct place place = {.state = PLACE_UNREAD};
    bool known = facts_read_place(check->facts, (struct str){folder, strlen(folder)}, &place) == 0;
    place.tree = true;
    bool covered = known && list_covers(list, &place, false, false);
    place_done(&place);
    return covered;
}

/* A command cannot be held to paths: it needs all that its cell has. */
static int check_command_files(const struct check *check, const struct grant_list *list,
                               const char *field)
{
    const struct policy_call *call = check->facts->call;
    bool all = covers_folder(check, list, ".");
    for (size_t i = 0; call->roots && i < call->n_roots; i++)
        all = all && covers_folder(check, list, call->roots[i].inside);
    if (all)
        return 0;
    char granted[160];
    write_granted(list, granted, sizeof granted);
    return deny_capability(check, field, list->own,
                           " for everything, since commands cannot be held to paths", granted);
}

static int check_files(const struct check *check, const struct grant_list *list, const char *field,
                       unsigned use)
{
    struct file_check files = {check, list, field, 0};
    if (!list->limited)
        return 0;
    if (check->facts->needs & CAP_COMMAND)
        return check_command_files(check, list, field);
    if (facts_each_path(check->facts, use, check_granted_place, &files) < 0)
        return -1;
    if (files.seen > 0)
        return 0;
    /* It works on files and no argument says which. */
    snprintf(check->facts->why, sizeof check->facts->why, "the call names no path");
    return deny_unclear_grant(check, field);
}

/* --- the network */

static bool domains_cover(const struct str *list, size_t n, const char *host)
{
    for (size_t i = 0; i < n; i++) {
        char domain[DOMAIN_MAX];
        struct err ignored;
        if (str_is(list[i], "*") ||
            (domain_read(list[i], domain, &ignored) == 0 && domain_covers(domain, host)))
            return true;
    }
    return false;
}

/* The field in which the operator gives the tool domains of its own; NULL where it has none. */
static const char *own_domains_field(const struct tool *tool)
{
    if (strcmp(tool->name, "http") == 0 || strcmp(tool->name, "http_request") == 0)
        return "tools.http.allowedDomains";
    return strcmp(tool->name, "browser") == 0 ? "tools.browser.allowedDomains" : NULL;
}

/* Where nothing is said of the network, the domains that the operator gave the tool itself are what it may reach. */
static const struct str *granted_domains(const struct grants *grants, const struct config *config,
                                         const struct tool *tool, size_t *ret_n)
{
    *ret_n = grants->n_network;
    if (grants->network_set || !tool)
        return grants->network;
    const struct str *own = NULL;
    const char *field = own_domains_field(tool);
    *ret_n = 0;
    if (field)
        config_list(config, field, &own, ret_n);
    return own;
}

static int deny_domain(const struct check *check, const char *host, const char *granted, size_t n)
{
    char what[160];
    const struct tool *tool = check->facts->tool;
    const char *field = tool && n && !check->grants->network_set ? own_domains_field(tool) : NULL;
    if (!field) {
        snprintf(what, sizeof what, " for `%.120s`", host);
        return deny_capability(check, FIELD_NETWORK, check->grants->network_own, what, granted);
    }
    snprintf(check->verdict->rule, sizeof check->verdict->rule, "%s", field);
    err_set(check->err, ERR_CAPABILITY_DENIED,
            "the tool `%.60s` may not reach `%.120s`: %s grants %.120s", tool->name, host, field,
            granted);
    return err_reason(check->err, "capability_missing");
}

bool grants_some_domain(const struct grants *grants, const struct config *config,
                        const struct tool *tool)
{
    size_t n;
    granted_domains(grants, config, tool, &n);
    return n > 0;
}

static int check_domain(const struct check *check, struct str text, bool bare)
{
    char host[DOMAIN_MAX];
    char granted[160] = "nothing";
    struct err why;
    size_t n;
    const struct str *list = granted_domains(check->grants, check->config, check->facts->tool, &n);
    if ((bare ? domain_read(text, host, &why) : domain_of_url(text, host, &why)) < 0) {
        snprintf(check->facts->why, sizeof check->facts->why, "the address cannot be read: %.200s",
                 why.message);
        return deny_unclear_grant(check, FIELD_NETWORK);
    }
    if (domains_cover(list, n, host))
        return 0;
    size_t used = 0;
    for (size_t i = 0; i < n && used + 1 < sizeof granted; i++)
        used += (size_t)snprintf(granted + used, sizeof granted - used, "%s`%s`", i ? ", " : "",
                                 list[i].p);
    return deny_domain(check, host, granted, n);
}

static int check_host(const struct check *check, yyjson_val *val, bool bare)
{
    if (yyjson_is_str(val))
        return check_domain(check, json_str(val), bare);
    snprintf(check->facts->why, sizeof check->facts->why, "the address is not a text");
    return deny_unclear_grant(check, FIELD_NETWORK);
}

/* An address, or each of a list of them; *seen counts them. */
static int check_hosts(const struct check *check, const struct arg *arg, size_t *seen)
{
    yyjson_val *val = facts_value_of(check->facts, arg);
    bool bare = arg_use(arg) & ARG_DOMAIN;
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (val && !yyjson_is_arr(val)) {
        ++*seen;
        return check_host(check, val, bare);
    }
    yyjson_arr_foreach(val, idx, max, item) {
        ++*seen;
        if (check_host(check, item, bare) < 0)
            return -1;
    }
    return 0;
}

static int check_network(const struct check *check)
{
    const struct arg_table *table = check->facts->tool ? &check->facts->tool->args : NULL;
    size_t seen = 0;
    size_t n;
    if (!(check->facts->needs & CAP_NETWORK))
        return 0;
    for (const struct arg *a = NULL; (a = arg_next(table, ARG_URL | ARG_DOMAIN, a));) {
        if (check_hosts(check, a, &seen) < 0)
            return -1;
    }
    granted_domains(check->grants, check->config, check->facts->tool, &n);
    return seen || n
               ? 0
               : deny_capability(check, FIELD_NETWORK, check->grants->network_own, "", "nothing");
}

int grants_check(const struct grants *grants, const struct config *config, struct facts *facts,
                 struct verdict *verdict, struct err *err)
{
    struct check check = {grants, config, facts, verdict, err};
    if (facts->needs & CAP_COMMAND && !grants->command)
        return deny_capability(&check, FIELD_COMMAND, config_bool(config, "policy." FIELD_COMMAND),
                               "", "false");
    if (facts->needs & CAP_MODEL && !grants->model)
        return deny_capability(&check, FIELD_MODEL, config_bool(config, "policy." FIELD_MODEL), "",
                               "false");
    if (facts->needs & CAP_FS_READ && check_files(&check, &grants->read, FIELD_READ, ARG_READS) < 0)
        return -1;
    if (facts->needs & CAP_FS_WRITE &&
        check_files(&check, &grants->write, FIELD_WRITE, ARG_WRITES) < 0)
        return -1;
    return check_network(&check);
}

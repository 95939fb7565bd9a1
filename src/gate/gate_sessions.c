/* The sessions of a gate: its own, and those that its calls name. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cell/plan.h"
#include "core/path.h"
#include "gate/gate_parts.h"
#include "gate/places.h"
#include "gate/reach.h"
#include "gate/seen.h"
#include "gate/state.h"
#include "gate/user_tools.h"
#include "session/named.h"
#include "session/review.h"

/* The program that takes heads of the log away, NULL-ended; NULL: none. */
static const char **anchor_words(const struct config *config)
{
    const struct str *items;
    size_t count;
    if (!config_list(config, "audit.anchor", &items, &count))
        return NULL;
    const char **words = mem_zero((count + 1) * sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = items[i].p;
    return words;
}

/* Its environment: what it looks up by a name or at home is not the agent's either. */
static void set_anchor(struct gate *gate, const struct reach *reach)
{
    const char *path = getenv("PATH");
    const char *home = getenv("HOME");
    gate->anchor = anchor_words(gate->config);
    if (!gate->anchor)
        return;
    gate->anchor_path = reach_path(reach, path ? path : "");
    gate->anchor_home = mem_dup(home && !reach_through(reach, home) ? home : "/");
}

static int refuse_own_folders(const struct root *roots, size_t n, const char *config_file,
                              struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (roots[i].writable && state_refuse_inside(roots[i].host, config_file, err) < 0)
            return -1;
    }
    return 0;
}

/* Folders that the session may have, and what its agent can change through them. */
static int choose_places(struct gate *gate, const struct gate_options *o, struct places *places,
                         struct reach *ret_reach, struct err *err)
{
    if (places_choose(o, gate->config, places, err) < 0 ||
        refuse_own_folders(places->roots, places->count, o->config_file, err) < 0 ||
        refuse_own_folders(places->commands, places->n_commands, o->config_file, err) < 0)
        return -1;
    reach_init(ret_reach, places);
    if (o->commands && user_tools_use(gate->config, ret_reach, &gate->tool_env, err) < 0)
        return -1;
    if (reach_check(ret_reach, gate->config, o->config_file, err) < 0)
        return -1;
    return seen_refuse(places, gate->config, o->config_file, err);
}

/* Changes are to go where they can be looked at, and be taken over or discarded, by a name. */
static int refuse_without_layer(const struct gate *gate, const struct gate_options *o,
                                const struct places *places, struct err *err)
{
    const char *mode = config_text(gate->config, "workspace.mode");
    if (!o->session && mode && strcmp(mode, "overlay") == 0)
        return err_field(err, "workspace.mode",
                         "workspace.mode (WORKSPACE_FS_MODE) is overlay: make a session with "
                         "`sandgate session create` and name it with --session");
    if (o->layer && o->extra && o->extra->n_rw)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "session %s is an overlay: what a command changes in a folder of --rw would "
                       "not go to its layer",
                       o->session);
    bool first = places->count > 0 && (places->count == 1 || o->dialect->id == DIALECT_TOOLHOST);
    if (o->layer && (o->dialect->id == DIALECT_SYSTEM || !first))
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "session %s is an overlay, and the dialect %s works in folders of the "
                       "configuration: use another dialect, or a session without --overlay",
                       o->session, o->dialect->name);
    return 0;
}

/* Project and layer, both only read, unless changes are taken over. */
static void use_review_roots(const struct gate_options *o, struct session_options *ret)
{
    ret->commits = o->commits;
    ret->roots[REVIEW_PROJECT].writable = o->commits;
    ret->roots[REVIEW_LAYER] = (struct root){
        .name = "layer", .inside = "/layer", .host = o->layer, .writable = o->commits};
    ret->n_roots = REVIEW_LAYER + 1;
    ret->layer = NULL;
    ret->commands = false;
}

/* Beside the gate's own file, out of reach of this session's agent. */
static int find_role_program(const struct workplace *at, const char *name, char *path,
                             struct err *err)
{
    char own[PATH_MAX];
    struct reach reach;
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0)
        return err_file_failed(err, "this program's own file");
    own[n] = '\0';
    reach_init_at(&reach, at);
    return reach_role_program(&reach, own, name, path, err);
}

static int make_session(struct gate *gate, const struct gate_options *o,
                        const struct places *places, struct session **ret, struct err *err)
{
    FREE_AT_END char *state = state_path();
    FREE_AT_END char *own = state_config_path();
    FREE_AT_END char *gitconfig = user_tools_gitconfig(gate->config);
    FREE_AT_END char *settings_folder = own ? realpath(own, NULL) : NULL;
    struct session_options options = {
        .config = gate->config,
        .state_fd = gate->state_fd,
        .state = state,
        .settings_folder = settings_folder,
        .id = o->session ? o->session : "",
        .n_roots = places->count,
        .base = places->base,
        .settings = places->settings,
        .protect = o->dialect->id == DIALECT_TOOLHOST && o->state ? "logs" : NULL,
        .show_system = o->show_system,
        .commands = o->commands && places->n_commands > 0,
        .once = o->once,
        .n_command_roots = places->n_commands,
        .command_base = places->command_base,
        .gitconfig = gitconfig,
        .tool_env = buf_str(&gate->tool_env),
        .layer = o->layer,
        .overlay = o->overlay,
        .role_program = find_role_program,
    };
    memcpy(options.roots, places->roots, sizeof options.roots);
    memcpy(options.command_roots, places->commands, sizeof options.command_roots);
    if (o->review)
        use_review_roots(o, &options);
    if (refuse_without_layer(gate, o, places, err) < 0 ||
        session_new(ret, &gate->loop, &options, err) < 0)
        return -1;
    session_workplace(*ret)->excludes = buf_str(&gate->excludes);
    return 0;
}

int gate_open_own_session(struct gate *gate, struct err *err)
{
    const struct gate_options *o = &gate->options;
    CLEANUP(places_done) struct places places = {.state_fd = gate->state_fd};
    struct reach reach;
    if (choose_places(gate, o, &places, &reach, err) < 0)
        return -1;
    set_anchor(gate, &reach);
    if (o->dialect->id == DIALECT_TOOLHOST && o->state &&
        execution_open(&gate->record.execution, places.roots[places.count - 1].host, err) < 0)
        return -1;
    return make_session(gate, o, &places, &gate->session, err);
}

static int refuse_beside(const char *id, const char *what, struct err *err)
{
    err_set(err, ERR_POLICY_DENIED,
            "session %s cannot be opened beside others: %s lies in its folder, or the folder in "
            "there; start a gate for this session alone",
            id, what);
    return err_reason(err, "session_beside_refused");
}

/* The anchor has the environment that was made for the first session. */
static int check_anchor(const struct gate *gate, const char *id, const struct reach *reach,
                        struct err *err)
{
    if (!gate->anchor)
        return 0;
    FREE_AT_END char *path = reach_path(reach, gate->anchor_path);
    if (strcmp(path, gate->anchor_path) != 0 || reach_through(reach, gate->anchor_home))
        return refuse_beside(id, "what audit.anchor's program finds by PATH or HOME", err);
    return 0;
}

static bool lies_in_either(const char *a, const char *b)
{
    return path_beneath((struct str){a, strlen(a)}, b) ||
           path_beneath((struct str){b, strlen(b)}, a);
}

/* Whether hooks see the folder: their cell was made with places of the machine, and those of commands.show. */
static bool is_shown_to_hooks(const struct gate *gate, const char *host)
{
    const struct str *shown = NULL;
    size_t n = 0;
    for (const char *const *place = plan_system_paths; *place; place++) {
        if (lies_in_either(*place, host))
            return true;
    }
    config_list(gate->config, "commands.show", &shown, &n);
    for (size_t i = 0; i < n; i++) {
        FREE_AT_END char *real = realpath(shown[i].p, NULL);
        if (real && lies_in_either(real, host))
            return true;
    }
    return false;
}

static int refuse_shown_to_hooks(const struct gate *gate, const char *id,
                                 const struct places *places, struct err *err)
{
    for (size_t i = 0; keeper_has_hooks(gate->keeper) && i < places->count + places->n_commands;
         i++) {
        const char *host = i < places->count ? places->roots[i].host
                                             : places->commands[i - places->count].host;
        if (is_shown_to_hooks(gate, host))
            return refuse_beside(
                id, "a folder of the machine or of commands.show, which hooks see,", err);
    }
    return 0;
}

int gate_add_session(struct gate *gate, const struct named *named, struct session **ret,
                     struct err *err)
{
    struct gate_options o = gate->options;
    CLEANUP(places_done) struct places places = {.state_fd = gate->state_fd};
    struct reach reach;
    const char *id = named->id;
    o.workspace = named->workspace;
    o.session = id;
    o.layer = named->layer;
    o.overlay = named->overlay;
    o.project = o.pkg = o.state = NULL;
    if (choose_places(gate, &o, &places, &reach, err) < 0 ||
        check_anchor(gate, id, &reach, err) < 0 ||
        refuse_shown_to_hooks(gate, id, &places, err) < 0 ||
        make_session(gate, &o, &places, ret, err) < 0)
        return -1;
    struct gate_session *other = mem_zero(sizeof *other);
    *other = (struct gate_session){.next = gate->others, .session = *ret};
    gate->others = other;
    session_warm_up(*ret);
    return 0;
}

void gate_drop_session(struct gate *gate, struct session *session)
{
    struct gate_session **at = &gate->others;
    while (*at && (*at)->session != session)
        at = &(*at)->next;
    struct gate_session *other = *at;
    if (!other)
        return;
    *at = other->next;
    session_free(other->session);
    free(other);
}

void gate_free_sessions(struct gate *gate)
{
    while (gate->others)
        gate_drop_session(gate, gate->others->session);
    session_free(gate->session);
}

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "cell/probe.h"
#include "cell/tier.h"
#include "session/commands.h"
#include "session/look.h"
#include "session/make_spec.h"
#include "session/own_rules.h"
#include "session/preview.h"
#include "session/quarantine_moves.h"
#include "session/review.h"
#include "session/scan.h"
#include "session/session_parts.h"
#include "session/settings.h"

/* So many commands' worth of output is kept. */
#define SPILLS_TOTAL 8
/* 64 paths. */
#define OWN_RULES_MAX ((size_t)512 << 10)

static void session_freep(struct session **s)
{
    session_free(*s);
}

static struct root copy_root(const struct root *r)
{
    struct root copy = {mem_dup(r->name), mem_dup(r->inside), mem_dup(r->host), r->writable, {0}};
    for (size_t i = 0; i < ROOT_ALSO; i++)
        copy.also[i] = mem_dup(r->also[i]);
    return copy;
}

static void free_root(const struct root *r)
{
    free((void *)(uintptr_t)r->name);
    free((void *)(uintptr_t)r->inside);
    free((void *)(uintptr_t)r->host);
    for (size_t i = 0; i < ROOT_ALSO; i++)
        free((void *)(uintptr_t)r->also[i]);
}

/* NULL: the session has none. */
static char *settings_path(const char *folder)
{
    if (!folder)
        return NULL;
    return strcmp(folder, ".") == 0 ? mem_dup(SETTINGS_FILE)
                                    : mem_format("%s/" SETTINGS_FILE, folder);
}

/* What is said of a call that is refused before there is a cell. */
static struct tier expected_tier(const struct session *s)
{
    struct findings f;
    bool weaker = probe_kept(s->state_fd, &f) && findings_tier(&f).id == TIER_LANDLOCK;
    return weaker ? findings_tier(&f) : tier_of_cell(&s->spec);
}

int session_new(struct session **ret_session, uv_loop_t *loop,
                const struct session_options *options, struct err *err)
{
    CLEANUP(session_freep) struct session *s = mem_zero(sizeof *s);
    s->loop = loop;
    s->state_fd = options->state_fd;
    s->operator_config = options->config;
    s->config = config_clone(options->config);
    s->id = mem_dup(options->id);
    s->base = mem_dup(options->base);
    s->command_base = mem_dup(options->command_base);
    s->layer = mem_dup(options->layer);
    s->settings = settings_path(options->settings);
    if (s->settings && strlen(s->settings) >= PATH_TEXT_MAX)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "the path of the workspace is too long: its " SETTINGS_FILE
                       " cannot be read");
    host_init(&s->host, loop, &s->spec, &session_host_owner, s);
    s->host.once = options->once;
    s->roles = role_cells_new(loop, &s->workplace, options->role_program);
    git_turn_init(&s->git);
    suspects_init(&s->suspects);
    buf_init(&s->moves_told, QUARANTINE_MOVES_TOLD_MAX);
    cut_off_init(&s->cut_off);
    for (size_t i = 0; i < ROOTS_MAX; i++)
        sweep_init(&s->sweeps[i], -1, 0, 0, "");
    uint32_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return err_set(err, ERR_INTERNAL, "no random numbers: %s", strerror(errno));
    snprintf(s->tag, sizeof s->tag, "%08x", random);
    s->once = options->once;
    s->commands = commands_new(loop, s->tag, options->once, &session_command_events, s);
    s->delayed = delayed_new(loop, &session_delayed_events, s, err);
    if (!s->delayed)
        return -1;
    spills_init(&s->spills, s->state_fd, config_int(options->config, "commands.outputKept"),
                SPILLS_TOTAL * config_int(options->config, "commands.outputKept"));
    for (size_t i = 0; i < options->n_roots; i++)
        s->roots[i] = copy_root(&options->roots[i]);
    for (size_t i = 0; i < options->n_command_roots; i++)
        s->command_roots[i] = copy_root(&options->command_roots[i]);
    if (make_spec(options, &s->spec, err) < 0)
        return -1;
    s->spec.tier = TIER_FULL;
    buf_init(&s->own_rules, OWN_RULES_MAX);
    if (!s->layer)
        own_rules_add(&s->spec, &s->own_rules);
    cut_off_use_store(s);
    s->workplace = (struct workplace){
        .unsettled = true,
        .roots = s->roots,
        .n_roots = options->n_roots,
        .config = s->config,
        .tier = expected_tier(s),
        .session_id = s->id,
        .overlay = options->overlay,
        .base = s->base,
        .command_roots = s->command_roots,
        .has_gitconfig = options->gitconfig != NULL,
        .tool_env = {mem_copy(options->tool_env.p, options->tool_env.n), options->tool_env.n},
        .n_command_roots = options->n_command_roots,
        .command_base = s->command_base,
        .spills = &s->spills,
    };
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        const struct cell_root *root = spec_changed(&s->spec, i);
        sweep_init(&s->sweeps[i], s->state_fd, root->device, root->inode, s->tag);
    }
    *ret_session = TAKE_PTR(s);
    return 0;
}

void session_free(struct session *s)
{
    if (!s)
        return;
    look_free(s->look);
    preview_forget_all(s);
    review_forget_all(s);
    session_sweep_done(s);
    host_done(&s->host);
    role_cells_free(s->roles);
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        sweep_done(&s->sweeps[i]);
        free_root(&s->roots[i]);
        free_root(&s->command_roots[i]);
    }
    leftover_leave(&s->leftovers, s->state_fd, &s->spec);
    git_turn_done(&s->git);
    suspects_done(&s->suspects);
    buf_done(&s->moves_told);
    cut_off_done(s);
    commands_free(s->commands);
    delayed_free(s->delayed);
    scan_free(s);
    spills_done(&s->spills);
    spec_done(&s->spec);
    config_free(s->config);
    buf_done(&s->rules);
    buf_done(&s->own_rules);
    free(s->id);
    free(s->base);
    free(s->command_base);
    free((char *)(uintptr_t)s->workplace.tool_env.p);
    free(s->settings);
    free(s->layer);
    free(s);
}

bool session_is_opening(const struct session *s)
{
    return s->host.state == HOST_OPENING;
}

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "session/commands.h"
#include "session/session_parts.h"

/* So many commands' worth of output is kept. */
#define SPILLS_TOTAL 8

static void session_freep(struct session **s)
{
    session_free(*s);
}

/* A folder of the last root that stays read-only has to be so by every name it has in the cell. */
static char *protected_in(const struct session_options *o, size_t i)
{
    const char *rest = path_rest(o->roots[o->n_roots - 1].host, o->roots[i].host);
    if (!o->protect || !rest)
        return NULL;
    return *rest ? mem_format("%s/%s", rest, o->protect) : mem_dup(o->protect);
}

/* The cell's part that is for commands. */
static int plan_commands(struct session *s, const struct session_options *o, struct err *err)
{
    const struct str *shown;
    size_t count;
    s->spec.commands = true;
    s->spec.home_bytes = (uint64_t)config_int(o->config, "commands.homeSize");
    s->spec.tmp_bytes = (uint64_t)config_int(o->config, "commands.tmpSize");
    for (size_t i = 0; i < o->n_command_roots; i++) {
        const struct root *r = &o->command_roots[i];
        s->command_roots[i] = (struct root){r->name, r->inside, mem_dup(r->host), r->writable};
    }
    if (spec_add_command_roots(&s->spec, s->command_roots, o->n_command_roots, err) < 0)
        return -1;
    if (!config_list(o->config, "commands.show", &shown, &count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        FREE_AT_END char *real = realpath(shown[i].p, NULL);
        if (!real)
            log_warning("commands.show: %s: %s", shown[i].p, strerror(errno));
        else if (spec_add_shown(&s->spec, shown[i].p, err) < 0)
            return -1;
    }
    return 0;
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
    if (options->settings)
        s->settings = strcmp(options->settings, ".") == 0
                          ? mem_dup(WORKSPACE_FILE)
                          : mem_format("%s/" WORKSPACE_FILE, options->settings);
    s->waiting_end = &s->waiting;
    flight_init(&s->flight);
    for (size_t i = 0; i < ROOTS_MAX; i++)
        sweep_init(&s->sweeps[i], -1, 0, 0, "");
    uint32_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return err_set(err, ERR_INTERNAL, "no random numbers: %s", strerror(errno));
    snprintf(s->tag, sizeof s->tag, "%08x", random);
    s->commands = commands_new(loop, s->tag);
    spills_init(&s->spills, s->state_fd, config_int(options->config, "commands.outputKept"),
                SPILLS_TOTAL * config_int(options->config, "commands.outputKept"));
    for (size_t i = 0; i < options->n_roots; i++) {
        const struct root *r = &options->roots[i];
        s->roots[i] = (struct root){r->name, r->inside, mem_dup(r->host), r->writable};
        FREE_AT_END char *protect = protected_in(options, i);
        if (spec_add_root(&s->spec, r, protect, err) < 0)
            return -1;
    }
    if (options->commands && plan_commands(s, options, err) < 0)
        return -1;
    mode_t mask = umask(022);
    umask(mask);
    s->spec.umask = mask;
    /* One more, which hears of cancels. */
    s->spec.threads = (uint32_t)config_int(options->config, "limits.workerThreads") + 1;
    s->spec.system = options->show_system;
    spec_choose_owner(&s->spec, geteuid(), getegid(),
                      (uint32_t)config_int(options->config, "cell.uid"));
    s->workplace = (struct workplace){
        .roots = s->roots,
        .n_roots = options->n_roots,
        .config = s->config,
        .tier = "full",
        .session_id = s->id,
        .base = s->base,
        .command_roots = s->command_roots,
        .n_command_roots = options->n_command_roots,
        .command_base = s->command_base,
        .spills = &s->spills,
    };
    for (size_t i = 0; i < s->spec.n_roots; i++)
        sweep_init(&s->sweeps[i], s->state_fd, s->spec.roots[i].device, s->spec.roots[i].inode,
                   s->tag);
    *ret_session = TAKE_PTR(s);
    return 0;
}

void session_free(struct session *s)
{
    if (!s)
        return;
    cell_free(s->cell);
    for (struct call *call; (call = flight_first(&s->flight));) {
        flight_remove(&s->flight, call);
        call_free(call);
    }
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        sweep_done(&s->sweeps[i]);
        free((void *)(uintptr_t)s->roots[i].host);
        free((void *)(uintptr_t)s->command_roots[i].host);
    }
    leftover_leave(&s->leftovers, s->state_fd, &s->spec);
    flight_done(&s->flight);
    commands_free(s->commands);
    spills_done(&s->spills);
    spec_done(&s->spec);
    config_free(s->config);
    free(s->id);
    free(s->base);
    free(s->command_base);
    free(s->settings);
    free(s);
}

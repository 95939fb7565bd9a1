#include "session/command_order.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cell/plan.h"
#include "core/call_limits.h"
#include "core/command.h"

#define CELL_PROCESSES 40
#define PATH_OF_SYSTEM "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static bool has_variable(const struct command *command, const char *name)
{
    size_t n = strlen(name);
    struct str rest = buf_str(&command->env);
    while (rest.n) {
        size_t length = strlen(rest.p);
        if (length > n && rest.p[n] == '=' && memcmp(rest.p, name, n) == 0)
            return true;
        rest.p += length + 1;
        rest.n -= length + 1;
    }
    return false;
}

struct env {
    const struct command *command;
    struct buf *out;
    int64_t count;
};

static void put_variable(struct env *env, const char *name, const char *value)
{
    if (has_variable(env->command, name))
        return;
    buf_addf(env->out, "%s=%s", name, value);
    buf_add_char(env->out, '\0');
    env->count++;
}

void command_path(const struct config *config, struct buf *out)
{
    const struct str *folders;
    size_t count;
    if (config_list(config, "commands.path", &folders, &count)) {
        for (size_t i = 0; i < count; i++)
            buf_addf(out, "%.*s:", (int)folders[i].n, folders[i].p);
    }
    buf_add_text(out, PATH_OF_SYSTEM);
}

static void put_path(struct env *env, const struct config *config)
{
    BUF_AT_END struct buf path = BUF_INIT(64u << 10);
    command_path(config, &path);
    put_variable(env, "PATH", buf_text(&path));
}

static bool is_own_variable(const char *variable)
{
    static const char *const own[] = {
        "PATH=", "HOME=", "USER=", "LOGNAME=", "SHELL=", "TMPDIR=", "TERM=", "SANDGATE="};
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (strncmp(variable, own[i], strlen(own[i])) == 0)
            return true;
    }
    return false;
}

static bool is_env_granted(const struct str *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (fnmatch(names[i].p, name, 0) == 0)
            return true;
    }
    return false;
}

/* How the names of variables begin that hold settings of git. */
#define GIT_SETTINGS "GIT_CONFIG_"

static bool only_reads_git(const struct verdict *verdict)
{
    for (size_t i = 0; i < verdict->leaves_n; i += strlen(verdict->leaves + i) + 1) {
        if (strcmp(verdict->leaves + i, "git") == 0)
            return true;
    }
    return false;
}

/* Of the gate's own environment only what the operator's list names, and of that what the agent may have. */
static void put_allowed(struct env *env, const struct call *call)
{
    const struct config *config = call->workplace->config;
    const struct str *names;
    const struct str *granted;
    size_t count;
    size_t n_granted;
    bool lang = false;
    bool settings = only_reads_git(&call->verdict);
    bool all = !config_agent_list(config, call->agent, "capabilities.env", &granted, &n_granted);
    if (!config_list(config, "commands.env", &names, &count))
        count = 0;
    for (char **at = environ; *at; at++) {
        size_t n = strcspn(*at, "=");
        FREE_AT_END char *name = mem_copy(*at, n);
        if ((*at)[n] != '=' || is_own_variable(*at) || !is_env_granted(names, count, name) ||
            !(all || is_env_granted(granted, n_granted, name)))
            continue;
        /* Of two variables of one name the second would count. */
        if (settings && strncmp(name, GIT_SETTINGS, strlen(GIT_SETTINGS)) == 0)
            continue;
        put_variable(env, name, *at + n + 1);
        lang |= strcmp(name, "LANG") == 0;
    }
    if (!lang)
        put_variable(env, "LANG", "C.UTF-8");
}

/* Stronger than the settings of a repository: git that only reads starts none of these, and takes no folder for a
 * repository by what is in it. */
static void put_git_settings(struct env *env)
{
    static const char *const settings[][2] = {{"core.fsmonitor", "false"},
                                              {"core.hooksPath", "/dev/null"},
                                              {"core.pager", "cat"},
                                              {"safe.bareRepository", "explicit"}};
    char name[32];
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        snprintf(name, sizeof name, GIT_SETTINGS "KEY_%zu", i);
        put_variable(env, name, settings[i][0]);
        snprintf(name, sizeof name, GIT_SETTINGS "VALUE_%zu", i);
        put_variable(env, name, settings[i][1]);
    }
    snprintf(name, sizeof name, "%zu", ARRAY_LEN(settings));
    put_variable(env, GIT_SETTINGS "COUNT", name);
}

static bool has_settings_of(const struct root *root, const char *home)
{
    const char *const names[] = {root->inside, root->also[0], root->also[1]};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *rest = names[i] ? path_rest(names[i], home) : NULL;
        if (names[i] && (path_rest(home, names[i]) || (rest && rest[0] == '.')))
            return true;
    }
    return false;
}

/* A home without settings. Each command's /tmp is its own, save what folders of the session lie there. */
static const char *own_home(const struct workplace *at)
{
    for (size_t i = 0; i < at->n_command_roots; i++) {
        if (has_settings_of(&at->command_roots[i], "/tmp"))
            return "/proc";
    }
    return "/tmp";
}

static bool is_put(const struct env *env, size_t from, const char *variable)
{
    size_t n = strcspn(variable, "=") + 1;
    for (size_t at = from; at < env->out->len; at += strlen(env->out->data + at) + 1) {
        if (strncmp(env->out->data + at, variable, n) == 0)
            return true;
    }
    return false;
}

/* The first of two of one name counts, also where the gate's own environment has one. */
static void put_unless(struct env *env, size_t from, const char *variable)
{
    size_t n = strcspn(variable, "=");
    FREE_AT_END char *name = mem_copy(variable, n);
    if (!is_put(env, from, variable))
        put_variable(env, name, variable + n + 1);
}

/* Without a network, to try again is to wait in vain. */
static void put_no_network(struct env *env, size_t from)
{
    static const char *const variables[] = {"npm_config_fetch_retries=0",
                                            "npm_config_update_notifier=false",
                                            "PIP_RETRIES=0",
                                            "PIP_DISABLE_PIP_VERSION_CHECK=1",
                                            "CARGO_NET_RETRY=0",
                                            "UV_HTTP_RETRIES=0"};
    for (size_t i = 0; i < ARRAY_LEN(variables); i++)
        put_unless(env, from, variables[i]);
}

static void put_tool_env(struct env *env, size_t from, const struct workplace *at)
{
    for (size_t i = 0; i < at->tool_env.n; i += strlen(at->tool_env.p + i) + 1)
        put_unless(env, from, at->tool_env.p + i);
    if (at->has_gitconfig)
        put_unless(env, from, "GIT_CONFIG_SYSTEM=" PLAN_GITCONFIG);
}

static int64_t put_environment(const struct call *call, struct buf *out)
{
    const struct config *config = call->workplace->config;
    struct env env = {call->command, out, call->command->n_env};
    size_t from = out->len;
    put_path(&env, config);
    put_variable(&env, "HOME", call->verdict.own_home ? own_home(call->workplace) : PLAN_HOME);
    put_variable(&env, "USER", PLAN_USER);
    put_variable(&env, "LOGNAME", PLAN_USER);
    put_variable(&env, "SHELL", "/bin/bash");
    put_variable(&env, "TMPDIR", "/tmp");
    put_variable(&env, "TERM", call->terminal ? call->terminal->name : "dumb");
    put_variable(&env, "SANDGATE", call_tier(call));
    if (only_reads_git(&call->verdict))
        put_git_settings(&env);
    put_allowed(&env, call);
    put_tool_env(&env, from, call->workplace);
    put_no_network(&env, from);
    buf_add(out, call->command->env.data, call->command->env.len);
    return env.count;
}

static int64_t put_list(const struct config *config, const char *path, struct buf *out,
                        bool *ret_set)
{
    const struct str *items = NULL;
    size_t count = 0;
    *ret_set = config_list(config, path, &items, &count);
    for (size_t i = 0; i < count; i++) {
        buf_add(out, items[i].p, items[i].n);
        buf_add_char(out, '\0');
    }
    return (int64_t)count;
}

static int64_t put_leaves(const struct verdict *verdict, struct buf *out)
{
    int64_t count = 0;
    for (size_t i = 0; i < verdict->leaves_n; i++)
        count += verdict->leaves[i] == '\0';
    buf_add(out, verdict->leaves, verdict->leaves_n);
    return count;
}

bool command_same_limits(const struct limits_want *a, const struct limits_want *b)
{
    return a->memory == b->memory && a->processes == b->processes && a->cpu_millis == b->cpu_millis;
}

struct limits_want command_limits(const struct config *config, const struct verdict *verdict)
{
    /* Also without a verdict: a group is made before its command is known. */
    int64_t memory = call_limit_lower(config_int(config, "commands.memory"),
                                      call_ceiling_memory(config));
    int64_t cpus = config_int(config, "commands.cpus");
    if (verdict) {
        memory = call_limit_lower(memory, verdict->max_memory);
        cpus = call_limit_lower(cpus, verdict->max_cpu_millis);
    }
    return (struct limits_want){
        .memory = (uint64_t)memory,
        /* Its first process is one more. */
        .processes = (uint32_t)config_int(config, "commands.processes") + 1,
        .cpu_millis = (uint32_t)cpus,
    };
}

static void set_limits(const struct call *call, const struct limits *groups, struct order *o)
{
    const struct config *config = call->workplace->config;
    int64_t memory = call_limit_lower(config_int(config, "commands.memory"),
                                      call->verdict.max_memory);
    int64_t processes = config_int(config, "commands.processes");
    o->files = config_int(config, "commands.openFiles");
    /* What is written is looked at every now and then, a file's size all the time. */
    o->file_size = call_limit_lower(config_int(config, "commands.fileSize"),
                                    call->verdict.max_bytes);
    o->cpu_seconds = config_int(config, "commands.cpuSeconds");
    o->watch_written = call_limit_lower(config_int(config, "commands.diskWrites"),
                                        call->verdict.max_bytes);
    o->watch_buffers = memory;
    if (!groups || !limits_by_group(groups, LIMIT_MEMORY)) {
        o->watch_memory = memory;
        o->data = memory;
    }
    if (!groups || !limits_by_group(groups, LIMIT_PROCESSES)) {
        o->watch_processes = processes;
        /* The kernel counts all processes of the cell together, the worker's threads too. */
        o->processes = processes + CELL_PROCESSES;
    }
}

static struct str pinned_folder(const struct call *call)
{
    const char *folder = call->pin.folder;
    return (struct str){folder, folder ? strlen(folder) : 0};
}

int command_order(const struct call *call, const struct limits *groups, struct buf *strings,
                  struct order *ret, struct err *err)
{
    const struct command *command = call->command;
    const struct config *config = call->workplace->config;
    *ret = (struct order){.cwd = command->cwd,
                          .beneath = {command->beneath, strlen(command->beneath)},
                          .as_named = call->verdict.as_named,
                          .pinned = pinned_folder(call),
                          .has_stdin = command->input.p || call->input_fd >= 0,
                          .terminal = call->terminal != NULL,
                          .terminal_errors = call->terminal && call->terminal->errors,
                          .n_args = command->n_args,
                          .listed = command->listed};
    buf_add(strings, command->args.data, command->args.len);
    ret->n_env = put_environment(call, strings);
    if (command->listed) {
        bool set;
        ret->n_allowed = put_list(config, "tools.bash.allowedCommands", strings, &set);
        ret->allow_all = !set;
        ret->n_denied = put_list(config, "tools.bash.deniedCommands", strings, &set);
    }
    if (call->verdict.leaves) {
        ret->only_leaves = true;
        ret->n_leaves = put_leaves(&call->verdict, strings);
    }
    set_limits(call, groups, ret);
    if (strings->failed || command->args.failed || command->env.failed)
        return err_set(
            err, ERR_TOO_LARGE,
            "the command and its environment are longer than %u bytes; put long text into a "
            "file or into standard input",
            FRAME_BODY_MAX);
    ret->strings = buf_str(strings);
    return 0;
}

#include "core/command.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"

/* They travel in one frame's body together with the environment. */
#define STRINGS_MAX ((size_t)120 << 10)

const char *const command_end_names[] = {
    [COMMAND_EXIT] = "exit",
    [COMMAND_SIGNAL] = "signal",
    [COMMAND_TIMEOUT] = "timeout",
    [COMMAND_MEMORY_LIMIT] = "memory_limit",
    [COMMAND_PROCESS_LIMIT] = "process_limit",
    [COMMAND_DISK_LIMIT] = "disk_limit",
    [COMMAND_FILE_SIZE_LIMIT] = "file_size_limit",
    [COMMAND_CPU_LIMIT] = "cpu_limit",
    NULL,
};

struct command *command_new(size_t max_output)
{
    struct command *command = mem_zero(sizeof *command);
    buf_init(&command->args, STRINGS_MAX);
    buf_init(&command->env, STRINGS_MAX);
    buf_init(&command->layers, STRINGS_MAX);
    command->max_output = max_output;
    command->exit_code = ARG_ABSENT;
    for (size_t i = 0; i < STREAMS; i++)
        output_init(&command->streams[i], max_output);
    return command;
}

void command_free(struct command *command)
{
    if (!command)
        return;
    buf_done(&command->args);
    buf_done(&command->env);
    buf_done(&command->layers);
    buf_done(&command->after.fresh);
    buf_done(&command->after.fresh_git);
    buf_done(&command->after.closed);
    buf_done(&command->after.suspects);
    buf_done(&command->after.others);
    buf_done(&command->after.stays);
    free(command->folder);
    free(command->violations.list);
    for (size_t i = 0; i < STREAMS; i++)
        output_done(&command->streams[i]);
    free(command);
}

void command_renew(struct command **command, size_t max_output)
{
    struct command *old = *command;
    struct command *fresh = *command = command_new(max_output);
    if (!old)
        return;
    buf_done(&fresh->layers);
    fresh->layers = old->layers;
    old->layers = BUF_INIT(0);
    memcpy(fresh->layer_tag, old->layer_tag, sizeof fresh->layer_tag);
    fresh->git_tries = old->git_tries;
    fresh->guard_tries = old->guard_tries;
    fresh->delayed_ns = old->delayed_ns;
    command_free(old);
}

void command_fit_output(struct command *command)
{
    struct output *out = &command->streams[STREAM_STDOUT];
    struct output *err = &command->streams[STREAM_STDERR];
    size_t max = command->max_both;
    if (max == 0)
        return;
    size_t n_err = err->head.len + err->tail.len;
    size_t for_out = n_err < max / 2 ? max - n_err : max / 2;
    output_shrink(out, for_out);
    output_shrink(err, max - (out->head.len + out->tail.len));
}

static int add_command_string(struct buf *strings, struct str s)
{
    if (s.n && memchr(s.p, '\0', s.n))
        return -1;
    buf_add(strings, s.p, s.n);
    return buf_add_char(strings, '\0');
}

int command_add_arg(struct command *command, struct str arg)
{
    command->n_args++;
    return add_command_string(&command->args, arg);
}

int command_add_env(struct command *command, struct str name, struct str value)
{
    if (name.n == 0 || memchr(name.p, '=', name.n) || memchr(name.p, '\0', name.n))
        return -1;
    command->n_env++;
    buf_add(&command->env, name.p, name.n);
    buf_add_char(&command->env, '=');
    return add_command_string(&command->env, value);
}

int command_use_shell(struct command *command, struct str line)
{
    command->shell = true;
    /* The rules about commands read a line as bash does. */
    command_add_arg(command, STR("/bin/bash"));
    command_add_arg(command, STR("-c"));
    return command_add_arg(command, line);
}

#include "session/command_end.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define DEATH_SHOWN 100

/* A shell whose last command was ended that way says so by its exit code. */
static bool is_ended_by_signal(const struct command *command, const struct ran *ran, int signal)
{
    if (WIFSIGNALED(ran->status))
        return WTERMSIG(ran->status) == signal;
    return command->shell && WEXITSTATUS(ran->status) == 128 + signal;
}

static enum command_end why_ended(const struct command *command, const struct ran *ran,
                                  bool stopped, const struct limit_group *group)
{
    if (ran->kind == RAN_MEMORY)
        return COMMAND_MEMORY_LIMIT;
    if (ran->kind == RAN_PROCESSES)
        return COMMAND_PROCESS_LIMIT;
    if (ran->kind == RAN_WRITTEN)
        return COMMAND_DISK_LIMIT;
    if (stopped)
        return COMMAND_TIMEOUT;
    if (ran->status == 0)
        return COMMAND_EXIT;
    struct limits_seen seen;
    limit_group_read(group, &seen);
    if (seen.oom_kills)
        return COMMAND_MEMORY_LIMIT;
    if (seen.process_limit_hits)
        return COMMAND_PROCESS_LIMIT;
    if (is_ended_by_signal(command, ran, SIGXFSZ))
        return COMMAND_FILE_SIZE_LIMIT;
    if (is_ended_by_signal(command, ran, SIGXCPU))
        return COMMAND_CPU_LIMIT;
    return WIFSIGNALED(ran->status) ? COMMAND_SIGNAL : COMMAND_EXIT;
}

static void take_violations(struct command *command, yyjson_val *list)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(list, idx, max, item) {
        struct str what = json_str(yyjson_obj_get(item, "call"));
        int64_t count = yyjson_get_sint(yyjson_obj_get(item, "count"));
        command_add_violation(command, "", what.p ? what : STR(""), count);
    }
}

int command_read_account(int fd, struct buf *account, struct frame *ret)
{
    if (buf_reserve(account, RAN_BYTES_MAX - account->len) < 0)
        return -1;
    ssize_t n = read(fd, account->data + account->len, RAN_BYTES_MAX - account->len);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return -1;
    account->len += (size_t)n;
    if (frame_parse(account->data, account->len, ret) == 0)
        return 1;
    return account->len < RAN_BYTES_MAX ? 0 : -1;
}

struct command_death command_read_death(const struct frame *frame, yyjson_doc **ret_doc)
{
    struct command_death death = {.message = STR("no reason")};
    if (json_parse(frame->head.p, frame->head.n, FRAME_HEAD_MAX, JSON_INTERNAL, ret_doc, NULL) < 0)
        return death;
    yyjson_val *root = yyjson_doc_get_root(*ret_doc);
    yyjson_val *message = yyjson_obj_get(root, "message");
    if (yyjson_is_str(message))
        death.message = json_str(message);
    if (death.message.n > DEATH_SHOWN)
        death.message.n = DEATH_SHOWN;
    death.busy = yyjson_get_bool(yyjson_obj_get(root, "busy"));
    return death;
}

void command_take_counted(struct command *command, const struct limits_seen *seen)
{
    command->measured = true;
    command->peak_memory = seen->peak_memory ? (int64_t)seen->peak_memory : ARG_ABSENT;
    command->cpu_ms = seen->cpu_ms < 0 ? ARG_ABSENT : seen->cpu_ms;
}

void command_take_end(struct command *command, const struct ran *ran, bool stopped,
                      const struct limit_group *group)
{
    command->ended = true;
    command->ended_by = why_ended(command, ran, stopped, group);
    if (WIFEXITED(ran->status))
        command->exit_code = WEXITSTATUS(ran->status);
    else
        command->signal = WTERMSIG(ran->status);
    command->measured = true;
    command->peak_memory = ran->peak_memory;
    command->cpu_ms = ran->user_ms + ran->system_ms;
    if (ran->folder.p) {
        free(command->folder);
        command->folder = mem_copy(ran->folder.p, ran->folder.n);
    }
    take_violations(command, ran->violations);
}

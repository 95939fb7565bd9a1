#include "tools/run.h"

#include <inttypes.h>

#include <stdio.h>
#include <string.h>

#include "cell/frame.h"
#include "core/call_limits.h"

/* Where relative paths begin, and which folders there are, for commands. */
static int parse_cwd(struct call *call, struct str cwd, struct err *err)
{
    const struct workplace *at = call->workplace;
    struct str text = cwd.p ? cwd : STR(".");
    if (at->command_base)
        return path_in_folders(text, at->command_base, at->command_roots, at->n_command_roots,
                               &call->path, err);
    return path_in_workspace(text, &at->command_roots[0], &call->path, err);
}

int run_prepare(struct call *call, struct str cwd, int64_t max_output, int64_t timeout_ms,
                struct err *err)
{
    if (parse_cwd(call, cwd, err) < 0) {
        if (err->field[0])
            snprintf(err->field, sizeof err->field, "cwd");
        return -1;
    }
    const struct root *root = &call->workplace->command_roots[call->path.root];
    buf_done(&call->decoded);
    buf_init(&call->decoded, 3 * (size_t)PATH_TEXT_MAX);
    buf_add_text(&call->decoded, root->inside);
    if (!path_is_root(&call->path))
        buf_addf(&call->decoded, "/%s", call->path.text);
    if (call->decoded.len >= PATH_TEXT_MAX)
        return err_field(err, "cwd", "the working directory's path is too long");
    /* Settings may have changed since it was prepared before. */
    command_renew(&call->command, (size_t)max_output);
    call->command->cwd = buf_str(&call->decoded);
    call->command->beneath = root->inside;
    call->command->passed_on = call->pass_on;
    int64_t most = config_int(call->workplace->config, "commands.maxTimeoutMs");
    if (timeout_ms > most && !call->own_time)
        return err_field(
            err, "timeout_ms",
            "a command may take at most %lld ms here (commands.maxTimeoutMs), not %lld",
            (long long)most, (long long)timeout_ms);
    int64_t asked = call->own_time ? call->time_ms : timeout_ms;
    int64_t allowed = call_limit_lower(asked, call->verdict.max_ms);
    call->command->less_time = allowed > 0 && (asked == 0 || allowed < asked);
    call->deadline_ns = allowed > 0 ? call->start_ns + (uint64_t)allowed * 1000000u : UINT64_MAX;
    if (!call->direct)
        call->grace_ns = RUN_GRACE_NS;
    return 0;
}

int run_check_text(struct str command, struct err *err)
{
    if (command.n && !memchr(command.p, '\0', command.n))
        return 0;
    return err_field(err, "command",
                     command.n ? "`command` cannot hold a NUL"
                               : "`command` is empty: nothing to run");
}

int run_check_size(const struct call *call, struct err *err)
{
    const struct command *command = call->command;
    if (!command->args.failed && !command->env.failed &&
        command->args.len + command->env.len <= FRAME_BODY_MAX / 2)
        return 0;
    return err_field(err, "command",
                     "the command and its variables are longer than %u bytes; put long text into a "
                     "file or into standard input",
                     FRAME_BODY_MAX / 2);
}

int64_t run_exit_code(const struct call *call)
{
    const struct command *command = call->command;
    return command->exit_code != ARG_ABSENT ? command->exit_code : 128 + command->signal;
}

static void memory_words(const struct call *call, char out[RUN_WORDS_MAX])
{
    char rule[CALL_RULE_MAX] = "commands.memory";
    int64_t usual = config_int(call->workplace->config, rule);
    if (call_limit_lower(usual, call->verdict.max_memory) < usual)
        call_limit_rule(call, "maxMemory", rule);
    snprintf(out, RUN_WORDS_MAX, "it used more memory than %s allows", rule);
}

bool run_limit_words(const struct call *call, char out[RUN_WORDS_MAX])
{
    static const char *const words[] = {
        [COMMAND_PROCESS_LIMIT] = "it started more processes than commands.processes allows",
        [COMMAND_DISK_LIMIT] = "it wrote more to the disk than commands.diskWrites allows",
        [COMMAND_FILE_SIZE_LIMIT] = "it wrote a file larger than commands.fileSize allows",
        [COMMAND_CPU_LIMIT] = "it used more processor time than commands.cpuSeconds allows",
    };
    enum command_end end = call->command->ended_by;
    if (end == COMMAND_MEMORY_LIMIT) {
        memory_words(call, out);
        return true;
    }
    if ((size_t)end >= ARRAY_LEN(words) || !words[end])
        return false;
    snprintf(out, RUN_WORDS_MAX, "%s", words[end]);
    return true;
}

bool run_duration_rule(const struct call *call, char out[RUN_WORDS_MAX])
{
    char rule[CALL_RULE_MAX];
    if (call->command->budget) {
        snprintf(out, RUN_WORDS_MAX, "%.100s (by what is left of it)", call->command->budget);
        return true;
    }
    if (!call->command->less_time)
        return false;
    call_limit_rule(call, "maxDuration", rule);
    snprintf(out, RUN_WORDS_MAX, "%s (%lld ms)", rule, (long long)call->verdict.max_ms);
    return true;
}

enum err_code run_limit_code(const struct call *call)
{
    switch (call->command->ended_by) {
    case COMMAND_MEMORY_LIMIT:
        return ERR_MEMORY_LIMIT;
    case COMMAND_PROCESS_LIMIT:
        return ERR_PROCESS_LIMIT;
    case COMMAND_CPU_LIMIT:
        return ERR_TIMEOUT;
    default:
        return ERR_DISK_LIMIT;
    }
}

bool run_has_printed(const struct call *call)
{
    const struct output *streams = call->command->streams;
    return streams[STREAM_STDOUT].total + streams[STREAM_STDERR].total > 0;
}

void run_end_line(struct buf *text)
{
    if (text->len && text->data[text->len - 1] != '\n')
        buf_add_char(text, '\n');
}

/* For dialects whose answers have no place for them but the output. */
static void add_violations(const struct command *command, struct buf *text)
{
    int64_t more = command_violations_unshown(command);
    for (size_t i = 0; i < command->violations.count && i < COMMAND_VIOLATIONS_SHOWN; i++) {
        const struct command_violation *v = &command->violations.list[i];
        run_end_line(text);
        buf_addf(text, "[violation: %s", v->what);
        if (v->count > 1)
            buf_addf(text, " (%" PRId64 " times)", v->count);
        buf_add_text(text, "]\n");
    }
    if (more)
        buf_addf(text, "[more violations: %" PRId64 "]\n", more);
}

void run_add_printed(const struct call *call, struct buf *text)
{
    const struct output *streams = call->command->streams;
    output_text(&streams[STREAM_STDOUT], text);
    if (streams[STREAM_STDERR].total) {
        run_end_line(text);
        buf_add_text(text, "[stderr]\n");
        output_text(&streams[STREAM_STDERR], text);
    }
    add_violations(call->command, text);
}

void run_write_stream(const struct call *call, const char *key, enum stream stream,
                      struct json_out *j)
{
    const struct output *output = &call->command->streams[stream];
    char limit[RUN_WORDS_MAX];
    bool limited = run_limit_words(call, limit);
    jo_key(j, key);
    if (stream != STREAM_STDERR || j->redact ||
        (!limited && call->command->violations.count == 0)) {
        output_write_json(output, j);
        return;
    }
    BUF_AT_END struct buf text = BUF_INIT(call->command->max_output + RUN_ADDED_MAX);
    output_text(output, &text);
    if (limited) {
        run_end_line(&text);
        buf_addf(&text, "[the command was ended: %s]\n", limit);
    }
    add_violations(call->command, &text);
    jo_str(j, buf_str(&text));
}

bool run_truncated(const struct call *call)
{
    return output_truncated(&call->command->streams[STREAM_STDOUT]) ||
           output_truncated(&call->command->streams[STREAM_STDERR]);
}

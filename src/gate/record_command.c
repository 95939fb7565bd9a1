#include "gate/record_command.h"

#include "base/mem.h"
#include "core/logged.h"

/* A command as its arguments say it; nothing is copied. */
struct said {
    struct str line;    /* for a shell; p is NULL: `words` */
    struct str program; /* p is NULL: the first of `words` */
    yyjson_val *words;
    yyjson_val *env;
    struct str input;
    struct str folder;
};

static yyjson_val *command_argument(const struct call *call, unsigned use)
{
    return call_given(call, arg_next(&call->tool->args, use, NULL));
}

/* True also for one that was not given. */
static bool take_command_text(const struct call *call, unsigned use, struct str *ret)
{
    yyjson_val *val = command_argument(call, use);
    if (yyjson_is_str(val))
        *ret = json_str(val);
    return !val || yyjson_is_str(val);
}

static bool take_words(const struct call *call, yyjson_val **ret)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_val *list = *ret = command_argument(call, ARG_WORDS | ARG_ARGV);
    yyjson_arr_foreach(list, idx, max, item) {
        if (!yyjson_is_str(item))
            return false;
    }
    return !list || yyjson_is_arr(list);
}

/* A call that is refused may have anything for its arguments. */
static bool take_said(const struct call *call, struct said *ret)
{
    *ret = (struct said){0};
    if (!tool_runs_programs(call->tool) || !yyjson_is_obj(call->arguments))
        return false;
    ret->env = command_argument(call, ARG_ENV);
    if (!take_command_text(call, ARG_SHELL, &ret->line) ||
        !take_command_text(call, ARG_PROGRAM, &ret->program) ||
        !take_command_text(call, ARG_INPUT, &ret->input) ||
        !take_command_text(call, ARG_FOLDER, &ret->folder) || !take_words(call, &ret->words) ||
        (ret->env && !yyjson_is_obj(ret->env)))
        return false;
    bool listed = ret->program.p || yyjson_arr_size(ret->words) > 0;
    return ret->line.p ? !listed : listed;
}

static size_t fill_words(const struct said *said, struct str *words)
{
    size_t n = 0;
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (said->line.p) {
        /* As command_use_shell has it. */
        words[n++] = STR("/bin/bash");
        words[n++] = STR("-c");
        words[n++] = said->line;
    }
    if (said->program.p)
        words[n++] = said->program;
    yyjson_arr_foreach(said->words, idx, max, item)
        words[n++] = json_str(item);
    return n;
}

static struct str *words_of(const struct said *said, size_t *ret_n)
{
    struct str *words = mem_grow(NULL, 3 + yyjson_arr_size(said->words), sizeof *words);
    *ret_n = fill_words(said, words);
    return words;
}

static void write_argv(const struct said *said, struct json_out *j)
{
    size_t n;
    FREE_AT_END struct str *words = words_of(said, &n);
    jo_key(j, "argv");
    logged_words(&(struct logged){j, LOGGED_MAX}, words, n);
    if (said->line.p)
        jo_kbool(j, "shell", true);
}

static void write_exact_path(struct json_out *j, const char *name, struct str path)
{
    jo_key(j, name);
    logged_exact(j, path);
}

/* The folder on the machine, of one in the sandbox. */
static char *host_folder(const struct root *root, const char *inside)
{
    const char *rest = path_rest(inside, root->inside);
    return rest && *rest ? mem_format("%s/%s", root->host, rest) : mem_dup(root->host);
}

/* Where it runs: in the sandbox and, of a call that was let through, on the machine. */
static void write_command_folder(const struct call *call, const struct said *said,
                                 struct json_out *j)
{
    const struct workplace *at = call->workplace;
    if (!call->command || call->path.root >= at->n_command_roots) {
        write_exact_path(j, "cwd", said->folder.p ? said->folder : STR("."));
        return;
    }
    const struct root *root = &at->command_roots[call->path.root];
    FREE_AT_END char *cwd = mem_copy(call->decoded.data, call->decoded.len);
    FREE_AT_END char *host = host_folder(root, call->pin.folder ? call->pin.folder : cwd);
    write_exact_path(j, "cwd", buf_str(&call->decoded));
    write_exact_path(j, "folder", (struct str){host, strlen(host)});
    write_exact_path(j, "workspace", (struct str){root->host, strlen(root->host)});
}

/* Names only: a value may be a secret whatever its name is. */
static void write_env(const struct said *said, struct json_out *j)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    if (yyjson_obj_size(said->env) == 0)
        return;
    FREE_AT_END struct str *names = mem_grow(NULL, yyjson_obj_size(said->env), sizeof *names);
    yyjson_obj_foreach(said->env, idx, max, key, val)
        names[idx] = json_str(key);
    jo_key(j, "env");
    logged_words(&(struct logged){j, LOGGED_MAX}, names, max);
}

static void write_command_input(const struct call *call, const struct said *said,
                                struct json_out *j)
{
    if (call->input_fd < 0 && !said->input.p)
        return;
    jo_key(j, "stdin");
    if (call->input_fd < 0) {
        size_t n;
        FREE_AT_END struct str *words = words_of(said, &n);
        logged_input(&(struct logged){j, LOGGED_MAX}, said->input, logged_input_reader(words, n));
        return;
    }
    jo_open(j, '{');
    jo_kbool(j, "inherited", true);
    jo_close(j, '}');
}

bool record_command(const struct call *call, struct json_out *j)
{
    struct said said;
    if (!take_said(call, &said))
        return false;
    jo_key(j, "command");
    jo_open(j, '{');
    write_argv(&said, j);
    write_command_folder(call, &said, j);
    write_env(&said, j);
    write_command_input(call, &said, j);
    /* No command is granted any; it has a loopback of its own. */
    jo_kown(j, "network", "none");
    jo_close(j, '}');
    return true;
}

void record_hook_command(const struct call *call, struct json_out *j)
{
    struct said said;
    if (!take_said(call, &said))
        return;
    jo_key(j, "command");
    jo_open(j, '{');
    write_argv(&said, j);
    write_command_folder(call, &said, j);
    jo_key(j, "stdin");
    jo_open(j, '{');
    jo_kint(j, "bytes", (int64_t)said.input.n);
    jo_close(j, '}');
    jo_kown(j, "network", "none");
    jo_close(j, '}');
}

/* Why it ended, or that it never began. */
static const char *end_name(const struct call *call)
{
    const struct command *command = call->command;
    if (!command || !command->begun)
        return "not_started";
    if (!command->ended)
        return "interrupted";
    /* Whoever stops a command is told apart by the reason for that. */
    bool stopped = command->ended_by == COMMAND_TIMEOUT && call->kill_ns;
    if (stopped && call->cancel_code == ERR_OUTPUT_LIMIT)
        return "output_limit";
    if (stopped && call->cancel_code != ERR_TIMEOUT)
        return "cancelled";
    return command_end_names[command->ended_by];
}

/* Where it ran, if a link led there. */
static void write_end_folder(const struct call *call, struct json_out *j)
{
    if (!call->command->folder)
        return;
    FREE_AT_END char *host = host_folder(&call->workplace->command_roots[call->path.root],
                                         call->command->folder);
    write_exact_path(j, "folder", (struct str){host, strlen(host)});
}

void record_end(const struct call *call, struct json_out *j)
{
    const struct command *command = call->command;
    jo_key(j, "end");
    jo_open(j, '{');
    jo_kown(j, "by", end_name(call));
    if (command && command->ended) {
        if (command->exit_code != ARG_ABSENT)
            jo_kint(j, "exitCode", command->exit_code);
        else
            jo_kint(j, "signal", command->signal);
    }
    if (command && command->measured && command->cpu_ms != ARG_ABSENT)
        jo_kint(j, "cpuMs", command->cpu_ms);
    if (command && command->measured && command->peak_memory != ARG_ABSENT)
        jo_kint(j, "peakMemory", command->peak_memory);
    if (command && command->ended)
        write_end_folder(call, j);
    jo_close(j, '}');
}

#include "front/commands.h"

#include <string.h>
#include <unistd.h>

#include "base/commit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/sanitized.h"
#include "base/spelling.h"
#include "front/front.h"

static int help_command(int argc, char *const *argv);

static const struct subcommand commands[] = {
    {"call", front_call, "run one tool call and print its answer"},
    {"stdio", front_stdio, "JSON lines on standard input and output"},
    {"mcp", front_mcp, "a Model Context Protocol server on standard input and output"},
    {"run", front_run, "run one command in a sandbox"},
    {"tools", front_tools, "list the tools and their schemas"},
    {"tool", front_tool, "make, build, check, run and test a tool of your own"},
    {"session", front_session, "make, list and forget sessions"},
    {"approvals", front_approvals,
     "list the calls that wait for a yes, and the rules approved for always"},
    {"approve", front_approve, "let a call run that waits for a yes"},
    {"deny", front_deny, "refuse a call that waits for a yes"},
    {"quarantine", front_quarantine,
     "list, restore and remove what was taken out of workspaces after commands"},
    {"audit", front_audit, "what was called, and what became of it"},
    {"stats", front_stats, "sums over all calls, for Prometheus"},
    {"doctor", front_doctor, "what the sandbox enforces on this machine, and what is missing"},
    {"policy", front_policy, "show what the rules say of a call"},
    {"config", front_config, "check, show and explain the configuration"},
    {"setup", front_setup, "connect an agent: its configuration for `sandgate mcp`"},
    {"completion", front_completion, "a script that completes command lines in bash, zsh or fish"},
    {"help", help_command, "explain a command, or list them all"},
};

static int help_all_commands(bool wanted)
{
    BUF_AT_END struct buf out = BUF_INIT(8192);
    buf_add_text(&out, "usage: sandgate COMMAND [options]\n\n"
                       "Runs the tool calls of a language-model agent in a kernel sandbox.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        buf_addf(&out, "  %-10s %s\n", commands[i].name, commands[i].doc);
    buf_add_text(&out,
                 "\n`sandgate COMMAND --help` explains each. `sandgate --version` tells which one "
                 "this is.\n");
    if (wanted)
        return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
    fd_write_all(STDERR_FILENO, out.data, out.len);
    return EXIT_USAGE;
}

const struct subcommand *commands_at(size_t i)
{
    return i < ARRAY_LEN(commands) ? &commands[i] : NULL;
}

static const struct subcommand *find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    }
    return NULL;
}

/* NULL: none is near. */
static const char *command_meant(const char *name)
{
    struct str text = {name, strlen(name)};
    size_t least = spelling_close(text.n) + 1;
    const char *best = NULL;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        struct str known = {commands[i].name, strlen(commands[i].name)};
        size_t distance = spelling_distance(text, known);
        if (distance < least) {
            least = distance;
            best = commands[i].name;
        }
    }
    return best;
}

static int refuse_command(const char *name)
{
    const char *meant = command_meant(name);
    if (meant)
        log_error("there is no command `%.40s`; did you mean `%s`? See `sandgate --help`", name,
                  meant);
    else
        log_error("there is no command `%.40s`; see `sandgate --help`", name);
    return EXIT_USAGE;
}

static int help_command(int argc, char *const *argv)
{
    static char help[] = "--help";
    char *const word[] = {help, NULL};
    if (argc == 0 || strcmp(argv[0], "--help") == 0)
        return help_all_commands(true);
    const struct subcommand *command = find_command(argv[0]);
    if (!command)
        return refuse_command(argv[0]);
    return command->run == help_command ? help_all_commands(true) : command->run(1, word);
}

static int tell_version(void)
{
    BUF_AT_END struct buf out = BUF_INIT(256);
    const char *commit = SANDGATE_COMMIT;
    buf_add_text(&out, "sandgate " SANDGATE_VERSION);
    if (*commit)
        buf_addf(&out, " (%s)", commit);
    buf_add_text(&out, SANITIZED_VERSION "\n");
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

int commands_run(int argc, char *const *argv)
{
    if (argc < 1 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return help_all_commands(argc >= 1);
    if (strcmp(argv[0], "--version") == 0)
        return tell_version();
    const struct subcommand *command = find_command(argv[0]);
    return command ? command->run(argc - 1, argv + 1) : refuse_command(argv[0]);
}

#include "front/options.h"

#include <stdio.h>
#include <string.h>

struct row {
    const char *name;
    unsigned set;
    size_t offset;
    const char *value; /* NULL: it has none */
    const char *doc;
    bool many; /* at `offset` is a struct option_list */
};

#define AT(field) offsetof(struct options, field)

static const struct row rows[] = {
    {"dialect", OPTIONS_SHAPE | OPTIONS_DIALECT, AT(dialect), "NAME",
     "native (default), sidecar, system, toolhost or runner"},
    {"format", OPTIONS_SHAPE, AT(format), "NAME",
     "tool_call (default), openai, openai-responses, anthropic or ollama"},
    {"names", OPTIONS_NAMES, AT(names), "dotted",
     "names with dots (fs.read) also where a format's API refuses them"},
    {"host", OPTIONS_MCP, AT(host), NULL,
     "changes the folder at once, in place of a session that is reviewed"},
    {"tools", OPTIONS_MCP, AT(tools), "NAME,...", "offers these tools alone"},
    {"read-only", OPTIONS_MCP, AT(read_only), NULL, "offers only tools that change nothing"},
    {"structured", OPTIONS_MCP, AT(structured), NULL,
     "answers are objects with a schema, for programs; else text for a model"},
    {"json", OPTIONS_LISTING | OPTIONS_COMMAND, AT(json), NULL, "as JSON"},
    {"workspace", OPTIONS_PLACE | OPTIONS_FOLDER, AT(workspace), "DIR",
     "folder to work in (default: this one)"},
    {"session", OPTIONS_PLACE | OPTIONS_COMMAND, AT(session), "ID",
     "a session made with `sandgate session create`"},
    {"project", OPTIONS_PLACE, AT(project), "DIR", "toolhost: the folder behind @project"},
    {"pkg", OPTIONS_PLACE, AT(pkg), "DIR", "toolhost: the folder behind @pkg, read-only"},
    {"state", OPTIONS_PLACE, AT(state), "DIR", "toolhost: the folder behind @state"},
    {"cwd", OPTIONS_COMMAND, AT(cwd), "DIR", "where in the workspace it runs"},
    {"env", OPTIONS_COMMAND, AT(env), "NAME[=VALUE]",
     "a variable that it gets, this one's own where no value is given; may be repeated", true},
    {"ro", OPTIONS_COMMAND, AT(show), "PATH",
     "a folder or file that it sees, read-only and at its own path; may be repeated", true},
    {"show", OPTIONS_COMMAND, AT(show), "PATH", "the same as --ro", true},
    {"rw", OPTIONS_COMMAND, AT(rw), "DIR",
     "a folder besides the workspace that it may change; may be repeated", true},
    {"timeout", OPTIONS_COMMAND, AT(timeout), "TIME",
     "ends it after this long, with status 124: 90, 90s, 5m, 2h"},
    {"memory", OPTIONS_COMMAND, AT(memory), "SIZE", "that all its processes may use: 512m, 2g"},
    {"quiet", OPTIONS_COMMAND, AT(quiet), NULL, "no warnings of Sandgate's own on standard error"},
    {"git", OPTIONS_COMMAND, AT(git), NULL,
     "it may write to git directories: commits, branches, fetched objects"},
    {"review", OPTIONS_COMMAND, AT(review), NULL,
     "changes go to a session's layer; what becomes of them is asked at the end"},
    {"raw", OPTIONS_COMMAND, AT(raw), NULL,
     "a terminal gets all that it prints, what sets clipboard and title too"},
    {"agent", OPTIONS_IDENTITY | OPTIONS_COMMAND | OPTIONS_CALLER, AT(agent), "ID",
     "who calls; limits can depend on it"},
    {"agents", OPTIONS_AGENTS, AT(agents), "ID,...",
     "agents that a line may name as its context.agentId"},
    {"sessions", OPTIONS_AGENTS, AT(sessions), "ID,...",
     "sessions that a line may name as its session; *: all of this user"},
    {"run", OPTIONS_IDENTITY, AT(run), "ID", "toolhost: @state is this folder of --state"},
    {"config", OPTIONS_IDENTITY | OPTIONS_COMMAND | OPTIONS_CALLER | OPTIONS_FILE | OPTIONS_SESSION,
     AT(config), "FILE", "configuration in place of the usual one"},
    {"session", OPTIONS_SCOPE, AT(for_session), NULL,
     "and what is like it, as long as the session lasts"},
    {"always", OPTIONS_SCOPE, AT(always), NULL,
     "and what is like it: shows the rule and asks before it is written"},
    {"yes", OPTIONS_SCOPE, AT(yes), NULL,
     "does not ask: neither for a long call nor for the rule of --always"},
    {"all", OPTIONS_WAITING, AT(all), NULL,
     "also those that wait no more, with what became of them"},
    {"watch", OPTIONS_WAITING, AT(watch), NULL,
     "those that come, as they come; a terminal takes answers"},
    {"approver", OPTIONS_APPROVER, AT(approver), NULL,
     "whoever writes the lines may approve calls that wait"},
    {"gate", OPTIONS_AUDIT, AT(gate), "ID", "of this process, or of those whose id begins so"},
    {"session", OPTIONS_AUDIT, AT(session), "ID", "in this session"},
    {"agent", OPTIONS_AUDIT, AT(agent), "ID", "by this agent"},
    {"tool", OPTIONS_AUDIT, AT(tool), "GLOB", "of tools whose name matches"},
    {"kind", OPTIONS_AUDIT, AT(kind), "GLOB", "records of this kind, each by itself"},
    {"code", OPTIONS_AUDIT, AT(code), "CODE", "that ended with this error"},
    {"failed", OPTIONS_AUDIT, AT(failed), NULL,
     "that failed or were refused, and commands that did not exit with 0"},
    {"call", OPTIONS_AUDIT, AT(call), "ID", "one call, by the log's id or the caller's, whole"},
    {"since", OPTIONS_AUDIT, AT(since), "TIME",
     "from then on: 2024-05-01T12:00 (UTC), 30m, 2h, 7d"},
    {"until", OPTIONS_AUDIT, AT(until), "TIME", "up to then"},
    {"last", OPTIONS_AUDIT, AT(last), "N", "only the last ones (tail: 10)"},
    {"overlay", OPTIONS_SESSION, AT(overlay), NULL,
     "create: changes go to a layer of the session until they are taken over"},
    {"stat", OPTIONS_SESSION, AT(stat), NULL, "diff: one line for each change"},
    {"ours", OPTIONS_SESSION, AT(ours), "GLOB",
     "commit: where the project was changed as well, the session's version counts"},
    {"theirs", OPTIONS_SESSION, AT(theirs), "GLOB",
     "commit: there the project's stays, and the session's is given up"},
    {"allow-code", OPTIONS_SESSION, AT(allow_code), NULL,
     "commit: also what would run code on this machine later"},
    {"leave-code", OPTIONS_SESSION, AT(leave_code), NULL,
     "commit: what would run code later stays in the session"},
    {"yes", OPTIONS_SESSION, AT(yes), NULL, "commit, discard: does not ask"},
    {"write", OPTIONS_SETUP, AT(write), NULL, "writes it"},
    {"lang", OPTIONS_TOOL, AT(lang), "NAME", "new: the language that the program is in: c"},
    {"anchors", OPTIONS_VERIFY, AT(anchors), "FILE",
     "lines that audit.anchor's program kept: each has to be in the log"},
    {"as", OPTIONS_AUDIT, AT(as), "FORMAT",
     "text (default), json, sh (a script of the commands), otel or journald"},
};

static const struct row *find_option_row(const char *name, size_t n, unsigned allowed)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if ((rows[i].set & allowed) && strlen(rows[i].name) == n &&
            memcmp(rows[i].name, name, n) == 0)
            return &rows[i];
    }
    return NULL;
}

/* NULL: it is full. */
static const char **next_of_list(struct options *o, const struct row *row)
{
    struct option_list *list = (struct option_list *)(void *)((char *)o + row->offset);
    return list->n < OPTION_TIMES_MAX ? &list->all[list->n++] : NULL;
}

static int read_one_option(int argc, char *const *argv, int *at, unsigned allowed,
                           struct options *ret, struct err *err)
{
    const char *name = argv[*at] + 2;
    size_t n = strcspn(name, "=");
    const struct row *row = find_option_row(name, n, allowed);
    if (!row)
        return err_set(err, ERR_INVALID_ARGUMENTS, "unknown option `--%.*s`; see --help", (int)n,
                       name);
    if (!row->value) {
        *(bool *)((char *)ret + row->offset) = true;
        return 0;
    }
    const char **slot = row->many ? next_of_list(ret, row)
                                  : (const char **)(void *)((char *)ret + row->offset);
    if (!slot)
        return err_set(err, ERR_INVALID_ARGUMENTS, "option `--%s` may be given %d times", row->name,
                       OPTION_TIMES_MAX);
    if (name[n] == '=') {
        *slot = name + n + 1;
        return 0;
    }
    if (*at + 1 >= argc)
        return err_set(err, ERR_INVALID_ARGUMENTS, "option `--%s` needs a value (%s)", row->name,
                       row->value);
    *slot = argv[++*at];
    return 0;
}

int options_read(int argc, char *const *argv, unsigned allowed, size_t max_words,
                 struct options *ret, struct err *err)
{
    bool only_words = false;
    *ret = (struct options){0};
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        bool divider = strcmp(word, "--") == 0;
        if ((allowed & OPTIONS_REST) && (divider || strncmp(word, "-", 1) != 0)) {
            ret->rest = argv + i + divider;
            ret->n_rest = argc - i - divider;
            return 0;
        }
        if (!only_words && divider) {
            only_words = true;
        } else if (!only_words && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            ret->help = true;
        } else if (!only_words && strncmp(word, "--", 2) == 0) {
            if (read_one_option(argc, argv, &i, allowed, ret, err) < 0)
                return -1;
        } else if (ret->n_words == max_words) {
            return err_set(err, ERR_INVALID_ARGUMENTS, "`%.60s` is one word too many; see --help",
                           word);
        } else {
            ret->words[ret->n_words++] = word;
        }
    }
    return 0;
}

static unsigned last_helped;

unsigned options_helped(void)
{
    return last_helped;
}

bool options_words(unsigned allowed, size_t i, struct option_words *ret)
{
    for (size_t at = 0; at < ARRAY_LEN(rows); at++) {
        if (!(rows[at].set & allowed) || i-- > 0)
            continue;
        *ret = (struct option_words){rows[at].name, rows[at].value, rows[at].doc};
        return true;
    }
    return false;
}

void options_help(unsigned allowed, struct buf *out)
{
    last_helped = allowed;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!(rows[i].set & allowed))
            continue;
        char flag[40];
        snprintf(flag, sizeof flag, "--%s %s", rows[i].name, rows[i].value ? rows[i].value : "");
        buf_addf(out, "  %-20s %s\n", flag, rows[i].doc);
    }
}

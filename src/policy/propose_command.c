/* Which rule about a command a person may be offered: one that lets the same be done again, with other arguments only
 * where those cannot make something else of it. */
#include <string.h>

#include "base/mem.h"
#include "policy/command_walk.h"
#include "policy/propose.h"
#include "policy/tool_pattern.h"

#define TEXT_MAX 4096

/* Programs that do the same whatever their arguments are: look at files, build, test or format the project. All that
 * runs code or commands it is given, writes where it is told or reaches out is not among them. */
static const char harmless[] =
    " [ basename black cal cargo-clippy cat cd cksum clang-format cmp column comm ctest cut date df diff "
    "dirname du echo egrep eslint expr false fgrep file flake8 fold gofmt grep groups head hexdump hostname "
    "id isort jest join ls md5sum mkdir mypy ninja nl nproc od paste phpunit prettier printf pwd pylint "
    "pyright pytest readlink realpath rev rspec ruff rustfmt seq sha1sum sha256sum sha512sum shellcheck "
    "sleep stat strings sum tac tail test touch tr true tsc tsort tty type uname uptime vitest wc "
    "which whoami yes ";

/* Subcommands that take a command or a program to run, or that change what other subcommands do. */
static const struct runs {
    const char *program;
    const char *subcommands; /* a blank before and behind each; NULL: all */
} runs[] = {
    {"aws", NULL},
    {"bun", " x create "},
    {"bundle", " exec config "},
    {"composer", " exec config global "},
    {"conda", " run config "},
    {"deno", " eval run install "},
    {"docker", " run exec build compose buildx container context "},
    {"gh", " alias api config extension "},
    {"git", " archive bisect clone config difftool filter-branch grep ls-remote mergetool rebase "
            "send-email submodule "},
    {"go", " run tool env "},
    {"helm", NULL},
    {"kubectl", NULL},
    {"npm", " exec x config explore pkg "},
    {"npx", NULL},
    {"pip", " config "},
    {"pip3", " config "},
    {"pnpm", " exec dlx config "},
    {"podman", " run exec build container "},
    {"poetry", " run config "},
    {"rustup", " run "},
    {"svn", NULL},
    {"systemctl", NULL},
    {"terraform", " console "},
    {"uv", " run tool "},
    {"yarn", " exec dlx config node "},
};

static bool subcommand_runs(const struct command_pair *pair)
{
    struct str first = {pair->subcommand, strcspn(pair->subcommand, " ")};
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        if (strcmp(runs[i].program, pair->program) == 0)
            return !runs[i].subcommands || command_in_list(runs[i].subcommands, first);
    }
    return false;
}

static bool can_be_named(const struct command_pair *pair)
{
    if (!pair->exact_subcommand || strpbrk(pair->program, "/ \t\n") || strpbrk(pair->subcommand, "\t\n"))
        return false;
    if (pair->subcommand[0] == '\0')
        return command_in_list(harmless, (struct str){pair->program, strlen(pair->program)});
    return !subcommand_runs(pair);
}

static bool all_can_be_named(const struct facts_command *command)
{
    for (size_t i = 0; i < command->pairs.n; i++) {
        if (!can_be_named(&command->pairs.all[i]))
            return false;
    }
    return command->whole && command->pairs.n > 0;
}

static bool all_known(const struct facts_command *command)
{
    for (size_t i = 0; i < command->pairs.n; i++) {
        if (command->pairs.all[i].program[0] == '\0')
            return false;
    }
    return command->state == COMMAND_KNOWN && command->pairs.n > 0;
}

static void write_programs(const struct facts_command *command, struct json_out *j)
{
    jo_key(j, "command");
    jo_open(j, '{');
    jo_key(j, "program");
    jo_open(j, '[');
    for (size_t i = 0; i < command->pairs.n; i++) {
        const struct command_pair *pair = &command->pairs.all[i];
        FREE_AT_END char *text = mem_format("%s%s%s", pair->program, pair->subcommand[0] ? " " : "",
                                            pair->subcommand);
        jo_text(j, text);
    }
    jo_close(j, ']');
    jo_close(j, '}');
}

static bool takes(const struct facts *facts, const char *name)
{
    return tool_argument(facts->tool, (struct str){name, strlen(name)}) != NULL;
}

static void write_absent(struct json_out *j, const char *name)
{
    jo_key(j, name);
    jo_open(j, '{');
    jo_kbool(j, "exists", false);
    jo_close(j, '}');
}

static bool write_folder(struct facts *facts, enum place_id id, struct json_out *j)
{
    const char *name = place_names[id];
    if (!takes(facts, name))
        return true;
    if (!facts_argument(facts, name)) {
        write_absent(j, name);
        return true;
    }
    const struct place *place = facts_place(facts, id);
    if (place->state == PLACE_KNOWN)
        jo_ktext(j, name, place->text);
    return place->state == PLACE_KNOWN;
}

static bool write_words(yyjson_val *words, const char *name, struct json_out *j)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    size_t total = 0;
    jo_key(j, name);
    jo_open(j, '{');
    jo_key(j, "equals");
    jo_open(j, '[');
    yyjson_arr_foreach(words, idx, max, item) {
        total += yyjson_get_len(item) + 1;
        if (total > TEXT_MAX)
            return false;
        jo_str(j, json_str(item));
    }
    jo_close(j, ']');
    jo_close(j, '}');
    return true;
}

static bool wants_git(const struct facts *facts)
{
    return takes(facts, "git") && yyjson_is_true(facts_argument(facts, "git"));
}

/* The very same once more: where it runs, and that nothing else is handed to it, is part of it. */
static bool write_exact(struct facts *facts, struct json_out *j)
{
    static const char *const others[] = {"env", "stdin", "network"};
    static const char *const vectors[] = {"args", "argv"};
    yyjson_val *text = facts_argument(facts, "command");
    if (yyjson_get_len(text) > TEXT_MAX)
        return false;
    if (yyjson_is_str(text))
        jo_kstr(j, "command", json_str(text));
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        yyjson_val *words = facts_argument(facts, vectors[i]);
        if (!takes(facts, vectors[i]))
            continue;
        if (!words && (i == 0 || text))
            write_absent(j, vectors[i]);
        else if (!write_words(words, vectors[i], j))
            return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (facts_argument(facts, others[i]))
            return false;
        if (takes(facts, others[i]))
            write_absent(j, others[i]);
    }
    if (wants_git(facts))
        jo_kbool(j, "git", true);
    return write_folder(facts, PLACE_CWD, j) && write_folder(facts, PLACE_WORKING_DIRECTORY, j);
}

bool propose_command(struct facts *facts, struct json_out *j)
{
    const struct facts_command *command = facts_command(facts);
    if (!all_known(command))
        return false;
    if (!wants_git(facts) && all_can_be_named(command)) {
        write_programs(command, j);
        return true;
    }
    return write_exact(facts, j);
}

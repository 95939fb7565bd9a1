/* Which rule about a command a person may be offered: one that lets the same be done again, with other arguments only
 * where those cannot make something else of it. */
#include <string.h>

#include "base/mem.h"
#include "policy/propose.h"
#include "policy/tool_pattern.h"

#define TEXT_MAX 4096

/* A rule by the names of programs holds for other arguments too. It is offered only where each option that it will accept
 * is known to be harmless. */
static bool all_can_be_named(const struct facts_command *command)
{
    for (size_t i = 0; i < command->pairs.n; i++) {
        const struct command_pair *pair = &command->pairs.all[i];
        bool elsewhere = pair->here && (pair->moved || command->folder);
        if (!pair->known || elsewhere || strchr(pair->program, '/'))
            return false;
    }
    return command->whole && command->pairs.n > 0;
}

static bool are_programs_known(const struct facts_command *command)
{
    for (size_t i = 0; i < command->pairs.n; i++) {
        if (command->pairs.all[i].program[0] == '\0')
            return false;
    }
    return command->state == COMMAND_KNOWN && command->pairs.n > 0;
}

static void write_programs(const struct facts_command *command, const struct tool *tool,
                           struct json_out *j)
{
    jo_key(j, arg_next(&tool->args, ARG_ANY_COMMAND, NULL)->name);
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
    jo_ktext(j, "options", "known");
    jo_close(j, '}');
}

static void write_absent(struct json_out *j, const char *name)
{
    jo_key(j, name);
    jo_open(j, '{');
    jo_kbool(j, "exists", false);
    jo_close(j, '}');
}

static bool write_proposed_folder(struct facts *facts, const struct arg *arg, struct json_out *j)
{
    const struct place *place = facts_place(facts, arg);
    if (place->state == PLACE_KNOWN)
        jo_ktext(j, arg->name, place->text);
    return place->state == PLACE_KNOWN;
}

static bool write_proposed_words(yyjson_val *words, const char *name, struct json_out *j)
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

/* Numbers only limit a command. */
static bool write_same(struct facts *facts, const struct arg *arg, struct json_out *j)
{
    yyjson_val *val = facts_value_of(facts, arg);
    unsigned use = arg_use(arg);
    if (arg->type == ARG_INT)
        return true;
    if (arg->type == ARG_BOOL) {
        bool on = val ? yyjson_get_bool(val) : arg->def != 0;
        if (on != (arg->def != 0) || !(use & (ARG_GIT | ARG_NARROWS)))
            jo_kbool(j, arg->name, on);
        return true;
    }
    if (!val) {
        write_absent(j, arg->name);
        return true;
    }
    if (use & ARG_FOLDER)
        return write_proposed_folder(facts, arg, j);
    if (use & (ARG_WORDS | ARG_ARGV))
        return write_proposed_words(val, arg->name, j);
    if (!(use & (ARG_SHELL | ARG_PROGRAM)) || yyjson_get_len(val) > TEXT_MAX)
        return false;
    jo_kstr(j, arg->name, json_str(val));
    return true;
}

/* The very same once more: where it runs, and that nothing else is handed to it, is part of it. */
static bool write_exact(struct facts *facts, struct json_out *j)
{
    const struct arg_table *table = &facts->tool->args;
    for (size_t i = 0; i < table->count; i++) {
        if (!write_same(facts, &table->args[i], j))
            return false;
    }
    return true;
}

bool propose_command(struct facts *facts, struct json_out *j)
{
    const struct facts_command *command = facts_command(facts);
    if (!are_programs_known(command))
        return false;
    if (!facts_wants_git(facts) && all_can_be_named(command)) {
        write_programs(command, facts->tool, j);
        return true;
    }
    return write_exact(facts, j);
}

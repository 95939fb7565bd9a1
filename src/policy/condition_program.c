/* Which programs a command runs, held against those of a rule. */
#include <stdio.h>
#include <string.h>

#include "policy/condition.h"

/* `stash pop` begins with `stash`, not with `sta`. */
static bool begins_with(const char *words, const char *first)
{
    size_t n = strlen(first);
    return n == 0 || (strncmp(words, first, n) == 0 && (words[n] == ' ' || words[n] == '\0'));
}

static const char *without_folder(const char *program)
{
    const char *slash = strrchr(program, '/');
    return slash ? slash + 1 : program;
}

static enum condition_result compare(const struct program_rule *rule,
                                     const struct command_pair *pair)
{
    if (pair->program[0] == '\0')
        return CONDITION_PARTLY;
    if (strcmp(rule->name, without_folder(pair->program)) != 0)
        return CONDITION_NO;
    bool exact = rule->subcommand[0] ? pair->exact_subcommand : pair->exact;
    if (begins_with(pair->subcommand, rule->subcommand))
        return exact && strcmp(rule->program, pair->program) == 0 ? CONDITION_YES
                                                                  : CONDITION_PARTLY;
    /* What follows is not known. */
    return !pair->exact_subcommand && begins_with(rule->subcommand, pair->subcommand)
               ? CONDITION_PARTLY
               : CONDITION_NO;
}

static enum condition_result best_of(const struct test *test, const struct command_pair *pair)
{
    enum condition_result best = CONDITION_NO;
    for (size_t i = 0; i < test->n_programs && best != CONDITION_YES; i++) {
        enum condition_result one = compare(&test->programs[i], pair);
        best = one > best ? one : best;
    }
    return best;
}

/* A program that only starts others is as much as named, but does not stand in the way of theirs. */
static bool names_starter(const struct test *test, const struct command_pairs *pairs)
{
    for (size_t i = 0; i < pairs->n_starters; i++) {
        for (size_t k = 0; k < test->n_programs; k++) {
            if (strcmp(test->programs[k].name, pairs->starters[i]) == 0)
                return true;
        }
    }
    return false;
}

/* The first reason why not all of the command is what the rule names. */
static void note_rest(const struct test *test, const struct facts_command *command,
                      struct facts *facts)
{
    const struct command_pairs *pairs = &command->pairs;
    char *out = facts->partly;
    size_t room = sizeof facts->partly;
    if (!pairs->understood) {
        snprintf(out, room, "the command is not understood: %s", pairs->why);
        return;
    }
    for (size_t i = 0; i < pairs->n; i++) {
        const struct command_pair *pair = &pairs->all[i];
        if (best_of(test, pair) == CONDITION_YES)
            continue;
        const char *gap = pair->subcommand[0] ? " " : "";
        if (!pair->exact)
            snprintf(out, room, "%s", pairs->why);
        else if (!pair->exact_subcommand)
            snprintf(out, room, "options before `%.40s %.40s` that are not known", pair->program,
                     pair->subcommand);
        else
            snprintf(out, room, "the rule does not name `%.60s%s%.60s`", pair->program, gap,
                     pair->subcommand);
        return;
    }
    snprintf(out, room, "the call sets variables or asks for the network");
}

enum condition_result test_programs(const struct test *test, struct facts *facts)
{
    const struct facts_command *command = facts_command(facts);
    if (command->state == COMMAND_UNCLEAR)
        return CONDITION_ERROR;
    if (command->state == COMMAND_MISSING)
        return CONDITION_NO;
    const struct command_pairs *pairs = &command->pairs;
    bool some = names_starter(test, pairs);
    bool all = pairs->n > 0 && command->whole;
    for (size_t i = 0; i < pairs->n; i++) {
        enum condition_result one = best_of(test, &pairs->all[i]);
        some |= one != CONDITION_NO;
        all &= one == CONDITION_YES;
    }
    if (!all && some)
        note_rest(test, command, facts);
    return all ? CONDITION_YES : some ? CONDITION_PARTLY : CONDITION_NO;
}

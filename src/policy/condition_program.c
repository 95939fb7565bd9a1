/* Which programs a command runs, held against those of a rule. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/command_names.h"
#include "policy/condition.h"
#include "policy/program_names.h"
#include "policy/subcommand.h"

/* A longer word may be any. */
#define SUBCOMMAND_WORD_MAX 256

/* `stash pop` begins with `stash`, not with `sta`. */
static bool words_begin_with(const char *words, const char *first)
{
    size_t n = strlen(first);
    return n == 0 || (strncmp(words, first, n) == 0 && (words[n] == ' ' || words[n] == '\0'));
}

/* Whether an approval with these options would hold for all of this use. */
static bool is_exact(enum command_options options, const struct command_pair *pair, bool subcommand)
{
    switch (options) {
    case COMMAND_OPTIONS_ANY:
        return subcommand ? pair->certain_subcommand : pair->certain;
    case COMMAND_OPTIONS_KNOWN:
        return pair->known;
    case COMMAND_OPTIONS_CHECKED:
        break;
    }
    return subcommand ? pair->exact_subcommand : pair->exact;
}

static bool is_later(const struct program_rule *rule, struct str word)
{
    char text[SUBCOMMAND_WORD_MAX];
    if (word.n >= sizeof text)
        return true;
    memcpy(text, word.p, word.n);
    text[word.n] = '\0';
    const char *last = strrchr(rule->subcommand, ' ');
    return strcmp(text, "*") == 0 || strcmp(text, last ? last + 1 : rule->subcommand) == 0 ||
           (!rule->target &&
            subcommand_may_be(rule->name, text, last ? last + 1 : rule->subcommand));
}

/* Of two words the first may be there already. */
static bool may_be_later(const struct program_rule *rule, const struct command_pair *pair)
{
    for (const char *at = pair->or_else; at && *(at += strspn(at, " "));) {
        struct str word = {at, strcspn(at, " ")};
        if (is_later(rule, word))
            return true;
        at += word.n;
    }
    return false;
}

/* `git-push` is `git push`, by whatever folder. */
static bool is_dashed(const struct program_rule *rule, const char *program)
{
    size_t n = strlen(rule->name);
    if (strncmp(program, rule->name, n) != 0 || program[n] != '-' || !*rule->subcommand)
        return false;
    return words_begin_with(program + n + 1, rule->subcommand) ||
           words_begin_with(rule->subcommand, program + n + 1);
}

/* What the words of a use name may be started by it. A program that is known to start others may start any; of others this
 * counts for subcommands only, since a program that is denied wholly is also denied when it starts. */
static bool may_start(const struct program_rule *rule, const struct command_pair *pair, bool own)
{
    if (!pair->starts || (!pair->unread && !*rule->subcommand))
        return false;
    if (pair->open || (pair->unread && strstr(pair->starts, " * ")))
        return true;
    return command_names_hold(pair->starts, own && rule->target ? "" : rule->name,
                              rule->subcommand);
}

static bool is_subcommand(const struct program_rule *rule, const struct command_pair *pair)
{
    if (rule->target)
        return strcmp(pair->subcommand, rule->subcommand) == 0;
    return words_begin_with(pair->subcommand, rule->subcommand);
}

/* `npx` is `npm exec`. */
static bool stands_for(const struct program_rule *rule, const char *name)
{
    const char *program;
    const char *subcommand = program_stands_for(str_of(name), &program);
    return subcommand && *rule->subcommand &&
           program_is_same(str_of(program), str_of(rule->name)) &&
           (words_begin_with(subcommand, rule->subcommand) ||
            subcommand_may_be(rule->name, subcommand, rule->subcommand));
}

static bool is_of_family(const struct program_rule *rule, struct str name)
{
    char room[PROGRAM_NAME_ROOM];
    char own[PROGRAM_NAME_ROOM];
    const char *family = program_family(str_of(rule->name));
    struct str plain = program_plain_name(name, room);
    if (program_is_same(str_of(rule->name), name) || command_in_list(family, name))
        return true;
    /* Of its own name the version counts. */
    return command_in_list(family, plain) &&
           !str_equal(plain, program_plain_name(str_of(rule->name), own));
}

/* `npm exec` is `npx`. */
static bool has_stand_in(const struct program_rule *rule, const struct command_pair *pair,
                         const char *name)
{
    const char *program;
    const char *subcommand = program_stands_for(str_of(rule->name), &program);
    FREE_AT_END char *first = mem_copy(pair->subcommand, strcspn(pair->subcommand, " "));
    return subcommand && program_is_same(str_of(program), str_of(name)) &&
           (words_begin_with(pair->subcommand, subcommand) ||
            subcommand_may_be(name, first, subcommand));
}

/* A rule about a whole program, and a use of what is the same one by another name or from its own file. */
static bool is_whole_by_other_name(const struct program_rule *rule, const struct command_pair *pair,
                                   const char *name)
{
    if (*rule->subcommand)
        return false;
    for (const char *at = pair->as; at && *(at += strspn(at, " "));) {
        struct str file = {at, strcspn(at, " ")};
        if (is_of_family(rule, file))
            return true;
        at += file.n;
    }
    return is_of_family(rule, str_of(name)) || has_stand_in(rule, pair, name);
}

/* A use that is not the rule's subcommand as it is written. */
static bool may_be_subcommand(const struct program_rule *rule, const struct command_pair *pair)
{
    return pair->alias || may_be_later(rule, pair) || may_start(rule, pair, true) ||
           subcommand_may_be(rule->name, pair->subcommand, rule->subcommand);
}

/* What follows the words that are known is not. */
static bool may_go_on(const struct program_rule *rule, const struct command_pair *pair)
{
    return !pair->exact_subcommand && words_begin_with(rule->subcommand, pair->subcommand);
}

/* A use of another program than the rule names. */
static enum condition_result compare_other(const struct program_rule *rule,
                                           const struct command_pair *pair, const char *name)
{
    bool may = is_whole_by_other_name(rule, pair, name) || is_dashed(rule, name) ||
               stands_for(rule, name) || may_start(rule, pair, false) ||
               (program_is_same(str_of(rule->name), str_of(name)) &&
                (is_subcommand(rule, pair) || may_be_subcommand(rule, pair) ||
                 may_go_on(rule, pair)));
    return may ? CONDITION_PARTLY : CONDITION_NO;
}

static bool is_relative(const char *program)
{
    return program[0] != '/' && strchr(program, '/');
}

/* Two paths from the workspace, the second one from a folder of it. */
static bool is_same_path_in_folder(const char *wanted, const char *folder, const char *given)
{
    FREE_AT_END char *whole = mem_format("%s/%s", folder ? folder : ".", given);
    struct rule_path a = {0};
    struct rule_path b = {0};
    struct err ignored;
    bool same = rule_path_read(&a, (struct str){wanted, strlen(wanted)}, &ignored) == 0 &&
                rule_path_read(&b, (struct str){whole, strlen(whole)}, &ignored) == 0 &&
                strcmp(a.text, b.text) == 0;
    rule_path_done(&a);
    rule_path_done(&b);
    return same;
}

/* Whether it is the rule's very program, and works in the folder that an approval is for: the workspace, or the one that
 * the rule names. */
static bool is_approved_file(const struct test *test, const struct program_rule *rule,
                             const struct command_pair *pair, const char *folder)
{
    bool literal = strcmp(rule->program, pair->program) == 0;
    if (!pair->here)
        return literal;
    if (pair->moved)
        return false;
    if (literal && (!folder || test->own_folder))
        return true;
    return is_relative(rule->program) && is_relative(pair->program) &&
           is_same_path_in_folder(rule->program, test->own_folder ? NULL : folder, pair->program);
}

static enum condition_result compare_pair(const struct test *test, const struct program_rule *rule,
                                          const struct command_pair *pair, const char *folder)
{
    const char *name = path_name(pair->program);
    if (pair->program[0] == '\0')
        return CONDITION_PARTLY;
    if (strcmp(rule->name, name) != 0)
        return compare_other(rule, pair, name);
    bool exact = is_exact(test->options, pair, rule->subcommand[0]);
    if (is_subcommand(rule, pair))
        return exact && is_approved_file(test, rule, pair, folder) ? CONDITION_YES
                                                                   : CONDITION_PARTLY;
    if (may_be_subcommand(rule, pair))
        return CONDITION_PARTLY;
    return may_go_on(rule, pair) ? CONDITION_PARTLY : CONDITION_NO;
}

static enum condition_result best_of(const struct test *test, const struct command_pair *pair,
                                     const char *folder)
{
    enum condition_result best = CONDITION_NO;
    for (size_t i = 0; i < test->n_programs && best != CONDITION_YES; i++) {
        enum condition_result one = compare_pair(test, &test->programs[i], pair, folder);
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

static bool is_elsewhere(const struct test *test, const struct command_pair *pair,
                         const char *folder)
{
    return pair->here && (pair->moved || (folder && !test->own_folder));
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
        if (best_of(test, pair, command->folder) == CONDITION_YES)
            continue;
        const char *gap = pair->subcommand[0] ? " " : "";
        if (test->options == COMMAND_OPTIONS_ANY ? !pair->certain : !pair->exact)
            snprintf(out, room, "%s", pairs->why);
        else if (test->options == COMMAND_OPTIONS_KNOWN && !pair->known && pairs->unknown[0])
            snprintf(out, room, "%s", pairs->unknown);
        else if (is_elsewhere(test, pair, command->folder))
            snprintf(out, room, "`%.50s` works in another folder than it is approved for: `%.60s`",
                     pair->program, pair->moved ? pair->moved : command->folder);
        else if (!is_exact(test->options, pair, true))
            snprintf(out, room, "options before `%.40s %.40s` that are not known", pair->program,
                     pair->subcommand);
        else
            snprintf(out, room, "the rule does not name `%.60s%s%.60s`", pair->program, gap,
                     pair->subcommand);
        return;
    }
    snprintf(out, room, "the call sets variables or asks for the network");
}

static bool is_pair_of_rule(const struct program_rule *rule, const struct command_pair *pair)
{
    return strcmp(rule->name, path_name(pair->program)) == 0 && is_subcommand(rule, pair);
}

/* Why a rule holds in part that is about none of the programs as they are written. */
static void note_doubt(const struct test *test, const struct facts_command *command,
                       struct facts *facts)
{
    const struct command_pairs *pairs = &command->pairs;
    facts->doubt[0] = '\0';
    for (size_t i = 0; i < pairs->n; i++) {
        for (size_t k = 0; k < test->n_programs; k++) {
            const struct command_pair *pair = &pairs->all[i];
            const struct program_rule *rule = &test->programs[k];
            if (is_pair_of_rule(rule, pair)) {
                facts->doubt[0] = '\0';
                return;
            }
            if (facts->doubt[0] || compare_pair(test, rule, pair, command->folder) == CONDITION_NO)
                continue;
            snprintf(facts->doubt, sizeof facts->doubt, "`%.40s%s%.30s` may run `%.40s%s%.30s`",
                     pair->program[0] ? pair->program : "a program that is known only when it runs",
                     pair->subcommand[0] ? " " : "", pair->subcommand, rule->program,
                     rule->subcommand[0] ? " " : "", rule->subcommand);
        }
    }
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
        enum condition_result one = best_of(test, &pairs->all[i], command->folder);
        some |= one != CONDITION_NO;
        all &= one == CONDITION_YES;
    }
    if (!all && some) {
        note_rest(test, command, facts);
        note_doubt(test, command, facts);
    }
    return all ? CONDITION_YES : some ? CONDITION_PARTLY : CONDITION_NO;
}

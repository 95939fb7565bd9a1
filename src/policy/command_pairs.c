/* What a command line runs, in the words of approval rules. */
#include "policy/command_walk.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "policy/command_names.h"
#include "policy/command_starts.h"
#include "policy/command_uses.h"
#include "policy/program_options.h"
#include "policy/subcommand.h"

static bool is_same_command_pair(const struct command_pair *a, const struct command_pair *b)
{
    return a->exact == b->exact && a->exact_subcommand == b->exact_subcommand &&
           a->certain == b->certain && a->certain_subcommand == b->certain_subcommand &&
           a->known == b->known && !a->or_else && !b->or_else && !a->starts && !b->starts &&
           !a->as && !b->as && !a->moved && !b->moved && strcmp(a->program, b->program) == 0 &&
           strcmp(a->subcommand, b->subcommand) == 0;
}

static void free_pair(struct command_pair *pair)
{
    free(pair->program);
    free(pair->subcommand);
    free(pair->or_else);
    free(pair->starts);
    free(pair->as);
    free(pair->moved);
}

static int add_pair(struct command_pairs *pairs, struct command_pair pair, struct err *err)
{
    for (size_t i = 0; i < pairs->n; i++) {
        if (is_same_command_pair(&pairs->all[i], &pair)) {
            free_pair(&pair);
            return 0;
        }
    }
    if (pairs->n == COMMAND_PAIRS_MAX) {
        free_pair(&pair);
        return err_field(err, "command", "the command runs more than %d different programs",
                         COMMAND_PAIRS_MAX);
    }
    pairs->all[pairs->n++] = pair;
    return 0;
}

static int add_starter(struct command_pairs *pairs, struct str name, struct err *err)
{
    for (size_t i = 0; i < pairs->n_starters; i++) {
        if (command_is(name, pairs->starters[i]))
            return 0;
    }
    if (pairs->n_starters == COMMAND_STARTERS_MAX)
        return err_field(err, "command", "the command goes through more than %d other programs",
                         COMMAND_STARTERS_MAX);
    pairs->starters[pairs->n_starters++] = mem_copy(name.p, name.n);
    return 0;
}

/* An operand of `test` that is known only when it runs can be no operator here: one word alone, behind an operator that is
 * known, or on either side of one. */
static bool operands_are_plain(const struct command_view *view)
{
    static const char between[] = " = == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef ";
    const struct shell_word *words = view->words + 1;
    size_t n = view->n - 1;
    if (command_is(view->words[0].text, "[") && n--)
        if (!command_is(words[n].text, "]"))
            return false;
    if (n > 1 && command_is(words[0].text, "!") && shell_word_known(&words[0])) {
        words++;
        n--;
    }
    if (n == 3)
        return shell_word_known(&words[1]) && command_in_list(between, words[1].text);
    return n < 2 || (n == 2 && shell_word_known(&words[0]));
}

static bool test_evaluates(const struct command_view *view)
{
    bool known = true;
    for (size_t i = 1; i < view->n; i++) {
        const struct shell_word *word = &view->words[i];
        if (word->flags & SHELL_SPLITS || command_is(word->text, "-v") ||
            command_is(word->text, "-R"))
            return true;
        known &= shell_word_known(word);
    }
    return view->more_words || (!known && !operands_are_plain(view));
}

/* A conversion `%n` of the format: bash writes a number to the variable that its argument names, PATH for one. */
static bool format_assigns(struct str format)
{
    for (size_t i = 0; i < format.n; i++) {
        if (format.p[i] != '%')
            continue;
        i++;
        while (i < format.n && strchr("#'-+ 0123456789.*$hjlLtzqw", format.p[i]))
            i++;
        /* `%(...)T` shows a time. */
        const char *end = i < format.n && format.p[i] == '('
                              ? memchr(format.p + i, ')', format.n - i)
                              : NULL;
        i = end ? (size_t)(end - format.p) + 1 : i;
        if (i < format.n && format.p[i] == 'n')
            return true;
    }
    return false;
}

/* An option may name a variable too. */
static bool printf_assigns(const struct command_view *view)
{
    if (view->n < 2)
        return false;
    struct str format = view->words[1].text;
    return !shell_word_known(&view->words[1]) || (format.n && format.p[0] == '-') ||
           format_assigns(format);
}

/* Of the shell's own some run commands that stand in the names of variables (`printf -v 'a[$(date)]'`), read them from
 * elsewhere, or change what another name means. */
static bool reads_more(const struct command_view *view, struct str name)
{
    static const char always[] =
        " (( [[ . alias bind compgen complete declare enable export getopts hash let local mapfile "
        "read readarray readonly set shopt source typeset unset wait ";
    if (command_is(name, "printf"))
        return printf_assigns(view);
    if (!command_is(name, "test") && !command_is(name, "["))
        return command_in_list(always, name);
    return test_evaluates(view);
}

/* Which approvals hold for a use of a line that is understood. */
static void judge_options(struct command_pairs *pairs, const struct program_use *use,
                          struct command_pair *pair, bool understood)
{
    char room[PROGRAM_FAULT_MAX];
    bool evaluates = reads_more(use->view, use->view->words[0].text);
    const char *fault = evaluates ? "a builtin that may evaluate its arguments"
                                  : program_fault(use, room);
    enum program_runs runs = fault ? RUNS_NONE : program_runs(use, room);
    if (runs)
        fault = room;
    command_starts_note(use, pair, fault, understood);
    if (!understood)
        return;
    if (fault) {
        if (!pairs->why[0])
            snprintf(pairs->why, sizeof pairs->why, "%s", fault);
        pair->exact = false;
        pair->exact_subcommand &= runs == RUNS_NAMED;
        pair->certain &= !evaluates;
        pair->certain_subcommand &= !evaluates;
        return;
    }
    const char *unknown = program_unknown(use, room);
    pair->known = !unknown && pair->exact_subcommand;
    if (unknown && !pairs->unknown[0])
        snprintf(pairs->unknown, sizeof pairs->unknown, "%s", unknown);
}

/* One use of a program as it is read, before it is a pair for each of its targets. */
struct reading {
    const struct command_view *view;
    struct str name;               /* without folder; n is 0 where it is not known */
    const struct program *program; /* may be NULL */
    struct str moved;
    bool exact; /* the line is understood */
};

/* These run what the settings of the folder's repository say; of a relative path it is another file. */
static bool depends_on_folder(const struct reading *r)
{
    struct str word = r->view->words[0].text;
    if (command_in_list(" git gh hg ", r->name) ||
        (r->name.n > 4 && memcmp(r->name.p, "git-", 4) == 0))
        return true;
    return r->name.n && word.p[0] != '/' && memchr(word.p, '/', word.n);
}

/* The pair for one subcommand or target, which is text that may be empty. */
static int add_subcommand_pair(struct command_pairs *pairs, const struct reading *r,
                               const struct subcommand *sub, struct err *err)
{
    const struct shell_word *first = &r->view->words[0];
    struct str text = buf_str(&sub->text);
    struct command_pair pair = {
        .program = r->name.n ? mem_copy(first->text.p, first->text.n) : mem_dup(""),
        .subcommand = mem_copy(text.p, text.n),
        .exact = r->exact,
        .exact_subcommand = r->exact && sub->exact,
        .certain = r->exact,
        .certain_subcommand = r->exact && sub->sure,
        .alias = program_may_be_alias(r->name, text),
        .here = depends_on_folder(r),
    };
    if (pair.here && r->moved.n)
        pair.moved = mem_copy(r->moved.p, r->moved.n);
    struct program_use use = {r->view, text, sub->at, sub->sure, sub->last};
    if (r->name.n)
        judge_options(pairs, &use, &pair, r->exact);
    return add_pair(pairs, pair, err);
}

static int add_targets(struct command_pairs *pairs, const struct reading *r, struct err *err)
{
    struct targets targets;
    targets_read(r->view, r->program, &targets);
    for (size_t i = 0; i < targets.n; i++) {
        struct str word = r->view->words[targets.at[i]].text;
        struct subcommand sub = {BUF_INIT(SHELL_TEXT_MAX), targets.at[i], true, targets.exact};
        buf_add(&sub.text, word.p, word.n);
        int added = add_subcommand_pair(pairs, r, &sub, err);
        buf_done(&sub.text);
        if (added < 0)
            return -1;
    }
    struct subcommand other = {.at = r->view->n, .sure = !targets.open, .exact = !targets.open};
    return targets.n && !targets.open ? 0 : add_subcommand_pair(pairs, r, &other, err);
}

/* `exact` is what is known so far. */
static int add_program_pairs(struct command_pairs *pairs, const struct command_view *view,
                             struct str moved, bool exact, struct err *err)
{
    char room[COMMAND_NAME_MAX];
    const struct shell_word *first = &view->words[0];
    struct reading r = {.view = view, .moved = moved, .exact = exact};
    if (word_is_fixed(view, first))
        r.name = command_name(first, room);
    r.program = program_find(r.name);
    if (program_has_targets(r.program))
        return add_targets(pairs, &r, err);
    struct subcommand sub = {BUF_INIT(SHELL_TEXT_MAX), view->n, true, true};
    if (r.program)
        subcommand_read(view, r.program, &sub);
    int added = add_subcommand_pair(pairs, &r, &sub, err);
    buf_done(&sub.text);
    return added;
}

/* --- a line that is understood */

static int add_use_pairs(struct command_pairs *pairs, const struct command_use *use,
                         const char *root, struct err *err)
{
    char room[COMMAND_NAME_MAX];
    FREE_AT_END struct shell_word *words = mem_grow(NULL, use->n, sizeof *words);
    for (size_t i = 0; i < use->n; i++) {
        unsigned flags = command_use_flags(use, i);
        words[i] = (struct shell_word){use->words[i].text,
                                       (flags & PLAIN_VARIES ? SHELL_EXPANDS : 0) |
                                           (flags & PLAIN_ANY ? SHELL_PATTERN : 0) |
                                           (flags & PLAIN_SPLITS ? SHELL_SPLITS : SHELL_QUOTED)};
    }
    struct command_view view = {.words = words,
                                .n = use->n,
                                .more_words = use->more_words,
                                .input = use->input,
                                .root = root};
    if (use->starts)
        return add_starter(pairs, command_name(&words[0], room), err);
    return add_program_pairs(pairs, &view, use->moved, true, err);
}

static int add_uses(struct command_pairs *pairs, const struct command_uses *uses, const char *root,
                    struct err *err)
{
    pairs->understood = true;
    for (size_t i = 0; i < uses->n; i++) {
        if (add_use_pairs(pairs, &uses->all[i], root, err) < 0)
            return -1;
    }
    return 0;
}

/* --- one that is not: what can be told of it is enough to deny */

static int visit_for_pairs(void *self, const struct command_view *view, struct err *err)
{
    char room[COMMAND_NAME_MAX];
    if (command_is(view->words[0].text, ":") && view->n_assigned && !command_names_assigned(view) &&
        !command_variables_open(view))
        return 0;
    /* These do things of their own besides (`-delete`, `-fprint`, `-o '|x'`). */
    bool finds = command_in_list(" find strace ", command_name(&view->words[0], room));
    if (view->wraps && add_starter(self, command_name(&view->words[0], room), err) < 0)
        return -1;
    bool all = view->wraps && !finds && !command_names_assigned(view) &&
               !command_variables_open(view);
    return all ? 0 : add_program_pairs(self, view, (struct str){0}, false, err);
}

static int read_text_pairs(struct str text, const struct command_around *around,
                           struct command_pairs *pairs, struct err *err)
{
    static const struct command_visitor visitor = {NULL, visit_for_pairs};
    COMMAND_USES_AT_END struct command_uses uses = {0};
    struct plain_fault why = {0};
    if (command_uses_read(text, around, &uses, &why) == 0)
        return add_uses(pairs, &uses, around->root, err);
    snprintf(pairs->why, sizeof pairs->why, "byte %zu: %s", why.at + 1, why.construct);
    return command_walk(text, &visitor, pairs, err);
}

/* Some program of the command may start what a variable names: the pair has the variable's name. */
static int add_variable_pairs(const struct command_around *around, struct command_pairs *pairs,
                              struct err *err)
{
    for (size_t i = 0; i < around->n_variables; i++) {
        const struct shell_word *variable = &around->variables[i];
        const char *equals = memchr(variable->text.p, '=', variable->text.n);
        const struct shell_word name = {
            .text = {variable->text.p, (size_t)(equals - variable->text.p)}};
        struct command_view view = {.words = &name, .n = 1, .assigned = variable, .n_assigned = 1};
        bool counts = command_variables_open(&view) || command_names_assigned(&view);
        if (counts && name.text.n &&
            add_program_pairs(pairs, &view, (struct str){0}, false, err) < 0)
            return -1;
    }
    return 0;
}

int command_pairs_read(struct str text, const struct command_around *around,
                       struct command_pairs *ret, struct err *err)
{
    *ret = (struct command_pairs){0};
    int r = read_text_pairs(text, around, ret, err);
    if (r == 0)
        r = add_variable_pairs(around, ret, err);
    if (r < 0)
        command_pairs_done(ret);
    return r;
}

void command_pairs_done(struct command_pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++)
        free_pair(&pairs->all[i]);
    for (size_t i = 0; i < pairs->n_starters; i++)
        free(pairs->starters[i]);
    pairs->n = 0;
    pairs->n_starters = 0;
}

/* Programs that run the program which one of their words names. */
#include <stdio.h>
#include <string.h>

#include "policy/command_uses.h"
#include "policy/program_rows.h"
#include "policy/program_starts.h"
#include "policy/subcommand.h"

enum runner_flag {
    RUNNER_FIRST = 1,  /* the subcommand is the program */
    RUNNER_SCRIPT = 2, /* it may be a script of the project: only names of known programs count */
};

static const struct runner {
    const char *programs;
    const char *first; /* words that the program follows */
    unsigned flags;
    const char *own; /* RUNNER_FIRST: words that are no programs */
} runners[] = {
    {" npx pnpx bunx uvx ", NULL, RUNNER_FIRST, NULL},
    {" uv ", " run ", 0, NULL},
    {" poetry pdm hatch pipenv conda mamba ", " run ", 0, NULL},
    {" bundle bundler ", " exec ", 0, NULL},
    {" lerna nx ", " exec ", 0, NULL},
    {" bun ", " run ", RUNNER_SCRIPT, NULL},
    /* What is none of its own words is a script, and where there is none a program. */
    {" pnpm yarn bun ", NULL, RUNNER_FIRST | RUNNER_SCRIPT,
     " add audit bin build cache check ci create deploy dev doctor env exec fetch format i import info "
     "init install licenses link lint list ln ls outdated pack patch plugin pm prune publish rebuild "
     "remove repl rm root run server set start store tag test t un uninstall unlink up update upgrade "
     "version view why workspace workspaces x "},
};

static bool is_runner(const struct runner *r, const struct program_use *use, struct str name)
{
    size_t first = use->at;
    if (!program_in(r->programs, name) || first >= use->view->n)
        return false;
    struct str word = use->view->words[first].text;
    return r->flags & RUNNER_FIRST ? !command_in_list(r->own, word)
                                   : command_in_list(r->first, word);
}

static bool is_known_program(struct str name)
{
    /* Nothing is said about them elsewhere. */
    static const char others[] =
        " chmod chown cp kill ln mkdir mv node perl php python python3 rm rmdir ruby tee touch ";
    return name.n && (program_is_listed(name) || program_find(name) || command_wrap_find(name) ||
                      command_is_unread(name) || command_in_list(others, name));
}

static const struct runner *find_runner(const struct program_use *use, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(runners) && name.n; i++) {
        if (is_runner(&runners[i], use, name))
            return &runners[i];
    }
    return NULL;
}

static const char *starts_others(struct str name, char room[PROGRAM_FAULT_MAX])
{
    snprintf(room, PROGRAM_FAULT_MAX, "`%.*s` runs the program that it is given",
             name.n > 40 ? 40 : (int)name.n, name.p);
    return room;
}

/* What there is against running the word at `at` with those behind it; NULL: nothing. */
static const char *inner_fault(const struct command_view *outer, size_t at,
                               char room[PROGRAM_FAULT_MAX])
{
    char other[COMMAND_NAME_MAX];
    struct command_view view = *outer;
    view.words += at;
    view.n -= at;
    struct str name = command_name(&view.words[0], other);
    if (command_wrap_find(name) || command_is_unread(name))
        return starts_others(name, room);
    struct subcommand sub = {BUF_INIT(SHELL_TEXT_MAX), view.n, true, true, view.n};
    const struct program *program = program_find(name);
    if (program && !program_has_targets(program))
        subcommand_read(&view, program, &sub);
    struct program_use use = {&view, buf_str(&sub.text), sub.at, sub.sure, sub.last};
    const char *fault = find_runner(&use, name) ? starts_others(name, room)
                                                : program_fault(&use, room);
    buf_done(&sub.text);
    return fault;
}

bool program_runs_open(const struct program_use *use)
{
    static const char values[] = " -n -p -w --name --prefix --package --from --with --python ";
    char other[COMMAND_NAME_MAX];
    const struct command_view *view = use->view;
    struct str name = program_name(use, other);
    bool named = use->at < view->n;
    const struct runner *r = named ? find_runner(use, name) : NULL;
    bool first = command_in_list(runners[0].programs, name);
    if (!r && (named || !first))
        return false;
    size_t i = !named ? 1 : r->flags & RUNNER_FIRST ? use->at : use->at + 1;
    while (i < view->n && word_is_fixed(view, &view->words[i]) && view->words[i].text.n &&
           view->words[i].text.p[0] == '-')
        i += command_in_list(values, view->words[i].text) ? 2 : 1;
    if (i >= view->n)
        return view->more_words;
    return !word_is_fixed(view, &view->words[i]) || program_inner_open(view, i);
}

enum program_runs program_runs(const struct program_use *use, char room[PROGRAM_FAULT_MAX])
{
    char other[COMMAND_NAME_MAX];
    char inner[COMMAND_NAME_MAX];
    const struct command_view *view = use->view;
    struct str name = program_name(use, other);
    const struct runner *r = find_runner(use, name);
    if (!r)
        return RUNS_NONE;
    size_t at = r->flags & RUNNER_FIRST || use->last != use->at ? use->last : view->n;
    struct str run = at < view->n ? command_name(&view->words[at], inner) : (struct str){0};
    if (r->flags & RUNNER_SCRIPT && !is_known_program(run))
        return RUNS_NONE;
    if (at < view->n && use->sure && inner_fault(view, at, room))
        return RUNS_OTHER;
    starts_others(name, room);
    return at < view->n && use->sure ? RUNS_NAMED : RUNS_OTHER;
}

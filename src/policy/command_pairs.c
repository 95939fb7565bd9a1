/* What a command line runs, in the words of approval rules. */
#include "policy/command_walk.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "policy/command_uses.h"
#include "policy/program_options.h"

/* Programs whose first word says what they do. */
static const struct program {
    const char *name;
    const char
        *values; /* options before it that take the next word, a blank before and behind each */
    const char *deeper; /* first words that need a second; `*` for all */
    const char *flags;  /* options before it that do not, and change nothing about what it does */
} programs[] = {
    {"apt", NULL, NULL},
    {"apt-get", NULL, NULL},
    {"aws", " --profile --region --output --endpoint-url ", "*"},
    {"brew", NULL, " services "},
    {"bun", " --cwd ", " run pm "},
    {"bundle", NULL, " exec config "},
    {"cargo", " --config -C -Z --color ", NULL, " -q -v --locked --offline --frozen "},
    {"composer", " -d --working-dir ", NULL},
    {"conda", NULL, " env config "},
    {"deno", NULL, " task "},
    {"docker", " -c --context -H --host -l --log-level --config ",
     " builder buildx compose config container context image network system volume "},
    {"dotnet", NULL, " tool nuget "},
    {"gh", " -R --repo ", "*"},
    {"git", " -C -c --git-dir --work-tree --namespace --exec-path --super-prefix ",
     " bisect config notes reflog remote stash submodule worktree ",
     " -P --no-pager --no-optional-locks --literal-pathspecs "},
    {"go", " -C ", " mod tool work "},
    {"gradle", NULL, NULL},
    {"helm", NULL, " repo "},
    {"just", " -f --justfile -d --working-directory ", NULL},
    {"kubectl", " -n --namespace --context --kubeconfig ", " config rollout "},
    {"make", " -C -f -I -o -W --directory --file --makefile ", NULL,
     " -j -j1 -j2 -j4 -j8 -j16 -k -s -B -n --silent --keep-going "},
    {"meson", NULL, NULL},
    {"mvn", " -f -s -P ", NULL},
    {"npm", " --prefix -w --workspace ", " config exec pkg run run-script ", " -s --silent "},
    {"npx", " -p --package ", NULL},
    {"pip", NULL, " config "},
    {"pip3", NULL, " config "},
    {"pnpm", " -C --dir --filter ", " exec run "},
    {"podman", NULL, " container image network system volume "},
    {"poetry", " -C --directory ", " env run "},
    {"rustup", NULL, " component target toolchain run "},
    {"svn", NULL, NULL},
    {"systemctl", NULL, NULL},
    {"terraform", NULL, " state workspace "},
    {"uv", " --directory --project ", " pip run tool "},
    {"yarn", " --cwd ", " run workspace "},
};

static const struct program *find_program(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        if (command_is(name, programs[i].name))
            return &programs[i];
    }
    return NULL;
}

static bool word_is_fixed(const struct command_view *view, const struct shell_word *word)
{
    bool from_find = view->n_found && word->text.n && memmem(word->text.p, word->text.n, "{}", 2);
    return shell_word_known(word) && !from_find;
}

/* An option that is not known may take the next word, and that would not be what it does then. */
static bool is_flag(const struct program *program, struct str option)
{
    return command_in_list(program->flags, option) ||
           command_in_list(" --help --quiet --verbose --version ", option);
}

/* Goes to the next word that is no option. */
static size_t skip_options(const struct command_view *view, const struct program *program, size_t i,
                           bool *exact)
{
    bool known = true;
    for (; i < view->n; i++) {
        struct str word = view->words[i].text;
        if (word.n < 2 || word.p[0] != '-')
            break;
        bool value = command_in_list(program->values, word);
        if (value || memchr(word.p, '=', word.n) || !word_is_fixed(view, &view->words[i]))
            *exact = false;
        known &= is_flag(program, word);
        i += value;
    }
    if (i >= view->n)
        return view->n;
    *exact &= known;
    return i;
}

static bool goes_deeper(const struct program *program, struct str first)
{
    return program->deeper &&
           (program->deeper[0] == '*' || command_in_list(program->deeper, first));
}

static void read_subcommand(const struct command_view *view, const struct program *program,
                            struct buf *ret, bool *exact)
{
    size_t i = 0;
    bool deeper = true;
    for (unsigned words = 0; words < 2 && deeper; words++) {
        i = skip_options(view, program, i + 1, exact);
        if (i == view->n) {
            *exact &= !view->more_words;
            return;
        }
        const struct shell_word *word = &view->words[i];
        if (!word_is_fixed(view, word)) {
            *exact = false;
            return;
        }
        if (ret->len)
            buf_add_char(ret, ' ');
        buf_add(ret, word->text.p, word->text.n);
        deeper = goes_deeper(program, word->text);
    }
}

static bool same(const struct command_pair *a, const struct command_pair *b)
{
    return a->exact == b->exact && a->exact_subcommand == b->exact_subcommand &&
           strcmp(a->program, b->program) == 0 && strcmp(a->subcommand, b->subcommand) == 0;
}

static void free_pair(struct command_pair *pair)
{
    free(pair->program);
    free(pair->subcommand);
}

static int add_pair(struct command_pairs *pairs, struct command_pair pair, struct err *err)
{
    for (size_t i = 0; i < pairs->n; i++) {
        if (same(&pairs->all[i], &pair)) {
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

/* Of the shell's own some run commands that stand in the names of variables (`printf -v 'a[$(date)]'`), read them from
 * elsewhere, or change what another name means. */
static bool reads_more(const struct command_view *view, struct str name)
{
    static const char always[] =
        " (( [[ . alias bind compgen complete declare enable export getopts hash let local mapfile "
        "read readarray readonly set shopt source typeset unset wait ";
    if (command_is(name, "printf"))
        return view->n > 1 && (!shell_word_known(&view->words[1]) ||
                               (view->words[1].text.n && view->words[1].text.p[0] == '-'));
    if (!command_is(name, "test") && !command_is(name, "["))
        return command_in_list(always, name);
    for (size_t i = 1; i < view->n; i++) {
        const struct shell_word *word = &view->words[i];
        if (!shell_word_known(word) || command_is(word->text, "-v") || command_is(word->text, "-R"))
            return true;
    }
    return false;
}

/* `exact` is what is known so far. */
static int add_program(struct command_pairs *pairs, const struct command_view *view, bool exact,
                       struct err *err)
{
    char room[COMMAND_NAME_MAX];
    char fault[PROGRAM_FAULT_MAX];
    const struct shell_word *first = &view->words[0];
    bool known = word_is_fixed(view, first);
    const struct program *program = known ? find_program(command_name(first, room)) : NULL;
    BUF_AT_END struct buf subcommand = BUF_INIT(SHELL_TEXT_MAX);
    bool exact_subcommand = true;
    if (program)
        read_subcommand(view, program, &subcommand, &exact_subcommand);
    const char *against = exact ? program_fault(view, buf_str(&subcommand), fault) : NULL;
    if (exact && !against && reads_more(view, first->text))
        against = "a builtin that may evaluate its arguments";
    if (against && !pairs->why[0])
        snprintf(pairs->why, sizeof pairs->why, "%s", against);
    struct command_pair pair = {
        .program = known ? mem_copy(first->text.p, first->text.n) : mem_dup(""),
        .subcommand = mem_copy(buf_str(&subcommand).p, subcommand.len),
        .exact = exact && !against,
        .exact_subcommand = exact && !against && exact_subcommand,
    };
    return add_pair(pairs, pair, err);
}

/* --- a line that is understood */

static int add_use(struct command_pairs *pairs, const struct command_use *use, struct err *err)
{
    char room[COMMAND_NAME_MAX];
    FREE_AT_END struct shell_word *words = mem_grow(NULL, use->n, sizeof *words);
    for (size_t i = 0; i < use->n; i++) {
        unsigned flags = command_use_flags(use, i);
        words[i] = (struct shell_word){use->words[i].text,
                                       (flags & PLAIN_VARIES ? SHELL_EXPANDS : 0) |
                                           (flags & PLAIN_ANY ? SHELL_PATTERN : 0)};
    }
    struct command_view view = {.words = words, .n = use->n, .more_words = use->more_words};
    if (use->starts)
        return add_starter(pairs, command_name(&words[0], room), err);
    return add_program(pairs, &view, true, err);
}

static int add_uses(struct command_pairs *pairs, const struct command_uses *uses, struct err *err)
{
    pairs->understood = true;
    for (size_t i = 0; i < uses->n; i++) {
        if (add_use(pairs, &uses->all[i], err) < 0)
            return -1;
    }
    return 0;
}

/* --- one that is not: what can be told of it is enough to deny */

static int visit(void *self, const struct command_view *view, struct err *err)
{
    char room[COMMAND_NAME_MAX];
    /* find does things of its own besides (`-delete`, `-fprint`). */
    bool finds = command_is(command_name(&view->words[0], room), "find");
    if (view->wraps && add_starter(self, command_name(&view->words[0], room), err) < 0)
        return -1;
    return view->wraps && !finds ? 0 : add_program(self, view, false, err);
}

static int read_pairs(struct str text, struct command_pairs *pairs, struct err *err)
{
    static const struct command_visitor visitor = {NULL, visit};
    COMMAND_USES_AT_END struct command_uses uses = {0};
    struct plain_fault why = {0};
    if (command_uses_read(text, &uses, &why) == 0)
        return add_uses(pairs, &uses, err);
    snprintf(pairs->why, sizeof pairs->why, "byte %zu: %s", why.at + 1, why.construct);
    return command_walk(text, &visitor, pairs, err);
}

int command_pairs_read(struct str text, struct command_pairs *ret, struct err *err)
{
    *ret = (struct command_pairs){0};
    int r = read_pairs(text, ret, err);
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

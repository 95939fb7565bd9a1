#include "policy/program_options.h"

#include <stdio.h>
#include <string.h>

enum {
    ONE_DASH = 1, /* long names have one dash, letters are not bundled */
    ASSIGNS = 2,  /* a word with `=` in it sets something */
    ALWAYS = 4,   /* every use */
    BEFORE = 8,   /* only before the subcommand */
};

/* A row for each kind of harm; a program may have several. Lists have a blank before and behind each name. A long name may
 * be cut when it is given; then each that it may stand for counts. */
static const struct program_row {
    const char *program;     /* names, a blank before and behind each */
    const char *subcommands; /* NULL: all */
    const char *letters;
    const char *names;
    unsigned flags;
    const char *does;
} rows[] = {
    {" find ", NULL, NULL, " delete ", ONE_DASH, "deletes"},
    {" find ", NULL, NULL, " fprint fprint0 fprintf fls ", ONE_DASH, "writes a file"},
    {" fd fdfind ", NULL, "xX", " exec exec-batch ", 0, "runs a program"},
    {" sort ", NULL, "o", " output ", 0, "writes a file"},
    {" sort ", NULL, NULL, " compress-program ", 0, "runs a program"},
    {" rg ", NULL, "z", " pre hostname-bin search-zip ", 0, "runs a program"},
    {" sed ", NULL, "i", " in-place ", 0, "writes files"},
    {" sed ", NULL, "f", " file ", 0, "reads a script"},
    {" tar ", NULL, "IF",
     " checkpoint-action to-command use-compress-program info-script new-volume-script rsh-command "
     "rmt-command ",
     0, "runs a program"},
    {" git ", NULL, "cp", " config-env exec-path paginate ", BEFORE, "changes what git runs"},
    {" git ", NULL, NULL, " ext-diff textconv ", 0, "runs a program"},
    {" git ", NULL, NULL, " output ", 0, "writes a file"},
    {" git ", " grep ", "O", " open-files-in-pager ", 0, "runs a program"},
    {" git ", " fetch pull push clone ls-remote fetch-pack send-pack archive submodule ", "u",
     " upload-pack receive-pack exec remote ", 0, "names the program of the other side"},
    {" git ", " init clone ", "c", " template config ", 0, "reads another configuration"},
    {" git ", " rebase ", "xi", " exec interactive ", 0, "runs a program"},
    {" git ", " difftool mergetool ", NULL, NULL, ALWAYS, "runs a program"},
    {" git ",
     " bisect config filter-branch send-email daemon hook shell instaweb web--browse credential "
     "maintenance remote-ext remote-fd upload-pack receive-pack ",
     NULL, NULL, ALWAYS, "runs programs or changes what git runs"},
    {" make gmake ", NULL, "fCIE", " eval file makefile directory include-dir ", ASSIGNS,
     "reads another makefile or sets a variable"},
    {" ninja ", NULL, "fCt", NULL, 0, "reads another file"},
    {" npm pnpm yarn bun ", NULL, "C",
     " script-shell prefix node-options userconfig globalconfig scripts-prepend-node-path shell dir "
     "cwd ignore-scripts=false git init-module ",
     0, "reads another configuration or runs another program"},
    {" go ", NULL, NULL, " toolexec exec overlay modfile C ldflags gcflags asmflags vettool ",
     ONE_DASH, "runs another program"},
    {" go ", NULL, NULL, " o ", ONE_DASH, "writes a file"},
    {" cargo ", NULL, "CZ", " config manifest-path target-dir ", 0, "reads another configuration"},
    {" pytest py.test ", NULL, "pco",
     " rootdir confcutdir basetemp override-ini import-mode pdbcls ", 0,
     "loads or configures something else"},
    {" mypy ", NULL, NULL, " python-executable config-file custom-typeshed-dir plugins ", 0,
     "runs or reads something else"},
    {" pylint ", NULL, NULL, " init-hook load-plugins rcfile ", 0, "runs code"},
    {" jest vitest eslint prettier tsc ", NULL, "cpr",
     " config project rulesdir plugin parser resolve-plugins-relative-to format output-file out-dir "
     "setup-files runner transform globals test-environment reporters ",
     0, "loads something else"},
    {" gcc g++ cc c++ clang clang++ ", NULL, NULL, " wrapper specs= fplugin= B ", ONE_DASH,
     "runs another program"},
    {" rsync ", NULL, "e", " rsh rsync-path ", 0, "runs a program"},
    {" man ", NULL, "PH", " pager html ", 0, "runs a program"},
};

/* `--out` and `--output=x` for `output`. */
static bool is_name(struct str list, struct str given)
{
    const char *equals = memchr(given.p, '=', given.n);
    size_t n = equals ? (size_t)(equals - given.p) : given.n;
    /* The list has a blank before each name, and no name has one in it. */
    if (memchr(given.p, ' ', n))
        return false;
    for (const char *at = list.p;
         n && (at = memmem(at, list.n - (size_t)(at - list.p), given.p, n)); at++) {
        if (at[-1] == ' ')
            return true;
    }
    return false;
}

static bool is_option(const struct program_row *row, struct str word)
{
    if (word.n < 2 || word.p[0] != '-' || command_is(word, "--"))
        return false;
    bool two = word.p[1] == '-';
    struct str names = {row->names, row->names ? strlen(row->names) : 0};
    struct str given = {word.p + 1 + two, word.n - 1 - two};
    if (row->names && (two || row->flags & ONE_DASH) && is_name(names, given))
        return true;
    if (two || !row->letters)
        return false;
    for (size_t i = 1; i < word.n; i++) {
        if (strchr(row->letters, word.p[i]))
            return true;
    }
    return false;
}

static bool str_same(struct str a, struct str b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* The word that makes the row hold; the program itself for one that always does. */
static const struct shell_word *find_word(const struct program_row *row,
                                          const struct command_view *view, struct str subcommand)
{
    if (row->flags & ALWAYS)
        return &view->words[0];
    for (size_t i = 1; i < view->n; i++) {
        const struct shell_word *word = &view->words[i];
        if (row->flags & BEFORE && str_same(word->text, subcommand))
            return NULL;
        if (word->flags & SHELL_PATTERN || is_option(row, word->text))
            return word;
        if (row->flags & ASSIGNS && memchr(word->text.p, '=', word->text.n))
            return word;
    }
    return view->more_words ? &view->words[0] : NULL;
}

const char *program_fault(const struct command_view *view, struct str subcommand,
                          char room[PROGRAM_FAULT_MAX])
{
    char other[COMMAND_NAME_MAX];
    struct str name = command_name(&view->words[0], other);
    struct str first = subcommand;
    const char *blank = memchr(subcommand.p, ' ', subcommand.n);
    if (blank)
        first.n = (size_t)(blank - subcommand.p);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct program_row *row = &rows[i];
        if (!command_in_list(row->program, name) ||
            (row->subcommands && !command_in_list(row->subcommands, first)))
            continue;
        const struct shell_word *word = find_word(row, view, first);
        if (!word)
            continue;
        snprintf(room, PROGRAM_FAULT_MAX, "`%.*s` of `%.*s` %s",
                 word->text.n > 40 ? 40 : (int)word->text.n, word->text.p, (int)name.n, name.p,
                 row->does);
        return room;
    }
    return NULL;
}

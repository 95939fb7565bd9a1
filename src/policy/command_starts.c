#include "policy/command_starts.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/shells.h"
#include "policy/command_names.h"
#include "policy/command_uses.h"
#include "policy/program_places.h"
#include "policy/program_starts.h"
#include "policy/program_variables.h"
#include "policy/subcommand.h"

/* The words behind the first of the subcommand that are no options, or options that stand for one. */
static char *later_words(const struct command_view *view, const struct program *program, size_t at)
{
    BUF_AT_END struct buf text = BUF_INIT((size_t)4 * SHELL_TEXT_MAX);
    buf_add_char(&text, ' ');
    for (size_t i = at + 1; i < view->n; i++)
        subcommand_add_later(view, program, i, &text);
    if (view->more_words)
        buf_add_text(&text, "* ");
    return mem_copy(buf_str(&text).p, buf_str(&text).n);
}

/* Whether it may start what its words name: an option does, or nothing is known about it. An option may also bring in
 * another target. */
static bool may_start_words(const struct program_use *use, struct str name, bool fault)
{
    if (fault && program_has_targets(program_find(name)))
        return true;
    return command_names_any(use->view) && (fault || !program_is_listed(name));
}

struct shell_options {
    size_t behind; /* the first word behind them */
    bool input;    /* one says that it reads its input */
    bool script;   /* one says that the next word is a script */
};

static struct shell_options read_shell_options(const struct command_view *view)
{
    static const char with_file[] = " --rcfile --init-file ";
    struct shell_options options = {0};
    size_t i = 1;
    for (; i < view->n && view->words[i].text.n > 1 && strchr("-+", view->words[i].text.p[0]);
         i++) {
        struct str word = view->words[i].text;
        i += command_in_list(with_file, word);
        for (size_t k = 1; word.p[1] != '-' && k < word.n; k++) {
            options.input |= word.p[0] == '-' && word.p[k] == 's';
            options.script |= word.p[0] == '-' && word.p[k] == 'c';
            i += word.p[k] == 'o' || word.p[k] == 'O';
        }
    }
    options.behind = i < view->n ? i : view->n;
    return options;
}

/* No word of it can be a program: options and numbers. */
static bool names_no_program(const struct command_view *view)
{
    for (size_t i = 1; i < view->n; i++) {
        struct str word = view->words[i].text;
        size_t n = 0;
        while (n < word.n && word.p[n] >= '0' && word.p[n] <= '9')
            n++;
        if (n < word.n && word.p[0] != '-')
            return false;
    }
    return true;
}

/* Only a machine behind its options: a shell there reads the input. */
static bool ssh_has_no_command(const struct command_view *view)
{
    size_t i = 1;
    while (i < view->n && view->words[i].text.n > 1 && view->words[i].text.p[0] == '-') {
        struct str option = view->words[i].text;
        i += option.n == 2 && strchr("bBcDeEFiIJlLmoOpQRSwW", option.p[1]) ? 2 : 1;
    }
    return i + 1 >= view->n;
}

/* Other programs that start a shell which reads its input, or run what they read. Some have a command instead: it is visited
 * in place of them (WRAP_PREFIX), or is among their words. */
static bool reads_alike(const struct command_view *view, struct str name)
{
    if (command_in_list(" at batch chroot doas newgrp sudo ", name))
        return true;
    if (command_in_list(" script su ", name))
        return !read_shell_options(view).script;
    if (command_in_list(" ssh ", name))
        return ssh_has_no_command(view);
    if (command_in_list(" crontab ", name))
        return view->n > 1 && command_is(view->words[view->n - 1].text, "-");
    if (command_in_list(" flock setpriv prlimit taskset chrt ionice ", name))
        return view->n > 1 && shells_have(view->words[view->n - 1].text);
    return command_in_list(" fakeroot nsenter parallel rush unshare ", name) &&
           names_no_program(view);
}

/* A shell without a script, or one that reads its script from its input. */
static bool reads_commands(const struct program_use *use, struct str name, bool understood)
{
    const struct command_view *view = use->view;
    bool sources = command_in_list(" . source ", name);
    if (!sources && !shells_have(name))
        return reads_alike(view, name);
    if (understood && !view->input)
        return false;
    struct shell_options options = read_shell_options(view);
    if (!sources && (options.script || options.input))
        return !options.script;
    if (options.behind == view->n)
        return !sources;
    struct str script = view->words[options.behind].text;
    return command_is(script, "-") || (script.n > 5 && memcmp(script.p, "/dev/", 5) == 0) ||
           (script.n > 6 && memcmp(script.p, "/proc/", 6) == 0);
}

/* --- variables */

static bool variable_is_open(const struct shell_word *word)
{
    const char *equals = word->text.n ? memchr(word->text.p, '=', word->text.n) : NULL;
    size_t n = equals ? (size_t)(equals - word->text.p) : word->text.n;
    struct str value = {word->text.p + n + (equals != NULL), word->text.n - n - (equals != NULL)};
    if (n > 1 && word->text.p[n - 1] == '+')
        n--;
    return variable_starts((struct str){word->text.p, n}, value,
                           equals && shell_word_known(word)) == VARIABLE_ANY;
}

bool command_variables_open(const struct command_view *view)
{
    char room[COMMAND_NAME_MAX];
    struct str name = command_name(&view->words[0], room);
    bool sets = command_in_list(" declare export local readonly typeset ", name);
    for (size_t i = 0; i < view->n_assigned; i++) {
        if (variable_is_open(&view->assigned[i]))
            return true;
    }
    for (size_t i = 1; sets && i < view->n; i++) {
        if (variable_is_open(&view->words[i]))
            return true;
    }
    return false;
}

/* --- all of it */

/* Words that come from elsewhere follow those that are there: `parallel git`, `fd -x git`. */
static bool adds_words(struct str name)
{
    return command_in_list(" fd fdfind parallel rush xe apply xapply ", name);
}

static bool opens_more(const struct program_use *use, struct str name)
{
    const struct command_view *view = use->view;
    if (command_in_list(" alias hash enable ", name)) {
        for (size_t i = 1; i < view->n; i++) {
            if (!shell_word_known(&view->words[i]))
                return true;
        }
    }
    return command_variables_open(view) || program_starts_open(use);
}

void command_starts_note(const struct program_use *use, struct command_pair *pair, bool fault,
                         bool understood)
{
    char room[COMMAND_NAME_MAX];
    struct str name = program_name(use, room);
    const struct program *program = program_find(name);
    struct subcommand sub = {.at = use->at};
    pair->unread = command_is_unread(name);
    pair->open = opens_more(use, name);
    pair->as = program_file_names(use->view);
    if (!use->sure || subcommand_goes_on(use->view, program, &sub))
        pair->or_else = later_words(use->view, program, use->at);
    if (reads_commands(use, name, understood)) {
        pair->unread = true;
        pair->starts = mem_dup(" * ");
    } else if (command_in_list(" alias enable hash ", name)) {
        /* What follows stands where the name is used. */
        FREE_AT_END char *names = command_names_read(use->view);
        pair->starts = mem_format("%s* ", names);
    } else if (pair->open || pair->unread || command_names_assigned(use->view) ||
               may_start_words(use, name, fault) || program_starts_words(use)) {
        FREE_AT_END char *names = command_names_read(use->view);
        pair->starts = mem_format("%s%s", names, adds_words(name) ? "? " : "");
    }
}

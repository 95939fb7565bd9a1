/* Programs that start others: a row each. */
#include "policy/command_walk.h"

#include <string.h>

static const struct command_wrap wraps[] = {
    {.name = "env",
     .short_values = "uCa",
     .long_values = " unset chdir argv0 ",
     .assigns = true,
     .text = 'S',
     .text_name = "split-string"},
    {.name = "nohup"},
    {.name = "nice", .short_values = "n", .long_values = " adjustment "},
    {.name = "ionice", .short_values = "cn", .long_values = " class classdata "},
    {.name = "chrt",
     .short_values = "TPD",
     .operands = 1,
     .long_values = " sched-runtime sched-period sched-deadline "},
    {.name = "taskset", .operands = 1},
    {.name = "time", .short_values = "fo", .long_values = " format output "},
    {.name = "timeout",
     .short_values = "ks",
     .long_values = " kill-after signal ",
     .long_flags = " foreground preserve-status verbose ",
     .operands = 1},
    {.name = "stdbuf", .short_values = "ioe", .long_values = " input output error "},
    {.name = "setsid", .long_flags = " ctty fork wait "},
    {.name = "unbuffer"},
    {.name = "chroot", .operands = 1},
    {.name = "strace", .short_values = "abeEIoOpPsSuUX"},
    {.name = "sudo",
     .short_values = "CDghpRrTtuU",
     .assigns = true,
     .long_values = " close-from chdir group host prompt chroot role command-timeout type user "},
    {.name = "doas", .short_values = "uC", .assigns = true},
    {.name = "xargs",
     .short_values = "adEILnPs",
     .more_words = true,
     .long_values = " arg-file delimiter max-args max-procs max-chars process-slot-var ",
     .long_flags = " null no-run-if-empty verbose exit ",
     .replaces = "Ii"},
    {.name = "exec", .short_values = "a"},
    {.name = "command", .lookup = "vV"},
    {.name = "builtin"},
    {.name = "busybox"},
    {.name = "toybox"},
    {.name = "eval", .kind = WRAP_TEXT},
    {.name = "watch", .kind = WRAP_TEXT, .short_values = "nq", .long_values = " interval equexit "},
    {.name = "trap", .kind = WRAP_FIRST, .lookup = "lp"},
    {.name = "find", .kind = WRAP_FIND},
    {.name = "sh", .kind = WRAP_SHELL},
    {.name = "bash", .kind = WRAP_SHELL},
    {.name = "rbash", .kind = WRAP_SHELL},
    {.name = "dash", .kind = WRAP_SHELL},
    {.name = "ash", .kind = WRAP_SHELL},
    {.name = "ksh", .kind = WRAP_SHELL},
    {.name = "mksh", .kind = WRAP_SHELL},
    {.name = "zsh", .kind = WRAP_SHELL},
    {.name = "fish", .kind = WRAP_SHELL},
    {.name = "csh", .kind = WRAP_SHELL},
    {.name = "tcsh", .kind = WRAP_SHELL},
};

bool command_is(struct str text, const char *literal)
{
    return text.n == strlen(literal) && memcmp(text.p, literal, text.n) == 0;
}

bool command_in_list(const char *list, struct str word)
{
    if (!list || word.n == 0 || memchr(word.p, ' ', word.n))
        return false;
    size_t n = strlen(list);
    for (const char *p = list; (p = memmem(p, n - (size_t)(p - list), word.p, word.n)); p++) {
        if (p > list && p[-1] == ' ' && p[word.n] == ' ')
            return true;
    }
    return false;
}

const struct command_wrap *command_wrap_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(wraps); i++) {
        if (command_is(name, wraps[i].name))
            return &wraps[i];
    }
    return NULL;
}

/* One option: how many words it takes, 0 for one that only looks something up. */
static size_t long_option(const struct command_wrap *wrap, struct str option,
                          struct command_inner *inner)
{
    struct str name = {option.p + 2, option.n - 2};
    const char *equals = memchr(name.p, '=', name.n);
    if (equals)
        name.n = (size_t)(equals - name.p);
    if (wrap->text_name && command_is(name, wrap->text_name)) {
        size_t used = (size_t)(name.p + name.n - option.p) + (equals != NULL);
        inner->text = (struct str){option.p + used, option.n - used};
        return 1;
    }
    /* Names may be cut, so that one that is not known may take the next word. */
    bool value = command_in_list(wrap->long_values, name);
    inner->unsure |= !value && !command_in_list(wrap->long_flags, name);
    return value && !equals ? 2 : 1;
}

static size_t short_options(const struct command_wrap *wrap, struct str option,
                            struct command_inner *inner)
{
    for (size_t i = 1; i < option.n; i++) {
        char c = option.p[i];
        if (wrap->lookup && strchr(wrap->lookup, c))
            return 0;
        if (wrap->text == c) {
            inner->text = (struct str){option.p + i + 1, option.n - i - 1};
            return 1;
        }
        inner->unsure |= wrap->replaces && strchr(wrap->replaces, c);
        if (wrap->short_values && strchr(wrap->short_values, c))
            return i + 1 == option.n ? 2 : 1;
    }
    return 1;
}

static size_t skip_assignments(const struct command_view *view, size_t i)
{
    while (i < view->n && memchr(view->words[i].text.p, '=', view->words[i].text.n))
        i++;
    return i;
}

/* What is read here as bash reads it means the same to this shell. `sh` may be any that knows no more than POSIX says:
 * to those, `$'\'` is a quote that has ended. */
static bool reads_like_bash(const char *shell, struct str text)
{
    static const char *const own[] = {"$'", "$[", "[[", "((", "<(", ">(", "<<<", "&>", "|&", ";&"};
    if (command_in_list(" bash rbash ", (struct str){shell, strlen(shell)}))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (text.n && memmem(text.p, text.n, own[i], strlen(own[i])))
            return false;
    }
    return command_in_list(" sh dash ash ", (struct str){shell, strlen(shell)});
}

/* Others make a shell read a file before its text, or take the next word. */
static bool is_plain_option(const struct shell_word *word)
{
    for (size_t i = 1; i < word->text.n; i++) {
        if (!strchr("ceuxvnfo", word->text.p[i]))
            return false;
    }
    return shell_word_known(word);
}

/* sh, bash and their like: the first word that is no option, if there is a -c among them. */
static struct command_inner shell_text(const struct command_wrap *wrap,
                                       const struct command_view *view)
{
    size_t i = 1;
    bool text = false;
    bool unsure = false;
    for (; i < view->n; i++) {
        struct str word = view->words[i].text;
        if (word.n < 2 || (word.p[0] != '-' && word.p[0] != '+'))
            break;
        if (command_is(word, "--")) {
            i++;
            break;
        }
        unsure |= !is_plain_option(&view->words[i]);
        if (word.p[1] == '-') {
            text |= command_is(word, "--command");
            i += command_is(word, "--rcfile") || command_is(word, "--init-file");
            continue;
        }
        for (size_t k = 1; k < word.n; k++) {
            text |= word.p[k] == 'c' && word.p[0] == '-';
            i += word.p[k] == 'o' || word.p[k] == 'O';
        }
    }
    if (!text || i >= view->n)
        return (struct command_inner){.at = view->n};
    bool foreign = !reads_like_bash(wrap->name, view->words[i].text);
    return (struct command_inner){.at = i, .unsure = unsure || foreign, .foreign = foreign};
}

struct command_inner command_wrap_inner(const struct command_wrap *wrap,
                                        const struct command_view *view)
{
    struct command_inner inner = {.at = 1};
    if (wrap->kind == WRAP_SHELL)
        return shell_text(wrap, view);
    while (inner.at < view->n) {
        struct str word = view->words[inner.at].text;
        if (word.n == 0 || word.p[0] != '-' || (word.n == 1 && !wrap->assigns))
            break;
        if (command_is(word, "--")) {
            inner.at++;
            break;
        }
        size_t used = word.n > 1 && word.p[1] == '-' ? long_option(wrap, word, &inner)
                                                     : short_options(wrap, word, &inner);
        inner.at = used ? inner.at + used : view->n;
        if (inner.text.p)
            return inner;
    }
    if (wrap->assigns)
        inner.at = skip_assignments(view, inner.at);
    inner.at += wrap->operands;
    if (inner.at > view->n)
        inner.at = view->n;
    return inner;
}

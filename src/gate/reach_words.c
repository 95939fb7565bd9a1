#include "gate/reach_words.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/shells.h"
#include "policy/shell_words.h"

/* What may stand between two paths, or in a name: both are tried. */
#define SEPARATORS " \t\n=@:,;'\"()<>|&`"
#define CUTS_MAX 16
/* A text within a text: `sh -c "sh -c ..."`. */
#define DEPTH_MAX 4

struct checker {
    const struct reach *reach;
    const char *field;
    struct err *err;
    unsigned depth;
};

static int check_word_path(const struct checker *c, const char *path)
{
    const char *folder = reach_through(c->reach, path);
    return folder ? reach_refuse(c->field, path, folder, c->err) : 0;
}

static int check_cut(const struct checker *c, const char *before, const char *path, size_t n)
{
    FREE_AT_END char *whole = mem_format("%s%.*s", before, (int)n, path);
    return check_word_path(c, whole);
}

/* A path that begins here ends at a separator, or later: names may hold them. */
static int check_from(const struct checker *c, const char *before, const char *path)
{
    size_t n = 0;
    for (unsigned cuts = 0; cuts < CUTS_MAX; cuts++) {
        n += strcspn(path + n, SEPARATORS);
        if (check_cut(c, before, path, n) < 0)
            return -1;
        if (!path[n])
            return 0;
        n++;
    }
    return check_cut(c, before, path, strlen(path));
}

static bool begins_path(const char *run, const char *slash)
{
    unsigned char before = slash == run ? ' ' : (unsigned char)slash[-1];
    return !isalnum(before) && !strchr("._-~/", before);
}

/* `~/x`, `$HOME/x`: behind the name; NULL: it is not at home. */
static const char *behind_home(const char *run)
{
    static const char *const names[] = {"~/", "$HOME/", "${HOME}/"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strncmp(run, names[i], strlen(names[i])) == 0)
            return run + strlen(names[i]) - 1;
    }
    return NULL;
}

/* `run` is free of separators for `n` bytes. Its first slash may begin a path behind an option or a relative one. */
static int check_run(const struct checker *c, const char *run, size_t n)
{
    const char *first = memchr(run, '/', n);
    const char *home = getenv("HOME");
    const char *at_home = behind_home(run);
    if (!first)
        return 0;
    for (const char *slash = first; slash && slash < run + n; slash = strchr(slash + 1, '/')) {
        if ((slash == first || begins_path(run, slash)) && check_from(c, "", slash) < 0)
            return -1;
    }
    if (at_home && home && check_from(c, home, at_home) < 0)
        return -1;
    if (first == run)
        return 0;
    if (run[0] == '-' && n > 2 && check_from(c, "/", run + 2) < 0)
        return -1;
    return check_from(c, "/", run);
}

static int check_runs(const struct checker *c, const char *word)
{
    while (*word) {
        word += strspn(word, SEPARATORS);
        size_t n = strcspn(word, SEPARATORS);
        if (n && check_run(c, word, n) < 0)
            return -1;
        word += n;
    }
    return 0;
}

/* --- texts of shells */

static int not_understood(const struct checker *c, const char *what)
{
    return err_field(
        c->err, c->field,
        "%s: it cannot be told whether this runs something that an agent could change: "
        "%.200s; put the text into a script outside of the session's folders",
        c->field, what);
}

static bool is_above(const char *folder, const char *below)
{
    size_t n = strlen(folder);
    while (n && folder[n - 1] == '/')
        n--;
    return strncmp(folder, below, n) == 0 && (below[n] == '/' || below[n] == '\0');
}

/* A pattern may stand for any name in the folder before it. */
static int check_pattern(const struct checker *c, const char *text)
{
    char real[PATH_MAX];
    size_t n = strcspn(text, "*?[{");
    while (n && text[n - 1] != '/')
        n--;
    FREE_AT_END char *folder = mem_format("%s%.*s", text[0] == '/' ? "" : "/", (int)n, text);
    if (!strchr(text, '/') || !realpath(folder, real))
        return 0;
    for (size_t i = 0; i < c->reach->n; i++) {
        if (is_above(real, c->reach->folders[i].root->host))
            return reach_refuse(c->field, text, c->reach->folders[i].root->host, c->err);
    }
    return 0;
}

static bool changes_folder(struct str program)
{
    return str_is(program, "cd") || str_is(program, "pushd") || str_is(program, "chdir");
}

/* What follows is relative to it. */
static int check_cd(const struct checker *c, const struct shell_command *command)
{
    size_t i = command->assigns + 1;
    while (i < command->n && command->words[i].text.n && command->words[i].text.p[0] == '-')
        i++;
    const char *home = getenv("HOME");
    if (i >= command->n || str_is(command->words[i].text, "~"))
        return home ? check_word_path(c, home) : 0;
    const struct shell_word *word = &command->words[i];
    FREE_AT_END char *folder = mem_copy(word->text.p, word->text.n);
    if (strcmp(folder, "$HOME") == 0 || strcmp(folder, "${HOME}") == 0)
        return home ? check_word_path(c, home) : 0;
    if (folder[0] == '/' && !(word->flags & SHELL_EXPANDS))
        return 0;
    return behind_home(folder) && !strchr(folder + 1, '$')
               ? 0
               : not_understood(c, "cd to a folder that "
                                   "is not absolute");
}

/* Strings of a command line, read with care for the text of `sh -c`. */
struct words {
    const struct checker *checker;
    bool shell;    /* one of them was a shell's name */
    bool expected; /* the next word that is no option is that shell's text */
};

static int check_word(struct words *words, const char *word);

static int check_shell_word(struct words *words, const struct shell_word *word, bool is_shell)
{
    const struct checker *c = words->checker;
    FREE_AT_END char *text = mem_copy(word->text.p, word->text.n);
    if (is_shell && word->flags & SHELL_PATTERN && check_pattern(c, text) < 0)
        return -1;
    if (is_shell && text[0] == '~' && text[1] != '/' && text[1] && !(word->flags & SHELL_QUOTED))
        return not_understood(c, "another user's home");
    return check_word(words, text);
}

static int check_shell_command(const struct checker *c, const struct shell_command *command,
                               bool is_shell)
{
    struct words words = {.checker = c};
    for (size_t i = 0; i < command->n; i++) {
        if (check_shell_word(&words, &command->words[i], is_shell) < 0)
            return -1;
    }
    bool cd = is_shell && command->assigns < command->n &&
              changes_folder(command->words[command->assigns].text);
    return cd ? check_cd(c, command) : 0;
}

/* Where a word only may be a shell's text (it may be that of another machine's, or of Python), no more is made of it
 * than the paths in it. */
static int check_command_text(const struct checker *outer, const char *text, bool is_shell)
{
    struct checker c = *outer;
    struct shell_script script;
    struct err ignored;
    if (check_runs(&c, text) < 0)
        return -1;
    if (!is_shell && !strpbrk(text, " \t\n;&|\"'\\"))
        return 0;
    if (c.depth++ == DEPTH_MAX)
        return not_understood(&c, "texts of shells within each other");
    if (shell_read((struct str){text, strlen(text)}, &script, &ignored) < 0)
        return is_shell ? not_understood(&c, ignored.message) : 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < script.n; i++)
        r = check_shell_command(&c, &script.commands[i], is_shell);
    shell_done(&script);
    return r;
}

static bool is_text_option(const char *word)
{
    return word[0] == '-' && word[1] != '-' && strchr(word, 'c');
}

static int check_word(struct words *words, const char *word)
{
    bool is_text = words->expected && word[0] != '-';
    if (check_command_text(words->checker, word, is_text) < 0)
        return -1;
    words->expected = !is_text && (words->expected || (words->shell && is_text_option(word)));
    words->shell = words->shell || shells_have(str_of(word));
    return 0;
}

int reach_check_words(const struct reach *reach, const char *field, const struct str *words,
                      size_t count, struct err *err)
{
    const struct checker c = {.reach = reach, .field = field, .err = err};
    struct words read = {.checker = &c};
    for (size_t i = 0; i < count; i++) {
        if (check_word(&read, words[i].p) < 0)
            return -1;
    }
    return 0;
}

int reach_check_word(const struct reach *reach, const char *field, const char *word,
                     struct err *err)
{
    return check_command_text(&(struct checker){.reach = reach, .field = field, .err = err}, word,
                              false);
}

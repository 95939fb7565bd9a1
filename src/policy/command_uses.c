#include "policy/command_uses.h"

#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/command_walk.h"

/* Programs that only start another. An option that stands in no list makes the line one that is not understood: names of
 * options may be cut, and then one that is not known may take the next word. */
static const struct starter {
    const char *name;
    const char *flags;    /* a blank before and behind each */
    const char *values;   /* those that take a value: the next word, or behind `=` or the letter */
    unsigned operands;    /* before the program */
    const char *optional; /* those that take a value only behind `=` */
} starters[] = {
    {"nohup", NULL, NULL, 0},
    {"nice", NULL, " -n --adjustment ", 0},
    {"timeout", " --foreground --preserve-status -v --verbose ", " -k -s --kill-after --signal ",
     1},
    {"stdbuf", NULL, " -i -o -e --input --output --error ", 0},
    {"setsid", " -w --wait ", NULL, 0},
    {"xargs", " -0 -r -t -x --null --no-run-if-empty --verbose --exit ",
     " -n -P -L -s -d -I --max-args --max-procs --max-chars --delimiter ", 0, " --max-lines "},
    {"command", NULL, NULL, 0},
};

/* They start programs, or read commands, in ways that are not read. */
static const char unread[] =
    " ash at batch bpftrace builtin busybox capsh choom chroot chrt coproc crontab csh dash-static "
    "doas dos2unix entr env eval exec expect fakeroot firejail bwrap fish flock gdb ionice ksh lldb "
    "linux32 linux64 ltrace mksh nsenter parallel perf pkexec prlimit rbash run-parts runuser rush "
    "screen script setarch setpriv source . ssh sshpass stap start-stop-daemon strace su sudo "
    "systemd-run taskset tcsh time tmux torsocks toybox trap unbuffer uname26 unshare valgrind watch "
    "x86_64 i386 xvfb-run zsh ";

/* Builtins that change what other names mean, or evaluate what they are given. */
static const char changes[] =
    " alias bind caller compgen complete compopt declare disown enable export fc fg bg getopts hash "
    "history jobs let local logout mapfile popd pushd read readarray readonly return set shift shopt "
    "suspend times typeset ulimit umask unalias unset wait ";

bool command_is_unread(struct str name)
{
    return command_in_list(unread, name);
}

struct finder {
    struct command_uses *out;
    struct plain_fault *why;
    const struct command_around *around;
    size_t at;        /* of the command in the line itself */
    struct str moved; /* the last word that a `cd` had; n is 0 for none */
};

static int read_use(struct finder *f, struct command_use use);

static int fault(struct finder *f, const char *construct)
{
    f->why->at = f->at;
    f->why->construct = construct;
    return -1;
}

unsigned command_use_flags(const struct command_use *use, size_t word)
{
    struct str text = use->words[word].text;
    unsigned flags = use->words[word].flags;
    if (use->replaced.n && text.n && memmem(text.p, text.n, use->replaced.p, use->replaced.n))
        flags |= PLAIN_VARIES | (use->path ? 0 : PLAIN_ANY) | (use->many ? PLAIN_SPLITS : 0);
    return flags;
}

static bool is_fixed(const struct command_use *use, size_t word)
{
    return !(command_use_flags(use, word) & PLAIN_VARIES);
}

static int add_found_use(struct finder *f, const struct command_use *use)
{
    if (f->out->n == COMMAND_USES_MAX)
        return fault(f, "more than 64 commands");
    struct command_use *added = &f->out->all[f->out->n++];
    *added = *use;
    if (!added->moved.n)
        added->moved = f->moved;
    return 0;
}

bool command_is_here(struct str folder, const char *root)
{
    while (folder.n > 1 && folder.p[folder.n - 1] == '/')
        folder.n--;
    return command_is(folder, ".") || (root && command_is(folder, root));
}

/* Whether a `cd` succeeds, and whether it is for what follows or for a subshell, is not looked at: behind it nothing is
 * known to be where the line began, unless that is where it leads. */
static void note_move(struct finder *f, const struct command_use *use)
{
    struct str to = use->words[use->n - 1].text;
    if (use->n == 2 && !use->more_words && is_fixed(use, 1) && command_is_here(to, f->around->root))
        return;
    f->moved = use->n > 1 && to.n ? to : use->words[0].text;
}

static struct command_use use_behind(const struct command_use *use, size_t at)
{
    struct command_use inner = *use;
    inner.words += at;
    inner.n -= at;
    return inner;
}

/* --- texts for a shell */

static int read_shell_line(struct finder *f, struct str text, bool input)
{
    if (f->out->n_lines_ == COMMAND_LINES_MAX)
        return fault(f, "more than 7 texts for shells");
    struct plain_line *line = mem_zero(sizeof *line);
    f->out->lines_[f->out->n_lines_++] = line;
    bool outer = f->out->n_lines_ == 1;
    if (plain_read(text, line, f->why) < 0)
        return outer ? -1 : fault(f, f->why->construct);
    for (size_t i = 0; i < line->n; i++) {
        struct command_use use = {.words = line->commands[i].words,
                                  .n = line->commands[i].n,
                                  .input = input || line->commands[i].input};
        if (outer)
            f->at = line->commands[i].at;
        if (use.n == 0)
            return fault(f, "a redirection without a program");
        if (read_use(f, use) < 0)
            return -1;
    }
    return 0;
}

/* The letters of one word; `-o pipefail` takes the next one. Words used, or 0: not read. */
static size_t shell_option(const struct command_use *use, size_t i, bool *text)
{
    struct str word = use->words[i].text;
    for (size_t k = 1; k < word.n; k++) {
        if (!strchr("ceuxo", word.p[k]))
            return 0;
        *text |= word.p[k] == 'c';
        if (word.p[k] == 'o')
            return k + 1 == word.n && i + 1 < use->n &&
                           command_is(use->words[i + 1].text, "pipefail")
                       ? 2
                       : 0;
    }
    return 1;
}

/* `-c TEXT`, with no other options than those that make it stop at errors or show what it does. Without `-c` what runs is a
 * script's business: the shell counts as the program then. */
static int read_shell(struct finder *f, const struct command_use *use)
{
    size_t i = 1;
    bool text = false;
    while (i < use->n && is_fixed(use, i) && use->words[i].text.n > 1 &&
           use->words[i].text.p[0] == '-') {
        size_t n = shell_option(use, i, &text);
        if (n == 0)
            return fault(f, "an option of a shell that is not read");
        i += n;
    }
    if (!text)
        return use->more_words ? fault(f, "a shell whose script is known only when it runs")
                               : add_found_use(f, use);
    if (i >= use->n || use->more_words || !is_fixed(use, i))
        return fault(f, "a shell whose commands are known only when it runs");
    /* Other shells read `ls &>x rm` as two commands. */
    struct str line = use->words[i].text;
    if (!command_is(use->words[0].text, "bash") && line.n && memmem(line.p, line.n, "&>", 2))
        return fault(f, "`&>` in a text for a shell that is not bash");
    struct command_use whole = *use;
    whole.starts = true;
    return add_found_use(f, &whole) < 0 ? -1 : read_shell_line(f, line, use->input);
}

/* --- find */

/* Then what it finds begins with one of them, and is no option. */
static bool starts_are_fixed(const struct command_use *use)
{
    for (size_t i = 1; i < use->n; i++) {
        if (command_is(use->words[i].text, "-files0-from"))
            return false;
    }
    for (size_t i = 1; i < use->n && use->words[i].text.n && !strchr("(!", use->words[i].text.p[0]);
         i++) {
        if (command_use_flags(use, i) & PLAIN_ANY)
            return false;
        if (use->words[i].text.p[0] == '-')
            break;
    }
    return true;
}

/* Where the command ends that stands behind the `-exec` at `i`. */
static size_t exec_end(const struct command_use *use, size_t i)
{
    bool plus = command_find_takes_plus(use->words[i].text);
    for (size_t end = i + 1; end < use->n; end++) {
        struct str word = use->words[end].text;
        if (command_is(word, ";") ||
            (plus && command_is(word, "+") && command_is(use->words[end - 1].text, "{}")))
            return end;
    }
    return use->n;
}

static int read_find(struct finder *f, const struct command_use *use)
{
    if (add_found_use(f, use) < 0)
        return -1;
    for (size_t i = 1; i < use->n; i++) {
        if (!command_in_list(" -exec -execdir -ok -okdir ", use->words[i].text))
            continue;
        size_t end = exec_end(use, i);
        struct command_use inner = use_behind(use, i + 1);
        inner.n = end - i - 1;
        inner.replaced = STR("{}");
        inner.path = starts_are_fixed(use);
        inner.many = end < use->n && command_is(use->words[end].text, "+");
        if (command_in_list(" -execdir -okdir ", use->words[i].text))
            inner.moved = use->words[i].text;
        if (end == use->n || inner.n == 0 || use->more_words || use->replaced.n)
            return fault(f, "a `-exec` without its end");
        if (read_use(f, inner) < 0)
            return -1;
        i = end;
    }
    return 0;
}

/* --- those that put themselves before another */

static size_t option_length(const struct starter *starter, const struct command_use *use, size_t i)
{
    struct str word = use->words[i].text;
    const char *equals = word.n > 2 && word.p[1] == '-' ? memchr(word.p, '=', word.n) : NULL;
    struct str name = {word.p, equals ? (size_t)(equals - word.p) : word.n};
    if (command_in_list(starter->flags, word) || command_in_list(starter->optional, name))
        return 1;
    if (equals)
        return command_in_list(starter->values, name);
    if (command_in_list(starter->values, word))
        return 2;
    bool attached = word.n > 2 && word.p[1] != '-';
    return attached && command_in_list(starter->values, (struct str){word.p, 2});
}

/* What xargs puts its words in place of. A number of words or lines behind that takes it back. */
static void note_replaced(const struct command_use *use, size_t i, struct command_use *inner)
{
    struct str word = use->words[i].text;
    if (!command_is(use->words[0].text, "xargs"))
        return;
    if (str_begins(word, STR("-I"))) {
        inner->replaced = word.n > 2 ? (struct str){word.p + 2, word.n - 2}
                                     : use->words[i + 1].text;
        inner->more_words = use->more_words;
    } else if (str_begins(word, STR("-n")) || str_begins(word, STR("-L")) ||
               str_begins(word, STR("--max-args")) || str_begins(word, STR("--max-lines"))) {
        inner->more_words = true;
    }
}

static int read_starter_use(struct finder *f, const struct starter *starter,
                            const struct command_use *use)
{
    struct command_use whole = *use;
    struct command_use inner = *use;
    size_t i = 1;
    inner.more_words |= strcmp(starter->name, "xargs") == 0;
    while (i < use->n && is_fixed(use, i) && use->words[i].text.n > 1 &&
           use->words[i].text.p[0] == '-') {
        if (command_is(use->words[i].text, "--")) {
            i++;
            break;
        }
        size_t n = option_length(starter, use, i);
        if (n == 0 || i + n > use->n || (n == 2 && !is_fixed(use, i + 1)))
            return fault(f, "an option of a program that starts others, which is not read");
        note_replaced(use, i, &inner);
        i += n;
    }
    for (unsigned k = 0; k < starter->operands && i < use->n; k++, i++) {
        if (!is_fixed(use, i))
            return fault(f, "a program that is known only when it runs");
    }
    if (i >= use->n) {
        /* Nothing is started: xargs is `xargs echo`, the others say how they are used. */
        return use->more_words ? fault(f, "a program that is known only when it runs")
                               : add_found_use(f, use);
    }
    whole.starts = true;
    inner.words += i;
    inner.n -= i;
    return add_found_use(f, &whole) < 0 ? -1 : read_use(f, inner);
}

static const struct starter *find_starter(const struct command_use *use, struct str name)
{
    /* `command -v` only looks. */
    if (command_is(name, "command") && use->n > 1 && command_in_list(" -v -V ", use->words[1].text))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(starters); i++) {
        if (command_is(name, starters[i].name))
            return &starters[i];
    }
    return NULL;
}

static int read_use(struct finder *f, struct command_use use)
{
    struct str name = use.words[0].text;
    if (!is_fixed(&use, 0))
        return fault(f, "a program that is known only when it runs");
    struct str bare = path_name_of(name);
    /* By itself it lists variables. */
    bool lists = command_is(name, "env") && use.n == 1 && !use.more_words;
    if (!lists && command_is_unread(bare))
        return fault(f, "a program that starts others in a way that is not read");
    if (command_in_list(changes, bare))
        return fault(f, "a builtin that changes what other words mean");
    const struct starter *starter = find_starter(&use, bare);
    bool shell = command_in_list(" sh bash dash ", bare);
    bool find = command_is(bare, "find");
    if (bare.n < name.n && (starter || shell || find))
        return fault(f, "a program that starts others, named with its folder");
    if (starter)
        return read_starter_use(f, starter, &use);
    if (shell)
        return read_shell(f, &use);
    if (command_is(bare, "cd"))
        note_move(f, &use);
    return find ? read_find(f, &use) : add_found_use(f, &use);
}

int command_uses_read(struct str text, const struct command_around *around,
                      struct command_uses *ret, struct plain_fault *why)
{
    *ret = (struct command_uses){0};
    struct finder finder = {.out = ret, .why = why, .around = around};
    int r = read_shell_line(&finder, text, around->input);
    if (r < 0)
        command_uses_done(ret);
    return r;
}

void command_uses_done(struct command_uses *uses)
{
    for (size_t i = 0; i < uses->n_lines_; i++) {
        plain_done(uses->lines_[i]);
        free(uses->lines_[i]);
    }
    *uses = (struct command_uses){0};
}

#include "policy/program_starts.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "core/shells.h"
#include "policy/command_uses.h"
#include "policy/program_names.h"
#include "policy/program_places.h"
#include "policy/program_rows.h"
#include "policy/subcommand.h"

/* Into programs that others run, for one use. Where there are more of them, one may be any. */
#define LOOKS_MAX 16

enum start_flag {
    START_ONE_DASH = 1,  /* names have one dash or two, and are not cut */
    START_BARE = 2,      /* names are words without a dash */
    START_REST = 4,      /* a program with all of its words follows */
    START_ALL = 8,       /* every word may be the program */
    START_PLACE = 16,    /* its first word is; what stands in braces is replaced */
    START_CODE = 32,     /* the value is code: what it starts is named in it, if anything is */
    START_PLUS = 64,     /* so is the rest of a word that begins with `+` */
    START_BEFORE = 128,  /* only before the subcommand; the value is NAME=VALUE */
    START_HOLDS = 256,   /* a word that has this text in it names a program */
    START_ASSIGNS = 512, /* names are variables: NAME=value */
};

/* How a program is told to start another one. Lists have a blank before and behind each name. */
static const struct start {
    const char *programs;
    const char *subcommands; /* NULL: all */
    const char *letters;
    const char *names;
    unsigned flags;
    const char *ends; /* letters whose value is the rest of the word */
} starts[] = {
    {" git ", NULL, NULL, NULL, START_BEFORE, NULL},
    {" git ", NULL, NULL, " :: ", START_HOLDS, NULL},
    {" git ", NULL, NULL, " upload-pack receive-pack exec exec-path ", 0, NULL},
    {" git ", " clone ", "u", NULL, 0, NULL},
    {" git ", " rebase ", "x", NULL, 0, NULL},
    {" git ", " bisect ", NULL, " run ", START_BARE | START_REST, NULL},
    {" git ", " submodule ", NULL, " foreach ", START_BARE | START_REST, NULL},
    {" git ", " filter-branch ", NULL,
     " setup tree-filter index-filter env-filter msg-filter parent-filter commit-filter "
     "tag-name-filter ",
     0, NULL},
    {" git ", " difftool ", "x", " extcmd ", 0, NULL},
    {" git ", " grep ", "O", " open-files-in-pager ", 0, NULL},
    {" fd ", NULL, "xX", " exec exec-batch ", START_REST, "eEtdcSgj"},
    {" parallel rush xe ", NULL, NULL, NULL, START_PLACE, NULL},
    {" rg ", NULL, NULL, " pre hostname-bin ", START_ONE_DASH, NULL},
    {" ag ack ack-grep bat delta ", NULL, NULL, " pager ", START_ONE_DASH, NULL},
    {" fzf ", NULL, NULL, " preview bind with-shell ", START_ONE_DASH, NULL},
    {" sort ", NULL, NULL, " compress-program ", 0, NULL},
    {" split ", NULL, NULL, " filter ", 0, NULL},
    {" install ", NULL, NULL, " strip-program ", 0, NULL},
    {" sdiff diff3 ", NULL, NULL, " diff-program ", 0, NULL},
    {" man apropos whatis ", NULL, "PH", " pager html ", 0, "CLRMSe"},
    {" tar gtar ", NULL, "IF",
     " checkpoint-action to-command use-compress-program info-script new-volume-script rsh-command "
     "rmt-command set-mtime-command ",
     0, "CfbgHKLNTVX"},
    {" bsdtar ", NULL, NULL, " use-compress-program ", 0, NULL},
    {" cpio ", NULL, NULL, " rsh-command ", 0, NULL},
    {" zip ", NULL, NULL, " TT unzip-command ", START_ONE_DASH, NULL},
    {" rsync ", NULL, "e", " rsh rsync-path ", 0, "BMTf@"},
    {" scp sftp ", NULL, "So", NULL, 0, "cDFiJlPX"},
    {" nc ", NULL, "ec", " exec sh-exec ", 0, NULL},
    {" wget wget2 aria2c ", NULL, NULL, " use-askpass ", 0, NULL},
    {" less ", NULL, NULL, NULL, START_PLUS, NULL},
    {" vim ex view rvim red vimdiff gvim ", NULL, "c", " cmd ", START_PLUS, "STuUwWi"},
    {" emacs emacsclient ", NULL, "e", " eval execute funcall ", START_ONE_DASH, NULL},

    {" make ", NULL, "E", " eval ", 0, "CfIjloW"},
    {" make ", NULL, NULL, " SHELL MAKE MAKEFLAGS .SHELLFLAGS ", START_ASSIGNS, NULL},
    {" cmake ", NULL, NULL, " E ", START_ONE_DASH | START_REST, NULL},
    {" go ", NULL, NULL, " exec toolexec vettool fixtool ", START_ONE_DASH, NULL},
    {" cargo ", NULL, NULL, " config ", 0, NULL},
    {" gcc g++ cc c++ cpp gfortran clang clang++ ", NULL, NULL, " wrapper ", START_ONE_DASH, NULL},
    {" just ", NULL, NULL, " shell shell-arg command chooser ", START_ONE_DASH, NULL},
    {" meson ", NULL, NULL, " wrapper wrap gdb-path ", START_ONE_DASH, NULL},
    {" gotestsum ", NULL, NULL, " post-run-command ", START_ONE_DASH, NULL},
    {" npm npx pnpm pnpx yarn bun bunx ", NULL, NULL,
     " script-shell shell node-options viewer editor browser call ", START_ONE_DASH, NULL},
    {" npm npx pnpm pnpx ", NULL, "c", NULL, 0, "Cpw"},
    {" npm pnpm yarn bun ", " exec x dlx ", NULL, " exec x dlx ", START_BARE | START_REST, NULL},
    {" pipx ", " run ", NULL, " run ", START_BARE | START_REST, NULL},
    {" cargo ", " run r ", NULL, " runner ", 0, NULL},
    {" rustup ", " run ", NULL, NULL, START_ALL, NULL},
    {" dlv direnv mise asdf nix nix-shell guix proot hyperfine watchexec reflex rlwrap faketime "
     "eatmydata numactl cpulimit dbus-run-session ssh-agent gosu su-exec tini dumb-init caffeinate "
     "chronic ifne proxychains torify winpty schroot runcon devbox apptainer singularity bear "
     "scan-build ccache sccache distcc icecc heaptrack rr gdbserver nodemon concurrently cross-env "
     "dotenv wireit socat corepack apply xapply perlbrew ld.so ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 "
     "ld-musl-x86_64.so.1 ld-musl-aarch64.so.1 ld-linux.so.2 daemonize dbus-launch envchain "
     "chpst setuidgid softlimit envdir s6-setuidgid execlineb runsvdir daemon nq tsp task-spooler pueue gtk-launch xterm "
     "gnome-terminal konsole alacritty wezterm urxvt dtach abduco asciinema ttyrec termtosvg websocketd tcpserver autossh "
     "gprofng catchsegv fakechroot nsjail minijail0 systemd-inhibit nocache cgexec schedtool cset expect_unbuffer mosh ",
     NULL, NULL, NULL, START_ALL, NULL},
    {" pyenv rbenv nodenv goenv jenv plenv fnm volta nvm rye pixi opam ", NULL, NULL,
     " exec run x ", START_BARE | START_REST, NULL},
    {" docker podman nerdctl docker-compose ", " exec compose container ", NULL,
     " exec run create ", START_BARE, NULL},
    {" kubectl oc ", " exec run debug ", NULL, " -- ", START_BARE | START_REST, NULL},
    {" docker podman nerdctl docker-compose ", " run create ", NULL, NULL, 0, NULL},
    {" podman buildah ", NULL, NULL, " unshare ", START_BARE | START_REST, NULL},
    {" tox nox lxc incus multipass distrobox toolbox doppler op chamber aws-vault infisical teller dotenvx "
     "zellij lxc-attach vault fab ",
     NULL, NULL, " -- ", START_BARE | START_REST, NULL},
    {" lxc-attach systemd-nspawn machinectl byobu pm2 ", NULL, NULL, NULL, START_ALL, NULL},
    {" cargo ", " watch ", "sx", " shell exec ", 0, NULL},
    {" ansible ", NULL, "a", " args ", 0, NULL},
    {" strace ", NULL, "o", " output ", 0, "abeEIOpPsSuUX"},
    {" mvn ", NULL, NULL, " -Dexec. ", START_HOLDS, NULL},
    {" prove ", NULL, "e", " exec ", 0, "IjPsM"},

    {" mapfile readarray complete compgen ", NULL, "C", NULL, 0, NULL},
    /* Shells by a name of their own are not read. */
    {" bash sh dash zsh ksh yash lksh posh osh ysh elvish nu xonsh rc es sash hush murex ion static-sh bash-static git-shell ",
     NULL, "c", " command commands ", START_CODE, "oO"},
    {" ipython bpython jython micropython guile ", NULL, "c", NULL, START_CODE, NULL},
    {" jruby irb tsx ts-node qjs d8 jjs ghc scala kotlin clojure clj bb racket csi iex mix ocaml swift csharp puppet "
     "chef-apply ",
     NULL, "e", " eval execute print ", START_CODE, NULL},
    {" sbcl octave fsi php ", NULL, NULL, " eval load exec execute ", START_CODE, NULL},
    {" erl matlab ", NULL, NULL, " eval batch r ", START_ONE_DASH | START_CODE, NULL},
    {" swipl ", NULL, "g", NULL, START_CODE, NULL},
    {" nix-instantiate nix ", NULL, "E", " expr ", START_CODE, NULL},
    {" rails wp drush ", NULL, NULL, " runner r eval php:eval php-eval ", START_BARE | START_CODE,
     NULL},
    {" manage django-admin ", NULL, "c", " command ", START_CODE, NULL},
    {" sqlite3 ", NULL, NULL, " .shell ", START_HOLDS, NULL},
    {" sqlite3 ", NULL, NULL, " .system ", START_HOLDS, NULL},
    {" perl ", NULL, "eE", NULL, START_CODE, "MmIxFiC0l"},
    {" perl ", NULL, "Mmd", NULL, 0, "eEIxFiC0l"},
    {" python pypy ", NULL, "c", NULL, START_CODE, "WXm"},
    {" python pypy ", NULL, "m", NULL, 0, "WXc"},
    {" node ", NULL, "ep", " eval print ", START_CODE, "r"},
    {" deno ", " eval ", NULL, " eval ", START_BARE | START_CODE, NULL},
    {" bun ", NULL, "ep", " eval print ", START_CODE, NULL},
    {" ruby raku perl6 lua luajit Rscript R julia osascript groovy elixir jshell plackup cperl ",
     NULL, "eE", " eval ", START_CODE, "rIC"},
    {" php ", NULL, "rRBE", " run ", START_CODE, "dcz"},
    {" pwsh powershell ", NULL, "c", " command Command c ", START_ONE_DASH | START_CODE, NULL},
};

/* --- the value of an option */

static bool is_open_word(const struct command_view *view, size_t i)
{
    return i < view->n ? !word_is_fixed(view, &view->words[i]) : view->more_words;
}

static bool any_open(const struct command_view *view, size_t from)
{
    for (size_t i = from; i < view->n; i++) {
        if (is_open_word(view, i))
            return true;
    }
    return view->more_words;
}

static bool code_may_start(struct str code)
{
    static const char *const words[] = {
        "system", "exec",    "popen",    "spawn", "subprocess", "eval",  "qx",      "`",   "open3",
        "shell",  "Process", "passthru", "proc_", "fork",       "child", "Command", "os.", "IO."};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (code.n && memmem(code.p, code.n, words[i], strlen(words[i])))
            return true;
    }
    return false;
}

/* What it starts may come from its input, its arguments or its variables, or is put together of characters. */
static bool code_starts_what_it_reads(struct str code)
{
    static const char *const begins[] = {"system",     "exec",  "popen",    "spawn",   "subprocess",
                                         "qx",         "`",     "passthru", "proc_op", "Command",
                                         "shell_exec", "open3", "run("};
    static const char *const reads[] = {
        "$_",     "<>",       "<STDIN", "STDIN.",       "stdin.",   "ARGV",   "argv",
        "input(", "readline", "gets",   "environ",      "getenv",   "ENV{",   "ENV[",
        "env.",   "chr(",     "pack(",  "fromCharCode", "atob",     "b64",    "fromhex",
        "[::-1]", "reverse",  "<&",     "$F[",          "unescape", "base64_"};
    bool starts_some = false;
    for (size_t i = 0; i < ARRAY_LEN(begins) && code.n; i++)
        starts_some |= memmem(code.p, code.n, begins[i], strlen(begins[i])) != NULL;
    for (size_t i = 0; i < ARRAY_LEN(reads) && starts_some; i++) {
        if (memmem(code.p, code.n, reads[i], strlen(reads[i])))
            return true;
    }
    return false;
}

/* Code with a gap in it, or with words that it is given: only what does not look as if it started something. */
static bool code_is_open(const struct command_view *view, size_t i)
{
    if (i >= view->n)
        return view->more_words;
    const struct shell_word *word = &view->words[i];
    return command_word_is_open(word) || (code_may_start(word->text) && any_open(view, i)) ||
           code_starts_what_it_reads(word->text);
}

bool program_starts_again(struct str name)
{
    return shells_have(name) || command_wrap_find(name) || command_is_unread(name);
}

/* What stands in a text again and again must not be looked through again and again. */
static bool take_look(const struct command_view *view)
{
    if (!view->looks || *view->looks == 0)
        return false;
    --*view->looks;
    return true;
}

/* `{}` of fd. */
static bool any_has_braces(const struct command_view *view, size_t from)
{
    for (size_t i = from; i < view->n; i++) {
        if (view->words[i].text.n && memchr(view->words[i].text.p, '{', view->words[i].text.n))
            return true;
    }
    return false;
}

/* A program with its words. */
static bool rest_is_open(const struct command_view *view, size_t i)
{
    char room[COMMAND_NAME_MAX];
    if (!take_look(view))
        return true;
    while (i < view->n && !is_open_word(view, i) && view->words[i].text.n &&
           view->words[i].text.p[0] == '-')
        i++;
    if (is_open_word(view, i) || i >= view->n)
        return is_open_word(view, i);
    return (program_starts_again(command_name(&view->words[i], room)) &&
            (any_open(view, i + 1) || any_has_braces(view, i + 1))) ||
           program_inner_open(view, i);
}

static bool value_is_open(const struct start *start, const struct command_view *view, size_t i,
                          bool attached)
{
    size_t at = attached ? i : i + 1;
    if (start->flags & START_REST)
        return rest_is_open(view, at);
    if (start->flags & START_CODE && !attached)
        return code_is_open(view, at);
    return is_open_word(view, at);
}

/* --- one word */

/* Settings that name no program. */
static bool is_harmless_setting(struct str text)
{
    static const char *const begin[] = {
        "user.",          "advice.",        "color.",      "commit.",
        "init.default",   "safe.",          "core.quote",  "core.autocrlf=",
        "core.fileMode=", "core.filemode=", "log.",        "diff.renames",
        "merge.conflict", "push.",          "pull.",       "fetch.",
        "http.",          "i18n.",          "protocol.",   "gc.auto",
        "pack.",          "transfer.",      "branch.",     "tag.sort",
        "column.",        "status.",        "rebase.auto", "submodule.recurse"};
    for (size_t i = 0; i < ARRAY_LEN(begin); i++) {
        if (str_begins(text, str_of(begin[i])))
            return true;
    }
    return false;
}

static bool is_start_name(const struct start *start, struct str name)
{
    bool whole = start->flags & (START_ONE_DASH | START_BARE);
    for (const char *at = start->names; at && *(at += strspn(at, " "));) {
        struct str one = {at, strcspn(at, " ")};
        if (str_equal(one, name) || (!whole && name.n > 1 && str_begins(one, name)))
            return true;
        at += one.n;
    }
    return false;
}

static bool long_option_is_open(const struct start *start, const struct command_view *view,
                                size_t i)
{
    struct str word = view->words[i].text;
    size_t dashes = word.n > 2 && word.p[1] == '-' ? 2 : 1;
    const char *equals = memchr(word.p, '=', word.n);
    struct str name = {word.p + dashes, (equals ? (size_t)(equals - word.p) : word.n) - dashes};
    if (dashes == 1 && !(start->flags & START_ONE_DASH))
        return false;
    return is_start_name(start, name) && value_is_open(start, view, i, equals != NULL);
}

static bool letter_is_open(const struct start *start, const struct command_view *view, size_t i)
{
    struct str word = view->words[i].text;
    for (size_t k = 1; start->letters && word.p[1] != '-' && k < word.n; k++) {
        char c = word.p[k];
        if (c && strchr(start->letters, c))
            return value_is_open(start, view, i, k + 1 < word.n);
        if (!isalnum((unsigned char)c) || (start->ends && strchr(start->ends, c)))
            return false;
    }
    return false;
}

/* `-c NAME=VALUE`; the value of `--config-env` is in a variable, which nothing is known about. */
static bool setting_is_open(const struct command_view *view, size_t i)
{
    static const char by_variable[] = "--config-env=";
    struct str word = view->words[i].text;
    size_t named = sizeof by_variable - 1;
    if (str_begins(word, STR("--config-e")))
        return !(str_begins(word, str_of(by_variable)) &&
                 is_harmless_setting((struct str){word.p + named, word.n - named}));
    bool attached = word.n > 2;
    size_t at = attached ? i : i + 1;
    if (!str_begins(word, STR("-c")) || at >= view->n)
        return false;
    struct str text = view->words[at].text;
    size_t skip = attached ? 2 : 0;
    return is_open_word(view, at) &&
           !is_harmless_setting((struct str){text.p + skip, text.n - skip});
}

static bool assigns_name(const struct start *start, struct str word)
{
    const char *equals = word.n ? memchr(word.p, '=', word.n) : NULL;
    return equals && is_start_name(start, (struct str){word.p, (size_t)(equals - word.p)});
}

static bool word_starts_open(const struct start *start, const struct command_view *view, size_t i)
{
    struct str word = view->words[i].text;
    if (start->flags & START_HOLDS)
        return is_open_word(view, i) && word.n &&
               memmem(word.p, word.n, start->names + 1, strlen(start->names) - 2);
    if (start->flags & START_BEFORE)
        return setting_is_open(view, i);
    if (start->flags & START_BARE)
        return is_start_name(start, word) && start->flags & (START_REST | START_CODE) &&
               value_is_open(start, view, i, false);
    if (start->flags & START_ASSIGNS)
        return is_open_word(view, i) && assigns_name(start, word);
    if (start->flags & START_PLUS && word.n > 1 && word.p[0] == '+')
        return is_open_word(view, i);
    return word.n > 1 && word.p[0] == '-' &&
           (long_option_is_open(start, view, i) || letter_is_open(start, view, i));
}

/* --- the whole use */

static bool start_is_for(const struct start *start, const struct program_use *use, struct str name,
                         struct str plain)
{
    const char *blank = use->subcommand.n ? memchr(use->subcommand.p, ' ', use->subcommand.n)
                                          : NULL;
    struct str first = {use->subcommand.p,
                        blank ? (size_t)(blank - use->subcommand.p) : use->subcommand.n};
    if (!program_in(start->programs, name) && !program_in(start->programs, plain))
        return false;
    return !start->subcommands || command_in_list(start->subcommands, first);
}

static bool start_is_open(const struct start *start, const struct program_use *use)
{
    const struct command_view *view = use->view;
    if (start->flags & START_PLACE)
        return program_of_input_open(view);
    if (start->flags & START_ALL)
        return any_open(view, 1);
    size_t end = start->flags & START_BEFORE && use->at < view->n ? use->at : view->n;
    for (size_t i = 1; i < end; i++) {
        if (word_starts_open(start, view, i))
            return true;
    }
    return false;
}

struct names {
    struct str name;
    struct str plain;
    char rooms[2][COMMAND_NAME_MAX];
};

static void read_start_names(const struct program_use *use, struct names *ret)
{
    char room[PROGRAM_NAME_ROOM];
    ret->name = command_name(&use->view->words[0], ret->rooms[0]);
    ret->plain = program_plain_name(ret->name, room);
    ret->plain.n = ret->plain.n < COMMAND_NAME_MAX ? ret->plain.n : 0;
    memcpy(ret->rooms[1], ret->plain.p, ret->plain.n);
    ret->plain.p = ret->rooms[1];
}

static bool starts_open(const struct program_use *use)
{
    struct names names;
    read_start_names(use, &names);
    if (names.name.n == 0 || names.plain.n == 0)
        return false;
    if (program_is_script(names.name) || program_is_script(names.plain))
        return program_script_open(use->view, names.plain);
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        if (start_is_for(&starts[i], use, names.name, names.plain) &&
            start_is_open(&starts[i], use))
            return true;
    }
    return program_places_open(use, names.plain) || program_runs_open(use);
}

bool program_starts_open(const struct program_use *use)
{
    unsigned looks = LOOKS_MAX;
    struct command_view view = *use->view;
    struct program_use whole = *use;
    view.looks = &looks;
    whole.view = &view;
    return starts_open(&whole);
}

bool program_inner_open(const struct command_view *outer, size_t at)
{
    char other[COMMAND_NAME_MAX];
    if (!take_look(outer))
        return true;
    struct command_view view = *outer;
    view.words += at;
    view.n -= at;
    struct subcommand sub = {BUF_INIT(SHELL_TEXT_MAX), view.n, true, true, view.n};
    const struct program *program = program_find(command_name(&view.words[0], other));
    if (program && !program_has_targets(program))
        subcommand_read(&view, program, &sub);
    struct program_use use = {&view, buf_str(&sub.text), sub.at, sub.sure, sub.last};
    bool open = starts_open(&use);
    buf_done(&sub.text);
    return open;
}

bool program_starts_words(const struct program_use *use)
{
    struct names names;
    read_start_names(use, &names);
    for (size_t i = 0; i < ARRAY_LEN(starts) && names.name.n && names.plain.n; i++) {
        const struct start *start = &starts[i];
        bool words = start->flags & (START_ALL | START_PLACE) ||
                     (start->flags & START_BARE && !(start->flags & START_CODE)) ||
                     (start->subcommands && !start->letters && !start->names);
        if (words && start_is_for(start, use, names.name, names.plain))
            return true;
    }
    return false;
}

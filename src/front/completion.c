/* `sandgate completion`: scripts for shells, made from the tables of commands, verbs and options. Which belong to a command is
 * what its own help says. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "front/commands.h"
#include "front/front.h"
#include "front/setup_parts.h"
#include "front/verbs.h"

#define OUT_MAX (1u << 20)

struct command_words {
    const struct subcommand *command;
    unsigned options;
    const struct verb *verbs;
};

/* What is called for each command. */
typedef void (*write_words)(const struct command_words *words, struct buf *out);

struct shell {
    const char *name;
    const char *head;
    write_words each;
    const char *tail;
};

static struct command_words completion_words_of(const struct subcommand *command)
{
    static char help[] = "--help";
    char *const word[] = {help, NULL};
    BUF_AT_END struct buf unread = BUF_INIT(OUT_MAX);
    (void)verbs_helped();
    struct buf none = {0};
    options_help(0, &none);
    buf_done(&none);
    front_put_into(&unread);
    command->run(1, word);
    front_put_into(NULL);
    return (struct command_words){command, options_helped(), verbs_helped()};
}

/* In single quotes, as all three shells read it: nothing between them is special but their end, and in fish the backslash. */
static void add_quoted(struct buf *out, const char *text)
{
    buf_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_add_text(out, "'\\''");
        else if (*text == '\\')
            buf_add_text(out, "\\\\");
        else
            buf_add_char(out, *text);
    }
    buf_add_char(out, '\'');
}

static bool takes_folder(const struct option_words *o)
{
    return o->value && strcmp(o->value, "DIR") == 0;
}

/* What may stand behind a command besides options: verbs, or words of a table of ours. NULL: the last was before. */
static const char *word_at(const struct command_words *w, size_t i, const char **ret_doc)
{
    static const char *const shells[] = {"bash", "zsh", "fish", NULL};
    *ret_doc = "";
    if (w->command->run == front_completion)
        return shells[i < 3 ? i : 3];
    if (w->command->run == front_setup) {
        *ret_doc = i < setup_client_count ? setup_clients[i].title : "";
        return i < setup_client_count ? setup_clients[i].name : NULL;
    }
    if (strcmp(w->command->name, "help") == 0) {
        const struct subcommand *command = commands_at(i);
        *ret_doc = command ? command->doc : "";
        return command ? command->name : NULL;
    }
    *ret_doc = w->verbs && w->verbs[i].name ? w->verbs[i].doc : "";
    return w->verbs ? w->verbs[i].name : NULL;
}

/* --- bash */

static void write_bash(const struct command_words *w, struct buf *out)
{
    struct option_words o;
    const char *word;
    const char *doc;
    buf_addf(out, "    %s)\n        options='--help", w->command->name);
    for (size_t i = 0; options_words(w->options, i, &o); i++)
        buf_addf(out, " --%s", o.name);
    buf_add_text(out, "'\n        words='");
    for (size_t i = 0; (word = word_at(w, i, &doc)); i++)
        buf_addf(out, "%s%s", i ? " " : "", word);
    buf_add_text(out, "'\n        values='");
    for (size_t i = 0; options_words(w->options, i, &o); i++) {
        if (o.value)
            buf_addf(out, " --%s%s", o.name, takes_folder(&o) ? "/" : "");
    }
    buf_add_text(out, " ' ;;\n");
}

static const char bash_head[] =
    "# Completes command lines of sandgate in bash. Made by `sandgate completion bash`.\n"
    "_sandgate() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local options='--help --version' words='' values='' i\n"
    "    COMPREPLY=()\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        [ \"${COMP_WORDS[i]}\" != -- ] || return 0\n"
    "    done\n"
    "    case $([ \"$COMP_CWORD\" -eq 1 ] || echo \"${COMP_WORDS[1]}\") in\n";

static const char bash_tail[] =
    "    '') words=$_sandgate_commands ;;\n"
    "    esac\n"
    "    case $values in\n"
    "    *\" $before/ \"*) COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n"
    "    *\" $before \"*) return ;;\n"
    "    esac\n"
    "    case $word in\n"
    "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
    "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
    "    esac\n"
    "}\n"
    "complete -o default -F _sandgate sandgate\n";

/* --- zsh */

/* A name and what it means, for _describe. */
static void add_zsh(struct buf *out, const char *dashes, const char *name, const char *doc)
{
    FREE_AT_END char *both = mem_format("%s%s:%s", dashes, name, doc);
    buf_add_char(out, ' ');
    add_quoted(out, both);
}

static void write_zsh(const struct command_words *w, struct buf *out)
{
    struct option_words o;
    const char *word;
    const char *doc;
    buf_addf(out, "    %s)\n        options=('--help:explains it'", w->command->name);
    for (size_t i = 0; options_words(w->options, i, &o); i++)
        add_zsh(out, "--", o.name, o.doc);
    buf_add_text(out, ")\n        verbs=(");
    for (size_t i = 0; (word = word_at(w, i, &doc)); i++)
        add_zsh(out, "", word, doc);
    buf_add_text(out, ") ;;\n");
}

static const char zsh_head[] =
    "#compdef sandgate\n"
    "# Completes command lines of sandgate in zsh. Made by `sandgate completion zsh`.\n"
    "_sandgate() {\n"
    "    local -a options verbs\n"
    "    if ((CURRENT == 2)); then\n"
    "        _describe -t commands command _sandgate_commands\n"
    "        return\n"
    "    fi\n"
    "    if ((${words[(I)--]} && ${words[(I)--]} < CURRENT)); then\n"
    "        _normal\n"
    "        return\n"
    "    fi\n"
    "    case $words[2] in\n";

static const char zsh_tail[] = "    esac\n"
                               "    if [[ $PREFIX == -* ]]; then\n"
                               "        _describe -o -t options option options\n"
                               "    elif ((CURRENT == 3 && $#verbs)); then\n"
                               "        _describe -t verbs verb verbs\n"
                               "    else\n"
                               "        _files\n"
                               "    fi\n"
                               "}\n"
                               "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
                               "    _sandgate \"$@\"\n"
                               "else\n"
                               "    compdef _sandgate sandgate\n"
                               "fi\n";

/* --- fish */

static void write_fish(const struct command_words *w, struct buf *out)
{
    struct option_words o;
    const char *word;
    const char *doc;
    const char *name = w->command->name;
    buf_addf(out, "complete -c sandgate -f -n __fish_use_subcommand -a %s -d ", name);
    add_quoted(out, w->command->doc);
    buf_add_char(out, '\n');
    for (size_t i = 0; options_words(w->options, i, &o); i++) {
        buf_addf(out, "complete -c sandgate -n '__fish_seen_subcommand_from %s' -l %s%s -d ", name,
                 o.name,
                 !o.value           ? ""
                 : takes_folder(&o) ? " -x -a '(__fish_complete_directories)'"
                                    : " -r");
        add_quoted(out, o.doc);
        buf_add_char(out, '\n');
    }
    for (size_t i = 0; (word = word_at(w, i, &doc)); i++) {
        buf_addf(out, "complete -c sandgate -f -n '__fish_seen_subcommand_from %s' -a %s -d ", name,
                 word);
        add_quoted(out, doc);
        buf_add_char(out, '\n');
    }
}

static const char fish_head[] =
    "# Completes command lines of sandgate in fish. Made by `sandgate completion fish`.\n"
    "complete -c sandgate -l help -d 'explains it'\n";

/* --- the command */

static const struct shell known_shells[] = {
    {"bash", bash_head, write_bash, bash_tail},
    {"zsh", zsh_head, write_zsh, zsh_tail},
    {"fish", fish_head, write_fish, ""},
};

/* The commands themselves, where the script needs a list of them. */
static void add_command_list(const struct shell *shell, struct buf *out)
{
    const struct subcommand *command;
    bool bash = shell->each == write_bash;
    if (shell->each == write_fish)
        return;
    buf_add_text(out, bash ? "_sandgate_commands='" : "_sandgate_commands=(");
    for (size_t i = 0; (command = commands_at(i)); i++) {
        if (bash)
            buf_addf(out, "%s%s", i ? " " : "", command->name);
        else
            add_zsh(out, "", command->name, command->doc);
    }
    buf_add_text(out, bash ? "'\n" : ")\n");
}

static void write_script(const struct shell *shell, struct buf *out)
{
    const struct subcommand *command;
    /* The first line is zsh's own. */
    size_t first = strcspn(shell->head, "\n") + 1;
    buf_add(out, shell->head, first);
    add_command_list(shell, out);
    buf_add_text(out, shell->head + first);
    for (size_t i = 0; (command = commands_at(i)); i++) {
        struct command_words words = completion_words_of(command);
        shell->each(&words, out);
    }
    buf_add_text(out, shell->tail);
}

static void help_completion(struct buf *out)
{
    buf_add_text(out, "usage: sandgate completion bash | zsh | fish\n\n"
                      "Prints a script. `make install` puts all three where the shells look for "
                      "them; else, for this user:\n"
                      "  sandgate completion bash >~/.local/share/bash-completion/completions/"
                      "sandgate\n"
                      "  sandgate completion zsh >~/.zfunc/_sandgate    (~/.zfunc in fpath before "
                      "compinit)\n"
                      "  sandgate completion fish >~/.config/fish/completions/sandgate.fish\n");
}

int front_completion(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    BUF_AT_END struct buf out = BUF_INIT(OUT_MAX);
    if (options_read(argc, argv, 0, 1, &o, &err) < 0)
        return front_usage_error(&err);
    const struct shell *shell = NULL;
    for (size_t i = 0; o.n_words && i < ARRAY_LEN(known_shells); i++) {
        if (strcmp(known_shells[i].name, o.words[0]) == 0)
            shell = &known_shells[i];
    }
    if (!o.help && !shell) {
        err_set(&err, ERR_INVALID_ARGUMENTS, "say one of: bash, zsh, fish; see --help");
        return front_usage_error(&err);
    }
    if (o.help)
        help_completion(&out);
    else
        write_script(shell, &out);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

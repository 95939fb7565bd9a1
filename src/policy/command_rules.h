/* Rules about commands, judged on their text. Pure: no file is looked at.
 *
 * They are a courtesy: a model learns early, and in words, what it should not try. They do not contain
 * anything; the kernel's sandbox does. A program that is named only when it runs (`$CC`, `$(which x)`), a
 * script that is run from a file or from a pipe, and code in another language are not looked into.
 *
 * A refusal is ERR_COMMAND_BLOCKED; `err.reason` holds the rule's name (`blocked:sudo`, `chaining:&&`) and the
 * message names it too. A command that cannot be read is ERR_INVALID_ARGUMENTS about the field `command`. */
#ifndef SANDGATE_POLICY_COMMAND_RULES_H
#define SANDGATE_POLICY_COMMAND_RULES_H

#include "base/err.h"

/* Which uses of a program a row is about. */
enum command_form {
    COMMAND_ANY,
    /* chmod with a mode that leaves everything to everyone: 777, 0777, 1777, a+rwx, u=rwx,go=u. */
    COMMAND_CHMOD_777,
    /* rm, recursive and forced, of something that begins with `/` or `~`. A target that begins with an
     * expansion counts as such, whatever the variable, and so do those that xargs reads: the rule cannot
     * be kept where the target is not known, and writing it out is easy. Those that find hands over count
     * as the folders it starts in. */
    COMMAND_RM_FORCE,
};

struct command_block {
    const char *rule;
    const char *program; /* its name without folder; a `*` at the end stands for any rest */
    enum command_form form;
    const char *advice; /* for the model */
};

struct command_rules {
    bool allow_chaining; /* ; && || & newline backticks $( ) <( ) and compound commands */
    const struct command_block *blocks;
    size_t n_blocks;
};

/* The rules of the sidecar's run_command: no chaining, and its list of programs and forms. */
extern const struct command_rules command_rules_sidecar;

/* Pipes and redirections pass. Programs are found wherever a command begins: in every part of the line, behind
 * assignments, `env`, `nohup`, `xargs`, `find -exec` and the like, and in the text for `sh -c` and `eval`, to
 * which all rules apply again. */
int command_check(struct str text, const struct command_rules *rules, struct err *err);

/* For a program that is started without a shell. An entry with a `/` is a whole path, any other a name without
 * folder. Denied entries are compared with the path that was found and with the file it leads to, all links resolved.
 * Of allowed ones both must pass: the name that was called has to be that of an entry, and the file one that this
 * entry leads to (`files`), so that neither a link nor a program of the workspace passes under an allowed name.
 * The rules are `denied:ENTRY` and `allowed`; the message says which of the two failed. */
struct command_lists {
    bool allow_all; /* the list of allowed ones is unset */
    const struct str *allowed;
    size_t n_allowed;
    const struct str *denied;
    size_t n_denied;
    const struct str *files; /* what the allowed entries of that name lead to, links resolved */
    size_t n_files;
};

/* Characters that no name of a program has in a rule or in a list. */
#define COMMAND_NAME_NEVER "*?;\"'|&<>$()`\\{}"

/* Whether an entry can name a program: no options or patterns, and no folder. */
bool command_entry_is_program(struct str entry);

/* By the name alone, before any file is looked at. */
int command_check_name(struct str called, const struct command_lists *lists, struct err *err);
int command_check_program(struct str called, struct str resolved, const struct command_lists *lists,
                          struct err *err);
/* Whether they agree in their last part. */
bool command_names_program(struct str entry, struct str called);

/* What a command line runs, as an approval rule would say it: `git` `commit`, `npm` `run test`, `ls` ``. */
struct command_pair {
    char *program;    /* as written, so that `./git` is not `git`; "" when it is not known */
    char *subcommand; /* "" when the program has none that we know of */
    /* An approval of the program holds for this use of it: the line is understood, and no option makes it run
     * other programs, write files or read another configuration. */
    bool exact;
    bool exact_subcommand; /* and so does one of the subcommand */
    /* The same without a look at the options: they only leave no doubt which program and subcommand this is. */
    bool certain;
    bool certain_subcommand;
    bool known; /* exact, and each option is in the table of harmless ones */
    /* NULL, or an option before the subcommand may take it as its value: the words behind, one of which is the subcommand
     * then. A blank before and behind each; `*` for one that is known only
     * when it runs. */
    char *or_else;
    bool alias;  /* the subcommand may be a name that the user has given to another */
    bool unread; /* it starts others in a way that is not read */
    bool open;   /* it may start another one that is known only when it runs */
    /* NULL, or the programs that the file or module of an interpreter may be, a blank before and behind each: `python3 -m pip`. */
    char *as;
    /* NULL, or it may start what its words name: command_names.h. */
    char *starts;
    bool
        here; /* the folder that it works in decides what it runs: git, and a program by a relative path */
    char
        *moved; /* `here`: NULL, or the word that may have it work elsewhere than the call begins */
};

/* Which options an approval of a program holds with. */
enum command_options {
    COMMAND_OPTIONS_CHECKED, /* all but those that are known to do more than the program does by itself */
    COMMAND_OPTIONS_ANY,
    COMMAND_OPTIONS_KNOWN, /* only those that are known to be harmless */
};

#define COMMAND_PAIRS_MAX 64
#define COMMAND_STARTERS_MAX 16

struct command_pairs {
    struct command_pair all[COMMAND_PAIRS_MAX];
    size_t n;
    /* Names without folder of the programs that only start those above: `env`, `sudo`, `sh`. */
    char *starters[COMMAND_STARTERS_MAX];
    size_t n_starters;
    /* All of the line is understood: it is no more than these programs. */
    bool understood;
    char why[160];     /* it is not, or why the first pair that is not exact is not */
    char unknown[160]; /* why the first pair that is exact but not known is not */
};

struct shell_word;

/* What a command finds when it begins. */
struct command_around {
    const char *root;                   /* the workspace as commands see it; NULL: not known */
    bool input;                         /* something comes over its standard input */
    const struct shell_word *variables; /* `NAME=value`: set for all that the command runs */
    size_t n_variables;
};

/* Every pair once, in the order in which they begin. -1 when the text cannot be read or has too many. */
int command_pairs_read(struct str text, const struct command_around *around,
                       struct command_pairs *ret, struct err *err);
void command_pairs_done(struct command_pairs *pairs);

#define COMMAND_PAIRS_AT_END CLEANUP(command_pairs_done)

#endif

/* What the rules may look at in one call, read when the first of them asks and then kept for the others. */
#ifndef SANDGATE_POLICY_FACTS_H
#define SANDGATE_POLICY_FACTS_H

#include "policy/command_rules.h"
#include "policy/judge.h"
#include "policy/place.h"

/* How a condition reads the values of an argument. */
enum field_kind {
    FIELD_PLAIN,
    FIELD_PATH,
    FIELD_COMMAND,
    FIELD_DOMAIN, /* the name of a host; everything else that is tested for a domain is a URL */
};

/* A dotted name of an argument, or of something in one. */
#define FIELD_PARTS_MAX 8
struct field {
    char *name;
    struct str parts[FIELD_PARTS_MAX]; /* in `name` */
    size_t n_parts;
    enum field_kind kind; /* the same for all tools that the rule is about */
    bool shell;  /* FIELD_COMMAND: it is a text for a shell, in place of which words may be given */
    bool folder; /* FIELD_PATH: the one that a command begins in */
};

/* Arguments of one tool that are paths, those in base64 and those within lists or objects not counted. */
#define PLACES_MAX 4

enum command_state {
    COMMAND_MISSING,
    COMMAND_UNCLEAR, /* it cannot be read */
    COMMAND_KNOWN,
};

struct facts_command {
    enum command_state state;
    struct command_pairs pairs;
    bool whole;   /* nothing but the programs decides what is done */
    char *folder; /* NULL: it begins at the workspace; else where, as rules write it, or as given */
    char why[200]; /* it is unclear */
};

struct facts {
    const struct policy_call *call;
    const struct tool *tool; /* of the call, or the row of one that is not there yet; may be NULL */
    unsigned needs;          /* capabilities of this call */
    unsigned flags;          /* of the tool and of this call */
    bool tree;               /* all beneath its paths is meant */
    bool looked_at_path;     /* some rule did */
    struct place places[PLACES_MAX];
    struct facts_command *command;
    char why[256];    /* what a rule could not tell */
    char partly[200]; /* of a command: what a rule does not hold for; the last that was looked at */
    char doubt[160];  /* of a command: what it may run of that which the last rule is about */
};

void facts_init(struct facts *facts, const struct policy_call *call);
void facts_done(struct facts *facts);
#define FACTS_AT_END CLEANUP(facts_done)

/* Whether the tool has this argument, or this part of one. What it does not take it does not look at either: a rule must
 * not be met by it. A tool that is not known may take anything. */
bool facts_takes(const struct facts *facts, const struct field *field);
/* The row of it is *ret_arg, or NULL where it lies in an object that is not described. */
bool tool_takes(const struct tool *tool, const struct field *field, const struct arg **ret_arg);

/* The value of an argument that the tool takes, or of the first of these uses; null counts as missing. */
yyjson_val *facts_value_of(const struct facts *facts, const struct arg *arg);
yyjson_val *facts_used(const struct facts *facts, unsigned uses);
/* By its name, and what the tool takes in its place where it is left out: made in `room`. */
yyjson_val *facts_value(const struct facts *facts, struct str name, yyjson_val *room);
/* Whether it is given, be it in the base64 that some tools take in its place. */
bool facts_given(const struct facts *facts, const struct field *field);

/* Where an argument that is a path leads, `arg` being in the tool's own table; unclear: facts->why says why. */
const struct place *facts_place(struct facts *facts, const struct arg *arg);
/* The same by name; NULL where the tool has no such path, or a list of them. */
const struct place *facts_place_named(struct facts *facts, struct str name);
/* Reads any text as a path of the call. */
int facts_read_place(struct facts *facts, struct str text, struct place *ret);

/* Calls `each` for every path of these uses, in whatever list or object it lies, until that does not return 0; what it
 * returned last. Those that are left out and that nothing stands for are PLACE_MISSING. */
typedef int (*facts_path_fn)(void *data, const struct arg *arg, const struct place *place);
int facts_each_path(struct facts *facts, unsigned uses, facts_path_fn each, void *data);

/* What the command runs: that of a shell's text, or of a program with its arguments. */
const struct facts_command *facts_command(struct facts *facts);
/* The words of an ARG_ARGV, a blank between them, where they stand in place of the text for a shell; NULL where they do
 * not. The caller frees it. */
char *facts_joined_words(const struct facts *facts);
/* Whether the command asks to write to git directories. */
bool facts_wants_git(const struct facts *facts);

#endif

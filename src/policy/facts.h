/* What the rules may look at in one call, read when the first of them asks and then kept for the others. */
#ifndef SANDGATE_POLICY_FACTS_H
#define SANDGATE_POLICY_FACTS_H

#include "policy/command_rules.h"
#include "policy/judge.h"
#include "policy/place.h"

/* Arguments that are paths in every tool that has them. */
enum place_id {
    PLACE_PATH,
    PLACE_FROM,
    PLACE_TO,
    PLACE_CWD,
    PLACE_WORKING_DIRECTORY,
    PLACE_COUNT,
    PLACE_NONE = PLACE_COUNT
};
extern const char *const place_names[]; /* NULL-ended */

/* A dotted name of an argument, or of something in one. */
#define FIELD_PARTS_MAX 8
struct field {
    char *name;
    struct str parts[FIELD_PARTS_MAX]; /* in `name` */
    size_t n_parts;
    enum place_id place; /* PLACE_NONE: it is no path by its name */
};

enum command_state {
    COMMAND_MISSING,
    COMMAND_UNCLEAR, /* it cannot be read */
    COMMAND_KNOWN,
};

struct facts_command {
    enum command_state state;
    struct command_pairs pairs;
    bool whole;    /* nothing but the programs decides what is done */
    char why[200]; /* it is unclear */
};

struct facts {
    const struct policy_call *call;
    const struct tool *tool; /* of the call, or the row of one that is not there yet; may be NULL */
    unsigned needs;          /* capabilities of this call */
    unsigned flags;          /* of the tool and of this call */
    bool tree;               /* all beneath its paths is meant */
    bool looked_at_path;     /* some rule did */
    struct place places[PLACE_COUNT];
    struct facts_command *command;
    char why[256];    /* what a rule could not tell */
    char partly[200]; /* of a command: what a rule does not hold for; the last that was looked at */
};

void facts_init(struct facts *facts, const struct policy_call *call);
void facts_done(struct facts *facts);
#define FACTS_AT_END CLEANUP(facts_done)

/* Whether the tool has this argument, or this part of one. What it does not take it does not look at either: a rule must
 * not be met by it. A tool that is not known may take anything. */
bool facts_takes(const struct facts *facts, const struct field *field);
bool tool_takes(const struct tool *tool, const struct field *field);

/* An argument that the tool takes; null counts as missing. */
yyjson_val *facts_argument(const struct facts *facts, const char *name);
/* The same, and what the tool takes in its place where it is left out: made in `room`. */
yyjson_val *facts_value(const struct facts *facts, struct str name, yyjson_val *room);
/* Whether it is given, be it in the base64 that some tools take in its place. */
bool facts_given(const struct facts *facts, const struct field *field);

/* Where one of the path arguments leads; unclear: facts->why says why. */
const struct place *facts_place(struct facts *facts, enum place_id id);
/* Reads any text as a path of the call. */
int facts_read_place(struct facts *facts, struct str text, struct place *ret);

/* What the command runs: that of a shell's text, or of a program with its arguments. */
const struct facts_command *facts_command(struct facts *facts);
/* The words of `argv`, a blank between them, where it stands in place of `command`; NULL where it does not. The caller
 * frees it. */
char *facts_joined_words(const struct facts *facts);

#endif

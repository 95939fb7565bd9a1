/* Conditions of rules: which arguments of a call they are about. A condition is a JSON object; all of its keys must
 * hold.
 *
 *   "path": {"beneath": "src"}      an argument, dotted for what is in it, and tests that must all hold
 *   "recursive": true               short for {"equals": true}
 *   "all": [...], "any": [...], "not": {...}
 *
 *   equals v, in [v, ...]           text, a number, true or false; `equals` also a list of them
 *   glob "...", regex "..."         of a text; a regular expression may match anywhere in it
 *   less n, greater n, atMost n, atLeast n
 *   exists true|false               whether the argument is given
 *   beneath "dir" or [...]          of a path: that folder or something in it
 *   program "git" or ["git commit"] of a command: what it runs
 *   options "any" or "known"        beside `program`: which options its programs may have; see command_rules.h
 *   domain "example.com" or [...]   of a URL: its host, subdomains included
 *
 * An argument that is left out counts as what the tool then takes; where there is nothing like that, no test but
 * `exists` holds. Paths are compared as the dialect reads them, not as they are written. In a list each item is tested.
 *
 * Something may hold in part: of a command that runs several programs, of a tree that reaches beyond a folder, of a
 * program that is known only when it runs. That is enough to deny or to ask, and never enough to allow. */
#ifndef SANDGATE_POLICY_CONDITION_H
#define SANDGATE_POLICY_CONDITION_H

#include "policy/facts.h"
#include "policy/path_glob.h"
#include "policy/tool_pattern.h"

#define CONDITION_TEXT_MAX (64u << 10)
#define CONDITION_DEPTH_MAX 8
#define CONDITION_NODES_MAX 512

enum condition_result {
    CONDITION_NO,
    CONDITION_PARTLY,
    CONDITION_YES,
    CONDITION_ERROR, /* it cannot be told; facts->why says why */
};

enum test_kind {
    TEST_EQUALS,
    TEST_IN,
    TEST_GLOB,
    TEST_REGEX,
    TEST_LESS,
    TEST_GREATER,
    TEST_AT_MOST,
    TEST_AT_LEAST,
    TEST_EXISTS,
    TEST_BENEATH,
    TEST_PROGRAM,
    TEST_DOMAIN,
    TEST_COUNT
};
extern const char *const test_names[]; /* NULL-ended */

/* A program in a rule: `git`, `git commit`, `/usr/bin/git`. */
struct program_rule {
    char *program;
    const char *name; /* without its folder; in `program` */
    char *subcommand; /* "": any */
    bool target;      /* the subcommand is a target, of which a use may have several */
};

struct test {
    enum test_kind kind;
    struct field field;
    yyjson_val *value;       /* borrowed from the condition's document; of TEST_IN a list */
    struct rule_path *paths; /* TEST_BENEATH; TEST_EQUALS and TEST_IN where the field is a path */
    size_t n_paths;
    struct program_rule *programs;
    size_t n_programs;
    enum command_options options;
    bool own_folder; /* TEST_PROGRAM: the condition also says in which folder */
    char **domains;
    size_t n_domains;
    struct glob *glob;
    struct path_glob path_glob;
    void *regex;
};

enum node_kind { NODE_ALL, NODE_ANY, NODE_NOT, NODE_TEST };

struct node {
    enum node_kind kind;
    struct node *parts; /* but of NODE_TEST */
    size_t n_parts;
    struct test *test;
};

struct condition {
    yyjson_doc *doc;
    struct node root;
    size_t n_regexes;
};

/* `where` is the condition's own path in messages, `approval.rules[3].condition`; `tools` (NULL-ended; may be NULL) are
 * those that the rule means: a condition on an argument that none of them has is an error. */
struct condition_place {
    const char *where;
    const struct tool *const *tools;
};
struct condition *condition_new(struct str json, const struct condition_place *place,
                                struct err *err);
void condition_free(struct condition *condition);

enum condition_result condition_judge(const struct condition *condition, struct facts *facts);

/* The first test that must hold in any case and by which a rule can be looked up: texts that the argument must be one
 * of, folders that its path must be in, or programs of the command. NULL: there is none. */
const struct test *condition_key(const struct condition *condition);

/* --- its parts */

/* In a text that is no path a slash is a letter like any other, for patterns too: it is replaced by this byte, which no
 * text has that came as JSON. */
#define TEST_SLASH ((char)0xff)

/* NULL, or what the argument is that such a test with this value never holds for: "is a number: use less". */
const char *test_kind_fault(enum test_kind kind, const struct arg *arg, yyjson_val *value);
/* The same of a variable of the command, `env.NAME`. */
const char *test_variable_fault(enum test_kind kind, const struct field *field, yyjson_val *value);
/* Whether a `glob` or `regex` holds for some choice of the argument. Case counts. */
bool test_fits_choice(const struct test *test, const struct arg *arg);
int test_read(struct test *test, yyjson_val *value, struct err *err);
int test_read_options(struct test *test, yyjson_val *value, struct err *err);
void test_done(struct test *test);
enum condition_result test_judge(const struct test *test, struct facts *facts);
enum condition_result test_programs(const struct test *test, struct facts *facts);

#endif

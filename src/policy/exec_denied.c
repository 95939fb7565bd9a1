/* Which programs a tool's rules deny however they are started. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/runner.h"
#include "policy/command_rules.h"
#include "policy/exec_denied.h"
#include "policy/policy_parts.h"
#include "policy/program_names.h"

/* One walk through all rules, in their order. */
struct walk {
    const struct tool *tool;
    exec_denied_fn each;
    void *arg;
    void *named;     /* a tree: programs that an earlier rule may let run */
    const char *all; /* the earlier rule that may let any program run; NULL: none */
    const char *rule;
};

static int compare_denied_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void keep_name(void **tree, const char *name)
{
    if (!tfind(name, tree, compare_denied_names) &&
        !tsearch(mem_dup(name), tree, compare_denied_names))
        abort();
}

/* What a tree has besides the names: those that several may share. */
static char *shared_name(const char *name)
{
    char room[PROGRAM_NAME_ROOM];
    struct str plain = program_plain_name((struct str){name, strlen(name)}, room);
    return mem_format("\n%.*s", (int)plain.n, plain.p);
}

static void keep_program(void **tree, const char *name)
{
    FREE_AT_END char *shared = shared_name(name);
    keep_name(tree, name);
    keep_name(tree, shared);
}

struct search {
    struct str name;
    bool found;
};

static void compare_name(const void *node, VISIT visit, void *arg)
{
    struct search *search = arg;
    const char *name = *(const char *const *)node;
    if ((visit == postorder || visit == leaf) && name[0] != '\n')
        search->found |= program_is_same(search->name, (struct str){name, strlen(name)});
}

/* Whether it, or another name of the same program, is in the tree. */
static bool has_program(void *const *tree, const char *name)
{
    FREE_AT_END char *shared = shared_name(name);
    struct search search = {.name = {name, strlen(name)}};
    if (tfind(name, tree, compare_denied_names))
        return true;
    if (tfind(shared, tree, compare_denied_names))
        twalk_r(*tree, compare_name, &search);
    return search.found;
}

static void tell_denial(const struct walk *w, enum denial_kind kind, const char *name,
                        const char *why_not)
{
    const struct denial denial = {.kind = kind, .name = name, .rule = w->rule};
    w->each(w->arg, &denial, why_not);
}

/* The other programs of its package: `npx` of `npm`. */
static void tell_family(const struct walk *w, const char *name)
{
    const char *family = program_family((struct str){name, strlen(name)});
    for (const char *at = family; at && *(at += strspn(at, " "));) {
        size_t n = strcspn(at, " ");
        FREE_AT_END char *other = mem_copy(at, n);
        const struct denial denial = {
            .kind = DENIAL_NAME, .name = other, .rule = w->rule, .related = true};
        at += n;
        if (strcmp(other, name) != 0 && !has_program(&w->named, other))
            w->each(w->arg, &denial, NULL);
    }
}

static void tell_programs(const struct walk *w, const struct test *test, const char *other)
{
    for (size_t i = 0; test->kind == TEST_PROGRAM && i < test->n_programs; i++) {
        const struct program_rule *p = &test->programs[i];
        const char *why = other;
        if (p->subcommand[0])
            why = "only some of its uses are denied";
        else if (!why && has_program(&w->named, p->name))
            why = "an earlier rule may allow it";
        tell_denial(w, DENIAL_NAME, p->name, why);
        if (!why)
            tell_family(w, p->name);
    }
}

/* A program is denied wholly by a condition that is about nothing else, and by each alternative of `any` that is. */
static void walk_condition(const struct walk *w, const struct node *node, const char *other)
{
    if (node->kind == NODE_TEST) {
        tell_programs(w, node->test, other);
        return;
    }
    if (node->kind == NODE_NOT || (node->kind == NODE_ALL && node->n_parts > 1))
        other = "the rule has other conditions";
    for (size_t i = 0; i < node->n_parts; i++)
        walk_condition(w, &node->parts[i], other);
}

/* A rule that does not deny may let through what a later one is about. One that must name some programs lets only
 * these through. */
static void note_earlier(struct walk *w, const struct rule *rule)
{
    const struct test *key = rule->condition ? condition_key(rule->condition) : NULL;
    if (!key || key->kind != TEST_PROGRAM)
        w->all = "an earlier rule may allow it";
    for (size_t i = 0; key && key->kind == TEST_PROGRAM && i < key->n_programs; i++)
        keep_program(&w->named, key->programs[i].name);
}

static void walk_rules(struct walk *w, const struct policy *policy)
{
    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct rule *rule = &policy->rules[i];
        if (!tool_pattern_matches(&rule->tool, w->tool, w->tool->name))
            continue;
        w->rule = rule->name;
        if (rule->action != RULE_DENY)
            note_earlier(w, rule);
        else if (rule->condition)
            walk_condition(w, &rule->condition->root, w->all);
    }
}

/* They come before all rules. */
static void walk_denied_list(struct walk *w, const struct config *config)
{
    const struct str *items;
    size_t n;
    if (!config_list(config, "tools.bash.deniedCommands", &items, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        FREE_AT_END char *rule = mem_format("tools.bash.deniedCommands[%zu]", i);
        w->rule = rule;
        if (items[i].n == 0)
            continue;
        const char *slash = strchr(items[i].p, '/');
        tell_denial(w, slash ? DENIAL_PATH : DENIAL_NAME, items[i].p,
                    slash && slash != items[i].p ? "a relative path depends on the folder" : NULL);
        if (!slash)
            tell_family(w, items[i].p);
    }
}

static void walk_blocks(struct walk *w, const struct command_rules *rules)
{
    for (size_t i = 0; i < rules->n_blocks; i++) {
        const struct command_block *block = &rules->blocks[i];
        bool glob = strchr(block->program, '*') != NULL;
        w->rule = block->rule;
        tell_denial(w, glob ? DENIAL_GLOB : DENIAL_NAME, block->program,
                    block->form == COMMAND_ANY ? NULL : "only some of its uses are denied");
    }
}

void exec_denied_each(const struct policy *policy, const struct tool *tool, exec_denied_fn each,
                      void *arg)
{
    struct walk w = {.tool = tool, .each = each, .arg = arg};
    if (!tool_runs_programs(tool))
        return;
    if (tool->dialect == DIALECT_SYSTEM)
        walk_denied_list(&w, policy->config);
    if (tool->dialect == DIALECT_SIDECAR)
        walk_blocks(&w, &command_rules_sidecar);
    walk_rules(&w, policy);
    tdestroy(w.named, free);
}

struct collected {
    struct buf packed;
    void *names;
};

/* The first rule that denies a program is the one that is named. */
static void collect_denial(void *arg, const struct denial *denial, const char *why_not)
{
    struct collected *c = arg;
    if (why_not || tfind(denial->name, &c->names, compare_denied_names))
        return;
    keep_name(&c->names, denial->name);
    denials_add(&c->packed, denial);
}

struct denials *exec_denied(const struct policy *policy, const struct tool *tool, bool *ret_many)
{
    struct collected c = {.packed = BUF_INIT(DENIALS_BYTES_MAX)};
    struct denials *denials = NULL;
    exec_denied_each(policy, tool, collect_denial, &c);
    tdestroy(c.names, free);
    *ret_many = c.packed.failed;
    if (c.packed.len && !c.packed.failed)
        denials = denials_new(buf_str(&c.packed));
    buf_done(&c.packed);
    return denials;
}

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/policy_parts.h"
#include "policy/program_names.h"
#include "policy/subcommand.h"

/* An argument with more items is looked at rule by rule. */
#define ITEMS_LOOKED_UP 8

#define HASH_BASIS 14695981039346656037u

static uint64_t hash_more(uint64_t hash, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)p[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_of(const char *p, size_t n)
{
    return hash_more(HASH_BASIS, p, n);
}

/* A program is looked up by the name that it shares with those which may be the same. */
static uint64_t hash_of_name(const char *name)
{
    char room[PROGRAM_NAME_ROOM];
    struct str plain = program_plain_name((struct str){name, strlen(name)}, room);
    return hash_of(plain.p, plain.n);
}

/* All rules about a program have one more key: for a command whose subcommand is not known. */
static uint64_t hash_of_program(const char *name, const char *subcommand, size_t n)
{
    uint64_t hash = hash_more(hash_of_name(name), " ", 1);
    return hash_more(hash, subcommand, n);
}

static uint64_t hash_of_any(const char *name)
{
    return hash_more(hash_of_name(name), "\n", 1);
}

static void add_rule_number(uint32_t **list, size_t *n, uint32_t number)
{
    if ((*n & (*n - 1)) == 0)
        *list = mem_grow(*list, *n ? *n * 2 : 1, sizeof **list);
    (*list)[(*n)++] = number;
}

static void add_key(struct rule_group *group, uint64_t hash, uint32_t number)
{
    size_t n = group->n_keys;
    if ((n & (n - 1)) == 0)
        group->keys = mem_grow(group->keys, n ? n * 2 : 1, sizeof *group->keys);
    group->keys[group->n_keys++] = (struct rule_key){hash, number};
}

static void add_text_keys(struct rule_group *group, const struct test *test, uint32_t number)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (test->kind == TEST_EQUALS)
        add_key(group, hash_of(yyjson_get_str(test->value), yyjson_get_len(test->value)), number);
    yyjson_arr_foreach(test->value, idx, max, item) {
        add_key(group, hash_of(yyjson_get_str(item), yyjson_get_len(item)), number);
    }
}

static void add_keys(struct rule_group *group, const struct test *test, uint32_t number)
{
    if (group->kind == GROUP_TEXT)
        add_text_keys(group, test, number);
    for (size_t i = 0; group->kind == GROUP_PATH && i < test->n_paths; i++)
        add_key(group, hash_of(test->paths[i].text, strlen(test->paths[i].text)), number);
    for (size_t i = 0; i < test->n_programs; i++) {
        const struct program_rule *program = &test->programs[i];
        add_key(group, hash_of_any(program->name), number);
        add_key(group,
                hash_of_program(program->name, program->subcommand, strlen(program->subcommand)),
                number);
    }
}

static struct rule_group *group_for(struct rule_index *index, const struct test *test)
{
    enum group_kind kind = test->kind == TEST_PROGRAM       ? GROUP_PROGRAM
                           : test->field.kind == FIELD_PATH ? GROUP_PATH
                                                            : GROUP_TEXT;
    for (size_t i = 0; i < index->n_groups; i++) {
        struct rule_group *group = &index->groups[i];
        if (group->kind == kind &&
            (kind == GROUP_PROGRAM || strcmp(group->field->name, test->field.name) == 0))
            return group;
    }
    index->groups = mem_grow(index->groups, index->n_groups + 1, sizeof *index->groups);
    struct rule_group *group = &index->groups[index->n_groups++];
    *group = (struct rule_group){.kind = kind, .field = &test->field};
    return group;
}

static int by_hash(const void *left, const void *right)
{
    const struct rule_key *a = left;
    const struct rule_key *b = right;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void add_indexed_rule(struct rule_index *index, const struct rule *rule, uint32_t number)
{
    const struct test *test = rule->condition ? condition_key(rule->condition) : NULL;
    add_rule_number(&index->all, &index->n_all, number);
    if (!test) {
        add_rule_number(&index->others, &index->n_others, number);
        return;
    }
    struct rule_group *group = group_for(index, test);
    add_rule_number(&group->all, &group->n_all, number);
    add_keys(group, test, number);
}

void rule_index_init(struct rule_index *index, const struct rule *rules, size_t n,
                     const struct tool *tool, const char *name)
{
    *index = (struct rule_index){0};
    for (size_t i = 0; i < n; i++) {
        if (!tool_pattern_matches(&rules[i].tool, tool, name))
            continue;
        add_indexed_rule(index, &rules[i], (uint32_t)i);
        if (!rules[i].condition)
            break;
    }
    for (size_t i = 0; i < index->n_groups; i++) {
        struct rule_group *group = &index->groups[i];
        if (group->n_keys)
            qsort(group->keys, group->n_keys, sizeof *group->keys, by_hash);
    }
}

void rule_index_done(struct rule_index *index)
{
    for (size_t i = 0; i < index->n_groups; i++) {
        free(index->groups[i].all);
        free(index->groups[i].keys);
    }
    free(index->groups);
    free(index->all);
    free(index->others);
    *index = (struct rule_index){0};
}

/* --- looking up */

static void add_rule_run(struct rule_walk *walk, struct rule_run run)
{
    if (walk->n == RULE_RUNS_MAX)
        walk->all = true;
    else
        walk->runs[walk->n++] = run;
}

static void add_list(struct rule_walk *walk, const uint32_t *list, size_t n)
{
    if (n)
        add_rule_run(walk, (struct rule_run){.at = list, .end = list + n});
}

static void add_rules_found(struct rule_walk *walk, const struct rule_group *group, uint64_t hash)
{
    size_t low = 0;
    size_t high = group->n_keys;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (group->keys[mid].hash < hash)
            low = mid + 1;
        else
            high = mid;
    }
    size_t end = low;
    while (end < group->n_keys && group->keys[end].hash == hash)
        end++;
    if (end > low)
        add_rule_run(walk,
                     (struct rule_run){.keys = group->keys + low, .keys_end = group->keys + end});
}

static void find_text_rules(struct rule_walk *walk, const struct rule_group *group,
                            const struct facts *facts)
{
    yyjson_val room;
    yyjson_val *val = facts_value(facts, group->field->parts[0], &room);
    if (yyjson_is_str(val)) {
        add_rules_found(walk, group, hash_of(yyjson_get_str(val), yyjson_get_len(val)));
    } else if (yyjson_is_arr(val) || (!val && group->field->shell)) {
        size_t n = yyjson_arr_size(val);
        size_t idx;
        size_t max;
        yyjson_val *item;
        if (!val || n > ITEMS_LOOKED_UP) {
            add_list(walk, group->all, group->n_all);
            return;
        }
        yyjson_arr_foreach(val, idx, max, item) {
            if (yyjson_is_ctn(item))
                add_list(walk, group->all, group->n_all);
            else if (yyjson_is_str(item))
                add_rules_found(walk, group, hash_of(yyjson_get_str(item), yyjson_get_len(item)));
        }
    }
}

/* Rules about the path itself, and about each folder that it is in. */
static void find_folders(struct rule_walk *walk, const struct rule_group *group, const char *path)
{
    uint64_t hash = HASH_BASIS;
    for (const char *at = path; *at; at++) {
        if (*at == '/' && at > path)
            add_rules_found(walk, group, hash);
        hash = hash_more(hash, at, 1);
    }
    add_rules_found(walk, group, hash);
}

static void find_path_rules(struct rule_walk *walk, const struct rule_group *group,
                            struct facts *facts)
{
    const struct place *place = facts_place_named(facts, group->field->parts[0]);
    if (place && place->state == PLACE_MISSING)
        return;
    /* Each item of a list is a path of its own. */
    if (!place || place->state != PLACE_KNOWN || place->tree) {
        add_list(walk, group->all, group->n_all);
        return;
    }
    find_folders(walk, group, place->text);
    if (place->mounted)
        find_folders(walk, group, place->rest);
    add_rules_found(walk, group, hash_of(".", 1));
}

/* Rules about the program alone, and about each beginning of its subcommand. */
static void find_pair(struct rule_walk *walk, const struct rule_group *group,
                      const struct command_pair *pair)
{
    const char *name = path_name(pair->program);
    struct str whole = str_of(name);
    /* Subcommands of other programs may be meant, or other ones of this. */
    const char *other;
    if (pair->starts || pair->as || strchr(name, '-') || program_stands_for(whole, &other) ||
        program_has_others(whole)) {
        add_list(walk, group->all, group->n_all);
        return;
    }
    if (!pair->exact_subcommand || pair->or_else || program_writes_loosely(whole)) {
        add_rules_found(walk, group, hash_of_any(name));
        return;
    }
    add_rules_found(walk, group, hash_of_program(name, "", 0));
    for (const char *at = pair->subcommand; *at;) {
        at += strcspn(at, " ");
        add_rules_found(walk, group,
                        hash_of_program(name, pair->subcommand, (size_t)(at - pair->subcommand)));
        at += *at == ' ';
    }
}

static bool all_named(const struct facts_command *command)
{
    for (size_t i = 0; i < command->pairs.n; i++) {
        if (command->pairs.all[i].program[0] == '\0')
            return false;
    }
    return command->state == COMMAND_KNOWN;
}

static void find_programs(struct rule_walk *walk, const struct rule_group *group,
                          struct facts *facts)
{
    const struct facts_command *command = facts_command(facts);
    if (command->state == COMMAND_MISSING)
        return;
    if (!all_named(command)) {
        add_list(walk, group->all, group->n_all);
        return;
    }
    for (size_t i = 0; i < command->pairs.n; i++)
        find_pair(walk, group, &command->pairs.all[i]);
    for (size_t i = 0; i < command->pairs.n_starters; i++)
        add_rules_found(walk, group, hash_of_any(command->pairs.starters[i]));
}

void rule_walk_begin(struct rule_walk *walk, const struct rule_index *index, struct facts *facts)
{
    walk->index = index;
    walk->n = 0;
    walk->all = false;
    add_list(walk, index->others, index->n_others);
    for (size_t i = 0; i < index->n_groups && !walk->all; i++) {
        const struct rule_group *group = &index->groups[i];
        if (group->kind == GROUP_TEXT)
            find_text_rules(walk, group, facts);
        else if (group->kind == GROUP_PATH)
            find_path_rules(walk, group, facts);
        else
            find_programs(walk, group, facts);
    }
    if (walk->all) {
        walk->n = 0;
        add_list(walk, index->all, index->n_all);
    }
}

static uint32_t head(const struct rule_run *run)
{
    if (run->at < run->end)
        return *run->at;
    return run->keys < run->keys_end ? run->keys->number : UINT32_MAX;
}

bool rule_walk_next(struct rule_walk *walk, uint32_t *ret_number)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < walk->n; i++) {
        uint32_t number = head(&walk->runs[i]);
        least = number < least ? number : least;
    }
    if (least == UINT32_MAX)
        return false;
    for (size_t i = 0; i < walk->n; i++) {
        struct rule_run *run = &walk->runs[i];
        while (head(run) == least) {
            if (run->at < run->end)
                run->at++;
            else
                run->keys++;
        }
    }
    *ret_number = least;
    return true;
}

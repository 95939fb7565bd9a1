#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/config_store.h"

#define WHY_MAX 160

struct reporter {
    config_ignored_fn ignored;
    void *arg;
};

static void report_ignored(const struct reporter *r, const char *path, const char *why)
{
    char shown[CONFIG_SHOW_MAX];
    config_show(shown, (struct str){path, strlen(path)});
    if (r->ignored)
        r->ignored(r->arg, shown, why);
}

/* Texts to look others up in. Sorted, because a workspace's file can make what is looked up as long as it likes. */
struct lookup {
    struct str *texts;
    size_t count;
    int (*compare)(const void *a, const void *b);
};

static void lookup_done(struct lookup *lookup)
{
    free(lookup->texts);
}
#define LOOKUP_AT_END CLEANUP(lookup_done)

static bool lookup_has(const struct lookup *lookup, struct str text)
{
    return lookup->count &&
           bsearch(&text, lookup->texts, lookup->count, sizeof text, lookup->compare);
}

static int compare_texts(const void *a, const void *b)
{
    const struct str *x = a;
    const struct str *y = b;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return memcmp(x->p, y->p, x->n);
}

/* Borrows from the list, which may be NULL. */
static struct lookup lookup_of_list(const struct config_value *list)
{
    struct lookup lookup = {.count = list ? list->count : 0, .compare = compare_texts};
    if (lookup.count == 0)
        return lookup;
    lookup.texts = mem_grow(NULL, lookup.count, sizeof *lookup.texts);
    memcpy(lookup.texts, list->items, lookup.count * sizeof *lookup.texts);
    qsort(lookup.texts, lookup.count, sizeof *lookup.texts, compare_texts);
    return lookup;
}

/* Entries are compared letter by letter. `*` or a parent domain covers a name, and a parent
 * directory its children, but naming one is more than being covered: a name may open a private
 * address, and a child may be a symbolic link that leads elsewhere. */
static bool is_subset(const struct config_row *row, const struct config_value *now,
                      const struct config_value *value, char why[WHY_MAX])
{
    if (!now && row->unset_is_all)
        return true;
    LOOKUP_AT_END struct lookup there = lookup_of_list(now);
    for (size_t i = 0; i < value->count; i++) {
        if (lookup_has(&there, value->items[i]))
            continue;
        char item[CONFIG_SHOW_MAX];
        config_show(item, value->items[i]);
        snprintf(why, WHY_MAX, "\"%s\" is not in the list that holds", item);
        return false;
    }
    return true;
}

static bool is_later_choice(const struct config_row *row, const char *now, const char *text,
                            char why[WHY_MAX])
{
    int index = config_choice(row, (struct str){text, strlen(text)});
    /* Unset is at least as strict as the loosest choice and never stricter than the next. */
    int floor = now ? config_choice(row, (struct str){now, strlen(now)}) : 1;
    snprintf(why, WHY_MAX, "%s is looser than %s", text, now ? now : "the default");
    return index >= floor;
}

static bool is_number_tighter(const struct config_row *row, int64_t now, int64_t number,
                              char why[WHY_MAX])
{
    bool lower = row->tighten == CONFIG_LOWER;
    snprintf(why, WHY_MAX, "it may only be %s from %lld", lower ? "lowered" : "raised",
             (long long)now);
    return now < row->min || (lower ? number <= now : number >= now);
}

static bool is_switch_tighter(bool strict, bool now, bool value, char why[WHY_MAX])
{
    snprintf(why, WHY_MAX, "it may only be turned %s", strict ? "on" : "off");
    return value == strict || value == now;
}

static bool is_tighter(const struct config_map *map, const struct config_entry *entry,
                       char why[WHY_MAX])
{
    const struct config_row *row = entry->row;
    const struct config_row *holds;
    const struct config_value *now = config_effective(map, row, entry->path, &holds);
    int64_t number = now ? now->number : holds->number;
    switch (row->tighten) {
    case CONFIG_LOWER:
    case CONFIG_RAISE:
        return is_number_tighter(row, number, entry->value.number, why);
    case CONFIG_FALSE_ONLY:
    case CONFIG_TRUE_ONLY:
        return is_switch_tighter(row->tighten == CONFIG_TRUE_ONLY, number, entry->value.number,
                                 why);
    case CONFIG_ORDER:
        return is_later_choice(row, now ? now->text : holds->text, entry->value.text, why);
    case CONFIG_SUBSET:
        return is_subset(row, now, &entry->value, why);
    case CONFIG_SUPERSET:
        return true;
    case CONFIG_NEVER:
    case CONFIG_RULE:
    case CONFIG_ADD:
        break;
    }
    snprintf(why, WHY_MAX, "a workspace may not set it");
    return false;
}

/* A workspace cannot know what is denied already: its entries are added to those. */
static void add_entries_there(const struct config_map *map, struct config_entry *entry)
{
    const struct config_value *now = config_map_get(map, entry->path);
    LOOKUP_AT_END struct lookup added = lookup_of_list(&entry->value);
    for (size_t i = 0; now && i < now->count; i++) {
        if (!lookup_has(&added, now->items[i]))
            config_value_add_item(&entry->value, now->items[i]);
    }
}

/* Of patterns the last one counts, so that a workspace's stand behind those already there, and an exception
 * would loosen. */
static void add_patterns(const struct config_map *map, struct config_entry *entry,
                         const struct reporter *reporter)
{
    const struct config_value *now = config_map_get(map, entry->path);
    struct config_value both = {0};
    for (size_t i = 0; now && i < now->count; i++)
        config_value_add_item(&both, now->items[i]);
    for (size_t i = 0; i < entry->value.count; i++) {
        FREE_AT_END char *path = mem_format("%s[%zu]", entry->path, i);
        if (entry->value.items[i].p[0] == '!')
            report_ignored(reporter, path, "a workspace may not make exceptions");
        else
            config_value_add_item(&both, entry->value.items[i]);
    }
    config_value_done(&entry->value);
    entry->value = both;
}

static int tool_letter(char c)
{
    return c == '.' ? '_' : tolower((unsigned char)c);
}

/* A tool goes by `fs.read` and by `fs_read`. */
static int compare_tools(const void *a, const void *b)
{
    const struct str *x = a;
    const struct str *y = b;
    size_t i = 0;
    while (i < x->n && i < y->n && tool_letter(x->p[i]) == tool_letter(y->p[i]))
        i++;
    int left = i < x->n ? tool_letter(x->p[i]) : -1;
    int right = i < y->n ? tool_letter(y->p[i]) : -1;
    return left - right;
}

/* A pattern may mean any tool. */
static bool is_pattern(const char *tool)
{
    return strpbrk(tool, "*?[{") != NULL;
}

/* The tools that a rule denies, at once or when its budget is used up. */
struct denials {
    struct lookup tools;
    bool every; /* any tool may be among them */
};

static void denials_done(struct denials *denials)
{
    lookup_done(&denials->tools);
}

static struct denials denials_of(const struct config_map *map)
{
    struct denials denials = {.tools.compare = compare_tools};
    const struct config_value *fallback = config_map_get(map, "approval.default");
    denials.every = fallback && strcmp(fallback->text, "deny") == 0;
    const struct config_array *rules = config_map_array(map, "approval.rules");
    if (!rules || rules->count == 0)
        return denials;
    struct lookup *tools = &denials.tools;
    tools->texts = mem_grow(NULL, rules->count, sizeof *tools->texts);
    for (size_t i = 0; i < rules->count; i++) {
        const char *action = config_element_get(rules, rules->elements[i], "action")->text;
        const char *tool = config_element_get(rules, rules->elements[i], "toolName")->text;
        if (strcmp(action, "deny") != 0 && strcmp(action, "budget") != 0)
            continue;
        denials.every |= is_pattern(tool);
        tools->texts[tools->count++] = (struct str){tool, strlen(tool)};
    }
    qsort(tools->texts, tools->count, sizeof *tools->texts, compare_tools);
    return denials;
}

/* Asking is looser than a no: put first, it would decide before a rule that denies. */
static bool would_hide_denial(const struct denials *denials, const char *tool)
{
    return denials->every || (is_pattern(tool) && denials->tools.count) ||
           lookup_has(&denials->tools, (struct str){tool, strlen(tool)});
}

static const char *why_not_rule(const struct denials *denials, const struct config_array *rules,
                                const struct config_element *rule)
{
    const char *action = config_element_get(rules, rule, "action")->text;
    if (strcmp(action, "deny") == 0)
        return NULL;
    if (strcmp(action, "prompt") != 0)
        return "a workspace may only add rules that deny or prompt";
    if (would_hide_denial(denials, config_element_get(rules, rule, "toolName")->text))
        return "it would ask where the call may be denied now";
    return NULL;
}

static void share_all(struct config_array *to, const struct config_array *from)
{
    for (size_t i = 0; from && i < from->count; i++)
        config_array_share(to, from->elements[i]);
}

/* First match wins: a workspace's rules, which only say no or ask, go before those already there. */
static void join_rules(struct config_array *whole, const struct config_array *added,
                       const struct config_map *now, const struct reporter *reporter)
{
    CLEANUP(denials_done) struct denials denials = denials_of(now);
    for (size_t i = 0; i < added->count; i++) {
        const char *why = why_not_rule(&denials, added, added->elements[i]);
        FREE_AT_END char *path = mem_format("approval.rules[%zu]", i);
        if (why)
            report_ignored(reporter, path, why);
        else
            config_array_share(whole, added->elements[i]);
    }
    share_all(whole, config_map_array(now, "approval.rules"));
}

static void tighten_arrays(struct config_map *changes, const struct config_map *now,
                           const struct reporter *reporter)
{
    size_t kept = 0;
    for (size_t i = 0; i < changes->n_arrays; i++) {
        struct config_array *added = changes->arrays[i];
        FREE_AT_END char *path = mem_copy(added->rows->path, added->name);
        if (added->rows->tighten == CONFIG_NEVER) {
            report_ignored(reporter, path, "a workspace may not set it");
            config_array_unref(added);
            continue;
        }
        struct config_array *whole = config_array_new(path);
        config_array_mark_workspace(added);
        if (added->rows->tighten == CONFIG_RULE) {
            join_rules(whole, added, now, reporter);
        } else {
            share_all(whole, config_map_array(now, path));
            share_all(whole, added);
        }
        config_array_unref(added);
        changes->arrays[kept++] = whole;
    }
    changes->n_arrays = kept;
}

void config_changes_tighten(struct config_map *changes, const struct config_map *now,
                            config_ignored_fn ignored, void *arg)
{
    struct reporter reporter = {ignored, arg};
    struct config_map kept = {.arrays = changes->arrays, .n_arrays = changes->n_arrays};
    for (size_t i = 0; i < changes->count; i++) {
        struct config_entry *entry = &changes->entries[i];
        char why[WHY_MAX];
        if (!is_tighter(now, entry, why)) {
            report_ignored(&reporter, entry->path, why);
            continue;
        }
        if (entry->row->patterns)
            add_patterns(now, entry, &reporter);
        else if (entry->row->tighten == CONFIG_SUPERSET)
            add_entries_there(now, entry);
        config_map_append(&kept, entry->path, entry->row, &entry->value);
    }
    changes->arrays = NULL;
    changes->n_arrays = 0;
    config_map_done(changes);
    *changes = kept;
    tighten_arrays(changes, now, &reporter);
}

static void intersect(struct config_value *list, const struct config_value *with)
{
    LOOKUP_AT_END struct lookup there = lookup_of_list(with);
    struct config_value both = {0};
    for (size_t i = 0; i < list->count; i++) {
        if (lookup_has(&there, list->items[i]))
            config_value_add_item(&both, list->items[i]);
    }
    config_value_done(list);
    *list = both;
}

static void use_later_choice(const struct config_row *row, struct config_value *own,
                             const struct config_value *all)
{
    if (config_choice(row, (struct str){all->text, strlen(all->text)}) <=
        config_choice(row, (struct str){own->text, strlen(own->text)}))
        return;
    free(own->text);
    own->text = mem_dup(all->text);
}

void config_tighten_own(struct config_map *map, const struct config_map *changes)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct config_row *row = map->entries[i].row;
        struct config_value *own = &map->entries[i].value;
        const struct config_value *all = row->fallback ? config_map_get(changes, row->fallback)
                                                       : NULL;
        if (!all)
            continue;
        if (row->tighten == CONFIG_LOWER && all->number < own->number)
            own->number = all->number;
        else if (row->tighten == CONFIG_ORDER)
            use_later_choice(row, own, all);
        else if (row->tighten == CONFIG_FALSE_ONLY)
            own->number &= all->number;
        else if (row->tighten == CONFIG_SUBSET)
            intersect(own, all);
    }
}

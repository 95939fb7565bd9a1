#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "core/config_store.h"

#define WHY_MAX 160

struct reporter {
    config_ignored_fn ignored;
    void *arg;
};

static void report(const struct reporter *r, const char *path, const char *why)
{
    char shown[CONFIG_SHOW_MAX];
    config_show(shown, (struct str){path, strlen(path)});
    if (r->ignored)
        r->ignored(r->arg, shown, why);
}

static bool list_has(const struct config_value *list, struct str item)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].n == item.n && memcmp(list->items[i].p, item.p, item.n) == 0)
            return true;
    }
    return false;
}

/* Entries are compared letter by letter. `*` or a parent domain covers a name, and a parent
 * directory its children, but naming one is more than being covered: a name may open a private
 * address, and a child may be a symbolic link that leads elsewhere. */
static bool is_subset(const struct config_row *row, const struct config_value *now,
                      const struct config_value *value, char why[WHY_MAX])
{
    if (!now && row->unset_is_all)
        return true;
    for (size_t i = 0; i < value->count; i++) {
        if (now && list_has(now, value->items[i]))
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
    case CONFIG_RULE:
        return true;
    case CONFIG_NEVER:
        break;
    }
    snprintf(why, WHY_MAX, "a workspace may not set it");
    return false;
}

/* A workspace cannot know what is denied already: its entries are added to those. */
static void add_entries_there(const struct config_map *map, struct config_entry *entry)
{
    const struct config_value *now = config_map_get(map, entry->path);
    for (size_t i = 0; now && i < now->count; i++) {
        if (!list_has(&entry->value, now->items[i]))
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
            report(reporter, path, "a workspace may not make exceptions");
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

/* Whether one call could be meant by both names: a tool goes by `fs.read` and by `fs_read`, and a
 * pattern may mean any tool. */
static bool may_be_same_tool(const char *a, const char *b)
{
    if (strpbrk(a, "*?[{") || strpbrk(b, "*?[{"))
        return true;
    for (; *a && tool_letter(*a) == tool_letter(*b); a++)
        b++;
    return *a == *b;
}

/* Asking is looser than a no: put first, it would decide before a rule that denies, or that denies
 * once its budget is used up. */
static bool would_hide_denial(const struct config_map *map, const char *tool)
{
    const struct config_value *fallback = config_map_get(map, "approval.default");
    if (fallback && strcmp(fallback->text, "deny") == 0)
        return true;
    const struct config_value *action;
    for (size_t i = 0; (action = config_rule_get(map, i, "action")); i++) {
        const char *other = config_rule_get(map, i, "toolName")->text;
        if ((strcmp(action->text, "deny") == 0 || strcmp(action->text, "budget") == 0) &&
            may_be_same_tool(tool, other))
            return true;
    }
    return false;
}

static const char *why_not_rule(const struct config_map *now, const struct config_map *changes,
                                size_t rule)
{
    const char *action = config_rule_get(changes, rule, "action")->text;
    if (strcmp(action, "deny") == 0)
        return NULL;
    if (strcmp(action, "prompt") != 0)
        return "a workspace may only add rules that deny or prompt";
    if (would_hide_denial(now, config_rule_get(changes, rule, "toolName")->text))
        return "it would ask where the call may be denied now";
    return NULL;
}

static void tighten_rules(struct config_changes *changes, const struct config_map *now,
                          const struct reporter *reporter)
{
    CONFIG_MAP_AT_END struct config_map kept = {0};
    size_t count = config_rule_count(&changes->map);
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++) {
        const char *why = why_not_rule(now, &changes->map, i);
        FREE_AT_END char *path = mem_format(CONFIG_RULES "[%zu]", i);
        if (why)
            report(reporter, path, why);
        else
            config_rule_move(&kept, kept_count++, &changes->map, i);
    }
    config_rules_clear(&changes->map);
    config_map_merge(&changes->map, &kept);
}

void config_changes_tighten(struct config_changes *changes, const struct config_map *now,
                            config_ignored_fn ignored, void *arg)
{
    struct reporter reporter = {ignored, arg};
    CONFIG_MAP_AT_END struct config_map kept = {0};
    for (size_t i = 0; i < changes->map.count; i++) {
        struct config_entry *entry = &changes->map.entries[i];
        char why[WHY_MAX];
        if (!is_tighter(now, entry, why)) {
            report(&reporter, entry->path, why);
            continue;
        }
        if (entry->row->patterns)
            add_patterns(now, entry, &reporter);
        else if (entry->row->tighten == CONFIG_SUPERSET)
            add_entries_there(now, entry);
        config_map_put(&kept, entry->path, entry->row, &entry->value);
    }
    config_map_done(&changes->map);
    config_map_merge(&changes->map, &kept);
    tighten_rules(changes, now, &reporter);
}

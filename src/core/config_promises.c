/* Settings with nothing behind them. */
#include <string.h>

#include "base/mem.h"
#include "core/config_store.h"

/* `only` is a value, or several with "or" between them. */
static bool is_promised(const char *only, const char *value)
{
    size_t n = strlen(value);
    for (const char *at = only; *at; at += strcspn(at, " "), at += *at == ' ') {
        if (n && strcspn(at, " ") == n && memcmp(at, value, n) == 0)
            return true;
    }
    return false;
}

static bool holds_promise(const struct config_row *row, const struct config_value *value)
{
    switch (row->type) {
    case CONFIG_BOOL:
        return (value->number != 0) == (strcmp(row->only, "true") == 0);
    case CONFIG_LIST:
        return value->count == 0;
    default:
        return value->text && is_promised(row->only, value->text);
    }
}

static int refuse_broken_promise(const struct config_entry *entry, struct err *err)
{
    const struct config_row *row = entry->row;
    bool list = row->type == CONFIG_LIST;
    const char *allowed = row->only[0] ? row->only : list ? "an empty list" : "leaving it unset";
    const char *value = row->type == CONFIG_BOOL ? entry->value.number ? "true" : "false"
                        : list                   ? "not empty"
                                                 : entry->value.text;
    char path[CONFIG_SHOW_MAX];
    char shown[CONFIG_SHOW_MAX];
    config_show(path, (struct str){entry->path, strlen(entry->path)});
    config_show(shown, (struct str){value, strlen(value)});
    return err_field(err, path, "%s%s%s%s is %s, but %s in this version; allowed: %s", path,
                     row->env ? " (" : "", row->env ? row->env : "", row->env ? ")" : "", shown,
                     row->lacks, allowed);
}

int config_check_promises(const struct config *config, struct err *err)
{
    for (size_t i = 0; i < config->map.count; i++) {
        const struct config_entry *entry = &config->map.entries[i];
        if (entry->row && entry->row->only && !holds_promise(entry->row, &entry->value))
            return refuse_broken_promise(entry, err);
    }
    return 0;
}

/* Default lists lie among the values that are set. */
static bool is_default_list(const struct config_row *row, const struct config_value *value)
{
    const char *at = row->text;
    if (row->type != CONFIG_LIST || !at)
        return false;
    for (size_t i = 0; i < value->count; i++) {
        size_t n = strcspn(at, " ");
        if (n != value->items[i].n || memcmp(at, value->items[i].p, n) != 0)
            return false;
        at += n + strspn(at + n, " ");
    }
    return *at == '\0';
}

void config_each_idle(const struct config *config, void (*each)(void *arg, const char *tool),
                      void *arg)
{
    const char *last = "";
    for (size_t i = 0; i < config->map.count; i++) {
        const struct config_entry *entry = &config->map.entries[i];
        const char *tool = entry->row ? entry->row->idle : NULL;
        if (!tool || strcmp(tool, last) == 0 || is_default_list(entry->row, &entry->value))
            continue;
        FREE_AT_END char *enabled = mem_format("tools.%s.enabled", tool);
        if (config_bool(config, enabled))
            each(arg, tool);
        last = tool;
    }
}

#include "gate/hook_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/trusted.h"
#include "cell/plan.h"

/* Of a program and its arguments. */
#define ARGUMENTS_MAX 64
#define ARGUMENT_BYTES_MAX (32u << 10)

static void field_of(size_t i, const char *name, char out[64])
{
    snprintf(out, 64, "hooks[%zu].%s", i, name);
}

void hook_list_done(struct hook_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        for (char **arg = list->all[i].argv; arg && *arg; arg++)
            free(*arg);
        free(list->all[i].argv);
        tool_pattern_done(&list->all[i].tools);
    }
    free(list->all);
    *list = (struct hook_list){0};
}

/* Hooks of root run as another user. */
static bool is_closed_to_hooks(const char *path)
{
    FREE_AT_END char *folder = mem_copy(path, (size_t)(strrchr(path, '/') - path));
    struct stat file;
    struct stat st;
    return geteuid() == 0 && (stat(path, &file) < 0 || stat(*folder ? folder : "/", &st) < 0 ||
                              !(file.st_mode & st.st_mode & 01));
}

/* A link can be replaced where it stands as well. */
static int check_hook_program(const char *field, const char *path, struct err *err)
{
    char why[TRUSTED_WHY_MAX];
    FD_AT_END int fd = trusted_program(path, why);
    if (fd < 0)
        return err_field(err, field, "%s: the program %.200s: %s", field, path, why);
    FREE_AT_END char *real = realpath(path, NULL);
    if (is_closed_to_hooks(path) || (real && is_closed_to_hooks(real)))
        return err_field(err, field,
                         "%s: %.200s or its folder is closed to the user that hooks of root run "
                         "as: chmod o+rx",
                         field, path);
    return 0;
}

static int read_hook_command(const struct config *config, size_t i, struct hook *hook,
                             struct err *err)
{
    char field[64];
    const struct str *words;
    size_t count = 0;
    size_t bytes = 0;
    field_of(i, "command", field);
    if (!config_list(config, field, &words, &count) || count == 0)
        return err_field(err, field, "%s is missing: a program and its arguments", field);
    for (size_t k = 0; k < count; k++)
        bytes += words[k].n + 1;
    if (count > ARGUMENTS_MAX || bytes > ARGUMENT_BYTES_MAX)
        return err_field(err, field, "%s has more than %d words or %u bytes", field, ARGUMENTS_MAX,
                         ARGUMENT_BYTES_MAX);
    hook->argv = mem_zero((count + 1) * sizeof *hook->argv);
    for (size_t k = 0; k < count; k++)
        hook->argv[k] = mem_copy(words[k].p, words[k].n);
    return check_hook_program(field, hook->argv[0], err);
}

static int read_hook(const struct config *config, size_t i, struct hook *hook, struct err *err)
{
    char field[64];
    field_of(i, "event", field);
    const char *event = config_text(config, field);
    if (!event)
        return err_field(err, field, "%s is missing: tool:before or tool:after", field);
    hook->after = strcmp(event, "tool:after") == 0;
    field_of(i, "toolName", field);
    const char *tools = config_text(config, field);
    if (tool_pattern_read(&hook->tools, tools ? tools : "*", field, err) < 0)
        return -1;
    field_of(i, "timeoutMs", field);
    hook->timeout_ms = config_int(config, field);
    return read_hook_command(config, i, hook, err);
}

int hook_list_read(const struct config *config, struct hook_list *ret, struct err *err)
{
    size_t count = config_count(config, "hooks");
    *ret = (struct hook_list){0};
    if (count > HOOKS_MAX)
        return err_field(err, "hooks", "hooks has %zu entries, and %d is the most", count,
                         HOOKS_MAX);
    ret->all = mem_zero(HOOKS_MAX * sizeof *ret->all);
    while (ret->count < count) {
        size_t i = ret->count++;
        if (read_hook(config, i, &ret->all[i], err) < 0) {
            hook_list_done(ret);
            return -1;
        }
    }
    return 0;
}

uint32_t hook_list_match(const struct hook_list *list, bool after, const struct tool *tool,
                         const char *name)
{
    uint32_t found = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct hook *hook = &list->all[i];
        if (hook->after == after && (tool || name) &&
            tool_pattern_matches(&hook->tools, tool, name))
            found |= UINT32_C(1) << i;
    }
    return found;
}

/* --- the folders that their cell shows */

struct folders {
    const struct str *shown;
    size_t n_shown;
    char **all;
    size_t count;
    size_t max;
};

static bool is_seen(const struct folders *f, const char *folder)
{
    for (const char *const *at = plan_system_paths; *at; at++) {
        if (path_rest(folder, *at))
            return true;
    }
    for (size_t i = 0; i < f->n_shown; i++) {
        if (path_rest(folder, f->shown[i].p))
            return true;
    }
    for (size_t i = 0; i < f->count; i++) {
        if (path_rest(folder, f->all[i]))
            return true;
    }
    return false;
}

/* The folder of a file; the root of all is never shown. */
static int add_hook_folder(struct folders *f, size_t i, const char *path, struct err *err)
{
    char field[64];
    FREE_AT_END char *folder = mem_copy(path, (size_t)(strrchr(path, '/') - path));
    field_of(i, "command", field);
    if (!*folder)
        return err_field(err, field, "%s: put the program into a folder of its own, not into /",
                         field);
    if (is_seen(f, folder))
        return 0;
    if (f->n_shown + f->count == f->max)
        return err_field(err, field,
                         "%s: the programs of hooks and commands.show name more than %zu folders",
                         field, f->max);
    f->all[f->count++] = TAKE_PTR(folder);
    return 0;
}

int hook_list_folders(const struct hook_list *list, const struct str *shown, size_t n_shown,
                      char **ret, size_t max, struct err *err)
{
    struct folders f = {.shown = shown, .n_shown = n_shown, .all = ret, .max = max};
    for (size_t i = 0; i < list->count; i++) {
        const char *path = list->all[i].argv[0];
        FREE_AT_END char *real = realpath(path, NULL);
        if (add_hook_folder(&f, i, path, err) < 0 ||
            (real && add_hook_folder(&f, i, real, err) < 0)) {
            for (size_t k = 0; k < f.count; k++)
                free(ret[k]);
            return -1;
        }
    }
    return (int)f.count;
}

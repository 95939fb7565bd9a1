#include "gate/manifests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/trusted.h"
#include "core/registry.h"
#include "gate/state.h"
#include "tools/manifest.h"

#define MANIFESTS_MAX 256
#define ENTRIES_MAX 4096
static const char field[] = "runtime.toolFolders";

struct manifests {
    struct manifest *all[MANIFESTS_MAX];
    const struct tool *tools[MANIFESTS_MAX + 1];
    size_t n;
    char *store; /* the state folder */
};

/* --- one of them */

static int check_manifest_owner(int fd, const char *what, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || (st.st_uid != 0 && st.st_uid != geteuid()) ||
        st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "%s is not used, others than root and its user could change it (chmod go-w)",
                       what);
    return 0;
}

static int read_manifest_text(int fd, struct buf *out, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size > MANIFEST_BYTES_MAX ||
        buf_reserve(out, (size_t)st.st_size + 1) < 0)
        return err_set(err, ERR_INVALID_ARGUMENTS, "it is larger than %u bytes",
                       MANIFEST_BYTES_MAX);
    ssize_t n = fd_read_upto(fd, out->data, out->cap);
    if (n < 0 || (size_t)n > MANIFEST_BYTES_MAX)
        return err_set(err, ERR_INVALID_ARGUMENTS, "it cannot be read");
    out->len = (size_t)n;
    return 0;
}

int manifests_read_one(const char *folder, const char *name, struct manifest **ret, struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(MANIFEST_BYTES_MAX + 4096);
    FREE_AT_END char *place = mem_format("%s/%s", folder, name);
    FD_AT_END int dir = open(place, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_AT_END int fd = dir < 0 ? -1 : fd_open_plain(dir, "manifest.json", O_RDONLY);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_INVALID_ARGUMENTS,
                       "manifest.json cannot be opened: %s", strerror(errno));
    if (check_manifest_owner(dir, "its folder", err) < 0 ||
        check_manifest_owner(fd, "manifest.json", err) < 0 ||
        read_manifest_text(fd, &text, err) < 0 || manifest_read(buf_str(&text), ret, err) < 0)
        return -1;
    (*ret)->folder = TAKE_PTR(place);
    if (strcmp((*ret)->tool.name, name) == 0)
        return 0;
    manifest_free(TAKE_PTR(*ret));
    return err_field(err, "name", "name: must be `%.60s`, as its folder is called", name);
}

/* --- all of them */

static bool is_called(const struct tool *tool, const char *name)
{
    return strcmp(tool->name, name) == 0 || (tool->alias && strcmp(tool->alias, name) == 0);
}

static bool manifests_is_taken(const struct manifests *m, const struct tool *tool)
{
    for (const struct tool *t = NULL; (t = registry_next(tool->dialect, t));) {
        if (is_called(t, tool->name) || (tool->alias && is_called(t, tool->alias)))
            return true;
    }
    for (size_t i = 0; i < m->n; i++) {
        if (is_called(m->tools[i], tool->name) ||
            (tool->alias && is_called(m->tools[i], tool->alias)))
            return true;
    }
    return false;
}

static void use_manifest(struct manifests *m, struct manifest *manifest)
{
    manifest->store = m->store ? mem_format("%s/modules", m->store) : NULL;
    manifest_tool_init(manifest);
    m->all[m->n] = manifest;
    m->tools[m->n++] = &manifest->tool;
}

static void add_manifest(struct manifests *m, const char *folder, const char *name)
{
    struct manifest *manifest;
    struct err err;
    if (manifests_read_one(folder, name, &manifest, &err) < 0) {
        if (err.code != ERR_NOT_FOUND) /* a folder without one is no tool */
            log_warning("the tool %s/%s is left out: %s", folder, name, err.message);
        return;
    }
    if (m->n == MANIFESTS_MAX || manifests_is_taken(m, &manifest->tool)) {
        log_warning("the tool %s/%s is left out: name: %s", folder, name,
                    m->n == MANIFESTS_MAX ? "there are too many tools"
                                          : "another tool is called so");
        manifest_free(manifest);
        return;
    }
    use_manifest(m, manifest);
}

/* Its author's, who wants to hear what is wrong. */
static int add_own_manifest(struct manifests *m, const char *parent, const char *name,
                            struct err *err)
{
    struct manifest *manifest;
    if (manifests_read_one(parent, name, &manifest, err) < 0)
        return -1;
    if (!manifests_is_taken(m, &manifest->tool)) {
        use_manifest(m, manifest);
        return 0;
    }
    manifest_free(manifest);
    return err_field(err, "name", "name: a builtin tool is called `%.60s`", name);
}

static int manifests_compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In their order, so that of two with one name it is always the same that counts. */
static int add_folder(struct manifests *m, const char *folder, struct err *err)
{
    char why[TRUSTED_WHY_MAX] = "";
    FD_AT_END int fd = folder[0] == '/' ? trusted_open(folder, why) : -EINVAL;
    if (fd < 0)
        return err_field(err, field, "%s: %.200s: %s", field, folder,
                         fd == -EINVAL ? "must be an absolute path"
                         : why[0]      ? why
                                       : strerror(-fd));
    DIR *list = fd_list(fd);
    if (!list)
        return err_field(err, field, "%s: %.200s: %s", field, folder, strerror(errno));
    char *names[ENTRIES_MAX];
    size_t n = 0;
    int error = 0;
    struct dirent *entry;
    while (n < ENTRIES_MAX && (entry = fd_list_next(list, &error))) {
        if (entry->d_name[0] != '.')
            names[n++] = mem_dup(entry->d_name);
    }
    closedir(list);
    qsort(names, n, sizeof *names, manifests_compare_names);
    for (size_t i = 0; i < n; i++) {
        add_manifest(m, folder, names[i]);
        free(names[i]);
    }
    return error ? err_field(err, field, "%s: %.200s: %s", field, folder, strerror(error)) : 0;
}

int manifests_load(const struct config *config, struct manifests **ret, struct err *err)
{
    return manifests_load_with(config, NULL, NULL, ret, err);
}

int manifests_load_with(const struct config *config, const char *parent, const char *name,
                        struct manifests **ret, struct err *err)
{
    const struct str *folders;
    size_t count = 0;
    *ret = NULL;
    if (!config_list(config, field, &folders, &count))
        count = 0;
    if (count == 0 && !name)
        return 0;
    struct manifests *m = mem_zero(sizeof *m);
    m->store = state_path();
    int r = name ? add_own_manifest(m, parent, name, err) : 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        FREE_AT_END char *folder = mem_copy_str(folders[i]);
        r = add_folder(m, folder, err);
    }
    if (r < 0) {
        manifests_free(m);
        return -1;
    }
    registry_use_more(m->tools);
    *ret = m;
    return 0;
}

void manifests_free(struct manifests *m)
{
    if (!m)
        return;
    registry_use_more(NULL);
    for (size_t i = 0; i < m->n; i++)
        manifest_free(m->all[i]);
    free(m->store);
    free(m);
}

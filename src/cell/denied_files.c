#include "cell/denied_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cell/mountinfo.h"
#include "cell/same_content.h"
#include "core/path.h"

/* Programs are here too, besides PATH: started by others, by a whole path, or under their own name. */
static const char *const more_folders[] = {
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/usr/games",
    "/usr/local/games",
    "/usr/libexec",
    "/usr/libexec/git-core",
    "/usr/lib/git-core",
    "/usr/lib/klibc/bin",
    "/usr/lib/cargo/bin",
    "/usr/lib/cargo/bin/coreutils",
};

/* Single files that are most programs of a machine. */
static const char *const many_in_one[] = {"busybox", "busybox.static", "toybox",    "coreutils",
                                          "uutils",  "sbase-box",      "ubase-box", "box"};

struct folder {
    char *path;
    dev_t device;
    ino_t inode;
};

/* A file in a folder of programs. */
struct entry {
    size_t folder;
    char *name;
};

struct finder {
    const struct denied_view *view;
    struct str packed;
    struct mountinfo mounts;
    struct folder *folders;
    size_t n_folders;
    struct entry *entries; /* of all folders, when they are first needed */
    size_t n_entries;
    bool listed;
    struct stat shell; /* st_ino 0: it is not needed */
    struct denied_files *files;
    denied_skip_fn skip;
    void *arg;
    struct denial denial; /* the one at hand */
    size_t number;
    int error; /* the first that leaves it open whether a file is there */
};

/* After a call that failed: what a command cannot reach either is not there. Anything else must not pass for that. */
static void note_error(struct finder *f)
{
    bool absent = errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP ||
                  errno == ENAMETOOLONG;
    if (!absent && !f->error)
        f->error = errno;
}

static bool is_of_file_type(struct finder *f, const char *path, mode_t type, struct stat *ret)
{
    if (stat(path, ret) == 0)
        return (ret->st_mode & S_IFMT) == type;
    note_error(f);
    return false;
}

/* NULL at the end, and where the folder cannot be read. */
static const struct dirent *next_finder_entry(struct finder *f, DIR *dir)
{
    errno = 0;
    const struct dirent *entry = dir ? readdir(dir) : NULL;
    if (dir && !entry && errno)
        note_error(f);
    return entry;
}

static DIR *open_finder_folder(struct finder *f, const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        note_error(f);
    return dir;
}

static void add_seen(struct finder *f, const char *path)
{
    struct stat st;
    if (path[0] != '/' || !is_of_file_type(f, path, S_IFDIR, &st))
        return;
    for (size_t i = 0; i < f->n_folders; i++) {
        if (f->folders[i].device == st.st_dev && f->folders[i].inode == st.st_ino)
            return;
    }
    f->folders = mem_grow(f->folders, f->n_folders + 1, sizeof *f->folders);
    f->folders[f->n_folders++] = (struct folder){mem_dup(path), st.st_dev, st.st_ino};
}

/* The path of a folder that lies in a root; NULL: it does not. */
static char *path_in_root(const struct cell_root *root, const char *path)
{
    const char *rest = root->commands ? path_rest(path, root->host) : NULL;
    return rest ? mem_format("%s%s%s", root->inside, *rest ? "/" : "", rest) : NULL;
}

static void add_finder_folder(struct finder *f, const char *path)
{
    add_seen(f, path);
    for (size_t i = 0; i < f->view->n_roots; i++) {
        FREE_AT_END char *inside = path_in_root(&f->view->roots[i], path);
        if (inside)
            add_seen(f, inside);
    }
}

/* A folder of commands.show, and what is called bin in it. */
static void add_tree(struct finder *f, const char *path)
{
    static const char *const parts[] = {"", "/bin", "/sbin"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        FREE_AT_END char *folder = mem_format("%s%s", path, parts[i]);
        add_finder_folder(f, folder);
    }
}

static void add_folders(struct finder *f)
{
    for (const char *at = f->view->path; at && *at;) {
        size_t n = strcspn(at, ":");
        FREE_AT_END char *folder = mem_copy(at, n);
        add_finder_folder(f, folder);
        at += n + (at[n] == ':');
    }
    for (size_t i = 0; i < ARRAY_LEN(more_folders); i++)
        add_finder_folder(f, more_folders[i]);
    for (size_t i = 0; i < f->view->n_shown; i++)
        add_tree(f, f->view->shown[i]);
    DIR *opt = open_finder_folder(f, "/opt");
    for (const struct dirent *entry; (entry = next_finder_entry(f, opt));) {
        FREE_AT_END char *path = mem_format("/opt/%s", entry->d_name);
        if (entry->d_name[0] != '.')
            add_tree(f, path);
    }
    if (opt)
        closedir(opt);
}

static bool fits_denial(const struct denial *denial, const char *name)
{
    const char *wanted = denial->kind == DENIAL_PATH ? path_name(denial->name) : denial->name;
    size_t n = strlen(wanted);
    if (denial->kind == DENIAL_GLOB && n && wanted[n - 1] == '*')
        return strncmp(wanted, name, n - 1) == 0;
    return strcmp(wanted, name) == 0;
}

static bool is_denied(const struct finder *f, const char *name)
{
    struct denial denial;
    for (struct str rest = f->packed; denials_next(&rest, &denial) > 0;) {
        if (fits_denial(&denial, name))
            return true;
    }
    return false;
}

/* The longer name is the shorter one with a version, a flavour or a machine: python3.11, nc.openbsd, perl5.36.0,
 * npm-cli.js, x86_64-linux-gnu-gcc-12. */
static bool is_form_of(const char *name, const char *other)
{
    const char *shorter = strlen(name) < strlen(other) ? name : other;
    const char *longer = shorter == name ? other : name;
    size_t n = strlen(shorter);
    for (const char *at = longer; n && (at = strstr(at, shorter)); at++) {
        bool begins = at == longer || at[-1] == '-';
        bool ends = at[n] == '\0' || at[n] == '.' || at[n] == '-' || isdigit((unsigned char)at[n]);
        if (begins && ends)
            return true;
    }
    return false;
}

/* The machine's operator has chosen what the name stands for. */
static bool is_alternative(struct finder *f, const char *path)
{
    static const char folder[] = "/etc/alternatives/";
    char target[sizeof folder];
    ssize_t n = readlink(path, target, sizeof target);
    if (n < 0 && errno != EINVAL)
        note_error(f);
    return n >= (ssize_t)sizeof folder - 1 && memcmp(target, folder, sizeof folder - 1) == 0;
}

static bool is_many(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(many_in_one); i++) {
        if (strcmp(many_in_one[i], name) == 0)
            return true;
    }
    return false;
}

/* Whether a file under that name is the denied program, and no other. */
static bool is_meant(const struct finder *f, const char *called, const char *name)
{
    return is_form_of(called, name) || is_denied(f, name);
}

static void tell_skipped_denial(const struct finder *f, const char *path, const char *why)
{
    if (f->skip)
        f->skip(f->arg, &f->denial, path, why);
}

static void add_denied_path(void *arg, const char *path)
{
    struct finder *f = arg;
    for (size_t i = 0; i < f->files->n; i++) {
        if (strcmp(f->files->all[i].path, path) == 0)
            return;
    }
    f->files->all = mem_grow(f->files->all, f->files->n + 1, sizeof *f->files->all);
    f->files->all[f->files->n++] = (struct denied_file){.path = mem_dup(path), .denial = f->number};
}

static void add_denied_file(struct finder *f, const char *path)
{
    add_denied_path(f, path);
    int r = mountinfo_names(&f->mounts, path, add_denied_path, f);
    errno = -r;
    if (r < 0)
        note_error(f);
}

/* Calls `each` for every name that the file has in the folders. */
typedef bool (*name_fn)(struct finder *f, const char *called, const char *path, const char *name);

static bool each_name_in(struct finder *f, const struct folder *folder, const struct stat *file,
                         const char *called, name_fn each)
{
    bool good = true;
    DIR *dir = open_finder_folder(f, folder->path);
    for (const struct dirent *entry; good && (entry = next_finder_entry(f, dir));) {
        struct stat st;
        if (entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN)
            continue;
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            note_error(f);
            continue;
        }
        if (st.st_ino != file->st_ino || st.st_dev != file->st_dev)
            continue;
        FREE_AT_END char *path = mem_format("%s/%s", folder->path, entry->d_name);
        good = each(f, called, path, entry->d_name);
    }
    if (dir)
        closedir(dir);
    return good;
}

static bool each_name(struct finder *f, const struct stat *file, const char *called, name_fn each)
{
    for (size_t i = 0; i < f->n_folders; i++) {
        if (!each_name_in(f, &f->folders[i], file, called, each))
            return false;
    }
    return true;
}

static bool check_denied_name(struct finder *f, const char *called, const char *path,
                              const char *name)
{
    if (is_meant(f, called, name))
        return true;
    tell_skipped_denial(f, path, "the same file is another program too");
    return false;
}

static bool add_denied_name(struct finder *f, const char *called, const char *path,
                            const char *name)
{
    (void)called;
    (void)name;
    FREE_AT_END char *real = realpath(path, NULL);
    if (real)
        add_denied_file(f, real);
    else
        note_error(f);
    return true;
}

static const char *why_not_denied(struct finder *f, const char *path, const char *real,
                                  const struct stat *st)
{
    const char *name = path_name(real);
    if (f->shell.st_ino && f->shell.st_ino == st->st_ino && f->shell.st_dev == st->st_dev)
        return "command lines are run by it";
    if (is_many(name))
        return "it is many programs in one file";
    if (!is_meant(f, path_name(path), name) && !is_alternative(f, path))
        return "the name is a link to another program";
    return NULL;
}

static void list_folder(struct finder *f, size_t folder)
{
    DIR *dir = open_finder_folder(f, f->folders[folder].path);
    for (const struct dirent *entry; (entry = next_finder_entry(f, dir));) {
        if (entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN)
            continue;
        if ((f->n_entries & (f->n_entries - 1)) == 0)
            f->entries = mem_grow(f->entries, f->n_entries ? f->n_entries * 2 : 1,
                                  sizeof *f->entries);
        f->entries[f->n_entries++] = (struct entry){folder, mem_dup(entry->d_name)};
    }
    if (dir)
        closedir(dir);
}

static void list_all(struct finder *f)
{
    for (size_t i = 0; i < f->n_folders && !f->listed; i++)
        list_folder(f, i);
    f->listed = true;
}

static void add_copy(struct finder *f, const struct entry *entry, const char *real,
                     const struct stat *file)
{
    struct stat st;
    FREE_AT_END char *path = mem_format("%s/%s", f->folders[entry->folder].path, entry->name);
    if (is_of_file_type(f, path, S_IFREG, &st) && st.st_size == file->st_size && st.st_size > 0 &&
        (st.st_ino != file->st_ino || st.st_dev != file->st_dev) && same_content(path, real))
        add_denied_name(f, "", path, entry->name);
}

/* The same program once more, with a version or a flavour in its name. */
static void add_copies(struct finder *f, const char *real, const struct stat *file)
{
    list_all(f);
    for (size_t i = 0; i < f->n_entries; i++) {
        if (is_form_of(path_name(real), f->entries[i].name))
            add_copy(f, &f->entries[i], real, file);
    }
}

static void consider(struct finder *f, const char *path)
{
    struct stat st;
    if (!is_of_file_type(f, path, S_IFREG, &st))
        return;
    FREE_AT_END char *real = realpath(path, NULL);
    if (!real) {
        note_error(f);
        return;
    }
    const char *why = why_not_denied(f, path, real, &st);
    if (why) {
        tell_skipped_denial(f, real, why);
        return;
    }
    if (st.st_nlink > 1) {
        if (!each_name(f, &st, path_name(real), check_denied_name))
            return;
        each_name(f, &st, path_name(real), add_denied_name);
    }
    add_denied_file(f, real);
    add_copies(f, real, &st);
}

static void find_glob(struct finder *f, const struct folder *folder)
{
    DIR *dir = open_finder_folder(f, folder->path);
    for (const struct dirent *entry; (entry = next_finder_entry(f, dir));) {
        FREE_AT_END char *path = fits_denial(&f->denial, entry->d_name)
                                     ? mem_format("%s/%s", folder->path, entry->d_name)
                                     : NULL;
        if (path)
            consider(f, path);
    }
    if (dir)
        closedir(dir);
}

static void find_denied_path(struct finder *f)
{
    const char *path = f->denial.name;
    if (path[0] != '/')
        return;
    consider(f, path);
    for (size_t i = 0; i < f->view->n_roots; i++) {
        FREE_AT_END char *inside = path_in_root(&f->view->roots[i], path);
        if (inside)
            consider(f, inside);
    }
}

static void find_denied_programs(struct finder *f)
{
    if (f->denial.kind == DENIAL_PATH) {
        find_denied_path(f);
        return;
    }
    for (size_t i = 0; i < f->n_folders; i++) {
        if (f->denial.kind == DENIAL_GLOB) {
            find_glob(f, &f->folders[i]);
            continue;
        }
        FREE_AT_END char *path = mem_format("%s/%s", f->folders[i].path, f->denial.name);
        consider(f, path);
    }
}

int denied_find(struct str packed, const struct denied_view *view, struct denied_files *files,
                denied_skip_fn skip_fn, void *arg)
{
    struct finder f = {.view = view, .packed = packed, .files = files, .skip = skip_fn, .arg = arg};
    f.error = -mountinfo_read(view->proc, &f.mounts);
    if (!view->shell || !is_of_file_type(&f, "/bin/bash", S_IFREG, &f.shell))
        f.shell = (struct stat){0};
    add_folders(&f);
    for (struct str rest = packed; denials_next(&rest, &f.denial) > 0; f.number++)
        find_denied_programs(&f);
    for (size_t i = 0; i < f.n_entries; i++)
        free(f.entries[i].name);
    free(f.entries);
    for (size_t i = 0; i < f.n_folders; i++)
        free(f.folders[i].path);
    free(f.folders);
    mountinfo_done(&f.mounts);
    return -f.error;
}

void denied_files_done(struct denied_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->all[i].path);
    free(files->all);
    *files = (struct denied_files){0};
}

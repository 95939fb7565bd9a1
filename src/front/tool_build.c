/* `sandgate tool build`: the compiler runs as it would from a shell, with all that its user may do. Nothing but this command
 * starts it. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/shown.h"
#include "base/str.h"
#include "front/front.h"
#include "front/tool_parts.h"
#include "gate/manifests.h"
#include "session/modules.h"

#define SOURCES_MAX 100
#define NAME_SHOWN 300
#define COMPILER "clang"
#define COMPILER_FROM "clang lld wasi-libc libclang-rt-14-dev-wasm32"

extern char **environ;

struct tool_sources {
    char *names[SOURCES_MAX];
    size_t n;
};

static void tool_sources_done(struct tool_sources *sources)
{
    for (size_t i = 0; i < sources->n; i++)
        free(sources->names[i]);
}

static int compare_sources(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* As `./NAME`, so that no name is an option. */
static int find_sources(int dir, struct tool_sources *ret, struct err *err)
{
    DIR *list = fd_list(dir);
    int error = list ? 0 : errno;
    struct dirent *entry;
    while (list && ret->n < SOURCES_MAX && (entry = fd_list_next(list, &error))) {
        if (entry->d_name[0] != '.' && str_ends(str_of(entry->d_name), STR(".c")))
            ret->names[ret->n++] = mem_format("./%s", entry->d_name);
    }
    if (list)
        closedir(list);
    if (error)
        return err_set(err, ERR_CONFLICT, "the folder cannot be listed: %s", strerror(error));
    if (ret->n == 0 || ret->n == SOURCES_MAX)
        return err_set(err, ERR_NOT_FOUND, "the folder has %s files that end in .c",
                       ret->n ? "too many" : "no");
    qsort(ret->names, ret->n, sizeof *ret->names, compare_sources);
    return 0;
}

static void tell_compiler(char *const *argv)
{
    BUF_AT_END struct buf line = BUF_INIT(256u << 10);
    buf_add_text(&line, "runs as you, outside any sandbox:");
    for (; *argv; argv++) {
        buf_add_char(&line, ' ');
        shown_line(str_of(*argv), NAME_SHOWN, &line);
    }
    buf_add_char(&line, '\n');
    fd_write_all(STDERR_FILENO, line.data, line.len);
}

static int wait_for_compiler(pid_t pid, struct err *err)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(err, ERR_CONFLICT,
                   "%s failed, see above. Where a header, wasm-ld or a library is missing, they "
                   "come with Debian's: apt install %s",
                   COMPILER, COMPILER_FROM);
}

static int run_compiler(const char *folder, const struct tool_sources *sources, char *made,
                        struct err *err)
{
    static char compiler[] = COMPILER;
    static char target[] = "--target=wasm32-wasi";
    static char optimize[] = "-O2";
    static char output[] = "-o";
    char *argv[SOURCES_MAX + 6] = {compiler, target, optimize, output, made};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    for (size_t i = 0; i < sources->n; i++)
        argv[5 + i] = sources->names[i];
    tell_compiler(argv);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    int error = posix_spawnp(&pid, compiler, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no compiler `%s`; on Debian and Ubuntu: apt install %s", COMPILER,
                       COMPILER_FROM);
    return error ? err_set(err, ERR_CONFLICT, "%s: %s", COMPILER, strerror(error))
                 : wait_for_compiler(pid, err);
}

/* --- the hash in the manifest */

static bool names_hash(struct str text, const char *hex)
{
    struct manifest *read;
    struct err err;
    if (manifest_read(text, &read, &err) < 0)
        return false;
    bool names = strcmp(read->sha256, hex) == 0;
    manifest_free(read);
    return names;
}

/* The text stays as it was written but for the digits. The same may stand elsewhere, in an example: the right place is the one
 * that makes the manifest say it. */
static int put_hash(struct buf *text, const char *old, const char *hex, struct err *err)
{
    const char *all = buf_text(text);
    for (const char *at = all; at && (at = strstr(at, old)); at++) {
        char *place = text->data + (at - all);
        char before[HASH_HEX];
        memcpy(before, place, HASH_HEX);
        memcpy(place, hex, HASH_HEX);
        if (names_hash(buf_str(text), hex))
            return 0;
        memcpy(place, before, HASH_HEX);
    }
    return err_field(err, "sha256", "sha256: its place in the manifest was not found; write %s",
                     hex);
}

static int read_tool_file(int dir, const char *name, size_t max, struct buf *ret, struct err *err)
{
    FD_AT_END int fd = fd_open_plain(dir, name, O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, ERR_NOT_FOUND, "%.60s: %s", name, strerror(errno));
    if ((size_t)st.st_size > max || buf_reserve(ret, (size_t)st.st_size + 1) < 0)
        return err_set(err, ERR_TOO_LARGE, "%.60s is larger than %zu bytes", name, max);
    ssize_t n = fd_read_upto(fd, ret->data, (size_t)st.st_size);
    if (n < 0)
        return err_set(err, ERR_CONFLICT, "%.60s: %s", name, strerror((int)-n));
    ret->len = (size_t)n;
    return 0;
}

/* The module first: between the two the manifest means another one, and the tool is refused. */
static int take_module(int dir, const struct manifest *m, const char *made, struct buf *out,
                       struct err *err)
{
    BUF_AT_END struct buf module = BUF_INIT(MODULE_BYTES_MAX + 2);
    BUF_AT_END struct buf text = BUF_INIT(MANIFEST_BYTES_MAX + 2);
    char hex[HASH_HEX + 1];
    if (read_tool_file(dir, made, MODULE_BYTES_MAX, &module, err) < 0 ||
        read_tool_file(dir, "manifest.json", MANIFEST_BYTES_MAX, &text, err) < 0)
        return -1;
    hash_hex(module.data, module.len, hex);
    if (!hash_hex_equal(str_of(m->sha256), hex) && put_hash(&text, m->sha256, hex, err) < 0)
        return -1;
    if (tool_folder_put(dir, m->module, buf_str(&module), err) < 0 ||
        tool_folder_put(dir, "manifest.json", buf_str(&text), err) < 0)
        return -1;
    buf_addf(out, "%s  %zu bytes, sha256 %s\n", m->module, module.len, hex);
    return 0;
}

static int build_module(const struct manifest *m, struct buf *out, struct err *err)
{
    CLEANUP(tool_sources_done) struct tool_sources sources = {0};
    FREE_AT_END char *made = mem_format(".made.%d.wasm", (int)getpid());
    FD_AT_END int dir = open(m->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return err_set(err, ERR_NOT_FOUND, "%.200s: %s", m->folder, strerror(errno));
    if (find_sources(dir, &sources, err) < 0)
        return -1;
    int r = run_compiler(m->folder, &sources, made, err);
    if (r == 0)
        r = take_module(dir, m, made, out, err);
    unlinkat(dir, made, 0);
    return r;
}

int tool_build(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    CLEANUP(tool_folder_done) struct tool_folder at = {0};
    struct manifest *m;
    (void)state_fd;
    if (o->n_words > 2)
        return err_set(err, ERR_INVALID_ARGUMENTS, "say `tool build [DIR]`");
    if (tool_folder_find(o->words[1], &at, err) < 0 ||
        manifests_read_one(at.parent, at.name, &m, err) < 0)
        return -1;
    int r = build_module(m, out, err);
    manifest_free(m);
    return r;
}

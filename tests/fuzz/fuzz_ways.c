/* Links in folders as the input says, and a path over them. All that follows a path name by name comes to where the kernel
 * comes to, and tells when it has been in a folder. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/trusted.h"
#include "cell/spec.h"
#include "core/op_packed.h"
#include "gate/reach.h"
#include "session/way.h"
#include "session/way_back.h"
#include "target.h"
#include "build.h"
#include "scratch.h"
#include "work/beneath_walk.h"
#include "work/git_leads.h"

#define INSIDE "/workspace"
#define LINKS 6
#define NAMES_SHORT 200
#define NAMES_MAX 4096

static const char *const folders[] = {"", "/ws", "/ws/d", "/ws/d/e", "/other", "/other/d", "/else"};
static struct cell_root roots[2];
static struct beneath_root root = {.fd = -1, .inside = INSIDE};
static struct root reached;
static struct reach reach;

static void make_root(struct cell_root *ret, const char *name)
{
    ret->host = mem_format("%s/%s", scratch, name);
    FD_AT_END int fd = open(ret->host, O_PATH | O_CLOEXEC);
    must(fd >= 0 && spec_identify(fd, ret) == 0);
}

static void set_up(void)
{
    scratch_make();
    for (size_t i = 1; i < ARRAY_LEN(folders); i++) {
        FREE_AT_END char *path = mem_format("%s%s", scratch, folders[i]);
        must(mkdir(path, 0755) == 0);
    }
    make_root(&roots[0], "ws");
    make_root(&roots[1], "other");
    root.host = roots[0].host;
    root.fd = open(root.host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(root.fd >= 0);
    reached.host = roots[0].host;
    reach.folders[reach.n].root = &reached;
    reach.folders[reach.n].device = (dev_t)roots[0].device;
    reach.folders[reach.n++].inode = (ino_t)roots[0].inode;
}

/* One that means something in the folders; "" makes two slashes. At most one of the longest, so that links in links stay
 * shorter than the longest path: what is longer than that need not be followed. */
static void add_name(unsigned pick, struct buf *out)
{
    static const char *const names[] = {"d",  "e",  "ws", "other", "else",  "l0",
                                        "l1", "l2", "l3", "l4",    "l5",    "..",
                                        "..", ".",  "",   "no",    "\xff\n"};
    if (pick < 240 || out->len > NAMES_SHORT) {
        buf_add_text(out, names[pick % ARRAY_LEN(names)]);
        return;
    }
    for (unsigned i = PATH_NAME_MAX + 248 - pick; i > 0; i--)
        buf_add_char(out, pick & 1 ? 'n' : '.');
}

static void add_names(struct source *s, struct buf *out)
{
    for (unsigned left = next_byte(s) % 12; left > 0; left--) {
        unsigned pick = next_byte(s);
        add_name(pick, out);
        if (left > 1 || pick & 1)
            buf_add_char(out, '/');
    }
}

/* The caller's. Never empty. */
static char *next_path(struct source *s, bool absolute)
{
    BUF_AT_END struct buf out = BUF_INIT(2u * PATH_MAX);
    unsigned begin = next_byte(s) % 8;
    if (absolute || begin > 4)
        buf_addf(&out, "%s/", begin == 7 && !absolute ? INSIDE : scratch);
    else if (begin == 4)
        buf_add_text(&out, "/");
    add_names(s, &out);
    return mem_dup(out.len ? buf_text(&out) : ".");
}

static char *link_path(unsigned folder, unsigned number)
{
    return mem_format("%s%s/l%u", scratch, folders[folder % ARRAY_LEN(folders)], number);
}

static void make_links(struct source *s, char *made[LINKS])
{
    for (unsigned i = 0; i < LINKS; i++) {
        unsigned folder = next_byte(s);
        FREE_AT_END char *target = next_path(s, false);
        made[i] = link_path(folder, i);
        must(symlink(target, made[i]) == 0);
    }
}

static void remove_links(char *made[LINKS])
{
    for (unsigned i = 0; i < LINKS; i++) {
        unlink(made[i]);
        free(made[i]);
    }
}

/* Where the descriptor is. The caller's. */
static char *name_of(int fd)
{
    char link[64];
    char text[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, text, sizeof text);
    must(n > 0 && n < (ssize_t)sizeof text);
    return mem_copy(text, (size_t)n);
}

/* Where the kernel comes to from `folder`, or NULL. The caller's. */
static char *kernel_way(const char *folder, const char *path)
{
    FD_AT_END int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    FD_AT_END int fd = openat(dir, path, O_PATH | O_CLOEXEC);
    return fd < 0 ? NULL : name_of(fd);
}

static bool is_same(const char *one, const char *other)
{
    return one && other && strcmp(one, other) == 0;
}

static void check_link_folder(void *arg, const char *folder)
{
    (void)arg;
    FREE_AT_END char *real = kernel_way("/", folder);
    must(is_same(real, folder));
}

static void check_through(const char *path, const char *end)
{
    bool way = way_leads_through(path, root.host);
    const char *through = reach_through(&reach, path);
    way_each_link(path, check_link_folder, NULL);
    must(!through || through == root.host);
    if (!end)
        return;
    const char *rest = path_rest(end, root.host);
    must(!rest || through);
    must(!rest || !*rest || way);
    /* Both see the same folders; only the last one is no folder in which a name is looked up. */
    must(!way || through);
    must(!through || way || rest);
}

static void check_trusted(const char *path, const char *end)
{
    char why[TRUSTED_WHY_MAX];
    FD_AT_END int fd = trusted_open(path, why);
    must(fd >= 0 || fd == -EPERM || !why[0]);
    if (fd < 0)
        return;
    FREE_AT_END char *got = name_of(fd);
    must(is_same(got, end));
}

/* What comes back to a folder is the same path from there on. */
static void check_back(const char *path)
{
    unsigned names = NAMES_MAX;
    size_t to = ARRAY_LEN(roots);
    char rest[PATH_TEXT_MAX];
    FREE_AT_END char *end = kernel_way(roots[0].host, path);
    bool back = way_back(roots, ARRAY_LEN(roots), 0, path, &names, &to, rest);
    must(names > 0);
    if (back) {
        must(to < ARRAY_LEN(roots) && rest[0] && rest[0] != '/');
        FREE_AT_END char *again = kernel_way(roots[to].host, rest);
        must(!end || is_same(end, again));
        return;
    }
    /* A file is no way; there is none here. */
    must(!end || !path_rest(end, roots[1].host));
    must(!end || path[0] != '/' || !path_rest(end, roots[0].host));
}

static void check_where(const char *path)
{
    char where[PATH_TEXT_MAX];
    FD_AT_END int fd = beneath_open_at(root.fd, path, O_PATH, 0, 0);
    bool told = git_leads_where(&root, path, where);
    must(fd < 0 || told);
    must(!told || strcmp(where, ".") == 0 ||
         op_is_relative_path((struct str){where, strlen(where)}));
    if (fd < 0)
        return;
    FREE_AT_END char *end = name_of(fd);
    const char *rest = path_rest(end, root.host);
    must(rest && strcmp(*rest ? rest : ".", where) == 0);
}

/* A text in a file of the folder `d`. */
static void check_leads(const char *text)
{
    char path[PATH_TEXT_MAX];
    FREE_AT_END char *folder = mem_format("%s/d", root.host);
    if (!git_leads_locate(&root, (struct str){"d", 1}, text, path)) {
        must(strlen(text) + 2 >= PATH_TEXT_MAX);
        return;
    }
    must(path[0] && strlen(path) < PATH_TEXT_MAX);
    bool inside = path_beneath((struct str){text, strlen(text)}, INSIDE);
    FREE_AT_END char *end = inside ? NULL : kernel_way(folder, text);
    FREE_AT_END char *again = end ? kernel_way(root.host, path) : NULL;
    must(!end || is_same(end, again));
    if (path[0] != '/')
        check_where(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source s = {data, size};
    char *made[LINKS];
    if (!scratch[0])
        set_up();
    make_links(&s, made);
    FREE_AT_END char *path = next_path(&s, true);
    FREE_AT_END char *end = kernel_way("/", path);
    FREE_AT_END char *other = next_path(&s, false);
    check_through(path, end);
    check_trusted(path, end);
    check_back(path);
    check_back(other);
    check_leads(path);
    check_leads(other);
    remove_links(made);
    return 0;
}

#include "cell/denied.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/failed.h"
#include "cell/frame.h"
#include "cell/mounts.h"
#include "cell/stub.h"

#define STUB_MODE 0555
/* A page for each stub. */
#define STUBS_OPTIONS "size=64m,nr_inodes=16384,mode=755"

void denied_write(const char *path, bool shell, struct str packed, struct buf *out)
{
    buf_add(out, path, strlen(path) + 1);
    buf_add(out, shell ? "s" : "-", 2);
    buf_add(out, packed.p, packed.n);
}

static int failed_for(struct denied *d, const struct denial *denial, const char *path)
{
    return err_set(&d->why, err_code_for(errno, ERR_SANDBOX_UNAVAILABLE),
                   "%.100s cannot be denied as the rule %.100s says: covering %.200s: %s",
                   denial->name, denial->rule, path, strerror(errno));
}

static bool find_denial(const struct denied *d, uint64_t number, struct denial *ret)
{
    struct str rest = d->packed;
    for (uint64_t i = 0; denials_next(&rest, ret) > 0; i++) {
        if (i == number)
            return true;
    }
    return false;
}

const char *denied_name(const struct denied *d, uint64_t number)
{
    struct denial denial;
    return find_denial(d, number, &denial) ? denial.name : NULL;
}

static int read_body(struct denied *d)
{
    struct str rest = buf_str(&d->body);
    struct denial denial;
    int r;
    const char *flag = rest.n ? memchr(rest.p, '\0', rest.n) : NULL;
    size_t head = flag ? (size_t)(flag - rest.p) + 3 : 0;
    if (!flag || head > rest.n || flag[2] != '\0')
        return -1;
    d->path = rest.p;
    d->shell = flag[1] == 's';
    d->packed = (struct str){rest.p + head, rest.n - head};
    for (rest = d->packed; (r = denials_next(&rest, &denial)) > 0;)
        continue;
    return r;
}

static void stub_path(char out[64], size_t number)
{
    snprintf(out, 64, PLAN_DENIED "/%zu", number);
}

static int write_stub(struct denied *d, int folder, const struct denial *denial, size_t number)
{
    char path[64];
    const char *name = path + sizeof PLAN_DENIED;
    char text[STUB_TEXT_MAX];
    BUF_AT_END struct buf stub = BUF_INIT(4096);
    snprintf(text, sizeof text, "sandgate: %.200s is denied by the rule %.200s\n", denial->name,
             denial->rule);
    stub_write(&stub, (uint32_t)number, text);
    stub_path(path, number);
    /* Another file of the same program may have it, or an earlier attempt was cut off. */
    if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
        return failed_for(d, denial, path);
    FD_AT_END int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, STUB_MODE);
    if (fd < 0 || fchmod(fd, stub.len ? STUB_MODE : 0) < 0 ||
        fd_write_all(fd, stub.data, stub.len) < 0)
        return failed_for(d, denial, path);
    return 0;
}

static int mount_folder(struct denied *d)
{
    if (mounts_sealed(PLAN_DENIED, STUBS_OPTIONS) < 0)
        return cell_failed_at(&d->why, "mounting a tmpfs on", PLAN_DENIED);
    d->mounted = true;
    return 0;
}

/* For the files that have none. */
static int write_stubs(struct denied *d)
{
    struct denial denial;
    FD_AT_END int folder = mounts_open_writable(PLAN_DENIED);
    if (folder < 0)
        return cell_failed_at(&d->why, "opening", PLAN_DENIED);
    for (size_t i = d->n_stubs; i < d->files.n; i++) {
        if (find_denial(d, d->files.all[i].denial, &denial) &&
            write_stub(d, folder, &denial, d->files.all[i].denial) < 0)
            return -1;
        d->n_stubs = i + 1;
    }
    return 0;
}

static bool is_stub(int fd)
{
    struct stat file;
    struct stat stubs;
    return fstat(fd, &file) == 0 && stat(PLAN_DENIED, &stubs) == 0 && file.st_dev == stubs.st_dev;
}

static bool is_absence(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/* 0: a stub lies there; 1: there is nothing to cover. */
static int try_cover(const char *path, const char *stub)
{
    FD_AT_END int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return is_absence(errno) ? 1 : -1;
    if (is_stub(fd))
        return 0;
    FD_AT_END int tree = open_tree(AT_FDCWD, stub, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return tree < 0
               ? -1
               : move_mount(tree, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/* The kernel takes a mount away before the file that replaces its file has the name: for that moment the old one is
 * found, and nothing can be mounted on it. */
#define TRIES 200
#define TRY_NS 100000

/* As try_cover. */
static int cover_denied_path(struct denied *d, const char *path, size_t number)
{
    char stub[64];
    struct denial denial = {.name = "", .rule = ""};
    stub_path(stub, number);
    for (int i = 0; i < TRIES; i++) {
        int r = try_cover(path, stub);
        if (r >= 0)
            return r;
        if (errno != ENOENT && errno != EINVAL)
            break;
        nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
    }
    find_denial(d, number, &denial);
    return failed_for(d, &denial, path);
}

/* A folder of the session may hold the machine's programs, and shows them under another path. */
static int cover_in_roots(struct denied *d, const struct cell_spec *spec, const char *path,
                          size_t number)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        const struct cell_root *root = &spec->roots[i];
        const char *rest = root->commands ? path_rest(path, root->host) : NULL;
        if (!rest)
            continue;
        FREE_AT_END char *other = mem_format("%s/%s", root->inside, rest);
        if (cover_denied_path(d, other, number) < 0)
            return -1;
    }
    return 0;
}

static int cover_denied_programs(struct denied *d, const struct cell_spec *spec)
{
    const struct denied_view view = {.path = d->path,
                                     .shown = (const char *const *)spec->shown,
                                     .n_shown = spec->n_shown,
                                     .roots = spec->roots,
                                     .n_roots = spec->n_roots,
                                     .proc = d->proc,
                                     .shell = d->shell};
    if (!d->mounted && mount_folder(d) < 0)
        return -1;
    int r = denied_find(d->packed, &view, &d->files, NULL, NULL);
    if (r < 0)
        return err_set(&d->why, err_code_for(-r, ERR_SANDBOX_UNAVAILABLE),
                       "looking for the programs that rules deny: %s", strerror(-r));
    if (d->files.n > d->n_stubs && write_stubs(d) < 0)
        return -1;
    for (size_t i = 0; i < d->files.n; i++) {
        struct denied_file *file = &d->files.all[i];
        r = cover_denied_path(d, file->path, file->denial);
        if (r < 0 || cover_in_roots(d, spec, file->path, file->denial) < 0)
            return -1;
        file->gone = r > 0;
    }
    return 0;
}

/* A cover goes with its file when that is replaced on the host. Where it is removed, the program may have moved: that is
 * looked for once. */
static bool are_stubs_complete(const struct denied *d)
{
    for (size_t i = 0; i < d->files.n; i++) {
        const struct denied_file *file = &d->files.all[i];
        FD_AT_END int fd = open(file->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 ? !file->gone || !is_absence(errno) : !is_stub(fd))
            return false;
    }
    return true;
}

bool denied_returned(const struct denied *d)
{
    for (size_t i = 0; i < d->files.n; i++) {
        if (d->files.all[i].gone &&
            faccessat(AT_FDCWD, d->files.all[i].path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    }
    return false;
}

int denied_cover(struct denied *d, const struct cell_spec *spec)
{
    if (d->broken)
        return -1;
    if (d->found && !d->why.message[0] && are_stubs_complete(d))
        return 0;
    d->why.message[0] = '\0';
    d->found = true;
    return d->packed.n == 0 ? 0 : cover_denied_programs(d, spec);
}

static void uncover(const char *path)
{
    FD_AT_END int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && is_stub(fd))
        umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
}

/* Here only: the commands that run have copies of these mounts. */
static void uncover_all(const struct denied *d, const struct cell_spec *spec)
{
    for (size_t i = 0; i < d->files.n; i++) {
        const char *path = d->files.all[i].path;
        uncover(path);
        for (size_t k = 0; k < spec->n_roots; k++) {
            const char *rest = path_rest(path, spec->roots[k].host);
            FREE_AT_END char *other = rest ? mem_format("%s/%s", spec->roots[k].inside, rest)
                                           : NULL;
            if (other)
                uncover(other);
        }
    }
    if (d->mounted)
        umount2(PLAN_DENIED, MNT_DETACH);
}

struct denied *denied_new(void)
{
    struct denied *d = mem_zero(sizeof *d);
    d->refs = 1;
    d->proc = -1;
    d->body = BUF_INIT(FRAME_BODY_MAX);
    return d;
}

struct denied *denied_ref(struct denied *denied)
{
    denied->refs++;
    return denied;
}

void denied_unref(struct denied *denied)
{
    if (!denied || --denied->refs > 0)
        return;
    buf_done(&denied->body);
    denied_files_done(&denied->files);
    free(denied);
}

bool denied_take(struct denied **denied, const struct cell_spec *spec, struct str body)
{
    struct str old = buf_str(&(*denied)->body);
    if (old.n == body.n && body.n && memcmp(old.p, body.p, body.n) == 0)
        return false;
    uncover_all(*denied, spec);
    denied_unref(*denied);
    struct denied *d = *denied = denied_new();
    d->broken = buf_add(&d->body, body.p, body.n) < 0 || read_body(d) < 0;
    if (d->broken) {
        d->packed = (struct str){0};
        err_set(&d->why, ERR_SANDBOX_UNAVAILABLE, "which programs are denied cannot be read");
        return true;
    }
    denied_cover(d, spec);
    return true;
}

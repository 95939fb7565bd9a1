#include "work/beneath_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/resolve.h"
#include "core/path.h"

static _Thread_local int lack;

void beneath_note_lack(int error)
{
    /* openat2 says EAGAIN when something was renamed meanwhile: whoever can be told so tries again. */
    if (error == EIO || (err_is_shortage(error) && error != EAGAIN))
        lack = error;
}

bool beneath_lacks(void)
{
    return lack != 0;
}

int beneath_take_lack(void)
{
    int error = lack;
    lack = 0;
    return error;
}

int beneath_open_at(int dir, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    int fd = resolve_open(dir, path, flags | (flags & O_PATH ? 0 : O_NOCTTY | O_NONBLOCK), mode,
                          resolve | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    if (fd < 0)
        beneath_note_lack(errno);
    return fd;
}

/* `..` goes back along folders already open, and so does what is known of the way. */
static void pop_to(struct beneath_walk *w, int depth)
{
    while (w->depth > depth) {
        close(w->dirs[w->depth--]);
        const char *slash = memrchr(w->real->buffer, '/', w->length);
        w->length = slash ? (size_t)(slash - w->real->buffer) : 0;
    }
}

void beneath_walk_done(struct beneath_walk *w)
{
    pop_to(w, 0);
}

bool beneath_walk_from_link(const struct beneath_walk *w)
{
    return strlen(w->rest) >= w->link_left;
}

void beneath_walk_unmake(struct beneath_walk *w)
{
    while (w->made_from && w->depth >= w->made_from) {
        w->real->buffer[w->length] = '\0';
        const char *name = path_name(w->real->buffer);
        pop_to(w, w->depth - 1);
        if (unlinkat(w->dirs[w->depth], name, AT_REMOVEDIR) < 0)
            return;
    }
}

/* Takes the next component into w->name; 0 at the end, 1, or -errno. *ret_last: nothing follows. */
static int take_walked_name(struct beneath_walk *w, bool *ret_last)
{
    char *at = w->rest;
    while (*at == '/')
        at++;
    size_t n = strcspn(at, "/");
    if (n == 0)
        return 0;
    if (n > PATH_NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(w->name, at, n);
    w->name[n] = '\0';
    at += n;
    while (*at == '/')
        at++;
    *ret_last = *at == '\0';
    memmove(w->rest, at, strlen(at) + 1);
    return 1;
}

/* The name at hand as a path from the root, behind the way to it. -ENAMETOOLONG when there is no room. */
static int set_real(struct beneath_walk *w)
{
    char *text = w->real->buffer;
    size_t n = strlen(w->name);
    size_t at = w->length;
    if (at + n + 2 > sizeof w->real->buffer)
        return -ENAMETOOLONG;
    bool dot = strcmp(w->name, ".") == 0;
    if (!dot || at == 0) {
        if (at)
            text[at++] = '/';
        memcpy(text + at, w->name, n);
        at += n;
    }
    text[at] = '\0';
    w->real->text = text;
    return 0;
}

/* The name at hand and, as text, what is still to be walked. */
static int add_rest_of_walk(struct beneath_walk *w, struct beneath_real *out)
{
    size_t n = strlen(w->real->text);
    memcpy(out->buffer, w->real->text, n);
    for (const char *at = w->rest; *at;) {
        size_t length = strcspn(at, "/");
        if (length == 2 && memcmp(at, "..", 2) == 0) {
            while (n && out->buffer[--n] != '/')
                continue;
        } else if (length && !(length == 1 && at[0] == '.')) {
            if (n + length + 2 > sizeof out->buffer)
                return -ENAMETOOLONG;
            if (n)
                out->buffer[n++] = '/';
            memcpy(out->buffer + n, at, length);
            n += length;
        }
        at += length + (at[length] == '/');
    }
    out->buffer[n] = '\0';
    out->text = out->buffer;
    return 0;
}

static void judge_name(struct beneath_walk *w, const char *text)
{
    const char *rule;
    struct str path = {text, strlen(text)};
    enum guard_verdict verdict = guard_judge_link(w->root->guard, path, &rule);
    if (verdict <= w->real->link_verdict)
        return;
    w->real->link_verdict = verdict;
    w->real->link_rule = rule;
}

static int judge_rest(struct beneath_walk *w)
{
    struct beneath_real whole;
    int r = add_rest_of_walk(w, &whole);
    size_t n = r < 0 ? 0 : strlen(whole.text);
    size_t room = sizeof whole.buffer - n;
    if (r == 0 && w->root->behind &&
        (size_t)snprintf(whole.buffer + n, room, "/%s", w->root->behind) >= room)
        r = -ENAMETOOLONG;
    if (r == 0)
        judge_name(w, whole.text);
    return r;
}

/* A link counts by its own name too, whatever it is that it leads to, and so does what follows: a program that looks for
 * `.cargo/config.toml` finds it through a link `.cargo` as well. */
static int judge_link(struct beneath_walk *w)
{
    int r = set_real(w);
    if (r == 0 && w->root->passed)
        buf_add(w->root->passed, w->real->text, strlen(w->real->text) + 1);
    if (r < 0 || !w->root->guard)
        return r;
    judge_name(w, w->real->text);
    return judge_rest(w);
}

/* Puts the link's target before what is still to be walked. */
static int follow_walked_link(struct beneath_walk *w, int link)
{
    char target[PATH_TEXT_MAX];
    ssize_t n = readlinkat(link, "", target, sizeof target);
    if (n < 0)
        return -errno;
    if (n == sizeof target)
        return -ENAMETOOLONG;
    if (++w->links > BENEATH_LINKS_MAX)
        return -ELOOP;
    int r = judge_link(w);
    if (r < 0)
        return r;
    struct str text = {target, (size_t)n};
    if (n > 0 && target[0] == '/') {
        size_t named = path_named(text, w->root->host, w->root->inside, w->root->also);
        if (named == 0)
            return -EXDEV;
        text.p += named;
        text.n -= named;
        pop_to(w, 0);
    }
    size_t left = strlen(w->rest);
    if (text.n + 1 + left >= sizeof w->rest)
        return -ENAMETOOLONG;
    if (left < w->link_left)
        w->link_left = left;
    memmove(w->rest + text.n + 1, w->rest, left + 1);
    memcpy(w->rest, text.p, text.n);
    w->rest[text.n] = '/';
    return 0;
}

static int enter_walked_folder(struct beneath_walk *w, int *fd)
{
    if (w->depth + 1 >= BENEATH_DEPTH_MAX)
        return -E2BIG;
    int r = set_real(w);
    if (r < 0)
        return r;
    w->length = strlen(w->real->buffer);
    w->dirs[++w->depth] = TAKE_FD(*fd);
    return 0;
}

/* Before the first folder is made, so that nothing is left of what is then refused. */
static int may_make(struct beneath_walk *w)
{
    struct beneath_real target = {.text = NULL};
    int r = set_real(w);
    if (r < 0 || !w->root->guard)
        return r;
    target.link_verdict = w->real->link_verdict;
    target.link_rule = w->real->link_rule;
    r = add_rest_of_walk(w, &target);
    if (r < 0)
        return r;
    w->refused = beneath_is_refused(w->root, w->real, w->dirs[w->depth], BENEATH_FOLDER);
    if (!w->refused && w->real->moved)
        return -ESTALE;
    if (!w->refused && beneath_is_refused(w->root, &target, -1, w->flags)) {
        w->refused = true;
        *w->real = target;
        w->real->text = w->real->buffer;
    }
    return w->refused ? -EACCES : 0;
}

/* The component at hand is missing, and so is what follows, up to the `..` that leads out of it: those cancel each
 * other out as text, so that no folder is made only to be left again. 1: the component is cancelled too, 0, or
 * -errno. */
static int cancel_out(struct beneath_walk *w)
{
    char *out = w->rest;
    size_t n = 0;
    for (const char *at = w->rest; *at;) {
        size_t length = strcspn(at, "/");
        const char *next = at + length + strspn(at + length, "/");
        if (length == 2 && memcmp(at, "..", 2) == 0) {
            if (n == 0) {
                memmove(w->rest, next, strlen(next) + 1);
                return 1;
            }
            while (n && out[--n] != '/')
                continue;
        } else if (length && !(length == 1 && at[0] == '.')) {
            if (length > PATH_NAME_MAX)
                return -ENAMETOOLONG;
            if (n)
                out[n++] = '/';
            memmove(out + n, at, length);
            n += length;
        }
        at = next;
    }
    out[n] = '\0';
    return n ? 0 : -EISDIR;
}

/* Parts of a git directory that others made since this was judged. */
static int check_made(struct beneath_walk *w, int parent)
{
    if (!beneath_made_git(w->root, parent, w->name))
        return 0;
    unlinkat(parent, w->name, AT_REMOVEDIR);
    w->refused = true;
    w->real->verdict = GUARD_PROTECTED;
    w->real->rule = ".git";
    return -EACCES;
}

static int make_walked_folder(struct beneath_walk *w, int parent)
{
    if (mkdirat(parent, w->name, 0777) == 0) {
        if (check_made(w, parent) < 0)
            return -EACCES;
        if (!w->made_from) {
            w->made_from = w->depth + 1;
            w->made_at = w->length;
        }
        return 0;
    }
    if (errno != EEXIST)
        return -errno;
    /* Another one made it, in a folder that is then not empty: nothing on the way is ours alone. */
    w->made_from = 0;
    return 0;
}

/* The rest is missing, so that no link can be in it: where it would be is known. */
static int end_look(struct beneath_walk *w)
{
    struct beneath_real whole;
    int r = add_rest_of_walk(w, &whole);
    if (r < 0)
        return r;
    memcpy(w->real->buffer, whole.buffer, strlen(whole.text) + 1);
    w->rest[0] = '\0';
    return -ENOENT;
}

static int make_and_enter(struct beneath_walk *w)
{
    int parent = w->dirs[w->depth];
    int r = cancel_out(w);
    if (r != 0)
        return r < 0 ? r : 0;
    r = may_make(w);
    if (r < 0)
        return r;
    if (w->flags & BENEATH_LOOK)
        return beneath_may_fill(parent) < 0 ? -errno : end_look(w);
    r = make_walked_folder(w, parent);
    if (r < 0)
        return r;
    FD_AT_END int fd = beneath_open_at(parent, w->name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0,
                                       RESOLVE_NO_SYMLINKS);
    return fd < 0 ? -errno : enter_walked_folder(w, &fd);
}

static int open_walked_name(struct beneath_walk *w)
{
    const struct beneath_moved *moved = w->root->moved;
    int r = moved ? set_real(w) : 0;
    if (r < 0 || (moved && moved->from && strcmp(w->real->text, moved->from) == 0)) {
        errno = r < 0 ? -r : ENOENT;
        return -1;
    }
    bool is_it = moved && strcmp(w->real->text, moved->to) == 0;
    return beneath_open_at(is_it ? moved->dir : w->dirs[w->depth], is_it ? moved->name : w->name,
                           O_PATH | O_NOFOLLOW, 0, 0);
}

/* One component. 1: it was the last one, w->name stands in w->dirs[w->depth]; 0: go on. */
static int walk_one_name(struct beneath_walk *w, bool last)
{
    if (strcmp(w->name, ".") == 0)
        return 0;
    if (strcmp(w->name, "..") == 0) {
        if (w->depth == 0)
            return -EXDEV;
        pop_to(w, w->depth - 1);
        return 0;
    }
    FD_AT_END int fd = open_walked_name(w);
    if (fd < 0 && errno == ENOENT && last)
        return 1;
    if (fd < 0 && errno == ENOENT && w->flags & BENEATH_PARENTS)
        return make_and_enter(w);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return w->root->no_links || w->root->as_named ? -EMLINK : follow_walked_link(w, fd);
    if (last)
        return 1;
    return S_ISDIR(st.st_mode) ? enter_walked_folder(w, &fd) : -ENOTDIR;
}

static int count_slashes(const char *path)
{
    int count = 0;
    for (; *path; path++)
        count += *path == '/';
    return count;
}

int beneath_walk_to(struct beneath_walk *w, const struct beneath_root *root, const char *path,
                    unsigned flags, struct beneath_real *real)
{
    w->root = root;
    w->flags = flags;
    w->dirs[0] = root->fd;
    w->depth = 0;
    w->links = 0;
    w->link_left = SIZE_MAX;
    w->refused = false;
    w->made_from = 0;
    w->real = real;
    w->length = 0;
    real->link_verdict = GUARD_OPEN;
    size_t length = strlen(path);
    if (length >= sizeof w->rest)
        return -ENAMETOOLONG;
    memcpy(w->rest, path, length + 1);
    /* Before the first of too many folders is made. */
    if (flags & BENEATH_PARENTS && count_slashes(path) >= BENEATH_DEPTH_MAX - 2)
        return -E2BIG;
    for (;;) {
        bool last = false;
        int r = take_walked_name(w, &last);
        if (r > 0)
            r = walk_one_name(w, last);
        else if (r == 0) {
            memcpy(w->name, ".", 2);
            r = 1;
        }
        if (r > 0)
            r = set_real(w);
        else if (r == 0)
            continue;
        if (r < 0)
            beneath_walk_unmake(w);
        return r;
    }
}

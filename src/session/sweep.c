#include "session/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/json_out.h"

#define FOLDER "sweep"
/* A note file is emptied at a quiet moment once it is this large. */
#define EMPTY_AT (64u << 10)
#define NOTES_MAX (4u << 20)
#define SECOND '+' /* the name of a file goes on with this and a number, unless that is 0 */
#define OPEN_TRIES 64

static int open_sweep_folder(int state_fd, bool make)
{
    if (make && mkdirat(state_fd, FOLDER, 0700) < 0 && errno != EEXIST)
        return -1;
    return openat(state_fd, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void sweep_init(struct sweep *s, int state_fd, uint64_t device, uint64_t inode, const char *tag)
{
    *s = (struct sweep){.state_fd = state_fd};
    snprintf(s->name, sizeof s->name, "%" PRIx64 "-%" PRIx64 "-%s", device, inode, tag);
    for (int i = 0; i < SWEEP_FILES; i++)
        s->files[i].fd = -1;
}

#define NAME_BYTES (sizeof(((struct sweep *)0)->name) + 12)

static void file_name(const struct sweep *s, unsigned number, char name[NAME_BYTES])
{
    if (number == 0)
        snprintf(name, NAME_BYTES, "%s", s->name);
    else
        snprintf(name, NAME_BYTES, "%s%c%u", s->name, SECOND, number);
}

void sweep_set_group(struct sweep *s, const char group[PROCESS_GROUP_TEXT])
{
    memcpy(s->group, group, sizeof s->group);
    for (int i = 0; i < SWEEP_FILES; i++)
        s->files[i].named = false;
}

void sweep_done(struct sweep *s)
{
    FD_AT_END int folder = -1;
    for (int i = 0; i < SWEEP_FILES; i++) {
        char name[NAME_BYTES];
        if (s->files[i].fd < 0)
            continue;
        if (folder < 0)
            folder = open_sweep_folder(s->state_fd, false);
        file_name(s, s->files[i].number, name);
        if (folder >= 0)
            unlinkat(folder, name, 0);
        fd_closep(&s->files[i].fd);
    }
}

/* 1 with the lock, 0 when another gate collects that file or has removed it before it was locked, -1. */
static int try_open(const char *name, int folder, int *ret_fd)
{
    struct stat mine;
    struct stat named;
    FD_AT_END int fd = openat(
        folder, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? 0 : -1;
    /* Only now, with the lock, can nobody take the name away. */
    if (fstat(fd, &mine) < 0)
        return -1;
    if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) < 0 || mine.st_ino != named.st_ino)
        return 0;
    *ret_fd = TAKE_FD(fd);
    return 1;
}

/* A file that another gate is collecting is about to go; the next name is free. So nothing here waits: it runs on the
 * gate's loop. */
static int open_sweep_notes(struct sweep *s, struct err *err)
{
    char name[NAME_BYTES];
    struct sweep_file *file = &s->files[s->current];
    FD_AT_END int folder = open_sweep_folder(s->state_fd, true);
    int r = folder < 0 ? -1 : 0;
    for (unsigned i = 0; r == 0 && i < OPEN_TRIES; i++) {
        file->number = (unsigned)s->current + i * SWEEP_FILES;
        file_name(s, file->number, name);
        r = try_open(name, folder, &file->fd);
    }
    if (r > 0)
        return 0;
    return err_set(err, r == 0 ? ERR_SESSION_BUSY : err_code_for_file(errno),
                   "the state folder cannot be written: %s",
                   r == 0 ? "other gates keep removing files in it; try again" : strerror(errno));
}

static void empty_sweep_file(struct sweep_file *file)
{
    if (file->under_way == 0 && file->bytes > EMPTY_AT && ftruncate(file->fd, 0) == 0) {
        file->bytes = 0;
        file->named = file->torn = false;
    }
}

static void add_sweep_group(const struct sweep *s, struct buf *line)
{
    struct json_out j = {.out = line};
    jo_open(&j, '[');
    jo_text(&j, s->group);
    jo_close(&j, ']');
    buf_add_char(line, '\n');
}

int sweep_note(struct sweep *s, struct str path, struct err *err)
{
    int other = (s->current + 1) % SWEEP_FILES;
    if (s->files[s->current].bytes > EMPTY_AT && s->files[other].bytes <= EMPTY_AT)
        s->current = other;
    struct sweep_file *file = &s->files[s->current];
    if (file->fd < 0 && open_sweep_notes(s, err) < 0)
        return -1;
    BUF_AT_END struct buf line = BUF_INIT(32u << 10);
    struct json_out j = {.out = &line};
    if (file->torn)
        buf_add_char(&line, '\n');
    if (!file->named && s->group[0])
        add_sweep_group(s, &line);
    jo_bytes(&j, path);
    buf_add_char(&line, '\n');
    int r = line.failed ? -ENOBUFS : fd_write_all(file->fd, line.data, line.len);
    file->torn = r < 0;
    if (r < 0)
        return err_set(err, err_code_for_file(-r), "the state folder cannot be written: %s",
                       strerror(-r));
    file->named = true;
    file->under_way++;
    file->bytes += line.len;
    return s->current;
}

void sweep_forget(struct sweep *s, int file)
{
    s->files[file].under_way--;
    empty_sweep_file(&s->files[file]);
}

/* What it may hold: the path of a write, or the group of the cell that did those behind it. */
struct note {
    yyjson_doc *doc;
    struct str path;
    const char *group;
};

/* Takes the next whole line; false at the end. */
static bool next_note(struct str *rest, struct note *ret)
{
    const char *newline = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    if (!newline)
        return false;
    size_t length = (size_t)(newline - rest->p);
    *ret = (struct note){0};
    if (json_parse(rest->p, length, length, JSON_INTERNAL, &ret->doc, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(ret->doc);
        ret->path = json_str(root);
        ret->group = yyjson_get_str(yyjson_arr_get(root, 0));
    }
    *rest = (struct str){newline + 1, rest->n - length - 1};
    return true;
}

static bool is_written_to(struct str text)
{
    struct note note;
    bool lives = false;
    while (!lives && next_note(&text, &note)) {
        lives = note.group && process_group_lives(note.group);
        json_doc_freep(&note.doc);
    }
    return lives;
}

/* False: its cell lives, or it could not be read. */
static bool read_notes(int fd, const char *tag, sweep_found_fn found, void *arg)
{
    BUF_AT_END struct buf text = BUF_INIT(NOTES_MAX);
    ssize_t n = buf_reserve(&text, NOTES_MAX) < 0 ? -1 : fd_read_upto(fd, text.data, NOTES_MAX);
    if (n < 0)
        return false;
    struct str rest = {text.data, (size_t)n};
    if (is_written_to(rest))
        return false;
    for (struct note note; next_note(&rest, &note); json_doc_freep(&note.doc)) {
        if (note.path.p)
            found(arg, note.path, tag);
    }
    return true;
}

/* False: it is to be looked at again. */
static bool collect_one(DIR *dir, const char *name, const char *tag_at, sweep_found_fn found,
                        void *arg)
{
    char tag[sizeof(((struct dirent *)0)->d_name)];
    struct stat st;
    FD_AT_END int fd = openat(dirfd(dir), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return !err_is_shortage(errno);
    /* Locked: its gate lives and looks after its own, or is about to end. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno != EWOULDBLOCK;
    /* Without a name: its gate ended well while we looked. */
    if (fstat(fd, &st) < 0 || st.st_nlink == 0 || !S_ISREG(st.st_mode))
        return true;
    snprintf(tag, sizeof tag, "%s", tag_at);
    tag[strcspn(tag, (char[]){SECOND, '\0'})] = '\0';
    if (!read_notes(fd, tag, found, arg))
        return false;
    unlinkat(dirfd(dir), name, 0);
    return true;
}

bool sweep_collect(int state_fd, uint64_t device, uint64_t inode, sweep_found_fn found, void *arg)
{
    char prefix[64];
    int n = snprintf(prefix, sizeof prefix, "%" PRIx64 "-%" PRIx64 "-", device, inode);
    int folder = open_sweep_folder(state_fd, false);
    DIR *dir = folder < 0 ? NULL : fdopendir(folder);
    bool all = true;
    if (!dir) {
        bool unsure = err_is_shortage(errno);
        fd_closep(&folder);
        return unsure;
    }
    int unread = 0;
    for (struct dirent *d; (d = fd_list_next(dir, &unread));) {
        if (strncmp(d->d_name, prefix, (size_t)n) == 0)
            all &= collect_one(dir, d->d_name, d->d_name + n, found, arg);
    }
    closedir(dir);
    return !all || unread;
}

#include "session/quarantine_moves.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/op_packed.h"

#define SUFFIX ".move"
/* A path of control characters is escaped to six times its length. */
#define NOTE_MAX (32u << 10)

int64_t quarantine_make_number(void)
{
    uint64_t number = 0;
    /* Without random numbers they are the same, and a second one in a folder is not moved. */
    (void)!getrandom(&number, sizeof number, 0);
    return (int64_t)(number >> 1);
}

void quarantine_move_done(struct quarantine_move *m)
{
    fd_closep(&m->fd);
    free(TAKE_PTR(m->path));
}

static char *note_path(const char *store, const char *id)
{
    return mem_format("%s" QUARANTINE_NOTES "/%s" SUFFIX, store, id);
}

void quarantine_move_remove(const char *store, const char *id)
{
    FREE_AT_END char *path = note_path(store, id);
    unlink(path);
}

/* --- writing */

static void write_fields(const struct quarantine_move *m, struct buf *text)
{
    struct json_out j = {.out = text};
    jo_open(&j, '{');
    jo_key(&j, "path");
    jo_bytes(&j, m->entry.path);
    jo_kint(&j, "device", (int64_t)m->device);
    jo_kint(&j, "folder", (int64_t)m->inode);
    jo_kint(&j, "folder_born", m->born_ns);
    jo_kint(&j, "aside", m->aside);
    jo_kint(&j, "kind", (int64_t)m->entry.kind);
    jo_kint(&j, "type", (int64_t)m->entry.type);
    jo_kint(&j, "inode", (int64_t)m->entry.id.inode);
    jo_kint(&j, "born", m->entry.id.born_ns);
    jo_kint(&j, "since", m->since_ns);
    jo_kint(&j, "git", m->git);
    jo_close(&j, '}');
}

#define LOCK_TRIES 8

/* Until it is locked, another gate may take an empty note for one whose gate is dead, and remove it. */
static int create_locked_note(const char *path)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        struct stat st;
        FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
            return TAKE_FD(fd);
        unlink(path);
    }
    return -EAGAIN;
}

/* The note, locked before there is anything in it; -errno. */
static int write_move_note(const char *store, const struct quarantine_move *m)
{
    BUF_AT_END struct buf text = BUF_INIT(NOTE_MAX);
    FREE_AT_END char *notes = mem_format("%s" QUARANTINE_NOTES, store);
    FREE_AT_END char *path = note_path(store, m->id);
    write_fields(m, &text);
    if (text.failed)
        return -ENAMETOOLONG;
    if (mkdir(notes, 0700) < 0 && errno != EEXIST)
        return -errno;
    FD_AT_END int fd = create_locked_note(path);
    if (fd < 0)
        return fd;
    int r = fd_write_all(fd, text.data, text.len);
    if (r < 0)
        unlink(path);
    return r < 0 ? r : TAKE_FD(fd);
}

/* --- reading */

static bool is_sound_move(const struct quarantine_move *m)
{
    return m->path && op_is_relative_path(m->entry.path) && m->aside >= 0 && m->since_ns >= 0 &&
           m->entry.kind < GUARDED_KINDS && m->entry.type <= TYPE_OTHER;
}

static int64_t move_number_of(yyjson_val *root, const char *key)
{
    yyjson_val *value = yyjson_obj_get(root, key);
    return yyjson_is_int(value) ? yyjson_get_sint(value) : -1;
}

/* False: it is damaged. */
static bool read_move_fields(const char *text, size_t n, struct quarantine_move *m)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(text, n, NOTE_MAX, JSON_INTERNAL, &doc, NULL) < 0)
        return false;
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *path = yyjson_get_str(yyjson_obj_get(root, "path"));
    m->path = path ? mem_dup(path) : NULL;
    m->device = (uint64_t)move_number_of(root, "device");
    m->inode = (uint64_t)move_number_of(root, "folder");
    m->born_ns = move_number_of(root, "folder_born");
    m->aside = move_number_of(root, "aside");
    m->since_ns = move_number_of(root, "since");
    m->git = move_number_of(root, "git") == 1;
    m->entry = (struct op_guarded){
        .kind = (enum guarded_kind)move_number_of(root, "kind"),
        .type = (enum file_type)move_number_of(root, "type"),
        .path = {m->path, path ? strlen(path) : 0},
        .id = {(uint64_t)move_number_of(root, "inode"), move_number_of(root, "born")}};
    return is_sound_move(m);
}

/* One that is empty was never asked for: its gate was killed first. */
static bool read_move_note(struct quarantine_move *m, const char *store, bool *unsure)
{
    FREE_AT_END char *text = mem_zero(NOTE_MAX);
    struct stat st;
    if (fstat(m->fd, &st) < 0 || st.st_nlink == 0 || !S_ISREG(st.st_mode))
        return false;
    ssize_t n = fd_read_upto(m->fd, text, NOTE_MAX);
    *unsure |= n < 0;
    if (n > 0 && read_move_fields(text, (size_t)n, m))
        return true;
    if (n > 0)
        log_warning("%s" QUARANTINE_NOTES "/%s" SUFFIX
                    ", the note of a move to quarantine that was cut off, is damaged: look for "
                    "sandgate-quarantine-* in the workspace. The note is removed",
                    store, m->id);
    if (n >= 0)
        quarantine_move_remove(store, m->id);
    return false;
}

static bool take_move_note(DIR *notes, const char *store, const char *name,
                           struct quarantine_move *ret, bool *unsure)
{
    *ret = (struct quarantine_move){
        .fd = openat(dirfd(notes), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    *unsure |= ret->fd < 0 && errno != ENOENT;
    snprintf(ret->id, sizeof ret->id, "%.*s", (int)(sizeof ret->id - 1), name);
    /* Locked: its gate lives. */
    if (ret->fd >= 0 && flock(ret->fd, LOCK_EX | LOCK_NB) == 0 &&
        read_move_note(ret, store, unsure))
        return true;
    quarantine_move_done(ret);
    return false;
}

static bool is_note(const char *name)
{
    size_t id = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
    return id == QUARANTINE_ID_MAX - 1 && strcmp(name + id, SUFFIX) == 0;
}

/* The name that comes first behind `after`; false: there is none. */
static bool find_next_move(DIR *notes, const char *after, char first[QUARANTINE_NAME_MAX],
                           bool *unsure)
{
    bool found = false;
    int unread = 0;
    rewinddir(notes);
    for (struct dirent *d; (d = fd_list_next(notes, &unread));) {
        if (!is_note(d->d_name) || strcmp(d->d_name, after) <= 0 ||
            (found && strcmp(d->d_name, first) > 0))
            continue;
        snprintf(first, QUARANTINE_NAME_MAX, "%.*s", QUARANTINE_NAME_MAX - 1, d->d_name);
        found = true;
    }
    *unsure |= unread != 0;
    return found;
}

bool quarantine_move_next(const char *store, const char *after, struct quarantine_move *ret,
                          bool *unsure)
{
    char name[QUARANTINE_NAME_MAX];
    char behind[QUARANTINE_NAME_MAX];
    bool taken = false;
    FREE_AT_END char *path = mem_format("%s" QUARANTINE_NOTES, store);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *notes = folder < 0 ? NULL : fdopendir(folder);
    if (!notes) {
        *unsure |= errno != ENOENT;
        fd_closep(&folder);
        return false;
    }
    snprintf(behind, sizeof behind, "%s%s", after, after[0] ? SUFFIX : "");
    while (!taken && find_next_move(notes, behind, name, unsure)) {
        memcpy(behind, name, sizeof behind);
        taken = take_move_note(notes, store, name, ret, unsure);
    }
    closedir(notes);
    return taken;
}

int quarantine_move_write(const char *store, struct quarantine_move *m)
{
    m->fd = write_move_note(store, m);
    return m->fd < 0 ? m->fd : 0;
}

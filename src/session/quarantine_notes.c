#include "session/quarantine_notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "cell/spec.h"
#include "session/remove_tree.h"

#define STORES "workspaces"
#define CONTENT "/quarantine"
/* Two paths of control characters are escaped to six times their length. */
#define NOTE_MAX (64u << 10)

/* No letters that are taken for digits. */
static const char letters[] = "abcdefghjkmnpqrstuvwxyz23456789";

void quarantine_make_id(char id[QUARANTINE_ID_MAX])
{
    unsigned char random[QUARANTINE_ID_MAX - 1] = {0};
    /* Without random numbers ids are the same, and the second is not taken. */
    (void)!getrandom(random, sizeof random, 0);
    for (size_t i = 0; i < sizeof random; i++)
        id[i] = letters[random[i] % (sizeof letters - 1)];
    id[sizeof random] = '\0';
}

static bool is_id(const char *id)
{
    size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > 0 && n < QUARANTINE_NAME_MAX && id[n] == '\0';
}

static int open_quarantine_folder(int dir, const char *path)
{
    return openat(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void add_note_bytes(struct json_out *j, const char *key, struct str bytes)
{
    jo_key(j, key);
    jo_bytes(j, bytes);
}

static void add_note_number(struct json_out *j, const char *key, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    jo_ktext(j, key, text);
}

int quarantine_note_write(const char *store, const char *id, const struct cell_root *root,
                          struct str path)
{
    char now[CLOCK_TEXT_MAX];
    BUF_AT_END struct buf text = BUF_INIT(NOTE_MAX);
    FREE_AT_END char *notes = mem_format("%s" QUARANTINE_NOTES, store);
    FREE_AT_END char *name = mem_format("%s/%s", notes, id);
    FREE_AT_END char *fresh = mem_format("%s.new", name);
    struct json_out j = {.out = &text};
    clock_format_utc(clock_unix_ms(), now);
    jo_open(&j, '{');
    add_note_bytes(&j, "folder", (struct str){root->host, strlen(root->host)});
    add_note_bytes(&j, "path", path);
    add_note_number(&j, "device", root->device);
    add_note_number(&j, "inode", root->inode);
    add_note_number(&j, "born_ns", root->born_ns);
    jo_ktext(&j, "time", now);
    jo_close(&j, '}');
    if (text.failed)
        return -ENAMETOOLONG;
    if (mkdir(notes, 0700) < 0 && errno != EEXIST)
        return -errno;
    /* A gate that is killed leaves a whole note or none. */
    unlink(fresh);
    FD_AT_END int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : fd_write_all(fd, text.data, text.len);
    if (r == 0 && rename(fresh, name) < 0)
        r = -errno;
    if (r < 0)
        unlink(fresh);
    return r;
}

void quarantine_note_done(struct quarantine_note *note)
{
    free(TAKE_PTR(note->folder));
    free(TAKE_PTR(note->path));
    free(TAKE_PTR(note->time));
    fd_closep(&note->content);
    fd_closep(&note->notes);
    fd_closep(&note->lock);
}

/* `..` in it would lead out of the folder. */
static bool is_sound_note(const struct quarantine_note *note)
{
    return note->folder && note->folder[0] == '/' && note->path && note->path[0] &&
           note->path[0] != '/' && note->time;
}

static uint64_t note_number_of(yyjson_val *root, const char *key)
{
    const char *text = yyjson_get_str(yyjson_obj_get(root, key));
    return text ? strtoull(text, NULL, 10) : 0;
}

static bool read_quarantine_note(struct quarantine_note *note)
{
    FREE_AT_END char *text = mem_zero(NOTE_MAX);
    JSON_AT_END yyjson_doc *doc = NULL;
    ssize_t n = fd_read_upto(note->lock, text, NOTE_MAX);
    if (n <= 0 || json_parse(text, (size_t)n, NOTE_MAX, JSON_INTERNAL, &doc, NULL) < 0)
        return false;
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *folder = yyjson_get_str(yyjson_obj_get(root, "folder"));
    const char *path = yyjson_get_str(yyjson_obj_get(root, "path"));
    const char *when = yyjson_get_str(yyjson_obj_get(root, "time"));
    note->device = note_number_of(root, "device");
    note->inode = note_number_of(root, "inode");
    note->born_ns = note_number_of(root, "born_ns");
    note->folder = folder ? mem_dup(folder) : NULL;
    note->path = path ? mem_dup(path) : NULL;
    note->time = when ? mem_dup(when) : NULL;
    if (is_sound_note(note))
        return true;
    free(TAKE_PTR(note->folder));
    free(TAKE_PTR(note->path));
    free(TAKE_PTR(note->time));
    return false;
}

static int open_content(int stores, const char *store)
{
    FREE_AT_END char *path = mem_format("%s" CONTENT, store);
    return open_quarantine_folder(stores, path);
}

static int open_quarantine_notes(int stores, const char *store)
{
    FREE_AT_END char *path = mem_format("%s" QUARANTINE_NOTES, store);
    return open_quarantine_folder(stores, path);
}

/* What is not there is none. Why another cannot be opened is noted; of `content` only what may be otherwise later:
 * who looks at the list may want to remove it. */
static int noting(int fd, bool content, int *error)
{
    bool gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    if (fd < 0 && (content ? err_is_shortage(errno) : !gone))
        *error = errno;
    return fd;
}

/* False: the store has no such entry, or it cannot be opened (*ret_error, else 0). */
static bool open_note(int stores, const char *store, const char *id, struct quarantine_note *ret,
                      int *ret_error)
{
    *ret = QUARANTINE_NOTE_NONE;
    *ret_error = 0;
    snprintf(ret->id, sizeof ret->id, "%s", id);
    FD_AT_END int all = noting(open_content(stores, store), true, ret_error);
    ret->content = all < 0 ? -1 : noting(open_quarantine_folder(all, id), true, ret_error);
    ret->notes = noting(open_quarantine_notes(stores, store), false, ret_error);
    if (ret->notes >= 0)
        ret->lock = noting(openat(ret->notes, id, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
                           false, ret_error);
    if (*ret_error)
        return false;
    if (ret->lock >= 0 && read_quarantine_note(ret))
        return true;
    if (ret->lock < 0 && ret->content >= 0)
        ret->lock = fcntl(ret->content, F_DUPFD_CLOEXEC, 0);
    return ret->content >= 0;
}

static int only_stores(const struct dirent *d)
{
    return !strchr(d->d_name, '.');
}

static int only_ids(const struct dirent *d)
{
    return is_id(d->d_name);
}

static void free_names(struct dirent **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* The names in a folder that pass; -1 with errno. None where there is no folder. */
static int list_passing(int dir, const char *path, struct dirent ***ret,
                        int (*pass)(const struct dirent *))
{
    *ret = NULL;
    int count = scandirat(dir, path, ret, pass, alphasort);
    return count < 0 && errno == ENOENT ? 0 : count;
}

/* Those with a note, or those without. */
static int each_in(int stores, const char *store, bool noted, quarantine_note_fn fn, void *arg,
                   struct err *err)
{
    int error;
    int r = 0;
    struct dirent **ids;
    FREE_AT_END char *folder = mem_format("%s%s", store, noted ? QUARANTINE_NOTES : CONTENT);
    int count = list_passing(stores, folder, &ids, only_ids);
    if (count < 0)
        return err_file_failed(err, "entries are left out: a folder of the quarantine");
    for (int i = 0; i < count; i++) {
        CLEANUP(quarantine_note_done) struct quarantine_note note;
        /* One that is being restored or removed at this moment is not there. */
        bool is = open_note(stores, store, ids[i]->d_name, &note, &error);
        if (is && noted == (note.folder != NULL))
            fn(arg, &note);
        errno = error;
        if (error)
            r = err_file_failed(err, "an entry is left out");
    }
    free_names(ids, count);
    return r;
}

int quarantine_note_each(int state_fd, quarantine_note_fn fn, void *arg, struct err *err)
{
    struct dirent **names;
    int count = list_passing(state_fd, STORES, &names, only_stores);
    FD_AT_END int stores = open_quarantine_folder(state_fd, STORES);
    if (count < 0 || (count > 0 && stores < 0))
        return err_file_failed(err, "the folder of workspaces");
    int r = 0;
    for (int i = 0; i < count; i++) {
        r |= each_in(stores, names[i]->d_name, true, fn, arg, err);
        r |= each_in(stores, names[i]->d_name, false, fn, arg, err);
    }
    free_names(names, count);
    return r;
}

static int quarantine_not_found(const char *id, struct err *err)
{
    return err_set(
        err, ERR_NOT_FOUND,
        "there is no entry `%.40s` in quarantine; `sandgate quarantine list` shows those "
        "there are",
        id);
}

int quarantine_note_lock(int state_fd, const char *id, struct quarantine_note *ret, struct err *err)
{
    struct dirent **names = NULL;
    struct stat st;
    bool found = false;
    int error = 0;
    *ret = QUARANTINE_NOTE_NONE;
    int count = is_id(id) ? list_passing(state_fd, STORES, &names, only_stores) : 0;
    FD_AT_END int stores = open_quarantine_folder(state_fd, STORES);
    for (int i = 0; !found && !error && i < count; i++) {
        quarantine_note_done(ret);
        found = open_note(stores, names[i]->d_name, id, ret, &error);
    }
    free_names(names, count);
    errno = error;
    if (error)
        return err_file_failed(err, "the entry cannot be opened");
    if (!found)
        return quarantine_not_found(id, err);
    if (flock(ret->lock, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, ERR_SESSION_BUSY, "another process restores or removes `%s`", id);
    /* Somebody may have removed it before it was locked. */
    return fstat(ret->lock, &st) < 0 || st.st_nlink == 0 ? quarantine_not_found(id, err) : 0;
}

/* --- removing */

int quarantine_note_remove(struct quarantine_note *note, struct err *err)
{
    int r = 0;
    if (note->content >= 0) {
        FD_AT_END int parent = open_quarantine_folder(note->content, "..");
        r = parent < 0 ? -errno : remove_tree(parent, note->id);
    }
    if (r == 0 && note->notes >= 0 && unlinkat(note->notes, note->id, 0) < 0 && errno != ENOENT)
        r = -errno;
    errno = -r;
    return r < 0 ? err_file_failed(err, "removing it from quarantine") : 0;
}

#include "session/layer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "session/process_group.h"

#define NOTE_BYTES (PROCESS_GROUP_TEXT + PROCESS_GROUP_BOOT)
#define LAYER_SINCE "since"
#define LAYER_RECORD "record"
#define LAYER_JOURNAL "journal"
/* A cell whose gate was killed ends within milliseconds, if the machine is not busy. */
#define LOOKS 5000
#define LOOK_NS 2000000

static int layer_failed(const char *path, struct err *err)
{
    return err_set(err, err_code_for_file(errno), "the session's layer %s: %s", path,
                   strerror(errno));
}

/* What is made there belongs to the cell's user, the modes are those of the folder that it lies over. */
static int make_part(int layer, const char *name, const struct cell_spec *spec, mode_t mode)
{
    bool made = mkdirat(layer, name, 0700) == 0;
    struct stat st;
    if (!made && (errno != EEXIST || fstatat(layer, name, &st, AT_SYMLINK_NOFOLLOW) < 0))
        return -1;
    /* A gate that was killed may have made it, and no more. */
    if (!made && (geteuid() != 0 || st.st_uid == spec->uid))
        return 0;
    FD_AT_END int fd = openat(layer, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (geteuid() == 0 && fchown(fd, spec->uid, spec->gid) < 0))
        return -1;
    return fchmod(fd, mode);
}

/* Times of changes come from a coarse clock, and what was made a tick before has the same. */
#define TICKS_NS 20000000

static bool is_empty_folder(int layer, const char *name)
{
    bool empty = true;
    int error = 0;
    FD_AT_END int fd = openat(layer, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *all = fd < 0 ? NULL : fd_list(fd);
    for (struct dirent *d; all && empty && (d = fd_list_next(all, &error));)
        empty = strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0;
    if (all)
        closedir(all);
    return all && empty && !error;
}

static int note_since(int layer)
{
    char text[32];
    if (!is_empty_folder(layer, "upper"))
        return 0;
    int n = snprintf(text, sizeof text, "%lld\n", (long long)clock_file_ns() - TICKS_NS);
    (void)unlinkat(layer, LAYER_RECORD, 0);
    (void)unlinkat(layer, LAYER_SINCE, 0);
    FD_AT_END int fd = fd_open_plain(layer, LAYER_SINCE, O_WRONLY | O_CREAT);
    int r = fd < 0 ? -errno : fd_write_all(fd, text, (size_t)n);
    errno = -r;
    return r;
}

int layer_note_since(const char *path, struct err *err)
{
    FD_AT_END int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 || note_since(fd) < 0 ? layer_failed(path, err) : 0;
}

void layer_rest(void)
{
    static const struct timespec pause = {.tv_nsec = LOOK_NS};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t end = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    /* Not for ever, where the clock is set back. */
    for (int i = 0; i < LOOKS && clock_file_ns() - TICKS_NS <= end; i++)
        nanosleep(&pause, NULL);
}

int64_t layer_since(const char *path)
{
    char text[32] = "";
    char *end = text;
    FREE_AT_END char *file = mem_format("%s/" LAYER_SINCE, path);
    FD_AT_END int fd = fd_open_plain(AT_FDCWD, file, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, text, sizeof text - 1);
    long long since = n > 0 ? strtoll(text, &end, 10) : 0;
    /* What was not written to its end says nothing: then all may have been changed. */
    return since > 0 && *end == '\n' ? since : 1;
}

bool layer_has_journal(const char *path)
{
    struct stat st;
    FREE_AT_END char *file = mem_format("%s/" LAYER_JOURNAL, path);
    return lstat(file, &st) == 0 || errno != ENOENT;
}

static int refuse_cut_off(struct err *err)
{
    err_set(err, ERR_SESSION_BUSY,
            "a commit of this session was cut off: `sandgate session commit ID` ends it");
    return err_reason(err, LAYER_CUT_OFF);
}

int layer_add(const char *path, struct cell_spec *spec, struct err *err)
{
    struct stat base;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return layer_failed(path, err);
    FD_AT_END int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || stat(spec->roots[0].host, &base) < 0 ||
        (geteuid() == 0 && fchown(fd, spec->uid, spec->gid) < 0) ||
        make_part(fd, "work", spec, 0700) < 0 ||
        make_part(fd, "upper", spec, base.st_mode & 0777) < 0)
        return layer_failed(path, err);
    if (layer_has_journal(path))
        return refuse_cut_off(err);
    return spec_add_layer(spec, path, err);
}

int layer_note_cell(const char *path, pid_t group, struct err *err)
{
    char note[NOTE_BYTES] = {0};
    FREE_AT_END char *file = mem_format("%s/../" LAYER_CELL, path);
    process_group_write(group, note);
    process_group_boot(note + PROCESS_GROUP_TEXT);
    FD_AT_END int fd = fd_open_plain(AT_FDCWD, file, O_WRONLY | O_CREAT);
    int r = fd < 0 ? -errno : fd_write_all(fd, note, sizeof note);
    errno = -r;
    return r < 0 ? layer_failed(file, err) : 0;
}

static bool cell_lives(const char note[NOTE_BYTES])
{
    char boot[PROCESS_GROUP_BOOT];
    process_group_boot(boot);
    return memcmp(boot, note + PROCESS_GROUP_TEXT, sizeof boot) == 0 && process_group_lives(note);
}

int layer_wait_for_cell(int session, bool patient, struct err *err)
{
    static const struct timespec pause = {.tv_nsec = LOOK_NS};
    char note[NOTE_BYTES];
    FD_AT_END int fd = fd_open_plain(session, LAYER_CELL, O_RDONLY);
    if (fd < 0 && errno == ENOENT)
        return 0;
    ssize_t n = fd < 0 ? -errno : fd_read_upto(fd, note, sizeof note);
    if (n < 0) {
        errno = (int)-n;
        return layer_failed(LAYER_CELL, err);
    }
    /* One that was cut off while it was written is of a cell that got no calls. */
    for (int i = 0; n == sizeof note && cell_lives(note); i++) {
        if (!patient || i == LOOKS) {
            err_set(err, ERR_SESSION_BUSY,
                    "the session's last gate was killed, and its commands have not ended yet; try "
                    "again");
            return err_reason(err, LAYER_IN_USE);
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

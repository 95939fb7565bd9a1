#include "store/audit_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#define NAMES_MAX 1000000

int audit_io_error(struct err *err, int code)
{
    if (err_is_full(code))
        return err_set(err, ERR_DISK_FULL,
                       "no room for the audit log (%s): calls are refused until there is space in "
                       "the state folder again",
                       strerror(code));
    return err_set(err, ERR_INTERNAL,
                   "the audit log cannot be used (%s): check the disk and the permissions of "
                   "`audit` in the state folder, then start again",
                   strerror(code));
}

/* --- slots */

int audit_slot_open(int dir, const char *name, int create)
{
    /* O_NONBLOCK: a FIFO in its place must not hang the gate. */
    const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    return openat(dir, name, flags | create, 0600);
}

static int slot_refused(const char *name, struct err *err)
{
    return err_set(
        err, ERR_INTERNAL,
        "`audit/%s` in the state folder is not a plain file of one name (a symbolic link, "
        "a hard link or a special file stands there): move it away",
        name);
}

enum audit_slot audit_slot_lock(int dir, const char *name, int create, int *ret_fd, struct err *err)
{
    struct stat st;
    struct stat named;
    FD_AT_END int fd = audit_slot_open(dir, name, create);
    if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
        return slot_refused(name, err);
    if (fd < 0)
        return audit_io_error(err, errno);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? AUDIT_SLOT_BUSY : audit_io_error(err, errno);
    if (fstat(fd, &st) < 0)
        return audit_io_error(err, errno);
    if (fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) < 0 || named.st_ino != st.st_ino ||
        named.st_dev != st.st_dev)
        return AUDIT_SLOT_MOVED;
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return slot_refused(name, err);
    *ret_fd = TAKE_FD(fd);
    return AUDIT_SLOT_OURS;
}

/* --- names */

/* `9` stands for any digit. */
static bool has_shape(const char *name, const char *shape)
{
    for (; *shape; shape++, name++) {
        if (*shape == '9' ? *name < '0' || *name > '9' : *name != *shape)
            return false;
    }
    return *name == '\0';
}

bool audit_is_slot(const char *name)
{
    return has_shape(name, "999.jsonl");
}

bool audit_is_rotated(const char *name)
{
    return has_shape(name, "999.99999999T999999.999Z.jsonl");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int add_audit_name(struct audit_names *names, const char *name)
{
    if (names->n == NAMES_MAX || strlen(name) >= ROTATED_NAME_MAX)
        return -E2BIG;
    if ((names->n & (names->n - 1)) == 0)
        names->names = mem_grow(names->names, names->n ? 2 * names->n : 1, sizeof *names->names);
    memcpy(names->names[names->n++], name, strlen(name) + 1);
    return 0;
}

int audit_names_list(int dir, const char *slot, bool (*wanted)(const char *name),
                     struct audit_names *ret)
{
    /* Opened anew: two that read the same description would share its position. */
    DIR *folder = fd_list(dir);
    *ret = (struct audit_names){0};
    if (!folder)
        return -errno;
    const struct dirent *entry;
    int r = 0;
    int unread = 0;
    while (r == 0 && (entry = fd_list_next(folder, &unread))) {
        if (wanted(entry->d_name) && (!slot || memcmp(entry->d_name, slot, 3) == 0))
            r = add_audit_name(ret, entry->d_name);
    }
    closedir(folder);
    if (r == 0)
        r = -unread;
    if (r < 0)
        audit_names_done(ret);
    else if (ret->n > 0)
        qsort(ret->names, ret->n, sizeof *ret->names, compare_names);
    return r;
}

void audit_names_done(struct audit_names *names)
{
    free(names->names);
    *names = (struct audit_names){0};
}

int audit_newest_rotated(int dir, const char *slot)
{
    CLEANUP(audit_names_done) struct audit_names all = {0};
    if (dir < 0 || audit_names_list(dir, slot, audit_is_rotated, &all) < 0)
        return -1;
    for (size_t i = all.n; i-- > 0;) {
        struct stat st;
        FD_AT_END int fd = openat(dir, all.names[i],
                                  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
            return TAKE_FD(fd);
    }
    return -1;
}

static int digits(const char *text, int n)
{
    int number = 0;
    for (int i = 0; i < n; i++)
        number = 10 * number + (text[i] - '0');
    return number;
}

unsigned audit_slot_number(const char *name)
{
    return (unsigned)digits(name, 3);
}

static int64_t time_in(const char *name)
{
    /* It was looked at by audit_is_rotated: NNN.YYYYMMDDTHHMMSS.mmm */
    struct tm tm = {.tm_year = digits(name + 4, 4) - 1900,
                    .tm_mon = digits(name + 8, 2) - 1,
                    .tm_mday = digits(name + 10, 2),
                    .tm_hour = digits(name + 13, 2),
                    .tm_min = digits(name + 15, 2),
                    .tm_sec = digits(name + 17, 2)};
    return (int64_t)timegm(&tm) * 1000 + digits(name + 20, 3);
}

bool audit_next_rotated(int dir, const char *slot, char ret[ROTATED_NAME_MAX])
{
    CLEANUP(audit_names_done) struct audit_names all = {0};
    char ts[CLOCK_TEXT_MAX];
    int64_t now = clock_unix_ms();
    if (audit_names_list(dir, slot, audit_is_rotated, &all) < 0)
        return false;
    if (all.n > 0) {
        int64_t newest = time_in(all.names[all.n - 1]);
        now = newest >= now ? newest + 1 : now;
    }
    clock_format_utc(now, ts);
    snprintf(ret, ROTATED_NAME_MAX, "%.3s.%.4s%.2s%.2sT%.2s%.2s%.6sZ.jsonl", slot, ts, ts + 5,
             ts + 8, ts + 11, ts + 14, ts + 17);
    return audit_is_rotated(ret) && (all.n == 0 || strcmp(ret, all.names[all.n - 1]) > 0);
}

#include "store/audit_lane.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "store/audit_chain.h"

#define READ_BYTES (64u << 10)
/* Some more than any record has. */
#define LINE_MAX_BYTES (AUDIT_RECORD_MAX + 4096)

int audit_lane_slot(const char *name)
{
    size_t n = strlen(name);
    static const char end[] = ".jsonl";
    if (n < 3 + sizeof end - 1 || n >= AUDIT_NAME_MAX || name[3] != '.' ||
        strcmp(name + n - (sizeof end - 1), end) != 0)
        return -1;
    int slot = 0;
    for (int i = 0; i < 3; i++) {
        if (name[i] < '0' || name[i] > '9')
            return -1;
        slot = slot * 10 + (name[i] - '0');
    }
    return slot;
}

void audit_gap_add(struct audit_gaps *gaps, const char *name, int error)
{
    if (error == ENOENT)
        return;
    if (gaps->unread++ > 0)
        return;
    snprintf(gaps->name, sizeof gaps->name, "%.63s", name);
    gaps->error = error;
}

/* --- which file */

struct found {
    char name[AUDIT_NAME_MAX];
    off_t size;
};

static DIR *open_list(const struct audit_lane *lane)
{
    DIR *folder = fd_list(lane->dir);
    if (!folder)
        audit_gap_add(lane->gaps, "audit", errno);
    return folder;
}

static const struct dirent *next_listed(const struct audit_lane *lane, DIR *folder)
{
    int unread = 0;
    const struct dirent *d = folder ? fd_list_next(folder, &unread) : NULL;
    if (unread)
        audit_gap_add(lane->gaps, "audit", unread);
    return d;
}

/* The slot's file next to `name` in the order of names; the one in use is the last, `j` sorts behind digits. */
static bool neighbour(const struct audit_lane *lane, const char *name, bool later,
                      struct found *ret)
{
    ret->name[0] = '\0';
    DIR *folder = open_list(lane);
    for (const struct dirent *d; (d = next_listed(lane, folder));) {
        if (audit_lane_slot(d->d_name) != (int)lane->slot)
            continue;
        int side = strcmp(d->d_name, name);
        int nearer = strcmp(ret->name, d->d_name);
        if ((later ? side > 0 : side < 0) && (!ret->name[0] || (later ? nearer > 0 : nearer < 0)))
            snprintf(ret->name, sizeof ret->name, "%.63s", d->d_name);
    }
    if (folder)
        closedir(folder);
    struct stat st;
    if (!ret->name[0] || fstatat(lane->dir, ret->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    ret->size = st.st_size;
    return true;
}

static bool open_lane_file(struct audit_lane *lane, const char *name, off_t from)
{
    struct stat st;
    FD_AT_END int fd = openat(lane->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && (errno = EINVAL)) ||
        lseek(fd, from, SEEK_SET) < 0) {
        audit_gap_add(lane->gaps, name, errno);
        return false;
    }
    fd_closep(&lane->fd);
    lane->fd = TAKE_FD(fd);
    lane->device = st.st_dev;
    lane->inode = st.st_ino;
    lane->at_start = from == 0;
    snprintf(lane->name, sizeof lane->name, "%s", name);
    return true;
}

/* Takes a file that cannot be opened as read to its end; false where there is none. */
static bool pass_over_lane_file(struct audit_lane *lane, const char *name)
{
    struct stat st;
    if (fstatat(lane->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    fd_closep(&lane->fd);
    lane->device = st.st_dev;
    lane->inode = st.st_ino;
    snprintf(lane->name, sizeof lane->name, "%s", name);
    return true;
}

/* The name that our file has by now: it may have been rotated while we read it. */
static void find_own_name(struct audit_lane *lane)
{
    struct stat st;
    if (fstatat(lane->dir, lane->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == lane->inode &&
        st.st_dev == lane->device)
        return;
    DIR *folder = open_list(lane);
    for (const struct dirent *d; (d = next_listed(lane, folder));) {
        if (audit_lane_slot(d->d_name) != (int)lane->slot ||
            fstatat(lane->dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            st.st_ino != lane->inode || st.st_dev != lane->device)
            continue;
        snprintf(lane->name, sizeof lane->name, "%.63s", d->d_name);
        break;
    }
    if (folder)
        closedir(folder);
}

/* The name of the file behind ours. One that was removed in between is passed over. */
static bool find_next(struct audit_lane *lane, struct found *ret)
{
    struct stat st;
    find_own_name(lane);
    if (neighbour(lane, lane->name, true, ret))
        return true;
    /* Ours was the one in use, was rotated and then removed: another has its name. */
    snprintf(ret->name, sizeof ret->name, "%s", lane->name);
    return lane->name[0] && fstatat(lane->dir, lane->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (st.st_ino != lane->inode || st.st_dev != lane->device);
}

/* About `window` bytes before the end. */
static void open_window(struct audit_lane *lane, uint64_t window)
{
    struct found at;
    struct found before;
    uint64_t have = 0;
    if (!neighbour(lane, "~", false, &at))
        return;
    have = (uint64_t)at.size;
    while (have < window && neighbour(lane, at.name, false, &before)) {
        at = before;
        have += (uint64_t)at.size;
    }
    off_t from = have > window ? (off_t)(have - window) : 0;
    lane->truncated = from > 0 || neighbour(lane, at.name, false, &before);
    lane->skipping = lane->own_skip = from > 0;
    if (!open_lane_file(lane, at.name, from))
        pass_over_lane_file(lane, at.name);
}

struct audit_lane *audit_lane_new(int dir, unsigned slot, const struct audit_read_options *options,
                                  struct audit_gaps *gaps)
{
    struct audit_lane *lane = mem_zero(sizeof *lane);
    *lane = (struct audit_lane){.dir = dir, .gaps = gaps, .slot = slot, .fd = -1};
    buf_init(&lane->data, LINE_MAX_BYTES + 2 * READ_BYTES);
    if (options->from_ms != INT64_MIN)
        clock_format_utc(options->from_ms, lane->from);
    if (options->window)
        open_window(lane, options->window);
    return lane;
}

void audit_lane_free(struct audit_lane *lane)
{
    if (!lane)
        return;
    fd_closep(&lane->fd);
    buf_done(&lane->data);
    yyjson_doc_free(lane->doc);
    free(lane);
}

/* --- records */

/* Told from the line's beginning, which is the same in all records, before it is read as JSON. */
static bool is_early(const struct audit_lane *lane, struct str line)
{
    static const char begin[] = "{\"ts\":\"";
    const size_t n = sizeof begin - 1;
    const size_t digits = sizeof "2024-05-01T12:00:00.000" - 1;
    return lane->from[0] && line.n > n + digits && memcmp(line.p, begin, n) == 0 &&
           memcmp(line.p + n, lane->from, digits) < 0;
}

static bool read_lane_record(struct audit_lane *lane, struct str line)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(line.p, line.n, LINE_MAX_BYTES, JSON_STRICT, &doc, NULL) < 0)
        return false;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *ts = yyjson_obj_get(root, "ts");
    int64_t at_ms;
    if (!yyjson_is_str(ts) || !clock_parse_utc(json_str(ts), &at_ms) ||
        !yyjson_is_str(yyjson_obj_get(root, "kind")))
        return false;
    lane->doc = TAKE_PTR(doc);
    lane->head = (struct audit_entry){.line = line, .record = root, .at_ms = at_ms};
    return true;
}

/* --- the chain, as far as each record shows it: who made a chain of their own is found by `audit verify` */

/* Of a line that is not looked at, the end is enough. */
static void pass_hash(struct audit_lane *lane, struct str line)
{
    struct str hash = chain_hash_of(line);
    lane->at_start = false;
    if (!hash.p)
        return;
    chain_copy(lane->before, hash);
    chain_copy(lane->good, hash);
}

/* The first record of a file says itself what it follows: files before it may have been removed. */
static bool lane_file_follows(const struct audit_lane *lane, struct str line)
{
    char after[HASH_HEX + 1];
    struct str hash = json_str(yyjson_obj_get(lane->head.record, "after"));
    struct str kind = json_str(yyjson_obj_get(lane->head.record, "kind"));
    if ((!str_is(kind, "gate.start") && !str_is(kind, "log.continued")) || !hash.p ||
        !hash_is_hex(hash))
        return false;
    chain_copy(after, hash);
    return chain_follows(line, after);
}

/* Behind a line that was put in comes a record that follows the one before that; behind one that was changed comes one that
 * follows it. */
static bool is_chained(struct audit_lane *lane, struct str line)
{
    bool begins = lane->at_start || !lane->good[0];
    bool unknown = !lane->at_start && !lane->before[0];
    struct str hash = chain_hash_of(line);
    lane->at_start = false;
    if (!hash.p)
        return false;
    bool fits = unknown || (lane->before[0] && chain_follows(line, lane->before)) ||
                (lane->good[0] && memcmp(lane->good, lane->before, HASH_HEX) != 0 &&
                 chain_follows(line, lane->good)) ||
                (begins && lane_file_follows(lane, line));
    chain_copy(lane->before, hash);
    if (fits)
        chain_copy(lane->good, hash);
    return fits;
}

/* The next line that is whole. */
static bool next_lane_line(struct audit_lane *lane, struct str *ret)
{
    struct buf *data = &lane->data;
    const char *end = lane->looked < data->len
                          ? memchr(data->data + lane->looked, '\n', data->len - lane->looked)
                          : NULL;
    if (!end) {
        lane->looked = data->len;
        return false;
    }
    *ret = (struct str){data->data + lane->used, (size_t)(end - data->data) - lane->used};
    lane->used += ret->n + 1;
    lane->looked = lane->used;
    return true;
}

/* More of the file; false at its end. */
static bool read_more_of_lane(struct audit_lane *lane)
{
    struct buf *data = &lane->data;
    buf_consume(data, lane->used);
    lane->looked -= lane->used;
    lane->used = 0;
    /* No record is so long: what it is, is of no interest. */
    if (data->len > LINE_MAX_BYTES) {
        lane->skipping = true;
        data->len = lane->looked = 0;
    }
    if (lane->fd < 0)
        return false;
    if (buf_reserve(data, READ_BYTES) < 0) {
        audit_gap_add(lane->gaps, lane->name, ENOMEM);
        return false;
    }
    ssize_t n;
    do
        n = read(lane->fd, data->data + data->len, READ_BYTES);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        data->len += (size_t)n;
    else if (n < 0)
        audit_gap_add(lane->gaps, lane->name, errno);
    return n > 0;
}

/* Half a line at the end of a file that nobody writes to any more. */
static void forget_rest(struct audit_lane *lane)
{
    lane->gaps->damaged += lane->data.len > lane->used || (lane->skipping && !lane->own_skip);
    lane->data.len = lane->used = lane->looked = 0;
    lane->skipping = lane->own_skip = false;
}

bool audit_lane_load(struct audit_lane *lane)
{
    struct str line;
    struct found next;
    for (;;) {
        while (next_lane_line(lane, &line)) {
            bool skip = lane->skipping;
            bool own = lane->own_skip;
            lane->skipping = lane->own_skip = false;
            bool early = !skip && is_early(lane, line);
            if (own || early)
                pass_hash(lane, line);
            if (early)
                continue;
            if (!skip && read_lane_record(lane, line)) {
                lane->head.unchained = !is_chained(lane, line);
                lane->has_head = lane->begun = true;
                return true;
            }
            if (!skip && chain_hash_of(line).p)
                chain_copy(lane->before, chain_hash_of(line));
            lane->gaps->damaged += !(skip && own);
        }
        if (read_more_of_lane(lane))
            continue;
        bool more = find_next(lane, &next);
        /* Once there is another, nobody writes to ours: what came before that is read first. */
        if (more && read_more_of_lane(lane))
            continue;
        if (!more ||
            (!open_lane_file(lane, next.name, 0) && !pass_over_lane_file(lane, next.name))) {
            lane->dry = true;
            return false;
        }
        forget_rest(lane);
    }
}

void audit_lane_drop(struct audit_lane *lane)
{
    yyjson_doc_free(TAKE_PTR(lane->doc));
    lane->has_head = false;
}

#include "gate/remember.h"

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
#include "base/json.h"
#include "base/mem.h"
#include "gate/state.h"

#define NAME "approved.json"
#define FRESH ".approved.json.new"
#define LOCK ".approved.lock"
#define LOCK_WAIT_MS 2000
#define LOCK_RETRY_MS 10
#define BY "approved_by"
#define AT "approved_at"

static int damaged(struct err *err, const char *why)
{
    err_set(err, ERR_INTERNAL,
            "`" NAME
            "` in the configuration folder %s, so no rule in it counts: repair it, or move it "
            "away",
            why);
    return err_reason(err, "approved_damaged");
}

static int tell_remember_failure(struct err *err, const char *doing)
{
    return err_set(err, err_is_full(errno) ? ERR_DISK_FULL : ERR_INTERNAL,
                   "%s `" NAME "` in the configuration folder: %s", doing, strerror(errno));
}

/* --- reading */

static int check_rule(yyjson_val *rule)
{
    return yyjson_is_str(yyjson_obj_get(rule, "toolName")) &&
                   yyjson_is_str(yyjson_obj_get(rule, BY)) &&
                   yyjson_is_str(yyjson_obj_get(rule, AT))
               ? 0
               : -1;
}

static int check_remembered_rules(yyjson_val *root, struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *rule;
    yyjson_val *rules = yyjson_obj_get(root, "rules");
    if (!yyjson_is_arr(rules) || yyjson_obj_size(root) != 1)
        return damaged(err, "is not {\"rules\":[…]}");
    if (yyjson_arr_size(rules) > REMEMBER_RULES_MAX)
        return damaged(err, "has too many rules");
    yyjson_arr_foreach(rules, idx, max, rule) {
        if (check_rule(rule) < 0) {
            char why[96];
            snprintf(why, sizeof why, "has a rule (the one with number %zu) that nobody approved",
                     idx);
            return damaged(err, why);
        }
    }
    return 0;
}

static int read_remembered_text(int fd, struct buf *text, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return tell_remember_failure(err, "reading");
    /* It says what an agent may do: whoever writes it decides. */
    if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 022))
        return damaged(err, "must be a file of yours that nobody else can write (chmod 600)");
    if (st.st_size > REMEMBER_BYTES_MAX || buf_reserve(text, REMEMBER_BYTES_MAX) < 0)
        return damaged(err, "is too large");
    ssize_t n = fd_read_upto(fd, text->data, REMEMBER_BYTES_MAX);
    if (n < 0) {
        errno = (int)-n;
        return tell_remember_failure(err, "reading");
    }
    text->len = (size_t)n;
    return 0;
}

/* *ret_doc is NULL where there is no file. */
static int read_remembered_rules(int folder, yyjson_doc **ret_doc, struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(REMEMBER_BYTES_MAX);
    struct json_error why;
    *ret_doc = NULL;
    FD_AT_END int fd = folder < 0
                           ? -1
                           : openat(folder, NAME,
                                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && (folder < 0 || errno == ENOENT))
        return 0;
    if (fd < 0)
        return errno == ELOOP ? damaged(err, "is a link") : tell_remember_failure(err, "reading");
    if (read_remembered_text(fd, &text, err) < 0)
        return -1;
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(text.data, text.len, REMEMBER_BYTES_MAX, JSON_STRICT, &doc, &why) < 0)
        return damaged(err, "is not valid JSON");
    if (check_remembered_rules(yyjson_doc_get_root(doc), err) < 0)
        return -1;
    *ret_doc = TAKE_PTR(doc);
    return 0;
}

static yyjson_val *rules_of(yyjson_doc *doc)
{
    return yyjson_obj_get(yyjson_doc_get_root(doc), "rules");
}

/* The rule as it was proposed, without who approved it. */
static yyjson_mut_doc *rule_as_proposed(yyjson_val *rule)
{
    yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *copy = made ? yyjson_val_mut_copy(made, rule) : NULL;
    if (!copy)
        abort();
    yyjson_mut_obj_remove_key(copy, BY);
    yyjson_mut_obj_remove_key(copy, AT);
    yyjson_mut_doc_set_root(made, copy);
    return made;
}

static char *bare_text(yyjson_val *rule)
{
    yyjson_mut_doc *made = rule_as_proposed(rule);
    char *text = yyjson_mut_write(made, YYJSON_WRITE_NOFLAG, NULL);
    yyjson_mut_doc_free(made);
    return text;
}

/* The same rule, whatever the order of its fields. */
static bool is_same_remembered(yyjson_val *rule, yyjson_val *other)
{
    yyjson_mut_doc *a = rule_as_proposed(rule);
    yyjson_mut_doc *b = rule_as_proposed(other);
    bool same = yyjson_mut_equals(yyjson_mut_doc_get_root(a), yyjson_mut_doc_get_root(b));
    yyjson_mut_doc_free(a);
    yyjson_mut_doc_free(b);
    return same;
}

int remember_each(void (*each)(void *arg, const struct remembered *rule), void *arg,
                  struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *rule;
    FD_AT_END int folder = -1;
    JSON_AT_END yyjson_doc *doc = NULL;
    if (state_open_config(false, &folder, err) < 0 || read_remembered_rules(folder, &doc, err) < 0)
        return -1;
    yyjson_arr_foreach(rules_of(doc), idx, max, rule) {
        char name[48];
        FREE_AT_END char *text = bare_text(rule);
        snprintf(name, sizeof name, NAME "[%zu]", idx);
        if (!text)
            return damaged(err, "cannot be read");
        each(arg, &(struct remembered){
                      .number = idx,
                      .rule = {text, strlen(text)},
                      .name = name,
                      .by = yyjson_get_str(yyjson_obj_get(rule, BY)),
                      .at = yyjson_get_str(yyjson_obj_get(rule, AT)),
                  });
    }
    return 0;
}

struct loading {
    void (*each)(void *arg, struct str rule, const char *name);
    void *arg;
};

static void load_one(void *arg, const struct remembered *rule)
{
    const struct loading *loading = arg;
    loading->each(loading->arg, rule->rule, rule->name);
}

int remember_load(void (*each)(void *arg, struct str rule, const char *name), void *arg,
                  struct err *err)
{
    return remember_each(load_one, &(struct loading){each, arg}, err);
}

int64_t remember_mark(void)
{
    struct err ignored;
    struct stat st;
    FD_AT_END int folder = -1;
    if (state_open_config(false, &folder, &ignored) < 0 || folder < 0 ||
        fstatat(folder, NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    /* Each writing makes another file. */
    uint64_t mark = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
    return (int64_t)((mark ^ (uint64_t)st.st_ino << 40) | 1);
}

/* --- writing */

static int is_locked(struct err *err)
{
    err_set(err, ERR_SESSION_BUSY,
            "`" NAME "` in the configuration folder is being changed by another process; try "
            "again");
    return err_reason(err, "approved_locked");
}

static int take_remember_lock(int folder, enum remember_wait wait, int *ret_fd, struct err *err)
{
    FD_AT_END int fd = openat(folder, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int most = wait == REMEMBER_WAIT ? LOCK_WAIT_MS : 0;
    if (fd < 0)
        return tell_remember_failure(err, "locking");
    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += LOCK_RETRY_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return tell_remember_failure(err, "locking");
        if (waited >= most)
            return is_locked(err);
        nanosleep(&(struct timespec){.tv_nsec = LOCK_RETRY_MS * 1000000L}, NULL);
    }
    *ret_fd = TAKE_FD(fd);
    return 0;
}

/* The old file or the new one, whatever happens. */
static int replace_remembered(int folder, const char *text, size_t n, struct err *err)
{
    unlinkat(folder, FRESH, 0);
    FD_AT_END int fd = openat(folder, FRESH, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                              0600);
    if (fd < 0)
        return tell_remember_failure(err, "writing");
    int r = fd_write_all(fd, text, n);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (r == 0 && renameat(folder, FRESH, folder, NAME) < 0)
        r = -errno;
    if (r == 0 && fsync(folder) < 0)
        r = -errno;
    if (r == 0)
        return 0;
    errno = -r;
    tell_remember_failure(err, "writing");
    unlinkat(folder, FRESH, 0);
    return -1;
}

/* Takes the mutable document. */
static int write_rules(int folder, yyjson_mut_doc *made, struct err *err)
{
    size_t n = 0;
    FREE_AT_END char *text = yyjson_mut_write(made, YYJSON_WRITE_PRETTY, &n);
    yyjson_mut_doc_free(made);
    if (!text)
        return err_set(err, ERR_INTERNAL, "the rule cannot be written");
    if (n > REMEMBER_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE,
                       "`" NAME "` would be too large: `sandgate approvals forget` makes room");
    return replace_remembered(folder, text, n, err);
}

/* A copy of the file's contents without the rule `leave_out`, and its list. */
static yyjson_mut_doc *copy_rules(yyjson_doc *doc, yyjson_val *leave_out, yyjson_mut_val **ret_list)
{
    size_t idx;
    size_t max;
    yyjson_val *rule;
    yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = made ? yyjson_mut_obj(made) : NULL;
    if (!root)
        abort();
    yyjson_mut_doc_set_root(made, root);
    *ret_list = yyjson_mut_obj_add_arr(made, root, "rules");
    yyjson_arr_foreach(rules_of(doc), idx, max, rule) {
        if (rule != leave_out)
            yyjson_mut_arr_append(*ret_list, yyjson_val_mut_copy(made, rule));
    }
    return made;
}

static int append_remembered(int folder, yyjson_doc *doc, yyjson_val *rule, const char *by,
                             struct err *err)
{
    char now[CLOCK_TEXT_MAX];
    yyjson_mut_val *list;
    if (yyjson_arr_size(rules_of(doc)) >= REMEMBER_RULES_MAX)
        return err_set(err, ERR_TOO_LARGE,
                       "`" NAME "` has %d rules already: `sandgate approvals forget` makes room",
                       REMEMBER_RULES_MAX);
    yyjson_mut_doc *made = copy_rules(doc, NULL, &list);
    yyjson_mut_val *added = yyjson_val_mut_copy(made, rule);
    clock_format_utc(clock_unix_ms(), now);
    yyjson_mut_obj_add_strcpy(made, added, BY, by);
    yyjson_mut_obj_add_strcpy(made, added, AT, now);
    yyjson_mut_arr_append(list, added);
    return write_rules(folder, made, err);
}

/* Opens, locks and reads. */
static int begin_remembering(enum remember_wait wait, int *ret_folder, int *ret_lock,
                             yyjson_doc **ret_doc, struct err *err)
{
    return state_open_config(true, ret_folder, err) < 0 ||
                   take_remember_lock(*ret_folder, wait, ret_lock, err) < 0 ||
                   read_remembered_rules(*ret_folder, ret_doc, err) < 0
               ? -1
               : 0;
}

static int parse_rule(struct str text, yyjson_doc **ret_doc, struct err *err)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(text.p, text.n, REMEMBER_BYTES_MAX, JSON_STRICT, &doc, NULL) < 0 ||
        !yyjson_is_str(yyjson_obj_get(yyjson_doc_get_root(doc), "toolName")))
        return err_set(err, ERR_INVALID_ARGUMENTS, "this is no rule that could be remembered");
    *ret_doc = TAKE_PTR(doc);
    return 0;
}

int remember_add(struct str rule, const char *by, enum remember_wait wait, struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *known;
    FD_AT_END int folder = -1;
    FD_AT_END int lock = -1;
    JSON_AT_END yyjson_doc *doc = NULL;
    JSON_AT_END yyjson_doc *fresh = NULL;
    if (parse_rule(rule, &fresh, err) < 0 || begin_remembering(wait, &folder, &lock, &doc, err) < 0)
        return -1;
    yyjson_arr_foreach(rules_of(doc), idx, max, known) {
        if (is_same_remembered(known, yyjson_doc_get_root(fresh)))
            return 0;
    }
    return append_remembered(folder, doc, yyjson_doc_get_root(fresh), by, err);
}

int remember_forget(size_t number, struct str rule, struct err *err)
{
    FD_AT_END int folder = -1;
    FD_AT_END int lock = -1;
    JSON_AT_END yyjson_doc *doc = NULL;
    JSON_AT_END yyjson_doc *expected = NULL;
    if ((rule.p && parse_rule(rule, &expected, err) < 0) ||
        begin_remembering(REMEMBER_WAIT, &folder, &lock, &doc, err) < 0)
        return -1;
    yyjson_val *found = yyjson_arr_get(rules_of(doc), number);
    if (!found || (expected && !is_same_remembered(found, yyjson_doc_get_root(expected))))
        return err_set(err, ERR_NOT_FOUND,
                       "there is no rule with the number %zu any more; `sandgate approvals rules` "
                       "shows them",
                       number);
    yyjson_mut_val *list;
    yyjson_mut_doc *made = copy_rules(doc, found, &list);
    return write_rules(folder, made, err);
}

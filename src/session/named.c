#include "session/named.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "base/mem.h"
#include "session/layer.h"
#include "session/remove_tree.h"

#define FOLDER "sessions"
#define RECORD "session.json"
#define LOCK "lock"
#define MODE_HOST "host"
#define MODE_OVERLAY "overlay"
/* The reason of an error: nobody can tell yet whether the session is being made, or was left so. */
#define NO_RECORD "no_record"
#define IDENTITY_MAX 96
/* A path of control characters is escaped to six times its length. */
#define RECORD_MAX (32u << 10)

static bool valid_id(const char *id)
{
    size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > 0 && n < NAMED_ID_MAX && id[n] == '\0';
}

static int open_named_folder(int state_fd, const char *path, bool make)
{
    if (make && mkdirat(state_fd, path, 0700) < 0 && errno != EEXIST)
        return -1;
    return openat(state_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_session_id(char id[NAMED_ID_MAX], struct err *err)
{
    /* No letters that are taken for digits. */
    static const char letters[] = "abcdefghjkmnpqrstuvwxyz23456789";
    unsigned char random[12];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return err_file_failed(err, "no random numbers");
    for (size_t i = 0; i < sizeof random; i++)
        id[i] = letters[random[i] % (sizeof letters - 1)];
    id[sizeof random] = '\0';
    return 0;
}

/* Which folder it is, whatever its path: an agent that works in a folder around it can replace it. */
static bool identify_workspace(const char *workspace, char out[IDENTITY_MAX])
{
    struct statx st;
    if (statx(AT_FDCWD, workspace, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO | STATX_BTIME, &st) <
            0 ||
        !S_ISDIR(st.stx_mode))
        return false;
    bool born = st.stx_mask & STATX_BTIME;
    snprintf(out, IDENTITY_MAX, "%llu.%lld.%u", (unsigned long long)st.stx_ino,
             born ? (long long)st.stx_btime.tv_sec : 0, born ? st.stx_btime.tv_nsec : 0);
    return true;
}

static int write_record(int dir, const char *id, const char *workspace, bool overlay,
                        struct err *err)
{
    char identity[IDENTITY_MAX];
    char created[CLOCK_TEXT_MAX];
    BUF_AT_END struct buf text = BUF_INIT(RECORD_MAX);
    struct json_out j = {.out = &text};
    clock_format_utc(clock_unix_ms(), created);
    if (!identify_workspace(workspace, identity))
        return err_file_failed(err, "the session's workspace");
    jo_open(&j, '{');
    jo_ktext(&j, "id", id);
    jo_key(&j, "workspace");
    jo_bytes(&j, (struct str){workspace, strlen(workspace)});
    jo_ktext(&j, "identity", identity);
    jo_ktext(&j, "mode", overlay ? MODE_OVERLAY : MODE_HOST);
    jo_ktext(&j, "created", created);
    jo_close(&j, '}');
    buf_add_char(&text, '\n');
    if (text.failed)
        return err_set(err, ERR_INTERNAL, "the session's record is longer than %u bytes",
                       RECORD_MAX);
    FD_AT_END int fd = openat(dir, RECORD, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : fd_write_all(fd, text.data, text.len);
    if (r == 0)
        return 0;
    errno = -r;
    return err_file_failed(err, "writing the session's record");
}

int named_create(int state_fd, const char *workspace, bool overlay, char id[NAMED_ID_MAX],
                 struct err *err)
{
    FREE_AT_END char *real = realpath(workspace, NULL);
    struct stat st;
    if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set(err, ERR_NOT_FOUND, "the workspace `%s`: %s", workspace,
                       real ? "not a folder" : strerror(errno));
    FD_AT_END int all = open_named_folder(state_fd, FOLDER, true);
    if (all < 0)
        return err_file_failed(err, "the folder of sessions");
    if (make_session_id(id, err) < 0)
        return -1;
    if (mkdirat(all, id, 0700) < 0)
        return err_file_failed(err, "making the session");
    FD_AT_END int dir = open_named_folder(all, id, false);
    if (dir < 0)
        return err_file_failed(err, "making the session");
    return write_record(dir, id, real, overlay, err);
}

/* False: it is none that there is. */
static bool read_mode(struct named *named, const char *mode)
{
    char self[64];
    char path[PATH_MAX];
    named->overlay = mode && strcmp(mode, MODE_OVERLAY) == 0;
    if (!named->overlay)
        return !mode || strcmp(mode, MODE_HOST) == 0;
    snprintf(self, sizeof self, "/proc/self/fd/%d", named->dir_fd);
    ssize_t n = readlink(self, path, sizeof path - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    named->layer = mem_format("%s/" LAYER_FOLDER, path);
    return true;
}

static int read_session_record(struct named *named, struct err *err)
{
    char text[RECORD_MAX];
    FD_AT_END int fd = fd_open_plain(named->dir_fd, RECORD, O_RDONLY);
    ssize_t n = fd < 0 ? -errno : fd_read_upto(fd, text, sizeof text);
    bool known = false;
    if (n < 0 && n != -ENOENT && !fd_is_special((int)-n)) {
        errno = (int)-n;
        return err_file_failed(err, "the record of the session");
    }
    JSON_AT_END yyjson_doc *doc = NULL;
    if (n > 0 && json_parse(text, (size_t)n, sizeof text, JSON_INTERNAL, &doc, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        named->workspace = mem_dup(yyjson_get_str(yyjson_obj_get(root, "workspace")));
        named->identity = mem_dup(yyjson_get_str(yyjson_obj_get(root, "identity")));
        named->created = mem_dup(yyjson_get_str(yyjson_obj_get(root, "created")));
        known = read_mode(named, yyjson_get_str(yyjson_obj_get(root, "mode")));
    }
    if (named->workspace && named->created && known)
        return 0;
    free(TAKE_PTR(named->workspace));
    free(TAKE_PTR(named->created));
    named->damaged = true;
    err_set(err, ERR_INTERNAL,
            "the record of session %s is damaged: `" FOLDER "/%s/" RECORD
            "` in the state folder %s. "
            "Put it back, or forget the session: `sandgate session discard %s`",
            named->id, named->id,
            n == -ENOENT ? "is gone"
            : n < 0      ? "is no plain file"
                         : "is not what was written there",
            named->id);
    return err_reason(err, n == -ENOENT ? NO_RECORD : "");
}

static int open_named(int state_fd, const char *id, struct named *ret, struct err *err)
{
    *ret = (struct named){.dir_fd = -1, .lock_fd = -1};
    FD_AT_END int all = open_named_folder(state_fd, FOLDER, false);
    if (valid_id(id) && all >= 0) {
        snprintf(ret->id, sizeof ret->id, "%s", id);
        ret->dir_fd = open_named_folder(all, id, false);
    }
    if (ret->dir_fd >= 0)
        return 0;
    if (valid_id(id) && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        return err_file_failed(err, "the session's folder");
    return err_set(err, ERR_SESSION_NOT_FOUND,
                   "there is no session `%.40s`; `sandgate session list` shows those there are",
                   id);
}

int named_load(int state_fd, const char *id, struct named *ret, struct err *err)
{
    if (open_named(state_fd, id, ret, err) == 0 && read_session_record(ret, err) == 0)
        return 0;
    named_done(ret);
    return -1;
}

void named_done(struct named *named)
{
    free(TAKE_PTR(named->workspace));
    free(TAKE_PTR(named->created));
    free(TAKE_PTR(named->identity));
    free(TAKE_PTR(named->layer));
    fd_closep(&named->dir_fd);
    fd_closep(&named->lock_fd);
}

int named_check_workspace(const struct named *named, struct err *err)
{
    char now[IDENTITY_MAX];
    FREE_AT_END char *real = realpath(named->workspace, NULL);
    if (!real)
        return 0; /* the gate says what is wrong with it */
    if (strcmp(real, named->workspace) == 0 &&
        (!named->identity || (identify_workspace(real, now) && strcmp(now, named->identity) == 0)))
        return 0;
    err_set(err, ERR_PERMISSION_DENIED,
            "the workspace of session %s, %s, is not the folder that the session was made for: it "
            "was replaced, or a folder on the way to it is a link now; check it, then discard the "
            "session and create another",
            named->id, named->workspace);
    return err_reason(err, "workspace_replaced");
}

int named_lock(struct named *named, bool patient, struct err *err)
{
    FD_AT_END int fd = fd_open_plain(named->dir_fd, LOCK, O_RDWR | O_CREAT);
    if (fd < 0 && fd_is_special(errno))
        return err_set(err, ERR_INTERNAL,
                       "`" FOLDER "/%s/" LOCK "` in the state folder is no plain file: remove it",
                       named->id);
    if (fd < 0)
        return err_file_failed(err, "the session's lock");
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? 0 : err_file_failed(err, "the session's lock");
    if (layer_wait_for_cell(named->dir_fd, patient, err) < 0)
        return -1;
    named->lock_fd = TAKE_FD(fd);
    return 1;
}

bool named_is_owned(struct named *named, struct err *err)
{
    *err = (struct err){0};
    int r = named_lock(named, false, err);
    return r == 0 || (r < 0 && strcmp(err->reason, LAYER_IN_USE) == 0);
}

static void remove_session_file(int dir, const char *name)
{
    if (unlinkat(dir, name, 0) < 0 && errno == EISDIR)
        unlinkat(dir, name, AT_REMOVEDIR);
}

int named_remove(int state_fd, const char *id, struct err *err)
{
    CLEANUP(named_done) struct named named;
    if (open_named(state_fd, id, &named, err) < 0)
        return -1;
    int r = named_lock(&named, true, err);
    if (r == 0)
        return err_set(err, ERR_SESSION_BUSY, "session %s is in use by another process", id);
    if (r < 0)
        return -1;
    /* Without the record nobody works with half of a layer. */
    remove_session_file(named.dir_fd, RECORD);
    r = remove_tree(named.dir_fd, LAYER_FOLDER);
    errno = -r;
    if (r < 0)
        return err_file_failed(err, "removing the session's layer");
    static const char *const files[] = {"socket", LAYER_CELL, LOCK};
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        remove_session_file(named.dir_fd, files[i]);
    FD_AT_END int all = open_named_folder(state_fd, FOLDER, false);
    return unlinkat(all, id, AT_REMOVEDIR) < 0 ? err_file_failed(err, "removing the session") : 0;
}

static int only_names(const struct dirent *d)
{
    return valid_id(d->d_name);
}

/* One that is being made or removed at this moment is not there. */
static int each_one(int state_fd, const char *id, named_fn fn, void *arg, struct err *err)
{
    CLEANUP(named_done) struct named named;
    if (open_named(state_fd, id, &named, err) < 0)
        return err->code == ERR_SESSION_NOT_FOUND ? 0 : -1;
    if (read_session_record(&named, err) < 0 &&
        (!named.damaged || strcmp(err->reason, NO_RECORD) == 0))
        return named.damaged ? 0 : -1;
    bool owned = named_is_owned(&named, err);
    if (!owned && named.lock_fd < 0 && err->code == ERR_SESSION_BUSY)
        return -1;
    fn(arg, &named, owned);
    return 0;
}

int named_each(int state_fd, named_fn fn, void *arg, struct err *err)
{
    struct dirent **names = NULL;
    struct err why;
    int r = 0;
    int count = scandirat(state_fd, FOLDER, &names, only_names, alphasort);
    if (count < 0 && errno == ENOENT)
        return 0;
    if (count < 0)
        return err_file_failed(err, "the folder of sessions");
    for (int i = 0; i < count; i++) {
        if (each_one(state_fd, names[i]->d_name, fn, arg, &why) < 0)
            r = err_set(err, why.code, "session %s is left out: %.200s", names[i]->d_name,
                        why.message);
        free(names[i]);
    }
    free(names);
    return r;
}

#include "session/git_turn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "core/path.h"
#include "session/command_after.h"
#include "session/commands.h"
#include "session/session_parts.h"

#define FOUND_MAX ((size_t)1 << 20)
/* How often a command is begun whose git directories come and go at the same time. */
#define TRIES_MAX 5

void git_turn_init(struct git_turn *turn)
{
    *turn = (struct git_turn){.lock_fd = -1};
    for (size_t i = 0; i < ROOTS_MAX; i++)
        buf_init(&turn->found[i], FOUND_MAX);
}

void git_turn_done(struct git_turn *turn)
{
    for (size_t i = 0; i < ROOTS_MAX; i++)
        buf_done(&turn->found[i]);
    fd_closep(&turn->lock_fd);
}

/* --- which directories */

static bool is_git_directory_entry(const struct op_guarded *entry)
{
    struct str path = entry->path;
    bool named = path.n >= 4 && memcmp(path.p + path.n - 4, ".git", 4) == 0 &&
                 (path.n == 4 || path.p[path.n - 5] == '/');
    return entry->type == TYPE_DIRECTORY &&
           (entry->kind == GUARDED_GIT || (entry->kind == GUARDED_PROTECTED && named));
}

/* One that lies in another is served by that one's layer. */
static bool lies_in_another(struct str packed, struct str path)
{
    struct op_layer other;
    while (op_layer_next(&packed, &other) > 0) {
        if (path_lies_in(path, other.path))
            return true;
    }
    return false;
}

void git_turn_found(struct session *s, size_t root, struct str found)
{
    struct buf *known = &s->git.found[root];
    struct op_guarded entry;
    buf_done(known);
    buf_init(known, FOUND_MAX);
    /* Those near the root come first. */
    while (op_guarded_next(&found, &entry) > 0) {
        if (is_git_directory_entry(&entry) && !lies_in_another(buf_str(known), entry.path))
            op_layer_add(known, &(struct op_layer){(int64_t)root, entry.path});
    }
}

/* The folder that a git directory belongs to, as commands see it: `/workspace/a` for `a/.git`. */
static void worktree_of(const struct session *s, const struct op_layer *layer, struct buf *out)
{
    size_t n = layer->path.n;
    while (n && layer->path.p[n - 1] != '/')
        n--;
    buf_addf(out, "%s%s%.*s", s->spec.roots[layer->root].inside, n ? "/" : "", n ? (int)n - 1 : 0,
             layer->path.p);
}

static bool is_same_or_in(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static bool may_have_layers(const struct session *s, size_t root)
{
    return s->spec.roots[root].commands && s->spec.roots[root].writable;
}

static size_t count_all(const struct session *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        struct str rest = buf_str(&s->git.found[i]);
        struct op_layer layer;
        while (may_have_layers(s, i) && op_layer_next(&rest, &layer) > 0)
            count++;
    }
    return count;
}

/* Of the repository that the working directory lies in the folder's path; empty: it lies in none. */
static void find_repository(const struct session *s, const char *cwd, struct buf *out)
{
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        struct str rest = buf_str(&s->git.found[i]);
        struct op_layer layer;
        while (may_have_layers(s, i) && op_layer_next(&rest, &layer) > 0) {
            BUF_AT_END struct buf folder = BUF_INIT(3 * (size_t)PATH_TEXT_MAX);
            worktree_of(s, &layer, &folder);
            if (is_same_or_in(cwd, buf_text(&folder)) && folder.len > out->len) {
                buf_done(out);
                *out = folder;
                folder = BUF_INIT(0);
            }
        }
    }
}

/* All there are; of more than can be mounted those of the repository where the command runs. */
static size_t choose_layers(const struct session *s, const char *cwd, struct buf *out)
{
    BUF_AT_END struct buf repository = BUF_INIT(3 * (size_t)PATH_TEXT_MAX);
    size_t count = 0;
    bool all = count_all(s) <= OP_LAYERS_MAX;
    if (!all)
        find_repository(s, cwd, &repository);
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        struct str rest = buf_str(&s->git.found[i]);
        struct op_layer layer;
        while (may_have_layers(s, i) && count < OP_LAYERS_MAX && op_layer_next(&rest, &layer) > 0) {
            BUF_AT_END struct buf folder = BUF_INIT(3 * (size_t)PATH_TEXT_MAX);
            worktree_of(s, &layer, &folder);
            if (!all &&
                (!repository.len || !is_same_or_in(buf_text(&folder), buf_text(&repository))))
                continue;
            op_layer_add(out, &layer);
            count++;
        }
    }
    return count;
}

/* --- the turn */

static const char *git_store_of(const struct session *s)
{
    size_t store = spec_store(&s->spec);
    return store < ROOTS_MAX ? s->spec.roots[store].host : NULL;
}

/* Beside the store, so that nobody in a cell can hold it. 1: another gate has it. */
static int lock_git_store(struct session *s, struct err *err)
{
    FREE_AT_END char *path = mem_format("%s.lock", git_store_of(s));
    FD_AT_END int fd = fd_open_plain(AT_FDCWD, path, O_RDWR | O_CREAT);
    if (fd < 0 && fd_is_special(errno))
        return err_set(err, ERR_INTERNAL, "%s is no plain file: remove it", path);
    if (fd < 0)
        return err_set(err, err_code_for_file(errno), "opening %s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? 1
                                    : err_set(err, err_code_for_file(errno), "locking %s: %s", path,
                                              strerror(errno));
    s->git.lock_fd = TAKE_FD(fd);
    return 0;
}

static void give_turn_back(struct session *s)
{
    struct git_turn *turn = &s->git;
    turn->busy = NULL;
    turn->own = NULL;
    turn->cleaning = false;
    fd_closep(&turn->lock_fd);
    /* All of them: the first may not need it any more. Those that do wait again, in their order. */
    struct call *next = TAKE_PTR(turn->waiting);
    for (struct call *call; (call = next);) {
        next = call->wait_next;
        session_go_on(s, call);
    }
}

static struct call *own_call(struct session *s, enum op_id op, void (*done)(struct call *),
                             struct call *command)
{
    struct call *call = session_own_call(s, op, spec_store(&s->spec), OP_LAYERS, done);
    call->front = command;
    call->awaited = true;
    return call;
}

static void begun(struct call *own)
{
    struct call *call = own->front;
    struct session *s = (struct session *)own->workplace;
    struct err err = own->err;
    bool failed = own->failed;
    s->git.own = NULL;
    call_free(own);
    /* One that the last scan found is gone. */
    if (failed && err.code == ERR_NOT_FOUND && !call->kill_ns &&
        call->command->git_tries++ < TRIES_MAX) {
        s->scanned_ns = 0;
        give_turn_back(s);
        session_go_on(s, call);
        return;
    }
    if (!failed && call->kill_ns) {
        err = (struct err){.code = ERR_CANCELLED};
        failed = true;
    }
    if (failed)
        command_after(call, &err);
    else
        /* By the same way as any other: to make the layers may have taken longer than a scan is good for. */
        session_go_on(s, call);
}

static void send_begin(struct session *s, struct call *call)
{
    struct command *command = call->command;
    s->git.busy = call;
    snprintf(command->layer_tag, sizeof command->layer_tag, "%s-%x", s->cell_tag, s->git.number++);
    struct call *own = s->git.own = own_call(s, OP_GIT_BEGIN, begun, call);
    own->request.git_begin = (struct op_git_begin_request){
        own->path.root, call_path_text(own), {command->layer_tag, strlen(command->layer_tag)}};
    own->request_body = buf_str(&command->layers);
    session_send(s, own);
}

static void put_in_queue(struct git_turn *turn, struct call *call)
{
    struct call **end = &turn->waiting;
    while (*end)
        end = &(*end)->wait_next;
    call->wait_next = NULL;
    *end = call;
}

bool git_turn_take(struct session *s, struct call *call)
{
    struct command *command = call->command;
    struct err err;
    /* It has its layers, and only waited for room to begin. */
    if (s->git.busy == call)
        return false;
    FREE_AT_END char *cwd = mem_copy(command->cwd.p, command->cwd.n);
    buf_done(&command->layers);
    buf_init(&command->layers, FOUND_MAX);
    if (!call_may_write_git(call) || !git_store_of(s) ||
        choose_layers(s, cwd, &command->layers) == 0)
        return false;
    if (s->git.busy || s->git.cleaning) {
        put_in_queue(&s->git, call);
        return true;
    }
    int r = lock_git_store(s, &err);
    if (r > 0)
        err_set(&err, ERR_SESSION_BUSY,
                "another Sandgate process runs a command that may write to this workspace's git "
                "directories; nothing was run, try again when it has ended");
    if (r != 0)
        pipeline_finish(call, &err);
    else
        send_begin(s, call);
    return true;
}

bool git_turn_cancel(struct session *s, struct call *call)
{
    for (struct call **at = &s->git.waiting; *at; at = &(*at)->wait_next) {
        if (*at != call)
            continue;
        *at = call->wait_next;
        pipeline_finish(call, &(struct err){.code = ERR_CANCELLED});
        return true;
    }
    if (s->git.busy != call || !s->git.own)
        return false;
    host_cancel(&s->host, s->git.own);
    return true;
}

int git_turn_send(const struct command *command, uint64_t token, struct cell *cell, struct err *err)
{
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    struct json_out j = {.out = &head};
    jo_open(&j, '{');
    jo_ktext(&j, "tag", command->layer_tag);
    jo_close(&j, '}');
    if (command->layers.len > FRAME_BODY_MAX)
        return err_set(err, ERR_TOO_LARGE, "the paths of the git directories are too long");
    struct frame frame = {.type = FRAME_LAYERS,
                          .token = token,
                          .head = buf_str(&head),
                          .body = buf_str(&command->layers)};
    return cell_order(cell, &frame, NULL, err);
}

/* --- what was taken over */

static void take_dropped(struct command *command, const struct call *own)
{
    struct str rest = buf_str(&own->reply_body);
    struct op_layer name;
    int64_t told = 0;
    for (; op_layer_next(&rest, &name) > 0; told++) {
        command_add_violation(command, "git:dropped:", name.path, 1);
    }
    if (own->reply.git_import.dropped > told)
        command_add_violation(command, "git:dropped", STR(""),
                              own->reply.git_import.dropped - told);
    if (own->reply.git_import.kept > 0)
        command_add_violation(command, "git:kept", STR(""), own->reply.git_import.kept);
    if (own->reply.git_import.shallow > 0)
        command_add_violation(command, "git:changed:shallow", STR(""),
                              own->reply.git_import.shallow);
    command->git_refused = own->reply.git_import.refused;
}

static void imported(struct call *own)
{
    struct call *call = own->front;
    struct session *s = (struct session *)own->workplace;
    struct command_after *after = &call->command->after;
    if (!own->failed) {
        take_dropped(call->command, own);
    } else if (!after->failed) {
        after->failed = after->not_taken = true;
        after->err = own->err;
        /* By a code that says that it may be tried again. */
        if (strcmp(own->err.reason, "git_locked") == 0)
            after->err.code = ERR_SESSION_BUSY;
        if (strcmp(own->err.reason, "git_replaced") == 0)
            command_add_violation(call->command, "git:replaced", STR(""), 1);
    }
    call_free(own);
    give_turn_back(s);
    command_after_go_on(call);
}

bool git_turn_after(struct call *call)
{
    struct session *s = session_of_call(call);
    struct command *command = call->command;
    if (s->git.busy != call)
        return false;
    if (!s->host.cell) {
        give_turn_back(s);
        return false;
    }
    struct call *own = s->git.own = own_call(s, OP_GIT_IMPORT, imported, call);
    own->request.git_import = (struct op_git_import_request){
        .root = (int64_t)own->path.root,
        .path = call_path_text(own),
        .tag = {command->layer_tag, strlen(command->layer_tag)},
        .max_bytes = config_int(s->config, "commands.diskWrites"),
        .discard = command->after.failed || command->ended_by == COMMAND_DISK_LIMIT,
        .fsync = config_bool(s->config, "files.fsync"),
    };
    own->request_body = buf_str(&command->layers);
    session_send(s, own);
    return true;
}

/* --- what was left behind */

static bool has_leftovers(const char *store)
{
    FREE_AT_END char *path = mem_format("%s/" OP_LAYERS, store);
    DIR *dir = opendir(path);
    bool found = false;
    for (struct dirent *d; dir && !found && (d = readdir(dir));)
        found = d->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return found;
}

static void cleaned(struct call *own)
{
    struct session *s = (struct session *)own->workplace;
    /* What could not be removed is tried again by the next one. */
    call_free(own);
    give_turn_back(s);
}

void git_turn_clean(struct session *s)
{
    struct err ignored;
    const char *store = git_store_of(s);
    if (!store || s->git.busy || s->git.cleaning || !has_leftovers(store) ||
        lock_git_store(s, &ignored) != 0)
        return;
    s->git.cleaning = true;
    struct call *own = own_call(s, OP_GIT_BEGIN, cleaned, NULL);
    own->request.git_begin = (struct op_git_begin_request){own->path.root, call_path_text(own),
                                                           STR("none")};
    session_send(s, own);
}

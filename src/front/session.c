/* `sandgate session create|list|show|diff|commit|discard`. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "front/confirm.h"
#include "front/front.h"
#include "front/session_commit.h"
#include "front/session_diff.h"
#include "front/verbs.h"
#include "gate/state.h"
#include "session/named.h"

#define CREATED_SHOWN 100
#define FOLDER_SHOWN 16384

struct listing {
    bool json;
    struct buf *out;
    struct json_out j;
    const struct options *options; /* changes are counted; NULL: they are not */
};

/* Null where they cannot be looked at. */
static void write_layer_json(struct listing *l, const struct named *named)
{
    struct err err;
    int64_t count;
    int64_t bytes;
    if (!named->overlay || !l->options)
        return;
    bool known = session_count_changes(named, l->options, &count, &bytes, &err) == 0;
    if (!known)
        log_warning("session %s: %s", named->id, err.message);
    jo_key(&l->j, "changes");
    known ? jo_int(&l->j, count) : jo_null(&l->j);
    jo_key(&l->j, "disk_bytes");
    known ? jo_int(&l->j, bytes) : jo_null(&l->j);
}

static void list_named_session(void *arg, const struct named *named, bool owned)
{
    struct listing *l = arg;
    if (!l->json && named->damaged) {
        buf_addf(l->out, "%s  damaged%s\n", named->id, owned ? "  in use" : "");
        return;
    }
    if (!l->json) {
        buf_addf(l->out, "%s  ", named->id);
        shown_line((struct str){named->created, strlen(named->created)}, CREATED_SHOWN, l->out);
        buf_add_text(l->out, owned ? "  in use  " : "  idle    ");
        buf_add_text(l->out, named->overlay ? "overlay  " : "host     ");
        shown_line((struct str){named->workspace, strlen(named->workspace)}, FOLDER_SHOWN, l->out);
        buf_add_char(l->out, '\n');
        return;
    }
    jo_open(&l->j, '{');
    jo_ktext(&l->j, "id", named->id);
    jo_ktext(&l->j, "workspace", named->workspace);
    if (!named->damaged)
        jo_ktext(&l->j, "mode", named->overlay ? "overlay" : "host");
    jo_ktext(&l->j, "created", named->created);
    jo_kbool(&l->j, "in_use", owned);
    write_layer_json(l, named);
    if (named->damaged)
        jo_kbool(&l->j, "damaged", true);
    jo_close(&l->j, '}');
}

/* What is not said is configured. */
static int choose_mode(const struct options *o, bool *ret_overlay, struct err *err)
{
    struct config *config = config_new();
    int r = state_load_config(config, o->config, err);
    const char *mode = r < 0 ? NULL : config_text(config, "workspace.mode");
    *ret_overlay = o->overlay || (mode && strcmp(mode, "overlay") == 0);
    config_free(config);
    return r;
}

static int create(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    char id[NAMED_ID_MAX];
    bool overlay;
    if (o->n_words > 1)
        return err_set(err, ERR_INVALID_ARGUMENTS, "`session create` takes only options");
    if (choose_mode(o, &overlay, err) < 0 ||
        named_create(state_fd, o->workspace ? o->workspace : ".", overlay, id, err) < 0)
        return -1;
    return buf_addf(out, "%s\n", id);
}

static int list_named_sessions(int state_fd, const struct options *o, struct buf *out,
                               struct err *err)
{
    struct listing l = {o->json, out, {.out = out}, o};
    if (o->json)
        jo_open(&l.j, '[');
    int r = named_each(state_fd, list_named_session, &l, err);
    if (o->json) {
        jo_close(&l.j, ']');
        buf_add_char(out, '\n');
    }
    return r;
}

static int load_words_session(int state_fd, const struct options *o, struct named *ret,
                              struct err *err)
{
    if (o->n_words < 2)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "which session? `sandgate session list` shows them");
    return named_load(state_fd, o->words[1], ret, err);
}

static int show_named_session(int state_fd, const struct options *o, struct buf *out,
                              struct err *err)
{
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    struct listing l = {true, out, {.out = out}, o};
    if (load_words_session(state_fd, o, &named, err) < 0)
        return -1;
    list_named_session(&l, &named, named_is_owned(&named, err));
    return buf_add_char(out, '\n');
}

static int diff_named_session(int state_fd, const struct options *o, struct buf *out,
                              struct err *err)
{
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    return load_words_session(state_fd, o, &named, err) < 0 ? -1
                                                            : session_diff(&named, o, out, err);
}

static int commit_named_session(int state_fd, const struct options *o, struct buf *out,
                                struct err *err)
{
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    return load_words_session(state_fd, o, &named, err) < 0 ? -1
                                                            : session_commit(&named, o, out, err);
}

/* On a terminal, where something would be lost. A session that cannot be looked at any more can still be discarded. */
static int confirm_discard(int state_fd, const struct options *o, struct err *err)
{
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    struct err why;
    int64_t count = 0;
    int64_t bytes = 0;
    if (o->yes || !isatty(STDIN_FILENO) || named_load(state_fd, o->words[1], &named, &why) < 0 ||
        !named.overlay)
        return 0;
    bool known = session_count_changes(&named, o, &count, &bytes, &why) == 0;
    if (known && count == 0)
        return 0;
    FREE_AT_END char *question =
        known ? mem_format("%lld changes of session %s will be lost. Discard them? [y/n] ",
                           (long long)count, named.id)
              : mem_format("the changes of session %s, which cannot be counted, will be lost. "
                           "Discard them? [y/n] ",
                           named.id);
    return confirm(question) != 0 ? 0 : err_set(err, ERR_CANCELLED, "the session stays as it is");
}

/* A commit that was cut off has changed a part of the project: it is not left half done. */
static int recover_before_discard(int state_fd, const struct options *o, struct err *err)
{
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    struct err why;
    if (named_load(state_fd, o->words[1], &named, &why) < 0 || !named.overlay)
        return 0;
    int r = named_lock(&named, true, err);
    return r <= 0 ? r : session_recover(&named, o, err);
}

static int discard_named_session(int state_fd, const struct options *o, struct buf *out,
                                 struct err *err)
{
    (void)out;
    if (o->n_words < 2)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "which session? `sandgate session list` shows them");
    if (confirm_discard(state_fd, o, err) < 0 || recover_before_discard(state_fd, o, err) < 0)
        return -1;
    return named_remove(state_fd, o->words[1], err);
}

static const struct verb session_verbs[] = {
    {"create", create, "make a session of --workspace and print its id"},
    {"list", list_named_sessions, "all sessions"},
    {"show", show_named_session, "one session, as JSON"},
    {"diff", diff_named_session,
     "what an overlay session changed, all or the paths that are named, as a patch"},
    {"commit", commit_named_session,
     "take its changes over into the project, all or those of the paths and globs that are named"},
    {"discard", discard_named_session,
     "forget a session and the changes in its layer; the files of its workspace stay"},
    {0},
};

static const struct verbs verbs = {
    .all = session_verbs,
    .usage = "usage: sandgate session VERB [ID] [options]\n\n",
    .options = OPTIONS_FOLDER | OPTIONS_LISTING | OPTIONS_SESSION,
    .words_max = WORDS_MAX,
    .out_max = 256u << 20,
};

int front_session(int argc, char *const *argv)
{
    return verbs_run(&verbs, argc, argv);
}

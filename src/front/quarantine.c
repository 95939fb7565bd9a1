/* `sandgate quarantine list|restore|remove`: what was taken out of workspaces because programs of the user would obey it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/shown.h"
#include "core/path.h"
#include "front/front.h"
#include "front/verbs.h"
#include "session/quarantine_notes.h"

#define TEXT_SHOWN 16384

struct listing {
    bool json;
    struct buf *out;
    struct json_out j;
};

static void add_note_text(struct buf *out, const char *text)
{
    shown_line((struct str){text, strlen(text)}, TEXT_SHOWN, out);
}

/* Where its content lies now; empty where that is gone. */
static void find_content(const struct quarantine_note *note, char out[PATH_TEXT_MAX])
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", note->content);
    ssize_t n = note->content < 0 ? 0 : readlink(self, out, PATH_TEXT_MAX - 1);
    out[n < 0 ? 0 : n] = '\0';
}

static void list_as_line(const struct quarantine_note *note, const char *content, struct buf *out)
{
    buf_addf(out, "%s  ", note->id);
    add_note_text(out, note->time ? note->time : "-");
    buf_add_text(out, "  ");
    add_note_text(out, note->folder ? note->folder : content);
    if (note->path) {
        buf_add_char(out, '/');
        add_note_text(out, note->path);
    } else {
        buf_add_text(out, "  (not known where it was)");
    }
    buf_add_char(out, '\n');
}

static void list_quarantine_entry(void *arg, const struct quarantine_note *note)
{
    struct listing *l = arg;
    char content[PATH_TEXT_MAX];
    find_content(note, content);
    if (!l->json) {
        list_as_line(note, content, l->out);
        return;
    }
    jo_open(&l->j, '{');
    jo_ktext(&l->j, "id", note->id);
    if (note->folder) {
        jo_ktext(&l->j, "time", note->time);
        jo_ktext(&l->j, "workspace", note->folder);
        jo_ktext(&l->j, "path", note->path);
    }
    jo_ktext(&l->j, "content", content);
    jo_close(&l->j, '}');
}

static int list_quarantine(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    struct listing l = {o->json, out, {.out = out}};
    if (o->n_words > 1)
        return err_set(err, ERR_INVALID_ARGUMENTS, "`quarantine list` takes no id");
    if (o->json)
        jo_open(&l.j, '[');
    int r = quarantine_note_each(state_fd, list_quarantine_entry, &l, err);
    if (o->json) {
        jo_close(&l.j, ']');
        buf_add_char(out, '\n');
    }
    return r;
}

static int find_quarantine_entry(int state_fd, const struct options *o, struct quarantine_note *ret,
                                 struct err *err)
{
    if (o->n_words < 2)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "which entry? `sandgate quarantine list` shows their ids");
    return quarantine_note_lock(state_fd, o->words[1], ret, err);
}

static void answer_with_note(const char *word, const struct quarantine_note *note, bool json,
                             struct buf *out)
{
    struct listing l = {json, out, {.out = out}};
    if (!json)
        buf_addf(out, "%s: ", word);
    list_quarantine_entry(&l, note);
    if (json)
        buf_add_char(out, '\n');
}

static int restore(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    CLEANUP(quarantine_note_done) struct quarantine_note note = QUARANTINE_NOTE_NONE;
    struct err why;
    if (find_quarantine_entry(state_fd, o, &note, err) < 0 || quarantine_restore(&note, err) < 0)
        return -1;
    answer_with_note("restored", &note, o->json, out);
    /* It is back: what is left in quarantine is a copy. */
    if (quarantine_note_remove(&note, &why) < 0)
        log_warning("%s", why.message);
    return 0;
}

static int remove_quarantine_entry(int state_fd, const struct options *o, struct buf *out,
                                   struct err *err)
{
    CLEANUP(quarantine_note_done) struct quarantine_note note = QUARANTINE_NOTE_NONE;
    if (find_quarantine_entry(state_fd, o, &note, err) < 0 ||
        quarantine_note_remove(&note, err) < 0)
        return -1;
    answer_with_note("removed", &note, o->json, out);
    return 0;
}

static const struct verb quarantine_verbs[] = {
    {"list", list_quarantine, "all entries: id, time, where each was"},
    {"restore", restore, "put an entry back to where it was, if nothing is there"},
    {"remove", remove_quarantine_entry, "remove an entry for good"},
    {0},
};

static const struct verbs verbs = {
    .all = quarantine_verbs,
    .usage = "usage: sandgate quarantine list [options]\n"
             "       sandgate quarantine restore|remove ID [options]\n\n"
             "When a command has ended, files it made that programs of the user would obey (hooks, "
             "settings of editors\nand agents, git directories that run programs) are moved "
             "here. Look at one before you restore it.\n\n",
    .options = OPTIONS_LISTING,
    .out_max = 64u << 20,
};

int front_quarantine(int argc, char *const *argv)
{
    return verbs_run(&verbs, argc, argv);
}

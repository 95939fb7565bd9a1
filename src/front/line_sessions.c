#include "front/line_sessions.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "front/forward.h"
#include "front/word_list.h"
#include "gate/state.h"

/* Each has a cell. One that nothing runs in makes room for another. */
#define OPEN_MAX 16

struct line_session {
    struct line_session *next;
    struct named named;
    struct session *session;
    struct forward *forward;
    uint64_t used_ns;
};

struct line_sessions {
    struct gate *gate;
    const char *list;
    const struct named *own;
    struct line_session *first;
    size_t n;
};

struct line_sessions *line_sessions_new(struct gate *gate, const char *list,
                                        const struct named *own)
{
    struct line_sessions *all = mem_zero(sizeof *all);
    *all = (struct line_sessions){.gate = gate, .list = list, .own = own};
    return all;
}

static void close_line_session(struct line_sessions *all, struct line_session **at)
{
    struct line_session *s = *at;
    *at = s->next;
    all->n--;
    forward_close(s->forward);
    gate_drop_session(all->gate, s->session);
    named_done(&s->named);
    free(s);
}

static bool is_idle(const struct line_session *s)
{
    return session_workplace(s->session)->calls == 0 && forward_is_idle(s->forward);
}

/* The one that nobody has used for longest. */
static int make_room(struct line_sessions *all, struct err *err)
{
    struct line_session **oldest = NULL;
    for (struct line_session **at = &all->first; *at; at = &(*at)->next) {
        if (is_idle(*at) && (!oldest || (*at)->used_ns < (*oldest)->used_ns))
            oldest = at;
    }
    if (!oldest)
        return err_set(err, ERR_SESSION_BUSY,
                       "%d sessions are open and in use, as many as one gate has; try again when "
                       "their calls have ended",
                       OPEN_MAX);
    close_line_session(all, oldest);
    return 0;
}

static int take_lock(struct named *named, struct err *err)
{
    int r = named_lock(named, false, err);
    if (r == 0)
        return err_set(err, ERR_SESSION_BUSY,
                       "session %s is in use by another process: name it with --session, then its "
                       "owner serves the calls, or try again when it has ended",
                       named->id);
    return r < 0 ? -1 : 0;
}

static struct line_session *open_line_session(struct line_sessions *all, const char *id,
                                              struct err *err)
{
    struct line_session *s = mem_zero(sizeof *s);
    if (named_load(all->gate->state_fd, id, &s->named, err) == 0 &&
        named_check_workspace(&s->named, err) == 0 && take_lock(&s->named, err) == 0 &&
        gate_add_session(all->gate, &s->named, &s->session, err) == 0) {
        if (forward_listen(&s->forward, all->gate, s->session, &s->named, err) == 0)
            return s;
        gate_drop_session(all->gate, s->session);
    }
    named_done(&s->named);
    free(s);
    return NULL;
}

static int check_listed(const struct line_sessions *all, const char *id, struct err *err)
{
    if (all->gate->options.state)
        return err_field(err, "session",
                         "`session` cannot be used with --state: the calls of a run are done and "
                         "logged in its own folders");
    if (word_list_has(all->list, id) || word_list_has(all->list, "*"))
        return 0;
    err_field(err, "session",
              "`session` is `%.40s`, which is none of the sessions that --sessions names: %.200s",
              id, all->list ? all->list : "none");
    return err_reason(err, "session_not_listed");
}

struct session *line_sessions_use(struct line_sessions *all, const char *id, struct err *err)
{
    if (all->own && strcmp(all->own->id, id) == 0)
        return all->gate->session;
    if (check_listed(all, id, err) < 0)
        return NULL;
    struct line_session *s = all->first;
    while (s && strcmp(s->named.id, id) != 0)
        s = s->next;
    if (!s) {
        if (all->n >= OPEN_MAX && make_room(all, err) < 0)
            return NULL;
        s = open_line_session(all, id, err);
        if (!s)
            return NULL;
        s->next = all->first;
        all->first = s;
        all->n++;
    }
    s->used_ns = clock_mono_ns();
    return s->session;
}

void line_sessions_flush(struct line_sessions *all)
{
    for (struct line_session *s = all->first; s; s = s->next)
        forward_flush(s->forward);
}

bool line_sessions_wind_down(struct line_sessions *all)
{
    bool done = true;
    for (struct line_session *s = all->first; s; s = s->next)
        done &= forward_wind_down(s->forward);
    return done;
}

void line_sessions_give_up(struct line_sessions *all)
{
    for (struct line_session *s = all->first; s; s = s->next)
        forward_give_up(s->forward);
}

void line_sessions_free(struct line_sessions *all)
{
    while (all->first)
        close_line_session(all, &all->first);
    free(all);
}

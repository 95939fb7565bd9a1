/* Clients of a gate: calls out, answers in. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "approval.h"
#include "event.h"
#include "pending.h"
#include "process.h"
#include "wire.h"
#include "sandgate.h"

#define CHUNK ((size_t)64 << 10)
/* How long a gate that was told to end may take. */
#define END_MS 10000
/* A process ends a moment after its descriptors are closed. */
#define LAST_WORDS_MS 1000

struct sandgate {
    struct sandgate_process process;
    size_t max_bytes;
    uint64_t last_id;
    struct sandgate_text out;
    struct sandgate_text in;
    size_t looked;                 /* bytes of `in` known to have no newline */
    struct sandgate_list waiting;  /* by rising id */
    struct sandgate_list answered; /* as they came */
    struct sandgate_list
        nameless; /* answers without an id; theirs is the last id sent before they came */
    struct sandgate_pending *called; /* the call that sandgate_call() waits for */
    size_t answered_bytes;
    sandgate_output_callback *on_output;
    void *output_arg;
    struct sandgate_approvals approvals;
    int broken; /* why nothing more comes, a negative errno value */
    char message[1024];
};

static int __attribute__((format(printf, 3, 4)))
say(struct sandgate *c, int r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->message, sizeof c->message, fmt, ap);
    va_end(ap);
    return r;
}

static int say_broken(struct sandgate *c, int r, const char *what)
{
    c->broken = r;
    return say(c, r, "%s", what);
}

static int no_memory(struct sandgate *c)
{
    return say(c, -ENOMEM, "out of memory");
}

/* The socket is at its end. */
static int say_ended(struct sandgate *c)
{
    c->broken = -ECONNRESET;
    sandgate_process_wait(&c->process, sandgate_deadline(LAST_WORDS_MS));
    sandgate_process_describe(&c->process, c->message, sizeof c->message);
    return c->broken;
}

static void deliver(struct sandgate *c, struct sandgate_pending *p, char *json, size_t n)
{
    sandgate_list_remove(&c->waiting, p);
    p->json = json;
    p->n = n;
    if (p->forgotten) {
        sandgate_pending_free(p);
    } else if (p != c->called) {
        c->answered_bytes += n;
        sandgate_list_add(&c->answered, p);
    }
}

/* An answer without an id belongs to a line that the gate could not read: too long for it, a key twice
 * in the arguments. Whose it is comes out when the other calls sent before it are answered. Such lines
 * are refused as they are read, so the answers come in the order of the calls. */
static int deliver_nameless(struct sandgate *c)
{
    const struct sandgate_pending *last;
    for (size_t n = 1; (last = sandgate_list_at(&c->nameless, n - 1)); n++) {
        size_t could_be = sandgate_list_count(&c->waiting, last->id);
        if (could_be < n)
            return say_broken(c, -EPROTO, "the gate gave more answers than it had calls");
        if (could_be > n)
            continue;
        for (; n; n--) {
            struct sandgate_pending *answer = c->nameless.first;
            sandgate_list_remove(&c->nameless, answer);
            c->answered_bytes -= answer->n;
            deliver(c, c->waiting.first, answer->json, answer->n);
            free(answer);
        }
    }
    return 0;
}

static int keep_nameless(struct sandgate *c, char *json, size_t n)
{
    struct sandgate_pending *answer = sandgate_list_new(&c->nameless, c->last_id);
    if (!answer) {
        free(json);
        return say_broken(c, -ENOMEM, "out of memory");
    }
    answer->json = json;
    answer->n = n;
    c->answered_bytes += n;
    return 0;
}

static int take_event(struct sandgate *c, const char *line, size_t length)
{
    struct sandgate_output output;
    if (!c->on_output && !c->approvals.on_approval)
        return 0;
    char *text = malloc(length);
    if (!text || (c->approvals.on_approval &&
                  sandgate_approvals_take(&c->approvals, line, length, text) < 0)) {
        free(text);
        return say_broken(c, -ENOMEM, "out of memory");
    }
    bool is_output = sandgate_event_read_output(line, length, text, &output);
    const struct sandgate_pending *p = is_output ? sandgate_list_find(&c->waiting, output.id)
                                                 : NULL;
    if (p && !p->forgotten && c->on_output)
        c->on_output(c->output_arg, &output);
    free(text);
    return 0;
}

static int take_line(struct sandgate *c, const char *line, size_t length)
{
    uint64_t id;
    const char *result;
    size_t n;
    if (sandgate_event_begins(line, length))
        return take_event(c, line, length);
    if (sandgate_wire_read_answer(line, length, &id, &result, &n) < 0) {
        c->broken = -EPROTO;
        say(c, c->broken, "the gate said what is no answer: %.*s", length < 200 ? (int)length : 200,
            line);
        sandgate_make_printable(c->message);
        return c->broken;
    }
    struct sandgate_pending *p = sandgate_list_find(&c->waiting, id);
    if (id && !p)
        return say_broken(c, -EPROTO, "the gate answered a call that it was not given");
    char *json = malloc(n + 1);
    if (!json)
        return say_broken(c, -ENOMEM, "out of memory");
    memcpy(json, result, n);
    json[n] = '\0';
    if (id)
        deliver(c, p, json, n);
    else if (keep_nameless(c, json, n) < 0)
        return c->broken;
    return deliver_nameless(c);
}

static int take_lines(struct sandgate *c)
{
    size_t at = 0;
    int r = 0;
    while (r == 0) {
        char *newline = memchr(c->in.data + c->looked, '\n', c->in.n - c->looked);
        if (!newline)
            break;
        size_t end = (size_t)(newline - c->in.data);
        r = take_line(c, c->in.data + at, end - at);
        at = c->looked = end + 1;
    }
    sandgate_text_drop(&c->in, at);
    c->looked = c->in.n;
    bool event = c->in.n <= SANDGATE_EVENT_MAX && sandgate_event_begins(c->in.data, c->in.n);
    if (r == 0 && c->in.n > c->max_bytes && !event)
        return say(c, c->broken = -EMSGSIZE, "an answer is longer than %zu bytes", c->max_bytes);
    return r;
}

/* Takes in what is there. */
static int take_in(struct sandgate *c)
{
    for (;;) {
        if (sandgate_text_reserve(&c->in, c->in.n > CHUNK ? c->in.n : CHUNK) < 0)
            return say_broken(c, -ENOMEM, "out of memory");
        ssize_t n = recv(c->process.fd, c->in.data + c->in.n, c->in.room - c->in.n, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return say_ended(c);
        c->in.n += (size_t)n;
        int r = take_lines(c);
        if (r < 0)
            return r;
    }
}

/* Sends what the gate takes. When it takes nothing any more, its answers may still be there to read. */
static void give_out(struct sandgate *c)
{
    size_t sent = 0;
    while (sent < c->out.n) {
        ssize_t n = send(c->process.fd, c->out.data + sent, c->out.n - sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        sent = n < 0 ? c->out.n : sent + (size_t)n;
    }
    sandgate_text_drop(&c->out, sent);
}

/* Moves what can be moved in both directions: the gate stops reading while its answers are not taken. */
static int move(struct sandgate *c)
{
    if (c->broken)
        return c->broken;
    give_out(c);
    sandgate_process_hear(&c->process);
    return take_in(c);
}

/* Waits until something can be moved, and moves it. */
static int wait_and_move(struct sandgate *c, int64_t deadline)
{
    if (c->broken)
        return c->broken;
    struct pollfd fds[] = {
        {.fd = c->process.fd, .events = sandgate_events(c)},
        {.fd = c->process.words_fd, .events = POLLIN},
    };
    int n = poll(fds, 2, sandgate_left(deadline));
    if (n == 0)
        return say(c, -ETIMEDOUT, "no answer in time");
    if (n < 0)
        return errno == EINTR ? 0 : say(c, -errno, "poll: %s", strerror(errno));
    return move(c);
}

int sandgate_open(struct sandgate **ret, const struct sandgate_options *options,
                  struct sandgate_error *ret_error)
{
    struct sandgate_options o;
    int r = sandgate_options_read(options, &o, ret_error);
    if (r < 0)
        return r;
    const char **argv = sandgate_options_words(&o);
    struct sandgate *c = calloc(1, sizeof *c);
    if (argv && c) {
        c->max_bytes = o.max_bytes;
        c->approvals = (struct sandgate_approvals){
            .on_approval = o.on_approval,
            .on_over = o.on_approval_over,
            .on_refused = o.on_approval_refused,
            .arg = o.approval_arg,
        };
        r = sandgate_process_start(&c->process, &o, argv, ret_error);
    } else {
        r = -ENOMEM;
        if (ret_error)
            snprintf(ret_error->message, sizeof ret_error->message, "out of memory");
    }
    free(argv);
    if (r < 0)
        free(c);
    else
        *ret = c;
    return r;
}

/* The call's line is queued, not yet sent. NULL and a negative errno value when it cannot be. */
static struct sandgate_pending *queue_call(struct sandgate *c, const char *tool,
                                           const char *arguments, int *ret_failure)
{
    bool full = c->out.n > c->max_bytes || c->answered_bytes > c->max_bytes;
    if (c->broken) {
        *ret_failure = c->broken;
        return NULL;
    }
    if (full) {
        *ret_failure = say(c, -ENOBUFS, "more than %zu bytes wait to be %s; receive answers first",
                           c->max_bytes, c->out.n > c->max_bytes ? "sent" : "received");
        return NULL;
    }
    struct sandgate_pending *p = sandgate_list_new(&c->waiting, c->last_id + 1);
    if (p && sandgate_wire_add_call(&c->out, p->id, tool, arguments) == 0) {
        c->last_id = p->id;
        return p;
    }
    if (p)
        sandgate_list_remove(&c->waiting, p);
    sandgate_pending_free(p);
    *ret_failure = no_memory(c);
    return NULL;
}

int sandgate_send(struct sandgate *c, const char *tool, const char *arguments_json,
                  uint64_t *ret_id)
{
    int r = 0;
    const struct sandgate_pending *p = queue_call(c, tool, arguments_json, &r);
    if (!p)
        return r;
    uint64_t id = p->id;
    give_out(c);
    /* Full: then the gate may be waiting for us to read. */
    if (c->out.n && (r = take_in(c)) < 0)
        return r;
    if (ret_id)
        *ret_id = id;
    return 0;
}

/* Hands the text over, if anyone wants it. */
static void give_text(struct sandgate_pending *p, char **ret_json)
{
    if (ret_json) {
        *ret_json = p->json;
        p->json = NULL;
    }
    sandgate_pending_free(p);
}

int sandgate_call(struct sandgate *c, const char *tool, const char *arguments_json, int timeout_ms,
                  char **ret_json)
{
    int64_t deadline = sandgate_deadline(timeout_ms);
    int r = 0;
    struct sandgate_pending *p = queue_call(c, tool, arguments_json, &r);
    if (!p)
        return r;
    c->called = p;
    give_out(c);
    while (r == 0 && !p->json)
        r = wait_and_move(c, deadline);
    c->called = NULL;
    if (p->json) {
        give_text(p, ret_json);
        return 0;
    }
    p->forgotten = true;
    if (!c->broken && sandgate_wire_add_cancel(&c->out, p->id) == 0)
        give_out(c);
    return r;
}

int sandgate_receive(struct sandgate *c, int timeout_ms, uint64_t *ret_id, char **ret_json)
{
    int64_t deadline = sandgate_deadline(timeout_ms);
    int r = c->answered.first ? 0 : move(c);
    while (r == 0 && !c->answered.first) {
        bool any = false;
        for (struct sandgate_pending *p = c->waiting.first; p && !any; p = p->next)
            any = !p->forgotten;
        if (!any)
            return say(c, -ENOMSG, "no call is in flight");
        r = wait_and_move(c, deadline);
    }
    struct sandgate_pending *p = c->answered.first;
    if (!p)
        return r;
    sandgate_list_remove(&c->answered, p);
    c->answered_bytes -= p->n;
    if (ret_id)
        *ret_id = p->id;
    give_text(p, ret_json);
    return 0;
}

void sandgate_on_output(struct sandgate *c, sandgate_output_callback *callback, void *arg)
{
    c->on_output = callback;
    c->output_arg = arg;
}

int sandgate_cancel(struct sandgate *c, uint64_t id)
{
    const struct sandgate_pending *p = sandgate_list_find(&c->waiting, id);
    if (c->broken)
        return c->broken;
    if (!p && sandgate_list_find(&c->answered, id))
        return 0;
    if (!p || p->forgotten)
        return say(c, -ENOENT, "there is no such call");
    if (sandgate_wire_add_cancel(&c->out, id) < 0)
        return no_memory(c);
    give_out(c);
    return 0;
}

static int answer(struct sandgate *c, const char *request_id, int scope)
{
    if (c->broken)
        return c->broken;
    int r = sandgate_approvals_answer(&c->approvals, &c->out, request_id, scope);
    if (r == -ENOENT)
        return say(c, r, "no call waits for this answer: it was decided, timed out or cancelled");
    if (r == -EINVAL)
        return say(c, r, "there is no such scope");
    if (r < 0)
        return no_memory(c);
    give_out(c);
    return 0;
}

int sandgate_approve(struct sandgate *c, const char *request_id, int scope)
{
    return answer(c, request_id, scope == SANDGATE_APPROVALS_DENY ? -1 : scope);
}

int sandgate_deny(struct sandgate *c, const char *request_id)
{
    return answer(c, request_id, SANDGATE_APPROVALS_DENY);
}

int sandgate_fd(const struct sandgate *c)
{
    return c->process.fd;
}

short sandgate_events(const struct sandgate *c)
{
    return c->out.n ? POLLIN | POLLOUT : POLLIN;
}

long sandgate_pid(const struct sandgate *c)
{
    return c->process.pid;
}

const char *sandgate_message(const struct sandgate *c)
{
    return c->message;
}

/* Takes what still comes and drops it: a gate that cannot get rid of its answers does not end. */
static void drain(struct sandgate *c, int64_t deadline)
{
    c->in.n = 0;
    while (c->broken != -ECONNRESET && sandgate_text_reserve(&c->in, CHUNK) == 0) {
        struct pollfd fd = {.fd = c->process.fd, .events = POLLIN};
        int n = poll(&fd, 1, sandgate_left(deadline));
        if (n == 0 || (n < 0 && errno != EINTR))
            return;
        ssize_t got = n < 0 ? 1 : recv(c->process.fd, c->in.data, c->in.room, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return;
    }
}

int sandgate_close(struct sandgate *c)
{
    if (!c)
        return 0;
    int64_t deadline = sandgate_deadline(END_MS);
    if (c->waiting.first || c->out.n || c->broken)
        sandgate_process_signal(&c->process, SIGTERM);
    shutdown(c->process.fd, SHUT_WR);
    drain(c, deadline);
    int status = sandgate_process_end(&c->process, deadline);
    sandgate_text_done(&c->out);
    sandgate_text_done(&c->in);
    sandgate_list_done(&c->waiting);
    sandgate_list_done(&c->answered);
    sandgate_list_done(&c->nameless);
    sandgate_approvals_done(&c->approvals);
    free(c);
    return status;
}

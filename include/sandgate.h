/* Runs tool calls through Sandgate from a C or C++ program.
 *
 * A client is a gate (`sandgate stdio`) that was started for this program, and the calls it has been
 * given. The caller gives and gets JSON text; nothing here reads its values. The library starts no
 * thread, installs no signal handler, keeps nothing outside of its clients, and a gate that dies
 * raises no SIGPIPE. Several clients may be used at the same time from several threads, each of them
 * by one thread at a time.
 *
 * Functions that return an int return a negative errno value when they fail, and sandgate_message()
 * then says in words what happened. Outputs named `ret_` are set only on success; those that are not
 * of interest may be NULL. Text that comes back in a `char **` belongs to the caller and is released
 * with free().
 *
 * A tool that fails is no failure of a function here: its answer says so, in the shape of the dialect
 * (docs/PROTOCOL.md). The same goes for arguments that are not JSON, so a model's words can be passed
 * on without looking at them.
 *
 * Link with `pkg-config --cflags --libs sandgate`. */
#ifndef SANDGATE_H
#define SANDGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SANDGATE_PUBLIC __attribute__((visibility("default")))

struct sandgate;

/* A call that waits until someone says that it may run. Texts are UTF-8 without NULs and without control characters,
 * but for line ends and tabs in `detail`. Later versions may add fields. */
struct sandgate_approval {
    const char *request_id; /* what it is answered by */
    uint64_t id;            /* the call; 0: another program's, over the same session */
    const char *tool;
    const char *rule;       /* why it is asked */
    const char *summary;    /* what would be done, in one line */
    const char *detail;     /* all the rest of it, a diff for example; may be empty, or long */
    const char *expires_at; /* when it counts as denied: `2026-11-15T23:01:29.226Z` */
    /* The rule that SANDGATE_ALWAYS writes, to be shown before; NULL: none can be made, and only SANDGATE_ONCE works. */
    const char *proposal;
};

/* The end of such a wait, whoever brought it about. Later versions may add fields. */
struct sandgate_approval_over {
    const char *request_id;
    int state;      /* SANDGATE_APPROVED and so on; 0: one that this version does not know */
    const char *by; /* who decided; NULL: nobody, or it is not known */
};

#define SANDGATE_APPROVED 1
#define SANDGATE_DENIED 2
#define SANDGATE_TIMED_OUT 3
#define SANDGATE_CANCELLED 4 /* the call was, or the gate ends */

typedef void sandgate_approval_callback(void *arg, const struct sandgate_approval *approval);
typedef void sandgate_approval_over_callback(void *arg, const struct sandgate_approval_over *over);
typedef void sandgate_approval_refused_callback(void *arg, const char *request_id,
                                                const char *message);

/* How to start a gate. Begin with zeros and set `size` to sizeof(struct sandgate_options): fields
 * that later versions add are then left at their defaults. Everything is borrowed until the function
 * that it is given to returns. NULL and 0 mean the default. */
struct sandgate_options {
    size_t size;
    /* Without a slash it is looked for in PATH. Default: $SANDGATE, then `sandgate`. */
    const char *program;
    const char *workspace; /* folder to work in; default: the working directory */
    const char *dialect;   /* `native` (default) or `toolhost` */
    const char *config;    /* configuration file in place of the usual one */
    const char *session;   /* a session made with `sandgate session create` */
    const char *agent;     /* who calls */
    /* More options of `sandgate stdio`, and the gate's environment as NAME=value in place of this
     * program's. Both end with NULL. */
    const char *const *extra_arguments;
    const char *const *environment;
    /* The longest answer, and about the most that may wait to be sent or received. Default: 256 MiB. */
    size_t max_bytes;
    unsigned flags; /* SANDGATE_SHOW_STDERR */
    /* Makes this program the one that is asked: each call that waits for a yes is told to `on_approval`, which answers
     * with sandgate_approve() or sandgate_deny(), at once or later. NULL: nobody here is asked, and the other three
     * mean nothing. `on_approval_over` is told when a wait has ended, `on_approval_refused` when the gate did not take
     * an answer: the call was decided first, or no rule could be made of it, and then it still waits. These are called
     * as sandgate_on_output() says, and what they are given is valid until they return. They may use
     * sandgate_approve(), sandgate_deny(), sandgate_cancel() and sandgate_message(), nothing else of this client.
     * Whoever answers speaks for a person: keep the model's text away from it.
     *     sandgate_approve(client, approval->request_id, SANDGATE_ONCE);  in `on_approval`, where the person agreed */
    sandgate_approval_callback *on_approval;
    sandgate_approval_over_callback *on_approval_over;
    sandgate_approval_refused_callback *on_approval_refused;
    void *approval_arg;
};

/* The gate's standard error is this program's. By default it is kept, and its last lines become part
 * of the message when the gate ends unasked. */
#define SANDGATE_SHOW_STDERR 1u

/* What went wrong while there is no client to ask. */
struct sandgate_error {
    char message[1024];
};

/* Starts a gate. The program was found and started when this returns, but a gate that does not like
 * its options ends only then: the next call fails with -ECONNRESET and the gate's own words.
 * -ENOENT and the like: the program cannot be started. -EINVAL: the options are not those of this
 * version. `options` and `ret_error` may be NULL; the latter is written only on failure. */
SANDGATE_PUBLIC int sandgate_open(struct sandgate **ret, const struct sandgate_options *options,
                                  struct sandgate_error *ret_error);

/* Makes one call and waits for its answer, an object in the shape of the dialect. `arguments_json` is
 * the text of an object; NULL is none. `timeout_ms` below 0 waits as long as it takes (the gate has a
 * limit of its own, 30 s by default). Answers to other calls that come meanwhile are kept for
 * sandgate_receive().
 * -ETIMEDOUT: the call was cancelled, and whether it had an effect is not known; the client stays
 * usable. Otherwise as sandgate_send() and sandgate_receive(). */
SANDGATE_PUBLIC int sandgate_call(struct sandgate *client, const char *tool,
                                  const char *arguments_json, int timeout_ms, char **ret_json);

/* Makes a call without waiting, neither for its answer nor for room: what the gate does not take at
 * once goes out during later calls to this client. The id is never 0 and never used twice.
 * -ENOBUFS: more than `max_bytes` wait to be sent or received: receive first. -ECONNRESET: the gate
 * has ended. */
SANDGATE_PUBLIC int sandgate_send(struct sandgate *client, const char *tool,
                                  const char *arguments_json, uint64_t *ret_id);

/* Waits for the next answer, in the order in which calls finish. Below 0 waits as long as it takes; 0
 * does not wait.
 * -ETIMEDOUT: none came in time. -ENOMSG: no call is in flight. And, for good, once every answer that
 * had come was taken: -ECONNRESET: the gate has ended. -EPROTO: it said something that is no answer.
 * -EMSGSIZE: an answer is longer than `max_bytes`. */
SANDGATE_PUBLIC int sandgate_receive(struct sandgate *client, int timeout_ms, uint64_t *ret_id,
                                     char **ret_json);

/* A piece of what a command prints while its call runs. Later versions may add fields. */
struct sandgate_output {
    uint64_t id;      /* the call */
    int stream;       /* SANDGATE_STDOUT or SANDGATE_STDERR */
    const char *text; /* UTF-8; what was printed and is not became U+FFFD. A NUL follows it */
    size_t length;    /* of the text, in which there may be NULs too */
    uint64_t skipped; /* bytes of this stream that were left out before this piece */
};

#define SANDGATE_STDOUT 1
#define SANDGATE_STDERR 2

typedef void sandgate_output_callback(void *arg, const struct sandgate_output *output);

/* From now on `callback` is given what commands print, as it comes; NULL: nobody any more. It is called while
 * sandgate_call(), sandgate_receive() or sandgate_send() run, for a call always before its answer is given out, and
 * what it is given is valid until it returns. It may use sandgate_cancel() and sandgate_message(), nothing else of
 * this client. A program that does not use its client, or is slow, loses pieces (more than 4 MiB do not wait in the
 * gate): the answer has the beginning and the end of the output all the same. */
SANDGATE_PUBLIC void sandgate_on_output(struct sandgate *client, sandgate_output_callback *callback,
                                        void *arg);

/* Asks the gate to stop a call. The call is still answered, with `CANCELLED` or, if it was done
 * first, with its result. Does not wait. -ENOENT: no such call, or its answer was received. */
SANDGATE_PUBLIC int sandgate_cancel(struct sandgate *client, uint64_t id);

/* How far a yes reaches: this call; what is like it, until the gate or its session ends; or for good, by a rule that is
 * written to the user's approved.json (`sandgate approvals rules`). */
#define SANDGATE_ONCE 1
#define SANDGATE_SESSION 2
#define SANDGATE_ALWAYS 3

/* Answers the question that `on_approval` was given. Neither waits: the gate's word comes to `on_approval_over` or to
 * `on_approval_refused` while the client is used. A question may be answered again until it is over; a call that
 * nobody answers counts as denied when its time is over.
 * -ENOENT: no such question, or it is over. -EINVAL: no such scope. -ECONNRESET: the gate has ended. */
SANDGATE_PUBLIC int sandgate_approve(struct sandgate *client, const char *request_id, int scope);
SANDGATE_PUBLIC int sandgate_deny(struct sandgate *client, const char *request_id);

/* For programs that wait with poll() or the like: the descriptor, and what to wait for, POLLIN with
 * or without POLLOUT. First call sandgate_receive() with a timeout of 0 until it has nothing more,
 * then ask for the events and wait. The descriptor stays the client's: neither read nor close it. */
SANDGATE_PUBLIC int sandgate_fd(const struct sandgate *client);
SANDGATE_PUBLIC short sandgate_events(const struct sandgate *client);

/* The gate's process id, for logs. */
SANDGATE_PUBLIC long sandgate_pid(const struct sandgate *client);

/* The last failure in words; empty when there was none. Valid until the client is used again. */
SANDGATE_PUBLIC const char *sandgate_message(const struct sandgate *client);

/* Ends the gate, waits for it and frees the client, also when it returns a failure. Calls in flight
 * are cancelled, and answers that were not received are dropped. A gate that has not ended after 10 s
 * is killed. Returns its exit status, or 128 and the signal's number when it was killed; -ECHILD when
 * someone else took it: this program ignores SIGCHLD, or waits for any child. A program can also end with such a
 * status itself: sandgate_message tells which it was, before this call. NULL does nothing. */
SANDGATE_PUBLIC int sandgate_close(struct sandgate *client);

/* What `sandgate tools` prints: the tools of options->dialect as JSON text in a format, `tool_call`
 * (NULL), `openai` or `full`. Of the options only `program`, `dialect`, `environment` and `max_bytes`
 * are looked at. -EIO: it ended with another status than 0; the message has its words. Otherwise as
 * sandgate_open() and sandgate_receive(). */
SANDGATE_PUBLIC int sandgate_tools(const struct sandgate_options *options, const char *format,
                                   int timeout_ms, char **ret_json,
                                   struct sandgate_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cell/probe.h"

#define ANSWER_MAX (64u << 10)
/* Calls wait for it, where nothing runs otherwise. It takes some 10 ms, and far longer on a machine with much else to do. */
#define PROBE_NS ((uint64_t)10 * 1000 * 1000 * 1000)
/* Of what an earlier one found. */
#define GOOD_FOR_NS ((uint64_t)5 * 1000 * 1000 * 1000)

/* 0 or an errno. */
static int start_probe(int out, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    sigset_t usual;
    char name[] = PROBE_ARGV0;
    char *argv[] = {name, NULL};
    char *envp[] = {NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    sigemptyset(&none);
    sigfillset(&usual);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &usual);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int r = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attr, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return r;
}

/* All that it says until its end, or so long; it is ended then. */
static int hear_probe(int out, pid_t pid, struct buf *answer)
{
    const uint64_t end_ns = clock_mono_ns() + PROBE_NS;
    int r = buf_reserve(answer, ANSWER_MAX);
    ssize_t n = 1;
    while (r == 0 && n > 0 && answer->len < ANSWER_MAX) {
        uint64_t now = clock_mono_ns();
        struct pollfd ready = {.fd = out, .events = POLLIN};
        if (now >= end_ns || poll(&ready, 1, (int)((end_ns - now) / 1000000) + 1) < 0)
            break;
        n = ready.revents ? read(out, answer->data + answer->len, ANSWER_MAX - answer->len) : 0;
        answer->len += n > 0 ? (size_t)n : 0;
        r = n < 0 ? -errno : 0;
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return r;
}

/* 0 or -errno. */
static int ask_probe(struct buf *answer)
{
    int out[2];
    pid_t pid;
    if (pipe2(out, O_CLOEXEC) < 0)
        return -errno;
    int r = -start_probe(out[1], &pid);
    close(out[1]);
    if (r == 0)
        r = hear_probe(out[0], pid, answer);
    close(out[0]);
    return r;
}

static int probe_failed(struct findings *ret, int error, struct err *err)
{
    *ret = (struct findings){0};
    for (enum mechanism m = 0; m < MECHANISM_COUNT; m++) {
        ret->of[m].error = error;
        snprintf(ret->of[m].cause, sizeof ret->of[m].cause, "it could not be tried: %s",
                 strerror(error));
    }
    return err_set(err, err_code_for(error, ERR_INTERNAL), "trying what the sandbox needs: %s",
                   strerror(error));
}

int probe_all(struct findings *ret, struct err *err)
{
    BUF_AT_END struct buf answer = BUF_INIT(ANSWER_MAX);
    JSON_AT_END yyjson_doc *doc = NULL;
    int r = ask_probe(&answer);
    if (r == 0 && (json_parse(answer.data, answer.len, ANSWER_MAX, JSON_STRICT, &doc, NULL) < 0 ||
                   !findings_read(yyjson_doc_get_root(doc), ret)))
        r = -EPROTO;
    return r < 0 ? probe_failed(ret, -r, err) : 0;
}

bool probe_cause(enum need need, char *out, size_t size)
{
    static struct findings last;
    static uint64_t last_ns;
    struct err err;
    BUF_AT_END struct buf text = BUF_INIT(sizeof last.of[0]);
    uint64_t now = clock_mono_ns();
    if ((!last_ns || now - last_ns > GOOD_FOR_NS) && probe_all(&last, &err) < 0)
        return false;
    last_ns = now;
    enum mechanism m = findings_missing(&last, NEED_CELL);
    if (m == MECHANISM_COUNT && need != NEED_CELL)
        m = findings_missing(&last, NEED_FULL);
    if (m == MECHANISM_COUNT)
        m = findings_missing(&last, need);
    if (m == MECHANISM_COUNT)
        return false;
    finding_write_cause(&last.of[m], &text);
    snprintf(out, size, "%s", buf_text(&text));
    return true;
}

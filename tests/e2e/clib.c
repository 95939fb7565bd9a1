/* The cases of clib.py, each a run of this program: clib CASE FOLDER [MORE]. Ends with 0 when all holds. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sandgate.h>

#define PATIENCE 30000
#define MANY 1000

static const char *folder;
static const char *more;

static void must_at(int line, bool holds, const char *what, const char *note)
{
    if (holds)
        return;
    fprintf(stderr, "clib.c:%d: does not hold: %s (%s)\n", line, what, note ? note : "");
    _exit(1);
}

#define must(what) must_at(__LINE__, (what), #what, NULL)
#define must_say(what, note) must_at(__LINE__, (what), #what, (note))

static bool has(const char *text, const char *part)
{
    return text && strstr(text, part);
}

static struct sandgate_options options(void)
{
    struct sandgate_options o;
    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    o.workspace = folder;
    return o;
}

static struct sandgate *open_with(const struct sandgate_options *o)
{
    struct sandgate *client = NULL;
    struct sandgate_error error = {""};
    must_say(sandgate_open(&client, o, &error) == 0, error.message);
    return client;
}

static struct sandgate *open_client(void)
{
    struct sandgate_options o = options();
    return open_with(&o);
}

/* A call whose answer has all of these words. */
static void expect(struct sandgate *client, const char *tool, const char *arguments,
                   const char *word)
{
    char *json = NULL;
    int r = sandgate_call(client, tool, arguments, PATIENCE, &json);
    must_say(r == 0, sandgate_message(client));
    must_say(has(json, word), json);
    must_say(json[0] == '{' && json[strlen(json) - 1] == '}', json);
    free(json);
}

static void expect_answer(struct sandgate *client, uint64_t expected, const char *word)
{
    uint64_t id = 0;
    char *json = NULL;
    int r = sandgate_receive(client, PATIENCE, &id, &json);
    must_say(r == 0, sandgate_message(client));
    must(id == expected);
    must_say(has(json, word), json);
    free(json);
}

static long long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* What a command printed, as it came. */
struct heard {
    struct sandgate *client; /* cancelled at the first piece; NULL: let go on */
    uint64_t id;
    char text[2][100000];
    size_t bytes[2];
    uint64_t skipped;
    int pieces;
};

static void hear(void *arg, const struct sandgate_output *output)
{
    struct heard *heard = arg;
    must(output->stream == SANDGATE_STDOUT || output->stream == SANDGATE_STDERR);
    int stream = output->stream == SANDGATE_STDERR;
    must(output->length < sizeof *heard->text - heard->bytes[stream]);
    must(output->text[output->length] == '\0');
    memcpy(heard->text[stream] + heard->bytes[stream], output->text, output->length + 1);
    heard->bytes[stream] += output->length;
    heard->id = output->id;
    heard->skipped += output->skipped;
    if (heard->pieces++ == 0 && heard->client)
        must(sandgate_cancel(heard->client, output->id) == 0);
}

/* --- with a real gate */

static void calls(void)
{
    struct sandgate *client = open_client();
    must(sandgate_message(client)[0] == '\0');
    expect(client, "read_file", "{\"path\":\"a.txt\"}", "\"content\":\"alpha\\n\"");
    expect(client, "read_file", "{\n  \"path\":\r\n\t\"a.txt\"\n}\n", "\"content\":\"alpha\\n\"");
    expect(client, "time_now", NULL, "\"ok\":true");
    expect(client, "time_now", "{}", "\"ok\":true");
    expect(client, "read_file", "{\"path\":\"none\"}", "NOT_FOUND");
    expect(client, "no\"such\n\\tool", NULL, "UNKNOWN_TOOL");
    expect(client, "", NULL, "UNKNOWN_TOOL");
    must(sandgate_call(client, "time_now", NULL, PATIENCE, NULL) == 0);
    must(sandgate_message(client)[0] == '\0');
    must(sandgate_close(client) == 0);
    must(sandgate_close(NULL) == 0);
}

/* Each of these is answered, though not all of them have an id in the gate's answer. */
static void bad_arguments(void)
{
    static const char *const bad[] = {
        "",
        "nonsense",
        "[]",
        "null",
        "{\"path\":",
        "{}},\"x\":{\"y\":{}",
        "{\"path\":\"a\nb\"}",
        "{\"path\":\"a.txt\",\"path\":\"b\"}",
        "{\"path\":1e999}",
        "{\"path\":\"\xff\"}",
        "\xff",
        "{}\n{\"cancel\":\"1\"}",
        "{}},\"cancel\":\"1\",\"x\":{\"y\":{}",
    };
    size_t count = sizeof bad / sizeof *bad;
    struct sandgate *client = open_client();
    for (size_t i = 0; i < count; i++)
        expect(client, "read_file", bad[i], "INVALID_ARGUMENTS");
    /* All at once, among good ones. */
    bool answered[64] = {false};
    for (size_t i = 0; i < 2 * count; i++) {
        uint64_t id;
        must(sandgate_send(client, "read_file", i % 2 ? "{\"path\":\"a.txt\"}" : bad[i / 2], &id) ==
             0);
        must(id == i + 1 + count);
    }
    for (size_t i = 0; i < 2 * count; i++) {
        uint64_t id;
        char *json;
        must_say(sandgate_receive(client, PATIENCE, &id, &json) == 0, sandgate_message(client));
        must(id > count && id <= 3 * count && !answered[id - count - 1]);
        answered[id - count - 1] = true;
        must_say(has(json, (id - count - 1) % 2 ? "\"ok\":true" : "INVALID_ARGUMENTS"), json);
        free(json);
    }
    must(sandgate_receive(client, 0, NULL, NULL) == -ENOMSG);
    must(sandgate_close(client) == 0);
}

static void read_many(struct sandgate *client, unsigned count)
{
    bool *answered = calloc(count + 1, 1);
    for (unsigned i = 1; i <= count; i++) {
        uint64_t id = 0;
        must(sandgate_send(client, "read_file", "{\"path\":\"a.txt\"}", &id) == 0);
        must(id == i);
    }
    for (unsigned i = 1; i <= count; i++) {
        uint64_t id = 0;
        char *json = NULL;
        must_say(sandgate_receive(client, PATIENCE, &id, &json) == 0, sandgate_message(client));
        must(id >= 1 && id <= count && !answered[id]);
        must_say(has(json, "alpha"), json);
        answered[id] = true;
        free(json);
    }
    must(sandgate_receive(client, PATIENCE, NULL, NULL) == -ENOMSG);
    free(answered);
}

static void in_flight(void)
{
    struct sandgate *client = open_client();
    read_many(client, MANY);
    must(sandgate_close(client) == 0);
}

/* More goes out than the socket holds, while more comes in than it holds. */
static void both_ways_full(void)
{
    enum { BYTES = 1 << 20, COUNT = 40 };
    struct sandgate *client = open_client();
    char *arguments = malloc(BYTES + 100);
    size_t n = (size_t)snprintf(arguments, 100, "{\"path\":\"w.txt\",\"content\":\"");
    memset(arguments + n, 'w', BYTES);
    memcpy(arguments + n + BYTES, "\"}", 3);
    for (int i = 0; i < COUNT; i++) {
        must(sandgate_send(client, "read_file", "{\"path\":\"megabyte\",\"max_bytes\":1048576}",
                           NULL) == 0);
        must(sandgate_send(client, "write_file", arguments, NULL) == 0);
    }
    size_t total = 0;
    for (int i = 0; i < 2 * COUNT; i++) {
        char *json = NULL;
        must_say(sandgate_receive(client, PATIENCE, NULL, &json) == 0, sandgate_message(client));
        must_say(has(json, "\"ok\":true"), json);
        total += strlen(json);
        free(json);
    }
    must(total > (size_t)COUNT * BYTES);
    free(arguments);
    must(sandgate_close(client) == 0);
}

/* Another call in between, whose answer is not the one that was waited for. */
static void call_among_sends(void)
{
    struct sandgate *client = open_client();
    uint64_t first;
    uint64_t second;
    must(sandgate_send(client, "stat", "{\"path\":\"a.txt\"}", &first) == 0);
    must(sandgate_send(client, "stat", "{\"path\":\"none\"}", &second) == 0);
    expect(client, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    uint64_t id;
    char *json;
    for (int i = 0; i < 2; i++) {
        must(sandgate_receive(client, PATIENCE, &id, &json) == 0);
        must_say(has(json, id == first ? "\"ok\":true" : "NOT_FOUND"), json);
        must(id == first || id == second);
        free(json);
    }
    must(sandgate_close(client) == 0);
}

static void cancel(void)
{
    struct sandgate *client = open_client();
    uint64_t id;
    must(sandgate_send(client, "read_file", "{\"path\":\"slow\",\"hash\":true}", &id) == 0);
    must(sandgate_receive(client, 50, NULL, NULL) == -ETIMEDOUT);
    must(has(sandgate_message(client), "in time"));
    must(sandgate_cancel(client, id + 1) == -ENOENT);
    must(sandgate_cancel(client, 0) == -ENOENT);
    must(sandgate_cancel(client, id) == 0);
    expect_answer(client, id, "CANCELLED");
    must(sandgate_cancel(client, id) == -ENOENT);
    expect(client, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    must(sandgate_close(client) == 0);
}

static void timeout(void)
{
    struct sandgate *client = open_client();
    expect(client, "time_now", NULL, "\"ok\":true");
    long long start = now_ms();
    must(sandgate_call(client, "read_file", "{\"path\":\"slow\",\"hash\":true}", 100, NULL) ==
         -ETIMEDOUT);
    must(now_ms() - start >= 99 && now_ms() - start < 5000);
    /* Its late answer is nobody's. */
    must(sandgate_receive(client, 0, NULL, NULL) == -ENOMSG);
    for (int i = 0; i < 20; i++)
        expect(client, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    must(sandgate_receive(client, 0, NULL, NULL) == -ENOMSG);
    must(sandgate_close(client) == 0);
}

static void killed(void)
{
    struct sandgate *client = open_client();
    uint64_t id;
    char *json = NULL;
    must(sandgate_send(client, "time_now", NULL, &id) == 0);
    expect_answer(client, id, "\"ok\":true");
    must(sandgate_send(client, "read_file", "{\"path\":\"slow\",\"hash\":true}", NULL) == 0);
    must(sandgate_receive(client, 50, NULL, NULL) == -ETIMEDOUT);
    must(kill((pid_t)sandgate_pid(client), SIGKILL) == 0);
    must(sandgate_receive(client, PATIENCE, NULL, &json) == -ECONNRESET && !json);
    must_say(has(sandgate_message(client), "killed by signal 9"), sandgate_message(client));
    must(sandgate_send(client, "time_now", NULL, NULL) == -ECONNRESET);
    must(sandgate_call(client, "time_now", NULL, PATIENCE, NULL) == -ECONNRESET);
    must(sandgate_cancel(client, id + 1) == -ECONNRESET);
    must_say(has(sandgate_message(client), "killed by signal 9"), sandgate_message(client));
    must(sandgate_close(client) == 128 + SIGKILL);
}

/* Nothing was read since it died: sending is the first to notice, without a SIGPIPE. */
static void killed_before_sending(void)
{
    struct sandgate *client = open_client();
    expect(client, "time_now", NULL, "\"ok\":true");
    must(kill((pid_t)sandgate_pid(client), SIGKILL) == 0);
    struct pollfd fd = {.fd = sandgate_fd(client), .events = POLLHUP};
    must(poll(&fd, 1, PATIENCE) == 1);
    must(sandgate_call(client, "time_now", NULL, PATIENCE, NULL) == -ECONNRESET);
    must(sandgate_close(client) == 128 + SIGKILL);
}

/* What a gate answered before it ended can still be received. */
static void answers_outlive_the_gate(void)
{
    struct sandgate *client = open_client();
    uint64_t id;
    must(sandgate_send(client, "read_file", "{\"path\":\"a.txt\"}", &id) == 0);
    struct pollfd fd = {.fd = sandgate_fd(client), .events = POLLIN};
    must(poll(&fd, 1, PATIENCE) == 1);
    must(kill((pid_t)sandgate_pid(client), SIGTERM) == 0);
    fd.events = POLLHUP;
    must(poll(&fd, 1, PATIENCE) == 1);
    must(sandgate_send(client, "time_now", NULL, NULL) == 0);
    expect_answer(client, id, "alpha");
    must(sandgate_receive(client, PATIENCE, NULL, NULL) == -ECONNRESET);
    must_say(has(sandgate_message(client), "status 0"), sandgate_message(client));
    must(sandgate_close(client) == 0);
}

static void close_in_flight(void)
{
    struct sandgate *client = open_client();
    expect(client, "time_now", NULL, "\"ok\":true");
    for (int i = 0; i < 8; i++)
        must(sandgate_send(client, "read_file", "{\"path\":\"slow\",\"hash\":true}", NULL) == 0);
    must(sandgate_receive(client, 50, NULL, NULL) == -ETIMEDOUT);
    long long start = now_ms();
    must(sandgate_close(client) == 0);
    must(now_ms() - start < 9000);
}

static void wrong_program(void)
{
    struct sandgate_options o = options();
    struct sandgate *client = NULL;
    struct sandgate_error error = {""};
    char *json = NULL;
    o.program = "/nonexistent/sandgate";
    must(sandgate_open(&client, &o, &error) == -ENOENT && !client);
    must_say(has(error.message, "/nonexistent/sandgate"), error.message);
    must(sandgate_open(&client, &o, NULL) == -ENOENT && !client);
    must(sandgate_tools(&o, NULL, PATIENCE, &json, &error) == -ENOENT && !json);
    o.program = "sandgate-that-is-nowhere-in-the-path";
    int r = sandgate_open(&client, &o, &error);
    /* The second is what execvp says when a folder of the path is closed to us. */
    must((r == -ENOENT || r == -EACCES) && !client);
    o.program = "/etc/passwd";
    must(sandgate_open(&client, &o, &error) == -EACCES && !client);
}

static void wrong_workspace(void)
{
    struct sandgate_options o = options();
    o.workspace = "/nonexistent/folder";
    struct sandgate *client = open_with(&o);
    must(sandgate_call(client, "time_now", NULL, PATIENCE, NULL) == -ECONNRESET);
    must_say(has(sandgate_message(client), "status 2"), sandgate_message(client));
    must_say(has(sandgate_message(client), "/nonexistent/folder"), sandgate_message(client));
    must(sandgate_close(client) == 2);
    static const char *const unknown[] = {"--no-such-option", NULL};
    o = options();
    o.extra_arguments = unknown;
    client = open_with(&o);
    must(sandgate_call(client, "time_now", NULL, PATIENCE, NULL) == -ECONNRESET);
    must_say(has(sandgate_message(client), "no-such-option"), sandgate_message(client));
    must(sandgate_close(client) == 2);
}

static void which_options(void)
{
    struct {
        struct sandgate_options o;
        char later[16];
    } larger;
    struct sandgate_error error;
    struct sandgate *client = NULL;
    memset(&larger, 0, sizeof larger);
    larger.o.workspace = folder;
    must(sandgate_open(&client, &larger.o, &error) == -EINVAL && !client);
    larger.o.size = sizeof larger;
    larger.later[3] = 1;
    must(sandgate_open(&client, &larger.o, &error) == -EINVAL && !client);
    larger.later[3] = 0;
    larger.o.flags = 64;
    must(sandgate_open(&client, &larger.o, &error) == -EINVAL && !client);
    larger.o.flags = SANDGATE_SHOW_STDERR;
    larger.o.agent = "tester";
    client = open_with(&larger.o);
    expect(client, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    must(sandgate_close(client) == 0);
    /* An older program, whose options were shorter. */
    larger.o.size = offsetof(struct sandgate_options, config);
    larger.o.config = "/nonexistent/config";
    client = open_with(&larger.o);
    expect(client, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    must(sandgate_close(client) == 0);
    must(chdir(folder) == 0);
    client = open_with(NULL);
    expect(client, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    must(sandgate_close(client) == 0);
}

static void dialect(void)
{
    struct sandgate_options o = options();
    const char *const extra[] = {"--project", folder, NULL};
    o.workspace = NULL;
    o.dialect = "toolhost";
    o.extra_arguments = extra;
    struct sandgate *client = open_with(&o);
    expect(client, "fs.read", "{\"path\":\"@project/a.txt\"}", "alpha");
    must(sandgate_close(client) == 0);
}

/* MORE is its id. The second client's gate passes calls on to the first one's. */
static void session(void)
{
    struct sandgate_options o = options();
    o.workspace = NULL;
    o.session = more;
    struct sandgate *owner = open_with(&o);
    expect(owner, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    struct sandgate *other = open_with(&o);
    read_many(other, 300);
    must(sandgate_close(other) == 0);
    expect(owner, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    must(sandgate_close(owner) == 0);
}

static void tools(void)
{
    struct sandgate_options o = options();
    struct sandgate_error error = {""};
    static const char *const formats[] = {NULL, "tool_call", "openai", "full"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *json = NULL;
        must_say(sandgate_tools(&o, formats[i], PATIENCE, &json, &error) == 0, error.message);
        must_say(json[0] == '[' && json[strlen(json) - 1] == ']' && has(json, "\"read_file\""),
                 json);
        must_say(has(json, "\"function\"") == (i == 2), json);
        free(json);
    }
    char *json = NULL;
    o.dialect = "toolhost";
    must(sandgate_tools(&o, NULL, PATIENCE, &json, NULL) == 0 && has(json, "fs.read"));
    free(json);
    json = NULL;
    o.dialect = "klingon";
    must(sandgate_tools(&o, NULL, PATIENCE, &json, &error) == -EIO && !json);
    must_say(has(error.message, "klingon") && has(error.message, "status 2"), error.message);
    o.dialect = NULL;
    o.max_bytes = 100;
    must(sandgate_tools(&o, NULL, PATIENCE, &json, &error) == -EMSGSIZE && !json);
    must(sandgate_tools(NULL, NULL, PATIENCE, NULL, NULL) == 0);
}

static void with_poll(void)
{
    struct sandgate *client = open_client();
    int sent = 0;
    int received = 0;
    while (received < MANY) {
        for (; sent < MANY && sent - received < 300; sent++)
            must(sandgate_send(client, "read_file", "{\"path\":\"a.txt\"}", NULL) == 0);
        int r = 0;
        for (char *json; (r = sandgate_receive(client, 0, NULL, &json)) == 0; received++) {
            must_say(has(json, "alpha"), json);
            free(json);
        }
        must(r == -ETIMEDOUT || (r == -ENOMSG && received == sent));
        struct pollfd fd = {.fd = sandgate_fd(client), .events = sandgate_events(client)};
        must(r == -ENOMSG || poll(&fd, 1, PATIENCE) == 1);
    }
    must(sandgate_close(client) == 0);
}

static void without_standard_descriptors(void)
{
    for (int keep = 0; keep < 3; keep++) {
        /* Where must() writes, moved out of the way. */
        int saved[3];
        for (int i = 0; i < 3; i++)
            saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
        for (int i = 0; i < 3; i++) {
            if (i != keep)
                close(i);
        }
        struct sandgate *client = open_client();
        char *json = NULL;
        int r = sandgate_call(client, "read_file", "{\"path\":\"a.txt\"}", PATIENCE, &json);
        int status = sandgate_close(client);
        for (int i = 0; i < 3; i++) {
            dup2(saved[i], i);
            close(saved[i]);
        }
        must(r == 0 && status == 0);
        must_say(has(json, "alpha"), json);
        free(json);
    }
}

/* What this program does with signals is not the gate's affair. */
static void signals(void)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    signal(SIGTERM, SIG_IGN);
    close_in_flight();
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGCHLD, SIG_IGN);
    struct sandgate *client = open_client();
    expect(client, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    must(sandgate_close(client) == -ECHILD);
    signal(SIGCHLD, SIG_DFL);
}

static void descriptors_are_closed_on_exec(void)
{
    struct sandgate *client = open_client();
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *d; (d = readdir(dir));) {
        int fd = atoi(d->d_name);
        must_say(fd < 3 || d->d_name[0] == '.' || (fcntl(fd, F_GETFD) & FD_CLOEXEC), d->d_name);
    }
    closedir(dir);
    must(sandgate_close(client) == 0);
}

static void *thread(void *arg)
{
    struct sandgate *client = open_client();
    for (int i = 0; i < 100; i++)
        expect(client, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    must(sandgate_close(client) == 0);
    client = open_client();
    read_many(client, 300);
    must(sandgate_close(client) == 0);
    return arg;
}

static void threads(void)
{
    pthread_t others[2];
    for (int i = 0; i < 2; i++)
        must(pthread_create(&others[i], NULL, thread, NULL) == 0);
    for (int i = 0; i < 2; i++)
        must(pthread_join(others[i], NULL) == 0);
}

/* Says the gate's id and waits to be killed. With MORE, a configuration, a call is under way. */
static void output(void)
{
    static struct heard heard;
    struct sandgate *client = open_client();
    char *json = NULL;
    sandgate_on_output(client, hear, &heard);
    must(sandgate_send(
             client, "run_command",
             "{\"command\":\"rm -f go; printf 'a\\\\303'; until [ -e go ]; do sleep 0.01; done;"
             " printf '\\\\251\\\\0\\\\377end\\\\n'; echo wrong >&2\"}",
             NULL) == 0);
    while (heard.pieces == 0)
        must(sandgate_receive(client, 10, NULL, NULL) == -ETIMEDOUT);
    must_say(strcmp(heard.text[0], "a") == 0 && heard.id == 1, heard.text[0]);
    expect(client, "write_file", "{\"path\":\"go\",\"content\":\"\"}", "\"ok\":true");
    must_say(sandgate_receive(client, PATIENCE, NULL, &json) == 0, sandgate_message(client));
    must_say(heard.bytes[0] == 11, json);
    must_say(memcmp(heard.text[0],
                    "a\xc3\xa9\0\xef\xbf\xbd"
                    "end\n",
                    12) == 0,
             json);
    must_say(strcmp(heard.text[1], "wrong\n") == 0 && heard.skipped == 0, json);
    free(json);
    sandgate_on_output(client, NULL, NULL);
    must(sandgate_call(client, "run_command", "{\"command\":\"echo more\"}", PATIENCE, NULL) == 0);
    must(heard.bytes[0] == 11);
    must(sandgate_close(client) == 0);
}

static void output_cancels(void)
{
    static struct heard heard;
    struct sandgate *client = open_client();
    heard.client = client;
    sandgate_on_output(client, hear, &heard);
    expect(client, "run_command", "{\"command\":\"echo begun; sleep 100\"}", "CANCELLED");
    must_say(strcmp(heard.text[0], "begun\n") == 0, heard.text[0]);
    must(sandgate_close(client) == 0);
}

/* Without anyone to hear it; and of a call that was given up. */
static void output_unheard(void)
{
    static struct heard heard;
    struct sandgate *client = open_client();
    expect(client, "run_command", "{\"command\":\"seq 100000; sleep 0.1; echo end\"}", "end\\n");
    sandgate_on_output(client, hear, &heard);
    must(sandgate_call(client, "run_command", "{\"command\":\"sleep 0.3; echo late\"}", 50, NULL) ==
         -ETIMEDOUT);
    expect(client, "run_command", "{\"command\":\"sleep 0.5; echo end\"}", "end\\n");
    must_say(strcmp(heard.text[0], "end\n") == 0, heard.text[0]);
    must(sandgate_close(client) == 0);
}

static void left_alone(void)
{
    struct sandgate_options o = options();
    o.config = more;
    struct sandgate *client = open_with(&o);
    expect(client, "time_now", NULL, "\"ok\":true");
    if (more)
        must(sandgate_send(client, "read_file", "{\"path\":\"slow\",\"hash\":true}", NULL) == 0);
    printf("%ld\n", sandgate_pid(client));
    fflush(stdout);
    pause();
}

/* --- questions; these gates ask about every change */

enum { ANSWER_LATER = -1, ANSWER_NO = 0 }; /* else a scope */

struct asked {
    struct sandgate *client;
    int answer;
    unsigned questions;
    unsigned overs;
    unsigned refusals;
    char ids[64][32];
    uint64_t calls[64];
    char summary[256];
    char detail[256];
    char refusal[256]; /* the last */
    int state;         /* of the last that is over */
    char by[128];
};

static void on_question(void *arg, const struct sandgate_approval *approval)
{
    struct asked *asked = arg;
    must(asked->questions < 64 && strlen(approval->request_id) < sizeof *asked->ids);
    strcpy(asked->ids[asked->questions], approval->request_id);
    asked->calls[asked->questions++] = approval->id;
    snprintf(asked->summary, sizeof asked->summary, "%s", approval->summary);
    snprintf(asked->detail, sizeof asked->detail, "%s", approval->detail);
    must_say(*approval->tool && *approval->rule, approval->summary);
    must_say(!approval->proposal || strstr(approval->proposal, approval->tool), approval->summary);
    must_say(strlen(approval->expires_at) == 24 && approval->expires_at[23] == 'Z',
             approval->expires_at);
    if (asked->answer > ANSWER_NO)
        must(sandgate_approve(asked->client, approval->request_id, asked->answer) == 0);
    else if (asked->answer == ANSWER_NO)
        must(sandgate_deny(asked->client, approval->request_id) == 0);
}

static void on_over(void *arg, const struct sandgate_approval_over *over)
{
    struct asked *asked = arg;
    asked->overs++;
    asked->state = over->state;
    snprintf(asked->by, sizeof asked->by, "%s", over->by ? over->by : "");
    /* It is over already when this is told. */
    must(sandgate_approve(asked->client, over->request_id, SANDGATE_ONCE) == -ENOENT);
}

static void on_refused(void *arg, const char *request_id, const char *message)
{
    struct asked *asked = arg;
    must(*request_id);
    asked->refusals++;
    snprintf(asked->refusal, sizeof asked->refusal, "%s", message);
}

static void open_asked(struct asked *asked, int answer, const char *config)
{
    struct sandgate_options o = options();
    unsetenv("SANDGATE_APPROVAL_DEFAULT");
    *asked = (struct asked){.answer = answer};
    o.config = config;
    o.on_approval = on_question;
    o.on_approval_over = on_over;
    o.on_approval_refused = on_refused;
    o.approval_arg = asked;
    asked->client = open_with(&o);
}

/* Uses the client until so many questions were asked and are over. */
static void until(struct asked *asked, unsigned questions, unsigned overs)
{
    long long end = now_ms() + PATIENCE;
    while (asked->questions < questions || asked->overs < overs) {
        must(now_ms() < end);
        must_say(sandgate_receive(asked->client, 10, NULL, NULL) == -ETIMEDOUT,
                 sandgate_message(asked->client));
    }
}

#define WRITE "{\"path\":\"asked\",\"content\":\"x\"}"

static void approve_once(void)
{
    struct asked asked;
    open_asked(&asked, SANDGATE_ONCE, NULL);
    expect(asked.client, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    must(asked.questions == 0);
    expect(asked.client, "write_file", WRITE, "\"bytes_written\":1");
    must(asked.questions == 1 && asked.overs == 1 && asked.state == SANDGATE_APPROVED);
    must(asked.calls[0] == 2);
    must_say(has(asked.summary, "write_file: asked"), asked.summary);
    must_say(has(asked.by, "stdio --approver"), asked.by);
    asked.answer = ANSWER_NO;
    expect(asked.client, "write_file", "{\"path\":\"asked\",\"content\":\"y\"}", "APPROVAL_DENIED");
    must(asked.questions == 2 && asked.overs == 2 && asked.state == SANDGATE_DENIED);
    must_say(has(asked.detail, "\n-x") && has(asked.detail, "\n+y"), asked.detail);
    must(asked.refusals == 0);
    must(sandgate_approve(asked.client, asked.ids[1], SANDGATE_ONCE) == -ENOENT);
    must_say(has(sandgate_message(asked.client), "no call waits"), sandgate_message(asked.client));
    must(sandgate_deny(asked.client, "never") == -ENOENT);
    must(sandgate_deny(asked.client, "\"}\n{\"approve\":\"") == -ENOENT);
    must(sandgate_deny(asked.client, NULL) == -ENOENT &&
         sandgate_deny(asked.client, "") == -ENOENT);
    must(sandgate_close(asked.client) == 0);
}

static void approve_session(void)
{
    struct asked asked;
    for (int i = 0; i < 2; i++) {
        open_asked(&asked, SANDGATE_SESSION, NULL);
        expect(asked.client, "write_file", WRITE, "\"ok\":true");
        expect(asked.client, "write_file", WRITE, "\"ok\":true");
        must(asked.questions == 1 && asked.refusals == 0);
        must(sandgate_close(asked.client) == 0);
    }
}

static void approve_always(void)
{
    struct asked asked;
    char path[4096];
    snprintf(path, sizeof path, "%s/sandgate/approved.json", getenv("XDG_CONFIG_HOME"));
    unlink(path);
    open_asked(&asked, SANDGATE_ALWAYS, NULL);
    expect(asked.client, "write_file", WRITE, "\"ok\":true");
    must_say(asked.questions == 1 && asked.refusals == 0, asked.refusal);
    must(sandgate_close(asked.client) == 0);
    must_say(access(path, R_OK) == 0, path);
    open_asked(&asked, ANSWER_NO, NULL);
    expect(asked.client, "write_file", WRITE, "\"ok\":true");
    must(asked.questions == 0);
    must(sandgate_close(asked.client) == 0);
    must(unlink(path) == 0);
}

/* No rule can be made of a name that is not UTF-8: the call waits on, for an answer that can be given. */
static void approve_refused(void)
{
    struct asked asked;
    uint64_t id;
    open_asked(&asked, SANDGATE_ALWAYS, NULL);
    must(sandgate_send(asked.client, "write_file", "{\"path_b64\":\"Y2Fm6Q==\",\"content\":\"\"}",
                       &id) == 0);
    while (asked.refusals == 0)
        must(sandgate_receive(asked.client, 10, NULL, NULL) == -ETIMEDOUT);
    must_say(has(asked.refusal, "once") && asked.overs == 0, asked.refusal);
    must(sandgate_approve(asked.client, asked.ids[0], 0) == -EINVAL);
    must(sandgate_approve(asked.client, asked.ids[0], 4) == -EINVAL);
    must(sandgate_approve(asked.client, asked.ids[0], SANDGATE_ONCE) == 0);
    expect_answer(asked.client, id, "\"ok\":true");
    must(asked.overs == 1 && asked.state == SANDGATE_APPROVED);
    must(sandgate_close(asked.client) == 0);
}

/* Two at once, answered in the other order after other calls went by. */
static void approve_later(void)
{
    struct asked asked;
    uint64_t id[2];
    open_asked(&asked, ANSWER_LATER, NULL);
    for (int i = 0; i < 2; i++)
        must(sandgate_send(asked.client, "write_file", WRITE, &id[i]) == 0);
    until(&asked, 2, 0);
    expect(asked.client, "read_file", "{\"path\":\"a.txt\"}", "alpha");
    /* They are asked about as they get ready, which need not be in turn. */
    int first = asked.calls[0] == id[0] ? 0 : 1;
    must(asked.overs == 0 && asked.calls[first] == id[0] && asked.calls[!first] == id[1]);
    must(sandgate_deny(asked.client, asked.ids[!first]) == 0);
    expect_answer(asked.client, id[1], "APPROVAL_DENIED");
    must(sandgate_approve(asked.client, asked.ids[first], SANDGATE_ONCE) == 0);
    expect_answer(asked.client, id[0], "\"ok\":true");
    must(asked.overs == 2 && asked.refusals == 0);
    /* One that is waited for no more. */
    must(sandgate_call(asked.client, "write_file", WRITE, 500, NULL) == -ETIMEDOUT);
    expect(asked.client, "time_now", NULL, "\"ok\":true");
    must(asked.questions == 3 && asked.overs == 3 && asked.state == SANDGATE_CANCELLED);
    must(sandgate_close(asked.client) == 0);
}

/* MORE is a configuration in which nobody has much time. */
static void approve_too_late(void)
{
    struct asked asked;
    open_asked(&asked, ANSWER_LATER, more);
    expect(asked.client, "write_file", WRITE, "APPROVAL_TIMEOUT");
    must(asked.questions == 1 && asked.overs == 1 && asked.state == SANDGATE_TIMED_OUT);
    must(sandgate_approve(asked.client, asked.ids[0], SANDGATE_ONCE) == -ENOENT);
    must(sandgate_close(asked.client) == 0);
}

/* Decided by `sandgate approve`: before this client hears of that, it gives an answer of its own. */
static void approve_elsewhere(void)
{
    struct asked asked;
    uint64_t id;
    char command[4200];
    open_asked(&asked, ANSWER_LATER, NULL);
    must(sandgate_send(asked.client, "write_file", WRITE, &id) == 0);
    until(&asked, 1, 0);
    snprintf(command, sizeof command, "exec \"$SANDGATE\" approve %s >&2", asked.ids[0]);
    must(system(command) == 0);
    must(sandgate_deny(asked.client, asked.ids[0]) == 0);
    expect_answer(asked.client, id, "\"ok\":true");
    must(asked.overs == 1 && asked.state == SANDGATE_APPROVED);
    must_say(has(asked.by, "sandgate approve"), asked.by);
    expect(asked.client, "time_now", NULL, "\"ok\":true");
    must_say(asked.refusals == 1 && strlen(asked.refusal) > 10, asked.refusal);
    must(sandgate_close(asked.client) == 0);
}

static void approve_many(void)
{
    struct asked asked;
    uint64_t first = 0;
    open_asked(&asked, ANSWER_LATER, NULL);
    for (int i = 0; i < 64; i++) {
        uint64_t id;
        char arguments[64];
        snprintf(arguments, sizeof arguments, "{\"path\":\"many/%d\",\"content\":\"x\"}", i);
        must(sandgate_send(asked.client, "write_file", arguments, &id) == 0);
        first = first ? first : id;
    }
    until(&asked, 64, 0);
    for (int i = 63; i >= 0; i--) {
        bool yes = asked.calls[i] % 2;
        must((yes ? sandgate_approve(asked.client, asked.ids[i], SANDGATE_ONCE)
                  : sandgate_deny(asked.client, asked.ids[i])) == 0);
    }
    for (int i = 0; i < 64; i++) {
        uint64_t id;
        char *json;
        must_say(sandgate_receive(asked.client, PATIENCE, &id, &json) == 0,
                 sandgate_message(asked.client));
        must_say(id >= first && has(json, id % 2 ? "\"ok\":true" : "APPROVAL_DENIED"), json);
        free(json);
    }
    must(asked.overs == 64 && asked.refusals == 0);
    must(sandgate_close(asked.client) == 0);
}

static void killed_while_asking(void)
{
    struct asked asked;
    open_asked(&asked, ANSWER_LATER, NULL);
    must(sandgate_send(asked.client, "write_file", WRITE, NULL) == 0);
    until(&asked, 1, 0);
    must(kill((pid_t)sandgate_pid(asked.client), SIGKILL) == 0);
    must(sandgate_receive(asked.client, PATIENCE, NULL, NULL) == -ECONNRESET);
    must(sandgate_approve(asked.client, asked.ids[0], SANDGATE_ONCE) == -ECONNRESET);
    must_say(has(sandgate_message(asked.client), "signal 9"), sandgate_message(asked.client));
    must(sandgate_close(asked.client) == 128 + SIGKILL);
    /* Closed while one is open: nobody approves it any more. */
    open_asked(&asked, ANSWER_LATER, NULL);
    must(sandgate_send(asked.client, "write_file", WRITE, NULL) == 0);
    until(&asked, 1, 0);
    must(sandgate_close(asked.client) == 0);
}

/* Without a function that is asked, others mean nothing and the gate is a plain one. MORE is as above. */
static void nobody_is_asked(void)
{
    struct sandgate_options o = options();
    struct asked asked = {0};
    unsetenv("SANDGATE_APPROVAL_DEFAULT");
    o.config = more;
    o.on_approval_over = on_over;
    o.on_approval_refused = on_refused;
    o.approval_arg = &asked;
    struct sandgate *client = open_with(&o);
    expect(client, "write_file", WRITE, "APPROVAL_TIMEOUT");
    must(asked.overs == 0 && sandgate_approve(client, "abc", SANDGATE_ONCE) == -ENOENT);
    must(sandgate_close(client) == 0);
}

/* --- with programs that only look like a gate; $SANDGATE is one of those in clib.py */

static void endless_words(void)
{
    struct sandgate *client = open_client();
    for (int i = 0; i < 5; i++)
        expect(client, "t", NULL, "\"ok\":true");
    must(sandgate_close(client) == 0);
}

static void pieces(void)
{
    struct sandgate *client = open_client();
    expect(client, "t", NULL, "\"ok\":true");
    expect(client, "t", NULL, "\"ok\":true");
    must(sandgate_close(client) == 0);
}

static void large(void)
{
    struct sandgate *client = open_client();
    for (int i = 0; i < 3; i++) {
        char *json = NULL;
        must_say(sandgate_call(client, "t", NULL, PATIENCE, &json) == 0, sandgate_message(client));
        must(strlen(json) == (20u << 20) + strlen("{\"a\":\"\"}"));
        free(json);
    }
    must(sandgate_close(client) == 0);
}

static void too_large(void)
{
    struct sandgate_options o = options();
    o.max_bytes = 1 << 20;
    struct sandgate *client = open_with(&o);
    must(sandgate_call(client, "t", NULL, PATIENCE, NULL) == -EMSGSIZE);
    must(sandgate_receive(client, 0, NULL, NULL) == -EMSGSIZE);
    must(sandgate_close(client) >= 0);
}

/* One that never reads: sending does not wait, and is refused at some point. */
static void deaf(void)
{
    struct sandgate_options o = options();
    o.max_bytes = 1 << 20;
    struct sandgate *client = open_with(&o);
    int r = 0;
    for (int i = 0; i < 100000 && r == 0; i++)
        r = sandgate_send(client, "a tool with quite a long name, to fill the buffers", NULL, NULL);
    must(r == -ENOBUFS);
    must(sandgate_events(client) == (POLLIN | POLLOUT));
    must(sandgate_call(client, "t", NULL, 0, NULL) == -ENOBUFS);
    must(sandgate_close(client) == 128 + SIGTERM);
}

/* Events that are not known, or of no call, are passed over; one that is longer than answers may be is none. */
static void events(void)
{
    static struct heard heard;
    struct sandgate_options o = options();
    o.max_bytes = 1000;
    struct sandgate *client = open_with(&o);
    must_say(sandgate_call(client, "t", NULL, PATIENCE, NULL) == 0, sandgate_message(client));
    sandgate_on_output(client, hear, &heard);
    must_say(sandgate_call(client, "t", NULL, PATIENCE, NULL) == 0, sandgate_message(client));
    must(heard.pieces == 2 && heard.id == 2 && heard.skipped == 7);
    must(strcmp(heard.text[0], "heard\n") == 0 && heard.bytes[1] == 65536);
    must(sandgate_close(client) == 0);
}

/* Of many events about questions only the last one before the answer asks something. It answers with what was said. */
static void approval_events(void)
{
    struct asked asked;
    char *json = NULL;
    open_asked(&asked, SANDGATE_ONCE, NULL);
    must_say(sandgate_call(asked.client, "t", NULL, PATIENCE, &json) == 0,
             sandgate_message(asked.client));
    must_say(asked.questions == 1 && strcmp(asked.ids[0], "good") == 0, asked.ids[0]);
    must(asked.calls[0] == 0 && asked.overs == 1 && asked.state == 0 && asked.by[0] == '\0');
    must_say(strcmp(asked.detail, "a\n\xc3\xa9") == 0, asked.detail);
    must_say(asked.refusals == 1 && strcmp(asked.refusal, "of another") == 0, asked.refusal);
    must_say(strcmp(json, "{\"said\":{\"approve\":\"good\",\"scope\":\"once\"}}") == 0, json);
    free(json);
    must(sandgate_close(asked.client) == 0);
}

/* MORE is a part of the message. */
static void protocol_error(void)
{
    struct sandgate *client = open_client();
    must(sandgate_call(client, "t", NULL, PATIENCE, NULL) == -EPROTO);
    must_say(has(sandgate_message(client), more), sandgate_message(client));
    must(!strchr(sandgate_message(client), '\033'));
    must(sandgate_send(client, "t", NULL, NULL) == -EPROTO);
    must(sandgate_close(client) >= 0);
}

static void one_answer_too_many(void)
{
    struct sandgate *client = open_client();
    must(sandgate_call(client, "t", NULL, PATIENCE, NULL) == 0);
    must(sandgate_call(client, "t", NULL, PATIENCE, NULL) == -EPROTO);
    must(sandgate_close(client) >= 0);
}

static void high_status(void)
{
    struct sandgate *client = open_client();
    must(sandgate_call(client, "t", NULL, PATIENCE, NULL) == -ECONNRESET);
    const char *message = sandgate_message(client);
    must_say(has(message, "ended with status 137") && !has(message, "killed"), message);
    must(sandgate_close(client) == 137);
}

static void last_words(void)
{
    struct sandgate *client = open_client();
    must(sandgate_call(client, "t", NULL, PATIENCE, NULL) == -ECONNRESET);
    const char *message = sandgate_message(client);
    must_say(has(message, "status 7") && has(message, "the last straw"), message);
    must_say(!has(message, "line 1\n") && !strchr(message, '\033'), message);
    must(sandgate_close(client) == 7);
}

/* Answers 3, then null, then 1 of three calls: null is the second's. */
static void nameless(void)
{
    struct sandgate *client = open_client();
    for (int i = 0; i < 3; i++)
        must(sandgate_send(client, "t", NULL, NULL) == 0);
    expect_answer(client, 3, "\"three\"");
    expect_answer(client, 1, "\"one\"");
    expect_answer(client, 2, "\"nobody\"");
    must(sandgate_close(client) == 0);
}

static void tools_timeout(void)
{
    struct sandgate_options o = options();
    struct sandgate_error error;
    must(sandgate_tools(&o, NULL, 100, NULL, &error) == -ETIMEDOUT);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    CASE(calls),
    CASE(bad_arguments),
    CASE(in_flight),
    CASE(both_ways_full),
    CASE(call_among_sends),
    CASE(cancel),
    CASE(timeout),
    CASE(killed),
    CASE(killed_before_sending),
    CASE(answers_outlive_the_gate),
    CASE(close_in_flight),
    CASE(wrong_program),
    CASE(wrong_workspace),
    CASE(which_options),
    CASE(dialect),
    CASE(session),
    CASE(tools),
    CASE(with_poll),
    CASE(without_standard_descriptors),
    CASE(signals),
    CASE(descriptors_are_closed_on_exec),
    CASE(threads),
    CASE(output),
    CASE(output_cancels),
    CASE(output_unheard),
    CASE(left_alone),
    CASE(approve_once),
    CASE(approve_session),
    CASE(approve_always),
    CASE(approve_refused),
    CASE(approve_later),
    CASE(approve_too_late),
    CASE(approve_elsewhere),
    CASE(approve_many),
    CASE(killed_while_asking),
    CASE(nobody_is_asked),
    CASE(endless_words),
    CASE(pieces),
    CASE(large),
    CASE(too_large),
    CASE(deaf),
    CASE(events),
    CASE(approval_events),
    CASE(protocol_error),
    CASE(one_answer_too_many),
    CASE(last_words),
    CASE(high_status),
    CASE(nameless),
    CASE(tools_timeout),
};

static int count_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    must(argc >= 3);
    folder = argv[2];
    more = argc > 3 ? argv[3] : NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argv[1]) != 0)
            continue;
        int before = count_descriptors();
        cases[i].run();
        must(count_descriptors() == before);
        must(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
        return 0;
    }
    fprintf(stderr, "there is no case %s\n", argv[1]);
    return 2;
}

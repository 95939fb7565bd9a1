// Starts a tool server on pipes, repeats one call, and prints what it cost as one line of JSON.
// A reply that is not the expected one ends the run: an error must never count as a fast answer.

#include "measure.h"
#include "tree.h"

#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EXPECTED_MAX = 4,
    REPLY_SPREAD =
        64, // a later reply may be this much shorter than the first: numbers such as durations vary
    ID_WINDOW = 96,          // servers put the id at the head or at the tail of a reply
    IN_FLIGHT_BYTES = 60000, // less than a pipe holds, so a write never waits for the server
    READER_START = 4 << 20,
    READER_MAX = 256 << 20,
    EXIT_WAIT_MS = 2000,
};

struct protocol {
    const char *name;
    const char *request; // id, tool, arguments
    const char *notice;  // in the head of a line that answers no call
    const char *hello;   // NULL: the first call may be sent at once
    const char *hello_reply;
    const char *ready;
};

static const struct protocol protocols[] = {
    {
        .name = "mcp",
        .request = "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\","
                   "\"params\":{\"name\":\"%s\",\"arguments\":%s}}\n",
        .notice = "\"method\":",
        .hello = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
                 "\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                 "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n",
        .hello_reply = "\"protocolVersion\":",
        .ready = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
    },
    {
        .name = "sandgate",
        .request = "{\"id\":\"%zu\",\"tool_call\":{\"name\":\"%s\",\"arguments\":%s}}\n",
        .notice = "\"event\":",
    },
};

struct options {
    const struct protocol *protocol;
    const char *tool;
    const char *arguments;
    const char *expected[EXPECTED_MAX];
    size_t expected_count;
    size_t calls, warmup, depth, min_bytes;
    unsigned timeout_s;
    char **command;
};

struct text {
    const char *data;
    size_t size;
};

struct server {
    pid_t pid;
    int in, out;
    uint64_t started_ns;
};

struct reader {
    int fd;
    char *data;
    size_t capacity, start, scanned, end;
};

// Every request of the run in one piece: a batch is one write of consecutive bytes.
// Call i has the id i + 1.
struct requests {
    char *data;
    size_t *offsets;
    bool *answered;
    size_t sent;
};

struct run {
    const struct options *options;
    struct server server;
    struct reader reader;
    struct requests requests;
    size_t first_reply_bytes;
};

struct outcome {
    double handshake_ms, first_reply_ms, seconds;
    struct tree_use before, after;
    uint64_t *latencies;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        err(1, "memory");
    return memory;
}

static struct server server_start(char **command)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        err(1, "pipe");
    uint64_t started_ns = now_ns();
    pid_t pid = fork();
    if (pid < 0)
        err(1, "fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_DFL);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execvp(command[0], command);
        warn("%s", command[0]);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    return (struct server){.pid = pid, .in = in[1], .out = out[0], .started_ns = started_ns};
}

static void server_stop(struct server *server)
{
    close(server->in);
    int fd = (int)syscall(SYS_pidfd_open, server->pid, 0);
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    if (fd < 0 || poll(&ended, 1, EXIT_WAIT_MS) != 1)
        kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    close(server->out);
    if (fd >= 0)
        close(fd);
}

static void server_write(const struct server *server, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(server->in, data, size);
        if (written < 0)
            err(1, "write to the server");
        data += written;
        size -= (size_t)written;
    }
}

static bool reader_take(struct reader *reader, struct text *ret)
{
    char *newline = memchr(reader->data + reader->scanned, '\n', reader->end - reader->scanned);
    if (!newline) {
        reader->scanned = reader->end;
        return false;
    }
    *ret = (struct text){.data = reader->data + reader->start,
                         .size = (size_t)(newline - reader->data) - reader->start};
    reader->start = reader->scanned = (size_t)(newline - reader->data) + 1;
    return true;
}

static void reader_make_room(struct reader *reader)
{
    memmove(reader->data, reader->data + reader->start, reader->end - reader->start);
    reader->end -= reader->start;
    reader->scanned -= reader->start;
    reader->start = 0;
    if (reader->end < reader->capacity)
        return;
    if (reader->capacity >= READER_MAX)
        errx(1, "a reply is longer than %d bytes", READER_MAX);
    reader->capacity *= 2;
    reader->data = realloc(reader->data, reader->capacity);
    if (!reader->data)
        err(1, "memory");
}

static struct text reader_wait(struct reader *reader)
{
    struct text line;
    while (!reader_take(reader, &line)) {
        reader_make_room(reader);
        ssize_t size = read(reader->fd, reader->data + reader->end, reader->capacity - reader->end);
        if (size < 0)
            err(1, "read from the server");
        if (size == 0)
            errx(1, "the server closed its output");
        reader->end += (size_t)size;
    }
    return line;
}

static struct requests requests_build(const struct options *options)
{
    size_t count = 1 + options->warmup + options->calls;
    size_t ceiling = strlen(options->protocol->request) + strlen(options->tool) +
                     strlen(options->arguments) + 24;
    struct requests requests = {
        .data = allocate(count, ceiling),
        .offsets = allocate(count + 1, sizeof *requests.offsets),
        .answered = allocate(count, sizeof *requests.answered),
    };
    if (ceiling * options->depth > IN_FLIGHT_BYTES)
        errx(2, "%zu requests of %zu bytes do not fit in a pipe", options->depth, ceiling);
    for (size_t i = 0; i < count; i++) {
        int size = snprintf(requests.data + requests.offsets[i], ceiling,
                            options->protocol->request, i + 1, options->tool, options->arguments);
        requests.offsets[i + 1] = requests.offsets[i] + (size_t)size;
    }
    return requests;
}

static void send_until(struct run *run, size_t end)
{
    struct requests *requests = &run->requests;
    if (end <= requests->sent)
        return;
    size_t from = requests->offsets[requests->sent];
    server_write(&run->server, requests->data + from, requests->offsets[end] - from);
    requests->sent = end;
}

static bool contains(struct text text, const char *part)
{
    return memmem(text.data, text.size, part, strlen(part)) != NULL;
}

static struct text head(struct text line)
{
    return (struct text){line.data, line.size < ID_WINDOW ? line.size : ID_WINDOW};
}

static struct text tail(struct text line)
{
    size_t size = line.size < ID_WINDOW ? line.size : ID_WINDOW;
    return (struct text){line.data + line.size - size, size};
}

static size_t parse_id(struct text window)
{
    static const char key[] = "\"id\":";
    const char *at = memmem(window.data, window.size, key, sizeof key - 1);
    if (!at)
        return 0;
    at += sizeof key - 1;
    return strtoull(at + (*at == '"'), NULL, 10);
}

static _Noreturn void reject(struct text line, const char *why)
{
    errx(1, "%s: %.*s", why, line.size < 300 ? (int)line.size : 300, line.data);
}

static void mark_answered(struct run *run, struct text line)
{
    size_t id = parse_id(head(line));
    if (!id)
        id = parse_id(tail(line));
    if (id < 1 || id > run->requests.sent || run->requests.answered[id - 1])
        reject(line, "a reply to no open call");
    run->requests.answered[id - 1] = true;
}

// The first reply is searched for every expected text. The later ones, timed, must be as long and
// hold the first text: one near the start of the file, so that the search reads no megabyte.
static void check_content(struct run *run, struct text line)
{
    const struct options *options = run->options;
    bool first = run->first_reply_bytes == 0;
    size_t searched = first ? options->expected_count : options->expected_count > 0;
    for (size_t i = 0; i < searched; i++)
        if (!contains(line, options->expected[i]))
            reject(line, "a reply without the expected text");
    if (line.size < options->min_bytes || line.size + REPLY_SPREAD < run->first_reply_bytes)
        reject(line, "a reply that is too short");
    if (first)
        run->first_reply_bytes = line.size;
}

static bool accept_line(struct run *run, struct text line)
{
    if (contains(head(line), run->options->protocol->notice))
        return false;
    mark_answered(run, line);
    check_content(run, line);
    return true;
}

static void handshake(struct run *run)
{
    const struct protocol *protocol = run->options->protocol;
    if (!protocol->hello)
        return;
    server_write(&run->server, protocol->hello, strlen(protocol->hello));
    struct text reply = reader_wait(&run->reader);
    if (!contains(reply, protocol->hello_reply))
        reject(reply, "the handshake failed");
    server_write(&run->server, protocol->ready, strlen(protocol->ready));
}

// `latencies` may be NULL.
static void run_one_at_a_time(struct run *run, size_t count, uint64_t *latencies)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t sent_ns = now_ns();
        send_until(run, run->requests.sent + 1);
        while (!accept_line(run, reader_wait(&run->reader)))
            continue;
        if (latencies)
            latencies[i] = now_ns() - sent_ns;
    }
}

static void run_in_flight(struct run *run, size_t count, size_t depth)
{
    size_t first = run->requests.sent;
    for (size_t done = 0; done < count;) {
        size_t open_until = done + depth < count ? done + depth : count;
        send_until(run, first + open_until);
        struct text line = reader_wait(&run->reader);
        do
            done += accept_line(run, line);
        while (done < count && reader_take(&run->reader, &line));
    }
}

static void run_calls(struct run *run, size_t count, uint64_t *latencies)
{
    if (run->options->depth == 1)
        run_one_at_a_time(run, count, latencies);
    else
        run_in_flight(run, count, run->options->depth);
}

static void report_latency(uint64_t *latencies, size_t count)
{
    sort_ns(latencies, count);
    printf(",\"p50_us\":%.1f,\"p99_us\":%.1f", percentile_us(latencies, count, 50),
           percentile_us(latencies, count, 99));
}

static void report(const struct options *options, const struct outcome *outcome)
{
    double calls = (double)options->calls;
    printf("{\"calls\":%zu,\"depth\":%zu,\"seconds\":%.6f,\"rate\":%.1f,\"cpu_us\":%.2f",
           options->calls, options->depth, outcome->seconds, calls / outcome->seconds,
           ((double)outcome->after.cpu_ns - (double)outcome->before.cpu_ns) / 1e3 / calls);
    printf(",\"memory_bytes\":%llu,\"processes\":%d,\"handshake_ms\":%.2f,"
           "\"first_reply_ms\":%.2f",
           (unsigned long long)outcome->after.memory_bytes, outcome->after.processes,
           outcome->handshake_ms, outcome->first_reply_ms);
    if (options->depth == 1)
        report_latency(outcome->latencies, options->calls);
    puts("}");
}

// Ready means that the first call was answered and the warm-up is over.
static void run_until_ready(struct run *run, struct outcome *outcome)
{
    run->server = server_start(run->options->command);
    run->reader.fd = run->server.out;
    handshake(run);
    outcome->handshake_ms = (double)(now_ns() - run->server.started_ns) / 1e6;
    run_one_at_a_time(run, 1, NULL);
    outcome->first_reply_ms = (double)(now_ns() - run->server.started_ns) / 1e6;
    run_calls(run, run->options->warmup, NULL);
}

static void run_measured(struct run *run, struct outcome *outcome)
{
    outcome->before = tree_measure(run->server.pid);
    uint64_t begin_ns = now_ns();
    run_calls(run, run->options->calls, outcome->latencies);
    outcome->seconds = (double)(now_ns() - begin_ns) / 1e9;
    outcome->after = tree_measure(run->server.pid);
}

static void run_load(const struct options *options)
{
    struct run run = {
        .options = options,
        .reader = {.data = allocate(1, READER_START), .capacity = READER_START},
        .requests = requests_build(options),
    };
    struct outcome outcome = {.latencies = allocate(options->calls, sizeof *outcome.latencies)};

    run_until_ready(&run, &outcome);
    run_measured(&run, &outcome);
    report(options, &outcome);
    server_stop(&run.server);

    free(outcome.latencies);
    free(run.reader.data);
    free(run.requests.data);
    free(run.requests.offsets);
    free(run.requests.answered);
}

static const struct protocol *protocol_find(const char *name)
{
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (strcmp(protocols[i].name, name) == 0)
            return &protocols[i];
    errx(2, "unknown protocol: %s", name);
}

static void add_expected(struct options *options, const char *text)
{
    if (options->expected_count == EXPECTED_MAX)
        errx(2, "at most %d --expect", EXPECTED_MAX);
    options->expected[options->expected_count++] = text;
}

static struct options options_parse(int argc, char **argv)
{
    static const struct option table[] = {
        {"protocol", required_argument, NULL, 'p'},  {"tool", required_argument, NULL, 't'},
        {"arguments", required_argument, NULL, 'a'}, {"calls", required_argument, NULL, 'n'},
        {"warmup", required_argument, NULL, 'w'},    {"depth", required_argument, NULL, 'd'},
        {"expect", required_argument, NULL, 'e'},    {"min-bytes", required_argument, NULL, 'm'},
        {"timeout", required_argument, NULL, 's'},   {0},
    };
    struct options options = {.arguments = "{}", .calls = 1000, .depth = 1, .timeout_s = 300};
    for (int key; (key = getopt_long(argc, argv, "+", table, NULL)) != -1;)
        switch (key) {
        case 'p':
            options.protocol = protocol_find(optarg);
            break;
        case 't':
            options.tool = optarg;
            break;
        case 'a':
            options.arguments = optarg;
            break;
        case 'n':
            options.calls = parse_count(optarg);
            break;
        case 'w':
            options.warmup = parse_count(optarg);
            break;
        case 'd':
            options.depth = parse_count(optarg);
            break;
        case 'e':
            add_expected(&options, optarg);
            break;
        case 'm':
            options.min_bytes = parse_count(optarg);
            break;
        case 's':
            options.timeout_s = (unsigned)parse_count(optarg);
            break;
        default:
            exit(2);
        }
    options.command = argv + optind;
    if (!options.protocol || !options.tool || !options.calls || !options.depth ||
        !options.command[0])
        errx(2,
             "usage: client --protocol mcp|sandgate --tool NAME [--arguments JSON]\n"
             "              [--calls N] [--warmup N] [--depth N]\n"
             "              [--expect TEXT]... [--min-bytes N] [--timeout SECONDS] -- COMMAND...");
    return options;
}

static void on_timeout(int signal_number)
{
    static const char message[] = "client: the server took too long\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    _exit(1);
}

int main(int argc, char **argv)
{
    struct options options = options_parse(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, on_timeout);
    alarm(options.timeout_s);
    run_load(&options);
    return 0;
}

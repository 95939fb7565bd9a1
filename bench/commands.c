// Ways to run one command, in turn, many times. Each way is KIND COUNT[,MS] WORDS..., of which COUNT runs are made in a
// row in each turn, each after a rest of so many milliseconds:
//   spawn   starts WORDS with three pipes, reads both outputs to their ends and waits for the process
//   warm    a gate, started once: from the request to the end of its answer
//   cell    the same, after the gate's cell was killed and is gone: with a new one
//   fresh   a gate, started for each request: from its start to the end of its answer
// Prints all times, one line of JSON for each way, in microseconds.

#include "command.h"
#include "measure.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { WAYS_MAX = 16, ANSWER_MAX = 64 << 10 };

enum kind { SPAWN, WARM, CELL, FRESH, KINDS };
static const char *const kind_names[KINDS] = {"spawn", "warm", "cell", "fresh"};

struct way {
    enum kind kind;
    size_t count; // in a row
    useconds_t rest_us;
    char **argv;
    struct gate gate; // of WARM and CELL
    uint64_t *samples;
    size_t n_samples;
};

struct options {
    size_t turns;
    const char *request; // one line
    const char *expected;
    struct way ways[WAYS_MAX];
    size_t n_ways;
};

static char *line_of(const char *text)
{
    char *line;
    if (asprintf(&line, "%s\n", text) < 0)
        err(1, "memory");
    return line;
}

static void ask(const struct gate *gate, const char *line, const char *expected)
{
    static char answer[ANSWER_MAX];
    size_t length = strlen(line), n = 0;
    if (write(gate->in, line, length) != (ssize_t)length)
        err(1, "writing a request");
    while (n == 0 || answer[n - 1] != '\n') {
        ssize_t got = read(gate->out, answer + n, sizeof answer - n);
        if (got <= 0)
            errx(1, "the gate ended without an answer");
        n += (size_t)got;
    }
    if (!memmem(answer, n, expected, strlen(expected)))
        errx(1, "the gate did not answer as expected: %.*s", n < 300 ? (int)n : 300, answer);
}

// Its children, at most one: the first process of its cell. 0: none.
static pid_t cell_of(pid_t gate)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)gate, (int)gate);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n < 0)
        err(1, "%s", path);
    close(fd);
    return (pid_t)strtol(text, NULL, 10);
}

static void kill_cell(const struct gate *gate)
{
    pid_t cell = cell_of(gate->pid);
    if (!cell || kill(cell, SIGKILL) < 0)
        errx(1, "the gate has no cell");
    while (cell_of(gate->pid) == cell)
        usleep(1000);
    usleep(2000);
}

static uint64_t way_time(const struct way *way, const struct options *options)
{
    struct gate gate = way->gate;
    if (way->rest_us)
        usleep(way->rest_us);
    if (way->kind == CELL)
        kill_cell(&gate);
    uint64_t begin_ns = now_ns();
    if (way->kind == SPAWN)
        command_run(way->argv);
    if (way->kind == FRESH)
        gate = gate_start(way->argv);
    if (way->kind != SPAWN)
        ask(&gate, options->request, options->expected);
    uint64_t elapsed_ns = now_ns() - begin_ns;
    if (way->kind == FRESH)
        gate_end(&gate);
    return elapsed_ns;
}

static void way_start(struct way *way, const struct options *options)
{
    way->samples = calloc(options->turns * way->count, sizeof *way->samples);
    if (!way->samples)
        err(1, "memory");
    if (way->kind == WARM || way->kind == CELL)
        way->gate = gate_start(way->argv);
    if (way->kind == CELL)
        ask(&way->gate, options->request, options->expected);
}

static void run(struct options *options)
{
    for (size_t i = 0; i < options->n_ways; i++)
        way_start(&options->ways[i], options);
    for (size_t turn = 0; turn <= options->turns; turn++)
        for (size_t i = 0; i < options->n_ways; i++)
            for (size_t k = 0; k < options->ways[i].count; k++) {
                struct way *way = &options->ways[i];
                uint64_t elapsed_ns = way_time(way, options);
                // The first turn warms up.
                if (turn > 0)
                    way->samples[way->n_samples++] = elapsed_ns;
            }
}

static void report(const struct options *options)
{
    for (size_t i = 0; i < options->n_ways; i++) {
        const struct way *way = &options->ways[i];
        if (way->kind == WARM || way->kind == CELL)
            gate_end(&way->gate);
        printf("[");
        for (size_t k = 0; k < way->n_samples; k++)
            printf("%s%.1f", k ? "," : "", (double)way->samples[k] / 1e3);
        puts("]");
        free(way->samples);
    }
}

static enum kind parse_kind(const char *word)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(word, kind_names[i]) == 0)
            return (enum kind)i;
    errx(2, "a way is spawn, warm, cell or fresh, not %s", word);
}

static void add_way(void *arg, char **words)
{
    struct options *options = arg;
    if (options->n_ways == WAYS_MAX)
        errx(2, "at most %d ways", WAYS_MAX);
    if (!words[0] || !words[1] || !words[2])
        errx(2, "a way is KIND COUNT[,MS] WORDS...");
    char *rest = strchr(words[1], ',');
    if (rest)
        *rest++ = 0;
    struct way way = {
        .kind = parse_kind(words[0]),
        .count = parse_count(words[1]),
        .rest_us = rest ? (useconds_t)parse_count(rest) * 1000 : 0,
        .argv = words + 2,
    };
    options->ways[options->n_ways++] = way;
}

static struct options options_parse(int argc, char **argv)
{
    static const struct option table[] = {
        {"turns", required_argument, NULL, 'n'},
        {"request", required_argument, NULL, 'r'},
        {"expect", required_argument, NULL, 'e'},
        {0},
    };
    struct options options = {.turns = 20, .request = "", .expected = "\"ok\":true"};
    for (int key; (key = getopt_long(argc, argv, "+", table, NULL)) != -1;)
        switch (key) {
        case 'n':
            options.turns = parse_count(optarg);
            break;
        case 'r':
            options.request = line_of(optarg);
            break;
        case 'e':
            options.expected = optarg;
            break;
        default:
            exit(2);
        }
    if (!options.turns)
        errx(2,
             "usage: commands [--turns N] [--request LINE] [--expect TEXT] -- KIND COUNT WORDS... "
             "[:: KIND COUNT WORDS...]");
    split_words(argv + optind, add_way, &options);
    return options;
}

int main(int argc, char **argv)
{
    struct options options = options_parse(argc, argv);
    run(&options);
    report(&options);
    return 0;
}

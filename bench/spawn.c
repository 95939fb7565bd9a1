// Runs several commands in turn, many times, and prints for each the time from start to exit as one
// line of JSON.
// Every run must exit with 0 and, with --expect, print that text.

#include "command.h"
#include "measure.h"

#include <getopt.h>
#include <stdio.h>

enum { COMMANDS_MAX = 8, OUTPUT_MAX = 1 << 20 };

struct command {
    char **argv;
    uint64_t *samples;
};

struct options {
    size_t runs, warmup;
    const char *expected;
    struct command commands[COMMANDS_MAX];
    size_t count;
};

static size_t read_to_end(int fd, char *data)
{
    size_t size = 0;
    for (ssize_t got; (got = read(fd, data + size, OUTPUT_MAX - size)) > 0;)
        size += (size_t)got;
    return size;
}

// Over when the output has ended and the process has exited: what a caller waits for.
static uint64_t command_time(const struct command *command, const char *expected)
{
    static char data[OUTPUT_MAX];
    int output, status;
    uint64_t begin_ns = now_ns();
    pid_t pid = command_start(command->argv, &output);
    size_t size = read_to_end(output, data);
    if (waitpid(pid, &status, 0) < 0)
        err(1, "waitpid");
    uint64_t elapsed_ns = now_ns() - begin_ns;
    close(output);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        errx(1, "%s failed with status 0x%x: %.*s", command->argv[0], (unsigned)status,
             size < 300 ? (int)size : 300, data);
    if (expected && !memmem(data, size, expected, strlen(expected)))
        errx(1, "%s did not print the expected text: %.*s", command->argv[0],
             size < 300 ? (int)size : 300, data);
    return elapsed_ns;
}

static void run_in_turn(const struct options *options)
{
    for (size_t run = 0; run < options->warmup + options->runs; run++)
        for (size_t i = 0; i < options->count; i++) {
            uint64_t elapsed_ns = command_time(&options->commands[i], options->expected);
            if (run >= options->warmup)
                options->commands[i].samples[run - options->warmup] = elapsed_ns;
        }
}

static void report(const struct options *options)
{
    for (size_t i = 0; i < options->count; i++) {
        uint64_t *samples = options->commands[i].samples;
        sort_ns(samples, options->runs);
        printf("{\"command\":%zu,\"runs\":%zu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"min_us\":%.1f}\n",
               i, options->runs, percentile_us(samples, options->runs, 50),
               percentile_us(samples, options->runs, 99), percentile_us(samples, options->runs, 0));
    }
}

static void add_command(void *arg, char **argv)
{
    struct options *options = arg;
    if (!*argv)
        errx(2, "an empty command");
    if (options->count == COMMANDS_MAX)
        errx(2, "at most %d commands", COMMANDS_MAX);
    uint64_t *samples = calloc(options->runs, sizeof *samples);
    if (!samples)
        err(1, "memory");
    options->commands[options->count++] = (struct command){.argv = argv, .samples = samples};
}

static struct options options_parse(int argc, char **argv)
{
    static const struct option table[] = {
        {"runs", required_argument, NULL, 'n'},
        {"warmup", required_argument, NULL, 'w'},
        {"expect", required_argument, NULL, 'e'},
        {0},
    };
    struct options options = {.runs = 200, .warmup = 10};
    for (int key; (key = getopt_long(argc, argv, "+", table, NULL)) != -1;)
        switch (key) {
        case 'n':
            options.runs = parse_count(optarg);
            break;
        case 'w':
            options.warmup = parse_count(optarg);
            break;
        case 'e':
            options.expected = optarg;
            break;
        default:
            exit(2);
        }
    if (!options.runs || !argv[optind])
        errx(2,
             "usage: spawn [--runs N] [--warmup N] [--expect TEXT] -- COMMAND... [:: COMMAND...]");
    split_words(argv + optind, add_command, &options);
    return options;
}

int main(int argc, char **argv)
{
    struct options options = options_parse(argc, argv);
    run_in_turn(&options);
    report(&options);
    for (size_t i = 0; i < options.count; i++)
        free(options.commands[i].samples);
    return 0;
}

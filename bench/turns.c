// One call to a gate that stays, then the same work by a program that is started for it, in turn, many
// times. Prints the times of both, the wall clock from request to the end of the answer, and the processor's time for one
// of each on average, as one line of JSON.

#include "command.h"
#include "measure.h"
#include "tree.h"

#include <getopt.h>
#include <stdio.h>
#include <sys/resource.h>

enum { OUTPUT_MAX = 64 << 20, PROGRAMS = 2 };

struct options {
    size_t runs, warmup;
    const char *request; // one line
    const char *expected;
    char **argv[PROGRAMS]; // the gate, the peer
};

static char output[OUTPUT_MAX];

// An answer is one line.
static size_t read_answer(int fd, bool line)
{
    size_t size = 0;
    for (ssize_t got; (got = read(fd, output + size, OUTPUT_MAX - size)) > 0;) {
        size += (size_t)got;
        if (line && output[size - 1] == '\n')
            break;
    }
    return size;
}

static uint64_t gate_time(const struct gate *gate, const struct options *options, size_t *ret_size)
{
    size_t n = strlen(options->request);
    uint64_t begin_ns = now_ns();
    if (write(gate->in, options->request, n) != (ssize_t)n || write(gate->in, "\n", 1) != 1)
        err(1, "writing a request");
    *ret_size = read_answer(gate->out, true);
    uint64_t elapsed_ns = now_ns() - begin_ns;
    if (!memmem(output, *ret_size, options->expected, strlen(options->expected)))
        errx(1, "the gate did not answer as expected: %.*s", *ret_size < 300 ? (int)*ret_size : 300,
             output);
    return elapsed_ns;
}

// 1 is what search programs exit with when nothing was found.
static uint64_t peer_time(char **argv, size_t *ret_size, struct rusage *ret_use)
{
    int fd, status;
    uint64_t begin_ns = now_ns();
    pid_t pid = command_start(argv, &fd);
    *ret_size = read_answer(fd, false);
    if (wait4(pid, &status, 0, ret_use) < 0)
        err(1, "wait");
    uint64_t elapsed_ns = now_ns() - begin_ns;
    close(fd);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
        errx(1, "%s failed with status 0x%x", argv[0], (unsigned)status);
    return elapsed_ns;
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000ull + (uint64_t)time.tv_usec;
}

static void print_samples(const char *name, const uint64_t *samples, size_t count)
{
    printf("\"%s\":[", name);
    for (size_t i = 0; i < count; i++)
        printf("%s%.1f", i ? "," : "", (double)samples[i] / 1e3);
    printf("],");
}

static void run(const struct options *options)
{
    uint64_t *samples[PROGRAMS];
    size_t size[PROGRAMS];
    struct rusage peer = {0};
    uint64_t gate_cpu_ns = 0, peer_cpu_us = 0;
    for (int i = 0; i < PROGRAMS; i++)
        if (!(samples[i] = calloc(options->runs, sizeof *samples[i])))
            err(1, "memory");
    struct gate gate = gate_start(options->argv[0]);
    for (size_t i = 0; i < options->warmup + options->runs; i++) {
        uint64_t ours = gate_time(&gate, options, &size[0]);
        uint64_t theirs = peer_time(options->argv[1], &size[1], &peer);
        if (i + 1 == options->warmup)
            gate_cpu_ns = tree_measure(gate.pid).cpu_ns;
        if (i < options->warmup)
            continue;
        peer_cpu_us += microseconds(peer.ru_utime) + microseconds(peer.ru_stime);
        samples[0][i - options->warmup] = ours;
        samples[1][i - options->warmup] = theirs;
    }
    struct tree_use use = tree_measure(gate.pid);
    gate_cpu_ns = use.cpu_ns - gate_cpu_ns;
    gate_end(&gate);
    printf("{");
    print_samples("gate_us", samples[0], options->runs);
    print_samples("peer_us", samples[1], options->runs);
    printf("\"gate_bytes\":%zu,\"peer_bytes\":%zu,", size[0], size[1]);
    printf("\"gate_cpu_us\":%.1f,\"peer_cpu_us\":%.1f,",
           (double)gate_cpu_ns / 1e3 / (double)options->runs,
           (double)peer_cpu_us / (double)options->runs);
    printf("\"gate_peak\":%llu,\"peer_peak\":%llu}\n", (unsigned long long)use.peak_bytes,
           (unsigned long long)peer.ru_maxrss * 1024);
    for (int i = 0; i < PROGRAMS; i++)
        free(samples[i]);
}

static struct options options_parse(int argc, char **argv)
{
    static const struct option table[] = {
        {"runs", required_argument, NULL, 'n'},
        {"warmup", required_argument, NULL, 'w'},
        {"request", required_argument, NULL, 'r'},
        {"expect", required_argument, NULL, 'e'},
        {0},
    };
    struct options options = {.runs = 20, .warmup = 3, .expected = "\"ok\":true"};
    for (int key; (key = getopt_long(argc, argv, "+", table, NULL)) != -1;)
        switch (key) {
        case 'n':
            options.runs = parse_count(optarg);
            break;
        case 'w':
            options.warmup = parse_count(optarg);
            break;
        case 'r':
            options.request = optarg;
            break;
        case 'e':
            options.expected = optarg;
            break;
        default:
            exit(2);
        }
    options.argv[0] = argv + optind;
    for (char **word = argv + optind; *word; word++)
        if (strcmp(*word, "::") == 0) {
            *word = NULL;
            options.argv[1] = word + 1;
            break;
        }
    if (!options.runs || !options.request || !options.argv[1] || !*options.argv[1])
        errx(2, "usage: turns [--runs N] [--warmup N] [--expect TEXT] --request LINE -- GATE... :: "
                "PEER...");
    return options;
}

int main(int argc, char **argv)
{
    struct options options = options_parse(argc, argv);
    run(&options);
    return 0;
}

// What policy and audit add to a call: the same calls through a pipeline that has neither, through one with rules and
// the log, through one where each call also counts against a rate and a budget, and through one whose log is on disk
// before its answer, in turn. No cell: the calls are finished as soon as they start. One line of JSON, medians in us.

#include "measure.h"

#include "base/mem.h"
#include "core/registry.h"
#include "dialect/dialects.h"
#include "gate/keeper.h"
#include "gate/record.h"
#include "tools/all.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RULES = 20, LINE = 600 };

struct way {
    const char *name;
    bool writes;      // else it reads
    const char *more; // of the configuration; NULL: neither policy nor log
    const char *sync; // NULL: no log
    uv_loop_t loop;
    struct pipeline pipeline;
    struct config *config;
    struct workplace workplace;
    struct keeper *keeper;
    struct audit *audit;
    struct record record;
    int state_fd;
    bool answered;
    uint64_t *samples;
};

static const struct root roots[] = {{"workspace", "/workspace", "/srv/project", true}};

static void start(struct call *call)
{
    pipeline_finish(call, NULL);
}

static void nothing(void *self, struct call *call)
{
    (void)self;
    (void)call;
}

static int allow(void *self, struct call *call, struct err *why)
{
    (void)self;
    (void)call;
    (void)why;
    return 0;
}

static void no_intent(void *self, const struct call *call)
{
    (void)self;
    (void)call;
}

static int no_flush(void *self, struct err *why)
{
    (void)self;
    (void)why;
    return 0;
}

static void at_once(void *self, void (*done)(void *arg, int status), void *arg)
{
    (void)self;
    done(arg, 0);
}

static void answered(struct call *call)
{
    struct way *way = call->front;
    if (call->failed)
        errx(1, "%s: %s", way->name, call->err.message);
    way->answered = true;
    call_free(call);
}

static struct config *make_config(const struct way *way)
{
    struct err why;
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    buf_add_text(&text, "{\"approval\":{\"default\":\"approve\",\"rules\":[");
    for (int i = 0; i < RULES; i++)
        buf_addf(
            &text,
            "%s{\"toolName\":\"read_file\",\"action\":\"deny\",\"condition\":{\"path\":\"secret/%d\"}}",
            i ? "," : "", i);
    buf_addf(&text, "]}%s}", way->more ? way->more : "");
    struct config *config = config_new();
    if (config_apply(config, buf_str(&text), "bench", CONFIG_OPERATOR, NULL, NULL, &why) < 0)
        errx(1, "%s", why.message);
    return config;
}

static void open_way(struct way *way, const char *folder)
{
    struct err why;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, way->name);
    if (mkdir(path, 0700) < 0 ||
        (way->state_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        err(1, "%s", path);
    uv_loop_init(&way->loop);
    pipeline_init(&way->pipeline, &way->loop);
    way->pipeline.timeout_ms = 30000;
    static const struct runner runners[RUN_COUNT] = {[RUN_WORKER] = {.start = start}};
    way->pipeline.runners = runners;
    way->config = make_config(way);
    way->workplace = (struct workplace){.roots = roots,
                                        .n_roots = 1,
                                        .config = way->config,
                                        .tier = {.id = TIER_FULL},
                                        .session_id = ""};
    way->pipeline.policy = (struct policy_hook){.judge = allow};
    way->pipeline.recorder = (struct recorder){no_intent, nothing, no_flush, at_once, NULL};
    if (!way->sync)
        return;
    struct keeper_options options = {.loop = &way->loop,
                                     .state_fd = way->state_fd,
                                     .config = way->config,
                                     .durable = strcmp(way->sync, "always") == 0};
    struct audit_options log = {.sync = strcmp(way->sync, "always") == 0 ? AUDIT_SYNC_ALWAYS
                                                                         : AUDIT_SYNC_BATCH,
                                .batch_ms = 100,
                                .max_bytes = UINT64_MAX};
    if (keeper_new(&way->keeper, &options, &why) < 0 ||
        audit_open(&way->audit, &way->loop, way->state_fd, &log, &why) < 0)
        errx(1, "%s", why.message);
    record_init(&way->record, way->audit, log.sync);
    keeper_use_audit(way->keeper, way->audit);
    way->pipeline.policy = keeper_hook(way->keeper);
    way->pipeline.recorder = record_recorder(&way->record);
}

static uint64_t one_call(struct way *way)
{
    const char *arguments = way->writes ? "{\"path\":\"src/main.c\",\"content\":\"x\"}"
                                        : "{\"path\":\"src/main.c\"}";
    struct call *call = call_new();
    call->name = mem_dup(way->writes ? "write_file" : "read_file");
    call->doc = yyjson_read(arguments, strlen(arguments), 0);
    call->arguments = yyjson_doc_get_root(call->doc);
    call->dialect = &dialect_native;
    call->workplace = &way->workplace;
    call->answer = answered;
    call->front = way;
    way->answered = false;
    uint64_t begin_ns = now_ns();
    pipeline_submit(&way->pipeline, call);
    uv_run(&way->loop, UV_RUN_NOWAIT);
    while (!way->answered)
        uv_run(&way->loop, UV_RUN_ONCE);
    return now_ns() - begin_ns;
}

static void close_way(struct way *way)
{
    keeper_free(way->keeper);
    pipeline_done(&way->pipeline);
    if (way->audit)
        record_done(&way->record);
    audit_close(way->audit);
    uv_run(&way->loop, UV_RUN_DEFAULT);
    uv_loop_close(&way->loop);
    config_free(way->config);
    close(way->state_fd);
}

static uint64_t bare_sync(int fd)
{
    char line[LINE];
    memset(line, 'x', sizeof line);
    uint64_t begin_ns = now_ns();
    if (write(fd, line, sizeof line) != (ssize_t)sizeof line || fdatasync(fd) < 0)
        err(1, "the bare file");
    return now_ns() - begin_ns;
}

int main(int argc, char **argv)
{
    static struct way ways[] = {
        {.name = "plain"},
        {.name = "batch", .sync = "batch"},
        {.name = "charged",
         .sync = "batch",
         .more =
             ",\"policy\":{\"rateLimits\":{\"read_file\":{\"maxCalls\":1000000,\"windowMs\":60000}},"
             "\"budgets\":[{\"unit\":\"calls\",\"limit\":1000000000}]}"},
        {.name = "always", .sync = "always"},
        {.name = "always_writes", .sync = "always", .writes = true},
    };
    if (argc != 3)
        errx(2, "usage: bench_added FOLDER CALLS");
    size_t calls = parse_count(argv[2]);
    char path[4096];
    snprintf(path, sizeof path, "%s/bare", argv[1]);
    int bare = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    uint64_t *syncs = calloc(calls, sizeof *syncs);
    if (bare < 0 || !syncs)
        err(1, "%s", path);
    // As a gate does.
    mallopt(M_MMAP_THRESHOLD, 8 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
    registry_use(tools_all);
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        open_way(&ways[i], argv[1]);
        ways[i].samples = calloc(calls, sizeof *ways[i].samples);
    }
    // Those that wait for the disk among themselves: the others would find their caches cold.
    struct way *always = &ways[ARRAY_LEN(ways) - 2];
    for (size_t n = 0; n < calls; n++) {
        for (struct way *way = ways; way < always; way++)
            way->samples[n] = one_call(way);
    }
    for (size_t n = 0; n < calls; n++) {
        always[0].samples[n] = one_call(&always[0]);
        always[1].samples[n] = one_call(&always[1]);
        syncs[n] = bare_sync(bare);
    }
    printf("{");
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        sort_ns(ways[i].samples, calls);
        printf("\"%s\":%.2f,", ways[i].name, percentile_us(ways[i].samples, calls, 50));
        close_way(&ways[i]);
    }
    sort_ns(syncs, calls);
    printf("\"sync\":%.2f}\n", percentile_us(syncs, calls, 50));
    return 0;
}

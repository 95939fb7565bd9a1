/* `sandgate tool run|test`: calls of a tool as an agent's are, by the same rules and in the same cell. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/shown.h"
#include "base/str.h"
#include "core/registry.h"
#include "dialect/format.h"
#include "front/front.h"
#include "front/interrupt.h"
#include "front/notice.h"
#include "front/prompt.h"
#include "front/tool_parts.h"
#include "session/modules.h"

#define ANSWER_SHOWN 2000
#define ANSWER_MAX (64u << 20)

/* A gate, and the call that is under way in it. */
struct tool_bench {
    struct gate gate;
    struct tool_folder at;
    const char *name;
    char *workspace; /* made for it; NULL: another was said */
    struct call *call;
    struct buf answer;
    uint64_t began_ns;
    uint64_t took_ns;
    int status;
    struct interrupt interrupt;
    struct notice notice;
    struct prompt *prompt;
};

static void take_bench_answer(struct call *call)
{
    struct tool_bench *bench = call->front;
    const struct request plain = {0};
    bench->took_ns = clock_mono_ns() - bench->began_ns;
    format_write(FORMAT_TOOL_CALL, &plain, call, true, &bench->answer);
    bench->status = bench->answer.failed ? EXIT_TOOL_ERROR : front_status_of(call);
    bench->call = NULL;
    uv_stop(&bench->gate.loop);
    call_free(call);
}

/* A folder here before a name of the configuration. */
static int find_bench_tool(struct tool_bench *bench, const char *said, struct err *err)
{
    FREE_AT_END char *manifest = mem_format("%s/manifest.json", said);
    bench->name = said;
    if (!strchr(said, '/') && strcmp(said, ".") != 0 && access(manifest, F_OK) < 0)
        return 0;
    int r = tool_folder_find(said, &bench->at, err);
    bench->name = bench->at.name;
    return r;
}

/* The author's tools themselves may not be where an agent can write, and a session has to be somewhere. */
static int make_bench_folder(struct tool_bench *bench, struct err *err)
{
    const char *temp = getenv("TMPDIR");
    bench->workspace = mem_format("%s/sandgate-tool-XXXXXX", temp && *temp ? temp : "/tmp");
    if (mkdtemp(bench->workspace))
        return 0;
    free(TAKE_PTR(bench->workspace));
    return err_set(err, ERR_CONFLICT, "no folder for temporary files (TMPDIR): %s",
                   strerror(errno));
}

static int open_bench(struct tool_bench *bench, const struct options *o, const char *said,
                      struct err *err)
{
    struct gate_options go;
    FREE_AT_END char *state = NULL;
    *bench = (struct tool_bench){.answer = BUF_INIT(ANSWER_MAX)};
    if (find_bench_tool(bench, said, err) < 0 || front_gate_options(o, &go, &state, err) < 0 ||
        (!o->workspace && make_bench_folder(bench, err) < 0))
        return -1;
    if (bench->workspace)
        go.workspace = bench->workspace;
    go.commands = false;
    go.once = true;
    go.tool_parent = bench->at.parent;
    go.tool_name = bench->at.name;
    if (gate_open(&bench->gate, &go, err) < 0)
        return -1;
    interrupt_start(&bench->interrupt, &bench->gate.loop, &bench->call);
    bench->prompt = prompt_start(&bench->gate);
    notice_start(&bench->notice, &bench->gate);
    return 0;
}

static void close_bench(struct tool_bench *bench)
{
    notice_stop(&bench->notice);
    prompt_stop(bench->prompt);
    interrupt_stop(&bench->interrupt);
    gate_close(&bench->gate);
}

static void bench_done(struct tool_bench *bench)
{
    buf_done(&bench->answer);
    if (bench->workspace)
        rmdir(bench->workspace);
    free(bench->workspace);
    tool_folder_done(&bench->at);
}

/* The answer is in `answer` then. */
static int bench_call(struct tool_bench *bench, struct str arguments, struct err *err)
{
    struct json_error why;
    yyjson_doc *doc = NULL;
    if (json_parse(arguments.p, arguments.n, arguments.n, JSON_STRICT, &doc, &why) < 0)
        return err_field(err, "arguments", "the arguments are no JSON: %s (at byte %zu)", why.what,
                         why.at);
    struct call *call = bench->call = gate_call_new(&bench->gate, bench->gate.session);
    buf_cut(&bench->answer, 0);
    call->name = mem_dup(bench->name);
    call->front = bench;
    call->answer = take_bench_answer;
    call->doc = doc;
    call->arguments = yyjson_doc_get_root(doc);
    bench->began_ns = clock_mono_ns();
    pipeline_submit(&bench->gate.pipeline, call);
    while (bench->call)
        uv_run(&bench->gate.loop, UV_RUN_DEFAULT);
    return 0;
}

/* The gate's: it is what runs. */
static const struct manifest *find_manifest(const struct tool_bench *bench, struct err *err)
{
    const struct tool *tool = registry_find(DIALECT_NATIVE, str_of(bench->name), err);
    if (tool && tool->input)
        return (const void *)tool;
    if (tool)
        err_field(err, "name", "`%.60s` is a builtin tool; `sandgate call` runs those",
                  bench->name);
    return NULL;
}

/* What is compiled already is found by the manifest's hash alone: another module put beside it by hand would not be what
 * runs. */
static int check_bench_module(const struct tool_bench *bench, const struct manifest *m,
                              struct err *err)
{
    BUF_AT_END struct buf module = BUF_INIT(MODULE_BYTES_MAX + 2);
    return bench->at.name ? modules_source(m, &module, err) : 0;
}

/* --- run */

int tool_run(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    CLEANUP(bench_done) struct tool_bench bench = {0};
    (void)state_fd;
    (void)out;
    if (o->n_words < 2)
        return err_set(err, ERR_INVALID_ARGUMENTS, "say `tool run NAME|DIR [JSON]`");
    if (open_bench(&bench, o, o->words[1], err) < 0)
        return -1;
    const struct manifest *m = find_manifest(&bench, err);
    int r = m ? check_bench_module(&bench, m, err) : -1;
    if (r == 0)
        r = bench_call(&bench, str_of(o->n_words > 2 ? o->words[2] : "{}"), err);
    if (r == 0) {
        char line[80];
        tool_status = front_print(buf_str(&bench.answer)) < 0 ? EXIT_TOOL_ERROR : bench.status;
        snprintf(line, sizeof line, "%.1f ms, the start of its process included\n",
                 (double)bench.took_ns / 1e6);
        fd_write_all(STDERR_FILENO, line, strlen(line));
    }
    close_bench(&bench);
    return r;
}

/* --- test */

static bool is_as_example(yyjson_val *example, yyjson_val *answer)
{
    yyjson_val *output = yyjson_obj_get(example, "output");
    yyjson_val *error = yyjson_obj_get(example, "error");
    yyjson_val *code = yyjson_obj_get(yyjson_obj_get(answer, "error"), "code");
    if (error)
        return !output && yyjson_is_str(error) && yyjson_equals(error, code);
    yyjson_val *result = yyjson_obj_get(yyjson_obj_get(answer, "result"), "output");
    return output && result && yyjson_equals(output, result);
}

/* Both sides stand in the line: who reads it need not run it again. */
static void tell_case(const struct tool_bench *bench, size_t number, yyjson_val *example,
                      const char *arguments, bool passed, struct buf *out)
{
    buf_addf(out, "%s %zu - ", passed ? "ok" : "not ok", number);
    shown_line(str_of(arguments), ANSWER_SHOWN, out);
    buf_addf(out, " (%.1f ms)\n", (double)bench->took_ns / 1e6);
    if (passed)
        return;
    yyjson_val *wanted = yyjson_obj_get(example, "error");
    FREE_AT_END char *text = yyjson_val_write(wanted ? wanted : yyjson_obj_get(example, "output"),
                                              0, NULL);
    buf_addf(out, "# wanted %s ", wanted ? "error" : "output");
    shown_line(str_of(text), ANSWER_SHOWN, out);
    buf_add_text(out, "\n# got ");
    shown_line(buf_str(&bench->answer), ANSWER_SHOWN, out);
    buf_add_char(out, '\n');
}

static int test_example(struct tool_bench *bench, size_t number, yyjson_val *example,
                        struct buf *out, struct err *err)
{
    FREE_AT_END char *arguments = yyjson_val_write(yyjson_obj_get(example, "input"), 0, NULL);
    JSON_AT_END yyjson_doc *answer = NULL;
    if (!arguments)
        return err_no_memory(err);
    if (bench_call(bench, str_of(arguments), err) < 0)
        return -1;
    const struct buf *a = &bench->answer;
    bool passed = json_parse(a->data, a->len, a->len, JSON_STRICT, &answer, NULL) == 0 &&
                  is_as_example(example, yyjson_doc_get_root(answer));
    tell_case(bench, number, example, arguments, passed, out);
    if (!passed)
        tool_status = EXIT_TOOL_ERROR;
    return 0;
}

static int test_examples(struct tool_bench *bench, struct buf *out, struct err *err)
{
    const struct manifest *m = find_manifest(bench, err);
    size_t idx;
    size_t max;
    yyjson_val *example;
    if (!m || check_bench_module(bench, m, err) < 0)
        return -1;
    buf_addf(out, "1..%zu\n", yyjson_arr_size(m->examples));
    if (yyjson_arr_size(m->examples) == 0)
        return err_field(err, "examples", "examples: there are none, so nothing was tested");
    yyjson_arr_foreach(m->examples, idx, max, example) {
        if (test_example(bench, idx + 1, example, out, err) < 0)
            return -1;
    }
    return 0;
}

int tool_test(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    CLEANUP(bench_done) struct tool_bench bench = {0};
    (void)state_fd;
    if (o->n_words > 2)
        return err_set(err, ERR_INVALID_ARGUMENTS, "say `tool test [DIR]`");
    FREE_AT_END char *folder = mem_format("%s/.", o->words[1] ? o->words[1] : ".");
    if (open_bench(&bench, o, folder, err) < 0)
        return -1;
    int r = test_examples(&bench, out, err);
    close_bench(&bench);
    return r;
}

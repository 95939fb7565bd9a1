#include "base/mem.h"
#include "core/call.h"
#include "core/glob.h"
#include "tools/all.h"
#include "tools/search.h"

/* More is not refused, but no more is returned. */
#define CONTEXT_MAX 10000
#define MATCHES_MAX 10000
#define LOG_FILE "logs/execution.jsonl"

struct args {
    struct str path;
    struct str pattern;
    int64_t before;
    int64_t after;
    int64_t max_matches;
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "Folder or file to search: @project, @pkg or @state, with a path behind it."},
    {.name = "pattern",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct args, pattern),
     .max = SEARCH_PATTERN_MAX,
     .doc = "Text to look for in each line, as it is; or a regular expression between slashes, "
            "with i behind them to ignore case: /step-\\d+/i. No look-around, no back-references."},
    {.name = "before",
     .type = ARG_INT,
     .offset = offsetof(struct args, before),
     .def = 1,
     .doc = "Lines to show before each match."},
    {.name = "after",
     .type = ARG_INT,
     .offset = offsetof(struct args, after),
     .def = 1,
     .doc = "Lines to show behind each match."},
    {.name = "maxMatches",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_matches),
     .min = 1,
     .def = 50,
     .doc = "Most matches to return."},
};

static const struct arg line_of_text = {.name = "line", .type = ARG_STRING};

static const struct arg match_fields[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "line", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "text", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "before", .type = ARG_LIST, .flags = ARG_REQUIRED, .items = &line_of_text},
    {.name = "after", .type = ARG_LIST, .flags = ARG_REQUIRED, .items = &line_of_text},
};

static const struct arg stats_fields[] = {
    {.name = "filesSearched", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "filesSkipped", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "durationMs", .type = ARG_INT, .flags = ARG_REQUIRED},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "matches",
     .type = ARG_OBJECTS,
     .flags = ARG_REQUIRED,
     .items = match_fields,
     .n_items = ARRAY_LEN(match_fields)},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED},
    {.name = "stats",
     .type = ARG_OBJECT,
     .flags = ARG_REQUIRED | ARG_STRICT,
     .items = stats_fields,
     .n_items = ARRAY_LEN(stats_fields)},
};

/* Whether these are flags as expressions have them in other languages, each at most once. What is not,
 * as in /usr/bin, makes the pattern plain text. */
static bool are_flags(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!strchr("dgimsuvxy", text.p[i]) || memchr(text.p, text.p[i], i))
            return false;
    }
    return true;
}

/* Every line is searched by itself, all of it, as Unicode: g, m, s and u ask for nothing else. */
static int take_regex_flags(struct str flags, struct op_search_request *wanted, struct err *err)
{
    for (size_t i = 0; i < flags.n; i++) {
        if (!strchr("gimsu", flags.p[i]))
            return err_field(err, "pattern",
                             "the expression has the flag `%c`, which is not known here: leave it "
                             "out; `i` ignores case, and g, m, s, u change nothing",
                             flags.p[i]);
        wanted->ignore_case |= flags.p[i] == 'i';
    }
    return 0;
}

static int take_pattern(struct str text, struct op_search_request *wanted, struct err *err)
{
    wanted->pattern = text;
    wanted->literal = true;
    if (text.n < 3 || text.p[0] != '/')
        return 0;
    const char *slash = memrchr(text.p, '/', text.n);
    struct str inner = {text.p + 1, slash > text.p ? (size_t)(slash - text.p) - 1 : 0};
    struct str flags = {slash + 1, (size_t)(text.p + text.n - slash) - 1};
    if (inner.n == 0 || !are_flags(flags))
        return 0;
    wanted->pattern = inner;
    wanted->literal = false;
    return take_regex_flags(flags, wanted, err);
}

/* A path as a glob that means just it, from where the search begins. */
static void add_as_glob(const char *path, struct buf *out)
{
    buf_add_text(out, "./");
    for (; *path; path++) {
        if (strchr("\\*?[]{},", *path))
            buf_add_char(out, '\\');
        buf_add_char(out, *path);
    }
}

/* The run's own log holds what was searched for. Where @state lies in another mount, it is there as well. */
static struct str own_log(struct call *call)
{
    const struct workplace *at = call->workplace;
    const char *within = path_is_root(&call->path) ? "" : call->path.text;
    FREE_AT_END char *start = mem_format("%s/%s", at->roots[call->path.root].host, within);
    buf_done(&call->packed);
    buf_init(&call->packed, GLOB_TEXT_MAX - 1);
    for (size_t i = 0; i < at->n_roots; i++) {
        FREE_AT_END char *log = mem_format("%s/" LOG_FILE, at->roots[i].host);
        const char *rest = strcmp(at->roots[i].name, "@state") == 0 ? path_rest(log, start) : NULL;
        if (rest && *rest)
            add_as_glob(rest, &call->packed);
    }
    return call->packed.len && !call->packed.failed ? buf_str(&call->packed) : (struct str){0};
}

static int64_t limit_search_number(int64_t number, int64_t most)
{
    return number < most ? number : most;
}

static int prepare_toolhost_search(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    struct op_search_request wanted = {
        .before = limit_search_number(a->before, CONTEXT_MAX),
        .after = limit_search_number(a->after, CONTEXT_MAX),
        .max_matches = limit_search_number(a->max_matches, MATCHES_MAX),
        .hidden_files = true,
        .mode = SEARCH_LINES,
    };
    if (take_pattern(a->pattern, &wanted, err) < 0 ||
        search_prepare(call, a->path, (struct str){0}, &wanted, "", err) < 0)
        return -1;
    call->request.search.exclude = own_log(call);
    return 0;
}

/* The same lines may be context of many matches. False: there was no room for all of them. */
static bool write_toolhost_matches(const struct call *call, struct json_out *j)
{
    SEARCH_AT_END struct search_walk walk = search_begin(call);
    size_t most = j->out->len + (size_t)config_int(call->workplace->config, "limits.maxReplyBytes");
    while (!j->out->failed && search_next(&walk)) {
        if (j->out->len > most)
            return false;
        jo_open(j, '{');
        jo_kstr(j, "path", buf_str(&walk.path));
        jo_kint(j, "line", walk.match.number);
        jo_key(j, "text");
        search_write_line(j, &walk.match);
        search_write_context(&walk, false, j);
        jo_close(j, '}');
    }
    return true;
}

/* The worker's numbers may be any. */
static int64_t sum(const int64_t *numbers, size_t count)
{
    int64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total = numbers[i] > INT64_MAX - total ? INT64_MAX : total + numbers[i];
    return total;
}

static void write_toolhost_stats(const struct call *call, struct json_out *j)
{
    const struct op_search_reply *r = &call->reply.search;
    const int64_t skipped[] = {r->binary, r->ignored, r->unreadable, r->long_lines};
    jo_key(j, "stats");
    jo_open(j, '{');
    jo_kint(j, "filesSearched", r->files);
    jo_kint(j, "filesSkipped", sum(skipped, ARRAY_LEN(skipped)));
    jo_kint(j, "durationMs", call_duration_ms(call));
    jo_close(j, '}');
}

static int shape_toolhost_search(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct op_search_reply *r = &call->reply.search;
    bool all = true;
    call_write_path(call, j, "path");
    if (jo_karray(j, "matches", (size_t)r->matches)) {
        all = write_toolhost_matches(call, j);
        jo_close(j, ']');
    }
    jo_kbool(j, "truncated", r->truncated || !all);
    write_toolhost_stats(call, j);
    return 0;
}

const struct tool toolhost_fs_search = {
    .dialect = DIALECT_TOOLHOST,
    .name = "fs.search",
    .alias = "fs_search",
    .title = "Search files",
    .description =
        "Searches the lines of the text files in a folder of @project, @pkg or @state, and in the "
        "folders inside, for a text or a /regular expression/. Returns each line that matches "
        "with its path, its number and the lines around it. Folders whose name begins with a "
        "dot, node_modules and binary files are left out. When truncated is true, search a folder "
        "inside or make the pattern longer.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_TREE,
    .runner = RUN_WORKER,
    .prepare = prepare_toolhost_search,
    .shape = shape_toolhost_search,
};

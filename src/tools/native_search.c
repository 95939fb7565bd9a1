#include <inttypes.h>

#include "base/utf8.h"
#include "core/call.h"
#include "tools/all.h"
#include "tools/search.h"
#include "tools/show.h"

struct args {
    struct str pattern;
    struct str path;
    struct str path_b64;
    bool literal;
    bool ignore_case;
    bool word;
    struct str include;
    struct str exclude;
    bool hidden;
    bool ignore;
    int64_t before;
    int64_t after;
    int64_t max_results;
    int64_t mode;
};

static const struct arg args[] = {
    {.name = "pattern",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct args, pattern),
     .max = SEARCH_PATTERN_MAX,
     .doc =
         "Regular expression for one line, in Rust's syntax; no look-around, no back-references."},
    {.name = "path",
     .alias = "file_path",
     .type = ARG_STRING,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "Folder or file; default: the workspace."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_READS | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
    {.name = "literal",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, literal),
     .doc = "The pattern is plain text."},
    {.name = "ignore_case",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, ignore_case),
     .doc = "Capital and small letters are the same."},
    {.name = "word",
     .type = ARG_BOOL,
     .flags = ARG_UNLISTED,
     .offset = offsetof(struct args, word),
     .doc = "Only whole words."},
    {.name = "include",
     .type = ARG_STRING,
     .offset = offsetof(struct args, include),
     .max = 1024,
     .doc = "Only files that match: *.c at any depth, src/**/*.{ts,tsx} seen from the folder."},
    {.name = "exclude",
     .type = ARG_STRING,
     .offset = offsetof(struct args, exclude),
     .max = 1024,
     .doc = "Leave out files that match, and folders with all in them: {dist,*.min.js}."},
    {.name = "hidden",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, hidden),
     .doc = "Also names that begin with a dot."},
    {.name = "ignore",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, ignore),
     .def = true,
     .doc = "Leave out what .gitignore and .ignore files name."},
    {.name = "before",
     .type = ARG_INT,
     .offset = offsetof(struct args, before),
     .max = 100,
     .doc = "Lines of context before each match."},
    {.name = "after",
     .type = ARG_INT,
     .offset = offsetof(struct args, after),
     .max = 100,
     .doc = "Lines of context behind each match."},
    {.name = "max_results",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_results),
     .min = 1,
     .max = 10000,
     .def = 100,
     .doc = "Most matching lines, or files."},
    {.name = "mode",
     .type = ARG_CHOICE,
     .offset = offsetof(struct args, mode),
     .choices = search_mode_names,
     .doc = "lines; only the files that match; or count: those files with how many lines match."},
};

static const struct arg line_of_text = {.name = "line", .type = ARG_STRING};
static const struct arg offset = {.name = "offset", .type = ARG_INT, .def = ARG_ABSENT};
static const struct arg span = {
    .name = "span", .type = ARG_LIST, .items = &offset, .min = 2, .max = 2};

static const struct arg match_fields[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "path_b64", .type = ARG_STRING, .doc = "Base64 of the path, where it is not UTF-8."},
    {.name = "line", .type = ARG_INT, .def = ARG_ABSENT, .doc = "Counted from 1."},
    {.name = "column",
     .type = ARG_INT,
     .def = ARG_ABSENT,
     .doc = "Byte of the line where the match begins, from 1."},
    {.name = "text", .type = ARG_STRING, .doc = "The line without its end."},
    {.name = "spans",
     .type = ARG_LIST,
     .items = &span,
     .doc = "Start and end of each match in the line, in bytes from its beginning."},
    {.name = "before", .type = ARG_LIST, .items = &line_of_text},
    {.name = "after", .type = ARG_LIST, .items = &line_of_text},
    {.name = "cut", .type = ARG_BOOL, .doc = "Parts of the long line are left out of text."},
    {.name = "count", .type = ARG_INT, .def = ARG_ABSENT, .doc = "Lines of the file that match."},
};

static const struct arg skipped_fields[] = {
    {.name = "binary", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "ignored", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "unreadable", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "long_lines", .type = ARG_INT, .flags = ARG_REQUIRED},
};

static const struct arg stats_fields[] = {
    {.name = "files", .type = ARG_INT, .flags = ARG_REQUIRED, .doc = "That were searched."},
    {.name = "bytes", .type = ARG_INT, .flags = ARG_REQUIRED, .doc = "Of them."},
    {.name = "duration_ms", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "skipped",
     .type = ARG_OBJECT,
     .flags = ARG_REQUIRED | ARG_STRICT,
     .items = skipped_fields,
     .n_items = ARRAY_LEN(skipped_fields)},
};

static const struct arg result[] = {
    {.name = "matches",
     .type = ARG_OBJECTS,
     .flags = ARG_REQUIRED,
     .items = match_fields,
     .n_items = ARRAY_LEN(match_fields)},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED},
    {.name = "hint", .type = ARG_STRING},
    {.name = "stats",
     .type = ARG_OBJECT,
     .flags = ARG_REQUIRED | ARG_STRICT,
     .items = stats_fields,
     .n_items = ARRAY_LEN(stats_fields)},
};

static int prepare_native_search(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    bool lines = a->mode == SEARCH_LINES;
    struct op_search_request wanted = {
        .pattern = a->pattern,
        .include = a->include,
        .exclude = a->exclude,
        .literal = a->literal,
        .ignore_case = a->ignore_case,
        .word = a->word,
        .hidden = a->hidden,
        .ignore = a->ignore,
        .before = lines ? a->before : 0,
        .after = lines ? a->after : 0,
        .max_matches = a->max_results,
        .mode = a->mode,
    };
    return search_prepare(call, a->path.p ? a->path : STR("."), a->path_b64, &wanted, "include",
                          err);
}

static void write_match_path(const struct search_walk *walk, struct json_out *j)
{
    struct str path = buf_str(&walk->path);
    jo_kstr(j, "path", path);
    if (!utf8_valid(path.p, path.n)) {
        jo_key(j, "path_b64");
        jo_base64(j, path);
    }
}

static void write_spans(const struct found *match, struct json_out *j)
{
    jo_key(j, "spans");
    jo_open(j, '[');
    for (size_t i = 0; i < match->n_spans; i++) {
        struct found_span at = found_span(match, i);
        jo_open(j, '[');
        jo_int(j, at.start);
        jo_int(j, at.end);
        jo_close(j, ']');
    }
    jo_close(j, ']');
}

static void write_match(const struct search_walk *walk, struct json_out *j)
{
    const struct found *match = &walk->match;
    jo_open(j, '{');
    write_match_path(walk, j);
    jo_kint(j, "line", match->number);
    if (match->n_spans)
        jo_kint(j, "column", (int64_t)found_span(match, 0).start + 1);
    jo_key(j, "text");
    search_write_line(j, match);
    write_spans(match, j);
    if (walk->before || walk->after)
        search_write_context(walk, true, j);
    if (match->cut_before || match->cut_after)
        jo_kbool(j, "cut", true);
    jo_close(j, '}');
}

static void write_matching_file(const struct search_walk *walk, bool count, struct json_out *j)
{
    jo_open(j, '{');
    write_match_path(walk, j);
    if (count)
        jo_kint(j, "count", walk->match.number);
    jo_close(j, '}');
}

static void write_native_matches(const struct call *call, struct json_out *j)
{
    int64_t mode = call->request.search.mode;
    SEARCH_AT_END struct search_walk walk = search_begin(call);
    if (mode == SEARCH_LINES) {
        while (search_next(&walk))
            write_match(&walk, j);
    } else {
        while (search_next_file(&walk))
            write_matching_file(&walk, mode == SEARCH_COUNT, j);
    }
}

static void write_native_stats(const struct call *call, struct json_out *j)
{
    const struct op_search_reply *r = &call->reply.search;
    jo_key(j, "stats");
    jo_open(j, '{');
    jo_kint(j, "files", r->files);
    jo_kint(j, "bytes", r->bytes);
    jo_kint(j, "duration_ms", call_duration_ms(call));
    jo_key(j, "skipped");
    jo_open(j, '{');
    jo_kint(j, "binary", r->binary);
    jo_kint(j, "ignored", r->ignored);
    jo_kint(j, "unreadable", r->unreadable);
    jo_kint(j, "long_lines", r->long_lines);
    jo_close(j, '}');
    jo_close(j, '}');
}

static const char *const hints[SEARCH_CUTS] = {
    [SEARCH_CUT_COUNT] =
        "there is more: narrow the search with path, include or a longer pattern, look first where "
        "matches are with mode files or count, or raise max_results",
    [SEARCH_CUT_FOLDERS] =
        "some folders lie too deep, hold too many names or cannot be read, and were not searched: "
        "search a folder inside with path",
    [SEARCH_CUT_SIZE] =
        "there is more than fits one answer: narrow the search with path, include or a longer "
        "pattern, ask for fewer lines with before and after, or use mode files or count",
};

static int shape_native_search(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct op_search_reply *r = &call->reply.search;
    if (jo_karray(j, "matches", (size_t)r->matches)) {
        write_native_matches(call, j);
        jo_close(j, ']');
    }
    jo_kbool(j, "truncated", r->truncated);
    if (r->truncated)
        jo_ktext(j, "hint", hints[search_cut(call)]);
    write_native_stats(call, j);
    return 0;
}

static int show_native_search(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    const struct args *a = (const void *)&call->args;
    const struct op_search_reply *r = &call->reply.search;
    BUF_AT_END struct buf text = BUF_INIT(out->max);
    BUF_AT_END struct buf note = BUF_INIT(500);
    /* A match takes about 100 bytes. */
    size_t room = show_room(call, "max_results", 100 * a->max_results);
    int64_t shown = search_show(call, room, &text);
    if (shown < r->matches || r->truncated)
        buf_addf(&note, "cut after %" PRId64 " matches: %s", shown,
                 hints[shown < r->matches ? SEARCH_CUT_SIZE : search_cut(call)]);
    if (r->matches == 0)
        buf_addf(&text, "no matches in %" PRId64 " files", r->files);
    show_text_between(buf_str(&note), &text, out);
    return 0;
}

const struct tool native_search = {
    .dialect = DIALECT_NATIVE,
    .name = "search",
    .title = "Search in files",
    .description =
        "Searches text files line by line. What .gitignore and .ignore files name, hidden and binary files, .git and node_modules are left out. In a large workspace look first with mode files or count, then narrow with path and include.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_TREE | TOOL_LONG,
    .runner = RUN_WORKER,
    .prepare = prepare_native_search,
    .shape = shape_native_search,
    .show = show_native_search,
};

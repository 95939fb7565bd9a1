#include <inttypes.h>

#include "base/shown.h"
#include "core/call.h"
#include "tools/all.h"
#include "tools/search.h"

struct args {
    struct str pattern;
    struct str path;
    struct str include;
    bool ignore_case;
    int64_t max_results;
};

static const struct arg args[] = {
    {.name = "pattern",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct args, pattern),
     .max = SEARCH_PATTERN_MAX,
     .doc = "Regular expression to look for in each line. No look-around, no back-references."},
    {.name = "path",
     .type = ARG_STRING,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "Folder or file to search, relative to the workspace; the workspace itself when left "
            "out."},
    {.name = "include",
     .type = ARG_STRING,
     .offset = offsetof(struct args, include),
     .max = 1024,
     .doc = "Only files whose name matches this glob, such as *.py; with a slash it is matched "
            "with the path, seen from the folder."},
    {.name = "ignore_case",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, ignore_case),
     .doc = "Capital and small letters are the same."},
    {.name = "max_results",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_results),
     .min = 1,
     .max = 10000,
     .def = 100,
     .doc = "Most lines to return."},
};

static const struct arg result[] = {
    {.name = "text", .type = ARG_STRING, .flags = ARG_REQUIRED},
};

/* As `grep -rn` does: hidden files, node_modules and what .gitignore names too. Only .git is left out, where
 * git keeps the same lines once more. */
static int prepare_runner_grep(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    struct op_search_request wanted = {
        .pattern = a->pattern,
        .include = a->include,
        .exclude = STR(".git"),
        .ignore_case = a->ignore_case,
        .hidden = true,
        .modules = true,
        .max_matches = a->max_results,
        .mode = SEARCH_LINES,
    };
    return search_prepare(call, a->path.p ? a->path : STR("."), (struct str){0}, &wanted, "include",
                          err);
}

static void add_cut(const struct call *call, struct buf *text)
{
    static const char *const words[SEARCH_CUTS] = {
        [SEARCH_CUT_COUNT] = "raise max_results, or narrow the search with path or include",
        [SEARCH_CUT_FOLDERS] =
            "some folders lie too deep, hold too many names or cannot be read, and were not "
            "searched: search a folder inside with path",
        [SEARCH_CUT_SIZE] = "more does not fit one answer: narrow the search with path or include",
    };
    enum search_cut cut = search_cut(call);
    if (cut == SEARCH_CUT_NOT)
        return;
    buf_add_text(text, "\n[truncated: ");
    if (cut != SEARCH_CUT_FOLDERS)
        buf_addf(text, "only the first %" PRId64 " are shown; ", call->reply.search.matches);
    buf_addf(text, "%s]", words[cut]);
}

/* One match a line: a name with a line break would be read as two. */
static void add_grep_path(struct buf *text, struct str path)
{
    if (memchr(path.p, '\n', path.n) || memchr(path.p, '\r', path.n))
        shown_line(path, PATH_TEXT_MAX, text);
    else
        buf_add(text, path.p, path.n);
}

static int shape_runner_grep(const struct call *call, struct json_out *j, struct err *err)
{
    const struct op_search_reply *r = &call->reply.search;
    BUF_AT_END struct buf text = BUF_INIT(j->out->max);
    SEARCH_AT_END struct search_walk walk = search_begin(call);
    while (search_next(&walk)) {
        if (text.len)
            buf_add_char(&text, '\n');
        add_grep_path(&text, buf_str(&walk.path));
        buf_addf(&text, ":%" PRId64 ":", walk.match.number);
        search_add_line(&text, &walk.match);
    }
    if (r->matches == 0)
        buf_add_text(&text, "No matches found");
    add_cut(call, &text);
    if (text.failed)
        return err_set(err, ERR_OUTPUT_LIMIT, "the matches are too long; lower max_results");
    jo_content(j, buf_str(&text));
    return 0;
}

const struct tool runner_grep = {
    .dialect = DIALECT_RUNNER,
    .name = "grep",
    .title = "Search files",
    .description =
        "Searches the lines of the workspace's text files for a regular expression, folders with "
        "all that is in them. Returns path:line:text, one match a line, or `No matches found`. "
        "Hidden files are searched too, binary ones and .git are not; include keeps only files "
        "that match a glob.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_TREE,
    .runner = RUN_WORKER,
    .prepare = prepare_runner_grep,
    .shape = shape_runner_grep,
};

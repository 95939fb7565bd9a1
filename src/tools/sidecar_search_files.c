#include "core/call.h"
#include "tools/all.h"
#include "tools/search.h"

#define MATCHES_MAX 50

struct args {
    struct str pattern;
    struct str path;
    struct str file_pattern;
    bool case_sensitive;
};

static const struct arg args[] = {
    {.name = "pattern",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct args, pattern),
     .max = SEARCH_PATTERN_MAX,
     .doc = "Regular expression to look for in each line, such as TODO|FIXME or \\bmain\\(. No "
            "look-around, no back-references."},
    {.name = "path",
     .type = ARG_STRING,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "Folder or file to search, relative to the workspace; the workspace itself when left "
            "out."},
    {.name = "file_pattern",
     .type = ARG_STRING,
     .offset = offsetof(struct args, file_pattern),
     .max = 1024,
     .doc = "Only files whose name matches this glob, such as *.js or *.{ts,tsx}; with a slash it "
            "is matched with the path, seen from the folder: src/**/*.js."},
    {.name = "case_sensitive",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, case_sensitive),
     .def = true,
     .doc = "Tell capital and small letters apart."},
};

static const struct arg match_fields[] = {
    {.name = "file", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "line", .type = ARG_INT, .flags = ARG_REQUIRED, .doc = "Counted from 1."},
    {.name = "text", .type = ARG_STRING, .flags = ARG_REQUIRED, .doc = "The line."},
};

static const struct arg result[] = {
    {.name = "matches",
     .type = ARG_OBJECTS,
     .flags = ARG_REQUIRED,
     .items = match_fields,
     .n_items = ARRAY_LEN(match_fields)},
    {.name = "total",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .doc = "How many matches were returned."},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED, .doc = "There are more."},
};

static int prepare_sidecar_search_files(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    struct op_search_request wanted = {
        .pattern = a->pattern,
        .include = a->file_pattern,
        .ignore_case = !a->case_sensitive,
        .ignore = true,
        .max_matches = MATCHES_MAX,
        .mode = SEARCH_LINES,
    };
    return search_prepare(call, a->path.p ? a->path : STR("."), (struct str){0}, &wanted,
                          "file_pattern", err);
}

static void write_sidecar_matches(const struct call *call, struct json_out *j)
{
    SEARCH_AT_END struct search_walk walk = search_begin(call);
    while (search_next(&walk)) {
        jo_open(j, '{');
        jo_kstr(j, "file", buf_str(&walk.path));
        jo_kint(j, "line", walk.match.number);
        jo_key(j, "text");
        search_write_line(j, &walk.match);
        jo_close(j, '}');
    }
}

static int shape_sidecar_search_files(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct op_search_reply *r = &call->reply.search;
    if (jo_karray(j, "matches", (size_t)r->matches)) {
        write_sidecar_matches(call, j);
        jo_close(j, ']');
    }
    jo_kint(j, "total", r->matches);
    jo_kbool(j, "truncated", r->truncated);
    return 0;
}

const struct tool sidecar_search_files = {
    .dialect = DIALECT_SIDECAR,
    .name = "search_files",
    .title = "Search files",
    .description =
        "Searches the lines of the workspace's text files for a regular expression and returns "
        "each line that matches with its file and number, at most 50. Hidden and binary files, "
        "node_modules and what .gitignore names are left out. When truncated is true, narrow the "
        "search with path, file_pattern or a longer pattern.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_TREE,
    .runner = RUN_WORKER,
    .prepare = prepare_sidecar_search_files,
    .shape = shape_sidecar_search_files,
};

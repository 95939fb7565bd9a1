/* What the tools that search share. */
#ifndef SANDGATE_TOOLS_SEARCH_H
#define SANDGATE_TOOLS_SEARCH_H

#include "core/call.h"
#include "core/found.h"

/* Written out as JSON it has to fit into the head of a frame. */
#define SEARCH_PATTERN_MAX 32768

/* Asks for `wanted`, in which only root and path are left open: they come from the call's arguments.
 * `include_field` is what the tool calls its argument for `include`. */
int search_prepare(struct call *call, struct str path, struct str path_b64,
                   const struct op_search_request *wanted, const char *include_field,
                   struct err *err);

/* Where in the reply's records the next match is looked for. */
struct search_walk {
    struct str rest;    /* behind the match */
    struct str window;  /* from the first line of its file that can be context before it */
    struct found match; /* where only files are asked for: the file */
    int64_t previous;   /* line of the match before it in the same file; 0: there is none */
    int64_t before;
    int64_t after;
    struct buf path; /* of the file, as the dialect writes it */
    size_t prefix;   /* of it, the same for all */
};

/* Why not everything is in the reply. */
enum search_cut {
    SEARCH_CUT_NOT,
    SEARCH_CUT_COUNT,   /* as many matches as were asked for */
    SEARCH_CUT_FOLDERS, /* too deep, too many names in one, or an error of the disk */
    SEARCH_CUT_SIZE,    /* as many bytes as an answer may have */
    SEARCH_CUTS,
};
enum search_cut search_cut(const struct call *call);

struct search_walk search_begin(const struct call *call);
void search_done(struct search_walk *walk);
bool search_next(struct search_walk *walk);
/* The same for modes that tell only files. */
bool search_next_file(struct search_walk *walk);

/* All lines of the reply as `grep -n` writes them, grouped by file, as far as there is room; how many of them match.
 * Of the other modes files, one a line. */
int64_t search_show(const struct call *call, size_t room, struct buf *out);

#define SEARCH_AT_END CLEANUP(search_done)

/* A line as callers see it: what is left out of a long one is said where it was. */
void search_add_line(struct buf *out, const struct found *line);
void search_write_line(struct json_out *j, const struct found *line);
/* The fields `before` and `after` of the match. With `once` a line stands in one place only: matches are
 * no context, and what lies between two is the first one's as far as its `after` reaches. */
void search_write_context(const struct search_walk *walk, bool once, struct json_out *j);

#endif

/* Where the paths of an operation lead, and what it would do: for those who are asked about it. */
#ifndef SANDGATE_CORE_OP_PREVIEW_H
#define SANDGATE_CORE_OP_PREVIEW_H

#include "core/arg.h"

/* Where the paths of a request lead once links are followed: relative to their roots and in base64, since a name may be
 * any bytes. NULL: where they say. Replies of operations that change files begin with it. */
struct op_real {
    struct str path;
    struct str to;
};

/* What another operation would do, without doing it: it fails where that would, as far as can be told without writing.
 * The fields and the body are those of the operation it is asked about. */
enum preview_of {
    PREVIEW_NONE = -1,
    PREVIEW_WRITE,
    PREVIEW_EDIT,
    PREVIEW_FRONTMATTER,
    PREVIEW_DELETE,
    PREVIEW_MOVE,
    PREVIEW_MKDIR,
    PREVIEW_FOLDER, /* that a command works in */
    /* These change nothing: only whether the rules let them. */
    PREVIEW_READ,
    PREVIEW_LIST,
    PREVIEW_STAT,
    PREVIEW_SEARCH,
};
extern const char *const preview_of_names[];
#define OP_PREVIEW_DIFF_MAX (8 << 20)
#define OP_PREVIEW_ENTRIES_MAX 10000
struct op_preview_request {
    int64_t root;
    struct str path;
    int64_t of; /* enum preview_of */
    struct str if_match;
    int64_t max_bytes;
    bool no_links;
    bool create_only;
    bool append;
    bool dry_run;
    bool recursive;
    int64_t to_root;
    struct str to; /* PREVIEW_MOVE */
};

/* The body is a unified diff, of any bytes; that of a file in UTF-16 is UTF-8. `real` is always told of what changes something. */
struct op_preview_reply {
    struct op_real real;
    bool exists;   /* PREVIEW_MOVE: what is replaced; else what the path leads to */
    int64_t type;  /* enum file_type, of what is there */
    int64_t moved; /* PREVIEW_MOVE: enum file_type, of what moves; bytes_after are its */
    struct str
        sha256_before; /* of a file that is there; not of one to be deleted; PREVIEW_MOVE: of what
                               * tells apart what is at both ends */
    int64_t bytes_before; /* of a file; so is the next */
    int64_t bytes_after;
    int64_t entries; /* to be deleted, with all that is inside */
    bool decoded;    /* the diff is of UTF-16 */
    bool cut;        /* the diff is longer, or the file too large for one; there are more entries */
};

#endif

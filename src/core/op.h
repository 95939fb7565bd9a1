/* The core operations: what a gate may ask of a cell, and what comes back. Each is one row with a
 * table for the request and one for the reply, so that both sides check every field the same way. */
#ifndef SANDGATE_CORE_OP_H
#define SANDGATE_CORE_OP_H

#include <inttypes.h>

#include "core/arg.h"
#include "core/file_kind.h"
#include "core/op_git.h"
#include "core/op_list.h"
#include "core/op_overlay.h"
#include "core/op_preview.h"
#include "core/op_tool.h"
#include "core/op_web.h"
#include "core/spill.h"

enum op_id {
#define OP_ID(id, ...) OP_##id,
    OP_LIST(OP_ID) OP_ROLE_LIST(OP_ID)
#undef OP_ID
        OP_COUNT
};
enum file_type { TYPE_FILE, TYPE_DIRECTORY, TYPE_SYMLINK, TYPE_OTHER };
extern const char *const file_type_names[];

/* All requests begin with the first two, those that may leave something behind with all three. */
struct op_writing {
    int64_t root;
    struct str path;
    struct str tag; /* in temporary names, so that leftovers can be told apart */
};

/* How the request of an operation with two paths begins; that of one with a single path as well, up to that. */
struct op_two_paths {
    int64_t root;
    struct str path;
    int64_t to_root;
    struct str to;
};

struct op_read_request {
    int64_t root;
    struct str path;
    bool no_links;
    bool unguarded;     /* even what is secret: for the gate's own use */
    int64_t start_line; /* ARG_ABSENT: from the first */
    int64_t end_line;   /* ARG_ABSENT: to the last */
    int64_t max_bytes;
    int64_t whole_max; /* a file of at most this size is read to its end, whatever is asked for */
    int64_t hash_max;  /* sha256 is wanted of such a file if it has at most this size; 0: of none */
    bool text_only;    /* of a binary file nothing is wanted */
};

/* The body is the content, cut at max_bytes. Where a file is not read to its end, no more is read than that takes. */
struct op_read_reply {
    int64_t size; /* of the whole file when it was opened; how much was read where that was wrong */
    struct str sha256;   /* of a whole file that was to be hashed */
    int64_t total_lines; /* ARG_ABSENT: the end was not seen */
    int64_t start_line;
    int64_t end_line; /* last line that is in the body, even in part */
    int64_t whole;    /* bytes of the body up to the end of its last whole line */
    bool truncated;
    bool shrank;  /* it ended before the size it was opened with: sha256 may be missing */
    bool binary;  /* a NUL in the first 8 KiB */
    int64_t kind; /* of a binary file: enum file_kind */
};

/* The request's body is the content. */
struct op_write_request {
    int64_t root;
    struct str path;
    struct str tag;
    struct str if_match;
    int64_t max_bytes; /* of the file as it is going to be */
    bool no_links;
    bool create_only;
    bool append;
    bool fsync;
};

struct op_write_reply {
    struct op_real real;
    int64_t bytes; /* of the file as it now is */
    struct str sha256;
    bool created;
};

/* The request's body is text in the form of a .gitignore file that stands below all others. */
struct op_list_request {
    int64_t root;
    struct str path;
    struct str glob;    /* only what matches, seen from the folder; NULL: everything */
    struct str exclude; /* neither this nor what is in it; without a slash: names at any depth */
    bool recursive;
    bool hidden;
    bool ignore; /* leave out what .gitignore and .ignore files name */
    bool skip_symlinks;
    bool no_links;
    bool names_only; /* sizes and times are not looked up */
    int64_t max_entries;
};

/* The body is packed entries, read with op_entry_next; the names of a recursive list are paths. */
struct op_list_reply {
    int64_t count;
    bool truncated;
};

struct op_entry {
    enum file_type type;
    int64_t size;
    int64_t mtime_ms;
    struct str name;
};

enum search_mode { SEARCH_LINES, SEARCH_FILES, SEARCH_COUNT };
extern const char *const search_mode_names[];

/* The request's body is text in the form of a .gitignore file that stands below all others. */
struct op_search_request {
    int64_t root;
    struct str path; /* a folder, or one file */
    struct str pattern;
    struct str include; /* only files that match; without a slash: names at any depth; NULL: all */
    struct str exclude; /* neither this nor what is in it, the same way */
    bool literal;       /* the pattern means itself */
    bool ignore_case;
    bool word;         /* only where no letter, digit or underscore stands beside */
    bool hidden;       /* also names that begin with a dot */
    bool hidden_files; /* of those only files, no folders */
    bool ignore;       /* leave out what .gitignore and .ignore files name */
    bool modules;      /* also go into node_modules */
    bool no_links;
    int64_t before; /* lines of context */
    int64_t after;
    int64_t max_matches; /* lines, or files where the mode asks for them */
    int64_t mode;        /* enum search_mode */
    int64_t threads;     /* at most; 0: as many as there are processors */
};

/* The body is packed records, read with found_next. */
struct op_search_reply {
    int64_t matches; /* in the body: lines, or files */
    int64_t files;   /* that were searched; none of those that begin as binary */
    int64_t bytes;   /* of them */
    int64_t binary;  /* files that were left out, or left at the first NUL */
    int64_t ignored; /* files and folders that an ignore file names */
    int64_t unreadable;
    int64_t long_lines; /* files that were left at a line that is too long */
    bool truncated;
    bool unseen; /* some folders were not searched, see walk_stats */
};

struct op_stat_request {
    int64_t root;
    struct str path;
    bool no_links; /* a link at the end is looked at itself */
};

struct op_stat_reply {
    int64_t type; /* enum file_type */
    int64_t size;
    int64_t mode;
    int64_t mtime_ms;
    bool symlink;
};

/* Reads a file, changes it and writes it back. The request's body is what is to change: packed edits
 * (op_edit_next), or JSON for front matter. */
struct op_change_request {
    int64_t root;
    struct str path;
    struct str tag;
    struct str if_match;
    int64_t max_bytes; /* of the file, before and after */
    bool dry_run;
    bool fsync;
};

/* The body is a unified diff. */
struct op_change_reply {
    struct op_real real;
    int64_t bytes; /* of the file as it now is */
    struct str sha256_before;
    struct str sha256_after;
    bool cut; /* the diff */
};

struct op_edit {
    struct str old_text;
    struct str new_text;
    bool all;
};

/* A link is removed itself. */
struct op_delete_request {
    int64_t root;
    struct str path;
    struct str tag;
    bool recursive;
    bool no_links;
};

struct op_delete_reply {
    struct op_real real;
    int64_t type;  /* enum file_type */
    int64_t count; /* of entries, with all that was inside */
};

struct op_move_request {
    int64_t root;
    struct str path;
    int64_t to_root;
    struct str to;
    bool overwrite;
    struct str expected; /* of a preview: sha256_before; p is NULL: whatever is at both ends */
};

struct op_move_reply {
    struct op_real real;
    int64_t type; /* enum file_type */
    bool replaced;
};

struct op_mkdir_request {
    int64_t root;
    struct str path;
};

struct op_mkdir_reply {
    struct op_real real;
    bool created;
};

/* Removes temporary files of writers that are gone, in the folder a write to `path` would use. */
struct op_sweep_request {
    int64_t root;
    struct str path;
    struct str tag;
};

struct op_sweep_reply {
    int64_t removed;
};

/* Which files are protected and secret from now on, in all roots. The request's body is packed rules
 * (guard_pack). */
struct op_rules_request {
    int64_t root; /* of no meaning, as is the path */
    struct str path;
};

struct op_rules_reply {
    int64_t count;
};

/* Looks for what the rules name, for git directories and for sockets, before and after a command. What has not changed
 * since the last scan is not read again. The request's body is empty or an index of this root (work/guard_index.h): then
 * what that does not know is new in this scan. With other rules, only what was also born since `index_ns` is. */
struct op_scan_request {
    int64_t root;
    struct str path; /* of no meaning: it is the whole root */
    int64_t known;   /* the generation of the list that the gate has; 0: none */
    int64_t since;   /* what appeared in a later one is fresh */
    bool watch;      /* first begins to watch all folders, so that later scans are quick */
    int64_t ran_ns;  /* since when commands may have run (clock_file_ns); 0: none have */
    int64_t max_entries, max_guarded;
    int64_t index_ns; /* when the index was the last one; 0: it is not to be compared with one */
    bool settled;     /* no command runs that could move folders while they are looked through */
    bool reopen;      /* a command ran: it is told which folders it closed to their owner */
    bool others;      /* other commands run, and may move folders meanwhile */
};

/* The body is packed, read with op_guarded_next: a folder stands before what is in it. Behind these stand folders that were
 * opened again. */
struct op_scan_reply {
    int64_t count;
    int64_t generation; /* of the list; it changes with it */
    bool same;          /* the gate has it, and nothing in it is fresh: the body is empty */
    bool compared;      /* with the index in the request's body, and its rules are the same */
    int64_t vanished;   /* guarded files that are gone with their folders */
    int64_t outward;    /* leads that the gate is to follow: see OP_LEADS */
    bool opened;        /* the root was closed to its owner, and was opened again */
    bool unsure;        /* folders were moved meanwhile: something may not have been found */
    int64_t unread;     /* a setting whose program cannot be told (git_setting_number); 0: none */
};

/* The most that a scan lists: entries, and bytes of their paths. */
#define OP_SCAN_FOUND_MAX 1000000
#define OP_SCAN_PATHS_MAX ((size_t)64 << 20)
/* The largest body of any reply that a worker puts together in memory. A whole list of a scan fits (op_packed.c). */
#define OP_BODY_MAX ((size_t)128 << 20)

enum guarded_kind {
    GUARDED_PROTECTED, /* a folder stands for all in it, save what is secret there */
    GUARDED_SECRET,    /* a folder stands for all in it; so does one that cannot be looked into */
    GUARDED_SOCKET,
    GUARDED_GIT,    /* a git directory, wherever it lies: protected as a whole */
    GUARDED_WAY,    /* a folder that the way to what is protected or secret leads through */
    GUARDED_PART,   /* outside of a git directory, but a link or a file in that leads git to it */
    GUARDED_OPENED, /* not guarded: a command had closed this folder, and it was opened again */
    GUARDED_KINDS,
};

/* Which file it is, whatever its name. An inode of 0: not known. */
struct op_identity {
    uint64_t inode;
    int64_t born_ns; /* 0 where the file system does not tell */
};

struct op_guarded {
    enum guarded_kind kind;
    enum file_type type; /* a socket is TYPE_OTHER */
    bool fresh;          /* protected, secret or git: it was not there before */
    bool replaced;       /* it was there, and is another file or folder now */
    struct str path;
    struct op_identity id;
};

/* Names that guard what they lead to, such as links in a git directory, may lead out of the root and back: by `..`, by
 * another name of the folder, by a link elsewhere. Only the gate sees what lies outside. With `take` the worker tells what it
 * cannot follow: the reply's body is packed, read with op_lead_next. Otherwise the request's body is what comes back into
 * this root, packed in the same way; the next scan follows it. With `too_long` the gate could not follow all that it took:
 * the next scan fails, and the one after it tells them again. */
struct op_leads_request {
    int64_t root;
    struct str path;
    bool take;
    bool again;    /* take those, too, that were taken before */
    bool too_long; /* they cannot be followed */
};

struct op_leads_reply {
    int64_t count;
};

/* Takes what a command has made out of the project, where programs of the user would obey it (work/quarantine.c). */
enum quarantine_outcome {
    QUARANTINE_LEFT, /* nothing looks for it there by itself; of a move that was cut off: nothing had been moved */
    QUARANTINE_MOVED, /* into the store */
    QUARANTINE_OPENED, /* a folder that could not be looked into: what is in it is found by the next scan */
    QUARANTINE_RENAMED, /* in its folder: not all of it is the command's, or it does not fit into the store */
    QUARANTINE_OTHER, /* something else has taken its place, and was left there */
};
extern const char *const quarantine_outcome_names[];

/* What it is called while it is moved, and for good where it is only renamed. */
#define OP_QUARANTINE_ASIDE "sandgate-quarantine-%016" PRIx64

/* The body is one packed op_guarded: what the scan found. Only that is moved. */
struct op_quarantine_request {
    int64_t root;
    struct str path;
    struct str tag;   /* the name of its folder in the store */
    int64_t store;    /* the root that is the store */
    bool git;         /* it is a git directory, or leads to one */
    bool closed;      /* it is a folder that cannot be looked into */
    int64_t since_ns; /* when the command began: clock_file_ns */
    int64_t aside;    /* of OP_QUARANTINE_ASIDE */
    bool resume;      /* the move was cut off: it may have been made in part, or not at all */
};

/* The body is packed op_guarded: the git directories and closed folders in a folder that stays and is not scanned. */
struct op_quarantine_reply {
    int64_t outcome; /* enum quarantine_outcome */
    bool repository; /* a git directory in it has too long a path to be named */
    bool unchecked;  /* not all of it was looked through */
    bool head;       /* not the folder was taken, but HEAD in it */
    bool full;       /* there was no room for it in the store */
    bool rest;       /* it was copied, and some of it could not be removed */
};

/* A git directory that a command may write to. What the command writes goes to a layer in the store, at
 * OP_LAYERS/TAG/N for the Nth of them; what may be taken over from there is when the command has ended. */
#define OP_LAYERS "git"
#define OP_LAYERS_MAX 32
#define OP_LAYER_TAG_MAX 40
struct op_layer {
    int64_t root;
    struct str path;
};

/* Makes the layers, notes what the git directories are like now, and removes layers that were left behind. The caller
 * holds the lock of the store's layers. The request's body is packed layers; without any it only removes. */
struct op_git_begin_request {
    int64_t root; /* the store */
    struct str path;
    struct str tag;
};

struct op_git_begin_reply {
    int64_t count;
};

/* Takes over what was written to the layers, as far as it is on the list of what may be, and removes them. The request's
 * body is as above. */
struct op_git_import_request {
    int64_t root; /* the store */
    struct str path;
    struct str tag;
    int64_t max_bytes;
    bool discard; /* nothing is taken over */
    bool fsync;
};

union op_request {
    struct op_writing writing;
    struct op_two_paths two_paths;
    struct op_read_request read;
    struct op_write_request write;
    struct op_list_request list;
    struct op_stat_request stat;
    struct op_search_request search;
    struct op_change_request change;
    struct op_delete_request delete;
    struct op_move_request move;
    struct op_mkdir_request mkdir;
    struct op_sweep_request sweep;
    struct op_rules_request rules;
    struct op_scan_request scan;
    struct op_leads_request leads;
    struct op_preview_request preview;
    struct op_quarantine_request quarantine;
    struct op_git_begin_request git_begin;
    struct op_git_import_request git_import;
    struct op_layer_list_request layer_list;
    struct op_layer_commit_request layer_commit;
    struct op_layer_diff_request layer_diff;
    struct op_page_request page;
    struct op_http_request http;
    struct op_run_tool_request run_tool;
    struct op_compile_request compile;
};

union op_reply {
    struct op_real real;
    struct op_read_reply read;
    struct op_write_reply write;
    struct op_list_reply list;
    struct op_stat_reply stat;
    struct op_search_reply search;
    struct op_change_reply change;
    struct op_delete_reply delete;
    struct op_move_reply move;
    struct op_mkdir_reply mkdir;
    struct op_sweep_reply sweep;
    struct op_rules_reply rules;
    struct op_scan_reply scan;
    struct op_leads_reply leads;
    struct op_preview_reply preview;
    struct op_quarantine_reply quarantine;
    struct op_git_begin_reply git_begin;
    struct op_git_import_reply git_import;
    struct op_layer_list_reply layer_list;
    struct op_layer_commit_reply layer_commit;
    struct op_layer_diff_reply layer_diff;
    struct op_page_reply page;
    struct op_http_reply http;
    struct op_run_tool_reply run_tool;
    struct op_compile_reply compile;
    /* Of tools that need no operation. */
    int64_t time_ms;
    struct spill_page output;
};

struct call;
struct op {
    const char *name;
    struct arg_table request;
    struct arg_table reply;
    enum op_role role;
    bool writes; /* may leave a temporary file behind when it is cut off */
    bool waits;  /* perhaps, for the lock of a folder */
    enum op_paths paths;
    enum op_real_told real;
    enum op_body body;
    enum op_written written;
    enum preview_of preview;
    /* How the fields and the body of a reply fit together. */
    bool (*check)(const struct call *call);
};

extern const struct op op_table[OP_COUNT];
/* NULL: there is none of this name; the second is one of those that this role carries out. */
const struct op *op_find(struct str name);
const struct op *op_find_in(enum op_role role, struct str name);

/* Temporary files begin with this, then the tag. Listings leave them out. */
#define OP_TEMP_PREFIX ".sgt-"
#include "core/op_packed.h"

#endif

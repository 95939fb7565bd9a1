#include "core/op.h"

#include <string.h>

#include "core/op_check.h"
#include "core/path.h"

const char *const file_type_names[] = {"file", "directory", "symlink", "other", NULL};
const char *const file_kind_names[] = {
#define FILE_KIND(name, type) type,
    FILE_KINDS(FILE_KIND)
#undef FILE_KIND
        NULL,
};
const char *const search_mode_names[] = {"lines", "files", "count", NULL};
const char *const quarantine_outcome_names[] = {"left",    "moved", "opened",
                                                "renamed", "other", NULL};
const char *const preview_of_names[] = {"write", "edit",  "frontmatter", "delete",
                                        "move",  "mkdir", "folder",      "read",
                                        "list",  "stat",  "search",      NULL};

#define ROOT_AND_PATH(type_)                                                                       \
    {.name = "root",                                                                               \
     .type = ARG_INT,                                                                              \
     .flags = ARG_REQUIRED,                                                                        \
     .offset = offsetof(type_, root),                                                              \
     .max = ROOTS_MAX - 1},                                                                        \
    {                                                                                              \
        .name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED,                                 \
        .offset = offsetof(type_, path), .min = 1, .max = PATH_TEXT_MAX - 1                        \
    }
#define COUNT(field, type_)                                                                        \
    {                                                                                              \
        .name = #field, .type = ARG_INT, .flags = ARG_REQUIRED, .offset = offsetof(type_, field)   \
    }
#define FLAG(field, type_)                                                                         \
    {                                                                                              \
        .name = #field, .type = ARG_BOOL, .offset = offsetof(type_, field)                         \
    }
#define SHA256(field, type_)                                                                       \
    {                                                                                              \
        .name = #field, .type = ARG_SHA256, .flags = ARG_REQUIRED,                                 \
        .offset = offsetof(type_, field)                                                           \
    }
#define TEXT(field, type_)                                                                         \
    {                                                                                              \
        .name = #field, .type = ARG_STRING, .offset = offsetof(type_, field)                       \
    }
#define REAL_PATHS(type_)                                                                          \
    {.name = "real", .type = ARG_STRING, .offset = offsetof(type_, real.path)},                    \
    {                                                                                              \
        .name = "real_to", .type = ARG_STRING, .offset = offsetof(type_, real.to)                  \
    }
#define FILE_TYPE(type_)                                                                           \
    {                                                                                              \
        .name = "type", .type = ARG_CHOICE, .flags = ARG_REQUIRED, .choices = file_type_names,     \
        .offset = offsetof(type_, type)                                                            \
    }
#define TAG(type_)                                                                                 \
    {                                                                                              \
        .name = "tag", .type = ARG_STRING, .flags = ARG_REQUIRED, .offset = offsetof(type_, tag),  \
        .min = 1, .max = 32                                                                        \
    }

static const struct arg read_request[] = {
    ROOT_AND_PATH(struct op_read_request),
    {.name = "start_line",
     .type = ARG_INT,
     .offset = offsetof(struct op_read_request, start_line),
     .min = 1,
     .def = ARG_ABSENT},
    {.name = "end_line",
     .type = ARG_INT,
     .offset = offsetof(struct op_read_request, end_line),
     .min = 1,
     .def = ARG_ABSENT},
    COUNT(max_bytes, struct op_read_request),
    COUNT(whole_max, struct op_read_request),
    COUNT(hash_max, struct op_read_request),
    FLAG(text_only, struct op_read_request),
    FLAG(no_links, struct op_read_request),
    FLAG(unguarded, struct op_read_request),
};
static const struct arg read_reply[] = {
    COUNT(size, struct op_read_reply),
    {.name = "sha256", .type = ARG_SHA256, .offset = offsetof(struct op_read_reply, sha256)},
    {.name = "total_lines",
     .type = ARG_INT,
     .offset = offsetof(struct op_read_reply, total_lines),
     .def = ARG_ABSENT},
    COUNT(start_line, struct op_read_reply),
    COUNT(end_line, struct op_read_reply),
    COUNT(whole, struct op_read_reply),
    FLAG(truncated, struct op_read_reply),
    FLAG(shrank, struct op_read_reply),
    FLAG(binary, struct op_read_reply),
    {.name = "kind",
     .type = ARG_CHOICE,
     .choices = file_kind_names,
     .offset = offsetof(struct op_read_reply, kind)},
};
static const struct arg write_request[] = {
    ROOT_AND_PATH(struct op_write_request),
    {.name = "if_match", .type = ARG_SHA256, .offset = offsetof(struct op_write_request, if_match)},
    TAG(struct op_write_request),
    COUNT(max_bytes, struct op_write_request),
    FLAG(create_only, struct op_write_request),
    FLAG(append, struct op_write_request),
    FLAG(fsync, struct op_write_request),
    FLAG(no_links, struct op_write_request),
};
static const struct arg write_reply[] = {
    REAL_PATHS(struct op_write_reply),
    COUNT(bytes, struct op_write_reply),
    SHA256(sha256, struct op_write_reply),
    FLAG(created, struct op_write_reply),
};
static const struct arg list_request[] = {
    ROOT_AND_PATH(struct op_list_request),   FLAG(hidden, struct op_list_request),
    FLAG(ignore, struct op_list_request),    FLAG(skip_symlinks, struct op_list_request),
    FLAG(recursive, struct op_list_request), FLAG(names_only, struct op_list_request),
    FLAG(no_links, struct op_list_request),  TEXT(glob, struct op_list_request),
    TEXT(exclude, struct op_list_request),   COUNT(max_entries, struct op_list_request),
};
static const struct arg list_reply[] = {
    COUNT(count, struct op_list_reply),
    FLAG(truncated, struct op_list_reply),
};
static const struct arg search_request[] = {
    ROOT_AND_PATH(struct op_search_request),
    {.name = "pattern",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct op_search_request, pattern),
     .min = 1},
    TEXT(include, struct op_search_request),
    TEXT(exclude, struct op_search_request),
    FLAG(literal, struct op_search_request),
    FLAG(ignore_case, struct op_search_request),
    FLAG(word, struct op_search_request),
    FLAG(hidden, struct op_search_request),
    FLAG(hidden_files, struct op_search_request),
    FLAG(ignore, struct op_search_request),
    FLAG(modules, struct op_search_request),
    FLAG(no_links, struct op_search_request),
    COUNT(before, struct op_search_request),
    COUNT(after, struct op_search_request),
    COUNT(max_matches, struct op_search_request),
    COUNT(threads, struct op_search_request),
    {.name = "mode",
     .type = ARG_CHOICE,
     .flags = ARG_REQUIRED,
     .choices = search_mode_names,
     .offset = offsetof(struct op_search_request, mode)},
};
static const struct arg search_reply[] = {
    COUNT(matches, struct op_search_reply),    COUNT(files, struct op_search_reply),
    COUNT(bytes, struct op_search_reply),      COUNT(binary, struct op_search_reply),
    COUNT(ignored, struct op_search_reply),    COUNT(unreadable, struct op_search_reply),
    COUNT(long_lines, struct op_search_reply), FLAG(truncated, struct op_search_reply),
    FLAG(unseen, struct op_search_reply),
};
static const struct arg stat_request[] = {
    ROOT_AND_PATH(struct op_stat_request),
    FLAG(no_links, struct op_stat_request),
};
static const struct arg stat_reply[] = {
    FILE_TYPE(struct op_stat_reply),
    COUNT(size, struct op_stat_reply),
    COUNT(mode, struct op_stat_reply),
    {.name = "mtime_ms",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .min = -INT64_MAX,
     .offset = offsetof(struct op_stat_reply, mtime_ms)},
    FLAG(symlink, struct op_stat_reply),
};
static const struct arg change_request[] = {
    ROOT_AND_PATH(struct op_change_request),
    TAG(struct op_change_request),
    {.name = "if_match",
     .type = ARG_SHA256,
     .offset = offsetof(struct op_change_request, if_match)},
    COUNT(max_bytes, struct op_change_request),
    FLAG(dry_run, struct op_change_request),
    FLAG(fsync, struct op_change_request),
};
static const struct arg change_reply[] = {
    REAL_PATHS(struct op_change_reply),
    COUNT(bytes, struct op_change_reply),
    SHA256(sha256_before, struct op_change_reply),
    SHA256(sha256_after, struct op_change_reply),
    FLAG(cut, struct op_change_reply),
};
static const struct arg delete_request[] = {
    ROOT_AND_PATH(struct op_delete_request),
    TAG(struct op_delete_request),
    FLAG(recursive, struct op_delete_request),
    FLAG(no_links, struct op_delete_request),
};
static const struct arg delete_reply[] = {
    REAL_PATHS(struct op_delete_reply),
    FILE_TYPE(struct op_delete_reply),
    COUNT(count, struct op_delete_reply),
};
static const struct arg move_request[] = {
    ROOT_AND_PATH(struct op_move_request),
    {.name = "to_root",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct op_move_request, to_root),
     .max = ROOTS_MAX - 1},
    {.name = "to",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct op_move_request, to),
     .min = 1,
     .max = PATH_TEXT_MAX - 1},
    FLAG(overwrite, struct op_move_request),
    {.name = "expected", .type = ARG_SHA256, .offset = offsetof(struct op_move_request, expected)},
};
static const struct arg move_reply[] = {
    REAL_PATHS(struct op_move_reply),
    FILE_TYPE(struct op_move_reply),
    FLAG(replaced, struct op_move_reply),
};
static const struct arg mkdir_request[] = {
    ROOT_AND_PATH(struct op_mkdir_request),
};
static const struct arg mkdir_reply[] = {
    REAL_PATHS(struct op_mkdir_reply),
    FLAG(created, struct op_mkdir_reply),
};
static const struct arg sweep_request[] = {
    ROOT_AND_PATH(struct op_sweep_request),
    TAG(struct op_sweep_request),
};
static const struct arg sweep_reply[] = {
    COUNT(removed, struct op_sweep_reply),
};

static const struct arg rules_request[] = {
    ROOT_AND_PATH(struct op_rules_request),
};
static const struct arg rules_reply[] = {
    COUNT(count, struct op_rules_reply),
};

static const struct arg scan_request[] = {
    ROOT_AND_PATH(struct op_scan_request),      COUNT(known, struct op_scan_request),
    COUNT(since, struct op_scan_request),       FLAG(watch, struct op_scan_request),
    COUNT(ran_ns, struct op_scan_request),      COUNT(max_entries, struct op_scan_request),
    COUNT(max_guarded, struct op_scan_request), COUNT(index_ns, struct op_scan_request),
    FLAG(settled, struct op_scan_request),      FLAG(reopen, struct op_scan_request),
    FLAG(others, struct op_scan_request),
};
static const struct arg scan_reply[] = {
    COUNT(count, struct op_scan_reply),    COUNT(generation, struct op_scan_reply),
    FLAG(same, struct op_scan_reply),      FLAG(compared, struct op_scan_reply),
    COUNT(vanished, struct op_scan_reply), COUNT(outward, struct op_scan_reply),
    FLAG(opened, struct op_scan_reply),    FLAG(unsure, struct op_scan_reply),
    COUNT(unread, struct op_scan_reply),
};

static const struct arg leads_request[] = {
    ROOT_AND_PATH(struct op_leads_request),
    FLAG(take, struct op_leads_request),
    FLAG(again, struct op_leads_request),
    FLAG(too_long, struct op_leads_request),
};
static const struct arg leads_reply[] = {
    COUNT(count, struct op_leads_reply),
};

static const struct arg preview_request[] = {
    ROOT_AND_PATH(struct op_preview_request),
    {.name = "of",
     .type = ARG_CHOICE,
     .flags = ARG_REQUIRED,
     .choices = preview_of_names,
     .offset = offsetof(struct op_preview_request, of)},
    {.name = "if_match",
     .type = ARG_SHA256,
     .offset = offsetof(struct op_preview_request, if_match)},
    COUNT(max_bytes, struct op_preview_request),
    FLAG(no_links, struct op_preview_request),
    FLAG(create_only, struct op_preview_request),
    FLAG(append, struct op_preview_request),
    FLAG(dry_run, struct op_preview_request),
    FLAG(recursive, struct op_preview_request),
    {.name = "to_root",
     .type = ARG_INT,
     .offset = offsetof(struct op_preview_request, to_root),
     .max = ROOTS_MAX - 1},
    {.name = "to",
     .type = ARG_STRING,
     .offset = offsetof(struct op_preview_request, to),
     .max = PATH_TEXT_MAX - 1},
};
static const struct arg preview_reply[] = {
    REAL_PATHS(struct op_preview_reply),
    FLAG(exists, struct op_preview_reply),
    FILE_TYPE(struct op_preview_reply),
    {.name = "moved",
     .type = ARG_CHOICE,
     .choices = file_type_names,
     .offset = offsetof(struct op_preview_reply, moved)},
    {.name = "sha256_before",
     .type = ARG_SHA256,
     .offset = offsetof(struct op_preview_reply, sha256_before)},
    COUNT(bytes_before, struct op_preview_reply),
    COUNT(bytes_after, struct op_preview_reply),
    {.name = "entries",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct op_preview_reply, entries),
     .max = OP_PREVIEW_ENTRIES_MAX},
    FLAG(decoded, struct op_preview_reply),
    FLAG(cut, struct op_preview_reply),
};

static const struct arg quarantine_request[] = {
    ROOT_AND_PATH(struct op_quarantine_request),
    TAG(struct op_quarantine_request),
    {.name = "store",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct op_quarantine_request, store),
     .max = ROOTS_MAX - 1},
    FLAG(git, struct op_quarantine_request),
    FLAG(closed, struct op_quarantine_request),
    COUNT(since_ns, struct op_quarantine_request),
    COUNT(aside, struct op_quarantine_request),
    FLAG(resume, struct op_quarantine_request),
};
static const struct arg quarantine_reply[] = {
    {.name = "outcome",
     .type = ARG_CHOICE,
     .flags = ARG_REQUIRED,
     .choices = quarantine_outcome_names,
     .offset = offsetof(struct op_quarantine_reply, outcome)},
    FLAG(repository, struct op_quarantine_reply),
    FLAG(unchecked, struct op_quarantine_reply),
    FLAG(head, struct op_quarantine_reply),
    FLAG(full, struct op_quarantine_reply),
    FLAG(rest, struct op_quarantine_reply),
};

static const struct arg git_begin_request[] = {
    ROOT_AND_PATH(struct op_git_begin_request),
    TAG(struct op_git_begin_request),
};
static const struct arg git_begin_reply[] = {
    COUNT(count, struct op_git_begin_reply),
};
static const struct arg git_import_request[] = {
    ROOT_AND_PATH(struct op_git_import_request),    TAG(struct op_git_import_request),
    COUNT(max_bytes, struct op_git_import_request), FLAG(discard, struct op_git_import_request),
    FLAG(fsync, struct op_git_import_request),
};
static const struct arg git_import_reply[] = {
    COUNT(taken, struct op_git_import_reply),
    COUNT(dropped, struct op_git_import_reply),
    {.name = "kept", .type = ARG_INT, .offset = offsetof(struct op_git_import_reply, kept)},
    COUNT(shallow, struct op_git_import_reply),
    COUNT(refused, struct op_git_import_reply),
};

#define LAYER(type_)                                                                               \
    {                                                                                              \
        .name = "layer", .type = ARG_INT, .flags = ARG_REQUIRED, .offset = offsetof(type_, layer), \
        .max = ROOTS_MAX - 1                                                                       \
    }
static const struct arg layer_list_request[] = {
    ROOT_AND_PATH(struct op_layer_list_request),
    LAYER(struct op_layer_list_request),
    COUNT(max, struct op_layer_list_request),
    COUNT(since_ns, struct op_layer_list_request),
};
static const struct arg layer_list_reply[] = {
    COUNT(count, struct op_layer_list_reply),
    COUNT(bytes, struct op_layer_list_reply),
};
static const struct arg layer_commit_request[] = {
    ROOT_AND_PATH(struct op_layer_commit_request),
    LAYER(struct op_layer_commit_request),
    TAG(struct op_layer_commit_request),
    FLAG(recover, struct op_layer_commit_request),
};
static const struct arg layer_commit_reply[] = {
    COUNT(taken, struct op_layer_commit_reply),
    COUNT(left, struct op_layer_commit_reply),
    FLAG(empty, struct op_layer_commit_reply),
};
static const struct arg layer_diff_request[] = {
    ROOT_AND_PATH(struct op_layer_diff_request),
    LAYER(struct op_layer_diff_request),
};
static const struct arg layer_diff_reply[] = {
    FLAG(binary, struct op_layer_diff_reply),
    FLAG(cut, struct op_layer_diff_reply),
};

static const struct arg run_tool_request[] = {
    TEXT(name, struct op_run_tool_request),        COUNT(module, struct op_run_tool_request),
    COUNT(timeout_ms, struct op_run_tool_request), COUNT(memory, struct op_run_tool_request),
    COUNT(fuel, struct op_run_tool_request),       COUNT(output, struct op_run_tool_request),
};
static const struct arg run_tool_reply[] = {
    COUNT(output, struct op_run_tool_reply),
    COUNT(dropped, struct op_run_tool_reply),
    COUNT(fuel, struct op_run_tool_reply),
    COUNT(memory, struct op_run_tool_reply),
};

static const struct arg compile_request[] = {COUNT(max_bytes, struct op_compile_request)};
static const struct arg compile_reply[] = {COUNT(bytes, struct op_compile_reply)};

static const struct arg page_request[] = {
    TEXT(url, struct op_page_request),
    TEXT(type, struct op_page_request),
    COUNT(offset, struct op_page_request),
    COUNT(max_bytes, struct op_page_request),
};
static const struct arg http_request[] = {
    TEXT(url, struct op_http_request),         TEXT(host, struct op_http_request),
    TEXT(method, struct op_http_request),      TEXT(headers, struct op_http_request),
    TEXT(ports, struct op_http_request),       TEXT(allowed, struct op_http_request),
    COUNT(timeout_ms, struct op_http_request), COUNT(max_bytes, struct op_http_request),
};
#define TOLD(field, most)                                                                          \
    {                                                                                              \
        .name = #field, .type = ARG_STRING, .flags = ARG_REQUIRED,                                 \
        .offset = offsetof(struct op_http_reply, field), .max = (most)                             \
    }
static const struct arg http_reply[] = {
    {.name = "status",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct op_http_reply, status),
     .max = 999},
    TOLD(headers, OP_HTTP_HEADERS_MAX),
    TOLD(type, OP_HTTP_TYPE_MAX),
    TOLD(location, OP_HTTP_URL_MAX),
    FLAG(truncated, struct op_http_reply),
};
static const struct arg page_reply[] = {
    {.name = "title",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct op_page_reply, title),
     .max = OP_PAGE_TITLE_MAX},
    COUNT(total, struct op_page_reply),
    COUNT(next, struct op_page_reply),
};

#define OP_ROW(id_, name_, fields_, temp_, waits_, paths_, real_, body_, written_, preview_,       \
               check_)                                                                             \
    [OP_##id_] = {                                                                                 \
        .name = #name_,                                                                            \
        .request = ARG_TABLE(fields_##_request, struct op_##fields_##_request),                    \
        .reply = ARG_TABLE(fields_##_reply, struct op_##fields_##_reply),                          \
        .writes = temp_,                                                                           \
        .waits = waits_,                                                                           \
        .paths = OP_PATHS_##paths_,                                                                \
        .real = OP_REAL_##real_,                                                                   \
        .body = OP_BODY_##body_,                                                                   \
        .written = OP_WRITES_##written_,                                                           \
        .preview = PREVIEW_##preview_,                                                             \
        .check = op_check_##check_,                                                                \
    },

#define OP_ROLE_ROW(id_, name_, role_, body_, check_)                                              \
    [OP_##id_] = {                                                                                 \
        .name = #name_,                                                                            \
        .request = ARG_TABLE(name_##_request, struct op_##name_##_request),                        \
        .reply = ARG_TABLE(name_##_reply, struct op_##name_##_reply),                              \
        .role = OP_IN_##role_,                                                                     \
        .body = OP_BODY_##body_,                                                                   \
        .preview = PREVIEW_NONE,                                                                   \
        .check = op_check_##check_,                                                                \
    },

const struct op op_table[OP_COUNT] = {OP_LIST(OP_ROW) OP_ROLE_LIST(OP_ROLE_ROW)};

const struct op *op_find(struct str name)
{
    for (size_t i = 0; i < OP_COUNT; i++) {
        if (str_is(name, op_table[i].name))
            return &op_table[i];
    }
    return NULL;
}

const struct op *op_find_in(enum op_role role, struct str name)
{
    const struct op *op = op_find(name);
    return op && op->role == role ? op : NULL;
}

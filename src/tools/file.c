#include "tools/file.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/glob.h"

/* Kept by the gate; the cell has it read-only as well. */
#define LOGS "logs"

const struct arg file_entry_fields[FILE_ENTRY_FIELDS] = {
    {.name = "name", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "type", .type = ARG_CHOICE, .flags = ARG_REQUIRED, .choices = file_type_names},
    {.name = "size", .type = ARG_INT, .flags = ARG_REQUIRED},
};

void file_write_entries(const struct call *call, const char *key, struct json_out *j)
{
    if (!jo_karray(j, key, (size_t)call->reply.list.count))
        return;
    struct str rest = buf_str(&call->reply_body);
    for (struct op_entry entry; op_entry_next(&rest, &entry) > 0;) {
        jo_open(j, '{');
        jo_kstr(j, "name", entry.name);
        jo_ktext(j, "type", file_type_names[entry.type]);
        jo_kint(j, "size", entry.size);
        jo_close(j, '}');
    }
    jo_close(j, ']');
}

const struct arg file_lines_args[FILE_LINES_ARGS] = {
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_READS,
     .offset = offsetof(struct file_lines, path),
     .doc = "File to read, relative to the workspace."},
    {.name = "start_line",
     .type = ARG_INT,
     .offset = offsetof(struct file_lines, start_line),
     .min = 1,
     .def = ARG_ABSENT,
     .doc = "First line to return, counted from 1."},
    {.name = "end_line",
     .type = ARG_INT,
     .offset = offsetof(struct file_lines, end_line),
     .min = 1,
     .def = ARG_ABSENT,
     .doc = "Last line to return, itself included."},
};

int file_prepare_lines(struct call *call, int64_t max_bytes, int64_t counted_max, struct err *err)
{
    const struct file_lines *a = (const void *)&call->args;
    if (call_take_path(call, a->path, (struct str){0}, err) < 0)
        return -1;
    if (a->start_line != ARG_ABSENT && a->end_line != ARG_ABSENT && a->end_line < a->start_line)
        return err_field(err, "end_line",
                         "end_line (%" PRId64 ") is before start_line (%" PRId64 ")", a->end_line,
                         a->start_line);
    call->op = &op_table[OP_READ];
    call->request.read = (struct op_read_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .start_line = a->start_line,
        .end_line = a->end_line,
        .max_bytes = max_bytes,
        .whole_max = counted_max,
    };
    return 0;
}

int file_check_glob(struct str pattern, const char *field, struct err *err)
{
    if (!pattern.p)
        return 0;
    GLOB_AT_END struct glob *glob = glob_compile(pattern, false, err);
    if (glob)
        return 0;
    snprintf(err->field, sizeof err->field, "%s", field);
    return -1;
}

int file_prepare_write(struct call *call, struct str content, bool append, struct err *err)
{
    int64_t limit = config_int(call->workplace->config, "files.maxWriteBytes");
    if (path_is_root(&call->path))
        return err_set(err, ERR_NOT_A_FILE, "the path is the workspace itself, not a file");
    if ((int64_t)content.n > limit)
        return err_set(err, ERR_TOO_LARGE,
                       "the content is %zu bytes, at most %lld can be written at once", content.n,
                       (long long)limit);
    call->request_body = content;
    call->op = &op_table[OP_WRITE];
    call->request.write = (struct op_write_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .append = append,
        .max_bytes = limit,
        .fsync = config_bool(call->workplace->config, "files.fsync"),
    };
    return 0;
}

int file_prepare_change(struct call *call, enum op_id op, struct str path, struct str path_b64,
                        struct err *err)
{
    const struct config *config = call->workplace->config;
    if (call_take_path(call, path, path_b64, err) < 0)
        return -1;
    if (path_is_root(&call->path))
        return err_set(err, ERR_NOT_A_FILE, "the path is a folder, not a file");
    buf_done(&call->packed);
    buf_init(&call->packed, 2 * (size_t)config_int(config, "limits.maxRequestBytes"));
    call->op = &op_table[op];
    call->request.change = (struct op_change_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .max_bytes = config_int(config, "files.maxWriteBytes"),
        .fsync = config_bool(config, "files.fsync"),
    };
    return 0;
}

int file_take_packed(struct call *call, struct err *err)
{
    if (call->packed.failed)
        return err_set(err, ERR_TOO_LARGE, "what is to change is too large for one call");
    call->request_body = buf_str(&call->packed);
    return 0;
}

void file_write_change(const struct call *call, struct json_out *j)
{
    const struct op_change_reply *r = &call->reply.change;
    jo_kcontent(j, "diff", buf_str(&call->reply_body));
    jo_kbool(j, "truncated", r->cut);
    jo_kstr(j, "sha256_before", r->sha256_before);
    jo_kstr(j, "sha256_after", r->sha256_after);
    jo_kint(j, "bytes", r->bytes);
}

void file_write_stat(const struct call *call, const char *link_key, struct json_out *j)
{
    const struct op_stat_reply *r = &call->reply.stat;
    char mode[8];
    char mtime[CLOCK_TEXT_MAX];
    snprintf(mode, sizeof mode, "%04o", (unsigned)r->mode & 07777u);
    clock_format_utc(r->mtime_ms, mtime);
    jo_ktext(j, "type", file_type_names[r->type]);
    jo_kint(j, "size", r->size);
    jo_ktext(j, "mode", mode);
    jo_ktext(j, "mtime", mtime);
    jo_kbool(j, link_key, r->symlink);
}

int toolhost_check_match(struct str sha256, struct err *err)
{
    if (!sha256.p || hash_is_hex(sha256))
        return 0;
    return err_set(err, ERR_PRECONDITION_FAILED,
                   "ifMatchSha256 is not the file's SHA-256, which has 64 hexadecimal digits: read "
                   "the file again");
}

bool toolhost_is_log(const struct call *call)
{
    return strcmp(call->workplace->roots[call->path.root].name, "@state") == 0 &&
           path_beneath(call_path_text(call), LOGS);
}

int64_t toolhost_write_limit(const struct call *call)
{
    const struct config *config = call->workplace->config;
    return config_agent_int(config, call->agent, "tools.fs.maxWriteBytes",
                            config_int(config, "tools.fs.maxWriteBytes"));
}

#include <inttypes.h>

#include "base/utf8.h"
#include "core/call.h"
#include "session/changes.h"
#include "tools/all.h"
#include "tools/show.h"

#define LISTED_MAX 1000

struct args {
    struct str path;
    struct str path_b64;
    int64_t max_bytes;
};

static const struct arg args[] = {
    {.name = "path",
     .alias = "file_path",
     .type = ARG_STRING,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "Only what was changed there, or in this folder; default: everything."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_READS | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
    {.name = "max_bytes",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_bytes),
     .max = 1000000,
     .def = 100000,
     .doc = "Most bytes of the patch; 0: only the list of changes."},
};

static const struct arg change_fields[] = {
    {.name = "change",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .doc = "added, modified, deleted, renamed, mode or type."},
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "path_b64", .type = ARG_STRING, .doc = "Base64 of the path, where it is not UTF-8."},
    {.name = "renamed_from",
     .type = ARG_STRING,
     .doc = "The path before, of one that was renamed."},
    {.name = "renamed_from_b64", .type = ARG_STRING},
};

static const struct arg result[] = {
    {.name = "changes",
     .type = ARG_OBJECTS,
     .flags = ARG_REQUIRED,
     .items = change_fields,
     .n_items = ARRAY_LEN(change_fields),
     .doc = "At most 1,000."},
    {.name = "count", .type = ARG_INT, .flags = ARG_REQUIRED, .doc = "How many there are."},
    {.name = "patch",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .doc = "As `git apply` takes it, without secrets, binary files and what did not fit."},
    {.name = "left_out",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .doc = "Changes that the patch does not say, or not all of."},
};

static int prepare_native_session_diff(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, a->path_b64, err) < 0)
        return -1;
    struct call_look *look = call_look(call);
    look->max_bytes = (size_t)a->max_bytes;
    if (call->plain_max)
        look->max_bytes = show_room(call, "max_bytes", a->max_bytes);
    return 0;
}

static void write_path(struct json_out *j, const char *key, const char *key_b64, struct str path)
{
    jo_kstr(j, key, path);
    if (utf8_valid(path.p, path.n))
        return;
    jo_key(j, key_b64);
    jo_base64(j, path);
}

static void write_change(const struct change *change, struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "change", change_kind_names[change->kind]);
    write_path(j, "path", "path_b64", change->of.path);
    if (change->from.n)
        write_path(j, "renamed_from", "renamed_from_b64", change->from);
    jo_close(j, '}');
}

static int take_changes(const struct call *call, struct change_list *ret, struct err *err)
{
    if (change_list_take(buf_str(&call->look->changes), ret) && !call->look->changes.failed)
        return 0;
    return err_set(err, ERR_TOO_LARGE, "too many changes: name a path");
}

static int shape_native_session_diff(const struct call *call, struct json_out *j, struct err *err)
{
    CLEANUP(change_list_done) struct change_list list = {.n = 0};
    if (take_changes(call, &list, err) < 0)
        return -1;
    size_t told = 0;
    jo_key(j, "changes");
    jo_open(j, '[');
    for (size_t i = 0; i < list.n && !j->redact; i++) {
        if (!list.all[i].gone && told++ < LISTED_MAX)
            write_change(&list.all[i], j);
    }
    jo_close(j, ']');
    jo_kint(j, "count", (int64_t)call->look->count);
    jo_kcontent(j, "patch", buf_str(&call->reply_body));
    jo_kint(j, "left_out", (int64_t)call->look->left_out);
    return 0;
}

static int show_native_session_diff(const struct call *call, struct buf *out, struct err *err)
{
    CLEANUP(change_list_done) struct change_list list = {.n = 0};
    size_t told = 0;
    if (take_changes(call, &list, err) < 0)
        return -1;
    buf_addf(out, "%zu %s in session %s", call->look->count,
             call->look->count == 1 ? "change" : "changes", call->workplace->session_id);
    if (call->look->left_out)
        buf_addf(out, "; %zu are not, or not wholly, in the patch: name a path, or read the files",
                 call->look->left_out);
    buf_add_char(out, '\n');
    for (size_t i = 0; i < list.n; i++) {
        if (!list.all[i].gone && told++ < LISTED_MAX)
            change_write_line(&list.all[i], out);
    }
    buf_add(out, call->reply_body.data, call->reply_body.len);
    return 0;
}

const struct tool native_session_diff = {
    .dialect = DIALECT_NATIVE,
    .name = "session_diff",
    .title = "What this session changed",
    .description =
        "Shows what was changed since the session began, as a list and a patch. The changes wait in the session until the user takes them over.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_TREE | TOOL_LAYER,
    .runner = RUN_SESSION,
    .prepare = prepare_native_session_diff,
    .shape = shape_native_session_diff,
    .show = show_native_session_diff,
};

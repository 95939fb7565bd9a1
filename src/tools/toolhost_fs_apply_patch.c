#include "base/mem.h"
#include "core/call.h"
#include "tools/all.h"
#include "tools/file.h"

struct args {
    struct str path;
    yyjson_val *patch;
};

static const char *const operations[] = {"updateFrontmatter", NULL};

struct patch {
    int64_t operation;
    yyjson_val *update;
    struct str if_match;
};

static const struct arg patch_fields[] = {
    {.name = "operation",
     .type = ARG_CHOICE,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct patch, operation),
     .choices = operations,
     .doc = "What to do; there is only this."},
    {.name = "update",
     .type = ARG_OBJECT,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct patch, update),
     .doc = "stepsCompleted.append, variables.set, decisionLog.append, artifacts.append, "
            "currentNodeId.set, updatedAt.set"},
    {.name = "ifMatchSha256",
     .type = ARG_STRING,
     .offset = offsetof(struct patch, if_match),
     .doc = "Change the file only if its SHA-256 still is this one."},
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_READS | ARG_WRITES,
     .offset = offsetof(struct args, path),
     .doc = "File with front matter: @state/…"},
    {.name = "patch",
     .type = ARG_OBJECT,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct args, patch),
     .items = patch_fields,
     .n_items = ARRAY_LEN(patch_fields),
     .doc = "What to change."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "sha256Before", .type = ARG_SHA256, .flags = ARG_REQUIRED},
    {.name = "sha256After", .type = ARG_SHA256, .flags = ARG_REQUIRED},
};

/* What this dialect may change, and how that is said to the operation. */
static const struct {
    const char *key;
    const char *verb;
    const char *means;
    bool unique;
} updates[] = {
    {"stepsCompleted", "append", "append", true}, {"variables", "set", "merge", false},
    {"decisionLog", "append", "append", false},   {"artifacts", "append", "append", true},
    {"currentNodeId", "set", "set", false},       {"updatedAt", "set", "set", false},
};

static int bad_update(const char *key, const char *verb, struct err *err)
{
    err_field(err, "patch.update",
              "`%.40s%s%.40s` cannot be updated; there are: stepsCompleted.append, variables.set, "
              "decisionLog.append, artifacts.append, currentNodeId.set, updatedAt.set",
              key, verb[0] ? "." : "", verb);
    return err_reason(err, "unknown_update");
}

static int add_update(const char *key, const char *verb, yyjson_val *value, struct json_out *j,
                      struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(updates); i++) {
        if (strcmp(updates[i].key, key) != 0 || strcmp(updates[i].verb, verb) != 0)
            continue;
        if (strcmp(updates[i].means, "merge") == 0 && !yyjson_is_obj(value))
            return err_field(err, "patch.update.variables.set", "variables.set must be an object");
        size_t n = 0;
        FREE_AT_END char *text = yyjson_val_write(value, 0, &n);
        jo_key(j, key);
        jo_open(j, '{');
        jo_key(j, updates[i].means);
        jo_raw(j, (struct str){text, n});
        if (updates[i].unique)
            jo_kbool(j, "unique", true);
        jo_close(j, '}');
        return 0;
    }
    return bad_update(key, verb, err);
}

/* {"stepsCompleted":{"append":[…]}} or, the same, {"stepsCompleted.append":[…]}. */
static int translate(yyjson_val *update, struct json_out *j, struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    jo_open(j, '{');
    yyjson_obj_foreach(update, idx, max, key, val) {
        char name[64] = "";
        snprintf(name, sizeof name, "%s", yyjson_get_str(key));
        char *dot = strchr(name, '.');
        if (dot) {
            *dot = '\0';
            if (add_update(name, dot + 1, val, j, err) < 0)
                return -1;
            continue;
        }
        size_t inner;
        size_t count;
        yyjson_val *how;
        yyjson_val *what;
        if (!yyjson_is_obj(val) || yyjson_obj_size(val) != 1)
            return bad_update(name, "", err);
        yyjson_obj_foreach(val, inner, count, how, what) {
            if (add_update(name, yyjson_get_str(how), what, j, err) < 0)
                return -1;
        }
    }
    jo_close(j, '}');
    return 0;
}

static int prepare_toolhost_patch(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    struct patch patch = {0};
    struct arg_table table = ARG_TABLE(patch_fields, struct patch);
    if (file_prepare_change(call, OP_FRONTMATTER, a->path, (struct str){0}, err) < 0)
        return -1;
    const struct root *root = &call->workplace->roots[call->path.root];
    if (strcmp(root->name, "@state") != 0 || toolhost_is_log(call)) {
        err_set(err, ERR_READ_ONLY, "front matter can be updated only in @state, outside its logs");
        if (!root->writable)
            return err_reason(err, "read_only_mount");
        return err_reason(err, toolhost_is_log(call) ? "protected_logs" : "patch_outside_state");
    }
    if (arg_decode(&table, false, a->patch, &patch, err) < 0 ||
        toolhost_check_match(patch.if_match, err) < 0)
        return -1;
    struct json_out j = {.out = &call->packed};
    if (translate(patch.update, &j, err) < 0)
        return -1;
    call->request.change.if_match = patch.if_match;
    call->request.change.max_bytes = toolhost_write_limit(call);
    return file_take_packed(call, err);
}

static int shape_toolhost_patch(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct op_change_reply *r = &call->reply.change;
    call_write_path(call, j, "path");
    jo_kstr(j, "sha256Before", r->sha256_before);
    jo_kstr(j, "sha256After", r->sha256_after);
    return 0;
}

const struct tool toolhost_fs_apply_patch = {
    .dialect = DIALECT_TOOLHOST,
    .name = "fs.apply_patch",
    .alias = "fs_apply_patch",
    .title = "Update front matter",
    .description =
        "Updates the YAML front matter of a file in @state and leaves every other byte as it "
        "is. The only operation is updateFrontmatter.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ | CAP_FS_WRITE,
    .runner = RUN_WORKER,
    .prepare = prepare_toolhost_patch,
    .shape = shape_toolhost_patch,
};

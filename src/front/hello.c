#include "front/hello.h"

#include "base/mem.h"
#include "dialect/dialects.h"

#define HELLO_MAX 4096

/* Who is not understood would have the rights of the owner's agent. */
static bool is_text_or_none(yyjson_val *val)
{
    return !val || yyjson_is_null(val) ||
           (yyjson_is_str(val) && strlen(yyjson_get_str(val)) == yyjson_get_len(val));
}

int hello_read(struct str line, const struct dialect *owner, struct hello *ret, struct err *err)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(line.p, line.n, HELLO_MAX, JSON_STRICT, &doc, NULL) < 0)
        return err_field(err, "hello", "the first line must be a hello");
    yyjson_val *hello = yyjson_obj_get(yyjson_doc_get_root(doc), "hello");
    const char *dialect = yyjson_get_str(yyjson_obj_get(hello, "dialect"));
    const char *format = yyjson_get_str(yyjson_obj_get(hello, "format"));
    if (!dialect || !format)
        return err_field(err, "hello", "a hello names a dialect and a format");
    *ret = (struct hello){.dialect = dialect_find(dialect, err)};
    if (!ret->dialect || format_find(format, &ret->format, err) < 0)
        return -1;
    /* These have other folders than a workspace: the owner cannot lend them. */
    bool own_folders = owner->id == DIALECT_TOOLHOST || owner->id == DIALECT_SYSTEM ||
                       ret->dialect->id == DIALECT_TOOLHOST || ret->dialect->id == DIALECT_SYSTEM;
    if (own_folders && ret->dialect != owner)
        return err_set(err, ERR_SESSION_BUSY, "the session is in use by the dialect %s",
                       owner->name);
    if (!is_text_or_none(yyjson_obj_get(hello, "agent")) ||
        !is_text_or_none(yyjson_obj_get(hello, "agents")))
        return err_field(err, "hello", "`agent` and `agents` of a hello are strings");
    ret->agent = mem_dup(yyjson_get_str(yyjson_obj_get(hello, "agent")));
    ret->agents = mem_dup(yyjson_get_str(yyjson_obj_get(hello, "agents")));
    ret->marks = yyjson_get_bool(yyjson_obj_get(hello, "marks"));
    ret->beats = yyjson_get_bool(yyjson_obj_get(hello, "beats"));
    ret->once = yyjson_get_bool(yyjson_obj_get(hello, "once"));
    return 0;
}

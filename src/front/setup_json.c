/* Adding to a JSON file of another program. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "front/setup_parts.h"

#define NUMBERS_KEPT YYJSON_READ_NUMBER_AS_RAW
#define PATH_MAX_BYTES 256
#define SHOWN_VALUE_MAX 120

struct merge {
    yyjson_mut_doc *doc;
    struct buf *replaced;
    struct err *err;
};

static void mut_doc_freep(yyjson_mut_doc **doc)
{
    yyjson_mut_doc_free(*doc);
}

/* What another indents by stays as it is; yyjson knows two and four. */
static yyjson_write_flag indent_kept(struct str text)
{
    const char *line = text.n ? memchr(text.p, '\n', text.n) : NULL;
    size_t left = line ? text.n - (size_t)(line - text.p) : 0;
    bool four = left > 4 && memcmp(line, "\n    ", 5) == 0;
    return four ? YYJSON_WRITE_PRETTY : YYJSON_WRITE_PRETTY_TWO_SPACES;
}

static void tell_replaced(struct merge *m, const char *path, yyjson_mut_val *was)
{
    FREE_AT_END char *text = yyjson_mut_val_write(was, 0, NULL);
    size_t n = text ? strlen(text) : 0;
    buf_addf(m->replaced, "%s was %.*s%s\n", path, SHOWN_VALUE_MAX, text ? text : "another",
             n > SHOWN_VALUE_MAX ? "..." : "");
}

/* Its value is not shown: it may be a key. */
static void take_out_others(struct merge *m, yyjson_mut_val *at, yyjson_val *wanted,
                            const char *path)
{
    yyjson_mut_obj_iter members = yyjson_mut_obj_iter_with(at);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&members))) {
        size_t n = yyjson_mut_get_len(key);
        if (yyjson_obj_getn(wanted, yyjson_mut_get_str(key), n))
            continue;
        buf_addf(m->replaced, "%s.%.*s by nothing\n", path, (int)n, yyjson_mut_get_str(key));
        yyjson_mut_obj_iter_remove(&members);
    }
}

static int refuse_kind(struct merge *m, const char *path, const char *kind)
{
    return err_set(m->err, ERR_CONFLICT, "%s is there and is no %s", path, kind);
}

static bool list_has(yyjson_mut_val *list, yyjson_val *item)
{
    size_t idx;
    size_t max;
    yyjson_mut_val *one;
    yyjson_mut_arr_foreach(list, idx, max, one)
    {
        if (yyjson_mut_equals_strn(one, yyjson_get_str(item), yyjson_get_len(item)))
            return true;
    }
    return false;
}

static int merge_list(struct merge *m, yyjson_mut_val *list, yyjson_val *wanted, const char *path)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (!yyjson_mut_is_arr(list))
        return refuse_kind(m, path, "list");
    yyjson_arr_foreach(wanted, idx, max, item) {
        if (!list_has(list, item))
            yyjson_mut_arr_append(list, yyjson_val_mut_copy(m->doc, item));
    }
    return 0;
}

static void set_member(struct merge *m, yyjson_mut_val *at, struct str name, yyjson_val *wanted,
                       bool last, const char *path)
{
    yyjson_mut_val *value = yyjson_val_mut_copy(m->doc, wanted);
    yyjson_mut_val *there = yyjson_mut_obj_getn(at, name.p, name.n);
    bool same = there && yyjson_mut_equals(there, value);
    if (there && !same)
        tell_replaced(m, path, there);
    if (same && !last)
        return;
    if (last)
        yyjson_mut_obj_remove_keyn(at, name.p, name.n);
    yyjson_mut_obj_put(at, yyjson_mut_strncpy(m->doc, name.p, name.n), value);
}

static yyjson_mut_val *member_or_new(struct merge *m, yyjson_mut_val *at, struct str name,
                                     bool list)
{
    yyjson_mut_val *there = yyjson_mut_obj_getn(at, name.p, name.n);
    if (there)
        return there;
    there = list ? yyjson_mut_arr(m->doc) : yyjson_mut_obj(m->doc);
    yyjson_mut_obj_put(at, yyjson_mut_strncpy(m->doc, name.p, name.n), there);
    return there;
}

/* `path` holds the way to `at`; what is added for a member is cut off again. As deep as what is wanted, which is ours.
 * `whole`: nothing else is to be in it. */
static int merge_object(struct merge *m, yyjson_mut_val *at, yyjson_val *wanted, bool whole,
                        struct buf *path)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    size_t above = path->len;
    int r = yyjson_mut_is_obj(at) ? 0 : refuse_kind(m, buf_text(path), "object");
    if (r == 0 && whole)
        take_out_others(m, at, wanted, buf_text(path));
    yyjson_obj_foreach(wanted, idx, max, key, val) {
        if (r < 0)
            break;
        struct str name = json_str(key);
        char mark = *(name.n ? name.p + name.n - 1 : "");
        name.n -= mark == '+' || mark == '>' || mark == '=';
        buf_addf(path, "%s%.*s", above ? "." : "", (int)name.n, name.p);
        if (yyjson_is_obj(val))
            r = merge_object(m, member_or_new(m, at, name, false), val, whole || mark == '=', path);
        else if (mark == '+')
            r = merge_list(m, member_or_new(m, at, name, true), val, buf_text(path));
        else
            set_member(m, at, name, val, mark == '>', buf_text(path));
        buf_cut(path, above);
    }
    return r;
}

/* Checked as what outsiders send is; then read once more, with each number as it stands there. */
static int read_kept_json(struct str text, struct json_error *what, yyjson_doc **ret,
                          struct err *err)
{
    JSON_AT_END yyjson_doc *checked = NULL;
    if (json_parse(text.p, text.n, SETUP_BYTES_MAX, JSON_STRICT, &checked, what) < 0)
        return -1;
    *what = (struct json_error){0};
    *ret = yyjson_read(text.p, text.n, NUMBERS_KEPT);
    return *ret ? 0 : err_set(err, ERR_INTERNAL, "not enough memory");
}

static int read_old_json(struct str old, yyjson_doc **ret, struct err *err)
{
    struct json_error what = {0};
    if (old.n == 0)
        old = STR("{}");
    int r = read_kept_json(old, &what, ret, err);
    return r < 0 && what.what[0] ? err_set(err, ERR_CONFLICT,
                                           "it is no plain JSON: %s (byte %zu); comments could not "
                                           "be kept",
                                           what.what, what.at)
                                 : r;
}

static int read_wanted_json(struct str wanted, yyjson_doc **ret, struct err *err)
{
    struct json_error what = {0};
    int r = read_kept_json(wanted, &what, ret, err);
    return r < 0 && what.what[0]
               ? err_set(err, ERR_INVALID_ARGUMENTS, "the workspace's path is not UTF-8")
               : r;
}

static int put_json(yyjson_mut_doc *doc, yyjson_write_flag flags, struct buf *ret)
{
    size_t n;
    FREE_AT_END char *text = yyjson_mut_write(doc, flags, &n);
    if (!text || buf_add(ret, text, n) < 0)
        return -1;
    return buf_add_char(ret, '\n');
}

int setup_merge_json(struct str old, struct str wanted, struct buf *ret, struct buf *replaced,
                     bool *ret_same, struct err *err)
{
    JSON_AT_END yyjson_doc *there = NULL;
    JSON_AT_END yyjson_doc *ours = NULL;
    BUF_AT_END struct buf path = BUF_INIT(PATH_MAX_BYTES);
    BUF_AT_END struct buf before = BUF_INIT(2 * SETUP_BYTES_MAX);
    yyjson_write_flag flags = indent_kept(old);
    if (read_old_json(old, &there, err) < 0 || read_wanted_json(wanted, &ours, err) < 0)
        return -1;
    CLEANUP(mut_doc_freep) yyjson_mut_doc *doc = yyjson_doc_mut_copy(there, NULL);
    struct merge m = {.doc = doc, .replaced = replaced, .err = err};
    if (!doc || put_json(doc, flags, &before) < 0)
        return err_set(err, ERR_INTERNAL, "not enough memory");
    if (!yyjson_mut_is_obj(yyjson_mut_doc_get_root(doc)))
        return err_set(err, ERR_CONFLICT, "it holds no object");
    if (merge_object(&m, yyjson_mut_doc_get_root(doc), yyjson_doc_get_root(ours), false, &path) < 0)
        return -1;
    if (put_json(doc, flags, ret) < 0)
        return err_set(err, ERR_INTERNAL, "not enough memory");
    *ret_same = old.n > 0 && str_equal(buf_str(&before), buf_str(ret));
    return 0;
}

#include "core/path.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

/* Long paths are cut in messages; the reader has the whole one. */
#define SHOWN 120
/* A base and a path behind it. */
#define WHOLE_MAX ((size_t)2 * PATH_TEXT_MAX)

static int outside(struct err *err, struct str text, const char *reason)
{
    err_set(err, ERR_PATH_OUTSIDE_WORKSPACE,
            "path `%.*s` is outside the workspace; use a path relative to its root",
            (int)utf8_cut(text.p, text.n > SHOWN ? SHOWN : text.n), text.p);
    return err_reason(err, reason);
}

static int refuse_long_path(struct err *err)
{
    return err_field(err, "path",
                     "the path is longer than %d bytes once it is joined to its folder",
                     PATH_TEXT_MAX - 1);
}

/* Appends one component and a NUL; -1 where both do not fit. */
static int append_component(struct path *path, size_t *length, struct str name)
{
    size_t slash = *length ? 1 : 0;
    if (name.n >= sizeof path->text - *length - slash)
        return -1;
    if (slash)
        path->text[(*length)++] = '/';
    memcpy(path->text + *length, name.p, name.n);
    *length += name.n;
    path->text[*length] = '\0';
    return 0;
}

/* Joins the components of text into ret, dropping empty ones and `.`; counts depth. The text may be longer than
 * what ret holds. */
static int normalise(struct str text, struct str whole, bool parents, struct path *ret,
                     struct err *err)
{
    size_t out = 0;
    int depth = 0;
    for (size_t i = 0; i < text.n;) {
        const char *slash = memchr(text.p + i, '/', text.n - i);
        size_t n = slash ? (size_t)(slash - (text.p + i)) : text.n - i;
        const char *name = text.p + i;
        i += n + 1;
        if (n == 0 || (n == 1 && name[0] == '.'))
            continue;
        bool up = n == 2 && name[0] == '.' && name[1] == '.';
        depth += up ? -1 : 1;
        if (up && (!parents || depth < 0))
            return outside(err, whole, "parent_traversal");
        if (n > PATH_NAME_MAX)
            return err_field(err, "path", "a name in the path is %zu bytes long, at most %d", n,
                             PATH_NAME_MAX);
        if (append_component(ret, &out, (struct str){name, n}) < 0)
            return refuse_long_path(err);
    }
    if (out == 0)
        append_component(ret, &out, STR("."));
    return 0;
}

static int check_length(struct str text, struct err *err)
{
    if (text.n < PATH_TEXT_MAX)
        return 0;
    return err_field(err, "path", "the path is %zu bytes long, at most %d are allowed", text.n,
                     PATH_TEXT_MAX - 1);
}

size_t path_prefix_length(const char *prefix)
{
    size_t n = strlen(prefix);
    while (n > 1 && prefix[n - 1] == '/')
        n--;
    return n;
}

bool path_beneath(struct str text, const char *prefix)
{
    size_t n = path_prefix_length(prefix);
    return text.n >= n && memcmp(text.p, prefix, n) == 0 &&
           (text.n == n || text.p[n] == '/' || prefix[n - 1] == '/');
}

bool path_lies_in(struct str path, struct str folder)
{
    return path.n > folder.n && path.p[folder.n] == '/' && memcmp(path.p, folder.p, folder.n) == 0;
}

bool path_is_in(struct str path, struct str folder)
{
    return path_lies_in(path, folder) || str_equal(path, folder);
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct str path_name_of(struct str path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    return slash ? (struct str){slash + 1, (size_t)(path.p + path.n - slash - 1)} : path;
}

size_t path_named(struct str text, const char *host, const char *inside,
                  const char *const also[ROOT_ALSO])
{
    if (path_beneath(text, host))
        return path_prefix_length(host);
    if (path_beneath(text, inside))
        return path_prefix_length(inside);
    for (size_t i = 0; also && i < ROOT_ALSO; i++) {
        if (also[i] && path_beneath(text, also[i]))
            return path_prefix_length(also[i]);
    }
    return 0;
}

static size_t root_named(struct str text, const struct root *root)
{
    return path_named(text, root->host, root->inside, root->also);
}

static int refuse_nul(struct str text, struct err *err)
{
    if (!memchr(text.p, '\0', text.n))
        return 0;
    err_field(err, "path", "the path contains a NUL byte");
    return err_reason(err, "nul_byte");
}

int path_in_workspace(struct str text, const struct root *root, struct path *ret, struct err *err)
{
    if (check_length(text, err) < 0)
        return -1;
    if (refuse_nul(text, err) < 0)
        return -1;
    struct str rest = text;
    if (text.n && text.p[0] == '/') {
        size_t n = root_named(text, root);
        if (n == 0)
            return outside(err, text, "absolute_path");
        rest = (struct str){text.p + n, text.n - n};
    }
    ret->root = 0;
    return normalise(rest, text, true, ret, err);
}

/* Takes the components of text behind those in out; `..` takes one away again. */
static int resolve(struct str text, char out[WHOLE_MAX], size_t *length)
{
    for (size_t i = 0; i < text.n;) {
        const char *name = text.p + i;
        const char *slash = memchr(name, '/', text.n - i);
        size_t n = slash ? (size_t)(slash - name) : text.n - i;
        i += n + 1;
        if (n == 0 || (n == 1 && name[0] == '.'))
            continue;
        if (n == 2 && name[0] == '.' && name[1] == '.') {
            while (*length > 0 && out[--*length] != '/')
                continue;
            continue;
        }
        if (*length + n + 1 >= WHOLE_MAX)
            return -1;
        out[(*length)++] = '/';
        memcpy(out + *length, name, n);
        *length += n;
    }
    return 0;
}

int path_in_folders(struct str text, const char *base, const struct root *roots, size_t count,
                    struct path *ret, struct err *err)
{
    char whole[WHOLE_MAX];
    size_t length = 0;
    if (check_length(text, err) < 0 || refuse_nul(text, err) < 0)
        return -1;
    bool absolute = text.n && text.p[0] == '/';
    if ((!absolute && resolve((struct str){base, strlen(base)}, whole, &length) < 0) ||
        resolve(text, whole, &length) < 0)
        return refuse_long_path(err);
    struct str full = {whole, length};
    if (length == 0)
        full = STR("/");
    size_t best = 0;
    for (size_t i = 0; i < count; i++) {
        size_t n = root_named(full, &roots[i]);
        if (n > best) {
            best = n;
            ret->root = i;
        }
    }
    if (best == 0)
        return outside(err, text, absolute ? "absolute_path" : "parent_traversal");
    return normalise((struct str){full.p + best, full.n - best}, text, false, ret, err);
}

static const struct root *find_mount(struct str name, const struct root *roots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(name, roots[i].name))
            return &roots[i];
    }
    return NULL;
}

struct str path_without_lead(struct str text)
{
    while (text.n >= 2 && text.p[0] == '.' && text.p[1] == '/')
        text = (struct str){text.p + 2, text.n - 2};
    if (text.n >= 2 && text.p[0] == '/' && text.p[1] == '@')
        text = (struct str){text.p + 1, text.n - 1};
    return text;
}

static bool is_absolute(struct str text)
{
    bool drive = text.n >= 2 && text.p[1] == ':' &&
                 ((text.p[0] | 32) >= 'a' && (text.p[0] | 32) <= 'z');
    return drive || (text.n && text.p[0] == '/');
}

static int no_mount(struct err *err, struct str text, const struct root *roots, size_t count)
{
    char known[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                 roots[i].name);
    err_set(err, ERR_PATH_OUTSIDE_WORKSPACE,
            "path `%.*s` does not begin with a mount of this run; there are: %s",
            (int)utf8_cut(text.p, text.n > SHOWN ? SHOWN : text.n), text.p, known);
    return err_reason(err, is_absolute(text) ? "absolute_path" : "unknown_mount");
}

int path_in_mounts(struct str text, const struct root *roots, size_t count, struct path *ret,
                   struct err *err)
{
    char copy[PATH_TEXT_MAX];
    if (check_length(text, err) < 0)
        return -1;
    if (memchr(text.p, '\0', text.n)) {
        err_set(err, ERR_PATH_OUTSIDE_WORKSPACE, "the path contains a NUL byte");
        return err_reason(err, "nul_byte");
    }
    for (size_t i = 0; i < text.n; i++)
        copy[i] = (char)(text.p[i] == '\\' ? '/' : text.p[i]);
    struct str whole = {copy, text.n};
    struct str rest = path_without_lead(whole);
    const char *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;
    struct str name = {rest.p, slash ? (size_t)(slash - rest.p) : rest.n};
    const struct root *root = find_mount(name, roots, count);
    if (!root)
        return no_mount(err, text, roots, count);
    ret->root = (size_t)(root - roots);
    return normalise((struct str){rest.p + name.n, rest.n - name.n}, whole, false, ret, err);
}

bool path_is_root(const struct path *path)
{
    return path->text[0] == '.' && path->text[1] == '\0';
}

void path_tidy(char *path)
{
    char *out = path;
    for (const char *at = path; *at;) {
        at += strspn(at, "/");
        size_t n = strcspn(at, "/");
        if (n == 2 && memcmp(at, "..", 2) == 0) {
            while (out > path && *--out != '/')
                continue;
        } else if (n && !(n == 1 && *at == '.')) {
            *out++ = '/';
            memmove(out, at, n);
            out += n;
        }
        at += n;
    }
    if (out == path)
        *out++ = '/';
    *out = '\0';
}

const char *path_rest(const char *path, const char *prefix)
{
    if (!path_beneath((struct str){path, strlen(path)}, prefix))
        return NULL;
    const char *rest = path + path_prefix_length(prefix);
    return rest + strspn(rest, "/");
}

bool path_meets(const char *a, const char *b)
{
    return path_rest(a, b) || path_rest(b, a);
}

int path_take_name(char *rest, char name[PATH_NAME_MAX + 1])
{
    size_t skip = strspn(rest, "/");
    size_t n = strcspn(rest + skip, "/");
    if (n == 0 || n > PATH_NAME_MAX)
        return n == 0 ? 0 : -1;
    memcpy(name, rest + skip, n);
    name[n] = '\0';
    memmove(rest, rest + skip + n, strlen(rest + skip + n) + 1);
    return 1;
}

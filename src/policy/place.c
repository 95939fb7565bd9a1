#include "policy/place.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* What stands for the roots where none are known: the text alone can still be judged. */
static const struct root workspace[] = {{"workspace", "/workspace", "/workspace", true, {0}}};
static const struct root mounts[] = {{"@project", "/project", "/project", true, {0}},
                                     {"@pkg", "/pkg", "/pkg", false, {0}},
                                     {"@state", "/state", "/state", true, {0}}};

static int parse_place(struct place *place, const struct policy_call *call, struct str text,
                       struct path *ret, struct err *err)
{
    const struct root *roots = call->roots;
    size_t n = roots ? call->n_roots : 0;
    if (n == 0) {
        roots = place->mounted ? mounts : workspace;
        n = place->mounted ? ARRAY_LEN(mounts) : ARRAY_LEN(workspace);
    }
    int r;
    if (place->mounted)
        r = path_in_mounts(text, roots, n, ret, err);
    else if (call->base && call->roots)
        r = path_in_folders(text, call->base, roots, n, ret, err);
    else
        r = path_in_workspace(text, &roots[0], ret, err);
    if (r == 0)
        place->root = &roots[ret->root];
    return r;
}

static bool goes_up(const char *text)
{
    for (const char *at = text; (at = strstr(at, "..")); at += 2) {
        if ((at == text || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return true;
    }
    return false;
}

static bool is_dot(const char *text)
{
    return text[0] == '.' && text[1] == '\0';
}

static char *joined(const char *folder, const char *rest)
{
    const char *slash = folder[path_prefix_length(folder) - 1] == '/' ? "" : "/";
    return is_dot(rest)
               ? mem_dup(folder)
               : mem_format("%.*s%s%s", (int)path_prefix_length(folder), folder, slash, rest);
}

char *place_absolute(const struct place *place, bool host)
{
    return joined(host ? place->root->host : place->root->inside, place->rest);
}

static char *text_for_rules(const struct place *place)
{
    if (place->mounted)
        return joined(place->root->name, place->rest);
    if (!place->base)
        return mem_dup(place->rest);
    char *inside = place_absolute(place, false);
    FREE_AT_END char *host = place_absolute(place, true);
    const char *rest = path_rest(host, place->base);
    if (!rest)
        rest = path_rest(inside, place->base);
    if (!rest)
        return inside;
    char *text = mem_dup(*rest ? rest : ".");
    free(inside);
    return text;
}

int place_read(struct place *place, const struct policy_call *call, bool mounted, struct str text,
               struct err *err)
{
    struct path path;
    place->state = PLACE_UNCLEAR;
    place->mounted = mounted;
    place->base = call->roots && !mounted ? call->base : NULL;
    if (parse_place(place, call, text.p ? text : STR(""), &path, err) < 0)
        return -1;
    if (goes_up(path.text))
        return err_set(err, ERR_PATH_OUTSIDE_WORKSPACE,
                       "the path goes up with `..`: write where it leads");
    place->rest = mem_dup(path.text);
    place->text = text_for_rules(place);
    place->state = PLACE_KNOWN;
    return 0;
}

void place_done(struct place *place)
{
    free(place->rest);
    free(place->text);
    *place = (struct place){0};
}

int rule_path_read(struct rule_path *ret, struct str text, struct err *err)
{
    BUF_AT_END struct buf out = BUF_INIT(PATH_TEXT_MAX);
    bool absolute = text.n && text.p[0] == '/';
    if (text.n == 0 || text.n >= PATH_TEXT_MAX || memchr(text.p, '\0', text.n))
        return err_set(err, ERR_INVALID_ARGUMENTS, "must be a path of 1 to %d bytes without NUL",
                       PATH_TEXT_MAX - 1);
    for (size_t i = 0; i < text.n;) {
        const char *name = text.p + i;
        const char *slash = memchr(name, '/', text.n - i);
        size_t n = slash ? (size_t)(slash - name) : text.n - i;
        i += n + 1;
        if (n == 0 || (n == 1 && name[0] == '.'))
            continue;
        if (n == 2 && name[0] == '.' && name[1] == '.')
            return err_set(err, ERR_INVALID_ARGUMENTS, "must not go up with `..`");
        if (out.len || absolute)
            buf_add_char(&out, '/');
        buf_add(&out, name, n);
    }
    if (out.len == 0)
        buf_add_char(&out, absolute ? '/' : '.');
    *ret = (struct rule_path){mem_copy(out.data, out.len), absolute};
    return 0;
}

void rule_path_done(struct rule_path *path)
{
    free(path->text);
    *path = (struct rule_path){0};
}

/* Of two paths that begin at the same folder, "." being that. */
static enum relation relate(const char *place, const char *rule)
{
    if (strcmp(place, rule) == 0)
        return PLACE_SAME;
    if (is_dot(rule) || (!is_dot(place) && path_beneath(str_of(place), rule)))
        return PLACE_BENEATH;
    return is_dot(place) || path_beneath(str_of(rule), place) ? PLACE_ABOVE : PLACE_APART;
}

static enum relation relate_from(const char *root, const char *rest, const char *rule)
{
    const char *beneath = path_rest(rule, root);
    if (beneath)
        return relate(rest, *beneath ? beneath : ".");
    return path_beneath(str_of(root), rule) ? PLACE_BENEATH : PLACE_APART;
}

/* A folder may lie at one path for commands and at another on the host, and have other names; a rule may mean each. */
static enum relation relate_absolute(const struct place *place, const char *rule)
{
    const struct root *root = place->root;
    const char *const names[] = {root->inside, root->host, root->also[0], root->also[1]};
    enum relation found = PLACE_APART;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        enum relation by_name = names[i] ? relate_from(names[i], place->rest, rule) : PLACE_APART;
        if (found == PLACE_APART || by_name == PLACE_SAME)
            found = by_name;
    }
    return found;
}

static enum relation relate_mounted(const struct place *place, const char *rule, bool *ret_loose)
{
    if (rule[0] == '@')
        return relate(place->text, rule);
    *ret_loose = true;
    return relate(place->rest, rule);
}

enum relation place_relate(const struct place *place, const struct rule_path *path, bool *ret_loose)
{
    *ret_loose = false;
    if (path->absolute)
        return relate_absolute(place, path->text);
    if (place->mounted)
        return relate_mounted(place, path->text, ret_loose);
    if (place->text[0] != '/')
        return relate(place->text, path->text);
    /* Outside the workspace, or around it: then all of the workspace lies beneath. */
    FREE_AT_END char *host = place_absolute(place, true);
    return path_beneath(str_of(place->base), host) || path_beneath(str_of(place->base), place->text)
               ? PLACE_ABOVE
               : PLACE_APART;
}

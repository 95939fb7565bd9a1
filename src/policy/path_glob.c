#include "policy/path_glob.h"

#include <string.h>

#include "base/mem.h"

/* Only where the pattern without its end is one by itself are the stars not within braces or a set. */
static void read_glob_end(struct path_glob *glob, struct str text)
{
    size_t slash = text.n;
    while (slash > 0 && text.p[slash - 1] != '/')
        slash--;
    struct str last = {text.p + slash, text.n - slash};
    glob->deep = last.n == 2 && memcmp(last.p, "**", 2) == 0;
    glob->shallow = last.n == 1 && last.p[0] == '*';
    if (slash == 0 || (!glob->deep && !glob->shallow))
        return;
    struct err ignored;
    glob->folder = glob_compile_lean((struct str){text.p, slash - 1}, &ignored);
    if (!glob->folder || glob_folders_only(glob->folder))
        glob->deep = glob->shallow = false;
}

int path_glob_read(struct path_glob *ret, struct str text, struct err *err)
{
    struct path_glob glob = {.absolute = text.n && text.p[0] == '/'};
    if (glob.absolute)
        text = (struct str){text.p + 1, text.n - 1};
    glob.glob = glob_compile_lean(text, err);
    if (!glob.glob)
        return -1;
    read_glob_end(&glob, text);
    *ret = glob;
    return 0;
}

void path_glob_done(struct path_glob *glob)
{
    glob_free(glob->glob);
    glob_free(glob->folder);
    *glob = (struct path_glob){0};
}

/* The path as this pattern would write it, without a first slash; "" where it would not. `*ret_free` owns it. */
static struct str text_for(const struct path_glob *glob, const struct place *place, bool host,
                           char **ret_free)
{
    *ret_free = NULL;
    if (glob->absolute) {
        *ret_free = place_absolute(place, host);
        return (struct str){*ret_free + 1, strlen(*ret_free) - 1};
    }
    if (place->text[0] == '/')
        return STR("");
    return (struct str){place->text, strlen(place->text)};
}

static bool is_root(struct str path)
{
    return path.n == 0 || (path.n == 1 && path.p[0] == '.');
}

static bool glob_covers_path(const struct path_glob *glob, struct str path, bool direct)
{
    if (!glob->deep && !(direct && glob->shallow))
        return false;
    if (!glob->folder)
        return glob->deep || is_root(path);
    if (is_root(path))
        return false;
    glob_used(glob->folder);
    if (glob_match(glob->folder, path))
        return true;
    for (size_t n = path.n; glob->deep && n > 0; n--) {
        if (path.p[n - 1] == '/' && glob_match(glob->folder, (struct str){path.p, n - 1}))
            return true;
    }
    return false;
}

bool path_glob_matches(const struct path_glob *glob, const struct place *place)
{
    bool found = false;
    glob_used(glob->glob);
    for (int host = 0; host <= glob->absolute && !found; host++) {
        char *owned;
        struct str path = text_for(glob, place, host, &owned);
        found = !is_root(path) && glob_match(glob->glob, path);
        free(owned);
    }
    return found;
}

bool path_glob_covers(const struct path_glob *glob, const struct place *place, bool direct)
{
    bool found = false;
    for (int host = 0; host <= glob->absolute && !found; host++) {
        char *owned;
        struct str path = text_for(glob, place, host, &owned);
        found = (path.n || glob->absolute) && glob_covers_path(glob, path, direct);
        free(owned);
    }
    return found;
}

bool path_glob_touches(const struct path_glob *glob, const struct place *place)
{
    bool found = false;
    for (int host = 0; host <= glob->absolute && !found; host++) {
        char *owned;
        struct str path = text_for(glob, place, host, &owned);
        /* A place outside the workspace may lie around it. */
        found = path.n == 0 || glob_may_match_beneath(glob->glob, path);
        free(owned);
    }
    return found;
}

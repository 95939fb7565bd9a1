/* Any bytes as a path, by the grammar that the first byte picks. */
#include <string.h>

#include "core/path.h"
#include "target.h"

static const struct root workspace = {
    "workspace", "/srv/work", "/srv/work", true, {"/link", "/workspace"}};
static const struct root mounts[] = {
    {"@project", "/project", "/srv/project", true},
    {"@pkg", "/pkg", "/srv/pkg", false},
    {"@state", "/state", "/srv/state", true},
};

static void check_result(const struct path *path, bool parents)
{
    size_t n = strnlen(path->text, sizeof path->text);
    must(n > 0 && n < sizeof path->text);
    must(path->text[0] != '/' && path->text[n - 1] != '/');
    if (path_is_root(path))
        return;
    int depth = 0;
    for (const char *at = path->text; at; at = strchr(at, '/')) {
        at += *at == '/';
        size_t length = strcspn(at, "/");
        must(length > 0 && length <= PATH_NAME_MAX);
        must(!(length == 1 && at[0] == '.'));
        bool up = length == 2 && memcmp(at, "..", 2) == 0;
        must(parents || !up);
        depth += up ? -1 : 1;
        must(depth >= 0);
    }
}

static void check_error(const struct err *err)
{
    must(err->code == ERR_PATH_OUTSIDE_WORKSPACE || err->code == ERR_INVALID_ARGUMENTS);
    must(err->message[0] && (err->code == ERR_INVALID_ARGUMENTS || err->reason[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct path path;
    struct path again;
    struct err err = {.code = ERR_COUNT};
    if (size == 0)
        return 0;
    bool in_mounts = data[0] & 1;
    struct str text = {(const char *)data + 1, size - 1};
    memset(&path, 'x', sizeof path);
    int r = in_mounts ? path_in_mounts(text, mounts, ARRAY_LEN(mounts), &path, &err)
                      : path_in_workspace(text, &workspace, &path, &err);
    if (r < 0) {
        check_error(&err);
        return 0;
    }
    must(err.code == ERR_COUNT && !memchr(text.p, '\0', text.n));
    must(path.root < (in_mounts ? ARRAY_LEN(mounts) : 1));
    check_result(&path, !in_mounts);
    /* What came out is a workspace path by itself and stays as it is. */
    must(path_in_workspace((struct str){path.text, strlen(path.text)}, &workspace, &again, &err) ==
         0);
    must(strcmp(path.text, again.text) == 0);
    return 0;
}

/* Any bytes as a text file of a git directory. The first byte picks its path, of some that have each form; behind that
 * NUL-ended names are classified too. Nothing that is accepted may hold what the form is there to keep out. */
#include <string.h>

#include "base/attr.h"
#include "target.h"
#include "work/git_names.h"
#include "work/git_state.h"

static const char *const paths[] = {
    "HEAD",
    "refs/heads/x",
    "logs/HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_MODE",
    "shallow",
    "BISECT_START",
    "BISECT_TERMS",
    "BISECT_NAMES",
    "rebase-merge/git-rebase-todo",
    "rebase-merge/author-script",
    "rebase-merge/head-name",
    "rebase-merge/stopped-sha",
    "rebase-merge/strategy",
    "rebase-merge/gpg_sign_opt",
    "rebase-merge/rewritten-list",
    "rebase-merge/update-refs",
    "rebase-apply/apply-opt",
    "rebase-apply/abort-safety",
    "sequencer/todo",
    "sequencer/opts",
    "MERGE_MSG",
};

static bool is_module(void *arg, struct str path)
{
    (void)arg;
    return path.n == 11 && memcmp(path.p, "modules/lib", 11) == 0;
}

static bool has_line_with(struct str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t at = 0; at < text.n;) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t length = end ? (size_t)(end - text.p) - at : text.n - at;
        if (length >= n && memcmp(text.p + at, word, n) == 0)
            return true;
        at += length + 1;
    }
    return false;
}

static void check_text(const char *path, struct str text, unsigned hex)
{
    struct git_name name = git_name_of((struct str){path, strlen(path)}, hex, is_module, NULL);
    must(name.kind >= GIT_HEAD && name.check);
    if (!name.check(text, hex))
        return;
    must(text.n == 0 || !memchr(text.p, '\0', text.n));
    if (strstr(path, "todo"))
        must(!has_line_with(text, "exec ") && !has_line_with(text, "x "));
    if (name.kind == GIT_HEAD)
        must(text.n == hex || text.n == hex + 1 || has_line_with(text, "ref: refs/"));
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    if (strstr(path, "strategy"))
        must(text.n < 16);
}

static void check_name(struct str path, unsigned hex)
{
    static const char *const never[] = {"config",    "hooks/",        "info/",
                                        "commondir", "objects/info/", "refs/replace/"};
    struct git_name name = git_name_of(path, hex, is_module, NULL);
    must(name.group <= path.n);
    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        size_t n = strlen(never[i]);
        if (path.n >= n && memcmp(path.p, never[i], n) == 0)
            must(name.kind == GIT_UNKNOWN && !git_may_remove(&name));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    unsigned hex = data[1] & 1 ? 64 : 40;
    struct str text = {(const char *)data + 2, size - 2};
    check_text(paths[data[0] % ARRAY_LEN(paths)], text, hex);
    /* What stands in its first line may be a comment. */
    const char *line = text.n ? memchr(text.p, '\n', text.n) : NULL;
    if (line && git_is_packed_refs(text, (struct str){"", 0}, hex))
        must(!memmem(line, text.n - (size_t)(line - text.p), " refs/replace/", 14));
    (void)git_config_has_sha256(text);
    while (text.n) {
        size_t n = strnlen(text.p, text.n);
        check_name((struct str){text.p, n}, hex);
        n += n < text.n;
        text = (struct str){text.p + n, text.n - n};
    }
    return 0;
}

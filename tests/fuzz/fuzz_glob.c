/* Any bytes as a pattern, and behind a NUL as a path; the first byte picks whether it is anchored. The same
 * pattern as a rule about files. */
#include <string.h>

#include "../unit/slow_glob.h"
#include "base/mem.h"
#include "core/glob_program.h"
#include "core/guard.h"
#include "target.h"

static bool is_path(struct str text)
{
    for (size_t i = 0; i <= text.n; i++) {
        size_t from = i;
        while (i < text.n && text.p[i] != '/')
            i++;
        size_t n = i - from;
        if (n == 0 || (n <= 2 && memcmp(text.p + from, "..", n) == 0))
            return false;
    }
    return true;
}

static void check_match(const struct glob *glob, struct str path)
{
    struct str prefix = glob_fixed_prefix(glob);
    for (size_t i = 0; i < path.n; i++)
        must(path.p[i] != '/' || glob_may_match_beneath(glob, (struct str){path.p, i}));
    must(prefix.n == 0 ||
         (path.n > prefix.n && path.p[prefix.n] == '/' && memcmp(path.p, prefix.p, prefix.n) == 0));
}

/* What a rule covers it covers in any letters, and with all that lies beneath. */
static void check_rule(struct str pattern, struct str path)
{
    struct err err = {.code = ERR_COUNT};
    BUF_AT_END struct buf packed = BUF_INIT(pattern.n + 2);
    BUF_AT_END struct buf other = BUF_INIT(path.n + 2);
    const char *rule;
    guard_pack(&packed, GUARD_SECRET, pattern);
    struct guard *guard = guard_new(buf_str(&packed), &err);
    must(!guard == (guard_check(pattern, &err) < 0));
    if (!guard || !is_path(path)) {
        guard_unref(guard);
        return;
    }
    bool covered = guard_judge(guard, path, false, &rule) == GUARD_SECRET;
    guard_holds(guard, path, &rule);
    for (size_t i = 0; i < path.n; i++)
        buf_add_char(&other,
                     (char)(path.p[i] >= 'a' && path.p[i] <= 'z' ? path.p[i] - 32 : path.p[i]));
    must((guard_judge(guard, buf_str(&other), false, &rule) == GUARD_SECRET) == covered);
    buf_add_text(&other, "/x");
    bool beneath = guard_judge(guard, buf_str(&other), false, &rule) == GUARD_SECRET;
    /* A `.git` that is no folder is another matter. */
    must(beneath || !covered || !guard_judge(guard, path, true, &rule));
    guard_unref(guard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct slow_glob slow;
    struct err err = {.code = ERR_COUNT};
    if (size == 0)
        return 0;
    bool anywhere = data[0] & 1;
    struct str text = {(const char *)data + 1, size - 1};
    const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
    struct str path = {"", 0};
    if (nul) {
        path = (struct str){nul + 1, text.n - (size_t)(nul - text.p) - 1};
        text.n = (size_t)(nul - text.p);
    }
    check_rule(text, path);
    slow_compile(&slow, text, anywhere);
    GLOB_AT_END struct glob *glob = glob_compile(text, anywhere, &err);
    must(slow.too_much || !glob == slow.bad);
    must(glob ? err.code == ERR_COUNT : err.code == ERR_INVALID_PATTERN && err.message[0]);
    if (!glob)
        return 0;
    must(slow.too_much || glob_folders_only(glob) == slow.folders_only);
    bool matches = glob_match(glob, path);
    bool beneath = glob_may_match_beneath(glob, path);
    if (is_path(path)) {
        bool expected = slow.too_much ? matches : slow_match(&slow, path);
        must(slow.too_much || matches == expected);
        if (matches)
            check_match(glob, path);
        must(!matches || glob_is_pattern(text) || anywhere || text.n >= path.n);
    }
    free(TAKE_PTR(glob->table));
    must(glob_match(glob, path) == matches && glob_may_match_beneath(glob, path) == beneath);
    return 0;
}

/* Any bytes as the config of a repository. Of what is taken for plain every line is blank, a comment, the start of a
 * section, or a key that only holds data, in a section that has such keys. */
#include <string.h>

#include "base/mem.h"
#include "target.h"
#include "work/git_plain.h"

static const char *const sections[] = {"[core",      "[extensions", "[remote", "[branch",
                                       "[submodule", "[user",       "[init"};
static const char *const keys[] = {"repositoryformatversion",
                                   "filemode",
                                   "bare",
                                   "logallrefupdates",
                                   "ignorecase",
                                   "precomposeunicode",
                                   "symlinks",
                                   "fetch",
                                   "objectformat",
                                   "url",
                                   "tagopt",
                                   "remote",
                                   "merge",
                                   "rebase",
                                   "active",
                                   "name",
                                   "email",
                                   "defaultbranch"};

static bool begins_with_one(const char *line, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(words[i]);
        if (strncasecmp(line, words[i], n) == 0 && strchr(" \t\r=]\"", line[n]))
            return true;
    }
    return false;
}

/* An unknown section without keys sets nothing. */
static void check_line(const char *line, bool *known)
{
    line += strspn(line, " \t\r");
    if (*line == '\0' || *line == '#' || *line == ';')
        return;
    must(!strchr(line, '\\'));
    if (*line == '[')
        *known = begins_with_one(line, sections, sizeof sections / sizeof *sections);
    else
        must(*known && begins_with_one(line, keys, sizeof keys / sizeof *keys));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_copy((const char *)data, size);
    if (git_config_is_plain((struct str){text, size})) {
        char *rest = text;
        bool known = false;
        /* A comment may have anything in it, a NUL too. */
        for (char *line; !memchr(text, '\0', size) && (line = strsep(&rest, "\n"));)
            check_line(line, &known);
    }
    free(text);
    return 0;
}

/* Any bytes as a git configuration: each path and word that it names is told as text, and each setting that cannot be read
 * by a name that has a number. */
#include <string.h>

#include "base/mem.h"
#include "core/git_settings.h"
#include "target.h"

static void take(void *arg, enum git_setting use, const char *text)
{
    size_t *count = arg;
    must(use <= GIT_SETTING_UNREAD && *text);
    *count += strlen(text);
    if (use == GIT_SETTING_UNREAD)
        must(git_setting_number(text) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count = 0;
    char *text = mem_copy((const char *)data, size);
    git_settings_each((struct str){text, size}, take, &count);
    free(text);
    return 0;
}

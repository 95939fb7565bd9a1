#include "front/session_end.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

bool session_is_touched(const struct named *named)
{
    FREE_AT_END char *upper = mem_format("%s/upper", named->layer);
    DIR *dir = opendir(upper);
    if (!dir)
        return errno != ENOENT;
    bool touched = false;
    for (struct dirent *entry; !touched && (entry = readdir(dir));)
        touched = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return touched;
}

void session_remove_own(int state_fd, struct named *named)
{
    struct err err;
    fd_closep(&named->lock_fd);
    if (named_remove(state_fd, named->id, &err) < 0)
        log_warning("session %s stays: %s", named->id, err.message);
}

void session_tell_kept(const struct named *named, size_t changes)
{
    FREE_AT_END char *text = mem_format(
        "sandgate: session %s keeps %zu %s: `sandgate session diff %s` shows what was changed, "
        "`session commit %s` takes it over, `session discard %s` drops it\n",
        named->id, changes, changes == 1 ? "change" : "changes", named->id, named->id, named->id);
    (void)fd_write_all(STDERR_FILENO, text, strlen(text));
}

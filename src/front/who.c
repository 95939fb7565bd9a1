#include "front/who.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"

/* From the file alone: other sources are libraries, which a static program does not load. */
static char *user_name(void)
{
    char *name = NULL;
    FILE *file = fopen("/etc/passwd", "re");
    for (const struct passwd *user; file && !name && (user = fgetpwent(file));) {
        if (user->pw_uid == getuid())
            name = mem_dup(user->pw_name);
    }
    if (file)
        fclose(file);
    return name ? name : mem_format("uid %u", (unsigned)getuid());
}

static bool find_terminal(char *out, size_t size)
{
    return ttyname_r(STDIN_FILENO, out, size) == 0 || ttyname_r(STDERR_FILENO, out, size) == 0 ||
           ttyname_r(STDOUT_FILENO, out, size) == 0;
}

char *who_decides(const char *how)
{
    char terminal[256];
    FREE_AT_END char *name = user_name();
    bool there = find_terminal(terminal, sizeof terminal);
    return mem_format("%s%s%s%s%s", name, there ? " on " : "", there ? terminal : "",
                      how ? " by " : "", how ? how : "");
}

#include "core/shells.h"

#include "base/str.h"
#include "core/path.h"

bool shells_have(struct str program)
{
    static const char *const names[] = {"sh",   "bash", "dash", "ash", "rbash", "ksh",
                                        "mksh", "zsh",  "fish", "csh", "tcsh",  NULL};
    return str_in(path_name_of(program), names);
}

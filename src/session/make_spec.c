#include "session/make_spec.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* A folder of the last root that stays read-only has to be so by every name it has in the cell. */
static char *protected_in(const struct session_options *o, size_t i)
{
    const char *rest = path_rest(o->roots[o->n_roots - 1].host, o->roots[i].host);
    if (!o->protect || !rest)
        return NULL;
    return *rest ? mem_format("%s/%s", rest, o->protect) : mem_dup(o->protect);
}

int make_spec(const struct session_options *options, struct cell_spec *ret, struct err *err)
{
    for (size_t i = 0; i < options->n_roots; i++) {
        FREE_AT_END char *protect = protected_in(options, i);
        if (spec_add_root(ret, &options->roots[i], protect, err) < 0)
            return -1;
    }
    mode_t mask = umask(022);
    umask(mask);
    ret->umask = mask;
    /* One more, which hears of cancels. */
    ret->threads = (uint32_t)config_int(options->config, "limits.workerThreads") + 1;
    ret->system = options->show_system;
    spec_choose_owner(ret, geteuid(), getegid(), (uint32_t)config_int(options->config, "cell.uid"));
    return 0;
}

#include "front/front.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "dialect/dialects.h"

int front_usage_error(const struct err *err)
{
    log_error("%s", err->message);
    return EXIT_USAGE;
}

/* A run's own folder beneath --state, made when it is missing. */
static int run_folder(const struct options *o, char **ret_path, struct err *err)
{
    if (!o->run[0] || strchr(o->run, '/') || strcmp(o->run, ".") == 0 || strcmp(o->run, "..") == 0)
        return err_set(err, ERR_INVALID_ARGUMENTS, "--run must be a plain name without slashes");
    if (!o->state)
        return err_set(err, ERR_INVALID_ARGUMENTS, "--run needs --state, the folder of all runs");
    char *path = mem_format("%s/%s", o->state, o->run);
    if (mkdir(path, 0755) < 0 && errno != EEXIST) {
        err_set(err, ERR_INVALID_ARGUMENTS, "the run's folder %s: %s", path, strerror(errno));
        free(path);
        return -1;
    }
    *ret_path = path;
    return 0;
}

int front_gate_options(const struct options *o, struct gate_options *ret, char **state_path,
                       struct err *err)
{
    const struct dialect *dialect = dialect_find(o->dialect ? o->dialect : "native", err);
    *state_path = NULL;
    if (!dialect || (o->run && run_folder(o, state_path, err) < 0))
        return -1;
    *ret = (struct gate_options){
        .dialect = dialect,
        .config_file = o->config,
        .workspace = o->workspace,
        .project = o->project,
        .pkg = o->pkg,
        .state = *state_path ? *state_path : o->state,
        .agent = o->agent,
        .session = o->session,
    };
    return 0;
}

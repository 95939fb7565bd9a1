#include "cell/own_start.h"

#include <string.h>

#include "cell/probe.h"

bool own_start_done(int argc, char *const *argv, worker_fn worker, int *ret_status)
{
    if (argc == 1 && strcmp(argv[0], CELL_ARGV0) == 0)
        *ret_status = launcher_main(false, worker);
    else if (argc == 1 && strcmp(argv[0], CELL_ARGV0_NETWORK) == 0)
        *ret_status = launcher_main(true, worker);
    else if (argc == 1 && strcmp(argv[0], PROBE_ARGV0) == 0)
        *ret_status = probe_main();
    else
        return false;
    return true;
}

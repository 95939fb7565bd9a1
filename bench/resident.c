/* `sandgate stdio` with so many megabytes of memory of its own: what does that cost a command?
 * usage: resident MEGABYTES [options of `sandgate stdio`] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/processor.h"
#include "cell/own_start.h"
#include "core/registry.h"
#include "front/front.h"
#include "tools/all.h"
#include "work/worker.h"

/* In small pages: to copy their table is what a fork would cost. */
static int take_memory(size_t bytes)
{
    if (bytes == 0)
        return 0;
    void *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || madvise(all, bytes, MADV_NOHUGEPAGE) < 0)
        return -1;
    memset(all, 1, bytes);
    return 0;
}

int main(int argc, char **argv)
{
    processor_init();
    /* A gate starts its own program as the launcher of its cell. */
    int own_status;
    if (own_start_done(argc, argv, worker_main, &own_status))
        return own_status;
    char *end = NULL;
    unsigned long megabytes = argc > 1 ? strtoul(argv[1], &end, 10) : 0;
    if (!end || *end || megabytes > 4096 || take_memory(megabytes << 20) < 0) {
        fputs("usage: resident MEGABYTES [options of `sandgate stdio`]\n", stderr);
        return EXIT_USAGE;
    }
    registry_use(tools_all);
    return front_stdio(argc - 2, argv + 2);
}

/* A folder of its own for each test: the working folder while the test runs. */
#ifndef SANDGATE_TESTS_FOLDER_H
#define SANDGATE_TESTS_FOLDER_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[4096];
static int folder_fd;

static inline int folder_remove_one(const char *path, const struct stat *st, int type,
                                    struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static inline int folder_remove(const char *path)
{
    return nftw(path, folder_remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

static inline int folder_set_up(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    char name[300];
    snprintf(name, sizeof name, "%.200s/test-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(name) || !realpath(name, folder) || chdir(folder) < 0)
        return -1;
    folder_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0 ? -1 : 0;
}

static inline int folder_tear_down(void **state)
{
    (void)state;
    close(folder_fd);
    return chdir("/") < 0 ? -1 : folder_remove(folder);
}

#endif

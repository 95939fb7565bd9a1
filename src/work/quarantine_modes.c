#include "work/quarantine_modes.h"

#include <pthread.h>
#include <stddef.h>

#define OPENED_MAX 256

struct opened {
    dev_t device;
    ino_t inode;
    mode_t before;
    mode_t now;
};

static pthread_mutex_t modes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened opened[OPENED_MAX];
static size_t n_opened;

void quarantine_note_mode(const struct stat *st, mode_t now)
{
    pthread_mutex_lock(&modes_lock);
    opened[n_opened++ % OPENED_MAX] = (struct opened){st->st_dev, st->st_ino, st->st_mode & 0777,
                                                      now};
    pthread_mutex_unlock(&modes_lock);
}

mode_t quarantine_mode(const struct stat *st)
{
    mode_t mode = st->st_mode & 0777;
    mode_t before = mode;
    pthread_mutex_lock(&modes_lock);
    for (size_t i = 0; i < OPENED_MAX && i < n_opened; i++) {
        const struct opened *o = &opened[i];
        if (o->inode == st->st_ino && o->device == st->st_dev && o->now == mode)
            before = o->before;
    }
    pthread_mutex_unlock(&modes_lock);
    return before;
}

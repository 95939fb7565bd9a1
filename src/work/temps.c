#include "work/temps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "core/op.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct temp *in_use; /* under the lock; no more than there are threads */
static atomic_uint counter;

static const char *const marks[] = {[TEMP_FILE] = "", [TEMP_FOLDER] = "d"};

void temp_begin(struct temp *temp, int dir, struct str tag, enum temp_kind kind, unsigned attempt)
{
    unsigned number = atomic_fetch_add(&counter, 1);
    /* Without random numbers it is the next one. */
    if (attempt > 0)
        (void)!getrandom(&number, sizeof number, GRND_NONBLOCK);
    temp->dir = dir;
    snprintf(temp->name, sizeof temp->name, OP_TEMP_PREFIX "%.*s-%s%x", (int)tag.n, tag.p,
             marks[kind], number);
    pthread_mutex_lock(&lock);
    temp->next = in_use;
    in_use = temp;
    pthread_mutex_unlock(&lock);
}

void temp_end(struct temp *temp)
{
    pthread_mutex_lock(&lock);
    for (struct temp **at = &in_use; *at; at = &(*at)->next) {
        if (*at == temp) {
            *at = temp->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

bool temp_is_in_use(int dir, const char *name)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (const struct temp *t = in_use; t && !found; t = t->next)
        found = strcmp(t->name, name) == 0 && fd_same_file(t->dir, dir);
    pthread_mutex_unlock(&lock);
    return found;
}

static size_t hex_length(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

/* A gate's tag stands before that of its cells: `.sgt-GATE-CELL-N`. */
bool temp_is_named(const char *name, struct str tag, enum temp_kind kind)
{
    size_t prefix = strlen(OP_TEMP_PREFIX);
    if (strncmp(name, OP_TEMP_PREFIX, prefix) != 0 || strncmp(name + prefix, tag.p, tag.n) != 0 ||
        name[prefix + tag.n] != '-')
        return false;
    const char *at = name + prefix + tag.n + 1;
    size_t cell = hex_length(at);
    if (cell && at[cell] == '-')
        at += cell + 1;
    if (strncmp(at, marks[kind], strlen(marks[kind])) != 0)
        return false;
    at += strlen(marks[kind]);
    return hex_length(at) > 0 && at[hex_length(at)] == '\0';
}

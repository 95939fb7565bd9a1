#include "base/background.h"

#include <pthread.h>
#include <signal.h>

#include "base/attr.h"
#include "base/handle.h"
#include "base/mem.h"

/* As many as there are kinds of jobs: syncing the log, noting its head, handing that over. */
#define THREADS_MAX 3
#define STACK_BYTES (1u << 20)

struct background {
    uv_async_t async;
    unsigned under_way;          /* the loop's own */
    struct background_job *done; /* under the lock */
    bool freed;
};

/* Threads are shared by all loops and stay until the program ends. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static struct background_job *queue;
static unsigned threads;
static unsigned idle;
static unsigned queued;

/* Under the lock. */
static void give_job_back(struct background_job *job)
{
    job->next = job->owner->done;
    job->owner->done = job;
    uv_async_send(&job->owner->async);
}

static void *work(void *arg)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!queue) {
            idle++;
            pthread_cond_wait(&added, &lock);
            idle--;
        }
        struct background_job *job = queue;
        queue = job->next;
        job->queued = false;
        queued--;
        pthread_mutex_unlock(&lock);
        job->run(job->arg);
        pthread_mutex_lock(&lock);
        give_job_back(job);
    }
    return arg;
}

/* A process that was forked has none of the threads, whatever these were at. */
static void forget_threads(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    added = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    queue = NULL;
    threads = idle = queued = 0;
}

static void forget_in_children(void)
{
    (void)pthread_atfork(NULL, NULL, forget_threads);
}

/* Under the lock. Signals are the loop's. */
static bool start_thread(void)
{
    pthread_t id;
    pthread_attr_t attr;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, forget_in_children);
    sigset_t all;
    sigset_t before;
    if (pthread_attr_init(&attr) != 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 &&
                   pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0 &&
                   pthread_create(&id, &attr, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    threads += started;
    return started;
}

static void close_if_over(struct background *b)
{
    if (b->freed && b->under_way == 0)
        uv_close((uv_handle_t *)&b->async, handle_free_data);
}

static void on_done(uv_async_t *async)
{
    struct background *b = async->data;
    pthread_mutex_lock(&lock);
    struct background_job *job = TAKE_PTR(b->done);
    pthread_mutex_unlock(&lock);
    for (struct background_job *next; job; job = next) {
        next = job->next;
        job->owner = NULL;
        if (--b->under_way == 0)
            uv_unref((uv_handle_t *)&b->async);
        job->done(job->arg);
    }
    if (!uv_is_closing((uv_handle_t *)&b->async))
        close_if_over(b);
}

int background_new(struct background **ret, uv_loop_t *loop)
{
    FREE_AT_END struct background *b = mem_zero(sizeof *b);
    int r = uv_async_init(loop, &b->async, on_done);
    if (r < 0)
        return r;
    b->async.data = b;
    uv_unref((uv_handle_t *)&b->async);
    *ret = TAKE_PTR(b);
    return 0;
}

void background_free(struct background *b)
{
    if (!b)
        return;
    b->freed = true;
    close_if_over(b);
}

static void add_to_queue(struct background_job *job)
{
    struct background_job **end = &queue;
    while (*end)
        end = &(*end)->next;
    job->next = NULL;
    job->queued = true;
    *end = job;
    queued++;
    pthread_cond_signal(&added);
}

void background_add(struct background *b, struct background_job *job)
{
    job->owner = b;
    if (b->under_way++ == 0)
        uv_ref((uv_handle_t *)&b->async);
    pthread_mutex_lock(&lock);
    /* One that was woken counts as idle until it has its job. */
    if (queued >= idle && threads < THREADS_MAX)
        start_thread();
    bool alone = threads == 0;
    if (!alone)
        add_to_queue(job);
    pthread_mutex_unlock(&lock);
    if (!alone)
        return;
    job->run(job->arg);
    pthread_mutex_lock(&lock);
    give_job_back(job);
    pthread_mutex_unlock(&lock);
}

void background_cancel(struct background_job *job)
{
    pthread_mutex_lock(&lock);
    if (job->owner && job->queued) {
        struct background_job **at = &queue;
        while (*at != job)
            at = &(*at)->next;
        *at = job->next;
        job->queued = false;
        queued--;
        give_job_back(job);
    }
    pthread_mutex_unlock(&lock);
}

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/processor.h"
#include "work/scan.h"
#include "work/walk.h"
#include "work/work.h"

/* Files that a thread takes at once. The walk is in order and one thread's at a time; what is taken is
 * searched by several. */
#define BATCH 32
/* How often a thread looks for the lock before it sleeps: about as long as others hold it. */
#define SPINS 2000
/* So many batches may be searched before the one that comes first among them is done. */
#define AHEAD 64
/* Beside the one that was asked. Each may hold a long line and the engine's tables, and all of it has to fit into
 * what a worker may use. */
#define THREADS_MAX 7
#define STACK_BYTES (256u << 10)
/* What an error names of a path. */
#define SHOWN_PATH 256

struct item {
    struct walk_folder *folder;
    size_t path; /* in batch.names */
    size_t path_length;
    size_t name;
};

struct batch {
    struct batch *next;
    uint64_t number;
    size_t count;
    struct item items[BATCH];
    struct buf names;
    struct buf out;
    int64_t matches;
};

struct search {
    struct work *w;
    const struct op_search_request *q;
    struct matcher *matcher;
    struct walk *walk;
    struct walk_rules rules;
    pthread_mutex_t lock; /* for all that follows, and the walk */
    pthread_cond_t moved;
    uint64_t next;       /* batch to be taken */
    uint64_t next_done;  /* batch whose records come next in the answer */
    struct batch *ready; /* searched, in order, waiting for one before them */
    bool walked;         /* there are no more files */
    bool failed;
    struct err err;
    struct op_search_reply reply;
    atomic_bool stop;
    uint32_t processor; /* of the thread that was asked */
    atomic_uint helpers;
};

/* At once when they are searched: a folder is a descriptor, and a batch may wait long for its turn. */
static void leave_batch_folders(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        walk_folder_unref(b->items[i].folder);
    b->count = 0;
}

static void batch_free(struct batch *b)
{
    if (!b)
        return;
    leave_batch_folders(b);
    buf_done(&b->names);
    buf_done(&b->out);
    free(b);
}

static struct batch *batch_new(const struct search *s)
{
    struct batch *b = mem_zero(sizeof *b);
    buf_init(&b->names, (size_t)BATCH * (PATH_TEXT_MAX + 2));
    buf_init(&b->out, s->w->body.max);
    return b;
}

static void fail_search(struct search *s, const struct err *err)
{
    if (!s->failed)
        s->err = *err;
    s->failed = true;
    atomic_store(&s->stop, true);
}

static void add_item(struct batch *b, const struct walk_entry *entry)
{
    size_t path = b->names.len;
    buf_add(&b->names, entry->path.p, entry->path.n);
    buf_add_char(&b->names, '\0');
    b->items[b->count++] = (struct item){walk_folder_ref(entry->folder), path, entry->path.n,
                                         path + entry->path.n - strlen(entry->name)};
}

/* The next files, in order. The first batches are small: what is looked for may be in the first file. */
static bool take_batch(struct search *s, struct batch *b)
{
    struct walk_entry entry;
    struct err err;
    size_t wanted = s->next < 4 ? 1u << s->next : BATCH;
    while (!s->walked && !atomic_load(&s->stop) && b->count < wanted) {
        int r = walk_next(s->walk, &entry, &err);
        if (r < 0)
            fail_search(s, &err);
        else if (r == 0)
            s->walked = true;
        else
            add_item(b, &entry);
        if (b->names.failed && err_no_memory(&err) < 0)
            fail_search(s, &err);
    }
    if (b->count == 0 || s->failed)
        return false;
    b->number = s->next++;
    return true;
}

/* Files that were not searched. */
struct missed {
    int64_t unreadable;
    int shortage; /* errno: the machine lacked something, so the answer would not be the same the next time */
    char path[SHOWN_PATH]; /* of the file that it lacked it for */
};

static void search_item(struct scan *scan, const struct batch *b, const struct item *item,
                        struct missed *missed)
{
    FD_AT_END int fd = beneath_open_child_any(item->folder->fd, b->names.data + item->name);
    struct str path = {b->names.data + item->path, item->path_length};
    int r = fd < 0 ? -errno : scan_file(scan, fd, item->folder->reads_whole, path);
    /* Gone since it was listed, or no file any more: then it is not there. */
    if (r < 0 && err_is_shortage(-r)) {
        missed->shortage = -r;
        snprintf(missed->path, sizeof missed->path, "%.*s", (int)path.n, path.p);
    } else if (r < 0 && !beneath_is_gone(-r) && r != -ESPIPE && r != -EISDIR && r != -ENXIO)
        missed->unreadable++;
}

/* Of a batch that is more than there is room for: as many records as are wanted and fit. Lines behind the
 * last match are its context even where they match too. */
static void add_part_of_batch(struct search *s, const struct batch *b)
{
    struct buf *body = &s->w->body;
    struct str rest = buf_str(&b->out);
    int64_t last = 0; /* line that matches, in the file at hand */
    for (struct found found; s->reply.matches <= s->q->max_matches;) {
        const char *record = rest.p;
        if (found_next(&rest, &found) <= 0)
            return;
        size_t n = (size_t)(rest.p - record);
        bool match = found.kind == FOUND_MATCH || s->q->mode != SEARCH_LINES;
        bool full = s->reply.matches == s->q->max_matches;
        bool near = found.kind != FOUND_FILE && last && found.number <= last + s->q->after;
        if ((full && !near) || n > body->max - body->len)
            return;
        if (match && full) {
            found.kind = FOUND_CONTEXT;
            found.n_spans = 0;
            found_add(body, &found, NULL);
            continue;
        }
        buf_add(body, record, n);
        s->reply.matches += match;
        last = match ? found.number : found.kind == FOUND_FILE ? 0 : last;
    }
}

static void add_to_answer(struct search *s, struct batch *b)
{
    struct buf *body = &s->w->body;
    bool fits = b->matches <= s->q->max_matches - s->reply.matches && !b->out.failed &&
                b->out.len <= body->max - body->len;
    if (fits) {
        buf_add(body, b->out.data, b->out.len);
        s->reply.matches += b->matches;
        return;
    }
    add_part_of_batch(s, b);
    s->reply.truncated = true;
    atomic_store(&s->stop, true);
}

/* Under the lock. Answers are in the order of the walk, whoever is ready first. */
static void give_batch(struct search *s, struct batch *b)
{
    struct batch **at = &s->ready;
    while (*at && (*at)->number < b->number)
        at = &(*at)->next;
    b->next = *at;
    *at = b;
    while (s->ready && s->ready->number == s->next_done) {
        struct batch *first = s->ready;
        s->ready = first->next;
        s->next_done++;
        if (!s->reply.truncated)
            add_to_answer(s, first);
        batch_free(first);
    }
    pthread_cond_broadcast(&s->moved);
}

/* Names the file, or what was searched where it is not known. */
static void fail_for_shortage(struct search *s, const struct missed *missed)
{
    const char *top = s->q->path.p;
    const char *file = missed->path;
    char path[2 * SHOWN_PATH];
    struct err err;
    if (!file[0])
        snprintf(path, sizeof path, "%s", top);
    else if (!top[0] || strcmp(top, ".") == 0)
        snprintf(path, sizeof path, "%s", file);
    else
        snprintf(path, sizeof path, "%s/%s", top, file);
    beneath_errno(&err, missed->shortage, path);
    fail_search(s, &err);
}

static void give_counts(struct search *s, const struct scan *scan, const struct missed *missed)
{
    s->reply.files += scan->files;
    s->reply.bytes += scan->bytes;
    s->reply.binary += scan->binary;
    s->reply.long_lines += scan->long_lines;
    s->reply.unreadable += missed->unreadable;
    if (missed->shortage)
        fail_for_shortage(s, missed);
}

static void search_batch(struct scan *scan, struct batch *b, struct missed *missed)
{
    scan->out = &b->out;
    scan->matches = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (scan_stopped(scan) || scan->matches > scan->limit || missed->shortage)
            break;
        search_item(scan, b, &b->items[i], missed);
    }
    if (b->out.no_memory)
        missed->shortage = ENOMEM;
    leave_batch_folders(b);
    b->matches = scan->matches;
}

/* Others hold it for some microseconds, less than it takes to sleep and be woken. */
static void take_search_lock(struct search *s)
{
    for (unsigned i = 0; i < SPINS; i++) {
        if (pthread_mutex_trylock(&s->lock) == 0)
            return;
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&s->lock);
}

static void search_files(struct search *s)
{
    struct scan scan;
    struct missed missed = {0};
    scan_init(&scan, s->matcher, s->q, &s->stop, s->w->cancelled);
    take_search_lock(s);
    while (!atomic_load(&s->stop) && !missed.shortage) {
        if (s->next > s->next_done + AHEAD) {
            pthread_cond_wait(&s->moved, &s->lock);
            continue;
        }
        struct batch *b = batch_new(s);
        if (!take_batch(s, b)) {
            batch_free(b);
            break;
        }
        pthread_mutex_unlock(&s->lock);
        search_batch(&scan, b, &missed);
        take_search_lock(s);
        give_batch(s, b);
    }
    give_counts(s, &scan, &missed);
    pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
    scan_done(&scan);
}

static void *help_search(void *arg)
{
    struct search *s = arg;
    processor_spread(s->processor, atomic_fetch_add(&s->helpers, 1) + 1);
    search_files(s);
    return NULL;
}

/* Together with the one that was asked. */
static unsigned most_threads(const struct op_search_request *q)
{
    unsigned most = processor_count() < THREADS_MAX + 1 ? processor_count() : THREADS_MAX + 1;
    return q->threads > 0 && (uint64_t)q->threads < most ? (unsigned)q->threads : most;
}

static unsigned start_search_threads(struct search *s, pthread_t *threads)
{
    unsigned most = most_threads(s->q);
    unsigned may = matcher_threads(s->matcher);
    unsigned n = 0;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    while (n + 1 < most && n + 1 < may && pthread_create(&threads[n], &attr, help_search, s) == 0)
        n++;
    pthread_attr_destroy(&attr);
    return n;
}

static int search_folder(struct search *s, const struct beneath_root *root, struct err *err)
{
    pthread_t threads[THREADS_MAX];
    s->walk = walk_new(root, s->q->path.p, &s->rules, s->w->cancelled, err);
    if (!s->walk)
        return -1;
    work_slow(s->w);
    processor_any();
    s->processor = processor_here();
    unsigned n = start_search_threads(s, threads);
    processor_spread(s->processor, 0);
    search_files(s);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    processor_any();
    const struct walk_stats *stats = walk_stats(s->walk);
    s->reply.ignored = stats->ignored;
    s->reply.unreadable += stats->unreadable;
    s->reply.truncated = s->reply.truncated || stats->cut;
    s->reply.unseen = stats->cut;
    if (!s->failed)
        return 0;
    *err = s->err;
    return -1;
}

static int search_one(struct search *s, const struct beneath_root *root, struct err *err)
{
    FD_AT_END int fd = -1;
    struct stat st;
    struct scan scan;
    if (beneath_open_file(root, s->q->path.p, &fd, &st, err) < 0)
        return -1;
    struct batch *b = batch_new(s);
    work_slow(s->w);
    scan_init(&scan, s->matcher, s->q, &s->stop, s->w->cancelled);
    scan.out = &b->out;
    int r = scan_file(&scan, fd, false, STR(""));
    if (b->out.no_memory)
        r = -ENOMEM;
    b->matches = scan.matches;
    give_batch(s, b);
    give_counts(s, &scan, &(struct missed){0});
    scan_done(&scan);
    return r < 0 ? beneath_errno(err, -r, s->q->path.p) : 0;
}

static void file_search_done(struct search *s)
{
    while (s->ready) {
        struct batch *b = s->ready;
        s->ready = b->next;
        batch_free(b);
    }
    walk_free(s->walk);
    matcher_free(s->matcher);
    glob_free(s->rules.glob);
    glob_free(s->rules.exclude);
    pthread_cond_destroy(&s->moved);
    pthread_mutex_destroy(&s->lock);
}

static int prepare_search(struct search *s, struct str excludes, struct err *err)
{
    const struct op_search_request *q = s->q;
    struct matcher_options options = {q->pattern, q->literal, q->ignore_case, q->word,
                                      most_threads(q)};
    s->rules = (struct walk_rules){.recursive = true,
                                   .hidden = q->hidden,
                                   .hidden_files = q->hidden_files,
                                   .ignore = q->ignore,
                                   .modules = q->modules,
                                   .files_only = true,
                                   .readable = true,
                                   .excludes = excludes};
    if (q->include.p && !(s->rules.glob = glob_compile(q->include, true, err)))
        return -1;
    if (q->exclude.p && !(s->rules.exclude = glob_compile(q->exclude, true, err)))
        return -1;
    s->matcher = matcher_new(&options, err);
    if (s->matcher)
        return 0;
    snprintf(err->field, sizeof err->field, "pattern");
    return -1;
}

int work_search(struct work *w, const union op_request *request, struct str body,
                union op_reply *reply, struct err *err)
{
    const struct op_search_request *q = &request->search;
    const struct beneath_root *root = work_root(w, q->root, q->no_links, err);
    CLEANUP(file_search_done)
    struct search s = {
        .w = w, .q = q, .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    FD_AT_END int fd = -1;
    struct stat st;
    if (!root || beneath_open(root, q->path.p, O_PATH, &fd, err) < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        return beneath_errno(err, errno, q->path.p);
    if (prepare_search(&s, body, err) < 0)
        return -1;
    int r = S_ISDIR(st.st_mode) ? search_folder(&s, root, err) : search_one(&s, root, err);
    if (r < 0 || work_check_cancel(w, err) < 0)
        return -1;
    if (w->body.no_memory)
        return err_no_memory(err);
    reply->search = s.reply;
    return 0;
}

/* OP_SCAN: what is guarded in a root, for the launcher. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "work/git_globs.h"
#include "work/guard_follow.h"
#include "work/guard_index.h"
#include "work/guard_known.h"
#include "work/guard_read.h"
#include "work/guard_refresh.h"
#include "work/guard_reopen.h"
#include "work/guard_saved.h"
#include "work/guard_trees.h"
#include "work/work.h"

/* So many folders read since the index was saved are worth saving it again. */
#define SAVE_FOLDERS 64u
/* How often is looked again because another gate has saved something meanwhile. */
#define SHARED_ROUNDS 4

static bool is_same_list(const struct guarded_list *a, const struct guarded_list *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        struct str x = guarded_path(a, &a->items[i]);
        struct str y = guarded_path(b, &b->items[i]);
        if (a->items[i].kind != b->items[i].kind || a->items[i].type != b->items[i].type ||
            !tree_same_id(&a->items[i].id, &b->items[i].id) || x.n != y.n ||
            memcmp(x.p, y.p, x.n) != 0)
            return false;
    }
    return true;
}

/* Those that were not in the last list: they could be looked into, were no repository, or were not there. True: they are
 * others than before. */
static const struct guarded_item *find_dated(const struct guarded_list *before, struct str path,
                                             const struct tree_id *id)
{
    const struct guarded_item *was = guarded_find(before, path);
    if (was && was->dated && tree_same_id(&was->id, id))
        return was;
    /* A command may have moved a folder around it. */
    for (uint32_t i = 0; i < before->count; i++) {
        if (before->items[i].dated && tree_same_id(&before->items[i].id, id))
            return &before->items[i];
    }
    return NULL;
}

static bool date_by_id(const struct guarded_list *before, struct guarded_list *now, uint64_t seen)
{
    uint32_t gone = 0;
    bool any_new = false;
    for (uint32_t i = 0; i < before->count; i++)
        gone += before->items[i].dated;
    for (uint32_t i = 0; i < now->count; i++) {
        if (!now->items[i].dated)
            continue;
        const struct guarded_item *was = find_dated(before, guarded_path(now, &now->items[i]),
                                                    &now->items[i].id);
        now->items[i].seen = was ? was->seen : seen;
        any_new |= !was;
        gone -= was != NULL;
    }
    return any_new || gone > 0;
}

/* With other rules it cannot know what these do not name. */
static bool may_be_old(const struct scan *s, const struct guarded_item *item)
{
    const struct tree_time *born = &item->id.born;
    return !s->baseline_is_alike && born->sec * 1000000000 + born->nsec < s->baseline_ns;
}

/* What the baseline does not know appeared in this scan, whatever later scans knew. */
static int compare_with_baseline(struct scan *s, struct guarded_list *found, uint32_t max)
{
    struct tree *tree = &s->at->tree;
    struct guarded_list before;
    guarded_init(&before);
    int error = s->baseline ? guarded_collect(s->baseline, s->reading.git, max, &before) : 0;
    if (error == 0 && s->baseline) {
        guarded_remember(s->baseline, found, s->at->generation, true);
        date_by_id(&before, found, s->at->generation);
    }
    guarded_done(&before);
    uint32_t next = 0;
    for (uint32_t i = 0; error == 0 && i < found->count; i++) {
        struct guarded_item *item = &found->items[i];
        if (!s->baseline || may_be_old(s, item))
            item->seen = 0;
        if (!item->known)
            continue;
        tree->known[next].seen = item->seen;
        tree->known[next++].replaced = item->replaced;
    }
    return error;
}

static bool is_new_pin(const struct guarded_list *pins, const struct guarded_list *found,
                       uint32_t i)
{
    const struct guarded_item *item = &found->items[i];
    return item->type == TYPE_DIRECTORY && (item->followed || item->dated) &&
           !guarded_find(pins, guarded_path(found, item));
}

/* Looked up in the old ones, which are sorted, before the first is added. */
static void note_pins(struct guarded_list *pins, const struct guarded_list *found)
{
    uint32_t count = 0;
    FREE_AT_END uint32_t *fresh = mem_grow(NULL, (size_t)found->count + 1, sizeof *fresh);
    for (uint32_t i = 0; i < found->count; i++) {
        if (is_new_pin(pins, found, i))
            fresh[count++] = i;
    }
    for (uint32_t i = 0; i < count && pins->count < PINS_MAX; i++)
        guarded_add(pins, &found->items[fresh[i]], guarded_path(found, &found->items[fresh[i]]));
    if (count)
        guarded_sort(pins);
}

/* Since when what appears may be a command's. 0: nothing is. */
static int64_t made_since(const struct scan *s)
{
    return s->comparing ? s->baseline_ns : s->at->compared ? s->ran_ns : 0;
}

/* What is guarded has to be on the disk before a command can move it: a later gate knows it by that. */
static int collect_scan_guarded(struct scan *s, uint32_t max)
{
    struct guard_root *at = s->at;
    if (s->reading.changed || at->stale || at->generation == 0 || s->comparing ||
        (s->settled && at->tree.vanished)) {
        struct guarded_list found;
        CLEANUP(guarded_done) struct guarded_list missing = {0};
        bool first = at->generation == 0 && !at->stale;
        at->stale = true;
        guarded_init(&found);
        guarded_init(&missing);
        int error = guarded_collect(&at->tree, s->reading.git, max, &found);
        if (error == 0)
            guarded_mark_made(&at->tree, s->root->fd, made_since(s), &found);
        if (error == 0)
            error = guarded_follow(
                s->root, &at->tree,
                &(struct follow_limits){s->reading.git, max, made_since(s), &missing, &at->outward},
                &found);
        if (error < 0) {
            guarded_done(&found);
            return error;
        }
        guarded_keep_followed(&at->tree, &found);
        bool same = at->generation > 0 && is_same_list(&at->found, &found);
        at->generation += !same;
        uint64_t seen = at->compared ? at->generation : 0;
        at->unsaved |= guarded_remember(&at->tree, &found, seen, s->settled);
        /* The first list of a worker has none before it: if nothing changed, it is the one that was saved. */
        if (date_by_id(&at->found, &found, seen) && (!first || s->reading.changed))
            at->unsaved = true;
        if (s->comparing && (error = compare_with_baseline(s, &found, max)) < 0) {
            guarded_done(&found);
            return error;
        }
        at->compared = true;
        note_pins(&at->pins, &found);
        guarded_done(&at->found);
        at->found = found;
        at->stale = false;
        guard_trees_note_leads(s->trees, s->number, &at->found, &missing);
    }
    at->reread += s->reading.folders;
    tree_tidy(&at->tree);
    /* Collected for a request that wanted more. */
    if (at->found.count > max)
        return -E2BIG;
    bool worth_it = at->reread > SAVE_FOLDERS && at->reread > at->tree.n_folders / 32;
    int error = at->unsaved || worth_it ? guard_saved_write(s->at, s->store, s->number) : 0;
    s->store_failed = error < 0;
    return error;
}

static void answer_guard_scan(struct work *w, const struct guard_root *at,
                              const struct op_scan_request *q, struct op_scan_reply *reply)
{
    bool any_fresh = false;
    for (uint32_t i = 0; i < at->found.count; i++)
        any_fresh |= at->found.items[i].seen > (uint64_t)q->since ||
                     at->found.items[i].replaced > (uint64_t)q->since;
    reply->generation = (int64_t)at->generation;
    reply->outward = at->outward.untold.count;
    reply->vanished = at->tree.vanished;
    reply->unread = at->found.unread;
    reply->same = !any_fresh && (uint64_t)q->known == at->generation &&
                  !(q->reopen && at->reopened.count);
    for (uint32_t i = 0; !reply->same && i < at->found.count; i++) {
        const struct guarded_item *item = &at->found.items[i];
        struct op_guarded entry = {.kind = (enum guarded_kind)item->kind,
                                   .type = (enum file_type)item->type,
                                   .fresh = item->seen > (uint64_t)q->since,
                                   .replaced = item->replaced > (uint64_t)q->since,
                                   .path = guarded_path(&at->found, item),
                                   .id = tree_identity(&item->id)};
        op_guarded_add(&w->body, &entry);
        reply->count++;
    }
}

/* Whoever asks first is told. */
static void tell_reopened(struct work *w, struct guard_root *at, struct op_scan_reply *reply)
{
    for (uint32_t i = 0; i < at->reopened.count; i++) {
        const struct guarded_item *item = &at->reopened.items[i];
        op_guarded_add(&w->body, &(struct op_guarded){.kind = GUARDED_OPENED,
                                                      .type = TYPE_DIRECTORY,
                                                      .path = guarded_path(&at->reopened, item),
                                                      .id = tree_identity(&item->id)});
        reply->count++;
    }
    guarded_done(&at->reopened);
    guarded_init(&at->reopened);
}

static const char *store_host(const struct work *w)
{
    for (size_t i = 0; i < w->n_roots; i++) {
        if (w->roots[i].fd == w->trees->store)
            return w->roots[i].host;
    }
    return "the state folder";
}

static int index_failed(struct err *err, int error, const struct work *w, size_t number)
{
    if (error != -EBADMSG) {
        const char *advice = err_advice_for_file(-error);
        err_set(err, err_code_for_file(-error),
                "no command can start: what is secret or protected cannot be noted in "
                "%s/guards-%zu: %s%s",
                store_host(w), number, strerror(-error), advice ? advice : "");
        return err_reason(err, "state_unusable");
    }
    err_set(err, ERR_PERMISSION_DENIED,
            "no command can start: %s/guards-%zu is damaged, and secret files that a command moved "
            "may be known from it alone; check where secret files are, then remove that file",
            store_host(w), number);
    return err_reason(err, "state_damaged");
}

static int tell_guard_scan_failure(struct err *err, int error, const struct beneath_root *root,
                                   const struct op_scan_request *q, bool reading)
{
    if (error == -EACCES) {
        err_set(err, ERR_PERMISSION_DENIED,
                "no command can start: the folder %s cannot be listed, so its secret and protected "
                "files cannot be found; make it readable with `chmod u+rx`",
                root->host);
        return err_reason(err, "unreadable");
    }
    if (error == -E2BIG && reading)
        return err_set(err, ERR_TOO_LARGE,
                       "no command can start: %s has more than %lld files and folders to look "
                       "through for secrets; choose a smaller folder as the workspace",
                       root->host, (long long)q->max_entries);
    if (error == -E2BIG)
        return err_set(err, ERR_TOO_LARGE,
                       "no command can start: more than %lld files in %s are secret or protected; "
                       "remove some, or change files.secret or files.protected",
                       (long long)q->max_guarded, root->host);
    if (error == -EFBIG)
        return err_set(
            err, ERR_TOO_LARGE,
            "no command can start: a git configuration in %s has more than 1 MiB, or "
            "includes more than 64 others, or a list of alternates has more than 64 KiB, "
            "so what they name is not known",
            root->host);
    if (error == -EOVERFLOW && !reading)
        return err_set(err, ERR_TOO_LARGE,
                       "no command can start: a git configuration in %s names a program by a "
                       "pattern, which had to be compared with more than %d files and folders, or "
                       "in more than %d folders below each other: write the program's path there, "
                       "or a pattern that begins with its folder",
                       root->host, GIT_GLOB_ENTRIES_MAX, GIT_GLOB_DEPTH_MAX);
    if (error == -ELOOP && !reading)
        return err_set(
            err, ERR_TOO_LARGE,
            "no command can start: in a secret or protected folder of %s, or one that a "
            "link there leads to, more than %d folders lie in each other or lead to each "
            "other: remove some, or change files.secret or files.protected",
            root->host, FOLLOW_DEPTH_MAX);
    return err_set(err, err_code_for(-error, ERR_INTERNAL),
                   "looking for secret and protected files in %s: %s", root->host,
                   strerror(-error));
}

/* An index of another folder, which has this one's number in another configuration, tells nothing. */
static void use_baseline(struct scan *s, struct str bytes, struct tree *baseline)
{
    struct tree_time at = tree_now();
    s->baseline_is_alike = index_read(bytes, s->at->rules, &at, baseline);
    if ((s->baseline_is_alike || index_read(bytes, NULL, &at, baseline)) &&
        tree_same_id(&s->at->tree.folders[0].id, &baseline->folders[0].id))
        s->baseline = baseline;
}

/* What is collected may tell that something has to be read again. */
static int collect_again(struct scan *s, uint32_t max_guarded)
{
    int error = collect_scan_guarded(s, max_guarded);
    for (int i = 0; error == 0 && s->at->look_again && i < SHARED_ROUNDS; i++) {
        error = refresh(s);
        if (error == 0)
            error = collect_scan_guarded(s, max_guarded);
    }
    return error;
}

int work_scan(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    const struct op_scan_request *q = &request->scan;
    const struct beneath_root *root = work_root(w, q->root, true, err);
    if (!root)
        return -1;
    struct guard_root *at = &w->trees->roots[q->root];
    struct scan s = {.trees = w->trees,
                     .at = at,
                     .root = root,
                     .number = (size_t)q->root,
                     .store = w->trees->store,
                     .comparing = q->index_ns > 0,
                     .baseline_ns = q->index_ns,
                     .ran_ns = q->ran_ns,
                     .settled = q->settled,
                     .others = q->others,
                     .thorough = q->reopen,
                     .reading = {.tree = &at->tree,
                                 .root = root->fd,
                                 .guard = w->guard,
                                 .chunk = w->chunk,
                                 .git = guard_protects_git(w->guard),
                                 .reopens = q->ran_ns > 0 && at->generation > 0 ? at : NULL,
                                 .foreign = root->layered,
                                 .max_entries = (uint64_t)q->max_entries}};
    CLEANUP(tree_done) struct tree baseline = {0};
    *reply = (union op_reply){.scan = {0}};
    pthread_mutex_lock(&w->trees->lock);
    int error = guard_trees_prepare(w->trees, s.number, w->guard);
    s.store_failed = error < 0;
    if (error == 0)
        error = q->watch ? refresh_and_watch(&s, &w->trees->lock) : refresh(&s);
    if (error == -EACCES && (q->reopen || q->ran_ns > 0) && guard_reopen(at))
        error = refresh(&s);
    if (error == 0)
        guard_reopen_prepare(at, root->fd);
    bool reading = error < 0;
    at->stale |= reading;
    if (error == 0 && s.comparing && body.n)
        use_baseline(&s, body, &baseline);
    if (error == 0)
        error = collect_again(&s, (uint32_t)q->max_guarded);
    if (error == 0)
        answer_guard_scan(w, at, q, &reply->scan);
    if (error == 0 && q->reopen)
        tell_reopened(w, at, &reply->scan);
    if (error == -EMLINK)
        outward_refuse(&at->outward, root->host, err);
    reply->scan.compared = s.baseline && s.baseline_is_alike;
    reply->scan.unsure = s.unsure;
    reply->scan.opened = q->reopen && at->opened;
    at->opened &= !q->reopen || error < 0;
    pthread_mutex_unlock(&w->trees->lock);
    reading_done(&s.reading);
    if (s.store_failed)
        return index_failed(err, error, w, s.number);
    if (error == -EMLINK)
        return -1;
    if (error < 0)
        return tell_guard_scan_failure(err, error, root, q, reading);
    if (w->body.failed)
        return tell_guard_scan_failure(err, -E2BIG, root, q, false);
    return 0;
}

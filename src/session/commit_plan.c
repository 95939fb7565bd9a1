#include "session/commit_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/glob.h"

const char *const commit_bar_names[] = {"free",     "special", "secret", "git",
                                        "conflict", "code",    NULL};

/* One word of the choice. */
struct chooser {
    struct str text;
    struct glob *glob; /* NULL: it is a path */
    bool used;
};

struct choosers {
    struct chooser *all;
    size_t n;
};

static void choosers_done(struct choosers *c)
{
    for (size_t i = 0; i < c->n; i++)
        glob_free(c->all[i].glob);
    free(c->all);
}

static struct str plain_chooser(struct str text)
{
    while (text.n > 2 && text.p[0] == '.' && text.p[1] == '/') {
        text.p += 2;
        text.n -= 2;
    }
    while (text.n > 1 && text.p[text.n - 1] == '/')
        text.n--;
    return text;
}

static int read_choosers(const struct str *texts, size_t n, struct choosers *ret, struct err *err)
{
    ret->all = mem_zero((n + 1) * sizeof *ret->all);
    for (size_t i = 0; i < n; i++) {
        struct chooser *one = &ret->all[ret->n++];
        one->text = plain_chooser(texts[i]);
        if (glob_is_pattern(texts[i]) &&
            !(one->glob = glob_compile(plain_chooser(texts[i]), true, err)))
            return -1;
    }
    return 0;
}

static bool lies_in_text(struct str path, struct str folder)
{
    return path.n >= folder.n && memcmp(path.p, folder.p, folder.n) == 0 &&
           (path.n == folder.n || path.p[folder.n] == '/');
}

/* A glob that matches a folder stands for all in it, too. */
static bool glob_matches_around(const struct glob *glob, struct str path)
{
    for (size_t n = path.n; n > 0; n--) {
        if ((n == path.n || path.p[n] == '/') && glob_match(glob, (struct str){path.p, n}))
            return true;
    }
    return false;
}

static bool chooser_matches(struct chooser *one, struct str path)
{
    bool all = str_is(one->text, ".");
    bool is = all ||
              (one->glob ? glob_matches_around(one->glob, path) : lies_in_text(path, one->text));
    one->used |= is;
    return is;
}

/* No short cut: each notes that it was used. */
static bool choosers_match(struct choosers *c, struct str path)
{
    bool found = false;
    for (size_t i = 0; i < c->n; i++)
        found |= chooser_matches(&c->all[i], path);
    return found;
}

static int refuse_unused(const struct choosers *c, struct err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->all[i].used)
            continue;
        err_set(err, ERR_NOT_FOUND, "no change of the session is `%.*s` or lies in it",
                (int)(c->all[i].text.n < 200 ? c->all[i].text.n : 200), c->all[i].text.p);
        return err_reason(err, "no_change");
    }
    return 0;
}

/* --- what stands against it */

/* What a build makes there is run by whoever builds. */
static bool lies_in_build_folder(struct str path)
{
    static const char *const names[] = {"build", "target",      "dist",   "out",    "node_modules",
                                        ".venv", "venv",        "_build", "obj",    "bin",
                                        ".tox",  "__pycache__", ".cache", ".gradle"};
    for (size_t at = 0, end; at < path.n; at = end + 1) {
        const char *slash = memchr(path.p + at, '/', path.n - at);
        end = slash ? (size_t)(slash - path.p) : path.n;
        for (size_t i = 0; end < path.n && i < ARRAY_LEN(names); i++) {
            if (str_is((struct str){path.p + at, end - at}, names[i]))
                return true;
        }
    }
    return false;
}

bool commit_runs_code(const struct change *change)
{
    const struct op_changed *of = &change->of;
    const struct op_node *was = change->was ? change->was : &of->before;
    if (of->guarded)
        return true;
    bool runs = of->after.type == NODE_FILE && (of->after.mode & 0111);
    bool ran = was->type == NODE_FILE && (was->mode & 0111);
    return runs && !ran && !lies_in_build_folder(of->path);
}

static enum commit_bar bar_of(const struct change *change)
{
    const struct op_changed *of = &change->of;
    if (of->special || of->unread)
        return COMMIT_SPECIAL;
    if (of->secret)
        return COMMIT_SECRET;
    if (of->git)
        return COMMIT_GIT;
    if (of->conflict)
        return COMMIT_CONFLICT;
    return commit_runs_code(change) ? COMMIT_CODE : COMMIT_FREE;
}

static void take_item(struct commit_plan *plan, struct commit_item *item)
{
    item->taken = true;
    plan->taken++;
}

static void decide_item(struct commit_plan *plan, struct commit_item *item, enum commit_code code,
                        struct choosers *ours, struct choosers *theirs)
{
    struct str path = item->change->of.path;
    bool mine = choosers_match(ours, path);
    bool others = choosers_match(theirs, path);
    if (item->bar == COMMIT_CONFLICT && others && !mine) {
        item->drop = true;
        plan->dropped++;
        return;
    }
    /* Whoever decided for the session's version said nothing about what that runs. */
    if (item->bar == COMMIT_CONFLICT && mine)
        item->bar = commit_runs_code(item->change) ? COMMIT_CODE : COMMIT_FREE;
    if (item->bar == COMMIT_FREE || (item->bar == COMMIT_CODE && code == CODE_TAKE))
        take_item(plan, item);
    else if (item->bar == COMMIT_CONFLICT)
        plan->conflicts++;
    else if (item->bar == COMMIT_CODE && code == CODE_REFUSE)
        plan->code++;
    else
        plan->left++;
}

/* --- what belongs together */

/* In the order of paths a folder stands before what is in it. */
static struct commit_item *find_item(struct commit_plan *plan, struct str path)
{
    size_t low = 0;
    for (size_t high = plan->n; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(path, plan->items[middle].change->of.path);
        if (order == 0)
            return &plan->items[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* The folders around it that the session made. */
static void choose_around(struct commit_plan *plan, struct str path)
{
    for (size_t n = path.n; n-- > 0;) {
        struct commit_item *item = path.p[n] == '/' ? find_item(plan, (struct str){path.p, n})
                                                    : NULL;
        if (item && item->change->of.before.type != NODE_FOLDER)
            item->chosen = true;
    }
}

/* Nothing from there on lies in the folder. */
static bool stands_behind(const struct commit_plan *plan, size_t i, struct str folder)
{
    struct str path = plan->items[i].change->of.path;
    size_t n = path.n < folder.n ? path.n : folder.n;
    return memcmp(path.p, folder.p, n) > 0;
}

/* Of what was renamed: where it was, or is. */
static struct commit_item *other_end(struct commit_plan *plan, const struct change *change)
{
    struct str path = change->from.n ? change->from : change->to;
    return path.n ? find_item(plan, path) : NULL;
}

/* Both ends of what was renamed, and all that was in a folder that is something else now. */
static void choose_with(struct commit_plan *plan, size_t i)
{
    const struct change *change = plan->items[i].change;
    struct commit_item *other = other_end(plan, change);
    if (change->of.after.type != NODE_NONE)
        choose_around(plan, change->of.path);
    if (other && !other->chosen) {
        other->chosen = true;
        choose_around(plan, other->change->of.path);
    }
    bool folded = change->of.before.type == NODE_FOLDER && change->of.after.type != NODE_FOLDER &&
                  change->of.after.type != NODE_NONE;
    for (size_t k = i + 1; folded && k < plan->n && !stands_behind(plan, k, change->of.path); k++)
        plan->items[k].chosen |= lies_in_text(plan->items[k].change->of.path, change->of.path);
}

static void choose_items(struct commit_plan *plan, struct choosers *paths)
{
    for (size_t i = 0; i < plan->n; i++) {
        const struct change *change = plan->items[i].change;
        plan->items[i].chosen = paths->n == 0 || choosers_match(paths, change->of.path);
    }
    for (size_t i = 0; i < plan->n && paths->n; i++) {
        if (plan->items[i].chosen)
            choose_with(plan, i);
    }
}

static bool gives_up_all_in(struct commit_plan *plan, size_t i, struct choosers *theirs)
{
    struct str folder = plan->items[i].change->of.path;
    for (size_t k = i + 1; k < plan->n && !stands_behind(plan, k, folder); k++) {
        const struct commit_item *in = &plan->items[k];
        if (lies_in_text(in->change->of.path, folder) &&
            (!in->chosen || !choosers_match(theirs, in->change->of.path)))
            return false;
    }
    return true;
}

static void give_up(struct commit_plan *plan, struct commit_item *item, enum commit_code code)
{
    if (item->taken)
        plan->taken--;
    else if (item->bar == COMMIT_CONFLICT)
        plan->conflicts--;
    else if (item->bar == COMMIT_CODE && code == CODE_REFUSE)
        plan->code--;
    else
        plan->left--;
    item->taken = false;
    item->drop = true;
    plan->dropped++;
}

/* With a folder that one side alone has goes, or stays, all that is in it: whoever gives up only part of that has not decided. */
static void give_up_folder(struct commit_plan *plan, size_t i, enum commit_code code,
                           struct choosers *theirs)
{
    struct commit_item *item = &plan->items[i];
    bool was = item->change->of.before.type == NODE_FOLDER;
    if (!item->drop || (item->change->of.after.type == NODE_FOLDER) == was)
        return;
    bool all = gives_up_all_in(plan, i, theirs);
    for (size_t k = i + 1; all && k < plan->n && !stands_behind(plan, k, item->change->of.path);
         k++) {
        struct commit_item *in = &plan->items[k];
        if (lies_in_text(in->change->of.path, item->change->of.path) && !in->drop)
            give_up(plan, in, code);
    }
    item->drop = all;
    plan->dropped -= !all;
    plan->conflicts += !all;
}

/* Nothing goes into a folder that is not made, and no folder goes that something stays in. */
static bool is_held_back(struct commit_plan *plan, size_t i)
{
    const struct op_changed *of = &plan->items[i].change->of;
    for (size_t n = of->path.n; n-- > 0;) {
        struct commit_item *around = of->path.p[n] == '/'
                                         ? find_item(plan, (struct str){of->path.p, n})
                                         : NULL;
        if (around && !around->taken && of->after.type != NODE_NONE &&
            around->change->of.before.type != NODE_FOLDER)
            return true;
    }
    /* What was renamed is nowhere in the project, if it goes from where it was alone. */
    struct commit_item *to = plan->items[i].change->gone ? other_end(plan, plan->items[i].change)
                                                         : NULL;
    if (to && !to->taken)
        return true;
    bool goes = of->before.type == NODE_FOLDER && of->after.type != NODE_FOLDER;
    for (size_t k = i + 1; goes && k < plan->n && !stands_behind(plan, k, of->path); k++) {
        const struct commit_item *in = &plan->items[k];
        if (lies_in_text(in->change->of.path, of->path) && !in->taken)
            return true;
    }
    return false;
}

/* Until nothing holds back anything more: to leave one may hold back others. */
static void hold_back(struct commit_plan *plan)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < plan->n; i++) {
            if (!plan->items[i].taken || !is_held_back(plan, i))
                continue;
            plan->items[i].taken = false;
            plan->taken--;
            plan->left++;
            again = true;
        }
    }
}

static int pack_plan(struct commit_plan *plan, struct err *err)
{
    plan->body = BUF_INIT(OP_BODY_MAX);
    for (size_t i = 0; i < plan->n; i++) {
        const struct commit_item *item = &plan->items[i];
        struct op_changed of = item->change->of;
        of.drop = item->drop;
        if (item->taken || item->drop)
            op_changed_add(&plan->body, &of);
    }
    return plan->body.failed ? err_set(err, ERR_TOO_LARGE, "the list of changes is too long") : 0;
}

static int make_plan_by(struct commit_plan *plan, const struct commit_choice *choice,
                        struct choosers all[3], struct err *err)
{
    if (read_choosers(choice->paths, choice->n_paths, &all[0], err) < 0 ||
        read_choosers(choice->ours, choice->n_ours, &all[1], err) < 0 ||
        read_choosers(choice->theirs, choice->n_theirs, &all[2], err) < 0)
        return -1;
    choose_items(plan, &all[0]);
    for (size_t i = 0; i < plan->n; i++) {
        struct commit_item *item = &plan->items[i];
        item->bar = bar_of(item->change);
        if (item->chosen)
            decide_item(plan, item, choice->code, &all[1], &all[2]);
    }
    for (size_t i = 0; i < plan->n; i++)
        give_up_folder(plan, i, choice->code, &all[2]);
    for (size_t i = 0; i < 3; i++) {
        if (refuse_unused(&all[i], err) < 0)
            return -1;
    }
    hold_back(plan);
    return pack_plan(plan, err);
}

int commit_plan_make(const struct change_list *changes, const struct commit_choice *choice,
                     struct commit_plan *ret, struct err *err)
{
    struct choosers all[3] = {{0}};
    struct commit_plan plan = {.n = changes->n};
    plan.items = mem_zero((changes->n + 1) * sizeof *plan.items);
    for (size_t i = 0; i < changes->n; i++)
        plan.items[i].change = &changes->all[i];
    int r = make_plan_by(&plan, choice, all, err);
    for (size_t i = 0; i < 3; i++)
        choosers_done(&all[i]);
    if (r < 0)
        commit_plan_done(&plan);
    else
        *ret = plan;
    return r;
}

static const struct commit_item *first_with(const struct commit_plan *plan, enum commit_bar bar)
{
    for (size_t i = 0; i < plan->n; i++) {
        const struct commit_item *item = &plan->items[i];
        if (item->chosen && !item->taken && !item->drop && item->bar == bar)
            return item;
    }
    return NULL;
}

int commit_plan_check(const struct commit_plan *plan, struct err *err)
{
    const struct commit_item *item;
    if (plan->conflicts && (item = first_with(plan, COMMIT_CONFLICT))) {
        err_set(err, ERR_CONFLICT,
                "%zu of the changed paths were changed in the project as well, as `%.*s`; nothing "
                "was taken over. Name the other paths, or decide with --ours or --theirs",
                plan->conflicts,
                (int)(item->change->of.path.n < 200 ? item->change->of.path.n : 200),
                item->change->of.path.p);
        return err_reason(err, "changed_in_project");
    }
    if (plan->code && (item = first_with(plan, COMMIT_CODE))) {
        err_set(err, ERR_APPROVAL_DENIED,
                "%zu of the changes would run code outside of the sandbox later, as `%.*s`; "
                "nothing was taken over. Look at them, then say --allow-code, or --leave-code to "
                "leave them in the session",
                plan->code, (int)(item->change->of.path.n < 200 ? item->change->of.path.n : 200),
                item->change->of.path.p);
        return err_reason(err, "runs_code");
    }
    return 0;
}

void commit_plan_done(struct commit_plan *plan)
{
    free(plan->items);
    buf_done(&plan->body);
    *plan = (struct commit_plan){.n = 0};
}

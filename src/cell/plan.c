#include "cell/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cell/own_path.h"
#include "cell/plan_parts.h"

const char *const plan_system_paths[] = {"/usr", "/etc",       "/bin",   "/sbin",
                                         "/lib", "/lib32",     "/lib64", "/libx32",
                                         "/opt", "/nix/store", NULL};

/* What programs expect of every machine. /dev/tty is each process's own terminal: no command has the gate's, as it leads
 * a session of its own or is in its first process's. */
static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                      "/dev/random", "/dev/urandom", "/dev/tty"};
static const char *const links[][2] = {
    {"/proc/self/fd", "dev/fd"},
    {"/proc/self/fd/0", "dev/stdin"},
    {"/proc/self/fd/1", "dev/stdout"},
    {"/proc/self/fd/2", "dev/stderr"},
    {"pts/ptmx", "dev/ptmx"},
    {"/tmp", "dev/shm"},
    {"/tmp", "var/tmp"},
};

struct step *plan_add(struct plan *plan, enum step_kind kind)
{
    /* Enough for most cells at once. */
    if (plan->count % 64 == 0)
        plan->steps = mem_grow(plan->steps, plan->count + 64, sizeof *plan->steps);
    struct step *step = &plan->steps[plan->count++];
    *step = (struct step){
        .kind = kind, .slot = -1, .root = -1, .shown = -1, .file = -1, .layer = -1};
    return step;
}

/* Inside the new root, which is the working directory, every path is relative. */
const char *plan_relative(const char *path)
{
    while (*path == '/')
        path++;
    return path;
}

int plan_clone(struct plan *plan, const char *from, int root, bool readonly)
{
    struct step *step = plan_add(plan, STEP_CLONE);
    step->slot = plan->slots++;
    step->root = root;
    step->readonly = readonly;
    step->from = mem_dup(from);
    return step->slot;
}

/* No slot, nothing to attach. */
void plan_attach(struct plan *plan, int slot, const char *to)
{
    if (slot < 0)
        return;
    struct step *step = plan_add(plan, STEP_ATTACH);
    step->slot = slot;
    step->to = mem_dup(plan_relative(to));
}

/* -1: there is none. */
static int clone_layer(struct plan *plan, const struct cell_spec *spec)
{
    if (!spec->layer.host)
        return -1;
    int slot = plan_clone(plan, spec->layer.host, -1, false);
    plan->steps[plan->count - 1].layer = 0;
    return slot;
}

static void attach_root(struct plan *plan, int slot, int layer, const char *to)
{
    plan_attach(plan, slot, to);
    if (layer < 0)
        return;
    struct step *step = &plan->steps[plan->count - 1];
    step->kind = STEP_OVERLAY;
    step->layer = layer;
}

void plan_add_folder(struct plan *plan, const char *path)
{
    plan_add(plan, STEP_MKDIR)->to = mem_dup(plan_relative(path));
}

static void add_link_step(struct plan *plan, const char *target, const char *path)
{
    struct step *link = plan_add(plan, STEP_SYMLINK);
    link->from = mem_dup(target);
    link->to = mem_dup(plan_relative(path));
}

/* A read-only copy of a folder laid over itself: the kernel then refuses to change, rename or
 * remove it from inside. The folders on the way to it become mount points too, else one of them could
 * be renamed and another made in its place. */
static void protect(struct plan *plan, const char *root, const char *folder)
{
    const char *way = plan_relative(root);
    FREE_AT_END char *path = mem_format("%s%s%s", way, *way ? "/" : "", folder);
    for (char *at = path + strlen(way) + (*way != '\0'); (at = strchr(at, '/')); at++) {
        *at = '\0';
        plan_add(plan, STEP_PIN)->to = mem_dup(path);
        *at = '/';
    }
    struct step *last = plan_add(plan, STEP_PIN);
    last->readonly = true;
    last->to = mem_dup(path);
}

/* What only commands have. */
struct for_commands {
    const struct cell_spec *spec;
    char *const *at; /* where the spec's roots are mounted */
    const struct place *places;
    size_t n_places;
    int place_slots[PLACES_MAX]; /* -1: none, here and below */
    int device_slots[ARRAY_LEN(devices)];
    int shown_slots[SHOWN_MAX];
    int proc_slot;
};

/* Whether it is, or lies in, a folder of the cell that commands have (or one that they have not). */
static bool is_in_root(const struct for_commands *c, const char *path, bool commands)
{
    for (size_t i = 0; i < c->spec->n_roots; i++) {
        if (c->spec->roots[i].commands == commands && path_rest(path, c->at[i]))
            return true;
    }
    return false;
}

/* A folder of the cell is what is seen there, and nothing is laid over a part of it. */
static bool is_taken(const struct for_commands *c, const char *path)
{
    return is_in_root(c, path, true);
}

/* Whether the machine's own places show it anyway. */
static bool is_in_place(const struct for_commands *c, const char *path)
{
    for (size_t i = 0; i < c->n_places; i++) {
        if (path_rest(path, c->places[i].path))
            return true;
    }
    return false;
}

static void clone_for_commands(struct plan *plan, struct for_commands *c)
{
    const struct cell_spec *spec = c->spec;
    for (size_t i = 0; i < c->n_places; i++) {
        bool seen = c->places[i].kind == PLACE_FOLDER && !is_taken(c, c->places[i].path);
        c->place_slots[i] = seen ? plan_clone(plan, c->places[i].path, -1, true) : -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        c->device_slots[i] = -1;
        if (is_taken(c, devices[i]))
            continue;
        c->device_slots[i] = plan_clone(plan, devices[i], -1, false);
        plan->steps[plan->count - 1].device = true;
    }
    for (size_t i = 0; i < spec->n_shown; i++) {
        c->shown_slots[i] = -1;
        if (is_taken(c, spec->shown[i]) || is_in_place(c, spec->shown[i]))
            continue;
        c->shown_slots[i] = plan_clone(plan, spec->shown[i], -1, true);
        plan->steps[plan->count - 1].shown = (int)i;
    }
    /* Commands have one each, which the kernel lets them mount because this one is there; and this one because the
     * host's still is. */
    c->proc_slot = plan_add(plan, STEP_PROC)->slot = plan->slots++;
}

/* Whether one of the cell's folders lies there: behind a link its mount would land somewhere else. */
static bool has_folder_in(const struct cell_spec *spec, const char *link)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (path_rest(plan_relative(spec->roots[i].inside), link))
            return true;
    }
    for (size_t i = 0; i < spec->n_shown; i++) {
        if (path_rest(plan_relative(spec->shown[i]), link))
            return true;
    }
    return false;
}

/* What is mounted there has the link itself, or it would be behind a link of the cell's. */
static bool is_link_made(const struct for_commands *c, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        if (path_rest(plan_relative(name), links[i][1]))
            return false;
    }
    return !is_in_place(c, name) && own_path_is_linked(c->spec, name);
}

/* The other names of folders: those in `folder`, or, where it is NULL, those that are in no file system of their own. */
static void link_names(struct plan *plan, const struct for_commands *c, const char *folder)
{
    for (size_t i = 0; i < ROOT_ALSO * c->spec->n_roots; i++) {
        const struct cell_root *root = &c->spec->roots[i / ROOT_ALSO];
        const char *name = root->also[i % ROOT_ALSO];
        if (!name || !root->commands || !is_link_made(c, name))
            continue;
        bool scratch = path_rest(name, PLAN_HOME) || path_rest(name, "/tmp");
        if (folder ? !path_rest(name, folder) : scratch)
            continue;
        FREE_AT_END char *parent = mem_copy(name, (size_t)(path_name(name) - name));
        if (*plan_relative(parent))
            plan_add_folder(plan, parent);
        add_link_step(plan, root->inside, name);
    }
}

void plan_add_text(struct plan *plan, const char *path, char *text)
{
    struct step *step = plan_add(plan, STEP_TEXT);
    step->from = text;
    step->to = mem_dup(plan_relative(path));
}

/* Programs ask who they are, and some end when no list knows. The machine's users own nothing in here, so
 * their names are of no use. */
static void name_user(struct plan *plan, const struct cell_spec *spec)
{
    plan_add_text(plan, PLAN_PASSWD,
                  mem_format(PLAN_USER
                             ":x:%u:%u::" PLAN_HOME ":/bin/bash\n"
                             "root:x:0:0:root:/root:/bin/bash\n"
                             "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
                             spec->uid, spec->gid));
    plan_add_text(
        plan, PLAN_GROUP,
        mem_format(PLAN_USER ":x:%u:\nroot:x:0:\ntty:x:5:\nnogroup:x:65534:\n", spec->gid));
}

/* A folder that was asked for is shown as it is, the machine's /etc too. */
static void add_cover_step(struct plan *plan, const struct for_commands *c, const char *path,
                           const char *with)
{
    if (is_taken(c, path))
        return;
    struct step *step = plan_add(plan, STEP_COVER);
    step->from = mem_dup(with);
    step->to = mem_dup(path);
}

/* What a shown folder or file is attached to. */
static void add_shown_step(struct plan *plan, const char *path, bool is_file)
{
    if (!is_file) {
        plan_add_folder(plan, path);
        return;
    }
    FREE_AT_END char *parent = mem_copy(path, (size_t)(path_name(path) - path));
    if (*plan_relative(parent))
        plan_add_folder(plan, parent);
    plan_add(plan, STEP_FILE)->to = mem_dup(plan_relative(path));
}

/* Empty folders and files, to attach to later, and links. */
static void make_for_commands(struct plan *plan, const struct for_commands *c)
{
    static const char *const folders[] = {"dev/pts", "tmp", "var", "run", "proc", PLAN_HOME};
    for (size_t i = 0; i < c->n_places; i++) {
        if (c->place_slots[i] >= 0)
            plan_add_folder(plan, c->places[i].path);
        else if (c->places[i].kind == PLACE_LINK)
            add_link_step(plan, c->places[i].target, c->places[i].path);
    }
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        plan_add_folder(plan, folders[i]);
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        if (c->device_slots[i] >= 0)
            plan_add(plan, STEP_FILE)->to = mem_dup(plan_relative(devices[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        if (!has_folder_in(c->spec, links[i][1]))
            add_link_step(plan, links[i][0], links[i][1]);
    }
    link_names(plan, c, NULL);
    plan_add_folder(plan, PLAN_HIDDEN);
    plan_add_folder(plan, PLAN_DENIED);
    plan_add_folder(plan, PLAN_POINTS);
    plan_add(plan, STEP_FILE)->to = mem_dup(plan_relative(PLAN_HIDDEN_FILE));
    plan_add(plan, STEP_CLOSED)->to = mem_dup(plan_relative(PLAN_HIDDEN_FOLDER));
    name_user(plan, c->spec);
    if (c->spec->gitconfig)
        plan_add_text(plan, PLAN_GITCONFIG, mem_dup(c->spec->gitconfig));
    for (size_t i = 0; i < c->spec->n_shown; i++) {
        if (c->shown_slots[i] >= 0)
            add_shown_step(plan, c->spec->shown[i], c->spec->shown_is_file[i]);
    }
}

/* A scratch home, unless a folder of the cell is there. */
static bool has_scratch_home(const struct for_commands *c)
{
    return !is_taken(c, PLAN_HOME);
}

/* Whether what is attached for commands covers it. */
static bool is_covered_for_commands(const struct for_commands *c, const char *path)
{
    for (size_t i = 0; i < c->n_places; i++) {
        if (c->place_slots[i] >= 0 && path_rest(path, c->places[i].path))
            return true;
    }
    for (size_t i = 0; i < c->spec->n_shown; i++) {
        if (c->shown_slots[i] >= 0 && path_rest(path, c->spec->shown[i]))
            return true;
    }
    return (has_scratch_home(c) && path_rest(path, PLAN_HOME)) || path_rest(path, "/proc");
}

/* Folders that commands do not have go; those that would go with them, or would be covered, are taken before. */
static void add_leave_steps(struct plan *plan, const struct for_commands *c, int *ret_kept)
{
    const struct cell_spec *spec = c->spec;
    for (size_t i = 0; i < spec->n_roots; i++) {
        ret_kept[i] = -1;
        if (!spec->roots[i].commands ||
            !(is_covered_for_commands(c, c->at[i]) || is_in_root(c, c->at[i], false)))
            continue;
        struct step *step = plan_add(plan, STEP_KEEP);
        ret_kept[i] = step->slot = plan->slots++;
        step->from = mem_dup(plan_relative(c->at[i]));
    }
    for (size_t i = 0; i < spec->n_roots; i++) {
        /* Each command leaves the store by itself: the launcher mounts from it. */
        if (!spec->roots[i].commands && !spec->roots[i].store && !spec->system)
            plan_add(plan, STEP_LEAVE)->to = mem_dup(plan_relative(c->at[i]));
    }
}

/* Folders that are attached in the scratch home. */
struct in_home {
    const char *to[ROOTS_MAX + SHOWN_MAX];
    bool is_file[ROOTS_MAX + SHOWN_MAX];
    size_t n;
};

static void find_in_home(const struct for_commands *c, const int *kept, struct in_home *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < c->spec->n_shown; i++) {
        if (c->shown_slots[i] < 0 || !path_rest(c->spec->shown[i], PLAN_HOME))
            continue;
        ret->is_file[ret->n] = c->spec->shown_is_file[i];
        ret->to[ret->n++] = c->spec->shown[i];
    }
    for (size_t i = 0; i < c->spec->n_roots; i++) {
        if (kept[i] >= 0 && path_rest(c->at[i], PLAN_HOME))
            ret->to[ret->n++] = c->at[i];
    }
}

/* One that is on the way to one before `n` has been pinned, and in a folder that is attached there is nothing to pin. */
static bool is_pinned_in_home(const struct in_home *home, size_t n, const char *way)
{
    for (size_t i = 0; i < home->n; i++) {
        if (path_rest(way, home->to[i]) || (i < n && path_rest(home->to[i], way)))
            return true;
    }
    return false;
}

/* Empty folders to attach to. A command must not rename those on the way to one, and make another in its place: they are
 * mount points. */
static void make_in_home(struct plan *plan, const struct in_home *home)
{
    for (size_t i = 0; i < home->n; i++)
        add_shown_step(plan, home->to[i], home->is_file[i]);
    for (size_t i = 0; i < home->n; i++) {
        FREE_AT_END char *way = mem_dup(home->to[i]);
        for (char *at = way + strlen(PLAN_HOME) + 1; (at = strchr(at, '/')); at++) {
            *at = '\0';
            if (!is_pinned_in_home(home, i, way))
                plan_add(plan, STEP_PIN)->to = mem_dup(plan_relative(way));
            *at = '/';
        }
    }
}

static void make_home(struct plan *plan, const struct for_commands *c, const int *kept)
{
    struct in_home in_home = {.n = 0};
    struct step *home = plan_add(plan, STEP_SCRATCH);
    home->bytes = c->spec->home_bytes;
    home->to = mem_dup(plan_relative(PLAN_HOME));
    find_in_home(c, kept, &in_home);
    make_in_home(plan, &in_home);
    link_names(plan, c, PLAN_HOME);
}

static void attach_for_commands(struct plan *plan, const struct for_commands *c)
{
    int kept[ROOTS_MAX];
    add_leave_steps(plan, c, kept);
    for (size_t i = 0; i < c->n_places; i++)
        plan_attach(plan, c->place_slots[i], c->places[i].path);
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        plan_attach(plan, c->device_slots[i], devices[i]);
    if (has_scratch_home(c))
        make_home(plan, c, kept);
    for (size_t i = 0; i < c->spec->n_shown; i++)
        plan_attach(plan, c->shown_slots[i], c->spec->shown[i]);
    plan_attach(plan, c->proc_slot, "proc");
    for (size_t i = 0; i < c->spec->n_roots; i++)
        plan_attach(plan, kept[i], c->at[i]);
    /* Nothing of it can be written to any more, and links lead nowhere but into the cell. */
    add_cover_step(plan, c, "/etc/passwd", PLAN_PASSWD);
    add_cover_step(plan, c, "/etc/group", PLAN_GROUP);
}

/* Where a folder is mounted: a link of the machine's leads to what it led to there. */
static char *mounted_at(const char *inside, const struct place *places, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *rest = places[i].kind == PLACE_LINK ? path_rest(inside, places[i].path) : NULL;
        if (rest)
            return mem_format("/%s%s%s", plan_relative(places[i].target), *rest ? "/" : "",
                              plan_relative(rest));
    }
    return mem_dup(inside);
}

void plan_make(const struct cell_spec *spec, const struct place *places, size_t n_places,
               const char *staging, struct plan *ret)
{
    int root_slots[ROOTS_MAX];
    char *at[ROOTS_MAX];
    struct for_commands c = {.spec = spec,
                             .at = at,
                             .places = places,
                             .n_places = n_places < PLACES_MAX ? n_places : PLACES_MAX};
    *ret = (struct plan){0};
    if (spec->program) {
        plan_for_program(spec, staging, ret);
        return;
    }
    plan_add(ret, STEP_PRIVATE);
    /* All copies first: once a tmpfs covers the staging folder, what lay beneath is out of reach. */
    for (size_t i = 0; i < spec->n_roots; i++) {
        root_slots[i] = plan_clone(ret, spec->roots[i].host, (int)i,
                                   spec_root_is_readonly(spec, i));
        at[i] = mounted_at(spec->roots[i].inside, places, c.n_places);
    }
    int layer = clone_layer(ret, spec);
    if (spec->commands)
        clone_for_commands(ret, &c);
    plan_add(ret, STEP_TMPFS)->to = mem_dup(staging);
    if (spec->commands)
        make_for_commands(ret, &c);
    /* All of them first, so that one that lies in another has a place without that, too. */
    for (size_t i = 0; i < spec->n_roots; i++)
        plan_add_folder(ret, at[i]);
    for (size_t i = 0; i < spec->n_roots; i++) {
        attach_root(ret, root_slots[i], i == 0 ? layer : -1, at[i]);
        if (spec->roots[i].protect)
            protect(ret, at[i], spec->roots[i].protect);
    }
    plan_add(ret, STEP_PIVOT);
    plan_add(ret, STEP_SEAL);
    if (spec->commands) {
        if (!spec->system)
            plan_add(ret, STEP_WORKER);
        attach_for_commands(ret, &c);
    }
    for (size_t i = 0; i < spec->n_roots; i++)
        free(at[i]);
}

void plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        free(plan->steps[i].from);
        free(plan->steps[i].to);
    }
    free(plan->steps);
    *plan = (struct plan){0};
}

#include "cell/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const char *const plan_system_paths[] = {"/usr", "/etc",       "/bin",   "/sbin",
                                         "/lib", "/lib32",     "/lib64", "/libx32",
                                         "/opt", "/nix/store", NULL};

/* What programs expect of every machine. There is no /dev/tty: nobody sits there. */
static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                      "/dev/urandom"};
static const char *const links[][2] = {
    {"/proc/self/fd", "dev/fd"},
    {"/proc/self/fd/0", "dev/stdin"},
    {"/proc/self/fd/1", "dev/stdout"},
    {"/proc/self/fd/2", "dev/stderr"},
    {"pts/ptmx", "dev/ptmx"},
    {"/tmp", "dev/shm"},
    {"/tmp", "var/tmp"},
};

static struct step *add(struct plan *plan, enum step_kind kind)
{
    /* Enough for most cells at once. */
    if (plan->count % 64 == 0)
        plan->steps = mem_grow(plan->steps, plan->count + 64, sizeof *plan->steps);
    struct step *step = &plan->steps[plan->count++];
    *step = (struct step){.kind = kind, .slot = -1, .root = -1, .shown = -1};
    return step;
}

/* Inside the new root, which is the working directory, every path is relative. */
static const char *relative(const char *path)
{
    while (*path == '/')
        path++;
    return path;
}

static int clone_tree(struct plan *plan, const char *from, int root, bool readonly)
{
    struct step *step = add(plan, STEP_CLONE);
    step->slot = plan->slots++;
    step->root = root;
    step->readonly = readonly;
    step->from = mem_dup(from);
    return step->slot;
}

static void attach(struct plan *plan, int slot, const char *to)
{
    struct step *step = add(plan, STEP_ATTACH);
    step->slot = slot;
    step->to = mem_dup(relative(to));
}

static void make_folder(struct plan *plan, const char *path)
{
    add(plan, STEP_MKDIR)->to = mem_dup(relative(path));
}

static void attach_system(struct plan *plan, const struct place *place, int slot)
{
    if (place->kind == PLACE_LINK) {
        struct step *link = add(plan, STEP_SYMLINK);
        link->from = mem_dup(place->target);
        link->to = mem_dup(relative(place->path));
    } else if (place->kind == PLACE_FOLDER) {
        make_folder(plan, place->path);
        attach(plan, slot, place->path);
    }
}

/* A read-only copy of a folder laid over itself: the kernel then refuses to change, rename or
 * remove it from inside. The folders on the way to it become mount points too, else one of them could
 * be renamed and another made in its place. */
static void protect(struct plan *plan, const struct cell_root *root)
{
    FREE_AT_END char *path = mem_format("%s/%s", relative(root->inside), root->protect);
    for (char *at = path + strlen(relative(root->inside)) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        add(plan, STEP_PIN)->to = mem_dup(path);
        *at = '/';
    }
    struct step *last = add(plan, STEP_PIN);
    last->readonly = true;
    last->to = mem_dup(path);
}

/* Whether the machine's own places show it anyway. */
static bool is_in_places(const char *path, const struct place *places, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (path_rest(path, places[i].path))
            return true;
    }
    return false;
}

static void clone_for_commands(struct plan *plan, const struct cell_spec *spec,
                               const struct place *places, size_t n_places, int *ret_devices,
                               int *ret_shown)
{
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        ret_devices[i] = clone_tree(plan, devices[i], -1, false);
        plan->steps[plan->count - 1].device = true;
    }
    for (size_t i = 0; i < spec->n_shown; i++) {
        ret_shown[i] = -1;
        if (is_in_places(spec->shown[i], places, n_places))
            continue;
        ret_shown[i] = clone_tree(plan, spec->shown[i], -1, true);
        plan->steps[plan->count - 1].shown = (int)i;
    }
}

/* Whether one of the cell's folders lies there: behind a link its mount would land somewhere else. */
static bool has_folder_in(const struct cell_spec *spec, const char *link)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (path_rest(relative(spec->roots[i].inside), link))
            return true;
    }
    for (size_t i = 0; i < spec->n_shown; i++) {
        if (path_rest(relative(spec->shown[i]), link))
            return true;
    }
    return false;
}

static void write_text(struct plan *plan, const char *path, char *text)
{
    struct step *step = add(plan, STEP_TEXT);
    step->from = text;
    step->to = mem_dup(relative(path));
}

/* Programs ask who they are, and some end when no list knows. The machine's users own nothing in here, so
 * their names are of no use. */
static void name_user(struct plan *plan, const struct cell_spec *spec)
{
    write_text(plan, PLAN_PASSWD,
               mem_format(PLAN_USER ":x:%u:%u::" PLAN_HOME ":/bin/bash\n"
                                    "root:x:0:0:root:/root:/bin/bash\n"
                                    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
                          spec->uid, spec->gid));
    write_text(plan, PLAN_GROUP,
               mem_format(PLAN_USER ":x:%u:\nroot:x:0:\ntty:x:5:\nnogroup:x:65534:\n", spec->gid));
}

/* A folder that was asked for is shown as it is, the machine's /etc too. */
static void cover(struct plan *plan, const struct cell_spec *spec, const char *path,
                  const char *with)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (path_rest(path, spec->roots[i].inside))
            return;
    }
    struct step *step = add(plan, STEP_COVER);
    step->from = mem_dup(with);
    step->to = mem_dup(path);
}

static void attach_for_commands(struct plan *plan, const struct cell_spec *spec,
                                const int *device_slots, const int *shown_slots)
{
    static const char *const folders[] = {"dev/pts", "tmp", "var", "run"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        make_folder(plan, folders[i]);
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        add(plan, STEP_FILE)->to = mem_dup(relative(devices[i]));
        attach(plan, device_slots[i], devices[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        if (has_folder_in(spec, links[i][1]))
            continue;
        struct step *link = add(plan, STEP_SYMLINK);
        link->from = mem_dup(links[i][0]);
        link->to = mem_dup(links[i][1]);
    }
    make_folder(plan, "var/hidden");
    add(plan, STEP_FILE)->to = mem_dup(relative(PLAN_HIDDEN_FILE));
    add(plan, STEP_CLOSED)->to = mem_dup(relative(PLAN_HIDDEN_FOLDER));
    name_user(plan, spec);
    make_folder(plan, PLAN_HOME);
    struct step *home = add(plan, STEP_SCRATCH);
    home->bytes = spec->home_bytes;
    home->to = mem_dup(relative(PLAN_HOME));
    for (size_t i = 0; i < spec->n_shown; i++) {
        if (shown_slots[i] < 0)
            continue;
        make_folder(plan, spec->shown[i]);
        attach(plan, shown_slots[i], spec->shown[i]);
    }
}

void plan_make(const struct cell_spec *spec, const struct place *places, size_t n_places,
               const char *staging, struct plan *ret)
{
    int root_slots[ROOTS_MAX];
    int place_slots[PLACES_MAX];
    int device_slots[ARRAY_LEN(devices)];
    int shown_slots[SHOWN_MAX];
    *ret = (struct plan){0};
    add(ret, STEP_PRIVATE);
    /* All copies first: once a tmpfs covers the staging folder, what lay beneath is out of reach. */
    for (size_t i = 0; i < spec->n_roots; i++)
        root_slots[i] = clone_tree(ret, spec->roots[i].host, (int)i, !spec->roots[i].writable);
    for (size_t i = 0; i < n_places && i < PLACES_MAX; i++)
        place_slots[i] = places[i].kind == PLACE_FOLDER ? clone_tree(ret, places[i].path, -1, true)
                                                        : -1;
    if (spec->commands)
        clone_for_commands(ret, spec, places, n_places, device_slots, shown_slots);
    add(ret, STEP_TMPFS)->to = mem_dup(staging);
    for (size_t i = 0; i < n_places && i < PLACES_MAX; i++)
        attach_system(ret, &places[i], place_slots[i]);
    if (spec->commands)
        attach_for_commands(ret, spec, device_slots, shown_slots);
    for (size_t i = 0; i < spec->n_roots; i++) {
        make_folder(ret, spec->roots[i].inside);
        attach(ret, root_slots[i], spec->roots[i].inside);
        if (spec->roots[i].protect)
            protect(ret, &spec->roots[i]);
    }
    /* Commands have one each, which the kernel lets them mount because this one is there. */
    if (n_places) {
        make_folder(ret, "proc");
        add(ret, STEP_PROC)->to = mem_dup("proc");
    }
    add(ret, STEP_PIVOT);
    add(ret, STEP_SEAL);
    if (spec->commands) {
        /* Now that they cannot be written to any more, and links lead nowhere but into the cell. */
        cover(ret, spec, "/etc/passwd", PLAN_PASSWD);
        cover(ret, spec, "/etc/group", PLAN_GROUP);
    }
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

void plan_print(const struct plan *plan, struct buf *out)
{
    static const char *const names[] = {
        [STEP_PRIVATE] = "private", [STEP_CLONE] = "clone",     [STEP_TMPFS] = "tmpfs",
        [STEP_MKDIR] = "mkdir",     [STEP_SYMLINK] = "symlink", [STEP_FILE] = "file",
        [STEP_CLOSED] = "closed",   [STEP_SCRATCH] = "scratch", [STEP_ATTACH] = "attach",
        [STEP_PIN] = "pin",         [STEP_PROC] = "proc",       [STEP_PIVOT] = "pivot",
        [STEP_SEAL] = "seal",       [STEP_TEXT] = "text",       [STEP_COVER] = "cover",
    };
    for (size_t i = 0; i < plan->count; i++) {
        const struct step *s = &plan->steps[i];
        buf_add_text(out, names[s->kind]);
        if (s->slot >= 0)
            buf_addf(out, " #%d", s->slot);
        if (s->from && s->kind != STEP_TEXT)
            buf_addf(out, " %s", s->from);
        if (s->to)
            buf_addf(out, " -> %s", s->to);
        if (s->readonly)
            buf_add_text(out, " ro");
        buf_add_char(out, '\n');
    }
}

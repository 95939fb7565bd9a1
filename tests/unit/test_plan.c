#include <cmocka.h>

#include "cell/own_path.h"
#include "cell/plan.h"
#include "json_text.h"
#include "random.h"

static struct cell_root root(const char *host, const char *inside, bool writable,
                             const char *protect)
{
    return (struct cell_root){.host = mem_dup(host),
                              .inside = mem_dup(inside),
                              .writable = writable,
                              .commands = true,
                              .protect = mem_dup(protect)};
}

static void prints(const struct cell_spec *spec, const struct place *places, size_t n,
                   const char *expected)
{
    struct plan plan;
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    plan_make(spec, places, n, "/tmp", &plan);
    plan_print(&plan, &text);
    plan_done(&plan);
    assert_string_equal(buf_text(&text), expected);
}

static void one_folder(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 1};
    spec.roots[0] = root("/home/u/w", "/workspace", true, NULL);
    prints(&spec, NULL, 0,
           "private\n"
           "clone #0 /home/u/w\n"
           "tmpfs -> /tmp\n"
           "mkdir -> workspace\n"
           "attach #0 -> workspace\n"
           "pivot\n"
           "seal\n");
}

static void a_folder_beneath_an_overlay(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 2};
    spec.roots[0] = root("/home/u/w", "/project", true, NULL);
    spec.roots[1] = root("/srv/state", "/state", true, NULL);
    spec.layer = root("/var/layer", "", true, NULL);
    prints(&spec, NULL, 0,
           "private\n"
           "clone #0 /home/u/w ro\n"
           "clone #1 /srv/state\n"
           "clone #2 /var/layer\n"
           "tmpfs -> /tmp\n"
           "mkdir -> project\n"
           "mkdir -> state\n"
           "overlay #0 #2 -> project\n"
           "attach #1 -> state\n"
           "pivot\n"
           "seal\n");
}

static void three_folders_and_protected_logs(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 3};
    spec.roots[0] = root("/srv/project", "/project", true, NULL);
    spec.roots[1] = root("/srv/pkg", "/pkg", false, NULL);
    spec.roots[2] = root("/tmp/state", "/state", true, "logs");
    prints(&spec, NULL, 0,
           "private\n"
           "clone #0 /srv/project\n"
           "clone #1 /srv/pkg ro\n"
           "clone #2 /tmp/state\n"
           "tmpfs -> /tmp\n"
           "mkdir -> project\n"
           "mkdir -> pkg\n"
           "mkdir -> state\n"
           "attach #0 -> project\n"
           "attach #1 -> pkg\n"
           "attach #2 -> state\n"
           "pin -> state/logs ro\n"
           "pivot\n"
           "seal\n");
}

/* The run's folder lies in the project: its logs are kept by both names, and so is the way there. */
/* A mount on a path that goes through one of the cell's own links would land where the link leads. */
static void a_folder_where_a_link_would_be(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 1, .commands = true};
    struct plan plan;
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    spec.roots[0] = root("/var/tmp/w", "/var/tmp/w", true, NULL);
    plan_make(&spec, NULL, 0, "/tmp", &plan);
    plan_print(&plan, &text);
    plan_done(&plan);
    assert_null(strstr(buf_text(&text), "symlink /tmp -> var/tmp\n"));
    assert_non_null(strstr(buf_text(&text), "symlink /tmp -> dev/shm\n"));
    assert_non_null(strstr(buf_text(&text), "mkdir -> var/tmp/w\nattach #0 -> var/tmp/w\n"));
}

static void logs_within_the_project(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 2};
    spec.roots[0] = root("/srv/project", "/project", true, "runs/7/logs");
    spec.roots[1] = root("/srv/project/runs/7", "/state", true, "logs");
    prints(&spec, NULL, 0,
           "private\n"
           "clone #0 /srv/project\n"
           "clone #1 /srv/project/runs/7\n"
           "tmpfs -> /tmp\n"
           "mkdir -> project\n"
           "mkdir -> state\n"
           "attach #0 -> project\n"
           "pin -> project/runs\n"
           "pin -> project/runs/7\n"
           "pin -> project/runs/7/logs ro\n"
           "attach #1 -> state\n"
           "pin -> state/logs ro\n"
           "pivot\n"
           "seal\n");
}

/* Places are few, so that only what is for commands makes the list long. */
static void a_cell_for_commands(void **state)
{
    (void)state;
    CLEANUP(spec_done)
    struct cell_spec spec = {
        .n_roots = 1, .commands = true, .uid = 1000, .gid = 100, .home_bytes = 1, .n_shown = 2};
    static const struct place places[] = {{"/usr", PLACE_FOLDER, ""},
                                          {"/etc", PLACE_FOLDER, ""},
                                          {"/bin", PLACE_LINK, "usr/bin"},
                                          {"/lib64", PLACE_ABSENT, ""}};
    spec.roots[0] = root("/home/u/w", "/workspace", true, NULL);
    spec.shown[0] = mem_dup("/home/u/.rustup");
    spec.shown[1] = mem_dup("/usr/share"); /* which is there anyway */
    prints(&spec, places, ARRAY_LEN(places),
           "private\n"
           "clone #0 /home/u/w\n"
           "clone #1 /usr ro\n"
           "clone #2 /etc ro\n"
           "clone #3 /dev/null\n"
           "clone #4 /dev/zero\n"
           "clone #5 /dev/full\n"
           "clone #6 /dev/random\n"
           "clone #7 /dev/urandom\n"
           "clone #8 /dev/tty\n"
           "clone #9 /home/u/.rustup ro\n"
           "proc #10\n"
           "tmpfs -> /tmp\n"
           "mkdir -> usr\n"
           "mkdir -> etc\n"
           "symlink usr/bin -> bin\n"
           "mkdir -> dev/pts\n"
           "mkdir -> tmp\n"
           "mkdir -> var\n"
           "mkdir -> run\n"
           "mkdir -> proc\n"
           "mkdir -> home/agent\n"
           "file -> dev/null\n"
           "file -> dev/zero\n"
           "file -> dev/full\n"
           "file -> dev/random\n"
           "file -> dev/urandom\n"
           "file -> dev/tty\n"
           "symlink /proc/self/fd -> dev/fd\n"
           "symlink /proc/self/fd/0 -> dev/stdin\n"
           "symlink /proc/self/fd/1 -> dev/stdout\n"
           "symlink /proc/self/fd/2 -> dev/stderr\n"
           "symlink pts/ptmx -> dev/ptmx\n"
           "symlink /tmp -> dev/shm\n"
           "symlink /tmp -> var/tmp\n"
           "mkdir -> var/hidden\n"
           "mkdir -> var/denied\n"
           "mkdir -> var/points\n"
           "file -> var/hidden/file\n"
           "closed -> var/hidden/folder\n"
           "text -> var/passwd\n"
           "text -> var/group\n"
           "mkdir -> home/u/.rustup\n"
           "mkdir -> workspace\n"
           "attach #0 -> workspace\n"
           "pivot\n"
           "seal\n"
           "worker\n"
           "attach #1 -> usr\n"
           "attach #2 -> etc\n"
           "attach #3 -> dev/null\n"
           "attach #4 -> dev/zero\n"
           "attach #5 -> dev/full\n"
           "attach #6 -> dev/random\n"
           "attach #7 -> dev/urandom\n"
           "attach #8 -> dev/tty\n"
           "scratch -> home/agent\n"
           "attach #9 -> home/u/.rustup\n"
           "attach #10 -> proc\n"
           "cover /var/passwd -> /etc/passwd\n"
           "cover /var/group -> /etc/group\n");
}

static void plan_text(const struct cell_spec *spec, const struct place *places, size_t n,
                      struct buf *out)
{
    struct plan plan;
    plan_make(spec, places, n, "/tmp", &plan);
    plan_print(&plan, out);
    plan_done(&plan);
}

static void holds(struct buf *text, const char *part)
{
    if (!strstr(buf_text(text), part))
        fail_msg("no %s in\n%s", part, buf_text(text));
}

/* What is mounted for commands would cover them: they are taken before and put on top. */
static void folders_in_a_machines_places(void **state)
{
    (void)state;
    static const char *const covered[] = {"/opt/app/w", "/home/u/tools/w", "/home/agent/w"};
    static const struct place places[] = {{"/usr", PLACE_FOLDER, ""}, {"/opt", PLACE_FOLDER, ""}};
    for (size_t i = 0; i < ARRAY_LEN(covered); i++) {
        CLEANUP(spec_done)
        struct cell_spec spec = {.n_roots = 2, .commands = true, .n_shown = 1};
        BUF_AT_END struct buf text = BUF_INIT(1u << 20);
        spec.roots[0] = root("/home/u/w", "/workspace", true, NULL);
        spec.roots[1] = root(covered[i], covered[i], true, NULL);
        spec.shown[0] = mem_dup("/home/u/tools");
        plan_text(&spec, places, ARRAY_LEN(places), &text);
        FREE_AT_END char *kept = mem_format("seal\nworker\nkeep #12 %s\nattach #2 -> usr\n",
                                            covered[i] + 1);
        bool in_home = strncmp(covered[i], PLAN_HOME, strlen(PLAN_HOME)) == 0;
        FREE_AT_END char *made = mem_format("scratch -> home/agent\n%s%s%s",
                                            in_home ? "mkdir -> " : "",
                                            in_home ? covered[i] + 1 : "", in_home ? "\n" : "");
        FREE_AT_END char *put = mem_format("attach #11 -> proc\nattach #12 -> %s\ncover",
                                           covered[i] + 1);
        holds(&text, kept);
        holds(&text, made);
        holds(&text, put);
    }
}

/* One that is such a place itself has it for its own. */
static void a_folder_that_is_a_machines_place(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 2, .commands = true};
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    static const struct place places[] = {{"/usr", PLACE_FOLDER, ""},
                                          {"/nix/store", PLACE_FOLDER, ""}};
    spec.roots[0] = root("/nix", "/nix", true, NULL);
    spec.roots[1] = root("/home", "/home", true, NULL);
    plan_text(&spec, places, ARRAY_LEN(places), &text);
    holds(&text, "attach #2 -> usr\n");
    assert_null(strstr(buf_text(&text), "store"));
    assert_null(strstr(buf_text(&text), "scratch"));
    assert_null(strstr(buf_text(&text), "keep"));
}

/* Folders that commands do not have are gone for them, and take nothing with them. */
static void folders_for_file_tools_alone(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 3, .commands = true};
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    static const struct place places[] = {{"/etc", PLACE_FOLDER, ""}};
    spec.roots[0] = root("/etc", "/etc", false, NULL);
    spec.roots[1] = root("/home", "/home", true, NULL);
    spec.roots[2] = root("/home/u/w", "/home/u/w", true, NULL);
    spec.roots[0].commands = spec.roots[1].commands = false;
    plan_text(&spec, places, ARRAY_LEN(places), &text);
    holds(&text, "worker\n"
                 "keep #11 home/u/w\n"
                 "leave -> etc\n"
                 "leave -> home\n"
                 "attach #3 -> etc\n");
    holds(&text, "scratch -> home/agent\n"
                 "attach #10 -> proc\n"
                 "attach #11 -> home/u/w\n"
                 "cover /var/passwd -> /etc/passwd\n");
}

static void a_folder_behind_a_link(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 1, .commands = true};
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    static const struct place places[] = {{"/usr", PLACE_FOLDER, ""},
                                          {"/lib", PLACE_LINK, "usr/lib"}};
    spec.roots[0] = root("/lib/x/y", "/lib/x/y", true, "kept");
    plan_text(&spec, places, ARRAY_LEN(places), &text);
    holds(&text, "mkdir -> usr/lib/x/y\n"
                 "attach #0 -> usr/lib/x/y\n"
                 "pin -> usr/lib/x/y/kept ro\n");
    holds(&text, "keep #9 usr/lib/x/y\n");
}

/* A folder for commands alone that lies in one of the cell's: the cell's is what is seen. */
static void shown_in_a_folder(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 1, .commands = true, .n_shown = 1};
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    spec.roots[0] = root("/home/u/w", "/workspace", true, NULL);
    spec.shown[0] = mem_dup("/workspace/tools");
    plan_text(&spec, NULL, 0, &text);
    assert_null(strstr(buf_text(&text), "tools"));
}

/* In tests of the other walls there is none between commands' folders and the worker. */
static void a_worker_that_sees_all(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 1, .commands = true, .system = true};
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    static const struct place places[] = {{"/usr", PLACE_FOLDER, ""}};
    spec.roots[0] = root("/home/u/w", "/workspace", true, NULL);
    plan_text(&spec, places, ARRAY_LEN(places), &text);
    assert_null(strstr(buf_text(&text), "worker"));
    holds(&text, "seal\nattach #1 -> usr\n");
}

static const struct step *step_at(const struct plan *plan, enum step_kind kind, const char *to)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].kind == kind && plan->steps[i].to && strcmp(plan->steps[i].to, to) == 0)
            return &plan->steps[i];
    }
    return NULL;
}

static void a_name_for_the_user(void **state)
{
    (void)state;
    CLEANUP(spec_done)
    struct cell_spec spec = {
        .n_roots = 1, .commands = true, .uid = 1000, .gid = 100, .home_bytes = 1};
    struct plan plan;
    spec.roots[0] = root("/home/u/w", "/workspace", true, NULL);
    plan_make(&spec, NULL, 0, "/tmp", &plan);
    const struct step *step = step_at(&plan, STEP_TEXT, "var/passwd");
    const char *users = step ? step->from : "";
    assert_ptr_equal(strstr(users, "agent:x:1000:100::/home/agent:/bin/bash\n"), users);
    step = step_at(&plan, STEP_TEXT, "var/group");
    const char *groups = step ? step->from : "";
    assert_ptr_equal(strstr(groups, "agent:x:100:\n"), groups);
    assert_non_null(step_at(&plan, STEP_COVER, "/etc/passwd"));
    plan_done(&plan);
    /* An operator who gives /etc to a session means the machine's own files. */
    spec_done(&spec);
    spec = (struct cell_spec){.n_roots = 1, .commands = true, .uid = 1000, .gid = 100};
    spec.roots[0] = root("/etc", "/etc", true, NULL);
    plan_make(&spec, NULL, 0, "/tmp", &plan);
    assert_null(step_at(&plan, STEP_COVER, "/etc/passwd"));
    plan_done(&plan);
}

static void random_spec(struct cell_spec *spec, struct place *places, size_t *ret_places)
{
    *spec = (struct cell_spec){.n_roots = 1 + random_below(ROOTS_MAX), .commands = random_below(2)};
    for (size_t i = 0; i < spec->n_roots; i++) {
        static const char *const above[] = {"", "", "/opt", "/usr/src", "/home/agent", "/home/u"};
        FREE_AT_END char *host = mem_format("/host/%zu", i);
        static const char *const whole[] = {"/nix", "/home", "/etc", "/dev"};
        FREE_AT_END char *inside = spec->n_roots == 1 && random_below(2)
                                       ? mem_dup(whole[random_below(4)])
                                       : mem_format("%s/inside%zu/x", above[random_below(6)], i);
        static const char *const kept[] = {NULL, NULL, "kept", "some/way/to/kept"};
        spec->roots[i] = root(host, inside, random_below(2), kept[random_below(4)]);
        spec->roots[i].commands = random_below(3) > 0;
    }
    *ret_places = random_below(2) ? 0 : random_below(PLACES_MAX + 1);
    for (size_t i = 0; i < *ret_places; i++) {
        const char *path = plan_system_paths[i % 10];
        /* Those that a root may lie in are no links. */
        bool link = path[1] == 'b' || path[1] == 's' || path[1] == 'l';
        places[i] = (struct place){path, (enum place_kind)random_below(link ? 3 : 2), "usr/bin"};
    }
    static const char *const shown[] = {"/home/u", "/home/u/tools", "/usr/share", "/inside0/x/in"};
    while (spec->commands && spec->n_shown < SHOWN_MAX && random_below(2))
        spec->shown[spec->n_shown++] = mem_dup(shown[random_below(4)]);
}

static size_t position(const struct plan *plan, enum step_kind kind)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].kind == kind)
            return i;
    }
    fail_msg("a step of kind %d is missing", (int)kind);
    return 0;
}

static size_t how_many(const struct plan *plan, enum step_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++)
        count += plan->steps[i].kind == kind;
    return count;
}

static bool is_root_slot(const struct plan *plan, int slot)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].slot == slot && plan->steps[i].kind != STEP_ATTACH)
            return plan->steps[i].root >= 0 || plan->steps[i].kind == STEP_KEEP;
    }
    return false;
}

/* The folders of the cell are what is seen at their places, whatever else is attached. */
static void check_roots_on_top(const struct plan *plan, const struct cell_spec *spec)
{
    for (size_t r = 0; r < spec->n_roots; r++) {
        const char *inside = spec->roots[r].inside;
        bool seen = false;
        bool commands = spec->roots[r].commands || !spec->commands;
        for (size_t i = 0; i < plan->count; i++) {
            const struct step *s = &plan->steps[i];
            if (s->kind == STEP_KEEP && strcmp(s->from, inside + 1) == 0)
                assert_true(seen && commands);
            if (s->kind == STEP_LEAVE && strcmp(s->to, inside + 1) == 0) {
                assert_true(seen && !commands);
                seen = false;
            }
            if (s->kind != STEP_ATTACH && s->kind != STEP_SCRATCH)
                continue;
            FREE_AT_END char *at = mem_format("/%s", s->to);
            if (s->kind == STEP_ATTACH && strcmp(at, inside) == 0)
                seen = is_root_slot(plan, s->slot);
            else if (path_rest(inside, at))
                seen = false;
            /* Nothing else is laid over a part of it. */
            else if (!is_root_slot(plan, s->slot) && commands)
                assert_null(path_rest(at, inside));
        }
        assert_int_equal(seen, commands);
    }
}

static void check_order(const struct plan *plan, bool commands)
{
    assert_int_equal(plan->steps[0].kind, STEP_PRIVATE);
    assert_int_equal(how_many(plan, STEP_PIVOT), 1);
    size_t pivot = position(plan, STEP_PIVOT);
    size_t worker = pivot + 2;
    assert_int_equal(plan->steps[pivot + 1].kind, STEP_SEAL);
    assert_int_equal(how_many(plan, STEP_WORKER), commands);
    assert_true(commands ? plan->steps[worker].kind == STEP_WORKER : plan->count == worker);
    assert_int_equal(how_many(plan, STEP_SEAL), 1);
    assert_int_equal(how_many(plan, STEP_TMPFS), 1);
    assert_int_equal(how_many(plan, STEP_PRIVATE), 1);
    size_t tmpfs = position(plan, STEP_TMPFS);
    for (size_t i = 0; i < plan->count; i++) {
        const struct step *s = &plan->steps[i];
        /* What is the host's is taken before its paths are covered; everything made lies in the cell. */
        if (s->kind == STEP_CLONE)
            assert_int_equal(s->from[0] == '/', i < tmpfs);
        if (s->kind == STEP_MKDIR || s->kind == STEP_ATTACH || s->kind == STEP_SYMLINK ||
            s->kind == STEP_PIN) {
            assert_true(i > tmpfs);
            assert_true(s->to[0] != '/' && s->to[0] != '\0');
        }
        /* A sealed root takes no new names. */
        bool in_home = s->kind == STEP_MKDIR &&
                       strncmp(s->to, &PLAN_HOME[1], strlen(PLAN_HOME) - 1) == 0;
        if ((s->kind == STEP_MKDIR && !in_home) || s->kind == STEP_SYMLINK ||
            s->kind == STEP_FILE || s->kind == STEP_CLOSED || s->kind == STEP_TEXT)
            assert_true(i < pivot);
        /* The kernel lets it be made only where the host's is still seen. */
        if (s->kind == STEP_PROC)
            assert_true(i < tmpfs);
        /* What the worker sees is the cell's folders and nothing else. */
        if (s->kind == STEP_ATTACH && i < worker)
            assert_true(is_root_slot(plan, s->slot));
        if (s->kind == STEP_SCRATCH || s->kind == STEP_COVER || s->kind == STEP_KEEP ||
            s->kind == STEP_LEAVE)
            assert_true(i > worker);
    }
}

static void check_rights(const struct plan *plan, const struct cell_spec *spec)
{
    bool taken[2 * ROOTS_MAX + PLACES_MAX + SHOWN_MAX + 8] = {0};
    size_t writable = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct step *s = &plan->steps[i];
        if (s->kind == STEP_CLONE || s->kind == STEP_PROC || s->kind == STEP_KEEP) {
            assert_false(taken[s->slot]);
            taken[s->slot] = true;
            if (s->kind == STEP_CLONE && !s->readonly && !s->device) {
                assert_true(s->root >= 0 && spec->roots[s->root].writable);
                assert_string_equal(s->from, spec->roots[s->root].host);
                writable++;
            }
        }
        /* A slot is filled before it is used, and used once. */
        if (s->kind == STEP_ATTACH) {
            assert_true(taken[s->slot]);
            taken[s->slot] = false;
        }
    }
    size_t expected = 0;
    for (size_t i = 0; i < spec->n_roots; i++)
        expected += spec->roots[i].writable;
    assert_int_equal(writable, expected);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        assert_false(taken[i]);
}

/* A protected folder is covered after the folder it lies in is there. */
static void check_protection(const struct plan *plan, const struct cell_spec *spec)
{
    for (size_t r = 0; r < spec->n_roots; r++) {
        if (!spec->roots[r].protect)
            continue;
        FREE_AT_END char *kept = mem_format("%s/%s", spec->roots[r].inside + 1,
                                            spec->roots[r].protect);
        size_t inside = strlen(spec->roots[r].inside + 1);
        bool root_there = false;
        size_t pinned = inside; /* so much of the path is */
        for (size_t i = 0; i < plan->count; i++) {
            const struct step *s = &plan->steps[i];
            root_there |= s->kind == STEP_ATTACH && strcmp(s->to, spec->roots[r].inside + 1) == 0;
            if (s->kind != STEP_PIN || strncmp(s->to, kept, inside + 1) != 0)
                continue;
            size_t n = strlen(s->to);
            assert_true(root_there);
            assert_true(strncmp(s->to, kept, n) == 0 && n > pinned);
            /* No folder of the way is left out. */
            assert_null(memchr(kept + pinned + 1, '/', n - pinned - 1));
            assert_int_equal(s->readonly, kept[n] == '\0');
            pinned = n;
        }
        assert_int_equal(pinned, strlen(kept));
    }
}

static void holds_for_every_cell(void **state)
{
    (void)state;
    random_begin();
    for (unsigned round = 0; round < random_rounds(1000); round++) {
        CLEANUP(spec_done) struct cell_spec spec;
        struct place places[PLACES_MAX];
        size_t n_places;
        struct plan plan;
        random_spec(&spec, places, &n_places);
        plan_make(&spec, places, n_places, "/tmp", &plan);
        check_order(&plan, spec.commands);
        check_rights(&plan, &spec);
        check_protection(&plan, &spec);
        check_roots_on_top(&plan, &spec);
        assert_int_equal(how_many(&plan, STEP_PROC), spec.commands);
        plan_done(&plan);
    }
}

static void a_folder_at_its_own_path(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 1, .commands = true};
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    spec.roots[0] = root("/srv/w", "/srv/w", true, NULL);
    spec.roots[0].also[0] = mem_dup("/home/u/link");
    spec.roots[0].also[1] = mem_dup("/workspace");
    plan_text(&spec, NULL, 0, &text);
    holds(&text, "mkdir -> home/u/\nsymlink /srv/w -> home/u/link\nsymlink /srv/w -> workspace\n");
    holds(&text, "mkdir -> srv/w\nattach #0 -> srv/w\n");
}

/* What lies there, and what commands have a file system of their own at, has no link. */
static void names_without_a_link(void **state)
{
    (void)state;
    static const char *const names[] = {"/tmp/link", "/usr/link", "/var/tmp/link", "/shown/link",
                                        "/srv",      "/srv/w/in", "/proc/1/cwd",   "/run"};
    static const struct place places[] = {{"/usr", PLACE_FOLDER, ""}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(spec_done)
        struct cell_spec spec = {.n_roots = 1, .commands = true, .n_shown = 1};
        BUF_AT_END struct buf text = BUF_INIT(1u << 20);
        spec.roots[0] = root("/srv/w", "/srv/w", true, NULL);
        spec.roots[0].also[0] = mem_dup(names[i]);
        spec.shown[0] = mem_dup("/shown");
        plan_text(&spec, places, 1, &text);
        if (strstr(buf_text(&text), "symlink /srv/w"))
            fail_msg("%s is a link", names[i]);
    }
}

/* Commands write in their home: what they could rename there is a mount point. */
static void the_way_to_folders_in_the_home(void **state)
{
    (void)state;
    CLEANUP(spec_done) struct cell_spec spec = {.n_roots = 1, .commands = true, .n_shown = 2};
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    spec.roots[0] = root("/home/agent/a/b/w", "/home/agent/a/b/w", true, NULL);
    spec.roots[0].also[0] = mem_dup("/home/agent/link");
    spec.shown[0] = mem_dup("/home/agent/a/tools");
    spec.shown[1] = mem_dup("/home/agent/a/tools/more");
    plan_text(&spec, NULL, 0, &text);
    holds(&text, "scratch -> home/agent\n"
                 "mkdir -> home/agent/a/tools\n"
                 "mkdir -> home/agent/a/tools/more\n"
                 "mkdir -> home/agent/a/b/w\n"
                 "pin -> home/agent/a\n"
                 "pin -> home/agent/a/b\n"
                 "mkdir -> home/agent/\n"
                 "symlink /home/agent/a/b/w -> home/agent/link\n");
}

static void paths_that_are_free(void **state)
{
    (void)state;
    static const char *const free_ones[] = {"/srv",   "/home/u/w", "/home/agent/w", "/tmp/w",
                                            "/opt/w", "/root",     "/var/www",      "/usr/src/w",
                                            "/run/w", "/usrlocal", "/workspace"};
    static const char *const taken[] = {
        "/",    "/usr",  "/usr/src", "/usr/local/lib", "/etc/w",      "/bin",
        "/tmp", "/home", "/dev/shm", "/proc/1",        "/home/agent", "/nix",
        "/opt", "/run",  "/var",     "/var/hidden/w",  "/.sandgate",  "/sys"};
    for (size_t i = 0; i < ARRAY_LEN(free_ones); i++) {
        if (!own_path_is_free(free_ones[i]))
            fail_msg("%s is taken", free_ones[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        if (own_path_is_free(taken[i]))
            fail_msg("%s is free", taken[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_folder),
        cmocka_unit_test(a_folder_beneath_an_overlay),
        cmocka_unit_test(three_folders_and_protected_logs),
        cmocka_unit_test(logs_within_the_project),
        cmocka_unit_test(a_cell_for_commands),
        cmocka_unit_test(folders_in_a_machines_places),
        cmocka_unit_test(a_folder_that_is_a_machines_place),
        cmocka_unit_test(folders_for_file_tools_alone),
        cmocka_unit_test(a_folder_behind_a_link),
        cmocka_unit_test(shown_in_a_folder),
        cmocka_unit_test(a_worker_that_sees_all),
        cmocka_unit_test(a_name_for_the_user),
        cmocka_unit_test(holds_for_every_cell),
        cmocka_unit_test(a_folder_where_a_link_would_be),
        cmocka_unit_test(a_folder_at_its_own_path),
        cmocka_unit_test(names_without_a_link),
        cmocka_unit_test(the_way_to_folders_in_the_home),
        cmocka_unit_test(paths_that_are_free),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}

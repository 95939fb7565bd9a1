/* OP_QUARANTINE moves what a scan found, and nothing that has taken its place. */
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/guard.h"
#include "work/guard_read.h"
#include "work_parts.h"

static struct beneath_root roots[2];

static int both_set_up(void **state)
{
    static const char rules[] = "P.git\0P.envrc\0P.vscode/\0S*.key\0";
    struct err err;
    if (work_set_up(state) < 0 || mkdir("store", 0700) < 0)
        return -1;
    roots[0] = root;
    roots[1] = (struct beneath_root){open("store", O_PATH | O_DIRECTORY | O_CLOEXEC), "/store",
                                     "/store", true};
    work.roots = roots;
    work.n_roots = 2;
    work.guard = guard_new((struct str){rules, sizeof rules - 1}, &err);
    return work.guard ? 0 : -1;
}

static int both_tear_down(void **state)
{
    close(roots[1].fd);
    guard_unref(TAKE_PTR(work.guard));
    return work_tear_down(state);
}

#define BOTH(name) cmocka_unit_test_setup_teardown(name, both_set_up, both_tear_down)

static struct op_guarded found(const char *path, enum guarded_kind kind)
{
    struct statx st;
    char whole[256];
    snprintf(whole, sizeof whole, "w/%s", path);
    assert_int_equal(folder_stat(AT_FDCWD, whole, &st), 0);
    struct tree_id id = folder_id(&st);
    return (struct op_guarded){.kind = kind,
                               .type = work_file_type(st.stx_mode),
                               .path = {path, strlen(path)},
                               .id = tree_identity(&id)};
}

static struct op_quarantine_reply quarantine(const struct op_guarded *what)
{
    static unsigned number;
    char tag[16];
    BUF_AT_END struct buf body = BUF_INIT(1 << 16);
    union op_reply reply = {0};
    struct err err = {0};
    op_guarded_add(&body, what);
    snprintf(tag, sizeof tag, "t%u", number++);
    union op_request q = {.quarantine = {.path = what->path,
                                         .tag = {tag, strlen(tag)},
                                         .store = 1,
                                         .git = what->kind == GUARDED_GIT,
                                         .closed = what->kind == GUARDED_SECRET}};
    buf_reset(&work.body, 1 << 16);
    if (work_quarantine(&work, &q, buf_str(&body), &reply, &err) < 0)
        fail_msg("%s", err.message);
    return reply.quarantine;
}

static void assert_holds(const char *path, const char *expected)
{
    char text[64] = "";
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fd_read_upto(fd, text, sizeof text - 1) >= 0);
    assert_string_equal(text, expected);
}

static void test_moved(void **state)
{
    (void)state;
    put("w/.envrc", "agent");
    struct op_guarded what = found(".envrc", GUARDED_PROTECTED);
    assert_int_equal(quarantine(&what).outcome, QUARANTINE_MOVED);
    assert_false(is_there("w/.envrc"));
}

static void test_replaced(void **state)
{
    (void)state;
    put("w/.envrc", "agent");
    struct op_guarded what = found(".envrc", GUARDED_PROTECTED);
    put("w/new", "host");
    assert_int_equal(rename("w/new", "w/.envrc"), 0);
    assert_int_equal(quarantine(&what).outcome, QUARANTINE_OTHER);
    assert_holds("w/.envrc", "host");
}

static void test_replaced_folders(void **state)
{
    (void)state;
    static const char *const names[] = {".git", "bare"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[64];
        snprintf(path, sizeof path, "w/%s", names[i]);
        assert_int_equal(mkdir(path, 0755), 0);
        struct op_guarded what = found(names[i], GUARDED_GIT);
        assert_int_equal(rename(path, "w/away") | mkdir(path, 0755), 0);
        snprintf(path, sizeof path, "w/%s/HEAD", names[i]);
        put(path, "host");
        assert_int_equal(quarantine(&what).outcome, QUARANTINE_OTHER);
        assert_holds(path, "host");
        assert_int_equal(rmdir("w/away"), 0);
    }
}

static void test_not_known(void **state)
{
    (void)state;
    put("w/.envrc", "host");
    struct op_guarded what = found(".envrc", GUARDED_PROTECTED);
    struct op_guarded other = what;
    other.id.inode = 0;
    assert_int_equal(quarantine(&other).outcome, QUARANTINE_OTHER);
    other = what;
    other.id.born_ns++;
    assert_int_equal(quarantine(&other).outcome, QUARANTINE_OTHER);
    other = what;
    other.type = TYPE_DIRECTORY;
    assert_int_equal(quarantine(&other).outcome, QUARANTINE_OTHER);
    assert_holds("w/.envrc", "host");
}

static atomic_bool stop;

static void *swap(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop))
        renameat2(AT_FDCWD, "w/.envrc", AT_FDCWD, "w/other", RENAME_EXCHANGE);
    return NULL;
}

/* However the two are exchanged meanwhile, the one that was not found is there afterwards. */
static void test_exchanged(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        pthread_t thread;
        put("w/.envrc", "agent");
        put("w/other", "host");
        struct op_guarded what = found(".envrc", GUARDED_PROTECTED);
        atomic_store(&stop, false);
        assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
        struct op_quarantine_reply reply = quarantine(&what);
        atomic_store(&stop, true);
        pthread_join(thread, NULL);
        assert_true(reply.outcome == QUARANTINE_MOVED || reply.outcome == QUARANTINE_OTHER);
        bool moved = reply.outcome == QUARANTINE_MOVED;
        assert_int_equal(is_there("w/.envrc") + is_there("w/other"), moved ? 1 : 2);
        if (moved)
            assert_holds(is_there("w/.envrc") ? "w/.envrc" : "w/other", "host");
        unlink("w/.envrc");
        unlink("w/other");
    }
}

static void put_folders(const char *const *paths)
{
    for (; *paths; paths++)
        assert_int_equal(mkdir(*paths, 0755), 0);
}

static bool tells(const char *path, enum guarded_kind kind)
{
    struct op_guarded entry;
    for (struct str rest = buf_str(&work.body); op_guarded_next(&rest, &entry) > 0;) {
        if (str_is(entry.path, path) && entry.kind == kind)
            return true;
    }
    return false;
}

/* Of a folder that is covered as a whole, what git would find in it is told. */
static void test_inside(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "w/app.key",      "w/app.key/.git",         "w/app.key/a",         "w/app.key/a/b",
        "w/app.key/bare", "w/app.key/bare/objects", "w/app.key/bare/refs", "w/app.key/closed",
        "w/sub",          "w/sub/.vscode",          "w/sub/.vscode/.GIT",  NULL};
    put_folders(paths);
    put("w/app.key/a/b/.git", "gitdir: ../x");
    put("w/app.key/bare/HEAD", "x");
    assert_int_equal(chmod("w/app.key/closed", 0), 0);
    struct op_guarded what = found("app.key", GUARDED_SECRET);
    struct op_quarantine_reply reply = quarantine(&what);
    assert_int_equal(reply.outcome, QUARANTINE_LEFT);
    assert_false(reply.unchecked);
    assert_true(tells("app.key/.git", GUARDED_GIT));
    assert_true(tells("app.key/a/b/.git", GUARDED_PROTECTED));
    assert_true(tells("app.key/bare", GUARDED_GIT));
    assert_true(geteuid() == 0 || tells("app.key/closed", GUARDED_SECRET));
    what = found("sub/.vscode", GUARDED_PROTECTED);
    assert_int_equal(quarantine(&what).outcome, QUARANTINE_LEFT);
    assert_true(tells("sub/.vscode/.GIT", GUARDED_GIT));
}

static void test_too_deep(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w/app.key", 0755), 0);
    put_deep("w/app.key", 100);
    struct op_guarded what = found("app.key", GUARDED_SECRET);
    assert_true(quarantine(&what).unchecked);
}

#define ASIDE "sandgate-quarantine-0000000000000007"

static int resume(const struct op_guarded *what, union op_reply *reply, struct err *err)
{
    BUF_AT_END struct buf body = BUF_INIT(1 << 16);
    op_guarded_add(&body, what);
    union op_request q = {.quarantine = {.path = what->path,
                                         .tag = STR("t"),
                                         .store = 1,
                                         .aside = 7,
                                         .since_ns = 1,
                                         .resume = true}};
    buf_reset(&work.body, 1 << 16);
    return work_quarantine(&work, &q, buf_str(&body), reply, err);
}

/* As a move leaves it that was cut off: d/.envrc has its name aside. */
static struct op_guarded cut_off_move(void)
{
    assert_int_equal(mkdir("w/d", 0755) | chmod("store", 0777), 0);
    put("w/d/" ASIDE, "agent");
    struct op_guarded what = found("d/" ASIDE, GUARDED_PROTECTED);
    what.path = STR("d/.envrc");
    return what;
}

static int resume_closed(const struct op_guarded *what, union op_reply *reply, struct err *err)
{
    uid_t user = geteuid();
    assert_int_equal(chmod("w/d", 0), 0);
    assert_int_equal(user == 0 ? seteuid(65534) : 0, 0);
    int r = resume(what, reply, err);
    assert_int_equal(user == 0 ? seteuid(0) : 0, 0);
    assert_int_equal(chmod("w/d", 0755), 0);
    return r;
}

/* A look that fails does not say that there is nothing. */
static void test_resume_closed(void **state)
{
    (void)state;
    union op_reply reply;
    struct err err;
    struct op_guarded what = cut_off_move();
    assert_int_equal(resume_closed(&what, &reply, &err), -1);
    assert_int_equal(err.code, ERR_PERMISSION_DENIED);
    assert_int_equal(resume(&what, &reply, &err), 0);
    assert_int_equal(reply.quarantine.outcome, QUARANTINE_MOVED);
    assert_false(is_there("w/d/" ASIDE));
}

/* Nor does one at what was to be removed behind a whole copy. */
static void test_resume_stored(void **state)
{
    (void)state;
    union op_reply reply;
    struct err err;
    struct op_guarded what = cut_off_move();
    assert_int_equal(mkdir("store/quarantine", 0777) | chmod("store/quarantine", 0777), 0);
    assert_int_equal(mkdir("store/quarantine/t", 0777) | chmod("store/quarantine/t", 0777), 0);
    assert_int_equal(resume_closed(&what, &reply, &err), 0);
    assert_int_equal(reply.quarantine.outcome, QUARANTINE_MOVED);
    assert_true(reply.quarantine.rest);
    assert_int_equal(resume(&what, &reply, &err), 0);
    assert_int_equal(reply.quarantine.outcome, QUARANTINE_MOVED);
    assert_false(reply.quarantine.rest);
    assert_false(is_there("w/d/" ASIDE));
}

/* The copy was cut off, and its user has taken away what was copied. */
static void test_resume_part(void **state)
{
    (void)state;
    union op_reply reply;
    struct err err;
    struct op_guarded what = cut_off_move();
    assert_int_equal(mkdir("store/quarantine", 0700) | mkdir("store/quarantine/t.part", 0700), 0);
    put("store/quarantine/t.part/.envrc", "age");
    assert_int_equal(unlink("w/d/" ASIDE), 0);
    assert_int_equal(resume(&what, &reply, &err), 0);
    assert_int_equal(reply.quarantine.outcome, QUARANTINE_LEFT);
    assert_false(is_there("store/quarantine/t.part"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_moved),     BOTH(test_replaced),  BOTH(test_replaced_folders),
        BOTH(test_not_known), BOTH(test_exchanged), BOTH(test_inside),
        BOTH(test_too_deep),  BOTH(test_resume_closed), BOTH(test_resume_stored),
        BOTH(test_resume_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a scan finds before a command is started. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "work/guard_trees.h"
#include "work_parts.h"

static const char *const kinds[] = {"protected", "secret", "socket", "git", "way"};

static void put_at(const char *path)
{
    FREE_AT_END char *copy = mem_format("w/%s", path);
    for (char *slash = copy + 2; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        assert_true(mkdir(copy, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    if (copy[strlen(copy) - 1] != '/')
        put(copy, "x");
}

static struct guard_trees trees;

static int guarded_set_up(void **state)
{
    static const char rules[] = "P.git\0P/.ssh\0P.claude/settings.json\0S/config/token\0"
                                "Sid_rsa\0S.env\0S.env.*\0S!.env.example\0S*.key\0Svault/";
    struct err err;
    if (work_set_up(state) < 0)
        return -1;
    work.guard = guard_new((struct str){rules, sizeof rules}, &err);
    if (mkdir("store", 0700) < 0)
        return -1;
    guard_trees_init(&trees, open("store", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    work.trees = &trees;
    return work.guard ? 0 : -1;
}

static int guarded_tear_down(void **state)
{
    close(trees.store);
    guard_trees_done(&trees);
    guard_unref(TAKE_PTR(work.guard));
    return work_tear_down(state);
}

#define GUARDED(name) cmocka_unit_test_setup_teardown(name, guarded_set_up, guarded_tear_down)

/* As another worker would begin, with what this one has saved. */
static void start_anew(void)
{
    int store = trees.store;
    guard_trees_done(&trees);
    guard_trees_init(&trees, store);
}

static int try_scan(const struct op_scan_request *request, union op_reply *reply, struct err *err)
{
    union op_request q = {.scan = *request};
    q.scan.path = STR(".");
    if (!q.scan.max_entries)
        q.scan.max_entries = 100000;
    if (!q.scan.max_guarded)
        q.scan.max_guarded = 10000;
    buf_reset(&work.body, 1 << 16);
    /* Watching goes to other folders. */
    FD_AT_END int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = work_scan(&work, &q, STR(""), reply, err);
    assert_int_equal(fchdir(here), 0);
    return r;
}

/* A line for each that was found; those that are fresh have a star. */
static struct op_scan_reply scan_since(int64_t since, bool watch, struct buf *ret)
{
    union op_reply reply = {0};
    struct err err;
    struct op_guarded found;
    int64_t count = 0;
    int r;
    buf_reset(ret, 1 << 16);
    if (try_scan(&(struct op_scan_request){.since = since, .watch = watch}, &reply, &err) < 0)
        fail_msg("%s", err.message);
    struct str rest = buf_str(&work.body);
    for (; (r = op_guarded_next(&rest, &found)) > 0; count++)
        buf_addf(ret, "%s %s %.*s%s\n", kinds[found.kind], file_type_names[found.type],
                 (int)found.path.n, found.path.p, found.fresh ? " *" : "");
    assert_int_equal(r, 0);
    assert_int_equal(count, reply.scan.count);
    return reply.scan;
}

static struct op_scan_reply scan(struct buf *ret)
{
    return scan_since(INT64_MAX, false, ret);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The order within a folder is the file system's. */
static void assert_found(struct buf *found, const char *const *expected, size_t count)
{
    char *lines[64];
    size_t n = 0;
    char *text = (char *)(uintptr_t)buf_text(found);
    for (char *line = strtok(text, "\n"); line && n < ARRAY_LEN(lines); line = strtok(NULL, "\n"))
        lines[n++] = line;
    qsort(lines, n, sizeof *lines, compare_lines);
    for (size_t i = 0; i < n || i < count; i++) {
        const char *got = i < n ? lines[i] : "nothing";
        const char *wanted = i < count ? expected[i] : "nothing";
        if (strcmp(got, wanted) != 0)
            fail_msg("%s, not %s", got, wanted);
    }
}

static void assert_scan(const char *const *expected, size_t count)
{
    BUF_AT_END struct buf found = BUF_INIT(1 << 20);
    scan(&found);
    assert_found(&found, expected, count);
}
#define ASSERT_SCAN(...)                                                                           \
    assert_scan((const char *const[]){__VA_ARGS__},                                                \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void everything_named_is_found(void **state)
{
    (void)state;
    static const char *const there[] = {
        ".git/hooks/a",
        ".git/HEAD",
        ".git/objects/x.key",
        "sub/.git/config",
        ".ssh/id_rsa",
        ".ssh/config",
        "app/.env",
        "app/.env.local",
        "app/.env.example",
        "vault/a/b",
        "vault/c.key",
        "node_modules/m/.env",
        "objects/a.key",
        "plain/file",
        "d/vault",
        "config/token",
        "config/other",
        "x/.claude/settings.json",
        "x/.claude/other",
        "1/2/3/4/5/6/7/8/9/10/11/.env",
        "__pycache__/.env",
    };
    static const char *const expected[] = {
        "git directory .git",
        "git directory sub/.git",
        "protected directory .ssh",
        "protected file x/.claude/settings.json",
        "secret directory vault",
        "secret file .git/objects/x.key",
        "secret file .ssh/id_rsa",
        "secret file 1/2/3/4/5/6/7/8/9/10/11/.env",
        "secret file __pycache__/.env",
        "secret file app/.env",
        "secret file app/.env.local",
        "secret file config/token",
        "secret file node_modules/m/.env",
        "secret file objects/a.key",
        "secret file plain/file", /* where l.key leads */
        "secret symlink l.key",
        "socket other app/socket",
        "way directory config",
        "way directory x/.claude",
    };
    for (size_t i = 0; i < ARRAY_LEN(there); i++)
        put_at(there[i]);
    put_link("w/l.key", "plain/file");
    put_link("w/out", "../out");
    FD_AT_END int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "w/app/socket"};
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_scan(expected, ARRAY_LEN(expected));
}

static void git_directories_are_found_by_what_they_hold(void **state)
{
    (void)state;
    static const char *const there[] = {
        "bare/HEAD",           "bare/objects/",
        "bare/refs/",          "half/HEAD",
        "half/refs/",          "tree/",
        "meta/x/HEAD",         "common/config",
        "deep/bare.git/HEAD",  "deep/bare.git/objects/",
        "deep/bare.git/refs/", "module/",
        ".git/modules/m/HEAD",
    };
    for (size_t i = 0; i < ARRAY_LEN(there); i++)
        put_at(there[i]);
    put("w/tree/.git", "gitdir: ../meta/x\n");
    put("w/meta/x/commondir", "../../common\n");
    put("w/module/.git", "gitdir: /workspace/.git/modules/m\n");
    ASSERT_SCAN("git directory .git", "git directory bare", "git directory common",
                "git directory deep/bare.git", "git directory meta/x", "protected file module/.git",
                "protected file tree/.git");
    put("w/tree/.git", "gitdir: ../../outside\n");
    put("w/module/.git", "no such thing");
    put_at("other"); /* so that the folder has changed */
    ASSERT_SCAN("git directory .git", "git directory bare", "git directory common",
                "git directory deep/bare.git", "git directory meta/x", "protected file module/.git",
                "protected file tree/.git");
}

static void a_root_that_is_a_bare_repository(void **state)
{
    (void)state;
    put_at("HEAD");
    put_at("objects/");
    put_at("refs/");
    put_at("hooks/post-update");
    put_at("src/a.c");
    ASSERT_SCAN("protected directory hooks", "protected directory objects",
                "protected directory refs", "protected file HEAD");
}

/* Root may read everything. */
static void be_nobody(void)
{
    if (geteuid() != 0)
        return;
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(chown("w", 65534, 65534), 0);
    assert_int_equal(chown("store", 65534, 65534), 0);
    assert_int_equal(seteuid(65534), 0);
}

static void what_cannot_be_read_is_covered_as_a_whole(void **state)
{
    (void)state;
    uid_t user = geteuid();
    be_nobody();
    struct err err;
    union op_reply reply;
    static const mode_t modes[] = {0, 0111, 0444, 0222, 0333};
    put_at("a/b/.env");
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        assert_int_equal(chmod("w/a/b", modes[i]), 0);
        ASSERT_SCAN("secret directory a/b");
        assert_int_equal(chmod("w/a/b", 0755), 0);
        ASSERT_SCAN("secret file a/b/.env");
    }
    assert_int_equal(chmod("w", 0111), 0);
    int r = try_scan(&(struct op_scan_request){0}, &reply, &err);
    assert_int_equal(chmod("w", 0755), 0);
    assert_int_equal(r, -1);
    assert_int_equal(err.code, ERR_PERMISSION_DENIED);
    ASSERT_SCAN("secret file a/b/.env");
    assert_int_equal(seteuid(user), 0);
}

static void limits_are_told(void **state)
{
    (void)state;
    struct err err;
    union op_reply reply;
    for (int i = 0; i < 50; i++) {
        FREE_AT_END char *path = mem_format("a/%d.key", i);
        put_at(path);
    }
    assert_int_equal(try_scan(&(struct op_scan_request){.max_entries = 51}, &reply, &err), 0);
    assert_int_equal(reply.scan.count, 50);
    put_at("b");
    assert_int_equal(try_scan(&(struct op_scan_request){.max_entries = 51}, &reply, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_int_equal(try_scan(&(struct op_scan_request){.max_guarded = 50}, &reply, &err), 0);
    put_at("c.key");
    assert_int_equal(try_scan(&(struct op_scan_request){.max_guarded = 50}, &reply, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_int_equal(try_scan(&(struct op_scan_request){.max_guarded = 51}, &reply, &err), 0);
    assert_int_equal(reply.scan.count, 51);
    /* The scan after a command takes more of them than a command may start with, and then nothing changes. */
    const struct op_scan_request more = {.max_guarded = 51, .watch = true};
    assert_int_equal(try_scan(&more, &reply, &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(try_scan(&(struct op_scan_request){.max_guarded = 50}, &reply, &err), -1);
        assert_int_equal(err.code, ERR_TOO_LARGE);
        assert_int_equal(try_scan(&(struct op_scan_request){.max_guarded = 51}, &reply, &err), 0);
    }
}

static void assert_refused(const char *why)
{
    struct err err;
    union op_reply reply;
    start_anew();
    assert_int_equal(try_scan(&(struct op_scan_request){0}, &reply, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    if (!strstr(err.message, why))
        fail_msg("%s", err.message);
}

/* A pattern in the place of a program: the message says what was too many. */
static void patterns_are_bounded(void **state)
{
    (void)state;
    struct err err;
    union op_reply reply;
    put_at(".git/objects/");
    put_at(".git/refs/");
    put("w/.git/HEAD", "ref: refs/heads/main\n");
    put("w/.git/config", "[core]\nfsmonitor = tools/w?\n");
    put_at("tools/");
    for (int i = 0; i < 20500; i++) {
        FREE_AT_END char *path = mem_format("tools/%d", i);
        if (i == 19000)
            assert_int_equal(try_scan(&(struct op_scan_request){0}, &reply, &err), 0);
        put_at(path);
    }
    assert_refused("by a pattern");
    assert_refused("20000");
}

/* Folders in a folder that is guarded as a whole, and those that links in it lead to. */
static void depth_is_bounded(void **state)
{
    (void)state;
    struct err err;
    union op_reply reply;
    char path[256] = "vault/";
    for (int i = 1; i < 32; i++)
        memcpy(path + strlen(path), "d/", 3);
    put_at(path);
    assert_int_equal(try_scan(&(struct op_scan_request){0}, &reply, &err), 0);
    memcpy(path + strlen(path), "d/", 3);
    put_at(path);
    assert_refused("more than 32 folders");
    assert_int_equal(rename("w/vault", "out/vault"), 0);
    put_at("vault/");
    put_link("w/vault/l", "../f1");
    for (int i = 1; i < 40; i++) {
        FREE_AT_END char *made = mem_format("f%d/", i);
        FREE_AT_END char *link = mem_format("w/f%d/l", i);
        FREE_AT_END char *next = mem_format("../f%d", i + 1);
        put_at(made);
        put_link(link, next);
    }
    assert_refused("more than 32 folders");
    assert_int_equal(unlink("w/f31/l"), 0);
    assert_int_equal(try_scan(&(struct op_scan_request){0}, &reply, &err), 0);
}

/* No descriptors are left: nothing is said to be open that was not looked at. */
static void a_scan_that_fails_says_so(void **state)
{
    (void)state;
    struct err err;
    union op_reply reply;
    struct rlimit before;
    put_at("a/b/.env");
    put_at("c/.env");
    FD_AT_END int last = open(".", O_PATH | O_CLOEXEC);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    /* One for where the test is, none for a folder. */
    struct rlimit few = {(rlim_t)last + 2, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int r = try_scan(&(struct op_scan_request){0}, &reply, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, -1);
    assert_int_equal(err.code, ERR_SESSION_BUSY);
    ASSERT_SCAN("secret file a/b/.env", "secret file c/.env");
}

/* Each change is seen by a scan that watches, by one that looks at times, and by another worker. */
static void assert_seen(const char *const *expected, size_t count)
{
    for (int i = 0; i < 2; i++) {
        assert_scan(expected, count);
        start_anew();
    }
    assert_scan(expected, count);
}
#define ASSERT_SEEN(...)                                                                           \
    assert_seen((const char *const[]){__VA_ARGS__},                                                \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void changes_are_seen(bool watch)
{
    BUF_AT_END struct buf found = BUF_INIT(1 << 20);
    put_at("a/b/c/.env");
    put_at("z/file");
    scan(&found);
    if (watch)
        scan_since(0, true, &found);
    assert_int_equal(trees.roots[0].watch.complete, watch);
    put_at("z/new/deep/.env");
    ASSERT_SEEN("secret file a/b/c/.env", "secret file z/new/deep/.env");
    if (watch)
        scan_since(0, true, &found);
    assert_int_equal(rename("w/a", "w/z/moved"), 0);
    ASSERT_SEEN("secret file z/moved/b/c/.env", "secret file z/new/deep/.env");
    if (watch)
        scan_since(0, true, &found);
    put_at("z/moved/b/c/later.key");
    assert_int_equal(unlink("w/z/new/deep/.env"), 0);
    ASSERT_SEEN("secret file z/moved/b/c/.env", "secret file z/moved/b/c/later.key");
    if (watch)
        scan_since(0, true, &found);
    /* Another folder of the same name. */
    put_at("other/b/c/x.key");
    assert_int_equal(rename("w/z/moved", "w/z/gone"), 0);
    assert_int_equal(rename("w/other", "w/z/moved"), 0);
    ASSERT_SEEN("secret file z/gone/b/c/.env", "secret file z/gone/b/c/later.key",
                "secret file z/moved/b/c/x.key");
}

static void changes_are_seen_by_times(void **state)
{
    (void)state;
    changes_are_seen(false);
}

static void changes_are_seen_by_watching(void **state)
{
    (void)state;
    changes_are_seen(true);
}

static void what_was_guarded_stays_so_where_it_is_moved(void **state)
{
    (void)state;
    put_at("config/token");
    put_at("x/.claude/settings.json");
    ASSERT_SCAN("protected file x/.claude/settings.json", "secret file config/token",
                "way directory config", "way directory x/.claude");
    assert_int_equal(rename("w/config", "w/x/conf"), 0);
    assert_int_equal(rename("w/x/.claude", "w/claude"), 0);
    ASSERT_SEEN("protected file claude/settings.json", "secret file x/conf/token");
    /* Somebody gives the file itself another name, or puts another one in its place. */
    assert_int_equal(rename("w/x/conf/token", "w/x/conf/example"), 0);
    assert_int_equal(unlink("w/claude/settings.json"), 0);
    put_at("claude/again");
    put("w/claude/settings.json", "x");
    put_at("config/token");
    ASSERT_SEEN("secret file config/token", "way directory config");
}

static void what_is_new_is_fresh(void **state)
{
    (void)state;
    BUF_AT_END struct buf found = BUF_INIT(1 << 20);
    static const char *const first[] = {"git directory a/.git", "secret file .env"};
    static const char *const second[] = {"git directory a/.git *", "git directory b/.git",
                                         "secret file .env", "secret file c/.env *"};
    static const char *const third[] = {"git directory a/.git", "git directory b/.git",
                                        "secret file .env", "secret file c/.env"};
    put_at("a/.git/config");
    put_at(".env");
    int64_t since = scan_since(0, false, &found).generation;
    assert_found(&found, first, ARRAY_LEN(first));
    assert_true(scan_since(since, false, &found).generation == since);
    /* A known one under another name is not new; another one in its place is. */
    assert_int_equal(rename("w/a", "w/b"), 0);
    put_at("a/.git/config");
    put_at("c/.env");
    /* An editor replaces a file. */
    put("w/saved", "x");
    assert_int_equal(rename("w/saved", "w/.env"), 0);
    struct op_scan_reply reply = scan_since(since, false, &found);
    assert_found(&found, second, ARRAY_LEN(second));
    scan_since(since, false, &found);
    assert_found(&found, second, ARRAY_LEN(second));
    scan_since(reply.generation, false, &found);
    assert_found(&found, third, ARRAY_LEN(third));
    union op_reply same;
    struct err err;
    assert_int_equal(
        try_scan(&(struct op_scan_request){.known = reply.generation, .since = reply.generation},
                 &same, &err),
        0);
    assert_true(same.scan.same);
    assert_int_equal(work.body.len, 0);
}

static int64_t scan_made(int64_t since, struct buf *ret)
{
    union op_reply reply = {0};
    struct err err;
    struct op_guarded found;
    buf_reset(ret, 1 << 16);
    /* Whatever has changed since 1970 may be a command's. */
    if (try_scan(&(struct op_scan_request){.since = since, .ran_ns = 1}, &reply, &err) < 0)
        fail_msg("%s", err.message);
    for (struct str rest = buf_str(&work.body); op_guarded_next(&rest, &found) > 0;)
        buf_addf(ret, "%s %s %.*s%s%s\n", kinds[found.kind], file_type_names[found.type],
                 (int)found.path.n, found.path.p, found.fresh ? " *" : "",
                 found.replaced ? " replaced" : "");
    return reply.scan.generation;
}
#define ASSERT_MADE(...)                                                                           \
    do {                                                                                           \
        BUF_AT_END struct buf lines = BUF_INIT(1 << 20);                                           \
        since = scan_made(since, &lines);                                                          \
        assert_found(&lines, (const char *const[]){__VA_ARGS__},                                   \
                     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *));                 \
    } while (0)

static void a_link_is_known_only_where_it_is(void **state)
{
    (void)state;
    int64_t since = 0;
    put_at("a/b/x");
    put_at("c/x");
    put_link("w/a/.git", "b");
    ASSERT_MADE("protected directory a/b", "protected symlink a/.git");
    assert_int_equal(rename("w/a", "w/d"), 0);
    ASSERT_MADE("protected directory d/b", "protected symlink d/.git");
    assert_int_equal(rename("w/d/.git", "w/c/.git"), 0);
    ASSERT_MADE("protected directory d/b", "protected symlink c/.git *");
    assert_int_equal(unlink("w/c/.git"), 0);
    put_link("w/c/.git", "../d/b");
    ASSERT_MADE("protected directory d/b", "protected symlink c/.git *");
}

static void what_takes_the_place_is_of_the_same_type(void **state)
{
    (void)state;
    int64_t since = 0;
    put_at("a/.git");
    put_at("b/.git");
    ASSERT_MADE("protected file a/.git", "protected file b/.git");
    assert_int_equal(unlink("w/a/.git") | unlink("w/b/.git"), 0);
    put_at("a/again");
    put_at("a/.git");
    put_at("b/.git/x");
    ASSERT_MADE("git directory b/.git *", "protected file a/.git replaced");
    ASSERT_MADE("git directory b/.git", "protected file a/.git");
}

/* With more entries than are looked through on the way. */
static void a_large_folder_behind_a_way_is_guarded_as_a_whole(void **state)
{
    (void)state;
    static const char *const expected[] = {"protected directory k", "way symlink config"};
    put_at("x");
    put_at("k/");
    put_link("w/config", "k");
    FD_AT_END int dir = open("w/k", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i <= 50010; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(linkat(AT_FDCWD, "w/x", dir, name, 0), 0);
    }
    assert_scan(expected, ARRAY_LEN(expected));
}

static void a_link_that_was_made_hides_nothing(void **state)
{
    (void)state;
    int64_t since = 0;
    put_at("src/x");
    put_at("k/token");
    put_at(".git/HEAD");
    put_link("w/b.key", ".git");
    put_link("w/config", "k");
    ASSERT_MADE("git directory .git", "secret file k/token", "secret symlink b.key",
                "way symlink config");
    put_link("w/a.key", "src");
    ASSERT_MADE("git directory .git", "secret file k/token", "secret symlink a.key *",
                "secret symlink b.key", "way symlink config");
    start_anew();
    ASSERT_SCAN("git directory .git", "secret file k/token", "secret symlink a.key",
                "secret symlink b.key", "way symlink config");
    /* What the user's link led to stays; nobody has made this one anew while a command ran. */
    assert_int_equal(unlink("w/config") | unlink("w/a.key"), 0);
    put_link("w/a.key", "src");
    ASSERT_SCAN("git directory .git", "secret directory src", "secret file k/token",
                "secret symlink a.key", "secret symlink b.key");
}

static void of_several_links_the_strongest_counts(void **state)
{
    (void)state;
    put_at("k/token");
    put_at("d/x");
    put_at("e/x");
    put_link("w/config", "k");
    put_link("w/z.key", "k");
    put_link("w/.ssh", "d");
    put_link("w/a.key", "d");
    put_link("w/b.key", "e");
    ASSERT_SCAN("protected symlink .ssh", "secret directory d", "secret directory e",
                "secret directory k", "secret file k/token", "secret symlink a.key",
                "secret symlink b.key", "secret symlink z.key", "way symlink config");
}

static void paths_that_are_too_long_are_covered_further_up(void **state)
{
    (void)state;
    BUF_AT_END struct buf found = BUF_INIT(1 << 20);
    char name[201];
    memset(name, 'd', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    int at[41] = {open("w", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    for (size_t i = 0; i + 1 < ARRAY_LEN(at); i++) {
        assert_int_equal(mkdirat(at[i], name, 0755), 0);
        at[i + 1] = openat(at[i], name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(at[i + 1] >= 0);
    }
    assert_int_equal(scan(&found).count, 1);
    assert_memory_equal(buf_text(&found), "secret directory ddd", 20);
    start_anew();
    assert_int_equal(scan(&found).count, 1);
    /* Others could not remove it by its path. */
    for (size_t i = ARRAY_LEN(at); i-- > 0;) {
        if (i + 1 < ARRAY_LEN(at))
            assert_int_equal(unlinkat(at[i], name, AT_REMOVEDIR), 0);
        close(at[i]);
    }
}

static void assert_damaged(void)
{
    union op_request q = {.scan = {.path = STR("."), .max_entries = 1000, .max_guarded = 1000}};
    union op_reply reply = {0};
    struct err err = {0};
    start_anew();
    buf_reset(&work.body, 1 << 16);
    assert_int_equal(work_scan(&work, &q, STR(""), &reply, &err), -1);
    assert_string_equal(err.reason, "state_damaged");
}

static void flip(int fd, off_t at)
{
    char byte;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

/* It may be all that tells of a secret that was moved. */
static void with_a_damaged_index_nothing_is_scanned(void **state)
{
    (void)state;
    put_at("config/token");
    put_at("a/.env");
    ASSERT_SCAN("secret file a/.env", "secret file config/token", "way directory config");
    FD_AT_END int fd = open("store/guards-0", O_RDWR | O_CLOEXEC);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t at = 0; at < st.st_size; at += 7) {
        flip(fd, at);
        assert_damaged();
        flip(fd, at);
    }
    start_anew();
    ASSERT_SCAN("secret file a/.env", "secret file config/token", "way directory config");
    for (off_t n = 0; n < st.st_size; n += 31) {
        assert_int_equal(ftruncate(fd, st.st_size - 1 - n), 0);
        assert_damaged();
    }
    assert_int_equal(unlink("store/guards-0"), 0);
    start_anew();
    ASSERT_SCAN("secret file a/.env", "secret file config/token", "way directory config");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GUARDED(everything_named_is_found),
        GUARDED(git_directories_are_found_by_what_they_hold),
        GUARDED(a_root_that_is_a_bare_repository),
        GUARDED(what_cannot_be_read_is_covered_as_a_whole),
        GUARDED(limits_are_told),
        GUARDED(patterns_are_bounded),
        GUARDED(depth_is_bounded),
        GUARDED(a_scan_that_fails_says_so),
        GUARDED(changes_are_seen_by_times),
        GUARDED(changes_are_seen_by_watching),
        GUARDED(what_was_guarded_stays_so_where_it_is_moved),
        GUARDED(what_is_new_is_fresh),
        GUARDED(a_link_is_known_only_where_it_is),
        GUARDED(what_takes_the_place_is_of_the_same_type),
        GUARDED(a_large_folder_behind_a_way_is_guarded_as_a_whole),
        GUARDED(a_link_that_was_made_hides_nothing),
        GUARDED(of_several_links_the_strongest_counts),
        GUARDED(paths_that_are_too_long_are_covered_further_up),
        GUARDED(with_a_damaged_index_nothing_is_scanned),
    };
    return cmocka_run_group_tests_name("guard_scan", tests, NULL, NULL);
}

/* Walks: the order, what is left out, and what happens meanwhile. */
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <sys/fsuid.h>

#include "work/walk.h"
#include "work_parts.h"

static char seen[100000];
static struct walk_stats stats;

static struct walk *start(const char *path, const struct walk_rules *rules)
{
    struct err err;
    struct walk *walk = walk_new(&root, path, rules, &cancelled, &err);
    if (!walk)
        fail_msg("%s", err.message);
    return walk;
}

/* What comes next, with a mark of its type behind it; NULL at the end. */
static const char *next(struct walk *walk)
{
    static char text[5000];
    struct walk_entry entry;
    struct err err;
    int r = walk_next(walk, &entry, &err);
    if (r < 0)
        fail_msg("%s", err.message);
    if (r == 0)
        return NULL;
    const char *last = memrchr(entry.path.p, '/', entry.path.n);
    assert_string_equal(entry.name, last ? last + 1 : entry.path.p);
    struct stat st;
    assert_int_equal(fstatat(entry.folder->fd, entry.name, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(IFTODT(st.st_mode), entry.type);
    snprintf(text, sizeof text, "%.*s%s", (int)entry.path.n, entry.path.p,
             entry.type == DT_DIR   ? "/"
             : entry.type == DT_LNK ? "@"
             : entry.type == DT_REG ? ""
                                    : "?");
    return text;
}

static void expect_in(const char *path, struct walk_rules rules, const char *expected)
{
    struct walk *walk = start(path, &rules);
    size_t n = 0;
    seen[0] = '\0';
    for (const char *text; (text = next(walk));)
        n += (size_t)snprintf(seen + n, sizeof seen - n, "%s%s", n ? " " : "", text);
    stats = *walk_stats(walk);
    walk_free(walk);
    assert_string_equal(seen, expected);
}

static void expect(struct walk_rules rules, const char *expected)
{
    expect_in(".", rules, expected);
}

/* Files with the folders that they are in. */
static void make(const char *const *paths)
{
    for (; *paths; paths++) {
        char path[500];
        snprintf(path, sizeof path, "w/%s", *paths);
        for (char *slash = path + 2; (slash = strchr(slash, '/')); slash++) {
            *slash = '\0';
            assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
            *slash = '/';
        }
        if (path[strlen(path) - 1] != '/')
            put(path, "");
    }
}

#define MAKE(...) make((const char *const[]){__VA_ARGS__, NULL})
#define ALL .recursive = true

static void names_are_sorted_by_their_bytes(void **state)
{
    (void)state;
    MAKE("b/x", "b.c", "b-", "B", "longer_name_2", "longer_name_1", "longer_n", "\xff", "\xc3\xa9",
         "a\nb", "a\tb", "a", "b/y/z");
    put_link("w/l", "b");
    assert_int_equal(mkfifo("w/p", 0600), 0);
    expect((struct walk_rules){ALL, .hidden = true},
           "B a a\tb a\nb b/ b/x b/y/ b/y/z b- b.c l@ longer_n longer_name_1 longer_name_2 p? "
           "\xc3\xa9 \xff");
    expect((struct walk_rules){0}, "B a a\tb a\nb b/ b- b.c l@ longer_n longer_name_1 "
                                   "longer_name_2 p? \xc3\xa9 \xff");
    expect((struct walk_rules){ALL, .files_only = true},
           "B a a\tb a\nb b/x b/y/z b- b.c longer_n longer_name_1 longer_name_2 \xc3\xa9 \xff");
    expect_in("b", (struct walk_rules){ALL, .skip_links = true}, "x y/ y/z");
    expect_in("b/y/..", (struct walk_rules){ALL}, "x y/ y/z");
    assert_false(stats.cut || stats.ignored || stats.unreadable);
}

static void many_names(void **state)
{
    (void)state;
    char path[50];
    for (int i = 0; i < 3000; i++) {
        snprintf(path, sizeof path, "w/some_name_that_is_long_%d", i * 7919 % 3000);
        put(path, "");
    }
    struct walk_rules rules = {ALL};
    struct walk *walk = start(".", &rules);
    char before[100] = "";
    int count = 0;
    for (const char *text; (text = next(walk)); count++) {
        assert_true(strcmp(before, text) < 0);
        snprintf(before, sizeof before, "%s", text);
    }
    walk_free(walk);
    assert_int_equal(count, 3000);
}

static void what_ignore_files_name(void **state)
{
    (void)state;
    MAKE("a.o", "a.c", "d/a.o", "d/keep.o", "d/e/keep.o", "build/x", "d/build/x", "d/top", "top");
    put("w/.gitignore", "*.o\nbuild/\n/top\n!build/x\n");
    put("w/d/.gitignore", "!keep.o\n/e\n");
    struct walk_rules rules = {ALL, .ignore = true};
    expect(rules, "a.c d/ d/keep.o d/top");
    assert_int_equal(stats.ignored, 6);
    rules.hidden = true;
    expect(rules, ".gitignore a.c d/ d/.gitignore d/keep.o d/top");
    rules = (struct walk_rules){.ignore = true};
    expect(rules, "a.c d/");
    rules = (struct walk_rules){ALL};
    expect(rules, "a.c a.o build/ build/x d/ d/a.o d/build/ d/build/x d/e/ d/e/keep.o d/keep.o "
                  "d/top top");
    assert_int_equal(stats.ignored, 0);
}

/* .ignore, .gitignore, .git/info/exclude, text: the first that says something, and of one kind the
 * deepest. */
static void which_file_decides(void **state)
{
    (void)state;
    MAKE("a", "b", "c", "d", "x/a", "x/b", "x/c", "x/d", ".git/info/exclude", ".git/config");
    put("w/.ignore", "!a\n");
    put("w/.gitignore", "a\nb\n!c\n");
    put("w/.git/info/exclude", "b\nc\n!d\n");
    struct walk_rules rules = {ALL, .ignore = true, .excludes = STR("d\nx/d\n")};
    expect(rules, "a c d x/ x/a x/c x/d");
    put("w/x/.gitignore", "a\n!b\nc\n");
    expect(rules, "a c d x/ x/a x/b x/d");
    put("w/x/.ignore", "a\nb\n");
    expect(rules, "a c d x/ x/d");
    put("w/.git/info/exclude", "");
    expect(rules, "a c x/");
    /* The text counts without ignore files too. */
    rules.ignore = false;
    expect(rules, "a b c x/ x/a x/b x/c");
}

static void files_of_the_folders_around(void **state)
{
    (void)state;
    MAKE("p/q/a", "p/q/b", "p/q/c", "p/q/d", "p/q/e", "p/.git/info/exclude");
    put("w/.gitignore", "a\n/p/q/b\n!c\n");
    put("w/p/.gitignore", "c\nq/d\n/e\nq/\n");
    put("w/p/.git/info/exclude", "/q/e\n");
    put_link("w/l", "p/q");
    struct walk_rules rules = {ALL, .ignore = true};
    expect_in("p/q", rules, "");
    assert_int_equal(stats.ignored, 5);
    expect_in("./p//q/../q/", rules, "");
    expect_in("l", rules, "b c d e");
    expect(rules, "l@ p/");
}

static void a_rule_that_keeps_shows_what_is_hidden(void **state)
{
    (void)state;
    MAKE(".a", ".b/x", ".b/.c", ".d/x", "e");
    put("w/.gitignore", "!.a\n!.b\n");
    expect((struct walk_rules){ALL, .ignore = true}, ".a .b/ .b/x e");
    expect((struct walk_rules){ALL, .ignore = true, .exclude = NULL, .files_only = true},
           ".a .b/x e");
    expect((struct walk_rules){ALL}, "e");
    put("w/.gitignore", ".a\n");
    expect((struct walk_rules){ALL, .ignore = true}, "e");
    assert_int_equal(stats.ignored, 0);
}

static void folders_of_others(void **state)
{
    (void)state;
    MAKE(".git/config", "node_modules/m", "x/node_modules/n", "x/.git/y", "z/.git");
    struct walk_rules rules = {ALL, .hidden = true};
    expect(rules, ".git/ .git/config node_modules/ node_modules/m x/ x/.git/ x/.git/y "
                  "x/node_modules/ x/node_modules/n z/ z/.git");
    rules.ignore = true;
    expect(rules, "node_modules/ node_modules/m x/ x/node_modules/ x/node_modules/n z/ z/.git");
    rules.files_only = true;
    expect(rules, "z/.git");
    rules.modules = true;
    expect(rules, "node_modules/m x/node_modules/n z/.git");
    rules.ignore = false;
    expect(rules, ".git/config node_modules/m x/.git/y x/node_modules/n z/.git");
    rules.modules = false;
    expect(rules, "z/.git");
    expect_in(".git", rules, "config");
    expect_in("node_modules", rules, "m");
}

/* Only regular files are read, and no link is followed to them. */
static void ignore_files_that_are_none(void **state)
{
    (void)state;
    MAKE("a", "f/a", "l/a", "d/.gitignore/", "d/a", "g/a", "m/a");
    put("out/rules", "a\n");
    put("w/rules", "a\n");
    put_link("w/l/.gitignore", "../rules");
    put_link("w/m/.gitignore", "../../out/rules");
    put_link("w/g/.git", "../../out");
    assert_int_equal(mkfifo("w/f/.gitignore", 0600), 0);
    expect((struct walk_rules){ALL, .ignore = true, .files_only = true},
           "a d/a f/a g/a l/a m/a rules");
    expect_in("f", (struct walk_rules){ALL, .ignore = true}, "a");
}

static void globs(void **state)
{
    (void)state;
    MAKE("a.c", "b/x.c", "b/y.h", "b/n/z.c", "c/x.c", ".k/x.c");
    struct err err;
    GLOB_AT_END struct glob *glob = glob_compile(STR("b/**/*.c"), false, &err);
    GLOB_AT_END struct glob *exclude = glob_compile(STR("n"), true, &err);
    expect((struct walk_rules){ALL, .glob = glob}, "b/n/z.c b/x.c");
    expect((struct walk_rules){ALL, .glob = glob, .exclude = exclude}, "b/x.c");
    expect((struct walk_rules){ALL, .exclude = exclude, .files_only = true},
           "a.c b/x.c b/y.h c/x.c");
}

static void what_cannot_be_read_is_counted(void **state)
{
    (void)state;
    MAKE("a/x", "b/x", "c/x", ".gitignore", "d/.gitignore", "d/x");
    put("w/d/.gitignore", "x\n");
    assert_int_equal(chmod("w/b", 0) | chmod("w/d/.gitignore", 0), 0);
    uid_t me = (uid_t)setfsuid(65534);
    expect((struct walk_rules){ALL, .ignore = true}, "a/ a/x b/ c/ c/x d/ d/x");
    setfsuid(me);
    assert_int_equal(stats.unreadable, 1);
    assert_int_equal(chmod("w/b", 0755), 0);
}

static void there_is_a_deepest(void **state)
{
    (void)state;
    MAKE("x/", "y");
    put_deep("w/x", 300);
    struct walk_rules rules = {ALL};
    struct walk *walk = start(".", &rules);
    int count = 0;
    bool y = false;
    for (const char *text; (text = next(walk)); count++)
        y |= strcmp(text, "y") == 0;
    assert_true(walk_stats(walk)->cut && y);
    assert_in_range(count, 190, 220);
    walk_free(walk);
}

static void links_lead_nowhere(void **state)
{
    (void)state;
    MAKE("d/x");
    put_link("w/d/up", "..");
    put_link("w/self", "self");
    put_link("w/out", "../out");
    expect((struct walk_rules){ALL}, "d/ d/up@ d/x out@ self@");
    expect((struct walk_rules){ALL, .files_only = true}, "d/x");
}

/* Between two entries the tree is turned into another. */
static void what_changes_meanwhile(void **state)
{
    (void)state;
    MAKE("a/x", "b/y", "c/z/1", "d/x", "e");
    struct walk_rules rules = {ALL};
    struct walk *walk = start(".", &rules);
    assert_string_equal(next(walk), "a/");
    assert_int_equal(unlink("w/a/x") | rmdir("w/a"), 0);
    assert_string_equal(next(walk), "b/");
    assert_int_equal(rename("w/b", "w/b2"), 0);
    put_link("w/b", "../out");
    assert_string_equal(next(walk), "c/");
    assert_string_equal(next(walk), "c/z/");
    /* It is out of the root now, but was opened when it was inside: nothing new is reached by name. */
    assert_int_equal(rename("w/c", "out/c"), 0);
    assert_string_equal(next(walk), "c/z/1");
    assert_string_equal(next(walk), "d/");
    assert_int_equal(unlink("w/d/x") | rmdir("w/d"), 0);
    put("w/d", "");
    assert_string_equal(next(walk), "e");
    assert_null(next(walk));
    assert_int_equal(walk_stats(walk)->unreadable, 0);
    walk_free(walk);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void a_folder_is_kept_while_in_use(void **state)
{
    (void)state;
    MAKE("a/x", "b/y");
    struct walk_rules rules = {ALL, .files_only = true};
    struct walk *walk = start(".", &rules);
    struct walk_entry entry;
    struct err err;
    assert_int_equal(walk_next(walk, &entry, &err), 1);
    struct walk_folder *kept = walk_folder_ref(entry.folder);
    assert_is_folder(kept->fd, "w/a");
    assert_int_equal(walk_next(walk, &entry, &err), 1);
    int second = entry.folder->fd;
    assert_is_folder(second, "w/b");
    assert_int_equal(walk_next(walk, &entry, &err), 0);
    assert_false(is_open(second));
    walk_free(walk);
    assert_is_folder(kept->fd, "w/a");
    int fd = kept->fd;
    walk_folder_unref(kept);
    assert_false(is_open(fd));
}

static void what_ends_it(void **state)
{
    (void)state;
    MAKE("a", "b/x", "c");
    struct err err = {0};
    struct walk_rules rules = {ALL};
    struct walk_entry entry;
    struct walk *walk = start(".", &rules);
    assert_string_equal(next(walk), "a");
    atomic_store(&cancelled, true);
    assert_int_equal(walk_next(walk, &entry, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    walk_free(walk);
    assert_null(walk_new(&root, ".", &rules, &cancelled, &err));
    assert_int_equal(err.code, ERR_CANCELLED);
    atomic_store(&cancelled, false);
    assert_null(walk_new(&root, "a", &rules, &cancelled, &err));
    assert_int_equal(err.code, ERR_NOT_A_DIRECTORY);
    assert_null(walk_new(&root, "../out", &rules, &cancelled, &err));
    assert_int_equal(err.code, ERR_SYMLINK_OUTSIDE_WORKSPACE);
    walk_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(names_are_sorted_by_their_bytes),
        WORK_TEST(many_names),
        WORK_TEST(what_ignore_files_name),
        WORK_TEST(which_file_decides),
        WORK_TEST(files_of_the_folders_around),
        WORK_TEST(a_rule_that_keeps_shows_what_is_hidden),
        WORK_TEST(folders_of_others),
        WORK_TEST(ignore_files_that_are_none),
        WORK_TEST(globs),
        WORK_TEST(what_cannot_be_read_is_counted),
        WORK_TEST(there_is_a_deepest),
        WORK_TEST(links_lead_nowhere),
        WORK_TEST(what_changes_meanwhile),
        WORK_TEST(a_folder_is_kept_while_in_use),
        WORK_TEST(what_ends_it),
    };
    return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}

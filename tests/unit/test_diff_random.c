/* Random pairs of texts: the diff, applied to the first, gives the second. */
#include <cmocka.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apply_diff.h"
#include "base/fd.h"
#include "folder.h"
#include "random.h"
#include "work/diff.h"

static void random_text(struct buf *out, size_t lines, size_t kinds)
{
    for (size_t i = 0; i < lines; i++)
        buf_addf(out, "%zu%s\n", random_below(kinds), random_below(6) ? "" : "\r");
    if (out->len && random_below(3) == 0)
        out->len--;
}

/* The same text with some lines taken out, put in or moved. */
static void change_text(struct str text, struct buf *out, size_t kinds)
{
    struct lines lines = {text, 0, 0};
    size_t often = 2 + random_below(30);
    while (lines.at < text.n) {
        struct str line = next_line(&lines);
        size_t what = random_below(often);
        if (what == 0)
            random_text(out, 1 + random_below(3), kinds);
        if (what != 1)
            buf_add(out, line.p, line.n);
    }
}

static void random_pair(struct buf *before, struct buf *after)
{
    size_t kinds = (size_t[]){2, 5, 50, 100000}[random_below(4)];
    random_text(before, random_below(random_below(20) ? 40 : 3000), kinds);
    if (random_below(4) == 0)
        random_text(after, random_below(40), kinds);
    else
        change_text(buf_str(before), after, kinds);
}

static void gives_the_second_text(void **state)
{
    (void)state;
    for (unsigned i = 0; i < random_rounds(10000); i++) {
        BUF_AT_END struct buf before = BUF_INIT(1 << 20);
        BUF_AT_END struct buf after = BUF_INIT(1 << 20);
        BUF_AT_END struct buf diff = BUF_INIT(1 << 20);
        BUF_AT_END struct buf made = BUF_INIT(1 << 20);
        random_pair(&before, &after);
        assert_false(diff_unified(buf_str(&before), buf_str(&after), "f", &diff));
        if (!apply_diff(buf_str(&before), buf_str(&diff), &made) || made.len != after.len ||
            (made.len && memcmp(made.data, after.data, made.len) != 0))
            fail_msg("round %u:\n%.*s", i, (int)diff.len, diff.data);
    }
}

/* By hand: the length of the longest common subsequence of two texts' lines. */
static size_t common_lines(struct str a, struct str b)
{
    static size_t best[100][100];
    struct lines left = {a, 0, 0};
    size_t i = 0;
    memset(best, 0, sizeof best);
    for (; left.at < a.n; i++) {
        struct str x = next_line(&left);
        struct lines right = {b, 0, 0};
        for (size_t j = 0; right.at < b.n; j++) {
            struct str y = next_line(&right);
            bool same = x.n == y.n && memcmp(x.p, y.p, x.n) == 0;
            size_t skip = best[i][j + 1] > best[i + 1][j] ? best[i][j + 1] : best[i + 1][j];
            best[i + 1][j + 1] = same ? best[i][j] + 1 : skip;
        }
    }
    size_t most = 0;
    for (size_t j = 0; j < 100; j++)
        most = best[i][j] > most ? best[i][j] : most;
    return most;
}

static size_t count_lines(struct str text, const char *with)
{
    struct lines lines = {text, 0, 0};
    size_t found = 0;
    while (lines.at < text.n) {
        found += starts(&lines, with);
        next_line(&lines);
    }
    return found;
}

static void is_as_short_as_can_be(void **state)
{
    (void)state;
    for (unsigned i = 0; i < random_rounds(2000); i++) {
        BUF_AT_END struct buf before = BUF_INIT(1 << 20);
        BUF_AT_END struct buf after = BUF_INIT(1 << 20);
        BUF_AT_END struct buf diff = BUF_INIT(1 << 20);
        random_text(&before, random_below(40), 4);
        random_text(&after, random_below(40), 4);
        assert_false(diff_unified(buf_str(&before), buf_str(&after), "f", &diff));
        if (diff.len == 0)
            continue;
        size_t common = common_lines(buf_str(&before), buf_str(&after));
        assert_int_equal(count_lines(buf_str(&diff), "-"),
                         1 + count_lines(buf_str(&before), "") - common);
        assert_int_equal(count_lines(buf_str(&diff), "+"),
                         1 + count_lines(buf_str(&after), "") - common);
    }
}

static void write_file(const char *name, struct str text)
{
    FD_AT_END int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text.p, text.n), 0);
}

static int run(const char *const *words)
{
    pid_t pid = fork();
    if (pid == 0) {
        execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_applied(const char *const *words, struct str before, struct str diff,
                          struct str after)
{
    static char made[1 << 20];
    write_file("my file", before);
    write_file("diff", diff);
    int status = run(words);
    if (status == 127)
        skip();
    FD_AT_END int fd = open("my file", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, made, sizeof made);
    if (status != 0 || n != (ssize_t)after.n || memcmp(made, after.p, after.n) != 0)
        fail_msg("%s ended with %d:\n%.*s", words[0], status, (int)diff.n, diff.p);
}

static void is_taken_by(const char *const *words)
{
    for (unsigned i = 0; i < random_rounds(60); i++) {
        BUF_AT_END struct buf before = BUF_INIT(1 << 20);
        BUF_AT_END struct buf after = BUF_INIT(1 << 20);
        BUF_AT_END struct buf diff = BUF_INIT(1 << 20);
        random_pair(&before, &after);
        assert_false(diff_unified(buf_str(&before), buf_str(&after), "my file", &diff));
        if (diff.len)
            check_applied(words, buf_str(&before), buf_str(&diff), buf_str(&after));
    }
}

static void is_taken_by_patch(void **state)
{
    (void)state;
    static const char *const words[] = {"patch",    "-p1", "-s",   "-F0",
                                        "--binary", "-i",  "diff", NULL};
    is_taken_by(words);
}

static void is_taken_by_git(void **state)
{
    (void)state;
    static const char *const words[] = {"git", "apply", "--whitespace=nowarn", "diff", NULL};
    /* The folder may be inside a repository, which is no concern of this. */
    setenv("GIT_DIR", "none", 1);
    is_taken_by(words);
}

static int set_up(void **state)
{
    (void)state;
    random_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_second_text),
        cmocka_unit_test(is_as_short_as_can_be),
        cmocka_unit_test_setup_teardown(is_taken_by_patch, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(is_taken_by_git, folder_set_up, folder_tear_down),
    };
    return cmocka_run_group_tests_name("diff_random", tests, set_up, NULL);
}

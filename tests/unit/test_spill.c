/* What is kept of long output: for how long, how much, and where. */
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "spill_parts.h"

static size_t entries(const char *path)
{
    size_t count = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static struct spill *started(const char *text)
{
    struct spill *spill = spill_open(&spills);
    spill_add(spill, STREAM_STDOUT, text_str(text));
    return spill;
}

/* A command that printed this; the id stays until the fourth one after it. */
static const char *finished(const char *text)
{
    static char ids[4][SPILL_ID_MAX];
    static unsigned next;
    char *id = ids[next++ % 4];
    spill_finish(started(text), id);
    return id;
}

static bool is_kept(const char *id)
{
    BUF_AT_END struct buf out = BUF_INIT(READ_MAX);
    struct spill_page page;
    return read_stream(id, STREAM_STDOUT, &out, &page) == 0;
}

static void expect(const char *id, enum stream stream, const char *text, int64_t total)
{
    BUF_AT_END struct buf out = BUF_INIT(READ_MAX);
    struct spill_page page;
    assert_int_equal(read_stream(id, stream, &out, &page), 0);
    assert_string_equal(buf_text(&out), text);
    assert_int_equal(page.kept, strlen(text));
    assert_int_equal(page.total, total);
    assert_false(page.running);
    assert_int_equal(page.complete, page.kept == page.total);
}

/* --- */

static void streams_are_kept_apart(void **state)
{
    (void)state;
    char id[SPILL_ID_MAX];
    begin(1000, 5000);
    struct spill *spill = spill_open(&spills);
    assert_false(spill_used(spill));
    spill_add(spill, STREAM_STDERR, STR("e1 "));
    spill_add(spill, STREAM_STDOUT, STR("o1 "));
    spill_add(spill, STREAM_STDERR, STR("e2"));
    spill_add(spill, STREAM_STDOUT, STR(""));
    spill_add(spill, STREAM_STDOUT, STR("o2"));
    assert_true(spill_used(spill));
    spill_finish(spill, id);
    assert_int_equal(strlen(id), strlen("out_7f3a9c21d4e8"));
    assert_memory_equal(id, "out_", 4);
    expect(id, STREAM_STDOUT, "o1 o2", 5);
    expect(id, STREAM_STDERR, "e1 e2", 5);
    /* The file has no name. */
    assert_int_equal(entries("."), 2);
    spills_done(&spills);
}

static void nothing_printed_needs_nothing(void **state)
{
    (void)state;
    char id[SPILL_ID_MAX] = "x";
    begin(1000, 5000);
    size_t open_files = entries("/proc/self/fd");
    struct spill *spill = spill_open(&spills);
    spill_add(spill, STREAM_STDOUT, STR(""));
    assert_int_equal(entries("/proc/self/fd"), open_files);
    spill_finish(spill, id);
    assert_string_equal(id, "");
    spills_done(&spills);
}

static void any_part_can_be_read(void **state)
{
    (void)state;
    static const char text[] = "0123456789";
    begin(100, 1000);
    const char *id = finished(text);
    for (int64_t offset = 0; offset < 14; offset++) {
        for (size_t max = 0; max < 14; max++) {
            BUF_AT_END struct buf out = BUF_INIT(100);
            struct spill_page page;
            struct err err;
            buf_add_text(&out, "->");
            assert_int_equal(
                spill_read(&spills, text_str(id), STREAM_STDOUT, offset, max, &out, &page, &err),
                0);
            char wanted[20];
            snprintf(wanted, sizeof wanted, "->%.*s", (int)max, offset < 10 ? text + offset : "");
            assert_string_equal(buf_text(&out), wanted);
        }
    }
    spills_done(&spills);
}

static void a_stream_has_its_limit(void **state)
{
    (void)state;
    char id[SPILL_ID_MAX];
    begin(5, 100);
    struct spill *spill = started("abc");
    spill_add(spill, STREAM_STDOUT, STR("def"));
    spill_add(spill, STREAM_STDOUT, STR("ghi"));
    spill_add(spill, STREAM_STDERR, STR("12345"));
    spill_finish(spill, id);
    expect(id, STREAM_STDOUT, "abcde", 9);
    expect(id, STREAM_STDERR, "12345", 5);
    spills_done(&spills);
}

static void the_first_to_end_goes_first(void **state)
{
    (void)state;
    char id[SPILL_ID_MAX];
    begin(10, 20);
    struct spill *slow = started("slow");
    const char *one = finished("one45678");
    const char *two = finished("two45678");
    spill_finish(slow, id); /* 20 bytes: full */
    assert_true(is_kept(one) && is_kept(two) && is_kept(id));
    const char *three = finished("3");
    assert_false(is_kept(one));
    assert_true(is_kept(two) && is_kept(id) && is_kept(three));
    const char *four = finished("four567890");
    assert_false(is_kept(two));
    expect(id, STREAM_STDOUT, "slow", 4);
    expect(three, STREAM_STDOUT, "3", 1);
    expect(four, STREAM_STDOUT, "four567890", 10);
    spills_done(&spills);
}

static void what_still_runs_stays(void **state)
{
    (void)state;
    char id[SPILL_ID_MAX];
    begin(10, 20);
    struct spill *a = started("aaaaaaaaaa");
    struct spill *b = started("bbbbbbb");
    struct spill *c = started("cccccc"); /* half of it fits */
    struct spill *d = started("d");
    spill_finish(d, id);
    assert_string_equal(id, "");
    spill_finish(c, id);
    expect(id, STREAM_STDOUT, "ccc", 6);
    /* The end of one is room for another. */
    spill_add(b, STREAM_STDOUT, STR("bb"));
    assert_false(is_kept(id));
    spill_finish(a, id);
    expect(id, STREAM_STDOUT, "aaaaaaaaaa", 10);
    spill_finish(b, id);
    expect(id, STREAM_STDOUT, "bbbbbbbbb", 9);
    spills_done(&spills);
}

static void a_running_one_can_be_read(void **state)
{
    (void)state;
    char id[SPILL_ID_MAX];
    struct spill_page page;
    BUF_AT_END struct buf out = BUF_INIT(100);
    begin(10, 20);
    struct spill *spill = started("so far");
    finished("another");
    assert_int_equal(read_stream(spill_id(spill), STREAM_STDOUT, &out, &page), 0);
    assert_string_equal(buf_text(&out), "so far");
    assert_true(page.running && !page.complete);
    assert_int_equal(page.kept, 6);
    spill_add(spill, STREAM_STDOUT, STR(" ."));
    spill_finish(spill, id);
    expect(id, STREAM_STDOUT, "so far .", 8);
    spills_done(&spills);
}

static void so_many_and_no_more(void **state)
{
    (void)state;
    char ids[SPILLS_MAX + 6][SPILL_ID_MAX];
    size_t open_files = entries("/proc/self/fd");
    begin(1000, 1000000);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        spill_finish(started("x"), ids[i]);
    assert_int_equal(entries("/proc/self/fd"), open_files + SPILLS_MAX);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        assert_int_equal(is_kept(ids[i]), i >= 6);
    struct spill *running[SPILLS_MAX + 1];
    for (size_t i = 0; i < ARRAY_LEN(running); i++)
        running[i] = started("y");
    assert_int_equal(entries("/proc/self/fd"), open_files + SPILLS_MAX);
    for (size_t i = 0; i < ARRAY_LEN(running); i++) {
        spill_finish(running[i], ids[i]);
        assert_int_equal(ids[i][0] != '\0', i < SPILLS_MAX);
    }
    spills_done(&spills);
    assert_int_equal(entries("/proc/self/fd"), open_files);
}

static void what_is_not_there_says_what_to_do(void **state)
{
    (void)state;
    BUF_AT_END struct buf out = BUF_INIT(100);
    struct spill_page page;
    struct err err = {0};
    begin(10, 20);
    finished("x");
    const char *const ids[] = {"", "out_", "out_000000000000", "out_000000000000000000000000000"};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        for (unsigned without = 0; without < 2; without++) {
            assert_int_equal(spill_read(without ? NULL : &spills, text_str(ids[i]), STREAM_STDOUT,
                                        0, 10, &out, &page, &err),
                             -1);
            assert_int_equal(err.code, ERR_NOT_FOUND);
            assert_non_null(strstr(err.message, "redirected into a file"));
        }
    }
    assert_int_equal(out.len, 0);
    spills_done(&spills);
}

/* --- no room on the disk */

/* Prints `n` bytes to a stream; how many of them are kept. */
static int64_t kept_of(size_t n, enum stream stream)
{
    static char chunk[10000];
    char id[SPILL_ID_MAX];
    BUF_AT_END struct buf out = BUF_INIT(READ_MAX);
    struct spill_page page;
    struct spill *spill = spill_open(&spills);
    memset(chunk, 'x', sizeof chunk);
    for (size_t done = 0; done < n; done += sizeof chunk)
        spill_add(spill, stream, (struct str){chunk, sizeof chunk});
    spill_finish(spill, id);
    if (id[0] == '\0')
        return 0;
    assert_int_equal(read_stream(id, stream, &out, &page), 0);
    assert_int_equal(out.len, page.kept);
    assert_int_equal(page.total, n);
    assert_int_equal(page.complete, page.kept == page.total);
    for (size_t i = 0; i < out.len; i++)
        assert_int_equal(out.data[i], 'x');
    return page.kept;
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return good;
}

/* The right to mount, which a plain user has in a namespace of users. */
static bool may_mount(void)
{
    FREE_AT_END char *user = mem_format("%u %u 1", geteuid(), geteuid());
    FREE_AT_END char *group = mem_format("%u %u 1", getegid(), getegid());
    if (unshare(CLONE_NEWNS) < 0 &&
        (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || !write_text("/proc/self/uid_map", user) ||
         !write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/gid_map", group)))
        return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void a_full_disk_stops_it(void **state)
{
    (void)state;
    assert_true(mkdir("small", 0700) == 0);
    if (!may_mount() || mount("small", "small", "tmpfs", 0, "size=256k") < 0)
        skip();
    int fd = open("small", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    spills_init(&spills, fd, 10 << 20, 20 << 20);
    int64_t kept = kept_of(1000000, STREAM_STDOUT);
    assert_in_range(kept, 200000, 256 << 10);
    assert_int_equal(kept_of(1000000, STREAM_STDOUT), 0);
    spills_done(&spills);
    /* All of the room is there again. */
    assert_int_equal(kept_of(1000000, STREAM_STDERR), kept);
    spills_done(&spills);
    close(fd);
    assert_int_equal(umount("small"), 0);
}

static void a_limit_on_files_stops_it(void **state)
{
    (void)state;
    struct rlimit before;
    char id[SPILL_ID_MAX];
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){55555, before.rlim_max});
    begin(1 << 20, 10 << 20);
    assert_int_equal(kept_of(200000, STREAM_STDOUT), 55555);
    assert_int_equal(kept_of(200000, STREAM_STDERR), 0);
    /* When there is room again, there is no gap. */
    struct spill *spill = started("beginning");
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){10, before.rlim_max});
    spill_add(spill, STREAM_STDOUT, STR(", middle"));
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    spill_add(spill, STREAM_STDOUT, STR(", end"));
    spill_add(spill, STREAM_STDERR, STR("more"));
    spill_finish(spill, id);
    expect(id, STREAM_STDOUT, "beginning,", 22);
    expect(id, STREAM_STDERR, "more", 4);
    spills_done(&spills);
}

static void no_folder_and_no_descriptor_stop_it(void **state)
{
    (void)state;
    struct rlimit before;
    spills_init(&spills, -1, 1 << 20, 10 << 20);
    assert_int_equal(kept_of(100000, STREAM_STDOUT), 0);
    begin(1 << 20, 10 << 20);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max});
    assert_int_equal(kept_of(100000, STREAM_STDOUT), 0);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(kept_of(100000, STREAM_STDOUT), 100000);
    spills_done(&spills);
}

/* Lets openat fail as it does where a file system has no unnamed files. */
static int forbid_unnamed(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {ARRAY_LEN(code), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool works_without_unnamed_files(void)
{
    if (forbid_unnamed() < 0)
        return false;
    if (openat(folder_fd, ".", O_TMPFILE | O_RDWR, 0600) >= 0 || errno != EOPNOTSUPP)
        return false;
    begin(1000, 5000);
    const char *id = finished("text");
    BUF_AT_END struct buf out = BUF_INIT(100);
    struct spill_page page;
    return read_stream(id, STREAM_STDOUT, &out, &page) == 0 && page.complete &&
           strcmp(buf_text(&out), "text") == 0 && entries(".") == 2;
}

static void a_name_for_a_moment(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(works_without_unnamed_files() ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(streams_are_kept_apart),
        IN_FOLDER(nothing_printed_needs_nothing),
        IN_FOLDER(any_part_can_be_read),
        IN_FOLDER(a_stream_has_its_limit),
        IN_FOLDER(the_first_to_end_goes_first),
        IN_FOLDER(what_still_runs_stays),
        IN_FOLDER(a_running_one_can_be_read),
        IN_FOLDER(so_many_and_no_more),
        IN_FOLDER(what_is_not_there_says_what_to_do),
        IN_FOLDER(a_full_disk_stops_it),
        IN_FOLDER(a_limit_on_files_stops_it),
        IN_FOLDER(no_folder_and_no_descriptor_stop_it),
        IN_FOLDER(a_name_for_a_moment),
    };
    return cmocka_run_group_tests_name("spill", tests, NULL, NULL);
}

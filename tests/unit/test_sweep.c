#include <cmocka.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "few_fds.h"
#include "folder.h"
#include "json_text.h"
#include "session/sweep.h"

#define DEVICE 0xfd01
#define INODE 0x123456789abcdef0

/* What was handed over, as lines of "tag path". */
static struct buf found = {.max = 1u << 20};

static void take(void *arg, struct str path, const char *tag)
{
    assert_ptr_equal(arg, &found);
    buf_addf(&found, "%s ", tag);
    buf_add(&found, path.p, path.n);
    buf_add_char(&found, '\n');
}

static const char *collected(void)
{
    buf_reset(&found, SIZE_MAX);
    sweep_collect(folder_fd, DEVICE, INODE, take, &found);
    return buf_text(&found);
}

static int note(struct sweep *s, const char *path)
{
    struct err err;
    int file = sweep_note(s, text_str(path), &err);
    if (file < 0)
        fail_msg("%s", err.message);
    return file;
}

/* A gate that notes these paths and then lives until it is killed. */
static pid_t gate_with(const char *tag, const char *const *paths, size_t count)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct sweep s;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sweep_init(&s, folder_fd, DEVICE, INODE, tag);
        for (size_t i = 0; i < count; i++)
            note(&s, paths[i]);
        while (write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void gate_dies(pid_t gate)
{
    assert_int_equal(kill(gate, SIGKILL), 0);
    assert_int_equal(waitpid(gate, NULL, 0), gate);
}

static void notes_of_the_dead_are_found_once(void **state)
{
    (void)state;
    static const char *const paths[] = {"a/b", "c"};
    pid_t gate = gate_with("t1", paths, 2);
    gate_dies(gate);
    assert_string_equal(collected(), "t1 a/b\nt1 c\n");
    assert_string_equal(collected(), "");
}

static void notes_of_the_living_are_theirs(void **state)
{
    (void)state;
    static const char *const paths[] = {"a/b"};
    pid_t gate = gate_with("t1", paths, 1);
    assert_string_equal(collected(), "");
    assert_string_equal(collected(), "");
    gate_dies(gate);
    assert_string_equal(collected(), "t1 a/b\n");
}

static void the_living_and_the_dead_do_not_mix(void **state)
{
    (void)state;
    static const char *const one[] = {"one"};
    static const char *const two[] = {"two"};
    pid_t dead = gate_with("t1", one, 1);
    pid_t living = gate_with("t2", two, 1);
    gate_dies(dead);
    assert_string_equal(collected(), "t1 one\n");
    gate_dies(living);
    assert_string_equal(collected(), "t2 two\n");
}

static void other_folders_are_left_alone(void **state)
{
    (void)state;
    static const char *const paths[] = {"x"};
    pid_t gate = gate_with("t1", paths, 1);
    gate_dies(gate);
    buf_reset(&found, SIZE_MAX);
    sweep_collect(folder_fd, DEVICE, INODE + 1, take, &found);
    sweep_collect(folder_fd, DEVICE + 1, INODE, take, &found);
    sweep_collect(folder_fd, DEVICE, INODE >> 4, take, &found);
    assert_string_equal(buf_text(&found), "");
    assert_string_equal(collected(), "t1 x\n");
}

/* With descriptors for so many more. */
static bool collect_with(unsigned more)
{
    buf_reset(&found, SIZE_MAX);
    struct rlimit was = few_fds_begin(more);
    bool again = sweep_collect(folder_fd, DEVICE, INODE, take, &found);
    few_fds_end(&was);
    return again;
}

static void what_cannot_be_opened_is_looked_at_again(void **state)
{
    (void)state;
    static const char *const paths[] = {"a/b"};
    gate_dies(gate_with("t1", paths, 1));
    for (unsigned more = 0; more < 2; more++) {
        assert_true(collect_with(more));
        assert_string_equal(buf_text(&found), "");
    }
    assert_false(collect_with(2));
    assert_string_equal(buf_text(&found), "t1 a/b\n");
}

/* The disk was full for a moment. */
static void a_note_that_was_cut_spoils_no_other(void **state)
{
    (void)state;
    struct sweep s;
    struct err err;
    struct rlimit was;
    sweep_init(&s, folder_fd, DEVICE, INODE, "t1");
    note(&s, "first");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){s.files[s.current].bytes + 4, was.rlim_max}), 0);
    assert_int_equal(sweep_note(&s, STR("refused"), &err), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    note(&s, "second");
    fd_closep(&s.files[s.current].fd);
    assert_string_equal(collected(), "t1 first\nt1 second\n");
}

static void any_name_survives(void **state)
{
    (void)state;
    static const char *const paths[] = {"\xff\xfe", "quote\"back\\slash", "tab\there", "\xc3\xa4"};
    pid_t gate = gate_with("t1", paths, ARRAY_LEN(paths));
    gate_dies(gate);
    assert_string_equal(collected(),
                        "t1 \xff\xfe\nt1 quote\"back\\slash\nt1 tab\there\nt1 \xc3\xa4\n");
}

static void the_longest_path_can_be_noted(void **state)
{
    (void)state;
    char path[4096];
    const char *const paths[] = {path, "after it"};
    memset(path, '\x01', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    pid_t gate = gate_with("t1", paths, 2);
    gate_dies(gate);
    const char *text = collected();
    assert_int_equal(strlen(text), 3 + 4095 + 1 + strlen("t1 after it\n"));
    assert_non_null(strstr(text, "t1 after it\n"));
}

static void what_ended_well_leaves_nothing(void **state)
{
    (void)state;
    struct sweep s;
    sweep_init(&s, folder_fd, DEVICE, INODE, "t1");
    sweep_done(&s);
    sweep_init(&s, folder_fd, DEVICE, INODE, "t1");
    note(&s, "x");
    sweep_forget(&s, 0);
    sweep_done(&s);
    assert_string_equal(collected(), "");
    assert_int_equal(rmdir("sweep"), 0);
}

/* One gate makes its first note while another looks for what is left over. */
static int note_and_check(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        struct sweep s;
        struct stat st;
        struct err err;
        sweep_init(&s, folder_fd, DEVICE, INODE, "t1");
        if (sweep_note(&s, STR("mine"), &err) < 0 || fstat(s.files[0].fd, &st) < 0)
            return 1;
        /* Its file has no name any more: after a crash nobody would find it. */
        if (st.st_nlink != 1 || st.st_size == 0)
            return 2;
        sweep_done(&s);
    }
    return 0;
}

static void a_first_note_is_not_swept_away(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(note_and_check(20000));
    while (waitpid(child, &status, WNOHANG) == 0)
        assert_string_equal(collected(), "");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Notes are made on the gate's loop: a collector that has the file locked, and is not given the processor, must not hold
 * it. */
static void a_note_does_not_wait_for_a_collector(void **state)
{
    (void)state;
    FREE_AT_END char *name = mem_format("sweep/%x-%llx-t1", DEVICE, (unsigned long long)INODE);
    struct sweep s;
    struct stat st;
    assert_int_equal(mkdir("sweep", 0700), 0);
    FD_AT_END int collector = open(name, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(collector, LOCK_EX), 0);
    sweep_init(&s, folder_fd, DEVICE, INODE, "t1");
    note(&s, "mine");
    assert_int_equal(fstat(s.files[0].fd, &st), 0);
    assert_int_equal(st.st_nlink, 1);
    assert_string_equal(collected(), "");
    /* Its gate dies: it is found under the same tag. */
    fd_closep(&s.files[0].fd);
    assert_string_equal(collected(), "t1 mine\n");
    note(&s, "again");
    sweep_done(&s);
    fd_closep(&collector);
    assert_string_equal(collected(), "");
    assert_int_equal(rmdir("sweep"), 0);
}

static int64_t bytes_of_notes(const char *second)
{
    struct stat st;
    FREE_AT_END char *name = mem_format("sweep/%x-%llx-t1%s", DEVICE, (unsigned long long)INODE,
                                        second);
    return stat(name, &st) < 0 ? 0 : st.st_size;
}

/* Thousands of writes do not make a file of thousands of lines. */
static void notes_do_not_pile_up(void **state)
{
    (void)state;
    struct sweep s;
    sweep_init(&s, folder_fd, DEVICE, INODE, "t1");
    for (int i = 0; i < 20000; i++)
        sweep_forget(&s, note(&s, "some/path/of/a/file"));
    assert_in_range(bytes_of_notes(""), 1, 200000);
    /* What is under way is never forgotten with the rest. */
    note(&s, "still under way");
    for (int i = 0; i < 20000; i++)
        sweep_forget(&s, note(&s, "some/path/of/a/file"));
    assert_in_range(bytes_of_notes("") + bytes_of_notes("+1"), 1, 300000);
    fd_closep(&s.files[0].fd);
    fd_closep(&s.files[1].fd);
    assert_non_null(strstr(collected(), "t1 still under way\n"));
}

/* There is always something under way, and yet nothing piles up. */
static void never_a_quiet_moment(void **state)
{
    (void)state;
    enum { AT_ONCE = 50 };
    int files[AT_ONCE] = {0};
    struct sweep s;
    sweep_init(&s, folder_fd, DEVICE, INODE, "t1");
    for (int i = 0; i < 40000; i++) {
        if (i >= AT_ONCE)
            sweep_forget(&s, files[i % AT_ONCE]);
        files[i % AT_ONCE] = note(&s, i == 39990 ? "the last but nine" : "some/path/of/a/file");
    }
    assert_in_range(bytes_of_notes("") + bytes_of_notes("+1"), 1, 300000);
    fd_closep(&s.files[0].fd);
    fd_closep(&s.files[1].fd);
    assert_non_null(strstr(collected(), "t1 the last but nine\n"));
    assert_int_equal(rmdir("sweep"), 0);
}

/* A crash, or a full disk, may cut the last line. */
static void half_a_note_is_no_note(void **state)
{
    (void)state;
    static const char *const paths[] = {"whole"};
    pid_t gate = gate_with("t1", paths, 1);
    gate_dies(gate);
    FREE_AT_END char *name = mem_format("sweep/%x-%llx-t1", DEVICE, (unsigned long long)INODE);
    FD_AT_END int fd = open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, "not json\n\"good\"\n5\n\"ha", 21), 0);
    fd_closep(&fd);
    assert_string_equal(collected(), "t1 whole\nt1 good\n");
}

static void nothing_there_is_nothing_found(void **state)
{
    (void)state;
    assert_string_equal(collected(), "");
    assert_int_equal(access("sweep", F_OK), -1);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    struct sweep s;
    struct err err;
    assert_int_equal(mkdir("elsewhere", 0700) | symlink("elsewhere", "sweep"), 0);
    sweep_init(&s, folder_fd, DEVICE, INODE, "t1");
    assert_int_equal(sweep_note(&s, STR("x"), &err), -1);
    assert_int_equal(err.code, ERR_INTERNAL);
    assert_int_equal(rmdir("elsewhere"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(notes_of_the_dead_are_found_once),
        TEST(notes_of_the_living_are_theirs),
        TEST(the_living_and_the_dead_do_not_mix),
        TEST(other_folders_are_left_alone),
        TEST(what_cannot_be_opened_is_looked_at_again),
        TEST(a_note_that_was_cut_spoils_no_other),
        TEST(any_name_survives),
        TEST(the_longest_path_can_be_noted),
        TEST(what_ended_well_leaves_nothing),
        TEST(a_first_note_is_not_swept_away),
        TEST(a_note_does_not_wait_for_a_collector),
        TEST(notes_do_not_pile_up),
        TEST(never_a_quiet_moment),
        TEST(half_a_note_is_no_note),
        TEST(nothing_there_is_nothing_found),
        TEST(links_are_not_followed),
    };
    int failed = cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
    buf_done(&found);
    return failed;
}

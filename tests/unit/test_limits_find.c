#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "cell/limits_parts.h"
#include "folder.h"

#define MIB ((uint64_t)1 << 20)
#define MOUNTS_BEFORE                                                                              \
    "23 28 0:22 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"                                      \
    "28 1 254:1 / / rw,relatime shared:1 - ext4 /dev/root rw,discard\n"

/* ---- what the kernel's texts say ---- */

/* "v2 KINDS OWN" a line, the kinds as m, p and c. */
static const char *found_in(const char *mounts, const char *cgroups)
{
    static char out[4 * (PATH_MAX + 16)];
    static struct limits_places places;
    size_t n = 0;
    out[0] = 0;
    limits_find((struct str){mounts, strlen(mounts)}, (struct str){cgroups, strlen(cgroups)},
                &places);
    for (size_t i = 0; i < places.count; i++) {
        const struct limits_place *p = &places.place[i];
        assert_memory_equal(p->mount, p->own, strlen(p->mount));
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s%s%s %s\n", p->v2 ? "v2 " : "v1 ",
                              p->kinds & LIMIT_BIT(LIMIT_MEMORY) ? "m" : "",
                              p->kinds & LIMIT_BIT(LIMIT_PROCESSES) ? "p" : "",
                              p->kinds & LIMIT_BIT(LIMIT_CPU) ? "c" : "", p->own);
    }
    return out;
}

static void finds_a_user_session(void **state)
{
    (void)state;
    assert_string_equal(
        found_in(MOUNTS_BEFORE "35 23 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime "
                               "shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n",
                 "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-5.scope\n"),
        "v2 mpc /sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/"
        "run-5.scope\n");
}

static void finds_hybrid(void **state)
{
    (void)state;
    assert_string_equal(
        found_in("32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
                 "33 31 0:30 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
                 "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
                 "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
                 "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
                 "9:name=systemd:/\n8:pids:/\n4:memory:/jobs/a:b\n3:cpuset:/x\n1:cpu:/\n0::/\n"),
        "v2 mpc /sys/fs/cgroup/unified\n"
        "v1 m /sys/fs/cgroup/memory/jobs/a:b\n"
        "v1 p /sys/fs/cgroup/pids\n"
        "v1 c /sys/fs/cgroup/cpu\n");
}

static void finds_v1_with_two_kinds_in_one_tree(void **state)
{
    (void)state;
    assert_string_equal(
        found_in("30 25 0:26 / /cg\\040roups/cpu,memory rw shared:4 master:2 - cgroup cgroup "
                 "rw,cpu,cpuacct,memory\n",
                 "2:cpu,cpuacct,memory:/system.slice/s.service\n"),
        "v1 mc /cg roups/cpu,memory/system.slice/s.service\n");
}

/* Without a cgroup namespace a container sees its own group as the top, but is told its whole path. */
static void finds_docker(void **state)
{
    (void)state;
    static const char v1[] = "7:pids:/docker/0123abcd\n";
    assert_string_equal(found_in("1 2 0:3 /docker/0123abcd /sys/fs/cgroup/pids rw master:11 - "
                                 "cgroup cgroup rw,pids\n",
                                 v1),
                        "v1 p /sys/fs/cgroup/pids\n");
    assert_string_equal(
        found_in("1 2 0:3 /docker /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", v1),
        "v1 p /sys/fs/cgroup/pids/0123abcd\n");
    /* Another container's, and one whose name only begins like this one's. */
    assert_string_equal(
        found_in("1 2 0:3 /docker/ffff /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", v1), "");
    assert_string_equal(
        found_in("1 2 0:3 /docker/0123 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", v1), "");
    /* As it usually is: read-only. */
    assert_string_equal(
        found_in("1 2 0:3 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n", "0::/\n"),
        "");
}

static void finds_nothing_unusable(void **state)
{
    (void)state;
    static const char v2[] = "1 2 0:3 / /cg rw - cgroup2 cgroup2 rw\n";
    assert_string_equal(found_in(v2, "0::/\n"), "v2 mpc /cg\n");
    assert_string_equal(found_in(v2, "0::/../elsewhere\n"), "");
    assert_string_equal(found_in(v2, "0::/gone (deleted)\n"), "");
    assert_string_equal(found_in(v2, "0::relative\n"), "");
    assert_string_equal(found_in(v2, "0::\n"), "");
    assert_string_equal(found_in(v2, "0\n::\n:\n\n"), "");
    assert_string_equal(found_in("1 2 0:3 /a\\000 /cg rw - cgroup2 x rw\n", "0::/a\n"), "");
    assert_string_equal(found_in("1 2 0:3 / /cg rw - cgroup2 x\n", "0::/\n"), "");
    assert_string_equal(found_in("1 2 0:3 / /cg rw\n", "0::/\n"), "");
    assert_string_equal(found_in("", ""), "");
}

/* Every beginning of the texts is read without harm, and paths that do not fit are left out. */
static void finds_in_broken_texts(void **state)
{
    (void)state;
    static char mounts[4 * PATH_MAX];
    static char cgroups[2 * PATH_MAX];
    int n = snprintf(mounts, sizeof mounts,
                     MOUNTS_BEFORE
                     "1 2 0:3 /a\\0 /c\\04 rw - cgroup2 c rw\n5 6 7 /\\ / rw - cgroup \\ rw,cpu\n");
    for (int i = n; i >= 0; i--) {
        mounts[i] = 0;
        found_in(mounts, "0::/a\n1:cpu:/x\n");
    }
    memset(cgroups, 'x', sizeof cgroups - 1);
    memcpy(cgroups, "0::/", 4);
    assert_string_equal(found_in("1 2 0:3 / /cg rw - cgroup2 c rw\n", cgroups), "");
    n = snprintf(mounts, sizeof mounts, "1 2 0:3 / /%.5000s rw - cgroup2 c rw\n", cgroups + 4);
    assert_true(n > PATH_MAX);
    assert_string_equal(found_in(mounts, "0::/\n"), "");
}

/* ---- cgroup2, played by plain files ---- */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void expect_file(const char *dir, const char *file, const char *expected)
{
    char path[PATH_MAX + 300];
    char text[256] = "";
    snprintf(path, sizeof path, "%s/%s", dir, file);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    fclose(f);
    assert_string_equal(text, expected);
}

static void play_group(const char *dir)
{
    static const char *const files[][2] = {
        {"cgroup.procs", ""},
        {"memory.max", "max\n"},
        {"memory.swap.max", "max\n"},
        {"memory.oom.group", "0\n"},
        {"memory.peak", "0\n"},
        {"memory.current", "0\n"},
        {"memory.events", "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 1\n"},
        {"pids.max", "max\n"},
        {"pids.current", "0\n"},
        {"pids.events", "max 5\n"},
        {"cgroup.kill", ""},
    };
    char path[PATH_MAX + 300];
    assert_int_equal(mkdir(dir, 0755), 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i][0]);
        write_file(path, files[i][1]);
    }
}

/* A user's session that was given memory and processes, of which only the latter are on. */
static struct limits *open_played(char first[PATH_MAX + 200])
{
    char line[PATH_MAX + 100];
    char prefix[LIMIT_NAME_MAX];
    struct limits *l;
    snprintf(line, sizeof line, "1 2 0:3 / %s/cg rw - cgroup2 c rw\n", folder);
    write_file("mounts", line);
    write_file("cgroups", "0::/app.slice/gate.scope\n");
    assert_int_equal(mkdir("cg", 0755), 0);
    assert_int_equal(mkdir("cg/app.slice", 0755), 0);
    write_file("cg/app.slice/cgroup.controllers", "cpuset io memory pids\n");
    write_file("cg/app.slice/cgroup.subtree_control", "pids\n");
    write_file("cg/app.slice/cgroup.procs", "");
    assert_true(limits_prefix(prefix, "played"));
    snprintf(first, PATH_MAX + 200, "cg/app.slice/%s1", prefix);
    play_group(first);
    assert_int_equal(limits_open_from(&l, "played", "mounts", "cgroups"), 0);
    return l;
}

static void uses_cgroup2(void **state)
{
    (void)state;
    char dir[PATH_MAX + 200];
    int fds[LIMIT_KINDS];
    struct limits_seen seen;
    struct limits *l = open_played(dir);
    assert_string_equal(limits_mechanism(l), "cgroup2");
    assert_true(limits_by_group(l, LIMIT_MEMORY));
    assert_true(limits_by_group(l, LIMIT_PROCESSES));
    assert_false(limits_by_group(l, LIMIT_CPU));
    /* Only what is there and was not on. */
    expect_file("cg/app.slice", "cgroup.subtree_control", "+memory");

    struct limit_group *g = limits_take(l, &(struct limits_want){64 * MIB, 20, 500});
    assert_non_null(g);
    expect_file(dir, "memory.max", "67108864");
    expect_file(dir, "memory.swap.max", "0");
    expect_file(dir, "memory.oom.group", "1");
    expect_file(dir, "pids.max", "20");
    assert_int_equal(limit_group_fds(g, fds), 1);
    assert_int_equal(write(fds[0], "0", 1), 1);
    expect_file(dir, "cgroup.procs", "0");
    char path[PATH_MAX + 300];
    snprintf(path, sizeof path, "%s/memory.events", dir);
    write_file(path, "oom 9\noom_kill 3\noom_group_kill 8\n");
    snprintf(path, sizeof path, "%s/pids.events", dir);
    write_file(path, "max 9\n");
    snprintf(path, sizeof path, "%s/memory.peak", dir);
    write_file(path, "5000000\n");
    limit_group_read(g, &seen);
    assert_int_equal(seen.oom_kills, 1);
    assert_int_equal(seen.process_limit_hits, 4);
    assert_int_equal(seen.peak_memory, 5000000);

    /* Not empty: it is killed, and not given to another before it is. */
    snprintf(path, sizeof path, "%s/pids.current", dir);
    write_file(path, "3\n");
    limits_give_back(l, g);
    expect_file(dir, "cgroup.kill", "1");
    assert_null(limits_take(l, &(struct limits_want){0}));
    write_file(path, "0\n");
    assert_ptr_equal(limits_take(l, &(struct limits_want){0}), g);
    expect_file(dir, "memory.max", "max");
    expect_file(dir, "memory.swap.max", "max");
    expect_file(dir, "pids.max", "max");
    limits_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_user_session),
        cmocka_unit_test(finds_hybrid),
        cmocka_unit_test(finds_v1_with_two_kinds_in_one_tree),
        cmocka_unit_test(finds_docker),
        cmocka_unit_test(finds_nothing_unusable),
        cmocka_unit_test(finds_in_broken_texts),
        cmocka_unit_test_setup_teardown(uses_cgroup2, folder_set_up, folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

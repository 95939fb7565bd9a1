#include <cmocka.h>
#include <fcntl.h>

#include "base/fd.h"
#include "cell/spec.h"
#include "folder.h"
#include "json_text.h"

#define ROOT                                                                                       \
    "{'host':'/srv/w','inside':'/workspace','writable':true,'device':'1','inode':'2','born_ns':'5','uid':3,'gid':4}"

static int read_text(const char *text, struct cell_spec *ret)
{
    FREE_AT_END char *json = quoted(text);
    struct err err = {0};
    int r = spec_read(text_str(json), ret, &err);
    if (r < 0)
        assert_true(err.message[0] != '\0');
    return r;
}

static void read_back(const struct cell_spec *spec, struct cell_spec *ret)
{
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    struct err err;
    spec_write(spec, &(struct json_out){.out = &text});
    assert_false(text.failed);
    if (spec_read(buf_str(&text), ret, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_text(const char *a, const char *b)
{
    assert_int_equal(!a, !b);
    if (a)
        assert_string_equal(a, b);
}

static void assert_same(const struct cell_spec *a, const struct cell_spec *b)
{
    assert_int_equal(a->tier, b->tier);
    assert_int_equal(a->uid, b->uid);
    assert_int_equal(a->gid, b->gid);
    assert_int_equal(a->umask, b->umask);
    assert_int_equal(a->threads, b->threads);
    assert_int_equal(a->system, b->system);
    assert_int_equal(a->n_roots, b->n_roots);
    for (size_t i = 0; i < a->n_roots; i++) {
        const struct cell_root *x = &a->roots[i];
        const struct cell_root *y = &b->roots[i];
        assert_text(x->host, y->host);
        assert_text(x->inside, y->inside);
        for (size_t k = 0; k < ROOT_ALSO; k++)
            assert_text(x->also[k], y->also[k]);
        assert_text(x->protect, y->protect);
        assert_int_equal(x->writable, y->writable);
        assert_true(x->device == y->device && x->inode == y->inode && x->born_ns == y->born_ns);
        assert_true(x->uid == y->uid && x->gid == y->gid);
    }
}

static void a_layer_arrives(void **state)
{
    (void)state;
    char host[] = "/srv/w";
    char layer[] = "/srv/layer";
    char inside[] = "";
    struct cell_spec spec = {.tier = TIER_FULL, .uid = 1, .gid = 1, .threads = 1, .n_roots = 1};
    struct cell_spec again;
    spec.roots[0] = (struct cell_root){.host = host, .inside = host, .writable = true};
    assert_false(spec_root_is_readonly(&spec, 0));
    spec.layer = (struct cell_root){.host = layer, .inside = inside, .inode = 7, .writable = true};
    read_back(&spec, &again);
    assert_same(&spec, &again);
    assert_text(again.layer.host, layer);
    assert_true(again.layer.inode == 7 && again.layer.writable);
    assert_true(spec_root_is_readonly(&again, 0));
    assert_ptr_equal(spec_changed(&again, 0), &again.layer);
    spec_done(&again);
}

static void arrives_as_it_was_written(void **state)
{
    (void)state;
    char host[] = "/srv/\xff odd \"name\"\n";
    char inside[] = "/workspace";
    char also[] = "/home/\xfe";
    char logs[] = "logs";
    struct cell_spec spec = {.tier = TIER_LANDLOCK,
                             .uid = 65534,
                             .gid = UINT32_MAX,
                             .umask = 022,
                             .threads = 8,
                             .system = true};
    for (size_t n = 1; n <= ROOTS_MAX; n++) {
        spec.roots[n - 1] = (struct cell_root){
            .host = host,
            .inside = inside,
            .also = {n & 4 ? also : NULL, n & 2 ? inside : NULL},
            .writable = n & 1,
            .protect = n & 2 ? logs : NULL,
            .device = UINT64_MAX - n,
            .inode = n,
            .born_ns = UINT64_MAX / n,
            .uid = (uint32_t)(n - 1),
            .gid = UINT32_MAX,
        };
        spec.n_roots = n;
        struct cell_spec again;
        read_back(&spec, &again);
        assert_same(&spec, &again);
        spec_done(&again);
    }
}

/* File systems give out any number as an inode. */
static void every_inode_arrives(void **state)
{
    (void)state;
    char path[] = "/a";
    static const uint64_t numbers[] = {
        0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, (uint64_t)INT64_MAX + 2, UINT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        struct cell_spec spec = {.tier = TIER_FULL, .uid = 1, .gid = 1, .threads = 1, .n_roots = 1};
        struct cell_spec again;
        spec.roots[0] = (struct cell_root){
            .host = path, .inside = path, .device = 1, .inode = numbers[i]};
        read_back(&spec, &again);
        assert_true(again.roots[0].inode == numbers[i]);
        spec_done(&again);
    }
}

static void what_no_cell_may_be_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{'roots':[" ROOT "]}",
        "{'cell':{'tier':2,'uid':1,'gid':1,'umask':0,'threads':1}}",
        "{'cell':{'tier':2,'uid':1,'gid':1,'umask':0,'threads':1},'roots':[]}",
        "{'cell':{'tier':2,'uid':1,'gid':1,'umask':0,'threads':1},'roots':{}}",
        "{'cell':{'tier':2,'uid':1,'gid':1,'umask':0,'threads':1},'roots':[null]}",
        "{'cell':{'uid':1,'gid':1,'umask':0,'threads':1},'roots':[" ROOT "]}",
        "{'cell':{'tier':0,'uid':1,'gid':1,'umask':0,'threads':1},'roots':[" ROOT "]}",
        "{'cell':{'tier':9,'uid':1,'gid':1,'umask':0,'threads':1},'roots':[" ROOT "]}",
        "{'cell':{'tier':2,'uid':0,'gid':1,'umask':0,'threads':1},'roots':[" ROOT "]}",
        "{'cell':{'tier':2,'uid':4294967296,'gid':1,'umask':0,'threads':1},'roots':[" ROOT "]}",
        "{'cell':{'tier':2,'uid':1,'gid':4294967296,'umask':0,'threads':1},'roots':[" ROOT "]}",
        "{'cell':{'tier':2,'uid':1,'gid':1,'umask':0,'threads':0},'roots':[" ROOT "]}",
        "{'cell':{'tier':2,'uid':1,'gid':1,'umask':0},'roots':[" ROOT "]}",
        "{'cell':{'tier':2,'uid':'1','gid':1,'umask':0,'threads':1},'roots':[" ROOT "]}",
        "{'cell':{'tier':2,'uid':1,'gid':1,'umask':0,'threads':1,'x':1},'roots':[" ROOT "]}",
        "{'cell':{'tier':2,'uid':1,'gid':1,'umask':0,'threads':1},'roots':[{'host':'/a'}]}",
        "{'cell':{'tier':2,'uid':1,'gid':1,'umask':0,'threads':1},'roots':[" ROOT "," ROOT "," ROOT
        "," ROOT "," ROOT "," ROOT "," ROOT "," ROOT "," ROOT "," ROOT "," ROOT "," ROOT "," ROOT
        "," ROOT "," ROOT "," ROOT "," ROOT "," ROOT "]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct cell_spec spec = {0};
        if (read_text(bad[i], &spec) == 0)
            fail_msg("taken: %s", bad[i]);
        spec_done(&spec);
    }
    struct cell_spec spec = {0};
    assert_int_equal(
        read_text("{'cell':{'tier':2,'uid':1,'gid':1,'umask':0,'threads':1},'roots':[" ROOT "]}",
                  &spec),
        0);
    assert_string_equal(spec.roots[0].host, "/srv/w");
    assert_true(spec.roots[0].writable);
    assert_true(spec.roots[0].device == 1 && spec.roots[0].inode == 2);
    spec_done(&spec);
}

static void a_folder_is_taken_as_it_is_now(void **state)
{
    (void)state;
    struct cell_spec spec = {0};
    struct err err = {0};
    struct stat st;
    FREE_AT_END char *host = mem_format("%s/w", folder);
    assert_int_equal(mkdir("w", 0755), 0);
    assert_int_equal(stat("w", &st), 0);
    struct root root = {"workspace", "/workspace", host, true};
    assert_int_equal(spec_add_root(&spec, &root, "logs", &err), 0);
    const struct cell_root *r = &spec.roots[0];
    assert_int_equal(spec.n_roots, 1);
    assert_string_equal(r->host, host);
    assert_string_equal(r->inside, "/workspace");
    assert_string_equal(r->protect, "logs");
    assert_true(r->writable && r->device == st.st_dev && r->inode == st.st_ino);
    assert_true(r->uid == st.st_uid && r->gid == st.st_gid);
    spec_done(&spec);
}

static void another_is_told_from_it(void **state)
{
    (void)state;
    struct cell_root was = {.host = NULL};
    FD_AT_END int fd = open(".", O_PATH | O_CLOEXEC);
    assert_int_equal(spec_identify(fd, &was), 0);
    assert_true(spec_is_root(&was, fd));
    struct cell_root others[] = {was, was, was};
    others[0].device++;
    others[1].inode++;
    others[2].born_ns++;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_false(spec_is_root(&others[i], fd));
}

static void only_folders_are_taken(void **state)
{
    (void)state;
    struct cell_spec spec = {0};
    struct err err = {0};
    struct root missing = {"@pkg", "/pkg", "missing", false};
    struct root file = {"@pkg", "/pkg", "file", false};
    close(open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    assert_int_equal(spec_add_root(&spec, &missing, NULL, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "@pkg"));
    assert_int_equal(spec_add_root(&spec, &file, NULL, &err), -1);
    assert_int_equal(spec.n_roots, 0);
}

static void there_is_a_limit_to_folders(void **state)
{
    (void)state;
    struct cell_spec spec = {0};
    struct err err = {0};
    struct root root = {"workspace", "/workspace", folder, true};
    for (size_t i = 0; i < ROOTS_MAX; i++)
        assert_int_equal(spec_add_root(&spec, &root, NULL, &err), 0);
    assert_int_equal(spec_add_root(&spec, &root, NULL, &err), -1);
    assert_int_equal(spec.n_roots, ROOTS_MAX);
    spec_done(&spec);
}

/* Nobody's cell is the machine's root. */
static void a_cell_belongs_to_someone(void **state)
{
    (void)state;
    static const struct {
        uint32_t euid, egid, owner, group, uid, gid;
    } cases[] = {
        {1000, 1000, 1000, 1000, 1000, 1000}, {1000, 1001, 5, 6, 1000, 1001},
        {1000, 1001, 0, 0, 1000, 1001},       {0, 0, 500, 600, 500, 600},
        {0, 0, 500, 0, 500, 65527},           {0, 0, 0, 0, 65527, 65527},
        {0, 5, 0, 600, 65527, 600},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cell_spec spec = {.n_roots = 1};
        spec.roots[0].uid = cases[i].owner;
        spec.roots[0].gid = cases[i].group;
        spec_choose_owner(&spec, cases[i].euid, cases[i].egid, 65527);
        assert_int_equal(spec.uid, cases[i].uid);
        assert_int_equal(spec.gid, cases[i].gid);
    }
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_arrives),
        cmocka_unit_test(arrives_as_it_was_written),
        cmocka_unit_test(every_inode_arrives),
        cmocka_unit_test(what_no_cell_may_be_is_refused),
        IN_FOLDER(another_is_told_from_it),
        IN_FOLDER(a_folder_is_taken_as_it_is_now),
        IN_FOLDER(only_folders_are_taken),
        IN_FOLDER(there_is_a_limit_to_folders),
        cmocka_unit_test(a_cell_belongs_to_someone),
    };
    return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}

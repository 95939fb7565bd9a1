/* Any bytes in the files by which a git directory leads elsewhere. What is told is a path; tools are kept from where it
 * leads; and a scan of the folder ends. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "core/op_packed.h"
#include "target.h"
#include "build.h"
#include "scratch.h"
#include "work/git_leads.h"
#include "work/guard_trees.h"
#include "work/replies.h"

#define GIT STR(".git")

static struct beneath_root root = {
    .fd = -1, .inside = "/workspace", .host = scratch, .writable = true};
static struct replies replies; /* nobody hears them */
static struct guard *guard;

static void set_up(void)
{
    static const char *const folders[] = {
        ".git",      ".git/hooks", ".git/info", ".git/objects", ".git/objects/info",
        ".git/refs", "d",          "d/e"};
    static const char rules[] = "S.env";
    struct err err;
    scratch_make();
    root.fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(root.fd >= 0);
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        must(mkdirat(root.fd, folders[i], 0755) == 0);
    must(symlinkat("d/e", root.fd, "l") == 0 && symlinkat("../..", root.fd, "d/e/up") == 0);
    must(symlinkat("../../d/hook", root.fd, ".git/hooks/pre-commit") == 0);
    guard = guard_new((struct str){rules, sizeof rules}, &err);
    must(guard != NULL);
    replies_init(&replies, -1, (struct shelf){0});
}

static void put(const char *name, struct str text)
{
    FD_AT_END int fd = openat(root.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    must(fd >= 0 && fd_write_all(fd, text.p, text.n) == 0);
}

static void check_lead(void *arg, const char *path, enum git_lead_from from)
{
    char where[PATH_TEXT_MAX];
    unsigned *leads = arg;
    int error = 0;
    must(path[0] && strlen(path) < PATH_TEXT_MAX && from != GIT_LEAD_TOO_LONG);
    ++*leads;
    if (!git_leads_where(&root, path, where) || strcmp(where, ".") == 0)
        return;
    must(op_is_relative_path((struct str){where, strlen(where)}));
    must(beneath_is_led_to(&root, where, false, &error));
}

/* A link of a command's making. */
static void put_link(struct str target)
{
    FREE_AT_END char *text = mem_copy(target.p, target.n);
    unlinkat(root.fd, "d/out", 0);
    must(!text[0] || symlinkat(text, root.fd, "d/out") == 0);
}

/* `ran_ns`: since when commands run. */
static void check_scan(int64_t ran_ns)
{
    static atomic_bool cancelled;
    static char chunk[WORK_CHUNK];
    struct guard_trees trees;
    struct err err = {.code = ERR_COUNT};
    union op_request q = {
        .scan = {.path = STR("."), .max_entries = 1000, .max_guarded = 1000, .ran_ns = ran_ns}};
    union op_reply reply = {0};
    struct work work = {.roots = &root,
                        .n_roots = 1,
                        .cancelled = &cancelled,
                        .chunk = chunk,
                        .body = BUF_INIT(16u << 20),
                        .replies = &replies,
                        .limit = 16 << 20,
                        .slow = true,
                        .guard = guard};
    guard_trees_init(&trees, -1);
    work.trees = &trees;
    int r = work_scan(&work, &q, STR(""), &reply, &err);
    must((r < 0) == (err.code != ERR_COUNT));
    guard_trees_done(&trees);
    buf_done(&work.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source s = {data, size};
    unsigned leads = 0;
    int error = 0;
    if (root.fd < 0)
        set_up();
    put(".git/HEAD", STR("ref: refs/heads/main\n"));
    put(".git/commondir", next_bytes(&s));
    put(".git/objects/info/alternates", next_bytes(&s));
    put("d/.git", next_bytes(&s));
    put(".git/config.worktree", next_bytes(&s));
    put_link(next_bytes(&s));
    put(".git/config", (struct str){(const char *)s.p, s.n});
    git_leads_each(&root, GIT, STR(""), check_lead, &leads);
    must(leads > 0); /* the hook is always a link */
    beneath_is_led_to(&root, "d/e/x", true, &error);
    check_scan(0);
    check_scan(1);
    return 0;
}

/* Scripts of sed that an approval lets pass, shown to a real sed in its own sandbox: that refuses every script with a command
 * that would run a program or open a file. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge_parts.h"
#include "random.h"
#include "base/buf.h"

#define SCRIPTS 40000

static const char *const pieces[] = {
    "p",       "d",       "w x",      "e",      "e x",      "r x",   "R x",    "W x", "s/a/b/",
    "s/a/b/g", "s/a/b/e", "s/a/b/w ", "s|a|b|", "s/[/]/e/", "y/a/b", "y/a/b/", "/a/", "/a/,/b/",
    "1,3",     "1~2",     "$",        "!",      "{",        "}",     ";",      "\n",  "\\",
    "/",       "[",       "]",        "[^",     "[[:",      ":]",    "[]",     "[a]", "s",
    "y",       "b",       "t",        "b x",    ":x",       "=",     "q",      "q5",  "l",
    "l 5",     "a x",     "i\\\nx",   "c x",    "#",        "n",     "N",      "g",   "G",
    "h",       "x",       "z",        "F",      "I",        "M",     "m",      "0",   "9",
    "+",       "~",       ",",        " ",      "\t",       "\\n",   "\\/",    "\\[", "e/",
    "w/",      "s,a,b,",  "s,a,b,e",  "v",      "\\xax",    "\\,a,", "&",      ".",   "*",
};

static void make_script(struct buf *script)
{
    for (size_t i = 1 + random_below(6); i > 0; i--)
        buf_add_text(script, pieces[random_below(ARRAY_LEN(pieces))]);
}

/* What sed says about it. */
static void ask_sed(const char *script, char *said, size_t size)
{
    int ends[2];
    size_t n = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(ends[1], 2);
        close_range(3, ~0u, 0);
        setenv("LC_ALL", "C", 1);
        execlp("sed", "sed", "--sandbox", "-e", script, (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], said + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    said[n] = '\0';
    close(ends[0]);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 99);
}

static bool sed_refuses(const char *script)
{
    char said[4096];
    ask_sed(script, said, sizeof said);
    return strstr(said, "sandbox") != NULL;
}

static void harmless_for_sed_too(void **state)
{
    (void)state;
    if (!sed_refuses("w x"))
        skip();
    struct policy *policy = make_policy(
        "{'approval':{'default':'prompt','rules':[{'toolName':'run_command','action':'approve',"
        "'condition':{'command':{'program':'sed'}}}]}}");
    size_t allowed = 0;
    random_begin();
    for (unsigned i = random_rounds(SCRIPTS); i > 0; i--) {
        BUF_AT_END struct buf script = BUF_INIT(4096);
        make_script(&script);
        FREE_AT_END char *line = mem_format("sed -e '%s' a", buf_text(&script));
        if (!line_is_allowed(policy, line))
            continue;
        allowed++;
        if (sed_refuses(buf_text(&script)))
            fail_msg("allowed: %s", line);
    }
    printf("# %zu scripts allowed\n", allowed);
    assert_true(allowed > 100);
    policy_free(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(harmless_for_sed_too)};
    return cmocka_run_group_tests(tests, use_tools, NULL);
}

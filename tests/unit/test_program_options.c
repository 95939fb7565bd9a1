/* Options that make more of a program than an approval of it was meant for. The rows are in data/program_options.txt. */
#include <cmocka.h>
#include <stdio.h>

#include "doc_rules.h"
#include "base/buf.h"

#define ROWS SOURCE_DIR "/tests/unit/data/program_options.txt"
#define LINE_BYTES 1024
#define ADDED_MAX 24

struct row {
    char text[LINE_BYTES];
    const char *use;
    const char *added[ADDED_MAX];
    size_t n;
};

static void split_row(struct row *row)
{
    static const char mark[] = " :: ";
    row->text[strcspn(row->text, "\n")] = '\0';
    row->use = row->text;
    row->n = 0;
    for (char *at = row->text; (at = strstr(at, mark));) {
        *at = '\0';
        at += sizeof mark - 1;
        assert_true(row->n < ADDED_MAX);
        row->added[row->n++] = at;
    }
}

static void each_row(void (*check)(const struct row *row))
{
    struct row row;
    size_t n = 0;
    FILE *f = fopen(ROWS, "re");
    assert_non_null(f);
    while (fgets(row.text, sizeof row.text, f)) {
        if (row.text[0] == '#')
            continue;
        split_row(&row);
        check(&row);
        n++;
    }
    fclose(f);
    assert_true(n > 150);
}

/* Approves the program of this line; `more` is what else the condition says. */
static struct policy *approve_program(const char *line, const char *more)
{
    FREE_AT_END char *json = mem_format(
        "{'approval':{'default':'prompt','rules':[{'toolName':'run_command','action':'approve',"
        "'condition':{'command':{'program':'%.*s'%s}}}]}}",
        (int)strcspn(line, " "), line, more);
    return make_policy(json);
}

/* The rule that a person would be offered for this line. */
static struct policy *approve_always(const char *line)
{
    BUF_AT_END struct buf rule = BUF_INIT(1 << 16);
    yyjson_mut_doc *mut = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(mut);
    yyjson_mut_doc_set_root(mut, root);
    yyjson_mut_obj_add_str(mut, root, "command", line);
    JSON_AT_END yyjson_doc *doc = yyjson_mut_doc_imut_copy(mut, NULL);
    yyjson_mut_doc_free(mut);
    struct policy_call call = make_call("native:run_command", doc);
    if (!propose_rule(&call, NULL, NULL, &rule))
        fail_msg("nothing is offered for %s", line);
    FREE_AT_END char *config = mem_format("{\"approval\":{\"default\":\"prompt\",\"rules\":["
                                          "{\"action\":\"approve\",%s]}}",
                                          buf_text(&rule) + 1);
    return make_plain_policy(config);
}

static void none_passes(const struct policy *policy, const struct row *row, const char *what)
{
    char line[LINE_BYTES * 2];
    if (!line_is_allowed(policy, row->use))
        fail_msg("%s: not allowed: %s", what, row->use);
    for (size_t i = 0; i < row->n; i++) {
        snprintf(line, sizeof line, "%s %s", row->use, row->added[i]);
        if (line_is_allowed(policy, line))
            fail_msg("%s: allowed: %s", what, line);
    }
}

static void check_approved(const struct row *row)
{
    struct policy *policy = approve_program(row->use, "");
    none_passes(policy, row, "by the program");
    policy_free(policy);
}

static void an_approved_program_asks(void **state)
{
    (void)state;
    each_row(check_approved);
}

static void check_always(const struct row *row)
{
    struct policy *policy = approve_always(row->use);
    none_passes(policy, row, "by what was offered");
    policy_free(policy);
}

static void what_was_offered_asks(void **state)
{
    (void)state;
    each_row(check_always);
}

/* Another program that find runs is not approved by its name. */
static void check_any(const struct row *row)
{
    struct policy *policy = approve_program(row->use, ",'options':'any'");
    for (size_t i = 0; i < row->n && strncmp(row->use, "find ", 5) != 0; i++) {
        char line[LINE_BYTES * 2];
        snprintf(line, sizeof line, "%s %s", row->use, row->added[i]);
        if (!line_is_allowed(policy, line))
            fail_msg("not allowed with any option: %s", line);
    }
    policy_free(policy);
}

static void any_option_may_be_approved(void **state)
{
    (void)state;
    each_row(check_any);
}

static const struct policy *doc_policy;

static void check_doc_row(const struct row *row)
{
    char line[LINE_BYTES * 2];
    for (size_t i = 0; i < row->n; i++) {
        snprintf(line, sizeof line, "%s %s", row->use, row->added[i]);
        if (line_is_allowed(doc_policy, line))
            fail_msg("a rule set of the docs allows: %s", line);
    }
}

static void check_doc_rules(const struct policy *policy, const char *const *names)
{
    assert_non_null(names[0]);
    doc_policy = policy;
    each_row(check_doc_row);
}

static void rule_sets_of_the_docs_ask(void **state)
{
    (void)state;
    each_doc_rules(check_doc_rules);
}

/* Lines, each by an approval of all programs in it. */
static const char *const asking[] = {
    "git -c core.pager=./x status",
    "git -C status -c core.fsmonitor=./x status",
    "git --exec-path=./x status",
    "git --git-dir=./x status",
    "git -p log",
    "git alias-of-mine",
    "git --unheard-of x status",
    "git -C .. commit -m x",
    "git -C sub commit -m x",
    "git -C ../other log -1",
    "git -C /elsewhere diff --stat",
    "git difftool",
    "git config x y",
    "git bisect run ./x",
    "git submodule foreach ./x",
    "cargo alias-of-mine",
    "tar xIf ./x a.tar",
    "tar cTf b a.tar",
    "strace -o '|./x' ls",
    "nohup time -o b ls",
    "sed e a",
    "sed 'w b' a",
    "sed -n '/a/w b' a",
    "sed 's/a/b/w b' a",
    "sed 's/a/b/ge' a",
    "sed 's/[/]/e/;p' a",
    "sed 's/[[:alpha:]/]/e/;p' a",
    "sed 's/[]/]/e/;p' a",
    "sed '1{p;w b' a",
    "sed '$!e' a",
    "sed -- 'w b' -e",
    "sed p -e 'w b'",
    "sed 'w b' -e p",
    "sed -ne'w b' a",
    "sed -n \"$x\" a",
    "sed r/etc/passwd a",
    "sed '\\xaxw b' a",
    "sed 'y/a/b/;w b' a",
    "sed 's,a,b,;s,a,b,e' a",
    "sed --debug p a",
    "sed 'b x w made' a",
    "sed 't w made' a",
    "hyperfine ./x",
    "sed -n $x p a",
    "awk 'BEGIN{system(\"./x\")}'",
    "awk '{print > \"b\"}' a",
    "awk '{print | \"./x\"}' a",
    "awk '{\"./x\" | getline}' a",
    "awk '{printf \"a\" >> \"b\"}' a",
    "awk '@load \"x\"' a",
    "awk -f b a",
    "awk --file=b a",
    "awk -i inplace 1 a",
    "awk -F $x 1 a",
    "awk \"$x\" a",
    "gawk -e 'BEGIN{system(\"./x\")}'",
    "sort $x",
    "sort *",
    "ls | xargs sort",
    "ls | xargs sed p",
    "uniq -- a b",
    "ldd a",
    "echo x | sqlite3 a.db",
    "echo x | (sqlite3 a.db)",
    "(sqlite3 a.db) < b",
    "(sqlite3 a.db; true) <b",
    "sqlite3 a.db <<'EOF'\nx\nEOF\n",
    "sqlite3 a.db < b",
    "cat a | sh -c 'sqlite3 a.db'",
    "cat a | timeout 5 sqlite3 a.db",
    "ls | psql a",
    "ls | mysql a",
    "ls | ed a",
    "ls | bc",
    "ls | redis-cli",
    "cat < /dev/tcp/127.0.0.1/9",
    "cat </dev/udp/127.0.0.1/9",
    "cat < '/dev/tcp/127.0.0.1/9'",
    "cat < /dev/t\\cp/127.0.0.1/9",
    "[ $x ]",
    "[ -n $x ]",
    "[ \"$x\" \"$y\" ]",
    "[ \"$x\" -o \"$y\" ]",
    "[ a -a \"$x\" b ]",
    "[ -v a ]",
    "test \"$x\" \"$y\" \"$z\"",
    "pipenv run touch x",
    "pdm run touch x",
    "hatch run touch x",
    "mamba run touch x",
    "tox exec -- touch x",
    "coverage run x.py",
    "pipx run x",
    "pre-commit try-repo x",
    "nerdctl exec a touch x",
    "oc exec a touch x",
    "tofu console",
    "hg serve",
    "bundler exec touch x",
    "playwright codegen",
    "golangci-lint custom",
    "docker container exec a touch x",
    "docker compose exec a touch x",
    "podman container cp a b",
    "docker compose -f b up",
    "uv run touch x",
    "uv tool run x",
    "uvx x",
    "lerna exec -- touch x",
    "nx exec -- touch x",
    "pnpm touch x",
    "pnpm git push",
    "bun run touch x",
    "yarn workspace a exec touch x",
    "npx touch x",
    "duckdb -c '.shell x'",
    "duckdb a.db 'select 1'",
    "vim -c '!x' a",
    "lftp -c '!x'",
    "gnuplot -e 'system \"x\"'",
    "emacs --batch --eval x",
    "debugfs -R '!x' a",
    "xfs_io -c x a",
    "ed a",
    "ex -c '!x' a",
    "printf '%n' PATH",
    "printf '%d%5.*ln' 1 2 PATH",
    "printf '%s%%%hhn' a HOME",
    "printf '%(%s)T%n' 1 PATH",
    "printf -v x y",
    "ls | xargs -I X -n 9 sort",
    "ls | xargs xargs -I X sort",
    "ls | xargs -I X -L 1 sort",
    "ls | xargs -IX --max-args=2 sort X",
    "ls | xargs -I X --max-lines=2 sort",
    "ls | xargs -I X --max-lines sort",
    "echo a | xargs --max-lines rm make -r",
    "echo a | xargs --max-lines rm cat",
    "echo a | xargs --replace cat {}",
    "echo a | xargs --eof cat",
    "find . -ok sort {} + -o b \\;",
    "find . -okdir sort {} + -o b \\;",
    "find . -ok sort {} +",
};

static const char *const allowed[] = {
    "make -C build test",
    "make --directory=build -j8 test",
    "make -Cbuild",
    "ninja -C build",
    "git -C . status",
    "git -C /workspace log -1",
    "git --no-pager log --oneline -5",
    "git push -u origin main",
    "git log -- --output",
    "npm --prefix web test",
    "npm --prefix=web run build",
    "npm test --prefix web",
    "yarn --cwd web test",
    "[ -n \"$x\" ]",
    "[ \"$x\" = a ]",
    "[ ! -z \"$x\" ]",
    "[ ! \"$x\" != \"$y\" ]",
    "test -f \"$x\"",
    "[ \"$x\" ]",
    "cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug",
    "cmake --build build -j",
    "mvn -q -DskipTests package",
    "mvn test -Dtest=Foo",
    "sort -k2,2n -t: a",
    "sort -ko a",
    "tar -czf a.tgz src",
    "tar xzf a.tgz",
    "sed -n 5,10p a",
    "sed -n '/a/,/b/p' a",
    "sed -E 's/(a|b)[^x]*$/\\1/gp;$d' a",
    "sed -e 's|/a/|/b/|' -e '1,3d' a",
    "sed 's/[[:space:]]*$//;/^$/d' a",
    "sed '/a/{s/b/c/;p;}' a",
    "sed -n '$=' a",
    "sed 10q a",
    "sed -n '/a/{p;b};p' a",
    "awk '{print $1}' a",
    "awk -F: '$3 >= 1000 {print $1, $NF}' a",
    "awk -F ',' -v n=3 '$1 > n && $2 || !x { s += $2 } END { printf \"%d\\n\", s }' a",
    "awk '$3 > 5 {print}' a",
    "ls | xargs sort --",
    "gcc -Wall -O2 -Wl,-z,now -c a.c",
    "sqlite3 a.db 'select 1' | head",
    "cat < a; sqlite3 a.db 'select 1'",
    "cat < /dev/null",
    "cat a | sort | jq .",
    "go test ./... -run TestX -v",
    "pytest -kcop -x tests",
    "pytest tests -k 'a and not b'",
    "cargo test --all -- --nocapture",
    "curl -sS http://a",
    "find . -name '*.c' -newer a",
    "docker logs -f a",
    "docker compose logs -f a",
    "docker image prune -f",
    "date +%s",
    "cmake ..",
    "cmake -Bbuild -S.",
    "cmake --build build -- -j4 -k",
    "tox -e py311 -- tests/a.py",
    "pnpm -C web build",
    "pnpm test:unit",
    "pnpm install",
    "bun run test:unit",
    "yarn test",
    "printf '%s %d%%\\n' a 1",
    "printf '%(%n)T' 1",
    "echo a | xargs --max-lines cat",
    "echo a | xargs --max-lines=2 cat",
    "ls | xargs -n 1 -I X cat X",
    "find . -exec cat {} + -ok cat {} \\;",
    "npm -s run build",
    "npm test --silent",
    "git branch --format='%(refname)'",
};

static struct policy *approve_all(void)
{
    static const char programs[] =
        "'git','cargo','tar','ls','sed','awk','gawk','sort','xargs','uniq','ldd','[','test','make',"
        "'ninja','npm','yarn','cmake','mvn','gcc','go','pytest','curl','find','docker','date','time',"
        "'strace','nohup','hyperfine','sqlite3','psql','mysql','ed','bc','redis-cli','echo','true',"
        "'cat','head','jq','sh','timeout','pipenv','pdm','hatch','mamba','tox','coverage','pipx',"
        "'pre-commit','nerdctl','oc','tofu','hg','bundler','playwright','golangci-lint','podman','uv',"
        "'uvx','lerna','nx','pnpm','bun','npx','duckdb','vim','lftp','gnuplot','emacs','debugfs',"
        "'xfs_io','ex','printf'";
    FREE_AT_END char *json = mem_format(
        "{'approval':{'default':'prompt','rules':[{'toolName':'run_command','action':'approve',"
        "'condition':{'command':{'program':[%s]}}}]}}",
        programs);
    return make_policy(json);
}

static void lines(void **state)
{
    (void)state;
    struct policy *policy = approve_all();
    for (size_t i = 0; i < ARRAY_LEN(asking); i++) {
        if (line_is_allowed(policy, asking[i]))
            fail_msg("allowed: %s", asking[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
        if (!line_is_allowed(policy, allowed[i]))
            fail_msg("not allowed: %s", allowed[i]);
    }
    policy_free(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(an_approved_program_asks),
        cmocka_unit_test(what_was_offered_asks),
        cmocka_unit_test(any_option_may_be_approved),
        cmocka_unit_test(rule_sets_of_the_docs_ask),
    };
    return cmocka_run_group_tests(tests, use_tools, NULL);
}

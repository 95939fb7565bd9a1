/* Rules about subcommands and targets: an approval covers every word that may be one, and a denial holds for every way of
 * writing it that the program takes. */
#include <cmocka.h>
#include <stdio.h>
#include <time.h>

#include "judge_parts.h"
#include "policy/command_names.h"
#include "policy/program_names.h"

#define DENIALS SOURCE_DIR "/tests/unit/data/subcommand_denials.txt"
#define LINE_BYTES 4096

static struct policy *with_rule(const char *action, const char *fallback, const char *programs)
{
    FREE_AT_END char *json = mem_format(
        "{'approval':{'default':'%s','rules':[{'toolName':'run_command','action':'%s',"
        "'condition':{'command':{'program':[%s]}}}]}}",
        fallback, action, programs);
    return make_policy(json);
}

struct row {
    const char *programs;
    const char *lines[64]; /* NULL-ended */
};

static void check_lines(const struct row *rows, size_t n, const char *action, const char *fallback,
                        bool allowed)
{
    for (size_t i = 0; i < n; i++) {
        struct policy *policy = with_rule(action, fallback, rows[i].programs);
        for (size_t k = 0; rows[i].lines[k]; k++) {
            if (line_is_allowed(policy, rows[i].lines[k]) != allowed)
                fail_msg("%s %s: %s: %s", action, rows[i].programs,
                         allowed ? "not allowed" : "allowed", rows[i].lines[k]);
        }
        policy_free(policy);
    }
}

static void other_targets_ask(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"'make test'",
         {"make test deploy", "make deploy test", "make", "make -j4 test deploy",
          "make test -- deploy", "make test -C sub deploy", "make test $x", "make test a*",
          "make ./test", "make test V=1", "make -C $x test", "ls | xargs make test",
          "make test -- -C x", "make -f x test", NULL}},
        {"'make'", {"make S*/* t", "make t S*/*", "make t \"a$x\"", NULL}},
        {"'mvn test'", {"mvn test deploy", "mvn clean test", "mvn test -pl core deploy", NULL}},
        {"'gradle test'", {"gradle test dTF", "gradle tes", "gradle :app:test", NULL}},
        {"'ninja test'", {"ninja test install", "ninja install test", "ninja x/../test", NULL}},
        {"'just test'", {"just test deploy", "just deploy", NULL}},
        {"'sbt testOnly'", {"sbt 'testOnly ;publish'", "sbt testOnly publish", NULL}},
        {"'git status'",
         {"git-status", "git x", "/usr/lib/git-core/git-status", "git 'status -s'",
          "git status\\ x", NULL}},
        {"'npm run test'", {"npm run-script test", "npm t", "npm test", NULL}},
        {"'uv run pytest','npx sort','poetry run sort'",
         {"uv run touch x", "uv run pytest -p x", "uv run env pytest", "npx sort -o b",
          "npx -y rm x", "poetry run sort --output=b", "uv run -m pytest", NULL}},
    };
    check_lines(rows, ARRAY_LEN(rows), "approve", "prompt", false);
}

static void named_targets_pass(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"'make test','make lint'",
         {"make test", "make test lint", "make lint test", "make -j4 test", "make -C sub test",
          "make test -j4", "make test 2>&1 | cat >/dev/null; make lint", NULL}},
        {"'make'", {"make", "make a b c", "make -- a", NULL}},
        {"'mvn test','mvn clean'", {"mvn clean test", "mvn test -pl core", "mvn -B test", NULL}},
        {"'gradle test'", {"gradle test", "gradle test --tests Foo", NULL}},
        {"'./gradlew build'", {"./gradlew build", NULL}},
        {"'ninja test'", {"ninja -C build test", NULL}},
        {"'npm run test'", {"npm run test", NULL}},
        {"'uv run pytest','npx tsc','poetry run pytest'",
         {"uv run pytest -q tests", "npx tsc --noEmit", "npx -y tsc", "poetry run pytest -q",
          NULL}},
    };
    check_lines(rows + 1, ARRAY_LEN(rows) - 1, "approve", "prompt", true);
    struct row first = rows[0];
    first.programs = "'make test','make lint','cat'";
    check_lines(&first, 1, "approve", "prompt", true);
}

static void other_spellings_are_denied(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"'make deploy'",
         {"make deploy", "make test deploy", "make V=1 deploy", "make -j4 deploy", "make ./deploy",
          "make test -- deploy", "make -- -C deploy", "make x/../deploy", "make $x", "make d*",
          "make .DEFAULT_GOAL=deploy", "make --eval='x: deploy' x", "ls | xargs make",
          "make -j 4 deploy", "flock f make deploy", "make -C $x deploy", "gmake -h; make deploy",
          NULL}},
        {"'gradle deployToFoo'",
         {"gradle dTF", "gradle depToF", "gradle deploy", "gradle :app:dTF", "gradle test dtf",
          "gradle :deployToFoo", "gradle deploy-to", NULL}},
        {"'mvn deploy'",
         {"mvn clean deploy", "mvn deploy:deploy", "mvn -B test deploy",
          "mvn org.apache.maven.plugins:maven-deploy-plugin:3.0:deploy", NULL}},
        {"'npm run deploy'",
         {"npm run deploy", "npm run-script deploy", "npm rum deploy", "npm urn deploy",
          "npm -s run deploy", "npm --x y run deploy", NULL}},
        {"'npm publish'", {"npm publish", "npm pub", "npm publ", "npm -w a publish", NULL}},
        {"'yarn run deploy'", {"yarn deploy", "yarn run deploy", "yarn --cwd a deploy", NULL}},
        {"'npm install'", {"npm i", "npm add x", "npm isntall", NULL}},
        {"'cargo publish'", {"cargo publish", "cargo p", "cargo my-alias", NULL}},
        {"'cargo run'", {"cargo r", "cargo +nightly run", NULL}},
        {"'docker push'", {"docker image push x", "docker push", NULL}},
        {"'docker compose up'", {"docker-compose up", "docker compose up", NULL}},
        {"'git push'",
         {"git push",
          "git-push",
          "/usr/lib/git-core/git-push origin",
          "git p",
          "git -c alias.x=push x",
          "git -c 'alias.x=!git push' x",
          "git -C sub push",
          "git $x",
          "git rebase -x 'git push' main",
          "git rebase -x 'g\\it pu\"\"sh' main",
          "git submodule foreach git push",
          "git bisect run git push",
          "flock f git push",
          "flock f $x",
          "flock f git p",
          "parallel git ::: push",
          "firejail /usr/bin/git push",
          "git -c core.editor='git push' commit",
          "x=1; flock f git-push",
          "unknown-tool git push",
          "bundle exec git push",
          "pipenv run git push",
          "hatch run git push",
          "uv run git push",
          "uv tool run git push",
          "uvx git push",
          "lerna exec -- git push",
          "nx exec -- git push",
          "pnpm git push",
          "pnpm exec git push",
          "bun run git push",
          "yarn git push",
          "npx git push",
          "echo origin | xargs --max-lines git push",
          "echo origin | xargs --max-lines=1 git push",
          "echo origin | xargs -l git push",
          "echo origin | xargs --replace git push {}",
          "echo origin | xargs --eof git push",
          "for x in a; do git push; done",
          NULL}},
        {"'rm'", {"flock f rm x", "parallel rm ::: x", "setpriv --x rm y", NULL}},
    };
    check_lines(rows, ARRAY_LEN(rows), "deny", "approve", false);
}

/* The rows are in a file. */
static void check_denied_row(char *row)
{
    static const char mark[] = " :: ";
    char *next = strstr(row, mark);
    assert_non_null(next);
    *next = '\0';
    FREE_AT_END char *program = mem_format("'%s'", row);
    struct policy *policy = with_rule("deny", "approve", program);
    while (next) {
        char *line = next + sizeof mark - 1;
        next = strstr(line, mark);
        if (next)
            *next = '\0';
        if (line_is_allowed(policy, line))
            fail_msg("%s is denied, and this is allowed: %s", row, line);
    }
    policy_free(policy);
}

static void no_other_way_is_allowed(void **state)
{
    (void)state;
    char row[LINE_BYTES];
    size_t n = 0;
    FILE *f = fopen(DENIALS, "re");
    assert_non_null(f);
    for (; fgets(row, sizeof row, f);) {
        row[strcspn(row, "\n")] = '\0';
        if (row[0] == '#')
            continue;
        check_denied_row(row);
        n++;
    }
    fclose(f);
    assert_true(n > 150);
}

/* A program may be there under several names. */
static void other_names_are_denied(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"'perl'", {"perl5.36.0 x", "/usr/bin/perl5.36 x", "perl -e 1", NULL}},
        {"'perl5.36.0'", {"perl x", NULL}},
        {"'python3'", {"python3.11 x", "python x", "/usr/bin/python3.11 -c 1", NULL}},
        {"'gcc'", {"gcc-12 x.c", "x86_64-linux-gnu-gcc-12 x.c", NULL}},
        {"'vim'", {"vim.basic x", "vi x", "vim.tiny x", NULL}},
        {"'awk'", {"mawk 1 x", "gawk 1 x", NULL}},
        {"'node'", {"nodejs x", NULL}},
        {"'npm exec'", {"npx x", NULL}},
        {"'npm'",
         {"npx x", "/usr/bin/npx x", "npx-cli.js x", "timeout 5 npx x", "corepack npm x",
          "xargs npx", "node /usr/lib/node_modules/npm/bin/npm-cli.js x",
          "node /opt/node_modules/npm/lib/cli.js",
          "node --x /usr/lib/node_modules/npm/bin/npx-cli.js x", "sh -c 'npx x'", NULL}},
        {"'npx'", {"npm exec x", "npm x y", NULL}},
        {"'pnpm'", {"pnpx x", "corepack pnpm x", NULL}},
        {"'pnpx'", {"pnpm dlx x", NULL}},
        {"'yarn'", {"yarnpkg x", "node .yarn/releases/yarn-4.0.cjs x", NULL}},
        {"'yarnpkg'", {"yarn x", NULL}},
        {"'pip'",
         {"pip3 x", "pip3.11 x", "python3 -m pip x", "python3.11 -mpip x", "python3 -Im pip x",
          "python3 -W x -m pip x", "python3 /usr/bin/pip x", "/usr/bin/python -m pip x",
          "py -m pip x", ".venv/bin/python -m pip list", NULL}},
        {"'pip3.11'", {"pip x", "pip3 x", "python3 -m pip x", NULL}},
        {"'pytest'", {"python3 -m pytest x", NULL}},
        {"'uv'", {"uvx x", NULL}},
        {"'bun'", {"bunx x", NULL}},
        {"'docker'", {"docker-compose up", NULL}},
    };
    static const struct row approved[] = {
        {"'perl'", {"perl5.36.0 x", NULL}},
        {"'python3'", {"python3.11 x", "python x", NULL}},
        {"'gcc-12'", {"gcc-12 -wrapper ./x a.c", "gcc-12 -Bdir a.c", "gcc a.c", NULL}},
        {"'pip3.11'", {"pip3.11 install -i http://x a", NULL}},
    };
    check_lines(rows, ARRAY_LEN(rows), "deny", "approve", false);
    check_lines(approved, ARRAY_LEN(approved), "approve", "prompt", false);
}

/* What is none of it passes, though it may look alike. */
static void others_are_not_denied(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"'make deploy'",
         {"make", "make test", "make deploy-docs", "make -j4 a b", "make V=1 test", "echo deploy",
          NULL}},
        {"'gradle deployToFoo'", {"gradle test", "gradle build -x deployToFoo", NULL}},
        {"'mvn deploy'", {"mvn clean test", "mvn test -Dtest=deploy_it", NULL}},
        {"'npm run deploy'", {"npm run test", "npm test", "npm install deploy", "npm run", NULL}},
        {"'docker push'", {"docker ps", "docker image ls", NULL}},
        {"'git push'",
         {"git status", "git commit -m 'describe git push'", "echo git push",
          "grep -rn 'git push' docs > out", "git log --grep push", "git stash push",
          "git -c user.name=x commit -m x", "cp git/push x", "flock f git pull",
          "sed -i 's/a/b/' x", NULL}},
        {"'git stash pop'", {"git stash", "git stash list", NULL}},
        {"'rm'", {"flock f ls", "echo rm", "docker rm x", NULL}},
        {"'git push'",
         {"GIT_AUTHOR_NAME=x git commit -m y", "bash x.sh", "sh -c 'git status'",
          "git fetch --prune", "source ./x", "alias l=ls", NULL}},
        {"'git push'",
         {"parallel gzip ::: a b", "ls | parallel -j 4 gzip", "script -qc 'npm test' /dev/null",
          "su -c ls", "sudo ls", "unshare -r ls", "nsenter -t 1 ls", "fakeroot make", NULL}},
        {"'apt remove'", {"apt update", "apt-get install x", "aptitude search x", NULL}},
        {"'pip install'", {"pip list", "pip3 show x", "python3 x.py", "python3 -m pytest", NULL}},
        {"'docker rm'", {"docker run x", "docker ps", "docker rmi x", "docker image ls", NULL}},
        {"'docker rmi'", {"docker rm x", "docker images", NULL}},
        {"'docker push'", {"docker build .", "docker compose up", NULL}},
        {"'npm publish'", {"npm ls", "npm test", "npm run build", "npx tsc", NULL}},
        {"'yarn publish'", {"yarn workspace a test", "yarn test", "yarn", NULL}},
        {"'composer remove'", {"composer install", "composer show", NULL}},
        {"'hg push'", {"hg status", "hg log", "hg diff", NULL}},
        {"'helm install'", {"helm upgrade a b", "helm list", NULL}},
        {"'python3'", {"python2 x", "python3-config --libs", "pytest", NULL}},
        {"'npm'", {"node x.js", "nodejs x", "yarn x", "ls npx", NULL}},
        {"'npx'", {"npm ci", "npm run x", "npm test", NULL}},
        {"'bunx'", {"bun test", NULL}},
        {"'uvx'", {"uv sync", "uv run x", NULL}},
        {"'pip'", {"python3 x.py", "python3 -m pytest pip", "python3 -c pip", NULL}},
        {"'docker-compose'", {"docker ps", NULL}},
        {"'gcc-12'", {"gcc-11 a.c", "g++-12 a.cc", NULL}},
        {"'base64'", {"base32 x", NULL}},
        {"'kubectl delete'", {"kubectl get pods", "kubectl -n a describe b", NULL}},
    };
    check_lines(rows, ARRAY_LEN(rows), "deny", "approve", true);
}

/* A pattern, or what find and xargs put in, may be any number of words, and may hold any character behind its beginning. */
static void patterns_may_be_several_words(void **state)
{
    (void)state;
    static const struct row asks[] = {
        {"'uniq'",
         {"uniq a*", "uniq -c a?", "uniq -f a*", "find . -exec uniq {} +", "uniq *", "uniq -- a*",
          "ls | xargs uniq", "uniq -c -- -x b", "uniq -c -- -f b", "uniq -f -- -- b", NULL}},
        {"'uniq','find'", {"find . -exec uniq {} +", NULL}},
        {"'sort','find'",
         {"find -files0-from - -exec sort {} +", "find . -files0-from x -exec sort {} +", "sort *",
          "sort ?x", "sort -*", "find $x -exec sort {} +", NULL}},
        {"'tar'", {"tar c* x", "tar ?f x", "tar tf a*", "tar -T x -tf a.tar", NULL}},
        {"'xxd','ptx'", {"xxd a*", "ptx a?", NULL}},
        {"'ip'", {"ip n*s x", NULL}},
        {"'git fetch'", {"git fetch ext*", "git fetch \"ext$x\"", NULL}},
    };
    static const struct row passes[] = {
        {"'uniq','find'", {"uniq a", "find . -exec uniq {} \\;", NULL}},
        {"'sort','find'", {"sort a*", "sort ./*", "find . -exec sort {} +", "sort -n a?", NULL}},
        {"'tar'", {"tar tf a.tar", "tar -tf a.tar ./*", NULL}},
        {"'cat'", {"cat a*", "cat ./*", NULL}},
    };
    check_lines(asks, ARRAY_LEN(asks), "approve", "prompt", false);
    check_lines(passes, ARRAY_LEN(passes), "approve", "prompt", true);
}

/* An option for each that may hold the program: a look from each of them to the end would take minutes. */
static void many_names_take_no_time(void **state)
{
    (void)state;
    static const char *const words[] = {"-xgit ", "git --x -xgit ", "-xgit push-x "};
    const size_t n = 60000;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        FREE_AT_END char *names = mem_zero(n + 1);
        for (size_t at = 0; at < n; at++)
            names[at] = at ? words[i][(at - 1) % strlen(words[i])] : ' ';
        clock_t start = clock();
        command_names_hold(names, "git", "clean");
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (seconds > 10)
            fail_msg("`%s` again and again takes too long: %f", words[i], seconds);
    }
    assert_true(command_names_hold(" a -xgit -xgit --b clean ", "git", "clean"));
    assert_true(command_names_hold(" -xgit status git clean ", "git", "clean"));
    assert_false(command_names_hold(" clean -xgit status ", "git", "clean"));
}

/* A command as long as it may be, in which each word runs the next. */
static void long_chains_take_no_time(void **state)
{
    (void)state;
    static const char *const chains[][2] = {
        {"uv run ", "uv run "},
        {"npx ", "npx "},
        {"tox ", "-- a "},
        {"kubectl exec ", "-- "},
        {"docker exec c ", "docker exec c "},
        {"fd ", "-x a "},
        {"parallel ", "parallel "},
        {"poetry run ", "uv run "},
        {"git ", "submodule foreach "},
        {":; ", "for t in a; do bash $t; done; "},
        {"docker run i ", "uv run "},
    };
    struct policy *policy = with_rule("deny", "approve", "'git push'");
    for (size_t i = 0; i < ARRAY_LEN(chains); i++) {
        BUF_AT_END struct buf line = BUF_INIT(64000);
        buf_add_text(&line, chains[i][0]);
        while (line.len + strlen(chains[i][1]) + 1 < 64000)
            buf_add_text(&line, chains[i][1]);
        clock_t start = clock();
        line_is_allowed(policy, buf_text(&line));
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (seconds > 5)
            fail_msg("`%s%s` again and again takes %f s", chains[i][0], chains[i][1], seconds);
    }
    policy_free(policy);
}

/* The quick look at many names finds the same as the slow one at each. */
static void the_same_programs_are_wanted(void **state)
{
    (void)state;
    static const char *const names[] = {
        "git",
        "hub",
        "git.real",
        "gi",
        "gitx",
        "git2",
        "x86_64-linux-gnu-git",
        "python",
        "python3",
        "python3.11",
        "python2",
        "python3-coverage",
        "python-coverage",
        "coverage3",
        "coverage",
        "pytest",
        "py.test",
        "pytest-3",
        "pip",
        "pip3.11",
        "pip-3.11",
        "vim",
        "vi",
        "vim.basic",
        "nvim",
        "nc",
        "ncat",
        "nc.openbsd",
        "node",
        "nodejs",
        "awk",
        "original-awk",
        "gcc-12",
        "x86_64-linux-gnu-gcc-12",
        "gcc",
        "npm-cli.js",
        "npm",
        "a",
        "3",
        "-",
        "",
        "apt-get",
        "apt",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct program_wanted wanted;
        program_want(&wanted, text_str(names[i]));
        for (size_t k = 0; k < ARRAY_LEN(names); k++) {
            bool same = program_is_same(text_str(names[k]), text_str(names[i]));
            if (program_is_wanted(&wanted, text_str(names[k])) != same)
                fail_msg("`%s` for `%s` is %d", names[k], names[i], !same);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_targets_ask),
        cmocka_unit_test(named_targets_pass),
        cmocka_unit_test(other_spellings_are_denied),
        cmocka_unit_test(no_other_way_is_allowed),
        cmocka_unit_test(other_names_are_denied),
        cmocka_unit_test(others_are_not_denied),
        cmocka_unit_test(patterns_may_be_several_words),
        cmocka_unit_test(many_names_take_no_time),
        cmocka_unit_test(long_chains_take_no_time),
        cmocka_unit_test(the_same_programs_are_wanted),
    };
    return cmocka_run_group_tests(tests, use_tools, NULL);
}

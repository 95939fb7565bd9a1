#include "policy/program_variables.h"

#include <string.h>

#include "base/str.h"
#include "core/path.h"
#include "core/shells.h"
#include "policy/command_uses.h"
#include "policy/command_walk.h"

/* Lists have a blank before and behind each. A name that ends in `*` stands for all that begin with it. */
static const char runs[] =
    " GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_SSH GIT_SSH_COMMAND "
    "GIT_PROXY_COMMAND GIT_ASKPASS GIT_MERGETOOL* GIT_TRANSPORT* SSH_ASKPASS SUDO_ASKPASS PAGER MANPAGER "
    "BAT_PAGER DELTA_PAGER GH_PAGER GH_BROWSER GH_EDITOR GLAB_PAGER AWS_PAGER PSQL_PAGER PSQL_EDITOR "
    "SYSTEMD_PAGER SYSTEMD_EDITOR EDITOR VISUAL FCEDIT HGEDITOR HGMERGE SVN_EDITOR SVN_SSH HG_SSH "
    "CVS_RSH RSYNC_RSH RSYNC_CONNECT_PROG LESSOPEN LESSCLOSE LESSEDIT MANROFFOPT BROWSER SHELL "
    "CONFIG_SHELL MAKESHELL RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC KUBE_EDITOR "
    "KUBECTL_EXTERNAL_DIFF FZF_DEFAULT_COMMAND TEXEDIT NODE_REPL_EXTERNAL_MODULE PROMPT_COMMAND PS4 "
    "LPDEST PYTHONBREAKPOINT ";

/* Their values are options, or name a file that is read: settings, code, libraries. */
static const struct settings {
    const char *names;
    const char *harmless; /* words of a value that say nothing about what is started */
} settings[] = {
    {" GIT_CONFIG_COUNT ", " 0* 1* 2* 3* 4* 5* 6* 7* 8* 9* "},
    {" GIT_CONFIG_KEY_* ",
     " user.* advice.* color.* safe.directory init.defaultbranch init.defaultBranch core.quotepath "
     "core.quotePath core.autocrlf core.filemode core.fileMode core.abbrev commit.gpgsign "
     "commit.gpgSign tag.gpgsign tag.gpgSign gc.auto http.sslverify http.sslVerify "
     "protocol.version pull.rebase pull.ff "},
    {" GIT_CONFIG_VALUE_* ", " * "}, /* the key says what it is for */
    {" GIT_CONFIG_NOSYSTEM ", " * "},
    {" GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM ", " /dev/null "},
    {" GIT_CONFIG GIT_CONFIG_* GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_ALLOW_PROTOCOL ", NULL},
    {" BASH_ENV BASH_FUNC_* SHELLOPTS BASHOPTS LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES ", NULL},
    {" PYTHONSTARTUP PYTHONINSPECT PYTHONHOME PYTEST_PLUGINS RUBYOPT PERL5OPT PERL5DB ", NULL},
    {" PYTEST_ADDOPTS ", " -q -v -vv -x -s -ra -rA --tb=* --maxfail=* --color=* --durations=* "},
    {" NODE_OPTIONS ",
     " --max-old-space-size=* --max_old_space_size=* --no-warnings --no-deprecation "
     "--enable-source-maps --trace-* --unhandled-rejections=* --experimental-vm-modules "
     "--openssl-legacy-provider --stack-trace-limit=* --dns-result-order=* "},
    {" MAKEFLAGS MFLAGS GNUMAKEFLAGS ",
     " -j* j* -s s -k k -w -B --silent --quiet --no-print-directory --output-sync* -O* --jobs=* 1 2 4 8 "
     "16 "},
    {" MAKEFILES ", NULL},
    {" GOFLAGS ",
     " -mod=* -count=* -v -race -short -trimpath -buildvcs=* -tags=* -p=* -modcacherw "},
    {" GOENV ", " off "},
    {" CARGO_TERM_* CARGO_INCREMENTAL CARGO_NET_* CARGO_PROFILE_* CARGO_BUILD_JOBS CARGO_TARGET_DIR "
     "CARGO_BUILD_TARGET CARGO_BUILD_TARGET_DIR CARGO_PKG_* CARGO_MANIFEST_DIR ",
     " * "},
    {" CARGO_* ", NULL},
    {" RUSTFLAGS RUSTDOCFLAGS ",
     " -D* -A* -W* -F* -C -Ctarget-cpu=* -Copt-level=* -Cdebuginfo=* -Cinstrument-coverage target-cpu=* "
     "opt-level=* debuginfo=* instrument-coverage debug-assertions* overflow-checks* --cfg* warnings "
     "unused* dead_code missing_docs "},
    {" NPM_CONFIG_SCRIPT* NPM_CONFIG_NODE_OPTIONS NPM_CONFIG_SHELL NPM_CONFIG_EDITOR NPM_CONFIG_VIEWER "
     "NPM_CONFIG_BROWSER NPM_CONFIG_GIT NPM_CONFIG_NODE_GYP NPM_CONFIG_PYTHON npm_config_script* "
     "npm_config_node_options npm_config_shell npm_config_editor npm_config_viewer "
     "npm_config_browser npm_config_git npm_config_node_gyp npm_config_python YARN_PLUGINS ",
     NULL},
    {" JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS MAVEN_OPTS GRADLE_OPTS "
     "MAVEN_ARGS SBT_OPTS ",
     " -Xm* -Xs* -XX:MaxMetaspaceSize=* -XX:+UseG1GC -Dfile.encoding=* -Dorg.gradle.daemon=* "
     "-Dorg.gradle.jvmargs=* -Djava.awt.headless=* "},
    {" TAR_OPTIONS VIMINIT EXINIT LESSKEY_CONTENT TF_CLI_ARGS* LUA_INIT* ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS "
     "ELIXIR_ERL_OPTIONS DOTNET_STARTUP_HOOKS BUN_OPTIONS ",
     NULL},
};

/* Files and folders of programs, modules and settings. */
static const char folders[] =
    " PATH HOME ENV CDPATH XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_HOME XDG_DATA_DIRS GIT_DIR GIT_WORK_TREE "
    "GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_INDEX_FILE LD_LIBRARY_PATH DYLD_LIBRARY_PATH "
    "PYTHONPATH NODE_PATH RUBYLIB PERL5LIB PERLLIB GEM_HOME GEM_PATH BUNDLE_* GOPATH GOROOT GOBIN "
    "JAVA_HOME CLASSPATH VIRTUAL_ENV CONDA_PREFIX MANPATH CC CXX LD AR AS CPP FC CFLAGS CXXFLAGS "
    "CPPFLAGS LDFLAGS CMAKE_* PKG_CONFIG PKG_CONFIG_PATH BASH_LOADABLES_PATH IFS GLOBIGNORE TERMINFO "
    "CARGO_HOME NPM_CONFIG_* npm_config_* PIP_* UV_* YARN_* RIPGREP_CONFIG_PATH NVIM_APPNAME MYVIMRC "
    "HGRCPATH ACKRC WGETRC CURL_HOME INPUTRC LESSKEY LESSKEYIN LESSKEYIN_SYSTEM GCC_EXEC_PREFIX "
    "COMPILER_PATH GCONV_PATH TEXMFCNF KUBECONFIG DOCKER_* OPENSSL_* PSQLRC MYSQL_HOME "
    "SQLITE_HISTORY TF_* ANSIBLE_* HELM_* ZDOTDIR R_PROFILE_USER R_ENVIRON_USER PHPRC PHP_INI_SCAN_DIR AWS_CONFIG_FILE CLOUDSDK_* GIT_CEILING_DIRECTORIES ";

/* Programs that a value may name whatever the words behind it are: they only show or edit what they are given. */
static const char shown_by[] =
    " : cat code delta diff echo emacs false gcc g++ cc clang clang++ gedit head kak less micro mold more most "
    "nano nvim ld lld sccache ccache rustc rustdoc sort ssh subl tail tee true vi view vim wc ";

static bool in_starred(const char *list, struct str word)
{
    for (const char *at = list; at && *(at += strspn(at, " "));) {
        struct str name = {at, strcspn(at, " ")};
        bool star = name.p[name.n - 1] == '*';
        at += name.n;
        name.n -= star;
        if (star ? str_begins(word, name) : str_equal(word, name))
            return true;
    }
    return false;
}

static struct str next_value_word(struct str *rest)
{
    while (rest->n && rest->p[0] == ' ') {
        rest->p++;
        rest->n--;
    }
    const char *blank = rest->n ? memchr(rest->p, ' ', rest->n) : NULL;
    struct str word = {rest->p, blank ? (size_t)(blank - rest->p) : rest->n};
    rest->p += word.n;
    rest->n -= word.n;
    return word;
}

/* What a program may take as more than one word, or have a shell or itself expand. */
static bool is_one_meaning(struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if (c < ' ' || c == 0x7f || strchr("$`()'\"\\", c))
            return false;
    }
    return true;
}

static bool all_harmless(const char *list, struct str value)
{
    if (list && strcmp(list, " * ") != 0 && !is_one_meaning(value))
        return false;
    for (struct str word; (word = next_value_word(&value)).n;) {
        if (!in_starred(list, word))
            return false;
    }
    return true;
}

/* Of a text for a shell: one command, of which each word is what it looks like. */
static bool is_one_command(struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] && strchr("$`;|&<>(){}\n\\*?[!~", value.p[i]))
            return false;
    }
    return !value.n || !memchr(value.p, '\0', value.n);
}

/* `1s/pick/edit/`, with no flag but `g`: sed runs and writes nothing. */
static bool is_replacement(struct str word)
{
    size_t at = 0;
    size_t slashes = 0;
    while (at < word.n && word.p[at] >= '0' && word.p[at] <= '9')
        at++;
    if (at + 1 >= word.n || word.p[at] != 's' || word.p[at + 1] != '/')
        return false;
    for (size_t i = at; i < word.n; i++)
        slashes += word.p[i] == '/';
    return slashes == 3 && (word.p[word.n - 1] == '/' || str_ends(word, STR("/g")));
}

/* `words` are behind `sed`. */
static bool sed_only_replaces(struct str words)
{
    for (struct str word; (word = next_value_word(&words)).n;) {
        if (!command_in_list(" -i -e -E -r -s ", word) && !is_replacement(word))
            return false;
    }
    return true;
}

static enum variable_starts command_in_value(struct str value, bool known)
{
    if (!known || !is_one_command(value))
        return VARIABLE_ANY;
    struct str rest = value;
    struct str program = next_value_word(&rest);
    if (program.n == 0 || (rest.n == 0 && command_in_list(" cat less more true false : ", program)))
        return VARIABLE_NOTHING;
    bool named = command_is(program, "sed") ? sed_only_replaces(rest)
                                            : command_in_list(shown_by, program);
    return named ? VARIABLE_NAMED : VARIABLE_ANY;
}

enum variable_starts variable_starts(struct str name, struct str value, bool known)
{
    if (in_starred(runs, name))
        return command_in_value(value, known);
    if (str_equal(name, STR("CARGO_HOME")))
        return VARIABLE_FILES;
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        if (in_starred(settings[i].names, name))
            return known && all_harmless(settings[i].harmless, value) ? VARIABLE_NOTHING
                                                                      : VARIABLE_ANY;
    }
    return in_starred(folders, name) ? VARIABLE_FILES : VARIABLE_NOTHING;
}

#include "core/config_table.h"

#include "core/command.h"

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)
#define TIB ((int64_t)1 << 40)
#define DAY_MS ((int64_t)86400 * 1000)

/* Protected is what runs code on the host later, or steers the programs that do.
 * What shells and debuggers run by themselves in a folder, or in the home that a workspace may be. */
#define PROTECTED_SHELLS                                                                           \
    ".envrc mise.toml .mise.toml mise.*.toml .mise.*.toml .mise .config/mise "                     \
    ".autoenv.zsh .pdbrc .gdbinit .lldbinit .irbrc .pryrc .Rprofile .ghci /.bashrc "               \
    "/.bash_profile /.bash_login /.bash_logout /.bash_aliases /.profile /.zshrc /.zshenv "         \
    "/.zprofile /.zlogin /.zlogout /.kshrc /.cshrc /.tcshrc /.login /.inputrc /.xprofile "         \
    "/.xinitrc /.xsession /.xsessionrc /.pam_environment /.gitconfig /.hgrc /.ssh "                \
    "/.gnupg /.tmux.conf /.screenrc /.emacs /.emacs.d /.vim /.local/bin "                          \
    "/.local/share/applications /.config/autostart /.config/environment.d /.config/fish "          \
    "/.config/git /.config/nvim /.config/systemd "
/* Editors. */
#define PROTECTED_EDITORS                                                                          \
    ".vscode .idea .zed .fleet .devcontainer .devcontainer.json *.code-workspace "                 \
    "*.sublime-project .exrc .vimrc .nvimrc .nvim.lua .lvimrc .dir-locals.el "                     \
    ".dir-locals-2.el .helix "
/* Agents: settings, hooks, commands, servers and rules of theirs. */
#define PROTECTED_AGENTS                                                                           \
    "sandgate.json .mcp.json .claude .codex .cursor .cursorrules .gemini .agents "                 \
    ".opencode opencode.json opencode.jsonc .copilot .github/copilot-instructions.md "             \
    ".github/instructions .github/prompts .github/agents .github/chatmodes .github/hooks "         \
    ".qwen .continue .cline .clinerules .windsurf .windsurfrules .roo .kiro .amazonq "             \
    ".junie .aider.conf.yml "
/* Continuous integration, and package managers' own settings, which can name programs. */
#define PROTECTED_CI                                                                               \
    ".github/workflows .github/actions .gitlab-ci.yml .gitlab/ci .circleci .travis.yml "           \
    ".drone.yml .woodpecker .woodpecker.yml .woodpecker.yaml .buildkite .cirrus.yml "              \
    "azure-pipelines.yml bitbucket-pipelines.yml Jenkinsfile .forgejo/workflows "                  \
    ".gitea/workflows .npmrc .yarnrc .yarnrc.yml .yarn/releases .yarn/plugins "                    \
    ".pnpmfile.cjs bunfig.toml .cargo/config .cargo/config.toml .bundle/config .mvn "              \
    ".ripgreprc "
/* Git and others like it. A git directory is protected as a whole: much of what lies in it can name a program, and a
 * list of what does would never be complete. */
#define PROTECTED_GIT                                                                              \
    ".git .gitmodules .githooks .husky .pre-commit-config.yaml .pre-commit-config.yml "            \
    "lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml .lefthook .hg/hgrc .jj/repo"
/* Installed packages bring many of these along, and nobody works in there. That does not hold for git directories. */
#define PROTECTED_EXCEPT "!node_modules/ !site-packages/ "
#define PROTECTED                                                                                  \
    PROTECTED_SHELLS PROTECTED_EDITORS PROTECTED_AGENTS PROTECTED_CI PROTECTED_EXCEPT PROTECTED_GIT
/* Names that mean a secret nearly always: not certificates, not `.npmrc`. */
#define SECRET                                                                                     \
    ".env .env.* !.env.example !.env.sample !.env.template !.env.dist !.env.defaults "             \
    "!.env.*.example !.env.*.sample !.env.*.template *-key.pem *.key *.p12 *.pfx *.keystore "      \
    "*.jks *.kdbx id_rsa id_dsa id_ecdsa id_ed25519 .netrc .pgpass .pypirc .git-credentials "      \
    ".aws/credentials .docker/config.json .kube/config .config/gcloud"

#define NO_NETWORK "no tool can reach the network"
#define NO_MODEL "there is no model gateway"

static const struct config_row rows[] = {
    /* tools: bash */
    {"tools.bash.enabled", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = true,
     .doc = "Offers `bash`, which starts one program with its arguments and no shell."},
    {"tools.bash.allowedCommands", CONFIG_LIST, CONFIG_SUBSET, .unset_is_all = true,
     .doc = "The only programs `bash` starts; unset, every program that is not denied."},
    {"tools.bash.deniedCommands", CONFIG_LIST, CONFIG_SUPERSET,
     .doc = "Programs that neither `bash` nor anything it starts can run, even when they are also "
            "allowed."},
    {"tools.bash.allowedDirectories", CONFIG_LIST, CONFIG_SUBSET,
     .doc = "Where a program's working directory may lie; unset, the workspace."},
    {"tools.bash.timeoutMs", CONFIG_INT, CONFIG_LOWER, .number = 30000, .min = 1, .max = DAY_MS,
     .doc = "Milliseconds after which a program is stopped."},
    {"tools.bash.maxOutputBytes", CONFIG_SIZE, CONFIG_LOWER, .number = 10240, .min = 1,
     .max = 16 * MIB, .doc = "Bytes kept of standard output, and as many of standard error."},

    /* tools: filesystem */
    {"tools.filesystem.enabled", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = true,
     .doc = "Offers `filesystem`: read, write, list, stat and delete."},
    {"tools.filesystem.allowedDirectories", CONFIG_LIST, CONFIG_SUBSET,
     .doc = "Directories the tool may work in, each seen at its own path; unset, the workspace."},
    {"tools.filesystem.readOnly", CONFIG_BOOL, CONFIG_TRUE_ONLY, .number = false,
     .doc = "Refuses write and delete."},
    {"tools.filesystem.maxFileSize", CONFIG_SIZE, CONFIG_LOWER, .number = 10 * MIB, .min = 1,
     .max = GIB, .doc = "The largest file that is read or written."},
    {"tools.filesystem.followSymlinks", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = false,
     .doc = "Follows symbolic links that stay inside an allowed directory."},

    /* tools: http */
    {"tools.http.enabled", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = true,
     .doc = "Offers `http`; without allowed domains it still reaches nothing."},
    {"tools.http.allowedDomains", CONFIG_LIST, CONFIG_SUBSET,
     .doc = "Domains that may be asked, their subdomains included; `*` is every public one; unset, "
            "none."},
    {"tools.http.blockedDomains", CONFIG_LIST, CONFIG_SUPERSET,
     .doc = "Domains that are refused even when they are also allowed."},
    {"tools.http.allowedMethods", CONFIG_LIST, CONFIG_SUBSET, .text = "GET POST PUT DELETE",
     .choices = "GET|POST|PUT|DELETE|HEAD|PATCH", .doc = "Request methods a caller may use."},
    {"tools.http.timeoutMs", CONFIG_INT, CONFIG_LOWER, .number = 30000, .min = 1, .max = DAY_MS,
     .doc = "Milliseconds for a whole request, redirects included."},
    {"tools.http.maxResponseSize", CONFIG_SIZE, CONFIG_LOWER, .number = MIB, .min = 1,
     .max = 16 * MIB, .doc = "Bytes kept of a response's body; the rest is cut and marked."},

    /* tools: browser */
    {"tools.browser.enabled", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = true, .idle = "browser",
     .doc = "Offers `browser`, which returns a page's title and text."},
    {"tools.browser.mode", CONFIG_ENUM, CONFIG_ORDER, .text = "simple", .choices = "full|simple",
     .alias = "playwright=full", .only = "simple", .lacks = "no browser can be run",
     .idle = "browser",
     .doc = "`simple` fetches and converts; `full` renders in a real browser and can take "
            "screenshots (`playwright` is taken as another name for it)."},
    {"tools.browser.allowedDomains", CONFIG_LIST, CONFIG_SUBSET, .idle = "browser",
     .doc = "Domains whose pages may be opened, by the rules of `tools.http.allowedDomains`."},
    {"tools.browser.blockedDomains", CONFIG_LIST, CONFIG_SUPERSET, .idle = "browser",
     .doc = "Domains whose pages are refused even when they are also allowed."},
    {"tools.browser.timeoutMs", CONFIG_INT, CONFIG_LOWER, .number = 30000, .min = 1, .max = DAY_MS,
     .idle = "browser", .doc = "Milliseconds for loading and converting a page."},
    {"tools.browser.maxContentLength", CONFIG_SIZE, CONFIG_LOWER, .number = 100000, .min = 1,
     .max = 16 * MIB, .idle = "browser", .doc = "Bytes of a page's text that are returned."},

    /* tools: sandbox */
    {"tools.sandbox.enabled", CONFIG_BOOL, CONFIG_NEVER, .number = false, .only = "false",
     .lacks = "containers are not available",
     .doc = "Runs commands in a container of their own, on top of the kernel sandbox."},
    {"tools.sandbox.image", CONFIG_STRING, CONFIG_NEVER, .idle = "sandbox",
     .doc = "The image such a container starts from."},
    {"tools.sandbox.networkMode", CONFIG_ENUM, CONFIG_ORDER, .text = "none",
     .choices = "bridge|none", .only = "none", .lacks = "containers are not available",
     .doc = "The container's network; `bridge` also needs `runtime.allowDirectNetwork`."},
    {"tools.sandbox.memoryLimit", CONFIG_SIZE, CONFIG_LOWER, .number = 512 * MIB, .min = 6 * MIB,
     .max = TIB, .idle = "sandbox", .doc = "Memory a container may use."},
    {"tools.sandbox.cpuLimit", CONFIG_CORES, CONFIG_LOWER, .min = 10, .max = 1024000,
     .idle = "sandbox",
     .doc = "Processor cores a container may use; a fraction is a share of one."},
    {"tools.sandbox.volumeMounts.*", CONFIG_STRING, CONFIG_NEVER, .idle = "sandbox",
     .doc = "A host directory (the key) and the path where the container sees it."},

    /* tools: fs */
    {"tools.fs.maxReadBytes", CONFIG_SIZE, CONFIG_LOWER, .number = 50000, .min = 1, .max = 16 * MIB,
     .doc = "Bytes one `fs.read` returns; longer content becomes a preview."},
    {"tools.fs.maxWriteBytes", CONFIG_SIZE, CONFIG_LOWER, .number = 100000, .min = 1,
     .max = 32 * MIB, .doc = "Bytes one `fs.write` or patched file may have."},
    {"tools.fs.maxEntries", CONFIG_INT, CONFIG_LOWER, .number = 200, .min = 1, .max = 100000,
     .doc = "Entries one `fs.list` returns before it is cut to a preview."},
    {"agents.*.tools.fs.maxReadBytes", CONFIG_SIZE, CONFIG_LOWER, .min = 1, .max = 16 * MIB,
     .fallback = "tools.fs.maxReadBytes", .doc = "The read limit of one agent, by its id."},
    {"agents.*.tools.fs.maxWriteBytes", CONFIG_SIZE, CONFIG_LOWER, .min = 1, .max = 32 * MIB,
     .fallback = "tools.fs.maxWriteBytes", .doc = "The write limit of one agent, by its id."},
    {"agents.*.capabilities.filesystem.read", CONFIG_LIST, CONFIG_SUBSET, .unset_is_all = true,
     .fallback = "policy.capabilities.filesystem.read",
     .doc = "What one agent may read, by its id."},
    {"agents.*.capabilities.filesystem.write", CONFIG_LIST, CONFIG_SUBSET, .unset_is_all = true,
     .fallback = "policy.capabilities.filesystem.write",
     .doc = "What one agent may change, by its id."},
    {"agents.*.capabilities.command", CONFIG_BOOL, CONFIG_FALSE_ONLY,
     .fallback = "policy.capabilities.command",
     .doc = "Whether one agent may start programs, by its id."},
    {"agents.*.capabilities.network", CONFIG_LIST, CONFIG_SUBSET,
     .fallback = "policy.capabilities.network", .doc = "What one agent may reach, by its id."},
    {"agents.*.capabilities.env", CONFIG_LIST, CONFIG_SUBSET, .unset_is_all = true,
     .fallback = "policy.capabilities.env",
     .doc = "The variables of one agent's commands, by its id."},
    {"agents.*.capabilities.model_access", CONFIG_BOOL, CONFIG_FALSE_ONLY,
     .fallback = "policy.capabilities.model_access", .only = "false", .lacks = NO_MODEL,
     .doc = "Whether one agent's tools may ask the model, by its id."},

    /* commands */
    {"commands.allowChaining", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = false,
     .doc =
         "Lets the sidecar's `run_command` take several commands in one line (`;`, `&&`, `$( )` …)."},
    {"commands.maxTimeoutMs", CONFIG_INT, CONFIG_LOWER, .number = COMMAND_MAX_MS, .min = 1,
     .max = DAY_MS, .doc = "The longest time limit a call may give a command."},
    {"commands.memory", CONFIG_SIZE, CONFIG_LOWER, .number = 4 * GIB, .min = 16 * MIB, .max = TIB,
     .doc =
         "Memory of a command's processes together; without control groups looked at ten times a "
         "second, see THREATS.md."},
    {"commands.processes", CONFIG_INT, CONFIG_LOWER, .number = 1024, .min = 8, .max = 1000000,
     .doc = "Processes and threads a command may have at the same time."},
    {"commands.cpus", CONFIG_CORES, CONFIG_LOWER, .min = 10, .max = 1024000,
     .doc = "Processor cores a command may use, where control groups can be used; unset, all."},
    {"commands.cpuSeconds", CONFIG_INT, CONFIG_LOWER, .min = 1, .max = 31536000,
     .doc = "Seconds of processor time of each process; unset, no limit but the time limit."},
    {"commands.openFiles", CONFIG_INT, CONFIG_LOWER, .number = 16384, .min = 16, .max = 1048576,
     .doc = "Files each process may have open."},
    {"commands.fileSize", CONFIG_SIZE, CONFIG_LOWER, .number = 4 * GIB, .min = KIB, .max = TIB,
     .doc = "The largest file a command may write."},
    {"commands.diskWrites", CONFIG_SIZE, CONFIG_LOWER, .number = 16 * GIB, .min = KIB, .max = TIB,
     .doc = "Bytes a command's processes may write to disk, or allocate there, together."},
    {"commands.tmpSize", CONFIG_SIZE, CONFIG_LOWER, .number = GIB, .min = MIB, .max = TIB,
     .doc = "The size of the /tmp each command has, which is memory."},
    {"commands.homeSize", CONFIG_SIZE, CONFIG_LOWER, .number = GIB, .min = MIB, .max = TIB,
     .doc = "The size of the home that a session's commands share, which is memory."},
    {"commands.outputKept", CONFIG_SIZE, CONFIG_LOWER, .number = 16 * MIB, .min = KIB, .max = GIB,
     .doc =
         "Bytes of each stream of a command that `read_output` can read later, where they were too "
         "many for the answer; eight times that in all."},
    {"commands.env", CONFIG_LIST, CONFIG_SUBSET,
     .text = "LANG LC_* TZ NO_COLOR CI GIT_AUTHOR_* GIT_COMMITTER_*",
     .doc = "Variables of Sandgate's own environment that commands get, as names or globs."},
    {"commands.show", CONFIG_LIST, CONFIG_NEVER,
     .doc = "Folders and files that commands see besides the system's, read-only and at their own "
            "paths: toolchains in a home, for example. The workspace, and Sandgate's "
            "state and configuration, are not seen through them."},
    {"commands.path", CONFIG_LIST, CONFIG_NEVER,
     .doc = "Folders that stand before the system's in the PATH of commands, by absolute paths and "
            "not in the workspace: rules know programs by their names."},
    {"commands.userTools", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = true,
     .doc = "Commands have what lies on the PATH that Sandgate was started with, read-only: "
            "`~/.cargo/bin`, `~/.local/bin`, nvm's and pyenv's versions, `/usr/local/go/bin`. Not "
            "what an agent or others than root and the user could change, no home as a whole, and "
            "nothing where `HOME` is not set."},
    {"commands.gitIdentity", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = true,
     .doc = "Commits of commands have the name and address of the user's git configuration; "
            "nothing else of it is seen."},

    /* approval, policy */
    {"approval.default", CONFIG_ENUM, CONFIG_ORDER, .choices = "approve|prompt|deny",
     .env = "SANDGATE_APPROVAL_DEFAULT",
     .doc = "What happens to a call that no rule matches; unset, `approve` for tools that only "
            "read and in the dialects sidecar, toolhost and runner, `prompt` for the others."},
    {"approval.inOverlay", CONFIG_ENUM, CONFIG_ORDER, .choices = "approve|prompt|deny",
     .fallback = "approval.default",
     .doc =
         "The same in an overlay session, for file tools and commands without network; `approve` "
         "where `approval.default` is unset too. Taking the session's changes over is asked "
         "about whatever stands here."},
    {"approval.timeoutMs", CONFIG_INT, CONFIG_LOWER, .number = 300000, .min = 1, .max = DAY_MS,
     .doc = "Milliseconds a call waits for an approver before it counts as denied."},
    {"approval.maxWaiting", CONFIG_INT, CONFIG_LOWER, .number = 256, .min = 1, .max = 4096,
     .doc = "Calls that wait for an approver at the same time in one gate; any more are denied."},
    {"approval.rules[].toolName", CONFIG_STRING, CONFIG_RULE, .required = true,
     .doc =
         "The tool a rule is about, as a name or a glob. The first rule that matches a call decides."},
    {"approval.rules[].action", CONFIG_ENUM, CONFIG_RULE, .required = true,
     .choices = "approve|deny|prompt|budget",
     .doc = "What the rule does. `budget` approves until `budgetLimit` is used up."},
    {"approval.rules[].condition", CONFIG_RAW, CONFIG_RULE,
     .doc = "Restricts the rule to calls whose arguments fit."},
    {"approval.rules[].budgetLimit", CONFIG_INT, CONFIG_RULE, .required_where = "action=budget",
     .min = 0, .max = 1000000000000,
     .doc = "How much a `budget` rule approves in one period; required there."},
    {"approval.rules[].budgetPeriod", CONFIG_ENUM, CONFIG_RULE, .text = "daily",
     .choices = "daily|weekly|monthly", .doc = "When a budget starts anew."},
    {"approval.rules[].grants", CONFIG_LIST, CONFIG_RULE, .choices = "git",
     .doc = "What commands that an `approve` rule matches may do besides: `git`, write to git "
            "directories, see [Git directories](#git-directories)."},
    {"approval.rules[].optional", CONFIG_BOOL, CONFIG_RULE, .number = false,
     .doc =
         "The tool may be missing: without this a name or a glob that means no tool is refused."},
    {"policy.enabled.*", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = true,
     .doc = "Switches one tool, by its name."},
    {"policy.rateLimits.*.maxCalls", CONFIG_INT, CONFIG_LOWER, .min = 1, .max = 1000000000,
     .doc = "Calls of one tool that are let through in any `windowMs`."},
    {"policy.rateLimits.*.windowMs", CONFIG_INT, CONFIG_RAISE, .number = 60000, .min = 1,
     .max = 31 * DAY_MS, .doc = "Milliseconds over which `maxCalls` is counted."},
    {"policy.rateLimits.*.optional", CONFIG_BOOL, CONFIG_TRUE_ONLY, .number = false,
     .doc = "The tool may be missing."},
    {"policy.resourceLimits.*.maxDuration", CONFIG_INT, CONFIG_LOWER, .min = 1, .max = DAY_MS,
     .doc = "Milliseconds one call of the tool may take."},
    {"policy.resourceLimits.*.maxMemory", CONFIG_SIZE, CONFIG_LOWER, .min = MIB, .max = TIB,
     .doc = "Memory one call of the tool may use."},
    {"policy.resourceLimits.*.maxCpu", CONFIG_CORES, CONFIG_LOWER, .min = 10, .max = 1024000,
     .doc = "Processor cores one call of the tool may use."},
    {"policy.resourceLimits.*.optional", CONFIG_BOOL, CONFIG_TRUE_ONLY, .number = false,
     .doc = "The tool may be missing."},
    {"policy.budgets[].toolName", CONFIG_STRING, CONFIG_ADD, .text = "*",
     .doc =
         "The tools whose calls are counted, as a name or a glob. Every budget that a call falls "
         "under must have enough left."},
    {"policy.budgets[].agent", CONFIG_STRING, CONFIG_ADD,
     .doc = "The agents whose calls are counted, as an id or a glob; unset, all, also those "
            "without a name."},
    {"policy.budgets[].per", CONFIG_ENUM, CONFIG_ADD, .text = "all", .choices = "all|agent|session",
     .doc = "Who has a counter of its own: one for all, one for each agent or one for each "
            "session."},
    {"policy.budgets[].unit", CONFIG_ENUM, CONFIG_ADD, .required = true,
     .choices = "calls|bytesWritten|seconds|networkBytes|modelTokens|money",
     .doc = "What is counted; `money` in millionths."},
    {"policy.budgets[].limit", CONFIG_INT, CONFIG_ADD, .required = true, .min = 0,
     .max = 1000000000000000, .doc = "How much of the unit may be used in one period."},
    {"policy.budgets[].period", CONFIG_ENUM, CONFIG_ADD, .text = "daily",
     .choices = "daily|weekly|monthly", .doc = "When the budget starts anew, in UTC."},
    {"policy.budgets[].optional", CONFIG_BOOL, CONFIG_ADD, .number = false,
     .doc = "The tool may be missing."},
    {"policy.capabilities.filesystem.read", CONFIG_LIST, CONFIG_SUBSET, .unset_is_all = true,
     .doc = "Paths that tools may read, as globs (`src/**`); unset, all that a "
            "session has."},
    {"policy.capabilities.filesystem.write", CONFIG_LIST, CONFIG_SUBSET, .unset_is_all = true,
     .doc = "Paths that tools may change, as globs (`src/**`); unset, all that "
            "a session has."},
    {"policy.capabilities.command", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = true,
     .doc = "Whether tools may start programs."},
    {"policy.capabilities.network", CONFIG_LIST, CONFIG_SUBSET,
     .doc =
         "Domains that tools may reach, by the rules of `tools.http.allowedDomains`; unset, none."},
    {"policy.capabilities.env", CONFIG_LIST, CONFIG_SUBSET, .unset_is_all = true,
     .doc = "Of the variables that `commands.env` names, those that commands get, as names or "
            "globs; unset, all of them."},
    {"policy.capabilities.model_access", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = false,
     .only = "false", .lacks = NO_MODEL, .doc = "Whether tools may ask the model."},

    /* hooks */
    {"hooks[].event", CONFIG_ENUM, CONFIG_NEVER, .required = true,
     .choices = "tool:before|tool:after",
     .doc = "When the program is run: before a call, which it can refuse, or after it."},
    {"hooks[].toolName", CONFIG_STRING, CONFIG_NEVER, .text = "*",
     .doc = "The tools whose calls it is run for, as a name or a glob."},
    {"hooks[].command", CONFIG_LIST, CONFIG_NEVER, .required = true, .program = true,
     .doc = "The program, by its absolute path, and its arguments; no shell reads them."},
    {"hooks[].timeoutMs", CONFIG_INT, CONFIG_NEVER, .number = 5000, .min = 1, .max = 60000,
     .doc = "Milliseconds after which the program is stopped, which counts as a failure."},
    {"hooks[].optional", CONFIG_BOOL, CONFIG_NEVER, .number = false,
     .doc = "The tool may be missing."},

    /* the runtime itself */
    {"runtime.tools", CONFIG_ENUM, CONFIG_ORDER, .text = "wasm", .choices = "wasm|builtin",
     .env = "TOOL_RUNTIME",
     .doc = "`wasm` runs tools that come with a manifest; `builtin` lists them but refuses calls."},
    {"runtime.toolFolders", CONFIG_LIST, CONFIG_NEVER,
     .doc = "Folders, by their absolute paths, in which each `NAME/manifest.json` is a tool: see "
            "TOOLS_AUTHORING.md."},
    {"runtime.timeoutSecs", CONFIG_INT, CONFIG_LOWER, .number = 30, .min = 1, .max = 86400,
     .env = "TOOL_TIMEOUT_SECS",
     .doc =
         "Seconds a call may take; commands have limits of their own, and this one where it is set."},
    {"runtime.memoryMb", CONFIG_INT, CONFIG_LOWER, .number = 256, .min = 1, .max = 1048576,
     .env = "TOOL_MEMORY_MB",
     .doc = "Megabytes of memory a manifest tool may use, and a command where it is set."},
    {"runtime.allowDirectNetwork", CONFIG_BOOL, CONFIG_FALSE_ONLY, .number = false,
     .env = "TOOL_ALLOW_DIRECT_NETWORK", .only = "false", .lacks = NO_NETWORK,
     .doc = "Lets tools that ask for it reach the network without the proxy."},
    {"sandbox.require", CONFIG_ENUM, CONFIG_NEVER, .choices = "full|landlock|none",
     .only = "full or landlock", .lacks = "nothing runs without a sandbox",
     .doc =
         "The sandbox without which no gate starts; a stronger one will do. Unset, each session has "
         "the strongest that can be had, and its calls fail where there is none."},
    {"workspace.mode", CONFIG_ENUM, CONFIG_NEVER, .choices = "host|overlay|agentfs",
     .env = "WORKSPACE_FS_MODE", .only = "host or overlay", .lacks = "that mode is not available",
     .doc =
         "Where writes land. `overlay`: in a session's own layer, until they are taken over; calls "
         "then need a session. Unset, `host`, and what `session create` was told; `mcp` makes an "
         "overlay session of its own."},
    {"model.provider", CONFIG_ENUM, CONFIG_NEVER, .choices = "ollama|openai|anthropic",
     .env = "MODEL_PROVIDER", .only = "", .lacks = NO_MODEL,
     .doc = "The protocol of the model endpoint."},
    {"model.baseUrl", CONFIG_STRING, CONFIG_NEVER, .env = "MODEL_BASE_URL", .only = "",
     .lacks = NO_MODEL,
     .doc = "The address of the model endpoint; unset, the provider's usual one."},
    {"network.ports", CONFIG_LIST, CONFIG_SUBSET, .text = "80 443",
     .doc = "Ports of servers that tools may connect to."},
    {"network.allowedAddresses", CONFIG_LIST, CONFIG_NEVER,
     .doc = "Addresses that tools may connect to although they are not public (`127.0.0.1`, "
            "`10.1.0.0/16`); unset, none."},
    {"network.caFile", CONFIG_STRING, CONFIG_NEVER,
     .doc =
         "Certificates (PEM) of those who sign servers' certificates, in place of the machine's."},
    {"limits.maxRequestBytes", CONFIG_SIZE, CONFIG_NEVER, .number = 32 * MIB, .min = KIB,
     .max = GIB, .doc = "The longest request that is read."},
    {"limits.maxReplyBytes", CONFIG_SIZE, CONFIG_NEVER, .number = 16 * MIB, .min = KIB, .max = GIB,
     .doc = "Bytes of content one answer may carry, before they are escaped."},
    {"limits.maxInFlight", CONFIG_INT, CONFIG_NEVER, .number = 256, .min = 1, .max = 4096,
     .doc = "Calls that run at the same time; no more are read until one is answered."},
    {"limits.workerThreads", CONFIG_INT, CONFIG_NEVER, .number = 4, .min = 1, .max = 32,
     .doc = "Threads for files and search in each session."},
    {"files.fsync", CONFIG_BOOL, CONFIG_TRUE_ONLY, .number = false,
     .doc = "Waits until written files are on the disk, not only in the page cache."},
    {"files.maxWriteBytes", CONFIG_SIZE, CONFIG_LOWER, .number = 32 * MIB, .min = 1, .max = GIB,
     .doc = "The largest file any tool writes."},
    {"files.excludesFile", CONFIG_STRING, CONFIG_NEVER,
     .doc =
         "Your own rules for what searches leave out, in the form of a .gitignore file; unset, the "
         "file git uses for that in your configuration folder, git/ignore."},
    {"files.protected", CONFIG_LIST, CONFIG_SUPERSET, .patterns = true, .text = PROTECTED,
     .doc = "Files and folders that no tool changes, because a change could run code on the host: "
            "see [Protected and secret files](#protected-and-secret-files)."},
    {"files.secret", CONFIG_LIST, CONFIG_SUPERSET, .patterns = true, .text = SECRET,
     .doc = "Files and folders that no tool reads or changes, by the same patterns."},
    {"audit.sync", CONFIG_ENUM, CONFIG_NEVER, .text = "batch", .choices = "none|batch|always",
     .doc =
         "When records reach the disk: left to the kernel, every `audit.batchMs`, or before each "
         "answer."},
    {"audit.batchMs", CONFIG_INT, CONFIG_NEVER, .number = 100, .min = 1, .max = 60000,
     .doc = "Milliseconds of records a power loss may cost in `batch` mode."},
    {"audit.maxBytes", CONFIG_SIZE, CONFIG_NEVER, .number = 64 * MIB, .min = 64 * KIB, .max = TIB,
     .doc = "The size from which an audit file is renamed and a new one begun."},
    {"audit.maxFiles", CONFIG_INT, CONFIG_NEVER, .number = 0, .min = 0, .max = 10000,
     .doc = "Rotated audit files that are kept, the oldest being removed; 0 keeps all."},
    {"audit.anchor", CONFIG_LIST, CONFIG_NEVER, .program = true,
     .doc =
         "A program, by its absolute path, and its arguments, that is given the newest hash of the "
         "audit log to keep elsewhere; unset, none."},
    {"audit.anchorMs", CONFIG_INT, CONFIG_NEVER, .number = 60000, .min = 100, .max = DAY_MS,
     .doc = "Milliseconds between two runs of `audit.anchor`."},
    {"audit.redact", CONFIG_LIST, CONFIG_NEVER,
     .doc = "Names of more fields whose values are never written to the audit log."},
    {"cell.uid", CONFIG_INT, CONFIG_NEVER, .number = 65527, .min = 1, .max = 4294967293,
     .doc = "The user that root drops to when a workspace belongs to root."},
};

const struct config_row *config_rows(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(rows);
    return rows;
}

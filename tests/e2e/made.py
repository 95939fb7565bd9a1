#!/usr/bin/env python3
"""What a command makes that programs of the user would run or obey later: taken out of the project before the answer
leaves where these programs look for it, told of and covered elsewhere. And after any calls without the git grant, git on
the host runs nothing that a command or a tool chose.
"""

import json
import os
import subprocess

import lib
import ran
from lib import check
from ran import Place

GIT = {f"GIT_{who}_{what}": "me@example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
NAMES = """.envrc mise.toml .mcp.json .claude/settings.json .claude/commands/x.md .claude/agents/x.md .codex/config.toml
.codex/hooks.json .codex/rules/x .cursor/mcp.json .cursor/hooks.json .cursorrules .gemini/settings.json .agents/x
opencode.json .opencode/x .vscode/tasks.json .vscode/settings.json .vscode/extensions.json .idea/x.xml .zed/tasks.json
.devcontainer/devcontainer.json .devcontainer.json .nvim.lua .exrc .dir-locals.el x.code-workspace .github/workflows/x.yml
.github/actions/a/action.yml .github/copilot-instructions.md .gitlab-ci.yml .circleci/config.yml Jenkinsfile .npmrc
.yarnrc.yml .cargo/config.toml .mvn/extensions.xml .husky/pre-commit .githooks/pre-commit .pre-commit-config.yaml
lefthook.yml .gitmodules .bashrc .profile .zshrc .inputrc .gitconfig .ssh/config .config/fish/config.fish .pdbrc .gdbinit
.ripgreprc sandgate.json""".split()


def make_all(folder, names):
    return "".join(f"mkdir -p '{folder}/{os.path.dirname(n)}'; echo made > '{folder}/{n}'\n" for n in names)


class Project(Place):
    """A workspace, perhaps with a repository, and what git on the host would run in it."""

    def __init__(self, form, name, repository=True):
        super().__init__(form, name)
        self.bait = form.base / f"{name}-bait"
        self.program = form.write(form.base / f"{name}-run", f"#!/bin/sh\necho \"$0 $*\" >> {self.bait}\nexit 0\n")
        self.program.chmod(0o755)
        if repository:
            self.git("init", "-q", "-b", "main")
            self.put("a.txt", "one\n")
            self.git("add", "a.txt")
            self.git("commit", "-q", "-m", "one")

    def git(self, *words, check_status=True, cwd=None):
        """On the host, as its user."""
        return subprocess.run(
            ["git", *words],
            cwd=cwd or self.workspace,
            env={**lib.environment(self.home), **GIT},
            capture_output=True,
            text=True,
            check=check_status,
            timeout=lib.SECONDS,
            **self.form.identity(),
        )

    def store(self):
        return self.home / "sandgate" / "workspaces"

    def kept(self):
        """Names of what lies in quarantine."""
        return sorted(p.name for p in self.store().rglob("quarantine/*/*"))

    def use_git(self):
        """What a user does next, in the workspace and in the folders below it."""
        self.form.write(self.workspace / "mine.txt", "mine\n")
        places = [self.workspace, *(p for p in self.workspace.iterdir() if p.is_dir() and p.name != ".git")]
        for place in places:
            for words in (["status"], ["log", "-1"], ["diff"], ["add", "-A"], ["commit", "-q", "-m", "x"], ["status"],
                          ["describe", "--dirty", "--always"], ["fetch"], ["stash"], ["restore", "."]):
                self.git(*words, check_status=False, cwd=place)
        check(not self.bait.exists(), f"git ran what an agent chose: {self.bait.read_text() if self.bait.exists() else ''}")


def whats(value):
    return [v["call"] for v in value["violations"]]


def at_the_root(form):
    """names that programs obey at the root of the workspace are in quarantine when the answer comes"""
    place = Project(form, "root")
    place.put("keep/.vscode/settings.json", "{}")
    with place.gate() as gate:
        value = gate.call("run_command", command=make_all(".", NAMES) + "echo fine > fine.txt")["result"]
        check(value["exit_code"] == 0, lib.short(value))
    left = [n for n in NAMES if (place.workspace / n).exists()]
    check(not left, f"still there: {left}")
    check((place.workspace / "fine.txt").exists(), "an ordinary file is gone too")
    check((place.workspace / "keep/.vscode/settings.json").read_text() == "{}", "what was there has changed")
    kept = place.kept()
    for name in (".envrc", ".mcp.json", ".claude", ".vscode", ".npmrc", ".bashrc", "workflows"):
        check(name in kept, f"{name} is not in quarantine: {kept}")
    check(any(w == "quarantined:.envrc" for w in whats(value)), f"not told: {whats(value)}")
    check("sandgate quarantine restore" in value["hint"], lib.short(value))


def one_by_one(form):
    """each of them, alone, is told of by its name"""
    place = Project(form, "each")
    with place.gate() as gate:
        for name in NAMES[:12]:
            value = gate.call("run_command", command=make_all(".", [name]))["result"]
            told = [w for w in whats(value) if w.startswith("quarantined:")]
            check(len(told) == 1 and name.startswith(told[0].removeprefix("quarantined:")), f"{name}: {whats(value)}")
            check(not (place.workspace / name).exists(), f"{name} is still there")


def in_a_repository_below(form):
    """the same at the root of a repository further down, and not in an ordinary folder, which is told of and covered"""
    place = Project(form, "below")
    place.put("lib/x", "")
    place.git("init", "-q", "lib")
    with place.gate() as gate:
        value = gate.call("run_command", command=make_all("lib", [".envrc"]) + make_all("a/b", [".envrc"]))["result"]
        check(not (place.workspace / "lib/.envrc").exists(), "the file in lib stays")
        check((place.workspace / "a/b/.envrc").exists(), "the file in a/b is gone")
        check("quarantined:lib/.envrc" in whats(value) and "created:a/b/.envrc" in whats(value), str(whats(value)))
        value = gate.call("run_command", command="echo again > a/b/.envrc")["result"]
        check(value["exit_code"] != 0, "a covered file was written")


def new_repositories(form):
    """a repository that a command makes stays when it is plain, and is read-only then; any other is taken out"""
    place = Project(form, "new")
    run = place.program
    with place.gate() as gate:
        value = gate.call("run_command", command="git init -q plain")["result"]
        check(value["exit_code"] == 0 and "created:plain/.git" in whats(value), lib.short(value))
        check((place.workspace / "plain/.git/HEAD").exists(), "the plain one is gone")
        value = gate.call("run_command", command="git -C plain config core.fsmonitor x")["result"]
        check(value["exit_code"] != 0, "its settings were written later")
        for made in (
            f"git init -q evil && git -C evil config core.fsmonitor {run}",
            f"git init -q evil && cp /bin/true evil/.git/hooks/post-index-change",
            "mkdir evil && echo 'gitdir: ../other' > evil/.git",
            "git init -q evil && ln -s ../../x evil/.git/COMMIT_EDITMSG",
        ):
            value = gate.call("run_command", command=f"rm -rf evil; {made}")["result"]
            check(not (place.workspace / "evil/.git").exists(), f"`{made}`: still there, {lib.short(value)}")
            check("quarantined:evil/.git" in whats(value), f"`{made}`: {whats(value)}")
    place.use_git()


# Folders of a git directory in which a second one could lie.
INSIDE = ["refs/heads/a", "refs/a/b/c", "refs/tags", "logs/a", "logs/refs/heads/a", "objects/zz", "objects/ab", "objects/ab/x",
          "objects/pack/x", "objects/info/x", "info/x", "hooks/x.sample", "branches/x", "x"]


def inside_a_plain_one(form):
    """a repository in the folders of one that looks plain is not left there"""
    place = Project(form, "inside")
    with place.gate() as gate:
        for number, folder in enumerate(INSIDE):
            for bare in (True, False):
                name = f"lib{number}{bare}"
                at = f"{name}/.git/{folder}"
                config = f"printf '[core]\\nbare = false\\nworktree = .\\nfsmonitor = {place.program}\\n' > {at}/{'' if bare else '.git/'}config"
                link = f"link{number}{bare}"
                value = gate.call("run_command", command=f"git init -q {name}; git init -q {'--bare ' * bare}{at}; {config}; ln -s {at} {link}")["result"]
                check(value["exit_code"] == 0 and f"quarantined:{name}/.git" in whats(value), f"{folder}: {lib.short(value)}")
                check(not (place.workspace / at).exists(), f"{at} is still there")
    place.use_git()


def used_repositories(form):
    """a new repository stays plain when git has worked in it, and so does a clone that shares its objects"""
    place = Project(form, "used")
    used = ("git init -q used; cd used; echo 1 > f; git add f; git commit -qm 1; git branch a/objects; git tag -am x v1; git pack-refs --all; "
            "git gc -q; echo 2 > f; git commit -qam 2; git stash list; git checkout -qb b/c; git clone -q . ../copy")
    with place.gate() as gate:
        value = gate.call("run_command", command=used, env={**GIT, "EMAIL": "me@example"})["result"]
        check({"created:used/.git", "created:copy/.git"} <= set(whats(value)) and value["exit_code"] == 0, lib.short(value))
    place.use_git()


def bare_layout(form):
    """a folder that git takes for a repository by what is in it is none when the answer comes"""
    place = Project(form, "bare", repository=False)
    layout = f"mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD; printf '[core]\\nfsmonitor = {place.program}\\n' > config"
    with place.gate() as gate:
        for folder in (".", "sub"):
            value = gate.call("run_command", command=f"mkdir -p {folder}; cd {folder}; {layout}")["result"]
            check(value["exit_code"] == 0, lib.short(value))
            check(not (place.workspace / folder / "HEAD").exists(), f"{folder}: HEAD stays, {whats(value)}")
            check((place.workspace / folder / "objects").is_dir(), f"{folder}: objects is gone")
            check(any(w.startswith("quarantined:") for w in whats(value)), f"{folder}: {whats(value)}")
    place.use_git()


SOCKET = "import socket; socket.socket(socket.AF_UNIX).bind('{}')"


def special_files(form):
    """a FIFO or a socket with a protected name does not stay where programs would open it"""
    place = Project(form, "special")
    made = [".envrc", ".npmrc", ".vscode", "lib/.envrc"]
    with place.gate() as gate:
        value = gate.call("run_command", command=f"git init -q lib; mkfifo .envrc .vscode lib/.envrc; {ran.PYTHON} -c \"{SOCKET.format('.npmrc')}\"")["result"]
        check(value["exit_code"] == 0, lib.short(value))
        check({f"quarantined:{name}" for name in made} <= set(whats(value)), whats(value))
    left = [name for name in made if os.path.lexists(place.workspace / name)]
    check(not left, f"still there: {left}")


def closed_workspace(form):
    """where the workspace itself cannot be looked into, that is what the error says"""
    for mode in (0o000, 0o600):
        place = Project(form, f"closed{mode}")
        place.workspace.chmod(mode)
        with place.gate() as gate:
            for tool, arguments in (("run_command", {"command": "true"}), ("read_file", {"path": "a.txt"})):
                error = gate.refused("PERMISSION_DENIED", tool, **arguments)
                check("sandgate.json" not in error["message"] and "folder itself" in error["message"], lib.short(error))
        place.workspace.chmod(0o755)
        check(place.run("--", "true").returncode == 0, "it does not work again")


HIDDEN = [
    ("MK .git; chmod 111 .git", "."),
    ("mkdir p; MK p/.git; chmod 111 p", "p"),
    ("mkdir -p a/b; MK a/b/.git; chmod 0 a/b; chmod 0 a", "a/b"),
    ("MK .; rmdir objects refs; : > objects; : > refs; chmod 755 objects refs", "."),
    ("mkdir src store; echo 'ref: refs/heads/main' > src/HEAD; echo ../store > src/commondir; mkdir store/objects store/refs; "
     "printf '[core]\\nrepositoryformatversion = 1\\nfsmonitor = BAIT\\n[extensions]\\nworktreeConfig = true\\n' > store/config; "
     "printf '[core]\\nbare = false\\nworktree = .\\n' > src/config.worktree", "src"),
    ("MK .git; echo x > .envrc; chmod 555 .", "."),
    ("MK d; mkdir d/sub; MK d/sub/.git", "d/sub"),
    ("MK .git; touch .git/x; chmod 0 .git/x", "."),
    ("mkdir app.key; MK app.key/.git", "app.key"),
    ("mkdir -p app.key/a/b; MK app.key/a/b/.git", "app.key/a/b"),
    ("MK app.key", "app.key"),
    ("mkdir app.key; MK app.key/bare", "app.key/bare"),
    ("mkdir -p app.key/x other; MK other/g; echo 'gitdir: ../../other/g' > app.key/x/.git", "app.key/x"),
    ("mkdir -p app.key/a; MK app.key/a/.git; chmod 0 app.key/a; chmod 111 app.key", "app.key/a"),
    ("mkdir -p evil; MK evil/.git; mv evil app.key", "app.key"),
    ("mkdir -p a/.vscode/x; MK a/.vscode/x/.git", "a/.vscode/x"),
    ("mkdir -p a/.aws/x; MK a/.aws/x/.git", "a/.aws/x"),
    ("git init -q deep; ln deep/.git/config c; printf '[core]\\nfsmonitor = BAIT\\n' >> c", "deep"),
]


TRIES = 10


def hidden(form):
    """what a command hides, closes or builds in parts is found all the same"""
    make = "mkdir -p {0}/objects {0}/refs; echo 'ref: refs/heads/main' > {0}/HEAD; printf '[core]\\nfsmonitor = BAIT\\n' > {0}/config"
    for number, (line, folder) in enumerate(HIDDEN):
        for word in (w.strip(";") for w, before in zip(line.split()[1:], line.split()) if before == "MK"):
            line = line.replace(f"MK {word}", make.format(word), 1)
        for again in range(TRIES):
            place = Project(form, f"hidden{number}-{again}", repository=False)
            place.put("a.txt", "one\n")
            with place.gate() as gate:
                value = gate.call("run_command", command=line.replace("BAIT", str(place.program)))["result"]
                if value["stderr"]:
                    # What has a secret name was covered before there was anything in it.
                    continue
                check(any(w.startswith("quarantined:") for w in whats(value)), f"`{HIDDEN[number][0]}`: {whats(value)}")
                gate.call("run_command", command="printf '[core]\\nfsmonitor = x\\n' >> c")
                break
        else:
            raise AssertionError(f"`{HIDDEN[number][0]}` could not be made: {value}")
        for words in (["status"], ["log"], ["diff"]):
            place.git(*words, check_status=False, cwd=place.workspace / folder)
        check(not place.bait.exists(), f"`{HIDDEN[number][0]}`: git ran it")


# What would make git run a program or write elsewhere, as a line for a shell in the workspace. BAIT is the program.
TRIGGERS = [
    "printf '[core]\\nfsmonitor = BAIT\\n' >> .git/config",
    "printf '[core]\\nhooksPath = h\\n' >> .git/config; mkdir -p h; cp BAIT h/pre-commit",
    "cp BAIT .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "cp BAIT .git/hooks/post-index-change",
    "mv .git/hooks .git/h2; mkdir .git/hooks; cp BAIT .git/hooks/post-commit",
    "echo junk > .git/HEAD",
    "rm .git/HEAD",
    "mv .git/HEAD .git/HEAD2",
    "echo ../evil > .git/commondir",
    "mv .git .g; cp -r .g .git; printf '[core]\\nfsmonitor = BAIT\\n' >> .git/config",
    "mv .git old; git init -q .; git config core.fsmonitor BAIT",
    "rm -rf .git; git init -q .; git config core.fsmonitor BAIT",
    "cp -r .git x.git; rm -rf .git; echo 'gitdir: x.git' > .git; printf '[core]\\nfsmonitor = BAIT\\n' >> x.git/config",
    "ln -sfn /tmp .git/objects/pack",
    "rm -f .git/index; cp a.txt .git/index",
    "ln -sf ../../x .git/COMMIT_EDITMSG; echo text > .git/SQUASH_MSG",
    "ln -sf ../../x .git/logs/HEAD",
    "ln -sf ../../x .git/FETCH_HEAD",
    "mkdir -p .git/rebase-merge; echo 'exec BAIT' > .git/rebase-merge/git-rebase-todo",
    "mkdir -p .git/remotes; echo 'URL: ext::BAIT' > .git/remotes/origin",
    "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes; git config filter.x.clean BAIT",
    "git config core.pager BAIT; git config core.editor BAIT; git config core.sshCommand BAIT",
    "git config --worktree core.fsmonitor BAIT; echo '[core]' > .git/config.worktree",
    "git log -1 --format=tformat:../evil --output=.git/commondir; mkdir -p evil/objects evil/refs; "
    "printf '[core]\\nfsmonitor = BAIT\\n' > evil/config",
    "git init -q lib; git -C lib config core.fsmonitor BAIT; git add lib",
    "git init -q lib; printf '[core]\\nfsmonitor = BAIT\\n' >> lib/.git/config",
    "mkdir -p sub; echo 'gitdir: ../evil' > sub/.git; mkdir -p evil/objects evil/refs; echo 'ref: refs/heads/x' > evil/HEAD; "
    "printf '[core]\\nfsmonitor = BAIT\\n' > evil/config",
    "tar cf t.tar .git; mkdir t; tar xf t.tar -C t; mv t/.git/config .git/config",
    "chmod 000 .git",
    "chmod 000 .git/HEAD",
    "git update-ref refs/heads/x HEAD; git replace -f HEAD HEAD",
    "python3 -c \"import os; os.rename('.git', 'g'); os.mkdir('.git')\"",
    "ln -s .git g; printf '[core]\\nfsmonitor = BAIT\\n' >> g/config",
    "mkdir w; ln .git/config w/config; printf '[core]\\nfsmonitor = BAIT\\n' >> w/config",
    "perl -e 'open(F, \"+<\", \".git/config\"); print F \"[core]\\nfsmonitor = BAIT\\n\"'",
]


def by_commands(form):
    """whatever commands do to a repository without the grant, git on the host runs nothing of theirs"""
    for number, line in enumerate(TRIGGERS):
        place = Project(form, f"cmd{number}")
        before = {p: p.read_bytes() for p in (place.workspace / ".git").rglob("*") if p.is_file()}
        with place.gate() as gate:
            value = gate.call("run_command", command=line.replace("BAIT", str(place.program)))
            check("result" in value, f"`{line}`: {lib.short(value)}")
        changed = [str(p) for p, text in before.items() if not p.exists() or p.read_bytes() != text]
        check(not changed, f"`{line}` changed {changed}")
        place.use_git()


def by_tools(form):
    """nor do file tools"""
    place = Project(form, "tools")
    place.put("bare/objects/x", "")
    place.put("bare/refs/x", "")
    place.put("evil/config", f"[core]\nfsmonitor = {place.program}\n")
    config = f"[core]\nfsmonitor = {place.program}\n"
    calls = [
        ("write_file", {"path": ".git/HEAD", "content": "junk"}),
        ("write_file", {"path": ".git/config", "content": config}),
        ("write_file", {"path": ".git/commondir", "content": "../evil"}),
        ("write_file", {"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"}),
        ("write_file", {"path": ".git/index", "content": "x"}),
        ("write_file", {"path": "sub/.git", "content": "gitdir: ../evil\n"}),
        ("write_file", {"path": "lib/.git/config", "content": config}),
        ("write_file", {"path": ".gitmodules", "content": "[submodule \"x\"]\n"}),
        ("write_file", {"path": "bare/HEAD", "content": "ref: refs/heads/main\n"}),
        ("edit_file", {"path": ".git/config", "edits": [{"old_text": "[core]", "new_text": config}]}),
        ("delete", {"path": ".git/HEAD"}),
        ("delete", {"path": ".git", "recursive": True}),
        ("move", {"from": ".git", "to": "g"}),
        ("move", {"from": ".git/HEAD", "to": "h"}),
        ("move", {"from": "evil/config", "to": ".git/config", "overwrite": True}),
        ("move", {"from": "evil", "to": "sub/.git"}),
        ("make_directory", {"path": ".git/rebase-merge"}),
    ]
    with place.gate() as gate:
        for tool, arguments in calls:
            answer = gate.call(tool, **arguments)
            check(not answer["ok"], f"{tool} {arguments}: {lib.short(answer)}")
            check(answer["error"]["details"]["reason"] == "protected", f"{tool} {arguments}: {lib.short(answer)}")
    place.use_git()


def records(place):
    return [json.loads(line) for p in (place.home / "sandgate/audit").glob("*.jsonl") for line in p.read_text().splitlines()]


def many(form):
    """of very many the gravest are told first, all are in the record by name or number, and none is left where it counts"""
    place = Project(form, "many")
    noise = "mkdir n; for i in $(seq 1500); do mkdir n/$i; echo > n/$i/.envrc; done; "
    evil = f"git init -q z; git -C z config core.fsmonitor {place.program}; mkdir z.key; cp -r z/.git z.key/; echo x > .envrc"
    with place.gate() as gate:
        value = gate.call("run_command", seconds=4 * lib.SECONDS, command=noise + evil)["result"]
    told = whats(value)
    for path in (".envrc", "z/.git", "z.key/.git"):
        check(not (place.workspace / path).exists(), f"{path} is still there")
        check(f"quarantined:{path}" in told[:10], f"{path}: {told[:10]}")
    check(told[-1] == "more" and len(told) == 65 and "hint" in value, f"{len(told)} {told[-1]}")
    check(sum(v["count"] for v in value["violations"]) == 1504, f"{sum(v['count'] for v in value['violations'])}")
    record = next(r for r in records(place) if r.get("violations"))
    check(record["violations"][:64] == told[:64] and len(record["violations"]) == 1000, f"{len(record['violations'])}")
    check(record["violationsMore"] == {"created:": 504}, f"{record['violationsMore']}")
    place.use_git()


def too_many(form):
    """what is dangerous is found among more names than can be covered; then no command starts until there are fewer"""
    place = Project(form, "toomany", repository=False)
    place.put("a.txt", "one\n")
    noise = "mkdir n; cd n; seq 21000 | sed 's/^/.env./' | xargs touch; cd ..; "
    evil = f"git init -q .; git config core.fsmonitor {place.program}; echo x > .envrc"
    with place.gate() as gate:
        value = gate.call("run_command", command=noise + evil)["result"]
        told = whats(value)
        check({"scan:failed", "quarantined:.git", "quarantined:.envrc"} <= set(told), f"{told}")
        check(not (place.workspace / ".git").exists() and not (place.workspace / ".envrc").exists(), "still there")
        for _ in range(2):
            gate.refused("TOO_LARGE", "run_command", command="true")
        subprocess.run(["rm", "-rf", place.workspace / "n"], check=True)
        value = gate.call("run_command", command="true")["result"]
        check(value["violations"] == [], f"{whats(value)}")
    place.use_git()


def long_names(form):
    """names that take much room in a record do not push it out"""
    place = Project(form, "long")
    name = r"$(printf '\001%.0s' $(seq 200))"
    with place.gate() as gate:
        value = gate.call("run_command", command=f"x={name}; for i in $(seq 900); do mkdir -p \"$i$x\"; echo > \"$i$x\"/.envrc; done")["result"]
    check(len(value["violations"]) == 65, lib.short(value))
    record = next(r for r in records(place) if r.get("violations"))
    count = len(record["violations"]) + record["violationsMore"]["created:"]
    check(count == 900 and len(record["violations"]) > 64, f"{count}")


def run_tells_all(form):
    """`run` tells of what stays, also where the command had no error"""
    place = Project(form, "runall")
    done = place.run("--", "sh", "-c", "mkdir a; echo x > a/.envrc")
    check(done.returncode == 0 and b"a/.envrc" in done.stderr, f"{done.stderr}")


def run_tells(form):
    """`run` says it on standard error"""
    place = Project(form, "run")
    done = place.run("--", "sh", "-c", "echo x > .envrc")
    check(done.returncode == 0 and b".envrc" in done.stderr, f"{done.stderr}")
    check(not (place.workspace / ".envrc").exists(), "it is still there")


if __name__ == "__main__":
    ran.main(
        at_the_root,
        one_by_one,
        in_a_repository_below,
        new_repositories,
        inside_a_plain_one,
        used_repositories,
        bare_layout,
        hidden,
        by_commands,
        by_tools,
        many,
        too_many,
        long_names,
        special_files,
        closed_workspace,
        run_tells_all,
        run_tells,
    )

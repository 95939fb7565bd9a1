#!/usr/bin/env python3
"""Everything known by which git on the host would run a program or write elsewhere, tried in four ways: by file tools, by
a command without the grant, in a folder that a command moves or copies, and by a command with the grant. Each is stopped,
dropped or told; afterwards git on the host runs nothing that was chosen in the sandbox.
"""
# timeout: 600

import json
import os
import shlex
import subprocess

import lib
import ran
from lib import check, short
from repository import GRANTED, WHO, Repository

HOOKS = (
    "post-index-change reference-transaction pre-commit prepare-commit-msg commit-msg post-commit post-checkout post-merge "
    "pre-merge-commit pre-rebase post-rewrite pre-push applypatch-msg pre-applypatch post-applypatch pre-auto-gc "
    "push-to-checkout fsmonitor-watchman sendemail-validate pre-receive update post-receive post-update proc-receive "
    "p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit"
).split()

# A section of a configuration file and the lines in it. BAIT is the program.
SETTINGS = {
    "core": "fsmonitor hooksPath sshCommand gitProxy pager editor alternateRefsCommand askPass attributesFile excludesFile worktree".split(),
    "pager": ["status", "log", "diff"],
    "sequence": ["editor"],
    'hook "x"': ["command"],
    "diff": ["external"],
    'diff "x"': ["command", "textconv"],
    'filter "x"': ["clean", "smudge", "process"],
    'merge "x"': ["driver"],
    "merge": ["default"],
    "gpg": ["program"],
    'gpg "ssh"': ["program", "defaultKeyCommand"],
    'gpg "x509"': ["program"],
    "commit": ["gpgSign", "template"],
    "log": ["showSignature"],
    "credential": ["helper"],
    'credential "https://x"': ["helper"],
    "alias": ["st", "x"],
    "interactive": ["diffFilter"],
    'remote "near"': ["uploadpack", "receivepack", "vcs", "promisor", "pushurl", "proxy"],
    'url "ext::BAIT "': ["insteadOf"],
    "extensions": ["partialClone", "worktreeConfig"],
    "protocol": ["allow"],
    'submodule "x"': ["update"],
    'trailer "x"': ["cmd", "command"],
    'tar "x"': ["command"],
    "pull": ["twohead"],
    'branch "main"': ["mergeoptions"],
    'difftool "x"': ["cmd", "path"],
    'mergetool "x"': ["cmd", "path"],
    'browser "x"': ["cmd"],
    'man "x"': ["cmd"],
    "imap": ["tunnel"],
    "gc": ["recentObjectsHook"],
    "sendemail": ["toCmd", "ccCmd", "headerCmd", "smtpServer"],
    "init": ["templateDir"],
    'guitool "x"': ["cmd"],
    "instaweb": ["httpd"],
    "uploadpack": ["packObjectsHook"],
    "include": ["path"],
    'includeIf "gitdir:/"': ["path"],
    'includeIf "onbranch:main"': ["path"],
}


class Row:
    """Files, links and names that go, by their paths in a git directory; `data`: git only reads it."""

    def __init__(self, files=None, add=None, links=None, gone=(), sh="", data=False):
        self.files, self.add, self.links, self.gone, self.sh, self.data = files or {}, add or {}, links or {}, gone, sh, data

    def line(self, git, bait):
        """For a shell; every part is tried, whatever becomes of the others."""
        at = lambda path: shlex.quote(f"{git}/{path}")
        lines = [f"rm -rf {at(path)}" for path in self.gone]
        for path, text in [*self.files.items(), *self.add.items()]:
            sign = ">" if path in self.files else ">>"
            lines.append(f"mkdir -p {at(os.path.dirname(path))}; printf %s {shlex.quote(text.replace('BAIT', bait))} {sign} {at(path)}")
            if text.startswith("#!"):
                lines.append(f"chmod +x {at(path)}")
        for path, target in self.links.items():
            lines.append(f"mkdir -p {at(os.path.dirname(path))}; rm -rf {at(path)}; ln -s {shlex.quote(target)} {at(path)}")
        if self.sh:
            lines.append(self.sh.replace("GIT", shlex.quote(git)).replace("BAIT", bait))
        return "\n".join(lines)


def index(*names, mode="100644"):
    return f"python3 craft.py GIT {mode} {' '.join(shlex.quote(n) for n in names)}"


CRAFT = """
import hashlib, struct, sys
git, mode, names = sys.argv[1], int(sys.argv[2], 8), sorted(n.encode() for n in sys.argv[3:])
blob = hashlib.sha1(b"blob 0\\0").digest()
out = b"DIRC" + struct.pack(">II", 2, len(names))
for name in names:
    entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + blob + struct.pack(">H", len(name)) + name
    out += entry + b"\\0" * (8 - len(entry) % 8)
open(git + "/index", "wb").write(out + hashlib.sha1(out).digest())
"""

SCRIPT = "#!/bin/sh\nexec BAIT\n"
ID = "0123456789abcdef0123456789abcdef01234567"

IN_GIT = {
    **{f"hook {name}": Row({f"hooks/{name}": SCRIPT}) for name in HOOKS},
    **{f"config {section} {key}": Row(add={"config": f"[{section}]\n\t{key} = BAIT\n"}) for section, keys in SETTINGS.items() for key in keys},
    "alias with !": Row(add={"config": "[alias]\n\tst = !BAIT\n"}),
    "config in the line of its section": Row(add={"config": "[core] fsmonitor = BAIT\n"}),
    "remote that is a program": Row(add={"config": '[remote "x"]\n\turl = ext::BAIT\n[protocol "ext"]\n\tallow = always\n'}),
    "config.worktree": Row({"config.worktree": "[core]\n\tfsmonitor = BAIT\n"}, add={"config": "[extensions]\n\tworktreeConfig = true\n"}),
    "config as a link": Row(links={"config": "../evil/config"}),
    "config gone": Row(gone=["config"]),
    "hooks as a link": Row(links={"hooks": "../evil"}),
    "index into hooks": Row(sh=index(".git/hooks/post-commit")),
    "index outside": Row(sh=index("../outside")),
    "index with a submodule": Row(sh=index("evil", mode="160000"), data=True),
    "index as a link": Row(links={"index": "../target"}),
    "index junk": Row({"index": "junk"}),
    "message as a link": Row({"MERGE_MSG": "BAIT\n", "SQUASH_MSG": "BAIT\n"}, links={"COMMIT_EDITMSG": "../target"}),
    "log as a link": Row(links={"logs/HEAD": "../../target"}),
    "log of a branch as a link": Row(links={"logs/refs/heads/main": "../../../../target"}),
    "FETCH_HEAD as a link": Row(links={"FETCH_HEAD": "../target"}),
    "ORIG_HEAD as a link": Row(links={"ORIG_HEAD": "../target"}),
    "refs of remotes as a link": Row(links={"refs/remotes": "../../evil"}),
    "packs as a link": Row(links={"objects/pack": "../../evil"}),
    "objects as a link": Row(links={"objects": "../evil"}),
    "info as a link": Row(links={"info": "../evil"}),
    "HEAD junk": Row({"HEAD": "junk"}),
    "HEAD to elsewhere": Row({"HEAD": "ref: xrefs/heads/main\n"}),
    "HEAD gone": Row(gone=["HEAD"]),
    "HEAD a folder": Row({"HEAD/x": "x"}, gone=["HEAD"]),
    "HEAD as a link": Row(links={"HEAD": "gone"}),
    "HEAD with a program": Row({"HEAD": "ref: refs/heads/$(BAIT)\n"}, data=True),
    "refs gone": Row(gone=["refs"], data=True),
    "objects gone": Row(gone=["objects"], data=True),
    "closed": Row(sh="chmod 000 GIT/HEAD GIT"),
    "commondir": Row({"commondir": "../evil\n"}),
    "gitdir": Row({"gitdir": "../evil\n"}),
    "seeded submodule": Row({"modules/x/config": "[core]\n\tfsmonitor = BAIT\n", "modules/x/HEAD": "ref: refs/heads/main\n", "modules/x/objects/x": "",
                             "modules/x/refs/x": "", "modules/x/hooks/post-checkout": SCRIPT}),
    "commondir of a submodule": Row({"modules/x/commondir": "../../../evil\n", "modules/x/HEAD": "ref: refs/heads/main\n"}),
    "worktree of one's own": Row({"worktrees/x/commondir": "../../../evil\n", "worktrees/x/HEAD": "ref: refs/heads/main\n",
                                  "worktrees/x/gitdir": "/x\n", "worktrees/x/config.worktree": "[core]\n\tfsmonitor = BAIT\n"}),
    "config of a submodule that is there": Row(add={"modules/lib/config": "[core]\n\tfsmonitor = BAIT\n"}),
    "hook of a submodule that is there": Row({"modules/lib/hooks/post-index-change": SCRIPT}),
    "HEAD of a submodule that is there": Row({"modules/lib/HEAD": "junk"}),
    "redirected submodule": Row({"modules/lib/commondir": "../../../evil\n"}),
    "config of a worktree that is there": Row({"worktrees/tree/config.worktree": "[core]\n\tfsmonitor = BAIT\n"}),
    "redirected worktree": Row({"worktrees/tree/commondir": "../../../evil\n"}),
    "rebase with exec": Row({"rebase-merge/git-rebase-todo": "exec BAIT\n", "rebase-merge/onto": ID, "rebase-merge/orig-head": ID,
                             "rebase-merge/head-name": "refs/heads/main\n", "rebase-merge/interactive": ""}),
    "rebase with a strategy": Row({"rebase-merge/git-rebase-todo": f"pick {ID}\n", "rebase-merge/strategy": "evil\n", "rebase-merge/onto": ID,
                                   "rebase-merge/head-name": "refs/heads/main\n"}),
    "am with options": Row({"rebase-apply/apply-opt": " '--unsafe-paths'\n", "rebase-apply/next": "1\n", "rebase-apply/last": "1\n",
                            "rebase-apply/applying": "", "rebase-apply/0001": "x"}),
    "sequence with exec": Row({"sequencer/todo": "exec BAIT\n", "sequencer/opts": "[options]\n\tstrategy = evil\n", "sequencer/head": ID}),
    "remote in a file": Row({"remotes/near": "URL: ev::x\n"}),
    "branch in a file": Row({"branches/near": "ev::x\n"}),
    "attributes": Row({"info/attributes": "* filter=x diff=x merge=x\n"}),
    "sparse": Row({"info/sparse-checkout": "x\n"}),
    "grafts": Row({"info/grafts": f"{ID}\n"}),
    "alternates": Row({"objects/info/alternates": "../../evil\n"}),
    "alternates by http": Row({"objects/info/http-alternates": "http://x\n"}),
    "rerere": Row({f"rr-cache/{ID}/postimage": "BAIT\n"}),
    "bisect": Row({"BISECT_START": "--upload-pack=BAIT\n", "BISECT_NAMES": "'$(BAIT)'\n", "BISECT_LOG": "BAIT\n"}),
    "bisect of two lines": Row({"BISECT_NAMES": "'a'\n'b'\n"}),
    "split index": Row({f"sharedindex.{ID}": "x"}),
    "promisor": Row({f"objects/pack/pack-{ID}.promisor": ""}, data=True),
    "forged pack": Row({f"objects/pack/pack-{ID}.pack": "PACK", f"objects/pack/pack-{ID}.idx": "x"}, data=True),
    "forged object": Row({f"objects/{ID[:2]}/{ID[2:]}": "x"}, data=True),
    "replaced object": Row({f"refs/replace/{ID}": f"{ID}\n"}, data=True),
    "refs in a circle": Row({"refs/heads/x": "ref: refs/heads/y\n", "refs/heads/y": "ref: refs/heads/x\n"}, data=True),
    "ref as a link": Row(links={"refs/heads/x": "../../../target"}),
    "ref junk": Row({"refs/heads/x": "$(BAIT)\n"}, data=True),
    "fsmonitor's daemon": Row({"fsmonitor--daemon/cookies/x": "x", "fsmonitor--daemon.ipc": "x"}),
    "unknown": Row({"whatever": "x"}),
    "pipe": Row(sh="mkfifo GIT/pipe"),
}

BARE = {"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\tfsmonitor = BAIT\n\tbare = false\n\tworktree = .\n", "objects/x": "", "refs/x": ""}
# In the working tree, where they would be found.
AROUND = {
    "bare files at the root": (Row({**BARE, ".git/HEAD": "junk"}), ["."]),
    "bare files below": (Row({f"sub/{p}": t for p, t in BARE.items()}), ["sub"]),
    "a repository below": (Row({f"sub/.git/{p}": t for p, t in BARE.items()}), ["sub"]),
    "a repository in capitals": (Row({f"sub/.GIT/{p}": t for p, t in BARE.items()}), ["sub"]),
    "a .git file": (Row({"sub/.git": "gitdir: ../other\n", **{f"other/{p}": t for p, t in BARE.items()}}), ["sub", "other"]),
    "a .git link": (Row({f"other/{p}": t for p, t in BARE.items()}, links={"sub/.git": "../other"}), ["sub", "other"]),
    "objects elsewhere": (Row({"sub/HEAD": "ref: refs/heads/main\n", "sub/commondir": "../other\n", **{f"other/{p}": t for p, t in BARE.items()}}),
                          ["sub", "other"]),
    "in a secret folder": (Row({f"x.key/.git/{p}": t for p, t in BARE.items()}), ["x.key"]),
    "in a folder of settings": (Row({f"sub/.vscode/.git/{p}": t for p, t in BARE.items()}), ["sub/.vscode"]),
    "in installed packages": (Row({f"node_modules/x/.git/{p}": t for p, t in BARE.items()}), ["node_modules/x"]),
    "submodules": (Row({".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::BAIT\n\tupdate = !BAIT\n'}), ["."]),
    "hooks of others": (Row({".husky/pre-commit": SCRIPT, ".githooks/pre-commit": SCRIPT}), ["."]),
    "settings of others": (Row({".hg/hgrc": "[hooks]\npre-status = BAIT\n", ".jj/repo": "../other\n"}), ["."]),
}

OUTSIDE = ("status", "log -2", "diff", "add -A", "commit -m later", "fetch", "st", "describe --always --dirty", "restore .", "checkout-index -a -f",
           "checkout side", "checkout main", "stash", "rebase --continue", "submodule update", "gc --auto")
FEW = ("status", "log -1", "diff", "add -A", "commit -m later", "fetch")


class Tried(Repository):
    """A repository with a remote outside, and programs and files that must neither run nor change."""

    def __init__(self, form, name, config):
        super().__init__(form, name, config)
        self.marker = form.base / f"{name}-marker"
        self.bait = str(self.workspace / "evil/bait")
        for path in ("evil/bait", "evil/post-commit", "bin/git-remote-ev", "bin/git-merge-evil"):
            with form.acting():
                (self.workspace / path).parent.mkdir(exist_ok=True)
            self.put(path, f'#!/bin/sh\necho "$0 $*" >> {self.marker}\n').chmod(0o755)
        self.put("evil/config", f"[core]\n\tfsmonitor = {self.bait}\n")
        self.put("target", "untouched\n")
        self.put("craft.py", CRAFT)
        self.git("add", ".")
        self.git("commit", "-qm", "bait")
        far = form.folder(f"{name}-far")
        self.git("clone", "-q", "--bare", str(self.workspace), str(far))
        self.git("remote", "add", "near", str(far))
        self.git("fetch", "-q", "near")
        self.git("branch", "-q", "-u", "near/main")
        self.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(far), "lib")
        self.git("commit", "-qm", "lib")
        self.git("worktree", "add", "-q", "-b", "tree", str(form.base / f"{name}-tree"))
        self.start = self.git("rev-parse", "HEAD").strip()
        self.beside = self.names_beside()

    def names_beside(self):
        return {p.name for p in self.form.base.iterdir()}

    def use_git(self, what, lines=OUTSIDE, folder=None):
        """As its user, on the host."""
        env = {**lib.environment(self.home), **WHO, "GIT_EDITOR": "true", "GIT_CEILING_DIRECTORIES": str(self.form.base)}
        env["PATH"] = f"{self.workspace}/bin:" + env.get("PATH", os.environ["PATH"])
        for line in lines:
            subprocess.run(["git", *line.split()], cwd=folder or self.workspace, env=env, capture_output=True, check=False,
                           stdin=subprocess.DEVNULL, **self.form.identity())
            check(not self.marker.exists(), f"{what}: `git {line}` ran {self.marker.exists() and self.marker.read_text()}")
        check((self.workspace / "target").read_text() == "untouched\n", f"{what}: written through a link")
        check(self.names_beside() <= self.beside, f"{what}: made {self.names_beside() - self.beside}")

    def clean(self):
        """What git on the host has committed meanwhile goes, too."""
        self.git("reset", "-q", "--hard", self.start)
        self.git("clean", "-ffdqx")

    def told(self):
        """All violations of all records."""
        return [v for p in (self.home / "sandgate/audit").glob("*.jsonl") for line in p.read_text().splitlines()
                for v in json.loads(line).get("violations", [])]


def tool_calls(row, folder):
    at = lambda path: f"{folder}/{path}" if folder else path
    yield from (("delete", {"path": at(path), "recursive": True}) for path in row.gone)
    yield from (("write_file", {"path": at(path), "content": text}) for path, text in {**row.files, **row.add}.items())
    # Tools make no links, but could put a file or a folder in the place of what git writes to.
    for path in row.links:
        yield "move", {"from": "target", "to": at(path), "overwrite": True}
        yield "move", {"from": "evil", "to": at(path), "overwrite": True}


def path_of_file(answer):
    """A file in the place of a folder refuses by itself."""
    return "protected" if answer["error"]["code"] == "NOT_A_DIRECTORY" else None


def by_tools(form):
    """file tools: each is refused, by the rule's name, and changes nothing"""
    place = Tried(form, "tools", {"approval": {"default": "approve"}})
    before, count = place.tree(), 0
    with place.gate() as gate:
        for name, row in IN_GIT.items():
            for tool, arguments in tool_calls(row, ".git"):
                text = json.loads(json.dumps(arguments).replace("BAIT", place.bait))
                answer = gate.call(tool, **text)
                check(not answer["ok"] and "protected" in (answer["error"]["details"].get("reason"), path_of_file(answer)), f"{name}: {tool} {text}: {short(answer)}")
                count += 1
            check(place.tree() == before, f"{name}: changed")
        for name, (row, folders) in AROUND.items():
            refused = [not gate.call(tool, **json.loads(json.dumps(arguments).replace("BAIT", place.bait)))["ok"]
                       for tool, arguments in tool_calls(row, "")]
            check(any(refused), f"{name}: nothing of it was refused")
            for folder in folders:
                if (place.workspace / folder).is_dir():
                    place.use_git(name, FEW, place.workspace / folder)
            place.clean()
        check(place.tree().keys() >= before.keys() and count > 150, f"{count} calls")
        for folder in (".git", "lib/.git", "evil/.git"):
            answer = gate.call("move", **{"from": "evil" if folder != "evil/.git" else "bin", "to": folder, "overwrite": True})
            check(not answer["ok"], f"moved to {folder}: {short(answer)}")
    place.use_git("tools")


def by_commands(form):
    """a command without the grant: the git directory stays as it is, and what is made beside it is told"""
    place = Tried(form, "commands", {"approval": {"default": "approve"}})
    before = place.tree()
    with place.gate() as gate:
        for name, row in IN_GIT.items():
            ran.ended(gate.call("run_command", command=f"{row.line('.git', place.bait)}\ntrue", env=WHO))
            check(place.tree() == before and (place.workspace / ".git").stat().st_mode & 0o777 == 0o755, f"{name}: changed")
        place.use_git("commands", FEW)
    check_around(place)
    place.use_git("commands")


def check_around(place):
    """Each with a gate of its own: what was covered once stays so for its gate."""
    for name, (row, folders) in AROUND.items():
        with place.gate() as gate:
            value = ran.ended(gate.call("run_command", command=f"{row.line('.', place.bait)}\ntrue"))
        check(value["violations"] or "Read-only" in value["stderr"], f"{name}: neither stopped nor told: {short(value)}")
        for folder in folders:
            if (place.workspace / folder).is_dir():
                place.use_git(name, FEW, place.workspace / folder)
        place.clean()


# Where a command has built it, how it comes to its place. The first is tried with all, the others with some.
MOVES = {
    "moved": "mv w/{n}/g l{n}/.git",
    "copied": "cp -r w/{n}/g l{n}/.git; rm -rf w/{n}",
    "packed": "tar cf t -C w/{n} g; tar xf t -C l{n}; mv l{n}/g l{n}/.git; rm -rf w/{n}",
    "around": "mv w/{n} t; mv t/g t/.git; mv t/.git l{n}; rm -rf t",
}
SMALL = "mkdir -p base/objects base/refs/heads base/hooks base/info base/logs; echo 'ref: refs/heads/main' > base/HEAD; printf '[core]\\n\\tbare = false\\n' > base/config"
REPLACE = ("cp -r .git g; rm -rf .git; mv g .git", "cp -r evil g; mv -T g .git", "mv .git old; cp -r old .git", "cp -rT evil .git",
           "tar cf t .git; tar xf t --recursive-unlink", "cp -r evil/. .git/")


def build(place, gate, rows, move):
    """In commands that are not too long."""
    for first in range(0, len(rows), 30):
        lines = [f"mkdir -p w/{n} l{n}; cp -r base w/{n}/g; {row.line(f'w/{n}/g', place.bait)}\n{move.format(n=n)}\n"
                 for n, (_, row) in list(enumerate(rows))[first:first + 30]]
        place.put("build.sh", f"{SMALL}\n{''.join(lines)}rm -rf base\n")
        call = gate.send("run_command", command="bash build.sh 2>/dev/null; true", timeout_ms=120000)
        value = ran.ended(gate.wait(call, 120))
        check(value["violations"], short(value))


def check_moved(place, way, rows):
    told = [t.split(":", 1)[-1] for t in place.told()]
    for n, (name, row) in enumerate(rows):
        there = [t for t in told if t in (f"l{n}", f"w/{n}") or t.startswith((f"l{n}/", f"w/{n}/"))]
        check(there, f"{way} {name}: it is not told")
        check(row.data or not (place.workspace / f"l{n}/.git/HEAD").exists(), f"{way} {name}: it is there: {there}")
        place.use_git(f"{way} {name}", FEW[:4:3], place.workspace / f"l{n}")


def by_moves(form):
    """a folder that is built elsewhere and then moved, copied or unpacked: not there, or harmless and told"""
    for way, move in MOVES.items():
        place = Tried(form, f"moves-{way}", {"approval": {"default": "approve"}})
        before = place.tree()
        rows = list(IN_GIT.items())[:: 1 if way == "moved" else 9]
        with place.gate() as gate:
            build(place, gate, rows, move)
            for line in REPLACE:
                gate.call("run_command", command=line)
                check(place.tree() == before, f"{way}: `{line}` changed it")
        check_moved(place, way, rows)
        place.use_git(way)


MAY_CHANGE = ("HEAD", "index", "ORIG_HEAD", "MERGE_MSG", "SQUASH_MSG", "COMMIT_EDITMSG", "BISECT_LOG", "packed-refs")


def by_grant(form):
    """a command with the grant: what is not data is dropped and told"""
    place = Tried(form, "grant", GRANTED)
    saved = form.base / "grant-saved"
    place.beside.add(saved.name)
    subprocess.run(["cp", "-a", place.workspace / ".git", saved], check=True)
    # All settings lie in one file.
    settings = [name for name in IN_GIT if name.startswith("config ") and IN_GIT[name].add]
    for name, row in IN_GIT.items():
        if name in settings and name not in settings[::8]:
            continue
        before = place.tree()
        with place.gate() as gate:
            value = ran.ended(gate.call("run_command", command=f"{row.line('.git', place.bait)}\ntrue", env=WHO))
        now = place.tree()
        changed = [p for p in {*now, *before} if now.get(p) != before.get(p)]
        # Branches and where HEAD is may change with nothing to tell.
        quiet = all(path.startswith("refs/") or path == "HEAD" for path in changed)
        check(value["violations"] or quiet, f"{name}: nothing is told, and changed is {changed}")
        for path in changed:
            check(path in MAY_CHANGE or path.startswith(("objects/", "logs/", "refs/")), f"{name}: {path} has changed")
        for path in ("HEAD", "refs", "objects"):
            check((place.workspace / ".git" / path).exists(), f"{name}: without {path} git would look elsewhere")
        place.use_git(name, FEW)
        if place.tree() != before:
            subprocess.run(["rm", "-rf", place.workspace / ".git"], check=True)
            subprocess.run(["cp", "-a", saved, place.workspace / ".git"], check=True)
            place.git("reset", "-q", "--hard")
    check_around(place)
    place.use_git("grant")


if __name__ == "__main__":
    ran.main(by_tools, by_commands, by_moves, by_grant)

#!/usr/bin/env python3
"""What a command with the grant may not leave in a git directory: everything that makes the user's own git run a program,
write where it should not, or look for its repository elsewhere. Each is written raw by a command; afterwards it is not
there, a violation names it, and git outside runs nothing of it.
"""
# timeout: 600

import os
import subprocess

import lib
import ran
from lib import check, short
from ran import bash
from repository import WHO, Repository

HOOKS = (
    "post-index-change reference-transaction pre-commit prepare-commit-msg commit-msg post-commit post-checkout post-merge "
    "pre-merge-commit pre-rebase post-rewrite pre-push applypatch-msg pre-applypatch post-applypatch pre-auto-gc "
    "push-to-checkout fsmonitor-watchman sendemail-validate pre-receive update post-receive post-update proc-receive"
).split()

CRAFT = """
import hashlib, struct, subprocess, sys
names = [eval("b'" + word + "'") for word in sys.argv[3:]]
version, mode = int(sys.argv[1]), int(sys.argv[2], 8)
blob = bytes.fromhex(subprocess.check_output(["git", "rev-parse", "HEAD:a"], text=True).strip())
out, before = b"DIRC" + struct.pack(">II", version, len(names)), b""
for name in sorted(names):
    entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + blob + struct.pack(">H", min(len(name), 4095))
    if version == 4:
        entry += bytes([len(before)]) + name + b"\\0"
        before = name
    else:
        entry += name + b"\\0" * (8 - (len(entry) + len(name)) % 8)
    out += entry
open(".git/index.new", "wb").write(out + hashlib.sha1(out).digest())
"""
INDEX = "python3 craft.py {version} {mode} {names} && mv .git/index.new .git/index"


def index(*names, version=2, mode="100644"):
    return INDEX.format(version=version, mode=mode, names=" ".join(f"'{n}'" for n in names))


# A line, and the names of which each has to be told as dropped. BAIT is the program that must not run.
TRIES = {
    "hooks": (f"for h in {' '.join(HOOKS)}; do cp evil/bait .git/hooks/$h; done", [".git/hooks/pre-commit", "git:dropped"]),
    "hooks as a link": ("rm -rf .git/hooks; ln -s /workspace/evil .git/hooks", [".git/hooks"]),
    "config": ("printf '[core]\\n\\tfsmonitor = BAIT\\n\\tpager = BAIT\\n' >> .git/config", [".git/config"]),
    "config by git": ("git config core.fsmonitor BAIT; git config alias.st '!BAIT'; git config core.hooksPath evil", [".git/config"]),
    "config as a link": ("rm .git/config; ln -s /workspace/evil/config .git/config", [".git/config"]),
    "config removed": ("rm .git/config", [".git/config"]),
    "config.worktree": ("printf '[core]\\n\\tfsmonitor = BAIT\\n' > .git/config.worktree", [".git/config.worktree"]),
    "commondir": ("echo ../evil > .git/commondir", [".git/commondir"]),
    "gitdir": ("echo ../evil > .git/gitdir", [".git/gitdir"]),
    "attributes": ("echo '* filter=evil diff=evil' > .git/info/attributes", [".git/info/attributes"]),
    "exclude": ("echo a > .git/info/exclude", [".git/info/exclude"]),
    "grafts": ("git rev-parse HEAD > .git/info/grafts", [".git/info/grafts"]),
    "sparse": ("echo x > .git/info/sparse-checkout", [".git/info/sparse-checkout"]),
    "alternates": ("echo /workspace/evil > .git/objects/info/alternates", [".git/objects/info/alternates"]),
    "http alternates": ("echo http://x > .git/objects/info/http-alternates", [".git/objects/info/http-alternates"]),
    "remotes": ("mkdir -p .git/remotes; echo 'URL: ev::x' > .git/remotes/near", [".git/remotes/near"]),
    "branches": ("mkdir -p .git/branches; echo 'ev::x' > .git/branches/near", [".git/branches/near"]),
    "new submodule": ("mkdir -p .git/modules/x; cp .git/config .git/HEAD .git/modules/x/", [".git/modules/x/config", ".git/modules/x/HEAD"]),
    "new worktree": ("mkdir -p .git/worktrees/x; cp .git/HEAD .git/worktrees/x/; echo ../.. > .git/worktrees/x/commondir",
                     [".git/worktrees/x/commondir"]),
    "rr-cache": ("mkdir -p .git/rr-cache/x; echo x > .git/rr-cache/x/postimage", [".git/rr-cache/x/postimage"]),
    "unknown": ("echo x > .git/whatever; echo x > .git/objects/x; echo x > .git/refs/x..y", [".git/whatever", ".git/objects/x", ".git/refs/x..y"]),
    "an end of history that is not there": ("git rev-parse HEAD | tr 0-9a-f 1-9a-f0 > .git/shallow; git commit --allow-empty -qm x", [".git/shallow"]),
    "an end of history without a line end": ("git rev-parse HEAD | tr -d '\\n' > .git/shallow", [".git/shallow"]),
    "an end of history as a link": ("git rev-parse HEAD > ids; ln -s ../ids .git/shallow", [".git/shallow"]),
    "HEAD junk": ("echo junk > .git/HEAD", [".git/HEAD"]),
    "HEAD elsewhere": ("echo 'ref: xrefs/heads/main' > .git/HEAD", [".git/HEAD"]),
    "HEAD above": ("echo 'ref: refs/../../evil' > .git/HEAD", [".git/HEAD"]),
    "HEAD as a link": ("rm .git/HEAD; ln -s refs/heads/gone .git/HEAD", [".git/HEAD"]),
    "HEAD removed": ("rm .git/HEAD", [".git/HEAD"]),
    "HEAD a folder": ("rm .git/HEAD; mkdir .git/HEAD; echo x > .git/HEAD/x", [".git/HEAD"]),
    "HEAD closed": ("chmod 000 .git/HEAD; chmod 000 .git/objects .git/refs", []),
    "refs removed": ("rm -rf .git/refs .git/objects .git/HEAD", [".git/HEAD"]),
    "all removed": ("find .git -mindepth 1 -delete", [".git/HEAD"]),
    "objects as a link": ("rm -rf .git/objects; ln -s /workspace/evil .git/objects",
                          [".git/objects"]),
    "refs as a link": ("rm -rf .git/refs/remotes; ln -s /workspace/evil .git/refs/remotes", [".git/refs/remotes"]),
    "pack as a link": ("rm -rf .git/objects/pack; ln -s /workspace/evil .git/objects/pack", [".git/objects/pack"]),
    "ref as a link": ("ln -s /workspace/a .git/refs/heads/link", [".git/refs/heads/link"]),
    "ref junk": ("echo '$(BAIT)' > .git/refs/heads/junk", [".git/refs/heads/junk"]),
    "refs in a circle": ("echo 'ref: refs/heads/b1' > .git/refs/heads/a1; echo 'ref: refs/heads/a1' > .git/refs/heads/b1",
                         [".git/refs/heads/a1", ".git/refs/heads/b1"]),
    "a ref that is itself": ("git symbolic-ref refs/heads/a1 refs/heads/a1", [".git/refs/heads/a1"]),
    "a branch in a circle": ("echo 'ref: refs/heads/side' > .git/refs/heads/main; echo 'ref: refs/heads/main' > .git/refs/heads/side",
                             [".git/refs/heads/main", ".git/refs/heads/side"]),
    "a circle through a tag": ("echo 'ref: refs/tags/t' > .git/refs/heads/side; echo 'ref: refs/heads/side' > .git/refs/tags/t",
                               [".git/refs/heads/side", ".git/refs/tags/t"]),
    "HEAD to a circle": ("echo 'ref: refs/heads/b1' > .git/refs/heads/b1; echo 'ref: refs/heads/b1' > .git/HEAD", [".git/HEAD"]),
    "too long a way": ("for i in 1 2 3 4 5 6; do echo \"ref: refs/heads/w$((i + 1))\" > .git/refs/heads/w$i; done; git rev-parse HEAD > .git/refs/heads/w7; "
                       "echo 'ref: refs/heads/w1' > .git/HEAD", [".git/HEAD"]),
    "names of a bisect on two lines": ("printf \"'a'\\n'b'\\n\" > .git/BISECT_NAMES", [".git/BISECT_NAMES"]),
    "replace": ("git replace $(git rev-parse HEAD) $(git rev-parse side)", [".git/refs/replace/"]),
    "replace packed": ("echo \"$(git rev-parse side) refs/replace/$(git rev-parse HEAD)\" > .git/packed-refs", [".git/packed-refs"]),
    "packed junk": ("echo '; BAIT' > .git/packed-refs", [".git/packed-refs"]),
    "messages as links": ("for f in COMMIT_EDITMSG FETCH_HEAD ORIG_HEAD; do rm -f .git/$f; ln -s ../target .git/$f; done; "
                          "echo BAIT > .git/MERGE_MSG", [".git/COMMIT_EDITMSG", ".git/FETCH_HEAD", ".git/ORIG_HEAD"]),
    "logs as links": ("rm -f .git/logs/HEAD; ln -s ../../target .git/logs/HEAD", [".git/logs/HEAD"]),
    "log junk": ("echo '; BAIT' >> .git/logs/HEAD", [".git/logs/HEAD"]),
    "log removed": ("rm .git/logs/HEAD", [".git/logs/HEAD"]),
    "exec in a rebase": ("git checkout -q side; GIT_SEQUENCE_EDITOR='printf \"break\\nexec BAIT\\n\" >>' git rebase -i main~1 || true",
                         [".git/rebase-merge/git-rebase-todo"]),
    "rebase from nothing": ("mkdir .git/rebase-merge; cd .git/rebase-merge; echo 'x BAIT' > git-rebase-todo; git rev-parse HEAD | tee onto > orig-head; "
                            "echo refs/heads/main > head-name; touch interactive; echo 1 > msgnum; echo 1 > end", [".git/rebase-merge/git-rebase-todo"]),
    "strategy of a rebase": ("mkdir .git/rebase-merge; cd .git/rebase-merge; echo \"pick $(git rev-parse side)\" > git-rebase-todo; "
                             "git rev-parse HEAD | tee onto > orig-head; echo refs/heads/main > head-name; echo evil > strategy",
                             [".git/rebase-merge/strategy"]),
    "options of a sequence": ("mkdir .git/sequencer; cd .git/sequencer; printf '[options]\\n\\tstrategy = evil\\n' > opts; git rev-parse HEAD > head; "
                              "echo \"pick $(git rev-parse side)\" > todo; git rev-parse side > ../CHERRY_PICK_HEAD", [".git/sequencer/opts"]),
    "options of am": ("mkdir .git/rebase-apply; cd .git/rebase-apply; echo \" '--unsafe-paths'\" > apply-opt; echo 1 > next; echo 1 > last; "
                      "touch applying; echo x > 0001", [".git/rebase-apply/apply-opt"]),
    "bisect": ("echo --upload-pack=BAIT > .git/BISECT_START; echo '$(BAIT)' > .git/BISECT_NAMES", [".git/BISECT_START", ".git/BISECT_NAMES"]),
    "split index": ("cp .git/index .git/sharedindex.$(git rev-parse HEAD)", [".git/sharedindex."]),
    "index junk": ("echo junk > .git/index", [".git/index"]),
    "index removed": ("rm .git/index", [".git/index"]),
    "index as a link": ("rm .git/index; ln -s ../a .git/index", [".git/index"]),
    "locks": ("touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock; cp .git/config .git/config.lock",
              [".git/index.lock", ".git/HEAD.lock", ".git/refs/heads/main.lock", ".git/config.lock"]),
    "what git makes again": ("echo x > .git/objects/info/commit-graph; mkdir .git/objects/info/commit-graphs; echo x > .git/objects/info/commit-graphs/chain; "
                             "echo x > .git/objects/pack/multi-pack-index; echo x > .git/objects/info/packs; echo x > .git/info/refs; "
                             "echo x > .git/gc.log; echo x > .git/gc.pid",
                             [".git/objects/info/commit-graph", ".git/objects/info/commit-graphs/chain", ".git/objects/pack/multi-pack-index",
                              ".git/objects/info/packs", ".git/info/refs", ".git/gc.log", ".git/gc.pid"]),
    "files of a git that was killed": ("echo x > .git/objects/tmp_x; echo x > .git/objects/pack/tmp_pack_x; echo x > .git/objects/pack/.tmp-1-pack-x; "
                                       "mkdir -p .git/objects/01; echo x > .git/objects/01/tmp_obj_x; echo x > .git/objects/pack/pack-x.keep",
                                       [".git/objects/tmp_x", ".git/objects/pack/tmp_pack_x", ".git/objects/pack/.tmp-1-pack-x",
                                        ".git/objects/01/tmp_obj_x", ".git/objects/pack/pack-x.keep"]),
    "empty folders": ("mkdir -p .git/reftable .git/remotes .git/objects/info/commit-graphs .git/worktrees/new",
                      [".git/reftable", ".git/remotes", ".git/objects/info/commit-graphs", ".git/worktrees/new"]),
    "modes": ("chmod 755 .git/description; chmod 700 .git/info", [".git/description", ".git/info"]),
    "objects written over": ("f=$(ls .git/objects/??/* | head -1); chmod u+w $f; echo forged > $f", [".git/objects/"]),
    "objects removed": ("rm -rf .git/objects/??", ["git:kept"]),
    "split by git": ("git update-index --split-index; echo x > n; git add n", [".git/index", ".git/sharedindex."]),
    "pipe": ("mkfifo .git/pipe .git/refs/heads/pipe", [".git/pipe", ".git/refs/heads/pipe"]),
    "forged pack": ("p=.git/objects/pack/pack-$(git rev-parse HEAD); printf 'PACK0000000000000000000000000000000000000000' > $p.pack; cp $p.pack $p.idx",
                    [".pack"]),
    "forged object": ("mkdir -p .git/objects/00; echo junk > .git/objects/00/00000000000000000000000000000000000000",
                      [".git/objects/00/0000"]),
    "promisor": ("touch .git/objects/pack/pack-$(git rev-parse HEAD).promisor", [".promisor"]),
    "deep": ("cd .git; for i in $(seq 300); do mkdir d; cd d; done; touch x", [".git/d/"]),
    "long names": ("touch .git/$(printf 'x%.0s' $(seq 250))", ["git:dropped:.git/xxxxxxxxxxxxxxxx"]),
}
for path in (".git/hooks/post-index-change", ".GIT/config", "../x", "/x", "a//x", "x/../../y", ".git ./config", "git~1/config",
             ".g\\xe2\\x80\\x8cit/config", ".git::$INDEX_ALLOCATION/config", "sub/.git/hooks/x", ".git\\\\hooks\\\\x"):
    for version in (2, 4):
        TRIES[f"index {version} with {path}"] = (index(path, version=version), [".git/index"])
TRIES["index with a submodule"] = (index("evil", mode="160000"), [".git/index"])
TRIES["index with a sparse folder"] = (index("evil/", mode="040000"), [".git/index"])
TRIES["index with .gitmodules as a link"] = (index(".gitmodules", mode="120000"), [".git/index"])
TRIES["index with a file as a folder"] = (index("evil", "evil/x"), [".git/index"])
# What the extensions say is read by git in the place of entries.
TRIES["index with a split one"] = (
    "python3 - <<'END'\nimport hashlib\nb=open('.git/index','rb').read()[:-20]+b'link'+(20).to_bytes(4,'big')+b'x'*20\n"
    "open('.git/index','wb').write(b+hashlib.sha1(b).digest())\nEND", [])

OUTSIDE = (
    "status", "log -2", "diff", "add .", "commit -m later", "describe --always --dirty", "stash", "stash pop", "st", "fetch near",
    "checkout side", "checkout main", "restore .", "checkout-index -a -f", "rebase --continue", "cherry-pick --continue",
    "merge --continue", "am --continue", "bisect reset", "pull", "submodule update", "gc --auto", "branch -a", "show HEAD:a",
)


# What a command may leave: by itself it is data.
MAY_CHANGE = ("ORIG_HEAD", "MERGE_MSG", "HEAD", "index", "CHERRY_PICK_HEAD", "REBASE_HEAD", "COMMIT_EDITMSG")


def bait(place):
    """A program that tells that it ran, and names under which git could find it."""
    marker = place.form.base / "marker"
    text = f"#!/bin/sh\necho \"$0 $*\" >> {marker}\nexit 0\n"
    for name in ("evil/bait", "evil/hooks/post-commit", "bin/git-remote-ev", "bin/git-merge-evil"):
        path = place.workspace / name
        with place.form.acting():
            path.parent.mkdir(parents=True, exist_ok=True)
        place.form.write(path, text).chmod(0o755)
    place.put("evil/config", f"[core]\n\tfsmonitor = {place.workspace}/evil/bait\n")
    place.put("target", "untouched\n")
    place.put("craft.py", CRAFT)
    place.git("add", ".")
    place.git("commit", "-qm", "bait")
    marker.unlink(missing_ok=True)
    return marker


def names_outside(place):
    return {str(p) for p in place.workspace.parent.iterdir()} - {str(place.workspace)}


def works_outside(place, marker, name):
    env = {**lib.environment(place.home), **WHO, "GIT_EDITOR": "true"}
    env["PATH"] = f"{place.workspace}/bin:" + env.get("PATH", os.environ["PATH"])
    before = names_outside(place)
    for line in OUTSIDE:
        subprocess.run(["git", *line.split()], cwd=place.workspace, env=env, capture_output=True, check=False,
                       stdin=subprocess.DEVNULL, **place.form.identity())
        check(not marker.exists(), f"{name}: `git {line}` ran {marker.exists() and marker.read_text()}")
    check(names_outside(place) == before, f"{name}: made {names_outside(place) - before}")
    check((place.workspace / "target").read_text() == "untouched\n", f"{name}: wrote through a link")


def check_one(place, gate, marker, name, before):
    line, dropped = TRIES[name]
    line = line.replace("BAIT", str(place.workspace / "evil/bait"))
    value = gate.call("run_command", command=line, env=WHO, seconds=60)["result"]
    told = [v["call"] for v in value["violations"]]
    for path in dropped:
        check(any(path in call for call in told), f"{name}: `{path}` is not among {told}: {short(value)}")
    now = place.tree()
    for path in {*now, *before}:
        if now.get(path) != before.get(path) and not path.startswith(("objects/", "logs/")):
            check(path in MAY_CHANGE, f"{name}: {path} was {before.get(path)!r} and is {now.get(path)!r}")
    links = [p for p in (place.workspace / ".git").rglob("*") if p.is_symlink()]
    check(not links, f"{name}: links {links}")
    place.git("fsck", "--strict", "--no-dangling")
    works_outside(place, marker, name)


def tried(form):
    """nothing that runs a program or leads elsewhere is taken over, and each is told"""
    place = Repository(form, "tried")
    marker = bait(place)
    saved = form.base / "tried-saved"
    subprocess.run(["cp", "-a", place.workspace / ".git", saved], check=True)
    wrong = []
    with place.gate() as gate:
        for name in TRIES:
            before = place.tree()
            try:
                check_one(place, gate, marker, name, before)
            except AssertionError as error:
                wrong.append(str(error))
            marker.unlink(missing_ok=True)
            subprocess.run(["rm", "-rf", place.workspace / ".git"], check=True)
            subprocess.run(["cp", "-a", saved, place.workspace / ".git"], check=True)
            place.git("reset", "-q", "--hard")
            place.git("clean", "-fdqx")
    check(not wrong, "\n".join(wrong))


def links_there(form):
    """a link that is in the git directory already is not written through, and not replaced"""
    place = Repository(form, "links")
    place.put("target", "untouched\n")
    for name in ("COMMIT_EDITMSG", "ORIG_HEAD", "refs/heads/work"):
        path = place.workspace / ".git" / name
        path.unlink(missing_ok=True)
        form.link(path, "/workspace/target")
    with place.gate() as gate:
        value = bash(gate, "rm .git/COMMIT_EDITMSG; git commit -q --allow-empty -m x; git reset -q --hard HEAD~1; "
                     "rm -f .git/refs/heads/work .git/ORIG_HEAD; git rev-parse HEAD | tee .git/ORIG_HEAD > .git/refs/heads/work", env=WHO)
        told = [v["call"] for v in value["violations"]]
        for name in ("COMMIT_EDITMSG", "ORIG_HEAD", "refs/heads/work"):
            check(f"git:dropped:.git/{name}" in told, f"{name}: {told}")
            check((place.workspace / ".git" / name).is_symlink(), f"{name} was replaced")
    check((place.workspace / "target").read_text() == "untouched\n", "written through")


def objects(form):
    """objects that are there are not overwritten, and none is removed"""
    place = Repository(form, "objects")
    before = {n: c for n, c in place.tree().items() if n.startswith("objects/")}
    with place.gate() as gate:
        bash(gate, "for f in .git/objects/??/*; do chmod u+w $f; echo forged > $f; done")
        bash(gate, "rm -rf .git/objects/??; git gc -q || true")
        bash(gate, "git gc -q --prune=now; git repack -adqf")
    now = place.tree()
    for name, content in before.items():
        check(now.get(name) == content, f"{name} changed")
    place.git("fsck", "--strict")


def folders(form):
    """a folder that the command removed stays, and that is told; those of a rebase go with what is in them"""
    place = Repository(form, "folders")
    with form.acting():
        (place.workspace / ".git/empty/inner").mkdir(parents=True)
        (place.workspace / ".git/rebase-merge").mkdir()
    place.put(".git/rebase-merge/unknown", "x")
    with place.gate() as gate:
        value = bash(gate, "rm -r .git/empty .git/rebase-merge")
        check(value["violations"] == [{"call": "git:dropped:.git/empty/inner", "count": 1}], short(value))
    check((place.workspace / ".git/empty/inner").is_dir(), "it was removed")
    check(not (place.workspace / ".git/rebase-merge").exists(), "the rebase is still under way")


def bounded(form):
    """more than 16 dropped names are counted"""
    place = Repository(form, "bounded")
    with place.gate() as gate:
        value = bash(gate, "for i in $(seq 100); do echo x > .git/hooks/h$i; done; git tag t")
        told = {v["call"]: v["count"] for v in value["violations"]}
        check(told.pop("git:dropped") == 84 and len(told) == 16, short(value))
        value = bash(gate, "git tag t1; git tag t2; echo junk > .git/HEAD")
        told = {v["call"]: v["count"] for v in value["violations"]}
        check(told == {"git:dropped:.git/HEAD": 1, "git:dropped": 2}, f"what goes with HEAD is counted: {short(value)}")
    check(place.git("tag") == "t\n", "the tag")


def secrets(form):
    """what is secret in a git directory stays so under its layer"""
    place = Repository(form, "secrets")
    place.put(".git/.env", "SECRET=1\n")
    place.put(".git/id_rsa", "SECRET=1\n")
    with place.gate() as gate:
        for line in ("cat .git/.env", "cat .git/id_rsa", "cp .git/id_rsa x", "mv .git/.env x"):
            value = gate.call("run_command", command=f"{line}; cat x")["result"]
            check("SECRET" not in value["stdout"], f"{line}: {short(value)}")
    check((place.workspace / ".git/.env").read_text() == "SECRET=1\n", "changed")


def many(form):
    """of more git directories than can have a layer those of the repository at hand have one"""
    place = Repository(form, "many")
    for i in range(40):
        place.git("init", "-q", f"r{i}")
    place.git("init", "-q", "r7/inner")
    commit = "git -C {} commit -q --allow-empty -m x"
    with place.gate() as gate:
        bash(gate, f"{commit.format('.')} && {commit.format('inner')}", cwd="r7", env=WHO)
        value = gate.call("run_command", command=commit.format("../r8"), cwd="r7", env=WHO)["result"]
        check(value["exit_code"] != 0, short(value))
    for name, codes in (("r7", (0,)), ("r7/inner", (0,)), ("r8", (128,))):
        place.git("-C", name, "log", codes=codes)


ran.main(tried, links_there, objects, folders, bounded, secrets, many)

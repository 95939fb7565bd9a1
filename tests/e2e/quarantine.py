#!/usr/bin/env python3
"""What is the user's own stays, and stays guarded, whatever commands do around the folder that what they made is moved to:
names taken before, repositories moved into folders that are covered or moved as a whole, or while they are emptied.
"""

import os
import signal

import lib
import ran
from lib import check, wait_until
from cut_off import Cut
from made import whats

ASIDE = "sandgate-quarantine-"
FSMONITOR = "git init -q .; git config core.fsmonitor ./x"


def run(gate, line, **more):
    return gate.call("run_command", command=line, **more)["result"]


def names_taken(form):
    """names that a command has taken before do not keep anything where it is"""
    place = Cut(form, "taken")
    with place.gate() as gate:
        told = whats(run(gate, f"for i in $(seq 0 1100); do : > {ASIDE}$i; done; mkdir .vscode; echo x > .vscode/tasks.json; "
                               f"echo x > .envrc; {FSMONITOR}"))
        check({"quarantined:.git", "quarantined:.envrc", "quarantined:.vscode"} <= set(told), told)
    left = [name for name in os.listdir(place.workspace) if name in (".git", ".envrc", ".vscode")]
    check(not left, left)


def own_repository(form):
    """a repository of the user's that a command moves into a folder of its making is never changed, in later gates either"""
    for number, folder in enumerate((".idea", ".ssh", ".vscode")):
        place = Cut(form, f"own{number}")
        place.git("init", "-q", "project")
        place.put("project/a", "x")
        place.git("-C", "project", "add", "-A")
        place.git("-C", "project", "commit", "-qm", "one")
        hook = place.put("project/.git/hooks/pre-commit", "#!/bin/sh\n")
        hook.chmod(0o755)
        with place.gate() as gate:
            run(gate, "true")
            told = whats(run(gate, f"mkdir {folder}; mv project {folder}/"))
        for _ in range(2):
            with place.gate() as gate:
                run(gate, "for c in $(find . -name config -o -name pre-commit); do echo evil >> $c; done 2>/dev/null; "
                          "find . -name objects -exec rm -rf {} + 2>/dev/null; true")
        found = [at for at in place.workspace.parent.rglob("pre-commit") if "evil" in at.read_text()]
        check(not found, f"{folder}: {told}: changed: {found}")
        kept = [at.parent.parent for at in [*place.workspace.rglob("pre-commit"), *place.store().rglob("pre-commit")]]
        check(len(kept) == 1 and (kept[0] / "objects").is_dir(), f"{folder}: {told}: {kept}")


def moved_in(form):
    """what another command moves into what is being taken out is not removed with it"""
    place = Cut(form, "in")
    count = 20
    for number in range(count):
        place.put(f"p{number}/precious", "mine")
    with place.gate() as gate:
        run(gate, "true")
        mover = gate.send("run_command", command=f"touch up; until ls -d {ASIDE}* 2>/dev/null; do :; done; d=$(ls -d {ASIDE}*); "
                                                 f"for i in $(seq 0 {count - 1}); do mv p$i $d/; done; true")
        place.wait_up()
        run(gate, f"{FSMONITOR}; mkdir .git/objects/a; cd .git/objects/a; for i in $(seq 0 9); do mkdir $i; "
                  "(cd $i; seq 0 1500 | xargs touch); done", seconds=300)
        gate.send_raw(b'{"cancel":"%s"}\n' % mover.encode())
        gate.wait(mover)
    found = {at.parent.name for top in (place.workspace, place.store()) for at in top.rglob("precious")}
    check(len(found) == count, f"{count - len(found)} are gone")


def scan_in_flight(form):
    """a scan that began before another gate was killed does not judge for it"""
    place = Cut(form, "flight")
    with place.gate() as gate, place.gate() as other:
        run(gate, "true")
        run(other, "true")
        place.start(other)
        run(gate, "true")
        worker = ran.worker(gate)
        os.kill(worker, signal.SIGSTOP)
        first = gate.send("run_command", command="true")
        other.kill()
        other.wait_exit()
        wait_until(lambda: not ran.marked(place.mark), "it is gone")
        second = gate.send("run_command", command="true")
        gate.pump(seconds=0.3)
        os.kill(worker, signal.SIGCONT)
        told = [*whats(gate.wait(first)["result"]), *whats(gate.wait(second)["result"]), *whats(run(gate, "true"))]
        check({"quarantined:.git", "quarantined:.vscode", "cut_off"} <= set(told), told)
        place.check_clean()


def cut_off_links(form):
    """links that stand for folders on the way to guarded names, made by a command that was cut off"""
    place = Cut(form, "links")
    with place.gate() as gate:
        run(gate, "true")
        gate.send("run_command", command=f"mkdir evil; echo x > evil/config.toml; ln -s evil .cargo; ln -s evil/x .env; touch up; "
                                         f"exec sleep {place.mark}")
        place.wait_up()
        gate.kill()
        gate.wait_exit()
    with place.gate() as gate:
        told = whats(run(gate, "true"))
        check({"cut_off", "quarantined:.cargo", "created:.env"} <= set(told), told)
    check(not os.path.lexists(place.workspace / ".cargo"), "the link stays")


def clones(form):
    """a clone with a submodule's entry, and harmless settings, stays as it is"""
    place = Cut(form, "clones")
    place.git("init", "-q", "-b", "main", "from")
    place.put("from/a", "x")
    place.git("-C", "from", "add", "a")
    place.git("-C", "from", "update-index", "--add", "--cacheinfo", "160000," + "1" * 40 + ",sub")
    place.git("-C", "from", "commit", "-qm", "one")
    with place.gate() as gate:
        value = run(gate, "git clone -q from to && git init -q new && cd new && git remote add o ../from && git config pull.rebase true "
                          "&& git config core.autocrlf input && git config push.default current")
        check(value["exit_code"] == 0 and set(whats(value)) == {"created:to/.git", "created:new/.git"}, lib.short(value))


EVIL = "mkdir p; cd p; git init -q; git config core.fsmonitor {program}; echo evil > .envrc"
HIDING = ("mkdir -p z/.vscode; mv p z/.vscode/", "mkdir .vscode; mv p .vscode/", "git init -q n; mv p n/.git/objects/",
          "git init -q --bare b.git; mv p b.git/", "mkdir app.key; mv p app.key/",
          "mkdir app.key; exec 7< app.key; sleep 0.6; python3 -c 'import os; os.rename(\"p\", \"p\", src_dir_fd=None, dst_dir_fd=7)'")


def hidden_original(form):
    """what a command puts in the place of a repository that it has hidden is its own, and does not stay"""
    for number, hide in enumerate(HIDING):
        place = Cut(form, f"original{number}")
        place.git("init", "-q", "p")
        place.put("p/.envrc", "mine")
        with place.gate() as gate:
            run(gate, "true")
            value = run(gate, f"{hide}; {EVIL.format(program=place.program)}")
            # A scan beside a slow command makes the new one read-only before it is whole: then it is no repository.
            check({"quarantined:p/.git", "created:p/.git"} & set(whats(value)), f"{hide}: {lib.short(value)}")
        place.git("-C", "p", "status", check_status=False)
        check(not place.bait.exists(), f"{hide}: git ran what an agent chose")


def moved_layouts(form):
    """a git directory that is known by what it holds is known where its folder is moved, and what takes its place is new"""
    place = Cut(form, "layouts")
    place.git("init", "-q", "--bare", "store/m.git")
    place.put("store/m.git/hooks/post-receive", "#!/bin/sh\n").chmod(0o755)
    with place.gate() as gate:
        run(gate, "true")
        line = (f"git init -q --bare copy/m.git; git -C copy/m.git config core.fsmonitor {place.program}; mv copy/m.git/HEAD h; "
                "python3 -c 'import os; os.rename(\"store\", \"other\"); os.rename(\"copy\", \"store\"); "
                "os.rename(\"h\", \"store/m.git/HEAD\")'")
        told = whats(run(gate, line))
        check("quarantined:store/m.git" in told and not any("other" in what for what in told), told)
    check((place.workspace / "other/m.git/HEAD").exists(), "the user's own was taken out")


def closed_by_the_user(form):
    """a folder that the user has closed is not opened because a command moves a folder around it"""
    for number, mode in enumerate((0o000, 0o111, 0o300)):
        place = Cut(form, f"closed{number}")
        place.put("u/private/plain", "only the user")
        (place.workspace / "u/private").chmod(mode)
        with place.gate() as gate:
            run(gate, "true")
            told = whats(run(gate, "mv u v"))
            check(not told, told)
            check("only the user" not in run(gate, "cat v/private/plain; chmod 700 v/private; cat v/private/plain; true")["stdout"],
                  "it was read")
        (place.workspace / "v/private").chmod(0o700)


if __name__ == "__main__":
    ran.main(names_taken, own_repository, moved_in, scan_in_flight, cut_off_links, clones, hidden_original, moved_layouts,
             closed_by_the_user)

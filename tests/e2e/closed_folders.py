#!/usr/bin/env python3
"""A command closes a folder to its owner and stays in it: what its user makes there is covered as in any other folder, and
the folder is opened again and told.
"""

import json
import stat

import ran
from git_links import told
from lib import check, wait_until
from ran import PYTHON, Place

SECRET = "KEY=only the user knows"
# In a folder, with a mode and more lines to run; ends when the user's file is covered, or is still read after so many seconds.
ATTACK = """
import json, os, sys, time
folder, mode, name, more = sys.argv[1:]
top = os.open(".", os.O_PATH)
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
here = os.open(".", os.O_PATH)
def close():
    try:
        os.chmod(".", int(mode, 8))
    except OSError:
        pass
close()
os.close(os.open("up", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=top))
def read():
    try:
        with open(os.open(name, os.O_RDONLY, dir_fd=here)) as f:
            return f.read()
    except FileNotFoundError:
        return None
    except OSError:
        return ""
end = time.monotonic() + 30
seen = read()
while seen is None or (seen and time.monotonic() < end):
    if more == "again":
        close()
    seen = read()
print(json.dumps(seen))
"""


def save(place, path):
    """As an editor does: a new file, renamed."""
    place.put(f"{path}.new", SECRET)
    (place.workspace / f"{path}.new").rename(place.workspace / path)


def attack(place, gate, folder, mode, name, more=""):
    command = gate.send("run_command", command=f"{PYTHON} attack.py '{folder}' {mode} {name} '{more}'")
    wait_until((place.workspace / "up").exists, "it runs")
    save(place, f"{folder}/{name}".removeprefix("./"))
    answer = gate.wait(command, 60)
    (place.workspace / "up").unlink()
    check(answer["ok"], answer)
    return answer


def check_covered(place, answer, what, opened):
    check(json.loads(answer["result"]["stdout"]) == "", f"{what}: {answer}")
    check(f"opened:{opened}" in told(answer), f"{what}: {answer}")
    check(not opened or place.workspace.joinpath(opened).stat().st_mode & 0o700 == 0o700, f"{what}: {answer}")


def saved_meanwhile(form):
    """a secret that the user saves in a folder that a running command has closed is covered"""
    for number, (folder, mode) in enumerate((("d", "300"), ("d", "100"), ("d", "111"), ("d/e", "300"), (".", "300"), ("a folder", "333"), ("made", "300"))):
        place = Place(form, f"saved{number}")
        place.put("attack.py", ATTACK)
        if folder != "made":
            place.put(f"{folder}/kept".removeprefix("./"))
        with place.gate() as gate:
            gate.ok("run_command", command="true")
            for name in (".env", ".netrc"):
                check_covered(place, attack(place, gate, folder, mode, name), f"{folder} {mode} {name}", folder)
            check(gate.ok("run_command", command=f"ls '{folder}'")["exit_code"] == 0, "it cannot be read later")


def closed_again(form):
    """also if the command goes on closing it"""
    place = Place(form, "again")
    place.put("attack.py", ATTACK)
    place.put("d/kept")
    with place.gate() as gate:
        gate.ok("run_command", command="true")
        check_covered(place, attack(place, gate, "d", "300", ".env", "again"), "again and again", "d")


def of_the_user(form):
    """a folder that its user has closed stays closed, wherever a command moves it"""
    place = Place(form, "user")
    place.put("d/f/kept")
    place.put("e/kept")
    (place.workspace / "d/f").chmod(0o300)
    with place.gate() as gate:
        gate.ok("run_command", command="true")
        answer = gate.call("run_command", command="mv d g; chmod 300 e")
        check(told(answer) == ["opened:e"], answer)
        check(stat.S_IMODE((place.workspace / "g/f").stat().st_mode) == 0o300, "it was opened")


if __name__ == "__main__":
    ran.main(saved_meanwhile, closed_again, of_the_user)

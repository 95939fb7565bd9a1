#!/usr/bin/python3
"""The demonstration does what it says, for root and for a plain user, also where there is no full sandbox, and leaves nothing
behind."""
# tier: any
import os
import subprocess

import lanes
import lib
from lib import check


def demo(form, lane=None):
    name = lane.__name__ if lane else "plain"
    scratch = form.folder(f"{name}/tmp", 0o700 if not form.is_root else 0o711)
    home = form.folder(f"{name}/home", 0o700)
    script = form.write(form.base / "demo.sh", (lib.ROOT / "scripts/demo.sh").read_bytes())  # whoever may read it there
    done = subprocess.run(["sh", str(script)], capture_output=True, text=True, cwd="/",
                          timeout=60, check=False, preexec_fn=lane, stdin=subprocess.DEVNULL,
                          env={**lib.environment(home), "SANDGATE": str(form.binary), "TMPDIR": str(scratch)}, **form.identity())
    at = max(done.stdout.find("NOT SO"), 3000)  # what came before the first claim that did not hold
    check(done.returncode == 0, f"status {done.returncode}\n{done.stdout[at - 3000:at + 200]}\n{done.stderr[-1000:]}")
    for part in ("read_file", "fs.read", "filesystem", "Error: path traversal", "+Milk and bread", "E_SANDBOX_VIOLATION", "PATH_OUTSIDE_WORKSPACE", "call.intent", "tool_call_id"):
        check(part in done.stdout, f"{part} is not shown:\n{done.stdout[-3000:]}")
    check(lane or "1 change taken over" in done.stdout, f"the change that was reviewed:\n{done.stdout[-3000:]}")
    check(not lane or '"tier":"landlock"' in done.stdout, "the tier that it shows")
    check(os.listdir(scratch) == [], f"left behind: {os.listdir(scratch)}")


def main():
    tap = lib.Tap()
    for form in lib.forms():
        with tap.case(f"{form.name}: the demonstration"):
            demo(form)
        with tap.case(f"{form.name}: the demonstration under a filter as Docker has it"):
            demo(form, lanes.docker_filter)
    tap.done()


main()

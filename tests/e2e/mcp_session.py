#!/usr/bin/python3
"""`sandgate mcp` without configuration: it works in a session of its own, and says how its changes are reviewed."""
import json
import re

import lanes
import lib
from lib import AM_ROOT, check, wait_until
from overlay import Place, tree

UNSET = {"SANDGATE_APPROVAL_DEFAULT": None}


class Server(lib.Gate):
    command = "mcp"

    def __init__(self, place, *options, env=None, lane=None):
        super().__init__(place.form, *options, workspace=None if "--session" in options else place.project, state=place.home,
                         env={**UNSET, **(env or {})}, layered=True, lane=lane)
        self.told = ""
        if not lane:
            self.begin()

    def begin(self):
        start = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.told = self.ask("initialize", start)["instructions"]
        found = re.search(r"the session (\w+)", self.told)
        self.session = found and found[1]

    def ask(self, method, params):
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        self.send_raw(json.dumps(message).encode() + b"\n")
        return self.any_answer()["result"]

    def use(self, name, **arguments):
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        check(not result.get("isError"), result)
        return result["content"][0]["text"]

    def stop(self, expected=0):
        self.close_input()
        status = self.wait_exit()
        self.errors.seek(0)
        said = self.errors.read().decode()
        check(status == expected, said)
        return said


def tools(server):
    return [tool["name"] for tool in server.ask("tools/list", {})["tools"]]


def sessions(place):
    return [one["id"] for one in json.loads(place.run("session", "list", "--json").stdout)]


def own_session(place):
    """What it does stays in the layer with nobody asked; its session is named to the model, and on standard error."""
    before = tree(place.project)
    with Server(place) as server:
        check(f"sandgate session diff {server.session}" in server.told and str(place.project) in server.told, server.told)
        server.use("write_file", path="new.txt", content="new\n")
        check("more" in server.use("run_command", command="echo more >> a.txt; cat a.txt"), "a command")
        check("2 changes" in server.use("session_diff") and "session_diff" in tools(server), "the model sees them")
        said = server.stop()
    check(f"session {server.session} keeps 2 changes" in said, said)
    check(tree(place.project) == before, "the project changed")
    check(set(place.changes(server.session)) == {"new.txt", "a.txt"}, "they wait")
    wait_until(lambda: not json.loads(place.run("session", "show", server.session).stdout)["in_use"], "its cell has ended")
    # The next one begins anew, tells its model of those that wait, and can go on with them.
    with Server(place) as other:
        check(other.session != server.session and f"({server.session})" in other.told, other.told)
        check("new.txt" not in other.use("list_files", path="."), "a layer of its own")
        other.stop()
    check(sessions(place) == [server.session], "without changes nothing is left of a session")
    with Server(place, "--session", server.session) as again:
        check(again.session == server.session and "new" in again.use("read_file", path="new.txt"), "it goes on")
        check(f"session {server.session} keeps 2" in again.stop(), "and is kept")


def direct(place):
    """Options and configuration choose the folder itself."""
    for options, env, name in ((["--host"], {}, "x"), ([], {"WORKSPACE_FS_MODE": "host"}, "y")):
        with Server(place, *options, env={**env, "SANDGATE_APPROVAL_DEFAULT": "approve"}) as server:
            check(server.session is None and "session_diff" not in tools(server), server.told)
            server.use("write_file", path=name, content=name)
            server.stop()
        check((place.project / name).exists() and sessions(place) == [], name)
    with Server(place, "--read-only") as server:
        check(server.session is None and "alpha" in server.use("read_file", path="a.txt"), "what only reads needs no layer")
        server.stop()


def refused(place):
    """Where no layer can be had it does not start, and says what to do."""
    with place.form.acting():
        (place.project / "mnt").mkdir()
    with lib.tmpfs(place.form, place.project / "mnt", "1m"):
        done = place.run("mcp", "--workspace", place.project)
        check(done.returncode == 2 and not done.stdout and sessions(place) == [], done)
        check(b"mnt" in done.stderr and b"sandgate mcp --host" in done.stderr, done.stderr)
        done = place.run("mcp", "--host", "--workspace", place.project)
        check(done.returncode == 0, done)
    done = place.run("mcp", "--dialect", "system", "--workspace", place.project)
    check(done.returncode == 2 and b"--host" in done.stderr and sessions(place) == [], done)


def weaker(place):
    """The tier without namespaces has no layers: it is refused as well."""
    with Server(place, lane=lanes.docker_filter) as server:
        said = server.stop(2)
    check("sandgate mcp --host" in said and "namespaces" in said and sessions(place) == [], said)


CASES = [
    ("its changes wait in a session of its own", own_session),
    ("options and configuration choose the folder itself", direct),
    ("refused where no layer can be had", refused),
    ("refused where nothing can be mounted", weaker),
]


def main():
    if AM_ROOT:
        lib.own_mounts()
    tap = lib.Tap()
    for form in lib.forms():
        for name, case in CASES:
            if case is refused and not AM_ROOT:
                continue
            with tap.case(f"{form.name}: {name}"):
                case(Place(form, case.__name__))
    tap.done()


main()

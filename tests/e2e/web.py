#!/usr/bin/env python3
"""The web, and no way from it into the house: hostile addresses, redirects and names, and bad servers. What was reached, the
servers say. All of it happens in network namespaces of this test. Prints TAP."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import lib
from lib import check

HERE = pathlib.Path(__file__).resolve().parent
INSIDE = "SANDGATE_TEST_WEB"
OURS, SERVERS = "45.0.0.2", "45.0.0.1"
PUBLIC = {"93.184.216.34", "2606:2800:220:1::1"}
BAITS = ["10.0.0.5", "169.254.169.254", "100.100.100.200", "192.168.1.5", "172.16.0.5", "168.63.129.16", "192.0.0.192"]
BAITS6 = ["fd00::5", "fec0::5", "fd00:ec2::254", "64:ff9b::a00:5", "2002:a00:5::1", "2001::5", "ff0e::5"]

HOSTS = [
    *BAITS,
    *(f"[{a}]" for a in BAITS6),
    "127.0.0.1", "127.1", "127.0.0.1.", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.1", "0",
    "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:10.0.0.5]", "[::10.0.0.5]",
    "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[fe80::1]", "[fe80::1%25lo]", "[::1%25lo]", "localhost", "LOCALHOST.",
    "localhost.localdomain", "\uff11\uff12\uff17.\uff10.\uff10.\uff11", "\u2460\u2461\u2466.0.0.1", "127\u30020\u30020\u30021",
    "private.example", "metadata.example", "loopback.example", "own.example", "zero.example", "shared.example",
    "private6.example", "loopback6.example", "mapped.example", "translated.example", OURS, f"[::ffff:{OURS}]",
    "10.5", "167772165", "0xa000005", "012.0.0.5", "0xA9FEA9FE", "2852039166", "169.254.43518", "0251.0376.0251.0376",
    "site.example@10.0.0.5", "site.example:80@10.0.0.5", "10.0.0.5#@site.example", "10.0.0.5?@site.example",
    "10.0.0.5\\@site.example", "site.example\\@10.0.0.5", "10.0.0.5%2f@site.example", "10.0.0.5%00.site.example",
    "site.example%2e10.0.0.5", "\t10.0.0.5", "10.0.0.5 ", "10.0.0.5:80:443", "[10.0.0.5]", "site.example:8080", "site.example:22",
    "site.example:0", "site.example:65616", "site.example:080 ", "[::1", "", ".", "10.0.0.5.", "%31%30.0.0.5", "1\u00ad0.0.0.5",
]  # fmt: skip
URLS = [
    "file:///etc/passwd", "gopher://10.0.0.5:80/_GET", "ftp://10.0.0.5/", "dict://10.0.0.5:80/", "ldap://10.0.0.5", "http:10.0.0.5/",
    "http:/10.0.0.5/", "http:///10.0.0.5/", "//10.0.0.5/", "10.0.0.5", "http:\\\\10.0.0.5\\", "HTTP://10.0.0.5/ok", "jar:http://10.0.0.5/",
    "http://10.0.0.5/ok\r\nHost: site.example", "http://site.example/ok\r\nX: y", "unix:/run/docker.sock", "scp://10.0.0.5/", "javascript:1",
]  # fmt: skip


# --- the network


def run(*argv, **more):
    return subprocess.run(list(map(str, argv)), check=True, capture_output=True, text=True, **more)


def ip(*words, pid=None):
    run(*(["nsenter", "-t", pid, "-n"] if pid else []), "ip", *words)


def certificate(base):
    """A CA, and what it has signed for the names of the servers."""
    names = "DNS:site.example,DNS:www.site.example,DNS:six.example"
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test", "-keyout", base / "ca.key",
        "-out", base / "ca.pem")  # fmt: skip
    run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=site.example", "-keyout", base / "key", "-out", base / "csr")
    (base / "ext").write_text(f"subjectAltName={names}\n", encoding="ascii")
    run("openssl", "x509", "-req", "-in", base / "csr", "-CA", base / "ca.pem", "-CAkey", base / "ca.key", "-CAcreateserial", "-days", "2",
        "-extfile", base / "ext", "-out", base / "cert")  # fmt: skip
    both = base / "server.pem"
    both.write_text((base / "cert").read_text(encoding="ascii") + (base / "key").read_text(encoding="ascii"), encoding="ascii")
    return both


def start_servers(kind, log, *more, alone=False):
    argv = [*(["unshare", "-n"] if alone else []), sys.executable, str(HERE / "web_servers.py"), kind, str(log), *map(str, more)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


class World:
    """Servers in a network of their own, with public addresses and baits, and baits on this side."""

    def __init__(self, base):
        self.base = base
        self.logs = [base / "far", base / "near"]
        ip("link", "set", "lo", "up")
        self.far = start_servers("names", self.logs[0], certificate(base), alone=True)
        lib.wait_until(lambda: os.readlink(f"/proc/{self.far.pid}/ns/net") != os.readlink("/proc/self/ns/net"), "a network")
        far = self.far.pid
        ip("link", "add", "near0", "type", "veth", "peer", "name", "far0", "netns", far)
        for words in (["link", "set", "lo", "up"], ["link", "set", "far0", "up"], ["addr", "add", f"{SERVERS}/24", "dev", "far0"]):
            ip(*words, pid=far)
        for address in [*sorted(PUBLIC), *BAITS, *BAITS6[:-1]]:
            bits = "128" if ":" in address else "32"
            ip("addr", "add", f"{address}/{bits}", "dev", "far0", *(["nodad"] if ":" in address else []), pid=far)
        ip("addr", "add", f"{OURS}/24", "dev", "near0")
        ip("link", "set", "near0", "up")
        ip("route", "add", "default", "via", SERVERS)
        ip("-6", "addr", "add", "fd77::2/64", "dev", "near0", "nodad")
        ip("addr", "add", "fd77::1/64", "dev", "far0", "nodad", pid=far)
        ip("-6", "route", "add", "default", "via", "fd77::1")
        self.near = start_servers("alone", self.logs[1])
        for name, text in (("resolv.conf", f"nameserver {SERVERS}\noptions timeout:1 attempts:1\n"), ("hosts", "127.0.0.1 localhost\n")):
            (base / name).write_text(text, encoding="ascii")
            run("mount", "--bind", base / name, os.path.realpath(f"/etc/{name}"))
        for server in (self.far, self.near):
            check(server.stdout.readline() == "ready\n", "a server did not start")

    def hits(self):
        found = [line.split(" ") for log in self.logs for line in log.read_text(encoding="utf-8").splitlines()]
        for log in self.logs:
            log.write_text("", encoding="utf-8")
        return [(address.removeprefix("::ffff:"), *rest) for address, *rest in found]

    def forbidden(self):
        return [hit for hit in self.hits() if hit[0] not in PUBLIC]

    def done(self):
        for server in (self.far, self.near):
            server.stdin.close()
            server.wait(lib.SECONDS)


# --- calls


def ask(form, calls, settings=None, dialect="system", tool="http"):
    """The answers to calls that are all under way at once."""
    home = form.base / "home"
    work = form.base / "work"
    for folder in (home, work):
        if not folder.is_dir():
            form.folder(folder.name)
    config = {
        "tools": {"http": {"allowedDomains": ["*"], "timeoutMs": 20000, **(settings or {}).pop("http", {})}},
        "approval": {"default": "approve"},
        "network": {"caFile": str(form.ca)},
        **(settings or {}),
    }
    path = form.write(form.base / "config.json", json.dumps(config))
    lines = [
        json.dumps({"id": str(n), "tool_call": {"name": tool, "arguments": call}})
        for n, call in enumerate(c if isinstance(c, dict) else {"method": "GET", "url": c} for c in calls)
    ]
    done = form.run(home, "stdio", "--dialect", dialect, "--config", path, "--workspace", work, stdin="\n".join([*lines, ""]).encode())
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    found = {int(a["id"]): a["result"] for a in answers if "result" in a}
    check(len(found) == len(calls), f"{len(found)} answers to {len(calls)} calls: {done.stderr.decode()[-2000:]}")
    return [found[n] for n in range(len(calls))]


def one(form, call, settings=None):
    return ask(form, [call], settings)[0]


def error(answer):
    return answer.get("error", {}).get("code")


# --- cases


def honest_requests_pass(form):
    form.world.hits()
    plain, tls, six, to, whole = ask(
        form,
        [
            "http://site.example/ok",
            "https://site.example/ok",
            "http://six.example/ok",
            "http://site.example/redirect?to=https://www.site.example/ok",
            "http://93.184.216.34/ok",
        ],
    )
    for answer in (plain, tls, six, to, whole):
        check(answer["success"] and answer["status"] == 200 and answer["body"] == "h\u00e9llo", answer)
        check(answer["headers"]["x-a"] == "1, 2" and answer["truncated"] is False, answer)
    check(len(form.world.hits()) == 6, "one of them was not asked for")


def no_hostile_address_is_reached(form):
    urls = [f"{scheme}://{host}/ok" for host in HOSTS for scheme in ("http", "https")] + URLS
    form.world.hits()
    answers = ask(form, urls)
    reached = form.world.forbidden()
    check(not reached, f"reached: {reached}")
    passed = [u for u, a in zip(urls, answers) if a["success"]]
    check(not passed, f"answered: {passed}")


def no_redirect_leads_there(form):
    far = [f"http://{host}/ok" for host in HOSTS if host.isascii() and host.strip() == host and "\\" not in host and "#" not in host]
    urls = [f"http://site.example/redirect?status={s}&to={u}" for u in far + URLS[:12] for s in (302,)]
    form.world.hits()
    answers = ask(form, urls)
    reached = form.world.forbidden()
    check(not reached, f"reached: {reached}")
    check(not any(a["success"] and a["status"] == 200 for a in answers), "one was followed")


def no_name_changes_its_mind(form):
    form.world.hits()
    answers = ask(form, [f"http://rebind{n % 8}.example/ok" for n in range(40)])
    reached = form.world.forbidden()
    check(not reached, f"reached: {reached}")
    check({error(a) for a in answers} <= {None, "NETWORK_DENIED", "NETWORK_ERROR"}, {error(a) for a in answers})


def domains_are_judged_also_behind_redirects(form):
    http = {"allowedDomains": ["site.example"], "blockedDomains": ["www.site.example"]}
    urls = [
        "http://site.example/ok",
        "http://www.site.example/ok",
        "http://other.example/ok",
        "http://site.example/redirect?to=http://other.example/ok",
        "http://site.example/redirect?to=http://www.site.example/ok",
        "https://site.example/redirect?to=http://site.example/ok",
        "http://site.example/loop",
    ]
    form.world.hits()
    answers = ask(form, urls, {"http": http})
    check(answers[0]["success"] and not any(a["success"] for a in answers[1:]), answers)
    check("blockedDomains" in answers[1]["error"]["message"], answers[1])
    check(error(answers[2]) == "CAPABILITY_DENIED" and error(answers[3]) == "CAPABILITY_DENIED", answers[2:4])
    check("5 redirects" in answers[6]["error"]["message"], answers[6])
    asked = [host for _, host, path in form.world.hits()]
    check(set(asked) == {"site.example"}, asked)


def what_the_operator_named_is_reached(form):
    answer = one(form, "http://private.example/ok", {"network": {"allowedAddresses": ["10.0.0.0/24"], "ports": ["80"]}})
    check(answer["success"] and answer["body"] == "h\u00e9llo", answer)
    check(form.world.hits()[-1][0] == "10.0.0.5", "something else was reached")


def headers_and_bodies_are_as_given(form):
    post = {"method": "POST", "url": "http://site.example/echo", "body": "a=1", "headers": {"X-Own": "y", "Content-Type": "text/x"}}
    answer, *refused = ask(
        form,
        [post]
        + [
            {"method": "GET", "url": "http://site.example/ok", "headers": headers}
            for headers in (
                {"Host": "other.example"},
                {"hOST": "x"},
                {"Connection": "close"},
                {"Transfer-Encoding": "chunked"},
                {"Content-Length": "0"},
                {"Proxy-Authorization": "x"},
                {"X": "a\r\nHost: b"},
                {"X: y\r\nZ": "a"},
                {"": "a"},
                {"X ": "a"},
                {"X": 1},
            )
        ]
        + [{"method": "TRACE", "url": "http://site.example/ok"}, {"method": "PATCH", "url": "http://site.example/ok"}],
    )
    check(answer["success"] and answer["body"].startswith("POST\n") and answer["body"].endswith("\na=1"), answer)
    check("X-Own: y" in answer["body"] and "Content-Type: text/x" in answer["body"], answer)
    check({error(a) for a in refused} <= {"INVALID_ARGUMENTS", "NETWORK_DENIED"}, refused)
    other = {**post, "url": "http://site.example/redirect?status=307&to=http://other.example/echo", "headers": {"Authorization": "key"}}
    there = one(form, other)
    check(there["success"] and "key" not in there["body"] and there["body"].endswith("a=1"), there)


def bad_servers_are_bounded(form):
    names = ["big", "bomb", "latin1", "binary", "drip", "headers", "short", "nonsense", "silent"]
    answers = dict(zip(names, ask(form, [f"http://site.example/{n}" for n in names], {"http": {"timeoutMs": 3000}})))
    check(answers["big"]["truncated"] and len(answers["big"]["body"]) == 1 << 20, "a large page is not cut")
    check(answers["bomb"].get("truncated") and len(answers["bomb"]["body"]) == 1 << 20, str(answers["bomb"])[:300])
    check(answers["latin1"]["body"] == "caf\u00e9", answers["latin1"])
    check(answers["binary"]["encoding"] == "base64" and answers["binary"]["body"].startswith("AAECAwQ"), answers["binary"])
    check(error(answers["drip"]) == "TIMEOUT" and error(answers["silent"]) == "TIMEOUT", (answers["drip"], answers["silent"]))
    for name in ("headers", "short", "nonsense"):
        check(error(answers[name]) == "NETWORK_ERROR", (name, answers[name]))


def names_of_headers_forge_nothing(form):
    answer = one(form, "http://site.example/names")
    check(answer["success"] and answer["headers"] == {"x-good": "\x02", "content-length": "0"}, answer)


def certificates_are_checked(form):
    wrong = one(form, "https://other.example/ok")
    check(error(wrong) == "NETWORK_ERROR", wrong)
    form.ca, real = form.world.base / "ext", form.ca
    try:
        unknown = one(form, "https://site.example/ok")
        check(error(unknown) == "NETWORK_ERROR", unknown)
    finally:
        form.ca = real


def the_native_tool_does_the_same(form):
    settings = {"policy": {"capabilities": {"network": ["site.example"]}}, "http": {"allowedDomains": ["*"]}}
    calls = [{"url": "http://site.example/echo", "method": "POST", "body_b64": "AAE="}, {"url": "http://other.example/ok"}]
    said, refused = ask(form, calls, settings, "native", "http_request")
    check(said["ok"] and said["result"]["untrusted"] and said["result"]["status"] == 200, said)
    check(refused["error"]["code"] == "CAPABILITY_DENIED", refused)


CASES = [
    ("honest requests pass", honest_requests_pass),
    ("no hostile address is reached", no_hostile_address_is_reached),
    ("no redirect leads there", no_redirect_leads_there),
    ("no name changes its mind", no_name_changes_its_mind),
    ("domains are judged, also behind redirects", domains_are_judged_also_behind_redirects),
    ("what the operator named is reached", what_the_operator_named_is_reached),
    ("headers and bodies are as given", headers_and_bodies_are_as_given),
    ("bad servers are bounded", bad_servers_are_bounded),
    ("names of headers forge nothing", names_of_headers_forge_nothing),
    ("certificates are checked", certificates_are_checked),
    ("the native tool does the same", the_native_tool_does_the_same),
]


def main():
    if not lib.AM_ROOT:
        print("1..0 # SKIP networks of its own take root")
        return
    if not os.environ.get(INSIDE):
        argv = ["unshare", "-n", "-m", "--propagation", "private", sys.executable, *sys.argv]
        os.execvpe(argv[0], argv, {**os.environ, INSIDE: "1"})
    base = pathlib.Path(tempfile.mkdtemp(prefix="web-"))
    base.chmod(0o755)
    world = World(base)

    def place(form):
        form.world, form.ca = world, base / "ca.pem"
        return form

    try:
        lib.run_cases(CASES, place)
    finally:
        world.done()
        run("rm", "-rf", base)


if __name__ == "__main__":
    main()

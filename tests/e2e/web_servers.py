"""Servers for tests of the web, for a network namespace of their own: names, HTTP and HTTPS on all its addresses. Each request
is noted with the address that it came to: `ADDRESS PATH`, a line each."""

import gzip
import http.server
import itertools
import pathlib
import socket
import socketserver
import ssl
import struct
import sys
import threading
import time
import urllib.parse

PUBLIC = "93.184.216.34"
PUBLIC6 = "2606:2800:220:1::1"
NAMES = {
    "site.example": [PUBLIC],
    "www.site.example": [PUBLIC],
    "other.example": [PUBLIC],
    "six.example": [PUBLIC6],
    "private.example": ["10.0.0.5"],
    "metadata.example": ["169.254.169.254"],
    "loopback.example": ["127.0.0.1"],
    "own.example": ["45.0.0.2"],
    "zero.example": ["0.0.0.0"],
    "shared.example": ["100.100.100.200"],
    "private6.example": ["fd00::5"],
    "loopback6.example": ["::1"],
    "mapped.example": ["::ffff:10.0.0.5"],
    "translated.example": ["64:ff9b::a00:5"],
}
# Each question is answered with the next.
REBINDING = {f"rebind{n}.example": itertools.cycle([PUBLIC, "10.0.0.5"] if n % 2 else ["127.0.0.1", PUBLIC]) for n in range(8)}
BOMB = gzip.compress(b"a" * (64 << 20), 9)
lock = threading.Lock()


def wire_name(message, at=12):
    labels = []
    while message[at]:
        labels.append(message[at + 1 : at + 1 + message[at]].decode())
        at += 1 + message[at]
    return ".".join(labels).lower(), at + 1


def dns_answer(message):
    name, end = wire_name(message)
    kind = struct.unpack(">H", message[end : end + 2])[0]
    found = [next(REBINDING[name])] if name in REBINDING and kind == 1 else NAMES.get(name, [])
    wanted = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
    addresses = [a for a in found if wanted == (socket.AF_INET6 if ":" in a else socket.AF_INET)]
    known = name in NAMES or name in REBINDING
    head = message[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, len(addresses), 0, 0)
    body = message[12 : end + 4]
    for address in addresses:
        data = socket.inet_pton(wanted, address)
        body += struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(data)) + data
    return head + body


def serve_names():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("45.0.0.1", 53))
    while True:
        message, peer = s.recvfrom(1500)
        s.sendto(dns_answer(message), peer)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def endless(self, piece, pause):
        try:
            while True:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(pause)
        except OSError:
            self.close_connection = True

    def handle_any(self):
        url = urllib.parse.urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length)
        with lock, open(sys.argv[2], "a", encoding="utf-8") as log:
            log.write(f"{self.connection.getsockname()[0]} {self.headers.get('Host')} {self.path}\n")
        page = getattr(self, "page_" + url.path.strip("/"), None)
        if page:
            page(dict(urllib.parse.parse_qsl(url.query)), sent)
        else:
            self.answer(404, b"no such page", [("Content-Type", "text/plain")])

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = handle_any

    def page_ok(self, _query, _sent):
        self.answer(200, "h\u00e9llo".encode(), [("Content-Type", "text/plain; charset=utf-8"), ("X-A", "1"), ("X-A", "2")])

    def page_redirect(self, query, _sent):
        self.answer(int(query.get("status", 302)), b"", [("Location", query["to"])])

    def page_loop(self, query, _sent):
        n = int(query.get("n", 0))
        self.answer(302, b"", [("Location", f"/loop?n={n + 1}")])

    def page_echo(self, _query, sent):
        text = f"{self.command}\n{self.headers}\n".encode() + sent
        self.answer(200, text, [("Content-Type", "text/plain")])

    def page_big(self, _query, _sent):
        self.answer(200, b"x" * (3 << 20), [("Content-Type", "text/plain")])

    def page_bomb(self, _query, _sent):
        self.answer(200, BOMB, [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")])

    def page_latin1(self, _query, _sent):
        self.answer(200, b"caf\xe9", [("Content-Type", "text/plain; charset=ISO-8859-1")])

    def page_binary(self, _query, _sent):
        self.answer(200, bytes(range(256)), [("Content-Type", "application/octet-stream")])

    def page_drip(self, _query, _sent):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        self.endless(b"x", 0.1)

    def page_headers(self, _query, _sent):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        self.endless(b"X-More: " + b"x" * 1000 + b"\r\n", 0)

    def page_names(self, _query, _sent):
        long = b"n" * 99
        lines = [b'X": "", "forged": {"a', b"\x01k", b"back\\", long + b"\xc3\xa9", long + b"\xc3\xa8", long + b"11", long + b"12", b"", b"sp ace"]
        self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"".join(line + b": y\r\n" for line in lines) + b"X-Good: \x02\r\nContent-Length: 0\r\n\r\n")

    def page_short(self, _query, _sent):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nnot all of it")
        self.close_connection = True

    def page_nonsense(self, _query, _sent):
        self.wfile.write(b"\x00\x01\x02 no HTTP at all\r\n\r\n")
        self.close_connection = True

    def page_silent(self, _query, _sent):
        self.endless(b"", 0.5)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET6
    request_queue_size = 256

    def handle_error(self, *_):
        pass


def serve(port, certificate):
    server = Server(("::", port), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main():
    """web_servers.py names|alone LOG [CERTIFICATE]"""
    for port in (80, 8080):
        serve(port, None)
    if len(sys.argv) > 3:
        serve(443, sys.argv[3])
    if sys.argv[1] == "names":
        threading.Thread(target=serve_names, daemon=True).start()
    pathlib.Path(sys.argv[2]).touch()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

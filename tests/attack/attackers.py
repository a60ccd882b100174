# SPDX-License-Identifier: MIT
"""Clients that attack a daemon, each in a process of its own, and the connection that they use.

An attacker is a function of a Place that returns when its time is over.  It takes every error as part of the
game: connections that are refused, closed or time out are expected.  It never waits longer than PATIENCE_S."""
import os
import random
import socket
import struct
import sys
import time

import msgpack

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fuzz"))
import gguf_bytes  # noqa: E402
import hostile_files as files  # noqa: E402

PATIENCE_S = 20
NUMBER = 0x80000001


class Place:
    """Where the daemon is, and until when to attack it."""

    def __init__(self, port, http_port, key, address, model, end, seed, folder, unix):
        self.port, self.http_port, self.key, self.address = port, http_port, key, address
        self.model, self.end, self.rng = model, end, random.Random(seed)
        self.folder, self.unix = folder, unix

    def goes_on(self):
        return time.monotonic() < self.end

    def tcp(self, port=None, timeout=PATIENCE_S):
        """Each kind of client has an address of its own, since there is a limit for each."""
        s = socket.socket()
        s.settimeout(timeout)
        s.bind((self.address, 0))
        s.connect(("127.0.0.1", port or self.port))
        return s

    def client(self, key=None):
        return Client(self.tcp(), self.key if key is None else key)


class Failed(Exception):
    """The daemon has replied with an error."""

    def __init__(self, error):
        super().__init__("%s: %s" % (error.get("code"), error.get("text")))
        self.code, self.retry_ms = error.get("code"), error.get("retry_ms", 100)


class Client:
    """A connection; requests are numbered by the caller if several are pending."""

    def __init__(self, sock, key=""):
        self.sock, self.n_rid = sock, 0
        sock.sendall(b"\0SP\0\0\x30\0\0")
        if self.take(8) != b"\0SP\0\0\x31\0\0":
            raise ConnectionError("no REP socket")
        self.ask("hello", client="attack", key=key)

    def take(self, n):
        data = bytearray()
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return bytes(data)

    @staticmethod
    def frame(op, fields, number=NUMBER):
        body = struct.pack(">I", number) + msgpack.packb({"v": 1, "op": op, **fields})
        return struct.pack(">Q", len(body)) + body

    def rid(self):
        self.n_rid += 1
        return "%d-%d-%d" % (os.getpid(), id(self), self.n_rid)

    def send(self, op, number=NUMBER, **fields):
        self.sock.sendall(self.frame(op, fields, number))

    def receive(self):
        length = struct.unpack(">Q", self.take(8))[0]
        reply = msgpack.unpackb(self.take(length)[4:], raw=False, strict_map_key=False,
                                unicode_errors="surrogateescape")
        if "error" in reply:
            raise Failed(reply["error"])
        return reply

    def ask(self, op, **fields):
        self.send(op, **fields)
        return self.receive()

    def generate(self, **fields):
        return self.ask("generate", rid=self.rid(), **fields)["id"]

    def read(self, stream):
        """Yields the items of a stream up to its end."""
        after = 0
        while True:
            reply = self.ask("next", id=stream, after=after, wait_ms=5000)
            yield from reply.get("items", [])
            after = reply["last"]
            if reply.get("end"):
                return


def attacker(f):
    """Begins again after every error until the time is over."""
    def run(place):
        while place.goes_on():
            try:
                f(place)
            except Failed as e:
                time.sleep(min(e.retry_ms or 1, 200) / 1000)
            except OSError:
                time.sleep(0.01)
    run.__name__ = f.__name__
    return run


# ---- what a well-behaved client does ----

@attacker
def honest(p):
    c = p.client()
    while p.goes_on():
        prompt = " ".join(p.rng.choice(["the", "cat", "sat", "on"]) for _ in range(p.rng.randrange(1, 40)))
        for _ in c.read(c.generate(model=p.model, prompt=prompt, n=p.rng.randrange(1, 100))):
            pass


# ---- attacks on the socket ----

@attacker
def cancel_storm(p):
    c = p.client()
    while p.goes_on():
        streams = [c.generate(model=p.model, prompt="x", n=1000) for _ in range(p.rng.randrange(1, 20))]
        for stream in streams:
            c.ask("cancel", id=stream)


@attacker
def hog(p):
    """Takes all places of its user with answers that do not end, and leaves without a word."""
    c = p.client()
    try:
        for _ in range(300):
            c.generate(model=p.model, prompt="x", n=-1, ignore_eog=True, lease_ms=600000, timeout_ms=86400000,
                       **{"class": "interactive"})
    except Failed:
        time.sleep(p.rng.random())


@attacker
def slow_reader(p):
    """Asks for much and reads nothing, neither streams nor the socket."""
    c = p.client()
    for _ in range(4):
        c.generate(model=p.model, prompt="x", n=-1, ignore_eog=True, lease_ms=600000)
    tokens = [p.rng.randrange(200) for _ in range(200000)]
    c.sock.settimeout(1)
    try:
        for i in range(200):
            c.send("detokenize", NUMBER + i, model=p.model, tokens=tokens)
    except OSError:
        pass
    time.sleep(1)


@attacker
def half_open(p):
    """Connections that stop in the handshake, in a length or in a message."""
    rests = [b"", b"\0SP", b"\0SP\0\0\x30\0\0", b"\0SP\0\0\x30\0\0\0\0\0\0", b"\0SP\0\0\x30\0\0" +
             struct.pack(">Q", 16 << 20) + b"x" * 1000, b"\0SP\0\0\x30\0\0" + struct.pack(">Q", 1 << 62)]
    socks = []
    try:
        for _ in range(60):
            s = p.tcp(timeout=1)
            s.sendall(p.rng.choice(rests))
            socks.append(s)
    except OSError:
        pass
    time.sleep(0.3)
    for s in socks:
        s.close()


@attacker
def connect_flood(p):
    for _ in range(50):
        p.tcp().close()


@attacker
def garbage(p):
    """Frames of random bytes, and requests with a byte changed."""
    c = p.client()
    good = c.frame("generate", {"model": p.model, "prompt": "x", "n": 3, "rid": "r"})
    for _ in range(100):
        bad = bytearray(good)
        for _ in range(p.rng.randrange(1, 5)):
            bad[p.rng.randrange(12, len(bad))] = p.rng.randrange(256)
        c.sock.sendall(bytes(bad))
        try:
            c.receive()
        except Failed:
            pass
    c.sock.sendall(p.rng.randbytes(5000))
    c.take(1)


@attacker
def key_guesser(p):
    for _ in range(20):
        p.client("guess-%d" % p.rng.randrange(1 << 30))


@attacker
def ping_flood(p):
    c = p.client()
    while p.goes_on():
        for i in range(200):
            c.send("ping", NUMBER + i)
        for i in range(200):
            c.receive()


# ---- work that is much for few bytes ----

@attacker
def leaver(p):
    """Long texts whose client is gone before they are done."""
    c = p.client()
    text = "a" * p.rng.choice([1 << 20, 4 << 20, (16 << 20) - 200])
    for i in range(4):
        c.send("tokenize", NUMBER + i, model=p.model, text=text)
    c.sock.close()


TEMPLATES = [("{{ messages[0].content | striptags | length }}", "<" * 4000000),
             ("{{ messages[0].content | title | upper | lower | length }}", "a b " * 1000000),
             ("{% for i in range(100000000) %}{{ i }}{% endfor %}", "x"),
             ("{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}"
              "{% endfor %}{{ ns.s }}", "x"),
             ("{{ messages[0].content | replace('a', 'aaaaaaaaaaaaaaaa') }}", "a" * 1000000),
             ("{{ '%s' | format(messages[0].content) | wordwrap(1) }}", "a " * 500000)]


@attacker
def template_bomb(p):
    c = p.client()
    template, text = p.rng.choice(TEMPLATES)
    stream = c.generate(model=p.model, template=template, n=2, messages=[{"role": "user", "content": text}])
    for _ in c.read(stream):
        pass


GRAMMARS = ["root ::= " + "[^x]? " * 40000, "root ::= " + "a " * 60000 + "\na ::= [^x]?",
            "root ::= " + " | ".join('[^x]* [^c]{0,400} "q%d"' % i for i in range(400)),
            "root ::= a\na ::= a a | \"x\" | \"\"", "root ::= ((((([^x]*)*)*)*)*)*",
            "root ::= " + "(" * 300 + '"a"' + ")" * 300]


@attacker
def grammar_bomb(p):
    c = p.client()
    for _ in c.read(c.generate(model=p.model, prompt="x", n=20, grammar=p.rng.choice(GRAMMARS))):
        pass


@attacker
def schema_bomb(p):
    c = p.client()
    schema = p.rng.choice([
        '{"enum":[%s]}' % ",".join('"v%d"' % i for i in range(15000)), '{"anyOf":' * 60 + "[{}]" + "}" * 60,
        '{"type":"string","pattern":"^(a+)+$(b*)*"}', '{"type":"array","maxItems":100000,"items":{"$ref":"#"}}',
        '{"type":"string","minLength":100000,"maxLength":1000000}'])
    for _ in c.read(c.generate(model=p.model, prompt="x", n=20, json_schema=schema)):
        pass


# ---- HTTP ----

@attacker
def http_slow(p):
    """Heads and bodies that arrive a byte at a time, or never."""
    socks = []
    try:
        for i in range(30):
            s = p.tcp(p.http_port, 1)
            s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n" +
                      (b"\r\n{" if i % 2 else b"X: "))
            socks.append(s)
        for s in socks * 3:
            s.sendall(b"a")
    except OSError:
        pass
    for s in socks:
        s.close()


@attacker
def http_garbage(p):
    heads = [b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
             b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
             b"ffffffffffffffff\r\n", b"GET " + b"/" * 20000 + b" HTTP/1.1\r\n\r\n",
             b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n" +
             b"[" * 200000, b"\x16\x03\x01" + b"\0" * 100, p.rng.randbytes(3000)]
    s = p.tcp(p.http_port)
    s.sendall(p.rng.choice(heads))
    while s.recv(65536):
        pass


@attacker
def http_leaver(p):
    """Streams that nobody reads."""
    body = b'{"model":"%s","messages":[{"role":"user","content":"x"}],"max_tokens":100000,"stream":true}' % \
        p.model.encode()
    s = p.tcp(p.http_port)
    s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
              b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (p.key.encode(), len(body)) + body)
    s.recv(100)
    time.sleep(0.2 * p.rng.random())
    s.close()


# ---- files ----

def hostile_files(p):
    """An operator who adds, loads and removes files that are not what they should be."""
    model = gguf_bytes.read(p.folder + "/full.gguf")
    path = p.folder + "/hostile.gguf"
    cases = []
    for make in (files.container, files.cuts, files.keys):
        cases += list(make(model))
    while p.goes_on():
        _, content, _ = p.rng.choice(cases)
        try:
            c = Unix(p.unix)
            with open(path, "wb") as f:
                f.write(content if isinstance(content, bytes) else content.emit())
            for op, fields in (("add", {"name": "hostile", "path": path, "replace": True}),
                               ("load", {"model": "hostile"}), ("unload", {"model": "hostile", "force": True}),
                               ("rm", {"name": "hostile"})):
                try:
                    reply = c.ask(op, rid=c.rid(), **fields)
                    for _ in c.read(reply["id"]) if "id" in reply else []:
                        pass
                except Failed:
                    pass
            c.sock.close()
        except OSError:
            time.sleep(0.05)


class Unix(Client):
    """A connection of an administrator: each length has a byte 1 before it."""

    def __init__(self, path):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(PATIENCE_S)
        s.connect(path)
        super().__init__(s)

    @staticmethod
    def frame(op, fields, number=NUMBER):
        return b"\1" + Client.frame(op, fields, number)

    def receive(self):
        self.take(1)
        return super().receive()


WITH_KEY = [cancel_storm, hog, slow_reader, garbage, ping_flood, leaver, template_bomb, grammar_bomb,
            schema_bomb, http_leaver]
STRANGERS = [half_open, connect_flood, key_guesser, http_slow, http_garbage]
OPERATORS = [hostile_files]

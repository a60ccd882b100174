#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Raw connections to llamad's HTTP listener: raw.py TEST HOST:PORT [PID].

Prints a line that begins with FAIL for each check that does not hold; the last line counts them."""

import os
import resource
import select
import socket
import sys

WAIT = 30  # seconds that nothing should take
passed = failed = 0


def check(good, text):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("FAIL:", text)


def dial():
    host, port = sys.argv[2].rsplit(":", 1)
    s = socket.create_connection((host.strip("[]"), int(port)))
    s.settimeout(WAIT)
    return s


def read_response(s, rest=b"", head=False):
    """Returns (code, fields, body, what follows); code 0 if the connection ends before."""
    while b"\r\n\r\n" not in rest:
        try:
            more = s.recv(65536)
        except ConnectionError:
            more = b""
        if not more:
            return 0, {}, b"", rest
        rest += more
    top, rest = rest.split(b"\r\n\r\n", 1)
    lines = top.decode().split("\r\n")
    fields = {k.lower(): v.strip() for k, v in (x.split(":", 1) for x in lines[1:])}
    n = 0 if head else int(fields.get("content-length", 0))
    while len(rest) < n:
        more = s.recv(65536)
        if not more:
            break
        rest += more
    return int(lines[0].split(" ")[1]), fields, rest[:n], rest[n:]


def at_end(s, rest=b""):
    """Returns whether the server closes without sending more."""
    try:
        return not rest and not s.recv(65536)
    except ConnectionError:
        return not rest


def ask(data):
    """Sends bytes on a new connection; returns (code, whether it was closed after that)."""
    s = dial()
    try:
        s.sendall(data)
    except ConnectionError:
        pass
    code, _, _, rest = read_response(s)
    if code < 400:
        s.close()
        return code, None
    closed = at_end(s, rest)
    s.close()
    return code, closed


GET = b"GET /health HTTP/1.1\r\n"
HOST = b"Host: localhost\r\n"
END = b"\r\n"


def refused(what, code, data):
    got, closed = ask(data + GET + HOST + END)  # what follows must not be taken as a request
    check(got == code, f"{what}: status {got}, not {code}")
    check(closed, f"{what}: the connection was not closed, or there was a second response")


def framing():
    body = b"0\r\n\r\n"
    for what, code, data in (
        ("bare LF", 400, b"GET /health HTTP/1.1\nHost: localhost\n\n"),
        ("bare LF in a field", 400, GET + b"Host: localhost\n\r\n"),
        ("bare CR", 400, GET + HOST + b"X: a\rb\r\n\r\n"),
        ("two lengths", 400, GET + HOST + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n"),
        ("the same length twice", 400, GET + HOST + 2 * b"Content-Length: 5\r\n" + END + b"hello"),
        ("list of lengths", 400, GET + HOST + b"Content-Length: 5, 5\r\n\r\nhello"),
        ("sign", 400, GET + HOST + b"Content-Length: +5\r\n\r\nhello"),
        ("negative", 400, GET + HOST + b"Content-Length: -5\r\n\r\nhello"),
        ("hex", 400, GET + HOST + b"Content-Length: 0x5\r\n\r\nhello"),
        ("length and coding", 400,
         GET + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + body),
        ("coding and length", 400,
         GET + HOST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + body),
        ("two codings", 501, GET + HOST + 2 * b"Transfer-Encoding: chunked\r\n" + END + body),
        ("list of codings", 501, GET + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + body),
        ("unknown coding", 501, GET + HOST + b"Transfer-Encoding: identity\r\n\r\n"),
        ("coding in 1.0", 400,
         b"GET /health HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + body),
        ("folded line", 400, GET + HOST + b"X: a\r\n b\r\n\r\n"),
        ("blank before the colon", 400, GET + HOST + b"Content-Length : 5\r\n\r\nhello"),
        ("no Host", 400, GET + END),
        ("two Hosts", 400, GET + HOST + HOST + END),
        ("version 2.0", 505, b"GET /health HTTP/2.0\r\n" + HOST + END),
        ("no version", 400, b"GET /health\r\n\r\n"),
        ("not HTTP", 400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        ("bad chunk size", 400, GET + HOST + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n"),
        ("chunk without end", 400,
         GET + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n"),
        ("chunk with bare LF", 400, GET + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n"),
    ):
        refused(what, code, data)
    good()


def good():
    # three requests at once, with bodies of each kind, are answered in order
    s = dial()
    s.sendall(
        GET + HOST + b"Content-Length: 5\r\n\r\nhello"
        + b"GET /version HTTP/1.1\r\n" + HOST
        + b"Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nT: x\r\n\r\n"
        + b"HEAD /health HTTP/1.1\r\n" + HOST + END
        + b"GET /ping HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
        + GET + HOST + END)
    code, _, first, rest = read_response(s)
    check(code == 200 and b"status" in first, f"pipelining: {code} {first}")
    code, _, second, rest = read_response(s, rest)
    check(code == 200 and b"version" in second, f"pipelining: {code} {second}")
    code, fields, _, rest = read_response(s, rest, head=True)
    check(code == 200 and int(fields["content-length"]) > 0, f"HEAD: {code} {fields}")
    code, fields, body, rest = read_response(s, rest)
    check(code == 200 and body == b"pong\n", f"pipelining: {code} {body}")
    check(fields.get("connection") == "close" and at_end(s, rest), "the last request is the last")
    # byte by byte
    s = dial()
    for byte in GET + HOST + END:
        s.sendall(bytes([byte]))
    check(read_response(s)[0] == 200, "byte by byte")
    # HTTP/1.0 closes, unless it is asked to stay
    s = dial()
    s.sendall(b"GET /health HTTP/1.0\r\n\r\n")
    code, _, _, rest = read_response(s)
    check(code == 200 and at_end(s, rest), "HTTP/1.0")
    s = dial()
    s.sendall(2 * (b"GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"))
    code, fields, _, rest = read_response(s)
    check(code == 200 and fields.get("connection") == "keep-alive", "HTTP/1.0 with keep-alive")
    check(read_response(s, rest)[0] == 200, "HTTP/1.0 with keep-alive: the second request")
    # a client that closes its side still gets its answers
    s = dial()
    s.sendall(2 * (GET + HOST + END))
    s.shutdown(socket.SHUT_WR)
    code, _, _, rest = read_response(s)
    second, _, _, rest = read_response(s, rest)
    check(code == second == 200 and at_end(s, rest), f"half close: {code} {second}")
    # Expect
    s = dial()
    s.sendall(GET + HOST + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    code, _, _, rest = read_response(s)
    check(code == 100, f"Expect: {code}")
    s.sendall(b"{}")
    check(read_response(s, rest)[0] == 200, "Expect: the response")
    # errors that are not about framing leave the connection open
    s = dial()
    s.sendall(b"GET /nothing HTTP/1.1\r\n" + HOST + END + GET + HOST + END)
    code, _, _, rest = read_response(s)
    check(code == 404 and read_response(s, rest)[0] == 200, "404 and another request")


def limits():
    """The configuration has http_body = 64K."""
    fill = b"X: " + 4000 * b"x" + b"\r\n"
    for n, code in ((16384, 200), (16385, 431)):
        head = GET + HOST + 3 * fill
        head += b"Y: " + (n - len(head) - 7) * b"y" + b"\r\n\r\n"
        assert len(head) == n
        check(ask(head)[0] == code, f"header of {n} bytes: not {code}")
    for n, code in ((64, 200), (65, 431)):
        head = GET + HOST + b"".join(b"F%d: x\r\n" % i for i in range(n - 1)) + END
        check(ask(head)[0] == code, f"{n} fields: not {code}")
    for n, code in ((8192, 200), (8193, 431)):
        head = GET + HOST + b"X: " + (n - 3) * b"x" + b"\r\n\r\n"
        check(ask(head)[0] == code, f"line of {n} bytes: not {code}")
    for n, code in ((8192, 200), (8193, 414)):
        head = b"GET /health?" + (n - 21) * b"x" + b" HTTP/1.1\r\n" + HOST + END
        check(ask(head)[0] == code, f"request line of {n} bytes: not {code}")
    for n, code in ((65536, 200), (65537, 413)):
        head = GET + HOST + b"Content-Length: %d\r\n\r\n" % n
        check(ask(head + n * b"x")[0] == code, f"body of {n} bytes: not {code}")
        head = GET + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
        chunks = (n // 4096) * (b"1000\r\n" + 4096 * b"x" + END)
        chunks += b"%x\r\n" % (n % 4096) + (n % 4096) * b"x" + END + b"0\r\n\r\n" if n % 4096 else b"0\r\n\r\n"
        check(ask(head + chunks)[0] == code, f"body of {n} bytes in chunks: not {code}")
    # the memory of all bodies together is that of 16 bodies of the maximum length
    held = [dial() for _ in range(25)]
    for s in held:
        s.sendall(GET + HOST + b"Content-Length: 65536\r\n\r\n" + 60000 * b"x")
    codes = []
    while held and (busy := select.select(held, [], [], 0 if len(codes) > 4 else WAIT)[0]):
        codes += [read_response(s)[0] for s in busy]
        held = [s for s in held if s not in busy]
    check(len(codes) > 4 and set(codes) == {503}, f"too many bodies: {codes}")
    for s in held:
        try:
            s.sendall(5536 * b"x")
        except ConnectionError:  # refused meanwhile
            pass
    codes = [read_response(s)[0] for s in held]
    check(200 in codes and set(codes) <= {0, 200, 503}, f"bodies that were being received: {codes}")
    # a length that is too large is refused before the body
    s = dial()
    s.sendall(GET + HOST + b"Content-Length: 999999999999\r\n\r\n")
    check(read_response(s)[0] == 413, "a huge length")
    # a client that sends all of its body before it reads gets the response
    s = dial()
    try:
        s.sendall(GET + HOST + b"Content-Length: 8388608\r\n\r\n" + 8388608 * b"x")
        code = read_response(s)[0]
    except ConnectionError as e:
        code = str(e)
    check(code == 413, f"a long body that is refused: {code}")


def bodies():
    """Bodies that are not what JSON allows, and the bounds of its size.  There is no model."""
    s = dial()
    rest = b""
    zeros = {n: b'{"content":"a","x":[' + (n - 4) * b"0," + b"0]}" for n in (1048576, 1048577)}
    for what, text, says in (
        ("1048576 values", zeros[1048576], b"model"),
        ("1048577 values", zeros[1048577], b"more than 1048576 values"),
        ("64 levels", b'{"content":"a","x":' + 63 * b"[" + 63 * b"]" + b"}", b"model"),
        ("65 levels", b'{"content":"a","x":' + 64 * b"[" + 64 * b"]" + b"}", b"more than 64 levels"),
        ("levels that do not end", 200000 * b'{"a":', b"more than 64 levels"),
        ("a byte that is not UTF-8", b'{"content":"\xff"}', b"not valid JSON"),
        ("half a character", b'{"content":"\xc3"}', b"not valid JSON"),
        ("a character in too many bytes", b'{"content":"\xc0\xaf"}', b"not valid JSON"),
        ("half a surrogate pair", b'{"content":"\xed\xa0\x80"}', b"not valid JSON"),
        ("an escaped half of a pair", b'{"content":"\\ud800"}', b"not valid JSON"),
        ("a zero", b'{"content":"\0"}', b"not valid JSON"),
        ("a name twice", b'{"content":"a","content":"b"}', b"not valid JSON"),
        ("two values", b'{"content":"a"}{}', b"not valid JSON"),
        ("a number that is too large", b'{"content":"a","x":1e999}', b"not valid JSON"),
    ):
        s.sendall(b"POST /tokenize HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(text) + text)
        code, _, body, rest = read_response(s, rest)
        check(code == 400 and says in body, f"{what}: {code} {body[:200]}")
    s.sendall(GET + HOST + END)
    check(read_response(s, rest)[0] == 200, "another request after these")


def trickle(s, data):
    """Sends byte after byte until the server answers."""
    for byte in data:
        if select.select([s], [], [], 0.05)[0]:
            return
        try:
            s.sendall(bytes([byte]))
        except ConnectionError:
            return


def slow():
    """The configuration has message_time = 500ms."""
    s = dial()
    check(at_end(s), "a connection that sends nothing is closed")
    s = dial()
    s.sendall(GET)
    check(read_response(s)[0] == 408, "a header that does not end")
    s = dial()
    trickle(s, GET + HOST + 1000 * b"X: y\r\n")
    check(read_response(s)[0] == 408, "a header that trickles")
    s = dial()
    s.sendall(GET + HOST + b"Content-Length: 50000\r\n\r\n")
    trickle(s, 2000 * b"x")
    check(read_response(s)[0] == 408, "a body that trickles")
    s = dial()
    s.sendall(GET + HOST + END)
    code, _, _, rest = read_response(s)
    check(code == 200 and at_end(s, rest), "an idle connection is closed")


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(x.split()[1]) for x in f if x.startswith("VmRSS"))


def idle():
    """The configuration allows 300 connections."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    pid = sys.argv[3]
    for k in range(3):
        held = []
        for _ in range(200):
            s = dial()
            s.sendall(GET + HOST + END)
            held.append(s)
        check(all(read_response(s)[0] == 200 for s in held), "200 connections at once")
        for s in held:  # they still work
            s.sendall(GET + HOST + END)
        check(all(read_response(s)[0] == 200 for s in held), "200 connections, second request")
        for s in held:
            s.close()
        before = resident_kb(pid) if k == 0 else before
    s = dial()
    rest = b""
    for _ in range(5000):
        s.sendall(GET + HOST + END)
        code, _, _, rest = read_response(s, rest)
        assert code == 200
    after = resident_kb(pid)
    # an address sanitizer keeps what was freed
    bound = 2048 if not os.environ.get("LMD_TEST_SAN") else 200000
    check(after - before < bound, f"memory grows: {before} kB, then {after} kB")
    # one connection too many
    held = [dial() for _ in range(310)]
    refused_ones = 0
    for s in held[290:]:
        s.settimeout(1)
        try:
            refused_ones += read_response(s)[0] == 503
        except OSError:
            pass
    check(refused_ones > 0, "connections over the limit are refused with 503")


def burst(key):
    """Many connections at once with the same key, which is right: none is taken for a guess."""
    held = [dial() for _ in range(25)]
    for s in held:
        s.sendall(b"GET /metrics HTTP/1.1\r\n" + HOST + b"x-api-key: " + key.encode() + b"\r\n\r\n")
    codes = [read_response(s)[0] for s in held]
    check(set(codes) == {200}, f"25 connections with a key: {codes}")


if __name__ == "__main__":
    {"bodies": bodies, "burst": lambda: burst(sys.argv[3]), "framing": framing, "limits": limits, "slow": slow,
     "idle": idle}[sys.argv[1]]()
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Streams whose connection is lost: resume.py TEST HOST:PORT SOCKET KEY KEY [COMMAND...].

The connection of a request is one to the unix socket SOCKET, whose buffers are small, so that a client that
does not read holds its stream.  Prints a line that begins with FAIL for each check that does not hold."""

import http.client
import json
import socket
import subprocess
import sys
import time

WAIT = 60  # seconds that nothing should take
tcp, path, ann, bob = sys.argv[2:6]
passed = failed = 0


def check(good, text):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAIL:", text)


class Unix(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("localhost", timeout=WAIT)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT)
        self.sock.connect(path)


def send(method, target, body=None, headers=(), key=ann, conn=None):
    """Returns the response, which may not have been read; close() of its connection is lost()."""
    conn = conn or http.client.HTTPConnection(tcp, timeout=WAIT)
    fields = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
    conn.request(method, target, body and json.dumps(body), fields | dict(headers))
    r = conn.getresponse()
    r.lost = lambda: (r.close(), conn.close())
    return r


# some megabytes, far more than what the buffers of a connection hold
LONG = {"model": "tiny", "chat_template": "chatml", "messages": [{"role": "user", "content": "hi"}],
        "stream": True, "n": 8, "logprobs": True, "top_logprobs": 20, "seed": 7,
        "max_completion_tokens": 150, "ignore_eos": True}
# goes on until it is cancelled
ENDLESS = LONG | {"n": 1, "logprobs": False, "max_completion_tokens": 1000000, "context_shift": True}
del ENDLESS["top_logprobs"]
SHORT = LONG | {"n": 1, "logprobs": False, "max_completion_tokens": 20}
del SHORT["top_logprobs"]


def begin(name, body=LONG, ids=False, key=ann):
    headers = {"X-Conversation-Id": name} if name else {}
    return send("POST", "/v1/chat/completions", body, headers | ({"X-Event-Ids": "1"} if ids else {}), key,
                Unix())


def get(name, start=0, key=ann):
    r = send("GET", f"/v1/stream/{name}?from={start}", key=key)
    return r.status, r.read()


def lookup(*names, key=ann):
    r = send("POST", "/v1/streams/lookup", {"conversation_ids": names}, key=key)
    return json.loads(r.read())


def until(what, text):
    """Asks until it holds, with a patience that only a hang exceeds."""
    end = time.monotonic() + WAIT
    while not what():
        if time.monotonic() > end:
            check(False, text)
            return
        time.sleep(0.02)
    check(True, text)


def ended(name):
    until(lambda: lookup(name)[0]["is_done"], f"{name} goes on without a connection")
    return lookup(name)[0]["total_bytes"]


def running():
    """How many sequences are being computed."""
    return sum(s["is_processing"] for s in json.loads(send("GET", "/slots", key=bob).read()))


def text_of(data):
    """The text of the first choice."""
    text = ""
    for line in data.decode().split("\n"):
        if line.startswith("data: {"):
            for c in json.loads(line[6:])["choices"]:
                text += c["delta"].get("content") or "" if not c["index"] else ""
    return text


def test_bytes():
    r = begin("a")
    check(r.status == 200, "a stream that is kept")
    seen = r.read(5000)
    check(not lookup("a")[0]["is_done"], "an unread stream waits")
    r.lost()
    n = ended("a")
    status, rest = get("a", len(seen))
    check(status == 200 and len(seen) + len(rest) == n, f"the rest has {len(rest)} bytes")
    check(rest.endswith(b"data: [DONE]\n\n"), "the rest is complete")
    status, whole = get("a")
    check(whole == seen + rest, "the parts are the whole")
    check(b"\nid: " not in whole, "no ids unless asked for")
    plain = send("POST", "/v1/chat/completions", LONG).read()
    check(b"\nid: " not in plain and text_of(plain) == text_of(whole), "the text of an undisturbed run")
    check(get("a", n) == (200, b""), "nothing is left at the end")
    check(get("a", n + 1)[0] == 400, "a position beyond the end")

    # two readers while it is computed, of which one is lost
    r = begin("b")
    head = r.read(3000)
    one = send("GET", "/v1/stream?conv_id=b")
    two = send("GET", f"/v1/stream?conv_id=b&from={len(head)}", conn=Unix())
    two.read(100)
    r.lost()
    whole = one.read()
    check(whole.startswith(head) and whole.endswith(b"[DONE]\n\n"), "a reader beside the first one")
    check(get("b")[1] == whole, "readers get the same bytes")
    two.lost()


def test_ids():
    r = begin(None, ids=True)
    name = r.getheader("X-Conversation-Id")
    seen = b""
    while seen.count(b"\n\n") < 4:
        seen += r.read(100)
    r.lost()
    events = seen.split(b"\n\n")[:4]
    done = b"\n\n".join(events) + b"\n\n"
    last = events[-1].split(b"\n")[0].decode().removeprefix("id: ")
    check(last == f"{name}:{len(done)}", f"the id of an event is its end, not {last}")
    for r in (send("POST", "/v1/chat/completions", LONG, {"Last-Event-ID": last}),
              send("GET", "/v1/stream", headers={"Last-Event-ID": last})):
        check(r.status == 200 and done + r.read() == get(name)[1], "Last-Event-ID continues after it")
    for bad in ("x", name, name + ":", name + ":x", name + ":9x"):
        r = send("POST", "/v1/chat/completions", LONG, {"Last-Event-ID": bad})
        check(r.status == 400, f"Last-Event-ID {bad}: {r.status}")
    r = send("POST", "/v1/chat/completions", LONG, {"Last-Event-ID": "other:9"})
    check(r.status == 404, "an id of no stream")
    # each number of digits
    data = begin("digits", SHORT, ids=True).read()
    at = 0
    for e in data.split(b"\n\n")[:-1]:
        at += len(e) + 2
        check(e.startswith(b"id: digits:%d\n" % at), f"the id at {at}")
    for bad in ("a b", "x" * 129, "\x7f"):
        check(begin(bad).status == 400, "a name that is not allowed")
    check(begin("x" * 128, SHORT).status == 200, "the longest name")


def test_owner():
    r = begin("a")
    r.read(100)
    check(get("a", key=bob)[0] == 404 and not lookup("a", key=bob), "another key sees nothing")
    check(send("DELETE", "/v1/stream/a", key=bob).status == 204, "nothing to stop is no error")
    mine = begin("a", SHORT, key=bob)
    mine.read()
    check(lookup("a")[0]["is_done"] is False, "a name belongs to each key")
    check(send("DELETE", "/v1/stream/a").status == 204, "stopped")
    check(not lookup("a") and get("a")[0] == 404, "a stopped stream is forgotten")
    check(b"[DONE]" not in r.read(), "a stopped stream ends early")
    # the same name again
    old = begin("b")
    old.read(100)
    check(begin("b", SHORT).read().endswith(b"[DONE]\n\n"), "a name that is used again")
    check(b"[DONE]" not in old.read(), "ends the former stream")
    check(get("b")[1].endswith(b"[DONE]\n\n"), "the later one is kept")


def test_bounds():
    """http_resume = 64K, http_resume_number = 2."""
    a, b = begin("a"), begin("b")
    a.read(100)
    b.read(100)
    r = begin("c")
    check(r.status == 429 and b"the maximum of limits.http_resume_number" in r.read(), "a third stream")
    check(begin("c", SHORT, key=bob).status == 200, "the bound is per key")
    a.lost()
    n = ended("a")
    check(get("a", n - 65536)[0] == 200, "as many bytes as are kept")
    check(len(get("a", n - 65536)[1]) == 65536, "all of them")
    check(get("a", n - 65537)[0] == 410, "one byte more is lost")
    r = begin("c", SHORT)
    check(r.status == 200 and not lookup("a") and lookup("b"), "the one that has ended makes way")
    b.lost()


def test_time():
    """http_resume_time = 100ms"""
    held = begin("held")
    held.read(100)
    begin("lost").lost()
    until(lambda: not lookup("lost"), "a stream that nobody reads is forgotten")
    check(lookup("held"), "one that is read stays")
    rest = held.read()
    check(rest.endswith(b"[DONE]\n\n"), "and is complete")


def test_time_running():
    """http_resume_time = 100ms: a stream that nobody reads is cancelled while it runs."""
    r = begin("endless", ENDLESS)
    check(r.status == 200 and r.read(100), "a stream without an end")
    check(running() == 1, "it runs")
    reader = send("GET", "/v1/stream/endless", conn=Unix())
    reader.read(100)
    r.lost()
    check(reader.read(1000) and running() == 1, "it runs as long as somebody reads it")
    reader.lost()
    until(lambda: not lookup("endless"), "it is forgotten")
    until(lambda: running() == 0, "and cancelled")
    check(get("endless")[0] == 404, "and cannot be read")


def test_key():
    """A key is removed while its stream runs and is read; that of another key goes on."""
    mine, other = begin("a", ENDLESS), begin("a", ENDLESS, key=bob)
    mine.read(100)
    other.read(100)
    reader = send("GET", "/v1/stream/a", conn=Unix())
    reader.read(100)
    check(running() == 2, "two streams run")
    subprocess.run(sys.argv[6:] + ["key", "rm", "ann"], check=True, stdout=subprocess.DEVNULL)
    for r in mine, reader:
        check(b"[DONE]" not in r.read(), "the stream of the key ends early")
    until(lambda: running() == 1, "it is cancelled")
    check(other.read(1000), "the other one goes on")
    check([v["conversation_id"] for v in lookup("a", key=bob)] == ["a"], "and is kept")
    check(get("a")[0] == 401, "the key is gone")
    check(send("DELETE", "/v1/stream/a", key=bob).status == 204, "stopped")


def test_all():
    """http_resume_number = 200: all keys together keep 256 streams."""
    tiny = SHORT | {"max_completion_tokens": 1}
    for i in range(200):
        check(begin(f"a{i}", tiny).read().endswith(b"[DONE]\n\n"), "a stream")
    for i in range(56):
        check(begin(f"b{i}", tiny, key=bob).read().endswith(b"[DONE]\n\n"), "a stream of the other key")
    check(len(lookup(*(f"b{i}" for i in range(56)), key=bob)) == 56, "256 are kept")
    third = sys.argv[6]
    r = begin("c", tiny, key=third)
    check(r.status == 429 and r.getheader("Retry-After"), f"the 257th: {r.status}")
    check(begin("b56", tiny, key=bob).status == 200, "one's own ended stream makes way")
    check(not lookup("b0", key=bob) and lookup("b1", key=bob), "the oldest one")
    check(send("DELETE", "/v1/stream/b1", key=bob).status == 204, "stopped")
    check(begin("c", tiny, key=third).status == 200, "the 256th")


def test_off():
    """http_resume = 0"""
    r = begin("a", SHORT)
    check(r.status == 200 and not r.getheader("X-Conversation-Id"), "the header has no effect")
    check(r.read().endswith(b"[DONE]\n\n"), "the stream")
    check(get("a")[0] == 404, "nothing is kept")


globals()["test_" + sys.argv[1]]()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many connections to llamad's HTTP listener: load.py TEST HOST:PORT PID NUMBER.

Prints a line that begins with FAIL for each check that does not hold, and figures."""
import json
import os
import resource
import socket
import struct
import sys
import time

from raw import END, GET, HOST, WAIT, read_response, resident_kb

TEST, ADDRESS, PID, NUMBER = sys.argv[1:4] + [int(sys.argv[4])]
SANITIZED = bool(os.environ.get("LMD_TEST_SAN"))  # keeps what was freed
failed = 0


def check(good, text):
    global failed
    failed += not good
    if not good:
        print("FAIL:", text)


def dial():
    host, port = ADDRESS.rsplit(":", 1)
    s = socket.create_connection((host, int(port)), timeout=WAIT)
    # a reset in place of an orderly end, which would leave the port in use for a minute
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return s


def code(s):
    try:
        return read_response(s)[0]
    except (ConnectionError, TimeoutError):
        return 0


def metric(name):
    s = dial()
    s.sendall(b"GET /load HTTP/1.1\r\n" + HOST + END)
    body = read_response(s)[2]
    s.close()
    return json.loads(body)[name]


def answered():
    """Returns whether another client is answered."""
    s = dial()
    try:
        s.sendall(GET + HOST + END)
        found = code(s)
    except ConnectionError:
        found = 0
    s.close()
    return found == 200


def answered_soon():
    """Returns whether another client is answered, perhaps after some attempts: the server has to see
    first that connections ended, and a slow machine may exceed message_time."""
    end = time.monotonic() + WAIT
    while not (ok := answered()) and time.monotonic() < end:
        time.sleep(0.02)  # asks again; nothing depends on its length
    return ok


def beginning(s):
    """Returns the code of an answer that begins, as bytes, or why there is none."""
    try:
        return s.recv(4096)[9:12] or b"closed"
    except (ConnectionError, TimeoutError) as e:
        return type(e).__name__.encode()


def ask_all(held):
    for s in held:
        s.sendall(GET + HOST + END)
    return sum(code(s) == 200 for s in held)


def default():
    """The configuration says nothing about connections: NUMBER of one address are allowed."""
    held = [dial() for _ in range(NUMBER)]
    n = ask_all(held)
    check(n == NUMBER, f"{n} of {NUMBER} connections are answered")
    more = dial()
    found = code(more)
    check(found == 503, f"one connection more gets {found}, not 503")
    check(ask_all(held) == NUMBER, "the others are answered afterwards")
    held.pop().close()
    check(answered_soon(), "another connection in place of one that ended")


def idle():
    before, after = resident_kb(PID), []
    for turn in range(2):
        held = []
        for _ in range(NUMBER):
            held.append(dial())
            held[-1].sendall(GET + HOST + END)
        n = sum(code(s) == 200 for s in held)
        check(n == NUMBER, f"{n} of {NUMBER} connections are answered")
        if not turn:
            print(f"{NUMBER} idle connections: "
                  f"{(resident_kb(PID) - before) * 1024 / NUMBER:.0f} bytes of memory each")
        check(answered(), "another client is answered beside them")
        n = ask_all(held)
        check(n == NUMBER, f"{n} of {NUMBER} idle connections still work")
        after.append(resident_kb(PID))
        for s in held:
            s.close()
        check(answered_soon(), "another client is answered afterwards")
    check(SANITIZED or after[1] - after[0] < 2048 + after[0] // 10,
          f"memory grows: {after[0]} kB, then {after[1]} kB")


def slowloris():
    """Headers that never end.  The configuration has message_time = 500ms."""
    held = [dial() for _ in range(NUMBER)]
    for part in (b"GET /health HTTP/1.1\r\n", HOST, b"x-a: "):
        for s in held:
            try:
                s.sendall(part)
            except ConnectionError:
                pass
        check(answered_soon(), "another client is answered beside slow ones")
    found = [code(s) for s in held]
    check(set(found) <= {408, 0}, f"slow clients get {set(found)}")
    check(answered_soon(), "another client is answered afterwards")


def pipelining():
    for _ in range(3):
        s = dial()
        s.sendall((GET + HOST + END) * NUMBER)
        rest, n = b"", 0
        while n < NUMBER:
            found, _, _, rest = read_response(s, rest)
            if found != 200:
                break
            n += 1
        check(n == NUMBER and not rest, f"{n} responses to {NUMBER} requests at once")
        s.close()


def storm():
    """Clients that leave in the middle of an endless answer.  The only model never ends by itself."""
    body = json.dumps({"messages": [{"role": "user", "content": "again and again"}], "stream": True,
                       "ignore_eos": True}).encode()
    request = (b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + b"Content-Length: "
               + str(len(body)).encode() + b"\r\n\r\n" + body)
    sizes = []
    for turn in range(5):
        held = []
        for _ in range(NUMBER):
            held.append(dial())
            held[-1].sendall(request)
        found = set()
        for i, s in enumerate(held):  # some have waited for the beginning of their answer
            if i % 4 == 0:
                found.add(beginning(s))
            s.close()
        # those for which the queue has no room are refused
        check(b"200" in found and found <= {b"200", b"503"}, f"round {turn}: {found}")
        end = time.monotonic() + 2 * WAIT
        while (left := metric("server_load")) and time.monotonic() < end:
            time.sleep(0.02)  # asks again; nothing depends on its length
        check(not left, f"round {turn}: {left} answers are still computed")
        sizes.append(resident_kb(PID))
    # the first ones use pages of the KV cache for the first time, on a busy machine not all of them
    check(SANITIZED or sizes[4] - sizes[2] < 8192, f"memory grows: {sizes} kB")
    print(f"memory after each of five storms of {NUMBER}: {sizes} kB")


if __name__ == "__main__":
    HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (HARD, HARD))
    {"default": default, "idle": idle, "slowloris": slowloris, "pipelining": pipelining,
     "storm": storm}[TEST]()
    sys.exit(failed > 0)

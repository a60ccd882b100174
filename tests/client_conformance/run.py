#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a client of llamad against scripted exchanges, without a daemon and a model.

usage: run.py [--cases FOLDER] [--only NAME] [--list] [-v] COMMAND [ARGUMENT...]

COMMAND is a driver, a small program in the client's language.  For each case it is started once, reads one
JSON object from standard input, does what it says with the client, and prints the result as one JSON
object.  docs/clients.md describes the cases and the driver.  Needs the Python package msgpack."""
import argparse
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading

import msgpack

REQ, REP = b"\0SP\0\0\x30\0\0", b"\0SP\0\0\x31\0\0"
#: A driver that takes longer has failed.
DRIVER_S = 30
#: How long a connection may stay open after the driver has ended.
DRAIN_S = 5
HELLO = {"server": "llamad", "version": "0.1.0", "v_min": 1, "v_max": 1, "revision": 3,
         "boot": {"hex": "00" * 16}, "role": "admin", "features": []}


class Mismatch(Exception):
    """The client sent something else than the script expects."""


# ---- values: {"hex": "..."} stands for bytes, {"any": [...]} for one of several values, {"same": NAME}
# for a value that must be present and equal wherever the name stands; null for a field that is missing

def to_wire(v):
    if isinstance(v, dict):
        if set(v) == {"hex"}:
            return bytes.fromhex(v["hex"])
        return {k: to_wire(x) for k, x in v.items()}
    return [to_wire(x) for x in v] if isinstance(v, list) else v


def from_wire(v, key=None):
    if isinstance(v, bytes):
        try:
            if key != "id":
                return v.decode()
        except UnicodeDecodeError:
            pass
        return {"hex": v.hex()}
    if isinstance(v, dict):
        return {k: from_wire(x, k) for k, x in v.items()}
    return [from_wire(x) for x in v] if isinstance(v, list) else v


def matches(want, got, names):
    if isinstance(want, dict) and set(want) == {"any"}:
        return any(matches(w, got, names) for w in want["any"])
    if isinstance(want, dict) and set(want) == {"same"}:
        return got is not None and names.setdefault(want["same"], got) == got
    if isinstance(want, dict) and isinstance(got, dict):
        return all(matches(w, got.get(k), names) for k, w in want.items())
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(matches(w, g, names) for w, g in zip(want, got))
    return type(want) is type(got) and want == got or \
        isinstance(want, (int, float)) and isinstance(got, (int, float)) and want == got and \
        not isinstance(want, bool) and not isinstance(got, bool)


class Server:
    """Plays the script of one case."""

    def __init__(self, case, folder):
        self.case = case
        self.steps = list(case.get("script", []))
        self.hellos = list(case.get("hello", []))
        self.names = {}
        self.faults = []
        self.lock = threading.Lock()
        self.threads = []
        if case.get("transport", "ipc") == "tcp":
            self.sock = socket.create_server(("127.0.0.1", 0))
            self.url = "tcp://127.0.0.1:%d" % self.sock.getsockname()[1]
        else:
            path = os.path.join(folder, "sock")
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.bind(path)
            self.sock.listen()
            self.url = "ipc://" + path
        self.ipc = self.url.startswith("ipc:")
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.sock.accept()
            except OSError:
                return
            t = threading.Thread(target=self.talk, args=(peer,), daemon=True)
            self.threads.append(t)
            t.start()

    def stop(self):
        for t in self.threads:
            t.join(DRAIN_S)
            if t.is_alive():
                self.faults.append("the client's connection is open %d s after its end" % DRAIN_S)
        self.sock.close()
        for step in self.steps:
            if not step.get("optional"):
                self.faults.append("the client did not send %s" % json.dumps(step["expect"]))
                break

    # -- frames --

    def read(self, peer, n):
        out = b""
        while len(out) < n:
            more = peer.recv(n - len(out))
            if not more:
                raise EOFError
            out += more
        return out

    def read_frame(self, peer):
        head = self.read(peer, 9 if self.ipc else 8)
        if self.ipc and head[0] != 1:
            raise Mismatch("a frame of type %d, not 1" % head[0])
        n = int.from_bytes(head[-8:], "big")
        if not 4 <= n <= 16 << 20:
            raise Mismatch("a frame of %d bytes" % n)
        payload = self.read(peer, n)
        if not payload[0] & 0x80:
            raise Mismatch("a request number without its highest bit")
        return payload[:4], payload[4:]

    def write_frame(self, peer, number, body):
        peer.sendall((b"\1" if self.ipc else b"") + struct.pack(">Q", len(body) + 4) + number + body)

    def talk(self, peer):
        with peer:
            try:
                if self.read(peer, 8) != REQ:
                    raise Mismatch("the first bytes are not those of a REQ socket")
                peer.sendall(REP)
                while True:
                    number, body = self.read_frame(peer)
                    with self.lock:
                        if not self.exchange(peer, number, body):
                            return
            except (EOFError, OSError):
                pass
            except Mismatch as e:
                self.faults.append(str(e))

    # -- messages --

    def exchange(self, peer, number, body):
        """Answers a request.  Returns whether the connection stays open."""
        try:
            request = msgpack.unpackb(body, raw=False, strict_map_key=True)
        except (ValueError, msgpack.UnpackException) as e:
            raise Mismatch("a request is not a msgpack map: %s" % e)
        got = from_wire(request)
        if not isinstance(got, dict) or got.get("v") != 1 or not isinstance(got.get("op"), str):
            raise Mismatch("a request without v 1 and op: %s" % json.dumps(got))
        step = self.hello(got) if got["op"] == "hello" else self.step(got)
        if step.get("before"):  # a frame that nobody waits for
            self.write_frame(peer, b"\x80\xff\xff\xff", msgpack.packb({"v": 1, "op": got["op"]}))
        how = step.get("then", "reply")
        if how == "reply":
            self.reply(peer, number, got, step)
        return how != "close"

    def reply(self, peer, number, got, step):
        if "raw" in step:
            body = bytes.fromhex(step["raw"])
        else:
            head = {"v": 1, "op": got["op"], "rid": got.get("rid"), "id": got.get("id")}
            body = msgpack.packb(to_wire({**{k: v for k, v in head.items() if v is not None},
                                          **step.get("reply", {})}))
        self.write_frame(peer, number, body)

    def hello(self, got):
        want = self.case.get("key")
        if want is not None and got.get("key") != want:
            raise Mismatch("hello has the key %r, not %r" % (got.get("key"), want))
        step = self.hellos.pop(0) if self.hellos else {}
        return {"reply": HELLO, **step}

    def step(self, got):
        while self.steps:
            step = self.steps.pop(0)
            if matches(step["expect"], got, self.names):
                if got["op"] in ("generate", "load", "unload", "reload") and not got.get("rid"):
                    raise Mismatch("%s needs a rid, an id that a repetition has again" % got["op"])
                return step
            if not step.get("optional"):
                raise Mismatch("the client sent %s, not %s" % (json.dumps(got), json.dumps(step["expect"])))
        raise Mismatch("the client sent %s after the end of the script" % json.dumps(got))


def compare(case, result):
    """What the driver printed and what it should have."""
    wrong = []
    optional = case.get("may_lack", [])
    for key, want in case["result"].items():
        got = result.get(key)
        if isinstance(want, dict) and isinstance(got, dict):
            for k, w in want.items():
                if k == "contains":
                    if w not in got.get("text", ""):
                        wrong.append("%s: the text %r lacks %r" % (key, got.get("text"), w))
                elif not (k in optional and k not in got) and not matches(w, got.get(k), {}):
                    wrong.append("%s.%s is %s, not %s" % (key, k, json.dumps(got.get(k)), json.dumps(w)))
        elif not matches(want, got, {}):
            wrong.append("%s is %s, not %s" % (key, json.dumps(got), json.dumps(want)))
    if "error" in result and "error" not in case["result"]:
        wrong.append("the client reports an error: %s" % json.dumps(result["error"]))
    return wrong


def run(case, command, verbose):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(case, folder)
        call = {"url": server.url, "key": case.get("key"), **case["call"]}
        try:
            p = subprocess.run(command, input=json.dumps({k: v for k, v in call.items() if v is not None}),
                               stdout=subprocess.PIPE, text=True, timeout=DRIVER_S, check=False)
            result = json.loads(p.stdout) if p.returncode == 0 else None
        except subprocess.TimeoutExpired:
            return ["the driver takes longer than %d s" % DRIVER_S] + server.faults
        except ValueError:
            return ["the driver printed %r, which is not JSON" % p.stdout] + server.faults
        server.stop()
        if not isinstance(result, dict):
            return ["the driver ended with status %d" % p.returncode] + server.faults
        if verbose:
            print(json.dumps(result))
        return server.faults + compare(case, result)


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    args.add_argument("--cases", metavar="FOLDER", help="the JSON files of the cases",
                      default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases"))
    args.add_argument("--only", metavar="NAME", help="run one case")
    args.add_argument("--list", action="store_true", help="list the cases")
    args.add_argument("-v", "--verbose", action="store_true", help="print what the driver prints")
    args.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    args = args.parse_args()
    cases = []
    for name in sorted(os.listdir(args.cases)):
        if name.endswith(".json"):
            with open(os.path.join(args.cases, name), encoding="utf-8") as f:
                cases += json.load(f)
    if args.only:
        cases = [c for c in cases if c["name"] == args.only]
    if args.list:
        for c in cases:
            print("%-28s %s" % (c["name"], c["doc"]))
        return 0
    if not args.command or not cases:
        sys.exit("run.py: there is no driver" if cases else "run.py: there is no such case")
    failed = 0
    for c in cases:
        wrong = run(c, args.command, args.verbose)
        failed += bool(wrong)
        for line in wrong:
            print("FAIL: %s: %s" % (c["name"], line))
        if args.verbose and not wrong:
            print("ok: " + c["name"])
    print("%d of %d cases passed" % (len(cases) - failed, len(cases)))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mixed_load.py BUILD DIR SECONDS SEED: clients of two models, of which one has room in memory, for so many seconds.

They read streams to their end, leave them in the middle, cancel durable ones, and ask for answers in one piece.
Meanwhile models are unloaded, and for the first half of the time the daemon is killed or stopped, and started again.
  - Each answer has exactly one end: a finish reason and what ends a stream of events, or an error. None is cut off
    unless the daemon ended.
  - Nobody starves: a client gets each answer, after refusals with Retry-After, within the limit of this test.
  - When all have left, nothing runs or waits, no page is in use and no stream is kept.
  - In the second half memory does not grow; in less than a minute, it stays below a bound.
Exits with 1 at the first fault."""
import collections
import http.client
import json
import random
import signal
import sys
import threading
import time

import restarts
from raw import resident_kb
from restarts import WAIT_S, Daemon, check, send

CLIENTS = 12
CONF = "[limits]\nmodels = 1\ndurable_streams = 1000\n"
MODELS = ["one", "two"]
SHORT_KB = 128 << 10


class Load:
    """What all clients share."""

    def __init__(self, daemon, end):
        self.daemon, self.end_s = daemon, end
        self.n_start = 0  # changes when the daemon ends, and when it has started again
        self.fault = None
        self.count = collections.Counter()
        self.longest = 0
        self.lock = threading.Lock()

    def add(self, what):
        with self.lock:
            self.count[what] += 1

    def runs(self):
        return time.monotonic() < self.end_s and not self.fault


def events(r, most):
    """The data of the events of a stream; most: so many of them, 0: all."""
    out, rest = [], b""
    while part := r.read1(65536):
        *whole, rest = (rest + part).split(b"\n\n")
        out += [line[6:] for e in whole for line in e.split(b"\n") if line.startswith(b"data: ")]
        if most and len(out) >= most:
            return out
    check(not rest, f"a stream ends with {rest[-100:]}")
    return out


class Client(threading.Thread):
    def __init__(self, load, seed):
        super().__init__()
        self.load, self.rnd = load, random.Random(seed)

    def body(self, **more):
        words = " ".join(self.rnd.choices(["a", "river", "of", "stones", "and", "light"], k=self.rnd.randrange(1, 60)))
        return {"model": self.rnd.choice(MODELS), "ignore_eos": True, "max_tokens": self.rnd.randrange(1, 120),
                "prompt": "All begin alike. " + words} | more

    def check_end(self, data):
        reasons = [c["finish_reason"] for d in data[:-1] for c in json.loads(d).get("choices", [])
                   if c["finish_reason"]]
        errors = [d for d in data[:-1] if b'"error"' in d]
        check(data and data[-1] == b"[DONE]" and data.count(b"[DONE]") == 1, f"a stream ends with {data[-2:]}")
        check(len(reasons) + len(errors) == 1, f"a stream has the ends {reasons} and {errors}")
        self.load.add("ended with an error" if errors else "streams")

    def answer(self, r, kind):
        if kind == "whole":
            choice = json.loads(r.read())["choices"][0]
            check(choice["finish_reason"], f"an answer without a finish reason: {choice}")
            self.load.add("whole answers")
        elif kind == "stream":
            self.check_end(events(r, 0))
        else:
            events(r, self.rnd.randrange(1, 30))
            if kind == "cancel":
                target = f"/v1/stream/{r.getheader('X-Conversation-Id')}"
                check(send(self.load.daemon, "DELETE", target).status in (204, 404), "delete")
            r.keeps.close()
            self.load.add({"leave": "left", "cancel": "cancelled"}[kind])

    def ask(self):
        """Asks until it is answered."""
        kind = self.rnd.choice(["stream", "stream", "whole", "leave", "cancel"])
        body, begin = self.body(stream=kind != "whole", durable=kind == "cancel"), time.monotonic()
        while True:
            n_start = self.load.n_start
            try:
                r = send(self.load.daemon, "POST", "/v1/completions", body)
                if r.status == 200:
                    self.answer(r, kind)
                    break
                text = r.read()
                # a model during whose loading the daemon was killed twice is in quarantine for a minute
                check(r.status in (429, 503) or b"quarantine" in text, f"{r.status}: {text[:300]}")
                self.load.add("refused")
                time.sleep(0.1)
            except (OSError, http.client.HTTPException, ValueError) as e:
                check(n_start % 2 or self.load.n_start != n_start, f"{kind}: {e!r}, but the daemon runs")
                self.load.add("lost with the daemon")
                time.sleep(0.05)
            check(time.monotonic() - begin < WAIT_S, f"{kind}: no answer within {WAIT_S} s")
        with self.load.lock:
            self.load.longest = max(self.load.longest, time.monotonic() - begin)

    def run(self):
        try:
            while self.load.runs():
                self.ask()
                time.sleep(self.rnd.uniform(0, 0.3))  # reads the answer; nothing depends on its length
        except Exception as e:
            self.load.fault = self.load.fault or e


def metrics(daemon):
    out = {}
    for line in send(daemon, "GET", "/metrics").read().decode().splitlines():
        if not line.startswith("#"):
            out[line.split("{")[0].split()[0]] = float(line.split()[-1])
    return out


def restart(load, rnd):
    load.n_start += 1
    load.daemon.end(rnd.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
    load.daemon.start()
    load.n_start += 1
    load.add("restarts")


def wait_until_empty(daemon):
    """Unloads the models and waits until nothing is left of the clients."""
    end = time.monotonic() + WAIT_S
    while True:
        for m in MODELS:
            daemon.ctl("unload", m)
        now = metrics(daemon)
        left = {k: now[k] for k in ("llamad_requests_running", "llamad_requests_waiting", "llamad_kv_pages_used",
                                    "llamad_models_loaded", "llamad_calls_waiting") if now[k]}
        if not left:
            return
        check(time.monotonic() < end, f"left at the end: {left}")
        time.sleep(0.1)  # asks again; nothing depends on its length


def run(daemon, seconds, rnd):
    begin = time.monotonic()
    load = Load(daemon, begin + seconds)
    clients = [Client(load, rnd.random()) for _ in range(CLIENTS)]
    for c in clients:
        c.start()
    pace, next_end, sizes = min(seconds, 120), min(seconds, 120) / 8, []
    while load.runs():
        time.sleep(min(1, seconds / 20))  # the pace of the test
        past = time.monotonic() - begin
        if past < seconds / 2 and past > next_end:
            restart(load, rnd)
            next_end = time.monotonic() - begin + rnd.uniform(0.05, 0.15) * pace
        elif rnd.random() < 0.2:
            daemon.ctl("unload", rnd.choice(MODELS))  # refused while it is in use
            load.add("unloads")
        if past > seconds * 0.6:
            sizes.append(resident_kb(daemon.process.pid))
    sizes.append(resident_kb(daemon.process.pid))
    for c in clients:
        c.join()
    if load.fault:
        raise load.fault
    print(", ".join(f"{v} {k}" for k, v in sorted(load.count.items())) + f"; the longest wait was {load.longest:.1f} s")
    early, late = max(sizes[:len(sizes) // 2 + 1]), max(sizes[len(sizes) // 2:])
    print(f"memory: {early} kB, then {late} kB")
    # a short run has few samples, of which one may be of a load
    bound = early + early // 20 + 4096 if seconds >= 60 else SHORT_KB
    check(late < bound, f"memory grows: {sizes} kB")
    for what in ("streams", "whole answers", "left", "cancelled", "restarts"):
        check(load.count[what], f"there were no {what}")


def main():
    build, folder, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    rnd = random.Random(int(sys.argv[4]))
    daemon = Daemon(build, folder, CONF)
    daemon.start()
    try:
        for m in MODELS:
            check(not daemon.ctl("add", m, f"{folder}/{m}.gguf").returncode, "add")
        run(daemon, seconds, rnd)
        wait_until_empty(daemon)
        daemon.end(signal.SIGTERM)
    finally:
        if daemon.process.poll() is None:
            daemon.process.kill()


restarts.run(main, sys.argv[2])

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage_kills.py BUILD DIR ROUNDS SEED: a daemon is killed with SIGKILL again and again while clients spend
the tokens of a key.

After each restart:
  - the registry has every token that a client had got a second before the kill, and none that was not
    made. The second is longer by what the machine itself stalled: the longest fsync beside the daemon,
    and the longest time for which a thread that wants to run every 20 ms did not;
  - a key whose tokens of the day were used up is still refused, and another is not;
  - `llamactl audit verify` accepts the audit log. In some rounds its last line is incomplete, as a kill
    in the middle of a write leaves it; the log then says that it was repaired.

Prints the largest loss and exits with 1 at the first fault."""
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

BOUND_S = 1.0
STEP_S = 0.002
CLIENTS = 3
WORD = "Hello"


class Fault(Exception):
    pass


class Stalls:
    """How long the machine let threads and the disk wait since the last reset."""

    def __init__(self, path):
        self.path, self.worst_run, self.worst_sync = path, 0.0, 0.0
        for work in (self.run, self.sync):
            threading.Thread(target=work, daemon=True).start()

    def reset(self):
        self.worst_run = self.worst_sync = 0.0

    def run(self):
        last = time.monotonic()
        while True:
            time.sleep(0.02)
            now = time.monotonic()
            self.worst_run = max(self.worst_run, now - last - 0.02)
            last = now

    def sync(self):
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
        while True:
            begin = time.monotonic()
            os.pwrite(fd, b"x", 0)
            os.fsync(fd)
            self.worst_sync = max(self.worst_sync, time.monotonic() - begin)
            time.sleep(0.05)

    def seconds(self):
        return self.worst_run + self.worst_sync


class Daemon:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.url, self.state = f"ipc://{folder}/sock", f"{folder}/state"
        self.process = self.port = None

    def ctl(self, *words, status=0):
        r = subprocess.run([f"{self.build}/llamactl", "--socket", self.url, *words], text=True,
                           capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
        if status is not None and r.returncode != status:
            raise Fault(f"llamactl {' '.join(words)}: status {r.returncode}: {r.stderr}")
        return r

    def start(self):
        env = dict(os.environ, LLAMAD_NULL_STEP_US=str(int(STEP_S * 1e6)))
        with open(f"{self.folder}/log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [f"{self.build}/llamad", "--socket", self.url, "--state-dir", self.state, "--backend",
                 "null", "--http", "127.0.0.1:0"], env=env, stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while self.ctl("ping", status=None).returncode:
            if self.process.poll() is not None or time.monotonic() > end:
                raise Fault("the daemon does not start: " + self.log())
            time.sleep(0.02)  # asks again; nothing depends on its length
        for line in self.log().splitlines():
            if "ready on http://127." in line:
                self.port = int(line.rsplit(":", 1)[1])

    def log(self):
        with open(f"{self.folder}/log", encoding="utf-8") as f:
            return f.read()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def used(self):
        """Tokens of answers and of prompts of the key, as the registry has them."""
        rows = json.loads(self.ctl("usage", "--json", "--key", "app").stdout)
        rows = rows.get("usage", rows) if isinstance(rows, dict) else rows
        return sum(r["n_out"] for r in rows), sum(r["n_prompt"] for r in rows)


class Client(threading.Thread):
    """Asks for answers until it is stopped; notes when it got how many tokens."""

    def __init__(self, port, key, seed):
        super().__init__(daemon=True)
        self.port, self.key, self.random = port, key, random.Random(seed)
        self.got, self.refused, self.other, self.stopped = [], 0, None, threading.Event()

    def ask(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        body = {"model": "tiny", "prompt": WORD, "stream": True, "return_tokens": True, "ignore_eos": True,
                "n_predict": self.random.randint(5, 400)}
        try:
            c.request("POST", "/completion", json.dumps(body),
                      {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"})
            r = c.getresponse()
            if r.status != 200:
                r.read()
                return r.status
            for line in r:
                if line.startswith(b"data: {"):
                    n = len(json.loads(line[6:]).get("tokens", ()))
                    self.got.append((time.monotonic(), n))
            return 200
        finally:
            c.close()

    def run(self):
        while not self.stopped.is_set():
            try:
                status = self.ask()
            except (OSError, http.client.HTTPException, ValueError):
                return  # the daemon was killed
            if status == 429:
                self.refused += 1
                return
            if status != 200:
                self.other = status
                return

    def tokens(self, until=float("inf")):
        return sum(n for t, n in self.got if t <= until)


def loss_of(clients, killed, n_used):
    """Age at the kill of the oldest token that the registry lacks; 0: it has all."""
    events = sorted(e for c in clients for e in c.got)
    total = 0
    for t, n in events:
        total += n
        if total > n_used:
            return max(0.0, killed - t)
    return 0.0


def break_log(state, rng):
    """As if the kill had come in the middle of a record."""
    with open(f"{state}/audit.log", "ab") as f:
        f.write(b'{"seq":999,"time":"2026-01-01T00:00:00.000Z","event":"load","princ'[:rng.randint(1, 60)])


def check_audit(d, broken):
    d.ctl("audit", "verify", "--state-dir", d.state)
    lines = d.ctl("audit", "export", "--state-dir", d.state).stdout.splitlines()
    n = sum(json.loads(x)["event"] == "audit_repaired" for x in lines)
    if n != broken:
        raise Fault(f"the audit log was repaired {broken} times and says so {n} times")


def spend(d, key, rng, stalls):
    """Clients work for a random time; returns them and the moment of the kill."""
    clients = [Client(d.port, key, rng.random()) for _ in range(CLIENTS)]
    stalls.reset()
    for c in clients:
        c.start()
    time.sleep(rng.uniform(0.05, 2.0))  # the moment of the kill: any will do
    killed = time.monotonic()
    d.kill()
    for c in clients:
        c.stopped.set()
        c.join(60)  # what the kernel still has for them
        if c.other:
            raise Fault(f"a client got status {c.other}")
    return clients, killed


def check_quota(d, key, limit):
    """The key may go on exactly if it has tokens left today."""
    used = sum(d.used())
    status = Client(d.port, key, 0).ask()
    want = 429 if used >= limit else 200
    if status != want:
        raise Fault(f"{used} of {limit} tokens are used, but the status is {status}, not {want}")
    return want == 429


def main(build, folder, rounds, seed):
    rng = random.Random(seed)
    d = Daemon(build, folder)
    stalls = Stalls(f"{folder}/sync")
    worst = broken = n_refused = n_tokens = 0
    d.start()
    d.ctl("add", "tiny", f"{folder}/tiny.gguf")
    key = d.ctl("key", "add", "app").stdout.split()[-1]
    d.ctl("load", "tiny")
    for i in range(rounds):
        before, prompts = d.used()
        limit = before + prompts + rng.randint(1, 1200) if i % 3 == 2 else 0
        d.ctl("key", "set", "app", "--tpd", str(limit))
        clients, killed = spend(d, key, rng, stalls)
        bound = BOUND_S + stalls.seconds()
        if i % 4 == 3:
            break_log(d.state, rng)
            broken += 1
        d.start()
        d.ctl("load", "tiny")  # a model that was being loaded at two kills is in quarantine
        check_audit(d, broken)
        n_used = d.used()[0] - before
        got = sum(c.tokens() for c in clients)
        loss = loss_of(clients, killed, n_used)
        n_tokens += got
        worst = max(worst, loss)
        if loss > bound:
            raise Fault(f"round {i}: the usage lacks tokens of {loss:.3f} s before the kill, more than "
                        f"{bound:.3f} s ({n_used} of {got})")
        if n_used > got + CLIENTS * BOUND_S / STEP_S:
            raise Fault(f"round {i}: {n_used} tokens are counted, but clients got {got}")
        if limit:
            n_refused += check_quota(d, key, limit)
    d.ctl("shutdown")
    if d.process.wait() != 0:
        raise Fault("the daemon ended with an error")
    d.ctl("audit", "verify", "--state-dir", d.state)
    if not n_tokens or (rounds >= 20 and not n_refused):
        raise Fault(f"{n_tokens} tokens and {n_refused} used-up quotas: nothing was tested")
    print(f"{rounds} kills, {n_tokens} tokens, at most {worst * 1000:.0f} ms of usage lost, "
          f"{n_refused} quotas used up, {broken} logs repaired")


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    except Fault as e:
        print(f"FAIL: seed {sys.argv[4]}: {e}")
        sys.exit(1)

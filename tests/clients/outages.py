#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills, stops and restarts a daemon while clients use it.

usage: outages.py BUILD FOLDER ROUNDS SEED MODEL NAME=COMMAND...

Each COMMAND is a client that generates the same text.  In every round all of them run, and when one has
printed a random number of bytes, something happens to the daemon.  Each client has to end: with status 0
and the whole text, or with status 1 and an error message.  After the round the daemon must serve again."""
import os
import random
import shlex
import signal
import subprocess
import sys
import time

#: The longest time-out of a client is 30 s, plus 5 s to connect.
CLIENT_S = 90
START_S = 60


class Daemon:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.socket = folder + "/sock"
        self.url = "ipc://" + self.socket
        self.process = None

    def ctl(self, *args):
        return subprocess.run([self.build + "/llamactl", "--socket", self.url, *args],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=CLIENT_S)

    def start(self):
        with open(self.folder + "/log", "ab") as log:
            self.process = subprocess.Popen(
                [self.build + "/llamad", "--socket", self.url, "--state-dir", self.folder + "/state"],
                stderr=log)
        end = time.monotonic() + START_S
        while self.ctl("ping").returncode:
            assert self.process.poll() is None, "the daemon ended with %d" % self.process.returncode
            assert time.monotonic() < end, "the daemon does not get ready"
            time.sleep(0.05)  # asks again; nothing depends on its length

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, number):
        self.signal(number)
        return self.process.wait(CLIENT_S)


# ---- what happens to the daemon ----

def killed(daemon, rng):
    daemon.end(signal.SIGKILL)
    daemon.start()


def gone(daemon, rng):
    """Started again when all clients have ended."""
    daemon.end(signal.SIGKILL)
    return daemon.start


def stopped(daemon, rng):
    daemon.signal(signal.SIGSTOP)
    time.sleep(rng.random())  # any length must do
    daemon.signal(signal.SIGCONT)


def restarted(daemon, rng):
    status = daemon.end(signal.SIGTERM)
    assert status == 0, "the daemon ended with %d after SIGTERM" % status
    daemon.start()


def unlinked(daemon, rng):
    """The socket file is gone; clients that are connected go on."""
    os.unlink(daemon.socket)

    def then():
        daemon.end(signal.SIGTERM)
        daemon.start()
    return then


OUTAGES = [killed, gone, stopped, restarted, unlinked]


def read(pipe, n):
    """Reads n bytes, or fewer at the end.  The pipe has no buffer, which communicate() would miss."""
    out = b""
    while len(out) < n:
        more = pipe.read(n - len(out))
        if not more:
            break
        out += more
    return out


def one_round(daemon, rng, outage, clients, want):
    running = {name: subprocess.Popen(shlex.split(command), stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, bufsize=0)
               for name, command in clients.items()}
    watched = rng.choice(sorted(running))
    head = {watched: read(running[watched].stdout, rng.randrange(len(want)))}
    then = outage(daemon, rng)
    n_done = 0
    for name, p in running.items():
        try:
            out, err = p.communicate(timeout=CLIENT_S)
        except subprocess.TimeoutExpired:
            p.kill()
            raise AssertionError("%s: %s: hangs" % (outage.__name__, name)) from None
        out = head.get(name, b"") + out
        text = err.decode(errors="replace").strip()
        assert p.returncode in (0, 1), "%s: %s: status %d: %s" % (outage.__name__, name, p.returncode, text)
        if p.returncode == 0:
            assert out.strip() == want, "%s: %s: another text: %r" % (outage.__name__, name, out)
            n_done += 1
        else:
            assert text, "%s: %s: fails without a message" % (outage.__name__, name)
            print("  %s: %s" % (name, text.splitlines()[-1][:200]))
    if then:
        then()
    return n_done


def main():
    build, folder, rounds, seed, model = sys.argv[1:6]
    clients = dict(a.split("=", 1) for a in sys.argv[6:])
    rng = random.Random(int(seed))
    daemon = Daemon(build, folder)
    daemon.start()
    try:
        p = daemon.ctl("add", "full", model)
        assert p.returncode == 0, p.stderr
        want = subprocess.run(shlex.split(clients["llamactl"]), stdout=subprocess.PIPE, check=True,
                              timeout=CLIENT_S).stdout.strip()
        for i in range(int(rounds)):
            outage = OUTAGES[i % len(OUTAGES)] if i < len(OUTAGES) else rng.choice(OUTAGES)
            n = one_round(daemon, rng, outage, clients, want)
            print("round %d: %s: %d of %d clients got the whole text" %
                  (i, outage.__name__, n, len(clients)))
            p = subprocess.run(shlex.split(clients["llamactl"]), stdout=subprocess.PIPE,
                               timeout=CLIENT_S)
            assert p.stdout.strip() == want, "%s: not served afterwards" % outage.__name__
        status = daemon.end(signal.SIGTERM)
        assert status == 0, "the daemon ended with %d" % status
    except AssertionError as e:
        print("FAIL: seed %s: %s" % (seed, e))
        return 1
    finally:
        daemon.process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())

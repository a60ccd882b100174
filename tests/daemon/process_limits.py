#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Starts a daemon with little address space or few descriptors, and ends daemons by signals.

usage: process_limits.py BUILD FOLDER MODEL

With little of something the daemon must either fail with an error message or work.  It has to end: at
most 2 s after SIGTERM if it is idle, drain + 1 s with running generations, 1 s after a second signal.
These times are checked with LMD_TEST_LONG=1, which also tries more limits."""
import os
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tally import check, finish  # noqa: E402

LONG = bool(os.environ.get("LMD_TEST_LONG"))
PATIENCE_S = 60
DRAIN_S = 2


class Daemon:
    """A daemon that has become ready, or has ended with `status`."""

    def __init__(self, build, folder, limits=()):
        self.build, self.url = build, "ipc://" + folder + "/sock"
        self.log = folder + "/log"

        def restrict():
            for what, value in limits:
                resource.setrlimit(what, (value, value))
        with open(folder + "/llamad.conf", "w") as f:
            f.write("[daemon]\ndrain = %ds\n[engine]\nbackend = null\n" % DRAIN_S)
        os.chmod(folder + "/llamad.conf", 0o600)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [build + "/llamad", "--socket", self.url, "--state-dir", folder + "/state",
                 "--config", folder + "/llamad.conf"], stderr=log, preexec_fn=restrict)
        end = time.monotonic() + PATIENCE_S
        self.ready = False
        while self.process.poll() is None and not self.ready and time.monotonic() < end:
            self.ready = self.ctl("ping").returncode == 0
        self.status = self.process.poll()

    def ctl(self, *args):
        return subprocess.run([self.build + "/llamactl", "--socket", self.url, *args],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def stream(self):
        """A client whose generation lasts until somebody ends it; it has received something."""
        p = subprocess.Popen([self.build + "/llamactl", "--socket", self.url, "generate", "m", "-p", "x",
                              "--ignore-eos", "-n", "1000000", "--hold", "0ms"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        p.stdout.read(1)
        return p

    def end(self, what, within, signals=1):
        begin = time.monotonic()
        for i in range(signals):
            self.process.send_signal(signal.SIGTERM)
            if i + 1 < signals:  # the second one is not merged with the first
                while "stopping" not in self.text() and self.process.poll() is None:
                    pass
        try:
            status = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            check(what + ": ends", False)
            return
        took = time.monotonic() - begin
        check(what + ": status", status == 0, "%d: %s" % (status, self.text()[-300:]))
        if LONG:
            check(what + ": time", took < within, "%.2f s, at most %.2f s" % (took, within))
        print("%s: ended after %.2f s" % (what, took))

    def text(self):
        with open(self.log, errors="replace") as f:
            return f.read()


def limited(build, folder, what, name, value, unit=1):
    d = Daemon(build, folder, [(what, value * unit), (resource.RLIMIT_CORE, 0)])
    label = "%s %d" % (name, value)
    if d.ready:
        d.end(label, 2)
        return
    if d.status is None:
        d.process.kill()
        d.process.wait()
    lines = d.text().strip().splitlines()
    check(label + ": ends with an error", d.status == 1, "status %s" % d.status)
    check(label + ": names the limit", lines and ("ulimit" in lines[-1] or "memory" in lines[-1]),
          lines[-1] if lines else "nothing on standard error")


def main():
    build, folder, model = sys.argv[1:4]
    space = range(100, 301, 10) if LONG else (110, 150, 180, 300)
    files = range(20, 65, 4) if LONG else (20, 40, 64)
    if "-fsanitize" not in os.environ.get("LMD_TEST_SAN", ""):  # shadow memory needs terabytes
        for v in space:
            limited(build, folder, resource.RLIMIT_AS, "address space in MiB", v, 1 << 20)
    for n in files:
        limited(build, folder, resource.RLIMIT_NOFILE, "descriptors", n)
    d = Daemon(build, folder)
    d.end("idle", 2)
    d = Daemon(build, folder)
    check("add", d.ctl("add", "m", model).returncode == 0)
    check("load", d.ctl("load", "m", "--ctx", "1M").returncode == 0)
    clients = [d.stream() for _ in range(4)]
    d.end("four streams", DRAIN_S + 1)
    for c in clients:
        c.communicate()
    d = Daemon(build, folder)
    check("load", d.ctl("load", "m", "--ctx", "1M").returncode == 0)
    clients = [d.stream() for _ in range(4)]
    d.end("a second signal", 1, signals=2)
    for c in clients:
        c.communicate()
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM):
        if number == signal.SIGUSR1:
            d = Daemon(build, folder)
        d.process.send_signal(number)
        check("%s is ignored" % number.name, d.ctl("ping").returncode == 0)
    d.end("after other signals", 2)
    finish("limits of the process")


if __name__ == "__main__":
    main()

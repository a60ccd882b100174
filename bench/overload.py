#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""overload.py BUILD MODEL.gguf [SECONDS [TIMES]]: what a daemon still answers when it is asked for too much.

A private daemon with room for 16 generations and 16 that wait. Its capacity is measured first, by a closed loop of 16
clients. Then requests come at that rate for up to a minute, and for SECONDS (60) at TIMES (3) times that rate, whether
they are answered or not. A request is good if its first token comes within 4 times the time in which the closed loop had
95 % of them, plus the time that the queue takes, and its tokens on average at most 4 times as far apart.

Prints for each load what was answered, good and refused, how soon, and the daemon's memory. The exit status is 1 if

- fewer requests are good per second than 90 % of those of the closed loop,
- a request fails otherwise than by a refusal that says when to try again, or
- the daemon's memory grows by more than a tenth from the first load to the last."""
import json
import subprocess
import sys

from private_daemon import PrivateDaemon

RUNNING = WAITING = 16
REQUEST = ["-p", "100", "-n", "64"]
CONF = f"""[engine]
ctx = 512
draft_max = 0
[limits]
max_running = {RUNNING}
max_running_per_user = {RUNNING}
queue = {WAITING}
queue_per_user = {WAITING}
"""


def load(daemon, *words):
    run = subprocess.run([f"{daemon.build}/llamactl", "bench", "serve", "m", "--url", f"unix:{daemon.folder}/http",
                          "--json", *REQUEST, *words], capture_output=True, text=True, check=False)
    if not run.stdout:
        sys.exit(run.stderr)
    return json.loads(run.stdout)


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def line(name, r, rate, good, memory):
    print(f"{name:<14}{rate:>9.1f}{r['requests_per_s']:>12.2f}{good:>8.2f}{r['refused']:>9}{r['failed'] - r['refused']:>8}"
          f"{r['first_token_ms']['p95']:>12.1f}{r['between_tokens_ms']['p95']:>12.1f}{r['refusal_ms']['p99']:>12.1f}"
          f"{memory:>11}", flush=True)


def main():
    build, model = sys.argv[1:3]
    seconds, times = (float(v) for v in (sys.argv[3:] + ["60", "3"][len(sys.argv) - 3:]))
    daemon = PrivateDaemon(build, "--http", "unix:{folder}/http", conf=CONF)
    bad = []
    print(f"{'load':<14}{'asked/s':>9}{'answered/s':>12}{'good/s':>8}{'refused':>9}{'failed':>8}{'first p95':>12}"
          f"{'between p95':>12}{'refusal p99':>12}{'memory kB':>11}")
    with daemon:
        daemon.ctl("add", "m", model)
        load(daemon, "--clients", "2", "-r", "8")
        peak = load(daemon, "--clients", str(RUNNING), "-r", str(RUNNING * 8))
        rate = peak["requests_per_s"]
        first = 4 * peak["first_token_ms"]["p95"] + WAITING / rate * 1000
        goal = ["--good-first", f"{first:.0f}ms", "--good-between", f"{4 * peak['between_tokens_ms']['mean']:.0f}ms"]
        before = resident_kb(daemon.pid)
        line("closed loop", peak, rate, rate, before)
        for name, factor in ("its rate", 1.0), (f"{times:g} times", times):
            n = max(1, round(rate * factor * (seconds if factor > 1 else min(seconds, 60))))
            r = load(daemon, "--rate", f"{rate * factor:.3f}", "-r", str(n), "--clients", "1024", *goal)
            line(name, r, rate * factor, r["good_per_s"], resident_kb(daemon.pid))
            if factor > 1 and r["good_per_s"] < 0.9 * rate:
                bad.append(f"{name}: {r['good_per_s']:.2f} good requests per second are less than 90 % of {rate:.2f}")
            if r["failed"] > r["refused_with_retry_after"]:
                bad.append(f"{name}: {r['failed'] - r['refused_with_retry_after']} requests failed in another way")
        if resident_kb(daemon.pid) > 1.1 * before:
            bad.append(f"memory: {before} kB before, {resident_kb(daemon.pid)} kB after")
    print("\n".join(bad) if bad else "kept: goodput, refusals, memory")
    sys.exit(bool(bad))


main()

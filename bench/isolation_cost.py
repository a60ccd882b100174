#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""isolation_cost.py BUILD MODEL.gguf [TOKENS [ROUNDS]]: the cost of a model's own process.

A private daemon has the model twice, in its own process and in another one, and generates TOKENS tokens with
both in turns. Prints the processor time per token of all processes together, so that other load of the machine
matters little: the medians, the median of the differences between neighbours, and the interval in which it lies
with 95 % probability (by the ranks of the differences)."""
import json
import os
import subprocess
import sys
import tempfile
import time

build, model = sys.argv[1:3]
tokens, rounds = (int(v) for v in (sys.argv[3:] + ["200", "20"][len(sys.argv) - 3:]))
temporary = tempfile.TemporaryDirectory()
folder = temporary.name
url = f"ipc://{folder}/sock"
with open(f"{folder}/conf", "w", encoding="utf-8") as f:
    f.write("[engine]\nthreads = 1\nctx = 1024\n[model plain]\nkeep_alive = 0\n"
            "[model isolated]\nkeep_alive = 0\nisolation = process\n")


def ctl(*words, check=True):
    return subprocess.run([f"{build}/llamactl", "--socket", url, *words], capture_output=True, check=check)


def seconds(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as f:
            total += int(f.read().split()[0]) / 1e9
    return total


def run(name, pids):
    before = sum(map(seconds, pids))
    # without guesses: answers are the same in every round
    ctl("generate", name, "-p", "Once upon a time", "-n", str(tokens), "--temp", "0", "--ignore-eos",
        "--draft-max", "0")
    return (sum(map(seconds, pids)) - before) / tokens * 1e6


def median(v):
    v = sorted(v)
    return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2


daemon = subprocess.Popen([f"{build}/llamad", "--socket", url, "--state-dir", f"{folder}/state",
                           "--config", f"{folder}/conf"], stderr=subprocess.DEVNULL)
try:
    while ctl("ping", check=False).returncode:
        if daemon.poll() is not None:
            sys.exit(f"isolation_cost: llamad ended with {daemon.returncode}")
        time.sleep(0.1)
    os.link(model, f"{folder}/again.gguf") if os.stat(model).st_dev == os.stat(folder).st_dev else \
        os.symlink(os.path.realpath(model), f"{folder}/again.gguf")
    ctl("add", "plain", model)
    ctl("add", "isolated", f"{folder}/again.gguf")
    for name in ("plain", "isolated"):
        ctl("generate", name, "-p", "Once upon a time", "-n", "4", "--temp", "0", "--ignore-eos")
    worker = [m["placement"][0]["pid"] for m in json.loads(ctl("ps", "--json").stdout) if m["model"] == "isolated"]
    if not worker or not worker[0]:
        sys.exit("isolation_cost: the model has no process of its own")
    pids = {"plain": [daemon.pid], "isolated": [daemon.pid, worker[0]]}
    time_of = {"plain": [], "isolated": []}
    for i in range(rounds):
        for name in ("plain", "isolated") if i % 2 else ("isolated", "plain"):
            time_of[name].append(run(name, pids[name]))
    more = sorted(b - a for a, b in zip(time_of["plain"], time_of["isolated"]))
    plain, isolated = median(time_of["plain"]), median(time_of["isolated"])
    # the interval of a median by the sign test: ranks from n/2 - 0.98 sqrt(n)
    low = max(0, int(rounds / 2 - 0.98 * rounds ** 0.5))
    print(f"{os.path.basename(model)}: {tokens} tokens, {rounds} pairs; microseconds of processor time per token")
    print(f"in one process {plain:.1f}, isolated {isolated:.1f}; difference {median(more):.1f} "
          f"({median(more) / plain * 100:.2f} %), between {more[low]:.1f} and {more[rounds - 1 - low]:.1f} "
          f"({more[low] / plain * 100:.2f} and {more[rounds - 1 - low] / plain * 100:.2f} %)")
finally:
    daemon.terminate()
    daemon.wait()
    temporary.cleanup()

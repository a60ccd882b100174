#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""journal_cost.py BUILD MODEL.gguf [TOKENS [ROUNDS]]: the cost of durable streams.

A private daemon generates TOKENS tokens without and with --durable, in turns. Prints the processor time
of each of its threads in both cases, so that other load of the machine matters little."""
import os
import subprocess
import sys
import tempfile
import time

build, model = sys.argv[1:3]
tokens, rounds = (int(v) for v in (sys.argv[3:] + ["400", "8"][len(sys.argv) - 3:]))
temporary = tempfile.TemporaryDirectory()
folder = temporary.name
url = f"ipc://{folder}/sock"


def ctl(*words, check=True):
    return subprocess.run([f"{build}/llamactl", "--socket", url, *words], capture_output=True, check=check)


def seconds(pid):
    """Processor time by name of the thread."""
    out = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as f:
            name = f.read().strip()
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as f:
            out[name] = out.get(name, 0) + int(f.read().split()[0]) / 1e9
    return out


daemon = subprocess.Popen([f"{build}/llamad", "--socket", url, "--state-dir", f"{folder}/state", "--threads", "1"],
                          stderr=subprocess.DEVNULL)
try:
    while ctl("ping", check=False).returncode:
        if daemon.poll() is not None:
            sys.exit(f"journal_cost: llamad ended with {daemon.returncode}")
        time.sleep(0.1)
    ctl("add", "m", model)

    def run(*more):
        before = seconds(daemon.pid)
        ctl("generate", "m", "-p", "Once upon a time", "-n", str(tokens), "--temp", "0", "--ignore-eos", *more)
        return {k: v - before.get(k, 0) for k, v in seconds(daemon.pid).items()}

    run()  # loads the model
    plain, durable = [], []
    for _ in range(rounds):
        plain.append(run())
        durable.append(run("--durable"))
    print(f"{'thread':<18}{'plain':>10}{'durable':>10}  microseconds of processor time per token, medians")
    for name in sorted(durable[0]):
        a, b = (sorted(r.get(name, 0) for r in v)[rounds // 2] / tokens * 1e6 for v in (plain, durable))
        if a + b >= 0.1:
            print(f"{name:<18}{a:>10.1f}{b:>10.1f}")
finally:
    daemon.terminate()
    daemon.wait()
    temporary.cleanup()

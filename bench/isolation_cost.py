#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""isolation_cost.py BUILD MODEL.gguf [TOKENS [ROUNDS]]: the cost of a model's own process.

A private daemon has the model twice, in its own process and in another one, and generates TOKENS tokens with
both in turns. Prints the processor time per token of all processes together, so that other load of the machine
matters little: the medians, the median of the differences between neighbours, and the interval in which it lies
with 95 % probability (by the ranks of the differences)."""
import json
import os
import statistics
import sys

from private_daemon import PrivateDaemon, difference, processor_time

build, model = sys.argv[1:3]
tokens, rounds = (int(v) for v in (sys.argv[3:] + ["200", "20"][len(sys.argv) - 3:]))
daemon = PrivateDaemon(build, conf="[engine]\nthreads = 1\nctx = 1024\n[model plain]\nkeep_alive = 0\n"
                                   "[model isolated]\nkeep_alive = 0\nisolation = process\n")


def run(name, pids):
    before = sum(map(processor_time, pids))
    # without guesses: answers are the same in every round
    daemon.ctl("generate", name, "-p", "Once upon a time", "-n", str(tokens), "--temp", "0", "--ignore-eos",
               "--draft-max", "0")
    return (sum(map(processor_time, pids)) - before) / tokens * 1e6


with daemon:
    again = f"{daemon.folder}/again.gguf"
    if os.stat(model).st_dev == os.stat(daemon.folder).st_dev:
        os.link(model, again)
    else:
        os.symlink(os.path.realpath(model), again)
    daemon.ctl("add", "plain", model)
    daemon.ctl("add", "isolated", again)
    for name in ("plain", "isolated"):
        daemon.ctl("generate", name, "-p", "Once upon a time", "-n", "4", "--temp", "0", "--ignore-eos")
    worker = [m["placement"][0]["pid"] for m in json.loads(daemon.ctl("ps", "--json").stdout)
              if m["model"] == "isolated"]
    if not worker or not worker[0]:
        sys.exit("isolation_cost: the model has no process of its own")
    pids_of = {"plain": [daemon.pid], "isolated": [daemon.pid, worker[0]]}
    time_of = {"plain": [], "isolated": []}
    for i in range(rounds):
        for name in ("plain", "isolated") if i % 2 else ("isolated", "plain"):
            time_of[name].append(run(name, pids_of[name]))
    print(f"{os.path.basename(model)}: {tokens} tokens, {rounds} pairs; microseconds of processor time per token")
    print(f"in one process {statistics.median(time_of['plain']):.1f}, isolated "
          f"{statistics.median(time_of['isolated']):.1f}; difference {difference(time_of['plain'], time_of['isolated'])}")

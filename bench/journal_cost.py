#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""journal_cost.py BUILD MODEL.gguf [TOKENS [ROUNDS]]: the cost of durable streams.

A private daemon generates TOKENS tokens without and with --durable, in turns. Prints the processor time per token of
each of its threads and of all together, so that other load of the machine matters little: the medians, and for all
threads the median of the differences between neighbours with its interval of 95 % probability."""
import os
import statistics
import sys

from private_daemon import PrivateDaemon, difference, times_of_threads

build, model = sys.argv[1:3]
tokens, rounds = (int(v) for v in (sys.argv[3:] + ["400", "20"][len(sys.argv) - 3:]))
daemon = PrivateDaemon(build, conf="[engine]\nthreads = 1\nctx = 2048\n")


def run(*more):
    before = times_of_threads(daemon.pid)
    # without guesses: answers are the same in every round
    daemon.ctl("generate", "m", "-p", "Once upon a time", "-n", str(tokens), "--temp", "0", "--ignore-eos",
               "--draft-max", "0", *more)
    return {k: (v - before.get(k, 0)) / tokens * 1e6 for k, v in times_of_threads(daemon.pid).items()}


with daemon:
    daemon.ctl("add", "m", model)
    run()  # loads the model
    kinds = {"plain": [], "durable": []}
    for i in range(rounds):
        for kind in ("plain", "durable") if i % 2 else ("durable", "plain"):
            kinds[kind].append(run(*(["--durable"] if kind == "durable" else [])))
print(f"{os.path.basename(model)}: {tokens} tokens, {rounds} pairs; microseconds of processor time per token")
print(f"{'thread':<18}{'plain':>10}{'durable':>10}")
for name in sorted(kinds["durable"][0]):
    a, b = (statistics.median(r.get(name, 0) for r in v) for v in kinds.values())
    if a + b >= 0.1:
        print(f"{name:<18}{a:>10.1f}{b:>10.1f}")
plain, durable = ([sum(r.values()) for r in v] for v in kinds.values())
print(f"{'all':<18}{statistics.median(plain):>10.1f}{statistics.median(durable):>10.1f}  difference "
      f"{difference(plain, durable)}")

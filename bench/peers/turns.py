# SPDX-License-Identifier: MIT
"""Measuring llamad and llama.cpp in turns: what compare, load and table share.

A round has four runs: llamad, llama.cpp with flash attention, llamad, llama.cpp without flash attention.  Each
run is a process of its own and warms up before it measures.  The processor time of other processes
and the time stolen by the host are recorded for each run.  If they exceed LIMIT in a run, the
round is repeated, at most --repeats times; then its quietest attempt is kept and marked as noisy.
Noisy rounds do not count if there are quiet ones.  Of the two settings of llama.cpp, the one with
the better median counts.  Before each round bench/rates measures what the machine can do at that
time: how fast the same number of threads reads memory and multiplies 8-bit integers.
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import llama_cpp  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.normpath(os.path.join(HERE, "..", ".."))
LIMIT = 0.05  # share of the machine's processor time that other processes and the host may take
LOADS = 3  # loads in one run: a single load is too short for the clock of /proc/stat
TICK = 1 / os.sysconf("SC_CLK_TCK")
OURS, FLASH, PLAIN = "llamad", "llama.cpp flash", "llama.cpp plain"
MACHINE = "machine"  # rows of bench/rates: the tests read_gbs and int8_gops
FIELDS = ("model", "threads", "test", "side", "round", "value", "cpu_s", "foreign", "steal",
          "noisy")


class Watch:
    """Processor time in a block: of our children, and the share that others had of the machine."""

    @staticmethod
    def now():
        with open("/proc/stat", encoding="utf-8") as f:
            v = [int(x) * TICK for x in f.readline().split()[1:9]]
        own = os.times()
        child = own.children_user + own.children_system
        busy = v[0] + v[1] + v[2] + v[5] + v[6]
        return time.monotonic(), busy, v[7], child, child + own.user + own.system

    def __enter__(self):
        self.begin = self.now()
        return self

    def __exit__(self, *_):
        wall, busy, steal, self.cpu_s, own = (y - x for x, y in zip(self.begin, self.now()))
        n = os.cpu_count()
        # /proc/stat counts ticks of each processor, so one tick of each is its resolution.
        self.foreign = max(0.0, busy - own - n * TICK) / (wall * n)
        self.steal = steal / (wall * n)


def child(who, cmd):
    """The JSON that a program prints.  If it fails, this program ends with its message."""
    r = subprocess.run(cmd, capture_output=True, text=True, check=False)
    if r.returncode:
        lines = (r.stderr or r.stdout).strip() or f"exit status {r.returncode}"
        sys.exit(f"{who}: {lines}")
    return json.loads(r.stdout)


def ours(a, model, threads, load):
    cmd = [a.llamactl, "bench", model, "-t", str(threads), "-r", "1", "--json"]
    cmd += ["--load", "-c", str(a.c)] if load else ["-p", str(a.p), "-n", str(a.n),
                                                                  "--seqs", str(a.seqs), "--depth",
                                                                  str(a.depth)]
    rows = child("llamad", cmd + a.ours)
    if any(r.get("threads", threads) != threads for r in rows):
        sys.exit(f"llamad uses {rows[0]['threads']} threads, asked for were {threads}")
    tests = {r["test"]: r["median"] for r in rows}
    if load:
        tests.update(rss=rows[0]["rss"], rss_own=rows[0]["rss_own"])
        return tests, None
    return tests, {k: rows[0][k] for k in ("backend", "threads", "machine")}


def theirs(a, model, threads, load, flash):
    cmd = [sys.executable, os.path.join(HERE, "llama_cpp_run"), a.libs, model, "-t", str(threads),
           "--flash", str(flash)]
    cmd += ["--load", str(a.c)] if load else ["-p", str(a.p), "-n", str(a.n),
                                                       "--seqs", str(a.seqs), "--depth",
                                                       str(a.depth)]
    got = child("llama.cpp", cmd)
    return got["tests"], got["settings"]


def one(a, side, model, threads, load):
    """A run: values by test, processor time and noise."""
    looks = []
    with Watch() as w:
        for _ in range(LOADS if load else 1):
            tests, used = (ours(a, model, threads, load) if side == OURS else
                           theirs(a, model, threads, load, int(side == FLASH)))
            looks.append(tests)
    tests = {k: statistics.median(t[k] for t in looks) for k in looks[0]}
    return {"side": side, "tests": tests, "settings": used, "cpu_s": w.cpu_s,
            "foreign": w.foreign, "steal": w.steal}


def noise(runs):
    return max(r["foreign"] + r["steal"] for r in runs)


def machine_rates(a, threads):
    """What the machine can do now, as rows of one()."""
    with Watch() as w:
        got = child("bench/rates", [a.rates, "-t", str(threads)])
    return {"side": MACHINE, "tests": {k: got[k] for k in ("read_gbs", "int8_gops")},
            "settings": None, "cpu_s": w.cpu_s, "foreign": w.foreign, "steal": w.steal}


def quiet_round(a, number, run, alone=False):
    """run(side) for each side of a round; the quietest of the attempts, and whether it is noisy.
    alone: llama.cpp does not take part."""
    pair = (FLASH, PLAIN) if number % 2 == 0 else (PLAIN, FLASH)
    best = None
    for _ in range(1 + a.repeats):
        sides = (OURS, OURS) if alone else (OURS, pair[0], OURS, pair[1])
        runs = [run(side) for side in sides]
        if best is None or noise(runs) < noise(best):
            best = runs
        if noise(best) <= LIMIT:
            return best, False
    return best, True


def measure(a, model, threads, load=False, alone=False):
    """A row of FIELDS for each value, and the settings of each side."""
    rows, used = [], {}
    for number in range(a.r):
        rates = [] if load else [machine_rates(a, threads)]
        runs, noisy = quiet_round(a, number, lambda side: one(a, side, model, threads, load), alone)
        runs = rates + runs
        for r in runs:
            used[r["side"]] = r["settings"]
            for test, value in r["tests"].items():
                rows.append(dict(zip(FIELDS, (
                    os.path.basename(model), threads, test, r["side"], number, value,
                    round(r["cpu_s"], 3), round(r["foreign"], 4), round(r["steal"], 4),
                    int(noisy)))))
    return rows, used


# ---- medians ----

def smaller_is_better(test):
    return not test.startswith(("pp", "tg"))


def summary(rows, side):
    v = [r["value"] for r in rows if r["side"] == side]
    return {"median": statistics.median(v), "min": min(v), "max": max(v), "n": len(v),
            "cpu_s": statistics.median(r["cpu_s"] for r in rows if r["side"] == side)}


def cells(rows):
    """A cell for each model, number of threads and test; a ratio above 1 means llamad is ahead."""
    out = []
    for key in dict.fromkeys((r["model"], r["threads"], r["test"]) for r in rows
                             if r["side"] != MACHINE):
        mine = [r for r in rows if (r["model"], r["threads"], r["test"]) == key]
        n_round = len({r["round"] for r in mine})
        mine = [r for r in mine if not r["noisy"]] or mine
        less = smaller_is_better(key[2])
        have = [s for s in (FLASH, PLAIN) if any(r["side"] == s for r in mine)] or [OURS]
        side = (min if less else max)(have, key=lambda s: summary(mine, s)["median"])
        x, y = summary(mine, OURS), summary(mine, side)
        ratio = (y["median"] / x["median"] if less else x["median"] / y["median"])
        out.append({"model": key[0], "threads": key[1], "test": key[2], "llamad": x,
                    "llama.cpp": y, "flash": side == FLASH, "ratio": ratio,
                    "alone": side == OURS,
                    "rates": {t: statistics.median(r["value"] for r in found) for t, found in
                              ((t, [r for r in rows if r["side"] == MACHINE and r["test"] == t and
                                    (r["model"], r["threads"]) == key[:2]])
                               for t in ("read_gbs", "int8_gops")) if found},
                    "foreign": max(r["foreign"] for r in mine),
                    "steal": max(r["steal"] for r in mine),
                    "rounds": len({r["round"] for r in mine}), "of_rounds": n_round,
                    "noisy": bool(mine[0]["noisy"])})
    return out


def machine():
    have = {}
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            key, _, value = line.partition(":")
            have.setdefault(key.strip(), value.strip())
    name = have.get("model name", "")
    if "cpu family" in have:
        name += f" (family {have['cpu family']}, model {have.get('model')})"
    flags = " ".join(f for f in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8")
                     if f in have.get("flags", "").split())
    return f"{name}, {os.cpu_count()} processors, {flags}, load {os.getloadavg()[0]:.1f}"


def settings_line(used):
    return f"{used['model']}\n" + "\n".join(
        f"  {side}: " + ", ".join(f"{k} {v}" for k, v in used[side].items())
        for side in (OURS, FLASH, PLAIN) if used.get(side))


def print_cells(found, unit):
    print(f"{'model':34} {'test':>7} {'threads':>7} {'llamad':>9} {'min-max':>15} {'llama.cpp':>9} "
          f"{'min-max':>15} {'flash':>5} {'ratio':>6} {'cpu s':>11} {'foreign':>7} {'steal':>5}")
    for c in found:
        x, y = c["llamad"], c["llama.cpp"]
        scale = 2**20 if c["test"].startswith("rss") else 1
        cpu = "" if smaller_is_better(c["test"]) else f"{x['cpu_s']:.2f}/{y['cpu_s']:.2f}"
        spans = [f"{s['min'] / scale:.1f}-{s['max'] / scale:.1f}" for s in (x, y)]
        print(f"{c['model'][:34]:34} {c['test']:>7} {c['threads']:>7} {x['median'] / scale:9.1f} "
              f"{spans[0]:>15} {y['median'] / scale:9.1f} {spans[1]:>15} "
              f"{'on' if c['flash'] else 'off':>5} {c['ratio']:6.2f} "
              f"{cpu:>11} {c['foreign']:7.2f} {c['steal']:5.2f}"
              + (f"  {c['of_rounds'] - c['rounds']} noisy rounds left out"
                 if c["rounds"] < c["of_rounds"] else "") + ("  NOISY" if c["noisy"] else ""))
    for model, threads, rates in dict.fromkeys((c["model"], c["threads"], tuple(c["rates"].items()))
                                               for c in found if c["rates"]):
        print(f"{model[:34]:34} {threads} threads: the machine reads {dict(rates)['read_gbs']:.1f} "
              f"GB/s, and multiplies 8-bit integers at {dict(rates)['int8_gops']:.0f} GOPS")
    print(f"{unit}; cpu s: processor time of a whole run with loading and warming; foreign, steal: "
          "greatest share of the machine during a run")


# ---- programs and files ----

def options(p, models="+", rounds=5):
    built = os.path.join(TREE, "build", "llamactl")
    if models:
        p.add_argument("models", nargs=models, metavar="MODEL")
    else:
        p.set_defaults(models=[])
    p.add_argument("--llamactl",
                   default="./llamactl" if os.path.exists("./llamactl") else built)
    p.add_argument("--rates", default="./bench/rates" if os.path.exists("./llamactl") else
                   os.path.join(TREE, "build", "bench", "rates"),
                   help="the program bench/rates; made if it is missing")
    p.add_argument("--libs", help="folder of libllama and its backends; default: npm's")
    p.add_argument("-p", type=int, default=512, help="tokens of the prompt")
    p.add_argument("-n", type=int, default=64, help="tokens that are generated")
    p.add_argument("--seqs", type=int, default=1, help="sequences that generate together")
    p.add_argument("--depth", type=int, default=0, help="tokens in the context before a test")
    p.add_argument("-c", type=int, default=2048, help="context where loading is measured")
    p.add_argument("-t", default="1,2", help="threads, with commas between")
    p.add_argument("-r", type=int, default=rounds, help="rounds")
    p.add_argument("--repeats", type=int, default=2, help="repeats of a noisy round")
    p.add_argument("--ours", default="", help="further options of llamactl bench")


def prepare(a):
    """Finds the library and brings the models into the page cache."""
    a.ours = a.ours.split()
    if not os.path.exists(a.rates):
        subprocess.run(["make", "-s", "-C", os.path.dirname(os.path.dirname(a.rates)) or ".",
                        "bench/rates"], check=True, stdout=sys.stderr)
    a.t = [int(t) for t in a.t.split(",")]
    if a.r < 1 or min(a.repeats, a.p, a.n, a.depth) < 0 or a.p + a.n < 1 or a.seqs < 1:
        sys.exit("-r, --seqs and the sum of -p and -n must be at least 1, --repeats, -p, -n and "
                 "--depth at least 0")
    try:
        a.libs = a.libs or llama_cpp.find(fetch=True)
    except llama_cpp.PeerError as e:
        sys.exit(str(e))
    for model in a.models:
        with open(model, "rb") as f:
            while f.read(1 << 24):
                pass


def program(doc, load):
    """compare and load."""
    p = argparse.ArgumentParser(description=doc,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    options(p)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    prepare(a)
    rows, settings = [], []
    for model in a.models:
        for threads in a.t:
            more, used = measure(a, model, threads, load)
            rows += more
            settings.append(dict(used, model=os.path.basename(model)))
    if a.json:
        print(json.dumps({"machine": machine(), "settings": settings, "cells": cells(rows),
                          "runs": rows}))
        return
    print(machine())
    for used in settings:
        print(settings_line(used))
    print_cells(cells(rows), "milliseconds and MiB" if load else "tokens per second")


def commit():
    r = subprocess.run(["git", "-C", TREE, "describe", "--always", "--dirty"],
                       capture_output=True, text=True, check=False)
    return r.stdout.strip() or "unknown"


def write_docs(path, text, begin, end):
    """Replaces what is between two marks, which are lines of the file."""
    with open(path, encoding="utf-8") as f:
        old = f.read()
    if old.count(begin) != 1 or old.count(end) != 1 or old.index(begin) > old.index(end):
        sys.exit(f"{path}: the marks {begin.strip()} and {end.strip()} are not there once each")
    new = old[:old.index(begin) + len(begin)] + text + old[old.index(end):]
    with open(path, "w", encoding="utf-8") as f:
        f.write(new)


def write_csv(path, lines, rows):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.writelines(f"# {line}\n" for line in lines)
        w = csv.DictWriter(f, FIELDS, lineterminator="\n")
        w.writeheader()
        w.writerows(rows)


def read_csv(path):
    with open(path, encoding="utf-8") as f:
        text = f.read().splitlines()
    lines = [t[2:] for t in text if t.startswith("# ")]
    rows = list(csv.DictReader(t for t in text if not t.startswith("# ")))
    for r in rows:
        for k in FIELDS:
            if k not in ("model", "test", "side"):
                r[k] = float(r[k]) if k in ("value", "cpu_s", "foreign", "steal") else int(r[k])
    return lines, rows

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a text in the format of Prometheus, from standard input.

    metrics.py NAME...      these metrics must be there

The rules are those of the text format 0.0.4: the lines of a metric are together, HELP and TYPE come
first and once, no sample occurs twice, and the buckets of a histogram ascend to +Inf, the count."""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:{{({LABEL}(?:,{LABEL})*)}})? (\S+)")
types, helps, samples, ended = {}, set(), {}, set()
current = None


def fail(line, why):
    sys.exit(f"metrics.py: {why}: {line}")


def family(name):
    base = re.sub("_(bucket|sum|count)$", "", name)
    return base if types.get(base) == "histogram" else name


def begin(line, name):
    global current
    if name == current:
        return
    if name in ended:
        fail(line, "the lines of a metric are not together")
    if current:
        ended.add(current)
    current = name


def read(line):
    if line.startswith("# HELP "):
        name = line.split(" ", 3)[2]
        begin(line, name)
        if name in helps or name in types:
            fail(line, "a second HELP, or one after TYPE")
        helps.add(name)
        return
    if line.startswith("# TYPE "):
        _, _, name, kind = line.split(" ")
        begin(line, name)
        if name in types or kind not in ("counter", "gauge", "histogram"):
            fail(line, "a second TYPE, or an unknown one")
        types[name] = kind
        return
    m = SAMPLE.fullmatch(line)
    if not m:
        fail(line, "not a sample")
    name = family(m[1])
    begin(line, name)
    if name not in types:
        fail(line, "a sample without a TYPE")
    labels = tuple(sorted(re.findall(LABEL, m[2] or "")))
    if len({k for k, _ in labels}) != len(labels):
        fail(line, "a label occurs twice")
    if (m[1], labels) in samples:
        fail(line, "a sample occurs twice")
    samples[m[1], labels] = float(m[m.lastindex])


def check_histogram(name):
    series = {}
    for (n, labels), value in samples.items():
        if n == name + "_bucket":
            le = dict(labels)["le"]
            rest = tuple(x for x in labels if x[0] != "le")
            series.setdefault(rest, []).append((float(le), value))
    if not series:
        fail(name, "a histogram without buckets")
    for labels, buckets in series.items():
        counts = [v for _, v in sorted(buckets)]
        if counts != sorted(counts) or sorted(buckets)[-1][0] != float("inf"):
            fail(name, "the buckets do not ascend to +Inf")
        if counts[-1] != samples.get((name + "_count", labels)):
            fail(name, "the count is not that of the last bucket")
        if (name + "_sum", labels) not in samples:
            fail(name, "a histogram without a sum")


def main():
    text = sys.stdin.read()
    if not text.endswith("\n"):
        fail(text[-40:], "the last line does not end")
    for line in text.splitlines():
        if line:
            read(line)
    for name, kind in types.items():
        if kind == "histogram":
            check_histogram(name)
        elif kind == "counter" and not name.endswith("_total"):
            fail(name, "a counter without _total")
    missing = [n for n in sys.argv[1:] if n not in types]
    if missing:
        fail(" ".join(missing), "missing")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The figures of llamactl perplexity, computed once more from the logits of debug logits.

    perplexity_test.py LLAMACTL MODEL OTHER FOLDER

The models are tiny ones of tests/mktiny: token i is the character 32 + i.
"""
import array
import json
import math
import random
import struct
import subprocess
import sys

CTL, MODEL, OTHER, DIR = sys.argv[1:]
N_VOCAB = 96
EXACT = ["--backend", "ref", "--activations", "f32", "--kv-type", "f32"]
failed = passed = 0


def check(what, have, want, relative=1e-5, absolute=1e-9):
    global failed, passed
    if abs(have - want) <= absolute + relative * abs(want):
        passed += 1
    else:
        failed += 1
        print(f"FAIL: {what}: {have}, expected {want}")


def ctl(*words):
    done = subprocess.run([CTL, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"llamactl {' '.join(words)}: {done.stderr}")
    return done.stdout


def ppl(model, *words):
    return json.loads(ctl("perplexity", model, "--json", *EXACT, *words))


def ids(text):
    return [ord(c) - 32 for c in text]


def log_probs(model, tokens):
    """A row of logarithms of probabilities after each token."""
    ctl("debug", "logits", model, "--tokens", ",".join(map(str, tokens)), "-o", f"{DIR}/l.f32", *EXACT)
    v = array.array("f")
    v.frombytes(open(f"{DIR}/l.f32", "rb").read())
    rows = []
    for i in range(len(tokens)):
        row = v[i * N_VOCAB:(i + 1) * N_VOCAB]
        top = max(row)
        total = top + math.log(sum(math.exp(x - top) for x in row))
        rows.append([x - total for x in row])
    return rows


def mean_error(v):
    mean = sum(v) / len(v)
    return mean, math.sqrt(sum((x - mean) ** 2 for x in v) / (len(v) - 1) / len(v))


def percentile(v, p):
    v = sorted(v)
    at = p * (len(v) - 1)
    i = int(at)
    return v[i] + (at - i) * (v[min(i + 1, len(v) - 1)] - v[i])


def scored(text, ctx, step, first, model):
    """(window, row, next token, log probabilities) of every scored token."""
    for at in range(0, len(text) - ctx + 1, step):
        piece = ids(text[at:at + ctx])
        rows = log_probs(model, piece)
        for r in range(first, ctx - 1):
            yield piece[r + 1], rows[r]


def check_ppl(what, have, want_nll):
    mean, error = mean_error(want_nll)
    check(what + ": perplexity", have["perplexity"], math.exp(mean))
    check(what + ": error", have["error"], math.exp(mean) * error, 1e-4)
    check(what + ": scored", have["scored"], len(want_nll))


def main():
    random.seed(11)
    text = "".join(chr(32 + random.randrange(N_VOCAB - 1)) for _ in range(203))
    open(f"{DIR}/text", "w").write(text)
    source = ["--text", f"{DIR}/text", "--ctx", "32"]

    windows = list(scored(text, 32, 32, 16, MODEL))
    check_ppl("windows", ppl(MODEL, *source), [-row[t] for t, row in windows])
    check_ppl("windows, three at a time", ppl(MODEL, *source, "--parallel", "3"),
              [-row[t] for t, row in windows])
    check_ppl("two windows", ppl(MODEL, *source, "--chunks", "2"),
              [-row[t] for t, row in windows[:30]])
    check_ppl("strided", ppl(MODEL, *source, "--stride", "12"),
              [-row[t] for t, row in scored(text, 32, 12, 32 - 1 - 12, MODEL)])
    plain = log_probs(MODEL, ids(text[:100]))
    check_ppl("plain", ppl(MODEL, "--text", f"{DIR}/text", "--plain", "--ctx", "100"),
              [-plain[i][t] for i, t in enumerate(ids(text[1:100]))])

    # two models
    check_ppl("saved", ppl(MODEL, *source, "--save-logits", f"{DIR}/base"),
              [-row[t] for t, row in windows])
    have = ppl(OTHER, "--kl-base", f"{DIR}/base")
    other = list(scored(text, 32, 32, 16, OTHER))
    kld = [sum(math.exp(p) * (p - q) for p, q in zip(base, row))
           for (_, base), (_, row) in zip(windows, other)]
    ratio = [base[t] - row[t] for (t, base), (_, row) in zip(windows, other)]
    delta = [math.exp(row[t]) - math.exp(base[t]) for (t, base), (_, row) in zip(windows, other)]
    same = [base.index(max(base)) == row.index(max(row))
            for (_, base), (_, row) in zip(windows, other)]
    # 16 bits for the saved logarithms
    for name, v in (("kld", kld), ("log_ratio", ratio), ("delta_p", delta)):
        mean, error = mean_error(v)
        check("kl: " + name, have[name]["value"], mean, 1e-3, 2e-5)
        check("kl: error of " + name, have[name]["error"], error, 1e-3, 2e-5)
    mean, error = mean_error(ratio)
    check("kl: ratio", have["perplexity_ratio"]["value"], math.exp(mean), 1e-4)
    check("kl: base", have["perplexity_base"]["value"],
          math.exp(-sum(row[t] for t, row in windows) / len(windows)), 1e-4)
    check("kl: same best", have["same_top"]["value"], sum(same) / len(same), 0)
    for name, p in (("max", 1), ("p99", 0.99), ("median", 0.5), ("p5", 0.05), ("min", 0)):
        check("kl: " + name, have["kld_percentiles"][name], percentile(kld, p), 1e-3, 1e-4)
        check("kl: change of p, " + name, have["delta_p_percentiles"][name],
              percentile(delta, p), 1e-3, 1e-5)
    have = ppl(OTHER, "--kl-base", f"{DIR}/base", "--chunks", "2")
    check("kl, two windows: mean", have["kld"]["value"], mean_error(kld[:30])[0], 1e-3, 2e-5)
    check("kl, two windows: scored", have["scored"], 30)
    check("kl, two windows: windows", have["windows"], 2)
    have = ppl(OTHER, "--kl-base", f"{DIR}/base", "--chunks", "1000")
    check("kl, more windows than there are: scored", have["scored"], len(kld))
    have = ppl(MODEL, "--kl-base", f"{DIR}/base")
    check("kl: with itself", have["kld"]["value"], 0, 0, 1e-6)
    check("kl: the same best token", have["same_top"]["value"], 1, 0)

    # tasks
    def word(n):
        return "".join(chr(33 + random.randrange(N_VOCAB - 12)) for _ in range(n)).replace("_", "x") \
            .replace(",", "y").replace('"', "z")

    def mean_tokens(words, start):
        rows = log_probs(MODEL, ids(words))
        t = ids(words)
        return sum(rows[i - 1][t[i]] for i in range(start, len(t))) / (len(t) - start)

    def common(texts):
        n = 0
        while n < min(map(len, texts)) - 1 and len({x[n] for x in texts}) == 1:
            n += 1
        return max(n, 1)

    def best(texts, starts):
        score = [mean_tokens(x, s) for x, s in zip(texts, starts)]
        return score.index(max(score))

    right, lines = 0, []
    for k in range(9):
        begin, ends, gold = word(5 + k), [word(3 + random.randrange(6)) for _ in range(4)], k % 4
        lines += [begin, str(gold), *ends]
        texts = [f"{begin} {e}" for e in ends]
        right += best(texts, [common(texts)] * 4) == gold
    open(f"{DIR}/hella", "w").write("\n".join(lines) + "\n")
    check("hellaswag", ppl(MODEL, "--hellaswag", f"{DIR}/hella", "--ctx", "64")["right"], right, 0)

    right, lines = 0, ["id,sentence,option1,option2,answer"]
    for k in range(12):
        begin, tail, two, gold = word(6), word(2 + k), [word(3), word(4)], 1 + k % 2
        quoted = k % 3 == 0
        sentence = f'"{begin}, _{tail}"' if quoted else f"{begin}_{tail}"
        lines.append(f"{k},{sentence},{two[0]},{two[1]},{gold}")
        begin += ", " if quoted else ""
        texts = [begin + w + tail for w in two]
        start = [len(begin + w) for w in two] if len(tail) >= 4 else [common(texts)] * 2
        right += best(texts, start) == gold - 1
    open(f"{DIR}/wino", "w").write("\n".join(lines) + "\n")
    have = ppl(MODEL, "--winogrande", f"{DIR}/wino", "--ctx", "64")
    check("winogrande", have["right"], right, 0)
    check("winogrande: tasks", have["tasks"], 12, 0)
    check("winogrande: chance", have["chance"], 0.5, 0)

    def packed(s):
        return struct.pack("<I", len(s)) + s.encode()

    right, tasks = 0, []
    for k in range(7):
        question, answers, gold = word(8), [word(4 + i) for i in range(2 + k)], k % (2 + k)
        labels = [int(i == gold) for i in range(len(answers))]
        tasks.append(packed(question) + struct.pack("<I", len(answers)) +
                     b"".join(map(packed, answers)) + struct.pack(f"<{len(labels)}i", *labels) +
                     struct.pack("<I", 0))
        texts = [f"{question} {a}" for a in answers]
        right += best(texts, [common(texts)] * len(texts)) == gold
    at, offsets = 0, []
    for t in tasks:
        offsets.append(at)
        at += len(t)
    data = struct.pack(f"<{1 + len(tasks)}I", len(tasks), *offsets) + b"".join(tasks)
    open(f"{DIR}/mc", "wb").write(data)
    have = ppl(MODEL, "--multiple-choice", f"{DIR}/mc", "--ctx", "64")
    check("multiple choice", have["right"], right, 0)
    check("multiple choice: chance", have["chance"],
          sum(1 / (2 + k) for k in range(7)) / 7, 1e-9)
    for n in range(1, len(data) - 4, 13):  # cut anywhere in what is read: a sentence
        open(f"{DIR}/cut", "wb").write(data[:n])
        done = subprocess.run([CTL, "perplexity", MODEL, "--multiple-choice", f"{DIR}/cut",
                               "--ctx", "64"], capture_output=True, text=True)
        check(f"cut at {n}", done.returncode, 1, 0)
    print(f"CASES: figures of perplexity: {passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


main()

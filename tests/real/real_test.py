#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs llamactl on real models and evaluates the results with the pack's compare.py.

    real_test.py PACK          PACK: folder with compare.py, cases.json, text.txt

Environment: LMD_TEST_BUILDDIR, LLAMAD_CACHE, LMD_TEST_LONG=1 (all cases; default: a selection),
LMD_TEST_CASES (only cases with this text in "WAY MODEL/CASE"; WAY: batch, step, greedy, perplexity),
LMD_TEST_BACKEND, LMD_TEST_ACTIVATIONS (f32, int16 or int8; determines the tolerances); default: ref with
f32, then cpu with int16.
"""
import json
import math
import os
import subprocess
import sys

FILES = {"smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3": "gemma-3-270m-q4_k_m.gguf"}
# the cases of short runs: a model with a window and one without, each way once
SHORT = {("batch", "smollm2/prose"), ("batch", "gemma3/question"), ("step", "smollm2/question"),
         ("greedy", "smollm2/one-token")}
# long runs compute token by token only cases that are shorter than this
STEP_MAX = 140

pack = sys.argv[1]
build = os.environ.get("LMD_TEST_BUILDDIR", ".")
llamactl = os.path.join(build, "llamactl")
cache = os.environ.get("LLAMAD_CACHE") or os.path.expanduser("~/.cache/llamad/models")
if os.path.isdir(os.path.join(cache, "models")):  # as scripts/fetch-model does
    cache = os.path.join(cache, "models")
long_run = os.environ.get("LMD_TEST_LONG") == "1"
only = os.environ.get("LMD_TEST_CASES", "")
SETTINGS = [("ref", "f32"), ("cpu", "int16")]
if os.environ.get("LMD_TEST_BACKEND") or os.environ.get("LMD_TEST_ACTIVATIONS"):
    SETTINGS = [(os.environ.get("LMD_TEST_BACKEND", "ref"), os.environ.get("LMD_TEST_ACTIVATIONS", "f32"))]
# what compare.py calls rounding that is finer than int8 and coarser than single precision
LIMITS = {"int16": "f16"}
backend, kind = SETTINGS[0]
options = []
out = os.path.join(build, "tests", "real", "got.%d.f32" % os.getpid())
count = {"passed": 0, "failed": 0, "skipped": 0}


def ctl(*args):
    r = subprocess.run([llamactl, *args], capture_output=True)
    if r.returncode:
        raise RuntimeError(r.stderr.decode(errors="replace").strip())
    return r.stdout


def judge(*args):
    r = subprocess.run([sys.executable, os.path.join(pack, "compare.py"), "--as", LIMITS.get(kind, kind), *args],
                       capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError((r.stdout + r.stderr).strip()[-600:])


def tokens(name):
    return subprocess.run([sys.executable, os.path.join(pack, "compare.py"), "tokens", name],
                          capture_output=True, text=True, check=True).stdout.strip()


def logits(name, model, case, *how):
    os.makedirs(os.path.dirname(out), exist_ok=True)
    try:
        ctl("debug", "logits", model, "--tokens", tokens(name), "-o", out, *how, *options)
        judge("check", name, out)
    finally:
        if os.path.exists(out):
            os.remove(out)


def greedy(name, model, case):
    args = ["run", model, "--raw", "-p", case["text"], "-n", "64", "--temp", "0", "--json", "-c", "2048"]
    if case["parse_special"]:
        args.append("--parse-special")
    if not case["add_special"]:
        args.append("--no-special")
    got = json.loads(ctl(*args, *options))
    judge("greedy", name, ",".join(map(str, got["tokens"])))


def perplexity(name, model, want, *how):
    got = json.loads(ctl("perplexity", model, "--text", os.path.join(pack, "text.txt"), "--json",
                         *how, *options))["perplexity"]
    limit = 0.02 if kind == "int8" else 1e-4
    if abs(got / want - 1) > limit:
        raise RuntimeError("perplexity %.4f, expected %.4f" % (got, want))


def run(way, name, fn, *args):
    if only not in "%s %s" % (way, name) or not (long_run or only or (way, name) in SHORT):
        return
    model = os.path.join(cache, FILES[name.split("/")[0]])
    if not os.path.exists(model):
        count["skipped"] += 1
        print("SKIP: %s, %s: %s not found (run scripts/fetch-model)" % (name, way, model))
        return
    try:
        fn(name, model, *args)
        count["passed"] += 1
    except (RuntimeError, ValueError, KeyError) as e:
        count["failed"] += 1
        print("FAIL: %s, %s, %s %s: %s" % (name, way, backend, kind, e))
    sys.stdout.flush()


def main():
    with open(os.path.join(pack, "cases.json")) as f:
        cases = json.load(f)
    with open(os.path.join(pack, "ppl.json")) as f:
        ppl = json.load(f)
    for setting in SETTINGS:
        use(*setting)
        run_all(cases, ppl)
    print("CASES: real models: %(passed)d passed, %(failed)d failed, %(skipped)d skipped" % count)
    return 1 if count["failed"] else 0


def use(*setting):
    global backend, kind, options
    backend, kind = setting
    options = ["--backend", backend, "--activations", kind, "--kv-type", "f32"]


def run_all(cases, ppl):
    for c in cases:
        name = c["model"] + "/" + c["name"]
        run("batch", name, logits, c)
        if c["rows"] <= STEP_MAX:
            run("step", name, logits, c, "--one-by-one")
        if "\0" not in c["text"]:
            run("greedy", name, greedy, c)
    for model in FILES:
        for part, how in (("windows", ()), ("plain", ("--plain",))):
            want = expected_perplexity(ppl[model], part)
            run("perplexity", model + "/" + part, perplexity, want, *how)


def expected_perplexity(p, part):
    nll = p["plain"]["exact"] if part == "plain" else [x for w in p["windows"] for x in w["exact"]]
    return math.exp(sum(nll) / len(nll))


if __name__ == "__main__":
    sys.exit(main())

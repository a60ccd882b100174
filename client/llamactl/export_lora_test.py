#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Merged adapters against the same adapters at run time.

    export_lora_test.py LLAMACTL MODEL SOURCE FOLDER
"""
import array
import json
import os
import random
import subprocess
import sys

CTL, MODEL, SOURCE, DIR = sys.argv[1:]
sys.path[:0] = os.path.join(SOURCE, "tests"), os.path.join(SOURCE, "tests", "fuzz")
import gguf_bytes as g  # noqa: E402
from tally import check, finish  # noqa: E402


def logits(model, *words):
    out = f"{DIR}/l.f32"
    subprocess.run([CTL, "debug", "logits", model, "--tokens", "40,69,76,76,79", "-o", out,
                    "--backend", "ref", "--activations", "f32", "--kv-type", "f32", *words],
                   check=True, stdout=subprocess.DEVNULL)
    v = array.array("f")
    v.frombytes(open(out, "rb").read())
    return v


def apart(a, b):
    return (sum((x - y) ** 2 for x, y in zip(a, b)) / sum(x * x for x in a)) ** 0.5


def adapter(path, base, names, rank, alpha):
    rnd = random.Random(path)
    f = g.File()
    f.keys = [g.Key("general.type", g.STRING, g.text("adapter")),
              g.Key("general.architecture", g.STRING, g.text("llama")),
              g.Key("adapter.type", g.STRING, g.text("lora")),
              g.Key("adapter.lora.alpha", g.F32, g.number(g.F32, alpha))]
    for name in names:
        t = next(t for t in base.tensors if t.name == name)
        k, n = t.dims[:2]
        # an embedding's A has a row for each token
        pairs = (("a", [rank, n]), ("b", [rank, k])) if name.startswith("token_embd") else \
            (("a", [k, rank]), ("b", [rank, n]))
        for part, dims in pairs:
            v = array.array("f", [rnd.uniform(-0.1, 0.1) for _ in range(dims[0] * dims[1])])
            f.tensors.append(g.Tensor(f"{name}.lora_{part}", dims, 0, v.tobytes()))
    open(path, "wb").write(f.emit())


def run(*words):
    return subprocess.run([CTL, *words], capture_output=True, text=True)


base = g.read(MODEL)
q, down = "blk.0.attn_q.weight", "blk.1.ffn_down.weight"
adapter(f"{DIR}/one.gguf", base, [q, down], 3, 6.0)
adapter(f"{DIR}/two.gguf", base, [q, "blk.1.attn_v.weight"], 2, 1.0)
adapter(f"{DIR}/embd.gguf", base, ["token_embd.weight"], 2, 2.0)
plain = logits(MODEL)
sizes = {t.name: sum(t.dims[:2]) for t in base.tensors}
done = run("explain", MODEL, "--backend", "ref", "--json", "--lora", f"{DIR}/one.gguf", "--lora",
           f"{DIR}/two.gguf")
check("explain counts adapters", done.returncode == 0 and json.loads(done.stdout)["memory"]["adapters"]
      == 4 * (3 * (sizes[q] + sizes[down]) + 2 * (sizes[q] + sizes["blk.1.attn_v.weight"])),
      done.stdout + done.stderr)
for label, files in (("one", ["one.gguf"]), ("scaled", ["one.gguf:0.5"]),
                     ("two", ["one.gguf", "two.gguf:-2"]), ("embeddings", ["embd.gguf"])):
    lora = [w for f in files for w in ("--lora", f"{DIR}/{f}")]
    done = run("export-lora", MODEL, *lora, "-o", f"{DIR}/merged.gguf")
    check(label, done.returncode == 0, done.stderr)
    want, have = logits(MODEL, *lora), logits(f"{DIR}/merged.gguf")
    check(f"{label}: changes something", apart(plain, want) > 1e-3)
    check(f"{label}: merged is as at run time", apart(want, have) < 1e-5, apart(want, have))
done = run("export-lora", MODEL, "--lora", f"{DIR}/one.gguf", "--lora", f"{DIR}/one.gguf:-1", "-o",
           f"{DIR}/merged.gguf")
check("there and back", apart(plain, logits(f"{DIR}/merged.gguf")) < 1e-6)
done = run("export-lora", MODEL, "--lora", f"{DIR}/one.gguf", "--type", "q8_0", "-o",
           f"{DIR}/merged.gguf")
check("another type", done.returncode == 0 and "2 of " in done.stdout, done.stderr)
done = run("export-lora", MODEL, "--lora", f"{DIR}/one.gguf", "-o", f"{DIR}/merged.gguf", "--json")
check("export-lora --json", done.returncode == 0 and json.loads(done.stdout) == {
    "path": f"{DIR}/merged.gguf", "changed": 2, "tensors": len(base.tensors)}, done.stdout)
done = run("export-lora", MODEL, "--lora", f"{DIR}/one.gguf", "--type", "q8_0", "-o",
           f"{DIR}/merged.gguf")
merged = g.read(f"{DIR}/merged.gguf")
check("of the changed weights", sorted(t.name for t in merged.tensors if t.kind == 8) == [q, down])
for words, status, say in (
        (["-o", "x"], 2, "--lora"), (["--lora", f"{DIR}/one.gguf"], 2, "-o OUT"),
        (["--lora", f"{DIR}/none.gguf", "-o", f"{DIR}/x"], 1, "none.gguf"),
        (["--lora", MODEL, "-o", f"{DIR}/x"], 1, ""),
        (["--lora", f"{DIR}/one.gguf", "-o", f"{DIR}/x", "--type", "iq1_s"], 1, "iq1_s"),
        (["--lora", f"{DIR}/one.gguf", "-o", f"{DIR}/no/x"], 1, f"{DIR}/no:")):
    done = run("export-lora", MODEL, *words)
    check(f"refused: {words}", done.returncode == status and say in done.stderr, done.stderr)
check("a refused run leaves no file", not os.path.exists(f"{DIR}/x"))
finish("merged adapters")

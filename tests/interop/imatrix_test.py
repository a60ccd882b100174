#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares llamactl imatrix with the forward pass in this file: imatrix_test.py LLAMACTL [OPTION...]

Two small models are generated, a dense one and one with experts, with known inputs.  The forward pass
below follows the formulas of the architecture in double precision and sums the squares of each
weight's input.  Sums and counts must agree within 1e-3 of each tensor's maximum.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

from gguf_file import File

D, FF, HEADS, KV, LAYERS, VOCAB, CTX, EPS, BASE = 32, 48, 4, 2, 2, 259, 16, 1e-5, 10000.0
HEAD = D // HEADS


def make(path, experts, used):
    rng = random.Random(3 + experts)
    f = File()
    f.keys = {"general.architecture": (8, b"llama"), "llama.context_length": (4, 64),
              "llama.embedding_length": (4, D), "llama.block_count": (4, LAYERS),
              "llama.feed_forward_length": (4, FF), "llama.attention.head_count": (4, HEADS),
              "llama.attention.head_count_kv": (4, KV), "llama.rope.dimension_count": (4, HEAD),
              "llama.attention.layer_norm_rms_epsilon": (6, EPS), "llama.rope.freq_base": (6, BASE)}
    if experts:
        f.keys["llama.expert_count"] = (4, experts)
        f.keys["llama.expert_used_count"] = (4, used)
    words = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    f.keys["tokenizer.ggml.model"] = (8, b"llama")
    f.keys["tokenizer.ggml.tokens"] = (9, (8, [w.encode() for w in words]))
    f.keys["tokenizer.ggml.scores"] = (9, (6, [0.0] * VOCAB))
    f.keys["tokenizer.ggml.token_type"] = (9, (5, [2, 3, 3] + [6] * 256))
    for name, i in (("unknown", 0), ("bos", 1), ("eos", 2)):
        f.keys[f"tokenizer.ggml.{name}_token_id"] = (4, i)
    f.keys["tokenizer.ggml.add_bos_token"] = (7, True)
    f.keys["tokenizer.ggml.add_space_prefix"] = (7, False)
    w = {}

    def add(name, *dims, mean=0.0):
        n = math.prod(dims)
        v = struct.unpack(f"<{n}f", struct.pack(f"<{n}f", *(mean + rng.gauss(0, 0.3) for _ in range(n))))
        w[name] = v
        f.tensors[name] = (list(dims), 0, struct.pack(f"<{n}f", *v))

    add("token_embd.weight", D, VOCAB)
    add("output_norm.weight", D, mean=1)
    add("output.weight", D, VOCAB)
    for i in range(LAYERS):
        b = f"blk.{i}."
        add(b + "attn_norm.weight", D, mean=1)
        add(b + "ffn_norm.weight", D, mean=1)
        add(b + "attn_q.weight", D, D)
        add(b + "attn_k.weight", D, KV * HEAD)
        add(b + "attn_v.weight", D, KV * HEAD)
        add(b + "attn_output.weight", D, D)
        stack = (experts,) if experts else ()
        tail = "_exps" if experts else ""
        if experts:
            add(b + "ffn_gate_inp.weight", D, experts)
        add(b + f"ffn_gate{tail}.weight", D, FF, *stack)
        add(b + f"ffn_up{tail}.weight", D, FF, *stack)
        add(b + f"ffn_down{tail}.weight", FF, D, *stack)
    f.write(path)
    return w


class Pass:
    def __init__(self, w, experts, used):
        self.w, self.experts, self.used = w, experts, used
        self.sums, self.counts = {}, {}

    def mul(self, name, x, k, n, expert=None):
        """Multiplies one row by a weight [n, k] and records the row."""
        mats = self.experts if expert is not None else 1
        at = expert or 0
        s = self.sums.setdefault(name, [0.0] * (k * mats))
        c = self.counts.setdefault(name, [0] * mats)
        for j in range(k):
            s[at * k + j] += x[j] * x[j]
        c[at] += 1
        w, begin = self.w[name], at * n * k
        return [sum(w[begin + r * k + j] * x[j] for j in range(k)) for r in range(n)]

    def norm(self, name, x):
        scale = 1 / math.sqrt(sum(v * v for v in x) / D + EPS)
        return [v * scale * g for v, g in zip(x, self.w[name])]

    @staticmethod
    def rope(x, heads, pos):
        for h in range(heads):
            for i in range(0, HEAD, 2):
                a = pos * BASE ** (-i / HEAD)
                p, q = x[h * HEAD + i], x[h * HEAD + i + 1]
                x[h * HEAD + i] = p * math.cos(a) - q * math.sin(a)
                x[h * HEAD + i + 1] = p * math.sin(a) + q * math.cos(a)
        return x

    def ffn(self, b, x):
        if not self.experts:
            return self.glu(b, "", x, None)
        scores = self.mul(b + "ffn_gate_inp.weight", x, D, self.experts)
        top = max(scores)
        p = [math.exp(s - top) for s in scores]
        best = sorted(range(self.experts), key=lambda e: -p[e])[:self.used]
        total = sum(p[e] for e in best)
        out = [0.0] * D
        for e in best:
            out = [o + p[e] / total * v for o, v in zip(out, self.glu(b, "_exps", x, e))]
        return out

    def glu(self, b, tail, x, e):
        g = self.mul(b + f"ffn_gate{tail}.weight", x, D, FF, e)
        u = self.mul(b + f"ffn_up{tail}.weight", x, D, FF, e)
        return self.mul(b + f"ffn_down{tail}.weight",
                        [a / (1 + math.exp(-a)) * c for a, c in zip(g, u)], FF, D, e)

    def run(self, tokens):
        xs = [list(self.w["token_embd.weight"][t * D:t * D + D]) for t in tokens]
        for i in range(LAYERS):
            b, keys, vals = f"blk.{i}.", [], []
            for pos, x in enumerate(xs):
                n = self.norm(b + "attn_norm.weight", x)
                q = self.rope(self.mul(b + "attn_q.weight", n, D, D), HEADS, pos)
                keys.append(self.rope(self.mul(b + "attn_k.weight", n, D, KV * HEAD), KV, pos))
                vals.append(self.mul(b + "attn_v.weight", n, D, KV * HEAD))
                out = []
                for h in range(HEADS):
                    at = h * KV // HEADS * HEAD
                    s = [sum(q[h * HEAD + c] * k[at + c] for c in range(HEAD)) / math.sqrt(HEAD)
                         for k in keys]
                    top = max(s)
                    p = [math.exp(v - top) for v in s]
                    out += [sum(a * v[at + c] for a, v in zip(p, vals)) / sum(p)
                            for c in range(HEAD)]
                o = self.mul(b + "attn_output.weight", out, D, D)
                x = [a + c for a, c in zip(x, o)]
                f = self.ffn(b, self.norm(b + "ffn_norm.weight", x))
                xs[pos] = [a + c for a, c in zip(x, f)]
        for x in xs:
            self.mul("output.weight", self.norm("output_norm.weight", x), D, VOCAB)


def floats(t):
    return struct.unpack(f"<{len(t) // 4}f", t)


def compare(label, path, want):
    got = File.read(path, data=True)
    assert got.keys["general.type"] == (8, b"imatrix") and \
        got.keys["imatrix.chunk_size"] == (4, CTX), got.keys
    names = {n.removesuffix(".in_sum2") for n in got.tensors if n.endswith(".in_sum2")}
    assert names == set(want.sums), names ^ set(want.sums)
    for name, sums in want.sums.items():
        mine = floats(got.tensors[name + ".in_sum2"][2])
        counts = floats(got.tensors[name + ".counts"][2])
        assert list(counts) == want.counts[name], (label, name, counts, want.counts[name])
        assert len(mine) == len(sums), name
        far = max(abs(a - b) for a, b in zip(mine, sums)) / max(sums)
        assert far < 1e-3, (label, name, far)
    print(f"{label}: {len(names)} tensors agree")


def main():
    ctl, more = sys.argv[1], sys.argv[2:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "text")
        open(text, "w").write("Sixteen bytes are a window, and the rest of them is left out.")
        for experts in (0, 4):
            model, out = (os.path.join(folder, n) for n in ("m.gguf", "i.gguf"))
            want = Pass(make(model, experts, 2), experts, 2)
            ids = json.loads(subprocess.run([ctl, "tokenize", model, "--json"], check=True,
                                            stdin=open(text), capture_output=True).stdout)["ids"]
            subprocess.run([ctl, "imatrix", model, "--text", text, "--ctx", str(CTX), "-o", out,
                            "--process-output", *more], check=True, stdout=subprocess.DEVNULL)
            for i in range(len(ids) // CTX):
                want.run([1] + ids[i * CTX + 1:(i + 1) * CTX])
            try:
                compare("experts" if experts else "dense", out, want)
            except AssertionError as e:
                failed += 1
                print("FAIL:", e)
    return 1 if failed else 0


sys.exit(main())

# SPDX-License-Identifier: MIT
"""Compares adapters (PEFT folders, GGUF files) and control vectors with models into which they were
merged.

    adapters_test.py LLAMACTL SOURCE"""

import copy
import json
import math
import os
import struct
import sys
import tempfile

import folders
from folders_test import Tester

RANK, ALPHA = 3, 6.0
BACKENDS = ["cpu", "ref"]

# model, adapted weights (in both layers)
CASES = [
    ("llama", ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
               "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]),
    ("qwen2", ["self_attn.q_proj", "mlp.down_proj"]),
    ("gemma2", ["self_attn.k_proj", "mlp.up_proj"]),
    ("phi3", ["self_attn.qkv_proj", "mlp.gate_up_proj"]),
    ("gpt-neox", ["attention.query_key_value", "mlp.dense_4h_to_h"]),
    ("gpt2", ["attn.c_attn", "mlp.c_proj"]),
]


def matmul(b, a, n, r, k):
    """[n, r] times [r, k]."""
    out = []
    for i in range(n):
        row = [0.0] * k
        for j in range(r):
            f = b[i * r + j]
            for c in range(k):
                row[c] += f * a[j * k + c]
        out.extend(row)
    return out


def pairs_of(model, stems, conv1d):
    """Yields (name of the weight, n, k) for every adapted tensor [n, k]."""
    for name, shape in model["tensors"]:
        if name.endswith(".weight") and any(name.endswith(s + ".weight") for s in stems):
            n, k = (shape[1], shape[0]) if conv1d else shape
            yield name, n, k


def merged(path, model, deltas):
    """Writes the folder with deltas {name: numbers} added to its weights."""
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "config.json"), "w") as f:
        json.dump(model["config"], f)
    tensors = []
    for name, shape in model["tensors"]:
        v = folders.values(name, shape)
        if name in deltas:
            v = [x + y for x, y in zip(v, deltas[name])]
        tensors.append((name, "F32", shape, folders.pack(v, "F32")))
    for name, (shape, v) in deltas.get("more", {}).items():
        tensors.append((name, "F32", shape, folders.pack(v, "F32")))
    folders.write_raw(os.path.join(path, "model.safetensors"), tensors)


def write_peft(path, tensors, **config):
    os.makedirs(path, exist_ok=True)
    base = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "target_modules": []}
    with open(os.path.join(path, "adapter_config.json"), "w") as f:
        json.dump(dict(base, **config), f)
    folders.write_raw(os.path.join(path, "adapter_model.safetensors"), tensors)


def gguf(path, keys, tensors):
    """Writes a GGUF file.  keys: (name, value); tensors: (name, dims, fastest first, numbers)."""
    def text(s):
        return struct.pack("<Q", len(s.encode())) + s.encode()

    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for name, v in keys:
        out += text(name)
        if isinstance(v, str):
            out += struct.pack("<I", 8) + text(v)
        elif isinstance(v, list):
            out += struct.pack("<IIQ", 9, 5, len(v)) + struct.pack(f"<{len(v)}i", *v)
        else:
            out += struct.pack("<If", 6, v) if isinstance(v, float) else struct.pack("<Ii", 5, v)
    data = b""
    for name, dims, v in tensors:
        data += b"\0" * (-len(data) % 32)
        out += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        out += struct.pack("<IQ", 0, len(data))
        data += folders.pack(v, "F32")
    with open(path, "wb") as f:
        f.write(out + b"\0" * (-len(out) % 32) + data)


class Adapters(Tester):
    def logits(self, path, model, *more, backend="cpu"):
        m = dict(model, options=model.get("options", []) + list(more))
        return self.last_row(path, m, backend)

    def same(self, name, a, b, changed_from=None):
        got, why = a
        want, why2 = b
        why = why or why2
        if not why:
            peak = max(abs(v) for v in want)
            diff = max(abs(x - y) for x, y in zip(got, want)) / peak
            why = f"differs by {diff:.1e}" if diff > 1e-4 else ""
            if changed_from and max(abs(x - y) for x, y in zip(got, changed_from)) < 1e-3 * peak:
                why = "the adapter changes nothing"
        self.verdict(name, why)

    def refused(self, name, words, *args):
        r = self.run(*args)
        ok = r.returncode == 1 and all(w in r.stderr for w in words)
        self.verdict(name, "" if ok else f"status {r.returncode}: {r.stderr.strip()[:200]}")


def low_rank(t, tmp):
    for name, stems in CASES:
        model = t.models[name]
        conv1d = name == "gpt2"
        tensors, deltas = [], {}
        for weight, n, k in pairs_of(model, stems, conv1d):
            stem = "base_model.model." + weight[: -len(".weight")]
            a = folders.values(stem + "A", [RANK, k])
            b = folders.values(stem + "B", [n, RANK])
            tensors.append((stem + ".lora_A.weight", "F32", [RANK, k], folders.pack(a, "F32")))
            tensors.append((stem + ".lora_B.weight", "F32", [n, RANK], folders.pack(b, "F32")))
            d = [0.5 * ALPHA / RANK * v for v in matmul(b, a, n, RANK, k)]
            if conv1d:
                d = [d[i * k + j] for j in range(k) for i in range(n)]
            deltas[weight] = d
        base, whole = os.path.join(tmp, name), os.path.join(tmp, name + "-merged")
        lora = os.path.join(tmp, name + "-lora")
        folders.write_folder(base, model)
        merged(whole, model, deltas)
        write_peft(lora, tensors)
        plain = t.logits(base, model)[0]
        for backend in BACKENDS:
            want = t.logits(whole, model, backend=backend)
            t.same(f"{name} on {backend}",
                   t.logits(base, model, "--lora", lora + ":0.5", backend=backend), want, plain)
        # half of the adapter twice equals the whole: two files share their sites
        t.same(f"{name} twice", t.logits(base, model, "--lora", lora + ":0.25", "--lora",
                                         lora + ":0.25"), want)
        file = os.path.join(tmp, name + ".gguf")
        r = t.run("convert", base, file, "--outtype", "f32")
        t.verdict(f"convert {name}", r.stderr.strip())
        t.same(f"{name} on a GGUF file", t.logits(file, model, "--lora", lora + ":0.5"), want)


def dora(t, tmp):
    """Rows of the sum of weight and adapter get the lengths of the adapter (arXiv 2402.09353)."""
    for name, stems in [c for c in CASES if c[0] in ("llama", "qwen2", "phi3", "gpt2")]:
        model = t.models[name]
        conv1d = name == "gpt2"
        shapes = dict(model["tensors"])
        tensors, deltas = [], {}
        for weight, n, k in pairs_of(model, stems, conv1d):
            stem = "base_model.model." + weight[: -len(".weight")]
            a = folders.values(stem + "A", [RANK, k])
            b = folders.values(stem + "B", [n, RANK])
            m = [1 + 4 * abs(v) for v in folders.values(stem + "m", [n])]
            tensors.append((stem + ".lora_A.weight", "F32", [RANK, k], folders.pack(a, "F32")))
            tensors.append((stem + ".lora_B.weight", "F32", [n, RANK], folders.pack(b, "F32")))
            tensors.append((stem + ".lora_magnitude_vector", "F32", [n], folders.pack(m, "F32")))
            base = folders.values(weight, shapes[weight])
            low = matmul(b, a, n, RANK, k)
            d = [0.0] * (n * k)
            for i in range(n):
                at = [j * n + i if conv1d else i * k + j for j in range(k)]
                row = [base[p] + 0.5 * ALPHA / RANK * low[i * k + j] for j, p in enumerate(at)]
                length = math.sqrt(sum(v * v for v in row))
                for j, p in enumerate(at):
                    d[p] = m[i] * row[j] / length - base[p]
            deltas[weight] = d
        base, whole = os.path.join(tmp, name), os.path.join(tmp, name + "-dora-merged")
        lora = os.path.join(tmp, name + "-dora")
        merged(whole, model, deltas)
        write_peft(lora, tensors, use_dora=True)
        plain = t.logits(base, model)[0]
        for backend in BACKENDS:
            want = t.logits(whole, model, backend=backend)
            t.same(f"DoRA of {name} on {backend}",
                   t.logits(base, model, "--lora", lora + ":0.5", backend=backend), want, plain)
        file = os.path.join(tmp, name + ".gguf")
        t.same(f"DoRA of {name} on a GGUF file",
               t.logits(file, model, "--lora", lora + ":0.5"), want)
        out = os.path.join(tmp, name + "-dora.gguf")
        r = t.run("export-lora", file, "-o", out, "--lora", lora + ":0.5")
        t.verdict(f"DoRA of {name} merged", r.stderr.strip() if r.returncode else "")
        t.same(f"DoRA of {name}, merged file", t.logits(out, model), want)
        args = ("debug", "logits", base, "--tokens", "1", "-o", os.path.join(tmp, "o"), "--lora")
        t.refused(f"DoRA of {name} twice", ["DoRA", "combined"], *args, lora, "--lora", lora)
        bad = os.path.join(tmp, "bad-dora")
        write_peft(bad, tensors[:2], use_dora=True)
        t.refused(f"DoRA of {name}, no lengths", ["lora_magnitude_vector", "missing"], *args, bad)
        short = (tensors[2][0], "F32", [3], tensors[2][3][:12])
        write_peft(bad, tensors[:2] + [short], use_dora=True)
        t.refused(f"DoRA of {name}, three lengths", ["3 values"], *args, bad)


def embeddings(t, tmp):
    model = t.models["qwen2"]
    n, k = 48, 64
    stem = "base_model.model.model.embed_tokens"
    a, b = folders.values("ea", [RANK, n]), folders.values("eb", [k, RANK])
    delta = [0.0] * (n * k)
    for v in range(n):
        for i in range(k):
            delta[v * k + i] = sum(b[i * RANK + r] * a[r * n + v] for r in range(RANK)) * 2.0
    base, whole = os.path.join(tmp, "qwen2"), os.path.join(tmp, "embd-merged")
    lora = os.path.join(tmp, "embd-lora")
    merged(whole, model, {"model.embed_tokens.weight": delta})
    write_peft(lora, [
        (stem + ".lora_embedding_A", "F32", [RANK, n], folders.pack(a, "F32")),
        (stem + ".lora_embedding_B", "F32", [k, RANK], folders.pack(b, "F32")),
    ])
    want = t.logits(whole, model)
    t.same("embeddings", t.logits(base, model, "--lora", lora), want)
    # as GGUF, where both are transposed
    keys = [("general.type", "adapter"), ("general.architecture", "qwen2"),
            ("adapter.type", "lora"), ("adapter.lora.alpha", ALPHA)]
    turned = [a[r * n + v] for v in range(n) for r in range(RANK)]
    path = os.path.join(tmp, "embd.gguf")
    gguf(path, keys, [("token_embd.weight.lora_a", [RANK, n], turned),
                      ("token_embd.weight.lora_b", [RANK, k], b)])
    t.same("embeddings, GGUF", t.logits(base, model, "--lora", path), want)


def gguf_adapter(t, tmp):
    model = t.models["qwen2"]
    base, whole = os.path.join(tmp, "qwen2"), os.path.join(tmp, "g-merged")
    deltas, tensors = {}, []
    for il in range(2):
        for ours, theirs, n, k in [("attn_q", "self_attn.q_proj", 64, 64),
                                   ("ffn_down", "mlp.down_proj", 64, 96)]:
            stem = f"blk.{il}.{ours}.weight"
            a, b = folders.values(stem + "a", [RANK, k]), folders.values(stem + "b", [n, RANK])
            tensors += [(stem + ".lora_a", [k, RANK], a), (stem + ".lora_b", [RANK, n], b)]
            deltas[f"model.layers.{il}.{theirs}.weight"] = [
                2 * ALPHA / RANK * v for v in matmul(b, a, n, RANK, k)]
    merged(whole, model, deltas)
    keys = [("general.type", "adapter"), ("general.architecture", "qwen2"),
            ("adapter.type", "lora"), ("adapter.lora.alpha", ALPHA)]
    path = os.path.join(tmp, "a.gguf")
    gguf(path, keys, tensors)
    want = t.logits(whole, model)
    for backend in BACKENDS:
        t.same(f"GGUF on {backend}", t.logits(base, model, "--lora", path + ":2", backend=backend),
               want)
    # active from its tokens on
    for name, at, expected in [("from the first token", model["tokens"][:2], want),
                               ("without its tokens", [2, 1], t.logits(base, model))]:
        gguf(path, keys + [("adapter.alora.invocation_tokens", at)], tensors)
        t.same(f"aLoRA, {name}", t.logits(base, model, "--lora", path + ":2"), expected)
    # errors
    args = ("debug", "logits", base, "--tokens", "1", "-o", os.path.join(tmp, "o"), "--lora")

    def bad(name, words, k=keys, v=tensors):
        p = os.path.join(tmp, "bad.gguf")
        gguf(p, k, v)
        t.refused(name, words, *args, p)

    bad("another architecture", ["llama", "qwen2"], [("general.architecture", "llama")] +
        [x for x in keys if x[0] != "general.architecture"])
    bad("no pair", ["lora_a", "lora_b"], v=tensors[:1])
    bad("another shape", ["does not fit"],
        v=[("blk.0.attn_q.weight.lora_a", [32, RANK], [0.0] * 32 * RANK), tensors[1]])
    bad("another tensor", ["no tensor blk.9.attn_q.weight"],
        v=[("blk.9.attn_q.weight.lora_a", [64, RANK], [0.0] * 64 * RANK),
           ("blk.9.attn_q.weight.lora_b", [RANK, 64], [0.0] * 64 * RANK)])
    bad("strange name", ["lora_a"], v=[("x", [64], [0.0] * 64)])
    bad("empty", ["no adapter pairs"], v=[])
    bad("not lora", ["adapter.type"], [x for x in keys if x[0] != "adapter.type"])
    bad("aLoRA beyond", ["token 4800"], keys + [("adapter.alora.invocation_tokens", [4800])])
    bad("a model", ["neither an adapter"], [("general.architecture", "qwen2")])
    t.refused("no file", ["nothing.gguf"], *args, os.path.join(tmp, "nothing.gguf"))
    t.refused("a device", ["device"], *args, "/dev/zero")
    t.refused("no adapter", ["adapter_config.json"], *args, base)
    lora = os.path.join(tmp, "bad-lora")
    stem = "base_model.model.model.layers.0.self_attn.q_proj"
    pair = [(stem + ".lora_A.weight", "F32", [RANK, 64], folders.pack([0.1] * 64 * RANK, "F32")),
            (stem + ".lora_B.weight", "F32", [64, RANK], folders.pack([0.1] * 64 * RANK, "F32"))]
    for name, words, tensors_, config in [
        ("DoRA without use_dora", ["lora_magnitude_vector"],
         pair + [(stem + ".lora_magnitude_vector", "F32", [64], b"\0" * 256)], {}),
        ("another method", ["peft_type", "IA3"], pair, {"peft_type": "IA3"}),
        ("alpha", ["lora_alpha"], pair, {"lora_alpha": "x"}),
        ("half a pair", ["lora_B"], pair[:1], {}),
        ("a module", ["lora_A"], pair + [("base_model.model.lm_head.weight", "F32", [1],
                                          b"\0\0\0\0")], {}),
        ("no such weight", ["no such weight"],
         [(x[0].replace("q_proj", "z_proj"),) + x[1:] for x in pair], {}),
        ("rows missing", ["does not fit blk.0.attn_q", "63 x 64"],
         [pair[0], (pair[1][0], "F32", [63, RANK], pair[1][3][:63 * RANK * 4])], {}),
        ("rows too many", ["does not fit blk.0.attn_q", "65 x 64"],
         [pair[0], (pair[1][0], "F32", [65, RANK], pair[1][3] + b"\0" * RANK * 4)], {}),
        ("columns missing", ["does not fit blk.0.attn_q", "64 x 63"],
         [(pair[0][0], "F32", [RANK, 63], pair[0][3][:63 * RANK * 4]), pair[1]], {}),
        ("another rank", ["the same rank"],
         [pair[0], (pair[1][0], "F32", [32, 2 * RANK], pair[1][3])], {}),
    ]:
        write_peft(lora, tensors_, **config)
        t.refused(f"PEFT: {name}", words, *args, lora)
    # a weight that is used in several parts
    deep = os.path.join(tmp, "deepseek-v3")
    folders.write_folder(deep, t.models["deepseek-v3"])
    stem = "base_model.model.model.layers.0.self_attn.kv_b_proj"
    write_peft(lora, [(stem + ".lora_A.weight", "F32", [RANK, 16], b"\0" * 4 * 16 * RANK),
                      (stem + ".lora_B.weight", "F32", [160, RANK], b"\0" * 4 * 160 * RANK)])
    t.refused("PEFT: in parts", ["uses parts of this weight"], "debug", "logits", deep, "--tokens", "1", "-o",
              os.path.join(tmp, "o"), "--lora", lora)


def control_vector(t, tmp):
    model = copy.deepcopy(t.models["llama"])
    base, whole = os.path.join(tmp, "llama"), os.path.join(tmp, "cv-merged")
    v = folders.values("cv", [64])
    path = os.path.join(tmp, "cv.gguf")
    gguf(path, [("general.architecture", "controlvector"),
                ("controlvector.model_hint", "llama")], [("direction.1", [64], v)])
    bias = {"more": {"model.layers.1.mlp.down_proj.bias": ([64], [0.75 * x for x in v])}}
    merged(whole, model, bias)
    want = t.logits(whole, model)
    for backend in BACKENDS:
        t.same(f"control vector on {backend}",
               t.logits(base, model, "--control-vector", path + ":0.75", backend=backend), want)
    args = ("debug", "logits", base, "--tokens", "1", "-o", os.path.join(tmp, "o"))
    t.refused("together", ["cannot combine"], *args, "--control-vector", path, "--lora",
              os.path.join(tmp, "llama-lora"))
    gguf(path, [("general.architecture", "controlvector")], [("direction.1", [32], v[:32])])
    t.refused("another width", ["32 values", "must have 64"], *args, "--control-vector", path)
    gguf(path, [("general.architecture", "controlvector")], [("direction.x", [64], v)])
    t.refused("no layer", ["direction.x"], *args, "--control-vector", path)
    gguf(path, [("general.architecture", "controlvector")], [("direction.1", [64], v)])
    t.refused("behind a norm", ["end in a norm"], "debug", "logits",
              os.path.join(tmp, "gemma2"), "--tokens", "1", "-o", os.path.join(tmp, "o"),
              "--control-vector", path)


def main():
    llamactl, source = sys.argv[1:3]
    with open(os.path.join(source, "models.json")) as f:
        models = json.load(f)
    t = Adapters(llamactl, models)
    with tempfile.TemporaryDirectory() as tmp:
        low_rank(t, tmp)
        dora(t, tmp)
        embeddings(t, tmp)
        gguf_adapter(t, tmp)
        control_vector(t, tmp)
    print(f"CASES: adapters: {t.passed} passed, {t.failed} failed, 0 skipped")
    return 1 if t.failed or not t.passed else 0


if __name__ == "__main__":
    sys.exit(main())

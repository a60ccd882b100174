#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that llamactl quantize chooses the same tensor types and keys as llama.cpp's quantiser.

    quantize_types.py --libs DIR [--llamactl PATH] [--quick] [MODEL...]

For each model a skeleton is written: its keys, and its tensors with rows of 256, 96 and 80 values and
two rows each, so that every rule and fallback is tested without encoding a whole model.  Models for
special rules (eight experts, shared values, 80 layers, falcon) are generated.  Every file type is tested
with and without an importance matrix, and some with options.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

from gguf_file import File
from peer_quantize import Peer

FTYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10,
          "Q3_K_S": 11, "Q3_K_M": 12, "Q3_K_L": 13, "Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16,
          "Q5_K_M": 17, "Q6_K": 18, "IQ2_XXS": 19, "IQ2_XS": 20, "Q2_K_S": 21, "IQ3_XS": 22,
          "IQ3_XXS": 23, "IQ1_S": 24, "IQ4_NL": 25, "IQ3_S": 26, "IQ3_M": 27, "IQ2_S": 28,
          "IQ2_M": 29, "IQ4_XS": 30, "IQ1_M": 31, "BF16": 32, "TQ1_0": 36, "TQ2_0": 37,
          "MXFP4_MOE": 38, "NVFP4": 39, "Q1_0": 40, "Q2_0": 41}
TYPE = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q2_k": 10,
        "q3_k": 11, "q4_k": 12, "q5_k": 13, "q6_k": 14, "iq2_xxs": 16, "iq2_xs": 17,
        "iq3_xxs": 18, "iq1_s": 19, "iq4_nl": 20, "iq3_s": 21, "iq2_s": 22, "iq4_xs": 23,
        "i32": 26, "iq1_m": 29, "bf16": 30, "tq1_0": 34, "tq2_0": 35, "mxfp4": 39, "nvfp4": 40,
        "q1_0": 41, "q2_0": 42}


def values(n):
    return struct.pack(f"<{n}f", *(((i * 7919 + i // 5 * 31) % 511 - 255) / 256 for i in range(n)))


def shrink(src, row):
    out = File()
    out.keys = dict(src.keys)
    for name, (dims, _, _) in src.tensors.items():
        while len(dims) > 1 and dims[-1] == 1:
            dims = dims[:-1]
        if len(dims) > 1:
            dims = [row, 2] + dims[2:]
        n = 1
        for d in dims:
            n *= d
        out.tensors[name] = (dims, 0, values(n))
    return out


def made_up(arch, layers, heads, kv, experts=0, tied=False):
    """Generates a transformer of that shape, with everything that a quantiser reads."""
    f = File()
    f.keys = {"general.architecture": (8, arch.encode()), "general.name": (8, b"made up")}
    for name, v in {"context_length": 512, "embedding_length": 256, "block_count": layers,
                    "feed_forward_length": 512, "attention.head_count": heads,
                    "attention.head_count_kv": kv, "rope.dimension_count": 256 // heads,
                    "vocab_size": 256}.items():
        f.keys[f"{arch}.{name}"] = (4, v)
    for name in ("layer_norm_rms_epsilon", "layer_norm_epsilon"):
        f.keys[f"{arch}.attention.{name}"] = (6, 1e-5)
    if experts:
        f.keys[f"{arch}.expert_count"] = (4, experts)
        f.keys[f"{arch}.expert_used_count"] = (4, 2)
        f.keys[f"{arch}.expert_feed_forward_length"] = (4, 512)
    f.keys["tokenizer.ggml.model"] = (8, b"no_vocab")

    def add(name, *dims):
        n = 1
        for d in dims:
            n *= d
        f.tensors[name] = (list(dims), 0, values(n))

    add("token_embd.weight", 256, 4)
    add("output_norm.weight", 256)
    if not tied:
        add("output.weight", 256, 4)
    for i in range(layers):
        b = f"blk.{i}."
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(b + name + ".weight", 256, 2)
        add(b + "attn_norm.weight", 256)
        add(b + "ffn_norm.weight", 256)
        if experts:
            add(b + "ffn_gate_inp.weight", 256, experts)
            for name in ("ffn_up_exps", "ffn_gate_exps", "ffn_down_exps"):
                add(b + name + ".weight", 256, 2, experts)
        else:
            for name in ("ffn_up", "ffn_gate", "ffn_down"):
                add(b + name + ".weight", 256, 2)
    return f


def write_dat(f, path):
    """Writes an importance matrix with an entry for every matrix of the model."""
    rows = [(n, d) for n, (d, _, _) in f.tensors.items() if len(d) > 1]
    with open(path, "wb") as out:
        out.write(struct.pack("<i", len(rows)))
        for name, dims in rows:
            n = dims[0] * (dims[2] if len(dims) > 2 else 1)
            out.write(struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", 1, n))
            out.write(struct.pack(f"<{n}f", *(1 + i % 13 for i in range(n))))
        out.write(struct.pack("<ii", 1, 4) + b"text")


class Check:
    def __init__(self, a, folder):
        self.a, self.folder = a, folder
        self.peer = Peer(a.libs)
        self.peer.warm()
        self.n = self.bad = self.refused = 0

    def ours(self, src, dst, ftype, args):
        cmd = [self.a.llamactl, "quantize", "-t", "1", *args, src, dst, ftype]
        return subprocess.run(cmd, capture_output=True, text=True)

    def one(self, label, src, ftype, dat, args=(), whole=True, **fields):
        theirs, mine = (os.path.join(self.folder, n) for n in ("theirs.gguf", "ours.gguf"))
        for path in (theirs, mine):
            if os.path.exists(path):
                os.unlink(path)
        p = self.peer.params(FTYPES[ftype], imatrix=dat, **fields)
        ok = self.peer.run_apart(src, theirs, p)
        args = [*args, *(["--imatrix", dat] if dat else []),
                *([] if whole else ["--dry-run", "--json"])]
        r = self.ours(src, mine, ftype, args)
        if not ok:
            self.refused += 1
            if r.returncode not in (0, 1):
                self.fail(label, f"exit status {r.returncode}")
            return
        self.n += 1
        if r.returncode:
            self.fail(label, r.stderr.strip())
            return
        x, y = File.read(theirs), File.read(mine) if whole else None
        kinds = [{n: t[1] for n, t in f.tensors.items()} for f in (x, y) if f]
        if not whole:
            kinds.append({t["name"]: TYPE[t["to"]] for t in json.loads(r.stdout)["tensors"]})
        if kinds[0] != kinds[1]:
            diff = [f"{n}: {kinds[0].get(n)} there, {kinds[1].get(n)} here"
                    for n in sorted(kinds[0].keys() | kinds[1].keys())
                    if kinds[0].get(n) != kinds[1].get(n)]
            self.fail(label, f"{len(diff)} types: " + "; ".join(diff[:4]))
        for f in (x, y) if whole else ():
            for key in [k for k in f.keys if k.startswith("quantize.imatrix.")]:
                if f is y:
                    self.imatrix_key(label, key, f.keys[key], dat)
                del f.keys[key]
        if whole and x.keys != y.keys:
            diff = [k for k in x.keys.keys() | y.keys.keys() if x.keys.get(k) != y.keys.get(k)]
            self.fail(label, f"keys {diff}: {x.keys.get(diff[0])} there, {y.keys.get(diff[0])} here")

    def imatrix_key(self, label, key, value, dat):
        """The keys that llama.cpp's command-line program writes; the library leaves them to its caller."""
        want = {"file": (8, dat.encode()), "dataset": (8, b"text"), "chunks_count": (4, 1)}
        name = key.rpartition(".")[2]
        if name != "entries_count" and value != want[name]:
            self.fail(label, f"{key}: {value}")

    def fail(self, label, why):
        self.bad += 1
        if self.bad <= 40:
            print(f"FAIL {label}: {why}", flush=True)

    def model(self, name, f, ftypes, options=False, whole=False):
        src, dat = os.path.join(self.folder, "src.gguf"), os.path.join(self.folder, "i.dat")
        f.write(src)
        write_dat(f, dat)
        for ftype in ftypes:
            for im in (None, dat):
                self.one(f"{name} {ftype}{' imatrix' if im else ''}", src, ftype, im, whole=whole)
        if not options:
            return
        for ftype in ("Q4_K_M", "Q2_K", "IQ3_XS", "Q8_0"):
            self.one(f"{name} {ftype} pure", src, ftype, dat, ["--pure"], pure=True)
            self.one(f"{name} {ftype} leave", src, ftype, dat, ["--leave-output-tensor"],
                     quantize_output_tensor=False)
            self.one(f"{name} {ftype} output", src, ftype, dat, ["--output-tensor-type", "q5_k"],
                     output_tensor_type=TYPE["q5_k"])
            self.one(f"{name} {ftype} embd", src, ftype, dat, ["--token-embedding-type", "bf16"],
                     token_embedding_type=TYPE["bf16"])
            self.one(f"{name} {ftype} rules", src, ftype, dat,
                     ["--tensor-type", r"blk\.[02]\.ffn_down=q8_0", "--tensor-type", "attn_v=q6_k"],
                     rules=[(r"blk\.[02]\.ffn_down", TYPE["q8_0"]), ("attn_v", TYPE["q6_k"])])
            if "blk.3.attn_norm.weight" in f.tensors:
                self.one(f"{name} {ftype} prune", src, ftype, dat, ["--prune-layers", "1,2"],
                         prune=[1, 2])


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--llamactl", default="./llamactl")
    a.add_argument("--libs", required=True, help="folder with llama.cpp's libraries")
    a.add_argument("--quick", action="store_true", help="test only a few file types of the models")
    a.add_argument("models", nargs="*")
    a = a.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        c = Check(a, folder)
        for name, f in {"dense": made_up("llama", 32, 8, 8), "shared": made_up("llama", 21, 8, 2),
                        "tied": made_up("llama", 5, 8, 1, tied=True),
                        "eight": made_up("llama", 16, 8, 2, experts=8),
                        "four": made_up("llama", 9, 8, 8, experts=4),
                        "70b": made_up("llama", 80, 8, 1), "65b": made_up("llama", 80, 8, 8),
                        "falcon": made_up("falcon", 18, 8, 1),
                        "qwen2": made_up("qwen2", 80, 8, 8)}.items():
            print(name, file=sys.stderr, flush=True)
            c.model(name, f, FTYPES, options=name in ("dense", "tied", "eight"),
                    whole=name == "tied")
        few = ("Q2_K", "Q3_K_M", "Q4_K_M", "IQ2_S", "IQ3_XS", "MXFP4_MOE", "F16")
        for path in a.models:
            f = File.read(path)
            for row in (256,) if a.quick else (256, 96, 80):
                c.model(f"{os.path.basename(path)} rows of {row}", shrink(f, row),
                        few if a.quick else FTYPES)
        print(f"{c.n} files compared, {c.bad} differ; {c.refused} not supported by llama.cpp")
        return 1 if c.bad else 0


sys.exit(main())

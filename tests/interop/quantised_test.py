# SPDX-License-Identifier: MIT
"""Compares folders with quantised weights with folders of the dequantised numbers.

    quantised_test.py LLAMACTL SOURCE"""

import bisect
import json
import os
import struct
import sys
import tempfile

import folders
from folders_test import Tester


def narrow(v, stored):
    """A number after rounding to a 16-bit float."""
    if stored == "F32":
        return struct.unpack("<f", struct.pack("<f", v))[0]
    if stored == "F16":
        return struct.unpack("<e", struct.pack("<e", v))[0]
    word = struct.unpack("<H", folders.pack([v], "BF16"))[0]
    return struct.unpack("<f", struct.pack("<I", word << 16))[0]


def e4m3(code):
    sign, exp, man = -1.0 if code & 128 else 1.0, code >> 3 & 15, code & 7
    return sign * (man * 2.0**-9 if exp == 0 else (8 + man) * 2.0 ** (exp - 10))


F8 = sorted((e4m3(c), c) for c in range(256) if c & 127 != 127)
F8_VALUES = [v for v, _ in F8]


def to_f8(v):
    i = bisect.bisect_left(F8_VALUES, v)
    near = [k for k in (i - 1, i) if 0 <= k < len(F8)]
    return F8[min(near, key=lambda k: abs(F8_VALUES[k] - v))][1]


def affine(w, n, k, bits, group, stored, symmetric):
    """Returns codes, scales and offsets of rows: x = s q + m; symmetric: m = -s * middle."""
    q, s, m, top = [], [], [], 2**bits - 1
    for r in range(n):
        for g in range(0, k, group):
            v = w[r * k + g : r * k + g + group]
            if symmetric:
                scale = narrow(max(abs(x) for x in v) / (top // 2) or 1.0, stored)
                zero = (top + 1) // 2
                low = -scale * zero
            else:
                scale = narrow((max(v) - min(v)) / top or 1.0, stored)
                low = narrow(min(v), stored)
            s.append(scale)
            m.append(low)
            q.extend(min(top, max(0, round((x - low) / scale))) for x in v)
    return q, s, m


def stream(codes, bits):
    """A little-endian stream of codes as u32 words."""
    out, have, n = bytearray(), 0, 0
    for c in codes:
        have |= c << n
        n += bits
        while n >= 8:
            out.append(have & 255)
            have >>= 8
            n -= 8
    assert n == 0
    return bytes(out)


def words(codes, bits):
    out = 0
    for i, c in enumerate(codes):
        out |= c << i * bits
    return struct.pack("<I", out)


# Each function returns the tensors of one weight [n, k] and the dequantised numbers.


def mlx(stem, w, n, k, bits=4, group=32, stored="BF16"):
    q, s, m = affine(w, n, k, bits, group, stored, False)
    dims = [n, k // group]
    packed = b"".join(stream(q[r * k : (r + 1) * k], bits) for r in range(n))
    tensors = [
        (stem + ".weight", "U32", [n, k * bits // 32], packed),
        (stem + ".scales", stored, dims, folders.pack(s, stored)),
        (stem + ".biases", stored, dims, folders.pack(m, stored)),
    ]
    per = k // group
    return tensors, [s[i // k * per + i % k // group] * q[i] + m[i // k * per + i % k // group]
                     for i in range(n * k)]


def gptq(stem, w, n, k, bits=4, group=32, symmetric=True, order=False, v2=False):
    per, groups = 32 // bits, k // group
    at = [(i * 7) % k // group for i in range(k)] if order else [i // group for i in range(k)]
    s = [narrow(0.02 + 0.001 * ((r + g) % 5), "F16") for g in range(groups) for r in range(n)]
    mid = 2 ** (bits - 1)
    z = [mid if symmetric else mid - 2 + (r + g) % 4 for g in range(groups) for r in range(n)]
    q = [0] * (n * k)
    for r in range(n):
        for i in range(k):
            g = at[i] * n + r
            q[r * k + i] = min(2**bits - 1, max(0, round(w[r * k + i] / s[g]) + z[g]))
    qweight = b"".join(words([q[r * k + i0 + j] for j in range(per)], bits)
                       for i0 in range(0, k, per) for r in range(n))
    off = 0 if v2 else 1
    qzeros = b"".join(words([z[g * n + r0 + j] - off for j in range(per)], bits)
                      for g in range(groups) for r0 in range(0, n, per))
    tensors = [
        (stem + ".qweight", "I32", [k // per, n], qweight),
        (stem + ".qzeros", "I32", [groups, n // per], qzeros),
        (stem + ".scales", "F16", [groups, n], folders.pack(s, "F16")),
        (stem + ".g_idx", "I32", [k], struct.pack(f"<{k}i", *at)),
    ]
    return tensors, [s[at[i % k] * n + i // k] * (q[i] - z[at[i % k] * n + i // k])
                     for i in range(n * k)]


def awq(stem, w, n, k, group=32):
    groups, place = k // group, [0, 2, 4, 6, 1, 3, 5, 7]
    s = [narrow(0.02 + 0.001 * ((r + g) % 5), "F16") for g in range(groups) for r in range(n)]
    z = [6 + (r + g) % 4 for g in range(groups) for r in range(n)]
    q = [min(15, max(0, round(w[r * k + i] / s[i // group * n + r]) + z[i // group * n + r]))
         for r in range(n) for i in range(k)]
    qweight = b"".join(words([q[(r0 + place[j]) * k + i] for j in range(8)], 4)
                       for i in range(k) for r0 in range(0, n, 8))
    qzeros = b"".join(words([z[g * n + r0 + place[j]] for j in range(8)], 4)
                      for g in range(groups) for r0 in range(0, n, 8))
    tensors = [
        (stem + ".qweight", "I32", [k, n // 8], qweight),
        (stem + ".qzeros", "I32", [groups, n // 8], qzeros),
        (stem + ".scales", "F16", [groups, n], folders.pack(s, "F16")),
    ]
    return tensors, [s[i % k // group * n + i // k] * (q[i] - z[i % k // group * n + i // k])
                     for i in range(n * k)]


def packed(stem, w, n, k, group=32):
    q, s, _ = affine(w, n, k, 4, group, "BF16", True)
    data = b"".join(words(q[i : i + 8], 4) for i in range(0, n * k, 8))
    tensors = [
        (stem + ".weight_packed", "I32", [n, k // 8], data),
        (stem + ".weight_scale", "BF16", [n, k // group], folders.pack(s, "BF16")),
        (stem + ".weight_shape", "I64", [2], struct.pack("<2q", n, k)),
    ]
    per = k // group
    return tensors, [s[i // k * per + i % k // group] * (q[i] - 8) for i in range(n * k)]


def fp8(stem, w, n, k, kind="block"):
    tall, wide = {"block": (32, 32), "row": (1, k), "one": (n, k)}[kind]
    dims = {"block": [-(-n // 32), -(-k // 32)], "row": [n, 1], "one": []}[kind]
    cols = -(-k // wide)
    s = [narrow(0.001 + 0.0005 * (i % 3), "F32") for i in range(-(-n // tall) * cols)]
    scale = [s[i // k // tall * cols + i % k // wide] for i in range(n * k)]
    codes = [to_f8(w[i] / scale[i]) for i in range(n * k)]
    name = ".weight_scale_inv" if kind == "block" else ".weight_scale"
    tensors = [
        (stem + ".weight", "F8_E4M3", [n, k], bytes(codes)),
        (stem + name, "F32", dims, folders.pack(s, "F32")),
    ]
    return tensors, [narrow(narrow(e4m3(codes[i]) * scale[i], "F32"), "BF16")
                     for i in range(n * k)]


def plain_f8(stem, w, n, k):
    codes = [to_f8(x) for x in w]
    return [(stem + ".weight", "F8_E4M3", [n, k], bytes(codes))], [e4m3(c) for c in codes]


# name, function, arguments, configuration, tensor type in the model, tolerance
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": True}
CASES = [
    ("MLX 4 bits", mlx, {}, {"quantization": {"bits": 4, "group_size": 32}}, "q4_1", 1e-5),
    ("MLX 4 bits, f16", mlx, {"stored": "F16"}, {"quantization": {"bits": 4, "group_size": 32}},
     "q4_1", 1e-5),
    ("MLX 4 bits, groups unsaid", mlx, {}, {}, "q4_1", 1e-5),
    ("MLX 8 bits", mlx, {"bits": 8}, {"quantization": {"bits": 8, "group_size": 32}}, "q8_a",
     1e-5),
    ("MLX 2 bits", mlx, {"bits": 2}, {"quantization": {"bits": 2, "group_size": 32}}, "q8_a",
     1e-5),
    ("MLX 3 bits", mlx, {"bits": 3}, {"quantization": {"bits": 3, "group_size": 32}}, "q8_a",
     1e-5),
    ("MLX 5 bits, f16", mlx, {"bits": 5, "stored": "F16"},
     {"quantization": {"bits": 5, "group_size": 32}}, "q8_a", 1e-5),
    ("MLX, groups of 16", mlx, {"group": 16}, {"quantization": {"bits": 4, "group_size": 16}}, "f32",
     1e-5),
    ("MLX 6 bits", mlx, {"bits": 6}, {"quantization": {"bits": 6, "group_size": 32}}, "q8_a",
     1e-5),
    ("GPTQ", gptq, {}, {"quantization_config": GPTQ}, "q4_0", 1e-5),
    ("GPTQ v2", gptq, {"v2": True},
     {"quantization_config": dict(GPTQ, checkpoint_format="gptq_v2")}, "q4_0", 1e-5),
    ("GPTQ 8 bits", gptq, {"bits": 8}, {"quantization_config": dict(GPTQ, bits=8)}, "q8_0", 1e-5),
    ("GPTQ with zero points", gptq, {"symmetric": False},
     {"quantization_config": dict(GPTQ, sym=False)}, "q4_1", 2e-3),
    ("GPTQ 8 bits with zero points", gptq, {"bits": 8, "symmetric": False},
     {"quantization_config": dict(GPTQ, bits=8, sym=False)}, "q8_a", 1e-5),
    ("GPTQ with an order", gptq, {"order": True},
     {"quantization_config": dict(GPTQ, desc_act=True)}, "f16", 2e-3),
    ("AWQ", awq, {}, {"quantization_config": {"quant_method": "awq", "bits": 4}}, "q4_1", 2e-3),
    ("packed", packed, {}, {"quantization_config": {"quant_method": "compressed-tensors"}}, "q4_0",
     1e-5),
    ("fp8 blocks", fp8, {}, {"quantization_config": {"quant_method": "fp8"}}, "bf16", 1e-5),
    ("fp8 rows", fp8, {"kind": "row"},
     {"quantization_config": {"quant_method": "compressed-tensors"}}, "bf16", 1e-5),
    ("fp8 whole", fp8, {"kind": "one"}, {"quantization_config": {"quant_method": "fp8"}}, "bf16",
     1e-5),
    ("fp8 plain", plain_f8, {}, {}, "f16", 1e-5),
]


def write(path, model, config, make, args):
    """Writes a folder with quantised projections, and one with the dequantised numbers."""
    for p in (path, path + "-plain"):
        os.makedirs(p, exist_ok=True)
        with open(os.path.join(p, "config.json"), "w") as f:
            json.dump(dict(model["config"], **(config if p == path else {})), f)
    a, b = [], []
    for name, shape in model["tensors"]:
        v = folders.values(name, shape)
        embd = make is mlx and "embed_tokens" in name
        if len(shape) == 2 and ("proj" in name or embd):
            tensors, v = make(name[: -len(".weight")], v, *shape, **args)
            a.extend(tensors)
        else:
            a.append((name, "F32", shape, folders.pack(v, "F32")))
        b.append((name, "F32", shape, folders.pack(v, "F32")))
    folders.write_raw(os.path.join(path, "model.safetensors"), a)
    folders.write_raw(os.path.join(path + "-plain", "model.safetensors"), b)


def check(t, tmp, name, family, make, args, config, type_, tolerance):
    model = t.models[family]
    path = os.path.join(tmp, "q")
    write(path, model, config, make, args)
    label = f"{name}, {family}"
    want, why = t.last_row(path + "-plain", model, "cpu")
    if why:
        return t.verdict(label, why)
    t.compare(label, path, dict(model, last=want), tolerance=tolerance)
    t.compare(label + " on ref", path, dict(model, last=want), backend="ref", tolerance=tolerance)
    info = t.run("info", path).stdout
    line = [x for x in info.splitlines() if "blk.1.ffn_up.weight" in x]
    t.verdict(label + ": type", "" if line and f" {type_} " in line[0] else f"{line}, not {type_}")
    file = os.path.join(tmp, "q.gguf")
    r = t.run("convert", path, file)
    t.verdict(label + ": convert", r.stderr.strip())
    # the file keeps codes; floats are converted to 16 bits
    t.compare(label + ": file", file, dict(model, last=want), tolerance=max(tolerance, 6e-3))


def memory_only(t, tmp):
    """A tensor type that exists only in memory is written as another type by every command."""
    model = t.models["llama"]
    path, out = os.path.join(tmp, "m"), os.path.join(tmp, "m.gguf")
    config = {"quantization": {"bits": 8, "group_size": 32}}
    write(path, model, config, mlx, {"bits": 8})
    want, why = t.last_row(path + "-plain", model, "cpu")
    t.verdict("memory only", why)
    for label, args, tolerance in [
        ("convert to q8_0", ["convert", path, out, "--outtype", "q8_0"], 5e-2),
        ("convert to f16", ["convert", path, out], 6e-3),
        ("quantize to f16", ["quantize", path, out, "f16"], 6e-3),
        ("quantize to q8_0", ["quantize", "--allow-requantize", path, out, "q8_0"], 5e-2),
        ("leave the output", ["quantize", "--allow-requantize", "--leave-output-tensor", path, out,
                              "q8_0"], 5e-2),
    ]:
        r = t.run(*args)
        t.verdict(label, r.stderr.strip() if r.returncode else "")
        if r.returncode:
            continue
        t.compare(label + ": file", out, dict(model, last=want), tolerance=tolerance)
        info = t.run("info", out).stdout
        t.verdict(label + ": types", "q8_a is in the file" if "q8_a" in info else "")
    r = t.run("quantize", path, out, "q8_0")
    t.verdict("requantize", "" if r.returncode and "--allow-requantize" in r.stderr else r.stderr)
    for args in (["convert", path, out, "--outtype", "q8_a"],
                 ["quantize", path, out, "q8_0", "--token-embedding-type", "q8_a"]):
        r = t.run(*args)
        t.verdict("as a target", "" if r.returncode else "was accepted")


MX_VALUES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
MX_VALUES += [-v for v in MX_VALUES]


def mxfp4(t, tmp):
    """Compares experts in MXFP4 blocks with the dequantised numbers, which are stored transposed."""
    model = t.models["gpt-oss"]
    path, file = os.path.join(tmp, "mx"), os.path.join(tmp, "mx.gguf")
    config = dict(model["config"], quantization_config={"quant_method": "mxfp4"})
    for p, c in ((path, config), (path + "-plain", model["config"])):
        os.makedirs(p, exist_ok=True)
        with open(os.path.join(p, "config.json"), "w") as f:
            json.dump(c, f)
    a, b = [], []
    for name, shape in model["tensors"]:
        v = folders.values(name, shape)
        if len(shape) == 3:
            n, k, rows = shape
            codes = [int((x * 1000003) % 16) for x in folders.values(name + "q", [n * rows * k])]
            exps = [120 + i % 4 for i in range(n * rows * k // 32)]
            w = [MX_VALUES[c] * 2.0 ** (exps[i // 32] - 127) for i, c in enumerate(codes)]
            data = bytes(codes[i] | codes[i + 1] << 4 for i in range(0, len(codes), 2))
            a.append((name + "_blocks", "U8", [n, rows, k // 32, 16], data))
            a.append((name + "_scales", "U8", [n, rows, k // 32], bytes(exps)))
            v = [w[(e * rows + r) * k + c] for e in range(n) for c in range(k) for r in range(rows)]
        else:
            a.append((name, "F32", shape, folders.pack(v, "F32")))
        b.append((name, "F32", shape, folders.pack(v, "F32")))
    folders.write_raw(os.path.join(path, "model.safetensors"), a)
    folders.write_raw(os.path.join(path + "-plain", "model.safetensors"), b)
    want, why = t.last_row(path + "-plain", model, "cpu")
    t.verdict("MXFP4: plain", why)
    if why:
        return
    for backend in ("cpu", "ref"):
        t.compare(f"MXFP4 on {backend}", path, dict(model, last=want), backend=backend)
    r = t.run("convert", path, file)
    t.verdict("MXFP4: convert", r.stderr.strip())
    t.compare("MXFP4: file", file, dict(model, last=want), tolerance=6e-3)
    info = t.run("info", file).stdout
    line = [x for x in info.splitlines() if "ffn_down_exps.weight" in x]
    t.verdict("MXFP4: type", "" if line and " mxfp4 " in line[0] else f"{line[:1]}")


def refusals(t, tmp):
    model = t.models["llama"]
    path = os.path.join(tmp, "r")

    def refused(name, words, config, make=gptq, **args):
        write(path, model, {"quantization_config": config}, make, args)
        r = t.run("info", path)
        ok = r.returncode == 1 and all(w in r.stderr for w in words)
        t.verdict(name, "" if ok else f"status {r.returncode}: {r.stderr.strip()[:200]}")

    refused("bitsandbytes", ["bitsandbytes", "without quantisation"],
            {"quant_method": "bitsandbytes"})
    refused("hqq", ["hqq"], {"quant_method": "hqq"})
    refused("GPTQ of 3 bits", ["without quantisation"], dict(GPTQ, bits=3))
    refused("AWQ as GPTQ", ["qzeros or scales"], GPTQ, awq)
    # the configuration does not match the tensors
    write(path, model, {"quantization_config": GPTQ}, gptq, {"symmetric": False})
    r = t.run("debug", "logits", path, "--tokens", "1", "-o", os.path.join(tmp, "o"))
    t.verdict("not symmetric", "" if r.returncode == 1 and "zero point" in r.stderr else r.stderr)


def main():
    llamactl, source = sys.argv[1:3]
    with open(os.path.join(source, "models.json")) as f:
        models = json.load(f)
    t = Tester(llamactl, models)
    with tempfile.TemporaryDirectory() as tmp:
        for i, (name, *rest) in enumerate(CASES):
            if len(sys.argv) > 3 and name not in sys.argv[3:]:
                continue
            check(t, tmp, name, "llama" if i % 2 else "qwen2", *rest)
        if len(sys.argv) < 4:
            memory_only(t, tmp)
            mxfp4(t, tmp)
            refusals(t, tmp)
    print(f"CASES: quantised folders: {t.passed} passed, {t.failed} failed, 0 skipped")
    return 1 if t.failed or not t.passed else 0


if __name__ == "__main__":
    sys.exit(main())

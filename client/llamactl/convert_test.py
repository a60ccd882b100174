#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what `llamactl convert` wrote as safetensors, and the GGUF files themselves, and compares the values.

    convert_test.py DIR       DIR has full.gguf, q.gguf and their *.safetensors
"""
import json
import math
import struct
import sys

DIR = sys.argv[1]
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of values of keys


def gguf(path):
    """Tensors by name: dimensions, type, and data; keys of floating point numbers."""
    with open(path, "rb") as f:
        data = f.read()
    at = 8

    def take(code):
        nonlocal at
        at += struct.calcsize("<" + code)
        return struct.unpack_from("<" + code, data, at - struct.calcsize("<" + code))[0]

    def string():
        nonlocal at
        n = take("Q")
        at += n
        return data[at - n:at].decode()

    def skip(kind):
        nonlocal at
        if kind == 8:
            string()
        elif kind == 9:
            kind, n = take("I"), take("Q")
            for _ in range(n):
                skip(kind)
        else:
            at += SIZES[kind]

    n_tensors, n_keys = take("Q"), take("Q")
    floats = {}
    for _ in range(n_keys):
        key, kind = string(), take("I")
        if kind in (6, 12):
            floats[key] = take("f" if kind == 6 else "d")
        else:
            skip(kind)
    rows = {}
    for _ in range(n_tensors):
        name = string()
        dims = [take("Q") for _ in range(take("I"))]
        rows[name] = dims, take("I"), take("Q")
    begin = at + -at % 32
    return {name: (dims, kind, data[begin + place:]) for name, (dims, kind, place) in rows.items()}, floats


def decoded(dims, kind, data):
    """The values of a tensor of F32 (0) or Q8_0 (8)."""
    n = math.prod(dims)
    if kind == 0:
        return list(struct.unpack_from(f"<{n}f", data))
    assert kind == 8, kind
    out = []
    for i in range(n // 32):
        scale, *q = struct.unpack_from("<e32b", data, 34 * i)
        out += [scale * v for v in q]
    return out


def safetensors(path):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack_from("<Q", data)[0]
    assert n % 8 == 0
    head = json.loads(data[8:8 + n])
    meta = head.pop("__metadata__")
    end = 0
    for row in head.values():  # without holes
        assert row["data_offsets"][0] == end
        end = row["data_offsets"][1]
    assert len(data) == 8 + n + end
    return head, meta, data[8 + n:]


def values(row, data):
    data, n = data[slice(*row["data_offsets"])], math.prod(row["shape"])
    if row["dtype"] == "BF16":
        return [struct.unpack("<f", b"\0\0" + data[2 * i:2 * i + 2])[0] for i in range(n)]
    code = {"F32": "f", "F16": "e"}[row["dtype"]]
    return list(struct.unpack(f"<{n}{code}", data))


def f32(v):
    return struct.unpack("<f", struct.pack("<f", v))[0]


def f16(v):
    return struct.unpack("<e", struct.pack("<e", v))[0]


for name, of, wanted in (("full", "full", None), ("q", "q", "F16"), ("q32", "q", "F32"), ("qb", "q", "BF16")):
    tensors, floats = gguf(f"{DIR}/{of}.gguf")
    head, meta, data = safetensors(f"{DIR}/{name}.safetensors")
    assert sorted(head) == sorted(tensors), (sorted(head), sorted(tensors))
    assert meta["general.architecture"] == "llama" and all(isinstance(v, str) for v in meta.values()), meta
    assert floats and {key: float(meta[key]) for key in floats} == floats, (floats, meta)
    for key, (dims, kind, raw) in tensors.items():
        row = head[key]
        assert row["shape"] == dims[::-1], (key, row, dims)
        want, got = [f32(v) for v in decoded(dims, kind, raw)], values(row, data)
        assert row["dtype"] == ("F32" if kind == 0 and name in ("full", "q") else wanted), (key, row)
        if row["dtype"] == "F32":
            assert got == want, key
        elif row["dtype"] == "F16":
            assert got == [f16(v) for v in want], key
        else:
            assert all(abs(a - b) <= abs(b) / 256 for a, b in zip(got, want)), key

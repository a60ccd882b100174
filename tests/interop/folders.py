# SPDX-License-Identifier: MIT
"""Checkpoint folders of tiny models: weights from a formula, files written by the standard library."""

import json
import math
import os
import struct
import zlib

BYTES = {"F32": 4, "F16": 2, "BF16": 2}


def values(name, shape):
    """The numbers of a tensor: derived from its name, equal in every run."""
    n = math.prod(shape)
    x = seed = zlib.crc32(name.encode())
    out = []
    for i in range(n):
        x = (seed + i * 2654435761) & 0xFFFFFFFF
        x ^= x >> 15
        x = x * 2246822519 & 0xFFFFFFFF
        x ^= x >> 13
        x = x * 3266489917 & 0xFFFFFFFF
        x ^= x >> 16
        out.append(x / 2.0**32 - 0.5)
    if len(shape) > 1:
        scale = 2.0 / shape[-1] ** 0.5
        return [v * scale for v in out]
    base = 0.0 if name.endswith("bias") else 1.0
    return [base + v * 0.4 for v in out]


def pack(numbers, stored):
    if stored == "F16":
        return struct.pack(f"<{len(numbers)}e", *numbers)
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    if stored == "F32":
        return data
    words = struct.unpack(f"<{len(numbers)}I", data)  # round to nearest, ties to even
    return struct.pack(f"<{len(numbers)}H", *((w + 0x7FFF + (w >> 16 & 1)) >> 16 for w in words))


def write_raw(path, tensors):
    """Writes a safetensors file.  tensors: (name, dtype, shape, bytes) in the order of the data."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for t in tensors:
            f.write(t[3])


def write_tensors(path, tensors, stored):
    write_raw(path, [(n, stored, s, pack(values(n, s), stored)) for n, s in tensors])


def read_header(path):
    with open(path, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(n))
    header.pop("__metadata__", None)
    return [dict(name=k, **v) for k, v in header.items()]


def write_folder(path, model):
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "config.json"), "w") as f:
        json.dump(model["config"], f)
    file = os.path.join(path, "model.safetensors")
    write_tensors(file, model["tensors"], model["stored"])


def floats(path):
    with open(path, "rb") as f:
        data = f.read()
    return list(struct.unpack(f"<{len(data) // 4}f", data))


TABLES = ("embed_tokens.weight", "lm_head.weight", "word_embeddings.weight", "wte.weight")


def write_with_tokenizer(path, model, data):
    """Writes the model with a tokenizer.json, and with one row of the embedding per token."""
    j = json.loads(data)
    vocab = j["model"]["vocab"]
    ids = range(len(vocab)) if isinstance(vocab, list) else vocab.values()
    n = max([*ids, *(t["id"] for t in j.get("added_tokens", []))]) + 1
    config = dict(model["config"], vocab_size=n)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "config.json"), "w") as f:
        json.dump(config, f)
    with open(os.path.join(path, "tokenizer.json"), "wb") as f:
        f.write(data)
    tensors = []
    for name, shape in model["tensors"]:
        if name.endswith(TABLES):
            row = pack(values(name, [1, shape[1]]), "F16")
            tensors.append((name, "F16", [n, shape[1]], row * n))
        else:
            tensors.append((name, "F16", shape, pack(values(name, shape), "F16")))
    write_raw(os.path.join(path, "model.safetensors"), tensors)

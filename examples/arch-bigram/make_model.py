#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a model for arch-bigram: make_model.py TEXT OUT.gguf

Tokens are the bytes, and the logit of a byte after another is the logarithm of how often it follows in TEXT. The
functions below are all that a GGUF file needs; for an architecture of your own, write other keys and tensors.
"""
import math
import struct
import sys

U32, STRING, ARRAY, F32 = 4, 8, 9, 0  # types of values; type of a tensor
ALIGNMENT = 32


def string(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def value(v):
    """A value with its type."""
    if isinstance(v, int):
        return struct.pack("<II", U32, v)
    if isinstance(v, str):
        return struct.pack("<I", STRING) + string(v)
    return struct.pack("<IIQ", ARRAY, STRING, len(v)) + b"".join(string(s) for s in v)


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def gguf(keys, tensors):
    """A file; tensors: name to rows, each row a list of floats."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for name, v in keys.items():
        head += string(name) + value(v)
    body = b""
    for name, rows in tensors.items():
        # the first dimension is the number of columns
        head += string(name) + struct.pack("<IQQIQ", 2, len(rows[0]), len(rows), F32, len(body))
        body = padded(body + b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows))
    return padded(head) + body


def byte_names():
    """How vocabularies of byte-level BPE write the bytes: printable ones as they are, others from U+0100 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    names, n = [], 0
    for b in range(256):
        names.append(chr(b if b in plain else 256 + n))
        n += b not in plain
    return names


with open(sys.argv[1], "rb") as f:
    text = f.read()
counts = [[0.01] * 256 for _ in range(256)]
for a, b in zip(text, text[1:]):
    counts[a][b] += 1
# logits(t) = output * token_embd[t]: with the unit vectors as embeddings, column t of output
output = [[math.log(counts[a][b] / sum(counts[a])) for a in range(256)] for b in range(256)]
with open(sys.argv[2], "wb") as f:
    f.write(gguf({"general.architecture": "bigram", "bigram.embedding_length": 256,
                  "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": byte_names(),
                  "tokenizer.ggml.merges": []},
                 {"token_embd.weight": [[float(a == b) for a in range(256)] for b in range(256)],
                  "output.weight": output}))

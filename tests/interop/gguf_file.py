# SPDX-License-Identifier: MIT
"""Reads and writes GGUF files, as keys and tensors, for tests.  An independent implementation, so that
it does not share mistakes with the program under test."""
import struct

SCALAR = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
ALIGN = 32
BLOCK = {0: (1, 4), 1: (1, 2), 30: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24),
         8: (32, 34), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176),
         14: (256, 210), 16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18),
         21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4),
         27: (1, 8), 28: (1, 8), 29: (256, 56), 34: (256, 54), 35: (256, 66), 39: (32, 17),
         40: (64, 36), 41: (128, 18), 42: (64, 18)}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, code):
        value, = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def text(self):
        n = self.number("Q")
        self.at += n
        return self.data[self.at - n:self.at]

    def value(self, kind):
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            inner, n = self.number("I"), self.number("Q")
            if inner in SCALAR:
                self.at += n * struct.calcsize("<" + SCALAR[inner])
                return inner, struct.unpack_from(f"<{n}{SCALAR[inner]}", self.data, self.at -
                                                 n * struct.calcsize("<" + SCALAR[inner]))
            return inner, [self.value(inner) for _ in range(n)]
        return self.number(SCALAR[kind])


class File:
    """keys: {name: (type, value)}, tensors: {name: (dims, type, bytes or None)}."""

    def __init__(self):
        self.keys, self.tensors = {}, {}

    @staticmethod
    def read(path, data=False):
        raw = open(path, "rb").read()
        r, f = Reader(raw), File()
        assert raw[:4] == b"GGUF", path
        r.at = 4
        version, n_tensors, n_keys = r.number("I"), r.number("Q"), r.number("Q")
        assert version == 3, version
        for _ in range(n_keys):
            name = r.text().decode()
            kind = r.number("I")
            f.keys[name] = (kind, r.value(kind))
        places = []
        for _ in range(n_tensors):
            name = r.text().decode()
            dims = [r.number("Q") for _ in range(r.number("I"))]
            places.append((name, dims, r.number("I"), r.number("Q")))
        align = f.keys.get("general.alignment", (4, ALIGN))[1]
        begin = (r.at + align - 1) // align * align
        for name, dims, kind, at in places:
            n = size(dims, kind)
            assert begin + at + n <= len(raw), name
            f.tensors[name] = (dims, kind, raw[begin + at:begin + at + n] if data else None)
        return f

    def write(self, path):
        head = [b"GGUF", struct.pack("<IQQ", 3, len(self.tensors), len(self.keys))]
        for name, (kind, value) in self.keys.items():
            head += [text(name.encode()), struct.pack("<I", kind), pack(kind, value)]
        at = 0
        for name, (dims, kind, _) in self.tensors.items():
            head += [text(name.encode()), struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, at)]
            at += (size(dims, kind) + ALIGN - 1) // ALIGN * ALIGN
        head = b"".join(head)
        with open(path, "wb") as f:
            f.write(head + bytes(-len(head) % ALIGN))
            for _, _, data in self.tensors.values():
                f.write(data + bytes(-len(data) % ALIGN))


def size(dims, kind):
    n = 1
    for d in dims:
        n *= d
    elems, width = BLOCK[kind]
    return n // elems * width


def text(s):
    return struct.pack("<Q", len(s)) + s


def pack(kind, value):
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        inner, items = value
        if inner in SCALAR:
            body = struct.pack(f"<{len(items)}{SCALAR[inner]}", *items)
        else:
            body = b"".join(pack(inner, v) for v in items)
        return struct.pack("<IQ", inner, len(items)) + body
    return struct.pack("<" + SCALAR[kind], value)

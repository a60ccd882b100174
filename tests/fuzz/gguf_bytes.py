# SPDX-License-Identifier: MIT
"""GGUF files as Python objects that can be corrupted: read, changed anywhere, and written unchecked."""
import copy
import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B",
           U64: "Q", I64: "q", F64: "d"}


def text(s):
    s = s.encode() if isinstance(s, str) else s
    return struct.pack("<Q", len(s)) + s


def number(kind, v):
    return struct.pack("<" + FORMATS[kind], v)


def array(kind, values, count=None):
    """The payload of an array; `count` may be wrong."""
    body = b"".join(text(v) if kind == STRING else number(kind, v) for v in values)
    return struct.pack("<IQ", kind, len(values) if count is None else count) + body


class Key:
    def __init__(self, name, kind, payload):
        self.name = name.encode() if isinstance(name, str) else name
        self.kind = kind
        self.payload = payload

    def emit(self):
        return text(self.name) + struct.pack("<I", self.kind & 0xffffffff) + self.payload


class Tensor:
    def __init__(self, name, dims, kind, data):
        self.name, self.dims, self.kind, self.data = name, list(dims), kind, data
        self.offset = None  # None: the correct offset
        self.n_dim = None   # None: len(dims)

    def emit(self, offset):
        name = self.name.encode() if isinstance(self.name, str) else self.name
        n = len(self.dims) if self.n_dim is None else self.n_dim
        return (text(name) + struct.pack("<I", n & 0xffffffff) +
                b"".join(struct.pack("<Q", d % 2**64) for d in self.dims) +
                struct.pack("<IQ", self.kind & 0xffffffff,
                            (offset if self.offset is None else self.offset) % 2**64))


class File:
    def __init__(self):
        self.magic, self.version = b"GGUF", 3
        self.keys, self.tensors = [], []
        self.n_keys = self.n_tensors = None  # None: the correct numbers
        self.alignment = 32
        self.tail = b""

    def copy(self):
        other = copy.copy(self)
        other.keys = [copy.copy(k) for k in self.keys]
        other.tensors = [copy.copy(t) for t in self.tensors]
        for t in other.tensors:
            t.dims = list(t.dims)
        return other

    def find(self, name):
        return next((k for k in self.keys if k.name == name.encode()), None)

    def set(self, name, kind, payload):
        k = self.find(name)
        if k:
            k.kind, k.payload = kind, payload
        else:
            self.keys.append(Key(name, kind, payload))

    def remove(self, name):
        self.keys = [k for k in self.keys if k.name != name.encode()]

    def sections(self):
        """The bytes in pieces: header, keys, table, data."""
        head = self.magic + struct.pack(
            "<IQQ", self.version & 0xffffffff,
            (len(self.tensors) if self.n_tensors is None else self.n_tensors) % 2**64,
            (len(self.keys) if self.n_keys is None else self.n_keys) % 2**64)
        keys = b"".join(k.emit() for k in self.keys)
        at, table, data = 0, b"", b""
        for t in self.tensors:
            table += t.emit(at)
            data += t.data + bytes(-len(t.data) % self.alignment)
            at = len(data)
        if self.tensors:
            table += bytes(-(len(head) + len(keys) + len(table)) % self.alignment)
        return head, keys, table, data + self.tail

    def emit(self):
        return b"".join(self.sections())


def read(path):
    """Reads a valid little-endian file of version 3."""
    b = open(path, "rb").read()
    at = 4

    def take(fmt):
        nonlocal at
        v = struct.unpack_from("<" + fmt, b, at)
        at += struct.calcsize("<" + fmt)
        return v if len(v) > 1 else v[0]

    def skip(kind):
        nonlocal at
        if kind == STRING:
            n = take("Q")
            at += n
        elif kind == ARRAY:
            item, n = take("IQ")
            for _ in range(n):
                skip(item)
        else:
            at += struct.calcsize(FORMATS[kind])

    f = File()
    f.version, n_tensors, n_keys = take("IQQ")
    for _ in range(n_keys):
        n = take("Q")
        name = b[at:at + n]
        at += n
        kind = take("I")
        begin = at
        skip(kind)
        f.keys.append(Key(name, kind, b[begin:at]))
    places = []
    for _ in range(n_tensors):
        n = take("Q")
        name = b[at:at + n].decode()
        at += n
        dims = [take("Q") for _ in range(take("I"))]
        kind, offset = take("IQ")
        f.tensors.append(Tensor(name, dims, kind, b""))
        places.append(offset)
    at += -at % f.alignment
    ends = sorted(places) + [len(b) - at]
    for t, offset in zip(f.tensors, places):
        t.data = b[at + offset:at + ends[ends.index(offset) + 1]]
    return f

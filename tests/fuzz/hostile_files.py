# SPDX-License-Identifier: MIT
"""Generates hostile and unusual model files as tuples (name, bytes, words).

`words`: what the error message of `llamactl info` or `explain` must contain; None if the file may be
valid.  All files are made from small valid models by structure-aware changes."""
import math
import random
import struct

from gguf_bytes import (ARRAY, BOOL, F32, F64, I8, I32, I64, STRING, U8, U16, U32, U64, File, Key,
                        Tensor, array, number, text)

HUGE = [2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 32,
        2**64 - 1]


def container(m):
    for magic in (b"GGML", b"gguf", b"\0\0\0\0", b"FUGG", b"GGU\xff"):
        f = m.copy()
        f.magic = magic
        yield f"magic-{magic.hex()}", f, ["GGUF"]
    for version in (0, 4, 5, 255, 2**24, 2**25, 2**31, 2**32 - 1, 0x03000000, 0x02000000):
        f = m.copy()
        f.version = version
        yield f"version-{version:#x}", f, None if version == 0x03000000 else ["version"]
    for version in (1, 2):
        f = m.copy()
        f.version = version
        yield f"version-{version}", f, None
    for what in ("n_keys", "n_tensors"):
        n = len(getattr(m, what[2:]))
        for v in [0, n - 1, n + 1, n + 2**32, n + 2**63] + HUGE:
            f = m.copy()
            setattr(f, what, v)
            yield f"{what}-{v:#x}", f, None if v <= n + 1 else ["count", str(v - 2**64 if
                                                                             v >= 2**63 else v)]


def cuts(m):
    whole = m.emit()
    at = 0
    places = set(range(0, 40)) | {len(whole) - 1, len(whole) - 31, len(whole) - 33}
    for part in m.sections():
        at += len(part)
        places |= {at - 9, at - 8, at - 4, at - 1, at, at + 1}
    at = 24
    for k in m.keys:  # within the name, after it, within the type, within the value
        places |= {at + 4, at + 8, at + 8 + len(k.name), at + 10 + len(k.name),
                   at + 12 + len(k.name), at + 13 + len(k.name)}
        at += len(k.emit())
    for n in sorted(p for p in places if 0 <= p < len(whole)):
        yield f"cut-{n}", whole[:n], []


def keys(m):
    n = len(m.keys)
    for i in (0, n // 2, n - 1):
        for length in [0, 65536] + HUGE[3:]:
            f = m.copy()
            k = f.keys[i]
            raw = struct.pack("<Q", length) + k.name + struct.pack("<I", k.kind) + k.payload
            k.emit = lambda raw=raw: raw
            yield f"key-{i}-name-length-{length:#x}", f, ["key"]
        for kind in (13, 14, 255, 2**16, 2**31, 2**32 - 1):
            f = m.copy()
            f.keys[i].kind = kind
            yield f"key-{i}-type-{kind:#x}", f, ["type", str(kind)]
        f = m.copy()
        f.keys.append(Key(f.keys[i].name, f.keys[i].kind, f.keys[i].payload))
        yield f"key-{i}-twice", f, [m.keys[i].name.decode()]
    for name in (b"", b"a\0b", b"\xff\xfe", b"k" * 65535, b"k" * 65536, b"%s%n%s", b"a\nb"):
        f = m.copy()
        f.keys.append(Key(name, U32, number(U32, 1)))
        yield f"key-named-{name[:8].hex()}-{len(name)}", f, None
    for length in HUGE[2:]:
        f = m.copy()
        f.keys.append(Key("x.text", STRING, struct.pack("<Q", length) + b"abc"))
        yield f"string-{length:#x}", f, ["x.text", str(length)]
        for kind in (U8, U16, I32, F32, BOOL, STRING, U64, F64):
            f = m.copy()
            f.keys.append(Key("x.list", ARRAY, struct.pack("<IQ", kind, length) + b"abcdefgh"))
            yield f"array-of-{kind}-{length:#x}", f, ["x.list"]
    for kind in (ARRAY, 13, 99, 2**31, 2**32 - 1):
        f = m.copy()
        f.keys.append(Key("x.list", ARRAY, struct.pack("<IQ", kind, 1) + bytes(64)))
        yield f"array-of-type-{kind:#x}", f, ["x.list"]
    nest = b"".join(struct.pack("<IQ", ARRAY, 1) for _ in range(5000))
    f = m.copy()
    f.keys.append(Key("x.deep", ARRAY, nest))
    yield "array-nested-5000", f, ["x.deep"]
    for v in (2, 127, 255):
        f = m.copy()
        f.keys.append(Key("x.flag", BOOL, bytes([v])))
        yield f"bool-{v}", f, ["x.flag", str(v)]
        f = m.copy()
        f.keys.append(Key("x.flags", ARRAY, array(BOOL, [1, v])))
        yield f"bools-{v}", f, ["x.flags", str(v)]
    for kind, values in ((U32, [0, 1, 2, 3, 7, 31, 33, 48, 2**20 + 1, 2**21, 2**31, 2**32 - 1]),
                         (U64, [2**32, 2**63, 2**64 - 1, 2**63 + 32]), (I32, [-1, -32, -2**31]),
                         (I64, [-2**63, -32])):
        for v in values:
            f = m.copy()
            f.set("general.alignment", kind, number(kind, v))
            yield f"alignment-{kind}-{v}", f, ["general.alignment"]
    for v in (8, 16, 64, 4096, 2**20):
        f = m.copy()
        f.alignment = v
        f.set("general.alignment", U32, number(U32, v))
        yield f"alignment-sound-{v}", f, None
    for kind, payload in ((STRING, text("32")), (F32, number(F32, 32)), (BOOL, b"\1"),
                          (ARRAY, array(U32, [32])), (ARRAY, array(STRING, []))):
        f = m.copy()
        f.set("general.alignment", kind, payload)
        yield f"alignment-typed-{kind}-{len(payload)}", f, ["general.alignment"]
    for v in ("", "no-such-arch", "LLAMA", "../llama", "llama\0x", "a" * 49, "l" * 100000, "%n%n",
              "\x1b[31m", "llama "):
        f = m.copy()
        f.set("general.architecture", STRING, text(v))
        yield f"architecture-{v[:12].encode().hex()}-{len(v)}", f, []
    f = m.copy()
    f.remove("general.architecture")
    yield "architecture-none", f, ["general.architecture"]
    for kind, payload in ((U32, number(U32, 1)), (ARRAY, array(STRING, ["llama"]))):
        f = m.copy()
        f.set("general.architecture", kind, payload)
        yield f"architecture-typed-{kind}", f, ["general.architecture"]
    f = m.copy()
    f.keys += [Key(f"x.{i}", U8, b"\1") for i in range(60000)]
    yield "keys-60000", f, None


def tensors(m):
    n = len(m.tensors)
    for i in (0, n // 2, n - 1):
        name = m.tensors[i].name

        def bend(label, words, i=i, **how):
            f = m.copy()
            for k, v in how.items():
                setattr(f.tensors[i], k, v)
            return f"tensor-{i}-{label}", f, words

        for v in (5, 6, 255, 2**16, 2**31, 2**32 - 1):
            yield bend(f"dims-{v:#x}", ["dimensions"], n_dim=v)
        yield bend("dims-0", None, n_dim=0, dims=[])
        for v in [0, 2**40 + 1] + HUGE[5:]:
            yield bend(f"dim-{v:#x}", [name], dims=[v])
            yield bend(f"dim2-{v:#x}", [name], dims=[32, v])
        for dims in ([2**32, 2**32], [2**16] * 4, [2**40] * 4, [2**33, 2**31], [32, 2**38, 2**21],
                     [2**39, 2**25], [2**20, 2**20, 2**20, 16], [0, 2**40], [1, 0, 1], [3, 7],
                     [2**64 - 1, 2**64 - 1]):
            yield bend("product-" + "x".join(map(hex, dims)), None if dims == [3, 7] else [name],
                       dims=dims)
        for kind in (4, 5, 9, 15, 31, 32, 33, 36, 37, 38, 43, 99, 2**15, 2**31, 2**32 - 1):
            yield bend(f"type-{kind:#x}", [name], kind=kind)
        for kind in (0, 1, 2, 8, 12, 14, 20, 24, 26, 28, 30, 39):
            yield bend(f"retyped-{kind}", None, kind=kind)
        for offset in [1, 31, 33, 2**20] + HUGE[5:]:
            yield bend(f"offset-{offset:#x}", [name], offset=offset)
        yield bend("offset-of-first", None if i == 0 else ["overlaps"], offset=0)
        for v in ("", "x" * 64, "x" * 63, "a\0b", "\x1b[2J", "%s%n", "blk.-1.attn_q.weight",
                  "blk.99999999999999999999.attn_q.weight", "blk.4294967296.attn_q.weight",
                  m.tensors[(i + 1) % n].name):
            yield bend(f"named-{v[:10].encode().hex()}-{len(v)}", None, name=v)
        for label, data in (("nan", b"\xff"), ("inf", b"\0\0\x80\x7f"), ("huge", b"\xff\xff\x7f\x7f"),
                            ("denormal", b"\1\0\0\0")):
            size = len(m.tensors[i].data)
            yield bend(f"filled-{label}", None, data=(data * size)[:size])
    f = m.copy()
    size = len(m.tensors[-1].data)
    f.tensors[-1].data = f.tensors[-1].data[:size // 2]
    yield "data-ends-early", f, [m.tensors[-1].name]
    f = m.copy()
    f.tail = bytes(1000)
    yield "data-behind", f, None
    f = m.copy()
    f.tensors = f.tensors[::-1]
    yield "order-turned", f, None
    f = m.copy()
    f.tensors = [Tensor(f"t{i}", [32], 0, bytes(128)) for i in range(20000)]
    yield "tensors-20000", f, []
    f = m.copy()
    f.tensors = []
    yield "tensors-none", f, None
    for t in {strip(t.name): t.name for t in m.tensors}.values():
        f = m.copy()
        f.tensors = [x for x in f.tensors if x.name != t]
        yield f"without-{t}", f, None
        for label, change in (("turned", lambda d: d[::-1]), ("half", lambda d: [d[0] // 2] + d[1:]),
                              ("flat", lambda d: [math.prod(d)]), ("deep", lambda d: [1, 1] + d[-2:]),
                              ("one", lambda d: [1])):
            f = m.copy()
            x = next(x for x in f.tensors if x.name == t)
            x.dims = change(x.dims)
            yield f"{label}-{t}", f, None


def strip(name):
    return ".".join(p for p in name.split(".") if not p.isdigit())


def vocabulary(m):
    tok = "tokenizer.ggml."
    n = 96

    def put(label, words, *sets, drop=()):
        f = m.copy()
        for k in drop:
            f.remove(tok + k)
        for k, kind, payload in sets:
            f.set(tok + k, kind, payload)
        return f"vocab-{label}", f, words

    for kind, payload in ((U32, number(U32, 1)), (STRING, text("a")), (ARRAY, array(U32, range(n))),
                          (ARRAY, array(F32, [0.5] * n)), (ARRAY, array(STRING, [])),
                          (ARRAY, array(BOOL, [1] * n))):
        for k in ("tokens", "scores", "token_type", "merges", "precompiled_charsmap"):
            yield put(f"{k}-as-{kind}-{len(payload)}", None, (k, kind, payload))
    for k, item, v in (("scores", F32, 1.0), ("token_type", I32, 1)):
        for count in (0, 1, n - 1, n + 1, 5 * n):
            yield put(f"{k}-length-{count}", [tok + k], (k, ARRAY, array(item, [v] * count)))
    for v in (math.nan, math.inf, -math.inf, 1e38, -1e38):
        yield put(f"scores-{v}", ["scores"] if math.isnan(v) else None,
                  ("scores", ARRAY, array(F32, [v] * n)))
    for v in (-1, 0, 7, 127, 2**31 - 1, -2**31):
        yield put(f"token_type-{v}", None if v == 0 else ["token_type", str(v)],
                  ("token_type", ARRAY, array(I32, [v] * n)))
    for k in ("bos_token_id", "eos_token_id", "unknown_token_id", "padding_token_id",
              "mask_token_id", "fim_pre_token_id", "eot_token_id", "seperator_token_id"):
        for kind, v in ((U32, n), (U32, 2**31), (U32, 2**32 - 1), (I32, -1), (I64, -2**63),
                        (U64, 2**64 - 1)):
            yield put(f"{k}-{kind}-{v}", [k], (k, kind, number(kind, v)))
        yield put(f"{k}-text", [k], (k, STRING, text("1")))
    for k in ("add_bos_token", "add_space_prefix", "ignore_merges"):
        yield put(f"{k}-text", [k], (k, STRING, text("yes")))
        yield put(f"{k}-2", [k], (k, U32, number(U32, 2)))
    for merges in (["x"], [" "], [""], ["a b c"] * 5, ["a\0b c"], ["no such"] * 3, [" a", "b "],
                   ["a b"] * 50000, ["\xff \xfe"]):
        yield put(f"merges-{merges[0].encode().hex()}-{len(merges)}", None,
                  ("merges", ARRAY, array(STRING, merges)))
    texts = {"empty": [""] * n, "same": ["a"] * n, "bytes": [b"\xff\xfe\x80"] * n,
             "nul": [b"a\0b"] * n, "long": ["x" * 1000000] + ["y"] * (n - 1),
             "hex": [f"<0x{i:02X}>" for i in range(n)], "hex-minus": ["<0x-1>", "<0x-F>"] * (n // 2),
             "hex-bad": ["<0xZZ>", "<0x100>", "<0x>", "<0x 1>"] * (n // 4),
             "spaces": ["\u2581" * (i + 1) for i in range(n)],
             "surrogate": [b"\xed\xa0\x80", b"\xf4\x90\x80\x80"] * (n // 2),
             "quoted": ["'a\\x41'", "'", "b'\\", "'\\u12"] * (n // 4)}
    for kind in ("gpt2", "llama", "bert", "t5", "rwkv", "plamo2", "ugm", "spm", "bpe", "wpm",
                 "no_vocab", "none", "", "x" * 65, "gemma4", "hybriddna", "whisper", "tiktoken",
                 "a\0b"):
        yield put(f"kind-{kind[:8].encode().hex()}-{len(kind)}", None, ("model", STRING, text(kind)))
        if len(kind) > 8 or "\0" in kind or not kind:
            continue
        for label, t in texts.items():
            yield put(f"{kind}-texts-{label}", None, ("model", STRING, text(kind)),
                      ("tokens", ARRAY, array(STRING, t)),
                      ("scores", ARRAY, array(F32, [0.0] * n)),
                      ("token_type", ARRAY, array(I32, [6 if "hex" in label else 1] * n)))
        for label, raw in (("empty", b""), ("short", b"\1\0"), ("cut", b"\xff\xff\xff\x7fabc"),
                           ("odd", b"\x07\0\0\0" + bytes(9)),
                           ("wild", struct.pack("<I", 64) + bytes(range(256)) * 2)):
            yield put(f"{kind}-charsmap-{label}", None, ("model", STRING, text(kind)),
                      ("scores", ARRAY, array(F32, [0.0] * n)),
                      ("precompiled_charsmap", ARRAY, array(U8, raw)))
    for pre in ("", "default", "llama-bpe", "no-such", "x" * 65, "a\0b", "(((((", "%n"):
        yield put(f"pre-{pre[:8].encode().hex()}-{len(pre)}", None, ("pre", STRING, text(pre)))
    for label, js in (("empty", ""), ("open", "{"), ("deep", "[" * 100000), ("null", "null"),
                      ("numbers", '{"model":{"vocab":{"a":1e999,"b":-1}}}'),
                      ("wrong", '{"model":[],"added_tokens":7}'),
                      ("dup", '{"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[["a"]]}}'),
                      ("regex", '{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a+)+$"}},'
                       '"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}'),
                      ("far", '{"model":{"type":"BPE","vocab":{"a":4294967295},"merges":[]}}')):
        f = m.copy()
        f.remove(tok + "tokens")
        f.set("tokenizer.huggingface.json", STRING, text(js))
        yield f"vocab-json-{label}", f, None
    for label, t in (("open", "{% for x in"), ("deep", "{{ " + "(" * 50000), ("raise", "{{ 1/0 }}"),
                     ("loop", "{% for i in range(10**9) %}x{% endfor %}"), ("nul", "a\0b"),
                     ("big", "x" * (1 << 20)), ("bytes", b"\xff\xfe{{")):
        f = m.copy()
        f.set("tokenizer.chat_template", STRING, text(t))
        yield f"template-{label}", f, None


VALUES = [(U32, 0), (U32, 1), (U32, 3), (U32, 1023), (U32, 1025), (U32, 2**16), (U32, 2**24 + 1),
          (U32, 2**31 - 1), (U32, 2**32 - 1), (I32, -1), (I32, -2**31), (U64, 2**40),
          (U64, 2**63), (U64, 2**64 - 1), (I64, -2**63), (F32, math.nan), (F32, math.inf),
          (F32, -1.0), (F32, 0.0), (F32, 1e38), (F64, 1e300)]


def hyperparameters(m, arch):
    """Replaces each key of the architecture by values that no model has, or only few."""
    for k in [k.name.decode() for k in m.keys if k.name.startswith(arch.encode() + b".")]:
        for kind, v in VALUES:
            f = m.copy()
            f.set(k, kind, number(kind, v))
            yield f"{k}-{kind}-{v}", f, None
        for label, kind, payload in (
                ("text", STRING, text("7")), ("flag", BOOL, b"\1"),
                ("none", ARRAY, array(I32, [])), ("short", ARRAY, array(I32, [1])),
                ("zeros", ARRAY, array(I32, [0] * 4)), ("minus", ARRAY, array(I32, [-1] * 4)),
                ("long", ARRAY, array(I32, [2] * 5000)),
                ("huge", ARRAY, array(U64, [2**63] * 4)), ("floats", ARRAY, array(F32, [math.nan] * 4)),
                ("texts", ARRAY, array(STRING, ["a"] * 4))):
            f = m.copy()
            f.set(k, kind, payload)
            yield f"{k}-{label}", f, None
        f = m.copy()
        f.remove(k)
        yield f"{k}-removed", f, None


def wild(m, n, seed):
    """Random changes of bytes before the data, preferably of lengths."""
    rnd = random.Random(seed)
    whole = m.emit()
    end = len(whole) - len(m.sections()[3])
    for i in range(n):
        b = bytearray(whole)
        for _ in range(1 + i % 4):
            at = rnd.randrange(end)
            if rnd.random() < 0.5:
                b[at] = rnd.choice((0, 1, 0x7f, 0x80, 0xff, rnd.randrange(256)))
            else:
                b[at:at + 8] = struct.pack("<Q", rnd.choice(HUGE))
        yield f"wild-{seed}-{i}", bytes(b), None


def empty():
    f = File()
    yield "no-keys", f, ["general.architecture"]
    f = File()
    f.keys.append(Key("general.architecture", STRING, text("llama")))
    yield "architecture-alone", f, None
    yield "36-bytes", b"GGUF" + struct.pack("<IQQ", 3, 2**63, 1) + bytes(12), []
    yield "zero-division", b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + text("t") + struct.pack(
        "<IQQIQ", 2, 0, 0, 0, 0), []


def structural(m):
    for make in (container, cuts, keys, tensors, vocabulary):
        yield from make(m)
    yield from empty()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bindings of llama.cpp's library, release v0.5.0, for measurements and tests beside it.

    llama_cpp.py --find     print the folder of the library; exit status 1 if it is not there
    llama_cpp.py --fetch    the same, after fetching it with npm if it is not there

The library is the one that npm's @node-llama-cpp/linux-x64 ships.  Its ABI is not stable, and a
wrong layout of its parameters is not reported: the library then runs with another number of
threads or another kind of attention than the caller set.  Two checks guard against that.
open_library() compares the layout of both parameter structs, byte by byte, with the defaults that
the library writes.  open_context() asks the context which settings it uses and compares them with
those that were set.  Both raise PeerError.
"""
import ctypes as C
import glob
import os
import platform
import re
import shutil
import subprocess
import sys

PACKAGE, VERSION = "@node-llama-cpp/linux-x64", "3.22.1"
RELEASE = "v0.5.0"
ROOM = 512  # bytes offered for a struct of defaults; none is as long
CTX_STEP = 256  # the library rounds the length of a context up to a multiple of this
FLASH = {0: "disabled", 1: "enabled"}
VARIANT = re.compile(r"libggml-cpu-(\w+)\.so")


class PeerError(Exception):
    """The library has another layout, or its settings are not those asked for."""


def layout(*groups):
    """Fields and recorded defaults from groups of (type, "name name=default ...")."""
    fields, defaults = [], {}
    for ctype, names in groups:
        for word in names.split():
            name, _, value = word.partition("=")
            fields.append((name, ctype))
            defaults[name] = None if ctype is C.c_void_p else ctype(
                float(value or 0) if ctype is C.c_float else int(value or 0)).value
    return fields, defaults


class ModelParams(C.Structure):
    """struct llama_model_params."""
    _fields_, DEFAULTS = layout(
        (C.c_void_p, "devices overrides"),
        (C.c_int32, "n_gpu_layers=-1 split_mode=1 load_mode=-1 lazy_mode=1 main_gpu"),
        (C.c_void_p, "tensor_split progress progress_arg kv"),
        (C.c_bool, "vocab_only check_tensors use_extra_bufts=1 no_host no_alloc load_mtp"))


class ContextParams(C.Structure):
    """struct llama_context_params."""
    _fields_, DEFAULTS = layout(
        (C.c_uint32, "n_ctx=512 n_batch=2048 n_ubatch=512 n_seq_max=1 n_rs_seq n_outputs_max "
                     "n_outputs_max_per_seq=1"),
        (C.c_int32, "n_threads=4 n_threads_batch=4 ctx_type rope_scaling=-1 pooling=-1 "
                    "attention=-1 flash=-1"),
        (C.c_float, "rope_base rope_scale yarn_ext=-1 yarn_attn=-1 yarn_fast=-1 yarn_slow=-1"),
        (C.c_uint32, "yarn_ctx"), (C.c_float, "defrag=-1"), (C.c_void_p, "cb cb_arg"),
        (C.c_int32, "type_k=1 type_v=1"), (C.c_void_p, "abort abort_arg"),
        (C.c_bool, "embeddings offload_kqv=1 no_perf=1 op_offload=1 swa_full=1 kv_unified"),
        (C.c_void_p, "samplers"), (C.c_size_t, "n_samplers"), (C.c_void_p, "ctx_other"))


class Batch(C.Structure):
    _fields_ = [("n", C.c_int32)] + [(n, C.c_void_p) for n in ("token", "embd", "pos", "n_seq_id",
                                                               "seq_id", "logits")]


LOG = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)
PARAMS = {"llama_model_default_params": ModelParams, "llama_context_default_params": ContextParams}


# ---- the layout of the structs ----

def written(function):
    """The bytes that a function writes to the struct it returns; None: a byte it does not write.

    On x86-64 such a function takes the address of the result as a hidden first argument.
    """
    function.restype, function.argtypes = C.c_void_p, [C.c_void_p]
    looks = []
    for fill in (0xa5, 0x5a):
        room = (C.c_uint8 * ROOM)(*[fill] * ROOM)
        function(room)
        looks.append(bytes(room))
    return [x if x == y else None for x, y in zip(*looks)]


def check_layout(struct, data):
    """Compares the place and the default of each field with data, the result of written()."""
    name, taken = struct.__name__, set()
    size = C.sizeof(struct)
    value = struct.from_buffer_copy(bytes(x or 0 for x in data[:size]))
    for field, _ in struct._fields_:
        place = getattr(struct, field)
        span = range(place.offset, place.offset + place.size)
        taken.update(span)
        if any(data[i] is None for i in span):
            raise PeerError(f"{name}.{field} at byte {place.offset}: the library writes nothing "
                            f"there; its layout is not that of {RELEASE}")
        if getattr(value, field) != struct.DEFAULTS[field]:
            raise PeerError(f"{name}.{field} at byte {place.offset} is {getattr(value, field)}, "
                            f"{RELEASE} has {struct.DEFAULTS[field]}; the layout differs")
    more = [i for i, x in enumerate(data) if x is not None and i not in taken]
    if more:
        raise PeerError(f"{name}: the library writes byte {more[0]}, where {RELEASE} has no field; "
                        "the layout differs")


# ---- the library ----

def cache():
    return os.path.join(os.environ.get("LLAMAD_CACHE", os.path.expanduser("~/.cache/llamad")),
                        "peers")


def find(fetch=False):
    """Folder of the library, or None."""
    libs = os.path.join(cache(), "node_modules", PACKAGE, "bins", "linux-x64")
    if not os.path.isdir(libs) and fetch:
        if not shutil.which("npm"):
            raise PeerError("npm is missing: install it, or give the folder of libllama as --libs")
        os.makedirs(cache(), exist_ok=True)
        print(f"fetching {PACKAGE} {VERSION}", file=sys.stderr)
        subprocess.run(["npm", "install", "--ignore-scripts", "--no-save", "--prefix", cache(),
                        f"{PACKAGE}@{VERSION}"], check=True, stdout=sys.stderr)
    return libs if os.path.isdir(libs) else None


def load(folder, pattern):
    found = sorted(glob.glob(os.path.join(folder, pattern)))
    if not found:
        raise PeerError(f"{folder}: there is no {pattern}")
    return C.CDLL(found[0], C.RTLD_GLOBAL)


def declare(lib, restype, argtypes, *names):
    for name in names:
        function = getattr(lib, name)
        function.restype, function.argtypes = restype, argtypes


def silence(lib):
    """Drops log lines without calling Python for each: the callback is libc's abs."""
    lib.llama_log_set(C.cast(C.CDLL(None).abs, C.c_void_p), None)


def open_library(folder, params=None):
    """The library with its types set, and objects that must live as long as it."""
    params = params or PARAMS
    keep = load(folder, "libggml-base*.so*"), load(folder, "libggml.*so*")
    lib = load(folder, "libllama.*so*")
    for name, struct in params.items():
        function = getattr(lib, name)
        if platform.machine() != "x86_64":
            raise PeerError(f"{platform.machine()}: the layout is only known for x86_64")
        check_layout(struct, written(function))
        function.restype, function.argtypes = struct, []
    model, context = (params[n] for n in PARAMS)
    declare(lib, None, [C.c_void_p, C.c_void_p], "llama_log_set")
    silence(lib)
    keep[1].ggml_backend_load_all_from_path(folder.encode())
    declare(lib, C.c_void_p, [C.c_char_p, model], "llama_model_load_from_file")
    declare(lib, C.c_void_p, [C.c_void_p, context], "llama_init_from_model")
    declare(lib, Batch, [C.c_void_p, C.c_int32], "llama_batch_get_one")
    declare(lib, C.c_int32, [C.c_void_p, Batch], "llama_decode")
    declare(lib, C.c_void_p, [C.c_void_p], "llama_get_memory", "llama_model_get_vocab")
    declare(lib, None, [C.c_void_p, C.c_bool], "llama_memory_clear")
    declare(lib, None, [C.c_void_p], "llama_synchronize", "llama_free", "llama_model_free")
    declare(lib, C.c_int32, [C.c_void_p], "llama_n_threads", "llama_n_threads_batch",
            "llama_vocab_n_tokens")
    declare(lib, C.c_uint32, [C.c_void_p], "llama_n_ctx", "llama_n_batch", "llama_n_ubatch",
            "llama_n_seq_max")
    declare(lib, C.c_char_p, [], "llama_print_system_info", "llama_version")
    return lib, keep


def decode(lib, ctx, tokens):
    array = (C.c_int32 * len(tokens))(*tokens)
    status = lib.llama_decode(ctx, lib.llama_batch_get_one(array, len(tokens)))
    if status:
        raise PeerError(f"llama_decode: status {status}")


def decode_together(lib, ctx, tokens, pos):
    """Token tokens[i] at position pos of sequence i, all in one batch, each with its logits."""
    n = len(tokens)
    ids = [(C.c_int32 * 1)(i) for i in range(n)]
    arrays = ((C.c_int32 * n)(*tokens), None, (C.c_int32 * n)(*[pos] * n), (C.c_int32 * n)(*[1] * n),
              (C.c_void_p * n)(*[C.addressof(x) for x in ids]), (C.c_int8 * n)(*[1] * n))
    batch = Batch(n, *[C.addressof(x) if x is not None else None for x in arrays])
    status = lib.llama_decode(ctx, batch)
    if status:
        raise PeerError(f"llama_decode: status {status}")


def fill(lib, ctx, tokens, seq):
    """All tokens of sequence seq from position 0 on, with the logits of the last."""
    n = len(tokens)
    one = (C.c_int32 * 1)(seq)
    arrays = ((C.c_int32 * n)(*tokens), None, (C.c_int32 * n)(*range(n)), (C.c_int32 * n)(*[1] * n),
              (C.c_void_p * n)(*[C.addressof(one)] * n), (C.c_int8 * n)(*[0] * (n - 1), 1))
    batch = Batch(n, *[C.addressof(x) if x is not None else None for x in arrays])
    status = lib.llama_decode(ctx, batch)
    if status:
        raise PeerError(f"llama_decode: status {status}")


# ---- the settings of a context ----

def variants(folder):
    """Names of the variants of the CPU backend with the best score on this machine."""
    import _ctypes
    scores = {}
    for path in glob.glob(os.path.join(folder, "libggml-cpu-*.so")):
        handle = C.CDLL(path)
        scores[VARIANT.search(path).group(1)] = handle.ggml_backend_score()
        _ctypes.dlclose(handle._handle)
    best = max(scores.values(), default=0)
    return {name for name, score in scores.items() if score == best and score > 0}


def mapped():
    """Variants of the CPU backend in the memory of this process."""
    with open("/proc/self/maps", encoding="utf-8") as f:
        return set(VARIANT.findall(f.read()))


def told(log, key):
    """The value of a line "llama_context: KEY = VALUE"."""
    found = re.findall(rf"^llama_context: +{key} += +(.*)$", log, re.M)
    return found[-1].strip() if found else "not logged"


def settings(lib, ctx, log):
    """The settings that a context reports; log: the lines that it wrote when it was made."""
    return {"threads": lib.llama_n_threads(ctx), "threads_batch": lib.llama_n_threads_batch(ctx),
            "ctx": lib.llama_n_ctx(ctx), "batch": lib.llama_n_batch(ctx),
            "ubatch": lib.llama_n_ubatch(ctx), "seq_max": lib.llama_n_seq_max(ctx),
            "causal_attn": told(log, "causal_attn"), "flash_attn": told(log, "flash_attn"),
            "flash_in_graph": "(FLASH_ATTN_EXT)" in log, "cpu": ",".join(sorted(mapped()))}


def check_settings(have, want):
    """want: a value or a set of allowed ones for each key."""
    for key, value in want.items():
        allowed = value if isinstance(value, set) else {value}
        if have[key] not in allowed:
            raise PeerError(f"llama.cpp uses {key} = {have[key]}, asked for was "
                            f"{' or '.join(sorted(map(str, allowed)))}; nothing is measured")


def context_params(lib, n_ctx, threads, flash, n_seq=1):
    """Parameters of a context for n_seq sequences of n_ctx tokens, rounded up, and the settings
    that it must report."""
    p = lib.llama_context_default_params()
    p.n_ctx = p.n_batch = -(-n_ctx // CTX_STEP) * CTX_STEP * n_seq
    p.n_seq_max = n_seq
    p.n_threads = p.n_threads_batch = threads
    p.flash = flash
    p.swa_full = False  # as llama.cpp's own programs have it
    return p, {"threads": threads, "threads_batch": threads, "ctx": p.n_ctx, "batch": p.n_batch,
               "ubatch": min(512, p.n_ctx), "seq_max": n_seq, "causal_attn": "1",
               "flash_attn": FLASH[flash], "flash_in_graph": bool(flash)}


def open_context(lib, model, folder, n_ctx, threads, flash, n_seq=1):
    """A context whose settings were checked, and these settings."""
    best, lines = variants(folder), []
    p, want = context_params(lib, n_ctx, threads, flash, n_seq)
    log = LOG(lambda level, text, arg: lines.append(text))
    lib.llama_log_set(C.cast(log, C.c_void_p), None)
    ctx = lib.llama_init_from_model(model, p)
    silence(lib)
    if not ctx:
        raise PeerError(f"llama.cpp makes no context of {p.n_ctx} tokens")
    have = settings(lib, ctx, b"".join(lines).decode(errors="replace"))
    check_settings(have, dict(want, cpu=best))
    have["version"] = lib.llama_version().decode()
    return ctx, have


def main():
    if sys.argv[1:] not in (["--find"], ["--fetch"]):
        sys.exit(__doc__)
    try:
        folder = find(fetch=sys.argv[1] == "--fetch")
    except PeerError as e:
        sys.exit(str(e))
    if not folder:
        sys.exit(f"{PACKAGE} {VERSION} is not in {cache()}: fetch it with --fetch")
    print(folder)


if __name__ == "__main__":
    main()

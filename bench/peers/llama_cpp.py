#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times llama.cpp's own library: prompt of P tokens, then N tokens one by one.

    llama_cpp.py LIBDIR MODEL -p 512 -n 64 -t 2 -r 3

LIBDIR holds libllama and its backends as the npm package @node-llama-cpp/linux-x64 ships them.
One JSON object on standard output: {"pp512": [tokens/s, ...], "tg64": [...]}.  Only the fields that
the measurement needs are set; everything else is the library's default.  The layout of the
parameter structs is that of release v0.5.0 and is checked against its known defaults.
"""
import argparse
import ctypes as C
import glob
import json
import os
import sys
import time


class ModelParams(C.Structure):
    _fields_ = [("devices", C.c_void_p), ("overrides", C.c_void_p), ("n_gpu_layers", C.c_int32),
                ("split_mode", C.c_int), ("main_gpu", C.c_int32), ("tensor_split", C.c_void_p),
                ("progress", C.c_void_p), ("progress_arg", C.c_void_p), ("kv", C.c_void_p),
                ("flags", C.c_bool * 8), ("spare", C.c_uint8 * 64)]


class ContextParams(C.Structure):
    _fields_ = [(n, C.c_uint32) for n in ("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "n_rs_seq",
                                          "n_outputs_max")] + \
               [("n_threads", C.c_int32), ("n_threads_batch", C.c_int32)] + \
               [(n, C.c_int) for n in ("ctx_type", "rope_scaling", "pooling", "attention",
                                       "flash")] + \
               [(n, C.c_float) for n in ("rope_base", "rope_scale", "yarn_ext", "yarn_attn",
                                         "yarn_fast", "yarn_slow")] + \
               [("yarn_ctx", C.c_uint32), ("defrag", C.c_float), ("cb", C.c_void_p),
                ("cb_arg", C.c_void_p), ("type_k", C.c_int), ("type_v", C.c_int),
                ("abort", C.c_void_p), ("abort_arg", C.c_void_p), ("flags", C.c_bool * 6),
                ("samplers", C.c_void_p), ("n_samplers", C.c_size_t), ("spare", C.c_uint8 * 64)]


class Batch(C.Structure):
    _fields_ = [("n", C.c_int32)] + [(n, C.c_void_p) for n in ("token", "embd", "pos", "n_seq_id",
                                                               "seq_id", "logits")]


def open_library(folder):
    base = C.CDLL(glob.glob(os.path.join(folder, "libggml-base*.so*"))[0], C.RTLD_GLOBAL)
    ggml = C.CDLL([p for p in glob.glob(os.path.join(folder, "libggml.*so*"))][0], C.RTLD_GLOBAL)
    lib = C.CDLL(glob.glob(os.path.join(folder, "libllama.*so*"))[0], C.RTLD_GLOBAL)
    quiet = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)(lambda level, text, arg: None)
    lib.llama_log_set(quiet, None)
    ggml.ggml_backend_load_all_from_path(folder.encode())
    lib.llama_model_default_params.restype = ModelParams
    lib.llama_context_default_params.restype = ContextParams
    lib.llama_model_load_from_file.restype = C.c_void_p
    lib.llama_model_load_from_file.argtypes = [C.c_char_p, ModelParams]
    lib.llama_init_from_model.restype = C.c_void_p
    lib.llama_init_from_model.argtypes = [C.c_void_p, ContextParams]
    lib.llama_batch_get_one.restype = Batch
    lib.llama_batch_get_one.argtypes = [C.c_void_p, C.c_int32]
    lib.llama_decode.argtypes = [C.c_void_p, Batch]
    lib.llama_get_memory.restype = C.c_void_p
    lib.llama_get_memory.argtypes = [C.c_void_p]
    lib.llama_memory_clear.argtypes = [C.c_void_p, C.c_bool]
    lib.llama_synchronize.argtypes = [C.c_void_p]
    return lib, (base, ggml, quiet)


def decode(lib, ctx, tokens):
    array = (C.c_int32 * len(tokens))(*tokens)
    status = lib.llama_decode(ctx, lib.llama_batch_get_one(array, len(tokens)))
    if status:
        sys.exit(f"llama_decode: status {status}")


def rate(lib, ctx, work, tokens):
    begin = time.perf_counter()
    work()
    lib.llama_synchronize(ctx)
    return tokens / (time.perf_counter() - begin)


def resident():
    kib = {k: int(v.split()[0]) for k, _, v in (line.partition(":") for line in
                                                open("/proc/self/status")) if v.endswith("kB\n")}
    return kib["VmRSS"] * 1024, kib["RssAnon"] * 1024


def load(a, lib):
    """Milliseconds until model and context are there, and until a first token is decoded."""
    before = resident()
    begin = time.perf_counter()
    model = lib.llama_model_load_from_file(a.model.encode(), lib.llama_model_default_params())
    p = lib.llama_context_default_params()
    p.n_ctx = a.load
    p.n_threads = p.n_threads_batch = a.t
    ctx = lib.llama_init_from_model(model, p) if model else None
    if not ctx:
        sys.exit(f"{a.model}: llama.cpp cannot load it")
    ready = time.perf_counter()
    after = resident()
    decode(lib, ctx, [1])
    lib.llama_synchronize(ctx)
    first = time.perf_counter()
    rss, own = (x - y for x, y in zip(after, before))
    print(json.dumps({"load": (ready - begin) * 1e3, "first": (first - begin) * 1e3, "rss": rss,
                      "rss_own": own}))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("libdir")
    a.add_argument("model")
    a.add_argument("-p", type=int, default=512)
    a.add_argument("-n", type=int, default=64)
    a.add_argument("-t", type=int, default=2)
    a.add_argument("-r", type=int, default=3)
    a.add_argument("--flash", type=int, default=1, help="1: flash attention, 0: without, -1: auto")
    a.add_argument("--load", type=int, metavar="CTX", help="time loading with a context of CTX")
    a = a.parse_args()
    lib, keep = open_library(a.libdir)
    if a.load:
        return load(a, lib)
    model = lib.llama_model_load_from_file(a.model.encode(), lib.llama_model_default_params())
    if not model:
        sys.exit(f"{a.model}: llama.cpp cannot load it")
    p = lib.llama_context_default_params()
    if (p.n_ctx, p.n_batch, p.n_ubatch, p.n_seq_max) != (512, 2048, 512, 1) or p.type_k != 1:
        sys.exit("the library's parameters have another layout than that of v0.5.0")
    p.n_ctx = a.p + a.n + 8
    p.n_threads = p.n_threads_batch = a.t
    p.flash = a.flash
    ctx = lib.llama_init_from_model(model, p)
    if not ctx:
        sys.exit("llama_init_from_model failed")
    memory = lib.llama_get_memory(ctx)
    prompt = [1 + i * 7919 % 1000 for i in range(a.p)]
    out = {f"pp{a.p}": [], f"tg{a.n}": []}
    decode(lib, ctx, prompt[:8])  # warm
    for _ in range(a.r):
        lib.llama_memory_clear(memory, True)
        out[f"pp{a.p}"].append(rate(lib, ctx, lambda: decode(lib, ctx, prompt), a.p))
        lib.llama_memory_clear(memory, True)
        decode(lib, ctx, prompt[:1])
        out[f"tg{a.n}"].append(rate(lib, ctx, lambda: [decode(lib, ctx, [2 + i % 500])
                                                       for i in range(a.n)], a.n))
    print(json.dumps(out))


if __name__ == "__main__":
    main()

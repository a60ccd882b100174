#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that llama.cpp accepts split and merged files written by llamactl.

    tests/interop/llama_cpp_sets.py LIBDIR LLAMACTL MODEL...

Splits each model by number of tensors and by size, merges it again, and loads every form with
llama.cpp's library: the number of parameters, the bytes of tensors and the logits after some tokens
must be identical to those of the original.  LIBDIR is the folder of libllama (see
bench/peers/compare).
"""
import ctypes as C
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "bench", "peers"))
import llama_cpp  # noqa: E402

TOKENS = [1, 7, 42, 3, 9, 27]


def look(lib, path):
    mp = lib.llama_model_default_params()
    model = lib.llama_model_load_from_file(path.encode(), mp)
    if not model:
        return None
    cp = lib.llama_context_default_params()
    cp.n_ctx = 64
    ctx = lib.llama_init_from_model(model, cp)
    llama_cpp.decode(lib, ctx, TOKENS)
    vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
    logits = lib.llama_get_logits_ith(ctx, -1)
    facts = (lib.llama_model_n_params(model), lib.llama_model_size(model),
             C.string_at(logits, 4 * vocab))
    lib.llama_free(ctx)
    lib.llama_model_free(model)
    return facts


def main():
    libdir, ctl, *models = sys.argv[1:]
    lib, _keep = llama_cpp.open_library(libdir)
    lib.llama_model_n_params.restype = lib.llama_model_size.restype = C.c_uint64
    for name in ("llama_model_n_params", "llama_model_size", "llama_model_free"):
        getattr(lib, name).argtypes = [C.c_void_p]
    lib.llama_model_get_vocab.restype = C.c_void_p
    lib.llama_model_get_vocab.argtypes = [C.c_void_p]
    lib.llama_vocab_n_tokens.argtypes = [C.c_void_p]
    lib.llama_get_logits_ith.restype = C.c_void_p
    lib.llama_get_logits_ith.argtypes = [C.c_void_p, C.c_int32]
    lib.llama_free.argtypes = [C.c_void_p]
    failed = 0
    for model in models:
        with tempfile.TemporaryDirectory() as d:
            want = look(lib, model)
            if not want:
                sys.exit(f"{model}: llama.cpp cannot load it")

            def cut(name, source, *how):
                out = subprocess.run([ctl, "split", source, f"{d}/{name}", *how], check=True,
                                     capture_output=True, text=True).stdout
                return out.splitlines()[0].split(": ")[0]

            half = str(os.path.getsize(model) // 3)
            forms = {"by number": cut("n", model, "--split-max-tensors", "20"),
                     "by size": cut("s", model, "--split-max-size", half),
                     "keys alone": cut("k", model, "--split-max-tensors", "50",
                                       "--no-tensor-first-split")}
            forms["cut anew"] = cut("a", forms["by number"], "--split-max-tensors", "90")
            merged = f"{d}/merged.gguf"
            subprocess.run([ctl, "merge", forms["by size"], merged], check=True)
            forms["merged"] = merged
            for name, path in forms.items():
                good = look(lib, path) == want
                failed += not good
                print(f"{'ok' if good else 'FAIL'}  {os.path.basename(model)}  {name}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

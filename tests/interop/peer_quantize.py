#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs llama.cpp's quantiser through its library function llama_model_quantize.

    peer_quantize.py LIBDIR IN OUT FTYPE [--threads N] [--imatrix DAT] [--verbose]

FTYPE is the number of general.file_type.  LIBDIR contains libllama of release v0.5.0 from the npm
package @node-llama-cpp/linux-x64; the layout of the parameters is checked against their defaults.
Prints wall time and CPU time of the call in seconds.  The exit status is 1 if the library fails.
"""
import argparse
import ctypes as C
import glob
import os
import struct
import sys
import time

N_TYPES = 43  # one past the tensor types: "no type given"


class Imatrix(C.Structure):
    _fields_ = [("name", C.c_char_p), ("data", C.POINTER(C.c_float)), ("size", C.c_size_t)]


class Rule(C.Structure):
    _fields_ = [("pattern", C.c_char_p), ("type", C.c_int)]


class Params(C.Structure):
    _fields_ = [("nthread", C.c_int32), ("ftype", C.c_int), ("output_tensor_type", C.c_int),
                ("token_embedding_type", C.c_int), ("allow_requantize", C.c_bool),
                ("quantize_output_tensor", C.c_bool), ("only_copy", C.c_bool), ("pure", C.c_bool),
                ("keep_split", C.c_bool), ("dry_run", C.c_bool), ("imatrix", C.c_void_p),
                ("kv", C.c_void_p), ("rules", C.c_void_p), ("prune", C.c_void_p)]


def read_dat(path):
    """Reads the entries of an importance matrix in the older format, as means."""
    data = open(path, "rb").read()
    at, out = 4, []
    for _ in range(struct.unpack_from("<i", data)[0]):
        n, = struct.unpack_from("<i", data, at)
        name = data[at + 4:at + 4 + n]
        at += 4 + n
        calls, n = struct.unpack_from("<ii", data, at)
        values = struct.unpack_from(f"<{n}f", data, at + 8)
        at += 8 + 4 * n
        out.append((name, [v / calls for v in values]))
    return out


class Peer:
    def __init__(self, libdir, verbose=False):
        def load(pattern):
            return C.CDLL(glob.glob(os.path.join(libdir, pattern))[0], C.RTLD_GLOBAL)

        self.keep = [load("libggml-base*.so*"), load("libggml.*so*")]
        self.lib = lib = load("libllama.*so*")
        log = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)
        self.say = log(lambda level, text, arg: verbose and
                       sys.stderr.write(text.decode(errors="replace")))
        lib.llama_log_set(self.say, None)
        lib.llama_model_quantize_default_params.restype = Params
        lib.llama_model_quantize.argtypes = [C.c_char_p, C.c_char_p, C.POINTER(Params)]
        p = lib.llama_model_quantize_default_params()
        flags = (p.quantize_output_tensor, p.only_copy, p.pure, p.keep_split, p.dry_run)
        if (p.output_tensor_type, p.token_embedding_type) != (N_TYPES, N_TYPES) or \
                flags != (True, False, False, False, False) or p.imatrix or p.prune:
            raise SystemExit("llama_model_quantize_params has another layout than in v0.5.0")

    def warm(self):
        """Creates the search tables of the IQ types once in this process, not in every child."""
        for kind in (16, 17, 18, 19, 21, 22, 29):
            self.keep[0].ggml_quantize_init(kind)

    def params(self, ftype, threads=1, imatrix=None, rules=(), prune=(), **fields):
        p = self.lib.llama_model_quantize_default_params()
        p.nthread, p.ftype, p.allow_requantize = threads, ftype, True
        for name, value in fields.items():
            setattr(p, name, value)
        if imatrix:
            rows = read_dat(imatrix)
            table = (Imatrix * (len(rows) + 1))()
            for i, (name, values) in enumerate(rows):
                array = (C.c_float * len(values))(*values)
                self.keep.append(array)
                table[i] = Imatrix(name, C.cast(array, C.POINTER(C.c_float)), len(values))
            self.keep.append(table)
            p.imatrix = C.cast(table, C.c_void_p)
        if rules:
            table = (Rule * (len(rules) + 1))(*[Rule(r.encode(), t) for r, t in rules])
            self.keep.append(table)
            p.rules = C.cast(table, C.c_void_p)
        if prune:
            table = (C.c_int32 * (len(prune) + 1))(*prune, -1)
            self.keep.append(table)
            p.prune = C.cast(table, C.c_void_p)
        return p

    def run(self, src, dst, p):
        return self.lib.llama_model_quantize(src.encode(), dst.encode(), C.byref(p)) == 0

    def run_apart(self, src, dst, p):
        """Runs in a child process, because the library exits if it does not support a shape."""
        child = os.fork()
        if not child:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            os._exit(0 if self.run(src, dst, p) else 1)
        return os.waitpid(child, 0)[1] == 0


def main():
    a = argparse.ArgumentParser()
    a.add_argument("libdir")
    a.add_argument("input")
    a.add_argument("output")
    a.add_argument("ftype", type=int)
    a.add_argument("--threads", type=int, default=1)
    a.add_argument("--imatrix")
    a.add_argument("--verbose", action="store_true")
    a = a.parse_args()
    peer = Peer(a.libdir, a.verbose)
    p = peer.params(a.ftype, threads=a.threads, imatrix=a.imatrix)
    begin, busy = time.perf_counter(), time.process_time()
    if not peer.run(a.input, a.output, p):
        return 1
    print(f"{time.perf_counter() - begin:.3f} {time.process_time() - busy:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

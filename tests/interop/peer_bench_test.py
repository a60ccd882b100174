#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The checks that bench/peers makes before it measures llama.cpp, with and without its library."""
import ctypes as C
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "peers")
sys.path.insert(0, PEERS)
import llama_cpp  # noqa: E402
import turns  # noqa: E402
from llama_cpp import ContextParams, ModelParams, PeerError  # noqa: E402

LIBS = os.environ.get("LMD_TEST_LLAMA_CPP") or llama_cpp.find()
MODEL = os.path.join(os.path.dirname(llama_cpp.cache()), "models",
                     "SmolLM2-135M-Instruct.Q4_1.gguf")

# The bytes that llama_model_default_params and llama_context_default_params of v0.5.0 write, with
# ".." for each byte that they do not write.
RECORDED = {
    ModelParams: "0000000000000000 0000000000000000 ffffffff01000000 ffffffff01000000"
                 "00000000........ 0000000000000000 0000000000000000 0000000000000000"
                 "0000000000000000 000001000000",
    ContextParams: "0002000000080000 0002000001000000 0000000000000000 0100000004000000"
                   "0400000000000000 ffffffffffffffff ffffffffffffffff 0000000000000000"
                   "000080bf000080bf 000080bf000080bf 00000000000080bf 0000000000000000"
                   "0000000000000000 0100000001000000 0000000000000000 0000000000000000"
                   "000101010100.... 0000000000000000 0000000000000000 0000000000000000"}


def recorded(struct):
    text = RECORDED[struct].replace(" ", "")
    data = [None if text[i] == "." else int(text[i:i + 2], 16) for i in range(0, len(text), 2)]
    return data + [None] * (llama_cpp.ROOM - len(data))


def without(struct, name):
    """The struct without a field."""
    class Wrong(C.Structure):
        _fields_ = [f for f in struct._fields_ if f[0] != name]
        DEFAULTS = struct.DEFAULTS
    return Wrong


class Layout(unittest.TestCase):
    def test_recorded(self):
        for struct in RECORDED:
            llama_cpp.check_layout(struct, recorded(struct))

    def test_missing_field(self):
        """A layout without any one of the fields is refused."""
        for struct in RECORDED:
            for name, _ in struct._fields_:
                with self.subTest(name), self.assertRaises(PeerError):
                    llama_cpp.check_layout(without(struct, name), recorded(struct))
        with self.assertRaisesRegex(PeerError, "n_threads at byte 24 is 1, v0.5.0 has 4"):
            llama_cpp.check_layout(without(ContextParams, "n_outputs_max_per_seq"),
                                   recorded(ContextParams))

    def test_other_default(self):
        data = recorded(ContextParams)
        data[ContextParams.flash.offset] = 0
        with self.assertRaisesRegex(PeerError, "flash at byte 52"):
            llama_cpp.check_layout(ContextParams, data)

    def test_field_behind(self):
        """A library whose struct has one more field is refused."""
        data = recorded(ContextParams)
        data[C.sizeof(ContextParams):C.sizeof(ContextParams) + 8] = [0] * 8
        with self.assertRaisesRegex(PeerError, "byte 160, where v0.5.0 has no field"):
            llama_cpp.check_layout(ContextParams, data)


LINES = ("llama_context: n_ctx                 = 512\n"
         "llama_context: causal_attn           = {causal}\n"
         "llama_context: flash_attn            = {flash}\n"
         "graph: 'attn_inp_kq_mask' is used by node 'node_21' ({op})\n")


class FakeLibrary:
    """Reports the parameters of the context, except for those that the test overrides."""

    def __init__(self, **other):
        self.other = other

    def __getattr__(self, name):
        key = name.removeprefix("llama_")
        return lambda ctx: self.other.get(key, getattr(self.p, key))

    def llama_context_default_params(self):
        return ContextParams(n_seq_max=1, n_ubatch=512, flash=-1)

    def llama_log_set(self, callback, arg):
        self.log = C.cast(callback, llama_cpp.LOG)

    def llama_version(self):
        return b"fake"

    def llama_init_from_model(self, model, p):
        self.p = p
        lines = LINES.format(causal=self.other.get("causal", 1),
                             flash=self.other.get("told", llama_cpp.FLASH[p.flash]),
                             op=self.other.get("op", "FLASH_ATTN_EXT" if p.flash else "SOFT_MAX"))
        for line in lines.splitlines(True):
            self.log(2, line.encode(), None)
        return 1


class Settings(unittest.TestCase):
    def setUp(self):
        self.saved = llama_cpp.variants, llama_cpp.mapped
        llama_cpp.variants = llama_cpp.mapped = lambda folder=None: {"zen4"}

    def tearDown(self):
        llama_cpp.variants, llama_cpp.mapped = self.saved

    def open(self, flash=1, **other):
        return llama_cpp.open_context(FakeLibrary(**other), None, "folder", 512, 2, flash)[1]

    def test_as_asked(self):
        for flash in (0, 1):
            have = self.open(flash)
            self.assertEqual((have["threads"], have["threads_batch"], have["ctx"]), (2, 2, 512))
            self.assertEqual(have["flash_attn"], llama_cpp.FLASH[flash])

    def test_refused(self):
        for key, other in (("threads", {"n_threads": 4}), ("threads_batch", {"n_threads_batch": 4}),
                           ("ctx", {"n_ctx": 256}), ("batch", {"n_batch": 8}),
                           ("ubatch", {"n_ubatch": 64}), ("seq_max", {"n_seq_max": 2}),
                           ("causal_attn", {"causal": 0}), ("flash_attn", {"told": "auto"}),
                           ("flash_in_graph", {"op": "SOFT_MAX"})):
            with self.subTest(key), self.assertRaisesRegex(PeerError, f"uses {key} = "):
                self.open(**other)

    def test_nothing_logged(self):
        with self.assertRaisesRegex(PeerError, "causal_attn = not logged"):
            llama_cpp.check_settings({"causal_attn": llama_cpp.told("", "causal_attn")},
                                     {"causal_attn": "1"})

    def test_slow_variant(self):
        llama_cpp.mapped = lambda: {"x64"}
        with self.assertRaisesRegex(PeerError, "cpu = x64, asked for was zen4"):
            self.open()


def run(side, value, other):
    return {"side": side, "tests": {"pp512": value}, "settings": None, "cpu_s": 1.0,
            "foreign": other, "steal": 0.0}


class Turns(unittest.TestCase):
    def round(self, noises, repeats=2):
        sides, it = [], iter(noises)

        def one(side):
            if len(sides) % 4 == 0:
                self.now = next(it)
            sides.append(side)
            return run(side, 1.0, self.now)
        runs, noisy = turns.quiet_round(types.SimpleNamespace(repeats=repeats), 0, one)
        return sides, runs[0]["foreign"], noisy

    def test_repeats(self):
        sides, kept, noisy = self.round([0.3, 0.01, 0.0])
        self.assertEqual(sides, [turns.OURS, turns.FLASH, turns.OURS, turns.PLAIN] * 2)
        self.assertEqual((kept, noisy), (0.01, False))
        self.assertEqual(self.round([0.3, 0.2, 0.4])[1:], (0.2, True))

    def test_better_cell(self):
        def rows(test, *values):
            return [dict(zip(turns.FIELDS, ("m", 2, test, side, 0, v, 1.0, 0.0, 0.0, 0)))
                    for side, v in zip((turns.OURS, turns.FLASH, turns.PLAIN), values)]
        fast, = turns.cells(rows("pp512", 300.0, 100.0, 150.0))
        self.assertEqual((fast["ratio"], fast["flash"]), (2.0, False))
        noisy = [dict(r, round=1, noisy=1, value=r["value"] * 9)
                 for r in rows("pp512", 300.0, 100.0, 150.0)[:2]]
        both, = turns.cells(rows("pp512", 300.0, 100.0, 150.0) + noisy)
        self.assertEqual((both["ratio"], both["noisy"], both["rounds"]), (2.0, False, 1))
        self.assertTrue(turns.cells(noisy + [dict(noisy[1], side=turns.PLAIN)])[0]["noisy"])
        soon, = turns.cells(rows("load", 10.0, 40.0, 50.0))
        self.assertEqual((soon["ratio"], soon["flash"]), (4.0, True))

    def test_tables(self):
        rows = [dict(zip(turns.FIELDS, ("m", 2, test, side, 0, 2.5, 1.0, 0.0, 0.0, 1)))
                for test in ("pp512", "tg64", "load", "first", "rss", "rss_own")
                for side in (turns.OURS, turns.FLASH, turns.PLAIN)]
        with tempfile.TemporaryDirectory() as d:
            table, docs = os.path.join(d, "x.csv"), os.path.join(d, "b.md")
            turns.write_csv(table, ["machine: M", "measured: today"], rows)
            self.assertEqual(turns.read_csv(table), (["machine: M", "measured: today"], rows))
            cmd = [sys.executable, "-B", os.path.join(PEERS, "table"), "--from", table,
                   "--docs", docs]
            begin, end = (f"<!-- bench/peers/table: {m} -->\n" for m in ("begin", "end"))
            with open(docs, "w", encoding="utf-8") as f:
                f.write(f"before\n{begin}old\n{end}after\n")
            refused = subprocess.run(cmd, check=False, capture_output=True, text=True)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("no round was quiet for m with 2 threads", refused.stderr)
            cmd.append("--noisy")
            looks = []
            for _ in range(2):
                subprocess.run(cmd, check=True, capture_output=True)
                with open(docs, encoding="utf-8") as f:
                    looks.append(f.read())
            self.assertEqual(looks[0], looks[1])
            self.assertTrue(looks[0].startswith("before\n") and looks[0].endswith("after\n"))
            self.assertIn("| m | pp512 | 2 | 2.5 (2 to 2) | 2.5 (2 to 2) | on | 1.00 * |", looks[0])
            self.assertNotIn("old", looks[0])
            with open(docs, "w", encoding="utf-8") as f:
                f.write("no marks\n")
            self.assertEqual(subprocess.run(cmd, check=False, capture_output=True).returncode, 1)


class Types(unittest.TestCase):
    """The table of types: bench/make_model makes every type that a file can have."""
    SMALL = ("--layers 1 --width 256 --ffn 256 --heads 4 --kv-heads 2 --vocab 300").split()
    MAKE = os.path.join(turns.TREE, "bench", "make_model")

    def test_complete(self):
        with open(os.path.join(turns.TREE, "include", "llamad", "dtypes.h"), encoding="utf-8") as f:
            want = set(re.findall(r"^\tX\(\w+, (\w+), \d+\)", f.read(), re.M))
        want -= {"f64", "i8", "i16", "i32", "i64", "q8_a", "q8_k", "q8_1", "f8_e4m3",
                 "q4_0_rot"}  # not of weights
        made = subprocess.run([sys.executable, "-B", self.MAKE, "--list"], check=True,
                              capture_output=True, text=True).stdout.split()
        self.assertGreater(len(want), 40)
        self.assertEqual(set(made), want)

    def test_check(self):
        """A type without a row is a failure, and so is one without llama.cpp's."""
        def rows(name, *sides):
            return [dict(zip(turns.FIELDS, (f"{name}.gguf", 2, "tg32", side, 0, 1.0, 1.0, 0.0, 0.0,
                                            0))) for side in sides]
        made = subprocess.run([sys.executable, "-B", self.MAKE, "--list"], check=True,
                              capture_output=True, text=True).stdout.split()
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "types.csv")
            cmd = [sys.executable, "-B", os.path.join(PEERS, "types"), "--check", "--csv", path]
            for lost in (None, "iq1_kt", "q4_0"):
                found = [r for n in made for r in rows(n, turns.OURS, *(
                    () if n == lost else (turns.FLASH, turns.PLAIN))) if n != lost or n == "q4_0"]
                turns.write_csv(path, [], found)
                r = subprocess.run(cmd, check=False, capture_output=True, text=True)
                self.assertEqual(r.returncode, int(lost is not None))
                self.assertIn(f"no row for {lost}" if lost else "", r.stderr)

    @unittest.skipUnless(os.path.exists(os.path.join(turns.TREE, "bench", "results", "types.csv")),
                         "the types have not been measured")
    def test_measured(self):
        subprocess.run([sys.executable, "-B", os.path.join(PEERS, "types"), "--check"], check=True)

    @unittest.skipUnless(LIBS, "there is no library of llama.cpp")
    def test_peer_loads(self):
        with tempfile.TemporaryDirectory() as d:
            for name in ("q4_k_m", "iq2_xxs", "nvfp4", "bf16"):
                path = os.path.join(d, name)
                subprocess.run([sys.executable, "-B", self.MAKE, path, "--type", name, *self.SMALL],
                               check=True, capture_output=True)
                for more in ([], ["--seqs", "2", "--depth", "5"]):
                    subprocess.run([sys.executable, "-B", os.path.join(PEERS, "llama_cpp_run"), LIBS,
                                    path, "-t", "1", "-p", "4", "-n", "2", *more], check=True,
                                   capture_output=True)


class Run(unittest.TestCase):
    def test_exit_status(self):
        with tempfile.TemporaryDirectory() as d:
            r = subprocess.run([sys.executable, "-B", os.path.join(PEERS, "llama_cpp_run"), d, "m"],
                               check=False, capture_output=True, text=True)
            self.assertEqual((r.returncode, r.stdout), (1, ""))
            self.assertIn("there is no libggml-base", r.stderr)


@unittest.skipUnless(LIBS, "there is no library of llama.cpp")
class RealLibrary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lib, cls.keep = llama_cpp.open_library(LIBS)

    def test_defaults(self):
        p = self.lib.llama_context_default_params()
        self.assertEqual((p.n_outputs_max_per_seq, p.n_threads, p.n_threads_batch, p.flash),
                         (1, 4, 4, -1))

    def test_missing_field(self):
        code = ("import sys; sys.path[:0] = sys.argv[1:3]; import llama_cpp, peer_bench_test as t\n"
                "wrong = t.without(t.ContextParams, 'n_outputs_max_per_seq')\n"
                "llama_cpp.open_library(sys.argv[3], dict(llama_cpp.PARAMS, "
                "llama_context_default_params=wrong))\n")
        here = os.path.dirname(os.path.abspath(__file__))
        r = subprocess.run([sys.executable, "-B", "-c", code, PEERS, here, LIBS], check=False,
                           capture_output=True, text=True)
        self.assertEqual(r.returncode, 1)
        self.assertIn("n_threads at byte 24 is 1, v0.5.0 has 4", r.stderr)

    @unittest.skipUnless(os.path.exists(MODEL), "there is no model")
    def test_settings(self):
        model = self.lib.llama_model_load_from_file(MODEL.encode(),
                                                    self.lib.llama_model_default_params())
        for threads, flash in ((1, 0), (3, 1)):
            ctx, have = llama_cpp.open_context(self.lib, model, LIBS, 300, threads, flash)
            self.assertEqual((have["threads"], have["threads_batch"], have["ctx"]),
                             (threads, threads, 512))
            self.assertEqual(have["flash_attn"], llama_cpp.FLASH[flash])
            self.lib.llama_free(ctx)
        self.lib.llama_model_free(model)



def script(name):
    """A program of bench/peers as a module."""
    loader = importlib.machinery.SourceFileLoader("peer_" + name, os.path.join(PEERS, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Servers(unittest.TestCase):
    """What bench/peers/requests and serving make of the output of others."""
    WRK = """Running 1s test @ http://127.0.0.1:1/health
  1 threads and 16 connections
  30000 requests in 1.00s, 3.00MB read
%sRequests/sec:  29917.50
"""

    def test_wrk(self):
        parse = script("requests").parse
        self.assertEqual(parse(self.WRK % ""), (30000, 29917.5))
        for wrong in ("  Non-2xx or 3xx responses: 4\n",
                      "  Socket errors: connect 0, read 3, write 0, timeout 0\n"):
            with self.subTest(wrong), self.assertRaisesRegex(SystemExit, wrong.strip()):
                parse(self.WRK % wrong)
        with self.assertRaises(SystemExit):
            parse("unable to connect")

    def test_serving_counts_tokens(self):
        """A server whose answers are shorter than asked for is no basis for a rate."""
        serving = script("serving")
        got = {"generation_tokens": 127, "answered": 2}
        server = types.SimpleNamespace(name="x", cpu_s=lambda: 0.0, fail=sys.exit)
        serving.bench_serve = lambda *_: got
        with self.assertRaisesRegex(SystemExit, "127 tokens in 2 answers, not 128"):
            serving.served(types.SimpleNamespace(requests=2), server, "shared", 1, 0)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs llamactl on hostile and unusual model files.

    tests/fuzz/hostile.py [--build DIR] [--every K] [--sanitized] [--models DIR] [--only TEXT]

Each file is passed to info, explain, tokenize, debug logits and run.  A failure is: a signal, an
assertion, a sanitizer report, an exit status other than 0 or 1, a run time of more than 10 s, more than
256 MiB above the memory for a valid model (except with --sanitized), an error message that does not name
the file, or one of info and explain that does not name the expected words (key or tensor, value).

--every K runs only each K-th file, --only those with TEXT in their names.  --models DIR gives models whose
architecture keys are corrupted; the default are those of tests/mktiny.  The exit status is 1 if anything
fails; the failing files are kept in the folder that is printed.
"""
import argparse
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gguf_bytes  # noqa: E402
import hostile_files  # noqa: E402

SECONDS = 10
MIB = 256
COMMANDS = (("info", "{}"), ("explain", "{}"), ("tokenize", "{}", "Hello, w\u00f6rld 123"),
            ("debug", "logits", "{}", "--tokens", "1,2,3", "-t", "1"),
            ("run", "{}", "-p", "Hi", "-n", "2", "--temp", "0", "-t", "1", "-c", "64"))
SIGNS = ("AddressSanitizer", "runtime error:", "LeakSanitizer", "Assertion", "assertion",
         "double free", "corrupted")


class Bench:
    def __init__(self, args, folder):
        self.a = args
        self.dir = folder
        self.slow = 12 if args.sanitized else 1
        self.n_files = self.n_runs = self.n_bad = 0
        self.refused = 0
        self.worst = (0, ""), (0, "")
        self.idle = 0
        self.env = dict(os.environ, ASAN_OPTIONS="abort_on_error=1:allocator_may_return_null=1",
                        UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")

    def call(self, words):
        """Returns exit status (or minus the signal), seconds, KiB, and the error output."""
        with open(f"{self.dir}/err", "wb+") as err, open(os.devnull, "r+b") as null:
            begin = time.monotonic()
            p = subprocess.Popen([self.a.llamactl, *words], stdin=null, stdout=null, stderr=err,
                                 env=self.env)
            timer = threading.Timer(SECONDS * self.slow, p.kill)
            timer.start()
            _, status, used = os.wait4(p.pid, 0)
            timer.cancel()
            p.returncode = os.waitstatus_to_exitcode(status)
            took = time.monotonic() - begin
            err.seek(0)
            return p.returncode, took, used.ru_maxrss, err.read(20000).decode(errors="replace")

    def bad(self, name, words, why):
        self.n_bad += 1
        print(f"FAIL: {name}: llamactl {' '.join(words)}: {why}", flush=True)

    def check(self, name, path, expect, shown=None):
        """shown: how error messages name the file, if not by its name."""
        shown = shown or os.path.basename(path)[:20]
        self.n_files += 1
        faults = self.n_bad
        for command in COMMANDS:
            words = [w.replace("{}", path) for w in command]
            status, took, kib, output = self.call(words)
            self.n_runs += 1
            over = (kib - self.idle) / 1024
            self.worst = (max(self.worst[0], (took, name)), max(self.worst[1], (over, name)))
            if status not in (0, 1) or any(s in output for s in SIGNS):
                self.bad(name, words, f"status {status}: {output[-1500:]}")
            elif took > SECONDS * self.slow:
                self.bad(name, words, f"{took:.1f} s")
            elif not self.a.sanitized and over > MIB:
                self.bad(name, words, f"{over:.0f} MiB")
            if status != 1:
                if expect and command[0] == "explain" and status == 0:
                    self.bad(name, words, "was accepted")
                continue
            self.refused += 1
            last = output.rstrip("\n").rsplit("\n", 1)[-1]
            if shown not in last:
                self.bad(name, words, f"does not name the file: {last}")
            if expect and command[0] in ("info", "explain") and not all(
                    w in last for w in expect):
                self.bad(name, words, f"does not name {expect}: {last}")
        return self.n_bad == faults

    def file(self, name, content, expect):
        path = f"{self.dir}/f{self.n_files}.gguf"
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.emit())
        if self.check(name, path, expect):
            os.unlink(path)


def not_files(b):
    d = b.dir

    def put(name, expect, make, path=None, shown=None):
        path = path or f"{d}/{name}.gguf"
        make(path)
        b.check(name, path, expect, shown)

    def link(to):
        return lambda path: os.symlink(to, path)

    put("fifo", ["regular file"], os.mkfifo)
    put("directory", None, os.mkdir)
    put("loop", ["loop"], lambda p: (os.symlink(p + "2", p), os.symlink(p, p + "2")))
    put("dangling", ["dangling"], link(f"{d}/nowhere"))
    put("zero", ["regular file"], link("/dev/zero"))
    put("random", ["regular file"], link("/dev/random"))
    put("stdin", None, link("/dev/stdin"))
    put("mem", [], link("/proc/self/mem"))
    put("newline", [], lambda p: None, f"{d}/new\nline.gguf", "new\\x0aline.gguf")
    put("long", [], lambda p: None, f"{d}/{'x' * 5000}")
    put("empty-file", [], lambda p: open(p, "w").close())
    s = socket.socket(socket.AF_UNIX)
    put("socket", ["regular file"], s.bind)
    s.close()

    def sparse(content):
        def make(path):
            with open(path, "wb") as f:
                f.write(content)
                f.truncate(1 << 40)
        return make

    head = b"GGUF\3\0\0\0"
    put("sparse", [], sparse(head))
    put("sparse-keys", [], sparse(head + bytes(8) + (1 << 20).to_bytes(8, "little")))
    put("sparse-tensors", [], sparse(head + (1 << 17).to_bytes(8, "little") + bytes(8)))
    for kind, n in ((8, 1 << 36), (0, 1 << 39), (12, 1 << 36), (7, 1 << 39)):
        put(f"sparse-array-{kind}", ["k"],
            sparse(head + bytes(8) + (1).to_bytes(8, "little") + gguf_bytes.text("k") +
                   (9).to_bytes(4, "little") + kind.to_bytes(4, "little") + n.to_bytes(8, "little")))


def sets(b, model):
    """Split models with a part that is missing, belongs to another set, or is not a regular file."""
    d = f"{b.dir}/set"

    def cut():
        subprocess.run(["rm", "-rf", d])
        os.mkdir(d)
        subprocess.run([b.a.llamactl, "split", model, f"{d}/s", "--split-max-tensors", "7"],
                       check=True, stdout=subprocess.DEVNULL)
        return sorted(f"{d}/{n}" for n in os.listdir(d))

    def damage(name, change, expect):
        parts = cut()
        change(parts)
        b.check(f"set-{name}", parts[0], expect, "/set/s-0000")  # the faulty part

    def key(part, name, kind, v):
        f = gguf_bytes.read(part)
        f.set(name, kind, gguf_bytes.number(kind, v))
        open(part, "wb").write(f.emit())

    def move(a, to):
        os.unlink(a)
        os.rename(to, a)

    damage("missing", lambda p: os.unlink(p[1]), ["00002"])
    damage("empty", lambda p: open(p[1], "w").close(), ["00002"])
    damage("turned", lambda p: (os.rename(p[1], d + "/x"), os.rename(p[2], p[1]),
                                os.rename(d + "/x", p[2])), ["split.no"])
    damage("itself", lambda p: (os.unlink(p[1]), os.symlink(p[0], p[1])), ["split.no"])
    damage("loop", lambda p: (os.unlink(p[1]), os.symlink(p[1], p[1])), ["00002"])
    damage("fifo", lambda p: (os.unlink(p[1]), os.mkfifo(p[1])), ["00002", "regular"])
    damage("folder", lambda p: (os.unlink(p[1]), os.mkdir(p[1])), ["00002", "regular"])
    damage("cut", lambda p: os.truncate(p[2], os.path.getsize(p[2]) - 100), ["00003"])
    damage("same", lambda p: (open(p[2], "wb").write(open(p[1], "rb").read())), ["split.no"])
    for v in (0, 1, 2, 1024, 1025, 65535):
        damage(f"count-{v}", lambda p, v=v: key(p[0], "split.count", 2, v), None)
    for v in (1, 65535):
        damage(f"no-{v}", lambda p, v=v: key(p[0], "split.no", 2, v), None)
    for v in (-1, 0, 3, 2**31 - 1):
        damage(f"tensors-{v}", lambda p, v=v: key(p[0], "split.tensors.count", 5, v),
               ["split.tensors.count"])

    def twice(p):
        a, c = gguf_bytes.read(p[0]), gguf_bytes.read(p[1])
        c.tensors[0].name = a.tensors[0].name
        open(p[1], "wb").write(c.emit())
    damage("name-twice", twice, ["00002"])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build", default=".")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--only", default="")
    p.add_argument("--models")
    p.add_argument("--sanitized", action="store_true")
    a = p.parse_args()
    a.llamactl = os.path.join(a.build, "llamactl")
    folder = tempfile.mkdtemp(prefix="lmd-hostile-")
    b = Bench(a, folder)
    sound = []
    for kind in ("full", "window", "state", "hybrid"):
        path = f"{folder}/{kind}.gguf"
        subprocess.run([os.path.join(a.build, "tests", "mktiny"), kind, "5", path], check=True)
        sound.append(path)
    b.idle = max(b.call([w.replace("{}", sound[0]) for w in c])[2] for c in COMMANDS)
    base = gguf_bytes.read(sound[0])
    if base.emit() != open(sound[0], "rb").read():
        sys.exit("gguf_bytes does not reproduce the model of mktiny")

    def all_files():
        yield from hostile_files.structural(base)
        more = sound
        if a.models:
            more = sorted(os.path.join(a.models, n) for n in os.listdir(a.models)
                          if n.endswith(".gguf"))
        for path in more:
            try:
                m = gguf_bytes.read(path)
                arch = m.find("general.architecture").payload[8:].decode()
            except Exception as e:  # a variant of the format that gguf_bytes cannot read
                print(f"SKIP: {path}: {e}")
                continue
            label = os.path.basename(path)[:-5]
            for name, content, expect in hostile_files.hyperparameters(m, arch):
                yield f"{label}:{name}", content, expect
            yield from hostile_files.wild(m, 100, label)

    begin = time.monotonic()
    for i, (name, content, expect) in enumerate(all_files()):
        if a.only in name and i % a.every == 0:
            b.file(name, content, expect)
    if not a.only:
        not_files(b)
        sets(b, sound[0])
    print(f"{b.n_files} files, {b.n_runs} runs, {b.refused} rejected in "
          f"{time.monotonic() - begin:.0f} s; longest {b.worst[0][0]:.2f} s ({b.worst[0][1]}); "
          f"most memory above a valid model {b.worst[1][0]:.0f} MiB ({b.worst[1][1]})")
    print(f"CASES: hostile files: {b.n_runs - b.n_bad} passed, {b.n_bad} failed, 0 skipped")
    if b.n_bad:
        print(f"failing files kept in {folder}")
    else:
        subprocess.run(["rm", "-rf", folder])
    sys.exit(1 if b.n_bad else 0)


main()

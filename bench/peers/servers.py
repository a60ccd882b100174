# SPDX-License-Identifier: MIT
"""llamad and llama-server as private servers on this machine: what requests and serving share.

Both listen on a free port of 127.0.0.1, compute with the same file and the same number of threads, and
end with the block in which they were started.  Watch measures the processor time of both and of the
load tool, and how much of the machine others took meanwhile.
"""
import csv
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import turns  # noqa: E402

OURS, THEIRS, FIXED = "llamad", "llama-server", "fixed"
START_S = 120  # the longest time until a server answers
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "llamad")
PROGRAM = os.path.join(CACHE, "peers", "llama-server", "llama-server")
MODEL = os.path.join(CACHE, "models", "SmolLM2-135M-Instruct.Q4_1.gguf")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A running server; name is the side it stands for.  url has no slash at its end."""

    def __init__(self, name, command, port, log):
        self.name, self.command, self.log = name, command, log
        self.url = f"http://127.0.0.1:{port}"
        with open(log, "wb") as f:
            self.child = subprocess.Popen(command, stdout=f, stderr=subprocess.STDOUT,
                                          stdin=subprocess.DEVNULL)

    def fail(self, why):
        self.close()
        with open(self.log, encoding="utf-8", errors="replace") as f:
            sys.exit(f"{self.name}: {why}; the end of its log:\n{f.read()[-2000:]}")

    def get(self, path, timeout=10):
        with urllib.request.urlopen(self.url + path, timeout=timeout) as r:
            return r.read()

    def wait(self):
        """Until /health says that it would serve."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self.child.poll() is not None:
                self.fail(f"ended with status {self.child.returncode}")
            try:
                self.get("/health")
                return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        return self.fail(f"does not answer /health after {START_S} s")

    def cpu_s(self):
        """Processor time of all its threads so far."""
        with open(f"/proc/{self.child.pid}/stat", encoding="utf-8") as f:
            v = f.read().rsplit(")", 1)[1].split()
        return (int(v[11]) + int(v[12])) * turns.TICK

    def close(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(30)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Llamad(Server):
    """A daemon with its default settings but for threads, context and the limits of one user.  engine:
    lines of the section [engine] of its configuration."""

    def __init__(self, build, model, threads, ctx, folder, engine=()):
        self.build, self.folder = build, tempfile.mkdtemp(dir=folder)
        self.socket = f"ipc://{self.folder}/sock"
        port = free_port()
        conf = os.path.join(self.folder, "conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write("[limits]\nconnections_per_user = 128\n[engine]\n" + "".join(e + "\n" for e in engine))
        super().__init__(OURS, [os.path.join(build, "llamad"), "--config", conf, "--socket", self.socket,
                                "--state-dir", os.path.join(self.folder, "state"), "--threads", str(threads),
                                "--ctx", str(ctx), "--http", f"127.0.0.1:{port}"], port,
                         os.path.join(self.folder, "log"))
        self.wait()
        for words in (("add", "m", model), ("load", "m")):
            self.ctl(*words)

    def ctl(self, *words):
        r = subprocess.run([os.path.join(self.build, "llamactl"), "--socket", self.socket, *words],
                           capture_output=True, text=True, check=False)
        if r.returncode:
            self.fail(f"llamactl {words[0]}: {r.stderr.strip()}")
        return r.stdout


class LlamaServer(Server):
    """llama-server with slots of ctx tokens each, and further options."""

    def __init__(self, program, model, threads, ctx, slots, options, folder):
        port = free_port()
        super().__init__(THEIRS, [program, "-m", model, "--host", "127.0.0.1", "--port", str(port), "-t",
                                  str(threads), "-tb", str(threads), "-np", str(slots), "-c",
                                  str(ctx * slots), "--alias", "m", *options], port,
                         os.path.join(tempfile.mkdtemp(dir=folder), "log"))
        self.wait()
        props = json.loads(self.get("/props"))
        self.slots = props["total_slots"]
        self.slot_ctx = props["default_generation_settings"]["n_ctx"]
        if self.slots != slots or self.slot_ctx < ctx:
            self.fail(f"has {self.slots} slots of {self.slot_ctx} tokens; {slots} of {ctx} were asked for")

    def version(self):
        r = subprocess.run([self.command[0], "--version"], capture_output=True, text=True, check=False)
        found = re.search(r"version: (.*)", r.stderr + r.stdout)
        return found.group(1) if found else "unknown"


class Fixed(Server):
    """bench/http_fixed: a server that answers every request with the same bytes of a body, read nowhere."""

    def __init__(self, build, n_bytes, folder):
        port = free_port()
        super().__init__(FIXED, [os.path.join(build, "bench", "http_fixed"), str(port), str(n_bytes)], port,
                         os.path.join(tempfile.mkdtemp(dir=folder), "log"))
        self.wait()


class Watch:
    """Processor time in a block: of each server, and the share that others had of the machine."""

    def __init__(self, servers):
        self.servers = servers

    def __enter__(self):
        self.begin, self.used = turns.Watch.now(), [s.cpu_s() for s in self.servers]
        return self

    def __exit__(self, *_):
        wall, busy, steal, self.load_s, own = (
            y - x for x, y in zip(self.begin, turns.Watch.now()))
        used = [s.cpu_s() - u for s, u in zip(self.servers, self.used)]
        self.cpu_s = {s.name: u for s, u in zip(self.servers, used)}
        n = os.cpu_count()
        self.wall = wall
        self.foreign = max(0.0, busy - own - sum(used) - n * turns.TICK) / (wall * n)
        self.steal = steal / (wall * n)


def program_source(program):
    """The lines that build_llama_server wrote about a program, in one."""
    path = os.path.join(os.path.dirname(program), "source")
    if not os.path.exists(path):
        return program
    with open(path, encoding="utf-8") as f:
        return "; ".join(f.read().splitlines())


def options(p):
    p.add_argument("-b", "--build", default=os.path.join(turns.TREE, "build"), help="folder of llamad's programs")
    p.add_argument("--program", default=PROGRAM, help="llama-server; see build_llama_server")
    p.add_argument("-m", "--model", default=MODEL, help="GGUF file")
    p.add_argument("-t", "--threads", type=int, default=os.cpu_count())
    p.add_argument("-r", "--rounds", type=int, default=5)
    p.add_argument("--csv", help="append every result to this file")


def check(a, *tools):
    for path, how in ((a.program, "bench/peers/build_llama_server makes it"),
                      (a.model, "scripts/fetch-model smollm2 fetches the default"),
                      *((os.path.join(a.build, t), "make bench-programs all") for t in tools)):
        if not os.path.exists(path):
            sys.exit(f"{path} is missing: {how}")


def append(path, lines, fields, rows):
    """Rows of a CSV file; a new file begins with the lines as comments."""
    if not path:
        return
    new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8", newline="") as f:
        if new:
            f.writelines(f"# {line}\n" for line in lines)
        w = csv.DictWriter(f, fields, lineterminator="\n")
        if new:
            w.writeheader()
        w.writerows(rows)


def spread(values):
    """Median, least and most."""
    return statistics.median(values), min(values), max(values)

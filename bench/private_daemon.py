# SPDX-License-Identifier: MIT
"""A daemon with a folder and a socket of its own, for benchmarks that measure its processor time."""
import os
import statistics
import subprocess
import sys
import tempfile
import time


class PrivateDaemon:
    """A with-block runs it; the folder, and so its store, stays for the next one. options: of llamad, which may name
    {folder}; conf: the text of its configuration file."""

    def __init__(self, build, *options, conf=""):
        self.build = build
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.url = f"ipc://{self.folder}/sock"
        with open(f"{self.folder}/conf", "w", encoding="utf-8") as f:
            f.write(conf)
        self.command = [f"{build}/llamad", "--socket", self.url, "--state-dir", f"{self.folder}/state", "--config",
                        f"{self.folder}/conf", *(o.format(folder=self.folder) for o in options)]

    def __enter__(self):
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(self.command, stderr=log)
        self.pid = self.process.pid
        while self.ctl("ping", check=False).returncode:
            if self.process.poll() is not None:
                with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as log:
                    sys.exit(f"llamad ended with {self.process.returncode}:\n{log.read()[-2000:]}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ctl(self, *words, check=True):
        return subprocess.run([f"{self.build}/llamactl", "--socket", self.url, *words], capture_output=True,
                              check=check)


def times_of_threads(pid):
    """The processor time of a process in seconds, by name of the thread."""
    out = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as f:
            name = f.read().strip()
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as f:
            out[name] = out.get(name, 0) + int(f.read().split()[0]) / 1e9
    return out


def processor_time(pid):
    return sum(times_of_threads(pid).values())


def difference(a, b):
    """How much more the values of b are than those of a that were measured beside them: the median of the
    differences and the interval in which it lies with 95 % probability, by their ranks (sign test), and both as parts
    of the median of a."""
    more = sorted(y - x for x, y in zip(a, b))
    low = max(0, int(len(more) / 2 - 0.98 * len(more) ** 0.5))
    v = statistics.median(more), more[low], more[len(more) - 1 - low]
    of = statistics.median(a) / 100
    return (f"{v[0]:.1f} ({v[0] / of:.2f} %), between {v[1]:.1f} and {v[2]:.1f} "
            f"({v[1] / of:.2f} and {v[2] / of:.2f} %)")

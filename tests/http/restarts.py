# SPDX-License-Identifier: MIT
"""A daemon of the null backend that tests kill, stop and start again, and requests to it over HTTP."""
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time

WAIT_S = 120


class Fault(Exception):
    pass


def check(good, text):
    if not good:
        raise Fault(text)


class Daemon:
    """Its steps take 1 ms. conf: the text of its configuration."""

    def __init__(self, build, folder, conf):
        self.build, self.folder = build, folder
        self.url, self.path = f"ipc://{folder}/sock", f"{folder}/http.sock"
        self.process = None
        with open(f"{folder}/conf", "w", encoding="utf-8") as f:
            f.write(conf)

    def ctl(self, *words):
        return subprocess.run([f"{self.build}/llamactl", "--socket", self.url, *words], text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=WAIT_S)

    def start(self):
        with open(f"{self.folder}/log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [f"{self.build}/llamad", "--socket", self.url, "--state-dir", f"{self.folder}/state", "--http",
                 f"unix:{self.path}", "--backend", "null", "--ctx", "1024", "--config", f"{self.folder}/conf"],
                stderr=log, env=os.environ | {"LLAMAD_NULL_STEP_US": "1000"})
        end = time.monotonic() + WAIT_S
        while self.ctl("ping").returncode:
            check(self.process.poll() is None and time.monotonic() < end, "the daemon does not get ready")
            time.sleep(0.02)  # asks again; nothing depends on its length

    def end(self, sig):
        self.process.send_signal(sig)
        status = self.process.wait(WAIT_S)
        check(sig == signal.SIGKILL or status == 0, f"the daemon's exit status is {status}")

    def log(self):
        with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as f:
            return f.read()


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=WAIT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT_S)
        self.sock.connect(self.path)


def send(daemon, method, target, body=None, headers=()):
    conn = Unix(daemon.path)
    conn.request(method, target, body and json.dumps(body),
                 {"Content-Type": "application/json"} | dict(headers))
    r = conn.getresponse()
    r.keeps = conn
    return r


def run(main, folder):
    """Runs the test; after a fault prints it with the end of the daemon's log and exits with 1."""
    try:
        main()
    except Fault as e:
        print("FAULT:", e)
        with open(f"{folder}/log", encoding="utf-8") as text:
            print(text.read()[-3000:])
        sys.exit(1)

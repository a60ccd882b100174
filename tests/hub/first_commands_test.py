#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the table "First commands" of docs/coming-from.md.

    first_commands_test.py BUILD SOURCE DIR
"""
import os
import re
import shutil
import signal
import subprocess
import sys

BUILD, SRC, DIR = (os.path.abspath(p) for p in sys.argv[1:])
sys.path[:0] = [f"{SRC}/tests", f"{SRC}/tests/hub"]
from stand_in import PATIENCE, wait_for, wait_until  # noqa: E402
from tally import check, finish  # noqa: E402


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def rows():
    text = read(f"{SRC}/docs/coming-from.md")
    table = text.split("<!-- first commands -->")[1].split("<!-- end -->")[0]
    for line in table.splitlines():
        m = re.fullmatch(r"\| `(.*)` \| (works|says `(.*)`) \|", line)
        if m:
            yield m.group(1).replace("\\|", "|"), m.group(3)


class Server:
    """The `llamactl serve` of the table, at a free port."""

    def __init__(self, command):
        command = re.sub(r"--port \d+", "--port 0", command)
        with open(f"{DIR}/log", "wb") as log:
            self.process = subprocess.Popen(["sh", "-c", f"exec {command}"], stderr=log, env=ENV,
                                            cwd=f"{DIR}/cwd", stdin=subprocess.DEVNULL)
        wait_until(lambda: self.process.poll() is not None or
                 re.search(r"ready on http://\S+\n", read(f"{DIR}/log")), "the address does not appear")
        m = re.search(r"ready on (http://\S+)\n", read(f"{DIR}/log"))
        check(command, m, read(f"{DIR}/log"))
        self.url = m.group(1) if m else "http://127.0.0.1:1"


def run(command, says):
    global server
    if command.startswith("llamactl serve") and not says:
        server = Server(command)
        return
    if server:
        command = command.replace("http://127.0.0.1:8080", server.url).replace("curl ", "curl -sf ")
    r = subprocess.run(["sh", "-c", command], capture_output=True, text=True, errors="replace",
                       env=ENV, cwd=f"{DIR}/cwd", stdin=subprocess.DEVNULL, timeout=PATIENCE)
    if server and says:  # nothing may start a second one
        check(command, server.process.poll() is None, read(f"{DIR}/log"))
    if says is None:
        check(command, r.returncode == 0, r)
    else:
        check(command, r.returncode in (1, 2) and says in r.stderr, r)


server = None
top = f"{DIR}/hub/hf/u/tiny-GGUF"
for folder in top, f"{DIR}/cwd", f"{DIR}/run/llamad":
    os.makedirs(folder, mode=0o700)
shutil.copy(f"{DIR}/tiny.gguf", f"{top}/tiny-F32.gguf")
shutil.copy(f"{DIR}/tiny.gguf", f"{DIR}/cwd/model.gguf")
with open(f"{DIR}/cwd/Modelfile", "w") as f:
    f.write("FROM smollm2\nSYSTEM Be brief.\n")
with open(f"{DIR}/catalogue", "w") as f:
    f.write("smollm2 hf:u/tiny-GGUF\n")
hub = subprocess.Popen([sys.executable, f"{SRC}/tests/hub/hub.py", f"{DIR}/hub", f"{DIR}/port"])
try:
    wait_for(f"{DIR}/port")
    ENV = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "HF_TOKEN": "",
           "HF_ENDPOINT": "http://127.0.0.1:" + read(f"{DIR}/port"),
           "LLAMAD_CATALOGUE": f"{DIR}/catalogue", "STATE_DIRECTORY": f"{DIR}/state",
           "XDG_RUNTIME_DIR": f"{DIR}/run", "RUNTIME_DIRECTORY": f"{DIR}/run/llamad", "XDG_STATE_HOME": f"{DIR}"}
    n = 0
    for typed, instead in rows():
        run(typed, instead)
        n += 1
    check("thirty commands", n >= 30, n)
    if server:
        try:
            check("the server ends", server.process.wait(PATIENCE) == 0, read(f"{DIR}/log"))
        except subprocess.TimeoutExpired:
            check("the server ends", False, read(f"{DIR}/log"))
finally:
    hub.kill()
    hub.wait()
    if server and server.process.poll() is None:
        server.process.send_signal(signal.SIGKILL)
finish("first commands")

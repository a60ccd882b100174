#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `llamactl run` does with names, with tests/hub/hub.py as the source of downloads.

    run_test.py BUILD SOURCE DIR MODEL.gguf
"""
import os
import shutil
import signal
import subprocess
import sys
import time

BUILD, SRC, DIR, TINY = sys.argv[1:]
sys.path[:0] = [f"{SRC}/tests", f"{SRC}/tests/hub"]
from stand_in import wait_for  # noqa: E402
from tally import check, finish  # noqa: E402
from terminal import PATIENCE, Terminal  # noqa: E402

CTL = f"{BUILD}/llamactl"
ROOT = f"{DIR}/hub"
ASK = ("-n", "8", "--temp", "0", "--raw", "--ignore-eos")


def ctl(*words):
    return subprocess.run([CTL, *words], capture_output=True, text=True, timeout=2 * PATIENCE,
                          env=ENV, stdin=subprocess.DEVNULL)


def on_terminal(*words):
    return Terminal(CTL, *words, env=ENV)


def same(r):
    return r.returncode == 0 and r.stdout == WANT


def without_daemon():
    r = ctl("run", "short", "x", *ASK)
    check("nobody can be asked", r.returncode == 1 and "llamactl pull short" in r.stderr and
          "--yes" in r.stderr, r)
    check("the size is said", "423" in r.stderr or "K" in r.stderr or "M" in r.stderr, r)
    check("nothing was downloaded", ctl("list", "--json").stdout.strip() == "[]")
    t = on_terminal("run", "short", "x", *ASK)
    check("a question", t.sees(b"Download it ("), t.seen)
    t.type(b"n\n")
    check("no", t.end() == 1 and b"was not downloaded" in t.seen, t.seen)
    t = on_terminal("run", "short", "x", *ASK)
    check("a question", t.sees(b"[Y/n] "), t.seen)
    t.type(b"\x03")
    check("Ctrl-C at the question", t.end() == 128 + signal.SIGINT, t.seen)
    t = on_terminal("run", "short", "x", *ASK)
    check("a question", t.sees(b"[Y/n] "), t.seen)
    t.type(b"\n")
    check("yes is the default", t.end() == 0 and WANT.strip().encode() in t.seen, t.seen)
    check("now it is there", same(ctl("run", "short", "x", *ASK)))
    check("Ollama's default tag", same(ctl("run", "short:latest", "x", *ASK)))
    check("in the list", '"short"' in ctl("list", "--json").stdout)
    check("a source with --yes", same(ctl("run", "hf:u/tiny-GGUF", "x", "--yes", *ASK)))
    check("its name", same(ctl("run", "tiny", "x", *ASK)))
    r = ctl("alias", "tiny", "t")
    check("an alias", r.returncode == 0 and same(ctl("run", "t", "x", *ASK)), r)
    r = ctl("run", "phi9", "x")
    check("a name that nobody knows", r.returncode == 1 and "ollama:phi9" in r.stderr, r)
    r = ctl("run", "u/r", "x")
    check("a repository without hf:", r.returncode == 1 and "hf:u/r" in r.stderr, r)
    os.makedirs(f"{DIR}/cwd/short")
    r = subprocess.run([CTL, "run", "short", "x", *ASK], capture_output=True, text=True, env=ENV,
                       cwd=f"{DIR}/cwd", stdin=subprocess.DEVNULL, timeout=PATIENCE)
    check("a folder of that name is not the model", same(r), r)
    r = ctl("pull", "hf:u/parts", "--name", "parts")
    check("pull without a daemon", r.returncode == 0 and r.stdout == "parts\n", r)
    check("a model in parts", same(ctl("run", "parts", "x", *ASK)))
    check("no links are left", not [n for n in os.listdir(f"{DIR}/tmp") if n.startswith("llamactl-")])
    r = ctl("add", "added", TINY)
    check("add without a daemon", r.returncode == 0 and same(ctl("run", "added", "x", *ASK)), r)
    r = ctl("rm", "parts")
    check("rm", r.returncode == 0 and '"parts"' not in ctl("list", "--json").stdout, r)


def with_daemon():
    """The daemon has the same store, so that it knows what llamactl downloaded."""
    url = f"ipc://{ENV['XDG_RUNTIME_DIR']}/llamad/llamad.sock"
    with open(f"{DIR}/llamad.conf", "w") as f:
        f.write(f"[models]\nhf_url = {HUB}\ncatalogue = {DIR}/catalogue\n")
    d = subprocess.Popen([f"{BUILD}/llamad", "--config", f"{DIR}/llamad.conf", "--socket", url],
                         env=ENV, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while ctl("ping").returncode:
            if time.monotonic() > end or d.poll() is not None:
                sys.exit("FAIL: the daemon does not get ready")
            time.sleep(0.05)  # asks again; nothing depends on its length
        check("a model of the store", same(ctl("run", "short", "x", *ASK)))
        check("it runs in the daemon", '"short"' in ctl("ps", "--json").stdout)
        check("a file does not", same(ctl("run", TINY, "x", *ASK)) and
              "tiny.gguf" not in ctl("ps", "--json").stdout)
        r = ctl("run", "hf:u/other-GGUF", "x")
        check("the daemon's download is not without asking", r.returncode == 1 and
              "--yes" in r.stderr, r)
        check("with --yes", ctl("run", "hf:u/other-GGUF", "x", "--yes", *ASK).returncode == 0)
        ctl("shutdown")
        check("the daemon ends", d.wait(PATIENCE) == 0)
    finally:
        d.kill()
        d.wait()
    check("its socket is no hindrance", same(ctl("run", "short", "x", *ASK)))
    r = ctl("--socket", f"ipc://{DIR}/none", "run", "short", "x")
    check("an address that was given has to answer", r.returncode == 1 and "none" in r.stderr, r)


os.makedirs(f"{ROOT}/hf/u/tiny-GGUF")
os.makedirs(f"{ROOT}/hf/u/other-GGUF")
os.makedirs(f"{ROOT}/hf/u/parts")
os.makedirs(f"{DIR}/run/llamad", mode=0o700)
shutil.copy(TINY, f"{ROOT}/hf/u/tiny-GGUF/tiny-F32.gguf")
subprocess.run([CTL, "split", "--split-max-tensors", "8", TINY, f"{ROOT}/hf/u/parts/tiny-F32"],
               check=True, stdout=subprocess.DEVNULL)
subprocess.run([f"{BUILD}/tests/mktiny", "full", "6", f"{ROOT}/hf/u/other-GGUF/other-F32.gguf"],
               check=True)
with open(f"{DIR}/catalogue", "w") as f:
    f.write("short hf:u/tiny-GGUF:tiny-F32.gguf\n")
server = subprocess.Popen([sys.executable, f"{SRC}/tests/hub/hub.py", ROOT, f"{DIR}/port"])
try:
    wait_for(f"{DIR}/port")
    with open(f"{DIR}/port") as f:
        HUB = "http://127.0.0.1:" + f.read()
    os.makedirs(f"{DIR}/tmp")
    ENV = {**os.environ, "HF_ENDPOINT": HUB, "HF_TOKEN": "", "LLAMAD_CATALOGUE": f"{DIR}/catalogue",
           "STATE_DIRECTORY": f"{DIR}/own", "XDG_RUNTIME_DIR": f"{DIR}/run", "TMPDIR": f"{DIR}/tmp"}
    WANT = subprocess.run([CTL, "run", TINY, "x", *ASK], capture_output=True, text=True, env=ENV,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, check=True).stdout
    without_daemon()
    with_daemon()
finally:
    server.kill()
    server.wait()
finish("run")

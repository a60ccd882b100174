#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that others wrote, with tests/hub/hub.py in place of the servers that they are for.

    clients_test.py BUILD SOURCE DIR MODEL.gguf

A program that is not installed is skipped; in make check-long that is a failure.  `scripts/deps test`
installs skopeo, `scripts/deps all-clients` the others.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

BUILD, SRC, DIR, TINY = sys.argv[1:]
sys.path[:0] = [f"{SRC}/tests", f"{SRC}/tests/hub"]
from stand_in import PATIENCE, StandIn, read, wait_for, wait_until  # noqa: E402
from tally import check, finish  # noqa: E402

ROOT = f"{DIR}/hub"
faults = StandIn(ROOT).faults
LONG = os.environ.get("LMD_TEST_LONG") == "1"
CACHE = os.path.expanduser(os.environ.get("XDG_CACHE_HOME", "~/.cache")) + "/llamad"
LOGINS = f"{DIR}/logins.json"
ENV = {**os.environ, "HOME": f"{DIR}/home", "XDG_CACHE_HOME": f"{DIR}/cache", "XDG_RUNTIME_DIR": f"{DIR}/run",
       "STATE_DIRECTORY": f"{DIR}/state", "REGISTRY_AUTH_FILE": ""}


def run(*words, env=None):
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, env={**ENV, **(env or {})})


def ctl(*words, **env):
    return run(f"{BUILD}/llamactl", *words, env={"OLLAMA_REGISTRY": HUB, "HF_ENDPOINT": HUB, **env})


def pulled(source, **env):
    """The bytes of the files of a model."""
    shutil.rmtree(f"{DIR}/out", ignore_errors=True)
    os.makedirs(f"{DIR}/out")
    r = ctl("pull", source, "--to", f"{DIR}/out", **env)
    return [read(path) for path in r.stdout.split()] if r.returncode == 0 else r


def missing(what):
    if LONG:
        check(f"{what} is installed", False)
    else:
        print(f"SKIP: {what} is not installed")


# ---- huggingface_hub ----

def huggingface():
    """The package of Hugging Face takes the stand-in for its hub."""
    python = f"{CACHE}/clients-frameworks/bin/python"
    if not os.path.exists(python) or run(python, "-c", "import huggingface_hub").returncode:
        missing("huggingface_hub")
        return
    top = f"{ROOT}/hf/u/one-GGUF"
    os.makedirs(top)
    shutil.copy(TINY, f"{top}/one-F32.gguf")
    with open(f"{top}/README.md", "w") as f:
        f.write("# one\n")
    code = """import huggingface_hub as h
print(h.hf_hub_download("u/one-GGUF", "one-F32.gguf"))
print(h.snapshot_download("u/one-GGUF"))"""
    r = run(python, "-c", code, env={"HF_ENDPOINT": HUB, "HF_HOME": f"{DIR}/hf", "HF_HUB_DISABLE_XET": "1"})
    paths = r.stdout.split()
    check("huggingface_hub downloads", r.returncode == 0 and len(paths) == 2, r)
    if len(paths) == 2:
        check("a file", read(paths[0]) == read(TINY))
        check("a repository", sorted(os.listdir(paths[1])) == ["README.md", "one-F32.gguf"], paths)
    r = ctl("add", "--from", "huggingface", "--dry-run", HF_HOME=f"{DIR}/hf")
    check("llamactl finds it in the cache", r.returncode == 0 and "one-F32" in r.stdout, r)
    check("llamactl downloads the same", pulled("hf:u/one-GGUF") == [read(TINY)])


# ---- skopeo ----

def skopeo(*words, **env):
    return run("skopeo", "--insecure-policy", *words, env=env)


def registry():
    if not shutil.which("skopeo"):
        missing("skopeo")
        return
    r = ctl("push", TINY, f"oci:{HUB[7:]}/me/tiny:v1")
    check("llamactl pushes", r.returncode == 0, r)
    r = skopeo("copy", "--src-tls-verify=false", f"docker://{HUB[7:]}/me/tiny:v1", f"oci:{DIR}/layout:x")
    blob = f"{DIR}/layout/blobs/sha256/" + hashlib.sha256(read(TINY)).hexdigest()
    check("skopeo pulls it", r.returncode == 0 and os.path.exists(blob) and read(blob) == read(TINY), r)
    r = skopeo("inspect", "--tls-verify=false", "--raw", f"docker://{HUB[7:]}/me/tiny:v1")
    check("skopeo shows its manifest", r.returncode == 0 and
          json.loads(r.stdout)["layers"][0]["size"] == os.path.getsize(TINY), r)
    faults(absolute=True)
    r = skopeo("copy", "--dest-tls-verify=false", "--preserve-digests", f"oci:{DIR}/layout:x",
               f"docker://{HUB[7:]}/me/copy:v2")
    check("skopeo pushes", r.returncode == 0, r)
    faults()
    check("llamactl pulls it", pulled(f"oci:{HUB[7:]}/me/copy:v2") == [read(TINY)])
    logins()


def logins():
    """What skopeo stores after a login is what llamactl sends."""
    faults(login="me:secret", basic=True)
    r = skopeo("copy", "--src-tls-verify=false", f"docker://{HUB[7:]}/me/tiny:v1", f"oci:{DIR}/refused:x")
    check("skopeo is refused without a login", r.returncode != 0, r)
    r = skopeo("login", "--tls-verify=false", "--authfile", LOGINS, "-u", "me", "-p", "secret", HUB[7:])
    check("skopeo logs in", r.returncode == 0, r)
    r = skopeo("copy", "--src-tls-verify=false", "--src-authfile", LOGINS, f"docker://{HUB[7:]}/me/tiny:v1",
               f"oci:{DIR}/allowed:x")
    check("skopeo pulls with it", r.returncode == 0, r)
    r = ctl("push", TINY, f"oci:{HUB[7:]}/me/private:v1", REGISTRY_AUTH_FILE=LOGINS)
    check("llamactl pushes with it", r.returncode == 0, r)
    check("and pulls", pulled(f"oci:{HUB[7:]}/me/private:v1", REGISTRY_AUTH_FILE=LOGINS) == [read(TINY)])
    faults()


# ---- ollama ----

class Ollama:
    """A server of Ollama, and its client."""

    def __init__(self):
        self.program = f"{CACHE}/clients-go/ollama"
        self.log = f"{DIR}/ollama.log"
        self.env = {"OLLAMA_HOST": "127.0.0.1:0", "OLLAMA_MODELS": f"{DIR}/ollama", "OLLAMA_NOHISTORY": "1"}
        with open(self.log, "wb") as f:
            self.process = subprocess.Popen([self.program, "serve"], stdout=f, stderr=f,
                                            stdin=subprocess.DEVNULL, env={**ENV, **self.env})
        wait_until(self.port, "a program does not get ready")
        self.env["OLLAMA_HOST"] = f"127.0.0.1:{self.port()}"

    def port(self):
        if self.process.poll() is not None:
            sys.exit(f"FAIL: ollama serve ended: {read(self.log)[-500:]}")
        found = re.search(rb"Listening on 127\.0\.0\.1:(\d+)", read(self.log))
        return int(found[1]) if found else 0

    def __call__(self, *words):
        return run(self.program, *words, env=self.env)

    def has(self, path):
        """Whether its store has the bytes of a file."""
        blob = f"{DIR}/ollama/blobs/sha256-" + hashlib.sha256(read(path)).hexdigest()
        return os.path.exists(blob) and read(blob) == read(path)


def ollama():
    if not os.path.exists(f"{CACHE}/clients-go/ollama"):
        missing("the program of Ollama")
        return
    with open(f"{DIR}/Modelfile", "w") as f:
        f.write(f'FROM {TINY}\nPARAMETER temperature 0.25\nPARAMETER stop "User:"\n'
                'TEMPLATE """{{ .System }} {{ .Prompt }}"""\nSYSTEM You are short.\nLICENSE free\n'
                'MESSAGE user Hi\nMESSAGE assistant Ho\n')
    r = ctl("create", "short", "-f", f"{DIR}/Modelfile")
    check("create", r.returncode == 0, r)
    r = ctl("push", "short", "ollama:me/short:v1")
    check("llamactl pushes to ollama's registry", r.returncode == 0, r)
    faults(elsewhere=True, absolute=True)  # as that registry does
    o = Ollama()
    try:
        name = f"{HUB[7:]}/me/short:v1"
        r = o("pull", "--insecure", name)
        check("ollama pulls it", r.returncode == 0 and o.has(TINY), r)
        r = o("show", "--modelfile", name)
        check("ollama knows what the Modelfile said", r.returncode == 0 and all(x in r.stdout for x in (
            "{{ .System }} {{ .Prompt }}", "You are short.", "PARAMETER temperature 0.25", 'stop User:',
            "free", "MESSAGE user Hi")), r)
        r = o("pull", "--insecure", f"{HUB[7:]}/library/tiny:v1")
        check("ollama pulls what the stand-in has", r.returncode == 0, r)
        with open(f"{DIR}/Modelfile.theirs", "w") as f:
            f.write(f"FROM {DIR}/second.gguf\nSYSTEM You are long.\nPARAMETER top_k 7\n")
        r = o("create", f"{HUB[7:]}/me/theirs:v2", "-f", f"{DIR}/Modelfile.theirs")
        check("ollama creates", r.returncode == 0, r)
        r = o("push", "--insecure", f"{HUB[7:]}/me/theirs:v2")
        check("ollama pushes", r.returncode == 0, (r, read(o.log)[-800:]))
    finally:
        o.process.kill()
        o.process.wait()
    check("llamactl pulls it", pulled("ollama:me/theirs:v2") == [read(f"{DIR}/second.gguf")])
    r = ctl("add", "--from", "ollama", "--dry-run", OLLAMA_MODELS=f"{DIR}/ollama")
    check("llamactl finds ollama's models on the disk", r.returncode == 0 and "theirs" in r.stdout and
          "short" in r.stdout, r)
    faults()


for folder in "home", "run", "state", "hub/registry/library/tiny/v1":
    os.makedirs(f"{DIR}/{folder}", mode=0o700)
shutil.copy(TINY, f"{ROOT}/registry/library/tiny/v1/tiny.gguf")
subprocess.run([f"{BUILD}/tests/mktiny", "full", "6", f"{DIR}/second.gguf"], check=True)
server = subprocess.Popen([sys.executable, f"{SRC}/tests/hub/hub.py", ROOT, f"{DIR}/port"])
try:
    wait_for(f"{DIR}/port")
    HUB = "http://127.0.0.1:" + read(f"{DIR}/port").decode()
    for part in huggingface, registry, ollama:
        part()
finally:
    server.kill()
    server.wait()
finish("clients of hubs")

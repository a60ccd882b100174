#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Downloads through llamactl and a daemon, from tests/hub/hub.py.

    pull_test.py BUILD SOURCE DIR MODEL.gguf
"""
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

BUILD, SRC, DIR, TINY = sys.argv[1:]
sys.path[:0] = [f"{SRC}/tests", f"{SRC}/tests/hub"]
from stand_in import PATIENCE, StandIn, read, wait_for  # noqa: E402
from tally import check, finish  # noqa: E402

ROOT = f"{DIR}/hub"
hub = StandIn(ROOT)
faults, log = hub.faults, hub.log
PICTURE = ("iVBORw0KGgoAAAANSUhEUgAAAAwAAAAICAIAAABChommAAAAG0lEQVR42mPUcGPgZGDHj1gYeNkZGAig4a0IAKn8A+MvoG14AAAA"
           "AElFTkSuQmCC")  # a PNG file of 12 x 8 pixels
LONG = os.environ.get("LMD_TEST_LONG") == "1"
N_INTERRUPTED, N_KILLED_DAEMON = (200, 50) if LONG else (12, 2)


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def ctl(*words, env=None):
    return subprocess.run([f"{BUILD}/llamactl", *words], capture_output=True, text=True,
                          timeout=PATIENCE, env={**os.environ, **(env or {})})


# ---- without a daemon ----

def local(source, *more, folder="out", **env):
    os.makedirs(f"{DIR}/{folder}", exist_ok=True)
    base = {"HF_ENDPOINT": HUB, "HF_TOKEN": ""}
    return ctl("pull", source, "--to", f"{DIR}/{folder}", *more, env={**base, **env})


def out(name):
    return f"{DIR}/out/{name}"


def one_file():
    r = local("hf:u/one")
    check("hf: prints the path", r.stdout == out("one-Q4_K_M.gguf") + "\n", r)
    check("hf: the bytes", read(out("one-Q4_K_M.gguf")) == FILES["one-Q4_K_M"])
    check("hf: nothing else is left", os.listdir(f"{DIR}/out") == ["one-Q4_K_M.gguf"],
          os.listdir(f"{DIR}/out"))
    r = local("hf:u/one")
    check("an existing file is kept", r.returncode == 1 and "--replace" in r.stderr, r)
    r = local("hf:u/one:q8_0", "--json")
    want = {"path": out("one-Q8_0.gguf"), "digest": hashlib.sha256(FILES["one-Q8_0"]).hexdigest()}
    check("hf: --json", json.loads(r.stdout) == want, r)
    log()
    r = local("hf:u/one:Q5_K_M", HF_HUB_OFFLINE="1")
    check("offline", r.returncode == 1 and "HF_HUB_OFFLINE" in r.stderr and not log(), r)
    r = local("hf:u/one:Q3_K_M")
    check("a quantisation that is not there", r.returncode == 1 and "it has" in r.stderr and
          "one-Q8_0.gguf" in r.stderr, r)
    r = local("hf:u/none")
    check("a repository that is not there", r.returncode == 1 and "404" in r.stderr, r)


def split():
    r = local("hf:u/split")
    names = [f"big-Q4_0-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
    check("all parts", r.stdout.split() == [out(n) for n in names], r)
    check("their bytes", all(read(out(n)) == FILES[n[:-5]] for n in names))


def tower():
    def paths(*names):
        return [f"{DIR}/seen/{n}" for n in names]

    first = paths("seen-F32.gguf", "mmproj-seen-F16.gguf")
    r = local("hf:u/seen-GGUF:F32", folder="seen")
    check("a vision tower with its model", r.stdout.split() == first and read(first[1]) == TOWER, r)
    log()
    r = local("hf:u/seen-GGUF:Q8_0", folder="seen")
    check("and with another quantisation", r.stdout.split() == paths("seen-Q8_0.gguf", "mmproj-seen-F16.gguf"), r)
    check("is transferred once", not [x for x in log() if "mmproj" in x])
    put(first[1], b"another's")
    os.remove(first[0])
    r = local("hf:u/seen-GGUF:F32", folder="seen")
    check("a file with its name is kept", r.returncode == 1 and "mmproj-seen-F16.gguf exists" in r.stderr and
          read(first[1]) == b"another's" and not os.path.exists(first[0]), r)
    r = local("hf:u/seen-GGUF:F32", "--replace", "--json", folder="seen")
    check("--replace", read(first[1]) == TOWER and hashlib.sha256(TOWER).hexdigest() in r.stdout, r)


def checkpoint():
    """A repository with safetensors: what is needed to load it, and nothing else."""
    want = ["config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
            "model.safetensors.index.json", "tokenizer.json"]
    for name in want + ["README.md", "pytorch_model.bin", "consolidated.safetensors", "onnx/config.json",
                        "model.png"]:
        put(f"{ROOT}/hf/u/plain/{name}", name.encode())
    r = local("hf:u/plain", folder="plain")
    check("safetensors", r.returncode == 0 and sorted(os.listdir(f"{DIR}/plain")) == want, r)
    r = local("hf:u/plain:Q4_0", folder="plain")
    check("a choice wants GGUF", r.returncode == 1 and "neither a GGUF" in r.stderr, r)
    put(f"{ROOT}/hf/u/bare/model.safetensors", b"x")
    r = local("hf:u/bare", folder="bare")
    check("safetensors alone", r.returncode == 1 and "config.json" in r.stderr, r)


def tokens():
    faults(token="secret")
    log()
    r = local("hf:u/one:IQ4_XS")
    check("a token is needed", r.returncode == 1 and "token" in r.stderr, r)
    r = local("hf:u/one:IQ4_XS", HF_TOKEN="secret")
    check("with the token", r.returncode == 0, r)
    cdn = [line for line in log() if "/cdn/" in line]
    check("the token stays with its host", cdn and all(c.endswith(" -") for c in cdn), cdn)
    faults()


def registry():
    r = ctl("pull", f"oci:{HUB[7:]}/library/tiny:v1", "--to", f"{DIR}/out")
    name = "sha256-" + hashlib.sha256(read(TINY)).hexdigest()
    check("oci: a layer", r.stdout == out(name) + "\n" and read(out(name)) == read(TINY), r)
    r = ctl("pull", f"oci:{HUB[7:]}/library/tiny:index", "--to", f"{DIR}/out", "--replace")
    check("oci: an index", r.returncode == 0, r)
    r = ctl("pull", f"oci:{HUB[7:]}/library/tiny:v2", "--to", f"{DIR}/out")
    check("oci: no such tag", r.returncode == 1 and "404" in r.stderr, r)


def urls():
    r = local(f"{HUB}/files/plain.gguf")
    check("a URL", r.returncode == 0 and read(out("plain.gguf")) == FILES["plain"], r)
    r = local(f"{HUB}/files/plain.gguf", "--replace", "--digest", "0" * 64)
    check("a digest of the user's own", r.returncode == 1 and "digest" in r.stderr, r)
    check("the old file is still there", read(out("plain.gguf")) == FILES["plain"])
    r = local(f"{HUB}/loop.gguf")
    check("a redirect that never ends", r.returncode == 1 and "redirect" in r.stderr, r)
    r = local(f"{HUB}/files/plain.txt")
    check("a file that is no model", r.returncode == 1 and ".gguf" in r.stderr, r)
    for page in 6, 5000:  # a server that has a page for every path has no manifest
        faults(page=page)
        r = local(f"{HUB}/files/plain.gguf", folder=f"page{page}")
        check("no manifest", r.returncode == 0 and os.listdir(f"{DIR}/page{page}") == ["plain.gguf"], r)
    faults()
    r = local("http://127.0.0.1:1/x.gguf")
    check("a server that is not there", r.returncode == 1 and "127.0.0.1:1" in r.stderr, r)


def troubles():
    faults(status=[429, 503])
    r = local("hf:u/one:Q5_K_M")
    check("429 and 503 pass", r.returncode == 0, r)
    faults(longer=10)
    r = local("hf:u/one:Q6_K")
    check("a wrong length", r.returncode == 1 and "announced" in r.stderr, r)
    faults(wrong=True)
    r = local("hf:u/one:Q6_K")
    check("wrong bytes", r.returncode == 1 and "digest" in r.stderr, r)
    check("and nothing stays", not [n for n in os.listdir(f"{DIR}/out") if "Q6_K" in n],
          os.listdir(f"{DIR}/out"))
    faults(cut=[1000, 300000])
    log()
    r = local("hf:u/one:Q6_K")
    check("cut connections", r.returncode == 0 and read(out("one-Q6_K.gguf")) == FILES["one-Q6_K"], r)
    ranges = [line.split()[2] for line in log() if "/cdn/" in line]
    begins = [int(x[6:-1]) for x in ranges if x != "-"]
    check("each try continues", begins and begins == sorted(set(begins)), ranges)
    faults(cut=[1000, 300000], no_range=True)
    r = local(f"{HUB}/files/other.gguf")
    check("a server that always begins again", r.returncode == 1 and "remaining" in r.stderr, r)
    faults(cut=[1000, 300000], changing=True)
    if LONG:
        r = local(f"{HUB}/files/other.gguf")
        check("a file that changes is not mixed", r.returncode == 1 and "remaining" in r.stderr, r)
    faults()
    r = local(f"{HUB}/files/other.gguf")
    check("and then not", r.returncode == 0 and read(out("other.gguf")) == FILES["other"], r)
    faults()


def limited(n_bytes):
    """For a process that can write so many bytes to a file: as if the disk was full."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
    return limit


def interrupt(how, seconds):
    """Interrupts a pull of hf:u/large at that time; returns whether it had not ended before."""
    full = limited(int(seconds / 0.15 * len(FILES["large"]))) if how == "full" else None
    p = subprocess.Popen([f"{BUILD}/llamactl", "pull", "hf:u/large", "--to", f"{DIR}/out"],
                         env={**os.environ, "HF_ENDPOINT": HUB}, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, preexec_fn=full)
    try:
        p.wait(PATIENCE if full else seconds)
    except subprocess.TimeoutExpired:
        p.send_signal(signal.SIGKILL if how == "killed" else signal.SIGTERM)
    p.communicate()
    return p.returncode != 0


def interrupted():
    """Each pull is interrupted at random, some more than once; the same command ends it."""
    rng = random.Random(int(os.environ.get("LMD_SEED", "1")))
    path, ways, wrong, left = out("large-Q4_0.gguf"), {}, 0, 0

    def differs():
        """Whether there is a file with other bytes; removes it."""
        if not os.path.exists(path):
            return False
        data = read(path)
        os.remove(path)
        return data != FILES["large"]

    for _ in range(N_INTERRUPTED):
        how = rng.choice(("killed", "killed", "stopped", "full"))
        while not interrupt(how, rng.random() * 0.15) or rng.random() < 0.3:
            wrong += differs()  # it may have ended first
        wrong += differs()
        ways[how] = ways.get(how, 0) + 1
        left += os.path.exists(path + ".partial")
        faults(**({"cut": [1000, 30000000]} if rng.random() < 0.3 else {}))
        r = local("hf:u/large")
        wrong += r.returncode != 0 or not os.path.exists(path) or differs()
    faults()
    check("interrupted pulls end with the same bytes", not wrong, wrong)
    check("some of them left a part", left > 0, left)
    print(f"interrupted {N_INTERRUPTED} pulls: {ways}")


def full_disk():
    folder = f"{DIR}/small"
    os.makedirs(folder)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", folder],
                      capture_output=True).returncode:
        print("SKIP: no file system of 20 MB can be mounted")
        return
    try:
        log()
        r = local("hf:u/large", folder="small")
        check("the disk is too small", r.returncode == 1 and "the disk has" in r.stderr, r)
        check("nothing is transferred then", not [x for x in log() if "/cdn/" in x])
        subprocess.run(["mount", "-o", "remount,size=60m", folder], check=True)
        r = local("hf:u/large", folder="small")
        check("with space it works", r.returncode == 0, r)
    finally:
        subprocess.run(["umount", folder], check=True)


# ---- through a daemon ----

class Daemon:
    def __init__(self, *more, settings=""):
        with open(f"{DIR}/llamad.conf", "w") as f:
            f.write(f"[models]\nhf_url = {HUB}\nollama_url = {HUB}\ncatalogue = {DIR}/catalogue\n"
                    f"{settings}")
        self.url = f"ipc://{DIR}/sock"
        self.process = subprocess.Popen([f"{BUILD}/llamad", "--config", f"{DIR}/llamad.conf",
                                         "--socket", self.url, "--state-dir", f"{DIR}/state",
                                         "--http", f"unix:{DIR}/http", *more])
        end = time.monotonic() + PATIENCE
        while self.ctl("ping").returncode:
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit("FAIL: the daemon does not get ready")
            time.sleep(0.05)  # asks again; nothing depends on its length

    def ctl(self, *words):
        return ctl("--socket", self.url, *words)

    def models(self):
        return {m["name"]: m for m in json.loads(self.ctl("list", "--json").stdout)}

    def stop(self):
        self.ctl("shutdown")
        check("the daemon ends", self.process.wait(PATIENCE) == 0)


def daemon():
    d = Daemon(settings="".join(f"[model {m}]\ntemplate = chatml\n" for m in ("seen", "seen8", "twin", "mine2")))
    try:
        through(d)
    finally:
        d.process.kill()


def through(d):
    r = d.ctl("pull", "hf:u/tiny-GGUF")
    check("pull prints the name", r.stdout == "tiny\n", r)
    r = d.ctl("generate", "tiny", "-n", "4", "--raw", "-p", "x")
    check("the model works", r.returncode == 0, r)
    log()
    r = d.ctl("pull", "hf:u/tiny-GGUF")
    check("again: nothing to do", r.returncode == 0, r)
    check("and nothing is transferred", not [x for x in log() if "/cdn/" in x])
    r = d.ctl("pull", "short", "--json")
    check("a short name", json.loads(r.stdout)["name"] == "short", r)
    r = d.ctl("pull", "unknown")
    check("a name that is not in the catalogue", r.returncode == 1 and "catalogue" in r.stderr, r)
    r = d.ctl("pull", "ollama:tiny:v1", "--name", "mine")
    check("ollama's registry", r.stdout == "mine\n" and "mine" in d.models(), r)
    r = d.ctl("pull", "hf:u/plain")
    check("safetensors need a folder", r.returncode == 1 and "pull hf:u/plain --to" in r.stderr, r)
    r = d.ctl("pull", "hf:u/one", "--name", "noise")
    check("a file that is no model", r.returncode == 1 and "noise" not in d.models(), r)
    towers(d)
    here = f"{DIR}/Here-Q4_0.gguf"
    shutil.copy(TINY, here)
    r = d.ctl("pull", here)
    check("a file gives its name", r.stdout == "Here-Q4_0\n" and "Here-Q4_0" in d.models(), r)
    r = d.ctl("pull", here, "--name", "there", "--json")
    check("or --name", json.loads(r.stdout)["name"] == "there", r)
    r = d.ctl("pull", here, "--name", "other", "--digest", "1" * 64)
    check("a file with another digest", r.returncode == 1 and "digest" in r.stderr and
          "other" not in d.models(), r)
    os.remove(here)
    r = d.ctl("generate", "there", "-n", "4", "--raw", "-p", "x")
    check("it was copied", r.returncode == 0, r)
    r = d.ctl("pull", here)
    check("a file that is not there", r.returncode == 1 and "No such file" in r.stderr, r)
    r = d.ctl("pull", TINY, "--to", DIR)
    check("a file and --to", r.returncode == 2 and "--to" in r.stderr, r)
    r = d.ctl("pull", "hf:u/other-GGUF", "--name", "mine")
    check("a name in use", r.returncode == 1 and "mine" in r.stderr, r)
    r = d.ctl("pull", "hf:u/other-GGUF", "--name", "mine", "--replace")
    check("--replace", r.returncode == 0, r)
    r = d.ctl("pull", "hf:u/tiny-GGUF", "--name", "x", "--digest", "1" * 64)
    check("--digest", r.returncode == 1 and "digest" in r.stderr, r)
    check("no downloads are left", os.listdir(f"{DIR}/state/downloads") == [],
          os.listdir(f"{DIR}/state/downloads"))
    names = d.models()
    check("one blob for each content", len([n for n in os.listdir(f"{DIR}/state/models") if "." not in n]) ==
          len({m["digest"] for m in names.values()}), names)
    split_model(d)
    ollama_api()
    cancelled(d)
    d.stop()


def tower_of(model):
    """Where the store has the vision tower of a model, given its bytes."""
    return f"{DIR}/state/models/sha256-{hashlib.sha256(model).hexdigest()}.mmproj"


def transfers():
    return [x for x in log() if "/cdn/" in x or "/blobs/" in x]


def sees(model):
    """Whether the model reads a picture: 4 x 4 patches, which count as 16 tokens of the prompt."""
    count = []
    for images in [], [PICTURE]:
        question = {"role": "user", "content": "what is it?", "images": images}
        code, lines = post("/api/chat", {"model": model, "messages": [question], "stream": False,
                                         "options": {"num_predict": 2}})
        if code != 200:
            return False, (code, lines)
        count.append(lines[0]["prompt_eval_count"])
    return count[1] - count[0] == 16, count


def remove(d, model):
    d.ctl("unload", model)
    return d.ctl("rm", model)


def towers(d):
    one, two = tower_of(read(f"{DIR}/third.gguf")), tower_of(read(f"{DIR}/fourth.gguf"))
    faults(wrong=True)
    r = d.ctl("pull", "hf:u/seen-GGUF:F32")
    check("a vision tower with wrong bytes", r.returncode == 1 and "digest" in r.stderr and
          "mmproj" in r.stderr and not os.path.exists(one) and "seen:F32" not in d.models(), r)
    faults(cut=[len(TOWER) // 3, len(TOWER) // 2])
    r = d.ctl("pull", "hf:u/seen-GGUF:F32", "--name", "seen")
    check("cut off and continued", r.returncode == 0 and read(one) == TOWER, r)
    faults()
    remove(d, "seen")
    check("rm", not os.path.exists(one))
    faults(status=[0, 404])
    r = d.ctl("pull", "hf:u/seen-GGUF:F32", "--name", "seen")
    check("a model that fails after its vision tower", r.returncode == 1 and "404" in r.stderr, r)
    faults()
    log()
    r = d.ctl("pull", "hf:u/seen-GGUF:F32", "--name", "seen")
    check("the vision tower is not transferred again", r.returncode == 0 and read(one) == TOWER and
          not [x for x in log() if "mmproj" in x], r)
    check("the model reads pictures", *sees("seen"))
    transfers()
    r = d.ctl("pull", "hf:u/seen-GGUF:F32", "--name", "seen")
    check("again: nothing is transferred", r.returncode == 0 and not transfers(), r)
    r = d.ctl("pull", "hf:u/seen-GGUF:Q8_0", "--name", "seen8")
    check("another quantisation", r.returncode == 0 and read(two) == TOWER, r)
    check("shares the file", os.path.samefile(one, two) and not [x for x in log() if "mmproj" in x])
    r = d.ctl("cp", "seen", "alias")
    check("cp", r.returncode == 0, r)
    check("the alias reads pictures", *sees("alias"))
    r = d.ctl("rm", "alias")
    check("rm of the alias", r.returncode == 0 and os.path.exists(one), r)
    r = d.ctl("pull", "hf:u/seen-GGUF:F32", "--name", "twin")
    check("the same model with another name", r.returncode == 0 and not transfers(), r)
    r = remove(d, "seen")
    check("rm of one of two names", r.returncode == 0 and read(one) == TOWER, r)
    check("the other one reads pictures", *sees("twin"))
    r = remove(d, "twin")
    check("rm of the last name", r.returncode == 0 and not os.path.exists(one) and read(two) == TOWER, r)
    check("the other quantisation reads pictures", *sees("seen8"))
    remove(d, "seen8")
    r = d.ctl("pull", "ollama:seen:v1", "--name", "mine2")
    check("ollama's registry has a vision tower", r.returncode == 0 and read(one) == TOWER, r)
    check("the model reads pictures", *sees("mine2"))
    remove(d, "mine2")
    check("no vision tower is left", not [n for n in os.listdir(f"{DIR}/state/models") if "mmproj" in n])
    r = d.ctl("pull", "hf:u/blind-GGUF", "--name", "blind")
    check("a vision tower that is none", r.returncode == 0 and os.path.exists(one), r)
    r = d.ctl("generate", "blind", "-n", "4", "--raw", "-p", "x")
    check("the model works", r.returncode == 0, r)
    remove(d, "blind")


def post(path, body, method="POST"):
    """The status and the lines of an answer of the daemon over HTTP."""
    r = subprocess.run(["curl", "-s", "-m", str(PATIENCE), "-X", method, "-w", "\n%{http_code}",
                        "--unix-socket", f"{DIR}/http", "-d", json.dumps(body), f"http://h{path}"],
                       capture_output=True, text=True, timeout=2 * PATIENCE)
    *lines, code = r.stdout.splitlines()
    return int(code), [json.loads(line) for line in lines if line]


def ollama_api():
    """What `ollama pull` and the client packages of Ollama send."""
    if not shutil.which("curl"):
        print("SKIP: no curl")
        return
    code, lines = post("/api/pull", {"model": "tiny:v1"})
    check("/api/pull", code == 200 and lines[-1] == {"status": "success"}, lines)
    check("its progress", lines[0] == {"status": "pulling manifest"}, lines)
    code, lines = post("/api/generate", {"model": "tiny:v1", "prompt": "x", "raw": True, "stream": False,
                                         "options": {"num_predict": 2}})
    check("the model has the name of the request", code == 200, lines)
    code, lines = post("/api/pull", {"name": "short", "stream": False})
    check("/api/pull of a short name", code == 200 and lines == [{"status": "success"}], lines)
    code, lines = post("/api/pull", {"model": "nobody"})
    check("/api/pull of nothing", "error" in lines[-1], (code, lines))
    code, lines = post("/api/pull", {"model": "nobody", "stream": False})
    check("/api/pull of nothing, without a stream", code == 404 and "404" in lines[-1]["error"],
          (code, lines))
    code, lines = post("/api/pull", {})
    check("/api/pull without a model", code == 400 and "model" in lines[0]["error"], (code, lines))
    code, lines = post("/api/copy", {"source": "tiny:v1", "destination": "copy2"})
    check("/api/copy", code == 200 and not lines, (code, lines))
    code, lines = post("/api/delete", {"model": "copy2"}, "DELETE")
    check("/api/delete", code == 200 and not lines, (code, lines))


def split_model(d):
    """A model in parts, made by llamactl split."""
    top = f"{ROOT}/hf/u/parts"
    os.makedirs(top)
    r = ctl("split", "--split-max-tensors", "8", TINY, f"{top}/tiny-F32")
    check("split", r.returncode == 0, r)
    r = d.ctl("pull", "hf:u/parts")
    check("a model in parts", r.returncode == 0, r)
    a = d.ctl("generate", "parts", "-n", "8", "--raw", "-p", "x", "--temp", "0", "--ignore-eos")
    b = d.ctl("generate", "tiny", "-n", "8", "--raw", "-p", "x", "--temp", "0", "--ignore-eos")
    r = d.ctl("add", "--import", "copy", f"{top}/tiny-F32-00001-of-{len(os.listdir(top)):05}.gguf")
    c = d.ctl("generate", "copy", "-n", "8", "--raw", "-p", "x", "--temp", "0", "--ignore-eos")
    check("a copy of a model in parts", r.returncode == 0 and c.stdout == a.stdout, (r, c))
    check("it says the same", a.returncode == 0 and a.stdout == b.stdout, (a, b))


def cancelled(d):
    """A pull that is cancelled keeps what it has and continues."""
    faults(cut=[100000, 100001], status=[0] + [503] * 200)
    p = subprocess.Popen([f"{BUILD}/llamactl", "--socket", d.url, "pull", "hf:u/large",
                          "--name", "l"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(f"{DIR}/state/downloads/{KEY}/large-Q4_0.gguf.partial")
    p.send_signal(signal.SIGINT)
    _, text = p.communicate(timeout=PATIENCE)
    check("Ctrl-C", p.returncode == 128 + signal.SIGINT, (p.returncode, text))
    faults()
    r = d.ctl("pull", "hf:u/large", "--name", "l")
    check("a large file that is no model", r.returncode == 1 and "GGUF" in r.stderr, r)


def killed_daemon():
    """The daemon is killed at random while it downloads; after its next start the same command continues."""
    rng = random.Random(int(os.environ.get("LMD_SEED", "1")))
    kept = f"{DIR}/state/models/sha256-" + hashlib.sha256(FILES["long"]).hexdigest()
    wrong, d = 0, Daemon()
    try:
        log()
        for _ in range(N_KILLED_DAEMON):
            p = subprocess.Popen([f"{BUILD}/llamactl", "--socket", d.url, "pull", "hf:u/long", "--name",
                                  "long"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                p.wait(rng.random() * 0.2)
            except subprocess.TimeoutExpired:
                pass
            d.process.kill()
            d.process.wait()
            p.communicate(timeout=PATIENCE)
            d = Daemon()
            r = d.ctl("pull", "hf:u/long", "--name", "long")
            wrong += r.returncode != 0 or read(kept) != FILES["long"]
            r = d.ctl("rm", "long")
            wrong += r.returncode != 0 or os.path.exists(kept)
        check("a killed daemon continues", not wrong, wrong)
        print("downloads that went on at a byte:",
              len([x for x in log() if "/cdn/" in x and x.split()[2] != "-"]))
        d.stop()
    finally:
        d.process.kill()


def signed():
    """The manifest beside a model comes with it, and goes with it."""
    model = f"{ROOT}/hf/u/signed-GGUF/signed-F32.gguf"
    os.makedirs(os.path.dirname(model))
    subprocess.run([f"{BUILD}/tests/mktiny", "full", "7", model], check=True)
    ctl("sign", "--new-key", f"{DIR}/key")
    r = ctl("sign", model, "--key", f"{DIR}/key.key")
    check("the model is signed", r.returncode == 0, r)
    r = local("hf:u/signed-GGUF", folder="signed")
    check("both files", sorted(os.listdir(f"{DIR}/signed")) == ["signed-F32.gguf", "signed-F32.gguf.sig"], r)
    r = ctl("verify", f"{DIR}/signed/signed-F32.gguf", "--key", f"{DIR}/key.pub")
    check("it is valid", r.returncode == 0, r)
    for name in "signed-F32.gguf", "signed-F32.gguf.sig":
        shutil.copy(f"{os.path.dirname(model)}/{name}", f"{ROOT}/files/{name}")
    r = local(f"{HUB}/files/signed-F32.gguf", folder="signed-url")
    check("both files of a URL", len(os.listdir(f"{DIR}/signed-url")) == 2, r)
    d = Daemon(settings=f"signatures = require\ntrusted_keys = {DIR}/key.pub\n")
    try:
        r = d.ctl("pull", "hf:u/signed-GGUF", "--name", "signed")
        check("a signed model is downloaded", r.returncode == 0, r)
        r = d.ctl("generate", "signed", "-n", "2", "--raw", "-p", "x")
        check("and loaded", r.returncode == 0, r)
        manifest = f"{DIR}/state/models/sha256-" + hashlib.sha256(read(model)).hexdigest() + ".sig"
        check("its manifest is in the store", read(manifest) == read(model + ".sig"))
        r = d.ctl("pull", "hf:u/one:Q5_K_M", "--name", "unsigned")
        check("another is refused", r.returncode == 1 and "is not signed" in r.stderr, r)
        d.ctl("unload", "signed")
        r = d.ctl("rm", "signed")
        check("the manifest goes with the model", r.returncode == 0 and not os.path.exists(manifest), r)
        r = d.ctl("add", "imported", f"{DIR}/signed/signed-F32.gguf", "--import")
        check("an imported file keeps it as well", r.returncode == 0 and os.path.exists(manifest), r)
        r = d.ctl("load", "imported")
        check("and is loaded", r.returncode == 0, r)
        d.stop()
    finally:
        d.process.kill()


rng = random.Random(3)
FILES = {f"one-{q}": rng.randbytes(200000 + 7 * i) for i, q in enumerate(
    ["Q4_K_M", "Q8_0", "IQ4_XS", "Q5_K_M", "Q2_K"])}
FILES["one-Q6_K"] = rng.randbytes(3000000)
FILES["large"] = rng.randbytes(40000000)
FILES["long"] = read(TINY) + rng.randbytes(24000000)  # bytes after the last tensor are allowed
FILES["plain"] = rng.randbytes(123457)
FILES["other"] = rng.randbytes(1234567)
for name in list(FILES):
    if name.startswith("one-"):
        put(f"{ROOT}/hf/u/one/{name}.gguf", FILES[name])
for i in (1, 2, 3):
    name = f"big-Q4_0-0000{i}-of-00003"
    FILES[name] = rng.randbytes(50000 * i)
    put(f"{ROOT}/hf/u/split/sub/{name}.gguf", FILES[name])
put(f"{ROOT}/hf/u/one/README.md", b"#")
put(f"{ROOT}/hf/u/one/more/mmproj-one-F16.gguf", b"x")
put(f"{ROOT}/hf/u/large/large-Q4_0.gguf", FILES["large"])
put(f"{ROOT}/hf/u/long/long-F32.gguf", FILES["long"])
put(f"{ROOT}/files/plain.gguf", FILES["plain"])
put(f"{ROOT}/files/plain.txt", b"x")
put(f"{ROOT}/files/other.gguf", FILES["other"])
put(f"{ROOT}/hf/u/tiny-GGUF/tiny-F32.gguf", read(TINY))
put(f"{ROOT}/registry/library/tiny/v1/tiny.gguf", read(TINY))
put(f"{ROOT}/registry/library/tiny/v1/template", b"{{ .Prompt }}")
subprocess.run([f"{BUILD}/tests/mktiny", "full", "6", f"{DIR}/second.gguf"], check=True)
subprocess.run([f"{BUILD}/tests/mktiny", "full", "7", f"{DIR}/third.gguf"], check=True)
subprocess.run([f"{BUILD}/tests/mktiny", "full", "8", f"{DIR}/fourth.gguf"], check=True)
subprocess.run([f"{BUILD}/tests/mktiny", "tower:mlp", "0", f"{DIR}/tower.gguf"], check=True)
TOWER = read(f"{DIR}/tower.gguf")
for name in "hf/u/seen-GGUF/mmproj-seen-F16.gguf", "registry/library/seen/v1/mmproj.gguf":
    put(f"{ROOT}/{name}", TOWER)
for name in "hf/u/seen-GGUF", "hf/u/blind-GGUF", "registry/library/seen/v1":
    put(f"{ROOT}/{name}/seen-F32.gguf", read(f"{DIR}/third.gguf"))
put(f"{ROOT}/hf/u/seen-GGUF/seen-Q8_0.gguf", read(f"{DIR}/fourth.gguf"))
put(f"{ROOT}/hf/u/blind-GGUF/mmproj.gguf", FILES["plain"])
put(f"{ROOT}/hf/u/other-GGUF/other-F32.gguf", read(f"{DIR}/second.gguf"))
put(f"{DIR}/catalogue", b"# names\nshort hf:u/tiny-GGUF:tiny-F32.gguf\n")
KEY = hashlib.sha256(b"hf:u/large:large-Q4_0.gguf").hexdigest()[:32]

server = subprocess.Popen([sys.executable, f"{SRC}/tests/hub/hub.py", ROOT, f"{DIR}/port"])
try:
    wait_for(f"{DIR}/port")
    HUB = "http://127.0.0.1:" + read(f"{DIR}/port").decode()
    for part in one_file, split, tower, checkpoint, tokens, registry, urls, troubles, interrupted, \
            full_disk, daemon, killed_daemon, signed:
        part()
finally:
    server.kill()
    server.wait()
shutil.rmtree(ROOT)
finish("pull")

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uploads through llamactl, to tests/hub/hub.py.

    push_test.py BUILD SOURCE DIR MODEL.gguf
"""
import base64
import hashlib
import json
import os
import random
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
ENV = {**os.environ, "XDG_CACHE_HOME": f"{DIR}/cache", "XDG_RUNTIME_DIR": f"{DIR}/run",
       "STATE_DIRECTORY": f"{DIR}/state", "HOME": f"{DIR}/home", "REGISTRY_AUTH_FILE": ""}


def ctl(*words, **env):
    return subprocess.run([f"{BUILD}/llamactl", *words], capture_output=True, text=True,
                          timeout=PATIENCE, env={**ENV, "OLLAMA_REGISTRY": HUB, **env})


def oci(name):
    return f"oci:{HUB[7:]}/{name}"


def push(file, name, *more, **env):
    return ctl("push", file, oci(name), *more, **env)


def pulled(name, dest=None, **env):
    """The bytes of the model files of a name."""
    shutil.rmtree(f"{DIR}/out", ignore_errors=True)
    os.makedirs(f"{DIR}/out")
    r = ctl("pull", dest or oci(name), "--to", f"{DIR}/out", **env)
    return [read(path) for path in r.stdout.split()] if r.returncode == 0 else r


def manifest(repo, tag):
    digest, kind = read(f"{ROOT}/pushed/{repo}/:{tag}").decode().split()
    return json.loads(read(f"{ROOT}/pushed/{repo}/{digest}")), digest, kind


def continued(repo):
    """Whether a session was asked for and none was opened for the file: one is for the description.
    A piece of a client that was killed may come first: the server can read it later than that."""
    methods = [line.split()[0] for line in log() if f"/v2/{repo}/blobs/uploads/" in line]
    return "GET" in methods and methods.count("POST") == 1


def sent():
    """The requests of `log` that carried pieces."""
    return [line for line in log() if line.startswith("PATCH")]


def first():
    r = push(TINY, "me/tiny:v1", "--json")
    reply = json.loads(r.stdout)
    rows, digest, kind = manifest("me/tiny", "v1")
    check("push", r.returncode == 0 and reply["digest"] == digest and reply["bytes_kept"] == 0, r)
    check("the manifest's type", kind == rows["mediaType"] == "application/vnd.oci.image.manifest.v1+json")
    layer = rows["layers"][0]
    check("the layer", layer["size"] == os.path.getsize(TINY) and layer["digest"] == "sha256:" +
          hashlib.sha256(read(TINY)).hexdigest() and "gguf" in layer["mediaType"] and
          layer["annotations"]["org.opencontainers.image.title"] == "tiny.gguf", layer)
    config = json.loads(read(f"{ROOT}/pushed/me/tiny/{rows['config']['digest']}"))
    check("the description", config["config"]["architecture"] == "llama" and
          config["rootfs"]["diff_ids"] == [layer["digest"]], config)
    check("pulled again", pulled("me/tiny:v1") == [read(TINY)])
    log()
    r = push(TINY, "me/tiny:v2", "--json")
    check("nothing is sent twice", r.returncode == 0 and json.loads(r.stdout)["bytes_sent"] == 0 and
          not sent(), r)
    check("the same manifest", manifest("me/tiny", "v2")[1] == digest)
    check("no upload is remembered", os.listdir(f"{DIR}/cache/llamad/uploads") == [])


def wrong_words():
    for dest, word in (("tiny", "oci:HOST/REPO"), ("hf:me/tiny", "oci:HOST/REPO"),
                       (oci("me/tiny") + "@sha256:" + "0" * 64, "a tag"), ("oci:nothing", "oci:HOST/REPO")):
        r = ctl("push", TINY, dest)
        check(f"destination {dest}", r.returncode == 1 and word in r.stderr, r)
    r = push(f"{DIR}/nothing.gguf", "me/x")
    check("no such file", r.returncode == 1 and "nothing.gguf" in r.stderr, r)
    with open(f"{DIR}/noise.gguf", "wb") as f:
        f.write(b"noise" * 100)
    r = push(f"{DIR}/noise.gguf", "me/x")
    check("not a model", r.returncode == 1 and "GGUF" in r.stderr, r)
    r = push(TINY, "missing/x")
    check("no such repository", r.returncode == 1 and "create it there" in r.stderr and
          "NAME_UNKNOWN" in r.stderr, r)


def logins():
    auth = f"{DIR}/auth.json"

    def login(text, key=None):
        with open(auth, "w") as f:
            json.dump({"auths": {key or HUB[7:]: {"auth": base64.b64encode(text.encode()).decode()}}}, f)

    for basic in False, True:
        name = "basic" if basic else "token"
        faults(login="me:secret", basic=basic)
        r = push(TINY, f"{name}/tiny")
        check(f"{name}: without a login", r.returncode == 1 and "login" in r.stderr, r)
        login("me:wrong")
        r = push(TINY, f"{name}/tiny", REGISTRY_AUTH_FILE=auth)
        check(f"{name}: a wrong password", r.returncode == 1 and "secret" not in r.stderr and
              "wrong" not in r.stderr.replace("wrong user", ""), r)
        login("me:secret", key="other.example")
        r = push(TINY, f"{name}/tiny", REGISTRY_AUTH_FILE=auth)
        check(f"{name}: the login of another host", r.returncode == 1, r)
        login("me:secret", key=f"{HUB}/v1/")
        log()
        r = push(TINY, f"{name}/tiny", REGISTRY_AUTH_FILE=auth)
        check(f"{name}: with the login", r.returncode == 0, r)
        check(f"{name}: pulled again", pulled(f"{name}/tiny", REGISTRY_AUTH_FILE=auth) == [read(TINY)])
    faults()
    r = push(TINY, "token/x", REGISTRY_AUTH_FILE=f"{DIR}/nothing.json")
    check("a file of logins that is not there", r.returncode == 1 and "nothing.json" in r.stderr, r)
    os.makedirs(f"{DIR}/home/.docker", exist_ok=True)
    login("me:secret")
    os.rename(auth, f"{DIR}/home/.docker/config.json")
    faults(login="me:secret")
    r = push(TINY, "token/docker")
    check("the file of docker", r.returncode == 0, r)
    os.remove(f"{DIR}/home/.docker/config.json")
    faults(token_uses=3, body_limit=1 << 20)
    r = push(BIG, "token/expires")
    check("a token that expires on the way", r.returncode == 0 and pulled("token/expires") == [read(BIG)], r)
    faults()


def troubles():
    faults(push_status=[429, 0, 503, 0, 502])
    r = push(BIG, "t/codes")
    check("429, 503 and 502 pass", r.returncode == 0 and pulled("t/codes") == [read(BIG)], r)
    faults(body_limit=300000)
    r = push(BIG, "t/limit")
    check("413: smaller pieces", r.returncode == 0 and pulled("t/limit") == [read(BIG)], r)
    faults(body_limit=1000)
    r = push(BIG, "t/tiny-limit")
    check("413 for any piece", r.returncode == 1 and "limit" in r.stderr and "65536" in r.stderr, r)
    faults(body_limit=9000000, cut_large=True)
    r = push(BIG, "t/cut-large")
    check("a proxy that cuts off large pieces", r.returncode == 0 and pulled("t/cut-large") == [read(BIG)], r)
    faults(short=700000)
    r = push(BIG, "t/short")
    check("a registry that keeps a part", r.returncode == 0 and pulled("t/short") == [read(BIG)], r)
    faults(lose=[True], body_limit=4000000)
    r = push(BIG, "t/lost")
    check("a session that is lost", r.returncode == 0 and pulled("t/lost") == [read(BIG)], r)
    faults(disk=pushed_bytes() + 5000000, body_limit=2000000)
    r = push(BIG, "t/full")
    check("a full disk", r.returncode == 1 and "disk" in r.stderr and "no space left" in r.stderr, r)
    check("no name for half a model", not os.path.exists(f"{ROOT}/pushed/t/full/:latest"))
    faults(body_limit=2000000)
    log()
    r = push(BIG, "t/full")
    check("with space the same command continues", r.returncode == 0 and continued("t/full"), r)
    check("and it is whole", pulled("t/full") == [read(BIG)])
    faults()


def pushed_bytes():
    return sum(os.path.getsize(os.path.join(folder, n)) for top in ("pushed", "sessions")
               for folder, _, names in os.walk(f"{ROOT}/{top}") for n in names)


def noted_uploads():
    """The uploads that llamactl has noted to continue them."""
    folder = f"{DIR}/cache/llamad/uploads"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return {n for n in names if not n.endswith(".part")}


def cuts():
    """Connections end at random places."""
    seed = int(os.environ.get("LMD_SEED", "1"))
    for i in range(3):
        faults(push_cut=[500000, 6000000])
        r = push(BIG, f"cut/{seed + i}")
        check("cut connections", r.returncode == 0, r)
        faults()
        check("it is whole", pulled(f"cut/{seed + i}") == [read(BIG)])


def interrupted():
    """Killed in the middle, and stopped by Ctrl-C; then it continues."""
    for i, (sig, code) in enumerate(((signal.SIGKILL, -9), (signal.SIGINT, 130))):
        faults(body_limit=1000000, push_status=[0] * 12 + [429] * 600)
        before, noted = pushed_bytes(), noted_uploads()
        p = subprocess.Popen([f"{BUILD}/llamactl", "push", BIG, oci(f"i/{i}")], env=ENV,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not (pushed_bytes() > before and noted_uploads() - noted):
            time.sleep(0.01)  # asks again
        p.send_signal(sig)
        _, text = p.communicate(timeout=PATIENCE)
        check("it ends", p.returncode == code, (p.returncode, text))
        faults()
        log()
        r = push(BIG, f"i/{i}", "--json")
        check("it continues", r.returncode == 0 and continued(f"i/{i}"), r)
        check("it is whole", pulled(f"i/{i}") == [read(BIG)])


def parts():
    os.makedirs(f"{DIR}/parts")
    ctl("split", "--split-max-tensors", "8", TINY, f"{DIR}/parts/tiny-F32")
    names = sorted(os.listdir(f"{DIR}/parts"))
    r = push(f"{DIR}/parts/{names[0]}", "me/parts")
    check("a model in parts", r.returncode == 0 and len(names) > 1 and
          pulled("me/parts") == [read(f"{DIR}/parts/{n}") for n in names], r)
    r = ctl("push", f"{DIR}/parts/{names[0]}", "ollama:me/parts")
    check("not to ollama", r.returncode == 1 and "llamactl merge" in r.stderr, r)
    r = ctl("add", "--import", "inparts", f"{DIR}/parts/{names[0]}")
    r = push("inparts", "me/stored")
    check("a stored model in parts", r.returncode == 0 and
          pulled("me/stored") == [read(f"{DIR}/parts/{n}") for n in names], r)


def signed():
    """The signed manifest is a layer, comes back, and is valid."""
    os.makedirs(f"{DIR}/signed")
    shutil.copy(TINY, f"{DIR}/signed/m.gguf")
    ctl("sign", "--new-key", f"{DIR}/key")
    ctl("sign", f"{DIR}/signed/m.gguf", "--key", f"{DIR}/key.key")
    r = push(f"{DIR}/signed/m.gguf", "me/signed")
    layers = manifest("me/signed", "latest")[0]["layers"]
    check("a layer with the manifest", r.returncode == 0 and [x["mediaType"] for x in layers] == [
        "application/vnd.docker.ai.gguf.v3", "application/vnd.llamad.model.signature.v1"] and
        layers[1]["annotations"]["org.opencontainers.image.title"] == "m.gguf.sig", (r, layers))
    got = pulled("me/signed")
    names = sorted(os.listdir(f"{DIR}/out"))
    check("both come back", got == [read(TINY), read(f"{DIR}/signed/m.gguf.sig")] and
          len(names) == 2 and names[1] == names[0] + ".sig", names)
    r = ctl("verify", f"{DIR}/out/{names[0]}", "--key", f"{DIR}/key.pub")
    check("and are valid", r.returncode == 0, r)


def tower():
    """The vision tower beside a model goes with it to both kinds of registries, and comes back."""
    os.makedirs(f"{DIR}/sees")
    shutil.copy(TINY, f"{DIR}/sees/m.gguf")
    shutil.copy(f"{DIR}/tower.gguf", f"{DIR}/sees/mmproj-F16.gguf")
    both = [read(TINY), read(f"{DIR}/tower.gguf")]
    for dest, kind in (oci("me/sees"), "docker.ai.mmproj"), ("ollama:me/sees:v1", "ollama.image.projector"):
        r = ctl("push", f"{DIR}/sees/m.gguf", dest)
        layers = manifest("me/sees", "v1" if "v1" in dest else "latest")[0]["layers"]
        check(f"a layer with the tower: {kind}", r.returncode == 0 and len(layers) == 2 and
              layers[1]["mediaType"] == f"application/vnd.{kind}", (r, layers))
        check(f"both come back: {kind}", pulled(None, dest) == both)
    r = ctl("add", "--import", "sees", f"{DIR}/sees/m.gguf")
    check("the store takes the tower", r.returncode == 0, r)
    r = push("sees", "me/seen")
    layers = manifest("me/seen", "latest")[0]["layers"]
    check("a stored model with its tower", r.returncode == 0 and
          layers[1]["annotations"]["org.opencontainers.image.title"] == "mmproj-sees.gguf", (r, layers))
    check("comes back", pulled("me/seen") == both)
    ctl("rm", "sees")
    shutil.copy(TINY, f"{DIR}/sees/mmproj-F16.gguf")
    r = push(f"{DIR}/sees/m.gguf", "me/blind")
    check("another model with the name of a tower is left out", r.returncode == 0 and
          "not a vision tower" in r.stderr and len(manifest("me/blind", "latest")[0]["layers"]) == 1, r)


def named():
    """A name with a Modelfile, from the user's own store and from a daemon."""
    with open(f"{DIR}/Modelfile", "w") as f:
        f.write(f'FROM {TINY}\nPARAMETER temperature 0.25\nPARAMETER stop "User:"\nPARAMETER stop END\n'
                f'TEMPLATE """{{{{ .Prompt }}}}"""\nSYSTEM You are short.\nLICENSE free\n'
                f'MESSAGE user Hi\nMESSAGE assistant Ho\n')
    r = ctl("create", "short", "-f", f"{DIR}/Modelfile")
    check("create", r.returncode == 0, r)
    r = ctl("push", "short", "ollama:me/short:v1")
    check("push to ollama's registry", r.returncode == 0, r)
    rows, _, kind = manifest("me/short", "v1")
    check("docker's manifest", kind == "application/vnd.docker.distribution.manifest.v2+json", kind)
    layers = {row["mediaType"].rsplit(".", 1)[1]: read(f"{ROOT}/pushed/me/short/{row['digest']}")
              for row in rows["layers"]}
    check("its layers", layers["model"] == read(TINY) and layers["template"] == b"{{ .Prompt }}" and
          layers["system"] == b"You are short." and layers["license"] == b"free", sorted(layers))
    check("parameters", json.loads(layers["params"]) == {"temperature": 0.25, "stop": ["User:", "END"]},
          layers["params"])
    check("messages", json.loads(layers["messages"]) == [{"role": "user", "content": "Hi"},
                                                         {"role": "assistant", "content": "Ho"}])
    config = json.loads(read(f"{ROOT}/pushed/me/short/{rows['config']['digest']}"))
    check("ollama's description", config["model_format"] == "gguf" and config["model_family"] == "llama")
    check("pulled from ollama's registry", pulled(None, "ollama:me/short:v1") == [read(TINY)])
    r = push("short", "me/short:oci")
    rows = manifest("me/short", "oci")[0]
    texts = {row["annotations"]["org.opencontainers.image.title"]: row for row in rows["layers"]}
    check("an OCI registry has the Modelfile", r.returncode == 0 and
          sorted(texts) == ["LICENSE", "Modelfile", "tiny.gguf"], sorted(texts))
    d = subprocess.Popen([f"{BUILD}/llamad", "--socket", f"ipc://{DIR}/sock", "--state-dir", f"{DIR}/state"],
                         env=ENV)
    try:
        end = time.monotonic() + PATIENCE
        while ctl("--socket", f"ipc://{DIR}/sock", "ping").returncode and time.monotonic() < end:
            time.sleep(0.05)  # asks again
        r = ctl("--socket", f"ipc://{DIR}/sock", "push", "short", oci("me/short:daemon"))
        check("a model of the daemon", r.returncode == 0 and
              manifest("me/short", "daemon")[1] == manifest("me/short", "oci")[1], r)
        r = ctl("--socket", f"ipc://{DIR}/sock", "push", "nobody", oci("me/x"))
        check("a name that is not known", r.returncode == 1 and "nobody" in r.stderr, r)
        r = ctl("--socket", f"ipc://{DIR}/sock", "push", "inparts", oci("me/kept"))
        check("parts that the daemon keeps", r.returncode == 0 and
              manifest("me/kept", "latest")[1] == manifest("me/stored", "latest")[1], r)
    finally:
        ctl("--socket", f"ipc://{DIR}/sock", "shutdown")
        d.wait(PATIENCE)


os.makedirs(ROOT)
for name in "home", "run", "state":
    os.makedirs(f"{DIR}/{name}", mode=0o700)
# bytes after the last tensor are allowed, and make many pieces
BIG = f"{DIR}/big.gguf"
with open(TINY, "rb") as f:
    data = f.read()
with open(BIG, "wb") as f:
    f.write(data + random.Random(3).randbytes(12000000))
server = subprocess.Popen([sys.executable, f"{SRC}/tests/hub/hub.py", ROOT, f"{DIR}/port"])
try:
    wait_for(f"{DIR}/port")
    HUB = "http://127.0.0.1:" + read(f"{DIR}/port").decode()
    for part in first, wrong_words, logins, troubles, cuts, interrupted, parts, signed, tower, named:
        part()
finally:
    server.kill()
    server.wait()
finish("push")

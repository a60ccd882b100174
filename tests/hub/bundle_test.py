#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bundles: written, read, damaged.

    bundle_test.py BUILD SOURCE DIR MODEL.gguf
"""
import hashlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import time

BUILD, SRC, DIR, TINY = sys.argv[1:]
sys.path[:0] = [f"{SRC}/tests", f"{SRC}/tests/hub"]
from stand_in import PATIENCE, read  # noqa: E402
from tally import check, finish  # noqa: E402

SOCK = f"ipc://{DIR}/sock"


def ctl(*words, store="here", data=None):
    """Runs llamactl with a store of its own."""
    os.makedirs(f"{DIR}/{store}", mode=0o700, exist_ok=True)
    env = {**os.environ, "STATE_DIRECTORY": f"{DIR}/{store}", "XDG_RUNTIME_DIR": f"{DIR}/run", "HOME": DIR}
    return subprocess.run([f"{BUILD}/llamactl", *words], capture_output=True, input=data, timeout=PATIENCE,
                          env=env)


def names(store):
    return sorted(m["name"] for m in json.loads(ctl("list", "--json", store=store).stdout))


def left(store):
    """What a failed import left in a store beside the registry."""
    return [os.path.join(folder, n) for top in ("models", "downloads")
            for folder, _, files in os.walk(f"{DIR}/{store}/{top}") for n in files]


def answer(name, store, *more):
    r = ctl(*more, "show", name, "--modelfile", store=store)
    return r.stdout


def made():
    with open(f"{DIR}/Modelfile", "w") as f:
        f.write(f'FROM {TINY}\nPARAMETER temperature 0.25\nSYSTEM You are short.\nLICENSE free\n')
    check("create", ctl("create", "short", "-f", f"{DIR}/Modelfile").returncode == 0)
    os.makedirs(f"{DIR}/parts")
    ctl("split", "--split-max-tensors", "8", TINY, f"{DIR}/parts/tiny-F32")
    first = sorted(os.listdir(f"{DIR}/parts"))[0]
    check("a model in parts", ctl("add", "--import", "inparts", f"{DIR}/parts/{first}").returncode == 0)
    r = ctl("bundle", "short", "inparts", "-o", f"{DIR}/a.tar", "--json")
    check("bundle", r.returncode == 0 and json.loads(r.stdout)["models"] == ["short", "inparts"], r)
    r = ctl("bundle", "short", "inparts", "-o", "-")
    check("on standard output, and always the same", r.stdout == read(f"{DIR}/a.tar"), r.stderr)
    with tarfile.open(f"{DIR}/a.tar") as tar:
        rows = tar.getmembers()
        index = json.load(tar.extractfile(rows[0]))
        good = all(hashlib.sha256(tar.extractfile(m).read()).hexdigest() == m.name[7:] for m in rows[1:])
    check("tar reads it", rows[0].name == "llamad-bundle.json" and good and
          {m.mtime for m in rows} == {0} and {m.mode for m in rows} == {0o644}, rows)
    check("the index", [m["name"] for m in index["models"]] == ["short", "inparts"] and
          len(index["models"][1]["files"]) == len(os.listdir(f"{DIR}/parts")), index)


def taken():
    r = ctl("add", f"{DIR}/a.tar", store="there")
    check("add", r.returncode == 0 and r.stdout == b"short\ninparts\n", r)
    check("the models", names("there") == names("here") or set(names("there")) >= {"inparts"}, names("there"))
    check("the Modelfile", answer("short", "there") == answer("short", "here") != b"", answer("short", "there"))
    for name in "tiny", "inparts":
        a, b = (ctl("run", name, "-p", "x", "-n", "8", "--raw", "--temp", "0", "--ignore-eos", store=s)
                for s in ("here", "there"))
        check(f"{name} says the same", a.returncode == 0 and a.stdout == b.stdout, (a, b))
    check("no file is left", not [p for p in left("there") if "downloads" in p], left("there"))
    r = ctl("add", f"{DIR}/a.tar", store="there")
    check("a name in use", r.returncode == 1 and b"inparts" in r.stderr, r)
    r = ctl("add", f"{DIR}/a.tar", "--replace", "--json", store="there")
    check("--replace", r.returncode == 0 and json.loads(r.stdout) == ["short", "inparts"], r)
    r = ctl("add", "-", store="stdin", data=read(f"{DIR}/a.tar"))
    check("from standard input", r.returncode == 0 and "inparts" in names("stdin"), r)
    r = ctl("add", f"{DIR}/nothing.tar", store="there")
    check("no such file", r.returncode == 1 and b"nothing.tar" in r.stderr, r)


def daemon():
    d = subprocess.Popen([f"{BUILD}/llamad", "--socket", SOCK, "--state-dir", f"{DIR}/served"])
    try:
        end = time.monotonic() + PATIENCE
        while ctl("--socket", SOCK, "ping").returncode and time.monotonic() < end:
            time.sleep(0.05)  # asks again; nothing depends on its length
        r = ctl("--socket", SOCK, "add", f"{DIR}/a.tar", store="served")
        check("add by a daemon", r.returncode == 0 and r.stdout == b"short\ninparts\n", r)
        r = ctl("--socket", SOCK, "generate", "inparts", "-p", "x", "-n", "4", "--raw", store="served")
        check("its model works", r.returncode == 0 and r.stdout, r)
        r = ctl("--socket", SOCK, "bundle", "short", "-o", f"{DIR}/b.tar", store="served")
        check("bundle of the daemon's models", r.returncode == 0, r)
    finally:
        ctl("--socket", SOCK, "shutdown")
        d.wait(PATIENCE)


def tower():
    """The vision tower beside a model, also one in parts, is in the bundle and in the other store."""
    sight = read(f"{DIR}/tower.gguf")
    os.makedirs(f"{DIR}/sees")
    for name in os.listdir(f"{DIR}/parts"):
        shutil.copy(f"{DIR}/parts/{name}", f"{DIR}/sees")
    first = sorted(os.listdir(f"{DIR}/sees"))[0]
    digest = hashlib.sha256(read(f"{DIR}/sees/{first}")).hexdigest()
    shutil.copy(f"{DIR}/tower.gguf", f"{DIR}/sees/mmproj.gguf")
    r = ctl("add", "--import", "seen", f"{DIR}/sees/{first}", store="seeing")
    check("add --import", r.returncode == 0 and
          read(f"{DIR}/seeing/models/sha256-{digest}.mmproj") == sight, r)
    r = ctl("bundle", "seen", "-o", f"{DIR}/sees.tar", store="seeing")
    check("bundle with a tower", r.returncode == 0, r)
    with tarfile.open(f"{DIR}/sees.tar") as tar:
        rows = tar.getmembers()
        row = json.load(tar.extractfile(rows[0]))["models"][0]
        check("its index", row["tower"] == {"sha256": hashlib.sha256(sight).hexdigest(), "size": len(sight)} and
              rows[-1].name == "sha256-" + row["tower"]["sha256"], row)
    r = ctl("add", f"{DIR}/sees.tar", store="sighted")
    check("add", r.returncode == 0 and read(f"{DIR}/sighted/models/sha256-{digest}.mmproj") == sight, r)
    check("no file is left", not [p for p in left("sighted") if "downloads" in p], left("sighted"))
    r = ctl("rm", "seen", store="sighted")
    check("rm", r.returncode == 0 and not left("sighted"), left("sighted"))
    shutil.copy(TINY, f"{DIR}/sees/mmproj.gguf")
    r = ctl("add", "--import", "blind", f"{DIR}/sees/{first}", store="blind")
    check("another model with the name of a tower is left out", r.returncode == 0 and
          b"architecture llama is not a vision tower" in r.stderr and
          not [p for p in left("blind") if p.endswith(".mmproj")], (r, left("blind")))
    r = ctl("bundle", f"{DIR}/sees/{first}", "-o", f"{DIR}/blind.tar")
    with tarfile.open(f"{DIR}/blind.tar") as tar:
        rows = json.load(tar.extractfile(tar.getmembers()[0]))["models"]
    check("also of a bundle", r.returncode == 0 and "tower" not in rows[0] and
          b"not a vision tower" in r.stderr, (r, rows))


def archive(index, *members, **more):
    """The bytes of an archive, with members (name, bytes) or tarfile.TarInfo."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in (("llamad-bundle.json", index), *members):
            row = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            row.size = len(data)
            tar.addfile(row, io.BytesIO(data))
    return out.getvalue()


def hostile():
    data = read(TINY)
    digest = hashlib.sha256(data).hexdigest()
    file = {"sha256": digest, "size": len(data)}

    def index(*models, kind="llamad bundle 1"):
        return json.dumps({"format": kind, "models": list(models)}).encode()

    def model(name="x", files=(file,), **more):
        return {"name": name, "files": list(files), **more}

    link = tarfile.TarInfo(f"sha256-{digest}")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    good = archive(index(model()), (f"sha256-{digest}", data))
    noise = random.Random(5).randbytes(len(data))
    cases = {
        "another format": archive(index(model(), kind="llamad bundle 2"), (f"sha256-{digest}", data)),
        "a name that is a path": archive(index(model("/etc/x")), (f"sha256-{digest}", data)),
        "a name with dots": archive(index(model("a/../b")), (f"sha256-{digest}", data)),
        "a name that is too long": archive(index(model("n" * 200)), (f"sha256-{digest}", data)),
        "no models": archive(index()),
        "two models of one name": archive(index(model(), model()), (f"sha256-{digest}", data)),
        "no files": archive(index(model(files=()))),
        "a negative size": archive(index(model(files=({**file, "size": -1},))), (f"sha256-{digest}", data)),
        "a huge size": archive(index(model(files=({**file, "size": 2**62},))), (f"sha256-{digest}", data)),
        "a digest with a path": archive(index(model(files=({"sha256": "../" * 21 + "x", "size": 1},)))),
        "a tower without a size": archive(index(model(tower={"sha256": digest})), (f"sha256-{digest}", data)),
        "a tower with a path": archive(index(model(tower={"sha256": "../" * 21 + "x", "size": 1}))),
        "a tower that is not there": archive(index(model(tower={"sha256": "0" * 64, "size": 1})),
                                             (f"sha256-{digest}", data)),
        "an adapter": archive(index(model(modelfile="FROM y\nADAPTER /etc/passwd")), (f"sha256-{digest}", data)),
        "a Modelfile of itself": archive(index(model(modelfile="FROM x")), (f"sha256-{digest}", data)),
        "a Modelfile of a path": archive(index(model(modelfile="FROM /etc/x")), (f"sha256-{digest}", data)),
        "other bytes": archive(index(model()), (f"sha256-{digest}", noise)),
        "another file": archive(index(model()), ("sha256-" + "0" * 64, data)),
        "a file in a folder": archive(index(model()), (f"../sha256-{digest}", data)),
        "a link": archive(index(model()), (link, b"")),
        "one file more": archive(index(model()), (f"sha256-{digest}", data), ("more", b"x")),
        "a file less": archive(index(model())),
        "no index": archive(b"{}", (f"sha256-{digest}", data)),
        "not JSON": archive(b"x" * 100),
        "not an archive": noise,
        "nothing": b"",
        "not a model": archive(index(model(files=({"sha256": hashlib.sha256(noise).hexdigest(),
                                                   "size": len(noise)},))),
                               ("sha256-" + hashlib.sha256(noise).hexdigest(), noise)),
    }
    for what, data in cases.items():
        r = ctl("add", "-", store="wary", data=data)
        check(f"{what}: refused", r.returncode == 1 and r.stderr, r)
        check(f"{what}: nothing is left", not left("wary") and names("wary") == [], left("wary"))
    for _ in range(20):
        n = random.Random(len(good) + _).randrange(len(good) - 1024)
        r = ctl("add", "-", store="wary", data=good[:n])
        check(f"cut off at {n}", r.returncode == 1 and not left("wary"), r)
    check("and a good one", ctl("add", "-", store="wary", data=good).returncode == 0 and names("wary") == ["x"])


def wrong_words():
    for words in ([], ["bundle", "tiny"], ["bundle", "-o", f"{DIR}/x.tar"]):
        check(f"{words}", ctl(*words).returncode == 2)
    r = ctl("bundle", "nobody", "-o", f"{DIR}/x.tar")
    check("a name that is not known", r.returncode == 1 and not os.path.exists(f"{DIR}/x.tar"), r)
    r = ctl("bundle", "tiny", "-o", f"{DIR}/nowhere/x.tar")
    check("a folder that is not there", r.returncode == 1 and b"nowhere" in r.stderr, r)


os.makedirs(f"{DIR}/run", mode=0o700)
for part in made, taken, daemon, tower, hostile, wrong_words:
    part()
finish("bundle")

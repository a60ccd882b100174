#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes adapters for tests, and asks a daemon for their texts over HTTP.

    adapters.py make SOURCE MODEL FILE
    adapters.py test SOURCE ADDRESS FOLDER
"""
import array
import concurrent.futures
import json
import os
import random
import sys
import urllib.error
import urllib.request

SOURCE = sys.argv[2]
sys.path[:0] = os.path.join(SOURCE, "tests"), os.path.join(SOURCE, "tests", "fuzz")
import gguf_bytes as g  # noqa: E402
from tally import check, finish  # noqa: E402


def make(model, path):
    rnd = random.Random(os.path.basename(path))
    f = g.File()
    f.keys = [g.Key("general.type", g.STRING, g.text("adapter")),
              g.Key("general.architecture", g.STRING, g.text("llama")),
              g.Key("adapter.type", g.STRING, g.text("lora")),
              g.Key("adapter.lora.alpha", g.F32, g.number(g.F32, 8.0))]
    for t in g.read(model).tensors:
        if t.name not in ("blk.0.attn_q.weight", "blk.1.ffn_down.weight"):
            continue
        k, n = t.dims[:2]
        for part, dims in ("a", [k, 4]), ("b", [4, n]):
            v = array.array("f", [rnd.uniform(-0.4, 0.4) for _ in range(dims[0] * dims[1])])
            f.tensors.append(g.Tensor(f"{t.name}.lora_{part}", dims, 0, v.tobytes()))
    with open(path, "wb") as out:
        out.write(f.emit())


def call(address, path, body=None):
    request = urllib.request.Request(f"http://{address}{path}", method="POST" if body else "GET",
                                     data=json.dumps(body).encode() if body else None,
                                     headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as r:
            return r.status, json.load(r)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def test(address, folder):
    def read(name):
        with open(f"{folder}/{name}", encoding="utf-8") as f:
            return f.read()

    prompt = read("prompt")
    want = {n: read(f"{n}.txt")[:-1] for n in ("base", "one", "two", "scaled", "both")}

    def complete(model="base", path="/v1/completions", **more):
        return call(address, path, {"model": model, "prompt": prompt, "max_tokens": 24,
                                    "n_predict": 24, "temperature": 0, "ignore_eos": True, **more})

    def text(answer):
        return answer["choices"][0]["text"]

    for name, more in (("base", {}), ("one", {"adapter": "one"}), ("two", {"adapter": "two"}),
                       ("two", {"lora": [{"id": 0, "scale": 0}, {"id": 1, "scale": 1}]}),
                       ("base", {"lora": [{"id": 1, "scale": 0.0}]}),
                       ("scaled", {"lora": [{"id": 0, "scale": 0.3}]}),
                       ("scaled", {"adapter": "one:0.3"}),
                       ("both", {"lora": [{"id": 0, "scale": 1}, {"id": 1, "scale": 1}]}),
                       ("both", {"adapter": "one, two"})):
        status, answer = complete(**more)
        check(f"{more}: status", status == 200, answer)
        check(f"{more}: text", text(answer) == want[name], (text(answer), want[name]))
    check("the alias", text(complete("tuned")[1]) == want["one"])
    status, answer = complete(path="/completion", lora=[{"id": 0, "scale": 1}])
    check("llama.cpp's endpoint", answer.get("content") == want["one"], answer)

    # rows of different adapters share steps
    kinds = ["base", "one", "two"] * 6
    with concurrent.futures.ThreadPoolExecutor(len(kinds)) as pool:
        answers = list(pool.map(lambda k: complete(
            adapter="" if k == "base" else k, cache_prompt=False), kinds))
    check("together", all(text(a[1]) == want[k] for k, a in zip(kinds, answers)))

    # pages of the prefix cache belong to one adapter
    own = prompt[::-1]

    def cached(adapter):
        a = call(address, "/v1/completions", {"model": "base", "prompt": own, "max_tokens": 1,
                                              "adapter": adapter})[1]
        return a["usage"].get("prompt_tokens_details", {}).get("cached_tokens", 0)
    first = [cached("one"), cached("two"), cached("")]
    check("nothing is shared between adapters", first == [0, 0, 0], first)
    second = [cached("one"), cached("two"), cached("")]
    check("each finds its own pages", all(n > 0 for n in second), second)

    status, answer = call(address, "/lora-adapters?model=base")
    check("the list", status == 200 and [(a["id"], a["name"]) for a in answer]
          == [(0, "one"), (1, "two")], answer)
    for more, words in (({"adapter": "three"}, "no adapter 'three'; it has: one, two"),
                        ({"adapter": "2"}, "no adapter '2'"),
                        ({"lora": [{"id": 7, "scale": 1}]}, "no adapter '7'"),
                        ({"lora": [{"id": 0, "scale": 1e9}]}, "not within"),
                        ({"lora": [{"id": 0, "scale": 1}] * 9}, "more than 8 adapters"),
                        ({"lora": [{"scale": 1}]}, "without an id"),
                        ({"lora": 3}, "not an array"), ({"adapter": 3}, "adapter")):
        status, answer = complete(**more)
        check(f"{more}: an error", status in (400, 404) and words in json.dumps(answer), answer)
    finish("adapters over HTTP")


if sys.argv[1] == "make":
    make(*sys.argv[3:])
else:
    test(*sys.argv[3:])

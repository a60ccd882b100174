#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cache_reuse.py BUILD MODEL.gguf TEXT [PROMPTS [SHORTEST]]: how far moved rows are from computed ones.

A private daemon computes prompts of 900 tokens of TEXT of which 40 tokens in the middle are replaced by 60 others,
once as a whole and once with cache_reuse = SHORTEST after the prompt before the edit. Prints the KL divergence
of the next token's distribution, over the 32 most likely tokens and all others as one; how often the most
likely token is the same; and which part of the tokens was not computed. No figure depends on time."""
import http.client
import json
import math
import os
import random
import socket
import sys

from private_daemon import PrivateDaemon

build, model, text = sys.argv[1:4]
n_prompt, shortest = (int(v) for v in (sys.argv[4:] + ["40", "64"][len(sys.argv) - 4:]))
HEAD, OLD, NEW, TAIL, TOP = 100, 40, 60, 740, 32
daemon = PrivateDaemon(build, "--http", "unix:{folder}/http", "--ctx", "1024")


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(f"{daemon.folder}/http")


def post(path, body):
    c = Connection("localhost")
    c.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    r = c.getresponse()
    out = json.loads(r.read())
    c.close()
    if r.status != 200:
        sys.exit(f"cache_reuse: {path}: {out}")
    return out


def distribution(tokens, **more):
    """The probabilities of the next token, and how many rows were not computed."""
    out = post("/completion", dict(model="m", prompt=tokens, n_predict=1, temperature=0, n_probs=TOP, **more))
    top = out["completion_probabilities"][0]["top_logprobs"]
    return {t["id"]: math.exp(t["logprob"]) for t in top}, out["timings"]["cache_n"]


def divergence(p, q):
    """KL(p || q) with the tokens that are not among the most likely of both as one."""
    both = p.keys() & q.keys()
    rest_p, rest_q = (max(1e-6, 1 - sum(v[t] for t in both)) for v in (p, q))
    return sum(p[t] * math.log(p[t] / q[t]) for t in both) + rest_p * math.log(rest_p / rest_q)


with daemon:
    daemon.ctl("add", "m", model)
    with open(text, encoding="utf-8") as f:
        tokens = post("/tokenize", {"model": "m", "content": f.read()})["tokens"]
    rnd = random.Random(7)
    kl, same, cached = [], 0, 0
    for _ in range(n_prompt):
        at = rnd.randrange(len(tokens) - HEAD - OLD - TAIL)
        other = rnd.randrange(len(tokens) - NEW)
        head, tail = tokens[at:at + HEAD], tokens[at + HEAD + OLD:at + HEAD + OLD + TAIL]
        before = tokens[at:at + HEAD + OLD + TAIL]
        edited = head + tokens[other:other + NEW] + tail
        exact, _ = distribution(edited, cache_prompt=False)
        distribution(before)
        moved, n = distribution(edited, n_cache_reuse=shortest)
        kl.append(divergence(exact, moved))
        same += max(exact, key=exact.get) == max(moved, key=moved.get)
        cached += n / len(edited)
    kl.sort()
    print(f"{os.path.basename(model)}: {n_prompt} prompts of {HEAD + NEW + TAIL} tokens, "
          f"{100 * cached / n_prompt:.0f} % not computed")
    print(f"KL of the next token: mean {sum(kl) / n_prompt:.4f}, median {kl[n_prompt // 2]:.4f}, "
          f"95 % below {kl[n_prompt * 95 // 100]:.4f}; the same most likely token: {100 * same / n_prompt:.0f} %")

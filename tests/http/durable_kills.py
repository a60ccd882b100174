#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""durable_kills.py BUILD DIR KILLS STREAMS SEED: STREAMS clients of each of four endpoints read durable streams
while the daemon is killed, or stopped, and started again at random moments.

A client that lost its connection goes on at the byte or after the event that it has seen last. What it
has got in the end
  - is what the daemon then sends from the first byte on;
  - is what an undisturbed run sends, but for random ids and times.
Streams that are deleted leave no file. Exits with 1 at the first fault."""
import http.client
import os
import random
import re
import signal
import sys
import threading
import time

import restarts
from restarts import WAIT_S, Daemon, Fault, check, send

TOKENS = 250

COMMON = {"model": "tiny", "stream": True, "seed": 7, "temperature": 3, "ignore_eos": True, "durable": True}
CHAT = COMMON | {"chat_template": "chatml"}
REQUESTS = [
    ("/v1/chat/completions", CHAT | {"messages": [{"role": "user", "content": "hi"}], "logprobs": True,
                                     "top_logprobs": 3, "max_completion_tokens": TOKENS,
                                     "stream_options": {"include_usage": True}}),
    ("/v1/completions", COMMON | {"prompt": "Hello", "max_tokens": TOKENS}),
    ("/v1/responses", CHAT | {"input": "hi", "max_output_tokens": TOKENS}),
    ("/completion", COMMON | {"prompt": "Hello", "n_predict": TOKENS}),
]


def whole_events(data):
    return data[:data.rfind(b"\n\n") + 2] if b"\n\n" in data else b""


def normal(data):
    """Without what differs from run to run."""
    data = re.sub(rb"(?m)^id: .*\n", b"", data)
    data = re.sub(rb'"timings":\{[^}]*\}', b'"timings":{}', data)
    data = re.sub(rb',"(accepted|rejected)_prediction_tokens":[0-9]+', b"", data)
    data = re.sub(rb'("(created|created_at|completed_at|cached_tokens|tokens_cached|prompt_ms|predicted_ms)":)'
                  rb'[0-9.]+', rb"\1 0", data)
    return re.sub(rb"(chatcmpl-|cmpl-|resp_|msg_|rs_|fc_)[A-Za-z0-9]+", rb"\1", data)


class Client(threading.Thread):
    def __init__(self, daemon, target, body, rnd):
        super().__init__()
        self.daemon_, self.target, self.body, self.rnd = daemon, target, body, rnd
        self.seen, self.stream, self.fault, self.n_resumed, self.n_begun = b"", None, None, 0, 0

    def ask(self):
        if not self.stream:
            self.seen = b""
            self.n_begun += 1
            return send(self.daemon_, "POST", self.target, self.body)
        self.n_resumed += 1
        events = whole_events(self.seen)
        if events and self.rnd.random() < 0.5:
            self.seen = events
            last = re.findall(rb"(?m)^id: (.*)$", events)[-1].decode()
            check(last == f"{self.stream}:{len(events)}", f"the id {last} after {len(events)} bytes")
            return send(self.daemon_, "POST", self.target, self.body, {"Last-Event-ID": last})
        return send(self.daemon_, "GET", f"/v1/stream/{self.stream}?from={len(self.seen)}")

    def go_on(self):
        """Returns whether the stream is complete."""
        try:
            r = self.ask()
            if r.status in (429, 503):
                r.read()
                return False
            if r.status != 200:
                raise Fault(f"{self.target} from {len(self.seen)}: {r.status} {r.read()[:300]}")
            self.stream = self.stream or r.getheader("X-Conversation-Id")
            while True:
                part = r.read1(65536)
                self.seen += part
                if not part:
                    return True
        except (OSError, http.client.HTTPException):
            return False

    def run(self):
        end = time.monotonic() + WAIT_S
        try:
            while not self.go_on():
                check(time.monotonic() < end, f"{self.target} does not end")
                time.sleep(0.01)
        except Exception as e:
            self.fault = e


def batch(daemon, rnd, streams, ends):
    """Reads so many streams of each endpoint; ends: what happens to the daemon meanwhile, at most two times."""
    # a model during whose loading the daemon was killed twice would be in quarantine
    check(not daemon.ctl("load", "tiny").returncode, "load")
    clients = [Client(daemon, target, body, rnd) for target, body in REQUESTS * streams]
    for c in clients:
        c.start()
    for sig in ends:
        time.sleep(rnd.uniform(0.02, 0.3))  # any moment
        daemon.end(sig)
        daemon.start()
    for c in clients:
        c.join()
        if c.fault:
            raise c.fault
    return clients


def same(what, client, whole):
    seen = client.seen
    at = len(os.path.commonprefix([whole, seen]))
    check(whole == seen, f"{client.target}: {what} are {len(whole)} bytes, read were {len(seen)}; at {at}: "
                         f"{whole[max(at - 40, 0):at + 400]} and {seen[max(at - 40, 0):at + 400]}")


def files(daemon):
    return os.listdir(f"{daemon.folder}/state/streams")


def main():
    build, folder = sys.argv[1:3]
    kills, streams, seed = (int(v) for v in sys.argv[3:6])
    rnd = random.Random(seed)
    # streams that began without their client hearing of it stay, and none makes way for others
    daemon = Daemon(build, folder, "[limits]\ndurable_streams = 1000\nhttp_resume_number = 256\n")
    daemon.start()
    try:
        check(not daemon.ctl("add", "tiny", f"{folder}/tiny.gguf").returncode, "add")
        for bad in ({"stream": False}, {"n": 2}):
            r = send(daemon, "POST", REQUESTS[0][0], REQUESTS[0][1] | bad)
            check(r.status == 400 and b"durable" in r.read(), f"durable with {bad}: {r.status}")
        whole = batch(daemon, rnd, 1, [])
        want = [normal(c.seen) for c in whole] * streams
        # what had ended is written once more from its items
        daemon.end(signal.SIGKILL)
        daemon.start()
        for c in whole:
            same("after a kill", c, send(daemon, "GET", f"/v1/stream/{c.stream}?from=0").read())
        n, resumed, unknown = 0, 0, 0
        while n < kills:
            ends = [signal.SIGTERM if rnd.random() < 0.25 else signal.SIGKILL
                    for _ in range(min(kills - n, 2))]
            n += len(ends)
            for c, w in zip(batch(daemon, rnd, streams, ends), want):
                resumed += c.n_resumed
                unknown += c.n_begun - 1
                check(normal(c.seen) == w, f"{c.target}: {normal(c.seen)[-600:]} is not {w[-600:]}")
                r = send(daemon, "GET", f"/v1/stream/{c.stream}?from=0")
                whole = r.read()
                # a stop removes what was read to its end
                if r.status == 404 and signal.SIGTERM in ends:
                    continue
                same("kept", c, whole)
                check(send(daemon, "DELETE", f"/v1/stream/{c.stream}").status == 204, "delete")
                check(send(daemon, "GET", f"/v1/stream/{c.stream}").status == 404, "it is deleted")
        # those of the run without kills were read: they end with their lease; those that began without
        # their client hearing of it stay for long
        end = time.monotonic() + WAIT_S
        while len(files(daemon)) > unknown:
            check(time.monotonic() < end, f"files stay: {files(daemon)}")
            time.sleep(0.1)
        check(resumed > 0, "no client had to resume")
        print(f"{n} ends of the daemon during {streams * len(REQUESTS)} streams, {resumed} times resumed")
        daemon.end(signal.SIGTERM)
    finally:
        if daemon.process.poll() is None:
            daemon.process.kill()


restarts.run(main, sys.argv[2])

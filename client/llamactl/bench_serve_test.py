#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llamactl bench serve against a server that notes what it is asked and answers as it is told.

    bench_serve_test.py LLAMACTL
"""
import http.server
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests"))
from tally import check, finish  # noqa: E402

CTL = sys.argv[1]
WAIT_S = 60  # nothing waits so long unless it hangs


class State:
    """What the server does, and what it saw."""

    def __init__(self):
        self.lock = threading.Condition()
        self.run = 0
        self.reset()

    def reset(self, mode="ok", gate=0):
        self.mode, self.gate = mode, gate
        self.bodies, self.paths, self.keys = [], [], []
        self.inside = self.most = 0
        self.run += 1


state = State()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def text(self, code, text, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def event(self, data):
        data = f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def stream(self, body):
        """As many texts as max_tokens says, or fewer."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"a\r\n: comment\n\r\n2\r\n\n\n\r\n")
        n = body["max_tokens"]
        for _ in range(0 if state.mode == "silent" else n):
            self.event({"choices": [{"delta": {"content": "a"}} if "messages" in body else {"text": "a"}]})
        if state.mode == "error":
            self.event({"error": {"message": "the device has gone"}})
        if state.mode not in ("error", "uncounted"):
            self.event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": n,
                                                 "prompt_tokens_details": {"cached_tokens": 4}}})
        if state.mode != "cut":
            self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with state.lock:
            run = state.run
            state.bodies.append(body)
            state.paths.append(self.path)
            state.keys.append(self.headers.get("Authorization"))
            state.inside += 1
            state.most = max(state.most, state.inside)
            state.lock.notify_all()
            if state.gate and len(state.bodies) > 1:  # the first one is the warm-up
                state.lock.wait_for(lambda: state.most >= state.gate, WAIT_S)
        if state.mode == "busy" and len(state.bodies) > 1:
            self.text(429, "later", Retry_After="2") if len(state.bodies) % 2 else self.text(503, "not now")
        elif isinstance(state.mode, int):
            self.text(state.mode, "it is\ntoo late")
        else:
            self.stream(body)
        with state.lock:
            if run == state.run:  # the answer may have been read before this, and the next run have begun
                state.inside -= 1


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 300
    daemon_threads = True


def bench(*words, mode="ok", gate=0):
    """Runs one measurement; the state then has what the server saw."""
    state.reset(mode, gate)
    env = {k: v for k, v in os.environ.items() if k != "LLAMAD_KEY"}
    return subprocess.run([CTL, "bench", "serve", "m", "--url", URL, *words], capture_output=True, text=True, env=env)


def good(*words, **how):
    """The JSON of a measurement in which nothing fails."""
    run = bench(*words, "--json", **how)
    check(f"{words}: exit status", run.returncode == 0, run.stderr)
    return json.loads(run.stdout or "{}")


def bad(status, message, *words, **how):
    run = bench(*words, **how)
    check(f"{how or words}: exit status {status}", run.returncode == status, (run.returncode, run.stderr))
    check(f"{how or words}: says '{message}'", message in run.stderr and run.stderr.count("\n") == 1, run.stderr)
    return run


def words_of(body):
    return body["prompt"].split()


def the_requests():
    good("-r", "20", "-p", "5-9", "-n", "2-4", "--shared", "3", "--seed", "7")
    first, seen = state.bodies, {"p": set(), "n": set()}
    check("a warm-up and the requests", len(first) == 21, len(first))
    for body in first:
        seen["p"].add(len(words_of(body)) - 3)
        seen["n"].add(body["max_tokens"])
        check("the common beginning", words_of(body)[:3] == words_of(first[0])[:3], body)
        check("members", body["stream"] and body["ignore_eos"] and body["model"] == "m" and body["temperature"] == 0
              and body["stream_options"] == {"include_usage": True}, body)
    check("every length of prompts", seen["p"] == {5, 6, 7, 8, 9}, seen)
    check("every length of answers", seen["n"] == {2, 3, 4}, seen)
    check("different texts", len({b["prompt"] for b in first}) > 15, first)
    check("paths", set(state.paths) == {"/v1/completions"}, state.paths)
    check("no key", set(state.keys) == {None}, state.keys)

    def order(bodies):
        return sorted(json.dumps(b) for b in bodies)
    good("-r", "20", "-p", "5-9", "-n", "2-4", "--shared", "3", "--seed", "7", "--clients", "3")
    check("the same seed", order(first) == order(state.bodies))
    good("-r", "15", "-p", "5-9", "-n", "2-4", "--shared", "3", "--seed", "7", "--skip", "5")
    check("without the first requests", len(state.bodies) == 16 and not set(order(state.bodies)) - set(order(first)))
    good("-r", "20", "-p", "5-9", "-n", "2-4", "--shared", "3", "--seed", "8")
    check("another seed", order(first) != order(state.bodies))
    good("-r", "1", "--chat", "--stop-early", "--key", "abc")
    check("--chat", set(state.paths) == {"/v1/chat/completions"}, state.paths)
    check("--chat: messages", [x["role"] for x in state.bodies[1]["messages"]] == ["user"], state.bodies)
    check("--stop-early", "ignore_eos" not in state.bodies[1], state.bodies)
    check("--key", set(state.keys) == {"Bearer abc"}, state.keys)


def the_loops():
    """Requests wait for each other; with fewer or more at a time a run would not end like this."""
    r = good("-r", "24", "--clients", "6", "-n", "3", gate=6)
    check("closed: as many as there are clients", state.most == 6, state.most)
    check("closed: counts", (r["loop"], r["clients"], r["answered"], r["failed"]) == ("closed", 6, 24, 0), r)
    check("closed: tokens", (r["prompt_tokens"], r["cached_tokens"], r["generation_tokens"]) == (240, 96, 72), r)
    check("closed: times", (r["first_token_ms"]["n"], r["between_tokens_ms"]["n"], r["whole_request_ms"]["n"])
          == (24, 48, 24), r)
    for name in "first_token_ms", "whole_request_ms":
        t = r[name]
        check(f"closed: order of {name}", 0 < t["p50"] <= t["p90"] <= t["p95"] <= t["p99"] <= t["max"], t)
    check("closed: a part is shorter than the whole", r["first_token_ms"]["max"] <= r["whole_request_ms"]["max"], r)
    r = good("-r", "12", "--rate", "1000", "-n", "1", gate=12)
    check("open: does not wait for answers", state.most == 12 and r["loop"] == "open", (state.most, r))
    r = good("-r", "12", "--rate", "1000", "--clients", "4", "-n", "1", gate=4)
    check("open: at most so many connections", state.most == 4, state.most)


def the_goals():
    r = good("-r", "4", "-n", "3", "--good-first", "1h", "--good-between", "1h")
    check("goals: all keep them", r["good"] == 4, r)
    check("no goals", "good" not in good("-r", "1", "-n", "3"))
    run = bench("-r", "4", "-n", "3", "--good-first", "1h")
    check("goals: in the report", "Within the goal: " in run.stdout and "(100.0 %)" in run.stdout, run.stdout)


def the_refusals():
    run = bench("-r", "4", "--clients", "1", "--json", mode="busy")
    r = json.loads(run.stdout)
    check("refusals have failed", run.returncode == 1 and r["failed"] == 4, (run.returncode, r))
    check("refusals are counted", (r["refused"], r["refused_with_retry_after"]) == (4, 2), r)
    check("refusals take time", r["refusal_ms"]["n"] == 4 and r["refusal_ms"]["max"] > 0, r)
    run = bench("-r", "4", "--clients", "1", mode="busy")
    check("refusals are in the report", "Refused as too many (429 or 503): 4 of those that failed, 2 with" in run.stdout,
          run.stdout)
    r = json.loads(bench("-r", "2", "--json", mode="cut").stdout or "{}")
    check("other failures are none", r.get("refused", 0) == 0, r)


def the_failures():
    bad(1, "did not answer the first request: it is\\x0atoo late", mode=500)
    bad(1, "refuses the key (401)", mode=401)
    bad(1, "the device has gone", mode="error")
    bad(1, "without its end", mode="cut")
    bad(1, "without a text", mode="silent")
    run = bench("-r", "2", mode="uncounted")
    check("uncounted: status", run.returncode == 0, run.stderr)
    check("uncounted: said", "did not count those of 2 answers" in run.stdout, run.stdout)
    bad(2, "--prompt: '5-' is not a length", "-p", "5-")
    bad(2, "--prompt: '9-5' is not a length", "-p", "9-5")
    bad(2, "--predict: '0' is not a length", "-n", "0")
    bad(2, "--predict: '1000001' is not a length", "-n", "1000001")
    bad(2, "--rate", "--rate", "0")
    server.shutdown()
    server.server_close()
    bad(1, URL)


server = Server(("127.0.0.1", 0), Handler)
URL = f"http://127.0.0.1:{server.server_address[1]}"
threading.Thread(target=server.serve_forever, daemon=True).start()
the_requests()
the_loops()
the_goals()
the_refusals()
the_failures()
finish("bench serve against a server of its own")

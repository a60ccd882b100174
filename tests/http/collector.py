#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collector of OpenTelemetry (OTLP/HTTP with JSON) for tests.

    collector.py PORT-FILE SPANS-FILE   writes its port, then a line of JSON for each span that it receives
    collector.py --check SPANS-FILE     checks spans against the rules of OTLP and of this server

A client that sends to a path ending in /fail/v1/traces is answered with 503."""
import http.server
import json
import re
import sys

ATTRIBUTES = {"gen_ai.operation.name", "gen_ai.system", "gen_ai.request.model", "url.path",
              "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "llamad.cached_tokens",
              "gen_ai.response.finish_reasons", "llamad.queue_time", "llamad.prompt_time",
              "llamad.decode_time", "gen_ai.server.time_to_first_token"}
OPERATIONS = {"/v1/completions": "text_completion", "/v1/chat/completions": "chat"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        code = 503 if self.path != "/v1/traces" else 200
        if code == 200:
            assert self.headers["Content-Type"] == "application/json"
            with open(sys.argv[2], "a", encoding="utf-8") as f:
                for resource in json.loads(body)["resourceSpans"]:
                    names = {a["key"]: a["value"] for a in resource["resource"]["attributes"]}
                    assert names["service.name"] == {"stringValue": "llamad"}, names
                    for scope in resource["scopeSpans"]:
                        for span in scope["spans"]:
                            f.write(json.dumps(span) + "\n")
        self.send_response(code)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args):
        pass


def check(line):
    span = json.loads(line)
    assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and int(span["traceId"], 16), span
    assert re.fullmatch("[0-9a-f]{16}", span["spanId"]) and int(span["spanId"], 16), span
    assert re.fullmatch("[0-9a-f]{16}", span.get("parentSpanId", "0" * 16)), span
    assert span["kind"] == 2 and span["name"].startswith("/"), span
    assert 10**18 < int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), span
    a = {x["key"]: x["value"] for x in span["attributes"]}
    assert len(a) == len(span["attributes"]), "an attribute occurs twice"
    # nothing that a prompt, an answer or a key could be in
    assert set(a) == ATTRIBUTES, set(a) ^ ATTRIBUTES
    operation = OPERATIONS[a["url.path"]["stringValue"]]
    assert a["gen_ai.operation.name"] == {"stringValue": operation}, a
    assert a["gen_ai.request.model"] == {"stringValue": "tiny"}, a
    assert int(a["gen_ai.usage.input_tokens"]["intValue"]) > 0, a
    assert int(a["gen_ai.usage.output_tokens"]["intValue"]) == 5, a
    assert a["gen_ai.response.finish_reasons"]["arrayValue"]["values"] == [{"stringValue": "length"}], a
    total = (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e9
    parts = [a[f"llamad.{x}_time"]["doubleValue"] for x in ("queue", "prompt", "decode")]
    assert all(x >= 0 for x in parts) and sum(parts) <= total * 1.01 + 0.001, (parts, total)
    assert 0 <= a["gen_ai.server.time_to_first_token"]["doubleValue"] <= total + 0.001, a


if sys.argv[1] == "--check":
    with open(sys.argv[2], encoding="utf-8") as spans:
        for line in spans:
            check(line)
else:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(sys.argv[1] + ".new", "w", encoding="utf-8") as f:
        f.write(f"{server.server_port}\n")
    import os
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()

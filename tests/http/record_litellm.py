#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the bodies that litellm sends to each API.

    record_litellm.py FOLDER      writes FOLDER/NAME.json for each call below

Run it in a virtual environment with litellm.  A server on the loopback keeps what it gets and answers
400, so the calls fail; that is ignored.  The expected requests are added by LMD_HTTP_UPDATE=1
tests/http/apis_test."""
import http.server
import json
import os
import sys
import threading
from importlib.metadata import version

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # the list of models in the package
import litellm  # noqa: E402  # pylint: disable=wrong-import-position

seen = []
HI = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hi."}]
TOOLS = [{"type": "function", "function": {
    "name": "weather", "description": "The weather at a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}},
                   "required": ["place"]}}}]
TALK = HI + [
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function",
         "function": {"name": "weather", "arguments": "{\"place\": \"Bern\"}"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
]
FORM = {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
    "additionalProperties": False}}}


class Recorder(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        seen.append((self.path, json.loads(body)))
        self.send_response(400)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def calls(base):
    def ask(provider="openai", messages=None, **more):
        return litellm.completion(
            model=provider + "/smollm2", api_key="k", messages=messages or HI, max_tokens=64,
            api_base=base + ("/v1" if provider == "openai" else ""), max_retries=0, **more)

    yield "chat", lambda: ask(
        temperature=0.2, top_p=0.9, n=2, stop=["END"], presence_penalty=0.5, frequency_penalty=-0.5,
        logit_bias={"17": -100}, seed=7, user="ann", logprobs=True, top_logprobs=2)
    yield "chat-stream", lambda: ask(stream=True, stream_options={"include_usage": True},
                                     tools=TOOLS, tool_choice="required")
    yield "chat-tools", lambda: ask(messages=TALK, tools=TOOLS, parallel_tool_calls=False)
    yield "chat-format", lambda: ask(response_format=FORM)
    yield "anthropic", lambda: ask("anthropic", TALK, tools=TOOLS, temperature=0.2, stop=["END"])
    yield "anthropic-stream", lambda: ask("anthropic", stream=True)
    yield "ollama", lambda: ask("ollama_chat", TALK, tools=TOOLS, temperature=0.2, seed=7)
    yield "ollama-format", lambda: ask("ollama_chat", response_format=FORM, stream=True)
    yield "responses", lambda: litellm.responses(
        model="openai/smollm2", input="Say hi.", instructions="Be brief.", max_output_tokens=16,
        api_base=base + "/v1", api_key="k")


def main():
    litellm.suppress_debug_info = True
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, call in calls(f"http://127.0.0.1:{server.server_port}"):
        seen.clear()
        try:
            list(call())
        except Exception as e:  # the server answers 400
            if not seen:
                raise e
        path, body = next(s for s in seen if s[0] not in ("/api/show",))
        doc = {"package": f"litellm {version('litellm')}", "path": path, "body": body}
        with open(os.path.join(sys.argv[1], f"litellm-{name}.json"), "w", encoding="utf-8") as f:
            json.dump(doc, f, indent=2, ensure_ascii=False)
            f.write("\n")


main()

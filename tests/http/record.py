#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the bodies that client packages send.

    record.py FOLDER      writes FOLDER/NAME.json for each call below

Run it in a virtual environment with the packages openai, anthropic and ollama.  A server on the
loopback keeps what it gets and answers 400, so the calls fail; that is ignored.  The expected
requests are added by LMD_HTTP_UPDATE=1 tests/http/apis_test."""
import http.server
import json
import os
import sys
import threading
from importlib.metadata import version

import anthropic
import ollama
import openai
import pydantic

seen = []


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


class Answer(pydantic.BaseModel):
    city: str
    population: int


class Weather(pydantic.BaseModel):
    """The weather at a place."""
    place: str


TOOL = {"type": "function", "function": {
    "name": "weather", "description": "The weather at a place.", "strict": True,
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}},
                   "required": ["place"], "additionalProperties": False}}}
FLAT_TOOL = {"type": "function", **TOOL["function"]}
ITEMS = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "input_text", "text": "How is the weather"},
                                 {"type": "input_text", "text": "in Bern?"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [],
     "content": [{"type": "reasoning_text", "text": "I should look."}]},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather",
     "arguments": "{\"place\": \"Bern\"}", "status": "completed"},
    {"type": "function_call", "call_id": "call_2", "name": "weather",
     "arguments": "{\"place\": \"Ulm\"}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "rain"},
    {"type": "function_call_output", "call_id": "call_2",
     "output": [{"type": "input_text", "text": "sun"}]},
]
CLAUDE_TOOL = {"name": "weather", "description": "The weather at a place.",
               "input_schema": {"type": "object", "properties": {"place": {"type": "string"}},
                                "required": ["place"]}}
HI = [{"role": "user", "content": "Say hi."}]
TOOL_TALK = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "How is the weather"},
                                 {"type": "text", "text": "in Bern?"}], "name": "ann"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function",
         "function": {"name": "weather", "arguments": "{\"place\": \"Bern\"}"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
]
CLAUDE_TALK = [
    {"role": "user", "content": "How is the weather in Bern?"},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "I should look.", "signature": "abc"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"place": "Bern"}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1",
         "content": [{"type": "text", "text": "rain"}]},
        {"type": "text", "text": "So?", "cache_control": {"type": "ephemeral"}}]},
]


def weather(place: str) -> str:
    """The weather at a place.

    Args:
      place: name of the place
    """
    return place


def calls(base):
    o = openai.OpenAI(base_url=base + "/v1", api_key="k", max_retries=0)
    chat, texts = o.chat.completions, o.completions
    m = "smollm2"
    yield "openai", "chat", lambda: chat.create(model=m, messages=HI)
    yield "openai", "chat-stream", lambda: chat.create(
        model=m, messages=HI, stream=True, stream_options={"include_usage": True})
    yield "openai", "chat-parameters", lambda: chat.create(
        model=m, messages=HI, temperature=0.2, top_p=0.9, n=2, stop=["\n", "END"],
        max_completion_tokens=32, presence_penalty=0.5, frequency_penalty=-0.5,
        logit_bias={"17": -100, "42": 5}, seed=7, user="ann", metadata={"a": "b"}, store=False,
        service_tier="auto", reasoning_effort="low", verbosity="low",
        parallel_tool_calls=True, tools=[TOOL])
    yield "openai", "chat-tools", lambda: chat.create(
        model=m, messages=TOOL_TALK, tools=[TOOL], tool_choice="auto")
    yield "openai", "chat-tool-required", lambda: chat.create(
        model=m, messages=HI, tools=[TOOL], tool_choice="required")
    yield "openai", "chat-tool-allowed", lambda: chat.create(
        model=m, messages=HI, tools=[TOOL], tool_choice={
            "type": "allowed_tools", "allowed_tools": {
                "mode": "required", "tools": [{"type": "function",
                                               "function": {"name": "weather"}}]}})
    yield "openai", "chat-parse", lambda: chat.parse(
        model=m, messages=HI, response_format=Answer)
    yield "openai", "chat-parse-tool", lambda: chat.parse(
        model=m, messages=HI, tools=[openai.pydantic_function_tool(Weather)])
    yield "openai", "chat-extensions", lambda: chat.create(
        model=m, messages=HI, extra_body={
            "min_p": 0.1, "top_k": 20, "repetition_penalty": 1.1, "typical_p": 0.9,
            "chat_template_kwargs": {"enable_thinking": False}, "ignore_eos": True,
            "cache_prompt": True, "guided_choice": ["yes", "no"],
            "add_generation_prompt": True})
    yield "openai", "chat-prediction", lambda: chat.create(
        model=m, messages=[{"role": "user", "content": "Rename foo to bar: int foo;"}],
        prediction={"type": "content", "content": [{"type": "text", "text": "int foo;"}]},
        extra_body={"speculative.n_max": 99, "speculative.n_min": 2, "speculative.p_min": 0.5})
    yield "openai", "chat-image", lambda: chat.create(model=m, messages=[
        {"role": "user", "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}])
    yield "openai", "completion", lambda: texts.create(model=m, prompt="Once upon")
    yield "openai", "completion-parameters", lambda: texts.create(
        model=m, prompt=["Once upon"], echo=True, max_tokens=64, stop="\n", seed=1, n=2,
        temperature=0.5, stream=True, stream_options={"include_usage": True})
    yield "openai", "completion-tokens", lambda: texts.create(model=m, prompt=[1, 2, 3])

    items = o.responses
    yield "openai", "responses", lambda: items.create(model=m, input="Say hi.")
    yield "openai", "responses-parameters", lambda: items.create(
        model=m, input="Say hi.", instructions="Be brief.", max_output_tokens=32, stream=True,
        temperature=0.2, top_p=0.9, store=False, metadata={"a": "b"}, user="ann",
        parallel_tool_calls=True, service_tier="auto", truncation="disabled",
        include=["reasoning.encrypted_content"], reasoning={"effort": "low", "summary": "auto"},
        text={"format": {"type": "text"}, "verbosity": "low"}, tools=[FLAT_TOOL])
    yield "openai", "responses-items", lambda: items.create(
        model=m, input=ITEMS, tools=[FLAT_TOOL], tool_choice="auto")
    yield "openai", "responses-tool", lambda: items.create(
        model=m, input="Say hi.", tools=[FLAT_TOOL],
        tool_choice={"type": "function", "name": "weather"})
    yield "openai", "responses-tool-allowed", lambda: items.create(
        model=m, input="Say hi.", tools=[FLAT_TOOL], tool_choice={
            "type": "allowed_tools", "mode": "required",
            "tools": [{"type": "function", "name": "weather"}]})
    yield "openai", "responses-parse", lambda: items.parse(
        model=m, input="Say hi.", text_format=Answer)
    yield "openai", "responses-image", lambda: items.create(model=m, input=[
        {"role": "user", "content": [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}])
    yield "openai", "responses-tokens", lambda: items.input_tokens.count(
        model=m, input="Say hi.", instructions="Be brief.")

    a = anthropic.Anthropic(base_url=base, api_key="k", max_retries=0)
    yield "anthropic", "messages", lambda: a.messages.create(model=m, max_tokens=64, messages=HI)
    yield "anthropic", "messages-parameters", lambda: a.messages.create(
        model=m, max_tokens=64, messages=HI, system="Be brief.", stop_sequences=["END"],
        metadata={"user_id": "u"}, service_tier="auto", thinking={"type": "disabled"},
        stream=True, extra_body={"temperature": 0.5, "top_k": 5, "top_p": 0.9})
    yield "anthropic", "messages-tools", lambda: a.messages.create(
        model=m, max_tokens=2048, messages=CLAUDE_TALK, tools=[CLAUDE_TOOL],
        tool_choice={"type": "auto", "disable_parallel_tool_use": True},
        system=[{"type": "text", "text": "Be brief."},
                {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        thinking={"type": "enabled", "budget_tokens": 1024})
    yield "anthropic", "messages-tool", lambda: a.messages.create(
        model=m, max_tokens=64, messages=HI, tools=[CLAUDE_TOOL],
        tool_choice={"type": "tool", "name": "weather"})
    yield "anthropic", "messages-stream", lambda: a.messages.stream(
        model=m, max_tokens=64, messages=HI).__enter__()
    yield "anthropic", "messages-parse", lambda: a.messages.parse(
        model=m, max_tokens=64, messages=HI, output_format=Answer,
        output_config={"effort": "low"})

    c = ollama.Client(host=base)
    yield "ollama", "chat", lambda: c.chat(model=m, messages=HI)
    yield "ollama", "chat-stream", lambda: next(c.chat(model=m, messages=HI, stream=True))
    yield "ollama", "chat-tools", lambda: c.chat(model=m, tools=[weather], think=True, messages=[
        HI[0],
        {"role": "assistant", "content": "", "thinking": "I should look.", "tool_calls": [
            {"function": {"name": "weather", "arguments": {"place": "Bern"}}}]},
        {"role": "tool", "tool_name": "weather", "content": "rain"}])
    yield "ollama", "chat-options", lambda: c.chat(
        model=m, messages=HI, format=Answer.model_json_schema(), keep_alive="10m",
        options={"temperature": 0.1, "num_predict": 10, "num_ctx": 4096, "top_k": 3, "seed": 5,
                 "stop": ["x"], "repeat_penalty": 1.2, "num_gpu": 1}, think="low")
    yield "ollama", "generate", lambda: c.generate(model=m, prompt="Say hi.")
    yield "ollama", "generate-system", lambda: c.generate(
        model=m, prompt="Say hi.", system="Be brief.", format="json", think=False,
        options=ollama.Options(temperature=0.0))
    yield "ollama", "generate-raw", lambda: c.generate(
        model=m, prompt="<|im_start|>user\nhi", raw=True, stream=False)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for package, name, call in calls(f"http://127.0.0.1:{server.server_port}"):
        seen.clear()
        try:
            call()
        except Exception as e:  # the server answers 400
            if not seen:
                raise e
        path, body = seen[0]
        doc = {"package": f"{package} {version(package)}", "path": path, "body": body}
        with open(os.path.join(sys.argv[1], f"{package}-{name}.json"), "w", encoding="utf-8") as f:
            json.dump(doc, f, indent=2, ensure_ascii=False)
            f.write("\n")


main()

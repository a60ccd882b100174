#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uses a running daemon through the client packages of the APIs.

    packages.py URL MODEL [KEY [POOR]]   URL such as http://127.0.0.1:8080; POOR is a key whose quota
                                         is used up

Each check prints a line.  A package that is not installed is skipped by name.  Answers of the model
are checked for their form, and for being the same whether they are streamed or not."""
import contextlib
import importlib
import json
import select
import socket
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

URL, MODEL = sys.argv[1].rstrip("/"), sys.argv[2]
KEY = sys.argv[3] if len(sys.argv) > 3 else "none"
POOR = sys.argv[4] if len(sys.argv) > 4 else None
HI = [{"role": "user", "content": "Name a colour."}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}},
          "required": ["city"], "additionalProperties": False}
PARAMETERS = {"type": "object",
              "properties": {"place": {"type": "string", "enum": ["Bern", "Ulm"]}},
              "required": ["place"], "additionalProperties": False}
failed = 0


def check(name, ok, found=None):
    global failed
    failed += not ok
    print(f"{'ok' if ok else 'FAIL'}: {name}" + ("" if ok else f": {found!r}"))


def fails(name, error, status, call):
    try:
        call()
        check(name, False, "no error")
    except error as e:
        check(name, getattr(e, "status_code", None) == status, e)


class Full:
    """As many connections as one address may have, so that the next one is answered with 503."""

    def __enter__(self):
        host, port = URL.split("//")[1].rsplit(":", 1)
        self.held = []
        for _ in range(4096):
            s = socket.create_connection((host, int(port)))
            self.held.append(s)
            if select.select([s], [], [], 0.05)[0]:  # refused
                return self
        raise RuntimeError("the number of connections has no limit")

    def __exit__(self, *what):
        for s in self.held:
            s.close()
        for _ in range(1000):  # the server has to see first that they are closed
            with ThreadPoolExecutor(16) as pool:
                if set(pool.map(self.answered, range(16))) == {200}:
                    return
            time.sleep(0.01)  # asks again; nothing depends on its length

    def answered(self, _):
        try:
            return ask("/livez")[0]
        except OSError:
            return 0


def status_errors(name, make, call, error, more):
    """The errors that do not depend on the body: call(client) of make(key) raises `error`, or what `more`
    has for its status."""
    huge = "colour " * 1300000  # more than http_body
    for status, key, text, full in ((413, KEY, huge, False), (429, POOR, "Hi.", False),
                                    (503, KEY, "Hi.", True)):
        if not key:
            continue
        # a package may close its connection when it refuses to send more
        with Full() if full else contextlib.nullcontext():
            fails(f"{name} errors, {status}", more.get(status, error), status,
                  lambda: call(make(key), [{"role": "user", "content": text}]))


def ask(path, body=None, method=None):
    data = None if body is None else json.dumps(body).encode()
    req = urllib.request.Request(URL + path, data, method=method,
                                 headers={"Content-Type": "application/json",
                                          "x-api-key": KEY})
    try:
        with urllib.request.urlopen(req) as r:
            return r.status, r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.read()


# ---- openai ----

# A text in a chat template by which its family is recognised, and how the answer then begins.
FAMILIES = [("<tool_call>", "<"), ("[TOOL_CALLS]", "["), ("[ARGS]", "["), ("<|channel|>", "<"),
            ("<|tool_call_argument_begin|>", "<"), ("<arg_key>", "<"), ("<parameter=", "<")]


def required_calls(chat):
    """Required calls in the form of each family: they arrive as calls, whole and in pieces."""
    parameters = {"type": "object", "additionalProperties": False, "required": ["place", "code"],
                  "properties": {"place": {"type": "string", "enum": ["Bern", "12"]},
                                 "code": {"type": "integer", "minimum": 1, "maximum": 9},
                                 "days": {"type": "array", "maxItems": 0}}}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    for mark, begin in FAMILIES:
        opts = {"model": MODEL, "temperature": 0, "max_tokens": 400, "messages": HI, "tools": tools,
                "tool_choice": "required", "parallel_tool_calls": False,
                "extra_body": {"chat_template": "{# %s #}{{ messages[0].content }}" % mark}}
        one = chat.create(logprobs=True, **opts).choices[0]
        calls = one.message.tool_calls
        args = json.loads(calls[0].function.arguments)
        check(f"openai tool call, {mark}", one.finish_reason == "tool_calls" and len(calls) == 1
              and calls[0].function.name == "weather" and args["place"] in ("Bern", "12")
              and 1 <= args["code"] <= 9 and one.logprobs.content[0].token.startswith(begin), one)
        with chat.stream(**opts) as s:
            got = s.get_final_completion().choices[0]
        check(f"openai tool call stream, {mark}", got.finish_reason == "tool_calls"
              and got.message.tool_calls[0].function.arguments == calls[0].function.arguments, got)


def openai_checks(openai):
    c = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
    chat = c.chat.completions
    opts = {"model": MODEL, "temperature": 0, "max_tokens": 8, "seed": 1}
    check("openai models", MODEL in [m.id for m in c.models.list()])
    check("openai model", c.models.retrieve(MODEL).id == MODEL)
    fails("openai no model", openai.NotFoundError, 404, lambda: c.models.retrieve("nosuch"))
    # the package asks for base64 and decodes it, unless it is told to ask for numbers
    a = c.embeddings.create(model=MODEL, input=["a cat", "taxes"])
    b = c.embeddings.create(model=MODEL, input="a cat", encoding_format="float")
    check("openai embeddings", a.data[1].index == 1 and max(
        abs(x - y) for x, y in zip(a.data[0].embedding, b.data[0].embedding)) < 1e-6)
    check("openai dimensions", len(c.embeddings.create(
        model=MODEL, input="a", dimensions=16).data[0].embedding) == 16)
    fails("openai embeddings of nothing", openai.BadRequestError, 400,
          lambda: c.embeddings.create(model=MODEL, input=[]))

    whole = chat.create(messages=HI, **opts)
    text = whole.choices[0].message.content
    check("openai chat", bool(text) and whole.choices[0].finish_reason in ("length", "stop"), whole)
    u = whole.usage
    check("openai usage", u.total_tokens == u.prompt_tokens + u.completion_tokens
          and 0 < u.completion_tokens <= 8, u)
    with chat.stream(messages=HI, stream_options={"include_usage": True}, **opts) as s:
        streamed, usage = "", None
        for e in s:
            if e.type == "chunk":
                usage = e.chunk.usage or usage
                for d in e.chunk.choices:
                    streamed += d.delta.content or ""
    check("openai chat stream", streamed == text, (streamed, text))
    check("openai stream usage", usage and usage.completion_tokens == u.completion_tokens, usage)
    two = chat.create(messages=HI, n=2, **opts)
    check("openai choices", [x.index for x in two.choices] == [0, 1]
          and all(x.message.content == text for x in two.choices), two)
    one = chat.create(messages=HI, response_format={"type": "json_schema", "json_schema": {
        "name": "answer", "schema": SCHEMA}}, **{**opts, "max_tokens": 64})
    check("openai json_schema", list(json.loads(one.choices[0].message.content)) == ["city"], one)
    tools = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]
    call = chat.create(messages=HI, tools=tools, tool_choice="required",
                       **{**opts, "max_tokens": 64}).choices[0]
    check("openai tool call", call.finish_reason == "tool_calls"
          and call.message.tool_calls[0].function.name == "weather"
          and json.loads(call.message.tool_calls[0].function.arguments)["place"]
          in ("Bern", "Ulm"), call)
    with chat.stream(messages=HI, tools=tools, tool_choice="required",
                     **{**opts, "max_tokens": 64}) as s:
        got = s.get_final_completion().choices[0]
    check("openai tool call stream", got.finish_reason == "tool_calls"
          and got.message.tool_calls[0].function.arguments
          == call.message.tool_calls[0].function.arguments, got)
    back = chat.create(tools=tools, messages=HI + [
        {"role": "assistant", "content": None, "tool_calls": [call.message.tool_calls[0].to_dict()]},
        {"role": "tool", "tool_call_id": call.message.tool_calls[0].id, "content": "rain"}], **opts)
    required_calls(chat)
    check("openai tool round trip", back.usage.completion_tokens > 0, back)
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda _: chat.create(messages=HI, **opts), range(32)))
    check("openai 32 at once", {x.choices[0].message.content for x in got} == {text}, got)
    with chat.create(messages=HI, stream=True, **{**opts, "max_tokens": 4000},
                     extra_body={"ignore_eos": True}) as s:
        check("openai cancellation", next(iter(s)).choices is not None)
    wrong = openai.OpenAI(base_url=URL + "/v1", api_key="wrong", max_retries=0)
    fails("openai errors, wrong key", openai.AuthenticationError, 401, wrong.models.list)
    status_errors("openai", lambda key: openai.OpenAI(base_url=URL + "/v1", api_key=key, max_retries=0),
                  lambda x, m: x.chat.completions.create(messages=m, **opts), openai.APIStatusError,
                  {429: openai.RateLimitError, 503: openai.InternalServerError})
    fails("openai range", openai.BadRequestError, 400,
          lambda: chat.create(messages=HI, model=MODEL, temperature=9))
    fails("openai image", openai.BadRequestError, 400, lambda: chat.create(
        model=MODEL, messages=[{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:,"}}]}]))
    long = [{"role": "user", "content": "colour " * 9000}]
    try:
        chat.create(messages=long, **opts)
        check("openai context", False)
    except openai.BadRequestError as e:
        check("openai context", e.code == "context_length_exceeded", e)

    done = c.completions.create(prompt="One, two,", echo=True, **opts)
    check("openai completion", done.choices[0].text.startswith("One, two,")
          and done.usage.completion_tokens > 0, done)
    got = "".join(x.choices[0].text for x in c.completions.create(
        prompt="One, two,", echo=True, stream=True, **opts))
    check("openai completion stream", got == done.choices[0].text, got)


def stored_checks(openai, items):
    opts = {"model": MODEL, "temperature": 0, "max_output_tokens": 8}
    first = items.create(input="Name a colour.", **opts)
    check("responses stored", first.store and items.retrieve(first.id) == first, first)
    got = list(items.input_items.list(first.id))
    check("responses input_items", len(got) == 1 and got[0].content[0].text == "Name a colour.", got)
    second = items.create(input="Another.", previous_response_id=first.id, **opts)
    said = [{"role": "user", "content": "Name a colour."},
            {"role": "assistant", "content": first.output_text},
            {"role": "user", "content": "Another."}]
    same = items.create(input=said, store=False, **opts)
    check("responses continued", second.output_text == same.output_text
          and second.usage.input_tokens == same.usage.input_tokens
          and second.previous_response_id == first.id, (second, same))
    fails("responses not stored", openai.NotFoundError, 404, lambda: items.retrieve(same.id))
    streamed = [e for e in items.create(input="Another.", previous_response_id=first.id,
                                        stream=True, **opts)][-1].response
    check("responses stored stream", items.retrieve(streamed.id) == streamed, streamed)
    later = items.create(input="Name a colour.", background=True, **opts)
    check("responses background", later.status == "queued" and later.background, later)
    while later.status in ("queued", "in_progress"):
        later = items.retrieve(later.id)
    check("responses background done", later.output_text == first.output_text
          and later.status == first.status, later)
    check("responses cancelled after its end", items.cancel(later.id).status == later.status)
    long = items.create(input="Count.", background=True, model=MODEL,
                        max_output_tokens=4000, extra_body={"ignore_eos": True})
    check("responses cancel", items.cancel(long.id).status == "cancelled"
          and items.retrieve(long.id).status == "cancelled", long)
    wrong = items.create(input="a", background=True, model=MODEL,
                         extra_body={"chat_template": "{{ nothing.at.all }}"})
    while wrong.status in ("queued", "in_progress"):
        wrong = items.retrieve(wrong.id)
    check("responses background failed", wrong.status == "failed" and wrong.error.message, wrong)
    fails("responses cancel, not in the background", openai.BadRequestError, 400,
          lambda: items.cancel(first.id))
    items.delete(first.id)
    fails("responses deleted", openai.NotFoundError, 404, lambda: items.retrieve(first.id))
    fails("responses of a deleted one", openai.BadRequestError, 400, lambda: items.create(
        input="Another.", previous_response_id=second.id, **opts))
    for r in (second, streamed, later, long, wrong):
        items.delete(r.id)


def responses_checks(openai):
    c = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
    items = c.responses
    opts = {"model": MODEL, "temperature": 0, "max_output_tokens": 8, "store": False}
    whole = items.create(input=HI, instructions="Be brief.", metadata={"a": "b"}, **opts)
    check("responses", whole.output_text and whole.status in ("completed", "incomplete")
          and whole.output[0].type == "message" and whole.metadata == {"a": "b"}, whole)
    check("responses usage", 0 < whole.usage.output_tokens <= 8 and whole.usage.total_tokens
          == whole.usage.input_tokens + whole.usage.output_tokens, whole.usage)
    n = items.input_tokens.count(model=MODEL, input=HI, instructions="Be brief.").input_tokens
    check("responses input_tokens", n == whole.usage.input_tokens, n)
    events = list(items.create(input=HI, instructions="Be brief.", stream=True, **opts))
    types = [e.type.removeprefix("response.") for e in events]
    short = [t for i, t in enumerate(types) if not i or t != types[i - 1]]
    check("responses stream", short == [
        "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done", whole.status]
        and [e.sequence_number for e in events] == list(range(len(events)))
        and events[-1].response.output_text == whole.output_text, types)
    one = items.create(
        model=MODEL, input=HI, temperature=0, max_output_tokens=64, store=False,
        text={"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA,
                         "strict": True}})
    check("responses json_schema", list(json.loads(one.output_text)) == ["city"], one)
    tools = [{"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": True}]
    opts["max_output_tokens"] = 64
    call = items.create(input=HI, tools=tools, tool_choice="required", **opts).output[-1]
    check("responses tool call", call.type == "function_call" and call.name == "weather"
          and json.loads(call.arguments)["place"] in ("Bern", "Ulm"), call)
    with items.stream(input=HI, tools=tools, tool_choice="required", **opts) as s:
        got = s.get_final_response().output[-1]
    check("responses tool call stream", got.arguments == call.arguments, got)
    back = items.create(
        model=MODEL, temperature=0, max_output_tokens=8, tools=tools, store=False,
        input=HI + [call.to_dict(), {"type": "function_call_output", "call_id": call.call_id,
                                     "output": "rain"}])
    check("responses tool output", back.usage.input_tokens > n, back)
    stored_checks(openai, items)
    fails("responses range", openai.BadRequestError, 400,
          lambda: items.create(model=MODEL, input="a", temperature=9))


# ---- anthropic ----

def anthropic_checks(anthropic):
    c = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
    opts = {"model": MODEL, "max_tokens": 8, "extra_body": {"temperature": 0}}
    whole = c.messages.create(messages=HI, system="Be brief.", **opts)
    text = "".join(b.text for b in whole.content if b.type == "text")
    check("anthropic message", bool(text) and whole.stop_reason in ("max_tokens", "end_turn"), whole)
    check("anthropic usage", 0 < whole.usage.output_tokens <= 8, whole.usage)
    n = c.messages.count_tokens(model=MODEL, messages=HI, system="Be brief.").input_tokens
    u = whole.usage
    check("anthropic count_tokens", n == u.input_tokens + (u.cache_read_input_tokens or 0), n)
    with c.messages.stream(messages=HI, system="Be brief.", **opts) as s:
        streamed = "".join(s.text_stream)
        final = s.get_final_message()
    check("anthropic stream", streamed == text and final.stop_reason == whole.stop_reason, streamed)
    check("anthropic stream usage", final.usage.output_tokens == whole.usage.output_tokens, final)
    tools = [{"name": "weather", "input_schema": PARAMETERS}]
    call = c.messages.create(messages=HI, tools=tools, tool_choice={"type": "any"},
                             **{**opts, "max_tokens": 64})
    check("anthropic tool", call.stop_reason == "tool_use" and call.content[-1].name == "weather"
          and call.content[-1].input["place"] in ("Bern", "Ulm"), call)
    with c.messages.stream(messages=HI, tools=tools, tool_choice={"type": "any"},
                           **{**opts, "max_tokens": 64}) as s:
        got = s.get_final_message()
    check("anthropic tool stream", got.content[-1].input == call.content[-1].input, got)
    back = c.messages.create(tools=tools, messages=HI + [
        {"role": "assistant", "content": [b.to_dict() for b in call.content]},
        {"role": "user", "content": [{"type": "tool_result", "content": "rain",
                                      "tool_use_id": call.content[-1].id}]}], **opts)
    check("anthropic tool result", back.usage.input_tokens > 0, back)
    one = c.messages.create(messages=HI, output_config={"format": {
        "type": "json_schema", "schema": SCHEMA}}, **{**opts, "max_tokens": 64})
    check("anthropic json_schema", list(json.loads(one.content[0].text)) == ["city"], one)
    wrong = anthropic.Anthropic(base_url=URL, api_key="wrong", max_retries=0)
    fails("anthropic errors, wrong key", anthropic.AuthenticationError, 401,
          lambda: wrong.messages.create(messages=HI, **opts))
    fails("anthropic errors, no model", anthropic.NotFoundError, 404, lambda: c.models.retrieve("nosuch"))
    check("anthropic models", MODEL in [m.id for m in c.models.list()])
    with c.messages.stream(messages=HI, **{**opts, "max_tokens": 2000}) as s:
        check("anthropic cancellation", next(iter(s.text_stream)) is not None)
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda _: c.messages.create(messages=HI, system="Be brief.", **opts), range(32)))
    check("anthropic 32 at once", {x.content[0].text for x in got} == {text}, got)
    status_errors("anthropic", lambda key: anthropic.Anthropic(base_url=URL, api_key=key, max_retries=0),
                  lambda x, m: x.messages.create(messages=m, **opts), anthropic.APIStatusError,
                  {429: anthropic.RateLimitError, 503: anthropic.InternalServerError})
    fails("anthropic range", anthropic.BadRequestError, 400,
          lambda: c.messages.create(model=MODEL, max_tokens=-1, messages=HI))


# ---- ollama ----

def ollama_checks(ollama):
    c = ollama.Client(host=URL, headers={"Authorization": f"Bearer {KEY}"})
    opts = {"temperature": 0, "num_predict": 8, "seed": 1}
    check("ollama list", MODEL in [m.model for m in c.list().models])
    shown = c.show(MODEL)
    check("ollama show", shown.details.family and shown.modelinfo and "completion"
          in shown.capabilities, shown)
    check("ollama load", c.generate(model=MODEL).done_reason == "load")
    check("ollama ps", MODEL in [m.model for m in c.ps().models], c.ps())
    whole = c.chat(model=MODEL, messages=HI, options=opts)
    check("ollama chat", bool(whole.message.content) and whole.done and whole.eval_count <= 8, whole)
    got = list(c.chat(model=MODEL, messages=HI, options=opts, stream=True))
    check("ollama chat stream", "".join(x.message.content for x in got) == whole.message.content
          and got[-1].done and got[-1].total_duration > 0, got)
    one = c.generate(model=MODEL, prompt="Where?", format=SCHEMA,
                     options={**opts, "num_predict": 64})
    check("ollama format", list(json.loads(one.response)) == ["city"], one)
    raw = c.generate(model=MODEL, prompt="One, two,", raw=True, options=opts)
    check("ollama raw", bool(raw.response) and raw.done_reason in ("stop", "length"), raw)
    fails("ollama no model", ollama.ResponseError, 404, lambda: c.show("nosuch"))
    tools = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]
    call = c.chat(model="scripted", messages=HI, tools=tools).message
    check("ollama tools", call.tool_calls[0].function.name == "weather"
          and call.tool_calls[0].function.arguments == {"place": "Bern"}, call)
    got = list(c.chat(model="scripted", messages=HI, tools=tools, stream=True))
    check("ollama tool stream", [x.function.arguments for m in got for x in m.message.tool_calls or []]
          == [{"place": "Bern"}], got)
    back = c.chat(model="scripted", tools=tools, messages=HI + [
        call, {"role": "tool", "tool_name": "weather", "content": "rain"}])
    check("ollama tool round trip", back.message.content == "It rains.", back)
    for x in c.chat(model=MODEL, messages=HI, stream=True, options={**opts, "num_predict": 2000}):
        check("ollama cancellation", not x.done, x)
        break
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda _: c.chat(model=MODEL, messages=HI, options=opts), range(32)))
    check("ollama 32 at once", {x.message.content for x in got} == {whole.message.content}, got)
    wrong = ollama.Client(host=URL, headers={"Authorization": "Bearer wrong"})
    fails("ollama errors, wrong key", ollama.ResponseError, 401, wrong.list)
    fails("ollama errors", ollama.ResponseError, 400,
          lambda: c.chat(model=MODEL, messages=HI, options={"temperature": "hot"}))
    status_errors("ollama",
                  lambda key: ollama.Client(host=URL, headers={"Authorization": f"Bearer {key}"}),
                  lambda x, m: x.chat(model=MODEL, messages=m, options=opts), ollama.ResponseError, {})
    r = c.embed(model=MODEL, input=["a cat", "a cat", "taxes"])
    check("ollama embed", r.embeddings[0] == r.embeddings[1] != r.embeddings[2], r.prompt_eval_count)
    r = c.embeddings(model=MODEL, prompt="a cat")
    check("ollama embeddings", len(r.embedding) > 100)


# ---- llama.cpp, and what every client can see ----

def plain_checks():
    body = {"model": MODEL, "prompt": "One, two,", "n_predict": 8, "temperature": 0}
    code, text = ask("/completion", body)
    whole = json.loads(text)
    check("llama.cpp completion", code == 200 and whole["stop"] and whole["content"]
          and whole["tokens_predicted"] <= 8, text)
    code, text = ask("/completion", {**body, "stream": True})
    events = [json.loads(e[6:]) for e in text.decode().split("\n\n") if e]
    check("llama.cpp stream", "".join(e["content"] for e in events) == whole["content"]
          and [e["stop"] for e in events].index(True) == len(events) - 1, text)
    code, text = ask("/tokenize", {"model": MODEL, "content": "Hello world", "with_pieces": True})
    tokens = [t["id"] for t in json.loads(text)["tokens"]]
    check("llama.cpp tokenize", code == 200 and len(tokens) > 1, text)
    code, text = ask("/detokenize", {"model": MODEL, "tokens": tokens})
    check("llama.cpp detokenize", json.loads(text)["content"] == "Hello world", text)
    check("llama.cpp tokenize, default model", ask("/tokenize", {"content": "a"})[0] == 200)
    code, text = ask("/props")
    check("llama.cpp props", code == 200 and json.loads(text)["total_slots"] > 0, text)
    check("llama.cpp slots", isinstance(json.loads(ask("/slots")[1]), list))
    check("llama.cpp models", MODEL in [m["id"] for m in json.loads(ask("/models")[1])["data"]])
    code, text = ask("/v1/chat/completions", {"messages": HI, "max_tokens": 1})
    check("no model named", code == 200, text)
    code, text = ask("/v1/chat/completions", {"model": MODEL, "messages": HI, "max_tokens": 0})
    check("no tokens asked", json.loads(text)["usage"]["completion_tokens"] == 0, text)


def main():
    plain_checks()
    for name, run in (("openai", openai_checks), ("openai", responses_checks),
                      ("anthropic", anthropic_checks),
                      ("ollama", ollama_checks)):
        try:
            package = importlib.import_module(name)
        except ImportError:
            print(f"SKIP: packages_test {name}: the Python package {name} is not installed; "
                  "scripts/deps clients installs it")
            continue
        run(package)
    sys.exit(failed > 0)


main()

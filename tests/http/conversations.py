#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same conversations through every way to llamad, which must all give the same answer.

    conversations.py HTTP SOCKET FILE SCRIPT-FILE PLUGINS EVERY DRIVER...

HTTP and SOCKET are addresses of a daemon that has FILE under the names tiny-TEMPLATE and SCRIPT-FILE
as scripted; of the 60 conversations each EVERY-th is used.  A DRIVER is NAME=COMMAND, a client in
the way of docs/clients.md; one whose name is "embedded" has the model in its own process, with the
plugins in the folder PLUGINS.

Compared are the text, the reasoning, the tool calls, the tokens where the API reports them, and
why the answer ended."""
import json
import subprocess
import sys
import urllib.request

HTTP, SOCKET, FILE, SCRIPT_FILE, PLUGINS, EVERY = *sys.argv[1:6], int(sys.argv[6])
DRIVERS = [a.split("=", 1) for a in sys.argv[7:]]
TEMPLATES = ["chatml", "llama3", "gemma", "zephyr", "mistral-v3"]
TALKS = [
    [("user", "the cat sat on the mat")],
    [("user", "one"), ("assistant", "two"), ("user", "three")],
    [("system", "be brief"), ("user", "who are you")],
    [("user", "the end"), ("assistant", "no"), ("user", "why")],
]
TOOLS = [{"type": "function", "function": {
    "name": "weather", "description": "The weather at a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}},
                   "required": ["place"]}}}]
# Why an answer ends, in the words of each API.
ENDS = {"eog": ("stop", "end_turn", "stop", "eos", "completed"),
        "stop": ("stop", "stop_sequence", "stop", "word", "completed"),
        "length": ("length", "max_tokens", "length", "limit", "incomplete")}
OPENAI, ANTHROPIC, OLLAMA, LLAMACPP, RESPONSES = range(5)
failed = passed = 0


def conversations():
    """Yields 60 dictionaries."""
    for i in range(60):
        if i % 6 == 5:  # the script answers with reasoning, text and a call, or with text alone
            talk = [("user", "how is it in Bern"), ("assistant", "I look"), ("user", "and now")]
            yield {"script": True, "messages": talk[:1 if i % 4 == 3 else 3], "tools": i % 12 == 5,
                   "n": [300, 40, 8][i // 6 % 3], "temp": 0, "seed": i, "stop": []}
            continue
        yield {"script": False, "template": TEMPLATES[i % 5], "messages": TALKS[i % 4],
               "n": [12, 30, 1, 24, 7][i // 6 % 5], "temp": [0, 0.9][i // 3 % 2], "seed": 100 + i,
               "stop": [[], ["e"], ["zzz", "t"], []][i // 2 % 4], "tools": False}


def ask(path, body):
    req = urllib.request.Request(HTTP + path, json.dumps(body).encode(),
                                 headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(req, timeout=120) as r:
        return r.read().decode()


def messages(c):
    return [{"role": r, "content": t} for r, t in c["messages"]]


def model(c):
    return "scripted" if c["script"] else "tiny-" + c["template"]


def calls(found):
    """The calls with their arguments as values: the APIs write them with other blanks."""
    return [(name, args if isinstance(args, dict) else json.loads(args)) for name, args in found]


# Each way returns a dictionary: those of its members that the first way has too are compared.

def driver(command, url, c, parse):
    request = {"model": model(c), "messages": messages(c), "n": c["n"], "temp": c["temp"],
               "seed": c["seed"], "stop": c["stop"], "parse": parse}
    if url == "embedded:":
        request["model"] = SCRIPT_FILE if c["script"] else FILE
        request["template"] = c["script_template"] if c["script"] else c["template"]
    if c["tools"]:
        request["tools"] = json.dumps(TOOLS)
    task = {"url": url, "do": "generate", "request": request}
    if url == "embedded:":
        task["plugin_dir"] = PLUGINS
    r = subprocess.run(command, shell=True, capture_output=True, timeout=300, check=False,
                       input=json.dumps(task).encode())
    out = json.loads(r.stdout)
    if "error" in out:
        return {"error": out["error"]["text"]}
    got = {"finish": out["finish"]}
    if not parse:
        got["tokens"] = out["tokens"]
    if parse or not c["script"]:
        got["text"] = out["text"]
    if parse:
        got["reasoning"] = out["reasoning"]
        got["calls"] = calls((x["name"], x["arguments"]) for x in out["tool_calls"] or [] if x["complete"])
    return got


def openai(c):
    body = {"model": model(c), "messages": messages(c), "max_tokens": c["n"], "seed": c["seed"],
            "temperature": c["temp"], "stop": c["stop"], "return_token_ids": True}
    if c["tools"]:
        body["tools"] = TOOLS
    choice = json.loads(ask("/v1/chat/completions", body))["choices"][0]
    m = choice["message"]
    yield {"tokens": choice["token_ids"], "text": m["content"] or "", "end": (
        OPENAI, choice["finish_reason"]), "reasoning": m.get("reasoning_content") or "",
        "calls": calls((x["function"]["name"], x["function"]["arguments"])
                       for x in m.get("tool_calls") or [] if c["n"] > 200)}
    got = {"tokens": [], "text": "", "reasoning": ""}
    for line in ask("/v1/chat/completions", {**body, "stream": True}).split("\n\n"):
        if not line.startswith("data: {"):
            continue
        for x in json.loads(line[6:])["choices"]:
            got["tokens"] += x.get("token_ids") or []
            got["text"] += x["delta"].get("content") or ""
            got["reasoning"] += x["delta"].get("reasoning_content") or ""
            if x["finish_reason"]:
                got["end"] = (OPENAI, x["finish_reason"])
    yield got


def responses(c):
    if c["stop"] and c["temp"]:
        return
    body = {"model": model(c), "max_output_tokens": c["n"], "seed": c["seed"], "stop": c["stop"],
            "temperature": c["temp"], "input": messages(c), "store": False}
    if c["tools"]:
        body["tools"] = [{"type": "function", **TOOLS[0]["function"]}]
    r = json.loads(ask("/v1/responses", body))
    yield {"end": (RESPONSES, r["status"]), "text": "".join(
        p["text"] for x in r["output"] if x["type"] == "message" for p in x["content"])}


def anthropic(c):
    if c["temp"]:  # has no seed
        return
    body = {"model": model(c), "max_tokens": c["n"], "temperature": 0, "stop_sequences": c["stop"],
            "messages": [m for m in messages(c) if m["role"] != "system"]}
    if c["messages"][0][0] == "system":
        body["system"] = c["messages"][0][1]
    if c["tools"]:
        f = TOOLS[0]["function"]
        body["tools"] = [{"name": f["name"], "description": f["description"],
                          "input_schema": f["parameters"]}]
    r = json.loads(ask("/v1/messages", body))
    kinds = r["content"]
    yield {"end": (ANTHROPIC, r["stop_reason"]),
           "text": "".join(x["text"] for x in kinds if x["type"] == "text"),
           "reasoning": "".join(x["thinking"] for x in kinds if x["type"] == "thinking"),
           "calls": calls((x["name"], x["input"]) for x in kinds if x["type"] == "tool_use")}


def ollama(c):
    body = {"model": model(c), "messages": messages(c), "stream": c["seed"] % 2 == 0, "options": {
        "num_predict": c["n"], "temperature": c["temp"], "seed": c["seed"], "stop": c["stop"]}}
    if c["tools"]:
        body["tools"] = TOOLS
    lines = [json.loads(x) for x in ask("/api/chat", body).splitlines()]
    yield {"end": (OLLAMA, lines[-1]["done_reason"]),
           "text": "".join(x["message"]["content"] for x in lines),
           "reasoning": "".join(x["message"].get("thinking") or "" for x in lines),
           "calls": calls((x["function"]["name"], x["function"]["arguments"])
                          for li in lines for x in li["message"].get("tool_calls") or [])}


def llamacpp(c):
    if c["script"]:  # its template ends with a control token, which is text in a prompt
        return
    prompt = json.loads(ask("/apply-template", {"model": model(c), "messages": messages(c)}))
    r = json.loads(ask("/completion", {
        "model": model(c), "prompt": prompt["prompt"], "n_predict": c["n"], "seed": c["seed"],
        "temperature": c["temp"], "stop": c["stop"], "return_tokens": True}))
    yield {"end": (LLAMACPP, r["stop_type"]), "text": r["content"], "tokens": r["tokens"]}


def compare(name, want, got):
    global failed, passed
    for key, value in got.items():
        expected = want.get(key)
        if key == "end":
            api, value = value
            expected = ENDS[want["finish"]][api]
            if want.get("calls") and api in (OPENAI, ANTHROPIC):
                expected = ("tool_calls", "tool_use")[api]
        if value == expected:
            passed += 1
        else:
            failed += 1
            print(f"FAIL: {name}: {key} is {value!r}, not {expected!r}")


def main():
    with open(SCRIPT_FILE + ".jinja", encoding="utf-8") as f:
        script_template = f.read()
    number = 0
    for i, c in enumerate(conversations()):
        if i % EVERY and not (c["script"] and i % (6 * EVERY) == 5):
            continue
        number += 1
        c["script_template"] = script_template
        want = {} if c["script"] else {"reasoning": "", "calls": []}  # the first answers
        for name, command in DRIVERS:
            url = "embedded:" if name == "embedded" else SOCKET
            for parse in (False, True) if c["script"] else (False,):
                got = driver(command, url, c, parse)
                if "error" in got:
                    sys.exit(f"FAIL: {i}, {name}: {got['error']}")
                for key, value in got.items():
                    want.setdefault(key, value)
                compare(f"{i}, {name}", want, got)
        for way in (openai, responses, anthropic, ollama, llamacpp):
            for got in way(c):
                compare(f"{i}, {way.__name__}", want, got)
    print(f"{number} conversations, {passed} comparisons")
    sys.exit(failed > 0)


main()

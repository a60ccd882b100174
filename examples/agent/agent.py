#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An agent in a page: the model calls tools until it has an answer.

    agent.py MODEL TASK         for example: agent.py mine "How many lines has README.md?"

It needs a server, `llamad --http 127.0.0.1:8080`, and a model that was trained to call tools; nothing
else is installed.  The tools read files below the current folder and change nothing.  LLAMAD_URL is
another address, LLAMAD_KEY an API key."""
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

URL = os.environ.get("LLAMAD_URL", "http://127.0.0.1:8080")
KEY = os.environ.get("LLAMAD_KEY", "none")
STEPS = 20  # the most requests for one task


def inside(path):
    """Returns a path below the current folder, or raises ValueError."""
    here = pathlib.Path.cwd().resolve()
    found = (here / path).resolve()
    if found != here and here not in found.parents:
        raise ValueError(f"{path} is not below the current folder")
    return found


def list_files(folder="."):
    return "\n".join(sorted(p.name + "/" * p.is_dir() for p in inside(folder).iterdir()))


def read_file(path):
    return inside(path).read_text(encoding="utf-8", errors="replace")[:20000]


def count_lines(path):
    return str(len(inside(path).read_bytes().splitlines()))


def tool(function, description, name):
    return {"type": "function", "function": {
        "name": function.__name__, "description": description,
        "parameters": {"type": "object", "properties": {name: {"type": "string"}},
                       "required": [name], "additionalProperties": False}}}


TOOLS = {f.__name__: f for f in (list_files, read_file, count_lines)}
OFFERED = [tool(list_files, "Lists the files in a folder.", "folder"),
           tool(read_file, "Returns the text of a file.", "path"),
           tool(count_lines, "Counts the lines of a file.", "path")]


def chat(model, messages):
    body = json.dumps({"model": model, "messages": messages, "tools": OFFERED}).encode()
    request = urllib.request.Request(URL + "/v1/chat/completions", body, {
        "Content-Type": "application/json", "Authorization": "Bearer " + KEY})
    try:
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)["choices"][0]["message"]
    except urllib.error.HTTPError as e:
        sys.exit("agent: " + json.load(e)["error"]["message"])
    except OSError as e:
        sys.exit(f"agent: {URL}: {e}; start llamad with --http 127.0.0.1:8080")


def run(call):
    """Returns what a tool says; the model reads errors as well, and can try again."""
    try:
        return TOOLS[call["name"]](**json.loads(call["arguments"]))
    except KeyError:
        return f"error: there is no tool {call['name']}"
    except (OSError, TypeError, ValueError) as e:
        return f"error: {e}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    messages = [{"role": "system", "content": "Answer with the help of the tools."},
                {"role": "user", "content": sys.argv[2]}]
    for _ in range(STEPS):
        said = chat(sys.argv[1], messages)
        messages.append(said)
        if not said.get("tool_calls"):
            print(said["content"])
            return
        for call in said["tool_calls"]:
            result = run(call["function"])
            print(f"{call['function']['name']}({call['function']['arguments']})", file=sys.stderr)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    sys.exit(f"agent: no answer after {STEPS} steps")


main()

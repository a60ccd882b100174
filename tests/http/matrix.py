#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the table of clients in docs/http-apis.md from the lines of their checks.

    matrix.py TOP FILE      fails if the table differs; with LMD_HTTP_UPDATE=1 writes it

A line is "ok: PACKAGE WHAT" or "FAIL: PACKAGE WHAT: FOUND"."""
import os
import sys

COLUMNS = ["models", "chat", "stream", "tools", "tool round trip", "structured output",
           "embeddings", "errors", "cancellation", "32 at once", "responses"]
# What a check of another name belongs to.
OTHERS = {"list": "models", "model": "models", "message": "chat", "chat stream": "stream",
          "tool call": "tools", "tool": "tools", "tool stream": "tools",
          "tool call stream": "tools", "tool result": "tool round trip",
          "json_schema": "structured output", "format": "structured output",
          "embed": "embeddings", "range": "errors", "no model": "errors", "context": "errors",
          "errors, no model": "errors", "errors, wrong key": "errors",
          "errors, 413": "errors", "errors, 429": "errors", "errors, 503": "errors",
          "responses stream": "responses"}
# Names in the checks: registry and package.
PACKAGES = {"openai.js": ("npm", "openai"), "ollama.js": ("npm", "ollama"),
            "@anthropic-ai/sdk": ("npm", "@anthropic-ai/sdk"),
            "ai": ("npm", "@ai-sdk/openai-compatible"),
            "ollama.go": ("go", "github.com/ollama/ollama")}
# What a package has no function for.
NONE = {("pypi", "langchain-openai"): {"models"},
        ("pypi", "llama-index-llms-openai-like"): {"models", "embeddings", "responses"},
        ("pypi", "instructor"): {"models", "chat", "tool round trip", "embeddings", "cancellation",
                                 "responses"},
        ("pypi", "anthropic"): {"embeddings", "responses"},
        ("npm", "@anthropic-ai/sdk"): {"embeddings", "responses"},
        ("npm", "@ai-sdk/openai-compatible"): {"models", "responses"},
        ("pypi", "ollama"): {"responses"}, ("npm", "ollama"): {"responses"},
        ("go", "github.com/ollama/ollama"): {"tools", "tool round trip", "embeddings", "responses"}}
BEGIN, END = "<!-- clients: from tests/http/clients_test.sh -->\n", "<!-- end of clients -->\n"


def versions(top):
    with open(os.path.join(top, "tests/http/clients.txt"), encoding="utf-8") as f:
        rows = [line.split() for line in f if line.strip() and line[0] != "#"]
    return {(r[0], r[1]): r[2] for r in reversed(rows)}  # the first row of a package


def table(top, lines):
    found, known = {}, versions(top)
    for line in lines:
        result, _, rest = line.rstrip("\n").partition(": ")
        name, _, what = rest.split(": ")[0].partition(" ")
        if name == "responses":  # of the package openai
            name, what = "openai", "responses"
        what = OTHERS.get(what, what)
        package = PACKAGES.get(name, ("pypi", name))
        if what in COLUMNS and package in known:
            cells = found.setdefault(package, {})
            cells[what] = "no" if result != "ok" else cells.get(what, "yes")
    text = "| package | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1) + "\n"
    for package in sorted(found):
        none = NONE.get(package, set())
        row = [found[package].get(c, "–" if c in none else "") for c in COLUMNS]
        text += f"| {package[0]} `{package[1]}` {known[package]} | " + " | ".join(row) + " |\n"
    return text


def main():
    top, path = sys.argv[1], os.path.join(sys.argv[1], "docs/http-apis.md")
    with open(sys.argv[2], encoding="utf-8") as f:
        new = table(top, f)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    if os.environ.get("LMD_HTTP_UPDATE"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(head + BEGIN + new + END + tail)
    elif old != new:
        sys.exit(f"the table differs; LMD_HTTP_UPDATE=1 writes:\n{new}")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Answers a question from the texts of a folder.

    retrieval.py MODEL FOLDER QUESTION

The paragraphs of all *.txt and *.md files are turned into vectors by EMBEDDER, or by MODEL; those that
are nearest to the question go into the prompt.  It needs a server, `llamad --http 127.0.0.1:8080`,
and nothing else is installed.  LLAMAD_URL is another address, LLAMAD_KEY an API key."""
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

URL = os.environ.get("LLAMAD_URL", "http://127.0.0.1:8080")
KEY = os.environ.get("LLAMAD_KEY", "none")
NEAREST = 3  # paragraphs in the prompt
AT_ONCE = 32  # paragraphs in one request for vectors


def ask(path, body):
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), {
        "Content-Type": "application/json", "Authorization": "Bearer " + KEY})
    try:
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as e:
        sys.exit("retrieval: " + json.load(e)["error"]["message"])
    except OSError as e:
        sys.exit(f"retrieval: {URL}: {e}; start llamad with --http 127.0.0.1:8080")


def paragraphs(folder):
    """Yields (file, text)."""
    for file in sorted(pathlib.Path(folder).rglob("*")):
        if file.is_file() and file.suffix in (".txt", ".md"):
            for text in file.read_text(encoding="utf-8", errors="replace").split("\n\n"):
                if text.strip():
                    yield file, text.strip()[:2000]


def vectors(model, texts):
    found = []
    for i in range(0, len(texts), AT_ONCE):
        reply = ask("/v1/embeddings", {"model": model, "input": texts[i:i + AT_ONCE]})
        found += [d["embedding"] for d in reply["data"]]
    return found


def nearest(embedder, texts, question):
    """Returns the numbers of the texts that are most similar to the question, the best one first.
    The vectors have the length 1, so that their product is the cosine."""
    *those, this = vectors(embedder, texts + [question])
    score = [sum(a * b for a, b in zip(v, this)) for v in those]
    return sorted(range(len(texts)), key=lambda i: -score[i])[:NEAREST]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    model, folder, question = sys.argv[1:]
    found = list(paragraphs(folder))
    if not found:
        sys.exit(f"retrieval: {folder}: there are no .txt or .md files with text")
    best = nearest(os.environ.get("EMBEDDER", model), [text for _, text in found], question)
    for i in best:
        print(f"from {found[i][0]}", file=sys.stderr)
    said = ask("/v1/chat/completions", {"model": model, "messages": [
        {"role": "system", "content": "Answer from these texts, or say that they do not tell:\n\n"
                                      + "\n\n".join(found[i][1] for i in best)},
        {"role": "user", "content": question}]})
    print(said["choices"][0]["message"]["content"])


main()

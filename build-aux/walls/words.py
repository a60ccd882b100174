# SPDX-License-Identifier: MIT
"""Words that the project does not use: build-aux/words lists them.

    name WORD      no identifier has it between underscores, no file is called so
    phrase WORDS   no comment, document or text for users has these words"""
import os
import re

import names

LIST = "build-aux/words"
SKIP = re.compile(r"\.gen\.|^tests/data/|\.jinja$|/golden/|^build-aux/(words$|walls/)|\.(txt|csv|bin|gguf)$")


def read(tree):
    found = {"name": set(), "phrase": []}
    for line in tree.read(LIST).split("\n"):
        kind, _, word = line.partition(" ")
        if kind == "name":
            found["name"].add(word.strip())
        elif kind == "phrase":
            found["phrase"].append(word.strip())
    return found


def texts(tree):
    """Every file with text of ours."""
    for path in tree.all_files:
        if not SKIP.search(path) and os.path.isfile(os.path.join(tree.top, path)):
            try:
                yield path, tree.read(path)
            except UnicodeDecodeError:
                pass


def check(tree):
    if not os.path.exists(os.path.join(tree.top, LIST)):
        return []
    words, errors = read(tree), []
    phrase = re.compile(r"\b(?:%s)\b" % "|".join(re.escape(p).replace(r"\ ", r"\s+(?:\*\s+)?")
                                                for p in words["phrase"]), re.I)
    for path, text in texts(tree):
        stem = os.path.splitext(os.path.basename(path))[0].lower()
        if words["name"] & set(re.split(r"[_.-]", stem)):
            errors.append(f"{path}: a file is not called so ({LIST})")
        if path.endswith((".c", ".h")):
            seen = {t for t in re.findall(r"[A-Za-z_]\w*", names.blank(text))
                    if words["name"] & set(t.lower().split("_"))}
            errors += [f"{path}: {name} is not a name of the glossary ({LIST})"
                       for name in sorted(seen)]
        for m in phrase.finditer(text):
            line = text.count("\n", 0, m.start()) + 1
            errors.append(f"{path}:{line}: \"{' '.join(m[0].split())}\" is not plain English ({LIST})")
    return errors

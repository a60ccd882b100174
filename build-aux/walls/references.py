# SPDX-License-Identifier: MIT
"""Names of source files in comments, and between backquotes in pages: such a file must exist."""
import re

import names
import words

FILE = re.compile(r"(?<![\w./<-])[a-z0-9][a-z0-9_]*(?:/[a-z0-9_]+)*\.[ch]\b(?!\.\w|[*(])")
QUOTED = re.compile(r"`([a-z0-9][a-z0-9_]*(?:/[a-z0-9_]+)*\.[ch])`")


def endings(paths):
    """Every way to name a file: its path, or the end of it."""
    found = set()
    for path in paths:
        parts = path.removesuffix(".in").split("/")
        found |= {"/".join(parts[i:]) for i in range(len(parts))}
    return found


def mentions(path, text):
    """(offset, name) of each source file that the text names."""
    if path.endswith(".md"):
        for m in QUOTED.finditer(text):
            yield m.start(), m[1]
    elif path.endswith((".c", ".h", ".h.in")):
        for comment in names.COMMENT.finditer(text):
            for m in FILE.finditer(comment[0]):
                yield comment.start() + m.start(), m[0]


def check(tree):
    known, errors = endings(tree.files), []
    for path, text in words.texts(tree):
        for offset, name in mentions(path, text):
            if name not in known:
                line = text.count("\n", 0, offset) + 1
                errors.append(f"{path}:{line}: names {name}, which is not in the tree")
    return errors

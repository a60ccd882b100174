# SPDX-License-Identifier: MIT
"""The table of libraries in docs/layout.md, made from the declarations."""
import os
import re

BEGIN, END = "<!-- libraries: begin -->\n", "<!-- libraries: end -->\n"


def table(tree):
    height = tree.levels()
    lines = ["| level | library | folder | what it is | uses | interface | prefix |\n",
             "|---|---|---|---|---|---|---|\n"]
    for lib in sorted(tree.libraries.values(), key=lambda x: (height[x.name], x.name)):
        headers = []
        for h in lib.interface:
            inside = [f for f in lib.folder if h.startswith(f + "/")]
            headers.append(h[len(inside[0]) + 1:] if inside else h)
        lines.append("| " + " | ".join([
            str(height[lib.name]), f"`{lib.name}`", ", ".join(f"`{f}`" for f in lib.folder),
            lib.text, ", ".join(lib.uses), ", ".join(f"`{h}`" for h in headers),
            ", ".join(f"`{p}`" for p in lib.prefix)]) + " |\n")
    return "".join(lines)


def page(tree, path):
    """The page with the table of today, and the page as it is."""
    with open(os.path.join(tree.top, path), encoding="utf-8") as f:
        old = f.read()
    new = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END),
                 lambda _: BEGIN + table(tree) + END, old, flags=re.S)
    return new, old

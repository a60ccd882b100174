# SPDX-License-Identifier: MIT
"""The walls between the libraries of the tree.

    build-aux/walls check TOP [BUILD]   includes, names, words, names of files in comments, and with
                                        BUILD also symbols (nm)
    build-aux/walls layout TOP          writes the table of libraries into docs/layout.md
    build-aux/walls libc TOP            adds the includes of C library headers that are missing

Prints one line for each fault and exits with 1 when there is one.  rooms.py says what a
declaration looks like."""
import os
import sys

import includes
import layout
import libc
import names
import references
import rooms
import symbols
import words

PAGE = "docs/layout.md"


def unused(tree, seen):
    """Declared and never needed: a wall that could be higher."""
    return [f"{lib.where}: library {lib.name} declares that it uses {used}, and takes nothing "
            "from it" for lib in tree.libraries.values() for used in lib.uses
            if (lib.name, used) not in seen]


def check(tree, build):
    errors, seen = includes.check(tree)
    errors = tree.errors + errors + names.check(tree) + libc.check(tree) + words.check(tree)
    errors += references.check(tree)
    if build:
        more, taken = symbols.check(tree, build)
        errors += more
        seen |= taken
        errors += unused(tree, seen)
    if os.path.exists(os.path.join(tree.top, PAGE)):
        new, old = layout.page(tree, PAGE)
        if new != old:
            errors.append(f"{PAGE}: its table of libraries is old; run build-aux/walls layout .")
    return errors


def main(argv):
    if len(argv) < 3 or argv[1] not in ("check", "layout", "libc"):
        sys.exit(__doc__)
    tree = rooms.Tree(argv[2])
    if argv[1] == "layout":
        new, _ = layout.page(tree, PAGE)
        with open(os.path.join(tree.top, PAGE), "w", encoding="utf-8") as f:
            f.write(new)
        return 0
    if argv[1] == "libc":
        libc.mend(tree)
        return 0
    errors = check(tree, argv[3] if len(argv) > 3 else None)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

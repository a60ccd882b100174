# SPDX-License-Identifier: MIT
"""Which includes cross a wall, and which ones need the Check library where it is not linked."""
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
CHECK = ("check.h", "tests/lmd_check.h")   # they need the Check library


def resolve(tree, known, path, name):
    """The file of the tree that an include means; None for a generated or foreign one."""
    for base in (os.path.dirname(path), "", "include", "plugins"):
        found = os.path.normpath(os.path.join(base, name))
        for candidate in (found, found + ".in"):
            if candidate in known:
                return candidate
    return None


def included(tree, known, path):
    """(line, file) of each include; a header that is not in the tree keeps its name."""
    for number, line in enumerate(tree.read(path).split("\n"), 1):
        include = INCLUDE.match(line)
        if include:
            yield number, resolve(tree, known, path, include[1]) or include[1]


def without_check(tree, known):
    """Errors of programs that are built without the Check library and include its header, directly
    or through other headers."""
    errors = []
    for start in sorted(tree.without_check & known):
        seen, todo = set(), [start]
        while todo:
            path = todo.pop()
            if path in seen:
                continue
            seen.add(path)
            for number, target in included(tree, known, path):
                if target in CHECK:
                    errors.append(f"{path}:{number}: {target} needs the Check library, which "
                                  f"programs of {start} do not link")
                elif target in known:
                    todo.append(target)
    return errors


def check(tree):
    """Error messages, and the pairs of libraries (user, used) that were seen."""
    errors, seen = [], set()
    known = set(tree.files)
    for path in tree.files:
        if path.endswith("Makefile.inc"):
            continue
        lib = tree.owner(path)
        if not lib and tree.is_test(path):
            continue
        if not lib:
            errors.append(f"{path}: no Makefile.inc above it declares a library")
            continue
        for number, target in included(tree, known, path):
            where = f"{path}:{number}"
            if not tree.is_test(path) and (target == "check.h" or
                                           target in known and tree.is_test(target)):
                errors.append(f"{where}: {target} belongs to tests")
            if target not in known:
                continue
            other = tree.owner(target)
            if not other or other is lib or other.name == "include":
                continue
            if not tree.is_test(path):
                seen.add((lib.name, other.name))
                if other.name not in lib.uses:
                    errors.append(f"{where}: library {lib.name} does not declare that it uses "
                                  f"{other.name} ({target})")
            if target not in tree.headers(other) and not tree.is_test(path):
                errors.append(f"{where}: {target} is not an interface of library {other.name}")
    return errors + without_check(tree, known), seen

# SPDX-License-Identifier: MIT
"""Which includes cross a wall."""
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def resolve(tree, known, path, name):
    """The file of the tree that an include means; None for a generated or foreign one."""
    for base in (os.path.dirname(path), "", "include", "plugins"):
        found = os.path.normpath(os.path.join(base, name))
        for candidate in (found, found + ".in"):
            if candidate in known:
                return candidate
    return None


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
        for number, line in enumerate(tree.read(path).split("\n"), 1):
            include = INCLUDE.match(line)
            target = include and resolve(tree, known, path, include[1])
            if not target:
                continue
            where = f"{path}:{number}"
            if tree.is_test(target) and not tree.is_test(path):
                errors.append(f"{where}: {target} belongs to tests")
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
    return errors, seen

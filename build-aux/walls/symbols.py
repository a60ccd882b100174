# SPDX-License-Identifier: MIT
"""Which symbols cross a wall: reads the objects of a finished build with nm."""
import os
import subprocess


def source_of(build, path):
    """core/kv/.libs/libx_la-kv.o -> core/kv/kv.c"""
    folder, name = os.path.split(os.path.relpath(path, build))
    if os.path.basename(folder) == ".libs":
        folder = os.path.dirname(folder)
    return os.path.join(folder, name[:-2].rsplit("-", 1)[-1] + ".c")


def objects(tree, build):
    for folder, _, names in os.walk(build):
        for name in sorted(names):
            if not name.endswith(".o"):
                continue
            path = os.path.join(folder, name)
            source = source_of(build, path)
            if source in tree.product:
                yield source, path


AT_ONCE = 200  # objects that one process of nm reads


def symbols(found):
    """(source, symbol, kind) for each (source, object)."""
    for i in range(0, len(found), AT_ONCE):
        part = found[i:i + AT_ONCE]
        source = {path: name for name, path in part}
        out = subprocess.run(["nm", "-P", "-A", *source], capture_output=True, text=True,
                             check=True).stdout
        for line in out.splitlines():
            path, rest = line.split(": ", 1)
            name, kind = rest.split()[:2]
            yield source[path], name, kind


def check(tree, build):
    """Error messages, and the pairs of libraries (user, used) that were seen."""
    defined, wanted, errors, seen = {}, [], [], set()
    for source, name, kind in symbols(list(objects(tree, build))):
        lib = tree.owner(source)
        if kind == "U":
            wanted.append((lib, source, name))
        elif kind.isupper():
            defined.setdefault(name, set()).add(lib)
    if not wanted:
        errors.append(f"{build}: no objects of this tree; build it first")
    for lib, source, name in sorted(wanted, key=lambda w: (w[1], w[2])):
        owners = defined.get(name, set())
        if not owners or lib in owners:
            continue
        seen |= {(lib.name, o.name) for o in owners}
        if not any(o.name in lib.uses for o in owners):
            other = sorted(o.name for o in owners)[0]
            message = (f"{source}: takes {name} from library {other}, which library {lib.name} "
                       "does not declare")
            if message not in errors:
                errors.append(message)
    return errors, seen

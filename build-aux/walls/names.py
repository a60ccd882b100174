# SPDX-License-Identifier: MIT
"""Prefixes of names, names with two meanings and constants with two values.

External names carry a prefix of their library, and so does everything in headers that others may
include.  Names of a private header need none."""
import collections
import re

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?[ \t]*((?:[^\n\\]|\\\n|\\.)*)", re.M)
TAG = re.compile(r"\b(?:struct|enum|union)\s+(\w+)\s*\{")
ENUM = re.compile(r"\benum\b\s*\w*\s*\{([^}]*)\}")
TYPEDEF = re.compile(r"^typedef\b[^;{]*?(?:\(\s*\*?\s*(\w+)\s*\)\s*\(|\b(\w+)\s*;)", re.M)
FUNCTION = re.compile(r"^(?!static\b|[A-Z_]*INLINE\b|typedef\b|extern\b|return\b|else\b|#)"
                      r"[A-Za-z_][\w \t*]*?[ \t*](\w+)[ \t]*\([^;{}]*?\)\s*\n\{", re.M)
INLINE = re.compile(r"^static inline [A-Za-z_][\w \t*]*?[ \t*](\w+)\s*\(", re.M)


def blank(text):
    """Code alone: comments and strings become blanks, line breaks stay."""
    text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return STRING.sub(lambda m: '"' + " " * (len(m[0]) - 2) + '"', text)


def definitions(path, text):
    """(name, kind, value or None) of what other files can see."""
    code, header = blank(text), path.endswith((".h", ".h.in"))
    for name in FUNCTION.findall(code):
        if not name.isupper():   # a macro that makes the name
            yield name, "function", None
    if not header:
        return
    for name in INLINE.findall(code):
        yield name, "function", None
    for name, args, value in MACRO.findall(code):
        yield name, "macro", None if args else " ".join(value.split())
    for name in TAG.findall(code):
        yield name, "type", None
    for first, second in TYPEDEF.findall(code):
        yield first or second, "type", None
    for body in ENUM.findall(code):
        for item in body.split(","):
            name = re.match(r"\s*(?:#[^\n]*\n\s*)*([A-Za-z_]\w*)", item)
            if name:
                yield name[1], "constant", None


def owners_of(tree, name):
    """The libraries whose prefix a name carries: those with the longest one that fits."""
    fits, lower = collections.defaultdict(list), name.lower()
    for lib in tree.libraries.values():
        for prefix in lib.prefix:
            if lower == prefix or lower.startswith(prefix + "_"):
                fits[len(prefix)].append(lib)
    return fits[max(fits)] if fits else []


def check(tree):
    errors = []
    meanings = collections.defaultdict(set)   # name -> {(library, kind)}
    values = collections.defaultdict(dict)    # macro of an interface -> {value: file}
    for path in tree.files:
        lib = tree.owner(path)
        if path.endswith("Makefile.inc") or not lib or tree.is_test(path):
            continue
        text = tree.read(path)
        guard = re.search(r"^#ifndef (\w+)\n#define \1\n", text, re.M)
        for name, kind, value in definitions(path, text):
            if (guard and name == guard[1]) or name == "main":
                continue
            if value is not None and path in tree.headers(lib) and path not in values[name].values():
                values[name].setdefault(value, path)
            meanings[name].add((lib.name, kind))
            private = path.endswith(".h") and path not in tree.headers(lib)
            if lib.prefix and not private and lib not in owners_of(tree, name) and \
                    not is_public(tree, lib, name):
                errors.append(f"{path}: {kind} {name} does not carry a prefix of library "
                              f"{lib.name} ({', '.join(lib.prefix) or 'it has none'})")
    for name, where in sorted(meanings.items()):
        if len({lib for lib, _ in where}) > 1 and not name.startswith(("lmd_", "LMD_")):
            errors.append(f"{name} has meanings in libraries "
                          f"{', '.join(sorted({lib for lib, _ in where}))}")
    for name, found in sorted(values.items()):
        if len(found) > 1 and not name.startswith(("LMD_",)):
            errors.append(f"{name} has {len(found)} values: "
                          + "; ".join(f"{v or 'nothing'} in {p}" for v, p in sorted(found.items())))
    return errors


def is_public(tree, lib, name):
    """A name of the public headers, implemented here: an opaque type, a function of the client."""
    return name.lower().startswith("lmd_") and name in public_names(tree)


def public_names(tree):
    if not hasattr(tree, "public"):
        text = "".join(tree.read(f) for f in tree.files if f.startswith("include/llamad/"))
        tree.public = set(re.findall(r"\b(?:lmd|LMD)_\w+", text))
    return tree.public

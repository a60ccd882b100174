# SPDX-License-Identifier: MIT
"""The libraries of the tree as their Makefile.inc files declare them.

A declaration is a comment of automake's own kind (two number signs):

    ## library kv: pages and slots of the KV cache
    ##   uses base
    ##   interface core/kv/kv.h
    ##   prefix lmi_kv

uses        libraries whose interface may be included and whose symbols may be taken
interface   headers that other libraries may include; "*" stands for every header of the folder
prefix      how external names begin; the longest prefix that fits decides whose name it is
folder      where the files lie, when that is not the folder of the Makefile.inc

A folder belongs to the library that declares it or the nearest folder above it.  A source file is
part of the product when a library or program that is not a test lists it; every other one is a test,
whatever its name is.  The public headers (library include) are there for everybody."""
import os
import re
import subprocess

KEYS = ("uses", "interface", "prefix", "folder")


class Library:
    def __init__(self, name, text, where):
        self.name, self.text, self.where = name, text, where
        self.uses, self.interface, self.prefix, self.folder = [], [], [], []


class Tree:
    def __init__(self, top):
        self.top = top
        self.errors = []
        self.libraries = {}
        self.all_files = self._all_files()
        self.files = [f for f in self.all_files
                      if f.endswith((".c", ".h", ".h.in", "Makefile.inc"))]
        self.product = set()
        self.without_check = set()   # sources of tests and benchmarks that do not link Check
        for path in self.files:
            if os.path.basename(path) == "Makefile.inc":
                self._declarations(path)
                self._sources(path)
        self.folders = {f: lib for lib in self.libraries.values() for f in lib.folder}
        self._check_declarations()

    def read(self, path):
        with open(os.path.join(self.top, path), encoding="utf-8") as f:
            return f.read()

    def owner(self, path):
        """The library that a file belongs to, or None."""
        folder = os.path.dirname(path)
        while folder:
            if folder in self.folders:
                return self.folders[folder]
            folder = os.path.dirname(folder)
        return None

    def is_test(self, path):
        return path not in self.product and not path.startswith("include/")

    def headers(self, lib):
        """The headers that other libraries may include."""
        found = set()
        for entry in lib.interface:
            if os.path.basename(entry) == "*":
                folder = os.path.dirname(entry)
                found |= {f for f in self.files
                          if f.endswith(".h") and os.path.dirname(f) == folder
                          and not self.is_test(f)}
            else:
                found.add(entry)
        return found

    def levels(self):
        """Library -> its height above those that use nothing."""
        height = {}

        def visit(name, above):
            if name in above:
                return None
            if name not in height:
                below = [visit(u, above | {name}) for u in self.libraries[name].uses
                         if u in self.libraries]
                height[name] = 1 + max([h for h in below if h is not None], default=-1)
            return height[name]

        for name in self.libraries:
            visit(name, frozenset())
        return height

    def _all_files(self):
        try:
            git = subprocess.run(["git", "-C", self.top, "ls-files", "-co", "--exclude-standard"],
                                 capture_output=True, text=True).stdout
        except FileNotFoundError:  # git is not installed
            git = ""
        if git:
            names = [f for f in git.split("\n")[:-1]
                     if os.path.exists(os.path.join(self.top, f))]
        else:
            names = []
            for folder, below, found in os.walk(self.top):
                below[:] = [d for d in below if d == "build-aux" or
                            not d.startswith(("build", "_", "."))]
                names += [os.path.relpath(os.path.join(folder, f), self.top) for f in found]
        return sorted(names)

    def _declarations(self, path):
        lib, here = None, os.path.dirname(path)
        for number, line in enumerate(self.read(path).split("\n"), 1):
            where = f"{path}:{number}"
            start = re.match(r"## library (\S+): (.+)", line)
            if start:
                lib = Library(start[1], start[2], where)
                if lib.name in self.libraries:
                    self.errors.append(f"{where}: library {lib.name} is declared twice")
                self.libraries[lib.name] = lib
                continue
            entry = re.match(r"##\s+(\w+) (.+)", line)
            if not entry or not lib:
                lib = self._end(lib, here)
            elif entry[1] not in KEYS:
                self.errors.append(f"{where}: '{entry[1]}' is none of {', '.join(KEYS)}")
            else:
                getattr(lib, entry[1]).extend(entry[2].split())
        self._end(lib, here)

    @staticmethod
    def _end(lib, here):
        if lib and not lib.folder:
            lib.folder = [here]
        if lib:
            lib.interface = [h if "/" in h else f"{here}/{h}" for h in lib.interface]

    def _sources(self, path):
        """Sorts the sources that automake is told of into product and test."""
        text = re.sub(r"\\\n", " ", self.read(path))
        variables = dict(re.findall(r"^(\w+)\s*=(.*)$", text, re.M))
        text = re.sub(r"\$\((\w+_tests|\w+_TESTS)\)", lambda m: variables.get(m[1], m[0]), text)

        def targets(variables):
            return {re.sub(r"\W", "_", name)
                    for line in re.findall(rf"^(?:{variables})\s*\+?=(.*)$", text, re.M)
                    for name in line.split()}

        plain = targets(r"check_\w+|BENCHMARKS")
        tests = plain | targets(r"CHECK_\w+|FUZZ_TARGETS|EXTRA_PROGRAMS")
        for target, words in re.findall(r"^(\w+?)_SOURCES\s*\+?=(.*)$", text, re.M):
            sources = {w for w in words.split() if w.endswith((".c", ".h"))}
            if target not in tests:
                self.product |= sources
            elif target in plain:
                self.without_check |= sources
        for words in re.findall(r"^\w*(?:_sources|_?HEADERS|[A-Z]+_SOURCES)\s*\+?=(.*)$", text,
                                re.M):
            self.product |= {w for w in words.split() if w.endswith((".c", ".h", ".h.in"))}

    def _check_declarations(self):
        for lib in self.libraries.values():
            for used in lib.uses:
                if used not in self.libraries:
                    self.errors.append(f"{lib.where}: library {lib.name} uses '{used}', "
                                       "which is not declared")
            for header in lib.interface:
                if os.path.basename(header) != "*" and header not in self.files:
                    self.errors.append(f"{lib.where}: interface {header} does not exist")
        for name in sorted(self._in_circle()):
            self.errors.append(f"{self.libraries[name].where}: library {name} uses itself "
                               "through others")

    def _in_circle(self):
        def reaches(start, name, seen):
            for used in self.libraries[name].uses:
                if used == start:
                    return True
                if used in self.libraries and used not in seen:
                    seen.add(used)
                    if reaches(start, used, seen):
                        return True
            return False
        return {name for name in self.libraries if reaches(name, name, set())}

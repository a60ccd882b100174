# SPDX-License-Identifier: MIT
"""A file includes what it uses: functions of the C library and the header of each.

A .c file may leave an include to the header of its own name."""
import os
import re

import names

FUNCTIONS = {
    "string.h": "memchr memcmp memcpy memmem memmove memrchr memset strcat strchr strcmp strcpy "
                "strcspn strdup strerror strlen strncmp strncpy strndup strnlen strpbrk strrchr "
                "strspn strstr strtok_r",
    "stdio.h": "fclose ferror fflush fgets fopen fprintf fputc fputs fread fseek fwrite getline "
               "perror printf putc putchar puts rename setvbuf snprintf sscanf vfprintf vsnprintf",
    "stdlib.h": "abort atexit atoi bsearch calloc exit free getenv malloc mkdtemp mkstemp qsort "
                "realloc setenv strtod strtof strtol strtoll strtoul strtoull unsetenv",
    "errno.h": "errno",
}
CALL = {h: re.compile(r"(?<![\w.>])(?:%s)\b\s*%s" % ("|".join(f.split()),
                                                     "" if h == "errno.h" else r"\("))
        for h, f in FUNCTIONS.items()}
INCLUDE = re.compile(r"^\s*#\s*include\s+[<\"]([^>\"]+)[>\"]", re.M)


def missing(tree, path):
    """The headers of the C library that a file uses and does not include."""
    text = tree.read(path)
    included = set(INCLUDE.findall(text))
    own = path[:-2] + ".h"
    if path.endswith(".c") and own in tree.files:
        included |= set(INCLUDE.findall(tree.read(own)))
    code = names.blank(text)
    return [h for h in sorted(FUNCTIONS) if h not in included and CALL[h].search(code)]


def files(tree):
    return [f for f in tree.files if f.endswith((".c", ".h")) and ".gen." not in f]


def check(tree):
    return [f"{path}: uses functions of <{header}> and does not include it"
            for path in files(tree) for header in missing(tree, path)]


def add(text, header, path):
    """The text with one more include, in its place."""
    line = f"#include <{header}>\n"
    system = list(re.finditer(r"^#include <([^>]+)>\n", text, re.M))
    if system:
        for s in system:
            if s[1] > header and "/" not in s[1]:
                return text[:s.start()] + line + text[s.start():]
        last = [s for s in system if "/" not in s[1]] or system
        return text[:last[-1].end()] + line + text[last[-1].end():]
    first = re.search(r"^#include \"([^\"]+)\"\n", text, re.M)
    if not first:
        return text
    if os.path.splitext(os.path.basename(first[1]))[0] == os.path.splitext(os.path.basename(path))[0]:
        rest = text[first.end():]
        return text[:first.end()] + "\n" + line + ("" if rest.startswith("\n") else "\n") + rest
    return text[:first.start()] + line + "\n" + text[first.start():]


def mend(tree):
    for path in files(tree):
        text = tree.read(path)
        for header in missing(tree, path):
            text = add(text, header, path)
        if text != tree.read(path):
            with open(os.path.join(tree.top, path), "w", encoding="utf-8") as f:
                f.write(text)

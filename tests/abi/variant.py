#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes variants of the installed headers: those of another minor version of the ABI.

usage: variant.py future|past FROM TO

future: every struct that may grow (docs/abi.md) has more members at its end.
past:   members that came with the last minor version are missing at the end of their structs.
"""
import os
import re
import sys

# Begin with struct_size, but have a fixed size (docs/abi.md).
FIXED = {"lmd_value", "lmd_weight_ref", "lmd_rope_params", "lmd_plan_key", "lmd_arch_desc", "lmd_op"}
PAST = {
    "lmd_compile": ["devgroup", "scratch"],
    "lmd_weight_plan": ["keeps_source", "reserved"],
    "lmd_weight_desc": ["stored_layout", "stored", "stored_bytes"],
    "lmd_open_params": ["attention"],
}
STRUCT = re.compile(r"^struct (lmd_\w+) \{\n(.*?)^\};\n", re.M | re.S)


def future(m):
    if "uint32_t struct_size;" not in m[2] or m[1] in FIXED:
        return m[0]
    return "struct %s {\n%s\tuint64_t future_member[9];\n};\n" % (m[1], m[2])


def past(m):
    body = m[2]
    for name in PAST.get(m[1], []):
        one = re.search(r"^\t[^;{}/]*\b%s;[^\n]*\n(\t{3,}[^\n]*\*/\n|\t+ \*[^\n]*\n)*" % name, body, re.M)
        if not one:
            sys.exit("variant.py: struct %s has no member %s" % (m[1], name))
        body = body[:one.start()] + body[one.end():]
    return "struct %s {\n%s};\n" % (m[1], body)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("future", "past"):
        sys.exit(__doc__)
    change = {"future": future, "past": past}[sys.argv[1]]
    os.makedirs(sys.argv[3], exist_ok=True)
    for name in sorted(os.listdir(sys.argv[2])):
        if not name.endswith(".h"):
            continue
        with open(os.path.join(sys.argv[2], name), encoding="utf-8") as f:
            text = STRUCT.sub(change, f.read())
        with open(os.path.join(sys.argv[3], name), "w", encoding="utf-8") as f:
            f.write(text)


main()

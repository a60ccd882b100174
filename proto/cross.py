# SPDX-License-Identifier: MIT
"""Compares the codec with Python's msgpack and with the generated Python types.

usage: cross.py WIRE TYPES_FOLDER

Messages of WIRE emit are unpacked with msgpack, compared with their JSON, converted to dataclasses and
packed again; WIRE read must decode the same message."""
import json
import subprocess
import sys

sys.dont_write_bytecode = True
import msgpack  # noqa: E402

N, SEED = 20, 4711


def as_json(v, key=None):
    """Converts a value to the form that wire prints as JSON."""
    if isinstance(v, bytes):
        if len(v) == 16 and key in ("id", "boot"):
            return v.hex()
        try:
            return v.decode("utf-8")
        except UnicodeDecodeError:
            return {"hex": v.hex()}
    if isinstance(v, list):
        return [as_json(x) for x in v]
    if isinstance(v, dict):
        return {k: as_json(x, k) for k, x in v.items()}
    if isinstance(v, float) and v in (float("inf"), float("-inf")):
        return "inf" if v > 0 else "-inf"
    return v


def camel(name):
    return "".join(p.capitalize() for p in name.split("_"))


def through_types(types, op, kind, m):
    """The message as the dataclasses give it back."""
    head = {k: m[k] for k in ("v", "op", "rid") if k in m}
    cls = getattr(types, camel(op) + kind.capitalize())
    return {**head, **cls.from_map(m).to_map()}


def main(wire, folder):
    sys.path.insert(0, folder)
    import _types as types
    lines = subprocess.run([wire, "emit", str(N), str(SEED)], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    sent, bad = [], 0
    for line in lines:
        op, kind, data, text = line.split(" ", 3)
        m = msgpack.unpackb(bytes.fromhex(data), strict_map_key=True)
        if as_json(m) != json.loads(text):
            print("JSON differs:", line)
            bad += 1
        typed = through_types(types, op, kind, m)
        sent.append((op, kind, data, msgpack.packb(typed)))
    back = subprocess.run([wire, "read"], check=True, capture_output=True, text=True,
                          input="".join("%s %s %s\n" % (o, k, p.hex()) for o, k, _, p in sent))
    for (op, kind, data, _), line in zip(sent, back.stdout.splitlines(), strict=True):
        if line != data:
            print("differs after Python:", op, kind, data, line)
            bad += 1
    print("CASES: messages across languages: %d passed, %d failed, 0 skipped" %
          (2 * len(sent) - bad, bad))
    return 1 if bad or not sent else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

# SPDX-License-Identifier: MIT
"""Compares the logits of transformers and llamactl for folders made by hf_models.py.

    hf_logits.py LLAMACTL FOLDER [--backend B] [NAME...]

Prints one line per model.  The exit status is 1 if any differs by more than 1e-4 of its largest
logit."""

import json
import os
import struct
import subprocess
import sys
import tempfile

TOLERANCE = 1e-4


def floats(path):
    with open(path, "rb") as f:
        data = f.read()
    return struct.unpack(f"<{len(data) // 4}f", data)


def compare(llamactl, folder, name, backend, path=None):
    """Returns the maximum difference relative to the largest logit, or None and an error message."""
    with open(os.path.join(folder, name + ".json")) as f:
        want = json.load(f)
    ids = ",".join(str(t) for t in want["tokens"])
    with tempfile.TemporaryDirectory() as tmp:
        out = os.path.join(tmp, "out.f32")
        run = subprocess.run(
            [llamactl, "debug", "logits", path or os.path.join(folder, name), "--tokens", ids]
            + ["-o", out, "--backend", backend, "--activations", "f32", "--kv-type", "f32"]
            + want.get("options", []),
            capture_output=True,
            text=True,
        )
        if run.returncode:
            return None, run.stderr.strip().splitlines()[-1]
        got = floats(out)
    ref = floats(os.path.join(folder, name + ".f32"))
    if len(got) != len(ref):
        return None, f"{len(got)} logits, expected {len(ref)}"
    peak = max(abs(v) for v in ref)
    diff = max(abs(a - b) for a, b in zip(got, ref)) / peak
    limit = want.get("tolerance", TOLERANCE)
    return diff, "" if diff <= limit else f"differs by {diff:.1e}, at most {limit:.0e}"


def main():
    args = sys.argv[1:]
    backend = "cpu"
    if "--backend" in args:
        i = args.index("--backend")
        backend = args[i + 1]
        del args[i : i + 2]
    llamactl, folder = args[:2]
    names = args[2:] or sorted(n[:-5] for n in os.listdir(folder) if n.endswith(".json"))
    failed = 0
    for name in names:
        diff, why = compare(llamactl, folder, name, backend)
        ok = diff is not None and not why
        failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {name}: {why or f'{diff:.1e}'}")
    print(f"CASES: logits of transformers: {len(names) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

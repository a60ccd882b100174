# SPDX-License-Identifier: MIT
"""Folders of many families against the logits that transformers gave for them (models.json)."""

import json
import os
import subprocess
import sys
import tempfile

import folders

TOLERANCE = 1e-4


class Tester:
    def __init__(self, llamactl, models):
        self.llamactl = llamactl
        self.models = models
        self.passed = self.failed = 0

    def verdict(self, name, why):
        if why:
            self.failed += 1
            print(f"FAIL: {name}: {why}")
        else:
            self.passed += 1

    def run(self, *args):
        return subprocess.run([self.llamactl, *args], capture_output=True, text=True)

    def last_row(self, path, model, backend):
        """The logits of the last position, or a sentence."""
        with tempfile.TemporaryDirectory() as tmp:
            out = os.path.join(tmp, "out.f32")
            ids = ",".join(str(t) for t in model["tokens"])
            r = self.run("debug", "logits", path, "--tokens", ids, "-o", out, "--backend", backend,
                         "--activations", "f32", "--kv-type", "f32", *model.get("options", []))
            if r.returncode:
                return None, (r.stderr.strip().splitlines() or ["no sentence"])[-1]
            return folders.floats(out)[-len(model["last"]):], ""

    def compare(self, name, path, model, backend="cpu", tolerance=None):
        got, why = self.last_row(path, model, backend)
        if not why:
            limit = tolerance or model.get("tolerance", TOLERANCE)
            peak = max(abs(v) for v in model["last"])
            diff = max(abs(a - b) for a, b in zip(got, model["last"])) / peak
            why = "" if diff <= limit else f"differs by {diff:.1e}, at most {limit:.0e}"
        self.verdict(name, why)


def main():
    llamactl, source = sys.argv[1:3]
    with open(os.path.join(source, "models.json")) as f:
        models = json.load(f)
    names = sys.argv[3:] or list(models)
    t = Tester(llamactl, models)
    with tempfile.TemporaryDirectory() as tmp:
        for name in names:
            path = os.path.join(tmp, name)
            folders.write_folder(path, models[name])
            t.compare(f"folder {name}", path, models[name])
    print(f"CASES: folders: {t.passed} passed, {t.failed} failed, 0 skipped")
    return 1 if t.failed or not t.passed else 0


if __name__ == "__main__":
    sys.exit(main())

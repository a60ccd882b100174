# SPDX-License-Identifier: MIT
"""Serves real models with a private daemon, and runs the pack's greedy cases through the clients.

    served_test.py PACK        PACK: folder with cases.json

The output of `llamactl run` is written to a file of cases, with which the live tests of the Python and
Go clients compare their answers: of a single client, and of eight clients at once with different
prompts, so that their rows share steps.

Environment: LMD_TEST_BUILDDIR, LMD_TEST_SRCDIR, LLAMAD_CACHE, LMD_TEST_LONG=1 (all models and
cases; default: eight short ones of the first model), LMD_TEST_CASES (only cases with this text in
MODEL/CASE).
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FILES = {"smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3": "gemma-3-270m-q4_k_m.gguf"}
TEMPLATES = {"smollm2"}
SHORT_PROMPT, SHORT_N, SHORT_CASES = 64, 12, 8
N, N_CTX = 64, 2048

build = os.environ.get("LMD_TEST_BUILDDIR", ".")
src = os.path.abspath(os.environ.get("LMD_TEST_SRCDIR", "."))
cache = os.environ.get("LLAMAD_CACHE") or os.path.expanduser("~/.cache/llamad/models")
if os.path.isdir(os.path.join(cache, "models")):  # as scripts/fetch-model does
    cache = os.path.join(cache, "models")
only = os.environ.get("LMD_TEST_CASES", "")
long_run = os.environ.get("LMD_TEST_LONG") == "1" or bool(only)
count = {"passed": 0, "failed": 0, "skipped": 0}


def check(ok, text, n=1):
    """Counts n passed cases if `ok`, else one failed case."""
    count["passed" if ok else "failed"] += n if ok else 1
    if not ok:
        print("FAIL: " + text)


def skip(text):
    count["skipped"] += 1
    print("SKIP: " + text)


def ctl(*args, stdin=b""):
    r = subprocess.run([os.path.join(build, "llamactl"), *args], input=stdin, capture_output=True)
    if r.returncode:
        raise RuntimeError(f"llamactl {' '.join(args[:4])}: {r.stderr.decode(errors='replace')}")
    return r.stdout


def chosen(cases):
    """Selected cases of the models that are available, by model."""
    out = {}
    for model, file in FILES.items():
        if not os.path.exists(os.path.join(cache, file)):
            skip(f"{model}: {os.path.join(cache, file)} not found (run scripts/fetch-model)")
            continue
        mine = [c for c in cases if c["model"] == model and only in f"{model}/{c['name']}"]
        if not long_run:
            mine = [c for c in mine if len(c["ids"]) <= SHORT_PROMPT]
            mine = mine[:SHORT_CASES - 1] + [c for c in mine if c.get("messages")][:1]
        out[model] = mine
        if not long_run:
            break
    return out


def expected(model, case):
    """The output of `llamactl run`: tokens from its JSON output, and the bytes of its text output.  For
    a model with a chat template, a conversation gives the same result as the rendered template."""
    n = N if long_run else SHORT_N
    args = ["run", os.path.join(cache, FILES[model]), "-n", str(n), "--temp", "0",
            "--raw", "-c", str(N_CTX)]
    if case["parse_special"]:
        args.append("--parse-special")
    if not case["add_special"]:
        args.append("--no-special")
    prompt = case["text"].encode()
    told = json.loads(ctl(*args, "--json", stdin=prompt))
    text = ctl(*args, stdin=prompt)
    if not told["text"].endswith("\n"):
        text = text[:-1]  # the newline added at the end
    want = {"name": f"{model}/{case['name']}", "model": model, "prompt": case["text"], "n": n,
            "add_special": case["add_special"], "parse_special": case["parse_special"],
            "tokens": told["tokens"], "finish": told["finish"], "hex": text.hex()}
    if model in TEMPLATES and case.get("messages"):
        return [want, {**want, "name": want["name"] + ", messages", "messages": case["messages"]}]
    return [want]


class Daemon:
    """A daemon in its own folder."""

    def __init__(self, folder):
        self.url = f"ipc://{folder}/sock"
        config = os.path.join(folder, "llamad.conf")
        with open(config, "w", encoding="ascii") as f:
            f.write(f"[engine]\nctx = {N_CTX}\n[limits]\nfirst_token = 10m\n")
        self.log = os.path.join(folder, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(build, "llamad"), "--config", config, "--socket", self.url,
                 "--state-dir", os.path.join(folder, "state")], stderr=log)

    def wait(self):
        end = time.monotonic() + 120
        while self.process.poll() is None and time.monotonic() < end:
            try:
                self.ctl("ping")
                return
            except RuntimeError:
                time.sleep(0.05)  # polling interval; no result depends on it
        raise RuntimeError("the daemon did not become ready")

    def ctl(self, *args):
        return ctl(*args[:1], "--socket", self.url, *args[1:])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)

    def metric(self, name):
        rows = json.loads(self.ctl("stats", "--json"))
        rows = rows["metrics"] if isinstance(rows, dict) else rows
        return sum(r["value"] for r in rows if r["name"] == name)


def client(what, n, args, cwd, env):
    r = subprocess.run(args, cwd=cwd, env={**os.environ, **env}, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    check(r.returncode == 0, f"{what}: {r.stdout.decode(errors='replace')[-4000:]}", n)


def ask(daemon, file, n):
    env = {"LMD_TEST_URL": daemon.url, "LMD_TEST_CASE_FILE": file}
    python = os.path.join(src, "bindings/python")
    client("Python", 4 * n, [sys.executable, os.path.join(python, "tests/cases_test.py")], python,
           {**env, "PYTHONPATH": python, "PYTHONDONTWRITEBYTECODE": "1"})
    go = os.path.join(src, "bindings/go")
    program = os.path.join(os.path.dirname(file), "cases.test")
    if not shutil.which("go"):
        skip("the Go client: go not found")
    elif subprocess.run(["go", "test", "-c", "-o", program, "."], cwd=go).returncode:
        skip("the Go client: cannot fetch its modules")
    else:
        client("Go", 2 * n, [program, "-test.run", "TestCases", "-test.timeout", "60m"], go, env)


def run(folder, cases):
    want = [w for model, cs in chosen(cases).items() for c in cs for w in expected(model, c)]
    if not want:
        return
    file = os.path.join(folder, "cases.json")
    with open(file, "w", encoding="ascii") as f:
        json.dump(want, f)
    daemon = Daemon(folder)
    try:
        daemon.wait()
        for model in {w["model"]: 0 for w in want}:
            daemon.ctl("add", model, os.path.join(cache, FILES[model]))
        ask(daemon, file, len(want))
        steps, tokens = daemon.metric("llamad_steps_total"), daemon.metric(
            "llamad_generation_tokens_total")
        check(steps < tokens or len(want) == 1,
              f"{steps:.0f} steps for {tokens:.0f} tokens: none were shared")
    finally:
        status = daemon.stop()
        check(status == 0, f"the daemon's exit status: {status}")
        if count["failed"]:
            with open(daemon.log, encoding="utf-8", errors="replace") as log:
                print(log.read()[-4000:])


def main():
    with open(os.path.join(sys.argv[1], "cases.json"), encoding="utf-8") as f:
        cases = json.load(f)
    folder = tempfile.mkdtemp()
    try:
        run(folder, cases)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("CASES: served models: %(passed)d passed, %(failed)d failed, %(skipped)d skipped" % count)
    return 1 if count["failed"] else 0 if count["passed"] else 77


if __name__ == "__main__":
    sys.exit(main())

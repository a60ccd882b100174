# SPDX-License-Identifier: MIT
"""Checks files written by llamactl convert in llama.cpp: they load, and give the same greedy tokens
and the same tokenisation as in llamad.

    llama_cpp_test.py LLAMACTL LIBDIR SOURCE [TOKENIZERS] [NAME...]

LIBDIR contains libllama as shipped in the npm package @node-llama-cpp/linux-x64; TOKENIZERS contains
files NAME.json, each a tokenizer.json."""

import ctypes as C
import json
import os
import subprocess
import sys
import tempfile

import folders

HERE = os.path.dirname(os.path.abspath(__file__))
N_NEW = 12
N_CTX = 256  # llama.cpp rounds the context length up to a multiple of this
TEXTS = [
    "Hello world, this is a test. 12345 67 8 it's I'LL don't",
    "  leading and   inner    blanks\n\n\nand lines\r\n\ttabs \n",
    "Ärger über süße Öfen; naïve café, 東京 日本語のテキスト, 한국어, Привет мир, שלום",
    "def f(x):\n    return x**2 + 3.14159  # comment\n\n\nclass A_b: pass",
    "🙂👍🏽 emoji 👨‍👩‍👧 end",
    "!!!??? ...---=== <|x|> {[()]} a/b\\c #@$%^&*",
    "x" * 40 + " " * 20 + "y" + "1" * 11,
]

SKIP = {
    "cohere-plus": "llama.cpp knows norms of queries by 64 layers, not by their tensors",
    "bert": "gives embeddings, not tokens",
    "roberta": "gives embeddings, not tokens",
}


def child(libdir, path, spec):
    """Runs in its own process, because the library may abort."""
    r = subprocess.run(
        [sys.executable, "-B", __file__, "--child", libdir, path],
        input=json.dumps(spec),
        capture_output=True,
        text=True,
    )
    if r.returncode:
        lines = (r.stderr + r.stdout).strip().splitlines()
        return None, lines[-1] if lines else f"ended with status {r.returncode}"
    return json.loads(r.stdout.splitlines()[-1]), ""


def run_child(libdir, path):
    sys.path.insert(0, os.path.join(HERE, "..", "..", "bench", "peers"))
    import llama_cpp

    spec = json.load(sys.stdin)
    lib, keep = llama_cpp.open_library(libdir)
    model = lib.llama_model_load_from_file(path.encode(), lib.llama_model_default_params())
    if not model:
        sys.exit("llama.cpp cannot load it")
    lib.llama_model_get_vocab.restype = C.c_void_p
    lib.llama_model_get_vocab.argtypes = [C.c_void_p]
    lib.llama_vocab_n_tokens.argtypes = [C.c_void_p]
    lib.llama_get_logits_ith.restype = C.POINTER(C.c_float)
    lib.llama_get_logits_ith.argtypes = [C.c_void_p, C.c_int32]
    lib.llama_tokenize.argtypes = [C.c_void_p, C.c_char_p, C.c_int32, C.c_void_p, C.c_int32,
                                   C.c_bool, C.c_bool]
    vocab = lib.llama_model_get_vocab(model)
    out = {"ids": []}
    for text in spec.get("texts", []):
        data = text.encode()
        room = (C.c_int32 * (len(data) + 16))()
        n = lib.llama_tokenize(vocab, data, len(data), room, len(room), True, False)
        out["ids"].append(list(room[:n]) if n >= 0 else None)
    if "tokens" in spec:
        p = lib.llama_context_default_params()
        p.n_ctx = N_CTX
        p.n_threads = p.n_threads_batch = 1
        p.flash = 0
        p.type_k = p.type_v = 0
        ctx = lib.llama_init_from_model(model, p)
        if not ctx:
            sys.exit("llama.cpp cannot create a context")
        n_vocab = lib.llama_vocab_n_tokens(vocab)
        new, batch = [], spec["tokens"]
        for _ in range(N_NEW):
            llama_cpp.decode(lib, ctx, batch)
            logits = lib.llama_get_logits_ith(ctx, -1)
            best = max(range(n_vocab), key=lambda i: logits[i])
            new.append(best)
            batch = [best]
        out["new"] = new
    print(json.dumps(out))


class Tester:
    def __init__(self, llamactl, libdir):
        self.llamactl, self.libdir = llamactl, libdir
        self.passed = self.failed = 0

    def verdict(self, name, why):
        self.passed += not why
        self.failed += bool(why)
        if why:
            print(f"FAIL: {name}: {why}")

    def ctl(self, *args, **more):
        return subprocess.run([self.llamactl, *args], capture_output=True, text=True, **more)

    def greedy(self, name, path, model):
        """Both programs give the same tokens: each is the most likely after those before it."""
        spec = {"tokens": model["tokens"]}
        theirs, why = child(self.libdir, path, spec)
        if why:
            return self.verdict(name, why)
        ids = model["tokens"] + theirs["new"]
        n_vocab = len(model["last"])
        with tempfile.TemporaryDirectory() as tmp:
            out = os.path.join(tmp, "o")
            r = self.ctl("debug", "logits", path, "--tokens", ",".join(map(str, ids)), "-o", out,
                         "--activations", "f32", "--kv-type", "f32", "--ctx", str(N_CTX))
            if r.returncode:
                return self.verdict(name, r.stderr.strip())
            v = folders.floats(out)
        ours = []
        for i in range(len(model["tokens"]) - 1, len(ids) - 1):
            row = v[i * n_vocab : (i + 1) * n_vocab]
            ours.append(max(range(n_vocab), key=lambda k: row[k]))
        self.verdict(name, "" if ours == theirs["new"] else f"{ours} here, {theirs['new']} there")

    def texts(self, name, path):
        theirs, why = child(self.libdir, path, {"texts": TEXTS})
        if why:
            return self.verdict(name, why)
        for text, want in zip(TEXTS, theirs["ids"]):
            r = self.ctl("tokenize", path, "--json", input=text)
            got = json.loads(r.stdout)["ids"] if r.returncode == 0 else r.stderr.strip()
            why = "" if got == want else f"{text[:30]!r}: {got} here, {want} there"
            self.verdict(f"{name}: tokens", why)


def main():
    if sys.argv[1] == "--child":
        return run_child(sys.argv[2], sys.argv[3])
    llamactl, libdir, source = sys.argv[1:4]
    tokenizers = sys.argv[4] if len(sys.argv) > 4 and os.path.isdir(sys.argv[4]) else None
    with open(os.path.join(source, "models.json")) as f:
        models = json.load(f)
    names = sys.argv[5:] or list(models)
    t = Tester(llamactl, libdir)
    skipped = 0
    with tempfile.TemporaryDirectory() as tmp:
        for name in names:
            if name in SKIP:
                skipped += 1
                print(f"SKIP: {name}: {SKIP[name]}")
                continue
            folder, gguf = os.path.join(tmp, name), os.path.join(tmp, "m.gguf")
            folders.write_folder(folder, models[name])
            r = t.ctl("convert", folder, gguf, "--outtype", "f32")
            if r.returncode:
                t.verdict(name, r.stderr.strip())
            else:
                t.greedy(name, gguf, models[name])
        for file in sorted(os.listdir(tokenizers)) if tokenizers else []:
            name = file[:-5]
            if not file.endswith(".json") or (sys.argv[5:] and name not in sys.argv[5:]):
                continue
            folder, gguf = os.path.join(tmp, name), os.path.join(tmp, "m.gguf")
            with open(os.path.join(tokenizers, file), "rb") as f:
                data = f.read()
            folders.write_with_tokenizer(folder, models["llama"], data)
            r = t.ctl("convert", folder, gguf, "--outtype", "f16")
            if r.returncode:
                t.verdict(name, r.stderr.strip())
            else:
                t.texts(name, gguf)
    print(f"CASES: files in llama.cpp: {t.passed} passed, {t.failed} failed, {skipped} skipped")
    return 1 if t.failed or not t.passed else 0


if __name__ == "__main__":
    sys.exit(main())

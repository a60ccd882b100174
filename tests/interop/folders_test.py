# SPDX-License-Identifier: MIT
"""Compares checkpoint folders of many families with logits computed by transformers (models.json)."""

import json
import os
import subprocess
import sys
import tempfile

import folders
import folders_tokenizer as tk

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
        """Returns the logits of the last position, or an error message."""
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

    def windows_lost(self, tmp, name, model):
        """The file format cannot express the windows of this architecture: the file has the model
        without them, and convert prints a warning."""
        config = dict(model["config"], sliding_window=None, use_sliding_window=False)
        config.pop("layer_types", None)
        path, gguf = os.path.join(tmp, name + "-full"), os.path.join(tmp, name + ".gguf")
        folders.write_folder(path, dict(model, config=config))
        want, why = self.last_row(path, model, "cpu")
        if why:
            return self.verdict(f"full {name}", why)
        peak = max(abs(v) for v in model["last"])
        far = max(abs(a - b) for a, b in zip(want, model["last"])) > 1e-2 * peak
        self.verdict(f"windows of {name}", "" if far else "change nothing")
        r = self.run("convert", os.path.join(tmp, name), gguf, "--outtype", "f32")
        ok = r.returncode == 0 and "attend to the last 5 positions" in r.stderr
        self.verdict(f"convert {name}", "" if ok else r.stderr.strip())
        self.compare(f"file of {name}", gguf, dict(model, last=want))

    def tokens(self, path, text):
        r = self.run_in(text, "tokenize", path, "--json")
        return json.loads(r.stdout)["ids"] if r.returncode == 0 else r.stderr.strip()

    def run_in(self, text, *args):
        return subprocess.run([self.llamactl, *args], input=text, capture_output=True, text=True)

    def pretokenizers(self, tmp):
        """Each pre-tokenizer gets its name in the GGUF file, or an error message."""
        by_type = {m["config"]["model_type"]: m for m in self.models.values()}
        for i, (kind, pre, want) in enumerate(tk.CASES):
            path = os.path.join(tmp, f"pre{i}")
            data = tk.dump(tk.bytelevel(pre, 272))
            folders.write_with_tokenizer(path, by_type[kind], data)
            r = self.run("convert", path, os.path.join(tmp, "p.gguf"), "--dry-run", "--json")
            if want is None:
                ok = r.returncode == 1 and "--pre" in r.stderr
                self.verdict(f"no name for {i}", "" if ok else r.stdout[:200] + r.stderr)
                r = self.run("convert", path, os.path.join(tmp, "p.gguf"), "--pre", "qwen2",
                             "--json")
                want = "qwen2"
            got = json.loads(r.stdout)["pre"] if r.returncode == 0 else r.stderr.strip()
            self.verdict(f"pre-tokenizer {i}", "" if got == want else f"{got}, not {want}")

    def texts(self, tmp):
        """The folder's tokenizer and the converted file give equal tokens; special tokens are kept."""
        model = self.models["llama"]
        for name, j in [("pairs", tk.bytelevel(tk.CASES[0][1], 272)), ("bytes", tk.fallback())]:
            path, gguf = os.path.join(tmp, name), os.path.join(tmp, name + ".gguf")
            folders.write_with_tokenizer(path, model, tk.dump(j))
            config = {"bos_token": "<|begin|>", "eos_token": "<|end|>", "chat_template": "{{ 1 }}"}
            if name == "bytes":
                config = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": "{{ 1 }}"}
            with open(os.path.join(path, "tokenizer_config.json"), "w") as f:
                json.dump(config, f)
            with open(os.path.join(path, "generation_config.json"), "w") as f:
                json.dump({"eos_token_id": [2, 7], "temperature": 0.25, "top_k": 9,
                           "suppress_tokens": [5, 6]}, f)
            r = self.run("convert", path, gguf)
            self.verdict(f"convert {name}", r.stderr.strip())
            for text in ["the thing in the inner 12 the", "a<b>Ä  the", "", "ing ing"]:
                a, b = self.tokens(path, text), self.tokens(gguf, text)
                if name == "bytes" and isinstance(a, list):  # that file names no begin to add
                    b = b[1:] if b[:1] == [1] and a[:1] != [1] else b
                self.verdict(f"{name}: {text!r}", "" if a == b else f"{a} folder, {b} file")
            info = self.run("info", gguf).stdout
            for part in ['chat_template', 'general.sampling.temp', 'general.sampling.top_k',
                         'tokenizer.ggml.suppress_tokens',
                         'eot_token_id']:
                self.verdict(f"{name}: {part}", "" if part in info else "is not in the file")


    def equal_experts(self, tmp):
        """FlexOlmo is OLMo 2 with experts: if these are equal and all are chosen, their weights sum
        up to 1, and the logits are those of OLMo 2."""
        n, tensors = 3, []
        for name, shape in self.models["olmo2"]["tensors"]:
            data = folders.pack(folders.values(name, shape), "F32")
            names = [name]
            if ".mlp." in name:
                names = [name.replace(".mlp.", f".mlp.experts.{i}.") for i in range(n)]
            if ".mlp.gate_proj." in name:
                router = name.replace("gate_proj", "gate")
                scores = folders.pack(folders.values(router, [n, shape[1]]), "F32")
                tensors.append((router, "F32", [n, shape[1]], scores))
            tensors += [(k, "F32", shape, data) for k in names]
        config = dict(self.models["olmo2"]["config"], model_type="flex_olmo", num_experts=n,
                      num_experts_per_tok=n, norm_topk_prob=False)
        path, gguf = os.path.join(tmp, "flex-olmo"), os.path.join(tmp, "flex-olmo.gguf")
        folders.write_folder(path, dict(self.models["olmo2"], config=config, tensors=[]))
        folders.write_raw(os.path.join(path, "model.safetensors"), tensors)
        self.compare("flex_olmo", path, self.models["olmo2"])
        self.compare("flex_olmo, ref", path, self.models["olmo2"], "ref")
        r = self.run("convert", path, gguf, "--outtype", "f32")
        self.verdict("convert flex_olmo", r.stderr.strip() if r.returncode else "")
        self.compare("file of flex_olmo", gguf, self.models["olmo2"])

    def encoders(self, tmp):
        """Vocabularies of encoders: the folder and the converted file give equal tokens."""
        for name, j, config in [
            ("words", tk.wordpiece(), {"cls_token": "[CLS]", "sep_token": "[SEP]",
                                       "unk_token": "[UNK]", "pad_token": "[PAD]",
                                       "mask_token": "[MASK]"}),
            ("unigram", tk.unigram(), {"bos_token": "<s>", "eos_token": "</s>",
                                       "unk_token": "<unk>", "pad_token": "<pad>"}),
        ]:
            path, gguf = os.path.join(tmp, name), os.path.join(tmp, name + ".gguf")
            folders.write_with_tokenizer(path, self.models["bert"], tk.dump(j))
            with open(os.path.join(path, "tokenizer_config.json"), "w") as f:
                json.dump(config, f)
            os.makedirs(os.path.join(path, "1_Pooling"))
            with open(os.path.join(path, "1_Pooling", "config.json"), "w") as f:
                json.dump({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, f)
            r = self.run("convert", path, gguf)
            self.verdict(f"convert {name}", r.stderr.strip())
            for text in ["the thing in a", "The in, th<a> 12", "", "thinging  q"]:
                if name == "unigram":
                    text = text.lower()
                a, b = self.tokens(path, text), self.tokens(gguf, text)
                self.verdict(f"{name}: {text!r}", "" if a == b else f"{a} folder, {b} file")
            info = self.run("info", gguf).stdout
            ok = any(x.split()[0] == "bert.pooling_type" and x.split()[1] == "1"
                     for x in info.splitlines() if x.strip())
            self.verdict(f"{name}: pooling", "" if ok else "is not in the file")


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
            if name.endswith("-window"):
                t.windows_lost(tmp, name, models[name])
                continue
            gguf = os.path.join(tmp, name + ".gguf")
            r = t.run("convert", path, gguf, "--outtype", "f32", "--json")
            t.verdict(f"convert {name}", r.stderr.strip() if r.returncode else "")
            if not r.returncode:
                t.compare(f"file of {name}", gguf, models[name])
        if not sys.argv[3:]:
            t.pretokenizers(tmp)
            t.texts(tmp)
            t.encoders(tmp)
            t.equal_experts(tmp)
    print(f"CASES: folders: {t.passed} passed, {t.failed} failed, 0 skipped")
    return 1 if t.failed or not t.passed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""Creates adapters with PEFT, and compares the logits of models with these adapters.

    hf_adapters.py FOLDER LLAMACTL      prints one line per model"""

import os
import subprocess
import sys

import peft
import torch
import transformers

import folders
import hf_models

TARGETS = {
    "llama": ["q_proj", "k_proj", "o_proj", "down_proj", "embed_tokens", "lm_head"],
    "qwen3": ["q_proj", "v_proj", "up_proj"],
    "phi3": ["qkv_proj", "gate_up_proj"],
    "gpt2": ["c_attn", "c_fc"],
    "gpt-neox": ["query_key_value", "dense_4h_to_h"],
    "falcon-40b": ["query_key_value", "dense"],
}


def compare(folder, llamactl, name, rslora, dora):
    path, lora = os.path.join(folder, name), os.path.join(folder, name + "-lora")
    hf_models.make(name, path)
    model = transformers.AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager",
                                                              dtype=torch.float32)
    targets = [x for x in TARGETS[name] if not dora or x != "embed_tokens"]
    config = peft.LoraConfig(r=4, lora_alpha=6, target_modules=targets, use_rslora=rslora,
                             use_dora=dora, task_type="CAUSAL_LM")
    torch.manual_seed(7)
    model = peft.get_peft_model(model, config).eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "lora_magnitude_vector" in key:
                p.mul_(1 + 0.3 * torch.rand_like(p))
            elif "lora_" in key:
                p.copy_(torch.randn_like(p) * 0.2)
        logits = model(torch.tensor([hf_models.TOKENS])).logits[0].float()
    model.save_pretrained(lora)
    out = os.path.join(folder, "o.f32")
    ids = ",".join(str(t) for t in hf_models.TOKENS)
    r = subprocess.run([llamactl, "debug", "logits", path, "--tokens", ids, "-o", out, "--lora",
                        lora, "--activations", "f32", "--kv-type", "f32"],
                       capture_output=True, text=True)
    if r.returncode:
        return r.stderr.strip()
    got = torch.tensor(folders.floats(out)).reshape(logits.shape)
    diff = ((got - logits).abs().max() / logits.abs().max()).item()
    return "" if diff < 1e-4 else f"differs by {diff:.1e}"


def main():
    folder, llamactl = sys.argv[1:3]
    failed = 0
    for dora in False, True:
        for i, name in enumerate(TARGETS):
            why = compare(folder, llamactl, name, i % 2 == 1, dora)
            failed += bool(why)
            kind = "DoRA" if dora else "adapter"
            print(f"{'FAIL' if why else 'ok  '} {kind} of {name}: {why}")
    print(f"CASES: adapters of PEFT: {2 * len(TARGETS) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

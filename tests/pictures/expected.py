#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/pictures/expected.gen.h: what Hugging Face transformers computes with the towers of
tests/tiny_tower.c.  The weights follow from their names by the formula there.
Usage: expected.py > tests/pictures/expected.gen.h   (needs torch and transformers)"""
import sys

import numpy as np
import torch
import transformers
from transformers import CLIPVisionConfig, CLIPVisionModel, SiglipVisionConfig, SiglipVisionModel
from transformers.models.gemma3.configuration_gemma3 import Gemma3Config
from transformers.models.gemma3.modeling_gemma3 import Gemma3MultiModalProjector
from transformers.models.idefics3.configuration_idefics3 import Idefics3Config, Idefics3VisionConfig
from transformers.models.idefics3.modeling_idefics3 import Idefics3Connector, Idefics3VisionTransformer
from transformers.models.llava.configuration_llava import LlavaConfig
from transformers.models.llava.modeling_llava import LlavaMultiModalProjector
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VisionTransformerPretrainedModel

WIDTH, FF, LAYERS, HEADS, PATCH, OUT = 32, 48, 2, 4, 4, 64


def mix(x):
    x = np.asarray(x, dtype=np.uint64)
    x = (x ^ (x >> np.uint64(16))) * np.uint64(0x85ebca6b) & np.uint64(0xffffffff)
    x = (x ^ (x >> np.uint64(13))) * np.uint64(0xc2b2ae35) & np.uint64(0xffffffff)
    return x ^ (x >> np.uint64(16))


def numbers(name, n):
    h = 2166136261
    for c in name.encode():
        h = (h ^ c) * 16777619 & 0xffffffff
    i = np.arange(n, dtype=np.uint64)
    return mix((np.uint64(h) + i * np.uint64(2654435761)) & np.uint64(0xffffffff))


def weight(name, shape):
    """shape as in torch: the columns of a matrix are all dimensions but the first."""
    n = int(np.prod(shape))
    u = numbers(name, n).astype(np.float64) / 4294967296.0 * 2 - 1
    if name.endswith(".bias"):
        v = 0.1 * u
    elif "ln" in name or "norm" in name:
        v = 1 + 0.2 * u
    else:
        k = n // shape[0] if len(shape) > 1 else n
        v = 1.5 * u / np.sqrt(k)
    return torch.tensor(v.astype(np.float32).reshape(shape))


def pixels(w, h):
    """[3, h, w], normalised with mean and deviation 0.5."""
    v = numbers("pixels", 3 * w * h) & np.uint64(255)
    return torch.tensor(((v.astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.5))
                        .reshape(3, h, w))


def load(module, names):
    """Sets the parameters; names: pairs of a name in torch and one in GGUF, %d for layers."""
    state, seen = module.state_dict(), set()
    for ours, theirs in names:
        for i in range(LAYERS if "%d" in ours else 1):
            a, b = (ours % i, theirs % i) if "%d" in ours else (ours, theirs)
            state[a].copy_(weight(b, tuple(state[a].shape)))
            seen.add(a)
    left = [k for k in state if k not in seen and "position_ids" not in k and "head." not in k
            and "post_layernorm" not in k]
    if left:
        sys.exit("parameters without a value: %s" % left)
    return module.eval()


def both(ours, theirs):
    return [(ours + ".weight", theirs + ".weight"), (ours + ".bias", theirs + ".bias")]


def siglip_names(p):
    names = both(p + "embeddings.patch_embedding", "v.patch_embd")
    names += [(p + "embeddings.position_embedding.weight", "v.position_embd.weight")]
    for ours, theirs in (("layer_norm1", "ln1"), ("layer_norm2", "ln2"), ("self_attn.q_proj", "attn_q"),
                         ("self_attn.k_proj", "attn_k"), ("self_attn.v_proj", "attn_v"),
                         ("self_attn.out_proj", "attn_out"), ("mlp.fc1", "ffn_up"), ("mlp.fc2", "ffn_down")):
        names += both(p + "encoder.layers.%d." + ours, "v.blk.%d." + theirs)
    return names


SIZES = dict(hidden_size=WIDTH, intermediate_size=FF, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
             patch_size=PATCH, attn_implementation="eager")


def idefics3():
    c = Idefics3VisionConfig(image_size=16, hidden_act="gelu_pytorch_tanh", **SIZES)
    tower = load(Idefics3VisionTransformer(c), siglip_names("") + both("post_layernorm", "v.post_ln"))
    full = Idefics3Config(vision_config=c, scale_factor=2)
    full.text_config.hidden_size = OUT
    connector = load(Idefics3Connector(full), [("modality_projection.proj.weight", "mm.model.fc.weight")])
    x = tower(pixel_values=pixels(16, 16)[None], patch_attention_mask=torch.ones(1, 4, 4, dtype=torch.bool))
    return connector(x.last_hidden_state)[0]


def mlp():
    c = CLIPVisionConfig(image_size=16, hidden_act="quick_gelu", **SIZES)
    model = CLIPVisionModel(c)
    p = "vision_model." if "vision_model.embeddings.class_embedding" in model.state_dict() else ""
    names = [n for n in siglip_names(p) if "patch_embedding.bias" not in n[0]]
    names += [(p + "embeddings.class_embedding", "v.class_embd")] + both(p + "pre_layrnorm", "v.pre_ln")
    model = load(model, names)
    full = LlavaConfig(vision_config=c, projector_hidden_act="gelu", vision_feature_layer=-2)
    full.text_config.hidden_size = OUT
    connector = load(LlavaMultiModalProjector(full), both("linear_1", "mm.0") + both("linear_2", "mm.2"))
    x = model(pixel_values=pixels(16, 16)[None], output_hidden_states=True).hidden_states[LAYERS]
    return connector(x[:, 1:])[0]


def gemma3():
    c = SiglipVisionConfig(image_size=32, hidden_act="gelu_pytorch_tanh", vision_use_head=False, **SIZES)
    model = SiglipVisionModel(c)
    p = "vision_model." if "vision_model.post_layernorm.weight" in model.state_dict() else ""
    model = load(model, siglip_names(p) + both(p + "post_layernorm", "v.post_ln"))
    full = Gemma3Config(vision_config=c.to_dict() | {"model_type": "siglip_vision_model"}, mm_tokens_per_image=4)
    full.text_config.hidden_size = OUT
    full.vision_config.layer_norm_eps = 1e-6
    connector = load(Gemma3MultiModalProjector(full),
                     [("mm_input_projection_weight", "mm.input_projection.weight"),
                      ("mm_soft_emb_norm.weight", "mm.soft_emb_norm.weight")])
    # the file has 1 + the weight; its matrix is stored as here, so that its columns are ours' rows
    connector.mm_soft_emb_norm.weight.data -= 1
    x = model(pixel_values=pixels(32, 32)[None]).last_hidden_state
    return connector(x)[0]


def qwen2vl():
    c = Qwen2VLVisionConfig(depth=LAYERS, embed_dim=WIDTH, num_heads=HEADS, hidden_size=OUT, mlp_ratio=2,
                            patch_size=PATCH, spatial_merge_size=2, temporal_patch_size=2,
                            hidden_act="quick_gelu", attn_implementation="eager")
    model = Qwen2VisionTransformerPretrainedModel(c)
    state = model.state_dict()
    first = weight("v.patch_embd.weight", (WIDTH, 3, PATCH, PATCH))
    second = weight("v.patch_embd.weight.1", (WIDTH, 3, PATCH, PATCH))
    state["patch_embed.proj.weight"].copy_(torch.stack([first, second], dim=2))
    names = []
    for ours, theirs in (("norm1", "ln1"), ("norm2", "ln2"), ("attn.proj", "attn_out"),
                         ("mlp.fc1", "ffn_up"), ("mlp.fc2", "ffn_down")):
        names += both("blocks.%d." + ours, "v.blk.%d." + theirs)
    names += both("merger.ln_q", "v.post_ln") + both("merger.mlp.0", "mm.0") + both("merger.mlp.2", "mm.2")
    for ours, theirs in names:
        for i in range(LAYERS if "%d" in ours else 1):
            a, b = (ours % i, theirs % i) if "%d" in ours else (ours, theirs)
            state[a].copy_(weight(b, tuple(state[a].shape)))
    for i in range(LAYERS):
        for end in ("weight", "bias"):
            parts = [weight("v.blk.%d.attn_%s.%s" % (i, x, end), (WIDTH, WIDTH) if end == "weight" else (WIDTH,))
                     for x in "qkv"]
            state["blocks.%d.attn.qkv.%s" % (i, end)].copy_(torch.cat(parts))
    model.eval()
    gw, gh = 6, 4
    v = pixels(gw * PATCH, gh * PATCH).reshape(3, gh // 2, 2, PATCH, gw // 2, 2, PATCH)
    v = v.permute(1, 4, 2, 5, 0, 3, 6).reshape(gw * gh, 3, 1, PATCH, PATCH).repeat(1, 1, 2, 1, 1)
    x = model(v.reshape(gw * gh, -1), grid_thw=torch.tensor([[1, gh, gw]]))
    if hasattr(x, "pooler_output"):
        x = x.pooler_output
    return x


print("""/* SPDX-License-Identifier: MIT
 *
 * Made by tests/pictures/expected.py with transformers %s.  The first 12 columns of the rows of
 * pictures. */
#ifndef LLAMAD_TESTS_PICTURES_EXPECTED_GEN_H
#define LLAMAD_TESTS_PICTURES_EXPECTED_GEN_H

#define EXPECTED_COLUMNS 12
""" % transformers.__version__)
with torch.no_grad():
    for f in (idefics3, mlp, gemma3, qwen2vl):
        rows = f()
        assert rows.shape[1] == OUT
        print("static const float expected_%s[%d][EXPECTED_COLUMNS] = {" % (f.__name__, rows.shape[0]))
        for row in rows[:, :12]:
            n = ["%.7gf" % x if "." in "%.7g" % x or "e" in "%.7g" % x else "%.1ff" % x for x in row.tolist()]
            print("\t{%s,\n\t %s}," % (", ".join(n[:6]), ", ".join(n[6:])))
        print("};\n")
print("#endif /* LLAMAD_TESTS_PICTURES_EXPECTED_GEN_H */")

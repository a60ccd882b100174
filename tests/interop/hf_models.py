# SPDX-License-Identifier: MIT
"""Creates tiny models of many families, with the logits that transformers computes for them.

    hf_models.py FOLDER [NAME...]      writes FOLDER/NAME (the model) and FOLDER/NAME.json
    hf_models.py --record FILE [NAME...]
                                       writes what folders_test.py needs to create these models
                                       without transformers, and the last row of their logits; with
                                       names, only these are updated

FOLDER/NAME.json: {"tokens": [...], "shape": [rows, vocab]}, with the logits in NAME.f32.  All weights
come from folders.values, so that only names and shapes need to be stored."""

import json
import os
import shutil
import sys
import tempfile

import torch
import transformers

import folders

VOCAB = 48
TOKENS = [1, 5, 17, 42, 9, 37, 3, 20, 11, 45, 2, 33]


def small(**more):
    base = dict(
        vocab_size=VOCAB,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    base.update(more)
    return base


def gpt(**more):
    return dict(
        dict(vocab_size=VOCAB, bos_token_id=1, eos_token_id=2, pad_token_id=0), **more
    )


LLAMA3 = dict(
    rope_type="llama3",
    rope_theta=10000.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=64,
)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=64)
MOE = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=48)

LATENT = dict(
    num_key_value_heads=4,
    kv_lora_rank=16,
    qk_nope_head_dim=16,
    qk_rope_head_dim=8,
    v_head_dim=24,
    n_routed_experts=6,
    num_experts_per_tok=2,
    n_shared_experts=1,
    moe_intermediate_size=32,
    first_k_dense_replace=1,
    num_hidden_layers=3,
)
LATENT_YARN = dict(YARN, beta_fast=32.0, beta_slow=1.0, mscale=0.7, mscale_all_dim=0.7)
LEAD = dict(
    n_routed_experts=6,
    num_experts_per_tok=2,
    n_shared_experts=1,
    moe_intermediate_size=32,
    first_k_dense_replace=1,
    num_hidden_layers=3,
)
GRANITE = dict(
    embedding_multiplier=12.0,
    attention_multiplier=0.0625,
    residual_multiplier=0.22,
    logits_scaling=8.0,
)
GRANITE_MAMBA = dict(
    layer_types=["mamba", "attention"],
    mamba_n_heads=8,
    mamba_d_head=16,
    mamba_d_state=16,
    mamba_n_groups=1,
    mamba_chunk_size=8,
    position_embedding_type=None,
)


def state(**more):
    base = dict(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2)
    return dict(base, bos_token_id=1, eos_token_id=2, pad_token_id=0, **more)


# name: (configuration class, arguments)
MODELS = {
    "llama": ("LlamaConfig", small()),
    "llama-tied": ("LlamaConfig", small(tie_word_embeddings=True, attention_bias=True)),
    "llama-rope3": ("LlamaConfig", small(rope_parameters=LLAMA3)),
    "llama-linear": (
        "LlamaConfig",
        small(rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=2.0)),
    ),
    "llama-head32": ("LlamaConfig", small(head_dim=32)),
    "llama-bf16": ("LlamaConfig", small()),
    "qwen2-f16": ("Qwen2Config", small()),
    "gemma-bf16": ("GemmaConfig", small(head_dim=32, hidden_activation="gelu_pytorch_tanh")),
    "mistral": ("MistralConfig", small(sliding_window=None)),
    "mistral-window": ("MistralConfig", small(sliding_window=5)),
    "mixtral-window": (
        "MixtralConfig",
        small(num_local_experts=4, num_experts_per_tok=2, sliding_window=5),
    ),
    "mixtral": ("MixtralConfig", small(num_local_experts=4, num_experts_per_tok=2)),
    "qwen2": ("Qwen2Config", small()),
    "qwen2-window": (
        "Qwen2Config",
        small(num_hidden_layers=3, use_sliding_window=True, sliding_window=5, max_window_layers=1),
    ),
    "qwen2-moe-window": (
        "Qwen2MoeConfig",
        small(
            shared_expert_intermediate_size=64,
            norm_topk_prob=False,
            num_hidden_layers=3,
            use_sliding_window=True,
            sliding_window=5,
            max_window_layers=2,
            **MOE,
        ),
    ),
    "qwen3-window": (
        "Qwen3Config",
        small(head_dim=32, use_sliding_window=True, sliding_window=5, max_window_layers=0),
    ),
    "qwen3-moe-window": (
        "Qwen3MoeConfig",
        small(head_dim=32, norm_topk_prob=True, use_sliding_window=True, sliding_window=5, **MOE),
    ),
    "qwen2-yarn": ("Qwen2Config", small(rope_parameters=YARN)),
    "qwen3": ("Qwen3Config", small(head_dim=32)),
    "qwen2-moe": (
        "Qwen2MoeConfig",
        small(shared_expert_intermediate_size=64, norm_topk_prob=False, **MOE),
    ),
    "qwen3-moe": ("Qwen3MoeConfig", small(head_dim=32, norm_topk_prob=True, **MOE)),
    "gemma": ("GemmaConfig", small(head_dim=32, hidden_activation="gelu_pytorch_tanh")),
    "gemma2": ("Gemma2Config", small(head_dim=32, query_pre_attn_scalar=32, sliding_window=4)),
    "gemma3": (
        "Gemma3TextConfig",
        small(head_dim=32, query_pre_attn_scalar=32, sliding_window=4, num_hidden_layers=7),
    ),
    "phi3": ("Phi3Config", small(sliding_window=None)),
    "phi3-window": ("Phi3Config", small(sliding_window=5)),
    "phi3-long": (
        "Phi3Config",
        small(
            sliding_window=None,
            original_max_position_embeddings=64,
            rope_parameters=dict(
                rope_type="longrope",
                rope_theta=10000.0,
                short_factor=[1.0 + 0.05 * i for i in range(8)],
                long_factor=[1.5 + 0.25 * i for i in range(8)],
                original_max_position_embeddings=64,
            ),
        ),
    ),
    "gpt2": ("GPT2Config", gpt(n_positions=128, n_embd=64, n_layer=2, n_head=4)),
    "gpt-neox": (
        "GPTNeoXConfig",
        small(hidden_act="gelu_new", rotary_pct=0.25, use_parallel_residual=True),
    ),
    "gpt-neox-serial": (
        "GPTNeoXConfig",
        small(hidden_act="gelu_new", rotary_pct=0.5, use_parallel_residual=False),
    ),
    "olmo": ("OlmoConfig", small(clip_qkv=0.3)),
    "olmo2": ("Olmo2Config", small()),
    "olmo3": ("Olmo3Config", small(num_hidden_layers=4, sliding_window=4)),
    "olmoe": (
        "OlmoeConfig",
        small(num_experts=6, num_experts_per_tok=2, num_key_value_heads=4),
    ),
    "starcoder2": ("Starcoder2Config", small(hidden_act="gelu_pytorch_tanh", sliding_window=None)),
    "starcoder2-window": (
        "Starcoder2Config",
        small(hidden_act="gelu_pytorch_tanh", sliding_window=5),
    ),
    "stablelm": ("StableLmConfig", small(partial_rotary_factor=0.25)),
    "stablelm-12b": (
        "StableLmConfig",
        small(partial_rotary_factor=0.25, use_parallel_residual=True, qk_layernorm=True),
    ),
    "falcon": (
        "FalconConfig",
        gpt(
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            new_decoder_architecture=False,
            multi_query=True,
            parallel_attn=True,
            bias=False,
            alibi=False,
            activation="gelu_new",
        ),
    ),
    "falcon-40b": (
        "FalconConfig",
        gpt(
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_kv_heads=2,
            new_decoder_architecture=True,
            bias=False,
            alibi=False,
            activation="gelu_new",
        ),
    ),
    "cohere": ("CohereConfig", small(logit_scale=0.0625)),
    "cohere-plus": ("CohereConfig", small(logit_scale=0.0625, use_qk_norm=True)),
    "cohere2": ("Cohere2Config", small(sliding_window=4, num_hidden_layers=4)),
    "granite": (
        "GraniteConfig",
        small(
            embedding_multiplier=12.0,
            attention_multiplier=0.0625,
            residual_multiplier=0.22,
            logits_scaling=8.0,
        ),
    ),
    "granite-moe": (
        "GraniteMoeConfig",
        small(
            num_local_experts=4,
            num_experts_per_tok=2,
            embedding_multiplier=12.0,
            attention_multiplier=0.0625,
            residual_multiplier=0.22,
            logits_scaling=8.0,
        ),
    ),
    "smollm3": ("SmolLM3Config", small(num_hidden_layers=4)),
    "phi": ("PhiConfig", small(hidden_act="gelu_new", num_key_value_heads=4)),
    "glm4": ("Glm4Config", small(head_dim=16)),
    "exaone4": ("Exaone4Config", small(sliding_window=None, layer_types=["full_attention"] * 2)),
    "seed-oss": ("SeedOssConfig", small(head_dim=16)),
    "ernie4-5": ("Ernie4_5Config", small(head_dim=16)),
    "nemotron": ("NemotronConfig", small(hidden_act="relu2")),
    "gpt-bigcode": (
        "GPTBigCodeConfig",
        gpt(n_positions=128, n_embd=64, n_layer=2, n_head=4, activation_function="gelu_new"),
    ),
    "bloom": ("BloomConfig", gpt(hidden_size=64, n_layer=2, n_head=4)),
    "mpt": ("MptConfig", gpt(d_model=64, n_layers=2, n_heads=4, max_seq_len=128)),
    "bert": (
        "BertConfig",
        small(hidden_act="gelu_pytorch_tanh", max_position_embeddings=40),
    ),
    "roberta": (
        "RobertaConfig",
        small(hidden_act="gelu_pytorch_tanh", max_position_embeddings=40, type_vocab_size=1),
    ),
    "qwen2-vl": (
        "Qwen2VLConfig",
        dict(
            text_config=small(
                rope_parameters=dict(
                    rope_type="default", rope_theta=10000.0, mrope_section=[2, 3, 3]
                )
            ),
            vision_config=dict(depth=1, embed_dim=16, hidden_size=64, num_heads=2, mlp_ratio=2),
        ),
    ),
    "deepseek-v2": ("DeepseekV2Config", small(q_lora_rank=24, **LATENT)),
    "deepseek-v2-lite": (
        "DeepseekV2Config",
        small(q_lora_rank=None, rope_parameters=LATENT_YARN, **dict(LATENT, num_hidden_layers=26)),
    ),
    "deepseek-v3": (
        "DeepseekV3Config",
        small(q_lora_rank=24, n_group=3, topk_group=2, rope_parameters=LATENT_YARN, **LATENT),
    ),
    "glm4-moe": (
        "Glm4MoeConfig",
        small(head_dim=16, use_qk_norm=True, n_group=1, topk_group=1, **LEAD),
    ),
    "dots1": (
        "Dots1Config",
        small(head_dim=16, num_key_value_heads=4, norm_topk_prob=True, **LEAD),
    ),
    "ernie4-5-moe": (
        "Ernie4_5_MoeConfig",
        small(
            moe_num_experts=6,
            moe_k=2,
            moe_intermediate_size=32,
            moe_num_shared_experts=2,
            num_hidden_layers=3,
        ),
    ),
    "minimax-m2": (
        "MiniMaxM2Config",
        small(head_dim=16, rotary_dim=8, num_local_experts=4, num_experts_per_tok=2),
    ),
    "hunyuan-dense": ("HunYuanDenseV1Config", small(head_dim=16)),
    "hunyuan-moe": ("HunYuanMoEV1Config", small(head_dim=16, num_experts=4, moe_topk=2)),
    "gpt-oss": (
        "GptOssConfig",
        small(
            head_dim=16,
            num_local_experts=4,
            num_experts_per_tok=2,
            sliding_window=5,
            num_hidden_layers=4,
            rope_parameters=dict(rope_type="default", rope_theta=150000.0),
        ),
    ),
    "llama4": (
        "Llama4TextConfig",
        small(
            head_dim=16,
            intermediate_size_mlp=80,
            num_local_experts=4,
            num_experts_per_tok=1,
            num_hidden_layers=4,
            interleave_moe_layer_step=2,
        ),
    ),
    "mamba": ("MambaConfig", state(state_size=8)),
    "falcon-mamba": ("FalconMambaConfig", state(state_size=8, mixer_rms_eps=1e-5)),
    "mamba2": (
        "Mamba2Config",
        state(state_size=16, num_heads=4, head_dim=16, n_groups=1, chunk_size=8),
    ),
    "jamba": (
        "JambaConfig",
        small(
            num_hidden_layers=4,
            attn_layer_period=2,
            attn_layer_offset=1,
            expert_layer_period=2,
            expert_layer_offset=1,
            num_experts=4,
            num_experts_per_tok=2,
            mamba_d_state=8,
            mamba_dt_rank=4,
            use_mamba_kernels=False,
        ),
    ),
    "granite-moe-shared": (
        "GraniteMoeSharedConfig",
        small(
            num_local_experts=4,
            num_experts_per_tok=2,
            shared_intermediate_size=48,
            **GRANITE,
        ),
    ),
    "granite-hybrid": (
        "GraniteMoeHybridConfig",
        small(
            num_local_experts=4,
            num_experts_per_tok=2,
            shared_intermediate_size=48,
            **GRANITE,
            **GRANITE_MAMBA,
        ),
    ),
    "granite-hybrid-dense": (
        "GraniteMoeHybridConfig",
        small(
            num_local_experts=0,
            num_experts_per_tok=0,
            shared_intermediate_size=48,
            **GRANITE,
            **dict(GRANITE_MAMBA, position_embedding_type="rope"),
        ),
    ),
    "lfm2": (
        "Lfm2Config",
        small(num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"]),
    ),
    "lfm2-moe": (
        "Lfm2MoeConfig",
        small(
            num_hidden_layers=3,
            layer_types=["conv", "full_attention", "conv"],
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=32,
            num_dense_layers=1,
        ),
    ),
    "qwen3-next": (
        "Qwen3NextConfig",
        small(
            head_dim=16,
            num_hidden_layers=4,
            linear_num_value_heads=4,
            linear_num_key_heads=2,
            linear_key_head_dim=16,
            linear_value_head_dim=16,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=32,
            shared_expert_intermediate_size=48,
        ),
    ),
    "arcee": ("ArceeConfig", small()),
    "apertus": ("ApertusConfig", small()),
}


# Options of llamactl and tolerances of single models.  MPT has the exact GELU, but GGUF files of this
# architecture imply the tanh approximation.
NOTES = {
    "phi3-long": {"options": ["--ctx", "64"]},
    "mpt": {"tolerance": 1e-3},
    "bert": {"options": ["--embd", "--pooling", "none"]},
    "roberta": {"options": ["--embd", "--pooling", "none"]},
}


# Types in which weights are stored, if not float32.
STORED = {"llama-bf16": "BF16", "qwen2-f16": "F16", "gemma-bf16": "BF16"}


# Classes of models, if not AutoModelForCausalLM.
CLASSES = {
    "bert": "AutoModel",
    "roberta": "AutoModel",
    "qwen2-vl": "Qwen2VLForConditionalGeneration",
}


def make(name, path):
    """Writes the folder; returns the tensors' names and shapes, and the logits."""
    cls, args = MODELS[name]
    config = getattr(transformers, cls)(**args)
    kind = getattr(transformers, CLASSES.get(name, "AutoModelForCausalLM"))
    if kind.__name__.startswith("Auto"):
        model = kind.from_config(config, attn_implementation="eager")
    else:
        model = kind(config)
    model.save_pretrained(path, safe_serialization=True)
    # A saved model has the tensor names of a checkpoint, which may differ from those in memory.
    file = os.path.join(path, "model.safetensors")
    tensors = [[t["name"], t["shape"]] for t in folders.read_header(file)]
    folders.write_tensors(file, tensors, STORED.get(name, "F32"))
    model = kind.from_pretrained(
        path, attn_implementation="eager", dtype=torch.float32
    ).eval()
    with torch.no_grad():
        out = model(torch.tensor([TOKENS]))
        rows = out.logits if hasattr(out, "logits") else out.last_hidden_state
        logits = rows[0].float().contiguous()
    return tensors, logits


def short(x):
    return float(f"{x:.7g}")


def record(path, names):
    old = {}
    if names:
        with open(path) as f:
            old = json.load(f)
    out = {}
    for name in MODELS:
        if names and name not in names:
            if name in old:
                out[name] = old[name]
            continue
        tmp = tempfile.mkdtemp()
        try:
            tensors, logits = make(name, tmp)
            with open(os.path.join(tmp, "config.json")) as f:
                config = json.load(f)
        finally:
            shutil.rmtree(tmp)
        out[name] = dict(
            config=config,
            stored=STORED.get(name, "F32"),
            tensors=tensors,
            tokens=TOKENS,
            last=[short(v) for v in logits[-1].tolist()],
            **NOTES.get(name, {}),
        )
    with open(path, "w") as f:
        f.write("{\n")
        f.write(",\n".join(f'"{k}": {json.dumps(v)}' for k, v in out.items()))
        f.write("\n}\n")


def main():
    if sys.argv[1] == "--record":
        record(sys.argv[2], sys.argv[3:])
        return
    folder, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    for name in names:
        path = os.path.join(folder, name)
        _, logits = make(name, path)
        logits.numpy().tofile(path + ".f32")
        with open(path + ".json", "w") as f:
            note = {"tokens": TOKENS, "shape": list(logits.shape)}
            json.dump(dict(note, **NOTES.get(name, {})), f)


if __name__ == "__main__":
    main()

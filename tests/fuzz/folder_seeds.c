/* SPDX-License-Identifier: MIT
 *
 * Seeds of folder_fuzz: small models that all open, one for each way in which tensors of the files
 * are converted to those of a model; and one seed for each family, so that its keys are read.
 * Headers are generated from rows "NAME TYPE DIM,DIM". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "llamad/attr.h"
#include "tests/arch_plugins.h"
#include "tests/fuzz/target.h"

#define END "\xff" /* end of a file */

/* clang-format off */

/* ---- weights of 32 by 32 ---- */

#define F16(stem)  stem ".weight F16 32,32 "
#define MLX(stem)  stem ".weight U32 32,4 " stem ".scales BF16 32,1 " stem ".biases BF16 32,1 "
#define MLX8(stem) stem ".weight U32 32,8 " stem ".scales F16 32,2 " stem ".biases F16 32,2 "
#define GPTQ(stem) stem ".qweight I32 4,32 " stem ".qzeros I32 1,4 " stem ".scales F16 1,32 " \
	stem ".g_idx I32 32 "
#define AWQ(stem)  stem ".qweight I32 32,4 " stem ".qzeros I32 1,4 " stem ".scales F16 1,32 "
#define FP8(stem)  stem ".weight F8_E4M3 32,32 " stem ".weight_scale_inv F32 1,1 "
#define FP8ROW(stem) stem ".weight F8_E5M2 32,32 " stem ".weight_scale BF16 32,1 " \
	stem ".input_scale F32 1 "
#define PACKED(stem) stem ".weight_packed I32 32,4 " stem ".weight_scale BF16 32,1 " \
	stem ".weight_shape I64 2 "

/* ---- models of one layer ---- */

#define AT(layer) "model.layers." layer "."
#define NORMS(at) at "input_layernorm.weight F16 32 " at "post_attention_layernorm.weight F16 32 "
#define LAYER(at, L) NORMS(at) L(at "self_attn.q_proj") L(at "self_attn.k_proj") \
	L(at "self_attn.v_proj") L(at "self_attn.o_proj") L(at "mlp.gate_proj") \
	L(at "mlp.up_proj") L(at "mlp.down_proj")
#define HEAD "model.embed_tokens.weight F16 4,32 model.norm.weight F16 32 "
#define LLAMA(L) HEAD LAYER(AT("0"), L)
#define ALIKE(type, more) "{\"model_type\": \"" type "\", \"hidden_size\": 32, " \
	"\"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"intermediate_size\": 32, " \
	"\"vocab_size\": 4" more "}"
#define QUANT(type, more) ALIKE(type, ", \"quantization_config\": {" more "}")
#define ROPE(type, more) ALIKE(type, ", \"rope_scaling\": {" more "}")

#define TINY_ROWS "model.embed_tokens.weight F32 4,8 model.norm.weight BF16 8 " \
	"lm_head.weight F32 4,8 " AT("0") "input_layernorm.weight F32 8 " \
	AT("0") "post_attention_layernorm.weight F32 8 " AT("0") \
	"self_attn.q_proj.weight F32 8,8 " \
	AT("0") "self_attn.q_proj.bias F32 8 " AT("0") "self_attn.k_proj.weight F32 4,8 " \
	AT("0") "self_attn.v_proj.weight F32 4,8 " AT("0") "self_attn.o_proj.weight F64 8,8 " \
	AT("0") "mlp.gate_proj.weight F32 8,8 " AT("0") "mlp.up_proj.weight F16 8,8 " \
	AT("0") "mlp.down_proj.weight F32 8,8 "
#define TINY_CONFIG "{\"model_type\": \"llama\", \"hidden_size\": 8, \"num_hidden_layers\": 1, " \
	"\"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"intermediate_size\": 8, " \
	"\"vocab_size\": 4, \"max_position_embeddings\": 16, \"rms_norm_eps\": 1e-5, " \
	"\"rope_theta\": 10000.0, \"tie_word_embeddings\": false}"

#define MIXER "backbone.layers.0.mixer."
#define MAMBA_ROWS "backbone.embeddings.weight F32 4,2 backbone.norm_f.weight F32 2 " \
	"backbone.layers.0.norm.weight F32 2 " MIXER "in_proj.weight F32 8,2 " \
	MIXER "conv1d.weight F32 4,1,2 " MIXER "conv1d.bias F32 4 " MIXER "x_proj.weight F32 5,4 " \
	MIXER "dt_proj.weight F32 4,1 " MIXER "dt_proj.bias F32 4 " MIXER "A_log F32 4,2 " \
	MIXER "D F32 4 " MIXER "out_proj.weight F32 2,4 "
#define MAMBA_CONFIG "{\"model_type\": \"mamba\", \"hidden_size\": 2, \"intermediate_size\": 4, " \
	"\"state_size\": 2, \"num_hidden_layers\": 1, \"time_step_rank\": 1, \"conv_kernel\": 2, " \
	"\"vocab_size\": 4}"

#define OSS AT("0") "mlp.experts."
#define GPT_OSS_ROWS HEAD NORMS(AT("0")) AT("0") "self_attn.q_proj.weight F16 32,32 " \
	AT("0") "self_attn.k_proj.weight F16 16,32 " AT("0") "self_attn.v_proj.weight F16 16,32 " \
	AT("0") "self_attn.o_proj.weight F16 32,32 " AT("0") "self_attn.sinks F16 2 " \
	AT("0") "mlp.router.weight F16 2,32 " OSS "gate_up_proj_blocks U8 2,64,1,16 " \
	OSS "gate_up_proj_scales U8 2,64,1 " OSS "gate_up_proj_bias F16 2,64 " \
	OSS "down_proj F16 2,32,32 " OSS "down_proj_bias F16 2,32 "
#define GPT_OSS_CONFIG ALIKE("gpt_oss", ", \"num_key_value_heads\": 1, \"head_dim\": 16, " \
	"\"num_local_experts\": 2, \"num_experts_per_tok\": 1, \"sliding_window\": 4, " \
	"\"quantization_config\": {\"quant_method\": \"mxfp4\"}")

#define DEEPSEEK_ROWS "model.embed_tokens.weight F16 4,4 model.norm.weight F16 4 " \
	AT("0") "self_attn.q_proj.weight F16 8,4 " AT("0") \
	"self_attn.kv_a_proj_with_mqa.weight F16 4,4 " \
	AT("0") "self_attn.kv_a_layernorm.weight F16 2 " AT("0") \
	"self_attn.kv_b_proj.weight F16 8,2 " \
	AT("0") "self_attn.o_proj.weight F16 4,4 " AT("0") "mlp.gate_proj.weight F16 4,4 " \
	AT("0") "mlp.up_proj.weight F16 4,4 " AT("0") "mlp.down_proj.weight F16 4,4 " \
	AT("0") "input_layernorm.weight F16 4 " AT("0") "post_attention_layernorm.weight F16 4 "
#define DEEPSEEK_CONFIG "{\"model_type\": \"deepseek_v2\", \"hidden_size\": 4, " \
	"\"intermediate_size\": 4, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, " \
	"\"qk_nope_head_dim\": 2, \"qk_rope_head_dim\": 2, \"v_head_dim\": 2, " \
	"\"kv_lora_rank\": 2, " \
	"\"vocab_size\": 4}"

#define NEOX "gpt_neox.layers.0."
#define NEOX_ROWS "gpt_neox.embed_in.weight F16 4,8 gpt_neox.final_layer_norm.weight F16 8 " \
	"gpt_neox.final_layer_norm.bias F16 8 embed_out.weight F16 4,8 " \
	NEOX "input_layernorm.weight F16 8 " NEOX "attention.query_key_value.weight F16 24,8 " \
	NEOX "attention.query_key_value.bias F16 24 " NEOX "attention.dense.weight F16 8,8 " \
	NEOX "attention.masked_bias F32 1 " NEOX "post_attention_layernorm.weight F16 8 " \
	NEOX "mlp.dense_h_to_4h.weight F16 32,8 " NEOX "mlp.dense_4h_to_h.weight F16 8,32 "
#define \
	NEOX_CONFIG \
	"{\"model_type\": \"gpt_neox\", \"hidden_size\": 8, \"num_hidden_layers\": 1, " \
	"\"num_attention_heads\": 2, \"intermediate_size\": 32, \"vocab_size\": 4, " \
	"\"rotary_pct\": 0.5, \"use_parallel_residual\": true}"

#define GPT2_ROWS "wte.weight F32 4,4 wpe.weight F32 8,4 ln_f.weight F32 4 ln_f.bias F32 4 " \
	"h.0.ln_1.weight F32 4 h.0.attn.c_attn.weight F32 4,12 h.0.attn.c_attn.bias F32 12 " \
	"h.0.attn.c_proj.weight F32 4,4 h.0.ln_2.weight F32 4 h.0.mlp.c_fc.weight F32 4,16 " \
	"h.0.mlp.c_proj.weight F32 16,4 h.0.attn.bias U8 1,1,8,8 "
#define GPT2_CONFIG "{\"model_type\": \"gpt2\", \"n_embd\": 4, \"n_layer\": 1, \"n_head\": 2, " \
	"\"n_positions\": 8, \"vocab_size\": 4, \"layer_norm_epsilon\": 1e-5}"

#define BERT "encoder.layer.0."
#define BERT_ROWS "embeddings.word_embeddings.weight F32 4,4 embeddings.LayerNorm.weight F32 4 " \
	"embeddings.position_embeddings.weight F32 8,4 " \
	"embeddings.token_type_embeddings.weight F32 1,4 embeddings.LayerNorm.bias F32 4 " \
	"embeddings.position_ids I64 1,8 pooler.dense.weight F32 4,4 pooler.dense.bias F32 4 " \
	BERT "attention.self.query.weight F32 4,4 " BERT "attention.self.key.weight F32 4,4 " \
	BERT "attention.self.value.weight F32 4,4 " BERT "attention.output.dense.weight F32 4,4 " \
	BERT "attention.output.LayerNorm.weight F32 4 " BERT "intermediate.dense.weight F32 8,4 " \
	BERT "output.dense.weight F32 4,8 " BERT "output.LayerNorm.weight F32 4 "
#define BERT_CONFIG "{\"model_type\": \"roberta\", \"hidden_size\": 4, \"num_hidden_layers\": 1, " \
	"\"num_attention_heads\": 2, \"intermediate_size\": 8, \"vocab_size\": 4, " \
	"\"pad_token_id\": 1, " \
	"\"max_position_embeddings\": 8, \"type_vocab_size\": 1, " \
	"\"position_embedding_type\": \"absolute\"}"

#define EXPERT(k) AT("0") "mlp.experts." k ".gate_proj.weight BF16 4,8 " \
	AT("0") "mlp.experts." k ".up_proj.weight BF16 4,8 " \
	AT("0") "mlp.experts." k ".down_proj.weight BF16 8,4 "
#define MOE_ROWS "model.embed_tokens.weight F16 4,8 model.norm.weight F16 8 " \
	AT("0") "input_layernorm.weight F16 8 " AT("0") "post_attention_layernorm.weight F16 8 " \
	AT("0") "self_attn.q_proj.weight F16 8,8 " AT("0") "self_attn.k_proj.weight F16 4,8 " \
	AT("0") "self_attn.v_proj.weight F16 4,8 " AT("0") "self_attn.o_proj.weight F16 8,8 " \
	AT("0") "self_attn.q_norm.weight F16 4 " AT("0") "self_attn.k_norm.weight F16 4 " \
	AT("0") "mlp.gate.weight F16 2,8 " EXPERT("0") EXPERT("1")
#define \
	MOE_CONFIG \
	"{\"model_type\": \"qwen3_moe\", \"hidden_size\": 8, \"num_hidden_layers\": 1, " \
	"\"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"head_dim\": 4, " \
	"\"intermediate_size\": 8, \"moe_intermediate_size\": 4, \"num_experts\": 2, " \
	"\"num_experts_per_tok\": 1, \"norm_topk_prob\": true, \"decoder_sparse_step\": 1, " \
	"\"mlp_only_layers\": [], \"use_sliding_window\": false, \"vocab_size\": 4, " \
	"\"tie_word_embeddings\": true}"

#define DELTA AT("0") "linear_attn."
#define SHARED AT("0") "mlp.shared_expert"
#define NEXT_ROWS "model.embed_tokens.weight F16 4,8 model.norm.weight F16 8 " \
	AT("0") "input_layernorm.weight F16 8 " AT("0") "post_attention_layernorm.weight F16 8 " \
	DELTA "in_proj_qkvz.weight F16 16,8 " DELTA "in_proj_ba.weight F16 4,8 " \
	DELTA "conv1d.weight F16 12,1,4 " DELTA "dt_bias F16 2 " DELTA "A_log F32 2 " \
	DELTA "norm.weight F16 2 " DELTA "out_proj.weight F16 8,4 " \
	AT("0") "mlp.gate.weight F16 1,8 " EXPERT("0") SHARED "_gate.weight F16 1,8 " \
	SHARED ".gate_proj.weight F16 4,8 " SHARED ".up_proj.weight F16 4,8 " \
	SHARED ".down_proj.weight F16 8,4 mtp.norm.weight F16 8 "
#define \
	NEXT_CONFIG \
	"{\"model_type\": \"qwen3_next\", \"hidden_size\": 8, \"num_hidden_layers\": 1, " \
	"\"num_attention_heads\": 2, \"head_dim\": 4, \"partial_rotary_factor\": 0.5, " \
	"\"intermediate_size\": 8, \"moe_intermediate_size\": 4, \"num_experts\": 1, " \
	"\"num_experts_per_tok\": 1, \"shared_expert_intermediate_size\": 4, " \
	"\"linear_num_key_heads\": 2, \"linear_num_value_heads\": 2, \"linear_key_head_dim\": 2, " \
	"\"linear_value_head_dim\": 2, \"linear_conv_kernel_dim\": 4, " \
	"\"full_attention_interval\": 4, " \
	"\"norm_topk_prob\": true, \"decoder_sparse_step\": 1, \"vocab_size\": 4}"

#define GEMMA "language_model.model."
#define GEMMA_ROWS GEMMA "embed_tokens.weight BF16 4,8 " GEMMA "norm.weight BF16 8 " \
	GEMMA "layers.0.input_layernorm.weight BF16 8 " \
	GEMMA "layers.0.post_attention_layernorm.weight BF16 8 " \
	GEMMA "layers.0.pre_feedforward_layernorm.weight BF16 8 " \
	GEMMA "layers.0.post_feedforward_layernorm.weight BF16 8 " \
	GEMMA "layers.0.self_attn.q_norm.weight BF16 4 " GEMMA \
	"layers.0.self_attn.k_norm.weight BF16 4 " \
	GEMMA "layers.0.self_attn.q_proj.weight BF16 8,8 " GEMMA \
	"layers.0.self_attn.k_proj.weight BF16 4,8 " \
	GEMMA "layers.0.self_attn.v_proj.weight BF16 4,8 " GEMMA \
	"layers.0.self_attn.o_proj.weight BF16 8,8 " \
	GEMMA "layers.0.mlp.gate_proj.weight BF16 8,8 " GEMMA \
	"layers.0.mlp.up_proj.weight BF16 8,8 " \
	GEMMA "layers.0.mlp.down_proj.weight BF16 8,8 vision_tower.a BF16 2 "
#define \
	GEMMA_CONFIG \
	"{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", " \
	"\"hidden_size\": 8, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, " \
	"\"num_key_value_heads\": 1, \"head_dim\": 4, \"intermediate_size\": 8, " \
	"\"vocab_size\": 4, " \
	"\"sliding_window\": 4, \"layer_types\": [\"sliding_attention\"], " \
	"\"query_pre_attn_scalar\": 4, \"rope_parameters\": {\"full_attention\": {\"rope_type\": " \
	"\"linear\", \"factor\": 8.0, \"rope_theta\": 1000000.0}, \"sliding_attention\": " \
	"{\"rope_theta\": 20000.0}}}}"

/* ---- members of config.json that families read ---- */

#define ANY "\"hidden_size\": 8, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, " \
	"\"num_key_value_heads\": 1, \"head_dim\": 4, \"intermediate_size\": 8, " \
	"\"vocab_size\": 4, " \
	"\"sliding_window\": 4, \"use_sliding_window\": true, \"max_window_layers\": 0, " \
	"\"layer_types\": [\"sliding_attention\"], \"state_size\": 2, \"num_heads\": 2, " \
	"\"query_pre_attn_scalar\": 4, \"clip_qkv\": 8.0, \"conv_L_cache\": 3, " \
	"\"no_rope_layers\": [1], \"num_experts\": 2, \"num_experts_per_tok\": 1, " \
	"\"moe_intermediate_size\": 4, \"first_k_dense_replace\": 0, \"n_group\": 1, " \
	"\"topk_group\": 1, \"scoring_func\": \"sigmoid\", \"routed_scaling_factor\": 2.5, " \
	"\"n_shared_experts\": 1, \"shared_expert_intermediate_size\": 4, " \
	"\"shared_intermediate_size\": 4, \"moe_layer_interval\": 1, \"num_dense_layers\": 0, " \
	"\"interleave_moe_layer_step\": 1, \"expert_layer_period\": 1, " \
	"\"expert_layer_offset\": 0, " \
	"\"attn_layer_period\": 2, \"attn_layer_offset\": 1, \"mamba_d_state\": 2, " \
	"\"mamba_n_heads\": 2, \"use_qk_norm\": true, \"norm_topk_prob\": true}"

/* ---- other files ---- */

#define LORA "base_model.model." AT("0")
#define \
	LORA_CONFIG \
	"{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 4, \"use_rslora\": true, " \
	"\"use_dora\": false, \"alpha_pattern\": {}, \"target_modules\": [\"q_proj\"]}"
#define LORA_ROWS LORA "self_attn.q_proj.lora_A.weight F32 2,8 " \
	LORA "self_attn.q_proj.lora_B.weight F16 8,2 " LORA \
	"mlp.down_proj.lora_A.default.weight F32 1,8 " \
	LORA "mlp.down_proj.lora_B.default.weight F32 8,1 " \
	"base_model.model.model.embed_tokens.lora_embedding_A F32 2,4 " \
	"base_model.model.model.embed_tokens.lora_embedding_B F32 8,2 " \
	"base_model.model.model.embed_tokens.base_layer.weight F32 4,8 "
#define LORA_EXPERTS LORA "mlp.experts.1.up_proj.lora_A.weight F32 2,8 " \
	LORA "mlp.experts.1.up_proj.lora_B.weight F32 4,2 "
#define TOKENIZER "{\"added_tokens\": [{\"id\": 3, \"content\": \"<s>\", \"special\": true}], " \
	"\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Digits\", " \
	"\"individual_digits\": true}, {\"type\": \"ByteLevel\", \"add_prefix_space\": false, " \
	"\"use_regex\": true}]}, \"post_processor\": {\"type\": \"TemplateProcessing\", " \
	"\"single\": " \
	"[{\"SpecialToken\": {\"id\": \"<s>\"}}, {\"Sequence\": {\"id\": \"A\"}}], " \
	"\"special_tokens\": {\"<s>\": {\"ids\": [3]}}}, \"decoder\": {\"type\": \"ByteLevel\"}, " \
	"\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, " \
	"\"merges\": [\"a b\"]}}"
#define \
	TOKENS \
	"k{\"bos_token\": {\"content\": \"<s>\"}, \"chat_template\": [{\"name\": \"default\", " \
	"\"template\": \"{{ messages }}\"}], \"add_bos_token\": true}" END \
	"s{\"eos_token\": \"ab\"}" END \
	"g{\"temperature\": 0.6, \"top_k\": 20, \"top_p\": 0.9, \"repetition_penalty\": 1.05, " \
	"\"eos_token_id\": [2, 3]}" END "j{{ bos_token }}" END
#define SENTENCEPIECE "v\n\x0e\n\x05<unk>\x15" "AAAA\x18\x02\n\x0a\n\x01" \
	"a\x15\x01\x01\x80\xbf\x18\x01\x12" \
	"\x02\x18\x02" END "d{\"<x>\": 2}" END
#define POOLING "p{\"word_embedding_dimension\": 4, \"pooling_mode_mean_tokens\": true}" END

/* clang-format on */

static const struct {
	const char *config, *rows;
	const char *data;  /* NULL: data counts up */
	size_t n_data;
	size_t raw_bytes;  /* not 0: write the file verbatim, with this many bytes of data */
	unsigned split;    /* number of rows in the first of two files; 0: a single file */
	const char *lora;  /* rows of the adapter, or NULL */
	const char *more;  /* more files, or NULL */
} seeds[] = {
	{.config = TINY_CONFIG, .rows = TINY_ROWS},
	{.config = TINY_CONFIG, .rows = TINY_ROWS, .split = 5},
	{.config = TINY_CONFIG, .rows = TINY_ROWS, .lora = LORA_ROWS},
	{.config = MOE_CONFIG, .rows = MOE_ROWS, .lora = LORA_EXPERTS},
	{.config = ALIKE("mistral", ", \"quantization\": {\"bits\": 4, \"group_size\": 32}"),
	 .rows = LLAMA(MLX)},
	{.config = ALIKE("qwen2", ", \"quantization\": {\"bits\": 8, \"group_size\": 16, \"mode\": "
				  "\"affine\"}"),
	 .rows = LLAMA(MLX8)},
	{.config = QUANT("granite",
			"\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": -1, "
			"\"sym\": true"),
	 .rows = LLAMA(GPTQ),
	 .data = "\x77",
	 .n_data = 1},
	{.config = QUANT("smollm3", "\"quant_method\": \"gptq\", \"bits\": 4, \"desc_act\": true, "
			 "\"checkpoint_format\": \"gptq_v2\""),
	 .rows = LLAMA(GPTQ),
	 .data = "",
	 .n_data = 1},
	{.config = QUANT("gemma", "\"quant_method\": \"awq\", \"bits\": 4, \"version\": \"gemm\""),
	 .rows = LLAMA(AWQ)},
	{.config = QUANT("seed_oss",
			"\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]"),
	 .rows = LLAMA(FP8)},
	{.config = QUANT("stablelm", "\"quant_method\": \"fp8\""), .rows = LLAMA(FP8ROW)},
	{.config = QUANT("ernie4_5",
			"\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\""),
	 .rows = LLAMA(PACKED)},
	{.config = MAMBA_CONFIG, .rows = MAMBA_ROWS},
	{.config = GPT_OSS_CONFIG, .rows = GPT_OSS_ROWS},
	{.config = DEEPSEEK_CONFIG, .rows = DEEPSEEK_ROWS},
	{.config = NEOX_CONFIG, .rows = NEOX_ROWS},
	{.config = GPT2_CONFIG, .rows = GPT2_ROWS},
	{.config = BERT_CONFIG, .rows = BERT_ROWS, .more = POOLING},
	{.config = NEXT_CONFIG, .rows = NEXT_ROWS},
	{.config = GEMMA_CONFIG, .rows = GEMMA_ROWS},
	{.config = ROPE("llama",
			"\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, "
			"\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192"),
	 .rows = LLAMA(F16)},
	{.config = ROPE("mistral",
			"\"type\": \"longrope\", \"long_factor\": [1, 1, 1, 1, 2, 2, 2, 2], "
			"\"short_factor\": [1, 1, 1, 1, 1, 1, 1, 1]}, "
			"\"max_position_embeddings\": 64, "
			"\"original_max_position_embeddings\": 16, "
			"\"x\": {"),
	 .rows = LLAMA(F16)},
	{.config = ROPE("qwen2_vl",
			"\"type\": \"yarn\", \"factor\": 4.0, \"beta_fast\": 32, \"beta_slow\": 1, "
			"\"mrope_section\": [2, 3, 3]"),
	 .rows = LLAMA(F16)},
	{.config = TINY_CONFIG, .rows = TINY_ROWS, .more = "t" TOKENIZER END TOKENS},
	{.config = TINY_CONFIG, .rows = TINY_ROWS, .more = SENTENCEPIECE TOKENS},
	{.config = MAMBA_CONFIG, .rows = MAMBA_ROWS, .raw_bytes = 352},
};

/* ---- writing ---- */

#define TEXT_MAX 16000u

static const char *const shards[] = {"model-00001-of-00002.safetensors",
				     "model-00002-of-00002.safetensors"};

struct text {
	char p[TEXT_MAX];
	size_t n;
};

static void put(struct text *t, const char *s, size_t n)
{
	REQUIRE(n <= TEXT_MAX - t->n);
	memcpy(t->p + t->n, s, n);
	t->n += n;
}

static void put_str(struct text *t, const char *s)
{
	put(t, s, strlen(s));
}

/* Parses one row; returns the start of the next. */
static const char *next_row(const char *p, char name[128], char type[16], char dims[32])
{
	int n = 0;

	REQUIRE(sscanf(p, "%127s %15s %31s %n", name, type, dims, &n) == 3);
	return p + n;
}

static size_t bytes_of(const char *type, const char *dims)
{
	static const struct {
		const char *end;
		size_t bytes;
	} sizes[] = {{"U8", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F16", 2}, {"BF16", 2},
		     {"I32", 4}, {"U32", 4}, {"F32", 4}, {"I64", 8}, {"F64", 8}};
	size_t n = 0;

	for (size_t i = 0; i < LMD_LEN(sizes); i++)
		if (!strcmp(type, sizes[i].end))
			n = sizes[i].bytes;
	REQUIRE(n);
	for (const char *p = dims; *p; p += strcspn(p, ","), p += *p == ',')
		n *= strtoul(p, NULL, 10);
	return n;
}

/* Writes the header of n rows; returns the start of the remaining rows. */
static const char *put_header(struct text *t, const char *rows, unsigned n)
{
	char name[128], type[16], dims[32], row[400];
	size_t at = 0;

	for (unsigned i = 0; i < n && *rows; i++) {
		size_t end;

		rows = next_row(rows, name, type, dims);
		end = at + bytes_of(type, dims);
		snprintf(row, sizeof(row),
			 "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
			 i ? ',' : '{', name, type, dims, at, end);
		put_str(t, row);
		at = end;
	}
	put_str(t, "}");
	return rows;
}

/* Writes model.safetensors verbatim as the rest of the input. */
static void put_raw(struct text *t, const char *rows, size_t n_data)
{
	struct text header = {.n = 0};
	uint8_t length[8];

	(void)put_header(&header, rows, UINT32_MAX);
	lmi_put_le64(length, header.n);
	put_str(t, "r");
	put(t, (const char *)length, sizeof(length));
	put(t, header.p, header.n);
	for (size_t i = 0; i < n_data; i++)
		put(t, "\x3c", 1);
}

static void put_index(struct text *t, const char *rows, unsigned split)
{
	char name[128], type[16], dims[32], row[256];

	put_str(t, "i{\"metadata\":{\"total_size\":0},\"weight_map\":{");
	for (unsigned i = 0; *rows; i++) {
		rows = next_row(rows, name, type, dims);
		snprintf(row, sizeof(row), "%s\"%s\":\"%s\"", i ? "," : "", name,
			 shards[i >= split]);
		put_str(t, row);
	}
	put_str(t, "}}" END);
}

/* Writes the tensors as one or two files of the input. */
static void put_tensors(struct text *t, const char *rows, unsigned split, const char *data,
			size_t n_data)
{
	if (split) {
		put_index(t, rows, split);
		put_str(t, "1");
		rows = put_header(t, rows, split);
		put_str(t, END);
	}
	put_str(t, split ? "2" : "m");
	(void)put_header(t, rows, UINT32_MAX);
	if (data) {
		put_str(t, "\xfe");
		put(t, data, n_data);
	}
	put_str(t, END);
}

/* Seed k of the families: all members that any family reads, and a few tensors. */
static bool put_any(struct text *t, size_t k)
{
	struct lmi_checkpoint_maps maps;
	struct lmd_error err;
	char number = (char)k;
	bool there;

	REQUIRE(lmi_checkpoint_maps_take(&maps, arch_plugins(), &err) == LMD_OK);
	there = lmi_checkpoint_map_at(&maps, (uint32_t)k) != NULL;
	lmi_checkpoint_maps_give(&maps);
	if (!there)
		return false;
	put_str(t, "f");
	put(t, &number, 1);
	put_str(t, ANY END);
	put_tensors(t, TINY_ROWS, 0, NULL, 0);
	return true;
}

static void put_seed(struct text *t, size_t k)
{
	put_str(t, "c");
	put_str(t, seeds[k].config);
	put_str(t, END);
	if (seeds[k].lora) {
		put_str(t, "a" LORA_CONFIG END "b");
		(void)put_header(t, seeds[k].lora, UINT32_MAX);
		put_str(t, END);
	}
	if (seeds[k].more)
		put_str(t, seeds[k].more);
	if (seeds[k].raw_bytes)
		put_raw(t, seeds[k].rows, seeds[k].raw_bytes);
	else
		put_tensors(t, seeds[k].rows, seeds[k].split, seeds[k].data, seeds[k].n_data);
}

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	struct text t = {.n = 0};

	if (k < LMD_LEN(seeds))
		put_seed(&t, k);
	else if (!put_any(&t, k - LMD_LEN(seeds)))
		return false;
	*out = (struct fuzz_bytes){malloc(t.n), t.n};
	REQUIRE(out->p);
	memcpy(out->p, t.p, t.n);
	return true;
}

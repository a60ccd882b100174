/* SPDX-License-Identifier: MIT
 *
 * st_file.h - builds safetensors files and folders byte by byte, so that any byte can be wrong. */
#ifndef LLAMAD_TESTS_ST_FILE_H
#define LLAMAD_TESTS_ST_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct st_file {
	char *p;
	size_t n;
};

/* Writes a file with this header and n_data bytes with increasing values.  length: the stated
 * length of the header; negative: the actual one. */
static inline struct st_file st_build(const char *json, long long length, size_t n_data)
{
	size_t len = strlen(json);
	uint64_t say = length < 0 ? len : (uint64_t)length;
	struct st_file f = {malloc(8 + len + n_data + 1), 8 + len + n_data};

	if (!f.p)
		abort();
	for (int i = 0; i < 8; i++)
		f.p[i] = (char)(say >> 8 * i);
	memcpy(f.p + 8, json, len);
	for (size_t i = 0; i < n_data; i++)
		f.p[8 + len + i] = (char)(i % 61);
	return f;
}

/* The smallest valid model: LLaMA with one layer, width 8, 4 tokens, in F32. */
#define ST_LLAMA_CONFIG                                                                            \
	"{\"model_type\": \"llama\", \"hidden_size\": 8, \"num_hidden_layers\": 1, "               \
	"\"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"intermediate_size\": 8, "       \
	"\"vocab_size\": 4, \"max_position_embeddings\": 16, \"rms_norm_eps\": 1e-5, "             \
	"\"rope_theta\": 10000.0, \"tie_word_embeddings\": false}"

struct st_row {
	const char *name;
	int rows, cols; /* rows 0: a vector */
};

static const struct st_row st_llama[] = {
	{"model.embed_tokens.weight", 4, 8},
	{"model.norm.weight", 0, 8},
	{"lm_head.weight", 4, 8},
	{"model.layers.0.input_layernorm.weight", 0, 8},
	{"model.layers.0.post_attention_layernorm.weight", 0, 8},
	{"model.layers.0.self_attn.q_proj.weight", 8, 8},
	{"model.layers.0.self_attn.k_proj.weight", 4, 8},
	{"model.layers.0.self_attn.v_proj.weight", 4, 8},
	{"model.layers.0.self_attn.o_proj.weight", 8, 8},
	{"model.layers.0.mlp.gate_proj.weight", 8, 8},
	{"model.layers.0.mlp.up_proj.weight", 8, 8},
	{"model.layers.0.mlp.down_proj.weight", 8, 8},
};
#define ST_LLAMA_N (sizeof(st_llama) / sizeof(st_llama[0]))

/* Writes a file with these tensors. */
static inline struct st_file st_build_rows(const struct st_row *rows, size_t n_rows)
{
	char json[4096];
	size_t n = 0, at = 0;

	n += (size_t)snprintf(json + n, sizeof(json) - n,
			      "{\"__metadata__\": {\"format\": \"pt\"}");
	for (size_t i = 0; i < n_rows; i++) {
		const struct st_row *r = &rows[i];
		size_t bytes = 4u * (size_t)r->cols * (size_t)(r->rows ? r->rows : 1);

		n += (size_t)snprintf(json + n, sizeof(json) - n,
				      ", \"%s\": {\"dtype\": \"F32\", \"shape\": [", r->name);
		if (r->rows)
			n += (size_t)snprintf(json + n, sizeof(json) - n, "%d, ", r->rows);
		n += (size_t)snprintf(json + n, sizeof(json) - n,
				      "%d], \"data_offsets\": [%zu, %zu]}", r->cols, at,
				      at + bytes);
		at += bytes;
	}
	n += (size_t)snprintf(json + n, sizeof(json) - n, "}");
	while (n % 8 && n + 1 < sizeof(json))
		json[n++] = ' ';
	json[n] = 0;
	return st_build(json, -1, at);
}

/* Tensors first..last-1 of that model. */
static inline struct st_file st_build_llama(size_t first, size_t last)
{
	return st_build_rows(st_llama + first, last - first);
}

#endif /* LLAMAD_TESTS_ST_FILE_H */

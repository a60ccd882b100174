/* SPDX-License-Identifier: MIT
 *
 * mkseed003 KV_HEADS SEED PATH: creates the model that profiles/seed003.conf is made for, with random
 * weights: 6 layers of 384 columns, 6 heads, LayerNorm, a feed-forward network of 1536 columns with GELU and
 * without a gate, 4096 tokens, weights of type q4_0.  KV_HEADS is 6, or 1 so that 2560 tokens fit into the
 * memory of the profile.  Tokens 0 to 94 are the characters from 32 on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/format/gguf/write.h"
#include "core/quant/quant.h"
#include "tests/support.h"

#define EMBD  384
#define HEADS 6
#define FF    1536
#define LAYER 6
#define VOCAB 4096
#define EOS   95
#define CTX   2560

static struct lmi_gguf_writer *writer;
static uint64_t rnd;

static void must(enum lmd_status st, const struct lmd_error *err)
{
	if (st == LMD_OK)
		return;
	fprintf(stderr, "mkseed003: %s\n", err->text);
	exit(1);
}

static void put_vocab(void)
{
	static char text[VOCAB][12];
	static struct lmd_str tokens[VOCAB];
	static int64_t types[VOCAB];
	static const struct lmd_str merge = {"! !", 3};
	const struct lmd_meta type = {.key = "tokenizer.ggml.token_type",
				      .type = LMD_META_ARR_I64,
				      .file_type = LMI_GGUF_I32,
				      .n = VOCAB,
				      .v.a = types};

	for (uint32_t i = 0; i < VOCAB; i++) {
		if (!i)
			(void)snprintf(text[i], sizeof(text[i]), "\xC4\xA0"); /* a blank */
		else if (i < EOS)
			(void)snprintf(text[i], sizeof(text[i]), "%c", (int)(32 + i));
		else
			(void)snprintf(text[i], sizeof(text[i]), i == EOS ? "<eos>" : "word%u", i);
		tokens[i] = (struct lmd_str){text[i], strlen(text[i])};
		types[i] = i == EOS ? LMD_TOKEN_CONTROL : LMD_TOKEN_NORMAL;
	}
	lmi_gguf_put_str(writer, "tokenizer.ggml.model", "gpt2");
	lmi_gguf_put_str(writer, "tokenizer.ggml.pre", "default");
	lmi_gguf_put_strings(writer, "tokenizer.ggml.tokens", tokens, VOCAB);
	lmi_gguf_put_meta(writer, &type);
	lmi_gguf_put_strings(writer, "tokenizer.ggml.merges", &merge, 1);
	lmi_gguf_put_u32(writer, "tokenizer.ggml.eos_token_id", EOS);
	lmi_gguf_put_bool(writer, "tokenizer.ggml.add_bos_token", false);
}

static void put_keys(uint32_t kv_heads)
{
	lmi_gguf_put_str(writer, "general.architecture", "starcoder2");
	lmi_gguf_put_str(writer, "general.name", "seed 003");
	lmi_gguf_put_u32(writer, "starcoder2.context_length", CTX);
	lmi_gguf_put_u32(writer, "starcoder2.embedding_length", EMBD);
	lmi_gguf_put_u32(writer, "starcoder2.block_count", LAYER);
	lmi_gguf_put_u32(writer, "starcoder2.feed_forward_length", FF);
	lmi_gguf_put_u32(writer, "starcoder2.attention.head_count", HEADS);
	lmi_gguf_put_u32(writer, "starcoder2.attention.head_count_kv", kv_heads);
	lmi_gguf_put_f32(writer, "starcoder2.attention.layer_norm_epsilon", 1e-5f);
	put_vocab();
}

/* Adds a tensor, or in the second pass writes its values: a norm (d1 = 0: weights of 1 or biases of 0, in
 * f32), or a matrix of type q4_0. */
static void tensor(bool write, int32_t d0, int32_t d1, const char *fmt, uint32_t layer)
{
	const struct lmi_dtype *t = lmi_dtype(d1 ? LMD_DTYPE_Q4_0 : LMD_DTYPE_F32);
	const int64_t dims[2] = {d0, d1};
	bool bias;
	struct lmd_error err;
	uint64_t row_bytes;
	char name[64];
	float v[FF];
	char row[FF];

	if (*fmt == '.')
		(void)snprintf(name, sizeof(name), "blk.%u%s", layer, fmt);
	else
		(void)snprintf(name, sizeof(name), "%s", fmt);
	if (!write) {
		lmi_gguf_add_tensor(writer, name, d1 ? LMD_DTYPE_Q4_0 : LMD_DTYPE_F32, d1 ? 2 : 1, dims);
		return;
	}
	bias = strstr(name, ".bias") != NULL;
	for (int32_t i = 0; i < d0 && !d1; i++)
		v[i] = bias ? 0 : 1;
	if (!d1)
		must(lmi_gguf_writer_data(writer, v, (uint64_t)d0 * sizeof(*v), &err), &err);
	if (d1 && !lmi_quant_row_bytes(t, (uint64_t)d0, &row_bytes))
		exit(1);
	for (int32_t r = 0; r < d1; r++) {
		for (int32_t i = 0; i < d0; i++)
			v[i] = ((float)(lmd_rand(&rnd) >> 40) * 0x1p-23f - 1) * 0.08f;
		(t->quant_nearest ? t->quant_nearest : t->quant)(v, row, (size_t)d0, NULL);
		must(lmi_gguf_writer_data(writer, row, row_bytes, &err), &err);
	}
}

static void tensors(bool write, int32_t kv)
{
	tensor(write, EMBD, VOCAB, "token_embd.weight", 0);
	for (uint32_t i = 0; i < LAYER; i++) {
		tensor(write, EMBD, 0, ".attn_norm.weight", i);
		tensor(write, EMBD, 0, ".attn_norm.bias", i);
		tensor(write, EMBD, EMBD, ".attn_q.weight", i);
		tensor(write, EMBD, kv, ".attn_k.weight", i);
		tensor(write, EMBD, kv, ".attn_v.weight", i);
		tensor(write, EMBD, EMBD, ".attn_output.weight", i);
		tensor(write, EMBD, 0, ".ffn_norm.weight", i);
		tensor(write, EMBD, 0, ".ffn_norm.bias", i);
		tensor(write, EMBD, FF, ".ffn_up.weight", i);
		tensor(write, FF, EMBD, ".ffn_down.weight", i);
	}
	tensor(write, EMBD, 0, "output_norm.weight", 0);
	tensor(write, EMBD, 0, "output_norm.bias", 0);
}

int main(int argc, char **argv)
{
	uint32_t kv_heads = argc == 4 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	struct lmd_error err;

	if (!kv_heads || HEADS % kv_heads) {
		fprintf(stderr, "usage: mkseed003 1|2|3|6 SEED PATH\n");
		return 2;
	}
	rnd = strtoull(argv[2], NULL, 0);
	must(lmi_gguf_writer_create(&writer, 32, &err), &err);
	put_keys(kv_heads);
	tensors(false, (int32_t)kv_heads * EMBD / HEADS);
	must(lmi_gguf_writer_start(writer, argv[3], &err), &err);
	tensors(true, (int32_t)kv_heads * EMBD / HEADS);
	must(lmi_gguf_writer_finish(writer, &err), &err);
	lmi_gguf_writer_destroy(writer);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "tests/tiny_model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/format/gguf/write.h"
#include "llamad/plan.h"
#include "tests/support.h"

#define EMBD  ((int64_t)LMT_EMBD)
#define VOCAB ((int64_t)LMT_VOCAB)
#define FF    96
#define HEADS 4
#define KV    2
#define INNER 128
#define STATE 16

/* A tensor with values between lo and hi; if both are 0, a matrix that preserves the norm of
 * rows. */
struct row {
	const char *name;
	int64_t d0, d1;
	float lo, hi;
	uint32_t layers; /* bit set of the layers that have it; 0: it exists once per model */
};

#define NORM(n, at)                                                                                \
	{                                                                                          \
		n, EMBD, 0, 0.8f, 1.2f, at                                                         \
	}
#define ATTN(at)                                                                                   \
	NORM("blk.%d.attn_norm.weight", at), {"blk.%d.attn_q.weight", EMBD, EMBD, 0, 0, at},       \
		{"blk.%d.attn_k.weight", EMBD, EMBD / HEADS * KV, 0, 0, at},                       \
		{"blk.%d.attn_v.weight", EMBD, EMBD / HEADS * KV, 0, 0, at},                       \
	{                                                                                          \
		"blk.%d.attn_output.weight", EMBD, EMBD, 0, 0, at                                  \
	}
#define FFN(at)                                                                                    \
	NORM("blk.%d.ffn_norm.weight", at), {"blk.%d.ffn_gate.weight", EMBD, FF, 0, 0, at},        \
		{"blk.%d.ffn_up.weight", EMBD, FF, 0, 0, at},                                      \
	{                                                                                          \
		"blk.%d.ffn_down.weight", FF, EMBD, 0, 0, at                                       \
	}
#define ENDS                                                                                       \
	{"token_embd.weight", EMBD, VOCAB, -0.8f, 0.8f, 0}, NORM("output_norm.weight", 0),         \
	{                                                                                          \
		"output.weight", EMBD, VOCAB, 0, 0, 0                                              \
	}

static const struct row full[] = {ENDS, ATTN(7), FFN(7), {0}};
static const struct row tall[] = {ENDS, ATTN(0xfffff), FFN(0xfffff), {0}};
/* Blocks that add little to the stream. */
#define WEAK(at)                                                                                   \
	NORM("blk.%d.attn_norm.weight", at), {"blk.%d.attn_q.weight", EMBD, EMBD, 0, 0, at},       \
		{"blk.%d.attn_k.weight", EMBD, EMBD / HEADS * KV, 0, 0, at},                       \
		{"blk.%d.attn_v.weight", EMBD, EMBD / HEADS * KV, 0, 0, at},                       \
		{"blk.%d.attn_output.weight", EMBD, EMBD, -0.02f, 0.02f, at},                      \
		NORM("blk.%d.ffn_norm.weight", at), {"blk.%d.ffn_gate.weight", EMBD, FF, 0, 0, at}, \
		{"blk.%d.ffn_up.weight", EMBD, FF, 0, 0, at},                                      \
	{                                                                                          \
		"blk.%d.ffn_down.weight", FF, EMBD, -0.02f, 0.02f, at                              \
	}
/* layer 3 is the draft layer: it takes the embedding and a little of the hidden row */
static const struct row nextn[] = {ENDS,
				   WEAK(15),
				   {"blk.%d.nextn.eh_proj.weight", 2 * EMBD, EMBD, -0.015f, 0.015f, 8},
				   {"blk.%d.nextn.enorm.weight", EMBD, 0, 1, 1, 8},
				   NORM("blk.%d.nextn.hnorm.weight", 8),
				   {"blk.%d.nextn.shared_head_norm.weight", EMBD, 0, 1, 1.1f, 8},
				   {0}};
/* its attention reads the last token alone, see fill */
#define EAGLE                                                                                      \
	{"fc.weight", 3 * EMBD, EMBD, -0.02f, 0.02f, 0}, {"output_norm.weight", EMBD, 0, 1, 1.1f, 0},  \
		{"blk.%d.attn_norm.weight", EMBD, 0, 1, 1, 1}, NORM("blk.%d.attn_norm_2.weight", 1),   \
		{"blk.%d.attn_q.weight", 2 * EMBD, EMBD, -0.02f, 0.02f, 1},                        \
		{"blk.%d.attn_k.weight", 2 * EMBD, EMBD, -0.02f, 0.02f, 1},                        \
		{"blk.%d.attn_v.weight", 2 * EMBD, EMBD, -0.02f, 0.02f, 1},                        \
		{"blk.%d.attn_output.weight", EMBD, EMBD, -0.02f, 0.02f, 1},                       \
		NORM("blk.%d.ffn_norm.weight", 1), {"blk.%d.ffn_gate.weight", EMBD, FF, 0, 0, 1},  \
		{"blk.%d.ffn_up.weight", EMBD, FF, 0, 0, 1},                                       \
	{                                                                                          \
		"blk.%d.ffn_down.weight", FF, EMBD, -0.02f, 0.02f, 1                               \
	}
static const struct row eagle[] = {EAGLE, {0}};
static const struct row eagle_map[] = {EAGLE,
				       {"token_embd.weight", EMBD, VOCAB, -0.8f, 0.8f, 0},
				       {"output.weight", EMBD, LMT_N_MAP, 0, 0, 0},
				       {"d2t", LMT_N_MAP, 0, 0, 0, 0},
				       {0}};
/* its context and mask add next to nothing to what its attention reads, see fill */
static const struct row dflash[] = {{"fc.weight", 3 * EMBD, EMBD, 0, 0, 0},
				    {"enc.output_norm.weight", EMBD, 0, 0.0005f, 0.001f, 0},
				    {"output_norm.weight", EMBD, 0, 1, 1.1f, 0},
				    NORM("blk.%d.attn_norm.weight", 3),
				    {"blk.%d.attn_q.weight", EMBD, EMBD, 0, 0, 3},
				    {"blk.%d.attn_k.weight", EMBD, EMBD, 0, 0, 3},
				    {"blk.%d.attn_v.weight", EMBD, EMBD, -0.02f, 0.02f, 3},
				    {"blk.%d.attn_output.weight", EMBD, EMBD, -0.02f, 0.02f, 3},
				    {"blk.%d.attn_q_norm.weight", EMBD / HEADS, 0, 0.8f, 1.2f, 3},
				    {"blk.%d.attn_k_norm.weight", EMBD / HEADS, 0, 0.8f, 1.2f, 3},
				    NORM("blk.%d.ffn_norm.weight", 3),
				    {"blk.%d.ffn_gate.weight", EMBD, FF, 0, 0, 3},
				    {"blk.%d.ffn_up.weight", EMBD, FF, 0, 0, 3},
				    {"blk.%d.ffn_down.weight", FF, EMBD, -0.0001f, 0.0001f, 3},
				    {0}};
/* the classifier is at the end of the file */
static const struct row ranked[] = {
	ENDS, ATTN(7), FFN(7), {"cls.output.weight", EMBD, 2, 0, 0, 0}, {0}};
static const struct row window[] = {
	ENDS, ATTN(15), FFN(15), {"blk.%d.attn_sinks.weight", HEADS, 0, -1, 1.5f, 15}, {0}};
static const struct row state[] = {
	ENDS,
	NORM("blk.%d.attn_norm.weight", 3),
	{"blk.%d.ssm_in.weight", EMBD, 2 * INNER + 4 * STATE + 8, 0, 0, 3},
	{"blk.%d.ssm_conv1d.weight", 4, INNER + 4 * STATE, -0.8f, 0.8f, 3},
	{"blk.%d.ssm_conv1d.bias", INNER + 4 * STATE, 0, -0.2f, 0.2f, 3},
	{"blk.%d.ssm_dt.bias", 8, 0, -2, 1, 3},
	{"blk.%d.ssm_a", 1, 8, -1.6f, -0.2f, 3},
	{"blk.%d.ssm_d", 1, 8, 0.5f, 1.5f, 3},
	{"blk.%d.ssm_norm.weight", INNER / 2, 2, 0.8f, 1.2f, 3},
	{"blk.%d.ssm_out.weight", INNER, EMBD, 0, 0, 3},
	{0}};
static const struct row hybrid[] = {ENDS,
				    ATTN(2),
				    FFN(7),
				    NORM("blk.%d.attn_norm.weight", 5),
				    {"blk.%d.ssm_in.weight", EMBD, 2 * INNER, 0, 0, 5},
				    {"blk.%d.ssm_conv1d.weight", 4, INNER, -0.8f, 0.8f, 5},
				    {"blk.%d.ssm_conv1d.bias", INNER, 0, -0.2f, 0.2f, 5},
				    {"blk.%d.ssm_x.weight", INNER, 2 * STATE + 8, 0, 0, 5},
				    {"blk.%d.ssm_dt_norm.weight", 8, 0, 0.8f, 1.2f, 5},
				    {"blk.%d.ssm_dt.weight", 8, INNER, 0, 0, 5},
				    {"blk.%d.ssm_dt.bias", INNER, 0, -2, 1, 5},
				    {"blk.%d.ssm_b_norm.weight", STATE, 0, 0.8f, 1.2f, 5},
				    {"blk.%d.ssm_c_norm.weight", STATE, 0, 0.8f, 1.2f, 5},
				    {"blk.%d.ssm_a", STATE, INNER, -1.6f, -0.2f, 5},
				    {"blk.%d.ssm_d", INNER, 0, 0.5f, 1.5f, 5},
				    {"blk.%d.ssm_out.weight", INNER, EMBD, 0, 0, 5},
				    {0}};

static const struct row sandwich[] = {ENDS,
				      NORM("blk.%d.attn_norm.weight", 7),
				      {"blk.%d.attn_q.weight", EMBD, EMBD, 0, 0, 7},
				      {"blk.%d.attn_k.weight", EMBD, EMBD / HEADS, 0, 0, 7},
				      {"blk.%d.attn_v.weight", EMBD, EMBD / HEADS, 0, 0, 7},
				      {"blk.%d.attn_q_norm.weight", EMBD / HEADS, 0, 0.8f, 1.2f, 7},
				      {"blk.%d.attn_k_norm.weight", EMBD / HEADS, 0, 0.8f, 1.2f, 7},
				      {"blk.%d.attn_output.weight", EMBD, EMBD, 0, 0, 7},
				      NORM("blk.%d.post_attention_norm.weight", 7),
				      FFN(7),
				      NORM("blk.%d.post_ffw_norm.weight", 7),
				      {0}};

static const struct {
	const char *name, *arch;
	const struct row *rows;
	uint32_t n_layer;
} kinds[] = {
	[LMT_FULL] = {"full", "llama", full, 3},
	[LMT_WINDOW] = {"window", "granite_swa", window, 4},
	[LMT_STATE] = {"state", "mamba2", state, 2},
	[LMT_HYBRID] = {"hybrid", "jamba", hybrid, 3},
	[LMT_SANDWICH] = {"sandwich", "gemma3", sandwich, 3},
	[LMT_WORDS] = {"words", "llama", full, 3},
	[LMT_SUPPRESS] = {"suppress", "llama", full, 3},
	[LMT_RANK] = {"rank", "llama", ranked, 3},
	[LMT_GREEDY] = {"greedy", "llama", full, 3},
	[LMT_TALL] = {"tall", "llama", tall, 20},
	[LMT_NEXTN] = {"nextn", "llama", nextn, 4},
	[LMT_EAGLE3] = {"eagle3", "eagle3", eagle, 1},
	[LMT_EAGLE3_MAP] = {"eagle3-map", "eagle3", eagle_map, 1},
	[LMT_DFLASH] = {"dflash", "dflash", dflash, 2},
};

const char *lmt_tiny_name(enum lmt_tiny kind)
{
	return kinds[kind].name;
}

static void must(enum lmd_status st, const struct lmd_error *err)
{
	if (st == LMD_OK)
		return;
	fprintf(stderr, "tiny model: %s\n", err->text);
	abort();
}

/* Returns "ARCH.key" in one of a few static buffers. */
static const char *key(enum lmt_tiny kind, const char *name)
{
	static char buf[8][96]; /* freed at the end of the test program */
	static int at;

	at = (at + 1) % 8;
	snprintf(buf[at], sizeof(buf[at]), "%s.%s", kinds[kind].arch, name);
	return buf[at];
}

static void put_array(struct lmi_gguf_writer *w, const char *name, uint32_t type,
		      enum lmi_gguf_type file_type, const void *v, uint64_t n)
{
	const struct lmd_meta m = {
		.key = name, .type = type, .file_type = file_type, .n = n, .v.a = v};

	lmi_gguf_put_meta(w, &m);
}

const char *const lmt_words[LMT_N_WORDS] = {"he",  "hel",  "hell",  "hello", " w",
					    " wo", " wor", " worl", " world"};

/* Builds the words from left to right. */
static void put_words(char text[LMT_VOCAB][12])
{
	for (int i = 0; i < LMT_N_WORDS; i++) {
		bool blank = lmt_words[i][0] == ' ';

		/* a blank in such vocabularies */
		snprintf(text['#' - 32 + i], sizeof(text[0]), "%s%s", blank ? "\xC4\xA0" : "",
			 lmt_words[i] + blank);
	}
}

/* A byte-pair vocabulary whose tokens are characters, without useful merges, or with words. */
static void put_vocab(struct lmi_gguf_writer *w, bool words)
{
	static char text[LMT_VOCAB][12]; /* freed at the end of the test program */
	static const struct lmd_str merge[] = {
		{"h e", 3},	      {"he l", 4},	  {"hel l", 5},
		{"hell o", 6},	      {"\xC4\xA0 w", 4},  {"\xC4\xA0w o", 5},
		{"\xC4\xA0wo r", 6}, {"\xC4\xA0wor l", 7}, {"\xC4\xA0worl d", 8}};
	static const struct lmd_str no_merge = {"! !", 3};
	struct lmd_str tokens[LMT_VOCAB];
	int64_t types[LMT_VOCAB];

	for (uint32_t i = 0; i < LMT_VOCAB; i++) {
		snprintf(text[i], sizeof(text[i]), "%c", (int)(32 + i));
		types[i] = LMD_TOKEN_NORMAL;
	}
	snprintf(text[0], sizeof(text[0]), "\xC4\xA0"); /* a blank in such vocabularies */
	if (words)
		put_words(text);
	snprintf(text[LMT_EOS], sizeof(text[LMT_EOS]), "<eos>");
	types[LMT_EOS] = LMD_TOKEN_CONTROL;
	for (uint32_t i = 0; i < LMT_VOCAB; i++)
		tokens[i] = (struct lmd_str){text[i], strlen(text[i])};
	lmi_gguf_put_str(w, "tokenizer.ggml.model", "gpt2");
	lmi_gguf_put_str(w, "tokenizer.ggml.pre", "default");
	lmi_gguf_put_strings(w, "tokenizer.ggml.tokens", tokens, LMT_VOCAB);
	put_array(w, "tokenizer.ggml.token_type", LMD_META_ARR_I64, LMI_GGUF_I32, types, LMT_VOCAB);
	lmi_gguf_put_strings(w, "tokenizer.ggml.merges", words ? merge : &no_merge,
			     words ? LMD_LEN(merge) : 1);
	lmi_gguf_put_u32(w, "tokenizer.ggml.eos_token_id", LMT_EOS);
	lmi_gguf_put_bool(w, "tokenizer.ggml.add_bos_token", false);
}

/* All tokens except one, and some that do not exist. */
static void put_suppressed(struct lmi_gguf_writer *w)
{
	static int64_t id[LMT_VOCAB]; /* the last values are outside the vocabulary */
	uint32_t n = 0;

	for (uint32_t i = 0; i <= LMT_VOCAB; i++)
		if (i != LMT_ALLOWED)
			id[n++] = i;
	id[n - 1] = -1;
	put_array(w, "tokenizer.ggml.suppress_tokens", LMD_META_ARR_I64, LMI_GGUF_I32, id, n);
}

static void put_rank(struct lmi_gguf_writer *w)
{
	static const struct lmd_str labels[] = {{"yes", 3}, {"no", 2}};

	lmi_gguf_put_u32(w, "llama.pooling_type", LMD_POOL_RANK);
	lmi_gguf_put_strings(w, "llama.classifier.output_labels", labels, LMD_LEN(labels));
	lmi_gguf_put_u32(w, "tokenizer.ggml.seperator_token_id", LMT_SEP);
	lmi_gguf_put_u32(w, "tokenizer.ggml.fim_pre_token_id", '}' - 32);
	lmi_gguf_put_u32(w, "tokenizer.ggml.fim_suf_token_id", '|' - 32);
	lmi_gguf_put_u32(w, "tokenizer.ggml.fim_mid_token_id", '{' - 32);
	lmi_gguf_put_u32(w, "tokenizer.ggml.fim_rep_token_id", 'z' - 32);
	lmi_gguf_put_u32(w, "tokenizer.ggml.fim_sep_token_id", 'y' - 32);
	lmi_gguf_put_bool(w, "tokenizer.ggml.add_sep_token", true);
	lmi_gguf_put_bool(w, "tokenizer.ggml.add_eos_token", true);
}

const struct lmt_tiny_key *lmt_tiny_keys;

/* Writes a number, unless the test replaces it. */
static void put_count(struct lmi_gguf_writer *w, enum lmt_tiny kind, const char *name, uint32_t v)
{
	for (const struct lmt_tiny_key *k = lmt_tiny_keys; k && k->name; k++)
		if (!strcmp(k->name, name))
			return;
	lmi_gguf_put_u32(w, key(kind, name), v);
}

static void put_test_keys(struct lmi_gguf_writer *w, enum lmt_tiny kind)
{
	for (const struct lmt_tiny_key *k = lmt_tiny_keys; k && k->name; k++) {
		if (k->type == LMD_META_BOOL)
			lmi_gguf_put_bool(w, key(kind, k->name), k->value != 0);
		else
			lmi_gguf_put_u32(w, key(kind, k->name), k->value);
	}
}

static bool is_draft(enum lmt_tiny kind)
{
	return kind >= LMT_EAGLE3;
}

static void put_draft(struct lmi_gguf_writer *w, enum lmt_tiny kind)
{
	static const int64_t layers[] = {0, 2, 3};

	put_array(w, key(kind, "target_layers"), LMD_META_ARR_I64, LMI_GGUF_I32, layers,
		  LMD_LEN(layers));
	put_count(w, kind, "target_hidden_size", LMT_EMBD);
	if (kind == LMT_DFLASH) {
		put_count(w, kind, "block_size", 4);
		put_count(w, kind, "mask_token_id", LMT_EOS);
	}
}

static void put_keys(struct lmi_gguf_writer *w, enum lmt_tiny kind)
{
	static const uint8_t pattern[] = {1, 0, 1, 1};
	static const int64_t kv_heads[] = {0, KV, 0};

	lmi_gguf_put_str(w, "general.architecture", kinds[kind].arch);
	put_count(w, kind, "context_length", LMT_CTX);
	put_count(w, kind, "embedding_length", LMT_EMBD);
	put_count(w, kind, "block_count", kinds[kind].n_layer);
	put_count(w, kind, "feed_forward_length", kind == LMT_STATE ? 0 : FF);
	put_count(w, kind, "attention.head_count", kind == LMT_STATE ? 0 : HEADS);
	lmi_gguf_put_f32(w, key(kind, "attention.layer_norm_rms_epsilon"), 1e-5f);
	put_count(w, kind, "vocab_size", LMT_VOCAB);
	if (kind == LMT_HYBRID)
		put_array(w, key(kind, "attention.head_count_kv"), LMD_META_ARR_I64, LMI_GGUF_I32,
			  kv_heads, LMD_LEN(kv_heads));
	else if (kind != LMT_STATE)
		put_count(w, kind, "attention.head_count_kv",
			  kind == LMT_SANDWICH ? 1 : is_draft(kind) ? HEADS : KV);
	if (is_draft(kind))
		put_draft(w, kind);
	if (kind == LMT_WINDOW) {
		lmi_gguf_put_f32(w, key(kind, "logit_scale"), 2);
		put_count(w, kind, "attention.sliding_window", 8);
		put_array(w, key(kind, "attention.sliding_window_pattern"), LMD_META_ARR_BOOL,
			  LMI_GGUF_BOOL, pattern, LMD_LEN(pattern));
	}
	if (kind == LMT_STATE || kind == LMT_HYBRID) {
		put_count(w, kind, "ssm.conv_kernel", 4);
		put_count(w, kind, "ssm.inner_size", INNER);
		put_count(w, kind, "ssm.state_size", STATE);
		put_count(w, kind, "ssm.time_step_rank", 8);
	}
	if (kind == LMT_STATE)
		put_count(w, kind, "ssm.group_count", 2);
	if (kind == LMT_FULL || kind >= LMT_WORDS)
		put_vocab(w, kind == LMT_WORDS);
	else
		lmi_gguf_put_str(w, "tokenizer.ggml.model", "no_vocab");
	if (kind == LMT_SUPPRESS)
		put_suppressed(w);
	if (kind == LMT_RANK)
		put_rank(w);
	if (kind == LMT_NEXTN)
		put_count(w, kind, "nextn_predict_layers", 1);
	if (kind == LMT_GREEDY) {
		lmi_gguf_put_u32(w, "general.sampling.temp", 0); /* a float elsewhere */
		lmi_gguf_put_u32(w, "general.sampling.penalty_last_n", 7);
		lmi_gguf_put_u32(w, "general.sampling.top_k", UINT32_MAX);
	}
	put_test_keys(w, kind);
}

static void each_tensor(enum lmt_tiny kind,
			void (*fn)(void *arg, const char *name, const struct row *r), void *arg)
{
	for (const struct row *r = kinds[kind].rows; r->name; r++) {
		char name[96];

		if (!r->layers)
			fn(arg, r->name, r);
		for (uint32_t il = 0; il < kinds[kind].n_layer; il++) {
			if (!(r->layers >> il & 1))
				continue;
			snprintf(name, sizeof(name), "blk.%u%s", il, strchr(r->name, 'd') + 1);
			fn(arg, name, r);
		}
	}
}

static void add(void *arg, const char *name, const struct row *r)
{
	const int64_t dims[2] = {r->d0, r->d1};

	lmi_gguf_add_tensor(arg, name, strcmp(name, "d2t") != 0 ? LMD_DTYPE_F32 : LMD_DTYPE_I64, r->d1 ? 2 : 1,
			    dims);
}

struct filler {
	struct lmi_gguf_writer *w;
	uint64_t rnd;
	bool draft, has_mask;
};

/* A draft model that repeats the last token: queries and keys are its embedding, which equals itself most, and so
 * are values and results. In a block, it is the only token with an embedding. */
static void repeat_token(const char *name, const struct row *r, float *v)
{
	float x = strstr(name, "attn_q.") || strstr(name, "attn_k.") ? 2
		  : strstr(name, "attn_v.") || strstr(name, "attn_output.") ? 1
									   : 0;

	for (int64_t i = 0; i < EMBD && x > 0; i++)
		v[i * r->d0 + i] += x;
}

static void fill_map(struct lmi_gguf_writer *w)
{
	int64_t v[LMT_N_MAP];
	struct lmd_error err;

	for (int64_t i = 0; i < LMT_N_MAP; i++)
		v[i] = i + i / 2;
	must(lmi_gguf_writer_data(w, v, sizeof(v), &err), &err);
}

static void fill(void *arg, const char *name, const struct row *r)
{
	struct filler *f = arg;
	size_t n = (size_t)(r->d0 * (r->d1 ? r->d1 : 1));
	float *v, lo = r->lo, hi = r->hi;
	struct lmd_error err;

	if (!strcmp(name, "d2t")) {
		fill_map(f->w);
		return;
	}
	v = lmi_alloc(n, sizeof(*v));
	if (lo == 0 && hi == 0) {
		hi = sqrtf(5.0f / (float)r->d0);
		lo = -hi;
	}
	for (size_t i = 0; i < n; i++)
		v[i] = lo + (hi - lo) * (float)(lmd_rand(&f->rnd) >> 40) * 0x1p-24f;
	for (size_t i = 0; i < EMBD && strstr(name, "eh_proj"); i++)
		v[i * 2 * EMBD + i] += 1; /* the embedding comes first */
	if (f->draft)
		repeat_token(name, r, v);
	if (f->has_mask && !strcmp(name, "token_embd.weight"))
		memset(v + (size_t)LMT_EOS * EMBD, 0, EMBD * sizeof(*v)); /* a mask without an embedding */
	must(lmi_gguf_writer_data(f->w, v, n * sizeof(*v), &err), &err);
	lmi_free(v);
}

void lmt_tiny_write(enum lmt_tiny kind, uint64_t seed, const char *path)
{
	struct filler f = {.rnd = seed, .draft = is_draft(kind), .has_mask = kind == LMT_NEXTN};
	struct lmd_error err;

	must(lmi_gguf_writer_create(&f.w, 32, &err), &err);
	put_keys(f.w, kind);
	each_tensor(kind, add, f.w);
	must(lmi_gguf_writer_start(f.w, path, &err), &err);
	each_tensor(kind, fill, &f);
	must(lmi_gguf_writer_finish(f.w, &err), &err);
	lmi_gguf_writer_destroy(f.w);
}

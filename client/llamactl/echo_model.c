/* SPDX-License-Identifier: MIT
 *
 * An ordinary model file of the architecture llama whose weights are computed and not trained: it
 * repeats the user's message byte by byte and then ends.
 *
 * The tokens are the 256 bytes, a begin and an end token, and one marker for each length of a
 * message.  The chat template renders the message and the marker of its length L, so that the
 * answer begins L positions after the message did, and each token of the answer is the one L
 * positions before.
 *
 *     layer 0   finds the marker: its key has the only large product with the constant query; its
 *               value is a query that RoPE turns to distance L.
 *     layer 1   uses this query: the product of a query with the angles -w*L and a constant key
 *               is the sum of cos(w*(d - L)) at distance d, and the softmax leaves only d = L.
 *               The value is the token there: one sign for each bit of a byte.
 *     head      compares these signs with those of each byte.  The marker itself, which is L
 *               before the end of the answer, stands for the end token.
 *
 * The embedding has a large constant, so that the norms divide by the same number everywhere.
 * Without a marker (a raw prompt), the begin token takes its place with L = 0: the last byte is
 * repeated. */
#include "client/llamactl/echo_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/format/gguf/write.h"
#include "llamad/attr.h"

#define N_BYTE	256
#define TOK_END N_BYTE
#define TOK_BEG (N_BYTE + 1)
#define TOK_LEN (N_BYTE + 2) /* marker of length 0 */
#define VOCAB	(TOK_LEN + LMI_CTL_ECHO_BYTES + 1)

#define EMBD  128
#define HEAD  64
#define N_ROT 32 /* the columns of a head that RoPE rotates; the others have no position */
#define FF    32
#define CTX   4096
#define FREQ  100.0

/* Columns of the residual stream. */
enum {
	COL_BITS = 0,	    /* 8 signs: the token */
	COL_FLAG = 8,	    /* it is a marker */
	COL_COPY = 16,	    /* 9 columns: the token at distance L, from layer 1 */
	COL_QUERY = 32,	    /* N_ROT columns: the query of a marker */
	COL_FOUND = 64,	    /* N_ROT columns: the query of the marker, from layer 0 */
	COL_CONST = EMBD - 1
};
#define N_TOKEN_COLS 9

/* The constant dominates the root mean square of each row. */
#define CONSTANT 256.0f
/* Products of queries with keys: the softmax is then 1 at one position, within rounding. */
#define FIND  30.0f
#define SHARP 16.0f
/* Logits per matching bit. */
#define LOGIT 20.0f

/* ---- weights: [rows][columns], columns are inputs ---- */

static void embedding(float *e, uint32_t token)
{
	bool marker = token >= TOK_BEG;
	uint32_t length = token >= TOK_LEN ? token - TOK_LEN : 0;

	e[COL_CONST] = CONSTANT;
	if (token < N_BYTE)
		for (int bit = 0; bit < 8; bit++)
			e[COL_BITS + bit] = token >> bit & 1 ? 1 : -1;
	else
		e[COL_FLAG] = 1;
	for (int i = 0; marker && i < N_ROT / 2; i++) {
		double angle = -pow(FREQ, -2.0 * i / N_ROT) * length;

		e[COL_QUERY + 2 * i] = (float)cos(angle);
		e[COL_QUERY + 2 * i + 1] = (float)sin(angle);
	}
	/* a marker is preferred to the begin token, and that one to all others */
	if (marker)
		e[COL_FLAG + 1] = token == TOK_BEG ? 0.5f : 1;
}

static void token_embd(float *w)
{
	for (uint32_t t = 0; t < VOCAB; t++)
		embedding(w + t * EMBD, t);
}

/* The norms divide by the root mean square, which is CONSTANT / sqrt(EMBD): this undoes it. */
static void norm(float *w)
{
	for (int c = 0; c < EMBD; c++)
		w[c] = CONSTANT / sqrtf(EMBD);
	w[COL_CONST] = 1 / sqrtf(EMBD);
}

static void find_q(float *w)
{
	w[N_ROT * EMBD + COL_CONST] = FIND;
}

static void find_k(float *w)
{
	w[N_ROT * EMBD + COL_FLAG + 1] = FIND;
}

static void find_v(float *w)
{
	for (int i = 0; i < N_ROT; i++)
		w[i * EMBD + COL_QUERY + i] = 1;
}

static void find_out(float *w)
{
	for (int i = 0; i < N_ROT; i++)
		w[(COL_FOUND + i) * HEAD + i] = 1;
}

static void copy_q(float *w)
{
	for (int i = 0; i < N_ROT; i++)
		w[i * EMBD + COL_FOUND + i] = SHARP;
}

static void copy_k(float *w)
{
	for (int i = 0; i < N_ROT; i += 2)
		w[i * EMBD + COL_CONST] = SHARP;
}

static void copy_v(float *w)
{
	for (int i = 0; i < N_TOKEN_COLS; i++)
		w[i * EMBD + COL_BITS + i] = 1;
}

static void copy_out(float *w)
{
	for (int i = 0; i < N_TOKEN_COLS; i++)
		w[(COL_COPY + i) * HEAD + i] = 1;
}

static void head(float *w)
{
	for (uint32_t t = 0; t < N_BYTE; t++)
		for (int bit = 0; bit < 8; bit++)
			w[t * EMBD + COL_COPY + bit] = t >> bit & 1 ? LOGIT : -LOGIT;
	w[TOK_END * EMBD + COL_COPY + COL_FLAG] = 8 * LOGIT;
}

static const struct tensor {
	const char *name;
	int64_t n_in, n_out; /* n_out 0: a vector */
	void (*fill)(float *w); /* NULL: zeros */
} tensors[] = {
	{"token_embd.weight", EMBD, VOCAB, token_embd},
	{"blk.0.attn_norm.weight", EMBD, 0, norm},
	{"blk.0.attn_q.weight", EMBD, HEAD, find_q},
	{"blk.0.attn_k.weight", EMBD, HEAD, find_k},
	{"blk.0.attn_v.weight", EMBD, HEAD, find_v},
	{"blk.0.attn_output.weight", HEAD, EMBD, find_out},
	{"blk.0.ffn_norm.weight", EMBD, 0, norm},
	{"blk.0.ffn_gate.weight", EMBD, FF, NULL},
	{"blk.0.ffn_up.weight", EMBD, FF, NULL},
	{"blk.0.ffn_down.weight", FF, EMBD, NULL},
	{"blk.1.attn_norm.weight", EMBD, 0, norm},
	{"blk.1.attn_q.weight", EMBD, HEAD, copy_q},
	{"blk.1.attn_k.weight", EMBD, HEAD, copy_k},
	{"blk.1.attn_v.weight", EMBD, HEAD, copy_v},
	{"blk.1.attn_output.weight", HEAD, EMBD, copy_out},
	{"blk.1.ffn_norm.weight", EMBD, 0, norm},
	{"blk.1.ffn_gate.weight", EMBD, FF, NULL},
	{"blk.1.ffn_up.weight", EMBD, FF, NULL},
	{"blk.1.ffn_down.weight", FF, EMBD, NULL},
	{"output_norm.weight", EMBD, 0, norm},
	{"output.weight", EMBD, VOCAB, head},
};

/* ---- keys ---- */

/* Counts the bytes of the message in UTF-8 and leaves out characters that do not fit. */
#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)
#define TEMPLATE                                                                                   \
	"{% set ns = namespace(n=0, text='') %}{% for c in messages[-1].content %}"                \
	"{% set w = 1 if c <= '\\x7f' else 2 if c <= '\\u07ff' else 3 if c <= '\\uffff' else 4 %}" \
	"{% if ns.n + w <= " TEXT(LMI_CTL_ECHO_BYTES) " %}{% set ns.n = ns.n + w %}"           \
	"{% set ns.text = ns.text ~ c %}{% endif %}{% endfor %}{{ ns.text }}<|{{ ns.n }}|>"

/* Writes the name of a byte in vocabularies of the kind gpt2, in which all names are printable:
 * bytes that are not printable in Latin-1 have the names U+0100 and following. */
static void byte_name(char out[8], uint32_t byte)
{
	static const struct {
		uint32_t first, last;
	} printable[] = {{'!', '~'}, {0xA1, 0xAC}, {0xAE, 0xFF}};
	uint32_t c = byte, n_before = 0;
	bool own = false;

	for (uint32_t b = 0; b <= byte; b++) {
		own = false;
		for (size_t i = 0; i < LMD_LEN(printable); i++)
			own = own || (b >= printable[i].first && b <= printable[i].last);
		n_before += !own;
	}
	if (!own)
		c = 0x100 + n_before - 1;
	if (c < 0x80)
		(void)snprintf(out, 8, "%c", (int)c);
	else
		(void)snprintf(out, 8, "%c%c", (int)(0xC0 | c >> 6), (int)(0x80 | (c & 0x3F)));
}

static enum lmd_status put_vocab(struct lmi_gguf_writer *w, struct lmd_error *err)
{
	static const struct lmd_str no_merge = {"! !", 3};
	char(*name)[12] = lmi_alloc(VOCAB, sizeof(*name));
	struct lmd_str *text = lmi_alloc(VOCAB, sizeof(*text));
	int64_t *types = lmi_alloc(VOCAB, sizeof(*types));
	enum lmd_status st = LMD_OK;

	if (!name || !text || !types) {
		st = lmd_fail(err, LMD_NOMEM, "no memory for a vocabulary of %d tokens", VOCAB);
		goto out;
	}
	for (uint32_t t = 0; t < VOCAB; t++) {
		if (t < N_BYTE)
			byte_name(name[t], t);
		else if (t < TOK_LEN)
			(void)snprintf(name[t], sizeof(name[t]), "%s",
				       t == TOK_END ? "<|end|>" : "<|begin|>");
		else
			(void)snprintf(name[t], sizeof(name[t]), "<|%u|>", t - TOK_LEN);
		text[t] = (struct lmd_str){name[t], strlen(name[t])};
		types[t] = t < N_BYTE ? LMD_TOKEN_NORMAL : LMD_TOKEN_CONTROL;
	}
	lmi_gguf_put_str(w, "tokenizer.ggml.model", "gpt2");
	lmi_gguf_put_str(w, "tokenizer.ggml.pre", "default");
	lmi_gguf_put_strings(w, "tokenizer.ggml.tokens", text, VOCAB);
	lmi_gguf_put_meta(w, &(struct lmd_meta){.key = "tokenizer.ggml.token_type",
						.type = LMD_META_ARR_I64,
						.file_type = LMI_GGUF_I32,
						.n = VOCAB,
						.v.a = types});
	lmi_gguf_put_strings(w, "tokenizer.ggml.merges", &no_merge, 1);
	lmi_gguf_put_u32(w, "tokenizer.ggml.bos_token_id", TOK_BEG);
	lmi_gguf_put_u32(w, "tokenizer.ggml.eos_token_id", TOK_END);
	lmi_gguf_put_bool(w, "tokenizer.ggml.add_bos_token", true);
	lmi_gguf_put_str(w, "tokenizer.chat_template", TEMPLATE);
out:
	lmi_free(types);
	lmi_free(text);
	lmi_free(name);
	return st;
}

static void put_keys(struct lmi_gguf_writer *w)
{
	lmi_gguf_put_str(w, "general.architecture", "llama");
	lmi_gguf_put_str(w, "general.name", "Echo");
	lmi_gguf_put_u32(w, "llama.context_length", CTX);
	lmi_gguf_put_u32(w, "llama.embedding_length", EMBD);
	lmi_gguf_put_u32(w, "llama.block_count", 2);
	lmi_gguf_put_u32(w, "llama.feed_forward_length", FF);
	lmi_gguf_put_u32(w, "llama.attention.head_count", 1);
	lmi_gguf_put_u32(w, "llama.attention.head_count_kv", 1);
	lmi_gguf_put_u32(w, "llama.attention.key_length", HEAD);
	lmi_gguf_put_u32(w, "llama.attention.value_length", HEAD);
	lmi_gguf_put_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
	lmi_gguf_put_u32(w, "llama.rope.dimension_count", N_ROT);
	lmi_gguf_put_f32(w, "llama.rope.freq_base", (float)FREQ);
	lmi_gguf_put_u32(w, "llama.vocab_size", VOCAB);
}

/* ---- the file ---- */

static enum lmd_status put_data(struct lmi_gguf_writer *w, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (size_t i = 0; st == LMD_OK && i < LMD_LEN(tensors); i++) {
		const struct tensor *t = &tensors[i];
		size_t n = (size_t)(t->n_in * (t->n_out ? t->n_out : 1));
		float *data = lmi_alloc(n, sizeof(*data));

		if (!data)
			return lmd_fail(err, LMD_NOMEM, "%s: no memory for %zu numbers", t->name,
					n);
		if (t->fill)
			t->fill(data);
		st = lmi_gguf_writer_data(w, data, n * sizeof(*data), err);
		lmi_free(data);
	}
	return st;
}

enum lmd_status lmi_ctl_echo_model_write(const char *path, struct lmd_error *err)
{
	struct lmi_gguf_writer *w = NULL;
	enum lmd_status st = lmi_gguf_writer_create(&w, 32, err);

	if (st != LMD_OK)
		return st;
	put_keys(w);
	st = put_vocab(w, err);
	for (size_t i = 0; st == LMD_OK && i < LMD_LEN(tensors); i++) {
		const int64_t dims[2] = {tensors[i].n_in, tensors[i].n_out};

		lmi_gguf_add_tensor(w, tensors[i].name, LMD_DTYPE_F32, tensors[i].n_out ? 2 : 1,
				    dims);
	}
	if (st == LMD_OK)
		st = lmi_gguf_writer_start(w, path, err);
	if (st == LMD_OK)
		st = put_data(w, err);
	if (st == LMD_OK)
		st = lmi_gguf_writer_finish(w, err);
	lmi_gguf_writer_destroy(w);
	return st;
}

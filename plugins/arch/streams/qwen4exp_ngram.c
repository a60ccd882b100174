/* SPDX-License-Identifier: MIT
 *
 * Hashed embeddings of token n-grams (Qwen4).
 *
 * For each length L = 2..n and each of the `per` hashes h of that length
 *     row = first[h] + (t0 mul[0] ^ t1 mul[1] ^ ... ^ t(L-1) mul[L-1]) mod size[h]
 * where t0 is the token and tj the j-th token before it (64 bits, wrapping).  An end-of-text token
 * separates texts: everything before it, and before the sequence, counts as end-of-text.
 *
 * From the rows, side by side, a key for each residual stream and one value are computed.  gate =
 * sigmoid(signed square root of (key . stream)); value * gate, and a dilated convolution of it over
 * earlier tokens, are added to the streams. */
#include <math.h>

#include "arch/streams/qwen4exp.h"

enum { N_TABLE, N_KEY, N_VALUE, N_NORM_KEY, N_NORM_QUERY, N_NORM_CONV, N_CONV1D };

#define R LMD_TENSOR_REQUIRED
#define ROW(stem, d0, d1) {"blk.%d." stem, {d0, d1}, R, LMD_SPLIT_REPLICATE, QW4_L_NGRAM, NULL}

const struct lmd_tensor_row qw4_ngram_rows[7] = {
	[N_TABLE] = {"per_layer_token_embd", {D_QW4_HASH_D, D_QW4_HASH_ROWS},
		     LMD_TENSOR_GLOBAL | LMD_TENSOR_ANY_SHAPE, LMD_SPLIT_REPLICATE, 0, NULL},
	[N_KEY] = ROW("ple_key", D_QW4_HASH_ALL, D_QW4_WIDE),
	[N_VALUE] = ROW("ple_value", D_QW4_HASH_ALL, D_EMBD),
	[N_NORM_KEY] = ROW("ple_norm_key", D_EMBD, D_QW4_HC),
	[N_NORM_QUERY] = ROW("ple_norm_query", D_EMBD, D_QW4_HC),
	[N_NORM_CONV] = ROW("ple_norm_conv", D_EMBD, D_QW4_HC),
	[N_CONV1D] = ROW("ple_conv1d", D_QW4_HASH_CONV, D_QW4_WIDE),
};

static void read_hashes(struct qw4 *m, struct arch_keys *k)
{
	struct qw4_ngram *g = &m->ngram;
	double mul[QW4_MAX_NGRAM];

	(void)arch_key_f64s(k, "ple.layer_multipliers", ARCH_REQUIRED, mul, g->n, 1, 0, 0x1p53);
	(void)arch_key_u32s(k, "ple.head_offsets", ARCH_REQUIRED, g->first, g->n_hash, 0, 0,
			    INT32_MAX);
	(void)arch_key_u32s(k, "ple.head_vocab_sizes", ARCH_REQUIRED, g->size, g->n_hash, 1, 1,
			    INT32_MAX);
	if (k->st != LMD_OK)
		return;
	for (uint32_t i = 0; i < g->n; i++)
		g->mul[i] = (uint64_t)mul[i];
	for (uint32_t i = 0; i < g->n_hash; i++) {
		if (g->size[i] > INT32_MAX - g->first[i])
			arch_key_fail(k, LMD_INVALID,
				      "%s.ple.head_offsets: first row %u, %u rows, in entry %u",
				      m->hp.model->arch, g->first[i], g->size[i], i);
		else if (g->first[i] + g->size[i] > g->n_row)
			g->n_row = g->first[i] + g->size[i];
	}
}

/* Checks that the table has all rows that hashes can address; it may have more. */
static void check_table(struct qw4 *m, struct arch_keys *k)
{
	const struct lmd_model *model = m->hp.model;
	const uint32_t i = arch_hp_tensor(&m->hp, "per_layer_token_embd.weight");

	if (i == LMD_NONE || k->st != LMD_OK)
		arch_key_fail(k, LMD_NOTFOUND, "tensor per_layer_token_embd.weight is missing");
	else if (model->tensors[i].dims[0] != m->ngram.d ||
		 model->tensors[i].dims[1] < m->ngram.n_row)
		arch_key_fail(k, LMD_INVALID,
			      "tensor per_layer_token_embd.weight has %llu rows of %llu columns, "
			      "expected at least %u rows of %u",
			      (unsigned long long)model->tensors[i].dims[1],
			      (unsigned long long)model->tensors[i].dims[0], m->ngram.n_row,
			      m->ngram.d);
	else
		m->ngram.n_row = (uint32_t)model->tensors[i].dims[1];
}

void qw4_ngram_read(struct qw4 *m, struct arch_keys *k)
{
	struct qw4_ngram *g = &m->ngram;
	const uint64_t n_layer = arch_key_len(k, "ple.layers");

	if (!n_layer)
		return;
	if (n_layer != 1)
		arch_key_fail(k, LMD_UNSUPPORTED, "%s.ple.layers: %llu layers, expected 1",
			      m->hp.model->arch, (unsigned long long)n_layer);
	(void)arch_key_u32s(k, "ple.layers", ARCH_REQUIRED, &g->layer, 1, 0, 0, m->hp.n_layer - 1);
	g->n = arch_key_u32(k, "ple.ngram_size", ARCH_REQUIRED, 2, 2, QW4_MAX_NGRAM);
	g->per = arch_key_u32(k, "ple.heads_per_ngram", ARCH_REQUIRED, 1, 1, QW4_MAX_HASH);
	g->kernel = arch_key_u32(k, "ple.conv_kernel", ARCH_REQUIRED, 2, 2, 64);
	g->eos = (lmd_token)arch_key_u32(k, "ple.eos_token_id", ARCH_REQUIRED, 0, 0,
					 ARCH_KEY_MAX_VOCAB);
	g->image = (lmd_token)arch_key_u32(k, "ple.image_token_id", ARCH_OPTIONAL, 0, 0,
					   ARCH_KEY_MAX_VOCAB);
	g->d = arch_key_u32(k, "embedding_length_per_layer_input", ARCH_REQUIRED, 1, 1,
			    ARCH_KEY_MAX_WIDTH / 64);
	if (!g->image)
		g->image = g->eos;
	if (k->st == LMD_OK && (g->n - 1) * g->per > QW4_MAX_HASH)
		arch_key_fail(k, LMD_INVALID,
			      "%s.ple.heads_per_ngram: %u for each of %u lengths; the product must "
			      "be at most %u",
			      m->hp.model->arch, g->per, g->n - 1, QW4_MAX_HASH);
	if (k->st != LMD_OK)
		return;
	g->n_hash = (g->n - 1) * g->per;
	read_hashes(m, k);
	check_table(m, k);
	if (k->st == LMD_OK && !(m->hp.layer[g->layer].cls & ARCH_L_RECURRENT))
		arch_key_fail(k, LMD_INVALID, "%s.ple.layers: layer %u is not recurrent",
			      m->hp.model->arch, g->layer);
	m->hp.layer[g->layer].cls |= QW4_L_NGRAM;
}

void qw4_ngram_memory(struct qw4 *m, struct arch_keys *k)
{
	const struct qw4_ngram *g = &m->ngram;
	const struct lmd_cache c = {.group = m->delta.group,
				    .kind = LMD_CACHE_CONV,
				    .n_head = 1,
				    .dk = (g->kernel - 1) * g->n,
				    .dv = m->hc * m->hp.n_embd,
				    .dtype_policy = LMD_KV_DTYPE_F32};

	m->ngram.conv = g->n_hash ? arch_hp_add_cache(&m->hp, k, &c) : LMD_NONE;
}

void qw4_ngram_rows_in(const struct qw4 *m, const struct lmd_rows_in *in, int32_t *out)
{
	const struct qw4_ngram *g = &m->ngram;
	const struct lmd_step *s = in->step;

	for (uint32_t t = 0; t < s->head->n_tok; t++, out += g->n_hash) {
		const uint32_t slot = (uint32_t)s->seq_slot[s->seq_of[t]];
		uint64_t mixed;
		bool cut = false;
		lmd_token tok = s->token[t] < 0 ? g->image : s->token[t];

		mixed = (uint64_t)tok * g->mul[0];
		for (uint32_t j = 1; j < g->n; j++) {
			const int64_t at = (int64_t)s->pos[0][t] - j;

			tok = cut || at < 0 ? g->eos : in->token_at(in->ctx, slot, at);
			cut = cut || tok < 0 || tok == g->eos;
			mixed ^= (uint64_t)(cut ? g->eos : tok) * g->mul[j];
			for (uint32_t h = (j - 1) * g->per; h < j * g->per; h++)
				out[h] = (int32_t)(g->first[h] + mixed % g->size[h]);
		}
	}
}

/* Normalises each stream; the weights cover all of them. */
static uint32_t normed(struct arch_emit *e, const struct qw4 *m, uint32_t x, uint32_t row,
		       const char *name)
{
	const uint32_t w = m->hp.n_embd;
	struct lmd_norm norm = arch_norm_heads(e, LMD_NORM_RMS, &qw4_ngram_rows[row], m->hc, w);
	uint32_t y = arch_value_f32(e, m->hc * w, name);

	arch_put_norm(e, arch_operand_heads(x, 0, m->hc, w), &norm,
		      arch_operand_heads(y, 0, m->hc, w));
	return y;
}

/* sigmoid(sign(s) sqrt|s|) for each stream, where s = key . query / sqrt(width). */
static uint32_t put_gate(struct arch_emit *e, const struct qw4 *m, uint32_t key, uint32_t query)
{
	const uint32_t w = m->hp.n_embd;
	uint32_t both = arch_value_f32(e, m->hc * w, "ngram_match"),
		 sum = arch_value_f32(e, m->hc, "ngram_score");
	uint32_t gate = arch_value_f32(e, m->hc, "ngram_gate");
	struct lmd_op op = arch_op_empty(LMD_OP_REDUCE);
	struct arch_ew p = arch_ew();
	uint8_t s, a;

	arch_put_mul(e, arch_operand_all(e, key), arch_operand_all(e, query),
		     arch_operand_all(e, both));
	op.u.reduce.x = arch_operand_heads(both, 0, m->hc, w);
	op.u.reduce.y = arch_operand_heads(sum, 0, m->hc, 1);
	op.u.reduce.kind = LMD_REDUCE_SUM;
	op.u.reduce.axis = LMD_AXIS_ROW;
	arch_emit_op(e, &op);
	s = arch_ew_in(&p, arch_operand_all(e, sum));
	s = arch_ew2(&p, LMD_EW_MUL, s, arch_ew_const(&p, 1.0f / sqrtf((float)w)));
	a = arch_ew_const(&p, 1e-6f);
	a = arch_ew2(&p, LMD_EW_MAX, arch_ew1(&p, LMD_EW_ABS, s), a);
	a = arch_ew1(&p, LMD_EW_SQRT, a);
	a = arch_ew2(&p, LMD_EW_MUL, arch_ew1(&p, LMD_EW_SIGN, s), a);
	arch_ew_out(e, &p, arch_ew1(&p, LMD_EW_SIGMOID, a), arch_operand_all(e, gate));
	return gate;
}

uint32_t qw4_ngram(struct arch_emit *e, const struct qw4 *m, uint32_t xs, uint32_t row_in)
{
	const struct qw4_ngram *g = &m->ngram;
	const uint32_t w = m->hp.n_embd, wide = m->hc * w;
	struct arch_weight wk = arch_weight_req(e, &qw4_ngram_rows[N_KEY]),
			   wv = arch_weight_req(e, &qw4_ngram_rows[N_VALUE]);
	uint32_t emb = arch_value_f32(e, g->n_hash * g->d, "ngram_embd"), key, query, value, gate,
		 conv_in;
	uint32_t gated = arch_value_f32(e, wide, "ngram_value"),
		 conv = arch_value_f32(e, wide, "ngram_conv");
	uint32_t out = arch_value_f32(e, wide, "streams");
	struct lmd_op op = arch_op_empty(LMD_OP_EMBED);
	struct lmd_operand all;
	struct arch_ew p = arch_ew();
	uint8_t a, b, c;

	op.u.embed.y = arch_operand_all(e, emb);
	op.u.embed.table = arch_weight_req(e, &qw4_ngram_rows[N_TABLE]).id;
	op.u.embed.idx_kind = LMD_IDX_OPERAND;
	op.u.embed.idx = arch_operand_row_input(row_in, g->n_hash);
	op.u.embed.n_id = g->n_hash;
	arch_emit_op(e, &op);
	key = arch_linear(e, arch_operand_all(e, emb), NULL, &wk, LMD_VTYPE_F32, "ngram_key");
	value = arch_linear(e, arch_operand_all(e, emb), NULL, &wv, LMD_VTYPE_F32,
			    "ngram_value_one");
	query = normed(e, m, xs, N_NORM_QUERY, "ngram_query");
	key = normed(e, m, key, N_NORM_KEY, "ngram_key_norm");
	gate = put_gate(e, m, key, query);
	all = arch_operand_heads(value, 0, m->hc, w);
	all.head_stride = 0;
	arch_put_mul(e, all, arch_operand_heads(gate, 0, m->hc, 1),
		     arch_operand_heads(gated, 0, m->hc, w));

	conv_in = normed(e, m, gated, N_NORM_CONV, "ngram_conv_in");
	op = arch_op_empty(LMD_OP_CONV);
	op.u.conv.x = arch_operand_all(e, conv_in);
	op.u.conv.y = arch_operand_all(e, conv);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = arch_weight_req(e, &qw4_ngram_rows[N_CONV1D]).id;
	op.u.conv.kernel = g->kernel;
	op.u.conv.dilation = g->n;
	op.u.conv.left = (g->kernel - 1) * g->n;
	op.u.conv.act = LMD_ACT_FN_SILU;
	op.u.conv.cache = g->conv;
	arch_emit_op(e, &op);

	a = arch_ew_in(&p, arch_operand_all(e, xs));
	b = arch_ew_in(&p, arch_operand_all(e, gated));
	c = arch_ew_in(&p, arch_operand_all(e, conv));
	a = arch_ew2(&p, LMD_EW_ADD, a, arch_ew2(&p, LMD_EW_ADD, b, c));
	arch_ew_out(e, &p, a, arch_operand_all(e, out));
	return out;
}

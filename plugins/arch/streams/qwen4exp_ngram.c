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

static void read_hashes(struct qw4 *m, struct lmi_keys *k)
{
	struct qw4_ngram *g = &m->ngram;
	double mul[QW4_MAX_NGRAM];

	(void)lmi_key_f64s(k, "ple.layer_multipliers", LMI_REQUIRED, mul, g->n, 1, 0, 0x1p53);
	(void)lmi_key_u32s(k, "ple.head_offsets", LMI_REQUIRED, g->first, g->n_hash, 0, 0,
			   INT32_MAX);
	(void)lmi_key_u32s(k, "ple.head_vocab_sizes", LMI_REQUIRED, g->size, g->n_hash, 1, 1,
			   INT32_MAX);
	if (k->st != LMD_OK)
		return;
	for (uint32_t i = 0; i < g->n; i++)
		g->mul[i] = (uint64_t)mul[i];
	for (uint32_t i = 0; i < g->n_hash; i++) {
		if (g->size[i] > INT32_MAX - g->first[i])
			lmi_key_fail(k, LMD_INVALID,
				     "%s.ple.head_offsets: first row %u, %u rows, in entry %u",
				     m->hp.model->arch, g->first[i], g->size[i], i);
		else if (g->first[i] + g->size[i] > g->n_row)
			g->n_row = g->first[i] + g->size[i];
	}
}

/* Checks that the table has all rows that hashes can address; it may have more. */
static void check_table(struct qw4 *m, struct lmi_keys *k)
{
	const struct lmd_model *model = m->hp.model;
	const uint32_t i = lmi_hp_tensor(&m->hp, "per_layer_token_embd.weight");

	if (i == LMD_NONE || k->st != LMD_OK)
		lmi_key_fail(k, LMD_NOTFOUND, "tensor per_layer_token_embd.weight is missing");
	else if (model->tensors[i].dims[0] != m->ngram.d ||
		 model->tensors[i].dims[1] < m->ngram.n_row)
		lmi_key_fail(
			k, LMD_INVALID,
			"tensor per_layer_token_embd.weight has %llu rows of %llu columns, "
			"expected at least %u rows of %u",
			(unsigned long long)model->tensors[i].dims[1],
			(unsigned long long)model->tensors[i].dims[0], m->ngram.n_row, m->ngram.d);
	else
		m->ngram.n_row = (uint32_t)model->tensors[i].dims[1];
}

void qw4_ngram_read(struct qw4 *m, struct lmi_keys *k)
{
	struct qw4_ngram *g = &m->ngram;
	const uint64_t n_layer = lmi_key_len(k, "ple.layers");

	if (!n_layer)
		return;
	if (n_layer != 1)
		lmi_key_fail(k, LMD_UNSUPPORTED, "%s.ple.layers: %llu layers, expected 1",
			     m->hp.model->arch, (unsigned long long)n_layer);
	(void)lmi_key_u32s(k, "ple.layers", LMI_REQUIRED, &g->layer, 1, 0, 0, m->hp.n_layer - 1);
	g->n = lmi_key_u32(k, "ple.ngram_size", LMI_REQUIRED, 2, 2, QW4_MAX_NGRAM);
	g->per = lmi_key_u32(k, "ple.heads_per_ngram", LMI_REQUIRED, 1, 1, QW4_MAX_HASH);
	g->kernel = lmi_key_u32(k, "ple.conv_kernel", LMI_REQUIRED, 2, 2, 64);
	g->eos = (lmd_token)lmi_key_u32(k, "ple.eos_token_id", LMI_REQUIRED, 0, 0, LMI_MAX_VOCAB);
	g->image =
		(lmd_token)lmi_key_u32(k, "ple.image_token_id", LMI_OPTIONAL, 0, 0, LMI_MAX_VOCAB);
	g->d = lmi_key_u32(k, "embedding_length_per_layer_input", LMI_REQUIRED, 1, 1,
			   LMI_MAX_WIDTH / 64);
	if (!g->image)
		g->image = g->eos;
	if (k->st == LMD_OK && (g->n - 1) * g->per > QW4_MAX_HASH)
		lmi_key_fail(k, LMD_INVALID,
			     "%s.ple.heads_per_ngram: %u for each of %u lengths; the product must "
			     "be at most %u",
			     m->hp.model->arch, g->per, g->n - 1, QW4_MAX_HASH);
	if (k->st != LMD_OK)
		return;
	g->n_hash = (g->n - 1) * g->per;
	read_hashes(m, k);
	check_table(m, k);
	if (k->st == LMD_OK && !(m->hp.layer[g->layer].cls & LMI_L_RECURRENT))
		lmi_key_fail(k, LMD_INVALID, "%s.ple.layers: layer %u is not recurrent",
			     m->hp.model->arch, g->layer);
	m->hp.layer[g->layer].cls |= QW4_L_NGRAM;
}

void qw4_ngram_memory(struct qw4 *m, struct lmi_keys *k)
{
	const struct qw4_ngram *g = &m->ngram;
	const struct lmd_cache c = {.group = m->delta.group,
				    .kind = LMD_CACHE_CONV,
				    .n_head = 1,
				    .dk = (g->kernel - 1) * g->n,
				    .dv = m->hc * m->hp.n_embd,
				    .dtype_policy = LMD_KV_DTYPE_F32};

	m->ngram.conv = g->n_hash ? lmi_hp_add_cache(&m->hp, k, &c) : LMD_NONE;
}

void qw4_ngram_rows_in(const struct qw4 *m, const struct lmd_rows_in *in, int32_t *out)
{
	const struct qw4_ngram *g = &m->ngram;
	const struct lmd_step *s = in->step;

	for (uint32_t t = 0; t < s->n_tok; t++, out += g->n_hash) {
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
static uint32_t normed(struct lmi_emit *e, const struct qw4 *m, uint32_t x, uint32_t row,
		       const char *name)
{
	const uint32_t w = m->hp.n_embd;
	struct lmd_norm norm = lmi_norm_heads(e, LMD_NORM_RMS, &qw4_ngram_rows[row], m->hc, w);
	uint32_t y = lmi_f32(e, m->hc * w, name);

	lmi_put_norm(e, lmi_heads(x, 0, m->hc, w), &norm, lmi_heads(y, 0, m->hc, w));
	return y;
}

/* sigmoid(sign(s) sqrt|s|) for each stream, where s = key . query / sqrt(width). */
static uint32_t put_gate(struct lmi_emit *e, const struct qw4 *m, uint32_t key, uint32_t query)
{
	const uint32_t w = m->hp.n_embd;
	uint32_t both = lmi_f32(e, m->hc * w, "ngram_match"),
		 sum = lmi_f32(e, m->hc, "ngram_score");
	uint32_t gate = lmi_f32(e, m->hc, "ngram_gate");
	struct lmd_op op = lmi_op(LMD_OP_REDUCE);
	struct lmi_ew p = lmi_ew();
	uint8_t s, a;

	lmi_put_mul(e, lmi_whole(e, key), lmi_whole(e, query), lmi_whole(e, both));
	op.u.reduce.x = lmi_heads(both, 0, m->hc, w);
	op.u.reduce.y = lmi_heads(sum, 0, m->hc, 1);
	op.u.reduce.kind = LMD_REDUCE_SUM;
	op.u.reduce.axis = LMD_AXIS_ROW;
	lmi_put(e, &op);
	s = lmi_ew_in(&p, lmi_whole(e, sum));
	s = lmi_ew2(&p, LMD_EW_MUL, s, lmi_ew_const(&p, 1.0f / sqrtf((float)w)));
	a = lmi_ew_const(&p, 1e-6f);
	a = lmi_ew2(&p, LMD_EW_MAX, lmi_ew1(&p, LMD_EW_ABS, s), a);
	a = lmi_ew1(&p, LMD_EW_SQRT, a);
	a = lmi_ew2(&p, LMD_EW_MUL, lmi_ew1(&p, LMD_EW_SIGN, s), a);
	lmi_ew_out(e, &p, lmi_ew1(&p, LMD_EW_SIGMOID, a), lmi_whole(e, gate));
	return gate;
}

uint32_t qw4_ngram(struct lmi_emit *e, const struct qw4 *m, uint32_t xs, uint32_t row_in)
{
	const struct qw4_ngram *g = &m->ngram;
	const uint32_t w = m->hp.n_embd, wide = m->hc * w;
	struct lmi_w wk = lmi_w(e, &qw4_ngram_rows[N_KEY]), wv = lmi_w(e, &qw4_ngram_rows[N_VALUE]);
	uint32_t emb = lmi_f32(e, g->n_hash * g->d, "ngram_embd"), key, query, value, gate, conv_in;
	uint32_t gated = lmi_f32(e, wide, "ngram_value"), conv = lmi_f32(e, wide, "ngram_conv");
	uint32_t out = lmi_f32(e, wide, "streams");
	struct lmd_op op = lmi_op(LMD_OP_EMBED);
	struct lmd_opnd all;
	struct lmi_ew p = lmi_ew();
	uint8_t a, b, c;

	op.u.embed.y = lmi_whole(e, emb);
	op.u.embed.table = lmi_w(e, &qw4_ngram_rows[N_TABLE]).id;
	op.u.embed.idx_kind = LMD_IDX_OPND;
	op.u.embed.idx = lmi_row_in(row_in, g->n_hash);
	op.u.embed.n_id = g->n_hash;
	lmi_put(e, &op);
	key = lmi_linear(e, lmi_whole(e, emb), NULL, &wk, LMD_VTYPE_F32, "ngram_key");
	value = lmi_linear(e, lmi_whole(e, emb), NULL, &wv, LMD_VTYPE_F32, "ngram_value_one");
	query = normed(e, m, xs, N_NORM_QUERY, "ngram_query");
	key = normed(e, m, key, N_NORM_KEY, "ngram_key_norm");
	gate = put_gate(e, m, key, query);
	all = lmi_heads(value, 0, m->hc, w);
	all.head_stride = 0;
	lmi_put_mul(e, all, lmi_heads(gate, 0, m->hc, 1), lmi_heads(gated, 0, m->hc, w));

	conv_in = normed(e, m, gated, N_NORM_CONV, "ngram_conv_in");
	op = lmi_op(LMD_OP_CONV);
	op.u.conv.x = lmi_whole(e, conv_in);
	op.u.conv.y = lmi_whole(e, conv);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = lmi_w(e, &qw4_ngram_rows[N_CONV1D]).id;
	op.u.conv.kernel = g->kernel;
	op.u.conv.dilation = g->n;
	op.u.conv.left = (g->kernel - 1) * g->n;
	op.u.conv.act = LMD_ACT_SILU;
	op.u.conv.cache = g->conv;
	lmi_put(e, &op);

	a = lmi_ew_in(&p, lmi_whole(e, xs));
	b = lmi_ew_in(&p, lmi_whole(e, gated));
	c = lmi_ew_in(&p, lmi_whole(e, conv));
	a = lmi_ew2(&p, LMD_EW_ADD, a, lmi_ew2(&p, LMD_EW_ADD, b, c));
	lmi_ew_out(e, &p, a, lmi_whole(e, out));
	return out;
}

/* SPDX-License-Identifier: MIT
 *
 * Granite with switchable adapters: the file contains several LoRA adapters as stacked tensors.  A
 * control token selects an adapter for itself and all tokens after it; it is embedded as its
 * substitute token.  Slot 0 of each stack means no adapter.
 *
 * In the reference implementation a single attention head makes the choice: control tokens have
 * the score +gain and their slot as value, all others the score -gain and the value 0; the rounded
 * result is the slot.  It depends only on the token history, so rows() computes it. */
#include <math.h>
#include <string.h>

#include "arch/dense/dense.h"

enum { IN_TOKEN, IN_SLOT };
#define MAX_ADAPTER 1024u

struct adapters {
	uint32_t n, rank;
	double gain;
	const uint32_t *token, *substitute; /* [n] */
};

enum { D_SLOTS = D_OWN, D_RANK };
enum lora_t {
	A_Q, B_Q, A_K, B_K, A_V, B_V, A_O, B_O, A_GATE, B_GATE, A_UP, B_UP, A_DOWN, B_DOWN, N_LORA
};
#define F (LMD_TENSOR_REQUIRED | LMD_TENSOR_BARE)
#define PAIR(name, stem, in, out)                                                                  \
	[A_##name] = {"blk.%d." stem ".lora_a", {in, D_RANK, D_SLOTS}, F, LMD_SPLIT_REPLICATE, 0,  \
		      NULL},                                                                       \
	[B_##name] = {"blk.%d." stem ".lora_b", {D_RANK, out, D_SLOTS}, F, LMD_SPLIT_REPLICATE, 0, \
		      NULL}

static const struct lmd_tensor_row lora_rows[N_LORA] = {
	PAIR(Q, "attn_q", D_EMBD, D_Q),         PAIR(K, "attn_k", D_EMBD, D_K),
	PAIR(V, "attn_v", D_EMBD, D_V),         PAIR(O, "attn_output", D_O, D_EMBD),
	PAIR(GATE, "ffn_gate", D_EMBD, D_FF),   PAIR(UP, "ffn_up", D_EMBD, D_FF),
	PAIR(DOWN, "ffn_down", D_FF, D_EMBD),
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,  LMI_SET_ATTN_NORM, LMI_REQ(T_ATTN_QKV, T_ATTN_OUT), LMI_SET_FFN_NORM,
	LMI_SET_FFN,     LMI_SET_ROPE_FACTORS, LMI_OWN(lora_rows),
};

/* ---- description ---- */

static const uint32_t *ids(struct lmi_hparams *hp, struct lmi_keys *k, const char *key, uint32_t n)
{
	uint32_t *v = lmi_hp_alloc(hp, k, n, sizeof(*v));

	if (v && (!lmi_key_is_array(k, key) || lmi_key_len(k, key) != n))
		lmi_key_fail(k, LMD_INVALID,
			     "%s.%s: %llu values, expected one for each of %u adapters",
			     hp->model->arch, key, (unsigned long long)lmi_key_len(k, key), n);
	if (v && k->st == LMD_OK)
		(void)lmi_key_u32s(k, key, LMI_REQUIRED, v, n, 0, 0, hp->n_vocab - 1);
	return v;
}

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct adapters *a = lmi_hp_alloc(hp, k, 1, sizeof(*a));
	bool rotates = lmi_key_bool(k, "rope.scaling.finetuned", LMI_OPTIONAL, true);

	lmi_granite_scales(hp, k);
	for (uint32_t il = 0; il < hp->n_layer && !rotates; il++)
		hp->layer[il].rope = LMD_NONE;
	if (!a)
		return;
	hp->own_data = a;
	a->n = lmi_key_u32(k, "adapters.count", LMI_REQUIRED, 1, 1, MAX_ADAPTER);
	a->rank = lmi_key_u32(k, "adapters.lora_rank", LMI_REQUIRED, 1, 1, LMI_MAX_WIDTH);
	a->gain = lmi_key_f64(k, "adapters.router_gain", LMI_OPTIONAL, 10.0, 0.0, 1e4);
	if (k->st != LMD_OK)
		return;
	a->token = ids(hp, k, "adapters.token_ids_activate", a->n);
	a->substitute = ids(hp, k, "adapters.token_ids_substitute", a->n);
}

static void describe_rows(struct lmi_hparams *hp, struct lmd_arch_desc *out)
{
	static const struct lmd_row_in row_ins[] = {
		[IN_TOKEN] = {.vtype = LMD_VTYPE_I32, .width = 1, .name = "token_embedded"},
		[IN_SLOT] = {.vtype = LMD_VTYPE_I32, .width = 1, .name = "adapter"},
	};

	(void)hp;
	out->row_ins = row_ins;
	out->n_row_in = LMD_LEN(row_ins);
	out->traits |= LMD_TRAIT_HOST_TOKENS;
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct lmi_hparams *hp = state;
	const struct adapters *a = hp->own_data;

	return symbol == D_SLOTS  ? (int64_t)a->n + 1
	       : symbol == D_RANK ? a->rank
				  : lmi_hp_dim(state, symbol, layer);
}

/* ---- rows ---- */

static uint32_t slot_of(const struct adapters *a, lmd_token token)
{
	for (uint32_t i = a->n; i > 0; i--) { /* for duplicate tokens the last one counts */
		if (token >= 0 && a->token[i - 1] == (uint32_t)token)
			return i;
	}
	return 0;
}

/* Computes the slots of a sequence's rows from sums over its token history. */
static void slots_of(const struct adapters *a, const struct lmd_rows_in *in, uint32_t s,
		     int32_t *embed, int32_t *slot)
{
	const struct lmd_step *step = in->step;
	const uint32_t seq = (uint32_t)step->seq_slot[s];
	const int64_t past = in->n_past(in->ctx, seq);
	const double low = exp(-2.0 * a->gain); /* weight of an ordinary token */
	double sum = 0.0, weight = 0.0;

	for (int64_t i = 0; i < past + step->q_len[s]; i++) {
		lmd_token token = in->token_at(in->ctx, seq, i);
		uint32_t hit = slot_of(a, token);
		int64_t t = i - past;

		sum += hit;
		weight += hit ? 1.0 : low;
		if (t < 0)
			continue;
		t += step->q_start[s];
		embed[t] = hit ? (int32_t)a->substitute[hit - 1] : step->token[t];
		slot[t] = (int32_t)fmin(round(sum / weight), (double)a->n);
	}
}

static enum lmd_status rows(const void *state, const struct lmd_rows_in *in,
			    struct lmd_rows_out *out)
{
	const struct lmi_hparams *hp = state;

	for (uint32_t s = 0; s < in->step->n_seq; s++)
		slots_of(hp->own_data, in, s, out->row_in[IN_TOKEN], out->row_in[IN_SLOT]);
	return LMD_OK;
}

/* ---- building ---- */

/* y = x + B_slot A_slot z; x and y are column windows of the same width. */
static void add_delta(struct lmi_emit *e, struct lmd_opnd z, uint32_t pair, struct lmd_opnd x,
		      struct lmd_opnd y)
{
	struct lmi_w a = lmi_w(e, &lora_rows[pair]), b = lmi_w(e, &lora_rows[pair + 1]);
	uint32_t h = lmi_f32(e, a.n, "lora");
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);

	op.u.linear.x = z;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = a.id;
	op.u.linear.ids = lmi_row_in(IN_SLOT, 1);
	op.u.linear.y[0] = lmi_whole(e, h);
	lmi_put(e, &op);

	op = lmi_op(LMD_OP_LINEAR);
	op.u.linear.x = lmi_whole(e, h);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = b.id;
	op.u.linear.ids = lmi_row_in(IN_SLOT, 1);
	op.u.linear.r_in[0] = x;
	op.u.linear.r_out[0] = y;
	lmi_put(e, &op);
}

static uint32_t switched(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_tensor_row *row,
			 uint32_t pair, const char *name)
{
	struct lmi_w w = lmi_w(e, row);
	uint32_t base = lmi_linear(e, x, NULL, &w, LMD_VTYPE_F32, "base"),
		 y = lmi_f32(e, w.n, name);

	add_delta(e, x, pair, lmi_whole(e, base), lmi_whole(e, y));
	return y;
}

static uint32_t attention(struct lmi_emit *e, struct lmd_opnd x)
{
	const struct lmi_hparams *hp = e->hp;
	const struct lmi_layer *l = lmi_cur(e);
	const uint32_t nq = l->n_head * l->dk, nk = l->n_head_kv * l->dk, nv = l->n_head_kv * l->dv;
	struct lmi_w w = lmi_w(e, &lmi_rows[T_ATTN_QKV]);
	uint32_t base = lmi_linear(e, x, NULL, &w, LMD_VTYPE_F32, "qkv_base");
	uint32_t qkv = lmi_f32(e, nq + nk + nv, "qkv"), q = lmi_act(e, nq, "q_rot");
	uint32_t y = lmi_act(e, l->n_head * l->dv, "attn");
	struct lmd_op op = lmi_op(LMD_OP_ROPE_KV);

	add_delta(e, x, A_Q, lmi_cols(base, 0, nq), lmi_cols(qkv, 0, nq));
	add_delta(e, x, A_K, lmi_cols(base, nq, nk), lmi_cols(qkv, nq, nk));
	add_delta(e, x, A_V, lmi_cols(base, nq + nk, nv), lmi_cols(qkv, nq + nk, nv));
	op.u.rope_kv.q = lmi_heads(qkv, 0, l->n_head, l->dk);
	op.u.rope_kv.k = lmi_heads(qkv, nq, l->n_head_kv, l->dk);
	op.u.rope_kv.v = lmi_heads(qkv, nq + nk, l->n_head_kv, l->dv);
	op.u.rope_kv.q_out = lmi_heads(q, 0, l->n_head, l->dk);
	op.u.rope_kv.rope = lmi_rope(e, l->rope, l->n_rot);
	op.u.rope_kv.cache = l->cache;
	op.u.rope_kv.append = LMD_APPEND_K | LMD_APPEND_V;
	lmi_put(e, &op);

	op = lmi_op(LMD_OP_ATTN);
	op.u.attn.q = lmi_heads(q, 0, l->n_head, l->dk);
	op.u.attn.y = lmi_heads(y, 0, l->n_head, l->dv);
	op.u.attn.n_kv_head = l->n_head_kv;
	op.u.attn.src[0].kind = LMD_KV_CACHE;
	op.u.attn.src[0].cache = l->cache;
	op.u.attn.src[0].group = l->group;
	op.u.attn.scale = hp->attn_scale != 0.0f ? hp->attn_scale : 1.0f / sqrtf((float)l->dk);
	lmi_put(e, &op);
	return switched(e, lmi_whole(e, y), &lmi_rows[T_ATTN_OUT], A_O, "attn_out");
}

static uint32_t feed_forward(struct lmi_emit *e, struct lmd_opnd x)
{
	uint32_t gate = switched(e, x, &lmi_rows[T_FFN_GATE], A_GATE, "gate");
	uint32_t up = switched(e, x, &lmi_rows[T_FFN_UP], A_UP, "up");
	uint32_t act = lmi_f32(e, lmi_width(e, up), "ffn_act");

	lmi_put_glu(e, LMD_ACT_SILU, NULL, lmi_whole(e, gate), lmi_whole(e, up), lmi_whole(e, act));
	return switched(e, lmi_whole(e, act), &lmi_rows[T_FFN_DOWN], A_DOWN, "ffn");
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	const float a = d->hp.residual_scale != 0.0f ? d->hp.residual_scale : 1.0f;
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);

	(void)pass;
	lmi_add_later(e, s, attention(e, lmi_normed(e, &io, "attn_norm")), a);
	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	lmi_add_later(e, s, feed_forward(e, lmi_normed(e, &io, "ffn_norm")), a);
}

/* Embeds tokens, with control tokens replaced by their substitutes. */
static uint32_t embed(struct lmi_emit *e, const struct lmi_decoder *d)
{
	struct lmd_op op = lmi_op(LMD_OP_EMBED);
	uint32_t x = lmi_f32(e, d->hp.n_embd, "x");

	op.u.embed.y = lmi_whole(e, x);
	op.u.embed.table = lmi_w(e, &lmi_rows[T_TOKEN_EMBD]).id;
	op.u.embed.idx_kind = LMD_IDX_OPND;
	op.u.embed.idx = lmi_row_in(IN_TOKEN, 1);
	op.u.embed.n_id = 1;
	if (d->hp.embd_scale != 0.0f)
		op.u.embed.scale = d->hp.embd_scale;
	lmi_put(e, &op);
	return x;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.adjust = adjust,
	.describe = describe_rows,
	.embed = embed,
	.layer = layer,
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	return lmi_decoder_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				    err);
}

const struct lmd_arch_ops lmi_arch_graniteswitch = {
	.struct_size = sizeof(struct lmd_arch_ops), .n_sets = LMD_LEN(sets), .sets = sets,
	.describe = describe, .dim = dim, .layer_class = lmi_hp_layer_class,
	.build = lmi_decoder_build, .rows = rows,
};

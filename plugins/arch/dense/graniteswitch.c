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
	ARCH_SET_GLOBAL,          ARCH_SET_ATTN_NORM, ARCH_ROWS_REQ(T_ATTN_QKV, T_ATTN_OUT),
	ARCH_SET_FFN_NORM,        ARCH_SET_FFN,       ARCH_SET_ROPE_FACTORS,
	ARCH_ROWS_OWN(lora_rows),
};

/* ---- description ---- */

static const uint32_t *ids(struct arch_hparams *hp, struct arch_keys *k, const char *key,
			   uint32_t n)
{
	uint32_t *v = arch_hp_alloc(hp, k, n, sizeof(*v));

	if (v && (!arch_key_is_array(k, key) || arch_key_len(k, key) != n))
		arch_key_fail(k, LMD_INVALID,
			      "%s.%s: %llu values, expected one for each of %u adapters",
			      hp->model->arch, key, (unsigned long long)arch_key_len(k, key), n);
	if (v && k->st == LMD_OK)
		(void)arch_key_u32s(k, key, ARCH_REQUIRED, v, n, 0, 0, hp->n_vocab - 1);
	return v;
}

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	struct adapters *a = arch_hp_alloc(hp, k, 1, sizeof(*a));
	bool rotates = arch_key_bool(k, "rope.scaling.finetuned", ARCH_OPTIONAL, true);

	arch_granite_scales(hp, k);
	for (uint32_t il = 0; il < hp->n_layer && !rotates; il++)
		hp->layer[il].rope = LMD_NONE;
	if (!a)
		return;
	hp->arch_data = a;
	a->n = arch_key_u32(k, "adapters.count", ARCH_REQUIRED, 1, 1, MAX_ADAPTER);
	a->rank = arch_key_u32(k, "adapters.lora_rank", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_WIDTH);
	a->gain = arch_key_f64(k, "adapters.router_gain", ARCH_OPTIONAL, 10.0, 0.0, 1e4);
	if (k->st != LMD_OK)
		return;
	a->token = ids(hp, k, "adapters.token_ids_activate", a->n);
	a->substitute = ids(hp, k, "adapters.token_ids_substitute", a->n);
}

static void describe_rows(struct arch_hparams *hp, struct lmd_arch_desc *out)
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
	const struct arch_hparams *hp = state;
	const struct adapters *a = hp->arch_data;

	return symbol == D_SLOTS  ? (int64_t)a->n + 1
	       : symbol == D_RANK ? a->rank
				  : arch_hp_dim(state, symbol, layer);
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
	const struct arch_hparams *hp = state;

	for (uint32_t s = 0; s < in->step->head->n_seq; s++)
		slots_of(hp->arch_data, in, s, out->row_in[IN_TOKEN], out->row_in[IN_SLOT]);
	return LMD_OK;
}

/* ---- building ---- */

/* y = x + B_slot A_slot z; x and y are column windows of the same width. */
static void add_delta(struct arch_emit *e, struct lmd_operand z, uint32_t pair,
		      struct lmd_operand x, struct lmd_operand y)
{
	struct arch_weight a = arch_weight_req(e, &lora_rows[pair]),
			   b = arch_weight_req(e, &lora_rows[pair + 1]);
	uint32_t h = arch_value_f32(e, a.n, "lora");
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);

	op.u.linear.x = z;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = a.id;
	op.u.linear.ids = arch_operand_row_input(IN_SLOT, 1);
	op.u.linear.y[0] = arch_operand_all(e, h);
	arch_emit_op(e, &op);

	op = arch_op_empty(LMD_OP_LINEAR);
	op.u.linear.x = arch_operand_all(e, h);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = b.id;
	op.u.linear.ids = arch_operand_row_input(IN_SLOT, 1);
	op.u.linear.r_in[0] = x;
	op.u.linear.r_out[0] = y;
	arch_emit_op(e, &op);
}

static uint32_t switched(struct arch_emit *e, struct lmd_operand x,
			 const struct lmd_tensor_row *row, uint32_t pair, const char *name)
{
	struct arch_weight w = arch_weight_req(e, row);
	uint32_t base = arch_linear(e, x, NULL, &w, LMD_VTYPE_F32, "base"),
		 y = arch_value_f32(e, w.n, name);

	add_delta(e, x, pair, arch_operand_all(e, base), arch_operand_all(e, y));
	return y;
}

static uint32_t attention(struct arch_emit *e, struct lmd_operand x)
{
	const struct arch_hparams *hp = e->hp;
	const struct arch_layer *l = arch_current_layer(e);
	const uint32_t nq = l->n_head * l->dk, nk = l->n_head_kv * l->dk, nv = l->n_head_kv * l->dv;
	struct arch_weight w = arch_weight_req(e, &arch_rows[T_ATTN_QKV]);
	uint32_t base = arch_linear(e, x, NULL, &w, LMD_VTYPE_F32, "qkv_base");
	uint32_t qkv = arch_value_f32(e, nq + nk + nv, "qkv"), q = arch_value_act(e, nq, "q_rot");
	uint32_t y = arch_value_act(e, l->n_head * l->dv, "attn");
	struct lmd_op op = arch_op_empty(LMD_OP_ROPE_KV);

	add_delta(e, x, A_Q, arch_operand_cols(base, 0, nq), arch_operand_cols(qkv, 0, nq));
	add_delta(e, x, A_K, arch_operand_cols(base, nq, nk), arch_operand_cols(qkv, nq, nk));
	add_delta(e, x, A_V, arch_operand_cols(base, nq + nk, nv),
		  arch_operand_cols(qkv, nq + nk, nv));
	op.u.rope_kv.q = arch_operand_heads(qkv, 0, l->n_head, l->dk);
	op.u.rope_kv.k = arch_operand_heads(qkv, nq, l->n_head_kv, l->dk);
	op.u.rope_kv.v = arch_operand_heads(qkv, nq + nk, l->n_head_kv, l->dv);
	op.u.rope_kv.q_out = arch_operand_heads(q, 0, l->n_head, l->dk);
	op.u.rope_kv.rope = arch_rope(e, l->rope, l->n_rot);
	op.u.rope_kv.cache = l->cache;
	op.u.rope_kv.append = LMD_APPEND_K | LMD_APPEND_V;
	arch_emit_op(e, &op);

	op = arch_op_empty(LMD_OP_ATTN);
	op.u.attn.q = arch_operand_heads(q, 0, l->n_head, l->dk);
	op.u.attn.y = arch_operand_heads(y, 0, l->n_head, l->dv);
	op.u.attn.n_kv_head = l->n_head_kv;
	op.u.attn.src[0].kind = LMD_KV_CACHE;
	op.u.attn.src[0].cache = l->cache;
	op.u.attn.src[0].group = l->group;
	op.u.attn.scale = hp->attn_scale != 0.0f ? hp->attn_scale : 1.0f / sqrtf((float)l->dk);
	arch_emit_op(e, &op);
	return switched(e, arch_operand_all(e, y), &arch_rows[T_ATTN_OUT], A_O, "attn_out");
}

static uint32_t feed_forward(struct arch_emit *e, struct lmd_operand x)
{
	uint32_t gate = switched(e, x, &arch_rows[T_FFN_GATE], A_GATE, "gate");
	uint32_t up = switched(e, x, &arch_rows[T_FFN_UP], A_UP, "up");
	uint32_t act = arch_value_f32(e, arch_width(e, up), "ffn_act");

	arch_put_glu(e, LMD_ACT_FN_SILU, NULL, arch_operand_all(e, gate), arch_operand_all(e, up),
		     arch_operand_all(e, act));
	return switched(e, arch_operand_all(e, act), &arch_rows[T_FFN_DOWN], A_DOWN, "ffn");
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	const float a = d->hp.residual_scale != 0.0f ? d->hp.residual_scale : 1.0f;
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);

	(void)pass;
	arch_residual_defer_add(e, s, attention(e, arch_normalised_input(e, &io, "attn_norm")), a);
	n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	io = arch_residual_read(e, s, &n);
	arch_residual_defer_add(e, s, feed_forward(e, arch_normalised_input(e, &io, "ffn_norm")),
				a);
}

/* Embeds tokens, with control tokens replaced by their substitutes. */
static uint32_t embed(struct arch_emit *e, const struct arch_decoder *d)
{
	struct lmd_op op = arch_op_empty(LMD_OP_EMBED);
	uint32_t x = arch_value_f32(e, d->hp.n_embd, "x");

	op.u.embed.y = arch_operand_all(e, x);
	op.u.embed.table = arch_weight_req(e, &arch_rows[T_TOKEN_EMBD]).id;
	op.u.embed.idx_kind = LMD_IDX_OPERAND;
	op.u.embed.idx = arch_operand_row_input(IN_TOKEN, 1);
	op.u.embed.n_id = 1;
	if (d->hp.embd_scale != 0.0f)
		op.u.embed.scale = d->hp.embd_scale;
	arch_emit_op(e, &op);
	return x;
}

static const struct arch_decoder_traits traits = {
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
	return arch_decoder_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				     err);
}

const struct lmd_arch_ops arch_graniteswitch = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = dim,
	.layer_class = arch_hp_layer_class,
	.build = arch_decoder_build,
	.rows = rows,
};

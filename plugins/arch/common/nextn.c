/* SPDX-License-Identifier: MIT
 *
 * nextn.c - draft layers: heads that predict one token more (multi-token prediction, arXiv 2404.19737;
 * as trained in DeepSeek-V3, arXiv 2412.19437, section 2.2).
 *
 * A file with nextn_predict_layers has them after the trunk's layers. Such a layer joins the normalised
 * embedding of a token with the normalised hidden row of the token before it by a matrix, and is a usual
 * layer from there on:
 *
 *     x_r = W [norm_e(E[token r]) | norm_h(h_(r-1))];  logits_r = head(norm(layer(x)_r))
 *
 * h is the trunk's stream after its last norm. After the first draft token it is the draft layer's own,
 * also after its last norm, so that one layer drafts any number of tokens. Some architectures read both before the
 * norm. */
#include <stdio.h>

#include "arch/common/decoder.h"

/* The shapes are checked when the plan is built. */
const struct lmd_tensor_row arch_nextn_rows[ARCH_NEXTN_N] = {
	[ARCH_NEXTN_JOIN] = {.stem = "blk.%d.nextn.eh_proj"},
	[ARCH_NEXTN_E_NORM] = {.stem = "blk.%d.nextn.enorm"},
	[ARCH_NEXTN_H_NORM] = {.stem = "blk.%d.nextn.hnorm"},
	[ARCH_NEXTN_EMBED] = {.stem = "blk.%d.nextn.embed_tokens"},
	[ARCH_NEXTN_HEAD_NORM] = {.stem = "blk.%d.nextn.shared_head_norm"},
	[ARCH_NEXTN_LAYER_NORM] =
		{.stem = "blk.%d.layer_output_norm"}, /* some files call HEAD_NORM so */
	[ARCH_NEXTN_HEAD] = {.stem = "blk.%d.nextn.shared_head_head"},
};

/* ---- description ---- */

/* Does the shared decoder compute all that these traits need for a layer of its own? */
static bool has_usual_layers(const struct arch_decoder *d)
{
	const struct arch_decoder_traits *t = d->traits;

	return (!t->layer || t->draft_layer) && !t->draft_differs && !t->embed && !t->begin &&
	       !t->after && !t->between && !t->pos_embd && t->embd_norm == ARCH_EMBD_NORM_NONE;
}

/* The layer of the trunk that a draft layer is like: the last one that attends to all keys, or has a window. Without
 * one, draft layers cannot be run. */
static const struct arch_layer *like(const struct arch_hparams *hp, bool window)
{
	for (uint32_t il = hp->n_layer; il-- > 0;) {
		const struct arch_layer *l = &hp->layer[il];

		if ((l->cls & ARCH_L_ATTN) && l->kv_layer == il && (l->window != 0) == window &&
		    !l->chunk)
			return l;
	}
	return NULL;
}

uint32_t arch_nextn_count(const struct arch_hparams *hp, const struct lmd_arch_params *params)
{
	uint32_t most = params && LMD_HAS(params, n_draft) ? params->n_draft : 0, n = 0;

	if (!hp->causal || hp->n_pass != 1 || hp->n_rank > 1)
		return 0;
	for (; n < most && hp->n_layer + n < hp->n_layer_all; n++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "blk.%u.nextn.eh_proj.weight", hp->n_layer + n);
		if (arch_hp_tensor(hp, name) == LMD_NONE)
			break;
	}
	return n;
}

void arch_nextn_describe(struct arch_decoder *d, const struct lmd_arch_params *params)
{
	struct arch_hparams *hp = &d->hp;
	const struct arch_layer *l = like(hp, d->traits->draft_window);
	uint32_t n = arch_nextn_count(hp, params);

	if (!l || !has_usual_layers(d))
		return;
	for (uint32_t il = hp->n_layer; il < hp->n_layer + n; il++) {
		hp->layer[il] = *l;
		hp->layer[il].kv_layer = il;
		hp->layer[il].deepstack_before = hp->layer[il].deepstack_after = 0;
		if (d->traits->draft)
			d->traits->draft(hp, il);
		hp->n_draft++;
	}
}

/* ---- building ---- */

uint32_t arch_nextn_embed(struct arch_emit *e)
{
	const struct arch_hparams *hp = e->hp;
	struct lmd_op op = arch_op_empty(LMD_OP_EMBED);
	uint32_t x = arch_value_f32(e, hp->n_embd, "token");

	op.u.embed.y = arch_operand_cols(x, 0, hp->n_embd);
	op.u.embed.table = arch_weight_opt(e, &arch_nextn_rows[ARCH_NEXTN_EMBED]).id;
	if (op.u.embed.table == LMD_NONE)
		op.u.embed.table = arch_weight_exists(e, &arch_rows[T_TOKEN_EMBD])
					   ? arch_weight_req(e, &arch_rows[T_TOKEN_EMBD]).id
					   : arch_weight_req(e, &arch_rows[T_OUTPUT]).id;
	op.u.embed.idx_kind = LMD_IDX_TOKEN;
	op.u.embed.neg = LMD_NEG_ZERO;
	if (hp->embd_scale != 0.0f)
		op.u.embed.scale = hp->embd_scale;
	arch_emit_op(e, &op);
	return x;
}

/* The first stream of the layer: the embedding and the hidden row, joined. */
static uint32_t joined(struct arch_emit *e)
{
	const uint32_t n = e->hp->n_embd;
	const struct lmd_input in = {.space = LMD_SPACE_TOKENS,
				     .vtype = LMD_VTYPE_F32,
				     .width = n,
				     .name = "hidden"};
	struct lmd_norm enorm =
		arch_norm_req(e, e->hp->norm_kind, &arch_nextn_rows[ARCH_NEXTN_E_NORM]);
	struct lmd_norm hnorm =
		arch_norm_req(e, e->hp->norm_kind, &arch_nextn_rows[ARCH_NEXTN_H_NORM]);
	struct arch_weight w = arch_weight_req(e, &arch_nextn_rows[ARCH_NEXTN_JOIN]);
	struct lmd_operand hidden = {.src = LMD_SRC_INPUT,
				     .id = e->b->input(e->b->ctx, &in),
				     .n_head = 1,
				     .head_stride = n,
				     .width = n,
				     .fold = 1};
	uint32_t token = arch_nextn_embed(e), both = arch_value_act(e, 2 * n, "token_hidden");

	arch_put_norm(e, arch_operand_cols(token, 0, n), &enorm, arch_operand_cols(both, 0, n));
	arch_put_norm(e, hidden, &hnorm, arch_operand_cols(both, n, n));
	return arch_linear(e, arch_operand_cols(both, 0, 2 * n), NULL, &w, LMD_VTYPE_F32, "x");
}

const struct lmd_tensor_row *arch_nextn_head_norm(const struct arch_emit *e)
{
	for (uint32_t i = ARCH_NEXTN_HEAD_NORM; i <= ARCH_NEXTN_LAYER_NORM; i++)
		if (arch_weight_exists(e, &arch_nextn_rows[i]))
			return &arch_nextn_rows[i];
	return NULL;
}

static struct lmd_norm head_norm(struct arch_emit *e, const struct arch_decoder *d)
{
	const struct arch_decoder_traits *t = d->traits;
	const struct lmd_tensor_row *row = arch_nextn_head_norm(e);

	if (row)
		return arch_norm_req(e, t->draft_norm ? t->draft_norm : d->hp.norm_kind, row);
	return t->final_norm ? arch_norm_req(e, d->hp.norm_kind, t->final_norm)
			     : arch_decoder_norm(e, d, 0, T_OUTPUT_NORM);
}

void arch_nextn_head(struct arch_emit *e, struct lmd_operand x, uint32_t bias)
{
	struct lmd_norm none = arch_no_norm();
	struct arch_weight head = arch_weight_opt(e, &arch_nextn_rows[ARCH_NEXTN_HEAD]);

	if (head.id == LMD_NONE)
		head = arch_weight_output(e);
	head.site = LMD_NONE;
	arch_emit_head(e, x, &none, &head, bias);
}

void arch_nextn_build(struct arch_emit *e, const struct arch_decoder *d)
{
	const struct arch_decoder_traits *t = d->traits;
	struct arch_residual s = {.z = LMD_NONE, .a = 1.0f};
	struct arch_block_io io;
	struct lmd_norm last;
	struct lmd_operand x;
	uint32_t stream;

	arch_set_layer(e, (int32_t)(d->hp.n_layer + d->key->variant));
	s.x = joined(e);
	if (t->layer)
		t->layer(e, d, &s, 0);
	else
		arch_decoder_layer(e, d, &s, 0);
	last = head_norm(e, d);
	stream = t->draft_stream ? arch_residual_flush(e, &s) : LMD_NONE;
	io = arch_residual_read(e, &s, &last);
	x = arch_normalised_stream(e, &io);
	if (d->key->flags & LMD_PLAN_HIDDEN)
		e->b->output(e->b->ctx, LMD_OUT_TAP, t->draft_stream ? stream : x.id);
	arch_nextn_head(e, x, t->logit_bias ? t->logit_bias(e, d) : LMD_NONE);
}

/* SPDX-License-Identifier: MIT
 *
 * decoder.c - the shared decoder.  See decoder.h. */
#include "arch/common/decoder.h"

#include <math.h>

#include "arch/common/keys.h"

/* ---- description ---- */

static void rotation_of_layers(struct arch_hparams *hp, const struct arch_decoder_traits *t)
{
	bool windows = false;

	for (uint32_t il = 0; il < hp->n_layer; il++)
		windows |= hp->layer[il].window > 0;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		if ((t->nope_period && (il + 1) % t->nope_period == 0) ||
		    (t->nope_full && windows && !l->window))
			l->rope = LMD_NONE;
	}
}

static void row_inputs(struct arch_hparams *hp, struct arch_keys *k, struct lmd_arch_desc *out)
{
	struct lmd_row_in *r;

	if (hp->attn_temp_scale == 0.0f)
		return;
	r = arch_hp_alloc(hp, k, 1, sizeof(*r));
	if (!r)
		return;
	*r = (struct lmd_row_in){.vtype = LMD_VTYPE_F32, .width = 1, .name = "q_temp"};
	out->row_ins = r;
	out->n_row_in = 1;
}

struct arch_decoder *arch_decoder_open(size_t bytes, const struct arch_decoder_traits *t,
				       struct arch_keys *k, const struct lmd_host *host,
				       struct lmd_arena *arena,
				       const struct lmd_arch_params *params)
{
	struct arch_decoder *d = host->arena_alloc(host->ctx, arena, bytes, 16);

	if (!d) {
		arch_key_fail(k, LMD_NOMEM, "architecture %s: out of memory", k->model->arch);
		return NULL;
	}
	d->traits = t;
	arch_hp_read(&d->hp, k, host, arena, params, &t->hp);
	if (k->st != LMD_OK)
		return NULL;
	d->hp.norm_placement = t->norm_placement;
	d->hp.n_rank = params ? params->n_rank : 0;
	arch_hp_floats(&d->hp, k, t->floats, t->n_floats);
	if (t->adjust)
		t->adjust(&d->hp, k);
	rotation_of_layers(&d->hp, t);
	if (t->own_plan)
		return k->st == LMD_OK ? d : NULL;
	if (k->st == LMD_OK)
		arch_nextn_describe(d, params);
	arch_taps_describe(&d->hp, params);
	if (d->hp.n_draft && t->draft_stream) {
		d->hp.n_tap = 1;
		d->hp.taps[0] = d->hp.n_layer;
	}
	return k->st == LMD_OK ? d : NULL;
}

enum lmd_status arch_decoder_close(struct arch_decoder *d, struct arch_keys *k,
				   const struct lmd_tensor_set *sets, uint32_t n_sets,
				   const struct lmd_arch_params *params, struct lmd_arch_desc *out)
{
	arch_hp_memory(&d->hp, k, d->hp.n_pass);
	if (d->traits->memory && k->st == LMD_OK)
		d->traits->memory(&d->hp, k);
	arch_hp_sites(&d->hp, k, sets, n_sets);
	if (k->st == LMD_OK)
		arch_hp_finish(&d->hp, k, params, out);
	if (k->st == LMD_OK)
		row_inputs(&d->hp, k, out);
	if (k->st == LMD_OK && d->traits->describe)
		d->traits->describe(&d->hp, out);
	return k->st;
}

enum lmd_status arch_decoder_describe(const struct arch_decoder_traits *t,
				      const struct lmd_tensor_set *sets, uint32_t n_sets,
				      const struct lmd_host *host, struct lmd_arena *arena,
				      const struct lmd_model *model,
				      const struct lmd_arch_params *params,
				      struct lmd_arch_desc *out, struct lmd_error *err)
{
	struct arch_decoder *d;
	struct arch_keys k;

	arch_keys_init(&k, model, err);
	d = arch_decoder_open(sizeof(*d), t, &k, host, arena, params);
	return d ? arch_decoder_close(d, &k, sets, n_sets, params, out) : k.st;
}

/* ---- building ---- */

struct lmd_norm arch_decoder_norm(struct arch_emit *e, const struct arch_decoder *d, uint32_t row,
				  uint32_t def)
{
	if (d->traits->bare_norm)
		return arch_norm(e, d->hp.norm_kind, NULL);
	return arch_norm_req(e, d->hp.norm_kind, &arch_rows[row ? row : def]);
}

struct arch_attn arch_decoder_attn(struct arch_emit *e, const struct arch_decoder *d, uint32_t pass)
{
	const struct arch_decoder_traits *t = d->traits;
	struct arch_attn a = arch_attn_default(e, pass);

	a.qk_norm = t->qk_norm;
	a.qk_norm_kind = t->qk_norm_kind ? t->qk_norm_kind : LMD_NORM_RMS;
	a.qk_norm_after = t->qk_norm_after;
	a.sinks = t->sinks ? &arch_rows[T_ATTN_SINKS] : NULL;
	a.gate = t->gate;
	a.gate_row = &arch_rows[T_ATTN_GATE];
	a.out_bias_ignored = t->out_bias_ignored;
	if (d->hp.attn_temp_scale != 0.0f)
		a.q_row_in = 0;
	if (t->attn)
		t->attn(e, d, &a);
	return a;
}

struct arch_ffn arch_decoder_ffn(struct arch_emit *e, const struct arch_decoder *d)
{
	const struct arch_decoder_traits *t = d->traits;
	struct arch_ffn f = arch_ffn_default();

	f.act = t->act ? t->act : LMD_ACT_FN_SILU;
	f.fused = t->ffn_fused;
	if (t->ffn_plain)
		f.gate = NULL;
	if (t->ffn)
		t->ffn(e, d, &f);
	return f;
}

static struct arch_moe decoder_moe(struct arch_emit *e, const struct arch_decoder *d)
{
	const struct arch_decoder_traits *t = d->traits;
	struct arch_moe m = arch_moe_default(e);

	m.act = t->act ? t->act : LMD_ACT_FN_SILU;
	m.need_gate = t->moe_gate;
	m.shared.act = m.act;
	m.shared.fused = t->shared_fused;
	if (t->moe)
		t->moe(e, d, &m);
	return m;
}

uint32_t arch_decoder_ffn_block(struct arch_emit *e, const struct arch_decoder *d,
				const struct arch_block_io *io)
{
	if (arch_current_layer(e)->cls & ARCH_L_MOE) {
		struct arch_moe m = decoder_moe(e, d);

		return arch_moe(e, io, &m);
	} else {
		struct arch_ffn f = arch_decoder_ffn(e, d);

		return arch_ffn(e, io, &f);
	}
}

static float residual(const struct arch_decoder *d)
{
	return d->hp.residual_scale != 0.0f ? d->hp.residual_scale : 1.0f;
}

/* Makes norm(y) the stream's pending addition. */
static void post_norm(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		      uint32_t y, uint32_t row, uint32_t def)
{
	struct lmd_norm n = arch_decoder_norm(e, d, row, def);
	uint32_t z = arch_value_act(e, d->hp.n_embd, "post_norm");

	n.eps = d->hp.eps_post != 0.0f ? d->hp.eps_post : n.eps;
	arch_put_norm(e, arch_operand_all(e, y), &n, arch_operand_all(e, z));
	arch_residual_defer_add(e, s, z, residual(d));
}

/* Input of a block, depending on the norm placement. */
static struct arch_block_io block_input(struct arch_emit *e, const struct arch_decoder *d,
					struct arch_residual *s, uint32_t row, uint32_t def)
{
	uint32_t placement = d->hp.norm_placement;
	struct lmd_norm n =
		placement == ARCH_NORM_POST ? arch_no_norm() : arch_decoder_norm(e, d, row, def);
	struct arch_block_io io = arch_residual_read(e, s, &n);

	io.a = residual(d);
	if (placement == ARCH_NORM_POST || placement == ARCH_NORM_SANDWICH)
		io.res = LMD_NONE;
	return io;
}

/* Takes the result y of a block into the stream, depending on the norm placement. */
static void block_output(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
			 uint32_t y, uint32_t row, uint32_t def)
{
	if (d->hp.norm_placement == ARCH_NORM_POST || d->hp.norm_placement == ARCH_NORM_SANDWICH)
		post_norm(e, d, s, y, row, def);
	else
		s->x = y;
}

/* Both blocks share a norm, or each has its own (if the file has attn_norm_2 or ffn_norm). */
static void parallel_layer(struct arch_emit *e, const struct arch_decoder *d,
			   struct arch_residual *s, uint32_t pass)
{
	bool two = arch_weight_exists(e, &arch_rows[T_ATTN_NORM_2]),
	     ffn = arch_weight_exists(e, &arch_rows[T_FFN_NORM]);
	struct arch_attn a = arch_decoder_attn(e, d, pass);
	struct arch_block_io io = block_input(e, d, s, two ? T_ATTN_NORM_2 : 0, T_ATTN_NORM), f;

	if (two || ffn) {
		f = block_input(e, d, s, ffn ? T_FFN_NORM : 0, T_ATTN_NORM);
	} else {
		io.x = arch_normalised_input(e, &io, "attn_norm");
		io.norm = arch_no_norm();
		f = io;
	}
	f.res = arch_attn(e, &io, &a);
	s->x = arch_decoder_ffn_block(e, d, &f);
}

void arch_decoder_layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
			uint32_t pass)
{
	const struct arch_decoder_traits *t = d->traits;
	const struct arch_layer *l = arch_current_layer(e);
	struct arch_block_io io;
	uint32_t y;

	if (d->hp.norm_placement == ARCH_NORM_PARALLEL) {
		parallel_layer(e, d, s, pass);
		return;
	}
	if (l->cls & ARCH_L_ATTN) {
		struct arch_attn a = arch_decoder_attn(e, d, pass);

		io = block_input(e, d, s, t->t_attn_norm, T_ATTN_NORM);
		y = arch_attn(e, &io, &a);
		block_output(e, d, s, y, t->t_attn_post, T_POST_ATTN_NORM);
	} else if (t->mixer && (l->cls & ARCH_L_RECURRENT)) {
		io = block_input(e, d, s, t->t_attn_norm, T_ATTN_NORM);
		y = t->mixer(e, d, &io);
		block_output(e, d, s, y, t->t_attn_post, T_POST_ATTN_NORM);
	}
	if (l->cls & (ARCH_L_DENSE | ARCH_L_MOE)) {
		io = block_input(e, d, s, t->t_ffn_norm, T_FFN_NORM);
		y = arch_decoder_ffn_block(e, d, &io);
		block_output(e, d, s, y, t->t_ffn_post, T_POST_FFN_NORM);
	}
}

/* Adds more columns of external rows to the stream around the first layers (DeepStack,
 * arXiv 2406.04334); token rows have none. */
static void deepstack(struct arch_emit *e, const struct arch_hparams *hp, struct arch_residual *s,
		      uint32_t block)
{
	struct lmd_op op = arch_op_empty(LMD_OP_GATHER);
	uint32_t y;

	if (!block)
		return;
	y = arch_value_act(e, hp->n_embd, "deepstack");
	op.u.gather.x = (struct lmd_operand){.src = LMD_SRC_INPUT,
					     .id = 0,
					     .col0 = block * hp->n_embd,
					     .n_head = 1,
					     .head_stride = hp->n_embd,
					     .width = hp->n_embd,
					     .fold = 1};
	op.u.gather.y = arch_operand_cols(y, 0, hp->n_embd);
	op.u.gather.idx_kind = LMD_IDX_EXT;
	arch_emit_op(e, &op);
	arch_residual_defer_add(e, s, y, 1.0f);
}

static void layers(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		   uint32_t pass)
{
	const struct arch_decoder_traits *t = d->traits;

	for (uint32_t il = 0; il < d->hp.n_layer; il++) {
		arch_set_layer(e, (int32_t)il);
		arch_taps_keep(e, d->key, s, il);
		deepstack(e, &d->hp, s, d->hp.layer[il].deepstack_before);
		if (t->layer)
			t->layer(e, d, s, pass);
		else
			arch_decoder_layer(e, d, s, pass);
		if (t->after)
			t->after(e, d, s);
		deepstack(e, &d->hp, s, d->hp.layer[il].deepstack_after);
	}
	arch_taps_keep(e, d->key, s, d->hp.n_layer);
}

static uint32_t embed(struct arch_emit *e, const struct arch_decoder *d)
{
	const struct arch_decoder_traits *t = d->traits;
	const struct lmd_tensor_row *pos = &arch_rows[T_POS_EMBD];
	uint32_t x = arch_embed_pos(e, t->pos_embd && arch_weight_exists(e, pos) ? pos : NULL, 0),
		 y;
	struct lmd_norm n;

	if (t->embd_norm == ARCH_EMBD_NORM_NONE)
		return x;
	n = t->embd_norm == ARCH_EMBD_NORM_BARE
		    ? arch_norm(e, d->hp.norm_kind, NULL)
		    : arch_norm_req(e, d->hp.norm_kind, &arch_rows[T_TOKEN_EMBD_NORM]);
	y = arch_value_f32(e, d->hp.n_embd, "x_norm");
	arch_put_norm(e, arch_operand_all(e, x), &n, arch_operand_all(e, y));
	return y;
}

enum lmd_status arch_decoder_build(const void *state, const struct lmd_builder *b,
				   const struct lmd_plan_key *key)
{
	struct arch_decoder d = *(const struct arch_decoder *)state;
	const struct arch_decoder_traits *t = d.traits;
	struct arch_residual s = {.z = LMD_NONE, .a = 1.0f};
	struct lmd_norm n;
	struct arch_emit e;

	d.key = key;
	arch_emit_init(&e, b, &d.hp, key);
	if (key->kind == LMD_PLAN_DRAFT && key->variant < d.hp.n_draft) {
		arch_nextn_build(&e, &d);
		return b->status(b->ctx);
	}
	if (key->kind != LMD_PLAN_FORWARD) {
		b->fail(b->ctx, LMD_UNSUPPORTED,
			"architecture %s: plan kind %u of variant %u; it has kind %d, and kind %d of "
			"variants below %u",
			d.hp.model->arch, key->kind, key->variant, LMD_PLAN_FORWARD,
			LMD_PLAN_DRAFT, d.hp.n_draft);
		return LMD_UNSUPPORTED;
	}
	s.x = t->embed ? t->embed(&e, &d) : embed(&e, &d);
	if (t->begin)
		t->begin(&e, &d, &s);
	for (uint32_t pass = 0; pass < d.hp.n_pass; pass++) {
		layers(&e, &d, &s, pass);
		if (t->between && pass + 1 < d.hp.n_pass)
			t->between(&e, &d, &s);
	}
	arch_set_layer(&e, -1);
	n = t->final_norm ? arch_norm_req(&e, d.hp.norm_kind, t->final_norm)
			  : arch_decoder_norm(&e, &d, 0, T_OUTPUT_NORM);
	arch_emit_outputs(&e, key, &s, &n, &t->pool,
			  t->logit_bias ? t->logit_bias(&e, &d) : LMD_NONE);
	return b->status(b->ctx);
}

/* Attention temperature of each row: 1 + scale * ln(1 + floor((pos + offset) / length)). */
enum lmd_status arch_decoder_rows(const void *state, const struct lmd_rows_in *in,
				  struct lmd_rows_out *out)
{
	const struct arch_hparams *hp = state;
	float *y = out->row_in[0];

	for (uint32_t t = 0; y && hp->attn_temp_scale != 0.0f && t < in->step->head->n_tok; t++) {
		double p = ((double)in->step->pos[0][t] + (double)hp->attn_temp_offset) /
			   (double)hp->attn_temp_len;

		y[t] = (float)(1.0 + (double)hp->attn_temp_scale * log(1.0 + floor(p)));
	}
	return LMD_OK;
}

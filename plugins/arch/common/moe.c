/* SPDX-License-Identifier: MIT
 *
 * moe.c - mixture of experts: router, expert choice, weighted sum, shared expert.
 *
 * A file stores the experts of a layer merged (one tensor each for gate, up and down, or with gate
 * and up fused as well) or as one tensor per expert; all of these become stacked weights.  The
 * shared expert adds to the same stream; if the file has a gate for it, it is scaled by the sigmoid
 * of one logit. */
#include <string.h>

#include "arch/common/blocks.h"

struct lmi_moe lmi_moe_default(const struct lmi_emit *e)
{
	const struct lmi_hparams *hp = e->hp;
	struct lmi_moe m = {
		.act = LMD_ACT_SILU, .fn = hp->route_fn, .renorm = hp->route_renorm,
		.scale = hp->route_scale, .n_used = hp->n_expert_used,
		.n_group = hp->n_expert_group, .n_group_used = hp->n_expert_group_used,
		.logits = LMD_NONE, .given = LMD_NONE, .down = &lmi_rows[T_FFN_DOWN_EXPS],
		.up = &lmi_rows[T_FFN_UP_EXPS], .gate = &lmi_rows[T_FFN_GATE_EXPS],
		.gate_up = &lmi_rows[T_FFN_GATE_UP_EXPS], .router = &lmi_rows[T_FFN_GATE_INP],
		.probs_b = &lmi_rows[T_EXP_PROBS_B]};

	if (e->il >= 0 && (lmi_cur(e)->cls & LMI_L_SHEXP)) {
		m.shared = lmi_ffn_default();
		m.shared.gate = &lmi_rows[T_FFN_GATE_SHEXP];
		m.shared.up = &lmi_rows[T_FFN_UP_SHEXP];
		m.shared.down = &lmi_rows[T_FFN_DOWN_SHEXP];
		m.shared_gate = &lmi_rows[T_FFN_GATE_INP_SHEXP];
	}
	return m;
}

struct lmd_opnd lmi_normed(struct lmi_emit *e, const struct lmi_io *io, const char *name)
{
	uint32_t y;

	if (io->norm.kind == LMD_NORM_NONE)
		return io->x;
	y = lmi_act(e, io->x.width, name);
	lmi_put_norm(e, io->x, &io->norm, lmi_cols(y, 0, io->x.width));
	return lmi_cols(y, 0, io->x.width);
}

uint32_t lmi_router(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_tensor_row *row)
{
	struct lmi_w w = lmi_w(e, row);

	return lmi_linear(e, x, NULL, &w, LMD_VTYPE_F32, "router");
}

static uint32_t capped(struct lmi_emit *e, uint32_t logits, float cap)
{
	uint32_t width = lmi_width(e, logits), y = lmi_f32(e, width, "router_cap");
	struct lmi_ew p = lmi_ew();
	uint8_t x = lmi_ew_in(&p, lmi_cols(logits, 0, width));
	uint8_t c = lmi_ew_const(&p, cap);

	x = lmi_ew1(&p, LMD_EW_TANH, lmi_ew2(&p, LMD_EW_DIV, x, c));
	lmi_ew_out(e, &p, lmi_ew2(&p, LMD_EW_MUL, x, c), lmi_cols(y, 0, width));
	return y;
}

static void route(struct lmi_emit *e, const struct lmi_moe *m, uint32_t logits, uint32_t ids,
		  uint32_t weights)
{
	struct lmd_op op = lmi_op(LMD_OP_ROUTE);
	struct lmd_op_route *r = &op.u.route;
	char name[128];

	r->logits = lmi_whole(e, logits);
	r->ids = lmi_cols(ids, 0, m->n_used);
	r->weights = lmi_cols(weights, 0, m->n_used);
	r->fn = m->fn;
	r->k = m->n_used;
	r->n_group = m->n_group;
	r->n_group_used = m->n_group_used;
	r->renorm = m->renorm;
	r->scale = m->scale;
	if (m->given != LMD_NONE)
		r->given = lmi_cols(m->given, 0, m->n_used);
	if (m->probs_b) {
		lmi_tensor_name(e, m->probs_b, ".weight", name, sizeof(name));
		r->bias = lmi_w_named(e, name);
	}
	lmi_put(e, &op);
}

static void expert_weights(struct lmi_emit *e, const struct lmi_moe *m, struct lmd_op_moe_ffn *o)
{
	struct lmi_w up, gate = {.id = LMD_NONE, .site = LMD_NONE}, down = lmi_w(e, m->down);

	if (m->gate_up && lmi_has(e, m->gate_up)) {
		up = lmi_w(e, m->gate_up);
		o->gate_up = up.id;
	} else {
		up = lmi_w(e, m->up);
		o->up = up.id;
		if (m->gate)
			gate = m->need_gate ? lmi_w(e, m->gate) : lmi_w_opt(e, m->gate);
		o->gate = gate.id;
	}
	o->down = down.id;
	o->lora_site[0] = gate.site;
	o->lora_site[1] = up.site;
	o->lora_site[2] = down.site;
}

/* Returns r + a * sigmoid(w x) * shared(x). */
static uint32_t gated_shared(struct lmi_emit *e, struct lmd_opnd x, const struct lmi_moe *m,
			     uint32_t r, float a, bool stream)
{
	struct lmi_io io = {.x = x, .norm = lmi_no_norm(), .res = LMD_NONE, .a = 1.0f};
	uint32_t s = lmi_ffn(e, &io, &m->shared), width = lmi_width(e, s);
	struct lmi_w w = lmi_w(e, m->shared_gate);
	uint32_t g = lmi_f32(e, 1, "shared_gate"), y;
	struct lmi_ew p = lmi_ew();
	uint8_t rr, rs, rg;

	lmi_put_linear(e, x, NULL, &w, lmi_cols(g, 0, 1));
	y = stream ? lmi_f32(e, width, "x_shared") : lmi_act(e, width, "moe_sum");
	rr = lmi_ew_in(&p, lmi_cols(r, 0, width));
	rs = lmi_ew_in(&p, lmi_cols(s, 0, width));
	rg = lmi_ew1(&p, LMD_EW_SIGMOID, lmi_ew_in(&p, lmi_cols(g, 0, 1)));
	if (a != 1.0f)
		rg = lmi_ew2(&p, LMD_EW_MUL, rg, lmi_ew_const(&p, a));
	lmi_ew_out(e, &p, lmi_ew3(&p, LMD_EW_FMA, rs, rg, rr), lmi_cols(y, 0, width));
	return y;
}

/* Sets the input and output operands of the experts; returns the output value. */
static uint32_t experts(struct lmi_emit *e, struct lmd_opnd x, const struct lmi_io *io,
			const struct lmi_moe *m, struct lmd_op_moe_ffn *o)
{
	bool stream = io->res != LMD_NONE;
	uint32_t out;

	o->x = x;
	if (stream) {
		out = lmi_f32(e, x.width, "x_moe");
		o->r_in = lmi_cols(io->res, 0, x.width);
		o->r_out = lmi_cols(out, 0, x.width);
	} else {
		out = m->shared.up ? lmi_f32(e, x.width, "moe") : lmi_act(e, x.width, "moe");
		o->y = lmi_cols(out, 0, x.width);
	}
	return out;
}

/* Emits the experts on a narrower (latent) row and the projections around them. */
static uint32_t latent_experts(struct lmi_emit *e, struct lmd_opnd x, const struct lmi_io *io,
			       const struct lmi_moe *m, struct lmd_op *op)
{
	struct lmi_w down = lmi_w(e, m->latent_down), up = lmi_w(e, m->latent_up);
	uint32_t z = lmi_linear(e, x, NULL, &down, LMD_VTYPE_ACT, "latent");
	uint32_t y = lmi_act(e, down.n, "latent_moe");
	struct lmd_norm norm = lmi_no_norm();

	op->u.moe_ffn.a = 1.0f;
	op->u.moe_ffn.x = lmi_whole(e, z);
	op->u.moe_ffn.y = lmi_whole(e, y);
	lmi_put(e, op);
	if (m->latent_norm)
		norm = lmi_norm_req(e, LMD_NORM_RMS, m->latent_norm);
	return lmi_block_out(e, lmi_whole(e, y), &norm, &up, io);
}

uint32_t lmi_moe(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_moe *m)
{
	struct lmd_op op = lmi_op(LMD_OP_MOE_FFN);
	struct lmd_op_moe_ffn *o = &op.u.moe_ffn;
	struct lmd_opnd x = lmi_normed(e, io, "ffn_norm");
	uint32_t logits = m->logits == LMD_NONE ? lmi_router(e, x, m->router) : m->logits;
	uint32_t ids = lmi_i32(e, m->n_used, "experts"), weights = lmi_f32(e, m->n_used, "weights");
	bool stream = io->res != LMD_NONE;
	uint32_t out;

	if (m->router_softcap > 0.0f)
		logits = capped(e, logits, m->router_softcap);
	route(e, m, logits, ids, weights);
	expert_weights(e, m, o);
	o->ids = lmi_cols(ids, 0, m->n_used);
	o->weights = lmi_cols(weights, 0, m->n_used);
	o->act = m->act;
	memcpy(o->p, m->p, sizeof(o->p));
	o->weight_before = m->weight_before;
	o->a = io->a;
	if (m->latent_down && lmi_has(e, m->latent_down)) {
		out = latent_experts(e, x, io, m, &op);
	} else {
		out = experts(e, x, io, m, o);
		lmi_put(e, &op);
	}
	if (!m->shared.up)
		return out;
	if (m->shared_gate && lmi_has(e, m->shared_gate))
		return gated_shared(e, x, m, out, stream ? io->a : 1.0f, stream);
	struct lmi_io si = {.x = x, .norm = lmi_no_norm(), .res = out, .a = stream ? io->a : 1.0f};
	return lmi_ffn(e, &si, &m->shared);
}

/* SPDX-License-Identifier: MIT
 *
 * moe.c - mixture of experts: router, expert choice, weighted sum, shared expert.
 *
 * A file stores the experts of a layer merged (one tensor each for gate, up and down, or with gate
 * and up fused as well) or as one tensor per expert; all of these become stacked weights.  The
 * shared expert adds to the same stream; if the file has a gate for it, it is scaled by the sigmoid
 * of one logit. */
#include <string.h>

#include "arch/common/ranks.h"

struct arch_moe arch_moe_default(const struct arch_emit *e)
{
	const struct arch_hparams *hp = e->hp;
	struct arch_moe m = {.act = LMD_ACT_FN_SILU,
			     .route_fn = hp->route_fn,
			     .renorm = hp->route_renorm,
			     .scale = hp->route_scale,
			     .n_used = hp->n_expert_used,
			     .n_group = hp->n_expert_group,
			     .n_group_used = hp->n_expert_group_used,
			     .logits = LMD_NONE,
			     .expert_ids = LMD_NONE,
			     .down = &arch_rows[T_FFN_DOWN_EXPS],
			     .up = &arch_rows[T_FFN_UP_EXPS],
			     .gate = &arch_rows[T_FFN_GATE_EXPS],
			     .gate_up = &arch_rows[T_FFN_GATE_UP_EXPS],
			     .router = &arch_rows[T_FFN_GATE_INP],
			     .probs_b = &arch_rows[T_EXP_PROBS_B]};

	if (e->il >= 0 && (arch_current_layer(e)->cls & ARCH_L_SHEXP)) {
		m.shared = arch_ffn_default();
		m.shared.gate = &arch_rows[T_FFN_GATE_SHEXP];
		m.shared.up = &arch_rows[T_FFN_UP_SHEXP];
		m.shared.down = &arch_rows[T_FFN_DOWN_SHEXP];
		m.shared_gate = &arch_rows[T_FFN_GATE_INP_SHEXP];
	}
	return m;
}

struct lmd_operand arch_normalised_input(struct arch_emit *e, const struct arch_block_io *io,
					 const char *name)
{
	uint32_t y;

	if (io->norm.kind == LMD_NORM_NONE)
		return io->x;
	y = arch_value_act(e, io->x.width, name);
	arch_put_norm(e, io->x, &io->norm, arch_operand_cols(y, 0, io->x.width));
	return arch_operand_cols(y, 0, io->x.width);
}

uint32_t arch_router(struct arch_emit *e, struct lmd_operand x, const struct lmd_tensor_row *row)
{
	struct arch_weight w = arch_weight_req(e, row);

	return arch_linear(e, x, NULL, &w, LMD_VTYPE_F32, "router");
}

static uint32_t capped(struct arch_emit *e, uint32_t logits, float cap)
{
	uint32_t width = arch_width(e, logits), y = arch_value_f32(e, width, "router_cap");
	struct arch_ew p = arch_ew();
	uint8_t x = arch_ew_in(&p, arch_operand_cols(logits, 0, width));
	uint8_t c = arch_ew_const(&p, cap);

	x = arch_ew1(&p, LMD_EW_TANH, arch_ew2(&p, LMD_EW_DIV, x, c));
	arch_ew_out(e, &p, arch_ew2(&p, LMD_EW_MUL, x, c), arch_operand_cols(y, 0, width));
	return y;
}

static void route(struct arch_emit *e, const struct arch_moe *m, uint32_t logits, uint32_t ids,
		  uint32_t weights)
{
	struct lmd_op op = arch_op_empty(LMD_OP_ROUTE);
	struct lmd_op_route *r = &op.u.route;
	char name[128];

	r->logits = arch_operand_all(e, logits);
	r->ids = arch_operand_cols(ids, 0, m->n_used);
	r->weights = arch_operand_cols(weights, 0, m->n_used);
	r->fn = m->route_fn;
	r->k = m->n_used;
	r->n_group = m->n_group;
	r->n_group_used = m->n_group_used;
	r->renorm = m->renorm;
	r->scale = m->scale;
	if (m->expert_ids != LMD_NONE)
		r->given = arch_operand_cols(m->expert_ids, 0, m->n_used);
	if (m->probs_b) {
		arch_tensor_name(e, m->probs_b, ".weight", name, sizeof(name));
		r->bias = arch_weight_named(e, name);
	}
	arch_emit_op(e, &op);
}

static void expert_weights(struct arch_emit *e, const struct arch_moe *m, struct lmd_op_moe_ffn *o)
{
	struct arch_weight up, gate = {.id = LMD_NONE, .site = LMD_NONE},
			       down = arch_weight_req(e, m->down);

	if (m->gate_up && arch_weight_exists(e, m->gate_up)) {
		up = arch_weight_req(e, m->gate_up);
		o->gate_up = up.id;
	} else {
		up = arch_weight_req(e, m->up);
		o->up = up.id;
		if (m->gate)
			gate = m->need_gate ? arch_weight_req(e, m->gate)
					    : arch_weight_opt(e, m->gate);
		o->gate = gate.id;
	}
	o->down = down.id;
	o->lora_site[0] = gate.site;
	o->lora_site[1] = up.site;
	o->lora_site[2] = down.site;
}

static bool has_bias(const struct arch_emit *e, const struct lmd_tensor_row *row)
{
	return row && (row->flags & (LMD_TENSOR_BIAS | LMD_TENSOR_BIAS_REQ)) &&
	       arch_tensor_index(e, row, ".bias") != LMD_NONE;
}

/* Finds the columns of all experts that a rank computes; false: they cannot be divided. */
static bool expert_part(const struct arch_emit *e, const struct arch_moe *m, struct arch_part *p)
{
	const struct lmd_tensor *t = arch_weight_tensor(e, m->down);

	return t && !has_bias(e, m->up) && !has_bias(e, m->gate) && !has_bias(e, m->gate_up) &&
	       arch_columns_part(e, t, p);
}

static void expert_weights_part(struct arch_emit *e, const struct arch_moe *m,
				const struct arch_part *p, struct lmd_op_moe_ffn *o)
{
	struct arch_window win = {.row0 = p->at, .n_row = p->n};

	if (m->gate_up && arch_weight_exists(e, m->gate_up)) {
		o->gate_up = arch_weight_of_experts(e, m->gate_up, &win, true).id;
	} else {
		o->up = arch_weight_of_experts(e, m->up, &win, false).id;
		if (m->gate && (m->need_gate || arch_weight_exists(e, m->gate)))
			o->gate = arch_weight_of_experts(e, m->gate, &win, false).id;
	}
	win = (struct arch_window){.k0 = p->at, .n_k = p->n, .no_bias = e->rank > 0};
	o->down = arch_weight_of_experts(e, m->down, &win, false).id;
}

/* Returns r + a * sigmoid(w x) * shared(x). */
static uint32_t gated_shared(struct arch_emit *e, struct lmd_operand x, const struct arch_moe *m,
			     uint32_t r, float a, bool stream)
{
	struct arch_block_io io = {.x = x, .norm = arch_no_norm(), .res = LMD_NONE, .a = 1.0f};
	uint32_t s = arch_ffn(e, &io, &m->shared), width = arch_width(e, s);
	struct arch_weight w = arch_weight_req(e, m->shared_gate);
	uint32_t g = arch_value_f32(e, 1, "shared_gate"), y;
	struct arch_ew p = arch_ew();
	uint8_t rr, rs, rg;

	arch_put_linear(e, x, NULL, &w, arch_operand_cols(g, 0, 1));
	y = stream ? arch_value_f32(e, width, "x_shared") : arch_value_act(e, width, "moe_sum");
	rr = arch_ew_in(&p, arch_operand_cols(r, 0, width));
	rs = arch_ew_in(&p, arch_operand_cols(s, 0, width));
	rg = arch_ew1(&p, LMD_EW_SIGMOID, arch_ew_in(&p, arch_operand_cols(g, 0, 1)));
	if (a != 1.0f)
		rg = arch_ew2(&p, LMD_EW_MUL, rg, arch_ew_const(&p, a));
	arch_ew_out(e, &p, arch_ew3(&p, LMD_EW_FMA, rs, rg, rr), arch_operand_cols(y, 0, width));
	return y;
}

/* Sets the input and output operands of the experts; returns the output value. */
static uint32_t experts(struct arch_emit *e, struct lmd_operand x, const struct arch_block_io *io,
			const struct arch_moe *m, struct lmd_op_moe_ffn *o)
{
	bool stream = io->res != LMD_NONE;
	uint32_t out;

	o->x = x;
	if (stream) {
		out = arch_value_f32(e, x.width, "x_moe");
		o->r_in = arch_operand_cols(io->res, 0, x.width);
		o->r_out = arch_operand_cols(out, 0, x.width);
	} else {
		out = m->shared.up ? arch_value_f32(e, x.width, "moe")
				   : arch_value_act(e, x.width, "moe");
		o->y = arch_operand_cols(out, 0, x.width);
	}
	return out;
}

/* Emits the experts on a narrower (latent) row and the projections around them. */
static uint32_t latent_experts(struct arch_emit *e, struct lmd_operand x,
			       const struct arch_block_io *io, const struct arch_moe *m, bool part,
			       struct lmd_op *op)
{
	struct arch_weight down = arch_weight_req(e, m->latent_down),
			   up = arch_weight_req(e, m->latent_up);
	uint32_t z = arch_linear(e, x, NULL, &down, LMD_VTYPE_ACT, "latent");
	uint32_t y = part ? arch_value_f32(e, down.n, "latent_part")
			  : arch_value_act(e, down.n, "latent_moe");
	struct lmd_norm norm = arch_no_norm();

	op->u.moe_ffn.a = 1.0f;
	op->u.moe_ffn.x = arch_operand_all(e, z);
	op->u.moe_ffn.y = arch_operand_all(e, y);
	arch_emit_op(e, op);
	if (part) {
		uint32_t sum = arch_value_act(e, down.n, "latent_moe");

		arch_put_sum_of_ranks(e, y, sum);
		y = sum;
	}
	if (m->latent_norm)
		norm = arch_norm_req(e, LMD_NORM_RMS, m->latent_norm);
	return arch_block_out(e, arch_operand_all(e, y), &norm, &up, io);
}

uint32_t arch_moe(struct arch_emit *e, const struct arch_block_io *io, const struct arch_moe *m)
{
	struct lmd_op op = arch_op_empty(LMD_OP_MOE_FFN);
	struct lmd_op_moe_ffn *o = &op.u.moe_ffn;
	struct lmd_operand x = arch_normalised_input(e, io, "ffn_norm");
	uint32_t logits = m->logits == LMD_NONE ? arch_router(e, x, m->router) : m->logits;
	uint32_t ids = arch_value_i32(e, m->n_used, "experts"),
		 weights = arch_value_f32(e, m->n_used, "weights");
	bool stream = io->res != LMD_NONE, divided;
	struct arch_part part;
	uint32_t out;

	if (m->router_softcap > 0.0f)
		logits = capped(e, logits, m->router_softcap);
	route(e, m, logits, ids, weights);
	divided = expert_part(e, m, &part);
	if (divided)
		expert_weights_part(e, m, &part, o);
	else
		expert_weights(e, m, o);
	o->ids = arch_operand_cols(ids, 0, m->n_used);
	o->weights = arch_operand_cols(weights, 0, m->n_used);
	o->act = m->act;
	memcpy(o->p, m->p, sizeof(o->p));
	o->weight_before = m->weight_before;
	o->a = io->a;
	if (m->latent_down && arch_weight_exists(e, m->latent_down)) {
		out = latent_experts(e, x, io, m, divided, &op);
	} else if (divided) {
		out = arch_value_f32(e, x.width, "moe_part");
		o->x = x;
		o->a = 1.0f;
		o->y = arch_operand_cols(out, 0, x.width);
		arch_emit_op(e, &op);
		out = arch_sum_block(e, out, io, m->shared.up != NULL, stream ? "x_moe" : "moe");
	} else {
		out = experts(e, x, io, m, o);
		arch_emit_op(e, &op);
	}
	if (!m->shared.up)
		return out;
	if (m->shared_gate && arch_weight_exists(e, m->shared_gate))
		return gated_shared(e, x, m, out, stream ? io->a : 1.0f, stream);
	struct arch_block_io si = {
		.x = x, .norm = arch_no_norm(), .res = out, .a = stream ? io->a : 1.0f};
	return arch_ffn(e, &si, &m->shared);
}

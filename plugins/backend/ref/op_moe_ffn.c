/* SPDX-License-Identifier: MIT
 *
 * MOE_FFN: the FFNs of the chosen experts, weighted and summed.
 *
 * A pair is (row, choice).  Phases: 0 prepares rows of x (multiplied by the routing weight if that
 * comes first) and sorts the pairs by expert; 1 computes what the adapters of gate and up add; 2
 * computes gate and up of each pair; 3 computes the activation and what the adapter of down adds;
 * 4 computes down of each pair; 5 sums over a row's choices in order. */
#include "backend/common/act.h"
#include "backend/common/lists.h"
#include "ops.h"
#include "product.h"

enum { GATE, UP, DOWN };

struct moe {
	const struct ref_run *r;
	const struct lmd_op_moe_ffn *op;
	const struct lmd_weight *w[3]; /* with gate_up: GATE holds both halves and UP is NULL */
	struct host_mem_view x, ids, weights, y, r_in, r_out;
	uint32_t k, width, dim; /* choices, F, D */
	uint64_t n_pair;
	uint32_t div; /* number of pairs that share a row of px */
	struct ref_x px, ph;
	struct host_mem_lists lists;
	float *v[2]; /* [n_pair][F] gate, up */
	float *d;    /* [n_pair][D] */
	float *delta[3];
};

static void weights_of(const struct lmd_op_moe_ffn *o, uint32_t weight_ref[3])
{
	weight_ref[GATE] = o->gate_up != LMD_NONE ? o->gate_up : o->gate;
	weight_ref[UP] = o->gate_up != LMD_NONE ? LMD_NONE : o->up;
	weight_ref[DOWN] = o->down;
}

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_moe_ffn *o = &op->u.moe_ffn;
	const struct lmd_weight *down = b->compiled_plan->host_mem.weights[o->down];
	uint64_t pairs = host_mem_max_rows(b->host_mem.plan, &o->ids) * o->ids.width;
	uint32_t weight_ref[3];

	weights_of(o, weight_ref);
	b->host_mem.n_phase = 6;
	ref_x_need(b, o->weight_before ? pairs : host_mem_max_rows(b->host_mem.plan, &o->x),
		   o->x.width);
	ref_x_need(b, pairs, down->k);
	host_mem_lists_need(&b->host_mem.shared_bytes, pairs, down->n_stack);
	host_mem_need(&b->host_mem.shared_bytes, pairs, down->k * sizeof(float));
	host_mem_need(&b->host_mem.shared_bytes, pairs, down->k * sizeof(float));
	host_mem_need(&b->host_mem.shared_bytes, pairs, down->n * sizeof(float));
	for (int i = 0; i < 3; i++) {
		enum lmd_status st;

		if (weight_ref[i] == LMD_NONE)
			continue;
		ref_product_need(b, b->compiled_plan->host_mem.weights[weight_ref[i]]);
		if (!host_mem_lora_wanted(b->host_mem.plan, o->lora_site[i]))
			continue;
		st = host_mem_add_site(&b->compiled_plan->host_mem, o->lora_site[i], weight_ref[i],
				       false, err);
		if (st != LMD_OK)
			return st;
		host_mem_need(&b->host_mem.shared_bytes, pairs,
			      2ull * b->compiled_plan->host_mem.weights[weight_ref[i]]->n *
				      sizeof(float));
	}
	return LMD_OK;
}

static void setup(struct moe *m, const struct ref_run *r, const struct lmd_op *op)
{
	const struct lmd_op_moe_ffn *o = &op->u.moe_ffn;
	char *cursor = r->host_mem.shared;
	uint32_t weight_ref[3];

	weights_of(o, weight_ref);
	*m = (struct moe){
		.r = r,
		.op = o,
		.x = host_mem_view(&r->host_mem, &o->x),
		.ids = host_mem_view(&r->host_mem, &o->ids),
		.weights = host_mem_view(&r->host_mem, &o->weights),
		.y = host_mem_view(&r->host_mem, &o->y),
		.r_in = host_mem_view(&r->host_mem, &o->r_in),
		.r_out = host_mem_view(&r->host_mem, &o->r_out),
	};
	for (int i = 0; i < 3; i++)
		m->w[i] = weight_ref[i] == LMD_NONE
				  ? NULL
				  : r->compiled_plan->host_mem.weights[weight_ref[i]];
	m->k = host_mem_cols(&m->ids);
	m->width = m->w[DOWN]->k;
	m->dim = m->w[DOWN]->n;
	m->n_pair = (uint64_t)m->ids.n_row * m->k;
	m->div = o->weight_before ? 1 : m->k;
	m->px = ref_x_take(r, &cursor, m->n_pair / m->div, m->x.width);
	m->ph = ref_x_take(r, &cursor, m->n_pair, m->width);
	m->lists = host_mem_lists_take(&cursor, m->n_pair, m->w[DOWN]->n_stack);
	m->v[0] = host_mem_take(&cursor, m->n_pair, m->width * sizeof(float));
	m->v[1] = host_mem_take(&cursor, m->n_pair, m->width * sizeof(float));
	m->d = host_mem_take(&cursor, m->n_pair, m->dim * sizeof(float));
	for (int i = 0; i < 3; i++) {
		if (m->w[i] && host_mem_lora_wanted(r->host_mem.plan, o->lora_site[i]))
			m->delta[i] = host_mem_take(&cursor, m->n_pair,
						    2ull * m->w[i]->n * sizeof(float));
	}
}

static void prepare(const struct moe *m, const struct host_mem_part *p)
{
	uint64_t lo, hi;

	host_mem_slice(p, m->n_pair / m->div, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)(m->op->weight_before ? i / m->k : i);

		if (m->op->weight_before) {
			float *own = m->px.copy + i * m->x.width;
			const float *x = host_mem_f32(&m->x, row, 0, own);
			float w = host_mem_cell_get(&m->weights, row, i % m->k);

			for (uint32_t c = 0; c < m->x.width; c++)
				own[c] = w * x[c];
			ref_x_own(&m->px, i);
		} else {
			ref_x_set(&m->px, i, &m->x, row, 0, NULL);
		}
	}
	if (p->part == 0)
		host_mem_lists_fill(&m->lists, &m->ids, m->k);
}

static void adapter(const struct moe *m, int i, uint64_t pair, const float *x)
{
	uint32_t row = (uint32_t)(pair / m->k);
	uint32_t expert = (uint32_t)host_mem_cell_i32(&m->ids, row, pair % m->k);
	uint32_t n;

	if (!m->delta[i])
		return;
	n = m->w[i]->n;
	ref_lora_row(m->r, m->op->lora_site[i],
		     expert < m->w[i]->n_stack
			     ? host_mem_lora_slot(&m->r->host_mem, m->x.space, row)
			     : 0,
		     expert, x, n, m->delta[i] + pair * 2 * n);
}

struct out {
	const struct moe *m;
	int i;
};

static float finish(const struct out *o, uint32_t pair, uint32_t slice, uint32_t c, float v)
{
	const struct lmd_weight *w = o->m->w[o->i];
	float x = host_mem_weight_scale(w, slice, c) * v;

	if (o->m->delta[o->i])
		x = lora_apply(x, o->m->delta[o->i] + (size_t)pair * 2 * w->n + c, w->n);
	return x + host_mem_weight_bias(w, slice, c);
}

static void emit(void *arg, uint32_t pair, uint32_t n0, uint32_t n, const float *v)
{
	const struct out *o = arg;
	const struct moe *m = o->m;
	uint32_t rows = m->w[o->i]->n, slice = n0 / rows, c0 = n0 % rows;

	for (uint32_t j = 0; j < n; j++) {
		uint32_t c = c0 + j;
		float x = finish(o, pair, slice, c, v[j]);

		if (o->i == DOWN)
			m->d[(size_t)pair * m->dim + c] = x;
		else if (o->i == UP || c >= m->width)
			m->v[1][(size_t)pair * m->width + c % m->width] = x;
		else
			m->v[0][(size_t)pair * m->width + c] = x;
	}
}

/* Multiplies weight i with the pairs of each expert. */
static void products(const struct moe *m, int i, const struct host_mem_part *p)
{
	struct out o = {m, i};
	struct ref_items items = {.div = i == DOWN ? 1 : m->div};
	uint64_t lo, hi;

	if (!m->w[i])
		return;
	ref_tiles(p, m->w[i]->n, &lo, &hi);
	for (uint32_t e = 0; e < m->w[i]->n_stack; e++) {
		uint64_t first = (uint64_t)e * m->w[i]->n;

		items.list = host_mem_lists_of(&m->lists, e, &items.count);
		ref_product(m->r, i == DOWN ? &m->ph : &m->px, &items, m->w[i], first + lo,
			    first + hi, p->scratch, emit, &o);
	}
}

static void activate(const struct moe *m, uint64_t pair)
{
	const float *gate = m->v[0] + pair * m->width, *up = m->v[1] + pair * m->width;
	float *out = m->ph.copy + pair * m->width;

	for (uint32_t c = 0; c < m->width; c++)
		out[c] = m->w[GATE] ? host_mem_act(m->op->act, m->op->p, gate[c], up[c], true)
				    : host_mem_act(m->op->act, m->op->p, up[c], 0, false);
	ref_x_own(&m->ph, pair);
	adapter(m, DOWN, pair, out);
}

static void sum(const struct moe *m, uint32_t row)
{
	for (uint32_t c = 0; c < m->dim; c++) {
		float v = 0;

		for (uint32_t j = 0; j < m->k; j++) {
			uint32_t e = (uint32_t)host_mem_cell_i32(&m->ids, row, j);
			float w = m->op->weight_before ? 1.0f
						       : host_mem_cell_get(&m->weights, row, j);

			if (e < m->w[DOWN]->n_stack)
				v += w * m->d[((size_t)row * m->k + j) * m->dim + c];
		}
		if (m->y.base)
			host_mem_put(&m->y, row, 0, c, v);
		if (m->r_out.base)
			host_mem_put(&m->r_out, row, 0, c,
				     host_mem_get(&m->r_in, row, 0, c) + m->op->a * v);
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	struct moe m;
	uint64_t lo, hi;

	setup(&m, r, op);
	if (p->phase == 0)
		prepare(&m, p);
	if (p->phase == 2) {
		products(&m, GATE, p);
		products(&m, UP, p);
	}
	if (p->phase == 4)
		products(&m, DOWN, p);
	host_mem_slice(p, p->phase == 5 ? m.ids.n_row : m.n_pair, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		if (p->phase == 1) {
			adapter(&m, GATE, i, m.px.row[i / m.div]);
			if (m.w[UP])
				adapter(&m, UP, i, m.px.row[i / m.div]);
		}
		if (p->phase == 3)
			activate(&m, i);
		if (p->phase == 5)
			sum(&m, (uint32_t)i);
	}
}

const struct ref_op ref_op_moe_ffn = {
	.plan = plan,
	.run = run,
};

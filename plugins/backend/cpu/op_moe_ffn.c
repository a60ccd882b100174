/* SPDX-License-Identifier: MIT
 *
 * MOE_FFN: the FFNs of the chosen experts, weighted and summed.
 *
 * A pair is (row, choice).  Pairs are grouped by expert, so that an expert's weights are read once
 * for all its rows.  Phases: 0 prepares rows of x (multiplied by the routing weight if that comes
 * first) and the groups; 1 computes what the adapters of gate and up add; 2 computes gate, up and
 * activation of each pair; 3 prepares the hidden values and computes what the adapter of down
 * adds; 4 computes down of each pair; 5 sums over a row's choices in order. */
#include "act.h"
#include "backend/common/lists.h"
#include "ops.h"
#include "product.h"

enum { GATE, UP, DOWN };

struct moe {
	const struct cpu_run *r;
	const struct lmd_op_moe_ffn *op;
	const struct lmd_weight *w[3]; /* if fused, GATE holds both and UP is the same weight */
	bool fused;
	struct host_mem_view x, ids, weights, y, r_in, r_out;
	uint32_t k, width, dim; /* choices, F, D */
	uint64_t n_pair;
	uint32_t div; /* number of pairs that share a row of px */
	bool lora;
	struct cpu_x px, ph;
	struct host_mem_lists lists;
	float *gate; /* [n_pair][F] */
	float *d;    /* [n_pair][D] */
	float *delta[3];
	char *scratch;
};

/* GATE may be absent; with gate_up there is no separate UP. */
static void weights_of(const struct lmd_op_moe_ffn *o, uint32_t weight_ref[3])
{
	bool fused = o->gate_up != LMD_NONE;

	weight_ref[GATE] = fused ? o->gate_up : o->gate;
	weight_ref[UP] = fused ? o->gate_up : o->up;
	weight_ref[DOWN] = o->down;
}

static bool any_lora(const struct lmd_plan *plan, const struct lmd_op_moe_ffn *o)
{
	return host_mem_lora_wanted(plan, o->lora_site[GATE]) ||
	       host_mem_lora_wanted(plan, o->lora_site[UP]) ||
	       host_mem_lora_wanted(plan, o->lora_site[DOWN]);
}

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_moe_ffn *o = &op->u.moe_ffn;
	const struct lmd_weight *down = b->compiled_plan->host_mem.weights[o->down];
	uint64_t pairs = host_mem_max_rows(b->host_mem.plan, &o->ids) * o->ids.width, most = 0;
	enum lmd_status st = LMD_OK;
	uint32_t weight_ref[3];

	weights_of(o, weight_ref);
	b->host_mem.n_phase = 6;
	cpu_x_need(&b->host_mem.shared_bytes,
		   o->weight_before ? pairs : host_mem_max_rows(b->host_mem.plan, &o->x),
		   o->x.width, cpu_forms_all(b->dev));
	cpu_x_need(&b->host_mem.shared_bytes, pairs, down->k, cpu_forms_all(b->dev));
	host_mem_lists_need(&b->host_mem.shared_bytes, pairs, down->n_stack);
	host_mem_need(&b->host_mem.shared_bytes, pairs, down->k * sizeof(float));
	host_mem_need(&b->host_mem.shared_bytes, pairs, down->n * sizeof(float));
	for (int i = 0; i < 3 && st == LMD_OK; i++) {
		uint64_t bytes = 0;

		if (weight_ref[i] == LMD_NONE)
			continue;
		st = host_mem_add_site(&b->compiled_plan->host_mem, o->lora_site[i], weight_ref[i],
				       false, err);
		cpu_product_need(b, &bytes, b->compiled_plan->host_mem.weights[weight_ref[i]],
				 pairs);
		most = bytes > most ? bytes : most;
		if (host_mem_lora_wanted(b->host_mem.plan, o->lora_site[i]))
			host_mem_need(&b->host_mem.shared_bytes, pairs,
				      2ull * b->compiled_plan->host_mem.weights[weight_ref[i]]->n *
					      sizeof(float));
	}
	host_mem_need(&b->host_mem.part_bytes, 1, most);
	return st;
}

static void setup(struct moe *m, const struct cpu_run *r, const struct cpu_node *node,
		  char *scratch)
{
	const struct lmd_op_moe_ffn *o = &node->op->u.moe_ffn;
	char *cursor = r->host_mem.shared;
	uint32_t weight_ref[3];

	weights_of(o, weight_ref);
	*m = (struct moe){
		.r = r,
		.op = o,
		.fused = o->gate_up != LMD_NONE,
		.x = host_mem_view(&r->host_mem, &o->x),
		.ids = host_mem_view(&r->host_mem, &o->ids),
		.weights = host_mem_view(&r->host_mem, &o->weights),
		.y = host_mem_view(&r->host_mem, &o->y),
		.r_in = host_mem_view(&r->host_mem, &o->r_in),
		.r_out = host_mem_view(&r->host_mem, &o->r_out),
		.lora = r->lora && any_lora(r->host_mem.plan, o),
		.scratch = scratch,
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
	m->px = cpu_x_take(&cursor, m->n_pair / m->div, m->x.width,
			   cpu_forms_of(r->dev, m->w + GATE, 2));
	m->ph = cpu_x_take(&cursor, m->n_pair, m->width, cpu_forms_of(r->dev, m->w + DOWN, 1));
	m->lists = host_mem_lists_take(&cursor, m->n_pair, m->w[DOWN]->n_stack);
	m->gate = host_mem_take(&cursor, m->n_pair, m->width * sizeof(float));
	m->d = host_mem_take(&cursor, m->n_pair, m->dim * sizeof(float));
	for (int i = 0; m->lora && i < 3; i++) {
		if (m->w[i] && !(m->fused && i == UP) &&
		    host_mem_lora_wanted(r->host_mem.plan, o->lora_site[i]))
			m->delta[i] = host_mem_take(&cursor, m->n_pair,
						    2ull * m->w[i]->n * sizeof(float));
	}
}

static bool wanted(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	return phase != 1 || (r->lora && any_lora(r->host_mem.plan, &n->op->u.moe_ffn));
}

/* With few pairs, everything but the products is little work. */
static bool little(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	const struct lmd_weight *down = r->compiled_plan->host_mem.weights[n->op->u.moe_ffn.down];
	struct host_mem_view ids = host_mem_view(&r->host_mem, &n->op->u.moe_ffn.ids);
	uint64_t pairs = (uint64_t)ids.n_row * host_mem_cols(&ids);

	return (phase == 0 || phase == 3 || phase == 5) &&
	       pairs * (down->n > down->k ? down->n : down->k) <= CPU_SMALL_PHASE;
}

static void prepare(const struct moe *m, const struct cpu_part *p)
{
	uint64_t lo, hi;

	host_mem_slice(&p->host_mem, m->n_pair / m->div, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)(m->op->weight_before ? i / m->k : i);

		if (m->op->weight_before) {
			float *own = m->px.f + i * m->x.width;
			const float *x = host_mem_f32(&m->x, row, 0, own);
			float w = host_mem_cell_get(&m->weights, row, i % m->k);

			for (uint32_t c = 0; c < m->x.width; c++)
				own[c] = w * x[c];
			cpu_x_own(m->r, &m->px, i);
		} else {
			cpu_x_set(m->r, &m->px, i, &m->x, row, 0, NULL);
		}
	}
	if (p->host_mem.part == 0)
		host_mem_lists_fill(&m->lists, &m->ids, m->k);
}

static void adapter(const struct moe *m, int i, uint64_t pair, const struct cpu_x *x, uint64_t at)
{
	uint32_t row = (uint32_t)(pair / m->k);
	uint32_t expert = (uint32_t)host_mem_cell_i32(&m->ids, row, pair % m->k), n;

	if (!m->delta[i])
		return;
	n = m->w[i]->n;
	cpu_lora_row(m->r, m->op->lora_site[i],
		     expert < m->w[i]->n_stack
			     ? host_mem_lora_slot(&m->r->host_mem, m->x.space, row)
			     : 0,
		     expert, x->row[at], x->k, n, m->delta[i] + pair * 2 * n);
}

/* Applies scale, adapter and bias to n outputs of weight i, beginning with its row n0. */
static void finish(const struct moe *m, int i, uint32_t pair, uint32_t slice, uint32_t n0,
		   uint32_t n, float *v)
{
	const struct lmd_weight *w = m->w[i];
	const float *delta = m->delta[m->fused && i == UP ? GATE : i];

	if (delta)
		delta += (size_t)pair * 2 * w->n + n0;
	for (uint32_t j = 0; w->n_scale && j < n; j++)
		v[j] *= host_mem_weight_scale(w, slice, n0 + j);
	for (uint32_t j = 0; delta && j < n; j++)
		v[j] = lora_apply(v[j], delta + j, w->n);
	for (uint32_t j = 0; w->n_bias && j < n; j++)
		v[j] += host_mem_weight_bias(w, slice, n0 + j);
}

/* First row of up within its weight. */
static uint32_t up_row0(const struct moe *m)
{
	return m->fused ? m->width : 0;
}

static float *place_gate(void *arg, uint32_t pair, uint32_t slice, uint32_t n0, uint32_t n)
{
	const struct moe *m = arg;

	(void)slice;
	(void)n;
	return m->gate + (size_t)pair * m->width + n0;
}

static void done_gate(void *arg, uint32_t pair, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	finish(arg, GATE, pair, slice, n0, n, v);
}

static float *place_up(void *arg, uint32_t pair, uint32_t slice, uint32_t n0, uint32_t n)
{
	const struct moe *m = arg;

	(void)slice;
	(void)n;
	return m->ph.f + (size_t)pair * m->width + n0 - up_row0(m);
}

static void done_up(void *arg, uint32_t pair, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	const struct moe *m = arg;
	const float *gate = m->gate + (size_t)pair * m->width + n0 - up_row0(m);

	finish(m, UP, pair, slice, n0, n, v);
	if (m->w[GATE])
		cpu_act_row(m->r->dev->fl, m->op->act, m->op->p, gate, v, v, n);
	else
		cpu_act_row(m->r->dev->fl, m->op->act, m->op->p, v, NULL, v, n);
}

static float *place_down(void *arg, uint32_t pair, uint32_t slice, uint32_t n0, uint32_t n)
{
	const struct moe *m = arg;

	(void)slice;
	(void)n;
	return m->d + (size_t)pair * m->dim + n0;
}

static void done_down(void *arg, uint32_t pair, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	finish(arg, DOWN, pair, slice, n0, n, v);
}

static void gate_up(struct moe *m, uint32_t e, uint32_t lo, uint32_t hi)
{
	const struct cpu_emit gate = {m, place_gate, done_gate}, up = {m, place_up, done_up};
	struct cpu_items items = {.div = m->div};
	uint32_t at = up_row0(m);
	struct cpu_rows gate_rows = {e, lo, hi, NULL}, up_rows = {e, at + lo, at + hi, NULL};

	items.list = host_mem_lists_of(&m->lists, e, &items.count);
	if (m->w[GATE])
		cpu_product(m->r, &m->px, &items, m->w[GATE], &gate_rows, m->scratch, &gate);
	cpu_product(m->r, &m->px, &items, m->w[UP], &up_rows, m->scratch, &up);
}

static void down(struct moe *m, uint32_t e, uint32_t lo, uint32_t hi)
{
	const struct cpu_emit emit = {m, place_down, done_down};
	struct cpu_items items = {.div = 1};
	struct cpu_rows rows = {e, lo, hi, NULL};

	items.list = host_mem_lists_of(&m->lists, e, &items.count);
	cpu_product(m->r, &m->ph, &items, m->w[DOWN], &rows, m->scratch, &emit);
}

/* Hands out chunks of n rows of each expert that was chosen. */
static void share(struct moe *m, const struct cpu_part *p, uint32_t n,
		  void (*f)(struct moe *m, uint32_t e, uint32_t lo, uint32_t hi))
{
	uint32_t used = host_mem_lists_n_used(&m->lists);
	uint32_t chunk =
		cpu_grid(p->host_mem.part, p->host_mem.n_part, 1, (uint64_t)n * used).chunk;
	uint32_t per = (n + chunk - 1) / chunk;

	for (uint64_t c = cpu_claim(p); c < (uint64_t)per * used; c = cpu_claim(p)) {
		uint32_t lo = (uint32_t)(c % per) * chunk;

		f(m, m->lists.used[c / per], lo, n - lo < chunk ? n : lo + chunk);
	}
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

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	struct moe m;
	uint64_t lo, hi;

	setup(&m, r, n, p->host_mem.scratch);
	host_mem_slice(&p->host_mem, p->host_mem.phase == 5 ? m.ids.n_row : m.n_pair, &lo, &hi);
	switch (p->host_mem.phase) {
	case 0:
		prepare(&m, p);
		break;
	case 1:
		for (uint64_t i = lo; i < hi; i++) {
			adapter(&m, GATE, i, &m.px, i / m.div);
			adapter(&m, UP, i, &m.px, i / m.div);
		}
		break;
	case 2:
		share(&m, p, m.width, gate_up);
		break;
	case 3:
		for (uint64_t i = lo; i < hi; i++) {
			cpu_x_own(r, &m.ph, i);
			adapter(&m, DOWN, i, &m.ph, i);
		}
		break;
	case 4:
		share(&m, p, m.dim, down);
		break;
	default:
		for (uint64_t i = lo; i < hi; i++)
			sum(&m, (uint32_t)i);
		break;
	}
}

const struct cpu_op cpu_op_moe_ffn = {
	.plan = plan,
	.wanted = wanted,
	.little = little,
	.run = run,
};

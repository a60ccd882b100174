/* SPDX-License-Identifier: MIT
 *
 * LINEAR: one x and up to four weights; whole matrices, or a slice for each (row, choice).
 *
 * Phases: 0 prepares many rows of x and, with ids, sorts the (row, choice) pairs by slice; 1
 * computes what adapters add; 2 multiplies (and prepares few rows in each thread). */
#include "linear.h"
#include "ops.h"
#include "repack.h"

/* How the rows of all weights are divided. */
struct sharing {
	uint32_t n_w, n_chunk;
	const struct lmd_weight *w[LMD_LINEAR_MAX];
	uint64_t n[LMD_LINEAR_MAX]; /* rows of all slices or, with ids, of each slice */
	struct cpu_grid grid;
};

/* Rows [lo, hi) of weight j, counted over all slices or, with ids, within each slice. */
struct span {
	uint32_t j;
	uint64_t lo, hi;
	const void *next; /* see struct cpu_rows */
};

static const struct lmd_operand *target(const struct lmd_op_linear *l, uint32_t i)
{
	return l->y[i].src != LMD_SRC_NONE ? &l->y[i] : &l->r_out[i];
}

static bool any_lora(const struct lmd_plan *plan, const struct lmd_op_linear *l)
{
	for (uint32_t i = 0; i < l->n_w; i++) {
		if (host_mem_lora_wanted(plan, l->lora_site[i]))
			return true;
	}
	return false;
}

static struct cpu_forms forms_of(const struct cpu_dev *dev, struct lmd_weight *const *weights,
			const struct lmd_op_linear *l)
{
	const struct lmd_weight *w[LMD_LINEAR_MAX];

	for (uint32_t i = 0; i < l->n_w; i++)
		w[i] = weights[l->w[i]];
	return cpu_forms_of(dev, w, l->n_w);
}

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_linear *l = &op->u.linear;
	uint64_t items = host_mem_max_rows(b->host_mem.plan, target(l, 0)), most = 0;
	struct cpu_forms forms = forms_of(b->dev, b->compiled_plan->host_mem.weights, l);
	enum lmd_status st = LMD_OK;

	b->host_mem.n_phase = 3;
	cpu_x_need(&b->host_mem.shared_bytes, host_mem_max_rows(b->host_mem.plan, &l->x),
		   l->x.width, forms);
	cpu_x_need(&b->host_mem.part_bytes, CPU_SMALL / l->x.width, l->x.width, forms);
	if (l->ids.src != LMD_SRC_NONE)
		host_mem_lists_need(&b->host_mem.shared_bytes, items,
				    b->compiled_plan->host_mem.weights[l->w[0]]->n_stack);
	for (uint32_t i = 0; i < l->n_w && st == LMD_OK; i++) {
		const struct lmd_weight *w = b->compiled_plan->host_mem.weights[l->w[i]];
		uint64_t bytes = 0;

		st = host_mem_add_site(&b->compiled_plan->host_mem, l->lora_site[i], l->w[i], false,
				       err);
		cpu_product_need(b, &bytes, w, items);
		most = bytes > most ? bytes : most;
		if (host_mem_lora_wanted(b->host_mem.plan, l->lora_site[i]))
			host_mem_need(&b->host_mem.shared_bytes, items,
				      2 * linear_cols(l, w) * sizeof(float));
	}
	host_mem_need(&b->host_mem.part_bytes, 1, most);
	return st;
}

static void setup(struct linear *l, const struct cpu_run *r, const struct cpu_node *n)
{
	const struct lmd_op_linear *op = &n->op->u.linear;
	struct host_mem_view y = host_mem_view(&r->host_mem, target(op, 0));

	*l = (struct linear){.r = r, .op = op};
	l->x = host_mem_view(&r->host_mem, &op->x);
	l->ids = host_mem_view(&r->host_mem, &op->ids);
	l->n_x = (uint64_t)l->x.n_row * l->x.n_head;
	l->n_item = (uint64_t)y.n_row * y.n_head;
	l->heads = y.n_head;
	l->small = l->n_x * l->x.width <= CPU_SMALL && !l->ids.base &&
		   !(r->lora && any_lora(r->host_mem.plan, op));
}

static void setup_memory(struct linear *l, char *scratch)
{
	const struct cpu_run *r = l->r;
	struct cpu_forms forms = forms_of(r->dev, r->compiled_plan->host_mem.weights, l->op);
	char *cursor = l->small ? scratch : r->host_mem.shared;

	l->px = cpu_x_take(&cursor, l->n_x, l->x.width, forms);
	if (l->small) {
		l->scratch = cursor;
		return;
	}
	l->scratch = scratch;
	if (l->ids.base)
		l->lists = host_mem_lists_take(
			&cursor, l->n_item,
			r->compiled_plan->host_mem.weights[l->op->w[0]]->n_stack);
	for (uint32_t i = 0; i < l->op->n_w; i++) {
		const struct lmd_weight *w = r->compiled_plan->host_mem.weights[l->op->w[i]];

		if (r->lora && host_mem_lora_wanted(r->host_mem.plan, l->op->lora_site[i]))
			l->delta[i] = host_mem_take(&cursor, l->n_item,
						    2 * linear_cols(l->op, w) * sizeof(float));
	}
}

static bool wanted(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	struct linear l;

	setup(&l, r, n);
	if (phase == 0)
		return !l.small;
	return phase == 2 || (r->lora && any_lora(r->host_mem.plan, l.op));
}

static void prepare(const struct linear *l, uint64_t lo, uint64_t hi)
{
	struct cpu_norm norm = cpu_norm(l->r, &l->op->pro);

	for (uint64_t i = lo; i < hi; i++)
		cpu_x_set(l->r, &l->px, i, &l->x, (uint32_t)(i / l->x.n_head),
			  (uint32_t)(i % l->x.n_head), &norm);
}

/* Item i reads row i / divisor of x. */
static uint32_t divisor(const struct linear *l)
{
	return l->ids.base && l->x.n_head == 1 ? l->heads : 1;
}

static void adapters(const struct linear *l, const struct cpu_part *p)
{
	uint64_t lo, hi;

	host_mem_slice(&p->host_mem, l->n_item, &lo, &hi);
	for (uint32_t j = 0; j < l->op->n_w; j++) {
		const struct lmd_weight *w = l->r->compiled_plan->host_mem.weights[l->op->w[j]];
		uint64_t n = linear_cols(l->op, w);

		for (uint64_t i = lo; l->delta[j] && i < hi; i++) {
			uint32_t row = (uint32_t)(i / l->heads);
			uint32_t slice = l->ids.base ? (uint32_t)host_mem_cell_i32(&l->ids, row,
										   i % l->heads)
						     : 0;
			uint32_t slot = slice < w->n_stack ? host_mem_lora_slot(&l->r->host_mem,
										l->x.space, row)
							   : 0;

			cpu_lora_row(l->r, l->op->lora_site[j], slot, slice,
				     l->px.row[i / divisor(l)], l->px.k, (uint32_t)n,
				     l->delta[j] + i * 2 * n);
		}
	}
}

/* Address of row lo of a weight, counted over its slices. */
static const void *row_at(const struct lmd_weight *w, uint64_t lo)
{
	return cpu_weight_at(w, (uint32_t)(lo / w->n), (uint32_t)(lo % w->n));
}

static void multiply_all(const struct linear *l, const struct linear_out *o,
			 const struct cpu_items *items, const struct span *s,
			 const struct cpu_emit *emit)
{
	for (uint64_t lo = s->lo; lo < s->hi;) {
		struct cpu_rows rows = {.slice = (uint32_t)(lo / o->w->n),
					.lo = (uint32_t)(lo % o->w->n)};
		uint32_t left = o->w->n - rows.lo;

		rows.hi = s->hi - lo < left ? rows.lo + (uint32_t)(s->hi - lo) : o->w->n;
		lo += rows.hi - rows.lo;
		rows.next = lo < s->hi ? row_at(o->w, lo) : s->next;
		cpu_product(l->r, &l->px, items, o->w, &rows, l->scratch, emit);
	}
}

static void multiply_lists(const struct linear *l, const struct linear_out *o,
			   struct cpu_items items, const struct span *s,
			   const struct cpu_emit *emit)
{
	struct cpu_rows rows = {.lo = (uint32_t)s->lo, .hi = (uint32_t)s->hi};

	for (uint32_t i = 0; i < host_mem_lists_n_used(&l->lists); i++) {
		rows.slice = l->lists.used[i];
		items.list = host_mem_lists_of(&l->lists, rows.slice, &items.count);
		cpu_product(l->r, &l->px, &items, o->w, &rows, l->scratch, emit);
	}
	items.list = host_mem_lists_of(&l->lists, o->w->n_stack, &items.count);
	linear_skip(o, &items, rows.lo, rows.hi);
}

static void multiply(const struct linear *l, struct cpu_items items, const struct span *s)
{
	const struct lmd_op_linear *op = l->op;
	uint32_t j = s->j;
	struct linear_out o = {
		.l = l,
		.w = l->r->compiled_plan->host_mem.weights[op->w[j]],
		.y = host_mem_view(&l->r->host_mem, &op->y[j]),
		.r_in = host_mem_view(&l->r->host_mem, &op->r_in[j]),
		.r_out = host_mem_view(&l->r->host_mem, &op->r_out[j]),
		.delta = l->delta[j],
	};
	bool folded = (o.y.base ? &o.y : &o.r_out)->fold > 1;
	const struct cpu_emit emit = {&o, folded ? NULL : linear_place, linear_done};

	items.div = divisor(l);
	o.plain = !o.w->n_scale && !o.w->n_bias && !o.delta && op->scale == 1.0f &&
		  op->act == LMD_ACT_FN_NONE && op->softcap == 0.0f && op->clamp_lo == 0.0f &&
		  op->clamp_hi == 0.0f;
	if (l->ids.base)
		multiply_lists(l, &o, items, s, &emit);
	else
		multiply_all(l, &o, &items, s, &emit);
}

/* Divides the rows of all weights as one list of chunks. */
static struct sharing share(const struct lmd_op_linear *op, struct lmd_weight *const *weights,
			    uint32_t part, uint32_t n_part, uint32_t n_item)
{
	struct sharing s = {.n_w = op->n_w};
	uint64_t total = 0;

	for (uint32_t j = 0; j < op->n_w; j++) {
		s.w[j] = weights[op->w[j]];
		s.n[j] = linear_cols(op, s.w[j]);
		total += s.n[j];
	}
	s.grid = cpu_grid(part, n_part, n_item, total);
	for (uint32_t j = 0; j < op->n_w; j++)
		s.n_chunk += cpu_grid_chunks(&s.grid, s.n[j]);
	return s;
}

static struct span chunk(const struct sharing *s, uint32_t c)
{
	struct span p = {0};

	while (p.j < s->n_w && c >= cpu_grid_chunks(&s->grid, s->n[p.j]))
		c -= cpu_grid_chunks(&s->grid, s->n[p.j++]);
	if (p.j == s->n_w)
		return p;
	p.lo = (uint64_t)c * s->grid.chunk;
	p.hi = cpu_grid_end(&s->grid, s->n[p.j], c);
	return p;
}

static const void *span_at(const struct sharing *s, uint32_t c)
{
	struct span p = chunk(s, c);

	return p.j < s->n_w ? row_at(s->w[p.j], p.lo) : NULL;
}

static void products(const struct linear *l, const struct cpu_part *p)
{
	struct sharing s = share(l->op, l->r->compiled_plan->host_mem.weights, p->host_mem.part,
				 p->host_mem.n_part, l->ids.base ? 1 : (uint32_t)l->n_item);
	struct cpu_claim c;

	while (cpu_grid_claim(p, &s.grid, s.n_chunk, &c)) {
		struct cpu_items items = cpu_grid_items(&s.grid, &c);
		struct span span = chunk(&s, c.chunk);

		span.next = c.last ? p->ahead : span_at(&s, c.chunk + 1);
		multiply(l, items, &span);
	}
}

static const void *first(const struct lmd_compiled_plan *p, const struct cpu_node *n,
			 uint32_t phase, uint32_t part, uint32_t n_part)
{
	const struct lmd_op_linear *op = &n->op->u.linear;
	struct sharing s;
	uint32_t lo, hi;

	if (phase != 2 || op->ids.src != LMD_SRC_NONE)
		return NULL;
	s = share(op, p->host_mem.weights, part, n_part, 1);
	cpu_grid_list(&s.grid, s.n_chunk, s.grid.own, &lo, &hi);
	return lo < hi ? span_at(&s, lo) : NULL;
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	struct linear l;
	uint64_t lo, hi;

	setup(&l, r, n);
	setup_memory(&l, p->host_mem.scratch);
	if (p->host_mem.phase == 0) {
		host_mem_slice(&p->host_mem, l.n_x, &lo, &hi);
		prepare(&l, lo, hi);
		if (l.ids.base && p->host_mem.part == 0)
			host_mem_lists_fill(&l.lists, &l.ids, l.heads);
	} else if (p->host_mem.phase == 1) {
		adapters(&l, p);
	} else {
		if (l.small)
			prepare(&l, 0, l.n_x);
		products(&l, p);
	}
}

const struct cpu_op cpu_op_linear = {
	.plan = plan,
	.wanted = wanted,
	.run = run,
	.first = first,
};

/* SPDX-License-Identifier: MIT
 *
 * FFN: norm, gate and up, activation, down, residual.
 *
 * Phases: 0 prepares many rows of x; 1 computes what the adapters of gate and up add; 2 computes
 * gate, up and activation: the thread that has a slice of gate's rows has the same slice of up's,
 * so the activation needs no barrier; 3 prepares many rows of the hidden values and computes what
 * the adapter of down adds; 4 computes down. */
#include "act.h"
#include "ops.h"
#include "product.h"
#include "repack.h"

struct ffn {
	const struct cpu_run *r;
	const struct lmd_op_ffn *op;
	const struct lmd_weight *w[3]; /* gate or NULL, up, down */
	struct host_mem_view x, y, r_in, r_out;
	uint64_t n; /* rows times heads */
	uint32_t heads, width;
	bool lora, small_x, small_h;
	struct cpu_x px, ph;
	float *gate, *hidden; /* [n][F] */
	float *delta[3];
	char *scratch;
};

enum { GATE, UP, DOWN };

static bool any_lora(const struct lmd_plan *plan, const struct lmd_op_ffn *f)
{
	return host_mem_lora_wanted(plan, f->lora_site[GATE]) ||
	       host_mem_lora_wanted(plan, f->lora_site[UP]) ||
	       host_mem_lora_wanted(plan, f->lora_site[DOWN]);
}

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_ffn *f = &op->u.ffn;
	const uint32_t weight_ref[3] = {f->gate, f->up, f->down};
	uint64_t n = host_mem_max_rows(b->host_mem.plan, &f->x), most = 0;
	uint32_t width = b->compiled_plan->host_mem.weights[f->up]->n;

	enum lmd_status st = LMD_OK;

	b->host_mem.n_phase = 5;
	cpu_x_need(&b->host_mem.shared_bytes, n, f->x.width, cpu_forms_all(b->dev));
	cpu_x_need(&b->host_mem.shared_bytes, n, width, cpu_forms_all(b->dev));
	host_mem_need(&b->host_mem.shared_bytes, n, width * sizeof(float));
	host_mem_need(&b->host_mem.shared_bytes, n, width * sizeof(float));
	cpu_x_need(&b->host_mem.part_bytes, CPU_SMALL / f->x.width, f->x.width, cpu_forms_all(b->dev));
	cpu_x_need(&b->host_mem.part_bytes, CPU_SMALL / width, width, cpu_forms_all(b->dev));
	for (int i = 0; i < 3 && st == LMD_OK; i++) {
		uint64_t bytes = 0;

		if (weight_ref[i] == LMD_NONE)
			continue;
		st = host_mem_add_site(&b->compiled_plan->host_mem, f->lora_site[i], weight_ref[i],
				       false, err);
		cpu_product_need(b, &bytes, b->compiled_plan->host_mem.weights[weight_ref[i]], n);
		most = bytes > most ? bytes : most;
		if (host_mem_lora_wanted(b->host_mem.plan, f->lora_site[i]))
			host_mem_need(&b->host_mem.shared_bytes, n,
				      2ull * b->compiled_plan->host_mem.weights[weight_ref[i]]->n *
					      sizeof(float));
	}
	host_mem_need(&b->host_mem.part_bytes, 1, most);
	return st;
}

static void setup(struct ffn *f, const struct cpu_run *r, const struct cpu_node *node)
{
	const struct lmd_op_ffn *o = &node->op->u.ffn;

	*f = (struct ffn){.r = r, .op = o, .x = host_mem_view(&r->host_mem, &o->x)};
	f->n = (uint64_t)f->x.n_row * f->x.n_head;
	f->heads = f->x.n_head;
	f->width = r->compiled_plan->host_mem.weights[o->up]->n;
	f->lora = r->lora && any_lora(r->host_mem.plan, o);
	f->small_x = f->n * f->x.width <= CPU_SMALL && !f->lora;
	f->small_h = f->n * f->width <= CPU_SMALL && !f->lora;
}

static bool wanted(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	struct ffn f;

	setup(&f, r, n);
	return phase == 0 ? !f.small_x : phase == 1 ? f.lora : phase == 3 ? !f.small_h : true;
}

static void setup_memory(struct ffn *f, char *scratch)
{
	const struct lmd_op_ffn *o = f->op;
	const uint32_t weight_ref[3] = {o->gate, o->up, o->down};
	char *shared = f->r->host_mem.shared;
	struct cpu_forms of_x, of_h;

	for (int i = 0; i < 3; i++)
		f->w[i] = weight_ref[i] == LMD_NONE
				  ? NULL
				  : f->r->compiled_plan->host_mem.weights[weight_ref[i]];
	f->y = host_mem_view(&f->r->host_mem, &o->y);
	f->r_in = host_mem_view(&f->r->host_mem, &o->r_in);
	f->r_out = host_mem_view(&f->r->host_mem, &o->r_out);
	of_x = cpu_forms_of(f->r->dev, f->w + GATE, 2);
	of_h = cpu_forms_of(f->r->dev, f->w + DOWN, 1);
	f->px = cpu_x_take(f->small_x ? &scratch : &shared, f->n, f->x.width, of_x);
	f->ph = cpu_x_take(f->small_h ? &scratch : &shared, f->n, f->width, of_h);
	f->gate = host_mem_take(&shared, f->n, f->width * sizeof(float));
	f->hidden = host_mem_take(&shared, f->n, f->width * sizeof(float));
	for (int i = 0; f->lora && i < 3; i++) {
		if (f->w[i] && host_mem_lora_wanted(f->r->host_mem.plan, o->lora_site[i]))
			f->delta[i] = host_mem_take(&shared, f->n, 2ull * f->w[i]->n * sizeof(float));
	}
	f->scratch = scratch;
}

static void prepare_x(const struct ffn *f, uint64_t lo, uint64_t hi)
{
	struct cpu_norm norm = cpu_norm(f->r, &f->op->norm);

	for (uint64_t i = lo; i < hi; i++)
		cpu_x_set(f->r, &f->px, i, &f->x, (uint32_t)(i / f->heads),
			  (uint32_t)(i % f->heads), &norm);
}

static void prepare_hidden(const struct ffn *f, uint64_t lo, uint64_t hi)
{
	const struct host_mem_view v = {
		.base = (char *)f->hidden,
		.row_bytes = f->width * sizeof(float),
		.n_row = (uint32_t)f->n,
		.n_head = 1,
		.width = f->width,
		.fold = 1,
		.value_width = f->width,
	};

	for (uint64_t i = lo; i < hi; i++)
		cpu_x_set(f->r, &f->ph, i, &v, (uint32_t)i, 0, NULL);
}

static void adapter(const struct ffn *f, int i, uint64_t row, const struct cpu_x *x)
{
	if (f->delta[i])
		cpu_lora_row(
			f->r, f->op->lora_site[i],
			host_mem_lora_slot(&f->r->host_mem, f->x.space, (uint32_t)(row / f->heads)),
			0, x->row[row], x->k, f->w[i]->n, f->delta[i] + row * 2 * f->w[i]->n);
}

/* Applies scale, adapter and bias to n outputs of weight i. */
static void finish(const struct ffn *f, int i, uint32_t item, uint32_t n0, uint32_t n, float *v)
{
	const struct lmd_weight *w = f->w[i];
	const float *delta = f->delta[i] ? f->delta[i] + (size_t)item * 2 * w->n + n0 : NULL;

	for (uint32_t j = 0; w->n_scale && j < n; j++)
		v[j] *= host_mem_weight_scale(w, 0, n0 + j);
	for (uint32_t j = 0; delta && j < n; j++)
		v[j] = lora_apply(v[j], delta + j, w->n);
	for (uint32_t j = 0; w->n_bias && j < n; j++)
		v[j] += host_mem_weight_bias(w, 0, n0 + j);
}

static float *place_gate(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n)
{
	const struct ffn *f = arg;

	(void)slice;
	(void)n;
	return f->gate + (size_t)item * f->width + n0;
}

static void done_gate(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	(void)slice;
	finish(arg, GATE, item, n0, n, v);
}

static float *place_up(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n)
{
	const struct ffn *f = arg;

	(void)slice;
	(void)n;
	return f->hidden + (size_t)item * f->width + n0;
}

static void done_up(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	const struct ffn *f = arg;

	(void)slice;
	finish(f, UP, item, n0, n, v);
	if (f->w[GATE])
		cpu_act_row(f->r->dev->fl, f->op->act, f->op->p,
			    f->gate + (size_t)item * f->width + n0, v, v, n);
	else
		cpu_act_row(f->r->dev->fl, f->op->act, f->op->p, v, NULL, v, n);
}

static float *place_down(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n)
{
	const struct ffn *f = arg;
	const struct host_mem_view *v = f->y.base ? &f->y : &f->r_out;

	(void)slice;
	(void)n;
	return host_mem_el(v, item / f->heads, item % f->heads, n0);
}

static void done_down(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	const struct ffn *f = arg;
	uint32_t row = item / f->heads, head = item % f->heads;

	(void)slice;
	finish(f, DOWN, item, n0, n, v);
	for (uint32_t j = 0; f->y.base && f->y.fold > 1 && j < n; j++)
		host_mem_put(&f->y, row, head, n0 + j, v[j]);
	if (!f->r_out.base)
		return;
	if (f->r_out.fold == 1 && f->r_in.fold == 1 && !f->r_in.i32) {
		const float *in = host_mem_el(&f->r_in, row, head, n0);
		float *out = host_mem_el(&f->r_out, row, head, n0);

		f->r->dev->fl->madd(out, in, f->op->a, v, n);
		return;
	}
	for (uint32_t j = 0; j < n; j++)
		host_mem_put(&f->r_out, row, head, n0 + j,
			     host_mem_get(&f->r_in, row, head, n0 + j) + f->op->a * v[j]);
}

static void gate_up(struct ffn *f, const struct cpu_part *p)
{
	const struct cpu_emit gate = {f, place_gate, done_gate}, up = {f, place_up, done_up};
	struct cpu_grid g =
		cpu_grid(p->host_mem.part, p->host_mem.n_part, (uint32_t)f->n, f->width);
	const struct lmd_weight *first = f->w[GATE] ? f->w[GATE] : f->w[UP];
	uint32_t n = cpu_grid_chunks(&g, f->width);
	struct cpu_claim c;

	while (cpu_grid_claim(p, &g, n, &c)) {
		struct cpu_items items = cpu_grid_items(&g, &c);
		struct cpu_rows rows = {.lo = c.chunk * g.chunk,
					.hi = (uint32_t)cpu_grid_end(&g, f->width, c.chunk)};

		if (f->w[GATE]) {
			rows.next = cpu_weight_at(f->w[UP], 0, rows.lo);
			cpu_product(f->r, &f->px, &items, f->w[GATE], &rows, f->scratch, &gate);
		}
		rows.next = c.last ? p->ahead : cpu_weight_at(first, 0, rows.hi);
		cpu_product(f->r, &f->px, &items, f->w[UP], &rows, f->scratch, &up);
	}
}

static void down(struct ffn *f, const struct cpu_part *p)
{
	const struct host_mem_view *v = f->y.base ? &f->y : &f->r_out;
	const struct cpu_emit emit = {f, v->fold > 1 ? NULL : place_down, done_down};

	cpu_product_shared(f->r, p, &f->ph, (uint32_t)f->n, f->w[DOWN], f->scratch, &emit);
}

static const void *first(const struct lmd_compiled_plan *p, const struct cpu_node *n,
			 uint32_t phase, uint32_t part, uint32_t n_part)
{
	const struct lmd_op_ffn *o = &n->op->u.ffn;

	if (phase == 2)
		return cpu_grid_first(p->host_mem.weights[o->gate == LMD_NONE ? o->up : o->gate],
				      part, n_part);
	return phase == 4 ? cpu_grid_first(p->host_mem.weights[o->down], part, n_part) : NULL;
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	struct ffn f;
	uint64_t lo, hi;

	setup(&f, r, n);
	setup_memory(&f, p->host_mem.scratch);
	host_mem_slice(&p->host_mem, f.n, &lo, &hi);
	switch (p->host_mem.phase) {
	case 0:
		prepare_x(&f, lo, hi);
		break;
	case 1:
		for (uint64_t i = lo; i < hi; i++) {
			adapter(&f, GATE, i, &f.px);
			adapter(&f, UP, i, &f.px);
		}
		break;
	case 2:
		if (f.small_x)
			prepare_x(&f, 0, f.n);
		gate_up(&f, p);
		break;
	case 3:
		prepare_hidden(&f, lo, hi);
		for (uint64_t i = lo; i < hi; i++)
			adapter(&f, DOWN, i, &f.ph);
		break;
	default:
		if (f.small_h)
			prepare_hidden(&f, 0, f.n);
		down(&f, p);
		break;
	}
}

const struct cpu_op cpu_op_ffn = {
	.plan = plan,
	.wanted = wanted,
	.run = run,
	.first = first,
};

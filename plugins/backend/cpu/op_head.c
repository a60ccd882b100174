/* SPDX-License-Identifier: MIT
 *
 * HEAD: the output rows, normed, times the vocabulary.
 *
 * Phases: 0 prepares many rows, 1 computes what adapters add, 2 multiplies (and prepares few
 * rows). */
#include "act.h"
#include "ops.h"
#include "product.h"

struct head {
	const struct cpu_run *r;
	const struct lmd_op_head *op;
	const struct lmd_weight *w;
	const float *bias; /* or NULL */
	struct host_mem_view x, y;
	uint32_t n;
	bool lora, small;
	struct cpu_x px;
	float *delta;
	char *scratch;
};

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_head *h = &op->u.head;
	const struct lmd_weight *w = b->compiled_plan->host_mem.weights[h->w];
	uint64_t rows = b->host_mem.plan->max_rows[LMD_SPACE_OUTPUTS];
	struct cpu_forms forms = cpu_forms_of(b->dev, &w, 1);
	enum lmd_status st;

	b->host_mem.n_phase = 3;
	cpu_x_need(&b->host_mem.shared_bytes, rows, w->k, forms);
	cpu_x_need(&b->host_mem.part_bytes, CPU_SMALL / w->k, w->k, forms);
	cpu_product_need(b, &b->host_mem.part_bytes, w, rows);
	if (host_mem_lora_wanted(b->host_mem.plan, h->lora_site))
		host_mem_need(&b->host_mem.shared_bytes, rows,
			      2 * (uint64_t)w->n * sizeof(float));
	st = host_mem_add_site(&b->compiled_plan->host_mem, h->lora_site, h->w, false, err);
	return st == LMD_OK ? host_mem_flatten(&b->host_mem, h->bias, err) : st;
}

static void setup(struct head *h, const struct cpu_run *r, const struct cpu_node *n)
{
	const struct lmd_op_head *o = &n->op->u.head;

	*h = (struct head){.r = r,
			   .op = o,
			   .w = r->compiled_plan->host_mem.weights[o->w],
			   .n = r->host_mem.step->head->n_out};
	h->lora = r->lora && host_mem_lora_wanted(r->host_mem.plan, o->lora_site);
	h->small = (uint64_t)h->n * h->w->k <= CPU_SMALL && !h->lora;
}

static bool wanted(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	struct head h;

	setup(&h, r, n);
	return h.n && (phase == 0 ? !h.small : phase == 1 ? h.lora : true);
}

static void setup_memory(struct head *h, char *scratch)
{
	const struct cpu_run *r = h->r;
	char *shared = r->host_mem.shared;

	h->x = host_mem_view(&r->host_mem, &h->op->x);
	h->y = host_mem_view(&r->host_mem, &h->op->y);
	h->px = cpu_x_take(h->small ? &scratch : &shared, h->n, h->w->k,
			   cpu_forms_of(r->dev, &h->w, 1));
	if (h->lora)
		h->delta = host_mem_take(&shared, h->n, 2 * (uint64_t)h->w->n * sizeof(float));
	if (h->op->bias != LMD_NONE)
		h->bias = r->compiled_plan->host_mem.weights[h->op->bias]->flat;
	h->scratch = scratch;
}

static void prepare(const struct head *h, uint64_t lo, uint64_t hi)
{
	struct cpu_norm norm = cpu_norm(h->r, &h->op->norm);

	for (uint64_t i = lo; i < hi; i++)
		cpu_x_set(h->r, &h->px, i, &h->x, (uint32_t)h->r->host_mem.step->out_row[i], 0,
			  &norm);
}

static float *place(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n)
{
	const struct head *h = arg;

	(void)slice;
	(void)n;
	return host_mem_el(&h->y, item, 0, n0);
}

static void done(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	const struct head *h = arg;

	(void)slice;
	for (uint32_t i = 0; h->w->n_scale && i < n; i++)
		v[i] *= host_mem_weight_scale(h->w, 0, n0 + i);
	for (uint32_t i = 0; h->delta && i < n; i++)
		v[i] = lora_apply(v[i], h->delta + (size_t)item * 2 * h->w->n + n0 + i, h->w->n);
	for (uint32_t i = 0; h->op->scale != 1.0f && i < n; i++)
		v[i] *= h->op->scale;
	for (uint32_t i = 0; h->w->n_bias && i < n; i++)
		v[i] += host_mem_weight_bias(h->w, 0, n0 + i);
	for (uint32_t i = 0; h->op->softcap != 0.0f && i < n; i++)
		v[i] = host_mem_softcap(v[i], h->op->softcap);
	for (uint32_t i = 0; h->bias && i < n; i++)
		v[i] += h->bias[n0 + i];
	for (uint32_t i = 0; h->y.fold > 1 && i < n; i++)
		host_mem_put(&h->y, item, 0, n0 + i, v[i]);
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	struct head h;
	struct cpu_emit emit = {&h, place, done};
	uint64_t lo, hi;

	setup(&h, r, n);
	setup_memory(&h, p->host_mem.scratch);
	if (h.y.fold > 1)
		emit.place = NULL;
	host_mem_slice(&p->host_mem, h.n, &lo, &hi);
	if (p->host_mem.phase == 0)
		prepare(&h, lo, hi);
	for (uint64_t i = lo; p->host_mem.phase == 1 && i < hi; i++)
		cpu_lora_row(r, h.op->lora_site,
			     host_mem_lora_slot(&r->host_mem, LMD_SPACE_TOKENS,
						(uint32_t)r->host_mem.step->out_row[i]),
			     0, h.px.row[i], h.px.k, h.w->n, h.delta + (size_t)i * 2 * h.w->n);
	if (p->host_mem.phase != 2)
		return;
	if (h.small)
		prepare(&h, 0, h.n);
	cpu_product_shared(r, p, &h.px, h.n, h.w, h.scratch, &emit);
}

static const void *first(const struct lmd_compiled_plan *p, const struct cpu_node *n,
			 uint32_t phase, uint32_t part, uint32_t n_part)
{
	return phase == 2 ? cpu_grid_first(p->host_mem.weights[n->op->u.head.w], part, n_part)
			  : NULL;
}

const struct cpu_op cpu_op_head = {
	.plan = plan,
	.wanted = wanted,
	.run = run,
	.first = first,
};

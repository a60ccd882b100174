/* SPDX-License-Identifier: MIT
 *
 * What follows a product of few rows without a launch of its own (kern/tail.h).  A launch that is to be
 * left out in such steps looks at the one that was appended last; if that is the product whose
 * results it reads, it becomes its tail. */
#include <string.h>

#include "plan.h"

/* Bytes of the arguments of a tail in device memory. */
#define TAIL_BYTES 512u

LMD_STATIC_ASSERT(sizeof(struct gpu_glu_args) <= TAIL_BYTES &&
			  sizeof(struct gpu_norm_args) <= TAIL_BYTES,
		  "arguments of a tail fit");

uint64_t gpu_tail_bytes(const struct lmd_plan *plan)
{
	return 2ull * TAIL_BYTES * plan->n_op; /* a norm and GLU for each */
}

void gpu_build_counters(struct gpu_build *b, uint64_t n)
{
	if (n > b->p->n_counter)
		b->p->n_counter = n;
}

/* The launch that was appended last, if it is a product of few rows that has no tail yet. */
static struct gpu_parts_args *last_product(struct gpu_build *b)
{
	struct gpu_launch *last = gpu_build_last(b);
	struct gpu_parts_args *p;

	if (!last || b->p->dev->exact || b->p->dev->invariant || last->pick != GPU_PICK_ROWS ||
	    last->slices || b->n_tail == 2 * b->plan->n_op)
		return NULL;
	p = (struct gpu_parts_args *)(void *)(b->p->args + last->args);
	return p->tail_kind ? NULL : p;
}

static bool attach(struct gpu_build *b, struct gpu_parts_args *p, uint32_t kind, const void *args,
		   size_t bytes)
{
	gpu_ptr at = b->p->tails + (uint64_t)TAIL_BYTES * b->n_tail;
	enum lmd_status st = gpu_upload(b->p->dev, at, args, bytes, b->err);

	if (st != LMD_OK) {
		b->status = st;
		return false;
	}
	b->n_tail++;
	p->tail = at;
	p->tail_kind = kind;
	p->counters = b->p->counters;
	return true;
}

static uint64_t outputs_of(const struct gpu_linear_args *a)
{
	return (uint64_t)a->w.n_stack * a->w.n;
}

bool gpu_tail_glu(struct gpu_build *b, const struct gpu_glu_args *a)
{
	const struct gpu_view *const in[] = {&a->a, &a->b};
	uint32_t n = a->b.flags & GPU_VIEW_SET ? 2 : 1;
	uint64_t rows = gpu_build_max_rows(b, &a->y) * a->y.n_head;
	struct gpu_parts_args *p;

	gpu_build_counters(b, (rows / 8 + 1) * (a->y.width / GPU_TAIL_COLUMNS + 1));
	p = last_product(b);
	if (!p || p->n_part != n || gpu_build_last(b)->op != b->op)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct gpu_linear_args *part = &p->part[i];

		if (part->e.y.base != in[i]->base || outputs_of(part) != a->y.width ||
		    part->heads != a->y.n_head || p->blocks[i] != p->blocks[0])
			return false;
	}
	return attach(b, p, GPU_TAIL_GLU, a, sizeof(*a));
}

/* Are the rows of x those that the product stores as v? */
static bool same_rows(const struct gpu_view *x, const struct gpu_view *v, uint64_t outputs)
{
	return (v->flags & GPU_VIEW_SET) && x->base == v->base && x->row_bytes == v->row_bytes &&
	       x->col0 == v->col0 && x->width == outputs && x->n_head == 1 && v->n_head == 1 &&
	       x->fold == 1 && v->fold == 1 && x->div == 1 && v->div == 1 && x->space == v->space &&
	       !x->input && !v->input && !((x->flags | v->flags) & GPU_VIEW_I32);
}

bool gpu_tail_norm(struct gpu_build *b, const struct gpu_norm_args *a)
{
	struct gpu_parts_args *p;
	const struct gpu_epilogue *e;

	gpu_build_counters(b, 1);
	p = last_product(b);
	if (!p || p->n_part != 1 || p->part[0].heads != 1 || a->rows != GPU_ROWS_SAME)
		return false;
	e = &p->part[0].e;
	if (a->norm.g.input || a->norm.b.input || a->y.space != a->x.space ||
	    (!same_rows(&a->x, &e->r_out, outputs_of(&p->part[0])) &&
	     !same_rows(&a->x, &e->y, outputs_of(&p->part[0]))))
		return false;
	return attach(b, p, GPU_TAIL_NORM, a, sizeof(*a));
}

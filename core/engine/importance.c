/* SPDX-License-Identifier: MIT
 *
 * Observes a step. The plan consists of plain ops, so the factor of each weight is a value that an
 * earlier op has written. A value that a product needs is copied when it is written and freed after
 * the last such product; its memory in the plan may have been reused by then. */
#include "core/engine/observe.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/engine/engine_impl.h"

struct copy {
	void *data; /* f32 or i32 [n_row][width]; NULL: not yet written, or freed */
	uint32_t n_row, width;
	uint32_t last; /* last op that needs it; valid if `wanted` */
	bool wanted;
};

struct watch {
	const struct lmd_model *model;
	struct lmi_imatrix *m;
	bool with_head;
	const struct lmd_plan *plan;
	struct copy *copies; /* [n_value] */
	uint32_t next;	     /* ops before this one are done */
	float *sum, *sum2;   /* [width] of the current row sums */
	uint64_t cap;
	enum lmd_status st;
	struct lmd_error err;
};

/* The operands of a product: input, expert numbers (or NULL) and weight. */
struct product {
	const struct lmd_operand *x, *ids;
	const struct lmd_weight_ref *w;
	bool by_head; /* head h of x is multiplied by matrix h */
};

static bool product_of(const struct lmd_plan *p, uint32_t i, struct product *out)
{
	const struct lmd_op *op = &p->ops[i];

	*out = (struct product){0};
	if (op->code == LMD_OP_LINEAR && op->u.linear.n_w == 1) {
		out->x = &op->u.linear.x;
		out->ids = op->u.linear.ids.src ? &op->u.linear.ids : NULL;
		out->w = &p->weight_refs[op->u.linear.w[0]];
	} else if (op->code == LMD_OP_BMM) {
		out->x = &op->u.bmm.x;
		out->w = &p->weight_refs[op->u.bmm.w];
		out->by_head = true;
	} else {
		return false;
	}
	return out->x->src == LMD_SRC_VALUE && out->w->transform != LMD_TRANSFORM_HEAD_TRANSPOSE &&
	       (!out->ids || out->ids->src == LMD_SRC_VALUE);
}

static void want(struct watch *t, const struct lmd_operand *o, uint32_t op)
{
	t->copies[o->id].wanted = true;
	t->copies[o->id].last = op;
}

static bool begin(struct watch *t)
{
	struct product f;

	t->copies = lmi_alloc(t->plan->n_value + 1u, sizeof(*t->copies));
	for (uint32_t i = 0; t->copies && i < t->plan->n_op; i++) {
		if (!product_of(t->plan, i, &f))
			continue;
		want(t, f.x, i);
		if (f.ids)
			want(t, f.ids, i);
	}
	if (!t->copies)
		t->st = lmd_fail(&t->err, LMD_NOMEM, "no memory for %u values", t->plan->n_value);
	return t->copies != NULL;
}

static bool room(struct watch *t, uint64_t n)
{
	if (n > t->cap) {
		lmi_free(t->sum);
		lmi_free(t->sum2);
		t->sum = lmi_alloc((size_t)n, sizeof(float));
		t->sum2 = lmi_alloc((size_t)n, sizeof(float));
		t->cap = t->sum && t->sum2 ? n : 0;
	}
	if (!t->cap) {
		t->st = lmd_fail(&t->err, LMD_NOMEM, "no memory for %llu sums",
				 (unsigned long long)n);
		return false;
	}
	memset(t->sum, 0, (size_t)n * sizeof(float));
	memset(t->sum2, 0, (size_t)n * sizeof(float));
	return true;
}

static void add_row(float *sum, float *sum2, const float *x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		sum[i] += x[i];
		sum2[i] += x[i] * x[i];
	}
}

/* Returns head h of row r of an operand. */
static const float *row_of(const struct watch *t, const struct lmd_operand *o, uint32_t r,
			   uint32_t h)
{
	const struct copy *c = &t->copies[o->id];
	uint32_t fold = o->fold > 1 ? o->fold : 1;

	return (const float *)c->data + (size_t)r * c->width * fold + o->col0 +
	       (size_t)h * o->head_stride;
}

/* Returns the tensor of a part that starts at row 0, else NULL: weights made of other rows of the
 * tensor have the same inputs. */
static const struct lmd_tensor *tensor_of(const struct watch *t, const struct lmd_weight_ref *w,
					  uint32_t part)
{
	const struct lmd_weight_part *p = &w->parts[part];
	const struct lmd_tensor *x;

	if (p->kind != LMD_WEIGHT_PART_TENSOR || p->row0)
		return NULL;
	x = &t->model->tensors[p->tensor];
	if ((uint64_t)x->dims[0] != w->k)
		return NULL;
	if (!strcmp(x->name, "output.weight"))
		return t->with_head ? x : NULL;
	return strncmp(x->name, "blk.", 4) ? NULL : x;
}

static bool add_to(struct watch *t, const char *name, uint64_t n, uint32_t n_count, uint64_t at,
		   uint64_t n_here, uint32_t i_count, uint64_t rows)
{
	struct lmi_imatrix_entry *e;
	char show[80];

	t->st = lmi_imatrix_entry(t->m, name, n, n_count, true, &e, &t->err);
	for (uint64_t i = 0; t->st == LMD_OK && i < n_here; i++) {
		e->sum2[at + i] += t->sum2[i];
		if (e->sum)
			e->sum[at + i] += t->sum[i];
		if (!isfinite(e->sum2[at + i]))
			t->st = lmd_fail(&t->err, LMD_INVALID, "%s: an input is infinite or NaN",
					 lmi_printable(show, sizeof(show), name, strlen(name)));
	}
	if (t->st == LMD_OK)
		e->count[n_count > 1 ? i_count : 0] += (float)rows;
	return t->st == LMD_OK;
}

/* Handles one matrix, or a stack whose heads have their own inputs and share one count. */
static bool add_dense(struct watch *t, const struct product *f)
{
	const struct lmd_operand *x = f->x;
	uint32_t fold = x->fold > 1 ? x->fold : 1, n_row = t->copies[x->id].n_row / fold;
	uint32_t n_mat = f->by_head ? x->n_head : 1, k = x->width;

	if (!room(t, (uint64_t)n_mat * k))
		return false;
	for (uint32_t r = 0; r < n_row; r++)
		for (uint32_t h = 0; h < x->n_head; h++)
			add_row(t->sum + (f->by_head ? (size_t)h * k : 0),
				t->sum2 + (f->by_head ? (size_t)h * k : 0), row_of(t, x, r, h), k);
	for (uint32_t i = 0; i < f->w->n_part; i++) {
		const struct lmd_tensor *of = tensor_of(t, f->w, i);
		uint64_t stack = of && of->n_dim > 2 ? (uint64_t)of->dims[2] : 1;

		if (!of || (f->by_head && stack != n_mat))
			continue;
		if (!add_to(t, of->name, (uint64_t)n_mat * k, 1, 0, (uint64_t)n_mat * k, 0,
			    (uint64_t)n_row * (f->by_head ? 1 : x->n_head)))
			return false;
	}
	return true;
}

/* Handles expert e of a stack: the rows whose list contains its number. */
static uint64_t sum_expert(struct watch *t, const struct product *f, uint32_t e)
{
	const struct copy *ids = &t->copies[f->ids->id];
	uint32_t n_row = t->copies[f->x->id].n_row, k = f->ids->width;
	uint64_t n = 0;

	for (uint32_t r = 0; r < n_row && r < ids->n_row; r++) {
		const int32_t *id =
			(const int32_t *)ids->data + (size_t)r * ids->width + f->ids->col0;

		for (uint32_t j = 0; j < k; j++) {
			if (id[j] != (int32_t)e)
				continue;
			add_row(t->sum, t->sum2, row_of(t, f->x, r, f->x->n_head > 1 ? j : 0),
				f->x->width);
			n++;
		}
	}
	return n;
}

static bool add_experts(struct watch *t, const struct product *f)
{
	bool unfused = f->w->transform == LMD_TRANSFORM_STACK_EXPERTS;
	uint32_t n_stack = f->w->n_stack, width = f->x->width;

	for (uint32_t e = 0; e < n_stack; e++) {
		uint64_t n;

		if (!room(t, width))
			return false;
		n = sum_expert(t, f, e);
		for (uint32_t i = 0; i < f->w->n_part; i++) {
			const struct lmd_tensor *of = tensor_of(t, f->w, i);

			if (!of || (unfused && i != e))
				continue;
			if (unfused ? !add_to(t, of->name, width, 1, 0, width, 0, n)
				    : !add_to(t, of->name, (uint64_t)width * n_stack, n_stack,
					      (uint64_t)e * width, width, e, n))
				return false;
		}
	}
	return true;
}

static bool add_product(struct watch *t, uint32_t i)
{
	struct product f;

	if (!product_of(t->plan, i, &f))
		return true;
	if (!t->copies[f.x->id].data || (f.ids && !t->copies[f.ids->id].data))
		return true; /* not computed in this step: an encoder's value */
	return f.ids ? add_experts(t, &f) : add_dense(t, &f);
}

static void let_go(struct watch *t, uint32_t op)
{
	struct product f;

	if (!product_of(t->plan, op, &f))
		return;
	for (int k = 0; k < 2; k++) {
		const struct lmd_operand *o = k ? f.ids : f.x;

		if (o && t->copies[o->id].last == op) {
			lmi_free(t->copies[o->id].data);
			t->copies[o->id].data = NULL;
		}
	}
}

static bool keep(struct watch *t, const struct lmd_observed *o)
{
	struct copy *c = &t->copies[o->value];
	size_t n = (size_t)o->n_row * o->width;

	if (!c->wanted || !n)
		return true;
	if (!c->data || c->n_row != o->n_row) {
		lmi_free(c->data);
		c->data = lmi_alloc(n, 4);
	}
	if (!c->data) {
		t->st = lmd_fail(&t->err, LMD_NOMEM, "no memory for %zu values", n);
		return false;
	}
	c->n_row = o->n_row;
	c->width = o->width;
	memcpy(c->data, o->data, n * 4);
	return true;
}

/* Ops are observed in order; everything an op reads was written before. */
static bool on_value(void *arg, const struct lmd_observed *o)
{
	struct watch *t = arg;

	if (!t->copies && !begin(t))
		return false;
	while (t->next <= o->op) {
		if (!add_product(t, t->next))
			return false;
		let_go(t, t->next++);
	}
	return keep(t, o);
}

enum lmd_status lmi_engine_importance_add(struct lmi_engine *e, const struct lmi_engine_eval *cmd,
					  bool with_head, struct lmi_imatrix *m,
					  struct lmd_error *err)
{
	struct watch t = {.model = e->inst->model, .m = m, .with_head = with_head};
	enum lmd_status st = lmi_engine_observe(e, cmd, &t.plan, on_value, &t, err);

	for (uint32_t i = 0; t.copies && i < t.plan->n_value; i++)
		lmi_free(t.copies[i].data);
	lmi_free(t.copies);
	lmi_free(t.sum);
	lmi_free(t.sum2);
	return t.st != LMD_OK ? lmd_fail(err, t.st, "%s", t.err.text) : st;
}

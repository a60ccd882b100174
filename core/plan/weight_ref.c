/* SPDX-License-Identifier: MIT
 *
 * Resolves weight references against tensors.  A tensor is a run of elements, viewed as rows of K;
 * a part is a window of these rows, taken once or once per head.  Blocks of block types are never
 * split, because K is a multiple of the block. */
#include "core/plan/weight_ref.h"

#include "core/base/checked.h"
#include "core/quant/quant.h"

/* One part as rows. */
struct rows {
	const char *name;
	const struct lmi_dtype *type;
	const void *data;
	uint64_t k, rows;   /* of the tensor, or K of its window */
	uint64_t row_k, k0; /* elements of a row, and where the window begins */
	uint64_t head_rows; /* rows from head to head */
	uint64_t row0, n_row;
};

static const struct lmd_model *part_model(const struct lmd_weight_part *pt,
					  const struct lmd_model *model,
					  const struct lmd_model *target)
{
	return pt->kind == LMD_WEIGHT_PART_OF_TARGET ? target : model;
}

const struct lmd_model *lmi_plan_weight_ref_model(const struct lmd_weight_ref *w,
						  const struct lmd_model *model,
						  const struct lmd_model *target)
{
	return w->n_part ? part_model(&w->parts[0], model, target) : model;
}

static bool tensor_elems(const struct lmd_tensor *t, uint64_t *out)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < t->n_dim && i < LMD_MAX_DIMS; i++)
		if (t->dims[i] < 1 || !lmi_mul_ok(n, (uint64_t)t->dims[i], &n))
			return false;
	*out = n;
	return true;
}

/* Returns K of the tensor before any transpose; 0 = the tensor's own. */
static uint64_t wanted_k(const struct lmd_weight_ref *w)
{
	return w->transform == LMD_TRANSFORM_HEAD_TRANSPOSE ? w->n : w->k;
}

static enum lmd_status open_literal(const struct lmd_weight_ref *w,
				    const struct lmd_weight_part *pt, struct rows *r,
				    struct lmd_error *err)
{
	uint64_t n;

	r->name = "literal";
	r->type = lmi_dtype(LMD_DTYPE_F32);
	r->data = pt->literal;
	r->k = r->row_k = wanted_k(w);
	r->rows = pt->n_row;
	if (!pt->literal || !r->k || !r->rows)
		return lmd_fail(err, LMD_INVALID, "weight %s: literal [%u, %u] without numbers",
				w->name, pt->n_row, w->k);
	if (!lmi_mul_ok(r->k, r->rows, &n) || n > (1u << 20) / sizeof(float))
		return lmd_fail(err, LMD_INVALID,
				"weight %s: literal [%u, %u] is greater than 1 MiB", w->name,
				pt->n_row, w->k);
	return LMD_OK;
}

/* Takes columns of every row of a tensor. */
static enum lmd_status window_k(const struct lmd_weight_ref *w, const struct lmd_weight_part *pt,
				const struct lmd_tensor *t, uint64_t elems, struct rows *r,
				struct lmd_error *err)
{
	const uint32_t block = r->type->block_elems;

	r->row_k = (uint64_t)t->dims[0];
	r->k0 = pt->k0;
	r->k = pt->n_k ? pt->n_k : r->row_k - (pt->k0 < r->row_k ? pt->k0 : r->row_k);
	r->rows = elems / r->row_k;
	if (!r->k || r->k0 + r->k > r->row_k)
		return lmd_fail(err, LMD_INVALID,
				"weight %s: columns %u..%llu of tensor %s, which has %llu", w->name,
				pt->k0, (unsigned long long)(r->k0 + r->k), t->name,
				(unsigned long long)r->row_k);
	if (r->k0 % block || r->k % block)
		return lmd_fail(err, LMD_INVALID,
				"weight %s: columns %u..%llu of tensor %s are not whole blocks of "
				"%u",
				w->name, pt->k0, (unsigned long long)(r->k0 + r->k), t->name, block);
	if (r->type->row_bytes_extra)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"weight %s: rows of %s in tensor %s begin with a header, so their "
				"columns cannot be divided",
				w->name, r->type->name, t->name);
	return LMD_OK;
}

static enum lmd_status open_tensor(const struct lmd_weight_ref *w, const struct lmd_weight_part *pt,
				   const struct lmd_model *m, struct rows *r, struct lmd_error *err)
{
	const struct lmd_tensor *t;
	uint64_t elems;

	if (!m)
		return lmd_fail(err, LMD_INVALID,
				"weight %s: a part of the target model, but there "
				"is no target",
				w->name);
	if (pt->tensor >= m->n_tensors)
		return lmd_fail(err, LMD_INVALID, "weight %s: tensor %u, the model has %u", w->name,
				pt->tensor, m->n_tensors);
	t = &m->tensors[pt->tensor];
	r->name = t->name;
	r->data = t->data;
	r->type = lmi_dtype(t->dtype);
	if (!r->type)
		return lmd_fail(err, LMD_UNSUPPORTED, "weight %s: type %u of tensor %s is unknown",
				w->name, t->dtype, t->name);
	if (!tensor_elems(t, &elems))
		return lmd_fail(err, LMD_CORRUPT, "weight %s: the sizes of tensor %s overflow",
				w->name, t->name);
	if (pt->k0 || pt->n_k)
		return window_k(w, pt, t, elems, r, err);
	r->k = r->row_k = wanted_k(w) ? wanted_k(w) : (uint64_t)t->dims[0];
	if (elems % r->k)
		return lmd_fail(err, LMD_INVALID,
				"weight %s: tensor %s has %llu elements, not a multiple of K %llu",
				w->name, t->name, (unsigned long long)elems,
				(unsigned long long)r->k);
	if (r->k % r->type->block_elems || (uint64_t)t->dims[0] % r->type->block_elems)
		return lmd_fail(err, LMD_INVALID,
				"weight %s: K %llu of tensor %s is not a multiple of the %s "
				"block %u",
				w->name, (unsigned long long)r->k, t->name, r->type->name,
				r->type->block_elems);
	r->rows = elems / r->k;
	return LMD_OK;
}

/* Computes the window of a part: row0, n_row, head_rows. */
static enum lmd_status window(const struct lmd_weight_ref *w, const struct lmd_weight_part *pt,
			      struct rows *r, struct lmd_error *err)
{
	uint64_t bound = r->rows, end, need;

	r->row0 = pt->kind == LMD_WEIGHT_PART_LITERAL ? 0 : pt->row0;
	if (w->n_head) {
		if (w->head_rows)
			r->head_rows = w->head_rows;
		else if (pt->n_row && pt->kind != LMD_WEIGHT_PART_LITERAL)
			r->head_rows = pt->n_row;
		else if (r->rows % w->n_head == 0)
			r->head_rows = r->rows / w->n_head;
		else
			return lmd_fail(err, LMD_INVALID,
					"weight %s: %llu rows of tensor %s do not divide over %u "
					"heads",
					w->name, (unsigned long long)r->rows, r->name, w->n_head);
		if (!lmi_mul_ok(r->head_rows, w->n_head, &need) || need > r->rows)
			return lmd_fail(err, LMD_INVALID,
					"weight %s: %u heads of %llu rows, tensor %s has %llu rows",
					w->name, w->n_head, (unsigned long long)r->head_rows,
					r->name, (unsigned long long)r->rows);
		bound = r->head_rows;
	}
	r->n_row = pt->n_row && !(w->n_head && pt->kind == LMD_WEIGHT_PART_LITERAL) ? pt->n_row
		   : r->row0 < bound ? bound - r->row0
				     : 0;
	if (!lmi_add_ok(r->row0, r->n_row, &end) || !r->n_row || end > bound)
		return lmd_fail(err, LMD_INVALID,
				"weight %s: rows %llu..%llu of tensor %s, which "
				"has %llu%s",
				w->name, (unsigned long long)r->row0,
				(unsigned long long)(r->row0 + r->n_row), r->name,
				(unsigned long long)bound, w->n_head ? " in a head" : "");
	return LMD_OK;
}

static enum lmd_status open_part(const struct lmd_weight_ref *w, const struct lmd_weight_part *pt,
				 const struct lmd_model *model, const struct lmd_model *target,
				 struct rows *r, struct lmd_error *err)
{
	enum lmd_status st;

	if (pt->kind > LMD_WEIGHT_PART_OF_TARGET)
		return lmd_fail(err, LMD_INVALID, "weight %s: part kind %u, expected 0..2",
				w->name, pt->kind);
	*r = (struct rows){0};
	st = pt->kind == LMD_WEIGHT_PART_LITERAL
		     ? open_literal(w, pt, r, err)
		     : open_tensor(w, pt, part_model(pt, model, target), r, err);
	return st == LMD_OK ? window(w, pt, r, err) : st;
}

/* Sets n, k or n_stack to the value found; reports an error if it was given and differs. */
static enum lmd_status set_size(const struct lmd_weight_ref *w, const char *what, uint32_t *dst,
				uint64_t found, struct lmd_error *err)
{
	if (!*dst && found <= INT32_MAX)
		*dst = (uint32_t)found;
	if (*dst != found)
		return lmd_fail(err, LMD_INVALID, "weight %s: %s is %u, its parts give %llu",
				w->name, what, *dst, (unsigned long long)found);
	return LMD_OK;
}

static enum lmd_status plain_sizes(struct lmd_weight_ref *w, uint64_t total, struct lmd_error *err)
{
	uint64_t part = w->n_stack ? w->n_stack : w->n ? w->n : 1;

	if (total % part)
		return lmd_fail(err, LMD_INVALID,
				"weight %s: %llu rows are not a multiple of %s %llu",
				w->name, (unsigned long long)total, w->n_stack ? "n_stack" : "n",
				(unsigned long long)part);
	if (!w->n_stack && !w->n)
		w->n_stack = 1;
	if (w->n_stack)
		return set_size(w, "n", &w->n, total / w->n_stack, err);
	return set_size(w, "n_stack", &w->n_stack, total / part, err);
}

static enum lmd_status sizes(struct lmd_weight_ref *w, const struct rows *first, uint64_t total,
			     struct lmd_error *err)
{
	enum lmd_status st;

	if (w->transform == LMD_TRANSFORM_HEAD_TRANSPOSE) {
		st = set_size(w, "n", &w->n, first->k, err);
		if (st == LMD_OK)
			st = set_size(w, "k", &w->k, first->n_row, err);
		return st == LMD_OK ? set_size(w, "n_stack", &w->n_stack, w->n_head, err) : st;
	}
	st = set_size(w, "k", &w->k, first->k, err);
	if (st != LMD_OK)
		return st;
	if (w->transform == LMD_TRANSFORM_STACK_EXPERTS) {
		st = set_size(w, "n", &w->n, first->n_row, err);
		return st == LMD_OK ? set_size(w, "n_stack", &w->n_stack, w->n_part, err) : st;
	}
	if (w->n_head) {
		st = set_size(w, "n", &w->n, total, err);
		return st == LMD_OK ? set_size(w, "n_stack", &w->n_stack, w->n_head, err) : st;
	}
	st = plain_sizes(w, total, err);
	if (st == LMD_OK && w->n_stack > 1 && w->n_part > 1)
		return lmd_fail(err, LMD_INVALID,
				"weight %s: %u parts of a stack of %u need n_head", w->name,
				w->n_part, w->n_stack);
	return st;
}

/* Checks scale or bias: a tensor of which as many elements are used as one of n[3]. */
static enum lmd_status check_extra(const struct lmd_weight_ref *w, const char *what,
				   uint32_t tensor, const uint64_t n[3], const struct lmd_model *m,
				   struct lmd_error *err)
{
	const struct lmd_tensor *t;
	uint64_t elems;

	if (tensor == LMD_NONE)
		return LMD_OK;
	if (!m || tensor >= m->n_tensors)
		return lmd_fail(err, LMD_INVALID, "weight %s: %s is tensor %u, the model has %u",
				w->name, what, tensor, m ? m->n_tensors : 0);
	t = &m->tensors[tensor];
	if (!lmi_dtype(t->dtype))
		return lmd_fail(err, LMD_UNSUPPORTED, "weight %s: type %u of tensor %s is unknown",
				w->name, t->dtype, t->name);
	if (!tensor_elems(t, &elems))
		elems = 0;
	if (w->n_extra && elems > 1) {
		if ((uint64_t)w->extra0 + w->n_extra > elems)
			return lmd_fail(err, LMD_INVALID,
					"weight %s: elements %u..%llu of %s %s, which has %llu",
					w->name, w->extra0,
					(unsigned long long)w->extra0 + w->n_extra, what, t->name,
					(unsigned long long)elems);
		elems = w->n_extra;
	}
	if (!elems || (elems != n[0] && elems != n[1] && elems != n[2]))
		return lmd_fail(err, LMD_INVALID,
				"weight %s: %s %s has %lld elements, expected %llu", w->name, what,
				t->name, (long long)t->dims[0], (unsigned long long)n[1]);
	return LMD_OK;
}

static enum lmd_status check_form(const struct lmd_weight_ref *w, struct lmd_error *err)
{
	if (!w->n_part || !w->parts || w->n_part > 4096)
		return lmd_fail(err, LMD_INVALID, "weight %s: %u parts, expected 1..4096",
				w->name, w->n_part);
	if (w->transform > LMD_TRANSFORM_STACK_EXPERTS || w->split > LMD_SPLIT_EXPERTS)
		return lmd_fail(err, LMD_INVALID,
				"weight %s: transform %u, split %u; expected "
				"0..%d and 0..%d",
				w->name, w->transform, w->split, LMD_TRANSFORM_STACK_EXPERTS,
				LMD_SPLIT_EXPERTS);
	if (w->transform == LMD_TRANSFORM_HEAD_TRANSPOSE && (!w->n_head || w->n_part != 1))
		return lmd_fail(err, LMD_INVALID,
				"weight %s: a head transpose needs 1 part and n_head > 0, "
				"not %u parts and %u heads",
				w->name, w->n_part, w->n_head);
	if (w->transform == LMD_TRANSFORM_STACK_EXPERTS && w->n_head)
		return lmd_fail(err, LMD_INVALID,
				"weight %s: a stack of experts cannot have heads, "
				"but n_head is %u",
				w->name, w->n_head);
	return LMD_OK;
}

enum lmd_status lmi_plan_weight_ref_resolve(struct lmd_weight_ref *w, struct lmd_weight_part *parts,
					    const struct lmd_model *model,
					    const struct lmd_model *target, uint32_t *dtype,
					    struct lmd_error *err)
{
	struct rows first = {0}, r;
	uint64_t total = 0, all;
	enum lmd_status st;

	w->parts = parts;
	st = check_form(w, err);
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < w->n_part; i++) {
		st = open_part(w, &parts[i], model, target, &r, err);
		if (st != LMD_OK)
			return st;
		if (!i)
			first = r;
		if (r.type != first.type)
			return lmd_fail(err, LMD_INVALID,
					"weight %s: tensor %s is %s, tensor %s is "
					"%s",
					w->name, first.name, first.type->name, r.name,
					r.type->name);
		if (r.k != first.k)
			return lmd_fail(err, LMD_INVALID,
					"weight %s: K of tensor %s is %llu, of tensor %s %llu",
					w->name, first.name, (unsigned long long)first.k, r.name,
					(unsigned long long)r.k);
		if (w->transform == LMD_TRANSFORM_STACK_EXPERTS && r.n_row != first.n_row)
			return lmd_fail(err, LMD_INVALID,
					"weight %s: expert 0 has %llu rows, expert %u has %llu",
					w->name, (unsigned long long)first.n_row, i,
					(unsigned long long)r.n_row);
		if (parts[i].kind != LMD_WEIGHT_PART_LITERAL)
			parts[i].n_row = (uint32_t)r.n_row;
		if (r.n_row > INT32_MAX || !lmi_add_ok(total, r.n_row, &total))
			return lmd_fail(err, LMD_INVALID,
					"weight %s: tensor %s has %llu rows, at "
					"most 2^31 - 1 are possible",
					w->name, r.name, (unsigned long long)r.n_row);
	}
	st = sizes(w, &first, total, err);
	if (st != LMD_OK)
		return st;
	if (!lmi_mul_ok((uint64_t)w->n * w->k, w->n_stack, &all) || all > INT64_MAX)
		return lmd_fail(err, LMD_INVALID, "weight %s: [%u, %u, %u] is too large", w->name,
				w->n_stack, w->n, w->k);
	*dtype = first.type->id;
	st = check_extra(w, "scale", w->scale, (uint64_t[]){1, w->n, w->n_stack},
			 lmi_plan_weight_ref_model(w, model, target), err);
	if (st != LMD_OK)
		return st;
	return check_extra(
		w, "bias", w->bias,
		(uint64_t[]){w->n, (uint64_t)w->n * w->n_stack, w->n}, /* shared by the stack, or
									* one per slice */
		lmi_plan_weight_ref_model(w, model, target), err);
}

enum lmd_status lmi_plan_weight_ref_pieces(const struct lmd_weight_ref *w,
					   const struct lmd_model *model,
					   const struct lmd_model *target,
					   struct lmd_weight_piece *pieces, uint32_t *dtype,
					   struct lmd_error *err)
{
	for (uint32_t i = 0; i < w->n_part; i++) {
		struct lmd_weight_piece *pc = &pieces[i];
		struct rows r;
		enum lmd_status st = open_part(w, &w->parts[i], model, target, &r, err);

		if (st != LMD_OK)
			return st;
		if (!r.data)
			return lmd_fail(err, LMD_INVALID,
					"weight %s: tensor %s has no data, only the "
					"header was opened",
					w->name, r.name);
		*pc = (struct lmd_weight_piece){.n_row = (uint32_t)r.n_row, .n_slice = 1};
		if (!lmi_quant_row_bytes(r.type, r.row_k, &pc->row_bytes))
			return lmd_fail(err, LMD_INVALID, "weight %s: a row of %llu overflows",
					w->name, (unsigned long long)r.row_k);
		pc->data = (const char *)r.data + r.row0 * pc->row_bytes +
			   r.k0 / r.type->block_elems * r.type->block_bytes;
		pc->head_bytes = r.n_row * pc->row_bytes;
		if (w->n_head) {
			pc->n_slice = w->n_head;
			pc->head_bytes = r.head_rows * pc->row_bytes;
		} else if (w->transform == LMD_TRANSFORM_NONE && w->n_stack > 1) {
			pc->n_slice = w->n_stack;
			pc->n_row = w->n;
			pc->head_bytes = w->n * pc->row_bytes;
		}
		*dtype = r.type->id;
	}
	return LMD_OK;
}

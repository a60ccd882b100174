/* SPDX-License-Identifier: MIT
 *
 * Computes the numbers of a tensor from its sources.  Except for a transposition, every transform
 * maps each row of the tensor to one row of a source, so rows are read in runs and no more is held
 * in memory than the rows that the caller asked for. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/quant/quant.h"

struct source_pos {
	uint32_t src;
	uint64_t row;
};

static uint64_t qkv_row(const struct lmi_checkpoint_tensor_transform *r, uint64_t u)
{
	uint64_t d = r->head_dim, g = r->n_head / r->n_kv, h = u / d, kv, j;

	if (h < r->n_head) {
		kv = h / g;
		j = h % g;
	} else {
		h -= r->n_head;
		kv = h % r->n_kv;
		j = g + h / r->n_kv;
	}
	return (kv * (g + 2) + j) * d + u % d;
}

/* The source row of row u of: all queries, then all keys, then all values. */
static uint64_t delta_row(const struct lmi_checkpoint_tensor_transform *r, uint64_t u)
{
	uint64_t heads = r->n_kv, dk = r->slice.first, dv = r->slice.n, at = 0;

	for (int i = 0; i < 2 && u >= heads * dk; i++) {
		u -= heads * dk;
		at += dk;
	}
	return at < 2 * dk ? u / dk * r->slice.rows + at + u % dk
			   : u / dv * r->slice.rows + at + u % dv;
}

/* Source and row from which row u of the tensor comes. */
static struct source_pos source_position(const struct lmi_checkpoint_tensor_transform *r,
					 uint64_t u)
{
	struct source_pos p = {(uint32_t)(u / r->rows), u % r->rows};
	uint64_t d = r->head_dim, k;

	switch ((enum lmi_checkpoint_transform_op)r->op) {
	case LMI_CHECKPOINT_TRANSFORM_ROPE:
		k = p.row % d;
		p.row = p.row - k + k % 2 * (d / 2) + k / 2;
		break;
	case LMI_CHECKPOINT_TRANSFORM_QKV:
		p.row = qkv_row(r, p.row);
		break;
	case LMI_CHECKPOINT_TRANSFORM_GATED_DELTA:
		p.row = delta_row(r, p.row);
		break;
	case LMI_CHECKPOINT_TRANSFORM_SELECT:
		p.row = p.row / r->slice.n * r->slice.rows + r->slice.first +
			p.row % r->slice.n * r->slice.step;
		break;
	case LMI_CHECKPOINT_TRANSFORM_NONE:
	case LMI_CHECKPOINT_TRANSFORM_TRANSPOSE:
	case LMI_CHECKPOINT_TRANSFORM_VALUES:
		break;
	}
	p.row += r->row0;
	return p;
}

uint64_t lmi_checkpoint_transform_source_row(const struct lmi_checkpoint_tensor_transform *r,
					     uint64_t u)
{
	return source_position(r, u).row;
}

/* Returns how many of the next n rows of the tensor are also consecutive in the source. */
static uint64_t run_of(const struct lmi_checkpoint_tensor_transform *r, uint64_t u, uint64_t n,
		       struct source_pos *first)
{
	uint64_t k = 1;

	*first = source_position(r, u);
	while (k < n) {
		struct source_pos p = source_position(r, u + k);

		if (p.src != first->src || p.row != first->row + k)
			break;
		k++;
	}
	return k;
}

/* Loads the used rows of a slice as floats; they are kept for the columns that follow. */
static enum lmd_status load_slice(struct lmi_checkpoint *f,
				  const struct lmi_checkpoint_tensor_transform *r, uint64_t slice,
				  struct lmd_error *err)
{
	const struct lmi_checkpoint_weight_source *s = &r->src[0];
	enum lmd_status st;
	float *p;

	if (f->transposed_tensor == s->w && f->transposed_slice == slice)
		return LMD_OK;
	f->transposed_tensor = NULL;
	p = lmi_checkpoint_scratch_reserve(&f->transposed, r->slice.n_used * s->cols, sizeof(*p),
					   err);
	if (!p)
		return LMD_NOMEM;
	st = lmi_checkpoint_source_floats(f, s, slice * r->slice.rows, r->slice.n_used, p, err);
	if (st == LMD_OK) {
		f->transposed_tensor = s->w;
		f->transposed_slice = slice;
	}
	return st;
}

/* Returns columns of the source as rows. */
static enum lmd_status transpose_rows(struct lmi_checkpoint *f,
				      const struct lmi_checkpoint_tensor_transform *r,
				      uint64_t row0, uint64_t n, float *out, struct lmd_error *err)
{
	const struct lmi_checkpoint_transform_slices *p = &r->slice;
	uint64_t cols = r->src[0].cols;

	for (uint64_t u = row0; u < row0 + n; u++) {
		uint64_t c = p->first + u % p->n * p->step;
		enum lmd_status st = load_slice(f, r, u / p->n, err);
		const float *all = f->transposed.p;

		if (st != LMD_OK)
			return st;
		for (uint64_t i = 0; i < p->n_used; i++)
			*out++ = all[i * cols + c];
	}
	return LMD_OK;
}

/* Converts a range of tensor rows to rows of the transform, which are source rows. */
static void to_transform_rows(const struct lmi_checkpoint *f, uint32_t i, uint64_t *u0, uint64_t *n)
{
	const struct lmi_checkpoint_tensor_transform *r = &f->transforms[i];
	uint64_t per = r->op == LMI_CHECKPOINT_TRANSFORM_TRANSPOSE
			       ? 1
			       : (uint64_t)f->m->tensors[i].dims[0] / r->src[0].cols;

	*u0 *= per;
	*n *= per;
}

enum lmd_status lmi_checkpoint_read_floats(struct lmi_checkpoint *f, uint32_t i, uint64_t row0,
					   uint64_t n, float *out, struct lmd_error *err)
{
	const struct lmi_checkpoint_tensor_transform *r = &f->transforms[i];
	uint64_t width = (uint64_t)f->m->tensors[i].dims[0], total = n * width;
	enum lmd_status st = LMD_OK;
	float *p = out;

	if (r->op == LMI_CHECKPOINT_TRANSFORM_VALUES) {
		memcpy(out, r->values + row0 * width, (size_t)total * sizeof(*out));
		return LMD_OK;
	}
	if (r->op == LMI_CHECKPOINT_TRANSFORM_TRANSPOSE) {
		st = transpose_rows(f, r, row0, n, out, err);
	} else {
		to_transform_rows(f, i, &row0, &n);
		while (st == LMD_OK && n) {
			struct source_pos at;
			uint64_t k = run_of(r, row0, n, &at);

			st = lmi_checkpoint_source_floats(f, &r->src[at.src], at.row, k, p, err);
			p += k * r->src[0].cols;
			row0 += k;
			n -= k;
		}
	}
	for (uint64_t k = 0; st == LMD_OK && r->add != 0 && k < total; k++)
		out[k] += r->add;
	for (uint64_t k = 0; st == LMD_OK && r->neg_exp && k < total; k++)
		out[k] = (float)-exp((double)out[k]);
	return st;
}

static enum lmd_status blocks(struct lmi_checkpoint *f, uint32_t i, uint64_t row0, uint64_t n,
			      uint64_t row_bytes, uint8_t *out, struct lmd_error *err)
{
	const struct lmi_checkpoint_tensor_transform *r = &f->transforms[i];
	enum lmd_status st = LMD_OK;

	while (st == LMD_OK && n) {
		struct source_pos at;
		uint64_t k = run_of(r, row0, n, &at);

		st = lmi_checkpoint_source_blocks(f, &r->src[at.src], at.row, k, out, err);
		out += k * row_bytes;
		row0 += k;
		n -= k;
	}
	return st;
}

enum lmd_status lmi_checkpoint_read_rows(struct lmi_checkpoint *f, uint32_t i, uint64_t row0,
					 uint64_t n, void *out, struct lmd_error *err)
{
	const struct lmd_tensor *t = &f->m->tensors[i];
	const struct lmi_dtype *type = lmi_dtype(t->dtype);
	uint64_t row_bytes = 0, width = (uint64_t)t->dims[0];
	enum lmd_status st;
	float *values;

	/* no overflow, checked when the tensor was added */
	(void)lmi_quant_row_bytes(type, width, &row_bytes);
	if (type->is_quant)
		return blocks(f, i, row0, n, row_bytes, out, err);
	values = lmi_checkpoint_scratch_reserve(&f->row, n * width, sizeof(*values), err);
	if (!values)
		return LMD_NOMEM;
	st = lmi_checkpoint_read_floats(f, i, row0, n, values, err);
	if (st == LMD_OK)
		type->quant(values, out, (size_t)(n * width), NULL);
	return st;
}

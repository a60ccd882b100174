/* SPDX-License-Identifier: MIT
 *
 * Weights are read in place from the mapped file.  Only transposed weights (small: two for each
 * MLA layer) are copied, as f32. */
#include <string.h>

#include "backend/common/host_mem.h"

/* The pieces of a weight follow each other either in N, each with all slices, or in the stack. */
static enum lmd_status check_pieces(const struct lmd_weight_desc *d, bool *stacked,
				    struct lmd_error *err)
{
	const struct lmd_weight_ref *ref = d->ref;
	uint64_t rows = 0, slices = 0;
	bool all = true, each = true;
	uint32_t want = ref->transform == LMD_TRANSFORM_HEAD_TRANSPOSE ? ref->k : ref->n;

	for (uint32_t i = 0; i < d->n_piece; i++) {
		rows += d->pieces[i].n_row;
		slices += d->pieces[i].n_slice;
		all = all && d->pieces[i].n_slice == ref->n_stack;
		each = each && d->pieces[i].n_row == want;
	}
	if (all && rows == want) {
		*stacked = false;
		return LMD_OK;
	}
	if (each && slices == ref->n_stack && ref->transform != LMD_TRANSFORM_HEAD_TRANSPOSE) {
		*stacked = true;
		return LMD_OK;
	}
	return lmd_fail(err, LMD_INVALID,
			"%s: %u pieces with %llu rows and %llu slices do not make "
			"%u slices of %u rows",
			ref->name, d->n_piece, (unsigned long long)rows, (unsigned long long)slices,
			ref->n_stack, want);
}

static enum lmd_status check(const struct lmd_host *h, const struct lmd_weight_desc *d,
			     uint32_t *elems, uint32_t *bytes, bool *stacked, struct lmd_error *err)
{
	const struct lmd_weight_ref *ref = d->ref;
	uint32_t cols = ref->transform == LMD_TRANSFORM_HEAD_TRANSPOSE ? ref->n : ref->k;
	uint32_t head = h->dtype_head(h->ctx, d->dtype);
	uint8_t zeros[512] = {0};
	float *row;
	enum lmd_status st;

	if (!h->dtype_info(h->ctx, d->dtype, elems, bytes) || !*elems ||
	    head + *bytes > sizeof(zeros))
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: tensor type %u is unknown", ref->name,
				d->dtype);
	if (!ref->n || !ref->k || !ref->n_stack)
		return lmd_fail(err, LMD_INVALID, "%s: shape [%u, %u, %u] is empty", ref->name,
				ref->n_stack, ref->n, ref->k);
	if (cols % *elems)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: rows of %u values are not a multiple of the block size %u",
				ref->name, cols, *elems);
	/* An integer table needs no decoder because only EMBED reads it. */
	if (d->dtype != LMD_DTYPE_I32) {
		row = h->alloc(h->ctx, *elems * sizeof(*row));
		if (!row)
			return lmd_fail(err, LMD_NOMEM, "%s: no memory for %u values", ref->name,
					*elems);
		st = h->dequant_rows(h->ctx, d->dtype, zeros, row, *elems);
		h->free(h->ctx, row);
		if (st != LMD_OK)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"%s: tensor type %u cannot be decoded", ref->name,
					d->dtype);
	}
	return check_pieces(d, stacked, err);
}

enum lmd_status host_mem_weight_query(const struct lmd_host *h, const struct lmd_weight_desc *d,
				      struct lmd_weight_plan *out, struct lmd_error *err)
{
	struct lmd_weight_plan plan = {.placement = LMD_PLACE_IN_PLACE, .keeps_source = 1};
	uint32_t elems, bytes;
	bool stacked;
	enum lmd_status st = check(h, d, &elems, &bytes, &stacked, err);

	if (st != LMD_OK)
		return st;
	if (d->ref->transform == LMD_TRANSFORM_HEAD_TRANSPOSE) {
		plan.placement = LMD_PLACE_COPY;
		plan.bytes = (uint64_t)d->ref->n_stack * d->ref->n * d->ref->k * sizeof(float);
		plan.exactness = d->dtype == LMD_DTYPE_F32 ? 0 : 1;
	}
	LMD_PUT(out, &plan);
	return LMD_OK;
}

static enum lmd_status transpose(const struct lmd_host *h, struct lmd_weight *w,
				 struct lmd_error *err)
{
	size_t total;
	float *row;

	if (__builtin_mul_overflow((size_t)w->n * w->k, w->n_stack, &total) ||
	    total > SIZE_MAX / sizeof(float))
		return lmd_fail(err, LMD_INVALID, "%s: shape [%u, %u, %u] is too large", w->name,
				w->n_stack, w->n, w->k);
	row = h->alloc(h->ctx, w->n * sizeof(float));
	w->copy = h->alloc(h->ctx, total * sizeof(float));
	if (!row || !w->copy) {
		h->free(h->ctx, row);
		return lmd_fail(err, LMD_NOMEM,
				"%s: no memory for the transposed copy of %zu bytes", w->name,
				total * sizeof(float));
	}
	for (uint32_t s = 0; s < w->n_stack; s++) {
		float *slice = w->copy + (size_t)s * w->n * w->k;

		for (uint32_t j = 0; j < w->k; j++) {
			const struct lmd_weight_piece *p = w->pieces;
			uint32_t at = j;

			for (; at >= p->n_row; p++)
				at -= p->n_row;
			(void)h->dequant_rows(h->ctx, w->dtype,
					      (const char *)p->data + p->head_bytes * s +
						      p->row_bytes * at,
					      row, w->n); /* check() tried this type */
			for (uint32_t i = 0; i < w->n; i++)
				slice[(size_t)i * w->k + j] = row[i];
		}
	}
	h->free(h->ctx, row);
	w->dtype = LMD_DTYPE_F32;
	w->block_elems = 1;
	w->block_bytes = sizeof(float);
	return LMD_OK;
}

enum lmd_status host_mem_weight_load(const struct lmd_host *h, const struct lmd_weight_desc *d,
				     struct lmd_weight **out, struct lmd_error *err)
{
	size_t name_bytes = strlen(d->ref->name) + 1;
	uint32_t elems, bytes;
	bool stacked;
	struct lmd_weight *w;
	char *name;
	enum lmd_status st = check(h, d, &elems, &bytes, &stacked, err);

	if (st != LMD_OK)
		return st;
	w = h->alloc(h->ctx, sizeof(*w) + d->n_piece * sizeof(*d->pieces) + name_bytes);
	if (!w)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for a weight of %u pieces",
				d->ref->name, d->n_piece);
	w->pieces = (struct lmd_weight_piece *)(w + 1);
	memcpy(w->pieces, d->pieces, d->n_piece * sizeof(*d->pieces));
	name = (char *)(w->pieces + d->n_piece);
	memcpy(name, d->ref->name, name_bytes);
	w->name = name;
	w->dtype = d->dtype;
	w->block_elems = elems;
	w->block_bytes = bytes;
	w->n_stack = d->ref->n_stack;
	w->n = d->ref->n;
	w->k = d->ref->k;
	w->stacked_pieces = stacked;
	w->n_piece = d->n_piece;
	w->scale = d->scale;
	w->n_scale = d->scale ? d->n_scale : 0;
	w->bias = d->bias;
	w->n_bias = d->bias ? d->n_bias : 0;
	if (d->ref->transform == LMD_TRANSFORM_HEAD_TRANSPOSE)
		st = transpose(h, w, err);
	if (st != LMD_OK) {
		host_mem_weight_destroy(h, w);
		return st;
	}
	*out = w;
	return LMD_OK;
}

void host_mem_weight_destroy(const struct lmd_host *h, struct lmd_weight *w)
{
	if (!w)
		return;
	h->free(h->ctx, w->copy);
	h->free(h->ctx, w->own_flat);
	h->free(h->ctx, w);
}

const void *host_mem_weight_rows(const struct lmd_weight *w, uint32_t slice, uint32_t n,
				 uint32_t *count, size_t *row_bytes)
{
	const struct lmd_weight_piece *p = w->pieces;

	if (w->copy) {
		*row_bytes = (size_t)w->k * sizeof(float);
		*count = w->n - n < *count ? w->n - n : *count;
		return w->copy + ((size_t)slice * w->n + n) * w->k;
	}
	if (w->stacked_pieces) {
		for (; slice >= p->n_slice; p++)
			slice -= p->n_slice;
	} else {
		for (; n >= p->n_row; p++)
			n -= p->n_row;
	}
	*row_bytes = p->row_bytes;
	*count = p->n_row - n < *count ? p->n_row - n : *count;
	return (const char *)p->data + p->head_bytes * slice + p->row_bytes * n;
}

const void *host_mem_weight_at(const struct lmd_weight *w, uint32_t slice, uint32_t n)
{
	uint32_t count = 1;
	size_t row_bytes;

	return slice < w->n_stack && n < w->n
		       ? host_mem_weight_rows(w, slice, n, &count, &row_bytes)
		       : NULL;
}

const float *host_mem_weight_row(const struct lmd_host *h, const struct lmd_weight *w,
				 uint32_t slice, uint32_t n, float *tmp)
{
	uint32_t one = 1;
	size_t row_bytes;
	const void *raw = host_mem_weight_rows(w, slice, n, &one, &row_bytes);

	if (w->dtype == LMD_DTYPE_F32 && (uintptr_t)raw % sizeof(float) == 0)
		return raw;
	(void)h->dequant_rows(h->ctx, w->dtype, raw, tmp, w->k); /* tried at load */
	return tmp;
}

/* Is the weight f32, aligned, and contiguous? */
static bool is_flat(const struct lmd_weight *w)
{
	const struct lmd_weight_piece *p = w->pieces;
	uint64_t row = (uint64_t)w->k * sizeof(float);

	return w->dtype == LMD_DTYPE_F32 && w->n_piece == 1 &&
	       (uintptr_t)p->data % sizeof(float) == 0 && (w->n == 1 || p->row_bytes == row) &&
	       (w->n_stack == 1 || p->head_bytes == row * w->n);
}

enum lmd_status host_mem_weight_flat(const struct lmd_host *h, struct lmd_weight *w,
				     struct lmd_error *err)
{
	size_t rows = (size_t)w->n_stack * w->n, total;

	if (!w->flat && (w->copy || is_flat(w)))
		w->flat = w->copy ? w->copy : w->pieces[0].data;
	if (w->flat)
		return LMD_OK;
	if (__builtin_mul_overflow(rows, (size_t)w->k * sizeof(float), &total))
		return lmd_fail(err, LMD_INVALID, "%s: shape [%u, %u, %u] is too large", w->name,
				w->n_stack, w->n, w->k);
	w->own_flat = h->alloc(h->ctx, total);
	if (!w->own_flat)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for %zu bytes of numbers", w->name,
				total);
	for (size_t i = 0; i < rows; i++) {
		float *to = w->own_flat + i * w->k;
		const float *row =
			host_mem_weight_row(h, w, (uint32_t)(i / w->n), (uint32_t)(i % w->n), to);

		if (row != to)
			memcpy(to, row, w->k * sizeof(*to));
	}
	w->flat = w->own_flat;
	return LMD_OK;
}

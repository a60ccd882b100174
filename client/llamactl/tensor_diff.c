/* SPDX-License-Identifier: MIT */
#include "client/llamactl/tensor_diff.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/quant/quant.h"

#define PIECE 65536u /* values; a whole number of blocks of every type. Rows with headers are not
		      * split */

/* A tensor that is read piece by piece. */
struct side {
	const struct lmi_model *m;
	const struct lmd_tensor *t;
	const struct lmi_dtype *type;
	uint8_t *raw;
	float *v;
	size_t n_raw; /* bytes of the piece */
};

/* Returns the offset of value `at` in a tensor with rows of `width` values, or the size of that
 * many values: a whole number of blocks, and of rows if they have headers. */
static uint64_t bytes_of(const struct side *s, uint64_t at)
{
	const struct lmi_dtype *t = s->type;

	return at / t->block_elems * t->block_bytes +
	       at / (uint64_t)s->t->dims[0] * t->row_bytes_extra;
}

static enum lmd_status side_init(struct side *s, const struct lmi_model *m,
				 const struct lmd_tensor *t, uint64_t piece, struct lmd_error *err)
{
	s->m = m;
	s->t = t;
	s->type = lmi_dtype(t->dtype);
	s->raw = lmi_alloc((size_t)bytes_of(s, piece), 1);
	s->v = lmi_alloc((size_t)piece, sizeof(*s->v));
	return s->raw && s->v ? LMD_OK
			      : lmd_fail(err, LMD_NOMEM, "no memory to compare tensor %s", t->name);
}

static enum lmd_status side_read(struct side *s, uint64_t at, size_t n, struct lmd_error *err)
{
	s->n_raw = (size_t)bytes_of(s, n);
	return lmi_model_read(s->m, s->t, bytes_of(s, at), s->raw, s->n_raw, err);
}

static void decode(const struct side *s, size_t n)
{
	size_t width = (size_t)s->t->dims[0];

	if (s->type->row_bytes_extra)
		lmi_dequant_rows(s->type, s->raw, s->v, width, n / width);
	else
		s->type->dequant(s->raw, s->v, n);
}

static void add(struct lmi_tensor_diff *d, double *sum, double *square, const float *a,
		const float *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double x = (double)a[i], y = (double)b[i], diff = fabs(x - y);

		*square += isfinite(x) ? x * x : 0;
		if (x == y || (isnan(x) && isnan(y)))
			continue;
		if (!isfinite(diff))
			diff = INFINITY;
		if (diff > d->max) {
			d->max = diff;
			d->at = d->n + i;
		}
		d->n_diff++;
		*sum += diff * diff;
	}
	d->n += n;
}

static enum lmd_status compare(struct lmi_tensor_diff *d, struct side *a, struct side *b,
			       uint64_t total, uint64_t piece, struct lmd_error *err)
{
	double sum = 0, square = 0;

	d->same_bytes = a->type == b->type;
	for (uint64_t at = 0; at < total;) {
		size_t n = (size_t)(total - at < piece ? total - at : piece);
		enum lmd_status st = side_read(a, at, n, err);
		bool same;

		if (st == LMD_OK)
			st = side_read(b, at, n, err);
		if (st != LMD_OK)
			return st;
		same = a->type == b->type && !memcmp(a->raw, b->raw, a->n_raw);
		if (!same && (!a->type->dequant || !b->type->dequant))
			return lmd_fail(err, LMD_UNSUPPORTED,
					"tensor %s: type %s cannot be decoded", a->t->name,
					(a->type->dequant ? b : a)->type->name);
		d->same_bytes = d->same_bytes && same;
		if (a->type->dequant && b->type->dequant) {
			decode(a, n);
			decode(b, n);
			add(d, &sum, &square, a->v, b->v, n);
		}
		at += n;
	}
	d->rms = d->n ? sqrt(sum / (double)d->n) : 0;
	d->nmse = square > 0 ? sum / square : sum > 0 ? INFINITY : 0;
	return LMD_OK;
}

enum lmd_status lmi_tensor_diff(struct lmi_tensor_diff *out, const struct lmi_model *ma,
				const struct lmd_tensor *a, const struct lmi_model *mb,
				const struct lmd_tensor *b, struct lmd_error *err)
{
	struct side sa = {0}, sb = {0};
	uint64_t total = 1, width = (uint64_t)a->dims[0], piece = PIECE;
	enum lmd_status st;

	*out = (struct lmi_tensor_diff){0};
	for (int i = 0; i < LMD_MAX_DIMS; i++)
		total *= (uint64_t)a->dims[i]; /* of values that are in a file */
	if (lmi_dtype(a->dtype)->row_bytes_extra || lmi_dtype(b->dtype)->row_bytes_extra)
		piece = width < PIECE ? PIECE / width * width : width;
	st = side_init(&sa, ma, a, piece, err);
	if (st == LMD_OK)
		st = side_init(&sb, mb, b, piece, err);
	if (st == LMD_OK)
		st = compare(out, &sa, &sb, total, piece, err);
	lmi_free(sa.raw);
	lmi_free(sa.v);
	lmi_free(sb.raw);
	lmi_free(sb.v);
	return st;
}

/* SPDX-License-Identifier: MIT
 *
 * Computes W + sum of scale * B A, several rows at a time.  The rows of an embedding are tokens, so
 * there the product is transposed (adapter.h): A has a column for each token.  A weight with a scale s of its
 * own, which is kept, stands for s W: what is added to it is divided by s. */
#include "core/checkpoint/adapter/merge.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/adapter/adapter_impl.h"
#include "core/quant/quant.h"

#define PIECE_BYTES (4u << 20) /* of floats */

struct job {
	const struct lmi_adapter_merge *m;
	const struct lmd_model *view;
	struct lmi_gguf_writer *w;
	uint8_t *raw, *out; /* several rows as read and as written */
	float *v;
	float *scale; /* [n_scale] of the weight; NULL: none */
	uint64_t n_scale;
	size_t n_raw, n_out, n_v; /* allocated elements */
};

/* The pair of adapter i for a tensor, or NULL. */
static const struct lmi_adapter_pair *pair_for(const struct lmi_adapter_merge *m, uint32_t i,
					       const char *tensor)
{
	for (uint32_t k = 0; k < lmi_adapter_n(m->adapters[i]); k++) {
		const struct lmi_adapter_pair *p = lmi_adapter_pair(m->adapters[i], k);
		size_t n = strlen(p->site);

		if (!strncmp(p->site, tensor, n) && !strcmp(tensor + n, ".weight"))
			return p;
	}
	return NULL;
}

/* A pair that changes a tensor, or NULL. */
static const struct lmi_adapter_pair *any_pair(const struct lmi_adapter_merge *m,
					       const struct lmd_tensor *t)
{
	const struct lmi_adapter_pair *p = NULL;

	for (uint32_t i = 0; i < m->n && !p; i++)
		p = pair_for(m, i, t->name);
	return p;
}

static bool changes(const struct lmi_adapter_merge *m, const struct lmd_tensor *t)
{
	return any_pair(m, t) != NULL;
}

static const struct lmd_tensor *scale_of(const struct lmi_adapter_merge *m, const struct lmd_tensor *t)
{
	const struct lmi_adapter_pair *p = any_pair(m, t);

	return p ? lmi_adapter_find_scale(lmi_model_view(m->model), p->site) : NULL;
}

static uint64_t n_values(const struct lmd_tensor *t)
{
	return (uint64_t)t->dims[0] * (uint64_t)t->dims[1] * (uint64_t)t->dims[2] * (uint64_t)t->dims[3];
}

/* Adapters do not change it, and files can store its type. */
static bool is_copied(const struct lmi_adapter_merge *m, const struct lmd_tensor *t)
{
	return !changes(m, t) && lmi_dtype_in_file(t->dtype) == t->dtype;
}

uint32_t lmi_adapter_merge_count(const struct lmi_adapter_merge *m)
{
	const struct lmd_model *view = lmi_model_view(m->model);
	uint32_t n = 0;

	for (uint32_t i = 0; i < view->n_tensors; i++)
		n += changes(m, &view->tensors[i]);
	return n;
}

static uint32_t type_of(const struct lmi_adapter_merge *m, const struct lmd_tensor *t)
{
	if (!changes(m, t))
		return lmi_dtype_in_file(t->dtype);
	if (m->type >= 0)
		return (uint32_t)m->type;
	return t->dtype == LMD_DTYPE_F32 || t->dtype == LMD_DTYPE_BF16 || t->dtype == LMD_DTYPE_F64
		       ? t->dtype
		       : LMD_DTYPE_F16;
}

static enum lmd_status check_scale(const struct lmi_adapter_merge *m, const struct lmd_tensor *t,
				   struct lmd_error *err)
{
	const struct lmd_tensor *s = scale_of(m, t);
	enum lmd_status st = LMD_OK;
	uint64_t n;

	if (!s)
		return LMD_OK;
	n = n_values(s);
	if ((n != 1 && n != (uint64_t)t->dims[1] && n != (uint64_t)t->dims[2]) ||
	    lmi_dtype(s->dtype)->block_elems != 1)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"tensor %s: %llu values of type %s; the scale of %s has 1, %lld or %lld of a "
				"float type",
				s->name, (unsigned long long)n, lmi_dtype(s->dtype)->name, t->name,
				(long long)t->dims[1], (long long)t->dims[2]);
	for (uint32_t i = 0; i < m->n && st == LMD_OK; i++) {
		const struct lmi_adapter_pair *p = pair_for(m, i, t->name);

		if (p && p->magnitude)
			st = lmi_adapter_check_gain(p, lmi_model_view(m->model), err);
	}
	return st;
}

static enum lmd_status check(const struct lmi_adapter_merge *m, struct lmd_error *err)
{
	const struct lmd_model *view = lmi_model_view(m->model);

	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t n = 0;

		(void)lmi_adapter_invocation(m->adapters[i], &n);
		if (n)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"adapter %u is active only after a sequence of %u tokens, "
					"but would always be active once merged",
					i + 1, n);
		for (uint32_t k = 0; k < lmi_adapter_n(m->adapters[i]); k++) {
			const struct lmi_adapter_pair *p = lmi_adapter_pair(m->adapters[i], k);

			if (!p->rank)
				return lmd_fail(err, LMD_UNSUPPORTED,
						"adapter %u is a control vector, which cannot be "
						"merged into a weight",
						i + 1);
		}
	}
	for (uint32_t i = 0; i < view->n_tensors; i++) {
		const struct lmd_tensor *t = &view->tensors[i];
		const struct lmi_dtype *to = lmi_dtype(type_of(m, t));
		enum lmd_status st;
		uint64_t bytes;

		if (is_copied(m, t))
			continue;
		st = check_scale(m, t, err);
		if (st != LMD_OK)
			return st;
		if (!lmi_dtype(t->dtype)->dequant || !to->quant || to->needs_importance ||
		    to->is_activation || !lmi_quant_row_bytes(to, (uint64_t)t->dims[0], &bytes))
			return lmd_fail(err, LMD_UNSUPPORTED,
					"tensor %s of type %s, rows of %lld: cannot become %s",
					t->name, lmi_dtype(t->dtype)->name, (long long)t->dims[0],
					to->name);
	}
	return LMD_OK;
}

static bool reserve(void **p, size_t *have, size_t need, size_t item)
{
	if (need <= *have)
		return true;
	lmi_free(*p);
	*p = lmi_alloc(need, item);
	*have = *p ? need : 0;
	return *p != NULL;
}

/* Do the rows of a tensor of this width belong to A's columns? */
static bool is_transposed(const struct lmi_adapter_pair *p, uint64_t width)
{
	return width != p->k || (p->n == p->k && !strcmp(p->site, "token_embd"));
}

static void scale_row(float *v, uint64_t width, float f)
{
	for (uint64_t c = 0; c < width; c++)
		v[c] *= f;
}

static enum lmd_status read_scale(struct job *j, const struct lmd_tensor *t, struct lmd_error *err)
{
	const struct lmd_tensor *s = scale_of(j->m, t);
	enum lmd_status st;

	lmi_free(j->scale);
	j->scale = NULL;
	j->n_scale = s ? n_values(s) : 0;
	st = s ? lmi_adapter_read_values(j->m->model, s, &j->scale, err) : LMD_OK;
	for (uint64_t i = 0; st == LMD_OK && i < j->n_scale; i++)
		if (!isnormal(j->scale[i]))
			st = lmd_fail(err, LMD_UNSUPPORTED,
				      "tensor %s: value %llu is %g, and what an adapter adds to %s cannot be "
				      "divided by it",
				      s->name, (unsigned long long)i, (double)j->scale[i], t->name);
	return st;
}

/* The scale of a row, counted over all slices; backends read it in the same way. */
static float scale_at(const struct job *j, const struct lmd_tensor *t, uint64_t row)
{
	uint64_t n_row = (uint64_t)t->dims[1], n_slice = (uint64_t)t->dims[2], n = j->n_scale;

	if (n <= 1)
		return n ? j->scale[0] : 1;
	return j->scale[n_slice > 1 && n == n_slice ? row / n_row : row % n_row];
}

static enum lmd_status merge_rows(struct job *j, const struct lmd_tensor *t, uint64_t row0,
				  uint64_t n, struct lmd_error *err)
{
	const struct lmi_dtype *from = lmi_dtype(t->dtype), *to = lmi_dtype(type_of(j->m, t));
	uint64_t width = (uint64_t)t->dims[0], in = 0, out = 0;
	enum lmd_status st;

	(void)lmi_quant_row_bytes(from, width, &in); /* check() has validated both */
	(void)lmi_quant_row_bytes(to, width, &out);
	if (!reserve((void **)&j->raw, &j->n_raw, (size_t)(n * in), 1) ||
	    !reserve((void **)&j->out, &j->n_out, (size_t)(n * out), 1) ||
	    !reserve((void **)&j->v, &j->n_v, (size_t)(n * width), sizeof(float)))
		return lmd_fail(err, LMD_NOMEM, "tensor %s: no memory for %llu rows", t->name,
				(unsigned long long)n);
	st = lmi_model_read(j->m->model, t, row0 * in, j->raw, (size_t)(n * in), err);
	if (st != LMD_OK)
		return st;
	lmi_quant_dequant_rows(from, j->raw, j->v, (size_t)width, (size_t)n);
	for (uint32_t i = 0; i < j->m->n; i++) {
		const struct lmi_adapter_pair *p = pair_for(j->m, i, t->name);

		for (uint64_t r = 0; p && r < n; r++) {
			float *v = j->v + r * width;

			lmi_adapter_add_row(p, is_transposed(p, width),
					    p->scale * j->m->scales[i] /
						    scale_at(j, t, row0 + r),
					    (size_t)(row0 + r), v);
			if (p->magnitude)
				scale_row(v, width, lmi_adapter_gain(p, (size_t)(row0 + r), v));
		}
	}
	for (uint64_t r = 0; r < n; r++)
		to->quant(j->v + r * width, j->out + r * out, (size_t)width, NULL);
	return lmi_gguf_writer_data(j->w, j->out, n * out, err);
}

static enum lmd_status merge_tensor(struct job *j, const struct lmd_tensor *t,
				    struct lmd_error *err)
{
	uint64_t rows = (uint64_t)t->dims[1] * (uint64_t)t->dims[2] * (uint64_t)t->dims[3];
	uint64_t per = PIECE_BYTES / ((uint64_t)t->dims[0] * sizeof(float)) + 1;
	enum lmd_status st = read_scale(j, t, err);

	for (uint64_t r = 0; st == LMD_OK && r < rows; r += per)
		st = merge_rows(j, t, r, rows - r < per ? rows - r : per, err);
	return st;
}

static enum lmd_status copy_tensor(struct job *j, const struct lmd_tensor *t, struct lmd_error *err)
{
	uint32_t block = lmi_dtype(t->dtype)->block_bytes;
	uint64_t piece = PIECE_BYTES / block * block;
	enum lmd_status st = LMD_OK;

	for (uint64_t at = 0; st == LMD_OK && at < t->bytes; at += piece) {
		uint64_t n = t->bytes - at < piece ? t->bytes - at : piece;

		if (!reserve((void **)&j->raw, &j->n_raw, (size_t)n, 1))
			return lmd_fail(err, LMD_NOMEM, "tensor %s: no memory to copy", t->name);
		st = lmi_model_read(j->m->model, t, at, j->raw, (size_t)n, err);
		if (st == LMD_OK)
			st = lmi_gguf_writer_data(j->w, j->raw, n, err);
	}
	return st;
}

static enum lmd_status write_all(struct job *j, const char *path, struct lmd_error *err)
{
	enum lmd_status st;

	for (uint32_t i = 0; i < j->view->n_meta; i++)
		if (strncmp(j->view->meta[i].key, "split.", 6) != 0)
			lmi_gguf_put_meta(j->w, &j->view->meta[i]);
	for (uint32_t i = 0; i < j->view->n_tensors; i++) {
		const struct lmd_tensor *t = &j->view->tensors[i];

		lmi_gguf_add_tensor(j->w, t->name, type_of(j->m, t), t->n_dim, t->dims);
	}
	lmi_gguf_writer_on_progress(j->w, j->m->progress, j->m->arg);
	st = lmi_gguf_writer_start(j->w, path, err);
	for (uint32_t i = 0; st == LMD_OK && i < j->view->n_tensors; i++) {
		const struct lmd_tensor *t = &j->view->tensors[i];

		st = is_copied(j->m, t) ? copy_tensor(j, t, err) : merge_tensor(j, t, err);
	}
	return st == LMD_OK ? lmi_gguf_writer_finish(j->w, err) : st;
}

enum lmd_status lmi_adapter_merge_write(const struct lmi_adapter_merge *m, const char *path,
					struct lmd_error *err)
{
	struct job j = {.m = m, .view = lmi_model_view(m->model)};
	enum lmd_status st = check(m, err);

	if (st == LMD_OK)
		st = lmi_gguf_writer_create(&j.w, 32, err);
	if (st == LMD_OK)
		st = write_all(&j, path, err);
	lmi_gguf_writer_destroy(j.w);
	lmi_free(j.raw);
	lmi_free(j.out);
	lmi_free(j.v);
	lmi_free(j.scale);
	return st;
}

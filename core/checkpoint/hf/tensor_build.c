/* SPDX-License-Identifier: MIT
 *
 * Builds one tensor of the model from its sources in the files: chooses the operation that the row
 * of its family asks for, checks the sizes against the shapes in the file, and computes the
 * resulting shape. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/quant/quant.h"

#define FIRST_CAP 256u

/* Makes room for one more transform. */
static bool grow(struct lmi_checkpoint *f)
{
	uint32_t cap = f->cap ? 2 * f->cap : FIRST_CAP;
	struct lmi_checkpoint_tensor_transform *r;

	if (f->m->view.n_tensors < f->cap)
		return true;
	r = lmi_realloc(f->transforms, cap, sizeof(*r));
	if (!r) {
		lmi_checkpoint_fail(f, LMD_NOMEM, "no memory for %u tensors", cap);
		return false;
	}
	f->transforms = r;
	f->cap = cap;
	return true;
}

static void fail_source(struct lmi_checkpoint *f, const struct lmi_checkpoint_weight_source *s,
			const char *what)
{
	char show[80];

	lmi_checkpoint_fail(f, LMD_CORRUPT, "%s: tensor %s [%llu, %llu]: %s", f->dir,
			    lmi_printable(show, sizeof(show), s->w->name, strlen(s->w->name)),
			    (unsigned long long)s->rows, (unsigned long long)s->cols, what);
}

/* The shape of one source, contiguous dimension first. */
static void dims_of(const struct lmi_checkpoint_weight_source *s, bool keep, struct lmd_tensor *t)
{
	const struct lmi_st_tensor *w = s->w;
	uint32_t n = w->n_dim;

	for (int i = 0; i < LMD_MAX_DIMS; i++)
		t->dims[i] = 1;
	if (s->scheme == LMI_CHECKPOINT_SCHEME_PLAIN || s->scheme == LMI_CHECKPOINT_SCHEME_SCALED) {
		t->n_dim = 0;
		for (uint32_t i = 0; i < n; i++) {
			int64_t d = w->dims[n - 1 - i];

			if (i == 0 || keep || d != 1) /* drop outer dimensions of 1 */
				t->dims[t->n_dim++] = d;
		}
		t->n_dim = t->n_dim ? t->n_dim : 1;
		return;
	}
	n = s->scheme == LMI_CHECKPOINT_SCHEME_MXFP4 ? n - 1 : n;
	t->n_dim = n < 2 ? 2 : n;
	t->dims[0] = (int64_t)s->cols;
	t->dims[1] = (int64_t)s->rows;
	if (n == 3) {
		t->dims[2] = w->dims[0];
		t->dims[1] /= t->dims[2];
	}
}

/* ---- operations ---- */

/* Selects from n rows or columns: all, one half, or every second one. */
static void select_slices(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
			  const struct lmi_checkpoint_weight_source *s, uint64_t n,
			  struct lmi_checkpoint_transform_slices *p)
{
	uint8_t part = row->how.part;
	bool half = part == LMD_CKPT_FIRST_HALF || part == LMD_CKPT_SECOND_HALF;
	bool even = part == LMD_CKPT_EVEN || part == LMD_CKPT_ODD;
	bool second = part == LMD_CKPT_SECOND_HALF || part == LMD_CKPT_ODD;

	if ((half || even) && n % 2)
		fail_source(f, s, "the number of rows is odd");
	p->n = half || even ? n / 2 : n;
	p->step = even ? 2 : 1;
	p->first = !second ? 0 : even ? 1 : p->n;
}

/* Transposes: a row for each selected column of each slice. */
static void transpose(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
		      struct lmi_checkpoint_tensor_transform *r, struct lmd_tensor *t)
{
	const struct lmi_checkpoint_weight_source *s = &r->src[0];

	if (t->n_dim < 2 || t->n_dim > 3)
		fail_source(f, s, "is neither a matrix nor a stack of matrices");
	r->op = LMI_CHECKPOINT_TRANSFORM_TRANSPOSE;
	select_slices(f, row, s, s->cols, &r->slice);
	r->slice.rows = r->slice.n_used = (uint64_t)t->dims[1];
	t->dims[0] = (int64_t)r->slice.n_used;
	t->dims[1] = (int64_t)r->slice.n;
}

/* Selects rows of each slice, which is dimension d of the tensor. */
static void select_rows(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
			struct lmi_checkpoint_tensor_transform *r, struct lmd_tensor *t, uint32_t d)
{
	r->op = LMI_CHECKPOINT_TRANSFORM_SELECT;
	r->slice.rows = (uint64_t)t->dims[d];
	select_slices(f, row, &r->src[0], r->slice.rows, &r->slice);
	t->dims[d] = (int64_t)r->slice.n;
	r->rows = r->rows / r->slice.rows * r->slice.n;
}

/* Selects from each head of latent attention the key rows, transposed, or the value rows. */
static void select_latent(struct lmi_checkpoint *f, bool keys,
			  struct lmi_checkpoint_tensor_transform *r, struct lmd_tensor *t)
{
	const struct lmi_checkpoint_weight_source *s = &r->src[0];
	uint64_t each = (uint64_t)f->pub.n_nope + f->pub.n_value;

	if (t->n_dim != 2 || !f->pub.n_nope || !f->pub.n_value || s->rows != each * f->pub.n_head) {
		fail_source(f, s,
			    "the number of rows does not match the keys and values of all heads");
		return;
	}
	r->slice.rows = each;
	r->slice.step = 1;
	t->n_dim = 3;
	t->dims[2] = f->pub.n_head;
	if (keys) {
		r->op = LMI_CHECKPOINT_TRANSFORM_TRANSPOSE;
		r->slice.n_used = f->pub.n_nope;
		r->slice.n = s->cols;
		t->dims[0] = f->pub.n_nope;
		t->dims[1] = (int64_t)s->cols;
	} else {
		r->op = LMI_CHECKPOINT_TRANSFORM_SELECT;
		r->slice.first = f->pub.n_nope;
		r->slice.n = f->pub.n_value;
		r->rows = (uint64_t)f->pub.n_head * f->pub.n_value;
		t->dims[1] = f->pub.n_value;
	}
}

/* Selects from each key head of gated delta everything but the gates, or only the gates. */
static void select_delta(struct lmi_checkpoint *f, bool gates,
			 struct lmi_checkpoint_tensor_transform *r, struct lmd_tensor *t)
{
	const struct lmi_checkpoint_weight_source *s = &r->src[0];
	uint64_t each = 2 * ((uint64_t)f->pub.delta_key + f->pub.delta_value);

	if (t->n_dim != 2 || !f->pub.n_delta || s->rows != each * f->pub.n_delta) {
		fail_source(f, s,
			    "the number of rows does not match the queries, keys, values and gates "
			    "of all heads");
		return;
	}
	r->op = gates ? LMI_CHECKPOINT_TRANSFORM_SELECT : LMI_CHECKPOINT_TRANSFORM_GATED_DELTA;
	r->n_kv = f->pub.n_delta;
	r->slice.rows = each;
	r->slice.step = 1;
	r->slice.n = f->pub.delta_value;
	r->slice.first = gates ? each - f->pub.delta_value : f->pub.delta_key;
	r->rows = f->pub.n_delta * (gates ? f->pub.delta_value : each - f->pub.delta_value);
	t->dims[1] = (int64_t)r->rows;
}

/* Gives a vector two dimensions. */
static void reshape(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
		    const struct lmi_checkpoint_weight_source *s, struct lmd_tensor *t)
{
	int64_t n = t->dims[0],
		groups = row->how.op == LMD_CKPT_COLUMN ? n : (int64_t)f->pub.n_group;

	if (t->n_dim != 1 || groups < 1 || n % groups) {
		fail_source(f, s, "the values cannot be divided into the configured groups");
		return;
	}
	t->n_dim = 2;
	t->dims[0] = n / groups;
	t->dims[1] = groups;
}

static void check_heads(struct lmi_checkpoint *f, const struct lmi_checkpoint_weight_source *s,
			uint64_t n_head)
{
	if (s->rows != n_head * f->pub.head_dim || f->pub.head_dim % 2)
		fail_source(f, s, "the rows are not heads of an even width");
}

static void skip_pad_rows(struct lmi_checkpoint *f, struct lmi_checkpoint_tensor_transform *r,
			  struct lmd_tensor *t)
{
	if (!f->pub.n_pad_rows)
		return;
	if (t->n_dim != 2 || r->src[0].rows <= f->pub.n_pad_rows)
		fail_source(f, &r->src[0], "has no rows after the padding token");
	r->row0 = f->pub.n_pad_rows;
	r->rows -= r->row0;
	t->dims[1] -= (int64_t)r->row0;
}

/* Sets the operation that a row asks for.  flat: each value is a row of the source. */
static void set_op(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row, bool flat,
		   struct lmi_checkpoint_tensor_transform *r, struct lmd_tensor *t)
{
	const struct lmi_checkpoint_weight_source *s = &r->src[0];

	switch ((enum lmd_ckpt_op)row->how.op) {
	case LMD_CKPT_ROPE_Q:
	case LMD_CKPT_ROPE_K:
		r->op = LMI_CHECKPOINT_TRANSFORM_ROPE;
		check_heads(f, s,
			    row->how.op == LMD_CKPT_ROPE_K ? f->pub.n_head_kv : f->pub.n_head);
		return;
	case LMD_CKPT_QKV:
		r->op = LMI_CHECKPOINT_TRANSFORM_QKV;
		if (s->rows != (f->pub.n_head + 2ull * f->pub.n_head_kv) * f->pub.head_dim)
			fail_source(f, s,
				    "the number of rows does not match all queries, keys and "
				    "values");
		return;
	case LMD_CKPT_LATENT_K:
	case LMD_CKPT_LATENT_V:
		select_latent(f, row->how.op == LMD_CKPT_LATENT_K, r, t);
		return;
	case LMD_CKPT_DELTA:
	case LMD_CKPT_DELTA_GATE:
		select_delta(f, row->how.op == LMD_CKPT_DELTA_GATE, r, t);
		return;
	case LMD_CKPT_COLUMN:
	case LMD_CKPT_GROUPS:
		reshape(f, row, s, t);
		return;
	case LMD_CKPT_AFTER_PAD:
		skip_pad_rows(f, r, t);
		return;
	case LMD_CKPT_TRANSPOSE:
		if (!flat && s->scheme != LMI_CHECKPOINT_SCHEME_MXFP4) {
			transpose(f, row, r, t);
			return;
		}
		break;
	case LMD_CKPT_COPY:
		break;
	}
	if (row->how.part != LMD_CKPT_WHOLE)
		select_rows(f, row, r, t, flat ? 0 : 1);
}

static void set_transform(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row, bool flat,
			  bool bias, struct lmi_checkpoint_tensor_transform *r,
			  struct lmd_tensor *t)
{
	r->rows = r->src[0].rows;
	r->head_dim = f->pub.head_dim;
	r->n_head = f->pub.n_head;
	r->n_kv = f->pub.n_head_kv;
	set_op(f, row, flat, r, t);
	r->add = row->how.values == LMD_CKPT_PLUS_ONE && !bias ? 1 : 0;
	r->neg_exp = row->how.values == LMD_CKPT_NEG_EXP;
}

static bool same_shape(const struct lmi_checkpoint_weight_source *a,
		       const struct lmi_checkpoint_weight_source *b)
{
	return a->scheme == b->scheme && a->rows == b->rows && a->cols == b->cols &&
	       a->bits == b->bits && a->group == b->group && a->symmetric == b->symmetric &&
	       a->w->n_dim == b->w->n_dim;
}

/* ---- adding ---- */

static bool is_in_place(const struct lmi_checkpoint_tensor_transform *r, const struct lmd_tensor *t,
			uint32_t block)
{
	const struct lmi_checkpoint_weight_source *s = r->n_src == 1 ? &r->src[0] : NULL;

	return s && r->op == LMI_CHECKPOINT_TRANSFORM_NONE && r->add == 0 && !r->neg_exp &&
	       !r->row0 && s->scheme == LMI_CHECKPOINT_SCHEME_PLAIN && s->w->bytes == t->bytes &&
	       ((t->dtype == LMD_DTYPE_F32 && s->w->type == LMI_ST_F32) ||
		(t->dtype == LMD_DTYPE_F16 && s->w->type == LMI_ST_F16) ||
		(t->dtype == LMD_DTYPE_BF16 && s->w->type == LMI_ST_BF16)) &&
	       s->w->offset % block == 0;
}

static void set_location(struct lmi_checkpoint *f, struct lmi_checkpoint_tensor_transform *r,
			 struct lmd_tensor *t)
{
	const struct lmi_dtype *type = lmi_dtype(t->dtype);
	uint64_t n = 1;

	for (uint32_t i = 1; i < t->n_dim; i++)
		if (!lmi_mul_ok(n, (uint64_t)t->dims[i], &n))
			n = UINT64_MAX;
	if (!lmi_quant_row_bytes(type, (uint64_t)t->dims[0], &t->bytes) ||
	    !lmi_mul_ok(t->bytes, n, &t->bytes)) {
		lmi_checkpoint_fail(
			f, LMD_INVALID,
			"tensor %s: rows of %lld values are not whole blocks of type %s", t->name,
			(long long)t->dims[0], type->name);
		return;
	}
	r->in_place = is_in_place(r, t, type->block_bytes);
	if (r->in_place) {
		t->file = r->src[0].w->part;
		t->offset = r->src[0].w->offset;
	}
}

static void add(struct lmi_checkpoint *f, struct lmi_checkpoint_tensor_transform *r,
		struct lmd_tensor *t)
{
	if (f->status != LMD_OK || !grow(f))
		return;
	set_location(f, r, t);
	if (f->status != LMD_OK)
		return;
	f->transforms[f->m->view.n_tensors] = *r;
	f->status = lmi_model_add_tensor(f->m, t, f->err);
}

static bool is_bias(const char *name)
{
	size_t n = strlen(name), k = strlen(".bias");

	return n > k && !strcmp(name + n - k, ".bias");
}

/* Codes of quantised weights come with scales; plain integers are not weights. */
static void check_type(struct lmi_checkpoint *f, const struct lmi_checkpoint_weight_source *s,
		       const struct lmd_checkpoint_row *row)
{
	switch ((enum lmi_st_type)s->w->type) {
	case LMI_ST_BOOL:
	case LMI_ST_U8:
	case LMI_ST_I8:
	case LMI_ST_I16:
	case LMI_ST_U16:
	case LMI_ST_I32:
	case LMI_ST_U32:
	case LMI_ST_I64:
	case LMI_ST_U64:
		if (s->scheme == LMI_CHECKPOINT_SCHEME_PLAIN && !(row->how.flags & LMD_CKPT_INTEGERS))
			fail_source(f, s, "weights of an integer type need scales");
		return;
	case LMI_ST_F8_E5M2:
	case LMI_ST_F8_E4M3:
	case LMI_ST_F8_E8M0:
	case LMI_ST_F16:
	case LMI_ST_BF16:
	case LMI_ST_F32:
	case LMI_ST_F64:
	case LMI_ST_N_TYPES:
		return;
	}
}

void lmi_checkpoint_add_tensor(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
			       struct lmi_checkpoint_weight_source *src, uint32_t n, bool bias,
			       const char *to)
{
	struct lmi_checkpoint_tensor_transform r = {.src = lmi_checkpoint_alloc(f, n, sizeof(*src)),
						    .n_src = n};
	struct lmd_tensor t = {0};
	const char *tail = row->how.flags & LMD_CKPT_BARE_TO ? "" : bias ? ".bias" : ".weight";
	bool flat;

	if (!r.src)
		return;
	check_type(f, &src[0], row);
	for (uint32_t i = 1; i < n; i++)
		if (!same_shape(&src[0], &src[i]))
			fail_source(f, &src[i], "differs in shape or type from the first one");
	dims_of(&src[0], row->how.flags & LMD_CKPT_KEEP_DIMS, &t);
	flat = t.n_dim == 1 || is_bias(to);
	if (flat) { /* operations on rows then apply to values */
		for (uint32_t i = 0; i < n; i++) {
			src[i].rows *= src[i].cols;
			src[i].cols = 1;
		}
	}
	memcpy(r.src, src, n * sizeof(*src));
	set_transform(f, row, flat, bias, &r, &t);
	if (n > 1) {
		if (t.n_dim == LMD_MAX_DIMS)
			fail_source(f, &src[0], "has too many dimensions to be stacked");
		else
			t.dims[t.n_dim++] = n;
	}
	t.dtype = (flat && row->how.stack != LMD_CKPT_EXPERTS) || r.add != 0 || r.neg_exp
			  ? LMD_DTYPE_F32
			  : lmi_checkpoint_source_type(&src[0],
						       r.op == LMI_CHECKPOINT_TRANSFORM_TRANSPOSE);
	t.name = lmi_arena_printf(f->m->arena, "%s%s", to, tail);
	if (!t.name)
		lmi_checkpoint_fail(f, LMD_NOMEM, "no memory for a tensor name");
	add(f, &r, &t);
}

void lmi_checkpoint_add_values(struct lmi_checkpoint *f, const char *name, const float *v)
{
	struct lmi_checkpoint_tensor_transform r = {.op = LMI_CHECKPOINT_TRANSFORM_VALUES,
						    .values = v};
	struct lmd_tensor t = {.name = name,
			       .dtype = LMD_DTYPE_F32,
			       .n_dim = 1,
			       .dims = {f->n_rope_freqs, 1, 1, 1}};

	if (v && f->n_rope_freqs)
		add(f, &r, &t);
}

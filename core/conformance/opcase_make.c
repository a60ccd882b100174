/* SPDX-License-Identifier: MIT
 *
 * What the build function of a case asks for: tensors with random data, inputs, values, adapters.  All
 * random numbers come from one stream, in the order in which the case asks, so they do not depend on
 * the device. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/conformance/opcase_priv.h"
#include "core/conformance/tensor_cache.h"
#include "core/quant/quant.h"

static uint64_t word(struct oc *c)
{
	uint64_t z = (c->rng += 0x9E3779B97F4A7C15ull);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return z ^ (z >> 31);
}

double oc_uniform(struct oc *c, double lo, double hi)
{
	return lo + (hi - lo) * ((double)(word(c) >> 11) * 0x1p-53);
}

double oc_normal(struct oc *c)
{
	double s = 0;

	for (int i = 0; i < 6; i++)
		s += oc_uniform(c, -1, 1);
	return s / sqrt(2.0); /* six uniform numbers of variance 1/3 */
}

static void fail(struct oc *c, enum lmd_status st, const char *fmt, ...) LMD_PRINTF(3, 4);

static void fail(struct oc *c, enum lmd_status st, const char *fmt, ...)
{
	char text[LMD_ERROR_TEXT];
	va_list ap;

	if (c->st != LMD_OK)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->st = lmd_fail(c->err, st, "case %s: %s", c->def->name, text);
	if (c->b)
		c->b->fail(c->b->ctx, st, "%s", text);
}

/* ---- tensors ---- */

/* Makes a block of random bytes whose numbers are finite and of normal magnitude. */
static void random_block(struct oc *c, const struct lmi_dtype *t, uint8_t *out)
{
	float v[256];

	for (int i = 0; i < 10000; i++) {
		float most = 0;
		bool finite = true;

		for (uint32_t j = 0; j < t->block_bytes; j++)
			out[j] = (uint8_t)word(c);
		t->dequant(out, v, t->block_elems);
		for (uint32_t j = 0; j < t->block_elems; j++) {
			finite = finite && isfinite(v[j]);
			most = fmaxf(most, fabsf(v[j]));
		}
		if (finite && most > 0.02f && most < 1.0f)
			return;
	}
	memset(out, 0, t->block_bytes);
}

/* Fills the n rows of a tensor with random numbers. */
static void fill_tensor(struct oc *c, const struct lmi_dtype *t, const struct oc_tensor_key *key,
			uint64_t bytes, uint8_t *data, float *row)
{
	bool encode = t->quant && !t->needs_importance && !(c->any_weights && t->block_elems > 1);

	for (uint64_t i = 0; i < key->n; i++) {
		for (uint64_t j = 0; encode && j < key->k; j++)
			row[j] = (float)(key->mean + key->std * oc_normal(c));
		if (encode)
			t->quant(row, data + i * bytes, (size_t)key->k, NULL);
		for (uint64_t j = 0; !encode && j < key->k / t->block_elems; j++)
			random_block(c, t, data + i * bytes + j * t->block_bytes);
	}
}

/* Creates a tensor of n*k numbers; returns its index. */
static uint32_t tensor(struct oc *c, uint32_t dtype, uint64_t n, uint64_t k, double mean,
		       double std)
{
	const struct lmi_dtype *t = lmi_dtype(dtype);
	uint32_t id = c->model.n_tensors;
	struct lmd_tensor *x = &c->tensors[id];
	const struct oc_tensor_key key = {
		.dtype = dtype, .n = n, .k = k, .mean = mean, .std = std, .rng = c->rng};
	uint64_t bytes;
	uint8_t *data;
	float *row;

	if (id == OC_MAX_TENSOR || !t || !t->dequant || t->block_elems > 256 ||
	    !lmi_quant_row_bytes(t, k, &bytes)) {
		fail(c, LMD_INTERNAL, "tensor %u of type %u, %llu x %llu", id, dtype,
		     (unsigned long long)n, (unsigned long long)k);
		return 0;
	}
	data = lmi_alloc((size_t)n, (size_t)bytes);
	row = lmi_alloc((size_t)k, sizeof(*row));
	if (!data || !row) {
		lmi_free(data);
		lmi_free(row);
		fail(c, LMD_NOMEM, "out of memory for a tensor");
		return 0;
	}
	if (!oc_tensor_cache_get(c->tensor_cache, &key, data, n * bytes, &c->rng)) {
		fill_tensor(c, t, &key, bytes, data, row);
		if (t->block_elems > 1)
			oc_tensor_cache_put(c->tensor_cache, &key, data, n * bytes, c->rng);
	}
	lmi_free(row);
	snprintf(c->names[id], sizeof(c->names[id]), "t%u", id);
	*x = (struct lmd_tensor){
		.name = c->names[id],
		.dtype = dtype,
		.n_dim = 2,
		.dims = {(int64_t)k, (int64_t)n, 1, 1},
		.bytes = n * bytes,
		.data = data,
	};
	c->model.n_tensors++;
	return id;
}

uint32_t oc_weight(struct oc *c, const struct oc_w *w)
{
	struct lmd_weight_part parts[8] = {0};
	uint32_t n_stack = w->n_stack ? w->n_stack : 1;
	bool transpose = w->transform == LMD_TRANSFORM_HEAD_TRANSPOSE;
	uint32_t rows = transpose ? w->k : w->n, cols = transpose ? w->n : w->k;
	struct lmd_weight_ref ref = {
		.struct_size = sizeof(ref),
		.parts = parts,
		.transform = w->transform,
		.n_head = w->n_head,
		.head_rows = w->head_rows,
		.n_stack = n_stack,
		.n = w->n,
		.k = w->k,
		.scale = LMD_NONE,
		.bias = LMD_NONE,
		.name = "w",
	};
	double std = w->std != 0.0 ? w->std : 1.0 / sqrt((double)w->k);

	ref.n_part = w->transform == LMD_TRANSFORM_STACK_EXPERTS ? n_stack
		     : w->parts                                  ? w->parts
								 : 1;
	for (uint32_t i = 0; i < ref.n_part; i++) {
		uint32_t share = rows * (i + 1) / ref.n_part - rows * i / ref.n_part;
		uint64_t all =
			w->n_head ? (uint64_t)w->n_head * (w->head_rows ? w->head_rows : rows)
			: w->transform == LMD_TRANSFORM_STACK_EXPERTS ? rows
								      : (uint64_t)n_stack * share;

		parts[i].tensor = tensor(c, w->dtype, all, cols, w->mean, std);
		if (w->n_head && w->head_rows) { /* the last rows of each head */
			parts[i].row0 = w->head_rows - rows;
			parts[i].n_row = rows;
		}
	}
	if (w->n_scale)
		ref.scale = tensor(c, LMD_DTYPE_F32, 1, w->n_scale, 1.0, 0.2);
	if (w->bias)
		ref.bias = tensor(c, LMD_DTYPE_F32, 1, (uint64_t)n_stack * w->n, 0.0, 0.5);
	return c->st == LMD_OK ? c->b->weight_ref(c->b->ctx, &ref) : 0;
}

uint32_t oc_table(struct oc *c, uint32_t n, uint32_t k, int lo, int hi)
{
	uint32_t id = tensor(c, LMD_DTYPE_F32, n, k, 0, 1);
	const struct lmd_weight_part part = {.tensor = id};
	const struct lmd_weight_ref ref = {
		.struct_size = sizeof(ref),
		.n_part = 1,
		.parts = &part,
		.n_stack = 1,
		.n = n,
		.k = k,
		.scale = LMD_NONE,
		.bias = LMD_NONE,
		.name = "ids",
	};
	int32_t *v;

	if (c->st != LMD_OK)
		return 0;
	c->tensors[id].dtype = LMD_DTYPE_I32;
	v = (int32_t *)(uintptr_t)c->tensors[id].data;
	for (uint32_t i = 0; i < n * k; i++)
		v[i] = lo + (int32_t)(word(c) % (uint64_t)(hi - lo + 1));
	return c->b->weight_ref(c->b->ctx, &ref);
}

static struct lmd_operand vector(struct oc *c, uint32_t dtype, uint32_t n, double mean, double std)
{
	const struct oc_w w = {.dtype = dtype, .n = 1, .k = n, .mean = mean, .std = std};

	return (struct lmd_operand){
		.src = LMD_SRC_WEIGHT,
		.id = oc_weight(c, &w),
		.n_head = 1,
		.head_stride = n,
		.width = n,
	};
}

struct lmd_operand oc_vector(struct oc *c, uint32_t n, double mean, double std)
{
	return vector(c, LMD_DTYPE_F32, n, mean, std);
}

struct lmd_operand oc_half_vector(struct oc *c, uint32_t n, double mean, double std)
{
	return vector(c, LMD_DTYPE_F16, n, mean, std);
}

/* ---- inputs and values ---- */

static struct lmd_operand input(struct oc *c, uint32_t space, uint32_t width, bool i32, double lo,
				double hi)
{
	const struct lmd_input in = {
		.space = space,
		.width = width,
		.name = "in",
		.vtype = i32 ? LMD_VTYPE_I32 : LMD_VTYPE_F32,
	};
	struct lmd_operand o = {
		.src = LMD_SRC_INPUT, .n_head = 1, .head_stride = width, .width = width};

	if (c->n_input == OC_MAX_INPUT) {
		fail(c, LMD_INTERNAL, "too many inputs");
		return o;
	}
	o.id = c->b->input(c->b->ctx, &in);
	if (o.id != c->n_input && c->st == LMD_OK)
		fail(c, LMD_INTERNAL, "input %u got number %u", c->n_input, o.id);
	c->inputs[c->n_input++] = (struct oc_input){
		.space = space,
		.width = width,
		.i32 = i32,
		.lo = lo,
		.hi = hi,
	};
	return o;
}

struct lmd_operand oc_in(struct oc *c, uint32_t space, uint32_t width, double mean, double std)
{
	return input(c, space, width, false, mean, std);
}

struct lmd_operand oc_in_ids(struct oc *c, uint32_t space, uint32_t width, int lo, int hi)
{
	return input(c, space, width, true, lo, hi);
}

struct lmd_operand oc_list(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width, int step)
{
	struct lmd_operand o = input(c, space, n_head * width, true, 0, step);

	c->inputs[c->n_input - 1].list = width;
	o.n_head = n_head;
	o.head_stride = o.width = width;
	return o;
}

/* Creates a value with the unchanged contents of an input. */
static struct lmd_operand value_of_input(struct oc *c, struct lmd_operand in, uint32_t space,
					 uint32_t width)
{
	struct lmd_op op = oc_op(LMD_OP_CAST_COPY);
	bool i32 = c->n_input && c->inputs[c->n_input - 1].i32;
	struct lmd_operand y = {
		.src = LMD_SRC_VALUE, .n_head = 1, .head_stride = width, .width = width};

	y.id = c->b->value(c->b->ctx, space, i32 ? LMD_VTYPE_I32 : LMD_VTYPE_F32, width, "x");
	op.u.cast_copy.x = in;
	op.u.cast_copy.y = y;
	oc_emit(c, &op);
	return y;
}

struct lmd_operand oc_x_like(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width,
			     double mean, double std)
{
	uint32_t stride = width + 1, all = n_head > 1 ? n_head * stride : width + 3;
	struct lmd_operand y = value_of_input(c, oc_in(c, space, all, mean, std), space, all);

	y.col0 = n_head > 1 ? 0 : 1;
	y.n_head = n_head;
	y.head_stride = n_head > 1 ? stride : width;
	y.width = width;
	return y;
}

struct lmd_operand oc_x(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width)
{
	return oc_x_like(c, space, n_head, width, 0, 1);
}

struct lmd_operand oc_ids(struct oc *c, uint32_t space, uint32_t width, int lo, int hi)
{
	return value_of_input(c, oc_in_ids(c, space, width, lo, hi), space, width);
}

static struct lmd_operand result(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width,
				 uint32_t vtype)
{
	uint32_t all = n_head * width;
	struct lmd_operand y = {
		.src = LMD_SRC_VALUE,
		.n_head = n_head,
		.head_stride = width,
		.width = width,
	};

	if (c->n_tap == OC_MAX_TAP)
		fail(c, LMD_INTERNAL, "too many results");
	y.id = c->b->value(c->b->ctx, space, vtype, all, "y");
	c->b->output(c->b->ctx, LMD_OUT_TAP + c->n_tap++, y.id);
	return y;
}

struct lmd_operand oc_y(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width)
{
	return result(c, space, n_head, width, LMD_VTYPE_F32);
}

struct lmd_operand oc_y_ids(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width)
{
	return result(c, space, n_head, width, LMD_VTYPE_I32);
}

struct lmd_norm oc_norm(struct oc *c, uint32_t kind, uint32_t n_head, uint32_t width, int plus_one,
			bool bias)
{
	struct lmd_norm n = {
		.kind = kind,
		.eps = kind == LMD_NORM_L2 ? 1e-6f : 1e-5f,
		.g_plus_one = (uint32_t)plus_one,
	};

	if (kind == LMD_NORM_NONE)
		return n;
	n.g = oc_vector(c, n_head * width, plus_one ? 0 : 1, 0.2);
	if (bias)
		n.b = oc_vector(c, n_head * width, 0, 0.3);
	return n;
}

void oc_map(struct oc *c, uint32_t k, uint32_t h, uint32_t w, uint32_t step)
{
	c->x[k].h = h;
	c->x[k].w = w;
	c->x[k].step = step;
}

/* ---- adapters ---- */

static float *numbers(struct oc *c, size_t n, double std)
{
	float *v = lmi_alloc(n, sizeof(*v));

	for (size_t i = 0; v && i < n; i++)
		v[i] = (float)(std * oc_normal(c));
	if (!v)
		fail(c, LMD_NOMEM, "out of memory for an adapter");
	return v;
}

uint32_t oc_site(struct oc *c, uint32_t n, uint32_t k, uint32_t n_stack)
{
	uint32_t site = c->n_adapter / 2;

	if (!(c->def->flags & OC_LORA))
		return LMD_NONE;
	if (c->n_adapter + 2 > OC_MAX_ADAPTER) {
		fail(c, LMD_INTERNAL, "too many sites");
		return LMD_NONE;
	}
	for (uint32_t slot = 1; slot <= 2; slot++) {
		uint32_t rank = slot == 1 ? 3 : 0;
		size_t stack = n_stack ? n_stack : 1;
		struct lmd_adapter_bind *a = &c->adapters[c->n_adapter++];

		*a = (struct lmd_adapter_bind){
			.struct_size = sizeof(*a),
			.slot = slot,
			.site = site,
			.rank = rank,
			.n = n,
			.k = k,
			.n_stack = n_stack,
			.scale = 0.5f * (float)slot,
			.a = rank ? numbers(c, stack * rank * k, 1.0 / sqrt((double)k)) : NULL,
			.b = numbers(c, stack * n * (rank ? rank : 1), 0.5),
			.gain = slot == 1 && c->def->flags & OC_GAIN ? numbers(c, stack * n, 1) : NULL,
		};
	}
	return site;
}

uint32_t oc_rope(struct oc *c, uint32_t n_rot, uint32_t pairing, uint32_t sections)
{
	const struct lmd_rope_params p = {
		.struct_size = sizeof(p),
		.n_rot = n_rot,
		.pairing = pairing,
		.sections_kind = sections,
		.sections = {n_rot / 4, n_rot / 8, n_rot / 8, 0},
		.base = 10000,
		.freq_scale = 0.5,
		.ext_factor = sections ? 0 : 1,
		.attn_factor = 1.25,
		.beta_fast = 32,
		.beta_slow = 1,
		.n_ctx_orig = 128,
	};

	return c->b->rope(c->b->ctx, &p);
}

/* ---- ops ---- */

struct lmd_op oc_op(uint32_t code)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(code);
	struct lmd_op op = {.code = code};

	for (uint32_t i = 0; i < info->n_fields; i++) {
		const struct lmi_plan_field *f = &info->fields[i];

		for (uint32_t j = 0; j < f->count; j++) {
			const float x = (float)f->def;
			const uint32_t u = (uint32_t)f->def, none = LMD_NONE;
			void *at = lmi_plan_field_at(f, &op, j);

			if (f->kind == LMI_PLAN_FIELD_F32)
				memcpy(at, &x, sizeof(x));
			else if (f->kind == LMI_PLAN_FIELD_U32 || f->kind == LMI_PLAN_FIELD_ENUM)
				memcpy(at, &u, sizeof(u));
			else if (f->kind >= LMI_PLAN_FIELD_WEIGHT_REF &&
				 f->kind <= LMI_PLAN_FIELD_SITE)
				memcpy(at, &none, sizeof(none));
		}
	}
	return op;
}

void oc_emit(struct oc *c, const struct lmd_op *op)
{
	if (c->st == LMD_OK)
		c->b->op(c->b->ctx, op);
}

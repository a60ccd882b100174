/* SPDX-License-Identifier: MIT
 *
 * Values, weights, caches and results of the naive evaluation. */
#include "plugins/backend/ref/naive_test.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/quant/quant.h"
#include "plugins/backend/common/int8_types.h"

/* ---- operands ---- */

uint32_t cols(const struct lmd_operand *o)
{
	return o->n_head * o->width;
}

uint32_t space_of(const struct naive *n, const struct lmd_operand *o)
{
	if (o->src == LMD_SRC_VALUE)
		return n->p->values[o->id].space;
	if (o->src == LMD_SRC_INPUT)
		return n->c->inputs[o->id].space;
	return o->src == LMD_SRC_ROW_IN ? LMD_SPACE_TOKENS : LMD_N_SPACE;
}

uint32_t rows_of(const struct naive *n, const struct lmd_operand *o)
{
	uint32_t rows = o->src == LMD_SRC_INPUT	   ? n->c->inputs[o->id].n_row
			: o->src == LMD_SRC_WEIGHT ? 1
						   : n->c->rows[space_of(n, o)];

	return rows / (o->fold ? o->fold : 1);
}

double get(const struct naive *n, const struct lmd_operand *o, uint32_t row, uint32_t head,
	   uint32_t col)
{
	uint32_t j = o->col0 + head * o->head_stride + col, fold = o->fold ? o->fold : 1, w;
	const struct oc_input *in;

	switch ((enum lmd_src)o->src) {
	case LMD_SRC_VALUE:
		w = n->p->values[o->id].width;
		return n->value[o->id][(size_t)(row * fold + j / w) * w + j % w];
	case LMD_SRC_ROW_IN:
		w = n->p->row_ins[o->id].width;
		if (n->p->row_ins[o->id].vtype == LMD_VTYPE_I32)
			return ((const int32_t *)n->s->row_in[o->id])[row * w + j];
		return (double)((const float *)n->s->row_in[o->id])[row * w + j];
	case LMD_SRC_INPUT:
		in = &n->c->inputs[o->id];
		if (in->i32)
			return ((const int32_t *)in->data)[row * in->width + j];
		return (double)((const float *)in->data)[row * in->width + j];
	case LMD_SRC_WEIGHT:
		return n->weight[o->id][j];
	case LMD_SRC_NONE:
		break;
	}
	return NAN;
}

void put(struct naive *n, const struct lmd_operand *o, uint32_t row, uint32_t head, uint32_t col,
	 double x)
{
	uint32_t w = n->p->values[o->id].width;

	n->value[o->id][(size_t)row * w + o->col0 + head * o->head_stride + col] = x;
}

double get_flat(const struct naive *n, const struct lmd_operand *o, uint32_t row, uint32_t j)
{
	return get(n, o, row, j / o->width, j % o->width);
}

void put_flat(struct naive *n, const struct lmd_operand *o, uint32_t row, uint32_t j, double x)
{
	put(n, o, row, j / o->width, j % o->width, x);
}

/* ---- rows ---- */

uint32_t seq_of(const struct naive *n, uint32_t space, uint32_t row)
{
	for (uint32_t s = 0; space >= LMD_SPACE_X0 && s < n->s->head->n_seq; s++) {
		if ((int32_t)row < n->s->x_off[space - LMD_SPACE_X0][s + 1])
			return s;
	}
	if (space == LMD_SPACE_OUTPUTS)
		row = (uint32_t)n->s->out_row[row];
	return space == LMD_SPACE_SEQS ? row : (uint32_t)n->s->seq_of[row];
}

void seq_rows(const struct naive *n, uint32_t space, uint32_t seq, uint32_t *first, uint32_t *len)
{
	const int32_t *off;

	if (space == LMD_SPACE_TOKENS) {
		*first = (uint32_t)n->s->q_start[seq];
		*len = (uint32_t)n->s->q_len[seq];
		return;
	}
	off = n->s->x_off[space - LMD_SPACE_X0];
	*first = (uint32_t)off[seq];
	*len = (uint32_t)(off[seq + 1] - off[seq]);
}

int64_t token_of(const struct naive *n, uint32_t space, uint32_t row)
{
	if (space == LMD_SPACE_TOKENS)
		return row;
	return space == LMD_SPACE_OUTPUTS ? n->s->out_row[row] : -1;
}

/* ---- weights ---- */

/* Decodes a tensor, or a literal, to rows of K doubles; *rows = their number.  The caller frees
 * them. */
static double *decode_part(const struct naive *n, const struct lmd_weight_part *pt, uint32_t k,
			   uint32_t *dtype, size_t *rows)
{
	const struct lmd_tensor *t = &n->c->tensors[pt->tensor];
	const struct lmi_dtype *type;
	size_t total;
	double *out;
	float *f;

	if (pt->kind == LMD_WEIGHT_PART_LITERAL) {
		*dtype = LMD_DTYPE_F32;
		*rows = pt->n_row;
		out = lmi_alloc(pt->n_row * (size_t)k, sizeof(*out));
		for (size_t i = 0; out && i < pt->n_row * (size_t)k; i++)
			out[i] = (double)pt->literal[i];
		return out;
	}
	*dtype = t->dtype;
	type = lmi_dtype(t->dtype);
	total = (size_t)t->dims[0] * (size_t)t->dims[1];
	*rows = total / k;
	out = lmi_alloc(total, sizeof(*out));
	f = lmi_alloc(total, sizeof(*f));
	if (!out || !f) {
		lmi_free(out);
		lmi_free(f);
		return NULL;
	}
	if (t->dtype == LMD_DTYPE_I32) {
		for (size_t i = 0; i < total; i++)
			out[i] = ((const int32_t *)t->data)[i];
	} else {
		lmi_quant_dequant_rows(type, t->data, f, (size_t)t->dims[0], (size_t)t->dims[1]);
		for (size_t i = 0; i < total; i++)
			out[i] = (double)f[i];
	}
	lmi_free(f);
	return out;
}

/* Parts follow each other in N, head by head or slice by slice (plan.h); a transposition comes
 * last. */
static double *decode(const struct naive *n, const struct lmd_weight_ref *w, uint32_t *dtype)
{
	bool transposed = w->transform == LMD_TRANSFORM_HEAD_TRANSPOSE,
	     experts = w->transform == LMD_TRANSFORM_STACK_EXPERTS;
	uint32_t k = transposed ? w->n : w->k, rows = transposed ? w->k : w->n, at = 0;
	double *out = lmi_alloc((size_t)w->n_stack * w->n * w->k, sizeof(*out));

	for (uint32_t i = 0; out && i < w->n_part; i++) {
		const struct lmd_weight_part *pt = &w->parts[i];
		size_t have;
		double *part = decode_part(n, pt, k, dtype, &have);
		uint32_t heads = w->n_head ? w->n_head : experts ? 1 : w->n_stack;
		uint32_t stride = w->n_head && w->head_rows ? w->head_rows
				  : w->n_head		    ? pt->n_row
							    : (uint32_t)(have / heads);
		uint32_t count = pt->n_row ? pt->n_row : stride;

		if (!w->n_head && !experts && w->n_stack > 1)
			count = stride;
		for (uint32_t h = 0; part && h < heads; h++) {
			for (uint32_t r = 0; r < count; r++) {
				const double *from = part + (size_t)(h * stride + pt->row0 + r) * k;
				uint32_t slice = experts ? i : h, row = experts ? r : at + r;

				for (uint32_t c = 0; c < k; c++) {
					size_t to = transposed
							    ? ((size_t)slice * k + c) * rows + row
							    : ((size_t)slice * rows + row) * k + c;

					out[to] = from[c];
				}
			}
		}
		at += count;
		lmi_free(part);
	}
	return out;
}

const double *wrow(const struct naive *n, uint32_t weight_ref, uint32_t slice, uint32_t row)
{
	const struct lmd_weight_ref *w = &n->p->weight_refs[weight_ref];

	return n->weight[weight_ref] + ((size_t)slice * w->n + row) * w->k;
}

static const float *extra(const struct naive *n, uint32_t tensor, uint32_t *count)
{
	*count = 0;
	if (tensor == LMD_NONE)
		return NULL;
	*count = (uint32_t)n->c->tensors[tensor].dims[0];
	return n->c->tensors[tensor].data;
}

double wscale(const struct naive *n, uint32_t weight_ref, uint32_t slice, uint32_t row)
{
	const struct lmd_weight_ref *w = &n->p->weight_refs[weight_ref];
	uint32_t count;
	const float *v = extra(n, w->scale, &count);

	if (!v)
		return 1;
	return (double)v[count == 1 ? 0 : w->n_stack > 1 ? slice : row];
}

double wbias(const struct naive *n, uint32_t weight_ref, uint32_t slice, uint32_t row)
{
	const struct lmd_weight_ref *w = &n->p->weight_refs[weight_ref];
	uint32_t count;
	const float *v = extra(n, w->bias, &count);

	return v ? (double)v[slice * w->n + row] : 0;
}

/* Sum of x*w over a block whose x is rounded to 8 bits; with n_q8 = 2 the errors of that are
 * rounded to 8 bits as well and added. */
static double rounded_block(uint32_t n_q8, const double *x, const double *w)
{
	double left[32], sum = 0;

	memcpy(left, x, sizeof(left));
	for (uint32_t a = 0; a < n_q8; a++) {
		float amax = 0;

		for (uint32_t i = 0; i < 32; i++)
			amax = fmaxf(amax, fabsf((float)left[i]));
		for (uint32_t i = 0; i < 32 && amax > 0; i++) {
			double v = (double)rintf((float)left[i] * (127.0f / amax)) *
				   (double)(amax / 127.0f);

			sum += v * w[i];
			left[i] -= v;
		}
	}
	return sum;
}

double product(const struct naive *n, uint32_t weight_ref, uint32_t slice, uint32_t row,
	       const double *x)
{
	const double *w = wrow(n, weight_ref, slice, row);
	uint32_t k = n->p->weight_refs[weight_ref].k;
	double sum = 0;

	if (n->n_q8 && host_mem_int8_type(n->dtype[weight_ref])) {
		for (uint32_t b = 0; b < k; b += 32)
			sum += rounded_block(n->n_q8, x + b, w + b);
		return sum;
	}
	for (uint32_t i = 0; i < k; i++)
		sum += x[i] * w[i];
	return sum;
}

/* The adapter of a row at a site, or NULL. */
static const struct lmd_adapter_bind *adapter_of(const struct naive *n, uint32_t site,
						 uint32_t space, uint32_t row)
{
	int64_t t = token_of(n, space, row);
	uint32_t slot = t < 0 || !n->s->lora_slot ? 0 : (uint32_t)n->s->lora_slot[t];

	for (uint32_t j = 0; slot && site != LMD_NONE && j < n->c->n_adapter; j++)
		if (n->c->adapters[j].slot == slot && n->c->adapters[j].site == site)
			return &n->c->adapters[j];
	return NULL;
}

double lora(const struct naive *n, uint32_t site, uint32_t space, uint32_t row, uint32_t slice,
	    const double *x, uint32_t i)
{
	const struct lmd_adapter_bind *a = adapter_of(n, site, space, row);
	size_t s = a && a->n_stack > 1 ? slice : 0;
	double sum = 0;

	if (!a)
		return 0;
	if (!a->rank)
		return (double)a->scale * (double)a->b[s * a->n + i];
	for (uint32_t r = 0; r < a->rank; r++) {
		double ax = 0;

		for (uint32_t e = 0; e < a->k; e++)
			ax += (double)a->a[(s * a->rank + r) * a->k + e] * x[e];
		sum += (double)a->b[(s * a->n + i) * a->rank + r] * ax;
	}
	return (double)a->scale * sum;
}

double lora_factor(const struct naive *n, uint32_t site, uint32_t space, uint32_t row,
		   uint32_t slice, uint32_t i)
{
	const struct lmd_adapter_bind *a = adapter_of(n, site, space, row);

	return a && a->gain ? (double)a->gain[(a->n_stack > 1 ? slice : 0) * (size_t)a->n + i] : 1;
}

/* ---- caches ---- */

static double *decode_cache(const struct naive *n, uint32_t dtype, const char *from, size_t heads,
			    uint32_t width)
{
	double *out = lmi_alloc(heads * width, sizeof(*out));
	float *f = lmi_alloc(heads * width, sizeof(*f));

	if (out && f) {
		(void)n->c->host->dequant_rows(n->c->host->ctx, dtype, from, f,
					       heads * width); /* the same host made the data */
		for (size_t i = 0; i < heads * width; i++)
			out[i] = (double)f[i];
	}
	lmi_free(f);
	return out;
}

void cache_store(const struct naive *n, uint32_t dtype, const double *x, double *to, uint32_t count)
{
	float f[1024] = {0};
	char bytes[4096];

	for (uint32_t i = 0; i < count; i++)
		f[i] = (float)x[i];
	(void)n->c->host->quant_rows(n->c->host->ctx, dtype, f, bytes, count);
	(void)n->c->host->dequant_rows(n->c->host->ctx, dtype, bytes, f, count);
	for (uint32_t i = 0; i < count; i++)
		to[i] = dtype == LMD_DTYPE_F32 ? x[i] : (double)f[i];
}

static bool load_caches(struct naive *n)
{
	for (uint32_t i = 0; i < n->p->n_cache; i++) {
		const struct lmd_cache *x = &n->p->caches[i];
		const struct oc_rows *m = &n->c->memory[i];
		bool state = x->kind == LMD_CACHE_CONV || x->kind == LMD_CACHE_STATE;
		size_t rows = (size_t)OC_SEQ_SLOTS * m->n_row * x->n_head;
		uint32_t width = x->dk;

		if (state) {
			rows = OC_N_SLOT * (x->kind == LMD_CACHE_CONV ? x->dk : x->n_head);
			width = x->kind == LMD_CACHE_CONV ? x->n_head * x->dv : x->dk * x->dv;
		}
		n->k[i] = decode_cache(n, x->k_dtype, m->k, rows, width);
		if (m->v)
			n->v[i] = decode_cache(n, x->v_dtype, m->v, rows, x->dv);
		if (!n->k[i] || (m->v && !n->v[i]))
			return false;
	}
	return true;
}

/* ---- the run ---- */

static const naive_op ops[LMD_N_OP] = {
	[LMD_OP_EMBED] = naive_embed,
	[LMD_OP_NORM] = naive_norm,
	[LMD_OP_LINEAR] = naive_linear,
	[LMD_OP_ROPE_KV] = naive_rope_kv,
	[LMD_OP_ATTN] = naive_attn,
	[LMD_OP_GLU] = naive_glu,
	[LMD_OP_FFN] = naive_ffn,
	[LMD_OP_HEAD] = naive_head,
	[LMD_OP_SAMPLE] = naive_sample,
	[LMD_OP_EW] = naive_ew,
	[LMD_OP_ROUTE] = naive_route,
	[LMD_OP_MOE_FFN] = naive_moe_ffn,
	[LMD_OP_BMM] = naive_bmm,
	[LMD_OP_GATHER] = naive_gather,
	[LMD_OP_REDUCE] = naive_reduce,
	[LMD_OP_SOFTMAX] = naive_softmax,
	[LMD_OP_CONV] = naive_conv,
	[LMD_OP_SCAN] = naive_scan,
	[LMD_OP_MIX] = naive_mix,
	[LMD_OP_INDEX] = naive_index,
	[LMD_OP_CAST_COPY] = naive_cast_copy,
	[LMD_OP_PATCH] = naive_patch,
};

static bool add(struct oc_result *out, const char *name, const double *v, uint32_t rows,
		uint32_t width, bool i32)
{
	struct oc_out *o = oc_result_add(out, rows, width, i32, "%s", name);

	for (size_t i = 0; o && i < (size_t)rows * width; i++) {
		if (i32)
			o->i[i] = (int32_t)v[i];
		else
			o->f[i] = (float)v[i];
	}
	return o != NULL;
}

static bool collect_group(const struct naive *n, uint32_t group, struct oc_result *out)
{
	for (uint32_t s = 8; group == OC_G_STATE && s < OC_N_SLOT; s++) {
		for (uint32_t i = 0; i < n->p->n_cache; i++) {
			const struct lmd_cache *x = &n->p->caches[i];
			uint32_t rows = x->kind == LMD_CACHE_CONV ? x->dk : x->n_head;
			uint32_t width =
				x->kind == LMD_CACHE_CONV ? x->n_head * x->dv : x->dk * x->dv;

			if (x->group == group &&
			    !add(out, "slot", n->k[i] + (size_t)s * rows * width, rows, width,
				 false))
				return false;
		}
	}
	for (uint32_t s = 0; group != OC_G_STATE && s < n->s->head->n_seq; s++) {
		for (uint32_t i = 0; i < n->p->n_cache; i++) {
			const struct lmd_cache *x = &n->p->caches[i];
			size_t first = (size_t)oc_seq_slot(s) * oc_max_keys(n->c) * x->n_head;
			uint32_t keys = oc_n_key(n->c, group, s);

			if (x->group != group)
				continue;
			if (!add(out, "K", n->k[i] + first * x->dk, keys, x->n_head * x->dk,
				 false) ||
			    (n->v[i] && !add(out, "V", n->v[i] + first * x->dv, keys,
					     x->n_head * x->dv, false)))
				return false;
		}
	}
	return true;
}

static bool collect(const struct naive *n, struct oc_result *out)
{
	bool ok = true;

	for (uint32_t i = 0; ok && i < n->p->n_output; i++) {
		const struct lmd_value *v = &n->p->values[n->p->outputs[i].value];

		ok = add(out, v->name, n->value[n->p->outputs[i].value], n->c->rows[v->space],
			 v->width, v->vtype == LMD_VTYPE_I32);
	}
	for (uint32_t g = 0; ok && g < n->p->n_group; g++)
		ok = collect_group(n, g, out);
	return ok;
}

static bool load(struct naive *n)
{
	n->value = lmi_alloc(n->p->n_value + 1, sizeof(*n->value));
	n->weight = lmi_alloc(n->p->n_weight_ref + 1, sizeof(*n->weight));
	n->dtype = lmi_alloc(n->p->n_weight_ref + 1, sizeof(*n->dtype));
	if (!n->value || !n->weight || !n->dtype)
		return false;
	for (uint32_t i = 0; i < n->p->n_value; i++) {
		size_t count = (size_t)n->c->rows[n->p->values[i].space] * n->p->values[i].width;

		n->value[i] = lmi_alloc(count + 1, sizeof(**n->value));
		if (!n->value[i])
			return false;
	}
	for (uint32_t i = 0; i < n->p->n_weight_ref; i++) {
		n->weight[i] = decode(n, &n->p->weight_refs[i], &n->dtype[i]);
		if (!n->weight[i])
			return false;
	}
	return load_caches(n);
}

bool naive_run(const struct oc *c, uint32_t n_q8, struct oc_result *out)
{
	struct naive n = {.c = c, .p = c->view, .s = &c->step->view, .n_q8 = n_q8};
	bool ok = load(&n);

	*out = (struct oc_result){0};
	for (uint32_t i = 0; ok && i < n.p->n_op; i++)
		ops[n.p->ops[i].code](&n, &n.p->ops[i]);
	ok = ok && collect(&n, out);
	for (uint32_t i = 0; n.value && i < n.p->n_value; i++)
		lmi_free(n.value[i]);
	for (uint32_t i = 0; n.weight && i < n.p->n_weight_ref; i++)
		lmi_free(n.weight[i]);
	for (uint32_t i = 0; i < LMD_LEN(n.k); i++) {
		lmi_free(n.k[i]);
		lmi_free(n.v[i]);
	}
	lmi_free(n.value);
	lmi_free(n.weight);
	lmi_free(n.dtype);
	return ok;
}

/* SPDX-License-Identifier: MIT
 *
 * A backend of matrix products alone: plain LINEAR in float through a BLAS.  The host runs everything
 * else on the cpu and decomposes fused operations so that their products come here:
 *
 *     llamactl run MODEL.gguf --backend partial
 *     llamactl explain MODEL.gguf --backend partial
 *
 * CAST_COPY is there because a segment of a plan begins with copies of the values that it gets. */
#include <cblas.h>
#include <llamad/backend.h>
#include <llamad/plugin.h>
#include <stdio.h>
#include <string.h>

struct device {
	const struct lmd_host *host;
};

struct lmd_weight {
	uint32_t n, k;
	float v[]; /* [n, k] */
};

struct lmd_pool {
	char none;
};

struct lmd_compiled_plan {
	const struct lmd_plan *plan;
	char *values, *own_values;
	struct lmd_weight *weights[]; /* [n_weight_ref] */
};

static uint32_t enumerate(const struct lmd_host *host, struct lmd_device_info *out, uint32_t cap,
			  char *why, size_t n)
{
	static const struct lmd_device_info info = {.caps = LMD_DEV_HOST_MEMORY,
						    .name = "partial: products through a BLAS",
						    .act_dtype = LMD_DTYPE_F32,
						    .page_tokens = 32,
						    .kv_dtype = LMD_DTYPE_F32};

	(void)host;
	if (n)
		why[0] = '\0';
	if (cap)
		LMD_PUT(out, &info);
	return 1;
}

static enum lmd_status open_device(void *state, const struct lmd_host *host,
				   const struct lmd_open_params *p, struct lmd_error *err)
{
	if (p->index)
		return lmd_fail(err, LMD_NOTFOUND, "partial: device %u, there is only device 0",
				p->index);
	if (p->activations > LMD_ACTIVATIONS_F32)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"partial: activations are not rounded; use f32");
	if (p->deterministic)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"partial: deterministic = exact is not available");
	((struct device *)state)->host = host;
	return LMD_OK;
}

static void close_device(void *state)
{
	(void)state;
}

static const char *last_error(void *state)
{
	(void)state;
	return "";
}

/* ---- weights: decoded to float when they are loaded ---- */

static bool is_plain(const struct lmd_weight_ref *r)
{
	return r->transform == LMD_TRANSFORM_NONE && r->n_stack == 1 && !r->n_head &&
	       r->scale == LMD_NONE && r->bias == LMD_NONE;
}

static enum lmd_status weight_query(void *state, const struct lmd_weight_desc *d,
				    struct lmd_weight_plan *out, struct lmd_error *err)
{
	struct lmd_weight_plan plan = {.placement = LMD_PLACE_COPY,
				       .bytes = (uint64_t)d->ref->n * d->ref->k * sizeof(float)};

	(void)state;
	if (!is_plain(d->ref))
		return lmd_fail(err, LMD_UNSUPPORTED, "partial: %s is not a plain matrix",
				d->ref->name);
	LMD_PUT(out, &plan);
	return LMD_OK;
}

static void weight_destroy(void *state, struct lmd_weight *w)
{
	const struct lmd_host *h = ((struct device *)state)->host;

	h->free(h->ctx, w);
}

static enum lmd_status weight_load(void *state, const struct lmd_weight_desc *d,
				   struct lmd_weight **out, struct lmd_error *err)
{
	const struct lmd_host *h = ((struct device *)state)->host;
	size_t n = d->ref->n, k = d->ref->k;
	struct lmd_weight *w = h->alloc(h->ctx, sizeof(*w) + n * k * sizeof(float));
	float *row = w ? w->v : NULL;

	if (!w)
		return lmd_fail(err, LMD_NOMEM, "partial: %s: no memory", d->ref->name);
	w->n = d->ref->n;
	w->k = d->ref->k;
	for (uint32_t i = 0; i < d->n_piece; i++) {
		const struct lmd_weight_piece *p = &d->pieces[i];

		for (uint32_t r = 0; r < p->n_row; r++, row += k) {
			enum lmd_status st =
				h->dequant_rows(h->ctx, (enum lmd_dtype)d->dtype,
						(const char *)p->data + r * p->row_bytes, row, k);

			if (st == LMD_OK)
				continue;
			weight_destroy(state, w);
			return lmd_fail(err, st, "partial: %s: type %u cannot be decoded",
					d->ref->name, d->dtype);
		}
	}
	*out = w;
	return LMD_OK;
}

/* ---- pools: no operation here has a cache ---- */

static enum lmd_status pool_create(void *state, const struct lmd_pool_desc *d,
				   struct lmd_pool **out, struct lmd_error *err)
{
	static struct lmd_pool pool;

	(void)state;
	if (d->n_cache)
		return lmd_fail(err, LMD_UNSUPPORTED, "partial: group %s has caches",
				d->desc->name);
	*out = &pool;
	return LMD_OK;
}

static enum lmd_status pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			       const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done,
			       struct lmd_error *err)
{
	(void)state, (void)q, (void)pool, (void)ops, (void)n, (void)done, (void)err;
	return LMD_OK;
}

static void pool_destroy(void *state, struct lmd_pool *pool)
{
	(void)state, (void)pool;
}

/* ---- plans ---- */

static bool is_floats(const struct lmd_plan *p, const struct lmd_operand *o)
{
	return o->src == LMD_SRC_VALUE && o->fold <= 1 &&
	       p->values[o->id].vtype != LMD_VTYPE_I32 && o->n_head == 1;
}

static bool supports_linear(const struct lmd_plan *p, const struct lmd_op_linear *l)
{
	if (!is_floats(p, &l->x) || l->act != LMD_ACT_FN_NONE || l->pro.kind != LMD_NORM_NONE ||
	    l->ids.src != LMD_SRC_NONE || l->softcap != 0 || l->clamp_lo != 0 ||
	    l->clamp_hi != 0 || p->key.flags & LMD_PLAN_LORA)
		return false;
	for (uint32_t i = 0; i < l->n_w; i++)
		if (!is_plain(&p->weight_refs[l->w[i]]) || !is_floats(p, &l->y[i]) ||
		    l->r_in[i].src != LMD_SRC_NONE || l->r_out[i].src != LMD_SRC_NONE)
			return false;
	return true;
}

static bool supports_copy(const struct lmd_plan *p, const struct lmd_op_cast_copy *c)
{
	return c->x.src == LMD_SRC_INPUT && is_floats(p, &c->y);
}

static void op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		       struct lmd_support *out)
{
	struct lmd_support s = {0};

	(void)state;
	s.native = (op->code == LMD_OP_LINEAR && plan->act_dtype == LMD_DTYPE_F32 &&
		    supports_linear(plan, &op->u.linear)) ||
		   (op->code == LMD_OP_CAST_COPY && supports_copy(plan, &op->u.cast_copy));
	if (!s.native)
		snprintf(s.reason, sizeof(s.reason), "partial has plain products of matrices only");
	LMD_PUT(out, &s);
}

static void plan_destroy(void *state, struct lmd_compiled_plan *p)
{
	const struct lmd_host *h = ((struct device *)state)->host;

	if (p)
		h->free(h->ctx, p->own_values);
	h->free(h->ctx, p);
}

static enum lmd_status plan_compile(void *state, const struct lmd_compile *c,
				    struct lmd_compiled_plan **out, struct lmd_error *err)
{
	const struct lmd_host *h = ((struct device *)state)->host;
	size_t bytes = c->plan->n_weight_ref * sizeof(struct lmd_weight *);
	struct lmd_compiled_plan *p = h->alloc(h->ctx, sizeof(*p) + bytes);

	for (uint32_t i = 0; p && i < c->plan->n_op; i++) {
		struct lmd_support s = {.struct_size = sizeof(s)};

		op_support(state, c->plan, &c->plan->ops[i], &s);
		if (!s.native) {
			plan_destroy(state, p);
			return lmd_fail(err, LMD_UNSUPPORTED, "op %u: %s", i, s.reason);
		}
	}
	if (p && c->scratch.bytes >= c->plan->scratch_bytes && c->scratch.ptr)
		p->values = c->scratch.ptr;
	else if (p)
		p->values = p->own_values = h->alloc(h->ctx, c->plan->scratch_bytes);
	if (!p || !p->values) {
		plan_destroy(state, p);
		return lmd_fail(err, LMD_NOMEM, "partial: no memory for a plan");
	}
	p->plan = c->plan;
	if (bytes)
		memcpy(p->weights, c->weights, bytes);
	*out = p;
	return LMD_OK;
}

/* ---- running ---- */

static float *row_of(const struct lmd_compiled_plan *p, const struct lmd_operand *o, uint32_t row)
{
	const struct lmd_value *v = &p->plan->values[o->id];

	return (float *)(void *)(p->values + v->offset + (size_t)row * v->row_bytes) + o->col0;
}

static uint32_t rows_of(uint32_t space, const struct lmd_step *s)
{
	return space == LMD_SPACE_TOKENS    ? s->head->n_tok
	       : space == LMD_SPACE_OUTPUTS ? s->head->n_out
					    : s->head->n_seq;
}

static const struct lmd_binding *find(const struct lmd_binding *b, uint32_t n, uint32_t id)
{
	for (uint32_t i = 0; i < n; i++)
		if (b[i].id == id)
			return &b[i];
	return NULL;
}

static void run_linear(const struct lmd_compiled_plan *p, const struct lmd_op_linear *l,
		       uint32_t n_row)
{
	for (uint32_t i = 0; i < l->n_w && n_row; i++) {
		const struct lmd_weight *w = p->weights[l->w[i]];
		const struct lmd_value *x = &p->plan->values[l->x.id];
		const struct lmd_value *y = &p->plan->values[l->y[i].id];

		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n_row, (int)w->n,
			    (int)w->k, l->scale, row_of(p, &l->x, 0), (int)(x->row_bytes / 4), w->v,
			    (int)w->k, 0, row_of(p, &l->y[i], 0), (int)(y->row_bytes / 4));
	}
}

static void run_copy(const struct lmd_compiled_plan *p, const struct lmd_op_cast_copy *c,
		     const struct lmd_binding *in, uint32_t n_row)
{
	size_t bytes = c->y.width * sizeof(float);

	for (uint32_t r = 0; r < n_row; r++)
		memcpy(row_of(p, &c->y, r),
		       (const float *)in->ptr + r * (in->row_bytes / sizeof(float)) + c->x.col0,
		       bytes);
}

static enum lmd_status plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
				const struct lmd_step *step, const struct lmd_binding *in,
				uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
				struct lmd_event *done)
{
	(void)state, (void)q, (void)done;
	for (uint32_t i = 0; i < p->plan->n_op; i++) {
		const struct lmd_op *op = &p->plan->ops[i];
		uint32_t n_row = rows_of(op->space, step);

		if (step->cancel && *step->cancel)
			return LMD_CANCELLED;
		if (op->code == LMD_OP_LINEAR)
			run_linear(p, &op->u.linear, n_row);
		else
			run_copy(p, &op->u.cast_copy, find(in, n_in, op->u.cast_copy.x.id), n_row);
	}
	for (uint32_t i = 0; i < p->plan->n_output; i++) {
		const struct lmd_binding *b = find(out, n_out, p->plan->outputs[i].id);
		const struct lmd_value *v = &p->plan->values[p->plan->outputs[i].value];
		struct lmd_operand all = {.src = LMD_SRC_VALUE, .id = p->plan->outputs[i].value};

		for (uint32_t r = 0; b && r < rows_of(v->space, step) && r < b->n_row; r++)
			memcpy((char *)b->ptr + r * b->row_bytes, row_of(p, &all, r),
			       v->width * sizeof(float));
	}
	return LMD_OK;
}

static const struct lmd_backend_ops ops = {
	.struct_size = sizeof(struct lmd_backend_ops),
	.enumerate = enumerate,
	.open = open_device,
	.close = close_device,
	.weight_query = weight_query,
	.weight_load = weight_load,
	.weight_destroy = weight_destroy,
	.pool_create = pool_create,
	.pool_op = pool_op,
	.pool_destroy = pool_destroy,
	.op_support = op_support,
	.plan_compile = plan_compile,
	.plan_run = plan_run,
	.plan_destroy = plan_destroy,
	.last_error = last_error,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_BACKEND,
	.name = "partial",
	.priority = -10, /* never chosen by accident */
	.state_bytes = sizeof(struct device),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("backend-partial", "1.0", "MIT", LMD_KIND_BIT(LMD_KIND_BACKEND), factories)

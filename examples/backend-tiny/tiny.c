/* SPDX-License-Identifier: MIT
 *
 * A backend in two pages: one device in host memory that supports EMBED and HEAD in float, just
 * enough for the example architecture "bigram".  op_support rejects everything else with a reason,
 * so the host never sends it.  plugins/backend/ref implements all ops. */
#include <llamad/backend.h>
#include <llamad/plugin.h>
#include <stdio.h>
#include <string.h>

struct device {
	const struct lmd_host *host;
	char error[96];
};

struct lmd_weight {
	uint32_t n, k;
	float v[];                     /* [n, k] */
};

struct lmd_compiled_plan {
	const struct lmd_plan *plan;   /* outlives this object */
	char *values;                  /* the plan's scratch memory */
	struct lmd_weight *weights[];  /* [n_weight_ref] */
};

static uint32_t tiny_enumerate(const struct lmd_host *host, struct lmd_device_info *out,
			       uint32_t cap, char *why, size_t n)
{
	static const struct lmd_device_info info = {
		.caps = LMD_DEV_HOST_MEMORY, .name = "tiny", .act_dtype = LMD_DTYPE_F32,
		.page_tokens = 32, .kv_dtype = LMD_DTYPE_F32};

	(void)host;
	(void)why;
	(void)n;
	if (cap)
		LMD_PUT(out, &info);
	return 1;
}

static enum lmd_status tiny_open(void *state, const struct lmd_host *host,
				 const struct lmd_open_params *p, struct lmd_error *err)
{
	struct device *d = state;

	if (p->index)
		return lmd_fail(err, LMD_NOTFOUND, "tiny: there is no device %u, only device 0",
				p->index);
	if (p->activations > LMD_ACTIVATIONS_F32)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"tiny: activations are not rounded; use f32");
	if (p->deterministic)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"tiny: deterministic = exact is not available");
	d->host = host;
	return LMD_OK;
}

static void tiny_close(void *state)
{
	(void)state;
}

/* ---- weights: decoded to float when they are loaded ---- */

static enum lmd_status tiny_weight_query(void *state, const struct lmd_weight_desc *d,
					 struct lmd_weight_plan *out, struct lmd_error *err)
{
	struct lmd_weight_plan plan = {.placement = LMD_PLACE_COPY};

	if (d->ref->transform != LMD_TRANSFORM_NONE || d->ref->n_stack != 1 || d->n_scale ||
	    d->n_bias)
		return lmd_fail(err, LMD_UNSUPPORTED, "tiny: weight %s is not a plain matrix",
				d->ref->name);
	(void)state;
	plan.bytes = (uint64_t)d->ref->n * d->ref->k * sizeof(float);
	LMD_PUT(out, &plan);
	return LMD_OK;
}

static void tiny_weight_destroy(void *state, struct lmd_weight *w)
{
	const struct device *d = state;

	d->host->free(d->host->ctx, w);
}

static enum lmd_status tiny_weight_load(void *state, const struct lmd_weight_desc *d,
					struct lmd_weight **out, struct lmd_error *err)
{
	const struct lmd_host *h = ((struct device *)state)->host;
	const uint32_t n = d->ref->n, k = d->ref->k;
	struct lmd_weight *w = h->alloc(h->ctx, sizeof(*w) + (size_t)n * k * sizeof(float));
	float *row;

	if (!w)
		return lmd_fail(err, LMD_NOMEM, "tiny: weight %s: out of memory", d->ref->name);
	w->n = n;
	w->k = k;
	row = w->v;
	for (uint32_t i = 0; i < d->n_piece; i++) {
		const struct lmd_weight_piece *p = &d->pieces[i];

		for (uint32_t r = 0; r < p->n_row; r++, row += k) {
			const char *src = (const char *)p->data + r * p->row_bytes;
			enum lmd_status st = h->dequant_rows(h->ctx, (enum lmd_dtype)d->dtype, src,
							     row, k);

			if (st != LMD_OK) {
				tiny_weight_destroy(state, w);
				return lmd_fail(err, st, "tiny: weight %s: cannot decode type %u",
						d->ref->name, d->dtype);
			}
		}
	}
	*out = w;
	return LMD_OK;
}

/* ---- pools: none of the supported ops has a cache ---- */

static enum lmd_status tiny_pool_create(void *state, const struct lmd_pool_desc *d,
					struct lmd_pool **out, struct lmd_error *err)
{
	(void)state;
	(void)out;
	return lmd_fail(err, LMD_UNSUPPORTED, "tiny: group %s: caches are not supported",
			d->desc->name);
}

static enum lmd_status tiny_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
				    const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done,
				    struct lmd_error *err)
{
	(void)state;
	(void)q;
	(void)done;
	(void)pool;
	(void)ops;
	(void)n;
	return lmd_fail(err, LMD_UNSUPPORTED, "tiny: caches are not supported");
}

static void tiny_pool_destroy(void *state, struct lmd_pool *pool)
{
	(void)state;
	(void)pool;
}

/* ---- plans ---- */

static void tiny_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
			    struct lmd_support *out)
{
	const struct lmd_op_embed *e = &op->u.embed;
	const struct lmd_op_head *h = &op->u.head;
	struct lmd_support s = {0};

	(void)state;
	s.native = (op->code == LMD_OP_EMBED && e->idx_kind == LMD_IDX_TOKEN && e->n_id == 1 &&
		       e->neg == LMD_NEG_ZERO && e->pos_table == LMD_NONE &&
		       e->type_table == LMD_NONE &&
		       plan->values[e->y.id].vtype != LMD_VTYPE_I32) ||
		      (op->code == LMD_OP_HEAD && h->norm.kind == LMD_NORM_NONE &&
		       h->softcap == 0 && h->bias == LMD_NONE && h->x.src == LMD_SRC_VALUE);
	if (!s.native)
		snprintf(s.reason, sizeof(s.reason),
			 "tiny supports only plain EMBED and HEAD");
	LMD_PUT(out, &s);
}

static void tiny_plan_destroy(void *state, struct lmd_compiled_plan *p)
{
	const struct lmd_host *h = ((struct device *)state)->host;

	if (p)
		h->free(h->ctx, p->values);
	h->free(h->ctx, p);
}

static enum lmd_status tiny_plan_compile(void *state, const struct lmd_compile *c,
					 struct lmd_compiled_plan **out, struct lmd_error *err)
{
	const struct lmd_host *h = ((struct device *)state)->host;
	size_t weights_bytes = c->plan->n_weight_ref * sizeof(struct lmd_weight *);
	struct lmd_compiled_plan *p = h->alloc(h->ctx, sizeof(*p) + weights_bytes);

	for (uint32_t i = 0; i < c->plan->n_op; i++) {
		struct lmd_support s = {.struct_size = sizeof(s)};

		tiny_op_support(state, c->plan, &c->plan->ops[i], &s);
		if (!s.native) {
			tiny_plan_destroy(state, p);
			return lmd_fail(err, LMD_UNSUPPORTED, "op %u: %s", i, s.reason);
		}
	}
	if (p)
		p->values = h->alloc(h->ctx, c->plan->scratch_bytes);
	if (!p || !p->values) {
		tiny_plan_destroy(state, p);
		return lmd_fail(err, LMD_NOMEM, "tiny: out of memory for a plan");
	}
	p->plan = c->plan;
	memcpy(p->weights, c->weights, weights_bytes);
	*out = p;
	return LMD_OK;
}

static float *row_of(const struct lmd_compiled_plan *p, const struct lmd_operand *o, uint32_t row)
{
	const struct lmd_value *v = &p->plan->values[o->id];

	return (float *)(void *)(p->values + v->offset + (size_t)row * v->row_bytes) + o->col0;
}

static void run_embed(const struct lmd_compiled_plan *p, const struct lmd_op_embed *e,
		      const struct lmd_step *step)
{
	const struct lmd_weight *w = p->weights[e->table];

	for (uint32_t t = 0; t < step->head->n_tok; t++)
		for (uint32_t i = 0; i < w->k; i++)
			row_of(p, &e->y, t)[i] =
				step->token[t] < 0
					? 0
					: e->scale * w->v[(size_t)step->token[t] * w->k + i];
}

static void run_head(const struct lmd_compiled_plan *p, const struct lmd_op_head *h,
		     const struct lmd_step *step)
{
	const struct lmd_weight *w = p->weights[h->w];

	for (uint32_t o = 0; o < step->head->n_out; o++) {
		const float *x = row_of(p, &h->x, (uint32_t)step->out_row[o]);

		for (uint32_t r = 0; r < w->n; r++) {
			float sum = 0;

			for (uint32_t i = 0; i < w->k; i++)
				sum += x[i] * w->v[(size_t)r * w->k + i];
			row_of(p, &h->y, o)[r] = h->scale * sum;
		}
	}
}

static enum lmd_status tiny_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
				     const struct lmd_step *step, const struct lmd_binding *in,
				     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
				     struct lmd_event *done)
{
	(void)state;
	(void)q;
	(void)in;
	(void)n_in;
	(void)done; /* no events: the plan has finished on return */
	for (uint32_t i = 0; i < p->plan->n_op; i++) {
		const struct lmd_op *op = &p->plan->ops[i];

		if (step->cancel && *step->cancel)
			return LMD_CANCELLED;
		if (op->code == LMD_OP_EMBED)
			run_embed(p, &op->u.embed, step);
		else
			run_head(p, &op->u.head, step);
	}
	for (uint32_t b = 0; b < n_out; b++)
		for (uint32_t i = 0; i < p->plan->n_output; i++) {
			const struct lmd_output *o = &p->plan->outputs[i];
			struct lmd_operand all = {.src = LMD_SRC_VALUE, .id = o->value};

			if (o->id != out[b].id)
				continue;
			for (uint32_t r = 0; r < step->head->n_out && r < out[b].n_row; r++)
				memcpy((char *)out[b].ptr + r * out[b].row_bytes,
				       row_of(p, &all, r),
				       p->plan->values[o->value].width * sizeof(float));
		}
	return LMD_OK;
}

static const char *tiny_last_error(void *state)
{
	return ((struct device *)state)->error;
}

static const struct lmd_backend_ops ops = {
	.struct_size = sizeof(struct lmd_backend_ops),
	.enumerate = tiny_enumerate,
	.open = tiny_open,
	.close = tiny_close,
	.weight_query = tiny_weight_query,
	.weight_load = tiny_weight_load,
	.weight_destroy = tiny_weight_destroy,
	.pool_create = tiny_pool_create,
	.pool_op = tiny_pool_op,
	.pool_destroy = tiny_pool_destroy,
	.op_support = tiny_op_support,
	.plan_compile = tiny_plan_compile,
	.plan_run = tiny_plan_run,
	.plan_destroy = tiny_plan_destroy,
	.last_error = tiny_last_error,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_BACKEND,
	.name = "tiny",
	.priority = -10, /* never chosen by accident */
	.state_bytes = sizeof(struct device),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("backend-tiny", "1.0", "MIT", LMD_KIND_BIT(LMD_KIND_BACKEND), factories)

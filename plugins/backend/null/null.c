/* SPDX-License-Identifier: MIT
 *
 * A backend that computes nothing: it accepts any weight, pool and plan, and completes every step
 * at once with results that depend only on the step block (README.md).  It implements everything
 * that a real backend must, so it is also the shortest complete example of one. */
#include "null.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/common/binding.h"

struct lmd_weight {
	uint32_t n; /* never read */
};

struct lmd_pool {
	uint32_t n_unit; /* number of pages or slots, which hold no data */
};

struct lmd_compiled_plan {
	const struct lmd_plan *plan;
	uint64_t n_run;
};

/* ---- device ---- */

static uint32_t enumerate(const struct lmd_host *host, struct lmd_device_info *out, uint32_t cap,
			  char *why, size_t n)
{
	static const struct lmd_device_info info = {
		.caps = LMD_DEV_HOST_MEMORY | LMD_DEV_IMPORT_HOST,
		.name = "null",
		.act_dtype = LMD_DTYPE_F32,
		.page_tokens = 32,
		.kv_dtype = LMD_DTYPE_F16,
	};

	(void)host;
	if (n)
		why[0] = '\0';
	if (cap)
		LMD_PUT(out, &info);
	return 1;
}

#define STEP_US_MAX 60000000u

/* Reads a number from the environment; 0 if it is not set. */
static enum lmd_status setting(const char *name, uint32_t max, uint32_t *out,
			       struct lmd_error *err)
{
	const char *text = getenv(name);
	char *end = NULL;
	unsigned long v = text ? strtoul(text, &end, 10) : 0;

	if (text && (end == text || *end || v > max))
		return lmd_fail(err, LMD_INVALID, "null: %s=%.40s: not a number of at most %u", name, text,
				max);
	*out = (uint32_t)v;
	return LMD_OK;
}

static enum lmd_status open_device(void *state, const struct lmd_host *host,
				   const struct lmd_open_params *p, struct lmd_error *err)
{
	struct null_dev *dev = state;
	uint32_t us = 0;
	enum lmd_status st;

	if (p->index)
		return lmd_fail(err, LMD_NOTFOUND, "null: device %u does not exist, only device 0", p->index);
	dev->host = host;
	dev->n_run = 0;
	/* for tests of long steps and of lost devices */
	st = setting("LLAMAD_NULL_STEP_US", STEP_US_MAX, &us, err);
	dev->step = (struct timespec){us / 1000000, (long)(us % 1000000) * 1000};
	return st == LMD_OK ? setting("LLAMAD_NULL_FAIL_STEP", UINT32_MAX, &dev->fail_run, err)
			    : st;
}

static void close_device(void *state)
{
	(void)state;
}

static const char *last_error(void *state)
{
	return ((struct null_dev *)state)->error.text;
}

/* ---- weights and pools ---- */

static enum lmd_status weight_query(void *state, const struct lmd_weight_desc *d,
				    struct lmd_weight_plan *out, struct lmd_error *err)
{
	static const struct lmd_weight_plan plan = {.placement = LMD_PLACE_IN_PLACE};

	(void)state;
	(void)d;
	(void)err;
	LMD_PUT(out, &plan);
	return LMD_OK;
}

static enum lmd_status weight_load(void *state, const struct lmd_weight_desc *d,
				   struct lmd_weight **out, struct lmd_error *err)
{
	const struct lmd_host *h = ((struct null_dev *)state)->host;
	struct lmd_weight *w = h->alloc(h->ctx, sizeof(*w));

	if (!w)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory", d->ref->name);
	w->n = d->ref->n;
	*out = w;
	return LMD_OK;
}

static void weight_destroy(void *state, struct lmd_weight *w)
{
	const struct lmd_host *h = ((struct null_dev *)state)->host;

	h->free(h->ctx, w);
}

static enum lmd_status pool_create(void *state, const struct lmd_pool_desc *d,
				   struct lmd_pool **out, struct lmd_error *err)
{
	const struct lmd_host *h = ((struct null_dev *)state)->host;
	struct lmd_pool *p = h->alloc(h->ctx, sizeof(*p));

	if (!p)
		return lmd_fail(err, LMD_NOMEM, "group %u: no memory for a pool", d->group);
	p->n_unit = d->desc->kind == LMD_GROUP_STATE ? d->n_slot : d->n_page;
	*out = p;
	return LMD_OK;
}

/* An export returns zeros, an import is ignored; ids are checked as in a real backend. */
static enum lmd_status pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			       const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done, struct lmd_error *err)
{
	(void)state;
	(void)q;
	(void)done;
	for (uint32_t i = 0; i < n; i++) {
		bool dst = ops[i].kind != LMD_POOL_EXPORT;
		bool src = ops[i].kind != LMD_POOL_IMPORT && ops[i].kind != LMD_POOL_ZERO_SLOT;

		if (ops[i].kind < LMD_POOL_COPY_PAGE || ops[i].kind > LMD_POOL_SET_TABLE)
			return lmd_fail(err, LMD_UNSUPPORTED, "pool: operation %u is unknown",
					ops[i].kind);
		if (ops[i].kind == LMD_POOL_SET_TABLE)
			continue; /* there is no page table */
		if ((src && ops[i].src >= pool->n_unit) || (dst && ops[i].dst >= pool->n_unit))
			return lmd_fail(err, LMD_INVALID, "pool: unit %u of %u",
					src && ops[i].src >= pool->n_unit ? ops[i].src : ops[i].dst,
					pool->n_unit);
		if (ops[i].kind == LMD_POOL_EXPORT && ops[i].host)
			memset(ops[i].host, 0, (size_t)ops[i].host_bytes);
	}
	return LMD_OK;
}

static void pool_destroy(void *state, struct lmd_pool *pool)
{
	const struct lmd_host *h = ((struct null_dev *)state)->host;

	h->free(h->ctx, pool);
}

static enum lmd_status adapter_bind(void *state, const struct lmd_adapter_bind *b,
				    struct lmd_error *err)
{
	(void)state;
	return b->slot ? LMD_OK : lmd_fail(err, LMD_INVALID, "adapter: slot 0 means no adapter");
}

/* ---- plans ---- */

static void op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		       struct lmd_support *out)
{
	struct lmd_support s = {0};

	(void)state;
	(void)plan;
	s.native = op->code != LMD_OP_SAMPLE;
	if (!s.native)
		(void)snprintf(s.reason, sizeof(s.reason),
			       "null computes no logits to sample from");
	LMD_PUT(out, &s);
}

static enum lmd_status plan_compile(void *state, const struct lmd_compile *c,
				    struct lmd_compiled_plan **out, struct lmd_error *err)
{
	const struct lmd_host *h = ((struct null_dev *)state)->host;
	struct lmd_compiled_plan *p;

	if (c->plan->key.kind == LMD_PLAN_TAIL)
		return lmd_fail(err, LMD_UNSUPPORTED, "null: does not support TAIL plans");
	p = h->alloc(h->ctx, sizeof(*p));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "null: no memory for a plan");
	p->plan = c->plan;
	*out = p;
	return LMD_OK;
}

static void plan_destroy(void *state, struct lmd_compiled_plan *p)
{
	const struct lmd_host *h = ((struct null_dev *)state)->host;

	h->free(h->ctx, p);
}

static uint32_t live_rows(const struct lmd_step *s, uint32_t space)
{
	if (space == LMD_SPACE_TOKENS)
		return s->head->n_tok;
	if (space == LMD_SPACE_OUTPUTS)
		return s->head->n_out;
	if (space == LMD_SPACE_SEQS)
		return s->head->n_seq;
	return s->x_off[space - LMD_SPACE_X0] && s->head->n_seq
		       ? (uint32_t)s->x_off[space - LMD_SPACE_X0][s->head->n_seq]
		       : 0;
}

/* Returns the row of TOKENS that a row of a result belongs to, or -1. */
static int64_t token_row(const struct lmd_step *s, uint32_t space, uint32_t row)
{
	if (space == LMD_SPACE_TOKENS)
		return row;
	if (space == LMD_SPACE_OUTPUTS)
		return s->out_row[row];
	return space == LMD_SPACE_SEQS && s->head->n_tok ? s->q_start[row] + s->q_len[row] - 1 : -1;
}

/* Writes the predefined row described in README.md. */
static void canned(const struct lmd_step *s, const struct lmd_value *v, uint32_t id, uint32_t row,
		   float *out)
{
	int64_t t = token_row(s, v->space, row);
	uint32_t token, pos;

	memset(out, 0, (size_t)v->width * sizeof(*out));
	if (t < 0 || (uint64_t)t >= s->head->n_tok || v->vtype == LMD_VTYPE_I32)
		return;
	pos = (uint32_t)s->pos[0][t];
	token = s->token[t] >= 0 ? (uint32_t)s->token[t] : pos;
	if (id == LMD_OUT_LOGITS) {
		out[(token + (uint64_t)pos) % v->width] = 1.0f;
		out[(token + 1ull) % v->width] = 2.0f;
		return;
	}
	for (uint32_t c = 0; c < v->width; c++)
		out[c] = (float)(token + 1ull) / (float)(pos + c + 1ull);
}

#define SLICE_NS 10000000l

static bool cancelled(const struct lmd_step *step)
{
	return step->cancel && __atomic_load_n(step->cancel, __ATOMIC_RELAXED);
}

/* Waits for the duration of a step, or until it is cancelled. */
static void take_time(const struct null_dev *dev, const struct lmd_step *step)
{
	struct timespec left = dev->step;

	while ((left.tv_sec || left.tv_nsec) && !cancelled(step)) {
		struct timespec slice = {.tv_nsec = SLICE_NS};

		if (!left.tv_sec && left.tv_nsec <= SLICE_NS)
			slice = left;
		(void)nanosleep(&slice, NULL);
		left.tv_nsec -= slice.tv_nsec;
		if (left.tv_nsec < 0) {
			left.tv_sec--;
			left.tv_nsec += 1000000000;
		}
	}
}

static enum lmd_status plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
				const struct lmd_step *step, const struct lmd_binding *in,
				uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
				struct lmd_event *done)
{
	struct null_dev *dev = state;

	(void)q;
	(void)in;
	(void)n_in;
	(void)done; /* this device has no events */
	if (cancelled(step))
		return lmd_fail(&dev->error, LMD_CANCELLED, "null: cancelled");
	dev->n_run++;
	if (dev->fail_run && dev->n_run >= dev->fail_run)
		return lmd_fail(&dev->error, LMD_DEVICE,
				"null: the device was lost at step %u, as set by "
				"LLAMAD_NULL_FAIL_STEP",
				dev->fail_run);
	for (uint32_t i = 0; i < p->plan->n_output; i++) {
		const struct lmd_value *v = &p->plan->values[p->plan->outputs[i].value];
		const struct lmd_binding *b = host_mem_binding(out, n_out, p->plan->outputs[i].id);
		uint32_t n = live_rows(step, v->space);

		if (b && (b->n_row < n || b->row_bytes < 4 * (uint64_t)v->width))
			return lmd_fail(&dev->error, LMD_INVALID,
					"null: output %u has space for %u rows, but %u are needed",
					b->id, b->n_row, n);
		for (uint32_t r = 0; b && r < n; r++)
			canned(step, v, b->id, r,
			       (float *)(void *)((char *)b->ptr + b->row_bytes * r));
	}
	p->n_run++;
	if (dev->n_run > 1) /* the first step is the trial of a model that is being loaded */
		take_time(dev, step);
	return cancelled(step) ? lmd_fail(&dev->error, LMD_CANCELLED, "null: cancelled") : LMD_OK;
}

const struct lmd_backend_ops null_backend_ops = {
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
	.adapter_bind = adapter_bind,
	.op_support = op_support,
	.plan_compile = plan_compile,
	.plan_run = plan_run,
	.plan_destroy = plan_destroy,
	.last_error = last_error,
};

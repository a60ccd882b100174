/* SPDX-License-Identifier: MIT
 *
 * Compilation: look everything up once, ask each op for its scratch, allocate it all. */
#include <stdio.h>
#include <string.h>

#include "ref.h"

enum lmd_status ref_add_site(struct ref_build *b, uint32_t site, uint32_t wref, bool turned,
			     struct lmd_error *err)
{
	const struct lmd_weight *w;
	struct lmi_lora_site x;

	if (site == LMD_NONE || wref == LMD_NONE)
		return LMD_OK;
	w = b->cplan->weights[wref];
	x = (struct lmi_lora_site){.site = site,
				   .n = turned ? w->k : w->n,
				   .k = turned ? w->n : w->k,
				   .n_stack = w->n_stack,
				   .name = w->name};
	return lmi_lora_sites_add(&b->cplan->sites, b->dev->host, &x, err);
}

enum lmd_status ref_need_cache(const struct ref_build *b, uint32_t cache, struct lmd_error *err)
{
	if (cache == LMD_NONE || b->cplan->caches[cache])
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID, "ref: cache %u is in none of the pools", cache);
}

/* WEIGHT operands become f32; inputs that are read without looking must be bound. */
static enum lmd_status operands(struct ref_build *b, const struct lmd_op *op,
				const struct hm_opinfo *info, struct lmd_error *err)
{
	for (uint32_t i = 0; i < info->n_in; i++) {
		const struct lmd_opnd *o = hm_operand(op, info->in[i]);

		if (o->src == LMD_SRC_WEIGHT) {
			enum lmd_status st = hm_flatten(&b->hm, o->id, err);

			if (st != LMD_OK)
				return st;
		}
		if (o->src == LMD_SRC_INPUT && !info->loose_inputs)
			b->cplan->need_input[o->id] = true;
	}
	return LMD_OK;
}

static enum lmd_status plan_op(struct ref_build *b, const struct lmd_op *op,
			       const struct ref_op *fn, struct lmd_error *err)
{
	if (fn->plain)
		return fn->plain->plan ? fn->plain->plan(&b->hm, op, err) : LMD_OK;
	return fn->plan ? fn->plan(b, op, err) : LMD_OK;
}

static enum lmd_status compile_op(struct ref_dev *dev, struct lmd_cplan *p, uint32_t i,
				  struct lmd_error *err)
{
	const struct lmd_op *op = &p->plan->ops[i];
	struct ref_build b = {
		.hm = {.host = dev->host, .plan = p->plan, .weights = p->weights, .n_phase = 1},
		.dev = dev,
		.cplan = p};
	const struct hm_opinfo *info = hm_opinfo(op->code);
	const struct ref_op *fn = ref_op_of(op->code);
	enum lmd_status st;

	if (!fn || !info)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"ref: op %u of the plan has code %u, which needs "
				"a device group or is unknown",
				i, op->code);
	st = operands(&b, op, info, err);
	if (st == LMD_OK)
		st = plan_op(&b, op, fn, err);
	if (st != LMD_OK)
		return st;
	if (b.hm.shared_bytes > SIZE_MAX / 4 || b.hm.part_bytes > SIZE_MAX / 4 / dev->n_part)
		return lmd_fail(err, LMD_NOMEM, "ref: op %u (%s) needs more scratch than there is",
				i, info->name);
	p->nodes[i] = (struct ref_node){.op = op, .info = info, .fn = fn, .n_phase = b.hm.n_phase};
	if (b.hm.shared_bytes > p->shared_bytes)
		p->shared_bytes = (size_t)b.hm.shared_bytes;
	if (b.hm.part_bytes > p->part_bytes)
		p->part_bytes = (size_t)b.hm.part_bytes;
	return LMD_OK;
}

/* Zeroed array or NULL; *failed remembers a failure. */
static void *array(struct ref_dev *dev, size_t n, size_t item, bool *failed)
{
	size_t bytes;
	void *p = NULL;

	if (!n || !item)
		return NULL;
	if (!__builtin_mul_overflow(n, item, &bytes))
		p = dev->host->alloc(dev->host->ctx, bytes);
	*failed = *failed || !p;
	return p;
}

static void find_caches(struct lmd_cplan *p)
{
	for (uint32_t g = 0; g < p->plan->n_group; g++) {
		const struct lmd_pool *pool = p->pools[g];

		for (uint32_t i = 0; pool && i < pool->n_cache; i++) {
			if (pool->caches[i].id < p->plan->n_cache)
				p->caches[pool->caches[i].id] = &pool->caches[i];
		}
	}
}

static enum lmd_status compile(struct ref_dev *dev, const struct lmd_compile *c,
			       struct lmd_cplan *p, struct lmd_error *err)
{
	const struct lmd_plan *plan = c->plan;
	bool failed = false;

	p->plan = plan;
	p->token_limit = UINT32_MAX;
	p->weights = array(dev, plan->n_wref, sizeof(*p->weights), &failed);
	p->pools = array(dev, plan->n_group, sizeof(*p->pools), &failed);
	p->caches = array(dev, plan->n_cache, sizeof(*p->caches), &failed);
	p->nodes = array(dev, plan->n_op, sizeof(*p->nodes), &failed);
	p->need_input = array(dev, plan->n_input, sizeof(*p->need_input), &failed);
	p->value = array(dev, plan->n_value, sizeof(*p->value), &failed);
	p->values = array(dev, (size_t)plan->scratch_bytes, 1, &failed);
	if (failed)
		return lmd_fail(err, LMD_NOMEM,
				"ref: no memory for a plan of %u ops and %llu bytes of "
				"values",
				plan->n_op, (unsigned long long)plan->scratch_bytes);
	if (plan->n_wref)
		memcpy(p->weights, c->weights, plan->n_wref * sizeof(*p->weights));
	if (plan->n_group)
		memcpy(p->pools, c->pools, plan->n_group * sizeof(*p->pools));
	for (uint32_t i = 0; i < plan->n_value; i++)
		p->value[i] = p->values + plan->values[i].offset;
	find_caches(p);
	for (uint32_t i = 0; i < plan->n_op; i++) {
		enum lmd_status st = compile_op(dev, p, i, err);

		if (st != LMD_OK)
			return st;
	}
	p->n_node = plan->n_op;
	p->shared = array(dev, p->shared_bytes, 1, &failed);
	p->part = array(dev, dev->n_part, p->part_bytes, &failed);
	if (failed)
		return lmd_fail(err, LMD_NOMEM,
				"ref: no memory for %zu + %u * %zu bytes of scratch",
				p->shared_bytes, dev->n_part, p->part_bytes);
	return ref_chain_reserve(dev, plan->max_rows[LMD_SPACE_SEQS], err);
}

enum lmd_status ref_plan_compile(void *state, const struct lmd_compile *c, struct lmd_cplan **out,
				 struct lmd_error *err)
{
	struct ref_dev *dev = state;
	struct lmd_cplan *p;
	enum lmd_status st;

	if (c->plan->act_dtype != LMD_DTYPE_F32)
		return lmd_fail(err, LMD_UNSUPPORTED, "ref: activations of type %u, only f32 (%u)",
				c->plan->act_dtype, LMD_DTYPE_F32);
	if (c->plan->n_group > LMD_MAX_GROUP)
		return lmd_fail(err, LMD_INVALID, "ref: %u groups, at most %d", c->plan->n_group,
				LMD_MAX_GROUP);
	p = dev->host->alloc(dev->host->ctx, sizeof(*p));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "ref: no memory for a plan");
	st = compile(dev, c, p, err);
	if (st != LMD_OK) {
		ref_plan_destroy(dev, p);
		return st;
	}
	*out = p;
	return LMD_OK;
}

void ref_plan_destroy(void *state, struct lmd_cplan *p)
{
	const struct lmd_host *h = ((struct ref_dev *)state)->host;

	if (!p)
		return;
	h->free(h->ctx, p->weights);
	h->free(h->ctx, p->pools);
	h->free(h->ctx, p->caches);
	h->free(h->ctx, p->nodes);
	lmi_lora_sites_fini(&p->sites, h);
	h->free(h->ctx, p->need_input);
	h->free(h->ctx, p->value);
	h->free(h->ctx, p->values);
	h->free(h->ctx, p->shared);
	h->free(h->ctx, p->part);
	h->free(h->ctx, p);
}

uint32_t ref_plan_stats(void *state, const struct lmd_cplan *p, struct lmd_opstat *out,
			uint32_t cap)
{
	(void)state;
	for (uint32_t i = 0; i < p->n_node && i < cap; i++) {
		out[i] = (struct lmd_opstat){
			.op = i,
			.n_run = p->nodes[i].n_run,
			.ns = p->nodes[i].ns,
		};
	}
	return p->n_node;
}

void ref_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out)
{
	(void)state;
	(void)plan;
	memset(out, 0, sizeof(*out));
	out->struct_size = sizeof(*out);
	out->native = ref_op_of(op->code) != NULL;
	if (out->native)
		return;
	(void)snprintf(out->reason, sizeof(out->reason), "%s",
		       op->code == LMD_OP_ALLREDUCE || op->code == LMD_OP_ALLGATHER
			       ? "ref has one device, so there are no groups"
			       : "unknown op");
}

/* SPDX-License-Identifier: MIT
 *
 * Those parts of compiling a plan that all backends in host memory share. */
#include "backend/common/compiled_plan.h"

#include <stdio.h>
#include <string.h>

void *host_mem_array(const struct lmd_host *host, size_t n, size_t item, bool *failed)
{
	size_t bytes;
	void *p = NULL;

	if (!n || !item)
		return NULL;
	if (!__builtin_mul_overflow(n, item, &bytes))
		p = host->alloc(host->ctx, bytes);
	*failed = *failed || !p;
	return p;
}

enum lmd_status host_mem_compiled_plan_check(const struct lmd_plan *plan, const char *who,
					     struct lmd_error *err)
{
	if (plan->act_dtype != LMD_DTYPE_F32)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: activation type %u is not supported, only f32 (%u)", who,
				plan->act_dtype, LMD_DTYPE_F32);
	if (plan->n_group > LMD_MAX_GROUP)
		return lmd_fail(err, LMD_INVALID,
				"%s: the plan has %u groups; at most %d are supported", who,
				plan->n_group, LMD_MAX_GROUP);
	return LMD_OK;
}

static void find_caches(struct host_mem_compiled_plan *p)
{
	for (uint32_t g = 0; g < p->plan->n_group; g++) {
		const struct lmd_pool *pool = p->pools[g];

		for (uint32_t i = 0; pool && i < pool->n_cache; i++) {
			if (pool->caches[i].id < p->plan->n_cache)
				p->caches[pool->caches[i].id] = &pool->caches[i];
		}
	}
}

enum lmd_status host_mem_compiled_plan_init(struct host_mem_compiled_plan *p,
					    const struct lmd_compile *c, struct lmd_error *err)
{
	const struct lmd_plan *plan = c->plan;
	bool failed = false;

	p->plan = plan;
	p->weights =
		host_mem_array(p->host, plan->n_weight_ref, sizeof(struct lmd_weight *), &failed);
	p->pools = host_mem_array(p->host, plan->n_group, sizeof(struct lmd_pool *), &failed);
	p->caches =
		host_mem_array(p->host, plan->n_cache, sizeof(struct host_mem_cache *), &failed);
	p->value = host_mem_array(p->host, plan->n_value, sizeof(char *), &failed);
	if (c->scratch.bytes >= plan->scratch_bytes && c->scratch.ptr)
		p->values = c->scratch.ptr;
	else
		p->values = p->own_values =
			host_mem_array(p->host, (size_t)plan->scratch_bytes, 1, &failed);
	if (failed)
		return lmd_fail(err, LMD_NOMEM,
				"%s: no memory for a plan of %u ops and %llu bytes of values",
				p->who, plan->n_op, (unsigned long long)plan->scratch_bytes);
	if (plan->n_weight_ref)
		memcpy(p->weights, c->weights, plan->n_weight_ref * sizeof(struct lmd_weight *));
	if (plan->n_group)
		memcpy(p->pools, c->pools, plan->n_group * sizeof(struct lmd_pool *));
	for (uint32_t i = 0; i < plan->n_value; i++)
		p->value[i] = p->values + plan->values[i].offset;
	find_caches(p);
	return LMD_OK;
}

enum lmd_status host_mem_compiled_plan_scratch(struct host_mem_compiled_plan *p,
					       struct lmd_error *err)
{
	bool failed = false;

	p->shared = host_mem_array(p->host, p->shared_bytes, 1, &failed);
	p->part = host_mem_array(p->host, p->n_part, p->part_bytes, &failed);
	if (failed)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for %zu + %u * %zu bytes of scratch",
				p->who, p->shared_bytes, p->n_part, p->part_bytes);
	return LMD_OK;
}

void host_mem_compiled_plan_fini(struct host_mem_compiled_plan *p)
{
	const struct lmd_host *h = p->host;

	lora_sites_fini(&p->sites, h);
	h->free(h->ctx, p->weights);
	h->free(h->ctx, p->pools);
	h->free(h->ctx, p->caches);
	h->free(h->ctx, p->value);
	h->free(h->ctx, p->own_values);
	h->free(h->ctx, p->shared);
	h->free(h->ctx, p->part);
}

static enum lmd_status flatten_operands(struct host_mem_build *b, const struct lmd_op *op,
					const struct host_mem_opinfo *info, struct lmd_error *err)
{
	for (uint32_t i = 0; i < info->n_in; i++) {
		const struct lmd_operand *o = host_mem_operand(op, info->in[i]);
		enum lmd_status st =
			o->src == LMD_SRC_WEIGHT ? host_mem_flatten(b, o->id, err) : LMD_OK;

		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

static enum lmd_status raise_scratch(struct host_mem_compiled_plan *p,
				     const struct host_mem_build *b, uint32_t i,
				     struct lmd_error *err)
{
	if (b->shared_bytes > SIZE_MAX / 4 || b->part_bytes > SIZE_MAX / 4 / p->n_part)
		return lmd_fail(err, LMD_NOMEM,
				"%s: op %u (%s) needs more scratch than can be addressed", p->who,
				i, host_mem_opinfo(p->plan->ops[i].code)->name);
	if (b->shared_bytes > p->shared_bytes)
		p->shared_bytes = (size_t)b->shared_bytes;
	if (b->part_bytes > p->part_bytes)
		p->part_bytes = (size_t)b->part_bytes;
	return LMD_OK;
}

struct host_mem_build host_mem_build_init(const struct host_mem_compiled_plan *p)
{
	return (struct host_mem_build){
		.host = p->host, .plan = p->plan, .weights = p->weights, .n_phase = 1};
}

enum lmd_status host_mem_plan_op(struct host_mem_compiled_plan *p, struct host_mem_build *b,
				 uint32_t i, const struct host_mem_op *plain, host_mem_plan_fn own,
				 struct lmd_error *err)
{
	const struct lmd_op *op = &p->plan->ops[i];
	host_mem_plan_fn plan = plain ? plain->plan : own;
	enum lmd_status st = flatten_operands(b, op, host_mem_opinfo(op->code), err);

	if (st == LMD_OK && plan)
		st = plan(b, op, err);
	return st == LMD_OK ? raise_scratch(p, b, i, err) : st;
}

enum lmd_status host_mem_missing_op(const struct host_mem_compiled_plan *p, uint32_t i,
				    struct lmd_error *err)
{
	return lmd_fail(err, LMD_UNSUPPORTED,
			"%s: op %u of the plan has code %u, which needs a device group or is unknown",
			p->who, i, p->plan->ops[i].code);
}

void host_mem_op_support(const char *who, const struct lmd_op *op, bool native, const char *reason,
			 struct lmd_support *out)
{
	struct lmd_support s = {.native = native};

	if (!native && (op->code == LMD_OP_ALLREDUCE || op->code == LMD_OP_ALLGATHER))
		(void)snprintf(s.reason, sizeof(s.reason),
			       "the %s backend has one device, so there are no groups", who);
	else if (!native)
		(void)snprintf(s.reason, sizeof(s.reason), "%s", reason ? reason : "unknown op");
	LMD_PUT(out, &s);
}

enum lmd_status host_mem_need_cache(const struct host_mem_compiled_plan *p, uint32_t cache,
				    struct lmd_error *err)
{
	const struct host_mem_cache *c;
	bool wants_state, is_state;

	if (cache == LMD_NONE)
		return LMD_OK;
	c = cache < p->plan->n_cache ? p->caches[cache] : NULL;
	if (!c)
		return lmd_fail(err, LMD_INVALID, "%s: cache %u has no pool", p->who, cache);
	wants_state = c->desc.kind == LMD_CACHE_CONV || c->desc.kind == LMD_CACHE_STATE;
	is_state = p->pools[p->plan->caches[cache].group]->shape.state;
	if (wants_state != is_state)
		return lmd_fail(err, LMD_INVALID,
				"%s: cache %u is in a pool of %s, which does not suit its kind",
				p->who, cache, is_state ? "slots" : "pages");
	return LMD_OK;
}

enum lmd_status host_mem_add_site(struct host_mem_compiled_plan *p, uint32_t site,
				  uint32_t weight_ref, bool transposed, struct lmd_error *err)
{
	const struct lmd_weight *w;
	struct lora_site x;

	if (weight_ref == LMD_NONE || !host_mem_lora_wanted(p->plan, site))
		return LMD_OK;
	w = p->weights[weight_ref];
	x = (struct lora_site){.site = site,
			       .n = transposed ? w->k : w->n,
			       .k = transposed ? w->n : w->k,
			       .n_stack = w->n_stack,
			       .name = w->name};
	return lora_sites_add(&p->sites, p->host, &x, err);
}

struct host_mem_run host_mem_run_init(const struct host_mem_compiled_plan *p,
				      const struct lmd_step *step, const struct lmd_binding *in,
				      uint32_t n_in)
{
	return (struct host_mem_run){
		.host = p->host,
		.plan = p->plan,
		.step = step,
		.weights = p->weights,
		.value = p->value,
		.in = in,
		.n_in = n_in,
		.shared = p->shared,
	};
}

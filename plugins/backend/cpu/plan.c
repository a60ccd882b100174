/* SPDX-License-Identifier: MIT
 *
 * Compilation: look everything up once, ask each op for its phases and its scratch, allocate it
 * all. */
#include <stdio.h>
#include <string.h>

#include "cpu.h"

enum lmd_status cpu_add_site(struct cpu_build *b, uint32_t site, uint32_t wref, bool turned,
			     struct lmd_error *err)
{
	const struct lmd_weight *w;
	struct lmi_lora_site x;

	if (site == LMD_NONE || wref == LMD_NONE || !(b->hm.plan->key.flags & LMD_PLAN_LORA))
		return LMD_OK;
	w = b->cplan->weights[wref];
	x = (struct lmi_lora_site){.site = site,
				   .n = turned ? w->k : w->n,
				   .k = turned ? w->n : w->k,
				   .n_stack = w->n_stack,
				   .name = w->name};
	return lmi_lora_sites_add(&b->cplan->sites, b->dev->host, &x, err);
}

enum lmd_status cpu_need_cache(const struct cpu_build *b, uint32_t cache, struct lmd_error *err)
{
	const struct hm_cache *c;
	uint32_t group;
	bool wants_state, is_state;

	if (cache == LMD_NONE)
		return LMD_OK;
	c = cache < b->hm.plan->n_cache ? b->cplan->caches[cache] : NULL;
	if (!c)
		return lmd_fail(err, LMD_INVALID, "cpu: cache %u has no pool", cache);
	group = b->hm.plan->caches[cache].group;
	wants_state = c->desc.kind == LMD_CACHE_CONV || c->desc.kind == LMD_CACHE_STATE;
	is_state = b->cplan->pools[group]->state;
	if (wants_state != is_state)
		return lmd_fail(err, LMD_INVALID, "cpu: cache %u lies in a pool of %s", cache,
				is_state ? "slots" : "pages");
	return LMD_OK;
}

/* Weights that ops read element by element are made flat. */
static enum lmd_status operands(struct cpu_build *b, const struct lmd_op *op,
				const struct hm_opinfo *info, struct lmd_error *err)
{
	for (uint32_t i = 0; i < info->n_in; i++) {
		const struct lmd_opnd *o = hm_operand(op, info->in[i]);
		enum lmd_status st =
			o->src == LMD_SRC_WEIGHT ? hm_flatten(&b->hm, o->id, err) : LMD_OK;

		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

static enum lmd_status plan_op(struct cpu_build *b, const struct lmd_op *op,
			       const struct cpu_op *fn, struct lmd_error *err)
{
	if (fn->plain)
		return fn->plain->plan ? fn->plain->plan(&b->hm, op, err) : LMD_OK;
	return fn->plan ? fn->plan(b, op, err) : LMD_OK;
}

static enum lmd_status add_phases(struct cpu_dev *dev, struct lmd_cplan *p, struct cpu_node *node,
				  struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;

	if (p->n_phase + node->n_phase > p->cap_phase) {
		uint32_t cap = p->cap_phase ? 2 * p->cap_phase : 256;
		struct cpu_phase *more = h->alloc(h->ctx, cap * sizeof(*more));

		if (!more)
			return lmd_fail(err, LMD_NOMEM, "cpu: no memory for %u phases", cap);
		if (p->n_phase)
			memcpy(more, p->phases, p->n_phase * sizeof(*more));
		h->free(h->ctx, p->phases);
		p->phases = more;
		p->cap_phase = cap;
	}
	for (uint32_t i = 0; i < node->n_phase; i++)
		p->phases[p->n_phase++] = (struct cpu_phase){.node = node, .phase = i};
	return LMD_OK;
}

static enum lmd_status compile_op(struct cpu_dev *dev, struct lmd_cplan *p, uint32_t i,
				  struct lmd_error *err)
{
	const struct lmd_op *op = &p->plan->ops[i];
	struct cpu_node *node = &p->nodes[i];
	struct cpu_build b = {
		.hm = {.host = dev->host, .plan = p->plan, .weights = p->weights, .n_phase = 1},
		.dev = dev,
		.cplan = p,
		.node = node};
	const struct hm_opinfo *info = hm_opinfo(op->code);
	const struct cpu_op *fn = cpu_op_of(op->code);
	enum lmd_status st;

	if (!fn || !info)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"cpu: op %u of the plan has code %u, which "
				"this backend does not run",
				i, op->code);
	*node = (struct cpu_node){.op = op, .info = info, .fn = fn};
	p->n_node = i + 1;
	st = operands(&b, op, info, err);
	if (st == LMD_OK)
		st = plan_op(&b, op, fn, err);
	if (st != LMD_OK)
		return st;
	if (b.hm.shared_bytes > SIZE_MAX / 4 || b.hm.part_bytes > SIZE_MAX / 4 / dev->n_part)
		return lmd_fail(err, LMD_NOMEM, "cpu: op %u (%s) needs more scratch than there is",
				i, info->name);
	node->n_phase = b.hm.n_phase;
	if (b.hm.shared_bytes > p->shared_bytes)
		p->shared_bytes = (size_t)b.hm.shared_bytes;
	if (b.hm.part_bytes > p->part_bytes)
		p->part_bytes = (size_t)b.hm.part_bytes;
	return add_phases(dev, p, node, err);
}

/* Zeroed array or NULL; *failed remembers a failure. */
static void *array(struct cpu_dev *dev, size_t n, size_t item, bool *failed)
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

/* Does HEAD write all of a value, and nobody else? */
static bool only_head_writes(const struct lmd_cplan *p, uint32_t value)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_node; i++) {
		const struct cpu_node *node = &p->nodes[i];

		for (uint32_t j = 0; j < node->info->n_out; j++) {
			const struct lmd_opnd *o = hm_operand(node->op, node->info->out[j]);

			if (o->src != LMD_SRC_VALUE || o->id != value)
				continue;
			if (node->op->code != LMD_OP_HEAD || o->fold > 1 ||
			    o->width != p->plan->values[value].width)
				return false;
			n++;
		}
	}
	return n == 1;
}

/* Logits are many: they need no copy. */
static void find_direct(struct lmd_cplan *p)
{
	for (uint32_t i = 0; i < p->plan->n_output; i++) {
		p->direct[i] = only_head_writes(p, p->plan->outputs[i].value);
		for (uint32_t j = 0; j < i; j++)
			p->direct[i] = p->direct[i] &&
				       p->plan->outputs[j].value != p->plan->outputs[i].value;
	}
}

/* What each part reads next: from the last phase to the first. */
static void find_ahead(const struct cpu_dev *dev, struct lmd_cplan *p)
{
	for (uint32_t i = p->n_phase; i-- > 1;) {
		const struct cpu_phase *ph = &p->phases[i];
		const void **here = p->ahead + (size_t)i * dev->n_part,
			   **before = here - dev->n_part;

		for (uint32_t part = 0; part < dev->n_part; part++) {
			const void *w = ph->node->fn->first
						? ph->node->fn->first(p, ph->node, ph->phase, part,
								      dev->n_part)
						: NULL;

			before[part] = w ? w : here[part];
		}
	}
}

static enum lmd_status compile(struct cpu_dev *dev, const struct lmd_compile *c,
			       struct lmd_cplan *p, struct lmd_error *err)
{
	const struct lmd_plan *plan = c->plan;
	bool failed = false;

	p->plan = plan;
	p->weights = array(dev, plan->n_wref, sizeof(*p->weights), &failed);
	p->pools = array(dev, plan->n_group, sizeof(struct lmd_pool *), &failed);
	p->caches = array(dev, plan->n_cache, sizeof(*p->caches), &failed);
	p->nodes = array(dev, plan->n_op, sizeof(*p->nodes), &failed);
	p->turns = array(dev, plan->n_rope ? plan->n_op : 0, sizeof(*p->turns), &failed);
	p->value = array(dev, plan->n_value, sizeof(*p->value), &failed);
	p->direct = array(dev, plan->n_output, sizeof(*p->direct), &failed);
	p->values = array(dev, (size_t)plan->scratch_bytes, 1, &failed);
	p->moved = array(dev, plan->n_value, sizeof(*p->moved), &failed);
	if (failed)
		return lmd_fail(err, LMD_NOMEM,
				"cpu: no memory for a plan of %u ops and %llu bytes of values",
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
	p->counters = array(dev, (size_t)p->n_phase * cpu_n_list(dev->n_part), sizeof(*p->counters),
			    &failed);
	p->ahead = array(dev, (size_t)p->n_phase * dev->n_part, sizeof(void *), &failed);
	p->shared = array(dev, p->shared_bytes, 1, &failed);
	p->part = array(dev, dev->n_part, p->part_bytes, &failed);
	p->moved_mem = array(dev, p->moved_bytes, 1, &failed);
	if (failed)
		return lmd_fail(err, LMD_NOMEM,
				"cpu: no memory for %zu + %zu + %u * %zu bytes of scratch",
				p->shared_bytes, p->moved_bytes, dev->n_part, p->part_bytes);
	for (uint32_t i = 0; i < plan->n_value; i++) {
		if (p->moved[i])
			p->value[i] = p->moved_mem;
	}
	find_ahead(dev, p);
	find_direct(p);
	cpu_large_pages(p->values, (size_t)plan->scratch_bytes);
	cpu_large_pages(p->shared, p->shared_bytes);
	return LMD_OK;
}

enum lmd_status cpu_plan_compile(void *state, const struct lmd_compile *c, struct lmd_cplan **out,
				 struct lmd_error *err)
{
	struct cpu_dev *dev = state;
	struct lmd_cplan *p;
	enum lmd_status st;

	if (c->plan->act_dtype != LMD_DTYPE_F32)
		return lmd_fail(err, LMD_UNSUPPORTED, "cpu: activations of type %u, only f32 (%u)",
				c->plan->act_dtype, LMD_DTYPE_F32);
	if (c->plan->n_group > LMD_MAX_GROUP)
		return lmd_fail(err, LMD_INVALID, "cpu: %u groups, at most %d", c->plan->n_group,
				LMD_MAX_GROUP);
	p = dev->host->alloc(dev->host->ctx, sizeof(*p));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "cpu: no memory for a plan");
	st = compile(dev, c, p, err);
	if (st != LMD_OK) {
		cpu_plan_destroy(dev, p);
		return st;
	}
	*out = p;
	return LMD_OK;
}

void cpu_plan_destroy(void *state, struct lmd_cplan *p)
{
	const struct lmd_host *h = ((struct cpu_dev *)state)->host;

	if (!p)
		return;
	for (uint32_t i = 0; i < p->n_node; i++) {
		if (p->nodes[i].data && p->nodes[i].fn->destroy)
			p->nodes[i].fn->destroy(h, p->nodes[i].data);
		h->free(h->ctx, p->nodes[i].data);
	}
	for (uint32_t i = 0; i < p->n_turns; i++)
		h->free(h->ctx, p->turns[i].t);
	h->free(h->ctx, p->turns);
	lmi_lora_sites_fini(&p->sites, h);
	h->free(h->ctx, p->weights);
	h->free(h->ctx, p->pools);
	h->free(h->ctx, p->caches);
	h->free(h->ctx, p->nodes);
	h->free(h->ctx, p->phases);
	h->free(h->ctx, p->counters);
	h->free(h->ctx, (void *)p->ahead);
	h->free(h->ctx, p->value);
	h->free(h->ctx, p->direct);
	h->free(h->ctx, p->values);
	h->free(h->ctx, p->moved);
	h->free(h->ctx, p->moved_mem);
	h->free(h->ctx, p->shared);
	h->free(h->ctx, p->part);
	h->free(h->ctx, p);
}

uint32_t cpu_plan_stats(void *state, const struct lmd_cplan *p, struct lmd_opstat *out,
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

void cpu_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out)
{
	(void)state;
	(void)plan;
	memset(out, 0, sizeof(*out));
	out->struct_size = sizeof(*out);
	out->native = cpu_op_of(op->code) != NULL;
	if (out->native)
		return;
	(void)snprintf(out->reason, sizeof(out->reason), "%s",
		       op->code == LMD_OP_ALLREDUCE || op->code == LMD_OP_ALLGATHER
			       ? "cpu has one device, so there are no groups"
		       : op->code == LMD_OP_SAMPLE ? "sampling is left to the host"
						   : "unknown op");
}

/* SPDX-License-Identifier: MIT
 *
 * Compilation: turns ops into launches and puts on the device what they share. */
#include "plan.h"

#include "backend/common/exact.h"

#include <stdio.h>
#include <string.h>

static const gpu_lower_fn lower[LMD_N_OP] = {
	[LMD_OP_EMBED] = gpu_lower_embed,     [LMD_OP_NORM] = gpu_lower_norm,
	[LMD_OP_LINEAR] = gpu_lower_linear,   [LMD_OP_ROPE_KV] = gpu_lower_rope_kv,
	[LMD_OP_ATTN] = gpu_lower_attn,       [LMD_OP_GLU] = gpu_lower_glu,
	[LMD_OP_FFN] = gpu_lower_ffn,         [LMD_OP_HEAD] = gpu_lower_head,
	[LMD_OP_EW] = gpu_lower_ew,           [LMD_OP_MOE_FFN] = gpu_lower_moe_ffn,
	[LMD_OP_BMM] = gpu_lower_bmm,         [LMD_OP_GATHER] = gpu_lower_gather,
	[LMD_OP_SOFTMAX] = gpu_lower_softmax, [LMD_OP_REDUCE] = gpu_lower_reduce,
	[LMD_OP_ROUTE] = gpu_lower_route,     [LMD_OP_MIX] = gpu_lower_mix,
	[LMD_OP_CONV] = gpu_lower_conv,       [LMD_OP_SCAN] = gpu_lower_scan,
	[LMD_OP_PATCH] = gpu_lower_patch,     [LMD_OP_INDEX] = gpu_lower_index,
	[LMD_OP_SAMPLE] = gpu_lower_sample,   [LMD_OP_CAST_COPY] = gpu_lower_cast_copy,
	[LMD_OP_ALLREDUCE] = gpu_lower_collective,
	[LMD_OP_ALLGATHER] = gpu_lower_collective,
};

static gpu_lower_fn lower_of(const struct lmd_op *op)
{
	return op->code < LMD_N_OP ? lower[op->code] : NULL;
}

void gpu_op_support(void *state, const struct lmd_plan *plan, const struct lmd_op *op,
		    struct lmd_support *out)
{
	const struct gpu_dev *dev = state;
	struct lmd_support s = {.native = lower_of(op) != NULL};

	(void)plan;
	if (dev->exact && op->code == LMD_OP_SAMPLE) {
		s.native = 0;
		(void)snprintf(s.reason, sizeof(s.reason),
			       "with deterministic = exact the host samples");
	} else if (!s.native)
		(void)snprintf(s.reason, sizeof(s.reason), "this operation has no kernel yet");
	LMD_PUT(out, &s);
}

static void lower_all(struct gpu_build *b)
{
	for (b->op = 0; b->status == LMD_OK && b->op < b->plan->n_op; b->op++) {
		gpu_lower_fn fn = lower_of(&b->plan->ops[b->op]);

		/* Attention may write rows for the op that follows, next to memory of its own. */
		if (!b->op || b->plan->ops[b->op - 1].code != LMD_OP_ATTN)
			b->temp_at = 0;
		b->groups = 0;
		if (fn)
			fn(b, &b->plan->ops[b->op]);
		else
			gpu_build_fail(b, "operation %u has no kernel", b->plan->ops[b->op].code);
	}
	if (b->n_exchange)
		gpu_build_peer_end(b);
}

/* Finds out how much memory the ops need between their launches. */
static enum lmd_status measure(struct lmd_compiled_plan *p, struct lmd_error *err)
{
	struct gpu_build b = {.p = p, .plan = p->plan, .measure = true, .err = err};

	p->temp_bytes = 0;
	lower_all(&b);
	return b.status;
}

enum lmd_status gpu_plan_query(void *state, const struct lmd_compile *c, struct lmd_plan_cost *out,
			       struct lmd_error *err)
{
	struct lmd_compiled_plan p = {.dev = state, .plan = c->plan};
	struct lmd_plan_cost cost = {.scratch_bytes = c->plan->scratch_bytes};
	enum lmd_status st;

	if (c->layout)
		p.layout = *c->layout;
	st = measure(&p, err);
	if (st != LMD_OK)
		return st;
	cost.bytes = p.layout.bytes + p.temp_bytes + sizeof(struct gpu_run) +
		     2 * (p.show_bytes + p.sum_bytes) +
		     gpu_tail_bytes(c->plan) + p.n_counter * sizeof(uint32_t);
	LMD_PUT(out, &cost);
	return LMD_OK;
}

/* ---- compiling ---- */

static gpu_ptr at(const struct lmd_compiled_plan *p, uint64_t offset)
{
	return offset ? p->block + offset : 0;
}

static void fill_group(const struct lmd_compiled_plan *p, uint32_t g, struct gpu_group *out)
{
	const struct lmd_step_group_layout *l = &p->layout.group[g];
	const struct lmd_group *d = &p->plan->groups[g];
	const struct lmd_pool *pool = p->pools[g];

	*out = (struct gpu_group){
		.kv_lo = at(p, l->kv_lo),
		.kv_hi = at(p, l->kv_hi),
		.slot = at(p, l->slot),
		.change = at(p, l->change),
		.state_in = at(p, l->state_in),
		.state_out = at(p, l->state_out),
		.ratio = d->ratio,
		.kind = d->kind,
		.k_space = d->k_space,
	};
	if (!pool)
		return;
	out->table = pool->table;
	out->n_index = pool->shape.n_index;
	out->page_tokens = pool->shape.page_tokens;
	out->n_seq = pool->shape.n_seq;
	out->n_page = pool->shape.n_unit;
}

static enum lmd_status upload_run(struct lmd_compiled_plan *p, struct lmd_error *err)
{
	const struct lmd_step_layout *l = &p->layout;
	struct gpu_run r = {
		.block = p->block,
		.token = at(p, l->token),
		.seq_of = at(p, l->seq_of),
		.q_start = at(p, l->q_start),
		.q_len = at(p, l->q_len),
		.seq_slot = at(p, l->seq_slot),
		.out_row = at(p, l->out_row),
		.tree = at(p, l->tree),
		.lora_slot = at(p, l->lora_slot),
		.chained = p->dev->chained,
		.n_group = p->plan->n_group,
	};

	for (int i = 0; i < 4; i++)
		r.pos[i] = at(p, l->pos[i]);
	for (int i = 0; i < LMD_MAX_X; i++) {
		r.x_off[i] = at(p, l->x_off[i]);
		r.x_h[i] = at(p, l->x_h[i]);
		r.x_w[i] = at(p, l->x_w[i]);
	}
	for (uint32_t g = 0; g < p->plan->n_group; g++)
		fill_group(p, g, &r.group[g]);
	return gpu_upload(p->dev, p->run, &r, sizeof(r), err);
}

static enum lmd_status upload_ropes(struct lmd_compiled_plan *p, struct lmd_error *err)
{
	const struct lmd_host *h = p->dev->host;
	enum lmd_status st = LMD_OK;

	if (!p->plan->n_rope)
		return LMD_OK;
	p->freq = h->alloc(h->ctx, p->plan->n_rope * sizeof(*p->freq));
	p->plane = h->alloc(h->ctx, p->plan->n_rope * sizeof(*p->plane));
	if (!p->freq || !p->plane)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for rope tables",
				p->dev->vendor->name);
	for (uint32_t i = 0; st == LMD_OK && i < p->plan->n_rope; i++) {
		const struct lmd_rope *r = &p->plan->ropes[i];
		uint64_t n = r->n_rot / 2;

		st = gpu_alloc(p->dev, n * sizeof(double), "a rope table", &p->freq[i], err);
		if (st == LMD_OK)
			st = gpu_alloc(p->dev, n, "a rope table", &p->plane[i], err);
		if (st == LMD_OK)
			st = gpu_upload(p->dev, p->freq[i], r->freq, n * sizeof(double), err);
		if (st == LMD_OK)
			st = gpu_upload(p->dev, p->plane[i], r->plane, n, err);
	}
	return st;
}

static enum lmd_status allocate(struct lmd_compiled_plan *p, const struct lmd_compile *c,
				struct lmd_error *err)
{
	enum lmd_status st = gpu_alloc(p->dev, p->layout.bytes, "a step block", &p->block, err);

	if (st == LMD_OK)
		st = gpu_alloc(p->dev, sizeof(struct gpu_run), "a plan", &p->run, err);
	if (st == LMD_OK)
		st = gpu_alloc(p->dev, p->temp_bytes, "a plan", &p->temp, err);
	if (st == LMD_OK)
		st = gpu_alloc(p->dev, gpu_tail_bytes(p->plan), "a plan", &p->tails, err);
	if (st == LMD_OK)
		st = gpu_alloc(p->dev, p->n_counter * sizeof(uint32_t), "a plan", &p->counters, err);
	if (st == LMD_OK)
		st = gpu_peer_alloc(p->dev, 2 * (p->show_bytes + p->sum_bytes), &p->shown, err);
	if (st == LMD_OK && p->counters)
		st = gpu_check(p->dev,
			       p->dev->drv->fill(p->counters, 0, p->n_counter * sizeof(uint32_t),
						 p->dev->stream),
			       "clearing counters", err);
	if (c->scratch.buffer && c->scratch.bytes >= p->plan->scratch_bytes) {
		p->values = c->scratch.buffer->at + c->scratch.offset;
	} else if (st == LMD_OK) {
		st = gpu_alloc(p->dev, p->plan->scratch_bytes, "the values of a plan",
			       &p->own_values, err);
		p->values = p->own_values;
	}
	return st;
}

static bool has_collectives(const struct lmd_plan *plan)
{
	uint32_t i = 0;

	while (i < plan->n_op && plan->ops[i].code != LMD_OP_ALLREDUCE &&
	       plan->ops[i].code != LMD_OP_ALLGATHER)
		i++;
	return i < plan->n_op;
}

static enum lmd_status join(struct lmd_compiled_plan *p, const struct lmd_compile *c,
			    struct lmd_error *err)
{
	if (!has_collectives(p->plan))
		return LMD_OK;
	p->devgroup = c->devgroup;
	p->peers = gpu_devgroup_peers(c->devgroup, p->dev, p->plan->key.rank, p->plan->key.n_rank, err);
	return p->peers ? LMD_OK : LMD_INVALID;
}

static enum lmd_status compile(struct lmd_compiled_plan *p, const struct lmd_compile *c,
			       struct lmd_error *err)
{
	const struct lmd_host *h = p->dev->host;
	struct gpu_build b = {.p = p, .plan = p->plan, .err = err};
	enum lmd_status st;

	p->layout = *c->layout;
	if (p->plan->n_group)
		memcpy(p->pools, c->pools, p->plan->n_group * sizeof(struct lmd_pool *));
	p->weights =
		h->alloc(h->ctx, (p->plan->n_weight_ref + (size_t)1) * sizeof(struct lmd_weight *));
	if (!p->weights)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for a plan", p->dev->vendor->name);
	if (p->plan->n_weight_ref)
		memcpy(p->weights, c->weights, p->plan->n_weight_ref * sizeof(struct lmd_weight *));
	st = join(p, c, err);
	if (st == LMD_OK)
		st = measure(p, err);
	if (st == LMD_OK)
		st = allocate(p, c, err);
	if (st == LMD_OK)
		st = upload_ropes(p, err);
	if (st == LMD_OK)
		st = upload_run(p, err);
	if (st != LMD_OK)
		return st;
	lower_all(&b);
	return b.status == LMD_OK ? gpu_graph_check(p, err) : b.status;
}

static bool has_exact(uint32_t dtype, uint32_t k)
{
	return k % 32 == 0 && gpu_weight_exact(dtype) != GPU_NO_KERNEL;
}

static enum lmd_status check(const struct gpu_dev *dev, const struct lmd_compile *c,
			     struct lmd_error *err)
{
	if (!c->layout)
		return lmd_fail(err, LMD_INVALID, "%s: the layout of the step block is missing",
				dev->vendor->name);
	if (c->plan->act_dtype != LMD_DTYPE_F32)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: activations of type %u; only f32 (%u)",
				dev->vendor->name, c->plan->act_dtype, LMD_DTYPE_F32);
	if (c->plan->n_group > GPU_MAX_GROUP || c->plan->n_input > GPU_MAX_INPUT)
		return lmd_fail(err, LMD_INVALID, "%s: %u groups and %u inputs, at most %d and %d",
				dev->vendor->name, c->plan->n_group, c->plan->n_input,
				GPU_MAX_GROUP, GPU_MAX_INPUT);
	if (dev->exact)
		return device_exact_check(c->plan, has_exact, dev->vendor->name, err);
	return LMD_OK;
}

enum lmd_status gpu_plan_compile(void *state, const struct lmd_compile *c,
				 struct lmd_compiled_plan **out, struct lmd_error *err)
{
	struct gpu_dev *dev = state;
	struct lmd_compiled_plan *p;
	enum lmd_status st = gpu_enter(dev, err);

	if (st == LMD_OK)
		st = check(dev, c, err);
	if (st != LMD_OK)
		return st;
	p = dev->host->alloc(dev->host->ctx, sizeof(*p));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for a plan", dev->vendor->name);
	p->dev = dev;
	p->plan = c->plan;
	st = compile(p, c, err);
	if (st != LMD_OK) {
		gpu_plan_destroy(dev, p);
		return st;
	}
	*out = p;
	return LMD_OK;
}

void gpu_plan_destroy(void *state, struct lmd_compiled_plan *p)
{
	struct gpu_dev *dev = state;
	const struct lmd_host *h = dev->host;

	if (!p)
		return;
	(void)gpu_enter(dev, NULL);
	gpu_graph_fini(p);
	for (uint32_t i = 0; i < p->plan->n_rope; i++) {
		if (p->freq)
			gpu_free(dev, p->freq[i]);
		if (p->plane)
			gpu_free(dev, p->plane[i]);
	}
	gpu_free(dev, p->block);
	gpu_free(dev, p->run);
	gpu_free(dev, p->temp);
	gpu_free(dev, p->tails);
	gpu_free(dev, p->counters);
	gpu_free(dev, p->shown);
	gpu_free(dev, p->own_values);
	h->free(h->ctx, p->freq);
	h->free(h->ctx, p->plane);
	h->free(h->ctx, p->weights);
	h->free(h->ctx, p->launches);
	h->free(h->ctx, p->args);
	h->free(h->ctx, p);
}

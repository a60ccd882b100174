/* SPDX-License-Identifier: MIT
 *
 * Compiling: measures the ops, takes memory, writes the arguments. */
#include "plan.h"

#include <string.h>

/* ---- what every plan begins and ends with ---- */

static void put_layout(struct vkb_build *b)
{
	const struct lmd_step_layout *l = &b->p->layout;
	const uint64_t head[] = {l->token,   l->pos[0],  l->pos[1],   l->pos[2],  l->pos[3], l->seq_of,
				 l->q_start, l->q_len, l->seq_slot, l->out_row, l->tree,   l->lora_slot};

	for (uint32_t i = 0; i < LMD_LEN(head); i++)
		vkb_u32(b, (uint32_t)head[i]);
	for (uint32_t i = 0; i < LMD_MAX_X; i++)
		vkb_u32(b, (uint32_t)l->x_off[i]);
	for (uint32_t i = 0; i < LMD_MAX_X; i++)
		vkb_u32(b, (uint32_t)l->x_h[i]);
	for (uint32_t i = 0; i < LMD_MAX_X; i++)
		vkb_u32(b, (uint32_t)l->x_w[i]);
	vkb_u32(b, 0);
	vkb_u32(b, 0);
	for (uint32_t g = 0; g < LMD_MAX_GROUP; g++) {
		const struct lmd_step_group_layout *x = &l->group[g];

		vkb_u32(b, (uint32_t)x->kv_lo);
		vkb_u32(b, (uint32_t)x->kv_hi);
		vkb_u32(b, (uint32_t)x->slot);
		vkb_u32(b, (uint32_t)x->change);
		vkb_u32(b, (uint32_t)x->state_in);
		vkb_u32(b, (uint32_t)x->state_out);
		vkb_u32(b, 0);
		vkb_u32(b, 0);
	}
}

static void put_pages(struct vkb_build *b)
{
	for (uint32_t g = 0; g < b->plan->n_group; g++) {
		const struct vkb_pool *pool = b->p->pools[g];
		uint32_t at = vkb_args(b);

		if (!pool || pool->shape.state || !b->p->layout.group[g].change)
			continue;
		vkb_u32(b, g);
		vkb_address(b, pool->table.address);
		vkb_u32(b, pool->shape.n_index);
		(void)vkb_dispatch(b, VKB_pages, 0, 0, at, vkb_fixed(1), vkb_fixed(1));
	}
}

static void put_outputs(struct vkb_build *b)
{
	for (uint32_t i = 0; i < b->plan->n_output; i++) {
		const struct lmd_value *v = &b->plan->values[b->plan->outputs[i].value];
		const struct lmd_operand o = {.src = LMD_SRC_VALUE,
					      .id = b->plan->outputs[i].value,
					      .n_head = 1,
					      .width = v->width};
		uint32_t at = vkb_args(b);

		vkb_view(b, &o);
		vkb_binding_view(b, b->plan->n_input + i, v->width, v->vtype == LMD_VTYPE_I32);
		vkb_dispatch(b, VKB_copy, 0, 0, at, vkb_fixed((v->width + 63) / 64),
			     vkb_rows(v->space, 1, 1))
			->beside = i > 0;
	}
}

static enum lmd_status build(struct vkb_plan *p, bool real, struct lmd_error *err)
{
	struct vkb_build b = {.dev = p->dev, .p = p, .plan = p->plan, .real = real, .err = err};

	p->n_args = p->n_dispatch = p->n_groups = p->n_place = p->n_exchange = 0;
	b.op = LMD_NONE;
	put_layout(&b);
	put_pages(&b);
	for (uint32_t i = 0; i < p->plan->n_op && b.status == LMD_OK; i++) {
		const struct lmd_op *op = &p->plan->ops[i];
		const char *reason = vkb_op_reason(p->plan, op);

		if (reason)
			return lmd_fail(err, LMD_UNSUPPORTED, "vulkan: op %u: %s", i, reason);
		b.op = i;
		b.temp = 0;
		vkb_op_of(op->code)(&b, op);
	}
	b.op = p->plan->n_op;
	put_outputs(&b);
	return b.status;
}

/* ---- memory ---- */

static void *array(struct vkb_plan *p, size_t n, size_t item, struct lmd_error *err,
		   enum lmd_status *st)
{
	void *a = p->dev->host->alloc(p->dev->host->ctx, (n ? n : 1) * item);

	if (!a && *st == LMD_OK)
		*st = lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a plan");
	return a;
}

static enum lmd_status objects(struct vkb_plan *p, const struct lmd_compile *c,
			       struct lmd_error *err)
{
	const struct lmd_plan *plan = c->plan;
	enum lmd_status st = LMD_OK;

	p->weights = array(p, plan->n_weight_ref, sizeof(struct vkb_weight *), err, &st);
	p->pools = array(p, plan->n_group, sizeof(struct vkb_pool *), err, &st);
	p->caches = array(p, plan->n_cache, sizeof(struct vkb_cache *), err, &st);
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < plan->n_weight_ref; i++)
		p->weights[i] = vkb_weight(c->weights[i]);
	for (uint32_t g = 0; g < plan->n_group; g++) {
		p->pools[g] = vkb_pool(c->pools[g]);
		for (uint32_t i = 0; p->pools[g] && i < p->pools[g]->n_cache; i++) {
			struct vkb_cache *x = &p->pools[g]->caches[i];

			if (x->id < plan->n_cache)
				p->caches[x->id] = x;
		}
	}
	return LMD_OK;
}

static enum lmd_status join_group(struct vkb_plan *p, struct lmd_devgroup *g, struct lmd_error *err)
{
	const struct lmd_plan_key *key = &p->plan->key;
	enum lmd_status st = vkb_group_check(g, p->dev, key->rank, key->n_rank, err);

	if (st == LMD_OK)
		st = vkb_group_reserve(g, p->exchange_bytes, err);
	if (st == LMD_OK)
		p->group = g;
	return st;
}

static enum lmd_status memory(struct vkb_plan *p, const struct lmd_compile *c, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	p->indirect = VKB_ENV_INPUT + 4 * (p->plan->n_input + p->plan->n_output);
	p->n_env = p->indirect + 3 * p->n_groups;
	if (p->indirect > VKB_MOST_ENV)
		return lmd_fail(err, LMD_UNSUPPORTED, "vulkan: %u inputs and outputs are too many",
				p->plan->n_input + p->plan->n_output);
	p->args = array(p, p->n_args, 4, err, &st);
	p->env = array(p, p->n_env, 4, err, &st);
	p->dispatches = array(p, p->n_dispatch, sizeof(*p->dispatches), err, &st);
	p->places = array(p, p->n_place, sizeof(*p->places), err, &st);
	p->exchanges = array(p, p->n_exchange, sizeof(*p->exchanges), err, &st);
	if (st == LMD_OK && p->n_exchange)
		st = join_group(p, c->devgroup, err);
	if (st == LMD_OK)
		st = vkb_alloc(p->dev, VKB_DEVICE, 4ull * (p->n_args + VKB_MOST_ARGS), &p->args_mem,
			       err);
	if (st == LMD_OK)
		st = vkb_alloc(p->dev, VKB_DEVICE, 4ull * (p->n_env + VKB_MOST_ENV), &p->env_mem, err);
	if (st == LMD_OK)
		st = vkb_alloc(p->dev, VKB_DEVICE, p->layout.bytes, &p->block_mem, err);
	if (st == LMD_OK)
		st = vkb_alloc(p->dev, VKB_DEVICE, p->temp_bytes, &p->temp_mem, err);
	if (st != LMD_OK)
		return st;
	if (c->scratch.buffer && c->scratch.bytes >= p->plan->scratch_bytes) {
		p->values = vkb_buffer_mem(c->scratch.buffer)->address + c->scratch.offset;
		p->values_buffer = vkb_buffer_mem(c->scratch.buffer)->buffer;
		p->values_offset = vkb_buffer_mem(c->scratch.buffer)->offset + c->scratch.offset;
		return LMD_OK;
	}
	st = vkb_alloc(p->dev, VKB_DEVICE, p->plan->scratch_bytes, &p->own_values, err);
	p->values = p->own_values.address;
	p->values_buffer = p->own_values.buffer;
	p->values_offset = p->own_values.offset;
	return st;
}

static enum lmd_status upload_args(struct vkb_plan *p, struct lmd_error *err)
{
	struct vkb_batch b;
	enum lmd_status st = vkb_begin(p->dev, NULL, &b, err);

	if (st != LMD_OK)
		return st;
	st = vkb_upload(&b, &p->args_mem, 0, p->args, 4ull * p->n_args, err);
	if (st != LMD_OK) {
		vkb_abandon(&b);
		return st;
	}
	return vkb_submit(&b, NULL, NULL, err);
}

static void destroy(struct vkb_plan *p)
{
	struct vkb_dev *dev = p->dev;
	const struct lmd_host *h = dev->host;

	vkb_record_close(p);
	vkb_free(dev, &p->args_mem);
	vkb_free(dev, &p->env_mem);
	vkb_free(dev, &p->block_mem);
	vkb_free(dev, &p->temp_mem);
	vkb_free(dev, &p->own_values);
	h->free(h->ctx, p->weights);
	h->free(h->ctx, p->pools);
	h->free(h->ctx, p->caches);
	h->free(h->ctx, p->args);
	h->free(h->ctx, p->env);
	h->free(h->ctx, p->dispatches);
	h->free(h->ctx, p->places);
	h->free(h->ctx, p->exchanges);
	h->free(h->ctx, p);
}

void vkb_plan_destroy(void *state, struct lmd_compiled_plan *plan)
{
	(void)state;
	if (plan)
		destroy((struct vkb_plan *)(void *)plan);
}

enum lmd_status vkb_plan_query(void *state, const struct lmd_compile *c, struct lmd_plan_cost *out,
			       struct lmd_error *err)
{
	const struct lmd_plan_cost cost = {.scratch_bytes = c->plan->scratch_bytes,
					   .bytes = c->layout ? c->layout->bytes : 0};

	(void)state;
	(void)err;
	LMD_PUT(out, &cost);
	return LMD_OK;
}

enum lmd_status vkb_plan_compile(void *state, const struct lmd_compile *c,
				 struct lmd_compiled_plan **out, struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	struct vkb_plan *p;
	enum lmd_status st = vkb_alive(dev, err);

	if (st == LMD_OK && !c->layout)
		st = lmd_fail(err, LMD_INVALID, "vulkan: the layout of the step block is missing");
	if (st != LMD_OK)
		return st;
	p = dev->host->alloc(dev->host->ctx, sizeof(*p));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "vulkan: no memory for a plan");
	p->dev = dev;
	p->plan = c->plan;
	p->layout = *c->layout;
	st = objects(p, c, err);
	if (st == LMD_OK)
		st = build(p, false, err);
	if (st == LMD_OK)
		st = memory(p, c, err);
	if (st == LMD_OK)
		st = build(p, true, err);
	if (st == LMD_OK)
		st = upload_args(p, err);
	if (st == LMD_OK)
		st = vkb_record_open(p, err);
	if (st != LMD_OK) {
		destroy(p);
		return st;
	}
	*out = (struct lmd_compiled_plan *)(void *)p;
	return LMD_OK;
}

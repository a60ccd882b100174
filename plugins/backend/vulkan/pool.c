/* SPDX-License-Identifier: MIT
 *
 * The memory of sequences: pages and state slots. */
#include "pool.h"

#include <string.h>

#include "backend/common/device_types.h"

bool vkb_has_cache_type(uint32_t dtype)
{
	return dtype == LMD_DTYPE_F32 || dtype == LMD_DTYPE_F16 || dtype == LMD_DTYPE_BF16 ||
	       dtype == LMD_DTYPE_Q8_0 || dtype == LMD_DTYPE_F8_E4M3 ||
	       dtype == LMD_DTYPE_Q4_0_ROT || DEVICE_CACHE_IS_BLOCKS(dtype);
}

static enum lmd_status shape_side(const struct vkb_dev *dev, uint32_t cache, uint32_t dtype,
				  uint32_t n_head, uint32_t cols, struct vkb_side *s,
				  struct lmd_error *err)
{
	const struct lmd_host *h = dev->host;
	uint32_t elems, bytes;

	if (!vkb_has_cache_type(dtype) || !h->dtype_info(h->ctx, dtype, &elems, &bytes))
		return lmd_fail(err, LMD_UNSUPPORTED, "vulkan: cache %u: type %u is not supported",
				cache, dtype);
	if (cols % elems)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"cache %u: rows of %u values are not a multiple of the block size %u",
				cache, cols, elems);
	s->dtype = dtype;
	s->n_head = n_head;
	s->head = cols / elems * bytes;
	s->room = (s->head + 3) / 4 * 4;
	return LMD_OK;
}

static enum lmd_status shape(const struct vkb_dev *dev, const struct lmd_pool_desc *d, uint32_t i,
			     struct vkb_cache *c, struct lmd_error *err)
{
	const struct lmd_cache *x = &d->caches[i];
	enum lmd_status st;

	*c = (struct vkb_cache){.desc = *x, .id = d->cache_ids[i], .n_row = d->page_tokens};
	if (x->kind == LMD_CACHE_CONV || x->kind == LMD_CACHE_STATE) {
		bool conv = x->kind == LMD_CACHE_CONV;

		c->n_row = conv ? x->dk : x->n_head;
		return shape_side(dev, c->id, x->k_dtype, 1, conv ? x->n_head * x->dv : x->dk * x->dv,
				  &c->side[0], err);
	}
	st = shape_side(dev, c->id, x->k_dtype, x->n_head, x->dk, &c->side[0], err);
	if (st == LMD_OK && x->kind == LMD_CACHE_KV)
		st = shape_side(dev, c->id, x->v_dtype, x->n_head, x->dv, &c->side[1], err);
	return st;
}

static uint64_t side_bytes(const struct vkb_side *s, const struct vkb_cache *c, uint32_t n_unit)
{
	return (uint64_t)s->n_head * s->room * c->n_row * n_unit;
}

enum lmd_status vkb_pool_query(void *state, const struct lmd_pool_desc *d,
			       struct lmd_pool_cost *out, struct lmd_error *err)
{
	bool is_state = d->desc->kind == LMD_GROUP_STATE;
	struct lmd_pool_cost cost = {
		.bytes = is_state ? 0 : (uint64_t)d->n_seq * d->n_index * 4};
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < d->n_cache && st == LMD_OK; i++) {
		struct vkb_cache c;

		st = shape(state, d, i, &c, err);
		for (int j = 0; j < 2 && st == LMD_OK; j++)
			cost.bytes += side_bytes(&c.side[j], &c, is_state ? d->n_slot : d->n_page);
	}
	if (st == LMD_OK)
		LMD_PUT(out, &cost);
	return st;
}

static void destroy(struct vkb_dev *dev, struct vkb_pool *p)
{
	for (uint32_t i = 0; i < p->n_cache; i++) {
		vkb_free(dev, &p->caches[i].side[0].mem);
		vkb_free(dev, &p->caches[i].side[1].mem);
	}
	vkb_free(dev, &p->table);
	dev->host->free(dev->host->ctx, p);
}

void vkb_pool_destroy(void *state, struct lmd_pool *pool)
{
	if (pool)
		destroy(state, vkb_pool(pool));
}

static enum lmd_status fill_pool(struct vkb_dev *dev, const struct lmd_pool_desc *d,
				 struct vkb_pool *p, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct vkb_batch b;

	for (uint32_t i = 0; i < d->n_cache && st == LMD_OK; i++) {
		struct vkb_cache *c = &p->caches[p->n_cache++];

		st = shape(dev, d, i, c, err);
		for (int j = 0; j < 2 && st == LMD_OK; j++) {
			host_mem_pool_shape_add(&p->shape,
						(uint64_t)c->side[j].n_head * c->side[j].head,
						c->n_row);
			if (c->side[j].n_head)
				st = vkb_alloc(dev, VKB_DEVICE,
					       side_bytes(&c->side[j], c, p->shape.n_unit) + 4,
					       &c->side[j].mem, err);
		}
	}
	if (st != LMD_OK || p->shape.state)
		return st;
	st = vkb_alloc(dev, VKB_DEVICE, (uint64_t)p->shape.n_seq * p->shape.n_index * 4, &p->table, err);
	if (st == LMD_OK)
		st = vkb_begin(dev, NULL, &b, err);
	if (st != LMD_OK)
		return st;
	/* An entry that was never set names page 0, so that nothing outside is ever read. */
	dev->fn.CmdFillBuffer(b.cmd, p->table.buffer, p->table.offset, p->table.bytes, 0);
	return vkb_submit(&b, NULL, NULL, err);
}

enum lmd_status vkb_pool_create(void *state, const struct lmd_pool_desc *d, struct lmd_pool **out,
				struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	struct vkb_pool *p;
	enum lmd_status st = vkb_alive(dev, err);

	if (st != LMD_OK)
		return st;
	if (d->n_seq > VKB_MAX_SEQ)
		return lmd_fail(err, LMD_UNSUPPORTED, "vulkan: %u sequences, at most %u", d->n_seq,
				VKB_MAX_SEQ);
	p = dev->host->alloc(dev->host->ctx, sizeof(*p) + d->n_cache * sizeof(p->caches[0]));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "vulkan: group %u: no memory for a pool", d->group);
	p->group = d->group;
	st = host_mem_pool_shape_init(&p->shape, d, err);
	if (st == LMD_OK)
		st = fill_pool(dev, d, p, err);
	if (st != LMD_OK) {
		destroy(dev, p);
		return st;
	}
	*out = (struct lmd_pool *)(void *)p;
	return LMD_OK;
}

/* ---- operations ---- */

/* Copies all caches of a unit; zeroes it if src is LMD_NONE. */
static void copy_unit(struct vkb_batch *b, const struct vkb_pool *p, uint32_t src, uint32_t dst)
{
	for (uint32_t i = 0; i < 2 * p->n_cache; i++) {
		const struct vkb_cache *c = &p->caches[i / 2];
		const struct vkb_side *s = &c->side[i % 2];
		uint64_t bytes = side_bytes(s, c, 1);
		VkBufferCopy region = {.srcOffset = s->mem.offset + bytes * src,
				       .dstOffset = s->mem.offset + bytes * dst,
				       .size = bytes};

		if (!bytes)
			continue;
		if (src == LMD_NONE)
			b->dev->fn.CmdFillBuffer(b->cmd, s->mem.buffer, region.dstOffset, bytes, 0);
		else
			b->dev->fn.CmdCopyBuffer(b->cmd, s->mem.buffer, s->mem.buffer, 1, &region);
	}
}

/* Copies rows between a unit and canonical rows in `staged`, which begin at *at. */
static void move_rows(struct vkb_batch *b, const struct vkb_side *s, uint64_t row0, uint32_t n,
		      bool out, const struct vkb_mem *staged, uint64_t *at)
{
	uint64_t pieces = s->head == s->room ? 1 : (uint64_t)n * s->n_head;
	uint64_t bytes = s->head == s->room ? (uint64_t)n * s->n_head * s->head : s->head;
	uint64_t here = s->mem.offset + row0 * s->n_head * s->room;

	for (uint64_t i = 0; i < pieces && bytes; i++) {
		VkBufferCopy r = {.srcOffset = here + i * s->room,
				  .dstOffset = staged->offset + *at,
				  .size = bytes};

		if (out)
			b->dev->fn.CmdCopyBuffer(b->cmd, s->mem.buffer, staged->buffer, 1, &r);
		else
			b->dev->fn.CmdCopyBuffer(b->cmd, staged->buffer, s->mem.buffer, 1,
						 &(VkBufferCopy){.srcOffset = r.dstOffset,
								 .dstOffset = r.srcOffset,
								 .size = bytes});
		*at += bytes;
	}
}

static enum lmd_status transfer(struct vkb_batch *b, const struct vkb_pool *p,
				const struct lmd_pool_op *op, struct lmd_error *err)
{
	bool out = op->kind == LMD_POOL_EXPORT;
	uint32_t unit = out ? op->src : op->dst, row0 = p->shape.state ? 0 : op->row0;
	struct vkb_mem staged;
	uint64_t need, at = 0;
	enum lmd_status st;

	need = p->shape.state ? p->shape.slot_bytes : op->n_row * p->shape.row_bytes;
	if (!need)
		return LMD_OK;
	st = vkb_stage(b, need, out ? op->host : NULL, &staged, err);
	if (st != LMD_OK)
		return st;
	if (!out)
		memcpy(staged.host, op->host, (size_t)need);
	for (uint32_t i = 0; i < 2 * p->n_cache; i++) {
		const struct vkb_cache *c = &p->caches[i / 2];

		move_rows(b, &c->side[i % 2], (uint64_t)unit * c->n_row + row0,
			  p->shape.state ? c->n_row : op->n_row, out, &staged, &at);
	}
	return LMD_OK;
}

/* Records an operation that has been checked. */
static enum lmd_status record(struct vkb_batch *b, const struct vkb_pool *p,
			      const struct lmd_pool_op *op, struct lmd_error *err)
{
	switch (op->kind) {
	case LMD_POOL_SET_TABLE:
		return vkb_upload(b, &p->table, 4 * ((uint64_t)op->src * p->shape.n_index + op->dst),
				  op->host, 4ull * op->n_row, err);
	case LMD_POOL_COPY_PAGE:
	case LMD_POOL_COPY_SLOT:
		if (op->src != op->dst)
			copy_unit(b, p, op->src, op->dst);
		return LMD_OK;
	case LMD_POOL_ZERO_SLOT:
		copy_unit(b, p, LMD_NONE, op->dst);
		return LMD_OK;
	default:
		return transfer(b, p, op, err);
	}
}

enum lmd_status vkb_pool_op(void *state, struct lmd_queue *q, struct lmd_pool *pool,
			    const struct lmd_pool_op *ops, uint32_t n, struct lmd_event *done,
			    struct lmd_error *err)
{
	struct vkb_dev *dev = state;
	struct vkb_batch b;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < n && st == LMD_OK; i++) {
		if (ops[i].kind == LMD_POOL_IMPORT || ops[i].kind == LMD_POOL_SET_TABLE)
			st = vkb_settle(dev, err);
	}
	if (st == LMD_OK)
		st = vkb_begin(dev, (struct vkb_queue *)(void *)q, &b, err);
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < n && st == LMD_OK; i++) {
		if (i)
			vkb_barrier(dev, b.cmd);
		st = host_mem_pool_check(&vkb_pool(pool)->shape, &ops[i], err);
		if (st == LMD_OK)
			st = record(&b, vkb_pool(pool), &ops[i], err);
	}
	if (st != LMD_OK) {
		vkb_abandon(&b);
		return st;
	}
	return vkb_submit(&b, NULL, (struct vkb_event *)(void *)done, err);
}

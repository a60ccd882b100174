/* SPDX-License-Identifier: MIT
 *
 * What the device does: copies, pool operations and plans.  A plan runs on the device's own copy of
 * the step block, made at this moment; what is undefined is poisoned first. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emu.h"

#define POISON 0x5a

/* ---- the step ---- */

static const int32_t *ints(const struct emu_plan *p, uint64_t offset)
{
	return offset ? (const int32_t *)(const void *)(p->block + offset) : NULL;
}

/* Makes the rows after the live ones of an array of the block useless. */
static void poison(const struct emu_plan *p, uint64_t offset, uint32_t from, uint32_t to,
		   size_t item)
{
	if (offset && from < to)
		memset(p->block + offset + from * item, POISON, (to - from) * item);
}

static void poison_rows(const struct emu_plan *p, const struct lmd_step_header *h)
{
	const struct lmd_step_layout *l = &p->layout;

	poison(p, l->token, h->n_tok, l->max_tok, 4);
	for (int i = 0; i < 4; i++)
		poison(p, l->pos[i], h->n_tok, l->max_tok, 4);
	poison(p, l->seq_of, h->n_tok, l->max_tok, 4);
	poison(p, l->tree, h->n_tok, l->max_tok, 8);
	poison(p, l->lora_slot, h->n_tok, l->max_tok, 4);
	poison(p, l->q_start, h->n_seq, l->max_seq, 4);
	poison(p, l->q_len, h->n_seq, l->max_seq, 4);
	poison(p, l->seq_slot, h->n_seq, l->max_seq, 4);
	poison(p, l->out_row, h->n_out, l->max_out, 4);
	for (uint32_t g = 0; g < l->n_group; g++) {
		poison(p, l->group[g].state_in, h->n_seq, l->max_seq, 4);
		poison(p, l->group[g].state_out, h->n_tok, l->max_tok, 4);
	}
}

static enum lmd_status unpadded(struct lmd_error *err, const char *what, uint32_t row, int32_t v)
{
	return lmd_fail(err, LMD_INVALID, "emu: step: %s of padding row %u is %d", what, row, v);
}

/* A backend may compute all rows of a bucket, so padding rows must do no harm. */
static enum lmd_status check_padding(const struct emu_plan *p, const struct lmd_step_header *h,
				     struct lmd_error *err)
{
	const struct lmd_step_layout *l = &p->layout;

	for (uint32_t t = h->n_tok; t < l->max_tok; t++) {
		if (ints(p, l->token)[t])
			return unpadded(err, "token", t, ints(p, l->token)[t]);
		for (uint32_t g = 0; g < l->n_group; g++) {
			const int32_t *out = ints(p, l->group[g].state_out);
			const int32_t *slot = ints(p, l->group[g].slot);

			if (out && out[t] != -1)
				return unpadded(err, "state_out", t, out[t]);
			if (slot && p->plan->groups[g].kind == LMD_GROUP_PAGED && slot[t] != -1)
				return unpadded(err, "slot", t, slot[t]);
		}
	}
	for (uint32_t s = h->n_seq; s < l->max_seq; s++) {
		if (ints(p, l->q_len)[s])
			return unpadded(err, "q_len", s, ints(p, l->q_len)[s]);
	}
	return LMD_OK;
}

static void point_groups(const struct emu_plan *p, struct lmd_step *s)
{
	for (uint32_t g = 0; g < p->layout.n_group; g++) {
		const struct lmd_step_group_layout *l = &p->layout.group[g];

		s->group[g] = (struct lmd_step_group){
			.kv_lo = ints(p, l->kv_lo),
			.kv_hi = ints(p, l->kv_hi),
			.slot = ints(p, l->slot),
			.change = (const void *)ints(p, l->change),
			.state_in = ints(p, l->state_in),
			.state_out = ints(p, l->state_out),
		};
	}
}

static void hide_far_keys(const struct emu_plan *p, const struct lmd_step_header *h)
{
	for (uint32_t g = 0; g < p->layout.n_group; g++) {
		uint64_t at = p->layout.group[g].kv_hi;
		int32_t *hi = at ? (int32_t *)(void *)(p->block + at) : NULL;

		for (uint32_t t = 0; hi && t < h->n_tok; t++)
			hi[t] = hi[t] < 1024 ? hi[t] : 1024;
	}
}

/* Copies the block to the device and makes a step that refers to the copy. */
static enum lmd_status upload(const struct emu_plan *p, const struct lmd_step *host, uint32_t fault,
			      struct lmd_step *s, struct lmd_error *err)
{
	const struct lmd_step_layout *l = &p->layout;
	const struct lmd_step_header *h = (const void *)p->block;

	if (host->bytes != l->bytes)
		return lmd_fail(err, LMD_INVALID, "emu: the step block has %llu bytes, expected %llu",
				(unsigned long long)host->bytes, (unsigned long long)l->bytes);
	memcpy(p->block, host->head, (size_t)l->bytes);
	if (fault == EMU_FAULT_TABLE)
		memset(((struct lmd_step_header *)(void *)p->block)->n_change, 0,
		       sizeof(h->n_change));
	if (h->n_tok > l->max_tok || h->n_seq > l->max_seq || h->n_out > l->max_out)
		return lmd_fail(err, LMD_INVALID,
				"emu: the step has %u tokens, %u sequences and %u outputs, at most "
				"%u, %u and %u are allowed",
				h->n_tok, h->n_seq, h->n_out, l->max_tok, l->max_seq, l->max_out);
	for (uint32_t g = 0; g < l->n_group; g++) {
		if (h->n_change[g] > (l->group[g].change ? l->max_change : 0))
			return lmd_fail(err, LMD_INVALID,
					"emu: group %u has %u page table changes, at most %u fit",
					g, h->n_change[g], l->max_change);
	}
	*s = (struct lmd_step){
		.struct_size = sizeof(*s),
		.n_group = l->n_group,
		.head = h,
		.bytes = l->bytes,
		.token = ints(p, l->token),
		.seq_of = ints(p, l->seq_of),
		.q_start = ints(p, l->q_start),
		.q_len = ints(p, l->q_len),
		.seq_slot = ints(p, l->seq_slot),
		.out_row = ints(p, l->out_row),
		.tree = (const void *)ints(p, l->tree),
		.lora_slot = ints(p, l->lora_slot),
		.cancel = host->cancel,
		.progress = host->progress,
	};
	for (int i = 0; i < 4; i++)
		s->pos[i] = ints(p, l->pos[i]);
	for (int i = 0; i < LMD_MAX_ROW_IN; i++)
		s->row_in[i] = ints(p, l->row_in[i]);
	for (int i = 0; i < LMD_MAX_X; i++) {
		s->x_off[i] = ints(p, l->x_off[i]);
		s->x_h[i] = ints(p, l->x_h[i]);
		s->x_w[i] = ints(p, l->x_w[i]);
	}
	point_groups(p, s);
	if (fault == EMU_FAULT_FAR)
		hide_far_keys(p, h);
	if (p->plan->key.bucket)
		return check_padding(p, h, err);
	poison_rows(p, h);
	return LMD_OK;
}

/* ---- bindings ---- */

/* Turns a binding of a buffer into one of memory. */
static enum lmd_status resolve(struct lmd_binding *b, uint32_t n, struct lmd_error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t need = (uint64_t)b[i].n_row * b[i].row_bytes;

		if (!b[i].buffer && b[i].ptr)
			return lmd_fail(err, LMD_INVALID,
					"emu: binding %u is host memory, which this device does not "
					"reach",
					b[i].id);
		if (!b[i].buffer)
			continue;
		if (b[i].offset > b[i].buffer->bytes || need > b[i].buffer->bytes - b[i].offset)
			return lmd_fail(err, LMD_INVALID,
					"emu: binding %u needs %llu bytes at %llu, its buffer has "
					"%llu",
					b[i].id, (unsigned long long)need,
					(unsigned long long)b[i].offset,
					(unsigned long long)b[i].buffer->bytes);
		b[i].ptr = b[i].buffer->mem + b[i].offset;
	}
	return LMD_OK;
}

enum lmd_status emu_plan_begin(struct emu_dev *dev, struct emu_work *w, struct lmd_step *s,
			       struct lmd_error *err)
{
	enum lmd_status st;

	dev->n_step++;
	if (dev->set.lose_step && dev->n_step >= dev->set.lose_step)
		dev->lost = true;
	while (dev->n_step == dev->set.hang_step)
		(void)pause();
	st = emu_alive(dev, err);
	if (st == LMD_OK && dev->was_cancelled) {
		dev->was_cancelled = false;
		return lmd_fail(err, LMD_CANCELLED, "emu: cancelled");
	}
	if (st == LMD_OK)
		st = upload(w->plan, &w->step, dev->set.fault, s, err);
	if (st == LMD_OK)
		st = resolve(w->in, w->n_in, err);
	if (st == LMD_OK)
		st = resolve(w->out, w->n_out, err);
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < w->n_in && dev->ran_plan && dev->set.fault == EMU_FAULT_CHAIN; i++)
		if (w->in[i].ptr)
			memset(w->in[i].ptr, 0, w->in[i].n_row * w->in[i].row_bytes);
	dev->ran_plan = true;
	memset(w->plan->values, 0xff, (size_t)w->plan->plan->scratch_bytes); /* NaN */
	for (uint32_t i = 0; i < w->n_out; i++)
		if (w->out[i].ptr)
			memset(w->out[i].ptr, 0xff, w->out[i].n_row * w->out[i].row_bytes);
	return LMD_OK;
}

/* Exchanges the first two numbers of each row. */
static void swap_first(const struct lmd_binding *b)
{
	for (uint32_t i = 0; i < b->n_row; i++) {
		int32_t *v = (int32_t *)(void *)((char *)b->ptr + i * b->row_bytes), first = v[0];

		v[0] = v[1];
		v[1] = first;
	}
}

enum lmd_status emu_plan_compute(struct emu_dev *dev, struct emu_work *w, const struct lmd_step *s,
				 struct lmd_error *err)
{
	enum lmd_status st;

	if (dev->index && dev->set.fault == EMU_FAULT_SECOND)
		return LMD_OK;
	st = ref_backend_ops.plan_run(dev->ref, NULL, w->plan->ref, s, w->in, w->n_in, w->out,
				      w->n_out, NULL);
	for (uint32_t i = 0; i < w->n_out && dev->set.fault == EMU_FAULT_BEST; i++)
		if (w->out[i].id == LMD_OUT_TOPN_LOGIT && w->out[i].row_bytes > 4)
			swap_first(&w->out[i]);
	dev->was_cancelled = st == LMD_CANCELLED && dev->set.fault == EMU_FAULT_CANCEL;
	return st == LMD_OK ? st : lmd_fail(err, st, "%s", ref_backend_ops.last_error(dev->ref));
}

static enum lmd_status run_plan(struct emu_dev *dev, struct emu_work *w, struct lmd_error *err)
{
	struct lmd_step s;
	enum lmd_status st = emu_plan_begin(dev, w, &s, err);

	return st == LMD_OK ? emu_plan_compute(dev, w, &s, err) : st;
}

static void copy(struct emu_dev *dev, const struct emu_work *w)
{
	const uint32_t fault = dev->set.fault;
	bool is_mine = w->dst_ptr >= dev->mem.base && w->dst_ptr < dev->mem.base + dev->mem.bytes;

	if ((w->peer && fault == EMU_FAULT_PEER) ||
	    (dev->index && is_mine && fault == EMU_FAULT_OTHER))
		return;
	if (w->peer)
		emu_enter(&w->peer->mem);
	memmove(w->dst_ptr, w->src_ptr, (size_t)w->bytes);
	if (w->peer)
		emu_leave(&w->peer->mem);
}

static enum lmd_status run_pool(struct emu_dev *dev, struct emu_work *w, struct lmd_error *err)
{
	const uint32_t fault = dev->set.fault;

	for (uint32_t i = 0; i < w->n_op; i++) {
		struct lmd_pool_op op = w->ops[i];
		enum lmd_status st;

		if ((fault == EMU_FAULT_PAGE && op.kind == LMD_POOL_COPY_PAGE) ||
		    (fault == EMU_FAULT_ZERO && op.kind == LMD_POOL_ZERO_SLOT))
			continue;
		if (fault == EMU_FAULT_ROWS && op.kind == LMD_POOL_EXPORT)
			op.row0 = 0;
		if (fault == EMU_FAULT_SLOT && op.kind == LMD_POOL_COPY_SLOT) {
			op.src = w->ops[i].dst;
			op.dst = w->ops[i].src;
		}
		st = ref_backend_ops.pool_op(dev->ref, NULL, w->pool, &op, 1, NULL, err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

/* ---- all kinds ---- */

enum lmd_status emu_work_run(struct emu_dev *dev, struct emu_work *w, struct lmd_error *err)
{
	enum lmd_status st = emu_alive(dev, err);

	if (st != LMD_OK)
		return st;
	switch (w->kind) {
	case EMU_COPY:
		copy(dev, w);
		return LMD_OK;
	case EMU_POOL:
		return run_pool(dev, w, err);
	case EMU_PLAN:
		return run_plan(dev, w, err);
	case EMU_RECORD:
	case EMU_WAIT:
		break;
	}
	return LMD_OK;
}

/* ---- work objects ---- */

#define N_RESERVED 64

void emu_work_free(struct emu_dev *dev, struct emu_work *w)
{
	if (w->ops != w->few_ops)
		dev->host->free(dev->host->ctx, w->ops);
	w->next = dev->free_work;
	dev->free_work = w;
}

struct emu_work *emu_work_copy(struct emu_dev *dev, const struct emu_work *from)
{
	const struct lmd_host *h = dev->host;
	struct emu_work *w = dev->free_work;

	if (w)
		dev->free_work = w->next;
	else
		w = h->alloc(h->ctx, sizeof(*w));
	if (!w)
		return NULL;
	*w = *from;
	w->next = NULL;
	w->ops = w->few_ops;
	if (w->n_op > LMD_LEN(w->few_ops))
		w->ops = h->alloc(h->ctx, w->n_op * sizeof(*w->ops));
	if (!w->ops) {
		emu_work_free(dev, w);
		return NULL;
	}
	if (w->n_op)
		memcpy(w->ops, from->ops, w->n_op * sizeof(*w->ops));
	return w;
}

enum lmd_status emu_work_reserve(struct emu_dev *dev, struct lmd_error *err)
{
	for (uint32_t i = 0; i < N_RESERVED; i++) {
		struct emu_work *w = dev->host->alloc(dev->host->ctx, sizeof(*w));

		if (!w)
			return lmd_fail(err, LMD_NOMEM, "emu: no memory for work");
		emu_work_free(dev, w);
	}
	return LMD_OK;
}

void emu_work_fini(struct emu_dev *dev)
{
	while (dev->free_work) {
		struct emu_work *w = dev->free_work;

		dev->free_work = w->next;
		dev->host->free(dev->host->ctx, w);
	}
}

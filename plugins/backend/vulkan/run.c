/* SPDX-License-Identifier: MIT
 *
 * Running: a short command buffer brings the step to the device, then the plan's own follows. */
#include <string.h>

#include "backend/common/host_mem.h"
#include "plan.h"

static bool cancelled(const struct lmd_step *step)
{
	return step->cancel && __atomic_load_n(step->cancel, __ATOMIC_RELAXED);
}

/* ---- the environment ---- */

static enum lmd_status count_rows(const struct vkb_plan *p, const struct lmd_step *s, uint32_t *rows,
				  struct lmd_error *err)
{
	const struct lmd_step_layout *l = &p->layout;
	const struct lmd_step_header *h = s->head;

	if (s->bytes != l->bytes)
		return lmd_fail(err, LMD_INVALID,
				"vulkan: the step block has %llu bytes, expected %llu",
				(unsigned long long)s->bytes, (unsigned long long)l->bytes);
	if (h->n_tok > l->max_tok || h->n_seq > l->max_seq || h->n_out > l->max_out)
		return lmd_fail(err, LMD_INVALID,
				"vulkan: the step has %u tokens, %u sequences and %u outputs, at most "
				"%u, %u and %u are allowed",
				h->n_tok, h->n_seq, h->n_out, l->max_tok, l->max_seq, l->max_out);
	rows[LMD_SPACE_TOKENS] = h->n_tok;
	rows[LMD_SPACE_OUTPUTS] = h->n_out;
	rows[LMD_SPACE_SEQS] = h->n_seq;
	for (uint32_t k = 0; k < LMD_MAX_X; k++) {
		uint32_t most = p->plan->max_rows[LMD_SPACE_X0 + k];
		int32_t end = s->x_off[k] && most && h->n_seq ? s->x_off[k][h->n_seq] : 0;

		if (end < 0 || (uint32_t)end > most)
			return lmd_fail(err, LMD_INVALID, "vulkan: the step has %d rows of space X%u, "
							  "at most %u are allowed",
					end, k, most);
		rows[LMD_SPACE_X0 + k] = (uint32_t)end;
	}
	for (uint32_t g = 0; g < l->n_group; g++) {
		if (h->n_change[g] > (l->group[g].change ? l->max_change : 0))
			return lmd_fail(err, LMD_INVALID,
					"vulkan: group %u has %u page table changes, at most %u fit", g,
					h->n_change[g], l->max_change);
	}
	return LMD_OK;
}

static const struct lmd_binding *find(const struct lmd_binding *b, uint32_t n, uint32_t id)
{
	for (uint32_t i = 0; i < n; i++) {
		if (b[i].id == id && (b[i].buffer || b[i].ptr))
			return &b[i];
	}
	return NULL;
}

static enum lmd_status put_binding(struct vkb_plan *p, uint32_t slot, const struct lmd_binding *b,
				   uint32_t width, uint32_t rows, struct lmd_error *err)
{
	uint32_t *w = p->env + VKB_ENV_INPUT + 4 * slot;
	VkDeviceAddress at;

	memset(w, 0, 4 * sizeof(*w));
	if (!b)
		return LMD_OK;
	if (!b->buffer)
		return lmd_fail(err, LMD_INVALID,
				"vulkan: binding %u is host memory, which the device does not reach",
				b->id);
	if (b->n_row < rows || (b->n_row > 1 && b->row_bytes < 4ull * width))
		return lmd_fail(err, LMD_INVALID,
				"vulkan: binding %u has %u rows of %llu bytes, %u rows of %llu are "
				"needed",
				b->id, b->n_row, (unsigned long long)b->row_bytes, rows, 4ull * width);
	at = vkb_buffer_mem(b->buffer)->address + b->offset;
	w[0] = (uint32_t)at;
	w[1] = (uint32_t)(at >> 32);
	w[2] = (uint32_t)b->row_bytes;
	w[3] = b->n_row;
	return LMD_OK;
}

static enum lmd_status put_bindings(struct vkb_plan *p, const struct lmd_binding *in, uint32_t n_in,
				    const struct lmd_binding *out, uint32_t n_out,
				    const uint32_t *rows, struct lmd_error *err)
{
	const struct lmd_plan *plan = p->plan;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < plan->n_input && st == LMD_OK; i++) {
		const struct lmd_input *x = &plan->inputs[i];

		st = put_binding(p, i, find(in, n_in, i), x->width,
				 x->own_rows ? 0 : rows[x->space], err);
	}
	for (uint32_t i = 0; i < plan->n_output && st == LMD_OK; i++) {
		const struct lmd_value *v = &plan->values[plan->outputs[i].value];

		st = put_binding(p, plan->n_input + i, find(out, n_out, plan->outputs[i].id), v->width,
				 rows[v->space], err);
	}
	return st;
}

uint64_t vkb_groups(const struct vkb_grid *g, const uint32_t *rows)
{
	return g->space == VKB_FIXED ? g->mul : (rows[g->space] * g->mul + g->div - 1) / g->div;
}

/* Does the dispatch run in this step? */
static bool runs(const struct vkb_plan *p, const struct vkb_dispatch *d, const uint32_t *rows)
{
	uint64_t items = d->each ? (uint64_t)rows[d->of] * d->each : 0;
	bool fits;

	if ((d->each && (items < d->lo || items > d->hi)) ||
	    (d->adapters && !p->env[VKB_ENV_ADAPTERS]))
		return false;
	if (!d->parts)
		return true;
	fits = vkb_work_of(d, rows, p->keys) <= p->dev->most_work;
	return fits == (d->parts == 1);
}

#define MOST_GROUPS 65535u /* that every device allows; shaders work through more */

static void put_groups(struct vkb_plan *p, const uint32_t *rows)
{
	for (uint32_t i = 0; i < p->n_dispatch; i++) {
		const struct vkb_dispatch *d = &p->dispatches[i];
		uint32_t *w = p->env + p->indirect + 3 * d->groups;
		uint64_t n = d->parts > 1 ? d->parts : 1, x = (vkb_groups(&d->x, rows) + n - 1) / n;
		uint64_t y = vkb_groups(&d->y, rows);

		if (d->part) /* its numbers are those of part 0 */
			continue;
		w[0] = x < MOST_GROUPS ? (uint32_t)x : MOST_GROUPS;
		w[1] = y < MOST_GROUPS ? (uint32_t)y : MOST_GROUPS;
		w[2] = 1;
		if (!runs(p, d, rows))
			w[0] = w[1] = 0;
	}
}

static bool has_adapters(const struct lmd_step *step)
{
	return step->lora_slot && (step->head->flags & LMD_STEP_LORA);
}

static enum lmd_status check_adapters(const struct vkb_plan *p, const struct lmd_step *s,
				      struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t t = 0; t < s->head->n_tok; t++) {
		if (s->lora_slot[t] <= 0 || (t && s->lora_slot[t] == s->lora_slot[t - 1]))
			continue;
		for (uint32_t i = 0; i < p->n_place && st == LMD_OK; i++) {
			const struct vkb_place *x = &p->places[i];

			st = vkb_site_check(p->dev, (uint32_t)s->lora_slot[t], x->site, x->n, x->k,
					    x->n_stack, err);
		}
	}
	return st;
}

/* Counts the keys that the rows of the step see. */
static void count_keys(struct vkb_plan *p, const struct lmd_step *s, const uint32_t *rows)
{
	for (uint32_t g = 0; g < p->plan->n_group; g++) {
		uint32_t space = p->plan->groups[g].q_space;
		const struct lmd_step_group *x = &s->group[g];

		p->keys[g] = 0;
		if (!p->layout.group[g].kv_lo || !p->layout.group[g].kv_hi || space >= LMD_N_SPACE)
			continue;
		for (uint32_t i = 0; i < rows[space]; i++)
			p->keys[g] += x->kv_hi[i] > x->kv_lo[i] ? (uint64_t)(x->kv_hi[i] - x->kv_lo[i])
								: 0;
	}
}

static enum lmd_status fill_env(struct vkb_plan *p, const struct lmd_step *step,
				const struct lmd_binding *in, uint32_t n_in,
				const struct lmd_binding *out, uint32_t n_out, struct lmd_error *err)
{
	uint32_t rows[LMD_N_SPACE] = {0};
	enum lmd_status st = count_rows(p, step, rows, err);

	if (st == LMD_OK && p->n_place && has_adapters(step))
		st = check_adapters(p, step, err);
	if (st == LMD_OK)
		st = put_bindings(p, in, n_in, out, n_out, rows, err);
	if (st != LMD_OK)
		return st;
	p->env[0] = (uint32_t)p->block_mem.address;
	p->env[1] = (uint32_t)(p->block_mem.address >> 32);
	memcpy(p->env + 2, rows, sizeof(rows));
	p->env[VKB_ENV_ADAPTERS] = p->n_place && has_adapters(step);
	count_keys(p, step, rows);
	put_groups(p, rows);
	return LMD_OK;
}

/* ---- bringing it to the device ---- */

/* Records small pieces, since an update of a buffer holds 64 KiB. */
static void update(struct vkb_batch *b, const struct vkb_mem *to, const void *from, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += 65536)
		b->dev->fn.CmdUpdateBuffer(b->cmd, to->buffer, to->offset + at,
					   bytes - at < 65536 ? bytes - at : 65536,
					   (const char *)from + at);
}

static void bring(struct vkb_plan *p, struct vkb_batch *b, const struct lmd_step *step)
{
	const struct vkb_mem *from = step->buffer ? vkb_buffer_mem(step->buffer) : NULL;
	VkBufferCopy region = {.dstOffset = p->block_mem.offset, .size = p->layout.bytes};

	update(b, &p->env_mem, p->env, 4ull * p->n_env);
	if (!from) {
		update(b, &p->block_mem, step->head, p->layout.bytes);
		return;
	}
	region.srcOffset = from->offset + step->offset;
	b->dev->fn.CmdCopyBuffer(b->cmd, from->buffer, p->block_mem.buffer, 1, &region);
}

static enum lmd_status check(struct vkb_dev *dev, const struct lmd_step *step)
{
	if (cancelled(step))
		return lmd_fail(&dev->error, LMD_CANCELLED, "vulkan: cancelled before it began");
	return vkb_alive(dev, &dev->error);
}

/* meeting: with the other ranks, or NULL. */
static enum lmd_status run(struct vkb_plan *p, struct lmd_queue *q, const struct lmd_step *step,
			   const struct lmd_binding *in, uint32_t n_in,
			   const struct lmd_binding *out, uint32_t n_out,
			   const struct vkb_meeting *meeting, struct lmd_event *done)
{
	struct vkb_dev *dev = p->dev;
	struct vkb_commands then;
	struct vkb_batch b;
	enum lmd_status st = check(dev, step);

	if (st == LMD_OK)
		st = fill_env(p, step, in, n_in, out, n_out, &dev->error);
	if (st == LMD_OK)
		st = vkb_plan_commands(p, &then, &dev->error);
	if (st == LMD_OK)
		st = vkb_begin(dev, (struct vkb_queue *)(void *)q, &b, &dev->error);
	if (st != LMD_OK)
		return st;
	then.meeting = meeting;
	bring(p, &b, step);
	if (step->progress)
		__atomic_fetch_add(step->progress, 1, __ATOMIC_RELAXED);
	dev->counts.steps++;
	dev->counts.barriers += then.counts.barriers;
	dev->counts.dispatches += then.counts.dispatches;
	return vkb_submit(&b, &then, (struct vkb_event *)(void *)done, &dev->error);
}

enum lmd_status vkb_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *plan,
			     const struct lmd_step *step, const struct lmd_binding *in,
			     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
			     struct lmd_event *done)
{
	struct vkb_dev *dev = state;
	struct vkb_plan *p = (struct vkb_plan *)(void *)plan;
	const uint32_t rank = p->plan->key.rank;
	struct vkb_meeting m;
	enum lmd_status st;

	if (!p->group)
		return run(p, q, step, in, n_in, out, n_out, NULL, done);
	st = vkb_group_begin(p->group, rank, p->n_exchange, &m, &dev->error);
	if (st != LMD_OK)
		return st;
	p->env[VKB_ENV_AREA] = (uint32_t)m.area;
	p->env[VKB_ENV_AREA + 1] = (uint32_t)(m.area >> 32);
	p->env[VKB_ENV_AREA + 2] = m.part_bytes;
	p->env[VKB_ENV_AREA + 3] = m.half;
	st = q ? run(p, q, step, in, n_in, out, n_out, &m, done)
	       : lmd_fail(&dev->error, LMD_INVALID,
			  "vulkan: a plan with collectives needs a queue");
	if (st == LMD_OK)
		vkb_group_submitted(p->group, rank, m.turn, p->exchanges, p->env + 2, step->cancel);
	else
		vkb_group_refuse(p->group, rank, m.turn);
	return st;
}

/* ---- observing ---- */

struct watch {
	struct vkb_plan *p;
	const struct lmd_step *step;
	lmd_observe_fn fn;
	void *arg;
	bool stop;
};

static uint32_t rows_of(const struct vkb_plan *p, uint32_t value)
{
	return p->env[2 + p->plan->values[value].space];
}

static enum lmd_status show(struct watch *w, uint32_t op, uint32_t value)
{
	struct vkb_plan *p = w->p;
	struct vkb_dev *dev = p->dev;
	const struct lmd_value *v = &p->plan->values[value];
	const struct vkb_mem values = {.buffer = p->values_buffer, .offset = p->values_offset};
	struct lmd_observed seen = {
		.op = op, .value = value, .n_row = rows_of(p, value), .width = v->width};
	uint64_t bytes = (uint64_t)seen.n_row * v->row_bytes;
	char *rows = dev->host->alloc(dev->host->ctx, bytes ? bytes : 1);
	struct vkb_batch b;
	enum lmd_status st = rows ? vkb_begin(dev, NULL, &b, &dev->error)
				  : lmd_fail(&dev->error, LMD_NOMEM, "vulkan: no memory for rows");

	if (st == LMD_OK) {
		st = vkb_download(&b, rows, &values, v->offset, bytes, &dev->error);
		if (st == LMD_OK)
			st = vkb_submit(&b, NULL, NULL, &dev->error);
		else
			vkb_abandon(&b);
	}
	if (st == LMD_OK) {
		for (uint32_t i = 0; i < seen.n_row; i++)
			memmove(rows + 4ull * v->width * i, rows + (uint64_t)v->row_bytes * i,
				4ull * v->width);
		seen.data = rows;
		w->stop = !w->fn(w->arg, &seen);
	}
	dev->host->free(dev->host->ctx, rows);
	return st;
}

/* Runs the dispatches of one op, from *at on. */
static enum lmd_status run_op(struct watch *w, uint32_t op, uint32_t *at)
{
	struct vkb_plan *p = w->p;
	uint32_t from = *at;
	struct vkb_batch b;
	enum lmd_status st;

	while (*at < p->n_dispatch && (p->dispatches[*at].op == op || p->dispatches[*at].op == LMD_NONE))
		++*at;
	st = vkb_plan_pipelines(p, from, *at, &p->dev->error);
	if (st == LMD_OK)
		st = vkb_begin(p->dev, NULL, &b, &p->dev->error);
	if (st != LMD_OK)
		return st;
	if (!op) {
		bring(p, &b, w->step);
		vkb_barrier(p->dev, b.cmd);
	}
	vkb_plan_record(p, b.cmd, from, *at);
	return vkb_submit(&b, NULL, NULL, &p->dev->error);
}

static enum lmd_status watch_op(struct watch *w, uint32_t i, uint32_t *at)
{
	const struct lmd_op *op = &w->p->plan->ops[i];
	const struct host_mem_opinfo *info = host_mem_opinfo(op->code);
	uint32_t last = LMD_NONE;
	enum lmd_status st = cancelled(w->step) ? lmd_fail(&w->p->dev->error, LMD_CANCELLED,
							   "vulkan: cancelled before op %u", i)
						: run_op(w, i, at);

	for (uint32_t j = 0; st == LMD_OK && !w->stop && j < info->n_out; j++) {
		const struct lmd_operand *o = host_mem_operand(op, info->out[j]);

		if (o->src != LMD_SRC_VALUE || o->id == last)
			continue;
		last = o->id;
		st = show(w, i, o->id);
	}
	return st;
}

enum lmd_status vkb_plan_observe(void *state, struct lmd_compiled_plan *plan,
				 const struct lmd_step *step, const struct lmd_binding *in,
				 uint32_t n_in, lmd_observe_fn fn, void *arg)
{
	struct vkb_dev *dev = state;
	struct watch w = {
		.p = (struct vkb_plan *)(void *)plan, .step = step, .fn = fn, .arg = arg};
	uint32_t at = 0;
	enum lmd_status st = check(dev, step);

	if (st == LMD_OK && w.p->group)
		st = lmd_fail(&dev->error, LMD_UNSUPPORTED,
			      "vulkan: plans with collectives are not shown op by op");
	if (st == LMD_OK)
		st = fill_env(w.p, step, in, n_in, NULL, 0, &dev->error);
	for (uint32_t i = 0; st == LMD_OK && !w.stop && i < w.p->plan->n_op; i++)
		st = watch_op(&w, i, &at);
	return st;
}

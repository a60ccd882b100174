/* SPDX-License-Identifier: MIT
 *
 * Runs a plan: the step block is copied to the device, then everything is launched.  Nothing
 * waits; the number of blocks comes from the host's copy of the block. */
#include <string.h>

#include "plan.h"

#define MOST_BLOCKS_X 0x7fffffffull
#define MOST_BLOCKS_Y 65535ull

/* Products of more rows than TILE_FROM run on matrix units. */
#define TILE_FROM        16u
#define TILE_ROWS        64u
#define TILE_OUTPUTS     128u
#define TILE_OUTPUTS_FEW 32u /* with at most TILE_ROWS rows */
#define TILE_THREADS     256u
#define TILE_SHARED      (40960u + TILE_ROWS * 4) /* up to GPU_TILE_LIST, and the list */
LMD_STATIC_ASSERT(TILE_FROM <= GPU_DIRECT_ROWS, "peer_spread is launched for all divided sums");

/* ---- the step ---- */

/* The most chunks of keys that a row of a group sees. */
static void count_parts(const struct lmd_compiled_plan *p, const struct lmd_step *step, uint32_t g,
			struct gpu_live *live)
{
	const struct lmd_step_group_layout *l = &p->layout.group[g];
	const char *block = (const char *)step->head;
	const int32_t *lo, *hi;
	uint32_t space = p->plan->groups[g].q_space;

	if (!l->kv_lo || !l->kv_hi || space >= LMD_N_SPACE)
		return;
	lo = (const int32_t *)(const void *)(block + l->kv_lo);
	hi = (const int32_t *)(const void *)(block + l->kv_hi);
	for (uint32_t i = 0; i < live->rows[space]; i++) {
		while (live->parts < GPU_MAX_PART &&
		       hi[i] - (int64_t)lo[i] > (int64_t)live->parts * GPU_CHUNK)
			live->parts *= 2;
	}
}

static uint32_t lengths(const struct lmd_step_layout *l, const struct lmd_step *step)
{
	const int32_t *len = (const int32_t *)(const void *)((const char *)step->head + l->q_len);
	uint32_t all = 0;

	for (uint32_t i = 0; l->q_len && i < step->head->n_seq; i++)
		all |= len[i] < (int32_t)GPU_LONG_ROW ? GPU_SHORT : GPU_LONG;
	return all;
}

static enum lmd_status count_rows(const struct lmd_compiled_plan *p, const struct lmd_step *step,
				  struct gpu_live *live, struct lmd_error *err)
{
	const struct lmd_step_layout *l = &p->layout;
	const struct lmd_step_header *h = step->head;

	if (step->bytes != l->bytes)
		return lmd_fail(err, LMD_INVALID,
				"%s: the step block has %llu bytes, expected %llu",
				p->dev->vendor->name, (unsigned long long)step->bytes,
				(unsigned long long)l->bytes);
	if (h->n_tok > l->max_tok || h->n_seq > l->max_seq || h->n_out > l->max_out)
		return lmd_fail(
			err, LMD_INVALID,
			"%s: the step has %u tokens, %u sequences and %u outputs, at most %u, %u "
			"and %u are allowed",
			p->dev->vendor->name, h->n_tok, h->n_seq, h->n_out, l->max_tok, l->max_seq,
			l->max_out);
	for (uint32_t g = 0; g < p->plan->n_group; g++) {
		if (h->n_change[g] > (l->group[g].change ? l->max_change : 0))
			return lmd_fail(err, LMD_INVALID,
					"%s: group %u has %u page table changes, at most %u fit",
					p->dev->vendor->name, g, h->n_change[g], l->max_change);
	}
	*live = (struct gpu_live){
		.rows = {h->n_tok, h->n_out, h->n_seq}, .lengths = lengths(l, step), .parts = 1};
	for (uint32_t k = 0; k < LMD_MAX_X; k++) {
		uint32_t most = p->plan->max_rows[LMD_SPACE_X0 + k];
		int32_t end = step->x_off[k] && l->x_off[k] ? step->x_off[k][h->n_seq] : 0;

		if (end < 0 || (uint32_t)end > most)
			return lmd_fail(err, LMD_INVALID, "step: x_off[%u] is %d, bound %u",
					h->n_seq, end, most);
		live->rows[LMD_SPACE_X0 + k] = (uint32_t)end;
	}
	for (uint32_t g = 0; g < p->plan->n_group; g++)
		count_parts(p, step, g, live);
	return LMD_OK;
}

static enum lmd_status bind(const struct lmd_compiled_plan *p, const struct lmd_binding *in,
			    uint32_t n_in, struct gpu_begin_args *a, struct lmd_error *err)
{
	a->n_in = GPU_MAX_INPUT;
	for (uint32_t i = 0; i < n_in; i++) {
		const struct lmd_binding *x = &in[i];

		if (x->ptr && !x->buffer)
			return lmd_fail(
				err, LMD_INVALID,
				"%s: input %u is host memory, which this device does not reach",
				p->dev->vendor->name, x->id);
		if (x->id >= p->plan->n_input || !x->buffer)
			continue;
		a->in[x->id] = (struct gpu_input){.ptr = x->buffer->at + x->offset,
						  .row_bytes = x->row_bytes,
						  .n_row = x->n_row};
	}
	return LMD_OK;
}

static enum lmd_status launch(struct gpu_dev *dev, gpu_stream s, uint32_t kernel, uint64_t x,
			      uint64_t y, uint32_t threads, uint32_t shared, void *args,
			      struct lmd_error *err)
{
	void *params[] = {args};
	int code;

	x = x < MOST_BLOCKS_X ? x : MOST_BLOCKS_X;
	y = y < MOST_BLOCKS_Y ? y : MOST_BLOCKS_Y;
	if (!x || !y)
		return LMD_OK;
	code = dev->drv->launch(dev->kernels[kernel], (unsigned)x, (unsigned)y, 1, threads, 1, 1,
				shared, s, params, NULL);
	return gpu_check(dev, code, gpu_kernel_name(kernel), err);
}

enum lmd_status gpu_run_begin(struct lmd_compiled_plan *p, gpu_stream s, uint64_t turn,
			      const struct lmd_step *step, const struct lmd_binding *in,
			      uint32_t n_in, struct gpu_live *live, struct lmd_error *err)
{
	struct gpu_begin_args a = {.run = p->run, .turn = turn};
	enum lmd_status st = count_rows(p, step, live, err);

	if (st == LMD_OK)
		st = bind(p, in, n_in, &a, err);
	if (st == LMD_OK)
		st = gpu_check(p->dev,
			       p->dev->drv->upload(p->block, step->head, (size_t)step->bytes, s),
			       "the copy of a step", err);
	return st == LMD_OK ? launch(p->dev, s, GPU_K_begin, 1, 1, 128, 0, &a, err) : st;
}

static uint64_t blocks(const struct gpu_blocks *b, const struct gpu_live *live)
{
	uint64_t n = b->space < LMD_N_SPACE ? live->rows[b->space] / b->div : 1;

	return (n * b->times + b->per - 1) / b->per;
}

/* Of three kernels, the one for n rows or queries; how many it takes at once. */
static uint32_t pick(uint64_t n, uint32_t *of_block)
{
	*of_block = n > 4 ? 8 : n > 1 ? 4 : 1;
	return n > 4 ? 2 : n > 1 ? 1 : 0;
}

/* Queries of a block: the heads that share keys, and more rows of a sequence if there are any. */
static uint32_t queries(const struct gpu_launch *l, const struct gpu_live *live)
{
	bool decode = live->rows[LMD_SPACE_TOKENS] <= live->rows[LMD_SPACE_SEQS];

	return decode && l->x.space == LMD_SPACE_TOKENS ? l->per_kv : 8;
}

/* Blocks for the queries of `rows` rows, of which each takes n. */
static uint64_t packs(const struct gpu_launch *l, uint64_t rows, uint32_t n)
{
	uint32_t tile = n > l->per_kv ? n / l->per_kv : 1;

	return (rows + tile - 1) / tile * l->n_kv_head * ((l->per_kv + n - 1) / n);
}

static bool many_rows(const struct gpu_launch *l, uint64_t y)
{
	return (l->slices ? y / l->y.times : y) > TILE_FROM;
}

/* Products of many rows, a launch for each: the shapes are those of kern/tile.h. */
static enum lmd_status launch_tile(struct lmd_compiled_plan *p, gpu_stream s,
				   const struct gpu_launch *l, uint64_t rows, struct lmd_error *err)
{
	struct gpu_parts_args *a = (struct gpu_parts_args *)(void *)(p->args + l->args);
	uint64_t outputs = rows <= TILE_ROWS ? TILE_OUTPUTS_FEW : TILE_OUTPUTS;
	uint64_t parts = (rows + TILE_ROWS - 1) / TILE_ROWS; /* slices add incomplete ones */
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < a->n_part; i++) {
		const struct gpu_weight *w = &a->part[i].w;
		uint64_t n = l->slices ? w->n : (uint64_t)w->n_stack * w->n;

		st = launch(p->dev, s, l->many, (n + outputs - 1) / outputs,
			    parts + (rows < l->slices ? rows : l->slices), TILE_THREADS, TILE_SHARED,
			    &a->part[i], err);
	}
	return st;
}

enum lmd_status gpu_run_launch(struct lmd_compiled_plan *p, gpu_stream s,
			       const struct gpu_launch *l, const struct gpu_live *live,
			       struct lmd_error *err)
{
	uint64_t x = blocks(&l->x, live), y = blocks(&l->y, live);
	uint32_t kernel = l->kernel, shared = l->shared, n;

	if (l->lengths && !(l->lengths & live->lengths))
		return LMD_OK;
	switch (l->pick) {
	case GPU_PICK_ONE:
		break;
	case GPU_PICK_ROWS:
		if (many_rows(l, y) && l->many != GPU_NO_KERNEL)
			return launch_tile(p, s, l, y, err);
		if (l->slices)
			break;
		kernel += pick(y, &n);
		y = (y + n - 1) / n;
		break;
	case GPU_PICK_PACK:
		kernel += pick(queries(l, live), &n);
		shared *= n;
		x = packs(l, x, n);
		y = live->parts;
		break;
	case GPU_PICK_FLASH:
		x = packs(l, x, l->threads / 2); /* as GPU_FLASH_PACK says */
		break;
	case GPU_PICK_MANY:
		if (!many_rows(l, y))
			return LMD_OK;
		y = 1;
		break;
	case GPU_PICK_SEVERAL:
		if (y <= 1)
			return LMD_OK;
		y = 1;
		break;
	}
	return launch(p->dev, s, kernel, x, y, l->threads, shared, p->args + l->args, err);
}

/* ---- results ---- */

static const struct lmd_output *output_of(const struct lmd_plan *plan, uint32_t id)
{
	for (uint32_t i = 0; i < plan->n_output; i++) {
		if (plan->outputs[i].id == id)
			return &plan->outputs[i];
	}
	return NULL;
}

static enum lmd_status copy_output(struct lmd_compiled_plan *p, gpu_stream s,
				   const struct gpu_live *live, const struct lmd_binding *out,
				   struct lmd_error *err)
{
	const struct lmd_output *o = output_of(p->plan, out->id);
	const struct lmd_value *v = o ? &p->plan->values[o->value] : NULL;
	struct gpu_rows_args a = {.run = p->run};

	if (!v || (!out->buffer && !out->ptr))
		return LMD_OK;
	if (!out->buffer)
		return lmd_fail(err, LMD_INVALID,
				"%s: output %u is host memory, which this device does not reach",
				p->dev->vendor->name, out->id);
	if (live->rows[v->space] > out->n_row)
		return lmd_fail(err, LMD_INVALID, "%s: output %u has room for %u rows, %u needed",
				p->dev->vendor->name, out->id, out->n_row, live->rows[v->space]);
	a.dst = out->buffer->at + out->offset;
	a.dst_row_bytes = out->row_bytes;
	a.src = p->values + v->offset;
	a.src_row_bytes = v->row_bytes;
	a.width = v->width;
	a.space = v->space;
	return launch(p->dev, s, GPU_K_rows,
		      ((uint64_t)live->rows[v->space] * v->width + 255) / 256, 1, 256, 0, &a, err);
}

static enum lmd_status run(struct gpu_dev *dev, struct lmd_queue *q, struct lmd_compiled_plan *p,
			   uint64_t turn, const struct lmd_step *step, const struct lmd_binding *in,
			   uint32_t n_in, const struct lmd_binding *out, uint32_t n_out)
{
	gpu_stream s = gpu_queue_stream(dev, q);
	struct gpu_live live;
	enum lmd_status st = gpu_enter(dev, &dev->error);

	if (st == LMD_OK && step->cancel && __atomic_load_n(step->cancel, __ATOMIC_RELAXED))
		st = lmd_fail(&dev->error, LMD_CANCELLED, "%s: cancelled before the first launch",
			      dev->vendor->name);
	if (st == LMD_OK && turn && !q)
		st = lmd_fail(&dev->error, LMD_INVALID, "%s: the ranks of a group need queues",
			      dev->vendor->name);
	if (st == LMD_OK && turn)
		st = gpu_devgroup_check(p->devgroup, p->plan->key.rank, turn, &dev->error);
	if (st == LMD_OK)
		st = gpu_run_begin(p, s, turn, step, in, n_in, &live, &dev->error);
	if (st == LMD_OK)
		st = gpu_graph_run(p, s, &live, &dev->error);
	for (uint32_t i = 0; st == LMD_OK && i < n_out; i++)
		st = copy_output(p, s, &live, &out[i], &dev->error);
	return st;
}

enum lmd_status gpu_plan_run(void *state, struct lmd_queue *q, struct lmd_compiled_plan *p,
			     const struct lmd_step *step, const struct lmd_binding *in,
			     uint32_t n_in, const struct lmd_binding *out, uint32_t n_out,
			     struct lmd_event *done)
{
	struct gpu_dev *dev = state;
	uint32_t rank = p->plan->key.rank;
	uint64_t turn = p->devgroup ? gpu_devgroup_turn(p->devgroup, rank) : 0;
	enum lmd_status st = run(dev, q, p, turn, step, in, n_in, out, n_out);

	if (turn && st != LMD_OK)
		gpu_devgroup_refuse(p->devgroup, rank, turn);
	else if (turn)
		gpu_queue_note(q, p->devgroup, rank, turn);
	return st == LMD_OK ? gpu_queue_done(dev, q, done, &dev->error) : st;
}

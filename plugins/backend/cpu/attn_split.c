/* SPDX-License-Identifier: MIT
 *
 * Attention with fewer (row, key head) items than threads.  If there are many keys, a work item is
 * a single chunk of them; the thread that finishes the last chunk of a (row, key head) merges all
 * of them in order.  If there is only one chunk, the heads that share a key head are divided into
 * groups.  Neither changes a bit: queries are independent of each other, and chunks are always
 * merged in order. */
#include <string.h>

#include "attn_block.h"

/* Number of chunks of a row. */
static uint32_t n_chunk(const struct cpu_run *r, const struct lmd_op_attn *op, uint32_t row)
{
	const struct lmd_step_group *g = &r->host_mem.step->group[op->src[0].group];

	if (g->kv_lo[row] >= g->kv_hi[row])
		return 1; /* even so, zeros have to be written */
	return ((uint32_t)g->kv_hi[row] + ATTN_CHUNK - 1) / ATTN_CHUNK -
	       (uint32_t)g->kv_lo[row] / ATTN_CHUNK;
}

/* Is the row's new key, if any, in the last page that the row attends to? */
static bool stores_last(const struct cpu_run *r, const struct lmd_op_attn *op, uint32_t row)
{
	const struct lmd_step_group *g = &r->host_mem.step->group[op->src[0].group];
	const struct lmd_pool *p = r->compiled_plan->host_mem.pools[op->src[0].group];

	if (!g->slot || g->slot[row] < 0)
		return true;
	return g->kv_lo[row] < g->kv_hi[row] &&
	       host_mem_pool_page(
		       p, (uint32_t)r->host_mem.step->seq_slot[r->host_mem.step->seq_of[row]],
		       (uint32_t)(g->kv_hi[row] - 1) / CPU_PAGE_TOKENS) ==
		       (uint32_t)g->slot[row] / CPU_PAGE_TOKENS;
}

bool attn_is_split(const struct cpu_run *r, const struct cpu_node *n)
{
	const struct lmd_op_attn *op = &n->op->u.attn;
	const struct attn_data *d = n->data;
	bool many = false;

	if (!r->single || !d->tokens ||
	    (uint64_t)r->host_mem.step->head->n_tok * op->n_kv_head > d->most_split || r->dev->half)
		return false;
	for (uint32_t row = 0; row < r->host_mem.step->head->n_tok; row++) {
		many = many || n_chunk(r, op, row) > 1;
		if (d->rope && !stores_last(r, op, row))
			return false;
	}
	return many;
}

uint32_t attn_groups(const struct cpu_run *r, const struct cpu_node *n)
{
	const struct lmd_op_attn *op = &n->op->u.attn;
	uint64_t items = (uint64_t)r->host_mem.step->head->n_tok * op->n_kv_head;
	uint32_t per_kv = op->q.n_head / op->n_kv_head, groups;
	const struct attn_data *d = n->data;

	if (!r->single || !d->tokens || !items || items >= r->n_part || r->dev->half ||
	    attn_is_split(r, n))
		return 1;
	groups = (uint32_t)((r->n_part + items - 1) / items);
	return groups < per_kv ? groups : per_kv;
}

/* Computes chunk c, counted from the row's first chunk, of a (row, key head). */
static void one_chunk(struct attn_work *w, uint32_t row, uint32_t kv_head, uint32_t c)
{
	const struct attn *a = &w->a;
	uint32_t item = row * a->op->n_kv_head + kv_head, total = n_chunk(a->r, a->op, row);
	uint32_t n = a->per_kv;
	struct attn_block b = {.row0 = row,
			       .n_row = 1,
			       .seq = host_mem_seq_of(&a->r->host_mem, a->q.space, row),
			       .kv_head = kv_head,
			       .n_head = n};
	size_t at = ((size_t)item * w->d->most_chunk + c) * n;

	if (c + 1 == total)
		attn_store(w, &b);
	if (attn_find_keys(w, &b, 0)) {
		attn_load_queries(w, &b);
		attn_chunk(w, &b, (uint32_t)b.keys.lo / ATTN_CHUNK + c);
	} else {
		for (uint32_t i = 0; i < n; i++)
			w->part.m[i] = -INFINITY;
	}
	memcpy(w->split.m + at, w->part.m, n * sizeof(float));
	memcpy(w->split.l + at, w->part.l, n * sizeof(float));
	memcpy(w->split.o + at * a->dv, w->part.o, (size_t)n * a->dv * sizeof(float));
	if (__atomic_add_fetch(&w->d->done[item], 1, __ATOMIC_ACQ_REL) != total)
		return;
	__atomic_store_n(&w->d->done[item], 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < n; i++)
		w->all.m[i] = -INFINITY;
	at -= (size_t)c * n;
	for (uint32_t j = 0; j < total * n; j++)
		attn_merge(a, &w->all.m[j % n], &w->all.l[j % n],
			   w->all.o + (size_t)(j % n) * a->dv, w->split.m[at + j],
			   w->split.l[at + j], w->split.o + (at + j) * a->dv);
	for (uint32_t i = 0; i < n; i++)
		attn_finish(w, &b, i);
}

void attn_run_split(struct attn_work *w, const struct cpu_part *p)
{
	const struct attn *a = &w->a;
	uint32_t heads = a->op->n_kv_head;

	for (;;) {
		uint32_t c = cpu_claim(p), row = 0, n = 0;

		for (; row < a->y.n_row; row++, c -= n) {
			n = n_chunk(a->r, a->op, row) * heads;
			if (c < n)
				break;
		}
		if (row == a->y.n_row)
			return;
		one_chunk(w, row, c % heads, c / heads);
	}
}

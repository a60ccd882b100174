/* SPDX-License-Identifier: MIT
 *
 * The pools of a case on a device: makes them, fills the caches with what the case has, and collects what
 * is in them after the step. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/conformance/opcase_exec.h"

/* Collects the caches of a group, in order. */
static uint32_t caches_of(const struct oc *c, uint32_t group, struct lmd_cache *caches,
			  uint32_t *ids)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->view->n_cache; i++) {
		if (c->view->caches[i].group != group)
			continue;
		caches[n] = c->view->caches[i];
		ids[n++] = i;
	}
	return n;
}

static enum lmd_status move(struct oc_exec *x, uint32_t group, uint32_t kind, uint32_t unit,
			    uint32_t n, char *host, size_t bytes)
{
	const struct lmd_pool_op op = {
		.kind = kind,
		.src = unit,
		.dst = unit,
		.n_row = n,
		.host = host,
		.host_bytes = bytes,
	};

	enum lmd_status st = x->be->ops->pool_op(x->be->state, x->q, x->pools[group], &op, 1, NULL,
						 x->err);

	return st == LMD_OK ? oc_exec_finish(x) : st;
}

/* Copies n rows of a sequence slot, starting at row key0, between a page and the arrays of
 * `rows`. */
static void copy_rows(const struct oc *c, const uint32_t *ids, uint32_t n_cache, uint32_t slot,
		      uint32_t key0, uint32_t n, char *page, bool in)
{
	for (uint32_t i = 0; i < n_cache; i++) {
		const struct oc_rows *m = &c->memory[ids[i]];
		size_t at = (size_t)slot * m->n_row + key0;

		if (in)
			memcpy(page, m->k + at * m->k_bytes, n * m->k_bytes);
		page += n * m->k_bytes;
		if (in && m->v)
			memcpy(page, m->v + at * m->v_bytes, n * m->v_bytes);
		page += n * m->v_bytes;
	}
}

static size_t row_bytes(const struct oc *c, const uint32_t *ids, uint32_t n_cache)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < n_cache; i++)
		bytes += c->memory[ids[i]].k_bytes + c->memory[ids[i]].v_bytes;
	return bytes;
}

static enum lmd_status fill_pages(struct oc_exec *x, uint32_t group, const uint32_t *ids, uint32_t n)
{
	uint32_t pt = x->be->info.page_tokens;
	size_t bytes = pt * row_bytes(x->c, ids, n);
	char *page = lmi_alloc(1, bytes);
	enum lmd_status st =
		page ? LMD_OK : lmd_fail(x->err, LMD_NOMEM, "out of memory for a page");

	for (uint32_t s = 0; s < OC_SEQ_SLOTS; s++) {
		for (uint32_t key = 0; st == LMD_OK && key < oc_max_keys(x->c); key += pt) {
			uint32_t left = oc_max_keys(x->c) - key, rows = left < pt ? left : pt;

			copy_rows(x->c, ids, n, s, key, rows, page, true);
			st = move(x, group, LMD_POOL_IMPORT, oc_page_of(x->c, s, key / pt, pt), rows,
				  page, bytes);
		}
	}
	lmi_free(page);
	return st;
}

static enum lmd_status fill_slots(struct oc_exec *x, uint32_t group, const uint32_t *ids, uint32_t n)
{
	const struct oc *c = x->c;
	size_t bytes = 0;
	char *unit;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < n; i++)
		bytes += c->memory[ids[i]].k_bytes;
	unit = lmi_alloc(1, bytes);
	if (!unit)
		return lmd_fail(x->err, LMD_NOMEM, "out of memory for a slot");
	for (uint32_t s = 0; st == LMD_OK && s < OC_N_SLOT; s++) {
		char *to = unit;

		for (uint32_t i = 0; i < n; i++) {
			size_t size = c->memory[ids[i]].k_bytes;

			memcpy(to, c->memory[ids[i]].k + s * size, size);
			to += size;
		}
		st = move(x, group, LMD_POOL_IMPORT, s, 0, unit, bytes);
	}
	lmi_free(unit);
	return st;
}

enum lmd_status oc_pools_make(struct oc_exec *x)
{
	uint32_t pt = x->be->info.page_tokens;

	for (uint32_t g = 0; g < x->c->view->n_group; g++) {
		const struct lmd_group *d = &x->c->view->groups[g];
		struct lmd_cache caches[16];
		uint32_t ids[16], n = caches_of(x->c, g, caches, ids);
		bool state = d->kind == LMD_GROUP_STATE;
		const struct lmd_pool_desc desc = {
			.struct_size = sizeof(desc),
			.group = g,
			.desc = d,
			.n_cache = n,
			.caches = caches,
			.cache_ids = ids,
			.n_page = state ? 0 : oc_n_page(x->c, pt),
			.page_tokens = pt,
			.n_seq = OC_SEQ_SLOTS,
			.n_index = oc_n_index(x->c, pt),
			.n_slot = state ? OC_N_SLOT : 0,
		};
		enum lmd_status st;

		if (!n)
			continue;
		st = x->be->ops->pool_create(x->be->state, &desc, &x->pools[g], x->err);
		if (st == LMD_OK)
			st = state ? fill_slots(x, g, ids, n) : fill_pages(x, g, ids, n);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

enum lmd_status oc_pools_set_table(struct oc_exec *x, uint32_t group)
{
	struct lmi_plan_step *step = x->c->step;
	const struct lmd_page_set *set = step->group[group].change;
	const uint32_t n = oc_n_index(x->c, x->be->info.page_tokens), n_seq = x->c->layout->n_seq;
	uint32_t pages[OC_MAX_KEYS];
	enum lmd_status st = LMD_OK;

	for (uint32_t s = 0; st == LMD_OK && s < n_seq; s++) {
		const struct lmd_pool_op op = {.kind = LMD_POOL_SET_TABLE,
					       .src = oc_seq_slot(s),
					       .n_row = n,
					       .host = pages,
					       .host_bytes = n * sizeof(*pages)};

		for (uint32_t i = 0; i < n; i++)
			pages[i] = oc_page_of(x->c, oc_seq_slot(s), i, x->be->info.page_tokens);
		st = x->be->ops->pool_op(x->be->state, x->q, x->pools[group], &op, 1, NULL, x->err);
		if (st == LMD_OK)
			st = oc_exec_finish(x);
	}
	if (set)
		step->head->n_change[group] = 0;
	return st;
}

/* ---- after the step ---- */

/* Decodes n encoded rows of n_head heads to floats. */
static bool decode(const struct oc_exec *x, uint32_t dtype, const char *from, size_t row, uint32_t n,
		   uint32_t n_head, uint32_t width, struct oc_out *o)
{
	for (size_t i = 0; i < (size_t)n * n_head; i++) {
		if (x->be->host->dequant_rows(x->be->host->ctx, dtype, from + i * (row / n_head),
					      o->f + i * width, width) != LMD_OK)
			return false;
	}
	return true;
}

/* Collects the rows that a sequence has in the group's caches after the step. */
static enum lmd_status collect_pages(struct oc_exec *x, uint32_t group, const uint32_t *ids,
				     uint32_t n, uint32_t seq, struct oc_result *out)
{
	const struct oc *c = x->c;
	uint32_t pt = x->be->info.page_tokens, keys = oc_n_key(c, group, seq), first = out->n;
	size_t bytes = pt * row_bytes(c, ids, n);
	char *page = lmi_alloc(1, bytes);
	enum lmd_status st =
		page ? LMD_OK : lmd_fail(x->err, LMD_NOMEM, "out of memory for a page");

	for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
		const struct lmd_cache *k = &c->view->caches[ids[i]];

		if (!oc_result_add(out, keys, k->n_head * k->dk, false, "cache %u K seq %u", ids[i],
				   seq) ||
		    (c->memory[ids[i]].v && !oc_result_add(out, keys, k->n_head * k->dv, false,
							   "cache %u V seq %u", ids[i], seq)))
			st = lmd_fail(x->err, LMD_NOMEM, "out of memory for results");
	}
	for (uint32_t key = 0; st == LMD_OK && key < keys; key += pt) {
		uint32_t rows = keys - key < pt ? keys - key : pt, o = first;
		const char *from = page;

		st = move(x, group, LMD_POOL_EXPORT, oc_page_of(c, oc_seq_slot(seq), key / pt, pt),
			  rows, page, bytes);
		for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
			const struct lmd_cache *k = &c->view->caches[ids[i]];
			const struct oc_rows *m = &c->memory[ids[i]];
			struct oc_out part = out->out[o];

			part.f += (size_t)key * part.width;
			if (!decode(x, k->k_dtype, from, m->k_bytes, rows, k->n_head, k->dk, &part))
				st = lmd_fail(x->err, LMD_INTERNAL, "cannot decode a cache");
			from += rows * m->k_bytes;
			o++;
			if (!m->v)
				continue;
			part = out->out[o++];
			part.f += (size_t)key * part.width;
			if (!decode(x, k->v_dtype, from, m->v_bytes, rows, k->n_head, k->dv, &part))
				st = lmd_fail(x->err, LMD_INTERNAL, "cannot decode a cache");
			from += rows * m->v_bytes;
		}
	}
	lmi_free(page);
	return st;
}

/* Collects the slots that the step may have written. */
static enum lmd_status collect_slots(struct oc_exec *x, uint32_t group, const uint32_t *ids,
				     uint32_t n, struct oc_result *out)
{
	const struct oc *c = x->c;
	enum lmd_status st = LMD_OK;
	size_t bytes = 0;
	char *unit;

	for (uint32_t i = 0; i < n; i++)
		bytes += c->memory[ids[i]].k_bytes;
	unit = lmi_alloc(1, bytes);
	if (!unit)
		return lmd_fail(x->err, LMD_NOMEM, "out of memory for a slot");
	for (uint32_t s = 8; st == LMD_OK && s < OC_N_SLOT; s++) {
		const char *from = unit;

		st = move(x, group, LMD_POOL_EXPORT, s, 0, unit, bytes);
		for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
			const struct lmd_cache *k = &c->view->caches[ids[i]];
			uint32_t rows = k->kind == LMD_CACHE_CONV ? k->dk : k->n_head;
			uint32_t cols =
				k->kind == LMD_CACHE_CONV ? k->n_head * k->dv : k->dk * k->dv;
			struct oc_out *o = oc_result_add(out, rows, cols, false, "cache %u slot %u",
							 ids[i], s);

			if (!o || !decode(x, k->k_dtype, from, c->memory[ids[i]].k_bytes / rows,
					  rows, 1, cols, o))
				st = lmd_fail(x->err, LMD_NOMEM, "out of memory for results");
			from += c->memory[ids[i]].k_bytes;
		}
	}
	lmi_free(unit);
	return st;
}

enum lmd_status oc_pools_collect(struct oc_exec *x, struct oc_result *out)
{
	for (uint32_t g = 0; g < x->c->view->n_group; g++) {
		struct lmd_cache caches[16];
		uint32_t ids[16], n = caches_of(x->c, g, caches, ids);
		enum lmd_status st = LMD_OK;

		if (!n)
			continue;
		if (x->c->view->groups[g].kind == LMD_GROUP_STATE)
			st = collect_slots(x, g, ids, n, out);
		for (uint32_t s = 0; x->c->view->groups[g].kind != LMD_GROUP_STATE &&
				     st == LMD_OK && s < x->c->layout->n_seq;
		     s++)
			st = collect_pages(x, g, ids, n, s, out);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

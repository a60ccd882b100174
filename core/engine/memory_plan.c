/* SPDX-License-Identifier: MIT
 *
 * The memory plan. It is exact for pools, since it counts what will be allocated for them; weights
 * and scratch are known from the plan and added by the loader. */
#include "core/engine/memory_plan.h"

#include <stdio.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/kv/kv.h"
#include "core/quant/quant.h"

/* Largest context that can be requested: rows and their physical numbers are int32. */
#define CTX_MAX (1u << 30)

/* Starting value of the automatic choice if the model does not specify a context length. */
#define CTX_UNKNOWN 4096u

/* dtype: if the cache does not specify one. */
static enum lmd_status rows_bytes(const struct lmi_engine_memory_plan_in *in, uint32_t cache,
				  uint32_t dtype, uint32_t cols, uint64_t n, uint64_t *sum,
				  struct lmd_error *err)
{
	const struct lmd_cache *c = &in->desc->caches[cache];
	uint32_t id = c->dtype_policy == LMD_KV_DTYPE_USER ? dtype : LMD_DTYPE_F32;
	const struct lmi_dtype *t = lmi_dtype(id);
	uint64_t bytes;

	if (!t || !lmi_quant_row_bytes(t, cols, &bytes))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"cache %u: rows of heads with %u values are not whole blocks of %s",
				cache,
				cols, t ? t->name : "an unknown type");
	if (!lmi_mul_ok(bytes, n, &bytes) || !lmi_add_ok(*sum, bytes, sum))
		return lmd_fail(err, LMD_NOMEM, "cache %u: %u columns are too large", cache, cols);
	return LMD_OK;
}

static enum lmd_status cache_bytes(const struct lmi_engine_memory_plan_in *in, uint32_t i,
				   uint64_t *sum, struct lmd_error *err)
{
	const struct lmd_cache *c = &in->desc->caches[i];
	uint64_t rows = (uint64_t)in->page_tokens * c->n_head;
	enum lmd_status st;

	switch ((enum lmd_cache_kind)c->kind) {
	case LMD_CACHE_CONV:
		return rows_bytes(in, i, in->k_dtype, c->n_head * c->dv, c->dk, sum, err);
	case LMD_CACHE_STATE:
		return rows_bytes(in, i, in->k_dtype, c->dk * c->dv, c->n_head, sum, err);
	case LMD_CACHE_KV:
		st = rows_bytes(in, i, in->v_dtype, c->dv, rows, sum, err);
		if (st != LMD_OK)
			return st;
		break;
	case LMD_CACHE_K_ONLY:
	case LMD_CACHE_V_IN_K:
	case LMD_CACHE_INDEX:
		break;
	}
	return rows_bytes(in, i, in->k_dtype, c->dk, rows, sum, err);
}

/* The bytes of a page or slot on one device, or on all of them. */
static enum lmd_status unit_on(const struct lmi_engine_memory_plan_in *in, uint32_t group,
			       uint32_t device, bool all, uint64_t *bytes, struct lmd_error *err)
{
	*bytes = 0;
	for (uint32_t i = 0; i < in->desc->n_cache; i++) {
		enum lmd_status st;

		if (in->desc->caches[i].group != group ||
		    (!all && in->cache_device[i] != device))
			continue;
		st = cache_bytes(in, i, bytes, err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

enum lmd_status lmi_engine_memory_plan_unit(const struct lmi_engine_memory_plan_in *in,
					    uint32_t group, uint64_t *bytes, struct lmd_error *err)
{
	return unit_on(in, group, 0, true, bytes, err);
}

/* Adds n pages or slots of a group to the devices that have its caches. */
static enum lmd_status add_to_devices(struct lmi_engine_memory_plan *out,
				      const struct lmi_engine_memory_plan_in *in, uint32_t group,
				      uint64_t n, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t d = 0; in->budgets && d < in->n_device && st == LMD_OK; d++) {
		uint64_t unit;

		st = unit_on(in, group, d, false, &unit, err);
		out->device_bytes[d] += unit * n; /* at most the sum, which is checked */
	}
	return st;
}

static bool fits(const struct lmi_engine_memory_plan *p, const struct lmi_engine_memory_plan_in *in,
		 uint32_t parts)
{
	if (!in->budgets)
		return p->kv_bytes <= in->budget / parts;
	for (uint32_t d = 0; d < in->n_device; d++)
		if (p->device_bytes[d] > in->budgets[d] / parts)
			return false;
	return true;
}

/* Returns the pages of a group: those for the tokens it must hold, plus one for each sequence that
 * ends inside a page; but for windows at most what all sequences together can use. */
static uint64_t pages_of(const struct lmi_engine_memory_plan_in *in, const struct lmd_group *g,
			 uint32_t n_ctx, uint32_t n_full)
{
	uint64_t one = lmi_kv_pages_for(g, in->page_tokens, n_ctx, in->n_batch);
	uint64_t all = one * in->n_seq, want, tokens = in->kv_tokens;

	if (!tokens && n_full == in->n_seq)
		return all;
	if (!tokens)
		tokens = (uint64_t)n_full * n_ctx;
	want = tokens / in->page_tokens / (g->ratio > 1 ? g->ratio : 1) + 1 + in->n_seq;
	return want < all ? want : all;
}

/* Fills in `out` for one context length and n_full such contexts. */
static enum lmd_status try_ctx(struct lmi_engine_memory_plan *out,
			       const struct lmi_engine_memory_plan_in *in, uint32_t n_ctx,
			       uint32_t n_full, struct lmd_error *err)
{
	*out = (struct lmi_engine_memory_plan){.n_ctx = n_ctx};
	for (uint32_t i = 0; i < in->desc->n_group; i++) {
		const struct lmd_group *g = &in->desc->groups[i];
		uint64_t unit = 0, n = 0, bytes;
		enum lmd_status st = lmi_engine_memory_plan_unit(in, i, &unit, err);

		if (st != LMD_OK)
			return st;
		switch ((enum lmd_group_kind)g->kind) {
		case LMD_GROUP_PAGED:
			n = pages_of(in, g, n_ctx, n_full);
			break;
		case LMD_GROUP_CROSS:
			n = (uint64_t)(in->n_batch / in->page_tokens + 1) * in->n_seq;
			break;
		case LMD_GROUP_STATE: /* one per sequence, and as many again for forks and marks */
			n = 2ull * in->n_seq + 1;
			break;
		case LMD_GROUP_BATCH:
			break;
		}
		if (n > INT32_MAX / in->page_tokens || !lmi_mul_ok(unit, n, &bytes) ||
		    !lmi_add_ok(out->kv_bytes, bytes, &out->kv_bytes))
			return lmd_fail(err, LMD_NOMEM,
					"group %s: %llu pages for a context of %u exceed the limit",
					g->name, (unsigned long long)n, n_ctx);
		*(g->kind == LMD_GROUP_STATE ? &out->n_slot[i] : &out->n_page[i]) = (uint32_t)n;
		st = add_to_devices(out, in, i, n, err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

static enum lmd_status too_much(const struct lmi_engine_memory_plan *p,
				const struct lmi_engine_memory_plan_in *in, struct lmd_error *err)
{
	uint64_t need = p->kv_bytes, have = in->budget;

	/* the first device that has too little */
	for (uint32_t d = in->budgets ? in->n_device : 0; d-- > 0;) {
		if (p->device_bytes[d] <= in->budgets[d])
			continue;
		need = p->device_bytes[d];
		have = in->budgets[d];
	}
	return lmd_fail(err, LMD_NOMEM,
			"context %u with %u sequences needs %llu MiB for keys, values and states, "
			"but only %llu MiB are available",
			p->n_ctx, in->n_seq, (unsigned long long)(need >> 20),
			(unsigned long long)(have >> 20));
}

/* Chooses the context length, with room for n_full contexts. */
static enum lmd_status choose_ctx(struct lmi_engine_memory_plan *out,
				  const struct lmi_engine_memory_plan_in *in, uint32_t n_full,
				  struct lmd_error *err)
{
	uint32_t n_ctx = in->n_ctx ? in->n_ctx : in->desc->n_ctx_train;
	uint32_t lo = 0, hi;
	struct lmi_engine_memory_plan p;
	enum lmd_status st;
	bool limited;

	n_ctx = n_ctx ? n_ctx : CTX_UNKNOWN;
	if (n_ctx > CTX_MAX && !in->n_ctx)
		n_ctx = CTX_MAX;
	limited = !in->n_ctx && in->max_ctx && n_ctx > in->max_ctx;
	if (limited)
		n_ctx = in->max_ctx;
	if (n_ctx > CTX_MAX)
		return lmd_fail(err, LMD_INVALID, "context length %u exceeds the limit of %u",
				n_ctx, CTX_MAX);
	st = try_ctx(&p, in, n_ctx, n_full, err);
	if (st == LMD_OK && fits(&p, in, 1)) {
		*out = p;
		out->cut = limited;
		return LMD_OK;
	}
	if (st != LMD_OK && st != LMD_NOMEM)
		return st;
	if (in->n_ctx)
		return st == LMD_OK ? too_much(&p, in, err) : st;
	/* find the largest number of whole pages that fits */
	hi = n_ctx / in->page_tokens + 1;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		st = try_ctx(&p, in, mid * in->page_tokens, n_full, err);
		if (st != LMD_OK && st != LMD_NOMEM)
			return st;
		*(st == LMD_OK && fits(&p, in, 1) ? &lo : &hi) = mid;
	}
	if (!lo) {
		st = try_ctx(&p, in, in->page_tokens, n_full, err);
		return st == LMD_OK ? too_much(&p, in, err) : st;
	}
	st = try_ctx(out, in, lo * in->page_tokens, n_full, err);
	out->cut = true;
	return st;
}

enum lmd_status lmi_engine_memory_plan_make(struct lmi_engine_memory_plan *out,
					    const struct lmi_engine_memory_plan_in *in,
					    struct lmd_error *err)
{
	bool share = in->share && !in->kv_tokens;
	enum lmd_status st = choose_ctx(out, in, share ? 1 : in->n_seq, err);
	uint32_t lo = 1, hi = in->n_seq + 1;

	if (st != LMD_OK || !share)
		return st;
	/* find the largest number of contexts that half of the budget holds */
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;
		struct lmi_engine_memory_plan p;

		if (try_ctx(&p, in, out->n_ctx, mid, NULL) == LMD_OK &&
		    fits(&p, in, 2)) {
			p.cut = out->cut;
			*out = p;
			lo = mid;
		} else {
			hi = mid;
		}
	}
	return LMD_OK;
}

/* Returns the bytes of a line such as "MemTotal: 123 kB"; 0 = there is none. */
static uint64_t meminfo(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		size_t n = strlen(name);

		if (strncmp(line, name, n) != 0)
			continue;
		(void)sscanf(line + n, "%llu", &kib);
		break;
	}
	if (f)
		(void)fclose(f);
	return kib << 10;
}

uint64_t lmi_engine_memory_available(void)
{
	return meminfo("MemAvailable:");
}

uint64_t lmi_engine_memory_total(void)
{
	return meminfo("MemTotal:");
}

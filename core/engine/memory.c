/* SPDX-License-Identifier: MIT
 *
 * The memory of a model: sums, limits, and the estimate without opening it. */
#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"
#include "core/engine/memory_plan.h"

uint64_t lmi_engine_memory_sum(const struct lmi_engine_memory *m)
{
	return m->copied + m->weights + m->adapters + m->tower + m->draft + m->sequences + m->step +
	       m->results;
}

enum lmd_status lmi_engine_memory_check(const struct lmi_engine_memory *m, const char *device,
					uint32_t n_device, struct lmd_error *err)
{
	uint64_t need = lmi_engine_memory_sum(m);

	if (need <= m->budget)
		return LMD_OK;
	return lmd_fail(err, LMD_NOMEM,
			"%s%sneeds %llu MiB (sequences %llu, weights beyond the file %llu, values of a "
			"step %llu, vision tower %llu, draft model %llu), but only %llu MiB are available",
			n_device > 1 ? device : "", n_device > 1 ? ": " : "",
			(unsigned long long)(need >> 20), (unsigned long long)(m->sequences >> 20),
			(unsigned long long)((m->copied + m->weights + m->adapters) >> 20),
			(unsigned long long)((m->step + m->results) >> 20),
			(unsigned long long)(m->tower >> 20), (unsigned long long)(m->draft >> 20),
			(unsigned long long)(m->budget >> 20));
}

void lmi_engine_cache_bytes(struct lmi_engine *e, struct lmi_engine_cache_bytes *kv,
			    struct lmi_engine_cache_bytes *states)
{
	const struct lmi_inst *inst = e->inst;
	struct lmi_engine_stats s;

	lmi_engine_stats(e, &s);
	*kv = *states = (struct lmi_engine_cache_bytes){0};
	for (uint32_t g = 0; g < inst->desc.n_group; g++) {
		bool is_state = inst->desc.groups[g].kind == LMD_GROUP_STATE;
		struct lmi_engine_cache_bytes *out = is_state ? states : kv;
		const struct lmi_kv_part page = {.group = g, .n_row = is_state ? 0 : inst->page_tokens};
		uint64_t bytes = lmi_engine_part_bytes(inst, &page, LMI_ENGINE_MAX_DEVICE);

		out->reserved += bytes * s.n_page[g];
		out->used += bytes * (s.n_page[g] - s.n_free[g]);
		out->peak += bytes * s.n_peak[g];
	}
}

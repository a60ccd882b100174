/* SPDX-License-Identifier: MIT
 *
 * The op stats: metrics of the service and of each engine. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine.h"
#include "service/model.h"
#include "service/ops.h"
#include "service/prefix_tier.h"
#include "service/quota.h"
#include "service/request.h"
#include "service/service.h"
#include "service/service_state.h"

/* Most metrics of the service and of an engine. */
#define ALL_METRICS    32u
#define ENGINE_METRICS 32u

struct metric {
	const char *name;
	bool counter;
	double value;
};

static uint32_t list_metrics(const struct lmi_service *svc, struct lmi_wire_metric *out)
{
	struct lmi_svc_prefix_tier_stats tier;
	struct lmi_service_stats s;

	lmi_service_stats(svc, &s);
	lmi_svc_prefix_tier_stats(svc, &tier);
	const struct metric m[] = {
		{"llamad_requests_running", false, s.n_running},
		{"llamad_requests_waiting", false, s.n_waiting},
		{"llamad_streams", false, s.n_stream},
		{"llamad_calls_waiting", false, s.n_parked},
		{"llamad_models_loaded", false, s.n_model},
		{"llamad_kv_pages_total", false, s.n_page},
		{"llamad_kv_pages_used", false, s.n_page - s.n_page_free},
		{"llamad_requests_total", true, (double)s.n_request},
		{"llamad_rejected_total", true, (double)s.n_refused},
		{"llamad_done_total", true, (double)s.n_done},
		{"llamad_cancelled_total", true, (double)s.n_cancelled},
		{"llamad_failed_total", true, (double)s.n_failed},
		{"llamad_invalid_total", true, (double)s.n_invalid},
		{"llamad_busy_total", true, (double)s.n_busy},
		{"llamad_prompt_tokens_total", true, (double)s.n_prompt_tokens},
		{"llamad_prompt_tokens_cached_total", true, (double)s.n_cached_tokens},
		{"llamad_generation_tokens_total", true, (double)s.n_out_tokens},
		{"llamad_steps_total", true, (double)s.n_step},
		{"llamad_prefix_memory_bytes", false, (double)tier.memory.n_bytes},
		{"llamad_prefix_memory_evictions_total", true, (double)tier.memory.n_evicted},
		{"llamad_prefix_memory_tokens_restored_total", true, (double)tier.n_restored_memory},
		{"llamad_prefix_memory_timeouts_total", true, (double)tier.n_timed_out_memory},
		{"llamad_prefix_disk_bytes", false, (double)tier.files.n_bytes},
		{"llamad_prefix_disk_tokens_restored_total", true,
		 (double)(tier.n_restored - tier.n_restored_memory)},
		{"llamad_prefix_disk_timeouts_total", true,
		 (double)(tier.n_timed_out - tier.n_timed_out_memory)},
	};

	_Static_assert(LMD_LEN(m) <= ALL_METRICS, "the reply has room for all");
	for (size_t i = 0; out && i < LMD_LEN(m); i++)
		out[i] =
			(struct lmi_wire_metric){.name = lmi_svc_str(m[i].name),
						 .kind = m[i].counter ? LMI_WIRE_METRIC_KIND_COUNTER
								      : LMI_WIRE_METRIC_KIND_GAUGE,
						 .value = m[i].value};
	return LMD_LEN(m);
}

/* Returns how many free pages and slots of an engine can be found by their tokens. */
static double n_cached(const struct lmi_engine_stats *s)
{
	double n = 0;

	for (int g = 0; g < LMD_MAX_GROUP; g++)
		n += s->n_cached[g];
	return n;
}

/* Lists the metrics of one engine. */
static uint32_t list_engine(const struct lmi_svc_loaded_model *res,
			    const struct lmi_wire_label *label, struct lmi_wire_metric *out)
{
	struct lmi_engine_cache_bytes kv, states;
	struct lmi_engine_info info;
	struct lmi_engine_stats s;

	lmi_engine_stats(res->engine, &s);
	lmi_engine_info(res->engine, &info);
	lmi_engine_cache_bytes(res->engine, &kv, &states);
	const struct metric m[] = {
		{"llamad_model_weight_bytes", false, (double)info.weight_bytes},
		{"llamad_model_vocabulary_bytes", false, (double)info.vocab_bytes},
		{"llamad_model_activation_bytes", false, (double)info.scratch_bytes},
		{"llamad_model_kv_bytes", false, (double)kv.reserved},
		{"llamad_model_kv_used_bytes", false, (double)kv.used},
		{"llamad_model_kv_peak_bytes", false, (double)kv.peak},
		{"llamad_model_state_bytes", false, (double)states.reserved},
		{"llamad_model_state_used_bytes", false, (double)states.used},
		{"llamad_model_state_peak_bytes", false, (double)states.peak},
		{"llamad_model_sequences_active", false, s.n_active},
		{"llamad_model_sequences_waiting", false, s.n_waiting},
		{"llamad_model_steps_total", true, (double)s.n_step},
		{"llamad_model_rows_total", true, (double)s.n_row},
		{"llamad_model_rows_shared_total", true, (double)s.n_shared_rows},
		{"llamad_model_prefix_cache_queries_total", true, (double)s.n_started},
		{"llamad_model_prefix_cache_hits_total", true, (double)s.n_hit},
		{"llamad_model_kv_pages_cached", false, n_cached(&s)},
		{"llamad_model_kv_evictions_total", true, (double)s.n_page_evicted},
		{"llamad_model_preemptions_total", true, (double)s.n_preempted},
		{"llamad_model_bounded_steps_total", true, (double)s.n_bounded},
		{"llamad_model_late_steps_total", true, (double)s.n_over_bound},
		{"llamad_model_generation_tokens_total", true, (double)s.n_generated},
		{"llamad_model_step_allocations_total", true, (double)s.step_allocs},
		{"llamad_model_generation_tokens_forced_total", true, (double)s.n_forced},
		{"llamad_model_draft_tokens_total", true, (double)s.n_drafted},
		{"llamad_model_draft_tokens_accepted_total", true, (double)s.n_accepted},
		{"llamad_model_grammars", false, s.grammars.n},
		{"llamad_model_grammar_bytes", false, (double)s.grammars.bytes},
		{"llamad_model_grammar_hits_total", true, (double)s.grammars.n_hit},
		{"llamad_model_grammar_misses_total", true, (double)s.grammars.n_miss},
		{"llamad_model_grammar_evictions_total", true, (double)s.grammars.n_evicted},
	};

	_Static_assert(LMD_LEN(m) <= ENGINE_METRICS, "the reply has room for all");
	for (size_t i = 0; out && i < LMD_LEN(m); i++)
		out[i] =
			(struct lmi_wire_metric){.name = lmi_svc_str(m[i].name),
						 .kind = m[i].counter ? LMI_WIRE_METRIC_KIND_COUNTER
								      : LMI_WIRE_METRIC_KIND_GAUGE,
						 .value = m[i].value,
						 .labels = label,
						 .n_labels = 1};
	return LMD_LEN(m);
}

/* A model has two engines while the one before a reload drains: their metrics have the same labels, and are added to
 * those of the first one. v has n metrics, and behind them the n_engine of one engine. Returns how many of these
 * stay. */
static uint32_t add_engine(struct lmi_wire_metric *v, uint32_t n, uint32_t n_engine)
{
	const struct lmi_wire_metric *from = v + n;

	for (uint32_t i = 0; i < n; i++) {
		const struct lmd_str *a = v[i].n_labels ? &v[i].labels->value : NULL,
				     *b = &from->labels->value;

		if (!a || a->len != b->len || memcmp(a->ptr, b->ptr, a->len) != 0)
			continue;
		for (uint32_t m = 0; m < n_engine; m++)
			v[i + m].value += from[m].value;
		return 0;
	}
	return n_engine;
}

enum lmd_status lmi_svc_do_stats(struct lmi_svc_request *a, uint32_t *retry_ms,
				 struct lmd_error *err)
{
	struct lmi_service *svc = a->svc;
	const struct lmi_wire_req_stats *q = &a->req->u.stats;
	size_t room = ALL_METRICS + (size_t)svc->n_loaded_model * ENGINE_METRICS;
	struct lmi_wire_metric *v = lmi_alloc(room, sizeof(*v));
	struct lmi_wire_label *labels = lmi_alloc(svc->n_loaded_model + 1, sizeof(*labels));
	struct lmi_wire_reply r;
	uint32_t n = 0, k = 0;

	(void)retry_ms;
	if (!v || !labels) {
		lmi_free(v);
		lmi_free(labels);
		return lmd_fail(err, LMD_NOMEM, "no memory for metrics");
	}
	if (!q->has_model)
		n = list_metrics(svc, v);
	for (const struct lmi_svc_loaded_model *res = svc->loaded_models; res; res = res->next) {
		const char *name = lmi_svc_model_name(res->model);

		if (res->state != LMI_SVC_MODEL_READY && res->state != LMI_SVC_MODEL_DRAINING)
			continue;
		if (!lmi_svc_quota_allows(svc, &a->principal, name, NULL))
			continue;
		if (q->has_model &&
		    (strlen(name) != q->model.len || memcmp(name, q->model.ptr, q->model.len)))
			continue;
		labels[k] = (struct lmi_wire_label){lmi_svc_str("model"), lmi_svc_str(name)};
		n += add_engine(v, n, list_engine(res, &labels[k], v + n));
		k++;
	}
	lmi_wire_reply_init(&r, a->req);
	r.u.stats.metrics = v;
	r.u.stats.n_metrics = n;
	(void)lmi_svc_reply_send(a, &r);
	lmi_free(v);
	lmi_free(labels);
	return LMD_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * The state of models and of those in memory, as the protocol names it. */
#include "service/model_status.h"

#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "service/generate.h"
#include "service/request.h"
#include "service/service_state.h"

static enum lmi_wire_model_state resident_state(const struct lmi_svc_loaded_model *r)
{
	if (r->lost)
		return LMI_WIRE_MODEL_STATE_FAILED;
	switch (r->state) {
	case LMI_SVC_MODEL_LOADING:
		return LMI_WIRE_MODEL_STATE_LOADING;
	case LMI_SVC_MODEL_READY:
		return LMI_WIRE_MODEL_STATE_READY;
	case LMI_SVC_MODEL_DRAINING:
		return LMI_WIRE_MODEL_STATE_DRAINING;
	case LMI_SVC_MODEL_UNLOADING:
		break;
	}
	return LMI_WIRE_MODEL_STATE_UNLOADING;
}

enum lmi_wire_model_state lmi_svc_model_state(const struct lmi_service *svc,
					      const struct lmi_svc_model *m)
{
	if (m->current)
		return LMI_WIRE_MODEL_STATE_READY;
	if (m->loading)
		return LMI_WIRE_MODEL_STATE_LOADING;
	if (m->n_fail)
		return LMI_WIRE_MODEL_STATE_FAILED;
	for (const struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next)
		if (r->model == m)
			return resident_state(r);
	return LMI_WIRE_MODEL_STATE_ABSENT;
}

/* Fills in until when and why a model waits for its device. */
static void fill_wait(const struct lmi_service *svc, const struct lmi_svc_model *m,
		      struct lmi_wire_resident *out)
{
	uint64_t left = m->fail_until > svc->now ? m->fail_until - svc->now : 0;

	out->retry_ms = (int64_t)((left + LMI_NS_PER_MS - 1) / LMI_NS_PER_MS);
	out->reason = lmi_svc_str(m->fail.text);
}

static bool is_waiting(const struct lmi_svc_model *m)
{
	return m->lost_device[0] && !m->current && !m->loading;
}

bool lmi_svc_fill_waiting(const struct lmi_service *svc, const struct lmi_svc_model *m,
			  struct lmi_wire_resident *out)
{
	if (!is_waiting(m))
		return false;
	for (const struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next)
		if (r->model == m && r->lost)
			return false; /* has a row */
	*out = (struct lmi_wire_resident){
		.model = lmi_svc_str(lmi_svc_model_name(m)),
		.state = LMI_WIRE_MODEL_STATE_FAILED,
		.backend = lmi_svc_str(""),
		.sampling = lmi_svc_str(""),
		.keep_alive_ms = m->load.keep_ms,
	};
	fill_wait(svc, m, out);
	return true;
}

void lmi_svc_fill_resident(const struct lmi_service *svc, const struct lmi_svc_loaded_model *r,
			   struct lmi_wire_resident *out)
{
	struct lmi_engine_info e;
	struct lmi_engine_stats s;

	*out = (struct lmi_wire_resident){.model = lmi_svc_str(lmi_svc_model_name(r->model)),
					  .state = resident_state(r),
					  .backend = lmi_svc_str(""),
					  .reason = lmi_svc_str(""),
					  .sampling = lmi_svc_str(""),
					  .active = r->n_running,
					  .waiting = lmi_svc_generate_n_waiting(svc, r),
					  .keep_alive_ms = r->load.keep_ms};
	if (r->lost && is_waiting(r->model))
		fill_wait(svc, r->model, out);
	if (r->state != LMI_SVC_MODEL_READY && r->state != LMI_SVC_MODEL_DRAINING)
		return;
	lmi_engine_info(r->engine, &e);
	out->backend = lmi_svc_str(e.backend);
	out->device = r->load.backend[0] ? r->load.device : r->inst.device;
	out->n_ctx = e.n_ctx;
	out->n_seq = e.n_seq;
	out->weight_bytes = (int64_t)e.weight_bytes;
	out->kv_bytes = (int64_t)e.kv_bytes;
	lmi_engine_stats(r->engine, &s);
	for (int g = 0; g < LMD_MAX_GROUP; g++)
		out->cached += s.n_cached[g];
	out->pinned = s.n_pinned;
	out->late_steps = (int64_t)s.n_over_bound;
	out->scratch_bytes = (int64_t)e.scratch_bytes;
	out->loaded_ms = (int64_t)((svc->now - r->ready_ns) / LMI_NS_PER_MS);
	if (r->placement)
		lmi_svc_fill_placement(r->placement, out);
	out->adapters = r->adapters.names;
	out->n_adapters = r->adapters.n;
	out->idle_ms = r->n_user ? 0 : (int64_t)((svc->now - r->idle_ns) / LMI_NS_PER_MS);
}

/* SPDX-License-Identifier: MIT
 *
 * What the operations ask of the service as a whole: whether it is open, and its counts. */
#include "service/service_state.h"

#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "service/model.h"

void lmi_service_close(struct lmi_service *svc)
{
	svc->closed = true;
}

void lmi_service_open(struct lmi_service *svc)
{
	if (!svc->stopping)
		svc->closed = false;
}

enum lmi_wire_server_state lmi_service_state(const struct lmi_service *svc)
{
	return svc->closed ? LMI_WIRE_SERVER_STATE_DRAINING : LMI_WIRE_SERVER_STATE_READY;
}

uint32_t lmi_svc_retry_ms(const struct lmi_service *svc)
{
	uint64_t ms =
		svc->mean_ns / LMI_NS_PER_MS * (svc->held.n_waiting + 1) / svc->limits.max_running;

	return (uint32_t)(ms < 100 ? 100 : ms > 60000 ? 60000 : ms);
}

void lmi_service_stats(const struct lmi_service *svc, struct lmi_service_stats *out)
{
	*out = svc->count;
	out->n_running = svc->held.n_running;
	out->n_waiting = svc->held.n_waiting;
	out->n_stream = svc->streams.n;
	out->n_parked = svc->streams.n_reader + svc->held.n_call;
	for (const struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = r->next) {
		struct lmi_engine_stats st;

		out->n_model++;
		if (r->state != LMI_SVC_MODEL_READY && r->state != LMI_SVC_MODEL_DRAINING)
			continue;
		lmi_engine_stats(r->engine, &st);
		out->n_step += st.n_step;
		for (int g = 0; g < LMD_MAX_GROUP; g++) {
			out->n_page += st.n_page[g];
			out->n_page_free += st.n_free[g];
		}
	}
}

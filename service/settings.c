/* SPDX-License-Identifier: MIT */
#include "service/settings.h"

#include "core/base/alloc.h"
#include "proto/proto.h"
#include "service/output.h"
#include "service/request.h"

#define N_OTHER 4

void lmi_svc_settings_keep(struct lmi_svc_output *o, const struct lmi_wire_req_generate *q,
			   const struct lmi_svc_settings *used)
{
	const struct lmi_wire_setting other[N_OTHER] = {
		{.name = lmi_svc_str("n"), .value = (double)used->n_predict},
		{.name = lmi_svc_str("context_shift"), .value = q->context_shift},
		{.name = lmi_svc_str("n_keep"), .value = (double)q->n_keep},
		{.name = lmi_svc_str("n_discard"), .value = (double)q->n_discard}};
	struct lmi_wire_setting *v = lmi_alloc(LMI_SAMPLER_N_SCALAR + N_OTHER, sizeof(*v));
	uint32_t n = 0;

	if (!v)
		return;
	for (uint32_t i = 0; i < LMI_SAMPLER_N_SCALAR && used->has_sampling; i++)
		v[n++] = (struct lmi_wire_setting){
			.name = lmi_svc_str(lmi_sampler_scalar_rows[i].name), .value = used->sampling[i]};
	for (uint32_t i = 0; i < N_OTHER; i++)
		v[n++] = other[i];
	lmi_free(o->settings);
	o->settings = v;
	o->n_settings = n;
}

/* SPDX-License-Identifier: MIT */
#include "service/settings.h"

#include "core/base/alloc.h"
#include "proto/proto.h"
#include "service/output.h"
#include "service/request.h"

uint32_t lmi_svc_settings_list(struct lmi_wire_setting *v, const struct lmi_wire_req_generate *q,
			       const struct lmi_svc_settings *used)
{
	const struct lmi_wire_setting other[LMI_SVC_SETTINGS_MAX - LMI_SAMPLER_N_SCALAR] = {
		{.name = lmi_svc_str("n"), .value = (double)used->n_predict},
		{.name = lmi_svc_str("context_shift"), .value = q->context_shift},
		{.name = lmi_svc_str("n_keep"), .value = (double)q->n_keep},
		{.name = lmi_svc_str("n_discard"), .value = (double)q->n_discard}};
	uint32_t n = 0;

	for (uint32_t i = 0; i < LMI_SAMPLER_N_SCALAR && used->has_sampling; i++)
		v[n++] = (struct lmi_wire_setting){
			.name = lmi_svc_str(lmi_sampler_scalar_rows[i].name), .value = used->sampling[i]};
	for (uint32_t i = 0; i < LMD_LEN(other); i++)
		v[n++] = other[i];
	return n;
}

void lmi_svc_settings_keep(struct lmi_svc_output *o, const struct lmi_wire_req_generate *q,
			   const struct lmi_svc_settings *used)
{
	struct lmi_wire_setting *v = lmi_alloc(LMI_SVC_SETTINGS_MAX, sizeof(*v));

	if (!v)
		return;
	lmi_free(o->settings);
	o->settings = v;
	o->n_settings = lmi_svc_settings_list(v, q, used);
}

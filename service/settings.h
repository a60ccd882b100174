/* SPDX-License-Identifier: MIT
 *
 * settings.h - what a generation is computed with, for clients that ask for it (report_settings).
 *
 * The values are those that the engine was given: of the request, of the model's section in the
 * configuration, of the model's file, or built in. */
#ifndef LLAMAD_SERVICE_SETTINGS_H
#define LLAMAD_SERVICE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/sample.h"

struct lmi_svc_output;
struct lmi_wire_req_generate; /* proto */
struct lmi_wire_setting;      /* proto */

/* What lmi_svc_prompt_run() used. */
struct lmi_svc_settings {
	bool has_sampling; /* false: the request has a chain of samplers instead */
	double sampling[LMI_SAMPLER_N_SCALAR];
	int64_t n_predict;
};

#define LMI_SVC_SETTINGS_MAX (LMI_SAMPLER_N_SCALAR + 4)

/* Writes the settings of a request to v[LMI_SVC_SETTINGS_MAX] and returns their number.  The names are
 * constants. */
uint32_t lmi_svc_settings_list(struct lmi_wire_setting *v, const struct lmi_wire_req_generate *q,
			       const struct lmi_svc_settings *used);
/* Lets the final item of the stream report the settings.  Without memory it does not. */
void lmi_svc_settings_keep(struct lmi_svc_output *o, const struct lmi_wire_req_generate *q,
			   const struct lmi_svc_settings *used);

#endif /* LLAMAD_SERVICE_SETTINGS_H */

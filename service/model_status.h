/* SPDX-License-Identifier: MIT
 *
 * model_status.h - the state of models, for the ops that report it. */
#ifndef LLAMAD_SERVICE_MODEL_STATUS_H
#define LLAMAD_SERVICE_MODEL_STATUS_H

#include "proto/proto.h"
#include "service/model.h"

/* Fills in a row of `ps`. */
void lmi_svc_fill_resident(const struct lmi_service *svc, const struct lmi_svc_loaded_model *r,
			   struct lmi_wire_resident *out);
/* Returns the state of a model, for `models`. */
enum lmi_wire_model_state lmi_svc_model_state(const struct lmi_service *svc,
					      const struct lmi_svc_model *m);

#endif /* LLAMAD_SERVICE_MODEL_STATUS_H */

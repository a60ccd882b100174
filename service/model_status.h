/* SPDX-License-Identifier: MIT
 *
 * model_status.h - the state of models, for the ops that report it. */
#ifndef LLAMAD_SERVICE_MODEL_STATUS_H
#define LLAMAD_SERVICE_MODEL_STATUS_H

#include "core/engine/engine.h"
#include "proto/proto.h"
#include "service/model.h"

/* What of a loaded model is on which device. */
struct lmi_svc_placement {
	struct lmi_engine_placement engine;
	struct lmi_wire_placement devices[LMI_ENGINE_MAX_DEVICE];
	struct lmi_wire_moved_ops moved[LMI_ENGINE_MAX_MOVED];
};
/* Fills in these members of the row; they refer to s. */
void lmi_svc_fill_placement(struct lmi_svc_placement *s, struct lmi_wire_resident *out);

/* Fills in a row of `ps`. */
void lmi_svc_fill_resident(const struct lmi_service *svc, const struct lmi_svc_loaded_model *r,
			   struct lmi_wire_resident *out);
/* Fills in the row of a model that waits for its device; returns false if it does not, or if the engine
 * that lost the device still has a row. */
bool lmi_svc_fill_waiting(const struct lmi_service *svc, const struct lmi_svc_model *m,
			  struct lmi_wire_resident *out);
/* Returns the state of a model, for `models`. */
enum lmi_wire_model_state lmi_svc_model_state(const struct lmi_service *svc,
					      const struct lmi_svc_model *m);

#endif /* LLAMAD_SERVICE_MODEL_STATUS_H */

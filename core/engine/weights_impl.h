/* SPDX-License-Identifier: MIT
 *
 * weights_impl.h - how weights are described to a backend, for weights.c and repack_cache.c. */
#ifndef LLAMAD_CORE_ENGINE_WEIGHTS_IMPL_H
#define LLAMAD_CORE_ENGINE_WEIGHTS_IMPL_H

#include "core/engine/instance.h"

/* Scales and biases of a weight as f32. */
struct lmi_weight_floats {
	float *scale, *bias;
};

/* Fills in the backend's description of an operand, whose pieces are valid until the next call. *f owns the
 * numbers of scale and bias, also after an error. */
enum lmd_status lmi_engine_weights_describe(struct lmi_engine_weights *w, const struct lmd_weight_ref *ref,
					    struct lmi_weight_floats *f, struct lmd_weight_desc *d,
					    struct lmd_error *err);
void lmi_engine_weights_floats_free(struct lmi_weight_floats *f);

#endif /* LLAMAD_CORE_ENGINE_WEIGHTS_IMPL_H */

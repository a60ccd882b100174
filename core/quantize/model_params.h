/* SPDX-License-Identifier: MIT
 *
 * model_params.h - numbers of a model as the new file will state them: keys of the options override
 * those of the source. */
#ifndef LLAMAD_CORE_QUANTIZE_MODEL_PARAMS_H
#define LLAMAD_CORE_QUANTIZE_MODEL_PARAMS_H

#include "core/quantize/type_policy.h"
#include "core/quantize/quantize.h"

/* Returns NULL if neither has the key. */
const struct lmd_meta *lmi_quantize_find_key(const struct lmi_quantize_opts *o,
					     const struct lmd_model *v, const char *key);

/* The key ARCH.suffix as an integer, for an array its first element; `absent` if there is none. */
int64_t lmi_quantize_find_int(const struct lmi_quantize_opts *o, const struct lmd_model *v,
			      const char *suffix, int64_t absent);

void lmi_quantize_model_params(const struct lmi_quantize_opts *o, const struct lmd_model *v,
			       struct lmi_quantize_mix_params *out);

#endif /* LLAMAD_CORE_QUANTIZE_MODEL_PARAMS_H */

/* SPDX-License-Identifier: MIT
 *
 * sample_args.h - checks the arguments of a sampler against its table. */
#ifndef LLAMAD_CORE_ENGINE_SAMPLE_ARGS_H
#define LLAMAD_CORE_ENGINE_SAMPLE_ARGS_H

#include "core/engine/sample.h"

/* More parameters than any sampler has; a plugin with more is rejected. */
#define LMI_SAMPLER_PARAMS 32

/* Fills in values[ops->n_params], with defaults for missing arguments, and the common parameters in
 * *in. LMD_INVALID: the message has the parameter, the value and the limits. */
enum lmd_status lmi_sampler_args(const struct lmd_sampler_ops *ops,
				 const struct lmi_sampler_spec *spec,
				 struct lmd_value_param *values, struct lmd_sampler_init *in,
				 struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_SAMPLE_ARGS_H */

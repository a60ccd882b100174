/* SPDX-License-Identifier: MIT
 *
 * sample_args.h - the arguments of a sampler, checked against its table. */
#ifndef LLAMAD_CORE_ENGINE_SAMPLE_ARGS_H
#define LLAMAD_CORE_ENGINE_SAMPLE_ARGS_H

#include "core/engine/sample.h"

/* More parameters than any sampler has; a plugin beyond it is refused. */
#define LMI_SAMPLER_PARAMS 32

/* Fills values[ops->n_params], defaults where an argument is missing, and what is common in *in.
 * LMD_INVALID: the parameter, the value, the bound. */
enum lmd_status lmi_sampler_args(const struct lmd_sampler_ops *ops,
				 const struct lmi_sampler_spec *spec,
				 struct lmd_value_param *values, struct lmd_sampler_init *in,
				 struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_SAMPLE_ARGS_H */

/* SPDX-License-Identifier: MIT
 *
 * sample_args.h - arguments of samplers: those that the plain parameters set, and the check of any
 * against the table of its sampler. */
#ifndef LLAMAD_CORE_ENGINE_SAMPLE_ARGS_H
#define LLAMAD_CORE_ENGINE_SAMPLE_ARGS_H

#include "core/engine/sample.h"

/* A parameter of a request that sets an argument of a sampler; the rows are generated. */
struct lmi_sampler_arg_row {
	const char *sampler, *name;
	enum lmd_param_type type;
	bool window;   /* -1 stands for n_ctx */
	bool optional; /* has_at is valid: a list that may be missing */
	uint32_t n_usual;
	size_t at, n_at, has_at;     /* offsets in struct lmi_sampler_params; n_at only for lists */
	const struct lmd_str *usual; /* [n_usual] value of a missing list */
};
extern const struct lmi_sampler_arg_row lmi_sampler_arg_rows[];
extern const size_t lmi_sampler_n_arg_rows;

/* More parameters than any sampler has; a plugin with more is rejected. */
#define LMI_SAMPLER_PARAMS 32

/* Fills in values[ops->n_params], with defaults for missing arguments, and the common parameters in
 * *in. LMD_INVALID: the message has the parameter, the value and the limits. */
enum lmd_status lmi_sampler_args(const struct lmd_sampler_ops *ops,
				 const struct lmi_sampler_spec *spec,
				 struct lmd_param_value *values, struct lmd_sampler_init *in,
				 struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_SAMPLE_ARGS_H */

/* SPDX-License-Identifier: MIT
 *
 * sampling_args.h - sampling options: how `run` and `generate` choose tokens.
 *
 * The options of single parameters and the members of the request that they set are made from
 * proto/schema/sampling.json. */
#ifndef LLAMAD_LLAMACTL_SAMPLING_ARGS_H
#define LLAMAD_LLAMACTL_SAMPLING_ARGS_H

#include "client/llamactl/ctl.h"
#include "client/llamactl/sampling_opts.gen.h"
#include "proto/proto.h"

/* Rows of an option table. */
/* clang-format off */
#define LMI_CTL_OPTS_SAMPLING \
	LMI_CTL_OPTS_SAMPLING_PARAMS \
	{.name = "order", \
	 .type = LMI_OPT_STR, \
	 .value = "ORDER", \
	 .doc = "Order of the samplers: default, temperature-first, letters such as edskypmxt, " \
		"or names separated by commas."}, \
	{.name = "chain", \
	 .type = LMI_OPT_STR, \
	 .value = "JSON", \
	 .doc = "Sampler chain with its parameters, instead of the sampling options above: " \
		"'[{\"sampler\": \"top_k\", \"k\": 5}, \"dist\"]'. The last sampler chooses " \
		"the token."}
/* clang-format on */

/* Sets the sampling members of a request whose options were given.  What they point to is in the
 * arena or belongs to ctl. */
enum lmd_status lmi_ctl_sampling(struct lmi_wire_req_generate *q, struct lmi_ctl *ctl,
				 struct lmd_arena *arena, struct lmd_error *err);

/* Returns the values of an option that may be repeated, as an array in the arena. */
enum lmd_status lmi_ctl_arg_texts(const struct lmi_args *a, const char *opt,
				  struct lmd_arena *arena, const struct lmd_str **out, uint32_t *n,
				  struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_SAMPLING_ARGS_H */

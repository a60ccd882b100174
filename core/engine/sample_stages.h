/* SPDX-License-Identifier: MIT
 *
 * sample_stages.h - sampler chains that a device can run: as stages of a TAIL plan (llamad/op.h,
 * SAMPLE).
 *
 * One list of stages serves the rows of a step whatever their chains: a chain is mapped to parameters
 * of the list, and a stage that it lacks gets parameters that change nothing. SAMPLE and the samplers of
 * the host have the same definition, so a device that computes it exactly chooses the same tokens. */
#ifndef LLAMAD_CORE_ENGINE_SAMPLE_STAGES_H
#define LLAMAD_CORE_ENGINE_SAMPLE_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/op.h"
#include "llamad/sampler.h"

/* The list; DIST follows. Each stage has one parameter. */
enum {
	LMI_SAMPLER_STAGE_TEMP_FIRST, /* before the others */
	LMI_SAMPLER_STAGE_TOP_K,
	LMI_SAMPLER_STAGE_TOP_P,
	LMI_SAMPLER_STAGE_MIN_P,
	LMI_SAMPLER_STAGE_TEMP,
	LMI_SAMPLER_N_STAGE
};
extern const uint32_t lmi_sampler_stage_codes[LMI_SAMPLER_N_STAGE]; /* enum lmd_sample_stage */

struct lmi_sampler_stages {
	float param[LMI_SAMPLER_N_STAGE];
	uint64_t seed;
	uint32_t next; /* the first stage that the next sampler may be */
	bool failed;   /* a sampler is none of the stages, or comes in another order */
	bool complete; /* the last sampler chooses: they stand for the whole chain */
};

/* Parameters that change nothing. */
void lmi_sampler_stages_init(struct lmi_sampler_stages *s);
/* Adds the next sampler of a chain, by its name. */
void lmi_sampler_stages_add(struct lmi_sampler_stages *s, const char *name,
			    const struct lmd_sampler_ops *ops, const struct lmd_sampler_init *in);

#endif /* LLAMAD_CORE_ENGINE_SAMPLE_STAGES_H */

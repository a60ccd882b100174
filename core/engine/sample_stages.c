/* SPDX-License-Identifier: MIT
 *
 * Maps the samplers of a chain to the stages of a device. A sampler that would do more than its stage,
 * or does it in an order in which rounding could show, is not mapped. */
#include "core/engine/sample_stages.h"

#include <string.h>

const uint32_t lmi_sampler_stage_codes[LMI_SAMPLER_N_STAGE] = {
	[LMI_SAMPLER_STAGE_TEMP_FIRST] = LMD_STAGE_TEMPERATURE,
	[LMI_SAMPLER_STAGE_TOP_K] = LMD_STAGE_TOP_K,
	[LMI_SAMPLER_STAGE_TOP_P] = LMD_STAGE_TOP_P,
	[LMI_SAMPLER_STAGE_MIN_P] = LMD_STAGE_MIN_P,
	[LMI_SAMPLER_STAGE_TEMP] = LMD_STAGE_TEMPERATURE,
};

/* Whole numbers up to this one are exact in a parameter. */
#define WHOLE_MAX (1 << 24)

static const float neutral[LMI_SAMPLER_N_STAGE] = {
	[LMI_SAMPLER_STAGE_TEMP_FIRST] = 1, [LMI_SAMPLER_STAGE_TOP_P] = 1,
	[LMI_SAMPLER_STAGE_TEMP] = 1,
};

void lmi_sampler_stages_init(struct lmi_sampler_stages *s)
{
	*s = (struct lmi_sampler_stages){0};
	memcpy(s->param, neutral, sizeof(s->param));
}

/* Returns the value of a parameter, or NULL. */
static const struct lmd_param_value *find(const struct lmd_sampler_ops *ops,
					  const struct lmd_sampler_init *in, const char *name,
					  enum lmd_param_type type)
{
	for (uint32_t i = 0; i < ops->n_params; i++)
		if (!strcmp(ops->params[i].name, name) && ops->params[i].type == type)
			return &in->params[i];
	return NULL;
}

/* Sets the first stage with this code that may come next. */
static bool set(struct lmi_sampler_stages *s, uint32_t code, float v)
{
	while (s->next < LMI_SAMPLER_N_STAGE && lmi_sampler_stage_codes[s->next] != code)
		s->next++;
	if (s->next == LMI_SAMPLER_N_STAGE)
		return false;
	s->param[s->next++] = v;
	return true;
}

static bool set_float(struct lmi_sampler_stages *s, uint32_t code,
		      const struct lmd_param_value *v)
{
	return v && set(s, code, (float)v->f);
}

static bool add_top_k(struct lmi_sampler_stages *s, const struct lmd_param_value *k)
{
	return k && k->i <= WHOLE_MAX && set(s, LMD_STAGE_TOP_K, k->i > 0 ? (float)k->i : 0);
}

/* top_p or min_p; a stage keeps one candidate at least. */
static bool add_p(struct lmi_sampler_stages *s, uint32_t code, const struct lmd_sampler_ops *ops,
		  const struct lmd_sampler_init *in)
{
	const struct lmd_param_value *keep = find(ops, in, "min_keep", LMD_PARAM_INT);

	return (!keep || keep->i <= 1) && set_float(s, code, find(ops, in, "p", LMD_PARAM_FLOAT));
}

/* The greatest of what other samplers left. Equal quotients of a temperature may be in another order
 * on the host. */
static bool add_greedy(struct lmi_sampler_stages *s)
{
	if (s->param[LMI_SAMPLER_STAGE_TEMP_FIRST] != 1 || s->param[LMI_SAMPLER_STAGE_TEMP] != 1)
		return false;
	memcpy(s->param, neutral, sizeof(s->param));
	s->param[LMI_SAMPLER_STAGE_TOP_K] = 1;
	return true;
}

static bool add(struct lmi_sampler_stages *s, const char *name, const struct lmd_sampler_ops *ops,
		const struct lmd_sampler_init *in)
{
	if (!strcmp(name, "temp"))
		return set_float(s, LMD_STAGE_TEMPERATURE, find(ops, in, "t", LMD_PARAM_FLOAT));
	if (!strcmp(name, "top_k"))
		return add_top_k(s, find(ops, in, "k", LMD_PARAM_INT));
	if (!strcmp(name, "top_p"))
		return add_p(s, LMD_STAGE_TOP_P, ops, in);
	if (!strcmp(name, "min_p"))
		return add_p(s, LMD_STAGE_MIN_P, ops, in);
	s->complete = true;
	s->seed = in->seed;
	return !strcmp(name, "dist") || (!strcmp(name, "greedy") && add_greedy(s));
}

void lmi_sampler_stages_add(struct lmi_sampler_stages *s, const char *name,
			    const struct lmd_sampler_ops *ops, const struct lmd_sampler_init *in)
{
	s->failed = s->failed || s->complete || !add(s, name, ops, in);
	s->complete = s->complete && !s->failed;
}

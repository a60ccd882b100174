/* SPDX-License-Identifier: MIT
 *
 * The sampling parameters that are one number, by row: their values in a struct, and those that the
 * file of a model recommends. */
#include "core/engine/sample.h"

#include <string.h>

#include "llamad/model.h"

int lmi_sampler_scalar_find(const char *name)
{
	for (int i = 0; i < LMI_SAMPLER_N_SCALAR; i++)
		if (!strcmp(lmi_sampler_scalar_rows[i].name, name))
			return i;
	return -1;
}

double lmi_sampler_scalar_get(const struct lmi_sampler_params *p, uint32_t row)
{
	const struct lmi_sampler_scalar_row *r = &lmi_sampler_scalar_rows[row];
	const void *at = (const char *)p + r->at;

	return r->type == LMD_PARAM_INT ? (double)*(const int64_t *)at : *(const double *)at;
}

void lmi_sampler_params_set(struct lmi_sampler_params *p, const struct lmi_sampler_scalars *from)
{
	for (uint32_t i = 0; i < LMI_SAMPLER_N_SCALAR; i++) {
		const struct lmi_sampler_scalar_row *r = &lmi_sampler_scalar_rows[i];
		void *at = (char *)p + r->at;

		if (!from->has[i])
			continue;
		if (r->type == LMD_PARAM_INT)
			*(int64_t *)at = (int64_t)from->value[i];
		else
			*(double *)at = from->value[i];
	}
}

/* A file may have a whole number where a request has a float, and the other way round. */
static bool number(const struct lmd_meta *v, double *out)
{
	if (v->type == LMD_META_I64)
		*out = (double)v->v.i;
	else if (v->type == LMD_META_U64)
		*out = (double)v->v.u;
	else if (v->type == LMD_META_F64)
		*out = v->v.f;
	else
		return false;
	return true;
}

void lmi_sampler_scalars_of_model(struct lmi_sampler_scalars *out, const struct lmd_model *m)
{
	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < LMI_SAMPLER_N_SCALAR; i++) {
		const struct lmi_sampler_scalar_row *r = &lmi_sampler_scalar_rows[i];
		const struct lmd_meta *v = r->key ? m->find_meta(m, r->key) : NULL;
		double x;

		if (!v || !number(v, &x) || !(x >= r->min && x <= r->max))
			continue;
		if (r->type == LMD_PARAM_INT && x != (double)(int64_t)x)
			continue;
		out->value[i] = x;
		out->has[i] = true;
	}
}

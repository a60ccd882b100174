/* SPDX-License-Identifier: MIT
 *
 * Numbers of a model, looked up in the options first. */
#include "core/quantize/model_params.h"

#include <stdio.h>
#include <string.h>

const struct lmd_meta *lmi_quantize_find_key(const struct lmi_quantize_opts *o,
					     const struct lmd_model *v, const char *key)
{
	for (uint32_t i = 0; i < o->n_keys; i++)
		if (!strcmp(o->keys[i].key, key))
			return &o->keys[i];
	return v->find_meta(v, key);
}

int64_t lmi_quantize_find_int(const struct lmi_quantize_opts *o, const struct lmd_model *v,
			      const char *suffix, int64_t absent)
{
	const struct lmd_meta *k;
	char key[128];

	if (!v->arch)
		return absent;
	(void)snprintf(key, sizeof(key), "%s.%s", v->arch, suffix);
	k = lmi_quantize_find_key(o, v, key);
	if (k && k->type == LMD_META_I64)
		return k->v.i;
	if (k && k->type == LMD_META_ARR_I64 && k->n)
		return ((const int64_t *)k->v.a)[0];
	return absent;
}

void lmi_quantize_model_params(const struct lmi_quantize_opts *o, const struct lmd_model *v,
			       struct lmi_quantize_mix_params *out)
{
	*out = (struct lmi_quantize_mix_params){
		.traits = o->arch && o->arch->quant ? *o->arch->quant : (struct lmd_quant_traits){0},
		.n_layer = lmi_quantize_find_int(o, v, "block_count", 0),
		.n_head = lmi_quantize_find_int(o, v, "attention.head_count", 0),
		.n_expert = lmi_quantize_find_int(o, v, "expert_count", 0),
		.has_output = v->find_tensor(v, "output.weight") != NULL,
		.has_imatrix = o->imatrix != NULL,
	};
	out->n_head_kv = lmi_quantize_find_int(o, v, "attention.head_count_kv", out->n_head);
}

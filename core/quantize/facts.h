/* SPDX-License-Identifier: MIT
 *
 * facts.h - numbers of a model as the new file will state them: keys of the options override those
 * of the source. */
#ifndef LLAMAD_CORE_QUANTIZE_FACTS_H
#define LLAMAD_CORE_QUANTIZE_FACTS_H

#include "core/quantize/mix.h"
#include "core/quantize/quantize.h"

/* Returns NULL if neither has the key. */
const struct lmd_meta *lmi_quantize_key(const struct lmi_quantize_opts *o,
					const struct lmd_model *v, const char *key);

/* The key ARCH.suffix as an integer, for an array its first element; `absent` if there is none. */
int64_t lmi_quantize_number(const struct lmi_quantize_opts *o, const struct lmd_model *v,
			    const char *suffix, int64_t absent);

void lmi_quantize_facts(const struct lmi_quantize_opts *o, const struct lmd_model *v,
			struct lmi_mix_facts *out);

#endif /* LLAMAD_CORE_QUANTIZE_FACTS_H */

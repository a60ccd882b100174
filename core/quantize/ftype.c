/* SPDX-License-Identifier: MIT
 *
 * The table of file types. */
#include "core/quantize/quantize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* clang-format off */
#define ROW(ID, dtype, other)                                                                      \
	[LMI_FTYPE_##ID] = {.id = LMI_FTYPE_##ID, .name = #ID, .alias = other,                     \
			    .type = LMD_DTYPE_##dtype}

static const struct lmi_ftype table[LMI_FTYPE_END] = {
	ROW(F32, F32, NULL),
	ROW(F16, F16, NULL),
	ROW(BF16, BF16, NULL),
	ROW(Q4_0, Q4_0, NULL),
	ROW(Q4_1, Q4_1, NULL),
	ROW(Q5_0, Q5_0, NULL),
	ROW(Q5_1, Q5_1, NULL),
	ROW(Q8_0, Q8_0, NULL),
	ROW(Q2_K, Q2_K, NULL),
	ROW(Q2_K_S, Q2_K, NULL),
	ROW(Q3_K_S, Q3_K, NULL),
	ROW(Q3_K_M, Q3_K, "Q3_K"),
	ROW(Q3_K_L, Q3_K, NULL),
	ROW(Q4_K_S, Q4_K, NULL),
	ROW(Q4_K_M, Q4_K, "Q4_K"),
	ROW(Q5_K_S, Q5_K, NULL),
	ROW(Q5_K_M, Q5_K, "Q5_K"),
	ROW(Q6_K, Q6_K, NULL),
	ROW(IQ1_S, IQ1_S, NULL),
	ROW(IQ1_M, IQ1_M, NULL),
	ROW(IQ2_XXS, IQ2_XXS, NULL),
	ROW(IQ2_XS, IQ2_XS, NULL),
	ROW(IQ2_S, IQ2_XS, NULL), /* a file of this name is mostly IQ2_XS, and IQ2_M mostly IQ2_S */
	ROW(IQ2_M, IQ2_S, NULL),
	ROW(IQ3_XXS, IQ3_XXS, NULL),
	ROW(IQ3_XS, IQ3_S, NULL),
	ROW(IQ3_S, IQ3_S, NULL),
	ROW(IQ3_M, IQ3_S, NULL),
	ROW(IQ4_NL, IQ4_NL, NULL),
	ROW(IQ4_XS, IQ4_XS, NULL),
	ROW(TQ1_0, TQ1_0, NULL),
	ROW(TQ2_0, TQ2_0, NULL),
	ROW(MXFP4_MOE, MXFP4, "MXFP4"),
	ROW(NVFP4, NVFP4, NULL),
	ROW(Q1_0, Q1_0, NULL),
	ROW(Q2_0, Q2_0, NULL),
	ROW(Q6_0, Q6_0, NULL),
	ROW(IQ1_BN, IQ1_BN, NULL),
	ROW(IQ2_BN, IQ2_BN, NULL),
	ROW(IQ2_K, IQ2_K, NULL),
	ROW(IQ3_K, IQ3_K, NULL),
	ROW(IQ4_K, IQ4_K, NULL),
	ROW(IQ5_K, IQ5_K, NULL),
	ROW(IQ6_K, IQ6_K, NULL),
	ROW(IQ4_KS, IQ4_KS, NULL),
	ROW(IQ3_KL, IQ3_K, NULL), /* a mix of IQ3_K and IQ4_KS */
	ROW(IQ2_KS, IQ2_KS, NULL),
	ROW(IQ4_KSS, IQ4_KSS, NULL),
	ROW(Q8_KV, Q8_KV, NULL),
	ROW(IQ5_KS, IQ5_KS, NULL),
	ROW(IQ3_KS, IQ3_KS, NULL),
	ROW(IQ2_KL, IQ2_KL, NULL),
	ROW(IQ1_KT, IQ1_KT, NULL),
	ROW(IQ2_KT, IQ2_KT, NULL),
	ROW(IQ3_KT, IQ3_KT, NULL),
	ROW(IQ4_KT, IQ4_KT, NULL),
};
/* clang-format on */

const struct lmi_ftype *lmi_ftype(uint32_t id)
{
	return id < LMI_FTYPE_END && table[id].name ? &table[id] : NULL;
}

const struct lmi_ftype *lmi_ftype_by_name(const char *name)
{
	char *end;
	unsigned long id;

	for (uint32_t i = 0; i < LMI_FTYPE_END; i++)
		if (table[i].name && (!strcasecmp(table[i].name, name) ||
				      (table[i].alias && !strcasecmp(table[i].alias, name))))
			return &table[i];
	if (name[0] < '0' || name[0] > '9')
		return NULL;
	id = strtoul(name, &end, 10);
	return *end || id >= LMI_FTYPE_END ? NULL : lmi_ftype((uint32_t)id);
}

const char *lmi_ftype_names(char *buf, size_t n)
{
	size_t at = 0;

	buf[0] = 0;
	for (uint32_t i = 0; i < LMI_FTYPE_END; i++)
		if (table[i].name && at < n)
			at += (size_t)snprintf(buf + at, n - at, at ? " %s" : "%s", table[i].name);
	return buf;
}

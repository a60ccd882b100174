/* SPDX-License-Identifier: MIT
 *
 * File types.  The mixes of several tensor types are listed here; a file of one type is described by
 * that type (struct lmi_dtype). */
#include "core/quant/ftype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/quant/quant.h"

/* clang-format off */
#define ROW(ID, dtype, other) {LMI_FTYPE_##ID, #ID, other, LMD_DTYPE_##dtype}

static const struct lmi_ftype mixes[] = {
	ROW(Q2_K_S, Q2_K, NULL),
	ROW(Q3_K_S, Q3_K, NULL),
	ROW(Q3_K_M, Q3_K, "Q3_K"),
	ROW(Q3_K_L, Q3_K, NULL),
	ROW(Q4_K_S, Q4_K, NULL),
	ROW(Q4_K_M, Q4_K, "Q4_K"),
	ROW(Q5_K_S, Q5_K, NULL),
	ROW(Q5_K_M, Q5_K, "Q5_K"),
	ROW(IQ2_S, IQ2_XS, NULL), /* a file of this name is mostly IQ2_XS, and IQ2_M mostly IQ2_S */
	ROW(IQ2_M, IQ2_S, NULL),
	ROW(IQ3_XS, IQ3_S, NULL),
	ROW(IQ3_M, IQ3_S, NULL),
	ROW(MXFP4_MOE, MXFP4, "MXFP4"),
	ROW(IQ3_KL, IQ3_K, NULL), /* a mix of IQ3_K and IQ4_KS */
};
/* clang-format on */

const struct lmi_ftype *lmi_ftype(uint32_t id)
{
	for (size_t i = 0; i < LMD_LEN(mixes); i++)
		if (mixes[i].id == id)
			return &mixes[i];
	for (uint32_t i = 0; i < LMD_DTYPE_END; i++) {
		const struct lmi_dtype *t = lmi_dtype(i);

		if (t && t->file_type.name && t->file_type.id == id)
			return &t->file_type;
	}
	return NULL;
}

const struct lmi_ftype *lmi_ftype_by_name(const char *name)
{
	char *end;
	unsigned long id;

	for (uint32_t i = 0; i < LMI_FTYPE_END; i++) {
		const struct lmi_ftype *t = lmi_ftype(i);

		if (t && (!strcasecmp(t->name, name) || (t->alias && !strcasecmp(t->alias, name))))
			return t;
	}
	if (name[0] < '0' || name[0] > '9')
		return NULL;
	id = strtoul(name, &end, 10);
	return *end || id >= LMI_FTYPE_END ? NULL : lmi_ftype((uint32_t)id);
}

const char *lmi_ftype_names(char *buf, size_t n)
{
	size_t at = 0;

	buf[0] = 0;
	for (uint32_t i = 0; i < LMI_FTYPE_END; i++) {
		const struct lmi_ftype *t = lmi_ftype(i);

		if (t && at < n)
			at += (size_t)snprintf(buf + at, n - at, at ? " %s" : "%s", t->name);
	}
	return buf;
}

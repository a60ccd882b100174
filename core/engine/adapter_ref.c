/* SPDX-License-Identifier: MIT */
#include "core/engine/adapter_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"

/* Returns whether the text is a number, "inf", "nan" and those out of range included: a file whose
 * name ends in such a text needs a scale. */
static bool is_number(const char *text, float *value)
{
	char *end = NULL;
	float v = *text && !strchr(" \t", *text) ? strtof(text, &end) : 0;

	if (!end || end == text || *end)
		return false;
	*value = v;
	return true;
}

enum lmd_status lmi_engine_adapter_ref_parse(struct lmi_engine_adapter_ref *out,
					     const struct lmd_str *text, struct lmd_error *err)
{
	char *path = lmi_strndup(text->ptr, text->len), *colon, shown[124];
	enum lmd_status st = LMD_OK;
	float scale = 1;

	if (!path)
		return lmd_fail(err, LMD_NOMEM, "no memory for the path of an adapter");
	colon = strrchr(path, ':');
	(void)lmi_printable(shown, sizeof(shown), text->ptr, text->len);
	if (colon && is_number(colon + 1, &scale))
		*colon = 0;
	if (!*path || memchr(text->ptr, 0, text->len))
		st = lmd_fail(err, LMD_INVALID, "'%s' is not FILE[:SCALE]", shown);
	else if (!(fabsf(scale) <= LMI_ENGINE_ADAPTER_SCALE_MAX))
		st = lmd_fail(err, LMD_INVALID, "'%s': the scale must be a number within -%g..%g",
			      shown, (double)LMI_ENGINE_ADAPTER_SCALE_MAX,
			      (double)LMI_ENGINE_ADAPTER_SCALE_MAX);
	if (st == LMD_OK)
		*out = (struct lmi_engine_adapter_ref){.path = path, .scale = scale};
	else
		lmi_free(path);
	return st;
}

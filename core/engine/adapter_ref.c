/* SPDX-License-Identifier: MIT */
#include "core/engine/adapter_ref.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/base/siphash.h"

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

void lmi_engine_adapter_stat(struct stat *sb, const char *path)
{
	char inner[PATH_MAX];
	int n;

	*sb = (struct stat){0};
	if (stat(path, sb) || !S_ISDIR(sb->st_mode))
		return;
	n = snprintf(inner, sizeof(inner), "%s/adapter_model.safetensors", path);
	if (n > 0 && (size_t)n < sizeof(inner))
		(void)stat(inner, sb);
}

uint64_t lmi_engine_adapter_key(const struct lmi_engine_adapter_ref *refs, uint32_t n)
{
	uint64_t key[2] = {0, n};

	for (uint32_t i = 0; i < n; i++) {
		struct stat sb;
		uint64_t v[6];

		lmi_engine_adapter_stat(&sb, refs[i].path);
		v[0] = (uint64_t)sb.st_dev;
		v[1] = (uint64_t)sb.st_ino;
		v[2] = (uint64_t)sb.st_size;
		v[3] = (uint64_t)sb.st_mtim.tv_sec;
		v[4] = (uint64_t)sb.st_mtim.tv_nsec;
		v[5] = lmi_f32_bits(refs[i].scale);
		key[0] = lmi_siphash(key, v, sizeof(v));
	}
	return key[0] ? key[0] : 1;
}

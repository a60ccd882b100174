/* SPDX-License-Identifier: MIT
 *
 * What a reload changes: which keys differ, and whether a running daemon can take them over. */
#include <stdio.h>
#include <string.h>

#include "daemon/config.h"
#include "service/preset_sections.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same(const struct lmi_config_row *row, const struct lmi_config *a,
		 const struct lmi_config *b)
{
	const char *x = (const char *)a + row->at, *y = (const char *)b + row->at;

	if (row->opt.type == LMI_OPT_STR)
		return same_text(*(const char *const *)x, *(const char *const *)y);
	if (row->opt.type == LMI_OPT_LIST) {
		const struct lmi_config_list *p = (const struct lmi_config_list *)x;
		const struct lmi_config_list *q = (const struct lmi_config_list *)y;

		if (p->n != q->n)
			return false;
		for (uint32_t i = 0; i < p->n; i++)
			if (strcmp(p->item[i], q->item[i]))
				return false;
		return true;
	}
	return *(const int64_t *)x == *(const int64_t *)y;
}

enum lmd_status lmi_config_may_replace(const struct lmi_config *from, const struct lmi_config *to,
				       struct lmd_error *err)
{
	struct lmi_config_table t;
	char key[LMI_CONFIG_KEY_BYTES];

	lmi_config_table_init(&t);
	for (uint32_t i = 0; i < t.n; i++)
		if (!t.row[i].live && !same(&t.row[i], from, to))
			return lmd_fail(err, LMD_UNSUPPORTED,
					"'%s' in [%s] has changed, which requires a restart of "
					"llamad",
					lmi_config_key(&t.row[i], key, sizeof(key)),
					t.row[i].section);
	return LMD_OK;
}

bool lmi_config_section_changed(const struct lmi_config *from, const struct lmi_config *to,
				const char *section)
{
	struct lmi_config_table t;

	lmi_config_table_init(&t);
	for (uint32_t i = 0; i < t.n; i++)
		if (!strcmp(t.row[i].section, section) && !same(&t.row[i], from, to))
			return true;
	return false;
}

uint32_t lmi_config_changes(const struct lmi_config *from, const struct lmi_config *to,
			    char (*keys)[LMI_CONFIG_KEY_BYTES], uint32_t max)
{
	struct lmi_config_table t;
	uint32_t n = 0;

	lmi_config_table_init(&t);
	if (max && !lmi_svc_preset_same_lists(from->presets, from->n_presets, to->presets, to->n_presets))
		(void)snprintf(keys[n++], LMI_CONFIG_KEY_BYTES, "model");
	for (uint32_t i = 0; i < t.n && n < max; i++)
		if (!same(&t.row[i], from, to))
			lmi_config_key(&t.row[i], keys[n++], LMI_CONFIG_KEY_BYTES);
	return n;
}

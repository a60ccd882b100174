/* SPDX-License-Identifier: MIT */
#include "client/llamactl/key_args.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/format/gguf/write.h"

static enum lmd_status int_value(const char *text, struct lmd_meta *m, struct lmd_error *err)
{
	int64_t v;
	enum lmd_status st = lmi_cli_parse_int("its value", text, &v, err);

	if (st != LMD_OK)
		return st;
	m->type = LMD_META_I64;
	m->v.i = v;
	m->file_type = v < INT32_MIN   ? LMI_GGUF_I64
		       : v < 0	       ? LMI_GGUF_I32
		       : v <= UINT32_MAX ? LMI_GGUF_U32
				       : LMI_GGUF_U64;
	return LMD_OK;
}

/* Parses TYPE:VALUE; m->key is already set. */
static enum lmd_status set_value(const char *text, struct lmd_meta *m, struct lmd_error *err)
{
	m->n = 1;
	if (!strncmp(text, "int:", 4))
		return int_value(text + 4, m, err);
	if (!strncmp(text, "float:", 6)) {
		m->type = LMD_META_F64;
		m->file_type = LMI_GGUF_F32;
		return lmi_cli_parse_float("its value", text + 6, &m->v.f, err);
	}
	if (!strcmp(text, "bool:true") || !strcmp(text, "bool:false")) {
		m->type = LMD_META_BOOL;
		m->file_type = LMI_GGUF_BOOL;
		m->v.i = text[5] == 't';
		return LMD_OK;
	}
	if (!strncmp(text, "str:", 4)) {
		m->type = LMD_META_STR;
		m->file_type = LMI_GGUF_STRING;
		m->v.s = (struct lmd_str){text + 4, strlen(text + 4)};
		return LMD_OK;
	}
	return lmd_fail(err, LMD_INVALID,
			"'%.40s' is not one of int:N, float:X, bool:true, bool:false, str:TEXT",
			text);
}

enum lmd_status lmi_ctl_key_args(struct lmi_ctl *ctl, const char *option, struct lmd_meta **out,
				 uint32_t *n, struct lmd_error *err)
{
	const char *const *list;
	uint32_t n_list = lmi_arg_list(&ctl->args, option, &list);
	struct lmd_error why;

	*n = 0;
	*out = lmi_alloc(n_list + 1u, sizeof(**out));
	if (!*out)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u keys", n_list);
	for (uint32_t i = 0; i < n_list; i++) {
		const char *eq = strchr(list[i], '=');
		struct lmd_meta *m = *out + i;

		if (!eq || eq == list[i])
			return lmi_ctl_usage(ctl, err, "--%s '%.60s' is not KEY=TYPE:VALUE", option,
					     list[i]);
		m->key = lmi_strndup(list[i], (size_t)(eq - list[i]));
		if (!m->key)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u keys", n_list);
		*n = i + 1;
		if (set_value(eq + 1, m, &why) != LMD_OK)
			return lmi_ctl_usage(ctl, err, "--%s %.60s: %.120s", option, m->key,
					     why.text);
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp((*out)[k].key, m->key))
				return lmi_ctl_usage(ctl, err, "--%s: key %.60s is given twice",
						     option, m->key);
	}
	return LMD_OK;
}

void lmi_ctl_key_args_fini(struct lmd_meta *keys, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		lmi_free((char *)(uintptr_t)keys[i].key);
	lmi_free(keys);
}

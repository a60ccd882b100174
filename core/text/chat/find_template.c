/* SPDX-License-Identifier: MIT */
#include "core/text/chat/chat.h"

#include <stdio.h>
#include <string.h>


#define KEY      "tokenizer.chat_template"
#define NAME_MAX 64

bool lmi_chat_find_variant_in(struct lmd_str *out, const struct lmd_model *m, struct lmd_str name)
{
	char key[sizeof(KEY) + 1 + NAME_MAX];
	const struct lmd_meta *v;

	if (!m || name.len > NAME_MAX || memchr(name.ptr, 0, name.len))
		return false;
	(void)snprintf(key, sizeof(key), KEY ".%.*s", (int)name.len, name.ptr);
	v = m->find_meta(m, key);
	if (!v || v->type != LMD_META_STR)
		return false;
	*out = v->v.s;
	return true;
}

enum lmd_status lmi_chat_find_template(struct lmd_str *out, const struct lmd_model *model,
				       struct lmd_str requested, struct lmd_error *err)
{
	const struct lmi_chat_builtin_template *b;

	if (!requested.ptr || !requested.len) {
		if (!model || !model->chat_template.ptr)
			return lmd_fail(err, LMD_NOTFOUND,
					"the model has no chat template: give one (template chatml "
					"suits most models), or use raw, which takes the prompt as "
					"plain text");
		*out = model->chat_template;
		return LMD_OK;
	}
	if (memchr(requested.ptr, '{', requested.len)) {
		*out = requested;
		return LMD_OK;
	}
	if (lmi_chat_find_variant_in(out, model, requested))
		return LMD_OK;
	b = lmi_chat_builtin_find(requested);
	if (!b)
		return lmd_fail(err, LMD_NOTFOUND,
				"chat template \"%.*s\" is neither a variant of the model's "
				"template nor a built-in one",
				(int)(requested.len < NAME_MAX ? requested.len : NAME_MAX),
				requested.ptr);
	*out = (struct lmd_str){.ptr = b->text, .len = strlen(b->text)};
	return LMD_OK;
}

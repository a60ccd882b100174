/* SPDX-License-Identifier: MIT */
#include "core/text/chat/chat.h"

#include <string.h>

const struct lmi_chat_builtin_template *lmi_chat_builtin_find(struct lmd_str name)
{
	for (unsigned i = 0; i < lmi_chat_builtins_n; i++) {
		const struct lmi_chat_builtin_template *b = &lmi_chat_builtins[i];
		size_t n = strlen(b->name);

		if (n == name.len && !memcmp(b->name, name.ptr, n))
			return b;
	}
	return NULL;
}

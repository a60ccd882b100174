/* SPDX-License-Identifier: MIT */
#include "client/llamactl/conversation.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine.h"
#include "core/text/chat/chat.h"

enum lmd_status lmi_ctl_conversation_add(struct lmi_ctl_conversation *t, const char *role,
					 const char *text, size_t n, struct lmd_error *err)
{
	char *copy;

	if (t->n == t->cap) {
		uint32_t cap = t->cap ? 2 * t->cap : 8;
		struct lmi_chat_message *m = lmi_realloc(t->m, cap, sizeof(*m));

		if (!m)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u messages", cap);
		t->m = m;
		t->cap = cap;
	}
	copy = lmi_strndup(n ? text : "", n);
	if (!copy)
		return lmd_fail(err, LMD_NOMEM, "no memory for a message of %zu bytes", n);
	t->m[t->n++] = (struct lmi_chat_message){.role = {.ptr = role, .len = strlen(role)},
						 .content = {.ptr = copy, .len = n}};
	return LMD_OK;
}

enum lmd_status lmi_ctl_conversation_begin(struct lmi_ctl_conversation *t,
					   const struct lmi_ctl_chat_args *args,
					   struct lmd_error *err)
{
	return args->system.ptr ? lmi_ctl_conversation_add(t, "system", args->system.ptr,
							   args->system.len, err)
				: LMD_OK;
}

enum lmd_status lmi_ctl_conversation_encode(const struct lmi_ctl_conversation *t,
					    const struct lmi_engine *e,
					    const struct lmi_ctl_chat_args *args, bool begin,
					    struct lmi_text_token_buf *out,
					    struct lmi_chat_answer_format *answer_format,
					    struct lmd_error *err)
{
	struct lmi_chat_input in = {.messages = t->m,
				    .n_messages = t->n,
				    .tools = args->tools,
				    .args = args->args,
				    .template = args->template};
	time_t now = time(NULL);

	(void)localtime_r(&now, &in.now); /* fails for years beyond int alone */
	return lmi_chat_encode(lmi_engine_chat(e), &in, begin, out, answer_format, err);
}

void lmi_ctl_conversation_fini(struct lmi_ctl_conversation *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		lmi_free((void *)(uintptr_t)t->m[i].content.ptr);
	lmi_free(t->m);
	*t = (struct lmi_ctl_conversation){0};
}

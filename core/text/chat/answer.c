/* SPDX-License-Identifier: MIT */
#include "core/text/chat/answer.h"

void lmi_chat_answer_fini(struct lmi_chat_answer *a)
{
	lmi_tokens_fini(&a->shown);
	*a = (struct lmi_chat_answer){0};
}

enum lmd_status lmi_chat_answer_parse(const struct lmi_chat_answer *a, struct lmi_parse **out,
				      lmi_out_fn fn, void *arg, struct lmd_error *err)
{
	enum lmd_status st = lmi_parse_create(out, a->format, fn, arg, err);

	if (st != LMD_OK)
		return st;
	if (!a->tools)
		lmi_parse_marked(*out);
	if (a->thinks)
		lmi_parse_thinks(*out);
	return LMD_OK;
}

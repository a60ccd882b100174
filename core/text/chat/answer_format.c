/* SPDX-License-Identifier: MIT */
#include "core/text/chat/chat.h"

#include <jansson.h>

void lmi_chat_answer_format_fini(struct lmi_chat_answer_format *a)
{
	lmi_text_token_buf_fini(&a->shown);
	json_decref(a->tool_list);
	*a = (struct lmi_chat_answer_format){0};
}

enum lmd_status lmi_chat_answer_parser_create(const struct lmi_chat_answer_format *a,
					      struct lmi_answer_parser **out,
					      lmi_answer_event_fn fn, void *arg,
					      struct lmd_error *err)
{
	enum lmd_status st = lmi_answer_parser_create(out, a->format, fn, arg, err);

	if (st != LMD_OK)
		return st;
	if (!a->tools)
		lmi_answer_parser_require_markers(*out);
	lmi_answer_parser_set_tools(*out, a->tool_list);
	if (a->thinks)
		lmi_answer_parser_start_in_reasoning(*out);
	return LMD_OK;
}

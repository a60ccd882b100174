/* SPDX-License-Identifier: MIT */
#include "daemon/http/prompt.h"

#include "core/base/arena.h"
#include "daemon/http/model_choice.h"

struct prompt {
	struct lmi_wire_request req; /* op apply_template */
	lmi_http_prompt_write_fn write;
};

static void replied(struct lmi_http_exchange *x, const char *model,
		    const struct lmi_wire_reply *reply, void *arg)
{
	const struct prompt *p = arg;
	struct lmi_json_text j = {.max_bytes = 2 * LMI_WIRE_LIMIT_TEXT_BYTES};

	(void)model;
	p->write(&reply->u.apply_template, &j);
	lmi_http_reply(x, 200, &j);
}

/* Takes over what makes the prompt. */
static void fill(struct lmi_wire_req_apply_template *out, const struct lmi_wire_req_generate *q)
{
	out->model = q->model;
	out->messages = q->messages;
	out->n_messages = q->n_messages;
	out->has_template = q->has_template;
	out->template = q->template;
	out->has_template_args = q->has_template_args;
	out->template_args = q->template_args;
	out->has_tools = q->has_tools;
	out->tools = q->tools;
	out->add_special = q->add_special;
}

void lmi_http_prompt(struct lmi_http_exchange *x, lmi_http_translate_fn translate,
		     lmi_http_prompt_write_fn write)
{
	const json_t *body = lmi_http_body_object(x);
	struct lmi_http_generation gen = {.n_choice = 1};
	const char *param = NULL;
	struct lmd_error err = {0};
	struct prompt *p = lmi_arena_array(lmi_http_arena(x), 1, sizeof(*p));
	enum lmd_status st;

	if (!body)
		return;
	st = p ? translate(&gen, body, lmi_http_arena(x), &param, &err)
	       : lmd_fail(&err, LMD_NOMEM, "no memory for a prompt");
	if (st != LMD_OK) {
		if (param)
			lmi_http_reply_invalid(x, param, "%s", err.text);
		else
			lmi_http_reply_status(x, &err, 0);
		return;
	}
	p->write = write;
	lmi_wire_request_init(&p->req, LMI_WIRE_OP_APPLY_TEMPLATE);
	fill(&p->req.u.apply_template, &gen.req.u.generate);
	lmi_http_call_model(x, &p->req, &p->req.u.apply_template.model, replied, p);
}

/* SPDX-License-Identifier: MIT
 *
 * POST /apply-template: the prompt that POST /v1/chat/completions would make of the same body. */
#include "daemon/http/exchange.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"
#include "daemon/http/openai/openai.h"
#include "daemon/http/prompt.h"

static void write(const struct lmi_wire_rep_apply_template *r, struct lmi_json_text *out)
{
	lmi_json_text_object(out);
	lmi_http_json_put_str(out, "prompt", r->prompt);
	lmi_json_text_end(out);
}

void lmi_llamacpp_apply_template(struct lmi_http_exchange *x)
{
	lmi_http_prompt(x, lmi_openai_translate_chat, write);
}

/* SPDX-License-Identifier: MIT
 *
 * POST /v1/embeddings. */
#include "daemon/http/embedding.h"
#include "daemon/http/json_out.h"
#include "daemon/http/openai/openai_impl.h"

static void write(const struct lmi_http_embedding *e, const char *model,
		  const struct lmi_wire_rep_embed *r, struct lmi_json_text *out)
{
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "object", "list");
	lmi_json_text_key(out, "data");
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < r->n_embeddings; i++) {
		lmi_json_text_object(out);
		lmi_http_json_put_text(out, "object", "embedding");
		lmi_http_json_put_int(out, "index", r->embeddings[i].input);
		lmi_json_text_key(out, "embedding");
		lmi_http_put_vector(out, &r->embeddings[i], e->base64);
		lmi_json_text_end(out);
	}
	lmi_json_text_end(out);
	lmi_http_json_put_text(out, "model", model);
	lmi_json_text_key(out, "usage");
	lmi_json_text_object(out);
	lmi_http_json_put_int(out, "prompt_tokens", r->n_prompt);
	lmi_http_json_put_int(out, "total_tokens", r->n_prompt);
	lmi_json_text_end(out);
	lmi_json_text_end(out);
}

void lmi_openai_read_embeddings(struct lmi_http_reader *r, const json_t *body,
				struct lmi_http_embedding *e)
{
	static const struct lmi_http_at at_format = {.name = "encoding_format"};
	static const char *const formats[] = {"float", "base64", NULL};
	const json_t *format = lmi_http_get(body, "encoding_format");

	e->write = write;
	lmi_http_read_embedding_model(r, body, e);
	lmi_http_read_inputs(r, "input", lmi_http_get(body, "input"), e);
	if (format)
		e->base64 = lmi_http_read_word(r, &at_format, format, formats) == 1;
}

void lmi_openai_embeddings(struct lmi_http_exchange *x)
{
	lmi_http_embed(x, lmi_openai_read_embeddings);
}

/* SPDX-License-Identifier: MIT
 *
 * POST /rerank: scores as the classifier gives them.  With `texts` in place of `documents` the
 * answer has the form of text-embeddings-inference, a list. */
#include "daemon/http/llamacpp/llamacpp_impl.h"
#include "daemon/http/rerank.h"

static void write_results(const struct lmi_http_rerank *e, const char *model,
			  const struct lmi_http_ranked *v, uint32_t n, int64_t n_prompt,
			  struct lmi_json_text *out)
{
	(void)e;
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "model", model);
	lmi_http_json_put_text(out, "object", "list");
	lmi_json_text_key(out, "usage");
	lmi_json_text_object(out);
	lmi_http_json_put_int(out, "prompt_tokens", n_prompt);
	lmi_http_json_put_int(out, "total_tokens", n_prompt);
	lmi_json_text_end(out);
	lmi_json_text_key(out, "results");
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < n; i++) {
		lmi_json_text_object(out);
		lmi_http_json_put_int(out, "index", v[i].index);
		lmi_http_json_put_real(out, "relevance_score", v[i].score);
		lmi_json_text_end(out);
	}
	lmi_json_text_end(out);
	lmi_json_text_end(out);
}

static void write_list(const struct lmi_http_rerank *e, const char *model,
		       const struct lmi_http_ranked *v, uint32_t n, int64_t n_prompt,
		       struct lmi_json_text *out)
{
	(void)model;
	(void)n_prompt;
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < n; i++) {
		lmi_json_text_object(out);
		lmi_http_json_put_int(out, "index", v[i].index);
		lmi_http_json_put_real(out, "score", v[i].score);
		if (e->texts)
			lmi_http_json_put_str(out, "text",
					      e->req.u.rerank.documents[v[i].index]);
		lmi_json_text_end(out);
	}
	lmi_json_text_end(out);
}

static void read(struct lmi_http_reader *r, const json_t *body, struct lmi_http_rerank *e)
{
	static const struct lmi_http_at at = {.name = "return_text"};
	const json_t *texts = lmi_http_get(body, "return_text");

	lmi_http_read_rerank(r, body, e);
	e->write = lmi_http_get(body, "texts") ? write_list : write_results;
	if (texts)
		e->texts = lmi_http_read_bool(r, &at, texts);
}

void lmi_llamacpp_rerank(struct lmi_http_exchange *x)
{
	lmi_http_rerank(x, read);
}

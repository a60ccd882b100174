/* SPDX-License-Identifier: MIT
 *
 * POST /api/embed, and its predecessor POST /api/embeddings, which takes one prompt and does not
 * scale the vector. */
#include "daemon/http/embedding.h"
#include "daemon/http/exchange.h"
#include "daemon/http/ollama/ollama_impl.h"

static void read_keep_alive(struct lmi_http_reader *r, const json_t *body,
			    struct lmi_http_embedding *e)
{
	static const struct lmi_http_at at = {.name = "keep_alive"};
	const json_t *v = lmi_http_get(body, "keep_alive");

	if (!v)
		return;
	e->req.u.embed.keep_alive_ms = lmi_ollama_read_keep_alive(r, &at, v);
	e->req.u.embed.has_keep_alive_ms = true;
}

static void write_all(const struct lmi_http_embedding *e, const char *model,
		      const struct lmi_wire_rep_embed *r, struct lmi_json_text *out)
{
	(void)e;
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "model", model);
	lmi_json_text_key(out, "embeddings");
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < r->n_embeddings; i++)
		lmi_http_put_vector(out, &r->embeddings[i], false);
	lmi_json_text_end(out);
	lmi_http_json_put_int(out, "prompt_eval_count", r->n_prompt);
	lmi_json_text_end(out);
}

static void read(struct lmi_http_reader *r, const json_t *body, struct lmi_http_embedding *e)
{
	static const struct lmi_http_at at = {.name = "truncate"};
	const json_t *truncate = lmi_http_get(body, "truncate");

	e->write = write_all;
	lmi_http_read_embedding_model(r, body, e);
	lmi_http_read_inputs(r, "input", lmi_http_get(body, "input"), e);
	e->req.u.embed.truncate = !truncate || lmi_http_read_bool(r, &at, truncate);
	read_keep_alive(r, body, e);
}

void lmi_ollama_embed(struct lmi_http_exchange *x)
{
	lmi_http_embed(x, read);
}

static void write_one(const struct lmi_http_embedding *e, const char *model,
		      const struct lmi_wire_rep_embed *r, struct lmi_json_text *out)
{
	(void)e;
	(void)model;
	lmi_json_text_object(out);
	lmi_json_text_key(out, "embedding");
	lmi_http_put_vector(out, &r->embeddings[0], false);
	lmi_json_text_end(out);
}

static void read_prompt(struct lmi_http_reader *r, const json_t *body, struct lmi_http_embedding *e)
{
	e->write = write_one;
	lmi_http_read_embedding_model(r, body, e);
	lmi_http_read_inputs(r, "prompt", lmi_http_get(body, "prompt"), e);
	e->req.u.embed.truncate = true;
	e->req.u.embed.normalize = false;
	read_keep_alive(r, body, e);
}

void lmi_ollama_embeddings(struct lmi_http_exchange *x)
{
	lmi_http_embed(x, read_prompt);
}

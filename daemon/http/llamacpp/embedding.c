/* SPDX-License-Identifier: MIT
 *
 * POST /embedding: a list with one object per input, whose member `embedding` is a list of vectors. */
#include "daemon/http/embedding.h"
#include "daemon/http/exchange.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"

static void write(const struct lmi_http_embedding *e, const char *model,
		  const struct lmi_wire_rep_embed *r, struct lmi_json_text *out)
{
	(void)e;
	(void)model;
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < r->n_embeddings;) {
		int64_t input = r->embeddings[i].input;

		lmi_json_text_object(out);
		lmi_http_json_put_int(out, "index", input);
		lmi_json_text_key(out, "embedding");
		lmi_json_text_array(out);
		for (; i < r->n_embeddings && r->embeddings[i].input == input; i++)
			lmi_http_put_vector(out, &r->embeddings[i], false);
		lmi_json_text_end(out);
		lmi_json_text_end(out);
	}
	lmi_json_text_end(out);
}

static void read(struct lmi_http_reader *r, const json_t *body, struct lmi_http_embedding *e)
{
	static const struct lmi_http_at at = {.name = "embd_normalize"};
	const json_t *content = lmi_http_get(body, "content");
	const json_t *normalize = lmi_http_get(body, "embd_normalize");

	e->write = write;
	lmi_http_read_embedding_model(r, body, e);
	lmi_http_read_inputs(r, content ? "content" : "input",
			     content ? content : lmi_http_get(body, "input"), e);
	if (!normalize)
		return;
	switch (lmi_http_read_int(r, &at, normalize, -1, 1 << 20)) {
	case -1:
		e->req.u.embed.normalize = false;
		break;
	case 2:
		break;
	default:
		lmi_http_fail(r, &at, "must be 2, the Euclidean norm, or -1, none");
	}
}

void lmi_llamacpp_embedding(struct lmi_http_exchange *x)
{
	lmi_http_embed(x, read);
}

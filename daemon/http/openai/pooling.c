/* SPDX-License-Identifier: MIT
 *
 * What vLLM adds to the API for models that do not generate: POST /v2/rerank, /score, /classify and
 * /pooling.  Scores are probabilities: the sigmoid of the classifier's output, or the softmax of
 * several. */
#include <math.h>
#include <stdio.h>

#include "daemon/http/embedding.h"
#include "daemon/http/json_out.h"
#include "daemon/http/openai/openai_impl.h"
#include "daemon/http/rerank.h"

static void put_usage(struct lmi_json_text *out, int64_t n_prompt)
{
	lmi_json_text_key(out, "usage");
	lmi_json_text_object(out);
	lmi_http_json_put_int(out, "prompt_tokens", n_prompt);
	lmi_http_json_put_int(out, "total_tokens", n_prompt);
	lmi_http_json_put_int(out, "completion_tokens", 0);
	lmi_json_text_end(out);
}

/* ---- POST /v2/rerank ---- */

static void write_rerank(const struct lmi_http_rerank *e, const char *model,
			 const struct lmi_http_ranked *v, uint32_t n, int64_t n_prompt,
			 struct lmi_json_text *out)
{
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "model", model);
	put_usage(out, n_prompt);
	lmi_json_text_key(out, "results");
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < n; i++) {
		lmi_json_text_object(out);
		lmi_http_json_put_int(out, "index", v[i].index);
		lmi_json_text_key(out, "document");
		lmi_json_text_object(out);
		lmi_http_json_put_str(out, "text", e->req.u.rerank.documents[v[i].index]);
		lmi_json_text_end(out);
		lmi_http_json_put_real(out, "relevance_score", v[i].score);
		lmi_json_text_end(out);
	}
	lmi_json_text_end(out);
	lmi_json_text_end(out);
}

static void read_rerank(struct lmi_http_reader *r, const json_t *body, struct lmi_http_rerank *e)
{
	lmi_http_read_rerank(r, body, e);
	e->probabilities = true;
	e->write = write_rerank;
}

void lmi_openai_rerank(struct lmi_http_exchange *x)
{
	lmi_http_rerank(x, read_rerank);
}

/* ---- POST /score ---- */

static void write_score(const struct lmi_http_rerank *e, const char *model,
			const struct lmi_http_ranked *v, uint32_t n, int64_t n_prompt,
			struct lmi_json_text *out)
{
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "object", "list");
	lmi_http_json_put_int(out, "created", e->created);
	lmi_http_json_put_text(out, "model", model);
	lmi_json_text_key(out, "data");
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < n; i++) {
		lmi_json_text_object(out);
		lmi_http_json_put_int(out, "index", v[i].index);
		lmi_http_json_put_text(out, "object", "score");
		lmi_http_json_put_real(out, "score", v[i].score);
		lmi_json_text_end(out);
	}
	lmi_json_text_end(out);
	put_usage(out, n_prompt);
	lmi_json_text_end(out);
}

/* Returns the name under which the body has a member. */
static const char *either(const json_t *body, const char *a, const char *b)
{
	return lmi_http_get(body, b) ? b : a;
}

static void read_score(struct lmi_http_reader *r, const json_t *body, struct lmi_http_rerank *e)
{
	static const struct lmi_http_at at_model = {.name = "model"};
	const char *first = either(body, "text_1", "queries"),
		   *second = either(body, "text_2", "documents");
	const struct lmi_http_at at_first = {.name = first};
	const json_t *model = lmi_http_get(body, "model");
	struct lmi_wire_req_rerank *q = &e->req.u.rerank;
	const struct lmd_str *query;
	uint32_t n;

	q->model = (struct lmd_str){.ptr = ""};
	if (model)
		q->model = lmi_http_read_line(r, &at_model, model, 0, LMI_WIRE_LIMIT_PATH_BYTES);
	query = lmi_http_read_documents(r, first, lmi_http_get(body, first), &n);
	if (n > 1)
		lmi_http_fail(r, &at_first, "has %u texts, the maximum is 1", n);
	if (query && r->status == LMD_OK)
		q->query = query[0];
	q->documents = lmi_http_read_documents(r, second, lmi_http_get(body, second),
					       &q->n_documents);
	e->probabilities = e->in_order = true;
	e->write = write_score;
}

void lmi_openai_score(struct lmi_http_exchange *x)
{
	lmi_http_rerank(x, read_score);
}

/* ---- POST /classify ---- */

static void put_class(struct lmi_json_text *out, const struct lmi_wire_embedding *v)
{
	double most = v->n_vector ? v->vector[0] : 0, sum = 0;
	char label[32];
	uint32_t best = 0;

	for (uint32_t i = 1; i < v->n_vector; i++) {
		best = v->vector[i] > most ? i : best;
		most = v->vector[best];
	}
	for (uint32_t i = 0; i < v->n_vector; i++)
		sum += exp(v->vector[i] - most);
	(void)snprintf(label, sizeof(label), "LABEL_%u", best);
	lmi_json_text_object(out);
	lmi_http_json_put_int(out, "index", v->input);
	lmi_http_json_put_text(out, "label", label);
	lmi_json_text_key(out, "probs");
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < v->n_vector; i++)
		lmi_json_text_real(out, v->n_vector == 1 ? lmi_http_sigmoid(v->vector[i])
							 : exp(v->vector[i] - most) / sum);
	lmi_json_text_end(out);
	lmi_http_json_put_int(out, "num_classes", v->n_vector);
	lmi_json_text_end(out);
}

static void write_classes(const struct lmi_http_embedding *e, const char *model,
			  const struct lmi_wire_rep_embed *r, struct lmi_json_text *out)
{
	(void)e;
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "object", "list");
	lmi_http_json_put_text(out, "model", model);
	lmi_json_text_key(out, "data");
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < r->n_embeddings; i++)
		put_class(out, &r->embeddings[i]);
	lmi_json_text_end(out);
	put_usage(out, r->n_prompt);
	lmi_json_text_end(out);
}

static void read_classify(struct lmi_http_reader *r, const json_t *body,
			  struct lmi_http_embedding *e)
{
	e->write = write_classes;
	lmi_http_read_embedding_model(r, body, e);
	lmi_http_read_inputs(r, "input", lmi_http_get(body, "input"), e);
	e->req.u.embed.pooling = LMI_WIRE_POOLING_RANK;
	e->req.u.embed.normalize = false;
}

void lmi_openai_classify(struct lmi_http_exchange *x)
{
	lmi_http_embed(x, read_classify);
}

/* ---- POST /pooling ---- */

static void write_pooling(const struct lmi_http_embedding *e, const char *model,
			  const struct lmi_wire_rep_embed *r, struct lmi_json_text *out)
{
	lmi_json_text_object(out);
	lmi_http_json_put_text(out, "object", "list");
	lmi_http_json_put_text(out, "model", model);
	lmi_json_text_key(out, "data");
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < r->n_embeddings; i++) {
		lmi_json_text_object(out);
		lmi_http_json_put_int(out, "index", r->embeddings[i].input);
		lmi_http_json_put_text(out, "object", "pooling");
		lmi_json_text_key(out, "data");
		lmi_http_put_vector(out, &r->embeddings[i], e->base64);
		lmi_json_text_end(out);
	}
	lmi_json_text_end(out);
	put_usage(out, r->n_prompt);
	lmi_json_text_end(out);
}

static void read_pooling(struct lmi_http_reader *r, const json_t *body, struct lmi_http_embedding *e)
{
	static const struct lmi_http_at at_format = {.name = "encoding_format"};
	static const char *const formats[] = {"float", "base64", NULL};
	const json_t *format = lmi_http_get(body, "encoding_format");

	e->write = write_pooling;
	lmi_http_read_embedding_model(r, body, e);
	lmi_http_read_inputs(r, "input", lmi_http_get(body, "input"), e);
	e->req.u.embed.normalize = false;
	if (format)
		e->base64 = lmi_http_read_word(r, &at_format, format, formats) == 1;
}

void lmi_openai_pooling(struct lmi_http_exchange *x)
{
	lmi_http_embed(x, read_pooling);
}

/* SPDX-License-Identifier: MIT */
#include "daemon/http/rerank.h"

#include <math.h>
#include <stdlib.h>

#include "daemon/http/model_choice.h"

double lmi_http_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

/* Best first; equal ones in the order of the request. */
static int compare(const void *a, const void *b)
{
	const struct lmi_http_ranked *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void replied(struct lmi_http_exchange *x, const char *model,
		    const struct lmi_wire_reply *reply, void *arg)
{
	const struct lmi_http_rerank *e = arg;
	const struct lmi_wire_rep_rerank *r = &reply->u.rerank;
	struct lmi_http_ranked *v = lmi_arena_array(lmi_http_arena(x), r->n_scores + 1, sizeof(*v));
	struct lmi_json_text j = {0};
	struct lmd_error err;
	uint32_t n = r->n_scores;

	if (!v) {
		(void)lmd_fail(&err, LMD_NOMEM, "no memory for %u scores", n);
		lmi_http_reply_status(x, &err, 0);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct lmi_http_ranked){.index = i,
						.score = e->probabilities
								 ? lmi_http_sigmoid(r->scores[i])
								 : r->scores[i]};
	if (!e->in_order)
		qsort(v, n, sizeof(*v), compare);
	if (e->top_n && e->top_n < n)
		n = (uint32_t)e->top_n;
	e->write(e, model, v, n, r->n_prompt, &j);
	lmi_http_reply(x, 200, &j);
}

void lmi_http_rerank(struct lmi_http_exchange *x, lmi_http_rerank_read_fn read)
{
	const json_t *body = lmi_http_body_object(x);
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	struct lmi_http_rerank *e;

	if (!body)
		return;
	e = lmi_http_alloc(&r, 1, sizeof(*e));
	if (e) {
		e->created = lmi_http_created(x);
		lmi_wire_request_init(&e->req, LMI_WIRE_OP_RERANK);
		read(&r, body, e);
	}
	if (r.status == LMD_OK)
		lmi_http_call_model(x, &e->req, &e->req.u.rerank.model, replied, e);
	else if (r.param)
		lmi_http_reply_invalid(x, r.param, "%s", err.text);
	else
		lmi_http_reply_status(x, &err, 0);
}

/* ---- members ---- */

const struct lmd_str *lmi_http_read_documents(struct lmi_http_reader *r, const char *name,
					      const json_t *v, uint32_t *n)
{
	const struct lmi_http_at at = {.name = name};
	bool list = json_is_array(v);
	size_t count = list ? json_array_size(v) : 1;
	struct lmd_str *out;

	*n = 0;
	if (list && !lmi_http_is_list(r, &at, v, 1, LMI_WIRE_LIMIT_INPUTS))
		return NULL;
	out = lmi_http_alloc(r, count, sizeof(*out));
	for (size_t i = 0; out && i < count; i++) {
		const struct lmi_http_at element = {.up = &at, .index = i},
					 *here = list ? &element : &at;
		const struct lmi_http_at text = {.up = here, .name = "text"};
		const json_t *one = list ? json_array_get(v, i) : v;
		bool object = json_is_object(one);

		out[i] = lmi_http_read_str(r, object ? &text : here,
					   object ? lmi_http_get(one, "text") : one, 1,
					   LMI_WIRE_LIMIT_TEXT_BYTES);
	}
	*n = (uint32_t)count;
	return out;
}

void lmi_http_read_rerank(struct lmi_http_reader *r, const json_t *body, struct lmi_http_rerank *e)
{
	static const struct lmi_http_at at_model = {.name = "model"}, at_query = {.name = "query"},
					at_top = {.name = "top_n"};
	const json_t *model = lmi_http_get(body, "model"), *top = lmi_http_get(body, "top_n"),
		     *texts = lmi_http_get(body, "texts");
	struct lmi_wire_req_rerank *q = &e->req.u.rerank;

	q->model = (struct lmd_str){.ptr = ""};
	if (model)
		q->model = lmi_http_read_line(r, &at_model, model, 0, LMI_WIRE_LIMIT_PATH_BYTES);
	q->query = lmi_http_read_str(r, &at_query, lmi_http_get(body, "query"), 1,
				     LMI_WIRE_LIMIT_TEXT_BYTES);
	q->documents = lmi_http_read_documents(r, texts ? "texts" : "documents",
					       texts ? texts : lmi_http_get(body, "documents"),
					       &q->n_documents);
	if (top)
		e->top_n = lmi_http_read_int(r, &at_top, top, 1, INT64_MAX);
}

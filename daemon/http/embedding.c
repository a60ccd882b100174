/* SPDX-License-Identifier: MIT */
#include "daemon/http/embedding.h"

#include <string.h>

#include "core/base/alloc.h"
#include "daemon/http/model_choice.h"

/* A number takes at most 16 bytes of JSON. */
#define REPLY_BYTES_MAX (64u << 20)

static void replied(struct lmi_http_exchange *x, const char *model,
		    const struct lmi_wire_reply *reply, void *arg)
{
	const struct lmi_http_embedding *e = arg;
	struct lmi_json_text j = {.max_bytes = REPLY_BYTES_MAX};

	e->write(e, model, &reply->u.embed, &j);
	lmi_http_reply(x, 200, &j);
}

void lmi_http_embed(struct lmi_http_exchange *x, lmi_http_embed_read_fn read)
{
	const json_t *body = lmi_http_body_object(x);
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	struct lmi_http_embedding *e = lmi_http_alloc(&r, 1, sizeof(*e));

	if (!body)
		return;
	if (e) {
		lmi_wire_request_init(&e->req, LMI_WIRE_OP_EMBED);
		read(&r, body, e);
	}
	if (r.status == LMD_OK)
		lmi_http_call_model(x, &e->req, &e->req.u.embed.model, replied, e);
	else if (r.param)
		lmi_http_reply_invalid(x, r.param, "%s", err.text);
	else
		lmi_http_reply_status(x, &err, 0);
}

/* ---- members ---- */

/* Reads a text or a list of texts; all of them count, since each has an embedding. */
static const struct lmd_str *read_texts(struct lmi_http_reader *r, const struct lmi_http_at *at,
					const json_t *v, uint32_t *n)
{
	bool list = json_is_array(v);
	size_t count = list ? json_array_size(v) : 1;
	struct lmd_str *out;

	if (list && !lmi_http_is_list(r, at, v, 1, LMI_WIRE_LIMIT_INPUTS))
		return NULL;
	out = lmi_http_alloc(r, count, sizeof(*out));
	for (size_t i = 0; out && i < count; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};

		out[i] = lmi_http_read_str(r, list ? &here : at, list ? json_array_get(v, i) : v, 1,
					   LMI_WIRE_LIMIT_TEXT_BYTES);
	}
	*n = (uint32_t)count;
	return out;
}

void lmi_http_read_inputs(struct lmi_http_reader *r, const char *name, const json_t *v,
			  struct lmi_http_embedding *e)
{
	const struct lmi_http_at at = {.name = name};
	struct lmi_wire_req_embed *q = &e->req.u.embed;
	const json_t *first = json_is_array(v) ? json_array_get(v, 0) : v;

	if (json_is_array(first)) {
		lmi_http_fail(r, &at, "several lists of tokens: send one in each request");
	} else if (json_is_number(first)) {
		q->has_tokens = true;
		q->tokens = lmi_http_read_tokens(r, &at, v, &q->n_tokens);
	} else {
		q->has_inputs = true;
		q->inputs = read_texts(r, &at, v, &q->n_inputs);
	}
}

void lmi_http_read_embedding_model(struct lmi_http_reader *r, const json_t *body,
				   struct lmi_http_embedding *e)
{
	static const struct lmi_http_at at_model = {.name = "model"},
					at_dimensions = {.name = "dimensions"};
	const json_t *model = lmi_http_get(body, "model");
	const json_t *dimensions = lmi_http_get(body, "dimensions");
	struct lmi_wire_req_embed *q = &e->req.u.embed;

	q->model = (struct lmd_str){.ptr = ""};
	if (model)
		q->model = lmi_http_read_line(r, &at_model, model, 0, LMI_WIRE_LIMIT_PATH_BYTES);
	if (dimensions)
		q->dimensions = lmi_http_read_int(r, &at_dimensions, dimensions, 1, 1 << 20);
}

/* ---- the answer ---- */

static void put_base64(struct lmi_json_text *out, const struct lmi_wire_embedding *v)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = (size_t)v->n_vector * 4, len = (n + 2) / 3 * 4;
	char *text = lmi_alloc(len + 1, 1), *to = text;
	uint32_t bits = 0, n_bit = 0;

	for (size_t i = 0; text && i < n; i++) {
		float f = (float)v->vector[i / 4];
		uint32_t word;

		memcpy(&word, &f, sizeof(word));
		bits = bits << 8 | (word >> 8 * (i % 4) & 0xff);
		for (n_bit += 8; n_bit >= 6; n_bit -= 6)
			*to++ = digits[bits >> (n_bit - 6) & 63];
	}
	if (text && n_bit)
		*to++ = digits[bits << (6 - n_bit) & 63];
	while (text && to < text + len)
		*to++ = '=';
	lmi_json_text_strn(out, text ? text : "", text ? len : 0);
	lmi_free(text);
}

void lmi_http_put_vector(struct lmi_json_text *out, const struct lmi_wire_embedding *v, bool base64)
{
	if (base64) {
		put_base64(out, v);
		return;
	}
	lmi_json_text_array(out);
	for (uint32_t i = 0; i < v->n_vector; i++)
		lmi_json_text_f32(out, (float)v->vector[i]);
	lmi_json_text_end(out);
}

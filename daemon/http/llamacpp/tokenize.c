/* SPDX-License-Identifier: MIT
 *
 * POST /tokenize and POST /detokenize.  vLLM has endpoints of the same names, whose text is called
 * prompt in place of content; a request that has a prompt is answered in that form. */
#include "core/base/utf8.h"
#include "daemon/http/exchange.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"
#include "daemon/http/model_choice.h"

/* ---- POST /tokenize ---- */

/* A piece that is not UTF-8 is a list of bytes. */
static void put_piece(struct lmi_json_text *j, struct lmd_str piece)
{
	lmi_json_text_key(j, "piece");
	if (lmi_utf8_valid_prefix(piece.ptr, piece.len) == piece.len) {
		lmi_json_text_strn(j, piece.ptr, piece.len);
		return;
	}
	lmi_json_text_array(j);
	for (size_t i = 0; i < piece.len; i++)
		lmi_json_text_int(j, (unsigned char)piece.ptr[i]);
	lmi_json_text_end(j);
}

static bool is_vllm(struct lmi_http_exchange *x)
{
	return lmi_http_get(lmi_http_body_object(x), "prompt") != NULL;
}

static void reply_tokens(struct lmi_http_exchange *x, const char *model,
			 const struct lmi_wire_reply *reply, void *arg)
{
	const struct lmi_wire_rep_tokenize *r = &reply->u.tokenize;
	struct lmi_json_text j = {0};

	(void)model;
	(void)arg;
	lmi_json_text_object(&j);
	if (is_vllm(x))
		lmi_http_json_put_int(&j, "count", r->n_tokens);
	lmi_json_text_key(&j, "tokens");
	lmi_json_text_array(&j);
	for (uint32_t i = 0; i < r->n_tokens; i++) {
		if (i >= r->n_pieces) {
			lmi_json_text_int(&j, r->tokens[i]);
			continue;
		}
		lmi_json_text_object(&j);
		lmi_http_json_put_int(&j, "id", r->tokens[i]);
		put_piece(&j, r->pieces[i]);
		lmi_json_text_end(&j);
	}
	lmi_json_text_end(&j);
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

static bool read_flag(struct lmi_http_reader *r, const json_t *body, const char *name, bool absent)
{
	const struct lmi_http_at at = {.name = name};
	const json_t *v = lmi_http_get(body, name);

	return v ? lmi_http_read_bool(r, &at, v) : absent;
}

static struct lmd_str read_model(struct lmi_http_reader *r, const json_t *body)
{
	static const struct lmi_http_at at = {.name = "model"};
	const json_t *v = lmi_http_get(body, "model");

	return v ? lmi_http_read_line(r, &at, v, 0, LMI_WIRE_LIMIT_PATH_BYTES)
		 : (struct lmd_str){.ptr = ""};
}

/* ---- the model ---- */

static void reply_text(struct lmi_http_exchange *x, const char *model,
		       const struct lmi_wire_reply *reply, void *arg);

/* Calls the service, or responds with the error of the reader.  The request is in the arena. */
static void run(struct lmi_http_exchange *x, const struct lmi_http_reader *r,
		struct lmi_wire_request *req, struct lmd_str *model)
{
	if (r->status != LMD_OK)
		lmi_http_reply_invalid(x, r->param, "%s", r->err->text);
	else
		lmi_http_call_model(x, req, model,
				    req->op == LMI_WIRE_OP_TOKENIZE ? reply_tokens : reply_text, NULL);
}

void lmi_llamacpp_tokenize(struct lmi_http_exchange *x)
{
	const json_t *body = lmi_http_body_object(x);
	bool vllm = body && is_vllm(x);
	const struct lmi_http_at at = {.name = vllm ? "prompt" : "content"};
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	struct lmi_wire_request *req;
	struct lmi_wire_req_tokenize *q;

	if (!body)
		return;
	req = lmi_http_alloc(&r, 1, sizeof(*req));
	if (!req) {
		lmi_http_reply_status(x, &err, 0);
		return;
	}
	lmi_wire_request_init(req, LMI_WIRE_OP_TOKENIZE);
	q = &req->u.tokenize;
	q->model = read_model(&r, body);
	q->text = lmi_http_read_str(&r, &at, lmi_http_get(body, at.name), 0,
				    LMI_WIRE_LIMIT_TEXT_BYTES);
	q->add_special = vllm ? read_flag(&r, body, "add_special_tokens", true)
			      : read_flag(&r, body, "add_special", false);
	q->parse_special = read_flag(&r, body, "parse_special", true);
	q->pieces = read_flag(&r, body, "with_pieces", false);
	run(x, &r, req, &q->model);
}

/* ---- POST /detokenize ---- */

static void reply_text(struct lmi_http_exchange *x, const char *model,
		       const struct lmi_wire_reply *reply, void *arg)
{
	struct lmi_json_text j = {0};

	(void)model;
	(void)arg;
	lmi_json_text_object(&j);
	lmi_http_json_put_str(&j, "content", reply->u.detokenize.text);
	lmi_http_json_put_str(&j, "prompt", reply->u.detokenize.text); /* of vLLM */
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}

void lmi_llamacpp_detokenize(struct lmi_http_exchange *x)
{
	static const struct lmi_http_at at = {.name = "tokens"};
	const json_t *body = lmi_http_body_object(x);
	struct lmd_error err = {0};
	struct lmi_http_reader r = {.arena = lmi_http_arena(x), .err = &err};
	struct lmi_wire_request *req;
	struct lmi_wire_req_detokenize *q;

	if (!body)
		return;
	req = lmi_http_alloc(&r, 1, sizeof(*req));
	if (!req) {
		lmi_http_reply_status(x, &err, 0);
		return;
	}
	lmi_wire_request_init(req, LMI_WIRE_OP_DETOKENIZE);
	q = &req->u.detokenize;
	q->model = read_model(&r, body);
	q->tokens = lmi_http_read_tokens(&r, &at, lmi_http_get(body, "tokens"), &q->n_tokens);
	run(x, &r, req, &q->model);
}

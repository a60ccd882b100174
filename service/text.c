/* SPDX-License-Identifier: MIT
 *
 * The ops tokenize, detokenize and apply_template.  The model is loaded if it is not in memory.  Long
 * texts, and all conversations, are handled in the work queue. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/engine/engine.h"
#include "core/text/tokenizer.h"
#include "service/call.h"
#include "service/model.h"
#include "service/generate.h"
#include "service/names.h"
#include "service/ops.h"
#include "service/preset.h"
#include "service/prompt.h"
#include "service/request.h"
#include "service/service_state.h"

/* Most bytes of text in one reply: a message of the socket has 16 MiB, with room for the rest of it. */
#define TEXT_BYTES_MAX ((16u << 20) - 4096)

/* The results of a job, in the call's arena; its two buffers are freed by end(). */
struct found {
	struct lmi_text_token_buf tokens;
	struct lmi_text_byte_buf text;
	struct lmd_str *pieces;
};

static void end(struct lmi_svc_call *c)
{
	struct found *f = c->data;

	lmi_text_token_buf_fini(&f->tokens);
	lmi_text_byte_buf_fini(&f->text);
	lmi_svc_call_destroy(c);
}

static void fail(struct lmi_svc_call *c, const struct lmd_error *err, uint32_t retry_ms)
{
	lmi_svc_request_fail(&c->request, err, retry_ms);
	end(c);
}

static const struct lmi_tokenizer *tokenizer(const struct lmi_svc_call *c)
{
	return lmi_engine_tokenizer(c->loaded->engine);
}

static enum lmd_status pieces(struct lmi_svc_call *c, struct found *f, struct lmd_error *err)
{
	const struct lmi_tokenizer *t = tokenizer(c);

	f->pieces = lmi_arena_array(c->request.arena, f->tokens.n + 1, sizeof(*f->pieces));
	if (!f->pieces)
		return lmd_fail(err, LMD_NOMEM, "no memory for %zu pieces", f->tokens.n);
	for (size_t i = 0; i < f->tokens.n; i++) {
		uint32_t flags = LMD_DECODE_UNPARSE_SPECIAL;
		size_t n = lmi_tokenizer_piece(t, f->tokens.id[i], flags, NULL, 0);
		char *p = lmi_arena_alloc(c->request.arena, n + 1, 1);

		if (!lmi_cancel_step(16 + n))
			return lmd_fail(err, LMD_CANCELLED, "cancelled");
		if (!p)
			return lmd_fail(err, LMD_NOMEM, "no memory for %zu pieces", f->tokens.n);
		(void)lmi_tokenizer_piece(t, f->tokens.id[i], flags, p, n);
		f->pieces[i] = (struct lmd_str){.ptr = p, .len = n};
	}
	return LMD_OK;
}

static void run_tokenize(void *arg)
{
	struct lmi_svc_call *c = arg;
	const struct lmi_wire_req_tokenize *q = &c->request.message.u.tokenize;
	struct found *f = c->data;
	uint32_t flags = (q->add_special ? LMD_ENCODE_ADD_SPECIAL : 0) |
			 (q->parse_special ? LMD_ENCODE_PARSE_SPECIAL : 0);

	c->err.status = lmi_tokenizer_encode(tokenizer(c), q->text.ptr, q->text.len, flags,
					     &f->tokens, &c->err);
	if (c->err.status == LMD_OK && q->pieces)
		c->err.status = pieces(c, f, &c->err);
}

static void run_detokenize(void *arg)
{
	struct lmi_svc_call *c = arg;
	const struct lmi_wire_req_detokenize *q = &c->request.message.u.detokenize;
	struct found *f = c->data;
	uint32_t n_vocab = lmi_tokenizer_info(tokenizer(c))->n_tokens;

	for (uint32_t i = 0; i < q->n_tokens; i++) {
		if (q->tokens[i] >= 0 && (uint32_t)q->tokens[i] < n_vocab)
			continue;
		c->err.status = lmd_fail(&c->err, LMD_INVALID,
					 "tokens: number %u is %d, but the vocabulary has %u tokens", i,
					 q->tokens[i], n_vocab);
		return;
	}
	c->err.status = lmi_tokenizer_decode(tokenizer(c), q->tokens, q->n_tokens,
					     q->special ? LMD_DECODE_UNPARSE_SPECIAL : 0, &f->text,
					     &c->err);
	if (c->err.status == LMD_OK && f->text.n > TEXT_BYTES_MAX)
		c->err.status = lmd_fail(&c->err, LMD_INVALID,
					 "tokens: their text has %zu bytes, the maximum of a reply is %u; send "
					 "fewer tokens at once",
					 f->text.n, TEXT_BYTES_MAX);
}

/* Returns the part of a request to generate that makes the prompt. */
static struct lmi_wire_req_generate generate_request(const struct lmi_wire_req_apply_template *q)
{
	struct lmi_wire_request r;

	lmi_wire_request_init(&r, LMI_WIRE_OP_GENERATE);
	r.u.generate.has_messages = true;
	r.u.generate.messages = q->messages;
	r.u.generate.n_messages = q->n_messages;
	r.u.generate.has_template = q->has_template;
	r.u.generate.template = q->template;
	r.u.generate.has_template_args = q->has_template_args;
	r.u.generate.template_args = q->template_args;
	r.u.generate.has_tools = q->has_tools;
	r.u.generate.tools = q->tools;
	r.u.generate.add_special = q->add_special;
	return r.u.generate;
}

static void run_apply_template(void *arg)
{
	struct lmi_svc_call *c = arg;
	const struct lmi_wire_req_generate q =
		generate_request(&c->request.message.u.apply_template);
	const struct lmi_engine *e = c->loaded->engine;
	struct lmi_svc_pictures pictures = {.total = &c->request.svc->picture_bytes};
	struct lmi_chat_answer_format answer = {0};
	struct found *f = c->data;

	c->err.status = lmi_svc_prompt_encode(e, &q, &pictures, &f->tokens, &answer, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_svc_prompt_render(e, &q, &f->text, &c->err);
	lmi_chat_answer_format_fini(&answer);
	lmi_svc_pictures_fini(&pictures);
	if (c->err.status == LMD_OK && f->text.n + 5 * f->tokens.n > TEXT_BYTES_MAX)
		c->err.status = lmd_fail(&c->err, LMD_INVALID,
					 "messages: their prompt has %zu bytes and %zu tokens, more than "
					 "fit into a reply",
					 f->text.n, f->tokens.n);
}

static void fill_reply(struct lmi_wire_reply *r, const struct lmi_svc_call *c, const struct found *f)
{
	const struct lmd_str text = {.ptr = f->text.p ? f->text.p : "", .len = f->text.n};

	lmi_wire_reply_init(r, c->request.req);
	switch (c->request.message.op) {
	case LMI_WIRE_OP_TOKENIZE:
		r->u.tokenize.tokens = f->tokens.id;
		r->u.tokenize.n_tokens = (uint32_t)f->tokens.n;
		r->u.tokenize.pieces = f->pieces;
		r->u.tokenize.n_pieces = f->pieces ? (uint32_t)f->tokens.n : 0;
		break;
	case LMI_WIRE_OP_DETOKENIZE:
		r->u.detokenize.text = text;
		break;
	default:
		r->u.apply_template.prompt = text;
		r->u.apply_template.n_prompt = (int64_t)f->tokens.n;
		if (!c->request.message.u.apply_template.tokens)
			break;
		r->u.apply_template.tokens = f->tokens.id;
		r->u.apply_template.n_tokens = (uint32_t)f->tokens.n;
	}
}

static void answer(struct lmi_svc_call *c)
{
	const struct found *f = c->data;
	struct lmi_wire_reply r;

	if (c->err.status != LMD_OK) {
		fail(c, &c->err, c->err.status == LMD_BUSY ? lmi_svc_retry_ms(c->request.svc) : 0);
		return;
	}
	fill_reply(&r, c, f);
	lmi_svc_request_reply(&c->request, &r);
	end(c);
}

static void ready(struct lmi_svc_load_waiter *w, uint64_t now, struct lmi_svc_loaded_model *r,
		  const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_svc_call *c =
		(struct lmi_svc_call *)((char *)w - offsetof(struct lmi_svc_call, load_waiter));
	const struct lmi_wire_request *q = c->request.req;
	struct lmd_error refused;

	(void)now;
	if (!r) {
		fail(c, err, retry_ms);
		return;
	}
	c->loaded = r;
	if (!c->request.reply) { /* the connection has ended */
		end(c);
		return;
	}
	if (q->op == LMI_WIRE_OP_TOKENIZE && q->u.tokenize.has_keep_alive_ms)
		lmi_svc_loaded_model_keep(r, q->u.tokenize.keep_alive_ms);
	if (q->op == LMI_WIRE_OP_TOKENIZE && q->u.tokenize.text.len <= c->request.svc->limits.inline_bytes) {
		run_tokenize(c);
		answer(c);
		return;
	}
	if (q->op == LMI_WIRE_OP_APPLY_TEMPLATE &&
	    lmi_svc_preset_apply_template(r, &c->request.message.u.apply_template, c->request.arena,
					  &refused) != LMD_OK) {
		fail(c, &refused, 0);
		return;
	}
	c->done = answer;
	if (lmi_svc_call_submit(c, c->request.svc->o.work,
				q->op == LMI_WIRE_OP_TOKENIZE     ? run_tokenize
				: q->op == LMI_WIRE_OP_DETOKENIZE ? run_detokenize
								  : run_apply_template,
				&refused) != LMD_OK)
		fail(c, &refused, lmi_svc_retry_ms(c->request.svc));
}

static void found(struct lmi_svc_lookup *l, uint64_t now, struct lmi_svc_model *m,
		  const struct lmd_error *err)
{
	struct lmi_svc_call *c =
		(struct lmi_svc_call *)((char *)l - offsetof(struct lmi_svc_call, lookup));

	if (!m || !c->request.reply) { /* unknown, or the connection has ended */
		fail(c, err, 0);
		return;
	}
	c->load_waiter.ready = ready;
	lmi_svc_model_add_waiter(c->request.svc, now, m, &c->load_waiter);
}

static enum lmd_status begin(struct lmi_svc_request *a, const struct lmd_str *model,
			     uint32_t *retry_ms, struct lmd_error *err)
{
	struct lmi_svc_call *c;
	enum lmd_status st = lmi_svc_user_admit_work(a->svc, &a->principal, retry_ms, err);

	if (st == LMD_OK)
		st = lmi_svc_call_create(&c, a, err);
	if (st != LMD_OK)
		return st;
	c->data = lmi_arena_alloc(c->request.arena, sizeof(struct found), _Alignof(struct found));
	if (!c->data) {
		lmi_svc_call_destroy(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	c->lookup.found = found;
	c->lookup.principal = &c->request.principal;
	c->drops = true;
	lmi_svc_lookup_start(a->svc, a->now, &c->lookup, model);
	return LMD_OK;
}

enum lmd_status lmi_svc_do_tokenize(struct lmi_svc_request *a, uint32_t *retry_ms,
				    struct lmd_error *err)
{
	const struct lmi_wire_req_tokenize *q = &a->req->u.tokenize;

	if (q->text.len > a->svc->limits.text_bytes)
		return lmd_fail(err, LMD_INVALID, "text: %zu bytes, the maximum is %llu", q->text.len,
				(unsigned long long)a->svc->limits.text_bytes);
	return begin(a, &q->model, retry_ms, err);
}

enum lmd_status lmi_svc_do_detokenize(struct lmi_svc_request *a, uint32_t *retry_ms,
				      struct lmd_error *err)
{
	return begin(a, &a->req->u.detokenize.model, retry_ms, err);
}

enum lmd_status lmi_svc_do_apply_template(struct lmi_svc_request *a, uint32_t *retry_ms,
					  struct lmd_error *err)
{
	const struct lmi_wire_req_apply_template *q = &a->req->u.apply_template;
	const struct lmi_wire_req_generate g = generate_request(q);
	enum lmd_status st = lmi_svc_generate_check(&a->svc->limits, &g, err);

	if (st == LMD_OK && q->tokens && lmi_svc_pictures_count(&g))
		st = lmd_fail(err, LMD_UNSUPPORTED, "tokens: not together with pictures, which are no tokens");
	return st == LMD_OK ? begin(a, &q->model, retry_ms, err) : st;
}

/* SPDX-License-Identifier: MIT
 *
 * Converts fields of the protocol to parameters of the engine.  Their ranges were checked when the
 * message was decoded. */
#include "service/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/engine/sample.h"
#include "core/text/chat/chat.h"
#include "service/infill.h"
#include "service/request.h"
#include "service/required_call.h"
#include "service/settings.h"

/* ---- the prompt ---- */

bool lmi_svc_prompt_is_chat(const struct lmi_engine *e, const struct lmi_wire_req_generate *q)
{
	if (q->has_messages)
		return true;
	return q->has_prompt && !q->raw && !q->has_suffix &&
	       (q->has_template || lmi_chat_has_template(lmi_engine_chat(e)));
}

static struct lmd_str optional(bool has, struct lmd_str s)
{
	if (!has)
		return (struct lmd_str){0};
	return s.ptr ? s : (struct lmd_str){.ptr = ""};
}

static enum lmd_status messages(const struct lmi_wire_req_generate *q,
				const struct lmi_svc_pictures *pictures, char **own_texts,
				struct lmi_chat_message **out, uint32_t *n, struct lmd_error *err)
{
	static const struct lmd_str user = {.ptr = "user", .len = 4};
	uint32_t count = q->has_messages ? q->n_messages : 1;
	struct lmi_chat_message *m = lmi_alloc(count + 1, sizeof(*m));

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u messages", count);
	if (!q->has_messages)
		m[0] = (struct lmi_chat_message){.role = user, .content = q->prompt};
	*out = m;
	for (uint32_t i = 0; q->has_messages && i < count; i++) {
		const struct lmi_wire_chat_message *w = &q->messages[i];
		enum lmd_status st;

		m[i] = (struct lmi_chat_message){
			.role = w->role,
			.content = w->content,
			.reasoning = optional(w->has_reasoning, w->reasoning),
			.name = optional(w->has_name, w->name),
			.tool_calls = optional(w->has_tool_calls, w->tool_calls),
			.tool_call_id = optional(w->has_tool_call_id, w->tool_call_id),
		};
		if (!own_texts)
			continue;
		st = lmi_svc_pictures_mark(pictures, w, &m[i].content, &own_texts[i], err);
		if (st != LMD_OK)
			return st;
	}
	*n = count;
	return LMD_OK;
}

/* Fills *out; the caller frees *own_messages with lmi_free. own_texts: NULL: there are no pictures;
 * otherwise it gets the texts of messages that were made here. */
static enum lmd_status chat_input(const struct lmi_wire_req_generate *q, struct lmi_chat_input *out,
				  const struct lmi_svc_pictures *pictures, char **own_texts,
				  struct lmi_chat_message **own_messages, struct lmd_error *err)
{
	time_t now = time(NULL);
	enum lmd_status st;

	*own_messages = NULL;
	*out = (struct lmi_chat_input){
		.template = optional(q->has_template, q->template),
		.args = optional(q->has_template_args, q->template_args),
		.tools = optional(q->has_tools, q->tools),
	};
	(void)localtime_r(&now, &out->now); /* fails only for years beyond int */
	st = messages(q, pictures, own_texts, own_messages, &out->n_messages, err);
	out->messages = *own_messages;
	return st;
}

static enum lmd_status encode_chat(const struct lmi_engine *e,
				   const struct lmi_wire_req_generate *q,
				   struct lmi_svc_pictures *pictures, struct lmi_text_token_buf *out,
				   struct lmi_chat_answer_format *answer, struct lmd_error *err)
{
	char **texts = pictures->n ? lmi_alloc(q->n_messages, sizeof(*texts)) : NULL;
	struct lmi_chat_message *own = NULL;
	struct lmi_chat_input in;
	enum lmd_status st = LMD_OK;

	if (pictures->n && !texts)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u messages", q->n_messages);
	st = chat_input(q, &in, pictures, texts, &own, err);
	in.pictures = pictures->chat;
	in.n_pictures = pictures->n;
	in.picture_mark = (struct lmd_str){.ptr = pictures->mark, .len = strlen(pictures->mark)};
	if (st == LMD_OK)
		st = lmi_chat_encode(lmi_engine_chat(e), &in, q->add_special, out, answer, err);
	if (st == LMD_OK)
		st = lmi_svc_pictures_place(pictures, e, err);
	for (uint32_t i = 0; texts && i < q->n_messages; i++)
		lmi_free(texts[i]);
	lmi_free(texts);
	lmi_free(own);
	return st;
}

enum lmd_status lmi_svc_prompt_render(const struct lmi_engine *e,
				      const struct lmi_wire_req_generate *q,
				      struct lmi_text_byte_buf *out, struct lmd_error *err)
{
	const struct lmi_svc_pictures shown = {.mark = LMI_SVC_PICTURE_SHOWN};
	char **texts = lmi_alloc(q->n_messages + 1, sizeof(*texts));
	struct lmi_chat_message *own = NULL;
	struct lmi_chat_input in;
	uint8_t *by_template = NULL;
	enum lmd_status st = texts ? chat_input(q, &in, &shown, texts, &own, err)
				   : lmd_fail(err, LMD_NOMEM, "no memory for %u messages", q->n_messages);

	if (st == LMD_OK)
		st = lmi_chat_render(lmi_engine_chat(e), &in, out, &by_template, err);
	for (uint32_t i = 0; texts && i < q->n_messages; i++)
		lmi_free(texts[i]);
	lmi_free(texts);
	lmi_free(by_template);
	lmi_free(own);
	return st;
}

static enum lmd_status encode_plain(const struct lmi_engine *e,
				    const struct lmi_wire_req_generate *q,
				    struct lmi_text_token_buf *out, struct lmd_error *err)
{
	if (q->has_suffix)
		return lmi_svc_infill_encode(lmi_engine_tokenizer(e), q, out, err);
	if (q->has_prompt)
		return lmi_tokenizer_encode(
			lmi_engine_tokenizer(e), q->prompt.ptr, q->prompt.len,
			(q->add_special ? LMD_ENCODE_ADD_SPECIAL : 0) |
				(q->parse_special ? LMD_ENCODE_PARSE_SPECIAL : 0),
			out, err);
	out->n = 0;
	if (!q->n_tokens)
		return LMD_OK;
	out->id = lmi_alloc(q->n_tokens, sizeof(*out->id));
	if (!out->id)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u tokens", q->n_tokens);
	memcpy(out->id, q->tokens, q->n_tokens * sizeof(*out->id));
	out->n = out->cap = q->n_tokens;
	return LMD_OK;
}

enum lmd_status lmi_svc_prompt_encode(const struct lmi_engine *e,
				      const struct lmi_wire_req_generate *q,
				      struct lmi_svc_pictures *pictures, struct lmi_text_token_buf *out,
				      struct lmi_chat_answer_format *answer, struct lmd_error *err)
{
	enum lmd_status st = lmi_svc_pictures_read(pictures, e, q, err);

	if (st != LMD_OK)
		return st;
	if (q->has_parse_format)
		answer->format = lmi_answer_format_find(q->parse_format);
	answer->tools = q->has_tools;
	if (lmi_svc_prompt_is_chat(e, q))
		return encode_chat(e, q, pictures, out, q->parse ? answer : NULL, err);
	st = encode_plain(e, q, out, err);
	if (st == LMD_OK && q->parse)
		st = lmi_chat_find_answer_format(lmi_engine_chat(e), q->prompt, answer, err);
	return st;
}

enum lmd_status lmi_svc_prompt_check(const struct lmi_engine *e, const struct lmi_text_token_buf *t,
				     const struct lmi_service_limits *l,
				     struct lmd_error *err)
{
	struct lmi_engine_info info;
	uint32_t max;

	lmi_engine_info(e, &info);
	max = info.desc->driver == LMD_DRIVER_ENCDEC ? info.n_batch : info.n_ctx;
	if (!t->n)
		return lmd_fail(err, LMD_INVALID, "prompt: 0 tokens, at least 1 is required");
	if (t->n > max)
		return lmd_fail(err, LMD_INVALID,
				"prompt: a length of %zu tokens exceeds the available context size of %u",
				t->n, max);
	if (t->n > l->prompt_max)
		return lmd_fail(err, LMD_INVALID,
				"prompt: a length of %zu tokens exceeds the server's limit prompt_max of %llu",
				t->n, (unsigned long long)l->prompt_max);
	return LMD_OK;
}

/* ---- the grammar ---- */

bool lmi_svc_prompt_is_constrained(const struct lmi_wire_req_generate *q)
{
	return q->has_grammar || q->has_json_schema || q->has_regex || q->has_structural_tag ||
	       q->has_required_call || q->heal;
}

static enum lmi_engine_jump jump_of(const struct lmi_wire_req_generate *q)
{
	if (q->has_logprobs) /* each token needs its row of logits */
		return LMI_ENGINE_JUMP_OFF;
	switch (q->jump) {
	case LMI_WIRE_JUMP_TEXT:
		return LMI_ENGINE_JUMP_TEXT;
	case LMI_WIRE_JUMP_OFF:
		return LMI_ENGINE_JUMP_OFF;
	case LMI_WIRE_JUMP_UNKNOWN:
	case LMI_WIRE_JUMP_TOKEN:
		break;
	}
	return LMI_ENGINE_JUMP_TOKEN;
}

/* Makes the constraint of a required call, with the texts of the control tokens among its markers. */
static enum lmd_status require_call(struct lmi_engine *e, const struct lmi_wire_req_generate *q,
				    struct lmi_chat_answer_format *answer,
				    struct lmi_svc_required_call *out, struct lmd_error *err)
{
	const struct lmi_tokenizer *tok = lmi_engine_tokenizer(e);
	size_t n = answer->shown.n, cap = n ? lmi_tokenizer_info(tok)->max_piece_bytes : 0;
	struct lmi_svc_marker_token *tokens = lmi_alloc(n + 1, sizeof(*tokens));
	char *bytes = n ? lmi_alloc(n, cap) : NULL;
	enum lmd_status st = LMD_OK;

	if (!tokens || (n && !bytes))
		st = lmd_fail(err, LMD_NOMEM, "no memory for the grammar of tool calls");
	for (size_t i = 0; st == LMD_OK && i < n; i++) {
		tokens[i].id = answer->shown.id[i];
		size_t len = lmi_tokenizer_piece(tok, answer->shown.id[i], LMD_DECODE_UNPARSE_SPECIAL,
						 bytes + i * cap, cap);

		tokens[i].text.ptr = bytes + i * cap;
		tokens[i].text.len = len < cap ? len : cap; /* a plugin may understate max_piece_bytes */
	}
	if (st == LMD_OK)
		st = lmi_svc_required_call_make(out, q, answer, tokens, n, err);
	lmi_free(tokens);
	lmi_free(bytes);
	return st;
}

enum lmd_status lmi_svc_prompt_constrain(struct lmi_engine *e,
					 const struct lmi_wire_req_generate *q,
					 struct lmi_text_token_buf *prompt,
					 const struct lmi_text_token_buf *resumed,
					 struct lmi_chat_answer_format *answer,
					 struct lmi_engine_constraint **out, struct lmd_error *err)
{
	struct lmi_svc_required_call call = {0};
	enum lmd_status st = LMD_OK;
	struct lmi_engine_constrain_opts o = {
		.grammar = {.gbnf = optional(q->has_grammar, q->grammar),
			    .schema = optional(q->has_json_schema, q->json_schema),
			    .regex = optional(q->has_regex, q->regex),
			    .structural_tag = optional(q->has_structural_tag, q->structural_tag),
			    .triggers = q->grammar_triggers,
			    .n_triggers = q->n_grammar_triggers},
		.jump = jump_of(q),
		.heal = q->heal,
		.prompt = prompt->id,
		.n_prompt = prompt->n,
		.resumed = resumed->id,
		.n_resumed = resumed->n,
	};

	*out = NULL;
	if (q->has_required_call)
		st = require_call(e, q, answer, &call, err);
	if (call.text)
		*(call.structural_tag ? &o.grammar.structural_tag : &o.grammar.schema) =
			lmi_svc_str(call.text);
	if (st == LMD_OK && lmi_svc_prompt_is_constrained(q))
		st = lmi_engine_constrain(e, &o, out, &prompt->n, err);
	free(call.text);
	return st;
}

/* ---- samplers ---- */

/* Converts the sampler chain of the request with its parameters to one block of memory. */
static enum lmd_status chain(const struct lmi_wire_req_generate *q, struct lmi_sampler_spec **out,
			     struct lmd_error *err)
{
	struct lmi_sampler_spec *spec;
	struct lmi_sampler_arg *arg;
	size_t n_arg = 0;

	for (uint32_t i = 0; i < q->n_chain; i++)
		n_arg += q->chain[i].n_args;
	spec = lmi_alloc(1, q->n_chain * sizeof(*spec) + n_arg * sizeof(*arg) + 1);
	if (!spec)
		return lmd_fail(err, LMD_NOMEM, "no memory for a sampler chain");
	arg = (struct lmi_sampler_arg *)(spec + q->n_chain);
	for (uint32_t i = 0; i < q->n_chain; i++) {
		const struct lmi_wire_sampler *s = &q->chain[i];

		spec[i] = (struct lmi_sampler_spec){
			.name = s->name, .args = arg, .n_args = s->n_args};
		for (uint32_t k = 0; k < s->n_args; k++)
			*arg++ = (struct lmi_sampler_arg){.name = s->args[k].name,
							  .type = s->args[k].type,
							  .v = s->args[k].v};
	}
	*out = spec;
	return LMD_OK;
}

/* ---- the command ---- */

enum lmi_engine_class lmi_svc_prompt_class(const struct lmi_wire_req_generate *q)
{
	switch (q->class) {
	case LMI_WIRE_CLASS_INTERACTIVE:
		return LMI_ENGINE_CLASS_INTERACTIVE;
	case LMI_WIRE_CLASS_BATCH:
		return LMI_ENGINE_CLASS_BATCH;
	case LMI_WIRE_CLASS_UNKNOWN:
	case LMI_WIRE_CLASS_NORMAL:
		break;
	}
	return LMI_ENGINE_CLASS_NORMAL;
}

static int64_t n_predict(const struct lmi_wire_req_generate *q, const struct lmi_svc_prompt *p,
			 uint32_t n_ctx)
{
	uint64_t n = q->has_n ? (uint64_t)q->n : p->n_default;

	if (q->has_n && q->n < 0)
		return p->n_max < n_ctx || q->context_shift ? (int64_t)p->n_max : -1;
	return (int64_t)(n < p->n_max ? n : p->n_max);
}

enum lmd_status lmi_svc_prompt_run(struct lmi_engine *e, uint64_t cmd,
				   const struct lmi_wire_req_generate *q,
				   const struct lmi_svc_prompt *p, struct lmd_error *err)
{
	struct lmi_engine_info info;
	char names[LMI_SAMPLER_ORDER_MAX];
	struct lmi_engine_generate g = {.id = cmd,
					.seq = {.tokens = p->tokens,
						.n_tokens = (uint32_t)p->n_tokens,
						.adapter = p->adapter,
						.pictures = p->pictures->parts,
						.n_pictures = p->pictures->n_part,
						.fork_of = LMI_ENGINE_NO_FORK},
					.seed = p->seed,
					.shown = p->shown->id,
					.n_shown = (uint32_t)p->shown->n,
					.stops = q->stop,
					.n_stops = q->n_stop,
					.stop_tokens = q->stop_tokens,
					.n_stop_tokens = q->n_stop_tokens,
					.n_min = (uint32_t)q->min_tokens,
					.flags = (q->ignore_eog ? LMI_ENGINE_GEN_IGNORE_EOG : 0) |
						 (q->special ? LMI_ENGINE_GEN_SPECIAL : 0) |
						 (q->cache_prompt ? 0 : LMI_ENGINE_GEN_NO_CACHE) |
						 (q->sampled_probs ? LMI_ENGINE_GEN_SAMPLED_PROBS
								   : 0) |
						 (p->resumable ? LMI_ENGINE_GEN_RESUMABLE : 0),
					.resumed = p->resumed->id,
					.n_resumed = (uint32_t)p->resumed->n,
					.n_logprobs = q->has_logprobs ? (uint32_t)q->logprobs + 1 : 0,
					.draft = LMI_ENGINE_DRAFT_ANY,
					.n_draft = q->has_draft_max ? (uint32_t)q->draft_max
								    : p->draft_max,
					.prediction = p->prediction->id,
					.n_prediction = (uint32_t)p->prediction->n,
					.shift = q->context_shift,
					.n_keep = q->n_keep,
					.n_discard = (uint32_t)q->n_discard,
					.cache_reuse = (uint32_t)q->cache_reuse,
					.pin_ns = (uint64_t)q->pin_ms * LMI_NS_PER_MS,
					.tenant = p->tenant,
					.client = p->client,
					.class = lmi_svc_prompt_class(q),
					.constraint = p->constraint};
	struct lmi_sampler_spec *own = NULL;
	struct lmi_sampler_spec_list *list = NULL;
	struct lmi_sampler_params sp;
	enum lmd_status st = LMD_OK;

	lmi_engine_info(e, &info);
	g.n_predict = n_predict(q, p, info.n_ctx);
	if (p->used)
		*p->used = (struct lmi_svc_settings){.n_predict = g.n_predict, .has_sampling = !q->has_chain};
	if (q->has_chain) {
		st = chain(q, &own, err);
		g.specs = own;
		g.n_specs = q->n_chain;
	} else {
		sp = *p->defaults;
		LMI_SAMPLER_PARAMS_COPY(&sp, q);
		sp.n_ctx = info.n_ctx;
		for (uint32_t i = 0; p->used && i < LMI_SAMPLER_N_SCALAR; i++)
			p->used->sampling[i] = lmi_sampler_scalar_get(&sp, i);
		if (!q->has_suppress_tokens)
			sp.suppress_tokens = lmi_engine_suppressed(e, &sp.n_suppress_tokens);
		list = lmi_alloc(1, sizeof(*list));
		if (!list)
			return lmd_fail(err, LMD_NOMEM, "no memory for samplers");
		st = lmi_sampler_specs_order(list, &sp, optional(q->has_order, q->order), names,
					     err);
		g.specs = list->spec;
		g.n_specs = list->n;
	}
	if (st == LMD_OK)
		st = lmi_engine_generate(e, &g, err);
	lmi_free(own);
	lmi_free(list);
	return st;
}

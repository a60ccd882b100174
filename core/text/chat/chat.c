/* SPDX-License-Identifier: MIT
 *
 * The model's own template is parsed once, in lmi_chat_create; other templates are parsed when they
 * are used. */
#include "core/text/chat/chat.h"

#include <jansson.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/text/answer/formats.h"
#include "core/text/chat/control_tokens.h"
#include "core/text/chat/pictures.h"
#include "core/text/chat/template_vars.h"
#include "core/jinja/template.h"

#define VARS_BYTES (256ull << 20)

struct lmi_chat {
	const struct lmd_model *model;
	const struct lmi_tokenizer *tok;
	struct lmi_text_control_tokens *controls;
	struct lmi_jinja *own; /* NULL: the model has none, or parsing failed with own_err */
	struct lmd_error own_err;
};

enum lmd_status lmi_chat_create(struct lmi_chat **out, const struct lmd_model *model,
				const struct lmi_tokenizer *tok, struct lmd_error *err)
{
	struct lmi_chat *c = lmi_alloc(1, sizeof(*c));
	enum lmd_status st;

	if (!c)
		return lmd_fail(err, LMD_NOMEM, "no memory for a chat template");
	c->model = model;
	c->tok = tok;
	st = lmi_text_control_tokens_create(&c->controls, tok, err);
	if (st == LMD_OK && model->chat_template.ptr) {
		st = lmi_jinja_parse(&c->own, model->chat_template.ptr, model->chat_template.len,
				     &c->own_err);
		if (st == LMD_NOMEM)
			(void)lmd_fail(err, st, "%s", c->own_err.text);
		else
			st = LMD_OK; /* a broken template may never be used */
	}
	if (st != LMD_OK) {
		lmi_chat_destroy(c);
		return st;
	}
	*out = c;
	return LMD_OK;
}

void lmi_chat_destroy(struct lmi_chat *c)
{
	if (!c)
		return;
	lmi_jinja_destroy(c->own);
	lmi_text_control_tokens_destroy(c->controls);
	lmi_free(c);
}

bool lmi_chat_find_variant(const struct lmi_chat *c, struct lmd_str name, struct lmd_str *out)
{
	return lmi_chat_find_variant_in(out, c->model, name);
}

bool lmi_chat_has_template(const struct lmi_chat *c)
{
	return c->model->chat_template.ptr != NULL;
}

/* ---- rendering ---- */

/* Finds the template to use.  The caller destroys *made. */
static enum lmd_status choose_template(const struct lmi_chat *c, struct lmd_str requested,
				       const struct lmi_jinja **out, struct lmi_jinja **made,
				       struct lmd_error *err)
{
	struct lmd_str text;
	enum lmd_status st = lmi_chat_find_template(&text, c->model, requested, err);

	if (st != LMD_OK)
		return st;
	if (text.ptr != c->model->chat_template.ptr) {
		st = lmi_jinja_parse(made, text.ptr, text.len, err);
		*out = *made;
	} else if (!c->own) {
		st = lmd_fail(err, c->own_err.status, "in the model's own template: %s",
			      c->own_err.text);
	} else {
		*out = c->own;
	}
	if (st != LMD_OK)
		lmd_error_prefix(err, "chat template");
	return st;
}

/* The assistant message at the end that the answer continues, or NULL.  A message with tool calls
 * cannot be continued. */
static const struct lmi_chat_message *answer_prefix(const struct lmi_chat_input *in)
{
	const struct lmi_chat_message *m = &in->messages[in->n_messages - 1];

	return m->role.len == 9 && !memcmp(m->role.ptr, "assistant", 9) && !m->tool_calls.ptr &&
			       in->n_messages > 1
		       ? m
		       : NULL;
}

/* Appends the beginning of the answer after the text that the template wrote. */
static enum lmd_status append_prefix(struct lmi_jinja_output *o, const struct lmi_chat_message *m,
				     struct lmd_error *err)
{
	size_t n = m->content.ptr ? m->content.len : 0;
	char *text = lmi_realloc(o->text, o->bytes + n + 1, 1);
	uint8_t *own;

	if (text)
		o->text = text;
	own = text ? lmi_realloc(o->origins, o->bytes + n + 1, 1) : NULL;
	if (!own)
		return lmd_fail(err, LMD_NOMEM, "no memory for a prompt of %zu bytes",
				o->bytes + n);
	o->origins = own;
	if (n) {
		memcpy(text + o->bytes, m->content.ptr, n);
		memset(own + o->bytes, 0, n);
	}
	o->bytes += n;
	return LMD_OK;
}

static bool has_calls(const struct lmi_chat_input *in)
{
	for (uint32_t i = 0; i < in->n_messages; i++)
		if (in->messages[i].tool_calls.ptr)
			return true;
	return false;
}

static enum lmd_status render(const struct lmi_chat *c, const struct lmi_jinja *t,
			      const struct lmi_chat_input *in, struct lmd_arena *arena,
			      struct lmi_jinja_output *out, struct lmd_error *err)
{
	const struct lmi_chat_message *last = answer_prefix(in);
	struct lmi_jinja_value vars;
	const struct lmi_jinja_input ti = {
		.vars = &vars, .n_vars = 1, .now = in->now, .want_origins = true};
	enum lmd_status st = lmi_chat_vars(&vars, in, in->n_messages - (last != NULL), false,
					   c->tok, arena, err);

	if (st != LMD_OK)
		return st;
	st = lmi_jinja_render(t, &ti, out, err);
	if (st == LMD_INVALID && has_calls(in)) { /* it may expect string arguments */
		struct lmi_jinja_output again = {0};

		if (lmi_chat_vars(&vars, in, in->n_messages - (last != NULL), true, c->tok, arena,
				  NULL) == LMD_OK &&
		    lmi_jinja_render(t, &ti, &again, NULL) == LMD_OK) {
			lmi_jinja_output_fini(out);
			*out = again;
			st = LMD_OK;
		} else {
			lmi_jinja_output_fini(&again);
		}
	}
	if (st != LMD_OK)
		lmd_error_prefix(err, "chat template");
	return st == LMD_OK && last ? append_prefix(out, last, err) : st;
}

enum lmd_status lmi_chat_render(const struct lmi_chat *c, const struct lmi_chat_input *in,
				struct lmi_text_byte_buf *out, uint8_t **own, struct lmd_error *err)
{
	struct lmi_jinja_output o = {0};
	const struct lmi_jinja *t = NULL;
	struct lmi_jinja *made = NULL;
	struct lmd_arena *arena;
	enum lmd_status st = lmi_chat_check(in, err);

	if (st == LMD_OK)
		st = choose_template(c, in->template, &t, &made, err);
	if (st != LMD_OK)
		return st;
	arena = lmi_arena_create(VARS_BYTES);
	st = arena ? render(c, t, in, arena, &o, err)
		   : lmd_fail(err, LMD_NOMEM, "no memory for a chat template");
	lmi_arena_destroy(arena);
	lmi_jinja_destroy(made);
	if (st == LMD_OK) {
		lmi_text_byte_buf_fini(out);
		*out = (struct lmi_text_byte_buf){.p = o.text, .n = o.bytes, .cap = o.bytes};
		*own = o.origins;
		o.text = NULL;
		o.origins = NULL;
	}
	lmi_jinja_output_fini(&o);
	return st;
}

/* ---- the answer ---- */

/* prompt does not include the beginning of the answer. */
static enum lmd_status find_answer(const struct lmi_chat *c, struct lmd_str requested,
				   struct lmd_str prompt, struct lmd_str prefix,
				   struct lmi_chat_answer_format *a, struct lmd_error *err)
{
	const struct lmd_str none = {.ptr = ""}, own = c->model->chat_template;
	struct lmd_str text = none;

	if (!a->format) {
		/* rendering has already reported a missing template, where one was needed */
		if (lmi_chat_find_template(&text, c->model, requested, NULL) != LMD_OK)
			text = none;
		a->format = lmi_answer_format_detect(text);
		if (a->format == lmi_answer_format_detect(none) && own.ptr)
			a->format = lmi_answer_format_detect(own);
	}
	a->thinks = lmi_answer_format_opens_reasoning(a->format, prompt, prefix);
	return lmi_text_control_tokens_in_markers(c->controls, a->format, &a->shown, err);
}

enum lmd_status lmi_chat_find_answer_format(const struct lmi_chat *c, struct lmd_str prompt,
					    struct lmi_chat_answer_format *answer,
					    struct lmd_error *err)
{
	return find_answer(c, (struct lmd_str){0}, prompt, (struct lmd_str){0}, answer, err);
}

/* ---- tokens ---- */

enum lmd_status lmi_chat_encode(const struct lmi_chat *c, const struct lmi_chat_input *in,
				bool begin, struct lmi_text_token_buf *out,
				struct lmi_chat_answer_format *answer, struct lmd_error *err)
{
	const struct lmd_tok_info *info = lmi_tokenizer_info(c->tok);
	lmd_token bos = info->bos;
	struct lmi_text_byte_buf text = {0};
	uint8_t *own = NULL;
	enum lmd_status st = lmi_chat_render(c, in, &text, &own, err);

	out->n = 0;
	if (st == LMD_OK)
		st = in->n_pictures ? lmi_chat_encode_pictures(in, c->controls, c->tok, &text, own, out, err)
				    : lmi_text_control_tokens_encode_prompt(c->controls, c->tok, text.p,
									    own, text.n, out, err);
	if (st == LMD_OK && begin && info->add_bos && bos >= 0 && (!out->n || out->id[0] != bos)) {
		st = lmi_text_token_buf_append(out, &bos, 1, err);
		if (st == LMD_OK) {
			memmove(out->id + 1, out->id, (out->n - 1) * sizeof(*out->id));
			out->id[0] = bos;
			for (uint32_t i = 0; i < in->n_pictures; i++)
				for (uint32_t k = 0; k < in->pictures[i].n; k++)
					in->pictures[i].parts[k].first++;
		}
	}
	if (st == LMD_OK && answer) {
		const struct lmi_chat_message *last = answer_prefix(in);
		struct lmd_str prefix = last ? last->content : (struct lmd_str){0};

		answer->tools = in->tools.ptr != NULL;
		st = find_answer(c, in->template,
				 (struct lmd_str){.ptr = text.p, .len = text.n - prefix.len},
				 prefix, answer, err);
		/* what is no list of functions tells nothing of its parameters */
		if (st == LMD_OK && answer->tools && answer->format->param && !answer->tool_list)
			answer->tool_list = json_loadb(in->tools.ptr, in->tools.len, JSON_ALLOW_NUL, NULL);
	}
	lmi_text_byte_buf_fini(&text);
	lmi_free(own);
	return st;
}

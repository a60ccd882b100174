/* SPDX-License-Identifier: MIT
 *
 * POST /completion and POST /infill: the body as a request.  The prompt is plain text, and control tokens that it
 * spells are control tokens. */
#include <string.h>

#include "daemon/http/chat_body.h"
#include "daemon/http/exchange.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"

static void read_n_cmpl(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	t->out->n_choice = (uint32_t)lmi_http_read_int(&t->r, at, v, 1, LMI_HTTP_N_MAX);
}

static void read_return_tokens(struct lmi_http_translation *t, const struct lmi_http_at *at,
			       const json_t *v)
{
	struct lmi_llamacpp_state *s = t->state;

	s->return_tokens = lmi_http_read_bool(&t->r, at, v);
}

static const struct lmi_http_member rows[] = {
	{.name = "model", .read = lmi_http_read_model},
	{.name = "prompt", .read = lmi_http_read_prompts},
	{.name = "n_predict", .read = lmi_http_read_n_max},
	{.name = "max_tokens", .read = lmi_http_read_n_max},
	{.name = "stream", .read = lmi_http_read_stream},
	{.name = "temperature", .wire = "temp"},
	{.name = "top_p", .wire = "top_p"},
	{.name = "presence_penalty", .wire = "presence_penalty"},
	{.name = "frequency_penalty", .wire = "frequency_penalty"},
	{.name = "logit_bias", .wire = "logit_bias"},
	{.name = "stop", .wire = "stop"},
	{.name = "seed", .read = lmi_http_read_seed},
	{.name = "n", .read = read_n_cmpl},
	{.name = "n_cmpl", .read = read_n_cmpl},
	{.name = "return_tokens", .read = read_return_tokens},
	{.name = "response_fields", .read = lmi_llamacpp_read_fields},
};

static const struct lmi_http_members members = {
	.v = rows, .n = LMD_LEN(rows), .more = &lmi_http_sampling_members, .clamp = true,
	.ignore_unknown = true};

/* ---- POST /infill ---- */

static void read_suffix(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	t->q->suffix = lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_TEXT_BYTES);
}

static void read_extra(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	size_t n = json_array_size(v);
	struct lmi_wire_infill_file *files;

	if (!lmi_http_is_list(&t->r, at, v, 0, LMI_WIRE_LIMIT_MESSAGES))
		return;
	files = lmi_http_alloc(&t->r, n, sizeof(*files));
	for (size_t i = 0; files && i < n; i++) {
		const struct lmi_http_at here = {.up = at, .index = i},
					 at_name = {.up = &here, .name = "filename"},
					 at_text = {.up = &here, .name = "text"};
		const json_t *file = json_array_get(v, i), *name;

		if (!lmi_http_is_object(&t->r, &here, file))
			return;
		name = lmi_http_get(file, "filename");
		files[i].name = (struct lmd_str){.ptr = ""};
		if (name)
			files[i].name = lmi_http_read_line(&t->r, &at_name, name, 0,
							   LMI_WIRE_LIMIT_PATH_BYTES);
		files[i].text = lmi_http_read_str(&t->r, &at_text, lmi_http_get(file, "text"), 0,
						  LMI_WIRE_LIMIT_TEXT_BYTES);
	}
	t->q->infill_files = files;
	t->q->n_infill_files = (uint32_t)n;
}

static const struct lmi_http_member infill_rows[] = {
	{.name = "input_prefix"}, /* read after the others */
	{.name = "prompt"},       /* likewise */
	{.name = "input_suffix", .read = read_suffix},
	{.name = "input_extra", .read = read_extra},
};

static const struct lmi_http_members infill_members = {
	.v = infill_rows, .n = LMD_LEN(infill_rows), .more = &members, .clamp = true,
	.ignore_unknown = true};

/* The prompt is a part of the answer that is already there: it continues the prefix. */
static void read_prefix(struct lmi_http_translation *t, const json_t *body)
{
	static const struct lmi_http_at at_prefix = {.name = "input_prefix"},
					at_prompt = {.name = "prompt"};
	const json_t *prompt = lmi_http_get(body, "prompt");
	struct lmd_str parts[2] = {
		lmi_http_read_str(&t->r, &at_prefix, lmi_http_get(body, "input_prefix"), 0,
				  LMI_WIRE_LIMIT_TEXT_BYTES),
		{.ptr = ""}};
	char *p;

	if (prompt)
		parts[1] = lmi_http_read_str(&t->r, &at_prompt, prompt, 0,
					     LMI_WIRE_LIMIT_TEXT_BYTES);
	p = lmi_http_alloc(&t->r, parts[0].len + parts[1].len + 1, 1);
	if (!p)
		return;
	memcpy(p, parts[0].ptr, parts[0].len);
	memcpy(p + parts[0].len, parts[1].ptr, parts[1].len);
	t->q->prompt = (struct lmd_str){.ptr = p, .len = parts[0].len + parts[1].len};
	t->q->has_prompt = t->q->has_suffix = true;
}

/* ---- both ---- */

static void begin(struct lmi_http_translation *t, struct lmi_http_generation *out,
		  struct lmd_arena *arena, struct lmd_error *err)
{
	lmi_http_translation_init(t, out, arena, err);
	t->state = out->state = lmi_http_alloc(&t->r, 1, sizeof(struct lmi_llamacpp_state));
	out->form = &lmi_llamacpp_form;
	t->q->raw = t->q->parse_special = t->q->report_settings = true;
}

static enum lmd_status end(struct lmi_http_translation *t, struct lmd_arena *arena,
			   const char **param)
{
	struct lmi_llamacpp_state *s = t->state;

	if (s) {
		s->arena = arena;
		s->logprobs = t->q->sampled_probs ? LMI_HTTP_LOGPROBS_SAMPLED
						  : LMI_HTTP_LOGPROBS_LLAMACPP;
		s->stop = t->q->n_stop == 1 ? t->q->stop[0] : (struct lmd_str){.ptr = ""};
		s->stops = t->q->stop;
		s->n_stop = t->q->n_stop;
		s->ignore_eos = t->q->ignore_eog;
		s->stream = t->out->stream;
		s->n_probs = t->q->has_logprobs ? t->q->logprobs : 0;
	}
	return lmi_http_translation_end(t, param);
}

enum lmd_status lmi_llamacpp_translate_infill(struct lmi_http_generation *out, const json_t *body,
					      struct lmd_arena *arena, const char **param,
					      struct lmd_error *err)
{
	static const struct lmi_http_at at_suffix = {.name = "input_suffix"};
	struct lmi_http_translation t;

	begin(&t, out, arena, err);
	lmi_http_members_read(&t, NULL, body, &infill_members);
	if (!lmi_http_get(body, "input_suffix"))
		lmi_http_fail(&t.r, &at_suffix, "is missing");
	read_prefix(&t, body);
	return end(&t, arena, param);
}

void lmi_llamacpp_infill(struct lmi_http_exchange *x)
{
	lmi_http_generate(x, lmi_llamacpp_translate_infill);
}

enum lmd_status lmi_llamacpp_translate(struct lmi_http_generation *out, const json_t *body,
				       struct lmd_arena *arena, const char **param,
				       struct lmd_error *err)
{
	static const struct lmi_http_at at_prompt = {.name = "prompt"};
	struct lmi_http_translation t;

	begin(&t, out, arena, err);
	lmi_http_members_read(&t, NULL, body, &members);
	if (!t.q->has_prompt && !t.q->has_tokens)
		lmi_http_fail(&t.r, &at_prompt, "is missing");
	lmi_http_finish_prompts(&t);
	return end(&t, arena, param);
}

void lmi_llamacpp_completion(struct lmi_http_exchange *x)
{
	lmi_http_generate(x, lmi_llamacpp_translate);
}

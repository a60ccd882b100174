/* SPDX-License-Identifier: MIT
 *
 * Sampling parameters and constraints under the names that llama.cpp's server and vLLM gave them.
 * Clients send them to every API that is not Ollama's. */
#include <stdio.h>

#include "daemon/http/chat_body.h"
#include "daemon/http/lora_list.h"

/* A list of names becomes the order of the samplers. */
static void read_samplers(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v)
{
	uint32_t n;
	const struct lmd_str *names;
	char *p;
	size_t bytes = 0;

	if (json_is_string(v)) {
		lmi_http_wire_read(t, at, v, "order", false);
		return;
	}
	names = lmi_http_read_strs(&t->r, at, v, LMI_WIRE_LIMIT_SAMPLERS, 48, &n);
	for (uint32_t i = 0; i < n; i++)
		bytes += names[i].len + 1;
	if (!bytes)
		return;
	if (bytes > 257)
		lmi_http_fail(&t->r, at, "has %zu bytes, the maximum is 256", bytes - 1);
	p = lmi_http_alloc(&t->r, bytes, 1);
	if (!p)
		return;
	t->q->order = (struct lmd_str){.ptr = p, .len = bytes - 1};
	t->q->has_order = true;
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			*p++ = ',';
		for (size_t k = 0; k < names[i].len; k++) {
			unsigned char c = (unsigned char)names[i].ptr[k];

			if (c < 0x20 || c == 0x7f)
				lmi_http_fail(&t->r, at, "contains the control character 0x%02x",
					      c);
			*p++ = names[i].ptr[k];
		}
	}
}

static void set_grammar(struct lmi_http_translation *t, struct lmd_str grammar)
{
	t->q->grammar = grammar;
	t->q->has_grammar = true;
}

static void read_grammar(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	struct lmd_str s = lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_GRAMMAR_BYTES);

	if (s.len)
		set_grammar(t, s);
}

static void read_choice(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v)
{
	set_grammar(t, lmi_http_choice_grammar(t, at, v));
}

/* A schema as an object, or as a string that contains one. */
static void read_json(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	json_t *parsed;

	if (!json_is_string(v)) {
		lmi_http_read_schema(t, at, v);
		return;
	}
	parsed = json_loadb(json_string_value(v), json_string_length(v), 0, NULL);
	if (parsed)
		lmi_http_read_schema(t, at, parsed);
	else
		lmi_http_fail(&t->r, at, "is a string that does not contain JSON");
	json_decref(parsed);
}

static void read_regex(struct lmi_http_translation *t, const struct lmi_http_at *at,
		       const json_t *v)
{
	t->q->regex = lmi_http_read_str(&t->r, at, v, 0, LMI_WIRE_LIMIT_GRAMMAR_BYTES);
	t->q->has_regex = t->q->regex.len > 0;
}

/* A structural tag as an object, or as a string that contains one. */
static void read_structural_tag(struct lmi_http_translation *t, const struct lmi_http_at *at,
				const json_t *v)
{
	if (json_is_string(v))
		t->q->structural_tag =
			lmi_http_read_str(&t->r, at, v, 1, LMI_WIRE_LIMIT_GRAMMAR_BYTES);
	else if (lmi_http_is_object(&t->r, at, v))
		t->q->structural_tag =
			lmi_http_read_json(&t->r, at, v, LMI_WIRE_LIMIT_GRAMMAR_BYTES);
	t->q->has_structural_tag = true;
}

static void read_structured(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v)
{
	static const struct lmi_http_member rows[] = {
		{.name = "json", .read = read_json},
		{.name = "choice", .read = read_choice},
		{.name = "grammar", .read = read_grammar},
		{.name = "regex", .read = read_regex},
		{.name = "json_object", .refused = "is not supported: use json"},
		{.name = "structural_tag", .read = read_structural_tag},
		{.name = "disable_fallback"},
		{.name = "disable_any_whitespace"},
		{.name = "disable_additional_properties"},
		{.name = "whitespace_pattern"},
	};
	static const struct lmi_http_members table = {.v = rows, .n = LMD_LEN(rows)};

	lmi_http_members_read(t, at, v, &table);
}

static void read_hide_special(struct lmi_http_translation *t, const struct lmi_http_at *at,
			      const json_t *v)
{
	t->q->special = !lmi_http_read_bool(&t->r, at, v);
}

/* 0: none. */
static void read_n_probs(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v)
{
	if (lmi_http_read_int(&t->r, at, v, 0, INT64_MAX))
		lmi_http_wire_read(t, at, v, "logprobs", true);
}

static void read_draft_max(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v)
{
	lmi_http_wire_read(t, at, v, "draft_max", true);
}

/* An empty list has no effect. */
static void read_lora(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	struct lmd_str text = lmi_http_read_lora(&t->r, at, v);

	if (t->r.status != LMD_OK || !json_array_size(v))
		return;
	t->q->has_adapter = true;
	t->q->adapter = text;
}

/* In seconds; 0 and -1: never. */
static void read_ping(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	int64_t s = lmi_http_read_int(&t->r, at, v, -1, 3600);

	t->out->ping_ms = s > 0 ? (uint32_t)s * 1000 : 0;
}

/* Which rows a request continues is chosen by its session; -1: any. */
static void read_slot(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	int64_t slot = lmi_http_read_int(&t->r, at, v, -1, LMI_HTTP_SLOT_MAX);
	char *name = slot < 0 ? NULL : lmi_http_alloc(&t->r, LMI_HTTP_SLOT_NAME, 1);

	if (!name)
		return;
	(void)snprintf(name, LMI_HTTP_SLOT_NAME, "slot-%d", (int)slot);
	t->q->has_session = t->out->is_slot = true;
	t->q->session = lmi_http_str(name);
}

static void read_one(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	(void)lmi_http_read_int(&t->r, at, v, 1, 1);
}

static const struct lmi_http_member rows[] = {
	{.name = "top_k", .wire = "top_k"},
	{.name = "min_p", .wire = "min_p"},
	{.name = "typical_p", .wire = "typical"},
	{.name = "top_n_sigma", .wire = "top_n_sigma"},
	{.name = "min_keep", .wire = "min_keep"},
	{.name = "repeat_last_n", .wire = "repeat_last_n"},
	{.name = "repeat_penalty", .wire = "repeat_penalty"},
	{.name = "repetition_penalty", .wire = "repeat_penalty"},
	{.name = "dynatemp_range", .wire = "dynatemp_range"},
	{.name = "dynatemp_exponent", .wire = "dynatemp_exponent"},
	{.name = "xtc_probability", .wire = "xtc_probability"},
	{.name = "xtc_threshold", .wire = "xtc_threshold"},
	{.name = "dry_multiplier", .wire = "dry_multiplier"},
	{.name = "dry_base", .wire = "dry_base"},
	{.name = "dry_allowed_length", .wire = "dry_allowed_length"},
	{.name = "dry_penalty_last_n", .wire = "dry_last_n"},
	{.name = "dry_sequence_breakers", .wire = "dry_breakers"},
	{.name = "mirostat", .wire = "mirostat"},
	{.name = "mirostat_tau", .wire = "mirostat_tau"},
	{.name = "mirostat_eta", .wire = "mirostat_eta"},
	{.name = "samplers", .read = read_samplers},
	{.name = "n_probs", .read = read_n_probs},
	{.name = "sse_ping_interval", .read = read_ping},
	{.name = "post_sampling_probs", .wire = "sampled_probs"},
	{.name = "ignore_eos", .wire = "ignore_eog"},
	{.name = "cache_prompt", .wire = "cache_prompt"},
	{.name = "pin_ms", .wire = "pin_ms"},
	{.name = "n_cache_reuse", .wire = "cache_reuse"},
	{.name = "context_shift", .wire = "context_shift"},
	{.name = "durable", .wire = "durable"},
	{.name = "session", .wire = "session"},
	{.name = "id_slot", .read = read_slot},
	{.name = "n_keep", .wire = "n_keep"},
	{.name = "n_discard", .wire = "n_discard"},
	{.name = "adapter", .wire = "adapter"},
	{.name = "lora", .read = read_lora},
	{.name = "speculative.n_max", .read = read_draft_max},
	{.name = "min_tokens", .wire = "min_tokens"},
	{.name = "stop_token_ids", .wire = "stop_tokens"},
	{.name = "skip_special_tokens", .read = read_hide_special},
	/* constraints */
	{.name = "grammar", .read = read_grammar},
	{.name = "json_schema", .read = lmi_http_read_schema},
	{.name = "guided_json", .read = read_json},
	{.name = "guided_choice", .read = read_choice},
	{.name = "guided_grammar", .read = read_grammar},
	{.name = "guided_regex", .read = read_regex},
	{.name = "structured_outputs", .read = read_structured},
	{.name = "grammar_lazy", .refused = "is not supported: use tools"},
	{.name = "grammar_triggers", .refused = "is not supported: use tools"},
	/* without effect */
	{.name = "speculative.n_min"}, /* the engine measures what pays */
	{.name = "speculative.p_min"},
	{.name = "speculative.type"},
	{.name = "slot_id"},
	{.name = "timings_per_token"},
	{.name = "return_progress"},
	{.name = "penalize_nl"},
	{.name = "priority"},
	{.name = "request_id"},
	{.name = "cache_salt"},
	{.name = "guided_decoding_backend"},
	{.name = "guided_whitespace_pattern"},
	{.name = "spaces_between_special_tokens"},
	{.name = "include_reasoning"},
	{.name = "length_penalty"}, /* of beam search */
	{.name = "early_stopping"},
	/* refused */
	{.name = "best_of", .read = read_one}, /* a row of its own in completions */
	{.name = "use_beam_search", .refused = "beam search is not supported"},
	{.name = "return_token_ids", .refused = "is not supported"},
	{.name = "prompt_logprobs", .refused = "is not supported"},
	{.name = "bad_words", .refused = "is not supported: use logit_bias"},
	{.name = "allowed_token_ids", .refused = "is not supported: use logit_bias"},
	{.name = "include_stop_str_in_output", .refused = "is not supported"},
	{.name = "truncate_prompt_tokens", .refused = "prompts are not truncated"},
	{.name = "n_indent", .refused = "is not supported"},
	{.name = "t_max_predict_ms", .refused = "is not supported"},
	{.name = "response_fields", .refused = "is not supported"},
	{.name = "logits_processors", .refused = "is not supported"},
	{.name = "kv_transfer_params", .refused = "is not supported"},
};

const struct lmi_http_members lmi_http_sampling_members = {.v = rows, .n = LMD_LEN(rows)};

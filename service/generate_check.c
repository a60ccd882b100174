/* SPDX-License-Identifier: MIT
 *
 * Checks a generate request against the limits of this server.  The bounds of the protocol were
 * checked when the message was decoded. */
#include "service/generate.h"

#include "core/text/answer/parser.h"
#include "service/pictures.h"
#include "service/session_files.h"

/* Returns the length of a conversation, or of what surrounds a gap, in bytes. */
static uint64_t text_of(const struct lmi_wire_req_generate *q)
{
	uint64_t n = q->suffix.len;

	for (uint32_t i = 0; i < q->n_infill_files; i++)
		n += (uint64_t)q->infill_files[i].name.len + q->infill_files[i].text.len;

	for (uint32_t i = 0; i < q->n_messages; i++)
		n += (uint64_t)q->messages[i].content.len + q->messages[i].reasoning.len +
		     q->messages[i].tool_calls.len;
	return n;
}

/* Returns the name of the field that constrains the answer; NULL if there is none. */
static const char *constraint_name(const struct lmi_wire_req_generate *q)
{
	return q->has_grammar          ? "grammar"
	       : q->has_json_schema    ? "json_schema"
	       : q->has_regex          ? "regex"
	       : q->has_structural_tag ? "structural_tag"
				       : NULL;
}

/* At most one of the fields is present. */
static size_t constraint_bytes(const struct lmi_wire_req_generate *q)
{
	return q->grammar.len + q->json_schema.len + q->regex.len + q->structural_tag.len;
}

/* The rows of a session are those that the prefix cache has at the end. */
static enum lmd_status check_session(const struct lmi_service_limits *l,
				     const struct lmi_wire_req_generate *q, struct lmd_error *err)
{
	if (!l->session_bytes)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"session: sessions are off on this server (limit session_bytes is 0)");
	if (!q->cache_prompt)
		return lmd_fail(err, LMD_INVALID, "session: requires cache_prompt");
	return lmi_svc_session_check_name(&q->session, err);
}

enum lmd_status lmi_svc_generate_check(const struct lmi_service_limits *l,
				       const struct lmi_wire_req_generate *q, struct lmd_error *err)
{
	if (q->has_prompt && q->prompt.len > l->text_bytes)
		return lmd_fail(err, LMD_INVALID, "prompt: %zu bytes, the maximum is %llu",
				q->prompt.len, (unsigned long long)l->text_bytes);
	if (q->has_messages && text_of(q) > l->text_bytes)
		return lmd_fail(err, LMD_INVALID, "messages: %llu bytes, the maximum is %llu",
				(unsigned long long)text_of(q), (unsigned long long)l->text_bytes);
	if (lmi_svc_pictures_count(q) > LMI_SVC_PICTURES_MAX)
		return lmd_fail(err, LMD_INVALID, "messages: %u pictures, the maximum is %u",
				lmi_svc_pictures_count(q), LMI_SVC_PICTURES_MAX);
	if (lmi_svc_pictures_count(q) && (q->durable || q->has_session))
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: not together with pictures",
				q->durable ? "durable" : "session");
	if (lmi_svc_pictures_count(q) && (q->prompt_tokens || q->has_prompt_logprobs || q->heal))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: not together with pictures, which are no tokens",
				q->has_prompt_logprobs ? "prompt_logprobs"
				: q->prompt_tokens     ? "prompt_tokens"
						       : "heal");
	if (q->has_suffix && !q->has_prompt)
		return lmd_fail(err, LMD_INVALID, "suffix: requires prompt");
	if (q->n_infill_files && !q->has_suffix)
		return lmd_fail(err, LMD_INVALID, "infill_files: requires suffix");
	if (q->has_suffix && q->prompt.len + text_of(q) > l->text_bytes)
		return lmd_fail(err, LMD_INVALID,
				"suffix: %llu bytes with the prompt and other files, the maximum is "
				"%llu",
				(unsigned long long)(q->prompt.len + text_of(q)),
				(unsigned long long)l->text_bytes);
	if (q->n_stop > l->stops)
		return lmd_fail(err, LMD_INVALID, "stop: %u texts, the maximum is %llu", q->n_stop,
				(unsigned long long)l->stops);
	for (uint32_t i = 0; i < q->n_stop; i++)
		if (!q->stop[i].len || q->stop[i].len > l->stop_bytes)
			return lmd_fail(err, LMD_INVALID,
					"stop: text %u has %zu bytes, allowed are 1 to %llu", i,
					q->stop[i].len, (unsigned long long)l->stop_bytes);
	if (q->has_grammar + q->has_json_schema + q->has_regex + q->has_structural_tag +
		    q->has_required_call >
	    1)
		return lmd_fail(err, LMD_INVALID,
				"grammar, json_schema, regex, structural_tag and required_call: only one "
				"of them is allowed");
	if (q->has_required_call && (!q->has_tools || !q->parse))
		return lmd_fail(err, LMD_INVALID, "required_call: requires tools and parse");
	if (constraint_bytes(q) > l->grammar_bytes)
		return lmd_fail(err, LMD_INVALID, "%s: %zu bytes, the maximum is %llu",
				constraint_name(q), constraint_bytes(q),
				(unsigned long long)l->grammar_bytes);
	if (q->has_parse_format && !q->parse)
		return lmd_fail(err, LMD_INVALID, "parse_format: requires parse");
	if (q->has_parse_format && !lmi_answer_format_find(q->parse_format))
		return lmd_fail(
			err, LMD_INVALID,
			"parse_format: '%.*s' is unknown: `llamactl debug parse --list` lists the "
			"formats",
			(int)q->parse_format.len, q->parse_format.ptr);
	if (q->sampled_probs && !q->has_logprobs)
		return lmd_fail(err, LMD_INVALID, "sampled_probs: requires logprobs");
	if (q->n_grammar_triggers && !constraint_name(q))
		return lmd_fail(err, LMD_INVALID,
				"grammar_triggers: requires grammar, json_schema, regex or "
				"structural_tag");
	if (q->n_stop_tokens > l->biases)
		return lmd_fail(err, LMD_INVALID, "stop_tokens: %u entries, the maximum is %llu",
				q->n_stop_tokens, (unsigned long long)l->biases);
	if (q->n_suppress_tokens > l->biases)
		return lmd_fail(err, LMD_INVALID, "suppress_tokens: %u entries, the maximum is %llu",
				q->n_suppress_tokens, (unsigned long long)l->biases);
	if (q->n_logit_bias > l->biases)
		return lmd_fail(err, LMD_INVALID, "logit_bias: %u entries, the maximum is %llu",
				q->n_logit_bias, (unsigned long long)l->biases);
	if (q->has_chain && q->n_chain > l->samplers)
		return lmd_fail(err, LMD_INVALID, "chain: %u samplers, the maximum is %llu",
				q->n_chain, (unsigned long long)l->samplers);
	if (q->has_n && q->n > 0 && (uint64_t)q->n > l->output_max)
		return lmd_fail(err, LMD_INVALID, "n: %lld tokens, the maximum is %llu",
				(long long)q->n, (unsigned long long)l->output_max);
	if (q->has_timeout_ms && (uint64_t)q->timeout_ms > l->timeout_max)
		return lmd_fail(err, LMD_INVALID, "timeout_ms: %lld is above the maximum of %llu",
				(long long)q->timeout_ms, (unsigned long long)l->timeout_max);
	if (q->has_lease_ms && (uint64_t)q->lease_ms > l->lease_max)
		return lmd_fail(err, LMD_INVALID, "lease_ms: %lld is above the maximum of %llu",
				(long long)q->lease_ms, (unsigned long long)l->lease_max);
	return q->has_session ? check_session(l, q, err) : LMD_OK;
}

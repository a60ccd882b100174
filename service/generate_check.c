/* SPDX-License-Identifier: MIT
 *
 * A generate request against the limits of this server; what the protocol bounds was checked when
 * the message was read. */
#include "service/generate.h"

#include "core/text/parse/parse.h"

/* Bytes of a conversation. */
static uint64_t text_of(const struct lmi_req_generate *q)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < q->n_messages; i++)
		n += (uint64_t)q->messages[i].content.len + q->messages[i].reasoning.len +
		     q->messages[i].tool_calls.len;
	return n;
}

enum lmd_status lmi_generate_check(const struct lmi_service_limits *l,
				   const struct lmi_req_generate *q, struct lmd_error *err)
{
	if (q->has_prompt && q->prompt.len > l->text_bytes)
		return lmd_fail(err, LMD_INVALID, "prompt: %zu bytes are more than %llu",
				q->prompt.len, (unsigned long long)l->text_bytes);
	if (q->has_messages && text_of(q) > l->text_bytes)
		return lmd_fail(err, LMD_INVALID, "messages: %llu bytes are more than %llu",
				(unsigned long long)text_of(q), (unsigned long long)l->text_bytes);
	if (q->n_stop > l->stops)
		return lmd_fail(err, LMD_INVALID, "stop: %u texts are more than %llu", q->n_stop,
				(unsigned long long)l->stops);
	for (uint32_t i = 0; i < q->n_stop; i++)
		if (!q->stop[i].len || q->stop[i].len > l->stop_bytes)
			return lmd_fail(err, LMD_INVALID,
					"stop: text %u has %zu bytes, outside 1..%llu", i,
					q->stop[i].len, (unsigned long long)l->stop_bytes);
	if (q->has_grammar && q->has_json_schema)
		return lmd_fail(err, LMD_INVALID, "a grammar and a json_schema: one at most");
	if (q->grammar.len > l->grammar_bytes || q->json_schema.len > l->grammar_bytes)
		return lmd_fail(err, LMD_INVALID, "%s: %zu bytes are more than %llu",
				q->has_grammar ? "grammar" : "json_schema",
				q->grammar.len + q->json_schema.len,
				(unsigned long long)l->grammar_bytes);
	if (q->has_parse_format && !q->parse)
		return lmd_fail(err, LMD_INVALID, "parse_format: it goes with parse");
	if (q->has_parse_format && !lmi_parse_format(q->parse_format))
		return lmd_fail(
			err, LMD_INVALID,
			"parse_format: '%.*s' is unknown; `llamactl debug parse --list` names them",
			(int)q->parse_format.len, q->parse_format.ptr);
	if (q->n_grammar_triggers && !q->has_grammar && !q->has_json_schema)
		return lmd_fail(err, LMD_INVALID, "grammar_triggers: there is no grammar");
	if (q->n_logit_bias > l->biases)
		return lmd_fail(err, LMD_INVALID, "logit_bias: %u entries are more than %llu",
				q->n_logit_bias, (unsigned long long)l->biases);
	if (q->has_chain && q->n_chain > l->samplers)
		return lmd_fail(err, LMD_INVALID, "chain: %u samplers are more than %llu",
				q->n_chain, (unsigned long long)l->samplers);
	if (q->has_n && q->n > 0 && (uint64_t)q->n > l->output_max)
		return lmd_fail(err, LMD_INVALID, "n: %lld tokens are more than %llu",
				(long long)q->n, (unsigned long long)l->output_max);
	if (q->has_timeout_ms && (uint64_t)q->timeout_ms > l->timeout_max)
		return lmd_fail(err, LMD_INVALID, "timeout_ms: %lld is above %llu",
				(long long)q->timeout_ms, (unsigned long long)l->timeout_max);
	if (q->has_lease_ms && (uint64_t)q->lease_ms > l->lease_max)
		return lmd_fail(err, LMD_INVALID, "lease_ms: %lld is above %llu",
				(long long)q->lease_ms, (unsigned long long)l->lease_max);
	return LMD_OK;
}

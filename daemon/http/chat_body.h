/* SPDX-License-Identifier: MIT
 *
 * chat_body.h - conversations, tools and constraints in the bodies of requests, for all APIs. */
#ifndef LLAMAD_DAEMON_HTTP_CHAT_BODY_H
#define LLAMAD_DAEMON_HTTP_CHAT_BODY_H

#include <jansson.h>
#include <stdint.h>

#include "daemon/http/members.h"

#define LMI_HTTP_TOOLS_MAX 1024

/* ---- rows for tables: the same member in several APIs ---- */

/* The name of the model; it may be missing or empty, and then the server chooses. */
void lmi_http_read_model(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v);
void lmi_http_read_stream(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v);
/* The maximum length of the answer; 0: only the prompt is computed, -1: no maximum. */
void lmi_http_read_n_max(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v);
/* The seed; -1: the server chooses one. */
void lmi_http_read_seed(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v);
/* How urgent the answer is: priority (class interactive), flex or batch (class batch); any other word
 * leaves the class as it is. */
void lmi_http_read_service_tier(struct lmi_http_translation *t, const struct lmi_http_at *at,
				const json_t *v);
/* A JSON schema that the answer has to match. */
void lmi_http_read_schema(struct lmi_http_translation *t, const struct lmi_http_at *at,
			  const json_t *v);
/* An object whose members become variables of the chat template. */
void lmi_http_read_template_args(struct lmi_http_translation *t, const struct lmi_http_at *at,
				 const json_t *v);
/* enable_thinking: a variable of many chat templates. */
void lmi_http_read_thinking(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v);
/* A list of tools in the form of the chat completions API. */
void lmi_http_read_tools(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v);

/* parallel_tool_calls: whether an answer that must be a call may contain several; it may by
 * default. */
void lmi_http_read_parallel_calls(struct lmi_http_translation *t, const struct lmi_http_at *at,
				  const json_t *v);

/* A plain prompt: a text, a list of tokens, or a list of both. */
void lmi_http_read_prompts(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v);

/* ---- parts of translations ---- */

/* Multiplies the choices by the prompts.  Call it after all members were read. */
void lmi_http_finish_prompts(struct lmi_http_translation *t);

/* Sets a variable of the chat template.  Takes ownership of the value, which may be NULL if memory
 * ran out. */
void lmi_http_set_template_arg(struct lmi_http_translation *t, const char *name, json_t *own_value);
/* How hard the model should think: "none" switches reasoning off, other words switch it on. */
void lmi_http_set_effort(struct lmi_http_translation *t, const char *effort);

/* Reads a string, or a list of parts of text, which are joined by newlines.  Parts of other types
 * are refused. */
struct lmd_str lmi_http_read_content(struct lmi_http_translation *t, const struct lmi_http_at *at,
				     const json_t *v);
/* Reads a part that is a text, or a refusal of the model, which counts as its text. */
struct lmd_str lmi_http_read_part(struct lmi_http_translation *t, const struct lmi_http_at *at,
				  const json_t *v);
/* Joins texts by newlines; the result is in the arena if there is more than one. */
struct lmd_str lmi_http_join(struct lmi_http_translation *t, const struct lmd_str *texts,
			     uint32_t n);

/* Reads a message whose members are role, content, name, tool_calls and tool_call_id, and the
 * reasoning under any of its names. */
void lmi_http_read_message(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v, struct lmi_wire_chat_message *out);
/* Reads a list of such messages into the request. */
void lmi_http_read_messages(struct lmi_http_translation *t, const struct lmi_http_at *at,
			    const json_t *v);

/* Adds an empty message to the request; t->q->messages points to the list, which is in the arena and
 * grows by doubling, so the pointers to earlier messages become stale. All messages of the request
 * come from here, none from lmi_http_read_messages. role must live as long as the request.
 * Returns NULL if the conversation is too long or memory ran out, which t then says. */
struct lmi_wire_chat_message *lmi_http_add_message(struct lmi_http_translation *t,
						   const char *role);

/* Checks a tool call in the form of the chat completions API. */
void lmi_http_check_call(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v);

/* Turns the tools and the tool choice into fields of the request.  Call it after all members were
 * read.  An answer that must be a call is constrained by a schema made of the tools' own schemas;
 * its text is then a JSON list of calls, or one object if only one call is allowed. */
void lmi_http_finish_chat(struct lmi_http_translation *t);
/* Constrains the answer to calls of the tools that may be called: a part of lmi_http_finish_chat. */
void lmi_http_require_call(struct lmi_http_translation *t);
/* Makes a grammar that allows exactly one of the texts. */
struct lmd_str lmi_http_choice_grammar(struct lmi_http_translation *t, const struct lmi_http_at *at,
				       const json_t *v);

#endif /* LLAMAD_DAEMON_HTTP_CHAT_BODY_H */

/* SPDX-License-Identifier: MIT
 *
 * openai_impl.h - shared by the files of this folder. */
#ifndef LLAMAD_DAEMON_HTTP_OPENAI_OPENAI_IMPL_H
#define LLAMAD_DAEMON_HTTP_OPENAI_OPENAI_IMPL_H

#include "daemon/http/json_out.h"
#include "daemon/http/members.h"
#include "daemon/http/openai/openai.h"

/* What the API says of a member that it does not know; the name follows. */
#define LMI_OPENAI_UNKNOWN "Unrecognized request argument supplied: "

/* Members that chat completions and completions share. */
extern const struct lmi_http_members lmi_openai_members;
/* response_format: text, JSON, a JSON schema or a structural tag. */
void lmi_openai_read_response_format(struct lmi_http_translation *t, const struct lmi_http_at *at,
				     const json_t *v);

/* The beginning of the state of both forms. */
struct lmi_openai_state {
	struct lmd_arena *arena;
	bool include_usage; /* a chunk with the usage ends the stream */
	bool token_ids;     /* return_token_ids of vLLM */
	bool prompt_logprobs; /* of vLLM */
	struct lmi_http_answer_head head;
};

struct lmi_openai_chat_choice {
	struct lmi_http_pieces text, reasoning, arguments;
};

struct lmi_openai_chat_state {
	struct lmi_openai_state common;
	struct lmi_openai_chat_choice choice[LMI_HTTP_N_MAX];
};

extern const struct lmi_http_form lmi_openai_chat_form;

/* Writes an object's members id, object, created and model; prefix is that of the id. */
void lmi_openai_put_head(struct lmi_json_text *j, const struct lmi_http_answer_head *head,
			 const char *prefix, const char *object);
/* Writes the member prompt_logprobs or prompt_token_ids of vLLM, if they were requested. */
void lmi_openai_put_prompt(struct lmi_json_text *j, const struct lmi_openai_state *s,
			   const struct lmi_http_answer *a);
/* Writes the member token_ids of vLLM, if it was requested. */
void lmi_openai_put_token_ids(struct lmi_json_text *j, const struct lmi_openai_state *s,
			      const struct lmi_http_answer_token *v, uint32_t n);
/* Writes the members usage and timings. */
void lmi_openai_put_usage(struct lmi_json_text *j, const struct lmi_http_answer_end *end);
/* Writes the end of a stream: the usage, if the client asked for it, and the last event.  prefix and
 * object are those of its chunks. */
void lmi_openai_end_stream(const struct lmi_openai_state *s, const char *prefix, const char *object,
			   const struct lmi_http_answer_end *sum, struct lmi_http_out *o);
void lmi_openai_form_error(void *state, const struct lmi_http_error *e, struct lmi_http_out *o);
/* Returns "stop", "length" or "tool_calls". */
const char *lmi_openai_finish_reason(const struct lmi_http_answer_end *end);

struct lmi_http_embedding; /* embedding.h */
/* Reads the body of a request for embeddings. */
void lmi_openai_read_embeddings(struct lmi_http_reader *r, const json_t *body,
				struct lmi_http_embedding *e);

/* Handlers. */
void lmi_openai_chat_completions(struct lmi_http_exchange *x);
void lmi_openai_completions(struct lmi_http_exchange *x);
void lmi_openai_embeddings(struct lmi_http_exchange *x);
void lmi_openai_responses(struct lmi_http_exchange *x);
void lmi_openai_response_tokens(struct lmi_http_exchange *x);
void lmi_openai_chat_tokens(struct lmi_http_exchange *x);
void lmi_openai_models(struct lmi_http_exchange *x);
void lmi_openai_rerank(struct lmi_http_exchange *x);
void lmi_openai_score(struct lmi_http_exchange *x);
void lmi_openai_classify(struct lmi_http_exchange *x);
void lmi_openai_pooling(struct lmi_http_exchange *x);
void lmi_openai_model(struct lmi_http_exchange *x);

#endif /* LLAMAD_DAEMON_HTTP_OPENAI_OPENAI_IMPL_H */

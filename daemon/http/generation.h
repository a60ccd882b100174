/* SPDX-License-Identifier: MIT
 *
 * generation.h - an answer over HTTP, whatever API asks for it.
 *
 * An endpoint translates its body to a request of op generate and names the form of the answer.
 * lmi_http_generate() does the rest: it starts one generation per choice, hands their items to the
 * form as they arrive, and sends what the form writes; or it collects the answer and lets the form
 * write it as a whole.  If the client disconnects, the generations are cancelled.
 *
 * The translation and the forms are pure: they see no socket, service or clock, so that a test or a
 * fuzzer can run them alone. */
#ifndef LLAMAD_DAEMON_HTTP_GENERATION_H
#define LLAMAD_DAEMON_HTTP_GENERATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/json_text.h"
#include "daemon/http/route.h"
#include "proto/proto.h"

/* The largest number of a slot, and room for the name of its session, "slot-NUMBER". */
#define LMI_HTTP_SLOT_MAX  65535
#define LMI_HTTP_SLOT_NAME 16

/* Answers to one prompt, and answers of one request. */
#define LMI_HTTP_N_MAX       8
#define LMI_HTTP_CHOICES_MAX 128

/* One of several prompts of a request: text or tokens. */
struct lmi_http_prompt_text {
	bool is_tokens;
	struct lmd_str text;
	const lmd_token *tokens; /* [n_token] */
	uint32_t n_token;
};

/* What a form knows of an answer besides its items. */
struct lmi_http_answer_head {
	const char *id;    /* of the exchange: letters, digits, '_' and '-', random */
	const char *model; /* as the client named it, or the model that was chosen for it */
	int64_t created;   /* seconds since 1970 */
	uint32_t n_choice;
	const int64_t *seeds; /* [n_choice] the seeds in use */
};

/* How one choice ended. */
struct lmi_http_answer_end {
	enum lmi_wire_finish finish;
	bool called; /* the answer has at least one complete tool call */
	uint32_t n_prompt, n_out, n_forced;
	uint32_t n_reasoning; /* tokens of the answer */
	uint32_t n_cached; /* tokens of the prompt that were not computed again */
	uint32_t n_drafted, n_accepted; /* tokens that were guessed; how many were right */
	uint32_t broke_at; /* the first token of the prompt that the prefix cache did not know */
	uint32_t n_pinned; /* tokens of the prompt that stay in the prefix cache */
	uint32_t n_shift; /* how often the context was full and was shifted */
	uint64_t prompt_ns, out_ns;
	uint64_t queue_ns; /* from the arrival of the request to the first step; 0: durable stream */
	/* [n_settings] what the answer was computed with, if the request has report_settings */
	const struct lmi_wire_setting *settings;
	uint32_t n_settings;
};

/* A tool call of a collected answer. */
struct lmi_http_answer_call {
	struct lmd_str id, name, arguments; /* arguments: JSON, as far as the model wrote it */
	bool complete;
};

/* A token of an answer or of its prompt. */
struct lmi_http_answer_token {
	lmd_token token;
	struct lmd_str text; /* of a token of the prompt */
	const struct lmi_wire_token_logprob *logprobs; /* [n_logprobs] as in the item */
	uint32_t n_logprobs;
};

/* A collected answer: one choice. */
struct lmi_http_answer {
	struct lmd_str text, reasoning; /* may contain bytes that are not UTF-8 */
	const struct lmi_http_answer_call *calls; /* [n_call] */
	uint32_t n_call;
	const struct lmi_http_answer_token *tokens; /* [n_token] */
	uint32_t n_token;
	const struct lmi_http_answer_token *prompt; /* [n_prompt], if the request asks for them */
	uint32_t n_prompt;
	struct lmi_http_answer_end end;
};

/* The output of a form: events or lines of a stream.  Memory is reused from event to event. */
struct lmi_http_out {
	struct lmi_json_text json; /* write one JSON value here, then call one of the functions */
	char *text;                /* bytes to send */
	size_t n, cap;
	bool failed; /* out of memory, or not valid JSON */
};
/* Appends `data: JSON\n\n`, preceded by `event: NAME\n` unless event is NULL. */
void lmi_http_out_event(struct lmi_http_out *o, const char *event);
/* Appends `JSON\n`. */
void lmi_http_out_line(struct lmi_http_out *o);
/* Appends bytes, such as "data: [DONE]\n\n". */
void lmi_http_out_raw(struct lmi_http_out *o, const char *s);
void lmi_http_out_fini(struct lmi_http_out *o);

/* How an API writes answers.  `state` is that of struct lmi_http_generation. */
struct lmi_http_form {
	const char *stream_type; /* "text/event-stream" or "application/x-ndjson" */
	/* A stream: its beginning, before any item of any choice; each item that is not final; the
	 * end of a choice; the end of the stream, with the sum of all choices.  Functions may be
	 * NULL. */
	void (*begin)(void *state, const struct lmi_http_answer_head *head, struct lmi_http_out *o);
	void (*item)(void *state, uint32_t choice, const struct lmi_wire_item *it,
		     struct lmi_http_out *o);
	void (*choice_end)(void *state, uint32_t choice, const struct lmi_http_answer_end *end,
			   struct lmi_http_out *o);
	void (*end)(void *state, const struct lmi_http_answer_end *sum, struct lmi_http_out *o);
	/* An error after the stream has begun; nothing follows it. */
	void (*error)(void *state, const struct lmi_http_error *e, struct lmi_http_out *o);
	/* The whole answer, if it is not streamed: one JSON value. */
	void (*whole)(void *state, const struct lmi_http_answer_head *head,
		      const struct lmi_http_answer *choices, const struct lmi_http_answer_end *sum,
		      struct lmi_json_text *out);
};

/* Time between comments, unless the request says otherwise. */
#define LMI_HTTP_PING_MS 15000

struct lmi_http_generation {
	struct lmi_wire_request req; /* op generate; memory of the exchange's arena */
	/* 1 to LMI_HTTP_CHOICES_MAX: the answers to the first prompt, then those to the second one, and
	 * so on.  The seeds of the answers to one prompt differ. */
	uint32_t n_choice;
	/* [n_prompt] replace the prompt of req, which is the first of them; n_prompt 0: there is only
	 * that one.  n_choice is a multiple of it. */
	const struct lmi_http_prompt_text *prompts;
	uint32_t n_prompt;
	/* The session of req is that of a slot of llama.cpp, and is left out if sessions are off. */
	bool is_slot;
	bool stream;
	uint32_t hold_ms; /* output batching delay; 0: each token is sent at once */
	/* A stream of events gets a comment when nothing was sent for this long, so that proxies keep
	 * the connection.  It begins the stream: an error of the request is then its last event.  0:
	 * never. */
	uint32_t ping_ms;
	const struct lmi_http_form *form;
	void *state;
};

/* A translation: reads the body of a request.  Memory comes from the arena.  On failure *param is
 * the member at fault, or NULL, and err the message without its name. */
typedef enum lmd_status (*lmi_http_translate_fn)(struct lmi_http_generation *out,
						 const json_t *body, struct lmd_arena *arena,
						 const char **param, struct lmd_error *err);

/* Translates the body of the exchange and responds with the answer, or with an error. */
void lmi_http_generate(struct lmi_http_exchange *x, lmi_http_translate_fn translate);
/* Responds with the answer to a request that has been translated; gen is copied, and its memory
 * belongs to the exchange. */
void lmi_http_generate_translated(struct lmi_http_exchange *x,
				  const struct lmi_http_generation *gen);
/* Responds with the error of a translation. */
void lmi_http_reply_translation(struct lmi_http_exchange *x, const struct lmd_error *err,
				const char *param);

/* Writes random letters and digits.  Returns false if the system has no random numbers. */
#define LMI_HTTP_ID_CHARS 24
bool lmi_http_make_id(char id[LMI_HTTP_ID_CHARS + 1]);

#endif /* LLAMAD_DAEMON_HTTP_GENERATION_H */

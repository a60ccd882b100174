/* SPDX-License-Identifier: MIT
 *
 * responses.h - the responses API: shared by the files of this folder whose names begin with
 * responses.
 *
 * A response is the answer to a list of items, which are messages, tool calls, their outputs and
 * reasoning, and consists of such items itself. */
#ifndef LLAMAD_DAEMON_HTTP_OPENAI_RESPONSES_H
#define LLAMAD_DAEMON_HTTP_OPENAI_RESPONSES_H

#include "daemon/http/json_out.h"
#include "daemon/http/members.h"
#include "daemon/http/openai/openai_impl.h"

#define LMI_OPENAI_RESPONSE_PREFIX "resp_"

/* ---- responses_input.c ---- */

/* Appends the items of a request's input, a string or a list, to the messages of the request. */
void lmi_openai_read_input(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *v);
/* Appends a message. */
void lmi_openai_add_message(struct lmi_http_translation *t, const char *role,
			    struct lmd_str content);
/* Returns the input as a list of items, each with an id made of that of the response; NULL if out of
 * memory.  The caller owns it. */
json_t *lmi_openai_input_items(const json_t *input, const char *id);

/* ---- responses_form.c ---- */

/* A text that grows in the arena. */
struct lmi_openai_text {
	char *p;
	size_t n, cap;
};

enum lmi_openai_item_kind {
	LMI_OPENAI_ITEM_NONE,
	LMI_OPENAI_ITEM_REASONING,
	LMI_OPENAI_ITEM_MESSAGE,
	LMI_OPENAI_ITEM_CALL,
};

/* An item of the output. */
struct lmi_openai_item {
	enum lmi_openai_item_kind kind;
	uint32_t index;
	struct lmd_str name, call_id;
	struct lmi_openai_text text; /* of a call: its arguments */
	const char *status;
};

struct lmi_openai_response_state {
	struct lmd_arena *arena;
	const json_t *body;   /* the request, whose members the response repeats */
	const char *previous; /* id of the previous response; NULL: none */
	bool stored, background;
	struct lmi_http_answer_head head;
	uint64_t n_event;
	struct lmi_openai_item *items; /* [n_item] */
	uint32_t n_item, cap_item;
	bool open; /* the last item is not complete */
	bool failed; /* out of memory */
	struct lmi_http_pieces pieces;
	/* Takes the complete response as JSON; NULL: it is not stored. */
	void (*save)(void *arg, const struct lmi_http_answer_head *head, const char *json, size_t n);
	void *save_arg;
};

extern const struct lmi_http_form lmi_openai_response_form;

/* Writes the response.  `end` is NULL while it is not complete; `error` is that of status failed. */
void lmi_openai_put_response(struct lmi_openai_response_state *s, const char *status,
			     const struct lmi_http_answer_end *end,
			     const struct lmi_http_error *error, struct lmi_json_text *j);
/* Writes a value of a body. */
void lmi_openai_put_json(struct lmi_json_text *j, const json_t *v);

/* ---- responses.c ---- */

/* Translates a request.  `before` is a list of the items of all previous responses; NULL: responses
 * are not stored, so that a request in the background or with a previous response is refused. */
enum lmd_status lmi_openai_translate_response_after(struct lmi_http_generation *out,
						    const json_t *body, const json_t *before,
						    struct lmd_arena *arena, const char **param,
						    struct lmd_error *err);

/* ---- responses_stored.c ---- */

/* Reads the items of the previous responses, the oldest first.  Returns a list that the caller owns;
 * NULL after an error. */
json_t *lmi_openai_load_history(struct lmi_http_exchange *x, const char *previous,
				struct lmd_error *err);
/* Makes the response to a translated request stored when it is complete.  Returns false after an
 * error response. */
bool lmi_openai_store_response(struct lmi_http_exchange *x, struct lmi_openai_response_state *s);
/* Responds with a queued response, and runs the request of the exchange in the background.  `before`
 * is that of the translation. */
void lmi_openai_respond_later(struct lmi_http_exchange *x, const json_t *before);

/* Handlers. */
void lmi_openai_response_get(struct lmi_http_exchange *x);
void lmi_openai_response_delete(struct lmi_http_exchange *x);
void lmi_openai_response_cancel(struct lmi_http_exchange *x);
void lmi_openai_response_items(struct lmi_http_exchange *x);

#endif /* LLAMAD_DAEMON_HTTP_OPENAI_RESPONSES_H */

/* SPDX-License-Identifier: MIT
 *
 * ollama_impl.h - shared by the files of this folder. */
#ifndef LLAMAD_DAEMON_HTTP_OLLAMA_OLLAMA_IMPL_H
#define LLAMAD_DAEMON_HTTP_OLLAMA_OLLAMA_IMPL_H

#include "daemon/http/json_out.h"
#include "daemon/http/members.h"
#include "daemon/http/ollama/ollama.h"

#define LMI_OLLAMA_TIME_BYTES 32

/* The state of the form. */
struct lmi_ollama_state {
	struct lmd_arena *arena;
	bool chat; /* a message; otherwise the member `response` */
	struct lmi_http_answer_head head;
	struct lmi_http_pieces text, reasoning;
	/* the call that is being received; its name and id are copies */
	struct lmd_str call_id, call_name;
	char *args; /* [n_args], room for cap_args */
	size_t n_args, cap_args;
};

extern const struct lmi_http_form lmi_ollama_form;

/* Writes a time in seconds since 1970 as ISO 8601. */
void lmi_ollama_time(char out[LMI_OLLAMA_TIME_BYTES], int64_t seconds);
/* Writes the members model and created_at. */
void lmi_ollama_put_head(struct lmi_json_text *j, const char *model, int64_t created);
/* Writes `details` of a model. */
void lmi_ollama_put_details(struct lmi_json_text *j, struct lmd_str arch, struct lmd_str format,
			    const char *quantisation, int64_t n_elements);

/* Members that generate and chat share. */
extern const struct lmi_http_members lmi_ollama_members;
/* Prepares a translation. */
void lmi_ollama_begin(struct lmi_http_translation *t, struct lmi_http_generation *out,
		      struct lmd_arena *arena, struct lmd_error *err, bool chat);
/* Reads what depends on other members. */
void lmi_ollama_end(struct lmi_http_translation *t, const json_t *body);
/* Reads keep_alive: a number of seconds, or a text such as "5m" or "1h30m"; negative: for ever.
 * Returns milliseconds, -1: for ever. */
int64_t lmi_ollama_read_keep_alive(struct lmi_http_reader *r, const struct lmi_http_at *at,
				   const json_t *v);
/* Reads a list of pictures, base64 texts, which stand before the text of the message. */
void lmi_ollama_read_images(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v,
			    struct lmi_wire_chat_message *out);
/* Loads or unloads a model for a request without a prompt, and responds. */
void lmi_ollama_load(struct lmi_http_exchange *x, const json_t *body, bool chat);

/* Handlers. */
void lmi_ollama_chat(struct lmi_http_exchange *x);
void lmi_ollama_embed(struct lmi_http_exchange *x);
void lmi_ollama_embeddings(struct lmi_http_exchange *x);
void lmi_ollama_generate(struct lmi_http_exchange *x);
void lmi_ollama_tags(struct lmi_http_exchange *x);
void lmi_ollama_ps(struct lmi_http_exchange *x);
void lmi_ollama_show(struct lmi_http_exchange *x);
void lmi_ollama_version(struct lmi_http_exchange *x);
void lmi_ollama_delete(struct lmi_http_exchange *x);
void lmi_ollama_create(struct lmi_http_exchange *x);
void lmi_ollama_copy(struct lmi_http_exchange *x);
void lmi_ollama_pull(struct lmi_http_exchange *x);

#endif /* LLAMAD_DAEMON_HTTP_OLLAMA_OLLAMA_IMPL_H */

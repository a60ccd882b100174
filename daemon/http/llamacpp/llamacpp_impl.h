/* SPDX-License-Identifier: MIT
 *
 * llamacpp_impl.h - shared by the files of this folder. */
#ifndef LLAMAD_DAEMON_HTTP_LLAMACPP_LLAMACPP_IMPL_H
#define LLAMAD_DAEMON_HTTP_LLAMACPP_LLAMACPP_IMPL_H

#include "daemon/http/json_out.h"
#include "daemon/http/llamacpp/llamacpp.h"
#include "daemon/http/logprobs.h"
#include "daemon/http/members.h"

/* The state of the form. */
struct lmi_llamacpp_state {
	struct lmd_arena *arena;
	struct lmd_str stop; /* the stop sequence, if there is only one; otherwise empty */
	bool return_tokens, stream, ignore_eos;
	const struct lmd_str *stops; /* [n_stop] of the request */
	uint32_t n_stop;
	int64_t n_probs;
	enum lmi_http_logprobs_form logprobs;
	/* [n_field] the members of an answer that the client wants; n_field 0: all of them */
	const struct lmd_str *fields;
	uint32_t n_field;
	int64_t n_out[LMI_HTTP_CHOICES_MAX]; /* tokens so far */
	bool new_line[LMI_HTTP_CHOICES_MAX]; /* the text so far has one */
	struct lmi_http_pieces text[LMI_HTTP_CHOICES_MAX];
	struct lmi_http_answer_head head;
};

extern const struct lmi_http_form lmi_llamacpp_form;

/* Reads response_fields: paths of members, whose parts are separated by '/'. */
void lmi_llamacpp_read_fields(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v);
/* Writes an object with the members of `answer` that the client wants, each under the last part of its path;
 * paths that the answer does not have are left out.  Frees `answer`. */
void lmi_llamacpp_put_fields(struct lmi_json_text *out, const struct lmi_llamacpp_state *s,
			     struct lmi_json_text *answer);

/* Writes a parameter of op generate as a member under its name in /completion and /props. */
void lmi_llamacpp_put_setting(struct lmi_json_text *j, struct lmd_str name, double value);

/* Handlers. */
void lmi_llamacpp_apply_template(struct lmi_http_exchange *x);
void lmi_llamacpp_completion(struct lmi_http_exchange *x);
void lmi_llamacpp_embedding(struct lmi_http_exchange *x);
void lmi_llamacpp_infill(struct lmi_http_exchange *x);
void lmi_llamacpp_tokenize(struct lmi_http_exchange *x);
void lmi_llamacpp_detokenize(struct lmi_http_exchange *x);
void lmi_llamacpp_props(struct lmi_http_exchange *x);
void lmi_llamacpp_rerank(struct lmi_http_exchange *x);
void lmi_llamacpp_slots(struct lmi_http_exchange *x);
void lmi_llamacpp_slot_action(struct lmi_http_exchange *x);
void lmi_llamacpp_models(struct lmi_http_exchange *x);
void lmi_llamacpp_model_load(struct lmi_http_exchange *x);
void lmi_llamacpp_model_unload(struct lmi_http_exchange *x);
void lmi_llamacpp_adapters(struct lmi_http_exchange *x);
void lmi_llamacpp_stream(struct lmi_http_exchange *x);
void lmi_llamacpp_stream_stop(struct lmi_http_exchange *x);
void lmi_llamacpp_streams(struct lmi_http_exchange *x);

#endif /* LLAMAD_DAEMON_HTTP_LLAMACPP_LLAMACPP_IMPL_H */

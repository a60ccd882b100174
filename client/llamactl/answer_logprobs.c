/* SPDX-License-Identifier: MIT */
#include "client/llamactl/answer_logprobs.h"

#include "core/base/alloc.h"

/* A token, or an alternative to the token before it. */
struct lmi_ctl_logprob {
	lmd_token token;
	bool prompt, alternative, known; /* known: logprob is set */
	double logprob;
	size_t text_at, n_text;
};

static enum lmd_status add(struct lmi_ctl_logprobs *l, const struct lmi_ctl_logprob *e,
			   const char *text, struct lmd_error *err)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? 2 * l->cap : 256;
		struct lmi_ctl_logprob *v = lmi_realloc(l->v, cap, sizeof(*v));

		if (!v)
			return lmd_fail(err, LMD_NOMEM, "no memory for log probabilities");
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n] = *e;
	l->v[l->n++].text_at = l->text.n;
	return lmi_text_byte_buf_append(&l->text, text, e->n_text, err);
}

enum lmd_status lmi_ctl_logprobs_add(struct lmi_ctl_logprobs *l, const struct lmd_item *it,
				     struct lmd_error *err)
{
	struct lmi_ctl_logprob e = {.token = it->token,
				    .prompt = it->kind == LMD_ITEM_PROMPT_TOKEN,
				    .n_text = it->n_text};
	enum lmd_status st = LMD_OK;

	if (it->kind != LMD_ITEM_PROMPT_TOKEN && (it->kind != LMD_ITEM_TOKEN || !it->n_logprobs))
		return LMD_OK;
	if (!it->n_logprobs)
		return add(l, &e, it->text, err);
	for (uint32_t i = 0; i < it->n_logprobs && st == LMD_OK; i++) {
		e.token = it->logprobs[i].token;
		e.alternative = i > 0;
		e.known = true;
		e.logprob = it->logprobs[i].logprob;
		e.n_text = it->logprobs[i].n_text;
		st = add(l, &e, it->logprobs[i].text, err);
	}
	return st;
}

/* Writes the members of an entry into the current object. */
static void put(struct lmi_ctl_json *j, const struct lmi_ctl_logprobs *l,
		const struct lmi_ctl_logprob *e)
{
	lmi_ctl_json_int(j, "token", e->token);
	lmi_ctl_json_strn(j, "text", l->text.p ? l->text.p + e->text_at : "", e->n_text);
	if (e->known)
		lmi_ctl_json_f64(j, "logprob", e->logprob);
}

static void put_list(struct lmi_ctl_json *j, const char *key, const struct lmi_ctl_logprobs *l,
		     bool prompt)
{
	bool any = false;

	for (uint32_t i = 0; i < l->n;) {
		const struct lmi_ctl_logprob *e = &l->v[i++];

		if (e->prompt != prompt)
			continue;
		if (!any)
			lmi_ctl_json_array(j, key);
		any = true;
		lmi_ctl_json_flat_object(j, NULL);
		put(j, l, e);
		if (e->known) {
			lmi_ctl_json_flat_array(j, "top");
			for (; i < l->n && l->v[i].alternative; i++) {
				lmi_ctl_json_flat_object(j, NULL);
				put(j, l, &l->v[i]);
				lmi_ctl_json_end(j);
			}
			lmi_ctl_json_end(j);
		}
		lmi_ctl_json_end(j);
	}
	if (any)
		lmi_ctl_json_end(j);
}

void lmi_ctl_logprobs_json(const struct lmi_ctl_logprobs *l, struct lmi_ctl_json *j)
{
	put_list(j, "prompt", l, true);
	put_list(j, "logprobs", l, false);
}

void lmi_ctl_logprobs_fini(struct lmi_ctl_logprobs *l)
{
	lmi_free(l->v);
	lmi_text_byte_buf_fini(&l->text);
	*l = (struct lmi_ctl_logprobs){0};
}

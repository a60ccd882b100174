/* SPDX-License-Identifier: MIT
 *
 * The form of an answer: events with `content`, of which the last one has stop, counts and
 * times.  The stream ends without [DONE]. */
#include <string.h>

#include "daemon/http/llamacpp/llamacpp_impl.h"
#include "daemon/http/timings.h"

static const char *stop_type(const struct lmi_http_answer_end *end)
{
	switch (end->finish) {
	case LMI_WIRE_FINISH_EOG:
		return "eos";
	case LMI_WIRE_FINISH_STOP:
		return "word";
	case LMI_WIRE_FINISH_LENGTH:
	case LMI_WIRE_FINISH_CONTEXT:
	case LMI_WIRE_FINISH_DEADLINE:
	case LMI_WIRE_FINISH_SHUTDOWN:
		return "limit";
	case LMI_WIRE_FINISH_DONE:
	case LMI_WIRE_FINISH_UNKNOWN:
		break;
	}
	return "none";
}

static void put_tokens(struct lmi_json_text *j, const struct lmi_http_answer_token *tokens,
		       uint32_t n)
{
	lmi_json_text_key(j, "tokens");
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < n; i++)
		lmi_json_text_int(j, tokens[i].token);
	lmi_json_text_end(j);
}

/* Writes the log probabilities of n tokens, if they have any. */
static void put_logprobs(struct lmi_json_text *j, const struct lmi_llamacpp_state *s,
			 const struct lmi_http_answer_token *tokens, uint32_t n)
{
	if (!n || !tokens[0].n_logprobs)
		return;
	lmi_json_text_key(j, "completion_probabilities");
	lmi_http_put_logprobs_list(j, tokens, n, s->logprobs);
}

/* Writes what the answer was computed with. */
static void put_settings(struct lmi_json_text *j, const struct lmi_llamacpp_state *s, int64_t seed,
			 const struct lmi_http_answer_end *end)
{
	lmi_json_text_key(j, "generation_settings");
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "seed", seed);
	for (uint32_t i = 0; i < end->n_settings; i++)
		lmi_llamacpp_put_setting(j, end->settings[i].name, end->settings[i].value);
	lmi_json_text_key(j, "stop");
	lmi_json_text_array(j);
	for (uint32_t i = 0; i < s->n_stop; i++)
		lmi_json_text_strn(j, s->stops[i].ptr, s->stops[i].len);
	lmi_json_text_end(j);
	lmi_http_json_put_bool(j, "ignore_eos", s->ignore_eos);
	lmi_http_json_put_bool(j, "stream", s->stream);
	lmi_http_json_put_int(j, "n_probs", s->n_probs);
	lmi_json_text_end(j);
}

/* Writes the members of the end, after index, content and tokens. */
static void put_end(struct lmi_json_text *j, const struct lmi_llamacpp_state *s,
		    const struct lmi_http_answer_head *head, uint32_t choice, bool new_line,
		    const struct lmi_http_answer_end *end)
{
	lmi_http_json_put_int(j, "id_slot", -1);
	lmi_http_json_put_bool(j, "stop", true);
	lmi_http_json_put_text(j, "model", head->model);
	lmi_http_json_put_int(j, "tokens_predicted", end->n_out);
	lmi_http_json_put_int(j, "tokens_evaluated", end->n_prompt);
	put_settings(j, s, head->seeds ? head->seeds[choice] : 0, end);
	lmi_http_json_put_bool(j, "has_new_line", new_line);
	lmi_http_json_put_bool(j, "truncated", end->n_shift > 0);
	lmi_http_json_put_text(j, "stop_type", stop_type(end));
	lmi_http_json_put_str(j, "stopping_word",
			      end->finish == LMI_WIRE_FINISH_STOP ? s->stop
								  : (struct lmd_str){.ptr = ""});
	lmi_http_json_put_int(j, "tokens_cached", (int64_t)end->n_prompt + end->n_out);
	lmi_http_put_timings(j, end);
}

static void begin(void *state, const struct lmi_http_answer_head *head, struct lmi_http_out *o)
{
	struct lmi_llamacpp_state *s = state;

	(void)o;
	s->head = *head;
}

static void item(void *state, uint32_t choice, const struct lmi_wire_item *it,
		 struct lmi_http_out *o)
{
	struct lmi_llamacpp_state *s = state;
	struct lmi_json_text *j = &o->json;
	bool token = it->kind == LMI_WIRE_ITEM_TOKEN;
	struct lmi_http_answer_token t = {0};
	struct lmd_str text;

	if (!token && it->kind != LMI_WIRE_ITEM_TEXT)
		return;
	if (token)
		t = (struct lmi_http_answer_token){.token = it->u.token.token,
						   .logprobs = it->u.token.logprobs,
						   .n_logprobs = it->u.token.n_logprobs};
	s->n_out[choice] += token;
	text = lmi_http_pieces_next(&s->text[choice], s->arena,
				    token ? it->u.token.text : it->u.text.text);
	s->new_line[choice] |= text.len && memchr(text.ptr, '\n', text.len);
	if (!text.len && !(token && s->return_tokens) && !t.n_logprobs)
		return;
	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "index", choice);
	lmi_http_json_put_str(j, "content", text);
	put_tokens(j, &t, token && s->return_tokens);
	put_logprobs(j, s, &t, token);
	lmi_http_json_put_bool(j, "stop", false);
	lmi_http_json_put_int(j, "id_slot", -1);
	lmi_http_json_put_int(j, "tokens_predicted", s->n_out[choice]);
	lmi_http_json_put_int(j, "tokens_evaluated", 0); /* known at the end */
	lmi_json_text_end(j);
	lmi_http_out_event(o, NULL);
}

static void choice_end(void *state, uint32_t choice, const struct lmi_http_answer_end *end,
		       struct lmi_http_out *o)
{
	struct lmi_llamacpp_state *s = state;
	struct lmi_json_text all = {0}, *j = s->n_field ? &all : &o->json;

	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "index", choice);
	lmi_http_json_put_str(j, "content", lmi_http_pieces_end(&s->text[choice]));
	put_tokens(j, NULL, 0);
	put_end(j, s, &s->head, choice, s->new_line[choice], end);
	lmi_json_text_end(j);
	if (s->n_field)
		lmi_llamacpp_put_fields(&o->json, s, &all);
	lmi_http_out_event(o, NULL);
}

static void error(void *state, const struct lmi_http_error *e, struct lmi_http_out *o)
{
	(void)state;
	lmi_llamacpp_error(&o->json, e);
	lmi_http_out_event(o, NULL);
}

static void whole_choice(const struct lmi_llamacpp_state *s, const struct lmi_http_answer_head *head,
			 uint32_t i, const struct lmi_http_answer *a, struct lmi_json_text *out)
{
	struct lmi_json_text all = {0}, *j = s->n_field ? &all : out;

	lmi_json_text_object(j);
	lmi_http_json_put_int(j, "index", i);
	lmi_http_json_put_str(j, "content", a->text);
	put_tokens(j, a->tokens, s->return_tokens ? a->n_token : 0);
	put_logprobs(j, s, a->tokens, a->n_token);
	put_end(j, s, head, i, a->text.len && memchr(a->text.ptr, '\n', a->text.len), &a->end);
	lmi_json_text_end(j);
	if (s->n_field)
		lmi_llamacpp_put_fields(out, s, &all);
}

/* Several answers are a list. */
static void whole(void *state, const struct lmi_http_answer_head *head,
		  const struct lmi_http_answer *a, const struct lmi_http_answer_end *sum,
		  struct lmi_json_text *j)
{
	(void)sum;
	if (head->n_choice > 1)
		lmi_json_text_array(j);
	for (uint32_t i = 0; i < head->n_choice; i++)
		whole_choice(state, head, i, &a[i], j);
	if (head->n_choice > 1)
		lmi_json_text_end(j);
}

const struct lmi_http_form lmi_llamacpp_form = {
	.stream_type = "text/event-stream",
	.begin = begin,
	.item = item,
	.choice_end = choice_end,
	.error = error,
	.whole = whole,
};

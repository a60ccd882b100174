/* SPDX-License-Identifier: MIT
 *
 * Counts the tokens and the times of answers, for metrics and traces. */
#include "daemon/http/generation_impl.h"

#include "daemon/loop/loop.h"

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

void lmi_http_run_count_tokens(struct lmi_http_choice *c, uint32_t n)
{
	struct lmi_http_run *r = c->run;
	uint64_t now = lmi_loop_now();

	r->n_token += n;
	if (r->x->again)
		return;
	if (!r->times) {
		r->times = lmi_http_times_of(&r->x->h->times, &r->gen.req.u.generate.model);
		lmi_http_times_add(r->times, LMI_HTTP_TIME_FIRST_TOKEN, seconds(r->first_ns), 1);
	}
	if (c->token_ns && n)
		lmi_http_times_add(r->times, LMI_HTTP_TIME_BETWEEN, seconds(now - c->token_ns) / n,
				   n);
	c->token_ns = n ? now : c->token_ns;
}

/* Passes the end of a choice on, for traces. */
static void trace_end(const struct lmi_http_choice *c, uint64_t all_ns)
{
	const struct lmi_http_answer_end *e = &c->end;
	const struct lmi_http_run *r = c->run;
	const struct lmi_http_opts *o = &r->x->h->o;
	const struct lmi_http_generated g = {
		.path = r->x->head.path,
		.model = r->gen.req.u.generate.model,
		.finish = lmi_wire_word(&lmi_wire_words_finish, (int)e->finish),
		.traceparent = r->traceparent,
		.all_ns = all_ns,
		.queue_ns = e->queue_ns,
		.first_ns = r->first_ns,
		.prompt_ns = e->prompt_ns,
		.out_ns = e->out_ns,
		.n_prompt = e->n_prompt,
		.n_cached = e->n_cached,
		.n_out = e->n_out,
		.chat = r->gen.req.u.generate.has_messages,
	};

	if (o->ops.generated)
		o->ops.generated(o->arg, &g);
}

/* Counts the end of a choice. */
static void count_end(const struct lmi_http_choice *c)
{
	const struct lmi_http_answer_end *e = &c->end;
	struct lmi_http_run *r = c->run;
	struct lmi_http_times *t = lmi_http_times_of(&r->x->h->times, &r->gen.req.u.generate.model);

	if (!t)
		return;
	lmi_http_times_add(t, LMI_HTTP_TIME_QUEUE, seconds(e->queue_ns), 1);
	lmi_http_times_add(t, LMI_HTTP_TIME_PROMPT, seconds(e->prompt_ns), 1);
	lmi_http_times_add(t, LMI_HTTP_TIME_OUT, seconds(e->out_ns), 1);
	lmi_http_times_add(t, LMI_HTTP_TIME_ALL, seconds(lmi_loop_now() - r->x->begun_ns), 1);
	lmi_http_times_add(t, LMI_HTTP_TIME_PROMPT_TOKENS, e->n_prompt, 1);
	lmi_http_times_add(t, LMI_HTTP_TIME_OUT_TOKENS, e->n_out, 1);
	if (e->n_out > 1)
		lmi_http_times_add(t, LMI_HTTP_TIME_PER_TOKEN, seconds(e->out_ns) / (e->n_out - 1),
				   1);
	if ((size_t)e->finish < LMD_LEN(t->finished))
		t->finished[e->finish]++;
}

void lmi_http_run_count_end(const struct lmi_http_choice *c, uint64_t all_ns)
{
	if (c->run->x->again) /* its times began in an earlier process, which may have counted it */
		return;
	count_end(c);
	trace_end(c, all_ns);
}

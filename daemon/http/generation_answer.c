/* SPDX-License-Identifier: MIT
 *
 * Writes the answer of an exchange in the form of its API: a stream, a whole answer, or an error.
 *
 * A stream begins with the first item or comment, so that an error before it has a response of its own. */
#include "daemon/http/generation_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/replay.h"

/* ---- errors ---- */

static void fail(struct lmi_http_run *r, const struct lmi_http_error *e)
{
	if (r->finished)
		return;
	r->finished = true;
	r->x->log_end = "error";
	if (!r->began) {
		lmi_http_reply_error(r->x, e);
		return;
	}
	if (r->gen.form->error)
		r->gen.form->error(r->gen.state, e, &r->out);
	(void)lmi_http_stream_write(r->x, r->out.text, r->out.failed ? 0 : r->out.n);
	lmi_http_stream_end(r->x);
}

/* Reads a number that follows the text `before`, and moves *at behind it.  Returns false if there is
 * none. */
static bool read_number(const char **at, const char *before, uint64_t *out)
{
	size_t n = strlen(before);
	char *end;

	if (strncmp(*at, before, n) || (*at)[n] < '0' || (*at)[n] > '9')
		return false;
	errno = 0;
	*out = strtoull(*at + n, &end, 10);
	*at = end;
	return !errno;
}

/* Takes the numbers from the message of service/prompt.c; a test keeps the two together.  Clients,
 * too, look for "exceeds the available context size" in it. */
static void read_context_error(const char *text, struct lmi_http_error *e)
{
	uint64_t n_prompt, n_ctx;

	if (!read_number(&text, "prompt: a length of ", &n_prompt) ||
	    !read_number(&text, " tokens exceeds the available context size of ", &n_ctx))
		return;
	e->n_prompt = n_prompt;
	e->n_ctx = n_ctx;
}

void lmi_http_run_fail(struct lmi_http_run *r, enum lmd_status st, const char *text,
		       uint32_t retry_ms)
{
	struct lmi_http_error e = {.code = lmi_http_code_for(r->x->h, &r->x->principal, st),
				   .cause = st,
				   .text = text,
				   .retry_ms = retry_ms};

	read_context_error(text, &e);
	fail(r, &e);
}

/* ---- the answer ---- */

static void delay_ping(struct lmi_http_run *r)
{
	const struct timeval t = {.tv_sec = r->gen.ping_ms / 1000,
				  .tv_usec = (int)(r->gen.ping_ms % 1000) * 1000};

	if (r->ping)
		(void)evtimer_add(r->ping, &t);
}

bool lmi_http_run_flush(struct lmi_http_run *r)
{
	bool more = true;

	if (r->out.failed) {
		lmi_http_run_fail(r, LMD_INTERNAL, "the answer cannot be written as JSON", 0);
		return true;
	}
	if (r->out.n)
		more = lmi_http_stream_write(r->x, r->out.text, r->out.n);
	if (r->out.n)
		delay_ping(r);
	r->out.n = 0;
	return more;
}

void lmi_http_run_begin_stream(struct lmi_http_run *r)
{
	if (r->began)
		return;
	r->began = true;
	lmi_http_stream_begin(r->x, r->gen.form->stream_type);
	if (r->gen.form->begin)
		r->gen.form->begin(r->gen.state, &r->head, &r->out);
}

static void on_ping(evutil_socket_t fd, short what, void *arg)
{
	static const char comment[] = ": keep-alive\n\n";
	struct lmi_http_run *r = arg;

	(void)fd;
	(void)what;
	if (r->finished)
		return;
	delay_ping(r);
	/* the default model is being looked for, or what a client could resume is not on the disk */
	if (!r->head.model || (r->gen.req.u.generate.durable && !r->accepted))
		return;
	lmi_http_run_begin_stream(r);
	(void)lmi_http_run_flush(r);
	if (!r->finished)
		lmi_http_replay_comment(r->x, comment, sizeof(comment) - 1);
}

/* Without memory there are no comments. */
void lmi_http_run_start_pings(struct lmi_http_run *r)
{
	if (!r->gen.stream || !r->gen.ping_ms || !r->gen.form->stream_type ||
	    strcmp(r->gen.form->stream_type, "text/event-stream") != 0)
		return;
	r->ping = evtimer_new(r->x->h->o.base, on_ping, r);
	delay_ping(r);
}

uint32_t lmi_http_run_per_prompt(const struct lmi_http_run *r)
{
	return r->gen.n_prompt ? r->gen.n_choice / r->gen.n_prompt : r->gen.n_choice;
}

static struct lmi_http_answer_end sum_of(const struct lmi_http_run *r)
{
	struct lmi_http_answer_end sum = r->choices[0].end;

	for (uint32_t i = 1; i < r->gen.n_choice; i++) {
		const struct lmi_http_answer_end *e = &r->choices[i].end;

		sum.n_prompt +=
			i % lmi_http_run_per_prompt(r) ? 0 : e->n_prompt; /* once for each prompt */
		sum.called |= e->called;
		sum.n_out += e->n_out;
		sum.n_forced += e->n_forced;
		sum.n_cached += e->n_cached;
		sum.n_drafted += e->n_drafted;
		sum.n_accepted += e->n_accepted;
		sum.n_reasoning += e->n_reasoning;
		sum.n_shift += e->n_shift;
		sum.prompt_ns += e->prompt_ns;
		sum.out_ns += e->out_ns;
	}
	return sum;
}

static void reply_whole(struct lmi_http_run *r, const struct lmi_http_answer_end *sum)
{
	struct lmi_http_answer answers[LMI_HTTP_CHOICES_MAX];
	struct lmi_json_text j = {0};

	for (uint32_t i = 0; i < r->gen.n_choice; i++) {
		if (!lmi_http_collected_answer(&r->choices[i].collected, r->x->arena,
					       &answers[i])) {
			lmi_http_run_fail(r, LMD_NOMEM, "no memory for the answer", 0);
			return;
		}
		answers[i].end = r->choices[i].end;
	}
	r->gen.form->whole(r->gen.state, &r->head, answers, sum, &j);
	r->finished = true;
	lmi_http_reply(r->x, 200, &j);
}

void lmi_http_run_finish(struct lmi_http_run *r)
{
	const struct lmi_http_answer_end sum = sum_of(r);

	r->x->log_end = lmi_wire_word(&lmi_wire_words_finish, (int)sum.finish);
	r->x->log_prompt = sum.n_prompt;
	if (!r->gen.stream) {
		reply_whole(r, &sum);
		return;
	}
	if (r->gen.form->end)
		r->gen.form->end(r->gen.state, &sum, &r->out);
	(void)lmi_http_run_flush(r);
	if (r->finished)
		return;
	r->finished = true;
	lmi_http_stream_end(r->x);
}

/* SPDX-License-Identifier: MIT
 *
 * The tokens of a prompt as items.  Their log probabilities are the rows of an evaluation that runs
 * before the generation is queued. */

#include "core/base/alloc.h"
#include "service/evaluate.h"
#include "service/generate_work.h"
#include "service/logprobs.h"

struct lmi_svc_prompt_logprobs {
	struct lmi_svc_generation *g; /* held until `done` */
	struct lmi_service_evaluation what;
	struct lmi_svc_evaluation *running; /* NULL before it has been submitted */
};

/* Reads one row of LMI_ENGINE_WANT_LOGPROBS. */
static uint32_t read_row(struct lmi_engine_logprob *out, const float *row, uint32_t width)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k + 1 < width && row[k] >= 0; k += 2)
		out[n++] = (struct lmi_engine_logprob){.token = (lmd_token)row[k],
						       .logprob = row[k + 1]};
	return n;
}

/* Adds the item of token i.  row: NULL if it has no log probabilities. */
static enum lmd_status add_token(struct lmi_svc_generation *g, uint64_t now, uint32_t i,
				 const float *row, uint32_t width)
{
	const struct lmi_tokenizer *t = lmi_engine_tokenizer(g->loaded->engine);
	struct lmi_engine_logprob v[LMI_ENGINE_LOGPROBS_MAX];
	struct lmi_wire_token_logprob own;
	struct lmi_wire_buf text = {0};
	struct lmi_svc_item item = {.kind = LMI_SVC_ITEM_PROMPT_TOKEN,
				    .token = g->tokens.id[i],
				    .at_ns = now};
	enum lmd_status st = LMD_NOMEM;

	v[0] = (struct lmi_engine_logprob){.token = item.token};
	item.n_logprobs = row ? read_row(v, row, width) : 0;
	if (lmi_svc_logprobs_pack(&text, t, v, 1) &&
	    lmi_svc_logprobs_pack(&g->logprobs, t, v, item.n_logprobs)) {
		lmi_svc_logprobs_unpack(&own, 1, (const char *)text.p);
		item.n_text = (uint32_t)own.text.len;
		item.logprobs_bytes = (uint32_t)g->logprobs.n;
		st = lmi_svc_output_add(&g->writer.stream->out, &item, own.text.ptr, g->logprobs.p);
	}
	g->logprobs.n = 0;
	lmi_wire_buf_fini(&text);
	return st;
}

static void add_items(struct lmi_svc_generation *g, uint64_t now, const float *rows, uint32_t width)
{
	enum lmd_status st = LMD_OK;
	struct lmd_error err;

	for (uint32_t i = 0; i < g->tokens.n && st == LMD_OK; i++)
		st = add_token(g, now, i, i && rows ? rows + (size_t)(i - 1) * width : NULL, width);
	if (st == LMD_OK) {
		lmi_svc_gen_enqueue(g, now);
		return;
	}
	(void)lmd_fail(&err, st,
		       st == LMD_BUSY ? "prompt_tokens: %zu tokens and what is requested of them "
					"are more than a stream keeps"
				      : "no memory for the %zu tokens of the prompt",
		       g->tokens.n);
	err.status = st == LMD_BUSY ? LMD_INVALID : st;
	lmi_svc_gen_fail(g, now, &err, 0);
}

static void done(void *arg, float *own_rows, uint32_t n_row, uint32_t width,
		 const struct lmd_error *err)
{
	struct lmi_svc_prompt_logprobs *p = arg;
	struct lmi_svc_generation *g = p->g;

	(void)n_row;
	g->prompt_logprobs = NULL;
	if (g->ended)
		;
	else if (err)
		lmi_svc_gen_fail(g, g->request.svc->now, err, 0);
	else
		add_items(g, g->request.svc->now, own_rows, width);
	lmi_free(own_rows);
	lmi_free(p);
	g->n_hold--;
	lmi_svc_gen_release(g);
}

static void evaluate(struct lmi_svc_generation *g, uint64_t now)
{
	struct lmi_svc_prompt_logprobs *p = lmi_alloc(1, sizeof(*p));
	struct lmi_svc_evaluation *running;
	struct lmd_error err;

	if (!p) {
		(void)lmd_fail(&err, LMD_NOMEM, "no memory for an evaluation");
		lmi_svc_gen_fail(g, now, &err, 0);
		return;
	}
	g->state = LMI_SVC_GEN_PROMPT;
	g->prompt_logprobs = p;
	g->n_hold++;
	p->g = g;
	p->what = (struct lmi_service_evaluation){
		.tokens = g->tokens.id,
		.n_tokens = (uint32_t)g->tokens.n,
		.adapter = g->adapter,
		.want = LMI_ENGINE_WANT_LOGPROBS,
		.n_logprobs = (uint32_t)lmi_svc_gen_request(g)->prompt_logprobs + 1,
		.done = done,
		.arg = p};
	running = lmi_svc_evaluation_start(g->request.svc, now, g->loaded, &p->what);
	if (running) /* otherwise p has been freed */
		p->running = running;
}

void lmi_svc_gen_prompt_items(struct lmi_svc_generation *g, uint64_t now)
{
	const struct lmi_wire_req_generate *q = lmi_svc_gen_request(g);

	if (q->has_prompt_logprobs)
		evaluate(g, now);
	else if (q->prompt_tokens)
		add_items(g, now, NULL, 0);
	else
		lmi_svc_gen_enqueue(g, now);
}

void lmi_svc_gen_prompt_items_cancel(struct lmi_svc_generation *g)
{
	if (g->prompt_logprobs && g->prompt_logprobs->running)
		lmi_svc_evaluation_cancel(g->prompt_logprobs->running);
}

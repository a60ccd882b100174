/* SPDX-License-Identifier: MIT
 *
 * A generation from its request to the queue: finds and loads its model, and tokenises its
 * prompt. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "service/generate_work.h"
#include "service/ops.h"
#include "service/preset.h"
#include "service/prompt.h"
#include "service/quota.h"
#include "service/replay.h"
#include "service/stream.h"

#define LOADS_MAX 4 /* of the model for one request */
#define AGAIN_MS  1000u

/* Ends the generation with the error.  One whose durable stream was accepted waits until what is busy
 * is free: its client may be gone for long, and nobody would send the request again. */
static void refuse(struct lmi_svc_generation *g, uint64_t now, const struct lmd_error *err,
		   uint32_t retry_ms)
{
	if (err->status == LMD_BUSY && g->durable && !g->request.reply && !g->durable->failed)
		g->again_ns = now + (retry_ms ? retry_ms : AGAIN_MS) * LMI_NS_PER_MS;
	else
		lmi_svc_gen_fail(g, now, err, retry_ms);
}

/* Of a generation that goes on, everything else is known. */
static enum lmd_status find_shown(struct lmi_svc_generation *g, struct lmd_error *err)
{
	const struct lmi_chat *chat = lmi_engine_chat(g->encoder->engine);
	bool thinks = g->answer_format.thinks;
	enum lmd_status st;

	if (!g->answer_format.format)
		return LMD_OK;
	st = lmi_chat_find_answer_format(chat, lmi_svc_gen_request(g)->prompt, &g->answer_format, err);
	g->answer_format.thinks = thinks; /* the text that a template made is not there any more */
	return st;
}

static void encode(void *arg)
{
	struct lmi_svc_generation *g = arg;

	const struct lmi_wire_req_generate *q = lmi_svc_gen_request(g);
	struct lmi_engine *e = g->encoder->engine;
	struct lmd_error *err = &g->job_err;

	err->status = g->resumes ? find_shown(g, err)
				 : lmi_svc_prompt_encode(e, q, &g->pictures, &g->tokens,
							 &g->answer_format, err);
	g->n_encoded = g->tokens.n;
	if (err->status == LMD_OK && q->has_prediction)
		err->status = lmi_tokenizer_encode(lmi_engine_tokenizer(e), q->prediction.ptr,
						   q->prediction.len, 0, &g->prediction, err);
	if (err->status == LMD_OK)
		err->status = lmi_svc_prompt_constrain(e, q, &g->tokens, &g->taken, &g->answer_format,
						       &g->constraint, err);
}

static void encode_job(void *arg)
{
	struct lmi_svc_generation *g = arg;
	uint64_t from = lmi_clock_thread_ns();

	encode(g);
	g->request.work_ns = lmi_clock_thread_ns() - from;
}

/* ---- durable streams ---- */

/* Takes over what is known of a generation that goes on: all its tokens but the last, which the
 * engine computes again. */
static enum lmd_status resume(struct lmi_svc_generation *g, struct lmd_error *err)
{
	struct lmi_svc_durable *d = g->durable;
	const char *adapter = g->adapter ? g->adapter_waiter.choice.text : "";
	enum lmd_status st;

	if (strcmp(adapter, d->adapter) != 0)
		return lmd_fail(err, LMD_NOTFOUND,
				"durable: the stream was begun with %s%s, the request now has %s%s",
				*d->adapter ? "the adapter " : "no adapter", d->adapter,
				*adapter ? "the adapter " : "none", adapter);
	st = lmi_text_token_buf_append(&g->tokens, d->prompt.id, d->prompt.n, err);
	if (st == LMD_OK && d->taken.n > 1)
		st = lmi_text_token_buf_append(&g->taken, d->taken.id, d->taken.n - 1, err);
	if (st != LMD_OK)
		return st;
	d->again = d->taken.n > 0;
	d->again_token = d->again ? d->taken.id[d->taken.n - 1] : -1;
	d->again_text = d->n_text;
	g->answer_format.format = d->format;
	g->answer_format.thinks = d->thinks;
	g->n_out = g->n_resumed = g->counted.n_out = (uint32_t)g->taken.n;
	g->resumes = true;
	return LMD_OK;
}

/* Writes that the request was accepted, or checks that its model is the same as before. */
static enum lmd_status make_durable(struct lmi_svc_generation *g, const struct lmi_svc_model *m,
				    struct lmd_error *err)
{
	if (!lmi_svc_gen_request(g)->durable)
		return LMD_OK;
	return g->durable ? lmi_svc_durable_check_model(g->durable, m->record, err)
			  : lmi_svc_durable_begin(g, m->record, err);
}

/* ---- the prompt ---- */

/* Continues after the prompt has been tokenised. */
static void encoded(struct lmi_svc_generation *g, uint64_t now)
{
	struct lmd_error err = g->job_err;

	if (err.status == LMD_OK)
		err.status = lmi_svc_prompt_check(g->loaded->engine, &g->tokens, &g->request.svc->limits,
						   &err);
	if (err.status == LMD_OK && g->durable && !g->resumes)
		err.status = lmi_svc_durable_start(g, &err);
	if (err.status == LMD_OK && lmi_svc_gen_request(g)->parse && !g->durable)
		err.status = lmi_svc_answer_create(&g->answer, &g->answer_format,
						   g->writer.stream->id, &err);
	if (err.status != LMD_OK)
		lmi_svc_gen_fail(g, now, &err, 0);
	else
		lmi_svc_gen_session_restore(g, now);
}

static void encode_done(void *arg)
{
	struct lmi_svc_generation *g = arg;
	struct lmi_service *svc = g->request.svc;

	svc->n_job--;
	g->job_runs = false;
	lmi_svc_user_charge_work(svc, &g->request.principal, g->request.work_ns);
	lmi_svc_usage_add(svc, &g->request.principal, lmi_svc_model_record_name(g->encoder->record),
			  &(struct lmi_svc_used){.work_ns = g->request.work_ns});
	if (g->ended)
		lmi_svc_gen_drop_constraint(g);
	lmi_svc_loaded_model_unref(g->encoder, svc->now);
	g->encoder = NULL;
	if (g->ended)
		lmi_svc_gen_release(g);
	else
		encoded(g, svc->now);
}

/* Tokenises the prompt on another thread. */
static void submit_encode(struct lmi_svc_generation *g, uint64_t now)
{
	struct lmi_service *svc = g->request.svc;
	struct lmd_error err;

	g->job = (struct lmi_job){.run = encode_job, .done = encode_done, .arg = g};
	g->encoder = g->loaded;
	if (lmi_jobs_submit(svc->o.work, &g->job, &err) != LMD_OK) {
		g->encoder = NULL;
		refuse(g, now, &err, lmi_svc_retry_ms(svc));
		return;
	}
	/* the job needs the engine even if the generation ends meanwhile */
	lmi_svc_loaded_model_ref(g->loaded);
	g->job_runs = true;
	svc->n_job++;
}

/* Goes on with the model, whose slot of adapters the generation holds. */
static void adapter_ready(struct lmi_svc_generation *g, uint64_t now)
{
	const struct lmi_wire_req_generate *q = lmi_svc_gen_request(g);
	struct lmi_svc_loaded_model *r = g->loaded;
	struct lmi_service *svc = g->request.svc;
	struct lmd_error refused;

	g->state = LMI_SVC_GEN_ENCODE;
	g->ready_ns = now;
	if (q->has_keep_alive_ms)
		lmi_svc_loaded_model_keep(r, q->keep_alive_ms);
	if ((g->durable && g->durable->started ? resume(g, &refused)
	     : g->replays ? LMD_OK /* its request has what the configuration adds */
			  : lmi_svc_preset_apply(r, &g->request.message.u.generate, g->request.arena,
					    &refused)) != LMD_OK) {
		lmi_svc_gen_fail(g, now, &refused, 0);
		return;
	}
	if (!lmi_svc_prompt_is_chat(r->engine, q) && !lmi_svc_prompt_is_constrained(q) &&
	    !q->has_suffix &&
	    (!q->has_prediction || q->prediction.len <= svc->limits.inline_bytes) &&
	    (!q->has_prompt || q->prompt.len <= svc->limits.inline_bytes)) {
		g->encoder = r;
		encode(g);
		g->encoder = NULL;
		encoded(g, now);
		return;
	}
	submit_encode(g, now);
}

static void slot_ready(struct lmi_svc_adapter_waiter *w, uint64_t now, int32_t slot,
		       const struct lmd_error *err)
{
	struct lmi_svc_generation *g =
		(struct lmi_svc_generation *)((char *)w -
					      offsetof(struct lmi_svc_generation, adapter_waiter));
	struct lmi_svc_loaded_model *r = g->loaded;

	g->adapter = slot;
	if (!err) {
		adapter_ready(g, now);
		return;
	}
	g->loaded = NULL; /* it may be tried again, from the beginning */
	refuse(g, now, err, err->status == LMD_BUSY ? AGAIN_MS : 0);
	lmi_svc_loaded_model_unref(r, now);
}

/* Has the model loaded again, with slots for adapters. */
static void load_slots(struct lmi_svc_generation *g, uint64_t now, struct lmi_svc_loaded_model *r)
{
	struct lmi_service *svc = g->request.svc;
	uint32_t retry_ms = 0;
	struct lmd_error err;
	enum lmd_status st = LMD_OK;

	if (g->n_load++ == LOADS_MAX) {
		retry_ms = lmi_svc_retry_ms(svc);
		st = lmd_fail(&err, LMD_BUSY,
			      "model %s was loaded %d times for adapters while this request waited",
			      lmi_svc_model_name(g->model), LOADS_MAX);
	}
	if (st == LMD_OK)
		st = lmi_svc_model_load_slots(svc, g->model, &g->load_waiter, &err);
	lmi_svc_loaded_model_unref(r, now);
	if (st != LMD_OK)
		refuse(g, now, &err, retry_ms);
}

static void model_ready(struct lmi_svc_load_waiter *w, uint64_t now, struct lmi_svc_loaded_model *r,
			const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_svc_generation *g =
		(struct lmi_svc_generation *)((char *)w -
					      offsetof(struct lmi_svc_generation, load_waiter));
	struct lmi_svc_adapter_choice *choice = &g->adapter_waiter.choice;
	struct lmd_error refused;

	if (!r) {
		refuse(g, now, err, retry_ms);
		return;
	}
	lmi_svc_adapter_choice_fini(choice);
	if (lmi_svc_adapter_choose(choice, g->request.svc, lmi_svc_model_record_name(r->record),
				   lmi_svc_gen_request(g), &refused) != LMD_OK ||
	    lmi_svc_replay_check_adapters(g, &refused) != LMD_OK) {
		lmi_svc_loaded_model_unref(r, now);
		lmi_svc_gen_fail(g, now, &refused, 0);
		return;
	}
	if (choice->n && !r->slots.open) {
		load_slots(g, now, r);
		return;
	}
	g->loaded = r;
	g->adapter_waiter.ready = slot_ready;
	if (choice->n)
		lmi_svc_adapter_slots_wait(r, &g->adapter_waiter);
	else
		adapter_ready(g, now);
}

static void found(struct lmi_svc_lookup *l, uint64_t now, struct lmi_svc_model *m,
		  const struct lmd_error *err)
{
	struct lmi_svc_generation *g =
		(struct lmi_svc_generation *)((char *)l -
					      offsetof(struct lmi_svc_generation, lookup));
	struct lmd_error refused;
	enum lmd_status st;

	g->job_runs = false;
	g->n_hold++;
	if (!m && !g->durable)
		lmi_svc_quota_return_request(g->request.svc, &g->request.principal, g->request.now);
	if (!g->ended && !m && g->durable && err->status == LMD_NOTFOUND) {
		(void)lmd_fail(&refused, LMD_NOTFOUND,
			       "durable: the stream was begun with the model sha256:%s, which is no "
			       "longer there under its name: %.200s",
			       g->durable->digest, err->text);
		lmi_svc_gen_fail(g, now, &refused, 0);
	} else if (!g->ended && !m) {
		refuse(g, now, err, 0);
	} else if (!g->ended) {
		g->state = LMI_SVC_GEN_LOAD;
		g->model = m;
		g->load_waiter.ready = model_ready;
		st = lmi_svc_replay_check_model(g, m->record, &refused);
		if (st == LMD_OK)
			st = make_durable(g, m, &refused);
		if (st != LMD_OK)
			lmi_svc_gen_fail(g, now, &refused, 0);
		else
			lmi_svc_model_add_waiter(g->request.svc, now, m, &g->load_waiter);
	}
	if (!g->ended && !g->durable)
		lmi_svc_request_reply_stream(&g->request, g->writer.stream,
						     (int64_t)g->seed);
	g->n_hold--;
	lmi_svc_gen_release(g);
}

/* ---- the request ---- */

static enum lmd_status admit(struct lmi_svc_request *a, uint32_t *retry_ms,
			     struct lmd_error *err)
{
	enum lmd_status st = lmi_svc_user_admit_work(a->svc, &a->principal, retry_ms, err);

	if (st == LMD_OK)
		st = lmi_svc_user_admit_generation(a->svc, &a->principal, a->bytes.n, err);
	if (st == LMD_OK)
		st = lmi_svc_stream_admit(a->svc, &a->principal, err);
	if (st == LMD_OK)
		st = lmi_svc_quota_take_request(a->svc, &a->principal, retry_ms, err);
	if (st == LMD_BUSY && !*retry_ms)
		*retry_ms = lmi_svc_retry_ms(a->svc);
	return st;
}

uint64_t lmi_svc_gen_lease_ms(const struct lmi_service *svc, const struct lmi_wire_req_generate *q)
{
	return q->has_lease_ms	 ? (uint64_t)q->lease_ms
	       : svc->o.embedded ? UINT64_MAX / LMI_NS_PER_MS
	       : q->durable	 ? svc->limits.durable_age_ms
				 : svc->limits.lease_default;
}

static enum lmd_status create(struct lmi_svc_generation **out, struct lmi_svc_request *a,
			      struct lmd_error *err)
{
	static const struct lmi_svc_account places = {.n_waiting = 1};
	const struct lmi_wire_req_generate *q = &a->req->u.generate;
	struct lmi_service *svc = a->svc;
	uint64_t lease = lmi_svc_gen_lease_ms(svc, q);
	uint64_t timeout =
		q->has_timeout_ms ? (uint64_t)q->timeout_ms : svc->limits.timeout_default;
	struct lmi_svc_replay_settings *replays =
		a->replays ? lmi_alloc(1, sizeof(*replays)) : NULL;
	struct lmi_svc_generation *g = lmi_alloc(1, sizeof(*g));
	enum lmd_status st;

	if (!g || (a->replays && !replays)) {
		lmi_free(g);
		lmi_free(replays);
		return lmd_fail(err, LMD_NOMEM, "no memory for a generation");
	}
	g->writer = (struct lmi_svc_stream_writer){.cancel = lmi_svc_gen_cancel,
						 .runs = lmi_svc_gen_runs,
						 .pause = lmi_svc_gen_pause,
						 .is_paused = lmi_svc_gen_is_paused};
	st = lmi_svc_request_keep(&g->request, a, &places, err);
	if (st == LMD_OK && !q->has_seed)
		st = lmi_svc_random(&g->seed, sizeof(g->seed), err);
	if (st == LMD_OK)
		st = lmi_svc_stream_begin(a, &g->writer, LMI_WIRE_STREAM_KIND_GENERATE, &q->model,
					  lease, err);
	if (st != LMD_OK) {
		lmi_svc_request_fini(&g->request);
		lmi_free(replays);
		lmi_free(g);
		return st;
	}
	g->writer.stream->own_lease = q->has_lease_ms || q->durable;
	g->seed = q->has_seed ? (uint64_t)q->seed : g->seed >> 1; /* the protocol has an int64_t */
	memcpy(g->stream_id, g->writer.stream->id, sizeof(g->stream_id));
	g->serial = ++svc->serial;
	if (a->replays) {
		g->replays = replays;
		*replays = *a->replays;
	}
	g->deadline_ns = svc->o.embedded && !q->has_timeout_ms ? UINT64_MAX
							       : a->now + timeout * LMI_NS_PER_MS;
	g->ready_ns = UINT64_MAX;
	g->next = svc->generations;
	if (g->next)
		g->next->prev = g;
	svc->generations = g;
	*out = g;
	return LMD_OK;
}

void lmi_svc_gen_try_again(struct lmi_svc_generation *g, uint64_t now)
{
	g->again_ns = 0;
	if (g->state == LMI_SVC_GEN_ENCODE)
		submit_encode(g, now);
	else
		lmi_svc_gen_look_up(g, now);
}

void lmi_svc_gen_look_up(struct lmi_svc_generation *g, uint64_t now)
{
	g->lookup.found = found;
	g->job_runs = true; /* until the name has been looked up */
	g->lookup.principal = &g->request.principal;
	lmi_svc_lookup_start(g->request.svc, now, &g->lookup, &lmi_svc_gen_request(g)->model);
}

enum lmd_status lmi_svc_do_generate(struct lmi_svc_request *a, uint32_t *retry_ms,
				    struct lmd_error *err)
{
	const struct lmi_wire_req_generate *q = &a->req->u.generate;
	struct lmi_svc_generation *g = NULL;
	enum lmd_status st = lmi_svc_generate_check(&a->svc->limits, q, err);

	if (st == LMD_OK && q->durable)
		st = lmi_svc_durable_admit(a->svc, &a->principal, q, err);
	if (st == LMD_OK)
		st = admit(a, retry_ms, err);
	if (st == LMD_OK)
		st = create(&g, a, err);
	if (st != LMD_OK)
		return st;
	a->svc->count.n_request++;
	lmi_svc_gen_look_up(g, a->now);
	return LMD_OK;
}

/* ---- after a start of the daemon ---- */

enum lmd_status lmi_svc_gen_create_again(struct lmi_svc_generation **out, struct lmi_svc_request *a,
					 const struct lmi_svc_journal_head *head,
					 struct lmd_error *err)
{
	enum lmd_status st = create(out, a, err);

	if (st != LMD_OK)
		return st;
	a->svc->count.n_request++;
	(*out)->seed = head->seed;
	lmi_svc_stream_set_id(&a->svc->streams, (*out)->writer.stream, head->id);
	memcpy((*out)->stream_id, head->id, sizeof((*out)->stream_id));
	return LMD_OK;
}

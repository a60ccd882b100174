/* SPDX-License-Identifier: MIT
 *
 * Durable streams: what is recorded of a generation, and what becomes of a stream. */
#include "service/durable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "service/generate_work.h"
#include "service/preset.h"
#include "service/push.h"
#include "service/quota.h"
#include "service/service_state.h"

/* Bytes of one stream's events that wait while others are written. */
#define WAITING_MAX (4u << 20)

/* ---- bounds ---- */

static uint64_t share(const struct lmi_service *svc, uint64_t of_all)
{
	uint64_t percent = svc->limits.durable_percent_per_user;
	uint64_t n = of_all / 100 * (percent ? percent : 75) +
		     of_all % 100 * (percent ? percent : 75) / 100;

	return n ? n : 1;
}

/* Its end was read or need not be. */
static bool is_done(const struct lmi_svc_durable *d)
{
	const struct lmi_svc_stream *s = d->stream;

	return !s || (!s->readers && !s->push && !s->writer && (s->read_out || s->cancelled));
}

/* Drops one that is done, so that another one may begin. */
static void make_place(struct lmi_service *svc)
{
	struct lmi_svc_durable *d = svc->durables;

	while (d && !(d->stream && is_done(d)))
		d = d->next;
	if (d)
		lmi_svc_stream_drop(svc, d->stream);
}

enum lmd_status lmi_svc_durable_admit(struct lmi_service *svc,
				      const struct lmi_svc_principal *principal,
				      const struct lmi_wire_req_generate *q, struct lmd_error *err)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(principal);
	uint64_t max = svc->limits.durable_streams, most = share(svc, max);
	uint32_t n = 0, n_all = 0;

	if (!svc->o.journals || !max)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"durable: this server has no durable streams (durable_streams in "
				"[limits])");
	if (q->prompt_tokens || q->has_prompt_logprobs)
		return lmd_fail(err, LMD_INVALID,
				"durable: not together with prompt_tokens and prompt_logprobs");
	for (const struct lmi_svc_durable *d = svc->durables; d; d = d->next) {
		n_all += !is_done(d);
		n += !is_done(d) && lmi_svc_owner_same(&d->owner, &owner);
	}
	if (n_all >= max)
		return lmd_fail(err, LMD_BUSY,
				"durable: there are %u durable streams, the maximum is %" PRIu64
				" (durable_streams): read one to its end or cancel one",
				n_all, max);
	if (principal->role != LMI_SVC_ROLE_ADMIN && n >= most)
		return lmd_fail(err, LMD_BUSY,
				"durable: you have %u durable streams, the maximum of a user is %" PRIu64
				": read one to its end or cancel one",
				n, most);
	if (svc->n_durable >= max)
		make_place(svc);
	return LMD_OK;
}

static enum lmd_status check_bytes(const struct lmi_svc_durable *d, struct lmd_error *err)
{
	const struct lmi_service *svc = d->svc;
	uint64_t max = svc->limits.durable_bytes, most = share(svc, max), n = 0;

	if (svc->durable_bytes > max)
		return lmd_fail(err, LMD_BUSY,
				"durable: the files of durable streams would have %" PRIu64
				" bytes, the maximum is %" PRIu64 " (durable_bytes)",
				svc->durable_bytes, max);
	if (!d->has_share || svc->durable_bytes <= most)
		return LMD_OK;
	for (const struct lmi_svc_durable *o = svc->durables; o; o = o->next)
		n += lmi_svc_owner_same(&o->owner, &d->owner) ? o->bytes : 0;
	return n <= most ? LMD_OK
			 : lmd_fail(err, LMD_BUSY,
				    "durable: your durable streams would have %" PRIu64
				    " bytes, the maximum of a user is %" PRIu64,
				    n, most);
}

/* ---- the generation ---- */

enum lmd_status lmi_svc_durable_begin(struct lmi_svc_generation *g,
				      const struct lmi_svc_model_record *record,
				      struct lmd_error *err)
{
	const struct lmi_svc_principal *p = &g->request.principal;
	struct lmi_svc_journal_record r = {.kind = LMI_SVC_JOURNAL_HEAD};
	struct lmi_service *svc = g->request.svc;
	const struct lmi_svc_push *push = g->writer.stream->push;
	struct lmi_svc_durable *d;
	enum lmd_status st;

	if (!*record->m.v[0].digest)
		return lmd_fail(err, LMD_INVALID,
				"durable: %s is a file, only models of the registry are found again: add it "
				"with llamactl add",
				record->m.v[0].name);
	d = lmi_svc_durable_create(g->writer.stream, svc, p);
	if (!d)
		return lmd_fail(err, LMD_NOMEM, "no memory for a durable stream");
	d->generation = g;
	g->durable = d;
	(void)snprintf(d->digest, sizeof(d->digest), "%s", record->m.v[0].digest);
	memcpy(r.u.head.id, d->stream->id, sizeof(r.u.head.id));
	r.u.head.principal = *p;
	r.u.head.seed = g->seed;
	r.u.head.key = lmi_svc_str(lmi_svc_quota_key(svc, p));
	r.u.head.digest = lmi_svc_str(d->digest);
	r.u.head.request = (struct lmd_str){(const char *)g->request.bytes.p, g->request.bytes.n};
	r.u.head.note = lmi_svc_str("");
	if (push && push->n_note)
		r.u.head.note = (struct lmd_str){push->note, push->n_note};
	st = lmi_svc_durable_put(d, &r, err);
	if (st == LMD_OK)
		st = check_bytes(d, err);
	if (st == LMD_OK)
		lmi_svc_durable_submit(d);
	return st;
}

enum lmd_status lmi_svc_durable_check_model(const struct lmi_svc_durable *d,
					    const struct lmi_svc_model_record *record,
					    struct lmd_error *err)
{
	const struct lmi_store_model *m = &record->m.v[0];

	if (!strcmp(m->digest, d->digest))
		return LMD_OK;
	return lmd_fail(err, LMD_NOTFOUND,
			"durable: the stream was begun with the model sha256:%s, but %s is now "
			"sha256:%s",
			d->digest, m->name, m->digest);
}

enum lmd_status lmi_svc_durable_start(struct lmi_svc_generation *g, struct lmd_error *err)
{
	struct lmi_wire_req_generate *q = &g->request.message.u.generate;
	const struct lmi_service_limits *l = &g->request.svc->limits;
	struct lmi_svc_journal_record r = {.kind = LMI_SVC_JOURNAL_START};
	double sampling[LMI_SAMPLER_N_SCALAR];
	struct lmi_svc_durable *d = g->durable;
	struct lmi_sampler_params defaults;
	struct lmi_wire_buf request = {0};
	enum lmd_status st;

	lmi_svc_preset_sampling(g->loaded, &q->model, &defaults);
	for (uint32_t i = 0; i < LMI_SAMPLER_N_SCALAR; i++)
		sampling[i] = lmi_sampler_scalar_get(&defaults, i);
	if (!q->has_n) { /* the default may change */
		q->has_n = true;
		q->n = (int64_t)(l->output_default < l->output_max ? l->output_default
								   : l->output_max);
	}
	st = lmi_wire_request_encode(&request, &g->request.message, err);
	r.u.start = (struct lmi_svc_journal_start){
		.request = {(const char *)request.p, request.n},
		.adapter = lmi_svc_str(g->adapter ? g->adapter_waiter.choice.text : ""),
		.tools = g->answer_format.tools,
		.thinks = g->answer_format.thinks,
		.sampling = sampling,
		.n_sampling = LMI_SAMPLER_N_SCALAR,
		.tokens = g->tokens.id,
		.n_tokens = (uint32_t)g->n_encoded};
	if (q->parse && g->answer_format.format)
		r.u.start.format = lmi_svc_str(lmi_answer_format_name(g->answer_format.format));
	if (st == LMD_OK)
		st = lmi_svc_durable_put(d, &r, err);
	if (st == LMD_OK)
		st = check_bytes(d, err);
	if (st == LMD_OK)
		st = lmi_svc_durable_take_start(d, &r.u.start, err);
	lmi_wire_buf_fini(&request);
	return st;
}

/* Compares an event with what was recorded before the daemon ended.  Returns true if it was. */
static bool is_known(struct lmi_svc_durable *d, uint64_t now, const struct lmi_engine_event *ev)
{
	struct lmd_error err;

	if (ev->kind == LMI_ENGINE_EV_TEXT)
		return d->again_text && d->again_text--;
	if (!d->again) {
		d->again_text = 0;
		return false;
	}
	d->again = false;
	if (ev->u.text.token == d->again_token)
		return true;
	(void)lmd_fail(&err, LMD_INTERNAL,
		       "durable: the answer cannot go on: token %zu was %d, and is now computed as %d",
		       d->taken.n, d->again_token, ev->u.text.token);
	lmi_svc_durable_fail(d, now, &err);
	return true;
}

void lmi_svc_durable_event(struct lmi_svc_generation *g, uint64_t now,
			   const struct lmi_engine_event *ev)
{
	bool only_text = ev->kind == LMI_ENGINE_EV_TEXT;
	const struct lmi_svc_journal_record r = {
		.kind = only_text ? LMI_SVC_JOURNAL_TEXT : LMI_SVC_JOURNAL_TOKEN,
		.u.token = {.token = ev->u.text.token,
			    .n_logprobs = only_text ? 0 : g->n_logprobs,
			    .logprobs = {(const char *)g->logprobs.p, only_text ? 0 : g->logprobs.n},
			    .text = {ev->u.text.bytes, ev->u.text.n}}};
	struct lmi_svc_durable *d = g->durable;
	struct lmd_error err = {0};

	if (d->ending || d->failed || is_known(d, now, ev))
		return;
	if (d->records.n > WAITING_MAX)
		(void)lmd_fail(&err, LMD_BUSY,
			       "durable: the disk of the state folder is too slow: %zu bytes wait to be "
			       "written",
			       d->records.n);
	else if (lmi_svc_durable_put(d, &r, &err) == LMD_OK)
		(void)check_bytes(d, &err);
	if (err.status != LMD_OK)
		lmi_svc_durable_fail(d, now, &err);
}

/* ---- the end ---- */

/* Lets the clients ask again after the next start. */
static void suspend(struct lmi_svc_durable *d)
{
	struct lmi_svc_streams *t = &d->svc->streams;
	struct lmi_svc_waiting_reader *p;
	struct lmd_error err;

	d->suspended = true;
	d->stream->writer = NULL;
	(void)lmd_fail(&err, LMD_BUSY, LMI_SVC_DURABLE_SUSPENDED);
	while ((p = lmi_svc_stream_remove_reader(t, d->stream, 0))) {
		p->reply(p->arg, NULL, &err, LMI_SVC_DURABLE_RETRY_MS);
		lmi_free(p);
	}
	lmi_svc_push_fail(d->stream, &err, LMI_SVC_DURABLE_RETRY_MS);
}

bool lmi_svc_durable_end(struct lmi_svc_durable *d, uint64_t now, const struct lmi_svc_end *end)
{
	const struct lmi_svc_journal_record r = {.kind = LMI_SVC_JOURNAL_END, .u.end = *end};
	struct lmi_svc_stream *s = d->stream;
	struct lmd_error err;

	(void)now;
	if (d->ended || d->failed || s->given_up || (d->generation && d->generation->request.reply))
		return false;
	s->writer->stream = NULL;
	s->writer = &d->writer;
	d->writer.stream = s;
	if (d->svc->stopping && end->kind == LMI_SVC_END_DONE &&
	    end->why == LMI_WIRE_FINISH_SHUTDOWN) {
		suspend(d);
		return true;
	}
	d->ending = true;
	if (lmi_svc_durable_put(d, &r, &err) != LMD_OK) {
		lmi_svc_durable_fail(d, now, &err);
		return true;
	}
	lmi_svc_durable_submit(d);
	return true;
}

void lmi_svc_durable_set_read(struct lmi_svc_durable *d)
{
	const struct lmi_svc_journal_record r = {.kind = LMI_SVC_JOURNAL_READ};
	uint64_t lease_ns = d->svc->limits.lease_default * LMI_NS_PER_MS;
	struct lmi_svc_stream *s = d->stream;

	if (s->lease_ns > lease_ns)
		s->lease_ns = lease_ns;
	if (d->was_read || d->failed)
		return;
	d->was_read = true;
	d->closes |= d->ended; /* the record opens the file again */
	if (lmi_svc_durable_put(d, &r, NULL) == LMD_OK) /* otherwise it is kept until it is old */
		lmi_svc_durable_submit(d);
}

void lmi_svc_durable_leave(struct lmi_svc_generation *g)
{
	if (g->durable)
		g->durable->generation = NULL;
	g->durable = NULL;
}

void lmi_svc_durable_drop(struct lmi_svc_stream *s)
{
	struct lmi_svc_durable *d = s->durable;

	s->durable = NULL;
	d->stream = NULL;
	if (d->generation)
		d->generation->durable = NULL;
	d->generation = NULL;
	d->removes |= !d->svc->stopping || s->read_out || s->cancelled;
	lmi_svc_durable_submit(d);
}

/* ---- all of them ---- */

/* Returns until when tokens may wait to be written: no reader needs them before. A reader that is due takes what
 * was written before, so that there is one write for each reply. */
static uint64_t waits_until(const struct lmi_svc_durable *d)
{
	uint64_t most = d->submitted_ns + d->svc->limits.hold_default * LMI_NS_PER_MS, due;

	if (!d->stream || !d->generation || d->ending || d->failed || d->suspended || d->closes ||
	    !d->taken.n || d->records.n > WAITING_MAX / 4)
		return 0;
	due = lmi_svc_stream_wakeup_due(d->stream);
	return due < most ? due : most;
}

void lmi_svc_durables_tick(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_durable *next;

	for (struct lmi_svc_durable *d = svc->durables; d; d = next) {
		next = d->next;
		if (waits_until(d) <= now)
			lmi_svc_durable_submit(d);
	}
}

uint64_t lmi_svc_durables_deadline(const struct lmi_service *svc)
{
	uint64_t when = UINT64_MAX;

	for (const struct lmi_svc_durable *d = svc->durables; d; d = d->next) {
		uint64_t until = d->records.n && !d->job_runs ? waits_until(d) : 0;

		if (until > svc->now && until < when)
			when = until;
	}
	return when;
}

void lmi_svc_durables_check_keys(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_durable *next;

	for (struct lmi_svc_durable *d = svc->durables; d; d = next) {
		struct lmi_svc_principal p = {.uid = d->owner.uid};

		next = d->next;
		memcpy(p.key_label, d->owner.key_label, sizeof(p.key_label));
		if (*p.key_label && d->stream && !d->stream->given_up &&
		    !lmi_svc_quota_find(svc, &p))
			lmi_svc_stream_give_up(svc, d->stream, now, LMI_WIRE_CANCEL_REASON_GONE);
	}
}

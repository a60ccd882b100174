/* SPDX-License-Identifier: MIT
 *
 * The service as a whole: its life cycle, its connections and its ticks.
 *
 * State changes only in four calls, all on one thread: call, gone, tick, and the end of a job,
 * which is part of a tick.  After each of them, all readers that are due have been answered and all
 * generations that can run have been started. */
#include "service/service.h"

#include <poll.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "service/adapter_book.h"
#include "service/call.h"
#include "service/durable.h"
#include "service/event_ring.h"
#include "service/generate.h"
#include "service/generate_work.h"
#include "service/idempotency.h"
#include "service/model.h"
#include "service/names.h"
#include "service/prefix_tier.h"
#include "service/replay.h"
#include "service/preset_rows.h"
#include "service/quota.h"
#include "service/service_state.h"
#include "service/session_work.h"
#include "service/stream.h"
#include "service/stream_writer.h"

/* ---- connections ---- */

/* The connection of a stream has ended.  If the request was repeated on another one, moves the
 * stream to that and returns true.  Otherwise forgets the request id, since the stream will be given
 * up, and returns false. */
static bool move_stream(struct lmi_service *svc, struct lmi_svc_stream *s)
{
	const struct lmd_str text = lmi_svc_str(s->rid);
	struct lmi_svc_idempotency_key *key =
		text.len ? lmi_svc_idempotency_key_find(&svc->idempotency_keys, &s->owner, &text)
			 : NULL;

	if (!key)
		return false;
	for (const struct lmi_svc_call *c = key->waiters; c; c = c->next_wait) {
		if (c->request.principal.conn == s->conn)
			continue;
		s->conn = c->request.principal.conn;
		return true;
	}
	if (key->answered && !memcmp(key->reply.id, s->id, sizeof(s->id)))
		lmi_svc_idempotency_key_forget(&svc->idempotency_keys, key);
	return false;
}

void lmi_service_disconnected(struct lmi_service *svc, uint64_t now, uint64_t conn)
{
	struct lmi_svc_call *next_call;
	struct lmi_svc_stream *next;

	svc->now = now;
	for (struct lmi_svc_call *c = svc->calls; c; c = next_call) {
		next_call = c->next;
		if (c->request.principal.conn == conn)
			lmi_svc_call_drop(c);
	}
	for (struct lmi_svc_stream *s = svc->streams.first; s; s = next) {
		struct lmi_svc_waiting_reader *p;

		next = s->next;
		while ((p = lmi_svc_stream_remove_reader(&svc->streams, s, conn)))
			lmi_svc_waiting_reader_drop(p);
		if (s->conn == conn && !s->own_lease && !s->given_up &&
		    !move_stream(svc, s))
			lmi_svc_stream_give_up(svc, s, now, LMI_WIRE_CANCEL_REASON_GONE);
	}
	lmi_svc_generate_pump(svc, now);
}

bool lmi_service_has_running_stream(const struct lmi_service *svc, uint64_t conn)
{
	for (const struct lmi_svc_stream *s = svc->streams.first; s; s = s->next)
		if (s->conn == conn && s->writer)
			return true;
	return false;
}

/* ---- ticks ---- */

static void engines(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_loaded_model *next;
	struct lmd_error lost;
	bool used;

	for (struct lmi_svc_loaded_model *r = svc->loaded_models; r; r = next) {
		next = r->next;
		if (r->state != LMI_SVC_MODEL_READY && r->state != LMI_SVC_MODEL_DRAINING)
			continue;
		if (svc->o.in_line)
			(void)lmi_engine_step(r->engine);
		used = r->n_user > 0;
		lmi_svc_loaded_model_ref(r); /* keeps r alive if its last user leaves */
		lmi_svc_generate_events(svc, now, r);
		lmi_svc_adapter_slots_tick(r, now);
		if (lmi_engine_is_broken(r->engine, &lost))
			lmi_svc_model_lost(svc, r, &lost);
		lmi_svc_loaded_model_unref(r, used ? now : r->idle_ns);
	}
	lmi_svc_models_check_devices(svc);
}

static void streams(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_stream *next;

	for (struct lmi_svc_stream *s = svc->streams.first; s; s = next) {
		next = s->next;
		lmi_svc_stream_pump(svc, s, now);
		if (!lmi_svc_stream_lease_expired(s, now))
			continue;
		if (s->writer) {
			/* the stream stays for another lease, so that a late reader gets the
			 * reason */
			s->touched_ns = now;
			s->writer->cancel(s->writer, now, LMI_WIRE_CANCEL_REASON_LEASE);
		} else {
			lmi_svc_stream_give_up(svc, s, now, LMI_WIRE_CANCEL_REASON_LEASE);
		}
	}
}

void lmi_service_tick(struct lmi_service *svc, uint64_t now)
{
	svc->now = now;
	(void)lmi_mailbox_drain(svc->o.mailbox);
	engines(svc, now);
	lmi_svc_session_tick(svc, now);
	lmi_svc_prefix_tier_tick(svc, now);
	lmi_svc_generate_tick(svc, now);
	lmi_svc_generate_pump(svc, now);
	lmi_svc_models_tick(svc, now);
	streams(svc, now);
	lmi_svc_generate_defer_wakeups(svc, now);
	lmi_svc_idempotency_keys_expire(&svc->idempotency_keys, now);
	lmi_svc_usage_tick(svc, now);
	lmi_svc_users_tick(svc, now);
	lmi_svc_durables_tick(svc, now);
	lmi_svc_event_ring_tick(svc, now);
}

uint64_t lmi_service_deadline(const struct lmi_service *svc)
{
	uint64_t when = lmi_svc_generate_deadline(svc), end = lmi_svc_models_deadline(svc);

	when = end < when ? end : when;
	if (svc->session_work && !svc->session_runs)
		return svc->now;
	end = lmi_svc_prefix_tier_deadline(svc);
	when = end < when ? end : when;
	end = lmi_svc_usage_deadline(svc);
	when = end < when ? end : when;
	end = lmi_svc_event_ring_deadline(svc);
	when = end < when ? end : when;
	end = lmi_svc_durables_deadline(svc);
	when = end < when ? end : when;
	for (const struct lmi_svc_stream *s = svc->streams.first; s; s = s->next) {
		end = lmi_svc_stream_deadline(s);
		when = end < when ? end : when;
	}
	return when;
}

/* ---- life ---- */

/* A store that turns out to be corrupt heals at the next call: llamad starts without presets. */
static enum lmd_status read_preset_rows(struct lmi_service *svc, struct lmd_error *err)
{
	enum lmd_status st = lmi_svc_preset_rows_read(&svc->preset_rows, svc, err);

	return st == LMD_NOMEM ? st : LMD_OK;
}

/* The Modelfile of the file that an embedded service has by name. */
static enum lmd_status read_modelfile(struct lmi_service *svc, struct lmd_error *err)
{
	const struct lmi_service_named_file *f = svc->o.named_file;

	return f && f->modelfile ? lmi_svc_preset_row_create(&svc->preset_rows, f->name, f->modelfile,
							     strlen(f->modelfile), err)
				 : LMD_OK;
}

/* The keys of a corrupt store are not known either: they heal together. */
static enum lmd_status read_quotas(struct lmi_service *svc, struct lmd_error *err)
{
	struct lmi_svc_key_usage u = {0};
	enum lmd_status st = lmi_svc_key_usage_read(&u, svc, err);

	if (st == LMD_OK)
		st = lmi_svc_quotas_set(svc, &u, true, err);
	lmi_svc_key_usage_fini(&u);
	return st == LMD_CORRUPT ? LMD_OK : st;
}

enum lmd_status lmi_service_create(struct lmi_service **out, const struct lmi_service_opts *opts,
				   struct lmd_error *err)
{
	enum lmd_status st = lmi_service_limits_check(&opts->limits, err);
	struct lmi_service *svc;

	if (st != LMD_OK)
		return st;
	svc = lmi_alloc(1, sizeof(*svc));
	if (!svc)
		return lmd_fail(err, LMD_NOMEM, "no memory for a service");
	svc->o = *opts;
	svc->limits = opts->limits;
	if (opts->hooks)
		svc->hooks = *opts->hooks;
	svc->start_ns = svc->now = opts->host->now_ns(opts->host->ctx);
	svc->mean_ns = 1000 * LMI_NS_PER_MS;
	st = lmi_svc_random(svc->boot.b, sizeof(svc->boot.b), err);
	if (st == LMD_OK)
		st = lmi_svc_streams_init(&svc->streams, err);
	if (st == LMD_OK)
		st = lmi_svc_idempotency_keys_init(&svc->idempotency_keys,
						   (uint32_t)svc->limits.rids,
						   svc->limits.rid_ms * LMI_NS_PER_MS, err);
	if (st == LMD_OK && opts->store)
		st = read_preset_rows(svc, err);
	if (st == LMD_OK)
		st = read_modelfile(svc, err);
	if (st == LMD_OK && opts->store)
		st = read_quotas(svc, err);
	if (st == LMD_OK && opts->store)
		st = lmi_svc_prefix_tier_create(svc, err);
	if (st != LMD_OK) {
		lmi_svc_quotas_fini(svc);
		lmi_svc_idempotency_keys_fini(&svc->idempotency_keys);
		lmi_svc_streams_fini(&svc->streams);
		lmi_free(svc);
		return st;
	}
	lmi_svc_sessions_clean(svc);
	if (svc->o.journals)
		lmi_svc_durables_recover(svc, svc->now);
	*out = svc;
	return LMD_OK;
}

void lmi_service_set_presets(struct lmi_service *svc, const struct lmi_svc_preset *presets,
			     uint32_t n)
{
	svc->o.presets = presets;
	svc->o.n_presets = n;
}

void lmi_service_set_engine(struct lmi_service *svc, const struct lmi_engine_model_opts *inst,
			    bool share_prefixes, uint32_t draft_max)
{
	struct lmi_engine_devices *devices = svc->o.inst.devices;

	svc->o.inst = *inst;
	svc->o.inst.devices = devices;
	svc->o.share_prefixes = share_prefixes;
	svc->o.draft_max = draft_max;
}

enum lmd_status lmi_service_set_limits(struct lmi_service *svc,
				       const struct lmi_service_limits *limits,
				       struct lmd_error *err)
{
	enum lmd_status st = lmi_service_limits_check(limits, err);

	if (st != LMD_OK)
		return st;
	svc->limits = *limits;
	lmi_svc_prefix_tier_set_limit(svc);
	lmi_svc_replay_set_limits(svc);
	svc->idempotency_keys.n_max = (uint32_t)limits->rids;
	svc->idempotency_keys.age_ns = limits->rid_ms * LMI_NS_PER_MS;
	return LMD_OK;
}

bool lmi_service_is_idle(const struct lmi_service *svc)
{
	for (const struct lmi_svc_stream *s = svc->streams.first; s; s = s->next)
		if (!s->durable && (s->writer || !s->read_out))
			return false;
	for (const struct lmi_svc_generation *g = svc->generations; g; g = g->next)
		if (!g->durable)
			return false;
	return svc->held.n_call == lmi_svc_event_ring_n_waiting(svc) && !svc->session_work &&
	       !lmi_svc_prefix_tier_is_busy(svc);
}

void lmi_service_stop(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_stream *next;

	svc->now = now;
	svc->closed = true;
	svc->stopping = true;
	for (struct lmi_svc_call *c = svc->calls; c; c = c->next)
		lmi_svc_call_cancel(c);
	for (struct lmi_svc_stream *s = svc->streams.first; s; s = next) {
		next = s->next;
		if (s->writer)
			s->writer->cancel(s->writer, now, LMI_SVC_CANCEL_SHUTDOWN);
	}
	lmi_svc_prefix_tier_stop(svc, now);
}

/* Waits for all jobs and engines to end. */
static void drain(struct lmi_service *svc)
{
	while (svc->n_job || svc->generations || svc->loaded_models || svc->calls ||
	       svc->session_work || svc->durables || lmi_svc_prefix_tier_is_busy(svc)) {
		struct pollfd p = {.fd = lmi_mailbox_fd(svc->o.mailbox), .events = POLLIN};

		lmi_service_tick(svc, svc->now);
		if (lmi_jobs_run_one(svc->o.registry) || lmi_jobs_run_one(svc->o.io) ||
		    lmi_jobs_run_one(svc->o.work) ||
		    (svc->o.journals && lmi_jobs_run_one(svc->o.journals)))
			continue;
		lmi_svc_models_fini(svc);
		(void)poll(&p, 1, 1);
	}
}

void lmi_service_destroy(struct lmi_service *svc)
{
	struct lmi_svc_call *next_call;
	struct lmi_svc_stream *next;

	if (!svc)
		return;
	lmi_service_stop(svc, svc->now);
	for (struct lmi_svc_call *c = svc->calls; c; c = next_call) {
		next_call = c->next;
		lmi_svc_call_drop(c);
	}
	for (struct lmi_svc_stream *s = svc->streams.first; s; s = next) {
		next = s->next;
		lmi_svc_stream_give_up(svc, s, svc->now, LMI_SVC_CANCEL_SHUTDOWN);
	}
	drain(svc);
	lmi_svc_usage_flush(svc, svc->now);
	drain(svc);
	lmi_svc_prefix_tier_destroy(svc);
	lmi_svc_usage_fini(svc);
	lmi_svc_quotas_fini(svc);
	lmi_svc_streams_fini(&svc->streams);
	lmi_svc_idempotency_keys_fini(&svc->idempotency_keys);
	lmi_svc_names_clear(svc);
	lmi_svc_preset_rows_replace(svc, NULL);
	lmi_svc_adapter_books_fini(svc);
	lmi_svc_users_fini(svc);
	lmi_svc_event_ring_fini(svc);
	lmi_svc_replay_fini(svc);
	lmi_free(svc);
}

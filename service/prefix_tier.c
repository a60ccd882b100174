/* SPDX-License-Identifier: MIT
 *
 * The queues of the tiers.
 *
 * Only whole pages are kept, and states after a whole page. A save goes forward in pieces, each of
 * which begins after the longest prefix that could be restored. */
#include "service/prefix_tier.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "service/loaded_model.h"
#include "service/prefix_tier_impl.h"
#include "service/service_state.h"

/* The low 16 bits of a generation's command are its slot; none has this one. */
#define NO_SLOT 0xffffu
/* Pages of a prefix that are kept; the hashes of more would take too long. */
#define PAGES_MAX 4096u
/* Bytes that a save copies at a time, and that a restore may take in all. */
#define SAVE_BYTES    (64u << 20)
#define RESTORE_BYTES (1ull << 30)
/* Saves that may wait. */
#define SAVES_MAX 64u
/* Fewer tokens that the tiers do not have are computed again, unless others share their prefix. */
#define SAVE_TOKENS 256u
/* How long computing a token takes before it has been measured. */
#define NS_PER_TOKEN 1000000u
/* Saves leave out a disk that has failed for so long: otherwise each prompt would be copied from its device
 * again, because the disk does not have it. */
#define DISK_PAUSE_S 60u

static struct lmi_svc_prefix_work **queue_of(const struct lmi_svc_prefix_work *w)
{
	struct lmi_svc_prefix_tier *t = w->svc->prefix_tier;

	return w->saves ? &t->saves : &t->restores;
}

static void free_work(struct lmi_svc_prefix_work *w)
{
	lmi_engine_saved_destroy(w->saved);
	lmi_free(w->tokens);
	lmi_free(w->chain);
	lmi_free(w);
}

static void end(struct lmi_svc_prefix_work *w, uint64_t now);

static void forget_run(void *arg)
{
	const struct lmi_svc_prefix_work *w = arg;

	lmi_svc_prefix_tier_forget_files(w->svc, w->tenant);
}

static void forget_done(void *arg)
{
	struct lmi_svc_prefix_work *w = arg;

	w->svc->n_job--;
	end(w, w->svc->now);
}

/* Removes what was saved of a tenant that was removed meanwhile; false: it is done already. */
static bool submit_forget(struct lmi_svc_prefix_work *w)
{
	struct lmd_error err;

	w->forgotten = false;
	w->job = (struct lmi_job){.run = forget_run, .done = forget_done, .arg = w};
	if (lmi_jobs_submit(w->svc->o.io, &w->job, &err) == LMD_OK) {
		w->svc->n_job++;
		return true;
	}
	forget_run(w); /* the queue is full, or the daemon ends */
	return false;
}

/* Ends the first one of its queue; the next tick begins the next one. */
static void end(struct lmi_svc_prefix_work *w, uint64_t now)
{
	struct lmi_service *svc = w->svc;

	if (w->forgotten && submit_forget(w))
		return;
	if (w->err.status != LMD_OK && w->err.status != LMD_NOTFOUND &&
	    w->err.status != LMD_CANCELLED)
		svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_INFO,
				 "a prefix of %u tokens was not %s: %s", w->n_page * w->page_tokens,
				 w->saves ? "saved" : "restored", w->err.text);
	*queue_of(w) = w->next;
	svc->prefix_tier->n_save -= w->saves;
	lmi_svc_adapter_slots_give(w->loaded, w->adapter);
	lmi_svc_loaded_model_unref(w->loaded, now);
	if (w->done)
		w->done(w->arg, now);
	free_work(w);
}

static void update_rate(uint64_t *ns_per_mib, uint64_t ns, uint64_t bytes)
{
	uint64_t rate = ns * (1u << 20) / (bytes + 1);

	*ns_per_mib = *ns_per_mib ? (3 * *ns_per_mib + rate) / 4 : rate;
}

static uint64_t ns_per_token(const struct lmi_svc_loaded_model *r)
{
	return r->ns_per_token ? r->ns_per_token : NS_PER_TOKEN;
}

/* Returns how long copying so many bytes between device and host takes the engine. */
static uint64_t copy_ns(const struct lmi_svc_loaded_model *r, uint64_t bytes)
{
	return (bytes >> 20) * r->copy_ns_per_mib;
}

/* ---- restores ---- */

static void restore_rows(struct lmi_svc_prefix_work *w, uint64_t now)
{
	const struct lmi_engine_restore cmd = {.id = ++w->svc->serial << 16 | NO_SLOT,
					       .tenant = w->tenant,
					       .adapter = w->adapter,
					       .n_skip = w->n_skip * w->page_tokens};
	struct lmi_svc_prefix_tier *t = w->svc->prefix_tier;
	struct lmi_engine_saved *saved = w->saved;

	if (w->n_disk_bytes)
		update_rate(&t->ns_per_mib, now - w->begun_ns, w->n_disk_bytes);
	w->saved = NULL;
	w->command = cmd.id;
	w->err.status = lmi_engine_restore(w->loaded->engine, &cmd, saved, &w->err);
	if (w->err.status != LMD_OK) {
		w->command = 0;
		end(w, now);
	}
}

/* ---- saves ---- */

/* Asks the engine for the next piece, or ends. */
static void save_piece(struct lmi_svc_prefix_work *w, uint64_t now)
{
	const struct lmi_engine *e = w->loaded->engine;
	uint64_t page = lmi_engine_saved_bytes(e, w->page_tokens) + 1;
	uint64_t most = SAVE_BYTES / page ? SAVE_BYTES / page : 1;
	struct lmi_engine_save cmd = {.id = ++w->svc->serial << 16 | NO_SLOT,
				      .tokens = w->tokens,
				      .tenant = w->tenant,
				      .adapter = w->adapter,
				      .max_bytes = UINT64_MAX,
				      .whole_pages = true};

	if (w->n_end <= w->n_skip) /* otherwise it had no state, and more is asked for */
		w->n_end = w->n_page - w->n_skip > most ? w->n_skip + (uint32_t)most : w->n_page;
	if (w->n_skip >= w->n_page || (w->n_end - w->n_skip) * page > RESTORE_BYTES) {
		end(w, now);
		return;
	}
	cmd.n_skip = w->n_skip * w->page_tokens;
	cmd.n_tokens = w->n_end * w->page_tokens;
	w->command = cmd.id;
	w->err.status = lmi_engine_save(w->loaded->engine, &cmd, &w->err);
	if (w->err.status != LMD_OK) {
		w->command = 0;
		end(w, now);
	}
}

static void piece_written(struct lmi_svc_prefix_work *w, uint64_t now)
{
	uint32_t n = w->saved->n_token / w->page_tokens;

	lmi_engine_saved_destroy(w->saved);
	w->saved = NULL;
	if (n > w->n_skip)
		w->n_skip = w->n_end = n;
	else if (w->n_end < w->n_page) /* no state in this piece */
		w->n_end = w->n_page;
	else
		w->n_skip = w->n_page;
	save_piece(w, now);
}

/* ---- both ---- */

static void pause_disk(struct lmi_svc_prefix_work *w, uint64_t now)
{
	struct lmi_service *svc = w->svc;

	svc->prefix_tier->disk_paused_until = now + DISK_PAUSE_S * 1000000000ull;
	svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_WARN,
			 "prefixes are not saved on the disk for %u s: %s", DISK_PAUSE_S,
			 w->disk_err.text);
	w->disk_err.status = LMD_OK;
}

static void job_done(void *arg)
{
	struct lmi_svc_prefix_work *w = arg;
	struct lmi_service *svc = w->svc;

	svc->n_job--;
	w->job_runs = false;
	if (w->disk_err.status != LMD_OK && w->disk_err.status != LMD_CANCELLED)
		pause_disk(w, svc->now);
	if (lmi_cancel_is_set(&w->job.cancel) && w->err.status == LMD_OK)
		w->err.status = LMD_CANCELLED; /* it may not have run */
	if (w->err.status != LMD_OK)
		end(w, svc->now);
	else if (w->saves)
		piece_written(w, svc->now);
	else
		restore_rows(w, svc->now);
}

static void submit_job(struct lmi_svc_prefix_work *w, uint64_t now)
{
	struct lmd_error err;

	w->job = (struct lmi_job){.run = lmi_svc_prefix_run, .done = job_done, .arg = w};
	w->job_runs = true; /* from here on w->err belongs to the job */
	/* copies between places in memory do not wait for a disk */
	if (lmi_jobs_submit(!w->saves && !w->n_disk_bytes ? w->svc->o.work : w->svc->o.io, &w->job,
			    &err) == LMD_OK) {
		w->svc->n_job++;
		return;
	}
	w->job_runs = false;
	w->err = err;
	end(w, now);
}

/* Bringing the rows back takes longer than computing them. */
static void count_timeout(struct lmi_svc_prefix_work *w)
{
	struct lmi_svc_prefix_tier_stats *s = &w->svc->prefix_tier->stats;

	s->n_timed_out++;
	if (w->n_bytes || lmi_svc_prefix_count_bytes(w)) /* it may not have begun */
		s->n_timed_out_memory += !w->n_disk_bytes;
}

/* The KV pool has n_token of the tokens: is reading the others worth it? */
static void found(struct lmi_svc_prefix_work *w, uint64_t now, uint32_t n_token)
{
	const struct lmi_svc_prefix_tier *t = w->svc->prefix_tier;
	uint32_t n = w->n_end * w->page_tokens;
	uint64_t cost;

	w->n_skip = n_token / w->page_tokens;
	if (n_token >= n || !lmi_svc_prefix_count_bytes(w)) {
		end(w, now);
		return;
	}
	cost = (n - n_token) * ns_per_token(w->loaded);
	if (now + cost < w->deadline_ns)
		w->deadline_ns = now + cost;
	if (w->n_bytes > RESTORE_BYTES ||
	    (w->n_disk_bytes >> 20) * t->ns_per_mib + copy_ns(w->loaded, w->n_bytes) > cost) {
		count_timeout(w);
		end(w, now);
		return;
	}
	w->begun_ns = now;
	submit_job(w, now);
}

static void begin(struct lmi_svc_prefix_work *w, uint64_t now)
{
	struct lmi_engine_save cmd = {.id = ++w->svc->serial << 16 | NO_SLOT,
				      .tokens = w->tokens,
				      .n_tokens = w->n_end * w->page_tokens,
				      .tenant = w->tenant,
				      .adapter = w->adapter};

	w->begun = true;
	if (w->saves) {
		w->on_disk = w->on_disk && now >= w->svc->prefix_tier->disk_paused_until;
		if (!w->on_disk && !w->in_memory) {
			end(w, now);
			return;
		}
		/* what was queued before may have saved it */
		w->n_skip = w->n_end = lmi_svc_prefix_n_kept(w, w->n_page);
		save_piece(w, now);
		return;
	}
	if (!w->done) {
		end(w, now);
		return;
	}
	w->finds = true;
	w->command = cmd.id;
	w->err.status = lmi_engine_find(w->loaded->engine, &cmd, &w->err);
	if (w->err.status != LMD_OK) {
		w->command = 0;
		end(w, now);
	}
}

bool lmi_svc_prefix_tier_event(struct lmi_service *svc, uint64_t now, struct lmi_engine_event *ev)
{
	struct lmi_svc_prefix_tier *t = svc->prefix_tier;
	struct lmi_svc_prefix_work *w = NULL;

	if (t && t->restores && t->restores->command == ev->id)
		w = t->restores;
	else if (t && t->saves && t->saves->command == ev->id)
		w = t->saves;
	if (!w)
		return false;
	w->command = 0;
	if (ev->kind == LMI_ENGINE_EV_FAILED)
		w->err = ev->u.error;
	else if (ev->kind != LMI_ENGINE_EV_MOVED)
		w->err.status = LMD_CANCELLED; /* the engine is being stopped */
	if (ev->kind == LMI_ENGINE_EV_MOVED && ev->u.moved.n_copied)
		update_rate(&w->loaded->copy_ns_per_mib, ev->u.moved.ns, ev->u.moved.n_copied);
	if (w->err.status == LMD_OK && w->saves) {
		w->saved = ev->u.moved.saved;
		ev->u.moved.saved = NULL;
		submit_job(w, now);
	} else if (w->err.status == LMD_OK && w->finds && w->done) {
		w->finds = false;
		found(w, now, ev->u.moved.n_token);
	} else {
		if (w->err.status == LMD_OK && !w->finds) {
			uint64_t n = w->n_end - w->n_skip;

			t->stats.n_restored += n * w->page_tokens;
			t->stats.n_restored_memory += (n - w->n_disk_page) * w->page_tokens;
		}
		end(w, now);
	}
	return true;
}

/* ---- the queues ---- */

/* Returns how many of n pages of a text, with the state after them, memory has room for. */
static uint32_t n_fit(const struct lmi_svc_prefix_work *w, uint32_t n)
{
	uint64_t most = w->svc->limits.prefix_memory_bytes, bytes;

	while (n && (bytes = lmi_engine_saved_bytes(w->loaded->engine, n * w->page_tokens)) > most) {
		uint32_t fewer = (uint32_t)((double)n * (double)most / (double)bytes);

		n = fewer < n - 1 ? fewer : n - 1;
	}
	return n;
}

/* A text that is larger than memory would push itself out, and be copied again each time: without the disk, its
 * beginning is kept, and with it nothing in memory. */
static void fit_memory(struct lmi_svc_prefix_work *w)
{
	uint32_t n = w->in_memory ? n_fit(w, w->n_page) : w->n_page;

	if (w->on_disk)
		w->in_memory = w->in_memory && n == w->n_page;
	else
		w->n_page = n;
}

/* Creates work with its chain; NULL: no whole page, no prefix cache, or no memory. */
static struct lmi_svc_prefix_work *create(struct lmi_service *svc,
					  const struct lmi_svc_prefix_rows *r, bool saves)
{
	struct lmi_engine_saved_layout layout;
	struct lmi_svc_prefix_work *w;
	size_t n;

	if (!lmi_svc_prefix_tier_is_on(svc) || svc->stopping ||
	    lmi_engine_saved_layout(r->loaded->engine, &layout, NULL) != LMD_OK ||
	    r->n_tokens < layout.page_tokens || !(w = lmi_alloc(1, sizeof(*w))))
		return NULL;
	w->svc = svc;
	w->loaded = r->loaded;
	w->saves = saves;
	w->in_memory = svc->limits.prefix_memory_bytes && lmi_engine_rows_on_device(r->loaded->engine);
	w->on_disk = lmi_svc_prefix_disk_is_on(svc) &&
		     (!saves || svc->now >= svc->prefix_tier->disk_paused_until);
	w->tenant = r->tenant;
	w->adapter = r->adapter;
	w->page_tokens = layout.page_tokens;
	w->n_page = r->n_tokens / layout.page_tokens;
	w->n_page = w->n_page < PAGES_MAX ? w->n_page : PAGES_MAX;
	if (saves)
		fit_memory(w);
	n = (size_t)w->n_page * w->page_tokens;
	w->tokens = n ? lmi_alloc(n, sizeof(*w->tokens)) : NULL;
	w->chain = n ? lmi_alloc(w->n_page, sizeof(*w->chain)) : NULL;
	if (w->tokens && w->chain && (w->in_memory || w->on_disk)) {
		memcpy(w->tokens, r->tokens, n * sizeof(*w->tokens));
		if (lmi_svc_prefix_make_chain(w))
			return w;
	}
	free_work(w);
	return NULL;
}

static void queue(struct lmi_svc_prefix_work *w)
{
	struct lmi_svc_prefix_work **p = queue_of(w);

	while (*p)
		p = &(*p)->next;
	*p = w;
	lmi_svc_loaded_model_ref(w->loaded);
	lmi_svc_adapter_slots_hold(w->loaded, w->adapter);
}

struct lmi_svc_prefix_work *lmi_svc_prefix_tier_restore(struct lmi_service *svc, uint64_t now,
							const struct lmi_svc_prefix_rows *rows,
							lmi_svc_prefix_done_fn done, void *arg)
{
	struct lmi_svc_prefix_work *w = create(svc, rows, false);

	if (!w)
		return NULL;
	w->n_end = lmi_svc_prefix_n_kept(w, w->n_page);
	if (!w->n_end) {
		free_work(w);
		return NULL;
	}
	w->done = done;
	w->arg = arg;
	w->deadline_ns = now + (uint64_t)w->n_end * w->page_tokens * ns_per_token(w->loaded);
	queue(w);
	return w;
}

void lmi_svc_prefix_tier_leave(struct lmi_svc_prefix_work *w)
{
	w->done = NULL;
	if (w->job_runs)
		lmi_jobs_cancel(&w->job);
}

void lmi_svc_prefix_tier_save(struct lmi_service *svc, const struct lmi_svc_prefix_rows *rows,
			      bool shared)
{
	struct lmi_svc_prefix_tier *t = svc->prefix_tier;
	struct lmi_svc_prefix_work *w = create(svc, rows, true);
	bool is_costly;
	uint64_t bytes;
	uint32_t n;

	if (!w)
		return;
	n = w->n_page - lmi_svc_prefix_n_kept(w, w->n_page);
	bytes = n * lmi_engine_saved_bytes(w->loaded->engine, w->page_tokens);
	is_costly = 2 * copy_ns(w->loaded, bytes) > n * w->page_tokens * ns_per_token(w->loaded);
	t->stats.n_costly += is_costly;
	if (t->n_save >= SAVES_MAX)
		t->stats.n_dropped++;
	if (t->n_save >= SAVES_MAX || !n || is_costly || (!shared && n * w->page_tokens < SAVE_TOKENS)) {
		free_work(w);
		return;
	}
	t->n_save++;
	queue(w);
}

void lmi_svc_prefix_tier_measure(struct lmi_svc_loaded_model *r, uint64_t n_row, uint64_t ns)
{
	uint64_t v = n_row ? ns / n_row : 0;

	if (n_row >= 32 && v) /* a few rows take as long as one */
		r->ns_per_token = r->ns_per_token ? (3 * r->ns_per_token + v) / 4 : v;
}

void lmi_svc_prefix_tier_tick(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_prefix_tier *t = svc->prefix_tier;
	struct lmi_svc_prefix_work *next;

	for (struct lmi_svc_prefix_work *w = t ? t->restores : NULL; w; w = next) {
		lmi_svc_prefix_done_fn done = w->done;

		next = w->next;
		if (!done || w->deadline_ns > now)
			continue;
		count_timeout(w);
		lmi_svc_prefix_tier_leave(w);
		done(w->arg, now);
	}
	while (t && t->restores && !t->restores->begun)
		begin(t->restores, now);
	while (t && t->saves && !t->saves->begun)
		begin(t->saves, now);
}

uint64_t lmi_svc_prefix_tier_deadline(const struct lmi_service *svc)
{
	const struct lmi_svc_prefix_tier *t = svc->prefix_tier;
	uint64_t when = UINT64_MAX;

	if (t && ((t->restores && !t->restores->begun) || (t->saves && !t->saves->begun)))
		return svc->now;
	for (const struct lmi_svc_prefix_work *w = t ? t->restores : NULL; w; w = w->next)
		when = w->done && w->deadline_ns < when ? w->deadline_ns : when;
	return when;
}

/* Drops a save that is not the first one of its queue. */
static void drop(struct lmi_svc_prefix_work **at, uint64_t now)
{
	struct lmi_svc_prefix_work *w = *at;

	*at = w->next;
	w->svc->prefix_tier->n_save--;
	lmi_svc_adapter_slots_give(w->loaded, w->adapter);
	lmi_svc_loaded_model_unref(w->loaded, now);
	free_work(w);
}

/* What runs ends soon; a save then goes on with no further piece. */
void lmi_svc_prefix_tier_stop(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_prefix_tier *t = svc->prefix_tier;

	if (t)
		lmi_svc_prefix_tier_stop_scan(t);
	if (!t || !t->saves)
		return;
	while (t->saves->next)
		drop(&t->saves->next, now);
	t->saves->n_page = t->saves->n_end;
}

bool lmi_svc_prefix_tier_is_busy(const struct lmi_service *svc)
{
	const struct lmi_svc_prefix_tier *t = svc->prefix_tier;

	return t && (t->restores || t->saves || t->trims || t->scans);
}

void lmi_svc_prefix_tier_forget(struct lmi_service *svc, uint64_t now, uint64_t tenant)
{
	struct lmi_svc_prefix_tier *t = svc->prefix_tier;
	struct lmi_svc_prefix_work *first = t ? t->saves : NULL;

	for (struct lmi_svc_prefix_work *w = t ? t->restores : NULL; w; w = w->next)
		w->forgotten |= w->tenant == tenant; /* it may copy from the disk to memory */
	if (!first)
		return;
	for (struct lmi_svc_prefix_work **p = &first->next; *p;) {
		if ((*p)->tenant == tenant)
			drop(p, now);
		else
			p = &(*p)->next;
	}
	if (first->tenant == tenant) {
		first->forgotten = true;
		first->n_page = first->n_end;
	}
}

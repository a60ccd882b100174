/* SPDX-License-Identifier: MIT
 *
 * The queue of work on sessions. One piece of work is current; it waits for its job or for its
 * command of an engine. */
#include "service/session_work.h"

#include <string.h>

#include "core/base/alloc.h"
#include "service/generate_work.h"
#include "service/prefix_tier.h"
#include "service/replay.h"
#include "service/rows_head.h"
#include "service/service_state.h"

/* The low 16 bits of a generation's command are its slot; none has this one. */
#define NO_SLOT 0xffffu

enum lmd_status lmi_svc_sessions_of(struct lmi_svc_sessions *out, const struct lmi_service *svc,
				    const struct lmi_svc_principal *principal,
				    struct lmd_error *err)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(principal);
	const struct lmi_service_limits *l = &svc->limits;

	if (!svc->o.store || !l->session_bytes)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"sessions are off on this server (limit session_bytes is 0)");
	*out = (struct lmi_svc_sessions){
		.state_dir = lmi_store_dir(svc->o.store),
		.max_bytes = l->session_bytes,
		.max_bytes_all = l->session_bytes_all,
		.max_number = l->session_number,
		.max_age_s = l->session_age / 1000,
		.wall_s = svc->hooks.wall_ns ? svc->hooks.wall_ns(svc->hooks.arg) / 1000000000 : 0};
	return lmi_svc_session_owner(out->owner, &owner)
		       ? LMD_OK
		       : lmd_fail(err, LMD_NOMEM, "no memory for the owner of a session");
}

bool lmi_service_has_sessions(const struct lmi_service *svc)
{
	return svc->o.store && svc->limits.session_bytes;
}

/* ---- end ---- */

static void finish(struct lmi_svc_session_work *w, uint64_t now)
{
	struct lmi_service *svc = w->svc;

	lmi_engine_saved_destroy(w->saved);
	w->saved = NULL;
	svc->session_work = w->next;
	if (w->loaded) {
		lmi_svc_adapter_slots_give(w->loaded, w->adapter);
		lmi_svc_loaded_model_unref(w->loaded, now);
	}
	w->loaded = NULL;
	svc->session_runs = false;
	w->done(w, now);
}

/* ---- jobs ---- */

static void write_file(struct lmi_svc_session_work *w)
{
	char path[PATH_MAX];
	struct lmd_error *err = &w->err;

	w->n_token = w->saved->n_token;
	w->n_bytes = lmi_engine_saved_file_bytes(w->saved->n_token, w->saved->n_bytes);
	err->status = lmi_svc_rows_head(&w->head, w->loaded, w->adapter, err);
	if (err->status == LMD_OK)
		err->status = lmi_svc_session_room(&w->files, w->name, w->n_bytes, err);
	if (err->status == LMD_OK)
		err->status = lmi_svc_session_path(path, &w->files, w->name, err);
	if (err->status == LMD_OK)
		err->status = lmi_engine_saved_write(path, &w->head, w->saved, &w->n_bytes, err);
}

/* Reads the session if it has more of the beginning of the tokens than memory. */
static void read_file(struct lmi_svc_session_work *w)
{
	struct lmi_engine_saved_head have;
	struct lmd_error *err = &w->err;
	lmd_token *tokens = NULL;
	char path[PATH_MAX];
	uint32_t n = 0;

	err->status = lmi_svc_rows_head(&w->head, w->loaded, w->adapter, err);
	if (err->status == LMD_OK)
		err->status = lmi_svc_session_path(path, &w->files, w->name, err);
	if (err->status == LMD_OK)
		err->status = lmi_engine_saved_read_head(path, &have, &tokens, err);
	if (err->status == LMD_OK)
		err->status = lmi_engine_saved_check(&have, &w->head, err);
	while (err->status == LMD_OK && n < have.n_token && n < w->n_tokens &&
	       tokens[n] == w->tokens[n])
		n++;
	lmi_free(tokens);
	if (err->status == LMD_OK && n > w->n_token)
		err->status = lmi_engine_saved_read(path, &w->head, w->files.max_bytes, &w->saved,
						    err);
}

static void job_run(void *arg)
{
	struct lmi_svc_session_work *w = arg;

	switch (w->kind) {
	case LMI_SVC_SESSION_SAVE:
		write_file(w);
		return;
	case LMI_SVC_SESSION_RESTORE:
		read_file(w);
		return;
	case LMI_SVC_SESSION_FILES:
		w->run(w);
		return;
	}
}

/* The engine takes what was read. */
static bool restore(struct lmi_svc_session_work *w)
{
	struct lmi_engine_saved *saved = w->saved;
	struct lmi_engine_restore cmd = {.tenant = w->tenant, .adapter = w->adapter};

	w->saved = NULL;
	cmd.id = w->command = ++w->svc->serial << 16 | NO_SLOT;
	w->moved = true;
	w->err.status = lmi_engine_restore(w->loaded->engine, &cmd, saved, &w->err);
	return w->err.status == LMD_OK;
}

static void job_done(void *arg)
{
	struct lmi_svc_session_work *w = arg;
	struct lmi_service *svc = w->svc;

	svc->n_job--;
	if (lmi_cancel_is_set(&w->job.cancel) && w->err.status == LMD_OK)
		w->err.status = lmd_fail(&w->err, LMD_CANCELLED, "the request was cancelled");
	if (w->kind == LMI_SVC_SESSION_RESTORE && w->err.status == LMD_OK && w->saved && restore(w))
		return;
	finish(w, svc->now);
}

static void submit_job(struct lmi_svc_session_work *w, uint64_t now)
{
	struct lmd_error err;

	w->job = (struct lmi_job){.run = job_run, .done = job_done, .arg = w};
	/* from here on w->err belongs to the job */
	if (lmi_jobs_submit(w->svc->o.io, &w->job, &err) == LMD_OK) {
		w->svc->n_job++;
		return;
	}
	w->err = err;
	finish(w, now);
}

/* ---- commands ---- */

static bool ask_engine(struct lmi_svc_session_work *w)
{
	struct lmi_engine_save cmd = {.tokens = w->tokens,
				      .n_tokens = w->n_tokens,
				      .tenant = w->tenant,
				      .adapter = w->adapter,
				      .max_bytes = w->files.max_bytes};

	cmd.id = w->command = ++w->svc->serial << 16 | NO_SLOT;
	w->err.status = w->kind == LMI_SVC_SESSION_SAVE
				? lmi_engine_save(w->loaded->engine, &cmd, &w->err)
				: lmi_engine_find(w->loaded->engine, &cmd, &w->err);
	return w->err.status == LMD_OK;
}

bool lmi_svc_session_event(struct lmi_service *svc, uint64_t now, struct lmi_engine_event *ev)
{
	struct lmi_svc_session_work *w = svc->session_work;

	if (!svc->session_runs || !w || w->command != ev->id)
		return false;
	w->command = 0;
	if (ev->kind == LMI_ENGINE_EV_FAILED) {
		w->err = ev->u.error;
	} else if (ev->kind != LMI_ENGINE_EV_MOVED) {
		w->err.status = lmd_fail(&w->err, LMD_CANCELLED,
					 "cancelled: the engine is being stopped");
	} else {
		w->n_token = ev->u.moved.n_token;
		w->saved = ev->u.moved.saved;
		ev->u.moved.saved = NULL;
	}
	if (w->err.status != LMD_OK || w->moved)
		finish(w, now);
	else
		submit_job(w, now);
	return true;
}

/* ---- the queue ---- */

static void start_next(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_session_work *w = svc->session_work;

	if (!w || svc->session_runs)
		return;
	svc->session_runs = true;
	if (w->dropped) {
		w->err.status = lmd_fail(&w->err, LMD_CANCELLED, "the request was cancelled");
		finish(w, now);
	} else if (w->kind == LMI_SVC_SESSION_FILES) {
		submit_job(w, now);
	} else if (!ask_engine(w)) {
		finish(w, now);
	}
}

void lmi_svc_session_submit(struct lmi_service *svc, struct lmi_svc_session_work *w)
{
	struct lmi_svc_session_work **p = &svc->session_work;

	w->svc = svc;
	w->next = NULL;
	w->err.status = LMD_OK;
	if (w->loaded) {
		lmi_svc_loaded_model_ref(w->loaded);
		lmi_svc_adapter_slots_hold(w->loaded, w->adapter);
	}
	while (*p)
		p = &(*p)->next;
	*p = w;
}

void lmi_svc_session_tick(struct lmi_service *svc, uint64_t now)
{
	start_next(svc, now);
}

/* ---- housekeeping ---- */

void lmi_svc_sessions_clean(const struct lmi_service *svc)
{
	static const struct lmi_svc_principal nobody;
	struct lmi_svc_sessions s;

	if (lmi_svc_sessions_of(&s, svc, &nobody, NULL) == LMD_OK)
		lmi_svc_session_clean(&s);
}

static void forget(struct lmi_svc_session_work *w)
{
	lmi_svc_session_rm_all(&w->files);
	lmi_svc_prefix_tier_forget_files(w->svc, w->tenant);
}

static void forgotten(struct lmi_svc_session_work *w, uint64_t now)
{
	(void)now;
	lmi_free(w);
}

void lmi_svc_sessions_forget_key(struct lmi_service *svc, const char *label)
{
	struct lmi_svc_session_work *w;
	struct lmi_svc_owner owner = {0};

	if (!svc->o.store)
		return;
	(void)memcpy(owner.key_label, label, strnlen(label, sizeof(owner.key_label) - 1));
	lmi_svc_gen_prefix_forget(svc, svc->now, lmi_svc_owner_tenant(&owner));
	lmi_svc_replay_forget(svc, lmi_svc_owner_tenant(&owner));
	w = lmi_alloc(1, sizeof(*w));
	if (!w || !lmi_svc_session_owner(w->files.owner, &owner)) {
		lmi_free(w);
		svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_WARN,
				 "no memory to remove the sessions and saved prefixes of key %s", label);
		return;
	}
	w->kind = LMI_SVC_SESSION_FILES;
	w->files.state_dir = lmi_store_dir(svc->o.store);
	w->tenant = lmi_svc_owner_tenant(&owner);
	w->run = forget;
	w->done = forgotten;
	lmi_svc_session_submit(svc, w);
}

/* SPDX-License-Identifier: MIT
 *
 * The ops load, reload and unload.  Each is a job with a stream; cancelling the stream does not
 * stop a load or unload that has begun. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/quant/quant.h"
#include "service/event.h"
#include "service/generate.h"
#include "service/model.h"
#include "service/names.h"
#include "service/ops.h"
#include "service/output.h"
#include "service/request.h"
#include "service/service_state.h"
#include "service/stream_writer.h"

struct load_work {
	struct lmi_svc_stream_writer writer;
	struct lmi_svc_request request; /* kept */
	struct lmi_svc_lookup lookup;
	struct lmi_svc_load_waiter load_waiter;
	struct lmi_svc_unload_waiter unload_waiter;
	struct lmi_svc_load load;
	bool finds_draft; /* the lookup is that of the draft model */
	bool ended;
	bool pending; /* a callback of the lookup, the load or the unload will come */
	uint32_t retry_ms;
};

#define OF(member, p) ((struct load_work *)((char *)(p)-offsetof(struct load_work, member)))

static void release(struct load_work *w)
{
	if (!w->ended || w->pending)
		return;
	lmi_svc_request_fini(&w->request);
	lmi_free(w);
}

/* Ends the job.  Frees w unless a callback is pending. */
static void finish(struct load_work *w, uint64_t now, const struct lmi_svc_end *end)
{
	struct lmi_service *svc = w->request.svc;
	bool is_done = end->kind == LMI_SVC_END_DONE && end->why == LMI_WIRE_FINISH_DONE;
	struct lmd_error err = end->error;

	if (end->kind != LMI_SVC_END_ERROR)
		(void)lmd_fail(&err, LMD_CANCELLED, "cancelled");
	if (!w->ended && w->request.reply) {
		w->writer.stream->given_up = true;
		lmi_svc_request_fail(&w->request, &err, w->retry_ms);
	} else if (!w->ended) {
		lmi_svc_event_of_job(&w->request, is_done ? NULL : &err);
	}
	w->ended = true;
	lmi_svc_stream_end(svc, &w->writer, now, end);
	release(w);
}

static void done(struct load_work *w, uint64_t now)
{
	const struct lmi_svc_end end = {.kind = LMI_SVC_END_DONE, .why = LMI_WIRE_FINISH_DONE};

	finish(w, now, &end);
}

static void fail(struct load_work *w, uint64_t now, const struct lmd_error *err)
{
	const struct lmi_svc_end end = {.kind = LMI_SVC_END_ERROR, .error = *err};

	finish(w, now, &end);
}

static void cancel(struct lmi_svc_stream_writer *writer, uint64_t now, uint32_t reason)
{
	const struct lmi_svc_end end = lmi_svc_end_of(reason);

	finish(OF(writer, writer), now, &end);
}

static bool runs(const struct lmi_svc_stream_writer *writer)
{
	const struct load_work *w = (const struct load_work *)writer;

	return !w->request.reply;
}

static void progress(struct load_work *w, uint64_t now, enum lmi_wire_phase phase, uint64_t n,
		     uint64_t total)
{
	if (!w->writer.stream)
		return;
	/* without memory the client hears less */
	(void)lmi_svc_output_progress(&w->writer.stream->out, now, phase, n, total);
	lmi_svc_stream_pump(w->request.svc, w->writer.stream, now);
}

/* ---- load and reload ---- */

static void ready(struct lmi_svc_load_waiter *waiter, uint64_t now, struct lmi_svc_loaded_model *r,
		  const struct lmd_error *err, uint32_t retry_ms)
{
	struct load_work *w = OF(load_waiter, waiter);

	w->pending = false;
	w->retry_ms = retry_ms;
	if (r)
		lmi_svc_loaded_model_unref(r, now);
	if (w->ended)
		release(w);
	else if (r)
		done(w, now);
	else
		fail(w, now, err);
}

static void on_progress(struct lmi_svc_load_waiter *waiter, uint64_t now, uint64_t n,
			uint64_t total)
{
	struct load_work *w = OF(load_waiter, waiter);

	if (!w->ended)
		progress(w, now, LMI_WIRE_PHASE_LOAD, n, total);
}

static bool same_but_keep(const struct lmi_svc_load *a, const struct lmi_svc_load *b)
{
	return a->n_ctx == b->n_ctx && a->n_seq == b->n_seq && a->n_batch == b->n_batch &&
	       a->n_thread == b->n_thread && a->n_thread_batch == b->n_thread_batch &&
	       !strcmp(a->cpus, b->cpus) && a->device == b->device &&
	       a->activations == b->activations && a->k_dtype == b->k_dtype &&
	       a->v_dtype == b->v_dtype && a->memory_limit == b->memory_limit &&
	       !strcmp(a->backend, b->backend) && a->isolation == b->isolation &&
	       !strcmp(a->devices, b->devices) && !strcmp(a->gpu_layers, b->gpu_layers) &&
	       !strcmp(a->split, b->split) && !strcmp(a->override_tensor, b->override_tensor) &&
	       !strcmp(a->draft_path, b->draft_path) && !strcmp(a->mmproj_path, b->mmproj_path) &&
	       !strcmp(a->lookup_path, b->lookup_path) && a->lookahead == b->lookahead;
}

/* May free w. */
static void bring(struct load_work *w, uint64_t now, struct lmi_svc_model *m)
{
	struct lmi_service *svc = w->request.svc;
	bool reload = w->request.req->op == LMI_WIRE_OP_RELOAD;
	struct lmd_error err;

	w->load_waiter.ready = ready;
	w->load_waiter.progress = on_progress;
	w->pending = true;
	if (!reload && !m->current && !m->loading)
		m->load = w->load;
	lmi_svc_model_end_pause(m);
	if (!reload && m->current && same_but_keep(&m->load, &w->load))
		m->current->load.keep_ms = m->load.keep_ms = w->load.keep_ms;
	if (m->current && (reload || !same_but_keep(&m->load, &w->load))) {
		if (lmi_svc_model_reload(svc, now, m, reload ? NULL : &w->load, &w->load_waiter,
					 &err) == LMD_OK)
			return;
		w->pending = false;
		w->retry_ms = err.status == LMD_BUSY ? 1000 : 0;
		fail(w, now, &err);
		return;
	}
	lmi_svc_model_add_waiter(svc, now, m, &w->load_waiter);
}

/* ---- unload ---- */

static void on_unloaded(struct lmi_svc_unload_waiter *g, uint64_t now)
{
	struct load_work *w = OF(unload_waiter, g);

	w->pending = false;
	if (w->ended)
		release(w);
	else
		done(w, now);
}

static void unload(struct load_work *w, uint64_t now, struct lmi_svc_model *m)
{
	struct lmi_svc_loaded_model *r = m->current;
	struct lmd_error err;

	if (!r) {
		if (!m->loading && lmi_svc_model_forget_loss(m)) { /* it waits for its device */
			done(w, now);
			return;
		}
		if (m->loading)
			(void)lmd_fail(&err, LMD_BUSY, "model %s is being loaded",
				       lmi_svc_model_name(m));
		else
			(void)lmd_fail(&err, LMD_NOTFOUND, "model %s is not in memory",
				       lmi_svc_model_name(m));
		w->retry_ms = m->loading ? 1000 : 0;
		fail(w, now, &err);
		return;
	}
	w->pending = true;
	w->unload_waiter.unloaded = on_unloaded;
	w->unload_waiter.next = r->unload_waiters;
	r->unload_waiters = &w->unload_waiter;
	progress(w, now, LMI_WIRE_PHASE_DRAIN, 0, r->n_user);
	lmi_svc_loaded_model_ref(r); /* keeps r alive until the cancellations below are done */
	lmi_svc_loaded_model_retire(r);
	if (w->request.message.u.unload.force)
		lmi_svc_generate_cancel_all(w->request.svc, now, r, LMI_WIRE_CANCEL_REASON_UNLOAD);
	lmi_svc_loaded_model_unref(r, now);
}

/* ---- all of them ---- */

static struct lmd_str model_name(const struct load_work *w)
{
	const struct lmi_wire_request *q = w->request.req;

	return q->op == LMI_WIRE_OP_LOAD     ? q->u.load.model
	       : q->op == LMI_WIRE_OP_RELOAD ? q->u.reload.model
					     : q->u.unload.model;
}

/* Takes the draft model's file, and looks up the model itself. */
static void found_draft(struct load_work *w, uint64_t now, struct lmi_svc_model *m,
			const struct lmd_error *err)
{
	const struct lmd_str name = model_name(w);
	struct lmd_error why;

	if (!m) {
		(void)lmd_fail(&why, err->status, "draft %.400s", err->text);
		fail(w, now, &why);
		return;
	}
	(void)snprintf(w->load.draft_path, sizeof(w->load.draft_path), "%s",
		       m->record->m.v[0].files[0].path);
	w->finds_draft = false;
	w->pending = true;
	lmi_svc_lookup_start(w->request.svc, now, &w->lookup, &name);
}

static void found(struct lmi_svc_lookup *l, uint64_t now, struct lmi_svc_model *m,
		  const struct lmd_error *err)
{
	struct load_work *w = OF(lookup, l);

	w->pending = false;
	if (w->ended) {
		release(w);
		return;
	}
	if (w->finds_draft) {
		found_draft(w, now, m, err);
		return;
	}
	if (!m) {
		fail(w, now, err);
		return;
	}
	if (w->request.req->op == LMI_WIRE_OP_UNLOAD && !m->current && !m->lost_device[0]) {
		unload(w, now, m); /* fails */
		return;
	}
	lmi_svc_request_reply_stream(&w->request, w->writer.stream, 0);
	if (w->request.req->op == LMI_WIRE_OP_UNLOAD) {
		unload(w, now, m);
		return;
	}
	progress(w, now, LMI_WIRE_PHASE_LOAD, 0, 0);
	bring(w, now, m);
}

/* Returns the word that stands in place of a model's name, or NULL. */
static const char *draft_word(const struct lmd_str *draft)
{
	static const char *const words[] = {LMI_SVC_DRAFT_AUTO, LMI_ENGINE_DRAFT_OWN};

	for (size_t i = 0; draft && i < LMD_LEN(words); i++)
		if (draft->len == strlen(words[i]) && !memcmp(draft->ptr, words[i], draft->len))
			return words[i];
	return NULL;
}

static enum lmd_status begin(struct lmi_svc_request *a, uint32_t kind,
			     const struct lmd_str *model, const struct lmi_svc_load *load,
			     const struct lmd_str *draft, struct lmd_error *err)
{
	static const struct lmi_svc_account no_places = {0};
	struct load_work *w;
	struct lmd_str name = *model;
	enum lmd_status st = lmi_svc_stream_admit(a->svc, &a->principal, err);

	if (st != LMD_OK)
		return st;
	w = lmi_alloc(1, sizeof(*w));
	if (!w)
		return lmd_fail(err, LMD_NOMEM, "no memory for a job");
	w->load = *load;
	w->writer = (struct lmi_svc_stream_writer){.cancel = cancel, .runs = runs};
	st = lmi_svc_request_keep(&w->request, a, &no_places, err);
	if (st == LMD_OK)
		st = lmi_svc_stream_begin(a, &w->writer, kind, &name, a->svc->limits.lease_default,
					  err);
	if (st != LMD_OK) {
		lmi_svc_request_fini(&w->request);
		lmi_free(w);
		return st;
	}
	w->lookup.found = found;
	w->pending = true;
	w->finds_draft = draft && draft->len && !draft_word(draft);
	if (draft_word(draft))
		(void)snprintf(w->load.draft_path, sizeof(w->load.draft_path), "%s",
			       draft_word(draft));
	lmi_svc_lookup_start(a->svc, a->now, &w->lookup, w->finds_draft ? draft : &name);
	return LMD_OK;
}

/* The protocol bounds the length. */
static void copy(char *out, size_t size, const struct lmd_str *from)
{
	(void)snprintf(out, size, "%.*s", (int)from->len, from->len ? from->ptr : "");
}

static enum lmd_status kv_types(const struct lmi_wire_req_load *q, struct lmi_svc_load *l,
				struct lmd_error *err)
{
	char both[20], k[20], v[20];
	const struct lmi_dtype_cache_names names = {.both = both, .k = k, .v = v};

	copy(both, sizeof(both), &q->kv_type);
	copy(k, sizeof(k), &q->kv_type_k);
	copy(v, sizeof(v), &q->kv_type_v);
	return lmi_dtype_parse_cache(&names, false, &l->k_dtype, &l->v_dtype, err);
}

enum lmd_status lmi_svc_do_load(struct lmi_svc_request *a, uint32_t *retry_ms,
				struct lmd_error *err)
{
	const struct lmi_wire_req_load *q = &a->req->u.load;
	char shown[160];
	struct lmi_svc_load l = {.n_ctx = (uint32_t)q->n_ctx,
				 .n_seq = (uint32_t)q->n_seq,
				 .n_batch = (uint32_t)q->n_batch,
				 .n_thread = (uint32_t)q->threads,
				 .n_thread_batch = (uint32_t)q->threads_batch,
				 .device = (uint32_t)q->device,
				 .memory_limit = (uint64_t)q->memory_limit,
				 .keep_ms = q->keep_alive_ms,
				 .activations = UINT32_MAX};
	enum lmd_status st = kv_types(q, &l, err);

	(void)retry_ms;
	if (st != LMD_OK)
		return st;
	if (q->activations == LMI_WIRE_ACTIVATIONS_F32)
		l.activations = LMD_ACTIVATIONS_F32;
	else if (q->activations == LMI_WIRE_ACTIVATIONS_INT8)
		l.activations = LMD_ACTIVATIONS_INT8;
	else if (q->activations == LMI_WIRE_ACTIVATIONS_INT16)
		l.activations = LMD_ACTIVATIONS_INT16;
	if (q->isolation != LMI_WIRE_ISOLATION_AUTO)
		l.isolation = q->isolation == LMI_WIRE_ISOLATION_PROCESS ? LMI_SVC_ISOLATION_PROCESS
									 : LMI_SVC_ISOLATION_OFF;
	copy(l.cpus, sizeof(l.cpus), &q->cpus);
	copy(l.devices, sizeof(l.devices), &q->devices);
	copy(l.gpu_layers, sizeof(l.gpu_layers), &q->gpu_layers);
	copy(l.split, sizeof(l.split), &q->split);
	copy(l.override_tensor, sizeof(l.override_tensor), &q->override_tensor);
	if (q->mmproj.len && q->mmproj.ptr[0] != '/')
		return lmd_fail(err, LMD_INVALID, "mmproj: '%s' is not an absolute path",
				lmi_printable(shown, sizeof(shown), q->mmproj.ptr, q->mmproj.len));
	copy(l.mmproj_path, sizeof(l.mmproj_path), &q->mmproj);
	if (q->backend.len != 4 || memcmp(q->backend.ptr, "auto", 4))
		(void)snprintf(l.backend, sizeof(l.backend), "%.*s",
			       (int)(q->backend.len < 47 ? q->backend.len : 47), q->backend.ptr);
	return begin(a, LMI_WIRE_STREAM_KIND_LOAD, &q->model, &l, &q->draft_model, err);
}

enum lmd_status lmi_svc_do_reload(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	const struct lmi_svc_load none = {0};

	(void)retry_ms;
	return begin(a, LMI_WIRE_STREAM_KIND_RELOAD, &a->req->u.reload.model, &none, NULL, err);
}

enum lmd_status lmi_svc_do_unload(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	const struct lmi_svc_load none = {0};

	(void)retry_ms;
	return begin(a, LMI_WIRE_STREAM_KIND_UNLOAD, &a->req->u.unload.model, &none, NULL, err);
}

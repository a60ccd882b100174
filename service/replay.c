/* SPDX-License-Identifier: MIT
 *
 * Kept requests: a list in the order in which they ended, found by the id of their stream. */
#include "service/replay.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "service/adapter_choice.h"
#include "service/generate_work.h"
#include "service/ops.h"
#include "service/preset.h"
#include "service/service_state.h"
#include "service/stream.h"

struct lmi_svc_kept_request {
	struct lmi_svc_kept_request *newer;
	uint8_t id[16];
	struct lmi_svc_owner owner;
	struct lmi_wire_buf request;
	struct lmi_svc_replay_settings settings;
	struct lmi_sha256 tokens; /* while it runs */
	uint8_t digest[LMI_SHA256_BYTES];
	uint64_t seed;
	uint32_t n_prompt, n_out, finish;
};

struct lmi_svc_replay_list {
	struct lmi_svc_kept_request *oldest, *newest;
	uint64_t n, bytes;
};

static void destroy(struct lmi_svc_kept_request *k)
{
	if (!k)
		return;
	lmi_sha256_fini(&k->tokens);
	lmi_wire_buf_fini(&k->request);
	lmi_free(k);
}

static uint64_t bytes_of(const struct lmi_svc_kept_request *k)
{
	return sizeof(*k) + k->request.cap;
}

/* ---- what is kept of a request ---- */

/* Encodes the request with the values that a later configuration could change, and without what has
 * effects beside the answer. */
static enum lmd_status encode(struct lmi_wire_buf *out, const struct lmi_svc_generation *g)
{
	const struct lmi_svc_preset *p = lmi_svc_preset_of(g->loaded, &lmi_svc_gen_request(g)->model);
	struct lmi_wire_request copy = g->request.message;
	struct lmi_wire_req_generate *q = &copy.u.generate;

	q->has_seed = true;
	q->seed = (int64_t)g->seed;
	if (!q->has_n) {
		q->has_n = true;
		q->n = g->used.n_predict;
	}
	q->has_context_shift = q->has_n_keep = q->has_cache_reuse = true; /* a preset sets the values alone */
	if (!q->has_adapter && !(p && p->adapter_file)) {
		q->has_adapter = true;
		q->adapter = lmi_svc_str(lmi_svc_adapter_text(
			g->request.svc, lmi_svc_model_record_name(g->loaded->record), &q->model));
	}
	q->has_session = q->has_keep_alive_ms = q->has_lease_ms = false;
	q->pin_ms = 0;
	return lmi_wire_request_encode(out, &copy, NULL);
}

void lmi_svc_replay_begin(struct lmi_svc_generation *g, const struct lmi_sampler_params *defaults)
{
	struct lmi_service *svc = g->request.svc;
	struct lmi_svc_kept_request *k;

	if (!svc->limits.replay_requests || g->durable || g->kept || !(k = lmi_alloc(1, sizeof(*k))))
		return;
	for (uint32_t i = 0; i < LMI_SAMPLER_N_SCALAR; i++) {
		k->settings.sampling.value[i] = lmi_sampler_scalar_get(defaults, i);
		k->settings.sampling.has[i] = true;
	}
	(void)snprintf(k->settings.model_digest, sizeof(k->settings.model_digest), "%s",
		       g->loaded->record->m.v[0].digest);
	k->settings.adapter_key = g->adapter ? g->adapter_waiter.choice.key : 0;
	memcpy(k->id, g->stream_id, sizeof(k->id));
	k->owner = g->request.user->owner;
	k->seed = g->seed;
	if (!lmi_sha256_init(&k->tokens) || encode(&k->request, g) != LMD_OK ||
	    bytes_of(k) > svc->limits.replay_bytes) {
		destroy(k);
		return;
	}
	g->kept = k;
}

void lmi_svc_replay_token(struct lmi_svc_generation *g, lmd_token token)
{
	uint8_t b[4];

	if (!g->kept)
		return;
	lmi_put_le32(b, (uint32_t)token);
	lmi_sha256_update(&g->kept->tokens, b, sizeof(b));
}

static void drop_oldest(struct lmi_svc_replay_list *l)
{
	struct lmi_svc_kept_request *k = l->oldest;

	l->oldest = k->newer;
	if (!l->oldest)
		l->newest = NULL;
	l->n--;
	l->bytes -= bytes_of(k);
	destroy(k);
}

void lmi_svc_replay_set_limits(struct lmi_service *svc)
{
	struct lmi_svc_replay_list *l = svc->replays;

	while (l && l->n &&
	       (l->n > svc->limits.replay_requests || l->bytes > svc->limits.replay_bytes))
		drop_oldest(l);
}

static bool ended_by_itself(const struct lmi_svc_end *end)
{
	return end->kind == LMI_SVC_END_DONE &&
	       (end->why == LMI_WIRE_FINISH_EOG || end->why == LMI_WIRE_FINISH_STOP ||
		end->why == LMI_WIRE_FINISH_LENGTH || end->why == LMI_WIRE_FINISH_CONTEXT);
}

void lmi_svc_replay_end(struct lmi_svc_generation *g, const struct lmi_svc_end *end)
{
	struct lmi_service *svc = g->request.svc;
	struct lmi_svc_kept_request *k = g->kept;
	struct lmi_svc_replay_list *l;

	g->kept = NULL;
	if (!k)
		return;
	if (!svc->replays)
		svc->replays = lmi_alloc(1, sizeof(*svc->replays));
	l = svc->replays;
	if (!l || !ended_by_itself(end) || !lmi_sha256_final(&k->tokens, k->digest)) {
		destroy(k);
		return;
	}
	k->n_prompt = (uint32_t)end->n_prompt;
	k->n_out = (uint32_t)end->n_out;
	k->finish = end->why;
	*(l->newest ? &l->newest->newer : &l->oldest) = k;
	l->newest = k;
	l->n++;
	l->bytes += bytes_of(k);
	lmi_svc_replay_set_limits(svc);
}

void lmi_svc_replay_forget(struct lmi_service *svc, uint64_t tenant)
{
	struct lmi_svc_replay_list *l = svc->replays;
	struct lmi_svc_kept_request *k, *next;

	for (struct lmi_svc_generation *g = svc->generations; g; g = g->next) {
		if (!g->kept || lmi_svc_owner_tenant(&g->kept->owner) != tenant)
			continue;
		destroy(g->kept);
		g->kept = NULL;
	}
	if (!l)
		return;
	k = l->oldest;
	*l = (struct lmi_svc_replay_list){0};
	for (; k; k = next) {
		next = k->newer;
		k->newer = NULL;
		if (lmi_svc_owner_tenant(&k->owner) == tenant) {
			destroy(k);
			continue;
		}
		*(l->newest ? &l->newest->newer : &l->oldest) = k;
		l->newest = k;
		l->n++;
		l->bytes += bytes_of(k);
	}
}

void lmi_svc_replay_fini(struct lmi_service *svc)
{
	while (svc->replays && svc->replays->n)
		drop_oldest(svc->replays);
	lmi_free(svc->replays);
	svc->replays = NULL;
}

/* ---- the ops ---- */

static enum lmd_status find(const struct lmi_svc_request *a, const struct lmi_wire_id *id,
			    struct lmi_svc_kept_request **out, struct lmd_error *err)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(&a->principal);
	const struct lmi_service *svc = a->svc;

	*out = svc->replays ? svc->replays->oldest : NULL;
	while (*out && (memcmp((*out)->id, id->b, sizeof(id->b)) != 0 ||
			!lmi_svc_owner_same(&(*out)->owner, &owner)))
		*out = (*out)->newer;
	if (*out)
		return LMD_OK;
	if (!svc->limits.replay_requests)
		return lmd_fail(err, LMD_NOTFOUND,
				"requests are not kept: set replay_requests in [limits]");
	return lmd_fail(err, LMD_NOTFOUND,
			"no request of yours with this id is kept: it must have ended by itself, without "
			"durable, among the last %llu of all users (replay_requests) with %llu bytes in "
			"all (replay_bytes)",
			(unsigned long long)svc->limits.replay_requests,
			(unsigned long long)svc->limits.replay_bytes);
}

enum lmd_status lmi_svc_replay_check_model(const struct lmi_svc_generation *g,
					   const struct lmi_svc_model_record *record,
					   struct lmd_error *err)
{
	const struct lmi_store_model *m = &record->m.v[0];

	if (!g->replays || !strcmp(g->replays->model_digest, m->digest))
		return LMD_OK;
	return lmd_fail(err, LMD_NOTFOUND,
			"the request was answered by the model sha256:%s, but %s is now sha256:%s",
			g->replays->model_digest, m->name, m->digest);
}

enum lmd_status lmi_svc_replay_check_adapters(const struct lmi_svc_generation *g,
					      struct lmd_error *err)
{
	const struct lmi_svc_adapter_choice *c = &g->adapter_waiter.choice;

	if (!g->replays || g->replays->adapter_key == (c->n ? c->key : 0))
		return LMD_OK;
	return lmd_fail(err, LMD_NOTFOUND,
			"the adapters of the request have changed since it was answered: it would be "
			"computed with %.300s now",
			c->n ? c->text : "none");
}

static struct lmd_str show_digest(struct lmd_arena *arena, const char *hex)
{
	char text[80];

	if (!*hex)
		return lmi_svc_str("");
	(void)snprintf(text, sizeof(text), "sha256:%s", hex);
	return lmi_svc_str(lmi_arena_strndup(arena, text, strlen(text)));
}

enum lmd_status lmi_svc_do_replay_info(struct lmi_svc_request *a, uint32_t *retry_ms,
				       struct lmd_error *err)
{
	struct lmi_svc_kept_request *k;
	struct lmi_wire_reply r;
	struct lmi_wire_request kept;
	char hex[LMI_SHA256_HEX];
	enum lmd_status st = find(a, &a->req->u.replay_info.id, &k, err);

	(void)retry_ms;
	if (st == LMD_OK)
		st = lmi_svc_request_copy(a, err); /* for its arena */
	if (st == LMD_OK)
		st = lmi_wire_request_decode(&kept, k->request.p, k->request.n, a->arena, err);
	if (st != LMD_OK)
		return st;
	lmi_sha256_hex(hex, k->digest);
	lmi_wire_reply_init(&r, a->req);
	r.u.replay_info.model = kept.u.generate.model;
	r.u.replay_info.model_digest = show_digest(a->arena, k->settings.model_digest);
	r.u.replay_info.seed = (int64_t)k->seed;
	r.u.replay_info.n_prompt = k->n_prompt;
	r.u.replay_info.n_out = k->n_out;
	r.u.replay_info.finish = (enum lmi_wire_finish)k->finish;
	r.u.replay_info.digest = show_digest(a->arena, hex);
	r.u.replay_info.bytes = (int64_t)bytes_of(k);
	return lmi_svc_reply_send(a, &r);
}

/* Puts a copy of the kept request in place of this one, with the id of this one: the kept one may be dropped
 * before the answer has ended. */
static enum lmd_status take_over(struct lmi_svc_request *a, const struct lmi_svc_kept_request *k,
				 struct lmd_error *err)
{
	struct lmi_wire_request kept;
	struct lmi_wire_buf bytes = {0};
	enum lmd_status st = lmi_svc_request_copy(a, err);

	if (st == LMD_OK)
		st = lmi_wire_request_decode(&kept, k->request.p, k->request.n, a->arena, err);
	if (st != LMD_OK)
		return st;
	kept.v = a->message.v;
	kept.rid = a->message.rid;
	st = lmi_wire_request_encode(&bytes, &kept, err);
	if (st == LMD_OK)
		st = lmi_wire_request_decode(&a->message, bytes.p, bytes.n, a->arena, err);
	if (st != LMD_OK) {
		lmi_wire_buf_fini(&bytes);
		return st;
	}
	lmi_wire_buf_fini(&a->bytes);
	a->bytes = bytes;
	a->req = &a->message;
	return LMD_OK;
}

/* Handles the kept request as op generate. */
enum lmd_status lmi_svc_do_replay(struct lmi_svc_request *a, uint32_t *retry_ms, struct lmd_error *err)
{
	struct lmi_svc_kept_request *k;
	enum lmd_status st = find(a, &a->req->u.replay.id, &k, err);

	if (st == LMD_OK)
		st = take_over(a, k, err);
	if (st != LMD_OK)
		return st;
	a->is_replay = true;
	a->replays = &k->settings;
	return lmi_svc_do_generate(a, retry_ms, err);
}

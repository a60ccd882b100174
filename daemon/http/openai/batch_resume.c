/* SPDX-License-Identifier: MIT
 *
 * Batches that go on after the daemon has ended.
 *
 * When the server has been opened, the objects that say how a batch runs tell which ones were interrupted,
 * and whose they are.  What an owner may do is found again: the role of a key is asked from the service,
 * before its batches start. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "daemon/http/openai/batch_impl.h"

/* ---- one batch ---- */

static bool has_status(const json_t *v, const char *status)
{
	const char *s = json_string_value(json_object_get(v, "status"));

	return s && !strcmp(s, status);
}

static void set_failed(struct lmi_http_server *h, struct lmi_http_objects *objects,
		       const struct lmi_svc_principal *owner, json_t *v, const char *why)
{
	struct lmd_error err;
	char *text;

	(void)json_object_set_new(v, "status", json_string("failed"));
	(void)json_object_set_new(v, "failed_at", json_integer(lmi_http_server_now(h)));
	(void)json_object_set_new(v, "errors", lmi_openai_batch_errors(why));
	text = json_dumps(v, JSON_COMPACT);
	if (text)
		(void)lmi_http_objects_put(objects, owner,
					   json_string_value(json_object_get(v, "id")), text,
					   strlen(text), &err);
	free(text);
}

static bool is_temporary(enum lmd_status st)
{
	return st == LMD_NOMEM || st == LMD_BUSY || st == LMD_IO;
}

enum lmd_status lmi_openai_batch_go_on(struct lmi_http_server *h, struct lmi_http_objects *objects,
				       const struct lmi_svc_principal *principal, json_t *batch,
				       struct lmd_error *err)
{
	struct lmi_openai_batch_opts o = {
		.objects = objects, .h = h, .principal = principal, .object = batch, .go_on = true};
	const char *input = json_string_value(json_object_get(batch, "input_file_id"));
	const char *endpoint = json_string_value(json_object_get(batch, "endpoint"));
	const char *id = json_string_value(json_object_get(batch, "id"));
	bool cancelling = has_status(batch, "cancelling");
	struct lmd_error cause = {0};
	enum lmd_status st;
	int i = 0;

	if (!id || strncmp(id, LMI_OPENAI_BATCH_PREFIX, strlen(LMI_OPENAI_BATCH_PREFIX)) != 0)
		return lmd_fail(err, LMD_CORRUPT, "the stored batch is damaged");
	if ((!cancelling && !has_status(batch, "in_progress")) ||
	    lmi_openai_batch_find(h, principal, id))
		return LMD_OK;
	while (i < LMI_OPENAI_BATCH_N_ENDPOINT && endpoint &&
	       strcmp(endpoint, lmi_openai_batch_endpoints[i]) != 0)
		i++;
	if (i == LMI_OPENAI_BATCH_N_ENDPOINT || !endpoint || !input) {
		set_failed(h, objects, principal, batch, "the stored batch is damaged");
		return LMD_OK;
	}
	o.endpoint = (enum lmi_openai_batch_endpoint)i;
	st = lmi_openai_file_get(objects, principal, input, &o.own_input, &o.n_input, &cause);
	if (st == LMD_OK)
		st = lmi_openai_batch_start(&o, &cause);
	if (is_temporary(st))
		return lmd_fail(err, LMD_BUSY, "the batch cannot go on now, ask again later: %s",
				cause.text);
	if (st != LMD_OK)
		set_failed(h, objects, principal, batch, cause.text);
	else if (cancelling)
		lmi_openai_batch_stop(lmi_openai_batch_find(h, principal, id));
	return LMD_OK;
}

/* ---- all of them ---- */

struct found {
	struct lmi_svc_principal owner;
	char batch[LMI_OPENAI_ID_BYTES];
};

struct resume {
	struct lmi_http_lasting lasting;
	struct lmi_http_server *h;
	struct event *again;
	struct found v[LMI_OPENAI_BATCHES];
	uint32_t n; /* what does not fit goes on when its owner asks for it */
};

static void resume_free(struct resume *r)
{
	if (r->again)
		event_free(r->again);
	lmi_free(r);
}

static void end(struct lmi_http_lasting *l)
{
	resume_free((struct resume *)l);
}

static void forget_key(struct lmi_http_lasting *l, const char *label)
{
	struct resume *r = (struct resume *)l;

	for (uint32_t i = 0; i < r->n; i++)
		if (!strcmp(r->v[i].owner.key_label, label))
			r->v[i].batch[0] = 0;
}

/* Notes a batch that may have been interrupted. */
static void note(void *arg, const char *id, const char *text, size_t n)
{
	struct resume *r = arg;
	json_t *v = json_loadb(text, n, 0, NULL);
	const char *key = json_string_value(json_object_get(v, "key"));
	json_int_t uid = json_integer_value(json_object_get(v, "uid"));
	json_int_t gid = json_integer_value(json_object_get(v, "gid"));
	struct found *f = &r->v[r->n < LMI_OPENAI_BATCHES ? r->n : 0];

	if (r->n < LMI_OPENAI_BATCHES && key && strlen(key) < sizeof(f->owner.key_label) && uid >= 0 && uid <= UINT32_MAX && gid >= 0 &&
	    gid <= UINT32_MAX && strlen(id) < LMI_HTTP_OBJECT_ID_MAX) {
		f->owner = (struct lmi_svc_principal){.uid = (uint32_t)uid,
						      .gid = (uint32_t)gid,
						      .remote = *key || uid == UINT32_MAX};
		(void)snprintf(f->owner.key_label, sizeof(f->owner.key_label), "%s", key);
		(void)snprintf(f->batch, sizeof(f->batch), LMI_OPENAI_BATCH_PREFIX "%.*s",
			       LMI_HTTP_ID_CHARS, id + strlen(LMI_OPENAI_BATCH_RUN_PREFIX));
		r->n++;
	}
	json_decref(v);
}

/* Goes on with a batch, if its owner may use the API.  One that cannot go on now goes on when its owner asks
 * for it.  What is left of one that has ended is removed. */
static void go_on(struct resume *r, struct found *f)
{
	struct lmi_http_objects *objects = lmi_http_server_objects(r->h);
	char run[LMI_HTTP_OBJECT_ID_MAX + 1];
	struct lmd_error err = {0};
	json_t *v;

	if (!f->batch[0] || f->owner.role == LMI_SVC_ROLE_NONE)
		return;
	v = lmi_openai_object_load(objects, &f->owner, f->batch, &err);
	if (v)
		(void)lmi_openai_batch_go_on(r->h, objects, &f->owner, v, &err);
	if (v ? !has_status(v, "in_progress") && !has_status(v, "cancelling")
	      : err.status == LMD_NOTFOUND) {
		(void)snprintf(run, sizeof(run), LMI_OPENAI_BATCH_RUN_PREFIX "%s",
			       f->batch + strlen(LMI_OPENAI_BATCH_PREFIX));
		(void)lmi_http_objects_remove(objects, &f->owner, run, &err);
	}
	json_decref(v);
}

static void on_keys(void *arg, const struct lmi_wire_reply *reply, const struct lmd_error *err,
		    uint32_t retry_ms)
{
	struct resume *r = arg;

	(void)err;
	(void)retry_ms;
	for (uint32_t i = 0; i < r->n && reply; i++) {
		struct found *f = &r->v[i];

		for (uint32_t k = 0; k < reply->u.keys.n_keys; k++) {
			const struct lmi_wire_key *key = &reply->u.keys.keys[k];

			if (!key->expired && key->label.len == strlen(f->owner.key_label) &&
			    key->label.len && !memcmp(key->label.ptr, f->owner.key_label, key->label.len))
				f->owner.role = key->role == LMI_WIRE_ROLE_ADMIN ? LMI_SVC_ROLE_ADMIN
										 : LMI_SVC_ROLE_USER;
		}
	}
	event_active(r->again, EV_TIMEOUT, 0);
}

static void on_again(int fd, short what, void *arg)
{
	struct resume *r = arg;

	(void)fd;
	(void)what;
	if (!lmi_http_server_ended(r->h))
		for (uint32_t i = 0; i < r->n; i++)
			go_on(r, &r->v[i]);
	lmi_http_lasting_remove(r->h, &r->lasting);
	resume_free(r);
}

/* Asks for the keys, if a batch belongs to one. */
static void on_start(int fd, short what, void *arg)
{
	struct lmi_svc_principal self = {.uid = (uint32_t)getuid(), .role = LMI_SVC_ROLE_ADMIN};
	struct resume *r = arg;
	struct lmi_wire_request q;
	struct lmd_error err = {0};
	bool has_key = false;

	for (uint32_t i = 0; i < r->n; i++) {
		struct lmi_svc_principal *p = &r->v[i].owner;

		has_key |= *p->key_label != 0;
		if (!*p->key_label)
			p->role = lmi_http_server_role(r->h, p->uid);
	}
	lmi_wire_request_init(&q, LMI_WIRE_OP_KEYS);
	lmi_http_lasting_principal(r->h, &self);
	event_free(r->again);
	r->again = lmi_http_event(r->h, on_again, r);
	if (!r->again) {
		lmi_http_lasting_remove(r->h, &r->lasting);
		resume_free(r);
		return;
	}
	if (!has_key || lmi_http_lasting_call(r->h, &self, &q, on_keys, r, &err) != LMD_OK)
		on_again(fd, what, r);
}

void lmi_openai_batches_resume(struct lmi_http_server *h)
{
	struct lmi_http_objects *objects = lmi_http_server_objects(h);
	struct resume *r = objects ? lmi_alloc(1, sizeof(*r)) : NULL;

	if (!r)
		return;
	r->h = h;
	r->lasting = (struct lmi_http_lasting){.end = end, .revoke = forget_key};
	lmi_http_objects_each(objects, LMI_OPENAI_BATCH_RUN_PREFIX, note, r);
	r->again = r->n ? lmi_http_event(h, on_start, r) : NULL;
	if (!r->again) {
		resume_free(r);
		return;
	}
	lmi_http_lasting_add(h, &r->lasting);
	event_active(r->again, EV_TIMEOUT, 0);
}

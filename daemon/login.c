/* SPDX-License-Identifier: MIT
 *
 * API keys: finds that of a secret, and whether there is any.  The store holds only the SHA-256 of
 * each secret and is searched for that digest, so the time of the search reveals nothing about a
 * secret. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/sha256.h"
#include "daemon/daemon_impl.h"

struct login {
	struct lmi_job job;
	struct lmi_daemon *d;
	struct lmi_conn_peer peer;
	char digest[LMI_SHA256_HEX];
	struct lmi_front_login found;
	struct lmd_error err; /* err.status is LMD_OK if the key was found */
	lmi_front_login_fn done;
	void *done_arg;
};

static void run(void *arg)
{
	struct login *l = arg;
	struct lmi_store_keys keys;
	enum lmd_status st = lmi_store_key_find(l->d->store, l->digest, &keys, &l->err);

	l->err.status = st;
	if (st == LMD_NOTFOUND)
		l->err.status = lmd_fail(&l->err, LMD_DENIED, "hello: the key is unknown");
	if (st != LMD_OK)
		return;
	l->found.role = keys.v[0].role == LMI_STORE_ADMIN ? LMI_SVC_ROLE_ADMIN : LMI_SVC_ROLE_USER;
	l->found.expires_ns = keys.v[0].expires_at;
	(void)snprintf(l->found.label, sizeof(l->found.label), "%s", keys.v[0].label);
	if (keys.v[0].expires_at && keys.v[0].expires_at <= lmi_daemon_wall_ns(l->d))
		l->err.status = lmd_fail(&l->err, LMD_DENIED, "hello: the key '%s' has expired",
					 l->found.label);
	lmi_store_keys_fini(&keys);
}

/* Records a refusal.  label: of the peer's key, "" if it has none. */
static void record(struct lmi_daemon *d, const char *event, const struct lmi_conn_peer *peer,
		   const char *label, const char *subject, const char *reason)
{
	char who[LMI_CONN_PEER_TEXT + 8], addr[LMI_CONN_PEER_TEXT];

	if (*label)
		(void)snprintf(who, sizeof(who), "key:%s", label);
	else if (peer->remote)
		(void)snprintf(who, sizeof(who), "peer:%s", lmi_conn_peer_text(peer, addr));
	else
		(void)snprintf(who, sizeof(who), "uid:%u", peer->uid);
	lmi_daemon_audit(d, &(struct lmi_svc_event){.event = event,
						    .principal = who,
						    .subject = subject,
						    .detail = reason,
						    .refused = true});
}

void lmi_daemon_refused(void *arg, const struct lmi_conn_peer *peer, const char *label,
			const char *subject, const char *reason)
{
	record(arg, "access_denied", peer, label, subject, reason);
}

static void done(void *arg)
{
	struct login *l = arg;

	if (l->err.status == LMD_DENIED)
		record(l->d, "login_failed", &l->peer, "", l->found.label, l->err.text);
	l->done(l->done_arg, l->err.status == LMD_OK ? &l->found : NULL, &l->err);
	lmi_free(l);
}

static bool digest(char out[LMI_SHA256_HEX], const struct lmd_str *secret)
{
	uint8_t bytes[LMI_SHA256_BYTES];
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return false;
	lmi_sha256_update(&h, secret->ptr, secret->len);
	if (!lmi_sha256_final(&h, bytes))
		return false;
	lmi_sha256_hex(out, bytes);
	return true;
}

void lmi_daemon_login(void *arg, const struct lmi_conn_peer *peer, const struct lmd_str *secret,
		      lmi_front_login_fn fn, void *fn_arg)
{
	struct lmi_daemon *d = arg;
	struct login *l = lmi_alloc(1, sizeof(*l));
	struct lmd_error err = {0};

	if (!l || !digest(l->digest, secret)) {
		lmi_free(l);
		(void)lmd_fail(&err, LMD_NOMEM, "no memory to look for a key");
		fn(fn_arg, NULL, &err);
		return;
	}
	l->d = d;
	l->peer = *peer;
	l->done = fn;
	l->done_arg = fn_arg;
	l->job = (struct lmi_job){.run = run, .done = done, .arg = l};
	if (lmi_jobs_submit(d->registry, &l->job, &err) == LMD_OK)
		return;
	lmi_free(l);
	fn(fn_arg, NULL, &err);
}

/* ---- whether there is a key ---- */

enum lmd_status lmi_daemon_find_keys(struct lmi_daemon *d, bool *out, struct lmd_error *err)
{
	int64_t now = lmi_daemon_wall_ns(NULL);
	struct lmi_store_keys keys;
	enum lmd_status st = lmi_store_key_list(d->store, &keys, err);

	if (st != LMD_OK)
		return st;
	*out = false;
	for (uint32_t i = 0; i < keys.n; i++)
		*out |= !keys.v[i].expires_at || keys.v[i].expires_at > now;
	lmi_store_keys_fini(&keys);
	return LMD_OK;
}

static void count_run(void *arg)
{
	struct lmi_daemon *d = arg;

	if (lmi_daemon_find_keys(d, &d->counted_key, NULL) != LMD_OK)
		d->counted_key = true; /* not known: clients then need a key */
}

static void count_done(void *arg)
{
	struct lmi_daemon *d = arg;

	d->count_runs = false;
	d->has_key = d->counted_key;
	if (d->count_again)
		lmi_daemon_count_keys(d);
}

void lmi_daemon_count_keys(struct lmi_daemon *d)
{
	d->count_again = d->count_runs;
	if (d->count_runs)
		return;
	d->count_keys = (struct lmi_job){.run = count_run, .done = count_done, .arg = d};
	d->count_runs = lmi_jobs_submit(d->registry, &d->count_keys, NULL) == LMD_OK;
	d->has_key |= !d->count_runs;
}

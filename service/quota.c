/* SPDX-License-Identifier: MIT
 *
 * The quotas of keys.  A minute is a sliding window in slots of one second; a day is one of UTC, and
 * begins with what the registry says was used since midnight. */
#include "service/quota.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/comma_list.h"
#include "service/event.h"
#include "service/service_state.h"
#include "service/usage.h"

#define DAY_MS 86400000

static int64_t wall_ms(const struct lmi_service *svc)
{
	return svc->hooks.wall_ns ? svc->hooks.wall_ns(svc->hooks.arg) / (int64_t)LMI_NS_PER_MS : 0;
}

int32_t lmi_svc_today(const struct lmi_service *svc)
{
	return (int32_t)(wall_ms(svc) / DAY_MS);
}

static struct lmi_svc_quota *find(const struct lmi_service *svc, const char *label)
{
	struct lmi_svc_quota *q = svc->quotas;

	while (q && strcmp(q->label, label) != 0)
		q = q->next;
	return q;
}

struct lmi_svc_quota *lmi_svc_quota_find(const struct lmi_service *svc,
					 const struct lmi_svc_principal *principal)
{
	return *principal->key_label ? find(svc, principal->key_label) : NULL;
}

const char *lmi_svc_quota_key(const struct lmi_service *svc,
			      const struct lmi_svc_principal *principal)
{
	const struct lmi_svc_quota *q = lmi_svc_quota_find(svc, principal);

	return q ? q->key : "";
}

/* ---- the list ---- */

static void destroy(struct lmi_svc_quota *q)
{
	lmi_free(q->models);
	lmi_free(q);
}

void lmi_svc_quotas_fini(struct lmi_service *svc)
{
	struct lmi_svc_quota *q;

	while ((q = svc->quotas)) {
		svc->quotas = q->next;
		destroy(q);
	}
}

/* Takes over the quota of the i-th key. */
static enum lmd_status set(struct lmi_service *svc, const struct lmi_svc_key_usage *u, uint32_t i,
			   bool restored)
{
	const struct lmi_store_key *key = &u->keys.v[i];
	struct lmi_svc_quota *q = find(svc, key->label);
	const char *names = key->quota.models;
	char *models = names && *names ? lmi_strndup(names, strlen(names)) : NULL;

	if (names && *names && !models)
		return LMD_NOMEM;
	if (!q) {
		q = lmi_alloc(1, sizeof(*q));
		if (!q) {
			lmi_free(models);
			return LMD_NOMEM;
		}
		(void)snprintf(q->label, sizeof(q->label), "%s", key->label);
		(void)snprintf(q->key, sizeof(q->key), "%s", key->hash);
		q->next = svc->quotas;
		svc->quotas = q;
		restored = true;
	}
	if (restored) {
		q->day = u->day;
		q->day_tokens = u->tokens[i] + lmi_svc_usage_unwritten(svc, q->key, q->day);
	}
	lmi_free(q->models);
	q->models = models;
	q->rpm = key->quota.rpm;
	q->tpm = key->quota.tpm;
	q->tpd = key->quota.tpd;
	return LMD_OK;
}

static bool is_in(const struct lmi_store_keys *keys, const struct lmi_svc_quota *q)
{
	for (uint32_t i = 0; i < keys->n; i++)
		if (!strcmp(keys->v[i].label, q->label) && !strcmp(keys->v[i].hash, q->key))
			return true;
	return false;
}

enum lmd_status lmi_svc_quotas_set(struct lmi_service *svc, const struct lmi_svc_key_usage *u,
				   bool restored, struct lmd_error *err)
{
	struct lmi_svc_quota **p = &svc->quotas, *q;

	while ((q = *p)) {
		if (is_in(&u->keys, q)) {
			p = &q->next;
			continue;
		}
		*p = q->next;
		destroy(q);
	}
	for (uint32_t i = 0; i < u->keys.n; i++)
		if (set(svc, u, i, restored) != LMD_OK)
			return lmd_fail(err, LMD_NOMEM, "no memory for the quota of a key");
	return LMD_OK;
}

void lmi_svc_key_usage_fini(struct lmi_svc_key_usage *u)
{
	lmi_store_keys_fini(&u->keys);
}

enum lmd_status lmi_svc_key_usage_read(struct lmi_svc_key_usage *out, const struct lmi_service *svc,
				       struct lmd_error *err)
{
	struct lmi_svc_key_usage u = {.day = lmi_svc_today(svc)};
	enum lmd_status st = lmi_store_key_list(svc->o.store, &u.keys, err);
	char principal[LMI_SVC_USAGE_PRINCIPAL];

	if (st != LMD_OK)
		return st;
	u.tokens = lmi_arena_array(u.keys.arena, u.keys.n + 1u, sizeof(*u.tokens));
	if (!u.tokens)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the usage of %u keys", u.keys.n);
	for (uint32_t i = 0; i < u.keys.n && st == LMD_OK; i++) {
		(void)snprintf(principal, sizeof(principal), "key:%s", u.keys.v[i].label);
		st = lmi_store_usage_sum(svc->o.store, principal, u.keys.v[i].hash, u.day, u.day,
					 &u.tokens[i], err);
	}
	if (st == LMD_OK)
		*out = u;
	else
		lmi_svc_key_usage_fini(&u);
	return st;
}

/* ---- bounds ---- */

static uint64_t day_tokens(const struct lmi_service *svc, const struct lmi_svc_quota *q)
{
	return q->day == lmi_svc_today(svc) ? q->day_tokens : 0;
}

static uint32_t until_midnight_ms(const struct lmi_service *svc)
{
	return (uint32_t)(DAY_MS - wall_ms(svc) % DAY_MS);
}

/* Checks one quantity in the last minute. */
static enum lmd_status check_minute(const struct lmi_service *svc, const struct lmi_svc_quota *q,
				    const struct lmi_svc_window *used, uint64_t most,
				    const char *what, uint32_t *retry_ms, struct lmd_error *err)
{
	uint32_t wait_ms = most ? lmi_svc_window_retry_ms(used, svc->now, LMI_SVC_QUOTA_SECONDS, most)
				: 0;

	if (!wait_ms)
		return LMD_OK;
	*retry_ms = wait_ms;
	return lmd_fail(err, LMD_BUSY,
			"quota of the key '%s': %llu %s in the last minute, the maximum is %llu; "
			"retry in %u s",
			q->label,
			(unsigned long long)lmi_svc_window_sum(used, svc->now, LMI_SVC_QUOTA_SECONDS),
			what, (unsigned long long)most, (wait_ms + 999) / 1000);
}

/* Checks the day first, which is the longest wait. */
static enum lmd_status check(const struct lmi_service *svc, const struct lmi_svc_quota *q,
			     uint32_t *retry_ms, struct lmd_error *err)
{
	enum lmd_status st;

	if (q->tpd && day_tokens(svc, q) >= q->tpd) {
		*retry_ms = until_midnight_ms(svc);
		return lmd_fail(err, LMD_BUSY,
				"quota of the key '%s': %llu tokens today, the maximum of a day is "
				"%llu; retry after midnight UTC",
				q->label, (unsigned long long)day_tokens(svc, q),
				(unsigned long long)q->tpd);
	}
	st = check_minute(svc, q, &q->tokens, q->tpm, "tokens", retry_ms, err);
	return st == LMD_OK ? check_minute(svc, q, &q->requests, q->rpm, "requests", retry_ms, err)
			    : st;
}

/* A client that does not wait is reported once in a minute. */
static void report(struct lmi_service *svc, struct lmi_svc_quota *q,
		   const struct lmi_svc_principal *principal, const struct lmd_error *err)
{
	if (q->reported_ns && svc->now - q->reported_ns < UINT64_C(60000) * LMI_NS_PER_MS)
		return;
	q->reported_ns = svc->now;
	lmi_svc_event(svc, "quota_exceeded", principal, q->label, err ? err->text : "");
}

enum lmd_status lmi_svc_quota_take_request(struct lmi_service *svc,
					   const struct lmi_svc_principal *principal,
					   uint32_t *retry_ms, struct lmd_error *err)
{
	struct lmi_svc_quota *q = lmi_svc_quota_find(svc, principal);
	enum lmd_status st;

	if (!q)
		return LMD_OK;
	if (q->tpm || q->tpd)
		lmi_svc_usage_count_running(svc, svc->now);
	st = check(svc, q, retry_ms, err);
	if (st != LMD_OK)
		report(svc, q, principal, err);
	if (st == LMD_OK)
		lmi_svc_window_add(&q->requests, svc->now, 1);
	return st;
}

void lmi_svc_quota_return_request(struct lmi_service *svc,
				  const struct lmi_svc_principal *principal, uint64_t when)
{
	struct lmi_svc_quota *q = lmi_svc_quota_find(svc, principal);

	if (q)
		lmi_svc_window_take_back(&q->requests, when, 1);
}

void lmi_svc_quota_charge(struct lmi_service *svc, const struct lmi_svc_principal *principal,
			  uint64_t n_token)
{
	struct lmi_svc_quota *q = n_token ? lmi_svc_quota_find(svc, principal) : NULL;

	if (!q)
		return;
	q->day_tokens = day_tokens(svc, q) + n_token;
	q->day = lmi_svc_today(svc);
	lmi_svc_window_add(&q->tokens, svc->now, n_token);
}

bool lmi_service_over_quota(const struct lmi_service *svc, const struct lmi_svc_principal *principal)
{
	const struct lmi_svc_quota *q = lmi_svc_quota_find(svc, principal);
	uint32_t retry_ms;

	return q && check(svc, q, &retry_ms, NULL) != LMD_OK;
}

/* ---- models ---- */

bool lmi_svc_quota_allows(const struct lmi_service *svc, const struct lmi_svc_principal *principal,
			  const char *name, const char *alias)
{
	const struct lmi_svc_quota *q = lmi_svc_quota_find(svc, principal);

	return !q || !q->models || lmi_comma_list_has(q->models, name) ||
	       (alias && lmi_comma_list_has(q->models, alias));
}

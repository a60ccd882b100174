/* SPDX-License-Identifier: MIT
 *
 * quota.h - what an API key may use: requests and tokens per minute, tokens per day, and models.
 *
 * The service knows every key of the registry, with what it has used lately.  A quota is a bound of
 * its own beside the shares of users (user.h), and holds for administrators as well.  Tokens are
 * counted when they are used: a request that has begun runs to its end, and the next one is refused.
 * Days are those of UTC. */
#ifndef LLAMAD_SERVICE_QUOTA_H
#define LLAMAD_SERVICE_QUOTA_H

#include "service/service.h"
#include "service/window.h"
#include "store/store.h"

/* A window that has all of the last 60 seconds. */
#define LMI_SVC_QUOTA_SECONDS 61u
_Static_assert(LMI_SVC_QUOTA_SECONDS <= LMI_SVC_WINDOW_SLOTS, "a minute fits into a window");

struct lmi_svc_quota {
	struct lmi_svc_quota *next;
	char label[LMI_SVC_KEY_LABEL_MAX], key[LMI_STORE_DIGEST_HEX]; /* key: its hash */
	uint64_t rpm, tpm, tpd; /* 0: no limit */
	char *models;           /* names, separated by commas; NULL: all */
	struct lmi_svc_window requests, tokens;
	int32_t day; /* of day_tokens, since 1970-01-01 UTC */
	uint64_t day_tokens;
	uint64_t reported_ns; /* when a refusal was last reported; 0: never */
};

/* The keys of the registry, and what each has used on a day. */
struct lmi_svc_key_usage {
	struct lmi_store_keys keys;
	int32_t day;
	uint64_t *tokens; /* [keys.n] in the arena of keys */
};

/* Reads them, in the thread of the registry.  Call lmi_svc_usage_flush before the job is submitted. */
enum lmd_status lmi_svc_key_usage_read(struct lmi_svc_key_usage *out, const struct lmi_service *svc,
				       struct lmd_error *err);
void lmi_svc_key_usage_fini(struct lmi_svc_key_usage *u);
/* Takes over the quotas of changed keys.  What a key has used stays; of new keys, and of all keys
 * if `restored`, it becomes what the registry says.  On LMD_NOMEM some
 * quotas are the old ones. */
enum lmd_status lmi_svc_quotas_set(struct lmi_service *svc, const struct lmi_svc_key_usage *u,
				   bool restored, struct lmd_error *err);
void lmi_svc_quotas_fini(struct lmi_service *svc);

/* Returns the quota of the principal's key, or NULL if it has no key. */
struct lmi_svc_quota *lmi_svc_quota_find(const struct lmi_service *svc,
					 const struct lmi_svc_principal *principal);
/* Returns the hash of the principal's key, "" if it has none. */
const char *lmi_svc_quota_key(const struct lmi_service *svc,
			      const struct lmi_svc_principal *principal);
/* Counts one request.  Returns LMD_BUSY, and counts nothing, if the key has used up its quota;
 * *retry_ms is then when it will not have. */
enum lmd_status lmi_svc_quota_take_request(struct lmi_service *svc,
					   const struct lmi_svc_principal *principal,
					   uint32_t *retry_ms, struct lmd_error *err);
/* Takes back a request that was counted at the time `when`, since its model is unknown. */
void lmi_svc_quota_return_request(struct lmi_service *svc,
				  const struct lmi_svc_principal *principal, uint64_t when);
/* Counts tokens that were used. */
void lmi_svc_quota_charge(struct lmi_service *svc, const struct lmi_svc_principal *principal,
			  uint64_t n_token);
/* Returns whether the principal may use the model `name`; `alias` is the name in the request, or
 * NULL. */
bool lmi_svc_quota_allows(const struct lmi_service *svc, const struct lmi_svc_principal *principal,
			  const char *name, const char *alias);

/* What the registry says of a name that it does not have. */
#define LMI_SVC_MODEL_UNKNOWN "model '%s' does not exist"

/* The day of the hook wall_ns, since 1970-01-01 UTC. */
int32_t lmi_svc_today(const struct lmi_service *svc);

#endif /* LLAMAD_SERVICE_QUOTA_H */

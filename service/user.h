/* SPDX-License-Identifier: MIT
 *
 * user.h - what each user of the service holds at this moment, and how much of it a user may hold.
 *
 * A user is an owner of streams (stream.h). It is known while it holds something: a generation or a
 * pending request. Administrators are counted and never refused here; some places are theirs
 * alone. */
#ifndef LLAMAD_SERVICE_USER_H
#define LLAMAD_SERVICE_USER_H

#include "core/engine/device_arbiter.h"
#include "service/service.h"
#include "service/stream.h"

/* What a user, or all users together, hold at this moment. */
struct lmi_svc_account {
	uint32_t n_running, n_waiting; /* generations; waiting: accepted and not running */
	uint32_t n_call;               /* pending requests, without the readers of streams */
	uint64_t bytes;                /* copies of requests */
};

struct lmi_svc_user {
	struct lmi_svc_user *next;
	struct lmi_svc_owner owner;
	bool admin;
	uint32_t n_ref;
	struct lmi_svc_account held;
	uint64_t served[LMI_ENGINE_N_CLASS]; /* tokens, see fair_queue.h */
};

/* Finds or adds the user of a principal; NULL if out of memory. Give it back with
 * lmi_svc_user_unref. */
struct lmi_svc_user *lmi_svc_user_ref(struct lmi_service *svc,
				      const struct lmi_svc_principal *principal);
void lmi_svc_user_unref(struct lmi_service *svc, struct lmi_svc_user *u);

/* Adds to the accounts of the user and of all users together, or subtracts from them. */
void lmi_svc_user_hold(struct lmi_service *svc, struct lmi_svc_user *u,
		       const struct lmi_svc_account *d);
void lmi_svc_user_release(struct lmi_service *svc, struct lmi_svc_user *u,
			  const struct lmi_svc_account *d);

/* Returns LMD_BUSY if the principal may not have one more generation or one more pending request of
 * that many bytes, or one more reader that waits for a stream. */
enum lmd_status lmi_svc_user_admit_generation(const struct lmi_service *svc,
					      const struct lmi_svc_principal *principal,
					      size_t bytes, struct lmd_error *err);
enum lmd_status lmi_svc_user_admit_reader(const struct lmi_service *svc,
					  const struct lmi_svc_principal *principal,
					  struct lmd_error *err);
enum lmd_status lmi_svc_user_admit_call(const struct lmi_service *svc,
					const struct lmi_svc_principal *principal, size_t bytes,
					struct lmd_error *err);
/* Returns whether one more generation of the user may run now. */
bool lmi_svc_user_may_run(const struct lmi_service *svc, const struct lmi_svc_user *u);

#endif /* LLAMAD_SERVICE_USER_H */

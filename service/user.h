/* SPDX-License-Identifier: MIT
 *
 * user.h - what each user of the service holds at this moment, and how much of it a user may hold.
 *
 * A user is an owner of streams (stream.h). It is known while it holds something, and for some
 * seconds after it has used a work thread. Administrators are counted and never refused here, except
 * for the number of streams; some places are theirs alone. */
#ifndef LLAMAD_SERVICE_USER_H
#define LLAMAD_SERVICE_USER_H

#include "core/engine/device_arbiter.h"
#include "service/service.h"
#include "service/stream.h"
#include "service/window.h"

/* What a user, or all users together, hold at this moment.  All hard caps of a user are checked
 * against it here, except connections: those exist before their user is known, and are counted by
 * uid or address (daemon/front/conn_limiter.h). */
struct lmi_svc_account {
	uint32_t n_running, n_waiting; /* generations; waiting: accepted and not running */
	uint32_t n_call;               /* pending requests, without the readers of streams */
	uint32_t n_stream;             /* streams, unread ones that have ended included */
	uint64_t bytes;                /* copies of requests */
};

struct lmi_svc_user {
	struct lmi_svc_user *next;
	struct lmi_svc_owner owner;
	bool admin;
	uint32_t n_ref;
	struct lmi_svc_account held;
	uint64_t served[LMI_ENGINE_N_CLASS]; /* tokens, see fair_queue.h */
	struct lmi_svc_window work; /* processor time of work threads */
};

/* Finds or adds the user of a principal; NULL if out of memory. Give it back with
 * lmi_svc_user_unref; it stays known until the next lmi_svc_users_tick. */
struct lmi_svc_user *lmi_svc_user_ref(struct lmi_service *svc,
				      const struct lmi_svc_principal *principal);
void lmi_svc_user_unref(struct lmi_svc_user *u);

/* Forgets, at most once a second, the users that have no reference and have not used a work thread
 * for LMI_SVC_WORK_SECONDS: the cost of a request does not depend on the number of users. */
void lmi_svc_users_tick(struct lmi_service *svc, uint64_t now);

/* Forgets all users, none of which may hold anything. */
void lmi_svc_users_fini(struct lmi_service *svc);

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
/* Counts processor time of a work thread.  Without memory for the user it is not counted. */
void lmi_svc_user_charge_work(struct lmi_service *svc, const struct lmi_svc_principal *principal,
			      uint64_t ns);
/* Returns LMD_BUSY if the principal has had its share of the work threads' time, and when it will
 * have less than that.  The share does not hold while no other user has requests. */
enum lmd_status lmi_svc_user_admit_work(const struct lmi_service *svc,
					const struct lmi_svc_principal *principal,
					uint32_t *retry_ms, struct lmd_error *err);
/* Returns the number of streams of a principal. */
uint32_t lmi_svc_user_n_stream(const struct lmi_service *svc,
			       const struct lmi_svc_principal *principal);
/* Returns whether one more generation of the user may run now. */
bool lmi_svc_user_may_run(const struct lmi_service *svc, const struct lmi_svc_user *u);

#endif /* LLAMAD_SERVICE_USER_H */

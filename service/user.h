/* SPDX-License-Identifier: MIT
 *
 * user.h - what each user of the service holds at this moment, and how much of it a user may hold.
 *
 * A user is an owner of streams (stream.h). It is known while it holds something: a generation or a
 * pending request. Administrators are counted and never refused here; some places are theirs
 * alone. */
#ifndef LLAMAD_SERVICE_USER_H
#define LLAMAD_SERVICE_USER_H

#include "service/service.h"
#include "service/stream.h"

struct lmi_svc_user {
	struct lmi_svc_user *next;
	struct lmi_svc_owner owner;
	bool admin;
	uint32_t n_ref;
	uint32_t n_running, n_waiting; /* generations */
	uint32_t n_call;               /* pending requests */
	uint64_t bytes;                /* copies of its requests */
};

/* Finds or adds the user of a principal; NULL if out of memory. Give it back with
 * lmi_svc_user_unref. */
struct lmi_svc_user *lmi_svc_user_ref(struct lmi_service *svc,
				      const struct lmi_svc_principal *principal);
void lmi_svc_user_unref(struct lmi_service *svc, struct lmi_svc_user *u);

/* Returns LMD_BUSY if the principal may not have one more generation, or one more pending request
 * of that many bytes. */
enum lmd_status lmi_svc_user_admit_generation(const struct lmi_service *svc,
					      const struct lmi_svc_principal *principal,
					      struct lmd_error *err);
enum lmd_status lmi_svc_user_admit_call(const struct lmi_service *svc,
					const struct lmi_svc_principal *principal, size_t bytes,
					struct lmd_error *err);
/* Returns whether one more generation of the user may run now. */
bool lmi_svc_user_may_run(const struct lmi_service *svc, const struct lmi_svc_user *u);

#endif /* LLAMAD_SERVICE_USER_H */

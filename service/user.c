/* SPDX-License-Identifier: MIT
 *
 * The shares of users. A share that is not configured is three quarters, so that one user alone
 * never shuts out the others; of the places of all users together, one in sixteen is kept for
 * administrators. With fewer than four (sixteen) places nothing is kept. */
#include "service/user.h"

#include "core/base/alloc.h"
#include "service/service_state.h"

static struct lmi_svc_user *find(const struct lmi_service *svc,
				 const struct lmi_svc_principal *principal)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(principal);
	struct lmi_svc_user *u = svc->users;

	while (u && !lmi_svc_owner_same(&u->owner, &owner))
		u = u->next;
	return u;
}

struct lmi_svc_user *lmi_svc_user_ref(struct lmi_service *svc,
				      const struct lmi_svc_principal *principal)
{
	struct lmi_svc_user *u = find(svc, principal);

	if (!u) {
		u = lmi_alloc(1, sizeof(*u));
		if (!u)
			return NULL;
		u->owner = lmi_svc_owner_of(principal);
		u->next = svc->users;
		svc->users = u;
	}
	u->admin = principal->role == LMI_SVC_ROLE_ADMIN;
	u->n_ref++;
	return u;
}

void lmi_svc_user_unref(struct lmi_service *svc, struct lmi_svc_user *u)
{
	struct lmi_svc_user **p = &svc->users;

	if (--u->n_ref)
		return;
	while (*p != u)
		p = &(*p)->next;
	*p = u->next;
	lmi_free(u);
}

static uint64_t share(uint64_t configured, uint64_t all)
{
	if (!configured)
		return all - all / 4;
	return configured < all ? configured : all;
}

/* The places that are not kept for administrators. */
static uint64_t of_users(uint64_t all)
{
	return all - all / 16;
}

enum lmd_status lmi_svc_user_admit_generation(const struct lmi_service *svc,
					      const struct lmi_svc_principal *principal,
					      struct lmd_error *err)
{
	const struct lmi_service_limits *l = &svc->limits;
	const struct lmi_svc_user *u = find(svc, principal);
	uint64_t all = l->max_running + l->queue, n = (uint64_t)svc->n_running + svc->n_waiting;
	uint64_t most = share(l->max_running_per_user, l->max_running) +
			share(l->queue_per_user, l->queue);
	bool admin = principal->role == LMI_SVC_ROLE_ADMIN;

	if (n >= (admin ? all : of_users(all)))
		return lmd_fail(err, LMD_BUSY,
				"the server is busy: %u generations are running and %u are queued, the "
				"maximum is %llu (max_running) and %llu (queue)",
				svc->n_running, svc->n_waiting, (unsigned long long)l->max_running,
				(unsigned long long)l->queue);
	if (u && !admin && (uint64_t)u->n_running + u->n_waiting >= most)
		return lmd_fail(err, LMD_BUSY,
				"too many generations: %u of yours are running and %u are queued, "
				"the maximum of one user is %llu (max_running_per_user and "
				"queue_per_user)",
				u->n_running, u->n_waiting, (unsigned long long)most);
	return LMD_OK;
}

enum lmd_status lmi_svc_user_admit_call(const struct lmi_service *svc,
					const struct lmi_svc_principal *principal, size_t bytes,
					struct lmd_error *err)
{
	const struct lmi_service_limits *l = &svc->limits;
	const struct lmi_svc_user *u = find(svc, principal);
	uint32_t n = svc->n_call + svc->streams.n_reader;
	bool admin = principal->role == LMI_SVC_ROLE_ADMIN;

	if (n >= (admin ? l->calls : of_users(l->calls)))
		return lmd_fail(err, LMD_BUSY,
				"too many requests: %u are pending, the maximum is %llu", n,
				(unsigned long long)l->calls);
	if (!u || admin)
		return LMD_OK;
	if (u->n_call >= share(l->calls_per_user, l->calls))
		return lmd_fail(err, LMD_BUSY,
				"too many requests: %u of yours are pending, the maximum is %llu "
				"(calls_per_user)",
				u->n_call, (unsigned long long)share(l->calls_per_user, l->calls));
	if (u->bytes && u->bytes + bytes > l->bytes_per_user)
		return lmd_fail(err, LMD_BUSY,
				"too many bytes in requests: %llu of yours are pending, the maximum is "
				"%llu (bytes_per_user)",
				(unsigned long long)u->bytes,
				(unsigned long long)l->bytes_per_user);
	return LMD_OK;
}

bool lmi_svc_user_may_run(const struct lmi_service *svc, const struct lmi_svc_user *u)
{
	const struct lmi_service_limits *l = &svc->limits;

	if (u->admin)
		return true;
	return svc->n_running < of_users(l->max_running) &&
	       u->n_running < share(l->max_running_per_user, l->max_running);
}

/* SPDX-License-Identifier: MIT
 *
 * The shares of users. A share that is not configured is three quarters, so that one user alone
 * never shuts out the others; of the places of all users together, one in sixteen is kept for
 * administrators. With fewer than four (sixteen) places nothing is kept. */
#include "service/user.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
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

void lmi_svc_user_unref(struct lmi_svc_user *u)
{
	u->n_ref--;
}

void lmi_svc_users_tick(struct lmi_service *svc, uint64_t now)
{
	struct lmi_svc_user **p = &svc->users, *u;

	if (now < svc->users_when)
		return;
	svc->users_when = now + 1000 * LMI_NS_PER_MS;
	while ((u = *p)) {
		if (u->n_ref || lmi_svc_window_sum(&u->work, now, LMI_SVC_WORK_SECONDS)) {
			p = &u->next;
			continue;
		}
		*p = u->next;
		lmi_free(u);
	}
}

void lmi_svc_users_fini(struct lmi_service *svc)
{
	struct lmi_svc_user *u;

	while ((u = svc->users)) {
		svc->users = u->next;
		lmi_free(u);
	}
}

void lmi_svc_user_hold(struct lmi_service *svc, struct lmi_svc_user *u,
		       const struct lmi_svc_account *d)
{
	struct lmi_svc_account *accounts[] = {&u->held, &svc->held};

	for (size_t i = 0; i < LMD_LEN(accounts); i++) {
		accounts[i]->n_running += d->n_running;
		accounts[i]->n_waiting += d->n_waiting;
		accounts[i]->n_call += d->n_call;
		accounts[i]->n_stream += d->n_stream;
		accounts[i]->bytes += d->bytes;
	}
}

void lmi_svc_user_release(struct lmi_service *svc, struct lmi_svc_user *u,
			  const struct lmi_svc_account *d)
{
	struct lmi_svc_account *accounts[] = {&u->held, &svc->held};

	for (size_t i = 0; i < LMD_LEN(accounts); i++) {
		accounts[i]->n_running -= d->n_running;
		accounts[i]->n_waiting -= d->n_waiting;
		accounts[i]->n_call -= d->n_call;
		accounts[i]->n_stream -= d->n_stream;
		accounts[i]->bytes -= d->bytes;
	}
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

/* Returns the memory of all output that is kept for readers. Streams are counted only if they could
 * exceed `enough`. */
static uint64_t output_bytes(const struct lmi_service *svc, uint64_t enough)
{
	uint64_t n = 0;

	if (svc->streams.n * 2 * svc->limits.stream_bytes <= enough) /* buffers grow by doubling */
		return 0;
	for (const struct lmi_svc_stream *s = svc->streams.first; s; s = s->next)
		n += lmi_svc_output_memory(&s->out);
	return n;
}

/* Checks the bytes of one more request. A user who has no other request may have one of any size. */
static enum lmd_status admit_bytes(const struct lmi_service *svc, const struct lmi_svc_user *u,
				   bool admin, size_t bytes, struct lmd_error *err)
{
	const struct lmi_service_limits *l = &svc->limits;
	uint64_t most = admin ? l->buffer_bytes : of_users(l->buffer_bytes);
	uint64_t n = svc->held.bytes + bytes;

	if (n <= most)
		n += output_bytes(svc, most - n);
	if (n > most && svc->held.bytes)
		return lmd_fail(err, LMD_BUSY,
				"too many bytes: %llu of requests and of unread output would be kept, "
				"the maximum is %llu (buffer_bytes)",
				(unsigned long long)n, (unsigned long long)most);
	if (!u || admin || !u->held.bytes || u->held.bytes + bytes <= l->bytes_per_user)
		return LMD_OK;
	return lmd_fail(err, LMD_BUSY,
			"too many bytes in requests: %llu of yours are pending, the maximum is "
			"%llu (bytes_per_user)",
			(unsigned long long)u->held.bytes, (unsigned long long)l->bytes_per_user);
}

enum lmd_status lmi_svc_user_admit_generation(const struct lmi_service *svc,
					      const struct lmi_svc_principal *principal,
					      size_t bytes, struct lmd_error *err)
{
	const struct lmi_service_limits *l = &svc->limits;
	const struct lmi_svc_user *u = find(svc, principal);
	uint64_t all = l->max_running + l->queue, n = (uint64_t)svc->held.n_running + svc->held.n_waiting;
	uint64_t most = share(l->max_running_per_user, l->max_running) +
			share(l->queue_per_user, l->queue);
	bool admin = principal->role == LMI_SVC_ROLE_ADMIN;

	if (n >= (admin ? all : of_users(all)))
		return lmd_fail(err, LMD_BUSY,
				"the server is busy: %u generations are running and %u are queued, the "
				"maximum is %llu (max_running) and %llu (queue)",
				svc->held.n_running, svc->held.n_waiting, (unsigned long long)l->max_running,
				(unsigned long long)l->queue);
	if (u && !admin && (uint64_t)u->held.n_running + u->held.n_waiting >= most)
		return lmd_fail(err, LMD_BUSY,
				"too many generations: %u of yours are running and %u are queued, "
				"the maximum of one user is %llu (max_running_per_user and "
				"queue_per_user)",
				u->held.n_running, u->held.n_waiting, (unsigned long long)most);
	return admit_bytes(svc, u, admin, bytes, err);
}

enum lmd_status lmi_svc_user_admit_call(const struct lmi_service *svc,
					const struct lmi_svc_principal *principal, size_t bytes,
					struct lmd_error *err)
{
	const struct lmi_service_limits *l = &svc->limits;
	const struct lmi_svc_user *u = find(svc, principal);
	uint32_t n = svc->held.n_call + svc->streams.n_reader;
	bool admin = principal->role == LMI_SVC_ROLE_ADMIN;

	if (n >= (admin ? l->calls : of_users(l->calls)))
		return lmd_fail(err, LMD_BUSY,
				"too many requests: %u are pending, the maximum is %llu", n,
				(unsigned long long)l->calls);
	if (u && !admin && u->held.n_call >= share(l->calls_per_user, l->calls))
		return lmd_fail(err, LMD_BUSY,
				"too many requests: %u of yours are pending, the maximum is %llu "
				"(calls_per_user)",
				u->held.n_call, (unsigned long long)share(l->calls_per_user, l->calls));
	return admit_bytes(svc, u, admin, bytes, err);
}

/* Returns the number of readers that wait for streams of the owner. */
static uint64_t n_readers_of(const struct lmi_service *svc, const struct lmi_svc_owner *owner)
{
	uint64_t n = 0;

	for (const struct lmi_svc_stream *s = svc->streams.first; s; s = s->next)
		if (s->readers && lmi_svc_owner_same(&s->owner, owner))
			for (const struct lmi_svc_waiting_reader *p = s->readers; p; p = p->next)
				n++;
	return n;
}

enum lmd_status lmi_svc_user_admit_reader(const struct lmi_service *svc,
					  const struct lmi_svc_principal *principal,
					  struct lmd_error *err)
{
	const struct lmi_svc_owner owner = lmi_svc_owner_of(principal);
	const struct lmi_service_limits *l = &svc->limits;
	const struct lmi_svc_user *u = find(svc, principal);
	uint64_t n = (uint64_t)svc->held.n_call + svc->streams.n_reader;
	uint64_t most = share(l->calls_per_user, l->calls);
	bool admin = principal->role == LMI_SVC_ROLE_ADMIN;

	if (n >= (admin ? l->calls : of_users(l->calls)))
		return lmd_fail(err, LMD_BUSY,
				"too many requests: %llu are pending, the maximum is %llu",
				(unsigned long long)n, (unsigned long long)l->calls);
	if (admin || n < most) /* not even all of them together are too many */
		return LMD_OK;
	n = n_readers_of(svc, &owner) + (u ? u->held.n_call : 0);
	if (n < most)
		return LMD_OK;
	return lmd_fail(err, LMD_BUSY,
			"too many requests: %llu of yours are pending, the maximum is %llu "
			"(calls_per_user)",
			(unsigned long long)n, (unsigned long long)most);
}

/* ---- processor time ---- */

void lmi_svc_user_charge_work(struct lmi_service *svc, const struct lmi_svc_principal *principal,
			      uint64_t ns)
{
	struct lmi_svc_user *u = ns ? lmi_svc_user_ref(svc, principal) : NULL;

	if (!u)
		return;
	lmi_svc_window_add(&u->work, svc->now, ns);
	lmi_svc_user_unref(u);
}

/* Returns whether another user has a request, or had one that used a work thread in the window. */
static bool others_work(const struct lmi_service *svc, const struct lmi_svc_user *u)
{
	for (const struct lmi_svc_user *o = svc->users; o; o = o->next)
		if (o != u && (o->held.n_running || o->held.n_waiting || o->held.n_call ||
			       lmi_svc_window_sum(&o->work, svc->now, LMI_SVC_WORK_SECONDS)))
			return true;
	return false;
}

enum lmd_status lmi_svc_user_admit_work(const struct lmi_service *svc,
					const struct lmi_svc_principal *principal,
					uint32_t *retry_ms, struct lmd_error *err)
{
	const struct lmi_svc_user *u = find(svc, principal);
	uint64_t all = (uint64_t)LMI_SVC_WORK_SECONDS * 1000000000u * LMI_SVC_WORK_THREADS;
	uint64_t most = all / 100 * share(svc->limits.work_percent_per_user, 100);
	uint32_t wait_ms;

	if (!u || principal->role == LMI_SVC_ROLE_ADMIN)
		return LMD_OK;
	wait_ms = lmi_svc_window_retry_ms(&u->work, svc->now, LMI_SVC_WORK_SECONDS, most);
	if (!wait_ms || !others_work(svc, u))
		return LMD_OK;
	*retry_ms = wait_ms;
	return lmd_fail(err, LMD_BUSY,
			"too much processor time: your texts took %llu ms in the last %u s, the maximum "
			"is %llu ms while others use the server (work_percent_per_user)",
			(unsigned long long)(lmi_svc_window_sum(&u->work, svc->now, LMI_SVC_WORK_SECONDS) / 1000000),
			LMI_SVC_WORK_SECONDS, (unsigned long long)(most / 1000000));
}

uint32_t lmi_svc_user_n_stream(const struct lmi_service *svc,
			       const struct lmi_svc_principal *principal)
{
	const struct lmi_svc_user *u = find(svc, principal);

	return u ? u->held.n_stream : 0;
}

bool lmi_svc_user_may_run(const struct lmi_service *svc, const struct lmi_svc_user *u)
{
	const struct lmi_service_limits *l = &svc->limits;

	if (u->admin)
		return true;
	return svc->held.n_running < of_users(l->max_running) &&
	       u->held.n_running < share(l->max_running_per_user, l->max_running);
}

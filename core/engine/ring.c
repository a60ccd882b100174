/* SPDX-License-Identifier: MIT
 *
 * Bounded queues between threads. */
#include "core/engine/ring.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/adapter_bind.h"
#include "core/engine/transfer.h"

static void wake(int fd)
{
	const uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	(void)n; /* a full counter is already readable */
}

bool lmi_engine_eventfd_wait(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t count;
	ssize_t n;

	if (poll(&p, 1, timeout_ms) <= 0)
		return false;
	n = read(fd, &count, sizeof(count));
	(void)n; /* non-blocking: another thread may have emptied it */
	return true;
}

static enum lmd_status open_fd(int *fd, struct lmd_error *err)
{
	*fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return *fd >= 0 ? LMD_OK : lmd_fail(err, LMD_IO, "eventfd: %s", strerror(errno));
}

/* ---- events ---- */

enum lmd_status lmi_engine_event_ring_init(struct lmi_engine_event_ring *r, uint32_t n,
					   struct lmd_error *err)
{
	enum lmd_status st;

	*r = (struct lmi_engine_event_ring){.fd = -1, .size = 1};
	while (r->size < n)
		r->size *= 2;
	st = open_fd(&r->fd, err);
	if (st != LMD_OK)
		return st;
	r->v = lmi_alloc(r->size, sizeof(*r->v));
	return r->v ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for %u events", r->size);
}

void lmi_engine_event_ring_fini(struct lmi_engine_event_ring *r)
{
	struct lmi_engine_event ev;

	while (r->v && lmi_engine_event_ring_pop(r, &ev))
		lmi_engine_event_release(&ev);
	if (r->fd >= 0)
		(void)close(r->fd);
	lmi_free(r->v);
	*r = (struct lmi_engine_event_ring){.fd = -1};
}

uint32_t lmi_engine_event_ring_room(const struct lmi_engine_event_ring *r)
{
	return r->size - (atomic_load_explicit(&r->tail, memory_order_relaxed) -
			  atomic_load_explicit(&r->head, memory_order_acquire));
}

struct lmi_engine_event *lmi_engine_event_ring_next(struct lmi_engine_event_ring *r)
{
	assert(lmi_engine_event_ring_room(r));
	return &r->v[atomic_load_explicit(&r->tail, memory_order_relaxed) & (r->size - 1)];
}

void lmi_engine_event_ring_push(struct lmi_engine_event_ring *r)
{
	atomic_fetch_add(&r->tail, 1); /* must precede any check whether the reader wants to be
				        * woken */
}

void lmi_engine_event_ring_wake(struct lmi_engine_event_ring *r)
{
	wake(r->fd);
}

bool lmi_engine_event_ring_pop(struct lmi_engine_event_ring *r, struct lmi_engine_event *out)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (head == atomic_load(&r->tail))
		return false;
	*out = r->v[head & (r->size - 1)];
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
	return true;
}

/* ---- commands ---- */

enum lmd_status lmi_engine_command_queue_init(struct lmi_engine_command_queue *r, uint32_t n,
					      struct lmd_error *err)
{
	enum lmd_status st;

	*r = (struct lmi_engine_command_queue){.fd = -1, .size = n};
	(void)pthread_mutex_init(&r->lock, NULL); /* default attributes: cannot fail */
	st = open_fd(&r->fd, err);
	if (st != LMD_OK)
		return st;
	r->v = lmi_alloc(n, sizeof(*r->v));
	return r->v ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for %u commands", n);
}

void lmi_engine_command_queue_fini(struct lmi_engine_command_queue *r)
{
	struct lmi_engine_command o;

	if (!r->size)
		return;
	while (r->v && lmi_engine_command_queue_pop(r, &o)) {
		lmi_engine_job_destroy(o.start);
		lmi_engine_transfer_destroy(o.transfer);
		lmi_engine_adapter_binding_destroy(o.binding);
	}
	if (r->fd >= 0)
		(void)close(r->fd);
	(void)pthread_mutex_destroy(&r->lock);
	lmi_free(r->v);
	*r = (struct lmi_engine_command_queue){.fd = -1};
}

bool lmi_engine_command_queue_push(struct lmi_engine_command_queue *r,
				   const struct lmi_engine_command *o)
{
	uint32_t n;
	bool ok;

	(void)pthread_mutex_lock(&r->lock);
	n = atomic_load_explicit(&r->n, memory_order_relaxed);
	ok = n < r->size && !r->shut;
	if (ok) {
		r->v[(r->head + n) % r->size] = *o;
		atomic_store_explicit(&r->n, n + 1, memory_order_release);
	}
	(void)pthread_mutex_unlock(&r->lock);
	if (ok)
		wake(r->fd);
	return ok;
}

bool lmi_engine_command_queue_shut(struct lmi_engine_command_queue *r)
{
	(void)pthread_mutex_lock(&r->lock);
	r->shut = r->shut || !atomic_load_explicit(&r->n, memory_order_relaxed);
	(void)pthread_mutex_unlock(&r->lock);
	return r->shut;
}

bool lmi_engine_command_queue_pop(struct lmi_engine_command_queue *r,
				  struct lmi_engine_command *out)
{
	uint32_t n;

	if (!atomic_load_explicit(&r->n, memory_order_acquire))
		return false;
	(void)pthread_mutex_lock(&r->lock);
	n = atomic_load_explicit(&r->n, memory_order_relaxed);
	if (n) {
		*out = r->v[r->head];
		r->head = (r->head + 1) % r->size;
		atomic_store_explicit(&r->n, n - 1, memory_order_release);
	}
	(void)pthread_mutex_unlock(&r->lock);
	return n != 0;
}

void lmi_engine_command_queue_wake(struct lmi_engine_command_queue *r)
{
	wake(r->fd);
}

/* SPDX-License-Identifier: MIT
 *
 * The loop, on top of libevent.  libevent's timers use a coarse clock by default; the base is
 * created with precise ones, since replies are timed in milliseconds.  Other threads reach the loop
 * only through descriptors, so libevent needs no locks. */
#include "daemon/loop/loop.h"

#include <event2/event.h>
#include <stdbool.h>
#include <time.h>

#include "core/base/alloc.h"

struct watch {
	struct watch *next;
	struct event *ev;
	int fd; /* or the signal number */
	bool is_signal;
	lmi_loop_fn fn;
	void *arg;
};

struct lmi_loop {
	struct event_base *base;
	struct event *timer;
	struct watch *watches;
	bool stopped;
};

uint64_t lmi_loop_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct watch *w = arg;

	(void)fd;
	(void)what;
	if (w->fn)
		w->fn(w->arg);
}

enum lmd_status lmi_loop_create(struct lmi_loop **out, struct lmd_error *err)
{
	struct lmi_loop *l = lmi_alloc(1, sizeof(*l));
	struct event_config *config = event_config_new();

	if (l && config && !event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER))
		l->base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	if (l && l->base)
		l->timer = evtimer_new(l->base, on_timer, NULL);
	if (!l || !l->timer) {
		lmi_loop_destroy(l);
		return lmd_fail(err, LMD_NOMEM, "no memory for the loop");
	}
	*out = l;
	return LMD_OK;
}

struct event_base *lmi_loop_base(struct lmi_loop *l)
{
	return l->base;
}

static void watch_free(struct watch *w)
{
	if (w->ev)
		event_free(w->ev);
	lmi_free(w);
}

void lmi_loop_destroy(struct lmi_loop *l)
{
	if (!l)
		return;
	while (l->watches) {
		struct watch *w = l->watches;

		l->watches = w->next;
		watch_free(w);
	}
	if (l->timer)
		event_free(l->timer);
	if (l->base)
		event_base_free(l->base);
	lmi_free(l);
}

static enum lmd_status add(struct lmi_loop *l, int fd, bool is_signal, lmi_loop_fn fn, void *arg,
			   struct lmd_error *err)
{
	short what = (short)((is_signal ? EV_SIGNAL : EV_READ) | EV_PERSIST);
	struct watch *w = lmi_alloc(1, sizeof(*w));

	if (!w)
		return lmd_fail(err, LMD_NOMEM, "no memory for the loop");
	*w = (struct watch){.fd = fd, .is_signal = is_signal, .fn = fn, .arg = arg};
	w->ev = event_new(l->base, fd, what, on_event, w);
	if (!w->ev || event_add(w->ev, NULL)) {
		watch_free(w);
		return lmd_fail(err, LMD_NOMEM, "the loop cannot watch %s %d",
				is_signal ? "signal" : "descriptor", fd);
	}
	w->next = l->watches;
	l->watches = w;
	return LMD_OK;
}

enum lmd_status lmi_loop_watch(struct lmi_loop *l, int fd, lmi_loop_fn fn, void *arg,
			       struct lmd_error *err)
{
	return add(l, fd, false, fn, arg, err);
}

enum lmd_status lmi_loop_signal(struct lmi_loop *l, int signo, lmi_loop_fn fn, void *arg,
				struct lmd_error *err)
{
	return add(l, signo, true, fn, arg, err);
}

void lmi_loop_unwatch(struct lmi_loop *l, int fd)
{
	for (struct watch **p = &l->watches; *p; p = &(*p)->next) {
		struct watch *w = *p;

		if (w->is_signal || w->fd != fd)
			continue;
		*p = w->next;
		watch_free(w);
		return;
	}
}

void lmi_loop_run(struct lmi_loop *l, uint64_t (*tick)(void *arg, uint64_t now), void *arg)
{
	while (!l->stopped) {
		uint64_t now = lmi_loop_now(), until = tick(arg, now);

		if (l->stopped)
			break;
		evtimer_del(l->timer);
		if (until != UINT64_MAX) {
			uint64_t us;
			struct timeval tv;

			now = lmi_loop_now();
			/* round up, so that the deadline has passed when the timer fires */
			us = until > now ? (until - now + 999) / 1000 : 0;
			tv = (struct timeval){.tv_sec = (time_t)(us / 1000000),
					      .tv_usec = (suseconds_t)(us % 1000000)};
			evtimer_add(l->timer, &tv);
		}
		if (event_base_loop(l->base, EVLOOP_ONCE) < 0)
			break;
	}
}

void lmi_loop_stop(struct lmi_loop *l)
{
	l->stopped = true;
}

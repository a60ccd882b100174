/* SPDX-License-Identifier: MIT
 *
 * Turns of long bodies: decoding one takes the loop as long as several steps of an engine, so that they
 * get only the share of the time that pacer.h gives them.  Requests wait in the order in which their
 * bodies were complete.  LMI_HTTP_BODIES bounds the memory of all bodies; a request whose client
 * leaves is removed. */
#include "core/base/clock.h"
#include "daemon/http/http_impl.h"
#include "daemon/loop/loop.h"

/* Runs a request whose turn it is. */
static void run(struct lmi_http_exchange *x)
{
	struct lmi_http_server *h = x->h;
	uint64_t begin = lmi_clock_thread_ns();

	lmi_http_exchange_run(x);
	lmi_front_pacer_charge(&h->pacer, lmi_loop_now(), lmi_clock_thread_ns() - begin);
}

static void set_timer(struct lmi_http_server *h)
{
	uint64_t now = lmi_loop_now(), next = h->pacer.next_ns;
	uint64_t us = next > now ? (next - now + 999) / 1000 : 0;
	const struct timeval tv = {.tv_sec = (time_t)(us / 1000000),
				   .tv_usec = (suseconds_t)(us % 1000000)};

	event_add(h->turn_event, &tv);
}

void lmi_http_turn_wait(struct lmi_http_exchange *x)
{
	struct lmi_http_server *h = x->h;
	struct lmi_http_exchange **end = &h->turns;

	if (x->n_body <= LMI_FRONT_LONG_BYTES) {
		lmi_http_exchange_run(x);
		return;
	}
	if (!h->turns && lmi_front_pacer_ready(&h->pacer, lmi_loop_now())) {
		run(x);
		return;
	}
	while (*end)
		end = &(*end)->next_turn;
	*end = x;
	set_timer(h);
}

void lmi_http_turn_cancel(struct lmi_http_exchange *x)
{
	for (struct lmi_http_exchange **p = &x->h->turns; *p; p = &(*p)->next_turn)
		if (*p == x) {
			*p = x->next_turn;
			return;
		}
}

void lmi_http_turn_next(struct lmi_http_server *h)
{
	struct lmi_http_exchange *x = h->turns;

	if (x && lmi_front_pacer_ready(&h->pacer, lmi_loop_now())) {
		h->turns = x->next_turn;
		run(x);
	}
	if (h->turns)
		set_timer(h);
}

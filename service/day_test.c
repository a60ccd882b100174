/* SPDX-License-Identifier: MIT
 *
 * A simulated day of mixed load: generations of two models of which one has room, cancellations, clients that
 * leave, unloads, and kills of the daemon. Each request has exactly one end, every page is free once an hour,
 * and memory stays flat. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/service_fixture.h"

#define HOUR	 (3600000 * FX_MS)
#define N_STREAM 48
#define STEP_MS	 25u /* simulated time of a step */
#define PAUSE_MS 9000u /* mean time between two arrivals */

enum state { FREE, ASKED, OPEN, LEFT };

/* A request for a generation, and the reading of its stream. */
struct stream {
	enum state state;
	struct lmi_svc_principal who;
	struct lmi_wire_id id;
	uint64_t after;
	struct fx_answer a; /* of generate, then of next */
	bool waits;	    /* for a */
};

static struct {
	uint64_t asked, refused, done, cancelled, failed; /* how requests ended */
	uint64_t left, killed; /* their client left; the daemon was killed */
	uint64_t tokens, kills, cancels, unloads;
} n;

static struct fx fx;
static struct stream streams[N_STREAM];
static uint64_t seed;

static uint64_t rnd(uint64_t most)
{
	return lmd_rand(&seed) % most;
}

static uint64_t n_ended(void)
{
	return n.refused + n.done + n.cancelled + n.failed + n.left + n.killed;
}

static uint32_t n_open(void)
{
	uint32_t k = 0;

	for (int i = 0; i < N_STREAM; i++)
		k += streams[i].state != FREE;
	return k;
}

static struct stream *find(enum state state)
{
	uint32_t from = (uint32_t)rnd(N_STREAM);

	for (uint32_t i = 0; i < N_STREAM; i++)
		if (streams[(from + i) % N_STREAM].state == state)
			return &streams[(from + i) % N_STREAM];
	return NULL;
}

/* ---- what clients do ---- */

static void generate(void)
{
	struct stream *s = find(FREE);
	struct lmi_wire_request q;
	char prompt[60];

	if (!s)
		return;
	snprintf(prompt, sizeof(prompt), "%.*s", 3 + (int)rnd(50),
		 "a prompt whose beginning many of the others share with it");
	q = fx_generate(&fx, rnd(4) ? "tiny" : "other", prompt, 1 + (int64_t)rnd(60));
	if (!rnd(6)) {
		q.u.generate.has_timeout_ms = true;
		q.u.generate.timeout_ms = 1 + (int64_t)rnd(2000);
	}
	*s = (struct stream){.state = ASKED, .waits = true};
	s->who = (struct lmi_svc_principal){.uid = 1000 + (uint32_t)rnd(5),
					    .role = LMI_SVC_ROLE_USER,
					    .conn = 1 + rnd(20)};
	n.asked++;
	fx_ask(&fx, &s->who, &q, &s->a);
}

static void cancel(void)
{
	struct stream *s = find(OPEN);
	struct lmi_wire_request q;
	struct fx_answer a;

	if (!s)
		return;
	lmi_wire_request_init(&q, LMI_WIRE_OP_CANCEL);
	q.u.cancel.id = s->id;
	fx_ask(&fx, &s->who, &q, &a);
	fx_answer_fini(&a);
	n.cancels++;
}

static void leave(void)
{
	uint64_t conn = 1 + rnd(20);

	/* their requests and readers get an answer, which nobody reads */
	for (int i = 0; i < N_STREAM; i++)
		if (streams[i].state != FREE && streams[i].who.conn == conn)
			streams[i].state = LEFT;
	lmi_service_disconnected(fx.svc, fx.now, conn);
}

static void unload(void)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_UNLOAD, rnd(2) ? "tiny" : "other");
	struct fx_answer a;

	q.u.unload.force = rnd(2);
	fx_ask(&fx, &fx_admin, &q, &a);
	fx_wait(&fx, &a);
	fx_answer_fini(&a);
	n.unloads++;
}

/* The daemon ends at once; every request that waits is answered, streams are gone. */
static void kill_daemon(void)
{
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	fx.n_fd = 0;
	n.kills++;
	for (int i = 0; i < N_STREAM; i++) {
		ck_assert(!streams[i].waits || streams[i].a.n == 1);
		fx_answer_fini(&streams[i].a);
		n.killed += streams[i].state != FREE;
		streams[i] = (struct stream){0};
	}
}

/* ---- reading ---- */

static void count_end(const struct lmi_wire_item *item)
{
	n.done += item->kind == LMI_WIRE_ITEM_DONE;
	n.cancelled += item->kind == LMI_WIRE_ITEM_CANCELLED;
	n.failed += item->kind == LMI_WIRE_ITEM_ERROR;
}

/* Takes the reply to a reader; returns whether the stream has ended. */
static bool take_items(struct stream *s)
{
	const struct lmi_wire_rep_next *r = &s->a.r.u.next;

	for (uint32_t i = 0; i < r->n_items; i++) {
		ck_assert_uint_eq((uint64_t)r->items[i].n, ++s->after);
		ck_assert_int_eq(lmi_wire_item_final(r->items[i].kind), r->end && i + 1 == r->n_items);
		n.tokens += r->items[i].kind == LMI_WIRE_ITEM_TOKEN;
		if (lmi_wire_item_final(r->items[i].kind))
			count_end(&r->items[i]);
	}
	return r->end;
}

static void read_next(struct stream *s)
{
	struct lmi_wire_request q = fx_next(&s->id, s->after);

	q.u.next.has_wait_ms = true;
	q.u.next.wait_ms = 30000;
	s->waits = true;
	fx_ask(&fx, &s->who, &q, &s->a);
}

static void take_reply(struct stream *s)
{
	bool ends = false;

	s->waits = false;
	if (s->state == LEFT) {
		n.left++;
		ends = true;
	} else if (s->state == ASKED && s->a.failed) {
		n.refused++;
		ends = true;
	} else if (s->state == ASKED) {
		s->id = s->a.r.u.generate.id;
		s->state = OPEN;
	} else {
		ck_assert_msg(!s->a.failed, "%s", s->a.err.text);
		ends = take_items(s);
	}
	fx_answer_fini(&s->a);
	if (ends)
		*s = (struct stream){0};
	else
		read_next(s);
}

static void turn(void)
{
	(void)fx_job(&fx);
	fx_turn(&fx);
	for (int i = 0; i < N_STREAM; i++)
		while (streams[i].waits && streams[i].a.n)
			take_reply(&streams[i]);
}

/* ---- the day ---- */

static void act(void)
{
	uint64_t what = rnd(100);

	if (what < 78)
		generate();
	else if (what < 90)
		cancel();
	else if (what < 96)
		leave();
	else
		unload();
}

/* Runs until a time; arrivals come in between. */
static void run_until(uint64_t end, bool arrivals)
{
	uint64_t next = fx.now + rnd(2 * PAUSE_MS) * FX_MS;

	while (fx.now < end) {
		struct lmi_service_stats s;
		uint64_t when;

		turn();
		s = fx_stats(&fx);
		ck_assert_uint_eq(s.n_done + s.n_cancelled + s.n_failed + s.n_invalid + s.n_busy +
					  s.n_running + s.n_waiting,
				  s.n_request);
		if (arrivals && fx.now >= next) {
			/* sometimes many at once */
			for (uint64_t k = rnd(12) ? 1 : rnd(20); k > 0; k--)
				act();
			next = fx.now + rnd(2 * PAUSE_MS) * FX_MS;
		}
		when = fx.now + STEP_MS * FX_MS;
		if (!s.n_running && !s.n_waiting) {
			when = lmi_service_deadline(fx.svc);
			when = arrivals && next < when ? next : when;
			when = when > fx.now ? when : fx.now + FX_MS;
		}
		fx.now = when < end ? when : end;
	}
	for (int i = 0; i < 4; i++)
		turn(); /* jobs that have begun */
}

START_TEST(a_day)
{
	uint64_t n_live = 0, first_bytes = 0, most = 0;
	struct lmi_alloc_stats m;
	struct lmi_service_stats s;

	fx_init(&fx);
	seed = lmd_seed("service day", 4);
	fx.o.limits.max_running = 6;
	fx.o.limits.queue = 12;
	fx.o.limits.models = 1;
	fx.o.inst.kv_tokens = 400;
	fx.o.inst.n_ctx = 128;
	for (int hour = 0; hour < 24; hour++) {
		if (!fx.svc)
			fx_start(&fx);
		run_until(fx.now + HOUR - 1300000 * FX_MS, true);
		if (hour % 3 == 2) {
			for (uint64_t k = 5 + rnd(10), i = 0; i < k; i++) {
				generate();
				turn();
			}
			kill_daemon();
			lmi_alloc_stats(&m);
			n_live = n_live ? n_live : m.n_live; /* some are made once */
			ck_assert_uint_eq(m.n_live, n_live);
			fx.now += 1300000 * FX_MS;
			continue;
		}
		run_until(fx.now + 100000 * FX_MS, false);
		ck_assert_uint_eq(n_open(), 0);
		s = fx_stats(&fx);
		ck_assert_uint_eq(s.n_running + s.n_waiting + s.n_parked, 0);
		ck_assert_uint_eq(s.n_page, s.n_page_free);
		run_until(fx.now + 1200000 * FX_MS, false); /* models and leases end */
		s = fx_stats(&fx);
		ck_assert_msg(!s.n_stream && !s.n_model, "hour %d: %u streams, %u models", hour,
			      s.n_stream, s.n_model);
		lmi_alloc_stats(&m);
		if (!hour)
			first_bytes = m.live_bytes;
		most = m.live_bytes > most ? m.live_bytes : most;
		ck_assert_uint_eq(n_ended(), n.asked);
	}
	printf("%llu requests: %llu done, %llu cancelled, %llu failed, %llu refused, %llu left, "
	       "%llu killed; %llu tokens, %llu kills, %llu cancels, %llu unloads; memory without "
	       "work %llu to %llu bytes\n",
	       (unsigned long long)n.asked, (unsigned long long)n.done,
	       (unsigned long long)n.cancelled, (unsigned long long)n.failed,
	       (unsigned long long)n.refused, (unsigned long long)n.left,
	       (unsigned long long)n.killed, (unsigned long long)n.tokens,
	       (unsigned long long)n.kills, (unsigned long long)n.cancels,
	       (unsigned long long)n.unloads, (unsigned long long)first_bytes,
	       (unsigned long long)most);
	ck_assert_uint_eq(n_ended(), n.asked);
	ck_assert_uint_gt(n.done, 3000);
	ck_assert_uint_gt(n.cancelled, 100);
	ck_assert_uint_gt(n.left, 50);
	ck_assert_uint_le(most, first_bytes + 65536);
	fx_fini(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("a simulated day");
	TCase *t = tcase_create("a simulated day");

	tcase_set_timeout(t, 600);
	tcase_add_test(t, a_day);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

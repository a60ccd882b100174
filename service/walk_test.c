/* SPDX-License-Identifier: MIT
 *
 * A random walk of requests, readers, ending connections, loads, unloads, and allocation failures.
 * Whatever happens, every request gets one reply, every accepted generation ends once, and nothing
 * is left. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/service_fixture.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

/* ---- the walk ---- */

#define N_OP     10000
#define N_STREAM 300
#define N_WAIT   400

struct known {
	bool used;
	struct lmi_wire_id id;
	struct lmi_svc_principal who;
	uint64_t after;
	uint32_t n_end; /* final items read at a new cursor */
};

/* A pending request; `of` is its stream, or N_STREAM. */
struct waiting {
	bool used;
	struct fx_answer a;
	enum lmi_wire_op op;
	uint32_t of;
	uint64_t after;
	struct lmi_svc_principal who;
};

static struct known known[N_STREAM];
static struct waiting waits[N_WAIT];
static uint64_t seed;
static uint32_t n_final, n_refused, n_kind[LMI_WIRE_N_ITEM];

static uint64_t rnd(uint64_t n)
{
	return lmd_rand(&seed) % n;
}

static void remember(const struct lmi_wire_id *id, const struct lmi_svc_principal *who)
{
	struct known *k = &known[rnd(N_STREAM)];

	*k = (struct known){.used = true, .id = *id, .who = *who};
}

static void take_next(struct known *k, const struct waiting *w)
{
	const struct lmi_wire_rep_next *r = &w->a.r.u.next;
	uint64_t number = w->after;

	for (uint32_t i = 0; i < r->n_items; i++) {
		ck_assert_uint_eq((uint64_t)r->items[i].n, ++number);
		ck_assert_int_eq(lmi_wire_item_final(r->items[i].kind),
				 r->end && i + 1 == r->n_items);
		n_kind[r->items[i].kind]++;
	}
	ck_assert_uint_eq((uint64_t)r->last, number);
	if (!k || number <= k->after)
		return;
	k->after = number;
	if (r->end) {
		ck_assert_uint_eq(k->n_end, 0); /* once */
		k->n_end++;
		n_final++;
	}
}

/* Handles replies. */
static void collect(void)
{
	for (uint32_t i = 0; i < N_WAIT; i++) {
		struct waiting *w = &waits[i];
		struct known *k = w->of < N_STREAM ? &known[w->of] : NULL;

		if (!w->used || !w->a.n)
			continue;
		n_refused += w->a.failed;
		if (!w->a.failed && w->op == LMI_WIRE_OP_GENERATE)
			remember(&w->a.r.u.generate.id, &w->who);
		if (!w->a.failed && w->op == LMI_WIRE_OP_NEXT) {
			if (k && !lmi_wire_id_equal(&k->id, &w->a.r.u.next.id))
				k = NULL; /* its entry was reused */
			take_next(k, w);
		}
		fx_answer_fini(&w->a);
		w->used = false;
	}
}

static void ask(const struct lmi_svc_principal *who, const struct lmi_wire_request *q, uint32_t of,
		uint64_t after)
{
	for (uint32_t i = 0; i < N_WAIT; i++) {
		if (waits[i].used)
			continue;
		waits[i] = (struct waiting){
			.used = true, .op = q->op, .of = of, .after = after, .who = *who};
		fx_ask(&fx, who, q, &waits[i].a);
		return;
	}
}

static struct lmi_svc_principal somebody(void)
{
	struct lmi_svc_principal p = {.uid = 1000 + (uint32_t)rnd(3), .role = LMI_SVC_ROLE_USER};

	p.conn = 1 + rnd(12);
	return p;
}

static void generate(void)
{
	static const char *const models[] = {"tiny", "tiny", "tiny", "other", "nobody"};
	struct lmi_svc_principal who = somebody();
	struct lmi_wire_request q =
		fx_generate(&fx, models[rnd(5)], "some words", (int64_t)rnd(60) - 1);
	char rid[8];

	if (!rnd(4)) { /* sometimes repeated */
		snprintf(rid, sizeof(rid), "x%u", (unsigned)rnd(20));
		q.rid = (struct lmd_str){.ptr = rid, .len = strlen(rid)};
		q.u.generate.n = 10;
		q.u.generate.model = (struct lmd_str){.ptr = "tiny", .len = 4};
	}
	if (!rnd(5)) {
		q.u.generate.has_timeout_ms = true;
		q.u.generate.timeout_ms = 1 + (int64_t)rnd(50);
	}
	if (!rnd(5)) {
		q.u.generate.has_lease_ms = true;
		q.u.generate.lease_ms = 1000;
	}
	if (!rnd(10))
		q.u.generate.seed = 7, q.u.generate.has_seed = true, q.u.generate.has_temp = true,
		q.u.generate.temp = 1;
	ask(&who, &q, N_STREAM, 0);
}

static void next(void)
{
	uint32_t i = (uint32_t)rnd(N_STREAM);
	struct known *k = &known[i];
	struct lmi_svc_principal who = k->who;
	struct lmi_wire_request q;

	if (!k->used)
		return;
	if (!rnd(8))
		who = somebody(); /* not found, or another connection */
	q = fx_next(&k->id, rnd(10) ? k->after : rnd(70));
	q.u.next.max = 1 + (int64_t)rnd(20);
	q.u.next.has_wait_ms = q.u.next.has_hold_ms = true;
	q.u.next.wait_ms = (int64_t)rnd(200);
	q.u.next.hold_ms = (int64_t)rnd(30);
	ask(&who, &q, i, (uint64_t)q.u.next.after);
}

static void cancel(void)
{
	struct known *k = &known[rnd(N_STREAM)];
	struct lmi_wire_request q;

	if (!k->used)
		return;
	lmi_wire_request_init(&q, LMI_WIRE_OP_CANCEL);
	q.u.cancel.id = k->id;
	ask(&k->who, &q, N_STREAM, 0);
}

static void admin(void)
{
	static const enum lmi_wire_op ops[] = {
		LMI_WIRE_OP_LOAD,  LMI_WIRE_OP_UNLOAD, LMI_WIRE_OP_RELOAD,  LMI_WIRE_OP_PS,
		LMI_WIRE_OP_STATS, LMI_WIRE_OP_MODELS, LMI_WIRE_OP_STREAMS, LMI_WIRE_OP_STATUS,
		LMI_WIRE_OP_PING,  LMI_WIRE_OP_HELLO,  LMI_WIRE_OP_LIMITS,  LMI_WIRE_OP_INFO};
	struct lmi_wire_request q = fx_on(&fx, ops[rnd(LMD_LEN(ops))], rnd(2) ? "tiny" : "other");

	if (q.op == LMI_WIRE_OP_UNLOAD)
		q.u.unload.force = rnd(2);
	ask(&fx_admin, &q, N_STREAM, 0);
}

static void check(void)
{
	struct lmi_service_stats s = fx_stats(&fx);

	ck_assert_uint_le(s.n_running, fx.o.limits.max_running);
	ck_assert_uint_le(s.n_running + s.n_waiting, fx.o.limits.max_running + fx.o.limits.queue);
	ck_assert_uint_eq(s.n_done + s.n_cancelled + s.n_failed + s.n_invalid + s.n_busy + s.n_running +
				  s.n_waiting,
			  s.n_request);
	ck_assert_uint_le(s.n_page_free, s.n_page);
}

static void one(void)
{
	switch (rnd(16)) {
	case 0:
	case 1:
	case 2:
		generate();
		break;
	case 3:
	case 4:
	case 5:
	case 6:
		next();
		break;
	case 7:
		if (!rnd(3))
			cancel();
		break;
	case 8:
		if (!rnd(6))
			lmi_service_disconnected(fx.svc, fx.now, 1 + rnd(12));
		break;
	case 9:
		if (!rnd(4))
			admin();
		break;
	case 10:
		(void)fx_job(&fx);
		break;
	case 11:
		if (!rnd(200))
			fx.now += 12000 * FX_MS; /* leases end */
		break;
	default:
		fx.now += rnd(3) * FX_MS;
		fx_turn(&fx);
	}
}

START_TEST(random_walk)
{
	struct lmi_service_stats s;

	seed = lmd_seed("service walk", 11 + (uint64_t)_i);
	fx.o.limits.max_running = 5;
	fx.o.limits.queue = 20;
	fx.o.limits.streams = 60;
	fx.o.limits.models = 2;
	fx.o.limits.fail_ms = 10;
	fx.o.inst.kv_tokens = 300;
	fx.o.inst.n_ctx = 128;
	fx_start(&fx);
	for (int i = 0; i < N_OP; i++) {
		one();
		collect();
		check();
	}
	/* all clients disconnect */
	for (uint64_t conn = 1; conn <= 12; conn++)
		lmi_service_disconnected(fx.svc, fx.now, conn);
	fx_settle(&fx);
	fx.now += 700000 * FX_MS;
	fx_settle(&fx);
	fx.now += 700000 * FX_MS;
	fx_settle(&fx);
	collect();
	for (uint32_t i = 0; i < N_WAIT; i++)
		ck_assert(!waits[i].used); /* every request was answered */
	s = fx_stats(&fx);
	ck_assert_uint_eq(s.n_running + s.n_waiting + s.n_parked + s.n_stream, 0);
	ck_assert_uint_eq(s.n_page, s.n_page_free);
	ck_assert_uint_eq(s.n_done + s.n_cancelled + s.n_failed + s.n_invalid + s.n_busy, s.n_request);
	printf("%llu generations: %llu done, %llu cancelled, %llu failed; %u ends were read, "
	       "%u calls refused\n",
	       (unsigned long long)s.n_request, (unsigned long long)s.n_done,
	       (unsigned long long)s.n_cancelled, (unsigned long long)s.n_failed, n_final,
	       n_refused);
	ck_assert_uint_gt(s.n_done, 50);
	ck_assert_uint_gt(s.n_cancelled, 20);
	ck_assert_uint_gt(n_kind[LMI_WIRE_ITEM_TOKEN], 500);
}
END_TEST

/* The service and its models are destroyed while everything is running. */
START_TEST(destroyed_at_any_moment)
{
	seed = lmd_seed("service end", 3 + (uint64_t)_i);
	fx.o.limits.max_running = 3;
	fx_start(&fx);
	for (uint64_t n = rnd(400); n; n--) {
		one();
		collect();
	}
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	collect();
	for (uint32_t i = 0; i < N_WAIT; i++)
		ck_assert(!waits[i].used);
}
END_TEST

/* ---- memory that runs out ---- */

/* The contents of a reply, stored without allocation. */
struct plain {
	uint32_t n;
	bool failed, end, done;
	struct lmi_wire_id id;
	uint64_t last;
};

static void on_reply(void *arg, const struct lmi_wire_reply *r, const struct lmd_error *err,
		     uint32_t retry_ms)
{
	struct plain *p = arg;

	(void)retry_ms;
	ck_assert_uint_eq(p->n++, 0);
	p->failed = !r;
	if (!r)
		ck_assert_msg(err->status == LMD_NOMEM, "%s", err->text);
	if (!r)
		return;
	if (r->op == LMI_WIRE_OP_GENERATE) {
		p->id = r->u.generate.id;
		return;
	}
	for (uint32_t i = 0; i < r->u.next.n_items; i++) {
		const struct lmi_wire_item *item = &r->u.next.items[i];

		if (item->kind == LMI_WIRE_ITEM_ERROR)
			ck_assert_int_eq(item->u.error.code, LMD_NOMEM);
		p->done |= item->kind == LMI_WIRE_ITEM_DONE;
	}
	p->last = (uint64_t)r->u.next.last;
	p->end = r->u.next.end;
}

/* A generation and its reader, with one failing allocation: it ends with an error or a success, and
 * nothing is left in either case.  Returns whether it succeeded. */
static bool try_one(void)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "hello", 5);
	struct plain a = {0}, b = {0};
	uint64_t after = 0;

	lmi_service_call(fx.svc, fx.now, &fx_user, &q, on_reply, &a);
	for (int i = 0; i < 100 && !a.n; i++) {
		(void)fx_job(&fx);
		fx_turn(&fx);
	}
	ck_assert_uint_eq(a.n, 1);
	for (int i = 0; i < 200 && !a.failed && !b.end; i++) {
		q = fx_next(&a.id, after);
		q.u.next.has_wait_ms = true; /* 0: only available items */
		b.n = 0;
		lmi_service_call(fx.svc, fx.now, &fx_user, &q, on_reply, &b);
		ck_assert_uint_eq(b.n, 1);
		after = b.failed ? after : b.last;
		(void)fx_job(&fx);
		fx_turn(&fx);
	}
	ck_assert(a.failed || b.end);
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	return b.done;
}

START_TEST(every_allocation_may_fail)
{
	struct lmi_alloc_stats before, after;
	uint64_t nth, n_done = 0;

	fx.o.limits.rid_ms = 1000;
	if (_i) { /* the model is unloaded after each and loaded again */
		fx.o.limits.keep_alive_ms = 1000;
		fx.o.limits.fail_max_ms = 1000;
	}
	fx_start(&fx);
	ck_assert(try_one()); /* fills the caches */
	fx.now += 2000 * FX_MS;
	fx_settle(&fx);
	lmi_alloc_stats(&before);
	for (nth = 1;; nth++) {
		bool failed;

		lmi_alloc_fail_nth(nth, false);
		n_done += try_one();
		failed = lmi_alloc_did_fail();
		lmi_alloc_fail_nth(0, false);
		fx.now += 2000 * FX_MS; /* request ids are forgotten */
		fx_settle(&fx);
		if (!failed)
			break;
		lmi_alloc_stats(&after);
		ck_assert_msg(before.n_live == after.n_live, "allocation %llu leaks %lld",
			      (unsigned long long)nth, (long long)(after.n_live - before.n_live));
	}
	printf("%llu allocations, %llu done all the same\n", (unsigned long long)nth,
	       (unsigned long long)n_done);
	ck_assert_uint_gt(nth, 30);
}
END_TEST

/* ---- growth ---- */

START_TEST(many_requests_take_no_memory)
{
	struct lmi_alloc_stats s, first = {0};
	char text[64];

	fx_start(&fx);
	for (int i = 0; i < 10000; i++) {
		struct lmi_wire_request q = fx_generate(&fx, "tiny", "hello", 1);
		struct lmi_wire_id id;

		ck_assert(fx_call(&fx, &fx_user, &q));
		id = fx.a.r.u.generate.id;
		(void)fx_read(&fx, &fx_user, &id, text, sizeof(text));
		fx.now += 100 * FX_MS; /* ten a second: ids are remembered for ten minutes */
		lmi_alloc_stats(&s);
		if (i == 7000)
			first = s;
	}
	ck_assert_uint_le(s.n_live, first.n_live + 100);
	ck_assert_uint_le(s.live_bytes, first.live_bytes + first.live_bytes / 100);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("service walk");
	TCase *t = tcase_create("walk");

	tcase_set_timeout(t, 240);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, random_walk, 0, 3);
	tcase_add_loop_test(t, destroyed_at_any_moment, 0, 10);
	tcase_add_loop_test(t, every_allocation_may_fail, 0, 2);
	tcase_add_test(t, many_requests_take_no_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * The service as its fronts see it, without sockets, threads and clocks. */
#include "tests/service_fixture.h"

#include "core/base/alloc.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

/* Starts a generation and gives its id. */
static struct lmi_wire_id begin(const struct lmi_principal *who, const char *prompt, int64_t n)
{
	struct lmi_request q = fx_generate(&fx, "tiny", prompt, n);

	ck_assert_msg(fx_call(&fx, who, &q), "%s", fx.a.err.text);
	return fx.a.r.u.generate.id;
}

/* Nothing is left: no session, no stream's work, no page. */
static void check_empty(void)
{
	struct lmi_service_stats s = fx_stats(&fx);

	ck_assert_uint_eq(s.n_running, 0);
	ck_assert_uint_eq(s.n_waiting, 0);
	ck_assert_uint_eq(s.n_parked, 0);
	ck_assert_uint_eq(s.n_page, s.n_page_free);
	ck_assert_uint_eq(s.n_done + s.n_cancelled + s.n_failed, s.n_request);
}

static void load(void)
{
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
}

/* ---- generations ---- */

START_TEST(a_generation)
{
	char text[256], want[256];
	struct lmi_wire_item end;
	struct lmi_wire_id id;

	fx_start(&fx);
	id = begin(&fx_user, "hello", 40);
	end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	fx_expect("hello", 40, want);
	ck_assert_str_eq(text, want);
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(end.u.done.finish, LMI_WIRE_FINISH_LENGTH);
	ck_assert_int_eq(end.u.done.n_prompt, 5);
	ck_assert_int_eq(end.u.done.n_out, 40);
	check_empty();
	/* once more, from the model that is in memory now */
	id = begin(&fx_user, "abc", 3);
	(void)fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_str_eq(text, "def");
}
END_TEST

START_TEST(what_is_wrong_is_said_at_once)
{
	struct lmi_request q;
	lmd_token bad[] = {1, 5000};
	struct lmi_wire_sampler chain = {.name = "nonsense"};

	fx_start(&fx);
#define REFUSED(status_, word)                                                                     \
	do {                                                                                       \
		ck_assert(!fx_call(&fx, &fx_user, &q));                                            \
		ck_assert_msg(fx.a.err.status == status_, "%s", fx.a.err.text);                    \
		ck_assert_msg(strstr(fx.a.err.text, word) != NULL, "%s", fx.a.err.text);           \
		ck_assert_uint_eq(fx_stats(&fx).n_stream, 0);                                      \
	} while (0)
	q = fx_generate(&fx, "nobody", "a", 1);
	REFUSED(LMD_NOTFOUND, "nobody");
	load();
	fx_settle(&fx);
	lmi_service_gone(fx.svc, fx.now, fx_admin.conn);
	(void)begin(&fx_user, "warm", 1); /* now the name is known, and answers come at once */
	lmi_service_gone(fx.svc, fx.now, fx_user.conn);
	fx_settle(&fx);
	q = fx_generate(&fx, "tiny", "a", 1);
	q.u.generate.has_prompt = false;
	q.u.generate.has_tokens = true;
	q.u.generate.tokens = bad;
	q.u.generate.n_tokens = 2;
	REFUSED(LMD_INVALID, "token 1 is 5000");
	q.u.generate.n_tokens = 0;
	q.rid = (struct lmd_str){.ptr = "other", .len = 5};
	REFUSED(LMD_INVALID, "0 tokens");
	q = fx_generate(&fx, "tiny", "a", 1);
	q.u.generate.has_chain = true;
	q.u.generate.chain = &chain;
	q.u.generate.n_chain = 1;
	REFUSED(LMD_NOTFOUND, "nonsense");
	{
		static char longer[400];

		memset(longer, 'a', sizeof(longer) - 1);
		q = fx_generate(&fx, "tiny", longer, 1);
		REFUSED(LMD_INVALID, "399 tokens are more than the context of 256");
	}
#undef REFUSED
	check_empty();
}
END_TEST

/* Every limit of a request, on both sides. */
START_TEST(limits_of_a_request)
{
	static char text[64], stop[16];
	struct lmd_str stops[3];
	struct lmd_bias bias[3] = {{.id = 1}, {.id = 2}, {.id = 3}};
	struct lmi_request q;
	char out[256];

	memset(text, 'a', sizeof(text));
	memset(stop, 'Z', sizeof(stop));
	for (int i = 0; i < 3; i++)
		stops[i] = (struct lmd_str){.ptr = stop, .len = 8};
	fx.o.limits.text_bytes = 40;
	fx.o.limits.stops = 2;
	fx.o.limits.stop_bytes = 8;
	fx.o.limits.biases = 2;
	fx.o.limits.output_max = 50;
	fx.o.limits.output_default = 7;
	fx.o.limits.timeout_max = 5000;
	fx.o.limits.timeout_default = 5000;
	fx.o.limits.lease_max = 20000;
	fx_start(&fx);
#define BOTH(word, below, above)                                                                   \
	do {                                                                                       \
		q = fx_generate(&fx, "tiny", "a", 3);                                              \
		below;                                                                             \
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);                    \
		{                                                                                  \
			struct lmi_wire_id id = fx.a.r.u.generate.id;                              \
			ck_assert_int_eq(fx_read(&fx, &fx_user, &id, out, sizeof(out)).kind,       \
					 LMI_WIRE_ITEM_DONE);                                      \
		}                                                                                  \
		q = fx_generate(&fx, "tiny", "a", 3);                                              \
		above;                                                                             \
		ck_assert(!fx_call(&fx, &fx_user, &q));                                            \
		ck_assert_int_eq(fx.a.err.status, LMD_INVALID);                                    \
		ck_assert_msg(strstr(fx.a.err.text, word) != NULL, "%s", fx.a.err.text);           \
	} while (0)
	struct lmi_req_generate *g = &q.u.generate;
	BOTH("prompt", (g->prompt = (struct lmd_str){text, 40}),
	     (g->prompt = (struct lmd_str){text, 41}));
	BOTH("stop", (g->stop = stops, g->n_stop = 2), (g->stop = stops, g->n_stop = 3));
	BOTH("stop", (g->stop = stops, g->n_stop = 1),
	     (stops[0].len = 9, g->stop = stops, g->n_stop = 1));
	BOTH("logit_bias", (g->logit_bias = bias, g->n_logit_bias = 2),
	     (g->logit_bias = bias, g->n_logit_bias = 3));
	BOTH("n: ", (g->n = 50), (g->n = 51));
	BOTH("timeout_ms", (g->has_timeout_ms = true, g->timeout_ms = 5000),
	     (g->has_timeout_ms = true, g->timeout_ms = 5001));
	BOTH("lease_ms", (g->has_lease_ms = true, g->lease_ms = 20000),
	     (g->has_lease_ms = true, g->lease_ms = 20001));
#undef BOTH
	/* without n the default counts, and -1 stops at the most */
	q = fx_generate(&fx, "tiny", "a", 3);
	q.u.generate.has_n = false;
	ck_assert(fx_call(&fx, &fx_user, &q));
	struct lmi_wire_id id = fx.a.r.u.generate.id;
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, out, sizeof(out)).u.done.n_out, 7);
	id = begin(&fx_user, "a", -1);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, out, sizeof(out)).u.done.n_out, 50);
	check_empty();
}
END_TEST

START_TEST(the_context_ends_one_alone)
{
	char text[512];
	struct lmi_wire_id a, b;

	fx.o.inst.n_ctx = 40;
	fx_start(&fx);
	a = begin(&fx_user, "hello", -1);
	b = begin(&fx_user, "hello", 10);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &a, text, sizeof(text)).u.done.finish,
			 LMI_WIRE_FINISH_CONTEXT);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &b, text, sizeof(text)).u.done.finish,
			 LMI_WIRE_FINISH_LENGTH);
	check_empty();
}
END_TEST

/* Few pages: who finds none waits in order, and nobody fails. */
START_TEST(pages_run_out)
{
	struct lmi_wire_id id[12];
	char text[512], want[512];

	fx.o.inst.kv_tokens = 96;
	fx.o.inst.n_ctx = 96;
	fx_start(&fx);
	for (int i = 0; i < 12; i++) {
		char prompt[40];

		snprintf(prompt, sizeof(prompt), "a prompt of some words, %c", 'A' + i);
		id[i] = begin(&fx_user, prompt, 60);
	}
	for (int i = 0; i < 12; i++) {
		char prompt[2] = {(char)('A' + i), 0};

		ck_assert_int_eq(fx_read(&fx, &fx_user, &id[i], text, sizeof(text)).kind,
				 LMI_WIRE_ITEM_DONE);
		fx_expect(prompt, 60, want);
		ck_assert_str_eq(text, want);
	}
	check_empty();
}
END_TEST

/* ---- cursors ---- */

static struct lmi_wire_id begin_slow(void)
{
	load();
	return begin(&fx_user, "hello", 200);
}

/* One token a turn; the first one is there after it. */
static void step(int n)
{
	for (int i = 0; i < n; i++) {
		fx_turn(&fx);
		fx.now += FX_MS;
	}
}

START_TEST(next_is_idempotent)
{
	struct fx_answer a, b;
	struct lmi_wire_id id;
	struct lmi_request q;

	fx_start(&fx);
	id = begin_slow();
	step(20);
	q = fx_next(&id, 5);
	q.u.next.max = 7;
	fx_ask(&fx, &fx_user, &q, &a);
	step(3);
	fx_ask(&fx, &fx_user, &q, &b);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 7);
	ck_assert_int_eq(a.r.u.next.last, 12);
	ck_assert_uint_eq(a.bytes.n, b.bytes.n);
	ck_assert_int_eq(memcmp(a.bytes.p, b.bytes.p, a.bytes.n), 0);
	fx_answer_fini(&a);
	fx_answer_fini(&b);
	/* a cursor that was acknowledged cannot be taken back, one that is not there not given */
	q.u.next.after = 12;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert(!a.failed);
	fx_answer_fini(&a);
	q.u.next.after = 4;
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	q.u.next.after = 1000;
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
}
END_TEST

START_TEST(hold_rule)
{
	struct lmi_wire_id id;
	struct lmi_request q;
	struct fx_answer a;
	uint64_t hold = _i ? 25 : 0;

	fx_start(&fx);
	id = begin_slow();
	q = fx_next(&id, 0);
	q.u.next.has_hold_ms = true;
	q.u.next.hold_ms = (int64_t)hold;
	/* the first token at once */
	fx_ask(&fx, &fx_user, &q, &a);
	for (int i = 0; i < 5 && !a.n; i++)
		step(1);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 1);
	fx_answer_fini(&a);
	/* later ones when the first that is lacking is old enough */
	q.u.next.after = 1;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 0);
	for (uint64_t i = 0; i < hold; i++) {
		step(1);
		ck_assert_uint_eq(a.n, 0);
	}
	if (hold)
		ck_assert_uint_le(lmi_service_deadline(fx.svc), fx.now);
	step(1);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, hold + 1);
	fx_answer_fini(&a);
	/* or when there are as many as were asked for */
	q.u.next.after = (int64_t)hold + 2;
	q.u.next.max = 3;
	q.u.next.hold_ms = 1000;
	fx_ask(&fx, &fx_user, &q, &a);
	step(2);
	ck_assert_uint_eq(a.n, 0);
	step(1);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 3);
	fx_answer_fini(&a);
	/* or at the end */
	q.u.next.after += 3;
	q.u.next.max = 4096;
	fx_ask(&fx, &fx_user, &q, &a);
	step(200);
	ck_assert_uint_eq(a.n, 1);
	ck_assert(a.r.u.next.end);
	ck_assert_int_eq(a.r.u.next.last, 201);
	fx_answer_fini(&a);
	/* and behind the end there is nothing, at once */
	q.u.next.after = 201;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 1);
	ck_assert(a.r.u.next.end);
	ck_assert_uint_eq(a.r.u.next.n_items, 0);
	fx_answer_fini(&a);
}
END_TEST

START_TEST(waiting_ends)
{
	struct lmi_wire_id id;
	struct lmi_request q;
	struct fx_answer a;

	fx.o.limits.sessions = 1;
	fx_start(&fx);
	(void)begin_slow();
	id = begin(&fx_user, "waits", 5); /* for the first one */
	q = fx_next(&id, 0);
	q.u.next.has_wait_ms = true;
	q.u.next.wait_ms = 10;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 0);
	ck_assert_uint_eq(lmi_service_deadline(fx.svc), fx.now + 10 * FX_MS);
	step(10);
	ck_assert_uint_eq(a.n, 0);
	step(1);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(a.r.u.next.n_items, 0);
	ck_assert(!a.r.u.next.end);
	ck_assert_int_eq(a.r.u.next.last, 0);
	fx_answer_fini(&a);
	q.u.next.wait_ms = 0;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n, 1);
	fx_answer_fini(&a);
}
END_TEST

START_TEST(a_slow_reader_costs_only_itself)
{
	char text[8192];
	struct lmi_wire_id slow, quick;
	struct lmi_wire_item end;
	struct lmi_request q;
	uint64_t n = 0;

	fx.o.limits.stream_bytes = 4096;
	fx_start(&fx);
	load();
	slow = begin(&fx_user, "hello", 250);
	quick = begin(&fx_user, "hello", 250);
	for (int i = 0; i < 300; i++) {
		struct fx_answer a;

		step(1);
		q = fx_next(&quick, n);
		q.u.next.has_wait_ms = true;
		fx_ask(&fx, &fx_user, &q, &a);
		n = (uint64_t)a.r.u.next.last;
		fx_answer_fini(&a);
	}
	ck_assert_uint_eq(n, 251);
	end = fx_read(&fx, &fx_user, &slow, text, sizeof(text));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_CANCELLED);
	ck_assert_int_eq(end.u.cancelled.reason, LMI_WIRE_CANCEL_REASON_SLOW_READER);
	ck_assert_uint_gt(strlen(text), 20); /* what was written before is there */
	check_empty();
}
END_TEST

/* ---- ends ---- */

/* Cancelled at any step, in the queue or while it runs: gone within one step. */
START_TEST(cancel_within_one_step)
{
	char text[512];

	fx.o.limits.sessions = 2;
	fx_start(&fx);
	load();
	for (int at = 0; at < 30; at++) {
		struct lmi_wire_id a = begin(&fx_user, "hello", 200);
		struct lmi_wire_id b = begin(&fx_user, "hello", 200);
		struct lmi_wire_id c = begin(&fx_user, "waits", 2);
		struct lmi_request q;
		struct lmi_wire_item end;
		uint64_t n_step;

		step(at);
		n_step = fx_stats(&fx).n_step;
		lmi_request_init(&q, LMI_WIRE_OP_CANCEL);
		q.u.cancel.id = at % 3 ? a : c;
		ck_assert(fx_call(&fx, &fx_user, &q));
		ck_assert(!fx.a.r.u.cancel.ended);
		step(1);
		ck_assert_uint_le(fx_stats(&fx).n_step, n_step + 1);
		end = fx_read(&fx, &fx_user, at % 3 ? &a : &c, text, sizeof(text));
		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_CANCELLED);
		ck_assert_int_eq(end.u.cancelled.reason, LMI_WIRE_CANCEL_REASON_ASKED);
		/* cancelling what has ended forgets it */
		ck_assert(fx_call(&fx, &fx_user, &q));
		ck_assert(fx.a.r.u.cancel.ended);
		ck_assert(!fx_call(&fx, &fx_user, &q));
		ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
		q.u.cancel.id = b;
		ck_assert(fx_call(&fx, &fx_user, &q));
		fx_settle(&fx);
		lmi_service_gone(fx.svc, fx.now, fx_user.conn);
		fx_settle(&fx);
		check_empty();
		ck_assert_uint_eq(fx_stats(&fx).n_stream, 1); /* the load's */
	}
}
END_TEST

START_TEST(a_connection_is_gone)
{
	struct lmi_principal later = fx_user;
	struct lmi_request q;
	struct fx_answer a, b, c;
	struct lmi_wire_id mine, moved, leased;

	later.conn = 9;
	fx_start(&fx);
	load();
	mine = begin(&fx_user, "hello", 200);
	moved = begin(&fx_user, "hello", 200);
	q = fx_generate(&fx, "tiny", "hello", 200);
	q.u.generate.has_lease_ms = true;
	q.u.generate.lease_ms = 5000;
	ck_assert(fx_call(&fx, &fx_user, &q));
	leased = fx.a.r.u.generate.id;
	step(10);
	q = fx_next(&moved, 0);
	ck_assert(fx_call(&fx, &fx_user, &q));
	q.u.next.after = fx.a.r.u.next.last;
	fx_ask(&fx, &fx_user, &q, &b);
	fx_ask(&fx, &later, &q, &c);
	q = fx_next(&mine, 0);
	ck_assert(fx_call(&fx, &fx_user, &q));
	q.u.next.after = fx.a.r.u.next.last;
	fx_ask(&fx, &fx_user, &q, &a);
	ck_assert_uint_eq(a.n + b.n + c.n, 0);
	lmi_service_gone(fx.svc, fx.now, fx_user.conn);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_int_eq(a.err.status, LMD_CANCELLED);
	ck_assert_uint_eq(b.n, 1);
	ck_assert_int_eq(b.err.status, LMD_CANCELLED);
	ck_assert_uint_eq(c.n, 0);
	step(2);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 2);
	q = fx_next(&mine, 0);
	ck_assert(!fx_call(&fx, &later, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	q = fx_next(&leased, 0);
	ck_assert(fx_call(&fx, &later, &q));
	lmi_service_gone(fx.svc, fx.now, later.conn);
	ck_assert_uint_eq(c.n, 1);
	fx_answer_fini(&c);
	fx.now += 5001 * FX_MS; /* and the lease ends */
	step(3);
	fx_settle(&fx);
	check_empty();
}
END_TEST

START_TEST(a_lease_ends)
{
	struct lmi_wire_id id;
	struct lmi_wire_item end;
	char text[512];

	fx.o.limits.lease_default = 1000;
	fx_start(&fx);
	id = begin_slow();
	step(3);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 1);
	fx.now += 1000 * FX_MS;
	fx_turn(&fx);
	fx_turn(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 0);
	/* who comes late learns why */
	end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_int_eq(end.u.cancelled.reason, LMI_WIRE_CANCEL_REASON_LEASE);
	fx.now += 1000 * FX_MS;
	fx_turn(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_stream, 0);
	check_empty();
}
END_TEST

START_TEST(deadlines)
{
	struct lmi_wire_id run, wait;
	struct lmi_wire_item end;
	struct lmi_request q;
	char text[512];

	fx.o.limits.sessions = 1;
	fx.o.limits.first_token_ms = 50;
	fx_start(&fx);
	load();
	q = fx_generate(&fx, "tiny", "hello", 200);
	q.u.generate.has_timeout_ms = true;
	q.u.generate.timeout_ms = 100;
	ck_assert(fx_call(&fx, &fx_user, &q));
	run = fx.a.r.u.generate.id;
	wait = begin(&fx_user, "hello", 5);
	step(49);
	ck_assert_uint_eq(fx_stats(&fx).n_waiting, 1);
	step(3);
	ck_assert_uint_eq(fx_stats(&fx).n_waiting, 0);
	end = fx_read(&fx, &fx_user, &wait, text, sizeof(text));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_ERROR);
	ck_assert_int_eq(end.u.error.code, LMD_TIMEOUT);
	step(52);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 0);
	end = fx_read(&fx, &fx_user, &run, text, sizeof(text));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(end.u.done.finish, LMI_WIRE_FINISH_DEADLINE);
	ck_assert_int_gt(end.u.done.n_out, 50);
	check_empty();
}
END_TEST

START_TEST(the_daemon_stops)
{
	struct lmi_wire_id id[3];
	struct lmi_request q;
	char text[512];

	fx.o.limits.sessions = 2;
	fx_start(&fx);
	load();
	for (int i = 0; i < 3; i++)
		id[i] = begin(&fx_user, "hello", 200);
	step(5);
	lmi_service_close(fx.svc);
	q = fx_generate(&fx, "tiny", "late", 1);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_CANCELLED);
	ck_assert_str_eq(fx.a.err.text, "shutting down");
	ck_assert(!lmi_service_is_idle(fx.svc));
	lmi_service_stop(fx.svc, fx.now);
	fx_settle(&fx);
	for (int i = 0; i < 3; i++) {
		struct lmi_wire_item end = fx_read(&fx, &fx_user, &id[i], text, sizeof(text));

		ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
		ck_assert_int_eq(end.u.done.finish, LMI_WIRE_FINISH_SHUTDOWN);
		ck_assert_int_eq(end.u.done.n_out > 0, i < 2);
	}
	ck_assert(lmi_service_is_idle(fx.svc));
	check_empty();
}
END_TEST

/* ---- queue ---- */

START_TEST(sessions_and_queue)
{
	struct lmi_wire_id id[160];
	struct lmi_request q;
	char text[64];

	fx.o.limits.streams = 1000;
	fx.o.limits.first_token_ms = 1000000;
	fx_start(&fx);
	load();
	for (int i = 0; i < 160; i++) {
		id[i] = begin(&fx_user, "hello", 12);
		ck_assert_uint_eq(fx_stats(&fx).n_running, i < 32 ? (unsigned)i + 1 : 32);
		ck_assert_uint_eq(fx_stats(&fx).n_waiting, i < 32 ? 0 : (unsigned)i - 31);
	}
	q = fx_generate(&fx, "tiny", "too much", 1);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_uint_ge(fx.a.retry_ms, 100);
	/* in the order in which they came: a later one never ends first */
	for (int i = 0; i < 160; i++)
		ck_assert_int_eq(fx_read(&fx, &fx_user, &id[i], text, sizeof(text)).u.done.n_out,
				 12);
	check_empty();
	ck_assert(fx_call(&fx, &fx_user, &q)); /* what was refused left no trace */
}
END_TEST

/* ---- request ids ---- */

START_TEST(a_request_that_is_sent_again)
{
	struct lmi_request q, other;
	struct lmi_principal again = fx_user;
	struct fx_answer a[3];
	struct lmi_wire_id id;
	char text[64];

	again.conn = 77;
	fx_start(&fx);
	/* while the name is looked up, all wait for one answer */
	q = fx_generate(&fx, "tiny", "hello", 5);
	for (int i = 0; i < 3; i++)
		fx_ask(&fx, &fx_user, &q, &a[i]);
	for (int i = 0; i < 3; i++) {
		fx_wait(&fx, &a[i]);
		ck_assert(!a[i].failed);
		ck_assert(lmi_wire_id_equal(&a[i].r.u.generate.id, &a[0].r.u.generate.id));
		ck_assert_int_eq(a[i].r.u.generate.seed, a[0].r.u.generate.seed);
	}
	id = a[0].r.u.generate.id;
	ck_assert_uint_eq(fx_stats(&fx).n_request, 1);
	/* later too, also from another connection, which then reads it */
	ck_assert(fx_call(&fx, &again, &q));
	ck_assert(lmi_wire_id_equal(&fx.a.r.u.generate.id, &id));
	lmi_service_gone(fx.svc, fx.now, fx_user.conn);
	ck_assert_int_eq(fx_read(&fx, &again, &id, text, sizeof(text)).u.done.n_out, 5);
	/* another request under that id is refused; another principal has its own ids */
	other = q;
	other.u.generate.n = 6;
	ck_assert(!fx_call(&fx, &fx_user, &other));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	ck_assert(fx_call(&fx, &fx_other, &other));
	/* after ten minutes it is a new one */
	fx.now += 601000 * FX_MS;
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert(!lmi_wire_id_equal(&fx.a.r.u.generate.id, &id));
	/* what the end of its connection has cancelled can be sent again */
	id = fx.a.r.u.generate.id;
	lmi_service_gone(fx.svc, fx.now, fx_user.conn);
	ck_assert(fx_call(&fx, &again, &q));
	ck_assert(!lmi_wire_id_equal(&fx.a.r.u.generate.id, &id));
	/* and so can what was refused */
	other = fx_generate(&fx, "later", "x", 1);
	ck_assert(!fx_call(&fx, &fx_user, &other));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert(!fx_call(&fx, &fx_user, &other));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	for (int i = 0; i < 3; i++)
		fx_answer_fini(&a[i]);
}
END_TEST

/* ---- models ---- */

START_TEST(many_wait_for_one_load)
{
	struct lmi_request q[5];
	struct fx_answer a[5];
	char text[64];

	fx_start(&fx);
	for (int i = 0; i < 5; i++) {
		q[i] = fx_generate(&fx, "tiny", "hello", 5);
		fx_ask(&fx, &fx_user, &q[i], &a[i]);
	}
	for (int i = 0; i < 5; i++)
		fx_wait(&fx, &a[i]);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(fx_read(&fx, &fx_user, &a[i].r.u.generate.id, text, sizeof(text))
					 .u.done.n_out,
				 5);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	for (int i = 0; i < 5; i++)
		fx_answer_fini(&a[i]);
	check_empty();
}
END_TEST

START_TEST(a_load_that_fails)
{
	struct lmi_wire_item item;
	struct lmi_request q;
	struct lmi_wire_id id;
	char text[64];
	FILE *f;

	fx_start(&fx);
	f = fopen(fx.model, "r+");
	ck_assert_ptr_nonnull(f);
	fputs("no model any more", f);
	fclose(f);
	item = fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny");
	ck_assert_int_eq(item.kind, LMI_WIRE_ITEM_ERROR);
	/* a generation hears the same, without another attempt, until the pause is over */
	q = fx_generate(&fx, "tiny", "hello", 5);
	if (fx_call(&fx, &fx_user, &q)) {
		id = fx.a.r.u.generate.id;
		item = fx_read(&fx, &fx_user, &id, text, sizeof(text));
		ck_assert_int_eq(item.kind, LMI_WIRE_ITEM_ERROR);
	} else {
		ck_assert_uint_gt(fx.a.retry_ms, 0);
		ck_assert_uint_le(fx.a.retry_ms, 1000);
	}
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	lmt_tiny_write(LMT_FULL, 7, fx.model);
	q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.ps.n_models, 0);
	check_empty();
}
END_TEST

START_TEST(unload_waits_for_its_streams)
{
	struct lmi_wire_id gen, job;
	struct lmi_request q;
	char text[512];

	fx_start(&fx);
	load();
	gen = begin(&fx_user, "hello", 50);
	step(3);
	q = fx_on(&fx, LMI_WIRE_OP_UNLOAD, "tiny");
	ck_assert(fx_call(&fx, &fx_admin, &q));
	job = fx.a.r.u.unload.id;
	step(5);
	(void)fx_job(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	/* who comes now gets a new engine */
	struct lmi_wire_id later = begin(&fx_user, "hello", 2);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &gen, text, sizeof(text)).u.done.n_out, 50);
	ck_assert_int_eq(fx_read(&fx, &fx_admin, &job, text, sizeof(text)).kind,
			 LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &later, text, sizeof(text)).u.done.n_out, 2);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	/* by force */
	gen = begin(&fx_user, "hello", 200);
	step(3);
	q = fx_on(&fx, LMI_WIRE_OP_UNLOAD, "tiny");
	q.u.unload.force = true;
	ck_assert(fx_call(&fx, &fx_admin, &q));
	job = fx.a.r.u.unload.id;
	ck_assert_int_eq(fx_read(&fx, &fx_admin, &job, text, sizeof(text)).kind,
			 LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &gen, text, sizeof(text)).u.cancelled.reason,
			 LMI_WIRE_CANCEL_REASON_UNLOAD);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	/* and what is not there cannot be unloaded */
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny").u.error.code, LMD_NOTFOUND);
	check_empty();
}
END_TEST

START_TEST(reload_has_two_generations)
{
	struct lmi_wire_id old, new;
	struct lmi_request q;
	char text[512];

	fx_start(&fx);
	load();
	old = begin(&fx_user, "hello", 100);
	step(3);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_RELOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 2);
	new = begin(&fx_user, "hello", 5);
	q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.ps.n_models, 2);
	ck_assert_int_eq(fx.a.r.u.ps.models[0].state, LMI_WIRE_MODEL_STATE_READY);
	ck_assert_int_eq(fx.a.r.u.ps.models[1].state, LMI_WIRE_MODEL_STATE_DRAINING);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &new, text, sizeof(text)).u.done.n_out, 5);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &old, text, sizeof(text)).u.done.n_out, 100);
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	check_empty();
}
END_TEST

START_TEST(models_come_and_go)
{
	struct lmi_wire_id id;
	struct lmi_request q;
	char text[64];

	fx.o.limits.models = 1;
	fx.o.limits.keep_alive_ms = 60000;
	fx_start(&fx);
	id = begin(&fx_user, "hello", 5);
	(void)fx_read(&fx, &fx_user, &id, text, sizeof(text));
	/* the other one takes its place, when it is idle */
	q = fx_generate(&fx, "other", "hello", 50);
	ck_assert(fx_call(&fx, &fx_user, &q));
	id = fx.a.r.u.generate.id;
	fx_settle(&fx);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).u.done.n_out, 50);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	/* while one is in use there is no room */
	q = fx_generate(&fx, "other", "hello", 100);
	ck_assert(fx_call(&fx, &fx_user, &q));
	step(3);
	q = fx_generate(&fx, "tiny", "hello", 5);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_uint_gt(fx.a.retry_ms, 0);
	fx_settle(&fx);
	/* and what is not used goes */
	fx.now += 60001 * FX_MS;
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	check_empty();
}
END_TEST

/* ---- who may do what ---- */

START_TEST(roles)
{
	static const enum lmi_wire_op admin[] = {LMI_WIRE_OP_ADD,      LMI_WIRE_OP_ALIAS,
						 LMI_WIRE_OP_LOAD,     LMI_WIRE_OP_UNLOAD,
						 LMI_WIRE_OP_RELOAD,   LMI_WIRE_OP_RM,
						 LMI_WIRE_OP_DRAIN,    LMI_WIRE_OP_PLUGINS_RELOAD,
						 LMI_WIRE_OP_SHUTDOWN, LMI_WIRE_OP_CONFIG_RELOAD};
	struct lmi_principal nobody = fx_user, key = fx_user;
	struct lmi_request q;
	struct lmi_wire_id id;
	char text[64];

	nobody.role = LMI_ROLE_NONE;
	snprintf(key.key_label, sizeof(key.key_label), "a key");
	fx_start(&fx);
	for (size_t i = 0; i < LMD_LEN(admin); i++) {
		q = fx_on(&fx, admin[i], "tiny");
		ck_assert(!fx_call(&fx, &fx_user, &q));
		ck_assert_ptr_nonnull(strstr(fx.a.err.text, "role admin"));
	}
	q = fx_on(&fx, LMI_WIRE_OP_STATUS, NULL);
	ck_assert(!fx_call(&fx, &nobody, &q));
	ck_assert(fx_call(&fx, &fx_user, &q));
	q = fx_on(&fx, LMI_WIRE_OP_PING, NULL);
	ck_assert(fx_call(&fx, &nobody, &q));
	/* a stream is its owner's: the same uid with a key is another one */
	id = begin(&fx_user, "hello", 5);
	q = fx_next(&id, 0);
	ck_assert(!fx_call(&fx, &fx_other, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert(!fx_call(&fx, &key, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert(!fx_call(&fx, &fx_admin, &q));
	lmi_request_init(&q, LMI_WIRE_OP_CANCEL);
	q.u.cancel.id = id;
	ck_assert(!fx_call(&fx, &fx_other, &q));
	q = fx_on(&fx, LMI_WIRE_OP_STREAMS, NULL);
	ck_assert(fx_call(&fx, &fx_other, &q));
	ck_assert_uint_eq(fx.a.r.u.streams.n_streams, 0);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.streams.n_streams, 1);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).u.done.n_out, 5);
	/* a user does not see where files lie, an admin does */
	q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.models.n_models, 2);
	ck_assert(!fx.a.r.u.models.models[0].has_path);
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert(fx.a.r.u.models.models[0].has_path);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("service");
	TCase *t = tcase_create("service");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_generation);
	tcase_add_test(t, what_is_wrong_is_said_at_once);
	tcase_add_test(t, limits_of_a_request);
	tcase_add_test(t, the_context_ends_one_alone);
	tcase_add_test(t, pages_run_out);
	tcase_add_test(t, next_is_idempotent);
	tcase_add_loop_test(t, hold_rule, 0, 2);
	tcase_add_test(t, waiting_ends);
	tcase_add_test(t, a_slow_reader_costs_only_itself);
	tcase_add_test(t, cancel_within_one_step);
	tcase_add_test(t, a_connection_is_gone);
	tcase_add_test(t, a_lease_ends);
	tcase_add_test(t, deadlines);
	tcase_add_test(t, the_daemon_stops);
	tcase_add_test(t, sessions_and_queue);
	tcase_add_test(t, a_request_that_is_sent_again);
	tcase_add_test(t, many_wait_for_one_load);
	tcase_add_test(t, a_load_that_fails);
	tcase_add_test(t, unload_waits_for_its_streams);
	tcase_add_test(t, reload_has_two_generations);
	tcase_add_test(t, models_come_and_go);
	tcase_add_test(t, roles);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

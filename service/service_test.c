/* SPDX-License-Identifier: MIT
 *
 * The service without sockets, threads and clocks: generations, queueing, permissions. */
#include <stdio.h>
#include <string.h>

#include "tests/service_fixture.h"
#include "tests/tiny_model.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

/* ---- generations ---- */

START_TEST(a_generation)
{
	char text[256], want[256];
	struct lmi_wire_item end;
	struct lmi_wire_id id;

	fx_start(&fx);
	id = fx_begin(&fx, &fx_user, "hello", 40);
	end = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	fx_expect("hello", 40, want);
	ck_assert_str_eq(text, want);
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(end.u.done.finish, LMI_WIRE_FINISH_LENGTH);
	ck_assert_int_eq(end.u.done.n_prompt, 5);
	ck_assert_int_eq(end.u.done.n_out, 40);
	fx_check_empty(&fx);
	/* again, now that the model is in memory */
	id = fx_begin(&fx, &fx_user, "abc", 3);
	(void)fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_str_eq(text, "def");
}
END_TEST

/* ---- clients that leave ---- */

#define LONG_TEXT 8192 /* bytes: too long for the main thread */

static struct lmi_wire_request tokenize_long(void)
{
	static char text[LONG_TEXT];
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_TOKENIZE, NULL);

	memset(text, 'a', sizeof(text));
	q.u.tokenize.model = (struct lmd_str){.ptr = "tiny", .len = 4};
	q.u.tokenize.text = (struct lmd_str){.ptr = text, .len = sizeof(text)};
	return q;
}

/* Jobs of a client that has left are dropped from the queue; those of others are not. */
START_TEST(work_of_a_client_that_left)
{
	struct lmi_wire_request q;
	struct fx_answer a[4];
	uint32_t n_work = 0;

	fx_start(&fx);
	fx_load(&fx);
	q = tokenize_long();
	for (int i = 0; i < 4; i++)
		fx_ask(&fx, i == 3 ? &fx_other : &fx_user, &q, &a[i]);
	while (lmi_jobs_run_one(fx.registry) || lmi_jobs_run_one(fx.io))
		fx_turn(&fx); /* up to the work queue */
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(a[i].err.status, LMD_CANCELLED);
	while (lmi_jobs_run_one(fx.work))
		n_work++;
	ck_assert_uint_eq(n_work, 1);
	fx_wait(&fx, &a[3]);
	ck_assert(!a[3].failed);
	fx_settle(&fx);
	for (int i = 0; i < 4; i++)
		fx_answer_fini(&a[i]);
}
END_TEST

/* Stopping the service ends queued work at once, with an answer. */
START_TEST(work_when_the_service_stops)
{
	struct lmi_wire_request q;
	struct fx_answer a;

	fx_start(&fx);
	fx_load(&fx);
	q = tokenize_long();
	fx_ask(&fx, &fx_user, &q, &a);
	while (lmi_jobs_run_one(fx.registry) || lmi_jobs_run_one(fx.io))
		fx_turn(&fx);
	lmi_service_stop(fx.svc, fx.now);
	ck_assert(!lmi_jobs_run_one(fx.work));
	fx_turn(&fx);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_int_eq(a.err.status, LMD_CANCELLED);
	fx_answer_fini(&a);
}
END_TEST

/* So is the prompt of a generation whose client has left. */
START_TEST(prompt_of_a_client_that_left)
{
	static char text[LONG_TEXT + 1];
	struct lmi_wire_request q;
	struct fx_answer a;

	fx_start(&fx);
	fx_load(&fx);
	memset(text, 'a', LONG_TEXT);
	q = fx_generate(&fx, "tiny", text, 4);
	fx_ask(&fx, &fx_user, &q, &a);
	while (lmi_jobs_run_one(fx.registry) || lmi_jobs_run_one(fx.io))
		fx_turn(&fx);
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	ck_assert(!lmi_jobs_run_one(fx.work));
	fx_settle(&fx);
	fx_check_empty(&fx);
	fx_answer_fini(&a);
}
END_TEST

/* ---- answers in a form ---- */

static struct lmd_str word(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

/* Returns a metric of the model in memory; 0 if there is none. */
static double counter(const char *name)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_STATS, NULL);
	double v = 0;

	q.u.stats.has_model = true;
	q.u.stats.model = word("tiny");
	ck_assert(fx_call(&fx, &fx_user, &q));
	for (uint32_t i = 0; i < fx.a.r.u.stats.n_metrics; i++) {
		const struct lmi_wire_metric *m = &fx.a.r.u.stats.metrics[i];

		if (m->name.len == strlen(name) && !memcmp(m->name.ptr, name, m->name.len))
			v = m->value;
	}
	return v;
}

static struct lmi_wire_item in_form(const char *gbnf, enum lmi_wire_jump jump, char *text,
				    size_t cap)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "hello", 40);

	q.u.generate.has_grammar = true;
	q.u.generate.grammar = word(gbnf);
	q.u.generate.jump = jump;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	return fx_read(&fx, &fx_user, &fx.a.r.u.generate.id, text, cap);
}

START_TEST(an_answer_in_a_form)
{
	static const char form[] = "root ::= \"key: \" [a-z]{2} \"; done\"";
	struct lmi_wire_request q;
	struct lmi_wire_item off, on;
	char a[256], b[256];

	fx_start(&fx);
	off = in_form(form, LMI_WIRE_JUMP_OFF, a, sizeof(a));
	ck_assert_int_eq(off.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(off.u.done.finish, LMI_WIRE_FINISH_EOG);
	ck_assert_int_eq(off.u.done.n_forced, 0);
	on = in_form(form, LMI_WIRE_JUMP_TOKEN, b, sizeof(b));
	ck_assert_str_eq(a, b);
	ck_assert_int_eq(on.u.done.n_out, off.u.done.n_out);
	ck_assert_int_gt(on.u.done.n_forced, 5);
	on = in_form(form, LMI_WIRE_JUMP_TEXT, b, sizeof(b));
	ck_assert(!strncmp(b, "key: ", 5) && !strcmp(b + 7, "; done"));
	/* compiled only once while the model is in memory */
	ck_assert(counter("llamad_model_grammar_misses_total") == 1);
	ck_assert(counter("llamad_model_grammar_hits_total") == 2);
	ck_assert(counter("llamad_model_grammars") == 1);
	ck_assert(counter("llamad_model_generation_tokens_forced_total") > 5);
	(void)fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny");
	on = in_form(form, LMI_WIRE_JUMP_TOKEN, b, sizeof(b));
	ck_assert_str_eq(a, b);
	ck_assert(counter("llamad_model_grammar_misses_total") == 1);
	ck_assert(counter("llamad_model_grammar_hits_total") == 0);
	/* all tokens are single characters here, so token healing changes nothing */
	q = fx_generate(&fx, "tiny", "abc", 3);
	q.u.generate.heal = true;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	on = fx_read(&fx, &fx_user, &fx.a.r.u.generate.id, b, sizeof(b));
	ck_assert_str_eq(b, "def");
	ck_assert_int_eq(on.u.done.n_prompt, 3);
	fx_check_empty(&fx);
}
END_TEST

static struct lmi_wire_item ask(const struct lmi_svc_principal *who, bool cache)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "a prompt of 22 letters", 4);
	char text[64];

	q.u.generate.cache_prompt = cache;
	ck_assert_msg(fx_call(&fx, who, &q), "%s", fx.a.err.text);
	return fx_read(&fx, who, &fx.a.r.u.generate.id, text, sizeof(text));
}

/* _i: users share */
START_TEST(a_prompt_is_found_again)
{
	struct lmi_service_stats st;

	fx.o.share_prefixes = _i;
	fx_start(&fx);
	ck_assert_int_eq(ask(&fx_user, false).u.done.n_cached, 0);
	ck_assert_int_eq(ask(&fx_user, true).u.done.n_cached, 0);
	ck_assert_int_eq(ask(&fx_user, true).u.done.n_cached, 21);
	ck_assert_int_eq(ask(&fx_user, false).u.done.n_cached, 0);
	ck_assert_int_eq(ask(&fx_other, true).u.done.n_cached, _i ? 21 : 0);
	lmi_service_stats(fx.svc, &st);
	ck_assert_uint_eq(st.n_cached_tokens, _i ? 42 : 21);
	ck_assert_uint_eq(st.n_prompt_tokens, 5 * 22);
	ck_assert(counter("llamad_model_prefix_cache_queries_total") == 3);
	ck_assert(counter("llamad_model_prefix_cache_hits_total") == (_i ? 2 : 1));
	ck_assert(counter("llamad_model_rows_shared_total") == (_i ? 42 : 21));
	ck_assert(counter("llamad_model_kv_pages_cached") > 0);
	ck_assert(counter("llamad_model_kv_evictions_total") == 0);
	fx_check_empty(&fx);
}
END_TEST

/* Guessed tokens change nothing but the figures. _i: where the number comes from */
START_TEST(an_answer_is_predicted)
{
	struct lmi_wire_request q;
	struct lmi_wire_item end;
	char want[64], have[64];

	fx.o.draft_max = _i ? 0 : 15;
	fx_start(&fx);
	q = fx_generate(&fx, "tiny", "abc", 40);
	q.u.generate.has_draft_max = true;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	end = fx_read(&fx, &fx_user, &fx.a.r.u.generate.id, want, sizeof(want));
	ck_assert_int_eq(end.u.done.n_drafted, 0);
	q = fx_generate(&fx, "tiny", "abc", 40);
	q.u.generate.has_prediction = true;
	q.u.generate.prediction = (struct lmd_str){.ptr = want, .len = strlen(want)};
	q.u.generate.has_draft_max = _i;
	q.u.generate.draft_max = 15;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	end = fx_read(&fx, &fx_user, &fx.a.r.u.generate.id, have, sizeof(have));
	ck_assert_str_eq(want, have);
	ck_assert_int_eq(end.u.done.n_out, 40);
	ck_assert_int_gt(end.u.done.n_accepted, 0);
	ck_assert_int_ge(end.u.done.n_drafted, end.u.done.n_accepted);
	ck_assert(counter("llamad_model_draft_tokens_total") == (double)end.u.done.n_drafted);
	ck_assert(counter("llamad_model_draft_tokens_accepted_total") ==
		  (double)end.u.done.n_accepted);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(what_is_wrong_is_said_at_once)
{
	struct lmi_wire_request q;
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
	fx_load(&fx);
	fx_settle(&fx);
	lmi_service_disconnected(fx.svc, fx.now, fx_admin.conn);
	(void)fx_begin(&fx, &fx_user, "warm", 1); /* the name is cached now, so replies come at once */
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
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
		REFUSED(LMD_INVALID, "399 tokens exceed the context size of 256");
	}
#undef REFUSED
	fx_check_empty(&fx);
}
END_TEST

/* Every limit of a request, at the bound and beyond. */
START_TEST(limits_of_a_request)
{
	static char text[64], stop[16];
	struct lmd_str stops[3];
	struct lmd_bias bias[3] = {{.id = 1}, {.id = 2}, {.id = 3}};
	struct lmi_wire_request q;
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
	struct lmi_wire_req_generate *g = &q.u.generate;
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
	/* without n the default applies, and -1 means the maximum */
	q = fx_generate(&fx, "tiny", "a", 3);
	q.u.generate.has_n = false;
	ck_assert(fx_call(&fx, &fx_user, &q));
	struct lmi_wire_id id = fx.a.r.u.generate.id;
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, out, sizeof(out)).u.done.n_out, 7);
	id = fx_begin(&fx, &fx_user, "a", -1);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, out, sizeof(out)).u.done.n_out, 50);
	fx_check_empty(&fx);
}
END_TEST

/* Tokens that are never sampled: those of the request, else those that the model's file names. */
START_TEST(suppressed_tokens)
{
	lmd_token others[LMT_VOCAB], n = 0;
	struct lmi_wire_item item;
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	char out[256], path[sizeof(fx.dir) + 32];

	for (lmd_token i = 0; i < (lmd_token)LMT_VOCAB; i++)
		if (i != 'z' - 32)
			others[n++] = i;
	snprintf(path, sizeof(path), "%s/suppress.gguf", fx.dir);
	lmt_tiny_write(LMT_SUPPRESS, 8, path);
	fx_add_model(&fx, "suppress", path);
	fx_start(&fx);
#define READ(want)                                                                                 \
	do {                                                                                       \
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);                    \
		id = fx.a.r.u.generate.id;                                                         \
		item = fx_read(&fx, &fx_user, &id, out, sizeof(out));                              \
		ck_assert_msg(item.kind == LMI_WIRE_ITEM_DONE, "%.*s",                             \
			      (int)item.u.error.text.len, item.u.error.text.ptr);            \
		ck_assert_str_eq(out, want);                                                       \
	} while (0)
	q = fx_generate(&fx, "tiny", "a", 3);
	q.u.generate.has_suppress_tokens = true;
	q.u.generate.suppress_tokens = others;
	q.u.generate.n_suppress_tokens = (uint32_t)n;
	READ("zzz");
	q = fx_generate(&fx, "suppress", "a", 3);
	READ("AAA");
	q = fx_generate(&fx, "suppress", "a", 3);
	q.u.generate.has_suppress_tokens = true; /* an empty list */
	ck_assert(fx_call(&fx, &fx_user, &q));
	id = fx.a.r.u.generate.id;
	(void)fx_read(&fx, &fx_user, &id, out, sizeof(out));
	ck_assert_str_ne(out, "AAA");
	q = fx_generate(&fx, "tiny", "a", 3);
	others[0] = (lmd_token)LMT_VOCAB;
	q.u.generate.has_suppress_tokens = true;
	q.u.generate.suppress_tokens = others;
	q.u.generate.n_suppress_tokens = 1;
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_msg(strstr(fx.a.err.text, "token 96 is outside the vocabulary") != NULL, "%s",
		      fx.a.err.text);
#undef READ
	fx_check_empty(&fx);
}
END_TEST

START_TEST(the_context_ends_one_alone)
{
	char text[512];
	struct lmi_wire_id a, b;

	fx.o.inst.n_ctx = 40;
	fx_start(&fx);
	a = fx_begin(&fx, &fx_user, "hello", -1);
	b = fx_begin(&fx, &fx_user, "hello", 10);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &a, text, sizeof(text)).u.done.finish,
			 LMI_WIRE_FINISH_CONTEXT);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &b, text, sizeof(text)).u.done.finish,
			 LMI_WIRE_FINISH_LENGTH);
	fx_check_empty(&fx);
}
END_TEST

/* With few pages generations wait in order, and none fails. */
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
		id[i] = fx_begin(&fx, &fx_user, prompt, 60);
	}
	for (int i = 0; i < 12; i++) {
		char prompt[2] = {(char)('A' + i), 0};

		ck_assert_int_eq(fx_read(&fx, &fx_user, &id[i], text, sizeof(text)).kind,
				 LMI_WIRE_ITEM_DONE);
		fx_expect(prompt, 60, want);
		ck_assert_str_eq(text, want);
	}
	fx_check_empty(&fx);
}
END_TEST

/* ---- queue ---- */

START_TEST(sessions_and_queue)
{
	struct lmi_wire_id id[160];
	struct lmi_wire_request q;
	char text[64];

	fx.o.limits.streams = 1000;
	fx.o.limits.first_token_ms = 1000000;
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 160; i++) {
		id[i] = fx_begin(&fx, &fx_admin, "hello", 12);
		ck_assert_uint_eq(fx_stats(&fx).n_running, i < 32 ? (unsigned)i + 1 : 32);
		ck_assert_uint_eq(fx_stats(&fx).n_waiting, i < 32 ? 0 : (unsigned)i - 31);
	}
	q = fx_generate(&fx, "tiny", "too much", 1);
	ck_assert(!fx_call(&fx, &fx_admin, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_uint_ge(fx.a.retry_ms, 100);
	/* in order of arrival: a later one never ends first */
	for (int i = 0; i < 160; i++)
		ck_assert_int_eq(fx_read(&fx, &fx_admin, &id[i], text, sizeof(text)).u.done.n_out,
				 12);
	fx_check_empty(&fx);
	ck_assert(fx_call(&fx, &fx_admin, &q)); /* failed requests left no trace */
}
END_TEST

/* Requests that wait for a job count; those of one user leave room for others. */
START_TEST(pending_requests_of_one_user)
{
	struct lmi_wire_request q;
	struct fx_answer a[4];

	fx.o.limits.calls_per_user = 3;
	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	for (int i = 0; i < 3; i++) {
		fx_ask(&fx, &fx_user, &q, &a[i]);
		ck_assert_uint_eq(a[i].n, 0);
	}
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_msg(strstr(fx.a.err.text, "(calls_per_user)") != NULL, "%s", fx.a.err.text);
	fx_ask(&fx, &fx_other, &q, &a[3]);
	for (int i = 0; i < 4; i++) {
		fx_wait(&fx, &a[i]);
		ck_assert(!a[i].failed);
		fx_answer_fini(&a[i]);
	}
	ck_assert(fx_call(&fx, &fx_user, &q));
}
END_TEST

/* One user cannot take all places; another one, and an administrator, always find some. */
START_TEST(places_of_one_user)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id[121];
	struct fx_answer a;

	fx.o.limits.streams = 1000;
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 24 + 96; i++)
		id[i] = fx_begin(&fx, &fx_user, "hello", 1000);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 24);
	q = fx_generate(&fx, "tiny", "too much", 1);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(fx.a.err.text, "the maximum of one user is 120"));
	ck_assert_uint_ge(fx.a.retry_ms, 100);
	for (int i = 0; i < 6; i++) /* all places but the two of administrators */
		(void)fx_begin(&fx, &fx_other, "hello", 1000);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 30);
	(void)fx_begin(&fx, &fx_other, "hello", 1000);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 30);
	(void)fx_begin(&fx, &fx_admin, "hello", 1000);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 31);
	/* an administrator sees every stream and can end it; other users cannot */
	q = fx_on(&fx, LMI_WIRE_OP_STREAMS, NULL);
	fx_ask(&fx, &fx_admin, &q, &a);
	ck_assert_uint_ge(a.r.u.streams.n_streams, 128);
	fx_answer_fini(&a);
	q = fx_on(&fx, LMI_WIRE_OP_CANCEL, NULL);
	q.u.cancel.id = id[0];
	ck_assert(!fx_call(&fx, &fx_other, &q));
	ck_assert(fx_call(&fx, &fx_admin, &q));
}
END_TEST

/* A stream that was cancelled holds no place that its owner needs. */
START_TEST(cancelled_streams_are_forgotten)
{
	struct lmi_wire_request q = {0};
	struct lmi_wire_id id;

	fx.o.limits.streams = 4;
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 20; i++) {
		id = fx_begin(&fx, &fx_user, "hello", 1000);
		q = fx_on(&fx, LMI_WIRE_OP_CANCEL, NULL);
		q.u.cancel.id = id;
		ck_assert(fx_call(&fx, &fx_user, &q));
		fx_step(&fx, 2);
	}
}
END_TEST

/* The bytes of pending requests are bounded for each user. */
START_TEST(bytes_of_one_user)
{
	struct lmi_wire_request q;
	struct fx_answer a[4], other;

	fx.o.limits.bytes_per_user = 2 * LONG_TEXT + LONG_TEXT / 2;
	fx_start(&fx);
	fx_load(&fx);
	q = tokenize_long();
	for (int i = 0; i < 3; i++)
		fx_ask(&fx, &fx_user, &q, &a[i]);
	ck_assert_int_eq(a[2].err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(a[2].err.text, "bytes_per_user"));
	ck_assert_uint_ge(a[2].retry_ms, 100);
	fx_ask(&fx, &fx_other, &q, &other);
	fx_wait(&fx, &other);
	ck_assert(!other.failed);
	fx_wait(&fx, &a[0]);
	fx_wait(&fx, &a[1]);
	fx_ask(&fx, &fx_user, &q, &a[3]); /* there is room again */
	fx_wait(&fx, &a[3]);
	ck_assert(!a[3].failed);
	for (int i = 0; i < 4; i++)
		fx_answer_fini(&a[i]);
	fx_answer_fini(&other);
}
END_TEST

/* The bytes of a generation's request count as well. */
START_TEST(bytes_of_generations)
{
	static char prompt[4000];
	struct lmi_wire_request q;
	struct fx_answer a[2];

	memset(prompt, 'a', sizeof(prompt) - 1);
	fx.o.limits.bytes_per_user = sizeof(prompt) + sizeof(prompt) / 2;
	fx_start(&fx);
	fx_load(&fx);
	q = fx_generate(&fx, "tiny", prompt, 5);
	/* a job, so that the request is kept until it has run */
	q.u.generate.has_grammar = true;
	q.u.generate.grammar = (struct lmd_str){"root ::= \"a\"", 12};
	fx_ask(&fx, &fx_user, &q, &a[0]);
	q.rid = (struct lmd_str){"another", 7};
	fx_ask(&fx, &fx_user, &q, &a[1]);
	ck_assert_int_eq(a[1].err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(a[1].err.text, "bytes_per_user"));
	ck_assert_uint_ge(a[1].retry_ms, 100);
	fx_wait(&fx, &a[0]);
	fx_answer_fini(&a[0]);
	fx_answer_fini(&a[1]);
}
END_TEST

/* The bytes of all users together are bounded, and some are kept for administrators. */
START_TEST(bytes_of_all_users)
{
	static char text[1 << 16];
	struct lmi_wire_request q;
	struct fx_answer a[3];

	memset(text, 'a', sizeof(text));
	fx.o.limits.buffer_bytes = 2 * sizeof(text) + sizeof(text) / 10;
	fx.o.limits.stream_bytes = 4096;
	fx_start(&fx);
	fx_load(&fx);
	q = tokenize_long();
	q.u.tokenize.text = (struct lmd_str){text, sizeof(text)};
	fx_ask(&fx, &fx_user, &q, &a[0]);
	fx_ask(&fx, &fx_other, &q, &a[1]);
	ck_assert_int_eq(a[1].err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(a[1].err.text, "buffer_bytes"));
	ck_assert_uint_ge(a[1].retry_ms, 100);
	fx_ask(&fx, &fx_admin, &q, &a[2]);
	fx_wait(&fx, &a[0]);
	fx_wait(&fx, &a[2]);
	ck_assert(!a[0].failed && !a[2].failed);
	fx_answer_fini(&a[1]);
	fx_ask(&fx, &fx_other, &q, &a[1]); /* there is room again */
	fx_wait(&fx, &a[1]);
	ck_assert(!a[1].failed);
	for (int i = 0; i < 3; i++)
		fx_answer_fini(&a[i]);
}
END_TEST

/* One user's readers of streams do not take all places of pending requests. */
START_TEST(readers_of_one_user)
{
	struct fx_answer a[13], other, admin;
	struct lmi_wire_request q;
	struct lmi_wire_id id, id2;

	fx.o.limits.calls = 16;
	fx_start(&fx);
	fx_load(&fx);
	id2 = fx_begin(&fx, &fx_other, "hello", 1000);
	for (int i = 0; i < 13; i++) {
		id = fx_begin(&fx, &fx_user, "hello", 1000);
		q = fx_next(&id, 0);
		q.u.next.has_wait_ms = true;
		q.u.next.wait_ms = 60000;
		q.u.next.has_hold_ms = true;
		q.u.next.hold_ms = 1000;
		fx_ask(&fx, &fx_user, &q, &a[i]);
	}
	ck_assert_int_eq(a[12].err.status, LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(a[12].err.text, "calls_per_user"));
	q = fx_next(&id2, 0);
	fx_ask(&fx, &fx_other, &q, &other);
	ck_assert(other.err.status != LMD_BUSY);
	q = fx_on(&fx, LMI_WIRE_OP_STREAMS, NULL);
	fx_ask(&fx, &fx_admin, &q, &admin);
	ck_assert(!admin.failed);
	for (int i = 0; i < 12; i++)
		fx_wait(&fx, &a[i]);
	fx_wait(&fx, &other);
	for (int i = 0; i < 13; i++)
		fx_answer_fini(&a[i]);
	fx_answer_fini(&other);
	fx_answer_fini(&admin);
}
END_TEST

/* Errors of users do not count as failures of the daemon. */
START_TEST(errors_of_users_are_counted_apart)
{
	struct lmi_service_stats s;
	struct lmi_wire_request q;
	char prompt[301] = "";

	memset(prompt, 'a', sizeof(prompt) - 1);
	fx_start(&fx);
	fx_load(&fx);
	q = fx_generate(&fx, "nothere", "hello", 5);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	q = fx_generate(&fx, "tiny", prompt, 5); /* the context has 256 */
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	s = fx_stats(&fx);
	ck_assert_uint_eq(s.n_request, 2);
	ck_assert_uint_eq(s.n_failed, 0);
	ck_assert_uint_eq(s.n_invalid, 2);
	fx_check_empty(&fx);
}
END_TEST

/* ---- request ids ---- */

START_TEST(a_request_that_is_sent_again)
{
	struct lmi_wire_request q, other;
	struct lmi_svc_principal again = fx_user;
	struct fx_answer a[3];
	struct lmi_wire_id id;
	char text[64];

	again.conn = 77;
	fx_start(&fx);
	/* while the name is looked up, all repetitions wait for one reply */
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
	/* a later repetition gets the same reply, also on another connection, which then reads
	 * it */
	ck_assert(fx_call(&fx, &again, &q));
	ck_assert(lmi_wire_id_equal(&fx.a.r.u.generate.id, &id));
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	ck_assert_int_eq(fx_read(&fx, &again, &id, text, sizeof(text)).u.done.n_out, 5);
	/* a different request with that id fails; another principal has its own ids */
	other = q;
	other.u.generate.n = 6;
	ck_assert(!fx_call(&fx, &fx_user, &other));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	ck_assert(fx_call(&fx, &fx_other, &other));
	/* after ten minutes it is a new request */
	fx.now += 601000 * FX_MS;
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert(!lmi_wire_id_equal(&fx.a.r.u.generate.id, &id));
	/* a request that was cancelled by the end of its connection can be sent again */
	id = fx.a.r.u.generate.id;
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	ck_assert(fx_call(&fx, &again, &q));
	ck_assert(!lmi_wire_id_equal(&fx.a.r.u.generate.id, &id));
	/* a failed request can be sent again */
	other = fx_generate(&fx, "later", "x", 1);
	ck_assert(!fx_call(&fx, &fx_user, &other));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert(!fx_call(&fx, &fx_user, &other));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	for (int i = 0; i < 3; i++)
		fx_answer_fini(&a[i]);
}
END_TEST

/* ---- permissions ---- */

START_TEST(roles)
{
	static const enum lmi_wire_op admin[] = {LMI_WIRE_OP_ADD,      LMI_WIRE_OP_ALIAS,
						 LMI_WIRE_OP_LOAD,     LMI_WIRE_OP_UNLOAD,
						 LMI_WIRE_OP_RELOAD,   LMI_WIRE_OP_RM,
						 LMI_WIRE_OP_DRAIN,    LMI_WIRE_OP_PLUGINS_RELOAD,
						 LMI_WIRE_OP_SHUTDOWN, LMI_WIRE_OP_CONFIG_RELOAD};
	struct lmi_svc_principal nobody = fx_user, key = fx_user;
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	char text[64];

	nobody.role = LMI_SVC_ROLE_NONE;
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
	/* only the owner can use a stream: the same uid with a key is another owner */
	id = fx_begin(&fx, &fx_user, "hello", 5);
	q = fx_next(&id, 0);
	ck_assert(!fx_call(&fx, &fx_other, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert(!fx_call(&fx, &key, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert(!fx_call(&fx, &fx_admin, &q));
	lmi_wire_request_init(&q, LMI_WIRE_OP_CANCEL);
	q.u.cancel.id = id;
	ck_assert(!fx_call(&fx, &fx_other, &q));
	q = fx_on(&fx, LMI_WIRE_OP_STREAMS, NULL);
	ck_assert(fx_call(&fx, &fx_other, &q));
	ck_assert_uint_eq(fx.a.r.u.streams.n_streams, 0);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.streams.n_streams, 1);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).u.done.n_out, 5);
	/* only admins see paths */
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
	tcase_add_test(t, work_of_a_client_that_left);
	tcase_add_test(t, work_when_the_service_stops);
	tcase_add_test(t, prompt_of_a_client_that_left);
	tcase_add_test(t, an_answer_in_a_form);
	tcase_add_loop_test(t, a_prompt_is_found_again, 0, 2);
	tcase_add_loop_test(t, an_answer_is_predicted, 0, 2);
	tcase_add_test(t, what_is_wrong_is_said_at_once);
	tcase_add_test(t, limits_of_a_request);
	tcase_add_test(t, suppressed_tokens);
	tcase_add_test(t, the_context_ends_one_alone);
	tcase_add_test(t, pages_run_out);
	tcase_add_test(t, sessions_and_queue);
	tcase_add_test(t, pending_requests_of_one_user);
	tcase_add_test(t, places_of_one_user);
	tcase_add_test(t, cancelled_streams_are_forgotten);
	tcase_add_test(t, bytes_of_one_user);
	tcase_add_test(t, bytes_of_generations);
	tcase_add_test(t, bytes_of_all_users);
	tcase_add_test(t, readers_of_one_user);
	tcase_add_test(t, errors_of_users_are_counted_apart);
	tcase_add_test(t, a_request_that_is_sent_again);
	tcase_add_test(t, roles);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

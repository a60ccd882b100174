/* SPDX-License-Identifier: MIT
 *
 * The bounds of one request: its members, the context and the pages of its model. */
#include <stdio.h>
#include <string.h>

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

START_TEST(what_is_wrong_is_said_at_once)
{
	struct lmi_wire_request q;
	lmd_token bad[] = {1, 5000};
	struct lmi_wire_sampler chain = {.name = "nonsense"};

	fx_start(&fx);
#define REFUSED(status_, words)                                                                    \
	do {                                                                                       \
		fx_check_refused(&fx, &fx_user, &q, status_, words);                               \
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
		REFUSED(LMD_INVALID, "399 tokens exceeds the available context size of 256");
	}
#undef REFUSED
	fx_check_empty(&fx);
}
END_TEST

/* The length of a prompt in tokens, at the bound and beyond; one character of the model is one token. */
START_TEST(prompt_max)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	char out[64];

	fx.o.limits.prompt_max = 5;
	fx_start(&fx);
	id = fx_begin(&fx, &fx_user, "abcde", 2);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, out, sizeof(out)).kind, LMI_WIRE_ITEM_DONE);
	q = fx_generate(&fx, "tiny", "abcdef", 2);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_INVALID);
	ck_assert_msg(strstr(fx.a.err.text, "6 tokens exceeds the server's limit prompt_max of 5"), "%s",
		      fx.a.err.text);
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

int main(void)
{
	Suite *s = suite_create("bounds");
	TCase *t = tcase_create("bounds");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, what_is_wrong_is_said_at_once);
	tcase_add_test(t, limits_of_a_request);
	tcase_add_test(t, prompt_max);
	tcase_add_test(t, suppressed_tokens);
	tcase_add_test(t, the_context_ends_one_alone);
	if (fx_on_null())
		tcase_add_test(t, pages_run_out);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

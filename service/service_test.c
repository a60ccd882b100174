/* SPDX-License-Identifier: MIT
 *
 * The service without sockets, threads and clocks: generations, answers in a form, repetitions,
 * permissions. */
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

/* ---- answers in a form ---- */

static struct lmd_str word(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
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
	ck_assert(fx_metric(&fx, "llamad_model_grammar_misses_total") == 1);
	ck_assert(fx_metric(&fx, "llamad_model_grammar_hits_total") == 2);
	ck_assert(fx_metric(&fx, "llamad_model_grammars") == 1);
	ck_assert(fx_metric(&fx, "llamad_model_generation_tokens_forced_total") > 5);
	(void)fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny");
	on = in_form(form, LMI_WIRE_JUMP_TOKEN, b, sizeof(b));
	ck_assert_str_eq(a, b);
	ck_assert(fx_metric(&fx, "llamad_model_grammar_misses_total") == 1);
	ck_assert(fx_metric(&fx, "llamad_model_grammar_hits_total") == 0);
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
	ck_assert(fx_metric(&fx, "llamad_model_prefix_cache_queries_total") == 3);
	ck_assert(fx_metric(&fx, "llamad_model_prefix_cache_hits_total") == (_i ? 2 : 1));
	ck_assert(fx_metric(&fx, "llamad_model_rows_shared_total") == (_i ? 42 : 21));
	ck_assert(fx_metric(&fx, "llamad_model_kv_pages_cached") > 0);
	ck_assert(fx_metric(&fx, "llamad_model_kv_evictions_total") == 0);
	fx_check_empty(&fx);
}
END_TEST

/* A request pins its prompt; the answer and ps tell. */
START_TEST(a_pinned_prompt)
{
	static const char *const prompts[] = {"the prompt of a long conversation that begins here",
					      "the prompt of a long conversation that begins now!"};
	struct lmi_wire_request q;
	struct lmi_wire_item end;
	char text[64];

	fx_start(&fx);
	for (int i = 0; i < 2; i++) {
		q = fx_generate(&fx, "tiny", prompts[i], 3);
		q.u.generate.pin_ms = 300000;
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
		end = fx_read(&fx, &fx_user, &fx.a.r.u.generate.id, text, sizeof(text));
		ck_assert_int_eq(end.u.done.n_prompt, 50);
		ck_assert_int_ge(end.u.done.n_pinned, 32);
		ck_assert_int_eq(end.u.done.prefix_broke_at, i ? 46 : 0);
	}
	q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_int_gt(fx.a.r.u.ps.models[0].pinned, 0);
	fx_check_empty(&fx);
}
END_TEST

/* A full context ends an answer, or is shifted: then one without a length ends at the server's
 * limit. */
START_TEST(a_full_context)
{
	static const int64_t n_max = 600;
	struct lmi_wire_request q;
	struct lmi_wire_item end;
	static char text[1024];

	fx.o.limits.output_max = n_max;
	fx_start(&fx);
	for (int shifts = 0; shifts < 2; shifts++) {
		q = fx_generate(&fx, "tiny", "abc", -1);
		q.u.generate.ignore_eog = true;
		q.u.generate.has_context_shift = q.u.generate.context_shift = shifts;
		q.u.generate.has_n_keep = true;
		q.u.generate.n_keep = -1;
		ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
		end = fx_read(&fx, &fx_user, &fx.a.r.u.generate.id, text, sizeof(text));
		ck_assert_int_eq(end.u.done.finish,
				 shifts ? LMI_WIRE_FINISH_LENGTH : LMI_WIRE_FINISH_CONTEXT);
		ck_assert(shifts ? end.u.done.n_shift > 1 && end.u.done.n_out == n_max
				 : !end.u.done.n_shift && end.u.done.n_out < n_max);
	}
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
	ck_assert(fx_metric(&fx, "llamad_model_draft_tokens_total") == (double)end.u.done.n_drafted);
	ck_assert(fx_metric(&fx, "llamad_model_draft_tokens_accepted_total") ==
		  (double)end.u.done.n_accepted);
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
	if (fx_on_null())
		tcase_add_test(t, a_generation);
	if (fx_on_null())
		tcase_add_test(t, an_answer_in_a_form);
	tcase_add_loop_test(t, a_prompt_is_found_again, 0, 2);
	tcase_add_test(t, a_pinned_prompt);
	tcase_add_test(t, a_full_context);
	tcase_add_loop_test(t, an_answer_is_predicted, 0, 2);
	tcase_add_test(t, a_request_that_is_sent_again);
	tcase_add_test(t, roles);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

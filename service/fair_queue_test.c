/* SPDX-License-Identifier: MIT
 *
 * Which generation runs next: models do not block each other, users share by tokens, classes by
 * weight, and nobody starves. */
#include <stdio.h>
#include <string.h>

#include "service/service_state.h"
#include "service/user.h"
#include "tests/service_fixture.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
	fx.o.limits.streams = 1000;
	fx.o.limits.queue = 1000;
	fx.o.limits.first_token_ms = 1000000;
}

static void teardown(void)
{
	fx_fini(&fx);
}

static struct lmi_wire_id begin(const struct lmi_svc_principal *who, const char *model, int64_t n,
				enum lmi_wire_class class)
{
	struct lmi_wire_request q = fx_generate(&fx, model, "hello", n);

	q.u.generate.class = class;
	ck_assert_msg(fx_call(&fx, who, &q), "%s", fx.a.err.text);
	return fx.a.r.u.generate.id;
}

static const struct lmi_svc_stream *find(const struct lmi_wire_id *id)
{
	const struct lmi_svc_stream *s = fx.svc->streams.first;

	while (s && memcmp(s->id, id->b, sizeof(s->id)) != 0)
		s = s->next;
	return s;
}

static bool is_done(const struct lmi_wire_id *id)
{
	const struct lmi_svc_stream *s = find(id);

	return !s || !s->writer;
}

/* Runs until the generation has ended; returns how many of the others have. */
static uint32_t n_done_before(const struct lmi_wire_id *last, const struct lmi_wire_id *others,
			      uint32_t n)
{
	uint32_t n_done = 0;

	for (int i = 0; !is_done(last); i++) {
		ck_assert_int_lt(i, 100000);
		fx_step(&fx, 1);
	}
	for (uint32_t i = 0; i < n; i++)
		n_done += is_done(&others[i]);
	return n_done;
}

/* A model that uses all its places leaves some to the others that are loaded. */
START_TEST(a_full_model_blocks_no_other)
{
	struct lmi_wire_id other;

	fx.o.limits.max_running = 8;
	fx_start(&fx);
	fx_load(&fx);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "other").kind, LMI_WIRE_ITEM_DONE);
	for (int i = 0; i < 20; i++)
		(void)begin(&fx_admin, "tiny", 1000, LMI_WIRE_CLASS_NORMAL);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 7);
	other = begin(&fx_admin, "other", 3, LMI_WIRE_CLASS_NORMAL);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 8);
	ck_assert_uint_eq(n_done_before(&other, NULL, 0), 0);
	/* without others, a model uses all places */
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "other").kind, LMI_WIRE_ITEM_DONE);
	fx_step(&fx, 2);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 8);
}
END_TEST

/* A user whose requests came later need not wait for all of those that came first. */
START_TEST(many_requests_delay_few_by_little)
{
	struct lmi_wire_id many[100], few[2];

	fx.o.limits.max_running = 2; /* nothing is kept for anybody */
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 100; i++)
		many[i] = begin(&fx_user, "tiny", 20, LMI_WIRE_CLASS_NORMAL);
	for (int i = 0; i < 2; i++)
		few[i] = begin(&fx_other, "tiny", 20, LMI_WIRE_CLASS_NORMAL);
	ck_assert_uint_le(n_done_before(&few[1], many, 100), 6);
	/* and the many are not shut out by few that go on */
	for (int i = 0; i < 20; i++) {
		few[0] = begin(&fx_other, "tiny", 20, LMI_WIRE_CLASS_NORMAL);
		(void)n_done_before(&few[0], NULL, 0);
	}
	ck_assert_uint_ge(n_done_before(&few[0], many, 100), 20);
}
END_TEST

/* Urgent requests overtake, but those of class batch get their share. */
START_TEST(classes_share_by_weight)
{
	struct lmi_wire_id batch[20], urgent[20];
	uint32_t n;

	fx.o.limits.max_running = 1;
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 20; i++)
		batch[i] = begin(&fx_user, "tiny", 20, LMI_WIRE_CLASS_BATCH);
	for (int i = 0; i < 20; i++)
		urgent[i] = begin(&fx_user, "tiny", 20, LMI_WIRE_CLASS_INTERACTIVE);
	n = n_done_before(&urgent[19], batch, 20);
	printf("%u of class batch while 20 of class interactive ran\n", n);
	ck_assert(n >= 2 && n <= 5);
	(void)n_done_before(&batch[19], NULL, 0);
}
END_TEST

static uint64_t served(const struct lmi_svc_principal *who)
{
	const struct lmi_svc_owner o = lmi_svc_owner_of(who);

	for (const struct lmi_svc_user *u = fx.svc->users; u; u = u->next)
		if (lmi_svc_owner_same(&u->owner, &o))
			return u->served[LMI_ENGINE_CLASS_NORMAL];
	return 0;
}

/* Two users who always have something queued: what they were served differs by at most what the
 * running requests of one cost, whatever they ask. */
START_TEST(no_user_starves)
{
	static const struct lmi_svc_principal *const who[] = {&fx_user, &fx_other};
	uint64_t rnd = lmd_seed("fair queue", 11), worst = 0;
	struct lmi_wire_id queue[2][4];

	fx.o.limits.max_running = 2;
	fx_start(&fx);
	fx_load(&fx);
	for (int u = 0; u < 2; u++)
		for (int i = 0; i < 4; i++)
			queue[u][i] = begin(who[u], "tiny", 1, LMI_WIRE_CLASS_NORMAL);
	for (int turn = 0; turn < 3000; turn++) {
		uint64_t a = served(who[0]), b = served(who[1]), gap = a > b ? a - b : b - a;

		/* one asks for long answers, one for short ones */
		for (int u = 0; u < 2; u++)
			for (int i = 0; i < 4; i++)
				if (is_done(&queue[u][i]))
					queue[u][i] = begin(
						who[u], "tiny",
						1 + (int64_t)(lmd_rand(&rnd) % (u ? 5 : 60)),
						LMI_WIRE_CLASS_NORMAL);
		worst = gap > worst ? gap : worst;
		fx_step(&fx, 1);
	}
	printf("%llu and %llu served, at most %llu apart\n", (unsigned long long)served(who[0]),
	       (unsigned long long)served(who[1]), (unsigned long long)worst);
	ck_assert_uint_gt(served(who[0]), 3000);
	/* two running requests of the longest answer, and the prompt */
	ck_assert_uint_le(worst, 2 * 2 * (2 * 60 + 10));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fair_queue");
	TCase *t = tcase_create("fair_queue");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, a_full_model_blocks_no_other);
	tcase_add_test(t, many_requests_delay_few_by_little);
	tcase_add_test(t, classes_share_by_weight);
	tcase_add_test(t, no_user_starves);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

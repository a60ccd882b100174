/* SPDX-License-Identifier: MIT
 *
 * Models are found, listed and described from memory, which agrees with the registry after every change. */
#include <stdio.h>
#include <string.h>

#include "service/load_guard.h"
#include "service/registry_rows.h"
#include "service/service_state.h"
#include "tests/service_fixture.h"

#define NS_PER_S 1000000000ll

static struct fx fx;
static int64_t wall;

static int64_t wall_ns(void *arg)
{
	(void)arg;
	return wall;
}

static void setup(void)
{
	static const struct lmi_service_hooks hooks = {.wall_ns = wall_ns};

	fx_init(&fx);
	fx.o.hooks = &hooks;
	wall = 1700000000 * NS_PER_S;
}

static void teardown(void)
{
	fx_fini(&fx);
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

/* Sends a request; `jobs`: whether it may need some. */
static const struct lmi_wire_reply *ask(const struct lmi_wire_request *q, bool jobs)
{
	if (jobs) {
		ck_assert_msg(fx_call(&fx, &fx_user, q), "%s", fx.a.err.text);
		return &fx.a.r;
	}
	fx_answer_fini(&fx.a);
	fx_ask(&fx, &fx_user, q, &fx.a);
	ck_assert_msg(fx.a.n == 1, "the answer needs a job");
	ck_assert_msg(!fx.a.failed, "%s", fx.a.err.text);
	return &fx.a.r;
}

/* Writes the names that are listed, with the aliases of each. */
static const char *listed(bool jobs)
{
	const struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	const struct lmi_wire_rep_models *r = &ask(&q, jobs)->u.models;
	static char out[400];
	size_t n = 0;

	for (uint32_t i = 0; i < r->n_models; i++) {
		const struct lmi_wire_model *m = &r->models[i];

		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%.*s", n ? " " : "",
				      (int)m->name.len, m->name.ptr);
		for (uint32_t k = 0; k < m->n_aliases; k++)
			n += (size_t)snprintf(out + n, sizeof(out) - n, "=%.*s",
					      (int)m->aliases[k].len, m->aliases[k].ptr);
	}
	return out;
}

/* Changes the registry, so that the next list, and only that one, is read from it. */
static void change(struct lmi_wire_request q, const char *want)
{
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	ck_assert_ptr_null(fx.svc->rows);
	ck_assert_str_eq(listed(true), want);
	ck_assert_str_eq(listed(false), want);
}

START_TEST(every_change_is_listed)
{
	struct lmi_wire_request q;

	fx_start(&fx);
	ck_assert_str_eq(listed(true), "other tiny");
	ck_assert_str_eq(listed(false), "other tiny");
	q = fx_on(&fx, LMI_WIRE_OP_ALIAS, NULL);
	q.u.alias.alias = str("best");
	q.u.alias.model = str("tiny");
	change(q, "other tiny=best");
	q.u.alias.model = str("other");
	change(q, "other=best tiny");
	q = fx_on(&fx, LMI_WIRE_OP_CREATE, NULL);
	q.u.create.name = str("pirate");
	q.u.create.modelfile = str("FROM tiny\nSYSTEM Arr\n");
	change(q, "other=best tiny=pirate");
	change(fx_on(&fx, LMI_WIRE_OP_RM, "best"), "other tiny=pirate");
	change(fx_on(&fx, LMI_WIRE_OP_RM, "tiny"), "other");
}
END_TEST

/* Aliases are told apart by their models, whatever the order of their names, and lead to these. */
START_TEST(aliases_of_each_model)
{
	static const char *const aliases[][2] = {
		{"c", "tiny"}, {"a", "tiny"}, {"d", "other"}, {"b", "other"}, {"z", "tiny"}};
	struct lmi_wire_request q;

	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_ALIAS, NULL);
	for (size_t i = 0; i < LMD_LEN(aliases); i++) {
		q.u.alias.alias = str(aliases[i][0]);
		q.u.alias.model = str(aliases[i][1]);
		ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	}
	ck_assert_str_eq(listed(true), "other=b=d tiny=a=c=z");
	ck_assert_str_eq(listed(false), "other=b=d tiny=a=c=z");
	q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	q.u.models.has_model = true;
	for (size_t i = 0; i < LMD_LEN(aliases); i++) {
		const struct lmi_wire_model *m;

		q.u.models.model = str(aliases[i][0]);
		m = &ask(&q, false)->u.models.models[0];
		ck_assert_int_eq((int)m->name.len, (int)strlen(aliases[i][1]));
		ck_assert_int_eq(memcmp(m->name.ptr, aliases[i][1], m->name.len), 0);
	}
	q.u.models.model = str("bb");
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_str_eq(fx.a.err.text, "model 'bb' does not exist");
}
END_TEST

static enum lmi_wire_model_state state_of(const char *name, bool jobs)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);

	q.u.models.has_model = true;
	q.u.models.model = str(name);
	ck_assert_uint_eq(ask(&q, jobs)->u.models.n_models, 1);
	return fx.a.r.u.models.models[0].state;
}

/* What is not in the registry is told at once: the state of a model, and the end of its quarantine. */
START_TEST(states_are_those_of_the_moment)
{
	struct lmd_error err = {0};

	fx_start(&fx);
	for (int i = 0; i < 2; i++) /* what a process that died twice leaves */
		ck_assert_int_eq(lmi_svc_load_guard_begin(lmi_store_dir(fx.store), "tiny", wall, true,
							  &err),
				 LMD_OK);
	ck_assert_int_eq(state_of("tiny", true), LMI_WIRE_MODEL_STATE_QUARANTINED);
	ck_assert_int_eq(state_of("other", false), LMI_WIRE_MODEL_STATE_ABSENT);
	wall += (LMI_SVC_LOAD_GUARD_PAUSE_S - 1) * NS_PER_S;
	ck_assert_int_eq(state_of("tiny", false), LMI_WIRE_MODEL_STATE_QUARANTINED);
	ck_assert_msg(memmem(fx.a.r.u.models.models[0].reason.ptr,
			     fx.a.r.u.models.models[0].reason.len, "again in 1 s", 12) != NULL,
		      "%.*s", (int)fx.a.r.u.models.models[0].reason.len,
		      fx.a.r.u.models.models[0].reason.ptr);
	wall += NS_PER_S;
	ck_assert_int_eq(state_of("tiny", false), LMI_WIRE_MODEL_STATE_ABSENT);
	wall -= NS_PER_S;
	/* a load that succeeds ends it */
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(state_of("tiny", true), LMI_WIRE_MODEL_STATE_READY);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(state_of("tiny", false), LMI_WIRE_MODEL_STATE_ABSENT);
}
END_TEST

/* A loaded model is described during the call, once its template was examined. */
START_TEST(a_loaded_model_is_described_at_once)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_INFO, "tiny");

	fx_start(&fx);
	ck_assert_int_eq(ask(&q, true)->u.info.n_vocab, LMT_VOCAB);
	fx_load(&fx);
	q.u.info.template_caps = true;
	ck_assert(ask(&q, true)->u.info.has_resident);
	ck_assert_int_eq(ask(&q, false)->u.info.n_vocab, LMT_VOCAB);
	ck_assert(fx.a.r.u.info.has_resident);
	/* a name that does not exist needs no job either */
	q = fx_on(&fx, LMI_WIRE_OP_INFO, "nobody");
	fx_answer_fini(&fx.a);
	fx_ask(&fx, &fx_user, &q, &fx.a);
	ck_assert(fx.a.n == 1 && fx.a.failed);
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
}
END_TEST

/* Rows that were asked for before a change and arrive after it are not kept. */
START_TEST(a_change_meets_a_list)
{
	struct lmi_wire_request list = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	struct lmi_wire_request rm = fx_on(&fx, LMI_WIRE_OP_RM, "tiny");
	struct fx_answer a = {0}, b = {0};

	fx_start(&fx);
	fx_ask(&fx, &fx_user, &list, &a);
	fx_ask(&fx, &fx_admin, &rm, &b);
	lmi_svc_registry_rows_drop(fx.svc); /* as a load would that ends now */
	fx_wait(&fx, &a);
	ck_assert_uint_eq(a.r.u.models.n_models, 2);
	ck_assert_ptr_null(fx.svc->rows);
	fx_wait(&fx, &b);
	ck_assert_str_eq(listed(true), "other");
	fx_answer_fini(&a);
	fx_answer_fini(&b);
}
END_TEST

/* Tokenises a text with a model of that name; `jobs`: whether it may need some. */
static void tokenize(const char *model, bool jobs)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_TOKENIZE, NULL);

	q.u.tokenize.model = str(model);
	q.u.tokenize.text = str("a");
	(void)ask(&q, jobs);
}

static void set_alias(const char *alias, const char *model)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_ALIAS, NULL);

	q.u.alias.alias = str(alias);
	q.u.alias.model = str(model);
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
}

/* A change of one name leaves the models of other names at hand: their requests do not wait for the registry. */
START_TEST(other_names_are_not_looked_up_again)
{
	struct lmi_wire_request rm = fx_on(&fx, LMI_WIRE_OP_RM, "other");
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_TOKENIZE, NULL);

	fx_start(&fx);
	set_alias("best", "tiny");
	tokenize("tiny", true);
	tokenize("best", true);
	tokenize("best", false);
	set_alias("worst", "other");
	tokenize("tiny", false);
	tokenize("best", false);
	ck_assert_msg(fx_call(&fx, &fx_admin, &rm), "%s", fx.a.err.text);
	tokenize("tiny", false);
	tokenize("best", false);
	/* an alias that is removed is unknown, its model is not */
	rm = fx_on(&fx, LMI_WIRE_OP_RM, "best");
	ck_assert_msg(fx_call(&fx, &fx_admin, &rm), "%s", fx.a.err.text);
	tokenize("tiny", false);
	q.u.tokenize.model = str("best");
	q.u.tokenize.text = str("a");
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	/* a model that is removed is unknown under all its names */
	set_alias("best", "tiny");
	tokenize("best", true);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	rm = fx_on(&fx, LMI_WIRE_OP_RM, "tiny");
	ck_assert_msg(fx_call(&fx, &fx_admin, &rm), "%s", fx.a.err.text);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
}
END_TEST

/* A name that was looked up in a registry that has been replaced since is looked up again. */
START_TEST(a_replaced_registry_is_asked_again)
{
	struct lmi_wire_request first = fx_on(&fx, LMI_WIRE_OP_TOKENIZE, NULL), second = first;
	struct fx_answer a = {0}, b = {0};

	first.u.tokenize.text = second.u.tokenize.text = str("a");
	first.u.tokenize.model = str("tiny");
	second.u.tokenize.model = str("other");
	fx_start(&fx);
	fx_ask(&fx, &fx_user, &first, &a);
	fx.svc->names_n_replaced--; /* replaced while that look-up runs */
	fx_ask(&fx, &fx_user, &second, &b);
	fx_wait(&fx, &a);
	fx_wait(&fx, &b);
	ck_assert(!a.failed && !b.failed);
	tokenize("other", false);
	fx_answer_fini(&a);
	fx_ask(&fx, &fx_user, &first, &a);
	ck_assert_uint_eq(a.n, 0);
	fx_wait(&fx, &a);
	tokenize("tiny", false);
	fx.svc->names_n_replaced--;
	fx_answer_fini(&a);
	fx_ask(&fx, &fx_user, &first, &a);
	ck_assert_uint_eq(a.n, 0);
	fx_wait(&fx, &a);
	fx_answer_fini(&a);
	fx_answer_fini(&b);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("registry_rows");
	Suite *s = suite_create("registry_rows");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, every_change_is_listed);
	tcase_add_test(tc, aliases_of_each_model);
	tcase_add_test(tc, states_are_those_of_the_moment);
	tcase_add_test(tc, a_loaded_model_is_described_at_once);
	tcase_add_test(tc, a_change_meets_a_list);
	tcase_add_test(tc, other_names_are_not_looked_up_again);
	tcase_add_test(tc, a_replaced_registry_is_asked_again);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * Models that are loaded, unloaded, fail and change while they are in use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/load_guard.h"
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

/* ---- models ---- */

START_TEST(many_wait_for_one_load)
{
	struct lmi_wire_request q[5];
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
	fx_check_empty(&fx);
}
END_TEST

START_TEST(a_load_that_fails)
{
	struct lmi_wire_item item;
	struct lmi_wire_request q;
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
	/* until the pause is over, a generation gets the same error without another attempt */
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
	fx_check_empty(&fx);
}
END_TEST

/* Returns the state of "tiny" and its reason. */
static enum lmi_wire_model_state listed_state(char *reason, size_t n)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	const struct lmi_wire_rep_models *r = &fx.a.r.u.models;

	ck_assert(fx_call(&fx, &fx_user, &q));
	for (uint32_t i = 0; i < r->n_models; i++) {
		const struct lmi_wire_model *m = &r->models[i];

		if (m->name.len != 4 || memcmp(m->name.ptr, "tiny", 4))
			continue;
		snprintf(reason, n, "%.*s", (int)m->reason.len, m->reason.ptr);
		return m->state;
	}
	ck_abort_msg("tiny is not listed");
}

/* Op load does not return an old error: it retries at once. */
START_TEST(a_load_overrides_the_pause)
{
	struct lmi_wire_request q;
	char reason[256];

	setenv("LLAMAD_NULL_STEP_US", "not a number", 1); /* the device does not open */
	fx.o.limits.fail_ms = fx.o.limits.fail_max_ms = 60000;
	fx_start(&fx);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_ERROR);
	ck_assert_int_eq(listed_state(reason, sizeof(reason)), LMI_WIRE_MODEL_STATE_FAILED);
	ck_assert_msg(strstr(reason, "not a number") != NULL, "%s", reason);
	unsetenv("LLAMAD_NULL_STEP_US");
	/* a generation has to wait for the end of the pause */
	q = fx_generate(&fx, "tiny", "hello", 5);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_uint_gt(fx.a.retry_ms, 50000);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(listed_state(reason, sizeof(reason)), LMI_WIRE_MODEL_STATE_READY);
	fx_check_empty(&fx);
}
END_TEST

/* A model during whose load the process died twice is listed as quarantined until a load. */
START_TEST(quarantine_is_listed)
{
	struct lmd_error err = {0};
	struct lmi_wire_request q;
	char reason[200];

	fx_start(&fx);
	for (int i = 0; i < 2; i++) /* what such a process leaves */
		ck_assert_int_eq(lmi_svc_load_guard_begin(lmi_store_dir(fx.store), "tiny",
							  fx.o.hooks->wall_ns(NULL), true, &err),
				 LMD_OK);
	for (int i = 0; i < 2; i++) { /* before and after a request that is refused for it */
		ck_assert_int_eq(listed_state(reason, sizeof(reason)),
				 LMI_WIRE_MODEL_STATE_QUARANTINED);
		ck_assert_msg(strstr(reason, "died 2 times while loading it") != NULL, "%s", reason);
		q = fx_generate(&fx, "tiny", "hello", 5);
		if (fx_call(&fx, &fx_user, &q)) {
			struct lmi_wire_id id = fx.a.r.u.generate.id;

			ck_assert_int_eq(fx_read(&fx, &fx_user, &id, reason, sizeof(reason)).kind,
					 LMI_WIRE_ITEM_ERROR);
		} else {
			ck_assert_msg(strstr(fx.a.err.text, "quarantine") != NULL, "%s",
				      fx.a.err.text);
		}
	}
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(listed_state(reason, sizeof(reason)), LMI_WIRE_MODEL_STATE_READY);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(listed_state(reason, sizeof(reason)), LMI_WIRE_MODEL_STATE_ABSENT);
}
END_TEST

/* The device is lost in the 5th step, of which the load takes one: all running generations end with the error, the model is
 * listed as failed, and op load loads it again. */
START_TEST(a_device_that_is_lost)
{
	struct lmi_wire_item item;
	struct lmi_wire_id id[2];
	struct lmi_wire_request q;
	char text[256];

	setenv("LLAMAD_NULL_FAIL_STEP", "5", 1);
	fx.o.limits.fail_ms = fx.o.limits.fail_max_ms = 60000;
	fx_start(&fx);
	fx_load(&fx);
	for (int i = 0; i < 2; i++)
		id[i] = fx_begin(&fx, &fx_user, "hello", 100);
	fx_settle(&fx);
	for (int i = 0; i < 2; i++) {
		item = fx_read(&fx, &fx_user, &id[i], text, sizeof(text));
		ck_assert_int_eq(item.kind, LMI_WIRE_ITEM_ERROR);
		ck_assert_int_eq(item.u.error.code, LMD_DEVICE);
	}
	ck_assert_uint_eq(fx_stats(&fx).n_failed, 2);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	ck_assert_int_eq(listed_state(text, sizeof(text)), LMI_WIRE_MODEL_STATE_FAILED);
	ck_assert_msg(strstr(text, "device was lost") != NULL, "%s", text);
	/* a request during the pause gets the reason and retry_ms */
	q = fx_generate(&fx, "tiny", "hello", 2);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_DEVICE);
	ck_assert_uint_gt(fx.a.retry_ms, 0);
	unsetenv("LLAMAD_NULL_FAIL_STEP");
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(listed_state(text, sizeof(text)), LMI_WIRE_MODEL_STATE_READY);
	id[0] = fx_begin(&fx, &fx_user, "hello", 9);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id[0], text, sizeof(text)).u.done.n_out, 9);
	fx_check_empty(&fx);
}
END_TEST

/* After the pause a request loads it again. */
START_TEST(a_lost_device_and_a_request)
{
	struct lmi_wire_id id;
	char text[256];

	setenv("LLAMAD_NULL_FAIL_STEP", "2", 1);
	fx_start(&fx);
	fx_load(&fx);
	id = fx_begin(&fx, &fx_user, "hello", 100);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).u.error.code, LMD_DEVICE);
	unsetenv("LLAMAD_NULL_FAIL_STEP");
	fx.now += 1001 * FX_MS;
	id = fx_begin(&fx, &fx_user, "hello", 9);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).u.done.n_out, 9);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(unload_waits_for_its_streams)
{
	struct lmi_wire_id gen, job;
	struct lmi_wire_request q;
	char text[512];

	fx_start(&fx);
	fx_load(&fx);
	gen = fx_begin(&fx, &fx_user, "hello", 50);
	fx_step(&fx, 3);
	q = fx_on(&fx, LMI_WIRE_OP_UNLOAD, "tiny");
	ck_assert(fx_call(&fx, &fx_admin, &q));
	job = fx.a.r.u.unload.id;
	fx_step(&fx, 5);
	(void)fx_job(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	/* new requests get a new engine */
	struct lmi_wire_id later = fx_begin(&fx, &fx_user, "hello", 2);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &gen, text, sizeof(text)).u.done.n_out, 50);
	ck_assert_int_eq(fx_read(&fx, &fx_admin, &job, text, sizeof(text)).kind,
			 LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &later, text, sizeof(text)).u.done.n_out, 2);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	/* by force */
	gen = fx_begin(&fx, &fx_user, "hello", 200);
	fx_step(&fx, 3);
	q = fx_on(&fx, LMI_WIRE_OP_UNLOAD, "tiny");
	q.u.unload.force = true;
	ck_assert(fx_call(&fx, &fx_admin, &q));
	job = fx.a.r.u.unload.id;
	ck_assert_int_eq(fx_read(&fx, &fx_admin, &job, text, sizeof(text)).kind,
			 LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &gen, text, sizeof(text)).u.cancelled.reason,
			 LMI_WIRE_CANCEL_REASON_UNLOAD);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	/* a model that is not in memory cannot be unloaded */
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny").u.error.code, LMD_NOTFOUND);
	fx_check_empty(&fx);
}
END_TEST

/* What is not in memory is refused at once, without a stream. */
START_TEST(unload_of_nothing)
{
	struct lmi_wire_request q;

	fx_start(&fx);
	for (int i = 0; i < 2; i++) { /* never loaded; and no longer */
		q = fx_on(&fx, LMI_WIRE_OP_UNLOAD, "tiny");
		ck_assert(!fx_call(&fx, &fx_admin, &q));
		ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
		fx_load(&fx);
		ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	}
}
END_TEST

START_TEST(reload_has_two_generations)
{
	struct lmi_wire_id old, new;
	struct lmi_wire_request q;
	char text[512];
	double weights, active;

	fx_start(&fx);
	fx_load(&fx);
	weights = fx_metric(&fx, "llamad_model_weight_bytes");
	ck_assert_double_gt(weights, 0);
	old = fx_begin(&fx, &fx_user, "hello", 100);
	fx_step(&fx, 3);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_RELOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 2);
	new = fx_begin(&fx, &fx_user, "hello", 5);
	/* the metrics of both are one sum */
	ck_assert_double_eq(fx_metric(&fx, "llamad_model_weight_bytes"), 2 * weights);
	active = fx_metric(&fx, "llamad_model_sequences_active") + fx_metric(&fx, "llamad_model_sequences_waiting");
	ck_assert_double_ge(active, 1);
	q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.ps.n_models, 2);
	ck_assert_int_eq(fx.a.r.u.ps.models[0].state, LMI_WIRE_MODEL_STATE_READY);
	ck_assert_int_eq(fx.a.r.u.ps.models[1].state, LMI_WIRE_MODEL_STATE_DRAINING);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &new, text, sizeof(text)).u.done.n_out, 5);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &old, text, sizeof(text)).u.done.n_out, 100);
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	ck_assert_double_eq(fx_metric(&fx, "llamad_model_weight_bytes"), weights);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(models_come_and_go)
{
	struct lmi_wire_id id;
	struct lmi_wire_request q;
	char text[64];

	fx.o.limits.models = 1;
	fx.o.limits.keep_alive_ms = 60000;
	fx_start(&fx);
	id = fx_begin(&fx, &fx_user, "hello", 5);
	(void)fx_read(&fx, &fx_user, &id, text, sizeof(text));
	/* the other model replaces it once it is idle */
	q = fx_generate(&fx, "other", "hello", 50);
	ck_assert(fx_call(&fx, &fx_user, &q));
	id = fx.a.r.u.generate.id;
	fx_settle(&fx);
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).u.done.n_out, 50);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	/* a model in use is not replaced */
	q = fx_generate(&fx, "other", "hello", 100);
	ck_assert(fx_call(&fx, &fx_user, &q));
	fx_step(&fx, 3);
	q = fx_generate(&fx, "tiny", "hello", 5);
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_uint_gt(fx.a.retry_ms, 0);
	fx_settle(&fx);
	/* an idle model is unloaded */
	fx.now += 60001 * FX_MS;
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	fx_check_empty(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("models");
	TCase *t = tcase_create("models");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, many_wait_for_one_load);
	tcase_add_test(t, a_load_that_fails);
	tcase_add_test(t, a_load_overrides_the_pause);
	tcase_add_test(t, quarantine_is_listed);
	tcase_add_test(t, a_device_that_is_lost);
	tcase_add_test(t, a_lost_device_and_a_request);
	tcase_add_test(t, unload_waits_for_its_streams);
	tcase_add_test(t, unload_of_nothing);
	tcase_add_test(t, reload_has_two_generations);
	tcase_add_test(t, models_come_and_go);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

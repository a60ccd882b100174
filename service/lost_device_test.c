/* SPDX-License-Identifier: MIT
 *
 * Models on a device that is lost, while models on another one go on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/devices.h"
#include "tests/service_fixture.h"

static struct fx fx;
static struct lmi_engine_devices *set;

static uint64_t fixture_now(void *ctx)
{
	(void)ctx;
	return fx.now;
}

static void setup(void)
{
	struct lmd_error err = {0};

	fx_init(&fx);
	fx.env.host->now_ns = fixture_now;
	ck_assert_int_eq(lmi_engine_devices_create(&set, fx.env.registry, fx.env.host, &err),
			 LMD_OK);
	fx.o.inst.devices = set;
	fx.o.inst.backend = "emu";
}

static void teardown(void)
{
	unsetenv("LLAMAD_EMU");
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	lmi_engine_devices_destroy(set);
	fx_fini(&fx);
}

/* emu1 is lost at the given step after each opening; 0: never. */
static void set_lose(uint32_t step)
{
	char text[64];

	snprintf(text, sizeof(text), "devices=2,late=1,lose_device=1,lose_step=%u", step);
	ck_assert_int_eq(setenv("LLAMAD_EMU", text, 1), 0);
}

static struct lmi_wire_item load_on(const char *model, const char *device)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_LOAD, model);
	struct lmi_wire_id id;

	q.u.load.devices = (struct lmd_str){.ptr = device, .len = strlen(device)};
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	id = fx.a.r.u.load.id;
	return fx_read(&fx, &fx_admin, &id, NULL, 0);
}

static struct lmi_wire_id begin(const char *model, int64_t n)
{
	struct lmi_wire_request q = fx_generate(&fx, model, "hello", n);

	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	return fx.a.r.u.generate.id;
}

/* Generates n tokens; returns the last item, and the text or the error in out. */
static struct lmi_wire_item generate(const char *model, int64_t n, char *out, size_t size)
{
	struct lmi_wire_id id = begin(model, n);
	struct lmi_wire_item item = fx_read(&fx, &fx_user, &id, out, size);

	if (item.kind == LMI_WIRE_ITEM_ERROR)
		snprintf(out, size, "%.*s", (int)item.u.error.text.len, item.u.error.text.ptr);
	return item;
}

/* A copy of the row of a device, without its lists. */
static struct lmi_wire_device device(const char *name)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_DEVICES, NULL);

	ck_assert(fx_call(&fx, &fx_user, &q));
	for (uint32_t i = 0; i < fx.a.r.u.devices.n_devices; i++) {
		const struct lmi_wire_device *d = &fx.a.r.u.devices.devices[i];

		if (d->name.len == strlen(name) && !memcmp(d->name.ptr, name, d->name.len))
			return *d;
	}
	ck_abort_msg("%s is not listed", name);
}

/* The row of `ps` of a model; valid until the next request. */
static const struct lmi_wire_resident *resident(const char *model)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);

	ck_assert(fx_call(&fx, &fx_user, &q));
	for (uint32_t i = 0; i < fx.a.r.u.ps.n_models; i++) {
		const struct lmi_wire_resident *r = &fx.a.r.u.ps.models[i];

		if (r->model.len == strlen(model) && !memcmp(r->model.ptr, model, r->model.len))
			return r;
	}
	return NULL;
}

static bool is_state(const char *model, enum lmi_wire_model_state state)
{
	const struct lmi_wire_resident *r = resident(model);

	return r && r->state == state;
}

/* A request is refused until the device can be opened again, and retry_ms is the time until then. */
static void check_refused(const char *model)
{
	int64_t before = device("emu1").retry_ms, after;
	struct lmi_wire_request q = fx_generate(&fx, model, "hello", 2);
	uint32_t retry_ms;

	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_msg(strstr(fx.a.err.text, "waits until device emu1 can be opened again") != NULL,
		      "%s", fx.a.err.text);
	retry_ms = fx.a.retry_ms;
	after = device("emu1").retry_ms;
	ck_assert_int_le(retry_ms, before);
	ck_assert_int_ge(retry_ms, after);
	ck_assert_int_le(before - after, 2);
}

/* Lets the pause end, before which nothing happens, and runs what follows. */
static void end_pause(int64_t most_ms)
{
	int64_t left = device("emu1").retry_ms;

	ck_assert_int_gt(left, most_ms - 100);
	ck_assert_int_le(left, most_ms);
	ck_assert_uint_le(lmi_service_deadline(fx.svc), fx.now + (uint64_t)left * FX_MS);
	fx.now += (uint64_t)(left - 2) * FX_MS;
	fx_settle(&fx);
	ck_assert_int_gt(device("emu1").retry_ms, 0);
	ck_assert(!is_state("tiny", LMI_WIRE_MODEL_STATE_READY));
	fx.now += 2 * FX_MS;
	fx_settle(&fx);
	fx_settle(&fx); /* the load is a job, and what it causes may be another one */
}

START_TEST(a_model_comes_back_and_the_others_go_on)
{
	struct lmi_wire_id other, lost[2];
	const struct lmi_wire_resident *r;
	struct lmi_wire_item item;
	char text[512], want[512];

	set_lose(0);
	fx_start(&fx);
	ck_assert_int_eq(load_on("other", "emu0").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(generate("other", 60, want, sizeof(want)).kind, LMI_WIRE_ITEM_DONE);
	set_lose(9); /* the load takes one step */
	ck_assert_int_eq(load_on("tiny", "emu1").kind, LMI_WIRE_ITEM_DONE);
	other = begin("other", 60);
	for (int i = 0; i < 2; i++)
		lost[i] = begin("tiny", 100);
	fx_step(&fx, 20);
	for (int i = 0; i < 2; i++) {
		item = fx_read(&fx, &fx_user, &lost[i], text, sizeof(text));
		ck_assert_int_eq(item.kind, LMI_WIRE_ITEM_ERROR);
		ck_assert_int_eq(item.u.error.code, LMD_DEVICE);
		snprintf(text, sizeof(text), "%.*s", (int)item.u.error.text.len,
			 item.u.error.text.ptr);
		ck_assert_msg(!strncmp(text, "device emu1 was lost: ", 22), "%s", text);
	}
	r = resident("tiny");
	ck_assert_ptr_nonnull(r);
	ck_assert_int_eq(r->state, LMI_WIRE_MODEL_STATE_FAILED);
	ck_assert_int_gt(r->retry_ms, 900);
	ck_assert_int_le(r->retry_ms, 1000);
	ck_assert(is_state("other", LMI_WIRE_MODEL_STATE_READY));
	ck_assert_int_eq(device("emu1").losses, 1);
	ck_assert_int_gt(device("emu1").retry_ms, 900);
	ck_assert_int_eq(device("emu0").losses, 0);
	check_refused("tiny");
	/* the other one is not disturbed */
	ck_assert_int_eq(fx_read(&fx, &fx_user, &other, text, sizeof(text)).u.done.n_out, 60);
	ck_assert_str_eq(text, want);
	end_pause(1000);
	ck_assert(is_state("tiny", LMI_WIRE_MODEL_STATE_READY));
	ck_assert_int_eq(device("emu1").retry_ms, 0);
	ck_assert_int_eq(generate("tiny", 3, text, sizeof(text)).kind, LMI_WIRE_ITEM_DONE);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(each_loss_doubles_the_pause)
{
	static const int64_t pauses[] = {1000, 2000, 4000, 8000};
	char text[512];

	set_lose(4);
	fx_start(&fx);
	ck_assert_int_eq(load_on("tiny", "emu1").kind, LMI_WIRE_ITEM_DONE);
	for (size_t i = 0; i < LMD_LEN(pauses); i++) {
		ck_assert_int_eq(generate("tiny", 50, text, sizeof(text)).u.error.code, LMD_DEVICE);
		ck_assert_int_eq(device("emu1").losses, (int)i + 1);
		check_refused("tiny");
		end_pause(pauses[i]);
		ck_assert(is_state("tiny", LMI_WIRE_MODEL_STATE_READY));
	}
	/* a load that loses the device counts as well, and the model still comes back */
	set_lose(1);
	ck_assert_int_eq(generate("tiny", 50, text, sizeof(text)).u.error.code, LMD_DEVICE);
	end_pause(16000);
	ck_assert(is_state("tiny", LMI_WIRE_MODEL_STATE_FAILED));
	ck_assert_int_eq(device("emu1").losses, 6);
	check_refused("tiny");
	set_lose(0);
	end_pause(32000);
	ck_assert(is_state("tiny", LMI_WIRE_MODEL_STATE_READY));
	fx_check_empty(&fx);
}
END_TEST

/* A model without work on the device comes back as well; the first load of another one waits for the
 * device, but does not come back by itself. */
START_TEST(models_without_work)
{
	char text[512];

	set_lose(6); /* the load of each model takes one step */
	fx_start(&fx);
	ck_assert_int_eq(load_on("tiny", "emu1").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(load_on("other", "emu1").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(generate("tiny", 50, text, sizeof(text)).u.error.code, LMD_DEVICE);
	ck_assert_int_eq(device("emu1").losses, 1);
	fx_settle(&fx);
	ck_assert(is_state("tiny", LMI_WIRE_MODEL_STATE_FAILED));
	ck_assert(is_state("other", LMI_WIRE_MODEL_STATE_FAILED));
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	check_refused("other");
	end_pause(1000);
	ck_assert(is_state("tiny", LMI_WIRE_MODEL_STATE_READY));
	ck_assert(is_state("other", LMI_WIRE_MODEL_STATE_READY));
	ck_assert_int_eq(device("emu1").losses, 1);
	/* unload of a model that waits */
	ck_assert_int_eq(generate("other", 50, text, sizeof(text)).u.error.code, LMD_DEVICE);
	fx_settle(&fx);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_ptr_null(resident("tiny"));
	set_lose(0);
	end_pause(2000);
	ck_assert_ptr_null(resident("tiny"));
	ck_assert(is_state("other", LMI_WIRE_MODEL_STATE_READY));
	/* op load does not wait for the end of a pause */
	set_lose(2);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "other").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(load_on("other", "emu1").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(generate("other", 50, text, sizeof(text)).u.error.code, LMD_DEVICE);
	set_lose(0);
	ck_assert_int_eq(load_on("other", "emu1").kind, LMI_WIRE_ITEM_DONE);
	ck_assert(is_state("other", LMI_WIRE_MODEL_STATE_READY));
	fx_check_empty(&fx);
}
END_TEST

/* A model that is requested for the first time while its device is closed is refused with the rest of
 * the pause. */
START_TEST(a_first_load_waits)
{
	struct lmi_wire_request q;
	char text[512];

	set_lose(2);
	fx.o.inst.device_list = "emu1";
	fx_start(&fx);
	ck_assert_int_eq(load_on("tiny", "emu1").kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(generate("tiny", 50, text, sizeof(text)).u.error.code, LMD_DEVICE);
	set_lose(0);
	q = fx_generate(&fx, "other", "hello", 2);
	if (fx_call(&fx, &fx_user, &q)) { /* it waits for the load, which fails */
		struct lmi_wire_id id = fx.a.r.u.generate.id;
		struct lmi_wire_item item = fx_read(&fx, &fx_user, &id, text, sizeof(text));

		ck_assert_int_eq(item.kind, LMI_WIRE_ITEM_ERROR);
		ck_assert_int_eq(item.u.error.code, LMD_BUSY);
	}
	check_refused("other");
	end_pause(1000);
	ck_assert(is_state("tiny", LMI_WIRE_MODEL_STATE_READY));
	ck_assert_ptr_null(resident("other"));
	ck_assert_int_eq(generate("other", 2, text, sizeof(text)).kind, LMI_WIRE_ITEM_DONE);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lost_device");
	TCase *t = tcase_create("lost_device");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_model_comes_back_and_the_others_go_on);
	tcase_add_test(t, each_loss_doubles_the_pause);
	tcase_add_test(t, models_without_work);
	tcase_add_test(t, a_first_load_waits);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

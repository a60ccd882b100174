/* SPDX-License-Identifier: MIT
 *
 * The host-memory tier of the prefix cache on a device that does not exist (emu): what it brings back is not
 * computed again, by counted tokens, and the answers stay the same; the way of a page from the device to its
 * removal; whose rows they are; limits and failures. */
#include "service/prefix_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/prefix_fixture.h"
#include "service/prefix_tier_impl.h"
#include "service/service_state.h"

#define PAGE_BYTES 1000u

static char sink[64]; /* an answer that nobody reads */

static void setup(void)
{
	prefix_fx_setup(7);
	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1,seed=3", 1), 0);
	prefix_fx.o.inst.backend = NULL;
	prefix_fx.o.inst.device_list = "emu0";
	prefix_fx.o.limits.prefix_memory_bytes = 64 << 20;
}

static void teardown(void)
{
	prefix_fx_teardown();
	unsetenv("LLAMAD_EMU");
}

static struct lmi_wire_item ask(const struct lmi_svc_principal *who, const lmd_token *v, uint32_t n,
				char *text, size_t size)
{
	struct lmi_wire_item item = prefix_fx_ask(who, "tiny", v, n, text, size);

	ck_assert_int_eq(item.kind, LMI_WIRE_ITEM_DONE);
	prefix_fx_settle();
	return item;
}

/* Fills the KV pool of 1200 tokens with other prompts. */
static void push_out(const struct lmi_svc_principal *who)
{
	for (uint32_t i = 0; i < 2; i++)
		(void)ask(who, prefix_tokens + 2000 + i, 1000, sink, sizeof(sink));
}

/* Rows that others have pushed out of the device come back from host memory, for their user only. */
START_TEST(evicted_rows)
{
	struct lmi_svc_prefix_tier_stats s;
	char want[64], text[64];
	struct lmi_wire_item end;

	prefix_fx.o.inst.kv_tokens = 1200;
	fx_start(&prefix_fx);
	(void)ask(&fx_user, prefix_tokens, 1000, want, sizeof(want));
	push_out(&fx_user);
	ck_assert_uint_eq(prefix_fx_stats().n_restored, 0);
	end = ask(&fx_user, prefix_tokens, 1000, text, sizeof(text));
	ck_assert_str_eq(text, want);
	ck_assert_int_ge(end.u.done.n_cached, 960);
	s = prefix_fx_stats();
	ck_assert_uint_ge(s.n_restored, 700); /* the device has kept some */
	ck_assert_uint_le(s.n_restored, (uint64_t)end.u.done.n_cached);
	ck_assert_uint_eq(s.n_restored_memory, s.n_restored);
	ck_assert_uint_eq(s.files.n_file, 0);
	end = ask(&fx_other, prefix_tokens, 1000, text, sizeof(text));
	ck_assert_int_eq(end.u.done.n_cached, 0);
	ck_assert_str_eq(text, want);
	fx_check_empty(&prefix_fx);
}
END_TEST

/* Random lengths in a small KV pool: each answer is that of a service without a cache, and what is computed
 * again is bounded. _i: kind of model */
START_TEST(kinds_of_models)
{
	uint64_t rnd = lmd_seed("prefix memory kinds", 2);
	const uint32_t n[3] = {300, 700, 1100};
	char path[300], text[3][64], have[64];
	uint32_t known = 0;

	snprintf(path, sizeof(path), "%s/kind.gguf", prefix_fx.dir);
	lmt_tiny_write((enum lmt_tiny)_i, 11, path);
	fx_add_model(&prefix_fx, "kind", path);
	prefix_fx.o.limits.prefix_memory_bytes = 0;
	prefix_fx.o.inst.no_prefix_cache = true;
	fx_start(&prefix_fx);
	for (int k = 0; k < 3; k++)
		(void)prefix_fx_ask(&fx_user, "kind", prefix_tokens, n[k], text[k], sizeof(text[k]));
	prefix_fx_stop();
	prefix_fx.o.limits.prefix_memory_bytes = 64 << 20;
	prefix_fx.o.inst.no_prefix_cache = false;
	prefix_fx.o.inst.kv_tokens = 1200;
	fx_start(&prefix_fx);
	for (int round = 0; round < 8; round++) {
		uint32_t k = (uint32_t)(lmd_rand(&rnd) % 3);
		struct lmi_wire_item end;

		end = prefix_fx_ask(&fx_user, "kind", prefix_tokens, n[k], have, sizeof(have));
		ck_assert_str_eq(have, text[k]);
		/* states are kept every 512 tokens, pages are whole */
		ck_assert_int_ge(end.u.done.n_cached + 512, n[k] < known ? n[k] : known);
		known = n[k] > known ? n[k] : known;
		prefix_fx_settle();
		(void)prefix_fx_ask(&fx_user, "kind", prefix_tokens + 2000 + round, 1100, sink, sizeof(sink));
		prefix_fx_settle();
	}
	if (_i != LMT_STATE) /* whose states the device keeps */
		ck_assert_uint_gt(prefix_fx_stats().n_restored_memory, 0);
	fx_check_empty(&prefix_fx);
}
END_TEST

/* Device, host memory, disk, removed: a page that is not used takes this way, and comes back from where it is. */
START_TEST(the_way_of_a_page)
{
	struct lmi_svc_prefix_tier_stats s, before;
	char want[64], text[64];
	uint64_t bytes;

	prefix_fx.o.inst.kv_tokens = 1200;
	prefix_fx.o.limits.prefix_disk_bytes = 64 << 20;
	fx_start(&prefix_fx);
	prefix_fx_settle();
	(void)ask(&fx_user, prefix_tokens, 1000, want, sizeof(want));
	bytes = prefix_fx_stats().memory.n_bytes;
	ck_assert_uint_gt(bytes, 0);
	prefix_fx_stop();

	/* memory has room for one prompt, the disk for three */
	prefix_fx.o.limits.prefix_memory_bytes = bytes;
	prefix_fx.o.limits.prefix_disk_bytes = 0;
	fx_start(&prefix_fx); /* removes what there was */
	prefix_fx_settle();
	prefix_fx_stop();
	prefix_fx.o.limits.prefix_disk_bytes = 3 * bytes + bytes / 2;
	fx_start(&prefix_fx);
	prefix_fx_settle();
	(void)ask(&fx_user, prefix_tokens, 1000, text, sizeof(text));
	push_out(&fx_user); /* of the device and of memory */
	s = prefix_fx_stats();
	ck_assert_uint_le(s.memory.n_bytes, bytes);
	ck_assert_uint_gt(s.memory.n_evicted, 0);
	ck_assert_int_ge(ask(&fx_user, prefix_tokens, 1000, text, sizeof(text)).u.done.n_cached, 960);
	ck_assert_str_eq(text, want);
	before = s;
	s = prefix_fx_stats();
	ck_assert_uint_ge(s.n_restored - s.n_restored_memory, 700);
	ck_assert_uint_gt(s.memory.n_put, before.memory.n_put); /* it is in memory again */
	for (uint32_t i = 0; i < 4; i++)
		(void)ask(&fx_user, prefix_tokens + 2100 + i, 1000, sink, sizeof(sink));
	ck_assert_uint_gt(prefix_fx_stats().files.n_evicted, 0);
	ck_assert_int_lt(ask(&fx_user, prefix_tokens, 1000, text, sizeof(text)).u.done.n_cached, 300);
	ck_assert_str_eq(text, want);
	fx_check_empty(&prefix_fx);
}
END_TEST

static void unload(const char *model)
{
	struct lmi_wire_request q = fx_on(&prefix_fx, LMI_WIRE_OP_UNLOAD, model);

	ck_assert_msg(fx_call(&prefix_fx, &fx_admin, &q), "%s", prefix_fx.a.err.text);
	fx_settle(&prefix_fx);
}

/* Memory keeps the rows of a model while it is not loaded. */
START_TEST(after_an_unload)
{
	char want[64], text[64];

	fx_start(&prefix_fx);
	(void)ask(&fx_user, prefix_tokens, 1000, want, sizeof(want));
	unload("tiny");
	ck_assert_int_ge(ask(&fx_user, prefix_tokens, 1000, text, sizeof(text)).u.done.n_cached, 960);
	ck_assert_str_eq(text, want);
	ck_assert_uint_ge(prefix_fx_stats().n_restored_memory, 960);
	fx_check_empty(&prefix_fx);
}
END_TEST

/* The pages of backend cpu lie in host memory: they are not copied. */
START_TEST(pages_in_host_memory)
{
	char text[64];

	prefix_fx.o.inst.backend = "cpu";
	prefix_fx.o.inst.device_list = NULL;
	fx_start(&prefix_fx);
	(void)ask(&fx_user, prefix_tokens, 1000, text, sizeof(text));
	(void)ask(&fx_user, prefix_tokens, 1000, text, sizeof(text));
	ck_assert_uint_eq(prefix_fx_stats().memory.n_put, 0);
	fx_check_empty(&prefix_fx);
}
END_TEST

/* A limit below a page keeps nothing; a lowered one drops what there is. */
START_TEST(limits)
{
	struct lmi_service_limits l;
	char want[64], text[64];

	prefix_fx.o.limits.prefix_memory_bytes = 100;
	prefix_fx.o.inst.kv_tokens = 1200;
	fx_start(&prefix_fx);
	(void)ask(&fx_user, prefix_tokens, 1000, want, sizeof(want));
	ck_assert_uint_eq(prefix_fx_stats().memory.n_put, 0);
	push_out(&fx_user);
	ck_assert_int_lt(ask(&fx_user, prefix_tokens, 1000, text, sizeof(text)).u.done.n_cached, 300);
	ck_assert_str_eq(text, want);
	l = prefix_fx.o.limits;
	l.prefix_memory_bytes = 64 << 20;
	ck_assert_int_eq(lmi_service_set_limits(prefix_fx.svc, &l, NULL), LMD_OK);
	(void)ask(&fx_user, prefix_tokens + 1, 1000, want, sizeof(want));
	ck_assert_uint_gt(prefix_fx_stats().memory.n_bytes, 0);
	l.prefix_memory_bytes = 0;
	ck_assert_int_eq(lmi_service_set_limits(prefix_fx.svc, &l, NULL), LMD_OK);
	prefix_fx_settle();
	ck_assert_uint_eq(prefix_fx_stats().memory.n_bytes, 0);
	fx_check_empty(&prefix_fx);
}
END_TEST

/* Of a prompt that is larger than the limit the beginning is kept, and not copied again. */
START_TEST(a_prompt_over_the_limit)
{
	struct lmi_svc_prefix_memory_stats s, again;
	char want[64], text[64];
	uint64_t bytes;

	prefix_fx.o.inst.kv_tokens = 1200;
	fx_start(&prefix_fx);
	(void)ask(&fx_user, prefix_tokens, 1000, want, sizeof(want));
	bytes = prefix_fx_stats().memory.n_bytes;
	prefix_fx_stop();
	prefix_fx.o.limits.prefix_memory_bytes = bytes / 2;
	fx_start(&prefix_fx);
	(void)ask(&fx_user, prefix_tokens, 1000, text, sizeof(text));
	s = prefix_fx_stats().memory;
	ck_assert_uint_gt(s.n_bytes, bytes / 3);
	(void)ask(&fx_user, prefix_tokens, 1000, text, sizeof(text));
	ck_assert_str_eq(text, want);
	again = prefix_fx_stats().memory;
	ck_assert_uint_eq(again.n_put, s.n_put);
	ck_assert_uint_eq(again.n_evicted, 0);
	fx_check_empty(&prefix_fx);
}
END_TEST

/* A disk that takes no files keeps nothing from memory, and rows are not copied again for it. When it takes
 * some again, it is used after a while. */
START_TEST(a_failing_disk)
{
	char want[64], text[64], path[600];
	struct lmi_svc_prefix_tier_stats s;
	FILE *f;

	prefix_fx.o.inst.kv_tokens = 1200;
	prefix_fx.o.limits.prefix_disk_bytes = 64 << 20;
	fx_start(&prefix_fx);
	prefix_fx_settle();
	snprintf(path, sizeof(path), "%s/state/prefixes", prefix_fx.dir);
	f = fopen(path, "wx"); /* where the folder would be */
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fclose(f), 0);
	(void)ask(&fx_user, prefix_tokens, 1000, want, sizeof(want));
	s = prefix_fx_stats();
	ck_assert_uint_eq(s.files.n_file, 0);
	ck_assert_uint_gt(s.memory.n_put, 0);
	(void)ask(&fx_user, prefix_tokens, 1000, text, sizeof(text));
	ck_assert_uint_eq(prefix_fx_stats().memory.n_put, s.memory.n_put);
	push_out(&fx_user);
	ck_assert_int_ge(ask(&fx_user, prefix_tokens, 1000, text, sizeof(text)).u.done.n_cached, 960);
	ck_assert_str_eq(text, want);
	ck_assert_int_eq(remove(path), 0);
	(void)ask(&fx_user, prefix_tokens + 100, 1000, sink, sizeof(sink));
	ck_assert_uint_eq(prefix_fx_stats().files.n_file, 0);
	prefix_fx.now += 60000 * FX_MS;
	(void)ask(&fx_user, prefix_tokens + 200, 1000, sink, sizeof(sink));
	ck_assert_uint_gt(prefix_fx_stats().files.n_file, 0);
	fx_check_empty(&prefix_fx);
}
END_TEST

/* Saves that were waiting when the disk failed do not try it again. */
START_TEST(saves_that_wait_for_a_failing_disk)
{
	struct lmi_svc_prefix_tier *t;
	char path[600];
	FILE *f;

	prefix_fx.o.limits.prefix_memory_bytes = 0;
	prefix_fx.o.limits.prefix_disk_bytes = 64 << 20;
	fx_start(&prefix_fx);
	(void)ask(&fx_user, prefix_tokens, 10, sink, sizeof(sink)); /* loads the model */
	t = prefix_fx.svc->prefix_tier;
	ck_assert_uint_eq(t->n_save, 0);
	snprintf(path, sizeof(path), "%s/state/prefixes", prefix_fx.dir);
	f = fopen(path, "wx"); /* where the folder would be */
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fclose(f), 0);
	prefix_fx_begin(&fx_user, "tiny", prefix_tokens, 1000);
	prefix_fx_begin(&fx_user, "tiny", prefix_tokens + 100, 1000);
	for (int i = 0; i < 100000 && t->n_save < 2; i++)
		fx_turn(&prefix_fx); /* no job runs */
	ck_assert_uint_eq(t->n_save, 2);
	for (int i = 0; i < 100000 && !t->disk_paused_until; i++) {
		(void)fx_job(&prefix_fx);
		fx_turn(&prefix_fx);
	}
	ck_assert_int_eq(remove(path), 0);
	prefix_fx_settle();
	ck_assert_uint_eq(prefix_fx_stats().files.n_file, 0);
}
END_TEST

/* Copies from memory that take longer than computing are counted as such, not as those of the disk. */
START_TEST(a_slow_copy)
{
	struct lmi_wire_id id;
	char want[64], text[64];
	uint64_t began;

	prefix_fx.o.inst.kv_tokens = 1200;
	fx_start(&prefix_fx);
	(void)ask(&fx_user, prefix_tokens, 1000, want, sizeof(want));
	push_out(&fx_user);
	prefix_fx_begin(&fx_user, "tiny", prefix_tokens, 1000);
	id = prefix_fx.a.r.u.generate.id;
	began = prefix_fx.now;
	for (int i = 0; i < 10; i++)
		fx_turn(&prefix_fx); /* no job runs */
	ck_assert_uint_eq(fx_stats(&prefix_fx).n_running, 0);
	prefix_fx.now = began + 1000 * FX_MS;
	fx_turn(&prefix_fx);
	ck_assert_uint_eq(fx_stats(&prefix_fx).n_running, 1);
	ck_assert_uint_eq(prefix_fx_stats().n_timed_out, 1);
	ck_assert_uint_eq(prefix_fx_stats().n_timed_out_memory, 1);
	(void)fx_read(&prefix_fx, &fx_user, &id, text, sizeof(text));
	ck_assert_str_eq(text, want);
	prefix_fx_settle();
	fx_check_empty(&prefix_fx);
}
END_TEST

/* The rows outlive the device that computed them: it is lost during the second prompt, and the first one's
 * rows are copied to the device after it was opened again. */
START_TEST(a_lost_device)
{
	struct lmi_wire_item end = {0};
	char want[64], text[64];

	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1,lose_step=24", 1), 0);
	fx_start(&prefix_fx);
	(void)ask(&fx_user, prefix_tokens, 1000, want, sizeof(want));
	end = prefix_fx_ask(&fx_user, "tiny", prefix_tokens + 2000, 2000, sink, sizeof(sink));
	ck_assert_int_eq(end.kind, LMI_WIRE_ITEM_ERROR);
	prefix_fx_settle();
	fx_settle(&prefix_fx);
	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1", 1), 0);
	prefix_fx.now += 2000 * FX_MS; /* until the device may be opened again */
	end = ask(&fx_user, prefix_tokens, 1000, text, sizeof(text));
	ck_assert_str_eq(text, want);
	ck_assert_int_ge(end.u.done.n_cached, 960);
	fx_check_empty(&prefix_fx);
}
END_TEST

/* ---- the copies alone ---- */

static struct lmi_svc_prefix_key key_of(uint64_t tenant, uint32_t i)
{
	return (struct lmi_svc_prefix_key){.tenant = tenant, .group = 1, .chain = {(uint8_t)i}};
}

static void put_pages(struct lmi_svc_prefix_memory *m, uint64_t tenant, uint32_t from, uint32_t n)
{
	uint8_t rows[PAGE_BYTES];

	for (uint32_t i = from; i < from + n; i++) {
		const struct lmi_svc_prefix_key key = key_of(tenant, i);

		memset(rows, (int)(i ^ (uint32_t)tenant), sizeof(rows));
		ck_assert_int_eq(lmi_svc_prefix_memory_put(m, &key, rows, sizeof(rows), NULL), LMD_OK);
	}
}

/* Returns how many pages of [from, from + n) are there; all have the bytes that were put. */
static uint32_t count_pages(struct lmi_svc_prefix_memory *m, uint64_t tenant, uint32_t from, uint32_t n)
{
	uint8_t rows[PAGE_BYTES];
	uint32_t sum = 0;

	for (uint32_t i = from; i < from + n; i++) {
		const struct lmi_svc_prefix_key key = key_of(tenant, i);

		if (!lmi_svc_prefix_memory_has(m, &key))
			continue;
		ck_assert(!lmi_svc_prefix_memory_get(m, &key, rows, sizeof(rows) - 1));
		ck_assert(lmi_svc_prefix_memory_get(m, &key, rows, sizeof(rows)));
		for (uint32_t k = 0; k < PAGE_BYTES; k++)
			ck_assert_uint_eq(rows[k], (uint8_t)(i ^ (uint32_t)tenant));
		sum++;
	}
	return sum;
}

/* What was used longest ago goes first, within the shares of the tenants. */
START_TEST(shares_of_tenants)
{
	struct lmi_svc_prefix_memory_stats s;
	struct lmi_svc_prefix_memory *m;
	struct lmi_svc_prefix_key key;
	struct lmd_error err;

	ck_assert_int_eq(lmi_svc_prefix_memory_create(&m, 100 * PAGE_BYTES, NULL), LMD_OK);
	put_pages(m, 1, 0, 100);
	key = key_of(1, 0);
	lmi_svc_prefix_memory_touch(m, &key);
	put_pages(m, 2, 0, 10);
	ck_assert_uint_eq(count_pages(m, 1, 1, 10), 0);
	ck_assert_uint_eq(count_pages(m, 1, 11, 89) + count_pages(m, 1, 0, 1), 90);
	put_pages(m, 1, 100, 150); /* more than there is room for */
	ck_assert_uint_eq(count_pages(m, 2, 0, 10), 10);
	lmi_svc_prefix_memory_forget(m, 1);
	ck_assert_uint_eq(count_pages(m, 1, 0, 250), 0);
	put_pages(m, 2, 0, 10); /* they are there */
	lmi_svc_prefix_memory_stats(m, &s);
	ck_assert_uint_eq(s.n_entry, 10);
	ck_assert_uint_eq(s.n_bytes, 10 * PAGE_BYTES);
	ck_assert_uint_eq(s.n_put, 260);
	ck_assert(lmi_svc_prefix_memory_limit(m, PAGE_BYTES));
	lmi_svc_prefix_memory_trim(m);
	ck_assert_uint_eq(count_pages(m, 2, 0, 10), 1);
	ck_assert_int_eq(lmi_svc_prefix_memory_put(m, &key, &s, PAGE_BYTES + 1, &err), LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(err.text, "prefix_memory_bytes of 1000"));
	lmi_svc_prefix_memory_destroy(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("host-memory tier");
	TCase *t = tcase_create("host-memory tier");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, evicted_rows);
	tcase_add_loop_test(t, kinds_of_models, 0, LMT_N_TINY);
	tcase_add_test(t, the_way_of_a_page);
	tcase_add_test(t, after_an_unload);
	tcase_add_test(t, pages_in_host_memory);
	tcase_add_test(t, limits);
	tcase_add_test(t, a_prompt_over_the_limit);
	tcase_add_test(t, a_failing_disk);
	tcase_add_test(t, saves_that_wait_for_a_failing_disk);
	tcase_add_test(t, a_slow_copy);
	tcase_add_test(t, a_lost_device);
	tcase_add_test(t, shares_of_tenants);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * Usage and quotas of keys: both sides of each bound, with clocks of the test. */
#include <stdio.h>
#include <string.h>

#include "service/service_state.h"
#include "service/window.h"
#include "tests/service_fixture.h"

#define DAY_NS	  86400000000000ll
#define SECOND_NS (1000 * FX_MS)
#define MIDNIGHT  (20000 * DAY_NS)

static struct fx fx;
static int64_t wall;

static const struct lmi_svc_principal laptop = {
	.uid = UINT32_MAX, .role = LMI_SVC_ROLE_USER, .conn = 7, .remote = true, .key_label = "laptop"};

static int64_t wall_ns(void *arg)
{
	(void)arg;
	return wall;
}

/* The keys that were removed, each followed by a blank, and the number of those that were added. */
static char removed_keys[128];
static uint32_t n_added_keys;

static void key_added(void *arg)
{
	(void)arg;
	n_added_keys++;
}

static void key_removed(void *arg, const char *label)
{
	size_t n = strlen(removed_keys);

	(void)arg;
	(void)snprintf(removed_keys + n, sizeof(removed_keys) - n, "%s ", label);
}

static const struct lmi_service_hooks hooks = {
	.wall_ns = wall_ns, .key_added = key_added, .key_removed = key_removed};

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

static void add_key(struct lmi_store_quota quota)
{
	struct lmi_store_key k = {.label = "laptop", .created_at = 1, .quota = quota};
	struct lmd_error err;

	memset(k.hash, '1', sizeof(k.hash) - 1);
	ck_assert_msg(lmi_store_key_add(fx.store, &k, &err) == LMD_OK, "%s", err.text);
}

static void setup(void)
{
	fx_init(&fx);
	fx.o.hooks = &hooks;
	wall = MIDNIGHT + 1000000;
	/* at the beginning of a second, so that bounds are easy to compute */
	fx.now = fx.now / SECOND_NS * SECOND_NS;
}

static void teardown(void)
{
	fx_fini(&fx);
}

static bool generate(const char *model, int64_t n)
{
	const struct lmi_wire_request q = fx_generate(&fx, model, "hello", n);
	struct lmi_wire_id id;
	char text[64];

	if (!fx_call(&fx, &laptop, &q))
		return false;
	id = fx.a.r.u.generate.id;
	(void)fx_read(&fx, &laptop, &id, text, sizeof(text));
	return true;
}

static void refused(const char *text, uint32_t retry_ms)
{
	ck_assert(!generate("tiny", 1));
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
	ck_assert_msg(strstr(fx.a.err.text, text) != NULL, "%s", fx.a.err.text);
	ck_assert_uint_eq(fx.a.retry_ms, retry_ms);
	ck_assert(lmi_service_over_quota(fx.svc, &laptop));
}

/* Goes to `ms` after the second in which the test began. */
static uint64_t origin;

static void go_to(uint64_t ms)
{
	ck_assert_uint_le(fx.now, origin + ms * FX_MS);
	fx.now = origin + ms * FX_MS;
	fx_turn(&fx);
}

static void begin(void)
{
	fx_start(&fx);
	fx_load(&fx);
	fx.now = (fx.now / SECOND_NS + 1) * SECOND_NS;
	origin = fx.now;
}

START_TEST(requests_per_minute)
{
	add_key((struct lmi_store_quota){.rpm = 2});
	begin();
	ck_assert(generate("tiny", 1));
	go_to(30000);
	ck_assert(generate("tiny", 1));
	go_to(31000);
	ck_assert(!lmi_service_over_quota(fx.svc, &fx_user));
	refused("quota of the key 'laptop': 2 requests in the last minute, the maximum is 2; retry in "
		"30 s",
		30000);
	go_to(60999);
	refused("2 requests", 1);
	go_to(61000);
	ck_assert(!lmi_service_over_quota(fx.svc, &laptop));
	ck_assert(generate("tiny", 1));
	refused("2 requests", 30000 - (uint32_t)((fx.now - origin) / FX_MS - 61000));
	go_to(91000);
	ck_assert(!generate("nothing", 1)); /* does not count */
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert(generate("tiny", 1));
	refused("2 requests", 31000 - (uint32_t)((fx.now - origin) / FX_MS - 91000));
	/* others have no quota */
	(void)fx_begin(&fx, &fx_user, "hello", 1);
}
END_TEST

START_TEST(tokens_per_minute)
{
	add_key((struct lmi_store_quota){.tpm = 13});
	begin();
	ck_assert(generate("tiny", 1)); /* 5 + 1 tokens */
	go_to(1000);
	ck_assert(generate("tiny", 1)); /* 12 */
	go_to(2000);
	ck_assert(generate("tiny", 1)); /* begins below the bound */
	go_to(3000);
	refused("18 tokens in the last minute, the maximum is 13", 58000);
	go_to(60999);
	refused("18 tokens", 1);
	go_to(61000); /* 12 of 13 */
	ck_assert(generate("tiny", 1));
}
END_TEST

START_TEST(tokens_of_a_running_generation)
{
	const struct lmi_wire_request q = fx_generate(&fx, "tiny", "hello", 100);

	add_key((struct lmi_store_quota){.tpm = 10});
	begin();
	ck_assert(fx_call(&fx, &laptop, &q));
	fx_step(&fx, 4);
	ck_assert_uint_eq(fx_stats(&fx).n_running, 1);
	fx_step(&fx, 4);
	ck_assert(!generate("tiny", 1)); /* counted although it still runs */
	ck_assert_int_eq(fx.a.err.status, LMD_BUSY);
}
END_TEST

START_TEST(tokens_per_day)
{
	add_key((struct lmi_store_quota){.tpd = 6});
	begin();
	wall = MIDNIGHT + DAY_NS - 3000000000;
	ck_assert(generate("tiny", 1));
	refused("6 tokens today, the maximum of a day is 6; retry after midnight UTC", 3000);
	wall += 2999000000;
	refused("6 tokens today", 1);
	wall += 1000000;
	ck_assert(generate("tiny", 1));
	/* what was used today is known after a restart */
	lmi_service_destroy(fx.svc);
	fx_start(&fx);
	fx_load(&fx);
	refused("6 tokens today", (uint32_t)(DAY_NS / (int64_t)FX_MS));
	wall += DAY_NS;
	ck_assert(generate("tiny", 1));
}
END_TEST

/* ---- models ---- */

static uint32_t n_listed(enum lmi_wire_op op)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, op);
	ck_assert_msg(fx_call(&fx, &laptop, &q), "%s", fx.a.err.text);
	return op == LMI_WIRE_OP_PS ? fx.a.r.u.ps.n_models : fx.a.r.u.models.n_models;
}

static void is_unknown(enum lmi_wire_op op, const char *name)
{
	struct lmi_wire_request q = fx_on(&fx, op, name);
	struct lmd_error err;

	ck_assert(!fx_call(&fx, &laptop, &q));
	err = fx.a.err;
	ck_assert_int_eq(err.status, LMD_NOTFOUND);
	ck_assert(strstr(err.text, name) && strstr(err.text, "does not exist"));
}

START_TEST(models)
{
	struct lmd_error err;

	ck_assert_int_eq(lmi_store_alias_set(fx.store, "second", "other", &err), LMD_OK);
	add_key((struct lmi_store_quota){.models = "tin,other-one,other"});
	begin();
	ck_assert(!generate("tiny", 1));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	ck_assert_str_eq(fx.a.err.text, "model 'tiny' does not exist");
	ck_assert(!generate("tinny", 1)); /* one that does not exist looks the same */
	ck_assert_str_eq(fx.a.err.text, "model 'tinny' does not exist");
	is_unknown(LMI_WIRE_OP_INFO, "tiny");
	ck_assert_uint_eq(n_listed(LMI_WIRE_OP_MODELS), 1);
	ck_assert_uint_eq(n_listed(LMI_WIRE_OP_PS), 0);
	ck_assert(generate("other", 1));
	ck_assert(generate("second", 1));
}
END_TEST

/* A key with an alias only may not use the model by its name. */
START_TEST(an_alias)
{
	struct lmd_error err;

	ck_assert_int_eq(lmi_store_alias_set(fx.store, "second", "other", &err), LMD_OK);
	add_key((struct lmi_store_quota){.models = "second"});
	begin();
	ck_assert(generate("second", 1));
	ck_assert(!generate("other", 1));
	ck_assert_uint_eq(n_listed(LMI_WIRE_OP_MODELS), 1);
	ck_assert_uint_eq(fx.a.r.u.models.models[0].name.len, 6);
	ck_assert_mem_eq(fx.a.r.u.models.models[0].name.ptr, "second", 6);
	ck_assert_uint_eq(fx.a.r.u.models.models[0].n_aliases, 0);
}
END_TEST

/* ---- key_set ---- */

START_TEST(changed_while_in_use)
{
	static const struct lmd_str names[] = {{.ptr = "other", .len = 5}};
	struct lmi_wire_request q;

	add_key((struct lmi_store_quota){.rpm = 2, .tpd = 1000});
	begin();
	ck_assert(generate("tiny", 1));
	lmi_wire_request_init(&q, LMI_WIRE_OP_KEY_SET);
	q.u.key_set.label = str("laptop");
	q.u.key_set.has_rpm = true;
	q.u.key_set.rpm = 1;
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	ck_assert(!generate("tiny", 1)); /* what was used before counts */
	q.u.key_set.rpm = 0;
	q.u.key_set.has_models = true;
	q.u.key_set.models = names;
	q.u.key_set.n_models = 1;
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	ck_assert(!generate("tiny", 1));
	ck_assert_int_eq(fx.a.err.status, LMD_NOTFOUND);
	lmi_wire_request_init(&q, LMI_WIRE_OP_KEYS);
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert_int_eq(fx.a.r.u.keys.keys[0].rpm, 0);
	ck_assert_int_eq(fx.a.r.u.keys.keys[0].tpd, 1000);
	ck_assert_uint_eq(fx.a.r.u.keys.keys[0].n_models, 1);
	lmi_wire_request_init(&q, LMI_WIRE_OP_KEY_SET);
	q.u.key_set.label = str("nobody");
	ck_assert(!fx_call(&fx, &fx_admin, &q));
	ck_assert_str_eq(fx.a.err.text, "key 'nobody': does not exist");
}
END_TEST

/* ---- usage belongs to a key and not to its label ---- */

static bool call_with_label(enum lmi_wire_op op, const char *label, char digit)
{
	struct lmi_wire_request q;
	char digest[64];

	memset(digest, digit, sizeof(digest));
	lmi_wire_request_init(&q, op);
	if (op == LMI_WIRE_OP_KEY_ADD) {
		q.u.key_add.label = str(label);
		q.u.key_add.digest = (struct lmd_str){.ptr = digest, .len = sizeof(digest)};
		q.u.key_add.tpd = 6;
		q.u.key_add.role = LMI_WIRE_ROLE_USER;
	} else if (op == LMI_WIRE_OP_KEY_RM) {
		q.u.key_rm.label = str(label);
	} else if (op == LMI_WIRE_OP_REGISTRY_BACKUP) {
		q.u.registry_backup.name = str(label);
	} else {
		q.u.registry_restore.name = str(label);
	}
	return fx_call(&fx, &fx_admin, &q);
}

#define DOES(op, label, digit)                                                                     \
	ck_assert_msg(call_with_label(LMI_WIRE_OP_##op, label, digit), "%s", fx.a.err.text)

static void restart(void)
{
	lmi_service_destroy(fx.svc);
	fx_start(&fx);
	fx_load(&fx);
}

START_TEST(removed_and_added_again)
{
	begin();
	DOES(KEY_ADD, "laptop", '1');
	ck_assert(generate("tiny", 1));
	refused("6 tokens today", (uint32_t)(DAY_NS / (int64_t)FX_MS - 1));
	/* another key with its label has used nothing, now and after a restart */
	DOES(KEY_RM, "laptop", 0);
	DOES(KEY_ADD, "laptop", '2');
	ck_assert(!lmi_service_over_quota(fx.svc, &laptop));
	restart();
	ck_assert(!lmi_service_over_quota(fx.svc, &laptop));
	ck_assert(generate("tiny", 1));
	refused("6 tokens today", (uint32_t)(DAY_NS / (int64_t)FX_MS - 1));
	/* the first key has used what it has used */
	DOES(KEY_RM, "laptop", 0);
	DOES(KEY_ADD, "laptop", '1');
	ck_assert(lmi_service_over_quota(fx.svc, &laptop));
	restart();
	ck_assert(lmi_service_over_quota(fx.svc, &laptop));
}
END_TEST

START_TEST(restored)
{
	begin();
	DOES(KEY_ADD, "laptop", '1');
	DOES(REGISTRY_BACKUP, "unused.backup", 0);
	ck_assert(generate("tiny", 1));
	ck_assert(lmi_service_over_quota(fx.svc, &laptop));
	DOES(REGISTRY_BACKUP, "used.backup", 0);
	DOES(REGISTRY_RESTORE, "unused.backup", 0);
	ck_assert(!lmi_service_over_quota(fx.svc, &laptop));
	restart();
	ck_assert(!lmi_service_over_quota(fx.svc, &laptop));
	DOES(REGISTRY_RESTORE, "used.backup", 0);
	ck_assert(lmi_service_over_quota(fx.svc, &laptop));
	restart();
	ck_assert(lmi_service_over_quota(fx.svc, &laptop));
}
END_TEST

/* The clients of a key are disconnected if the backup does not have it, or has another one with its label. */
START_TEST(keys_that_a_backup_lacks)
{
	begin();
	DOES(KEY_ADD, "stays", '1');
	DOES(KEY_ADD, "changes", '2');
	DOES(KEY_ADD, "comes", '3');
	DOES(REGISTRY_BACKUP, "a.backup", 0);
	DOES(KEY_RM, "comes", 0);
	DOES(KEY_RM, "changes", 0);
	DOES(KEY_ADD, "changes", '4');
	DOES(KEY_ADD, "goes", '5');
	removed_keys[0] = 0;
	n_added_keys = 0;
	DOES(REGISTRY_RESTORE, "a.backup", 0);
	ck_assert_str_eq(removed_keys, "changes goes ");
	ck_assert_uint_eq(n_added_keys, 2);
}
END_TEST

/* A key is added again with the same secret, as a client does that missed the answer. */
START_TEST(added_twice)
{
	struct lmi_store_key k = {.label = "laptop", .created_at = 1, .quota = {.rpm = 2}};
	struct lmd_error err;

	memset(k.hash, '1', sizeof(k.hash) - 1);
	ck_assert_int_eq(lmi_store_key_add(fx.store, &k, &err), LMD_OK);
	ck_assert_int_eq(lmi_store_key_add(fx.store, &k, &err), LMD_OK);
	k.quota.rpm = 3; /* would not have an effect */
	ck_assert_int_eq(lmi_store_key_add(fx.store, &k, &err), LMD_INVALID);
}
END_TEST

/* ---- usage ---- */

static uint32_t report(const struct lmi_svc_principal *who, const char *since)
{
	struct lmi_wire_request q;

	lmi_wire_request_init(&q, LMI_WIRE_OP_USAGE);
	q.u.usage.has_since = since != NULL;
	q.u.usage.since = str(since ? since : "");
	ck_assert_msg(fx_call(&fx, who, &q), "%s", fx.a.err.text);
	return fx.a.r.u.usage.n_usage;
}

START_TEST(usage)
{
	const struct lmi_wire_usage_row *r;
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	char text[64];

	add_key((struct lmi_store_quota){0});
	begin();
	ck_assert(generate("tiny", 3));
	wall += DAY_NS;
	ck_assert(generate("tiny", 4));
	ck_assert(generate("other", 5));
	id = fx_begin(&fx, &fx_user, "hi", 2);
	(void)fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_uint_eq(report(&laptop, NULL), 3);
	ck_assert_uint_eq(report(&laptop, "2024-10-04"), 3);
	ck_assert_uint_eq(report(&laptop, "2024-10-05"), 2);
	ck_assert_uint_eq(report(&laptop, "2024-10-06"), 0);
	ck_assert_uint_eq(report(&fx_user, NULL), 1);
	ck_assert_uint_eq(report(&fx_admin, NULL), 4);
	r = fx.a.r.u.usage.usage;
	ck_assert(r[0].date.len == 10 && !memcmp(r[0].date.ptr, "2024-10-05", 10));
	ck_assert(r[0].principal.len == 10 && !memcmp(r[0].principal.ptr, "key:laptop", 10));
	ck_assert(r[0].model.len == 5 && !memcmp(r[0].model.ptr, "other", 5));
	ck_assert_int_eq(r[0].n_out, 5);
	ck_assert_int_eq(r[3].n_request, 1);
	ck_assert_int_eq(r[3].n_prompt, 5);
	ck_assert_int_eq(r[3].n_out, 3);
	lmi_wire_request_init(&q, LMI_WIRE_OP_USAGE);
	q.u.usage.has_principal = true;
	q.u.usage.principal = str("uid:1000");
	ck_assert(!fx_call(&fx, &laptop, &q));
	ck_assert_int_eq(fx.a.err.status, LMD_DENIED);
	ck_assert(fx_call(&fx, &fx_user, &q));
	q.u.usage.has_since = true;
	q.u.usage.since = str("2024-02-30");
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert(strstr(fx.a.err.text, "is not a day"));
}
END_TEST

static struct lmi_store_usage stored(void)
{
	const struct lmi_store_usage_filter all = {.max = 2};
	struct lmi_store_usage u = {0};
	struct lmi_store_usages found;
	struct lmd_error err;

	ck_assert_msg(lmi_store_usage_list(fx.store, &all, &found, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_le(found.n, 1);
	if (found.n)
		u = found.v[0];
	lmi_store_usages_fini(&found);
	return u;
}

/* A process that is killed loses the usage of less than a second: after each second the registry has
 * what had been used a second before, although the generation goes on. */
START_TEST(written_while_it_runs)
{
	const struct lmi_wire_request q = fx_generate(&fx, "tiny", "hello", 200);
	uint64_t before = 0;

	add_key((struct lmi_store_quota){0});
	begin();
	ck_assert(fx_call(&fx, &laptop, &q));
	for (int i = 0; i < 40; i++) { /* a token in 100 ms */
		struct lmi_store_usage u;

		fx.now += 100 * FX_MS;
		fx_turn(&fx);
		ck_assert_uint_le(lmi_service_deadline(fx.svc),
				  fx.now + LMI_SVC_USAGE_MS * FX_MS);
		while (fx_job(&fx))
			;
		u = stored();
		ck_assert_uint_ge(u.n_out, before);
		if (i < 10)
			continue;
		ck_assert_uint_eq(u.n_request, 1);
		ck_assert_uint_eq(u.n_prompt, 5);
		ck_assert_uint_ge(u.n_out + 10, (uint64_t)i);
		before = u.n_out;
	}
	ck_assert_uint_eq(fx_stats(&fx).n_running, 1);
}
END_TEST

/* ---- a minute ---- */

START_TEST(a_minute)
{
	struct lmi_svc_window w = {0};

	for (uint64_t s = 0; s < 200; s++) {
		lmi_svc_window_add(&w, (100 + s) * SECOND_NS + 999 * FX_MS, 1);
		ck_assert_uint_eq(lmi_svc_window_sum(&w, (100 + s) * SECOND_NS + 999 * FX_MS, 61),
				  s < 61 ? s + 1 : 61);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("quota");
	TCase *t = tcase_create("quota");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, requests_per_minute);
	tcase_add_test(t, tokens_per_minute);
	tcase_add_test(t, tokens_of_a_running_generation);
	tcase_add_test(t, tokens_per_day);
	tcase_add_test(t, models);
	tcase_add_test(t, an_alias);
	tcase_add_test(t, changed_while_in_use);
	tcase_add_test(t, removed_and_added_again);
	tcase_add_test(t, restored);
	tcase_add_test(t, keys_that_a_backup_lacks);
	tcase_add_test(t, added_twice);
	tcase_add_test(t, usage);
	tcase_add_test(t, written_while_it_runs);
	tcase_add_test(t, a_minute);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

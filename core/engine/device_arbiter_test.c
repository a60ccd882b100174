/* SPDX-License-Identifier: MIT
 *
 * Device queue: simulated engines on one device, and threads with the real queue. Memory plan: the
 * estimate compared with sums by hand. Guard: a mapping beyond the end of its file. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/guard.h"
#include "core/engine/device_arbiter.h"
#include "core/engine/memory_plan.h"
#include "core/plugin/host_services.h"
#include "tests/lmd_check.h"

/* ---- device queue ---- */

/* Members that always want to run share the device by weight, whatever their steps cost. */
START_TEST(time_is_shared_by_weight)
{
	static const struct {
		enum lmi_engine_class class;
		uint32_t cost, weight; /* cost of a step in ms */
	} who[] = {{LMI_ENGINE_CLASS_INTERACTIVE, 3, 8},
		   {LMI_ENGINE_CLASS_INTERACTIVE, 40, 8},
		   {LMI_ENGINE_CLASS_NORMAL, 7, 4},
		   {LMI_ENGINE_CLASS_BATCH, 200, 1},
		   {LMI_ENGINE_CLASS_BATCH, 1, 1}};
	uint64_t used[LMD_LEN(who)] = {0}, total = 0;
	struct lmi_device_arbiter_state s;
	uint32_t id[LMD_LEN(who)];

	lmi_device_arbiter_state_init(&s);
	for (uint32_t i = 0; i < LMD_LEN(who); i++) {
		id[i] = lmi_device_arbiter_state_join(&s);
		lmi_device_arbiter_state_request(&s, id[i], who[i].class);
	}
	for (int step = 0; step < 200000; step++) {
		uint32_t k = lmi_device_arbiter_state_admit(&s), i = 0;

		ck_assert_uint_ne(k, LMI_DEVICE_ARBITER_MAX);
		ck_assert_uint_eq(lmi_device_arbiter_state_admit(&s),
				  LMI_DEVICE_ARBITER_MAX); /* one at a time */
		while (id[i] != k)
			i++;
		used[i] += who[i].cost;
		total += who[i].cost;
		lmi_device_arbiter_state_release(&s, who[i].cost * 1000000ull);
		lmi_device_arbiter_state_request(&s, k, who[i].class);
	}
	for (uint32_t i = 0; i < LMD_LEN(who); i++) {
		double share = (double)used[i] / (double)total, want = who[i].weight / 22.0;

		ck_assert_msg(share > want * 0.98 && share < want * 1.02,
			      "member %u: %.4f, not %.4f", i, share, want);
	}
}
END_TEST

/* A member that was idle for long does not starve the others when it returns. */
START_TEST(absence_is_no_credit)
{
	struct lmi_device_arbiter_state s;
	uint32_t a, b, n_b = 0;

	lmi_device_arbiter_state_init(&s);
	a = lmi_device_arbiter_state_join(&s);
	b = lmi_device_arbiter_state_join(&s);
	for (int i = 0; i < 1000; i++) {
		lmi_device_arbiter_state_request(&s, a, LMI_ENGINE_CLASS_NORMAL);
		ck_assert_uint_eq(lmi_device_arbiter_state_admit(&s), a);
		lmi_device_arbiter_state_release(&s, 1000000);
	}
	lmi_device_arbiter_state_request(&s, a, LMI_ENGINE_CLASS_NORMAL);
	lmi_device_arbiter_state_request(&s, b, LMI_ENGINE_CLASS_NORMAL);
	for (int i = 0; i < 100; i++) {
		uint32_t k = lmi_device_arbiter_state_admit(&s);

		n_b += k == b;
		lmi_device_arbiter_state_release(&s, 1000000);
		lmi_device_arbiter_state_request(&s, k, LMI_ENGINE_CLASS_NORMAL);
	}
	ck_assert(n_b >= 49 && n_b <= 51);
}
END_TEST

/* Random members: no member waits for ever, and none runs without asking. */
START_TEST(random_members)
{
	uint64_t rnd = lmd_seed("lane", 3), waited[LMI_DEVICE_ARBITER_MAX] = {0};
	bool in[LMI_DEVICE_ARBITER_MAX] = {0}, asks[LMI_DEVICE_ARBITER_MAX] = {0};
	uint32_t holder = LMI_DEVICE_ARBITER_MAX, n_in = 0;
	struct lmi_device_arbiter_state s;

	lmi_device_arbiter_state_init(&s);
	for (int op = 0; op < 200000; op++) {
		uint32_t k = (uint32_t)(lmd_rand(&rnd) % LMI_DEVICE_ARBITER_MAX);

		if (lmd_rand(&rnd) % 50 == 0 && n_in < 20) {
			k = lmi_device_arbiter_state_join(&s);
			ck_assert(k < LMI_DEVICE_ARBITER_MAX && !in[k]);
			in[k] = true;
			n_in++;
		} else if (lmd_rand(&rnd) % 200 == 0 && in[k] && !asks[k] && k != holder) {
			lmi_device_arbiter_state_leave(&s, k);
			in[k] = false;
			n_in--;
		} else if (in[k] && !asks[k] && k != holder) {
			lmi_device_arbiter_state_request(
				&s, k, (enum lmi_engine_class)(lmd_rand(&rnd) % 3));
			asks[k] = true;
			waited[k] = 0;
		} else if (holder != LMI_DEVICE_ARBITER_MAX) {
			lmi_device_arbiter_state_release(&s, 1 + lmd_rand(&rnd) % 1000);
			holder = LMI_DEVICE_ARBITER_MAX;
		}
		if (holder != LMI_DEVICE_ARBITER_MAX)
			continue;
		holder = lmi_device_arbiter_state_admit(&s);
		if (holder == LMI_DEVICE_ARBITER_MAX)
			continue;
		if (!asks[holder])
			ck_abort_msg("%u runs and did not ask", holder);
		asks[holder] = false;
		for (uint32_t i = 0; i < LMI_DEVICE_ARBITER_MAX; i++)
			if (asks[i] && ++waited[i] > 20 * 8 * 1000)
				ck_abort_msg("%u waits for ever", i);
	}
}
END_TEST

struct shared {
	struct lmi_device_arbiter *arbiter;
	int inside, most;
	uint64_t n;
};

static void *member(void *arg)
{
	struct shared *s = arg;
	uint32_t id;

	if (lmi_device_arbiter_join(s->arbiter, &id, NULL) != LMD_OK)
		return NULL;
	for (int i = 0; i < 2000; i++) {
		lmi_device_arbiter_acquire(s->arbiter, id, LMI_ENGINE_CLASS_NORMAL);
		s->inside++; /* no other thread is inside: plain variables suffice */
		s->most = s->inside > s->most ? s->inside : s->most;
		s->n++;
		s->inside--;
		lmi_device_arbiter_release(s->arbiter);
	}
	lmi_device_arbiter_leave(s->arbiter, id);
	return NULL;
}

static void *take_turn(void *arg)
{
	lmi_device_arbiter_acquire(arg, 1, LMI_ENGINE_CLASS_NORMAL);
	lmi_device_arbiter_release(arg);
	return NULL;
}

START_TEST(the_holder_sees_who_waits)
{
	struct lmi_device_arbiter *l;
	struct lmd_host *host;
	pthread_t t;
	uint32_t id[2];

	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	ck_assert_int_eq(lmi_device_arbiter_create(&l, host, NULL), LMD_OK);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(lmi_device_arbiter_join(l, &id[i], NULL), LMD_OK);
	ck_assert_uint_eq(id[1], 1);
	lmi_device_arbiter_acquire(l, id[0], LMI_ENGINE_CLASS_NORMAL);
	ck_assert(!lmi_device_arbiter_is_wanted(l));
	ck_assert_int_eq(pthread_create(&t, NULL, take_turn, l), 0);
	while (!lmi_device_arbiter_is_wanted(l))
		(void)sched_yield();
	lmi_device_arbiter_release(l);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert(!lmi_device_arbiter_is_wanted(l));
	ck_assert(!lmi_device_arbiter_is_wanted(NULL));
	for (int i = 0; i < 2; i++)
		lmi_device_arbiter_leave(l, id[i]);
	lmi_device_arbiter_destroy(l);
	lmi_host_destroy(host);
}
END_TEST

START_TEST(one_at_a_time)
{
	struct lmd_host *host;
	struct shared s = {0};
	pthread_t t[4];

	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	ck_assert_int_eq(lmi_device_arbiter_create(&s.arbiter, host, NULL), LMD_OK);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, member, &s), 0);
	for (int i = 0; i < 4; i++)
		(void)pthread_join(t[i], NULL);
	ck_assert_int_eq(s.most, 1);
	ck_assert_uint_eq(s.n, 4 * 2000);
	lmi_device_arbiter_acquire(
		NULL, 0, LMI_ENGINE_CLASS_NORMAL); /* without a queue everybody is admitted */
	lmi_device_arbiter_release(NULL);
	lmi_device_arbiter_destroy(s.arbiter);
	lmi_host_destroy(host);
}
END_TEST

/* ---- memory plan ---- */

static const struct lmd_group groups[] = {
	{.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1},
	{.name = "window", .kind = LMD_GROUP_PAGED, .causal = 1, .window = 64, .ratio = 1},
	{.name = "state", .kind = LMD_GROUP_STATE},
};
static const struct lmd_cache caches[] = {
	{.group = 0, .kind = LMD_CACHE_KV, .n_head = 2, .dk = 64, .dv = 32},
	{.group = 0, .kind = LMD_CACHE_K_ONLY, .n_head = 1, .dk = 96},
	{.group = 1, .kind = LMD_CACHE_KV, .n_head = 1, .dk = 32, .dv = 32},
	{.group = 2,
	 .kind = LMD_CACHE_CONV,
	 .n_head = 1,
	 .dk = 3,
	 .dv = 128,
	 .dtype_policy = LMD_KV_DTYPE_F32},
	{.group = 2,
	 .kind = LMD_CACHE_STATE,
	 .n_head = 8,
	 .dk = 16,
	 .dv = 16,
	 .dtype_policy = LMD_KV_DTYPE_F32},
};
static const struct lmd_arch_desc desc = {.n_group = 3,
					  .groups = groups,
					  .n_cache = LMD_LEN(caches),
					  .caches = caches,
					  .n_ctx_train = 4096};

#define FULL_TOKEN   ((2 * (64 + 32) + 96) * 2) /* bytes of f16 */
#define WINDOW_TOKEN ((32 + 32) * 2)
#define STATE_SLOT   ((3 * 128 + 8 * 16 * 16) * 4)

START_TEST(the_estimate_is_the_sum)
{
	struct lmi_engine_memory_plan_in in = {.desc = &desc,
					       .page_tokens = 32,
					       .k_dtype = LMD_DTYPE_F16,
					       .v_dtype = LMD_DTYPE_F16,
					       .n_seq = 3,
					       .n_batch = 100,
					       .budget = UINT64_MAX};
	struct lmi_engine_memory_plan p;
	uint64_t unit;

	ck_assert_int_eq(lmi_engine_memory_plan_unit(&in, 0, &unit, NULL), LMD_OK);
	ck_assert_uint_eq(unit, 32 * FULL_TOKEN);
	ck_assert_int_eq(lmi_engine_memory_plan_unit(&in, 2, &unit, NULL), LMD_OK);
	ck_assert_uint_eq(unit, STATE_SLOT);
	ck_assert_int_eq(lmi_engine_memory_plan_make(&p, &in, NULL), LMD_OK);
	ck_assert_uint_eq(p.n_ctx, 4096);
	ck_assert(!p.cut);
	ck_assert_uint_eq(p.n_page[0], 3 * 128);
	/* a window needs its own size plus a step, not the context */
	ck_assert_uint_eq(p.n_page[1], 3 * ((64 + 100 + 31) / 32 + 1));
	ck_assert_uint_eq(p.n_slot[2], 7);
	ck_assert_uint_eq(p.kv_bytes, (uint64_t)p.n_page[0] * 32 * FULL_TOKEN +
					      (uint64_t)p.n_page[1] * 32 * WINDOW_TOKEN +
					      7 * STATE_SLOT);
	/* fewer tokens than full contexts */
	in.kv_tokens = 1000;
	ck_assert_int_eq(lmi_engine_memory_plan_make(&p, &in, NULL), LMD_OK);
	ck_assert_uint_eq(p.n_page[0], 1000 / 32 + 1 + 3);
	/* a type whose blocks the heads do not fill */
	in.k_dtype = LMD_DTYPE_Q4_K;
	ck_assert_int_eq(lmi_engine_memory_plan_make(&p, &in, NULL), LMD_UNSUPPORTED);
	/* keys and values of their own types */
	in.k_dtype = LMD_DTYPE_F32;
	ck_assert_int_eq(lmi_engine_memory_plan_unit(&in, 0, &unit, NULL), LMD_OK);
	ck_assert_uint_eq(unit, 32 * ((2 * 64 + 96) * 4 + 2 * 32 * 2));
}
END_TEST

START_TEST(the_context_is_what_fits)
{
	struct lmi_engine_memory_plan_in in = {.desc = &desc,
					       .page_tokens = 32,
					       .k_dtype = LMD_DTYPE_F16,
					       .v_dtype = LMD_DTYPE_F16,
					       .n_seq = 1,
					       .n_batch = 100};
	struct lmi_engine_memory_plan whole, p;
	struct lmd_error err;

	in.budget = UINT64_MAX;
	ck_assert_int_eq(lmi_engine_memory_plan_make(&whole, &in, NULL), LMD_OK);
	for (uint64_t part = 1; part < 20; part++) {
		in.budget = whole.kv_bytes * part / 20;
		if (lmi_engine_memory_plan_make(&p, &in, &err) != LMD_OK) {
			ck_assert_uint_le(part, 1);
			continue;
		}
		ck_assert(p.cut && p.n_ctx < 4096 && p.n_ctx % 32 == 0);
		ck_assert_uint_le(p.kv_bytes, in.budget);
		/* one page more does not fit */
		in.n_ctx = p.n_ctx + 32;
		ck_assert_int_eq(lmi_engine_memory_plan_make(&p, &in, &err), LMD_NOMEM);
		ck_assert_ptr_nonnull(strstr(err.text, "MiB"));
		in.n_ctx = 0;
	}
	in.budget = 100;
	ck_assert_int_eq(lmi_engine_memory_plan_make(&p, &in, &err), LMD_NOMEM);
	in.n_ctx = (1u << 30) + 1;
	ck_assert_int_eq(lmi_engine_memory_plan_make(&p, &in, &err), LMD_INVALID);
	in.n_ctx = 1u << 30;
	in.n_seq = 4096;
	ck_assert_int_eq(lmi_engine_memory_plan_make(&p, &in, &err), LMD_NOMEM);
}
END_TEST

/* Many sequences share one pool: the context is not reduced because of their number. */
START_TEST(sequences_share_a_pool)
{
	struct lmi_engine_memory_plan_in in = {.desc = &desc,
					       .page_tokens = 32,
					       .k_dtype = LMD_DTYPE_F16,
					       .v_dtype = LMD_DTYPE_F16,
					       .n_seq = 1,
					       .n_batch = 100,
					       .budget = UINT64_MAX};
	struct lmi_engine_memory_plan one, all, p;
	uint64_t last = 0;

	ck_assert_int_eq(lmi_engine_memory_plan_make(&one, &in, NULL), LMD_OK);
	in.n_seq = 32;
	ck_assert_int_eq(lmi_engine_memory_plan_make(&all, &in, NULL), LMD_OK);
	in.share = true;
	ck_assert_int_eq(lmi_engine_memory_plan_make(&p, &in, NULL), LMD_OK);
	ck_assert_uint_eq(p.kv_bytes, all.kv_bytes); /* there is room for all */
	for (uint64_t part = 4; part <= 80; part++) {
		in.budget = one.kv_bytes * part / 2;
		ck_assert_int_eq(lmi_engine_memory_plan_make(&p, &in, NULL), LMD_OK);
		ck_assert(!p.cut);
		ck_assert_uint_eq(p.n_ctx, one.n_ctx);
		ck_assert_uint_ge(p.kv_bytes, last);
		ck_assert(p.kv_bytes <= in.budget / 2 || part < 8);
		ck_assert_uint_le(p.kv_bytes, in.budget);
		last = p.kv_bytes;
	}
	ck_assert_uint_gt(last, 15 * one.kv_bytes);
	/* not even one fits: then the context is reduced, until nothing fits */
	for (in.budget = 2 * one.kv_bytes; lmi_engine_memory_plan_make(&p, &in, NULL) == LMD_OK;)
		in.budget -= one.kv_bytes / 10;
	ck_assert(p.cut);
}
END_TEST

START_TEST(the_machine_has_memory)
{
	ck_assert_uint_gt(lmi_engine_memory_available(), 1 << 20);
}
END_TEST

/* ---- guard ---- */

START_TEST(a_mapping_beyond_its_file_reads_zeros)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char name[] = "/tmp/lmd-guard-XXXXXX";
	struct lmi_engine_guard a = {0}, b = {0};
	const volatile char *p, *q;
	int fd = mkstemp(name);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)(4 * page)), 0);
	ck_assert_int_eq(pwrite(fd, "x", 1, (off_t)(3 * page)), 1);
	p = mmap(NULL, 4 * page, PROT_READ, MAP_SHARED, fd, 0);
	q = mmap(NULL, 4 * page, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert(p != MAP_FAILED && q != MAP_FAILED);
	ck_assert_int_eq(lmi_engine_guard_add(&a, (const void *)(uintptr_t)p, 4 * page, NULL),
			 LMD_OK);
	ck_assert_int_eq(lmi_engine_guard_add(&b, (const void *)(uintptr_t)q, 4 * page, NULL),
			 LMD_OK);
	ck_assert_int_eq(p[3 * page], 'x');
	ck_assert_int_eq(ftruncate(fd, (off_t)(2 * page)), 0);
	ck_assert_int_eq(p[page], 0);
	ck_assert(!lmi_engine_guard_is_bad(&a));
	ck_assert_int_eq(p[3 * page], 0);
	ck_assert_int_eq(p[2 * page + 5], 0);
	ck_assert(lmi_engine_guard_is_bad(&a));
	ck_assert_uint_eq(a.n_fault, 2);
	ck_assert(!lmi_engine_guard_is_bad(&b)); /* nobody read it there */
	ck_assert_int_eq(q[2 * page], 0);
	ck_assert(lmi_engine_guard_is_bad(&b));
	lmi_engine_guard_drop(&a);
	lmi_engine_guard_drop(&b);
	(void)munmap((void *)(uintptr_t)p, 4 * page);
	(void)munmap((void *)(uintptr_t)q, 4 * page);
	(void)close(fd);
	(void)remove(name);
}
END_TEST

/* A fault at an unguarded address ends the process as usual. */
START_TEST(other_faults_are_not_ours)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char name[] = "/tmp/lmd-guard-XXXXXX";
	struct lmi_engine_guard g = {0};
	int fd = mkstemp(name);
	const volatile char *p;

	(void)remove(name);
	(void)signal(SIGBUS, SIG_DFL); /* sanitizers install their own handler */
	ck_assert(fd >= 0 && !ftruncate(fd, (off_t)page));
	p = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert(p != MAP_FAILED);
	ck_assert_int_eq(lmi_engine_guard_add(&g, &g, sizeof(g), NULL), LMD_OK);
	ck_abort_msg("%d", p[page]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lane, place, guard");
	TCase *t = tcase_create("lane");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, time_is_shared_by_weight);
	tcase_add_test(t, absence_is_no_credit);
	tcase_add_test(t, random_members);
	tcase_add_test(t, the_holder_sees_who_waits);
	tcase_add_test(t, one_at_a_time);
	suite_add_tcase(s, t);
	t = tcase_create("place");
	tcase_add_test(t, the_estimate_is_the_sum);
	tcase_add_test(t, the_context_is_what_fits);
	tcase_add_test(t, sequences_share_a_pool);
	tcase_add_test(t, the_machine_has_memory);
	suite_add_tcase(s, t);
	t = tcase_create("guard");
	tcase_add_test(t, a_mapping_beyond_its_file_reads_zeros);
	tcase_add_test_raise_signal(t, other_faults_are_not_ours, SIGBUS);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

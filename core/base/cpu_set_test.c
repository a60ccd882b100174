/* SPDX-License-Identifier: MIT
 *
 * Texts of sets, and the places of the parts of a team on machines with one and several NUMA nodes, which
 * a folder in the form of sysfs describes. */
#include "core/base/cpu_set.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/cpu.h"
#include "tests/lmd_check.h"

START_TEST(texts)
{
	static const struct {
		const char *text;
		uint64_t word0;
		uint32_t count;
	} good[] = {
		{"0", 1, 1},           {"0-3", 15, 4},          {"1,3-4,3", 0x1a, 3},
		{"0x1F", 0x1f, 5},     {"0Xa", 10, 2},          {"1023", 0, 1},
		{"0-1023", UINT64_MAX, 1024}, {"0x10000000000000001", 1, 2},
	};
	static const char *const bad[] = {"",  "x",   "1,",   "1-",   "3-1",  "-1",  "0x",
					  "1024", "0xg", "0x0", "1 2", "99999999999", "0,0x1"};
	char zeros[300] = "0x";

	for (size_t i = 0; i < LMD_LEN(good); i++) {
		struct lmi_cpu_set s = {{0}};
		struct lmd_error err = {0};

		ck_assert_msg(lmi_cpu_set_parse(&s, good[i].text, &err) == LMD_OK, "%s", err.text);
		ck_assert_uint_eq(s.word[0], good[i].word0);
		ck_assert_uint_eq(lmi_cpu_set_count(&s), good[i].count);
	}
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		struct lmi_cpu_set s = {{7}};
		struct lmd_error err = {0};

		ck_assert_int_eq(lmi_cpu_set_parse(&s, bad[i], &err), LMD_INVALID);
		ck_assert_ptr_nonnull(strstr(err.text, bad[i]));
		ck_assert_uint_eq(s.word[0], 7);
	}
	{
		struct lmi_cpu_set s;

		memset(zeros + 2, '0', 290);
		zeros[292] = '1';
		ck_assert_int_eq(lmi_cpu_set_parse(&s, zeros, NULL), LMD_OK);
		memset(zeros + 2, '1', 257);
		zeros[259] = '\0';
		ck_assert_int_eq(lmi_cpu_set_parse(&s, zeros, NULL), LMD_INVALID);
	}
}
END_TEST

/* ---- nodes ---- */

static char root[64];

static void write_node(uint32_t node, const char *cpus)
{
	char path[PATH_MAX];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/devices/system/node/node%u", root, node);
	ck_assert(!mkdir(path, 0700));
	(void)snprintf(path, sizeof(path), "%s/devices/system/node/node%u/cpulist", root, node);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "%s\n", cpus);
	ck_assert(!fclose(f));
}

static void make_root(void)
{
	static const char *const dirs[] = {"/devices", "/devices/system", "/devices/system/node"};
	char path[128];

	strcpy(root, "/tmp/llamad-sysfs-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	for (size_t i = 0; i < LMD_LEN(dirs); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		ck_assert(!mkdir(path, 0700));
	}
}

static void remove_root(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	ck_assert_int_eq(system(command), 0);
}

/* Returns the n-th processor that this process may use. */
static uint32_t nth_cpu(uint32_t n)
{
	struct lmi_cpu_set all = lmi_cpu_set_allowed();
	uint32_t i = 0;

	while (!lmi_cpu_set_has(&all, i) || n--)
		i++;
	return i;
}

START_TEST(anywhere_and_one_each)
{
	const struct lmi_cpu_place anywhere = {.cpus = ""}, strict = {.strict = true};
	struct lmi_cpu_set *v, all = lmi_cpu_set_allowed();
	uint32_t n_cpu = lmi_cpu_set_count(&all), n = 0;

	ck_assert_int_eq(lmi_cpu_place(&v, &n, &anywhere, 0, NULL, NULL), LMD_OK);
	ck_assert_ptr_null(v);
	ck_assert_uint_eq(n, lmi_cpu_count());
	ck_assert_int_eq(lmi_cpu_place(&v, &n, &strict, 2 * n_cpu, NULL, NULL), LMD_OK);
	ck_assert_uint_eq(n, 2 * n_cpu);
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_uint_eq(lmi_cpu_set_count(&v[i]), 1);
		ck_assert(lmi_cpu_set_has(&v[i], nth_cpu(i % n_cpu)));
	}
	lmi_free(v);
}
END_TEST

START_TEST(a_list_of_processors)
{
	char list[16];
	struct lmi_cpu_place p = {.cpus = list};
	struct lmi_cpu_set *v = NULL;
	struct lmd_error err = {0};
	uint32_t n;

	(void)snprintf(list, sizeof(list), "%u", nth_cpu(0));
	ck_assert_msg(lmi_cpu_place(&v, &n, &p, 0, NULL, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(n, 1);
	ck_assert(lmi_cpu_set_has(&v[0], nth_cpu(0)));
	lmi_free(v);
	p.cpus = "0-1023";
	if (lmi_cpu_count() < 1024) {
		ck_assert_int_eq(lmi_cpu_place(&v, &n, &p, 0, NULL, &err), LMD_INVALID);
		ck_assert_ptr_nonnull(strstr(err.text, "cpus: this process may not use processor"));
	}
	p.cpus = "1-";
	ck_assert_int_eq(lmi_cpu_place(&v, &n, &p, 0, NULL, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "cpus: '1-' is not a set"));
}
END_TEST

/* A thread that a team binds may create another team on any processor of its own. */
START_TEST(a_bound_thread)
{
	const struct lmi_cpu_place anywhere = {.cpus = NULL}, strict = {.strict = true};
	struct lmi_cpu_set *v = NULL, all = lmi_cpu_set_allowed(), one = {{0}}, now;
	uint32_t n_cpu = lmi_cpu_set_count(&all), last = nth_cpu(n_cpu - 1), n = 0;
	struct lmd_error err = {0};
	char list[16];
	struct lmi_cpu_place p = {.cpus = list};

	(void)snprintf(list, sizeof(list), "%u", last);
	one.word[nth_cpu(0) / 64] = 1ull << nth_cpu(0) % 64;
	ck_assert(lmi_cpu_set_bind(&one));
	now = lmi_cpu_set_allowed();
	ck_assert(lmi_cpu_set_equal(&now, &one));
	now = lmi_cpu_set_unbound();
	ck_assert(lmi_cpu_set_equal(&now, &all));
	ck_assert_int_eq(lmi_cpu_place(&v, &n, &anywhere, 0, NULL, &err), LMD_OK);
	ck_assert_uint_eq(n, n_cpu);
	ck_assert_int_eq(lmi_cpu_place(&v, &n, &strict, 0, NULL, &err), LMD_OK);
	ck_assert_uint_eq(n, n_cpu);
	lmi_free(v);
	ck_assert_msg(lmi_cpu_place(&v, &n, &p, 0, NULL, &err) == LMD_OK, "%s", err.text);
	ck_assert(lmi_cpu_set_has(&v[0], last));
	lmi_free(v);
	ck_assert(lmi_cpu_set_bind(&all));
	now = lmi_cpu_set_unbound();
	ck_assert(lmi_cpu_set_equal(&now, &all));
}
END_TEST

/* With one node there is nothing to choose from, and that is said. */
START_TEST(one_node_is_refused)
{
	const struct lmi_cpu_place p = {.numa = LMI_CPU_NUMA_DISTRIBUTE};
	struct lmi_cpu_set *v = NULL;
	struct lmd_error err = {0};
	uint32_t n;

	make_root();
	ck_assert_int_eq(lmi_cpu_place(&v, &n, &p, 2, root, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "numa: this machine has no NUMA nodes; set it to off");
	write_node(0, "0-1023");
	ck_assert_int_eq(lmi_cpu_place(&v, &n, &p, 2, root, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "numa: this machine has one NUMA node; set it to off");
	write_node(1, "");  /* memory without processors */
	ck_assert_int_eq(lmi_cpu_place(&v, &n, &p, 2, root, &err), LMD_INVALID);
	ck_assert_ptr_null(v);
	remove_root();
}
END_TEST

/* The nodes take turns, so that half of the parts are on both of them as well. */
START_TEST(two_nodes)
{
	struct lmi_cpu_place p = {.numa = LMI_CPU_NUMA_DISTRIBUTE};
	struct lmi_cpu_set *v = NULL, all = lmi_cpu_set_allowed();
	struct lmd_error err = {0};
	uint32_t n = 0, a = nth_cpu(0), b;
	char text[16];

	if (lmi_cpu_set_count(&all) < 2) {
		LMD_SKIP("two_nodes", "one processor");
		return;
	}
	b = nth_cpu(1);
	make_root();
	(void)snprintf(text, sizeof(text), "%u", a);
	write_node(0, text);
	(void)snprintf(text, sizeof(text), "%u,900-902", b);
	write_node(2, text); /* numbers may have gaps */
	ck_assert_msg(lmi_cpu_place(&v, &n, &p, 4, root, &err) == LMD_OK, "%s", err.text);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(lmi_cpu_set_count(&v[i]), 1);
		ck_assert(lmi_cpu_set_has(&v[i], i % 2 ? b : a));
	}
	lmi_free(v);
	p.numa = LMI_CPU_NUMA_ISOLATE;
	ck_assert_msg(lmi_cpu_place(&v, &n, &p, 0, root, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(n, 1);
	ck_assert(lmi_cpu_set_has(&v[0], a) || lmi_cpu_set_has(&v[0], b) ||
		  lmi_cpu_set_count(&all) > 2);
	lmi_free(v);
	remove_root();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cpu_set");
	TCase *t = tcase_create("cpu_set");

	tcase_add_test(t, texts);
	tcase_add_test(t, anywhere_and_one_each);
	tcase_add_test(t, a_list_of_processors);
	tcase_add_test(t, a_bound_thread);
	tcase_add_test(t, one_node_is_refused);
	tcase_add_test(t, two_nodes);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

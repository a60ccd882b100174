/* SPDX-License-Identifier: MIT
 *
 * Every file system call and every allocation fails once: after LMD_OK the rows are there, a failed
 * call has changed nothing or everything, no failure counts as corruption, and nothing leaks. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/db.h"
#include "store/test_store.h"
#include "store/test_vfs.h"

#define BIG 20000

static char big[BIG]; /* facts */

/* Independent operations.  Checks return 1 if done, 0 if not, -1 for anything else. */
static enum lmd_status do_add(void)
{
	return add("a", 5);
}

static int done_add(void)
{
	return added("a") == 5 ? 1 : added("a") == -1 ? 0 : -1;
}

static enum lmd_status do_alias(void)
{
	return lmi_store_alias_set(store, "x", "base", &err);
}

static int done_alias(void)
{
	return added("x") == 1 ? 1 : added("x") == -1 ? 0 : -1;
}

static enum lmd_status do_remove(void)
{
	return lmi_store_model_remove(store, "gone", &err);
}

static int done_remove(void)
{
	return added("gone") == -1 ? 1 : added("gone") == 2 ? 0 : -1;
}

static enum lmd_status do_replace(void)
{
	return put_model("old", 6, true);
}

static int done_replace(void)
{
	if (added("second") != added("old")) /* its alias */
		return -1;
	return added("old") == 6 ? 1 : added("old") == 4 ? 0 : -1;
}

/* A transaction of several pages. */
static enum lmd_status do_large(void)
{
	struct lmi_store_file f = some_file(7);
	struct lmi_store_model m = {.name = "large",
				    .format = "gguf",
				    .arch = "llama",
				    .facts = big,
				    .added_at = NOW,
				    .n_files = 1,
				    .files = &f};

	return lmi_store_model_add(store, &m, &err);
}

static int done_large(void)
{
	return added("large") == 7 ? 1 : added("large") == -1 ? 0 : -1;
}

static enum lmd_status do_usage(void)
{
	struct lmi_store_usage u[] = {
		{.principal = "p", .model = "m", .day = 1, .n_out = 5},
		{.principal = "p", .model = "m", .day = 2, .n_prompt = 7},
	};


	return lmi_store_usage_add(store, u, 2, &err);
}

static int done_usage(void)
{
	uint64_t n;

	OK(lmi_store_usage_sum(store, "p", NULL, 0, 9, &n, &err));
	return n == 12 ? 1 : n == 0 ? 0 : -1;
}

static enum lmd_status do_key(void)
{
	struct lmi_store_key k = {.label = "l"};

	snprintf(k.hash, sizeof(k.hash), "%064x", 1);
	return lmi_store_key_add(store, &k, &err);
}

static int done_key(void)
{
	struct lmi_store_keys k;
	int n;

	OK(lmi_store_key_list(store, &k, &err));
	n = (int)k.n;
	lmi_store_keys_fini(&k);
	return n;
}

static const struct {
	const char *name;
	enum lmd_status (*act)(void);
	int (*done)(void);
} op[] = {
	{"add", do_add, done_add},
	{"alias", do_alias, done_alias},
	{"remove", do_remove, done_remove},
	{"replace", do_replace, done_replace},
	{"large", do_large, done_large},
	{"usage", do_usage, done_usage},
	{"key", do_key, done_key},
};
#define N_OP LMD_LEN(op)

static void copy_file(const char *from, const char *to)
{
	char buf[65536];
	int a = open(from, O_RDONLY), b = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n;

	ck_assert(a >= 0 && b >= 0);
	while ((n = read(a, buf, sizeof(buf))) > 0)
		ck_assert_int_eq(write(b, buf, (size_t)n), n);
	close(a);
	close(b);
}

static char saved[80];

static void make_saved(void)
{
	char state[128];

	make_dir();
	snprintf(saved, sizeof(saved), "%s/saved", base_dir);
	snprintf(state, sizeof(state), "%s/registry.db", dir);
	OK(open_as(TEST_VFS));
	OK(add("base", 1));
	OK(add("gone", 2));
	OK(add("old", 4));
	OK(lmi_store_alias_set(store, "second", "old", &err));
	close_store();
	copy_file(state, saved);
}

static void back_to_saved(bool unclean)
{
	static const char *const rest[] = {"registry.db-wal", "registry.db-shm"};
	char path[128];

	for (size_t i = 0; i < LMD_LEN(rest); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, rest[i]);
		(void)unlink(path);
	}
	snprintf(path, sizeof(path), "%s/registry.db", dir);
	copy_file(saved, path);
	snprintf(path, sizeof(path), "%s/registry.lock", dir);
	ck_assert_int_eq(truncate(path, unclean ? 5 : 0), 0);
}

static void act_all(enum lmd_status *st)
{
	for (size_t i = 0; i < N_OP; i++) {
		err = (struct lmd_error){0};
		st[i] = op[i].act();
		ck_assert_msg(st[i] == LMD_OK || (err.status == st[i] && err.text[0]),
			      "%s: status %d, message of %d: %s", op[i].name, st[i], err.status,
			      err.text);
	}
}

/* Reopens without faults: acknowledged operations are done, none is half done, and the missing ones
 * can be done. */
static void check_all(const enum lmd_status *st, uint64_t nth, const char *what)
{
	OK(open_as(TEST_VFS));
	ck_assert_msg(!report.moved_aside, "%s %llu: %s", what, (unsigned long long)nth,
		      report.reason);
	ck_assert_int_eq(added("base"), 1);
	for (size_t i = 0; i < N_OP; i++) {
		int done = op[i].done();

		ck_assert_msg(done == 1 || (done == 0 && st[i] != LMD_OK),
			      "%s %llu: %s: status %d, done %d", what, (unsigned long long)nth,
			      op[i].name, st[i], done);
		if (!done)
			OK(op[i].act());
		ck_assert_int_eq(op[i].done(), 1);
	}
	close_store();
}

/* Returns whether the fault occurred. */
static bool run_one(enum test_fault what, uint64_t nth, bool ever_after)
{
	static const char *const name[N_FAULT] = {"io", "full", "short"};
	enum lmd_status st[N_OP];
	bool failed;

	for (size_t i = 0; i < N_OP; i++)
		st[i] = LMD_IO;
	back_to_saved(nth % 2);
	test_vfs_arm(what, nth, ever_after);
	err = (struct lmd_error){0};
	if (open_as(TEST_VFS) == LMD_OK) {
		ck_assert_msg(!report.moved_aside, "%s %llu: %s", name[what],
			      (unsigned long long)nth, report.reason);
		act_all(st);
		for (size_t i = 0; i < N_OP; i++)
			ck_assert(st[i] == LMD_OK || st[i] == LMD_IO);
		if (what == FAULT_FULL && st[N_OP - 1] != LMD_OK)
			ck_assert_msg(strstr(err.text, "is full; nothing"), "%s", err.text);
	} else {
		ck_assert_msg(err.status == LMD_IO && err.text[0], "%d: %s", err.status, err.text);
	}
	close_store();
	failed = test_vfs_did_fail();
	test_vfs_arm(what, 0, false);
	check_all(st, nth, name[what]);
	return failed;
}

static void faults(enum test_fault what, unsigned at_least)
{
	uint64_t step = getenv("LMD_TEST_LONG") ? 1 : 2, n = 0;

	test_vfs_register();
	make_saved();
	for (int ever_after = 0; ever_after < 2; ever_after++)
		for (uint64_t nth = 1; run_one(what, nth, ever_after); nth += step)
			n++;
	printf("faults of kind %d: %llu\n", (int)what, (unsigned long long)n);
	ck_assert_uint_gt(n, at_least);
}

START_TEST(io)
{
	faults(FAULT_IO, 100);
}
END_TEST

START_TEST(full)
{
	faults(FAULT_FULL, 20);
}
END_TEST

START_TEST(short_write)
{
	faults(FAULT_SHORT, 20);
}
END_TEST

/* A disk that is full for a while: errors with a message, then everything works again. */
START_TEST(full_for_a_while)
{
	test_vfs_register();
	make_saved();
	OK(open_as(TEST_VFS));
	test_vfs_arm(FAULT_FULL, 1, true);
	for (int i = 0; i < 3; i++)
		REFUSED(add("a", 5), LMD_IO, "the disk or its quota is full; nothing was changed");
	ck_assert_int_eq(added("a"), -1);
	ck_assert_int_eq(added("base"), 1);
	test_vfs_arm(FAULT_FULL, 0, false);
	OK(add("a", 5));
	ck_assert_int_eq(added("a"), 5);
}
END_TEST

/* sqlite allocates from the allocator with failure injection. */

#define MEM_HEAD 16

static void *mem_alloc(int n)
{
	char *p = n > 0 ? lmi_alloc((size_t)n + MEM_HEAD, 1) : NULL;

	if (!p)
		return NULL;
	memcpy(p, &n, sizeof(n));
	return p + MEM_HEAD;
}

static void mem_free(void *p)
{
	if (p)
		lmi_free((char *)p - MEM_HEAD);
}

static int mem_size(void *p)
{
	int n = 0;

	if (p)
		memcpy(&n, (char *)p - MEM_HEAD, sizeof(n));
	return n;
}

static void *mem_realloc(void *p, int n)
{
	void *q = mem_alloc(n);
	int old = mem_size(p);

	if (q && p) {
		memcpy(q, p, (size_t)(old < n ? old : n));
		mem_free(p);
	}
	return q;
}

static int mem_round(int n)
{
	return (n + 7) & ~7;
}

static int mem_init(void *arg)
{
	(void)arg;
	return SQLITE_OK;
}

static void mem_shutdown(void *arg)
{
	(void)arg;
}

static const sqlite3_mem_methods mem = {.xMalloc = mem_alloc,
					.xFree = mem_free,
					.xRealloc = mem_realloc,
					.xSize = mem_size,
					.xRoundup = mem_round,
					.xInit = mem_init,
					.xShutdown = mem_shutdown};

/* Returns whether an allocation failed. */
static bool starve_one(uint64_t nth, bool ever_after)
{
	struct lmi_store_models list;
	enum lmd_status st[N_OP];
	bool failed;

	for (size_t i = 0; i < N_OP; i++)
		st[i] = LMD_NOMEM;
	back_to_saved(nth % 2);
	lmi_alloc_fail_nth(nth, ever_after);
	err = (struct lmd_error){0};
	if (open_as(TEST_VFS) == LMD_OK) {
		act_all(st);
		for (size_t i = 0; i < N_OP; i++)
			ck_assert_msg(st[i] == LMD_OK || st[i] == LMD_NOMEM, "%s: %d: %s",
				      op[i].name, st[i], err.text);
		if (lmi_store_model_list(store, &list, &err) == LMD_OK)
			lmi_store_models_fini(&list);
		else
			ck_assert_int_eq(err.status, LMD_NOMEM);
	} else {
		ck_assert_msg(err.status == LMD_NOMEM && err.text[0], "%d: %s", err.status,
			      err.text);
	}
	close_store();
	failed = lmi_alloc_did_fail();
	lmi_alloc_fail_nth(0, false);
	check_all(st, nth, "allocation");
	return failed;
}

START_TEST(memory)
{
	uint64_t step = getenv("LMD_TEST_LONG") ? 1 : 3, n = 0;

	test_vfs_register();
	make_saved();
	for (int ever_after = 0; ever_after < 2; ever_after++)
		for (uint64_t nth = 1; starve_one(nth, ever_after); nth += step)
			n++;
	printf("failed allocations: %llu\n", (unsigned long long)n);
	ck_assert_uint_gt(n, 100);
}
END_TEST

static void end(void)
{
	lmi_store_close(store);
	store = NULL;
	ck_assert_int_eq(sqlite3_shutdown(), SQLITE_OK);
	remove_dir();
}

int main(void)
{
	Suite *s = suite_create("store-faults");
	TCase *tc = tcase_create("faults");

	if (sqlite3_config(SQLITE_CONFIG_MALLOC, &mem) != SQLITE_OK)
		return 1;
	snprintf(big, sizeof(big), "{\"text\":\"%0*d\"}", BIG - 20, 0);
	tcase_add_checked_fixture(tc, NULL, end);
	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, io);
	tcase_add_test(tc, full);
	tcase_add_test(tc, short_write);
	tcase_add_test(tc, full_for_a_while);
	tcase_add_test(tc, memory);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * The self-test of a plugin in a child process: what its code does there is an error message, and what is not
 * its fault rejects nothing. */
#include "core/plugin/self_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/plugin/plugin_test.h"

static bool no_pipes;

/* In place of libc's. */
int pipe2(int out[2], int flags)
{
	if (!no_pipes)
		return (int)syscall(SYS_pipe2, out, flags);
	errno = EMFILE;
	return -1;
}

/* A plugin that cannot be tested for want of a descriptor is loaded later. */
START_TEST(no_descriptor_for_the_self_test)
{
	struct lmi_plugin_registry *r;
	const struct lmi_factory *f = NULL;
	struct lmd_error err;

	copy_file(sample("v1"), in_top("a/x.so"));
	r = open_careful();
	no_pipes = true;
	ck_assert_int_eq(lmi_factory_take(r, LMD_KIND_SAMPLER, "test-sample", &f, &err), LMD_NOMEM);
	no_pipes = false;
	ck_assert_ptr_nonnull(strstr(err.text, "no pipe"));
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	lmi_plugin_registry_destroy(r);
}
END_TEST

static enum lmd_status no_memory(void *arg, struct lmd_error *err)
{
	(void)arg;
	return lmd_fail(err, LMD_NOMEM, "no memory for 3 factories");
}

/* A plugin whose test runs out of memory is not rejected, which would be for good. */
START_TEST(no_memory_in_the_self_test)
{
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_plugin_self_test(no_memory, NULL, &err), LMD_NOMEM);
	ck_assert_str_eq(err.text, "self-test: no memory for 3 factories");
}
END_TEST

/* Code that crashes or exits does so in a child process. */
START_TEST(crashes_are_errors)
{
	static const struct {
		const char *name, *says;
	} bad[] = {{"crashes", "crashed (signal 11"},
		   {"crashes_late", "crashed (signal 11"}, /* when it is closed */
		   {"exits", "ended the process (status 0)"}};
	const char *path = in_top("a/x.so");
	struct lmi_plugin_registry *r;
	struct lmd_error err;
	struct row row;

	copy_file(sample("v1"), path);
	r = open_careful();
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		move_in(sample(bad[i].name), path);
		ck_assert_int_eq(lmi_plugin_registry_rescan(r, &err), LMD_OK);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
		row = find_row(r, "x.so");
		ck_assert_str_eq(row.state, "refused");
		ck_assert_msg(strstr(row.reason, bad[i].says) != NULL, "%s", row.reason);
	}
	lmi_plugin_registry_destroy(r);
}
END_TEST

/* Loads and unloads a library until it is told to end, as a driver of devices may. */
static void *load_libraries(void *arg)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s", in_top("library.so"));
	while (!atomic_load((atomic_bool *)arg)) {
		void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);

		if (h)
			(void)dlclose(h);
	}
	return NULL;
}

/* A child that begins in the middle of that is not the plugin's fault. */
START_TEST(libraries_are_loaded_meanwhile)
{
	atomic_bool end = false;
	pthread_t thread;

	copy_file(sample("v2"), in_top("library.so"));
	copy_file(sample("v1"), in_top("a/x.so"));
	ck_assert_int_eq(pthread_create(&thread, NULL, load_libraries, &end), 0);
	for (int i = 0; i < 100; i++) {
		struct lmi_plugin_registry *r = open_careful();
		struct lmd_error why = {0};

		ck_assert_msg(version_now(r, "test-sample", &why) == 1, "%s", why.text);
		lmi_plugin_registry_destroy(r);
	}
	atomic_store(&end, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static struct {
	sem_t enter, inside, leave;
	atomic_int n_fork;
} held;

static int hold_lock(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	(void)arg;
	(void)sem_post(&held.inside);
	(void)sem_wait(&held.leave);
	return 1;
}

/* Holds a lock of the dynamic loader that a child inherits, as a thread that throws an exception does. */
static void *hold_at_first_fork(void *arg)
{
	(void)sem_wait(&held.enter);
	(void)dl_iterate_phdr(hold_lock, NULL);
	return arg;
}

static void before_fork(void)
{
	if (atomic_fetch_add(&held.n_fork, 1) == 0) {
		(void)sem_post(&held.enter);
		(void)sem_wait(&held.inside);
	}
}

static void after_fork(void)
{
	if (atomic_load(&held.n_fork) == 1)
		(void)sem_post(&held.leave);
}

/* A child in which a lock of the dynamic loader is held for ever is not the plugin's fault. */
START_TEST(loader_is_locked)
{
	struct lmi_plugin_registry *r;
	struct lmd_error why = {0};
	pthread_t thread;

	copy_file(sample("v1"), in_top("a/x.so"));
	ck_assert(!sem_init(&held.enter, 0, 0) && !sem_init(&held.inside, 0, 0) &&
		  !sem_init(&held.leave, 0, 0));
	ck_assert_int_eq(pthread_create(&thread, NULL, hold_at_first_fork, NULL), 0);
	r = open_careful();
	ck_assert_int_eq(pthread_atfork(before_fork, after_fork, NULL), 0);
	ck_assert_msg(version_now(r, "test-sample", &why) == 1, "%s", why.text);
	ck_assert_int_eq(atomic_load(&held.n_fork), 2);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	lmi_plugin_registry_destroy(r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("self-test");
	TCase *t = tcase_create("self-test");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, no_descriptor_for_the_self_test);
	tcase_add_test(t, no_memory_in_the_self_test);
	tcase_add_test(t, crashes_are_errors);
	tcase_add_test(t, libraries_are_loaded_meanwhile);
	tcase_add_test(t, loader_is_locked);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

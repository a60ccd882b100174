/* SPDX-License-Identifier: MIT
 *
 * How the files of plugins are mapped: sealed copies and links, names that the dynamic loader knows
 * already, and how the registry notices that a file has not changed. */
#include "core/plugin/plugin_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/plugin/registry_impl.h"

/* Descriptor numbers are reused; the dynamic loader must not return the old code. */
START_TEST(one_after_another)
{
	for (int i = 0; i < 20; i++) {
		struct lmi_plugin_registry *r;

		copy_file(sample(i & 1 ? "v2" : "v1"), in_top("a/x.so"));
		r = open_with(i & 2 ? LMI_PLUGIN_IMAGE_FILE : LMI_PLUGIN_IMAGE_SEALED);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), i & 1 ? 2 : 1);
		lmi_plugin_registry_destroy(r);
	}
}
END_TEST

static bool maps_have(const char *word)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024];
	bool found = false;

	ck_assert_ptr_nonnull(f);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, word) != NULL;
	fclose(f);
	return found;
}

/* Returns the descriptor that is a sealed copy of a file of this name, or -1. */
static int find_copy(const char *base)
{
	char path[64], target[PATH_ROOM], want[128];

	snprintf(want, sizeof(want), "/memfd:llamad:%s", base);
	for (int fd = 3; fd < 1024; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		if (!strncmp(target, want, strlen(want)))
			return fd;
	}
	return -1;
}

START_TEST(carriers)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	struct lmi_plugin_registry *r;

	copy_file(sample("v1"), in_top("a/x.so"));
	copy_file(sample("v1"), in_top("b/x.so")); /* the same content twice */
	r = open_with(LMI_PLUGIN_IMAGE_SEALED);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	ck_assert(maps_have("memfd:llamad:x.so"));
	ck_assert_int_ge(find_copy("x.so"), 0);
	ck_assert_int_eq(fcntl(find_copy("x.so"), F_GET_SEALS), seals);
	ck_assert(!maps_have("/a/x.so"));
	lmi_plugin_registry_destroy(r);
	ck_assert(!maps_have("memfd:llamad:x.so"));
	r = open_with(LMI_PLUGIN_IMAGE_FILE);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	ck_assert(maps_have(LMI_PLUGIN_COPIES));
	ck_assert_str_eq(find_row(r, "b/x.so").state, "shadowed");
	lmi_plugin_registry_destroy(r);
	ck_assert(!maps_have(LMI_PLUGIN_COPIES));
}
END_TEST

/* What a process that was killed has left is removed, but not the folder of one that is alive. */
START_TEST(folders_that_were_left)
{
	static const char left[] = LMI_PLUGIN_COPIES "left-1";
	struct lmi_plugin_registry *r, *other;

	copy_file(sample("v1"), in_top("a/x.so"));
	/* named when it is complete, since another test may remove it at any time */
	ck_assert_int_eq(mkdir(in_top("left"), 0700), 0);
	copy_file(sample("v1"), in_top("left/x.so"));
	ck_assert_int_eq(rename(in_top("left"), left), 0);
	r = open_with(LMI_PLUGIN_IMAGE_FILE);
	ck_assert_int_eq(access(left, F_OK), -1);
	other = open_with(LMI_PLUGIN_IMAGE_FILE);
	ck_assert_str_ne(r->copies.path, other->copies.path);
	ck_assert_int_eq(access(r->copies.path, F_OK), 0);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	ck_assert_int_eq(version_now(other, "test-sample", NULL), 1);
	lmi_plugin_registry_destroy(r);
	lmi_plugin_registry_destroy(other);
}
END_TEST

/* An object that the dynamic loader never unmaps keeps its name, so its descriptor must stay
 * open. */
START_TEST(object_that_stays)
{
	struct lmi_plugin_registry *r;

	copy_file(sample("stays"), in_top("a/x.so"));
	r = open_with(LMI_PLUGIN_IMAGE_SEALED);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 7);
	lmi_plugin_registry_destroy(r);
	ck_assert(maps_have("memfd:llamad:x.so"));
	ck_assert_int_ge(find_copy("x.so"), 0);
	for (int i = 0; i < 3; i++) {
		copy_file(sample("v1"), in_top("a/x.so"));
		r = open_with(LMI_PLUGIN_IMAGE_SEALED);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
		lmi_plugin_registry_destroy(r);
	}
}
END_TEST

/* Another library was loaded under the name that the registry would use next. */
START_TEST(name_that_is_taken)
{
	struct lmi_plugin_registry *r;
	char name[64];
	int fd, n;

	copy_file(sample("v1"), in_top("a/x.so"));
	r = open_with(LMI_PLUGIN_IMAGE_SEALED);
	n = find_copy("x.so");
	ck_assert_int_ge(n, 0);
	lmi_plugin_registry_destroy(r);
	fd = open(sample("stays"), O_RDONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dup2(fd, n), n);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", n);
	ck_assert_ptr_nonnull(dlopen(name, RTLD_NOW | RTLD_LOCAL));
	close(n);
	if (fd != n)
		close(fd);
	r = open_with(LMI_PLUGIN_IMAGE_SEALED);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	lmi_plugin_registry_destroy(r);
}
END_TEST

/* ---- detection of unchanged files ---- */

START_TEST(changes_of_a_file)
{
	const struct timespec changed = {.tv_sec = 1000, .tv_nsec = 500000000};
	const struct timespec soon = {.tv_sec = 1000, .tv_nsec = 590000000};
	const struct timespec later = {.tv_sec = 1000, .tv_nsec = 610000000};
	const struct timespec before = {.tv_sec = 5};
	struct stat sb = {.st_dev = 1, .st_ino = 2, .st_size = 3, .st_mtim = changed,
			  .st_ctim = changed};
	struct lmi_plugin_file_id id = lmi_plugin_file_id(&sb, &later);
	struct stat other;

	ck_assert(lmi_plugin_file_id_same(&id, &sb));
	/* one tick of the clock may hide a second change, and so may a clock that was set back */
	id = lmi_plugin_file_id(&sb, &soon);
	ck_assert(!lmi_plugin_file_id_same(&id, &sb));
	id = lmi_plugin_file_id(&sb, &before);
	ck_assert(!lmi_plugin_file_id_same(&id, &sb));
	id = lmi_plugin_file_id(&sb, &later);
	for (int i = 0; i < 5; i++) {
		other = sb;
		other.st_dev += i == 0;
		other.st_ino += i == 1;
		other.st_size += i == 2;
		other.st_mtim.tv_nsec += i == 3;
		other.st_ctim.tv_sec += i == 4;
		ck_assert(!lmi_plugin_file_id_same(&id, &other));
	}
}
END_TEST

START_TEST(fresh_until_something_changes)
{
	struct lmi_plugin_registry *r;
	struct lmi_plugin_object *o;

	copy_file(sample("v1"), in_top("a/x.so"));
	r = open_registry();
	for (o = r->objects; o && strcmp(o->base, "x.so"); o = o->next)
		; /* skip linked-in plugins, which come first */
	ck_assert_ptr_nonnull(o);
	ck_assert(!lmi_plugin_scan_is_fresh(r, o)); /* everything was created just now */
	for (uint32_t i = 0; i < r->n_dirs; i++)
		r->dirs[i].id.racy = false;
	o->id.racy = false;
	ck_assert(lmi_plugin_scan_is_fresh(r, o));
	o->id.mtime.tv_nsec ^= 1;
	ck_assert(!lmi_plugin_scan_is_fresh(r, o));
	ck_assert(lmi_plugin_scan_is_fresh(r, NULL));
	o->id.mtime.tv_nsec ^= 1;
	r->dirs[1].id.mtime.tv_nsec ^= 1;
	ck_assert(!lmi_plugin_scan_is_fresh(r, o));
	ck_assert(!lmi_plugin_scan_is_fresh(r, NULL));
	r->dirs[1].id.mtime.tv_nsec ^= 1;
	ck_assert(lmi_plugin_scan_is_fresh(r, o));
	ck_assert_int_eq(rename(in_top("b"), in_top("c")), 0);
	ck_assert(!lmi_plugin_scan_is_fresh(r, o));
	lmi_plugin_registry_destroy(r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("images of plugins");
	TCase *t = tcase_create("images");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, one_after_another);
	tcase_add_test(t, carriers);
	tcase_add_test(t, folders_that_were_left);
	tcase_add_test(t, object_that_stays);
	tcase_add_test(t, name_that_is_taken);
	tcase_add_test(t, changes_of_a_file);
	tcase_add_test(t, fresh_until_something_changes);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

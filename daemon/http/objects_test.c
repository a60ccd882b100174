/* SPDX-License-Identifier: MIT */
#include "daemon/http/objects.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tests/faults.h"
#include "tests/lmd_check.h"

static char folder[4096];
static int64_t clock_s;
static const struct lmi_svc_principal ann = {.uid = 1000}, bob = {.uid = 1001},
				      key = {.uid = UINT32_MAX, .key_label = "chat"},
				      nobody = {.uid = UINT32_MAX};

static void no_log(void *ctx, const char *topic, int level, const char *fmt, ...)
{
	(void)ctx;
	(void)topic;
	(void)level;
	(void)fmt;
}

static const struct lmd_host host = {.log = no_log};

static int64_t wall_ns(void *arg)
{
	(void)arg;
	return clock_s * 1000000000;
}

static struct lmi_http_objects *open_them(void)
{
	const struct lmi_http_objects_opts opts = {.host = &host,
						   .folder = folder,
						   .max_bytes = 100,
						   .max_number = 3,
						   .max_age_s = 60,
						   .wall_ns = wall_ns};
	struct lmi_http_objects *o;
	struct lmd_error err = {0};

	ck_assert_msg(lmi_http_objects_open(&o, &opts, &err) == LMD_OK, "%s", err.text);
	return o;
}

static void setup(void)
{
	const char *top = getenv("TMPDIR");

	(void)snprintf(folder, sizeof(folder), "%s/objects_test.XXXXXX", top ? top : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	clock_s = 1700000000;
}

/* Counts the files of a folder and removes them if asked to. */
static unsigned sweep(const char *path, bool rm)
{
	DIR *d = opendir(path);
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d))) {
		char name[8192];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (e->d_type == DT_DIR)
			n += sweep(name, rm);
		else
			n++;
		if (rm)
			(void)remove(name);
	}
	if (d)
		(void)closedir(d);
	return n;
}

static void teardown(void)
{
	(void)sweep(folder, true);
	ck_assert_int_eq(rmdir(folder), 0);
}

static void put(struct lmi_http_objects *o, const struct lmi_svc_principal *p, const char *id,
		const char *text)
{
	struct lmd_error err = {0};

	ck_assert_msg(lmi_http_objects_put(o, p, id, text, strlen(text), &err) == LMD_OK, "%s",
		      err.text);
}

static void holds(struct lmi_http_objects *o, const struct lmi_svc_principal *p, const char *id,
		  const char *want)
{
	struct lmd_error err = {0};
	char *text;
	size_t n;

	if (!want) {
		ck_assert_int_eq(lmi_http_objects_get(o, p, id, &text, &n, &err), LMD_NOTFOUND);
		return;
	}
	ck_assert_msg(lmi_http_objects_get(o, p, id, &text, &n, &err) == LMD_OK, "%s", err.text);
	ck_assert_str_eq(text, want);
	ck_assert_uint_eq(n, strlen(want));
	lmi_free(text);
}

static bool join(void *arg, const char *id)
{
	strcat(arg, id);
	strcat(arg, " ");
	return true;
}

static void lists(struct lmi_http_objects *o, const struct lmi_svc_principal *p, const char *want)
{
	char got[256] = "";

	lmi_http_objects_list(o, p, "a", join, got);
	ck_assert_str_eq(got, want);
}

START_TEST(kept)
{
	struct lmi_http_objects *o = open_them();
	struct stat st;
	char path[8192];

	put(o, &ann, "a1", "one");
	clock_s++;
	put(o, &ann, "a2", "");
	put(o, &ann, "b", "other");
	put(o, &key, "a1", "of the key");
	put(o, &nobody, "a1", "of anyone here");
	holds(o, &ann, "a1", "one");
	holds(o, &bob, "a1", NULL);
	lists(o, &ann, "a2 a1 ");
	lists(o, &bob, "");
	clock_s++;
	put(o, &ann, "a1", "changed");
	lists(o, &ann, "a1 a2 ");
	lmi_http_objects_flush(o);
	(void)snprintf(path, sizeof(path), "%s/uid-1000/a1", folder);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	/* a restart finds what was stored, in the same order */
	lmi_http_objects_close(o);
	o = open_them();
	lists(o, &ann, "a1 a2 ");
	holds(o, &ann, "a1", "changed");
	holds(o, &ann, "a2", "");
	holds(o, &key, "a1", "of the key");
	holds(o, &nobody, "a1", "of anyone here");
	lmi_http_objects_close(o);
}
END_TEST

START_TEST(removed)
{
	struct lmi_http_objects *o = open_them();
	struct lmd_error err = {0};

	put(o, &ann, "a", "text");
	put(o, &key, "a", "text");
	ck_assert_int_eq(lmi_http_objects_remove(o, &bob, "a", &err), LMD_NOTFOUND);
	ck_assert_int_eq(lmi_http_objects_remove(o, &ann, "a", &err), LMD_OK);
	lmi_http_objects_flush(o);
	ck_assert_uint_eq(sweep(folder, false), 1);
	lmi_http_objects_forget_key(o, "other");
	holds(o, &key, "a", "text");
	lmi_http_objects_forget_key(o, "chat");
	ck_assert_uint_eq(sweep(folder, false), 0);
	put(o, &key, "a", "again");
	holds(o, &key, "a", "again");
	lmi_http_objects_close(o);
}
END_TEST

/* Objects come and go faster than the disk: the latest text is read, and nothing that was removed
 * comes back. */
START_TEST(while_it_is_written)
{
	struct lmi_http_objects *o = open_them();
	struct lmd_error err = {0};
	char text[32];

	for (int i = 0; i < 300; i++) {
		(void)snprintf(text, sizeof(text), "text %d", i);
		put(o, &ann, "a", text);
		holds(o, &ann, "a", text);
		if (i % 3 == 0) {
			ck_assert_int_eq(lmi_http_objects_remove(o, &ann, "a", &err), LMD_OK);
			ck_assert_uint_eq(sweep(folder, false), i % 2 ? 1u : 0u);
			holds(o, &ann, "a", NULL);
		}
		if (i % 6 == 0) {
			put(o, &bob, "b", text);
			lmi_http_objects_flush(o);
		} else if (i % 6 == 3) {
			ck_assert_int_eq(lmi_http_objects_remove(o, &bob, "b", &err), LMD_OK);
		}
	}
	lmi_http_objects_close(o); /* writes what waits */
	o = open_them();
	holds(o, &ann, "a", "text 299");
	lmi_http_objects_close(o);
}
END_TEST

START_TEST(limited)
{
	struct lmi_http_objects *o = open_them();
	struct lmd_error err = {0};
	char text[102];

	memset(text, 'x', sizeof(text));
	text[101] = 0;
	ck_assert_int_eq(lmi_http_objects_put(o, &ann, "a", text, 101, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "101 bytes cannot be stored, the maximum is 100");
	/* the fourth object removes the oldest one of its owner, and so does a long one */
	put(o, &bob, "a", "b");
	for (int i = 0; i < 4; i++) {
		const char id[] = {'a', (char)('0' + i), 0};

		put(o, &ann, id, "x");
		clock_s++;
	}
	lists(o, &ann, "a3 a2 a1 ");
	text[99] = 0;
	put(o, &ann, "a4", text);
	lists(o, &ann, "a4 a3 ");
	holds(o, &bob, "a", "b");
	lmi_http_objects_flush(o);
	ck_assert_uint_eq(sweep(folder, false), 3);
	lmi_http_objects_close(o);
}
END_TEST

static enum lmd_status append(struct lmi_http_objects *o, const char *id, const char *text)
{
	struct lmd_error err = {0};

	return lmi_http_objects_append(o, &ann, id, text, strlen(text), &err);
}

/* What was appended is there when it was written, also in a later process. */
START_TEST(appended)
{
	struct lmi_http_objects *o = open_them();
	struct lmd_error err = {0};
	uint64_t n;

	ck_assert_int_eq(lmi_http_objects_check(o, &ann, "a", &n, &err), LMD_OK);
	for (int i = 0; i < 9; i++)
		ck_assert_int_eq(append(o, "a", "line\n"), LMD_OK);
	lmi_http_objects_flush(o);
	ck_assert_int_eq(lmi_http_objects_check(o, &ann, "a", &n, &err), LMD_OK);
	ck_assert_uint_eq(n, 45);
	lmi_http_objects_close(o);
	o = open_them();
	ck_assert_int_eq(append(o, "a", "end"), LMD_OK);
	lmi_http_objects_flush(o);
	holds(o, &ann, "a", "line\nline\nline\nline\nline\nline\nline\nline\nline\nend");
	put(o, &ann, "a", "new");
	ck_assert_int_eq(append(o, "a", "er"), LMD_OK);
	lmi_http_objects_flush(o);
	holds(o, &ann, "a", "newer");
	lmi_http_objects_close(o);
}
END_TEST

/* To append removes other objects, the oldest first, but none that is in use, and not because of their age. */
START_TEST(in_use)
{
	struct lmi_http_objects *o = open_them();
	char bytes[51];

	memset(bytes, 'x', sizeof(bytes));
	bytes[50] = 0;
	put(o, &ann, "a0", bytes);
	clock_s++;
	put(o, &ann, "a1", "x");
	lmi_http_objects_use(o, &ann, "a0", true);
	ck_assert_int_eq(append(o, "a2", "x"), LMD_OK);
	ck_assert_int_eq(append(o, "a3", "x"), LMD_OK); /* a fourth one */
	lists(o, &ann, "a3 a2 a0 ");
	bytes[48] = 0;
	ck_assert_int_eq(append(o, "a3", bytes), LMD_OK); /* 100 bytes */
	lists(o, &ann, "a3 a2 a0 ");
	ck_assert_int_eq(append(o, "a3", "y"), LMD_OK);
	lists(o, &ann, "a3 a0 ");
	ck_assert_int_eq(append(o, "a3", "yy"), LMD_BUSY);
	ck_assert_int_eq(append(o, "a4", bytes), LMD_OK); /* in place of a3 */
	lists(o, &ann, "a4 a0 ");
	clock_s += 3600;
	lmi_http_objects_expire(o);
	lists(o, &ann, "a0 ");
	lmi_http_objects_use(o, &ann, "a0", false);
	lmi_http_objects_expire(o);
	lists(o, &ann, "");
	lmi_http_objects_close(o);
}
END_TEST

/* A file that cannot be written keeps what it had, and the failure is known until it is put again. */
START_TEST(not_written)
{
	struct lmi_http_objects *o = open_them();
	struct lmd_error err = {0};
	uint64_t n;

	ck_assert_int_eq(append(o, "a", "first"), LMD_OK);
	lmi_http_objects_flush(o);
	fault_arm(FAULT_SYNC, 0);
	ck_assert_int_eq(append(o, "a", "second"), LMD_OK);
	lmi_http_objects_flush(o);
	ck_assert(fault_disarm());
	ck_assert_int_eq(lmi_http_objects_check(o, &ann, "a", &n, &err), LMD_IO);
	ck_assert_ptr_nonnull(strstr(err.text, "a cannot be stored: Input/output error"));
	ck_assert_uint_eq(n, 5);
	ck_assert_int_eq(append(o, "a", "y"), LMD_OK);
	lmi_http_objects_flush(o);
	ck_assert_int_eq(lmi_http_objects_check(o, &ann, "a", &n, &err), LMD_IO);
	holds(o, &ann, "a", "first");
	put(o, &ann, "a", "z");
	lmi_http_objects_flush(o);
	ck_assert_int_eq(lmi_http_objects_check(o, &ann, "a", &n, &err), LMD_OK);
	ck_assert_uint_eq(n, 1);
	lmi_http_objects_close(o);
}
END_TEST

START_TEST(aged)
{
	struct lmi_http_objects *o = open_them();

	put(o, &ann, "a1", "x");
	clock_s += 59;
	put(o, &ann, "a2", "x");
	lmi_http_objects_expire(o);
	lists(o, &ann, "a2 a1 ");
	clock_s++;
	lmi_http_objects_expire(o);
	lists(o, &ann, "a2 ");
	lmi_http_objects_flush(o);
	ck_assert_uint_eq(sweep(folder, false), 1);
	lmi_http_objects_close(o);
}
END_TEST

START_TEST(ids)
{
	static const char *const bad[] = {"", ".", "..", "a/b", ".new", "a b", "\n"};
	struct lmi_http_objects *o = open_them();
	char id[LMI_HTTP_OBJECT_ID_MAX + 2];
	struct lmd_error err = {0};

	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		ck_assert_int_eq(lmi_http_objects_put(o, &ann, bad[i], "x", 1, &err), LMD_INVALID);
		holds(o, &ann, bad[i], NULL);
	}
	memset(id, 'a', sizeof(id));
	id[sizeof(id) - 1] = 0;
	ck_assert_int_eq(lmi_http_objects_put(o, &ann, id, "x", 1, &err), LMD_INVALID);
	id[sizeof(id) - 2] = 0;
	put(o, &ann, id, "x");
	lmi_http_objects_close(o);
}
END_TEST

/* What is in the folder and is not an object is neither read nor removed. */
START_TEST(foreign)
{
	struct lmi_http_objects *o = open_them();
	char path[8192];
	int fd;

	put(o, &ann, "a", "x");
	lmi_http_objects_close(o);
	(void)snprintf(path, sizeof(path), "%s/uid-1000/a.txt", folder);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	(void)snprintf(path, sizeof(path), "%s/uid-1000/.new", folder);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	(void)snprintf(path, sizeof(path), "%s/uid-1000/a2", folder);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	o = open_them();
	lists(o, &ann, "a ");
	ck_assert_uint_eq(sweep(folder, false), 3); /* the leftover .new is gone */
	lmi_http_objects_close(o);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("http objects");
	TCase *t = tcase_create("objects");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, kept);
	tcase_add_test(t, removed);
	tcase_add_test(t, while_it_is_written);
	tcase_add_test(t, limited);
	tcase_add_test(t, appended);
	tcase_add_test(t, in_use);
	tcase_add_test(t, not_written);
	tcase_add_test(t, aged);
	tcase_add_test(t, ids);
	tcase_add_test(t, foreign);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * Digests of files, copies named by their content, and the rows that refer to them. */
#include "store/import.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "store/test_store.h"

static const char *blob(const char *digest)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/models/sha256-%s", dir, digest);
	return path;
}

/* Counts the entries of models/: complete files and parts. */
static int n_blobs(void)
{
	char path[128];
	struct dirent *e;
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/models", dir);
	d = opendir(path);
	if (!d)
		return 0;
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static int n_fd; /* open descriptors before a test, without the store */

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void open_fixture(void)
{
	make_dir();
	n_fd = count_fds();
	open_store();
}

static void close_fixture(void)
{
	close_store();
	ck_assert_int_eq(count_fds(), n_fd);
	remove_dir();
}

/* Writes a file of n bytes that depend on `seed`. */
static const char *put_bytes(const char *name, size_t n, uint64_t seed)
{
	static char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", base_dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	for (size_t i = 0; i < n; i++)
		fputc((int)(lmd_rand(&seed) & 0xff), f);
	ck_assert_int_eq(fclose(f), 0);
	return path;
}

struct steps {
	uint64_t last, total, n, stop_after;
	_Atomic bool cancel;
};

static void step(void *arg, uint64_t done, uint64_t total)
{
	struct steps *s = arg;

	ck_assert(done > s->last && done <= total && (!s->total || s->total == total));
	s->last = done;
	s->total = total;
	if (++s->n == s->stop_after)
		s->cancel = true;
}

START_TEST(digest)
{
	struct steps s = {0};
	struct lmi_store_work w = {.progress = step, .arg = &s, .cancel = &s.cancel};
	struct lmi_store_file f = {0};
	const char *path;
	struct stat sb;

	OK(lmi_store_digest_file(&f, put_file("empty", ""), &w, &err));
	ck_assert_str_eq(f.digest,
			 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	ck_assert_uint_eq(s.n, 0);
	path = put_bytes("f", 5 << 20, 1);
	OK(lmi_store_digest_file(&f, path, &w, &err));
	ck_assert(s.last == 5 << 20 && s.n >= 2);
	ck_assert_ptr_eq(f.path, path);
	ck_assert_int_eq(stat(path, &sb), 0);
	ck_assert(f.size == 5 << 20 && f.ino == sb.st_ino && f.dev == sb.st_dev);
	s = (struct steps){.stop_after = 2};
	REFUSED(lmi_store_digest_file(&f, path, &w, &err), LMD_CANCELLED, path);
	ck_assert_uint_eq(s.n, 2);
	for (uint64_t n = 1; n < 3; n++) {
		lmi_alloc_fail_nth(n, false);
		err.status = lmi_store_digest_file(&f, path, NULL, &err);
		ck_assert_int_eq(err.status, n == 1 ? LMD_NOMEM : LMD_OK);
		lmi_alloc_fail_nth(0, false);
	}
}
END_TEST

START_TEST(not_files)
{
	struct lmi_store_file f;
	char path[256];

	snprintf(path, sizeof(path), "%s/x", base_dir);
	REFUSED(lmi_store_digest_file(&f, path, NULL, &err), LMD_NOTFOUND, path);
	REFUSED(lmi_store_digest_file(&f, base_dir, NULL, &err), LMD_INVALID, "not a regular file");
	REFUSED(lmi_store_digest_file(&f, "/dev/zero", NULL, &err), LMD_INVALID, "regular file");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	REFUSED(lmi_store_digest_file(&f, path, NULL, &err), LMD_INVALID, "not a regular file");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink(put_file("real", "x"), path), 0);
	REFUSED(lmi_store_digest_file(&f, path, NULL, &err), LMD_INVALID, "a symbolic link");
	REFUSED(lmi_store_import(&f, dir, path, NULL, &err), LMD_INVALID, "a symbolic link");
	REFUSED(lmi_store_import(&f, "/nonexistent", path, NULL, &err), LMD_IO, "/nonexistent");
	ck_assert_int_eq(n_blobs(), 0);
}
END_TEST

/* If the file grows or shrinks while it is being read, no digest of a mixture is returned. */
static void grow(void *arg, uint64_t done, uint64_t total)
{
	FILE *f = fopen(arg, "a");

	(void)done;
	(void)total;
	ck_assert_ptr_nonnull(f);
	fputc('x', f);
	fclose(f);
}

static void shrink(void *arg, uint64_t done, uint64_t total)
{
	(void)done;
	ck_assert_int_eq(truncate(arg, (off_t)(total / 4)), 0);
}

static void rewrite(void *arg, uint64_t done, uint64_t total)
{
	int fd = open(arg, O_WRONLY);

	(void)done;
	(void)total;
	ck_assert_int_eq(write(fd, "new", 3), 3);
	close(fd);
}

START_TEST(changing)
{
	static void (*const how[])(void *, uint64_t, uint64_t) = {grow, shrink, rewrite};
	struct lmi_store_file f;

	for (size_t i = 0; i < LMD_LEN(how); i++) {
		char path[256];
		struct lmi_store_work w = {.progress = how[i], .arg = path};

		snprintf(path, sizeof(path), "%s", put_bytes("f", 3 << 20, i));
		REFUSED(lmi_store_digest_file(&f, path, &w, &err), LMD_BUSY, "changed");
		put_bytes("f", 3 << 20, i);
		REFUSED(lmi_store_import(&f, dir, path, &w, &err), LMD_BUSY, path);
		ck_assert_int_eq(n_blobs(), 0);
	}
}
END_TEST

static enum lmd_status add_imported(const char *name, const struct lmi_store_file *f)
{
	struct lmi_store_model m = {.name = name,
				    .format = "gguf",
				    .arch = "",
				    .imported = true,
				    .n_files = 1,
				    .files = f};

	return lmi_store_model_add(store, &m, &err);
}

START_TEST(import)
{
	struct steps s = {0};
	struct lmi_store_work w = {.progress = step, .arg = &s, .cancel = &s.cancel};
	struct lmi_store_file f = {0}, again = {0};
	struct lmi_store_models got;
	struct stat sb;
	char path[256];

	snprintf(path, sizeof(path), "%s", put_bytes("f", (2 << 20) + 7, 3));
	OK(lmi_store_import(&f, dir, path, &w, &err));
	ck_assert_uint_eq(s.last, 2 * f.size);
	ck_assert_int_eq(stat(blob(f.digest), &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 07777, 0600);
	ck_assert_int_eq(n_blobs(), 1);
	OK(add_imported("one", &f));
	OK(lmi_store_import(&again, dir, path, NULL, &err)); /* reused */
	ck_assert_uint_eq(again.ino, f.ino);
	ck_assert_int_eq(n_blobs(), 1);
	OK(add_imported("two", &again));
	OK(lmi_store_model_find(store, "two", &got, &err));
	ck_assert(got.v->imported);
	ck_assert_str_eq(got.v->files[0].path, blob(f.digest));
	OK(lmi_store_model_changed(got.v, &err));
	lmi_store_models_fini(&got);
	OK(lmi_store_model_remove(store, "one", &err));
	ck_assert_int_eq(n_blobs(), 1); /* "two" uses it */
	OK(lmi_store_model_remove(store, "two", &err));
	ck_assert_int_eq(n_blobs(), 0);
	ck_assert_int_eq(access(path, R_OK), 0); /* the original is kept */
	REFUSED(add_imported("three", &f), LMD_NOTFOUND, "sha256-");
}
END_TEST

/* A process that is short of descriptors leaves no file behind. */
START_TEST(removed_without_descriptors)
{
	struct lmi_store_file f = {0};
	struct rlimit old, none;
	char path[256];

	snprintf(path, sizeof(path), "%s", put_bytes("f", 100, 3));
	OK(lmi_store_import(&f, dir, path, NULL, &err));
	OK(add_imported("one", &f));
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(lmi_store_model_remove(store, "one", &err), LMD_OK);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert_int_eq(n_blobs(), 0);
}
END_TEST

/* Removing a model that was not imported never removes files. */
START_TEST(reference)
{
	struct lmi_store_file f;
	struct lmi_store_model m = {
		.name = "m", .format = "", .arch = "", .n_files = 1, .files = &f};
	struct lmi_store_file copy;

	OK(lmi_store_digest_file(&f, put_file("f", "content"), NULL, &err));
	OK(lmi_store_model_add(store, &m, &err));
	OK(lmi_store_import(&copy, dir, f.path, NULL, &err));
	OK(add_imported("copy", &copy));
	OK(lmi_store_model_remove(store, "m", &err));
	ck_assert_int_eq(access(f.path, R_OK), 0);
	ck_assert_int_eq(n_blobs(), 1);
	OK(lmi_store_model_remove(store, "copy", &err));
	ck_assert_int_eq(n_blobs(), 0);
}
END_TEST

/* A stored file with damaged content is replaced by a good copy. */
START_TEST(rot)
{
	struct lmi_store_file f, again;
	char path[256];

	snprintf(path, sizeof(path), "%s", put_file("f", "content"));
	OK(lmi_store_import(&f, dir, path, NULL, &err));
	for (int i = 0; i < 2; i++) {
		FILE *b = fopen(blob(f.digest), "w");

		ck_assert_ptr_nonnull(b);
		fputs(i ? "short" : "Content", b);
		fclose(b);
		OK(lmi_store_import(&again, dir, path, NULL, &err));
		ck_assert_str_eq(again.digest, f.digest);
		OK(lmi_store_digest_file(&again, blob(f.digest), NULL, &err));
		ck_assert_str_eq(again.digest, f.digest);
		ck_assert_int_eq(n_blobs(), 1);
	}
	ck_assert_int_eq(unlink(blob(f.digest)), 0);
	ck_assert_int_eq(mkdir(blob(f.digest), 0700), 0);
	REFUSED(lmi_store_import(&again, dir, path, NULL, &err), LMD_IO, "not a regular file");
	ck_assert_int_eq(n_blobs(), 1);
}
END_TEST

/* Cancelled at every piece, and failing at every allocation: no file is left. */
START_TEST(interrupted)
{
	struct lmi_store_file f;
	char path[256];

	snprintf(path, sizeof(path), "%s", put_bytes("f", 3 << 20, 3));
	for (uint64_t n = 1;; n++) {
		struct steps s = {.stop_after = n};
		struct lmi_store_work w = {.progress = step, .arg = &s, .cancel = &s.cancel};
		enum lmd_status st = lmi_store_import(&f, dir, path, &w, &err);

		if (st == LMD_OK)
			break;
		ck_assert_msg(st == LMD_CANCELLED, "%s", err.text);
		ck_assert_int_eq(n_blobs(), 0);
		ck_assert_uint_lt(n, 100);
	}
	OK(lmi_store_import(&f, dir, path, NULL, &err));
	ck_assert_int_eq(unlink(blob(f.digest)), 0);
	for (uint64_t n = 1;; n++) {
		enum lmd_status st;

		lmi_alloc_fail_nth(n, false);
		st = lmi_store_import(&f, dir, path, NULL, &err);
		lmi_alloc_fail_nth(0, false);
		if (st == LMD_OK)
			break;
		ck_assert_msg(st == LMD_NOMEM, "%s", err.text);
		ck_assert_int_eq(n_blobs(), 0);
	}
	ck_assert_int_eq(n_blobs(), 1);
}
END_TEST

/* The copy cannot grow: an error message, and no file is left.  (Each test is its own process.) */
START_TEST(no_room)
{
	struct rlimit limit;
	struct lmi_store_file f;
	char path[256];

	snprintf(path, sizeof(path), "%s", put_bytes("f", 3 << 20, 3));
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 1 << 20;
	ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	REFUSED(lmi_store_import(&f, dir, path, NULL, &err), LMD_IO, "write: File too large");
	ck_assert_int_eq(n_blobs(), 0);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	OK(lmi_store_import(&f, dir, path, NULL, &err));
}
END_TEST

/* After a crash: the next open removes parts; complete files without a row are kept. */
START_TEST(leftovers)
{
	struct lmi_store_file f, g;
	char path[256];

	OK(lmi_store_import(&f, dir, put_file("f", "one"), NULL, &err));
	OK(lmi_store_import(&g, dir, put_file("g", "three"), NULL, &err));
	OK(add_imported("f", &f));
	snprintf(path, sizeof(path), "%s/models/import-1-0.part", dir);
	ck_assert_int_eq(link(blob(f.digest), path), 0);
	put_file("state/models/sha256-readme", "no digest");
	close_store();
	open_store();
	ck_assert_uint_eq(report.n_parts_removed, 1);
	ck_assert_int_eq(n_blobs(), 3);
	/* importing the same content again uses the file that is there */
	OK(lmi_store_import(&g, dir, put_file("g", "three"), NULL, &err));
	ck_assert_int_eq(n_blobs(), 3);
}
END_TEST

/* A vision tower has the name of its model, is replaced by another one, and is removed with the model. */
START_TEST(tower)
{
	struct lmi_store_file f;
	char path[256], tower_name[512];
	struct stat sb;

	OK(lmi_store_import(&f, dir, put_file("f", "the model"), NULL, &err));
	OK(add_imported("f", &f));
	snprintf(tower_name, sizeof(tower_name), "%s.mmproj", blob(f.digest));
	for (int i = 0; i < 3; i++) { /* the same one twice, and another one */
		snprintf(path, sizeof(path), "%s", put_bytes("tower", 70000 + i / 2, 5));
		OK(lmi_store_import_tower(dir, f.digest, path, NULL, &err));
		ck_assert_int_eq(stat(tower_name, &sb), 0);
		ck_assert_int_eq(sb.st_size, 70000 + i / 2);
		ck_assert_int_eq(n_blobs(), 2);
	}
	REFUSED(lmi_store_import_tower(dir, f.digest, "/nonexistent", NULL, &err), LMD_NOTFOUND, "/nonexistent");
	OK(lmi_store_model_remove(store, "f", &err));
	ck_assert_int_eq(n_blobs(), 0);
}
END_TEST

struct racer {
	pthread_t thread;
	char path[256];
	struct lmi_store_file f;
	enum lmd_status st;
};

static void *race(void *arg)
{
	struct racer *r = arg;

	for (int i = 0; i < 20 && r->st == LMD_OK; i++)
		r->st = lmi_store_import(&r->f, dir, r->path, NULL, NULL);
	return NULL;
}

/* Several threads import the same content at once: one file, the same result for all. */
START_TEST(at_once)
{
	struct racer r[4] = {0};

	for (int i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		snprintf(r[i].path, sizeof(r[i].path), "%s", put_bytes(name, 100000, 5));
		ck_assert_int_eq(pthread_create(&r[i].thread, NULL, race, &r[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_join(r[i].thread, NULL), 0);
	ck_assert_int_eq(n_blobs(), 1);
	for (int i = 0; i < 4; i++) {
		char name[16];

		ck_assert_int_eq(r[i].st, LMD_OK);
		snprintf(name, sizeof(name), "m%d", i);
		OK(add_imported(name, &r[i].f));
	}
}
END_TEST

/* A downloaded file gets the name of its content, or gives way to the one that has it. */
START_TEST(adopt)
{
	struct lmi_store_file f, again;
	char path[2][200], copy[2][500];
	const char *from = put_bytes("from", 70000, 5);

	OK(lmi_store_digest_file(&f, from, NULL, &err));
	for (int i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/download-%d", dir, i);
		snprintf(copy[i], sizeof(copy[i]), "cp %s %s", from, path[i]);
		ck_assert_int_eq(system(copy[i]), 0);
	}
	REFUSED(lmi_store_adopt(&again, dir, path[0], "00", NULL, &err), LMD_INVALID, "digest");
	OK(lmi_store_adopt(&again, dir, path[0], f.digest, NULL, &err));
	ck_assert_str_eq(again.digest, f.digest);
	ck_assert_uint_eq(again.size, 70000);
	ck_assert_int_ne(access(path[0], F_OK), 0);
	OK(add_imported("one", &again));
	OK(lmi_store_adopt(&again, dir, path[1], f.digest, NULL, &err));
	ck_assert_int_ne(access(path[1], F_OK), 0);
	OK(add_imported("two", &again));
	ck_assert_int_eq(n_blobs(), 1);
	/* one with another content is replaced */
	ck_assert_int_eq(truncate(blob(f.digest), 100), 0);
	ck_assert_int_eq(system(copy[0]), 0);
	OK(lmi_store_adopt(&again, dir, path[0], f.digest, NULL, &err));
	ck_assert_uint_eq(again.size, 70000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("store-import");
	TCase *tc = tcase_create("import");

	tcase_add_checked_fixture(tc, open_fixture, close_fixture);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, digest);
	tcase_add_test(tc, not_files);
	tcase_add_test(tc, changing);
	tcase_add_test(tc, import);
	tcase_add_test(tc, removed_without_descriptors);
	tcase_add_test(tc, reference);
	tcase_add_test(tc, rot);
	tcase_add_test(tc, interrupted);
	tcase_add_test(tc, no_room);
	tcase_add_test(tc, leftovers);
	tcase_add_test(tc, at_once);
	tcase_add_test(tc, adopt);
	tcase_add_test(tc, tower);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}

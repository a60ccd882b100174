/* SPDX-License-Identifier: MIT
 *
 * test_store.h - a state folder for each test, and helpers for its contents. */
#ifndef LLAMAD_STORE_TEST_STORE_H
#define LLAMAD_STORE_TEST_STORE_H

#include <fcntl.h>
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "store/digest.h"
#include "tests/lmd_check.h"

#define NOW 1795271400000000000 /* 2026-11-21T14:30:00Z */

/* Checks that the call fails with that status and an error message that contains the text. */
#define REFUSED(call, want, part)                                                                  \
	do {                                                                                       \
		err = (struct lmd_error){0};                                                       \
		ck_assert_msg((call) == (want), "%s: %s", #call, err.text);                        \
		ck_assert_int_eq(err.status, want);                                                \
		ck_assert_msg(strstr(err.text, part), "%s: %s", #call, err.text);                  \
	} while (0)

static char base_dir[64], dir[80];
static struct lmd_error err;
static struct lmi_store *store;
static struct lmi_store_report report;

/* In memory if possible: fsync is then free, and a kill loses nothing. */
static LMD_UNUSED void make_dir(void)
{
	snprintf(base_dir, sizeof(base_dir), "%s/lmd-store-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(base_dir));
	snprintf(dir, sizeof(dir), "%s/state", base_dir);
}

static LMD_UNUSED void remove_dir(void)
{
	struct lmi_alloc_stats s;
	char cmd[128];

	lmi_store_close(store);
	store = NULL;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", base_dir);
	ck_assert_int_eq(system(cmd), 0);
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, 0);
}

static LMD_UNUSED enum lmd_status open_as(const char *vfs)
{
	struct lmi_store_opts opts = {.now_ns = NOW, .vfs = vfs};

	return lmi_store_open(&store, dir, &opts, &report, &err);
}

static LMD_UNUSED void open_store(void)
{
	OK(open_as(NULL));
}

static LMD_UNUSED void close_store(void)
{
	lmi_store_close(store);
	store = NULL;
}

/* Writes a file with that text to the test's folder. */
static LMD_UNUSED const char *put_file(const char *name, const char *text)
{
	static char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", base_dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	return path;
}

/* A file that does not exist; rows are not checked against files. */
static LMD_UNUSED struct lmi_store_file some_file(unsigned i)
{
	struct lmi_store_file f = {.path = "/models/some.gguf",
				   .size = 1000 + i,
				   .dev = UINT64_MAX,
				   .ino = i,
				   .mtime_ns = -5,
				   .ctime_ns = INT64_MAX};

	snprintf(f.digest, sizeof(f.digest), "%064x", i);
	return f;
}

static LMD_UNUSED enum lmd_status put_model(const char *name, unsigned i, bool replace)
{
	struct lmi_store_file f = some_file(i);
	struct lmi_store_model m = {.name = name,
				    .format = "gguf",
				    .arch = "llama",
				    .facts = "{\"layers\":2}",
				    .added_at = NOW,
				    .n_files = 1,
				    .files = &f};

	return replace ? lmi_store_model_replace(store, &m, &err)
		       : lmi_store_model_add(store, &m, &err);
}

static LMD_UNUSED enum lmd_status add(const char *name, unsigned i)
{
	return put_model(name, i, false);
}

/* Returns the number that was passed to `add`, or -1 if there is no such model. */
static LMD_UNUSED int added(const char *name)
{
	struct lmi_store_models m;
	enum lmd_status st = lmi_store_model_find(store, name, &m, &err);
	int i;

	if (st == LMD_NOTFOUND)
		return -1;
	ck_assert_msg(st == LMD_OK, "%s", err.text);
	i = (int)m.v[0].files[0].ino;
	lmi_store_models_fini(&m);
	return i;
}

#endif /* LLAMAD_STORE_TEST_STORE_H */

/* SPDX-License-Identifier: MIT
 *
 * The repack cache: a second load exports nothing and gives the same bits, also in a worker; damaged and
 * strange files are replaced; the folder stays below its limit; a load can be cancelled while it writes. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/device_fixture.h"
#include "core/engine/engine_impl.h"
#include "core/engine/repack_file.h"
#include "core/worker/worker.h"
#include "tests/lmd_check.h"

static char dir[300];
static struct lmi_engine_repack_opts repack;

/* The only file of the cache. Returns the number of files. */
static uint32_t files(char *path, size_t n)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	uint32_t found = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		found++;
		if (path)
			(void)snprintf(path, n, "%s/%s", dir, e->d_name);
	}
	if (d)
		(void)closedir(d);
	return found;
}

static void empty(void)
{
	char path[600];

	while (files(path, sizeof(path)))
		ck_assert_int_eq(unlink(path), 0);
	(void)rmdir(dir);
}

static void setup(void)
{
	lmt_device_setup();
	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1,seed=5,devices=2", 1), 0);
	(void)snprintf(dir, sizeof(dir), "%s/core/engine/repack.%d", lmd_build_dir(), (int)getpid());
}

static void teardown(void)
{
	empty();
	lmt_device_teardown();
}

static struct lmi_engine_opts with_cache(int kind)
{
	struct lmi_engine_opts o = lmt_opts(&lmt_device_env, lmt_paths[kind]);

	repack = (struct lmi_engine_repack_opts){.dir = dir, .max_bytes = 1 << 30, .model = {(uint8_t)kind}};
	o.inst.backend = "emu";
	o.inst.n_ctx = 64;
	o.inst.label = "tiny";
	o.inst.repack = &repack;
	return o;
}

/* What a load did. */
struct load {
	uint32_t n_exported, n_from_cache;
	struct lmt_rows rows;
};

static struct load load(const struct lmi_engine_opts *o)
{
	const struct lmi_engine_input_seq in = lmt_tokens(lmt_hello, LMT_N_HELLO);
	const struct lmi_engine_eval cmd = {.id = 1, .seqs = &in, .n_seq = 1, .pooling = LMD_POOL_UNSET};
	struct lmi_engine *e = NULL;
	struct lmd_error err = {0};
	struct load l = {0};

	ck_assert_msg(lmi_engine_open(&e, o, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmt_eval(e, &cmd, &l.rows, &err) == LMD_OK, "%s", err.text);
	for (uint32_t i = 0; i < e->inst->n_device; i++) {
		l.n_exported += e->inst->devices[i].n_exported;
		l.n_from_cache += e->inst->devices[i].n_from_cache;
	}
	lmi_engine_fini(e);
	return l;
}

/* Loads a model that the cache has, and compares its bits. */
static void check_hit(const struct lmi_engine_opts *o, const struct load *first)
{
	struct load l = load(o);

	ck_assert_uint_eq(l.n_exported, 0);
	ck_assert_uint_eq(l.n_from_cache, first->n_from_cache);
	lmt_check_same(&first->rows, &l.rows, "a load from the cache");
	lmi_free(l.rows.v);
}

/* _i: in this process; in a worker; on two devices */
START_TEST(a_second_load_repacks_nothing)
{
	struct lmi_engine_opts o = with_cache(LMT_FULL);
	struct load without, first;

	o.inst.isolated = _i == 1;
	if (_i == 2)
		o.inst.device_list = "emu0,emu1";
	o.inst.repack = NULL;
	without = load(&o);
	ck_assert_uint_eq(without.n_exported + without.n_from_cache, 0);
	o.inst.repack = &repack;
	first = load(&o);
	ck_assert_uint_gt(first.n_exported, 10);
	ck_assert_uint_ge(first.n_from_cache, first.n_exported); /* both devices may need a weight */
	lmt_check_same(&without.rows, &first.rows, "a load that writes the cache");
	ck_assert_uint_eq(files(NULL, 0), 1);
	check_hit(&o, &first);
	lmi_free(without.rows.v);
	lmi_free(first.rows.v);
	empty();
}
END_TEST

/* What a load lacks is added, and what the others have written stays: halves of the model first, then all of it. */
START_TEST(a_file_grows)
{
	struct lmi_engine_opts o = with_cache(LMT_FULL);
	struct load whole, first, second;

	o.inst.repack = NULL;
	whole = load(&o);
	o.inst.repack = &repack;
	o.inst.override_tensor = "blk.0.*=ref0"; /* which exports nothing */
	first = load(&o);
	ck_assert_uint_gt(first.n_exported, 0);
	check_hit(&o, &first);
	o.inst.override_tensor = NULL;
	second = load(&o);
	ck_assert_uint_gt(second.n_exported, 0);
	ck_assert_uint_eq(second.n_exported + first.n_exported, second.n_from_cache);
	lmt_check_same(&whole.rows, &second.rows, "a load that adds to a file");
	check_hit(&o, &second);
	o.inst.override_tensor = "blk.0.*=ref0";
	check_hit(&o, &first);
	ck_assert_uint_eq(files(NULL, 0), 1);
	lmi_free(whole.rows.v);
	lmi_free(first.rows.v);
	lmi_free(second.rows.v);
	empty();
}
END_TEST

/* ---- files that are not used ---- */

static void overwrite(const char *path, off_t at, char byte)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	ck_assert_int_eq(close(fd), 0);
}

static off_t bytes_of(const char *path)
{
	struct stat sb;

	ck_assert_int_eq(stat(path, &sb), 0);
	return sb.st_size;
}

static void damage_head(const char *path)
{
	overwrite(path, 12, 7);
}

static void damage_weight(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(pread(fd, &byte, 1, LMI_ENGINE_REPACK_ALIGN + 5), 1);
	ck_assert_int_eq(close(fd), 0);
	overwrite(path, LMI_ENGINE_REPACK_ALIGN + 5, (char)(byte ^ 1));
}

static void damage_table(const char *path)
{
	overwrite(path, bytes_of(path) - 20, 99);
}

static void shorten(const char *path)
{
	ck_assert_int_eq(truncate(path, bytes_of(path) - 1), 0);
}

static void make_empty(const char *path)
{
	ck_assert_int_eq(truncate(path, 0), 0);
}

static void lengthen(const char *path)
{
	ck_assert_int_eq(truncate(path, bytes_of(path) + 1), 0);
}

static void let_others_write(const char *path)
{
	ck_assert_int_eq(chmod(path, 0666), 0);
}

/* The file of another model under this name. */
static void exchange(const char *path)
{
	char other[600], kept[700];
	struct lmi_engine_opts o = with_cache(LMT_FULL);
	struct load l;

	(void)snprintf(kept, sizeof(kept), "%s.kept", path);
	ck_assert_int_eq(rename(path, kept), 0);
	repack.model[5] = 1;
	l = load(&o);
	lmi_free(l.rows.v);
	ck_assert_int_eq(unlink(kept), 0);
	ck_assert_uint_eq(files(other, sizeof(other)), 1);
	ck_assert_int_eq(rename(other, path), 0);
}

static void make_link(const char *path)
{
	char kept[700];

	(void)snprintf(kept, sizeof(kept), "%s/../repack.%d.kept", dir, (int)getpid());
	ck_assert_int_eq(rename(path, kept), 0);
	ck_assert_int_eq(symlink(kept, path), 0);
}

static void (*const damages[])(const char *path) = {damage_head, damage_weight,	   damage_table, shorten,
						    make_empty,	 lengthen,	   let_others_write,
						    exchange,	 make_link};

START_TEST(damaged_files_are_replaced)
{
	struct lmi_engine_opts o = with_cache(LMT_FULL);
	struct load first = load(&o), again;
	char path[600], kept[700];

	ck_assert_uint_eq(files(path, sizeof(path)), 1);
	damages[_i](path);
	o = with_cache(LMT_FULL);
	again = load(&o);
	ck_assert_uint_eq(again.n_exported, first.n_exported);
	lmt_check_same(&first.rows, &again.rows, "a load that replaces a file");
	check_hit(&o, &first);
	(void)snprintf(kept, sizeof(kept), "%s/../repack.%d.kept", dir, (int)getpid());
	(void)unlink(kept);
	lmi_free(first.rows.v);
	lmi_free(again.rows.v);
	empty();
}
END_TEST

/* ---- the limit ---- */

START_TEST(the_folder_has_a_limit)
{
	struct lmi_engine_opts o = with_cache(LMT_FULL);
	struct load l = load(&o), none;
	char path[600];
	off_t bytes;

	ck_assert_uint_eq(files(path, sizeof(path)), 1);
	bytes = bytes_of(path);
	check_hit(&o, &l);
	/* there is room for one of them: the older one is removed */
	repack.max_bytes = (uint64_t)bytes + 5000;
	repack.model[0]++;
	none = load(&o);
	ck_assert_uint_eq(none.n_exported, l.n_exported);
	lmi_free(none.rows.v);
	ck_assert_uint_eq(files(NULL, 0), 1);
	ck_assert_int_ne(access(path, F_OK), 0);
	check_hit(&o, &l);
	/* too little for one: it is loaded without the cache, and nothing is left */
	repack.max_bytes = 10000;
	repack.model[0]++;
	none = load(&o);
	ck_assert_uint_eq(none.n_from_cache, 0);
	lmt_check_same(&l.rows, &none.rows, "a load without room for the cache");
	lmi_free(none.rows.v);
	ck_assert_uint_eq(files(NULL, 0), 0);
	lmi_free(l.rows.v);
	empty();
}
END_TEST

START_TEST(the_folder_cannot_be_made)
{
	struct lmi_engine_opts o = with_cache(LMT_FULL);
	struct load l;

	repack.dir = "/proc/there/is/none";
	l = load(&o);
	ck_assert_uint_eq(l.n_exported + l.n_from_cache, 0);
	lmi_free(l.rows.v);
}
END_TEST

static bool stop_at_third(void *arg, enum lmi_engine_load_phase phase, uint64_t done, uint64_t total)
{
	uint32_t *n = arg;

	ck_assert_uint_le(done, total);
	return phase != LMI_ENGINE_LOAD_REPACK || ++*n < 3;
}

START_TEST(writing_can_be_cancelled)
{
	struct lmi_engine_opts o = with_cache(LMT_FULL);
	struct lmi_engine *e = NULL;
	struct lmd_error err = {0};
	uint32_t n = 0;

	o.inst.progress = stop_at_third;
	o.inst.progress_arg = &n;
	ck_assert_int_eq(lmi_engine_open(&e, &o, &err), LMD_CANCELLED);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(files(NULL, 0), 0);
	empty();
}
END_TEST

static bool shorten_the_model(void *arg, enum lmi_engine_load_phase phase, uint64_t done, uint64_t total)
{
	(void)done;
	(void)total;
	return phase != LMI_ENGINE_LOAD_REPACK || truncate(arg, 4096) == 0;
}

/* What is exported after the model's file was truncated is zeros, which no later load must find. */
START_TEST(a_model_is_truncated)
{
	struct lmi_engine_opts o = with_cache(LMT_FULL);
	struct lmi_engine *e = NULL;
	struct lmd_error err = {0};
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/core/engine/repack.%d.gguf", lmd_build_dir(), (int)getpid());
	lmt_tiny_write(LMT_FULL, 1, path);
	o.inst.path = path;
	o.inst.progress = shorten_the_model;
	o.inst.progress_arg = path;
	ck_assert_int_eq(lmi_engine_open(&e, &o, &err), LMD_IO);
	ck_assert_msg(strstr(err.text, "truncated") != NULL, "%s", err.text);
	ck_assert_uint_eq(files(NULL, 0), 0);
	ck_assert_int_eq(unlink(path), 0);
	empty();
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("repack cache");
	TCase *t = tcase_create("repack cache");
	int status;

	if (lmi_worker_main_if_asked(argc, argv, &status))
		return status;
	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_second_load_repacks_nothing, 0, 3);
	tcase_add_test(t, a_file_grows);
	tcase_add_loop_test(t, damaged_files_are_replaced, 0, LMD_LEN(damages));
	tcase_add_test(t, the_folder_has_a_limit);
	tcase_add_test(t, the_folder_cannot_be_made);
	tcase_add_test(t, writing_can_be_cancelled);
	tcase_add_test(t, a_model_is_truncated);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

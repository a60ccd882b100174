/* SPDX-License-Identifier: MIT
 *
 * Plugins that come, go and change while the process runs: references, generations, replacement by
 * rename and by cp, removal, shadowing, several registries, threads, allocation failures. */
#include "core/plugin/plugin_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/plugin/builtin.h"
#include "core/plugin/registry_impl.h"

START_TEST(references)
{
	const struct lmi_factory *f, *g;
	struct lmi_plugin_registry *r;
	struct row row;

	copy_file(sample("v1"), in_top("a/x.so"));
	r = open_registry();
	f = take(r, "test-sample");
	g = take(r, "test-pick");
	ck_assert_ptr_eq(f, g);
	ck_assert_str_eq(f->f->name, "test-sample");
	ck_assert_str_eq(f->plugin, "sampler-sample");
	ck_assert_str_eq(f->version, "1.0");
	ck_assert_str_eq(f->file, in_top("a/x.so"));
	ck_assert_uint_eq(f->generation, 1);
	ck_assert(f->untrusted == (geteuid() != 0)); /* the folder was added */
	ck_assert_int_eq(f->score, 100);
	ck_assert_uint_eq(f->f->state_bytes, 8);
	row = find_row(r, "x.so");
	ck_assert_uint_eq(row.n_users, 2);
	ck_assert_uint_eq(row.n_factories, 1);
	ck_assert_int_eq(row.score, 100);
	lmi_factory_give(r, f);
	lmi_factory_give(r, g);
	lmi_factory_give(r, NULL);
	ck_assert_uint_eq(find_row(r, "x.so").n_users, 0);
	ck_assert_str_eq(lmi_factory_best(r, LMD_KIND_SAMPLER), "test-sample");
	if (!lmi_plugin_builtins[0])
		ck_assert_ptr_null(lmi_factory_best(r, LMD_KIND_BACKEND));
	ck_assert_ptr_null(lmi_factory_best(r, LMD_KIND_FORMAT));
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(misses)
{
	const char *dirs[] = {in_top("a"), in_top("none")};
	struct lmi_plugin_registry_opts opts = {
		.dirs = dirs, .n_dirs = 2, .no_default_dirs = true, .host = host};
	const struct lmi_factory *f = NULL;
	struct lmi_plugin_registry *r = NULL;
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_plugin_registry_create(&r, &opts, &err), LMD_OK);
	ck_assert_int_eq(lmi_factory_take(r, LMD_KIND_ARCH, "nobody", &f, &err), LMD_NOTFOUND);
	ck_assert_ptr_nonnull(
		strstr(err.text, "no plugin offers architecture 'nobody'; looked in"));
	ck_assert_ptr_nonnull(strstr(err.text, in_top("a")));
	ck_assert_ptr_nonnull(strstr(err.text, "none (does not exist)"));
	ck_assert_int_eq(lmi_factory_take(r, LMD_KIND_TOKENIZER, "a\nb\x80", &f, &err),
			 LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "tokenizer 'a?b?'"));
	ck_assert_int_eq(lmi_factory_take(r, LMD_KIND_FORMAT, "gguf", &f, &err), LMD_NOTFOUND);
	ck_assert_int_eq(lmi_factory_take(r, (enum lmd_kind)77, "x", &f, &err), LMD_INVALID);
	ck_assert_ptr_null(f);
	/* the folder may appear later */
	ck_assert_int_eq(mkdir(in_top("none"), 0755), 0);
	copy_file(sample("v2"), in_top("none/x.so"));
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 2);
	lmi_plugin_registry_destroy(r);
	opts.host = NULL;
	ck_assert_int_eq(lmi_plugin_registry_create(&r, &opts, &err), LMD_INVALID);
}
END_TEST

/* v1 is in use when v2 replaces it: by rename (0) or by overwriting (1). */
START_TEST(hot_swap)
{
	void (*replace)(const char *from, const char *to) = _i ? copy_file : move_in;
	const struct lmi_factory *old, *new, *back;
	const char *path = in_top("a/x.so");
	struct lmi_plugin_registry *r;

	copy_file(sample("v1"), path);
	r = open_registry();
	old = take(r, "test-sample");
	ck_assert_int_eq(version_of(old), 1);
	replace(sample("v2"), path);
	new = take(r, "test-sample");
	ck_assert_int_eq(version_of(new), 2);
	ck_assert_uint_eq(new->generation, 2);
	ck_assert_str_eq(new->version, "2.0");
	ck_assert_int_eq(version_of(old), 1);
	ck_assert_uint_eq(old->generation, 1);
	ck_assert_int_eq(find_row(r, "x.so").n, 2);
	/* when the older version returns, it is the same object, not a third */
	replace(sample("v1"), path);
	back = take(r, "test-sample");
	ck_assert_ptr_eq(back, old);
	ck_assert_int_eq(version_of(new), 2);
	ck_assert_int_eq(canary_count(), 2);
	lmi_factory_give(r, old);
	lmi_factory_give(r, new);
	lmi_factory_give(r, back);
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(many_swaps)
{
	struct lmi_plugin_registry *r;

	copy_file(sample("v1"), in_top("a/x.so"));
	r = open_registry();
	for (int i = 0; i < 40; i++) {
		if (i & 2)
			copy_file(sample(i & 1 ? "v2" : "v1"), in_top("a/x.so"));
		else
			move_in(sample(i & 1 ? "v2" : "v1"), in_top("a/x.so"));
		ck_assert_int_eq(version_now(r, "test-sample", NULL), i & 1 ? 2 : 1);
	}
	lmi_plugin_registry_destroy(r);
}
END_TEST

/* More distinct versions than are kept: the last one is rejected, and the previous good one stays
 * in use. */
START_TEST(too_many_versions)
{
	size_t n;
	char *p = read_whole(sample("v1"), &n);
	struct lmi_plugin_registry *r;
	struct row row;

	write_whole(in_top("a/x.so"), p, n);
	r = open_registry();
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	p = realloc(p, n + 100);
	ck_assert_ptr_nonnull(p);
	for (size_t i = 1; i <= 66; i++) {
		p[n + i - 1] = (char)i; /* bytes after the ELF file change only the digest */
		write_whole(in_top("a/x.so"), p, n + i);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	}
	row = find_row(r, "x.so");
	ck_assert_str_eq(row.state, "refused");
	ck_assert_ptr_nonnull(strstr(row.reason, "too many replaced versions"));
	free(p);
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(bad_replacement_leaves_the_old)
{
	static const char *const bad[] = {"lacks_apply", "bad_magic", "unresolved"};
	const char *path = in_top("a/x.so");
	struct lmi_plugin_registry *r;
	struct row row;

	copy_file(sample("v1"), path);
	r = open_registry();
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		copy_file(sample(bad[i]), path);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
		row = find_row(r, "x.so");
		ck_assert_str_eq(row.state, "refused");
		ck_assert_int_eq(row.n, 2);
	}
	write_whole(path, "half of a copy", 14);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	copy_file(sample("v2"), path);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 2);
	row = find_row(r, "x.so");
	ck_assert_int_eq(row.n, 2); /* v2, and the retired v1: the row of the rejected file is
				     * gone */
	lmi_plugin_registry_destroy(r);
}
END_TEST

/* A replacement is used after a rescan only; until then the version that was accepted is. */
START_TEST(changed_without_a_rescan)
{
	const char *path = in_top("a/x.so");
	struct lmi_plugin_registry *r;
	struct lmd_error err;
	struct row row;

	copy_file(sample("v1"), path);
	r = open_careful();
	for (int loaded = 0; loaded < 2; loaded++) { /* changed before its first use, and after it */
		if (loaded)
			ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
		move_in(sample("v2"), path);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
		row = find_row(r, "x.so");
		ck_assert_int_eq(row.n, 2);
		ck_assert_msg(strstr(row.reason, "changed since it was accepted") != NULL, "%s",
			      row.reason);
		move_in(sample("v1"), path);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	}
	move_in(sample("v2"), path);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	ck_assert_int_eq(lmi_plugin_registry_rescan(r, &err), LMD_OK);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 2);
	/* removing it in between makes no difference */
	ck_assert_int_eq(remove(path), 0);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), -1);
	copy_file(sample("v1"), path);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), -1);
	copy_file(sample("v2"), path);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 2);
	lmi_plugin_registry_destroy(r);
}
END_TEST

/* A file that cannot be opened for a while, here for want of descriptors, is used afterwards. */
START_TEST(out_of_descriptors)
{
	const char *path = in_top("a/x.so");
	struct lmi_plugin_registry *r;
	struct rlimit all, few;
	struct timespec now;
	struct stat sb;
	int fd;

	copy_file(sample("v1"), path);
	do { /* a file that has just been written is read again in any case */
		ck_assert_int_eq(stat(path, &sb), 0);
		clock_gettime(CLOCK_REALTIME, &now);
	} while (now.tv_sec < sb.st_ctim.tv_sec + 2);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
	fd = dup(0);
	ck_assert_int_ge(fd, 0);
	close(fd);
	few = all;
	few.rlim_cur = (rlim_t)fd + 1; /* enough for the folder, but not for its files */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	r = open_careful();
	ck_assert_int_eq(version_now(r, "test-sample", NULL), -1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	lmi_plugin_registry_destroy(r);
}
END_TEST

/* A rescan that names one file accepts a change of that file only. */
START_TEST(rescan_of_one_file)
{
	const char *x = in_top("a/x.so"), *y = in_top("a/y.so");
	struct lmi_plugin_registry *r;
	struct lmd_error err = {0};
	struct row row;

	copy_file(sample("v1"), x);
	r = open_careful();
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	for (int by_path = 0; by_path < 2; by_path++) {
		copy_file(sample("v1"), y);
		ck_assert_int_eq(lmi_plugin_registry_rescan(r, &err), LMD_OK);
		move_in(sample("v2"), x);
		move_in(sample("v2"), y);
		ck_assert_msg(lmi_plugin_registry_rescan_file(r, by_path ? y : "y.so", &err) ==
				      LMD_OK, "%s", err.text);
		row = find_row(r, "y.so");
		ck_assert_msg(strcmp(row.state, "refused") != 0, "%s", row.reason);
		row = find_row(r, "x.so");
		ck_assert_msg(strstr(row.reason, "changed since it was accepted") != NULL, "%s",
			      row.reason);
		ck_assert_int_eq(remove(y), 0);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
		ck_assert_int_eq(lmi_plugin_registry_rescan_file(r, "x.so", &err), LMD_OK);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), 2);
		move_in(sample("v1"), x);
		ck_assert_int_eq(lmi_plugin_registry_rescan(r, &err), LMD_OK);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	}
	ck_assert_int_eq(lmi_plugin_registry_rescan_file(r, "none.so", &err), LMD_NOTFOUND);
	ck_assert_msg(strstr(err.text, "none.so") != NULL, "%s", err.text);
	ck_assert_int_eq(lmi_plugin_registry_rescan_file(r, y, &err), LMD_NOTFOUND);
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(removed_and_put_back)
{
	const char *path = in_top("a/x.so"), *away = in_top("away");
	const struct lmi_factory *f;
	struct lmi_plugin_registry *r;
	struct lmd_error why;

	copy_file(sample("v1"), path);
	r = open_registry();
	f = take(r, "test-sample");
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(rename(path, away), 0);
		ck_assert_int_eq(version_now(r, "test-sample", &why), -1);
		ck_assert_msg(strstr(why.text, "x.so provided it: the file is gone") != NULL, "%s",
			      why.text);
		ck_assert_str_eq(find_row(r, "x.so").state, "retired");
		ck_assert_int_eq(version_of(f), 1);
		ck_assert_int_eq(rename(away, path), 0);
		ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
		ck_assert_str_eq(find_row(r, "x.so").state, "loaded");
	}
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), -1);
	copy_file(sample("v2"), path);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 2);
	ck_assert_int_eq(version_of(f), 1);
	lmi_factory_give(r, f);
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(never_loaded_and_removed)
{
	struct lmi_plugin_registry *r;

	copy_file(sample("v1"), in_top("a/x.so"));
	r = open_registry();
	ck_assert_int_eq(unlink(in_top("a/x.so")), 0);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), -1);
	ck_assert_int_eq(find_row(r, "x.so").n, 0);
	copy_file(sample("v1"), in_top("a/x.so"));
	ck_assert_int_eq(lmi_plugin_registry_rescan(r, NULL), LMD_OK);
	copy_file(sample("v2"), in_top("a/x.so"));
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 2);
	ck_assert_int_eq(canary_count(), 1);
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(shadowing)
{
	struct lmi_plugin_registry *r;
	struct row row;

	copy_file(sample("v1"), in_top("a/x.so"));
	copy_file(sample("v2"), in_top("b/x.so"));
	r = open_registry();
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1); /* the first folder wins */
	row = find_row(r, "b/x.so");
	ck_assert_str_eq(row.state, "shadowed");
	ck_assert_ptr_nonnull(strstr(row.reason, in_top("a/x.so")));
	ck_assert_ptr_nonnull(strstr(row.factory_reason, "provided by"));
	/* a higher priority wins even from the last folder */
	copy_file(sample("high"), in_top("b/y.so"));
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 3);
	ck_assert_int_eq(version_now(r, "test-choose", NULL), 3);
	ck_assert_str_eq(find_row(r, "a/x.so").state, "shadowed");
	ck_assert_str_eq(find_row(r, "b/y.so").state, "loaded");
	ck_assert_int_eq(unlink(in_top("b/y.so")), 0);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	ck_assert_int_eq(unlink(in_top("a/x.so")), 0);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 2);
	ck_assert_str_eq(find_row(r, "b/x.so").state, "loaded");
	/* within one folder the file name decides */
	copy_file(sample("v1"), in_top("b/w.so"));
	ck_assert_int_eq(lmi_plugin_registry_rescan(r, NULL), LMD_OK);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(same_folder_twice)
{
	char again[PATH_ROOM];
	const char *dirs[] = {in_top("a"), again};
	struct lmi_plugin_registry_opts opts = {
		.dirs = dirs, .n_dirs = 2, .no_default_dirs = true, .host = host};
	struct lmi_plugin_registry *r = NULL;

	snprintf(again, sizeof(again), "%s/../a//", in_top("b"));
	copy_file(sample("v1"), in_top("a/x.so"));
	ck_assert_int_eq(lmi_plugin_registry_create(&r, &opts, NULL), LMD_OK);
	ck_assert_int_eq(find_row(r, "x.so").n, 1);
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(two_registries)
{
	struct lmi_plugin_registry *r = NULL, *q = NULL;
	const struct lmi_factory *f, *g;

	copy_file(sample("v1"), in_top("a/x.so"));
	r = open_registry();
	f = take(r, "test-sample");
	copy_file(sample("v2"), in_top("a/x.so"));
	q = open_registry();
	g = take(q, "test-sample");
	ck_assert_int_eq(version_of(f), 1);
	ck_assert_int_eq(version_of(g), 2);
	ck_assert_uint_eq(g->generation, 1);
	lmi_factory_give(r, f);
	lmi_plugin_registry_destroy(r);
	ck_assert_int_eq(version_of(g), 2);
	lmi_factory_give(q, g);
	lmi_plugin_registry_destroy(q);
}
END_TEST

/* ---- linked-in descriptors ---- */

static enum lmd_status linked_init(void *state, const struct lmd_sampler_init *init,
				   struct lmd_error *err)
{
	(void)state;
	(void)init;
	(void)err;
	return LMD_OK;
}

static void linked_apply(void *state, struct lmd_cands *c)
{
	(void)state;
	c->selected = 77;
}

static int never(const struct lmd_host *h, char *why, size_t n)
{
	(void)h;
	snprintf(why, n, "no\ncard");
	return 0;
}

static int twice_as_good(const struct lmd_host *h, char *why, size_t n)
{
	(void)h;
	(void)why;
	(void)n;
	return 200;
}

START_TEST(linked_in)
{
	static const struct lmd_sampler_ops ops = {.struct_size = sizeof(ops), .init = linked_init,
						   .apply = linked_apply};
	struct lmd_factory f[2] = {
		{.struct_size = sizeof(f[0]), .kind = LMD_KIND_SAMPLER, .name = "test-sample",
		 .ops = &ops},
		{.struct_size = sizeof(f[0]), .kind = LMD_KIND_SAMPLER, .name = "card",
		 .probe = never, .ops = &ops}};
	struct lmd_plugin p = {LMD_PLUGIN_MAGIC, LMD_ABI_MAJOR, LMD_ABI_MINOR, sizeof(p), 2,
			       "linked", "1", "MIT", f};
	struct lmd_plugin broken = p;
	const struct lmd_plugin *all[] = {&p, &broken};
	const char *dirs[] = {in_top("a")};
	struct lmi_plugin_registry_opts opts = {.dirs = dirs,
						.n_dirs = 1,
						.no_default_dirs = true,
						.host = host,
						.linked = all,
						.n_linked = 2};
	struct lmi_plugin_registry *r = NULL;
	struct lmd_error why;

	broken.n_factories = 0;
	ck_assert_int_eq(lmi_plugin_registry_create(&r, &opts, NULL), LMD_OK);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 77);
	ck_assert_int_eq(version_now(r, "card", &why), -1);
	ck_assert_ptr_nonnull(strstr(why.text, "(built in) cannot run here: no card"));
	if (!lmi_plugin_builtins[0]) {
		ck_assert_int_eq(find_row(r, "(built in)").n, 2);
		ck_assert_str_eq(find_row(r, "(built in)").state, "refused");
	}
	/* a file of the same rank wins over it */
	copy_file(sample("v1"), in_top("a/x.so"));
	ck_assert_int_eq(lmi_plugin_registry_rescan(r, NULL), LMD_OK);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	lmi_plugin_registry_destroy(r);
	/* ... but a higher score wins over the file */
	f[0].probe = twice_as_good;
	ck_assert_int_eq(lmi_plugin_registry_create(&r, &opts, NULL), LMD_OK);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 77);
	lmi_plugin_registry_destroy(r);
}
END_TEST

/* ---- threads ---- */

struct swarm {
	struct lmi_plugin_registry *r;
	_Atomic bool stop;
	_Atomic unsigned n_bad;
	_Atomic unsigned n_take[3];
};

static void *swarm_main(void *arg)
{
	struct swarm *s = arg;

	while (!atomic_load(&s->stop)) {
		const struct lmi_factory *f = NULL;
		int v;

		if (lmi_factory_take(s->r, LMD_KIND_SAMPLER, "test-sample", &f, NULL) != LMD_OK) {
			atomic_fetch_add(&s->n_bad, 1);
			continue;
		}
		v = version_of(f);
		if (v != 1 && v != 2)
			atomic_fetch_add(&s->n_bad, 1);
		else
			atomic_fetch_add(&s->n_take[v], 1);
		lmi_factory_give(s->r, f);
	}
	return NULL;
}

/* The winners of a kind, one for each name, with a reference to each. */
START_TEST(all_of_a_kind)
{
	const struct lmi_factory **all = NULL;
	struct lmi_plugin_registry *r;
	struct lmd_error err = {0};
	uint32_t n = 99, mine = 0;

	copy_file(sample("v1"), in_top("a/x.so"));
	copy_file(sample("high"), in_top("b/y.so"));
	r = open_registry();
	ck_assert_int_eq(lmi_factory_take_all(r, LMD_KIND_SAMPLER, &all, &n, &err), LMD_OK);
	for (uint32_t i = 0; i < n; i++) {
		ck_assert(!i || all[i - 1]->f->priority >= all[i]->f->priority);
		if (strcmp(all[i]->plugin, "sampler-sample"))
			continue;
		ck_assert_int_eq(version_of(all[i]), 3); /* the other one is shadowed */
		mine++;
	}
	ck_assert_uint_eq(mine, 1);
	ck_assert_uint_eq(find_row(r, "y.so").n_users, 1);
	ck_assert_uint_eq(find_row(r, "x.so").n_users, 0);
	for (uint32_t i = 0; i < n; i++)
		lmi_factory_give(r, all[i]);
	lmi_free(all);
	ck_assert_uint_eq(find_row(r, "y.so").n_users, 0);
	all = NULL;
	ck_assert_int_eq(lmi_factory_take_all(r, LMD_KIND_FORMAT, &all, &n, &err), LMD_OK);
	ck_assert(n == 0 && !all);
	ck_assert_int_eq(lmi_factory_take_all(r, (enum lmd_kind)77, &all, &n, &err), LMD_INVALID);
	ck_assert_ptr_eq(lmi_plugin_registry_host(r), host);
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(threads_take_while_it_changes)
{
	struct swarm s = {0};
	pthread_t t[3];

	copy_file(sample("v1"), in_top("a/x.so"));
	s.r = open_registry();
	for (size_t i = 0; i < LMD_LEN(t); i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, swarm_main, &s), 0);
	for (int i = 1; i <= 40; i++) {
		move_in(sample(i & 1 ? "v2" : "v1"), in_top("a/x.so"));
		ck_assert_int_eq(version_now(s.r, "test-sample", NULL), i & 1 ? 2 : 1);
		if (i % 8 == 0)
			(void)find_row(s.r, "x.so");
	}
	atomic_store(&s.stop, true);
	for (size_t i = 0; i < LMD_LEN(t); i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(atomic_load(&s.n_bad), 0);
	printf("taken: %u times v1, %u times v2\n", atomic_load(&s.n_take[1]),
	       atomic_load(&s.n_take[2]));
	ck_assert_uint_eq(find_row(s.r, "x.so").n_users, 0);
	lmi_plugin_registry_destroy(s.r);
}
END_TEST

/* ---- memory ---- */

START_TEST(allocation_failures)
{
	const char *dirs[] = {in_top("a"), in_top("b")};
	struct lmi_plugin_registry_opts opts = {.dirs = dirs,
						.n_dirs = 2,
						.host = host,
						.image = _i ? LMI_PLUGIN_IMAGE_FILE
							    : LMI_PLUGIN_IMAGE_SEALED};
	struct lmi_alloc_stats before, after;
	uint64_t nth = 1;

	copy_file(sample("v1"), in_top("a/x.so"));
	write_whole(in_top("b/y.so"), "broken", 6);
	lmi_alloc_stats(&before);
	for (bool failed = true; failed; nth++) {
		const struct lmi_factory *f = NULL;
		struct lmi_plugin_registry *r = NULL;
		struct lmd_error err = {0};
		enum lmd_status st;

		lmi_alloc_fail_nth(nth, false);
		st = lmi_plugin_registry_create(&r, &opts, &err);
		if (st == LMD_OK)
			st = lmi_factory_take(r, LMD_KIND_SAMPLER, "test-sample", &f, &err);
		failed = lmi_alloc_did_fail();
		lmi_alloc_fail_nth(0, false);
		ck_assert_msg(st == (failed ? LMD_NOMEM : LMD_OK), "allocation %u: %s %s",
			      (unsigned)nth, lmd_status_text(st), err.text);
		ck_assert(st == LMD_OK || err.text[0]);
		if (r) {
			/* works as if nothing had happened */
			ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
			lmi_factory_give(r, f);
		}
		lmi_plugin_registry_destroy(r);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(before.n_live, after.n_live);
	}
	printf("%u allocations failed one by one\n", (unsigned)nth - 2);
	ck_assert_uint_gt(nth, 10);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plugin registry");
	TCase *t = tcase_create("registry");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, references);
	tcase_add_test(t, misses);
	tcase_add_loop_test(t, hot_swap, 0, 2);
	tcase_add_test(t, many_swaps);
	tcase_add_test(t, too_many_versions);
	tcase_add_test(t, bad_replacement_leaves_the_old);
	tcase_add_test(t, changed_without_a_rescan);
	tcase_add_test(t, out_of_descriptors);
	tcase_add_test(t, rescan_of_one_file);
	tcase_add_test(t, removed_and_put_back);
	tcase_add_test(t, never_loaded_and_removed);
	tcase_add_test(t, shadowing);
	tcase_add_test(t, same_folder_twice);
	tcase_add_test(t, two_registries);
	tcase_add_test(t, linked_in);
	tcase_add_test(t, all_of_a_kind);
	tcase_add_test(t, threads_take_while_it_changes);
	tcase_add_loop_test(t, allocation_failures, 0, 2);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

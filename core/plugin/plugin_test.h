/* SPDX-License-Identifier: MIT
 *
 * plugin_test.h - helpers shared by the test programs of core/plugin: a private folder, copies of
 * the sample plugins, a registry over chosen folders, and the canary. */
#ifndef LLAMAD_CORE_PLUGIN_PLUGIN_TEST_H
#define LLAMAD_CORE_PLUGIN_PLUGIN_TEST_H

#include <fcntl.h>
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "tests/lmd_check.h"

#define PATH_ROOM 512

static char top[] = "/tmp/lmd-plugin-XXXXXX";
static struct lmd_host *host;

static inline const char *in_top(const char *name)
{
	static char ring[8][PATH_ROOM];
	static unsigned at;
	char *p = ring[at++ % 8];

	snprintf(p, PATH_ROOM, "%s/%s", top, name);
	return p;
}

static inline const char *sample(const char *name)
{
	static char ring[8][PATH_ROOM];
	static unsigned at;
	char *p = ring[at++ % 8];

	snprintf(p, PATH_ROOM, "%s/core/plugin/.libs/sample_%s.so", lmd_build_dir(), name);
	return p;
}

static inline char *read_whole(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *p = NULL;

	ck_assert_msg(f != NULL, "%s is missing", path);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	*n = (size_t)ftell(f);
	rewind(f);
	p = malloc(*n + 1);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(fread(p, 1, *n, f), *n);
	fclose(f);
	return p;
}

/* Overwrites the file in place, in the same inode. */
static inline void write_whole(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ck_assert_msg(fd >= 0, "%s", path);
	ck_assert_int_eq((int)write(fd, p, n), (int)n);
	ck_assert_int_eq(fchmod(fd, 0644), 0);
	close(fd);
}

static inline void copy_file(const char *from, const char *to)
{
	size_t n;
	char *p = read_whole(from, &n);

	write_whole(to, p, n);
	free(p);
}

/* Replaces the file with a new inode. */
static inline void move_in(const char *from, const char *to)
{
	char tmp[PATH_ROOM + 8];

	snprintf(tmp, sizeof(tmp), "%s.new", to);
	copy_file(from, tmp);
	ck_assert_int_eq(rename(tmp, to), 0);
}

/* Returns how many times the constructor of a sample has run. */
static inline long canary_count(void)
{
	struct stat sb;

	return stat(in_top("canary"), &sb) ? 0 : (long)sb.st_size;
}

static inline void setup(void)
{
	snprintf(top, sizeof(top), "/tmp/lmd-plugin-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chmod(top, 0755), 0);
	ck_assert_int_eq(mkdir(in_top("a"), 0755), 0);
	ck_assert_int_eq(mkdir(in_top("b"), 0755), 0);
	setenv("LMD_TEST_CANARY", in_top("canary"), 1);
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	lmi_host_set_log_level(host, LMD_LOG_ERROR);
}

static inline void teardown(void)
{
	char command[PATH_ROOM];

	lmi_host_destroy(host);
	snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", top, top);
	ck_assert_int_eq(system(command), 0);
}

static inline struct lmi_plugin_registry *open_with(enum lmi_plugin_image_kind image)
{
	const char *dirs[2] = {in_top("a"), in_top("b")};
	struct lmi_plugin_registry_opts opts = {
		.dirs = dirs, .n_dirs = 2, .no_default_dirs = true, .host = host, .image = image};
	struct lmi_plugin_registry *r = NULL;
	struct lmd_error err = {0};

	ck_assert_msg(lmi_plugin_registry_create(&r, &opts, &err) == LMD_OK, "%s", err.text);
	return r;
}

/* Opens a registry over the folders a and b. */
static inline struct lmi_plugin_registry *open_registry(void)
{
	return open_with(LMI_PLUGIN_IMAGE_DEFAULT);
}

/* Opens one over the folder a as a daemon does. */
static inline struct lmi_plugin_registry *open_careful(void)
{
	const char *dirs[1] = {in_top("a")};
	const struct lmi_plugin_registry_opts opts = {.dirs = dirs,
						      .n_dirs = 1,
						      .no_default_dirs = true,
						      .host = host,
						      .pinned = true,
						      .self_test = true};
	struct lmi_plugin_registry *r = NULL;
	struct lmd_error err = {0};

	ck_assert_msg(lmi_plugin_registry_create(&r, &opts, &err) == LMD_OK, "%s", err.text);
	return r;
}

/* Returns which sample a factory belongs to. */
static inline int version_of(const struct lmi_factory *f)
{
	struct lmd_cand v[1] = {{0}};
	struct lmd_cands c = {.v = v, .n = 1, .selected = -1};
	uint64_t state = 0;

	f->ops.sampler->apply(&state, &c);
	return (int)c.selected;
}

static inline const struct lmi_factory *take(struct lmi_plugin_registry *r, const char *name)
{
	const struct lmi_factory *f = NULL;
	struct lmd_error err = {0};

	ck_assert_msg(lmi_factory_take(r, LMD_KIND_SAMPLER, name, &f, &err) == LMD_OK, "%s",
		      err.text);
	return f;
}

/* Returns the version that a name finds, or -1 if it is not found; `why` gets the error message. */
static inline int version_now(struct lmi_plugin_registry *r, const char *name,
			      struct lmd_error *why)
{
	const struct lmi_factory *f = NULL;
	struct lmd_error err = {0};
	enum lmd_status st = lmi_factory_take(r, LMD_KIND_SAMPLER, name, &f, &err);
	int v = -1;

	if (st == LMD_OK) {
		v = version_of(f);
		lmi_factory_give(r, f);
	} else {
		ck_assert_int_eq(st, LMD_NOTFOUND);
	}
	if (why)
		*why = err;
	return v;
}

/* The last row of lmi_plugin_registry_list for a file whose path ends in `tail`. */
struct row {
	const char *tail;
	int n;
	char state[16], reason[LMD_ERROR_TEXT], name[64], factory_reason[LMD_ERROR_TEXT];
	uint64_t generation;
	uint32_t n_users, n_factories;
	int score;
	bool mine;
};

static inline void row_plugin(void *arg, const struct lmi_plugin_info *p)
{
	struct row *row = arg;
	size_t n = strlen(p->file), t = strlen(row->tail);

	row->mine = n >= t && !strcmp(p->file + n - t, row->tail);
	if (!row->mine)
		return;
	row->n++;
	snprintf(row->state, sizeof(row->state), "%s", p->state);
	snprintf(row->reason, sizeof(row->reason), "%s", p->reason);
	snprintf(row->name, sizeof(row->name), "%s", p->name);
	row->generation = p->generation;
	row->n_users = p->n_users;
	row->n_factories = p->n_factories;
}

static inline void row_factory(void *arg, const struct lmi_factory_info *f)
{
	struct row *row = arg;

	if (!row->mine)
		return;
	row->score = f->score;
	snprintf(row->factory_reason, sizeof(row->factory_reason), "%s", f->reason);
}

static inline struct row find_row(struct lmi_plugin_registry *r, const char *tail)
{
	struct row row = {.tail = tail, .score = -1};

	lmi_plugin_registry_list(r, row_plugin, row_factory, &row);
	return row;
}

#endif /* LLAMAD_CORE_PLUGIN_PLUGIN_TEST_H */

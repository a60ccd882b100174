/* SPDX-License-Identifier: MIT
 *
 * Hot removal, for every plugin of this build: after its file is removed, everything it provided is
 * gone, with an error message that names the file; after the file is put back, it is there again,
 * in the same process, and no other plugin is affected. */
#include "core/plugin/plugin_test.h"

#include <dirent.h>

#define MAX_OFFERS 4096

struct offer {
	char file[PATH_ROOM];
	uint32_t kind;
	char name[64];
	int score;
};

struct offers {
	struct offer *v;
	size_t n;
	const char *file;
};

static void on_plugin(void *arg, const struct lmi_plugin_info *p)
{
	struct offers *o = arg;

	ck_assert_msg(strcmp(p->state, "refused"), "%s: %s", p->file, p->reason);
	o->file = p->file;
}

static void on_factory(void *arg, const struct lmi_factory_info *f)
{
	struct offers *o = arg;
	struct offer *x = &o->v[o->n++];

	ck_assert_uint_lt(o->n, MAX_OFFERS);
	snprintf(x->file, sizeof(x->file), "%s", o->file);
	snprintf(x->name, sizeof(x->name), "%s", f->name);
	x->kind = f->kind;
	x->score = f->score;
}

/* Returns how many files were copied from the build. */
static unsigned copy_plugins(void)
{
	char from[PATH_ROOM], to[PATH_ROOM];
	const struct dirent *de;
	unsigned n = 0;
	DIR *dir;

	snprintf(from, sizeof(from), "%s/plugins/.libs", lmd_build_dir());
	dir = opendir(from);
	while (dir && (de = readdir(dir))) {
		size_t len = strlen(de->d_name);

		if (len < 4 || len > 100 || strcmp(de->d_name + len - 3, ".so"))
			continue;
		snprintf(from, sizeof(from), "%s/plugins/.libs/%s", lmd_build_dir(), de->d_name);
		snprintf(to, sizeof(to), "%s/a/%s", top, de->d_name);
		copy_file(from, to);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

static const char *file_of(struct lmi_registry *r, const struct offer *x, struct lmd_error *err)
{
	static char file[PATH_ROOM];
	const struct lmi_factory *f = NULL;

	if (lmi_factory_take(r, (enum lmd_kind)x->kind, x->name, &f, err) != LMD_OK)
		return NULL;
	snprintf(file, sizeof(file), "%s", f->file);
	lmi_factory_give(r, f);
	return file;
}

/* Checks that everything `path` provides is gone and everything else is there. */
static unsigned check_without(struct lmi_registry *r, const struct offers *all, const char *path)
{
	unsigned gone = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct offer *x = &all->v[i];
		struct lmd_error err = {0};
		const char *file;

		if (!x->score)
			continue;
		file = file_of(r, x, &err);
		if (strcmp(x->file, path)) {
			ck_assert_msg(file != NULL, "%s: %s", x->name, err.text);
			continue;
		}
		ck_assert_msg(!file || strcmp(file, path), "%s still comes from %s", x->name, path);
		if (file)
			continue; /* also provided by another plugin */
		ck_assert_int_eq(err.status, LMD_NOTFOUND);
		ck_assert_msg(strstr(err.text, x->name) && strstr(err.text, path) &&
				      strstr(err.text, "the file is gone"),
			      "%s", err.text);
		gone++;
	}
	return gone;
}

START_TEST(each_plugin_of_the_build)
{
	struct offers all = {.v = calloc(MAX_OFFERS, sizeof(*all.v))};
	unsigned n = copy_plugins(), gone = 0;
	const char *dirs[1] = {in_top("a")};
	struct lmi_registry_opts opts = {.dirs = dirs, .n_dirs = 1, .no_default_dirs = true,
					 .host = host};
	struct lmi_registry *r = NULL;

	if (!n) {
		LMD_SKIP("each_plugin_of_the_build", "this build has no plugins as files");
		free(all.v);
		return;
	}
	ck_assert_int_eq(lmi_registry_create(&r, &opts, NULL), LMD_OK);
	lmi_registry_list(r, on_plugin, on_factory, &all);
	for (size_t i = 0; i < all.n; i++) {
		char path[PATH_ROOM];

		if (i && !strcmp(all.v[i].file, all.v[i - 1].file))
			continue;
		snprintf(path, sizeof(path), "%s", all.v[i].file);
		ck_assert_int_eq(rename(path, in_top("away")), 0);
		gone += check_without(r, &all, path);
		ck_assert_int_eq(rename(in_top("away"), path), 0);
		for (size_t k = 0; k < all.n; k++) {
			struct lmd_error err = {0};

			if (all.v[k].score)
				ck_assert_msg(file_of(r, &all.v[k], &err) != NULL, "%s: %s",
					      all.v[k].name, err.text);
		}
	}
	printf("%u plugins, %zu factories, %u of them looked up in vain\n", n, all.n, gone);
	ck_assert_uint_gt(gone, 0);
	lmi_registry_destroy(r);
	free(all.v);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plugin removal");
	TCase *t = tcase_create("removal");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, each_plugin_of_the_build);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

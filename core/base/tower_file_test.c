/* SPDX-License-Identifier: MIT
 *
 * Which file is the vision tower of a model. */
#include "core/base/tower_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llamad/attr.h"
#include "tests/lmd_check.h"

static char dir[] = "/tmp/lmd-tower-XXXXXX";
static char out[256];

static const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make_dir(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static void put(const char *name)
{
	FILE *f = fopen(in_dir(name), "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fclose(f), 0);
}

START_TEST(names)
{
	static const char *const yes[] = {"mmproj.gguf", "mmproj-F16.gguf", "MMPROJ-x.GGUF"};
	static const char *const no[] = {"", "mmproj", "mmproj.ggu", "model-mmproj.gguf", "mmproj.safetensors",
					 "mmproj-F16.gguf.partial"};

	for (size_t i = 0; i < LMD_LEN(yes); i++)
		ck_assert_msg(lmi_tower_is_name(yes[i]), "%s", yes[i]);
	for (size_t i = 0; i < LMD_LEN(no); i++)
		ck_assert_msg(!lmi_tower_is_name(no[i]), "%s", no[i]);
}
END_TEST

START_TEST(beside)
{
	put("model.gguf");
	ck_assert(!lmi_tower_beside(out, sizeof(out), in_dir("model.gguf")));
	put("mmproj-F16.gguf");
	ck_assert(lmi_tower_beside(out, sizeof(out), in_dir("model.gguf")));
	ck_assert_str_eq(out, in_dir("mmproj-F16.gguf"));
	ck_assert(!lmi_tower_beside(out, strlen(dir) + 10, in_dir("model.gguf"))); /* no room for the path */
	ck_assert(!lmi_tower_beside(out, sizeof(out), in_dir("mmproj-F16.gguf"))); /* a tower has none */
	ck_assert(!lmi_tower_beside(out, sizeof(out), "model.gguf"));		   /* no folder */
	put("MMPROJ-Q8_0.gguf"); /* which of the two? */
	ck_assert(!lmi_tower_beside(out, sizeof(out), in_dir("model.gguf")));
	put("model.gguf.mmproj"); /* its own one comes first */
	ck_assert(lmi_tower_beside(out, sizeof(out), in_dir("model.gguf")));
	ck_assert_str_eq(out, in_dir("model.gguf.mmproj"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tower-file");
	TCase *tc = tcase_create("names");

	tcase_add_checked_fixture(tc, make_dir, remove_dir);
	tcase_add_test(tc, names);
	tcase_add_test(tc, beside);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}

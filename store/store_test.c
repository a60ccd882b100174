/* SPDX-License-Identifier: MIT
 *
 * The contents of the store: names, models, aliases, keys, usage. */
#include "store/test_store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void reopen(void)
{
	close_store();
	open_store();
	ck_assert(!report.fresh && !report.unclean && !report.moved_aside);
}

static void open_fixture(void)
{
	make_dir();
	open_store();
}

START_TEST(names)
{
	char longest[LMI_STORE_NAME_MAX + 2];
	static const char *const good[] = {"a", "qwen3:4b", "org/model-1.5_Q4.gguf", "-", ".", ":"};
	static const struct {
		const char *name, *why;
	} bad[] = {
		{"", "empty"},          {"/a", "begins with '/'"}, {"a..b", "contains '..'"},
		{"..", "contains '..'"},   {"a b", "byte 1"},         {"a\n", "\\x0a"},
		{"caf\xC3\xA9", "byte 3"}, {"a%s", "byte 1"},         {"a\\b", "byte 1"},
		{NULL, "missing"},
	};

	for (size_t i = 0; i < LMD_LEN(good); i++)
		OK(lmi_store_name_check(good[i], &err));
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		REFUSED(lmi_store_name_check(bad[i].name, &err), LMD_INVALID, bad[i].why);
		REFUSED(add(bad[i].name, 1), LMD_INVALID, bad[i].why);
	}
	memset(longest, 'x', sizeof(longest));
	longest[LMI_STORE_NAME_MAX + 1] = 0;
	REFUSED(lmi_store_name_check(longest, &err), LMD_INVALID, "the maximum of 128 bytes");
	longest[LMI_STORE_NAME_MAX] = 0;
	OK(add(longest, 7));
	ck_assert_int_eq(added(longest), 7);
	for (int c = 1; c < 256; c++) {
		char one[2] = {(char)c, 0};
		bool want = (c >= '0' && c <= ':') || (c >= 'A' && c <= 'Z') ||
			    (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == '-';

		ck_assert_int_eq(lmi_store_name_check(one, NULL) == LMD_OK, want);
	}
}
END_TEST

/* Everything that is stored can be read, also after a restart. */
START_TEST(model_round_trip)
{
	struct lmi_store_file f[3] = {some_file(1), some_file(2), some_file(3)};
	struct lmi_store_model m = {.name = "big",
				    .format = "gguf",
				    .arch = "qwen3",
				    .facts = "{\"license\":\"MIT \\u00e9 \xC3\xA9\"}",
				    .added_at = NOW + 1,
				    .n_files = 3,
				    .files = f};
	struct lmi_store_measured speed = {.memory_bytes = 1ull << 40,
					   .load_ns = 5,
					   .prefill_tps = 123.25,
					   .decode_tps = 0.1,
					   .at_ns = 77};
	struct lmi_store_models got = {0};

	f[1].path = "/models/b \xFF.gguf"; /* a path can be any bytes */
	f[2].ino = 1ull << 63;
	OK(lmi_store_model_add(store, &m, &err));
	OK(lmi_store_model_measured(store, "big", &speed, &err));
	reopen();
	OK(lmi_store_model_find(store, "big", &got, &err));
	ck_assert_uint_eq(got.n, 1);
	ck_assert_str_eq(got.v->name, "big");
	ck_assert_str_eq(got.v->format, "gguf");
	ck_assert_str_eq(got.v->arch, "qwen3");
	ck_assert_str_eq(got.v->facts, m.facts);
	ck_assert_uint_eq(got.v->size, 3006);
	ck_assert(got.v->added_at == NOW + 1 && !got.v->imported);
	ck_assert_mem_eq(&got.v->measured, &speed, sizeof(speed));
	ck_assert_uint_eq(got.v->n_files, 3);
	for (int i = 0; i < 3; i++) {
		ck_assert_str_eq(got.v->files[i].path, f[i].path);
		ck_assert_str_eq(got.v->files[i].digest, f[i].digest);
		ck_assert_uint_eq(got.v->files[i].size, f[i].size);
		ck_assert_uint_eq(got.v->files[i].dev, f[i].dev);
		ck_assert_uint_eq(got.v->files[i].ino, f[i].ino);
		ck_assert(got.v->files[i].mtime_ns == -5 && got.v->files[i].ctime_ns == INT64_MAX);
	}
	/* SHA-256 of the three digests, one per line */
	ck_assert_str_eq(got.v->digest,
			 "9d80c0ad59e741c6395ccfc9ef3c32a020e77a7479d8bb923c219196e81a596b");
	lmi_store_models_fini(&got);
	lmi_store_models_fini(&got);
}
END_TEST

START_TEST(model_bounds)
{
	static struct lmi_store_file f[LMI_STORE_FILES_MAX + 1];
	struct lmi_store_model m = {
		.name = "m", .format = "", .arch = "", .n_files = 1, .files = f};
	static char text[LMI_STORE_VALUE_MAX + 2];

	for (unsigned i = 0; i < LMD_LEN(f); i++)
		f[i] = some_file(i);
	m.n_files = 0;
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "0 files");
	m.n_files = LMI_STORE_FILES_MAX + 1;
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "1025 files");
	m.n_files = LMI_STORE_FILES_MAX;
	OK(lmi_store_model_add(store, &m, &err));
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "already the name of a model");
	m.name = "n";
	m.n_files = 2;
	f[0].size = f[1].size = INT64_MAX;
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "too large");
	f[0].size = UINT64_MAX;
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "too large");
	f[0].size = f[1].size = 0;
	f[0].path = "relative";
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "path: is not absolute");
	f[0].path = NULL;
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "path: missing");
	f[0].path = "/x";
	f[1].digest[63] = 'G';
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "digest of file 1");
	f[1].digest[63] = 0;
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "digest of file 1");
	f[1].digest[63] = 'a';
	memset(text, 'x', sizeof(text) - 1);
	m.facts = text;
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID,
		"facts: longer than the maximum of 1048576");
	m.facts = "{\"a\":}";
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "facts: JSON, byte 5");
	m.facts = "[]";
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "facts: not a JSON object");
	text[LMI_STORE_WORD_MAX + 1] = 0;
	m.facts = NULL;
	m.arch = text;
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID,
		"arch: longer than the maximum of 64");
	m.arch = NULL;
	REFUSED(lmi_store_model_add(store, &m, &err), LMD_INVALID, "arch: missing");
	m.arch = "";
	OK(lmi_store_model_add(store, &m, &err));
	REFUSED(lmi_store_model_measured(store, "n",
					 &(struct lmi_store_measured){.decode_tps = NAN}, &err),
		LMD_INVALID, "nan");
	REFUSED(lmi_store_model_measured(
			store, "n", &(struct lmi_store_measured){.memory_bytes = UINT64_MAX}, &err),
		LMD_INVALID, "2^63");
}
END_TEST

START_TEST(model_names)
{
	struct lmi_store_models list;

	REFUSED(lmi_store_model_remove(store, "a", &err), LMD_NOTFOUND, "'a' does not exist");
	OK(lmi_store_model_list(store, &list, &err));
	ck_assert_uint_eq(list.n, 0);
	lmi_store_models_fini(&list);
	OK(add("b", 1));
	OK(add("a", 2));
	OK(add("c", 3));
	OK(lmi_store_alias_set(store, "x", "b", &err));
	OK(lmi_store_model_list(store, &list, &err));
	ck_assert_uint_eq(list.n, 3);
	ck_assert_str_eq(list.v[0].name, "a");
	ck_assert_str_eq(list.v[2].name, "c");
	ck_assert_uint_eq(list.v[1].files[0].ino, 1);
	lmi_store_models_fini(&list);
	REFUSED(lmi_store_model_remove(store, "x", &err), LMD_INVALID, "'x' is an alias");
	REFUSED(add("x", 9), LMD_INVALID, "name of an alias");
	ck_assert_int_eq(added("x"), 1);
	OK(lmi_store_model_remove(store, "b", &err));
	ck_assert_int_eq(added("x"), -1); /* the alias was removed with its model */
	OK(add("x", 10));
	ck_assert_int_eq(added("x"), 10);
}
END_TEST

START_TEST(aliases)
{
	struct lmi_store_aliases list;

	OK(lmi_store_alias_list(store, &list, &err));
	ck_assert_uint_eq(list.n, 0);
	lmi_store_aliases_fini(&list);
	OK(add("one", 1));
	OK(add("two", 2));
	REFUSED(lmi_store_alias_set(store, "a", "none", &err), LMD_NOTFOUND, "'none'");
	REFUSED(lmi_store_alias_set(store, "one", "two", &err), LMD_INVALID,
		"'one' is already the name");
	REFUSED(lmi_store_alias_set(store, "../x", "two", &err), LMD_INVALID, "'..'");
	REFUSED(lmi_store_alias_remove(store, "a", &err), LMD_NOTFOUND, "alias 'a'");
	OK(lmi_store_alias_set(store, "b", "one", &err));
	/* an alias of an alias refers to its model */
	OK(lmi_store_alias_set(store, "a", "b", &err));
	OK(lmi_store_alias_set(store, "b", "two", &err));
	reopen();
	OK(lmi_store_alias_list(store, &list, &err));
	ck_assert_uint_eq(list.n, 2);
	ck_assert_str_eq(list.v[0].alias, "a");
	ck_assert_str_eq(list.v[0].name, "one");
	ck_assert_str_eq(list.v[1].alias, "b");
	ck_assert_str_eq(list.v[1].name, "two");
	lmi_store_aliases_fini(&list);
	OK(lmi_store_alias_remove(store, "a", &err));
	ck_assert_int_eq(added("a"), -1);
	ck_assert_int_eq(added("b"), 2);
	/* updates by alias */
	OK(lmi_store_model_measured(store, "b", &(struct lmi_store_measured){.load_ns = 1}, &err));
}
END_TEST

/* The new model gets the aliases of the old one; if there is none, it is added. */
START_TEST(replacing)
{
	struct lmi_store_models all;

	OK(put_model("one", 1, true));
	OK(lmi_store_alias_set(store, "a", "one", &err));
	OK(lmi_store_alias_set(store, "b", "one", &err));
	OK(put_model("one", 2, true));
	reopen();
	ck_assert_int_eq(added("one"), 2);
	ck_assert_int_eq(added("a"), 2);
	ck_assert_int_eq(added("b"), 2);
	OK(lmi_store_model_list(store, &all, &err));
	ck_assert_uint_eq(all.n, 1);
	lmi_store_models_fini(&all);
	REFUSED(put_model("a", 3, true), LMD_INVALID, "'a'");
	REFUSED(put_model("../x", 3, true), LMD_INVALID, "'..'");
	ck_assert_int_eq(added("one"), 2);
	OK(put_model("one", 2, true)); /* again */
	ck_assert_int_eq(added("b"), 2);
}
END_TEST

START_TEST(keys)
{
	struct lmi_store_key k = {
		.label = "laptop", .role = LMI_STORE_ADMIN, .created_at = 5, .expires_at = 9};
	struct lmi_store_keys got;

	snprintf(k.hash, sizeof(k.hash), "%064x", 0xabc);
	OK(lmi_store_key_add(store, &k, &err));
	OK(lmi_store_key_add(store, &k, &err)); /* the same key again */
	k.expires_at = 8;
	REFUSED(lmi_store_key_add(store, &k, &err), LMD_INVALID, "already exists");
	k.expires_at = 9;
	k.hash[0] = 'X';
	REFUSED(lmi_store_key_add(store, &k, &err), LMD_INVALID,
		"64 lower-case hexadecimal digits");
	k.hash[0] = '1';
	REFUSED(lmi_store_key_add(store, &k, &err), LMD_INVALID, "label 'laptop': already used");
	k.created_at = 4;
	k.role = LMI_STORE_USER;
	k.label = "";
	OK(lmi_store_key_add(store, &k, &err));
	k.hash[0] = '2';
	k.role = (enum lmi_store_role)2;
	REFUSED(lmi_store_key_add(store, &k, &err), LMD_INVALID, "role of a key: 2");
	reopen();
	OK(lmi_store_key_list(store, &got, &err));
	ck_assert_uint_eq(got.n, 2);
	ck_assert_int_eq(got.v[0].hash[0], '1');
	ck_assert_str_eq(got.v[1].label, "laptop");
	ck_assert(got.v[1].role == LMI_STORE_ADMIN && got.v[1].expires_at == 9);
	lmi_store_keys_fini(&got);
	REFUSED(lmi_store_key_find(store, k.hash, &got, &err), LMD_NOTFOUND, "does not exist");
	REFUSED(lmi_store_key_find(store, "", &got, &err), LMD_INVALID,
		"64 lower-case hexadecimal digits");
	REFUSED(lmi_store_key_remove(store, "lap", &err), LMD_NOTFOUND, "key 'lap'");
	k.hash[0] = '1';
	OK(lmi_store_key_find(store, k.hash, &got, &err));
	ck_assert(got.n == 1 && got.v[0].created_at == 4);
	lmi_store_keys_fini(&got);
	OK(lmi_store_key_remove(store, "laptop", &err));
	OK(lmi_store_key_list(store, &got, &err));
	ck_assert_uint_eq(got.n, 1);
	lmi_store_keys_fini(&got);
}
END_TEST

START_TEST(usage)
{
	struct lmi_store_usage u[] = {
		{.principal = "uid:0", .model = "m", .day = 20000, .n_out = 5},
		{.principal = "uid:0", .model = "m", .day = 20001, .n_prompt = 7},
		{.principal = "k", .model = "m", .day = 20000, .n_prompt = 1},
	};
	uint64_t n = 0;

	OK(lmi_store_usage_add(store, u, 3, &err));
	OK(lmi_store_usage_add(store, u, 1, &err));
	reopen();
	OK(lmi_store_usage_sum(store, "uid:0", NULL, 20000, 20000, &n, &err));
	ck_assert_uint_eq(n, 10);
	OK(lmi_store_usage_sum(store, "uid:0", NULL, INT32_MIN, INT32_MAX, &n, &err));
	ck_assert_uint_eq(n, 17);
	OK(lmi_store_usage_sum(store, "nobody", NULL, INT32_MIN, INT32_MAX, &n, &err));
	ck_assert_uint_eq(n, 0);
	u[2].principal = "";
	REFUSED(lmi_store_usage_add(store, u, 3, &err), LMD_INVALID, "principal: empty");
	OK(lmi_store_usage_sum(store, "uid:0", NULL, 20000, 20001, &n, &err));
	ck_assert_uint_eq(n, 17); /* all or none */
	u[0].n_out = UINT64_MAX;
	OK(lmi_store_usage_add(store, u, 2, &err));
	OK(lmi_store_usage_sum(store, "uid:0", NULL, 20000, 20001, &n, &err));
	ck_assert_uint_eq(n, INT64_MAX);
	OK(lmi_store_usage_forget(store, 20001, &err));
	OK(lmi_store_usage_sum(store, "uid:0", NULL, 0, 20001, &n, &err));
	ck_assert_uint_eq(n, 14);
}
END_TEST

static uint32_t n_usage(const struct lmi_store_usage_filter *f, struct lmi_store_usages *out)
{
	OK(lmi_store_usage_list(store, f, out, &err));
	return out->n;
}

START_TEST(usage_by_model)
{
	const struct lmi_store_usage u[] = {
		{"key:a", "m", 20000, 1, 10, 4, 5, 6, 7, 8, "first"},
		{"key:a", "n", 20000, 1, 20, 0, 2, 0, 0, 0, "first"},
		{"key:b", "m", 20001, 3, 30, 0, 9, 0, 0, 0, NULL},
		{"key:a", "m", 20000, 1, 10, 4, 5, 6, 7, 8, "second"},
	};
	struct lmi_store_usages got;
	uint64_t n;

	OK(lmi_store_usage_add(store, u, 4, &err));
	reopen();
	OK(lmi_store_usage_sum(store, "key:a", "first", 0, 20001, &n, &err));
	ck_assert_uint_eq(n, 37);
	OK(lmi_store_usage_sum(store, "key:a", NULL, 0, 20001, &n, &err));
	ck_assert_uint_eq(n, 52);
	/* a list adds up the keys of a principal */
	ck_assert_uint_eq(n_usage(&(struct lmi_store_usage_filter){.max = 3}, &got), 3);
	ck_assert(!got.more && got.v[0].day == 20001 && !strcmp(got.v[0].principal, "key:b"));
	ck_assert_str_eq(got.v[1].model, "m");
	ck_assert_uint_eq(got.v[1].n_request, 2);
	ck_assert_uint_eq(got.v[1].n_prompt, 20);
	ck_assert_uint_eq(got.v[1].n_cached, 8);
	ck_assert_uint_eq(got.v[1].n_out, 10);
	ck_assert_uint_eq(got.v[1].queue_ns, 12);
	ck_assert_uint_eq(got.v[1].run_ns, 14);
	ck_assert_uint_eq(got.v[1].work_ns, 16);
	lmi_store_usages_fini(&got);
	ck_assert_uint_eq(n_usage(&(struct lmi_store_usage_filter){.max = 2}, &got), 2);
	ck_assert(got.more);
	lmi_store_usages_fini(&got);
	ck_assert_uint_eq(
		n_usage(&(struct lmi_store_usage_filter){.principal = "key:a", .max = 9}, &got), 2);
	lmi_store_usages_fini(&got);
	ck_assert_uint_eq(n_usage(&(struct lmi_store_usage_filter){.key = "second", .max = 9}, &got),
			  1);
	ck_assert_uint_eq(got.v[0].n_request, 1);
	lmi_store_usages_fini(&got);
	ck_assert_uint_eq(n_usage(&(struct lmi_store_usage_filter){.model = "n", .max = 9}, &got),
			  1);
	lmi_store_usages_fini(&got);
	ck_assert_uint_eq(n_usage(&(struct lmi_store_usage_filter){.first = 20001, .max = 9}, &got),
			  1);
	lmi_store_usages_fini(&got);
}
END_TEST

START_TEST(quotas)
{
	struct lmi_store_key k = {.label = "a", .created_at = 4, .quota = {1, 2, 3, "m,n"}};
	struct lmi_store_quota q = {.rpm = LMI_STORE_QUOTA_MAX};
	struct lmi_store_keys got;

	memset(k.hash, '1', sizeof(k.hash) - 1);
	OK(lmi_store_key_add(store, &k, &err));
	reopen();
	OK(lmi_store_key_list(store, &got, &err));
	ck_assert(got.v[0].quota.rpm == 1 && got.v[0].quota.tpm == 2 && got.v[0].quota.tpd == 3);
	ck_assert_str_eq(got.v[0].quota.models, "m,n");
	lmi_store_keys_fini(&got);
	OK(lmi_store_key_set_quota(store, "a", &q, &err));
	q.rpm++;
	REFUSED(lmi_store_key_set_quota(store, "a", &q, &err), LMD_INVALID,
		"quota rpm: 1000000000001, the maximum is 1000000000000");
	REFUSED(lmi_store_key_set_quota(store, "b", &(struct lmi_store_quota){0}, &err), LMD_NOTFOUND,
		"key 'b': does not exist");
	OK(lmi_store_key_find(store, k.hash, &got, &err));
	ck_assert(got.v[0].quota.rpm == LMI_STORE_QUOTA_MAX && !got.v[0].quota.tpm);
	ck_assert_str_eq(got.v[0].quota.models, "");
	lmi_store_keys_fini(&got);
}
END_TEST

/* A file is recognised by its identity; a change of any of the numbers is detected. */
START_TEST(changed)
{
	struct lmi_store_file f;
	struct lmi_store_model m = {
		.name = "m", .format = "gguf", .arch = "", .n_files = 1, .files = &f};
	struct lmi_store_models got;
	char path[256], other[256];

	snprintf(path, sizeof(path), "%s", put_file("f", "content"));
	OK(lmi_store_digest_file(&f, path, NULL, &err));
	ck_assert_str_eq(f.digest,
			 "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73");
	OK(lmi_store_model_add(store, &m, &err));
	OK(lmi_store_model_find(store, "m", &got, &err));
	OK(lmi_store_model_changed(got.v, &err));
	for (int i = 0; i < 5; i++) {
		struct lmi_store_file g = f;
		struct lmi_store_model n = *got.v;

		n.files = &g;
		*(i == 0 ? &g.size : i == 1 ? &g.dev : &g.ino) += i < 3;
		*(i == 3 ? &g.mtime_ns : &g.ctime_ns) += i > 2;
		REFUSED(lmi_store_model_changed(&n, &err), LMD_CORRUPT, path);
	}
	snprintf(other, sizeof(other), "%s", put_file("g", "content"));
	ck_assert_int_eq(rename(other, path), 0);
	REFUSED(lmi_store_model_changed(got.v, &err), LMD_CORRUPT,
		"is not the file that was added");
	ck_assert_int_eq(unlink(path), 0);
	REFUSED(lmi_store_model_changed(got.v, &err), LMD_NOTFOUND, path);
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	REFUSED(lmi_store_model_changed(got.v, &err), LMD_CORRUPT, "a symbolic link");
	lmi_store_models_fini(&got);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("store");
	TCase *tc = tcase_create("store");

	tcase_add_checked_fixture(tc, open_fixture, remove_dir);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, names);
	tcase_add_test(tc, model_round_trip);
	tcase_add_test(tc, model_bounds);
	tcase_add_test(tc, model_names);
	tcase_add_test(tc, aliases);
	tcase_add_test(tc, replacing);
	tcase_add_test(tc, keys);
	tcase_add_test(tc, usage);
	tcase_add_test(tc, usage_by_model);
	tcase_add_test(tc, quotas);
	tcase_add_test(tc, changed);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * Formats of plugins: what the host checks of a description, and how it rejects a bad one. */
#include <math.h>
#include <string.h>

#include "core/checkpoint/open_fixture.h"

/* Changes to a record that is otherwise good. */
static struct lmd_meta bad_meta;
static struct lmd_tensor bad_tensor;
static bool with_meta, pass_on;

static void describe_bad(const struct lmd_model_builder *b, struct lmd_error *err)
{
	enum lmd_status st;

	(void)err;
	good_keys(b);
	st = with_meta ? b->add_meta(b->ctx, &bad_meta) : b->add_tensor(b->ctx, &bad_tensor);
	if (st == LMD_OK)
		return; /* wrong only as a whole */
	ck_assert_int_eq(b->status(b->ctx), st);
	/* the first error stays */
	ck_assert_int_eq(lmd_add_i64(b, "more", 1), st);
	ck_assert_int_eq(b->add_tensor(b->ctx, NULL), st);
	told.result = pass_on ? st : LMD_OK;
}

/* Opening fails with this status and these words, whether the format returns the builder's error or
 * ignores it. */
static void check_bad(int line, enum lmd_status want, const char *words)
{
	struct lmi_alloc_stats before, after;
	struct lmd_error err;
	struct lmi_model *m;

	told.describe = describe_bad;
	for (int i = 0; i < 2; i++) {
		enum lmd_status st;

		pass_on = i;
		told.result = LMD_OK;
		lmi_alloc_stats(&before);
		st = open_path(&m, temp_path("model.told"), 0, &err);
		lmi_alloc_stats(&after);
		ck_assert_msg(st == want && err.status == want && strstr(err.text, words) &&
				      strstr(err.text, "format told"),
			      "line %d: %s: %s", line, lmd_status_text((int)st), err.text);
		ck_assert_uint_eq(after.n_live, before.n_live);
		ck_assert_int_eq(told.n_open, told.n_close);
	}
}

#define META(status, words, ...)                                                                   \
	do {                                                                                       \
		with_meta = true;                                                                  \
		bad_meta = (struct lmd_meta){__VA_ARGS__};                                         \
		check_bad(__LINE__, status, words);                                                \
	} while (0)

START_TEST(bad_keys)
{
	static char long_key[70000];
	struct lmd_str strings[] = {{"x", 1}, {NULL, 2}};
	uint8_t bools[] = {0, 1, 2};
	int64_t one = 1;

	memset(long_key, 'k', sizeof(long_key) - 1);
	META(LMD_INVALID, "key 9: its name is NULL", .type = LMD_META_I64, .n = 1);
	META(LMD_INVALID, "key 9: name of 0 bytes", .key = "", .type = LMD_META_I64, .n = 1);
	META(LMD_INVALID, "must be 1..65535", .key = long_key, .type = LMD_META_I64, .n = 1);
	META(LMD_INVALID, "key k: value type 0 is unknown", .key = "k", .n = 1);
	META(LMD_INVALID, "key k: value type 19 is unknown", .key = "k", .type = 19, .n = 1);
	META(LMD_INVALID, "key k: 0 elements, but it is no array", .key = "k",
	     .type = LMD_META_F64);
	META(LMD_CORRUPT, "key k: boolean 2", .key = "k", .type = LMD_META_BOOL, .n = 1, .v.i = 2);
	META(LMD_INVALID, "key k: string of 3 bytes, but it is NULL", .key = "k",
	     .type = LMD_META_STR, .n = 1, .v.s = {NULL, 3});
	META(LMD_INVALID, "must be at most 16777216", .key = "k", .type = LMD_META_STR, .n = 1,
	     .v.s = {"x", SIZE_MAX});
	META(LMD_INVALID, "key k: array of 2 elements, but it is NULL", .key = "k",
	     .type = LMD_META_ARR_I64, .n = 2);
	META(LMD_INVALID, "key k: array of 18446744073709551615 elements of 8 bytes", .key = "k",
	     .type = LMD_META_ARR_F64, .n = UINT64_MAX, .v.a = &one);
	META(LMD_INVALID, "elements of 16 bytes", .key = "k", .type = LMD_META_ARR_STR,
	     .n = UINT64_MAX / 8, .v.a = strings);
	META(LMD_INVALID, "key k: string of 2 bytes, but it is NULL", .key = "k",
	     .type = LMD_META_ARR_STR, .n = 2, .v.a = strings);
	META(LMD_CORRUPT, "key k: boolean 2", .key = "k", .type = LMD_META_ARR_BOOL, .n = 3,
	     .v.a = bools);
	/* right one by one, but not together */
	META(LMD_CORRUPT, "key general.name appears twice", .key = "general.name",
	     .type = LMD_META_I64, .n = 1);
	META(LMD_INVALID, "tokenizer.ggml.eos_token_id: 9, must be 0..2",
	     .key = "tokenizer.ggml.eos_token_id", .type = LMD_META_I64, .n = 1, .v.i = 9);
	META(LMD_INVALID, "tiny.embedding_length", .key = "tiny.embedding_length",
	     .type = LMD_META_U64, .n = 1, .v.u = UINT64_MAX);
}
END_TEST

#define TENSOR(status, words, ...)                                                                 \
	do {                                                                                       \
		with_meta = false;                                                                 \
		bad_tensor = tensor_at("t", 0, 0);                                                 \
		__VA_ARGS__;                                                                       \
		check_bad(__LINE__, status, words);                                                \
	} while (0)
#define T bad_tensor

START_TEST(bad_tensors)
{
	TENSOR(LMD_INVALID, "tensor 0: its name is NULL", T.name = NULL);
	TENSOR(LMD_INVALID, "tensor 0: name of 0 bytes", T.name = "");
	TENSOR(LMD_INVALID, "must be 1..63",
	       T.name = "1234567890123456789012345678901234567890123456789012345678901234");
	TENSOR(LMD_INVALID, "tensor t: 0 dimensions, must be 1..4", T.n_dim = 0);
	TENSOR(LMD_INVALID, "tensor t: 5 dimensions, must be 1..4", T.n_dim = 5);
	TENSOR(LMD_INVALID, "dimension 1 is 0, must be 1..1099511627776", T.dims[1] = 0);
	TENSOR(LMD_INVALID, "dimension 0 is -4", T.dims[0] = -4);
	TENSOR(LMD_INVALID, "dimension 0 is 1099511627777", T.dims[0] = (1ll << 40) + 1);
	TENSOR(LMD_INVALID, "dimension 2 is 7, must be 1..1", T.dims[2] = 7);
	TENSOR(LMD_CORRUPT, "exceeds 2^63 bytes", T.dims[0] = T.dims[1] = 1ll << 40);
	TENSOR(LMD_CORRUPT, "exceeds 2^63 bytes", T.n_dim = 4,
	       T.dims[0] = T.dims[1] = T.dims[2] = T.dims[3] = 1ll << 40);
	TENSOR(LMD_UNSUPPORTED, "tensor t: type 4", T.dtype = 4);
	TENSOR(LMD_UNSUPPORTED, "tensor t: type 9999", T.dtype = 9999);
	TENSOR(LMD_UNSUPPORTED, "(q8_k) is for activations or KV caches", T.dtype = LMD_DTYPE_Q8_K);
	TENSOR(LMD_CORRUPT, "rows of 4 values, must be a multiple of the q8_0 block of 32",
	       T.dtype = LMD_DTYPE_Q8_0);
	TENSOR(LMD_INVALID, "size 97, but type and dimensions give 96", T.bytes = 97);
	TENSOR(LMD_INVALID, "tensor t: data must be NULL", T.data = &bad_tensor);
	TENSOR(LMD_INVALID, "tensor t: reserved must be 0", T.reserved = 1);
	TENSOR(LMD_INVALID, "tensor t: file 1, but there are 1", T.file = 1);
	TENSOR(LMD_INVALID, "offset 6 is not a multiple of 4", T.offset = 6);
	TENSOR(LMD_CORRUPT, "96 bytes at byte 4004, but the file ends at 4096", T.offset = 4004);
	TENSOR(LMD_CORRUPT, "but the file ends at 4096", T.offset = UINT64_MAX - 3);
	TENSOR(LMD_CORRUPT, "but the file ends at 4096", T.dims[1] = 1ll << 40);
	TENSOR(LMD_INVALID, "offset 4, must be 0 without a file", T.file = LMD_FORMAT_NO_FILE,
	       T.offset = 4);
}
END_TEST

static void describe_overlap(const struct lmd_model_builder *b, struct lmd_error *err)
{
	struct lmd_tensor t = tensor_at("one", 0, 96);

	(void)err;
	good_keys(b);
	b->add_tensor(b->ctx, &t);
	t = tensor_at("two", 0, 4);
	b->add_tensor(b->ctx, &t);
}

static void describe_twice(const struct lmd_model_builder *b, struct lmd_error *err)
{
	struct lmd_tensor t = tensor_at("one", 0, 96);

	(void)err;
	good_keys(b);
	b->add_tensor(b->ctx, &t);
	t.offset = 400;
	b->add_tensor(b->ctx, &t);
}

static void describe_nothing(const struct lmd_model_builder *b, struct lmd_error *err)
{
	(void)b;
	(void)err;
}

static void describe_null(const struct lmd_model_builder *b, struct lmd_error *err)
{
	(void)err;
	ck_assert_int_eq(b->add_meta(b->ctx, NULL), LMD_INVALID);
}

START_TEST(bad_wholes)
{
	static const struct {
		void (*describe)(const struct lmd_model_builder *b, struct lmd_error *err);
		enum lmd_status status;
		const char *words;
	} cases[] = {
		{describe_overlap, LMD_CORRUPT,
		 "tensor one at byte 96 overlaps tensor two, which ends at 100"},
		{describe_twice, LMD_CORRUPT, "tensor one appears twice"},
		{describe_nothing, LMD_CORRUPT, "key general.architecture is missing"},
		{describe_null, LMD_INVALID, "key 0: it is NULL"},
	};
	struct lmd_error err;
	struct lmi_model *m;

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		told.describe = cases[i].describe;
		ck_assert_int_eq(open_path(&m, temp_path("model.told"), 0, &err), cases[i].status);
		ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "%s", err.text);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("descriptions");
	TCase *t = tcase_create("descriptions");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, bad_keys);
	tcase_add_test(t, bad_tensors);
	tcase_add_test(t, bad_wholes);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

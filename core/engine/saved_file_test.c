/* SPDX-License-Identifier: MIT
 *
 * The file of saved rows: what was written is read; a file that was changed, cut or made for another
 * model is refused with the reason, wherever it was changed. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/engine/saved_file.h"
#include "core/quant/quant.h"
#include "tests/lmd_check.h"

static char path[256], other[280];
static uint64_t rnd;

static void setup(void)
{
	rnd = lmd_seed("saved file", 5);
	snprintf(path, sizeof(path), "%s/core/engine/saved_file.%d", lmd_build_dir(),
		 (int)getpid());
	snprintf(other, sizeof(other), "%s.changed", path);
}

static void teardown(void)
{
	(void)remove(path);
	(void)remove(other);
}

static struct lmi_engine_saved_head a_head(void)
{
	return (struct lmi_engine_saved_head){.model = {1, 2, 3},
					      .adapter = {4},
					      .layout = {.page_tokens = 32,
							 .k_dtype = LMD_DTYPE_F16,
							 .v_dtype = LMD_DTYPE_Q8_0,
							 .digest = {5}},
					      .model_name = "smollm2"};
}

static struct lmi_engine_saved *random_rows(uint32_t n_token, uint64_t n_bytes)
{
	struct lmi_engine_saved *s = lmi_engine_saved_create(n_token, n_bytes);

	ck_assert_ptr_nonnull(s);
	for (uint32_t i = 0; i < n_token; i++)
		s->tokens[i] = (lmd_token)(lmd_rand(&rnd) % 50000);
	for (uint64_t i = 0; i < n_bytes; i++)
		s->bytes[i] = (uint8_t)lmd_rand(&rnd);
	return s;
}

static uint64_t write_file(const struct lmi_engine_saved *s)
{
	const struct lmi_engine_saved_head h = a_head();
	struct lmd_error err;
	uint64_t bytes;

	ck_assert_msg(lmi_engine_saved_write(path, &h, s, &bytes, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(bytes, lmi_engine_saved_file_bytes(s->n_token, s->n_bytes));
	return bytes;
}

static void write_bytes(const char *to, const char *bytes, size_t n)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert(lmi_file_write_all(fd, bytes, n));
	ck_assert_int_eq(close(fd), 0);
}

START_TEST(what_was_written_is_read)
{
	static const uint64_t sizes[] = {0, 1, 1000, (1u << 20) - 1, 1u << 20, (1u << 20) + 1,
					 (3u << 20) + 17};
	const struct lmi_engine_saved_head want = a_head();

	for (size_t i = 0; i < LMD_LEN(sizes); i++) {
		struct lmi_engine_saved *s = random_rows(1 + (uint32_t)i * 7, sizes[i]), *t;
		uint64_t bytes = write_file(s);
		struct lmi_engine_saved_head h;
		lmd_token *v = NULL;
		struct lmd_error err;

		ck_assert_msg(lmi_engine_saved_read(path, &want, sizes[i], &t, &err) == LMD_OK,
			      "%s", err.text);
		ck_assert_uint_eq(t->n_token, s->n_token);
		ck_assert(!memcmp(t->tokens, s->tokens, s->n_token * sizeof(*s->tokens)));
		ck_assert_uint_eq(t->n_bytes, s->n_bytes);
		ck_assert(!memcmp(t->bytes, s->bytes, s->n_bytes));
		ck_assert_int_eq(lmi_engine_saved_read_head(path, &h, &v, &err), LMD_OK);
		ck_assert_uint_eq(h.file_bytes, bytes);
		ck_assert_str_eq(h.model_name, "smollm2");
		ck_assert(!memcmp(v, s->tokens, s->n_token * sizeof(*v)));
		lmi_free(v);
		lmi_engine_saved_destroy(t);
		if (sizes[i]) {
			ck_assert_int_eq(lmi_engine_saved_read(path, &want, sizes[i] - 1, &t, &err),
					 LMD_INVALID);
			ck_assert_ptr_nonnull(strstr(err.text, "the limit is"));
		}
		lmi_engine_saved_destroy(s);
	}
}
END_TEST

static void expect_refused(const char *what, uint64_t at)
{
	const struct lmi_engine_saved_head want = a_head();
	struct lmi_engine_saved *t = NULL;
	struct lmd_error err = {0};
	enum lmd_status st = lmi_engine_saved_read(other, &want, 1u << 30, &t, &err);

	ck_assert_msg(st == LMD_CORRUPT || st == LMD_UNSUPPORTED, "%s at %d: status %d", what,
		      (int)at, st);
	ck_assert_uint_gt(strlen(err.text), 10);
}

/* Each byte of the head, the tokens and the digests, and every 31st of the rows; and every bit of
 * some. */
START_TEST(a_changed_byte)
{
	struct lmi_engine_saved *s = random_rows(20, 5000);
	uint64_t bytes = write_file(s);
	struct lmd_error err;
	size_t n;
	char *b;

	ck_assert_int_eq(lmi_file_read_all(path, bytes, &b, &n, &err), LMD_OK);
	ck_assert_uint_eq(n, bytes);
	for (size_t i = 0; i < n; i += i < n - 5000 ? 1 : 31) {
		char flip = (char)(1 << lmd_rand(&rnd) % 8);

		b[i] ^= flip;
		write_bytes(other, b, n);
		expect_refused("a changed byte", i);
		b[i] ^= flip;
	}
	lmi_free(b);
	lmi_engine_saved_destroy(s);
}
END_TEST

START_TEST(a_cut_or_longer_file)
{
	struct lmi_engine_saved *s = random_rows(20, 5000);
	uint64_t bytes = write_file(s);
	struct lmd_error err;
	size_t n;
	char *b;

	ck_assert_int_eq(lmi_file_read_all(path, bytes, &b, &n, &err), LMD_OK);
	for (size_t i = 0; i < n; i += i < 500 ? 1 : 37) {
		write_bytes(other, b, i);
		expect_refused("a cut", i);
	}
	write_bytes(other, b, n + 1); /* read_all appends a zero */
	expect_refused("a byte more", n);
	lmi_free(b);
	lmi_engine_saved_destroy(s);
}
END_TEST

/* Numbers that ask for more memory than there is. */
START_TEST(a_head_that_lies)
{
	static const struct {
		size_t at;
		uint8_t bytes[8];
		size_t n;
	} lies[] = {
		{24, {0xff, 0xff, 0xff, 0xff}, 4},
		{24, {0}, 4},
		{24, {0, 0, 0, 0x40}, 4},
		{32, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8},
		{32, {0, 0, 0, 0, 0, 0, 0, 0x80}, 8},
		{32, {0}, 8},
	};
	struct lmi_engine_saved *s = random_rows(20, 5000);
	uint64_t bytes = write_file(s);
	struct lmd_error err;
	size_t n;
	char *b;

	for (size_t i = 0; i < LMD_LEN(lies); i++) {
		ck_assert_int_eq(lmi_file_read_all(path, bytes, &b, &n, &err), LMD_OK);
		memcpy(b + lies[i].at, lies[i].bytes, lies[i].n);
		write_bytes(other, b, n);
		expect_refused("a lie", i);
		lmi_free(b);
	}
	lmi_engine_saved_destroy(s);
}
END_TEST

/* The head that llama_state_save_file of llama.cpp writes: LLAMA_SESSION_MAGIC 0x6767736e, a version, tokens. */
START_TEST(a_file_of_llama_cpp)
{
	struct lmi_engine_saved_head h;
	char b[400] = {0x6e, 0x73, 0x67, 0x67, 9};
	struct lmd_error err;

	write_bytes(other, b, sizeof(b));
	ck_assert_int_eq(lmi_engine_saved_read_head(other, &h, NULL, &err), LMD_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "llama.cpp (ggsn, version 9)") != NULL, "%s", err.text);
	memcpy(b, "algg", 4); /* an old adapter of llama.cpp is no state */
	write_bytes(other, b, sizeof(b));
	ck_assert_int_eq(lmi_engine_saved_read_head(other, &h, NULL, &err), LMD_CORRUPT);
}
END_TEST

START_TEST(what_does_not_fit)
{
	static const char *const reasons[] = {"another model (smollm2)", "other adapters",
					      "are f16 and q8_0; the model is loaded with f32",
					      "pages have 32 tokens; the model is loaded with 16",
					      "laid out for other devices"};
	struct lmi_engine_saved *s = random_rows(20, 500), *t;

	(void)write_file(s);
	for (int i = 0; i < 5; i++) {
		struct lmi_engine_saved_head want = a_head();
		struct lmd_error err;

		want.model[9] ^= i == 0;
		want.adapter[31] ^= i == 1;
		if (i == 2)
			want.layout.k_dtype = LMD_DTYPE_F32;
		if (i == 3)
			want.layout.page_tokens = 16;
		want.layout.digest[7] ^= i >= 2;
		ck_assert_int_eq(lmi_engine_saved_read(path, &want, 1u << 20, &t, &err),
				 LMD_INVALID);
		ck_assert_msg(strstr(err.text, reasons[i]) != NULL, "%s", err.text);
	}
	lmi_engine_saved_destroy(s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("saved file");
	TCase *t = tcase_create("saved file");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, what_was_written_is_read);
	tcase_add_test(t, a_changed_byte);
	tcase_add_test(t, a_cut_or_longer_file);
	tcase_add_test(t, a_head_that_lies);
	tcase_add_test(t, a_file_of_llama_cpp);
	tcase_add_test(t, what_does_not_fit);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

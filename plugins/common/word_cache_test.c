/* SPDX-License-Identifier: MIT
 *
 * Word cache: a look-up returns what was stored, and what must not be stored is not. */
#include "common/word_cache.h"

#include "core/base/alloc.h"
#include "core/plugin/host_services.h"
#include "tests/lmd_check.h"

#define SEED 77
#define CAP  1024

static struct lmd_host *host;
static lmd_token out[CAP];
static struct lmi_job job;

static void setup(void)
{
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	job = (struct lmi_job){.host = host, .out = out, .cap = CAP, .text_bytes = LMI_WORD_CALL};
}

static void teardown(void)
{
	lmi_buf_fini(&job.buf[0], host);
	lmi_host_destroy(host);
}

static bool recall(const char *s, size_t n, uint64_t seed)
{
	struct lmi_word w;

	job.n = 0;
	w = lmi_word_find(&job, &job.buf[0], seed, s, n);
	return lmi_word_put(&w, &job);
}

/* Emits n_id tokens starting at `id` after the existing ones, and stores them for the word. */
static void keep(const char *s, size_t n, uint64_t seed, uint32_t id, unsigned n_id)
{
	struct lmi_word w = lmi_word_find(&job, &job.buf[0], seed, s, n);

	for (unsigned i = 0; i < n_id; i++)
		lmi_job_put(&job, id + i);
	lmi_word_keep(&w, &job);
}

static void ck_recalls(const char *s, size_t n, uint64_t seed, uint32_t id, unsigned n_id)
{
	ck_assert(recall(s, n, seed));
	ck_assert_uint_eq(job.n, n_id);
	for (unsigned i = 0; i < n_id; i++)
		ck_assert_int_eq(out[i], (lmd_token)(id + i));
}

START_TEST(comes_back)
{
	ck_assert(!recall("word", 4, SEED));
	ck_assert_uint_eq(job.n, 0);
	job.n = 5;
	keep("word", 4, SEED, 100, 3);
	ck_recalls("word", 4, SEED, 100, 3);
	ck_assert(!recall("wor", 3, SEED));
	ck_assert(!recall("ward", 4, SEED));
	ck_assert(!recall("word", 4, SEED ^ 1));
	job.n = 0;
	keep("word", 4, SEED ^ 1, 200, 2);
	ck_recalls("word", 4, SEED ^ 1, 200, 2);
	job.n = 0;
	keep("gone", 4, SEED, 300, 0);
	ck_recalls("gone", 4, SEED, 300, 0);
}
END_TEST

START_TEST(limits)
{
	static const char text[LMI_WORD_TEXT + 1] = "abcdefghijklmnopqrstuvw";

	keep(text, LMI_WORD_TEXT, SEED, 1, LMI_WORD_IDS);
	ck_recalls(text, LMI_WORD_TEXT, SEED, 1, LMI_WORD_IDS);
	job.n = 0;
	keep(text, LMI_WORD_TEXT + 1, SEED, 1, 1);
	ck_assert(!recall(text, LMI_WORD_TEXT + 1, SEED));
	job.n = 0;
	keep("many", 4, SEED, 1, LMI_WORD_IDS + 1);
	ck_assert(!recall("many", 4, SEED));

	/* the second token was only counted: it did not fit */
	job.n = CAP - 1;
	keep("cut", 3, SEED, 1, 2);
	ck_assert(!recall("cut", 3, SEED));
	job.n = CAP - 2;
	keep("fits", 4, SEED, 8, 2);
	ck_recalls("fits", 4, SEED, 8, 2);

	/* cached tokens are emitted like any others: only counted if there is no room */
	job.cap = 1;
	out[1] = -1;
	ck_assert(recall("fits", 4, SEED));
	ck_assert_uint_eq(job.n, 2);
	ck_assert_int_eq(out[0], 8);
	ck_assert_int_eq(out[1], -1);
}
END_TEST

/* More words than slots: newer words replace older ones, and no word is mistaken for another. */
START_TEST(replaced)
{
	enum { N_WORD = 3000 };
	unsigned n_kept = 0;
	char s[8];

	for (unsigned i = 0; i < N_WORD; i++) {
		job.n = 0;
		keep(s, (size_t)snprintf(s, sizeof(s), "w%u", i), SEED, i, 1 + i % 3);
		ck_recalls(s, strlen(s), SEED, i, 1 + i % 3);
	}
	for (unsigned i = 0; i < N_WORD; i++) {
		size_t n = (size_t)snprintf(s, sizeof(s), "w%u", i);

		if (!recall(s, n, SEED))
			continue;
		ck_recalls(s, n, SEED, i, 1 + i % 3);
		n_kept++;
	}
	ck_assert_uint_gt(n_kept, 128);
	ck_assert_uint_le(n_kept, 256);
}
END_TEST

START_TEST(size_rule)
{
	static const struct {
		size_t text_bytes, slots;
	} t[] = {{0, 0}, {2047, 0}, {2048, 256}, {65535, 256}, {65536, 512}, {131071, 512},
		 {131072, 1024}, {1048575, 4096}, {1048576, 8192}, {2097152, 8192},
		 {SIZE_MAX, 8192}};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		job.text_bytes = t[i].text_bytes;
		job.n = 0;
		keep("word", 4, SEED, 1, 1);
		ck_assert_msg(job.buf[0].bytes == t[i].slots * sizeof(struct lmi_word_slot),
			      "%zu bytes of text: %zu bytes of table", t[i].text_bytes,
			      job.buf[0].bytes);
		ck_assert_int_eq(recall("word", 4, SEED), t[i].slots != 0);
		lmi_buf_fini(&job.buf[0], host);
	}
}
END_TEST

/* Nothing is cached while out of memory; caching starts once memory is available. */
START_TEST(out_of_memory)
{
	lmi_alloc_fail_nth(1, true);
	keep("word", 4, SEED, 1, 2);
	ck_assert_uint_eq(job.n, 2);
	ck_assert(!recall("word", 4, SEED));
	lmi_alloc_fail_nth(0, false);
	ck_assert(!recall("word", 4, SEED));
	keep("word", 4, SEED, 1, 2);
	ck_recalls("word", 4, SEED, 1, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("word_cache");
	TCase *tc = tcase_create("word_cache");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, comes_back);
	tcase_add_test(tc, limits);
	tcase_add_test(tc, replaced);
	tcase_add_test(tc, size_rule);
	tcase_add_test(tc, out_of_memory);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * Journals: what is read is a beginning of what was written, wherever the file was cut and whichever
 * bit was flipped. */
#include "service/journal.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lmd_check.h"

#define N_RECORD 7

static struct lmi_wire_buf file, scratch;
static size_t ends[N_RECORD]; /* offsets after each record */

static const lmd_token prompt[] = {1, 20, 300};
static const double sampling[] = {0.5, 40};

static const struct lmi_svc_journal_record records[N_RECORD] = {
	{.kind = LMI_SVC_JOURNAL_HEAD,
	 .u.head = {.id = {1, 2, 3},
		    .principal = {.uid = 1000, .gid = 100, .role = LMI_SVC_ROLE_USER, .key_label = "me"},
		    .seed = 1234567890123,
		    .key = {"0123", 4},
		    .digest = {"abcd", 4},
		    .request = {"the request", 11}}},
	{.kind = LMI_SVC_JOURNAL_START,
	 .u.start = {.request = {"resolved", 8},
		     .adapter = {"/a:1", 4},
		     .format = {"hermes", 6},
		     .thinks = true,
		     .sampling = sampling,
		     .n_sampling = 2,
		     .tokens = prompt,
		     .n_tokens = 3}},
	{.kind = LMI_SVC_JOURNAL_TOKEN,
	 .u.token = {.token = 77, .text = {"ab", 2}, .n_logprobs = 1, .logprobs = {"\0\1\2", 3}}},
	{.kind = LMI_SVC_JOURNAL_TOKEN, .u.token = {.token = 78, .text = {"", 0}}},
	{.kind = LMI_SVC_JOURNAL_TEXT, .u.token = {.text = {"more", 4}}},
	{.kind = LMI_SVC_JOURNAL_END,
	 .u.end = {.kind = LMI_SVC_END_ERROR,
		   .why = 3,
		   .n_out = 2,
		   .out_ns = 5,
		   .error = {.status = LMD_NOTFOUND, .text = "no such model"}}},
	{.kind = LMI_SVC_JOURNAL_READ}};

static void setup(void)
{
	ck_assert(lmi_svc_journal_begin(&file));
	for (uint32_t i = 0; i < N_RECORD; i++) {
		ck_assert(lmi_svc_journal_put(&file, 0, &scratch, &records[i]));
		ends[i] = file.n;
	}
}

static void teardown(void)
{
	lmi_wire_buf_fini(&file);
	lmi_wire_buf_fini(&scratch);
}

static bool same(struct lmd_str a, struct lmd_str b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

START_TEST(round_trip)
{
	const char *p = (const char *)file.p;
	struct lmi_svc_journal_record r;
	size_t at = 0;

	ck_assert(lmi_svc_journal_read(p, file.n, 0, &at, &r) && r.kind == LMI_SVC_JOURNAL_HEAD);
	ck_assert(!memcmp(r.u.head.id, records[0].u.head.id, sizeof(r.u.head.id)));
	ck_assert_uint_eq(r.u.head.principal.uid, 1000);
	ck_assert_str_eq(r.u.head.principal.key_label, "me");
	ck_assert_uint_eq(r.u.head.seed, 1234567890123);
	ck_assert(same(r.u.head.key, records[0].u.head.key));
	ck_assert(same(r.u.head.digest, records[0].u.head.digest));
	ck_assert(same(r.u.head.request, records[0].u.head.request));
	ck_assert(lmi_svc_journal_read(p, file.n, 0, &at, &r) && r.kind == LMI_SVC_JOURNAL_START);
	ck_assert(same(r.u.start.adapter, records[1].u.start.adapter));
	ck_assert(same(r.u.start.format, records[1].u.start.format) && r.u.start.thinks);
	ck_assert(r.u.start.n_tokens == 3 && !memcmp(r.u.start.tokens, prompt, sizeof(prompt)));
	ck_assert(r.u.start.n_sampling == 2 && !memcmp(r.u.start.sampling, sampling, sizeof(sampling)));
	ck_assert(lmi_svc_journal_read(p, file.n, 0, &at, &r) && r.u.token.token == 77);
	ck_assert(same(r.u.token.text, records[2].u.token.text));
	ck_assert(same(r.u.token.logprobs, records[2].u.token.logprobs));
	ck_assert(lmi_svc_journal_read(p, file.n, 0, &at, &r) && r.u.token.token == 78);
	ck_assert(lmi_svc_journal_read(p, file.n, 0, &at, &r) && r.kind == LMI_SVC_JOURNAL_TEXT);
	ck_assert(lmi_svc_journal_read(p, file.n, 0, &at, &r) && r.kind == LMI_SVC_JOURNAL_END);
	ck_assert_str_eq(r.u.end.error.text, "no such model");
	ck_assert(r.u.end.why == 3 && r.u.end.n_out == 2 && r.u.end.out_ns == 5);
	ck_assert(lmi_svc_journal_read(p, file.n, 0, &at, &r) && r.kind == LMI_SVC_JOURNAL_READ);
	ck_assert(!lmi_svc_journal_read(p, file.n, 0, &at, &r));
	ck_assert_uint_eq(at, file.n);
}
END_TEST

/* Returns how many records a file has. */
static uint32_t count(const char *p, size_t n)
{
	struct lmi_svc_journal_record r;
	uint32_t k = 0;
	size_t at = 0;

	while (lmi_svc_journal_read(p, n, 0, &at, &r))
		ck_assert_int_eq(r.kind, records[k++].kind);
	return k;
}

/* A part that does not begin with the file's first byte. */
/* What reading would refuse is not written. */
START_TEST(too_large_a_record)
{
	const size_t n = (size_t)LMI_SVC_JOURNAL_RECORD_MAX + 1;
	struct lmi_wire_buf out = {0};
	char *record = calloc(n, 1);

	ck_assert_ptr_nonnull(record);
	ck_assert(lmi_svc_journal_begin(&out));
	ck_assert(!lmi_svc_journal_add(&out, 0, record, n));
	ck_assert_uint_eq(out.n, 8);
	ck_assert(lmi_svc_journal_add(&out, 0, record, 1));
	lmi_wire_buf_fini(&out);
	free(record);
}
END_TEST

START_TEST(a_part)
{
	struct lmi_svc_journal_record r;
	size_t at = 0, from = ends[1];

	ck_assert(lmi_svc_journal_read((const char *)file.p + from, file.n - from, from, &at, &r));
	ck_assert(r.u.token.token == 77 && from + at == ends[2]);
	at = 0;
	ck_assert(!lmi_svc_journal_read((const char *)file.p + from, file.n - from, from + 1, &at, &r));
}
END_TEST

START_TEST(a_torn_tail_is_cut)
{
	for (size_t n = 0; n <= file.n; n++) {
		char *copy = malloc(n + 1); /* a read behind its end is found by sanitizers */
		uint32_t want = 0;

		memcpy(copy, file.p, n);
		while (want < N_RECORD && ends[want] <= n)
			want++;
		ck_assert_uint_eq(count(copy, n), want);
		free(copy);
	}
}
END_TEST

START_TEST(a_flipped_bit_ends_it)
{
	char *p = (char *)file.p;

	for (size_t bit = 0; bit < 8 * file.n; bit++) {
		uint32_t want = 0;

		p[bit / 8] ^= (char)(1 << bit % 8);
		while (ends[want] <= bit / 8)
			want++;
		if (bit / 8 < 8) /* not a journal */
			want = 0;
		ck_assert_uint_eq(count(p, file.n), want);
		p[bit / 8] ^= (char)(1 << bit % 8);
	}
}
END_TEST

/* A record at another place than the one for which it was written is not read. */
START_TEST(a_repeated_record_ends_it)
{
	struct lmi_wire_buf twice = {0};
	const char *p = (const char *)file.p;

	ck_assert(lmi_svc_journal_begin(&twice));
	ck_assert(lmi_svc_journal_put(&twice, 0, &scratch, &records[0]));
	ck_assert(lmi_svc_journal_put(&twice, 0, &scratch, &records[1]));
	ck_assert_uint_eq(count((const char *)twice.p, twice.n), 2);
	twice.n = ends[0];
	memcpy((char *)twice.p + twice.n, p + 8, 12); /* the head of the first record */
	ck_assert_uint_eq(count((const char *)twice.p, twice.n + 12), 1);
	lmi_wire_buf_fini(&twice);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("journal");
	TCase *t = tcase_create("journal");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, round_trip);
	tcase_add_test(t, too_large_a_record);
	tcase_add_test(t, a_part);
	tcase_add_test(t, a_torn_tail_is_cut);
	tcase_add_test(t, a_flipped_bit_ends_it);
	tcase_add_test(t, a_repeated_record_ends_it);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

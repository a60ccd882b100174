/* SPDX-License-Identifier: MIT
 *
 * The progress of a batch: it is read as it was written, and damaged texts are refused. */
#include "daemon/http/openai/batch_progress.h"

#include <string.h>

#include "core/base/alloc.h"
#include "proto/buf.h"
#include "tests/lmd_check.h"

static struct lmi_openai_batch_progress p;
static struct lmi_wire_buf text;

static void setup(void)
{
	text = (struct lmi_wire_buf){0};
	ck_assert(lmi_openai_batch_progress_init(&p, 19));
	for (uint32_t i = 0; i < 19; i += 6)
		lmi_openai_batch_progress_mark(&p, i);
	lmi_openai_batch_progress_mark(&p, 19); /* there is no such line */
	p.n_completed = 3;
	p.n_failed = 1;
	ck_assert(lmi_wire_buf_add(&p.out, "{}\n{}\n{}\n", 9));
	ck_assert(lmi_wire_buf_add(&p.errors, "{\"a\":1}\n", 8));
	ck_assert(lmi_openai_batch_progress_emit(&p, &text));
}

static void teardown(void)
{
	struct lmi_alloc_stats s;

	lmi_openai_batch_progress_fini(&p);
	lmi_wire_buf_fini(&text);
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, 0);
}

START_TEST(reads_what_it_wrote)
{
	struct lmi_openai_batch_progress q;
	struct lmd_error err;

	ck_assert(lmi_openai_batch_progress_init(&q, 19));
	ck_assert_int_eq(lmi_openai_batch_progress_parse(&q, (char *)text.p, text.n, &err), LMD_OK);
	for (uint32_t i = 0; i < 24; i++)
		ck_assert_int_eq(lmi_openai_batch_progress_is_done(&q, i), i < 19 && i % 6 == 0);
	ck_assert_uint_eq(q.n_completed, 3);
	ck_assert_uint_eq(q.n_failed, 1);
	ck_assert(q.out.n == 9 && !memcmp(q.out.p, "{}\n{}\n{}\n", 9));
	ck_assert(q.errors.n == 8 && !memcmp(q.errors.p, "{\"a\":1}\n", 8));
	lmi_openai_batch_progress_fini(&q);
}
END_TEST

/* Every cut and every changed byte of the head is refused, or changes nothing but the results. */
START_TEST(damaged)
{
	struct lmi_openai_batch_progress q;
	struct lmd_error err;
	size_t n_head = (size_t)((uint8_t *)memchr(text.p, '\n', text.n) - text.p);

	ck_assert(lmi_openai_batch_progress_init(&q, 19));
	for (size_t n = 0; n < text.n; n++)
		ck_assert_int_eq(lmi_openai_batch_progress_parse(&q, (char *)text.p, n, &err),
				 LMD_CORRUPT);
	for (size_t i = 0; i < n_head; i++) {
		text.p[i] ^= 1;
		if (lmi_openai_batch_progress_parse(&q, (char *)text.p, text.n, &err) == LMD_OK)
			ck_assert_uint_eq(q.out.n + q.errors.n, 17);
		text.p[i] ^= 1;
	}
	lmi_openai_batch_progress_fini(&q);
	ck_assert(lmi_openai_batch_progress_init(&q, 20));
	ck_assert_int_eq(lmi_openai_batch_progress_parse(&q, (char *)text.p, text.n, &err),
			 LMD_CORRUPT);
	lmi_openai_batch_progress_fini(&q);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("progress");
	Suite *s = suite_create("batch progress");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, reads_what_it_wrote);
	tcase_add_test(t, damaged);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

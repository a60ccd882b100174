/* SPDX-License-Identifier: MIT
 *
 * The results of a batch tell which lines are done, also when the end of a file is damaged. */
#include "daemon/http/openai/batch_progress.h"

#include <string.h>

#include "core/base/alloc.h"
#include "proto/buf.h"
#include "tests/lmd_check.h"

#define BATCH "abcdefghijklmnopqrstuvwx"

static struct lmi_wire_buf text;
static size_t ends[4]; /* of the results */

static void setup(void)
{
	json_t *custom = json_string("a\"\n");
	char id[LMI_OPENAI_BATCH_LINE_ID];

	text = (struct lmi_wire_buf){0};
	for (uint32_t i = 0; i < 4; i++) {
		lmi_openai_batch_line_id(id, BATCH, i * 6);
		ck_assert(lmi_openai_batch_result(&text, id, i ? custom : NULL, 200, "{\"x\":1}", 7));
		ends[i] = text.n;
	}
	json_decref(custom);
}

static void teardown(void)
{
	struct lmi_alloc_stats s;

	lmi_wire_buf_fini(&text);
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, 0);
}

static size_t read_text(struct lmi_openai_batch_progress *p, uint32_t n_line, size_t n)
{
	ck_assert(lmi_openai_batch_progress_init(p, n_line));
	return lmi_openai_batch_progress_read(p, BATCH, (const char *)text.p, n, false);
}

START_TEST(reads_what_it_wrote)
{
	struct lmi_openai_batch_progress p;
	json_error_t e;
	json_t *v;

	ck_assert_uint_eq(read_text(&p, 19, text.n), text.n);
	for (uint32_t i = 0; i < 24; i++)
		ck_assert_int_eq(lmi_openai_batch_progress_is_done(&p, i), i < 19 && i % 6 == 0);
	ck_assert_uint_eq(p.n_completed, 4);
	ck_assert_uint_eq(p.n_failed, 0);
	ck_assert(lmi_openai_batch_progress_mark(&p, 1, true) && p.n_failed == 1);
	ck_assert(!lmi_openai_batch_progress_mark(&p, 1, true) && p.n_failed == 1);
	ck_assert(!lmi_openai_batch_progress_mark(&p, 19, true) && p.n_failed == 1);
	lmi_openai_batch_progress_fini(&p);
	v = json_loadb((const char *)text.p + ends[0], ends[1] - ends[0], 0, &e);
	ck_assert_msg(v != NULL, "%s", e.text);
	ck_assert_str_eq(json_string_value(json_object_get(v, "id")), "batch_req_" BATCH "_6");
	ck_assert_str_eq(json_string_value(json_object_get(v, "custom_id")), "a\"\n");
	ck_assert(json_is_null(json_object_get(v, "error")));
	json_decref(v);
}
END_TEST

/* A line without a response is done as well. */
START_TEST(reads_errors)
{
	struct lmi_openai_batch_progress p;
	char id[LMI_OPENAI_BATCH_LINE_ID];
	json_error_t e;
	json_t *v;

	lmi_openai_batch_line_id(id, BATCH, 5);
	ck_assert(lmi_openai_batch_result_error(&text, id, NULL, "batch_expired", "Too late."));
	ck_assert_uint_eq(read_text(&p, 19, text.n), text.n);
	ck_assert(lmi_openai_batch_progress_is_done(&p, 5));
	lmi_openai_batch_progress_fini(&p);
	ck_assert_uint_eq(read_text(&p, 19, text.n - 1), ends[3]);
	lmi_openai_batch_progress_fini(&p);
	v = json_loadb((const char *)text.p + ends[3], text.n - ends[3], 0, &e);
	ck_assert_msg(v != NULL, "%s", e.text);
	ck_assert(json_is_null(json_object_get(v, "response")));
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(v, "error"), "code")),
			 "batch_expired");
	json_decref(v);
}
END_TEST

/* Wherever the file ends, the whole results before are read. */
START_TEST(cut)
{
	struct lmi_openai_batch_progress p;

	for (size_t n = 0; n < text.n; n++) {
		uint32_t whole = 0;

		while (whole < 4 && ends[whole] <= n)
			whole++;
		ck_assert_uint_eq(read_text(&p, 19, n), whole ? ends[whole - 1] : 0);
		ck_assert_uint_eq(p.n_completed, whole);
		lmi_openai_batch_progress_fini(&p);
	}
}
END_TEST

/* A result that is not one of this batch ends what is read: zeros of a file that was not written, a line that
 * does not exist, one that is there twice, another batch. */
START_TEST(damaged)
{
	struct lmi_openai_batch_progress p;

	memset(text.p + ends[1] + 40, 0, 8);
	ck_assert_uint_eq(read_text(&p, 19, text.n), ends[1]);
	lmi_openai_batch_progress_fini(&p);
	ck_assert_uint_eq(read_text(&p, 6, text.n), ends[0]);
	lmi_openai_batch_progress_fini(&p);
	memcpy(strstr((char *)text.p, BATCH "_6") + strlen(BATCH), "_0", 2);
	ck_assert_uint_eq(read_text(&p, 19, text.n), ends[0]);
	ck_assert_uint_eq(lmi_openai_batch_progress_read(&p, "other", (char *)text.p, text.n, false), 0);
	lmi_openai_batch_progress_fini(&p);
}
END_TEST

/* Without memory a result is refused. */
START_TEST(no_memory)
{
	struct lmi_wire_buf b = {0};

	lmi_alloc_fail_nth(1, true);
	ck_assert(!lmi_openai_batch_result(&b, "x_1", NULL, 200, "{}", 2));
	lmi_alloc_fail_nth(0, false);
	lmi_wire_buf_fini(&b);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("progress");
	Suite *s = suite_create("batch progress");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, reads_what_it_wrote);
	tcase_add_test(t, reads_errors);
	tcase_add_test(t, cut);
	tcase_add_test(t, damaged);
	tcase_add_test(t, no_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

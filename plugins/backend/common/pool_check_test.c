/* SPDX-License-Identifier: MIT
 *
 * The sizes of pools, checks of operations on them, and settings in environment variables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/common/pool_check.h"
#include "backend/common/settings.h"

#include "tests/lmd_check.h"

static const struct host_mem_pool_shape pages = {.n_unit = 4,
						 .page_tokens = 16,
						 .n_seq = 2,
						 .n_index = 3,
						 .row_bytes = 8};
static const struct host_mem_pool_shape slots = {.state = true, .n_unit = 2, .slot_bytes = 40};
static uint32_t memory[64];

static enum lmd_status check(const struct host_mem_pool_shape *s, struct lmd_pool_op op,
			     const char *text)
{
	struct lmd_error err = {0};
	enum lmd_status st = host_mem_pool_check(s, &op, &err);

	if (st != LMD_OK)
		ck_assert_msg(strstr(err.text, text), "'%s' is not in '%s'", text, err.text);
	return st;
}

START_TEST(shapes)
{
	const struct lmd_group paged = {.kind = LMD_GROUP_PAGED}, states = {.kind = LMD_GROUP_STATE};
	struct lmd_pool_desc d = {.desc = &paged,
				  .group = 5,
				  .page_tokens = 16,
				  .n_page = 4,
				  .n_slot = 9,
				  .n_seq = 2,
				  .n_index = 3};
	struct host_mem_pool_shape s;
	struct lmd_error err = {0};

	ck_assert_int_eq(host_mem_pool_shape_init(&s, &d, &err), LMD_OK);
	ck_assert(!s.state && s.n_unit == 4 && s.page_tokens == 16 && s.n_seq == 2 && s.n_index == 3);
	host_mem_pool_shape_add(&s, 6, 16);
	host_mem_pool_shape_add(&s, 2, 16);
	ck_assert_uint_eq(s.row_bytes, 8);
	d.n_index = 0;
	ck_assert_int_eq(host_mem_pool_shape_init(&s, &d, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "group 5: a pool of 4 units, 16 tokens a page, 2 sequences of 0 pages is "
				   "empty");
	d.desc = &states; /* no pages */
	ck_assert_int_eq(host_mem_pool_shape_init(&s, &d, &err), LMD_OK);
	ck_assert(s.state && s.n_unit == 9);
	host_mem_pool_shape_add(&s, 10, 3);
	host_mem_pool_shape_add(&s, 1, 4);
	ck_assert_uint_eq(s.slot_bytes, 34);
	d.n_slot = 0;
	ck_assert_int_eq(host_mem_pool_shape_init(&s, &d, &err), LMD_INVALID);
}
END_TEST

START_TEST(page_tables)
{
	struct lmd_pool_op op = {.kind = LMD_POOL_SET_TABLE,
				 .src = 1,
				 .dst = 1,
				 .n_row = 2,
				 .host = memory,
				 .host_bytes = 8};

	memory[0] = 3;
	memory[1] = 0;
	ck_assert_int_eq(check(&pages, op, ""), LMD_OK);
	memory[1] = 4;
	ck_assert_int_eq(check(&pages, op, "unit 4 is out of range, the pool has 4"), LMD_INVALID);
	memory[1] = 0;
	op.host_bytes = 7;
	ck_assert_int_eq(check(&pages, op, "7 bytes of host memory given, 8 needed"), LMD_INVALID);
	op.host_bytes = 8;
	op.host = NULL;
	ck_assert_int_eq(check(&pages, op, "0 bytes of host memory given"), LMD_INVALID);
	op.host = memory;
	op.src = 2;
	ck_assert_int_eq(check(&pages, op, "sequence slot 2"), LMD_INVALID);
	op.src = 0;
	op.dst = 2;
	ck_assert_int_eq(check(&pages, op, "entries 2..4"), LMD_INVALID);
	op.dst = UINT32_MAX;
	ck_assert_int_eq(check(&pages, op, "entries 4294967295..4294967297"), LMD_INVALID);
	op.dst = 3;
	op.n_row = 0;
	ck_assert_int_eq(check(&pages, op, ""), LMD_OK);
	ck_assert_int_eq(check(&slots, op, "page table of 0 x 0"), LMD_INVALID);
}
END_TEST

START_TEST(units_and_kinds)
{
	struct lmd_pool_op op = {.kind = LMD_POOL_COPY_PAGE, .src = 3, .dst = 0};

	ck_assert_int_eq(check(&pages, op, ""), LMD_OK);
	op.src = 4;
	ck_assert_int_eq(check(&pages, op, "unit 4"), LMD_INVALID);
	op.src = 0;
	op.dst = 5;
	ck_assert_int_eq(check(&pages, op, "unit 5"), LMD_INVALID);
	op.dst = 1;
	ck_assert_int_eq(check(&slots, op, "does not apply to a pool of slots"), LMD_INVALID);
	op.kind = LMD_POOL_COPY_SLOT;
	ck_assert_int_eq(check(&slots, op, ""), LMD_OK);
	ck_assert_int_eq(check(&pages, op, "does not apply to a pool of pages"), LMD_INVALID);
	op.kind = LMD_POOL_ZERO_SLOT;
	op.src = 99; /* not read */
	ck_assert_int_eq(check(&slots, op, ""), LMD_OK);
	ck_assert_int_eq(check(&pages, op, "does not apply to a pool of pages"), LMD_INVALID);
	op.kind = 1000;
	ck_assert_int_eq(check(&pages, op, "unknown operation 1000"), LMD_UNSUPPORTED);
}
END_TEST

START_TEST(rows)
{
	struct lmd_pool_op op = {.kind = LMD_POOL_EXPORT,
				 .src = 3,
				 .dst = 99, /* not read */
				 .row0 = 10,
				 .n_row = 6,
				 .host = memory,
				 .host_bytes = 48};

	ck_assert_int_eq(check(&pages, op, ""), LMD_OK);
	op.host_bytes = 47;
	ck_assert_int_eq(check(&pages, op, "47 bytes of host memory given, 48 needed"),
			 LMD_INVALID);
	op.n_row = 7;
	ck_assert_int_eq(check(&pages, op, "rows 10..17 do not fit a page of 16 rows"),
			 LMD_INVALID);
	op.row0 = UINT32_MAX;
	ck_assert_int_eq(check(&pages, op, "do not fit a page"), LMD_INVALID);
	op.src = 1;
	ck_assert_int_eq(check(&slots, op, ""), LMD_OK); /* always a whole slot */
	op.host_bytes = 39;
	ck_assert_int_eq(check(&slots, op, "39 bytes of host memory given, 40 needed"),
			 LMD_INVALID);
	op.kind = LMD_POOL_IMPORT;
	op.dst = 2;
	ck_assert_int_eq(check(&slots, op, "unit 2"), LMD_INVALID);
}
END_TEST

/* Reads "one" (at most 5) and "two" (at most 2^64 - 1). */
static enum lmd_status read_settings(const char *text, uint64_t *one, uint64_t *two,
				     const char *message)
{
	struct host_mem_setting s[] = {{"one", 5, 1}, {"two", UINT64_MAX, 2}};
	struct lmd_error err = {0};
	enum lmd_status st;

	ck_assert_int_eq(text ? setenv("LMD_TEST_SETTINGS", text, 1)
			      : unsetenv("LMD_TEST_SETTINGS"),
			 0);
	st = host_mem_settings_read("some", "LMD_TEST_SETTINGS", s, 2, &err);
	if (st != LMD_OK)
		ck_assert_str_eq(err.text, message);
	*one = s[0].value;
	*two = s[1].value;
	return st;
}

START_TEST(settings)
{
	uint64_t one, two;

	ck_assert_int_eq(read_settings(NULL, &one, &two, ""), LMD_OK);
	ck_assert(one == 1 && two == 2);
	ck_assert_int_eq(read_settings("two=18446744073709551615,,one=5,", &one, &two, ""),
			 LMD_OK);
	ck_assert(one == 5 && two == UINT64_MAX);
	ck_assert_int_eq(read_settings("one=6", &one, &two,
				       "some: LMD_TEST_SETTINGS: 'one=6': not a number of at most 5"),
			 LMD_INVALID);
	ck_assert_int_eq(read_settings("three=1", &one, &two,
				       "some: LMD_TEST_SETTINGS: there is no setting 'three=1'"),
			 LMD_INVALID);
	for (const char *const *bad = (const char *const[]){"one=", "one=-1", "one=+1", "one= 1",
							    "one=1x", NULL};
	     *bad; bad++) {
		char text[160];

		(void)snprintf(text, sizeof(text),
			       "some: LMD_TEST_SETTINGS: '%s': not a number of at most 5", *bad);
		ck_assert_int_eq(read_settings(*bad, &one, &two, text), LMD_INVALID);
	}
	ck_assert_int_eq(read_settings("two=18446744073709551616", &one, &two,
				       "some: LMD_TEST_SETTINGS: 'two=18446744073709551616': not a "
				       "number of at most 18446744073709551615"),
			 LMD_INVALID);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pool_check");
	TCase *t = tcase_create("pool_check");

	tcase_add_test(t, shapes);
	tcase_add_test(t, page_tables);
	tcase_add_test(t, units_and_kinds);
	tcase_add_test(t, rows);
	tcase_add_test(t, settings);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * The plugin ABI is recorded in offsets.txt: the size of every struct, the offset and size of every
 * member, and the value of every constant, for machines with 64-bit pointers.  A change requires a
 * new ABI minor number, a line in NEWS, and `make update-abi`. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "llamad/arch.h"
#include "llamad/attr.h"
#include "llamad/backend.h"
#include "llamad/client.h"
#include "llamad/format.h"
#include "llamad/host.h"
#include "llamad/llamad.h"
#include "llamad/model.h"
#include "llamad/op.h"
#include "llamad/plan.h"
#include "llamad/plugin.h"
#include "llamad/sampler.h"
#include "llamad/status.h"
#include "llamad/step.h"
#include "llamad/tokenizer.h"
#include "llamad/types.h"
#include "tests/lmd_check.h"

struct abi_row {
	enum { ROW_STRUCT, ROW_MEMBER, ROW_CONSTANT } kind;
	const char *name, *member;
	size_t offset, size;
	int64_t value;
};

#define STRUCT(s)    {.kind = ROW_STRUCT, .name = #s, .size = sizeof(struct s)},
#define MEMBER(s, m)                                                                               \
	{.kind = ROW_MEMBER,                                                                       \
	 .name = #s,                                                                               \
	 .member = #m,                                                                             \
	 .offset = offsetof(struct s, m),                                                          \
	 .size = sizeof(((struct s *)0)->m)},
#define CONSTANT(c)  {.kind = ROW_CONSTANT, .name = #c, .value = (int64_t)(c)},

static const struct abi_row rows[] = {
#include "tests/abi/members.gen.h"
};

static void write_row(const struct abi_row *r, char *buf, size_t n)
{
	switch (r->kind) {
	case ROW_STRUCT:
		snprintf(buf, n, "struct %s size %zu", r->name, r->size);
		break;
	case ROW_MEMBER:
		snprintf(buf, n, "member %s.%s offset %zu size %zu", r->name, r->member, r->offset,
			 r->size);
		break;
	case ROW_CONSTANT:
		snprintf(buf, n, "constant %s %lld", r->name, (long long)r->value);
		break;
	}
}

/* Compares the lines of the file with the rows, in order; prints and counts the differences. */
static unsigned compare(FILE *f)
{
	char want[256], have[256];
	unsigned bad = 0;

	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		write_row(&rows[i], have, sizeof(have));
		if (!fgets(want, sizeof(want), f))
			want[0] = 0;
		want[strcspn(want, "\n")] = 0;
		if (strcmp(want, have)) {
			bad++;
			if (bad <= 20)
				printf("offsets.txt: '%s'\nthe headers: '%s'\n", want, have);
		}
	}
	if (fgets(want, sizeof(want), f)) {
		printf("offsets.txt has more rows: '%s'\n", want);
		bad++;
	}
	return bad;
}

START_TEST(as_recorded)
{
	char path[1024];
	unsigned bad;
	FILE *f;

	if (sizeof(void *) != 8) {
		LMD_SKIP("as_recorded", "the recorded offsets are for 64-bit pointers");
		return;
	}
	snprintf(path, sizeof(path), "%s/tests/abi/offsets.txt", lmd_source_dir());
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s is missing", path);
	bad = compare(f);
	fclose(f);
	LMD_CASES("plugin ABI", LMD_LEN(rows) - (bad < LMD_LEN(rows) ? bad : LMD_LEN(rows)), bad,
		  0);
	ck_assert_msg(!bad, "%u rows differ: the ABI changed (docs/abi.md; make update-abi)", bad);
}
END_TEST

/* Extensible tables begin with their size. */
START_TEST(tables_begin_with_their_size)
{
	unsigned tables = 0;

	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		const struct abi_row *r = &rows[i];
		size_t n = strlen(r->name);

		if (r->kind != ROW_MEMBER || n < 4 || strcmp(r->name + n - 4, "_ops") ||
		    r->offset)
			continue;
		ck_assert_str_eq(r->member, "struct_size");
		tables++;
	}
	ck_assert_uint_eq(tables, 5);
}
END_TEST

/* LMD_PUT writes no more than the other side has room for, and leaves its size; LMD_HAS says what it has. */
START_TEST(structs_of_other_sizes)
{
	const struct lmd_plan_cost cost = {.struct_size = sizeof(cost), .scratch_bytes = 1, .bytes = 2};
	struct {
		struct lmd_plan_cost cost;
		uint64_t more;
	} larger = {.cost = {.struct_size = sizeof(larger)}, .more = 3};
	struct lmd_plan_cost smaller = {.struct_size = offsetof(struct lmd_plan_cost, bytes), .bytes = 4};

	LMD_PUT(&smaller, &cost);
	ck_assert_uint_eq(smaller.struct_size, offsetof(struct lmd_plan_cost, bytes));
	ck_assert_uint_eq(smaller.scratch_bytes, 1);
	ck_assert_uint_eq(smaller.bytes, 4);
	ck_assert(LMD_HAS(&smaller, scratch_bytes) && !LMD_HAS(&smaller, bytes));
	LMD_PUT(&larger.cost, &cost);
	ck_assert_uint_eq(larger.cost.struct_size, sizeof(larger));
	ck_assert_uint_eq(larger.cost.bytes, 2);
	ck_assert_uint_eq(larger.more, 3);
	ck_assert(LMD_HAS(&larger.cost, bytes));
}
END_TEST

/* Every status has a name. */
START_TEST(status_words)
{
	for (int i = 0; i < LMD_N_STATUS; i++) {
		ck_assert_str_ne(lmd_status_text(i), "unknown");
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(lmd_status_text(i), lmd_status_text(k));
	}
	ck_assert_str_eq(lmd_status_text(-1), "unknown");
	ck_assert_str_eq(lmd_status_text(LMD_N_STATUS), "unknown");
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("plugin ABI");
	TCase *t = tcase_create("abi");

	if (argc == 2 && !strcmp(argv[1], "--write")) {
		char line[256];

		for (size_t i = 0; i < LMD_LEN(rows); i++) {
			write_row(&rows[i], line, sizeof(line));
			puts(line);
		}
		return 0;
	}
	tcase_add_test(t, as_recorded);
	tcase_add_test(t, tables_begin_with_their_size);
	tcase_add_test(t, structs_of_other_sizes);
	tcase_add_test(t, status_words);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * The tokens of prompts with a suffix.  In the small model, token i is the character 32 + i, and
 * some characters are the tokens for infilling. */
#include <stdio.h>
#include <string.h>

#include "tests/service_fixture.h"

static struct fx fx;
static char path[300];

static void setup(void)
{
	fx_init(&fx);
	snprintf(path, sizeof(path), "%s/rank.gguf", fx.dir);
	lmt_tiny_write(LMT_RANK, 7, path);
	fx_add_model(&fx, "infill", path);
	fx_start(&fx);
}

static void teardown(void)
{
	(void)remove(path);
	fx_fini(&fx);
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

static struct lmi_wire_request infill(const char *model, const char *prefix, const char *suffix)
{
	struct lmi_wire_request q = fx_generate(&fx, model, prefix, 0);

	q.u.generate.has_suffix = true;
	q.u.generate.suffix = str(suffix);
	q.u.generate.prompt_tokens = true;
	return q;
}

/* The prompt has these tokens; in `want`, each is its character, and a token below a blank, such as
 * a newline's bytes, cannot occur since the vocabulary has none. */
static void check(struct lmi_wire_request *q, const char *want)
{
	struct lmi_wire_request next;
	const struct lmi_wire_rep_next *r = &fx.a.r.u.next;
	char got[256] = "";

	ck_assert_msg(fx_call(&fx, &fx_user, q), "%s", fx.a.err.text);
	next = fx_next(&fx.a.r.u.generate.id, 0);
	fx_settle(&fx);
	ck_assert_msg(fx_call(&fx, &fx_user, &next), "%s", fx.a.err.text);
	ck_assert_uint_lt(r->n_items, sizeof(got));
	for (uint32_t i = 0; i + 1 < r->n_items; i++) {
		ck_assert_int_eq(r->items[i].kind, LMI_WIRE_ITEM_PROMPT_TOKEN);
		got[i] = (char)(32 + r->items[i].u.prompt_token.token);
	}
	ck_assert_int_eq(r->items[r->n_items - 1].kind, LMI_WIRE_ITEM_DONE);
	ck_assert_str_eq(got, want);
}

/* pre }, suf |, mid {, rep z, sep y: their text in the prompt stays text, which is the same token
 * here only because the tokens of this vocabulary are plain characters. */
START_TEST(order)
{
	struct lmi_wire_infill_file files[2] = {{.name = {"a.c", 3}, .text = {"one", 3}},
						{.name = {"", 0}, .text = {"two", 3}}};
	struct lmi_wire_request q = infill("infill", "left", "right");

	check(&q, "}left|right{");
	q = infill("infill", "", "");
	check(&q, "}|{");
	q = infill("infill", "left", "right");
	q.u.generate.infill_files = files;
	q.u.generate.n_infill_files = 2;
	check(&q, "zrepositoryya.coneyfiletwoyfile}left|right{");
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(refusals)
{
	static const lmd_token token = 1;
	struct lmi_wire_request q = infill("tiny", "left", "right");
	struct lmi_wire_item last;
	struct lmi_wire_id id;
	char text[8];

	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	id = fx.a.r.u.generate.id;
	last = fx_read(&fx, &fx_user, &id, text, sizeof(text));
	ck_assert_int_eq(last.kind, LMI_WIRE_ITEM_ERROR);
	ck_assert_int_eq(last.u.error.code, LMD_UNSUPPORTED);
	q = infill("infill", "left", "right");
	q.u.generate.has_prompt = false;
	q.u.generate.has_tokens = true;
	q.u.generate.tokens = &token;
	q.u.generate.n_tokens = 1;
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_str_eq(fx.a.err.text, "suffix: requires prompt");
	q = infill("infill", "left", "right");
	q.u.generate.has_suffix = false;
	q.u.generate.infill_files = &(struct lmi_wire_infill_file){.text = {"one", 3}};
	q.u.generate.n_infill_files = 1;
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_str_eq(fx.a.err.text, "infill_files: requires suffix");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("infill");
	TCase *t = tcase_create("infill");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, order);
	tcase_add_test(t, refusals);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

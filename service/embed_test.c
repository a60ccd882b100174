/* SPDX-License-Identifier: MIT
 *
 * The op embed: how many vectors come back, of which length, and what is refused. */
#include <math.h>
#include <string.h>

#include "tests/service_fixture.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
	fx_start(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

#define MANY 20u

static struct lmd_str texts[MANY];

static struct lmi_wire_request embed(uint32_t n)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_EMBED, NULL);

	for (uint32_t i = 0; i < MANY; i++)
		texts[i] = str(i % 2 ? "abc" : "abcd");
	q.u.embed.model = str("tiny");
	q.u.embed.has_inputs = true;
	q.u.embed.inputs = texts;
	q.u.embed.n_inputs = n;
	return q;
}

/* More inputs than are computed at a time: each gets its vector, in order. */
START_TEST(one_vector_per_input)
{
	struct lmi_wire_request q = embed(MANY);
	const struct lmi_wire_rep_embed *r = &fx.a.r.u.embed;

	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_uint_eq(r->n_embeddings, MANY);
	ck_assert_int_gt(r->n_prompt, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		ck_assert_int_eq(r->embeddings[i].input, i);
		ck_assert_uint_eq(r->embeddings[i].n_vector, r->embeddings[0].n_vector);
	}
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(one_vector_per_token)
{
	struct lmi_wire_request q = embed(2);
	const struct lmi_wire_rep_embed *r = &fx.a.r.u.embed;

	q.u.embed.pooling = LMI_WIRE_POOLING_NONE;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_int_eq(r->n_embeddings, r->n_prompt);
	ck_assert_int_eq(r->embeddings[0].input, 0);
	ck_assert_int_eq(r->embeddings[r->n_embeddings - 1].input, 1);
}
END_TEST

START_TEST(dimensions)
{
	struct lmi_wire_request q = embed(1);
	const struct lmi_wire_rep_embed *r = &fx.a.r.u.embed;

	q.u.embed.dimensions = 3;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_uint_eq(r->embeddings[0].n_vector, 3);
	q.u.embed.dimensions = 100000;
	fx_check_refused(&fx, &fx_user, &q, LMD_INVALID,
			 "dimensions: 100000, the vectors of the model have ");
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(tokens_as_input)
{
	static const lmd_token tokens[3] = {1, 2, 3};
	struct lmi_wire_request q = embed(0);

	q.u.embed.has_inputs = false;
	q.u.embed.has_tokens = true;
	q.u.embed.tokens = tokens;
	q.u.embed.n_tokens = 3;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_int_eq(fx.a.r.u.embed.n_prompt, 3);
	q.u.embed.n_tokens = 0;
	fx_check_refused(&fx, &fx_user, &q, LMD_INVALID, "inputs: number 0 has no tokens");
}
END_TEST

START_TEST(longer_than_the_context)
{
	static char text[100000];
	struct lmi_wire_request q = embed(2);

	memset(text, 'x', sizeof(text));
	texts[1] = (struct lmd_str){.ptr = text, .len = sizeof(text)};
	fx_check_refused(&fx, &fx_user, &q, LMD_INVALID, "inputs: number 1 has ");
	q.u.embed.truncate = true;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_uint_eq(fx.a.r.u.embed.n_embeddings, 2);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(refusals)
{
	struct lmi_wire_request q = embed(0);

	fx_check_refused(&fx, &fx_user, &q, LMD_INVALID, "inputs: the list is empty");
	q = embed(1);
	q.u.embed.model = str("nothere");
	fx_check_refused(&fx, &fx_user, &q, LMD_NOTFOUND, "nothere");
}
END_TEST

/* The work of a client that leaves at any moment ends, and nothing stays behind. */
START_TEST(a_client_leaves)
{
	for (int at = 0; at < 40; at++) {
		struct lmi_wire_request q = embed(MANY);

		fx_check_leaving(&fx, &q, at);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("embed");
	TCase *t = tcase_create("embed");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, one_vector_per_input);
	tcase_add_test(t, one_vector_per_token);
	tcase_add_test(t, dimensions);
	tcase_add_test(t, tokens_as_input);
	tcase_add_test(t, longer_than_the_context);
	tcase_add_test(t, refusals);
	tcase_add_test(t, a_client_leaves);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

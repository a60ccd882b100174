/* SPDX-License-Identifier: MIT
 *
 * The op rerank, with a small model whose classifier is the last tensor of its file. */
#include <stdio.h>
#include <string.h>

#include "tests/service_fixture.h"

static struct fx fx;
static char path[300];

static void start(const char *backend)
{
	fx_init(&fx);
	snprintf(path, sizeof(path), "%s/rank.gguf", fx.dir);
	lmt_tiny_write(LMT_RANK, 7, path);
	fx_add_model(&fx, "rank", path);
	fx.o.inst.backend = backend;
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

static struct lmd_str documents[20];

static struct lmi_wire_request rerank(const char *model, const char *query, uint32_t n)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_RERANK, NULL);

	for (uint32_t i = 0; i < LMD_LEN(documents); i++)
		documents[i] = str(i % 2 ? "cd" : "cde");
	q.u.rerank.model = str(model);
	q.u.rerank.query = str(query);
	q.u.rerank.documents = documents;
	q.u.rerank.n_documents = n;
	return q;
}

/* The pair is the query, the end, the separator, the document and the end: it scores like these
 * tokens, and that is the classifier's first row times the vector of the first token. */
START_TEST(scores)
{
	static const lmd_token pair[] = {'a' - 32, 'b' - 32, LMT_EOS, LMT_SEP,
					 'c' - 32, 'd' - 32, LMT_EOS};
	struct lmi_wire_request q;
	float weights[2 * LMT_EMBD];
	double score, label[2] = {0, 0};
	FILE *f;

	start("ref");
	q = rerank("rank", "ab", 2);
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_uint_eq(fx.a.r.u.rerank.n_scores, 2);
	ck_assert_int_eq(fx.a.r.u.rerank.n_prompt, 15);
	score = fx.a.r.u.rerank.scores[1];

	q = fx_on(&fx, LMI_WIRE_OP_EMBED, NULL);
	q.u.embed.model = str("rank");
	q.u.embed.has_tokens = true;
	q.u.embed.tokens = pair;
	q.u.embed.n_tokens = LMD_LEN(pair);
	q.u.embed.normalize = false;
	q.u.embed.pooling = LMI_WIRE_POOLING_CLS;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_uint_eq(fx.a.r.u.embed.embeddings[0].n_vector, LMT_EMBD);
	f = fopen(path, "rb");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fseek(f, -(long)sizeof(weights), SEEK_END), 0);
	ck_assert_uint_eq(fread(weights, sizeof(weights), 1, f), 1);
	fclose(f);
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < LMT_EMBD; i++)
			label[k] += (double)weights[k * LMT_EMBD + i] *
				    fx.a.r.u.embed.embeddings[0].vector[i];
	ck_assert_double_eq_tol(score, label[0], 1e-4);

	q.u.embed.pooling = LMI_WIRE_POOLING_RANK;
	q.rid = str("another");
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_uint_eq(fx.a.r.u.embed.embeddings[0].n_vector, 2);
	for (uint32_t k = 0; k < 2; k++)
		ck_assert_double_eq_tol(fx.a.r.u.embed.embeddings[0].vector[k], label[k], 1e-4);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(refusals)
{
	static char text[1000];
	struct lmi_wire_request q;

	start("null");
	q = rerank("tiny", "ab", 2);
	fx_check_refused(&fx, &fx_user, &q, LMD_UNSUPPORTED,
			 "the model has no classifier (pooling rank)");
	q = fx_on(&fx, LMI_WIRE_OP_EMBED, NULL);
	q.u.embed.model = str("tiny");
	q.u.embed.has_inputs = true;
	q.u.embed.inputs = documents;
	q.u.embed.n_inputs = 1;
	q.u.embed.pooling = LMI_WIRE_POOLING_RANK;
	fx_check_refused(&fx, &fx_user, &q, LMD_UNSUPPORTED,
			 "the model has no classifier (pooling rank)");
	q = rerank("rank", "ab", 0);
	fx_check_refused(&fx, &fx_user, &q, LMD_INVALID, "documents: the list is empty");
	memset(text, 'x', sizeof(text));
	q = rerank("rank", "ab", 2);
	documents[1] = (struct lmd_str){.ptr = text, .len = sizeof(text)};
	fx_check_refused(&fx, &fx_user, &q, LMD_INVALID,
			 "documents: number 1 has 1005 tokens, the context of the model has ");
	q = rerank("rank", "ab", 2);
	documents[1] = (struct lmd_str){.ptr = text, .len = sizeof(text)};
	q.u.rerank.truncate = true;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_int_eq(fx.a.r.u.rerank.n_prompt, 8 + LMT_CTX);
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(a_client_leaves)
{
	start("null");
	for (int at = 0; at < 20; at++) {
		struct lmi_wire_request q = rerank("rank", "ab", LMD_LEN(documents));

		fx_check_leaving(&fx, &q, at);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rerank");
	TCase *t = tcase_create("rerank");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, scores);
	tcase_add_test(t, refusals);
	tcase_add_test(t, a_client_leaves);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * The library as a program sees it: the laws that hold between forward, sample, embed and generate,
 * and two engines in one process. */
#include "llamad/llamad.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_OUT	  12
#define TOLERANCE 1e-4f

static struct lmd_client *client;
static char dir[] = "/tmp/llamad-library.XXXXXX";
static char model[64];
static struct lmd_error err;

static const lmd_token prompt[] = {1, 2, 3, 4, 5};

static struct lmd_client *open_engine(void)
{
	char path[500];
	const char *plugins = path;
	const struct lmd_engine_opts engine = {.struct_size = sizeof(engine),
					       .n_thread = 1,
					       .backend = "ref",
					       .plugin_dirs = &plugins,
					       .n_plugin_dirs = 1};
	const struct lmd_client_opts o = {
		.struct_size = sizeof(o), .url = "embedded:", .engine = &engine};
	struct lmd_client *c = NULL;

	snprintf(path, sizeof(path), "%s/plugins/.libs", lmd_build_dir());
	OK(lmd_client_open(&c, &o, &err));
	return c;
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(model, sizeof(model), "%s/tiny.gguf", dir);
	lmt_tiny_write(LMT_WORDS, 7, model);
	client = open_engine();
}

static void teardown(void)
{
	lmd_client_close(client);
	unlink(model);
	rmdir(dir);
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
}

static void generate(struct lmd_client *c, lmd_token out[N_OUT])
{
	const struct lmd_generate g = {.struct_size = sizeof(g),
				       .model = model,
				       .tokens = prompt,
				       .n_tokens = LMD_LEN(prompt),
				       .flags = LMD_GEN_GREEDY | LMD_GEN_IGNORE_EOG,
				       .n_predict = N_OUT};
	struct lmd_stream *s = NULL;
	struct lmd_item it;
	int n = 0;

	OK(lmd_client_generate(c, &g, &s, &err));
	do {
		OK(lmd_stream_next(s, &it, -1, &err));
		if (it.kind == LMD_ITEM_TOKEN)
			out[n++] = it.token;
	} while (it.kind != LMD_ITEM_DONE);
	ck_assert_int_eq(n, N_OUT);
	lmd_stream_close(s);
}

/* Forward and a greedy sample, repeated, are a greedy generation. */
START_TEST(forward_and_sample)
{
	lmd_token tokens[LMD_LEN(prompt) + N_OUT], want[N_OUT];
	struct lmd_rows r = {.struct_size = sizeof(r)};
	size_t n = LMD_LEN(prompt);

	memcpy(tokens, prompt, sizeof(prompt));
	for (int i = 0; i < N_OUT; i++) {
		OK(lmd_client_forward(client, model, tokens, n, LMD_FORWARD_LAST, &r, &err));
		ck_assert_uint_eq(r.n_row, 1);
		ck_assert_uint_eq(r.width, LMT_VOCAB);
		OK(lmd_client_sample(client, NULL, r.v, r.width, &tokens[n], &err));
		n++;
		lmd_client_free(r.v);
	}
	generate(client, want);
	ck_assert_mem_eq(tokens + LMD_LEN(prompt), want, sizeof(want));
}
END_TEST

/* All rows at once are the rows of the prefixes. */
START_TEST(rows)
{
	struct lmd_rows all = {.struct_size = sizeof(all)}, last = all;

	OK(lmd_client_forward(client, model, prompt, LMD_LEN(prompt), 0, &all, &err));
	ck_assert_uint_eq(all.n_row, LMD_LEN(prompt));
	for (uint32_t i = 0; i < all.n_row; i++) {
		OK(lmd_client_forward(client, model, prompt, i + 1, LMD_FORWARD_LAST, &last, &err));
		for (uint32_t k = 0; k < all.width; k++)
			ck_assert_float_eq_tol(last.v[k], all.v[i * all.width + k], TOLERANCE);
		lmd_client_free(last.v);
	}
	lmd_client_free(all.v);
	ck_assert_int_eq(lmd_client_forward(client, model, prompt, 0, 0, &all, &err), LMD_INVALID);
}
END_TEST

START_TEST(samples)
{
	float logits[] = {0, 1, 5, 2};
	const lmd_token two = 2;
	struct lmd_sample o = {.struct_size = sizeof(o), .chain = "[\"dist\"]", .seed = 3}, p = o;
	lmd_token a, b;

	OK(lmd_client_sample(client, NULL, logits, LMD_LEN(logits), &a, &err));
	ck_assert_int_eq(a, 2);
	OK(lmd_client_sample(client, &o, logits, LMD_LEN(logits), &a, &err));
	OK(lmd_client_sample(client, &o, logits, LMD_LEN(logits), &b, &err));
	ck_assert_int_eq(a, b);
	p.chain = "[{\"sampler\": \"penalties\", \"repeat\": 100}, \"greedy\"]";
	p.history = &two;
	p.n_history = 1;
	OK(lmd_client_sample(client, &p, logits, LMD_LEN(logits), &a, &err));
	ck_assert_int_eq(a, 3);
	p.chain = "[\"nonsense\"]";
	ck_assert_int_eq(lmd_client_sample(client, &p, logits, LMD_LEN(logits), &a, &err),
			 LMD_NOTFOUND);
	ck_assert_int_eq(lmd_client_sample(client, NULL, logits, 0, &a, &err), LMD_INVALID);
}
END_TEST

/* The mean of the rows of all tokens is the default of a model that names no pooling. */
START_TEST(embeddings)
{
	struct lmd_rows mean = {.struct_size = sizeof(mean)}, each = mean, last = mean;

	OK(lmd_client_embed(client, model, "Hello", 5, LMD_EMBED_MODEL, &mean, &err));
	OK(lmd_client_embed(client, model, "Hello", 5, LMD_EMBED_NONE, &each, &err));
	OK(lmd_client_embed(client, model, "Hello", 5, LMD_EMBED_LAST, &last, &err));
	ck_assert_uint_eq(mean.n_row, 1);
	ck_assert_uint_eq(mean.width, LMT_EMBD);
	ck_assert_uint_gt(each.n_row, 1);
	for (uint32_t k = 0; k < mean.width; k++) {
		double sum = 0;

		for (uint32_t i = 0; i < each.n_row; i++)
			sum += (double)each.v[i * each.width + k];
		ck_assert_double_eq_tol(sum / each.n_row, (double)mean.v[k], (double)TOLERANCE);
		ck_assert_float_eq_tol(each.v[(each.n_row - 1) * each.width + k], last.v[k], TOLERANCE);
	}
	lmd_client_free(mean.v);
	lmd_client_free(each.v);
	lmd_client_free(last.v);
	ck_assert_int_eq(lmd_client_embed(client, model, "x", 1, 9, &mean, &err), LMD_INVALID);
	ck_assert_int_eq(lmd_client_embed(client, "/nowhere", "x", 1, 1, &mean, &err), LMD_NOTFOUND);
}
END_TEST

/* The op gives the same vector, as numbers of JSON. */
START_TEST(embeddings_by_request)
{
	struct lmd_rows mean = {.struct_size = sizeof(mean)};
	char members[200], *reply, *at;

	OK(lmd_client_embed(client, model, "Hello", 5, LMD_EMBED_MODEL, &mean, &err));
	snprintf(members, sizeof(members),
		 "{\"model\": \"%s\", \"inputs\": [\"Hello\"], \"normalize\": false}", model);
	OK(lmd_client_call(client, "embed", members, &reply, &err));
	at = strstr(reply, "\"vector\"");
	ck_assert_ptr_nonnull(at);
	at = strchr(at, '[') + 1;
	for (uint32_t k = 0; k < mean.width; k++) {
		ck_assert_float_eq((float)strtod(at, &at), mean.v[k]);
		at++;
	}
	lmd_client_free(reply);
	lmd_client_free(mean.v);
}
END_TEST

static void put_config(char *path, size_t n, const char *text)
{
	FILE *f;

	snprintf(path, n, "%s/llamad.conf", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, text, model);
	fclose(f);
}

/* Starts an engine with the sections of a configuration (NULL: none) and threads for long steps (0: as others). */
static enum lmd_status open_with(struct lmd_client **out, const char *config, uint32_t n_thread_batch)
{
	char path[500];
	const char *plugins = path;
	const struct lmd_engine_opts engine = {.struct_size = sizeof(engine),
					       .n_thread = 1,
					       .backend = "ref",
					       .plugin_dirs = &plugins,
					       .n_plugin_dirs = 1,
					       .config = config,
					       .n_thread_batch = n_thread_batch};
	const struct lmd_client_opts o = {
		.struct_size = sizeof(o), .url = "embedded:", .engine = &engine};

	snprintf(path, sizeof(path), "%s/plugins/.libs", lmd_build_dir());
	return lmd_client_open(out, &o, &err);
}

/* The threads for long steps reach the team of the model, which refuses too many by name. */
START_TEST(threads_of_long_steps)
{
	const struct lmd_generate g = {.struct_size = sizeof(g),
				       .model = model,
				       .tokens = prompt,
				       .n_tokens = LMD_LEN(prompt),
				       .n_predict = 1};
	struct lmd_client *c = NULL;
	struct lmd_stream *s = NULL;
	struct lmd_item it;

	OK(open_with(&c, NULL, 1025));
	OK(lmd_client_generate(c, &g, &s, &err));
	ck_assert_int_eq(lmd_stream_next(s, &it, -1, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "threads_batch: 1025 threads exceed the limit of 1024"));
	lmd_stream_close(s);
	lmd_client_close(c);
}
END_TEST

/* The section of a model is what its requests leave out; others are not read. */
START_TEST(presets)
{
	const struct lmd_generate g = {.struct_size = sizeof(g),
				       .model = model,
				       .tokens = prompt,
				       .n_tokens = LMD_LEN(prompt),
				       .flags = LMD_GEN_IGNORE_EOG,
				       .n_predict = N_OUT};
	lmd_token want[N_OUT], got[N_OUT];
	struct lmd_client *c = NULL;
	struct lmd_stream *s = NULL;
	struct lmd_item it;
	char path[100], *reply;
	int n = 0;

	generate(client, want); /* greedily */
	put_config(path, sizeof(path),
		   "[nonsense]\nx = y\n[model %s]\ntemp = 0\nctx = 77\nsystem = Be brief.\n");
	OK(open_with(&c, path, 0));
	OK(lmd_client_generate(c, &g, &s, &err));
	do {
		OK(lmd_stream_next(s, &it, -1, &err));
		if (it.kind == LMD_ITEM_TOKEN)
			got[n++] = it.token;
	} while (it.kind != LMD_ITEM_DONE);
	lmd_stream_close(s);
	ck_assert_int_eq(n, N_OUT);
	ck_assert_mem_eq(got, want, sizeof(want));
	OK(lmd_client_call(c, "ps", NULL, &reply, &err));
	ck_assert_ptr_nonnull(strstr(reply, "\"n_ctx\": 77"));
	lmd_client_free(reply);
	lmd_client_close(c);
	put_config(path, sizeof(path), "[model %s]\ntemp = hot\n");
	ck_assert_int_eq(open_with(&c, path, 0), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "llamad.conf:2: key 'temp': 'hot' is not a number"));
	unlink(path);
	ck_assert_int_eq(open_with(&c, path, 0), LMD_NOTFOUND);
}
END_TEST

/* Engines share nothing: closing one leaves the other as it was. */
START_TEST(two_engines)
{
	struct lmd_client *other = open_engine();
	lmd_token a[N_OUT], b[N_OUT];

	generate(client, a);
	generate(other, b);
	ck_assert_mem_eq(a, b, sizeof(a));
	lmd_client_close(other);
	generate(client, b);
	ck_assert_mem_eq(a, b, sizeof(a));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("libllamad");
	TCase *t = tcase_create("library");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, forward_and_sample);
	tcase_add_test(t, rows);
	tcase_add_test(t, samples);
	tcase_add_test(t, embeddings);
	tcase_add_test(t, embeddings_by_request);
	tcase_add_test(t, threads_of_long_steps);
	tcase_add_test(t, presets);
	tcase_add_test(t, two_engines);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * Compares the samplers with expected values from another implementation: what each leaves of a
 * set of candidates, alone, in chains and over several steps.  The README of the parity pack has
 * the rules of comparison. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/engine/sample.h"
#include "core/checkpoint/open.h"
#include "core/plugin/host_services.h"
#include "core/text/tokenizer.h"
#include "tests/lmd_check.h"

struct record {
	int32_t id;
	float logit, raw, p;
};

#define VOCABS_MAX 8

struct vocab {
	char name[64];
	struct lmi_model *model;
	struct lmi_tokenizer *tok;
	struct lmi_sampler_vocab gen;
};

static struct {
	char dir[4096];
	json_t *root;
	float *logits;
	struct record *expect;
	size_t n_logits, n_expect;
	struct lmd_host *host;
	struct lmi_plugin_registry *registry;
	struct vocab vocab[VOCABS_MAX];
	uint32_t n_vocab;
} g;

static void *read_file(const char *name, size_t *n)
{
	char path[4200];
	FILE *f;
	long size;
	void *p;

	snprintf(path, sizeof(path), "%s/%s", g.dir, name);
	f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s", path);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	p = malloc((size_t)size);
	ck_assert_uint_eq(fread(p, 1, (size_t)size, f), (size_t)size);
	fclose(f);
	*n = (size_t)size;
	return p;
}

/* Vocabulary of a case: files of this pack, or of the tokenizer pack. */
static const struct lmd_sample_vocab *vocab_of(const char *name)
{
	struct vocab *v = g.vocab;
	struct lmd_error err = {0};
	char path[4200];

	if (!*name)
		return NULL;
	for (; v < g.vocab + g.n_vocab; v++) {
		if (!strcmp(v->name, name))
			return &v->gen.view;
	}
	ck_assert_uint_lt(g.n_vocab, VOCABS_MAX);
	g.n_vocab++;
	snprintf(v->name, sizeof(v->name), "%s", name);
	snprintf(path, sizeof(path), "%s/%s", g.dir, name);
	if (access(path, R_OK))
		snprintf(path, sizeof(path), "%s/../tokenizers/vocabs/%s", g.dir, name);
	ck_assert_msg(lmi_model_open(&v->model, path, LMI_OPEN_HEADER_ONLY, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_msg(lmi_tokenizer_open(&v->tok, g.registry, g.host,
					 lmi_model_view(v->model)->tok, &err) == LMD_OK,
		      "%s", err.text);
	ck_assert_int_eq(lmi_sampler_vocab_init(&v->gen, v->tok, &err), LMD_OK);
	return &v->gen.view;
}

static void setup(void)
{
	const char *parity = lmd_parity_dir();
	char samplers[4200], tokenizers[4200], path[4200];
	const char *dirs[] = {samplers, tokenizers};
	struct lmd_error err = {0};
	struct lmi_plugin_registry_opts opts = {.dirs = dirs, .n_dirs = 2, .no_default_dirs = true};
	size_t bytes;

	snprintf(samplers, sizeof(samplers), "%s/plugins/sampler/basic/.libs", lmd_build_dir());
	snprintf(tokenizers, sizeof(tokenizers), "%s/plugins/tokenizer/bpe/.libs",
		 lmd_build_dir());
	ck_assert_int_eq(lmi_host_create(&g.host, UINT64_MAX), LMD_OK);
	opts.host = g.host;
	ck_assert_msg(lmi_plugin_registry_create(&g.registry, &opts, &err) == LMD_OK, "%s",
		      err.text);
	if (!parity)
		return;
	snprintf(g.dir, sizeof(g.dir), "%.4000s/samplers", parity);
	g.logits = read_file("logits.f32", &bytes);
	g.n_logits = bytes / sizeof(float);
	g.expect = read_file("expect.bin", &bytes);
	g.n_expect = bytes / sizeof(struct record);
	snprintf(path, sizeof(path), "%s/cases.json", g.dir);
	g.root = json_load_file(path, 0, NULL);
	ck_assert(g.root != NULL);
}

static void teardown(void)
{
	for (uint32_t i = 0; i < g.n_vocab; i++) {
		lmi_tokenizer_close(g.vocab[i].tok);
		lmi_model_close(g.vocab[i].model);
	}
	json_decref(g.root);
	free(g.logits);
	free(g.expect);
	lmi_plugin_registry_destroy(g.registry);
	lmi_host_destroy(g.host);
	memset(&g, 0, sizeof(g));
}

static const char *text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static double number(const json_t *j, const char *key)
{
	return json_number_value(json_object_get(j, key));
}

/* Appends one sampler with its parameters to a list. */
static void add(json_t *list, const char *name, json_t *params)
{
	json_t *o = json_deep_copy(params);

	json_object_set_new(o, "sampler", json_string(name));
	json_array_append_new(list, o);
}

/* Chain of a case: one sampler, or the members of `chain` in order. */
static json_t *chain_of(const json_t *c)
{
	json_t *params = json_object_get(c, "params"), *list = json_array();
	char order[256], *save;

	if (strcmp(text(c, "sampler"), "chain")) {
		add(list, text(c, "sampler"), params);
		return list;
	}
	snprintf(order, sizeof(order), "%s", text(params, "order"));
	for (char *n = strtok_r(order, ",", &save); n; n = strtok_r(NULL, ",", &save)) {
		json_t *p = NULL;

		if (!strcmp(n, "penalties"))
			p = json_pack("{s:f,s:f,s:f,s:i}", "repeat", number(params, "rep"), "freq",
				      number(params, "freq"), "present", number(params, "pres"),
				      "last_n", (int)number(params, "last_n"));
		else if (!strcmp(n, "top_n_sigma"))
			p = json_pack("{s:f}", "n", number(params, "top_n_sigma"));
		else if (!strcmp(n, "top_k"))
			p = json_pack("{s:i}", "k", (int)number(params, "top_k"));
		else if (!strcmp(n, "typical"))
			p = json_pack("{s:f}", "p", number(params, "typ_p"));
		else if (!strcmp(n, "top_p"))
			p = json_pack("{s:f}", "p", number(params, "top_p"));
		else if (!strcmp(n, "min_p"))
			p = json_pack("{s:f}", "p", number(params, "min_p"));
		else if (!strcmp(n, "xtc"))
			p = json_pack("{s:f,s:f}", "p", number(params, "xtc_p"), "threshold",
				      number(params, "xtc_t"));
		else if (!strcmp(n, "temp_ext"))
			p = json_pack("{s:f,s:f,s:f}", "t", number(params, "temp"), "delta",
				      number(params, "dyn"), "exponent", number(params, "dyn_e"));
		else
			p = json_object();
		add(list, n, p);
		json_decref(p);
	}
	return list;
}

static struct lmi_sampler_chain *make(const json_t *c, uint32_t n_vocab, struct lmd_error *err)
{
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_sampler_spec *specs;
	struct lmi_sampler_chain *ch = NULL;
	struct lmi_sampler_chain_opts opts = {.registry = g.registry,
					      .host = g.host,
					      .vocab = vocab_of(text(c, "vocab")),
					      .n_vocab = n_vocab,
					      .partial = true};
	json_t *list = chain_of(c);

	if (lmi_sampler_specs_from_json(list, arena, &specs, &opts.n_specs, err) == LMD_OK) {
		opts.specs = specs;
		if (lmi_sampler_chain_create(&ch, &opts, err) != LMD_OK)
			ch = NULL;
	}
	json_decref(list);
	lmi_arena_destroy(arena);
	return ch;
}

/* Does the sampler only remove candidates, so that their logits keep their bits? */
static bool only_removes(const char *name)
{
	static const char *const names[] = {"greedy", "dist", "top_k", "top_p", "min_p", "typical",
					    "xtc", "top_n_sigma", "infill", "mirostat",
					    "mirostat_v2"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(names[i], name))
			return true;
	}
	return false;
}

static bool near(float got, float want, bool exact)
{
	if (got == want)
		return true;
	return !exact && fabsf(got - want) <= 1e-6f * fmaxf(fabsf(want), 1e-6f);
}

static int by_id(const void *a, const void *b)
{
	const struct lmd_cand *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_logit(const void *a, const void *b)
{
	const struct lmd_cand *x = a, *y = b;

	return (x->logit > y->logit) - (x->logit < y->logit);
}

static int record_by_logit(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return (x->logit > y->logit) - (x->logit < y->logit);
}

static void softmax(struct lmd_cand *v, size_t n)
{
	double max = -INFINITY, sum = 0;

	for (size_t i = 0; i < n; i++)
		max = v[i].logit > max ? (double)v[i].logit : max;
	for (size_t i = 0; i < n; i++)
		sum += exp((double)v[i].logit - max);
	for (size_t i = 0; i < n; i++)
		v[i].p = (float)(exp((double)v[i].logit - max) / sum);
}

static bool same_p(const struct lmd_cand *v, const struct record *want, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (fabsf(v[i].p - v[0].p) > 1e-6f || fabsf(want[i].p - v[0].p) > 1e-6f)
			return false;
	}
	return true;
}

/* Applies the chain to the candidates of a step and compares the result; returns false and the
 * reason if they differ. */
static bool run_step(struct lmi_sampler_chain *ch, const json_t *c, const char *sampler, char *why,
		     size_t why_n)
{
	const json_t *row = json_object_get(json_object_get(g.root, "logits"), text(c, "logits"));
	const json_t *ids = json_object_get(c, "ids_in"), *e = json_object_get(c, "expect");
	size_t n = (size_t)number(row, "n"), first = (size_t)number(row, "first");
	size_t want_n = (size_t)number(e, "n"), at = (size_t)number(e, "first");
	bool tie = json_is_true(json_object_get(c, "cut_through_tie")), ok = true;
	bool typical = !strcmp(sampler, "typical");
	struct lmd_cand *v = calloc(n, sizeof(*v));
	struct lmd_cands cands = {.v = v, .n = n};
	struct record *want;
	enum lmd_status st;
	uint64_t before;

	ck_assert(first + n <= g.n_logits && at + want_n <= g.n_expect);
	for (size_t i = 0; i < n; i++) {
		v[i].id = ids ? (lmd_token)json_integer_value(json_array_get(ids, i))
			      : (lmd_token)i;
		v[i].logit = g.logits[first + i];
	}
	before = lmi_alloc_thread_count();
	st = lmi_sampler_chain_apply(ch, &cands);
	if (lmi_alloc_thread_count() != before || st != LMD_OK) {
		snprintf(why, why_n, "failed with status %d or allocated memory", st);
		free(v);
		return false;
	}
	if (json_object_get(c, "nan")) {
		free(v);
		return true;
	}
	want = malloc(want_n * sizeof(*want));
	memcpy(want, g.expect + at, want_n * sizeof(*want));
	/* Candidates without probability are equal, so any of them may remain. */
	for (size_t i = 0; i < want_n && want_n < n; i++)
		tie |= want[i].logit == -INFINITY;
	if (!strcmp(sampler, "greedy") &&
	    v[cands.selected].id != (lmd_token)number(c, "selected")) {
		snprintf(why, why_n, "chose %d", v[cands.selected].id);
		ok = false;
	}
	if (cands.n != want_n) {
		snprintf(why, why_n, "%zu candidates left, expected %zu", cands.n, want_n);
		ok = false;
	}
	softmax(v, cands.n);
	qsort(v, cands.n, sizeof(*v), tie ? by_logit : by_id);
	if (tie)
		qsort(want, want_n, sizeof(*want), record_by_logit);
	/* Equally probable candidates are equally typical. */
	if (ok && typical && same_p(v, want, want_n))
		want_n = 0;
	for (size_t i = 0; ok && i < want_n; i++) {
		if ((!tie && v[i].id != want[i].id) ||
		    !near(v[i].logit, want[i].logit, only_removes(sampler)) ||
		    fabsf(v[i].p - want[i].p) > 1e-6f + 1e-5f * want[i].p) {
			snprintf(why, why_n,
				 "entry %zu: id %d logit %.9g p %.9g, expected %d %.9g %.9g", i,
				 v[i].id, (double)v[i].logit, (double)v[i].p, want[i].id,
				 (double)want[i].logit, (double)want[i].p);
			ok = false;
		}
	}
	free(want);
	free(v);
	return ok;
}

/* For a candidate without probability the reference computes 0 * log 0, so its entropy is NaN and
 * what it keeps depends on its sort. */
static bool typical_of_zero(const json_t *c)
{
	const json_t *row = json_object_get(json_object_get(g.root, "logits"), text(c, "logits"));
	const json_t *params = json_object_get(c, "params");
	size_t n = (size_t)number(row, "n");
	const float *l = g.logits + (size_t)number(row, "first");
	float max = -INFINITY;

	if (strcmp(text(c, "sampler"), "typical") ? number(params, "typ_p") >= 1 ||
							    !json_object_get(params, "typ_p")
						  : number(params, "p") >= 1)
		return false;
	for (size_t i = 0; i < n; i++)
		max = fmaxf(max, l[i]);
	for (size_t i = 0; i < n; i++) {
		if (expf(l[i] - max) == 0.0f)
			return true;
	}
	return false;
}

struct tally {
	unsigned passed, failed, skipped;
};

static void report(struct tally *t, const char *what, size_t i, const json_t *c, const char *why)
{
	char *params = json_dumps(json_object_get(c, "params"), JSON_COMPACT);

	if (++t->failed <= 20)
		printf("FAILED: %s %zu: %s %s on %s: %s\n", what, i, text(c, "sampler"), params,
		       text(c, "logits"), why);
	free(params);
}

/* Returns true if this case cannot run; reports that once for each sampler. */
static bool skip(const json_t *c, struct tally *t)
{
	static char reported[256];

	if (!typical_of_zero(c))
		return false;
	t->skipped++;
	if (!strstr(reported, text(c, "sampler"))) {
		LMD_SKIP(text(c, "sampler"), "expected from an entropy of NaN on %s",
			 text(c, "logits"));
		snprintf(reported + strlen(reported), sizeof(reported) - strlen(reported), "%s ",
			 text(c, "sampler"));
	}
	return true;
}

static uint32_t row_length(const json_t *c)
{
	return (uint32_t)number(
		json_object_get(json_object_get(g.root, "logits"), text(c, "logits")), "n");
}

START_TEST(cases)
{
	struct tally t = {0};
	const json_t *list = json_object_get(g.root, "cases");

	if (!g.root) {
		LMD_SKIP("cases", "no parity pack");
		return;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i), *h = json_object_get(c, "history");
		struct lmd_error err = {0};
		struct lmi_sampler_chain *ch;
		char why[300];

		if (skip(c, &t))
			continue;
		ch = make(c, row_length(c), &err);
		if (!ch) {
			report(&t, "case", i, c, err.text);
			continue;
		}
		for (size_t k = 0; k < json_array_size(h); k++)
			lmi_sampler_chain_accept(
				ch, (lmd_token)json_integer_value(json_array_get(h, k)), false);
		if (run_step(ch, c, text(c, "sampler"), why, sizeof(why)))
			t.passed++;
		else
			report(&t, "case", i, c, why);
		lmi_sampler_chain_destroy(ch);
	}
	LMD_CASES("samplers", t.passed, t.failed, t.skipped);
	ck_assert_uint_eq(t.failed, 0);
}
END_TEST

START_TEST(sequences)
{
	struct tally t = {0};
	const json_t *list = json_object_get(g.root, "sequences");

	if (!g.root) {
		LMD_SKIP("sequences", "no parity pack");
		return;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i), *steps = json_object_get(c, "steps");
		struct lmd_error err = {0};
		struct lmi_sampler_chain *ch;
		char why[300], at[340];
		bool ok = true;

		if (skip(c, &t))
			continue;
		ch = make(c, 4096, &err);
		if (!ch) {
			report(&t, "sequence", i, c, err.text);
			continue;
		}
		for (size_t k = 0; ok && k < json_array_size(steps); k++) {
			const json_t *s = json_array_get(steps, k);

			ok = run_step(ch, s, text(c, "sampler"), why, sizeof(why));
			snprintf(at, sizeof(at), "step %zu: %s", k, why);
			lmi_sampler_chain_accept(ch, (lmd_token)number(s, "selected"), false);
		}
		if (ok)
			t.passed++;
		else
			report(&t, "sequence", i, c, at);
		lmi_sampler_chain_destroy(ch);
	}
	LMD_CASES("sampler sequences", t.passed, t.failed, t.skipped);
	ck_assert_uint_eq(t.failed, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sampler");
	TCase *t = tcase_create("parity");
	SRunner *r;

	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, cases);
	tcase_add_test(t, sequences);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	return lmd_check_run(r);
}

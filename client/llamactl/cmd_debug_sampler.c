/* SPDX-License-Identifier: MIT
 *
 * llamactl debug sampler: applies a sampler chain to given logits and prints the candidates that
 * remain. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/json_out.h"
#include "client/llamactl/vocab_file.h"
#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/engine/sample.h"
#include "llamad/attr.h"

/* Candidates of a step, tokens of a list, steps. */
#define ITEMS_MAX (1 << 24)

struct tokens {
	lmd_token *id;
	size_t n;
};

struct row {
	float *logit;
	size_t n;
	int64_t accept;       /* -1: nothing */
};

struct job {
	struct lmi_sampler_chain *chain;
	struct lmi_ctl_vocab_file file;
	struct lmi_sampler_vocab vocab;
	struct lmd_arena *arena;
	struct tokens history, ids;
	struct row *rows;
	size_t n_rows;
	struct lmd_cand *cand; /* room for the longest row */
	bool json, steps;
	struct lmi_ctl_json out;
};

/* Input */

static enum lmd_status read_row(const char *path, struct lmd_arena *arena, struct row *out,
				struct lmd_error *err)
{
	struct lmi_file f;
	enum lmd_status st = lmi_file_open(&f, path, err);

	if (st != LMD_OK)
		return st;
	out->n = (size_t)(f.bytes / sizeof(float));
	if (!f.bytes || f.bytes % sizeof(float) || f.bytes / sizeof(float) > ITEMS_MAX)
		st = lmd_fail(err, LMD_INVALID, "%s: %llu bytes are not 1 to %d values of float32",
			      path, (unsigned long long)f.bytes, ITEMS_MAX);
	else if (!(out->logit = lmi_arena_array(arena, out->n, sizeof(float))))
		st = lmd_fail(err, LMD_NOMEM, "%s: no memory for %zu values", path, out->n);
	else
		st = lmi_file_read(&f, 0, out->logit, out->n * sizeof(float), err);
	lmi_file_close(&f);
	return st;
}

/* "1,2,3"; NULL or empty: none. */
static enum lmd_status read_tokens(const char *what, const char *text, struct lmd_arena *arena,
				   struct tokens *out, struct lmd_error *err)
{
	size_t n = 1;

	if (!text || !*text)
		return LMD_OK;
	for (const char *p = text; *p; p++)
		n += *p == ',';
	out->id = lmi_arena_array(arena, n, sizeof(*out->id));
	if (n > ITEMS_MAX || !out->id)
		return lmd_fail(err, LMD_NOMEM, "%s: too many tokens: %zu", what, n);
	for (const char *p = text; out->n < n; p++) {
		char *end;
		long v;

		errno = 0;
		v = strtol(p, &end, 10);
		if (end == p || (*end && *end != ',') || errno || v < 0 || v > INT32_MAX)
			return lmd_fail(err, LMD_INVALID, "%s: \"%.40s\" is not a token id", what,
					p);
		out->id[out->n++] = (lmd_token)v;
		p = end;
	}
	return LMD_OK;
}

static enum lmd_status read_step(struct job *j, const json_t *step, size_t i, struct lmd_error *err)
{
	const json_t *file = json_object_get(step, "logits"), *id = json_object_get(step, "accept");

	if (!json_is_string(file))
		return lmd_fail(err, LMD_INVALID, "step %zu has no string \"logits\"", i);
	if (id && (!json_is_integer(id) || json_integer_value(id) < 0 ||
		   json_integer_value(id) > INT32_MAX))
		return lmd_fail(err, LMD_INVALID, "step %zu: \"accept\" is not a token id", i);
	j->rows[i].accept = id ? json_integer_value(id) : -1;
	return read_row(json_string_value(file), j->arena, &j->rows[i], err);
}

static enum lmd_status read_steps(struct job *j, const char *path, struct lmd_error *err)
{
	json_error_t je;
	json_t *list = json_load_file(path, 0, &je);
	enum lmd_status st = LMD_OK;

	j->n_rows = json_array_size(list);
	if (!json_is_array(list) || !j->n_rows || j->n_rows > ITEMS_MAX)
		st = lmd_fail(err, LMD_INVALID, "%s: %s", path,
			      list ? "it is not a list of steps" : je.text);
	if (st == LMD_OK) {
		j->rows = lmi_arena_array(j->arena, j->n_rows, sizeof(*j->rows));
		if (!j->rows)
			st = lmd_fail(err, LMD_NOMEM, "%s: no memory for %zu steps", path,
				      j->n_rows);
	}
	for (size_t i = 0; i < j->n_rows && st == LMD_OK; i++) {
		st = read_step(j, json_array_get(list, i), i, err);
		if (st != LMD_OK)
			lmd_error_prefix(err, path);
	}
	json_decref(list);
	return st;
}

static enum lmd_status read_input(struct job *j, struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *steps = lmi_arg_str(&ctl->args, "steps");
	const char *logits = lmi_arg_str(&ctl->args, "logits");
	enum lmd_status st;

	if (!steps == !logits)
		return lmi_ctl_usage(ctl, err, "give exactly one of --logits and --steps");
	j->steps = steps != NULL;
	st = read_tokens("--history", lmi_arg_str(&ctl->args, "history"), j->arena, &j->history,
			 err);
	if (st == LMD_OK)
		st = read_tokens("--ids", lmi_arg_str(&ctl->args, "ids"), j->arena, &j->ids, err);
	if (st != LMD_OK)
		return st;
	if (steps)
		return read_steps(j, steps, err);
	j->n_rows = 1;
	j->rows = lmi_arena_array(j->arena, 1, sizeof(*j->rows));
	if (!j->rows)
		return lmd_fail(err, LMD_NOMEM, "no memory for a row");
	j->rows->accept = -1;
	return read_row(logits, j->arena, j->rows, err);
}

/* The chain */

/* One more than the largest token id that can be a candidate. */
static uint32_t vocabulary(const struct job *j)
{
	uint32_t n = j->file.tok ? lmi_tokenizer_info(j->file.tok)->n_tokens : 0;

	for (size_t i = 0; i < j->ids.n; i++)
		n = (uint32_t)j->ids.id[i] >= n ? (uint32_t)j->ids.id[i] + 1 : n;
	for (size_t i = 0; i < j->n_rows && !j->ids.n; i++)
		n = j->rows[i].n > n ? (uint32_t)j->rows[i].n : n;
	return n;
}

static enum lmd_status make_chain(struct job *j, struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_sampler_chain_opts opts = {.partial = true, .n_vocab = vocabulary(j)};
	const char *text = lmi_arg_str(&ctl->args, "chain");
	struct lmi_sampler_spec *specs;
	enum lmd_status st = lmi_ctl_registry(ctl, &opts.registry, err);

	if (st == LMD_OK)
		st = lmi_ctl_host(ctl, &opts.host, err);
	if (st == LMD_OK)
		st = lmi_sampler_specs_parse(text, strlen(text), j->arena, &specs, &opts.n_specs,
					     err);
	if (st != LMD_OK)
		return st;
	opts.specs = specs;
	if (j->file.tok) {
		st = lmi_sampler_vocab_init(&j->vocab, j->file.tok, err);
		opts.vocab = &j->vocab.view;
	}
	if (st == LMD_OK)
		st = lmi_sampler_chain_create(&j->chain, &opts, err);
	for (size_t i = 0; i < j->history.n && st == LMD_OK; i++)
		lmi_sampler_chain_accept(j->chain, j->history.id[i], false);
	return st;
}

static enum lmd_status prepare(struct job *j, struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *vocab = lmi_arg_str(&ctl->args, "vocab");
	size_t longest = 0;
	enum lmd_status st = LMD_OK;

	if (!lmi_arg_str(&ctl->args, "chain"))
		return lmi_ctl_usage(ctl, err, "option '--chain' is missing");
	st = read_input(j, ctl, err);
	if (st == LMD_OK && vocab)
		st = lmi_ctl_vocab_file_open(&j->file, ctl, vocab, NULL, err);
	if (st != LMD_OK)
		return st;
	for (size_t i = 0; i < j->n_rows; i++) {
		longest = j->rows[i].n > longest ? j->rows[i].n : longest;
		if (j->ids.n && j->ids.n != j->rows[i].n)
			return lmd_fail(err, LMD_INVALID,
					"--ids: %zu tokens, but there are %zu logits", j->ids.n,
					j->rows[i].n);
	}
	j->cand = lmi_arena_array(j->arena, longest, sizeof(*j->cand));
	if (!j->cand)
		return lmd_fail(err, LMD_NOMEM, "no memory for %zu candidates", longest);
	return make_chain(j, ctl, err);
}

/* Output */

/* If the maximum is infinite, the candidates at it share the whole probability. */
static double weight(const struct lmd_cand *c, double max)
{
	double x = isnan(c->logit) ? -INFINITY : (double)c->logit;

	return isinf(max) ? x == max : exp(x - max);
}

/* Sets p to the softmax over the remaining candidates. */
static void set_p(struct lmd_cands *c)
{
	double max = -INFINITY, sum = 0;

	for (size_t i = 0; i < c->n; i++)
		max = (double)c->v[i].logit > max ? (double)c->v[i].logit : max;
	for (size_t i = 0; i < c->n; i++)
		sum += weight(&c->v[i], max);
	for (size_t i = 0; i < c->n; i++)
		c->v[i].p = (float)(weight(&c->v[i], max) / sum);
}

static void print(struct job *j, struct lmd_cands *c)
{
	set_p(c);
	if (j->json)
		lmi_ctl_json_array(&j->out, NULL);
	for (size_t i = 0; i < c->n; i++) {
		if (j->json) {
			lmi_ctl_json_flat_object(&j->out, NULL);
			lmi_ctl_json_int(&j->out, "id", c->v[i].id);
			lmi_ctl_json_f32(&j->out, "logit", c->v[i].logit);
			lmi_ctl_json_f32(&j->out, "p", c->v[i].p);
			lmi_ctl_json_end(&j->out);
		} else {
			printf("%8d  %12.6g  %.6g%s\n", c->v[i].id, (double)c->v[i].logit,
			       (double)c->v[i].p, (int64_t)i == c->selected ? "  *" : "");
		}
	}
	if (j->json)
		lmi_ctl_json_end(&j->out);
	else if (j->steps)
		putchar('\n');
}

static enum lmd_status one_step(struct job *j, const struct row *row, struct lmd_error *err)
{
	struct lmd_cands c = {.v = j->cand, .n = row->n};
	enum lmd_status st;

	for (size_t i = 0; i < row->n; i++)
		j->cand[i] = (struct lmd_cand){.id = j->ids.n ? j->ids.id[i] : (lmd_token)i,
					       .logit = row->logit[i]};
	st = lmi_sampler_chain_apply(j->chain, &c);
	if (st != LMD_OK)
		return lmd_fail(err, st, "--chain: a sampler left no candidate");
	print(j, &c);
	if (row->accept >= 0)
		lmi_sampler_chain_accept(j->chain, (lmd_token)row->accept, false);
	return LMD_OK;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct job j = {.json = lmi_arg_flag(&ctl->args, "json"), .arena = lmi_arena_create(0)};
	enum lmd_status st;

	if (!j.arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for candidates");
	st = prepare(&j, ctl, err);
	if (st == LMD_OK && j.json) {
		lmi_ctl_json_init(&j.out, stdout);
		if (j.steps)
			lmi_ctl_json_array(&j.out, NULL);
	}
	for (size_t i = 0; i < j.n_rows && st == LMD_OK; i++)
		st = one_step(&j, &j.rows[i], err);
	if (st == LMD_OK && j.json) {
		if (j.steps)
			lmi_ctl_json_end(&j.out);
		lmi_ctl_json_fini(&j.out);
	}
	lmi_sampler_chain_destroy(j.chain);
	lmi_ctl_vocab_file_close(&j.file);
	lmi_arena_destroy(j.arena);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "chain",
	 .type = LMI_OPT_STR,
	 .value = "JSON",
	 .doc = "The sampler chain, such as '[{\"sampler\": \"top_k\", \"k\": 5}]'."},
	{.name = "logits",
	 .type = LMI_OPT_STR,
	 .value = "F.f32",
	 .doc = "File with one row of logits (float32)."},
	{.name = "steps",
	 .type = LMI_OPT_STR,
	 .value = "FILE.json",
	 .doc = "File with several rows, sampled in order with the state kept between them: a "
		"list of {\"logits\": F, \"accept\": ID}."},
	{.name = "history",
	 .type = LMI_OPT_STR,
	 .value = "IDS",
	 .doc = "Token ids accepted before, oldest first: 1,2,3."},
	{.name = "ids",
	 .type = LMI_OPT_STR,
	 .value = "IDS",
	 .def_text = "0, 1, 2 and so on",
	 .doc = "Token ids that the logits belong to."},
	{.name = "vocab",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "Model file, for samplers that need the text of tokens."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_debug_sampler = {
	.name = "debug sampler",
	.brief = "Apply a sampler chain to given logits",
	.doc = "Prints the token id, the logit and the probability of each remaining candidate. "
	       "Without --json, * marks the chosen token if the chain chooses one.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};

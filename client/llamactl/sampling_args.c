/* SPDX-License-Identifier: MIT
 *
 * Reads the sampling options from their table. */
#include "client/llamactl/sampling_args.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/engine/sample.h"

struct row {
	const char *opt;
	enum lmi_opt_type type;
	/* offset in struct lmi_wire_req_generate: int64_t for LMI_OPT_INT, else double */
	size_t member_at;
};

#define ROW(type_, opt_, member_, field_, value_, min_, max_, def_, doc_)                          \
	{opt_, LMI_OPT_##type_, offsetof(struct lmi_wire_req_generate, member_)},
static const struct row rows[] = {LMI_CTL_SAMPLING(ROW)};

/* "ID=X" */
static enum lmd_status parse_bias(const char *text, struct lmd_bias *out, struct lmd_error *err)
{
	const char *eq = strchr(text, '=');
	char id_text[24];
	int64_t id;
	double x = -INFINITY;
	enum lmd_status st;

	if (!eq)
		return lmd_fail(err, LMD_INVALID, "--logit-bias '%.60s' is not ID=X", text);
	(void)snprintf(id_text, sizeof(id_text), "%.*s", (int)(eq - text < 23 ? eq - text : 23),
		       text);
	st = lmi_cli_parse_int("--logit-bias", id_text, &id, err);
	if (st == LMD_OK && (id < 0 || id > INT32_MAX))
		return lmd_fail(err, LMD_INVALID, "--logit-bias: token %lld must be 0..%d",
				(long long)id, INT32_MAX);
	if (st == LMD_OK && strcmp(eq + 1, "-inf"))
		st = lmi_cli_parse_float("--logit-bias", eq + 1, &x, err);
	if (st == LMD_OK)
		*out = (struct lmd_bias){.id = (lmd_token)id, .bias = (float)x};
	return st;
}

/* *out is allocated in the arena and has *n elements. */
static enum lmd_status parse_biases(const struct lmi_args *a, struct lmd_arena *arena,
				    struct lmd_bias **out, uint32_t *n, struct lmd_error *err)
{
	const char *const *list;
	enum lmd_status st = LMD_OK;

	*n = lmi_arg_list(a, "logit-bias", &list);
	*out = lmi_arena_array(arena, *n + 1, sizeof(**out));
	if (!*out)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u biases", *n);
	for (uint32_t i = 0; i < *n && st == LMD_OK; i++)
		st = parse_bias(list[i], &(*out)[i], err);
	return st;
}

/* ---- the chain ---- */

/* Returns the text of --chain, or NULL. An option that --chain would override is an error. */
static enum lmd_status chain_text(struct lmi_ctl *ctl, const char **out, struct lmd_error *err)
{
	static const char *const others[] = {"dry-breaker", "logit-bias", "order"};
	const struct lmi_args *a = &ctl->args;

	*out = lmi_arg_str(a, "chain");
	for (size_t i = 0; *out && i < LMD_LEN(rows) + LMD_LEN(others); i++) {
		const char *opt = i < LMD_LEN(rows) ? rows[i].opt : others[i - LMD_LEN(rows)];

		if (lmi_arg_given(a, opt))
			return lmi_ctl_usage(
				ctl, err,
				"--chain and --%s exclude each other: put the parameter "
				"into the chain",
				opt);
	}
	return LMD_OK;
}

/* Converts the text of --chain. */
static enum lmd_status read_chain(struct lmi_wire_req_generate *q, const char *text,
				  struct lmd_arena *arena, struct lmd_error *err)
{
	struct lmi_sampler_spec *specs;
	struct lmi_wire_sampler *chain;
	uint32_t n;
	enum lmd_status st =
		lmi_sampler_specs_parse(text, strlen(text), arena, &specs, &n, err);

	if (st != LMD_OK) {
		lmd_error_prefix(err, "--chain");
		return st;
	}
	chain = lmi_arena_array(arena, n + 1, sizeof(*chain));
	for (uint32_t i = 0; chain && i < n; i++) {
		uint32_t n_args = specs[i].n_args;
		struct lmi_wire_arg *args =
			lmi_arena_array(arena, n_args + 1, sizeof(*args));

		if (!args)
			return lmd_fail(err, LMD_NOMEM, "no memory for samplers");
		for (uint32_t k = 0; k < n_args; k++)
			args[k] = (struct lmi_wire_arg){.name = specs[i].args[k].name,
								.type = specs[i].args[k].type,
								.v = specs[i].args[k].v};
		chain[i] = (struct lmi_wire_sampler){
			.name = specs[i].name, .args = args, .n_args = n_args};
	}
	if (!chain)
		return lmd_fail(err, LMD_NOMEM, "no memory for samplers");
	q->has_chain = true;
	q->chain = chain;
	q->n_chain = n;
	return LMD_OK;
}

enum lmd_status lmi_ctl_arg_texts(const struct lmi_args *a, const char *opt,
				  struct lmd_arena *arena, const struct lmd_str **out, uint32_t *n,
				  struct lmd_error *err)
{
	const char *const *list;
	struct lmd_str *v;

	*n = lmi_arg_list(a, opt, &list);
	v = lmi_arena_array(arena, *n + 1, sizeof(*v));
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "--%s: no memory for %u texts", opt, *n);
	for (uint32_t i = 0; i < *n; i++)
		v[i] = (struct lmd_str){.ptr = list[i], .len = strlen(list[i])};
	*out = v;
	return LMD_OK;
}

enum lmd_status lmi_ctl_sampling(struct lmi_wire_req_generate *q, struct lmi_ctl *ctl,
				 struct lmd_arena *arena, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *order = lmi_arg_str(a, "order"), *chain;
	struct lmd_bias *bias;
	enum lmd_status st = chain_text(ctl, &chain, err);

	if (st != LMD_OK || chain)
		return st == LMD_OK ? read_chain(q, chain, arena, err) : st;
	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		char *member = (char *)q + rows[i].member_at;

		if (!lmi_arg_given(a, rows[i].opt))
			continue;
		if (rows[i].type == LMI_OPT_INT)
			*(int64_t *)(void *)member = lmi_arg_int(a, rows[i].opt);
		else
			*(double *)(void *)member = lmi_arg_float(a, rows[i].opt);
	}
	if (order) {
		q->has_order = true;
		q->order = (struct lmd_str){.ptr = order, .len = strlen(order)};
	}
	st = lmi_ctl_arg_texts(a, "dry-breaker", arena, &q->dry_breakers, &q->n_dry_breakers, err);
	q->has_dry_breakers = q->n_dry_breakers > 0;
	if (st == LMD_OK)
		st = parse_biases(a, arena, &bias, &q->n_logit_bias, err);
	if (st == LMD_OK)
		q->logit_bias = bias;
	return st;
}

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

/* An option and the member of struct lmi_wire_req_generate that it sets. */
static const struct row {
	const char *opt;
	enum lmd_param_type type;
	bool optional; /* the member has a flag that says whether it is given; so have all numbers */
	size_t at, n_at, has_at; /* offsets; n_at only for lists */
} rows[] = {LMI_CTL_SAMPLING_ROWS};

/* The chain has no say in this one. */
static const struct row stop_token = {.opt = "stop-token",
				      .type = LMD_PARAM_TOKENS,
				      .at = offsetof(struct lmi_wire_req_generate, stop_tokens),
				      .n_at = offsetof(struct lmi_wire_req_generate, n_stop_tokens)};

static enum lmd_status parse_token(const char *opt, const char *text, lmd_token *out,
				   struct lmd_error *err)
{
	char what[48];
	int64_t id;
	enum lmd_status st;

	(void)snprintf(what, sizeof(what), "--%s", opt);
	st = lmi_cli_parse_int(what, text, &id, err);
	if (st == LMD_OK && (id < 0 || id > INT32_MAX))
		return lmd_fail(err, LMD_INVALID, "%s: token %lld must be 0..%d", what,
				(long long)id, INT32_MAX);
	if (st == LMD_OK)
		*out = (lmd_token)id;
	return st;
}

/* "ID=X" */
static enum lmd_status parse_bias(const char *opt, const char *text, struct lmd_bias *out,
				  struct lmd_error *err)
{
	const char *eq = strchr(text, '=');
	char id_text[24], what[48];
	double x = -INFINITY;
	enum lmd_status st;

	if (!eq)
		return lmd_fail(err, LMD_INVALID, "--%s '%.60s' is not ID=X", opt, text);
	(void)snprintf(id_text, sizeof(id_text), "%.*s", (int)(eq - text < 23 ? eq - text : 23),
		       text);
	(void)snprintf(what, sizeof(what), "--%s", opt);
	st = parse_token(opt, id_text, &out->id, err);
	if (st == LMD_OK && strcmp(eq + 1, "-inf"))
		st = lmi_cli_parse_float(what, eq + 1, &x, err);
	out->bias = (float)x;
	return st;
}

/* Sets the member of a row to the values of its option, which may be repeated. */
static enum lmd_status take_list(char *q, const struct row *r, const struct lmi_args *a,
				 struct lmd_arena *arena, struct lmd_error *err)
{
	const char *const *list;
	uint32_t n = lmi_arg_list(a, r->opt, &list);
	enum lmd_status st = LMD_OK;

	if (r->optional && n == 1 && !list[0][0]) {
		n = 0; /* an empty list, which is not the default */
	} else if (r->type == LMD_PARAM_STRS) {
		st = lmi_ctl_arg_texts(a, r->opt, arena,
				       (const struct lmd_str **)(void *)(q + r->at), &n, err);
	} else if (r->type == LMD_PARAM_TOKENS) {
		lmd_token *t = lmi_arena_array(arena, n + 1, sizeof(*t));

		if (!t)
			return lmd_fail(err, LMD_NOMEM, "--%s: no memory for %u values", r->opt, n);
		for (uint32_t i = 0; i < n && st == LMD_OK; i++)
			st = parse_token(r->opt, list[i], &t[i], err);
		*(const lmd_token **)(void *)(q + r->at) = t;
	} else {
		struct lmd_bias *bias = lmi_arena_array(arena, n + 1, sizeof(*bias));

		if (!bias)
			return lmd_fail(err, LMD_NOMEM, "--%s: no memory for %u values", r->opt, n);
		for (uint32_t i = 0; i < n && st == LMD_OK; i++)
			st = parse_bias(r->opt, list[i], &bias[i], err);
		*(const struct lmd_bias **)(void *)(q + r->at) = bias;
	}
	*(uint32_t *)(void *)(q + r->n_at) = n;
	if (r->optional)
		*(bool *)(void *)(q + r->has_at) = true;
	return st;
}

static enum lmd_status take(char *q, const struct row *r, const struct lmi_args *a,
			    struct lmd_arena *arena, struct lmd_error *err)
{
	if (!lmi_arg_given(a, r->opt))
		return LMD_OK;
	if (r->type == LMD_PARAM_INT)
		*(int64_t *)(void *)(q + r->at) = lmi_arg_int(a, r->opt);
	else if (r->type == LMD_PARAM_FLOAT)
		*(double *)(void *)(q + r->at) = lmi_arg_float(a, r->opt);
	else
		return take_list(q, r, a, arena, err);
	*(bool *)(void *)(q + r->has_at) = true;
	return LMD_OK;
}

/* ---- the chain ---- */

/* Returns the text of --chain, or NULL. An option that --chain would override is an error. */
static enum lmd_status chain_text(struct lmi_ctl *ctl, const char **out, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;

	*out = lmi_arg_str(a, "chain");
	for (size_t i = 0; *out && i <= LMD_LEN(rows); i++) {
		const char *opt = i < LMD_LEN(rows) ? rows[i].opt : "order";

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
	enum lmd_status st = take((char *)q, &stop_token, a, arena, err);

	if (st == LMD_OK)
		st = chain_text(ctl, &chain, err);
	if (st != LMD_OK || chain)
		return st == LMD_OK ? read_chain(q, chain, arena, err) : st;
	if (order) {
		q->has_order = true;
		q->order = (struct lmd_str){.ptr = order, .len = strlen(order)};
	}
	for (size_t i = 0; i < LMD_LEN(rows) && st == LMD_OK; i++)
		st = take((char *)q, &rows[i], a, arena, err);
	return st;
}

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

#define ARENA_BYTES (64u << 20)

struct row {
	const char *opt, *member;
	enum lmi_opt_type type;
	/* offset in struct lmi_sampler_params: int64_t for LMI_OPT_INT, else double */
	size_t field;
};

#define ROW(type_, opt_, member_, field_, value_, min_, max_, def_, doc_)                          \
	{opt_, #member_, LMI_OPT_##type_, offsetof(struct lmi_sampler_params, field_)},
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

static enum lmd_status read_params(struct lmi_sampler_params *p, const struct lmi_args *a,
				   struct lmd_arena *arena, struct lmd_error *err)
{
	const char *const *list;
	uint32_t n = lmi_arg_list(a, "dry-breaker", &list);
	struct lmd_str *breakers = lmi_arena_array(arena, n + 1, sizeof(*breakers));
	struct lmd_bias *bias;
	enum lmd_status st;

	lmi_sampler_params_default(p);
	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		char *field = (char *)p + rows[i].field;

		if (!lmi_arg_given(a, rows[i].opt))
			continue;
		if (rows[i].type == LMI_OPT_INT)
			*(int64_t *)(void *)field = lmi_arg_int(a, rows[i].opt);
		else
			*(double *)(void *)field = lmi_arg_float(a, rows[i].opt);
	}
	st = parse_biases(a, arena, &bias, &p->n_bias, err);
	if (st != LMD_OK)
		return st;
	p->bias = bias;
	if (!breakers)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u texts", n);
	for (uint32_t i = 0; i < n; i++)
		breakers[i] = (struct lmd_str){.ptr = list[i], .len = strlen(list[i])};
	p->dry_breakers = n ? breakers : NULL;
	p->n_dry_breakers = n;
	return LMD_OK;
}

/* Builds the chain from the parameters and --order. */
static enum lmd_status ordered(struct lmi_ctl_sampling_chain *c, const struct lmi_args *a,
			       int64_t n_ctx, struct lmd_error *err)
{
	const char *order = lmi_arg_str(a, "order");
	struct lmi_sampler_params *p = lmi_arena_array(c->arena, 1, sizeof(*p));
	struct lmi_sampler_spec_list *list = lmi_arena_array(c->arena, 1, sizeof(*list));
	char *names = lmi_arena_array(c->arena, LMI_SAMPLER_ORDER_MAX, 1);
	enum lmd_status st;

	if (!p || !list || !names)
		return lmd_fail(err, LMD_NOMEM, "no memory for samplers");
	st = read_params(p, a, c->arena, err);
	p->n_ctx = n_ctx;
	if (st == LMD_OK)
		st = lmi_sampler_specs_order(
			list, p, (struct lmd_str){.ptr = order, .len = order ? strlen(order) : 0},
			names, err);
	if (st == LMD_OK) {
		c->specs = list->spec;
		c->n_specs = list->n;
	}
	return st;
}

enum lmd_status lmi_ctl_sampling_chain(struct lmi_ctl_sampling_chain *out, struct lmi_ctl *ctl,
				       int64_t n_ctx, struct lmd_error *err)
{
	struct lmi_sampler_spec *specs;
	const char *text;
	enum lmd_status st = chain_text(ctl, &text, err);

	*out = (struct lmi_ctl_sampling_chain){0};
	if (st != LMD_OK)
		return st;
	out->arena = lmi_arena_create(ARENA_BYTES);
	if (!out->arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for samplers");
	if (!text)
		return ordered(out, &ctl->args, n_ctx, err);
	st = lmi_sampler_specs_parse(text, strlen(text), out->arena, &specs, &out->n_specs, err);
	if (st == LMD_OK)
		out->specs = specs;
	else
		lmd_error_prefix(err, "--chain");
	return st;
}

void lmi_ctl_sampling_chain_fini(struct lmi_ctl_sampling_chain *c)
{
	lmi_arena_destroy(c->arena);
	*c = (struct lmi_ctl_sampling_chain){0};
}

/* ---- members of a request ---- */

static enum lmd_status give_chain(json_t *m, const char *text, struct lmd_error *err)
{
	json_error_t je;
	json_t *chain = json_loads(text, 0, &je);

	if (!json_is_array(chain)) {
		json_decref(chain);
		return lmd_fail(err, LMD_INVALID, "--chain: %s",
				chain ? "must be a JSON array of samplers" : je.text);
	}
	(void)json_object_set_new(m, "chain", chain);
	return LMD_OK;
}

static enum lmd_status give_biases(json_t *m, const struct lmi_args *a, struct lmd_error *err)
{
	struct lmd_arena *arena = lmi_arena_create(ARENA_BYTES);
	json_t *list = json_array();
	struct lmd_bias *bias;
	uint32_t n;
	enum lmd_status st = arena ? parse_biases(a, arena, &bias, &n, err)
				   : lmd_fail(err, LMD_NOMEM, "no memory for biases");

	for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
		json_t *x = isinf(bias[i].bias) ? json_string("-inf")
						: json_real((double)bias[i].bias);

		(void)json_array_append_new(list, json_pack("[i, o]", (int)bias[i].id, x));
	}
	if (st == LMD_OK && n)
		(void)json_object_set(m, "logit_bias", list);
	lmi_arena_destroy(arena);
	json_decref(list);
	return st;
}

enum lmd_status lmi_ctl_sampling_members(json_t *m, struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *order = lmi_arg_str(a, "order"), *chain;
	const char *const *list;
	uint32_t n = lmi_arg_list(a, "dry-breaker", &list);
	enum lmd_status st = chain_text(ctl, &chain, err);
	json_t *texts;

	if (st != LMD_OK || chain)
		return st == LMD_OK ? give_chain(m, chain, err) : st;
	texts = json_array();

	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		const char *opt = rows[i].opt;

		if (lmi_arg_given(a, opt))
			(void)json_object_set_new(m, rows[i].member,
						  rows[i].type == LMI_OPT_INT
							  ? json_integer(lmi_arg_int(a, opt))
							  : json_real(lmi_arg_float(a, opt)));
	}
	for (uint32_t i = 0; i < n; i++)
		(void)json_array_append_new(texts, json_string(list[i]));
	if (n)
		(void)json_object_set(m, "dry_breakers", texts);
	json_decref(texts);
	if (order)
		(void)json_object_set_new(m, "order", json_string(order));
	return give_biases(m, a, err);
}

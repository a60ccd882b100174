/* SPDX-License-Identifier: MIT
 *
 * The sampling options, read from their table. */
#include "client/llamactl/sampling_args.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

struct row {
	const char *opt, *member;
	enum lmi_opt_type type;
	size_t field; /* of struct lmi_sample_params: int64_t for LMI_OPT_INT, else double */
};

#define ROW(type_, opt_, member_, field_, value_, min_, max_, doc_)                                \
	{opt_, #member_, LMI_OPT_##type_, offsetof(struct lmi_sample_params, field_)},
static const struct row rows[] = {LMI_SAMPLING(ROW)};

/* "ID=X" */
static enum lmd_status parse_bias(const char *text, struct lmd_bias *out, struct lmd_error *err)
{
	const char *eq = strchr(text, '=');
	char id_text[24];
	int64_t id;
	double x = -INFINITY;
	enum lmd_status st;

	if (!eq)
		return lmd_fail(err, LMD_INVALID, "--logit-bias '%.60s': must be ID=X", text);
	(void)snprintf(id_text, sizeof(id_text), "%.*s", (int)(eq - text < 23 ? eq - text : 23),
		       text);
	st = lmi_parse_int("--logit-bias", id_text, &id, err);
	if (st == LMD_OK && (id < 0 || id > INT32_MAX))
		return lmd_fail(err, LMD_INVALID, "--logit-bias: token %lld: must be 0..%d",
				(long long)id, INT32_MAX);
	if (st == LMD_OK && strcmp(eq + 1, "-inf"))
		st = lmi_parse_float("--logit-bias", eq + 1, &x, err);
	if (st == LMD_OK)
		*out = (struct lmd_bias){.id = (lmd_token)id, .bias = (float)x};
	return st;
}

static enum lmd_status parse_biases(const struct lmi_args *a, struct lmd_bias **out, uint32_t *n,
				    struct lmd_error *err)
{
	const char *const *list;
	enum lmd_status st = LMD_OK;

	*n = lmi_arg_list(a, "logit-bias", &list);
	*out = lmi_alloc(*n + 1, sizeof(**out));
	if (!*out)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u biases", *n);
	for (uint32_t i = 0; i < *n && st == LMD_OK; i++)
		st = parse_bias(list[i], &(*out)[i], err);
	if (st != LMD_OK) {
		lmi_free(*out);
		*out = NULL;
	}
	return st;
}

enum lmd_status lmi_sampling_args(struct lmi_sampling_args *out, const struct lmi_args *a,
				  int64_t n_ctx, struct lmd_error *err)
{
	struct lmi_sampling_args s = {0};
	const char *const *list;
	uint32_t n = lmi_arg_list(a, "dry-breaker", &list);
	enum lmd_status st;

	lmi_sample_params_default(&s.p);
	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		char *field = (char *)&s.p + rows[i].field;

		if (!lmi_arg_given(a, rows[i].opt))
			continue;
		if (rows[i].type == LMI_OPT_INT)
			*(int64_t *)(void *)field = lmi_arg_int(a, rows[i].opt);
		else
			*(double *)(void *)field = lmi_arg_float(a, rows[i].opt);
	}
	s.p.n_ctx = n_ctx;
	st = parse_biases(a, &s.bias, &s.p.n_bias, err);
	if (st != LMD_OK)
		return st;
	s.p.bias = s.bias;
	if (n) {
		s.breakers = lmi_alloc(n, sizeof(*s.breakers));
		if (!s.breakers) {
			lmi_sampling_args_fini(&s);
			return lmd_fail(err, LMD_NOMEM, "no memory for %u texts", n);
		}
		for (uint32_t i = 0; i < n; i++)
			s.breakers[i] = (struct lmd_str){.ptr = list[i], .len = strlen(list[i])};
		s.p.dry_breakers = s.breakers;
		s.p.n_dry_breakers = n;
	}
	*out = s;
	return LMD_OK;
}

void lmi_sampling_args_fini(struct lmi_sampling_args *s)
{
	lmi_free(s->bias);
	lmi_free(s->breakers);
	*s = (struct lmi_sampling_args){0};
}

static enum lmd_status give_biases(json_t *m, const struct lmi_args *a, struct lmd_error *err)
{
	json_t *list = json_array();
	struct lmd_bias *bias;
	uint32_t n;
	enum lmd_status st = parse_biases(a, &bias, &n, err);

	for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
		json_t *x = isinf(bias[i].bias) ? json_string("-inf")
						: json_real((double)bias[i].bias);

		(void)json_array_append_new(list, json_pack("[i, o]", (int)bias[i].id, x));
	}
	if (st == LMD_OK && n)
		(void)json_object_set(m, "logit_bias", list);
	if (st == LMD_OK)
		lmi_free(bias);
	json_decref(list);
	return st;
}

enum lmd_status lmi_sampling_members(json_t *m, const struct lmi_args *a, struct lmd_error *err)
{
	const char *const *list;
	uint32_t n = lmi_arg_list(a, "dry-breaker", &list);
	json_t *texts = json_array();

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
	return give_biases(m, a, err);
}

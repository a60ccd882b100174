/* SPDX-License-Identifier: MIT */
#include "core/engine/sample_args.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *type_text(uint32_t type)
{
	switch ((enum lmd_param_type)type) {
	case LMD_PARAM_INT:
		return "a whole number";
	case LMD_PARAM_FLOAT:
		return "a number";
	case LMD_PARAM_BOOL:
		return "true or false";
	case LMD_PARAM_STR:
		return "a text";
	case LMD_PARAM_STRS:
		return "a list of texts";
	case LMD_PARAM_BIAS:
		return "a list of pairs of token and number";
	case LMD_PARAM_TOKENS:
		return "a list of tokens";
	}
	return "a value of an unknown type";
}

static bool str_is(const struct lmd_str *s, const char *word)
{
	return s->len == strlen(word) && !memcmp(s->ptr, word, s->len);
}

static bool to_float(const struct lmi_sampler_arg *a, double *out)
{
	if (a->type == LMD_PARAM_FLOAT)
		*out = a->v.f;
	else if (a->type == LMD_PARAM_INT)
		*out = (double)a->v.i;
	else if (a->type == LMD_PARAM_STR && str_is(a->v.s, "-inf"))
		*out = -INFINITY;
	else if (a->type == LMD_PARAM_STR && str_is(a->v.s, "inf"))
		*out = INFINITY;
	else
		return false;
	return true;
}

static bool to_int(const struct lmi_sampler_arg *a, int64_t *out)
{
	if (a->type == LMD_PARAM_INT) {
		*out = a->v.i;
		return true;
	}
	if (a->type != LMD_PARAM_FLOAT || a->v.f != floor(a->v.f) || fabs(a->v.f) > 0x1p53)
		return false;
	*out = (int64_t)a->v.f;
	return true;
}

static bool is_list(uint32_t type)
{
	return type == LMD_PARAM_STRS || type == LMD_PARAM_BIAS || type == LMD_PARAM_TOKENS;
}

/* Stores the value of an argument for one row of the parameter table in *v. */
static enum lmd_status take_arg(const struct lmd_param *p, const struct lmi_sampler_arg *a,
				struct lmd_param_value *v, struct lmd_error *err)
{
	bool ok = a->type == (enum lmd_param_type)p->type;

	if (p->type == LMD_PARAM_INT)
		ok = to_int(a, &v->i);
	else if (p->type == LMD_PARAM_FLOAT)
		ok = to_float(a, &v->f);
	else if (p->type == LMD_PARAM_STRS && a->type == LMD_PARAM_STR)
		*v = a->v, ok = true;
	else if (is_list(p->type) && is_list(a->type) && !a->v.n)
		ok = true;
	else if (ok)
		*v = a->v;
	if (!ok)
		return lmd_fail(err, LMD_INVALID, "parameter %s must be %s", p->name,
				type_text(p->type));
	if (p->type == LMD_PARAM_INT && ((double)v->i < p->min || (double)v->i > p->max))
		return lmd_fail(err, LMD_INVALID,
				"parameter %s is %" PRId64 ", must be between %.15g and %.15g",
				p->name, v->i, p->min, p->max);
	if (p->type == LMD_PARAM_FLOAT &&
	    (isnan(v->f) || v->f < p->min || v->f > p->max ||
	     (isinf(v->f) && !isinf(p->min))))
		return lmd_fail(err, LMD_INVALID,
				"parameter %s is %.9g, must be between %.9g and %.9g", p->name,
				v->f, p->min, p->max);
	return LMD_OK;
}

static enum lmd_status unknown_arg(const struct lmd_sampler_ops *ops, const char *name,
				   struct lmd_error *err)
{
	char known[256] = "";
	size_t at = 0;

	for (uint32_t i = 0; i < ops->n_params && at < sizeof(known); i++)
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s, ",
				       ops->params[i].name);
	return lmd_fail(err, LMD_INVALID,
			"unknown parameter \"%.60s\"; known are %sseed, n_vocab", name, known);
}

/* Takes seed and row length of one member, if the spec has them. */
static enum lmd_status take_common(const struct lmi_sampler_arg *a, struct lmd_sampler_init *in,
				   struct lmd_error *err)
{
	static const struct lmd_param seed = {.name = "seed", .type = LMD_PARAM_INT,
					      .min = -0x1p63, .max = 0x1p63};
	static const struct lmd_param n_vocab = {.name = "n_vocab", .type = LMD_PARAM_INT,
						 .min = 1, .max = INT32_MAX};
	bool is_seed = !strcmp(a->name, "seed");
	struct lmd_param_value v = {0};
	enum lmd_status st = take_arg(is_seed ? &seed : &n_vocab, a, &v, err);

	if (st != LMD_OK)
		return st;
	if (is_seed)
		in->seed = (uint64_t)v.i;
	else
		in->n_vocab = (uint32_t)v.i;
	return LMD_OK;
}

enum lmd_status lmi_sampler_args(const struct lmd_sampler_ops *ops,
				 const struct lmi_sampler_spec *spec,
				 struct lmd_param_value *values, struct lmd_sampler_init *in,
				 struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (ops->n_params > LMI_SAMPLER_PARAMS)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%u parameters exceed the limit of %u",
				ops->n_params, LMI_SAMPLER_PARAMS);
	for (uint32_t i = 0; i < ops->n_params; i++) {
		values[i] = (struct lmd_param_value){.i = (int64_t)ops->params[i].def,
						     .f = ops->params[i].def};
	}
	for (uint32_t k = 0; k < spec->n_args && st == LMD_OK; k++) {
		const struct lmi_sampler_arg *a = &spec->args[k];
		uint32_t i = 0;

		while (i < ops->n_params && strcmp(ops->params[i].name, a->name))
			i++;
		if (i < ops->n_params)
			st = take_arg(&ops->params[i], a, &values[i], err);
		else if (!strcmp(a->name, "seed") || !strcmp(a->name, "n_vocab"))
			st = take_common(a, in, err);
		else
			st = unknown_arg(ops, a->name, err);
	}
	return st;
}

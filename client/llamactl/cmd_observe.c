/* SPDX-License-Identifier: MIT
 *
 * llamactl debug observe and debug diff: print and compare the values inside a step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/llamactl/json_out.h"
#include "client/llamactl/observed_values.h"

/* ---- observe ---- */

struct stats {
	double mean, rms, lo, hi;
	uint64_t n_bad; /* infinities and NaN */
};

static struct stats stats_of(const struct lmi_ctl_observed_value *s)
{
	struct stats f = {.lo = INFINITY, .hi = -INFINITY};
	uint64_t n = (uint64_t)s->n_row * s->width, finite = 0;

	for (uint64_t i = 0; i < n; i++) {
		if (!isfinite(s->v[i])) {
			f.n_bad++;
			continue;
		}
		finite++;
		f.mean += s->v[i];
		f.rms += (double)s->v[i] * s->v[i];
		f.lo = fmin(f.lo, s->v[i]);
		f.hi = fmax(f.hi, s->v[i]);
	}
	if (!finite)
		return (struct stats){.n_bad = f.n_bad};
	f.mean /= (double)finite;
	f.rms = sqrt(f.rms / (double)finite);
	return f;
}

static void json_value(struct lmi_ctl_json *j, const struct lmi_ctl_observed_value *s, bool all)
{
	struct stats f = stats_of(s);

	lmi_ctl_json_flat_object(j, NULL);
	lmi_ctl_json_str(j, "value", s->name);
	lmi_ctl_json_str(j, "op", s->op);
	lmi_ctl_json_uint(j, "rows", s->n_row);
	lmi_ctl_json_uint(j, "width", s->width);
	lmi_ctl_json_f64(j, "mean", f.mean);
	lmi_ctl_json_f64(j, "rms", f.rms);
	lmi_ctl_json_f64(j, "min", f.lo);
	lmi_ctl_json_f64(j, "max", f.hi);
	lmi_ctl_json_uint(j, "not_finite", f.n_bad);
	if (all) {
		lmi_ctl_json_flat_array(j, "data");
		for (uint32_t r = 0; r < s->n_row; r++) {
			lmi_ctl_json_flat_array(j, NULL);
			for (uint32_t c = 0; c < s->width; c++)
				lmi_ctl_json_f32(j, NULL, s->v[(size_t)r * s->width + c]);
			lmi_ctl_json_end(j);
		}
		lmi_ctl_json_end(j);
	}
	lmi_ctl_json_end(j);
}

static void print_value(const struct lmi_ctl_observed_value *s, bool all)
{
	struct stats f = stats_of(s);

	if (all) {
		for (uint32_t r = 0; r < s->n_row; r++)
			for (uint32_t c = 0; c < s->width; c++)
				printf("%.9g%c", (double)s->v[(size_t)r * s->width + c],
				       c + 1 < s->width ? ' ' : '\n');
		return;
	}
	printf("%-28s %-10s %5u x %-6u mean %11.4g rms %10.4g min %11.4g max %11.4g", s->name,
	       s->op, s->n_row, s->width, f.mean, f.rms, f.lo, f.hi);
	if (f.n_bad)
		printf(" not finite %llu", (unsigned long long)f.n_bad);
	putchar('\n');
}

static void print_all(const struct lmi_args *a, const struct lmi_ctl_seen_list *l, bool all)
{
	struct lmi_ctl_json j;

	if (!lmi_arg_flag(a, "json")) {
		for (uint32_t i = 0; i < l->n; i++)
			print_value(&l->v[i], all);
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_array(&j, NULL);
	for (uint32_t i = 0; i < l->n; i++)
		json_value(&j, &l->v[i], all);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status run_observe(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *only = lmi_arg_str(a, "value");
	struct lmi_ctl_seen_list seen = {0};
	struct lmi_ctl_eval_args in = {0};
	enum lmd_status st = lmi_ctl_eval_args(ctl, &in, err);

	if (st == LMD_OK)
		st = lmi_ctl_observe_values(ctl, &in, lmi_arg_str(a, "backend"),
					    (uint32_t)lmi_arg_int(a, "activations"), only, &seen,
					    err);
	if (st == LMD_OK)
		print_all(a, &seen, only != NULL);
	lmi_ctl_seen_fini(&seen);
	lmi_ctl_eval_args_fini(&in);
	return st;
}

/* ---- diff ---- */

struct difference {
	double worst, nmse; /* largest |a - b|; squared error divided by the squares of a */
	uint64_t at;
	bool comparable;
};

static struct difference compare(const struct lmi_ctl_observed_value *a,
				 const struct lmi_ctl_observed_value *b)
{
	struct difference d = {.comparable = b && a->n_row == b->n_row && a->width == b->width};
	double num = 0, den = 0;

	for (uint64_t i = 0; d.comparable && i < (uint64_t)a->n_row * a->width; i++) {
		double x = a->v[i], y = b->v[i], diff = fabs(x - y);

		if (x == y || (x != x && y != y)) /* equal infinities, or NaN in both */
			diff = 0;
		else if (!isfinite(diff))
			diff = INFINITY;
		if (diff > d.worst) {
			d.worst = diff;
			d.at = i;
		}
		num += diff * diff;
		den += isfinite(x) ? x * x : 0;
	}
	d.nmse = den > 0 ? num / den : num > 0 ? INFINITY : 0;
	return d;
}

static void print_difference(const struct lmi_ctl_observed_value *s, const struct difference *d,
			     bool over)
{
	if (!d->comparable)
		printf("%-28s %-10s %5u x %-6u only on one side\n", s->name, s->op, s->n_row,
		       s->width);
	else
		printf("%-28s %-10s %5u x %-6u max %.3e at [%u, %u] nmse %.3e%s\n", s->name, s->op,
		       s->n_row, s->width, d->worst, (uint32_t)(d->at / s->width),
		       (uint32_t)(d->at % s->width), d->nmse, over ? "  <--" : "");
}

static void json_difference(struct lmi_ctl_json *j, const struct lmi_ctl_observed_value *s,
			    const struct difference *d)
{
	lmi_ctl_json_flat_object(j, NULL);
	lmi_ctl_json_str(j, "value", s->name);
	lmi_ctl_json_str(j, "op", s->op);
	lmi_ctl_json_uint(j, "rows", s->n_row);
	lmi_ctl_json_uint(j, "width", s->width);
	lmi_ctl_json_bool(j, "comparable", d->comparable);
	lmi_ctl_json_f64(j, "max", d->worst);
	lmi_ctl_json_f64(j, "nmse", d->nmse);
	lmi_ctl_json_end(j);
}

static enum lmd_status print_differences(const struct lmi_args *args,
					 const struct lmi_ctl_seen_list *a,
					 const struct lmi_ctl_seen_list *b, struct lmd_error *err)
{
	double limit = lmi_arg_float(args, "nmse");
	bool json = lmi_arg_flag(args, "json");
	const struct lmi_ctl_observed_value *first = NULL;
	struct difference bad = {0};
	struct lmi_ctl_json j;

	if (json) {
		lmi_ctl_json_init(&j, stdout);
		lmi_ctl_json_array(&j, NULL);
	}
	for (uint32_t i = 0; i < a->n; i++) {
		struct difference d = compare(&a->v[i], lmi_ctl_seen_find(b, a->v[i].name));
		bool over = d.comparable && d.nmse > limit;

		if (json)
			json_difference(&j, &a->v[i], &d);
		else
			print_difference(&a->v[i], &d, over);
		if (over && !first) {
			first = &a->v[i];
			bad = d;
		}
	}
	if (json) {
		lmi_ctl_json_end(&j);
		lmi_ctl_json_fini(&j);
	}
	return !first ? LMD_OK
		      : lmd_fail(err, LMD_INVALID,
				 "value %s (%s) is the first one that differs: squared error "
				 "%.3e, allowed %.3e",
				 first->name, first->op, bad.nmse, limit);
}

static enum lmd_status run_diff(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *args = &ctl->args;
	const char *against = lmi_arg_str(args, "against");
	uint32_t act = (uint32_t)lmi_arg_int(args, "activations");
	uint32_t act2 = lmi_arg_given(args, "against-activations")
				? (uint32_t)lmi_arg_int(args, "against-activations")
				: act;
	struct lmi_ctl_seen_list a = {0}, b = {0};
	struct lmi_ctl_eval_args in = {0};
	enum lmd_status st;

	if (!against)
		return lmi_ctl_usage(ctl, err, "option --against NAME is missing");
	st = lmi_ctl_eval_args(ctl, &in, err);
	if (st == LMD_OK)
		st = lmi_ctl_observe_values(ctl, &in, lmi_arg_str(args, "backend"), act, NULL, &a,
					    err);
	if (st == LMD_OK)
		st = lmi_ctl_observe_values(ctl, &in, against, act2, NULL, &b, err);
	if (st == LMD_OK)
		st = print_differences(args, &a, &b, err);
	lmi_ctl_seen_fini(&a);
	lmi_ctl_seen_fini(&b);
	lmi_ctl_eval_args_fini(&in);
	return st;
}

#define EMBD                                                                                       \
	{                                                                                          \
		.name = "embd", .type = LMI_OPT_FLAG,                                              \
		.doc = "Use the plan for embeddings instead of the plan for logits."               \
	}

static const struct lmi_opt observe_opts[] = {
	LMI_CTL_OPTS_INPUT,
	{.name = "value",
	 .type = LMI_OPT_STR,
	 .value = "V",
	 .doc = "Print all numbers of the value with this name, one row per line."},
	EMBD,
	LMI_CTL_OPTS_ENGINE,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_debug_observe = {
	.name = "debug observe",
	.args = "FILE",
	.brief = "Print every intermediate value of a step",
	.doc = "Runs the input in one step and prints each value of the plan in the order in "
	       "which the values are written: name, operation, shape, mean, root mean square, "
	       "minimum and maximum. `llamactl debug plan FILE` shows where the values come "
	       "from.",
	.opts = observe_opts,
	.n_opts = LMD_LEN(observe_opts),
	.run = run_observe,
};

static const struct lmi_opt diff_opts[] = {
	LMI_CTL_OPTS_INPUT,
	{.name = "against",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .doc = "Backend to compare with."},
	{.name = "against-activations",
	 .type = LMI_OPT_CHOICE,
	 .value = "default|f32|int8|int16",
	 .def_text = "that of --activations",
	 .doc = "Arithmetic of that backend."},
	{.name = "nmse",
	 .type = LMI_OPT_FLOAT,
	 .value = "X",
	 .def = "1e-6",
	 .doc = "Mean squared error divided by the mean square from which on a value counts as "
		"different."},
	EMBD,
	LMI_CTL_OPTS_ENGINE,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_debug_diff = {
	.name = "debug diff",
	.args = "FILE",
	.brief = "Compare two backends value by value",
	.doc = "Runs the input in one step on the backends of --backend and --against, and "
	       "prints how far the values of the same name are apart. If values differ, the exit "
	       "status is 1 and the error names the first one. A value that only one side has, "
	       "because its plan was lowered differently, is reported but does not count.",
	.opts = diff_opts,
	.n_opts = LMD_LEN(diff_opts),
	.run = run_diff,
};

/* SPDX-License-Identifier: MIT
 *
 * Runs cases on two backends and compares the results.  A backend with 16-bit activations rounds
 * every value that is not declared f32; its tolerance adds one such rounding to that of the
 * case. */
#include "core/conformance/opcase.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/conformance/opcase_priv.h"
#include "core/conformance/tensor_cache.h"

const struct opcase_set *const opcase_sets[] = {
	&opcase_embed,	   &opcase_norm,    &opcase_linear, &opcase_rope_kv, &opcase_attn,
	&opcase_glu,	   &opcase_ffn,	    &opcase_head,   &opcase_sample,  &opcase_ew,
	&opcase_route,	   &opcase_moe_ffn, &opcase_bmm,    &opcase_gather,  &opcase_reduce,
	&opcase_softmax,   &opcase_conv,    &opcase_scan,   &opcase_mix,     &opcase_index,
	&opcase_cast_copy, &opcase_patch,
};
const uint32_t n_opcase_sets = LMD_LEN(opcase_sets);

static const struct oc_device_set *const device_sets[] = {&oc_device_cases, &oc_group_cases};
/* Name of the case that runs ops on the second device. */
#define SECOND "ops on the second device"

/* ---- comparison ---- */

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Returns the number of integers that differ. */
static size_t compare_ints(const struct oc_out *a, const struct oc_out *b, bool sets)
{
	size_t n = (size_t)a->n_row * a->width, bad = 0;

	for (uint32_t r = 0; sets && r < a->n_row; r++) {
		qsort(a->i + (size_t)r * a->width, a->width, sizeof(*a->i), by_number);
		qsort(b->i + (size_t)r * b->width, b->width, sizeof(*b->i), by_number);
	}
	for (size_t i = 0; i < n; i++)
		bad += a->i[i] != b->i[i];
	return bad;
}

/* Computes the squared error over the sum of squares, and the greatest error over the RMS. */
static void compare_floats(const struct oc_out *a, const struct oc_out *b, double *nmse,
			   double *max_abs)
{
	size_t n = (size_t)a->n_row * a->width;
	double err = 0, ref = 0, most = 0;

	for (size_t i = 0; i < n; i++) {
		double x = (double)a->f[i], y = (double)b->f[i], d = fabs(x - y);

		if (isinf(y) || isnan(y)) {
			d = x == y || (isnan(x) && isnan(y)) ? 0 : INFINITY;
			y = 0;
		}
		if (isnan(d))
			d = INFINITY;
		err += d * d;
		ref += y * y;
		most = d > most ? d : most;
	}
	*nmse = err > 0 ? (ref > 0 ? err / ref : INFINITY) : 0;
	*max_abs = most > 0 ? (ref > 0 ? most / sqrt(ref / (double)n) : INFINITY) : 0;
}

bool oc_compare(const struct oc_result *a, const struct oc_result *b, bool sets, double int_share,
		struct lmi_opcase_result *r, char *text, size_t n)
{
	bool ok = a->n == b->n;

	if (!ok)
		(void)snprintf(text, n, "%u results, expected %u", a->n, b->n);
	for (uint32_t i = 0; ok && i < a->n; i++) {
		const struct oc_out *x = &a->out[i], *y = &b->out[i];
		double nmse = 0, max_abs = 0;
		size_t bad = 0;

		if (x->n_row != y->n_row || x->width != y->width || x->i32 != y->i32) {
			(void)snprintf(text, n, "%s has %u x %u, expected %u x %u", x->name,
				       x->n_row, x->width, y->n_row, y->width);
			return false;
		}
		if (x->i32)
			bad = compare_ints(x, y, sets);
		else
			compare_floats(x, y, &nmse, &max_abs);
		r->nmse = nmse > r->nmse ? nmse : r->nmse;
		r->max_abs = max_abs > r->max_abs ? max_abs : r->max_abs;
		if (nmse > r->tol_nmse || max_abs > r->tol_abs) {
			(void)snprintf(text, n,
				       "%s: nmse %.3g (at most %.3g), greatest error %.3g rms "
				       "(at most %.3g)",
				       x->name, nmse, r->tol_nmse, max_abs, r->tol_abs);
			ok = false;
		} else if ((double)bad > int_share * x->n_row * x->width) {
			(void)snprintf(text, n, "%s: %zu of %u integers differ", x->name, bad,
				       x->n_row * x->width);
			ok = false;
		}
	}
	return ok;
}

/* ---- running ---- */

#define TENSOR_BYTES (64ull << 20) /* encoded tensors that are kept */

struct session {
	const struct lmi_opcase_opts *o;
	struct oc_backend a, b;
	struct oc_tensor_cache *tensor_cache;
	const char *setting;
	uint32_t activations, index; /* of device a */
	struct lmi_opcase_totals *totals;
};

/* Squared relative error of rounding one value to the activation type. */
static double act_nmse(uint32_t dtype)
{
	return dtype == LMD_DTYPE_BF16 ? 4e-5 : dtype == LMD_DTYPE_F16 ? 1e-6 : 0;
}

static void report_result(struct session *s, struct lmi_opcase_result *r)
{
	s->totals->n_pass += r->verdict == LMI_OPCASE_PASS;
	s->totals->n_fail += r->verdict == LMI_OPCASE_FAIL;
	s->totals->n_skip += r->verdict == LMI_OPCASE_SKIP;
	if (s->o->report)
		s->o->report(s->o->arg, r);
}

static enum lmd_status one_device(struct session *s, struct oc_backend *be,
				  const struct opcase *def, const struct oc_layout *layout,
				  struct oc_result *out, struct lmd_error *err)
{
	struct oc_device dev = oc_backend_device(be);
	struct oc *c = NULL;
	enum lmd_status st;

	dev.tensor_cache = s->tensor_cache;
	st = oc_create(&c, def, layout, s->o->host, &dev, s->o->seed, false, err);
	if (st == LMD_OK)
		st = oc_execute(be, c, out, err);
	oc_destroy(c);
	return st;
}

/* ---- loss of the device ---- */

/* Closes the device under test and opens it again. */
static enum lmd_status open_again(struct session *s, struct lmd_error *err)
{
	enum lmd_status st;

	oc_backend_close(&s->a);
	st = oc_backend_open(&s->a, s->o->a, s->index, s->o->host, s->o->team, s->activations, err);
	s->a.cuts = true;
	return st;
}

/* The device was lost during a case: until it is closed, it must say so to everybody, and then it can
 * be opened again. */
static void check_loss(struct session *s, const struct opcase *def, const struct oc_layout *layout)
{
	struct lmi_opcase_result r = {.op = "device",
				      .name = "calls after a loss",
				      .layout = layout->name,
				      .setting = s->setting,
				      .why = "statuses",
				      .text = ""};
	struct lmd_error err = {.text = ""};
	char text[LMD_ERROR_TEXT] = "";
	struct oc_result out = {0};
	enum lmd_status st = one_device(s, &s->a, def, layout, &out, &err);

	oc_result_free(&out);
	r.verdict = st == LMD_DEVICE ? LMI_OPCASE_PASS : LMI_OPCASE_FAIL;
	if (st != LMD_DEVICE)
		(void)snprintf(text, sizeof(text), "a device that was lost answers %s: %.300s",
			       lmd_status_text(st), err.text);
	st = open_again(s, &err);
	if (st != LMD_OK) {
		r.verdict = LMI_OPCASE_FAIL;
		(void)snprintf(text, sizeof(text), "it cannot be opened again: %.300s", err.text);
	}
	r.text = text;
	report_result(s, &r);
}

/* Runs a case on both devices and compares.  Returns the status of the device under test. */
static enum lmd_status run_both(struct session *s, const struct opcase *def,
				const struct oc_layout *layout, struct lmi_opcase_result *r,
				char *text, size_t n)
{
	double int_share = act_nmse(s->a.info.act_dtype) > 0 ? 0.03 : 0;
	struct oc_result a = {0}, b = {0};
	struct lmd_error err = {.text = ""};
	enum lmd_status st = one_device(s, &s->b, def, layout, &b, &err);

	r->verdict = LMI_OPCASE_FAIL;
	if (st != LMD_OK) {
		(void)snprintf(text, n, "%s: %.400s", s->o->b->f->name, err.text);
		return LMD_OK;
	}
	st = one_device(s, &s->a, def, layout, &a, &err);
	if (st == LMD_OK && oc_compare(&a, &b, def->flags & OC_SETS, int_share, r, text, n))
		r->verdict = LMI_OPCASE_PASS;
	else if (st == LMD_UNSUPPORTED)
		r->verdict = LMI_OPCASE_SKIP;
	if (st != LMD_OK)
		(void)snprintf(text, n, "%s: %.400s", s->o->a->f->name, err.text);
	oc_result_free(&a);
	oc_result_free(&b);
	return st;
}

static void one_case(struct session *s, uint32_t op, const struct opcase *def,
		     const struct oc_layout *layout)
{
	double act = act_nmse(s->a.info.act_dtype), tol = def->nmse > act ? def->nmse : act;
	struct lmi_opcase_result r = {
		.op = lmi_plan_op_info(op)->name,
		.name = def->name,
		.layout = layout->name,
		.setting = s->setting,
		.tol_nmse = tol,
		.tol_abs = 50 * sqrt(tol),
		.why = def->why,
		.verdict = LMI_OPCASE_FAIL,
	};
	char text[LMD_ERROR_TEXT] = "the device was lost and cannot be opened again", name[96];
	enum lmd_status st = LMD_OK;

	if (s->index) {
		(void)snprintf(name, sizeof(name), "%s: %s, %.60s", SECOND, r.op, def->name);
		r.op = "device";
		r.name = name;
	}
	if (s->a.state) {
		text[0] = '\0';
		st = run_both(s, def, layout, &r, text, sizeof(text));
	}
	r.text = text;
	report_result(s, &r);
	if (st == LMD_DEVICE)
		check_loss(s, def, layout);
}

static bool wanted(const char *filter, uint32_t op, const struct opcase *def)
{
	char name[160];

	(void)snprintf(name, sizeof(name), "%s %s", lmi_plan_op_info(op)->name, def->name);
	return !filter || strstr(name, filter);
}

static void all_cases(struct session *s, uint32_t flags)
{
	for (uint32_t i = 0; i < n_opcase_sets; i++) {
		const struct opcase_set *set = opcase_sets[i];
		const struct oc_layout *layouts;
		uint32_t n;

		for (uint32_t j = 0; j < set->n; j++) {
			if (!wanted(s->o->filter, set->op, &set->cases[j]) ||
			    (set->cases[j].flags & flags) != flags)
				continue;
			layouts = oc_layouts_of(&set->cases[j], &n);
			for (uint32_t k = 0; k < n; k++)
				one_case(s, set->op, &set->cases[j], &layouts[k]);
		}
	}
}

uint32_t lmi_opcase_count(const char *filter)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_opcase_sets; i++) {
		for (uint32_t j = 0; j < opcase_sets[i]->n; j++)
			n += wanted(filter, opcase_sets[i]->op, &opcase_sets[i]->cases[j]);
	}
	return n;
}

/* Is "device NAME" chosen by a filter? */
static bool is_device_case_wanted(const char *name, const char *filter)
{
	char text[80];

	(void)snprintf(text, sizeof(text), "device %s", name);
	return !filter || strstr(text, filter);
}

uint32_t lmi_opcase_count_device(const char *filter)
{
	uint32_t n = is_device_case_wanted(SECOND, filter);

	for (size_t k = 0; k < LMD_LEN(device_sets); k++)
		for (uint32_t i = 0; i < device_sets[k]->n; i++)
			n += is_device_case_wanted(device_sets[k]->name(i), filter);
	return n;
}

/* Runs the cases of one set that are wanted. */
static enum lmd_status device_cases(struct session *s, const struct oc_device_set *set,
				    struct lmd_error *err)
{
	void *state = lmi_alloc(1, set->state_bytes);

	if (!state)
		return lmd_fail(err, LMD_NOMEM, "out of memory for the cases of a device");
	for (uint32_t i = 0; i < set->n; i++) {
		struct lmi_opcase_result r;

		if (!is_device_case_wanted(set->name(i), s->o->filter))
			continue;
		set->run(&s->a, i, s->o->seed, state, &r);
		report_result(s, &r);
	}
	lmi_free(state);
	return LMD_OK;
}

/* Runs a case of each of some ops on the second device. */
static enum lmd_status second_device(struct session *s, struct lmd_error *err)
{
	static const struct opcase_set *const sets[] = {&opcase_linear, &opcase_rope_kv, &opcase_attn};
	enum lmd_status st;

	if (!is_device_case_wanted(SECOND, s->o->filter))
		return LMD_OK;
	if (s->a.n_device < 2) {
		struct lmi_opcase_result r = {.op = "device",
					      .name = SECOND,
					      .layout = "one device",
					      .setting = s->setting,
					      .why = "",
					      .verdict = LMI_OPCASE_SKIP,
					      .text = "the backend has one device"};

		report_result(s, &r);
		return LMD_OK;
	}
	s->index = 1;
	st = open_again(s, err);
	for (size_t i = 0; i < LMD_LEN(sets) && st == LMD_OK; i++)
		for (uint32_t k = 0; k < n_oc_layouts; k++)
			one_case(s, sets[i]->op, &sets[i]->cases[0], &oc_layouts[k]);
	return st;
}

/* Runs all cases with one kind of activations. */
static enum lmd_status run_setting(struct session *s, uint32_t activations, struct lmd_error *err)
{
	bool f32 = activations == LMD_ACTIVATIONS_F32;
	enum lmd_status st;

	s->setting = f32 ? "f32" : activations == LMD_ACTIVATIONS_INT8 ? "int8" : "int16";
	s->activations = activations;
	s->index = 0;
	st = oc_backend_open(&s->b, s->o->b, 0, s->o->host, s->o->team, activations, err);
	if (st != LMD_OK)
		return st;
	st = oc_backend_open(&s->a, s->o->a, 0, s->o->host, s->o->team, activations, err);
	s->a.cuts = true;
	if (st == LMD_OK)
		all_cases(s, f32 ? 0 : OC_INT8);
	for (size_t i = 0; i < LMD_LEN(device_sets) && st == LMD_OK && f32 && s->a.state; i++)
		st = device_cases(s, device_sets[i], err);
	if (st == LMD_OK && f32 && s->a.state)
		st = second_device(s, err);
	oc_backend_close(&s->a);
	oc_backend_close(&s->b);
	return st;
}

static enum lmd_status run_settings(struct session *s, struct lmd_error *err)
{
	struct lmd_error without;
	enum lmd_status st = run_setting(s, LMD_ACTIVATIONS_F32, err);

	if (st != LMD_OK)
		return st;
	for (uint32_t i = LMD_ACTIVATIONS_INT8; i <= LMD_ACTIVATIONS_INT16; i++) {
		st = run_setting(s, i, &without);
		if (st != LMD_OK && st != LMD_UNSUPPORTED) /* a backend may support only float */
			return lmd_fail(err, st, "%s", without.text);
	}
	return LMD_OK;
}

enum lmd_status lmi_opcase_run(const struct lmi_opcase_opts *o, struct lmi_opcase_totals *out,
			       struct lmd_error *err)
{
	struct session s = {
		.o = o, .totals = out, .tensor_cache = oc_tensor_cache_create(TENSOR_BYTES)};
	enum lmd_status st;

	*out = (struct lmi_opcase_totals){0};
	st = run_settings(&s, err);
	oc_tensor_cache_destroy(s.tensor_cache);
	return st;
}

/* SPDX-License-Identifier: MIT
 *
 * layer_formula.h - the formulas of a layer in plain C and double, for the tests of draft rows. Heads have 16
 * columns and there are four of them, as in the models of tiny_model.h. */
#ifndef LLAMAD_TESTS_LAYER_FORMULA_H
#define LLAMAD_TESTS_LAYER_FORMULA_H

#include <math.h>
#include <stdio.h>

#include "core/engine/instance.h"
#include "tests/lmd_check.h"

#define FORMULA_DK   16
#define FORMULA_HEAD 4

/* A tensor of the model; format: its name, with the number of the layer. */
static inline const float *formula_tensor(const struct lmi_inst *inst, const char *format, int layer)
{
	char name[96];
	const struct lmd_tensor *t;

	(void)snprintf(name, sizeof(name), format, layer);
	t = inst->model->find_tensor(inst->model, name);
	ck_assert_msg(t != NULL, "%s", name);
	return t->data;
}

/* y[n] = RMS norm of x[n], times g[n]. */
static inline void formula_rms(const double *x, const float *g, int n, double *y)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[i] * x[i];
	for (int i = 0; i < n; i++)
		y[i] = x[i] / sqrt(sum / n + 1e-5) * (double)g[i];
}

/* y[n] = w[n][k] x[k] */
static inline void formula_product(const float *w, const double *x, int n, int k, double *y)
{
	for (int r = 0; r < n; r++) {
		y[r] = 0;
		for (int c = 0; c < k; c++)
			y[r] += (double)w[r * k + c] * x[c];
	}
}

/* Rotates the pairs of each head by the position: neighbouring columns, or those of the two halves. */
static inline void formula_rotate(double *v, int n_head, int at, bool halves)
{
	for (int h = 0; h < n_head; h++)
		for (int i = 0; i < FORMULA_DK / 2; i++) {
			double a = at * pow(10000, -2.0 * i / FORMULA_DK);
			double *p = v + h * FORMULA_DK + (halves ? i : 2 * i);
			double *q = halves ? p + FORMULA_DK / 2 : p + 1, x = *p;

			*p = x * cos(a) - *q * sin(a);
			*q = x * sin(a) + *q * cos(a);
		}
}

/* y: attention of the query q over n keys and values, rows of FORMULA_HEAD * FORMULA_DK of which the first n_kv
 * heads are used. */
static inline void formula_attend(const double *q, const double *k, const double *v, int n, int n_kv, double *y)
{
	const int width = FORMULA_HEAD * FORMULA_DK;

	for (int head = 0; head < FORMULA_HEAD; head++) {
		const double *qh = q + head * FORMULA_DK;
		int kv = head * n_kv / FORMULA_HEAD * FORMULA_DK;
		double s[64], sum = 0;

		ck_assert_int_le(n, 64);
		for (int i = 0; i < FORMULA_DK; i++)
			y[head * FORMULA_DK + i] = 0;
		for (int j = 0; j < n; j++) {
			s[j] = 0;
			for (int i = 0; i < FORMULA_DK; i++)
				s[j] += qh[i] * k[j * width + kv + i] / sqrt(FORMULA_DK);
			sum += s[j] = exp(s[j]);
		}
		for (int j = 0; j < n; j++)
			for (int i = 0; i < FORMULA_DK; i++)
				y[head * FORMULA_DK + i] += s[j] / sum * v[j * width + kv + i];
	}
}

/* Adds the feed-forward block of a layer, of width n_ff, to x[n]; both at most 128. */
static inline void formula_ffn(const struct lmi_inst *inst, int il, int n, int n_ff, double *x)
{
	double y[128], gate[128], up[128];

	formula_rms(x, formula_tensor(inst, "blk.%d.ffn_norm.weight", il), n, y);
	formula_product(formula_tensor(inst, "blk.%d.ffn_gate.weight", il), y, n_ff, n, gate);
	formula_product(formula_tensor(inst, "blk.%d.ffn_up.weight", il), y, n_ff, n, up);
	for (int i = 0; i < n_ff; i++)
		up[i] *= gate[i] / (1 + exp(-gate[i]));
	formula_product(formula_tensor(inst, "blk.%d.ffn_down.weight", il), up, n, n_ff, y);
	for (int i = 0; i < n; i++)
		x[i] += y[i];
}

static inline void formula_expect_near(const float *have, const double *want, int n, const char *what)
{
	for (int i = 0; i < n; i++)
		ck_assert_msg(fabs((double)have[i] - want[i]) < 5e-4, "%s, column %d: %f, not %f", what, i,
			      (double)have[i], want[i]);
}

#endif /* LLAMAD_TESTS_LAYER_FORMULA_H */

/* SPDX-License-Identifier: MIT
 *
 * Statistics of an entry, which show whether few columns of a weight matter, or many. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/imatrix/imatrix.h"

#define ACTIVE 1e-5

/* The mean of column i, or NaN in a matrix that was never used. */
static double mean_of(const struct lmi_imatrix_entry *e, uint64_t i)
{
	float count = e->count[i / (e->n / e->n_count)];

	return count > 0 ? (double)e->sum2[i] / count : NAN;
}

/* Finds the entry of the same tensor in the previous layer. */
static const struct lmi_imatrix_entry *previous_layer(const struct lmi_imatrix *m,
						      const struct lmi_imatrix_entry *e)
{
	const struct lmi_imatrix_entry *found;
	size_t n = strlen(e->name) + 1;
	char *end, *name;
	long layer;

	if (strncmp(e->name, "blk.", 4))
		return NULL;
	layer = strtol(e->name + 4, &end, 10);
	if (layer < 1 || *end != '.')
		return NULL;
	name = lmi_alloc(n + 8, 1);
	if (!name)
		return NULL;
	(void)snprintf(name, n + 8, "blk.%ld%s", layer - 1, end);
	found = lmi_imatrix_find(m, name);
	lmi_free(name);
	return found && found->n == e->n ? found : NULL;
}

static double cosine(const struct lmi_imatrix_entry *a, const struct lmi_imatrix_entry *b)
{
	double ab = 0, aa = 0, bb = 0;

	for (uint64_t i = 0; i < a->n; i++) {
		double x = mean_of(a, i), y = mean_of(b, i);

		if (isnan(x) || isnan(y))
			continue;
		ab += x * y;
		aa += x * x;
		bb += y * y;
	}
	return aa > 0 && bb > 0 ? ab / (sqrt(aa) * sqrt(bb)) : NAN;
}

/* Computes the statistics that need the mean and the sum of all columns. */
static void second_pass(const struct lmi_imatrix_entry *e, struct lmi_imatrix_stats *s)
{
	double far = 0, squares = 0;

	for (uint64_t i = 0; i < e->n; i++) {
		double v = mean_of(e, i), p = s->sum > 0 ? v / s->sum : 0;

		if (isnan(v))
			continue;
		squares += (v - s->mean) * (v - s->mean);
		if (p > 0)
			s->entropy -= p * log2(p);
	}
	s->deviation = s->n > 1 ? sqrt(squares / (double)(s->n - 1)) : 0;
	for (uint64_t i = 0; s->deviation > 0 && i < e->n; i++)
		far += fabs(mean_of(e, i) - s->mean) > s->deviation;
	s->outliers = far / (double)s->n;
}

void lmi_imatrix_stats(const struct lmi_imatrix *m, const struct lmi_imatrix_entry *e,
		       struct lmi_imatrix_stats *out)
{
	const struct lmi_imatrix_entry *prev = previous_layer(m, e);
	struct lmi_imatrix_stats s = {.min = INFINITY, .max = 0, .cosine = NAN};
	double active = 0;

	for (uint64_t i = 0; i < e->n; i++) {
		double v = mean_of(e, i);

		if (isnan(v))
			continue;
		s.n++;
		s.sum += v;
		s.min = fmin(s.min, v);
		s.max = fmax(s.max, v);
		active += v > ACTIVE;
	}
	if (s.n) {
		s.mean = s.sum / (double)s.n;
		s.active = active / (double)s.n;
		s.max_entropy = log2((double)s.n);
		second_pass(e, &s);
	} else {
		s.min = 0;
	}
	if (prev)
		s.cosine = cosine(e, prev);
	*out = s;
}

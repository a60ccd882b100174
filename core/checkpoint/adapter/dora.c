/* SPDX-License-Identifier: MIT
 *
 * DoRA (arXiv 2402.09353, equation 5): a row w of a weight becomes m (w + s b A) / ||w + s b A||, with b the
 * row of B and m the row's magnitude. Backends multiply the sum of both products by m / ||w + s b A||,
 * which is computed here, in double precision from the weight as it is stored. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/checkpoint/adapter/adapter_impl.h"
#include "core/quant/quant.h"

static double length_of(const float *v, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (double)v[i] * (double)v[i];
	return sqrt(sum);
}

float lmi_adapter_gain(const struct lmi_adapter_pair *p, size_t row, const float *v)
{
	double length = length_of(v, p->k);

	if (isnan(p->magnitude[row]))
		return 1;
	return length > 0 ? (float)((double)p->magnitude[row] / length) : 0;
}

enum lmd_status lmi_adapter_check_gain(const struct lmi_adapter_pair *p, const struct lmd_model *base,
				       struct lmd_error *err)
{
	const struct lmd_tensor *scale = lmi_adapter_find_scale(base, p->site);

	return scale ? lmd_fail(err, LMD_UNSUPPORTED,
				"%s: DoRA of a weight whose scale is a tensor of its own (%s) is not "
				"supported",
				p->site, scale->name)
		     : LMD_OK;
}

static enum lmd_status set_gain(struct lmi_adapter_file *f, struct lmi_adapter_pair *p,
				const struct lmd_tensor *t, float scale, struct lmd_error *err)
{
	const struct lmi_dtype *type = lmi_dtype(t->dtype);
	uint64_t bytes = 0;
	float *v;

	if (!t->data || !type || !type->dequant || !lmi_quant_row_bytes(type, p->k, &bytes))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: the lengths of the rows of this weight of type %s, which DoRA needs, "
				"cannot be computed%s",
				p->site, type ? type->name : "?",
				t->data ? "" : ": the model's data is not mapped");
	if (!p->gain)
		p->gain = lmi_arena_array(f->arena, (uint64_t)p->n_slice * p->n, sizeof(float));
	v = lmi_alloc(p->k, sizeof(*v));
	if (!p->gain || !v) {
		lmi_free(v);
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for the lengths of %u rows", p->site,
				p->n);
	}
	for (size_t i = 0; i < (size_t)p->n_slice * p->n; i++) {
		if (!lmi_cancel_step((uint64_t)(p->rank + 1) * p->k)) {
			lmi_free(v);
			return lmd_fail(err, LMD_CANCELLED, "%s: the lengths of its rows were cancelled",
					p->site);
		}
		lmi_quant_dequant_rows(type, (const uint8_t *)t->data + i * bytes, v, p->k, 1);
		lmi_adapter_add_row(p, false, scale * p->scale, i, v);
		p->gain[i] = lmi_adapter_gain(p, i, v);
	}
	lmi_free(v);
	return LMD_OK;
}

enum lmd_status lmi_adapter_set_gains(struct lmi_adapter_file *f, const struct lmd_model *base,
				      float scale, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < f->n; i++) {
		const struct lmd_tensor *t;

		if (!f->v[i].magnitude)
			continue;
		st = lmi_adapter_check_gain(&f->v[i], base, err);
		if (st != LMD_OK)
			return st;
		t = lmi_adapter_find_tensor(base, f->v[i].site, f->v[i].site, err);
		st = t ? set_gain(f, &f->v[i], t, scale, err) : LMD_NOTFOUND;
	}
	return st;
}

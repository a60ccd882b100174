/* SPDX-License-Identifier: MIT
 *
 * keys.c - see keys.h.  Every number of the file passes one of two conversions (integer or
 * float) and a range check, so that no architecture sees a value outside its bounds. */
#include "arch/common/keys.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEY_TEXT 160

void arch_keys_init(struct arch_keys *k, const struct lmd_model *model, struct lmd_error *err)
{
	k->model = model;
	k->st = LMD_OK;
	k->err = err;
}

void arch_key_fail(struct arch_keys *k, enum lmd_status st, const char *fmt, ...)
{
	char text[LMD_ERROR_TEXT];
	va_list ap;

	if (k->st != LMD_OK)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	k->st = lmd_fail(k->err, st, "%s", text);
}

static void key_name(const struct arch_keys *k, const char *key, char out[KEY_TEXT])
{
	if (key[0] == '@')
		(void)snprintf(out, KEY_TEXT, "%s", key + 1);
	else
		(void)snprintf(out, KEY_TEXT, "%s.%s", k->model->arch, key);
}

const struct lmd_meta *arch_key_find(const struct arch_keys *k, const char *key)
{
	char name[KEY_TEXT];

	key_name(k, key, name);
	return k->model->find_meta(k->model, name);
}

bool arch_key_has(const struct arch_keys *k, const char *key)
{
	return arch_key_find(k, key) != NULL;
}

bool arch_key_is_array(const struct arch_keys *k, const char *key)
{
	const struct lmd_meta *m = arch_key_find(k, key);

	return m && m->type >= LMD_META_ARR_BOOL;
}

uint64_t arch_key_len(const struct arch_keys *k, const char *key)
{
	const struct lmd_meta *m = arch_key_find(k, key);

	return m ? m->n : 0;
}

/* Element i of a scalar (i = 0) or an array as an integer. */
static bool int_at(const struct lmd_meta *m, uint64_t i, int64_t *out)
{
	switch (m->type) {
	case LMD_META_BOOL:
	case LMD_META_I64:
		*out = m->v.i;
		return true;
	case LMD_META_U64:
		*out = INT64_MAX; /* exceeds every bound; error messages show the clipped value */
		return true;
	case LMD_META_ARR_BOOL:
		*out = ((const uint8_t *)m->v.a)[i];
		return true;
	case LMD_META_ARR_I64:
		*out = ((const int64_t *)m->v.a)[i];
		return true;
	default:
		return false;
	}
}

static bool float_at(const struct lmd_meta *m, uint64_t i, double *out)
{
	int64_t v;

	if (m->type == LMD_META_F64)
		*out = m->v.f;
	else if (m->type == LMD_META_ARR_F64)
		*out = ((const double *)m->v.a)[i];
	else if (int_at(m, i, &v))
		*out = (double)v;
	else
		return false;
	return true;
}

/* The key's entry, or NULL if it is absent or of the wrong kind; the latter and a missing required
 * key are reported as errors. */
static const struct lmd_meta *take(struct arch_keys *k, const char *key, enum arch_need need,
				   bool array_ok)
{
	const struct lmd_meta *m = arch_key_find(k, key);
	char name[KEY_TEXT];

	if (k->st != LMD_OK)
		return NULL;
	key_name(k, key, name);
	if (!m) {
		if (need == ARCH_REQUIRED)
			arch_key_fail(k, LMD_NOTFOUND, "%s: the file has no such key", name);
		return NULL;
	}
	if (!array_ok && m->type >= LMD_META_ARR_BOOL) {
		arch_key_fail(k, LMD_INVALID, "%s: an array of %llu values, expected one value",
			      name, (unsigned long long)m->n);
		return NULL;
	}
	return m;
}

static bool check_int(struct arch_keys *k, const char *key, const struct lmd_meta *m, uint64_t i,
		      uint32_t lo, uint32_t hi, uint32_t *out)
{
	char name[KEY_TEXT];
	int64_t v;

	key_name(k, key, name);
	if (!int_at(m, i, &v)) {
		arch_key_fail(k, LMD_INVALID, "%s: not an integer", name);
		return false;
	}
	if (v < (int64_t)lo || v > (int64_t)hi) {
		arch_key_fail(k, LMD_INVALID, "%s: %lld is outside of %u..%u", name, (long long)v,
			      lo, hi);
		return false;
	}
	*out = (uint32_t)v;
	return true;
}

static bool check_float(struct arch_keys *k, const char *key, const struct lmd_meta *m, uint64_t i,
			double lo, double hi, double *out)
{
	char name[KEY_TEXT];
	double v;

	key_name(k, key, name);
	if (!float_at(m, i, &v)) {
		arch_key_fail(k, LMD_INVALID, "%s: not a number", name);
		return false;
	}
	if (!isfinite(v) || v < lo || v > hi) {
		arch_key_fail(k, LMD_INVALID, "%s: %g is outside of %g..%g", name, v, lo, hi);
		return false;
	}
	*out = v;
	return true;
}

static uint32_t get_int(struct arch_keys *k, const char *key, enum arch_need need, bool bool_ok,
			uint32_t def, uint32_t lo, uint32_t hi)
{
	const struct lmd_meta *m = take(k, key, need, false);
	char name[KEY_TEXT];
	uint32_t v = def;

	if (m && m->type == LMD_META_BOOL && !bool_ok) {
		key_name(k, key, name);
		arch_key_fail(k, LMD_INVALID, "%s: a boolean, not an integer", name);
		return def;
	}
	if (m && !check_int(k, key, m, 0, lo, hi, &v))
		v = def;
	return v;
}

uint32_t arch_key_u32(struct arch_keys *k, const char *key, enum arch_need need, uint32_t def,
		      uint32_t lo, uint32_t hi)
{
	return get_int(k, key, need, false, def, lo, hi);
}

double arch_key_f64(struct arch_keys *k, const char *key, enum arch_need need, double def,
		    double lo, double hi)
{
	const struct lmd_meta *m = take(k, key, need, false);
	double v = def;

	if (m && !check_float(k, key, m, 0, lo, hi, &v))
		v = def;
	return v;
}

bool arch_key_bool(struct arch_keys *k, const char *key, enum arch_need need, bool def)
{
	return get_int(k, key, need, true, def, 0, 1) != 0;
}

struct lmd_str arch_key_str(struct arch_keys *k, const char *key, enum arch_need need)
{
	const struct lmd_meta *m = take(k, key, need, false);
	struct lmd_str none = {NULL, 0};
	char name[KEY_TEXT];

	if (!m)
		return none;
	if (m->type != LMD_META_STR) {
		key_name(k, key, name);
		arch_key_fail(k, LMD_INVALID, "%s: not a string", name);
		return none;
	}
	return m->v.s;
}

/* An array with at least n elements, or a scalar; *step is 0 for a scalar, else 1. */
static const struct lmd_meta *take_layers(struct arch_keys *k, const char *key, enum arch_need need,
					  uint32_t n, uint32_t *step)
{
	const struct lmd_meta *m = take(k, key, need, true);
	char name[KEY_TEXT];

	if (!m)
		return NULL;
	*step = m->type >= LMD_META_ARR_BOOL;
	if (*step && m->n < n) {
		key_name(k, key, name);
		arch_key_fail(k, LMD_INVALID, "%s: %llu values for %u layers", name,
			      (unsigned long long)m->n, n);
		return NULL;
	}
	return m;
}

bool arch_key_u32s(struct arch_keys *k, const char *key, enum arch_need need, uint32_t *out,
		   uint32_t n, uint32_t def, uint32_t lo, uint32_t hi)
{
	uint32_t step = 0;
	const struct lmd_meta *m = take_layers(k, key, need, n, &step);

	for (uint32_t i = 0; i < n; i++)
		out[i] = def;
	for (uint32_t i = 0; m && i < n; i++) {
		if (!check_int(k, key, m, (uint64_t)i * step, lo, hi, &out[i]))
			return false;
	}
	return m != NULL;
}

bool arch_key_f64s(struct arch_keys *k, const char *key, enum arch_need need, double *out,
		   uint32_t n, double def, double lo, double hi)
{
	uint32_t step = 0;
	const struct lmd_meta *m = take_layers(k, key, need, n, &step);

	for (uint32_t i = 0; i < n; i++)
		out[i] = def;
	for (uint32_t i = 0; m && i < n; i++) {
		if (!check_float(k, key, m, (uint64_t)i * step, lo, hi, &out[i]))
			return false;
	}
	return m != NULL;
}

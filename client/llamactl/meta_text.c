/* SPDX-License-Identifier: MIT
 *
 * Prints the values of keys as text and as JSON. */
#include "client/llamactl/meta_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/show.h"

/* Most floats in files were 32 bits wide; printed as float they have no tail of digits. */
static bool fits_f32(double f)
{
	return (double)(float)f == f;
}

static void json_float(struct lmi_json *j, const char *key, double f)
{
	if (fits_f32(f))
		lmi_json_f32(j, key, (float)f);
	else
		lmi_json_f64(j, key, f);
}

/* The fewest digits that read back as the same number. */
static void print_float(double f)
{
	char text[40];

	for (int digits = 6; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, f);
		if (fits_f32(f) ? strtof(text, NULL) == (float)f : strtod(text, NULL) == f)
			break;
	}
	fputs(text, stdout);
}

/* Prints element i of an array, or the value itself. */
static void json_element(struct lmi_json *j, const char *key, const struct lmd_meta *v, uint64_t i)
{
	const struct lmd_str *s = &v->v.s;

	switch ((enum lmd_meta_type)v->type) {
	case LMD_META_BOOL:
		lmi_json_bool(j, key, v->v.i != 0);
		return;
	case LMD_META_I64:
		lmi_json_int(j, key, v->v.i);
		return;
	case LMD_META_U64:
		lmi_json_uint(j, key, v->v.u);
		return;
	case LMD_META_F64:
		json_float(j, key, v->v.f);
		return;
	case LMD_META_ARR_BOOL:
		lmi_json_bool(j, key, ((const uint8_t *)v->v.a)[i] != 0);
		return;
	case LMD_META_ARR_I64:
		lmi_json_int(j, key, ((const int64_t *)v->v.a)[i]);
		return;
	case LMD_META_ARR_F64:
		json_float(j, key, ((const double *)v->v.a)[i]);
		return;
	case LMD_META_ARR_STR:
		s = (const struct lmd_str *)v->v.a + i;
		/* fall through */
	case LMD_META_STR:
		lmi_json_strn(j, key, s->ptr, s->len);
		return;
	}
}

void lmi_meta_json(struct lmi_json *j, const char *key, const struct lmd_meta *v, uint64_t max)
{
	uint64_t n = v->n < max ? v->n : max;

	if (v->type < LMD_META_ARR_BOOL) {
		json_element(j, key, v, 0);
		return;
	}
	if (n < v->n) {
		lmi_json_flat_object(j, key);
		lmi_json_uint(j, "length", v->n);
	}
	lmi_json_flat_array(j, n < v->n ? "first" : key);
	for (uint64_t k = 0; k < n; k++)
		json_element(j, NULL, v, k);
	lmi_json_end(j);
	if (n < v->n)
		lmi_json_end(j);
}

static void print_element(const struct lmd_meta *v, uint64_t i)
{
	const struct lmd_str *s = &v->v.s;
	char show[96];

	switch ((enum lmd_meta_type)v->type) {
	case LMD_META_BOOL:
		fputs(v->v.i ? "true" : "false", stdout);
		return;
	case LMD_META_I64:
		printf("%" PRId64, v->v.i);
		return;
	case LMD_META_U64:
		printf("%" PRIu64, v->v.u);
		return;
	case LMD_META_F64:
		print_float(v->v.f);
		return;
	case LMD_META_ARR_BOOL:
		fputs(((const uint8_t *)v->v.a)[i] ? "true" : "false", stdout);
		return;
	case LMD_META_ARR_I64:
		printf("%" PRId64, ((const int64_t *)v->v.a)[i]);
		return;
	case LMD_META_ARR_F64:
		print_float(((const double *)v->v.a)[i]);
		return;
	case LMD_META_ARR_STR:
		s = (const struct lmd_str *)v->v.a + i;
		/* fall through */
	case LMD_META_STR:
		printf("\"%s\"", lmi_show(show, sizeof(show), s->ptr, s->len));
		return;
	}
}

void lmi_meta_print(const struct lmd_meta *v, uint64_t max)
{
	uint64_t n = v->n < max ? v->n : max;

	if (v->type < LMD_META_ARR_BOOL) {
		print_element(v, 0);
		return;
	}
	printf("%" PRIu64 " of: ", v->n);
	for (uint64_t k = 0; k < n; k++) {
		fputs(k ? ", " : "", stdout);
		print_element(v, k);
	}
	fputs(n < v->n ? ", ..." : "", stdout);
}

static bool same_strings(const struct lmd_str *a, const struct lmd_str *b, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (a[i].len != b[i].len || (a[i].len && memcmp(a[i].ptr, b[i].ptr, a[i].len)))
			return false;
	return true;
}

bool lmi_meta_same(const struct lmd_meta *a, const struct lmd_meta *b)
{
	size_t item = 8;

	if (a->type != b->type || a->file_type != b->file_type || a->n != b->n)
		return false;
	switch ((enum lmd_meta_type)a->type) {
	case LMD_META_STR:
		return same_strings(&a->v.s, &b->v.s, 1);
	case LMD_META_ARR_STR:
		return same_strings(a->v.a, b->v.a, a->n);
	case LMD_META_ARR_BOOL:
		item = 1;
		/* fall through */
	case LMD_META_ARR_I64:
	case LMD_META_ARR_F64:
		return !a->n || !memcmp(a->v.a, b->v.a, (size_t)a->n * item);
	case LMD_META_BOOL:
	case LMD_META_I64:
	case LMD_META_U64:
	case LMD_META_F64:
		break;
	}
	return a->v.u == b->v.u; /* compares floats by their bits */
}

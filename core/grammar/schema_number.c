/* SPDX-License-Identifier: MIT
 *
 * Numbers.  Bounds of integers are exact: a range of numbers is a choice of digits that follow
 * the digits of its ends.  Bounds of other numbers are not kept, unless nothing fits them. */
#include <math.h>
#include <string.h>

#include "core/grammar/schema.h"

#define DIGITS_MAX 19 /* of an integer of 64 bits */

struct bounds {
	int64_t min, max;
	bool has_min, has_max, never;
};

/* The least integer that a lower bound allows, or the greatest of an upper one; out of range of
 * 64 bits: *beyond says on which side. */
static int64_t whole(const struct lmi_jnode *v, bool exclusive, int side, int *beyond)
{
	double d = 0, w;
	int64_t i;

	*beyond = 0;
	if (lmi_jnode_is(v, LMI_JINT)) {
		i = v->u.i;
	} else {
		(void)lmi_jnode_real(v, &d);
		w = side > 0 ? ceil(d) : floor(d);
		if (w >= 0x1p63 || w < -0x1p63) {
			*beyond = w > 0 ? 1 : -1;
			return 0;
		}
		i = (int64_t)w;
		exclusive = exclusive && w == d;
	}
	if (!exclusive)
		return i;
	if (i == (side > 0 ? INT64_MAX : INT64_MIN)) {
		*beyond = side;
		return 0;
	}
	return i + side;
}

static void lower(struct bounds *b, const struct lmi_jnode *v, bool exclusive)
{
	int beyond;
	int64_t i = whole(v, exclusive, 1, &beyond);

	b->never |= beyond > 0;
	if (beyond || (b->has_min && i <= b->min))
		return;
	b->has_min = true;
	b->min = i;
}

static void upper(struct bounds *b, const struct lmi_jnode *v, bool exclusive)
{
	int beyond;
	int64_t i = whole(v, exclusive, -1, &beyond);

	b->never |= beyond < 0;
	if (beyond || (b->has_max && i >= b->max))
		return;
	b->has_max = true;
	b->max = i;
}

/* minimum and exclusiveMinimum (a number, or as in draft 4 a boolean), or the same of maximum. */
static void bound(struct lmi_schema *s, const struct lmi_jnode *schema, const char *keyword,
		  const char *exclusive, struct bounds *b,
		  void (*set)(struct bounds *, const struct lmi_jnode *, bool))
{
	const struct lmi_jnode *v = lmi_jnode_get(schema, keyword);
	const struct lmi_jnode *x = lmi_jnode_get(schema, exclusive);
	bool strict = lmi_jnode_is(x, LMI_JBOOL) && x->u.b;
	double d;

	if (v && !lmi_jnode_real(v, &d))
		lmi_schema_fail(s, LMD_INVALID, v, "'%s' is of the type %s", keyword,
				lmi_jnode_kind(v));
	else if (v)
		set(b, v, strict);
	if (!x || lmi_jnode_is(x, LMI_JBOOL))
		return;
	if (!lmi_jnode_real(x, &d))
		lmi_schema_fail(s, LMD_INVALID, x, "'%s' is of the type %s", exclusive,
				lmi_jnode_kind(x));
	else
		set(b, x, true);
}

static struct bounds bounds_of(struct lmi_schema *s, const struct lmi_conj *c)
{
	struct bounds b = {.min = 0};

	for (uint32_t i = 0; i < c->n; i++) {
		bound(s, c->v[i], "minimum", "exclusiveMinimum", &b, lower);
		bound(s, c->v[i], "maximum", "exclusiveMaximum", &b, upper);
	}
	return b;
}

static struct lmi_gx *digit(struct lmi_schema *s, int lo, int hi)
{
	return lmi_gx_range(&s->b, (uint32_t)lo, (uint32_t)hi);
}

static struct lmi_gx *any_digits(struct lmi_schema *s, size_t n)
{
	return lmi_gx_repeat(&s->b, digit(s, '0', '9'), (uint32_t)n, (uint32_t)n);
}

/* Numbers of n digits from lo to hi; NULL: no limit on that side. */
static struct lmi_gx *same_length(struct lmi_schema *s, const char *lo, const char *hi, size_t n)
{
	char first = lo ? lo[0] : '0', last = hi ? hi[0] : '9';
	struct lmi_gx *alt;

	if (!n)
		return lmi_gx_new(&s->b, LMI_GX_SEQ);
	if (!lo && !hi)
		return any_digits(s, n);
	if (lo && hi && first == last)
		return lmi_schema_seq(s, digit(s, first, first),
				      same_length(s, lo + 1, hi + 1, n - 1), NULL);
	alt = lmi_gx_new(&s->b, LMI_GX_ALT);
	if (lo) {
		lmi_gx_add(&s->b, alt,
			   lmi_schema_seq(s, digit(s, first, first),
					  same_length(s, lo + 1, NULL, n - 1), NULL));
		first++;
	}
	if (hi) {
		lmi_gx_add(&s->b, alt,
			   lmi_schema_seq(s, digit(s, last, last),
					  same_length(s, NULL, hi + 1, n - 1), NULL));
		last--;
	}
	if (first <= last)
		lmi_gx_add(&s->b, alt,
			   lmi_schema_seq(s, digit(s, first, last), any_digits(s, n - 1), NULL));
	return alt;
}

static size_t decimal(char out[24], uint64_t v)
{
	char s[24];
	size_t n = 0;

	do
		s[n++] = (char)('0' + v % 10);
	while (v /= 10);
	for (size_t i = 0; i < n; i++)
		out[i] = s[n - 1 - i];
	return n;
}

/* Numbers from lo to hi without sign; open: hi is only a bound of length. */
static void add_range(struct lmi_schema *s, struct lmi_gx *alt, uint64_t lo, uint64_t hi, bool open)
{
	static const char zeros[] = "10000000000000000000", nines[] = "99999999999999999999";
	char a[24], b[24];
	size_t n_a = decimal(a, lo), n_b = open ? DIGITS_MAX : decimal(b, hi);

	for (size_t n = n_a; n <= n_b; n++)
		lmi_gx_add(&s->b, alt,
			   same_length(s,
				       n == n_a ? a
				       : n == 1 ? "0"
						: zeros,
				       n == n_b && !open ? b : nines, n));
}

static uint64_t size_of(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

struct lmi_gx *lmi_schema_integer(struct lmi_schema *s, const struct lmi_conj *c)
{
	struct bounds b = bounds_of(s, c);
	struct lmi_gx *alt, *below;

	if (b.never || (b.has_min && b.has_max && b.min > b.max))
		return lmi_schema_never(s);
	if (!b.has_min && !b.has_max)
		return lmi_schema_common(s, LMI_C_INTEGER);
	alt = lmi_gx_new(&s->b, LMI_GX_ALT);
	if (!b.has_max || b.max >= 0)
		add_range(s, alt, b.has_min && b.min > 0 ? (uint64_t)b.min : 0, size_of(b.max),
			  !b.has_max);
	if (!b.has_min || b.min < 0) {
		below = lmi_gx_new(&s->b, LMI_GX_ALT);
		add_range(s, below, b.has_max && b.max < 0 ? size_of(b.max) : 1, size_of(b.min),
			  !b.has_min);
		lmi_gx_add(&s->b, alt, lmi_schema_seq(s, lmi_schema_word(s, "-"), below, NULL));
	}
	return alt;
}

struct lmi_gx *lmi_schema_number(struct lmi_schema *s, const struct lmi_conj *c)
{
	struct bounds b = bounds_of(s, c);

	/* Ends were rounded inwards: 0.2 to 0.8 is 1 to 0 here. */
	if (b.never || (b.has_min && b.has_max && (double)b.min > (double)b.max + 1))
		return lmi_schema_never(s);
	return lmi_schema_common(s, LMI_C_NUMBER);
}

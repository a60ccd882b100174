/* SPDX-License-Identifier: MIT
 *
 * Numbers. Bounds are exact: a range of numbers is compiled to choices of digits that follow the
 * digits of its bounds, before the decimal point and after it. A number with bounds is written
 * without an exponent. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/grammar/schema.h"

#define DIGITS_MAX 19 /* of a 64-bit integer */

/* Maximum number of digits after the decimal point of a number with bounds. */
#define FRAC_MAX 20

/* One bound of a range of numbers. */
struct end {
	double v;
	bool given, strict; /* strict: the range excludes the bound itself */
};

struct bounds {
	int64_t min, max; /* for integers, inclusive */
	bool has_min, has_max, never;
	struct end lo, hi; /* for all numbers */
};

/* Returns the smallest integer that a lower bound allows, or the largest for an upper bound. If it
 * does not fit 64 bits, *beyond says on which side. */
static int64_t integer_bound(const struct lmi_jnode *v, bool exclusive, int side, int *beyond)
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
	int64_t i = integer_bound(v, exclusive, 1, &beyond);
	struct end e = {.given = true, .strict = exclusive};

	(void)lmi_jnode_real(v, &e.v);
	if (!b->lo.given || e.v > b->lo.v || (e.v == b->lo.v && e.strict))
		b->lo = e;
	b->never |= beyond > 0;
	if (beyond || (b->has_min && i <= b->min))
		return;
	b->has_min = true;
	b->min = i;
}

static void upper(struct bounds *b, const struct lmi_jnode *v, bool exclusive)
{
	int beyond;
	int64_t i = integer_bound(v, exclusive, -1, &beyond);
	struct end e = {.given = true, .strict = exclusive};

	(void)lmi_jnode_real(v, &e.v);
	if (!b->hi.given || e.v < b->hi.v || (e.v == b->hi.v && e.strict))
		b->hi = e;
	b->never |= beyond < 0;
	if (beyond || (b->has_max && i >= b->max))
		return;
	b->has_max = true;
	b->max = i;
}

/* Handles minimum and exclusiveMinimum (a number, or a boolean as in draft 4), or maximum and
 * exclusiveMaximum. */
static void bound(struct lmi_schema *s, const struct lmi_jnode *schema, const char *keyword,
		  const char *exclusive, struct bounds *b,
		  void (*set)(struct bounds *, const struct lmi_jnode *, bool))
{
	const struct lmi_jnode *v = lmi_jnode_get(schema, keyword);
	const struct lmi_jnode *x = lmi_jnode_get(schema, exclusive);
	bool strict = lmi_jnode_is(x, LMI_JBOOL) && x->u.b;
	double d;

	if (v && !lmi_jnode_real(v, &d))
		lmi_schema_fail(s, LMD_INVALID, v, "'%s' has the wrong type: %s", keyword,
				lmi_jnode_kind(v));
	else if (v)
		set(b, v, strict);
	if (!x || lmi_jnode_is(x, LMI_JBOOL))
		return;
	if (!lmi_jnode_real(x, &d))
		lmi_schema_fail(s, LMD_INVALID, x, "'%s' has the wrong type: %s", exclusive,
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

/* Numbers of n digits from lo to hi; NULL means no limit on that side. */
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

/* Unsigned numbers from lo to hi; open: hi only limits the number of digits. */
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

/* ---- numbers with a fraction ---- */

/* An unsigned decimal number, with the digits of the shortest text that gives the same double. */
struct digits {
	uint64_t whole;
	char frac[48]; /* without trailing zeros */
	bool strict;
};

/* Unbounded values have at most DIGITS_MAX digits before the point, so they are below this. */
#define WHOLE_MAX 1e19

/* Returns false if v is so small that FRAC_MAX digits cannot distinguish it from 0. */
static bool to_digits(double v, bool strict, struct digits *out)
{
	char text[400];
	size_t n;

	if (v != 0 && v < 1e-20)
		return false;
	/* precision in significant digits */
	for (int precision = 1; precision <= 17; precision++) {
		(void)snprintf(text, sizeof(text), "%.*e", precision - 1, v);
		if (strtod(text, NULL) == v) {
			int fraction = precision - 1 - atoi(strchr(text, 'e') + 1);

			(void)snprintf(text, sizeof(text), "%.*f", fraction > 0 ? fraction : 0, v);
			break;
		}
	}
	*out = (struct digits){.whole = strtoull(text, NULL, 10), .strict = strict};
	n = strcspn(text, ".");
	(void)snprintf(out->frac, sizeof(out->frac), "%s", text[n] ? text + n + 1 : "");
	for (n = strlen(out->frac); n && out->frac[n - 1] == '0'; n--)
		out->frac[n - 1] = 0;
	return true;
}

/* The remaining digits of a lower and an upper bound; NULL means no limit on that side. */
struct rest {
	const char *lo, *hi;
	bool lo_strict, hi_strict;
};

static bool may_end(struct rest r)
{
	return (!r.lo || (!*r.lo && !r.lo_strict)) && (!r.hi || *r.hi || !r.hi_strict);
}

static struct lmi_gx *digits_of(struct lmi_schema *s, char lo, char hi, uint32_t min)
{
	return lmi_gx_repeat(&s->b, digit(s, lo, hi), min, FRAC_MAX);
}

/* Digits after the decimal point, at least `min` (0 or 1) of them. */
static struct lmi_gx *fraction_digits(struct lmi_schema *s, struct rest r, uint32_t min)
{
	char first, last;
	struct rest next = r;
	struct lmi_gx *alt;

	if (r.lo && !*r.lo && !r.lo_strict)
		r.lo = next.lo = NULL;
	if (!r.lo && !r.hi)
		return digits_of(s, '0', '9', min);
	if (r.hi && !*r.hi) /* only zeros may follow */
		return r.lo || r.hi_strict ? lmi_schema_never(s) : digits_of(s, '0', '0', min);
	if (!r.hi && !*r.lo) /* something other than zeros must follow */
		return lmi_schema_seq(s, digits_of(s, '0', '0', 0), digit(s, '1', '9'),
				      digits_of(s, '0', '9', 0), NULL);
	alt = lmi_gx_new(&s->b, LMI_GX_ALT);
	if (!min && may_end(r))
		lmi_gx_add(&s->b, alt, lmi_gx_new(&s->b, LMI_GX_SEQ));
	first = r.lo && *r.lo ? *r.lo : '0';
	last = r.hi ? *r.hi : '9';
	next.lo += r.lo && *r.lo;
	next.hi += r.hi != NULL;
	if (r.lo && r.hi && first == last) {
		lmi_gx_add(&s->b, alt, lmi_schema_seq(s, digit(s, first, first),
						      fraction_digits(s, next, 0), NULL));
		return alt;
	}
	if (r.lo && first <= last) {
		struct rest only = {.lo = next.lo, .lo_strict = r.lo_strict};

		lmi_gx_add(&s->b, alt, lmi_schema_seq(s, digit(s, first, first),
						      fraction_digits(s, only, 0), NULL));
		first++;
	}
	if (r.hi && first <= last) {
		struct rest only = {.hi = next.hi, .hi_strict = r.hi_strict};

		lmi_gx_add(&s->b, alt, lmi_schema_seq(s, digit(s, last, last),
						      fraction_digits(s, only, 0), NULL));
		last--;
	}
	if (first <= last)
		lmi_gx_add(&s->b, alt, lmi_schema_seq(s, digit(s, first, last),
						      digits_of(s, '0', '9', 0), NULL));
	return alt;
}

/* The point and the digits after it, or nothing. */
static struct lmi_gx *fraction(struct lmi_schema *s, struct rest r)
{
	struct lmi_gx *alt = lmi_gx_new(&s->b, LMI_GX_ALT);

	if (may_end(r))
		lmi_gx_add(&s->b, alt, lmi_gx_new(&s->b, LMI_GX_SEQ));
	lmi_gx_add(&s->b, alt,
		   lmi_schema_seq(s, lmi_schema_word(s, "."), fraction_digits(s, r, 1), NULL));
	return alt;
}

static struct lmi_gx *whole_and(struct lmi_schema *s, uint64_t whole, struct rest r)
{
	char text[24];
	size_t n = decimal(text, whole);

	return lmi_schema_seq(s, lmi_gx_text(&s->b, text, n), fraction(s, r), NULL);
}

/* Unsigned numbers from lo to hi; hi NULL means unbounded. */
static struct lmi_gx *unsigned_range(struct lmi_schema *s, const struct digits *lo,
				     const struct digits *hi)
{
	struct lmi_gx *alt = lmi_gx_new(&s->b, LMI_GX_ALT), *between;
	struct rest at_lo = {.lo = lo->frac, .lo_strict = lo->strict};
	struct rest at_hi = {.hi = hi ? hi->frac : NULL, .hi_strict = hi && hi->strict};

	if (hi && hi->whole == lo->whole) {
		at_lo.hi = at_hi.hi;
		at_lo.hi_strict = at_hi.hi_strict;
		return whole_and(s, lo->whole, at_lo);
	}
	lmi_gx_add(&s->b, alt, whole_and(s, lo->whole, at_lo));
	if (hi)
		lmi_gx_add(&s->b, alt, whole_and(s, hi->whole, at_hi));
	if (!hi || hi->whole - lo->whole > 1) {
		between = lmi_gx_new(&s->b, LMI_GX_ALT);
		add_range(s, between, lo->whole + 1, hi ? hi->whole - 1 : 0, !hi);
		lmi_gx_add(&s->b, alt,
			   lmi_schema_seq(s, between, fraction(s, (struct rest){.lo = NULL}),
					  NULL));
	}
	return alt;
}

/* The part of a range on one side of 0, as unsigned numbers from `near` to `far`. */
static struct lmi_gx *one_sign(struct lmi_schema *s, struct end near, struct end far)
{
	struct digits lo = {.whole = 0}, hi;
	bool open = !far.given || far.v >= WHOLE_MAX;

	if (near.given && near.v >= WHOLE_MAX) {
		lmi_schema_fail(s, LMD_UNSUPPORTED, s->root,
				"a bound of a number is beyond 1e19");
		return NULL;
	}
	if ((near.given && !to_digits(near.v, near.strict, &lo)) ||
	    (!open && !to_digits(far.v, far.strict, &hi))) {
		lmi_schema_fail(s, LMD_UNSUPPORTED, s->root,
				"a bound of a number is closer to 0 than 1e-20");
		return NULL;
	}
	return unsigned_range(s, &lo, open ? NULL : &hi);
}

struct lmi_gx *lmi_schema_number(struct lmi_schema *s, const struct lmi_conj *c)
{
	struct bounds b = bounds_of(s, c);
	struct end lo = b.lo, hi = b.hi, none = {.given = false};
	struct lmi_gx *alt;

	if (!lo.given && !hi.given)
		return lmi_schema_common(s, LMI_C_NUMBER);
	if (lo.given && hi.given && (lo.v > hi.v || (lo.v == hi.v && (lo.strict || hi.strict))))
		return lmi_schema_never(s);
	alt = lmi_gx_new(&s->b, LMI_GX_ALT);
	if (!hi.given || hi.v > 0 || (hi.v == 0 && !hi.strict))
		lmi_gx_add(&s->b, alt, one_sign(s, lo.given && lo.v >= 0 ? lo : none, hi));
	if (!lo.given || lo.v < 0) {
		struct end near = {.v = -hi.v, .given = hi.given && hi.v <= 0, .strict = hi.strict};
		struct end far = {.v = -lo.v, .given = lo.given, .strict = lo.strict};

		lmi_gx_add(&s->b, alt, lmi_schema_seq(s, lmi_schema_word(s, "-"),
						      one_sign(s, near, far), NULL));
	}
	return alt;
}

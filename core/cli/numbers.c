/* SPDX-License-Identifier: MIT
 *
 * Parses numbers as people write them on a command line or in a configuration file. The whole text
 * must be the number. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/opts.h"
#include "llamad/attr.h"

/* Returns "what: ", or "" without what. */
static const char *head(const char *what)
{
	return what ? what : "";
}

static const char *colon(const char *what)
{
	return what ? ": " : "";
}

static bool starts_like_number(const char *text)
{
	text += *text == '-' || *text == '+';
	return (*text >= '0' && *text <= '9') || *text == '.';
}

enum lmd_status lmi_parse_int(const char *what, const char *text, int64_t *out,
			      struct lmd_error *err)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (!starts_like_number(text) || *end)
		return lmd_fail(err, LMD_INVALID, "%s%s'%.60s' is not a whole number", head(what),
				colon(what), text);
	if (errno)
		return lmd_fail(err, LMD_INVALID, "%s%s%.60s does not fit in 64 bits", head(what),
				colon(what), text);
	*out = v;
	return LMD_OK;
}

/* Returns the shift for "k", "KiB", "kB", ...; -1 for anything else. */
static int unit_shift(const char *unit)
{
	static const char units[] = "kMGT";
	int shift = 0;

	if (!*unit)
		return 0;
	for (int i = 0; i < 4 && !shift; i++)
		if (*unit == units[i] || *unit == (units[i] ^ 32))
			shift = 10 * (i + 1);
	unit += shift != 0;
	if (shift && *unit == 'i' && unit[1] == 'B')
		unit++;
	unit += *unit == 'B';
	return *unit ? -1 : shift;
}

enum lmd_status lmi_parse_size(const char *what, const char *text, int64_t *out,
			       struct lmd_error *err)
{
	int64_t v, r;
	char *end;
	int shift;

	errno = 0;
	v = strtoll(text, &end, 10);
	shift = starts_like_number(text) ? unit_shift(end) : -1;
	if (shift < 0)
		return lmd_fail(
			err, LMD_INVALID,
			"%s%s'%.60s' is not a whole number with an optional unit k, M, G or T",
			head(what), colon(what), text);
	if (errno || __builtin_mul_overflow(v, (int64_t)1 << shift, &r))
		return lmd_fail(err, LMD_INVALID, "%s%s%.60s does not fit in 64 bits", head(what),
				colon(what), text);
	*out = r;
	return LMD_OK;
}

/* Returns the milliseconds of a time unit, 0 for anything else. */
static int64_t unit_ms(const char *unit)
{
	static const struct {
		const char *name;
		int64_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}};

	for (size_t i = 0; i < LMD_LEN(units); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].ms;
	return 0;
}

enum lmd_status lmi_parse_time(const char *what, const char *text, int64_t *out,
			       struct lmd_error *err)
{
	int64_t v, r, unit;
	char *end;

	errno = 0;
	v = strtoll(text, &end, 10);
	unit = !starts_like_number(text) ? 0 : v == 0 && !*end ? 1 : unit_ms(end);
	if (!unit)
		return lmd_fail(err, LMD_INVALID,
				"%s%s'%.60s' is not a whole number with a unit ms, s, m or h",
				head(what), colon(what), text);
	if (errno || __builtin_mul_overflow(v, unit, &r))
		return lmd_fail(err, LMD_INVALID, "%s%s%.60s does not fit in 64 bits", head(what),
				colon(what), text);
	*out = r;
	return LMD_OK;
}

enum lmd_status lmi_parse_float(const char *what, const char *text, double *out,
				struct lmd_error *err)
{
	char *end;
	double v = strtod(text, &end);

	if (!starts_like_number(text) || *end || !isfinite(v) ||
	    (text[0] == '0' && (text[1] | 32) == 'x'))
		return lmd_fail(err, LMD_INVALID, "%s%s'%.60s' is not a number", head(what),
				colon(what), text);
	*out = v;
	return LMD_OK;
}

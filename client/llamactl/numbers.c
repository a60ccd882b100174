/* SPDX-License-Identifier: MIT
 *
 * Numbers as people write them on a command line.  The whole text must be the number. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "client/llamactl/opts.h"

/* "what: " or nothing. */
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
		return lmd_fail(err, LMD_INVALID, "%s%s%.60s does not fit into 64 bits", head(what),
				colon(what), text);
	*out = v;
	return LMD_OK;
}

/* Bits to shift by for "k", "KiB", "kB", ...; -1 for anything else. */
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
		return lmd_fail(err, LMD_INVALID,
				"%s%s'%.60s' is not a whole number with an optional unit k, M, G or T",
				head(what), colon(what), text);
	if (errno || __builtin_mul_overflow(v, (int64_t)1 << shift, &r))
		return lmd_fail(err, LMD_INVALID, "%s%s%.60s does not fit into 64 bits", head(what),
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

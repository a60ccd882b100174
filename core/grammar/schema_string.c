/* SPDX-License-Identifier: MIT
 *
 * Strings: a pattern, or a known format, or a range of lengths. */
#include <string.h>

#include "core/grammar/schema.h"

/* Formats are patterns too. Dates check the number of days in each month, but not in which years
 * February has 29 days. */
#define DATE                                                                                       \
	"\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|"   \
	"30)|02-(?:0[1-9]|[12]\\d))"
#define TIME                                                                                       \
	"(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]"    \
	"\\d)"
#define OCTET "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"

static const struct {
	const char *name, *regex;
} formats[] = {
	{"date", "^" DATE "$"},
	{"time", "^" TIME "$"},
	{"date-time", "^" DATE "T" TIME "$"},
	{"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
	{"ipv4", "^" OCTET "(?:\\." OCTET "){3}$"},
};

static struct lmi_gx *quoted(struct lmi_schema *s, struct lmi_gx *inside)
{
	return lmi_schema_seq(s, lmi_schema_word(s, "\""), inside, lmi_schema_word(s, "\""), NULL);
}

/* Returns the expression of a format, or NULL if the format is an annotation. */
static const char *format_of(const struct lmi_jnode *v)
{
	for (size_t k = 0; k < LMD_LEN(formats); k++)
		if (lmi_jnode_eq(v, formats[k].name))
			return formats[k].regex;
	return NULL;
}

static struct lmi_gx *by_format(struct lmi_schema *s, const struct lmi_conj *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_jnode *v = lmi_schema_get(s, c->v[i], "format", LMI_JSTRING);
		const char *regex = v ? format_of(v) : NULL;

		if (regex)
			return lmi_schema_pattern(s, regex, strlen(regex), v);
	}
	return NULL;
}

/* A string is compiled from one pattern, one format or its lengths; any further keyword would be
 * silently ignored and is therefore rejected. */
static void check_one(struct lmi_schema *s, const struct lmi_conj *c)
{
	static const char *const keyword[] = {"pattern", "format", "minLength", "maxLength"};
	const struct lmi_jnode *form = NULL; /* the first pattern or format */

	for (size_t k = 0; k < LMD_LEN(keyword); k++) {
		for (uint32_t i = 0; i < c->n; i++) {
			const struct lmi_jnode *v = lmi_jnode_get(c->v[i], keyword[k]);

			if (!v || (k == 1 && !format_of(v)) ||
			    (k == 2 && lmi_jnode_is(v, LMI_JINT) && !v->u.i))
				continue;
			if (form && !(k < 2 && lmi_schema_equal(form, v)))
				lmi_schema_fail(s, LMD_UNSUPPORTED, v,
						"'%s' is not supported beside another pattern or "
						"format",
						keyword[k]);
			if (k < 2)
				form = v;
		}
	}
}

struct lmi_gx *lmi_schema_string(struct lmi_schema *s, const struct lmi_conj *c)
{
	struct lmi_gx *inside;
	uint32_t min, max;

	check_one(s, c);
	if (lmi_schema_failed(s))
		return NULL;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_jnode *v = lmi_schema_get(s, c->v[i], "pattern", LMI_JSTRING);

		if (v)
			return quoted(s, lmi_schema_pattern(s, v->u.s, v->n, v));
	}
	inside = by_format(s, c);
	if (inside)
		return quoted(s, inside);
	if (!lmi_schema_counts(s, c, "minLength", "maxLength", &min, &max))
		return lmi_schema_never(s);
	if (min == 0 && max == UINT32_MAX)
		return lmi_schema_common(s, LMI_C_STRING);
	return quoted(s, lmi_gx_repeat(&s->b, lmi_schema_common(s, LMI_C_CHAR), min, max));
}

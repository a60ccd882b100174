/* SPDX-License-Identifier: MIT
 *
 * Compiles the patterns with PCRE2 and matches tensor names. */
#include "core/quantize/patterns.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/show.h"

#define STEPS 100000u /* limit for one match; names are short */
#define SHOW  80

struct lmi_patterns {
	const struct lmi_quantize_rule *rules;
	uint32_t n;
	pcre2_code **code; /* [n] */
	pcre2_match_context *limits;
	pcre2_match_data *data;
};

static enum lmd_status compile(struct lmi_patterns *p, uint32_t i, struct lmd_error *err)
{
	const char *s = p->rules[i].pattern;
	char show[SHOW], why[128];
	PCRE2_SIZE at;
	int e;

	p->code[i] = pcre2_compile((PCRE2_SPTR)s, strlen(s), PCRE2_NEVER_UTF, &e, &at, NULL);
	if (p->code[i])
		return LMD_OK;
	if (pcre2_get_error_message(e, (PCRE2_UCHAR *)why, sizeof(why)) < 0)
		why[0] = 0;
	return lmd_fail(err, LMD_INVALID, "pattern \"%s\": %s at byte %zu",
			lmi_show(show, sizeof(show), s, strlen(s)), why, (size_t)at);
}

enum lmd_status lmi_patterns_create(struct lmi_patterns **out,
				    const struct lmi_quantize_rule *rules, uint32_t n,
				    struct lmd_error *err)
{
	struct lmi_patterns *p = lmi_alloc(1, sizeof(*p));
	enum lmd_status st = LMD_OK;

	if (p)
		p->code = lmi_alloc(n + 1u, sizeof(*p->code));
	if (!p || !p->code) {
		lmi_free(p);
		return lmd_fail(err, LMD_NOMEM, "no memory for %u patterns", n);
	}
	p->rules = rules;
	p->n = n;
	p->limits = pcre2_match_context_create(NULL);
	p->data = pcre2_match_data_create(1, NULL);
	if (p->limits && p->data)
		pcre2_set_match_limit(p->limits, STEPS);
	else
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u patterns", n);
	for (uint32_t i = 0; st == LMD_OK && i < n; i++)
		st = compile(p, i, err);
	if (st == LMD_OK)
		*out = p;
	else
		lmi_patterns_destroy(p);
	return st;
}

void lmi_patterns_destroy(struct lmi_patterns *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n; i++)
		pcre2_code_free(p->code[i]);
	pcre2_match_data_free(p->data);
	pcre2_match_context_free(p->limits);
	lmi_free(p->code);
	lmi_free(p);
}

enum lmd_status lmi_patterns_find(struct lmi_patterns *p, const char *name, int32_t *type,
				  struct lmd_error *err)
{
	char show[SHOW], why[128];

	for (uint32_t i = 0; i < p->n; i++) {
		int r = pcre2_match(p->code[i], (PCRE2_SPTR)name, strlen(name), 0, 0, p->data,
				    p->limits);

		if (r >= 0) {
			*type = (int32_t)p->rules[i].type;
			return LMD_OK;
		}
		if (r == PCRE2_ERROR_NOMATCH)
			continue;
		if (pcre2_get_error_message(r, (PCRE2_UCHAR *)why, sizeof(why)) < 0)
			why[0] = 0;
		return lmd_fail(err, LMD_INVALID, "pattern \"%s\": %s",
				lmi_show(show, sizeof(show), p->rules[i].pattern,
					 strlen(p->rules[i].pattern)),
				why);
	}
	return LMD_OK;
}

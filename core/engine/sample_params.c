/* SPDX-License-Identifier: MIT
 *
 * A table with one row per sampler that the plain parameters support, which says when the sampler
 * is included in the usual order.  Its arguments are in a generated table (sample_args.h). */
#include "core/engine/sample_args.h"

#include <string.h>

/* Members added at both ends of an order, besides the named ones. */
#define ENDS 2

static int64_t window(const struct lmi_sampler_params *p, int64_t n)
{
	return n == -1 ? p->n_ctx : n;
}

/* Reads the value of a row from the parameters. */
static struct lmd_param_value value_of(const struct lmi_sampler_arg_row *r,
				       const struct lmi_sampler_params *p)
{
	const char *base = (const char *)p, *at = base + r->at;
	struct lmd_param_value v = {0};

	switch (r->type) {
	case LMD_PARAM_INT:
		v.i = *(const int64_t *)(const void *)at;
		v.i = r->window ? window(p, v.i) : v.i;
		break;
	case LMD_PARAM_FLOAT:
		v.f = *(const double *)(const void *)at;
		break;
	case LMD_PARAM_STRS:
		v.n = *(const uint32_t *)(const void *)(base + r->n_at);
		v.s = *(const struct lmd_str *const *)(const void *)at;
		if (r->optional && !*(const bool *)(const void *)(base + r->has_at)) {
			v.n = r->n_usual;
			v.s = r->usual;
		}
		break;
	case LMD_PARAM_BIAS:
		v.n = *(const uint32_t *)(const void *)(base + r->n_at);
		v.bias = *(const struct lmd_bias *const *)(const void *)at;
		break;
	case LMD_PARAM_TOKENS:
		v.n = *(const uint32_t *)(const void *)(base + r->n_at);
		v.tokens = *(const lmd_token *const *)(const void *)at;
		break;
	case LMD_PARAM_BOOL: /* no row has these types */
	case LMD_PARAM_STR:
		break;
	}
	return v;
}

/* Adds the arguments that the parameters set for this sampler. */
static void add_args(struct lmi_sampler_spec_list *l, const char *sampler,
		     const struct lmi_sampler_params *p)
{
	for (size_t i = 0; i < lmi_sampler_n_arg_rows; i++) {
		const struct lmi_sampler_arg_row *r = &lmi_sampler_arg_rows[i];

		if (strcmp(r->sampler, sampler))
			continue;
		l->arg[l->n_args++] = (struct lmi_sampler_arg){
			.name = r->name, .type = r->type, .v = value_of(r, p)};
		l->spec[l->n].n_args++;
	}
}

static bool bias_on(const struct lmi_sampler_params *p)
{
	return p->n_logit_bias || p->n_suppress_tokens;
}

static bool penalties_on(const struct lmi_sampler_params *p)
{
	return window(p, p->repeat_last_n) != 0 &&
	       (p->repeat_penalty != 1 || p->frequency_penalty != 0 || p->presence_penalty != 0);
}

static bool dry_on(const struct lmi_sampler_params *p)
{
	return p->dry_multiplier != 0 && window(p, p->dry_last_n) != 0;
}

static bool top_n_sigma_on(const struct lmi_sampler_params *p)
{
	return !(p->top_n_sigma <= 0);
}

static bool top_k_on(const struct lmi_sampler_params *p)
{
	return p->top_k > 0;
}

static bool typical_on(const struct lmi_sampler_params *p)
{
	return p->typical != 1;
}

static bool top_p_on(const struct lmi_sampler_params *p)
{
	return p->top_p != 1;
}

static bool min_p_on(const struct lmi_sampler_params *p)
{
	return p->min_p != 0;
}

static bool xtc_on(const struct lmi_sampler_params *p)
{
	return p->xtc_probability != 0;
}

static bool temp_on(const struct lmi_sampler_params *p)
{
	return p->temp != 1 && p->dynatemp_range == 0;
}

static bool temp_ext_on(const struct lmi_sampler_params *p)
{
	return p->dynatemp_range != 0;
}

enum group {
	ALWAYS,       /* even before greedy */
	TRUNCATE,     /* not before mirostat, which truncates itself */
	TEMPER,
	CHOOSE
};

static const struct row {
	const char *name, *alias;
	char letter;
	enum group group;
	bool (*on)(const struct lmi_sampler_params *);
} rows[] = { /* the usual order */
	{ "logit_bias", NULL, 0, ALWAYS, bias_on },
	{ "penalties", NULL, 'e', ALWAYS, penalties_on },
	{ "dry", NULL, 'd', ALWAYS, dry_on },
	{ "top_n_sigma", NULL, 's', TRUNCATE, top_n_sigma_on },
	{ "top_k", NULL, 'k', TRUNCATE, top_k_on },
	{ "typical", "typ_p", 'y', TRUNCATE, typical_on },
	{ "top_p", "nucleus", 'p', TRUNCATE, top_p_on },
	{ "min_p", NULL, 'm', TRUNCATE, min_p_on },
	{ "xtc", NULL, 'x', TRUNCATE, xtc_on },
	{ "temp", NULL, 0, TEMPER, temp_on },
	{ "temp_ext", "temperature", 't', TEMPER, temp_ext_on },
	{ "infill", NULL, 'i', TRUNCATE, NULL },
	{ "mirostat", NULL, 0, CHOOSE, NULL },
	{ "mirostat_v2", NULL, 0, CHOOSE, NULL },
	{ "adaptive_p", NULL, 'a', CHOOSE, NULL },
	{ "dist", NULL, 0, CHOOSE, NULL },
	{ "greedy", NULL, 0, CHOOSE, NULL },
};

static const struct row *row_find(const char *name)
{
	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		if (!strcmp(rows[i].name, name) || (rows[i].alias && !strcmp(rows[i].alias, name)))
			return &rows[i];
	}
	return NULL;
}

const char *lmi_sampler_letter(char letter)
{
	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		if (letter && rows[i].letter == letter)
			return rows[i].name;
	}
	return NULL;
}

static void add(struct lmi_sampler_spec_list *l, const char *name, const struct row *row,
		const struct lmi_sampler_params *p)
{
	struct lmi_sampler_spec *s = &l->spec[l->n];

	*s = (struct lmi_sampler_spec){.name = row ? row->name : name, .args = &l->arg[l->n_args]};
	add_args(l, s->name, p);
	l->n++;
}

static void add_choice(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	const char *name = "dist";

	if (!(p->temp > 0))
		name = "greedy";
	else if (p->mirostat)
		name = p->mirostat == 1 ? "mirostat" : "mirostat_v2";
	add(l, name, row_find(name), p);
}

void lmi_sampler_specs(struct lmi_sampler_spec_list *out, const struct lmi_sampler_params *p)
{
	out->n = 0;
	out->n_args = 0;
	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		const struct row *r = &rows[i];

		if (!r->on || !r->on(p) || (!(p->temp > 0) && r->group != ALWAYS) ||
		    (p->mirostat && r->group == TRUNCATE))
			continue;
		add(out, r->name, r, p);
	}
	add_choice(out, p);
}

static bool chooses(const char *name)
{
	const struct row *r = row_find(name);

	return r && r->group == CHOOSE;
}

enum lmd_status lmi_sampler_specs_ordered(struct lmi_sampler_spec_list *out,
					  const struct lmi_sampler_params *p,
					  const char *const *names, uint32_t n_names,
					  struct lmd_error *err)
{
	if (n_names > LMI_SAMPLER_CHAIN_MAX - ENDS)
		return lmd_fail(err, LMD_INVALID, "sampler order: %u names exceed the limit of %d",
				n_names, LMI_SAMPLER_CHAIN_MAX - ENDS);
	out->n = 0;
	out->n_args = 0;
	if (bias_on(p))
		add(out, "logit_bias", row_find("logit_bias"), p);
	for (uint32_t i = 0; i < n_names; i++)
		add(out, names[i], row_find(names[i]), p);
	if (!n_names || !chooses(names[n_names - 1]))
		add_choice(out, p);
	return LMD_OK;
}

/* ---- an order as text ---- */

static const char *const temperature_first[] = {"penalties", "temp",	"temp_ext", "top_k",
						"top_p",     "min_p",	"typical"};

static void specs_temperature_first(struct lmi_sampler_spec_list *out,
				    const struct lmi_sampler_params *p)
{
	out->n = 0;
	out->n_args = 0;
	if (bias_on(p))
		add(out, "logit_bias", row_find("logit_bias"), p);
	for (size_t i = 0; i < LMD_LEN(temperature_first); i++) {
		const struct row *r = row_find(temperature_first[i]);

		if (!r->on(p) || (!(p->temp > 0) && r->group != ALWAYS) ||
		    (p->mirostat && r->group == TRUNCATE))
			continue;
		add(out, r->name, r, p);
	}
	add_choice(out, p);
}

/* Returns true if the text consists of sampler letters and is not the name of a sampler. */
static bool all_letters(struct lmd_str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!lmi_sampler_letter(text.ptr[i]))
			return false;
	return true;
}

static bool is_word(struct lmd_str text, const char *word)
{
	return text.len == strlen(word) && !memcmp(text.ptr, word, text.len);
}

enum lmd_status lmi_sampler_specs_order(struct lmi_sampler_spec_list *out,
					const struct lmi_sampler_params *p, struct lmd_str text,
					char *names_buf, struct lmd_error *err)
{
	const char *names[LMI_SAMPLER_CHAIN_MAX] = {0};
	bool letters;
	uint32_t n = 0;
	char *at;

	if (!text.ptr || is_word(text, "default")) {
		lmi_sampler_specs(out, p);
		return LMD_OK;
	}
	if (is_word(text, "temperature-first")) {
		specs_temperature_first(out, p);
		return LMD_OK;
	}
	if (text.len >= LMI_SAMPLER_ORDER_MAX || memchr(text.ptr, 0, text.len))
		return lmd_fail(err, LMD_INVALID, "sampler order: %zu bytes exceed the limit of %d",
				text.len, LMI_SAMPLER_ORDER_MAX - 1);
	memcpy(names_buf, text.ptr, text.len);
	names_buf[text.len] = '\0';
	letters = all_letters(text);
	at = names_buf;
	while (*at && n < LMI_SAMPLER_CHAIN_MAX) {
		size_t len = strcspn(at, ",");

		names[n++] = letters ? lmi_sampler_letter(*at) : at;
		if (letters) {
			at++;
		} else if (at[len]) {
			at[len] = '\0';
			at += len + 1;
		} else {
			at += len;
		}
	}
	if (*at || !n)
		return lmd_fail(err, LMD_INVALID,
				"sampler order: it names %s samplers, which exceeds the limit of "
				"%d",
				n ? "more" : "no", LMI_SAMPLER_CHAIN_MAX);
	return lmi_sampler_specs_ordered(out, p, names, n, err);
}

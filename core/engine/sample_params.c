/* SPDX-License-Identifier: MIT
 *
 * A table with one row per sampler that the plain parameters support: how to write its arguments,
 * and when it is included in the usual order. */
#include "core/engine/sample.h"

#include <string.h>

/* Members added at both ends of an order, besides the named ones. */
#define ENDS 2

void lmi_sampler_params_default(struct lmi_sampler_params *p)
{
	*p = (struct lmi_sampler_params){
		.temp = 0.8,
		.dynatemp_exponent = 1,
		.top_k = 40,
		.top_p = 0.95,
		.min_p = 0.05,
		.typical = 1,
		.top_n_sigma = -1,
		.xtc_threshold = 0.1,
		.last_n = 64,
		.repeat_penalty = 1,
		.dry_base = 1.75,
		.dry_allowed_length = 2,
		.dry_last_n = 64,
		.mirostat_tau = 5,
		.mirostat_eta = 0.1,
	};
}

static struct lmi_sampler_arg *add_arg(struct lmi_sampler_spec_list *l, const char *name,
				       enum lmd_param_type type)
{
	struct lmi_sampler_arg *a = &l->arg[l->n_args++];

	*a = (struct lmi_sampler_arg){.name = name, .type = type};
	l->spec[l->n].n_args++;
	return a;
}

static void add_f(struct lmi_sampler_spec_list *l, const char *name, double v)
{
	add_arg(l, name, LMD_PARAM_FLOAT)->v.f = v;
}

static void add_i(struct lmi_sampler_spec_list *l, const char *name, int64_t v)
{
	add_arg(l, name, LMD_PARAM_INT)->v.i = v;
}

static int64_t window(const struct lmi_sampler_params *p, int64_t n)
{
	return n == -1 ? p->n_ctx : n;
}

static void bias_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	struct lmi_sampler_arg *a = add_arg(l, "bias", LMD_PARAM_BIAS);

	a->v.n = p->n_bias;
	a->v.bias = p->bias;
}

static bool bias_on(const struct lmi_sampler_params *p)
{
	return p->n_bias > 0;
}

static void penalties_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	add_i(l, "last_n", window(p, p->last_n));
	add_f(l, "repeat", p->repeat_penalty);
	add_f(l, "freq", p->frequency_penalty);
	add_f(l, "present", p->presence_penalty);
}

static bool penalties_on(const struct lmi_sampler_params *p)
{
	return window(p, p->last_n) != 0 && (p->repeat_penalty != 1 || p->frequency_penalty != 0 ||
					     p->presence_penalty != 0);
}

static const struct lmd_str usual_breakers[] = {{"\n", 1}, {":", 1}, {"\"", 1}, {"*", 1}};

static void dry_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	struct lmi_sampler_arg *a;

	add_f(l, "multiplier", p->dry_multiplier);
	add_f(l, "base", p->dry_base);
	add_i(l, "allowed_length", p->dry_allowed_length);
	add_i(l, "last_n", window(p, p->dry_last_n));
	a = add_arg(l, "breakers", LMD_PARAM_STRS);
	a->v.n = p->dry_breakers ? p->n_dry_breakers : (uint32_t)LMD_LEN(usual_breakers);
	a->v.s = p->dry_breakers ? p->dry_breakers : usual_breakers;
}

static bool dry_on(const struct lmi_sampler_params *p)
{
	return p->dry_multiplier != 0 && window(p, p->dry_last_n) != 0;
}

static void top_n_sigma_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	add_f(l, "n", p->top_n_sigma);
}

static bool top_n_sigma_on(const struct lmi_sampler_params *p)
{
	return !(p->top_n_sigma <= 0);
}

static void top_k_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	add_i(l, "k", p->top_k > 0 ? p->top_k : 0);
}

static bool top_k_on(const struct lmi_sampler_params *p)
{
	return p->top_k > 0;
}

static void typical_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	add_f(l, "p", p->typical);
	add_i(l, "min_keep", p->min_keep);
}

static bool typical_on(const struct lmi_sampler_params *p)
{
	return p->typical != 1;
}

static void top_p_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	add_f(l, "p", p->top_p);
	add_i(l, "min_keep", p->min_keep);
}

static bool top_p_on(const struct lmi_sampler_params *p)
{
	return p->top_p != 1;
}

static void min_p_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	add_f(l, "p", p->min_p);
	add_i(l, "min_keep", p->min_keep);
}

static bool min_p_on(const struct lmi_sampler_params *p)
{
	return p->min_p != 0;
}

static void xtc_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	add_f(l, "p", p->xtc_probability);
	add_f(l, "threshold", p->xtc_threshold);
	add_i(l, "min_keep", p->min_keep);
}

static bool xtc_on(const struct lmi_sampler_params *p)
{
	return p->xtc_probability != 0;
}

static void temp_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	add_f(l, "t", p->temp);
}

static bool temp_on(const struct lmi_sampler_params *p)
{
	return p->temp != 1 && p->dynatemp_range == 0;
}

static void temp_ext_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	add_f(l, "t", p->temp);
	add_f(l, "delta", p->dynatemp_range);
	add_f(l, "exponent", p->dynatemp_exponent);
}

static bool temp_ext_on(const struct lmi_sampler_params *p)
{
	return p->dynatemp_range != 0;
}

static void mirostat_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	add_f(l, "tau", p->mirostat_tau);
	add_f(l, "eta", p->mirostat_eta);
}

static void no_args(struct lmi_sampler_spec_list *l, const struct lmi_sampler_params *p)
{
	(void)l;
	(void)p;
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
	void (*args)(struct lmi_sampler_spec_list *, const struct lmi_sampler_params *);
	bool (*on)(const struct lmi_sampler_params *);
} rows[] = { /* the usual order */
	{ "logit_bias", NULL, 0, ALWAYS, bias_args, bias_on },
	{ "penalties", NULL, 'e', ALWAYS, penalties_args, penalties_on },
	{ "dry", NULL, 'd', ALWAYS, dry_args, dry_on },
	{ "top_n_sigma", NULL, 's', TRUNCATE, top_n_sigma_args, top_n_sigma_on },
	{ "top_k", NULL, 'k', TRUNCATE, top_k_args, top_k_on },
	{ "typical", "typ_p", 'y', TRUNCATE, typical_args, typical_on },
	{ "top_p", "nucleus", 'p', TRUNCATE, top_p_args, top_p_on },
	{ "min_p", NULL, 'm', TRUNCATE, min_p_args, min_p_on },
	{ "xtc", NULL, 'x', TRUNCATE, xtc_args, xtc_on },
	{ "temp", NULL, 0, TEMPER, temp_args, temp_on },
	{ "temp_ext", "temperature", 't', TEMPER, temp_ext_args, temp_ext_on },
	{ "infill", NULL, 'i', TRUNCATE, no_args, NULL },
	{ "mirostat", NULL, 0, CHOOSE, mirostat_args, NULL },
	{ "mirostat_v2", NULL, 0, CHOOSE, mirostat_args, NULL },
	{ "adaptive_p", NULL, 'a', CHOOSE, no_args, NULL },
	{ "dist", NULL, 0, CHOOSE, no_args, NULL },
	{ "greedy", NULL, 0, CHOOSE, no_args, NULL },
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
	if (row)
		row->args(l, p);
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

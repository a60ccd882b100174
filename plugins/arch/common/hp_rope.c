/* SPDX-License-Identifier: MIT
 *
 * hp_rope.c - the keys of rotation (RoPE) and of sliding windows.
 *
 * Scaling: "linear" divides positions by the factor (old files use rope.scale_linear), "none"
 * ignores the factor, "yarn" (arXiv 2309.00071) interpolates by frequency, and "longrope" has its
 * factors in tensors.  YaRN files of some architectures have a log multiplier m; their magnitude is
 * (1 + 0.1 ln(factor)) / (1 + 0.1 m ln(factor)).  The host's rope table function multiplies by
 * 1 + 0.1 ln(1/freq_scale) itself, so the magnitude stored here is divided by that. */
#include <math.h>
#include <string.h>

#include "arch/common/hparams.h"

static bool str_is(struct lmd_str s, const char *word)
{
	return s.ptr && s.len == strlen(word) && memcmp(s.ptr, word, s.len) == 0;
}

/* 1 + 0.1 m ln(factor); 1 if factor <= 1 */
static double yarn_magnitude(double factor, double m)
{
	return factor <= 1.0 ? 1.0 : 1.0 + 0.1 * m * log(factor);
}

static void read_sections(struct lmi_hparams *hp, struct lmi_keys *k, const struct lmi_hp_opts *o)
{
	static const char key[] = "rope.dimension_sections";
	uint64_t n = lmi_key_len(k, key);
	uint32_t sum = 0;

	if (!o->sections_kind)
		return;
	if (!n) {
		if (o->sections_required)
			lmi_key_fail(k, LMD_NOTFOUND, "%s.%s: the file has no such key",
				     k->model->arch, key);
		return;
	}
	if (!lmi_key_is_array(k, key) || n > 4) {
		lmi_key_fail(k, LMD_INVALID, "%s.%s: %llu values, expected an array of 3 or 4",
			     k->model->arch, key, (unsigned long long)n);
		return;
	}
	(void)lmi_key_u32s(k, key, LMI_REQUIRED, hp->sections, (uint32_t)n, 0, 0, LMI_MAX_DK);
	for (uint32_t i = 0; i < n; i++)
		sum += hp->sections[i];
	if (!sum && !o->sections_required)
		return; /* all zero means ordinary positions */
	hp->sections_kind = o->sections_kind;
	if (!sum)
		lmi_key_fail(k, LMD_INVALID, "%s.%s: all sections are 0", k->model->arch, key);
}

void lmi_hp_rope(struct lmi_hparams *hp, struct lmi_keys *k, const struct lmi_hp_opts *o)
{
	struct lmi_rope_hp *r = &hp->rope[LMI_ROPE_FULL];
	struct lmd_str type = lmi_key_str(k, "rope.scaling.type", LMI_OPTIONAL);
	bool yarn = str_is(type, "yarn");
	double factor, log_mul;

	hp->rope_pairing = o->rope_pairing;
	r->base = lmi_key_f64(k, "rope.freq_base", LMI_OPTIONAL, 10000.0, 1e-3, 1e18);
	factor = lmi_key_f64(k, "rope.scale_linear", LMI_OPTIONAL, 0.0, 0.0, 1e6);
	factor = lmi_key_f64(k, "rope.scaling.factor", LMI_OPTIONAL, factor, 0.0, 1e6);
	if (type.ptr && !yarn && !str_is(type, "none") && !str_is(type, "linear") &&
	    !str_is(type, "longrope"))
		lmi_key_fail(
			k, LMD_UNSUPPORTED,
			"%s.rope.scaling.type: \"%.*s\" is not none, linear, yarn or longrope",
			k->model->arch, (int)(type.len < 32 ? type.len : 32), type.ptr);
	r->freq_scale = factor == 0.0 || str_is(type, "none") ? 1.0 : 1.0 / factor;
	r->n_ctx_orig = lmi_key_u32(k, "rope.scaling.original_context_length", LMI_OPTIONAL,
				    hp->n_ctx_train, 0, LMI_MAX_CTX);
	r->n_ctx_orig = r->n_ctx_orig ? r->n_ctx_orig : hp->n_ctx_train;
	r->ext_factor =
		lmi_key_f64(k, "rope.scaling.yarn_ext_factor", LMI_OPTIONAL, -1.0, -1.0, 1e3);
	if (r->ext_factor < 0.0)
		r->ext_factor = yarn ? 1.0 : 0.0;
	r->beta_fast = lmi_key_f64(k, "rope.scaling.yarn_beta_fast", LMI_OPTIONAL, 32.0, 0.0, 1e6);
	r->beta_slow = lmi_key_f64(k, "rope.scaling.yarn_beta_slow", LMI_OPTIONAL, 1.0, 0.0, 1e6);
	r->attn_factor =
		lmi_key_f64(k, "rope.scaling.yarn_attn_factor", LMI_OPTIONAL, 1.0, 0.0, 1e6);
	log_mul = o->yarn_log ? lmi_key_f64(k, "rope.scaling.yarn_log_multiplier", LMI_OPTIONAL,
					    0.0, -1e3, 1e3)
			      : 0.0;
	r->file_factor = lmi_key_f64(k, "rope.scaling.attn_factor", LMI_OPTIONAL, 1.0, 0.0, 1e6);
	if (r->ext_factor != 0.0) {
		double f = 1.0 / r->freq_scale;
		double all = log_mul != 0.0 ? yarn_magnitude(f, log_mul) : 1.0;

		r->attn_factor = yarn_magnitude(f, 1.0) / all / (1.0 + 0.1 * log(f));
	}
	r->attn_factor *= r->file_factor;
	r->use_factors = !o->no_rope_factors;
	hp->rope[LMI_ROPE_WINDOW] = *r;
	read_sections(hp, k, o);
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].rope = o->no_rope || !hp->layer[il].n_rot ? LMD_NONE : LMI_ROPE_FULL;
}

void lmi_hp_windows(struct lmi_hparams *hp, struct lmi_keys *k, const struct lmi_hp_opts *o)
{
	static const char pattern[] = "attention.sliding_window_pattern";
	uint32_t n = o->window_period;
	uint32_t window = lmi_key_u32(k, "attention.sliding_window",
				      o->window_need ? LMI_REQUIRED : LMI_OPTIONAL,
				      o->window_default, 0, LMI_MAX_CTX);
	uint32_t *is = NULL;

	if (!window || k->st != LMD_OK)
		return;
	if (lmi_key_is_array(k, pattern)) {
		is = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*is));
		if (!is || !lmi_key_u32s(k, pattern, LMI_REQUIRED, is, hp->n_layer, 0, 0, 1))
			return;
	} else {
		n = lmi_key_u32(k, pattern, LMI_OPTIONAL, n, 0, LMI_MAX_LAYER);
	}
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];
		bool w = is ? is[il] : n == 0 || il % n != (o->window_dense_first ? 0 : n - 1);

		if (!w)
			continue;
		l->window = window;
		if (l->rope != LMD_NONE)
			l->rope = LMI_ROPE_WINDOW;
	}
}

void lmi_hp_folder_window(struct lmi_hparams *hp, struct lmi_keys *k)
{
	uint32_t window = lmi_key_u32(k, "@folder.attention.sliding_window", LMI_OPTIONAL, 0, 0,
				      LMI_MAX_CTX);
	uint32_t *is = window ? lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*is)) : NULL;

	if (!is || k->st != LMD_OK)
		return;
	(void)lmi_key_u32s(k, "@folder.attention.sliding_window_pattern", LMI_OPTIONAL, is,
			   hp->n_layer, 1, 0, 1);
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].window = is[il] ? window : 0;
}

void lmi_hp_rope_window(struct lmi_hparams *hp, struct lmi_keys *k, double def_base, bool unscaled)
{
	struct lmi_rope_hp *r = &hp->rope[LMI_ROPE_WINDOW];

	*r = hp->rope[LMI_ROPE_FULL];
	if (unscaled) {
		r->freq_scale = 1.0;
		r->ext_factor = 0.0;
		r->attn_factor = r->file_factor;
		r->use_factors = 0;
	}
	r->base = lmi_key_f64(k, "rope.freq_base_swa", LMI_OPTIONAL, def_base, 1e-3, 1e18);
}

/* SPDX-License-Identifier: MIT
 *
 * The table of families and the functions that they share. */
#include "core/format/folder/families.h"

#define FAMILY(name) &lmi_family_##name,
static const struct lmi_family *const families[] = {LMI_FAMILIES(FAMILY)};
#undef FAMILY

const struct lmi_family *lmi_family_find(const struct lmi_jnode *model_type)
{
	for (size_t i = 0; i < LMD_LEN(families); i++)
		if (lmi_jnode_eq(model_type, families[i]->type))
			return families[i];
	return NULL;
}

const struct lmi_family *lmi_family_at(uint32_t i)
{
	return i < LMD_LEN(families) ? families[i] : NULL;
}

const struct lmi_row lmi_rows_head[LMI_ROW_COUNT_HEAD] = {
	{"embed_tokens", "token_embd", 0},
	{"norm", "output_norm", 0},
	{"lm_head", "output", LMI_ROW_ROOT | LMI_ROW_OPT},
};

const struct lmi_row lmi_rows_attn[LMI_ROW_COUNT_ATTN] = {
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", 0},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", 0},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", 0},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", 0},
};

const struct lmi_row lmi_rows_attn_adj[LMI_ROW_COUNT_ATTN] = {
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", LMI_ROW_ROPE_Q},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", LMI_ROW_ROPE_K},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", 0},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", 0},
};

const struct lmi_row lmi_rows_glu[LMI_ROW_COUNT_GLU] = {
	{"layers.%d.mlp.gate_proj", "blk.%d.ffn_gate", 0},
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", 0},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", 0},
};

void lmi_conf_only(struct lmi_folder *f, const char *name, double want)
{
	double v = lmi_conf_real(f, name, want);

	if (v != want)
		lmi_folder_fail(f, LMD_UNSUPPORTED,
				"%s/config.json: \"%s\" is %g, but architecture %s requires %g",
				f->dir, name, v, f->fam->arch, want);
}

void lmi_conf_only_bool(struct lmi_folder *f, const char *name, bool want)
{
	if (lmi_conf_bool(f, name, want) != want)
		lmi_folder_fail(f, LMD_UNSUPPORTED,
				"%s/config.json: \"%s\" is %s, but architecture %s supports only "
				"the other value",
				f->dir, name, want ? "false" : "true", f->fam->arch);
}

void lmi_conf_window(struct lmi_folder *f, uint32_t period)
{
	uint8_t *is;
	bool usual = true, any = false;

	if (!lmi_conf_has(f, "sliding_window"))
		return;
	is = lmi_folder_alloc(f, f->n_layer, 1);
	if (!is)
		return;
	if (!lmi_folder_windows(f, is)) {
		uint32_t n =
			(uint32_t)lmi_conf_int(f, "sliding_window_pattern|_sliding_window_pattern",
					       period, 0, LMI_MAX_LAYERS);

		for (uint32_t i = 0; i < f->n_layer; i++)
			is[i] = !n || (i + 1) % n != 0;
	}
	for (uint32_t i = 0; i < f->n_layer; i++) {
		any = any || is[i];
		usual = usual && is[i] == (!period || (i + 1) % period != 0);
	}
	if (!any)
		return;
	lmi_folder_put_u32(f, "attention.sliding_window",
			   lmi_conf_int(f, "sliding_window", 0, 0, INT32_MAX));
	if (!usual)
		lmi_folder_put_bools(f, "attention.sliding_window_pattern", is, f->n_layer);
}

int64_t lmi_conf_window_size(struct lmi_folder *f, int64_t absent)
{
	const struct lmi_jnode *v = lmi_jnode_get(f->text, "sliding_window");

	if (v && v->type == LMI_JNULL)
		return 0;
	return lmi_conf_int(f, "sliding_window", absent, 0, INT32_MAX);
}

void lmi_conf_own_window(struct lmi_folder *f, int64_t n, const uint8_t *is)
{
	bool any = !is, all = true;

	for (uint32_t i = 0; is && i < f->n_layer; i++) {
		any = any || is[i];
		all = all && is[i];
	}
	if (n < 1 || !any)
		return;
	lmi_folder_put_u32(f, "@folder.attention.sliding_window", n);
	if (!all)
		lmi_folder_put_bools(f, "@folder.attention.sliding_window_pattern", is, f->n_layer);
}

void lmi_conf_lead(struct lmi_folder *f, int64_t n)
{
	f->layers = lmi_folder_alloc(f, f->n_layer, 1);
	for (uint32_t i = 0; f->layers && i < f->n_layer; i++)
		f->layers[i] = (uint8_t)(i < n ? 0 : LMI_LAYER_MOE);
	lmi_folder_put_u32(f, "leading_dense_block_count", n);
}

void lmi_conf_mixers(struct lmi_folder *f)
{
	const struct lmi_jnode *a = lmi_conf(f, "layer_types"), *v = lmi_jnode_first(a);

	if (!lmi_jnode_is(a, LMI_JARRAY) || a->n != f->n_layer) {
		lmi_folder_fail(
			f, LMD_INVALID,
			"%s/config.json: \"layer_types\" is %s of %u elements, must be an array of "
			"%u",
			f->dir, lmi_jnode_kind(a), a ? a->n : 0, f->n_layer);
		return;
	}
	f->layers = lmi_folder_alloc(f, f->n_layer, 1);
	for (uint32_t i = 0; f->layers && i < f->n_layer; i++, v = lmi_jnode_next(v))
		f->layers[i] = (uint8_t)(lmi_jnode_eq(v, "full_attention") ||
							 lmi_jnode_eq(v, "attention")
						 ? 0
						 : LMI_LAYER_MIXER);
}

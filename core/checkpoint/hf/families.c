/* SPDX-License-Identifier: MIT
 *
 * The table of families and the functions that they share. */
#include "core/checkpoint/hf/families.h"

#define FAMILY(name) &lmi_checkpoint_family_##name,
static const struct lmi_checkpoint_family *const families[] = {LMI_CHECKPOINT_FAMILIES(FAMILY)};
#undef FAMILY

const struct lmi_checkpoint_family *
lmi_checkpoint_family_find(const struct lmi_json_node *model_type)
{
	for (size_t i = 0; i < LMD_LEN(families); i++)
		if (lmi_json_node_eq(model_type, families[i]->type))
			return families[i];
	return NULL;
}

const struct lmi_checkpoint_family *lmi_checkpoint_family_at(uint32_t i)
{
	return i < LMD_LEN(families) ? families[i] : NULL;
}

const struct lmi_checkpoint_row lmi_checkpoint_rows_head[LMI_CHECKPOINT_ROW_COUNT_HEAD] = {
	{"embed_tokens", "token_embd", {0}},
	{"norm", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMI_CKPT_ROOT | LMI_CKPT_OPTIONAL}},
};

const struct lmi_checkpoint_row lmi_checkpoint_rows_attn[LMI_CHECKPOINT_ROW_COUNT_ATTN] = {
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {0}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {0}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {0}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {0}},
};

const struct lmi_checkpoint_row lmi_checkpoint_rows_attn_adj[LMI_CHECKPOINT_ROW_COUNT_ATTN] = {
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {.op = LMI_CKPT_ROPE_Q}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {.op = LMI_CKPT_ROPE_K}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {0}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {0}},
};

const struct lmi_checkpoint_row lmi_checkpoint_rows_glu[LMI_CHECKPOINT_ROW_COUNT_GLU] = {
	{"layers.%d.mlp.gate_proj", "blk.%d.ffn_gate", {0}},
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};

void lmi_checkpoint_config_require_value(struct lmi_checkpoint *f, const char *name, double want)
{
	double v = lmi_checkpoint_config_float(f, name, want);

	if (v != want)
		lmi_checkpoint_fail(f, LMD_UNSUPPORTED,
				    "%s/config.json: \"%s\" is %g, but architecture %s requires %g",
				    f->dir, name, v, f->fam->arch, want);
}

void lmi_checkpoint_config_require_bool(struct lmi_checkpoint *f, const char *name, bool want)
{
	if (lmi_checkpoint_config_bool(f, name, want) != want)
		lmi_checkpoint_fail(
			f, LMD_UNSUPPORTED,
			"%s/config.json: \"%s\" is %s, but architecture %s supports only "
			"the other value",
			f->dir, name, want ? "false" : "true", f->fam->arch);
}

void lmi_checkpoint_fam_put_window(struct lmi_checkpoint *f, uint32_t period)
{
	uint8_t *is;
	bool usual = true, any = false;

	if (!lmi_checkpoint_config_has(f, "sliding_window"))
		return;
	is = lmi_checkpoint_alloc(f, f->n_layer, 1);
	if (!is)
		return;
	if (!lmi_checkpoint_window_layers(f, is)) {
		uint32_t n = (uint32_t)lmi_checkpoint_config_int(
			f, "sliding_window_pattern|_sliding_window_pattern", period, 0,
			LMI_MODEL_MAX_LAYERS);

		for (uint32_t i = 0; i < f->n_layer; i++)
			is[i] = !n || (i + 1) % n != 0;
	}
	for (uint32_t i = 0; i < f->n_layer; i++) {
		any = any || is[i];
		usual = usual && is[i] == (!period || (i + 1) % period != 0);
	}
	if (!any)
		return;
	lmi_checkpoint_put_u32(f, "attention.sliding_window",
			       lmi_checkpoint_config_int(f, "sliding_window", 0, 0, INT32_MAX));
	if (!usual)
		lmi_checkpoint_put_bools(f, "attention.sliding_window_pattern", is, f->n_layer);
}

int64_t lmi_checkpoint_fam_window_size(struct lmi_checkpoint *f, int64_t absent)
{
	const struct lmi_json_node *v = lmi_json_node_get(f->text, "sliding_window");

	if (v && v->type == LMI_JSON_NULL)
		return 0;
	return lmi_checkpoint_config_int(f, "sliding_window", absent, 0, INT32_MAX);
}

void lmi_checkpoint_fam_put_folder_window(struct lmi_checkpoint *f, int64_t n, const uint8_t *is)
{
	bool any = !is, all = true;

	for (uint32_t i = 0; is && i < f->n_layer; i++) {
		any = any || is[i];
		all = all && is[i];
	}
	if (n < 1 || !any)
		return;
	lmi_checkpoint_put_u32(f, "@folder.attention.sliding_window", n);
	if (!all)
		lmi_checkpoint_put_bools(f, "@folder.attention.sliding_window_pattern", is,
					 f->n_layer);
}

void lmi_checkpoint_fam_dense_first_layers(struct lmi_checkpoint *f, int64_t n)
{
	f->layers = lmi_checkpoint_alloc(f, f->n_layer, 1);
	for (uint32_t i = 0; f->layers && i < f->n_layer; i++)
		f->layers[i] = (uint8_t)(i < n ? 0 : LMI_CHECKPOINT_LAYER_MOE);
	lmi_checkpoint_put_u32(f, "leading_dense_block_count", n);
}

void lmi_checkpoint_fam_mixer_layers(struct lmi_checkpoint *f)
{
	const struct lmi_json_node *a = lmi_checkpoint_config_find(f, "layer_types"),
				   *v = lmi_json_node_first(a);

	if (!lmi_json_node_is(a, LMI_JSON_ARRAY) || a->n != f->n_layer) {
		lmi_checkpoint_fail(
			f, LMD_INVALID,
			"%s/config.json: \"layer_types\" is %s of %u elements, must be an array of "
			"%u",
			f->dir, lmi_json_node_kind(a), a ? a->n : 0, f->n_layer);
		return;
	}
	f->layers = lmi_checkpoint_alloc(f, f->n_layer, 1);
	for (uint32_t i = 0; f->layers && i < f->n_layer; i++, v = lmi_json_node_next(v))
		f->layers[i] = (uint8_t)(lmi_json_node_eq(v, "full_attention") ||
							 lmi_json_node_eq(v, "attention")
						 ? 0
						 : LMI_CHECKPOINT_LAYER_MIXER);
}

/* SPDX-License-Identifier: MIT
 *
 * Keys that nearly all families share.  Names have changed over the years: "a|b" takes the first
 * one that is present.
 *
 * RoPE parameters have two forms: rope_theta next to rope_scaling, or both in rope_parameters,
 * which may be one object for each kind of layer.  The frequency factors of llama3 and LongRoPE
 * scaling become tensors, as in GGUF files. */
#include <math.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/checkpoint/hf/checkpoint_impl.h"

#define MAX_FACTORS 4096u
#define NO_END      (1 << 20) /* context length of a model without positions */

static void head_counts(struct lmi_checkpoint *f)
{
	uint32_t flags = f->map->flags;

	f->pub.n_head = (uint32_t)lmi_checkpoint_config_require_int(
		f, "num_attention_heads|n_head|n_heads", 1, LMI_MODEL_MAX_LAYERS);
	f->pub.n_head_kv = (uint32_t)lmi_checkpoint_config_int(
		f, "num_key_value_heads|num_kv_heads|n_head_kv|attn_config.kv_n_heads",
		f->pub.n_head, 1, LMI_MODEL_MAX_LAYERS);
	if (flags & (LMD_CKPT_MQA | LMD_CKPT_MLA))
		f->pub.n_head_kv = 1;
	if (flags & LMD_CKPT_MHA)
		f->pub.n_head_kv = f->pub.n_head;
	if (flags & LMD_CKPT_KV_BY_GROUPS &&
	    !lmi_checkpoint_config_bool(f, "new_decoder_architecture", false))
		f->pub.n_head_kv =
			lmi_checkpoint_config_bool(f, "multi_query", true) ? 1 : f->pub.n_head;
	if (flags & LMD_CKPT_MLA) /* the part that RoPE rotates */
		f->pub.head_dim = (uint32_t)lmi_checkpoint_config_require_int(f, "qk_rope_head_dim",
									      1, 1 << 14);
	else
		f->pub.head_dim = (uint32_t)lmi_checkpoint_config_int(
			f, "head_dim", f->pub.n_embd / f->pub.n_head, 1, 1 << 14);
	if (!f->pub.head_dim)
		lmi_checkpoint_fail(
			f, LMD_INVALID,
			"%s/config.json: \"num_attention_heads\" is %u, must be at most "
			"\"hidden_size\", %u",
			f->dir, f->pub.n_head, f->pub.n_embd);
}

static void sizes(struct lmi_checkpoint *f)
{
	bool heads = !(f->map->flags & LMD_CKPT_NO_HEADS);
	int64_t n_ctx, n_ff;

	f->pub.n_layer = (uint32_t)lmi_checkpoint_config_require_int(
		f, "num_hidden_layers|n_layer|n_layers|num_layers", 1, LMI_MODEL_MAX_LAYERS);
	f->pub.n_embd = (uint32_t)lmi_checkpoint_config_require_int(f, "hidden_size|n_embd|d_model",
								    1, 1 << 20);
	if (heads)
		head_counts(f);
	f->pub.n_expert = (uint32_t)lmi_checkpoint_config_int(
		f, "num_experts|num_local_experts|n_routed_experts|moe_num_experts", 0, 0,
		LMI_MODEL_MAX_LAYERS);
	lmi_checkpoint_put_u32(f, "block_count", f->pub.n_layer);
	n_ctx = lmi_checkpoint_config_int(
		f,
		"max_position_embeddings|n_positions|n_ctx|max_seq_len|seq_length|"
		"max_sequence_length",
		heads ? 2048 : NO_END, 1, INT32_MAX);
	if (f->map->flags & LMD_CKPT_PAD_ROWS)
		n_ctx -= 1 + lmi_checkpoint_config_int(f, "pad_token_id", 1, 0, 65535);
	lmi_checkpoint_put_u32(f, "context_length", n_ctx > 0 ? n_ctx : 1);
	lmi_checkpoint_put_u32(f, "embedding_length", f->pub.n_embd);
	n_ff = lmi_checkpoint_config_int(
		f,
		"intermediate_size_mlp|block_ff_dim|intermediate_size|ffn_dim|n_inner|"
		"ffn_hidden_size",
		4 * (int64_t)f->pub.n_embd, 1, 1 << 24);
	if (f->map->n_ff)
		n_ff = f->map->n_ff(&f->pub, n_ff);
	lmi_checkpoint_put_u32(f, "feed_forward_length", heads ? n_ff : 0);
	lmi_checkpoint_put_u32(f, "attention.head_count", f->pub.n_head);
}

/* Number of key heads; layers with a mixer have none. */
static void kv_counts(struct lmi_checkpoint *f)
{
	int64_t *n;

	if (!(f->map->flags & LMD_CKPT_KV_PER_LAYER)) {
		lmi_checkpoint_put_u32(f, "attention.head_count_kv", f->pub.n_head_kv);
		return;
	}
	n = lmi_checkpoint_alloc(f, f->pub.n_layer, sizeof(*n));
	for (uint32_t i = 0; n && i < f->pub.n_layer; i++)
		n[i] = f->pub.layers && f->pub.layers[i] & LMD_CKPT_LAYER_MIXER ? 0
										: f->pub.n_head_kv;
	lmi_checkpoint_put_ints(f, "attention.head_count_kv", n, f->pub.n_layer);
}

static void heads(struct lmi_checkpoint *f)
{
	uint32_t dk = f->pub.head_dim, dv = f->pub.head_dim;

	if (f->pub.n_head % f->pub.n_head_kv)
		lmi_checkpoint_fail(
			f, LMD_INVALID,
			"%s/config.json: \"num_key_value_heads\" is %u, must divide the "
			"number of heads, %u",
			f->dir, f->pub.n_head_kv, f->pub.n_head);
	kv_counts(f);
	if (f->map->flags & LMD_CKPT_MLA) { /* the size of a row in the cache */
		dv = (uint32_t)lmi_checkpoint_config_require_int(f, "kv_lora_rank", 1, 1 << 14);
		dk += dv;
	} else if (!lmi_checkpoint_config_has(f, "head_dim") &&
		   (uint64_t)f->pub.head_dim * f->pub.n_head == f->pub.n_embd) {
		return;
	}
	lmi_checkpoint_put_u32(f, "attention.key_length", dk);
	lmi_checkpoint_put_u32(f, "attention.value_length", dv);
}

static void epsilon(struct lmi_checkpoint *f)
{
	if (f->map->flags & LMD_CKPT_LAYER_NORM)
		lmi_checkpoint_put_f32(f, "attention.layer_norm_epsilon",
				       lmi_checkpoint_config_float(
					       f,
					       "layer_norm_eps|layer_norm_epsilon|norm_epsilon|"
					       "norm_eps",
					       1e-5));
	else
		lmi_checkpoint_put_f32(
			f, "attention.layer_norm_rms_epsilon",
			lmi_checkpoint_config_float(f,
						    "rms_norm_eps|norm_eps|rms_norm_epsilon|"
						    "layer_norm_epsilon",
						    1e-6));
}

static void experts(struct lmi_checkpoint *f)
{
	if (!f->pub.n_expert)
		return;
	lmi_checkpoint_put_u32(f, "expert_count", f->pub.n_expert);
	lmi_checkpoint_put_u32(f, "expert_used_count",
			       lmi_checkpoint_config_require_int(
				       f,
				       "num_experts_per_tok|moe_topk|num_experts_per_token|moe_k",
				       1, f->pub.n_expert));
	if (lmi_checkpoint_config_has(f, "moe_intermediate_size"))
		lmi_checkpoint_put_u32(
			f, "expert_feed_forward_length",
			lmi_checkpoint_config_require_int(f, "moe_intermediate_size", 1, 1 << 24));
	if (lmi_checkpoint_config_has(f, "shared_expert_intermediate_size"))
		lmi_checkpoint_put_u32(f, "expert_shared_feed_forward_length",
				       lmi_checkpoint_config_require_int(
					       f, "shared_expert_intermediate_size", 1, 1 << 24));
}

/* ---- RoPE ---- */

/* A number from the object that describes the RoPE of full layers. */
static double rope_real(struct lmi_checkpoint *f, const struct lmi_json_node *o, const char *key,
			double def)
{
	const struct lmi_json_node *v = lmi_json_node_get(o, key);
	double d = def;

	if (v && v->type != LMI_JSON_NULL && (!lmi_json_node_real(v, &d) || !(d > 0 && d < 1e18)))
		lmi_checkpoint_fail(
			f, LMD_INVALID,
			"%s/config.json: RoPE parameter \"%s\" is %s, must be a number above 0",
			f->dir, key, lmi_json_node_kind(v));
	return d;
}

static const struct lmi_json_node *rope_object(struct lmi_checkpoint *f)
{
	const struct lmi_json_node *o =
		lmi_checkpoint_config_find(f, "rope_parameters|rope_scaling");
	const struct lmi_json_node *full = lmi_json_node_get(o, "full_attention");

	return full ? full : o;
}

/* Computes the tensor rope_freqs: the divisor of each frequency. */
static void llama3(struct lmi_checkpoint *f, const struct lmi_json_node *o, double base)
{
	double factor = rope_real(f, o, "factor", 8), low = rope_real(f, o, "low_freq_factor", 1);
	double high = rope_real(f, o, "high_freq_factor", 4);
	double ctx = rope_real(f, o, "original_max_position_embeddings", 8192);
	uint32_t n = f->pub.rope_dim / 2;
	float *v = lmi_checkpoint_alloc(f, n, sizeof(*v));

	if (high <= low)
		lmi_checkpoint_fail(
			f, LMD_INVALID,
			"%s/config.json: RoPE parameter \"high_freq_factor\" is %g, must "
			"be above %g",
			f->dir, high, low);
	for (uint32_t i = 0; f->status == LMD_OK && i < n; i++) {
		double wave = 2 * 3.14159265358979323846 * pow(base, 2.0 * i / f->pub.rope_dim);
		double smooth = (ctx / wave - low) / (high - low);

		v[i] = wave < ctx / high  ? 1
		       : wave > ctx / low ? (float)factor
					  : (float)(1 / ((1 - smooth) / factor + smooth));
	}
	f->rope_freqs = v;
	f->n_rope_freqs = n;
}

static const float *factors(struct lmi_checkpoint *f, const struct lmi_json_node *o,
			    const char *key)
{
	const struct lmi_json_node *a = lmi_json_node_get(o, key), *v = lmi_json_node_first(a);
	uint32_t n = f->pub.rope_dim / 2;
	float *out;

	if (!lmi_json_node_is(a, LMI_JSON_ARRAY) || a->n != n || n > MAX_FACTORS) {
		lmi_checkpoint_fail(
			f, LMD_INVALID,
			"%s/config.json: RoPE parameter \"%s\" is %s of %u elements, must "
			"be an array of %u",
			f->dir, key, lmi_json_node_kind(a), a ? a->n : 0, n);
		return NULL;
	}
	out = lmi_checkpoint_alloc(f, n, sizeof(*out));
	for (uint32_t i = 0; out && i < n; i++, v = lmi_json_node_next(v)) {
		double d = 0;

		if (!lmi_json_node_real(v, &d) || !(d > 0 && d < 1e9))
			lmi_checkpoint_fail(
				f, LMD_INVALID,
				"%s/config.json: RoPE parameter \"%s\": element %u is not "
				"a number above 0",
				f->dir, key, i);
		out[i] = (float)d;
	}
	return out;
}

static void longrope(struct lmi_checkpoint *f, const struct lmi_json_node *o)
{
	int64_t max = lmi_checkpoint_config_require_int(f, "max_position_embeddings", 1, INT32_MAX);
	int64_t ctx = lmi_checkpoint_config_int(f,
						"original_max_position_embeddings|"
						"rope_parameters.original_max_position_embeddings|"
						"rope_scaling.original_max_position_embeddings",
						max, 1, INT32_MAX);
	double scale = (double)max / (double)ctx, attn;

	attn = scale <= 1 || ctx < 2 ? 1 : sqrt(1 + log(scale) / log((double)ctx));
	attn = rope_real(f, o, "attention_factor", attn);
	f->rope_long = factors(f, o, "long_factor");
	f->rope_short = factors(f, o, "short_factor");
	f->n_rope_freqs = f->pub.rope_dim / 2;
	lmi_checkpoint_put_u32(f, "rope.scaling.original_context_length", ctx);
	lmi_checkpoint_put_f32(f, "rope.scaling.attn_factor", attn);
}

static void yarn(struct lmi_checkpoint *f, const struct lmi_json_node *o)
{
	double factor = rope_real(f, o, "factor", 1), attn;
	double ctx = rope_real(f, o, "original_max_position_embeddings",
			       (double)lmi_checkpoint_config_int(f, "max_position_embeddings", 2048,
								 1, INT32_MAX));
	double usual = factor > 1 ? 1 + 0.1 * log(factor) : 1;

	lmi_checkpoint_put_str(f, "rope.scaling.type", "yarn", 4);
	lmi_checkpoint_put_f32(f, "rope.scaling.factor", factor);
	lmi_checkpoint_put_u32(f, "rope.scaling.original_context_length", (int64_t)ctx);
	if (lmi_json_node_get(o, "beta_fast"))
		lmi_checkpoint_put_f32(f, "rope.scaling.yarn_beta_fast",
				       rope_real(f, o, "beta_fast", 32));
	if (lmi_json_node_get(o, "beta_slow"))
		lmi_checkpoint_put_f32(f, "rope.scaling.yarn_beta_slow",
				       rope_real(f, o, "beta_slow", 1));
	attn = rope_real(f, o, "attention_factor", usual);
	if (attn != usual)
		lmi_checkpoint_put_f32(f, "rope.scaling.attn_factor", attn / usual);
}

/* Positions of four parts: the number of pairs of a head that each part rotates. */
static void sections(struct lmi_checkpoint *f, const struct lmi_json_node *o)
{
	const struct lmi_json_node *a = lmi_json_node_get(o, "mrope_section"),
				   *v = lmi_json_node_first(a);
	int64_t *n;

	if (!a)
		return;
	n = lmi_checkpoint_alloc(f, 4, sizeof(*n));
	for (uint32_t i = 0; n && i < a->n; i++, v = lmi_json_node_next(v))
		if (a->type != LMI_JSON_ARRAY || a->n > 4 ||
		    !lmi_json_node_int(v, 0, 4096, &n[i])) {
			lmi_checkpoint_fail(
				f, LMD_INVALID,
				"%s/config.json: \"mrope_section\" is not an array of at most 4 "
				"integers in 0..4096",
				f->dir);
			return;
		}
	lmi_checkpoint_put_ints(f, "rope.dimension_sections", n, 4);
}

static void scaling(struct lmi_checkpoint *f, const struct lmi_json_node *o, double base)
{
	const struct lmi_json_node *t = lmi_json_node_get(o, "rope_type");
	char show[48];

	t = t ? t : lmi_json_node_get(o, "type");
	if (!t || lmi_json_node_eq(t, "default") || lmi_json_node_eq(t, "none") ||
	    lmi_json_node_eq(t, "dynamic") || lmi_json_node_eq(t, "mrope"))
		return; /* "dynamic" changes nothing within the trained context length */
	if (lmi_json_node_eq(t, "linear")) {
		lmi_checkpoint_put_str(f, "rope.scaling.type", "linear", 6);
		lmi_checkpoint_put_f32(f, "rope.scaling.factor", rope_real(f, o, "factor", 1));
	} else if (lmi_json_node_eq(t, "llama3")) {
		llama3(f, o, base);
	} else if (lmi_json_node_eq(t, "longrope") || lmi_json_node_eq(t, "su")) {
		longrope(f, o);
	} else if (lmi_json_node_eq(t, "yarn")) {
		yarn(f, o);
	} else {
		lmi_checkpoint_fail(f, LMD_UNSUPPORTED,
				    "%s/config.json: RoPE scaling \"%s\" is not supported, must be "
				    "default, linear, dynamic, llama3, longrope or yarn",
				    f->dir,
				    t->type == LMI_JSON_STRING
					    ? lmi_printable(show, sizeof(show), t->u.s, t->n)
					    : lmi_json_node_kind(t));
	}
}

static void rotation(struct lmi_checkpoint *f)
{
	const struct lmi_json_node *o = rope_object(f);
	double base = lmi_checkpoint_config_float(f, "rope_theta|rotary_emb_base|rope_base", 10000);
	double part =
		lmi_checkpoint_config_float(f, "partial_rotary_factor|rotary_pct|rope_pct", 1);

	base = rope_real(f, o, "rope_theta", base);
	if (lmi_json_node_get(o, "alpha") && f->pub.head_dim > 2) /* NTK scaling: longer waves, in
							   * proportion */
		base *= pow(rope_real(f, o, "alpha", 1),
			    (double)f->pub.head_dim / (double)(f->pub.head_dim - 2));
	part = rope_real(f, o, "partial_rotary_factor", part);
	if (!(part > 0 && part <= 1))
		lmi_checkpoint_fail(
			f, LMD_INVALID,
			"%s/config.json: \"partial_rotary_factor\" is %g, must be above 0 "
			"and at most 1",
			f->dir, part);
	f->pub.rope_dim = (uint32_t)lmi_checkpoint_config_int(
		f, "rotary_dim", (int64_t)(f->pub.head_dim * part), 0, f->pub.head_dim);
	lmi_checkpoint_put_u32(f, "rope.dimension_count", f->pub.rope_dim);
	lmi_checkpoint_put_f32(f, "rope.freq_base", base);
	if (o) {
		sections(f, o);
		scaling(f, o, base);
	}
}

bool lmi_checkpoint_window_layers(struct lmi_checkpoint *f, uint8_t *is)
{
	const struct lmi_json_node *a = lmi_checkpoint_config_find(f, "layer_types"),
				   *v = lmi_json_node_first(a);

	if (!lmi_json_node_is(a, LMI_JSON_ARRAY))
		return false;
	if (a->n != f->pub.n_layer) {
		lmi_checkpoint_fail(f, LMD_CORRUPT,
				    "%s/config.json: \"layer_types\" has %u elements for %u layers",
				    f->dir, a->n, f->pub.n_layer);
		return false;
	}
	for (uint32_t i = 0; i < a->n; i++, v = lmi_json_node_next(v))
		is[i] = lmi_json_node_eq(v, "sliding_attention");
	return true;
}

/* Reads the file that sentence-transformers adds to a model.  The numbers are the values of the key
 * pooling_type. */
void lmi_checkpoint_add_pooling(struct lmi_checkpoint *f)
{
	static const struct {
		const char *name;
		uint32_t type;
	} modes[] = {{"pooling_mode_mean_tokens", 1},
		     {"pooling_mode_cls_token", 2},
		     {"pooling_mode_lasttoken", 3}};
	struct lmi_json_tree t = {0};

	if (f->status == LMD_OK)
		f->status = lmi_checkpoint_read_json(f, "1_Pooling/config.json", true, 1 << 16,
						     4096, &t);
	for (size_t i = 0; i < LMD_LEN(modes); i++) {
		const struct lmi_json_node *v = lmi_json_node_get(t.root, modes[i].name);

		if (!lmi_json_node_is(v, LMI_JSON_BOOL) || !v->u.b)
			continue;
		lmi_checkpoint_put_u32(f, "pooling_type", modes[i].type);
		break;
	}
	lmi_json_tree_fini(&t);
}

void lmi_checkpoint_add_keys(struct lmi_checkpoint *f)
{
	lmi_checkpoint_put_str(f, "@general.architecture", f->map->arch, strlen(f->map->arch));
	lmi_checkpoint_put_str(f, "@general.type", "model", 5);
	f->pub.tied = lmi_checkpoint_config_bool(f, "tie_word_embeddings", false);
	sizes(f);
	if (f->status == LMD_OK && f->map->layers)
		f->map->layers(&f->pub);
	if (f->status == LMD_OK && !(f->map->flags & LMD_CKPT_NO_HEADS))
		heads(f);
	lmi_checkpoint_put_u32(
		f, "vocab_size",
		lmi_checkpoint_config_require_int(f, "vocab_size", 1, LMI_MODEL_MAX_VOCAB));
	epsilon(f);
	experts(f);
	if (f->status == LMD_OK && !(f->map->flags & LMD_CKPT_NO_ROPE))
		rotation(f);
	if (f->status == LMD_OK && f->map->keys)
		f->map->keys(&f->pub);
	lmi_checkpoint_add_pooling(f);
}

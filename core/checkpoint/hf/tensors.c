/* SPDX-License-Identifier: MIT
 *
 * Turns the rows of a family into tensors with transforms.  A tensor in the files that no row
 * explains is an error: a model without some of its weights would run and produce nonsense. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/quant/quant.h"

#define NAME 320u

/* Tensors that may be present but are not needed: computed tables, other modalities, draft
 * layers. */
static const char *const ends[] = {
	".rotary_emb.inv_freq",           ".attn.bias", ".attn.masked_bias", ".attention.bias",
	".attention.masked_bias",         ".k_scale",   ".v_scale",          ".kv_scale",
	".self_attn.rotary_emb.inv_freq",
};
static const char *const begins[] = {
	"vision_tower.", "model.vision_tower.", "multi_modal_projector.",
	"model.multi_modal_projector.", "visual.", "model.visual.", "audio_tower.",
	"model.audio_tower.", "model.embed_audio.", "model.embed_vision.", "mtp.", "model.mtp.",
};

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool is_other_part(const char *name)
{
	for (size_t i = 0; i < LMD_LEN(begins); i++)
		if (starts(name, begins[i]))
			return true;
	return false;
}

bool lmi_checkpoint_is_prefix(const char *name, size_t n)
{
	if ((n && name[n - 1] != '.') || is_other_part(name))
		return false;
	for (size_t at = 0; at < n;) { /* no number: what follows belongs to a layer */
		size_t len = strcspn(name + at, ".");

		if (strspn(name + at, "0123456789") == len)
			return false;
		at += len + 1;
	}
	return true;
}

/* Bytes before the stem in a name "PREFIX STEM.weight", where another suffix may stand in the place
 * of "weight"; -1 if it is another name. */
static int prefix_bytes(const char *name, const char *stem)
{
	const char *end = strrchr(name, '.');
	size_t n = strlen(stem), at;

	if (!end || (size_t)(end - name) < n)
		return -1;
	at = (size_t)(end - name) - n;
	return !strncmp(name + at, stem, n) && lmi_checkpoint_is_prefix(name, at) ? (int)at : -1;
}

/* The prefix of all names of the language model is what stands before that of the embedding; the
 * shortest one if several parts have an embedding. */
static void find_prefix(struct lmi_checkpoint *f)
{
	const char *embd = f->map->rows[0]->v[0].from, *found = NULL;
	int n = -1;

	for (uint32_t i = 0; i < f->st.n; i++) {
		int k = prefix_bytes(f->st.v[i].name, embd);

		if (k >= 0 && (n < 0 || k < n)) {
			n = k;
			found = f->st.v[i].name;
		}
	}
	if (!found)
		lmi_checkpoint_fail(
			f, LMD_NOTFOUND,
			"%s: tensor %s.weight is missing, which models of type \"%s\" have", f->dir,
			embd, f->map->type);
	else if (!(f->prefix = lmi_arena_printf(f->m->arena, "%.*s", n, found)))
		lmi_checkpoint_fail(f, LMD_NOMEM, "no memory for names of tensors");
}

/* ---- rows ---- */

/* Fills in one or two "%d"; the patterns come from our own tables. */
static void expand(char *out, const char *pattern, uint32_t il, uint32_t k)
{
	size_t n = 0;
	uint32_t nth = 0;

	for (const char *p = pattern; *p && n + 12 < NAME; p++) {
		if (p[0] == '%' && p[1] == 'd') {
			n += (size_t)snprintf(out + n, NAME - n, "%u", nth++ ? k : il);
			p++;
		} else {
			out[n++] = *p;
		}
	}
	out[n] = 0;
}

/* Finds a weight or a bias by its stem in the files. */
static bool get(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
		const char *stem, bool bias, struct lmi_checkpoint_weight_source *out)
{
	char name[2 * NAME + 8];

	if (!bias && !(row->how.flags & LMD_CKPT_BARE_FROM))
		return lmi_checkpoint_source_find(f, stem, out);
	if (bias && row->how.flags & LMD_CKPT_BARE_FROM)
		return false;
	(void)snprintf(name, sizeof(name), "%s%s", stem, bias ? ".bias" : "");
	return lmi_checkpoint_source_find_plain(f, name, out) ||
	       (!bias && lmi_checkpoint_source_find(f, stem, out));
}

static void stem_of(const struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
		    uint32_t il, uint32_t k, char out[2 * NAME])
{
	char name[NAME];

	expand(name, row->from, il, k);
	(void)snprintf(out, 2 * NAME, "%s%s", row->how.flags & LMD_CKPT_ROOT ? "" : f->prefix,
		       name);
}

/* Reports that expert k, of that stem, is missing although experts 0..k-1 exist. */
static void is_missing(struct lmi_checkpoint *f, const char *stem, uint32_t k)
{
	lmi_checkpoint_fail(f, LMD_CORRUPT,
			    "%s: tensor %.120s is missing, although the %u before it exist", f->dir,
			    stem, k);
}

/* Adds one tensor for each expert. */
static bool add_each(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
		     uint32_t il, bool bias)
{
	struct lmi_checkpoint_weight_source src;
	char stem[2 * NAME], to[NAME + 12], base[NAME];
	uint32_t k = 0;

	expand(base, row->to, il, 0);
	base[strlen(base) - strlen("_exps")] = 0; /* blk.0.ffn_up.3 */
	for (; k < f->pub.n_expert && f->status == LMD_OK; k++) {
		stem_of(f, row, il, k, stem);
		if (!get(f, row, stem, bias, &src))
			break;
		(void)snprintf(to, sizeof(to), "%s.%u", base, k);
		lmi_checkpoint_add_tensor(f, row, &src, 1, bias, to);
	}
	if (k && k < f->pub.n_expert)
		is_missing(f, stem, k);
	return k > 0;
}

/* Adds all experts as one tensor. */
static bool add_stacked(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
			uint32_t il, bool bias)
{
	uint32_t n = row->how.stack == LMD_CKPT_EXPERTS ? f->pub.n_expert
		     : row->how.stack != LMD_CKPT_HEADS ? 1
		     : strstr(row->to, "_k_")           ? f->pub.n_head_kv
							: f->pub.n_head;
	struct lmi_checkpoint_weight_source *src = lmi_alloc(n ? n : 1, sizeof(*src));
	char stem[2 * NAME], to[NAME];
	uint32_t k = 0;

	if (!src) {
		lmi_checkpoint_fail(f, LMD_NOMEM, "no memory for %u experts", n);
		return false;
	}
	expand(to, row->to, il, 0);
	for (; k < n && f->status == LMD_OK; k++) {
		stem_of(f, row, il, k, stem);
		if (!get(f, row, stem, bias, &src[k]))
			break;
	}
	if (k && k == n)
		lmi_checkpoint_add_tensor(f, row, src, n, bias, to);
	else if (k)
		is_missing(f, stem, k);
	lmi_free(src);
	return k > 0;
}

static bool add_row(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
		    uint32_t il, bool bias)
{
	bool each = row->how.stack == LMD_CKPT_EXPERTS && !(f->flags & LMI_CHECKPOINT_STACKED);

	return each ? add_each(f, row, il, bias) : add_stacked(f, row, il, bias);
}

/* True if layers of this kind have the row. */
static bool is_for(const struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
		   uint32_t il)
{
	uint32_t is = f->pub.layers ? f->pub.layers[il] : 0;
	uint32_t not = (is & LMD_CKPT_LAYER_MOE ? LMD_CKPT_IN_DENSE : LMD_CKPT_IN_MOE) |
		       (is & LMD_CKPT_LAYER_MIXER ? LMD_CKPT_IN_ATTN : LMD_CKPT_IN_MIXER);

	return !(row->how.layers & not);
}

static void do_row(struct lmi_checkpoint *f, const struct lmd_checkpoint_row *row,
		   uint32_t il)
{
	char stem[2 * NAME];
	bool there;

	if (f->status != LMD_OK || (f->pub.tied && !strcmp(row->to, "output")) || !is_for(f, row, il))
		return;
	if (row->how.flags & LMD_CKPT_UNUSED) {
		struct lmi_checkpoint_weight_source none;

		stem_of(f, row, il, 0, stem);
		if (get(f, row, stem, false, &none))
			(void)get(f, row, stem, true, &none);
		return;
	}
	there = add_row(f, row, il, false);
	if (there && !(row->how.flags & LMD_CKPT_NO_BIAS) && f->status == LMD_OK)
		(void)add_row(f, row, il, true);
	if (there || row->how.flags & LMD_CKPT_OPTIONAL)
		return;
	stem_of(f, row, il, 0, stem);
	lmi_checkpoint_fail(f, LMD_NOTFOUND, "%s: tensor %.200s%s is missing", f->dir, stem,
			    row->how.flags & LMD_CKPT_BARE_FROM ? "" : ".weight");
}

static bool is_layered(const struct lmd_checkpoint_row *row)
{
	return strstr(row->from, "%d") != NULL;
}

/* Applies the rows of a layer, or with il -1 those that no layer has. */
static void do_rows(struct lmi_checkpoint *f, int32_t il)
{
	for (uint32_t k = 0; k < LMD_CKPT_MAX_SETS && f->map->rows[k]; k++) {
		const struct lmd_checkpoint_rows *set = f->map->rows[k];

		for (uint32_t i = 0; i < set->n; i++)
			if (is_layered(&set->v[i]) == (il >= 0))
				do_row(f, &set->v[i], il < 0 ? 0 : (uint32_t)il);
	}
}

/* ---- unused tensors ---- */

/* True for "layers.61." in a model with 61 layers, which is a layer for drafts. */
static bool is_after_trunk(const struct lmi_checkpoint *f, const char *name)
{
	static const char *const words[] = {"layers.", "h.", "blocks."};
	size_t n = strlen(f->prefix);

	if (!starts(name, f->prefix))
		return false;
	for (size_t i = 0; i < LMD_LEN(words); i++)
		if (starts(name + n, words[i]))
			return strtoul(name + n + strlen(words[i]), NULL, 10) >= f->pub.n_layer;
	return false;
}

static bool is_unneeded(const struct lmi_checkpoint *f, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < LMD_LEN(ends); i++)
		if (n > strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]))
			return true;
	return is_other_part(name) || is_after_trunk(f, name) || (f->pub.tied && starts(name, "lm_head."));
}

static void check_used(struct lmi_checkpoint *f)
{
	char show[112];

	for (uint32_t i = 0; f->status == LMD_OK && i < f->st.n; i++) {
		const char *name = f->st.v[i].name;

		/* a tensor without values holds no weights that could be missed */
		if (!f->used[i] && f->st.v[i].bytes && !is_unneeded(f, name))
			lmi_checkpoint_fail(f, LMD_UNSUPPORTED,
					    "%s: tensor %s is unknown in models of type \"%s\"",
					    f->dir,
					    lmi_printable(show, sizeof(show), name, strlen(name)),
					    f->map->type);
	}
}

void lmi_checkpoint_add_tensors(struct lmi_checkpoint *f)
{
	find_prefix(f);
	if (f->status == LMD_OK)
		f->status = lmi_model_reserve_tensors(f->m, 2 * f->st.n + 8, f->err);
	do_rows(f, -1);
	lmi_checkpoint_add_values(f, "rope_freqs.weight", f->rope_freqs);
	lmi_checkpoint_add_values(f, "rope_factors_long.weight", f->rope_long);
	lmi_checkpoint_add_values(f, "rope_factors_short.weight", f->rope_short);
	for (uint32_t il = 0; il < f->pub.n_layer; il++)
		do_rows(f, (int32_t)il);
	check_used(f);
}

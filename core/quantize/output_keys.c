/* SPDX-License-Identifier: MIT
 *
 * Builds the keys of the new file. */
#include "core/quantize/output_keys.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/quantize/model_params.h"
#include "llamad/attr.h"

#define QUANTIZATION_VERSION 2 /* version of the block layouts */

/* True for keys of the source that are not copied, because the new file has its own value or
 * none. */
static bool is_replaced(const struct lmi_quantize_plan *p, const char *key)
{
	static const char *const split[] = {"split.no", "split.count", "split.tensors.count"};
	static const char *const ours[] = {
		"general.file_type",	   "general.quantization_version",
		"quantize.imatrix.file",   "quantize.imatrix.dataset",
		"quantize.imatrix.entries_count", "quantize.imatrix.chunks_count"};
	char count[80];

	for (size_t i = 0; i < LMD_LEN(split); i++)
		if (!strcmp(key, split[i]))
			return true;
	for (size_t i = 0; p->opts.ftype && i < LMD_LEN(ours); i++)
		if (!strcmp(key, ours[i]))
			return true;
	(void)snprintf(count, sizeof(count), "%.60s.block_count", lmi_model_view(p->model)->arch);
	if (p->opts.n_prune && !strcmp(key, count))
		return true;
	for (uint32_t i = 0; i < p->opts.n_keys; i++)
		if (!strcmp(key, p->opts.keys[i].key))
			return true;
	return false;
}

/* True for an array with one element per layer.  Among arrays that happen to have this length, only
 * dimension_sections has a fixed length. */
static bool is_by_layer(const struct lmi_quantize_plan *p, const struct lmd_meta *v)
{
	const char *arch = lmi_model_view(p->model)->arch;
	size_t n = strlen(arch);

	return v->type >= LMD_META_ARR_BOOL && v->n == (uint64_t)p->n_layer &&
	       !strncmp(v->key, arch, n) && v->key[n] == '.' &&
	       !strstr(v->key, "dimension_sections");
}

/* Puts the array without the elements of pruned layers. */
static enum lmd_status put_pruned(const struct lmi_quantize_plan *p, const struct lmd_meta *v,
				  struct lmi_gguf_writer *w, struct lmd_error *err)
{
	size_t size = v->type == LMD_META_ARR_BOOL  ? 1
		      : v->type == LMD_META_ARR_STR ? sizeof(struct lmd_str)
						    : 8;
	struct lmd_meta pruned = *v;
	uint8_t *a = lmi_alloc((size_t)v->n, size);

	if (!a)
		return lmd_fail(err, LMD_NOMEM, "no memory for key %s", v->key);
	pruned.n = 0;
	pruned.v.a = a;
	for (uint64_t i = 0; i < v->n; i++) {
		bool out = false;

		for (uint32_t k = 0; k < p->opts.n_prune; k++)
			out |= p->opts.prune[k] == i;
		if (!out)
			memcpy(a + pruned.n++ * size, (const uint8_t *)v->v.a + i * size, size);
	}
	lmi_gguf_put_meta(w, &pruned);
	lmi_free(a);
	return LMD_OK;
}

static enum lmd_status put_source(const struct lmi_quantize_plan *p, struct lmi_gguf_writer *w,
				  struct lmd_error *err)
{
	const struct lmd_model *v = lmi_model_view(p->model);
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < v->n_meta; i++) {
		if (is_replaced(p, v->meta[i].key))
			continue;
		if (p->opts.n_prune && is_by_layer(p, &v->meta[i]))
			st = put_pruned(p, &v->meta[i], w, err);
		else
			lmi_gguf_put_meta(w, &v->meta[i]);
	}
	return st;
}

static bool is_given(const struct lmi_quantize_plan *p, const char *key)
{
	for (uint32_t i = 0; i < p->opts.n_keys; i++)
		if (!strcmp(key, p->opts.keys[i].key))
			return true;
	return false;
}

static void put_u32(const struct lmi_quantize_plan *p, struct lmi_gguf_writer *w, const char *key,
		    uint32_t v)
{
	if (!is_given(p, key))
		lmi_gguf_put_u32(w, key, v);
}

static void put_ours(const struct lmi_quantize_plan *p, struct lmi_gguf_writer *w)
{
	const struct lmi_imatrix *im = p->opts.imatrix;
	char key[80];

	if (p->opts.n_prune) {
		(void)snprintf(key, sizeof(key), "%.60s.block_count",
			       lmi_model_view(p->model)->arch);
		put_u32(p, w, key, (uint32_t)p->n_layer_out);
	}
	if (p->opts.ftype) {
		put_u32(p, w, "general.quantization_version", QUANTIZATION_VERSION);
		put_u32(p, w, "general.file_type", (uint32_t)p->opts.ftype->id);
	}
	for (uint32_t i = 0; i < p->opts.n_keys; i++)
		lmi_gguf_put_meta(w, &p->opts.keys[i]);
	if (!p->opts.ftype || !im)
		return;
	if (!is_given(p, "quantize.imatrix.file"))
		lmi_gguf_put_str(w, "quantize.imatrix.file", p->opts.imatrix_path);
	if (im->n_dataset && !is_given(p, "quantize.imatrix.dataset"))
		lmi_gguf_put_str(w, "quantize.imatrix.dataset", im->dataset[0]);
	put_u32(p, w, "quantize.imatrix.entries_count", im->n_entry);
	if (im->n_chunk)
		put_u32(p, w, "quantize.imatrix.chunks_count", im->n_chunk);
}

static void put_number(struct lmi_gguf_writer *w, const char *key, enum lmi_gguf_type type,
		       int64_t v)
{
	const struct lmd_meta m = {
		.key = key, .type = LMD_META_I64, .file_type = (uint32_t)type, .n = 1, .v.i = v};

	lmi_gguf_put_meta(w, &m);
}

enum lmd_status lmi_quantize_keys(const struct lmi_quantize_plan *p, uint32_t i,
				  struct lmi_gguf_writer *w, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (i == 0) {
		st = put_source(p, w, err);
		put_ours(p, w);
	}
	if (p->n_files > 1) {
		put_number(w, "split.no", LMI_GGUF_U16, i);
		put_number(w, "split.count", LMI_GGUF_U16, p->n_files);
		put_number(w, "split.tensors.count", LMI_GGUF_I32, p->n_items);
	}
	return st;
}

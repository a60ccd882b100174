/* SPDX-License-Identifier: MIT */
#include "tests/tiny_tower.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/format/gguf/write.h"
#include "tests/support.h"
#include "tests/tiny_model.h"

#define WIDTH 32
#define FF    48
#define LAYER 2

struct row {
	const char *name;
	int64_t dims[4];
	bool layers;
};

#define BOTH(name, d0, d1) {name ".weight", {d0, d1}, false}, {name ".bias", {d1 ? d1 : d0}, false}
#define BLOCK(name, d0, d1)                                                                        \
	{"v.blk.%d." name ".weight", {d0, d1}, true}, {"v.blk.%d." name ".bias", {d1 ? d1 : d0}, true}
#define BLOCKS(ff)                                                                                 \
	BLOCK("ln1", WIDTH, 0), BLOCK("ln2", WIDTH, 0), BLOCK("attn_q", WIDTH, WIDTH),             \
		BLOCK("attn_k", WIDTH, WIDTH), BLOCK("attn_v", WIDTH, WIDTH),                      \
		BLOCK("attn_out", WIDTH, WIDTH), BLOCK("ffn_up", WIDTH, ff), BLOCK("ffn_down", ff, WIDTH)
#define PATCHES {"v.patch_embd.weight", {LMT_TOWER_PATCH, LMT_TOWER_PATCH, 3, WIDTH}, false}
#define PATCH_BIAS {"v.patch_embd.bias", {WIDTH}, false}
#define POSITIONS(n) {"v.position_embd.weight", {WIDTH, n}, false}
#define END {NULL, {0}, false}

static const struct row idefics3[] = {
	PATCHES, PATCH_BIAS, POSITIONS(16), BLOCKS(FF), BOTH("v.post_ln", WIDTH, 0),
	{"mm.model.fc.weight", {4 * WIDTH, LMT_EMBD}, false}, END};
static const struct row mlp[] = {
	PATCHES, {"v.class_embd", {WIDTH}, false}, POSITIONS(17), BOTH("v.pre_ln", WIDTH, 0), BLOCKS(FF),
	BOTH("mm.0", WIDTH, LMT_EMBD), BOTH("mm.2", LMT_EMBD, LMT_EMBD), END};
static const struct row gemma3[] = {
	PATCHES, PATCH_BIAS, POSITIONS(64), BLOCKS(FF), BOTH("v.post_ln", WIDTH, 0),
	{"mm.input_projection.weight", {LMT_EMBD, WIDTH}, false},
	{"mm.soft_emb_norm.weight", {WIDTH}, false}, END};
static const struct row qwen2vl[] = {
	PATCHES,
	{"v.patch_embd.weight.1", {LMT_TOWER_PATCH, LMT_TOWER_PATCH, 3, WIDTH}, false},
	BLOCKS(2 * WIDTH), BOTH("v.post_ln", WIDTH, 0), BOTH("mm.0", 4 * WIDTH, 4 * WIDTH),
	BOTH("mm.2", 4 * WIDTH, LMT_EMBD), END};

static const struct {
	const char *name;
	const struct row *rows;
	uint32_t side, ff; /* side of a picture */
	bool gelu;
	float eps;
} kinds[LMT_N_TOWER] = {
	[LMT_TOWER_IDEFICS3] = {"idefics3", idefics3, 16, FF, true, 1e-6f},
	[LMT_TOWER_MLP] = {"mlp", mlp, 16, FF, false, 1e-5f},
	[LMT_TOWER_GEMMA3] = {"gemma3", gemma3, 32, FF, true, 1e-6f},
	[LMT_TOWER_QWEN2VL] = {"qwen2vl_merger", qwen2vl, 16, 2 * WIDTH, false, 1e-6f},
};

const char *lmt_tower_name(enum lmt_tower kind)
{
	return kinds[kind].name;
}

/* ---- numbers ---- */

static uint32_t mix(uint32_t x)
{
	x = (x ^ (x >> 16)) * 0x85ebca6bu;
	x = (x ^ (x >> 13)) * 0xc2b2ae35u;
	return x ^ (x >> 16);
}

uint32_t lmt_tower_number(const char *name, size_t i)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return mix(h + (uint32_t)i * 2654435761u);
}

uint8_t lmt_tower_pixel(size_t i)
{
	return (uint8_t)lmt_tower_number("pixels", i);
}

static float weight(const char *name, size_t i, size_t k)
{
	double u = lmt_tower_number(name, i) / 4294967296.0 * 2 - 1;

	if (strlen(name) > 5 && !strcmp(name + strlen(name) - 5, ".bias"))
		return (float)(0.1 * u);
	if (strstr(name, "ln") || strstr(name, "norm"))
		return (float)(1 + 0.2 * u);
	return (float)(1.5 * u / sqrt((double)k));
}

/* ---- the file ---- */

static void must(enum lmd_status st, const struct lmd_error *err)
{
	if (st == LMD_OK)
		return;
	fprintf(stderr, "tiny tower: %s\n", err->text);
	abort();
}

static uint32_t n_dim(const struct row *r)
{
	uint32_t n = 0;

	while (n < 4 && r->dims[n])
		n++;
	return n;
}

static void put_triple(struct lmi_gguf_writer *w, const char *key, double v)
{
	const double all[3] = {v, v, v};
	const struct lmd_meta m = {
		.key = key, .type = LMD_META_ARR_F64, .file_type = LMI_GGUF_F32, .n = 3, .v.a = all};

	lmi_gguf_put_meta(w, &m);
}

static void put_keys(struct lmi_gguf_writer *w, enum lmt_tower kind)
{
	lmi_gguf_put_str(w, "general.architecture", "clip");
	lmi_gguf_put_str(w, "clip.projector_type", kinds[kind].name);
	lmi_gguf_put_bool(w, "clip.has_vision_encoder", true);
	if (kinds[kind].gelu)
		lmi_gguf_put_bool(w, "clip.use_gelu", true);
	lmi_gguf_put_u32(w, "clip.vision.image_size", kinds[kind].side);
	lmi_gguf_put_u32(w, "clip.vision.patch_size", LMT_TOWER_PATCH);
	lmi_gguf_put_u32(w, "clip.vision.embedding_length", WIDTH);
	lmi_gguf_put_u32(w, "clip.vision.feed_forward_length", kinds[kind].ff);
	lmi_gguf_put_u32(w, "clip.vision.projection_dim", LMT_EMBD);
	lmi_gguf_put_u32(w, "clip.vision.block_count", LAYER);
	lmi_gguf_put_u32(w, "clip.vision.attention.head_count", 4);
	lmi_gguf_put_f32(w, "clip.vision.attention.layer_norm_epsilon", kinds[kind].eps);
	if (kind == LMT_TOWER_IDEFICS3) {
		lmi_gguf_put_u32(w, "clip.vision.projector.scale_factor", 2);
		lmi_gguf_put_u32(w, "clip.vision.preproc_image_size", 2 * kinds[kind].side);
	}
	put_triple(w, "clip.vision.image_mean", 0.5);
	put_triple(w, "clip.vision.image_std", 0.5);
}

static void add(struct lmi_gguf_writer *w, const struct row *r, const char *name)
{
	lmi_gguf_add_tensor(w, name, LMD_DTYPE_F32, n_dim(r), r->dims);
}

static void fill(struct lmi_gguf_writer *w, const struct row *r, const char *name)
{
	uint32_t dims = n_dim(r);
	struct lmd_error err;
	size_t n = 1;
	float *v;

	for (uint32_t i = 0; i < dims; i++)
		n *= (size_t)r->dims[i];
	v = lmi_alloc(n, sizeof(*v));
	if (!v)
		abort();
	for (size_t i = 0; i < n; i++)
		v[i] = weight(name, i, dims > 1 ? n / (size_t)r->dims[dims - 1] : n);
	must(lmi_gguf_writer_data(w, v, n * sizeof(*v), &err), &err);
	lmi_free(v);
}

static void each(struct lmi_gguf_writer *w, const struct row *rows,
		 void (*fn)(struct lmi_gguf_writer *, const struct row *, const char *))
{
	for (const struct row *r = rows; r->name; r++) {
		for (uint32_t il = 0; il < (r->layers ? LAYER : 1); il++) {
			char name[96];

			if (r->layers)
				snprintf(name, sizeof(name), "v.blk.%u%s", il, strchr(r->name, 'd') + 1);
			else
				snprintf(name, sizeof(name), "%s", r->name);
			fn(w, r, name);
		}
	}
}

void lmt_tower_write(enum lmt_tower kind, const char *path)
{
	struct lmi_gguf_writer *w;
	struct lmd_error err;

	must(lmi_gguf_writer_create(&w, 32, &err), &err);
	put_keys(w, kind);
	each(w, kinds[kind].rows, add);
	must(lmi_gguf_writer_start(w, path, &err), &err);
	each(w, kinds[kind].rows, fill);
	must(lmi_gguf_writer_finish(w, &err), &err);
	lmi_gguf_writer_destroy(w);
}

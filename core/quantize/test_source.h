/* SPDX-License-Identifier: MIT
 *
 * test_source.h - a model to be quantised, in one or two files, with importances, in a temporary
 * folder for each test. */
#ifndef LLAMAD_CORE_QUANTIZE_TEST_SOURCE_H
#define LLAMAD_CORE_QUANTIZE_TEST_SOURCE_H

#include <unistd.h>

#include "core/base/alloc.h"
#include "core/format/gguf/write.h"
#include "core/quantize/quantize.h"
#include "llamad/attr.h"
#include "tests/temp_dir.h"

static char src[128], dst[128];
static struct lmd_error err;
static struct lmi_imatrix imatrix;

#define N_LAYER 8

struct shape {
	const char *name;
	int64_t dims[3];
	uint32_t n_dim;
};

static const struct shape shapes[] = {
	{"token_embd.weight", {256, 9}, 2},
	{"output_norm.weight", {256}, 1},
	{"output.weight", {256, 9}, 2},
	{"long.weight", {33024, 2}, 2}, /* rows of several pieces, the last one small */
	{"odd.weight", {96, 5}, 2},
	{"very_odd.weight", {40, 5}, 2},
};
static const struct shape in_layer[] = {
	{"attn_norm.weight", {256}, 1},	   {"attn_q.weight", {256, 4}, 2},
	{"attn_k.weight", {256, 4}, 2},	   {"attn_v.weight", {256, 4}, 2},
	{"attn_output.weight", {256, 4}, 2}, {"ffn_gate_inp.weight", {256, 3}, 2},
	{"ffn_up_exps.weight", {256, 5, 3}, 3}, {"ffn_down_exps.weight", {256, 5, 3}, 3},
};

static float value(uint64_t *seed)
{
	return ((float)(lmd_rand(seed) % 65536) / 32768 - 1) * 0.1f;
}

static void add_all(struct lmi_gguf_writer *w, uint32_t first, uint32_t last, bool globals)
{
	for (size_t i = 0; globals && i < LMD_LEN(shapes); i++)
		lmi_gguf_add_tensor(w, shapes[i].name, LMD_DTYPE_F32, shapes[i].n_dim,
				    shapes[i].dims);
	for (uint32_t l = first; l < last; l++) {
		for (size_t i = 0; i < LMD_LEN(in_layer); i++) {
			char name[64];

			snprintf(name, sizeof(name), "blk.%u.%s", l, in_layer[i].name);
			lmi_gguf_add_tensor(w, name, LMD_DTYPE_F32, in_layer[i].n_dim,
					    in_layer[i].dims);
		}
	}
}

/* bad: written in place of one value of blk.5.attn_q. */
static void fill(struct lmi_gguf_writer *w, uint32_t first, uint32_t last, bool globals, float bad)
{
	uint64_t seed = 7 + first;
	static float v[256];

	for (size_t i = 0; globals && i < LMD_LEN(shapes); i++) {
		int64_t n = shapes[i].dims[0] * (shapes[i].n_dim > 1 ? shapes[i].dims[1] : 1);

		while (n) {
			size_t piece = n < 256 ? (size_t)n : 256;

			for (size_t k = 0; k < piece; k++)
				v[k] = value(&seed);
			OK(lmi_gguf_writer_data(w, v, 4 * piece, &err));
			n -= (int64_t)piece;
		}
	}
	for (uint32_t l = first; l < last; l++) {
		for (size_t i = 0; i < LMD_LEN(in_layer); i++) {
			const struct shape *s = &in_layer[i];
			int64_t rows = (s->n_dim > 1 ? s->dims[1] : 1) *
				       (s->n_dim > 2 ? s->dims[2] : 1);

			for (int64_t r = 0; r < rows; r++) {
				for (int k = 0; k < 256; k++)
					v[k] = value(&seed);
				if (l == 5 && i == 1 && r == 2 && bad != 0)
					v[17] = bad;
				OK(lmi_gguf_writer_data(w, v, sizeof(v), &err));
			}
		}
	}
}

static struct lmi_gguf_writer *begin(void)
{
	static int64_t heads[N_LAYER] = {8, 8, 8, 8, 8, 8, 8, 9};
	const struct lmd_meta by_layer = {.key = "llama.attention.head_count",
					  .type = LMD_META_ARR_I64,
					  .file_type = LMI_GGUF_U32,
					  .n = N_LAYER,
					  .v.a = heads};
	struct lmi_gguf_writer *w;

	OK(lmi_gguf_writer_create(&w, 32, &err));
	lmi_gguf_put_str(w, "general.architecture", "llama");
	lmi_gguf_put_u32(w, "general.file_type", 0);
	lmi_gguf_put_u32(w, "llama.block_count", N_LAYER);
	lmi_gguf_put_u32(w, "llama.attention.head_count_kv", 2);
	lmi_gguf_put_u32(w, "llama.expert_count", 3);
	lmi_gguf_put_meta(w, &by_layer);
	return w;
}

static void write_source(float bad)
{
	struct lmi_gguf_writer *w = begin();

	add_all(w, 0, N_LAYER, true);
	OK(lmi_gguf_writer_start(w, src, &err));
	fill(w, 0, N_LAYER, true, bad);
	OK(lmi_gguf_writer_finish(w, &err));
	lmi_gguf_writer_destroy(w);
}

/* Writes the model as two files; the path of the first one goes to `first`. */
static void write_set(char first[160])
{
	for (uint32_t i = 0; i < 2; i++) {
		struct lmi_gguf_writer *w;
		char path[160];

		if (i == 0)
			w = begin();
		else
			OK(lmi_gguf_writer_create(&w, 32, &err));
		lmi_gguf_put_u32(w, "split.no", i);
		lmi_gguf_put_u32(w, "split.count", 2);
		add_all(w, i ? 4 : 0, i ? N_LAYER : 4, !i);
		snprintf(path, sizeof(path), "%s/set-0000%u-of-00002.gguf", dir, i + 1);
		OK(lmi_gguf_writer_start(w, path, &err));
		fill(w, i ? 4 : 0, i ? N_LAYER : 4, !i, 0);
		OK(lmi_gguf_writer_finish(w, &err));
		lmi_gguf_writer_destroy(w);
	}
	snprintf(first, 160, "%s/set-00001-of-00002.gguf", dir);
}

static void add_importance(const char *name, uint64_t n, uint32_t n_count)
{
	float *sum = lmi_alloc(n, 4), *count = lmi_alloc(n_count, 4);

	for (uint64_t i = 0; i < n; i++)
		sum[i] = 1 + (float)(i % 17);
	for (uint32_t i = 0; i < n_count; i++)
		count[i] = i == 1 ? 0 : 4; /* the second expert was never used */
	OK(lmi_imatrix_add(&imatrix, name, n, n_count, sum, NULL, count, &err));
	lmi_free(sum);
	lmi_free(count);
}

static void setup(void)
{
	temp_dir_make();
	snprintf(src, sizeof(src), "%s", temp_path("src.gguf"));
	snprintf(dst, sizeof(dst), "%s", temp_path("dst.gguf"));
	write_source(0);
	lmi_imatrix_init(&imatrix);
	for (uint32_t l = 0; l < N_LAYER; l++) {
		for (size_t i = 1; i < LMD_LEN(in_layer); i++) {
			uint32_t n = in_layer[i].n_dim > 2 ? (uint32_t)in_layer[i].dims[2] : 1;
			char name[64];

			snprintf(name, sizeof(name), "blk.%u.%s", l, in_layer[i].name);
			add_importance(name, 256ull * n, n);
		}
	}
	add_importance("long.weight", 33024, 1);
	add_importance("token_embd.weight", 100, 1); /* another shape, which is ignored */
}

static void teardown(void)
{
	struct lmi_alloc_stats s;

	lmi_imatrix_fini(&imatrix);
	temp_dir_remove();
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, 0);
}

static struct lmi_quantize_opts options(const char *ftype)
{
	return (struct lmi_quantize_opts){
		.ftype = ftype ? lmi_ftype_by_name(ftype) : NULL,
		.imatrix = &imatrix,
		.imatrix_path = "i.gguf",
		.output_type = -1,
		.embedding_type = -1,
		.n_thread = 1,
	};
}

static enum lmd_status convert_from(const char *from, const struct lmi_quantize_opts *o)
{
	struct lmi_quantize_plan *p = NULL;
	struct lmi_model *m = NULL;
	enum lmd_status st = lmi_model_open(&m, from, LMI_OPEN_HEADER_ONLY, &err);

	if (st == LMD_OK)
		st = lmi_quantize_plan(&p, m, o, &err);
	if (st == LMD_OK)
		st = lmi_quantize_run(p, dst, &err);
	lmi_quantize_free(p);
	lmi_model_close(m);
	return st;
}

static LMD_UNUSED enum lmd_status convert(const struct lmi_quantize_opts *o)
{
	return convert_from(src, o);
}

#endif /* LLAMAD_CORE_QUANTIZE_TEST_SOURCE_H */

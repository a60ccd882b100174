/* SPDX-License-Identifier: MIT
 *
 * Adapters merged into weights that have a scale of their own: the scale times the merged weight is the scale
 * times the weight plus the adapter's product, which is what backends compute. */
#include "core/checkpoint/adapter/merge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/open.h"
#include "tests/adapter_file.h"
#include "tests/arch_plugins.h"
#include "tests/temp_dir.h"

#define K 4
#define N 6

static const char *const weights[] = {"blk.0.attn_q.weight", "blk.0.attn_k.weight",
				      "blk.0.attn_v.weight"};
static const int64_t n_scale[] = {1, N, 0}; /* of these */

static float scale_of(size_t weight, uint32_t row)
{
	return n_scale[weight] == N ? 0.25f * (float)(row + 1) : n_scale[weight] ? 0.5f : 1;
}

static void scale_name(char out[64], size_t weight)
{
	snprintf(out, 64, "%.12s.scale", weights[weight]);
}

/* zero: the last value of the scales is 0. */
static void write_base(const char *path, bool zero)
{
	struct lmi_gguf_writer *w;
	struct lmd_error err = {0};
	char name[64];

	ck_assert_int_eq(lmi_gguf_writer_create(&w, 32, &err), LMD_OK);
	lmi_gguf_put_str(w, "general.architecture", "llama");
	for (size_t i = 0; i < LMD_LEN(weights); i++) {
		lmi_gguf_add_tensor(w, weights[i], LMD_DTYPE_F32, 2, (const int64_t[]){K, N});
		scale_name(name, i);
		if (n_scale[i])
			lmi_gguf_add_tensor(w, name, LMD_DTYPE_F32, 1, &n_scale[i]);
	}
	ck_assert_int_eq(lmi_gguf_writer_start(w, path, &err), LMD_OK);
	for (size_t i = 0; i < LMD_LEN(weights); i++) {
		float v[K * N], s[N];

		for (uint32_t k = 0; k < K * N; k++)
			v[k] = (float)(i + 1) * 0.125f * (float)k - 1;
		for (uint32_t r = 0; r < N; r++)
			s[r] = zero && r + 1 == n_scale[i] ? 0 : scale_of(i, r);
		ck_assert_int_eq(lmi_gguf_writer_data(w, v, sizeof(v), &err), LMD_OK);
		if (n_scale[i])
			ck_assert_int_eq(lmi_gguf_writer_data(w, s, (uint64_t)n_scale[i] * sizeof(*s),
							      &err),
					 LMD_OK);
	}
	ck_assert_int_eq(lmi_gguf_writer_finish(w, &err), LMD_OK);
	lmi_gguf_writer_destroy(w);
}

static struct lmi_model *open_model(const char *path)
{
	struct lmi_model *m = NULL;
	struct lmd_error err = {0};

	ck_assert_msg(lmi_model_open_any(&m, arch_plugins(), path, LMI_OPEN_HEADER_ONLY, &err) == LMD_OK,
		      "%s", err.text);
	return m;
}

static void read_weight(const struct lmi_model *m, size_t weight, float out[K * N])
{
	const struct lmd_model *view = lmi_model_view(m);
	const struct lmd_tensor *t = view->find_tensor(view, weights[weight]);
	struct lmd_error err = {0};

	ck_assert_ptr_nonnull(t);
	ck_assert_int_eq(lmi_model_read(m, t, 0, out, K * N * sizeof(*out), &err), LMD_OK);
}

/* Compares a merged weight with the products of the pair of its site. */
static void check_merged(const struct lmi_model *base, const struct lmi_model *merged,
			 const struct lmi_adapter_file *f, size_t weight)
{
	const struct lmi_adapter_pair *p = NULL;
	float before[K * N], after[K * N];

	for (uint32_t i = 0; i < lmi_adapter_n(f); i++)
		if (!strncmp(lmi_adapter_pair(f, i)->site, weights[weight], 12))
			p = lmi_adapter_pair(f, i);
	ck_assert_ptr_nonnull(p);
	read_weight(base, weight, before);
	read_weight(merged, weight, after);
	for (uint32_t r = 0; r < N; r++)
		for (uint32_t c = 0; c < K; c++) {
			double s = (double)scale_of(weight, r), want = s * (double)before[r * K + c];

			for (uint32_t j = 0; j < p->rank; j++)
				want += 1.5 * (double)p->scale * (double)p->b[r * p->rank + j] *
					(double)p->a[j * p->k + c];
			ck_assert_msg(fabs(s * (double)after[r * K + c] - want) < 1e-6,
				      "%s[%u][%u]: %g, expected %g", weights[weight], r, c,
				      s * (double)after[r * K + c], want);
		}
}

static enum lmd_status merge(const struct lmi_model *base, struct lmi_adapter_file *f, const char *to,
			     struct lmd_error *err)
{
	const float scale = 1.5f;
	const struct lmi_adapter_merge m = {
		.model = base, .adapters = &f, .scales = &scale, .n = 1, .type = -1};

	return lmi_adapter_merge_write(&m, to, err);
}

/* _i: with a scale of 0 */
START_TEST(scaled_weights)
{
	const char *path = temp_path("base.gguf"), *lora = temp_path("lora.gguf");
	const char *to = temp_path("merged.gguf");
	struct lmi_model *base, *merged;
	struct lmi_adapter_file *f = NULL;
	struct lmd_error err = {0};

	write_base(path, _i);
	base = open_model(path);
	lmt_adapter_write(lora, lmi_model_view(base), 2, weights, LMD_LEN(weights), 7);
	ck_assert_msg(lmi_adapter_open(&f, lora, lmi_model_view(base), arch_plugins(), &err) == LMD_OK,
		      "%s", err.text);
	if (_i) {
		ck_assert_int_eq(merge(base, f, to, &err), LMD_UNSUPPORTED);
		ck_assert_msg(strstr(err.text, "attn_q.scale: value 0 is 0") != NULL, "%s", err.text);
	} else {
		ck_assert_msg(merge(base, f, to, &err) == LMD_OK, "%s", err.text);
		merged = open_model(to);
		for (size_t i = 0; i < LMD_LEN(weights); i++)
			check_merged(base, merged, f, i);
		lmi_model_close(merged);
	}
	lmi_adapter_close(f);
	lmi_model_close(base);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("merging adapters");
	TCase *t = tcase_create("merging adapters");

	tcase_add_checked_fixture(t, temp_dir_make, temp_dir_remove);
	tcase_add_loop_test(t, scaled_weights, 0, 2);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

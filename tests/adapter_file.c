/* SPDX-License-Identifier: MIT */
#include "tests/adapter_file.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/open.h"
#include "core/format/gguf/write.h"
#include "tests/lmd_check.h"

static bool is_table(const char *tensor)
{
	return !strncmp(tensor, "token_embd", 10);
}

static void write_numbers(struct lmi_gguf_writer *w, uint64_t n, uint64_t *rnd)
{
	float *v = lmi_alloc(n, sizeof(*v));
	struct lmd_error err;

	ck_assert_ptr_nonnull(v);
	for (uint64_t i = 0; i < n && *rnd; i++)
		v[i] = (float)(lmd_rand(rnd) >> 40) * 0x1p-24f - 0.5f;
	ck_assert_int_eq(lmi_gguf_writer_data(w, v, n * sizeof(*v), &err), LMD_OK);
	lmi_free(v);
}

void lmt_adapter_write(const char *path, const struct lmd_model *base, uint32_t rank,
		       const char *const *tensors, uint32_t n, uint64_t seed)
{
	struct lmi_gguf_writer *w;
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_gguf_writer_create(&w, 32, &err), LMD_OK);
	lmi_gguf_put_str(w, "general.type", "adapter");
	lmi_gguf_put_str(w, "general.architecture", base->arch);
	lmi_gguf_put_str(w, "adapter.type", "lora");
	for (uint32_t i = 0; i < 2 * n; i++) {
		const struct lmd_tensor *t = base->find_tensor(base, tensors[i / 2]);
		bool embd = is_table(tensors[i / 2]);
		int64_t k = t->dims[embd], rows = t->dims[!embd];
		char name[80];

		snprintf(name, sizeof(name), "%s.lora_%c", tensors[i / 2], "ab"[i % 2]);
		lmi_gguf_add_tensor(w, name, LMD_DTYPE_F32, 2,
				    i % 2  ? (const int64_t[]){rank, rows}
				    : embd ? (const int64_t[]){rank, k}
					   : (const int64_t[]){k, rank});
	}
	ck_assert_int_eq(lmi_gguf_writer_start(w, path, &err), LMD_OK);
	for (uint32_t i = 0; i < 2 * n; i++) {
		const struct lmd_tensor *t = base->find_tensor(base, tensors[i / 2]);
		bool embd = is_table(tensors[i / 2]);

		write_numbers(w, (uint64_t)rank * (uint64_t)t->dims[i % 2 ? !embd : embd], &seed);
	}
	ck_assert_msg(lmi_gguf_writer_finish(w, &err) == LMD_OK, "%s", err.text);
	lmi_gguf_writer_destroy(w);
}

void lmt_adapter_write_for(const char *path, const char *model, uint32_t rank,
			   const char *const *tensors, uint32_t n, uint64_t seed)
{
	struct lmi_model *base = NULL;
	struct lmd_error err;

	ck_assert_msg(lmi_model_open(&base, model, LMI_OPEN_HEADER_ONLY, &err) == LMD_OK, "%s",
		      err.text);
	lmt_adapter_write(path, lmi_model_view(base), rank, tensors, n, seed);
	lmi_model_close(base);
}

/* SPDX-License-Identifier: MIT
 *
 * Quantising whole files: the contents of the result, and rejected input. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/checkpoint/open.h"
#include "core/quant/quant.h"
#include "core/quantize/type_policy.h"
#include "core/quantize/test_source.h"
#include "tests/faults.h"

/* ---- reading a file ---- */

static struct lmi_model *open_file(const char *path)
{
	struct lmi_model *m;

	OK(lmi_model_open(&m, path, 0, &err));
	return m;
}

static const struct lmd_tensor *tensor(const struct lmi_model *m, const char *name)
{
	const struct lmd_model *v = lmi_model_view(m);
	const struct lmd_tensor *t = v->find_tensor(v, name);

	ck_assert_msg(t != NULL, "no tensor %s", name);
	return t;
}

/* ---- cases ---- */

START_TEST(file_types)
{
	char names[512];
	unsigned n = 0;

	for (uint32_t i = 0; i < LMI_FTYPE_END; i++) {
		const struct lmi_ftype *t = lmi_ftype(i);

		if (!t)
			continue;
		n++;
		ck_assert_uint_eq(t->id, i);
		ck_assert_ptr_eq(lmi_ftype_by_name(t->name), t);
		ck_assert_ptr_nonnull(lmi_dtype(t->type));
		ck_assert_ptr_nonnull(strstr(lmi_ftype_names(names, sizeof(names)), t->name));
	}
	ck_assert_uint_ge(n, 57);
	ck_assert_ptr_eq(lmi_ftype_by_name("q4_k"), lmi_ftype(LMI_FTYPE_Q4_K_M));
	ck_assert_ptr_eq(lmi_ftype_by_name("15"), lmi_ftype(LMI_FTYPE_Q4_K_M));
	ck_assert_ptr_null(lmi_ftype_by_name("4"));
	ck_assert_ptr_null(lmi_ftype_by_name("15x"));
	ck_assert_ptr_null(lmi_ftype_by_name(""));
	ck_assert_ptr_null(lmi_ftype_by_name("99999999999999999999"));
	ck_assert_ptr_null(lmi_ftype(LMI_FTYPE_END));
}
END_TEST

/* The bytes are those of the type's encoder, row by row, whatever the number of threads. */
START_TEST(bytes)
{
	const char *const ftypes[] = {"Q4_0", "Q4_K_M", "Q6_K", "IQ4_XS", "IQ2_M", "Q8_0",
				      "BF16", "MXFP4_MOE", "IQ4_KS", "IQ1_BN", "Q8_KV",
				      "IQ5_K"};
	struct lmi_model *a = open_file(src);

	for (size_t f = 0; f < LMD_LEN(ftypes); f++) {
		struct lmi_quantize_opts o = options(ftypes[f]);
		const struct lmd_model *v;
		struct lmi_model *b;

		o.n_thread = f % 2 ? 3 : 1;
		OK(convert(&o));
		b = open_file(dst);
		v = lmi_model_view(b);
		ck_assert_uint_eq(v->n_tensors, lmi_model_view(a)->n_tensors);
		for (uint32_t i = 0; i < v->n_tensors; i++) {
			const struct lmd_tensor *y = &v->tensors[i], *x = tensor(a, y->name);
			const struct lmi_imatrix_entry *e = lmi_imatrix_find(&imatrix, y->name);
			const struct lmi_dtype *t = lmi_dtype(y->dtype);
			uint64_t n = (uint64_t)x->dims[0], rows = x->bytes / 4 / n, row;
			static float mean[33024], all[33024];
			static uint8_t expected[33024 * 4];

			ck_assert(lmi_quant_row_bytes(t, n, &row));
			ck_assert_uint_eq(y->bytes, rows * row);
			if (e && e->n % n == 0)
				lmi_imatrix_means(e, all);
			for (uint64_t r = 0; r < rows; r++) {
				bool has = e && e->n % n == 0 && y->dtype != x->dtype;

				for (uint64_t k = 0; has && k < n; k++)
					mean[k] = all[e->n == n ? k
								: r / (uint64_t)x->dims[1] * n + k];
				t->quant((const float *)x->data + r * n, expected, n,
					 has ? mean : NULL);
				ck_assert_msg(
					!memcmp(expected, (const uint8_t *)y->data + r * row, row),
					"%s: %s row %u", ftypes[f], y->name, (unsigned)r);
			}
		}
		lmi_model_close(b);
	}
	lmi_model_close(a);
}
END_TEST

START_TEST(types_and_keys)
{
	struct lmi_quantize_opts o = options("Q4_K_M");
	static const struct {
		const char *name;
		enum lmd_dtype type;
	} expected[] = {
		{"token_embd.weight", LMD_DTYPE_Q4_K},
		{"output.weight", LMD_DTYPE_Q6_K},
		{"output_norm.weight", LMD_DTYPE_F32},
		{"odd.weight", LMD_DTYPE_Q5_0},
		{"very_odd.weight", LMD_DTYPE_F16},
		{"blk.0.attn_v.weight", LMD_DTYPE_Q6_K},
		{"blk.1.attn_v.weight", LMD_DTYPE_Q4_K},
		{"blk.7.attn_v.weight", LMD_DTYPE_Q6_K},
		{"blk.0.attn_q.weight", LMD_DTYPE_Q4_K},
		{"blk.0.ffn_down_exps.weight", LMD_DTYPE_Q6_K},
		{"blk.2.ffn_down_exps.weight", LMD_DTYPE_Q4_K},
		{"blk.0.ffn_gate_inp.weight", LMD_DTYPE_F32},
	};
	const struct lmd_meta keys[] = {
		{.key = "general.name", .type = LMD_META_STR, .file_type = LMI_GGUF_STRING, .n = 1,
		 .v.s = {"new", 3}},
		{.key = "llama.expert_count", .type = LMD_META_I64, .file_type = LMI_GGUF_U32,
		 .n = 1, .v.i = 4},
	};
	const struct lmd_model *v;
	struct lmi_model *m;

	o.keys = keys;
	o.n_keys = LMD_LEN(keys);
	OK(lmi_imatrix_add_dataset(&imatrix, "text.txt", 8, &err));
	imatrix.n_chunk = 5;
	OK(convert(&o));
	m = open_file(dst);
	v = lmi_model_view(m);
	for (size_t i = 0; i < LMD_LEN(expected); i++)
		ck_assert_msg(tensor(m, expected[i].name)->dtype == expected[i].type, "%s: %u",
			      expected[i].name, tensor(m, expected[i].name)->dtype);
	ck_assert_int_eq(v->find_meta(v, "general.file_type")->v.i, 15);
	ck_assert_int_eq(v->find_meta(v, "general.quantization_version")->v.i, 2);
	ck_assert_int_eq(v->find_meta(v, "llama.expert_count")->v.i, 4);
	ck_assert_int_eq(v->find_meta(v, "llama.block_count")->v.i, N_LAYER);
	ck_assert_int_eq(v->find_meta(v, "quantize.imatrix.entries_count")->v.i,
			 (int64_t)imatrix.n_entry);
	ck_assert_int_eq(v->find_meta(v, "quantize.imatrix.chunks_count")->v.i, 5);
	ck_assert_mem_eq(v->find_meta(v, "quantize.imatrix.file")->v.s.ptr, "i.gguf", 6);
	ck_assert_mem_eq(v->find_meta(v, "quantize.imatrix.dataset")->v.s.ptr, "text.txt", 8);
	ck_assert_str_eq(v->name, "new");
	lmi_model_close(m);
}
END_TEST

/* Options for single tensors. */
START_TEST(chosen_types)
{
	const struct lmi_quantize_rule rules[] = {{"blk\\.[01]\\.attn_q", LMD_DTYPE_Q8_0},
						  {"attn_", LMD_DTYPE_IQ4_NL},
						  {"odd", LMD_DTYPE_Q6_K}};
	struct lmi_quantize_opts o = options("Q2_K");
	struct lmi_model *m;

	o.rules = rules;
	o.n_rules = LMD_LEN(rules);
	o.output_type = LMD_DTYPE_BF16;
	o.embedding_type = LMD_DTYPE_Q5_K;
	OK(convert(&o));
	m = open_file(dst);
	ck_assert_uint_eq(tensor(m, "blk.1.attn_q.weight")->dtype, LMD_DTYPE_Q8_0);
	ck_assert_uint_eq(tensor(m, "blk.2.attn_q.weight")->dtype, LMD_DTYPE_IQ4_NL);
	ck_assert_uint_eq(tensor(m, "blk.2.attn_norm.weight")->dtype, LMD_DTYPE_F32);
	ck_assert_uint_eq(tensor(m, "odd.weight")->dtype, LMD_DTYPE_Q8_0); /* rows of 96 */
	ck_assert_uint_eq(tensor(m, "output.weight")->dtype, LMD_DTYPE_BF16);
	ck_assert_uint_eq(tensor(m, "token_embd.weight")->dtype, LMD_DTYPE_Q5_K);
	lmi_model_close(m);

	o = options("Q2_K");
	o.pure = o.leave_output = true;
	OK(convert(&o));
	m = open_file(dst);
	ck_assert_uint_eq(tensor(m, "blk.2.attn_v.weight")->dtype, LMD_DTYPE_Q2_K);
	ck_assert_uint_eq(tensor(m, "token_embd.weight")->dtype, LMD_DTYPE_Q2_K);
	ck_assert_uint_eq(tensor(m, "output.weight")->dtype, LMD_DTYPE_F32);
	lmi_model_close(m);
}
END_TEST

/* Pruned layers: later layers move up, and arrays by layer lose elements. */
START_TEST(prune)
{
	const uint32_t layers[] = {6, 0};
	struct lmi_quantize_opts o = options(NULL);
	struct lmi_model *a = open_file(src), *b;
	const struct lmd_meta *heads;
	const struct lmd_model *v;

	o.prune = layers;
	o.n_prune = 2;
	OK(convert(&o));
	b = open_file(dst);
	v = lmi_model_view(b);
	ck_assert_int_eq(v->find_meta(v, "llama.block_count")->v.i, N_LAYER - 2);
	ck_assert_int_eq(v->find_meta(v, "general.file_type")->v.i, 0);
	heads = v->find_meta(v, "llama.attention.head_count");
	ck_assert_uint_eq(heads->n, N_LAYER - 2);
	ck_assert_int_eq(((const int64_t *)heads->v.a)[5], 9);
	ck_assert_uint_eq(v->n_tensors, LMD_LEN(shapes) + 6 * LMD_LEN(in_layer));
	ck_assert_mem_eq(tensor(b, "blk.0.attn_q.weight")->data,
			 tensor(a, "blk.1.attn_q.weight")->data, 4096);
	ck_assert_mem_eq(tensor(b, "blk.5.attn_q.weight")->data,
			 tensor(a, "blk.7.attn_q.weight")->data, 4096);
	lmi_model_close(a);
	lmi_model_close(b);

	o.prune = (const uint32_t[]){8};
	o.n_prune = 1;
	ck_assert_int_eq(convert(&o), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "must be 0..7"));
	o.prune = (const uint32_t[]){3, 3};
	o.n_prune = 2;
	ck_assert_int_eq(convert(&o), LMD_INVALID);
	o.prune = (const uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7};
	o.n_prune = 8;
	ck_assert_int_eq(convert(&o), LMD_INVALID);
}
END_TEST

START_TEST(sets)
{
	struct lmi_quantize_opts o = options("Q4_K_S");
	struct lmi_model *one, *set;
	char first[160], out[200];
	unsigned before;

	write_set(first);
	OK(convert_from(first, &o)); /* to one file */
	one = open_file(dst);
	o.keep_split = true;
	before = temp_n_files();
	OK(convert_from(first, &o));
	ck_assert_uint_eq(temp_n_files(), before + 2);
	snprintf(out, sizeof(out), "%s", temp_path("dst-00001-of-00002.gguf"));
	set = open_file(out);
	ck_assert_uint_eq(lmi_model_n_files(set), 2);
	ck_assert_uint_eq(lmi_model_view(set)->n_tensors, lmi_model_view(one)->n_tensors);
	ck_assert_uint_eq(tensor(set, "blk.3.attn_q.weight")->file, 0);
	ck_assert_uint_eq(tensor(set, "blk.4.attn_q.weight")->file, 1);
	for (uint32_t i = 0; i < lmi_model_view(one)->n_tensors; i++) {
		const struct lmd_tensor *x = &lmi_model_view(one)->tensors[i];

		ck_assert_mem_eq(tensor(set, x->name)->data, x->data, x->bytes);
	}
	ck_assert_ptr_null(lmi_model_view(one)->find_meta(lmi_model_view(one), "split.count"));
	lmi_model_close(one);
	lmi_model_close(set);

	/* if the second file cannot be renamed, the first one is removed */
	(void)unlink(out);
	out[strlen(dir) + 9] = '2';
	(void)unlink(out);
	before = temp_n_files();
	fault_arm(FAULT_NAME, 1);
	ck_assert_int_eq(convert_from(first, &o), LMD_IO);
	ck_assert(fault_disarm());
	ck_assert_uint_eq(temp_n_files(), before);
}
END_TEST

START_TEST(rejected)
{
	struct lmi_quantize_opts o = options("IQ2_XXS");
	const struct lmi_quantize_rule bad[] = {{"(", LMD_DTYPE_Q8_0}},
				       slow[] = {{"(.+)+(.+)+(.+)+[0-9][A-Z]", LMD_DTYPE_Q8_0}},
				       integer[] = {{"x", LMD_DTYPE_I32}};
	float one = 1;

	o.imatrix = NULL;
	ck_assert_int_eq(convert(&o), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "importance matrix is needed"));
	o = options("Q4_K_M");
	o.rules = bad;
	o.n_rules = 1;
	ck_assert_int_eq(convert(&o), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "pattern \"(\""));
	o.rules = slow;
	ck_assert_int_eq(convert(&o), LMD_INVALID);
	o.rules = integer;
	ck_assert_int_eq(convert(&o), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "i32"));

	o = options("Q8_0");
	OK(convert(&o));
	o = options("Q4_0");
	ck_assert_int_eq(convert_from(dst, &o), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "--allow-requantize"));
	o.allow_requantize = true;
	ck_assert_int_eq(convert_from(dst, &o), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "is a file of the source model"));
	(void)unlink(dst);

	OK(lmi_imatrix_add(&imatrix, "odd.weight", 1, 1, &one, NULL, &one, &err));
	ck_assert_int_eq(convert(&o), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "odd.weight"));
	ck_assert_uint_eq(temp_n_files(), 1);
}
END_TEST

START_TEST(unencodable_values)
{
	static const float bad[] = {NAN, INFINITY, -INFINITY, 70000};

	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		struct lmi_quantize_opts o = options(i == 3 ? "F16" : "Q4_K_M");

		write_source(bad[i]);
		ck_assert_int_eq(convert(&o), LMD_INVALID);
		ck_assert_ptr_nonnull(strstr(err.text, "blk.5.attn_q.weight, row 2"));
		ck_assert_uint_eq(temp_n_files(), 1);
		o = options("BF16");
		OK(convert(&o));
		(void)unlink(dst);
	}
}
END_TEST

static bool truncate_source(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	if (done > total / 2)
		ck_assert_int_eq(truncate(src, 1000), 0);
	return true;
}

static bool cancel(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	return done < total / 2;
}

START_TEST(interrupted)
{
	struct lmi_quantize_opts o = options("Q8_0");

	o.progress = cancel;
	ck_assert_int_eq(convert(&o), LMD_CANCELLED);
	ck_assert_uint_eq(temp_n_files(), 1);
	o.progress = truncate_source;
	ck_assert_int_eq(convert(&o), LMD_IO);
	ck_assert_ptr_nonnull(strstr(err.text, "src.gguf"));
	ck_assert_uint_eq(temp_n_files(), 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("quantize");
	TCase *tc = tcase_create("files");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, file_types);
	tcase_add_test(tc, bytes);
	tcase_add_test(tc, types_and_keys);
	tcase_add_test(tc, chosen_types);
	tcase_add_test(tc, prune);
	tcase_add_test(tc, sets);
	tcase_add_test(tc, rejected);
	tcase_add_test(tc, unencodable_values);
	tcase_add_test(tc, interrupted);
	suite_add_tcase(s, tc);
	return lmd_check_run(r);
}

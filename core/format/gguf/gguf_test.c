/* SPDX-License-Identifier: MIT
 *
 * Reads well-formed files: values, tensors and vocabulary of files made by the writer, the older
 * versions, sets of parts, and the vocabularies of the parity pack. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/checkpoint/open.h"
#include "core/format/gguf/write.h"
#include "core/quant/quant.h"
#include "llamad/attr.h"
#include "tests/gguf_spec.h"
#include "tests/temp_dir.h"

static char path[128];
static struct lmd_error err;

static void make_dir(void)
{
	temp_dir_make();
	snprintf(path, sizeof(path), "%s", temp_path("m.gguf"));
}

static void remove_dir(void)
{
	struct lmi_alloc_stats s;

	temp_dir_remove();
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, 0);
}

static struct lmi_gguf_writer *new_writer(uint32_t alignment)
{
	struct lmi_gguf_writer *w = NULL;

	OK(lmi_gguf_writer_create(&w, alignment, &err));
	lmi_gguf_put_str(w, "general.architecture", "llama");
	return w;
}

/* Writes the file and frees its contents. */
static void write_bytes(const char *name, struct spec_file *s)
{
	FILE *f = fopen(name, "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(s->p, 1, s->n, f), s->n);
	ck_assert_int_eq(fclose(f), 0);
	free(s->p);
}

static void write_spec(const char *name, const char *spec)
{
	struct spec_file s = spec_build(spec);

	write_bytes(name, &s);
}

static const struct lmd_meta *key(const struct lmi_model *m, const char *name, uint32_t type)
{
	const struct lmd_model *v = lmi_model_view(m);
	const struct lmd_meta *k = v->find_meta(v, name);

	ck_assert_msg(k != NULL, "no key %s", name);
	ck_assert_str_eq(k->key, name);
	ck_assert_uint_eq(k->type, type);
	return k;
}

/* Every value type is read back unchanged; look-ups find what exists and nothing else. */
START_TEST(values)
{
	static const int64_t ints[] = {1, -2, 300};
	static const double floats[] = {0.5, -1};
	static const uint8_t bools[] = {1, 0, 1};
	const struct lmd_str strings[] = {{"a", 1}, {"", 0}, {"x\0y", 3}};
	const struct lmd_meta more[] = {
		{.key = "u8", .type = LMD_META_I64, .file_type = LMI_GGUF_U8, .v.i = 255},
		{.key = "i8", .type = LMD_META_I64, .file_type = LMI_GGUF_I8, .v.i = -128},
		{.key = "u16", .type = LMD_META_I64, .file_type = LMI_GGUF_U16, .v.i = 65535},
		{.key = "i16", .type = LMD_META_I64, .file_type = LMI_GGUF_I16, .v.i = -32768},
		{.key = "i64", .type = LMD_META_I64, .file_type = LMI_GGUF_I64, .v.i = INT64_MIN},
		{.key = "u64", .type = LMD_META_U64, .file_type = LMI_GGUF_U64, .v.u = UINT64_MAX},
		{.key = "u64small", .type = LMD_META_I64, .file_type = LMI_GGUF_U64, .v.i = 7},
		{.key = "f64", .type = LMD_META_F64, .file_type = LMI_GGUF_F64, .v.f = 1e-300},
		{.key = "ai",
		 .type = LMD_META_ARR_I64,
		 .file_type = LMI_GGUF_I16,
		 .n = 3,
		 .v.a = ints},
		{.key = "af",
		 .type = LMD_META_ARR_F64,
		 .file_type = LMI_GGUF_F32,
		 .n = 2,
		 .v.a = floats},
		{.key = "ab",
		 .type = LMD_META_ARR_BOOL,
		 .file_type = LMI_GGUF_BOOL,
		 .n = 3,
		 .v.a = bools},
		{.key = "bytes",
		 .type = LMD_META_STR,
		 .file_type = LMI_GGUF_STRING,
		 .v.s = {"p\0q", 3}},
	};
	struct lmi_gguf_writer *w = new_writer(32);
	const struct lmd_model *v;
	const struct lmd_meta *k;
	struct lmi_model *m;

	lmi_gguf_put_u32(w, "u32", UINT32_MAX);
	lmi_gguf_put_i32(w, "i32", INT32_MIN);
	lmi_gguf_put_f32(w, "f32", 0.1f);
	lmi_gguf_put_bool(w, "bool", true);
	lmi_gguf_put_str(w, "str", "text");
	lmi_gguf_put_strings(w, "as", strings, 3);
	for (size_t i = 0; i < LMD_LEN(more); i++)
		lmi_gguf_put_meta(w, &more[i]);
	OK(lmi_gguf_writer_start(w, path, &err));
	OK(lmi_gguf_writer_finish(w, &err));
	lmi_gguf_writer_destroy(w);

	OK(lmi_model_open(&m, path, 0, &err));
	v = lmi_model_view(m);
	ck_assert_uint_eq(v->n_meta, 7 + LMD_LEN(more));
	ck_assert_str_eq(v->arch, "llama");
	ck_assert_str_eq(v->name, "m.gguf");
	ck_assert_str_eq(v->format, "gguf v3");
	ck_assert_int_eq(key(m, "u32", LMD_META_I64)->v.i, UINT32_MAX);
	ck_assert_uint_eq(key(m, "u32", LMD_META_I64)->file_type, LMI_GGUF_U32);
	ck_assert_int_eq(key(m, "i32", LMD_META_I64)->v.i, INT32_MIN);
	ck_assert_uint_eq(key(m, "u64", LMD_META_U64)->v.u, UINT64_MAX);
	ck_assert_int_eq(key(m, "u64small", LMD_META_I64)->v.i, 7);
	ck_assert_double_eq(key(m, "f32", LMD_META_F64)->v.f, 0.1f);
	ck_assert_int_eq(key(m, "bool", LMD_META_BOOL)->v.i, 1);
	ck_assert_str_eq(key(m, "str", LMD_META_STR)->v.s.ptr, "text");
	for (size_t i = 0; i < 6; i++) {
		k = key(m, more[i].key, more[i].type);
		ck_assert_uint_eq(k->file_type, more[i].file_type);
		if (more[i].type == LMD_META_F64)
			ck_assert_double_eq(k->v.f, more[i].v.f);
		else
			ck_assert_int_eq(k->v.i, more[i].v.i);
	}
	k = key(m, "ai", LMD_META_ARR_I64);
	ck_assert_uint_eq(k->n, 3);
	ck_assert_mem_eq(k->v.a, ints, sizeof(ints));
	k = key(m, "af", LMD_META_ARR_F64);
	ck_assert_mem_eq(k->v.a, floats, sizeof(floats));
	k = key(m, "ab", LMD_META_ARR_BOOL);
	ck_assert_mem_eq(k->v.a, bools, sizeof(bools));
	k = key(m, "as", LMD_META_ARR_STR);
	for (size_t i = 0; i < 3; i++) {
		const struct lmd_str *s = (const struct lmd_str *)k->v.a + i;

		ck_assert_uint_eq(s->len, strings[i].len);
		ck_assert_mem_eq(s->ptr, strings[i].ptr, s->len);
		ck_assert_int_eq(s->ptr[s->len], 0);
	}
	k = key(m, "bytes", LMD_META_STR);
	ck_assert_uint_eq(k->v.s.len, 3);
	ck_assert_mem_eq(k->v.s.ptr, "p\0q", 4);
	ck_assert_ptr_null(v->find_meta(v, "u3"));
	ck_assert_ptr_null(v->find_meta(v, ""));
	ck_assert_ptr_null(v->find_tensor(v, "u32"));
	lmi_model_close(m);
}
END_TEST

struct lmi_plan_shape {
	const char *name;
	enum lmd_dtype type;
	uint32_t n_dim;
	int64_t dims[4];
	uint64_t bytes;
};
static const struct lmi_plan_shape shapes[] = {
	{"token_embd.weight", LMD_DTYPE_Q4_K, 2, {512, 3}, 864},
	{"norm", LMD_DTYPE_F32, 1, {5}, 20},
	{"experts", LMD_DTYPE_Q8_0, 3, {64, 3, 2}, 408},
	{"four", LMD_DTYPE_F16, 4, {1, 2, 3, 4}, 48},
	{"ids", LMD_DTYPE_I32, 1, {7}, 28},
	{"mx", LMD_DTYPE_MXFP4, 2, {32, 1}, 17},
};

static uint8_t byte_at(size_t tensor, uint64_t i)
{
	return (uint8_t)(i * 7 + tensor * 31);
}

static void write_tensors(uint32_t alignment, uint32_t from, uint32_t to, const char *name,
			  void (*keys)(struct lmi_gguf_writer *w))
{
	struct lmi_gguf_writer *w = new_writer(alignment);

	if (keys)
		keys(w);
	for (uint32_t i = from; i < to; i++)
		lmi_gguf_add_tensor(w, shapes[i].name, shapes[i].type, shapes[i].n_dim,
				    shapes[i].dims);
	OK(lmi_gguf_writer_start(w, name, &err));
	for (uint32_t i = from; i < to; i++) {
		for (uint64_t b = 0; b < shapes[i].bytes; b++) { /* byte by byte: any split is
								  * allowed */
			uint8_t x = byte_at(i, b);

			OK(lmi_gguf_writer_data(w, &x, 1, &err));
		}
	}
	OK(lmi_gguf_writer_finish(w, &err));
	lmi_gguf_writer_destroy(w);
}

static void check_tensors(const struct lmi_model *m, uint32_t alignment, bool data)
{
	const struct lmd_model *v = lmi_model_view(m);

	ck_assert_uint_eq(v->n_tensors, LMD_LEN(shapes));
	for (uint32_t i = 0; i < v->n_tensors; i++) {
		const struct lmd_tensor *t = v->find_tensor(v, shapes[i].name);
		const uint8_t *p = t->data;

		ck_assert_ptr_eq(t, &v->tensors[i]);
		ck_assert_uint_eq(t->dtype, shapes[i].type);
		ck_assert_uint_eq(t->n_dim, shapes[i].n_dim);
		for (uint32_t d = 0; d < LMD_MAX_DIMS; d++)
			ck_assert_int_eq(t->dims[d], d < t->n_dim ? shapes[i].dims[d] : 1);
		ck_assert_uint_eq(t->bytes, shapes[i].bytes);
		ck_assert_uint_eq(t->offset % alignment, 0);
		ck_assert_int_eq(p != NULL, data);
		if (!data)
			continue;
		ck_assert_uint_eq((uintptr_t)p % (alignment < 64 ? alignment : 64), 0);
		for (uint64_t b = 0; b < t->bytes; b++)
			ck_assert_uint_eq(p[b], byte_at(i, b));
	}
	ck_assert_ptr_null(v->find_tensor(v, "norm."));
}

START_TEST(tensors)
{
	static const uint32_t align[] = {8, 32, 4096, 1u << 20};
	static const uint32_t flags[] = {0, LMI_OPEN_NO_MMAP, LMI_OPEN_HEADER_ONLY, LMI_OPEN_DIRECT,
					 LMI_OPEN_MLOCK};
	struct lmi_model_file f;
	struct lmi_model *m;

	for (size_t i = 0; i < LMD_LEN(align); i++) {
		write_tensors(align[i], 0, LMD_LEN(shapes), path, NULL);
		for (size_t k = 0; k < LMD_LEN(flags); k++) {
			OK(lmi_model_open(&m, path, flags[k], &err));
			check_tensors(m, align[i], flags[k] != LMI_OPEN_HEADER_ONLY);
			ck_assert_uint_eq(lmi_model_n_files(m), 1);
			lmi_model_file(m, 0, &f);
			ck_assert_str_eq(f.path, path);
			ck_assert_uint_gt(f.bytes, 1000);
			if (flags[k] != LMI_OPEN_MLOCK)
				ck_assert(!f.locked);
			lmi_model_close(m);
		}
	}
}
END_TEST

static void split_keys(struct lmi_gguf_writer *w, int64_t no, int64_t count, int64_t n)
{
	const struct lmd_meta keys[] = {
		{.key = "split.no", .type = LMD_META_I64, .file_type = LMI_GGUF_U16, .v.i = no},
		{.key = "split.count",
		 .type = LMD_META_I64,
		 .file_type = LMI_GGUF_U16,
		 .v.i = count},
		{.key = "split.tensors.count",
		 .type = LMD_META_I64,
		 .file_type = LMI_GGUF_I32,
		 .v.i = n},
	};

	for (size_t i = 0; i < LMD_LEN(keys); i++)
		lmi_gguf_put_meta(w, &keys[i]);
}

static int64_t part_no, part_count, part_tensors;

static void part_keys(struct lmi_gguf_writer *w)
{
	split_keys(w, part_no, part_count, part_tensors);
}

static const char *part_name(int i, int n)
{
	static char name[160];

	snprintf(name, sizeof(name), "%s/set-%05d-of-%05d.gguf", dir, i, n);
	return name;
}

static void write_part(int i, uint32_t from, uint32_t to)
{
	part_no = i;
	write_tensors(i == 1 ? 64 : 32, from, to, part_name(i + 1, 3), part_keys);
}

static void expect_error(const char *name, enum lmd_status expected, const char *text)
{
	struct lmi_model *m = NULL;
	enum lmd_status st = lmi_model_open(&m, name, 0, &err);

	ck_assert_msg(st == expected && strstr(err.text, text), "%s: %s \"%s\"", name,
		      lmd_status_text((int)st), err.text);
}

START_TEST(split_set)
{
	struct lmi_model *m;
	char first[160];

	part_count = 3;
	part_tensors = LMD_LEN(shapes);
	strcpy(first, part_name(1, 3));
	write_part(0, 0, 2);
	expect_error(first, LMD_NOTFOUND, "set-00002-of-00003.gguf");
	write_part(1, 2, 3);
	write_part(2, 3, LMD_LEN(shapes));
	for (int flags = 0; flags < 3; flags++) {
		OK(lmi_model_open(&m, first, (uint32_t)flags, &err));
		check_tensors(m, 32, flags != LMI_OPEN_HEADER_ONLY);
		ck_assert_uint_eq(lmi_model_n_files(m), 3);
		ck_assert_uint_eq(lmi_model_view(m)->n_files, 3);
		ck_assert_uint_eq(lmi_model_view(m)->tensors[2].file, 1);
		ck_assert_uint_eq(lmi_model_view(m)->tensors[5].file, 2);
		lmi_model_close(m);
	}
	expect_error(part_name(2, 3), LMD_INVALID, "part 2 of 3");

	write_part(2, 3, LMD_LEN(shapes) - 1); /* one tensor is missing */
	expect_error(first, LMD_CORRUPT, "split.tensors.count: 6, but the parts have 5");
	part_count = 4; /* the last part belongs to another set */
	write_part(2, 3, LMD_LEN(shapes));
	expect_error(first, LMD_CORRUPT, "split.count 4, expected 2 and 3");
	part_count = 3;
	part_no = 1; /* the number does not match the name */
	write_tensors(32, 3, LMD_LEN(shapes), part_name(3, 3), part_keys);
	expect_error(first, LMD_CORRUPT, "split.no 1");
	write_part(2, 2, LMD_LEN(shapes) - 1); /* a tensor of part 2 appears again */
	expect_error(first, LMD_CORRUPT, "set-00003-of-00003.gguf: tensor experts appears twice");
	ck_assert_int_eq(truncate(part_name(3, 3), 300), 0);
	expect_error(first, LMD_CORRUPT, "set-00003-of-00003.gguf");
	ck_assert_int_eq(rename(first, path), 0);
	expect_error(path, LMD_INVALID, "does not end in -00001-of-00003.gguf");
}
END_TEST

/* Every version gives the same content. */
START_TEST(versions)
{
	static const char *const specs[] = {
		"m:GGUF 4:1 4:1 4:3 S:general.architecture 4:8 S:qwen3 S:n 4:4 4:65534 "
		"S:a 4:9 4:5 4:2 4:-5 4:6 S:t 4:2 4:2 4:3 4:0 8:0 p:32 f:1 f:2 f:3 f:4 f:5 f:6",
		"m:GGUF 4:2 8:1 8:3 s:general.architecture 4:8 s:qwen3 s:n 4:4 4:65534 "
		"s:a 4:9 4:5 8:2 4:-5 4:6 s:t 4:2 8:2 8:3 4:0 8:0 p:32 f:1 f:2 f:3 f:4 f:5 f:6",
		"m:GGUF 4:3 8:1 8:3 s:general.architecture 4:8 s:qwen3 s:n 4:4 4:65534 "
		"s:a 4:9 4:5 8:2 4:-5 4:6 s:t 4:2 8:2 8:3 4:0 8:0 p:32 f:1 f:2 f:3 f:4 f:5 f:6",
		"m:GGUF B4:3 B8:1 B8:3 Z:general.architecture B4:8 Z:qwen3 Z:n B4:4 B4:65534 "
		"Z:a B4:9 B4:5 B8:2 B4:-5 B4:6 Z:t B4:2 B8:2 B8:3 B4:0 B8:0 p:32 z:20 "
		"B4:0x40c00000",
	};
	static const char *const formats[] = {"gguf v1", "gguf v2", "gguf v3",
					      "gguf v3 big-endian"};

	for (size_t i = 0; i < LMD_LEN(specs); i++) {
		const struct lmd_model *v;
		const struct lmd_meta *a;
		struct lmi_model *m;

		write_spec(path, specs[i]);
		OK(lmi_model_open(&m, path, 0, &err));
		v = lmi_model_view(m);
		ck_assert_str_eq(v->format, formats[i]);
		ck_assert_str_eq(v->arch, "qwen3");
		ck_assert_int_eq(key(m, "n", LMD_META_I64)->v.i, 65534);
		a = key(m, "a", LMD_META_ARR_I64);
		ck_assert_int_eq(((const int64_t *)a->v.a)[0], -5);
		ck_assert_int_eq(((const int64_t *)a->v.a)[1], 6);
		ck_assert_int_eq(v->tensors[0].dims[0], 2);
		ck_assert_int_eq(v->tensors[0].dims[1], 3);
		ck_assert_uint_eq(v->tensors[0].bytes, 24);
		ck_assert_float_eq(((const float *)v->tensors[0].data)[5], 6);
		lmi_model_close(m);
	}
}
END_TEST

/* Blocks of a big-endian file decode to their original values; types without a big-endian form are
 * rejected. */
START_TEST(big_endian_blocks)
{
	struct spec_file f;
	const struct lmd_tensor *t;
	struct lmi_model *m;
	float got[256], expected[256];
	uint64_t seed = lmd_seed("big_endian_blocks", 3);
	unsigned n_types = 0, n_rejected = 0, n = 0;

	for (uint32_t id = 0; id < LMD_DTYPE_END; id++) {
		const struct lmi_dtype *type = lmi_dtype(id);
		uint8_t blk[2048];
		char spec[256];
		enum lmd_status st;
		uint64_t bytes;

		if (!type || type->is_activation || type->memory_only)
			continue;
		n++;
		ck_assert(lmi_quant_row_bytes(type, 256, &bytes));
		for (uint64_t i = 0; i < bytes; i++)
			blk[i] = lmd_rand(&seed) & 0x3F; /* small numbers, not NaN */
		type->dequant(blk, expected, 256);
		snprintf(spec, sizeof(spec),
			 "m:GGUF B4:3 B8:1 B8:1 Z:general.architecture B4:8 Z:llama Z:t B4:1 "
			 "B8:256 B4:%u B8:0 p:32",
			 id);
		f = spec_build(spec);
		if (lmi_gguf_swap(id, blk, bytes)) /* swapping twice restores the data */
			n_types++;
		spec_bytes(&f, blk, bytes);
		write_bytes(path, &f);
		st = lmi_model_open(&m, path, 0, &err);
		if (st == LMD_UNSUPPORTED) {
			ck_assert_ptr_nonnull(strstr(err.text, type->name));
			n_rejected++;
			continue;
		}
		OK(st);
		t = &lmi_model_view(m)->tensors[0];
		type->dequant(t->data, got, 256);
		ck_assert_mem_eq(got, expected, sizeof(got));
		lmi_model_close(m);
		OK(lmi_model_open(&m, path, LMI_OPEN_HEADER_ONLY, &err));
		t = &lmi_model_view(m)->tensors[0];
		ck_assert_ptr_null(t->data);
		OK(lmi_model_read(m, t, 0, blk, bytes, &err));
		type->dequant(blk, got, 256);
		ck_assert_mem_eq(got, expected, sizeof(got));
		lmi_model_close(m);
	}
	ck_assert_uint_ge(n_types, 25);
	ck_assert_uint_ge(n_rejected, 8 + 19);
	ck_assert_uint_eq(n_types + n_rejected, n);
}
END_TEST

START_TEST(vocabulary)
{
	const struct lmd_tok_spec *t;
	struct lmi_model *m;

	write_spec(path, SPEC_HEAD(0, 21) SPEC_ARCH
		   "s:tokenizer.ggml.model 4:8 s:gpt2 s:tokenizer.ggml.pre 4:8 s:qwen2 "
		   "s:tokenizer.ggml.tokens 4:9 4:8 8:3 s:x s:a^b s: "
		   "s:tokenizer.ggml.scores 4:9 4:5 8:3 4:1 4:-2 4:3 "
		   "s:tokenizer.ggml.token_type 4:9 4:5 8:3 4:1 4:0 4:6 "
		   "s:tokenizer.ggml.merges 4:9 4:8 8:2 s:a~b s:b~c "
		   "s:tokenizer.ggml.token_type_count 4:4 4:2 "
		   "s:tokenizer.ggml.precompiled_charsmap 4:9 4:1 8:3 1:-1 1:0 1:7 "
		   "s:tokenizer.ggml.bos_token_id 4:4 4:1 s:tokenizer.ggml.eos_token_id 4:5 4:2 "
		   "s:tokenizer.ggml.unknown_token_id 4:10 8:0 "
		   "s:tokenizer.ggml.separator_token_id 4:4 4:2 "
		   "s:tokenizer.ggml.prefix_token_id 4:4 4:1 "
		   "s:tokenizer.ggml.suffix_token_id 4:4 4:2 "
		   "s:tokenizer.ggml.fim_suf_token_id 4:4 4:0 "
		   "s:tokenizer.ggml.eot_token_id 4:4 4:0 "
		   "s:tokenizer.ggml.add_bos_token 4:7 1:1 s:tokenizer.ggml.add_eos_token 4:7 1:0 "
		   "s:tokenizer.ggml.add_space_prefix 4:0 1:1 "
		   "s:tokenizer.chat_template 4:8 s:{{^}}");
	OK(lmi_model_open(&m, path, 0, &err));
	t = lmi_model_view(m)->tok;
	ck_assert_str_eq(t->kind, "gpt2");
	ck_assert_str_eq(t->pre, "qwen2");
	ck_assert_uint_eq(t->n_tokens, 3);
	ck_assert_uint_eq(t->text[1].len, 3);
	ck_assert_mem_eq(t->text[1].ptr, "a\0b", 3);
	ck_assert_float_eq(t->score[1], -2);
	ck_assert_uint_eq(t->type[1], LMD_TOKEN_NORMAL);
	ck_assert_uint_eq(t->type[2], LMD_TOKEN_BYTE);
	ck_assert_uint_eq(t->n_merges, 2);
	ck_assert_str_eq(t->merge[1].ptr, "b c");
	ck_assert_uint_eq(t->n_token_types, 2);
	ck_assert_uint_eq(t->charsmap.len, 3);
	ck_assert_mem_eq(t->charsmap.ptr, "\xFF\0\7", 3);
	ck_assert_int_eq(t->bos, 1);
	ck_assert_int_eq(t->eos, 2);
	ck_assert_int_eq(t->unk, 0);
	ck_assert_int_eq(t->sep, 2);
	ck_assert_int_eq(t->fim_pre, 1);
	ck_assert_int_eq(t->fim_suf, 0); /* the new name takes precedence */
	ck_assert_int_eq(t->fim_mid, -1);
	ck_assert_int_eq(t->eot, 0);
	ck_assert_int_eq(t->eom, -1);
	ck_assert_int_eq(t->pad, -1);
	ck_assert_int_eq(t->add_bos, 1);
	ck_assert_int_eq(t->add_eos, 0);
	ck_assert_int_eq(t->add_space_prefix, 1);
	ck_assert_int_eq(t->add_sep, -1);
	ck_assert_int_eq(t->lowercase, -1);
	ck_assert_ptr_null(t->json.ptr);
	ck_assert_uint_eq(lmi_model_view(m)->chat_template.len, 5);
	lmi_model_close(m);

	write_spec(path, SPEC_HEAD(0, 1) SPEC_ARCH);
	OK(lmi_model_open(&m, path, 0, &err));
	t = lmi_model_view(m)->tok;
	ck_assert_ptr_null(t->kind);
	ck_assert_ptr_null(t->text);
	ck_assert_ptr_null(t->merge);
	ck_assert_ptr_null(t->charsmap.ptr);
	ck_assert_int_eq(t->bos, -1);
	ck_assert_int_eq(t->fim_sep, -1);
	ck_assert_ptr_null(lmi_model_view(m)->chat_template.ptr);
	lmi_model_close(m);
}
END_TEST

START_TEST(names)
{
	struct lmi_model *m;

	write_spec(path, SPEC_HEAD(0, 2) SPEC_ARCH "s:general.name 4:8 8:3 1:10 1:65 1:127");
	OK(lmi_model_open(&m, path, 0, &err));
	ck_assert_str_eq(lmi_model_view(m)->name, "?A?");
	lmi_model_close(m);
	write_spec(path, SPEC_HEAD(0, 1) "s:general.type 4:8 s:imatrix");
	OK(lmi_model_open(&m, path, 0, &err));
	ck_assert_str_eq(lmi_model_view(m)->arch, "imatrix");
	lmi_model_close(m);
}
END_TEST

/* The writer rejects what the reader would reject, and leaves no file. */
START_TEST(writer)
{
	static const int64_t dims[] = {33, 2};
	struct lmi_gguf_writer *w;
	const uint8_t *head;
	uint8_t zero[64] = {0};
	size_t n;

	ck_assert_int_eq(lmi_gguf_writer_create(&w, 48, &err), LMD_INVALID);
	ck_assert_int_eq(lmi_gguf_writer_create(&w, 4, &err), LMD_INVALID);
	w = new_writer(32);
	lmi_gguf_put_u32(w, "general.architecture", 1);
	ck_assert_int_eq(lmi_gguf_writer_header(w, &head, &n, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "general.architecture is defined twice"));
	lmi_gguf_writer_destroy(w);
	w = new_writer(32);
	lmi_gguf_add_tensor(w, "t", LMD_DTYPE_Q4_0, 2, dims); /* 33 is not a multiple of 32 */
	lmi_gguf_put_str(w, "later", "x");
	ck_assert_int_eq(lmi_gguf_writer_start(w, path, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "tensor 0"));
	lmi_gguf_writer_destroy(w);
	w = new_writer(32);
	lmi_gguf_add_tensor(w, "t", LMD_DTYPE_F32, 1, (int64_t[]){4});
	lmi_gguf_add_tensor(w, "u", LMD_DTYPE_F32, 1, (int64_t[]){4});
	ck_assert_int_eq(lmi_gguf_writer_data(w, zero, 16, &err), LMD_INVALID);
	OK(lmi_gguf_writer_start(w, path, &err));
	ck_assert_int_eq(lmi_gguf_writer_data(w, zero, 17, &err), LMD_INVALID);
	OK(lmi_gguf_writer_data(w, zero, 16, &err));
	OK(lmi_gguf_writer_data(w, zero, 8, &err));
	ck_assert_int_eq(lmi_gguf_writer_finish(w, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "tensor u: 8 bytes"));
	lmi_gguf_writer_destroy(w);
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_uint_eq(temp_n_files(), 0);
	w = new_writer(32);
	ck_assert_int_eq(lmi_gguf_writer_start(w, "/nonexistent/x.gguf", &err), LMD_NOTFOUND);
	lmi_gguf_writer_destroy(w);
	lmi_gguf_writer_destroy(NULL);
}
END_TEST

struct progress {
	uint64_t last, total, stop; /* cancels when `stop` bytes are written; 0: never */
	unsigned n;
};

static bool on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct progress *t = arg;

	ck_assert_uint_ge(done, t->last);
	ck_assert_uint_ge(total, done);
	t->last = done;
	t->total = total;
	t->n++;
	return !t->stop || done < t->stop;
}

/* The callback sees every write up to the last byte, and cancelling leaves no file. */
START_TEST(writer_progress)
{
	static const uint8_t zero[64];

	for (uint64_t stop = 0; stop <= 160; stop += 32) {
		struct lmi_gguf_writer *w = new_writer(32);
		struct progress t = {.stop = stop};
		enum lmd_status st;
		uint64_t bytes;

		lmi_gguf_add_tensor(w, "t", LMD_DTYPE_F32, 1, (int64_t[]){9});
		lmi_gguf_add_tensor(w, "u", LMD_DTYPE_F32, 1, (int64_t[]){4});
		OK(lmi_gguf_writer_bytes(w, &bytes, &err));
		lmi_gguf_writer_on_progress(w, on_progress, &t);
		snprintf(path, sizeof(path), "%s/progress.gguf", dir);
		st = lmi_gguf_writer_start(w, path, &err);
		for (int i = 0; st == LMD_OK && i < 2; i++)
			st = lmi_gguf_writer_data(w, zero, i ? 16 : 36, &err);
		if (!stop) {
			OK(st);
			OK(lmi_gguf_writer_finish(w, &err));
			ck_assert_uint_eq(t.n, 3);
			ck_assert_uint_eq(t.last, bytes);
		} else {
			ck_assert_int_eq(st, LMD_CANCELLED);
		}
		ck_assert_uint_eq(t.total, bytes);
		lmi_gguf_writer_destroy(w);
		ck_assert_int_eq(access(path, F_OK) == 0, stop == 0);
		(void)unlink(path);
	}
}
END_TEST

/* A file copied key by key and tensor by tensor has the same content. */
START_TEST(copy)
{
	struct lmi_model *a, *b;
	const struct lmd_model *va, *vb;
	struct lmi_gguf_writer *w;
	char other[160];

	write_spec(path, SPEC_HEAD(1, 6) SPEC_ARCH
		   "s:general.alignment 4:4 4:64 s:x 4:9 4:10 8:2 8:-1 8:5 s:y 4:10 8:-1 "
		   "s:z 4:9 4:8 8:0 s:f 4:6 f:0.1 s:t 4:2 8:2 8:3 4:0 8:0 p:64 "
		   "f:1 f:2 f:3 f:4 f:5 f:6");
	OK(lmi_model_open(&a, path, 0, &err));
	va = lmi_model_view(a);
	OK(lmi_gguf_writer_create(&w, 64, &err));
	for (uint32_t i = 0; i < va->n_meta; i++)
		lmi_gguf_put_meta(w, &va->meta[i]);
	lmi_gguf_add_tensor(w, "t", LMD_DTYPE_F32, 2, va->tensors[0].dims);
	snprintf(other, sizeof(other), "%s/other.gguf", dir);
	OK(lmi_gguf_writer_start(w, other, &err));
	OK(lmi_gguf_writer_data(w, va->tensors[0].data, va->tensors[0].bytes, &err));
	OK(lmi_gguf_writer_finish(w, &err));
	lmi_gguf_writer_destroy(w);
	OK(lmi_model_open(&b, other, 0, &err));
	vb = lmi_model_view(b);
	ck_assert_uint_eq(vb->n_meta, va->n_meta);
	for (uint32_t i = 0; i < va->n_meta; i++) {
		const struct lmd_meta *x = &va->meta[i], *y = vb->find_meta(vb, x->key);

		ck_assert_uint_eq(y->type, x->type);
		ck_assert_uint_eq(y->file_type, x->file_type);
		ck_assert_uint_eq(y->n, x->n);
		if (x->type == LMD_META_ARR_I64)
			ck_assert_mem_eq(y->v.a, x->v.a, x->n * 8);
		else if (x->type < LMD_META_STR)
			ck_assert_uint_eq(y->v.u, x->v.u);
	}
	ck_assert_mem_eq(vb->tensors[0].data, va->tensors[0].data, 24);
	{ /* reads data in pieces, beyond the tensor, and beyond the end of a truncated file */
		const struct lmd_tensor *t = &vb->tensors[0];
		uint8_t got[24];

		OK(lmi_model_read(b, t, 8, got, 16, &err));
		ck_assert_mem_eq(got, (const uint8_t *)t->data + 8, 16);
		ck_assert_int_eq(lmi_model_read(b, t, 20, got, 8, &err), LMD_INVALID);
		ck_assert_int_eq(lmi_model_read(b, t, UINT64_MAX, got, 2, &err), LMD_INVALID);
		ck_assert_int_eq(truncate(other, (off_t)t->offset + 20), 0);
		ck_assert_int_eq(lmi_model_read(b, t, 0, got, 24, &err), LMD_IO);
		ck_assert_ptr_nonnull(strstr(err.text, "other.gguf"));
	}
	lmi_model_close(a);
	lmi_model_close(b);
}
END_TEST

START_TEST(parity_vocabularies)
{
	const char *base = lmd_parity_dir();
	unsigned passed = 0, failed = 0;
	char name[4096];
	const char *vocab;
	json_t *facts, *e;

	if (!base) {
		LMD_SKIP("parity_vocabularies", "no parity pack");
		return;
	}
	snprintf(name, sizeof(name), "%s/tokenizers/vocab_facts.json", base);
	facts = json_load_file(name, 0, NULL);
	ck_assert_ptr_nonnull(facts);
	json_object_foreach(facts, vocab, e)
	{
		const struct lmd_tok_spec *t;
		struct lmi_model *m;

		snprintf(name, sizeof(name), "%s/tokenizers/vocabs/%s", base,
			 json_string_value(json_object_get(e, "file")));
		OK(lmi_model_open(&m, name, 0, &err));
		t = lmi_model_view(m)->tok;
		/* ids in the file must match the reference, whose defaults fill in the others */
		if (t->n_tokens == json_integer_value(json_object_get(e, "n_tokens")) &&
		    (t->bos < 0 || t->bos == json_integer_value(json_object_get(e, "bos"))) &&
		    (t->eos < 0 || t->eos == json_integer_value(json_object_get(e, "eos"))) &&
		    (t->add_bos < 0 || t->add_bos == json_is_true(json_object_get(e, "add_bos")))) {
			passed++;
		} else {
			printf("%s: %u tokens, bos %d, eos %d, add_bos %d\n", vocab, t->n_tokens,
			       t->bos, t->eos, t->add_bos);
			failed++;
		}
		lmi_model_close(m);
	}
	json_decref(facts);
	LMD_CASES("vocabularies opened", passed, failed, 0);
	ck_assert_uint_eq(failed, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gguf");
	TCase *tc = tcase_create("files");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, make_dir, remove_dir);
	tcase_add_test(tc, values);
	tcase_add_test(tc, tensors);
	tcase_add_test(tc, split_set);
	tcase_add_test(tc, versions);
	tcase_add_test(tc, big_endian_blocks);
	tcase_add_test(tc, vocabulary);
	tcase_add_test(tc, names);
	tcase_add_test(tc, writer);
	tcase_add_test(tc, writer_progress);
	tcase_add_test(tc, copy);
	tcase_add_test(tc, parity_vocabularies);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}

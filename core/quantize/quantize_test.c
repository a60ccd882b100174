/* SPDX-License-Identifier: MIT
 *
 * Quantising whole files: what the result holds, what is refused, and that no failure of memory,
 * disk or source leaves a file behind. */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/format/gguf/write.h"
#include "core/quant/quant.h"
#include "core/quantize/mix.h"
#include "core/quantize/quantize.h"
#include "llamad/attr.h"
#include "tests/temp_dir.h"

/* ---- a file system that fails: these stand in the place of libc's ---- */

enum fault { NONE, READ_EIO, READ_SHORT, WRITE_EIO, WRITE_NOSPC, WRITE_SHORT, SYNC_EIO, NAME_EIO };
static struct {
	enum fault kind;
	unsigned after; /* calls that go well */
	bool hit;
} fault;

static bool fails(enum fault kind)
{
	if (fault.kind != kind)
		return false;
	if (fault.after) {
		fault.after--;
		return false;
	}
	fault.hit = true;
	return true;
}

ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
	if (fails(READ_EIO)) {
		errno = EIO;
		return -1;
	}
	if (n > 1 && fails(READ_SHORT))
		n /= 2;
	return syscall(SYS_pread64, fd, buf, n, at);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	if (fails(WRITE_EIO) || fails(WRITE_NOSPC)) {
		errno = fault.kind == WRITE_EIO ? EIO : ENOSPC;
		return -1;
	}
	if (n > 1 && fails(WRITE_SHORT))
		n /= 2;
	return syscall(SYS_pwrite64, fd, buf, n, at);
}

int fsync(int fd)
{
	if (fails(SYNC_EIO)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
	if (fails(NAME_EIO)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_rename, from, to);
}

/* ---- fixtures ---- */

static char src[128], dst[128];
static struct lmd_error err;
static struct lmi_imatrix imatrix;

#define OK(call)                                                                                   \
	do {                                                                                       \
		enum lmd_status st_ = (call);                                                      \
		ck_assert_msg(st_ == LMD_OK, "%s: %s: %s", #call, lmd_status_text((int)st_),       \
			      err.text);                                                           \
	} while (0)

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
	{"long.weight", {33024, 2}, 2}, /* rows of more than one piece, the last one small */
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

/* bad: is written in the place of one value of blk.5.attn_q. */
static void fill(struct lmi_gguf_writer *w, uint32_t first, uint32_t last, bool globals, float bad)
{
	uint64_t seed = 7 + first;
	static float v[256];

	for (size_t i = 0; globals && i < LMD_LEN(shapes); i++) {
		int64_t n = shapes[i].dims[0] * (shapes[i].n_dim > 1 ? shapes[i].dims[1] : 1);

		for (int64_t k = 0; k < n; k++) {
			v[0] = value(&seed);
			OK(lmi_gguf_writer_data(w, v, 4, &err));
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

/* The same in two files; the path of the first one goes to `first`. */
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
	add_importance("token_embd.weight", 100, 1); /* of another shape: does not matter */
}

static void teardown(void)
{
	struct lmi_alloc_stats s;

	fault.kind = NONE;
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

static enum lmd_status convert(const struct lmi_quantize_opts *o)
{
	return convert_from(src, o);
}

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
	ck_assert_uint_eq(n, 56);
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
			static uint8_t want[33024 * 4];

			ck_assert(lmi_row_bytes(t, n, &row));
			ck_assert_uint_eq(y->bytes, rows * row);
			if (e && e->n % n == 0)
				lmi_imatrix_means(e, all);
			for (uint64_t r = 0; r < rows; r++) {
				bool has = e && e->n % n == 0 && y->dtype != x->dtype;

				for (uint64_t k = 0; has && k < n; k++)
					mean[k] = all[e->n == n ? k
								: r / (uint64_t)x->dims[1] * n + k];
				t->quant((const float *)x->data + r * n, want, n,
					 has ? mean : NULL);
				ck_assert_msg(!memcmp(want, (const uint8_t *)y->data + r * row, row),
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
	} want[] = {
		{"token_embd.weight", LMD_DTYPE_Q4_K},	  {"output.weight", LMD_DTYPE_Q6_K},
		{"output_norm.weight", LMD_DTYPE_F32},	  {"odd.weight", LMD_DTYPE_Q5_0},
		{"very_odd.weight", LMD_DTYPE_F16},	  {"blk.0.attn_v.weight", LMD_DTYPE_Q6_K},
		{"blk.1.attn_v.weight", LMD_DTYPE_Q4_K},  {"blk.7.attn_v.weight", LMD_DTYPE_Q6_K},
		{"blk.0.attn_q.weight", LMD_DTYPE_Q4_K},  {"blk.0.ffn_down_exps.weight", LMD_DTYPE_Q6_K},
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
	for (size_t i = 0; i < LMD_LEN(want); i++)
		ck_assert_msg(tensor(m, want[i].name)->dtype == want[i].type, "%s: %u",
			      want[i].name, tensor(m, want[i].name)->dtype);
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

/* Options about single tensors. */
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

/* Layers left out: the others move up, arrays by layer lose their members. */
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
	ck_assert_ptr_nonnull(strstr(err.text, "layers 0..7"));
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
	OK(convert_from(first, &o)); /* into one file */
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

	/* the second file cannot have its name: the first one is taken back */
	(void)unlink(out);
	out[strlen(dir) + 9] = '2';
	(void)unlink(out);
	before = temp_n_files();
	fault.kind = NAME_EIO;
	fault.after = 1;
	ck_assert_int_eq(convert_from(first, &o), LMD_IO);
	ck_assert_uint_eq(temp_n_files(), before);
}
END_TEST

START_TEST(refusals)
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
	ck_assert_ptr_nonnull(strstr(err.text, "is the source itself"));
	(void)unlink(dst);

	OK(lmi_imatrix_add(&imatrix, "odd.weight", 1, 1, &one, NULL, &one, &err));
	ck_assert_int_eq(convert(&o), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "odd.weight"));
	ck_assert_uint_eq(temp_n_files(), 1);
}
END_TEST

START_TEST(values_that_cannot_be)
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

static bool cut_source(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	if (done > total / 2)
		ck_assert_int_eq(truncate(src, 1000), 0);
	return true;
}

static bool give_up(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	return done < total / 2;
}

START_TEST(interrupted)
{
	struct lmi_quantize_opts o = options("Q8_0");

	o.progress = give_up;
	ck_assert_int_eq(convert(&o), LMD_CANCELLED);
	ck_assert_uint_eq(temp_n_files(), 1);
	o.progress = cut_source;
	ck_assert_int_eq(convert(&o), LMD_IO);
	ck_assert_ptr_nonnull(strstr(err.text, "src.gguf"));
	ck_assert_uint_eq(temp_n_files(), 1);
}
END_TEST

START_TEST(faults)
{
	static const struct {
		enum fault kind;
		const char *text; /* NULL: it goes well */
	} kinds[] = {{READ_EIO, "Input/output error"},	 {READ_SHORT, NULL},
		     {WRITE_EIO, "Input/output error"},	 {WRITE_SHORT, NULL},
		     {WRITE_NOSPC, "No space left"},	 {SYNC_EIO, "fsync"},
		     {NAME_EIO, "rename"}};
	struct lmi_quantize_opts o = options("Q4_0");

	for (size_t i = 0; i < LMD_LEN(kinds); i++) {
		unsigned n = 0;

		for (unsigned after = 0;; after += 1 + after / 8) {
			enum lmd_status st;

			fault.kind = kinds[i].kind;
			fault.after = after;
			fault.hit = false;
			st = convert(&o);
			fault.kind = NONE;
			/* the folder's fsync, after the rename, may fail in silence */
			if (!fault.hit || !kinds[i].text || (kinds[i].kind == SYNC_EIO && after)) {
				OK(st);
				(void)unlink(dst);
			} else {
				ck_assert_int_eq(st, LMD_IO);
				ck_assert_ptr_nonnull(strstr(err.text, kinds[i].text));
				n++;
			}
			ck_assert_uint_eq(temp_n_files(), 1);
			if (!fault.hit)
				break;
		}
		ck_assert(n > 0 || !kinds[i].text);
	}
}
END_TEST

START_TEST(no_memory)
{
	struct lmi_quantize_opts o = options("Q4_K_M");
	const struct lmi_quantize_rule rule = {"attn", LMD_DTYPE_Q8_0};
	struct lmi_alloc_stats before, after;
	uint64_t n;

	o.rules = &rule;
	o.n_rules = 1;
	o.n_thread = 2;
	o.prune = (const uint32_t[]){2};
	o.n_prune = 1;
	lmi_alloc_stats(&before);
	for (n = 1;; n++) {
		enum lmd_status st;

		lmi_alloc_fail_nth(n, n % 2);
		st = convert(&o);
		if (!lmi_alloc_did_fail())
			break;
		lmi_alloc_fail_nth(0, false);
		ck_assert_msg(st == LMD_NOMEM, "allocation %u: %s", (unsigned)n, err.text);
		ck_assert_uint_eq(temp_n_files(), 1);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(after.n_live, before.n_live);
	}
	lmi_alloc_fail_nth(0, false);
	ck_assert_uint_gt(n, 100);
	printf("%u allocations failed in turn\n", (unsigned)n - 1);
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
	tcase_add_test(tc, refusals);
	tcase_add_test(tc, values_that_cannot_be);
	tcase_add_test(tc, interrupted);
	tcase_add_test(tc, faults);
	tcase_add_test(tc, no_memory);
	suite_add_tcase(s, tc);
	return lmd_check_run(r);
}

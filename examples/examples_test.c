/* SPDX-License-Identifier: MIT
 *
 * Tests the plugins of examples/ that examples_test.sh built outside the source tree: the tokenizer
 * and the sampler through the plugin registry, the architecture and the backend together on a model
 * that the test makes, the format on the files that its make_model.py wrote to a second folder.
 * usage: examples_test FOLDER [MODELS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/checkpoint/open.h"
#include "core/engine/sample.h"
#include "core/format/gguf/write.h"
#include "core/plan/plan.h"
#include "core/plan/weight_ref.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "tests/lmd_check.h"

static const char *folder, *models;
static struct lmd_host *host;
static struct lmi_plugin_registry *registry;

static void make_weights(void);

static void setup(void)
{
	make_weights();
	struct lmi_plugin_registry_opts opts = {
		.dirs = &folder, .n_dirs = 1, .no_default_dirs = true};
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	opts.host = host;
	ck_assert_msg(lmi_plugin_registry_create(&registry, &opts, &err) == LMD_OK, "%s", err.text);
}

static void teardown(void)
{
	lmi_plugin_registry_destroy(registry);
	lmi_host_destroy(host);
}

static const struct lmi_factory *take(enum lmd_kind kind, const char *name)
{
	const struct lmi_factory *f = NULL;
	struct lmd_error err = {0};

	ck_assert_msg(lmi_factory_take(registry, kind, name, &f, &err) == LMD_OK, "%s", err.text);
	return f;
}

START_TEST(tokenizer)
{
	const struct lmi_factory *f = take(LMD_KIND_TOKENIZER, "bytes");
	const struct lmd_tokenizer_ops *ops = f->ops.tokenizer;
	struct lmd_tok_info info = {.struct_size = sizeof(info)};
	struct lmd_tok_spec spec = {.struct_size = sizeof(spec), .kind = "bytes", .add_bos = -1};
	static const char text[] = "a</s>";
	uint64_t seed = lmd_seed("tokenizer example", 3);
	void *state = lmi_alloc(1, f->f->state_bytes);
	struct lmd_error err = {0};
	lmd_token ids[64];
	char back[64];
	size_t n = 0;

	ck_assert_int_eq(ops->open(state, host, &spec, &info, &err), LMD_OK);
	ck_assert_uint_eq(info.n_tokens, 258);
	ck_assert_int_eq(ops->encode(state, text, 5,
				     LMD_ENCODE_ADD_SPECIAL | LMD_ENCODE_PARSE_SPECIAL, ids, 64, &n,
				     &err),
			 LMD_OK);
	ck_assert_uint_eq(n, 3);
	ck_assert(ids[0] == info.bos && ids[1] == 'a' && ids[2] == info.eos);
	for (int i = 0; i < 200; i++) {
		size_t len = lmd_rand(&seed) % sizeof(back), m = 0;
		char bytes[sizeof(back)];

		for (size_t k = 0; k < len; k++)
			bytes[k] = (char)lmd_rand(&seed);
		ck_assert_int_eq(ops->encode(state, bytes, len, 0, ids, 64, &n, &err), LMD_OK);
		ck_assert_int_eq(ops->decode(state, ids, n, 0, back, sizeof(back), &m, &err),
				 LMD_OK);
		ck_assert_uint_eq(m, len);
		ck_assert_mem_eq(back, bytes, len);
	}
	ids[0] = 258;
	ck_assert_int_eq(ops->decode(state, ids, 1, 0, back, sizeof(back), &n, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "258"));
	ops->close(state);
	lmi_free(state);
	lmi_factory_give(registry, f);
}
END_TEST

START_TEST(sampler)
{
	struct lmi_sampler_arg arg = {.name = "margin", .type = LMD_PARAM_FLOAT, .v.f = 2};
	struct lmi_sampler_spec spec = {.name = "margin", .args = &arg, .n_args = 1};
	struct lmi_sampler_chain_opts opts = {.registry = registry,
					      .host = host,
					      .specs = &spec,
					      .n_specs = 1,
					      .n_vocab = 5,
					      .partial = true};
	struct lmd_cand v[5] = {{0, 1, 0}, {1, 3.5f, 0}, {2, 2.5f, 0}, {3, NAN, 0}, {4, 1.5f, 0}};
	struct lmd_cands c = {.v = v, .n = 5, .selected = -1};
	struct lmi_sampler_chain *chain = NULL;
	struct lmd_error err = {0};

	ck_assert_msg(lmi_sampler_chain_create(&chain, &opts, &err) == LMD_OK, "%s", err.text);
	ck_assert_int_eq(lmi_sampler_chain_apply(chain, &c), LMD_OK);
	ck_assert_uint_eq(c.n, 3);
	ck_assert(v[0].id == 1 && v[1].id == 2 && v[2].id == 4);
	lmi_sampler_chain_destroy(chain);
	arg.v.f = -1;
	ck_assert_int_eq(lmi_sampler_chain_create(&chain, &opts, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "margin"));
}
END_TEST

/* ---- a model of two tensors ---- */

#define N_EMBD  3
#define N_VOCAB 258

static float embd[N_VOCAB][N_EMBD], output[N_VOCAB][N_EMBD];
static struct lmd_tensor tensors[2] = {
	{.name = "token_embd.weight", .n_dim = 2, .dims = {N_EMBD, N_VOCAB, 1, 1},
	 .bytes = sizeof(embd), .data = embd},
	{.name = "output.weight", .n_dim = 2, .dims = {N_EMBD, N_VOCAB, 1, 1},
	 .bytes = sizeof(output), .data = output},
};
static struct lmd_meta width = {.key = "bigram.embedding_length", .type = LMD_META_I64, .n = 1,
				.v.i = N_EMBD};

static const struct lmd_meta *find_meta(const struct lmd_model *m, const char *key)
{
	return strcmp(m->meta->key, key) ? NULL : m->meta;
}

static const struct lmd_tensor *find_tensor(const struct lmd_model *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_tensors; i++)
		if (!strcmp(m->tensors[i].name, name))
			return &m->tensors[i];
	return NULL;
}

static const struct lmd_tok_spec no_tokenizer = {.struct_size = sizeof(no_tokenizer)};
static const struct lmd_model model = {
	.struct_size = sizeof(model), .n_meta = 1, .n_tensors = 2, .n_files = 1, .arch = "bigram",
	.name = "made here", .format = "none", .meta = &width, .tensors = tensors,
	.tok = &no_tokenizer, .find_meta = find_meta, .find_tensor = find_tensor};

static void make_weights(void)
{
	uint64_t seed = lmd_seed("bigram example", 9);

	for (int r = 0; r < N_VOCAB; r++)
		for (int i = 0; i < N_EMBD; i++) {
			embd[r][i] = (float)(lmd_rand(&seed) % 1000) / 500 - 1;
			output[r][i] = (float)(lmd_rand(&seed) % 1000) / 500 - 1;
		}
}

/* Checks that the logits are those that the model computes for a token. */
static void check_row(const float *logits, int token)
{
	for (int r = 0; r < N_VOCAB; r++) {
		double want = 0;

		for (int i = 0; i < N_EMBD; i++)
			want += (double)embd[token][i] * (double)output[r][i];
		ck_assert_double_eq_tol((double)logits[r], want, 1e-5);
	}
}

struct device {
	const struct lmd_backend_ops *ops;
	void *state;
};

static bool supported(void *arg, const struct lmd_plan *plan, const struct lmd_op *op, char *reason,
		      size_t n)
{
	const struct device *d = arg;
	struct lmd_support s = {.struct_size = sizeof(s)};

	d->ops->op_support(d->state, plan, op, &s);
	snprintf(reason, n, "%s", s.reason);
	return s.native;
}

static struct lmi_plan *make_plan(const struct lmd_arch_ops *arch, const struct lmd_arch_desc *desc,
				  struct device *d)
{
	struct lmi_plan_params p = {
		.host = host, .model = &model, .arch = arch, .desc = desc,
		.key = {.struct_size = sizeof(p.key), .kind = LMD_PLAN_FORWARD,
			.flags = LMD_PLAN_LOGITS, .pooling = LMD_POOL_UNSET},
		.act_dtype = LMD_DTYPE_F32, .k_dtype = LMD_DTYPE_F32,
		.v_dtype = LMD_DTYPE_F32,
		.max_rows = {8, 8, 2, 1, 1, 1, 1, 1, 1}};
	struct lmi_plan *plan = NULL;
	struct lmd_error err = {0};

	ck_assert_msg(lmi_plan_build(&plan, &p, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmi_plan_lower(plan, supported, d, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmi_plan_layout(plan, &err) == LMD_OK, "%s", err.text);
	return plan;
}

static struct lmd_weight *load(const struct device *d, const struct lmd_weight_ref *ref)
{
	struct lmd_weight_piece piece;
	struct lmd_weight_desc desc = {
		.struct_size = sizeof(desc), .ref = ref, .n_piece = 1, .pieces = &piece};
	struct lmd_weight_plan weight_plan = {.struct_size = sizeof(weight_plan)};
	struct lmd_weight *w = NULL;
	struct lmd_error err = {0};

	ck_assert_uint_eq(ref->n_part, 1);
	ck_assert_int_eq(lmi_plan_weight_ref_pieces(ref, &model, NULL, &piece, &desc.dtype, &err),
			 LMD_OK);
	ck_assert_int_eq(d->ops->weight_query(d->state, &desc, &weight_plan, &err), LMD_OK);
	ck_assert_int_eq(d->ops->weight_load(d->state, &desc, &w, &err), LMD_OK);
	return w;
}

/* n rows of one sequence; all except the first are output. */
static void fill_step(struct lmi_plan_step *s, uint32_t n)
{
	for (uint32_t t = 0; t < n; t++) {
		s->token[t] = (int32_t)(t * 3 % N_VOCAB);
		for (int k = 0; k < 4; k++)
			s->pos[k][t] = (int32_t)t;
		s->seq_of[t] = 0;
		s->out_row[t] = (int32_t)t + 1;
	}
	s->q_start[0] = 0;
	s->q_len[0] = (int32_t)n;
	s->seq_slot[0] = 0;
	s->head->n_tok = n;
	s->head->n_out = n - 1;
	s->head->n_seq = 1;
}

START_TEST(architecture_on_backend)
{
	const struct lmi_factory *fa = take(LMD_KIND_ARCH, "bigram");
	const struct lmi_factory *fb = take(LMD_KIND_BACKEND, "tiny");
	struct device d = {fb->ops.backend, lmi_alloc(1, fb->f->state_bytes)};
	struct lmd_open_params open = {.struct_size = sizeof(open)};
	struct lmd_arch_params params = {.struct_size = sizeof(params), .pooling = LMD_POOL_UNSET};
	struct lmd_arch_desc desc = {.struct_size = sizeof(desc)};
	struct lmd_arena *arena = lmi_arena_create(0);
	float logits[8][N_VOCAB];
	struct lmd_binding out = {.id = LMD_OUT_LOGITS, .n_row = 8, .row_bytes = sizeof(logits[0]),
				  .ptr = logits};
	struct lmd_weight *weights[4] = {0};
	struct lmd_error err = {0};
	struct lmd_compiled_plan *compiled_plan = NULL;
	struct lmi_plan_step *step = NULL;
	const struct lmd_plan *view;
	struct lmi_plan *plan;

	ck_assert_int_eq(d.ops->open(d.state, host, &open, &err), LMD_OK);
	ck_assert_msg(fa->ops.arch->describe(host, arena, &model, &params, &desc, &err) == LMD_OK,
		      "%s", err.text);
	ck_assert_uint_eq(desc.n_vocab, N_VOCAB);
	ck_assert_int_eq(fa->ops.arch->dim(desc.state, 1, -1), N_EMBD);
	plan = make_plan(fa->ops.arch, &desc, &d);
	view = lmi_plan_view(plan);
	ck_assert_uint_le(view->n_weight_ref, 4);
	for (uint32_t i = 0; i < view->n_weight_ref; i++)
		weights[i] = load(&d, &view->weight_refs[i]);
	ck_assert_msg(
		d.ops->plan_compile(d.state,
				    &(struct lmd_compile){.struct_size = sizeof(struct lmd_compile),
							  .plan = view,
							  .weights = weights},
				    &compiled_plan, &err) == LMD_OK,
		"%s", err.text);
	ck_assert_int_eq(lmi_plan_step_create(&step, view, 0, &err), LMD_OK);
	fill_step(step, 5);
	ck_assert_int_eq(
		d.ops->plan_run(d.state, NULL, compiled_plan, &step->view, NULL, 0, &out, 1, NULL),
		LMD_OK);
	for (int o = 0; o < 4; o++)
		check_row(logits[o], (o + 1) * 3 % N_VOCAB);
	lmi_plan_step_destroy(step);
	d.ops->plan_destroy(d.state, compiled_plan);
	for (uint32_t i = 0; i < view->n_weight_ref; i++)
		d.ops->weight_destroy(d.state, weights[i]);
	lmi_plan_destroy(plan);
	d.ops->close(d.state);
	lmi_free(d.state);
	lmi_arena_destroy(arena);
	lmi_factory_give(registry, fa);
	lmi_factory_give(registry, fb);
}
END_TEST

/* ---- everything together, through llamactl ---- */

static void write_model(const char *path)
{
	static const int64_t dims[] = {N_EMBD, N_VOCAB};
	struct lmi_gguf_writer *w = NULL;
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_gguf_writer_create(&w, 32, &err), LMD_OK);
	lmi_gguf_put_str(w, "general.architecture", "bigram");
	lmi_gguf_put_u32(w, "bigram.embedding_length", N_EMBD);
	lmi_gguf_put_str(w, "tokenizer.ggml.model", "bytes");
	lmi_gguf_add_tensor(w, "token_embd.weight", LMD_DTYPE_F32, 2, dims);
	lmi_gguf_add_tensor(w, "output.weight", LMD_DTYPE_F32, 2, dims);
	ck_assert_msg(lmi_gguf_writer_start(w, path, &err) == LMD_OK, "%s", err.text);
	ck_assert_int_eq(lmi_gguf_writer_data(w, embd, sizeof(embd), &err), LMD_OK);
	ck_assert_int_eq(lmi_gguf_writer_data(w, output, sizeof(output), &err), LMD_OK);
	ck_assert_msg(lmi_gguf_writer_finish(w, &err) == LMD_OK, "%s", err.text);
	lmi_gguf_writer_destroy(w);
}

START_TEST(through_llamactl)
{
	char dir[] = "/tmp/lmd-example-XXXXXX", path[64], command[2048];
	float logits[4][N_VOCAB];
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/bigram.gguf", dir);
	write_model(path);
	snprintf(command, sizeof(command),
		 "%s/llamactl debug logits %s --tokens 65,66,257,0 --backend tiny -o %s/out.f32 "
		 "--no-default-plugins --plugin-dir %s >%s/log",
		 lmd_build_dir(), path, dir, folder, dir);
	ck_assert_int_eq(system(command), 0);
	snprintf(path, sizeof(path), "%s/out.f32", dir);
	f = fopen(path, "rb");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fread(logits, 1, sizeof(logits) + 1, f), sizeof(logits));
	fclose(f);
	check_row(logits[0], 65);
	check_row(logits[1], 66);
	check_row(logits[2], 257);
	check_row(logits[3], 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(architecture_rejects_bad_keys)
{
	const struct lmi_factory *f = take(LMD_KIND_ARCH, "bigram");
	struct lmd_arch_params params = {.struct_size = sizeof(params)};
	struct lmd_arch_desc desc = {.struct_size = sizeof(desc)};
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmd_error err = {0};

	width.v.i = 0;
	ck_assert_int_eq(f->ops.arch->describe(host, arena, &model, &params, &desc, &err),
			 LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "0 is outside 1..65536"));
	width.key = "other.embedding_length";
	ck_assert_int_eq(f->ops.arch->describe(host, arena, &model, &params, &desc, &err),
			 LMD_NOTFOUND);
	lmi_arena_destroy(arena);
	lmi_factory_give(registry, f);
}
END_TEST

/* ---- the format ---- */

static struct lmi_model *open_model(const char *name, struct lmd_error *err)
{
	struct lmi_model *m = NULL;
	char path[512];

	memset(err, 0, sizeof(*err));
	snprintf(path, sizeof(path), "%s/%s", models, name);
	ck_assert_int_eq(lmi_model_open_any(&m, registry, path, 0, err) == LMD_OK, m != NULL);
	return m;
}

static void same_meta(const struct lmd_meta *a, const struct lmd_meta *b)
{
	ck_assert_ptr_nonnull(b);
	ck_assert_msg(a->type == b->type && a->file_type == b->file_type && a->n == b->n, "%s",
		      a->key);
	if (a->type == LMD_META_STR)
		ck_assert(a->v.s.len == b->v.s.len && !memcmp(a->v.s.ptr, b->v.s.ptr, a->v.s.len));
	else if (a->type < LMD_META_ARR_BOOL)
		ck_assert_msg(a->v.i == b->v.i, "%s", a->key);
	for (uint64_t i = 0; a->type == LMD_META_ARR_STR && i < a->n; i++) {
		const struct lmd_str *x = &((const struct lmd_str *)a->v.a)[i];
		const struct lmd_str *y = &((const struct lmd_str *)b->v.a)[i];

		ck_assert_msg(x->len == y->len && !memcmp(x->ptr, y->ptr, x->len), "token %llu",
			      (unsigned long long)i);
	}
	if (a->type == LMD_META_ARR_I64 || a->type == LMD_META_ARR_F64)
		ck_assert_mem_eq(a->v.a, b->v.a, a->n * 8);
}

/* Keys and weights of a file of llama2c are those of the GGUF file of the same model. */
static void same_model(const char *name, const char *gguf)
{
	struct lmd_error err;
	struct lmi_model *ma = open_model(name, &err), *mb;
	const struct lmd_model *a, *b;

	ck_assert_msg(ma != NULL, "%s", err.text);
	mb = open_model(gguf, &err);
	ck_assert_msg(mb != NULL, "%s", err.text);
	a = lmi_model_view(ma);
	b = lmi_model_view(mb);
	ck_assert_str_eq(a->format, "llama2c");
	ck_assert_uint_eq(a->n_meta, b->n_meta);
	for (uint32_t i = 0; i < a->n_meta; i++)
		same_meta(&a->meta[i], b->find_meta(b, a->meta[i].key));
	ck_assert_uint_eq(a->n_tensors, b->n_tensors);
	for (uint32_t i = 0; i < a->n_tensors; i++) {
		const struct lmd_tensor *x = &a->tensors[i], *y = b->find_tensor(b, x->name);

		ck_assert_ptr_nonnull(y);
		ck_assert(x->dtype == y->dtype && x->n_dim == y->n_dim && x->bytes == y->bytes);
		ck_assert_mem_eq(x->dims, y->dims, sizeof(x->dims));
		ck_assert_mem_eq(x->data, y->data, x->bytes);
	}
	lmi_model_close(ma);
	lmi_model_close(mb);
}

START_TEST(format_reads_the_same_model)
{
	same_model("tied.bin", "tied.gguf");
	same_model("untied.bin", "untied.gguf");
	same_model("untied.v1.bin", "untied.gguf");
}
END_TEST

static void write_model_file(const char *name, const char *p, size_t n)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", models, name);
	f = fopen(path, "wb");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(p, 1, n, f), n);
	fclose(f);
}

static char *read_model_file(const char *name, size_t *n)
{
	char path[512], *p = NULL;
	struct lmd_error err;

	snprintf(path, sizeof(path), "%s/%s", models, name);
	ck_assert_int_eq(lmi_file_read_all(path, 1 << 20, &p, n, &err), LMD_OK);
	return p;
}

/* Damages the first bytes of a file in many ways: each is an error with a message, or a model. */
static void damage(const char *from, const char *to, const char *open_name, uint64_t *seed)
{
	size_t n, len;
	char *p = read_model_file(from, &n);
	struct lmd_error err;
	unsigned bad = 0;

	for (int i = 0; i < 400; i++) {
		size_t at = lmd_rand(seed) % (i % 2 ? 64 : n);
		char old = p[at];
		struct lmi_model *m;

		len = i % 5 ? n : lmd_rand(seed) % n;
		p[at] = (char)lmd_rand(seed);
		write_model_file(to, p, len);
		m = open_model(open_name, &err);
		ck_assert(m || strlen(err.text) > 8);
		bad += !m;
		lmi_model_close(m);
		p[at] = old;
	}
	ck_assert_uint_gt(bad, 50);
	lmi_free(p);
}

START_TEST(format_reads_damaged_files)
{
	uint64_t seed = lmd_seed("damaged llama2.c files", 4);
	char *p;
	size_t n;

	damage("tied.bin", "damaged.bin", "damaged.bin", &seed);
	damage("untied.v1.bin", "damaged.bin", "damaged.bin", &seed);
	p = read_model_file("tokenizer.bin", &n);
	write_model_file("tokenizer.good", p, n);
	damage("tokenizer.good", "tokenizer.bin", "tied.bin", &seed);
	write_model_file("tokenizer.bin", p, n);
	lmi_free(p);
}
END_TEST

START_TEST(format_names_what_is_wrong)
{
	struct lmd_error err;
	char *p;
	size_t n;

	p = read_model_file("untied.v1.bin", &n);
	write_model_file("damaged.bin", p, 1000);
	ck_assert_ptr_null(open_model("damaged.bin", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "damaged.bin: format llama2c: the file has 1000 "
					       "bytes, its weights end at 136064"));
	p[4] = 2;
	write_model_file("damaged.bin", p, n);
	ck_assert_ptr_null(open_model("damaged.bin", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "version 2 cannot be read"));
	lmi_free(p);
}
END_TEST

static void generate(const char *file, const char *out)
{
	char command[2048];

	snprintf(command, sizeof(command),
		 "%s/llamactl run %s/%s --plugin-dir %s --backend ref --raw -p 'hello there' -n 30 "
		 "--temp 0 --ignore-eos >%s/%s",
		 lmd_build_dir(), models, file, folder, models, out);
	ck_assert_msg(system(command) == 0, "%s", command);
}

START_TEST(format_generates_the_same)
{
	static const char *const names[] = {"tied.bin", "tied.gguf", "untied.bin", "untied.v1.bin",
					    "untied.gguf"};
	char out[64], *text[5];
	size_t n[5];

	for (size_t i = 0; i < LMD_LEN(names); i++) {
		snprintf(out, sizeof(out), "%s.out", names[i]);
		generate(names[i], out);
		text[i] = read_model_file(out, &n[i]);
		ck_assert_uint_gt(n[i], 10);
	}
	ck_assert_str_eq(text[0], text[1]);
	ck_assert_str_eq(text[2], text[4]);
	ck_assert_str_eq(text[3], text[4]);
	ck_assert_str_ne(text[0], text[2]);
	for (size_t i = 0; i < LMD_LEN(names); i++)
		lmi_free(text[i]);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("examples");
	TCase *t = tcase_create("examples");

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: examples_test FOLDER [MODELS]\n");
		return 2;
	}
	folder = argv[1];
	models = argv[2];
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, tokenizer);
	tcase_add_test(t, sampler);
	tcase_add_test(t, architecture_on_backend);
	tcase_add_test(t, through_llamactl);
	tcase_add_test(t, architecture_rejects_bad_keys);
	if (models) {
		tcase_add_test(t, format_reads_the_same_model);
		tcase_add_test(t, format_reads_damaged_files);
		tcase_add_test(t, format_names_what_is_wrong);
		tcase_add_test(t, format_generates_the_same);
	}
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

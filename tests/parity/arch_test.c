/* SPDX-License-Identifier: MIT
 *
 * Compares every architecture with numbers of another implementation, using tiny random models.
 * Each case runs in one batch and token by token, and with LMD_TEST_LONG also in other chunk sizes.
 * Cases, models and tolerances come from the parity pack (LLAMAD_PARITY_DIR/arch).  Without the
 * pack, or if no plugin has the architecture, cases are reported as skipped. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"

#define SEQ_MAX 8

/* Normalised mean squared error (relative to the values' mean square) from which a result is
 * wrong. */
#define NMSE_MAX 1e-6

struct input {
	struct lmi_engine_input_seq seqs[SEQ_MAX];
	uint32_t n_seq;
	void *mem[4 * SEQ_MAX];
	uint32_t n_mem;
};

static void *keep(struct input *in, size_t n, size_t item)
{
	void *p = lmi_alloc(n, item);

	ck_assert_ptr_nonnull(p);
	return in->mem[in->n_mem++] = p;
}

static int32_t *ints(struct input *in, const json_t *list, uint32_t *n)
{
	int32_t *v = keep(in, json_array_size(list) + 1, sizeof(*v));

	*n = (uint32_t)json_array_size(list);
	for (uint32_t i = 0; i < *n; i++)
		v[i] = (int32_t)json_integer_value(json_array_get(list, i));
	return v;
}

static void rows_input(struct input *in, struct lmi_engine_input_seq *q, const json_t *seq,
		       const char *path)
{
	const json_t *pos = json_object_get(seq, "pos");
	bool planes = json_is_array(json_array_get(pos, 0));
	size_t n;
	float *v;
	int32_t *p;
	FILE *f = fopen(path, "rb");

	q->n_rows = (uint32_t)json_integer_value(json_object_get(seq, "n"));
	q->width = (uint32_t)json_integer_value(json_object_get(seq, "width"));
	n = (size_t)q->n_rows * q->width;
	v = keep(in, n, sizeof(*v));
	ck_assert_msg(f && fread(v, sizeof(*v), n, f) == n, "%s", path);
	fclose(f);
	q->rows = v;
	q->n_plane = planes ? 4 : 1;
	p = keep(in, (size_t)q->n_plane * q->n_rows, sizeof(*p));
	for (uint32_t k = 0; k < q->n_plane; k++) {
		const json_t *list = planes ? json_array_get(pos, k) : pos;

		for (uint32_t i = 0; i < q->n_rows; i++)
			p[k * q->n_rows + i] = (int32_t)json_integer_value(json_array_get(list, i));
	}
	q->pos = p;
}

static void read_input(struct input *in, const json_t *c, const char *models)
{
	const json_t *list = json_object_get(c, "inputs");

	*in = (struct input){.n_seq = (uint32_t)json_array_size(list)};
	ck_assert_uint_le(in->n_seq, SEQ_MAX);
	for (uint32_t i = 0; i < in->n_seq; i++) {
		const json_t *seq = json_array_get(list, i);
		struct lmi_engine_input_seq *q = &in->seqs[i];
		char path[4096];

		q->fork_of = LMI_ENGINE_NO_FORK;
		if (json_is_array(seq)) {
			q->tokens = ints(in, seq, &q->n_tokens);
		} else if (json_object_get(seq, "enc")) {
			q->enc = ints(in, json_object_get(seq, "enc"), &q->n_enc);
			q->tokens = ints(in, json_object_get(seq, "dec"), &q->n_tokens);
		} else {
			snprintf(path, sizeof(path), "%s/%s.input%u.f32", models,
				 json_string_value(json_object_get(c, "name")), i);
			rows_input(in, q, seq, path);
		}
	}
}

static void free_input(struct input *in)
{
	for (uint32_t i = 0; i < in->n_mem; i++)
		lmi_free(in->mem[i]);
}

/* ---- judging ---- */

static float *read_expected(const char *dir, const char *name, const char *suffix, size_t n)
{
	char path[4096];
	float *v = lmi_alloc(n + 1, sizeof(*v));
	size_t got;
	FILE *f;

	snprintf(path, sizeof(path), "%s/arch/expected/%s%s", dir, name, suffix);
	f = fopen(path, "rb");
	ck_assert_msg(v && f, "%s", path);
	got = fread(v, sizeof(*v), n + 1, f);
	ck_assert_msg(got == n, "%s: %zu numbers, expected %zu", path, got, n);
	fclose(f);
	return v;
}

struct distance {
	double worst, nmse;
};

/* Maximum difference and mean squared error; values masked in the reference must be masked. */
static struct distance compare(const float *want, const float *got, size_t n)
{
	struct distance d = {0, 0};
	double num = 0, den = 0;

	for (size_t i = 0; i < n; i++) {
		double diff = (double)want[i] - got[i];

		if (fabsf(want[i]) > 1e30f) {
			if (!(got[i] < -1e4f || got[i] != got[i]))
				return (struct distance){INFINITY, INFINITY};
			continue;
		}
		if (diff != diff)
			return (struct distance){INFINITY, INFINITY};
		d.worst = fmax(d.worst, fabs(diff));
		num += diff * diff;
		den += (double)want[i] * want[i];
	}
	d.nmse = den > 0 ? num / den : 0;
	return d;
}

/* Cases of which only the first rows can be compared. */
static const struct partial_case {
	const char *name, *why;
	uint32_t n_row;
} partial_cases[] = {
	{"minimax-m3-dense",
	 "the reference attends to all keys, which the model does not do; only the first 12 rows, "
	 "which see all keys in both cases, are compared",
	 12},
};

static const struct partial_case *partial_case(const char *name)
{
	for (size_t i = 0; i < LMD_LEN(partial_cases); i++)
		if (!strcmp(partial_cases[i].name, name))
			return &partial_cases[i];
	return NULL;
}

/* Do the rows match those of the pack (or those of the pack with exact GELU)? */
static bool judge(const char *dir, const char *name, const char *batching, const json_t *e,
		  const struct lmt_rows *got)
{
	size_t n = (size_t)json_integer_value(json_object_get(e, "rows")) *
		   (size_t)json_integer_value(json_object_get(e, "width"));
	double tol = json_number_value(json_object_get(e, "tol"));
	const json_t *tol_exact = json_object_get(e, "tol_exact");
	/* for backends whose products are sums of 16-bit floats */
	double nmse = strtod(lmd_env_or("LMD_TEST_NMSE", "0"), NULL);
	const struct partial_case *a = partial_case(name);
	struct distance d, x = {INFINITY, INFINITY};
	float *want;

	if ((size_t)got->n_row * got->width != n) {
		printf("FAIL: %s, %s: %u rows of %u, expected %zu numbers\n", name, batching,
		       got->n_row, got->width, n);
		return false;
	}
	want = read_expected(dir, name, ".f32", n);
	d = compare(want, got->v, a ? (size_t)a->n_row * got->width : n);
	lmi_free(want);
	if (tol_exact) {
		want = read_expected(dir, name, ".exact.f32", n);
		x = compare(want, got->v, n);
		lmi_free(want);
	}
	if (d.worst <= tol || d.nmse <= nmse ||
	    (tol_exact && x.worst <= json_number_value(tol_exact) && x.nmse <= NMSE_MAX))
		return true;
	printf("FAIL: %s, %s: maximum difference %.2e (exact GELU %.2e), allowed %.2e; "
	       "normalised squared error %.1e\n",
	       name, batching, d.worst, x.worst, tol, fmin(d.nmse, x.nmse));
	return false;
}

/* ---- cases ---- */

/* Chunk sizes in tokens, in addition to all tokens at once.  Short runs use only the first. */
static const uint32_t chunks[] = {1, 2, 5, 16};

enum verdict { PASSED, FAILED, SKIPPED };

static bool is_mode(const json_t *c, const char *mode)
{
	return !strcmp(json_string_value(json_object_get(c, "mode")), mode);
}

static struct lmi_engine_eval command(const json_t *c, const struct input *in, uint32_t chunk)
{
	const json_t *pooling = json_object_get(c, "pooling");
	struct lmi_engine_eval cmd = {.id = 1,
				      .seqs = in->seqs,
				      .n_seq = in->n_seq,
				      .pooling = LMD_POOL_UNSET,
				      .whole = is_mode(c, "logits_all"),
				      .chunk = chunk};

	if (is_mode(c, "embd")) {
		cmd.want = LMI_ENGINE_WANT_EMBED;
		if (json_is_integer(pooling))
			cmd.pooling = (int32_t)json_integer_value(pooling);
	}
	return cmd;
}

static void set_options(struct lmi_engine_model_opts *o, const json_t *c, const struct input *in,
			const struct lmi_engine_eval *cmd)
{
	o->n_ctx = (uint32_t)json_integer_value(json_object_get(c, "n_ctx"));
	o->n_seq = in->n_seq;
	o->pooling = cmd->pooling;
	/* the reference used kernels that sum in half precision; exact sums would choose another
	 * expert in a near tie */
	if (json_integer_value(json_object_get(c, "flash")))
		o->attention = LMD_ATTENTION_HALF;
}

static enum verdict run_one(const struct lmt_env *env, const char *dir, const char *models,
			    const json_t *c, const json_t *e, uint32_t chunk)
{
	const char *name = json_string_value(json_object_get(c, "name"));
	const struct partial_case *a = partial_case(name);
	char path[4096], batching[64] = "one batch";
	struct lmi_engine_opts o = lmt_opts(env, path);
	struct lmt_rows rows = {0};
	struct lmi_engine_eval cmd;
	struct lmd_error err = {0};
	struct input in;
	enum lmd_status st;
	enum verdict v;

	snprintf(path, sizeof(path), "%s/%s.gguf", models, name);
	if (chunk)
		snprintf(batching, sizeof(batching), "%u at a time", chunk);
	read_input(&in, c, models);
	cmd = command(c, &in, chunk);
	set_options(&o.inst, c, &in, &cmd);
	st = lmt_eval_once(&o, &cmd, &rows, &err);
	if (st == LMD_OK) {
		v = judge(dir, name, batching, e, &rows) ? (a ? SKIPPED : PASSED) : FAILED;
		if (v == SKIPPED && !chunk)
			LMD_SKIP(name, "%s", a->why);
	} else if (st == LMD_NOTFOUND) { /* no plugin has this architecture */
		v = SKIPPED;
		if (!chunk)
			LMD_SKIP(name, "%s", err.text);
	} else {
		v = FAILED;
		printf("FAIL: %s, %s: %s: %s\n", name, batching, lmd_status_text(st), err.text);
	}
	lmi_free(rows.v);
	free_input(&in);
	return v;
}

static bool wanted(const char *name)
{
	const char *only = getenv("LMD_TEST_CASES"); /* comma-separated names */
	size_t n = strlen(name);

	for (const char *p = only; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == n && !strncmp(p, name, n))
			return true;
	return !only;
}

static json_t *load(const char *dir, const char *file)
{
	char path[4096];
	json_error_t err;
	json_t *j;

	snprintf(path, sizeof(path), "%s/arch/%s", dir, file);
	j = json_load_file(path, 0, &err);
	ck_assert_msg(j != NULL, "%s: %s", path, err.text);
	return j;
}

/* ---- all cases ---- */

struct pack {
	const char *dir, *models;
	struct lmt_env env;
};

/* Runs a case and counts its verdicts. e: what is expected. */
typedef void (*case_fn)(const struct pack *p, const char *name, const json_t *c, const json_t *e,
			uint32_t n[3]);

static void run_cases(const char *what, case_fn run)
{
	struct pack p = {.dir = lmd_parity_dir(), .models = lmt_parity_models()};
	uint32_t n[3] = {0};
	struct lmd_error err;
	json_t *archs, *index, *c;
	size_t i;

	if (!p.models) {
		LMD_SKIP(what, "no parity pack, or no Python to make its models");
		return;
	}
	ck_assert_msg(lmt_env_init(&p.env, &err) == LMD_OK, "%s", err.text);
	archs = load(p.dir, "archs.json");
	index = load(p.dir, "expected/index.json");
	json_array_foreach(json_object_get(archs, "cases"), i, c)
	{
		const char *name = json_string_value(json_object_get(c, "name"));

		if (wanted(name))
			run(&p, name, c, json_object_get(index, name), n);
	}
	json_decref(index);
	json_decref(archs);
	lmt_env_fini(&p.env);
	LMD_CASES(what, n[PASSED], n[FAILED], n[SKIPPED]);
	ck_assert_uint_eq(n[FAILED], 0);
}

static void on_one_device(const struct pack *p, const char *name, const json_t *c, const json_t *e,
			  uint32_t n[3])
{
	bool by_step = json_object_get(c, "first") != NULL; /* token by token only */
	size_t n_chunk = lmd_long() && !by_step ? LMD_LEN(chunks) : 1;

	(void)name;
	if (!by_step)
		n[run_one(&p->env, p->dir, p->models, c, e, 0)]++;
	if (!is_mode(c, "logits") && !is_mode(c, "encdec"))
		return;
	for (size_t k = 0; k < n_chunk; k++)
		n[run_one(&p->env, p->dir, p->models, c, e, chunks[k])]++;
}

START_TEST(architectures)
{
	run_cases("architectures", on_one_device);
}
END_TEST

/* ---- several devices ---- */

/* One for each kind of memory and flow of values: full, windowed and chunked attention, shared and
 * compressed keys, states of several kinds, both of them, experts, encoders, parallel blocks, external
 * rows.  Long runs use all. */
static const char *const divided[] = {
	"llama-untied", "mixtral", "deci-per-layer", "granite_swa", "gemma2", "gemma3n",
	"gemma4", "llama4", "gpt-oss", "deepseek2", "deepseek32", "deepseek4", "minimax-m3",
	"mamba", "mamba2", "rwkv7", "jamba", "falcon-h1", "lfm2", "qwen3next", "kimi-linear",
	"bert-mean", "t5", "qwen2vl-image", "falcon-7b",
};

static bool is_divided(const char *name)
{
	for (size_t i = 0; i < LMD_LEN(divided); i++)
		if (!strcmp(divided[i], name))
			return true;
	return lmd_long();
}

/* Evaluates a case on a device or several ones; split: how the model is divided, or NULL. */
static enum lmd_status run_on(const struct lmt_env *env, const char *models, const json_t *c,
			      const char *devices, const char *split, const char *settings,
			      struct lmt_rows *rows, struct lmd_error *err)
{
	char path[4096] = "";
	struct lmi_engine_opts o = lmt_opts(env, path);
	struct lmi_engine_eval cmd;
	struct input in;
	enum lmd_status st;

	snprintf(path, sizeof(path), "%s/%s.gguf", models,
		 json_string_value(json_object_get(c, "name")));
	ck_assert_int_eq(setenv("LLAMAD_EMU", settings, 1), 0);
	read_input(&in, c, models);
	cmd = command(c, &in, is_mode(c, "logits") || is_mode(c, "encdec") ? 3 : 0);
	o.inst.device_list = devices;
	o.inst.split = split;
	set_options(&o.inst, c, &in, &cmd);
	*rows = (struct lmt_rows){0};
	st = lmt_eval_once(&o, &cmd, rows, err);
	free_input(&in);
	return st;
}

static bool same_bits(const struct lmt_rows *want, const struct lmt_rows *have)
{
	return have->n_row == want->n_row &&
	       !memcmp(have->v, want->v, (size_t)want->n_row * want->width * sizeof(float));
}

/* Runs a case on ref, on one emulated device and on several ones; the bits must be the same. Long runs have a
 * third device, so that a segment gets values from two others. */
static enum verdict compare_devices(const struct lmt_env *env, const char *models, const json_t *c)
{
	static const struct {
		const char *devices, *settings;
	} ways[] = {
		{"emu0", "late=1,seed=1"},
		{"emu0,emu1", "devices=2,late=1,seed=2"},
		{"emu0,emu1", "devices=2,late=1,peer=0,buckets=1"},
		{"emu0,emu1,emu2", "devices=3,late=1,seed=4"},
	};
	const size_t n_way = lmd_long() ? LMD_LEN(ways) : LMD_LEN(ways) - 1;
	const char *name = json_string_value(json_object_get(c, "name"));
	struct lmt_rows want, have;
	struct lmd_error err = {0};
	enum lmd_status st = run_on(env, models, c, "ref0", NULL, "", &want, &err);
	enum verdict v = PASSED;

	if (st != LMD_OK) {
		LMD_SKIP(name, "%s", err.text);
		return SKIPPED;
	}
	for (size_t i = 0; i < n_way; i++) {
		st = run_on(env, models, c, ways[i].devices, NULL, ways[i].settings, &have,
			    &err);
		if (st != LMD_OK || !same_bits(&want, &have)) {
			printf("FAIL: %s on %s, %s: %s\n", name, ways[i].devices,
			       ways[i].settings, st == LMD_OK ? "other bits" : err.text);
			v = FAILED;
		}
		lmi_free(have.v);
	}
	lmi_free(want.v);
	return v;
}

/* ---- tensor parallelism ---- */

/* One for each way to divide a model: heads that share keys or not, fused and separate matrices, norms
 * of heads and of all columns, biases, ALiBi, windows, gates, parallel blocks, experts with and without
 * shared ones, layers of other kinds between those of attention, many layers, encoders.  Long runs use
 * all. */
static const char *const by_tensor[] = {
	"llama-untied", "llama-fused-qkv-bias", "baichuan-13b", "deci-per-layer", "granite_swa", "chatglm",
	"phi3", "olmo2", "gemma2", "gemma4", "command-r-plus", "stablelm-qknorm", "gpt2", "mpt",
	"mixtral", "grovemoe", "llama4", "qwen2moe", "deepseek2-lite", "falcon-h1", "qwen3next", "llama-embed",
};

static bool is_by_tensor(const char *name)
{
	for (size_t i = 0; i < LMD_LEN(by_tensor); i++)
		if (!strcmp(by_tensor[i], name))
			return true;
	return lmd_long();
}

/* Divided in four parts, a case gives the same bits on one, two and four devices; divided in as many
 * parts as devices, what the other implementation gives. */
static enum verdict compare_ranks(const struct lmt_env *env, const char *dir, const char *models,
				  const json_t *c, const json_t *e)
{
	static const struct {
		const char *devices, *split, *settings;
	} ways[] = {
		{"emu0", "tensor:4", "late=1,seed=1"},
		{"emu0,emu1", "tensor:4", "devices=2,late=1,seed=2"},
		{"emu0,emu1,emu2,emu3", "tensor:4", "devices=4,late=1,seed=3,peer=0,buckets=1"},
		{"emu0,emu1", "tensor", "devices=2,late=1,seed=4"},
	};
	const char *name = json_string_value(json_object_get(c, "name"));
	struct lmt_rows want, have;
	struct lmd_error err = {0};
	enum lmd_status st = run_on(env, models, c, "ref0", "tensor:4", "", &want, &err);
	enum verdict v = PASSED;

	if (st == LMD_UNSUPPORTED || st == LMD_NOTFOUND) {
		LMD_SKIP(name, "%s", err.text);
		return SKIPPED;
	}
	if (st != LMD_OK) {
		printf("FAIL: %s in four parts: %s\n", name, err.text);
		return FAILED;
	}
	for (size_t i = 0; i < LMD_LEN(ways); i++) {
		bool same = !strcmp(ways[i].split, "tensor:4");

		st = run_on(env, models, c, ways[i].devices, ways[i].split, ways[i].settings,
			    &have, &err);
		if (st != LMD_OK || have.n_row != want.n_row || (same && !same_bits(&want, &have))) {
			printf("FAIL: %s on %s, %s: %s\n", name, ways[i].devices, ways[i].split,
			       st == LMD_OK ? "other bits" : err.text);
			v = FAILED;
		} else if (!same && !judge(dir, name, "two ranks", e, &have)) {
			v = FAILED;
		}
		lmi_free(have.v);
	}
	if (!judge(dir, name, "four ranks", e, &want))
		v = FAILED;
	lmi_free(want.v);
	return v;
}

static void by_ranks(const struct pack *p, const char *name, const json_t *c, const json_t *e,
		     uint32_t n[3])
{
	if (is_by_tensor(name) && !json_object_get(c, "first"))
		n[compare_ranks(&p->env, p->dir, p->models, c, e)]++;
}

START_TEST(architectures_by_tensors)
{
	run_cases("tensor parallelism", by_ranks);
}
END_TEST

static void on_devices(const struct pack *p, const char *name, const json_t *c, const json_t *e,
		       uint32_t n[3])
{
	(void)e;
	if (is_divided(name))
		n[compare_devices(&p->env, p->models, c)]++;
}

START_TEST(architectures_on_several_devices)
{
	run_cases("several devices", on_devices);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("parity: architectures");
	TCase *t = tcase_create("architectures");

	tcase_set_timeout(t, 900);
	tcase_add_test(t, architectures);
	suite_add_tcase(s, t);
	t = tcase_create("devices");
	tcase_set_timeout(t, 1200);
	tcase_add_test(t, architectures_on_several_devices);
	suite_add_tcase(s, t);
	t = tcase_create("tensors");
	tcase_set_timeout(t, 1200);
	tcase_add_test(t, architectures_by_tensors);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}

/* SPDX-License-Identifier: MIT
 *
 * Tests every parity case of a supported architecture: a model with the keys and tensors of the
 * case (with data only for short vectors) is described, its tensors are compared with the
 * architecture's tables, and all kinds of plans are built, checked, lowered and laid out.  Keys
 * that are missing, absurd or of the wrong type must be rejected with a message that names them. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/format/format.h"
#include "core/model/model.h"
#include "core/plan/model_check.h"
#include "core/plan/plan.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "tests/lmd_check.h"

static struct lmd_host *host;
static struct lmi_plugin_registry *registry;
static json_t *pack;
static float ones[1 << 14];

/* ---- a model of a case ---- */

static const char *keep(struct lmi_model *m, const char *s)
{
	return lmi_arena_strndup(m->arena, s, strlen(s));
}

static void set_array(struct lmi_model *m, struct lmd_meta *v, const json_t *a)
{
	const json_t *first = json_array_get(a, 0);
	size_t n = json_array_size(a);
	int64_t *ints = lmi_arena_array(m->arena, n + 1, sizeof(*ints));
	double *reals = (double *)ints;
	struct lmd_str *strs = lmi_arena_array(m->arena, n + 1, sizeof(*strs));
	uint8_t *bools = (uint8_t *)ints;

	v->n = n;
	v->v.a = ints;
	v->type = LMD_META_ARR_I64;
	if (json_is_boolean(first))
		v->type = LMD_META_ARR_BOOL;
	else if (json_is_real(first))
		v->type = LMD_META_ARR_F64;
	else if (json_is_string(first))
		v->type = LMD_META_ARR_STR;
	for (size_t i = 0; i < n; i++) {
		const json_t *e = json_array_get(a, i);

		if (v->type == LMD_META_ARR_BOOL) {
			bools[i] = json_is_true(e);
		} else if (v->type == LMD_META_ARR_F64) {
			reals[i] = json_number_value(e);
		} else if (v->type == LMD_META_ARR_STR) {
			strs[i].ptr = keep(m, json_string_value(e));
			strs[i].len = strlen(strs[i].ptr);
		} else {
			ints[i] = json_integer_value(e);
		}
	}
	if (v->type == LMD_META_ARR_STR)
		v->v.a = strs;
}

static void add_key(struct lmi_model *m, const char *key, const json_t *val)
{
	struct lmd_meta v = {.key = keep(m, key), .n = 1};

	if (json_is_array(val)) {
		set_array(m, &v, val);
	} else if (json_is_boolean(val)) {
		v.type = LMD_META_BOOL;
		v.v.i = json_is_true(val);
	} else if (json_is_integer(val)) {
		v.type = LMD_META_I64;
		v.v.i = json_integer_value(val);
	} else if (json_is_real(val)) {
		v.type = LMD_META_F64;
		v.v.f = json_real_value(val);
	} else {
		v.type = LMD_META_STR;
		v.v.s.ptr = keep(m, json_string_value(val));
		v.v.s.len = strlen(v.v.s.ptr);
	}
	ck_assert_int_eq(lmi_model_add_meta(m, &v, NULL), LMD_OK);
}

static void add_tensor(struct lmi_model *m, const json_t *t)
{
	const json_t *dims = json_array_get(t, 1), *init = json_array_get(t, 2);
	struct lmd_tensor v = {.name = keep(m, json_string_value(json_array_get(t, 0)))};
	int64_t n = 1;

	v.n_dim = (uint32_t)json_array_size(dims);
	for (uint32_t i = 0; i < LMD_MAX_DIMS; i++) {
		v.dims[i] = i < v.n_dim ? json_integer_value(json_array_get(dims, i)) : 1;
		n *= v.dims[i];
	}
	v.dtype = strcmp(json_string_value(json_array_get(init, 0)), "int") ? LMD_DTYPE_F32
									      : LMD_DTYPE_I32;
	v.bytes = (uint64_t)n * 4;
	if (v.dtype == LMD_DTYPE_F32 && n <= (int64_t)LMD_LEN(ones))
		v.data = ones;
	ck_assert_int_eq(lmi_model_add_tensor(m, &v, NULL), LMD_OK);
}

/* Makes the model of a case.  changed: a key to set to `value`, or to omit if that is JSON null;
 * may be NULL. */
static struct lmi_model *make_model(const json_t *c, const char *changed, const json_t *value)
{
	const json_t *meta = json_object_get(c, "meta"), *tensors = json_object_get(c, "tensors");
	struct lmi_model *m = lmi_model_create(LMI_MODEL_HEAP_BYTES);
	size_t i;
	const json_t *e;

	ck_assert_ptr_nonnull(m);
	ck_assert_int_eq(lmi_model_reserve_meta(m, (uint32_t)json_array_size(meta) + 1, NULL),
			 LMD_OK);
	ck_assert_int_eq(lmi_model_reserve_tensors(m, (uint32_t)json_array_size(tensors), NULL),
			 LMD_OK);
	m->view.arch = keep(m, json_string_value(json_object_get(c, "arch")));
	m->view.name = keep(m, json_string_value(json_object_get(c, "name")));
	json_array_foreach(meta, i, e) {
		const char *key = json_string_value(json_array_get(e, 0));

		if (!changed || strcmp(key, changed))
			add_key(m, key, json_array_get(e, 2));
		if (!strcmp(key, "tokenizer.ggml.token_type_count"))
			m->tok.n_token_types =
				(uint32_t)json_integer_value(json_array_get(e, 2));
	}
	if (changed && value && !json_is_null(value))
		add_key(m, changed, value);
	json_array_foreach(tensors, i, e)
		add_tensor(m, e);
	return m;
}

/* ---- tables against tensors ---- */

/* Checks that the architecture reads every tensor, that each has the expected shape, and that none
 * is missing.  Tensors of draft layers are ignored. */
static bool check_tensors(const struct lmd_arch_ops *ops, const struct lmd_arch_desc *d,
			  const struct lmd_model *m)
{
	struct lmi_plan_model_check c = {0};
	struct lmd_error err = {0};
	char have[96], want[96];
	bool ok = true;

	if (lmi_plan_model_check(&c, m, ops, d, &err) != LMD_OK) {
		printf("  %s\n", err.text);
		return false;
	}
	for (uint32_t i = 0; i < c.n; i++) {
		const struct lmi_plan_model_tensor *f = &c.tensors[i];

		if (f->match == LMI_PLAN_TENSOR_USED || f->match == LMI_PLAN_TENSOR_AFTER_TRUNK)
			continue;
		printf("  %s: %s, %s, expected %s\n", f->name, lmi_plan_tensor_match_text(f->match),
		       f->tensor ? lmi_plan_dims_text(have, sizeof(have), f->tensor->dims,
						      f->tensor->n_dim)
				 : "not there",
		       lmi_plan_dims_text(want, sizeof(want), f->expected, f->n_expected));
		ok = false;
	}
	lmi_plan_model_check_fini(&c);
	return ok;
}

/* ---- plans ---- */

static bool plan(const struct lmd_arch_ops *ops, const struct lmd_arch_desc *d,
		 const struct lmd_model *m, const struct lmd_plan_key *key, bool dump)
{
	struct lmi_plan_params p = {
		.host = host, .model = m, .arch = ops, .desc = d, .key = *key,
		.act_dtype = LMD_DTYPE_F32, .k_dtype = LMD_DTYPE_F32,
		.v_dtype = LMD_DTYPE_F32};
	struct lmd_error err = {0};
	struct lmi_plan *out = NULL;
	enum lmd_status st;

	for (int i = 0; i < LMD_N_SPACE; i++)
		p.max_rows[i] = 64;
	st = lmi_plan_build(&out, &p, &err);
	if (st == LMD_OK && dump)
		(void)lmi_plan_dump(out, stdout);
	if (st == LMD_OK && (key->flags & LMD_PLAN_KEEP))
		st = lmi_plan_lower_all(out, &err);
	if (st == LMD_OK)
		st = lmi_plan_layout(out, &err);
	if (st != LMD_OK)
		printf("  plan kind %u flags %u pooling %d variant %u: %s\n", key->kind, key->flags,
		       key->pooling, key->variant, err.text);
	lmi_plan_destroy(out);
	return st == LMD_OK;
}

static bool all_plans(const struct lmd_arch_ops *ops, const struct lmd_arch_desc *d,
		      const struct lmd_model *m)
{
	const char *want = getenv("LMD_TEST_DUMP");
	bool dump = want && !strcmp(want, m->name), ok = true;
	uint32_t kind = d->driver == LMD_DRIVER_ENCDEC ? LMD_PLAN_ENCODE : LMD_PLAN_FORWARD;
	struct lmd_plan_key key = {.struct_size = sizeof(key), .kind = kind, .pooling = -1};

	for (uint32_t v = 0; v < d->n_variant; v++) {
		key.variant = v;
		key.kind = LMD_PLAN_FORWARD;
		key.pooling = LMD_POOL_UNSET;
		if (d->driver != LMD_DRIVER_ENCODER && d->driver != LMD_DRIVER_CODEC) {
			key.flags = LMD_PLAN_LOGITS;
			ok &= plan(ops, d, m, &key, dump);
			key.flags = LMD_PLAN_LOGITS | LMD_PLAN_LORA | LMD_PLAN_KEEP;
			ok &= plan(ops, d, m, &key, false);
		}
		if (d->driver == LMD_DRIVER_ENCDEC) {
			key.kind = LMD_PLAN_ENCODE;
			key.flags = 0;
			ok &= plan(ops, d, m, &key, dump);
			continue;
		}
		key.flags = LMD_PLAN_EMBED;
		for (int32_t p = LMD_POOL_NONE; p <= LMD_POOL_RANK; p++) {
			key.pooling = p;
			if (p != LMD_POOL_RANK || d->pooling == p)
				ok &= plan(ops, d, m, &key, dump && p == d->pooling);
		}
	}
	return ok;
}

static bool run_case(const json_t *c, const struct lmi_factory *f)
{
	struct lmi_model *m = make_model(c, NULL, NULL);
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmd_arch_desc d = {.struct_size = sizeof(d)};
	struct lmd_arch_params p = {
		.struct_size = sizeof(p), .pooling = LMD_POOL_UNSET,
		.n_ctx = (uint32_t)json_integer_value(json_object_get(c, "n_ctx"))};
	struct lmd_error err = {0};
	bool ok = false;

	if (f->ops.arch->describe(host, arena, &m->view, &p, &d, &err) != LMD_OK)
		printf("  describe: %s\n", err.text);
	else
		ok = check_tensors(f->ops.arch, &d, &m->view) &&
		     all_plans(f->ops.arch, &d, &m->view);
	lmi_arena_destroy(arena);
	lmi_model_close(m);
	return ok;
}

START_TEST(parity_cases_build)
{
	json_t *cases = json_object_get(pack, "cases"), *c;
	const char *only = getenv("LMD_TEST_CASE");
	unsigned passed = 0, failed = 0, skipped = 0;
	size_t i;

	json_array_foreach(cases, i, c) {
		const char *name = json_string_value(json_object_get(c, "name"));
		const char *arch = json_string_value(json_object_get(c, "arch"));
		const struct lmi_factory *f = NULL;

		if (only && strcmp(only, name))
			continue;
		if (lmi_factory_take(registry, LMD_KIND_ARCH, arch, &f, NULL) != LMD_OK) {
			skipped++;
			continue;
		}
		if (run_case(c, f)) {
			passed++;
		} else {
			printf("FAIL: %s\n", name);
			failed++;
		}
		lmi_factory_give(registry, f);
	}
	LMD_CASES("arch_test", passed, failed, skipped);
	ck_assert_uint_eq(failed, 0);
	ck_assert_uint_gt(passed, 0);
}
END_TEST

/* ---- types that a quantiser leaves ---- */

/* Parts of names: small matrices whose rounding costs much quality for few bytes, tables of numbers. */
static const char *const kept[] = {
	"ffn_gate_tid2eid", "altup", "laurel", "per_layer_model_proj", "ssm_conv1d", "shortconv.conv",
	"indexer.k_proj", "indexer.q_proj", "time_mix_first", "time_mix_w0", "time_mix_w1",
	"time_mix_w2", "time_mix_v0", "time_mix_v1", "time_mix_v2", "time_mix_a0", "time_mix_a1",
	"time_mix_a2", "time_mix_g1", "time_mix_g2", "time_mix_decay_w1", "time_mix_decay_w2",
	"time_mix_lerp_fused", "attn_rel_b",
};

static bool is_kept(const char *stem)
{
	for (size_t i = 0; i < LMD_LEN(kept); i++)
		if (strstr(stem, kept[i]))
			return true;
	return false;
}

/* Returns the number of rows with the flag; prints those where it is wrong. */
static uint32_t check_kept(const char *arch, const struct lmd_arch_ops *ops, bool *ok)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < ops->n_sets; s++) {
		for (uint32_t i = 0; i < ops->sets[s].n_rows; i++) {
			const struct lmd_tensor_row *r = &ops->sets[s].rows[i];
			bool flag = r->flags & LMD_TENSOR_KEEP_TYPE;

			n += flag;
			if (!r->stem || flag == is_kept(r->stem))
				continue;
			printf("FAIL: %s: %s %s LMD_TENSOR_KEEP_TYPE\n", arch, r->stem,
			       flag ? "has" : "lacks");
			*ok = false;
		}
	}
	return n;
}

START_TEST(small_matrices_keep_their_type)
{
	json_t *c;
	uint32_t n = 0;
	bool ok = true;
	size_t i;

	json_array_foreach(json_object_get(pack, "cases"), i, c) {
		const char *arch = json_string_value(json_object_get(c, "arch"));
		const struct lmi_factory *f = NULL;

		if (lmi_factory_take(registry, LMD_KIND_ARCH, arch, &f, NULL) != LMD_OK)
			continue;
		n += check_kept(arch, f->ops.arch, &ok);
		lmi_factory_give(registry, f);
	}
	ck_assert(ok);
	ck_assert_uint_gt(n, 0);
}
END_TEST

/* ---- keys out of bounds ---- */

static const json_t *case_named(const char *name)
{
	json_t *c;
	size_t i;

	json_array_foreach(json_object_get(pack, "cases"), i, c) {
		if (!strcmp(json_string_value(json_object_get(c, "name")), name))
			return c;
	}
	return NULL;
}

static void refused(const char *key, json_t *value, enum lmd_status want)
{
	const json_t *c = case_named("mixtral");
	struct lmi_model *m = make_model(c, key, value);
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmd_arch_desc d = {.struct_size = sizeof(d)};
	struct lmd_error err = {0};
	const struct lmi_factory *f;

	ck_assert_int_eq(lmi_factory_take(registry, LMD_KIND_ARCH, "llama", &f, NULL), LMD_OK);
	ck_assert_msg((int)f->ops.arch->describe(host, arena, &m->view, NULL, &d, &err) ==
			      (int)want,
		      "%s: %s", key, err.text);
	ck_assert_msg(strstr(err.text, key) != NULL, "message does not name %s: %s", key, err.text);
	lmi_factory_give(registry, f);
	lmi_arena_destroy(arena);
	lmi_model_close(m);
	json_decref(value);
}

START_TEST(odd_keys_are_refused_by_name)
{
	refused("llama.block_count", json_null(), LMD_NOTFOUND);
	refused("llama.block_count", json_integer(0), LMD_INVALID);
	refused("llama.block_count", json_integer(1025), LMD_INVALID);
	refused("llama.block_count", json_string("3"), LMD_INVALID);
	refused("llama.embedding_length", json_integer(-1), LMD_INVALID);
	refused("llama.attention.head_count", json_null(), LMD_NOTFOUND);
	refused("llama.attention.head_count", json_integer(0), LMD_INVALID);
	refused("llama.attention.head_count", json_integer(100000), LMD_INVALID);
	refused("llama.attention.head_count", json_pack("[i,i]", 4, 4), LMD_INVALID);
	refused("llama.attention.head_count_kv", json_integer(3), LMD_INVALID);
	refused("llama.attention.layer_norm_rms_epsilon", json_null(), LMD_NOTFOUND);
	refused("llama.attention.layer_norm_rms_epsilon", json_real(2.0), LMD_INVALID);
	refused("llama.expert_count", json_integer(1025), LMD_INVALID);
	refused("llama.expert_used_count", json_integer(5), LMD_INVALID);
	refused("llama.expert_used_count", json_null(), LMD_NOTFOUND);
	refused("llama.rope.dimension_count", json_integer(17), LMD_INVALID);
	refused("llama.rope.freq_base", json_real(0.0), LMD_INVALID);
	refused("llama.rope.scaling.type", json_string("banana"), LMD_UNSUPPORTED);
	refused("llama.feed_forward_length", json_pack("[i]", 96), LMD_INVALID);
	refused("llama.pooling_type", json_integer(9), LMD_INVALID);
}
END_TEST

/* ---- hostile keys ---- */

/* Describes the model and, if that succeeds, builds plans.  Any result is correct, but an error
 * must have a message. */
static void try_model(const json_t *c, const struct lmi_factory *f, const char *key,
		      const json_t *value)
{
	struct lmi_model *m = make_model(c, key, value);
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmd_arch_desc d = {.struct_size = sizeof(d)};
	struct lmi_plan_params p = {
		.host = host, .model = &m->view, .arch = f->ops.arch, .desc = &d,
		.act_dtype = LMD_DTYPE_F32, .k_dtype = LMD_DTYPE_F32,
		.v_dtype = LMD_DTYPE_F32,
		.key = {.struct_size = sizeof(p.key), .pooling = LMD_POOL_UNSET,
			.flags = LMD_PLAN_LOGITS}};
	struct lmd_error err = {0};
	struct lmi_plan *out = NULL;
	enum lmd_status st = f->ops.arch->describe(host, arena, &m->view, NULL, &d, &err);

	for (int s = 0; s < LMD_N_SPACE; s++)
		p.max_rows[s] = 8;
	if (st == LMD_OK)
		st = lmi_plan_build(&out, &p, &err);
	ck_assert_msg(st == LMD_OK || err.text[0], "%s: %s fails without an error message",
		      m->view.name, key);
	lmi_plan_destroy(out);
	lmi_arena_destroy(arena);
	lmi_model_close(m);
}

/* Replaces each key of the first case of every architecture by invalid values. */
START_TEST(hostile_keys_do_no_harm)
{
	static const char *const values[] = {
		"null", "0", "1", "-1", "7", "1024", "4294967295", "9223372036854775807", "0.0",
		"1e300", "-1e-300", "true", "\"\"", "\"x\"", "[]", "[0]", "[1,2,3]", "[-1,0]",
		"[true]", "[\"a\"]",
		"[1e30,1e30,1e30,1e30,1e30,1e30,1e30,1e30]", "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"};
	json_t *cases = json_object_get(pack, "cases"), *c, *e;
	char last[64] = "";
	unsigned n = 0;
	size_t i, j;

	json_array_foreach(cases, i, c) {
		const char *arch = json_string_value(json_object_get(c, "arch"));
		const struct lmi_factory *f;

		if (!strcmp(arch, last) || json_array_size(json_object_get(c, "tensors")) > 250)
			continue;
		snprintf(last, sizeof(last), "%s", arch);
		if (lmi_factory_take(registry, LMD_KIND_ARCH, arch, &f, NULL) != LMD_OK)
			continue;
		json_array_foreach(json_object_get(c, "meta"), j, e) {
			const char *key = json_string_value(json_array_get(e, 0));

			for (size_t v = 0; v < LMD_LEN(values); v++, n++) {
				json_t *value = json_loads(values[v], JSON_DECODE_ANY, NULL);

				ck_assert_ptr_nonnull(value);
				try_model(c, f, key, value);
				json_decref(value);
			}
		}
		lmi_factory_give(registry, f);
	}
	ck_assert_uint_gt(n, 1000);
}
END_TEST

/* Old files have one tensor per expert. */
START_TEST(one_tensor_per_expert)
{
	static const char *const names[] = {"gate", "up", "down"};
	json_t *c = json_deep_copy(case_named("granitemoe-split")), *t;
	json_t *tensors = json_object_get(c, "tensors"), *split = json_array();
	const struct lmi_factory *f;
	size_t i;

	json_array_foreach(tensors, i, t) {
		const char *name = json_string_value(json_array_get(t, 0));
		const json_t *dims = json_array_get(t, 1);
		int il, which = -1;
		char part[8];

		if (strstr(name, "_exps.weight") &&
		    sscanf(name, "blk.%d.ffn_%7[a-z]", &il, part) == 2) {
			for (int k = 0; k < 3; k++)
				which = strcmp(part, names[k]) ? which : k;
		}
		if (which < 0) {
			json_array_append(split, t);
			continue;
		}
		for (int e = 0; e < (int)json_integer_value(json_array_get(dims, 2)); e++) {
			char one[64];

			snprintf(one, sizeof(one), "blk.%d.ffn_%s.%d.weight", il, part, e);
			json_array_append_new(
				split, json_pack("[s,[O,O],O]", one, json_array_get(dims, 0),
						 json_array_get(dims, 1), json_array_get(t, 2)));
		}
	}
	json_object_set_new(c, "tensors", split);
	ck_assert_int_eq(lmi_factory_take(registry, LMD_KIND_ARCH, "granitemoe", &f, NULL), LMD_OK);
	ck_assert(run_case(c, f));
	lmi_factory_give(registry, f);
	json_decref(c);
}
END_TEST

/* ---- a model without the tensors ---- */

START_TEST(missing_tensor_is_named)
{
	json_t *c = json_deep_copy(case_named("llama-tied"));
	json_t *tensors = json_object_get(c, "tensors"), *t;
	struct lmd_plan_key key = {.struct_size = sizeof(key), .flags = LMD_PLAN_LOGITS};
	struct lmd_arch_desc d = {.struct_size = sizeof(d)};
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_plan_params p = {.host = host, .act_dtype = LMD_DTYPE_F32};
	struct lmd_error err = {0};
	const struct lmi_factory *f;
	struct lmi_plan *out = NULL;
	struct lmi_model *m;
	size_t i;

	json_array_foreach(tensors, i, t) {
		if (!strcmp(json_string_value(json_array_get(t, 0)), "blk.1.ffn_up.weight")) {
			json_array_remove(tensors, i);
			break;
		}
	}
	m = make_model(c, NULL, NULL);
	ck_assert_int_eq(lmi_factory_take(registry, LMD_KIND_ARCH, "llama", &f, NULL), LMD_OK);
	ck_assert_int_eq(f->ops.arch->describe(host, arena, &m->view, NULL, &d, &err), LMD_OK);
	p.model = &m->view;
	p.arch = f->ops.arch;
	p.desc = &d;
	p.key = key;
	for (int s = 0; s < LMD_N_SPACE; s++)
		p.max_rows[s] = 8;
	ck_assert_int_eq(lmi_plan_build(&out, &p, &err), LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "blk.1.ffn_up.weight"));
	lmi_factory_give(registry, f);
	lmi_arena_destroy(arena);
	lmi_model_close(m);
	json_decref(c);
}
END_TEST

/* Opens all families that were built. */
static void open_registry(void)
{
	char dir[512];
	const char *dirs[] = {dir};
	struct lmi_plugin_registry_opts o = {
		.dirs = dirs, .n_dirs = 1, .no_default_dirs = true, .host = host};
	struct lmd_error err = {0};

	snprintf(dir, sizeof(dir), "%s/plugins/.libs", lmd_build_dir());
	ck_assert_msg(lmi_plugin_registry_create(&registry, &o, &err) == LMD_OK, "%s", err.text);
}

static void setup(void)
{
	char path[512];
	const char *dir = lmd_parity_dir();

	for (size_t i = 0; i < LMD_LEN(ones); i++)
		ones[i] = 1.0f;
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	open_registry();
	snprintf(path, sizeof(path), "%s/arch/archs.json", dir ? dir : "");
	pack = json_load_file(path, 0, NULL);
	ck_assert_msg(pack != NULL, "cannot read %s", path);
}

static void teardown(void)
{
	json_decref(pack);
	lmi_plugin_registry_destroy(registry);
	lmi_host_destroy(host);
}

int main(void)
{
	Suite *s = suite_create("arch");
	TCase *t = tcase_create("cases");
	SRunner *r;

	if (!lmd_parity_dir()) {
		LMD_SKIP("arch_test", "no parity pack (LLAMAD_PARITY_DIR)");
		return 77;
	}
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, parity_cases_build);
	tcase_add_test(t, small_matrices_keep_their_type);
	tcase_add_test(t, odd_keys_are_refused_by_name);
	tcase_add_test(t, hostile_keys_do_no_harm);
	tcase_add_test(t, one_tensor_per_expert);
	tcase_add_test(t, missing_tensor_is_named);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	return lmd_check_run(r);
}

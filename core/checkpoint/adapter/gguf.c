/* SPDX-License-Identifier: MIT
 *
 * Reads adapters from GGUF files: for a tensor NAME [k, n] of the model, the tensors NAME.lora_a
 * [k, rank] and NAME.lora_b [rank, n].  For embeddings both are transposed: NAME.lora_a [rank,
 * tokens], NAME.lora_b [rank, width].  Control vectors are tensors direction.N [width], which are
 * added to the output of layer N. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/checkpoint/adapter/adapter_impl.h"
#include "core/checkpoint/open.h"
#include "core/quant/quant.h"

#define ALPHA_MAX 1e9
#define TAIL_A ".weight.lora_a"
#define TAIL_B ".weight.lora_b"

static bool text_is(const struct lmd_model *m, const char *key, const char *text)
{
	const struct lmd_meta *v = m->find_meta(m, key);

	return v && v->type == LMD_META_STR && v->v.s.len == strlen(text) &&
	       !memcmp(v->v.s.ptr, text, v->v.s.len);
}

enum lmd_status lmi_adapter_read_values(const struct lmi_model *m, const struct lmd_tensor *t,
					float **out, struct lmd_error *err)
{
	const struct lmi_dtype *type = lmi_dtype(t->dtype);
	uint64_t n = 1;
	enum lmd_status st;
	void *raw;

	for (uint32_t i = 0; i < t->n_dim; i++)
		n *= (uint64_t)t->dims[i]; /* less than the file size, checked by the reader */
	if (!type->dequant)
		return lmd_fail(err, LMD_UNSUPPORTED, "tensor %s: type %s cannot be decoded",
				t->name, type->name);
	raw = lmi_alloc((size_t)t->bytes, 1);
	*out = lmi_alloc((size_t)n, sizeof(**out));
	st = raw && *out ? lmi_model_read(m, t, 0, raw, (size_t)t->bytes, err)
			 : lmd_fail(err, LMD_NOMEM, "tensor %s: no memory for its values", t->name);
	if (st == LMD_OK)
		lmi_quant_dequant_rows(type, raw, *out, (size_t)t->dims[0],
				       (size_t)(n / (uint64_t)t->dims[0]));
	lmi_free(raw);
	if (st != LMD_OK) {
		lmi_free(*out);
		*out = NULL;
	}
	return st;
}

static enum lmd_status shape_error(const struct lmd_tensor *a, const struct lmd_tensor *b,
				   const struct lmd_tensor *base, struct lmd_error *err)
{
	return lmd_fail(err, LMD_INVALID,
			"tensor %s [%lld, %lld] with lora_b [%lld, %lld] does not fit %s [%lld, "
			"%lld]",
			a->name, (long long)a->dims[0], (long long)a->dims[1],
			(long long)b->dims[0], (long long)b->dims[1], base->name,
			(long long)base->dims[0], (long long)base->dims[1]);
}

static enum lmd_status read_pair(struct lmi_adapter_file *f, const struct lmi_model *m,
				 const struct lmd_tensor *a, const struct lmd_tensor *b,
				 const char *site, double alpha, struct lmd_error *err)
{
	const struct lmd_tensor *base = lmi_adapter_find_base(f, site, a->name, err);
	bool embd = !strcmp(site, "token_embd");
	int64_t rank = embd ? a->dims[0] : a->dims[1], slices = a->dims[2];
	struct lmi_adapter_pair *p;
	float *va = NULL, *vb = NULL;
	enum lmd_status st;

	if (!base)
		return LMD_NOTFOUND;
	if (a->n_dim > 3 || b->n_dim > 3 || slices != b->dims[2] || slices != base->dims[2] ||
	    rank != b->dims[0] ||
	    (embd ? a->dims[1] != base->dims[1] || b->dims[1] != base->dims[0]
		  : a->dims[0] != base->dims[0] || b->dims[1] != base->dims[1]))
		return shape_error(a, b, base, err);
	if (rank > LMI_ADAPTER_MAX_RANK)
		return lmd_fail(err, LMD_INVALID,
				"tensor %s: rank %lld, must be at most %u", a->name,
				(long long)rank, LMI_ADAPTER_MAX_RANK);
	st = f->sizes_only ? LMD_OK : lmi_adapter_read_values(m, a, &va, err);
	if (st == LMD_OK && !f->sizes_only)
		st = lmi_adapter_read_values(m, b, &vb, err);
	p = st != LMD_OK ? NULL
			 : lmi_adapter_get_pair(f, site, (uint32_t)rank, (uint32_t)b->dims[1],
						(uint32_t)(embd ? a->dims[1] : a->dims[0]),
						(uint32_t)slices, a->name, err);
	if (p && !f->sizes_only) {
		size_t na = (size_t)p->n_slice * p->rank * p->k;

		for (size_t i = 0; i < na; i++)
			p->a[embd ? i % p->rank * p->k + i / p->rank : i] = va[i];
		memcpy(p->b, vb, (size_t)p->n_slice * p->n * p->rank * sizeof(float));
		p->scale = alpha != 0 ? (float)(alpha / (double)rank) : 1;
	} else if (!p && st == LMD_OK) {
		st = err ? err->status : LMD_INVALID;
	}
	lmi_free(va);
	lmi_free(vb);
	return st;
}

static enum lmd_status read_lora(struct lmi_adapter_file *f, const struct lmi_model *m,
				 struct lmd_error *err)
{
	const struct lmd_model *v = lmi_model_view(m);
	const struct lmd_meta *alpha = v->find_meta(v, "adapter.lora.alpha");
	char site[128], name[160];
	enum lmd_status st = LMD_OK;

	if (!text_is(v, "adapter.type", "lora"))
		return lmd_fail(err, LMD_UNSUPPORTED, "key adapter.type is not \"lora\"");
	if (strcmp(v->arch, f->base->arch) != 0)
		return lmd_fail(err, LMD_INVALID,
				"the adapter is for architecture %.48s, but the model is %s",
				v->arch, f->base->arch);
	if (alpha && alpha->type != LMD_META_F64)
		return lmd_fail(err, LMD_INVALID, "key adapter.lora.alpha is not a float");
	if (alpha && !(fabs(alpha->v.f) < ALPHA_MAX))
		return lmd_fail(err, LMD_INVALID,
				"key adapter.lora.alpha: %g, must be a number below 1e9",
				alpha->v.f);
	for (uint32_t i = 0; st == LMD_OK && i < v->n_tensors; i++) {
		const struct lmd_tensor *t = &v->tensors[i], *b;
		size_t n = strlen(t->name), k = sizeof(TAIL_A) - 1;
		bool is_b = n > k && !strcmp(t->name + n - k, TAIL_B);

		if (!is_b && (n <= k || strcmp(t->name + n - k, TAIL_A) != 0))
			return lmd_fail(err, LMD_UNSUPPORTED,
					"tensor %s: ends neither in " TAIL_A " nor in " TAIL_B,
					t->name);
		(void)snprintf(site, sizeof(site), "%.*s", (int)(n - k), t->name);
		(void)snprintf(name, sizeof(name), "%s%s", site, is_b ? TAIL_A : TAIL_B);
		b = v->find_tensor(v, name);
		if (!b)
			return lmd_fail(err, LMD_CORRUPT,
					"tensor %s is present, but %s is missing", t->name,
					name);
		if (!is_b)
			st = read_pair(f, m, t, b, site, alpha ? alpha->v.f : 0, err);
	}
	return st;
}

static enum lmd_status read_invocation(struct lmi_adapter_file *f, const struct lmd_model *v,
				       struct lmd_error *err)
{
	const struct lmd_meta *k = v->find_meta(v, "adapter.alora.invocation_tokens");
	int32_t *ids;

	if (!k)
		return LMD_OK;
	if (k->type != LMD_META_ARR_I64 || k->n > 4096)
		return lmd_fail(err, LMD_INVALID,
				"key %s is not an array of at most 4096 integers", k->key);
	ids = lmi_arena_array(f->arena, k->n + 1, sizeof(*ids));
	if (!ids)
		return lmd_fail(err, LMD_NOMEM, "no memory for %llu tokens",
				(unsigned long long)k->n);
	for (uint64_t i = 0; i < k->n; i++) {
		int64_t id = ((const int64_t *)k->v.a)[i];

		if (id < 0 || id >= (int64_t)f->base->tok->n_tokens)
			return lmd_fail(err, LMD_INVALID,
					"key %s: token %lld, must be below %u", k->key,
					(long long)id, f->base->tok->n_tokens);
		ids[i] = (int32_t)id;
	}
	f->invocation = ids;
	f->n_invocation = (uint32_t)k->n;
	return LMD_OK;
}

/* ---- control vectors ---- */

/* A vector can only be added if the output of ffn_down goes directly into the residual stream. */
static enum lmd_status read_direction(struct lmi_adapter_file *f, const struct lmi_model *m,
				      const struct lmd_tensor *t, struct lmd_error *err)
{
	char site[48], norm[64], *end = NULL;
	unsigned long il = strncmp(t->name, "direction.", 10) ? ULONG_MAX
							      : strtoul(t->name + 10, &end, 10);
	const struct lmd_tensor *base;
	struct lmi_adapter_pair *p;
	float *v = NULL;
	enum lmd_status st;

	if (il == ULONG_MAX || *end || il < 1 || il > 1024)
		return lmd_fail(err, LMD_INVALID,
				"tensor %s: the name must be direction.N with a layer N of 1..1024",
				t->name);
	(void)snprintf(site, sizeof(site), "blk.%lu.ffn_down", il);
	(void)snprintf(norm, sizeof(norm), "blk.%lu.post_ffw_norm.weight", il);
	base = lmi_adapter_find_base(f, site, t->name, err);
	if (!base)
		return LMD_NOTFOUND;
	if (f->base->find_tensor(f->base, norm))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"tensor %s: layers of architecture %s end in a norm, so a control "
				"vector cannot be added after them",
				t->name, f->base->arch);
	if (t->n_dim != 1 || t->dims[0] != base->dims[1])
		return lmd_fail(err, LMD_INVALID,
				"tensor %s has %lld values, must have %lld like the embedding",
				t->name, (long long)t->dims[0], (long long)base->dims[1]);
	st = f->sizes_only ? LMD_OK : lmi_adapter_read_values(m, t, &v, err);
	if (st != LMD_OK)
		return st;
	p = lmi_adapter_get_pair(f, site, 0, (uint32_t)t->dims[0], (uint32_t)base->dims[0], 1,
				 t->name, err);
	if (p && v)
		memcpy(p->b, v, (size_t)p->n * sizeof(float));
	lmi_free(v);
	return p ? LMD_OK : LMD_NOMEM;
}

static enum lmd_status read_vectors(struct lmi_adapter_file *f, const struct lmi_model *m,
				    struct lmd_error *err)
{
	const struct lmd_model *v = lmi_model_view(m);
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < v->n_tensors; i++)
		st = read_direction(f, m, &v->tensors[i], err);
	return st;
}

enum lmd_status lmi_adapter_read_gguf(struct lmi_adapter_file *f, const char *path,
				      struct lmd_error *err)
{
	const struct lmd_model *v;
	struct lmi_model *m;
	enum lmd_status st = lmi_model_open(&m, path, LMI_OPEN_HEADER_ONLY, err);

	if (st != LMD_OK)
		return st;
	v = lmi_model_view(m);
	if (text_is(v, "general.type", "adapter")) {
		st = read_lora(f, m, err);
		if (st == LMD_OK)
			st = read_invocation(f, v, err);
	} else if (!strcmp(v->arch, "controlvector")) {
		st = read_vectors(f, m, err);
	} else {
		st = lmd_fail(err, LMD_INVALID,
			      "neither an adapter nor a control vector, but a model of "
			      "architecture %.48s",
			      v->arch);
	}
	lmi_model_close(m);
	return st;
}

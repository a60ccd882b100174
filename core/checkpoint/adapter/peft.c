/* SPDX-License-Identifier: MIT
 *
 * Reads PEFT adapters: adapter_config.json has rank and alpha, adapter_model.safetensors has
 * tensors
 *
 *     base_model.model.STEM.lora_A.weight [rank, in]     STEM.lora_B.weight [out, rank]
 *     base_model.model.STEM.lora_magnitude_vector [out]    with "use_dora"
 *     base_model.model.STEM.lora_embedding_A [rank, tokens]    STEM.lora_embedding_B [width, rank]
 *
 * where STEM is a name of the checkpoint.  The tables of its model family map names to ours; if
 * they permute the rows of a weight, the rows of B are permuted in the same way. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/checkpoint/adapter/adapter_impl.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/format/safetensors/safetensors.h"

#define CONFIG_BYTES   (1u << 20)
#define INVOCATION_MAX 4096u
#define BEGIN        "base_model.model."

struct peft {
	struct lmi_adapter_file *f;
	struct lmi_model *m; /* owns the parts */
	struct lmi_st st;
	struct lmi_json_tree config;
	struct lmi_checkpoint_maps maps;
	uint32_t n_head, n_head_kv, head_dim, n_expert;
	double alpha;
	bool rslora, dora;
	struct lmd_error *err;
};

/* ---- the configuration ---- */

static enum lmd_status read_config(struct peft *p, const char *dir)
{
	static const struct lmi_json_tree_opts opts = {.max_bytes = CONFIG_BYTES};
	const char *path = lmi_arena_printf(p->m->arena, "%s/adapter_config.json", dir);
	struct lmi_map map = {0};
	struct lmi_file file;
	enum lmd_status st;

	if (!path)
		return lmd_fail(p->err, LMD_NOMEM, "no memory for a path");
	st = lmi_file_open(&file, path, p->err);
	if (st != LMD_OK)
		return st;
	if (file.bytes < 2 || file.bytes > CONFIG_BYTES)
		st = lmd_fail(p->err, LMD_INVALID, "adapter_config.json: %llu bytes, must be 2..%u",
			      (unsigned long long)file.bytes, CONFIG_BYTES);
	else
		st = lmi_map_read(&map, &file, 0, file.bytes, p->err);
	lmi_file_close(&file);
	if (st == LMD_OK) {
		st = lmi_json_tree_parse(&p->config, (const char *)map.ptr, (size_t)map.bytes,
					 &opts, p->err);
		if (st != LMD_OK)
			lmd_error_prefix(p->err, "adapter_config.json");
	}
	lmi_map_close(&map);
	return st;
}

static bool is_true(const struct lmi_json_node *v)
{
	return lmi_json_node_is(v, LMI_JSON_BOOL) && v->u.b;
}

/* The tokens from which on an activated LoRA applies; null or none: always. */
static enum lmd_status read_invocation(struct peft *p, const struct lmi_json_node *v)
{
	const struct lmd_model *m = p->f->base;
	const struct lmd_tensor *table = m->find_tensor(m, "token_embd.weight");
	uint32_t n_vocab = table ? (uint32_t)table->dims[1] : 0;
	int32_t *ids;

	if (!v || lmi_json_node_is(v, LMI_JSON_NULL))
		return LMD_OK;
	if (!lmi_json_node_is(v, LMI_JSON_ARRAY) || v->n > INVOCATION_MAX)
		return lmd_fail(p->err, LMD_INVALID,
				"adapter_config.json: \"alora_invocation_tokens\" is not a list of at "
				"most %u tokens",
				INVOCATION_MAX);
	ids = lmi_arena_array(p->f->arena, v->n + 1u, sizeof(*ids));
	if (!ids)
		return lmd_fail(p->err, LMD_NOMEM, "no memory for %u tokens", v->n);
	for (uint32_t i = 0; i < v->n; i++) {
		double id;

		if (!lmi_json_node_real(lmi_json_node_at(v, i), &id) || !(id >= 0) ||
		    !(id < n_vocab) || id > floor(id))
			return lmd_fail(p->err, LMD_INVALID,
					"adapter_config.json: \"alora_invocation_tokens\"[%u] is not a "
					"token below %u",
					i, n_vocab);
		ids[i] = (int32_t)id;
	}
	p->f->invocation = ids;
	p->f->n_invocation = v->n;
	return LMD_OK;
}

static enum lmd_status check_config(struct peft *p)
{
	const struct lmi_json_node *o = p->config.root, *t = lmi_json_node_get(o, "peft_type");
	const struct lmi_json_node *alphas = lmi_json_node_get(o, "alpha_pattern");

	if (!lmi_json_node_eq(t, "LORA"))
		return lmd_fail(p->err, LMD_UNSUPPORTED,
				"adapter_config.json: \"peft_type\" is %.40s, must be LORA",
				lmi_json_node_is(t, LMI_JSON_STRING) ? t->u.s
								     : lmi_json_node_kind(t));
	if (lmi_json_node_is(alphas, LMI_JSON_OBJECT) && alphas->n)
		return lmd_fail(p->err, LMD_UNSUPPORTED,
				"adapter_config.json: \"alpha_pattern\" has %u entries, but only "
				"one alpha for all modules is supported",
				alphas->n);
	if (!lmi_json_node_real(lmi_json_node_get(o, "lora_alpha"), &p->alpha) ||
	    !(fabs(p->alpha) < 1e9))
		return lmd_fail(p->err, LMD_INVALID,
				"adapter_config.json: \"lora_alpha\" is %s, must be a number below "
				"1e9",
				lmi_json_node_kind(lmi_json_node_get(o, "lora_alpha")));
	p->rslora = is_true(lmi_json_node_get(o, "use_rslora"));
	p->dora = is_true(lmi_json_node_get(o, "use_dora"));
	return read_invocation(p, lmi_json_node_get(o, "alora_invocation_tokens"));
}

/* ---- the model's sizes ---- */

static uint32_t key_int(const struct lmd_model *m, const char *suffix, uint32_t def)
{
	const struct lmd_meta *v;
	char key[96];

	(void)snprintf(key, sizeof(key), "%s.%s", m->arch, suffix);
	v = m->find_meta(m, key);
	return v && v->type == LMD_META_I64 && v->v.i > 0 && v->v.i < 1 << 24 ? (uint32_t)v->v.i
									      : def;
}

static void read_sizes(struct peft *p)
{
	const struct lmd_model *m = p->f->base;

	p->n_head = key_int(m, "attention.head_count", 1);
	p->n_head_kv = key_int(m, "attention.head_count_kv", p->n_head);
	p->head_dim = key_int(m, "attention.key_length",
			      key_int(m, "embedding_length", 1) / p->n_head);
	p->head_dim = p->head_dim ? p->head_dim : 1;
	if (p->n_head % p->n_head_kv) /* the counts differ from layer to layer */
		p->n_head_kv = p->n_head;
	p->n_expert = key_int(m, "expert_count", 0);
}

/* ---- names ---- */

/* Matches a pattern such as "layers.%d.mlp.experts.%d.up_proj"; the numbers go to n[]. */
static bool match(const char *pattern, const char *s, uint32_t n[2])
{
	unsigned k = 0;

	for (; *pattern; pattern++) {
		char *end;

		if (pattern[0] != '%' || pattern[1] != 'd') {
			if (*pattern != *s++)
				return false;
			continue;
		}
		if (*s < '0' || *s > '9')
			return false;
		n[k++ & 1] = (uint32_t)strtoul(s, &end, 10);
		s = end;
		pattern++;
	}
	return !*s;
}

/* Is the row's name the stem, with any prefix of the language model? */
static bool is_row_of(const struct lmd_checkpoint_row *row, const char *stem, uint32_t n[2])
{
	if (row->how.flags & LMD_CKPT_ROOT)
		return match(row->from, stem, n);
	for (size_t at = 0; stem[at]; at += strcspn(stem + at, ".") + 1) {
		if (lmi_checkpoint_is_prefix(stem, at) && match(row->from, stem + at, n))
			return true;
		if (!strchr(stem + at, '.'))
			break;
	}
	return false;
}

/* Finds the row of a stem in any map of the architecture. */
static const struct lmd_checkpoint_row *find_row(const struct peft *p, const char *stem,
						 uint32_t n[2])
{
	const struct lmd_checkpoint_map *map;

	for (uint32_t i = 0; (map = lmi_checkpoint_map_at(&p->maps, i)) != NULL; i++) {
		if (strcmp(map->arch, p->f->base->arch) != 0)
			continue;
		for (uint32_t k = 0; k < LMD_CKPT_MAX_SETS && map->rows[k]; k++)
			for (uint32_t r = 0; r < map->rows[k]->n; r++)
				if (is_row_of(&map->rows[k]->v[r], stem, n))
					return &map->rows[k]->v[r];
	}
	return NULL;
}

static void site_of(const struct lmd_checkpoint_row *row, uint32_t il, char out[128])
{
	size_t n = 0;

	for (const char *s = row->to; *s && n + 12 < 128; s++) {
		if (s[0] == '%' && s[1] == 'd') {
			n += (size_t)snprintf(out + n, 128 - n, "%u", il);
			s++;
		} else {
			out[n++] = *s;
		}
	}
	out[n] = 0;
}

/* ---- pairs ---- */

/* Returns the values as floats; the caller frees them. */
static enum lmd_status read_values(struct peft *p, const struct lmi_st_tensor *t, float **out)
{
	void *raw = lmi_alloc((size_t)t->bytes, 1);
	enum lmd_status st;

	*out = lmi_alloc((size_t)lmi_st_elems(t), sizeof(**out));
	if (raw && *out)
		st = lmi_file_read(&p->m->parts[t->part].file, t->offset, raw, (size_t)t->bytes,
				   p->err);
	else
		st = lmd_fail(p->err, LMD_NOMEM, "tensor %.80s: no memory for its values", t->name);
	if (st == LMD_OK)
		lmi_checkpoint_st_decode((enum lmi_st_type)t->type, raw, *out,
					 (size_t)lmi_st_elems(t));
	lmi_free(raw);
	if (st != LMD_OK) {
		lmi_free(*out);
		*out = NULL;
	}
	return st;
}

/* The row of the file's B that becomes row u. */
static uint64_t b_row(const struct peft *p, const struct lmd_checkpoint_row *row,
		      uint64_t u)
{
	const struct lmi_checkpoint_tensor_transform r = {
		.op = row->how.op == LMD_CKPT_ROPE_Q || row->how.op == LMD_CKPT_ROPE_K
			      ? LMI_CHECKPOINT_TRANSFORM_ROPE
		      : row->how.op == LMD_CKPT_QKV ? LMI_CHECKPOINT_TRANSFORM_QKV
						    : LMI_CHECKPOINT_TRANSFORM_NONE,
		.rows = UINT64_MAX,
		.n_head = p->n_head,
		.n_kv = p->n_head_kv,
		.head_dim = p->head_dim};

	return lmi_checkpoint_transform_source_row(&r, u);
}

/* Is the weight's data selected or transposed, not just permuted? */
static bool is_rearranged(const struct lmd_checkpoint_how *how)
{
	return how->part != LMD_CKPT_WHOLE || how->op == LMD_CKPT_LATENT_K ||
	       how->op == LMD_CKPT_LATENT_V || how->op == LMD_CKPT_DELTA ||
	       how->op == LMD_CKPT_DELTA_GATE;
}

struct found {
	const struct lmi_st_tensor *a, *b, *magnitude; /* NULL: it has none */
	const struct lmd_checkpoint_row *row;
	uint32_t il, expert;
	bool embd;
};

/* Gives rows of a slice of a pair their lengths. */
static enum lmd_status put_magnitude(struct peft *p, const struct found *x, uint32_t slice,
				     struct lmi_adapter_pair *to)
{
	size_t all = (size_t)to->n_slice * to->n;
	enum lmd_status st;
	float *v = NULL;

	to->has_magnitude = true;
	if (p->f->sizes_only)
		return LMD_OK;
	if (!to->magnitude) {
		to->magnitude = lmi_arena_array(p->f->arena, all, sizeof(float));
		for (size_t i = 0; to->magnitude && i < all; i++)
			to->magnitude[i] = NAN;
	}
	if (!to->magnitude)
		return lmd_fail(p->err, LMD_NOMEM, "tensor %.80s: no memory for its values",
				x->magnitude->name);
	st = read_values(p, x->magnitude, &v);
	for (uint32_t u = 0; st == LMD_OK && u < to->n; u++) {
		float m = v[b_row(p, x->row, u)]; /* as for B, so it is below n */

		if (!isfinite(m))
			st = lmd_fail(p->err, LMD_INVALID, "tensor %.80s: value %u is not a number",
				      x->magnitude->name, u);
		to->magnitude[(size_t)slice * to->n + u] = m;
	}
	lmi_free(v);
	return st;
}

static enum lmd_status put_pair(struct peft *p, const struct found *x)
{
	uint32_t rank = (uint32_t)x->a->dims[0], k = (uint32_t)x->a->dims[1];
	uint32_t n = (uint32_t)x->b->dims[0], slices = 1, slice = 0;
	struct lmi_adapter_pair *to;
	const struct lmd_tensor *base;
	float *va = NULL, *vb = NULL;
	enum lmd_status st;
	char site[128];

	if (is_rearranged(&x->row->how))
		return lmd_fail(p->err, LMD_UNSUPPORTED,
				"tensor %.80s: the model uses parts of this weight, for which "
				"adapters are not supported; merge it into the model",
				x->a->name);
	site_of(x->row, x->il, site);
	base = lmi_adapter_find_base(p->f, site, x->a->name, p->err);
	if (!base)
		return LMD_NOTFOUND;
	if (x->row->how.stack == LMD_CKPT_EXPERTS) {
		slices = p->n_expert;
		slice = x->expert;
	}
	if (slice >= slices || base->dims[2] != slices ||
	    (x->embd ? k != base->dims[1] || n != base->dims[0]
		     : k != base->dims[0] || n != base->dims[1]))
		return lmd_fail(p->err, LMD_INVALID,
				"tensor %.80s: %u x %u of rank %u does not fit %s [%lld, %lld, "
				"%lld]",
				x->a->name, n, k, rank, base->name, (long long)base->dims[0],
				(long long)base->dims[1], (long long)base->dims[2]);
	st = p->f->sizes_only ? LMD_OK : read_values(p, x->a, &va);
	if (st == LMD_OK && !p->f->sizes_only)
		st = read_values(p, x->b, &vb);
	to = st == LMD_OK ? lmi_adapter_get_pair(p->f, site, rank, n, k, slices, x->a->name, p->err)
			  : NULL;
	if (to && !p->f->sizes_only) {
		memcpy(to->a + (size_t)slice * rank * k, va, (size_t)rank * k * sizeof(float));
		for (uint32_t u = 0; st == LMD_OK && u < n; u++) {
			uint64_t from = b_row(p, x->row, u);

			if (from < n)
				memcpy(to->b + ((size_t)slice * n + u) * rank, vb + from * rank,
				       rank * sizeof(float));
			else
				st = lmd_fail(p->err, LMD_INVALID,
					      "tensor %.80s: %u rows do not match the number of "
					      "heads",
					      x->b->name, n);
		}
		to->scale = (float)(p->alpha / (p->rslora ? sqrt(rank) : rank));
	}
	if (to && st == LMD_OK && x->magnitude)
		st = put_magnitude(p, x, slice, to);
	if (!to && st == LMD_OK) {
		st = p->err ? p->err->status : LMD_INVALID;
	}
	lmi_free(va);
	lmi_free(vb);
	return st;
}

static bool strip_name(const char *name, const char *tail, char *stem, size_t room)
{
	size_t n = strlen(name), k = strlen(tail), skip = sizeof(BEGIN) - 1;

	if (n <= k || strcmp(name + n - k, tail) != 0 || n - k >= room)
		return false;
	skip = strncmp(name, BEGIN, skip) ? 0 : skip;
	(void)snprintf(stem, room, "%.*s", (int)(n - k - skip), name + skip);
	return true;
}

/* Finds the lengths of the rows of a pair, of which `stem` is the part of its tensors' names before the
 * ending. Only adapters with use_dora have them, and have them for every pair. */
static enum lmd_status find_magnitude(struct peft *p, const char *stem, size_t n, struct found *x)
{
	static const char *const tails[] = {".lora_magnitude_vector", ".lora_magnitude_vector.weight",
					    ".lora_magnitude_vector.default.weight"};
	char name[LMI_ST_NAME_BYTES + 48];

	if (!p->dora)
		return LMD_OK;
	if (x->embd)
		return lmd_fail(p->err, LMD_UNSUPPORTED,
				"tensor %.80s: DoRA of embeddings is not supported; merge the adapter "
				"into the model",
				x->a->name);
	for (size_t i = 0; !x->magnitude && i < LMD_LEN(tails); i++) {
		(void)snprintf(name, sizeof(name), "%.*s%s", (int)n, stem, tails[i]);
		x->magnitude = lmi_st_find(&p->st, name);
	}
	if (!x->magnitude)
		return lmd_fail(p->err, LMD_CORRUPT,
				"tensor %.80s is present, but %.*s.lora_magnitude_vector is missing, "
				"although adapter_config.json has \"use_dora\"",
				x->a->name, (int)(n < 80 ? n : 80), stem);
	if (lmi_st_elems(x->magnitude) != (uint64_t)x->b->dims[0])
		return lmd_fail(p->err, LMD_INVALID, "tensor %.80s: %llu values; %.80s has %llu rows",
				x->magnitude->name, (unsigned long long)lmi_st_elems(x->magnitude),
				x->b->name, (unsigned long long)x->b->dims[0]);
	return LMD_OK;
}

/* Reads one tensor of the file: the A of a pair, or its B. */
static enum lmd_status read_tensor(struct peft *p, const struct lmi_st_tensor *t)
{
	static const struct {
		const char *a, *b;
		bool embd;
	} tails[] = {{".lora_A.weight", ".lora_B.weight", false},
		     {".lora_A.default.weight", ".lora_B.default.weight", false},
		     {".lora_embedding_A", ".lora_embedding_B", true}};
	char stem[LMI_ST_NAME_BYTES + 1], other[LMI_ST_NAME_BYTES + 32];
	size_t n = strlen(t->name);
	enum lmd_status st;

	for (size_t i = 0; i < LMD_LEN(tails); i++) {
		struct found x = {.embd = tails[i].embd};
		bool is_a = strip_name(t->name, tails[i].a, stem, sizeof(stem));
		uint32_t num[2] = {0, 0};
		size_t k = strlen(tails[i].a);

		if (!is_a && !strip_name(t->name, tails[i].b, stem, sizeof(stem)))
			continue;
		(void)snprintf(other, sizeof(other), "%.*s%s", (int)(n - k), t->name,
			       is_a ? tails[i].b : tails[i].a);
		x.a = t;
		x.b = lmi_st_find(&p->st, other);
		if (!x.b)
			return lmd_fail(p->err, LMD_CORRUPT,
					"tensor %.80s is present, but %.80s is missing",
					t->name, other);
		if (!is_a)
			return LMD_OK;
		if (x.a->n_dim != 2 || x.b->n_dim != 2 || x.a->dims[0] != x.b->dims[1] ||
		    x.a->dims[0] < 1 || x.a->dims[0] > LMI_ADAPTER_MAX_RANK ||
		    x.a->dims[1] > 1 << 28 || x.b->dims[0] > 1 << 28)
			return lmd_fail(p->err, LMD_INVALID,
					"tensor %.80s: the pair must be two matrices with the same "
					"rank of 1..%u", t->name,
					LMI_ADAPTER_MAX_RANK);
		x.row = find_row(p, stem, num);
		if (!x.row || x.row->how.part == LMD_CKPT_FIRST_HALF ||
		    x.row->how.part == LMD_CKPT_SECOND_HALF)
			return lmd_fail(p->err, LMD_UNSUPPORTED,
					"tensor %.80s: models of architecture %s have no such "
					"weight to adapt",
					t->name, p->f->base->arch);
		x.il = num[0];
		x.expert = num[1];
		st = find_magnitude(p, t->name, n - k, &x);
		return st == LMD_OK ? put_pair(p, &x) : st;
	}
	if (p->dora && strstr(t->name, ".lora_magnitude_vector"))
		return LMD_OK; /* read with its pair */
	/* PEFT saves the model's own embeddings next to a pair for them. */
	if (strip_name(t->name, ".base_layer.weight", stem, sizeof(stem)) ||
	    strip_name(t->name, ".base_layer.bias", stem, sizeof(stem)))
		return LMD_OK;
	return lmd_fail(p->err, LMD_UNSUPPORTED,
			"tensor %.100s: only pairs lora_A, lora_B are supported, not modules that "
			"were trained in full",
			t->name);
}

enum lmd_status lmi_adapter_read_peft(struct lmi_adapter_file *f, const char *path,
				      struct lmi_plugin_registry *plugins, struct lmd_error *err)
{
	struct peft p = {.f = f, .err = err, .m = lmi_model_create(LMI_MODEL_HEAP_BYTES)};
	const char *slash = strrchr(path, '/'), *dir = path, *name = "adapter_model.safetensors";
	enum lmd_status st = LMD_OK;
	struct stat sb;

	if (!p.m)
		return lmd_fail(err, LMD_NOMEM, "no memory for an adapter");
	if (stat(path, &sb) || !S_ISDIR(sb.st_mode)) {
		const char *base = slash ? slash + 1 : path;

		dir = slash ? lmi_arena_strndup(p.m->arena, path,
						slash > path ? (size_t)(slash - path) : 1)
			    : ".";
		if (strcmp(base, "adapter_config.json") != 0)
			name = base;
	}
	if (!dir)
		st = lmd_fail(err, LMD_NOMEM, "no memory for a path");
	if (st == LMD_OK)
		st = read_config(&p, dir);
	if (st == LMD_OK)
		st = check_config(&p);
	if (st == LMD_OK)
		st = lmi_st_open(&p.st, p.m, dir, name, 0, err);
	if (st == LMD_OK)
		st = lmi_checkpoint_maps_take(&p.maps, plugins, err);
	read_sizes(&p);
	for (uint32_t i = 0; st == LMD_OK && i < p.st.n; i++)
		st = read_tensor(&p, &p.st.v[i]);
	lmi_checkpoint_maps_give(&p.maps);
	lmi_st_fini(&p.st);
	lmi_json_tree_fini(&p.config);
	lmi_model_destroy(p.m);
	return st;
}

/* SPDX-License-Identifier: MIT
 *
 * Typed look-ups of metadata, and the checks that all models need. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/printable.h"
#include "core/model/model.h"

#define KEY_BYTES  128
#define NAME_BYTES 255u /* limit for a displayed name */

const char *lmi_model_meta_type_text(uint32_t type)
{
	switch ((enum lmd_meta_type)type) {
	case LMD_META_BOOL:
		return "a boolean";
	case LMD_META_I64:
	case LMD_META_U64:
		return "an integer";
	case LMD_META_F64:
		return "a float";
	case LMD_META_STR:
		return "a string";
	case LMD_META_ARR_BOOL:
		return "an array of booleans";
	case LMD_META_ARR_I64:
		return "an array of integers";
	case LMD_META_ARR_F64:
		return "an array of floats";
	case LMD_META_ARR_STR:
		return "an array of strings";
	}
	return "of no known type";
}

uint64_t lmi_model_string_limit(const char *key)
{
	return !strncmp(key, "tokenizer.chat_template", 23) ||
			       !strcmp(key, "tokenizer.huggingface.json")
		       ? LMI_MODEL_TEXT_BYTES
		       : LMI_MODEL_STRING_BYTES;
}

static enum lmd_status wrong_type(const struct lmd_meta *v, const char *expected,
				  struct lmd_error *err)
{
	return lmd_fail(err, LMD_INVALID, "key %s is %s, not %s", v->key,
			lmi_model_meta_type_text(v->type), expected);
}

static enum lmd_status get_number(const struct lmi_model *m, const char *key, int64_t min,
				  int64_t max, bool bool_ok, int64_t *out, bool *found,
				  struct lmd_error *err)
{
	const struct lmd_meta *v = m->view.find_meta(&m->view, key);

	*found = v != NULL;
	if (!v)
		return LMD_OK;
	if (v->type == LMD_META_U64)
		return lmd_fail(err, LMD_INVALID, "key %s: %llu, must be at most %lld", key,
				(unsigned long long)v->v.u, (long long)max);
	if (v->type != LMD_META_I64 && !(bool_ok && v->type == LMD_META_BOOL))
		return wrong_type(v, "an integer", err);
	if (v->v.i < min || v->v.i > max)
		return lmd_fail(err, LMD_INVALID, "key %s: %lld, must be %lld..%lld", key,
				(long long)v->v.i, (long long)min, (long long)max);
	*out = v->v.i;
	return LMD_OK;
}

enum lmd_status lmi_model_get_int(const struct lmi_model *m, const char *key, int64_t min,
				  int64_t max, int64_t *out, bool *found, struct lmd_error *err)
{
	return get_number(m, key, min, max, false, out, found, err);
}

enum lmd_status lmi_model_get_bool(const struct lmi_model *m, const char *key, int8_t *out,
				   bool *found, struct lmd_error *err)
{
	int64_t v = 0;
	enum lmd_status st = get_number(m, key, 0, 1, true, &v, found, err);

	if (st == LMD_OK && *found)
		*out = (int8_t)v;
	return st;
}

enum lmd_status lmi_model_get_str(const struct lmi_model *m, const char *key, struct lmd_str *out,
				  bool *found, struct lmd_error *err)
{
	const struct lmd_meta *v = m->view.find_meta(&m->view, key);

	*found = v != NULL;
	if (!v)
		return LMD_OK;
	if (v->type != LMD_META_STR)
		return wrong_type(v, "a string", err);
	*out = v->v.s;
	return LMD_OK;
}

/* Matches [a-z0-9][a-z0-9_.-]{0,47}, the form of names that can be looked up among plugins. */
static bool is_arch_name(const struct lmd_str *s)
{
	if (s->len < 1 || s->len > 48)
		return false;
	for (size_t i = 0; i < s->len; i++) {
		char c = s->ptr[i];

		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			continue;
		if (i == 0 || (c != '_' && c != '.' && c != '-'))
			return false;
	}
	return true;
}

/* A file that is not a model (such as an importance matrix) may have no architecture; its
 * general.type is used instead. */
static enum lmd_status read_arch(struct lmi_model *m, struct lmd_error *err)
{
	struct lmd_str arch = {0}, kind = {0};
	bool found, has_kind;
	char show[80];
	enum lmd_status st = lmi_model_get_str(m, "general.architecture", &arch, &found, err);

	if (st == LMD_OK)
		st = lmi_model_get_str(m, "general.type", &kind, &has_kind, err);
	if (st != LMD_OK)
		return st;
	if (!found && has_kind && !(kind.len == 5 && !memcmp(kind.ptr, "model", 5)))
		arch = kind;
	else if (!found)
		return lmd_fail(err, LMD_CORRUPT, "key general.architecture is missing");
	if (!is_arch_name(&arch))
		return lmd_fail(err, LMD_INVALID,
				"key general.architecture: \"%s\" must be a name of 1..48 "
				"characters a-z 0-9 _ . -",
				lmi_printable(show, sizeof(show), arch.ptr, arch.len));
	m->view.arch = arch.ptr;
	return LMD_OK;
}

/* Sets the name for display: the file's own or the last component of the path; control bytes become
 * '?'. */
static enum lmd_status read_name(struct lmi_model *m, const char *path, struct lmd_error *err)
{
	const char *base = strrchr(path, '/');
	struct lmd_str name = {0};
	char *copy;
	bool found;
	enum lmd_status st = lmi_model_get_str(m, "general.name", &name, &found, err);

	if (st != LMD_OK)
		return st;
	base = base ? base + 1 : path;
	if (!found || !name.len)
		name = (struct lmd_str){.ptr = base, .len = strlen(base)};
	if (name.len > NAME_BYTES) { /* cut between UTF-8 characters */
		name.len = NAME_BYTES;
		while (name.len > NAME_BYTES - 3 && (name.ptr[name.len] & 0xC0) == 0x80)
			name.len--;
	}
	copy = lmi_arena_strndup(m->arena, name.ptr, name.len);
	if (!copy)
		return lmi_model_no_memory(m, 256, err);
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)copy[i] < 0x20 || copy[i] == 0x7F)
			copy[i] = '?';
	m->view.name = copy;
	return LMD_OK;
}

static const struct lmd_meta *find_count(const struct lmi_model *m, const char *suffix,
					 char key[KEY_BYTES])
{
	(void)snprintf(key, KEY_BYTES, "%s.%s", m->view.arch, suffix);
	return m->view.find_meta(&m->view, key);
}

/* Returns a number of the file; 0 if it is absent or not an integer. */
static uint64_t count_of(const struct lmi_model *m, const char *suffix)
{
	char key[KEY_BYTES];
	const struct lmd_meta *v = find_count(m, suffix, key);

	return v && v->type == LMD_META_I64 && v->v.i > 0 ? (uint64_t)v->v.i : 0;
}

/* Returns whether an array of n values can have one for each layer: with or without the layers for
 * drafts, or those of a decoder.  A model without layers is not checked. */
static bool is_per_layer(const struct lmi_model *m, uint64_t n)
{
	uint64_t all = count_of(m, "block_count"), draft = count_of(m, "nextn_predict_layers");

	return !all || n == all || (draft < all && n == all - draft) ||
	       n == count_of(m, "decoder_block_count");
}

/* Checks an integer or an array of integers, one for each layer, each 0..max; the key may be
 * absent. */
static enum lmd_status check_count(const struct lmi_model *m, const char *suffix, int64_t max,
				   struct lmd_error *err)
{
	char key[KEY_BYTES];
	const struct lmd_meta *v = find_count(m, suffix, key);
	const int64_t *a;
	int64_t n = 0;
	bool found;

	if (!v || v->type != LMD_META_ARR_I64)
		return lmi_model_get_int(m, key, 0, max, &n, &found, err);
	if (v->n > LMI_MODEL_MAX_LAYERS)
		return lmd_fail(err, LMD_INVALID, "key %s: %llu elements, must be at most %u", key,
				(unsigned long long)v->n, LMI_MODEL_MAX_LAYERS);
	a = v->v.a;
	for (uint64_t i = 0; i < v->n; i++)
		if (a[i] < 0 || a[i] > max)
			return lmd_fail(err, LMD_INVALID,
					"key %s: element %llu is %lld, must be 0..%lld", key,
					(unsigned long long)i, (long long)a[i], (long long)max);
	if (!is_per_layer(m, v->n))
		return lmd_fail(err, LMD_INVALID, "key %s: %llu elements, but there are %llu layers",
				key, (unsigned long long)v->n,
				(unsigned long long)count_of(m, "block_count"));
	return LMD_OK;
}

/* A count of 0 means a model without experts, which then uses none. */
static enum lmd_status check_experts(const struct lmi_model *m, struct lmd_error *err)
{
	char key[KEY_BYTES];
	uint64_t n_used = count_of(m, "expert_used_count"), n = count_of(m, "expert_count");

	if (!find_count(m, "expert_count", key) || n_used <= n)
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID, "key %s.expert_used_count: %llu, but there are %llu experts",
			m->view.arch, (unsigned long long)n_used, (unsigned long long)n);
}

enum lmd_status lmi_model_check_general(struct lmi_model *m, const char *path,
					struct lmd_error *err)
{
	static const struct {
		const char *suffix;
		int64_t max;
	} counts[] = {
		{"block_count", LMI_MODEL_MAX_LAYERS},
		{"decoder_block_count", LMI_MODEL_MAX_LAYERS},
		{"leading_dense_block_count", LMI_MODEL_MAX_LAYERS},
		{"nextn_predict_layers", LMI_MODEL_MAX_LAYERS},
		{"attention.head_count", LMI_MODEL_MAX_LAYERS},
		{"attention.head_count_kv", LMI_MODEL_MAX_LAYERS},
		{"expert_count", LMI_MODEL_MAX_LAYERS},
		{"expert_used_count", LMI_MODEL_MAX_LAYERS},
		{"expert_shared_count", LMI_MODEL_MAX_LAYERS},
		{"expert_group_count", LMI_MODEL_MAX_LAYERS},
		{"vocab_size", LMI_MODEL_MAX_VOCAB},
		{"embedding_length", 1 << 20},
		{"feed_forward_length", 1 << 24},
		{"context_length", INT32_MAX},
	};
	enum lmd_status st = read_arch(m, err);

	if (st == LMD_OK)
		st = read_name(m, path, err);
	for (size_t i = 0; st == LMD_OK && i < LMD_LEN(counts); i++)
		st = check_count(m, counts[i].suffix, counts[i].max, err);
	return st == LMD_OK ? check_experts(m, err) : st;
}

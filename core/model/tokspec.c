/* SPDX-License-Identifier: MIT
 *
 * Converts the tokenizer.* keys to struct lmd_tokspec.  Afterwards every array has n_tokens
 * elements of the right type and every special id names a token, so that tokenizers can index
 * without checks. */
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/model/model.h"

#define PREFIX "tokenizer.ggml."

/* An id may have two keys: the newer name, then an older name or another spelling. */
static const struct {
	const char *key, *old;
	size_t at;
} ids[] = {
#define ID(field, ...)                                                                             \
	{                                                                                          \
		__VA_ARGS__, offsetof(struct lmd_tokspec, field)                                   \
	}
	ID(bos, PREFIX "bos_token_id", NULL),
	ID(eos, PREFIX "eos_token_id", NULL),
	ID(eot, PREFIX "eot_token_id", NULL),
	ID(eom, PREFIX "eom_token_id", NULL),
	ID(unk, PREFIX "unknown_token_id", NULL),
	ID(sep, PREFIX "seperator_token_id", PREFIX "separator_token_id"),
	ID(pad, PREFIX "padding_token_id", NULL),
	ID(cls, PREFIX "cls_token_id", NULL),
	ID(mask, PREFIX "mask_token_id", NULL),
	ID(fim_pre, PREFIX "fim_pre_token_id", PREFIX "prefix_token_id"),
	ID(fim_suf, PREFIX "fim_suf_token_id", PREFIX "suffix_token_id"),
	ID(fim_mid, PREFIX "fim_mid_token_id", PREFIX "middle_token_id"),
	ID(fim_pad, PREFIX "fim_pad_token_id", NULL),
	ID(fim_rep, PREFIX "fim_rep_token_id", NULL),
	ID(fim_sep, PREFIX "fim_sep_token_id", NULL),
#undef ID
};

static const struct {
	const char *key;
	size_t at;
} flags[] = {
#define FLAG(field, key)                                                                           \
	{                                                                                          \
		PREFIX key, offsetof(struct lmd_tokspec, field)                                    \
	}
	FLAG(add_bos, "add_bos_token"),
	FLAG(add_eos, "add_eos_token"),
	FLAG(add_sep, "add_sep_token"),
	FLAG(add_space_prefix, "add_space_prefix"),
	FLAG(remove_extra_whitespaces, "remove_extra_whitespaces"),
	FLAG(escape_whitespaces, "escape_whitespaces"),
	FLAG(treat_whitespace_as_suffix, "treat_whitespace_as_suffix"),
	FLAG(ignore_merges, "ignore_merges"),
	FLAG(clean_spaces, "clean_spaces"),
	FLAG(lowercase, "normalizer.lowercase"),
	FLAG(strip_accents, "normalizer.strip_accents"),
#undef FLAG
};

static const struct lmd_meta *find(const struct lmi_model *m, const char *key)
{
	return m->view.find_meta(&m->view, key);
}

static enum lmd_status wrong_type(const struct lmd_meta *v, const char *expected,
				  struct lmd_error *err)
{
	return lmd_fail(err, LMD_INVALID, "key %s is %s, not %s", v->key,
			lmi_meta_type_text(v->type), expected);
}

/* Checks that an array has one element for each token. */
static enum lmd_status check_length(const struct lmi_model *m, const struct lmd_meta *v,
				    struct lmd_error *err)
{
	if (v->n != m->tok.n_tokens)
		return lmd_fail(err, LMD_CORRUPT,
				"key %s: %llu elements, must be one for each of %u tokens", v->key,
				(unsigned long long)v->n, m->tok.n_tokens);
	return LMD_OK;
}

static enum lmd_status read_tokens(struct lmi_model *m, struct lmd_error *err)
{
	const struct lmd_meta *v = find(m, PREFIX "tokens");

	if (!v)
		return LMD_OK;
	if (v->type != LMD_META_ARR_STR)
		return wrong_type(v, "an array of strings", err);
	if (v->n < 1 || v->n > LMI_MAX_VOCAB)
		return lmd_fail(err, LMD_INVALID, "key %s: %llu tokens, must be 1..%u", v->key,
				(unsigned long long)v->n, LMI_MAX_VOCAB);
	m->tok.n_tokens = (uint32_t)v->n;
	m->tok.text = v->v.a;
	return LMD_OK;
}

static enum lmd_status read_scores(struct lmi_model *m, struct lmd_error *err)
{
	const struct lmd_meta *v = find(m, PREFIX "scores");
	enum lmd_status st;
	float *score;

	if (!v)
		return LMD_OK;
	if (v->type != LMD_META_ARR_F64 && v->type != LMD_META_ARR_I64)
		return wrong_type(v, "an array of floats", err);
	st = check_length(m, v, err);
	if (st != LMD_OK || !v->n)
		return st;
	score = lmi_arena_array(m->arena, v->n, sizeof(*score));
	if (!score)
		return lmi_model_no_memory(m, v->n * sizeof(*score), err);
	for (uint64_t i = 0; i < v->n; i++) {
		score[i] = v->type == LMD_META_ARR_F64 ? (float)((const double *)v->v.a)[i]
						       : (float)((const int64_t *)v->v.a)[i];
		if (isnan(score[i]))
			return lmd_fail(err, LMD_INVALID, "key %s: element %llu is not a number",
					v->key, (unsigned long long)i);
	}
	m->tok.score = score;
	return LMD_OK;
}

static enum lmd_status read_types(struct lmi_model *m, struct lmd_error *err)
{
	const struct lmd_meta *v = find(m, PREFIX "token_type");
	enum lmd_status st;
	const int64_t *a;
	uint8_t *type;

	if (!v)
		return LMD_OK;
	if (v->type != LMD_META_ARR_I64)
		return wrong_type(v, "an array of integers", err);
	st = check_length(m, v, err);
	if (st != LMD_OK || !v->n)
		return st;
	type = lmi_arena_array(m->arena, v->n, sizeof(*type));
	if (!type)
		return lmi_model_no_memory(m, v->n, err);
	a = v->v.a;
	for (uint64_t i = 0; i < v->n; i++) {
		if (a[i] < 0 || a[i] > LMD_TOKEN_BYTE)
			return lmd_fail(err, LMD_INVALID,
					"key %s: element %llu is %lld, must be 0..%d", v->key,
					(unsigned long long)i, (long long)a[i], LMD_TOKEN_BYTE);
		type[i] = (uint8_t)(a[i] ? a[i] : LMD_TOKEN_NORMAL); /* 0: undefined */
	}
	m->tok.type = type;
	return LMD_OK;
}

static enum lmd_status read_merges(struct lmi_model *m, struct lmd_error *err)
{
	static const struct lmd_str none = {"", 0};
	const struct lmd_meta *v = find(m, PREFIX "merges");

	if (!v)
		return LMD_OK;
	m->tok.merge = &none;
	if (v->n == 0)
		return LMD_OK;
	if (v->type != LMD_META_ARR_STR)
		return wrong_type(v, "an array of strings", err);
	m->tok.n_merges = v->n;
	m->tok.merge = v->v.a;
	return LMD_OK;
}

static enum lmd_status read_charsmap(struct lmi_model *m, struct lmd_error *err)
{
	const struct lmd_meta *v = find(m, PREFIX "precompiled_charsmap");
	const int64_t *a;
	char *bytes;

	if (!v || v->n == 0)
		return LMD_OK;
	if (v->type == LMD_META_STR) {
		m->tok.charsmap = v->v.s;
		return LMD_OK;
	}
	if (v->type != LMD_META_ARR_I64)
		return wrong_type(v, "an array of bytes", err);
	bytes = lmi_arena_array(m->arena, v->n, 1);
	if (!bytes)
		return lmi_model_no_memory(m, v->n, err);
	a = v->v.a;
	for (uint64_t i = 0; i < v->n; i++) {
		if (a[i] < -128 || a[i] > 255)
			return lmd_fail(err, LMD_INVALID,
					"key %s: element %llu is %lld, not a byte", v->key,
					(unsigned long long)i, (long long)a[i]);
		bytes[i] = (char)a[i];
	}
	m->tok.charsmap = (struct lmd_str){.ptr = bytes, .len = v->n};
	return LMD_OK;
}

/* Ids must be below the number of tokens; if there is no token list, any id that fits is
 * accepted. */
static enum lmd_status read_ids(struct lmi_model *m, struct lmd_error *err)
{
	int64_t max = m->tok.text ? (int64_t)m->tok.n_tokens - 1 : INT32_MAX;

	for (size_t i = 0; i < LMD_LEN(ids); i++) {
		int32_t *id = (int32_t *)(void *)((char *)&m->tok + ids[i].at);
		enum lmd_status st;
		int64_t v = -1;
		bool found;

		st = lmi_model_get_int(m, ids[i].key, 0, max, &v, &found, err);
		if (st == LMD_OK && !found && ids[i].old)
			st = lmi_model_get_int(m, ids[i].old, 0, max, &v, &found, err);
		if (st != LMD_OK)
			return st;
		*id = (int32_t)v;
	}
	return LMD_OK;
}

static enum lmd_status read_flags(struct lmi_model *m, struct lmd_error *err)
{
	for (size_t i = 0; i < LMD_LEN(flags); i++) {
		int8_t *flag = (int8_t *)&m->tok + flags[i].at;
		enum lmd_status st;
		bool found;

		*flag = -1;
		st = lmi_model_get_bool(m, flags[i].key, flag, &found, err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

/* Reads a name, which contains no NUL so that it can be used as a C string. */
static enum lmd_status read_name(const struct lmi_model *m, const char *key, const char **out,
				 struct lmd_error *err)
{
	struct lmd_str s = {0};
	bool found;
	enum lmd_status st = lmi_model_get_str(m, key, &s, &found, err);

	if (st != LMD_OK || !found)
		return st;
	if (s.len > 64 || memchr(s.ptr, 0, s.len))
		return lmd_fail(err, LMD_INVALID,
				"key %s: must be a name of at most 64 bytes without a zero byte",
				key);
	*out = s.ptr;
	return LMD_OK;
}

/* Sets architecture and name of the model.  A name that is not a C string is ignored. */
static enum lmd_status read_model(struct lmi_model *m, struct lmd_error *err)
{
	struct lmd_str s = {0};
	bool found;
	enum lmd_status st = lmi_model_get_str(m, "general.name", &s, &found, err);

	m->tok.arch = m->view.arch;
	if (st == LMD_OK && found && !memchr(s.ptr, 0, s.len))
		m->tok.model = s.ptr;
	return st;
}

/* A vocabulary without texts may still state its size. */
static enum lmd_status read_size(struct lmi_model *m, struct lmd_error *err)
{
	int64_t n = 0;
	char key[80];
	bool found;
	enum lmd_status st;

	if (m->tok.text || !m->view.arch)
		return LMD_OK;
	snprintf(key, sizeof(key), "%.60s.vocab_size", m->view.arch);
	st = lmi_model_get_int(m, key, 0, LMI_MAX_VOCAB, &n, &found, err);
	m->tok.n_tokens = (uint32_t)n;
	return st;
}

enum lmd_status lmi_model_read_tokspec(struct lmi_model *m, struct lmd_error *err)
{
	int64_t n_types = 0;
	enum lmd_status st;
	bool found;

	m->tok.struct_size = sizeof(m->tok);
	m->tok.reserved = -1;
	st = read_name(m, PREFIX "model", &m->tok.kind, err);
	if (st == LMD_OK)
		st = read_name(m, PREFIX "pre", &m->tok.pre, err);
	if (st == LMD_OK)
		st = read_tokens(m, err);
	if (st == LMD_OK)
		st = read_model(m, err);
	if (st == LMD_OK)
		st = read_size(m, err);
	if (st == LMD_OK)
		st = read_scores(m, err);
	if (st == LMD_OK)
		st = read_types(m, err);
	if (st == LMD_OK)
		st = read_merges(m, err);
	if (st == LMD_OK)
		st = read_charsmap(m, err);
	if (st == LMD_OK)
		st = read_ids(m, err);
	if (st == LMD_OK)
		st = read_flags(m, err);
	if (st == LMD_OK)
		st = lmi_model_get_int(m, PREFIX "token_type_count", 0, LMI_MAX_VOCAB, &n_types,
				       &found, err);
	m->tok.n_token_types = (uint32_t)n_types;
	if (st == LMD_OK)
		st = lmi_model_get_str(m, "tokenizer.chat_template", &m->view.chat_template, &found,
				       err);
	/* the original tokenizer.json, in files that carry it instead of the arrays */
	if (st == LMD_OK && !m->tok.text)
		st = lmi_model_get_str(m, "tokenizer.huggingface.json", &m->tok.json, &found, err);
	return st;
}

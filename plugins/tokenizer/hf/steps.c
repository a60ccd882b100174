/* SPDX-License-Identifier: MIT
 *
 * The known step types. Any other type, and a known type with an impossible parameter, is rejected
 * with an error when a tokenizer is opened. */
#include <stdio.h>
#include <string.h>

#include "tokenizer/hf/split.h"
#include "tokenizer/hf/step_types.h"

#include "common/unicode.h"

/* The regular expression of ByteLevel. */
#define WORDS                                                                                      \
	"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

#define TYPE(phase_, name_, ...) {.phase = phase_, .name = name_, __VA_ARGS__},
static const struct hf_type types[] = {HF_STEP_TYPES(TYPE)};
#undef TYPE

static const char *const phase_name[] = {
	[LMD_TOK_NORMALIZE] = "normalizer",
	[LMD_TOK_SPLIT] = "pre-tokenizer",
	[LMD_TOK_MODEL] = "model",
	[LMD_TOK_DECODE] = "decoder",
};

const struct lmd_meta *hf_param(const struct lmd_tok_step *s, const char *key)
{
	for (uint32_t i = 0; i < s->n_param; i++)
		if (!strcmp(s->param[i].key, key))
			return &s->param[i];
	return NULL;
}

bool hf_param_bool(const struct lmd_tok_step *s, const char *key, bool def)
{
	const struct lmd_meta *p = hf_param(s, key);

	return p && p->type == LMD_META_BOOL ? p->v.i != 0 : def;
}

struct lmd_str hf_param_str(const struct lmd_tok_step *s, const char *key)
{
	const struct lmd_meta *p = hf_param(s, key);

	return p && p->type == LMD_META_STR ? p->v.s : (struct lmd_str){NULL, 0};
}

static uint32_t param_count(const struct lmd_tok_step *s, const char *key)
{
	const struct lmd_meta *p = hf_param(s, key);

	return p && p->type == LMD_META_I64 && p->v.i > 0 && p->v.i < INT32_MAX ? (uint32_t)p->v.i
										: 0;
}

static enum lmd_status refuse(const struct lmd_tok_step *t, enum lmd_status st, const char *what,
			      struct lmd_error *err)
{
	return lmd_fail(err, st, "%s '%.60s': %s", phase_name[t->phase], t->type, what);
}

static enum lmd_status compile(struct hf_step *s, const struct lmd_tok_step *t, const char *pattern,
			       size_t n, struct lmd_error *err)
{
	enum lmd_status st = tok_regex_compile(&s->rx, s->host, pattern, n, TOK_RX_RUBY, err);
	char prefix[96];

	if (st == LMD_OK || !err)
		return st;
	snprintf(prefix, sizeof(prefix), "%s '%.60s'", phase_name[t->phase], t->type);
	lmd_error_prefix(err, prefix);
	return st;
}

/* Reads a text or an expression, in any of the notations that files use. */
static enum lmd_status read_pattern(struct hf_step *s, const struct lmd_tok_step *t,
				    struct lmd_error *err)
{
	struct lmd_str rx = hf_param_str(t, "pattern.Regex");

	if (rx.ptr)
		return compile(s, t, rx.ptr, rx.len, err);
	s->pattern = hf_param_str(t, "pattern.String");
	if (!s->pattern.ptr)
		s->pattern = hf_param_str(t, "pattern");
	return s->pattern.ptr ? LMD_OK : refuse(t, LMD_CORRUPT, "no pattern", err);
}

static enum lmd_status read_behavior(struct hf_step *s, const struct lmd_tok_step *t,
				     struct lmd_error *err)
{
	static const struct {
		const char *name;
		enum hf_behavior b;
	} names[] = {{"Removed", HF_REMOVED}, {"Isolated", HF_ISOLATED},
		     {"MergedWithPrevious", HF_WITH_PREVIOUS}, {"MergedWithNext", HF_WITH_NEXT},
		     {"Contiguous", HF_CONTIGUOUS}};
	struct lmd_str b = hf_param_str(t, "behavior");

	s->behavior = HF_ISOLATED;
	if (!b.ptr)
		return LMD_OK;
	for (size_t i = 0; i < LMD_LEN(names); i++) {
		if (b.len == strlen(names[i].name) && !memcmp(b.ptr, names[i].name, b.len)) {
			s->behavior = names[i].b;
			return LMD_OK;
		}
	}
	return refuse(t, LMD_UNSUPPORTED, "unknown behavior", err);
}

static enum lmd_status read_prepend(struct hf_step *s, const struct lmd_tok_step *t,
				    struct lmd_error *err)
{
	struct lmd_str p = hf_param_str(t, "prepend_scheme");

	s->prepend = hf_param_bool(t, "add_prefix_space", true) ? HF_ALWAYS : HF_NEVER;
	if (!p.ptr)
		return LMD_OK;
	if (p.len == 5 && !memcmp(p.ptr, "never", 5))
		s->prepend = HF_NEVER;
	else if (p.len == 5 && !memcmp(p.ptr, "first", 5))
		s->prepend = HF_FIRST;
	else if (p.len == 6 && !memcmp(p.ptr, "always", 6))
		s->prepend = HF_ALWAYS;
	else
		return refuse(t, LMD_UNSUPPORTED, "unknown prepend_scheme", err);
	return LMD_OK;
}

static int digit_of(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes the replacement table, which the file stores in base64. */
static enum lmd_status read_table(struct hf_step *s, const struct lmd_tok_step *t,
				  struct lmd_error *err)
{
	struct lmd_str b = hf_param_str(t, "precompiled_charsmap");
	uint32_t bits = 0, n_bits = 0;
	size_t n = 0;

	if (!b.len)
		return LMD_OK;
	s->bytes = tok_host_array(s->host, b.len, 1);
	if (!s->bytes)
		return refuse(t, LMD_NOMEM, "no memory for its table", err);
	for (size_t i = 0; i < b.len && b.ptr[i] != '='; i++) {
		int d = digit_of((unsigned char)b.ptr[i]);

		if (d < 0)
			return refuse(t, LMD_CORRUPT, "its table is not valid base64", err);
		bits = bits << 6 | (uint32_t)d;
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			s->bytes[n++] = (char)(bits >> n_bits);
		}
	}
	return tok_charsmap_open(&s->map, (struct lmd_str){s->bytes, n}, err);
}

/* Reads parameters by the name of the type; in each phase a name has its own meaning. */
static enum lmd_status read_params(struct hf_step *s, const struct lmd_tok_step *t,
				   struct lmd_error *err)
{
	const char *name = s->type->name;
	bool decode = t->phase == LMD_TOK_DECODE;
	enum lmd_status st = LMD_OK;

	s->content = hf_param_str(t, "content");
	s->clean = hf_param_bool(t, "cleanup", true);
	if (!strcmp(name, "Replace") || !strcmp(name, "Split")) {
		st = read_pattern(s, t, err);
		s->invert = hf_param_bool(t, "invert", false);
		return st == LMD_OK ? read_behavior(s, t, err) : st;
	}
	if (!strcmp(name, "ByteLevel") && t->phase == LMD_TOK_SPLIT) {
		s->left = hf_param_bool(t, "add_prefix_space", true);
		s->regex = hf_param_bool(t, "use_regex", true);
		return s->regex ? compile(s, t, WORDS, strlen(WORDS), err) : LMD_OK;
	}
	if (!strcmp(name, "Metaspace")) {
		s->content = s->pattern = hf_param_str(t, "replacement");
		if (!s->content.len)
			s->content = s->pattern = (struct lmd_str){"\xe2\x96\x81", 3};
		s->split = hf_param_bool(t, "split", true);
		return read_prepend(s, t, err);
	}
	if (!strcmp(name, "CharDelimiterSplit")) {
		s->pattern = hf_param_str(t, "delimiter");
		s->behavior = HF_REMOVED;
		return s->pattern.len ? LMD_OK : refuse(t, LMD_CORRUPT, "no delimiter", err);
	}
	if (!strcmp(name, "Punctuation"))
		return read_behavior(s, t, err);
	if (!strcmp(name, "Digits"))
		s->behavior =
			hf_param_bool(t, "individual_digits", false) ? HF_ISOLATED : HF_CONTIGUOUS;
	else if (!strcmp(name, "FixedLength"))
		s->stop = param_count(t, "length") ? param_count(t, "length") : 5;
	else if (!strcmp(name, "Precompiled"))
		return read_table(s, t, err);
	else if (!strcmp(name, "Prepend"))
		s->content = hf_param_str(t, "prepend");
	else if (!strcmp(name, "Strip") && decode)
		s->start = param_count(t, "start"), s->stop = param_count(t, "stop");
	else if (!strcmp(name, "WordPiece"))
		s->content = hf_param_str(t, "prefix");
	else if (!strcmp(name, "BPEDecoder"))
		s->content = hf_param_str(t, "suffix");
	if (!strcmp(name, "CTC")) {
		s->pattern = hf_param_str(t, "pad_token");
		s->content = hf_param_str(t, "word_delimiter_token");
	}
	s->left = hf_param_bool(t, "strip_left", false);
	s->right = hf_param_bool(t, "strip_right", false);
	s->chinese = hf_param_bool(t, "handle_chinese_chars", true);
	s->lowercase = hf_param_bool(t, "lowercase", true);
	s->accents = hf_param_bool(t, "strip_accents", s->lowercase);
	if (!strcmp(name, "BertNormalizer"))
		s->clean = hf_param_bool(t, "clean_text", true);
	return st;
}

static const struct hf_type *find_type(const struct lmd_tok_step *t)
{
	for (size_t i = 0; i < LMD_LEN(types); i++)
		if (types[i].phase == t->phase && !strcmp(types[i].name, t->type))
			return &types[i];
	return NULL;
}

static enum lmd_status add_step(struct hf_state *h, const struct lmd_tok_step *t,
				struct lmd_error *err)
{
	struct hf_step *list = t->phase == LMD_TOK_NORMALIZE ? h->normal
			       : t->phase == LMD_TOK_SPLIT   ? h->split
							     : h->decode;
	uint32_t *n = t->phase == LMD_TOK_NORMALIZE ? &h->n_normal
		      : t->phase == LMD_TOK_SPLIT   ? &h->n_split
						    : &h->n_decode;
	const struct hf_type *type = find_type(t);
	struct hf_step *s = &list[*n];

	if (!type)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s type '%.60s' is not known",
				phase_name[t->phase], t->type);
	if (*n == HF_MAX_STEPS)
		return lmd_fail(err, LMD_UNSUPPORTED, "more than %d %ss", HF_MAX_STEPS,
				phase_name[t->phase]);
	(*n)++;
	s->type = type;
	s->host = h->tok.vocab.host;
	return read_params(s, t, err);
}

enum lmd_status hf_steps_open(struct hf_state *h, const struct lmd_tok_spec *spec,
			      struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < spec->n_step && st == LMD_OK; i++)
		if (spec->step[i].phase != LMD_TOK_MODEL)
			st = add_step(h, &spec->step[i], err);
	return st;
}

static void close_list(struct hf_step *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		tok_regex_free(s[i].rx);
		if (s[i].bytes)
			tok_host_free(s[i].host, s[i].bytes);
	}
}

void hf_steps_close(struct hf_state *h)
{
	close_list(h->normal, h->n_normal);
	close_list(h->split, h->n_split);
	close_list(h->decode, h->n_decode);
	h->n_normal = h->n_split = h->n_decode = 0;
}

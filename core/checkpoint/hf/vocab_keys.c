/* SPDX-License-Identifier: MIT
 *
 * Converts a vocabulary to GGUF keys, for files that are made from a checkpoint.  GGUF can
 * represent four kinds: byte-level BPE ("gpt2", with the name of the pre-tokenizer), BPE with byte
 * tokens and SentencePiece BPE ("llama", with scores), unigram ("t5"), and WordPiece ("bert"). */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/checkpoint/hf/checkpoint_impl.h"

#define PREFIX "@tokenizer.ggml."

static const struct lmd_tok_step *find_step(const struct lmd_tok_spec *s, uint32_t phase,
					    const char *type)
{
	for (uint32_t i = 0; i < s->n_step; i++)
		if (s->step[i].phase == phase && (!type || !strcmp(s->step[i].type, type)))
			return &s->step[i];
	return NULL;
}

static const struct lmd_meta *param(const struct lmd_tok_step *s, const char *key)
{
	for (uint32_t i = 0; s && i < s->n_param; i++)
		if (!strcmp(s->param[i].key, key))
			return &s->param[i];
	return NULL;
}

static bool flag(const struct lmd_tok_step *s, const char *key)
{
	const struct lmd_meta *v = param(s, key);

	return v && v->type == LMD_META_BOOL && v->v.i;
}

static bool text_is(const struct lmd_meta *v, const char *text)
{
	return v && v->type == LMD_META_STR && v->v.s.len == strlen(text) &&
	       !memcmp(v->v.s.ptr, text, v->v.s.len);
}

/* True for a byte token such as "<0x41>". */
static bool is_byte(const struct lmd_str *t)
{
	return t->len == 6 && !memcmp(t->ptr, "<0x", 3) && t->ptr[5] == '>';
}

/* Puts the token texts; ids without a text get a name. */
static void put_tokens(struct lmi_checkpoint *f, const struct lmd_tok_spec *s)
{
	struct lmd_str *v = lmi_checkpoint_alloc(f, s->n_tokens, sizeof(*v));

	for (uint32_t i = 0; v && f->status == LMD_OK && i < s->n_tokens; i++) {
		char name[24];
		int n;

		v[i] = s->text[i];
		if (v[i].ptr)
			continue;
		n = snprintf(name, sizeof(name), "[PAD%u]", i);
		v[i].ptr = lmi_arena_strndup(f->m->arena, name, (size_t)n);
		v[i].len = (size_t)n;
		if (!v[i].ptr)
			f->status = lmi_model_no_memory(f->m, (uint64_t)n, f->err);
	}
	lmi_checkpoint_put_strings(f, PREFIX "tokens", v, s->n_tokens);
}

static void put_types(struct lmi_checkpoint *f, const struct lmd_tok_spec *s, bool bytes)
{
	int64_t *v = lmi_checkpoint_alloc(f, s->n_tokens, sizeof(*v));

	for (uint32_t i = 0; v && i < s->n_tokens; i++) {
		v[i] = s->type ? s->type[i] : LMD_TOKEN_NORMAL;
		if (bytes && v[i] == LMD_TOKEN_NORMAL && s->text[i].ptr && is_byte(&s->text[i]))
			v[i] = LMD_TOKEN_BYTE;
		if (bytes && s->unk == (int32_t)i)
			v[i] = LMD_TOKEN_UNKNOWN;
	}
	lmi_checkpoint_put_ints(f, PREFIX "token_type", v, s->n_tokens);
}

/* Puts scores that give merges the same order as their ranks: the score of a token is minus the
 * rank of the first merge that produces it.  Tokens that no merge produces get the lowest score. */
static void put_rank_scores(struct lmi_checkpoint *f, const struct lmd_tok_spec *s)
{
	double *v = lmi_checkpoint_alloc(f, s->n_tokens, sizeof(*v));
	struct lmi_strmap map;
	size_t longest = 1;
	char *both;

	if (!v)
		return;
	if (!lmi_strmap_init(&map, f->m->arena, s->n_tokens)) {
		f->status = lmi_model_no_memory(f->m, s->n_tokens * 48ull, f->err);
		return;
	}
	for (uint32_t i = 0; i < s->n_tokens; i++) {
		const char *t = s->text[i].ptr ? lmi_arena_strndup(f->m->arena, s->text[i].ptr,
								   s->text[i].len)
					       : "";

		v[i] = -1e6;
		if (!t) {
			f->status = lmi_model_no_memory(f->m, s->text[i].len, f->err);
			return;
		}
		if (*t)
			(void)lmi_strmap_add(&map, t, i); /* of equal texts the first one counts */
	}
	for (uint64_t k = 0; k < s->n_merges; k++)
		longest = s->merge[k].len > longest ? s->merge[k].len : longest;
	both = lmi_checkpoint_alloc(f, longest + 1, 1);
	for (uint64_t k = 0; both && k < s->n_merges; k++) {
		uint32_t left = s->merge_left[k], id;
		size_t n = s->merge[k].len - 1;

		memcpy(both, s->merge[k].ptr, left);
		memcpy(both + left, s->merge[k].ptr + left + 1, n - left);
		both[n] = 0;
		if (lmi_strmap_find(&map, both, &id) && v[id] <= -1e6)
			v[id] = -(double)k;
	}
	lmi_checkpoint_put_floats(f, PREFIX "scores", v, s->n_tokens);
}

static void put_scores(struct lmi_checkpoint *f, const struct lmd_tok_spec *s, const double *score)
{
	double *v = lmi_checkpoint_alloc(f, s->n_tokens, sizeof(*v));

	for (uint32_t i = 0; v && i < s->n_tokens; i++)
		v[i] = score ? score[i] : s->score ? (double)s->score[i] : 0;
	lmi_checkpoint_put_floats(f, PREFIX "scores", v, s->n_tokens);
}

static void put_ids(struct lmi_checkpoint *f, const struct lmd_tok_spec *s)
{
	const struct {
		const char *key;
		int32_t id;
	} rows[] = {
		{PREFIX "bos_token_id", s->bos},        {PREFIX "eos_token_id", s->eos},
		{PREFIX "unknown_token_id", s->unk},    {PREFIX "seperator_token_id", s->sep},
		{PREFIX "padding_token_id", s->pad},    {PREFIX "cls_token_id", s->cls},
		{PREFIX "mask_token_id", s->mask},      {PREFIX "eot_token_id", s->eot},
		{PREFIX "eom_token_id", s->eom},        {PREFIX "fim_pre_token_id", s->fim_pre},
		{PREFIX "fim_suf_token_id", s->fim_suf}, {PREFIX "fim_mid_token_id", s->fim_mid},
		{PREFIX "fim_pad_token_id", s->fim_pad}, {PREFIX "fim_rep_token_id", s->fim_rep},
		{PREFIX "fim_sep_token_id", s->fim_sep},
	};

	for (size_t i = 0; i < LMD_LEN(rows); i++)
		if (rows[i].id >= 0)
			lmi_checkpoint_put_u32(f, rows[i].key, rows[i].id);
	if (s->n_step) {
		lmi_checkpoint_put_bool(f, PREFIX "add_bos_token",
					s->n_prefix && s->bos >= 0 && s->prefix[0] == s->bos);
		lmi_checkpoint_put_bool(f, PREFIX "add_eos_token",
					s->n_suffix && s->eos >= 0 &&
						s->suffix[s->n_suffix - 1] == s->eos);
		return;
	}
	if (s->add_bos >= 0)
		lmi_checkpoint_put_bool(f, PREFIX "add_bos_token", s->add_bos > 0);
	if (s->add_eos >= 0)
		lmi_checkpoint_put_bool(f, PREFIX "add_eos_token", s->add_eos > 0);
}

/* True if a space is added before every text. */
static bool space_prefix(const struct lmd_tok_spec *s)
{
	const struct lmd_tok_step *m = find_step(s, LMD_TOK_SPLIT, "Metaspace");

	if (find_step(s, LMD_TOK_NORMALIZE, "Prepend"))
		return true;
	if (!m)
		return false;
	return param(m, "prepend_scheme") ? !text_is(param(m, "prepend_scheme"), "never")
					  : flag(m, "add_prefix_space");
}

static void put_kind(struct lmi_checkpoint *f, const char *kind, const char *pre)
{
	lmi_checkpoint_put_str(f, PREFIX "model", kind, strlen(kind));
	lmi_checkpoint_put_str(f, PREFIX "pre", pre, strlen(pre));
}

static void put_bytelevel(struct lmi_checkpoint *f, const struct lmd_tok_spec *s, const char *pre)
{
	put_kind(f, "gpt2", pre);
	put_tokens(f, s);
	put_types(f, s, false);
	lmi_checkpoint_put_strings(f, PREFIX "merges", s->merge, s->n_merges);
}

static void put_bpe(struct lmi_checkpoint *f, const struct lmd_tok_spec *s)
{
	put_kind(f, "llama", "default");
	put_tokens(f, s);
	put_rank_scores(f, s);
	put_types(f, s, true);
	lmi_checkpoint_put_bool(f, PREFIX "add_space_prefix", space_prefix(s));
}

static void put_sentencepiece(struct lmi_checkpoint *f, const struct lmd_tok_spec *s)
{
	static const struct {
		const char *key;
		size_t at;
	} flags[] = {
		{PREFIX "add_space_prefix", offsetof(struct lmd_tok_spec, add_space_prefix)},
		{PREFIX "remove_extra_whitespaces",
		 offsetof(struct lmd_tok_spec, remove_extra_whitespaces)},
		{PREFIX "escape_whitespaces", offsetof(struct lmd_tok_spec, escape_whitespaces)},
		{PREFIX "treat_whitespace_as_suffix",
		 offsetof(struct lmd_tok_spec, treat_whitespace_as_suffix)},
	};

	put_kind(f, s->kind, s->pre ? s->pre : "default");
	put_tokens(f, s);
	put_scores(f, s, NULL);
	put_types(f, s, true);
	for (size_t i = 0; i < LMD_LEN(flags); i++) {
		int8_t v = *((const int8_t *)s + flags[i].at);

		if (v >= 0)
			lmi_checkpoint_put_bool(f, flags[i].key, v > 0);
	}
	if (s->charsmap.ptr) {
		int64_t *v = lmi_checkpoint_alloc(f, s->charsmap.len, sizeof(*v));

		for (size_t i = 0; v && i < s->charsmap.len; i++)
			v[i] = (uint8_t)s->charsmap.ptr[i];
		lmi_checkpoint_put_bytes(f, PREFIX "precompiled_charsmap", v, s->charsmap.len);
	}
}

/* ---- WordPiece ---- */

/* GGUF marks the start of a word with U+2581 and continuations not at all: "##ing" becomes
 * "ing". */
static enum lmd_status convert_piece(struct lmi_checkpoint *f, struct lmd_str *t)
{
	bool special = t->len > 1 && t->ptr[0] == '[' && t->ptr[t->len - 1] == ']';
	char *p;

	if (special)
		return LMD_OK;
	if (t->len > 2 && !memcmp(t->ptr, "##", 2)) {
		t->ptr += 2;
		t->len -= 2;
		return LMD_OK;
	}
	p = lmi_arena_printf(f->m->arena, "\xe2\x96\x81%.*s", (int)t->len, t->ptr);
	if (!p)
		return lmi_model_no_memory(f->m, t->len + 4, f->err);
	t->ptr = p;
	t->len += 3;
	return LMD_OK;
}

static void put_wordpiece(struct lmi_checkpoint *f, const struct lmd_tok_spec *s)
{
	const struct lmd_tok_step *n = find_step(s, LMD_TOK_NORMALIZE, "BertNormalizer");
	const struct lmd_meta *strip = param(n, "strip_accents");
	struct lmd_str *v;

	put_kind(f, "bert", "default");
	put_tokens(f, s);
	v = f->status == LMD_OK ? (struct lmd_str *)(uintptr_t)f->m->meta[f->m->view.n_meta - 1].v.a
				: NULL;
	for (uint32_t i = 0; v && f->status == LMD_OK && i < s->n_tokens; i++)
		f->status = convert_piece(f, &v[i]);
	put_types(f, s, false);
	if (n) {
		lmi_checkpoint_put_bool(f, PREFIX "normalizer.lowercase", flag(n, "lowercase"));
		lmi_checkpoint_put_bool(f, PREFIX "normalizer.strip_accents",
					strip && strip->type == LMD_META_BOOL
						? strip->v.i != 0
						: flag(n, "lowercase"));
	}
}

/* ---- unigram ---- */

static int base64_value(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

/* Decodes the character table, which tokenizer.json stores as base64. */
static void put_charsmap(struct lmi_checkpoint *f, const struct lmd_meta *text)
{
	uint64_t n = 0, bits = 0, have = 0;
	int64_t *v;

	if (!text || text->type != LMD_META_STR)
		return;
	v = lmi_checkpoint_alloc(f, text->v.s.len, sizeof(*v));
	for (size_t i = 0; v && i < text->v.s.len; i++) {
		int d = base64_value(text->v.s.ptr[i]);

		if (d < 0)
			break;
		bits = bits << 6 | (unsigned)d;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		v[n++] = (int64_t)(bits >> have & 255);
	}
	lmi_checkpoint_put_bytes(f, PREFIX "precompiled_charsmap", v, n);
}

static void put_unigram(struct lmi_checkpoint *f, const struct lmd_tok_spec *s,
			const struct lmd_tok_step *m)
{
	const struct lmd_meta *score = param(m, "scores");

	put_kind(f, "t5", "default");
	put_tokens(f, s);
	put_scores(f, s,
		   score && score->type == LMD_META_ARR_F64 && score->n >= s->n_tokens ? score->v.a
										       : NULL);
	put_types(f, s, true);
	lmi_checkpoint_put_bool(f, PREFIX "add_space_prefix", space_prefix(s));
	lmi_checkpoint_put_bool(f, PREFIX "remove_extra_whitespaces",
				find_step(s, LMD_TOK_NORMALIZE, "Replace") != NULL);
	put_charsmap(f, param(find_step(s, LMD_TOK_NORMALIZE, "Precompiled"),
			      "precompiled_charsmap"));
}

/* Returns NULL on success, otherwise why the vocabulary cannot be represented. */
static const char *put_vocab(struct lmi_checkpoint *f, const struct lmd_tok_spec *s,
			     const char *pre)
{
	const struct lmd_tok_step *m = find_step(s, LMD_TOK_MODEL, NULL);

	if (!s->n_step) {
		put_sentencepiece(f, s);
		return NULL;
	}
	if (m && !strcmp(m->type, "WordPiece")) {
		put_wordpiece(f, s);
		return NULL;
	}
	if (m && !strcmp(m->type, "Unigram")) {
		put_unigram(f, s, m);
		return NULL;
	}
	if (!m || strcmp(m->type, "BPE") != 0)
		return "its model is not BPE, WordPiece, unigram or SentencePiece";
	if (find_step(s, LMD_TOK_SPLIT, "ByteLevel")) {
		pre = pre ? pre : lmi_checkpoint_pretokenizer_name(s, f->map ? f->map->pretokenizer : NULL);
		if (!pre)
			return "GGUF has no name for its pre-tokenizer; choose one with --pre";
		put_bytelevel(f, s, pre);
		return NULL;
	}
	if (!flag(m, "byte_fallback"))
		return "its BPE model is neither byte-level nor has byte tokens";
	put_bpe(f, s);
	return NULL;
}

const char *lmi_checkpoint_add_vocab_keys(struct lmi_checkpoint *f, const char *pre)
{
	const struct lmd_tok_spec *s = &f->m->tok;
	const char *why;

	if (f->status != LMD_OK || !s->text)
		return NULL;
	why = put_vocab(f, s, pre);
	if (why)
		return why;
	put_ids(f, s);
	if (f->m->view.chat_template.ptr)
		lmi_checkpoint_put_str(f, "@tokenizer.chat_template", f->m->view.chat_template.ptr,
				       f->m->view.chat_template.len);
	return NULL;
}

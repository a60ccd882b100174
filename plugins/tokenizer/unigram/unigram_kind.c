/* SPDX-License-Identifier: MIT
 *
 * Kind t5: SentencePiece's unigram model. The text is normalised with the model's replacement
 * table; its spaces become U+2581, are merged, and one is added in front (or at the end) as the
 * file says. Then the best segmentation into tokens is taken. */
#include <string.h>

#include "common/charsmap.h"
#include "common/unicode.h"
#include "common/unigram.h"
#include "llamad/plugin.h"

enum { BUF_NORMAL = 2 };

#define BLOCK "\xe2\x96\x81"

struct unigram_state {
	struct tok_tokenizer_base tok; /* must be first */
	struct tok_unigram uni;
	struct tok_charsmap map;
	struct tok_trie user; /* user-defined tokens, which are not normalised */
	bool merge_spaces, suffix;
	struct lmd_str space;   /* replacement for a space */
};

/* The normalised text as it is built. */
struct normal {
	const struct unigram_state *u;
	struct tok_encode_job *job;
	size_t n;
	bool in_word, prepended;
	bool prepend;
};

static bool append(struct normal *o, const char *s, size_t n)
{
	struct tok_buf *b = &o->job->buf[BUF_NORMAL];

	if (!tok_buf_reserve(b, o->job->host, o->n + n))
		return false;
	memcpy((char *)b->p + o->n, s, n);
	o->n += n;
	return true;
}

/* Appends normalised bytes; decides about each single space. */
static bool add_bytes(struct normal *o, const char *s, size_t n)
{
	const struct lmd_str *space = &o->u->space;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == ' ') {
			o->in_word = false;
			if (!o->u->merge_spaces && !append(o, space->ptr, space->len))
				return false;
			continue;
		}
		if (!o->in_word) {
			o->in_word = true;
			if ((o->prepend && !o->prepended) || o->u->merge_spaces) {
				o->prepended = true;
				if (!append(o, space->ptr, space->len))
					return false;
			}
		}
		if (!append(o, s + i, 1))
			return false;
	}
	return true;
}

/* Returns how far a prefix of some user-defined token matches s. These bytes stay as they are,
 * even if the rest of the token does not match the text. */
static size_t user_token_prefix(const struct tok_trie *t, const char *s, size_t n)
{
	uint32_t node = TOK_TRIE_ROOT;
	size_t i = 0;

	for (; i < n; i++) {
		node = tok_trie_next(t, node, (unsigned char)s[i]);
		if (node == TOK_NONE)
			break;
	}
	return i;
}

/* Returns the length of the sequence at s if all its continuation bytes are present, otherwise 0.
 * Values above U+10FFFF pass: their bytes are kept. */
static size_t sequence(const char *s, size_t n)
{
	unsigned char c = (unsigned char)*s;
	size_t len = tok_utf8_len(c);

	if (c < 0x80)
		return 1;
	if (c < 0xc0 || c >= 0xf8 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

static enum lmd_status unigram_text(const struct tok_tokenizer_base *t, struct tok_encode_job *j,
				    const char *s, size_t n)
{
	const struct unigram_state *u = (const struct unigram_state *)t;
	bool prefix = t->vocab.info.add_space_prefix;
	struct normal o = {.u = u, .job = j, .prepend = prefix && !u->suffix};
	bool ok = true;

	for (size_t at = 0, len; ok && at < n; at += len) {
		struct lmd_str with;

		if (!tok_encode_job_step(j, 4))
			return LMD_CANCELLED;
		len = user_token_prefix(&u->user, s + at, n - at);
		with = (struct lmd_str){s + at, len};
		if (!len)
			len = tok_charsmap_find(&u->map, s + at, n - at, &with);
		if (!len) {
			len = sequence(s + at, n - at);
			with = (struct lmd_str){s + at, len};
		}
		if (!len) {
			len = 1;
			with = (struct lmd_str){"\xef\xbf\xbd", 3};
		}
		ok = add_bytes(&o, with.ptr, with.len);
	}
	if (ok && prefix && u->suffix)
		ok = append(&o, u->space.ptr, u->space.len);
	return ok ? tok_unigram_text(&u->uni, j, j->buf[BUF_NORMAL].p, o.n) : LMD_NOMEM;
}

static void unigram_close(struct tok_tokenizer_base *t)
{
	struct unigram_state *u = (struct unigram_state *)t;

	tok_trie_fini(&u->user, t->vocab.host);
	tok_unigram_close(&u->uni);
}

static enum lmd_status build(struct unigram_state *u, const struct lmd_tok_spec *spec,
			     struct lmd_error *err)
{
	const struct tok_vocab *v = &u->tok.vocab;
	enum lmd_status st = tok_charsmap_open(&u->map, spec->charsmap, err);
	bool ok;

	if (st == LMD_OK)
		st = tok_unigram_open(&u->uni, v, err);
	if (st != LMD_OK)
		return st;
	ok = tok_trie_init(&u->user, v->host, 64);
	for (uint32_t i = 0; ok && i < v->n; i++)
		if (v->attr[i] & TOK_ATTR_USER)
			ok = tok_trie_add(&u->user, v->host, v->text[i].ptr, v->text[i].len, i);
	return ok ? LMD_OK
		  : lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens", v->n);
}

static enum lmd_status unigram_open(void *state, const struct lmd_host *host,
				    const struct lmd_tok_spec *spec, struct lmd_tok_info *info,
				    struct lmd_error *err)
{
	static const struct tok_vocab_defaults def = {
		.bos = -1,
		.eos = 1,
		.unk = 2,
		.sep = -1,
		.pad = 0,
		.mask = -1,
		.add_eos = 1,
	};
	struct unigram_state *u = state;
	enum lmd_status st = tok_vocab_open(&u->tok.vocab, host, spec, err);

	if (st != LMD_OK)
		return st;
	u->merge_spaces = spec->remove_extra_whitespaces == 1;
	u->suffix = spec->treat_whitespace_as_suffix == 1;
	u->space = spec->escape_whitespaces != 0 ? (struct lmd_str){BLOCK, 3}
						 : (struct lmd_str){" ", 1};
	u->tok.kind = (struct tok_kind){.add = TOK_ADD_FLAGS,
					.piece = TOK_PIECE_BLOCK,
					.text = unigram_text,
					.close = unigram_close};
	st = build(u, spec, err);
	if (st != LMD_OK) {
		tok_close(u);
		return st;
	}
	return tok_finish(&u->tok, &def, info, err);
}

static const struct lmd_tokenizer_ops ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = unigram_open,
	.close = tok_close,
	.encode = tok_encode,
	.decode = tok_decode,
	.piece = tok_piece,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_TOKENIZER,
	.name = "t5",
	.aliases = "ugm\0unigram\0",
	.state_bytes = sizeof(struct unigram_state),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("tokenizer-unigram", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER),
		  factories)

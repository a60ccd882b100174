/* SPDX-License-Identifier: MIT
 *
 * Kind bert: text is split into words at white space, punctuation and Chinese characters,
 * lower-cased and stripped of accents as the file says. A word, preceded by U+2581, is covered
 * from the left by the longest tokens. A word that cannot be covered becomes one unknown token. */
#include <string.h>

#include "common/tokenizer_base.h"
#include "common/trie.h"
#include "common/unicode.h"
#include "llamad/plugin.h"

enum { BUF_WORD };

struct wordpiece_state {
	struct tok_tokenizer_base tok; /* must be first */
	struct tok_trie trie;
	bool lowercase, strip_accents;
};

/* A word as it is collected; it starts with the word-start mark. */
struct word {
	struct tok_buf *buf;
	size_t n;
};

#define MARK "\xe2\x96\x81"

static enum lmd_status put_word(const struct wordpiece_state *s, struct tok_encode_job *j,
				struct word *w)
{
	const char *p = w->buf->p;
	size_t first = j->n, at = 0, n = w->n;

	w->n = 3;
	if (n == 3)
		return LMD_OK;
	while (at < n) {
		uint32_t id;
		size_t len = tok_trie_longest(&s->trie, p + at, n - at, &id);

		if (!len)
			break;
		if (!tok_encode_job_step(j, len))
			return LMD_CANCELLED;
		tok_encode_job_put(j, id);
		at += len;
	}
	if (at < n) {
		j->n = first;
		if (s->tok.vocab.info.unk >= 0)
			tok_encode_job_put(j, (uint32_t)s->tok.vocab.info.unk);
	}
	return LMD_OK;
}

static bool is_chinese(uint32_t cp)
{
	static const uint32_t range[][2] = {
		{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
		{0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
	};

	if (cp < 0x3400)
		return false;
	for (size_t i = 0; i < LMD_LEN(range); i++)
		if (cp >= range[i][0] && cp <= range[i][1])
			return true;
	return false;
}

static bool add_char(struct word *w, const struct lmd_host *host, uint32_t cp)
{
	char utf8[4];
	size_t n = tok_ucd_put_utf8(utf8, cp);

	if (!tok_buf_reserve(w->buf, host, w->n + n))
		return false;
	memcpy((char *)w->buf->p + w->n, utf8, n);
	w->n += n;
	return true;
}

static enum lmd_status wordpiece_text(const struct tok_tokenizer_base *t, struct tok_encode_job *j,
				      const char *text, size_t n)
{
	const struct wordpiece_state *s = (const struct wordpiece_state *)t;
	struct word w = {&j->buf[BUF_WORD], 3};
	const char *end = text + n;
	enum lmd_status st = LMD_OK;

	if (!tok_buf_reserve(w.buf, j->host, 256))
		return LMD_NOMEM;
	memcpy(w.buf->p, MARK, 3);
	while (text < end && st == LMD_OK) {
		uint32_t cp = tok_utf8_get(&text, end), set;
		bool alone;

		if (!tok_encode_job_step(j, 2))
			return LMD_CANCELLED;
		if (s->strip_accents)
			cp = tok_ucd_base_char(cp);
		set = 1u << tok_ucd_cat(cp);
		if (set & TOK_UCD_SPACE) {
			st = put_word(s, j, &w);
			continue;
		}
		if (!cp || cp == 0xfffd || (set & TOK_UCD_C) ||
		    (s->strip_accents && (set & TOK_UCD_M)))
			continue;
		alone = (set & TOK_UCD_P) || (cp < 0x7f && (set & TOK_UCD_S)) || is_chinese(cp);
		if (alone)
			st = put_word(s, j, &w);
		if (!add_char(&w, j->host, s->lowercase ? tok_ucd_lower(cp) : cp))
			return LMD_NOMEM;
		if (alone && st == LMD_OK)
			st = put_word(s, j, &w);
	}
	return st == LMD_OK ? put_word(s, j, &w) : st;
}

static void wordpiece_close(struct tok_tokenizer_base *t)
{
	tok_trie_fini(&((struct wordpiece_state *)t)->trie, t->vocab.host);
}

static bool build(struct wordpiece_state *s)
{
	const struct tok_vocab *v = &s->tok.vocab;
	size_t bytes = 0;

	for (uint32_t i = 0; i < v->n; i++)
		bytes += v->text[i].len;
	if (!tok_trie_init(&s->trie, v->host, bytes / 2))
		return false;
	for (uint32_t i = 0; i < v->n; i++)
		if (!tok_trie_add(&s->trie, v->host, v->text[i].ptr, v->text[i].len, i))
			return false;
	return true;
}

static enum lmd_status wordpiece_open(void *state, const struct lmd_host *host,
				      const struct lmd_tok_spec *spec, struct lmd_tok_info *info,
				      struct lmd_error *err)
{
	static const struct tok_vocab_defaults def = {
		.bos = 101,
		.eos = -1,
		.unk = 100,
		.sep = 102,
		.pad = 0,
		.mask = 103,
		.add_bos = 1,
		.add_sep = 1,
		.clean_spaces = 1,
	};
	struct wordpiece_state *s = state;
	enum lmd_status st = tok_vocab_open(&s->tok.vocab, host, spec, err);

	if (st != LMD_OK)
		return st;
	s->lowercase = spec->lowercase != 0;
	s->strip_accents = spec->strip_accents >= 0 ? spec->strip_accents : s->lowercase;
	s->tok.kind = (struct tok_kind){.add = TOK_ADD_BOS_SEP,
					.piece = TOK_PIECE_BLOCK,
					.text = wordpiece_text,
					.close = wordpiece_close};
	if (!build(s)) {
		tok_close(s);
		return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens",
				spec->n_tokens);
	}
	return tok_finish(&s->tok, &def, info, err);
}

static const struct lmd_tokenizer_ops ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = wordpiece_open,
	.close = tok_close,
	.encode = tok_encode,
	.decode = tok_decode,
	.piece = tok_piece,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_TOKENIZER,
	.name = "bert",
	.aliases = "wpm\0wordpiece\0",
	.state_bytes = sizeof(struct wordpiece_state),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("tokenizer-wordpiece", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER),
		  factories)

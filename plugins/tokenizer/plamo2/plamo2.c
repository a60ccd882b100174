/* SPDX-License-Identifier: MIT
 *
 * Kind plamo2: the segmentation of a text into tokens with the least cost, found from the end of
 * the text: cost[i] is the least cost of the text from character i on. The cost of a token is its
 * negated score, rounded to 1e-4; a character that no token covers costs 1000 and becomes its
 * bytes. Of tokens with equal cost the longest wins. A byte order mark at the start is dropped.
 * Begin and end tokens are never added. */
#include <math.h>
#include <string.h>

#include "common/tokenizer_base.h"
#include "common/trie.h"
#include "common/unicode.h"
#include "llamad/plugin.h"

enum { BUF_CLEAN, BUF_BEST, BUF_HITS };

#define UNKNOWN_SCORE (-10000000)
#define USABLE_SCORE  (-20000000) /* usable scores must be greater */

struct plamo2_state {
	struct tok_tokenizer_base tok; /* must be first */
	struct tok_trie trie;
	int32_t *score;     /* [n], in units of 1e-4 */
	uint32_t byte_token[256];
};

/* The best continuation from a byte of the text. */
struct best {
	int64_t cost;
	uint32_t id;  /* TOK_NONE: the bytes of one character */
	uint32_t len; /* in bytes; 0 = not the start of a character */
};

struct hit {
	uint32_t len, id;
};

/* Computes b[at] from the entries after it. */
static bool choose(const struct plamo2_state *p, struct tok_encode_job *j, const char *s, size_t n,
		   size_t at, struct best *b)
{
	size_t n_hit = 0, one = tok_utf8_len((unsigned char)s[at]);
	uint32_t node = TOK_TRIE_ROOT;
	const struct hit *hit;
	bool ended = false;

	for (size_t i = at; i < n; i++) {
		node = tok_trie_next(&p->trie, node, (unsigned char)s[i]);
		if (node == TOK_NONE)
			break;
		if (p->trie.node[node].value == TOK_NONE || (i + 1 < n && !b[i + 1].len))
			continue;
		if (!tok_buf_reserve(&j->buf[BUF_HITS], j->host, (n_hit + 1) * sizeof(struct hit)))
			return false;
		((struct hit *)j->buf[BUF_HITS].p)[n_hit++] =
			(struct hit){(uint32_t)(i + 1 - at), p->trie.node[node].value};
	}
	hit = j->buf[BUF_HITS].p;
	b[at] = (struct best){INT64_MAX, TOK_NONE, (uint32_t)one};
	while (n_hit-- && !ended) { /* longest first */
		int64_t cost = b[at + hit[n_hit].len].cost - p->score[hit[n_hit].id];

		if (p->score[hit[n_hit].id] <= USABLE_SCORE)
			continue;
		if (cost < b[at].cost)
			b[at] = (struct best){cost, hit[n_hit].id, hit[n_hit].len};
		ended = p->score[hit[n_hit].id] == UNKNOWN_SCORE;
	}
	if (!ended && b[at + one].cost - UNKNOWN_SCORE < b[at].cost)
		b[at] = (struct best){b[at + one].cost - UNKNOWN_SCORE, TOK_NONE, (uint32_t)one};
	return true;
}

static enum lmd_status plamo2_text(const struct tok_tokenizer_base *t, struct tok_encode_job *j,
				   const char *s, size_t n)
{
	const struct plamo2_state *p = (const struct plamo2_state *)t;
	struct best *b;

	if (!tok_encode_job_step(j, tok_work_scan(n)))
		return LMD_CANCELLED;
	if (!tok_utf8_canonical(s, n, TOK_UTF8_TOP)) {
		if (!tok_buf_reserve(&j->buf[BUF_CLEAN], j->host, n * 3))
			return LMD_NOMEM;
		n = tok_utf8_canonicalise(j->buf[BUF_CLEAN].p, s, n, TOK_UTF8_TOP);
		s = j->buf[BUF_CLEAN].p;
	}
	if (n >= 3 && !memcmp(s, "\xef\xbb\xbf", 3)) {
		s += 3;
		n -= 3;
	}
	if (!tok_buf_reserve(&j->buf[BUF_BEST], j->host, (n + 1) * sizeof(*b)))
		return LMD_NOMEM;
	b = j->buf[BUF_BEST].p;
	b[n] = (struct best){0, TOK_NONE, 1};
	for (size_t at = n; at-- > 0;) {
		b[at].len = 0;
		if (!tok_encode_job_step(j, 8))
			return LMD_CANCELLED;
		if (((unsigned char)s[at] & 0xc0) != 0x80 && !choose(p, j, s, n, at, b))
			return LMD_NOMEM;
	}
	for (size_t at = 0; at < n; at += b[at].len) {
		if (!tok_encode_job_step(j, b[at].len))
			return LMD_CANCELLED;
		if (b[at].id != TOK_NONE) {
			tok_encode_job_put(j, b[at].id);
			continue;
		}
		for (uint32_t i = 0; i < b[at].len; i++)
			tok_encode_job_put(j, p->byte_token[(unsigned char)s[at + i]]);
	}
	return LMD_OK;
}

static void plamo2_close(struct tok_tokenizer_base *t)
{
	struct plamo2_state *p = (struct plamo2_state *)t;

	tok_trie_fini(&p->trie, t->vocab.host);
	tok_host_free(t->vocab.host, p->score);
}

/* Scores beyond the range of the integer count as unusable. */
static int32_t rounded(float score)
{
	double v = round((double)score * 1e4);

	if (!(v > USABLE_SCORE))
		return USABLE_SCORE;
	return v < INT32_MAX ? (int32_t)v : INT32_MAX;
}

static enum lmd_status build(struct plamo2_state *p, struct lmd_error *err)
{
	const struct tok_vocab *v = &p->tok.vocab;
	size_t bytes = 0;
	bool ok;

	for (unsigned c = 0; c < 256; c++) {
		p->byte_token[c] = tok_vocab_byte(v, c);
		if (p->byte_token[c] == TOK_NONE || !(v->attr[p->byte_token[c]] & TOK_ATTR_BYTE))
			return lmd_fail(err, LMD_CORRUPT,
					"vocabulary: the byte token <0x%02X> is missing", c);
	}
	for (uint32_t i = 0; i < v->n; i++)
		bytes += v->text[i].len;
	p->score = tok_host_array(v->host, v->n, sizeof(*p->score));
	ok = p->score && tok_trie_init(&p->trie, v->host, bytes / 2);
	for (uint32_t i = 0; ok && i < v->n; i++) {
		p->score[i] = rounded(tok_vocab_score(v, i));
		if (!(v->attr[i] & TOK_ATTR_BYTE))
			ok = tok_trie_add(&p->trie, v->host, v->text[i].ptr, v->text[i].len, i);
	}
	return ok ? LMD_OK
		  : lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens", v->n);
}

static enum lmd_status plamo2_open(void *state, const struct lmd_host *host,
				   const struct lmd_tok_spec *spec, struct lmd_tok_info *info,
				   struct lmd_error *err)
{
	static const struct tok_vocab_defaults def = {
		.bos = 1,
		.eos = 2,
		.unk = 0,
		.sep = -1,
		.pad = 3,
		.mask = -1,
	};
	struct plamo2_state *p = state;
	enum lmd_status st = tok_vocab_open(&p->tok.vocab, host, spec, err);

	if (st != LMD_OK)
		return st;
	p->tok.kind = (struct tok_kind){.add = TOK_ADD_NOTHING,
					.piece = TOK_PIECE_RAW,
					.text = plamo2_text,
					.close = plamo2_close};
	st = build(p, err);
	if (st != LMD_OK) {
		tok_close(p);
		return st;
	}
	return tok_finish(&p->tok, &def, info, err);
}

static const struct lmd_tokenizer_ops ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = plamo2_open,
	.close = tok_close,
	.encode = tok_encode,
	.decode = tok_decode,
	.piece = tok_piece,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_TOKENIZER,
	.name = "plamo2",
	.state_bytes = sizeof(struct plamo2_state),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("tokenizer-plamo2", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER),
		  factories)

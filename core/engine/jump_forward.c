/* SPDX-License-Identifier: MIT
 *
 * Tokens of forced text; constrain.h says which may be taken and which are left to the model.
 *
 * How a text is tokenised depends on its surroundings, so the forced text is tokenised together
 * with the last tokens of the sequence, and these must come out unchanged. Vocabularies that insert
 * a space before every text would insert it before those, so there is a second try with a line feed
 * in front, whose tokens are known. */
#include <string.h>

#include "core/engine/constrain_impl.h"

/* Maximum bytes of forced text that are examined. */
#define TEXT_MAX 512
/* Maximum number of preceding tokens that are tokenised with it, and their bytes. */
#define TAIL_MAX   LMI_ENGINE_JUMP_TAIL
#define TAIL_BYTES 128
/* Offset of the forced text: a line feed and the tail precede it. */
#define HEAD (1 + TAIL_BYTES)

struct jump {
	const struct lmi_tokenizer *tok;
	const lmd_token *tail; /* [n_tail] the last tokens, as far as they are text */
	uint32_t n_tail;
	size_t tail_bytes; /* bytes of the tail, before HEAD */
	size_t n_text;	   /* bytes from HEAD on */
	char text[HEAD + TEXT_MAX];
	struct lmi_text_token_buf ids;
	size_t at; /* index in ids of the forced text */
};

static void take_tail(struct jump *j, const lmd_token *before, uint32_t n_before, uint32_t most)
{
	j->n_tail = 0;
	j->tail_bytes = 0;
	while (j->n_tail < most && j->n_tail < n_before) {
		lmd_token id = before[n_before - 1 - j->n_tail];
		char p[TAIL_BYTES];
		size_t n = id < 0 ? 0 : lmi_tokenizer_piece(j->tok, id, 0, p, sizeof(p));

		if (!n || n > TAIL_BYTES - j->tail_bytes)
			break;
		j->tail_bytes += n;
		memcpy(j->text + HEAD - j->tail_bytes, p, n);
		j->n_tail++;
	}
	j->tail = before + n_before - j->n_tail;
}

/* Returns true if the ids from `at` on spell the forced text. */
static bool spells(const struct jump *j)
{
	size_t done = 0;

	for (size_t i = j->at; i < j->ids.n; i++) {
		char p[TEXT_MAX];
		size_t n = lmi_tokenizer_piece(j->tok, j->ids.id[i], 0, p, sizeof(p));

		if (!n || n > j->n_text - done || memcmp(p, j->text + HEAD + done, n))
			return false;
		done += n;
	}
	return done == j->n_text;
}

/* Tokenises tail and forced text, optionally after a line feed. Returns false if the tail does not
 * come out unchanged or if memory runs out. */
static bool encode(struct jump *j, bool behind_line)
{
	const char *from = j->text + HEAD - j->tail_bytes;
	size_t n = j->tail_bytes + j->n_text, n_line = 0;

	if (behind_line) {
		if (lmi_tokenizer_encode(j->tok, "\n", 1, 0, &j->ids, NULL) != LMD_OK)
			return false;
		n_line = j->ids.n;
		j->text[HEAD - j->tail_bytes - 1] = '\n';
		from--;
		n++;
	}
	if (lmi_tokenizer_encode(j->tok, from, n, 0, &j->ids, NULL) != LMD_OK)
		return false;
	j->at = n_line + j->n_tail;
	return j->ids.n > j->at &&
	       !memcmp(j->ids.id + n_line, j->tail, j->n_tail * sizeof(*j->tail)) && spells(j);
}

static bool encode_behind(struct jump *j, const lmd_token *before, uint32_t n_before)
{
	static const uint32_t tails[] = {TAIL_MAX, 1};

	for (size_t i = 0; i < LMD_LEN(tails); i++) {
		take_tail(j, before, n_before, tails[i]);
		if (encode(j, false) || encode(j, true))
			return true;
		if (j->n_tail <= 1)
			break;
	}
	return false;
}

/* Takes tokens up to the point after which the remaining text might be tokenised differently. */
static void take_sure(const struct jump *j, const struct lmi_grammar_vocab *v, bool ends,
		      struct lmi_engine_planned_tokens *out)
{
	size_t n = j->ids.n - j->at, done = 0;

	out->n = out->at = 0;
	for (size_t i = 0; i < n && out->n < LMI_ENGINE_JUMP_MAX; i++) {
		lmd_token id = j->ids.id[j->at + i];

		if (!ends && (i + 1 == n ||
			      lmi_gr_vocab_has_longer(v, j->text + HEAD + done, j->n_text - done)))
			break;
		out->token[out->n++] = id;
		done += lmi_tokenizer_piece(j->tok, id, 0, NULL, 0);
	}
}

enum lmd_status lmi_engine_jump_forward_plan(struct lmi_engine_constraint *c,
					     const struct lmi_grammar_vocab *v,
					     const lmd_token *before, uint32_t n_before)
{
	struct jump j = {.tok = c->tok};
	bool ends;
	enum lmd_status st =
		lmi_gr_state_forced(c->state, j.text + HEAD, TEXT_MAX, &j.n_text, &ends);

	c->ahead.n = c->ahead.at = 0;
	if (st != LMD_OK || !j.n_text)
		return st;
	if (encode_behind(&j, before, n_before))
		take_sure(&j, v, ends, &c->ahead);
	lmi_text_token_buf_fini(&j.ids);
	return LMD_OK;
}

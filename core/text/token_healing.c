/* SPDX-License-Identifier: MIT
 *
 * Tokens are compared by the bytes that they have in the middle of a text. */
#include "core/text/token_healing.h"

#include <string.h>

/* Copies at most LMI_HEAL_BYTES_MAX of the token's piece; returns 0 for tokens that are not text. */
static size_t piece(const struct lmi_token_healing *h, lmd_token id, char out[LMI_HEAL_BYTES_MAX])
{
	return lmi_tokenizer_piece(h->t, id, 0, out, LMI_HEAL_BYTES_MAX);
}

/* Whether some token starts with the whole text and is longer than it. */
static bool extends_to_token(const struct lmi_token_healing *h, const char *text, size_t n)
{
	uint32_t n_tokens = lmi_tokenizer_info(h->t)->n_tokens;
	char p[LMI_HEAL_BYTES_MAX];

	for (uint32_t id = 0; id < n_tokens; id++)
		if (piece(h, (lmd_token)id, p) > n && !memcmp(p, text, n))
			return true;
	return false;
}

size_t lmi_heal_begin(struct lmi_token_healing *h, const struct lmi_tokenizer *t,
		      const lmd_token *ids, size_t n, size_t max_back)
{
	char text[LMI_HEAL_BYTES_MAX], p[LMI_HEAL_BYTES_MAX];
	size_t len = 0, kept = n;

	memset(h, 0, sizeof(*h));
	h->t = t;
	for (size_t back = 1; back <= max_back && back <= n; back++) {
		size_t k = piece(h, ids[n - back], p);

		if (!k || k + len >= LMI_HEAL_BYTES_MAX)
			break;
		memmove(text + k, text, len);
		memcpy(text, p, k);
		len += k;
		if (extends_to_token(h, text, len)) {
			memcpy(h->text, text, len);
			h->n = len;
			kept = n - back;
		}
	}
	return kept;
}

bool lmi_heal_allows(const struct lmi_token_healing *h, lmd_token id)
{
	size_t left = h->n - h->at, n;
	char p[LMI_HEAL_BYTES_MAX];

	if (!left)
		return true;
	n = piece(h, id, p);
	return n && !memcmp(p, h->text + h->at, n < left ? n : left);
}

void lmi_heal_accept(struct lmi_token_healing *h, lmd_token id)
{
	char p[LMI_HEAL_BYTES_MAX];
	size_t left = h->n - h->at, n = piece(h, id, p);

	h->at += n < left ? n : left;
}

/* SPDX-License-Identifier: MIT
 *
 * Edit distance with insertions, deletions, substitutions and transpositions of neighbours, each of
 * cost 1. A word is close enough if at most a third of its letters differ (at least one, at most
 * three), or if it begins with the typed text. */
#include "core/cli/suggest.h"

#include <string.h>

#define WORD_MAX 40

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
	a = a < b ? a : b;
	return a < c ? a : c;
}

/* Both words must be at most WORD_MAX long. */
static uint32_t distance(const char *a, uint32_t na, const char *b, uint32_t nb)
{
	uint32_t row[3][WORD_MAX + 1];

	for (uint32_t j = 0; j <= nb; j++)
		row[0][j] = j;
	for (uint32_t i = 1; i <= na; i++) {
		uint32_t *cur = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

		cur[0] = i;
		for (uint32_t j = 1; j <= nb; j++) {
			cur[j] =
				min3(up[j] + 1, cur[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    up2[j - 2] + 1 < cur[j])
				cur[j] = up2[j - 2] + 1;
		}
	}
	return row[na % 3][nb];
}

void lmi_suggest_init(struct lmi_suggest *s, const char *typed)
{
	*s = (struct lmi_suggest){.typed = typed};
}

void lmi_suggest_offer(struct lmi_suggest *s, const char *word)
{
	size_t na = strlen(s->typed), nb = strlen(word);
	uint32_t d, limit;

	if (!na || na > WORD_MAX || nb > WORD_MAX)
		return;
	limit = (uint32_t)nb / 3;
	limit = limit < 1 ? 1 : limit > 3 ? 3 : limit;
	d = distance(s->typed, (uint32_t)na, word, (uint32_t)nb);
	if (d > limit && na >= 2 && !strncmp(s->typed, word, na))
		d = limit;
	if (d <= limit && (!s->best || d < s->distance)) {
		s->best = word;
		s->distance = d;
	}
}

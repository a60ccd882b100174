/* SPDX-License-Identifier: MIT
 *
 * suggest.h - "did you mean": finds the word closest to a mistyped one. */
#ifndef LLAMAD_CORE_CLI_SUGGEST_H
#define LLAMAD_CORE_CLI_SUGGEST_H

#include <stdint.h>

struct lmi_suggest {
	const char *typed;
	const char *best; /* NULL while no word is close enough */
	uint32_t distance;
};

void lmi_suggest_init(struct lmi_suggest *s, const char *typed);
/* Considers one word; `word` must outlive s. */
void lmi_suggest_offer(struct lmi_suggest *s, const char *word);

#endif /* LLAMAD_CORE_CLI_SUGGEST_H */

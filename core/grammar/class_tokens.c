/* SPDX-License-Identifier: MIT */
#include "core/grammar/class_tokens.h"

#include "core/base/alloc.h"
#include "core/grammar/vocab.h"
#include "llamad/attr.h"

bool lmi_gr_char_set_equal(const struct lmi_gr_char_set *a, const struct lmi_gr_char_set *b)
{
	return a->ascii[0] == b->ascii[0] && a->ascii[1] == b->ascii[1] &&
	       a->non_ascii == b->non_ascii;
}

static bool consists_of(const struct lmi_gr_char_set *k, const struct lmi_gr_token_chars *t)
{
	return t->complete && !(t->ascii[0] & ~k->ascii[0]) && !(t->ascii[1] & ~k->ascii[1]) &&
	       (!t->non_ascii || k->non_ascii);
}

/* Index of a length group; all lengths above LMI_GR_CLASS_TOKEN_CHARS_MAX share one group. */
static uint32_t length_class(const struct lmi_gr_token_chars *t)
{
	return t->n_chars < LMI_GR_CLASS_TOKEN_CHARS_MAX
		       ? t->n_chars
		       : LMI_GR_CLASS_TOKEN_CHARS_MAX + (t->n_chars > LMI_GR_CLASS_TOKEN_CHARS_MAX);
}

static void split(const struct lmi_grammar_vocab *v, struct lmi_gr_class_tokens *c)
{
	uint32_t at[LMI_GR_CLASS_TOKEN_CHARS_MAX + 2] = {0}, same = UINT32_MAX, sum = 0;

	for (uint32_t i = 0; i < v->n_tokens; i++)
		if (lmi_gr_bit(c->mask, v->token[i].id))
			at[length_class(&v->chars[i])]++;
	for (uint32_t n = 0; n < LMD_LEN(at); n++) {
		uint32_t here = at[n];

		at[n] = sum;
		sum += here;
		if (n <= LMI_GR_CLASS_TOKEN_CHARS_MAX)
			c->end[n] = sum;
	}
	for (uint32_t i = 0; i < v->n_tokens; i++) {
		/* prefix shared with the previous remaining token */
		same = v->token[i].n_shared < same ? v->token[i].n_shared : same;
		if (lmi_gr_bit(c->mask, v->token[i].id)) {
			c->by_length[at[length_class(&v->chars[i])]++] = i;
			continue;
		}
		c->remaining[c->n_remaining++] =
			(struct lmi_gr_remaining_token){.token = i, .n_shared = same};
		same = UINT32_MAX;
	}
}

static bool make(struct lmi_gr_class_tokens *c, const struct lmi_grammar_vocab *v,
		 const struct lmi_gr_char_set *k)
{
	c->chars = *k;
	c->mask = lmi_alloc(v->n_words, sizeof(*c->mask));
	if (!c->mask)
		return false;
	for (uint32_t i = 0; i < v->n_tokens; i++) {
		if (consists_of(k, &v->chars[i])) {
			lmi_gr_bit_set(c->mask, v->token[i].id);
			c->n++;
		}
	}
	c->by_length = lmi_alloc(c->n + 1, sizeof(*c->by_length));
	c->remaining = lmi_alloc(v->n_tokens - c->n + 1, sizeof(*c->remaining));
	if (!c->by_length || !c->remaining)
		return false;
	split(v, c);
	return true;
}

bool lmi_gr_class_tokens_init(struct lmi_gr_class_tokens *c, const struct lmi_grammar_vocab *v,
			      const struct lmi_gr_char_set *chars)
{
	*c = (struct lmi_gr_class_tokens){0};
	if (make(c, v, chars))
		return true;
	lmi_gr_class_tokens_fini(c);
	return false;
}

uint64_t lmi_gr_class_tokens_bytes(const struct lmi_gr_class_tokens *c,
				   const struct lmi_grammar_vocab *v)
{
	return v->n_words * sizeof(*c->mask) + c->n * sizeof(*c->by_length) +
	       c->n_remaining * sizeof(*c->remaining);
}

void lmi_gr_class_tokens_fini(struct lmi_gr_class_tokens *c)
{
	lmi_free(c->mask);
	lmi_free(c->by_length);
	lmi_free(c->remaining);
	*c = (struct lmi_gr_class_tokens){0};
}

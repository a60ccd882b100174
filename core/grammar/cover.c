/* SPDX-License-Identifier: MIT */
#include "core/grammar/cover.h"

#include "core/base/alloc.h"
#include "core/grammar/vocab.h"
#include "llamad/attr.h"

bool lmi_chars_equal(const struct lmi_chars *a, const struct lmi_chars *b)
{
	return a->ascii[0] == b->ascii[0] && a->ascii[1] == b->ascii[1] && a->high == b->high;
}

static bool covers(const struct lmi_chars *k, const struct lmi_gmade *t)
{
	return t->whole && !(t->ascii[0] & ~k->ascii[0]) && !(t->ascii[1] & ~k->ascii[1]) &&
	       (!t->high || k->high);
}

/* Index of a length group; all lengths above LMI_COVER_CHARS share one group. */
static uint32_t length_class(const struct lmi_gmade *t)
{
	return t->n_chars < LMI_COVER_CHARS ? t->n_chars
					    : LMI_COVER_CHARS + (t->n_chars > LMI_COVER_CHARS);
}

static void split(const struct lmi_gvocab *v, struct lmi_cover *c)
{
	uint32_t at[LMI_COVER_CHARS + 2] = {0}, same = UINT32_MAX, sum = 0;

	for (uint32_t i = 0; i < v->n_tokens; i++)
		if (lmi_bit(c->mask, v->token[i].id))
			at[length_class(&v->made[i])]++;
	for (uint32_t n = 0; n < LMD_LEN(at); n++) {
		uint32_t here = at[n];

		at[n] = sum;
		sum += here;
		if (n <= LMI_COVER_CHARS)
			c->end[n] = sum;
	}
	for (uint32_t i = 0; i < v->n_tokens; i++) {
		/* prefix shared with the previous remaining token */
		same = v->token[i].same < same ? v->token[i].same : same;
		if (lmi_bit(c->mask, v->token[i].id)) {
			c->by_length[at[length_class(&v->made[i])]++] = i;
			continue;
		}
		c->rest[c->n_rest++] = (struct lmi_left){.token = i, .same = same};
		same = UINT32_MAX;
	}
}

static bool make(struct lmi_cover *c, const struct lmi_gvocab *v, const struct lmi_chars *k)
{
	c->chars = *k;
	c->mask = lmi_alloc(v->n_words, sizeof(*c->mask));
	if (!c->mask)
		return false;
	for (uint32_t i = 0; i < v->n_tokens; i++) {
		if (covers(k, &v->made[i])) {
			lmi_bit_set(c->mask, v->token[i].id);
			c->n++;
		}
	}
	c->by_length = lmi_alloc(c->n + 1, sizeof(*c->by_length));
	c->rest = lmi_alloc(v->n_tokens - c->n + 1, sizeof(*c->rest));
	if (!c->by_length || !c->rest)
		return false;
	split(v, c);
	return true;
}

bool lmi_cover_init(struct lmi_cover *c, const struct lmi_gvocab *v, const struct lmi_chars *chars)
{
	*c = (struct lmi_cover){0};
	if (make(c, v, chars))
		return true;
	lmi_cover_fini(c);
	return false;
}

uint64_t lmi_cover_bytes(const struct lmi_cover *c, const struct lmi_gvocab *v)
{
	return v->n_words * sizeof(*c->mask) + c->n * sizeof(*c->by_length) +
	       c->n_rest * sizeof(*c->rest);
}

void lmi_cover_fini(struct lmi_cover *c)
{
	lmi_free(c->mask);
	lmi_free(c->by_length);
	lmi_free(c->rest);
	*c = (struct lmi_cover){0};
}

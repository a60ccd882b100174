/* SPDX-License-Identifier: MIT
 *
 * Triggers of lazy grammars: they end the time in which nothing is constrained.
 *
 * A pattern would have to be searched for in all text after each token. The usual prefix [\s\S]*
 * or [\s\S]*? is therefore dropped for the search, and partial matching tells where a match may
 * still start, so that the next search continues there. Once something is found, the full pattern
 * determines where the constraint starts.
 *
 * Patterns may be hostile: the memory of each search is bounded, and so are the steps of all
 * searches after a token. A pattern that needs more ends its own generation. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/grammar/state.h"

#define PATTERNS_MAX  64
#define PATTERN_BYTES 16384
#define HEAP_KIB      20480u
/* PCRE2's match limit for one token, which all patterns share, plus some for each byte to be searched. The
 * engine's thread searches; 50000 of these steps take less than a millisecond. */
#define STEPS          50000u
#define STEPS_PER_BYTE 4u
/* How many full patterns may fail for one token after the part that is searched for was found: each of them
 * may take STEPS_PER_BYTE for each byte of the text. */
#define FAILED_MAX 4u
/* ECMAScript semantics over bytes. */
#define OPTIONS                                                                                    \
	(PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF |                    \
	 PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP)

struct pattern {
	pcre2_code *exact;
	pcre2_code *search; /* NULL: same as the exact pattern */
	bool whole;         /* must match the whole text */
};

struct lmi_gr_trigger {
	struct pattern *pattern;
	uint32_t n_patterns;
	lmd_token *token;
	uint32_t n_tokens;
	pcre2_general_context *general;
	pcre2_compile_context *compile;
	pcre2_match_context *match;
	pcre2_match_data *data;
};

static void *take(PCRE2_SIZE n, void *ctx)
{
	(void)ctx;
	return lmi_alloc(n, 1);
}

static void give(void *p, void *ctx)
{
	(void)ctx;
	lmi_free(p);
}

static enum lmd_status compile(const struct lmi_gr_trigger *t, pcre2_code **out, const char *s,
			       size_t n, struct lmd_error *err)
{
	char why[128], show[128];
	PCRE2_SIZE at;
	int e;

	*out = pcre2_compile((PCRE2_SPTR)s, n, OPTIONS, &e, &at, t->compile);
	if (*out)
		return LMD_OK;
	if (e == PCRE2_ERROR_HEAP_FAILED)
		return lmd_fail(err, LMD_NOMEM, "grammar: out of memory for a trigger pattern");
	if (pcre2_get_error_message(e, (PCRE2_UCHAR *)why, sizeof(why)) < 0)
		why[0] = '\0';
	return lmd_fail(err, LMD_INVALID, "grammar: trigger pattern '%s': at %zu: %s",
			lmi_printable(show, sizeof(show), s, n), at, why);
}

/* Returns true if there is a | outside groups and classes. */
static bool has_alternatives(const char *s, size_t n)
{
	uint32_t depth = 0;
	bool class = false;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\')
			i++;
		else if (class)
			class = s[i] != ']';
		else if (s[i] == '[')
			class = true;
		else if (s[i] == '|' && !depth)
			return true;
		else
			depth += (uint32_t)(s[i] == '(') - (uint32_t)(s[i] == ')' && depth);
	}
	return false;
}

/* Returns the offset of a part of the pattern that matches somewhere whenever the whole pattern
 * does. */
static size_t search_from(const char *s, size_t n, bool whole)
{
	size_t at = whole ? 1 : 0;

	if (n - at < 8 || memcmp(s + at, "[\\s\\S]*", 7) != 0 || has_alternatives(s, n))
		return 0;
	at += s[at + 7] == '?' ? 8 : 7;
	return at < n ? at : 0;
}

static enum lmd_status add_pattern(struct lmi_gr_trigger *t, const struct lmd_str *given,
				   struct lmd_error *err)
{
	struct pattern *p = &t->pattern[t->n_patterns++];
	const char *s = given->ptr;
	size_t n = given->len, at;
	enum lmd_status st;

	if (n > PATTERN_BYTES)
		return lmd_fail(err, LMD_INVALID,
				"grammar: a trigger pattern has %zu bytes; at most "
				"%d are allowed",
				n, PATTERN_BYTES);
	p->whole = n > 1 && s[0] == '^' && s[n - 1] == '$';
	st = compile(t, &p->exact, s, n, err);
	at = search_from(s, n, p->whole);
	if (st == LMD_OK && at)
		st = compile(t, &p->search, s + at, n - at, err);
	return st;
}

static bool make_contexts(struct lmi_gr_trigger *t, const struct lmi_gr_matcher_opts *o)
{
	t->general = pcre2_general_context_create(take, give, NULL);
	if (!t->general)
		return false;
	t->compile = pcre2_compile_context_create(t->general);
	t->match = pcre2_match_context_create(t->general);
	t->data = pcre2_match_data_create(64, t->general);
	t->pattern = lmi_alloc((size_t)o->n_patterns + 1, sizeof(*t->pattern));
	t->token = lmi_alloc((size_t)o->n_tokens + 1, sizeof(*t->token));
	if (!t->compile || !t->match || !t->data || !t->pattern || !t->token)
		return false;
	pcre2_set_newline(t->compile, PCRE2_NEWLINE_ANYCRLF);
	pcre2_set_heap_limit(t->match, HEAP_KIB);
	return true;
}

enum lmd_status lmi_gr_trigger_create(struct lmi_gr_trigger **out,
				      const struct lmi_gr_matcher_opts *o, struct lmd_error *err)
{
	struct lmi_gr_trigger *t;
	enum lmd_status st = LMD_OK;

	if (o->n_patterns > PATTERNS_MAX)
		return lmd_fail(err, LMD_INVALID,
				"grammar: %u trigger patterns; at most %d are allowed",
				o->n_patterns, PATTERNS_MAX);
	t = lmi_alloc(1, sizeof(*t));
	if (!t || !make_contexts(t, o))
		st = lmd_fail(err, LMD_NOMEM, "grammar: out of memory");
	for (uint32_t i = 0; st == LMD_OK && i < o->n_patterns; i++)
		st = add_pattern(t, &o->patterns[i], err);
	for (uint32_t i = 0; st == LMD_OK && i < o->n_tokens; i++) {
		if (o->tokens[i] < 0 || (uint32_t)o->tokens[i] >= o->vocab->n)
			st = lmd_fail(err, LMD_INVALID,
				      "grammar: trigger token %d is not in the "
				      "vocabulary of %u tokens",
				      o->tokens[i], o->vocab->n);
		t->token[t->n_tokens++] = o->tokens[i];
	}
	if (st != LMD_OK) {
		lmi_gr_trigger_destroy(t);
		return st;
	}
	*out = t;
	return LMD_OK;
}

void lmi_gr_trigger_destroy(struct lmi_gr_trigger *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n_patterns; i++) {
		pcre2_code_free(t->pattern[i].exact);
		pcre2_code_free(t->pattern[i].search);
	}
	pcre2_match_data_free(t->data);
	pcre2_match_context_free(t->match);
	pcre2_compile_context_free(t->compile);
	pcre2_general_context_free(t->general);
	lmi_free(t->pattern);
	lmi_free(t->token);
	lmi_free(t);
}

uint32_t lmi_gr_trigger_patterns(const struct lmi_gr_trigger *t)
{
	return t->n_patterns;
}

/* Searching */

/* Searches with a share of the token's steps, and with those of n bytes. */
static int search(struct lmi_grammar_state *s, const pcre2_code *code, uint32_t from,
		  uint32_t options, uint32_t n)
{
	struct lmi_gr_trigger *t = s->m->trigger;

	pcre2_set_match_limit(t->match, STEPS / t->n_patterns + STEPS_PER_BYTE * n);
	return pcre2_match(code, (PCRE2_SPTR)s->text, s->n_text, from, options, t->data, t->match);
}

/* Returns where the constraint starts, given the match. */
static uint32_t constraint_start(const struct lmi_gr_trigger *t, int n_groups)
{
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(t->data);

	for (int i = 1; i < n_groups; i++) {
		if (at[2 * i] != PCRE2_UNSET && at[2 * i + 1] > at[2 * i])
			return (uint32_t)at[2 * i];
	}
	return (uint32_t)at[0];
}

/* Returns LMD_NOTFOUND if the pattern has not matched yet. Counts full patterns that failed in
 * *n_failed. */
static enum lmd_status find(struct lmi_grammar_state *s, uint32_t i, uint32_t *begin,
			    uint32_t *n_failed)
{
	struct lmi_gr_trigger *t = s->m->trigger;
	const struct pattern *p = &t->pattern[i];
	uint32_t all = p->whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0;
	int rc;

	rc = search(s, p->search ? p->search : p->exact, s->from[i],
		    PCRE2_PARTIAL_SOFT | (p->search ? 0 : all),
		    (s->n_text - s->from[i]) / t->n_patterns);
	if (rc >= 0 && p->search) {
		rc = search(s, p->exact, 0, all, s->n_text);
		if (rc < 0 && ++*n_failed > FAILED_MAX)
			return LMD_UNSUPPORTED;
	} else if (rc == PCRE2_ERROR_NOMATCH) {
		s->from[i] = s->n_text;
	} else if (rc == PCRE2_ERROR_PARTIAL) {
		s->from[i] = (uint32_t)pcre2_get_ovector_pointer(t->data)[0];
	}
	if (rc == PCRE2_ERROR_NOMATCH || rc == PCRE2_ERROR_PARTIAL)
		return LMD_NOTFOUND;
	if (rc < 0)
		return rc == PCRE2_ERROR_NOMEMORY ? LMD_NOMEM : LMD_UNSUPPORTED;
	*begin = constraint_start(t, rc ? rc : 64);
	return LMD_OK;
}

static bool grow(void **p, uint32_t *cap, uint32_t need, size_t item)
{
	uint32_t want = *cap ? *cap : 64;
	void *q;

	if (need <= *cap)
		return true;
	while (want < need)
		want *= 2;
	q = lmi_realloc(*p, want, item);
	if (!q)
		return false;
	*p = q;
	*cap = want;
	return true;
}

static bool append(struct lmi_grammar_state *s, lmd_token token, const char *text, uint32_t n)
{
	if (n > UINT32_MAX / 4 - s->n_text)
		return false;
	if (!grow((void **)&s->text, &s->cap_text, s->n_text + n, 1) ||
	    !grow((void **)&s->piece, &s->cap_piece, s->n_piece + 1, sizeof(*s->piece)))
		return false;
	if (n)
		memcpy(s->text + s->n_text, text, n);
	s->piece[s->n_piece++] = (struct lmi_gr_piece){token, s->n_text};
	s->n_text += n;
	return true;
}

/* Feeds everything from byte `begin` on to the constrained grammar: tokens as tokens, but only the
 * rest of the text of a token that started earlier. */
static enum lmd_status replay(struct lmi_grammar_state *s, uint32_t begin)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < s->n_piece && st == LMD_OK; i++) {
		uint32_t at = s->piece[i].at, n;
		uint32_t end = i + 1 < s->n_piece ? s->piece[i + 1].at : s->n_text;

		if (end <= begin)
			continue;
		if (s->piece[i].id >= 0 && at >= begin)
			st = lmi_gr_state_feed_token(s, s->piece[i].id);
		else
			st = lmi_gr_state_feed_text(s, s->text + (at > begin ? at : begin),
						    end - (at > begin ? at : begin), &n);
	}
	return st;
}

static enum lmd_status try_patterns(struct lmi_grammar_state *s)
{
	struct lmi_gr_match_cursor cursor = s->cursor;
	uint32_t n_failed = 0;

	for (uint32_t i = 0; i < s->m->trigger->n_patterns; i++) {
		uint32_t begin;
		enum lmd_status st = find(s, i, &begin, &n_failed);

		if (st == LMD_NOTFOUND)
			continue;
		if (st != LMD_OK)
			return st;
		s->waiting = false;
		st = replay(s, begin);
		if (st != LMD_OK) {
			s->waiting = true;
			s->cursor = cursor;
		}
		return st;
	}
	return LMD_OK;
}

enum lmd_status lmi_gr_trigger_feed(struct lmi_grammar_state *s, lmd_token token, const char *text,
				    uint32_t n)
{
	const struct lmi_gr_trigger *t = s->m->trigger;
	uint32_t from[PATTERNS_MAX], n_text = s->n_text, n_piece = s->n_piece;
	enum lmd_status st;

	for (uint32_t i = 0; i < t->n_tokens; i++) {
		if (t->token[i] != token)
			continue;
		s->waiting = false;
		st = lmi_gr_state_feed_token(s, token);
		s->waiting = st != LMD_OK;
		return st;
	}
	if (!t->n_patterns)
		return LMD_OK;
	if (!append(s, token, text, n))
		return LMD_NOMEM;
	memcpy(from, s->from, t->n_patterns * sizeof(*from));
	st = try_patterns(s);
	if (st != LMD_OK) {
		s->n_text = n_text;
		s->n_piece = n_piece;
		memcpy(s->from, from, t->n_patterns * sizeof(*from));
	}
	return st;
}

/* SPDX-License-Identifier: MIT
 *
 * grammar.h - structured output: which tokens may come next.
 *
 * A grammar is compiled once from GBNF or from a JSON schema, and is then immutable.  A
 * vocabulary is indexed once.  A matcher brings both together and remembers what it
 * computed; a state is one sequence in it: small, cheap to copy for a fork or a draft.
 *
 *     lmi_grammar_from_gbnf(&g, text, n, vocab, &err);   off the engine's thread
 *     lmi_matcher_create(&m, &opts, &err);               per grammar and vocabulary
 *     lmi_gstate_create(&s, m, &err);                    per sequence
 *     mask = lmi_gstate_mask(s, ...);  token chosen;  lmi_gstate_accept(s, token);
 *
 * Grammars are untrusted.  Compiling is bounded in time and memory and refuses with a
 * sentence; matching takes time in proportion to text times grammar for grammars without
 * ambiguity and is cut off with LMD_NOMEM for those whose ambiguity explodes.
 *
 * Method: rules are networks of states that call each other.  The stacks of calls are
 * shared and interned, so that equal situations are one number, whatever led to them;
 * transitions between situations and the masks of situations are computed when they are
 * first met and kept, which makes it an automaton that grows on demand. */
#ifndef LLAMAD_CORE_GRAMMAR_GRAMMAR_H
#define LLAMAD_CORE_GRAMMAR_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/sampler.h"
#include "llamad/status.h"

/* The longest grammar or schema text, in bytes. */
#define LMI_GRAMMAR_MAX (4u << 20)
/* Counts {m,n}: a greater m is refused, a greater n means no bound. */
#define LMI_GRAMMAR_COUNT_MAX 2000

struct lmi_grammar;
struct lmi_gvocab;
struct lmi_matcher;
struct lmi_gstate;

/* Vocabularies */

/* Index of a vocabulary: texts in order, and what they are made of.  vocab NULL: bytes,
 * id = byte, and 256 for the end of text.  The result refers to nothing of vocab. */
enum lmd_status lmi_gvocab_create(struct lmi_gvocab **out, const struct lmd_sample_vocab *vocab,
				  struct lmd_error *err);
void lmi_gvocab_destroy(struct lmi_gvocab *v);
uint32_t lmi_gvocab_size(const struct lmi_gvocab *v);
/* The token with exactly this text, or -1. */
lmd_token lmi_gvocab_find(const struct lmi_gvocab *v, const char *text, size_t bytes);
/* Does some token begin with this text and go on? */
bool lmi_gvocab_goes_on(const struct lmi_gvocab *v, const char *text, size_t bytes);

/* Grammars */

/* vocab: for literals of tokens by text (<think>); NULL: there are none.  An empty text
 * constrains nothing.  LMD_INVALID: the line and what is wrong there. */
enum lmd_status lmi_grammar_from_gbnf(struct lmi_grammar **out, const char *text, size_t bytes,
				      const struct lmi_gvocab *vocab, struct lmd_error *err);
/* JSON text that a schema (drafts 7 to 2020-12) accepts; `text` is the schema.
 *
 * Members of objects come in the order of the schema, or required ones first; those that it does
 * not describe only when it asks for them or describes none.  Blanks between the parts of a value
 * are optional and bounded.  Formats other than date, time, date-time, uuid and ipv4 are
 * annotations.  oneOf is taken as anyOf.
 *
 * LMD_CORRUPT: not JSON.  LMD_INVALID: not a schema, or beyond a bound; LMD_UNSUPPORTED: a keyword
 * that the grammar would not enforce (the table in schema_keywords.c), or a pattern that no grammar
 * can express.  The sentence names the place by its JSON pointer.  A schema that
 * nothing can fulfil is a grammar that leads nowhere. */
enum lmd_status lmi_grammar_from_schema(struct lmi_grammar **out, const char *text, size_t bytes,
					struct lmd_error *err);
/* NULL allowed.  Any thread. */
void lmi_grammar_destroy(struct lmi_grammar *g);
/* Bytes of memory that it takes. */
uint64_t lmi_grammar_bytes(const struct lmi_grammar *g);

/* Matching: everything below belongs to one thread at a time per matcher */

struct lmi_matcher_opts {
	const struct lmi_grammar *grammar; /* outlives the matcher */
	const struct lmi_gvocab *vocab;    /* outlives the matcher */
	/* Lazy: with any of these nothing is constrained until a trigger comes.  A pattern is
	 * an ECMAScript regular expression, searched in all text so far (or matched to all of
	 * it, if it begins with ^ and ends with $); the constraint begins at its first group
	 * that took part, or where it matched.  A token begins the constraint itself. */
	const struct lmd_str *patterns; /* [n_patterns], copied */
	uint32_t n_patterns;
	const lmd_token *tokens; /* [n_tokens], copied */
	uint32_t n_tokens;
	/* What is remembered may take so much memory (0: 64 MiB); beyond, what no state needs
	 * is forgotten. */
	uint64_t cache_bytes;
};

enum lmd_status lmi_matcher_create(struct lmi_matcher **out, const struct lmi_matcher_opts *opts,
				   struct lmd_error *err);
/* NULL allowed.  Its states are destroyed before. */
void lmi_matcher_destroy(struct lmi_matcher *m);

enum lmd_status lmi_gstate_create(struct lmi_gstate **out, struct lmi_matcher *m,
				  struct lmd_error *err);
enum lmd_status lmi_gstate_clone(struct lmi_gstate **out, const struct lmi_gstate *from);
/* `to` becomes what `from` is; both of one matcher. */
enum lmd_status lmi_gstate_copy(struct lmi_gstate *to, const struct lmi_gstate *from);
void lmi_gstate_destroy(struct lmi_gstate *s);

/* Takes one token.  LMD_INVALID: it is not allowed here; the state is as it was.
 * LMD_NOMEM: the state is as it was. */
enum lmd_status lmi_gstate_accept(struct lmi_gstate *s, lmd_token token);
/* Takes text byte by byte, as tokens of one byte each, none of which is a token literal.
 * LMD_INVALID: byte number *n_taken is not allowed. */
enum lmd_status lmi_gstate_accept_text(struct lmi_gstate *s, const char *text, size_t bytes,
				       size_t *n_taken);

/* Bit i % 64 of word i / 64 says that token i may come next; ends of generation exactly
 * when the text may end here.  Lives until the next call with this matcher. */
enum lmd_status lmi_gstate_mask(struct lmi_gstate *s, const uint64_t **out);

/* Text that must come next, since at each of its characters nothing else may: whole characters,
 * at most cap bytes.  *ends: behind it the grammar is at its end.  None (*n 0) where the text may
 * end, where a token that counts by its number may come, in the middle of a character, and while
 * a trigger is waited for. */
enum lmd_status lmi_gstate_forced(struct lmi_gstate *s, char *out, size_t cap, size_t *n,
				  bool *ends);
/* The only token below n that a mask allows; -1: there are several, or none. */
lmd_token lmi_mask_only(const uint64_t *mask, uint32_t n);
/* May text that goes on so come next, byte by byte?  The state is as it was. */
bool lmi_gstate_fits(struct lmi_gstate *s, const char *text, size_t bytes);

/* The text may end here (while a lazy grammar waits for its trigger: always). */
bool lmi_gstate_may_end(const struct lmi_gstate *s);
/* A lazy grammar still waits for its trigger. */
bool lmi_gstate_waiting(const struct lmi_gstate *s);
/* Nothing may come and the text may not end: only with a grammar that leads nowhere. */
bool lmi_gstate_stuck(struct lmi_gstate *s);

/* Bytes that the matcher's memory holds, for reports. */
uint64_t lmi_matcher_bytes(const struct lmi_matcher *m);

#endif /* LLAMAD_CORE_GRAMMAR_GRAMMAR_H */
